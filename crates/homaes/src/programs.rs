//! Programs on encrypted data: files of values that a program computed, and the search for public patterns.

pub(crate) mod computed;
mod scan;

pub use computed::{Computed, Numbers, ValueMeta};
pub use scan::Scan;
