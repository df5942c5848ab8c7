//! Keys and ciphertexts as records of the container (`docs/FORMAT.md`).
//!
//! | kind | tag | index | body |
//! |---|---|---|---|
//! | secret key | 1 | 0 | n residues modulo 3 (0, 1, 2 for 0, 1, -1), positions in ring layout |
//! | evaluation key | 1 | 0 | seed, 32 bytes |
//! | | 2 | key · digits + digit | first half b, modulo every prime in order |
//! | wrapped key | 1 | 0 | AES key bits (u16), seed |
//! | | 2 | 16 · round + byte | first half c0, modulo the primes of its level |
//! | ciphertexts | set by `homaes` | | sixteen times: level (u8), noise rms and tail (f64), both halves |
//!
//! Residues are canonical, in evaluation form and stored form (times 2^52 mod p), bit-packed at the
//! modulus's length. Keys are ordered σ^1(s) … σ^7(s), s·σ^0(s) … s·σ^3(s). Second halves are expanded
//! from the seed: ChaCha20 stream (key·2^16 + digit·2^8)·2^8 + prime for the evaluation key and
//! (16·round + byte)·2^8 + prime for the wrapped key, primes numbered last, low, middle, base, special.

use crate::ciphertext::Ciphertext;
use crate::error::{Error, Result};
use crate::keys::{EvalKey, SWITCH_KEYS, SecretKey, key_stream, uniform_poly};
use crate::keyswitch::SwitchKey;
use crate::noise::Noise;
use crate::params::Params;
use crate::poly::Poly;
use crate::sliced::{State, into_state};
use crate::wrapped::{WrappedKey, check_rounds, round_key_level, stream};
use homaes_aes::KeySize;
use homaes_math::Words;
use homaes_math::sample::Seed;
use homaes_wire::{Contents, Decoder, Encoder, Header, KeyId, Kind, Reader, Writer, packed_len};
use std::io::{Read, Write};
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

const META: u16 = 1;
const LIMBS: u16 = 2;
const SEED_BYTES: u64 = 32;
const NOISE_BYTES: usize = 17;

fn header(params: &Params, kind: Kind, id: KeyId, contents: Contents) -> Result<Header> {
    let name = params.set().name.as_str();
    Ok(Header::new(kind, name, *params.digest(), id, contents)?)
}

/// Bytes of one polynomial modulo the primes of `basis`.
fn poly_bytes(params: &Params, basis: &[usize]) -> u64 {
    let limbs = basis.iter();
    limbs
        .map(|&i| packed_len(params.ring().n(), params.modulus(i).bits()) as u64)
        .sum()
}

fn put_poly(params: &Params, basis: &[usize], poly: &Poly, mut out: Encoder) -> Encoder {
    let mut canonical = Words::scratch(params.ring().n());
    for (limb, &i) in poly.limbs.iter().zip(basis) {
        let m = params.modulus(i);
        for (c, &x) in canonical.iter_mut().zip(limb.iter()) {
            *c = m.canonical(x);
        }
        out = out.residues(m.p(), &canonical);
    }
    out
}

fn take_poly(
    params: &Params,
    basis: &[usize],
    what: &'static str,
    input: &mut Decoder<'_>,
) -> Result<Poly> {
    let n = params.ring().n();
    let limbs = basis.iter().map(|&i| {
        let residues = input.residues(what, params.modulus(i).p(), n)?;
        let mut limb = Words::scratch(n);
        limb.copy_from_slice(&residues);
        Ok(limb)
    });
    Ok(Poly {
        limbs: limbs.collect::<Result<_>>()?,
    })
}

fn check_set<R: Read>(params: &Params, r: &Reader<R>) -> Result<()> {
    Ok(r.check_set(params.set().name.as_str(), params.digest())?)
}

/// The next record, which must be number `expected`.
fn record<R: Read>(r: &mut Reader<R>, tag: u16, expected: u64, len: u64) -> Result<Vec<u8>> {
    let (found, body) = r.next_indexed(tag, len)?;
    if found != expected {
        return Err(Error::Field {
            what: "record number",
            found,
            expected,
        });
    }
    Ok(body)
}

impl SecretKey {
    fn body_bytes(params: &Params) -> u64 {
        packed_len(params.ring().n(), 2) as u64
    }

    /// The container header of this key.
    ///
    /// # Errors
    /// None in practice: names and sizes are those of a checked set.
    pub fn header(&self) -> Result<Header> {
        let contents = Contents::default().record(Self::body_bytes(self.params()));
        header(self.params(), Kind::SecretKey, self.id(), contents)
    }

    /// Writes all records.
    ///
    /// # Errors
    /// If the output fails.
    pub fn write<W: Write>(&self, w: &mut Writer<W>) -> Result<()> {
        let residues = self.coefficients().iter().map(|&c| c.rem_euclid(3) as u64);
        let residues = Zeroizing::new(residues.collect::<Vec<u64>>());
        let body = Zeroizing::new(Encoder::new().residues(3, &residues).finish());
        Ok(w.write_record(META, 0, &body)?)
    }

    /// Reads a key of `params`.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn read<R: Read>(params: &Arc<Params>, mut r: Reader<R>) -> Result<Self> {
        check_set(params, &r)?;
        let id = r.header().key_id();
        let body = Zeroizing::new(record(&mut r, META, 0, Self::body_bytes(params))?);
        r.finish()?;
        let mut input = Decoder::new(&body);
        let n = params.ring().n();
        let residues = Zeroizing::new(input.residues("secret key", 3, n)?);
        input.finish("secret key")?;
        // 0, 1, 2 -> 0, 1, -1 without a branch
        let mut coefficients: Vec<i64> = residues
            .iter()
            .map(|&r| r as i64 - 3 * (r >> 1) as i64)
            .collect();
        let weight = coefficients.iter().map(|c| c * c).sum::<i64>() as usize;
        if weight != params.set().weight {
            coefficients.zeroize();
            return Err(Error::Field {
                what: "weight of the secret",
                found: weight as u64,
                expected: params.set().weight as u64,
            });
        }
        Ok(Self::from_coefficients(params, id, coefficients))
    }
}

impl EvalKey {
    fn contents(params: &Params) -> Contents {
        let records = (SWITCH_KEYS * params.digits()) as u64;
        Contents::default()
            .record(SEED_BYTES)
            .records(records, poly_bytes(params, &params.all_primes()))
    }

    /// The container header of this key.
    ///
    /// # Errors
    /// None in practice: names and sizes are those of a checked set.
    pub fn header(&self) -> Result<Header> {
        header(
            &self.params,
            Kind::EvalKey,
            self.id,
            Self::contents(&self.params),
        )
    }

    /// Writes all records.
    ///
    /// # Errors
    /// If the output fails.
    pub fn write<W: Write>(&self, w: &mut Writer<W>) -> Result<()> {
        let all = self.params.all_primes();
        w.write_record(META, 0, &self.seed)?;
        let halves = self.keys.iter().flat_map(|k| &k.digits);
        for (index, [b, _]) in halves.enumerate() {
            let size = poly_bytes(&self.params, &all) as usize;
            let body = put_poly(&self.params, &all, b, Encoder::with_capacity(size));
            w.write_record(LIMBS, index as u64, &body.finish())?;
        }
        Ok(())
    }

    /// Reads a key of `params` and expands its second halves.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn read<R: Read>(params: &Arc<Params>, mut r: Reader<R>) -> Result<Self> {
        check_set(params, &r)?;
        let id = r.header().key_id();
        let seed = seed(&record(&mut r, META, 0, SEED_BYTES)?)?;
        let all = params.all_primes();
        let (size, digits) = (poly_bytes(params, &all), params.digits());
        let mut keys = Vec::with_capacity(SWITCH_KEYS);
        for key in 0..SWITCH_KEYS {
            let pairs = (0..digits).map(|digit| {
                let index = (key * digits + digit) as u64;
                let body = record(&mut r, LIMBS, index, size)?;
                let mut input = Decoder::new(&body);
                let b = take_poly(params, &all, "evaluation key", &mut input)?;
                input.finish("evaluation key")?;
                let a = uniform_poly(params, &seed, key_stream(key, digit), &all);
                Ok([b, a])
            });
            keys.push(SwitchKey {
                digits: pairs.collect::<Result<_>>()?,
            });
        }
        r.finish()?;
        Ok(Self {
            params: params.clone(),
            id,
            seed,
            keys,
        })
    }
}

fn seed(bytes: &[u8]) -> Result<Seed> {
    let mut input = Decoder::new(bytes);
    let seed = input.array::<32>("seed")?;
    input.finish("seed")?;
    Ok(seed)
}

impl WrappedKey {
    fn contents(params: &Params, size: KeySize) -> Contents {
        let rounds = size.rounds();
        (0..=rounds).fold(Contents::default().record(2 + SEED_BYTES), |c, r| {
            let basis = params.basis(round_key_level(rounds, r));
            c.records(16, poly_bytes(params, basis))
        })
    }

    /// The container header of this key.
    ///
    /// # Errors
    /// None in practice: names and sizes are those of a checked set.
    pub fn header(&self) -> Result<Header> {
        let contents = Self::contents(&self.params, self.size);
        header(&self.params, Kind::WrappedKey, self.id, contents)
    }

    /// Writes all records.
    ///
    /// # Errors
    /// If the output fails.
    pub fn write<W: Write>(&self, w: &mut Writer<W>) -> Result<()> {
        let bits = (self.size.key_bytes() * 8) as u16;
        let meta = Encoder::new().u16(bits).bytes(&self.seed).finish();
        w.write_record(META, 0, &meta)?;
        for (r, round) in self.rounds.iter().enumerate() {
            for (i, c) in round.iter().enumerate() {
                let basis = self.params.basis(c.level);
                let size = poly_bytes(&self.params, basis) as usize;
                let body = Encoder::with_capacity(size);
                let body = put_poly(&self.params, basis, &c.parts[0], body);
                w.write_record(LIMBS, (16 * r + i) as u64, &body.finish())?;
            }
        }
        Ok(())
    }

    /// Reads a wrapped key of `params` and expands its second halves.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn read<R: Read>(params: &Arc<Params>, mut r: Reader<R>) -> Result<Self> {
        check_set(params, &r)?;
        let id = r.header().key_id();
        let meta = record(&mut r, META, 0, 2 + SEED_BYTES)?;
        let mut input = Decoder::new(&meta);
        let bits = input.u16("AES key bits")?;
        let seed = seed(input.bytes("seed", 32)?)?;
        input.finish("wrapped key")?;
        let size = KeySize::from_key_bytes(usize::from(bits) / 8)
            .ok()
            .filter(|_| bits.is_multiple_of(8))
            .ok_or(Error::Field {
                what: "AES key bits",
                found: u64::from(bits),
                expected: 128,
            })?;
        check_rounds(params, size)?;
        let count = size.rounds();
        let mut rounds = Vec::with_capacity(count + 1);
        for round in 0..=count {
            let level = round_key_level(count, round);
            let basis = params.basis(level);
            let keys = (0..16).map(|i| {
                let index = (16 * round + i) as u64;
                let body = record(&mut r, LIMBS, index, poly_bytes(params, basis))?;
                let mut input = Decoder::new(&body);
                let c0 = take_poly(params, basis, "wrapped key", &mut input)?;
                input.finish("wrapped key")?;
                let c1 = uniform_poly(params, &seed, stream(round, i), basis);
                Ok(Ciphertext {
                    level,
                    parts: [c0, c1],
                    noise: params.noise().fresh(),
                })
            });
            rounds.push(into_state(keys.collect::<Result<_>>()?));
        }
        r.finish()?;
        Ok(Self {
            params: params.clone(),
            id,
            size,
            seed,
            rounds,
        })
    }
}

/// Bytes of one output batch: sixteen ciphertexts at level 1.
pub fn batch_bytes(params: &Params) -> u64 {
    16 * (NOISE_BYTES as u64 + 2 * poly_bytes(params, params.basis(1)))
}

/// The body of one batch record.
///
/// # Errors
/// If the ciphertexts are not at level 1, where evaluation ends.
pub fn encode_batch(params: &Params, state: &State) -> Result<Vec<u8>> {
    let mut out = Encoder::with_capacity(batch_bytes(params) as usize);
    for c in state {
        if c.level != 1 {
            return Err(level_error(c.level));
        }
        out = out
            .u8(c.level as u8)
            .f64(c.noise.rms_log2)
            .f64(c.noise.tail_log2);
        for part in &c.parts {
            out = put_poly(params, params.basis(c.level), part, out);
        }
    }
    Ok(out.finish())
}

/// Sixteen ciphertexts from the body of one batch record.
///
/// # Errors
/// Names what is wrong with the record.
pub fn decode_batch(params: &Params, body: &[u8]) -> Result<State> {
    let mut input = Decoder::new(body);
    let state = (0..16).map(|_| {
        let level = usize::from(input.u8("level")?);
        if level != 1 {
            return Err(level_error(level));
        }
        let noise = Noise {
            rms_log2: bounded(input.f64("noise")?)?,
            tail_log2: bounded(input.f64("noise tail")?)?,
        };
        let mut part = || take_poly(params, params.basis(level), "ciphertext", &mut input);
        Ok(Ciphertext {
            level,
            parts: [part()?, part()?],
            noise,
        })
    });
    let state = into_state(state.collect::<Result<_>>()?);
    input.finish("ciphertexts")?;
    Ok(state)
}

fn level_error(level: usize) -> Error {
    Error::Field {
        what: "level",
        found: level as u64,
        expected: 1,
    }
}

/// A noise figure that is a number and within what any chain can hold.
fn bounded(bits: f64) -> Result<f64> {
    if (-64.0..=4096.0).contains(&bits) {
        return Ok(bits);
    }
    Err(Error::NoiseBits { found: bits })
}

/// Sizes of the files of a set, without making them: secret, evaluation and AES-128 wrapped key.
pub(crate) fn file_bytes(params: &Params) -> [u64; 3] {
    let id = KeyId([0; 16]);
    let size = |kind, contents| header(params, kind, id, contents).map_or(0, |h| h.file_bytes());
    let secret = Contents::default().record(SecretKey::body_bytes(params));
    [
        size(Kind::SecretKey, secret),
        size(Kind::EvalKey, EvalKey::contents(params)),
        size(
            Kind::WrappedKey,
            WrappedKey::contents(params, KeySize::Aes128),
        ),
    ]
}

#[cfg(test)]
mod tests;
