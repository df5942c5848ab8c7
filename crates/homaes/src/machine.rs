//! Threads, memory and disk space of the machine.

pub(crate) mod disk;
pub(crate) mod memory;
pub(crate) mod pool;

pub use disk::check as check_disk;
pub use memory::{check_keys as check_memory, overwrite_stack};
pub use pool::Pool;
