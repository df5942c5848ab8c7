//! The AES key under FHE: every round key, in the layout of the state and at the level where it is added; or their
//! compact form ([`crate::aes::compact`]); or the AES keys of many blocks, whose key schedule the server computes
//! ([`crate::aes::schedule`]).
//!
//! Round key 0 is added to the input. Round key r is added inside round r to the sums of the linear layer, before their
//! modulus switch, which also divides the key's own noise ([`LevelPlan`]). The affine constant 0x63 of SubBytes is
//! unchanged by MixColumns (2 + 3 + 1 + 1 = 1), so encryption keys 1 … R contain it. Decrypting bytes, the state
//! between rounds is A⁻¹(s + 0x63), the argument of the next inversion, with A the linear part of the affine map; so
//! all round keys of the equivalent inverse cipher but the last go through the same map. The bit layout folds the
//! linear layer into sums of products, so its keys, 0x63 included, are in the coordinates of [`homaes_aes::Folding`].

use crate::aes::bits;
use crate::aes::compact::{Compact, CompactFile, fresh_seeds, sent_level};
use crate::aes::expand::Expansion;
use crate::aes::level_plan::{LevelPlan, slope};
use crate::aes::placement::slots_of;
use crate::aes::schedule;
use crate::ciphertext::Ciphertext;
use crate::error::{Error, Result};
use crate::keys::{EvalKey, SecretKey};
use crate::params::Params;
use homaes_aes::{Block, Direction, KeySize, Layout, RoundKeys, Schedule, gf256};
use homaes_math::sample::Seed;
use homaes_rns::Poly;
use homaes_scheme::{Cancel, MAX_KEY_NAME_BYTES, Mismatch, mismatch};
use homaes_wire::KeyId;
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use rayon::prelude::*;
use std::collections::HashSet;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Encrypted round keys of one AES key and direction, for one or more layouts; or many AES keys for the layout sliced.
pub struct WrappedKey {
    pub(crate) params: Arc<Params>,
    pub(crate) id: KeyId,
    pub(crate) size: KeySize,
    pub(crate) direction: Direction,
    pub(crate) form: Form,
}

/// The forms of a wrapped key.
pub(crate) enum Form {
    /// the round keys of some layouts
    Full(Vec<Arc<Part>>),
    /// what makes the round keys of these layouts
    Compact(Vec<LevelPlan>, Compact),
    /// many AES keys, block b under key b modulo their number
    Many(LevelPlan, Many),
}

pub(crate) struct Many {
    pub(crate) names: Vec<String>,
    /// that of the second halves
    pub(crate) seed: Seed,
    /// byte i of every block's AES key, at the start of the key schedule ([`LevelPlan::ahead`])
    pub(crate) bytes: Vec<Ciphertext>,
}

pub(crate) struct Part {
    pub(crate) plan: LevelPlan,
    /// that of the second halves; expanded round keys have none
    pub(crate) seed: Option<Seed>,
    /// round keys 0 … R, each with one ciphertext per part of the layout
    pub(crate) rounds: Vec<Vec<Ciphertext>>,
}

/// How to wrap an AES key.
#[derive(Clone, Copy, Debug)]
pub struct WrapOptions<'a> {
    /// cipher that the server runs: [`Direction::Decrypt`] for ECB and CBC
    pub direction: Direction,
    /// layouts the server may choose from
    pub layouts: &'a [Layout],
    /// multiplications that the output must allow, rounded up to the next number that the chain of moduli has after a
    /// round (2, 5, 8 …); by default 8 in `bgv/aes128+8` and so on, and 0 in sets without a number in their name
    pub levels_left: Option<usize>,
    /// every round key in full, instead of the compact form that the server expands; sets whose servers cannot do that
    /// always have the full form
    pub full: bool,
}

impl Default for WrapOptions<'_> {
    fn default() -> Self {
        Self {
            direction: Direction::Encrypt,
            layouts: &[Layout::Sliced],
            levels_left: None,
            full: false,
        }
    }
}

impl WrappedKey {
    /// Encrypts the round keys under `secret`.
    ///
    /// Cost: R + 1 times 1 (compact, packed), 16 (sliced) or 128 (bits) seeded encryptions.
    ///
    /// # Errors
    /// If there are no layouts, one occurs twice or is not offered by the set, or the set has too few levels.
    pub fn encrypt(
        secret: &SecretKey,
        keys: &RoundKeys,
        wrapping: WrapOptions<'_>,
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        Ok(WrappedKeyFile::generate(secret, keys, wrapping, rng)?.all())
    }

    /// Encrypts many AES keys of 128 bits under `secret`, for the layout sliced and the direction that encrypts: block b
    /// of a batch will be under key b modulo their number. Their names are not encrypted. The server computes the key
    /// schedule, which takes three levels more than one AES key does.
    ///
    /// Cost: 16 seeded encryptions, whatever the number of keys.
    ///
    /// # Errors
    /// If there are no keys, or more than a batch has blocks; if a key is of another size, a name is empty, longer than
    /// 255 bytes, has control characters or occurs twice, or the set has too few levels.
    pub fn encrypt_many(
        secret: &SecretKey,
        keys: &[(String, &RoundKeys)],
        levels_left: Option<usize>,
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        Ok(WrappedKeyFile::generate_many(secret, keys, levels_left, rng)?.all())
    }

    /// The plan of each layout.
    pub(crate) fn plans(&self) -> Vec<LevelPlan> {
        match &self.form {
            Form::Full(parts) => parts.iter().map(|part| part.plan).collect(),
            Form::Compact(plans, _) => plans.clone(),
            Form::Many(plan, _) => vec![*plan],
        }
    }

    /// The round keys for `layout`, expanded under `key` unless the form is full.
    pub(crate) fn part(&self, key: &EvalKey, layout: Layout, cancel: &Cancel) -> Result<Arc<Part>> {
        let plans = self.plans();
        let at = plans.iter().position(|plan| plan.layout == layout);
        let at = at.ok_or_else(|| {
            let held = plans.iter().map(|plan| plan.layout).collect();
            Error::Mismatch(Mismatch::NotWrapped { layout, held })
        })?;
        let plan = plans[at];
        let rounds = match &self.form {
            Form::Full(parts) => return Ok(parts[at].clone()),
            Form::Compact(_, sent) => {
                Expansion::new(key, plan, self.direction, cancel)?.round_keys(sent)?
            }
            Form::Many(_, many) => schedule::round_keys(key, plan, &many.bytes, cancel)?,
        };
        let seed = None;
        Ok(Arc::new(Part { plan, seed, rounds }))
    }

    /// Checks that it is of the set and the secret key of `key`.
    pub(crate) fn check_of(&self, key: &EvalKey) -> Result<()> {
        let found = (self.params.id(), self.id);
        Ok(mismatch::check(
            "wrapped key",
            found,
            (key.params.id(), key.id),
        )?)
    }
}

/// The file of a wrapped key, computed ciphertext by ciphertext.
pub struct WrappedKeyFile<'s> {
    pub(crate) secret: &'s SecretKey,
    pub(crate) size: KeySize,
    pub(crate) direction: Direction,
    pub(crate) form: FormFile,
}

pub(crate) enum FormFile {
    Full(Vec<PartFile>),
    Compact(Vec<LevelPlan>, CompactFile),
    /// plan, names, and round key 0 of each AES key at the start of the key schedule
    Many(LevelPlan, Vec<String>, PartFile),
}

pub(crate) struct PartFile {
    pub(crate) plan: LevelPlan,
    /// seed of the uniform halves
    pub(crate) seed: Seed,
    errors: Zeroizing<Seed>,
    /// the round keys in the file, as many of each AES key; block b of a result takes those of `schedules[b % len]`
    schedules: Vec<Zeroizing<Vec<Block>>>,
}

impl<'s> WrappedKeyFile<'s> {
    /// The file of the key that [`WrappedKey::encrypt`] returns.
    pub fn generate(
        secret: &'s SecretKey,
        keys: &RoundKeys,
        wrapping: WrapOptions<'_>,
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        let secret = secret.of_aes();
        let params = secret.params();
        if wrapping.layouts.is_empty() {
            return Err(Error::NoLayouts);
        }
        let (size, direction) = (keys.size(), wrapping.direction);
        let mut plans = Vec::new();
        for (i, &layout) in wrapping.layouts.iter().enumerate() {
            if wrapping.layouts[..i].contains(&layout) {
                return Err(Error::LayoutTwice { layout });
            }
            plans.push(LevelPlan::new(params, layout, size, wrapping.levels_left)?);
        }
        let schedule = keys.schedule(direction);
        let compact = params.expands() && !wrapping.layouts.contains(&Layout::Bits);
        let form = match compact && !wrapping.full {
            // byte layouts have the same levels and add the same bytes
            true => {
                let rounds = wrapped_schedule(&schedule, plans[0].layout);
                let file = CompactFile::new(plans[0], rounds, rng);
                FormFile::Compact(plans, file)
            }
            false => {
                let parts = plans.into_iter().map(|plan| {
                    let rounds = wrapped_schedule(&schedule, plan.layout);
                    PartFile::new(plan, vec![rounds], rng)
                });
                FormFile::Full(parts.collect())
            }
        };
        Ok(Self {
            secret,
            size,
            direction,
            form,
        })
    }

    /// The file of the key that [`WrappedKey::encrypt_many`] returns.
    ///
    /// # Errors
    /// As there.
    pub fn generate_many(
        secret: &'s SecretKey,
        keys: &[(String, &RoundKeys)],
        levels_left: Option<usize>,
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        let secret = secret.of_aes();
        let params = secret.params();
        let plan = LevelPlan::of_many(params, levels_left)?;
        if keys.is_empty() {
            return Err(Error::NoAesKeys);
        }
        let most = params.blocks_per_batch(plan.layout) / params.ring().halves();
        mismatch::check_count("AES keys", keys.len(), most)?;
        for (number, size) in (1..).zip(keys.iter().map(|(_, key)| key.size())) {
            if size != plan.size {
                return Err(Error::ManyKeySize { number, size });
            }
        }
        let names: Vec<String> = keys.iter().map(|(name, _)| name.clone()).collect();
        check_names(&names)?;
        let first = |(_, key): &(String, &RoundKeys)| Zeroizing::new(key.as_slice()[..1].to_vec());
        let part = PartFile::new(plan.ahead(), keys.iter().map(first).collect(), rng);
        Ok(Self {
            secret,
            size: plan.size,
            direction: Direction::Encrypt,
            form: FormFile::Many(plan, names, part),
        })
    }

    pub(crate) fn params(&self) -> &Params {
        self.secret.params()
    }

    pub(crate) fn id(&self) -> KeyId {
        self.secret.id()
    }

    /// Polynomial `index` of the file, which must exist, with the primes of its limbs.
    pub(crate) fn poly(&self, mut index: usize) -> (&[usize], Poly) {
        let params = self.params();
        let parts = match &self.form {
            FormFile::Full(parts) => &parts[..],
            FormFile::Many(_, _, part) => core::slice::from_ref(part),
            FormFile::Compact(plans, file) => {
                let basis = params.basis(sent_level(&plans[0], index));
                return (basis, file.trace(self.secret, index));
            }
        };
        for part in parts {
            if index < part.len() {
                let c = part.ciphertext(self.secret, self.direction, index);
                let [first, _] = c.parts;
                return (params.basis(c.level), first);
            }
            index -= part.len();
        }
        unreachable!("the file has fewer polynomials")
    }

    fn all(&self) -> WrappedKey {
        let form = match &self.form {
            FormFile::Full(parts) => {
                let parts = parts.iter();
                let parts = parts.map(|part| Arc::new(part.all(self.secret, self.direction)));
                Form::Full(parts.collect())
            }
            FormFile::Compact(plans, file) => Form::Compact(plans.clone(), file.all(self.secret)),
            FormFile::Many(plan, names, part) => Form::Many(
                *plan,
                Many {
                    names: names.clone(),
                    seed: part.seed,
                    bytes: part.all(self.secret, self.direction).rounds.concat(),
                },
            ),
        };
        WrappedKey {
            params: self.secret.params().clone(),
            id: self.id(),
            size: self.size,
            direction: self.direction,
            form,
        }
    }
}

impl PartFile {
    pub(crate) fn new(
        plan: LevelPlan,
        schedules: Vec<Zeroizing<Vec<Block>>>,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let (seed, errors) = fresh_seeds(rng);
        Self {
            plan,
            seed,
            errors,
            schedules,
        }
    }

    fn len(&self) -> usize {
        self.schedules[0].len() * self.plan.layout.ciphertexts()
    }

    pub(crate) fn all(&self, secret: &SecretKey, direction: Direction) -> Part {
        let mut made: Vec<_> = (0..self.len())
            .into_par_iter()
            .map(|index| self.ciphertext(secret, direction, index))
            .collect();
        let width = self.plan.layout.ciphertexts();
        let mut made = made.drain(..);
        let rounds = self.schedules[0].iter();
        Part {
            plan: self.plan,
            seed: Some(self.seed),
            rounds: rounds
                .map(|_| made.by_ref().take(width).collect())
                .collect(),
        }
    }

    /// Ciphertext `index` of the layout, in order of rounds.
    fn ciphertext(&self, secret: &SecretKey, direction: Direction, index: usize) -> Ciphertext {
        let (params, layout) = (secret.params(), self.plan.layout);
        let (r, i) = (index / layout.ciphertexts(), index % layout.ciphertexts());
        let mut rng = ChaCha20Rng::from_seed(*self.errors);
        rng.set_stream(index as u64);
        let stream = (&self.seed, stream(layout, r, i));
        let slope = slope(&self.plan, direction, r);
        // `vec!` would branch on whether all bytes are zero
        let blocks = params.blocks_per_batch(layout);
        let mut keys = Zeroizing::new(Vec::with_capacity(blocks));
        // in K, each half becomes a result, which begins with the first key
        let half = blocks / params.ring().halves();
        let schedules = (0..blocks).map(|b| &self.schedules[b % half % self.schedules.len()]);
        keys.extend(schedules.map(|key| key[r]));
        let slots = slots_of(params, layout, &keys, slope, i);
        secret.encrypt_seeded(&slots, self.plan.key_level(r), stream, &mut rng)
    }
}

/// Checks the names of many AES keys.
pub(crate) fn check_names(names: &[String]) -> Result<()> {
    let mut seen = HashSet::new();
    for (number, name) in (1..).zip(names) {
        let found = match name {
            name if name.is_empty() => "is empty",
            name if name.len() > MAX_KEY_NAME_BYTES => "is too long",
            name if name.contains(char::is_control) => "has control characters",
            name if !seen.insert(name) => "occurs twice",
            _ => continue,
        };
        return Err(Error::KeyName { number, found });
    }
    Ok(())
}

/// The round keys in the form that the circuit of `layout` adds; see the module's text.
pub(crate) fn wrapped_schedule(schedule: &Schedule, layout: Layout) -> Zeroizing<Vec<Block>> {
    if layout == Layout::Bits {
        return bits::folding().keys(schedule);
    }
    let mut keys = Zeroizing::new(schedule.as_slice().to_vec());
    let last = keys.len() - 1;
    for (r, key) in keys.iter_mut().enumerate() {
        // in place: a copy would stay behind
        for byte in key.iter_mut() {
            match schedule.direction() {
                Direction::Encrypt if r > 0 => *byte ^= gf256::AFFINE_CONSTANT,
                Direction::Decrypt if r < last => *byte = before_inversion(*byte),
                _ => {}
            }
        }
    }
    keys
}

/// A⁻¹(x + 0x63), the argument of the inversion in InvSubBytes.
pub(crate) fn before_inversion(x: u8) -> u8 {
    gf256::affine_linear_inv(x ^ gf256::AFFINE_CONSTANT)
}

homaes_wire::debug_fields!(Part, plan);
homaes_wire::debug_fields!(WrappedKey, id, size, direction);

pub(crate) fn stream(layout: Layout, r: usize, i: usize) -> u64 {
    (r * layout.ciphertexts() + i) as u64
}

homaes_wire::debug_fields!(WrappedKeyFile<'_>, secret, size, direction);
