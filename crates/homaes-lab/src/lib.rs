//! Documents of `homaes bench`, and the comparisons, pages and tables made from them.
//!
//! | module | content |
//! |---|---|
//! | `document`, `read` | the fields of the JSON documents, and how they are read and checked |
//! | `schedule` | which runs `bench all` makes in the time given |
//! | `compare` | which figures of two documents differ by more than noise |
//! | `papers` | tables of docs/papers.md: printed figures and ours |
//! | `charts` | charts of a run, as SVG |
//! | `tables`, `page`, `markdown` | the tables and charts of a document, as an HTML page and as Markdown |
//! | `choosing` | docs/choosing.md and the table of README.md |
//! | `cells`, `units` | a table in Markdown; times, sizes and counts as text |
//!
//! This crate measures nothing, so it can make pages for documents of any machine.

#![forbid(unsafe_code)]

mod cells;
mod charts;
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
pub use charts::ChartError;
pub use choosing::{choosing, readme};
pub use compare::{Change, Comparison, Verdict, compare};
pub use document::{Kernels, Lab, Machine, Round, Run, Security, Skipped, median};
pub use markdown::markdown;
pub use page::{Picture, html, pictures};
pub use read::{DocumentError, read};
pub use schedule::Schedule;

/// The document behind BENCHMARKS.md; `bench all` also takes the expected times of runs from it.
///
/// # Panics
/// Never: a test reads the stored file.
#[must_use]
pub fn baseline() -> Lab {
    read(include_bytes!("../data/baseline.json")).expect("a test reads it")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_baseline_can_be_read() {
        assert!(!super::baseline().version.is_empty());
    }
}
