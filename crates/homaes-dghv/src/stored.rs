//! The large records of an evaluation key, in memory or left in the file.

use crate::convert::unpack_lanes;
use homaes_math::integer::Lanes;
use homaes_wire::{Stored, WireError};

/// Records after the seed: by number as in [`Part`](crate::eval_key::Part).
pub(crate) enum Tiles {
    /// as the file has them
    Memory(Vec<Vec<u8>>),
    File(Stored),
}

impl Tiles {
    /// The body of a record.
    ///
    /// # Errors
    /// If the file has become unreadable or was changed.
    pub(crate) fn body(&self, record: usize) -> Result<Vec<u8>, WireError> {
        match self {
            Self::Memory(bodies) => Ok(bodies[record].clone()),
            Self::File(stored) => {
                let mut body = Vec::new();
                stored.read(record, &mut body)?;
                Ok(body)
            }
        }
    }

    /// The rows in a record.
    ///
    /// # Errors
    /// As [`body`](Self::body).
    pub(crate) fn lanes(&self, record: usize) -> Result<Vec<Lanes>, WireError> {
        match self {
            Self::Memory(bodies) => unpack_lanes(&bodies[record]),
            Self::File(_) => unpack_lanes(&self.body(record)?),
        }
    }
}
