//! Converts `.hlw` files to values of the crate `tfhe` (feature `tfhe-rs`).

use crate::bridge::crossed_file::CrossedFile;
use crate::bridge::values_log2_p_fail;
use crate::error::At;
use crate::machine::disk;
use crate::machine::pool::Pool;
use crate::output::folder_of;
use crate::{Error, ErrorKind, Output, Result, Set};
use homaes_bridge::{Numbers, decode_lwes};
use homaes_wire::{Kind, Reader};
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::Path;
use tfhe::safe_serialization::{safe_deserialize, safe_serialize};
use tfhe::{ClientKey, FheUint8};
use zeroize::Zeroizing;

/// A serialised value has 65,560 words and a description.
const VALUE_BYTES: u64 = 1 << 20;

const CLIENT_KEY_BYTES: u64 = 1 << 28;

/// Reads a client key written by `tfhe::safe_serialization::safe_serialize`.
///
/// # Errors
/// [`Error::Io`]; [`Error::Keys`] if the file holds something else.
pub fn read_client_key(path: impl AsRef<Path>) -> Result<ClientKey> {
    let path = path.as_ref();
    let other = || {
        let message = "not a client key of the crate tfhe 1.8, written by safe_serialize";
        Error::refused(ErrorKind::Damaged, message).at(path)
    };
    let mut file = File::open(path).at(path)?;
    let bytes = file.metadata().at(path)?;
    if !bytes.is_file() || bytes.len() > CLIENT_KEY_BYTES {
        return Err(other());
    }
    // allocated at its full length: a growing vector leaves copies
    let mut bytes = Zeroizing::new(vec![0; bytes.len() as usize]);
    file.read_exact(&mut bytes).at(path)?;
    // errors of `tfhe` about a damaged key quote the key
    let mut rest: &[u8] = &bytes;
    let key = safe_deserialize(&mut rest, CLIENT_KEY_BYTES);
    let key = key.map_err(|reason| {
        drop(Zeroizing::new(reason));
        other()
    })?;
    match rest {
        [] => Ok(key),
        _ => Err(other()),
    }
}

/// The result of [`export_fheuint8`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Exported {
    /// Number of values.
    pub values: u64,
    /// log2 of the bound on the probability that any value is wrong or has too much noise for a first bootstrap; `None`
    /// without values.
    pub log2_p_fail: Option<f64>,
}

/// Writes bytes of the message in the `.hlw` file `path` as `tfhe::FheUint8` values, one
/// `tfhe::safe_serialization::safe_serialize` after the other. `part` selects a part by name, `range` some of the
/// bytes. Calls `tick` with the bytes done and all bytes.
///
/// # Errors
/// The first fault of the file, or `ErrorKind::Argument`; `output` then does not appear.
pub fn export_fheuint8(
    path: impl AsRef<Path>,
    part: Option<&str>,
    range: Option<Range<u64>>,
    mut output: Output,
    tick: &mut dyn FnMut(u64, u64),
) -> Result<Exported> {
    let path = path.as_ref();
    let serialised = |value: FheUint8| {
        let mut out = Vec::new();
        let written = safe_serialize(&value, &mut out, VALUE_BYTES);
        written.map_err(|reason| Error::io(path, io::Error::other(reason)))?;
        Ok(out)
    };
    let (mut done, mut all) = (0, 0);
    let log2_p_fail = each(path, part, range, serialised, &mut |parts, count| {
        if let Some(part) = parts.first().filter(|_| done == 0) {
            let bytes = count.saturating_mul(part.len() as u64);
            disk::check(folder_of(output.path()), bytes)?;
        }
        for part in &parts {
            output.write_all(part).at(output.path())?;
        }
        (done, all) = (done + parts.len() as u64, count);
        tick(done, all);
        Ok(())
    })?;
    output.commit()?;
    Ok(Exported {
        values: done,
        log2_p_fail,
    })
}

/// The bytes `range` of the message in the `.hlw` file `path`, or of the named part, as values of 66 KB each.
///
/// # Errors
/// The first fault of the file, or `ErrorKind::Argument`.
pub fn read_fheuint8(
    path: impl AsRef<Path>,
    part: Option<&str>,
    range: Range<u64>,
) -> Result<Vec<FheUint8>> {
    let mut out = Vec::new();
    each(path.as_ref(), part, Some(range), Ok, &mut |values, _| {
        out.extend(values);
        Ok(())
    })?;
    Ok(out)
}

/// Applies `make` to each value and passes the results of each record, with the number of all, to `take`. Returns log2
/// of the bound on the probability that any value is wrong.
fn each<T: Send>(
    path: &Path,
    part: Option<&str>,
    range: Option<Range<u64>>,
    make: impl Fn(FheUint8) -> Result<T> + Sync,
    take: &mut dyn FnMut(Vec<T>, u64) -> Result<()>,
) -> Result<Option<f64>> {
    let reader = Reader::open(path, Kind::Values).at(path)?;
    let set = Set::of_file(path, reader.header().set())?;
    reader.check_set(set.name(), set.digest()).at(path)?;
    let mut values = CrossedFile::new(reader.boxed(), set.clone())?;
    let format = values.end.format().at(path)?;
    let split = values.meta().split;
    let part = values.meta().chosen(path, part)?;
    let (first, bytes) = (16 * part.first_block, part.bytes);
    let range = range.unwrap_or(0..bytes);
    if range.start > range.end || range.end > bytes {
        let Range { start, end } = range;
        let message = format!("found bytes {start} to {end}, expected a part of 0 to {bytes}");
        return Err(Error::refused(ErrorKind::Argument, message).at(path));
    }
    let range = first + range.start..first + range.end;
    let count = range.end - range.start;
    let blocks = range.start / 16..range.end.div_ceil(16);
    let log2_p_fail = values_log2_p_fail(&set, &values.end, blocks).filter(|_| count > 0);
    let pool = Pool::new(0);
    take(Vec::new(), count)?;
    let mut first = 0;
    // all records are read, because only then every checksum is verified
    while let Some(batch) = values.next()? {
        let own = first..first + split.batch_bytes(batch.index());
        first = own.end;
        let some = range.start.clamp(own.start, own.end)..range.end.clamp(own.start, own.end);
        if some.is_empty() {
            continue;
        }
        let lwes = decode_lwes(batch.bytes());
        // four blocks of as many words per byte
        let value = lwes.len() / (16 * batch.blocks());
        let block = value / Numbers::Pairs.count();
        let places = (some.start - own.start) as usize..(some.end - own.start) as usize;
        let some = &lwes[places.start * value..places.end * value];
        let made = |value: &[u64]| {
            let blocks = value.chunks_exact(block).map(<[u64]>::to_vec);
            let value = format.value(blocks);
            make(value.map_err(homaes_bridge::Error::from).at(path)?)
        };
        let made = pool.install(|| {
            some.par_chunks_exact(value)
                .map(made)
                .collect::<Result<_>>()
        });
        take(made?, count)?;
    }
    Ok(log2_p_fail)
}
