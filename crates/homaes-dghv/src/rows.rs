//! Rows in the large records of an evaluation key.

use crate::params::{LANES, LIMB};
use homaes_math::integer::Lanes;
use homaes_wire::{WireError, unpack_bits};
use rayon::prelude::*;

/// Unpacks the rows of a record.
pub(crate) fn unpack_lanes(body: &[u8]) -> Result<Vec<Lanes>, WireError> {
    let bytes = LANES * LIMB / 8;
    let mut out: Vec<Lanes> = vec![[0; LANES]; body.len() / bytes];
    // a few hundred KiB per task
    let lot = 4096;
    let pairs = out.par_chunks_mut(lot).zip(body.par_chunks(lot * bytes));
    pairs.try_for_each(|(out, body)| unpack_bits(body, LIMB as u32, out.as_flattened_mut()))?;
    Ok(out)
}
