//! Results: what stands in `.hct` and `.hlw` files, and how it is read.
//!
//! | module | content |
//! |---|---|
//! | `meta` | the records beside the ciphertexts |
//! | `ciphertexts` | the ciphertexts, batch by batch, from wherever they come |
//! | `report` | what a run measured |

pub(crate) mod ciphertexts;
pub(crate) mod meta;
pub(crate) mod report;

pub use ciphertexts::{Batch, Batches, Ciphertexts};
pub use meta::Meta;
pub use report::{Measured, Progress, Report, Share, Stages, Step};
