//! The JSON documents of `homaes bench` and `homaes transcipher --report`, typed.

use serde::{Deserialize, Serialize};
use serde_json::Value;
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
    /// In `bench all`: the command that repeats the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// In `bench all`: seconds of the whole process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_seconds: Option<f64>,
    /// In `bench all`: the value of each field in every repetition; the fields themselves have the medians.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub samples: BTreeMap<String, Vec<f64>>,
}

/// The fields of times in a [`Run`] that are repeated and compared: name and value.
type Times<'r> = [(&'static str, &'r mut Option<f64>); 7];

impl Run {
    /// The first part of the set's name.
    #[must_use]
    pub fn scheme(&self) -> &str {
        self.set.split('/').next().unwrap_or_default()
    }

    /// The second part.
    #[must_use]
    pub fn short_set(&self) -> &str {
        self.set.split_once('/').map_or(&self.set, |(_, name)| name)
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
        format!("{set} {layout}, AES-{key_bits}{direction}, {blocks}, {threads} thread{s}")
    }

    fn times(&mut self) -> Times<'_> {
        [
            ("keygen_seconds", &mut self.keygen_seconds),
            ("load_key_seconds", &mut self.load_key_seconds),
            ("wrap_seconds", &mut self.wrap_seconds),
            ("load_wrapped_seconds", &mut self.load_wrapped_seconds),
            ("decrypt_seconds", &mut self.decrypt_seconds),
            ("latency_seconds", &mut self.latency_seconds),
            ("reference_ntt_ns", &mut self.reference_ntt_ns),
        ]
    }

    /// Of repetitions of one run: that with the median time, with the medians of the other times, and all values in
    /// [`samples`](Self::samples). `None` of none.
    #[must_use]
    pub fn median(mut runs: Vec<Self>) -> Option<Self> {
        let mut samples: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let mut sample = |name: &str, value: f64| {
            samples.entry(name.to_owned()).or_default().push(value);
        };
        for run in &mut runs {
            sample("seconds", run.seconds);
            for (name, value) in run.times() {
                value.iter().for_each(|&value| sample(name, value));
            }
            let memory = run.peak_rss_bytes.map(|bytes| bytes as f64);
            let others = [
                ("aes_over_reference_ntt", run.aes_over_reference_ntt),
                ("peak_rss_bytes", memory),
                ("wall_seconds", run.wall_seconds),
            ];
            for (name, value) in others {
                value.iter().for_each(|&value| sample(name, value));
            }
        }
        // measured once, in one of the repetitions
        let measured = runs.iter().find(|run| run.has_measured_noise());
        let measured = measured.map(|run| run.rounds.clone());
        runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let middle = runs.len().checked_sub(1)? / 2;
        let mut run = runs.swap_remove(middle);
        for (name, value) in run.times() {
            *value = samples.get(name).map(|values| median(values));
        }
        for (round, from) in run.rounds.iter_mut().zip(measured.iter().flatten()) {
            round.measured_noise_bits = from.measured_noise_bits;
        }
        run.samples = samples;
        Some(run)
    }

    /// Whether the noise after every round was measured.
    #[must_use]
    pub fn has_measured_noise(&self) -> bool {
        let mut rounds = self.rounds.iter();
        rounds.any(|round| round.measured_noise_bits.is_some())
    }
}

/// The middle one of the values, which must be numbers; the lower of two; 0 of none.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let middle = values.len().saturating_sub(1) / 2;
    values.get(middle).copied().unwrap_or(0.0)
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

/// A document, of any of the three kinds.
#[derive(Debug, Clone, PartialEq)]
pub enum Document {
    /// `homaes bench all --json`
    Lab(Box<Lab>),
    /// `homaes bench SCHEME --json`
    Run(Box<Run>),
    /// `homaes transcipher --report`
    Own(Box<Run>),
}

/// What is wrong with a document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// It is no JSON.
    #[error("not JSON: {0}")]
    Json(serde_json::Error),
    /// It is JSON of something else.
    #[error(
        "found JSON without 'runs', 'seconds_per_batch' or 'report', expected a document of 'homaes bench --json' or 'homaes transcipher --report'"
    )]
    Kind,
    /// A field is missing or has another type.
    #[error("{kind}: {source}")]
    Field {
        /// What it is.
        kind: &'static str,
        /// The field.
        source: serde_json::Error,
    },
    /// A figure that pages divide by, or take the logarithm of.
    #[error("run {run}: {field} is {found}, expected more than 0")]
    Value {
        /// Which run.
        run: String,
        /// The field.
        field: &'static str,
        /// Its value.
        found: f64,
    },
    /// Somebody wrote it: runs with a wrong byte give no document.
    #[error("run {run} is marked as not correct; figures of wrong results are not shown")]
    Wrong {
        /// Which run.
        run: String,
    },
}

impl DocumentError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Json(_) | Self::Kind => {
                "give a file that 'homaes bench … --json' or 'homaes transcipher --report' wrote"
            }
            Self::Field { .. } | Self::Value { .. } | Self::Wrong { .. } => {
                "it was changed, or written by another version: measure again"
            }
        }
    }
}

/// Reads a document.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn read(text: &str) -> Result<Document, DocumentError> {
    let value: Value = serde_json::from_str(text).map_err(DocumentError::Json)?;
    let has = |field: &str| value.get(field).is_some();
    let (runs, lab, report) = (has("runs"), "result of 'bench all'", has("report"));
    if runs {
        let lab: Lab = typed(lab, value)?;
        lab.runs.iter().try_for_each(check)?;
        return Ok(Document::Lab(Box::new(lab)));
    }
    if report {
        let own: Own = typed("report of 'transcipher'", value)?;
        let run = own.run();
        check(&run)?;
        return Ok(Document::Own(Box::new(run)));
    }
    if !has("seconds_per_batch") {
        return Err(DocumentError::Kind);
    }
    let run: Run = typed("result of 'bench'", value)?;
    check(&run)?;
    Ok(Document::Run(Box::new(run)))
}

fn typed<T: for<'d> Deserialize<'d>>(kind: &'static str, value: Value) -> Result<T, DocumentError> {
    serde_json::from_value(value).map_err(|source| DocumentError::Field { kind, source })
}

/// Refuses figures that no run gives.
fn check(run: &Run) -> Result<(), DocumentError> {
    if !run.correct {
        return Err(DocumentError::Wrong { run: run.name() });
    }
    let positive = [
        ("seconds", run.seconds),
        ("seconds_per_batch", run.seconds_per_batch),
        ("ms_per_block", run.ms_per_block),
        ("threads", run.threads as f64),
        ("blocks", run.blocks as f64),
    ];
    let optional = [
        ("latency_seconds", run.latency_seconds),
        ("aes_over_reference_ntt", run.aes_over_reference_ntt),
        ("reference_ntt_ns", run.reference_ntt_ns),
    ];
    let optional = optional
        .into_iter()
        .filter_map(|(field, value)| Some((field, value?)));
    for (field, found) in positive.into_iter().chain(optional) {
        if !(found > 0.0 && found.is_finite()) {
            let run = run.name();
            return Err(DocumentError::Value { run, field, found });
        }
    }
    Ok(())
}

/// What `homaes transcipher --report` writes, as far as pages show it.
#[derive(Debug, Deserialize)]
struct Own {
    version: String,
    set: String,
    purpose: String,
    direction: String,
    expansion: String,
    aes_key_bits: u32,
    report: OwnReport,
}

#[derive(Debug, Deserialize)]
struct OwnReport {
    layout: String,
    bytes: u64,
    blocks: u64,
    batches: u64,
    threads: usize,
    setup_seconds: f64,
    seconds: f64,
    seconds_per_round: Vec<f64>,
    steps: Vec<Round>,
    transforms: u64,
    rotations: u64,
    counts: BTreeMap<String, u64>,
    stage_seconds: BTreeMap<String, f64>,
    noise_bits: Option<f64>,
    capacity_bits: Option<f64>,
    file_bytes: u64,
}

impl Own {
    fn run(self) -> Run {
        let report = self.report;
        let all: f64 = report.stage_seconds.values().sum();
        let stages = report.stage_seconds.into_iter();
        Run {
            set: self.set,
            purpose: self.purpose,
            version: self.version,
            layout: report.layout,
            key_bits: self.aes_key_bits,
            direction: self.direction,
            expansion: self.expansion,
            threads: report.threads,
            blocks: report.blocks,
            blocks_per_batch: report.blocks.div_ceil(report.batches.max(1)),
            batches: report.batches,
            setup_seconds: report.setup_seconds,
            seconds: report.seconds,
            seconds_per_batch: report.seconds / report.batches as f64,
            seconds_per_round: report.seconds_per_round,
            ms_per_block: report.seconds * 1e3 / report.blocks as f64,
            rounds: report.steps,
            transforms: report.transforms,
            rotations: report.rotations,
            counts: report.counts,
            stages: stages
                .map(|(name, seconds)| (name, if all > 0.0 { seconds / all } else { 0.0 }))
                .collect(),
            busy: all / (report.seconds * report.threads as f64),
            noise_bits: report.noise_bits,
            capacity_bits: report.capacity_bits,
            ciphertext_bytes: report.file_bytes,
            ciphertext_bytes_per_byte: report.file_bytes as f64 / report.bytes as f64,
            // nobody looked: there is no secret key where it was made
            correct: true,
            ..Run::default()
        }
    }
}
