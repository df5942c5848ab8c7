//! The measurements and the progress of a run.

use crate::{Gpu, Quality, Scheme};
use homaes_aes::Layout;
use homaes_scheme::{Reading, log2_p_any};

/// One step of AES: the initial key addition, or a round.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// Wall-clock seconds. Step 0 includes encoding the public blocks.
    pub seconds: f64,
    /// The quality after the step.
    pub quality: Quality,
}

/// One step of AES, with noise measured by the secret key.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Measured {
    /// The scheme's estimate or bound, as in every run.
    pub quality: Quality,
    /// The measured counterpart of [`Quality::noise_bits`] in `quality`.
    pub noise_bits: f64,
}

/// Progress of a run, sent after the key addition and after each round of each batch.
///
/// Batches may run in parallel, so events of several batches interleave.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Number of the batch, from 0.
    pub batch: u64,
    /// Batches of the file.
    pub batches: u64,
    /// The finished round, 0 for the initial key addition.
    pub round: usize,
    /// Rounds of the cipher.
    pub rounds: usize,
    /// Time and quality of the round.
    pub step: Step,
}

/// Wall-clock seconds by kernel group, summed over threads.
pub type Stages = Vec<(&'static str, f64)>;

/// A device's share of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Share {
    /// `cpu`, or `cuda:` and the number of a GPU.
    pub device: String,
    /// The name of the GPU.
    pub name: Option<String>,
    /// Batches.
    pub batches: u64,
    /// Wall-clock seconds from public blocks to records, summed over the batches; on GPUs two batches are in flight at
    /// once.
    pub seconds: f64,
}

/// The measurements of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The scheme.
    pub scheme: Scheme,
    /// The layout of bytes in the ciphertexts.
    pub layout: Layout,
    /// Bytes of the message.
    pub bytes: u64,
    /// AES blocks.
    pub blocks: u64,
    /// Batches.
    pub batches: u64,
    /// Batches that earlier runs finished.
    pub resumed: u64,
    /// Worker threads.
    pub threads: usize,
    /// Wall-clock seconds of preparing the circuit. TFHE expands the AES key here unless the client did, BGV a compact
    /// wrapped key; about 0 if an earlier run prepared the circuit.
    pub setup_seconds: f64,
    /// Wall-clock seconds of evaluating and writing, without loading keys, preparing the circuit and synchronising the
    /// file.
    pub seconds: f64,
    /// The steps of AES, 0 for the initial key addition: seconds averaged over the batches, the worst quality of any.
    /// Empty for an empty message.
    pub steps: Vec<Step>,
    /// The scheme's counters, such as `transforms` (of one limb in BGV, of one polynomial in TFHE), `rotations` (TFHE),
    /// `passes` and `relinearisations` (BGV in layout bits, and DGHV).
    pub counts: Vec<(&'static str, u64)>,
    /// Wall-clock seconds by kernel group, summed over threads.
    pub stages: Stages,
    /// The same for each of `steps`, summed over batches; empty if batches were evaluated in parallel.
    pub stages_by_step: Vec<Stages>,
    /// Batches of this run, by device.
    pub devices: Vec<Share>,
    /// The worst quality of this run's results; `None` without batches.
    pub quality: Option<Quality>,
    /// log2 of the bound on the probability that one batch decrypts wrongly, including a bridge.
    pub batch_log2_p_fail: f64,
    /// Size of the output file.
    pub file_bytes: u64,
}

impl Report {
    pub(crate) fn new(scheme: Scheme, layout: Layout) -> Self {
        Self {
            scheme,
            layout,
            bytes: 0,
            blocks: 0,
            batches: 0,
            resumed: 0,
            threads: 0,
            setup_seconds: 0.0,
            seconds: 0.0,
            steps: Vec::new(),
            counts: Vec::new(),
            stages: Vec::new(),
            stages_by_step: Vec::new(),
            devices: Vec::new(),
            quality: None,
            batch_log2_p_fail: f64::NEG_INFINITY,
            file_bytes: 0,
        }
    }

    /// log2 of the bound on the probability that any of the batches decrypts wrongly; `None` for an empty message.
    #[must_use]
    pub fn log2_p_fail(&self) -> Option<f64> {
        log2_p_any(self.batch_log2_p_fail, self.batches)
    }

    pub(crate) fn add(&mut self, quality: Quality, steps: &[Step]) {
        self.batches += 1;
        self.quality = Some(Quality::worst_of(self.quality, quality));
        worst(&mut self.steps, steps);
        for (sum, step) in self.steps.iter_mut().zip(steps) {
            // a running mean over the batches
            sum.seconds += (step.seconds - sum.seconds) / self.batches as f64;
        }
    }

    /// Adds a batch evaluated by a GPU, or else by the processor.
    pub(crate) fn add_device(&mut self, gpu: Option<&Gpu>, seconds: f64) {
        let device = gpu.map_or_else(|| "cpu".to_owned(), |gpu| format!("cuda:{}", gpu.number));
        let at = self.devices.iter().position(|share| share.device == device);
        let at = at.unwrap_or_else(|| {
            self.devices.push(Share {
                device,
                name: gpu.map(|gpu| gpu.name.clone()),
                batches: 0,
                seconds: 0.0,
            });
            self.devices.len() - 1
        });
        let share = &mut self.devices[at];
        share.batches += 1;
        share.seconds += seconds;
    }

    /// Adds the kernels' seconds in each step of a batch evaluated alone.
    pub(crate) fn add_stages(&mut self, steps: &[Stages]) {
        if self.stages_by_step.is_empty() {
            self.stages_by_step = steps.to_vec();
            return;
        }
        for (sums, stages) in self.stages_by_step.iter_mut().zip(steps) {
            for ((_, sum), (_, seconds)) in sums.iter_mut().zip(stages) {
                *sum += seconds;
            }
        }
    }

    /// Takes the counters between two readings.
    pub(crate) fn take(&mut self, before: &Reading, after: &Reading) {
        let Reading { counts, seconds } = after.since(before);
        (self.counts, self.stages) = (counts, seconds);
    }

    /// One of [`counts`](Self::counts); 0 if the scheme lacks it.
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        let mut counts = self.counts.iter();
        let found = counts.find(|(found, _)| *found == name);
        found.map_or(0, |&(_, count)| count)
    }
}

/// Gives each step the worse quality of `steps` and `other`; copies the steps of `other` if there are none yet.
pub(crate) fn worst(steps: &mut Vec<Step>, other: &[Step]) {
    if steps.is_empty() {
        steps.extend_from_slice(other);
    }
    for (step, other) in steps.iter_mut().zip(other) {
        step.quality = step.quality.worst(other.quality);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_averaged_and_the_worst_quality_kept() {
        let mut report = Report::new(Scheme::Bgv, Layout::Sliced);
        for (index, bits) in [9.0, 7.0, 8.0].into_iter().enumerate() {
            let quality = Quality {
                level: 1 + index,
                noise_bits: 20.0 - bits,
                capacity_bits: bits,
            };
            let step = |seconds| Step { seconds, quality };
            report.add(quality, &[step(bits), step(2.0)]);
        }
        let worst = Quality {
            level: 1,
            noise_bits: 13.0,
            capacity_bits: 7.0,
        };
        assert_eq!((report.batches, report.quality), (3, Some(worst)));
        let step = |seconds| Step {
            seconds,
            quality: worst,
        };
        assert_eq!(report.steps, [step(8.0), step(2.0)]);
        assert_eq!(worst.multiplications_left(), 0);
    }
}
