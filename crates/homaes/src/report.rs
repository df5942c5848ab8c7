//! What a run measured, and how far it is.

use crate::evaluate::Evaluated;
use homaes_bgv::MeterReading;

/// Where a run stands: sent after the key addition and after each round of each batch.
///
/// Batches run side by side, so events of several batches interleave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Number of the batch, from 0.
    pub batch: u64,
    /// Batches of the file.
    pub batches: u64,
    /// Round just done, 0 for the initial key addition.
    pub round: usize,
    /// Rounds of the cipher.
    pub rounds: usize,
}

/// What a run did and measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Bytes of the message.
    pub bytes: u64,
    /// AES blocks.
    pub blocks: u64,
    /// Batches.
    pub batches: u64,
    /// Worker threads.
    pub threads: usize,
    /// Wall-clock seconds of evaluating and writing, after keys were loaded and before the file is synchronised.
    pub seconds: f64,
    /// Seconds per round of one batch, averaged over batches; entry 0 is the initial key addition with the encoding of
    /// the counters.
    pub round_seconds: Vec<f64>,
    /// Ring transforms of one limb.
    pub transforms: u64,
    /// Processor seconds by kernel group, summed over threads.
    pub stages: Vec<(&'static str, f64)>,
    /// Level of the results; `None` for an empty message.
    pub level: Option<usize>,
    /// Least bits between noise and failure over all results; `None` for an empty message.
    pub capacity_bits: Option<f64>,
    /// Size of the output file.
    pub file_bytes: u64,
}

impl Report {
    /// Adds one evaluated batch.
    pub(crate) fn add(&mut self, batch: &Evaluated) {
        let (level, capacity_bits) = batch.quality;
        self.batches += 1;
        self.level = Some(self.level.map_or(level, |least| least.min(level)));
        self.capacity_bits = Some(
            self.capacity_bits
                .map_or(capacity_bits, |least| least.min(capacity_bits)),
        );
        // A running mean over the batches.
        self.round_seconds.resize(batch.round_seconds.len(), 0.0);
        for (mean, &seconds) in self.round_seconds.iter_mut().zip(&batch.round_seconds) {
            *mean += (seconds - *mean) / self.batches as f64;
        }
    }

    /// Takes what the kernels counted between two readings.
    pub(crate) fn count(&mut self, before: &MeterReading, after: &MeterReading) {
        self.transforms = after.transforms - before.transforms;
        self.stages = after
            .seconds
            .iter()
            .zip(&before.seconds)
            .map(|(&(name, after), (_, before))| (name, after - before))
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_averaged_and_the_worst_quality_kept() {
        let mut report = Report::default();
        for (index, bits) in [9.0, 7.0, 8.0].into_iter().enumerate() {
            report.add(&Evaluated {
                index: index as u64,
                record: Vec::new(),
                quality: (1, bits),
                round_seconds: vec![bits, 2.0],
            });
        }
        assert_eq!(report.batches, 3);
        assert_eq!((report.level, report.capacity_bits), (Some(1), Some(7.0)));
        assert_eq!(report.round_seconds, [8.0, 2.0]);
    }
}
