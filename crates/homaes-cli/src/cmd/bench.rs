//! `homaes bench`: one full run, and the kernels beside their reference.
//!
//! Times of AES are given as multiples of reference code measured in the same process, so that they can be compared
//! between machines.

mod aes;
mod kernels;
mod reference;
#[cfg(feature = "dghv")]
mod table_1;

use super::named_set;
use crate::args::{Bench, Direction, Layout, Target};
use crate::console::{self, Failure};
use homaes::{KeySize, Scheme};
use serde_json::Value;

pub(crate) fn run(args: &Bench) -> Result<(), Failure> {
    if args.target == Target::Kernels && of_a_run(args) {
        let message = "'bench kernels' takes none of --set, --variant, --layout, --key-bits, --direction, --blocks and --threads; see --help";
        return Err(Failure::Usage(message.into()));
    }
    #[cfg(feature = "dghv")]
    if args.table {
        return table_1::run(args);
    }
    let schemes = schemes(args)?.into_iter();
    // All are checked before the first is measured.
    let plans: Vec<_> = schemes
        .map(|scheme| aes::Plan::new(scheme, args))
        .collect::<Result<_, Failure>>()?;
    let runs: Vec<_> = plans
        .into_iter()
        .map(aes::Plan::measure)
        .collect::<Result<_, Failure>>()?;
    let kernels = match args.target {
        Target::Kernels | Target::All => Some(kernels::measure()?),
        Target::Scheme(_) => None,
    };
    if args.json {
        let runs = runs.iter().map(|run| (run.scheme().name(), run.json()));
        let kernels = kernels.map(|kernels| ("kernels", kernels.json()));
        let mut documents = runs.chain(kernels);
        return console::print_json(&match args.target {
            Target::All => Value::Object(
                documents
                    .map(|(name, document)| (name.to_owned(), document))
                    .collect(),
            ),
            // There is but one.
            _ => documents
                .next()
                .map_or(Value::Null, |(_, document)| document),
        });
    }
    let runs = runs.iter().map(aes::Run::text);
    let kernels = kernels.map(|kernels| kernels.text());
    let texts: Vec<String> = runs.chain(kernels).collect();
    console::print(&texts.join("\n"))
}

/// The schemes to measure: with a set, everything means its scheme.
fn schemes(args: &Bench) -> Result<Vec<Scheme>, Failure> {
    Ok(match (args.target, &args.set) {
        (Target::Scheme(scheme), _) => vec![scheme],
        (Target::Kernels, _) => Vec::new(),
        (Target::All, Some(set)) => vec![named_set(set)?.scheme()],
        (Target::All, None) => Scheme::ALL.to_vec(),
    })
}

/// Whether anything is chosen about a run of AES.
fn of_a_run(args: &Bench) -> bool {
    args.set.is_some()
        || args.variant.is_some()
        || args.blocks.is_some()
        || args.threads.is_some()
        || args.layout != Layout::Auto
        || args.key_bits != KeySize::Aes128
        || args.direction != Direction::Encrypt
}
