use crate::store::{Local, Location, Store, StoreError};
use std::sync::Arc;

/// The store at a location, which is not contacted and need not exist yet.
///
/// # Errors
/// [`StoreError::Location`] for a bucket in a build without feature `s3`; [`StoreError::Service`] if the environment
/// does not describe access to the bucket.
pub fn open(location: &Location) -> Result<Arc<dyn Store>, StoreError> {
    match location {
        Location::Local(folder) => Ok(Arc::new(Local::new(folder))),
        #[cfg(feature = "s3")]
        Location::S3 { bucket, key } => Ok(Arc::new(crate::store::S3::from_env(bucket, key)?)),
        #[cfg(not(feature = "s3"))]
        Location::S3 { .. } => Err(StoreError::Location {
            location: location.to_string(),
            why: "this build has no object stores; use one with feature s3, or a folder",
        }),
    }
}
