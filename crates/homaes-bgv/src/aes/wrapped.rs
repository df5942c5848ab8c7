//! The AES key under FHE: every round key, in the layout of the state and at the level where it is added.
//!
//! Round key 0 is added to the input. Round key r is added inside round r to the sums of the linear layer, before their
//! modulus switch, which also divides the key's own noise ([`LevelPlan`]). The affine constant 0x63 of SubBytes is
//! unchanged by MixColumns (2 + 3 + 1 + 1 = 1), so encryption keys 1 … R contain it. Decrypting bytes, the state
//! between rounds is A⁻¹(s + 0x63), the argument of the next inversion, with A the linear part of the affine map; so
//! all round keys of the equivalent inverse cipher but the last go through the same map. The bit layout folds the
//! linear layer into sums of products, so its keys, 0x63 included, are in the coordinates of [`homaes_aes::Folding`].

use crate::aes::bits;
use crate::aes::level_plan::LevelPlan;
use crate::aes::placement::slots_of;
use crate::ciphertext::Ciphertext;
use crate::error::{Error, Result};
use crate::keys::SecretKey;
use crate::params::Params;
use homaes_aes::{Block, Direction, KeySize, Layout, RoundKeys, Schedule, gf256};
use homaes_math::sample::Seed;
use homaes_scheme::Mismatch;
use homaes_wire::KeyId;
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use rayon::prelude::*;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Encrypted round keys of one AES key and direction, for one or more layouts.
pub struct WrappedKey {
    pub(crate) params: Arc<Params>,
    pub(crate) id: KeyId,
    pub(crate) size: KeySize,
    pub(crate) direction: Direction,
    pub(crate) parts: Vec<Part>,
}

pub(crate) struct Part {
    pub(crate) plan: LevelPlan,
    pub(crate) seed: Seed,
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
}

impl Default for WrapOptions<'_> {
    fn default() -> Self {
        Self {
            direction: Direction::Encrypt,
            layouts: &[Layout::Sliced],
            levels_left: None,
        }
    }
}

impl WrappedKey {
    /// Encrypts the round keys under `secret`.
    ///
    /// Cost: R + 1 times 1 (packed), 16 (sliced) or 128 (bits) seeded encryptions.
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

    pub(crate) fn part(&self, layout: Layout) -> Result<&Part> {
        let mut parts = self.parts.iter();
        parts.find(|p| p.plan.layout == layout).ok_or_else(|| {
            let held = self.parts.iter().map(|p| p.plan.layout).collect();
            Error::Mismatch(Mismatch::NotWrapped { layout, held })
        })
    }
}

/// The file of a wrapped key, computed ciphertext by ciphertext.
pub struct WrappedKeyFile<'s> {
    pub(crate) secret: &'s SecretKey,
    pub(crate) size: KeySize,
    pub(crate) direction: Direction,
    pub(crate) parts: Vec<PartFile>,
}

pub(crate) struct PartFile {
    pub(crate) plan: LevelPlan,
    /// seed of the uniform halves
    pub(crate) seed: Seed,
    errors: Zeroizing<Seed>,
    /// round keys; block b has those of `schedules[b % len]`
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
        let params = secret.params();
        if wrapping.layouts.is_empty() {
            return Err(Error::NoLayouts);
        }
        let (size, direction) = (keys.size(), wrapping.direction);
        let schedule = keys.schedule(direction);
        let mut parts = Vec::new();
        for (i, &layout) in wrapping.layouts.iter().enumerate() {
            if wrapping.layouts[..i].contains(&layout) {
                return Err(Error::LayoutTwice { layout });
            }
            let plan = LevelPlan::new(params, layout, size, wrapping.levels_left)?;
            let rounds = wrapped_schedule(&schedule, layout);
            parts.push(PartFile::new(plan, vec![rounds], rng));
        }
        Ok(Self {
            secret,
            size,
            direction,
            parts,
        })
    }

    pub(crate) fn params(&self) -> &Params {
        self.secret.params()
    }

    pub(crate) fn id(&self) -> KeyId {
        self.secret.id()
    }

    /// Ciphertext `index` of the file, which must exist.
    pub(crate) fn ciphertext(&self, mut index: usize) -> Ciphertext {
        for part in &self.parts {
            if index < part.len() {
                return part.ciphertext(self.secret, self.direction, index);
            }
            index -= part.len();
        }
        unreachable!("the file has fewer ciphertexts")
    }

    fn all(&self) -> WrappedKey {
        let parts = self.parts.iter();
        let parts = parts.map(|part| part.all(self.secret, self.direction));
        WrappedKey {
            params: self.secret.params().clone(),
            id: self.id(),
            size: self.size,
            direction: self.direction,
            parts: parts.collect(),
        }
    }
}

impl PartFile {
    pub(crate) fn new(
        plan: LevelPlan,
        schedules: Vec<Zeroizing<Vec<Block>>>,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let (mut seed, mut errors) = (Seed::default(), Zeroizing::new(Seed::default()));
        rng.fill_bytes(&mut seed);
        rng.fill_bytes(errors.as_mut());
        Self {
            plan,
            seed,
            errors,
            schedules,
        }
    }

    fn len(&self) -> usize {
        (self.plan.size.rounds() + 1) * self.plan.layout.ciphertexts()
    }

    pub(crate) fn all(&self, secret: &SecretKey, direction: Direction) -> Part {
        let mut made: Vec<_> = (0..self.len())
            .into_par_iter()
            .map(|index| self.ciphertext(secret, direction, index))
            .collect();
        let width = self.plan.layout.ciphertexts();
        let mut made = made.drain(..);
        let rounds = 0..=self.plan.size.rounds();
        Part {
            plan: self.plan,
            seed: self.seed,
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
        let schedules = self.schedules.iter().cycle();
        keys.extend(schedules.map(|key| key[r]).take(blocks));
        let slots = slots_of(params, layout, &keys, slope, i);
        secret.encrypt_seeded(&slots, self.plan.key_level(r), stream, &mut rng)
    }
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

/// Slope of the packed state when round key `r` is added: 0 at the end; always 0 in other layouts.
pub(crate) fn slope(plan: &LevelPlan, direction: Direction, r: usize) -> usize {
    let left = plan.size.rounds() - r;
    match (plan.layout, direction) {
        // ShiftRows adds one, its inverse takes one away
        (Layout::Packed, Direction::Encrypt) => (4 - left % 4) % 4,
        (Layout::Packed, Direction::Decrypt) => left % 4,
        _ => 0,
    }
}

homaes_wire::debug_fields!(Part, plan);
homaes_wire::debug_fields!(WrappedKey, id, size, direction, parts);

pub(crate) fn stream(layout: Layout, r: usize, i: usize) -> u64 {
    (r * layout.ciphertexts() + i) as u64
}

homaes_wire::debug_fields!(WrappedKeyFile<'_>, secret, size, direction);
