//! Which shards of a job exist.

use crate::error::{Result, refused};
use crate::job::{Job, SHARDS};
use homaes::ErrorKind;
use std::ops::Range;

/// The state of a job's shards.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// All shards.
    pub shards: u64,
    /// All batches.
    pub batches: u64,
    /// Shards that exist with the right length.
    pub present: Vec<Range<u64>>,
    /// Shards that exist with a wrong length, and that length; 0 for something other than a file.
    pub wrong: Vec<(u64, u64)>,
    /// Other names among the shards; they are ignored.
    pub others: Vec<String>,
    /// Shards in work; 0 where unknown, as in a bucket.
    pub claimed: u64,
    /// Bytes of the shards that exist.
    pub bytes: u64,
}

impl Status {
    /// Number of complete shards.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.present
            .iter()
            .map(|range| range.end - range.start)
            .sum()
    }

    /// Number of missing or incomplete shards.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.shards - self.done()
    }

    /// Whether shard `number` is complete.
    #[must_use]
    pub fn has(&self, number: u64) -> bool {
        let after = self.present.partition_point(|range| range.end <= number);
        self.present
            .get(after)
            .is_some_and(|range| range.contains(&number))
    }
}

impl Job {
    /// The state of the shards; `ErrorKind::NoJob` or `ErrorKind::OtherJob` if the job is gone.
    pub fn status(&self) -> Result<Status> {
        self.check_there()?;
        self.look()
    }

    /// As [`status`](Self::status); fails if a shard has a wrong length.
    pub(crate) fn sound_status(&self) -> Result<Status> {
        let status = self.status()?;
        if let Some(&(number, _)) = status.wrong.first() {
            // returns what is wrong with it
            self.has(number)?;
        }
        Ok(status)
    }

    /// Fails if any of the job's shards are missing.
    pub(crate) fn check_missing(&self, missing: u64) -> Result<()> {
        if missing == 0 {
            return Ok(());
        }
        let message = format!("{missing} of {} shards are missing", self.shards());
        let error = refused(ErrorKind::Incomplete, self.location.to_string(), &message);
        Err(error.with(missing, 0_u64).into())
    }

    /// As [`status`](Self::status), for a plan that may not be written yet.
    pub(crate) fn look(&self) -> Result<Status> {
        let mut numbers = Vec::new();
        let (mut wrong, mut others, mut bytes) = (Vec::new(), Vec::new(), 0);
        let listing = self.store.list(SHARDS)?;
        for (name, found) in listing.objects {
            match self.number_of(&name) {
                Some(number) if found == self.shard_bytes(number) => numbers.push(number),
                Some(number) => wrong.push((number, found)),
                None => {
                    // within a folder that has the name of a shard
                    let end = name.match_indices('/').nth(1).map_or(0, |(end, _)| end);
                    wrong.extend(self.number_of(&name[..end]).map(|number| (number, 0)));
                    others.push(name);
                    continue;
                }
            }
            bytes += found;
        }
        for name in listing.others {
            match self.number_of(&name) {
                // not a file, but has the name of a shard
                Some(number) => wrong.push((number, 0)),
                None => others.push(name),
            }
        }
        wrong.sort_unstable();
        wrong.dedup();
        numbers.sort_unstable();
        let mut present: Vec<Range<u64>> = Vec::new();
        for number in numbers {
            match present.last_mut() {
                Some(last) if last.end == number => last.end += 1,
                _ => present.push(number..number + 1),
            }
        }
        let claims = self.store.folder().map(crate::claim::held);
        Ok(Status {
            shards: self.shards(),
            batches: self.batches(),
            present,
            wrong,
            others,
            claimed: claims.unwrap_or(0),
            bytes,
        })
    }

    /// The number of a shard's object.
    fn number_of(&self, name: &str) -> Option<u64> {
        let number = name.strip_prefix(SHARDS)?.strip_prefix('/')?;
        let number = number.strip_suffix(".hcs")?.parse().ok()?;
        (number < self.shards() && name == Self::object(number)).then_some(number)
    }
}
