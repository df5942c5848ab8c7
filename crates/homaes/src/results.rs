//! The content of `.hct` and `.hlw` files.
//!
//! | module | content |
//! |---|---|
//! | `meta` | the records other than ciphertexts |
//! | `ciphertexts` | the ciphertexts, batch by batch, from any source |
//! | `report` | the measurements of a run |

pub(crate) mod ciphertexts;
pub(crate) mod meta;
pub(crate) mod report;

pub use ciphertexts::{Batch, Batches, Ciphertexts};
pub use meta::Meta;
pub use report::{Measured, Progress, Report, Share, Stages, Step};
