//! Runs: keys and a message in, a file of results out, whole, in parts that many workers evaluate, or resumed after a stop.
//!
//! | module | content |
//! |---|---|
//! | `evaluate` | the pipeline, batch by batch: the place to start reading |
//! | `transcipher` | a run from file to file |
//! | `plan` | the file that a run will write, known before it starts, and in the making |
//! | `resume` | runs that continue after a stop |
//! | `shard` | batches evaluated apart, and the file that all of them make |

mod evaluate;
mod plan;
mod resume;
mod shard;
mod transcipher;

pub use plan::{Plan, RunId};
pub use resume::{Kept, Resume, done_path, journal_path, part_path, unfinished};
pub use shard::{Fetch, Merge, Shard, ShardName};
pub use transcipher::Transcipher;
