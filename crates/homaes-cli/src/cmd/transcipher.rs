use super::{
    STANDARD_OUTPUT, cores, input, print_done, refuse_own_input, resumable, transcipher, write,
};
use crate::args::{self, is_stream};
use crate::console::{self, Failure, refuse};
use crate::progress::{Follower, report_json, spin, steps_json};
use crate::table;
use homaes::{
    AesFile, AesInput, BridgeKey, Error, EvalKey, Expansion, Kept, Output, Plan, Report, Resume,
    Step, Transcipher, WrappedKey,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::{Duration, Instant};

/// The message after a signal during a run that can be resumed or has streamed output.
pub(crate) fn keeps(args: &args::Transcipher) -> Option<fn() -> String> {
    if args.resume {
        return Some(|| super::interrupted_after("batches"));
    }
    let incomplete = || "interrupted; the data on standard output is incomplete".to_owned();
    is_stream(&args.out).then_some(incomplete)
}

/// Refuses options that need a file when the output is standard output.
fn check_stream(args: &args::Transcipher) -> Result<(), Failure> {
    let message = if !is_stream(&args.out) {
        return Ok(());
    } else if args.resume {
        "--resume: a run to standard output cannot be continued; give a file with --out"
    } else if args.progress == args::Progress::Json {
        "--progress json and --out - both write to standard output; give --out a file"
    } else if io::stdout().is_terminal() {
        "--out: standard output is a terminal; give a file, or pipe it into a program"
    } else {
        return Ok(());
    };
    refuse(message)
}

pub(crate) fn run(args: &args::Transcipher) -> Result<(), Failure> {
    check_stream(args)?;
    let devices = args.workers.devices()?;
    let outs = [
        Some(&args.out),
        args.report.as_ref(),
        args.keep_expanded.as_ref(),
    ];
    for out in outs.into_iter().flatten() {
        let mut inputs = vec![args.eval.as_path(), &args.wrapped_key];
        let others = [&args.message.aad, &args.bridge, &args.message.files_from];
        inputs.extend(others.into_iter().flatten().map(|path| path.as_path()));
        inputs.extend(args.message.inputs.iter().map(|path| path.as_path()));
        refuse_own_input(out, &inputs)?;
    }
    // first: the outputs may be in a folder that is read
    let message = input::message(&args.message, &[])?;
    for out in outs.into_iter().flatten() {
        let parts: Vec<_> = message.parts().iter().map(AesFile::path).collect();
        refuse_own_input(out, &parts)?;
    }
    // an unreadable key is refused below
    if let Ok(set) = EvalKey::set_in(&args.eval) {
        devices.check(&set, args.layout)?;
    }
    let (output, report_output) = outputs(args)?;
    let kept = args.keep_expanded.as_deref();
    let kept = kept
        .map(|path| Output::create(path, args.force))
        .transpose()?;
    if let Some(kept) = &kept {
        let mut others = [&output, &report_output].into_iter().flatten();
        if others.any(|other| other.is_same(kept)) {
            let message = "--keep-expanded names the file of --out or --report; choose another name for one of them";
            return Err(Failure::Usage(message.into()));
        }
    }
    let memory = homaes::check_memory(&[&args.eval, &args.wrapped_key]);
    memory.map_err(|error| resumable(args.resume, error))?;
    let keys = spin("loading keys", || {
        let eval = EvalKey::open(&args.eval)?;
        let bridge = args.bridge.as_ref();
        let bridge = bridge
            .map(|path| BridgeKey::open(path, &eval))
            .transpose()?;
        let wrapped = WrappedKey::open(&args.wrapped_key, &eval)?;
        Ok::<_, Error>((eval, wrapped, bridge))
    });
    let (eval, wrapped, bridge) = keys.map_err(|error| resumable(args.resume, error))?;
    check_end(args, bridge.as_ref())?;
    console::warn_insecure(eval.set());
    let mode = mode_of(&message);
    let follower = Follower::new(args.progress);
    let mut record = report_output.is_some().then(Batches::new);
    let threads = args.workers.threads.unwrap_or_else(cores);
    let transcipher = transcipher(&eval, &wrapped, bridge.as_ref(), threads, args.layout)?;
    let plan = transcipher.plan(message)?;
    warn_of_keys(&plan);
    let transcipher = transcipher.on(devices).warn(console::warn);
    let (message, level) = (plan.message().clone(), plan.meta().level);
    let transcipher = transcipher.reproducible(args.reproducible).watch(|event| {
        follower.event(event);
        if let Some(batches) = &mut record {
            batches.entry(event.batch).or_default().push(event.step);
        }
    });
    if wrapped.is_compact() {
        follower.expanding();
    }
    let start = Instant::now();
    let mut expanding = Duration::ZERO;
    if let Some(kept) = kept {
        transcipher.save_round_keys(&plan, kept)?;
        expanding = start.elapsed();
    }
    let mut report = match output {
        Some(output) => transcipher.run(message, output)?,
        None => {
            let report = resume(&transcipher, message, args, &follower);
            report.map_err(|error| resumable(args.resume, error))?
        }
    };
    drop(transcipher);
    // the run found the keys expanded
    report.setup_seconds += expanding.as_secs_f64();
    follower.finish(&report);
    if let (Some(output), Some(batches)) = (report_output, record) {
        let document = document(&wrapped, mode, &report, &batches);
        // the ciphertexts are complete, so the run still succeeds
        if let Err(Failure::Work(message)) = write(output, &format!("{document:#}\n")) {
            console::warn(&format!(
                "{message}; the ciphertexts are complete, but there is no report"
            ));
        }
    }
    if follower.is_json() {
        return Ok(());
    }
    // results that crossed a bridge have no levels
    let results = table::results(eval.set().scheme(), level).filter(|_| bridge.is_none());
    let results = results.map_or_else(String::new, |results| format!(", {results}"));
    print_done(&args.out, &(summary(&wrapped, &report) + &results));
    Ok(())
}

/// Refuses a bridge that leads elsewhere than `--to` says.
fn check_end(args: &args::Transcipher, bridge: Option<&BridgeKey>) -> Result<(), Failure> {
    let Some((to, bridge)) = args.to.zip(bridge) else {
        return Ok(());
    };
    let (right, name) = match bridge.is_link() {
        true => (args::To::Ckks, "ckks"),
        false => (args::To::Tfhe, "tfhe"),
    };
    match to == right {
        true => Ok(()),
        false => refuse(format!(
            "--bridge leads to {}: use --to {name}, or give another bridge key",
            bridge.end()
        )),
    }
}

/// Warns of shared counters, and of keys with so different numbers of blocks that most positions stay empty.
fn warn_of_keys(plan: &Plan) {
    let own_keys = plan.meta().aes_keys().is_some();
    input::warn_of_shared_counters(plan.message(), own_keys);
    let (split, blocks) = (plan.split(), plan.message().blocks());
    let even = blocks.div_ceil(split.blocks_per_batch).max(1);
    if own_keys && split.batches() >= 2 * even {
        console::warn(&format!(
            "{} for what the keys would share in {even} if each had as many blocks; wrap fewer AES keys together, or \
             those with much data in a file of their own",
            table::count(split.batches(), "batch")
        ));
    }
}

fn resume(
    transcipher: &Transcipher<'_>,
    message: AesInput,
    args: &args::Transcipher,
    follower: &Follower,
) -> Result<Report, Error> {
    let how = Resume {
        force: args.force,
        ignore_space: args.ignore_space,
    };
    let mut first = true;
    let mut kept = |kept: Kept| {
        super::keep(kept.batches, kept.of);
        if !std::mem::take(&mut first) {
            return;
        }
        let (lost, batches, of) = (kept.lost, kept.batches, kept.of);
        if lost > 0 {
            console::warn(&format!(
                "the unfinished output or its journal is damaged; evaluating {lost} batches again"
            ));
        }
        if batches > 0 {
            console::tell(&format!("continuing after {batches} of {of} batches\n"));
        }
        follower.kept(batches);
    };
    transcipher.resume(message, &args.out, how, &mut kept)
}

fn mode_of(message: &AesInput) -> &'static str {
    let mut names = message.parts().iter().map(|part| part.mode().name());
    match names.next() {
        Some(first) if names.all(|name| name == first) => first,
        _ => "several",
    }
}

/// A resumable run opens its output itself.
fn outputs(args: &args::Transcipher) -> Result<(Option<Output>, Option<Output>), Failure> {
    let create = |path: &Path| Output::create(path, args.force);
    let same = || {
        let message = "--report and --out name the same file; choose another name for one of them";
        Failure::Usage(message.into())
    };
    let mut report = args.report.as_deref();
    if report == Some(&args.out) {
        return Err(same());
    }
    let output = match is_stream(&args.out) {
        _ if args.resume => None,
        true => Some(Output::stream(STANDARD_OUTPUT, io::stdout())),
        false => Some(create(&args.out)?),
    };
    if args.resume {
        // a complete output has its report already; otherwise the run fails
        let is_there = |report: &&Path| {
            let [report, out] = [report, &*args.out].map(|path| path.canonicalize().ok());
            !args.force && report.is_some() && out.is_some() && report != out
        };
        report = report.filter(|report| !is_there(report));
    } else if let Some(journal) = homaes::unfinished(&args.out) {
        console::warn(&format!(
            "{}: left by a stopped run; continue it with --resume, or remove it and {}",
            journal.display(),
            homaes::part_path(&args.out).display()
        ));
    }
    let report = report.map(create).transpose()?;
    let is_out = |report: &Output| match &output {
        Some(output) => report.is_same(output),
        None => report.is_at(&args.out),
    };
    match report.as_ref().is_some_and(is_out) {
        true => Err(same()),
        false => Ok((output, report)),
    }
}

type Batches = BTreeMap<u64, Vec<Step>>;

fn document(wrapped: &WrappedKey, mode: &str, report: &Report, batches: &Batches) -> Value {
    let batches = batches
        .iter()
        .map(|(batch, steps)| json!({ "batch": batch, "steps": steps_json(steps) }));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "set": wrapped.set().name(),
        "purpose": wrapped.set().purpose().as_str(),
        "mode": mode,
        "direction": table::directions(&wrapped.directions()),
        "expansion": wrapped.expansion().name(),
        "compact": wrapped.is_compact(),
        "aes_key_bits": 8 * wrapped.key_size().key_bytes(),
        "report": report_json(report),
        "batches": batches.collect::<Vec<_>>(),
    })
}

fn summary(wrapped: &WrappedKey, report: &Report) -> String {
    if report.resumed == report.batches && report.batches > 0 {
        let batches = table::count(report.batches, "batch");
        return format!("complete, {batches} from earlier runs");
    }
    let bytes = table::count(report.bytes, "byte");
    let blocks = table::blocks(report.blocks, report.batches);
    let devices = table::devices(report);
    let time = table::seconds(report.seconds);
    let noise = table::quality_left(report.quality);
    let wrong = table::wrong(report.log2_p_fail());
    let layout = report.layout;
    let resumed = match report.resumed {
        0 => String::new(),
        count => format!(", {count} of the batches from earlier runs"),
    };
    let setup = match wrapped.expansion() {
        Expansion::Client if !wrapped.is_compact() => String::new(),
        _ => {
            let time = table::seconds(report.setup_seconds);
            format!(" after {time} of key expansion")
        }
    };
    format!(
        "{bytes}, {blocks} ({layout}){resumed}, {time} on {devices}{setup}, noise left: {noise}{wrong}"
    )
}
