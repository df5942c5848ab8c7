//! The fields of the JSON documents that `homaes bench` writes.

use crate::units::counted;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Security and failure probability of a set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Security {
    /// As claimed by the set, or by the paper for sets of purpose `paper`.
    pub bits_claimed: Option<u32>,
    /// Least estimate over all published objects.
    pub bits_estimated: Option<f64>,
    /// The same against rotations of the secret.
    pub bits_with_rotations: Option<f64>,
    /// Whether the estimates are orders of magnitude.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub order_of_magnitude: bool,
    /// log2 of the probability that one batch decrypts wrongly; `None` for 0.
    pub log2_p_fail: Option<f64>,
    /// The attack with the least estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attack: Option<String>,
    /// The program that computed the estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimator: Option<String>,
    /// The day of the estimate.
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
    /// log2 of the noise, by the scheme's bound or model.
    pub noise_bits: f64,
    /// Bits from there to failure.
    pub capacity_bits: f64,
    /// Noise measured with the secret key, in the units of `noise_bits`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_noise_bits: Option<f64>,
    /// Seconds by kernel group, summed over threads and batches.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stage_seconds: BTreeMap<String, f64>,
}

/// A full run of AES under FHE, as `homaes bench SCHEME --json` prints it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Parameter set.
    pub set: String,
    /// `secure`, `paper` or `toy`.
    pub purpose: String,
    /// Security of the set; missing in reports of `transcipher`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security: Option<Security>,
    /// Version of homaes.
    pub version: String,
    /// Layout of bytes in ciphertexts.
    pub layout: String,
    /// Bits of the AES key.
    pub key_bits: u32,
    /// `encrypt` or `decrypt`.
    pub direction: String,
    /// `server` or `client`: where the AES key is expanded.
    pub expansion: String,
    /// Worker threads.
    pub threads: usize,
    /// GPUs that evaluated it, such as `cuda:0`; `None` for the processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Names of these GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// AES blocks.
    pub blocks: u64,
    /// Blocks of a full batch.
    pub blocks_per_batch: u64,
    /// Batches.
    pub batches: u64,
    /// Time to make and write both keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keygen_seconds: Option<f64>,
    /// Time to read the evaluation key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_key_seconds: Option<f64>,
    /// Time to encrypt the AES key under FHE and write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrap_seconds: Option<f64>,
    /// Time to read the wrapped key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_wrapped_seconds: Option<f64>,
    /// Time to decrypt all results, from file to file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decrypt_seconds: Option<f64>,
    /// Time to expand the AES key on the server, once per key.
    pub setup_seconds: f64,
    /// Time to evaluate a message of one block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_seconds: Option<f64>,
    /// Time to evaluate all blocks.
    pub seconds: f64,
    /// `seconds` over `batches`.
    pub seconds_per_batch: f64,
    /// The seconds of `rounds`.
    pub seconds_per_round: Vec<f64>,
    /// `seconds` over `blocks`.
    pub ms_per_block: f64,
    /// Level, noise and time of each round.
    #[serde(default)]
    pub rounds: Vec<Round>,
    /// Transforms: of one limb in BGV and NTRU, of one polynomial in TFHE.
    pub transforms: u64,
    /// Blind rotations.
    pub rotations: u64,
    /// All counts of the scheme, by name.
    pub counts: BTreeMap<String, u64>,
    /// Fractions of the kernels' time, by group.
    pub stages: BTreeMap<String, f64>,
    /// Fraction of the threads' time that the kernels take.
    pub busy: f64,
    /// Noise of the worst result.
    pub noise_bits: Option<f64>,
    /// Bits from there to failure.
    pub capacity_bits: Option<f64>,
    /// Bits from the largest noise found by decryption to failure.
    pub margin_bits: Option<f64>,
    /// log2 of the bound on the probability that any batch decrypts wrongly; `None` for 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log2_p_fail: Option<f64>,
    /// Peak memory of the process.
    pub peak_rss_bytes: Option<u64>,
    /// Size of the evaluation key file.
    #[serde(default)]
    pub eval_key_bytes: u64,
    /// Size of the wrapped key file.
    #[serde(default)]
    pub wrapped_key_bytes: u64,
    /// Size of the result file.
    pub ciphertext_bytes: u64,
    /// The same per byte of the message.
    #[serde(default)]
    pub ciphertext_bytes_per_byte: f64,
    /// Whether every byte decrypts correctly; otherwise `bench` fails.
    pub correct: bool,
    /// Multiplications left on the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels_left: Option<usize>,
    /// Time of the AES key expansion over that of one block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expansion_over_block: Option<f64>,
    /// The kernels in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Time of one forward transform of the set's ring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns_per_transform: Option<f64>,
    /// Time of one forward transform of the crate `tfhe-ntt`, 32768 points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_ntt_ns: Option<f64>,
    /// Time of a batch in reference transforms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aes_over_reference_ntt: Option<f64>,
    /// Time of the own transform of 32768 points in reference transforms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transform_over_reference: Option<f64>,
    /// Time of one key switch and bootstrap of the crate `tfhe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_pbs_ms: Option<f64>,
    /// Time of a block in these bootstraps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aes_over_reference_pbs: Option<f64>,
    /// Time of one product of the crate `malachite-nz`, 16 million bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_product_ms: Option<f64>,
    /// Time of one conversion of DGHV.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convert_ms: Option<f64>,
    /// The same in these products.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convert_over_reference_product: Option<f64>,
    /// The machine; `None` in a document of `bench all`, which names it once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// In `bench all`: the command that repeats the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// In `bench all`: time of the whole process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_seconds: Option<f64>,
    /// In `bench all`: the values of all repetitions, by field. The field itself has the median of times, the largest
    /// memory, and otherwise the value of the middle repetition.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub samples: BTreeMap<String, Vec<f64>>,
}

impl Run {
    /// The scheme: the first part of the set's name.
    #[must_use]
    pub fn scheme(&self) -> &str {
        self.set.split('/').next().unwrap_or_default()
    }

    /// Whether the set protects data.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.purpose == "secure"
    }

    /// Seconds per block.
    #[must_use]
    pub fn seconds_per_block(&self) -> f64 {
        self.ms_per_block / 1e3
    }

    /// log2 of the bound on the probability that any batch decrypts wrongly, if known.
    #[must_use]
    pub fn p_fail(&self) -> Option<f64> {
        // a document may have the failure of one batch only
        let batch = self.security.as_ref().and_then(|s| s.log2_p_fail);
        let any = batch.map(|log2| (log2 + (self.batches.max(1) as f64).log2()).min(0.0));
        self.log2_p_fail.or(any)
    }

    /// Names the run. Runs of equal names can be compared.
    #[must_use]
    pub fn name(&self) -> String {
        let (set, layout, key_bits) = (&self.set, &self.layout, self.key_bits);
        let direction = match &*self.direction {
            "encrypt" => "",
            _ => ", decrypting",
        };
        let blocks = counted(self.blocks, "block");
        let threads = counted(self.threads as u64, "thread");
        let on = self.device.as_ref().map(|device| format!(", {device}"));
        let on = on.unwrap_or_default();
        format!("{set} {layout}, AES-{key_bits}{direction}, {blocks}, {threads}{on}")
    }

    /// The times that were measured, by the name of their field.
    pub(crate) fn times(&mut self) -> impl Iterator<Item = (&'static str, &mut f64)> {
        let all = [
            ("seconds", Some(&mut self.seconds)),
            ("setup_seconds", Some(&mut self.setup_seconds)),
            ("keygen_seconds", self.keygen_seconds.as_mut()),
            ("load_key_seconds", self.load_key_seconds.as_mut()),
            ("wrap_seconds", self.wrap_seconds.as_mut()),
            ("load_wrapped_seconds", self.load_wrapped_seconds.as_mut()),
            ("decrypt_seconds", self.decrypt_seconds.as_mut()),
            ("latency_seconds", self.latency_seconds.as_mut()),
            ("reference_ntt_ns", self.reference_ntt_ns.as_mut()),
            (
                "aes_over_reference_ntt",
                self.aes_over_reference_ntt.as_mut(),
            ),
        ];
        let all = all.into_iter();
        all.filter_map(|(name, value)| Some((name, value?)))
    }

    /// Merges repetitions of one run: the middle one by time, with median times, the largest memory, and all values in
    /// [`samples`](Self::samples). `None` for an empty list.
    #[must_use]
    pub fn median(mut runs: Vec<Self>) -> Option<Self> {
        let mut samples: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let mut sample = |name: &str, value: f64| {
            samples.entry(name.to_owned()).or_default().push(value);
        };
        for run in &mut runs {
            run.times().for_each(|(name, value)| sample(name, *value));
            let memory = run.peak_rss_bytes.into_iter();
            memory.for_each(|bytes| sample("peak_rss_bytes", bytes as f64));
            let wall = run.wall_seconds.into_iter();
            wall.for_each(|seconds| sample("wall_seconds", seconds));
        }
        let most = runs.iter().filter_map(|run| run.peak_rss_bytes).max();
        // noise is measured in one repetition only
        let measured = runs.iter().find(|run| run.has_measured_noise());
        let measured = measured.map(|run| run.rounds.clone());
        runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let middle = runs.len().checked_sub(1)? / 2;
        let mut run = runs.swap_remove(middle);
        for (name, value) in run.times() {
            *value = median(&samples[name]);
        }
        run.seconds_per_batch = run.seconds / run.batches.max(1) as f64;
        run.ms_per_block = run.seconds * 1e3 / run.blocks.max(1) as f64;
        run.peak_rss_bytes = most;
        for (round, from) in run.rounds.iter_mut().zip(measured.iter().flatten()) {
            round.measured_noise_bits = from.measured_noise_bits;
        }
        run.samples = samples;
        Some(run)
    }

    /// Largest over smallest time of the repetitions; `None` for a single one.
    #[must_use]
    pub fn spread(&self) -> Option<f64> {
        let values = self
            .samples
            .get("seconds")
            .filter(|values| values.len() > 1)?;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        Some(values.iter().copied().fold(0.0, f64::max) / least)
    }

    /// Seconds before the first block: reading both keys and expanding the AES key.
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

/// The middle value, or the mean of the two middle ones; 0 for an empty list.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        len if len % 2 == 1 => values[len / 2],
        len => (values[len / 2 - 1] + values[len / 2]) / 2.0,
    }
}

/// A machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Name of the processor.
    pub processor: String,
    /// Operating system and architecture.
    pub system: String,
    /// Cores that the process may use.
    pub cores: usize,
    /// Memory, if known.
    pub memory_bytes: Option<u64>,
    /// The kernels in use.
    pub kernels: String,
    /// Features of the program.
    pub features: Vec<String>,
}

/// The transforms in `homaes bench kernels --json` that pages show.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Kernels {
    /// The kernels in use.
    pub backend: String,
    /// Time of the own forward transform.
    pub forward_ns: f64,
    /// Time of the own inverse transform.
    pub inverse_ns: f64,
    /// Time of the forward transform of the crate `tfhe-ntt`.
    pub reference_ntt_ns: f64,
}

/// A run that was not made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Skipped {
    /// As [`Run::name`].
    pub run: String,
    /// The reason.
    pub reason: String,
    /// The command that makes the run.
    pub command: String,
}

/// A document of `homaes bench all --json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Lab {
    /// Version of homaes.
    pub version: String,
    /// Start, UTC.
    pub date: String,
    /// The time given.
    pub budget_seconds: Option<f64>,
    /// The time taken.
    pub wall_seconds: f64,
    /// The machine.
    pub machine: Machine,
    /// The transforms.
    pub kernels: Option<Kernels>,
    /// The runs.
    pub runs: Vec<Run>,
    /// Runs that were not made.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
}
