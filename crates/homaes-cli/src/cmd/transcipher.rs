//! `homaes transcipher`

use super::{read_aad, refuse_own_input, reserve};
use crate::args::{self, Mode, is_stream, parse_iv, parse_nonce};
use crate::console::{self, Failure};
use crate::progress::{Follower, report_json, spin, steps_json};
use crate::table;
use homaes::{
    BridgeKey, Error, EvalKey, Expansion, Output, Part, Progress, Report, Step, Transcipher,
    WrappedKey,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::thread::available_parallelism;

pub(crate) fn run(args: &args::Transcipher) -> Result<(), Failure> {
    for out in [Some(&args.out), args.report.as_ref()]
        .into_iter()
        .flatten()
    {
        let aad = args.aad.as_deref().unwrap_or(&args.input);
        let bridge = args.bridge.as_deref().unwrap_or(&args.input);
        refuse_own_input(
            out,
            &[&args.eval, &args.wrapped_key, &args.input, aad, bridge],
        )?;
    }
    let how = how_encrypted(args)?;
    let (output, report_output) = outputs(args)?;
    let part = open_part(args, how)?;
    homaes::check_memory(&[&args.eval, &args.wrapped_key])?;
    let (eval, wrapped, bridge) = spin("loading keys", || {
        let eval = EvalKey::open(&args.eval)?;
        let bridge = args.bridge.as_ref();
        let bridge = bridge
            .map(|path| BridgeKey::open(path, &eval))
            .transpose()?;
        let wrapped = WrappedKey::open(&args.wrapped_key, &eval)?;
        Ok::<_, Error>((eval, wrapped, bridge))
    })?;
    console::warn_insecure(eval.set());
    let mode = part.mode().name();
    let mut follower = Follower::new(args.progress);
    let mut record = report_output.is_some().then(Batches::new);
    let transcipher = prepare(args, &eval, &wrapped, bridge.as_ref())?;
    warn_of_few_threads(args, &transcipher);
    let report = transcipher
        .reproducible(args.reproducible)
        .watch(|event| {
            follower.event(event);
            if let Some(batches) = &mut record {
                add(batches, event);
            }
        })
        .run(part, output)?;
    follower.finish(&report);
    if let (Some(output), Some(batches)) = (report_output, record) {
        let document = document(&wrapped, mode, &report, &batches);
        // The ciphertexts are complete: that the report is missing does not make the work fail.
        if let Err(Failure::Work(message)) = write(output, &document) {
            console::warn(&format!("{message}; the work is done, but has no report"));
        }
    }
    if follower.is_json() {
        return Ok(());
    }
    let summary = summary(&wrapped, &report);
    console::print_done(&format!("{}: {summary}\n", args.out.display()));
    Ok(())
}

/// The output, and that of the report.
fn outputs(args: &args::Transcipher) -> Result<(Output, Option<Output>), Failure> {
    let same = || {
        let message = "--report and --out name the same file; choose another name for one of them";
        Failure::Usage(message.into())
    };
    let report = args.report.as_deref();
    if report == Some(&args.out) {
        return Err(same());
    }
    let output = reserve(&args.out, args.force)?;
    let report = report.map(|path| reserve(path, args.force)).transpose()?;
    if report
        .as_ref()
        .is_some_and(|report| report.is_same(&output))
    {
        return Err(same());
    }
    Ok((output, report))
}

/// Says so if not all threads could be started.
fn warn_of_few_threads(args: &args::Transcipher, transcipher: &Transcipher<'_>) {
    let all = available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let (wanted, started) = (args.threads.unwrap_or(all).get(), transcipher.threads());
    if started < wanted {
        console::warn(&format!(
            "the system lets only {started} of {wanted} threads start; the work takes longer"
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
        Some(bridge) => transcipher.across(bridge)?,
        None => transcipher,
    };
    match args.layout.get() {
        Some(layout) => transcipher.layout(layout),
        None => Ok(transcipher),
    }
}

/// How the file was encrypted, as far as the command line says.
enum How {
    Mode(homaes::Mode),
    /// In mode gcm, with the nonce at the start of the file.
    OwnNonce,
}

/// What `--mode`, `--iv` and `--aad` say, or what is wrong with them.
fn how_encrypted(args: &args::Transcipher) -> Result<How, Failure> {
    let usage = |reason: String| Failure::Usage(format!("--iv: {reason}"));
    let no_iv = || {
        usage(format!(
            "mode {} takes none; leave it out",
            args.mode.name()
        ))
    };
    let iv = |what| {
        let text = args.iv.as_deref();
        let text = text.ok_or_else(|| usage(format!("missing, expected 32 hex digits: {what}")))?;
        parse_iv(text, what).map_err(usage)
    };
    if args.aad.is_some() && args.mode != Mode::Gcm {
        let message = "--aad: only mode gcm has associated data; leave it out";
        return Err(Failure::Usage(message.into()));
    }
    Ok(How::Mode(match (args.mode, args.iv.as_deref()) {
        (Mode::Ecb, None) => homaes::Mode::Ecb,
        (Mode::Ecb, Some(_)) => return Err(no_iv()),
        (Mode::Gcm, None) => return Ok(How::OwnNonce),
        (Mode::Gcm, Some(text)) => {
            let nonce = parse_nonce(text).map_err(usage)?;
            homaes::Mode::Gcm { nonce }
        }
        (mode, _) => {
            let iv = iv(match mode {
                Mode::Cbc | Mode::Cfb => "the initialisation vector",
                _ => "the whole initial counter block",
            })?;
            let named = homaes::Mode::with_iv(mode.name(), iv);
            named.ok_or_else(no_iv)?
        }
    }))
}

/// The file with its associated data.
fn open_part(args: &args::Transcipher, how: How) -> Result<Part, Failure> {
    let part = if is_stream(&args.input) {
        let (file, name) = (spooled_input()?, "standard input");
        match how {
            How::Mode(mode) => Part::from_file(file, name, mode)?,
            How::OwnNonce => Part::from_file_with_nonce(file, name)?,
        }
    } else {
        let part = match how {
            How::Mode(mode) => Part::open(&args.input, mode),
            How::OwnNonce => Part::open_with_nonce(&args.input),
        };
        part.map_err(|error| match &error {
            Error::Io { source, .. } if source.kind() == io::ErrorKind::InvalidInput => {
                Failure::Work(format!(
                    "{error}; give a regular file, or - for standard input"
                ))
            }
            _ => error.into(),
        })?
    };
    match &args.aad {
        None => Ok(part),
        Some(path) => Ok(part.with_aad(read_aad(path)?)?),
    }
}

/// Standard input to its end: a run must know the length before it starts. A file without a name, which the system
/// removes with the process; the AES ciphertext is no secret.
fn spooled_input() -> Result<File, Failure> {
    let spool = tempfile::tempfile().and_then(|mut file| {
        io::copy(&mut io::stdin().lock(), &mut file)?;
        Ok(file)
    });
    spool.map_err(|error| Failure::system("standard input", error))
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
