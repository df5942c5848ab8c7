//! Runs turn keys and a message into a file of results, whole, in shards for many workers, or resumed after a stop.
//!
//! | module | content |
//! |---|---|
//! | `evaluate` | the pipeline, batch by batch: start reading here |
//! | `transcipher` | a run from file to file |
//! | `plan` | the file that a run will write, known before it starts |
//! | `resume` | runs that continue after a stop |
//! | `shard` | batches evaluated separately, and the file they form |
//! | `finish` | the same results for decryption alone |

mod evaluate;
mod finish;
mod plan;
mod resume;
mod shard;
mod transcipher;

pub use plan::{Plan, RunId};
pub use resume::{Kept, Resume, done_path, journal_path, part_path, unfinished};
pub use shard::{Fetch, Merge, Shard, ShardName};
pub use transcipher::Transcipher;
