//! From an `.hlw` file to values of the crate `tfhe`. Feature `tfhe-rs`.

use crate::pool::Pool;
use crate::values::Values;
use crate::{Error, Output, Result, SchemeError, Set};
use homaes_bridge::{Numbers, decode_lwes};
use homaes_wire::{Kind, Reader};
use rayon::prelude::*;
use std::io::{self, Write};
use std::path::Path;
use tfhe::ClientKey;
use tfhe::safe_serialization::{safe_deserialize, safe_serialize};

/// Most bytes of a serialised value: 65,560 words and what describes them.
const VALUE_BYTES: u64 = 1 << 20;

/// Most bytes of a serialised client key.
const CLIENT_KEY_BYTES: u64 = 1 << 28;

/// The client key in a file that `tfhe::safe_serialization::safe_serialize` wrote.
///
/// # Errors
/// [`Error::Io`]; [`Error::Keys`] if it holds something else.
pub fn read_client_key(path: impl AsRef<Path>) -> Result<ClientKey> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|source| Error::io(path, source))?;
    let bytes = zeroize::Zeroizing::new(bytes);
    safe_deserialize(&**bytes, CLIENT_KEY_BYTES).map_err(|reason| Error::ClientKey {
        path: path.to_owned(),
        reason,
    })
}

/// Writes the bytes of the message in the `.hlw` file `path` as `tfhe::FheUint8`, each by `tfhe::safe_serialization::safe_serialize`, one after the other; calls
/// `tick` with the bytes that are done and all.
///
/// # Errors
/// The first thing that is wrong with the file; `output` then does not appear.
pub fn export_fheuint8(
    path: impl AsRef<Path>,
    mut output: Output,
    tick: &mut dyn FnMut(u64, u64),
) -> Result<u64> {
    let path = path.as_ref();
    let error = |source| Error::file(path, source);
    let content = |error: homaes_bridge::Error| Error::content(path, SchemeError::of(error));
    let reader = Reader::open(path, Kind::Values).map_err(error)?;
    let set = Set::of_file(path, reader.header().set())?;
    reader.check_set(set.name(), set.digest()).map_err(error)?;
    let mut values = Values::new(reader, set)?;
    let format = values.user.format().map_err(content)?;
    let split = values.meta().split;
    let pool = Pool::new(0);
    let mut done = 0;
    tick(done, split.bytes);
    while let Some(batch) = values.next()? {
        let used = split.batch_bytes(batch.index) as usize;
        let lwes = decode_lwes(&batch.body);
        // four blocks of as many words a byte
        let value = lwes.len() / (16 * batch.shape.blocks);
        let block = value / Numbers::Pairs.count();
        let serialised = |value: &[u64]| -> Result<Vec<u8>> {
            let blocks = value.chunks_exact(block).map(<[u64]>::to_vec);
            let value = format
                .value(blocks)
                .map_err(|error| content(error.into()))?;
            let mut out = Vec::new();
            let written = safe_serialize(&value, &mut out, VALUE_BYTES);
            written.map_err(|reason| Error::io(path, io::Error::other(reason)))?;
            Ok(out)
        };
        let parts = pool.install(|| {
            let some = lwes.par_chunks_exact(value).take(used);
            some.map(serialised).collect::<Result<Vec<_>>>()
        })?;
        for part in parts {
            let written = output.write_all(&part);
            written.map_err(|source| Error::io(output.path(), source))?;
        }
        done += used as u64;
        tick(done, split.bytes);
    }
    values.finish()?;
    output.commit()?;
    Ok(done)
}
