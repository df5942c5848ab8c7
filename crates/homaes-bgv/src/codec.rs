//! Keys and ciphertexts as records of the container (`docs/FORMAT.md`).
//!
//! | kind | tag | index | body |
//! |---|---|---|---|
//! | secret key | 1 | 0 | n residues modulo 3 (0, 1, 2 for 0, 1, -1), positions in ring layout |
//! | evaluation key | 1 | 0 | seed, 32 bytes |
//! | | 2 | 0, 1, 2, … | keys in order, digits in order: of each key the part without the middle prime, then that with it: first half b, modulo the part's primes in order |
//! | wrapped key | 1 | 0 | AES key bits (u16), direction (u8: 0 encrypt, 1 decrypt), layouts (u8); per layout: layout (u8: 0 sliced, 1 packed, 2 bits), starting level (u16), seed |
//! | | 2 | 0, 1, 2, … | layouts in order, round keys in order, ciphertexts in order: first half c0, modulo the primes of its level |
//! | ciphertexts | set by `homaes` | | 16, 1 or 128 times: level (u8), noise rms and tail (f64), both halves |
//!
//! Residues are canonical, in evaluation form and stored form (times 2^52 mod p), bit-packed at the
//! modulus's length. Keys are ordered σ^1(s) … σ^7(s), s·σ^0(s) … s·σ^3(s), then those of packed columns,
//! rotations and s³ as far as the set has them (`Target::all`). Second halves are expanded from the seed: ChaCha20 stream (key·2^16 +
//! digit·2^8)·2^8 + prime for the evaluation key and (c·round + i)·2^8 + prime for ciphertext i of the c of a
//! layout in the wrapped key, primes numbered last, low, middle, base, special.

use crate::ciphertext::{Ciphertext, History, MODE_SUMMANDS};
use crate::course::{Course, offered};
use crate::error::{Error, Result};
use crate::keys::{EvalKey, SecretKey, Target, key_stream, spread, uniform_poly};
use crate::keyswitch::SwitchKey;
use crate::noise::Noise;
use crate::params::{Params, Tail};
use crate::poly::Poly;
use crate::state::State;
use crate::wrapped::{Part, WrappedKey, stream};
use homaes_aes::{Direction, KeySize, Layout};
use homaes_math::Words;
use homaes_math::sample::Seed;
use homaes_wire::{Contents, Decoder, Encoder, Header, KeyId, Kind, Reader, Writer, packed_len};
use std::io::{Read, Write};
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

const META: u16 = 1;
const LIMBS: u16 = 2;
const SEED_BYTES: u64 = 32;
/// Bytes of a wrapped key's first record: fixed, and per layout.
const META_BYTES: u64 = 4;
const PART_BYTES: u64 = 3 + SEED_BYTES;
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

fn put_poly(params: &Params, basis: &[usize], poly: &Poly, out: Encoder) -> Encoder {
    put_limbs(params, basis, poly.limbs.iter(), out)
}

fn put_limbs<'a>(
    params: &Params,
    basis: &[usize],
    limbs: impl Iterator<Item = &'a Words>,
    mut out: Encoder,
) -> Encoder {
    let mut canonical = Words::scratch(params.ring().n());
    for (limb, &i) in limbs.zip(basis) {
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
        let start = Contents::default().record(SEED_BYTES);
        Target::all(params).into_iter().fold(start, |c, target| {
            Tail::ALL.into_iter().fold(c, |c, tail| {
                let size = poly_bytes(params, &target.primes(params, tail));
                c.records(target.digits(params, tail) as u64, size)
            })
        })
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
        let params = &self.params;
        w.write_record(META, 0, &self.seed)?;
        let mut index = 0;
        for (target, key) in self.targets.iter().zip(&self.keys) {
            for (tail, digits) in Tail::ALL.into_iter().zip(&key.parts) {
                let primes = target.primes(params, tail);
                let size = poly_bytes(params, &primes) as usize;
                for [b, _] in digits {
                    let limbs = primes.iter().map(|&i| &b.limbs[i]);
                    let body = put_limbs(params, &primes, limbs, Encoder::with_capacity(size));
                    w.write_record(LIMBS, index, &body.finish())?;
                    index += 1;
                }
            }
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
        let targets = Target::all(params);
        let mut keys = Vec::with_capacity(targets.len());
        let mut index = 0;
        for (key, target) in targets.iter().enumerate() {
            let mut part = |tail: Tail| {
                let primes = target.primes(params, tail);
                let size = poly_bytes(params, &primes);
                let pairs = (0..target.digits(params, tail)).map(|digit| {
                    let body = record(&mut r, LIMBS, index, size)?;
                    index += 1;
                    let mut input = Decoder::new(&body);
                    let b = take_poly(params, &primes, "evaluation key", &mut input)?;
                    input.finish("evaluation key")?;
                    let a = uniform_poly(params, &seed, key_stream(key, tail, digit), &primes);
                    Ok([b, a].map(|half| spread(params, &primes, half)))
                });
                pairs.collect::<Result<Vec<_>>>()
            };
            let parts = [part(Tail::Outer)?, part(Tail::Middle)?, part(Tail::Low)?];
            keys.push(SwitchKey { parts });
        }
        r.finish()?;
        Ok(Self {
            params: params.clone(),
            id,
            seed,
            targets,
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
    fn contents(params: &Params, courses: &[Course]) -> Contents {
        let start = Contents::default().record(META_BYTES + courses.len() as u64 * PART_BYTES);
        courses.iter().fold(start, |c, course| {
            (0..=course.size.rounds()).fold(c, |c, r| {
                let basis = params.basis(course.key_level(r));
                let count = course.layout.ciphertexts() as u64;
                c.records(count, poly_bytes(params, basis))
            })
        })
    }

    /// Length of the file of a key before it is made, with what [`encrypt`](Self::encrypt) takes.
    ///
    /// # Errors
    /// If a layout is not offered by the set, or the set has too few levels.
    pub fn planned_bytes(
        params: &Params,
        size: KeySize,
        layouts: &[Layout],
        levels_left: Option<usize>,
    ) -> Result<u64> {
        let courses = layouts
            .iter()
            .map(|&layout| Course::new(params, layout, size, levels_left))
            .collect::<Result<Vec<_>>>()?;
        let contents = Self::contents(params, &courses);
        Ok(header(params, Kind::WrappedKey, KeyId([0; 16]), contents)?.file_bytes())
    }

    /// The container header of this key.
    ///
    /// # Errors
    /// None in practice: names and sizes are those of a checked set.
    pub fn header(&self) -> Result<Header> {
        let courses: Vec<Course> = self.parts.iter().map(|p| p.course).collect();
        let contents = Self::contents(&self.params, &courses);
        header(&self.params, Kind::WrappedKey, self.id, contents)
    }

    /// Writes all records.
    ///
    /// # Errors
    /// If the output fails.
    pub fn write<W: Write>(&self, w: &mut Writer<W>) -> Result<()> {
        let bits = (self.size.key_bytes() * 8) as u16;
        let direction = u8::from(self.direction == Direction::Decrypt);
        let mut meta = Encoder::new()
            .u16(bits)
            .u8(direction)
            .u8(self.parts.len() as u8);
        for part in &self.parts {
            meta = meta
                .u8(layout_code(part.course.layout))
                .u16(part.course.start as u16)
                .bytes(&part.seed);
        }
        w.write_record(META, 0, &meta.finish())?;
        let all = self.parts.iter().flat_map(|p| p.rounds.iter().flatten());
        for (index, c) in (0..).zip(all) {
            let basis = self.params.basis(c.level);
            let size = poly_bytes(&self.params, basis) as usize;
            let body = Encoder::with_capacity(size);
            let body = put_poly(&self.params, basis, &c.parts[0], body);
            w.write_record(LIMBS, index, &body.finish())?;
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
        let most = META_BYTES + PART_BYTES * Layout::ALL.len() as u64;
        let meta = r.next_record(META, most)?;
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
        let mut heads: Vec<(Course, Seed)> = Vec::new();
        let count = input.u8("layouts")?;
        if count == 0 {
            return Err(field("layouts", count, 1));
        }
        for _ in 0..count {
            let code = input.u8("layout")?;
            let layout = Layout::ALL.into_iter().find(|&l| layout_code(l) == code);
            let layout = layout.ok_or_else(|| field("layout", code, 0))?;
            if heads.iter().any(|h| h.0.layout == layout) {
                return Err(Error::LayoutTwice { layout });
            }
            let start = usize::from(input.u16("starting level")?);
            let course = Course::at(params, layout, size, start)?;
            heads.push((course, input.array::<32>("seed")?));
        }
        input.finish("wrapped key")?;
        let mut index = 0;
        let parts = heads
            .into_iter()
            .map(|head| read_part(params, head, &mut index, &mut r))
            .collect::<Result<_>>()?;
        r.finish()?;
        Ok(Self {
            params: params.clone(),
            id,
            size,
            direction,
            parts,
        })
    }
}

/// The round keys of one layout.
fn read_part<R: Read>(
    params: &Params,
    (course, seed): (Course, Seed),
    index: &mut u64,
    r: &mut Reader<R>,
) -> Result<Part> {
    let mut rounds = Vec::with_capacity(course.size.rounds() + 1);
    for round in 0..=course.size.rounds() {
        let level = course.key_level(round);
        let basis = params.basis(level);
        let keys = (0..course.layout.ciphertexts()).map(|i| {
            let body = record(r, LIMBS, *index, poly_bytes(params, basis))?;
            *index += 1;
            let mut input = Decoder::new(&body);
            let c0 = take_poly(params, basis, "wrapped key", &mut input)?;
            input.finish("wrapped key")?;
            let c1 = uniform_poly(params, &seed, stream(course.layout, round, i), basis);
            Ok(Ciphertext {
                key: None,
                level,
                parts: [c0, c1],
                noise: params.noise().fresh(),
                history: History::AES,
            })
        });
        rounds.push(keys.collect::<Result<_>>()?);
    }
    Ok(Part {
        course,
        seed,
        rounds,
    })
}

fn field(what: &'static str, found: impl Into<u64>, expected: u64) -> Error {
    Error::Field {
        what,
        found: found.into(),
        expected,
    }
}

/// The number of a layout in files.
fn layout_code(layout: Layout) -> u8 {
    match layout {
        Layout::Sliced => 0,
        Layout::Packed => 1,
        Layout::Bits => 2,
    }
}

/// Bytes of one output batch at `level`.
///
/// # Panics
/// If the set has no such level.
pub fn batch_bytes(params: &Params, layout: Layout, level: usize) -> u64 {
    let one = NOISE_BYTES as u64 + 2 * poly_bytes(params, params.basis(level));
    layout.ciphertexts() as u64 * one
}

/// The body of one batch record.
///
/// # Errors
/// If the ciphertexts are at different levels, or the state is not finished.
pub fn encode_batch(params: &Params, state: &State) -> Result<Vec<u8>> {
    let level = state.level();
    for c in &state.ciphertexts {
        c.check_shape(params)?;
    }
    let size = batch_bytes(params, state.layout, level);
    let mut out = Encoder::with_capacity(size as usize);
    for c in &state.ciphertexts {
        if c.level != level {
            return Err(field("level", c.level as u64, level as u64));
        }
        // the reader takes the noise for that of a last round, with so many public blocks at most
        if let History::Aes { finished, summands } = c.history {
            if !finished && state.layout != Layout::Bits {
                return Err(field("finished state", 0u64, 1));
            }
            if summands > MODE_SUMMANDS {
                let most = u64::from(MODE_SUMMANDS);
                return Err(field("public blocks added to a state", summands, most));
            }
        }
        out = out
            .u8(c.level as u8)
            .f64(c.noise.rms_log2)
            .f64(c.noise.tail_log2);
        for part in &c.parts {
            out = put_poly(params, params.basis(c.level), part, out);
        }
    }
    match state.slope {
        0 => Ok(out.finish()),
        slope => Err(field("slope of a finished state", slope as u64, 0)),
    }
}

/// The ciphertexts of `layout` at `level` from the body of one batch record. `key` is that of the file's header: without it, the ciphertexts
/// are taken for those of whichever key they are used with.
///
/// # Errors
/// Names what is wrong with the record.
pub fn decode_batch(
    params: &Params,
    key: Option<KeyId>,
    layout: Layout,
    level: usize,
    body: &[u8],
) -> Result<State> {
    let mut input = Decoder::new(body);
    offered(params, layout)?;
    if level == 0 || level > params.top_level() {
        return Err(field("level", level as u64, 1));
    }
    let ciphertexts = (0..layout.ciphertexts()).map(|_| {
        let found = input.u8("level")?;
        if usize::from(found) != level {
            return Err(field("level", found, level as u64));
        }
        let noise = Noise::carried(
            bounded(input.f64("noise")?)?,
            bounded(input.f64("noise tail")?)?,
        );
        let mut part = || take_poly(params, params.basis(level), "ciphertext", &mut input);
        Ok(Ciphertext {
            key,
            level,
            parts: [part()?, part()?],
            noise,
            history: History::Aes {
                finished: layout != Layout::Bits,
                summands: MODE_SUMMANDS,
            },
        })
    });
    let ciphertexts = ciphertexts.collect::<Result<_>>()?;
    input.finish("ciphertexts")?;
    Ok(State {
        layout,
        ciphertexts,
        slope: 0,
    })
}

/// A noise figure that is a number and within what any chain can hold.
fn bounded(bits: f64) -> Result<f64> {
    if (-64.0..=4096.0).contains(&bits) {
        return Ok(bits);
    }
    Err(Error::NoiseBits { found: bits })
}

/// Sizes of the files of a set, without making them: secret, evaluation key, and wrapped key of the largest AES key for
/// the first layout.
pub(crate) fn file_bytes(params: &Params) -> [u64; 3] {
    let id = KeyId([0; 16]);
    let size = |kind, contents| header(params, kind, id, contents).map_or(0, |h| h.file_bytes());
    let secret = Contents::default().record(SecretKey::body_bytes(params));
    [
        size(Kind::SecretKey, secret),
        size(Kind::EvalKey, EvalKey::contents(params)),
        params.first_course().map_or(0, |course| {
            size(Kind::WrappedKey, WrappedKey::contents(params, &[course]))
        }),
    ]
}

#[cfg(test)]
mod tests;
