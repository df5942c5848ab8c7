//! A document as one self-contained HTML page, and its pictures.

use crate::cells::Cells;
use crate::charts::{self, ChartError, GRID, INK};
use crate::document::{Lab, Run};
use crate::tables::{headline, sections};
use std::cmp::Reverse;

/// Most characters of a picture's file name, without `.svg`.
const MAX_SLUG: usize = 120;

const TIME: &str = "Time of each round by kernel. A kernel that runs on several threads counts with its share \
     of the wall-clock time. Grey is time outside of kernels.";
const NOISE: &str = "Noise after each round, in the scheme's own unit. A batch decrypts wrongly if its noise \
     reaches the red line.";

/// A picture of a document.
pub struct Picture {
    /// Its title.
    pub title: String,
    /// How to read it.
    pub text: &'static str,
    /// Its file name.
    pub file: String,
    /// The picture.
    pub svg: String,
}

impl Picture {
    fn new(title: String, text: &'static str, svg: String) -> Self {
        let mut file = anchor(&title);
        file.truncate(MAX_SLUG);
        file += ".svg";
        Self {
            title,
            text,
            file,
            svg,
        }
    }

    /// With a white background, for a file of its own.
    #[must_use]
    pub fn on_white(&self) -> String {
        let ground = ">\n<rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>";
        self.svg.replacen('>', ground, 1)
    }
}

/// One run per scheme, of secure sets if there are any: prefers measured noise, then most threads.
fn shown(lab: &Lab) -> Vec<&Run> {
    let any_secure = lab.runs.iter().any(Run::is_secure);
    let wanted = |run: &&Run| !run.rounds.is_empty() && run.is_secure() == any_secure;
    let mut runs: Vec<&Run> = lab.runs.iter().filter(wanted).collect();
    runs.sort_by_key(|run| Reverse((run.has_measured_noise(), run.threads)));
    let mut shown: Vec<&Run> = Vec::new();
    for run in runs {
        if shown.iter().all(|other| other.scheme() != run.scheme()) {
            shown.push(run);
        }
    }
    shown
}

/// The pictures of a document: time and noise per round, for one run of each scheme.
pub fn pictures(lab: &Lab) -> Result<Vec<Picture>, ChartError> {
    let shown = shown(lab);
    let mut all = Vec::new();
    for run in &shown {
        let title = format!("Time per round: {}", run.name());
        all.push(Picture::new(title, TIME, charts::rounds(run)?));
    }
    for run in shown.iter().filter(|run| run.has_measured_noise()) {
        let title = format!("Noise per round: {}", run.name());
        all.push(Picture::new(title, NOISE, charts::noise(run)?));
    }
    Ok(all)
}

/// The page of a document. Its style sheet has placeholders for the colours of text and lines in pictures, which it
/// replaces on dark backgrounds.
#[must_use]
pub fn html(lab: &Lab, pictures: &[Picture]) -> String {
    let title = match lab.runs.len() {
        1 => format!("homaes: {}", lab.runs[0].name()),
        runs => format!("homaes: {runs} runs of AES under FHE"),
    };
    let title = escape(&title);
    let parts = sections(lab);
    let mut body = format!("<h1>{title}</h1>\n");
    if let Some(headline) = headline(lab) {
        body += &format!("<p>{}</p>\n", escape(&headline));
    }
    let titles = parts.iter().map(|part| part.title);
    let titles = titles.chain(pictures.iter().map(|picture| picture.title.as_str()));
    let links = titles.map(|title| {
        format!(
            "<li><a href=\"#{}\">{}</a></li>\n",
            anchor(title),
            escape(title)
        )
    });
    body += &format!("<nav>\n<ul>\n{}</ul>\n</nav>\n", links.collect::<String>());
    for part in parts {
        body += &section(part.title, &part.text, &table(&part.cells));
    }
    for picture in pictures {
        let label = escape(&picture.title);
        let figure = format!(
            "<figure role=\"img\" aria-label=\"{label}\">{}</figure>\n",
            picture.svg
        );
        body += &section(&picture.title, picture.text, &figure);
    }
    format!(
        "\
<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<title>{title}</title>
<style>
{}</style>
</head>
<body>
<main>
{body}</main>
</body>
</html>
",
        include_str!("page.css")
            .replace("INK", INK)
            .replace("GRID", GRID)
    )
}

fn section(title: &str, text: &str, content: &str) -> String {
    let (anchor, title, text) = (anchor(title), escape(title), escape(text));
    format!("<section id=\"{anchor}\">\n<h2>{title}</h2>\n<p>{text}</p>\n{content}</section>\n")
}

/// The name of a section in its address.
fn anchor(title: &str) -> String {
    let words = title.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-").to_ascii_lowercase()
}

/// Columns of figures are on the right, so that their digits stand below one another.
fn table(cells: &Cells) -> String {
    let right: Vec<bool> = (0..cells.head.len())
        .map(|column| cells.is_of_figures(column))
        .collect();
    let row = |cells: &[String], tag: &str| {
        let cells = cells.iter().zip(&right).map(|(cell, right)| {
            let class = if *right { " class=\"figure\"" } else { "" };
            format!("<{tag}{class}>{}</{tag}>", escape(cell))
        });
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let rows: String = cells.rows.iter().map(|cells| row(cells, "td")).collect();
    let head = row(&cells.head, "th");
    format!("<div class=\"scroll\"><table>\n{head}{rows}</table></div>\n")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_stands_alone_and_escapes_what_documents_say() {
        let mut lab = crate::baseline();
        lab.machine.processor = "<script>alert(1)</script> & \"co\"".into();
        lab.runs.push(Run {
            set: "bgv/<b>".into(),
            seconds: 1.0,
            seconds_per_batch: 1.0,
            ms_per_block: 1.0,
            purpose: "secure".into(),
            threads: 1,
            blocks: 1,
            ..Run::default()
        });
        let page = html(&lab, &pictures(&lab).unwrap());
        assert!(
            page.contains(
                "The fastest: AES-128 under bgv/aes128 (sliced), estimated at 142.0 bits"
            )
        );
        assert!(
            page.contains("<a href=\"#evaluation\">")
                && page.contains("<section id=\"evaluation\">")
        );
        let [secure, toy] = ["<td>bgv/aes192", "<td>bgv/toy"].map(|set| page.find(set));
        assert!(secure < toy || toy.is_none());
        assert!(!page.contains("<script") && !page.contains("<b>"));
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            // XML namespaces are not addresses
            let page = page.replace("http://www.w3.org/2000/svg", "");
            assert!(!page.contains(outside), "{outside}");
        }
        for (open, close) in [
            ("<section ", "</section>"),
            ("<figure ", "</figure>"),
            ("<svg", "</svg>"),
            ("<tr>", "</tr>"),
        ] {
            assert_eq!(
                page.matches(open).count(),
                page.matches(close).count(),
                "{open}"
            );
        }
    }
}
