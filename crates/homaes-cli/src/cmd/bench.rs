//! `homaes bench`: full runs of AES, and kernels compared with their reference.
//!
//! Times of AES are given as multiples of reference code measured in the same process, so that they can be compared
//! between machines.

mod aes;
mod all;
mod bridge;
mod case;
mod child;
mod compare;
mod kernels;
mod machine;
mod papers;
mod reference;

pub(crate) use child::{goes_on as goes_on_after_signal, set_program};

use crate::args::{Bench, BenchCommand, Target};
use crate::console::{self, Failure, refuse};
use homaes::{Direction, KeySize};
use serde_json::json;

pub(crate) fn run(args: &Bench) -> Result<(), Failure> {
    match &args.command {
        Some(BenchCommand::Compare(args)) => return compare::run(args),
        Some(BenchCommand::Papers(args)) => return papers::run(args),
        None => {}
    }
    if args.target == Target::Kernels && of_a_run(args) {
        let message = "'bench kernels' does not take --set, --variant, --layout, --key-bits, --direction, --blocks, \
                       --threads or --noise; see --help";
        return refuse(message);
    }
    if args.budget.is_some() && args.target != Target::All {
        return refuse("--budget works only with 'bench all'; leave it out");
    }
    let on_gpus = [Target::Scheme(homaes::Scheme::Bgv), Target::Bridge];
    if !on_gpus.contains(&args.target) && args.workers.device.is_some() {
        return refuse("--device works only with 'bench bgv' and 'bench bridge'; leave it out");
    }
    if args.bound {
        child::end_with_parent();
    }
    match args.target {
        Target::All => all::run(args),
        Target::Kernels => {
            let kernels = kernels::measure()?;
            console::print_either(
                args.json,
                || kernels::json(&kernels),
                || kernels::text(&kernels),
            )
        }
        Target::Bridge => {
            let outcome = bridge::measure(args)?;
            console::print_either(args.json, || outcome.document(), || outcome.text())
        }
        Target::Scheme(scheme) => {
            let outcome = aes::measure(scheme, args)?;
            console::print_either(args.json, || json!(outcome.run), || outcome.text())
        }
    }
}

fn of_a_run(args: &Bench) -> bool {
    args.set.is_some()
        || args.variant.is_some()
        || args.blocks.is_some()
        || args.workers.threads.is_some()
        || args.noise
        || args.layout.is_some()
        || args.key_bits != KeySize::Aes128
        || args.direction != Direction::Encrypt
}
