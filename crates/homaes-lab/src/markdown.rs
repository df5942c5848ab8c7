//! BENCHMARKS.md: the same tables as on the page.

use crate::document::Lab;
use crate::page::pictures;
use crate::tables::{Cells, machine_rows, run_rows, security_rows, size_rows};

/// The tables of a document in Markdown; with `pictures_at`, the folder of the pictures, these too.
#[must_use]
pub fn markdown(lab: &Lab, pictures_at: Option<&str>) -> String {
    let mut out = String::from(
        "\
# Benchmarks

Written by `homaes report FILE --md BENCHMARKS.md`, where FILE is the output of `homaes bench all --budget TIME --json`. Do not edit.

Every byte of every run was decrypted and compared. Times are wall-clock times; of several repetitions the median. A figure is repeated by
`homaes bench SCHEME --set SET --layout LAYOUT --threads N --json`.

",
    );
    let mut section = |title: &str, text: &str, cells: &Cells| {
        if cells.rows.is_empty() {
            return;
        }
        out += &format!("## {title}\n\n");
        if !text.is_empty() {
            out += &format!("{text}\n\n");
        }
        out += &cells.markdown();
        out.push('\n');
    };
    section("Where", "", &machine_rows(lab));
    section(
        "All runs",
        "Latency: a message of one block. NTTs: time of a batch in forward transforms of the crate `tfhe-ntt`, 32768 points, timed in the same process.",
        &run_rows(lab),
    );
    section(
        "Sizes",
        "Bytes of files, and FHE bytes for each byte of the message. Memory: the most that the process had, client and server in one. A row for each set and layout, of the run with most threads.",
        &size_rows(lab),
    );
    section(
        "Security and failure",
        "Bits: log2 of the cost of the best attack known, of everything published; with rotations: for an attacker who uses that the ring rotates the secret. All sets: [PARAMETERS.md](PARAMETERS.md).",
        &security_rows(lab),
    );
    let rows = lab.skipped.iter().map(|skipped| {
        let command = format!("`{}`", skipped.command);
        vec![skipped.run.clone(), skipped.reason.clone(), command]
    });
    let skipped = Cells::new(&["run", "why not", "command"], rows.collect());
    section("Not measured", "", &skipped);
    if let Some(folder) = pictures_at {
        out += "## Pictures\n";
        for picture in pictures(lab) {
            let (title, text, slug) = (&picture.title, &picture.text, picture.slug());
            out += &format!("\n### {title}\n\n{text}\n\n![{title}]({folder}/{slug}.svg)\n");
        }
    }
    out.trim_end().to_owned() + "\n"
}
