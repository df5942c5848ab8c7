//! Objects by name, in a folder, in memory, or in a bucket: what the files of a job need, wherever they are.
//!
//! A [`Store`] holds whole objects. [`Store::create`] writes one that is not there yet, so that of many writers of one name the first wins and every
//! other one is told: that is how workers who know nothing of each other share a job. [`cached`] keeps a copy of a large object on this machine, under
//! its digest.
//!
//! ```
//! use homaes_job::store::{Created, Location, open};
//! # fn main() -> Result<(), homaes_job::store::StoreError> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path();
//! let store = open(&Location::Local(folder.to_owned()))?;
//! assert_eq!(store.create("shards/000017", b"first")?, Created::New);
//! assert_eq!(store.create("shards/000017", b"second")?, Created::Existed);
//! assert_eq!(store.read("shards/000017", 100)?.as_deref(), Some(&b"first"[..]));
//! assert_eq!(store.list("shards")?.objects, [("shards/000017".to_owned(), 5)]);
//! # Ok(())
//! # }
//! ```

mod cache;
mod error;
mod local;
mod location;
mod memory;
mod objects;
mod open;
#[cfg(feature = "s3")]
mod s3;

pub use cache::cached;
pub use error::StoreError;
pub use homaes_wire::cache_folder;
pub use local::Local;
pub use location::Location;
pub use memory::Memory;
pub use objects::{Created, Listing, Store};
pub use open::open;
#[cfg(feature = "s3")]
pub use s3::S3;

#[cfg(test)]
mod tests;
