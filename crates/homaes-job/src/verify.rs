//! Verification of a job's shards.

use crate::error::{JobError, Result, check};
use crate::job::Job;
use crate::worker::Worker;
use homaes::Cancel;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Result of a verification.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Verified {
    /// Shards that exist and are right so far.
    pub shards: u64,
    /// Shards that were evaluated again and compared.
    pub evaluated: u64,
    /// Missing shards.
    pub missing: u64,
    /// Wrong shards, with what is wrong.
    pub wrong: Vec<(u64, JobError)>,
}

impl Job {
    /// Verifies checksums and identity of all existing shards until `cancel` is thrown. The result lists wrong shards.
    pub fn verify(&self, cancel: &Cancel) -> Result<Verified> {
        Ok(self.verified(cancel)?.0)
    }

    /// As [`verify`](Self::verify), and the numbers of the right shards.
    fn verified(&self, cancel: &Cancel) -> Result<(Verified, Vec<u64>)> {
        let (mut verified, mut right) = (Verified::default(), Vec::new());
        for number in 0..self.shards() {
            check(cancel)?;
            match self.check(number) {
                Ok(true) => right.push(number),
                Ok(false) => verified.missing += 1,
                Err(JobError::Store(error)) => return Err(error.into()),
                Err(wrong) => verified.wrong.push((number, wrong)),
            }
        }
        verified.shards = right.len() as u64;
        Ok((verified, right))
    }
}

impl Worker<'_> {
    /// As [`Job::verify`]; then evaluates a random `share` of the right shards again, at least one, and compares. This
    /// finds what a faulty processor computed or somebody forged with right checksums.
    pub fn verify(&self, share: f64) -> Result<Verified> {
        let (mut verified, mut right) = self.job.verified(&self.cancel)?;
        let wanted = (share.clamp(0.0, 1.0) * right.len() as f64).ceil() as usize;
        let random = RandomState::new();
        let draw = |number: &u64| {
            let mut hasher = random.build_hasher();
            hasher.write_u64(*number);
            hasher.finish()
        };
        right.sort_by_cached_key(draw);
        right.truncate(wanted.max(1));
        for number in right {
            check(&self.cancel)?;
            let (bytes, _) = self.evaluate(number)?;
            verified.evaluated += 1;
            if self.job.read(number)?.as_ref() != Some(&bytes) {
                verified.wrong.push((number, self.differs(number)));
            }
        }
        verified.wrong.sort_by_key(|&(number, _)| number);
        Ok(verified)
    }
}
