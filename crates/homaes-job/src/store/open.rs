//! From a place to its store.

use crate::store::{Local, Location, Store, StoreError};
use std::sync::Arc;

/// The objects below a place.
///
/// # Errors
/// [`StoreError::Location`] for a bucket in a build without feature `s3`; [`StoreError::Service`] if the environment does not lead to the bucket. The
/// store itself is not asked: it need not be there yet.
pub fn open(location: &Location) -> Result<Arc<dyn Store>, StoreError> {
    match location {
        Location::Local(folder) => Ok(Arc::new(Local::new(folder))),
        #[cfg(feature = "s3")]
        Location::S3 { bucket, key } => Ok(Arc::new(crate::store::S3::from_env(bucket, key)?)),
        #[cfg(not(feature = "s3"))]
        Location::S3 { .. } => Err(StoreError::Location {
            location: location.to_string(),
            why: "this build has no object stores; take one with feature s3, or a folder",
        }),
    }
}
