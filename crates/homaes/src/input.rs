//! The input of a run: AES ciphertexts from files or memory, checked and cut into batches.
//!
//! | module | content |
//! |---|---|
//! | `source` | bytes read by offset |
//! | `aes_input` | one part or many that share batches, checked before any work starts |
//! | `part_meta` | public properties of a part: name, mode, tag, associated data |
//! | `counters` | finds parts that would encrypt blocks with the same counter |
//! | `split`, `batch` | the batches and their blocks |
//! | `places` | the same for parts under many AES keys |

pub(crate) mod aes_input;
pub(crate) mod batch;
mod counters;
pub(crate) mod part_meta;
pub(crate) mod places;
pub(crate) mod source;
pub(crate) mod split;

pub use aes_input::{AesFile, AesInput};
pub use part_meta::{MAX_AAD_BYTES, PartKey, PartMeta};
pub use source::{FileSource, Memory, Reopened, Source};
pub use split::Split;
