//! One full run of AES under FHE.

use super::kernels::{Own, Reference, median};
use crate::args::{self, Bench};
use crate::cmd::sample::Sample;
use crate::cmd::{layout_of_set, set_of_scheme};
use crate::console::{self, Failure};
use crate::progress::{Follower, spin};
use crate::scratch::Scratch;
use crate::table::{self, Rows};
use homaes::{
    AesKey, Direction, Job, KeySet, KeySize, Layout, Output, Report, Scheme, Set, Transcipher,
    WrappedKey, Wrapping,
};
use serde_json::{Map, Value, json};
use std::fs;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;

/// Transforms timed before and after the run.
const REFERENCE_REPETITIONS: usize = 1000;

/// Degree of the ring at which transforms are compared with the reference of the same length.
const REFERENCE_DEGREE: u64 = 32768;

/// What `bench SCHEME` measured.
pub(super) struct Run {
    set: Set,
    layout: Layout,
    key_size: KeySize,
    direction: Direction,
    report: Report,
    backend: String,
    transform_ns: f64,
    reference_ns: f64,
    eval_key_bytes: u64,
    wrapped_key_bytes: u64,
    margin_bits: Option<f64>,
    peak_rss_bytes: Option<u64>,
}

/// Makes keys, evaluates one batch to warm up, evaluates the timed blocks, and checks every byte of both.
pub(super) fn measure(scheme: Scheme, args: &Bench) -> Result<Run, Failure> {
    let set = set_of_scheme(scheme, args.set.as_deref())?;
    console::warn_insecure(&set);
    let threads = args
        .threads
        .or(available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN);
    let layout = layout_of_set(&set, args.layout.get())?;
    let (key_size, direction) = (args.key_bits, args.direction.get());
    if set.levels_left(layout, key_size).is_none() {
        let (set, bits) = (set.name(), 8 * key_size.key_bytes());
        return Err(Failure::Usage(format!(
            "set {set} has too few levels for AES-{bits} in layout {layout}; see 'homaes params'"
        )));
    }
    let batch = set.blocks_per_batch(layout);
    let blocks = args.blocks.unwrap_or(batch);
    let scratch = Scratch::new()?;
    let keys = spin("making keys", || KeySet::generate(&set))?;
    let sample = Sample::random(16 * blocks as usize, key_size, direction)?;
    let warm_up = sample.front(16 * blocks.min(batch) as usize);
    let wrapped = spin("wrapping the AES key", || {
        let wrapping = Wrapping {
            direction,
            layouts: vec![layout],
            levels_left: None,
        };
        WrappedKey::encrypt(&keys.secret, &AesKey::from_bytes(&sample.key)?, &wrapping)
    })?;
    let server = (&wrapped, threads);
    let mut clocks = Clocks::new(&set)?;
    spin("warming up", || {
        evaluate(&keys, server, &warm_up, &scratch, args::Progress::None)
    })?;
    clocks.tick();
    let (report, margin_bits) = evaluate(&keys, server, &sample, &scratch, args::Progress::Auto)?;
    clocks.tick();
    Ok(Run {
        layout,
        key_size,
        direction,
        report,
        margin_bits,
        eval_key_bytes: keys.eval.file_bytes()?,
        wrapped_key_bytes: wrapped.file_bytes()?,
        peak_rss_bytes: peak_rss_bytes(),
        backend: clocks.own.backend().to_owned(),
        transform_ns: median(clocks.own_ns),
        reference_ns: median(clocks.reference_ns),
        set,
    })
}

/// Runs `sample` from file to file, decrypts, and compares.
fn evaluate(
    keys: &KeySet,
    (wrapped, threads): (&WrappedKey, NonZeroUsize),
    sample: &Sample,
    scratch: &Scratch,
    progress: args::Progress,
) -> Result<(Report, Option<f64>), Failure> {
    let system = |error| Failure::system("temporary file", error);
    let (aes, fhe, plain) = (
        scratch.file("aes"),
        scratch.file("fhe.hct"),
        scratch.file("plain"),
    );
    fs::write(&aes, sample.ciphertext()).map_err(system)?;
    let job = Job::open(&aes, sample.mode)?;
    let mut follower = Follower::new(progress);
    let report = Transcipher::with_threads(&keys.eval, wrapped, threads)?
        .watch(|event| follower.event(event))
        .run(job, Output::create(&fhe, true)?)?;
    follower.finish(&report);
    let decrypted = keys.secret.decrypt(&fhe, Output::create(&plain, true)?)?;
    if fs::read(&plain).map_err(system)? != sample.message {
        let message = "the results decrypt to other blocks than were encrypted; please report this";
        return Err(Failure::Work(message.into()));
    }
    Ok((report, decrypted.margin_bits))
}

/// The own transform and the reference, timed in turn on one thread.
struct Clocks {
    own: Own,
    reference: Reference,
    own_ns: Vec<f64>,
    reference_ns: Vec<f64>,
}

impl Clocks {
    fn new(set: &Set) -> Result<Self, Failure> {
        // A set without a ring has no transform of its own to compare.
        let m = set
            .card()
            .ring
            .map_or(REFERENCE_DEGREE * 2 - 1, |ring| ring.m);
        Ok(Self {
            own: Own::new(m)?,
            reference: Reference::new()?,
            own_ns: Vec::new(),
            reference_ns: Vec::new(),
        })
    }

    fn tick(&mut self) {
        for _ in 0..REFERENCE_REPETITIONS {
            self.own_ns.push(self.own.forward());
            self.reference_ns.push(self.reference.time());
        }
    }
}

impl Run {
    fn seconds_per_batch(&self) -> f64 {
        self.report.seconds / self.report.batches as f64
    }

    fn ms_per_block(&self) -> f64 {
        self.report.seconds * 1e3 / self.report.blocks as f64
    }

    /// Time per batch as a number of reference transforms.
    fn aes_over_reference(&self) -> f64 {
        self.seconds_per_batch() * 1e9 / self.reference_ns
    }

    /// Only where both have the same length.
    fn transform_over_reference(&self) -> Option<f64> {
        let degree = self.set.card().ring?.n;
        (degree == REFERENCE_DEGREE).then(|| self.transform_ns / self.reference_ns)
    }

    /// Shares of the kernels' time, which add up to 1.
    fn shares(&self) -> Vec<(&'static str, f64)> {
        let all: f64 = self.report.stages.iter().map(|(_, seconds)| seconds).sum();
        let share = |seconds: f64| if all > 0.0 { seconds / all } else { 0.0 };
        self.report
            .stages
            .iter()
            .map(|&(name, seconds)| (name, share(seconds)))
            .collect()
    }

    pub(super) fn json(&self) -> Value {
        let (card, report) = (self.set.card(), &self.report);
        let stages: Map<String, Value> = self
            .shares()
            .into_iter()
            .map(|(name, share)| (name.to_owned(), json!(share)))
            .collect();
        json!({
            "set": self.set.name(),
            "purpose": card.purpose.as_str(),
            "security": {
                "bits_claimed": card.security_bits_claimed,
                "bits_estimated": card.security_bits_estimated(),
                "log2_p_fail": card.log2_p_fail,
            },
            "version": env!("CARGO_PKG_VERSION"),
            "backend": self.backend,
            "layout": self.layout.name(),
            "key_bits": 8 * self.key_size.key_bytes(),
            "direction": table::direction(self.direction),
            "levels_left": report.quality.map(|quality| quality.multiplications_left()),
            "threads": report.threads,
            "blocks": report.blocks,
            "blocks_per_batch": self.set.blocks_per_batch(self.layout),
            "batches": report.batches,
            "seconds": report.seconds,
            "seconds_per_batch": self.seconds_per_batch(),
            "seconds_per_round": report.steps.iter().map(|step| step.seconds).collect::<Vec<_>>(),
            "ms_per_block": self.ms_per_block(),
            "transforms": report.transforms,
            "ns_per_transform": self.transform_ns,
            "reference_ntt_ns": self.reference_ns,
            "aes_over_reference_ntt": self.aes_over_reference(),
            "transform_over_reference": self.transform_over_reference(),
            "stages": stages,
            "noise_bits": report.quality.map(|quality| quality.noise_bits),
            "capacity_bits": report.quality.map(|quality| quality.capacity_bits),
            "margin_bits": self.margin_bits,
            "peak_rss_bytes": self.peak_rss_bytes,
            "eval_key_bytes": self.eval_key_bytes,
            "wrapped_key_bytes": self.wrapped_key_bytes,
            "ciphertext_bytes": report.file_bytes,
            "correct": true,
        })
    }

    pub(super) fn text(&self) -> String {
        let (card, report) = (self.set.card(), &self.report);
        let mut rows = Rows::default();
        rows.add("set", self.set.name());
        rows.add("security", table::security(&card));
        let (bits, layout) = (8 * self.key_size.key_bytes(), self.layout);
        let direction = table::direction(self.direction);
        rows.add(
            "cipher",
            format!("AES-{bits}, {direction}, layout {layout}"),
        );
        let blocks = table::blocks(report.blocks, report.batches);
        let threads = table::count(report.threads as u64, "thread", "threads");
        rows.add("run", format!("{blocks} on {threads}"));
        rows.add("time", table::seconds(report.seconds));
        rows.add("time per block", format!("{:.3} ms", self.ms_per_block()));
        let rounds: Vec<String> = report
            .steps
            .iter()
            .map(|step| table::seconds(step.seconds))
            .collect();
        rows.add("rounds 0, 1, …", rounds.join(", "));
        rows.add(
            "time per batch",
            format!("{:.0} transforms of tfhe-ntt", self.aes_over_reference()),
        );
        let ratio = self.transform_over_reference();
        let ratio = ratio.map_or_else(String::new, |ratio| format!(", {ratio:.2} of tfhe-ntt's"));
        let transform_us = self.transform_ns / 1e3;
        rows.add(
            "transforms",
            format!(
                "{} of {transform_us:.1} µs{ratio} ({})",
                report.transforms, self.backend
            ),
        );
        for (name, share) in self.shares() {
            rows.add(
                &format!("share of {name}"),
                format!("{:.1} %", share * 100.0),
            );
        }
        rows.add("size of evaluation key", table::bytes(self.eval_key_bytes));
        rows.add(
            "size of wrapped AES key",
            table::bytes(self.wrapped_key_bytes),
        );
        rows.add("size of FHE ciphertexts", table::bytes(report.file_bytes));
        let peak = self
            .peak_rss_bytes
            .map_or_else(|| "unknown".into(), table::bytes);
        rows.add("peak memory", peak);
        rows.add("noise left", table::quality_left(report.quality));
        rows.add("result", "every block is right");
        rows.text()
    }
}

/// Most memory this process has had, where the system tells.
fn peak_rss_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
