//! One full run of AES under FHE.

use super::reference::{Clocks, Reference};
use crate::args::{self, Bench};
use crate::cmd::sample::Sample;
use crate::cmd::{layout_of_set, set_of_scheme};
use crate::console::{self, Failure};
use crate::progress::{Follower, counts_json, spin};
use crate::scratch::Scratch;
use crate::table::{self, Rows};
use homaes::{
    AesKey, Direction, EVAL_KEY_FILE, EvalKey, Expansion, Job, KeyFolder, KeySet, KeySize, Layout,
    Output, Quality, Report, Scheme, Set, Transcipher, WrappedKey, Wrapping,
};
use serde_json::{Map, Value, json};
use std::fs;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::Instant;

/// What `bench SCHEME` is to measure.
pub(super) struct Plan {
    set: Set,
    layout: Layout,
    key_size: KeySize,
    direction: Direction,
    threads: NonZeroUsize,
    blocks: u64,
}

/// What it measured.
pub(super) struct Run {
    set: Set,
    layout: Layout,
    key_size: KeySize,
    direction: Direction,
    expansion: Expansion,
    report: Report,
    reference: Reference,
    around: Around,
    eval_key_bytes: u64,
    wrapped_key_bytes: u64,
    margin_bits: Option<f64>,
    peak_rss_bytes: Option<u64>,
}

/// Seconds of what is around the evaluation, from file to file, on all cores.
#[derive(Debug, Default, Clone, Copy)]
struct Around {
    keygen: f64,
    /// reading the evaluation key
    load_key: f64,
    wrap: f64,
    /// reading the wrapped key
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

/// Adds the time of `work` to `seconds`.
fn timed<T>(seconds: &mut f64, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *seconds += start.elapsed().as_secs_f64();
    result
}

impl Plan {
    /// What the command line asks for; it is wrong if the set cannot do it.
    pub(super) fn new(scheme: Scheme, args: &Bench) -> Result<Self, Failure> {
        let set = set_of_scheme(scheme, args.set.as_deref(), args.variant)?;
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
        Ok(Self {
            blocks: args.blocks.unwrap_or(set.default_blocks(layout)),
            set,
            layout,
            key_size,
            direction,
            threads,
        })
    }

    /// Makes keys, evaluates a few blocks to warm up, evaluates the timed blocks, and checks every byte of both.
    pub(super) fn measure(self) -> Result<Run, Failure> {
        let Self {
            set,
            layout,
            key_size,
            direction,
            ..
        } = self;
        let scratch = Scratch::new()?;
        let mut around = Around::default();
        // in files, as keys larger than memory are
        let folder = scratch.file("keys");
        let secret = spin("making keys", || {
            timed(&mut around.keygen, || {
                KeyFolder::open(&folder)?.create(&set, false, None, &mut |_, _, _| ())
            })
        })?;
        let eval = timed(&mut around.load_key, || {
            EvalKey::open(folder.join(EVAL_KEY_FILE))
        })?;
        let keys = KeySet { secret, eval };
        let sample = Sample::random(16 * self.blocks as usize, key_size, direction)?;
        let warm_up = self.blocks.min(set.default_blocks(layout));
        let warm_up = sample.front(16 * warm_up as usize);
        let wrapped = spin("wrapping the AES key", || {
            let wrapping = Wrapping {
                direction,
                layouts: vec![layout],
                ..Wrapping::default()
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
        let server = (&wrapped, self.threads);
        let mut clocks = Clocks::new(&set)?;
        spin("warming up", || {
            evaluate(
                &keys,
                server,
                &warm_up,
                &scratch,
                (args::Progress::None, &mut 0.0),
            )
        })?;
        clocks.tick();
        let follow = (args::Progress::Auto, &mut around.decrypt);
        let (report, margin_bits) = evaluate(&keys, server, &sample, &scratch, follow)?;
        clocks.tick();
        Ok(Run {
            layout,
            key_size,
            direction,
            expansion: wrapped.expansion(),
            report,
            around,
            margin_bits,
            eval_key_bytes: keys.eval.file_bytes(),
            wrapped_key_bytes: wrapped.file_bytes(),
            peak_rss_bytes: peak_rss_bytes(),
            reference: clocks.read(),
            set,
        })
    }
}

/// Runs `sample` from file to file, decrypts, and compares; adds the seconds of decryption.
fn evaluate(
    keys: &KeySet,
    (wrapped, threads): (&WrappedKey, NonZeroUsize),
    sample: &Sample,
    scratch: &Scratch,
    (progress, decrypting): (args::Progress, &mut f64),
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
    let output = Output::private(&plain, true)?;
    let decrypted = timed(decrypting, || keys.secret.decrypt(&fhe, output))?;
    if fs::read(&plain).map_err(system)? != sample.message {
        let message = "the results decrypt to other blocks than were encrypted; please report this";
        return Err(Failure::Work(message.into()));
    }
    Ok((report, decrypted.margin_bits))
}

impl Run {
    pub(super) fn scheme(&self) -> Scheme {
        self.set.scheme()
    }

    fn seconds_per_batch(&self) -> f64 {
        self.report.seconds / self.report.batches as f64
    }

    fn ms_per_block(&self) -> f64 {
        self.report.seconds * 1e3 / self.report.blocks as f64
    }

    /// Time of the key expansion under encryption as a multiple of that of one block, if both were measured.
    fn expansion_over_block(&self) -> Option<f64> {
        let measured = self.expansion == Expansion::Server && self.report.blocks == 1;
        measured.then(|| self.report.setup_seconds / self.report.seconds)
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

    /// Share of the threads' time that the kernels take.
    fn busy(&self) -> f64 {
        let all: f64 = self.report.stages.iter().map(|(_, seconds)| seconds).sum();
        all / (self.report.seconds * self.report.threads as f64)
    }

    pub(super) fn json(&self) -> Value {
        let (card, report) = (self.set.card(), &self.report);
        let stages: Map<String, Value> = self
            .shares()
            .into_iter()
            .map(|(name, share)| (name.to_owned(), json!(share)))
            .collect();
        let mut document = json!({
            "set": self.set.name(),
            "purpose": card.purpose.as_str(),
            "security": {
                "bits_claimed": card.security_bits_claimed,
                "bits_estimated": card.security_bits_estimated(),
                "bits_with_rotations": card.security_bits_with_rotations(),
                "log2_p_fail": card.log2_p_fail,
            },
            "version": env!("CARGO_PKG_VERSION"),
            "layout": self.layout.name(),
            "key_bits": 8 * self.key_size.key_bytes(),
            "direction": table::direction(self.direction),
            "expansion": self.expansion.name(),
            "threads": report.threads,
            "blocks": report.blocks,
            "blocks_per_batch": self.set.blocks_per_batch(self.layout),
            "batches": report.batches,
            "keygen_seconds": self.around.keygen,
            "load_key_seconds": self.around.load_key,
            "wrap_seconds": self.around.wrap,
            "load_wrapped_seconds": self.around.load_wrapped,
            "decrypt_seconds": self.around.decrypt,
            "setup_seconds": report.setup_seconds,
            "seconds": report.seconds,
            "seconds_per_batch": self.seconds_per_batch(),
            "seconds_per_round": report.steps.iter().map(|step| step.seconds).collect::<Vec<_>>(),
            "ms_per_block": self.ms_per_block(),
            "transforms": report.count("transforms"),
            "rotations": report.count("rotations"),
            "counts": counts_json(report),
            "stages": stages,
            "busy": self.busy(),
            "noise_bits": report.quality.map(|quality| quality.noise_bits),
            "capacity_bits": report.quality.map(|quality| quality.capacity_bits),
            "margin_bits": self.margin_bits,
            "peak_rss_bytes": self.peak_rss_bytes,
            "eval_key_bytes": self.eval_key_bytes,
            "wrapped_key_bytes": self.wrapped_key_bytes,
            "ciphertext_bytes": report.file_bytes,
            "correct": true,
        });
        for (name, value) in self.reference.fields(report) {
            document[name] = value;
        }
        let left = |quality: Quality| report.scheme.multiplications_left(quality.level);
        if let Some(left) = report.quality.and_then(left) {
            document["levels_left"] = json!(left);
        }
        if let Some(ratio) = self.expansion_over_block() {
            document["expansion_over_block"] = json!(ratio);
        }
        document
    }

    pub(super) fn text(&self) -> String {
        let (card, report) = (self.set.card(), &self.report);
        let mut rows = Rows::default();
        rows.add("set", self.set.name());
        rows.add("security", table::security(card));
        let (bits, layout) = (8 * self.key_size.key_bytes(), self.layout);
        let direction = table::direction(self.direction);
        rows.add(
            "cipher",
            format!("AES-{bits}, {direction}, layout {layout}"),
        );
        let blocks = table::blocks(report.blocks, report.batches);
        let threads = table::count(report.threads as u64, "thread", "threads");
        rows.add("run", format!("{blocks} on {threads}"));
        if self.expansion == Expansion::Server {
            let ratio = self.expansion_over_block();
            let ratio = ratio.map_or_else(String::new, |ratio| format!(", {ratio:.2} of a block"));
            let time = table::seconds(report.setup_seconds);
            rows.add("time of key expansion", time + &ratio);
        }
        rows.add("time", table::seconds(report.seconds));
        rows.add("time per block", format!("{:.3} ms", self.ms_per_block()));
        let rounds: Vec<String> = report
            .steps
            .iter()
            .map(|step| table::seconds(step.seconds))
            .collect();
        rows.add("rounds 0, 1, …", rounds.join(", "));
        self.reference.add_rows(report, &mut rows);
        for (name, share) in self.shares() {
            rows.add(
                &format!("share of {name}"),
                format!("{:.1} %", share * 100.0),
            );
        }
        for (what, seconds) in self.around.rows() {
            rows.add(&format!("time of {what}"), table::seconds(seconds));
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

/// Most memory this process has had, where the system tells; in `bench all` the runs before count.
fn peak_rss_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
