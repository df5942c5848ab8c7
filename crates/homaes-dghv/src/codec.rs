//! Keys and ciphertexts as records of the container (`docs/FORMAT.md`).
//!
//! | kind | tag | index | body |
//! |---|---|---|---|
//! | secret key | 1 | 0 | the ℓ primes, then q0, each in 64-bit words, lowest first, and zeros up to the length of the longest q0 |
//! | evaluation key | 1 | 0 | seed, 32 bytes |
//! | | 2 | 0 | x0, in words of γ bits |
//! | | 2 | 1 … ℓ | corrections of the encryptions of unit vectors, in words |
//! | | 2 | … | z_0 … z_(ℓ-1), eight to a record: 52-bit limbs, highest first, those of the eight side by side, zeros for missing ones |
//! | | 2 | … | corrections v of consecutive terms: for eight limbs at a time, lowest first, those of all terms of the record |
//! | wrapped key | 1 | 0 | AES key bits (u16), direction (u8: 0 encrypt, 1 decrypt), level of the input (u16), seed (32 bytes) |
//! | | 2 | 0, 1, 2, … | corrections of the encrypted round keys in order, bits in order, in words |
//! | ciphertexts | set by `homaes` | | 128 times: level (u8), log2 of the noise (f64), the number modulo x0 in words of γ bits |
//!
//! Limbs are bit-packed, 52 bits each.

use crate::ciphertext::Ciphertext;
use crate::error::{Error, Result};
use crate::eval::{EvalKey, Learnt, take_words};
use crate::eval_key::{EvalKeyFile, Part, bytes_of_words, correction_bytes};
use crate::keys::SecretKey;
use crate::params::Params;
use crate::state::{BITS, State};
use crate::wrapped::{WrappedKey, WrappedKeyFile, key_level};
use homaes_aes::{Direction, KeySize, Layout};
use homaes_math::natural::{bit_length, words_of};
use homaes_math::sample::Seed;
use homaes_scheme::read::{self, SEED_BYTES};
use homaes_scheme::{FieldError, KeyRecords, Mismatch, Owner, Record, Records, WrappedKeyInfo};
use homaes_wire::{Contents, Decoder, Encoder, Header, KeyId, Kind, Reader, Stored, WireError};
use rayon::prelude::*;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use zeroize::Zeroizing;

const META: u16 = 1;
const NUMBERS: u16 = 2;
/// Bytes of a wrapped key's first record.
const META_BYTES: u64 = 5 + SEED_BYTES;
/// Bytes of a ciphertext beside its number.
const NOISE_BYTES: u64 = 9;

impl SecretKey {
    /// Bytes of the primes, and of the longest q0.
    pub(crate) fn body_bytes(params: &Params) -> [usize; 2] {
        let set = params.set();
        let q0 = set.gamma - 2 * (set.eta - 1) * set.slots + 2;
        [set.slots * 8 * words_of(set.eta), 8 * words_of(q0)]
    }

    /// Reads a key of `params`.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn read<R: Read>(params: &Arc<Params>, mut r: Reader<R>) -> Result<Self> {
        read::check_set(params.id(), &r)?;
        let id = r.header().key_id();
        let [primes, most] = Self::body_bytes(params);
        let (index, body) = r.next_indexed(META, (primes + most) as u64)?;
        let body = Zeroizing::new(body);
        r.finish()?;
        if index != 0 || body.len() != primes + most {
            return Err(
                FieldError::new("length", body.len() as u64, (primes + most) as u64).into(),
            );
        }
        let words = Zeroizing::new(take_words(&body)?);
        let (primes, q0) = words.split_at(primes / 8);
        let each = primes.len() / params.slots();
        let primes: Vec<_> = primes
            .chunks(each)
            .map(|p| Zeroizing::new(p.to_vec()))
            .collect();
        let used = words_of(bit_length(q0));
        Self::from_parts(params, id, &primes, Zeroizing::new(q0[..used].to_vec()))
    }
}

impl Records for SecretKey {
    fn header(&self) -> Result<Header, WireError> {
        let contents = Contents::default().record(self.packed().len() as u64);
        self.params()
            .id()
            .header(Kind::SecretKey, self.id(), contents)
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
    fn contents(params: &Params) -> Contents {
        let start = Contents::default().record(SEED_BYTES);
        part_lengths(params).fold(start, Contents::record)
    }

    /// The seed, from the first record, of a file that has the right number of records.
    fn read_head<R: Read>(params: &Params, r: &mut Reader<R>) -> Result<Seed> {
        read::check_set(params.id(), r)?;
        read::check_length::<Error>(params.id(), r.header(), Self::contents(params))?;
        Ok(read::seed(&read::record::<_, Error>(
            r, META, 0, SEED_BYTES,
        )?)?)
    }

    /// Reads a key of `params` into memory.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn read<R: Read>(params: &Arc<Params>, mut r: Reader<R>) -> Result<Self> {
        let id = r.header().key_id();
        let seed = Self::read_head(params, &mut r)?;
        let mut learnt = Learnt::new(params);
        let mut bodies = Vec::with_capacity(Part::count(params));
        for (number, len) in part_lengths(params).enumerate() {
            let body = read::record::<_, Error>(&mut r, NUMBERS, number as u64, len)?;
            learnt.record(params, number, number as u64, &body)?;
            bodies.push(body);
        }
        r.finish()?;
        Ok(learnt.key(params, id, seed, KeyRecords::Memory(bodies)))
    }

    /// As [`read`](Self::read), but leaves the numbers in the file until they are used, after they were all read once.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn open(params: &Arc<Params>, mut r: Reader<File>) -> Result<Self> {
        let id = r.header().key_id();
        let seed = Self::read_head(params, &mut r)?;
        let mut learnt = Learnt::new(params);
        let check = |number, index, body: &[u8]| learnt.record(params, number, index, body);
        let stored = Stored::of(r, NUMBERS, part_lengths(params), check)?;
        Ok(learnt.key(params, id, seed, KeyRecords::File(stored)))
    }
}

/// Lengths of the records of an evaluation key after the seed.
fn part_lengths(params: &Params) -> impl Iterator<Item = u64> + '_ {
    let parts = (0..Part::count(params)).map(|number| Part::of(params, number));
    parts.map(|part| part.bytes(params) as u64)
}

impl Records for EvalKeyFile<'_> {
    fn header(&self) -> Result<Header, WireError> {
        let params = self.secret.params();
        let contents = EvalKey::contents(params);
        params
            .id()
            .header(Kind::EvalKey, self.secret.id(), contents)
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        Ok(match number.checked_sub(1) {
            None => Record::new(META, 0, self.seed.to_vec()),
            Some(index) => Record::new(NUMBERS, index, self.part(index as usize)),
        })
    }
}

/// The records of a wrapped key.
fn wrapped_contents(params: &Params, size: KeySize) -> Contents {
    let count = (BITS * (size.rounds() + 1)) as u64;
    let head = Contents::default().record(META_BYTES);
    head.records(count, correction_bytes(params) as u64)
}

fn meta(size: KeySize, direction: Direction, start: usize, seed: &Seed) -> Record {
    let out = read::put_cipher(Encoder::new(), size, direction);
    Record::new(META, 0, out.u16(start as u16).bytes(seed).finish())
}

fn described(size: KeySize, direction: Direction, start: usize) -> WrappedKeyInfo {
    let output = key_level(start, size.rounds());
    WrappedKeyInfo::expanded(size, direction, vec![(Layout::Bits, output)])
}

/// The first record of a wrapped key: the cipher, the level of the input, and the seed.
fn read_head<R: Read>(
    params: &Params,
    r: &mut Reader<R>,
) -> Result<(KeySize, Direction, usize, Seed)> {
    read::check_set(params.id(), r)?;
    let body = read::record::<_, Error>(r, META, 0, META_BYTES)?;
    let mut input = Decoder::new(&body);
    let (size, direction) = read::take_cipher::<Error>(&mut input)?;
    let start = usize::from(input.u16("level of the input")?);
    let seed = input.array("seed")?;
    input.finish("wrapped key")?;
    if params.levels_left(size).is_none() {
        let error = Mismatch::Levels {
            layout: Layout::Bits,
            size,
            wanted: 0,
            most: None,
            set: params.set().name.as_str(),
        };
        return Err(error.into());
    }
    if start != params.top_level() {
        let expected = params.top_level() as u64;
        return Err(FieldError::new("level of the input", start as u64, expected).into());
    }
    read::check_length::<Error>(params.id(), r.header(), wrapped_contents(params, size))?;
    Ok((size, direction, start, seed))
}

impl WrappedKey {
    /// What it holds.
    pub fn describe(&self) -> WrappedKeyInfo {
        described(self.size, self.direction, self.start)
    }

    /// What a file of `params` holds, by its first record and its length.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn describe_file<R: Read>(params: &Params, mut r: Reader<R>) -> Result<WrappedKeyInfo> {
        let (size, direction, start, _) = read_head(params, &mut r)?;
        Ok(described(size, direction, start))
    }

    /// Reads a wrapped key of `params`.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn read<R: Read>(params: &Arc<Params>, mut r: Reader<R>) -> Result<Self> {
        let id = r.header().key_id();
        let (size, direction, start, seed) = read_head(params, &mut r)?;
        let count = BITS * (size.rounds() + 1);
        let bodies = (0..count as u64).map(|number| {
            let bytes = correction_bytes(params) as u64;
            read::record::<_, Error>(&mut r, NUMBERS, number, bytes)
        });
        let bodies = KeyRecords::Memory(bodies.collect::<Result<_>>()?);
        r.finish()?;
        Ok(Self {
            params: params.clone(),
            id,
            size,
            direction,
            start,
            seed,
            bodies,
        })
    }

    /// As [`read`](Self::read), but leaves the corrections in the file until they are used, after they were all read once.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn open(params: &Arc<Params>, mut r: Reader<File>) -> Result<Self> {
        let id = r.header().key_id();
        let (size, direction, start, seed) = read_head(params, &mut r)?;
        let bytes = correction_bytes(params);
        let lengths = (0..BITS * (size.rounds() + 1)).map(|_| bytes as u64);
        let check = |number: usize, index, body: &[u8]| {
            let wrong = |what, found, expected| Err(FieldError::new(what, found, expected).into());
            match (index == number as u64, body.len() == bytes) {
                (true, true) => Ok(()),
                (false, _) => wrong("number", index, number as u64),
                (_, false) => wrong("length", body.len() as u64, bytes as u64),
            }
        };
        let stored = Stored::of::<Error>(r, NUMBERS, lengths, check)?;
        Ok(Self {
            params: params.clone(),
            id,
            size,
            direction,
            start,
            seed,
            bodies: KeyRecords::File(stored),
        })
    }
}

impl Records for WrappedKey {
    fn header(&self) -> Result<Header, WireError> {
        let contents = wrapped_contents(&self.params, self.size);
        self.params.id().header(Kind::WrappedKey, self.id, contents)
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        Ok(match number.checked_sub(1) {
            None => meta(self.size, self.direction, self.start, &self.seed),
            Some(index) => {
                let mut buffer = Vec::new();
                let body = self.bodies.body(index as usize, &mut buffer)?.to_vec();
                Record::new(NUMBERS, index, body)
            }
        })
    }
}

impl WrappedKeyFile<'_> {
    /// What it holds.
    pub fn describe(&self) -> WrappedKeyInfo {
        described(self.size, self.direction, self.start)
    }
}

impl Records for WrappedKeyFile<'_> {
    fn header(&self) -> Result<Header, WireError> {
        let params = self.secret.params();
        let contents = wrapped_contents(params, self.size);
        params
            .id()
            .header(Kind::WrappedKey, self.secret.id(), contents)
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        Ok(match number.checked_sub(1) {
            None => meta(self.size, self.direction, self.start, &self.seed),
            Some(index) => {
                let body = bytes_of_words(&self.element(index as usize));
                Record::new(NUMBERS, index, body)
            }
        })
    }
}

/// Bytes of one output batch.
pub fn batch_bytes(params: &Params) -> u64 {
    BITS as u64 * (NOISE_BYTES + 8 * params.words() as u64)
}

/// The body of one batch record.
///
/// # Errors
/// If the ciphertexts are at different levels.
pub fn encode_batch(key: &EvalKey, state: &State) -> Result<Vec<u8>> {
    let level = state.level();
    let words = state
        .bits
        .par_iter()
        .with_max_len(1)
        .map(|c| key.reduced(&c.words));
    let words: Vec<Vec<u64>> = words.collect();
    let mut out = Encoder::with_capacity(batch_bytes(&key.params) as usize);
    for (c, mut words) in state.bits.iter().zip(words) {
        if c.level != level {
            return Err(FieldError::new("level", c.level as u64, level as u64).into());
        }
        words.resize(key.params.words(), 0);
        out = out.u8(level as u8).noise(c.noise.r_log2);
        out = words.into_iter().fold(out, Encoder::u64);
    }
    Ok(out.finish())
}

/// The ciphertexts at `level` from the body of one batch record. `key` is that of the file's header: without it, the ciphertexts are taken for those of whichever
/// key they are used with.
///
/// # Errors
/// Names what is wrong with the record.
pub fn decode_batch(
    params: &Params,
    key: Option<KeyId>,
    level: usize,
    body: &[u8],
) -> Result<State> {
    if level == 0 || level > params.top_level() {
        return Err(FieldError::new("level", level as u64, 1).into());
    }
    let mut input = Decoder::new(body);
    let bits = (0..BITS).map(|_| {
        let found = input.u8("level")?;
        if usize::from(found) != level {
            return Err(FieldError::new("level", found, level as u64).into());
        }
        let r_log2 = input.f64("noise")?;
        if !(-64.0..=4096.0).contains(&r_log2) {
            return Err(Error::NoiseBits { found: r_log2 });
        }
        let bytes = input.bytes("ciphertext", 8 * params.words())?;
        let mut words = take_words(bytes)?;
        let bits = bit_length(&words);
        if bits > params.set().gamma {
            return Err(FieldError::new(
                "bits of a ciphertext",
                bits as u64,
                params.set().gamma as u64,
            )
            .into());
        }
        words.resize(params.type_one_words(), 0);
        Ok(Ciphertext {
            owner: Owner::new(params.id(), key),
            level,
            words,
            noise: params.noise().of_converted(r_log2),
        })
    });
    let bits = bits.collect::<Result<_>>()?;
    input.finish("ciphertexts")?;
    Ok(State { bits })
}

/// Sizes of the files of a set, without making them: secret (the largest), evaluation key, and wrapped key of the largest AES key.
pub(crate) fn file_bytes(params: &Params) -> [u64; 3] {
    let [primes, q0] = SecretKey::body_bytes(params);
    let secret = Contents::default().record((primes + q0) as u64);
    [
        (Kind::SecretKey, secret),
        (Kind::EvalKey, EvalKey::contents(params)),
        (
            Kind::WrappedKey,
            wrapped_contents(params, params.largest_size()),
        ),
    ]
    .map(|(kind, contents)| {
        let header = params.id().header(kind, KeyId([0; 16]), contents);
        header.map_or(0, |h| h.file_bytes())
    })
}
