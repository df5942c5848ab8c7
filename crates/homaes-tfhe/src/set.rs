//! Parameter sets as declared: literal numbers, unchecked.

use homaes_math::fourier::{Digits, MIN_DEGREE};
use homaes_scheme::{DigestBuilder, Purpose, SetName};

/// Signed decomposition in base 2^`base_log`, with `levels` digits from the top of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gadget {
    /// log2 of the base
    pub base_log: u32,
    /// number of digits
    pub levels: usize,
}

pub(crate) const fn gadget(base_log: u32, levels: usize) -> Gadget {
    Gadget { base_log, levels }
}

/// Bits that the bodies of packed results keep of each word, from the top.
pub(crate) const PACKED_BODY_BITS: u32 = 8;

impl Gadget {
    /// Bits of all digits.
    pub(crate) fn bits(self) -> u32 {
        self.levels as u32 * self.base_log
    }

    pub(crate) fn digits(self) -> Digits {
        Digits {
            base_log: self.base_log,
            levels: self.levels,
        }
    }
}

/// Bits that the bodies of blind rotation's rows keep of each word, from the top: in mask rows, and in body rows, whose
/// digits are larger. [`rotation`](crate::noise::rotation) counts the rounding.
pub(crate) const ROTATION_ROW_BITS: [u32; 2] = [44, 52];

/// Distribution of the LWE key of blind rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LweKey {
    /// independent uniform bits
    Independent,
    /// block binary: a block, the bits of one step of blind rotation, has at most one 1, all cases equally likely.
    /// Lee, Min, Seo, Song: Faster TFHE Bootstrapping with Block Binary Keys (2023)
    Blocks,
}

impl LweKey {
    /// GGSW keys per step of blind rotation.
    pub(crate) const fn keys(self, unroll: usize) -> usize {
        match self {
            Self::Independent => (1 << unroll) - 1,
            Self::Blocks => unroll,
        }
    }

    /// The mean of a key bit is 1 over this number.
    pub(crate) const fn bits_per_one(self, unroll: usize) -> usize {
        match self {
            Self::Independent => 2,
            Self::Blocks => unroll + 1,
        }
    }
}

/// Parameters of AES on bits, by circuit bootstrapping.
#[derive(Clone, Debug, PartialEq)]
pub struct BitsSet {
    /// dimension of the LWE key of blind rotation
    pub lwe_dimension: usize,
    /// distribution of its bits
    pub lwe_key: LweKey,
    /// key bits per step of blind rotation. Independent bits: 1, or 2, which is faster with a key 1.5 times as large.
    /// Block binary keys: the bits of a block
    pub unroll: usize,
    /// log2 of the standard deviation of its noise, as a fraction of the torus
    pub lwe_log2_sigma: f64,
    /// mask polynomials k of a GLWE ciphertext
    pub rank: usize,
    /// degree N of its ring, a power of two
    pub degree: usize,
    /// log2 of the standard deviation of its noise
    pub glwe_log2_sigma: f64,
    /// blind rotation: digits of the mask
    pub rotation_mask: Gadget,
    /// blind rotation: digits of the body
    pub rotation_body: Gadget,
    /// log2 of the number of values per blind rotation
    pub log2_values: u32,
    /// GGSW ciphertexts of bits
    pub ggsw: Gadget,
    /// automorphisms of the trace
    pub trace: Gadget,
    /// from GLWE to GGSW
    pub scheme_switch: Gadget,
    /// key switching from the GLWE key to the LWE key
    pub key_switch: Gadget,
    /// degree of the key-switch ring
    pub key_switch_degree: usize,
}

/// Parameters of AES on digits, by tree-based functional bootstrapping.
#[derive(Clone, Debug, PartialEq)]
pub struct NibbleSet {
    /// log2 of the base: 4 for AES, other values for comparisons
    pub digit_bits: u32,
    /// dimension of the LWE key of blind rotation
    pub lwe_dimension: usize,
    /// key bits per step of blind rotation: 1, or 2, which is faster with a key 1.5 times as large
    pub unroll: usize,
    /// log2 of the standard deviation of its noise, as a fraction of the torus
    pub lwe_log2_sigma: f64,
    /// degree N of the ring, a power of two; rank 1
    pub degree: usize,
    /// log2 of the standard deviation of its noise
    pub glwe_log2_sigma: f64,
    /// blind rotation: digits of the mask
    pub rotation: Gadget,
    /// blind rotation: digits of the body
    pub rotation_body: Gadget,
    /// automorphisms of packing
    pub packing: Gadget,
    /// key switching from the GLWE key to the LWE key
    pub key_switch: Gadget,
    /// degree of the key-switch ring
    pub key_switch_degree: usize,
}

/// How AES is evaluated.
#[derive(Clone, Debug, PartialEq)]
pub enum Variant {
    /// on bits, by circuit bootstrapping
    Bits(BitsSet),
    /// on base-16 digits, by the method of TCBS23
    Nibble(NibbleSet),
}

/// A parameter set as declared: literal numbers, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamSet {
    /// `tfhe/…`
    pub name: SetName,
    /// literature
    pub paper: &'static str,
    /// whether it claims security
    pub purpose: Purpose,
    /// claimed bits, for secure sets
    pub security_bits_claimed: Option<u32>,
    /// the numbers
    pub variant: Variant,
}

/// The dimensions, noises and gadgets of a set, common to both variants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    /// n
    pub(crate) lwe_dimension: usize,
    pub(crate) lwe_log2_sigma: f64,
    pub(crate) lwe_key: LweKey,
    /// key bits per step of blind rotation
    pub(crate) unroll: usize,
    /// k
    pub(crate) rank: usize,
    /// N
    pub(crate) degree: usize,
    pub(crate) glwe_log2_sigma: f64,
    pub(crate) rotation_mask: Gadget,
    pub(crate) rotation_body: Gadget,
    pub(crate) automorphism: Gadget,
    pub(crate) scheme_switch: Option<Gadget>,
    pub(crate) key_switch: Gadget,
    /// d
    pub(crate) key_switch_degree: usize,
}

impl From<&BitsSet> for Shape {
    fn from(set: &BitsSet) -> Self {
        Self {
            lwe_dimension: set.lwe_dimension,
            lwe_log2_sigma: set.lwe_log2_sigma,
            lwe_key: set.lwe_key,
            unroll: set.unroll,
            rank: set.rank,
            degree: set.degree,
            glwe_log2_sigma: set.glwe_log2_sigma,
            rotation_mask: set.rotation_mask,
            rotation_body: set.rotation_body,
            automorphism: set.trace,
            scheme_switch: Some(set.scheme_switch),
            key_switch: set.key_switch,
            key_switch_degree: set.key_switch_degree,
        }
    }
}

impl From<&NibbleSet> for Shape {
    fn from(set: &NibbleSet) -> Self {
        Self {
            lwe_dimension: set.lwe_dimension,
            lwe_log2_sigma: set.lwe_log2_sigma,
            lwe_key: LweKey::Independent,
            unroll: set.unroll,
            rank: 1,
            degree: set.degree,
            glwe_log2_sigma: set.glwe_log2_sigma,
            rotation_mask: set.rotation,
            rotation_body: set.rotation_body,
            automorphism: set.packing,
            scheme_switch: None,
            key_switch: set.key_switch,
            key_switch_degree: set.key_switch_degree,
        }
    }
}

impl Shape {
    /// k N
    pub(crate) fn big_dimension(&self) -> usize {
        self.rank * self.degree
    }
}

/// Why a set is rejected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("set {set}: {what} is {found}, expected {expected}")]
pub struct ParamsError {
    /// the set
    pub set: &'static str,
    /// which number
    pub what: &'static str,
    /// its value
    pub found: u64,
    /// allowed values
    pub expected: &'static str,
}

/// Exact products with keys need smaller limbs beyond this degree.
const MAX_DEGREE: usize = 2048;

/// Bits of a block: the step kernel takes three keys, and two uniform bits choose among the four cases.
pub(crate) const BLOCK: usize = 3;

impl ParamSet {
    pub(crate) fn digest(&self) -> [u8; 32] {
        let gadget = |b: DigestBuilder, label: &str, g: Gadget| {
            b.u64_list(label, &[u64::from(g.base_log), g.levels as u64])
        };
        let start = DigestBuilder::new("tfhe");
        match &self.variant {
            Variant::Bits(set) => {
                let b = start
                    .str("variant", "bits")
                    .u64("lwe dimension", set.lwe_dimension as u64)
                    .u64("unroll", set.unroll as u64)
                    .f64("lwe sigma", set.lwe_log2_sigma)
                    .u64("rank", set.rank as u64)
                    .u64("degree", set.degree as u64)
                    .f64("glwe sigma", set.glwe_log2_sigma)
                    .u64("many", u64::from(set.log2_values))
                    .u64("key switch degree", set.key_switch_degree as u64);
                let b = gadget(b, "rotation mask", set.rotation_mask);
                let b = gadget(b, "rotation body", set.rotation_body);
                let b = gadget(b, "ggsw", set.ggsw);
                let b = gadget(b, "trace", set.trace);
                let b = gadget(b, "scheme switch", set.scheme_switch);
                let b = gadget(b, "key switch", set.key_switch);
                match set.lwe_key {
                    LweKey::Independent => b,
                    LweKey::Blocks => b.str("lwe key", "blocks"),
                }
                .finish()
            }
            Variant::Nibble(set) => {
                let b = start
                    .str("variant", "nibble")
                    .u64("lwe dimension", set.lwe_dimension as u64)
                    .u64("unroll", set.unroll as u64)
                    .f64("lwe sigma", set.lwe_log2_sigma)
                    .u64("degree", set.degree as u64)
                    .f64("glwe sigma", set.glwe_log2_sigma)
                    .u64("digit bits", u64::from(set.digit_bits))
                    .u64("key switch degree", set.key_switch_degree as u64);
                let b = gadget(b, "rotation", set.rotation);
                let b = gadget(b, "rotation body", set.rotation_body);
                let b = gadget(b, "key switch", set.key_switch);
                gadget(b, "packing", set.packing).finish()
            }
        }
    }

    pub(crate) fn check(&self) -> Result<(), ParamsError> {
        let range = |what, found: usize, good: bool, expected| {
            let (set, found) = (self.name.as_str(), found as u64);
            let error = ParamsError {
                set,
                what,
                found,
                expected,
            };
            if good { Ok(()) } else { Err(error) }
        };
        let degree = |what, n: usize| {
            let good = n.is_power_of_two() && (MIN_DEGREE..=MAX_DEGREE).contains(&n);
            range(what, n, good, "a power of two from 128 to 2048")
        };
        let sigma = |what, log2: f64| {
            let good = log2.is_finite() && (-64.0..0.0).contains(&log2);
            range(what, log2.abs() as usize, good, "noise of 2^-64 to 1")
        };
        let gadget = |what, g: Gadget| {
            let bits = g.levels.saturating_mul(g.base_log as usize);
            let good = (1..32).contains(&g.base_log) && g.levels > 0 && bits < 64;
            range(what, bits, good, "at least one digit, below 64 bits in all")
        };
        let unroll = |key: LweKey, bits: usize| {
            let what = "key bits per step of blind rotation";
            match key {
                LweKey::Independent => range(what, bits, (1..=2).contains(&bits), "1 or 2"),
                LweKey::Blocks => range(what, bits, bits == BLOCK, "3, the bits of a block"),
            }
        };
        let (shape, automorphism, divisor) = match &self.variant {
            Variant::Bits(set) => (Shape::from(set), "digits of the trace", "a divisor of k N"),
            Variant::Nibble(set) => (Shape::from(set), "digits of packing", "a divisor of N"),
        };
        let (n, small) = (shape.lwe_dimension, shape.key_switch_degree);
        degree("degree", shape.degree)?;
        degree("degree of key switching", small)?;
        let good = (1..=2).contains(&shape.rank);
        range("rank", shape.rank, good, "1 or 2")?;
        sigma("LWE noise", shape.lwe_log2_sigma)?;
        sigma("GLWE noise", shape.glwe_log2_sigma)?;
        let good = shape.big_dimension().is_multiple_of(small);
        range("key switch degree", small, good, divisor)?;
        unroll(shape.lwe_key, shape.unroll)?;
        let good = n.is_multiple_of(shape.unroll) && n > 0 && n.div_ceil(small) < 8;
        let expected = "whole steps of blind rotation, at most 7 polynomials";
        range("LWE dimension", n, good, expected)?;
        gadget("mask digits of blind rotation", shape.rotation_mask)?;
        gadget("body digits of blind rotation", shape.rotation_body)?;
        gadget(automorphism, shape.automorphism)?;
        gadget("digits of key switching", shape.key_switch)?;
        match &self.variant {
            Variant::Bits(set) => {
                let (values, log) = (set.log2_values, set.degree.trailing_zeros());
                let what = "log2 of values per rotation";
                range(what, values as usize, values < log, "below log2 N")?;
                let (levels, expected) =
                    (set.ggsw.levels, "at most as many as values per rotation");
                range("GGSW levels", levels, levels <= 1 << values, expected)?;
                gadget("digits of GGSW ciphertexts", set.ggsw)?;
                gadget("digits of scheme switching", set.scheme_switch)
            }
            Variant::Nibble(set) => {
                let bits = set.digit_bits as usize;
                range("digit bits", bits, bits == 4, "4, two digits per byte")
            }
        }
    }
}
