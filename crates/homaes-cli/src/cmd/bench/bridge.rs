//! `bench bridge`: AES on BGV and the crossing to TFHE together, beside one bootstrapping of the crate `tfhe`.

use super::reference::peak_rss_bytes;
use crate::args::{self, Bench};
use crate::cmd::sample::Sample;
use crate::cmd::{layout_of_set, named_set};
use crate::console::{self, Failure};
use crate::progress::{Follower, spin};
use crate::scratch::Scratch;
use crate::table::{self, Rows};
use homaes::{
    AesFile, AesKey, BRIDGE_KEY_FILE, BridgeKey, Direction, Error, Fitness, Fits, KeySet, KeySize,
    Layout, Output, Report, SecretKey, Set, Transcipher, WrapOptions, WrappedKey,
};
use serde_json::{Value, json};
use std::fs;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;

/// The set of the bridge, unless another is asked for.
const SET: &str = "bgv/bridge128";

/// The set with the shortest chain for AES-128, which AES on the bridge's is held against.
const SHORTEST: &str = "bgv/aes128";

/// Name of the key that a bridge to a user of the crate `tfhe` converts to, in the document.
#[cfg(feature = "tfhe-rs")]
const USER: &str = "a client key of the crate tfhe";

/// What is to be measured.
pub(super) struct Plan {
    set: Set,
    layout: Layout,
    key_size: KeySize,
    direction: Direction,
    threads: NonZeroUsize,
    blocks: u64,
    /// whether AES is measured on [`SHORTEST`] too
    beside: bool,
}

/// What was measured.
pub(super) struct Outcome {
    plan: Plan,
    /// where the bridge converts to
    end: String,
    /// AES alone
    aes: Report,
    /// AES and crossing
    across: Report,
    /// the same for one block
    single: Report,
    /// AES alone on [`SHORTEST`]
    shortest: Option<Report>,
    bridge_key_bytes: u64,
    fitness: Option<Fitness>,
    peak_rss_bytes: Option<u64>,
    /// milliseconds of one key switch and bootstrapping of the crate `tfhe`
    reference_pbs_ms: Option<f64>,
}

impl Plan {
    /// What the command line asks for; it is wrong if the set has no bridges.
    pub(super) fn new(args: &Bench) -> Result<Self, Failure> {
        if args.noise || args.variant.is_some() {
            let message = "'bench bridge' takes neither --noise nor --variant; see --help";
            return Err(Failure::Usage(message.into()));
        }
        let set = named_set(args.set.as_deref().unwrap_or(SET))?;
        if !set.has_bridges() {
            return Err(crate::cmd::keygen::no_bridges(&set));
        }
        console::warn_insecure(&set);
        let all = available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let layout = layout_of_set(&set, args.layout.get())?;
        Ok(Self {
            blocks: args.blocks.unwrap_or(set.blocks_per_batch(layout)),
            beside: args.set.is_none() && args.key_bits == KeySize::Aes128,
            layout,
            key_size: args.key_bits,
            direction: args.direction.get(),
            threads: args.threads.unwrap_or(all),
            set,
        })
    }

    /// Makes keys, evaluates from file to file, and checks every byte: with the secret key of the set the bridge converts to, or with the user's client key, after
    /// `homaes export`.
    pub(super) fn measure(self) -> Result<Outcome, Failure> {
        let scratch = Scratch::new()?;
        let (size, direction) = (self.key_size, self.direction);
        let sample = Sample::random(16 * self.blocks as usize, size, direction)?;
        let mut clock = Clock::new()?;
        // It has to come first: its keys are gone when the others are made.
        let shortest = match self.beside {
            true => {
                let set = named_set(SHORTEST)?;
                let (keys, wrapped) = self.keys(&set, None, &sample, &scratch, &mut |_| Ok(()))?;
                let server = self.server(&keys, &wrapped, None, &scratch);
                Some(server.aes(&sample)?)
            }
            false => None,
        };
        let end = spin("making the TFHE key", || End::new(&self.set))?;
        let levels = Some(end.levels_left());
        let path = scratch.file(BRIDGE_KEY_FILE);
        let mut made = None;
        let (keys, wrapped) = self.keys(&self.set, levels, &sample, &scratch, &mut |key| {
            made = Some(end.bridge(key)?);
            Ok(())
        })?;
        let made = match made {
            Some(made) => made,
            None => end.bridge(&keys.secret)?,
        };
        let fitness = made.fitness();
        made.save(Output::create(&path, true)?)?;
        let bridge_key_bytes = fs::metadata(&path)
            .map_err(|error| Failure::system("temporary file", error))?
            .len();
        let bridge = BridgeKey::open(&path, &keys.eval)?;
        let alone = self.server(&keys, &wrapped, None, &scratch);
        let server = self.server(&keys, &wrapped, Some((&bridge, &end)), &scratch);
        clock.tick();
        let aes = alone.aes(&sample)?;
        let across = server.via_bridge(&sample, Some(self.layout))?;
        clock.tick();
        // The first one finds cold caches.
        server.via_bridge(&sample.front(16), None)?;
        let single = server.via_bridge(&sample.front(16), None)?;
        clock.tick();
        Ok(Outcome {
            end: end.name(),
            peak_rss_bytes: peak_rss_bytes(),
            reference_pbs_ms: clock.read(),
            plan: self,
            aes,
            across,
            single,
            shortest,
            bridge_key_bytes,
            fitness,
        })
    }

    fn keys(
        &self,
        set: &Set,
        levels_left: Option<usize>,
        sample: &Sample,
        scratch: &Scratch,
        fits: Fits<'_>,
    ) -> Result<(KeySet, WrappedKey), Failure> {
        let keys = spin("making keys", || KeySet::generate_fit(set, fits))?;
        let wrapping = WrapOptions {
            direction: self.direction,
            levels_left,
            ..WrapOptions::default()
        };
        let aes_key = AesKey::from_bytes(&sample.key)?;
        let path = scratch.file("key.hwk");
        let wrapped = spin("wrapping the AES key", || {
            let output = Output::create(&path, true)?;
            WrappedKey::write(&keys.secret, &aes_key, &wrapping, output, &mut |_, _| ())?;
            WrappedKey::open(&path, &keys.eval)
        })?;
        Ok((keys, wrapped))
    }

    fn server<'k>(
        &self,
        keys: &'k KeySet,
        wrapped: &'k WrappedKey,
        bridge: Option<(&'k BridgeKey, &'k End)>,
        scratch: &'k Scratch,
    ) -> Server<'k> {
        Server {
            keys,
            wrapped,
            bridge,
            scratch,
            threads: self.threads,
            layout: self.layout,
        }
    }
}

/// The key that the bridge converts to.
enum End {
    Set(SecretKey),
    #[cfg(feature = "tfhe-rs")]
    User(Box<homaes::ClientKey>),
}

impl End {
    /// A client key of the crate `tfhe` where there is that crate, for sets with the dimension of its keys.
    fn new(set: &Set) -> Result<Self, Failure> {
        #[cfg(feature = "tfhe-rs")]
        if set.is_secure() {
            let config = tfhe::ConfigBuilder::default().build();
            return Ok(Self::User(Box::new(homaes::ClientKey::generate(config))));
        }
        let name = if set.is_secure() {
            "tfhe/p64"
        } else {
            "tfhe/toy"
        };
        Ok(Self::Set(KeySet::generate(&named_set(name)?)?.secret))
    }

    fn name(&self) -> String {
        match self {
            Self::Set(key) => format!("a key of set {}", key.set().name()),
            #[cfg(feature = "tfhe-rs")]
            Self::User(_) => USER.into(),
        }
    }

    /// Multiplications that the crossing takes, of bits and of pairs.
    fn levels_left(&self) -> usize {
        match self {
            Self::Set(_) => 1,
            #[cfg(feature = "tfhe-rs")]
            Self::User(_) => 5,
        }
    }

    fn bridge(&self, secret: &SecretKey) -> Result<BridgeKey, Error> {
        match self {
            Self::Set(key) => BridgeKey::generate(secret, key),
            #[cfg(feature = "tfhe-rs")]
            Self::User(key) => BridgeKey::to_client(secret, key),
        }
    }

    /// The message in results that have crossed.
    fn message(&self, scratch: &Scratch) -> Result<Vec<u8>, Failure> {
        let (results, plain) = (scratch.file("across"), scratch.file("plain"));
        match self {
            Self::Set(key) => {
                key.decrypt(&results, Output::private(&plain, true)?)?;
                fs::read(&plain).map_err(|error| Failure::system("temporary file", error))
            }
            #[cfg(feature = "tfhe-rs")]
            Self::User(key) => user::message(key, &results, scratch.file("values")),
        }
    }
}

#[cfg(feature = "tfhe-rs")]
mod user {
    //! What a user of the crate `tfhe` does with results.

    use crate::console::Failure;
    use homaes::{ClientKey, Output};
    use std::fs::File;
    use std::io::{BufRead, BufReader};
    use std::path::{Path, PathBuf};
    use tfhe::FheUint8;
    use tfhe::prelude::FheDecrypt;
    use tfhe::safe_serialization::safe_deserialize;

    /// Most bytes of a serialised value.
    const VALUE_BYTES: u64 = 1 << 20;

    /// Exports `results` to `values`, reads them as any program does, and decrypts.
    pub(super) fn message(
        key: &ClientKey,
        results: &Path,
        values: PathBuf,
    ) -> Result<Vec<u8>, Failure> {
        let system = |error| Failure::system("temporary file", error);
        homaes::export_fheuint8(
            results,
            None,
            None,
            Output::create(&values, true)?,
            &mut |_, _| (),
        )?;
        let mut input = BufReader::new(File::open(&values).map_err(system)?);
        let mut message = Vec::new();
        while !input.fill_buf().map_err(system)?.is_empty() {
            let value: FheUint8 = safe_deserialize(&mut input, VALUE_BYTES)
                .map_err(|error| Failure::system("temporary file", error))?;
            message.push(value.decrypt(key));
        }
        drop(input);
        std::fs::remove_file(values).map_err(system)?;
        Ok(message)
    }
}

/// What evaluates, and where.
struct Server<'k> {
    keys: &'k KeySet,
    wrapped: &'k WrappedKey,
    bridge: Option<(&'k BridgeKey, &'k End)>,
    scratch: &'k Scratch,
    threads: NonZeroUsize,
    layout: Layout,
}

impl Server<'_> {
    /// AES alone, the second time: the first one finds cold caches.
    fn aes(&self, sample: &Sample) -> Result<Report, Failure> {
        self.run(sample, Some(self.layout))?;
        let report = self.run(sample, Some(self.layout))?;
        let plain = self.scratch.file("plain");
        let secret = &self.keys.secret;
        secret.decrypt(self.scratch.file("across"), Output::private(&plain, true)?)?;
        let message = fs::read(&plain).map_err(|error| Failure::system("temporary file", error))?;
        check(&message, sample)?;
        Ok(report)
    }

    /// AES and then across, every byte checked.
    fn via_bridge(&self, sample: &Sample, layout: Option<Layout>) -> Result<Report, Failure> {
        let report = self.run(sample, layout)?;
        if let Some((_, end)) = self.bridge {
            let found = spin("checking every byte", || end.message(self.scratch))?;
            check(&found, sample)?;
        }
        Ok(report)
    }

    fn run(&self, sample: &Sample, layout: Option<Layout>) -> Result<Report, Failure> {
        let (aes, out) = (self.scratch.file("aes"), self.scratch.file("across"));
        fs::write(&aes, sample.ciphertext())
            .map_err(|error| Failure::system("temporary file", error))?;
        let mut follower = Follower::new(args::Progress::Auto);
        let mut run = Transcipher::with_threads(&self.keys.eval, self.wrapped, self.threads)?;
        if let Some((bridge, _)) = self.bridge {
            run = run.via_bridge(bridge)?;
        }
        if let Some(layout) = layout {
            run = run.layout(layout)?;
        }
        let job = AesFile::open(&aes, sample.mode)?;
        let run = run.watch(|event| follower.event(event));
        let report = run.run(job, Output::create(&out, true)?)?;
        drop(run);
        follower.finish(&report);
        Ok(report)
    }
}

fn check(message: &[u8], sample: &Sample) -> Result<(), Failure> {
    if message == sample.message {
        return Ok(());
    }
    let message = "the results decrypt to wrong blocks; please report this";
    Err(Failure::Work(message.into()))
}

/// The reference, where there is the crate `tfhe`.
struct Clock {
    #[cfg(feature = "tfhe-rs")]
    pbs: super::reference::pbs::Pbs,
}

impl Clock {
    fn new() -> Result<Self, Failure> {
        Ok(Self {
            #[cfg(feature = "tfhe-rs")]
            pbs: super::reference::pbs::Pbs::new()?,
        })
    }

    fn tick(&mut self) {
        #[cfg(feature = "tfhe-rs")]
        self.pbs.tick();
    }

    fn read(self) -> Option<f64> {
        #[cfg(feature = "tfhe-rs")]
        return Some(homaes_lab::median(&self.pbs.into_times()));
        #[cfg(not(feature = "tfhe-rs"))]
        None
    }
}

/// Milliseconds of a block.
fn ms(report: &Report) -> f64 {
    report.seconds * 1e3 / report.blocks as f64
}

impl Outcome {
    /// Time of the crossing in a batch, writing results included.
    fn crossing_seconds(&self) -> f64 {
        self.across.seconds - self.aes.seconds
    }

    fn over_reference(&self, report: &Report) -> Option<f64> {
        self.reference_pbs_ms.map(|pbs| ms(report) / pbs)
    }

    fn aes_over_shortest(&self) -> Option<f64> {
        let shortest = self.shortest.as_ref();
        shortest.map(|shortest| self.aes.seconds / shortest.seconds)
    }

    pub(super) fn document(&self) -> Value {
        let (plan, quality) = (&self.plan, self.across.quality);
        let card = plan.set.card();
        json!({
            "bench": "bridge",
            "version": env!("CARGO_PKG_VERSION"),
            "set": plan.set.name(),
            "leads_to": self.end,
            "security_bits_claimed": card.security_bits_claimed,
            "security_bits_estimated": card.security_bits_estimated(),
            "layout": plan.layout.name(),
            "key_bits": 8 * plan.key_size.key_bytes(),
            "direction": table::direction(plan.direction),
            "threads": self.across.threads,
            "blocks": self.across.blocks,
            "batches": self.across.batches,
            "setup_seconds": self.across.setup_seconds,
            "seconds": self.across.seconds,
            "ms_per_block": ms(&self.across),
            "aes_seconds": self.aes.seconds,
            "crossing_seconds": self.crossing_seconds(),
            "aes_seconds_on_aes128": self.shortest.as_ref().map(|report| report.seconds),
            "aes_over_aes128": self.aes_over_shortest(),
            "single_block_seconds": self.single.seconds,
            "single_block_layout": self.single.layout.name(),
            "reference_pbs_ms": self.reference_pbs_ms,
            "block_over_reference_pbs": self.over_reference(&self.across),
            "single_block_over_reference_pbs": self.over_reference(&self.single),
            "noise_bits": quality.map(|quality| quality.noise_bits),
            "capacity_bits": quality.map(|quality| quality.capacity_bits),
            "log2_p_fail": card.log2_p_fail,
            "log2_p_fail_of_reading": self.fitness.map(|fitness| fitness.read_log2),
            "log2_p_fail_of_use": self.fitness.and_then(|fitness| fitness.used_log2),
            "bridge_key_bytes": self.bridge_key_bytes,
            "results_bytes": self.across.file_bytes,
            "peak_rss_bytes": self.peak_rss_bytes,
            // Every byte was compared: there is no document otherwise.
            "correct": true,
        })
    }

    pub(super) fn text(&self) -> String {
        let (plan, across) = (&self.plan, &self.across);
        let mut rows = Rows::default();
        rows.add("set", plan.set.name());
        rows.add("security", table::security(plan.set.card()));
        rows.add("converts to", self.end.as_str());
        let (bits, layout) = (8 * plan.key_size.key_bytes(), plan.layout);
        let direction = table::direction(plan.direction);
        rows.add(
            "cipher",
            format!("AES-{bits}, {direction}, layout {layout}"),
        );
        let blocks = table::blocks(across.blocks, across.batches);
        let threads = table::count(across.threads as u64, "thread", "threads");
        rows.add("run", format!("{blocks} on {threads}"));
        rows.add("time of preparation", table::seconds(across.setup_seconds));
        rows.add("time of AES", table::seconds(self.aes.seconds));
        if let (Some(shortest), Some(ratio)) = (&self.shortest, self.aes_over_shortest()) {
            let time = table::seconds(shortest.seconds);
            rows.add(
                &format!("time of AES on {SHORTEST}"),
                format!("{time}: ratio {ratio:.2}"),
            );
        }
        rows.add("time of AES and crossing", table::seconds(across.seconds));
        rows.add("time per block", format!("{:.3} ms", ms(across)));
        let (single, layout) = (table::seconds(self.single.seconds), self.single.layout);
        rows.add(
            "time of one block alone",
            format!("{single}, layout {layout}"),
        );
        if let Some(pbs) = self.reference_pbs_ms {
            let [block, single] = [across, &self.single].map(|report| ms(report) / pbs);
            rows.add(
                "block over reference",
                format!(
                    "{block:.2} bootstraps of tfhe, {pbs:.2} ms each on one thread; one block alone {single:.1}"
                ),
            );
        }
        if let Some(fitness) = self.fitness {
            let log2 = fitness.read_log2;
            rows.add("p_fail of reading", format!("2^{log2:.1} per batch"));
        }
        rows.add("size of bridge key", table::bytes(self.bridge_key_bytes));
        rows.add("size of results", table::bytes(across.file_bytes));
        let peak = self.peak_rss_bytes;
        rows.add(
            "peak memory",
            peak.map_or_else(|| "unknown".into(), table::bytes),
        );
        rows.add("noise left", table::quality_left(across.quality));
        rows.add("result", "every byte is correct");
        rows.text()
    }
}
