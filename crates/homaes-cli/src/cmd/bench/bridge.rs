//! `bench bridge`: AES on BGV with the crossing to TFHE, compared with one bootstrap of the crate `tfhe`.

use super::case::Case;
use super::machine::peak_rss_bytes;
use super::reference::Clock;
use crate::args::{self, Bench};
use crate::cmd::keygen::{End, no_bridges};
use crate::cmd::sample::Sample;
use crate::cmd::{named_set, transcipher};
use crate::console::{self, Failure, refuse};
use crate::progress::{Follower, spin};
use crate::scratch::Scratch;
use crate::table::{self, Rows};
use homaes::{
    AesKey, BRIDGE_KEY_FILE, BridgeKey, Devices, Fitness, Fits, KeySet, KeySize, Layout, Output,
    ReferenceOp, Report, Set, WrapOptions, WrappedKey,
};
use serde_json::{Value, json};

const SET: &str = "bgv/bridge128";

/// The set with the shortest chain for AES-128: the baseline for AES on the bridge's set.
const SHORTEST: &str = "bgv/aes128";

pub(super) struct Outcome {
    case: Case,
    /// where the bridge leads
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
    /// milliseconds of one key switch and bootstrap of the crate `tfhe`
    reference_pbs_ms: Option<f64>,
}

/// Makes keys, evaluates from file to file, and checks every byte with the bridge's TFHE secret key, or, after `homaes
/// export`, with the user's client key.
pub(super) fn measure(args: &Bench) -> Result<Outcome, Failure> {
    let (case, devices) = case(args)?;
    let scratch = Scratch::new()?;
    let bytes = 16 * case.blocks() as usize;
    let sample = Sample::random(bytes, case.key_size, case.direction)?;
    let mut clock = Clock::new(ReferenceOp::Bootstrap)?;
    let new_server = |set: &Set, levels_left, fits: Fits<'_>| {
        let options = WrapOptions {
            direction: case.direction,
            levels_left,
            ..WrapOptions::default()
        };
        let keys = spin("making keys", || KeySet::generate_fit(set, fits))?;
        let aes_key = AesKey::from_bytes(&sample.key)?;
        let path = scratch.file("key.hwk");
        let wrapped = spin("wrapping the AES key", || {
            WrappedKey::create(&keys.secret, &aes_key, &options, path, true)
        })?;
        Ok::<_, Failure>(Server {
            keys,
            wrapped,
            scratch: &scratch,
            case: &case,
            devices: &devices,
        })
    };
    // first: its keys are freed before the others are made
    let shortest = match args.set.is_none() && case.key_size == KeySize::Aes128 {
        true => Some(new_server(&named_set(SHORTEST)?, None, &mut |_| Ok(()))?.aes(&sample)?),
        false => None,
    };
    let end = spin("making the TFHE key", || new_end(&case.set))?;
    // multiplications of the crossing, of bits or of pairs
    let levels = match &end {
        End::Set(_) => 1,
        End::Link { .. } => unreachable!("see new_end"),
        #[cfg(feature = "tfhe-rs")]
        End::User(_) => 5,
    };
    let mut made = None;
    let server = new_server(&case.set, Some(levels), &mut |key| {
        made = Some(end.bridge(key)?);
        Ok(())
    })?;
    let made = made.expect("every secret key is tried");
    let (fitness, end_name) = (made.fitness(), made.end());
    let path = scratch.file(BRIDGE_KEY_FILE);
    made.save(Output::create(&path, true)?)?;
    let bridge_key_bytes = scratch.bytes(BRIDGE_KEY_FILE)?;
    let bridge = BridgeKey::open(&path, &server.keys.eval)?;
    let mut tick = || clock.iter_mut().for_each(Clock::tick);
    tick();
    let aes = server.aes(&sample)?;
    let across = server.run(Some((&bridge, &end)), &sample, Some(case.layout))?;
    tick();
    // the first crossing runs on cold caches
    server.run(Some((&bridge, &end)), &sample.front(16), None)?;
    let single = server.run(Some((&bridge, &end)), &sample.front(16), None)?;
    tick();
    Ok(Outcome {
        end: end_name,
        peak_rss_bytes: peak_rss_bytes(),
        reference_pbs_ms: clock.map(Clock::read),
        case,
        aes,
        across,
        single,
        shortest,
        bridge_key_bytes,
        fitness,
    })
}

fn case(args: &Bench) -> Result<(Case, Devices), Failure> {
    if args.noise || args.variant.is_some() {
        return refuse("'bench bridge' takes neither --noise nor --variant; see --help");
    }
    let set = named_set(args.set.as_deref().unwrap_or(SET))?;
    if !set.has_bridges() {
        return Err(no_bridges(&set, SET));
    }
    let case = Case::new(set, args)?;
    let devices = args.workers.devices()?;
    devices.check(&case.set, Some(case.layout))?;
    Ok((case, devices))
}

/// The key that the bridge leads to: a client key of the crate `tfhe` if this program contains the crate and the
/// dimension fits, else a secret key of TFHE.
fn new_end(set: &Set) -> Result<End, Failure> {
    #[cfg(feature = "tfhe-rs")]
    if set.is_secure() {
        let config = tfhe::ConfigBuilder::default().build();
        return Ok(End::User(Box::new(homaes::ClientKey::generate(config))));
    }
    let name = match set.is_secure() {
        true => "tfhe/p64",
        false => "tfhe/toy",
    };
    Ok(End::Set(KeySet::generate(&named_set(name)?)?.secret))
}

#[cfg(feature = "tfhe-rs")]
mod user {
    use crate::console::Failure;
    use crate::scratch::failed;
    use homaes::{ClientKey, Output};
    use std::fs::File;
    use std::io::{BufRead, BufReader};
    use std::path::{Path, PathBuf};
    use tfhe::FheUint8;
    use tfhe::prelude::FheDecrypt;
    use tfhe::safe_serialization::safe_deserialize;

    const VALUE_BYTES: u64 = 1 << 20;

    /// Exports `results` to `values`, reads them as any program does, and decrypts.
    pub(super) fn message(
        key: &ClientKey,
        results: &Path,
        values: PathBuf,
    ) -> Result<Vec<u8>, Failure> {
        let output = Output::create(&values, true)?;
        homaes::export_fheuint8(results, None, None, output, &mut |_, _| ())?;
        let mut input = BufReader::new(File::open(&values).map_err(failed)?);
        let mut message = Vec::new();
        while !input.fill_buf().map_err(failed)?.is_empty() {
            let value: FheUint8 = safe_deserialize(&mut input, VALUE_BYTES)
                .map_err(|error| Failure::system("temporary file", error))?;
            message.push(value.decrypt(key));
        }
        drop(input);
        std::fs::remove_file(values).map_err(failed)?;
        Ok(message)
    }
}

struct Server<'c> {
    keys: KeySet,
    wrapped: WrappedKey,
    scratch: &'c Scratch,
    case: &'c Case,
    devices: &'c Devices,
}

impl Server<'_> {
    /// Times the second run; the first one runs on cold caches.
    fn aes(&self, sample: &Sample) -> Result<Report, Failure> {
        self.run(None, sample, Some(self.case.layout))?;
        self.run(None, sample, Some(self.case.layout))
    }

    /// Evaluates, crosses the bridge to its end if one is given, and checks every byte.
    fn run(
        &self,
        across: Option<(&BridgeKey, &End)>,
        sample: &Sample,
        layout: Option<Layout>,
    ) -> Result<Report, Failure> {
        let message = sample.file(self.scratch)?;
        let results = self.scratch.file("results");
        let output = Output::create(&results, true)?;
        let (eval, wrapped, threads) = (&self.keys.eval, &self.wrapped, self.case.threads);
        let bridge = across.map(|(bridge, _)| bridge);
        let transcipher = transcipher(eval, wrapped, bridge, threads, layout)?
            .on(self.devices.clone())
            .warn(console::warn);
        let report = Follower::new(args::Progress::Auto).run(transcipher, message, output)?;
        let secret = match across {
            None => &self.keys.secret,
            Some((_, End::Set(key))) => key,
            Some((_, End::Link { .. })) => unreachable!("see new_end"),
            #[cfg(feature = "tfhe-rs")]
            Some((_, End::User(key))) => {
                sample.check(&user::message(key, &results, self.scratch.file("values"))?)?;
                return Ok(report);
            }
        };
        secret.decrypt(results, Output::private(self.scratch.file("plain"), true)?)?;
        sample.check(&self.scratch.read("plain")?)?;
        Ok(report)
    }
}

fn ms(report: &Report) -> f64 {
    report.seconds * 1e3 / report.blocks as f64
}

impl Outcome {
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
        let (case, quality) = (&self.case, self.across.quality);
        let card = case.set.card();
        json!({
            "bench": "bridge",
            "version": env!("CARGO_PKG_VERSION"),
            "set": case.set.name(),
            "leads_to": self.end,
            "security_bits_claimed": card.security_bits_claimed,
            "security_bits_estimated": card.security_bits_estimated(),
            "layout": case.layout.name(),
            "key_bits": case.key_bits(),
            "direction": table::direction(case.direction),
            "threads": self.across.threads,
            "device": table::gpus(&self.across).map(|(numbers, _)| format!("cuda:{numbers}")),
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
            // every byte was compared; otherwise there is no document
            "correct": true,
        })
    }

    pub(super) fn text(&self) -> String {
        let (case, across) = (&self.case, &self.across);
        let mut rows = Rows::default();
        rows.add("set", case.set.name());
        rows.add("security", table::security(case.set.card()));
        rows.add("converts to", self.end.as_str());
        rows.add("cipher", case.cipher());
        let blocks = table::blocks(across.blocks, across.batches);
        rows.add("run", format!("{blocks} on {}", table::devices(across)));
        rows.add("time of preparation", table::seconds(across.setup_seconds));
        rows.add("time of AES", table::seconds(self.aes.seconds));
        if let (Some(shortest), Some(ratio)) = (&self.shortest, self.aes_over_shortest()) {
            let time = format!("{}: ratio {ratio:.2}", table::seconds(shortest.seconds));
            rows.add(&format!("time of AES on {SHORTEST}"), time);
        }
        rows.add("time of AES and crossing", table::seconds(across.seconds));
        rows.add("time per block", format!("{:.3} ms", ms(across)));
        let (single, layout) = (table::seconds(self.single.seconds), self.single.layout);
        let single = format!("{single}, layout {layout}");
        rows.add("time of one block alone", single);
        if let Some(pbs) = self.reference_pbs_ms {
            let [block, single] = [across, &self.single].map(|report| ms(report) / pbs);
            let each = format!("{pbs:.2} ms each on one thread; one block alone {single:.1}");
            let block = format!("{block:.2} bootstraps of tfhe, {each}");
            rows.add("block over reference", block);
        }
        if let Some(fitness) = self.fitness {
            let log2 = fitness.read_log2;
            rows.add("p_fail of reading", format!("2^{log2:.1} per batch"));
        }
        rows.add("size of bridge key", table::bytes(self.bridge_key_bytes));
        rows.add("size of results", table::bytes(across.file_bytes));
        rows.add("peak memory", table::memory(self.peak_rss_bytes));
        rows.add("noise left", table::quality_left(across.quality));
        rows.add("result", "every byte is correct");
        rows.text()
    }
}
