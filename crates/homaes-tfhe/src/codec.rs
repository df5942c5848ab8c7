//! Keys and batches as records of the container (`docs/FORMAT.md`).
//!
//! | kind | tag | index | body |
//! |---|---|---|---|
//! | secret key | 1 | 0 | bits of the LWE key, then of the GLWE key, eight per byte |
//! | evaluation key | 1 | 0 | seed, 32 bytes |
//! | | 2 | 0, 1, 2, … | parts in order (`parts::Part`): bodies of their rows, 8 bytes a word |
//! | wrapped key | 1 | 0 | AES key bits (u16), direction (u8: 0 encrypt, 1 decrypt), expansion (u8: 0 server, 1 client), seed |
//! | | 2 | 0 | bodies, 8 bytes per digit |
//! | ciphertexts | set by `homaes` | | log2 of the noise (f64); LWE ciphertexts, 4 bytes a word |
//!
//! Words are little endian. Those of results are rounded to 32 bits, far below their noise.

use crate::error::{Error, Result};
use crate::keys::{EvalKey, SecretKey};
use crate::params::Params;
use crate::state::State;
use crate::wrapped::{Expansion, WrappedKey, Wrapping};
use homaes_aes::{Direction, KeySize};
use homaes_math::Words;
use homaes_wire::{
    Contents, Decoder, Encoder, Header, KeyId, Kind, Reader, Writer, pack_bits, packed_len,
    unpack_bits,
};
use std::io::{Read, Write};
use std::sync::Arc;
use zeroize::Zeroizing;

const META: u16 = 1;
const BODIES: u16 = 2;
const SEED_BYTES: u64 = 32;
const WRAPPED_META_BYTES: u64 = 4 + SEED_BYTES;
const NOISE_BYTES: usize = 8;

fn header(params: &Params, kind: Kind, id: KeyId, contents: Contents) -> Result<Header> {
    let name = params.set().name.as_str();
    Ok(Header::new(kind, name, *params.digest(), id, contents)?)
}

fn check_set<R: Read>(params: &Params, r: &Reader<R>) -> Result<()> {
    Ok(r.check_set(params.set().name.as_str(), params.digest())?)
}

/// The next record, which must be number `expected` and have `len` bytes.
fn record<R: Read>(r: &mut Reader<R>, tag: u16, expected: u64, len: u64) -> Result<Vec<u8>> {
    let (found, body) = r.next_indexed(tag, len)?;
    if body.len() as u64 != len {
        return Err(field("length", body.len() as u64, len));
    }
    if found != expected {
        let what = "record number";
        return Err(Error::Field {
            what,
            found,
            expected,
        });
    }
    Ok(body)
}

fn field(what: &'static str, found: impl Into<u64>, expected: u64) -> Error {
    Error::Field {
        what,
        found: found.into(),
        expected,
    }
}

fn put_words(words: &[u64], mut out: Vec<u8>) -> Vec<u8> {
    out.extend(words.iter().flat_map(|x| x.to_le_bytes()));
    out
}

fn take_words(bytes: &[u8]) -> Vec<u64> {
    let words = bytes.as_chunks().0.iter();
    words.map(|&x| u64::from_le_bytes(x)).collect()
}

impl SecretKey {
    fn contents(params: &Params) -> Contents {
        Contents::default().record(packed_len(Self::len(params), 1) as u64)
    }

    /// The container header of this key.
    ///
    /// # Errors
    /// None in practice: names and sizes are those of a checked set.
    pub fn header(&self) -> Result<Header> {
        let params = self.params();
        header(params, Kind::SecretKey, self.id(), Self::contents(params))
    }

    /// Writes all records.
    ///
    /// # Errors
    /// If the output fails.
    pub fn write<W: Write>(&self, w: &mut Writer<W>) -> Result<()> {
        let len = packed_len(Self::len(self.params()), 1);
        // with its final capacity, so that no copy stays behind
        let mut body = Zeroizing::new(Vec::with_capacity(len));
        pack_bits(self.bits(), 1, &mut body);
        Ok(w.write_record(META, 0, &body)?)
    }

    /// Reads a key of `params`.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn read<R: Read>(params: &Arc<Params>, mut r: Reader<R>) -> Result<Self> {
        check_set(params, &r)?;
        let id = r.header().key_id();
        let len = Self::len(params);
        let body = Zeroizing::new(record(&mut r, META, 0, packed_len(len, 1) as u64)?);
        r.finish()?;
        let mut bits = Zeroizing::new(vec![0; len]);
        unpack_bits(&body, 1, &mut bits)?;
        Ok(Self::from_bits(params, id, bits))
    }
}

impl EvalKey {
    fn contents(params: &Params) -> Contents {
        let start = Contents::default().record(SEED_BYTES);
        let lens = params.shape().body_lens().into_iter();
        lens.fold(start, |contents, len| contents.record(8 * len as u64))
    }

    /// The container header of this key.
    ///
    /// # Errors
    /// None in practice: names and sizes are those of a checked set.
    pub fn header(&self) -> Result<Header> {
        let contents = Self::contents(&self.params);
        header(&self.params, Kind::EvalKey, self.id, contents)
    }

    /// Writes all records.
    ///
    /// # Errors
    /// If the output fails, or the key was read from a file: what it was made of has been dropped then, copy the file.
    pub fn write<W: Write>(&self, w: &mut Writer<W>) -> Result<()> {
        let bodies = self.bodies.as_ref().ok_or(Error::OnlyRead)?;
        w.write_record(META, 0, &self.seed)?;
        for (index, words) in (0..).zip(bodies) {
            let body = put_words(words, Vec::with_capacity(8 * words.len()));
            w.write_record(BODIES, index, &body)?;
        }
        Ok(())
    }

    /// Reads a key of `params` and makes its spectra, with the current thread pool.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn read<R: Read>(params: &Arc<Params>, mut r: Reader<R>) -> Result<Self> {
        check_set(params, &r)?;
        let id = r.header().key_id();
        let seed = seed(&record(&mut r, META, 0, SEED_BYTES)?)?;
        let lens = (0..).zip(params.shape().body_lens());
        let bodies: Vec<Vec<u64>> = lens
            .map(|(index, len)| Ok(take_words(&record(&mut r, BODIES, index, 8 * len as u64)?)))
            .collect::<Result<_>>()?;
        r.finish()?;
        Ok(Self::from_bodies(params, id, seed, &bodies))
    }
}

fn seed(bytes: &[u8]) -> Result<[u8; 32]> {
    let mut input = Decoder::new(bytes);
    let seed = input.array::<32>("seed")?;
    input.finish("seed")?;
    Ok(seed)
}

impl WrappedKey {
    fn contents(params: &Params, size: KeySize, expansion: Expansion) -> Contents {
        let digits = Self::digits(params, size, expansion);
        let start = Contents::default().record(WRAPPED_META_BYTES);
        start.record(8 * digits as u64)
    }

    /// The container header of this key.
    ///
    /// # Errors
    /// None in practice: names and sizes are those of a checked set.
    pub fn header(&self) -> Result<Header> {
        let contents = Self::contents(&self.params, self.size, self.expansion());
        header(&self.params, Kind::WrappedKey, self.id, contents)
    }

    /// Writes all records.
    ///
    /// # Errors
    /// If the output fails.
    pub fn write<W: Write>(&self, w: &mut Writer<W>) -> Result<()> {
        let meta = Encoder::new()
            .u16((self.size.key_bytes() * 8) as u16)
            .u8(u8::from(self.direction() == Direction::Decrypt))
            .u8(u8::from(self.expansion() == Expansion::Client))
            .bytes(&self.seed);
        w.write_record(META, 0, &meta.finish())?;
        Ok(w.write_record(BODIES, 0, &put_words(&self.bodies, Vec::new()))?)
    }

    /// Reads a wrapped key of `params`.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn read<R: Read>(params: &Arc<Params>, mut r: Reader<R>) -> Result<Self> {
        check_set(params, &r)?;
        let id = r.header().key_id();
        let meta = record(&mut r, META, 0, WRAPPED_META_BYTES)?;
        let mut input = Decoder::new(&meta);
        let bits = input.u16("AES key bits")?;
        let size = KeySize::from_key_bytes(usize::from(bits) / 8)
            .ok()
            .filter(|_| bits.is_multiple_of(8));
        let size = size.ok_or_else(|| field("AES key bits", bits, 128))?;
        let direction = match input.u8("direction")? {
            0 => Direction::Encrypt,
            1 => Direction::Decrypt,
            found => return Err(field("direction", found, 0)),
        };
        let expansion = match input.u8("expansion")? {
            0 => Expansion::Server,
            1 => Expansion::Client,
            found => return Err(field("expansion", found, 0)),
        };
        let seed = input.array::<32>("seed")?;
        input.finish("wrapped key")?;
        let digits = Self::digits(params, size, expansion);
        let bodies = take_words(&record(&mut r, BODIES, 0, 8 * digits as u64)?);
        r.finish()?;
        Ok(Self {
            params: params.clone(),
            id,
            size,
            wrapping: Wrapping {
                direction,
                expansion,
            },
            seed,
            bodies,
        })
    }
}

/// Bytes of the record of a batch with `blocks` blocks.
pub fn batch_bytes(params: &Params, blocks: usize) -> u64 {
    let words = (blocks as u64).saturating_mul(params.state_words(1) as u64);
    words.saturating_mul(4).saturating_add(NOISE_BYTES as u64)
}

/// The record of a batch.
///
/// # Errors
/// If the state is of another set.
pub fn encode_batch(params: &Params, state: &State) -> Result<Vec<u8>> {
    state.check(params)?;
    let size = batch_bytes(params, state.blocks) as usize;
    let out = Encoder::with_capacity(size).f64(state.log2_sigma);
    let mut out = out.finish();
    let rounded = state
        .lwes
        .iter()
        .map(|x| (x.wrapping_add(1 << 31) >> 32) as u32);
    out.extend(rounded.flat_map(u32::to_le_bytes));
    Ok(out)
}

/// Reads the record of a batch with `blocks` blocks.
///
/// # Errors
/// Names what is wrong.
pub fn decode_batch(params: &Params, blocks: usize, body: &[u8]) -> Result<State> {
    let most = params.blocks_per_batch();
    if blocks > most {
        let (found, expected) = (blocks, most);
        return Err(Error::Blocks { found, expected });
    }
    let (found, expected) = (body.len() as u64, batch_bytes(params, blocks));
    if found != expected {
        return Err(field("bytes of a batch", found, expected));
    }
    let mut input = Decoder::new(body);
    let log2_sigma = input.f64("noise")?;
    if !(-64.0..=0.0).contains(&log2_sigma) {
        return Err(Error::NoiseBits { found: log2_sigma });
    }
    let mut lwes = Words::scratch(params.state_words(blocks));
    for (word, bytes) in lwes.iter_mut().zip(body[NOISE_BYTES..].as_chunks().0) {
        *word = u64::from(u32::from_le_bytes(*bytes)) << 32;
    }
    Ok(State {
        lwes,
        blocks,
        log2_sigma,
    })
}

/// Sizes of the files of a set, without making them: secret, evaluation key, and wrapped key of an AES-256 key that the
/// server expands.
pub(crate) fn file_bytes(params: &Params) -> [u64; 3] {
    let id = KeyId([0; 16]);
    let size = |kind, contents| header(params, kind, id, contents).map_or(0, |h| h.file_bytes());
    let wrapped = WrappedKey::contents(params, KeySize::Aes256, Expansion::Server);
    [
        size(Kind::SecretKey, SecretKey::contents(params)),
        size(Kind::EvalKey, EvalKey::contents(params)),
        size(Kind::WrappedKey, wrapped),
    ]
}

#[cfg(test)]
mod tests;
