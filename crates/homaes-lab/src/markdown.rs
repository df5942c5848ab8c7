//! BENCHMARKS.md: the same tables as on the page.

use crate::document::Lab;
use crate::page::pictures;
use crate::tables::{Section, sections};

/// The tables of a document in Markdown; with `pictures_at`, the folder of the pictures, these too.
#[must_use]
pub fn markdown(lab: &Lab, pictures_at: Option<&str>) -> String {
    let mut out = String::from(
        "\
# Benchmarks

Written by `homaes report FILE --md BENCHMARKS.md`, where FILE is the output of `homaes bench all --budget TIME --json`. Do not edit.

Every byte of every run was decrypted and compared. Times are wall-clock times; of several repetitions the median. A figure is repeated by
`homaes bench SCHEME --set SET --layout LAYOUT --threads N --json`. All sets, with the security of each: [PARAMETERS.md](PARAMETERS.md).

",
    );
    for Section { title, text, cells } in sections(lab) {
        out += &format!("## {title}\n\n");
        if !text.is_empty() {
            out += &format!("{text}\n\n");
        }
        out += &cells.markdown();
        out.push('\n');
    }
    if let Some(folder) = pictures_at {
        out += "## Pictures\n";
        for picture in pictures(lab) {
            let (title, text, slug) = (&picture.title, &picture.text, picture.slug());
            out += &format!("\n### {title}\n\n{text}\n\n![{title}]({folder}/{slug}.svg)\n");
        }
    }
    out.trim_end().to_owned() + "\n"
}
