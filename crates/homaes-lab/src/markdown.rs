//! BENCHMARKS.md: the same tables as on the page.

use crate::cells::plain;
use crate::document::Lab;
use crate::page::{files_of_pictures, pictures};
use crate::tables::{Section, sections};

/// The tables of a document in Markdown; with `pictures_at`, the folder of the pictures, these too.
#[must_use]
pub fn markdown(lab: &Lab, pictures_at: Option<&str>) -> String {
    let mut out = String::from(
        "\
# Benchmarks

Written by `homaes report FILE --md BENCHMARKS.md`, where FILE is the output of `homaes bench all --budget TIME --json`. Do not edit.

`homaes bench` decrypts and compares every byte of its runs. Times are wall-clock times; of several repetitions the median. A shared host is slower at some times than at others: what it was like shows in the spread. All sets, with the security of each: [PARAMETERS.md](PARAMETERS.md).

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
        let pictures = pictures(lab);
        for (name, picture) in files_of_pictures(&pictures) {
            let [title, text] = [&picture.title, &picture.text].map(|text| plain(text));
            out += &format!("\n### {title}\n\n{text}\n\n![{title}]({folder}/{name})\n");
        }
    }
    out.trim_end().to_owned() + "\n"
}
