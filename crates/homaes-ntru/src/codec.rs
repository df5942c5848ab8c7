//! Keys and ciphertexts as records of the container (`docs/FORMAT.md`).
//!
//! | kind | tag | index | body |
//! |---|---|---|---|
//! | secret key | 1 | 0 | n residues modulo 5 of f', then of g (0 to 4 for 0, 1, 2, -2, -1), positions in ring layout |
//! | evaluation key | 1 | 0 | seed, 32 bytes |
//! | | 2 | 0, 1, 2, … | polynomials ζ in order of digits: modulo all primes in order |
//! | wrapped key | 1 | 0 | AES key bits (u16), direction (u8: 0 encrypt, 1 decrypt), level of the first round key (u16) |
//! | | 2 | 0, 1, 2, … | round keys in order, bits in order: modulo the primes of the level |
//! | ciphertexts | set by `homaes` | | 128 times: level (u8), noise rms (f64), the element modulo the primes of the level |
//!
//! Residues are canonical, in evaluation form and stored form (times 2^52 mod p), bit-packed at the modulus's length. A ciphertext of NTRU has no uniform half,
//! so nothing in these files is expanded from a seed. The seed in an evaluation key lets whoever has the secret key draw the same errors again.

use crate::arithmetic::Arithmetic;
use crate::ciphertext::{Ciphertext, take_element};
use crate::error::{Error, Result};
use crate::keys::{EvalKey, EvalKeyFile, SecretKey};
use crate::noise::Noise;
use crate::params::Params;
use crate::state::{BITS, State};
use crate::wrapped::{WrappedKey, WrappedKeyFile, key_level};
use homaes_aes::{Direction, KeySize, Layout};
use homaes_scheme::read::{self, SEED_BYTES};
use homaes_scheme::{FieldError, KeyRecords, Mismatch, Owner, Record, Records, WrappedKeyInfo};
use homaes_wire::{
    Contents, Decoder, Encoder, Header, KeyId, Kind, Reader, Stored, WireError, packed_len,
};
use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use zeroize::Zeroizing;

const META: u16 = 1;
const POLYNOMIAL: u16 = 2;
/// Bytes of a wrapped key's first record.
const META_BYTES: u64 = 5;
/// Bytes of a ciphertext beside its element.
const NOISE_BYTES: u64 = 9;

impl<A: Arithmetic> SecretKey<A> {
    fn body_bytes(params: &Params<A>) -> u64 {
        2 * packed_len(params.ring().n(), 3) as u64
    }

    /// Reads a key of `params`.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn read<R: Read>(params: &Arc<Params<A>>, mut r: Reader<R>) -> Result<Self> {
        read::check_set(params.id(), &r)?;
        let id = r.header().key_id();
        let bytes = Self::body_bytes(params);
        let body = Zeroizing::new(read::record::<_, Error>(&mut r, META, 0, bytes)?);
        r.finish()?;
        let mut input = Decoder::new(&body);
        let mut coefficients = || -> Result<Zeroizing<Vec<i64>>> {
            let n = params.ring().n();
            let residues = Zeroizing::new(input.residues("secret key", 5, n)?);
            // 0 … 4 to 0, 1, 2, -2, -1 without a branch: 5 is taken from 3 and 4
            let centred = residues
                .iter()
                .map(|&r| r as i64 - 5 * ((r + 5) >> 3) as i64);
            Ok(Zeroizing::new(centred.collect()))
        };
        let (f_prime, g) = (coefficients()?, coefficients()?);
        input.finish("secret key")?;
        let key = Self::from_coefficients(params, id, &f_prime, &g);
        key.ok_or_else(|| FieldError::new("invertible secret", 0u64, 1).into())
    }
}

impl<A: Arithmetic> Records for SecretKey<A> {
    fn header(&self) -> Result<Header, WireError> {
        let params = self.params();
        let contents = Contents::default().record(Self::body_bytes(params));
        params.id().header(Kind::SecretKey, self.id(), contents)
    }

    fn record(&self, _: u64) -> Result<Record, WireError> {
        Ok(Record {
            tag: META,
            index: 0,
            body: self.packed(),
        })
    }
}

impl<A: Arithmetic> EvalKey<A> {
    fn contents(params: &Params<A>) -> Contents {
        let arithmetic = params.arithmetic();
        let parts = arithmetic.key_parts() as u64;
        let start = Contents::default().record(SEED_BYTES);
        start.records(parts, arithmetic.key_part_bytes())
    }

    /// Reads a key of `params`.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn read<R: Read>(params: &Arc<Params<A>>, mut r: Reader<R>) -> Result<Self> {
        read::check_set(params.id(), &r)?;
        let id = r.header().key_id();
        read::seed(&read::record::<_, Error>(&mut r, META, 0, SEED_BYTES)?)?;
        let arithmetic = params.arithmetic();
        let parts = (0..arithmetic.key_parts()).map(|number| {
            let bytes = arithmetic.key_part_bytes();
            let body = read::record::<_, Error>(&mut r, POLYNOMIAL, number as u64, bytes)?;
            let mut input = Decoder::new(&body);
            let part = arithmetic.take_key_part(number, &mut input)?;
            input.finish("evaluation key")?;
            Ok(part)
        });
        let parts = parts.collect::<Result<_>>()?;
        r.finish()?;
        Ok(Self {
            params: params.clone(),
            id,
            parts,
        })
    }
}

impl<A: Arithmetic> Records for EvalKeyFile<'_, A> {
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
            Some(index) => Record::new(POLYNOMIAL, index, self.part(index as usize)),
        })
    }
}

/// The records of a wrapped key.
fn wrapped_contents<A: Arithmetic>(params: &Params<A>, size: KeySize, start: usize) -> Contents {
    let head = Contents::default().record(META_BYTES);
    (0..=size.rounds()).fold(head, |c, r| {
        let level = key_level(params, start, r);
        c.records(BITS as u64, params.arithmetic().element_bytes(level))
    })
}

fn meta(size: KeySize, direction: Direction, start: usize) -> Record {
    let out = read::put_cipher(Encoder::new(), size, direction);
    Record::new(META, 0, out.u16(start as u16).finish())
}

fn described(size: KeySize, direction: Direction, output: usize) -> WrappedKeyInfo {
    WrappedKeyInfo::expanded(size, direction, vec![(Layout::Bits, output)])
}

/// The first record of a wrapped key: the cipher, and the level of the first round key.
fn read_head<A: Arithmetic, R: Read>(
    params: &Params<A>,
    r: &mut Reader<R>,
) -> Result<(KeySize, Direction, usize)> {
    read::check_set(params.id(), r)?;
    let body = read::record::<_, Error>(r, META, 0, META_BYTES)?;
    let mut input = Decoder::new(&body);
    let (size, direction) = read::take_cipher::<Error>(&mut input)?;
    let start = usize::from(input.u16("level of the first round key")?);
    input.finish("wrapped key")?;
    let least = params.start_level(size, 0).ok_or(Mismatch::Levels {
        layout: Layout::Bits,
        size,
        wanted: 0,
        most: None,
        set: params.set().name.as_str(),
    })?;
    let left = start.checked_sub(least);
    if left.and_then(|left| params.start_level(size, left)) != Some(start) {
        let error = FieldError::new("level of the first round key", start as u64, least as u64);
        return Err(error.into());
    }
    Ok((size, direction, start))
}

impl<A: Arithmetic> WrappedKey<A> {
    /// What it holds.
    pub fn describe(&self) -> WrappedKeyInfo {
        described(self.size, self.direction, self.output_level())
    }

    /// What a file of `params` holds, by its first record and its length.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn describe_file<R: Read>(params: &Params<A>, mut r: Reader<R>) -> Result<WrappedKeyInfo> {
        let (size, direction, start) = read_head(params, &mut r)?;
        let contents = wrapped_contents(params, size, start);
        read::check_length::<Error>(params.id(), r.header(), contents)?;
        let output = key_level(params, start, size.rounds());
        Ok(described(size, direction, output))
    }

    /// Reads a wrapped key of `params`.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn read<R: Read>(params: &Arc<Params<A>>, mut r: Reader<R>) -> Result<Self> {
        let id = r.header().key_id();
        let (size, direction, start) = read_head(params, &mut r)?;
        let bodies = body_levels(params, size, start).enumerate();
        let bodies = bodies.map(|(number, level)| {
            let bytes = params.arithmetic().element_bytes(level);
            let body = read::record::<_, Error>(&mut r, POLYNOMIAL, number as u64, bytes)?;
            take_element(params, level, "wrapped key", &body)?;
            Ok(body)
        });
        let bodies = KeyRecords::Memory(bodies.collect::<Result<_>>()?);
        r.finish()?;
        Ok(Self {
            params: params.clone(),
            id,
            size,
            direction,
            start,
            bodies,
        })
    }

    /// As [`read`](Self::read), but leaves the ciphertexts in the file until they are used, after they were all read once.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn open(params: &Arc<Params<A>>, mut r: Reader<File>) -> Result<Self> {
        let id = r.header().key_id();
        let (size, direction, start) = read_head(params, &mut r)?;
        let levels: Vec<usize> = body_levels(params, size, start).collect();
        let bytes = |level: &usize| params.arithmetic().element_bytes(*level);
        let check = |number: usize, index, body: &[u8]| {
            let level = levels[number];
            if index != number as u64 {
                return Err(FieldError::new("number", index, number as u64).into());
            }
            take_element(params, level, "wrapped key", body).map(drop)
        };
        let stored = Stored::of(r, POLYNOMIAL, levels.iter().map(bytes), check)?;
        Ok(Self {
            params: params.clone(),
            id,
            size,
            direction,
            start,
            bodies: KeyRecords::File(stored),
        })
    }
}

/// Levels of the ciphertexts of a wrapped key, in the order of the file.
fn body_levels<A: Arithmetic>(
    params: &Params<A>,
    size: KeySize,
    start: usize,
) -> impl Iterator<Item = usize> {
    (0..=size.rounds()).flat_map(move |r| std::iter::repeat_n(key_level(params, start, r), BITS))
}

impl<A: Arithmetic> Records for WrappedKey<A> {
    fn header(&self) -> Result<Header, WireError> {
        let contents = wrapped_contents(&self.params, self.size, self.start);
        self.params.id().header(Kind::WrappedKey, self.id, contents)
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        Ok(match number.checked_sub(1) {
            None => meta(self.size, self.direction, self.start),
            Some(index) => {
                let mut buffer = Vec::new();
                let body = self.bodies.body(index as usize, &mut buffer)?.to_vec();
                Record::new(POLYNOMIAL, index, body)
            }
        })
    }
}

impl<A: Arithmetic> WrappedKeyFile<'_, A> {
    /// What it holds.
    pub fn describe(&self) -> WrappedKeyInfo {
        let output = key_level(self.secret.params(), self.start, self.size.rounds());
        described(self.size, self.direction, output)
    }
}

impl<A: Arithmetic> Records for WrappedKeyFile<'_, A> {
    fn header(&self) -> Result<Header, WireError> {
        let params = self.secret.params();
        let contents = wrapped_contents(params, self.size, self.start);
        params
            .id()
            .header(Kind::WrappedKey, self.secret.id(), contents)
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        let Some(index) = number.checked_sub(1) else {
            return Ok(meta(self.size, self.direction, self.start));
        };
        let (level, element) = self.element(index as usize);
        let arithmetic = self.secret.params().arithmetic();
        let out = Encoder::with_capacity(arithmetic.element_bytes(level) as usize);
        Ok(Record::new(
            POLYNOMIAL,
            index,
            arithmetic.put(level, &element, out).finish(),
        ))
    }
}

/// Bytes of one output batch at `level`.
///
/// # Panics
/// If the set has no such level.
pub fn batch_bytes<A: Arithmetic>(params: &Params<A>, level: usize) -> u64 {
    BITS as u64 * (NOISE_BYTES + params.arithmetic().element_bytes(level))
}

/// The body of one batch record.
///
/// # Errors
/// If the ciphertexts are at different levels.
pub fn encode_batch<A: Arithmetic>(params: &Params<A>, state: &State<A>) -> Result<Vec<u8>> {
    let level = state.level();
    let mut out = Encoder::with_capacity(batch_bytes(params, level) as usize);
    for c in &state.bits {
        if c.level != level {
            return Err(FieldError::new("level", c.level as u64, level as u64).into());
        }
        out = out.u8(level as u8).noise(c.noise.rms_log2);
        out = params.arithmetic().put(level, &c.element, out);
    }
    Ok(out.finish())
}

/// The ciphertexts at `level` from the body of one batch record. `key` is that of the file's header: without it, the ciphertexts are taken for those of whichever
/// key they are used with.
///
/// # Errors
/// Names what is wrong with the record.
pub fn decode_batch<A: Arithmetic>(
    params: &Params<A>,
    key: Option<KeyId>,
    level: usize,
    body: &[u8],
) -> Result<State<A>> {
    if level == 0 || level > params.top_level() {
        return Err(FieldError::new("level", level as u64, 1).into());
    }
    let mut input = Decoder::new(body);
    let bits = (0..BITS).map(|_| {
        let found = input.u8("level")?;
        if usize::from(found) != level {
            return Err(FieldError::new("level", found, level as u64).into());
        }
        let rms_log2 = input.f64("noise")?;
        if !(-64.0..=4096.0).contains(&rms_log2) {
            return Err(Error::NoiseBits { found: rms_log2 });
        }
        Ok(Ciphertext {
            owner: Owner::new(params.id(), key),
            level,
            element: params.arithmetic().take(level, "ciphertext", &mut input)?,
            noise: Noise { rms_log2 },
        })
    });
    let bits = bits.collect::<Result<_>>()?;
    input.finish("ciphertexts")?;
    Ok(State { bits })
}

/// Sizes of the files of a set, without making them: secret, evaluation key, and wrapped key of the largest AES key.
pub(crate) fn file_bytes<A: Arithmetic>(params: &Params<A>) -> [u64; 3] {
    let size = params.largest_size();
    let start = params.start_level(size, 0).unwrap_or(params.top_level());
    let secret = Contents::default().record(SecretKey::body_bytes(params));
    [
        (Kind::SecretKey, secret),
        (Kind::EvalKey, EvalKey::contents(params)),
        (Kind::WrappedKey, wrapped_contents(params, size, start)),
    ]
    .map(|(kind, contents)| {
        let header = params.id().header(kind, KeyId([0; 16]), contents);
        header.map_or(0, |h| h.file_bytes())
    })
}
