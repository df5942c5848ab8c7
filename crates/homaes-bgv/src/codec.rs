//! Keys and ciphertexts as records of the container (`docs/FORMAT.md`).
//!
//! | kind | tag | index | body |
//! |---|---|---|---|
//! | secret key | 1 | 0 | n residues modulo 3 (0, 1, 2 for 0, 1, -1), positions in ring layout; if AES runs in K, those of K's secret follow |
//! | evaluation key | 1 | 0 | seed, 32 bytes |
//! | | 2 | 0, 1, 2, … | keys in order, parts in order (`KeyPart::ALL`), digits in order: first half b, modulo the part's primes in order; if AES runs in K, its keys come first |
//! | wrapped key | 1 | 0 | AES key bits (u16), direction (u8: 0 encrypt, 1 decrypt), layouts (u8); per layout: layout (u8: 0 sliced, 1 packed, 2 bits), starting level (u16), seed |
//! | | 2 | 0, 1, 2, … | layouts in order, round keys in order, ciphertexts in order: first half c0, modulo the primes of its level |
//! | version 2 | 1 | 0 | AES key bits (u16), direction (u8), form (u8), layouts (u8); layout (u8) of each; starting level (u16); if compact, seed; if many, seed, number of AES keys (u16) |
//! | form 0 | 2 | 0, 1, 2, … | expanded: as in version 1, but both halves |
//! | form 1 | 2 | 0, 1, 2, … | compact, direction 2 for both: for each round key Tr_H(c0) (`aes::compact`), n/16 words for each prime of its level |
//! | form 2 | 3 | 0 | many AES keys: their names |
//! | | 2 | 0 … 15 | first half c0 of byte i of every block's AES key, modulo the primes of its level (`aes::schedule`) |
//! | ciphertexts | set by `homaes` | | 16, 1 or 128 times: level (u8), noise rms and tail (f64), both halves |
//! | final results | set by `homaes` | | at level 1, 16, 8 or 1 times: level (u8), noise rms and tail (f64), c1 and c0 rounded (`codec/rounded.rs`) |
//! | computed values | set by `homaes` | | 0 (u8), then the same once; older files lack the 0 |
//! | computed integers | set by `homaes` | | `codec/integers.rs` |
//!
//! Residues are canonical, in evaluation form and stored form (times 2^52 mod p), bit-packed at the modulus's length.
//! Keys are ordered σ^1(s) … σ^7(s), s·σ^0(s) … s·σ^3(s), then those of packed columns, rotations and s³ if the file
//! has them (`Target::all`), which its length tells (`eval_key_kinds`).
//!
//! Second halves are expanded from seeds by ChaCha20; i is the prime's number in the order last, low, middle, base,
//! special, special primes of parts in one digit. In the evaluation key, the stream is the prime p, under the seed that
//! [`stream_seed`] derives from the digit's name; in keys of version 1, the stream is (key·2^16 + part·2^12 +
//! digit·2^8)·2^8 + i under the key's seed. In the wrapped key, it is (c·round + j)·2^8 + i for ciphertext j of the c
//! of a layout, and in the compact form round·2^8 + i.
//!
//! [`stream_seed`]: homaes_scheme::file::stream_seed

mod integers;
mod rounded;
mod wrapped;

use crate::aes::Aes;
use crate::aes::level_plan::offered;
use crate::aes::state::{Form, State};
use crate::ciphertext::{Ciphertext, History, MODE_SUMMANDS};
use crate::device::{Device, Processor};
use crate::error::{Error, Result};
use crate::keys::{EvalKey, EvalKeyFile, KeyDigit, SecretKey, Target, key_stream, uniform_poly};
use crate::keyswitch::{KeyPoly, SwitchKey};
use crate::noise::Noise;
use crate::params::residues::{poly_bytes, put_poly, take_poly};
use crate::params::{KeyPart, Params};
use homaes_aes::Layout;
use homaes_math::sample::Seed;
use homaes_rns::Poly;
use homaes_scheme::read::{self, SEED_BYTES};
use homaes_scheme::{FieldError, Owner, Record, Records};
use homaes_wire::{Contents, Decoder, Encoder, Header, KeyId, Kind, Reader, WireError, packed_len};
pub use integers::Addend;
pub(crate) use rounded::noise_in_record;
use rounded::{form_at_level_1, rounded_bytes};
use std::io::Read;
use std::sync::Arc;
pub use wrapped::Pair;
use wrapped::{compact_contents, seeded_contents};
use zeroize::{Zeroize, Zeroizing};

const META: u16 = 1;
const LIMBS: u16 = 2;
const NAMES: u16 = 3;
const NOISE_BYTES: usize = 17;
/// First byte of a value's record. It is no valid level, so a value is never read as a batch with the bound of AES.
const VALUE: u8 = 0;

impl SecretKey {
    fn body_bytes(params: &Params) -> u64 {
        let own = packed_len(params.ring().n(), 2) as u64;
        own + params.cipher().map_or(0, |cipher| Self::body_bytes(cipher))
    }

    /// Reads a key of `params`.
    pub fn read<R: Read>(params: &Arc<Params>, mut r: Reader<R>) -> Result<Self> {
        read::check_set(params.id(), &r)?;
        let id = r.header().key_id();
        let body = Zeroizing::new(read::record::<_, Error>(
            &mut r,
            META,
            0,
            Self::body_bytes(params),
        )?);
        r.finish()?;
        let mut input = Decoder::new(&body);
        let mut key = Self::take(params, id, &mut input)?;
        if let Some(cipher) = params.cipher() {
            key.set_cipher(Self::take(cipher, id, &mut input)?);
        }
        input.finish("secret key")?;
        Ok(key)
    }

    /// Reads the secret of one ring.
    fn take(params: &Arc<Params>, id: KeyId, input: &mut Decoder<'_>) -> Result<Self> {
        let n = params.ring().n();
        let residues = Zeroizing::new(input.residues("secret key", 3, n)?);
        // 0, 1, 2 -> 0, 1, -1 without a branch
        let mut coefficients: Vec<i64> = residues
            .iter()
            .map(|&r| r as i64 - 3 * (r >> 1) as i64)
            .collect();
        let weight = coefficients.iter().map(|c| c * c).sum::<i64>() as usize;
        if weight != params.set().weight {
            coefficients.zeroize();
            let expected = params.set().weight;
            return Err(Error::field("weight of the secret", weight, expected));
        }
        Ok(Self::from_coefficients(params, id, coefficients))
    }
}

impl Records for SecretKey {
    fn header(&self) -> Result<Header, WireError> {
        let contents = Contents::default().record(Self::body_bytes(self.params()));
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
    /// `contents` and the records of one ring's keys.
    fn key_contents(params: &Params, targets: &[Target], contents: Contents) -> Contents {
        targets.iter().fold(contents, |c, target| {
            KeyPart::ALL.into_iter().fold(c, |c, part| {
                let size = poly_bytes(params, &target.primes(params, part));
                c.records(target.digits(params, part) as u64, size)
            })
        })
    }

    /// The contents of a file with these targets, those of K first.
    pub(crate) fn contents(params: &Params, [cipher, own]: [&[Target]; 2]) -> Contents {
        let start = Contents::default().record(SEED_BYTES);
        let cipher = Self::key_contents(params.of_aes(), cipher, start);
        Self::key_contents(params, own, cipher)
    }

    /// Reads a key of `params` and expands its second halves. Keys of older versions cannot expand compact wrapped
    /// keys.
    pub fn read<R: Read>(params: &Arc<Params>, mut r: Reader<R>) -> Result<Self> {
        read::check_set(params.id(), &r)?;
        let (kinds, bytes) = (eval_key_kinds(params), r.header().file_bytes());
        let expected = kinds[0].bytes;
        let kind = kinds.into_iter().find(|kind| kind.bytes == bytes);
        let kind = kind.ok_or(FieldError::new("bytes in all", bytes, expected))?;
        let seed = read::seed(&read::record::<_, Error>(&mut r, META, 0, SEED_BYTES)?)?;
        let mut index = 0;
        let [cipher, own] = kind.targets;
        let cipher = params.cipher().map(|params| {
            let keys = Self::read_keys(params, cipher, &seed, &mut index, &mut r)?;
            Ok::<_, Error>(Box::new(keys))
        });
        let cipher = cipher.transpose()?;
        let keys = Self::read_keys(params, own, &seed, &mut index, &mut r)?;
        r.finish()?;
        Ok(Self { cipher, ..keys })
    }

    /// Reads the keys of one ring, in records from `index` on.
    fn read_keys<R: Read>(
        params: &Arc<Params>,
        targets: Vec<Target>,
        seed: &Seed,
        index: &mut u64,
        r: &mut Reader<R>,
    ) -> Result<Self> {
        let (id, named) = (r.header().key_id(), r.header().version() > 1);
        let mut keys = Vec::new();
        for (key, target) in targets.into_iter().enumerate() {
            let mut parts = [const { Vec::new() }; KeyPart::ALL.len()];
            for part in KeyPart::ALL {
                let pairs = KeyDigit::all(params, target, part).map(|digit| {
                    let primes = &digit.primes;
                    let b = read_poly(params, primes, "evaluation key", index, r)?;
                    let a = match named {
                        true => digit.uniform(params, seed),
                        false => {
                            let stream = key_stream(key, part, digit.digit);
                            uniform_poly(params, seed, stream, primes)
                        }
                    };
                    Ok([b, a].map(|half| KeyPoly::new(params.rns().count(), primes, half)))
                });
                parts[part.number()] = pairs.collect::<Result<_>>()?;
            }
            keys.push((target, Arc::new(SwitchKey { parts })));
        }
        Ok(Self {
            params: params.clone(),
            id,
            keys,
            cipher: None,
        })
    }
}

impl Records for EvalKeyFile<'_> {
    fn header(&self) -> Result<Header, WireError> {
        let contents = EvalKey::contents(self.params(), self.all_targets());
        self.params()
            .id()
            .header(Kind::EvalKey, self.id(), contents)
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        let Some(index) = number.checked_sub(1) else {
            return Ok(Record::new(META, 0, self.seed.to_vec()));
        };
        let (file, at) = self.file_of(index as usize);
        let part = &file.digits[at];
        let [b, _] = file.pair(part);
        Ok(poly_record(file.params(), &part.primes, index, &b))
    }
}

/// Record `index` of the polynomials in a key's file.
fn poly_record(params: &Params, primes: &[usize], index: u64, poly: &Poly) -> Record {
    let body = Encoder::with_capacity(poly_bytes(params, primes) as usize);
    let body = put_poly(params, primes, poly, body);
    Record::new(LIMBS, index, body.finish())
}

/// Reads what [`poly_record`] wrote, and counts it.
fn read_poly<R: Read>(
    params: &Params,
    primes: &[usize],
    what: &'static str,
    index: &mut u64,
    r: &mut Reader<R>,
) -> Result<Poly> {
    let body = read::record::<_, Error>(r, LIMBS, *index, poly_bytes(params, primes))?;
    *index += 1;
    let mut input = Decoder::new(&body);
    let poly = take_poly(params, primes, what, &mut input)?;
    input.finish(what)?;
    Ok(poly)
}

/// Bytes of one output batch at `level`.
///
/// # Panics
/// If the set has no such level.
pub fn batch_bytes(params: &Params, layout: Layout, level: usize) -> u64 {
    let form = match level {
        1 => form_at_level_1(params, layout, params.set().joins),
        _ => Form::Whole,
    };
    bytes_in_form(params, layout, level, form)
}

/// The forms of output batches at `level`, in files of any version.
pub(crate) fn forms(layout: Layout, level: usize) -> &'static [Form] {
    match (layout, level) {
        (Layout::Sliced, 1) => &[Form::Joined, Form::Rounded, Form::Whole],
        (Layout::Packed, 1) => &[Form::Rounded, Form::Whole],
        _ => &[Form::Whole],
    }
}

/// Bytes of one output batch in a form.
pub(crate) fn bytes_in_form(params: &Params, layout: Layout, level: usize, form: Form) -> u64 {
    if form != Form::Whole {
        return rounded_bytes(params, layout, form);
    }
    let one = NOISE_BYTES as u64 + 2 * poly_bytes(params, params.basis(level));
    layout.ciphertexts() as u64 * one
}

/// The body of one batch record.
///
/// # Errors
/// If the ciphertexts are at different levels, or the state is not finished.
pub fn encode_batch(params: &Params, state: &State) -> Result<Vec<u8>> {
    encode_batch_on(&Processor, params, state)
}

impl Aes<'_> {
    /// [`encode_batch`](crate::encode_batch), packed on the evaluator's device, which copies only the record to memory.
    ///
    /// # Errors
    /// As there, and if the device fails.
    pub fn encode_batch(&self, state: &State) -> Result<Vec<u8>> {
        encode_batch_on(self.device(), self.params(), state)
    }
}

/// [`encode_batch`], packed on a device.
fn encode_batch_on(device: &dyn Device, params: &Params, state: &State) -> Result<Vec<u8>> {
    if !state.finished {
        return Err(Error::field("finished state", 0, 1));
    }
    let level = state.level();
    for c in &state.ciphertexts {
        c.check_set(params)?;
        if c.level != level {
            return Err(Error::field("level", c.level, level));
        }
        // readers assume the noise of a last round, with at most this many public blocks
        if let History::Aes { summands, .. } = c.history
            && summands > MODE_SUMMANDS
        {
            let [found, most] = [summands, MODE_SUMMANDS].map(|x| x as usize);
            let what = "public blocks added to a state";
            return Err(Error::field(what, found, most));
        }
    }
    let form = rounded::form_of(params, state)?;
    if form != Form::Whole {
        return rounded::encode(params, state, form);
    }
    let basis = params.basis(level);
    let half = poly_bytes(params, basis) as usize;
    let mut body = vec![0; bytes_in_form(params, state.layout, level, form) as usize];
    let mut halves = Vec::with_capacity(2 * state.ciphertexts.len());
    let records = body.chunks_exact_mut(NOISE_BYTES + 2 * half);
    for (record, c) in records.zip(&state.ciphertexts) {
        let (head, rest) = record.split_at_mut(NOISE_BYTES);
        head.copy_from_slice(&put_head(c.level, c.noise, Encoder::new()).finish());
        halves.extend(rest.chunks_exact_mut(half));
    }
    let parts = state.ciphertexts.iter().flat_map(|c| &c.parts);
    device.pack(params, basis, &parts.collect::<Vec<_>>(), &mut halves)?;
    Ok(body)
}

fn put_head(level: usize, noise: Noise, out: Encoder) -> Encoder {
    out.u8(level as u8)
        .noise(noise.rms_log2)
        .noise(noise.tail_log2)
}

/// Reads what [`put_head`] wrote; `level` checks the level.
fn take_head(
    level: impl FnOnce(usize) -> Result<usize>,
    input: &mut Decoder<'_>,
) -> Result<(usize, Noise)> {
    let level = level(input.u8("level")?.into())?;
    let noise = Noise::carried(
        bounded(input.f64("noise")?)?,
        bounded(input.f64("noise tail")?)?,
    );
    Ok((level, noise))
}

/// A check that the level is this one.
fn exactly(level: usize) -> impl Fn(usize) -> Result<usize> {
    move |found| match found == level {
        true => Ok(level),
        false => Err(Error::field("level", found, level)),
    }
}

fn put_ciphertext(params: &Params, c: &Ciphertext, out: Encoder) -> Encoder {
    let parts = c.parts.iter();
    parts.fold(put_head(c.level, c.noise, out), |out, part| {
        put_poly(params, params.basis(c.level), part, out)
    })
}

/// Reads what [`put_ciphertext`] wrote; `level` checks the level.
fn take_ciphertext(
    params: &Params,
    owner: Owner,
    level: impl FnOnce(usize) -> Result<usize>,
    history: History,
    input: &mut Decoder<'_>,
) -> Result<Ciphertext> {
    let (level, noise) = take_head(level, input)?;
    let mut part = || take_poly(params, params.basis(level), "ciphertext", input);
    Ok(Ciphertext {
        owner,
        level,
        parts: [part()?, part()?],
        noise,
        history,
    })
}

/// Bytes of a computed ciphertext's record at `level`.
pub(crate) fn value_bytes(params: &Params, level: usize) -> u64 {
    1 + NOISE_BYTES as u64 + 2 * poly_bytes(params, params.basis(level))
}

/// The record of a ciphertext that a program computed under the secret key `key`, for its owner to decrypt. It lacks
/// the noise bound, so [`decode_batch`] refuses it.
///
/// # Errors
/// If the ciphertext is of another set or key, or may decrypt wrongly with a probability above 2^-64.
pub fn encode_value(params: &Params, key: KeyId, c: &Ciphertext) -> Result<Vec<u8>> {
    c.check(params, key)?;
    if c.failure_log2(params) > params.set().log2_p_fail {
        c.checked(params, "value")?;
    }
    let out = Encoder::with_capacity(value_bytes(params, c.level) as usize).u8(VALUE);
    Ok(put_ciphertext(params, c, out).finish())
}

/// The ciphertext in a value's record. Only decrypt it: its noise bound is unknown.
pub(crate) fn decode_value(params: &Params, key: Option<KeyId>, body: &[u8]) -> Result<Ciphertext> {
    // older records begin with the level
    let mut input = Decoder::new(body.strip_prefix(&[VALUE]).unwrap_or(body));
    let (owner, top) = (Owner::new(params.id(), key), params.top_level());
    let level = |level| match (1..=top).contains(&level) {
        true => Ok(level),
        false => Err(Error::field("level", level, top)),
    };
    let c = take_ciphertext(params, owner, level, History::AES, &mut input)?;
    input.finish("ciphertext")?;
    Ok(c)
}

impl SecretKey {
    /// The bytes in the slots of a computed ciphertext's record, and the bits between its noise and failure.
    pub(crate) fn decrypt_value(&self, body: &[u8]) -> Result<(Vec<u8>, f64)> {
        self.decrypt(&decode_value(self.params(), Some(self.id()), body)?)
    }
}

/// The ciphertexts of `layout` at `level` from the body of one batch record. `key` is that of the file's header;
/// without it, the ciphertexts are accepted under any key.
pub fn decode_batch(
    params: &Params,
    key: Option<KeyId>,
    layout: Layout,
    level: usize,
    body: &[u8],
) -> Result<State> {
    offered(params, layout)?;
    if level == 0 || level > params.top_level() {
        return Err(Error::field("level", level, 1));
    }
    let owner = Owner::new(params.id(), key);
    let found = |form: &&Form| body.len() as u64 == bytes_in_form(params, layout, level, **form);
    let Some(&form) = forms(layout, level).iter().find(found) else {
        let expected = batch_bytes(params, layout, level) as usize;
        return Err(Error::field("bytes of a batch", body.len(), expected));
    };
    if form != Form::Whole {
        return rounded::decode(params, owner, (layout, form), body);
    }
    let mut input = Decoder::new(body);
    let ciphertexts = (0..layout.ciphertexts()).map(|_| {
        let history = History::Aes {
            output: layout != Layout::Bits,
            summands: MODE_SUMMANDS,
        };
        take_ciphertext(params, owner, exactly(level), history, &mut input)
    });
    let ciphertexts = ciphertexts.collect::<Result<_>>()?;
    input.finish("ciphertexts")?;
    Ok(State::finished(layout, ciphertexts, Form::Whole))
}

/// Checks that a noise figure is a number within the range of any chain.
fn bounded(bits: f64) -> Result<f64> {
    if (-64.0..=4096.0).contains(&bits) {
        return Ok(bits);
    }
    Err(Error::NoiseBits { found: bits })
}

/// A kind of evaluation keys of a set.
pub(crate) struct EvalKeyKind {
    pub(crate) layouts: Vec<Layout>,
    /// of K, and of the set's own ring
    targets: [Vec<Target>; 2],
    /// length of the file
    pub(crate) bytes: u64,
}

/// All kinds: those of [`EvalKey::choices`], then that of older versions, without the keys that expand wrapped keys.
///
/// The length of a file tells its kind, since the header has it before any record and checksums cover it. No set has
/// two kinds of one length (`tests::lengths_tell_the_kinds_of_evaluation_keys`).
pub(crate) fn eval_key_kinds(params: &Params) -> Vec<EvalKeyKind> {
    let kind = |layouts: Vec<Layout>, targets: [Vec<Target>; 2]| {
        let contents = EvalKey::contents(params, targets.each_ref().map(Vec::as_slice));
        let header = params.id().header(Kind::EvalKey, KeyId([0; 16]), contents);
        EvalKeyKind {
            layouts,
            targets,
            bytes: header.map_or(0, |h| h.file_bytes()),
        }
    };
    let choices = EvalKey::choices(params).into_iter();
    let made = choices.map(|layouts| {
        let targets = match params.cipher() {
            Some(cipher) => [Target::all(cipher, &layouts), Target::all(params, &[])],
            None => [Vec::new(), Target::all(params, &layouts)],
        };
        kind(layouts, targets)
    });
    let layouts = params.set().layouts.to_vec();
    let older = [Vec::new(), Target::without_expansion(params)];
    let older = params.cipher().is_none().then(|| kind(layouts, older));
    made.chain(older).collect()
}

/// Sizes of a set's files, without computing them: secret key, evaluation key, and wrapped key of the largest AES key,
/// for the first layout, compact if the set expands it.
pub(crate) fn file_bytes(params: &Params) -> [u64; 3] {
    let id = KeyId([0; 16]);
    let size = |kind, contents| {
        let header = params.id().header(kind, id, contents);
        header.map_or(0, |h| h.file_bytes())
    };
    let secret = Contents::default().record(SecretKey::body_bytes(params));
    let plan = params.first_plan();
    let aes = params.of_aes();
    let wrapped = plan.map(|plan| match aes.expands() {
        true => compact_contents(aes, &plan, 1, 1),
        false => seeded_contents(aes, [plan].into_iter()),
    });
    [
        size(Kind::SecretKey, secret),
        eval_key_kinds(params)[0].bytes,
        wrapped.map_or(0, |contents| size(Kind::WrappedKey, contents)),
    ]
}

#[cfg(test)]
mod tests;
