//! One HTML page: pictures, tables, and nothing from elsewhere.

use crate::cells::Cells;
use crate::charts::{self, ChartError, GRID, INK, Width};
use crate::document::{Lab, Run};
use crate::tables::{Section, sections};
use core::fmt::Write as _;

/// The page of a document.
///
/// # Errors
/// If a picture cannot be drawn.
pub fn html(lab: &Lab) -> Result<String, ChartError> {
    let mut body = String::new();
    let title = match lab.runs.len() {
        1 => format!("homaes: {}", lab.runs[0].name()),
        runs => format!("homaes: {runs} runs of AES under FHE"),
    };
    // Writing to a string does not fail.
    let _ = write!(
        body,
        "<header><h1>{}</h1>\n<p>Every byte of every run of <code>homaes bench</code> was decrypted and compared. Times are wall-clock times.</p></header>\n",
        escape(&title)
    );
    let tables = sections(lab);
    let add = |body: &mut String, part: &Section| {
        let text = Some(part.text).filter(|text| !text.is_empty());
        section(body, part.title, text, &table(&part.cells));
    };
    // where, then the pictures, then the rest
    let (first, rest) = tables.split_at(tables.len().min(1));
    first.iter().for_each(|part| add(&mut body, part));
    for picture in pictures(lab) {
        let figures = figures(&picture)?;
        section(&mut body, &picture.title, Some(&picture.text), &figures);
    }
    rest.iter().for_each(|part| add(&mut body, part));
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escape(&title),
        style()
    ))
}

/// A picture in both widths.
fn figures(picture: &Picture<'_>) -> Result<String, ChartError> {
    let mut figures = String::from("<figure>");
    for width in Width::ALL {
        let (svg, title) = ((picture.draw)(width)?, escape(&picture.title));
        let class = width.name();
        figures +=
            &format!("<div class=\"{class}\" role=\"img\" aria-label=\"{title}\">{svg}</div>");
    }
    Ok(figures + "</figure>\n")
}

/// Most characters of a file's name, which systems bound.
const MAX_SLUG: usize = 120;

/// Draws a picture.
pub type Draw<'l> = Box<dyn Fn(Width) -> Result<String, ChartError> + 'l>;

/// A picture, by its name in files.
pub struct Picture<'l> {
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub text: String,
    /// Draws it.
    pub draw: Draw<'l>,
}

impl Picture<'_> {
    /// On white ground, for files of its own.
    ///
    /// # Errors
    /// If it cannot be drawn.
    pub fn file(&self, width: Width) -> Result<String, ChartError> {
        let svg = (self.draw)(width)?;
        let ground = ">\n<rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>";
        Ok(svg.replacen('>', ground, 1))
    }

    /// For names of files: letters, digits and hyphens.
    fn slug(&self) -> String {
        let letter = |c: char| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        };
        let slug: String = self.title.chars().map(letter).collect();
        let parts: Vec<&str> = slug.split('-').filter(|part| !part.is_empty()).collect();
        parts.join("-").chars().take(MAX_SLUG).collect()
    }
}

/// Of each scheme the run whose rounds are shown: that of a secure set, on most threads, with its noise if that was measured.
fn shown(lab: &Lab) -> Vec<&Run> {
    let mut shown: Vec<&Run> = Vec::new();
    let rank = |run: &Run| {
        let purpose = ["toy", "paper", "secure"]
            .iter()
            .position(|&p| p == run.purpose);
        (purpose, run.has_measured_noise(), run.threads)
    };
    for run in lab.runs.iter().filter(|run| !run.rounds.is_empty()) {
        match shown
            .iter_mut()
            .find(|other| other.scheme() == run.scheme())
        {
            None => shown.push(run),
            Some(other) if rank(run) > rank(other) => *other = run,
            Some(_) => {}
        }
    }
    shown
}

/// The pictures of a document, with names for their files, each once.
#[must_use]
pub fn files_of_pictures<'l>(pictures: &'l [Picture<'l>]) -> Vec<(String, &'l Picture<'l>)> {
    let mut names: Vec<String> = Vec::new();
    for picture in pictures {
        let slug = picture.slug();
        let mut name = format!("{slug}.svg");
        for number in 2.. {
            if !names.contains(&name) {
                break;
            }
            name = format!("{slug}-{number}.svg");
        }
        names.push(name);
    }
    names.into_iter().zip(pictures).collect()
}

/// The pictures of a document.
#[must_use]
pub fn pictures<'l>(lab: &'l Lab) -> Vec<Picture<'l>> {
    let mut all = Vec::new();
    let mut add = |title: String, text: &str, draw: Draw<'l>| {
        all.push(Picture {
            title,
            text: text.to_owned(),
            draw,
        });
    };
    if lab.runs.iter().any(|run| run.purpose != "toy") {
        add(
            "Latency and throughput".into(),
            "Down and left is faster. A point is a parameter set in a layout, on all threads; crosses are what the papers printed, on the machines of their time. On the slanted line a block takes as long alone as in a full message. The figures are in the tables below.",
            Box::new(|width| charts::points(lab, width)),
        );
    }
    for run in shown(lab) {
        add(
            format!("Time per round: {}", run.name()),
            "Kernels that run side by side on several threads count by their part of the wall-clock time. What is not booked to a kernel is grey: reading keys from files, encoding, waiting.",
            Box::new(move |width| charts::rounds(run, width)),
        );
    }
    for run in shown(lab)
        .into_iter()
        .filter(|run| run.has_measured_noise())
    {
        add(
            format!("Noise per round: {}", run.name()),
            "The unit is the scheme's own. A batch decrypts wrongly where noise reaches the red line; where there is none, failure lies above the picture: moduli shrink from round to round in BGV and NTRU.",
            Box::new(move |width| charts::noise(run, width).unwrap_or_else(|| Ok(String::new()))),
        );
    }
    if lab
        .runs
        .iter()
        .any(|run| run.purpose != "toy" && run.eval_key_bytes > 0)
    {
        add(
            "Sizes of keys and results".into(),
            "Bytes, on an axis of logarithms.",
            Box::new(|width| charts::sizes(lab, width)),
        );
    }
    if !charts::thread_pairs(lab).is_empty() {
        add(
            "Threads".into(),
            "Time of evaluation on one thread over that on all, on one machine.",
            Box::new(|width| charts::speedups(lab, width)),
        );
    }
    all
}

fn section(body: &mut String, title: &str, text: Option<&str>, content: &str) {
    let text = text.map_or_else(String::new, |text| format!("<p>{}</p>\n", escape(text)));
    // Writing to a string does not fail.
    let _ = write!(
        body,
        "<section>\n<h2>{}</h2>\n{text}{content}</section>\n",
        escape(title)
    );
}

fn table(cells: &Cells) -> String {
    let row = |cells: &[String], tag: &str| {
        let cells: String = cells
            .iter()
            .map(|cell| format!("<{tag}>{}</{tag}>", escape(cell)))
            .collect();
        format!("<tr>{cells}</tr>\n")
    };
    let head = if cells.head.iter().all(String::is_empty) {
        String::new()
    } else {
        row(&cells.head, "th")
    };
    let rows: String = cells.rows.iter().map(|cells| row(cells, "td")).collect();
    format!("<div class=\"scroll\"><table>\n{head}{rows}</table></div>\n")
}

/// Text in HTML.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c => out.push(c),
        }
    }
    out
}

fn style() -> String {
    format!(
        "\
:root {{ color-scheme: light dark; --ink: {INK}; --grid: {GRID}; --ground: #ffffff; --soft: #f3f4f6; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6e6e6; --grid: #454a52; --ground: #16181c; --soft: #22262c; }} }}
body {{ margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }}
main {{ max-width: 920px; margin: 0 auto; padding: 16px; }}
h1 {{ font-size: 1.6em; line-height: 1.2; overflow-wrap: anywhere; }}
h2 {{ font-size: 1.2em; margin: 2em 0 0.3em; overflow-wrap: anywhere; }}
p {{ margin: 0.4em 0; max-width: 70ch; }}
figure {{ margin: 0.5em 0; }}
svg {{ display: block; max-width: 100%; height: auto; }}
svg [fill=\"{INK}\"] {{ fill: var(--ink); }}
svg [stroke=\"{INK}\"] {{ stroke: var(--ink); }}
svg [stroke=\"{GRID}\"] {{ stroke: var(--grid); }}
.narrow {{ display: none; }}
.narrow svg {{ width: 100%; }}
@media screen and (max-width: 760px) {{ .narrow {{ display: block; }} .wide {{ display: none; }} main {{ padding: 8px; }} }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: 0.82em; font-variant-numeric: tabular-nums; }}
th, td {{ padding: 3px 8px; text-align: left; vertical-align: top; white-space: nowrap; border-bottom: 1px solid var(--grid); }}
th {{ background: var(--soft); }}
th:first-child, td:first-child {{ position: sticky; left: 0; background: var(--soft); }}
@media print {{ :root {{ --ink: {INK}; --grid: {GRID}; --ground: #ffffff; --soft: #f3f4f6; }} figure, tr {{ break-inside: avoid; }} h2 {{ break-after: avoid; }} .scroll {{ overflow: visible; }} table {{ font-size: 0.55em; width: 100%; }} th, td {{ white-space: normal; overflow-wrap: anywhere; padding: 2px 3px; }} }}
@page {{ size: landscape; margin: 12mm; }}
"
    )
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
        let page = html(&lab).unwrap();
        assert!(!page.contains("<script") && !page.contains("<b>"));
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            // names of XML are no addresses
            let page = page.replace("http://www.w3.org/2000/svg", "");
            assert!(!page.contains(outside), "{outside}");
        }
        for (open, close) in [
            ("<section>", "</section>"),
            ("<figure>", "</figure>"),
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
