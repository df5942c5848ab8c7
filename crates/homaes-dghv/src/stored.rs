//! The large records of an evaluation key, in memory or left in the file.

use crate::params::{LANES, LIMB};
use homaes_math::integer::Lanes;
use homaes_wire::{Stored, WireError, unpack_bits};
use rayon::prelude::*;

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

/// Rows from a record's body.
///
/// # Errors
/// If the body has another length.
pub(crate) fn unpack_lanes(body: &[u8]) -> Result<Vec<Lanes>, WireError> {
    let bytes = LANES * LIMB / 8;
    let mut out: Vec<Lanes> = vec![[0; LANES]; body.len() / bytes];
    // a few hundred KiB at a time
    let lot = 4096;
    let pairs = out.par_chunks_mut(lot).zip(body.par_chunks(lot * bytes));
    pairs.try_for_each(|(out, body)| unpack_bits(body, LIMB as u32, out.as_flattened_mut()))?;
    Ok(out)
}
