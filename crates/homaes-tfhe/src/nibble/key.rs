//! The evaluation key for digits: what it consists of, how rows are encrypted, and how they become spectra.
//!
//! | part | records | rows of a record | message of a row, times its gadget unit g |
//! |---|---|---|---|
//! | blind rotation | one per step | GGSW of the key bit s or, unrolled, of s1 (1 - s2), (1 - s1) s2, s1 s2 | -m s g (mask rows), m g (body rows) |
//! | automorphisms | one per X -> X^(2^t + 1), t = 1 … log2 N | levels | -ψ(s) g |
//! | key switch | one | (N / d) · levels, in the ring of degree d | -S_i g |
//!
//! As in [`crate::bits::key`], with one mask polynomial. A row's masks come from the key's seed, so only bodies are stored and sent.

use crate::params::{Gadget, NibbleSet};
use crate::ring::Automorphism;
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
    KeySwitch,
}

impl Part {
    /// All records in order.
    pub(crate) fn all(set: &NibbleSet) -> Vec<Self> {
        let steps = (0..set.lwe_dimension / set.unroll).map(Self::Step);
        let automorphisms = (1..=set.degree.trailing_zeros()).map(Self::Automorphism);
        steps
            .chain(automorphisms)
            .chain([Self::KeySwitch])
            .collect()
    }

    /// Number among [`Part::all`], which names the streams of its masks.
    fn number(self, set: &NibbleSet) -> usize {
        let steps = set.lwe_dimension / set.unroll;
        match self {
            Self::Step(step) => step,
            Self::Automorphism(t) => steps + t as usize - 1,
            Self::KeySwitch => steps + set.degree.trailing_zeros() as usize,
        }
    }

    /// Rows of the record.
    pub(crate) fn rows(self, set: &NibbleSet) -> usize {
        match self {
            Self::Step(_) => keys(set.unroll) * (set.rotation.levels + set.rotation_body.levels),
            Self::Automorphism(_) => set.packing.levels,
            Self::KeySwitch => set.degree / set.key_switch_degree * set.key_switch.levels,
        }
    }

    /// Degree of the ring its rows are in.
    pub(crate) fn degree(self, set: &NibbleSet) -> usize {
        match self {
            Self::KeySwitch => set.key_switch_degree,
            _ => set.degree,
        }
    }

    /// Mask polynomials of a row.
    fn rank(self, set: &NibbleSet) -> usize {
        match self {
            Self::KeySwitch => set.lwe_dimension.div_ceil(set.key_switch_degree),
            _ => 1,
        }
    }
}

/// The secret keys of a nibble set.
pub(crate) struct NibbleSecret<'a> {
    pub(crate) set: &'a NibbleSet,
    pub(crate) keys: Secrets<'a>,
}

impl<'a> NibbleSecret<'a> {
    pub(crate) fn new(
        set: &'a NibbleSet,
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
        // factor · unit · poly for every level of the gadget
        let mut times = |poly: &[u64], gadget: Gadget, factor: u64| {
            for level in 0..gadget.levels {
                let g = unit(gadget, level).wrapping_mul(factor);
                out.extend(poly.iter().map(|x| x.wrapping_mul(g)));
            }
        };
        let minus = |m: u64| m.wrapping_neg();
        match part {
            Part::Step(step) => {
                let bits = &lwe[step * set.unroll..][..set.unroll];
                let mut one = vec![0; n];
                one[0] = 1;
                for &m in Zeroizing::new(messages(bits)).iter() {
                    times(glwe.poly(0), set.rotation, minus(m));
                    times(&one, set.rotation_body, m);
                }
            }
            Part::Automorphism(t) => {
                let mut turned = Zeroizing::new(vec![0; n]);
                Automorphism::new(n, t).apply(glwe.poly(0), &mut turned);
                times(&turned, set.packing, minus(1));
            }
            Part::KeySwitch => {
                for poly in glwe.bits.chunks(n) {
                    times(poly, set.key_switch, minus(1));
                }
            }
        }
        out
    }
}

/// The spectra of an evaluation key.
pub(crate) struct NibbleKey {
    /// see [`Fourier::rotate`]
    pub(crate) steps: Vec<Reals>,
    /// t = 1, 2, …: `levels` rows, two columns
    pub(crate) automorphisms: Vec<Reals>,
    /// (N / d) · levels rows, as many columns as the LWE key has polynomials, and one
    pub(crate) key_switch: Reals,
}

impl NibbleKey {
    /// Takes the spectra of [`Part::all`], in order.
    pub(crate) fn from_parts(set: &NibbleSet, parts: &mut Vec<Reals>) -> Self {
        let mut rest = parts.split_off(set.lwe_dimension / set.unroll);
        Self {
            key_switch: rest.pop().unwrap_or_else(|| Reals::zeroed(0)),
            automorphisms: rest,
            steps: core::mem::take(parts),
        }
    }
}

/// The spectra of one record from its bodies and the seed of its masks: row by row, masks before the body.
pub(crate) fn spectra(
    set: &NibbleSet,
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
    let rank = part.rank(set);
    let place = |row| row * (rank + 1);
    rows::spectra(fourier, rank, (seed, part.number(set)), bodies, place)
}
