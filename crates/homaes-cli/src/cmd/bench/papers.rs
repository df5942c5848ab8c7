//! `homaes bench papers`: the tables of docs/papers.md with figures of runs.

#[cfg(feature = "dghv")]
mod clt14;
mod tbcs23;

use crate::args::Papers;
use crate::cmd::report::read_document;
use crate::console::{self, Failure};
use homaes_lab::baseline;
use homaes_lab::papers::{ghs12, systems};

/// Prints each table under its name in docs/papers.md.
pub(super) fn run(args: &Papers) -> Result<(), Failure> {
    let runs = match &args.runs {
        Some(path) => read_document(path)?,
        None => baseline(),
    };
    let mut page = "# Tables of docs/papers.md\n".to_owned();
    let mut table = |name: &str, text: &str| page += &format!("\n## {name}\n\n{text}");
    // a document of one run has the machine in the run
    let own = runs.runs.iter().find_map(|run| run.machine.as_ref());
    let machine = own.unwrap_or(&runs.machine);
    let day = runs.date.split('T').next().filter(|day| !day.is_empty());
    let day = day.map_or_else(String::new, |day| format!(", {day}"));
    let here = format!("{}, {} cores{day}", machine.processor, machine.cores);
    let systems = systems(&runs).markdown();
    table("systems", &format!("Here: {here}.\n\n{systems}"));
    table("ghs12", &ghs12(&runs).markdown());
    #[cfg(feature = "dghv")]
    table("clt14", &clt14::table(args)?.markdown());
    table("tbcs23-parameters", &tbcs23::parameters().markdown());
    console::print(&page)
}
