//! One full run of AES under FHE.

use super::case::Case;
use super::machine::{machine, peak_rss_bytes};
use super::reference::{Clocks, Reference};
use crate::args::{self, Bench};
use crate::cmd::sample::Sample;
use crate::cmd::set_of_scheme;
use crate::console::{self, Failure};
use crate::progress::{Follower, round_of, spin, stages};
use crate::scratch::Scratch;
use crate::table::{self, Rows};
use homaes::{
    AesFile, AesKey, Devices, EVAL_KEY_FILE, EvalKey, Expansion, KeyFolder, KeySet, Layout,
    Measured, Memory, Mode, Output, Quality, Report, Scheme, Transcipher, WrapOptions, WrappedKey,
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
    expansion: Expansion,
    report: Report,
    reference: Reference,
    around: Around,
    latency: f64,
    noise: Vec<Measured>,
    eval_key_bytes: u64,
    wrapped_key_bytes: u64,
    margin_bits: Option<f64>,
    peak_rss_bytes: Option<u64>,
}

/// Seconds of the work around the evaluation, from file to file, on all cores.
#[derive(Debug, Default, Clone, Copy)]
struct Around {
    keygen: f64,
    load_key: f64,
    wrap: f64,
    load_wrapped: f64,
    decrypt: f64,
}

impl Around {
    fn rows(&self) -> [(&'static str, f64); 5] {
        [
            ("key generation", self.keygen),
            ("reading the evaluation key", self.load_key),
            ("wrapping the AES key", self.wrap),
            ("reading the wrapped key", self.load_wrapped),
            ("decryption", self.decrypt),
        ]
    }
}

fn timed<T>(seconds: &mut f64, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *seconds += start.elapsed().as_secs_f64();
    result
}

/// Refuses a set that has too few levels.
fn case(scheme: Scheme, args: &Bench) -> Result<(Case, Devices), Failure> {
    let set = set_of_scheme(scheme, args.set.as_deref(), args.variant)?;
    let case = Case::new(set, args)?;
    let (set, layout) = (&case.set, case.layout);
    if set.levels_left(layout, case.key_size).is_none() {
        let (set, bits) = (set.name(), case.key_bits());
        return Err(Failure::Usage(format!(
            "set {set} has too few levels for AES-{bits} in layout {layout}; see 'homaes params'"
        )));
    }
    let devices = args.device.get()?;
    devices.check(set, Some(layout), false)?;
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
    let mut around = Around::default();
    // keys may be larger than memory
    let folder = scratch.file("keys");
    let secret = spin("making keys", || {
        timed(&mut around.keygen, || {
            KeyFolder::open(&folder)?.create(set, None, &mut |_, _, _| ())
        })
    })?;
    let eval = timed(&mut around.load_key, || {
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
        timed(&mut around.wrap, || {
            let output = Output::create(&path, false)?;
            WrappedKey::write(&keys.secret, &aes_key, &wrapping, output, &mut |_, _| ())
        })?;
        timed(&mut around.load_wrapped, || {
            WrappedKey::open(&path, &keys.eval)
        })
    })?;
    let on_gpus = devices != Devices::Cpu
        && set.gpu_memory(layout).is_some()
        && homaes::gpus().is_ok_and(|gpus| !gpus.is_empty());
    let mut clocks = Clocks::new(set)?;
    let mut server = Server {
        keys: &keys,
        wrapped: &wrapped,
        threads: case.threads,
        devices: &devices,
        on_gpus,
        scratch: &scratch,
        decrypt: 0.0,
    };
    clocks.tick();
    let mut timed = server.evaluate(&sample, args::Progress::Auto)?;
    if per_batch(&timed.0) < LONG {
        timed = server.settled(&sample, args::Progress::Auto)?;
    }
    clocks.tick();
    around.decrypt = server.decrypt;
    let (report, margin_bits) = timed;
    let latency = match report.blocks {
        1 => report.seconds,
        _ if per_batch(&report) >= LONG && set.scheme().blocks_to_show().is_none() => {
            per_batch(&report)
        }
        _ => {
            let (one, _) = server.settled(&sample.front(16), args::Progress::None)?;
            one.seconds
        }
    };
    let peak_rss_bytes = peak_rss_bytes();
    let noise = match args.noise {
        true => spin("measuring noise", || server.noise(layout))?,
        false => Vec::new(),
    };
    Ok(Outcome {
        expansion: wrapped.expansion(),
        report,
        around,
        latency,
        noise,
        margin_bits,
        eval_key_bytes: keys.eval.file_bytes(),
        wrapped_key_bytes: wrapped.file_bytes(),
        peak_rss_bytes,
        reference: clocks.read(),
        case,
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
    decrypt: f64,
}

impl Server<'_> {
    /// Evaluates until [`ENOUGH`] seconds are spent, at most [`MOST_REPEATS`] times; returns the median evaluation.
    fn settled(
        &mut self,
        sample: &Sample,
        progress: args::Progress,
    ) -> Result<(Report, Option<f64>), Failure> {
        let mut all: Vec<(Report, Option<f64>)> = Vec::new();
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

    fn evaluate(
        &mut self,
        sample: &Sample,
        progress: args::Progress,
    ) -> Result<(Report, Option<f64>), Failure> {
        let message = sample.file(self.scratch)?;
        let fhe = self.scratch.file("fhe.hct");
        let mut follower = Follower::new(progress);
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
        let report = transcipher
            .watch(|event| follower.event(event))
            .run(message, Output::create(&fhe, true)?)?;
        follower.finish(&report);
        let output = Output::private(self.scratch.file("plain"), true)?;
        self.decrypt = 0.0;
        let secret = &self.keys.secret;
        let decrypted = timed(&mut self.decrypt, || secret.decrypt(&fhe, output))?;
        sample.check(&self.scratch.read("plain")?)?;
        Ok((report, decrypted.margin_bits))
    }

    /// The noise after every round of a batch of equal blocks.
    fn noise(&self, layout: Layout) -> Result<Vec<Measured>, Failure> {
        let set = self.keys.secret.set();
        let blocks = vec![[0x5a; 16]; set.default_blocks(layout) as usize];
        let transcipher = Transcipher::with_threads(&self.keys.eval, self.wrapped, self.threads)?;
        Ok(transcipher.measure_noise(&self.keys.secret, &blocks)?)
    }
}

impl Outcome {
    fn ms_per_block(&self) -> f64 {
        self.report.seconds * 1e3 / self.report.blocks as f64
    }

    /// Time of the key expansion under encryption, in units of one block's time, if both were measured.
    fn expansion_over_block(&self) -> Option<f64> {
        let measured = self.expansion == Expansion::Server && self.report.blocks == 1;
        measured.then(|| self.report.setup_seconds / self.report.seconds)
    }

    fn kernel_seconds(&self) -> f64 {
        self.report.stages.iter().map(|(_, seconds)| seconds).sum()
    }

    /// Shares of the kernels' time, which add up to 1.
    fn shares(&self) -> Vec<(&'static str, f64)> {
        let all = self.kernel_seconds();
        let share = |seconds: f64| if all > 0.0 { seconds / all } else { 0.0 };
        let stages = self.report.stages.iter();
        stages
            .map(|&(name, seconds)| (name, share(seconds)))
            .collect()
    }

    fn busy(&self) -> f64 {
        self.kernel_seconds() / (self.report.seconds * self.report.threads as f64)
    }

    fn security(&self) -> Security {
        let card = self.case.set.card();
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

    fn rounds(&self) -> Vec<Round> {
        let steps = self.report.steps.iter().enumerate();
        let rounds = steps.map(round_of).map(|round| Round {
            measured_noise_bits: self.noise.get(round.round).map(|m| m.noise_bits),
            stage_seconds: stages(self.report.stages_by_step.get(round.round)),
            ..round
        });
        rounds.collect()
    }

    pub(super) fn document(&self) -> Run {
        let (case, report) = (&self.case, &self.report);
        let card = case.set.card();
        let left = |quality: Quality| report.scheme.multiplications_left(quality.level);
        let counts = report.counts.iter();
        let mut run = Run {
            purpose: card.purpose.as_str().to_owned(),
            security: Some(self.security()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            expansion: self.expansion.name().to_owned(),
            threads: report.threads,
            device: table::gpus(report).map(|(numbers, _)| format!("cuda:{numbers}")),
            device_name: table::gpus(report).map(|(_, names)| names),
            blocks: report.blocks,
            blocks_per_batch: case.set.blocks_per_batch(case.layout),
            batches: report.batches,
            keygen_seconds: Some(self.around.keygen),
            load_key_seconds: Some(self.around.load_key),
            wrap_seconds: Some(self.around.wrap),
            load_wrapped_seconds: Some(self.around.load_wrapped),
            decrypt_seconds: Some(self.around.decrypt),
            setup_seconds: report.setup_seconds,
            latency_seconds: Some(self.latency),
            seconds: report.seconds,
            seconds_per_batch: per_batch(report),
            seconds_per_round: report.steps.iter().map(|step| step.seconds).collect(),
            ms_per_block: self.ms_per_block(),
            rounds: self.rounds(),
            transforms: report.count("transforms"),
            rotations: report.count("rotations"),
            counts: counts
                .map(|&(name, count)| (name.to_owned(), count))
                .collect(),
            stages: stages(Some(&self.shares())),
            busy: self.busy(),
            noise_bits: report.quality.map(|quality| quality.noise_bits),
            capacity_bits: report.quality.map(|quality| quality.capacity_bits),
            margin_bits: self.margin_bits,
            log2_p_fail: report.log2_p_fail().filter(|log| log.is_finite()),
            peak_rss_bytes: self.peak_rss_bytes,
            eval_key_bytes: self.eval_key_bytes,
            wrapped_key_bytes: self.wrapped_key_bytes,
            ciphertext_bytes: report.file_bytes,
            ciphertext_bytes_per_byte: report.file_bytes as f64 / report.bytes as f64,
            correct: true,
            levels_left: report.quality.and_then(left),
            expansion_over_block: self.expansion_over_block(),
            ..case.empty()
        };
        self.reference.add_fields(report, &mut run);
        run.machine = run.backend.as_deref().map(machine);
        run
    }

    pub(super) fn text(&self) -> String {
        let (case, report) = (&self.case, &self.report);
        let mut rows = Rows::default();
        rows.add("set", case.set.name());
        rows.add("security", table::security(case.set.card()));
        rows.add("cipher", case.cipher());
        let blocks = table::blocks(report.blocks, report.batches);
        rows.add("run", format!("{blocks} on {}", table::devices(report)));
        if self.expansion == Expansion::Server {
            let ratio = self.expansion_over_block();
            let ratio = ratio.map_or_else(String::new, |ratio| format!(", {ratio:.2} of a block"));
            let time = table::seconds(report.setup_seconds);
            rows.add("time of key expansion", time + &ratio);
        }
        rows.add("time", table::seconds(report.seconds));
        rows.add("time per block", format!("{:.3} ms", self.ms_per_block()));
        rows.add("time of one block alone", table::seconds(self.latency));
        let rounds = report.steps.iter();
        let rounds: Vec<String> = rounds.map(|step| table::seconds(step.seconds)).collect();
        rows.add("rounds 0, 1, …", rounds.join(", "));
        self.reference.add_rows(report, &mut rows);
        for (name, share) in self.shares() {
            let percent = format!("{:.1} %", share * 100.0);
            rows.add(&format!("share of {name}"), percent);
        }
        for (what, seconds) in self.around.rows() {
            rows.add(&format!("time of {what}"), table::seconds(seconds));
        }
        rows.add("size of evaluation key", table::bytes(self.eval_key_bytes));
        let wrapped = table::bytes(self.wrapped_key_bytes);
        rows.add("size of wrapped AES key", wrapped);
        rows.add("size of FHE ciphertexts", table::bytes(report.file_bytes));
        rows.add("peak memory", table::memory(self.peak_rss_bytes));
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
