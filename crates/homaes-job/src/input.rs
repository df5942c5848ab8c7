//! Message parts by location.

use crate::error::Result;
use crate::store::{Location, Store, StoreError};
use homaes::Source;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file or object that is opened when read, so that a worker opens only the parts of its shard.
pub(crate) struct Object {
    name: PathBuf,
    bytes: u64,
    place: Place,
}

enum Place {
    File,
    Store(Arc<dyn Store>, String),
}

impl Object {
    /// The object at a location, expected to have `bytes` bytes.
    pub(crate) fn new(location: &Location, bytes: u64) -> Result<Self> {
        let (name, place) = match location {
            Location::Local(path) => (path.clone(), Place::File),
            Location::S3 { .. } => {
                let (store, name) = split(location)?;
                (location.to_string().into(), Place::Store(store, name))
            }
        };
        Ok(Self { name, bytes, place })
    }
}

pub(crate) fn split(location: &Location) -> Result<(Arc<dyn Store>, String)> {
    let none = || StoreError::Missing {
        name: location.to_string(),
    };
    let (folder, name) = location.split().ok_or_else(none)?;
    Ok((crate::store::open(&folder)?, name.to_owned()))
}

/// The file or object at a location, as a source of message parts. Fails if it is missing.
pub fn open_source(location: &Location) -> Result<impl Source + 'static> {
    let bytes = match location {
        Location::Local(path) => {
            let error = |source| homaes::Error::Io {
                path: path.clone(),
                source,
            };
            let found = fs::metadata(path).map_err(error)?;
            if !found.is_file() {
                return Err(error(not_regular()).into());
            }
            found.len()
        }
        Location::S3 { .. } => {
            let (store, name) = split(location)?;
            let missing = || StoreError::Missing {
                name: location.to_string(),
            };
            store.bytes(&name)?.ok_or_else(missing)?
        }
    };
    Object::new(location, bytes)
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

impl Source for Object {
    fn name(&self) -> &Path {
        &self.name
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        match &self.place {
            Place::File => {
                // opening a pipe would wait for its writer
                if !fs::metadata(&self.name)?.is_file() {
                    return Err(not_regular());
                }
                homaes_wire::read_exact_at(&File::open(&self.name)?, into, offset)
            }
            Place::Store(store, name) => {
                store
                    .read_at(name, offset, into)
                    .map_err(|error| match error {
                        StoreError::TooShort { .. } => io::ErrorKind::UnexpectedEof.into(),
                        error => io::Error::other(error),
                    })
            }
        }
    }

    fn is_whole(&self) -> io::Result<bool> {
        match &self.place {
            Place::File => Ok(fs::metadata(&self.name)?.len() == self.bytes),
            Place::Store(store, name) => match store.bytes(name) {
                Ok(found) => Ok(found == Some(self.bytes)),
                Err(error) => Err(io::Error::other(error)),
            },
        }
    }
}
