//! `homaes bench papers`: the papers' tables beside ours, docs/tables.md.

#[cfg(feature = "dghv")]
mod clt14;
mod tbcs23;

use super::compare::lab;
use crate::args::Papers;
use crate::console::{self, Failure};
use homaes_lab::papers::{ghs12, systems, tbcs23};
use homaes_lab::{Lab, baseline};
use rayon::{ThreadPool, ThreadPoolBuilder};

const INTRODUCTION: &str = "\
# The papers' tables beside ours

Written by `homaes bench papers > docs/tables.md`; `--set dghv/medium` measures Medium too. Do not edit. Whole runs are those of [BENCHMARKS.md](../BENCHMARKS.md), or of the document that is given. Operations of CLT14 and TBCS23 are
measured by the command itself. *Printed*: in the paper, on the machine that it names.

| short | paper |
|---|---|
| GHS12 | Gentry, Halevi, Smart: *Homomorphic Evaluation of the AES Circuit*, CRYPTO 2012, and its slides |
| DHS14 | Doröz, Hu, Sunar: *Homomorphic AES Evaluation using the Modified LTV Scheme*, eprint 2014/039 |
| CLT14 | Coron, Lepoint, Tibouchi: *Scale-Invariant Fully Homomorphic Encryption over the Integers*, PKC 2014 |
| TBCS23 | Trama, Clet, Boudguiga, Sirdey: *A Homomorphic AES Evaluation in Less than 30 Seconds by Means of TFHE*, 2023, poster |
";

pub(super) fn run(args: &Papers) -> Result<(), Failure> {
    let runs = match &args.runs {
        Some(path) => lab(path)?,
        None => baseline(),
    };
    let mut page = INTRODUCTION.to_owned();
    let mut section = |title: &str, text: &str| {
        page += &format!("\n## {title}\n\n{}\n", text.trim_end());
    };
    section(
        "Every system and variant",
        &format!(
            "{}Ratio: printed over here, full messages of both, here on all cores. It compares programs, machines of 2012 to 2023 with that above, and parameters: the papers ask for 80 bits of security or what they took for it, our secure sets for 128. \
             GHS12's figures are those of the slides of 2012; of its authors' later program TBCS23 cites 18 minutes a block. TBCS23: the laptop on one thread.\n\n{}",
            machine(&runs),
            systems(&runs).markdown()
        ),
    );
    section(
        "GHS12: Results",
        &format!(
            "Printed: one core, 256 GB. *Public*: blocks enter AES without encryption. Levels: of the chain at its start, printed and here.\n\n{}",
            ghs12(&runs).markdown()
        ),
    );
    section("DHS14: Tables 1 to 4, Figure 1", homaes_ntru::paper::TABLES);
    #[cfg(feature = "dghv")]
    section("CLT14: Table 1", &clt14::text(args)?);
    section("TBCS23: parameters", &tbcs23::parameters());
    section("TBCS23: bases", &tbcs23::bases(args.quick)?);
    section(
        "TBCS23: Results, and its speed-ups",
        &format!(
            "Ratio: to the fastest printed time, 28.73 s, as in the poster's figure.\n\n{}",
            tbcs23(&runs).markdown()
        ),
    );
    console::print(&page)
}

/// Where the runs were measured.
fn machine(runs: &Lab) -> String {
    let (machine, day) = (&runs.machine, runs.date.split('T').next());
    format!(
        "Here: {}, {} cores, {}.\n\n",
        machine.processor,
        machine.cores,
        day.unwrap_or_default()
    )
}

fn pool(threads: usize) -> Result<ThreadPool, Failure> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| Failure::system("threads", error))
}

fn seed() -> Result<[u8; 32], Failure> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| Failure::system("random source", error))?;
    Ok(seed)
}
