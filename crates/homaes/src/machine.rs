//! What the machine has to offer: threads, memory, space on disks.

pub(crate) mod disk;
pub(crate) mod memory;
pub(crate) mod pool;

pub use memory::{check_keys as check_memory, overwrite_stack};
pub use pool::Pool;
