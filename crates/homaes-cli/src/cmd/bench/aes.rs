//! One full run of AES under FHE.

use super::case::Case;
use super::machine::{machine, peak_rss_bytes};
use super::reference::{Clocks, add_rows};
use crate::args::{self, Bench};
use crate::cmd::sample::Sample;
use crate::cmd::set_of_scheme;
use crate::console::{self, Failure, refuse};
use crate::progress::{Follower, round_of, spin, stages};
use crate::scratch::Scratch;
use crate::table::{self, Rows};
use homaes::{
    AesFile, AesKey, Devices, EVAL_KEY_FILE, EvalKey, Expansion, KeyFolder, KeySet, Layout,
    Measured, Memory, Mode, Output, Quality, Report, Scheme, SetCard, Transcipher, WrapOptions,
    WrappedKey,
};
use homaes_lab::{Round, Run, Security};
use std::num::NonZeroUsize;
use std::time::Instant;

/// Seconds: a batch that takes longer needs no warm-up.
const LONG: f64 = 10.0;

/// Seconds: shorter evaluations are repeated for the median.
const ENOUGH: f64 = 2.0;

const MOST_REPEATS: usize = 9;

pub(super) struct Outcome {
    case: Case,
    compact: bool,
    report: Report,
    pub(super) run: Run,
    noise: Vec<Measured>,
}

/// An evaluation: its report, the margin that decryption found, and the seconds of decryption.
type Evaluated = (Report, Option<f64>, Option<f64>);

fn timed<T>(seconds: &mut Option<f64>, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *seconds = Some(start.elapsed().as_secs_f64());
    result
}

/// Refuses a set that has too few levels.
fn case(scheme: Scheme, args: &Bench) -> Result<(Case, Devices), Failure> {
    let set = set_of_scheme(scheme, args.set.as_deref(), args.variant)?;
    let case = Case::new(set, args)?;
    let (set, layout) = (&case.set, case.layout);
    if set.levels_left(layout, case.key_size).is_none() {
        let (set, bits) = (set.name(), case.key_bits());
        return refuse(format!(
            "set {set} has too few levels for AES-{bits} in layout {layout}; see 'homaes params'"
        ));
    }
    let devices = args.workers.devices()?;
    devices.check(set, Some(layout))?;
    Ok((case, devices))
}

fn per_batch(report: &Report) -> f64 {
    report.seconds / report.batches as f64
}

/// Makes keys, evaluates, and checks every byte.
///
/// Evaluates all blocks once to warm up, and then as often as [`Server::settled`] asks for; the first time counts if a
/// batch takes longer than [`LONG`]. Such a batch is not measured with one block, which takes as long.
pub(super) fn measure(scheme: Scheme, args: &Bench) -> Result<Outcome, Failure> {
    let (case, devices) = case(scheme, args)?;
    let (set, layout) = (&case.set, case.layout);
    let scratch = Scratch::new()?;
    let mut run = case.empty();
    // keys may be larger than memory
    let folder = scratch.file("keys");
    let secret = spin("making keys", || {
        timed(&mut run.keygen_seconds, || {
            KeyFolder::open(&folder)?.create(set, None, &mut |_, _, _| ())
        })
    })?;
    let eval = timed(&mut run.load_key_seconds, || {
        EvalKey::open(folder.join(EVAL_KEY_FILE))
    })?;
    let keys = KeySet { secret, eval };
    let sample = Sample::random(16 * case.blocks() as usize, case.key_size, case.direction)?;
    let wrapped = spin("wrapping the AES key", || {
        let wrapping = WrapOptions {
            direction: case.direction,
            layouts: vec![layout],
            ..WrapOptions::default()
        };
        let aes_key = AesKey::from_bytes(&sample.key)?;
        let path = scratch.file("key.hwk");
        timed(&mut run.wrap_seconds, || {
            let output = Output::create(&path, false)?;
            WrappedKey::write(&keys.secret, &aes_key, &wrapping, output, &mut |_, _| ())
        })?;
        timed(&mut run.load_wrapped_seconds, || {
            WrappedKey::open(&path, &keys.eval)
        })
    })?;
    let on_gpus = devices != Devices::Cpu
        && set.gpu_memory(layout).is_some()
        && homaes::gpus().is_ok_and(|gpus| !gpus.is_empty());
    let mut clocks = Clocks::new(set)?;
    let server = Server {
        keys: &keys,
        wrapped: &wrapped,
        threads: case.threads,
        devices: &devices,
        on_gpus,
        scratch: &scratch,
    };
    clocks.tick();
    let mut evaluated = server.evaluate(&sample, args::Progress::Auto)?;
    let setup_seconds = evaluated.0.setup_seconds;
    // expanded once, not for every repetition
    let kept = wrapped
        .is_compact()
        .then(|| server.kept(&sample))
        .transpose()?;
    let server = Server {
        wrapped: kept.as_ref().unwrap_or(&wrapped),
        ..server
    };
    if per_batch(&evaluated.0) < LONG {
        evaluated = server.settled(&sample, args::Progress::Auto)?;
    }
    clocks.tick();
    let mut report;
    (report, run.margin_bits, run.decrypt_seconds) = evaluated;
    report.setup_seconds = match kept {
        Some(_) => setup_seconds,
        None => report.setup_seconds,
    };
    run.latency_seconds = Some(match report.blocks {
        1 => report.seconds,
        _ if per_batch(&report) >= LONG && set.scheme().blocks_to_show().is_none() => {
            per_batch(&report)
        }
        _ => {
            let (one, ..) = server.settled(&sample.front(16), args::Progress::None)?;
            one.seconds
        }
    });
    run.peak_rss_bytes = peak_rss_bytes();
    let noise = match args.noise {
        true => spin("measuring noise", || server.noise(layout))?,
        false => Vec::new(),
    };
    run.eval_key_bytes = keys.eval.file_bytes();
    run.wrapped_key_bytes = wrapped.file_bytes();
    let run = document(&case, wrapped.expansion(), &report, &noise, clocks, run);
    Ok(Outcome {
        case,
        compact: wrapped.is_compact(),
        report,
        run,
        noise,
    })
}

struct Server<'k> {
    keys: &'k KeySet,
    wrapped: &'k WrappedKey,
    threads: NonZeroUsize,
    devices: &'k Devices,
    /// whether it evaluates on GPUs, if they start
    on_gpus: bool,
    scratch: &'k Scratch,
}

impl Server<'_> {
    /// Evaluates until [`ENOUGH`] seconds are spent, at most [`MOST_REPEATS`] times; returns the median evaluation.
    fn settled(&self, sample: &Sample, progress: args::Progress) -> Result<Evaluated, Failure> {
        let mut all: Vec<Evaluated> = Vec::new();
        let mut seconds = 0.0;
        loop {
            let one = self.evaluate(sample, progress)?;
            seconds += one.0.seconds;
            all.push(one);
            if seconds >= ENOUGH || all.len() == MOST_REPEATS {
                all.sort_by(|a, b| a.0.seconds.total_cmp(&b.0.seconds));
                return Ok(all.swap_remove(all.len() / 2));
            }
        }
    }

    fn evaluate(&self, sample: &Sample, progress: args::Progress) -> Result<Evaluated, Failure> {
        let message = sample.file(self.scratch)?;
        let fhe = self.scratch.file("fhe.hct");
        let transcipher = Transcipher::with_threads(&self.keys.eval, self.wrapped, self.threads)?
            .on(self.devices.clone())
            .warn(console::warn);
        if self.on_gpus {
            // loads the keys onto the GPUs; other counters keep the measured run from finding rounds done
            let mode = match sample.mode {
                Mode::Ctr { iv } => Mode::Ctr {
                    iv: iv.map(|byte| !byte),
                },
                other => other,
            };
            let other = vec![0; sample.message.len()];
            transcipher.run(
                AesFile::of(Memory::new(other, "warm-up"), mode)?,
                Output::memory().0,
            )?;
        }
        let output = Output::create(&fhe, true)?;
        let report = Follower::new(progress).run(transcipher, message, output)?;
        let output = Output::private(self.scratch.file("plain"), true)?;
        let mut seconds = None;
        let decrypted = timed(&mut seconds, || self.keys.secret.decrypt(&fhe, output))?;
        sample.check(&self.scratch.read("plain")?)?;
        Ok((report, decrypted.margin_bits, seconds))
    }

    /// The wrapped key with expanded round keys.
    fn kept(&self, sample: &Sample) -> Result<WrappedKey, Failure> {
        let path = self.scratch.file("kept.hwk");
        let (eval, threads) = (&self.keys.eval, self.threads);
        let transcipher = Transcipher::with_threads(eval, self.wrapped, threads)?.on(Devices::Cpu);
        let plan = transcipher.plan(sample.file(self.scratch)?)?;
        transcipher.save_round_keys(&plan, Output::create(&path, false)?)?;
        Ok(WrappedKey::open(&path, eval)?)
    }

    /// The noise after every round of a batch of equal blocks.
    fn noise(&self, layout: Layout) -> Result<Vec<Measured>, Failure> {
        let set = self.keys.secret.set();
        let blocks = vec![[0x5a; 16]; set.default_blocks(layout) as usize];
        let transcipher = Transcipher::with_threads(&self.keys.eval, self.wrapped, self.threads)?
            .on(self.devices.clone());
        Ok(transcipher.measure_noise(&self.keys.secret, &blocks)?)
    }
}

fn security(card: &SetCard) -> Security {
    let weakest = card.weakest();
    Security {
        bits_claimed: card.security_bits_claimed,
        bits_estimated: card.security_bits_estimated(),
        bits_with_rotations: card.security_bits_with_rotations(),
        order_of_magnitude: card.is_order_of_magnitude(),
        log2_p_fail: Some(card.log2_p_fail).filter(|log| log.is_finite()),
        attack: weakest.map(|estimate| estimate.attack.to_owned()),
        estimator: weakest.map(|estimate| estimate.tool.to_owned()),
        estimated_on: weakest.map(|estimate| estimate.date.to_owned()),
    }
}

/// Completes a `run`, which has the figures of keys and decryption.
fn document(
    case: &Case,
    expansion: Expansion,
    report: &Report,
    noise: &[Measured],
    clocks: Clocks,
    run: Run,
) -> Run {
    let card = case.set.card();
    let left = |quality: Quality| report.scheme.multiplications_left(quality.level);
    let kernels: f64 = report.stages.iter().map(|(_, seconds)| seconds).sum();
    let share = |&(name, seconds): &(&str, f64)| {
        // without kernels their seconds are 0
        (name.to_owned(), seconds / kernels.max(f64::MIN_POSITIVE))
    };
    let rounds = report.steps.iter().enumerate().map(round_of);
    let rounds = rounds.map(|round| Round {
        measured_noise_bits: noise.get(round.round).map(|m| m.noise_bits),
        stage_seconds: stages(report.stages_by_step.get(round.round)),
        ..round
    });
    let counts = report.counts.iter();
    // both were measured
    let expanded = expansion == Expansion::Server && report.blocks == 1;
    let mut run = Run {
        purpose: card.purpose.as_str().to_owned(),
        security: Some(security(card)),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        expansion: expansion.name().to_owned(),
        threads: report.threads,
        device: table::gpus(report).map(|(numbers, _)| format!("cuda:{numbers}")),
        device_name: table::gpus(report).map(|(_, names)| names),
        blocks: report.blocks,
        blocks_per_batch: case.set.blocks_per_batch(case.layout),
        batches: report.batches,
        setup_seconds: report.setup_seconds,
        seconds: report.seconds,
        seconds_per_batch: per_batch(report),
        seconds_per_round: report.steps.iter().map(|step| step.seconds).collect(),
        ms_per_block: report.seconds * 1e3 / report.blocks as f64,
        rounds: rounds.collect(),
        transforms: report.count("transforms"),
        rotations: report.count("rotations"),
        counts: counts.map(|&(name, n)| (name.to_owned(), n)).collect(),
        stages: report.stages.iter().map(share).collect(),
        busy: kernels / (report.seconds * report.threads as f64),
        noise_bits: report.quality.map(|quality| quality.noise_bits),
        capacity_bits: report.quality.map(|quality| quality.capacity_bits),
        log2_p_fail: report.log2_p_fail().filter(|log| log.is_finite()),
        ciphertext_bytes: report.file_bytes,
        ciphertext_bytes_per_byte: report.file_bytes as f64 / report.bytes as f64,
        correct: true,
        levels_left: report.quality.and_then(left),
        expansion_over_block: expanded.then(|| report.setup_seconds / report.seconds),
        ..run
    };
    clocks.add_fields(report, &mut run);
    run.machine = run.backend.as_deref().map(machine);
    run
}

fn add_time(rows: &mut Rows, of: &str, seconds: Option<f64>) {
    let seconds = seconds.into_iter().map(table::seconds);
    seconds.for_each(|time| rows.add(&format!("time of {of}"), time));
}

impl Outcome {
    pub(super) fn text(&self) -> String {
        let (case, report, run) = (&self.case, &self.report, &self.run);
        let mut rows = Rows::default();
        rows.add("set", case.set.name());
        rows.add("security", table::security(case.set.card()));
        rows.add("cipher", case.cipher());
        let blocks = table::blocks(report.blocks, report.batches);
        rows.add("run", format!("{blocks} on {}", table::devices(report)));
        if run.expansion == Expansion::Server.name() || self.compact {
            let ratio = run.expansion_over_block;
            let ratio = ratio.map_or_else(String::new, |ratio| format!(", {ratio:.2} of a block"));
            let time = table::seconds(report.setup_seconds);
            rows.add("time of key expansion", time + &ratio);
        }
        rows.add("time", table::seconds(report.seconds));
        rows.add("time per block", format!("{:.3} ms", run.ms_per_block));
        add_time(&mut rows, "one block alone", run.latency_seconds);
        let rounds = report.steps.iter();
        let rounds: Vec<String> = rounds.map(|step| table::seconds(step.seconds)).collect();
        rows.add("rounds 0, 1, …", rounds.join(", "));
        add_rows(report, run, &mut rows);
        for (name, _) in &report.stages {
            let percent = format!("{:.1} %", run.stages[*name] * 100.0);
            rows.add(&format!("share of {name}"), percent);
        }
        for (what, seconds) in [
            ("key generation", run.keygen_seconds),
            ("reading the evaluation key", run.load_key_seconds),
            ("wrapping the AES key", run.wrap_seconds),
            ("reading the wrapped key", run.load_wrapped_seconds),
            ("decryption", run.decrypt_seconds),
        ] {
            add_time(&mut rows, what, seconds);
        }
        rows.add("size of evaluation key", table::bytes(run.eval_key_bytes));
        let wrapped = table::bytes(run.wrapped_key_bytes);
        rows.add("size of wrapped AES key", wrapped);
        rows.add("size of FHE ciphertexts", table::bytes(report.file_bytes));
        rows.add("peak memory", table::memory(run.peak_rss_bytes));
        rows.add("noise left", table::quality_left(report.quality));
        if !self.noise.is_empty() {
            let term = report.scheme.noise_terms().noise;
            let pair = |found: &Measured| {
                format!("{:.1} ({:.1})", found.noise_bits, found.quality.noise_bits)
            };
            let pairs: Vec<String> = self.noise.iter().map(pair).collect();
            rows.add(&format!("measured ({term}), bits"), pairs.join(", "));
        }
        rows.add("result", "every block is correct");
        rows.text()
    }
}
