//! `homaes transcipher`

pub(crate) mod resume;

use super::{STANDARD_OUTPUT, input, refuse_own_input};
use crate::args::{self, is_stream};
use crate::console::{self, Failure};
use crate::progress::{Follower, report_json, spin, steps_json};
use crate::table;
use homaes::{
    AesFile, AesInput, BridgeKey, Error, EvalKey, Expansion, Kept, Output, Progress, Report, Step,
    Transcipher, WrappedKey,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;

/// What is said when a signal stops a run that others may go on with, or read.
pub(crate) fn keeps(args: &args::Transcipher) -> Option<fn() -> String> {
    match () {
        () if args.resume => Some(resume::interrupted),
        () if is_stream(&args.out) => {
            Some(|| "interrupted; the data on standard output is incomplete".to_owned())
        }
        () => None,
    }
}

/// Refuses what cannot be done with standard output.
fn check_stream(args: &args::Transcipher) -> Result<(), Failure> {
    let refused = |message: &str| Err(Failure::Usage(message.to_owned()));
    match () {
        () if !is_stream(&args.out) => Ok(()),
        () if args.resume => refused(
            "--resume: a run to standard output cannot be continued; give a file with --out",
        ),
        () if args.progress == args::Progress::Json => {
            refused("--progress json and --out - both write to standard output; give --out a file")
        }
        () if io::stdout().is_terminal() => {
            refused("--out: standard output is a terminal; give a file, or pipe it into a program")
        }
        () => Ok(()),
    }
}

pub(crate) fn run(args: &args::Transcipher) -> Result<(), Failure> {
    check_stream(args)?;
    let devices = args.device.get()?;
    let outs = [Some(&args.out), args.report.as_ref()];
    for out in outs.into_iter().flatten() {
        let mut inputs = vec![args.eval.as_path(), &args.wrapped_key];
        let others = [&args.message.aad, &args.bridge, &args.message.files_from];
        inputs.extend(others.into_iter().flatten().map(|path| path.as_path()));
        inputs.extend(args.message.inputs.iter().map(|path| path.as_path()));
        refuse_own_input(out, &inputs)?;
    }
    let how = input::How::new(&args.message)?;
    // Before outputs are there, which may be in a folder that is read.
    let message = input::message(&args.message, &how, &[])?;
    for out in outs.into_iter().flatten() {
        let parts: Vec<_> = message.parts().iter().map(AesFile::path).collect();
        refuse_own_input(out, &parts)?;
    }
    // a key that cannot be read is refused below
    if let Ok(set) = EvalKey::set_in(&args.eval) {
        devices.check(&set, args.layout.get(), args.bridge.is_some())?;
    }
    let (output, report_output) = outputs(args)?;
    let memory = homaes::check_memory(&[&args.eval, &args.wrapped_key]);
    memory.map_err(|error| failure(args, error))?;
    let keys = spin("loading keys", || {
        let eval = EvalKey::open(&args.eval)?;
        let bridge = args.bridge.as_ref();
        let bridge = bridge
            .map(|path| BridgeKey::open(path, &eval))
            .transpose()?;
        let wrapped = WrappedKey::open(&args.wrapped_key, &eval)?;
        Ok::<_, Error>((eval, wrapped, bridge))
    });
    let (eval, wrapped, bridge) = keys.map_err(|error| failure(args, error))?;
    console::warn_insecure(eval.set());
    let mode = mode_of(&message);
    let mut follower = Follower::new(args.progress);
    let mut record = report_output.is_some().then(Batches::new);
    let transcipher = prepare(args, &eval, &wrapped, bridge.as_ref())?;
    warn_of_few_threads(args, &transcipher);
    let plan = transcipher.plan(message)?;
    let transcipher = transcipher.on(devices).warn(console::warn);
    let (message, level) = (plan.message().clone(), plan.meta().level);
    let follow = Mutex::new(&mut follower);
    let locked = || follow.lock().unwrap_or_else(PoisonError::into_inner);
    let transcipher = transcipher.reproducible(args.reproducible).watch(|event| {
        locked().event(event);
        if let Some(batches) = &mut record {
            add(batches, event);
        }
    });
    let report = match output {
        Some(output) => transcipher.run(message, output)?,
        None => {
            let mut started = |kept: Kept| locked().kept(kept.batches);
            let report = resume::run(&transcipher, message, args, &mut started);
            report.map_err(|error| failure(args, error))?
        }
    };
    drop(transcipher);
    follower.finish(&report);
    if let (Some(output), Some(batches)) = (report_output, record) {
        let document = document(&wrapped, mode, &report, &batches);
        // The ciphertexts are complete: that the report is missing does not make the work fail.
        if let Err(Failure::Work(message)) = write(output, &document) {
            console::warn(&format!(
                "{message}; the ciphertexts are complete, but there is no report"
            ));
        }
    }
    if follower.is_json() {
        return Ok(());
    }
    // across a bridge results have no levels
    let results = match bridge {
        None => table::results(eval.set().scheme(), level),
        Some(_) => None,
    };
    let results = results.map_or_else(String::new, |results| format!(", {results}"));
    let summary = summary(&wrapped, &report) + &results;
    match is_stream(&args.out) {
        true => console::tell(&format!("{STANDARD_OUTPUT}: {summary}\n")),
        false => console::print_done(&format!("{}: {summary}\n", args.out.display())),
    }
    Ok(())
}

/// Why it failed; with `--resume` also whether the same command can succeed later.
fn failure(args: &args::Transcipher, error: Error) -> Failure {
    match args.resume {
        true => resume::failure(error),
        false => error.into(),
    }
}

/// The name of the mode of all parts, or that they have several.
fn mode_of(message: &AesInput) -> &'static str {
    let mut names = message.parts().iter().map(|part| part.mode().name());
    match names.next() {
        Some(first) if names.all(|name| name == first) => first,
        _ => "several",
    }
}

/// The output, unless the run can go on and sees to it by itself, and that of the report.
fn outputs(args: &args::Transcipher) -> Result<(Option<Output>, Option<Output>), Failure> {
    let same = || {
        let message = "--report and --out name the same file; choose another name for one of them";
        Failure::Usage(message.into())
    };
    let report = args.report.as_deref();
    if report == Some(&args.out) {
        return Err(same());
    }
    if args.resume {
        // an output that is there is complete, and has its report, or the run fails
        let is_there = |report: &&Path| {
            let [report, out] = [report, &*args.out].map(|path| path.canonicalize().ok());
            !args.force && report.is_some() && out.is_some() && report != out
        };
        let report = report.filter(|report| !is_there(report));
        let report = report
            .map(|path| Output::create(path, args.force))
            .transpose()?;
        let is_out = |report: &Output| report.is_at(&args.out);
        return match report.as_ref().is_some_and(is_out) {
            true => Err(same()),
            false => Ok((None, report)),
        };
    }
    let output = match is_stream(&args.out) {
        true => Output::stream(STANDARD_OUTPUT, io::stdout()),
        false => Output::create(&args.out, args.force)?,
    };
    if let Some(journal) = homaes::unfinished(&args.out) {
        console::warn(&format!(
            "{}: left by a stopped run; continue it with --resume, or remove it and {}",
            journal.display(),
            homaes::part_path(&args.out).display()
        ));
    }
    let report = report
        .map(|path| Output::create(path, args.force))
        .transpose()?;
    if report
        .as_ref()
        .is_some_and(|report| report.is_same(&output))
    {
        return Err(same());
    }
    Ok((Some(output), report))
}

/// Says so if not all threads could be started.
fn warn_of_few_threads(args: &args::Transcipher, transcipher: &Transcipher<'_>) {
    let all = available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let (wanted, started) = (args.threads.unwrap_or(all).get(), transcipher.threads());
    if started < wanted {
        console::warn(&format!(
            "only {started} of {wanted} threads started; the run takes longer"
        ));
    }
}

/// The keys, with the threads and the layout asked for.
fn prepare<'k>(
    args: &args::Transcipher,
    eval: &'k EvalKey,
    wrapped: &'k WrappedKey,
    bridge: Option<&'k BridgeKey>,
) -> Result<Transcipher<'k>, Error> {
    let transcipher = match args.threads {
        Some(threads) => Transcipher::with_threads(eval, wrapped, threads)?,
        None => Transcipher::new(eval, wrapped)?,
    };
    let transcipher = match bridge {
        Some(bridge) => transcipher.via_bridge(bridge)?,
        None => transcipher,
    };
    match args.layout.get() {
        Some(layout) => transcipher.layout(layout),
        None => Ok(transcipher),
    }
}

/// The steps of every batch, in order.
type Batches = BTreeMap<u64, Vec<Step>>;

fn add(batches: &mut Batches, event: Progress) {
    batches.entry(event.batch).or_default().push(event.step);
}

/// What `--report` writes.
fn document(wrapped: &WrappedKey, mode: &str, report: &Report, batches: &Batches) -> Value {
    let batches = batches
        .iter()
        .map(|(batch, steps)| json!({ "batch": batch, "steps": steps_json(steps) }));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "set": wrapped.set().name(),
        "purpose": wrapped.set().purpose().as_str(),
        "mode": mode,
        "direction": table::direction(wrapped.direction()),
        "expansion": wrapped.expansion().name(),
        "aes_key_bits": 8 * wrapped.key_size().key_bytes(),
        "report": report_json(report),
        "batches": batches.collect::<Vec<_>>(),
    })
}

fn write(mut output: Output, document: &Value) -> Result<(), Failure> {
    let written = output.write_all(format!("{document:#}\n").as_bytes());
    written.map_err(|source| Error::Io {
        path: output.path().to_owned(),
        source,
    })?;
    Ok(output.commit()?)
}

fn summary(wrapped: &WrappedKey, report: &Report) -> String {
    if report.resumed == report.batches && report.batches > 0 {
        let batches = table::count(report.batches, "batch", "batches");
        return format!("complete, {batches} from earlier runs");
    }
    let bytes = table::count(report.bytes, "byte", "bytes");
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
        Expansion::Client => String::new(),
        Expansion::Server => {
            let time = table::seconds(report.setup_seconds);
            format!(" after {time} of key expansion")
        }
    };
    format!(
        "{bytes}, {blocks} ({layout}){resumed}, {time} on {devices}{setup}, noise left: {noise}{wrong}"
    )
}
