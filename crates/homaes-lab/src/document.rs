//! What `homaes bench` measures, as types: the fields of its JSON documents.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a set offers against attackers, and how often a batch fails.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Security {
    /// By the set; of purpose `paper`: by the paper.
    pub bits_claimed: Option<u32>,
    /// The least estimate over everything published.
    pub bits_estimated: Option<f64>,
    /// The same for an attacker who rotates the secret.
    pub bits_with_rotations: Option<f64>,
    /// Whether the estimates are orders of magnitude.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub order_of_magnitude: bool,
    /// log2 of the probability that one batch decrypts wrongly; none where that is 0.
    pub log2_p_fail: Option<f64>,
    /// The attack that the least estimate is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attack: Option<String>,
    /// What computed the estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimator: Option<String>,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_on: Option<String>,
}

/// One step of AES: the initial key addition, or a round.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// 0 for the key addition.
    pub round: usize,
    /// Wall-clock seconds, mean over batches.
    pub seconds: f64,
    /// Level after it.
    pub level: usize,
    /// Noise by the scheme's bound or model, log2.
    pub noise_bits: f64,
    /// Bits between that and failure.
    pub capacity_bits: f64,
    /// Noise measured with the secret key, in the units of `noise_bits`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_noise_bits: Option<f64>,
    /// Seconds by kernel group, summed over threads and batches.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stage_seconds: BTreeMap<String, f64>,
}

/// One full run of AES under FHE: what `homaes bench SCHEME --json` prints.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Parameter set.
    pub set: String,
    /// `secure`, `paper` or `toy`.
    pub purpose: String,
    /// What the set offers. A user's own run has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security: Option<Security>,
    /// Version of homaes.
    pub version: String,
    /// Where the bytes lie in the ciphertexts.
    pub layout: String,
    /// Bits of the AES key.
    pub key_bits: u32,
    /// `encrypt` or `decrypt`.
    pub direction: String,
    /// Who expands the AES key: `server` or `client`.
    pub expansion: String,
    /// Worker threads.
    pub threads: usize,
    /// GPUs that evaluated it, `cuda:0`, and what they are called; none if the processor did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// As above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// AES blocks.
    pub blocks: u64,
    /// Most blocks evaluated together.
    pub blocks_per_batch: u64,
    /// Batches.
    pub batches: u64,
    /// Making both keys and writing them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keygen_seconds: Option<f64>,
    /// Reading the evaluation key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_key_seconds: Option<f64>,
    /// Encrypting the AES key under FHE and writing it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrap_seconds: Option<f64>,
    /// Reading the wrapped key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_wrapped_seconds: Option<f64>,
    /// Decrypting all results, from file to file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decrypt_seconds: Option<f64>,
    /// Preparing the circuit, once for each key: expansion of the AES key by the server.
    pub setup_seconds: f64,
    /// Evaluating a message of one block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_seconds: Option<f64>,
    /// Evaluating all blocks.
    pub seconds: f64,
    /// `seconds` over `batches`.
    pub seconds_per_batch: f64,
    /// The seconds of `rounds`.
    pub seconds_per_round: Vec<f64>,
    /// `seconds` over `blocks`.
    pub ms_per_block: f64,
    /// What happened in each round.
    #[serde(default)]
    pub rounds: Vec<Round>,
    /// Of one limb in BGV and NTRU, of one polynomial in TFHE.
    pub transforms: u64,
    /// Blind rotations.
    pub rotations: u64,
    /// Everything the scheme counted, by name.
    pub counts: BTreeMap<String, u64>,
    /// Shares of the kernels' time, by group.
    pub stages: BTreeMap<String, f64>,
    /// Share of the threads' time that the kernels take.
    pub busy: f64,
    /// Noise of the worst result.
    pub noise_bits: Option<f64>,
    /// Bits between that and failure.
    pub capacity_bits: Option<f64>,
    /// Bits between the largest noise that decryption found and failure.
    pub margin_bits: Option<f64>,
    /// log2 of the bound on the probability that any batch decrypts wrongly; none where that is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log2_p_fail: Option<f64>,
    /// Most memory that the process had.
    pub peak_rss_bytes: Option<u64>,
    /// Size of the file.
    #[serde(default)]
    pub eval_key_bytes: u64,
    /// Size of the file.
    #[serde(default)]
    pub wrapped_key_bytes: u64,
    /// Size of the file of results.
    pub ciphertext_bytes: u64,
    /// The same over the bytes of the message.
    #[serde(default)]
    pub ciphertext_bytes_per_byte: f64,
    /// Whether every byte decrypted to that of the message. A run with a wrong byte ends with an error instead.
    pub correct: bool,
    /// Multiplications left on the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels_left: Option<usize>,
    /// Expansion of the AES key over one block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expansion_over_block: Option<f64>,
    /// The kernels that the processor was found to have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// One forward transform of the set's ring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns_per_transform: Option<f64>,
    /// One forward transform of the crate `tfhe-ntt`, 32768 points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_ntt_ns: Option<f64>,
    /// Time of a batch in those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aes_over_reference_ntt: Option<f64>,
    /// Own transform of 32768 points in those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transform_over_reference: Option<f64>,
    /// One key switch and bootstrapping of the crate `tfhe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_pbs_ms: Option<f64>,
    /// Time of a block in those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aes_over_reference_pbs: Option<f64>,
    /// One product of the crate `malachite-nz`, 16 million bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_product_ms: Option<f64>,
    /// One conversion of DGHV.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convert_ms: Option<f64>,
    /// The same in products.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convert_over_reference_product: Option<f64>,
    /// Where it was measured; in `bench all` the document says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// In `bench all`: the command that repeats the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// In `bench all`: seconds of the whole process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_seconds: Option<f64>,
    /// In `bench all`: the value of each field in every repetition. The times themselves are the medians, memory is the most, and the rest is of
    /// the repetition in the middle.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub samples: BTreeMap<String, Vec<f64>>,
}

/// The fields of a [`Run`] that are sampled and have medians: name and value.
pub(crate) type Times<'r> = [(&'static str, &'r mut Option<f64>); 8];

impl Run {
    /// The first part of the set's name.
    #[must_use]
    pub fn scheme(&self) -> &str {
        self.set.split('/').next().unwrap_or_default()
    }

    /// Whether the set protects data.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.purpose == "secure"
    }

    /// Seconds of a block in a message of this length.
    #[must_use]
    pub fn seconds_per_block(&self) -> f64 {
        self.ms_per_block / 1e3
    }

    /// What was run, without its results: equal for runs that can be compared.
    #[must_use]
    pub fn name(&self) -> String {
        let Self {
            set,
            layout,
            key_bits,
            direction,
            threads,
            device,
            blocks,
            ..
        } = self;
        let direction = match direction.as_str() {
            "encrypt" => "",
            _ => ", decrypting",
        };
        let s = if *threads == 1 { "" } else { "s" };
        let blocks = match blocks {
            1 => "1 block".into(),
            blocks => format!("{blocks} blocks"),
        };
        let on = device
            .as_ref()
            .map_or_else(String::new, |device| format!(", {device}"));
        format!("{set} {layout}, AES-{key_bits}{direction}, {blocks}, {threads} thread{s}{on}")
    }

    /// The command that repeats it.
    #[must_use]
    pub fn command(&self) -> String {
        if let Some(command) = &self.command {
            return command.replace(" --noise", "");
        }
        let Self {
            set,
            layout,
            threads,
            device,
            blocks,
            key_bits,
            direction,
            ..
        } = self;
        let on = device
            .as_ref()
            .map_or_else(String::new, |device| format!(" --device {device}"));
        format!(
            "homaes bench {} --set {set} --layout {layout} --threads {threads}{on} --key-bits {key_bits} --direction {direction} --blocks {blocks} --json",
            self.scheme()
        )
    }

    /// The times that are sampled.
    pub(crate) fn times(&mut self) -> Times<'_> {
        [
            ("keygen_seconds", &mut self.keygen_seconds),
            ("load_key_seconds", &mut self.load_key_seconds),
            ("wrap_seconds", &mut self.wrap_seconds),
            ("load_wrapped_seconds", &mut self.load_wrapped_seconds),
            ("decrypt_seconds", &mut self.decrypt_seconds),
            ("latency_seconds", &mut self.latency_seconds),
            ("reference_ntt_ns", &mut self.reference_ntt_ns),
            ("aes_over_reference_ntt", &mut self.aes_over_reference_ntt),
        ]
    }

    /// Of repetitions of one run: that in the middle by time, with the medians of all times, the most memory of any, and all values in
    /// [`samples`](Self::samples). `None` of none.
    #[must_use]
    pub fn median(mut runs: Vec<Self>) -> Option<Self> {
        let mut samples: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let mut sample = |name: &str, value: f64| {
            samples.entry(name.to_owned()).or_default().push(value);
        };
        for run in &mut runs {
            sample("seconds", run.seconds);
            sample("setup_seconds", run.setup_seconds);
            for (name, value) in run.times() {
                value.iter().for_each(|&value| sample(name, value));
            }
            let memory = run.peak_rss_bytes.map(|bytes| bytes as f64);
            for (name, value) in [
                ("peak_rss_bytes", memory),
                ("wall_seconds", run.wall_seconds),
            ] {
                value.iter().for_each(|&value| sample(name, value));
            }
        }
        let most = runs.iter().filter_map(|run| run.peak_rss_bytes).max();
        // measured once, in one of the repetitions
        let measured = runs.iter().find(|run| run.has_measured_noise());
        let measured = measured.map(|run| run.rounds.clone());
        runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let middle = runs.len().checked_sub(1)? / 2;
        let mut run = runs.swap_remove(middle);
        for (name, value) in run.times() {
            *value = samples.get(name).map(|values| median(values));
        }
        let of = |name: &str| samples.get(name).map_or(0.0, |values| median(values));
        run.setup_seconds = of("setup_seconds");
        run.seconds = of("seconds");
        run.seconds_per_batch = run.seconds / run.batches.max(1) as f64;
        run.ms_per_block = run.seconds * 1e3 / run.blocks.max(1) as f64;
        run.peak_rss_bytes = most;
        for (round, from) in run.rounds.iter_mut().zip(measured.iter().flatten()) {
            round.measured_noise_bits = from.measured_noise_bits;
        }
        run.samples = samples;
        Some(run)
    }

    /// Largest over smallest time of the repetitions; `None` of one alone.
    #[must_use]
    pub fn spread(&self) -> Option<f64> {
        let values = self
            .samples
            .get("seconds")
            .filter(|values| values.len() > 1)?;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        Some(values.iter().copied().fold(0.0, f64::max) / least)
    }

    /// Seconds before the first block, once for each process: reading both keys, and expanding the AES key.
    #[must_use]
    pub fn ready_seconds(&self) -> Option<f64> {
        Some(self.load_key_seconds? + self.load_wrapped_seconds? + self.setup_seconds)
    }

    /// Whether the noise after every round was measured.
    #[must_use]
    pub fn has_measured_noise(&self) -> bool {
        let mut rounds = self.rounds.iter();
        rounds.any(|round| round.measured_noise_bits.is_some())
    }
}

/// The middle one of the values, which must be numbers, or the mean of the two in the middle; 0 of none.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2).copied().unwrap_or(0.0);
    match values.len() {
        0 => 0.0,
        len if len % 2 == 1 => upper,
        len => (values[len / 2 - 1] + upper) / 2.0,
    }
}

/// Where runs were measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Name of the processor, as far as the system tells.
    pub processor: String,
    /// Its architecture and the operating system.
    pub system: String,
    /// Cores for this process.
    pub cores: usize,
    /// Memory, if the system tells.
    pub memory_bytes: Option<u64>,
    /// The kernels that the processor was found to have.
    pub kernels: String,
    /// Features of the program.
    pub features: Vec<String>,
}

/// The own transform beside that of the crate `tfhe-ntt`: what `homaes bench kernels --json` prints, as far as pages show it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Kernels {
    /// Which kernels.
    pub backend: String,
    /// Own forward transform.
    pub forward_ns: f64,
    /// Own inverse transform.
    pub inverse_ns: f64,
    /// Forward transform of the reference.
    pub reference_ntt_ns: f64,
}

/// A run that was not made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Skipped {
    /// As [`Run::name`].
    pub run: String,
    /// Why.
    pub reason: String,
    /// The command that makes it.
    pub command: String,
}

/// What `homaes bench all --json` prints.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Lab {
    /// Version of homaes.
    pub version: String,
    /// When it began, UTC.
    pub date: String,
    /// The time given.
    pub budget_seconds: Option<f64>,
    /// The time taken.
    pub wall_seconds: f64,
    /// Where.
    pub machine: Machine,
    /// The transforms.
    pub kernels: Option<Kernels>,
    /// What was run.
    pub runs: Vec<Run>,
    /// What was not.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
}
