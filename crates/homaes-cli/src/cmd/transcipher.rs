//! `homaes transcipher`

use super::{read_aad, refuse_own_input};
use crate::args::{self, Mode, parse_iv, parse_nonce};
use crate::console::{self, Failure};
use crate::progress::{Follower, report_json, spin, steps_json};
use crate::table;
use homaes::{
    Error, EvalKey, Expansion, Job, Output, Progress, Report, Step, Transcipher, WrappedKey,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;

pub(crate) fn run(args: &args::Transcipher) -> Result<(), Failure> {
    if args.report.as_ref() == Some(&args.out) {
        let message = "--report and --out name the same file; choose another name for one of them";
        return Err(Failure::Usage(message.into()));
    }
    for out in [Some(&args.out), args.report.as_ref()]
        .into_iter()
        .flatten()
    {
        let aad = args.aad.as_deref().unwrap_or(&args.input);
        refuse_own_input(out, &[&args.eval, &args.wrapped_key, &args.input, aad])?;
    }
    let job = open_job(args)?;
    let output = Output::create(&args.out, args.force)?;
    let report_output = args.report.as_ref();
    let report_output = report_output.map(|path| Output::create(path, args.force));
    let report_output = report_output.transpose()?;
    let (eval, wrapped) = spin("loading keys", || {
        let eval = EvalKey::open(&args.eval)?;
        let wrapped = WrappedKey::open(&args.wrapped_key, &eval)?;
        Ok::<_, Error>((eval, wrapped))
    })?;
    console::warn_insecure(eval.set());
    let mode = job.mode().name();
    let mut follower = Follower::new(args.progress);
    let mut record = report_output.is_some().then(Batches::new);
    let report = prepare(args, &eval, &wrapped)?
        .watch(|event| {
            follower.event(event);
            if let Some(batches) = &mut record {
                add(batches, event);
            }
        })
        .run(job, output)?;
    follower.finish(&report);
    if let (Some(output), Some(batches)) = (report_output, record) {
        let document = document(&wrapped, mode, &report, &batches);
        write(output, &document)?;
    }
    if follower.is_json() {
        return Ok(());
    }
    let summary = summary(&wrapped, &report);
    console::print(&format!("{}: {summary}\n", args.out.display()))
}

/// The keys, with the threads and the layout asked for.
fn prepare<'k>(
    args: &args::Transcipher,
    eval: &'k EvalKey,
    wrapped: &'k WrappedKey,
) -> Result<Transcipher<'k>, Error> {
    let transcipher = match args.threads {
        Some(threads) => Transcipher::with_threads(eval, wrapped, threads)?,
        None => Transcipher::new(eval, wrapped)?,
    };
    match args.layout.get() {
        Some(layout) => transcipher.layout(layout),
        None => Ok(transcipher),
    }
}

/// The file with its mode, or what is wrong with `--iv` and `--aad`.
fn open_job(args: &args::Transcipher) -> Result<Job, Failure> {
    let usage = |reason: String| Failure::Usage(format!("--iv: {reason}"));
    let iv = |what| {
        let text = args.iv.as_deref();
        let text = text.ok_or_else(|| usage(format!("missing, expected 32 hex digits: {what}")))?;
        parse_iv(text, what).map_err(usage)
    };
    let job = match (args.mode, args.iv.as_deref()) {
        (Mode::Ecb, None) => Job::open(&args.input, homaes::Mode::Ecb)?,
        (Mode::Ecb, Some(_)) => return Err(usage("mode ecb takes none; leave it out".into())),
        (Mode::Cbc, _) => {
            let iv = iv("the initialisation vector")?;
            Job::open(&args.input, homaes::Mode::Cbc { iv })?
        }
        (Mode::Ctr, _) => {
            let iv = iv("the whole initial counter block")?;
            Job::open(&args.input, homaes::Mode::Ctr { iv })?
        }
        (Mode::Gcm, None) => Job::open_with_nonce(&args.input)?,
        (Mode::Gcm, Some(text)) => {
            let nonce = parse_nonce(text).map_err(usage)?;
            Job::open(&args.input, homaes::Mode::Gcm { nonce })?
        }
    };
    match (&args.aad, args.mode) {
        (None, _) => Ok(job),
        (Some(path), Mode::Gcm) => Ok(job.with_aad(read_aad(path)?)?),
        (Some(_), _) => Err(Failure::Usage(
            "--aad: only mode gcm has associated data; leave it out".into(),
        )),
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
    let bytes = table::count(report.bytes, "byte", "bytes");
    let blocks = table::blocks(report.blocks, report.batches);
    let threads = table::count(report.threads as u64, "thread", "threads");
    let time = table::seconds(report.seconds);
    let noise = table::quality_left(report.quality);
    let layout = report.layout;
    let setup = match wrapped.expansion() {
        Expansion::Client => String::new(),
        Expansion::Server => {
            let time = table::seconds(report.setup_seconds);
            format!(" after {time} of key expansion")
        }
    };
    format!("{bytes}, {blocks} ({layout}), {time} on {threads}{setup}, noise left: {noise}")
}
