//! What `homaes bench` measured, and what is made of it: comparisons, pages, pictures, tables.
//!
//! | module | content |
//! |---|---|
//! | `document`, `read` | what `homaes bench` measures, as types; reading its JSON documents and those of `homaes transcipher --report` |
//! | `schedule` | which runs fit the time given |
//! | `compare` | what became faster or slower between two documents, beyond the noise of their runs |
//! | `papers` | what the papers print: their tables, and their points in the picture |
//! | `charts` | the pictures, as SVG |
//! | `page`, `markdown`, `choosing` | one HTML page; BENCHMARKS.md; docs/choosing.md and the table of README.md |
//! | `cells`, `tables` | a table; the tables of these pages |
//! | `units` | times, sizes and counts as text |
//!
//! Nothing here evaluates anything: figures come in documents, so that pages can be made on another machine.

#![forbid(unsafe_code)]

mod cells;
pub mod charts;
mod choosing;
mod compare;
mod document;
mod markdown;
mod page;
pub mod papers;
mod read;
mod schedule;
mod tables;
pub mod units;

pub use cells::Cells;
pub use choosing::{choosing, readme};
pub use compare::{BLIND, Change, Comparison, DEVIATIONS, LEAST_CHANGE, Verdict, compare};
pub use document::{Kernels, Lab, Machine, Round, Run, Security, Skipped, median};
pub use markdown::markdown;
pub use page::{Draw, Picture, files_of_pictures, html, pictures};
pub use read::{Document, DocumentError, read};
pub use schedule::Schedule;

/// What was measured for this version, on the machine that it names: the figures of BENCHMARKS.md, and what runs cost.
///
/// # Panics
/// If the file in the source is no such document: never, by a test.
#[must_use]
pub fn baseline() -> Lab {
    match read(include_bytes!("../data/baseline.json")) {
        Ok(Document::Lab(lab)) => *lab,
        _ => unreachable!("a test reads it"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_baseline_can_be_read() {
        assert!(!super::baseline().version.is_empty());
    }
}
