//! `homaes transcipher`

use crate::args::{self, Mode};
use crate::console::{self, Failure};
use crate::progress::{Follower, spin};
use crate::table;
use homaes::{EvalKey, Job, Output, Report, Transcipher, WrappedKey};

pub(crate) fn run(args: &args::Transcipher) -> Result<(), Failure> {
    let mode = match args.mode {
        Mode::Ctr => homaes::Mode::Ctr { iv: args.iv },
    };
    let job = Job::open(&args.input, mode)?;
    let output = Output::create(&args.out, args.force)?;
    let (eval, wrapped) = spin("loading keys", || {
        let eval = EvalKey::open(&args.eval)?;
        let wrapped = WrappedKey::open(&args.wrapped_key, &eval)?;
        Ok::<_, homaes::Error>((eval, wrapped))
    })?;
    console::warn_insecure(eval.set());
    let mut follower = Follower::new(args.progress);
    let transcipher = match args.threads {
        Some(threads) => Transcipher::with_threads(&eval, &wrapped, threads)?,
        None => Transcipher::new(&eval, &wrapped)?,
    };
    let report = transcipher
        .watch(|event| follower.event(event))
        .run(job, output)?;
    follower.finish(&report);
    if follower.is_json() {
        return Ok(());
    }
    console::print(&format!("{}: {}\n", args.out.display(), summary(&report)))
}

fn summary(report: &Report) -> String {
    let bytes = table::count(report.bytes, "byte", "bytes");
    let blocks = table::blocks(report.blocks, report.batches);
    let threads = table::count(report.threads as u64, "thread", "threads");
    let time = table::seconds(report.seconds);
    let noise = table::noise_left(report.capacity_bits);
    format!("{bytes}, {blocks}, {time} on {threads}, noise left: {noise}")
}
