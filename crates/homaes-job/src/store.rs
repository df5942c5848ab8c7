//! Objects by name, in a folder, in memory or in a bucket.
//!
//! [`Store::create`] writes a whole object only if it does not exist yet: of several writers the first wins and the
//! others are told. So workers can share a job without knowing of each other. [`cached`] keeps a local copy of a large
//! object, named by its digest.
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
