//! A document as Markdown, for reports and for BENCHMARKS.md.

use crate::cells::plain;
use crate::document::Lab;
use crate::page::Picture;
use crate::tables::sections;

/// The tables of a document, and its pictures, whose files are in `folder`.
#[must_use]
pub fn markdown(lab: &Lab, pictures: &[Picture], folder: Option<&str>) -> String {
    let mut out = String::from("# Measurements\n");
    for section in sections(lab) {
        out += &format!("\n## {}\n\n", section.title);
        if !section.text.is_empty() {
            out += &format!("{}\n\n", plain(&section.text));
        }
        out += &section.cells.markdown();
    }
    let Some(folder) = folder.filter(|_| !pictures.is_empty()) else {
        return out;
    };
    out += "\n## Pictures\n";
    let mut last = "";
    for Picture {
        title, text, file, ..
    } in pictures
    {
        if *text != last {
            out += &format!("\n{text}\n");
            last = text;
        }
        let title = plain(title);
        out += &format!("\n![{title}]({folder}/{file})\n");
    }
    out
}
