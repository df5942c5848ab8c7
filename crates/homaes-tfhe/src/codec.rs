//! Keys and batches as records of the container (`docs/FORMAT.md`).
//!
//! | kind | tag | index | body |
//! |---|---|---|---|
//! | secret key | 1 | 0 | bits of the LWE key, then of the GLWE key, eight per byte |
//! | evaluation key | 1 | 0 | seed, 32 bytes |
//! | | 2 | 0, 1, 2, … | records in the order of `Shape::parts`: bodies of their rows, `Part::row_bits` per word |
//! | wrapped key | 1 | 0 | AES key bits (u16), direction (u8: 1 decrypt), expansion (u8: 1 client), seed |
//! | | 2 | 0 | bodies, 8 bytes per digit |
//! | ciphertexts | set by `homaes` | | log2 of the noise (f64); LWE ciphertexts, 4 bytes per word |
//! | | | | packed: log2 of the noise (f64); GLWE ciphertexts, masks before bodies |
//!
//! Words are little endian. Words of results are rounded to 32 bits, far below their noise, or further if they are
//! packed ([`crate::packing`]); the length of a record tells which.

use crate::bootstrap::Bootstrap;
use crate::ciphertext::Glwe;
use crate::error::{Error, Result};
use crate::keys::{EvalKey, EvalKeyFile, SecretKey};
use crate::packing::{pack, stride};
use crate::params::Params;
use crate::parts::Part;
use crate::set::{BitsSet, PACKED_BODY_BITS, Shape};
use crate::state::{MaskForm, State};
use crate::wrapped::{WrapOptions, WrappedKey};
use homaes_aes::KeySize;
use homaes_math::Words;
use homaes_scheme::read::{self, SEED_BYTES, put_words, take_words};
use homaes_scheme::traits::WrappedFile;
use homaes_scheme::{Cancel, Expansion, FieldError, Owner, Record, Records, WrappedKeyInfo};
use homaes_wire::{
    Contents, Decoder, Encoder, Header, KeyId, Kind, Reader, WireError, pack_bits, packed_len,
    unpack_bits,
};
use std::io::Read;
use std::sync::Arc;
use zeroize::Zeroizing;

const META: u16 = 1;
const BODIES: u16 = 2;
const WRAPPED_META_BYTES: u64 = 4 + SEED_BYTES;
const NOISE_BYTES: usize = 8;

/// The version of evaluation keys whose streams have names.
const NAMED: u16 = 2;

/// The version of evaluation keys with rounded bodies; older ones have whole words.
const ROUNDED: u16 = 3;

/// Reads the next record: tag, index `expected`, `len` bytes.
fn record<R: Read>(r: &mut Reader<R>, tag: u16, expected: u64, len: u64) -> Result<Vec<u8>> {
    read::record(r, tag, expected, len)
}

/// Appends the upper `bits` of each word, 1 to 64.
fn put_upper(words: &[u64], bits: u32, out: &mut Vec<u8>) {
    match bits {
        64 => out.extend_from_slice(&put_words(words)),
        _ => {
            let upper: Vec<u64> = words.iter().map(|x| x >> (64 - bits)).collect();
            pack_bits(&upper, bits, out);
        }
    }
}

/// Reads what [`put_upper`] has appended; lower bits are 0.
fn take_upper(bytes: &[u8], bits: u32, out: &mut [u64]) -> Result<()> {
    match bits {
        64 => out.copy_from_slice(&take_words(bytes)),
        _ => {
            unpack_bits(bytes, bits, out)?;
            out.iter_mut().for_each(|x| *x <<= 64 - bits);
        }
    }
    Ok(())
}

impl Part {
    /// Bits stored of a word, for each row.
    fn stored_bits(self, shape: &Shape, version: u16) -> Vec<u32> {
        match version < ROUNDED {
            true => vec![64; self.rows(shape)],
            false => self.row_bits(shape),
        }
    }

    /// Length of the record.
    fn stored_bytes(self, shape: &Shape, version: u16) -> u64 {
        let rows = self.stored_bits(shape, version).into_iter();
        let bytes = rows.map(|bits| packed_len(self.degree(shape), bits) as u64);
        bytes.sum()
    }

    fn put_bodies(self, shape: &Shape, words: &[u64]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.stored_bytes(shape, ROUNDED) as usize);
        let rows = words.chunks_exact(self.degree(shape));
        for (row, bits) in rows.zip(self.row_bits(shape)) {
            put_upper(row, bits, &mut out);
        }
        out
    }

    /// The bodies in a record of [`stored_bytes`](Self::stored_bytes).
    fn take_bodies(self, shape: &Shape, version: u16, mut body: &[u8]) -> Result<Vec<u64>> {
        let n = self.degree(shape);
        let bits = self.stored_bits(shape, version);
        let mut out = vec![0; bits.len() * n];
        for (row, bits) in out.chunks_exact_mut(n).zip(bits) {
            let bytes;
            (bytes, body) = body.split_at(packed_len(n, bits));
            take_upper(bytes, bits, row)?;
        }
        Ok(out)
    }
}

impl SecretKey {
    fn contents(params: &Params) -> Contents {
        Contents::default().record(packed_len(Self::len(params), 1) as u64)
    }

    /// Reads a secret key of `params`.
    ///
    /// # Errors
    /// If the file is damaged, of another set, or the key lacks the structure of the set.
    pub fn read<R: Read>(params: &Arc<Params>, mut r: Reader<R>) -> Result<Self> {
        read::check_set(params.id(), &r)?;
        let id = r.header().key_id();
        let len = Self::len(params);
        let body = Zeroizing::new(record(&mut r, META, 0, packed_len(len, 1) as u64)?);
        r.finish()?;
        let mut bits = Zeroizing::new(vec![0; len]);
        unpack_bits(&body, 1, &mut bits)?;
        let key = Self::from_bits(params, id, bits);
        match key.is_of_set() {
            true => Ok(key),
            false => Err(Error::NotInBlocks {
                set: params.set().name.as_str(),
            }),
        }
    }
}

impl Records for SecretKey {
    fn header(&self) -> Result<Header, WireError> {
        let params = self.params();
        params
            .id()
            .header(Kind::SecretKey, self.id(), Self::contents(params))
    }

    fn record(&self, _: u64) -> Result<Record, WireError> {
        Ok(Record {
            tag: META,
            index: 0,
            body: self.packed(),
        })
    }
}

impl EvalKey {
    fn header(params: &Params, id: KeyId, version: u16) -> Result<Header, WireError> {
        let shape = params.shape();
        let start = Contents::default().record(SEED_BYTES);
        let contents = shape.parts().iter().fold(start, |contents, part| {
            contents.record(part.stored_bytes(shape, version))
        });
        let header = params.id().header(Kind::EvalKey, id, contents)?;
        Ok(header.of_version(version))
    }

    /// Reads an evaluation key of `params` and computes its spectra, on the current thread pool.
    ///
    /// # Errors
    /// If the file is damaged or of another set.
    pub fn read<R: Read>(params: &Arc<Params>, mut r: Reader<R>) -> Result<Self> {
        read::check_set(params.id(), &r)?;
        let id = r.header().key_id();
        let version = r.header().version();
        let seed = read::seed(&record(&mut r, META, 0, SEED_BYTES)?)?;
        let shape = params.shape();
        let parts = (0..).zip(shape.parts());
        let bodies = parts.map(|(index, part)| {
            let bytes = part.stored_bytes(shape, version);
            let body = record(&mut r, BODIES, index, bytes)?;
            part.take_bodies(shape, version, &body)
        });
        let bodies = bodies.collect::<Result<Vec<_>>>()?;
        r.finish()?;
        let masks = |part: Part| match version < NAMED {
            true => part.numbered_masks(shape, &seed),
            false => part.masks(params.id(), &seed),
        };
        Ok(Self::from_bodies(params, id, masks, &bodies))
    }
}

impl Records for EvalKeyFile<'_> {
    fn header(&self) -> Result<Header, WireError> {
        EvalKey::header(self.secret.params(), self.secret.id(), ROUNDED)
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        let Some(index) = number.checked_sub(1) else {
            return Ok(Record::new(META, 0, self.seed.to_vec()));
        };
        let part = self.parts[index as usize];
        let body = part.put_bodies(self.secret.params().shape(), &self.bodies(part));
        Ok(Record::new(BODIES, index, body))
    }
}

impl WrappedKey {
    fn contents(params: &Params, size: KeySize, expansion: Expansion) -> Contents {
        let digits = Self::digits(params, size, expansion);
        let start = Contents::default().record(WRAPPED_META_BYTES);
        start.record(8 * digits as u64)
    }

    fn read_meta<R: Read>(
        params: &Params,
        r: &mut Reader<R>,
    ) -> Result<(KeySize, WrapOptions, [u8; 32])> {
        read::check_set(params.id(), r)?;
        let meta = record(r, META, 0, WRAPPED_META_BYTES)?;
        let mut input = Decoder::new(&meta);
        let (size, direction) = read::take_cipher::<Error>(&mut input)?;
        let expansion = read::take_expansion::<Error>(&mut input)?;
        let seed = input.array::<32>("seed")?;
        input.finish("wrapped key")?;
        let wrapping = WrapOptions {
            direction,
            expansion,
        };
        Ok((size, wrapping, seed))
    }

    /// Describes a wrapped key of `params` by its first record and its length.
    ///
    /// # Errors
    /// If the file is damaged or of another set.
    pub fn describe_file<R: Read>(params: &Params, mut r: Reader<R>) -> Result<WrappedKeyInfo> {
        let (size, wrapping, _) = Self::read_meta(params, &mut r)?;
        let contents = Self::contents(params, size, wrapping.expansion);
        read::check_length::<Error>(params.id(), r.header(), contents)?;
        Ok(described(params, size, wrapping))
    }

    /// Reads a wrapped key of `params`.
    ///
    /// # Errors
    /// If the file is damaged or of another set.
    pub fn read<R: Read>(params: &Arc<Params>, mut r: Reader<R>) -> Result<Self> {
        let id = r.header().key_id();
        let (size, wrapping, seed) = Self::read_meta(params, &mut r)?;
        let digits = Self::digits(params, size, wrapping.expansion);
        let bodies = take_words(&record(&mut r, BODIES, 0, 8 * digits as u64)?);
        r.finish()?;
        Ok(Self {
            params: params.clone(),
            id,
            size,
            wrapping,
            seed,
            bodies,
        })
    }
}

fn described(params: &Params, key_size: KeySize, wrapping: WrapOptions) -> WrappedKeyInfo {
    let layouts = params.layouts().iter();
    WrappedKeyInfo {
        key_size,
        directions: vec![wrapping.direction],
        expansion: wrapping.expansion,
        compact: false,
        layouts: layouts.map(|&layout| (layout, 1)).collect(),
        names: Vec::new(),
    }
}

impl WrappedFile for WrappedKey {
    fn describe(&self) -> WrappedKeyInfo {
        described(&self.params, self.size, self.wrapping)
    }
}

impl Records for WrappedKey {
    fn header(&self) -> Result<Header, WireError> {
        let contents = Self::contents(&self.params, self.size, self.wrapping.expansion);
        self.params.id().header(Kind::WrappedKey, self.id, contents)
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        if number > 0 {
            return Ok(Record::new(BODIES, 0, put_words(&self.bodies)));
        }
        let meta = read::put_cipher(Encoder::new(), self.size, self.wrapping.direction);
        let meta = read::put_expansion(meta, self.wrapping.expansion).bytes(&self.seed);
        Ok(Record::new(META, 0, meta.finish()))
    }
}

/// Bytes of the record of a batch of `blocks` blocks.
pub fn batch_bytes(params: &Params, blocks: usize) -> u64 {
    let words = (blocks as u64).saturating_mul(params.state_words(1) as u64);
    words.saturating_mul(4).saturating_add(NOISE_BYTES as u64)
}

/// Bytes of the record of `blocks` blocks of AES: packed on bits.
pub(crate) fn result_bytes(params: &Params, blocks: usize) -> u64 {
    let Ok(set) = params.bits() else {
        return batch_bytes(params, blocks);
    };
    let bits = (blocks as u64).saturating_mul(128);
    let masks = packed_len(params.big_dimension(), set.key_switch.bits()) as u64;
    let masks = bits.div_ceil(set.degree as u64).saturating_mul(masks);
    let bodies = packed_len(bits as usize, PACKED_BODY_BITS) as u64;
    masks
        .saturating_add(bodies)
        .saturating_add(NOISE_BYTES as u64)
}

/// The start of a record of `size` bytes of a state that has noise of 2^`log2_sigma` there.
fn start(params: &Params, state: &State, log2_sigma: f64, size: u64) -> Result<Vec<u8>> {
    state.check_set(params)?;
    if !state.finished {
        return Err(FieldError::new("finished state", 0_u64, 1).into());
    }
    let out = Encoder::with_capacity(size as usize);
    let out = out.noise(log2_sigma).finish();
    // the noise as a reader will see it
    params.check_decryption(state.blocks, Decoder::new(&out).f64("noise")?)?;
    Ok(out)
}

impl EvalKey {
    /// Encodes a batch of bits as a record: packed, 28 bytes per byte of eight blocks of `tfhe/p64` and 168 per byte of
    /// one, where [`encode_batch`] takes 65,568.
    ///
    /// Noise: [`packing`](crate::noise::packing) is added. A look-up of what is read back rounds nothing in its key
    /// switch, and misreads bits of 32 blocks of `tfhe/p64` with 2^-91.5 in place of 2^-91.8. Cost: N automorphisms for
    /// up to N bits, 3 ms per block.
    ///
    /// # Errors
    /// If the set is not on bits, the state is of another set or secret, is between rounds, or is left by a cancelled
    /// addition; [`Error::Unreliable`] if, packing included, it decrypts wrongly with probability above 2^-64.
    pub fn pack(&self, state: &State) -> Result<Vec<u8>> {
        let params = self.params();
        let set = params.bits()?;
        state.check(params, self.key_id())?;
        let noise = params.result_log2_sigma(state.log2_sigma);
        let size = result_bytes(params, state.blocks);
        let mut out = start(params, state, noise, size)?;
        let (fouriers, cancel) = (params.fouriers(), Cancel::new());
        let base = Bootstrap::new(set.into(), fouriers, self.spectra(), &cancel);
        let counts = counts(set, state.blocks);
        for (packed, count) in pack(&base, set, &state.lwes).iter().zip(counts) {
            let (masks, body) = packed.split();
            let bodies = body.iter().step_by(stride(set, count)).take(count);
            put_upper(masks, set.key_switch.bits(), &mut out);
            put_upper(
                &bodies.copied().collect::<Vec<_>>(),
                PACKED_BODY_BITS,
                &mut out,
            );
        }
        Ok(out)
    }
}

/// Bits of each packed ciphertext.
fn counts(set: &BitsSet, blocks: usize) -> impl Iterator<Item = usize> {
    let (bits, n) = (128 * blocks, set.degree);
    (0..bits).step_by(n).map(move |first| n.min(bits - first))
}

/// Writes the words of the LWE ciphertexts in a record, after its noise.
fn unpack(set: &BitsSet, mut body: &[u8], blocks: usize, mut lwes: &mut [u64]) -> Result<()> {
    let mut glwe = Glwe::zeroed(set.rank, set.degree);
    let words = set.rank * set.degree + 1;
    let mut take = |count: usize, bits: u32, out: &mut [u64]| {
        let bytes;
        (bytes, body) = body.split_at(packed_len(count, bits));
        take_upper(bytes, bits, out)
    };
    for count in counts(set, blocks) {
        let (masks, own) = glwe.split_mut();
        take(words - 1, set.key_switch.bits(), masks)?;
        let mut bodies = vec![0; count];
        take(count, PACKED_BODY_BITS, &mut bodies)?;
        let stride = stride(set, count);
        for (x, body) in own.iter_mut().step_by(stride).zip(bodies) {
            *x = body;
        }
        let (these, rest) = lwes.split_at_mut(count * words);
        for (i, lwe) in these.chunks_exact_mut(words).enumerate() {
            glwe.extract_words(i * stride, lwe);
        }
        lwes = rest;
    }
    Ok(())
}

/// Encodes a batch as a record, with words rounded to 32 bits. [`EvalKey::pack`] makes shorter ones.
///
/// # Errors
/// If the state is of another set, is between rounds, or is left by a cancelled addition; [`Error::Unreliable`] if,
/// rounding included, it decrypts wrongly with probability above 2^-64.
pub fn encode_batch(params: &Params, state: &State) -> Result<Vec<u8>> {
    let noise = params.rounded_log2_sigma(state.log2_sigma);
    let mut out = start(params, state, noise, batch_bytes(params, state.blocks))?;
    let rounded = state
        .lwes
        .iter()
        .map(|x| (x.wrapping_add(1 << 31) >> 32) as u32);
    out.extend(rounded.flat_map(u32::to_le_bytes));
    Ok(out)
}

/// Decodes the record of a batch of `blocks` blocks, packed or not. `key` is the name in the file's header; without it,
/// the state passes for one of any key.
///
/// # Errors
/// If a length or the noise is out of range; [`Error::Unreliable`] if, by the stated noise, the state decrypts wrongly
/// with probability above 2^-64.
pub fn decode_batch(
    params: &Params,
    key: Option<KeyId>,
    blocks: usize,
    body: &[u8],
) -> Result<State> {
    let most = params.blocks_per_batch();
    if blocks > most {
        let (found, expected) = (blocks, most);
        return Err(Error::Blocks { found, expected });
    }
    let (found, expected) = (body.len() as u64, result_bytes(params, blocks));
    let packed = found != batch_bytes(params, blocks);
    if packed && found != expected {
        return Err(FieldError::new("bytes of a batch", found, expected).into());
    }
    let mut input = Decoder::new(body);
    let log2_sigma = input.f64("noise")?;
    if !(-64.0..=0.0).contains(&log2_sigma) {
        return Err(Error::NoiseBits { found: log2_sigma });
    }
    params.check_decryption(blocks, log2_sigma)?;
    let mut lwes = Words::scratch(params.state_words(blocks));
    let body = &body[NOISE_BYTES..];
    match packed {
        true => unpack(params.bits()?, body, blocks, &mut lwes)?,
        false => {
            for (word, bytes) in lwes.iter_mut().zip(body.as_chunks().0) {
                *word = u64::from(u32::from_le_bytes(*bytes)) << 32;
            }
        }
    }
    Ok(State {
        lwes,
        blocks,
        log2_sigma,
        owner: Owner::new(params.id(), key),
        finished: true,
        mask_form: match packed {
            true => MaskForm::Packed,
            false => MaskForm::Any,
        },
    })
}

/// Length of an evaluation key in a file of `version`.
pub(crate) fn eval_key_bytes(params: &Params, version: u16) -> u64 {
    EvalKey::header(params, KeyId([0; 16]), version).map_or(0, |header| header.file_bytes())
}

/// Lengths of the files of a set, computed: secret key, evaluation key, and wrapped AES-256 key for server expansion.
pub(crate) fn file_bytes(params: &Params) -> [u64; 3] {
    let size = |kind, contents| {
        let header = params.id().header(kind, KeyId([0; 16]), contents);
        header.map_or(0, |header| header.file_bytes())
    };
    let wrapped = WrappedKey::contents(params, KeySize::Aes256, Expansion::Server);
    [
        size(Kind::SecretKey, SecretKey::contents(params)),
        eval_key_bytes(params, ROUNDED),
        size(Kind::WrappedKey, wrapped),
    ]
}

#[cfg(test)]
mod tests;
