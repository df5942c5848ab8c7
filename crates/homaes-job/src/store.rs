//! Objects by name, in a folder or in a bucket.
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
mod objects;
#[cfg(feature = "s3")]
mod s3;

pub use cache::cached;
pub use error::StoreError;
pub use homaes_wire::cache_folder;
pub use local::Local;
pub use location::Location;
pub use objects::{Created, Listing, Store};
#[cfg(feature = "s3")]
pub use s3::S3;

use std::sync::Arc;

#[cfg(test)]
mod tests;

/// The store at a location, which is not contacted and need not exist yet.
///
/// # Errors
/// [`StoreError::Location`] for a bucket in a build without feature `s3`; [`StoreError::Service`] if the environment
/// does not describe access to the bucket.
pub fn open(location: &Location) -> Result<Arc<dyn Store>, StoreError> {
    match location {
        Location::Local(folder) => Ok(Arc::new(Local::new(folder))),
        #[cfg(feature = "s3")]
        Location::S3 { bucket, key } => Ok(Arc::new(S3::from_env(bucket, key)?)),
        #[cfg(not(feature = "s3"))]
        Location::S3 { .. } => Err(StoreError::Location {
            location: location.to_string(),
            why: "this build has no object stores; use one with feature s3, or a folder",
        }),
    }
}
