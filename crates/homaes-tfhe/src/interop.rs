//! From states to values of the crate `tfhe`: `tfhe::FheUint8` under the user's own key. Feature `tfhe-rs`.
//!
//! **Licence.** Without the feature, nothing of `tfhe` is built. With it, the terms of that crate hold:
//! BSD-3-Clause-Clear, which grants no patent licence. Its authors (Zama) allow research and prototypes, and ask for a
//! patent licence for commercial use.
//!
//! The user has an ordinary `tfhe::ClientKey`. The 2048 bits of its big LWE key z are the key polynomial Z of a ring of
//! degree 2048. The secret s of a [`SecretKey`] is independent of z; its k N bits are read as polynomials S_i of that
//! degree, and zeros fill the last one.
//!
//! ```text
//! 8 bits under s ─ 8 sign bootstraps ─► 2^59, 2^60, … ─ + ─► 4 blocks under s ─ key switch ─► 4 blocks under z
//!                                       times bit 0, 1, …    of 2 bits                        = FheUint8
//! ```
//!
//! 1. The client makes an [`ExportKey`] once: -S_i under Z.
//! 2. The server converts with [`EvalKey::to_fheuint8`] and continues with `tfhe`; [`join_be`] makes 16-bit words.
//!
//! Blocks are those of `PARAM_MESSAGE_2_CARRY_2_KS_PBS`, the default of `tfhe::ConfigBuilder`: one bit of padding at
//! 2^63, two of carry, two of message at 2^60 and 2^59. An LWE ciphertext of `tfhe` is mask, then body, as here.
//!
//! # Noise
//!
//! Let V be the variance of blind rotation ([`rotation`](crate::noise::rotation)), D the bits of s, B = 2^15 and l = 2
//! the gadget of the key switch, σ the noise of the export key. The variance of a block is
//!
//! ```text
//! 2 V + D (B^-2l/24 + l (B²+2)/12 σ²) + l D² B² 2^-107.8
//! ```
//!
//! The last term is the precision of the transforms. For `tfhe/p64` the standard deviation is 2^-16.8, nearly all of it
//! from 2 V; the check counts [`REFRESHED`](crate::noise::REFRESHED) times 2 V. A bootstrap of `tfhe` leaves 2^-14.9
//! (measured). Blocks are marked with the nominal noise, so a conversion that leaves more than 2^-15 is rejected.
//!
//! # Security
//!
//! Rows of an export key are GLWE samples under z of the kind that `tfhe` itself publishes: degree 2048, rank 1, binary
//! secret, uniform masks, errors of the variance of the user's parameters (2^-47.8 squared by default). Errors are
//! normal where `tfhe` draws from a `TUniform`, but estimates of lattice attacks depend on the variance. A server key
//! has far more rows than the two per S_i here. The message s is independent of z, so no circular assumption is added,
//! unless z is encrypted under s elsewhere.

use crate::ciphertext::{Big, Lwe};
use crate::error::{Error, Result};
use crate::keys::{EvalKey, SecretKey};
use crate::noise::{
    FFT_LOG2_VARIANCE, NOMINAL_LOG2_SIGMA, REFRESHED, digit_moment, log2_sigma, rotation, rounding,
};
use crate::params::Params;
use crate::ring::{RingSecret, extract};
use crate::rows::{self, Masks, unit};
use crate::set::{BitsSet, Gadget};
use crate::state::{MaskForm, State};
use homaes_math::{Fourier, Reals, Words};
use homaes_scheme::mismatch;
use homaes_wire::KeyId;
use rand_core::CryptoRng;
use std::sync::Arc;
use tfhe::core_crypto::prelude::{
    CiphertextModulus, DynamicDistribution, LweCiphertextConformanceParams, LweCiphertextOwned,
    LweDimension,
};
use tfhe::integer::RadixCiphertext;
use tfhe::integer::ciphertext::IntegerCiphertext;
use tfhe::prelude::{ParameterSetConformant, Tagged};
use tfhe::shortint::ciphertext::{Degree, NoiseLevel};
use tfhe::shortint::parameters::CiphertextConformanceParams;
use tfhe::shortint::{AtomicPatternKind, CarryModulus, Ciphertext, MessageModulus, PBSOrder};
use tfhe::{
    ClientKey, FheUint8, FheUint8Id, FheUint16, FheUint16Id, ReRandomizationMetadata, ServerKey,
    Tag,
};
use zeroize::Zeroizing;

/// Degree of the user's ring: the number of bits of z.
const DEGREE: usize = 2048;

const COLUMNS: usize = 2;

const SWITCH: Gadget = Gadget {
    base_log: 15,
    levels: 2,
};

/// Blocks of an 8-bit value.
const BLOCKS: usize = 4;

/// Encodings of the two message bits, below padding and carry.
const UNITS: [u64; 2] = [1 << 59, 1 << 60];

/// Key-switching key from a [`SecretKey`] to the big LWE key of a `tfhe::ClientKey`. Public; the client, who knows both
/// keys, makes it. It takes 64 KiB of memory.
pub struct ExportKey {
    params: Arc<Params>,
    id: KeyId,
    pattern: AtomicPatternKind,
    /// noise of its rows
    sigma: f64,
    fourier: Fourier,
    /// spectra of -S_i g: for each S_i one row per gadget unit g, of two columns
    rows: Reals,
}

impl ExportKey {
    /// Encrypts the bits of `secret` under the key of `user`. Takes milliseconds.
    ///
    /// # Errors
    /// If the set is not on bits, or `user` does not have 2048 key bits, modulus 2^64, and blocks of two message and
    /// two carry bits.
    pub fn generate(
        secret: &SecretKey,
        user: &ClientKey,
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        secret.params().bits()?;
        let format = Format::of_client(user)?;
        let (bits, sigma) = key_bits(user)?;
        let fourier = Fourier::new(DEGREE);
        let target = RingSecret::new(&fourier, &bits);
        let own = secret.glwe();
        let count = own.len().div_ceil(DEGREE) * SWITCH.levels;
        let mut bodies = Zeroizing::new(vec![0u64; count * DEGREE]);
        for (row, body) in bodies.chunks_mut(DEGREE).enumerate() {
            let minus = unit(SWITCH, row % SWITCH.levels).wrapping_neg();
            let own = &own[row / SWITCH.levels * DEGREE..];
            for (x, s) in body.iter_mut().zip(own) {
                *x = s.wrapping_mul(minus);
            }
        }
        let mut masks = Masks {
            seed: [0; 32],
            first: 0,
        };
        rng.fill_bytes(&mut masks.seed);
        rows::encrypt(&target, sigma, &masks, rng, &mut bodies);
        let rows = rows::spectra(&fourier, 1, &masks, &bodies, |row| row * COLUMNS);
        drop(target);
        Ok(Self {
            params: secret.params().clone(),
            id: secret.id(),
            pattern: format.blocks.atomic_pattern,
            sigma,
            fourier,
            rows,
        })
    }

    /// Parameters of the secret key.
    pub fn params(&self) -> &Arc<Params> {
        &self.params
    }

    /// Name of the secret key.
    pub fn key_id(&self) -> KeyId {
        self.id
    }

    fn check(&self, params: &Params, id: KeyId) -> Result<()> {
        let found = (self.params.id(), self.id);
        Ok(mismatch::check("export key", found, (params.id(), id))?)
    }

    /// Variance of the noise of [`ExportKey::switch`].
    fn variance(&self) -> f64 {
        let dimension = (self.rows.len() / (SWITCH.levels * COLUMNS)) as f64;
        let levels = SWITCH.levels as f64;
        let base = f64::from(SWITCH.base_log).exp2();
        dimension * rounding(SWITCH) / 2.0
            + dimension * levels * digit_moment(SWITCH) * self.sigma * self.sigma
            + levels * (dimension * base).powi(2) * FFT_LOG2_VARIANCE.exp2()
    }

    /// Switches an LWE ciphertext to z, as [`KeySwitch`](crate::switching::KeySwitch) does; returns mask, then body.
    fn switch(&self, lwe: &Lwe<Big>) -> Vec<u64> {
        let mask = lwe.mask();
        let levels = SWITCH.levels;
        let count = mask.len().div_ceil(DEGREE) * levels;
        let mut digits = Reals::zeroed(count * DEGREE);
        let mut poly = Words::zeroed(DEGREE);
        for (i, a) in mask.chunks(DEGREE).enumerate() {
            poly.fill(0);
            poly[0] = a[0];
            for (x, a) in poly.iter_mut().rev().zip(&a[1..]) {
                *x = a.wrapping_neg();
            }
            self.fourier
                .forward_digits(SWITCH.digits(), &poly, &mut digits, i * levels);
        }
        let mut sums = Reals::zeroed(COLUMNS * DEGREE);
        self.fourier
            .multiply_add(&digits, &self.rows, COLUMNS, &mut sums);
        let mut glwe = Words::zeroed(COLUMNS * DEGREE);
        glwe[DEGREE] = lwe.body();
        for (c, poly) in glwe.chunks_exact_mut(DEGREE).enumerate() {
            self.fourier.inverse_add(&sums, c, poly);
        }
        let mut out = vec![0; DEGREE + 1];
        let (mask, body) = glwe.split_at(DEGREE);
        extract(mask, 0, &mut out[..DEGREE]);
        out[DEGREE] = body[0];
        out
    }
}

homaes_wire::debug_fields!(ExportKey, id);

impl EvalKey {
    /// Converts every byte of a state to a value of `tfhe`, with nominal noise and the tag of `server_key`, on the
    /// current thread pool.
    ///
    /// Only the format and the tag of `server_key` are used. It must belong to the client key of `export`; this cannot
    /// be checked if their parameters agree, and the values of a wrong key decrypt to garbage.
    ///
    /// Costs 8 blind rotations and 4 small key switches per byte, and no bootstrap of `tfhe`. A bit fails at most as
    /// often as in a look-up.
    ///
    /// # Errors
    /// Before any work: if the set is not on bits, the state or `export` is of another set or secret, `server_key` and
    /// `export` have different parameters, a bit is misread with probability above 2^-64, or a block would have more
    /// than nominal noise.
    pub fn to_fheuint8(
        &self,
        state: &State,
        export: &ExportKey,
        server_key: &ServerKey,
    ) -> Result<Vec<FheUint8>> {
        let params = self.params();
        let set = params.bits()?;
        state.check(params, self.key_id())?;
        export.check(params, self.key_id())?;
        let format = Format::of_server(server_key)?;
        if format.blocks.atomic_pattern != export.pattern {
            return Err(Error::OtherTfheKey);
        }
        params.check_look_up(
            state.blocks,
            state.log2_sigma,
            state.mask_form != MaskForm::Any,
        )?;
        check_noise(set, export)?;
        let values = self.by_bytes(set, state, |engine, lwes| {
            let bits = engine.refresh(&lwes.iter().collect::<Vec<_>>(), &UNITS);
            let bytes = bits.chunks_exact(8);
            bytes.map(|bits| value(bits, export, &format)).collect()
        });
        values.into_iter().collect()
    }
}

/// The value of eight LWE ciphertexts, lowest bit first, encoded in turn by [`UNITS`].
fn value(bits: &[Lwe<Big>], export: &ExportKey, format: &Format) -> Result<FheUint8> {
    let blocks = bits.chunks_exact(2).map(|pair| {
        let mut sum = pair[0].clone();
        sum.add(&pair[1]);
        export.switch(&sum)
    });
    format.value(blocks)
}

/// Patterns with values under the big LWE key; the index is the number in [`Format::pattern`].
const PATTERNS: [AtomicPatternKind; 2] = [
    AtomicPatternKind::Standard(PBSOrder::KeyswitchBootstrap),
    AtomicPatternKind::KeySwitch32,
];

/// The block format of a user's values, and the tag of the user's keys.
#[derive(Clone)]
pub struct Format {
    blocks: CiphertextConformanceParams,
    tag: Tag,
}

impl Format {
    /// The format of values that `key` encrypts.
    ///
    /// # Errors
    /// If `key` does not have 2048 key bits, modulus 2^64, and blocks of two message and two carry bits.
    pub fn of_client(key: &ClientKey) -> Result<Self> {
        let parameters = key.computation_parameters();
        Self::checked(parameters.to_shortint_conformance_param(), key.tag())
    }

    /// The format of values that `key` computes with.
    ///
    /// # Errors
    /// As [`of_client`](Self::of_client).
    pub fn of_server(key: &ServerKey) -> Result<Self> {
        let integer: &tfhe::integer::ServerKey = key.as_ref();
        let shortint: &tfhe::shortint::ServerKey = integer.as_ref();
        Self::checked(shortint.conformance_params(), key.tag())
    }

    fn checked(blocks: CiphertextConformanceParams, tag: &Tag) -> Result<Self> {
        check("message modulus", blocks.message_modulus.0, 4)?;
        check("carry modulus", blocks.carry_modulus.0, 4)?;
        let dimension = blocks.ct_params.lwe_dim.0 as u64;
        check("LWE dimension", dimension, DEGREE as u64)?;
        let native = blocks.ct_params.ct_modulus.is_native_modulus();
        check("ciphertext modulus (1: 2^64)", native.into(), 1)?;
        let tag = tag.clone();
        Ok(Self { blocks, tag })
    }

    /// From the results of [`pattern`](Self::pattern) and [`tag`](Self::tag).
    ///
    /// # Errors
    /// If there is no such pattern.
    pub fn from_parts(pattern: u8, tag: &[u8]) -> Result<Self> {
        let known = PATTERNS.get(usize::from(pattern)).copied();
        let most = PATTERNS.len() as u64 - 1;
        let atomic_pattern = known.ok_or(Error::TfheKey {
            what: "pattern of its parameters",
            found: pattern.into(),
            expected: most,
        })?;
        let mut own = Tag::default();
        own.set_data(tag);
        Ok(Self {
            blocks: CiphertextConformanceParams {
                ct_params: LweCiphertextConformanceParams {
                    lwe_dim: LweDimension(DEGREE),
                    ct_modulus: CiphertextModulus::new_native(),
                },
                message_modulus: MessageModulus(4),
                carry_modulus: CarryModulus(4),
                atomic_pattern,
                degree: Degree::new(3),
                noise_level: NoiseLevel::NOMINAL,
            },
            tag: own,
        })
    }

    /// The order of key switch and bootstrap in the parameters: 0 is key switch first, 1 the same with a key switch to
    /// 32 bits.
    pub fn pattern(&self) -> u8 {
        let own = self.blocks.atomic_pattern;
        let found = PATTERNS.iter().position(|p| *p == own);
        found.unwrap_or(PATTERNS.len()) as u8
    }

    /// The tag of the user's keys.
    pub fn tag(&self) -> &[u8] {
        self.tag.data()
    }

    /// The value of four blocks, lowest bits first: LWE ciphertexts of 2^59 · (two bits) under the user's big LWE key,
    /// mask before body, with nominal noise.
    ///
    /// # Errors
    /// If there are not four blocks, or one has another format.
    pub fn value(&self, blocks: impl Iterator<Item = Vec<u64>>) -> Result<FheUint8> {
        let format = &self.blocks;
        let block = |words: Vec<u64>| {
            let lwe = LweCiphertextOwned::from_container(words, CiphertextModulus::new_native());
            let block = Ciphertext::new(
                lwe,
                format.degree,
                format.noise_level,
                format.message_modulus,
                format.carry_modulus,
                format.atomic_pattern,
            );
            match block.is_conformant(format) {
                true => Ok(block),
                false => Err(Error::OtherTfheKey),
            }
        };
        let blocks = blocks.map(block).collect::<Result<Vec<_>>>()?;
        check("blocks of a value", blocks.len() as u64, BLOCKS as u64)?;
        Ok(FheUint8::from_raw_parts(
            RadixCiphertext::from(blocks),
            FheUint8Id,
            self.tag.clone(),
            ReRandomizationMetadata::default(),
        ))
    }
}

homaes_wire::debug_fields!(Format, tag);

/// The bits of the user's big LWE key, and the standard deviation of errors under it in the user's parameters.
///
/// # Errors
/// If there are not 2048 of them, or one is not a bit.
pub fn key_bits(user: &ClientKey) -> Result<(Zeroizing<Vec<u64>>, f64)> {
    let integer: &tfhe::integer::ClientKey = user.as_ref();
    let shortint: &tfhe::shortint::ClientKey = integer.as_ref();
    let (bits, noise) = shortint.encryption_key_and_noise();
    check("LWE dimension", bits.as_ref().len() as u64, DEGREE as u64)?;
    // reveals whether all words are bits, not which ones are not
    let all = bits.as_ref().iter().fold(0, |all, bit| all | bit);
    check("largest word", 1 + u64::from(all > 1), 1)?;
    let sigma = match noise {
        DynamicDistribution::Gaussian(normal) => normal.std,
        DynamicDistribution::TUniform(uniform) => uniform.variance(2f64.powi(64)).0.sqrt(),
    };
    Ok((Zeroizing::new(bits.as_ref().to_vec()), sigma))
}

/// `high` · 256 + `low`, by concatenating blocks: free. The tag is that of `low`.
pub fn join_be(high: FheUint8, low: FheUint8) -> FheUint16 {
    let (high, ..) = high.into_raw_parts();
    let (low, _, tag, metadata) = low.into_raw_parts();
    let blocks = low.blocks().iter().chain(high.blocks()).cloned();
    FheUint16::from_raw_parts(
        RadixCiphertext::from(blocks.collect::<Vec<_>>()),
        FheUint16Id,
        tag,
        metadata,
    )
}

fn check(what: &'static str, found: u64, expected: u64) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::TfheKey {
        what,
        found,
        expected,
    })
}

fn check_noise(set: &BitsSet, export: &ExportKey) -> Result<()> {
    let block = 2.0 * REFRESHED * rotation(set).total() + export.variance();
    let found = log2_sigma(block);
    match found <= NOMINAL_LOG2_SIGMA {
        true => Ok(()),
        false => Err(Error::TooNoisy {
            what: "a block for tfhe",
            found,
            limit: NOMINAL_LOG2_SIGMA,
        }),
    }
}

#[cfg(test)]
mod tests;
