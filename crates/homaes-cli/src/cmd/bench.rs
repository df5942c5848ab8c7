//! `homaes bench`: one full run, and the kernels beside their reference.
//!
//! Times of AES are given as multiples of one transform of the crate `tfhe-ntt` measured in the same process, so that
//! they can be compared between machines.

mod aes;
mod kernels;

use crate::args::{Bench, Direction, Layout, Target};
use crate::console::{self, Failure};
use homaes::KeySize;
use serde_json::json;

pub(crate) fn run(args: &Bench) -> Result<(), Failure> {
    if args.target == Target::Kernels && of_a_run(args) {
        let message = "'bench kernels' takes none of --set, --layout, --key-bits, --direction, --blocks and --threads; see --help";
        return Err(Failure::Usage(message.into()));
    }
    let aes = match args.target {
        Target::Bgv | Target::All => Some(aes::measure(homaes::Scheme::Bgv, args)?),
        Target::Kernels => None,
    };
    let kernels = match args.target {
        Target::Kernels | Target::All => Some(kernels::measure()?),
        Target::Bgv => None,
    };
    if args.json {
        let aes = aes.map(|aes| aes.json());
        let kernels = kernels.map(|kernels| kernels.json());
        return console::print_json(&match (aes, kernels) {
            (Some(one), None) | (None, Some(one)) => one,
            (aes, kernels) => json!({ "bgv": aes, "kernels": kernels }),
        });
    }
    let texts = [
        aes.map(|aes| aes.text()),
        kernels.map(|kernels| kernels.text()),
    ];
    let texts: Vec<String> = texts.into_iter().flatten().collect();
    console::print(&texts.join("\n"))
}

/// Whether anything is chosen about a run of AES.
fn of_a_run(args: &Bench) -> bool {
    args.set.is_some()
        || args.blocks.is_some()
        || args.threads.is_some()
        || args.layout != Layout::Auto
        || args.key_bits != KeySize::Aes128
        || args.direction != Direction::Encrypt
}
