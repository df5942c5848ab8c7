//! Programs on encrypted data: files of values that a program computed, totals of columns of results, and the search
//! for public patterns.

mod columns;
pub(crate) mod computed;
mod scan;
mod totals;

pub use columns::{Column, Condition, Test};
pub use computed::{Computed, Numbers, ValueMeta};
pub use scan::Scan;
pub use totals::{Total, Totals};
