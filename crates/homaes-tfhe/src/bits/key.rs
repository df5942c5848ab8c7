//! The evaluation key for bits: what it consists of, how rows are encrypted, and how they become spectra.
//!
//! | part | records | rows of a record | message of a row, times its gadget unit g |
//! |---|---|---|---|
//! | blind rotation | one per step | GGSW of the key bit s or, unrolled, of s1 (1 - s2), (1 - s1) s2, s1 s2 | -m s_i g (mask rows), m g (body rows) |
//! | automorphisms | one per X -> X^(2^t + 1), t = 1 … log2 N | k · levels | -ψ(s_i) g |
//! | scheme switch | one | k GGSW, of -s_1 … -s_k | s_i s_j g, -s_i g |
//! | key switch | one | (k N / d) · levels, in the ring of degree d | -S_i g |
//!
//! A row's masks come from the key's seed, so only bodies are stored and sent.

use crate::params::{BitsSet, Gadget};
use crate::ring::{Automorphism, RingSecret};
use crate::rotation::{keys, messages};
use crate::rows::{self, Secrets, unit};
use homaes_math::sample::Seed;
use homaes_math::{Fourier, Reals};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// One record of the evaluation key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// one of blind rotation, counted from 0
    Step(usize),
    /// X -> X^(2^t + 1)
    Automorphism(u32),
    SchemeSwitch,
    KeySwitch,
}

impl Part {
    /// All records in order.
    pub(crate) fn all(set: &BitsSet) -> Vec<Self> {
        let steps = (0..set.lwe_dimension / set.unroll).map(Self::Step);
        let automorphisms = (1..=set.degree.trailing_zeros()).map(Self::Automorphism);
        steps
            .chain(automorphisms)
            .chain([Self::SchemeSwitch, Self::KeySwitch])
            .collect()
    }

    /// Number among [`Part::all`], which names the streams of its masks.
    fn number(self, set: &BitsSet) -> usize {
        let steps = set.lwe_dimension / set.unroll;
        let log = set.degree.trailing_zeros() as usize;
        match self {
            Self::Step(step) => step,
            Self::Automorphism(t) => steps + t as usize - 1,
            Self::SchemeSwitch => steps + log,
            Self::KeySwitch => steps + log + 1,
        }
    }

    /// Rows of the record.
    pub(crate) fn rows(self, set: &BitsSet) -> usize {
        let k = set.rank;
        match self {
            Self::Step(_) => {
                keys(set.unroll) * (k * set.rotation_mask.levels + set.rotation_body.levels)
            }
            Self::Automorphism(_) => k * set.trace.levels,
            Self::SchemeSwitch => k * (k + 1) * set.scheme_switch.levels,
            Self::KeySwitch => k * set.degree / set.key_switch_degree * set.key_switch.levels,
        }
    }

    /// Degree of the ring its rows are in.
    pub(crate) fn degree(self, set: &BitsSet) -> usize {
        match self {
            Self::KeySwitch => set.key_switch_degree,
            _ => set.degree,
        }
    }

    /// Mask polynomials of a row.
    fn rank(self, set: &BitsSet) -> usize {
        match self {
            Self::KeySwitch => set.lwe_dimension.div_ceil(set.key_switch_degree),
            _ => set.rank,
        }
    }
}

/// The secret keys of a bits set.
pub(crate) struct BitsSecret<'a> {
    set: &'a BitsSet,
    pub(crate) keys: Secrets<'a>,
}

impl<'a> BitsSecret<'a> {
    pub(crate) fn new(
        set: &'a BitsSet,
        fouriers: [&'a Fourier; 2],
        lwe: &'a [u64],
        glwe: &[u64],
    ) -> Self {
        let keys = Secrets::new(fouriers, lwe, glwe);
        Self { set, keys }
    }

    /// The bodies of a record, row by row.
    pub(crate) fn bodies(&self, part: Part, seed: &Seed, rng: &mut impl CryptoRng) -> Vec<u64> {
        let set = self.set;
        let (secret, log2_sigma) = match part {
            Part::KeySwitch => (&self.keys.small, set.lwe_log2_sigma),
            _ => (&self.keys.glwe, set.glwe_log2_sigma),
        };
        let mut bodies = self.messages(part);
        rows::encrypt(
            secret,
            log2_sigma,
            (seed, part.number(set)),
            rng,
            &mut bodies,
        );
        bodies
    }

    fn messages(&self, part: Part) -> Vec<u64> {
        let (set, n) = (self.set, part.degree(self.set));
        let Secrets { lwe, glwe, .. } = &self.keys;
        let mut out = Vec::with_capacity(part.rows(set) * n);
        // ± unit · poly for every level of the gadget
        let mut times = |poly: &[u64], gadget: Gadget, negative: bool| {
            for level in 0..gadget.levels {
                let g = unit(gadget, level);
                let g = if negative { g.wrapping_neg() } else { g };
                out.extend(poly.iter().map(|x| x.wrapping_mul(g)));
            }
        };
        let constant = |x: u64| {
            let mut poly = Zeroizing::new(vec![0; n]);
            poly[0] = x;
            poly
        };
        match part {
            Part::Step(step) => {
                let bits = &lwe[step * set.unroll..][..set.unroll];
                for &m in Zeroizing::new(messages(bits)).iter() {
                    for i in 0..set.rank {
                        let poly: Vec<u64> = glwe.poly(i).iter().map(|s| s * m).collect();
                        times(&Zeroizing::new(poly), set.rotation_mask, true);
                    }
                    times(&constant(m), set.rotation_body, false);
                }
            }
            Part::Automorphism(t) => {
                let map = Automorphism::new(n, t);
                let mut turned = Zeroizing::new(vec![0; n]);
                for i in 0..set.rank {
                    map.apply(glwe.poly(i), &mut turned);
                    times(&turned, set.trace, true);
                }
            }
            Part::SchemeSwitch => {
                for i in 0..set.rank {
                    let one = RingSecret::new(glwe.fourier(), glwe.poly(i));
                    for j in 0..set.rank {
                        let mut product = Zeroizing::new(vec![0; n]);
                        one.add_mask_product(glwe.poly(j), &mut product);
                        times(&product, set.scheme_switch, false);
                    }
                    times(glwe.poly(i), set.scheme_switch, true);
                }
            }
            Part::KeySwitch => {
                for poly in glwe.bits.chunks(n) {
                    times(poly, set.key_switch, true);
                }
            }
        }
        out
    }
}

/// The spectra of an evaluation key.
pub(crate) struct BitsKey {
    /// see [`Fourier::rotate`]
    pub(crate) steps: Vec<Reals>,
    /// t = 1, 2, …: k · levels rows, k + 1 columns
    pub(crate) automorphisms: Vec<Reals>,
    /// (k + 1) · levels rows, k (k + 1) columns
    pub(crate) scheme_switch: Reals,
    /// (k N / d) · levels rows, as many columns as the LWE key has polynomials, and one
    pub(crate) key_switch: Reals,
}

impl BitsKey {
    /// Takes the spectra of [`Part::all`], in order.
    pub(crate) fn from_parts(set: &BitsSet, parts: &mut Vec<Reals>) -> Self {
        let steps = set.lwe_dimension / set.unroll;
        let log = set.degree.trailing_zeros() as usize;
        let mut rest = parts.split_off(steps);
        let mut last = rest.split_off(log);
        let key_switch = last.pop().unwrap_or_else(|| Reals::zeroed(0));
        let scheme_switch = last.pop().unwrap_or_else(|| Reals::zeroed(0));
        Self {
            steps: core::mem::take(parts),
            automorphisms: rest,
            scheme_switch,
            key_switch,
        }
    }
}

/// The spectra of one record from its bodies and the seed of its masks.
pub(crate) fn spectra(
    set: &BitsSet,
    [fourier, small]: [&Fourier; 2],
    part: Part,
    seed: &Seed,
    bodies: &[u64],
) -> Reals {
    let fourier = if part == Part::KeySwitch {
        small
    } else {
        fourier
    };
    let place = |row| place(set, part, row);
    rows::spectra(
        fourier,
        part.rank(set),
        (seed, part.number(set)),
        bodies,
        place,
    )
}

/// Number of the first spectrum of a row.
fn place(set: &BitsSet, part: Part, row: usize) -> usize {
    let columns = part.rank(set) + 1;
    match part {
        // the k matrices stand side by side
        Part::SchemeSwitch => {
            let rows = (set.rank + 1) * set.scheme_switch.levels;
            (row % rows * set.rank + row / rows) * columns
        }
        _ => row * columns,
    }
}
