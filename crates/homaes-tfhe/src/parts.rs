//! The parts of an evaluation key: messages and spectra.
//!
//! | part | records | rows of a record | message of a row, times its gadget unit g |
//! |---|---|---|---|
//! | blind rotation | one per step | a GGSW per m of `rotation::messages` | -m s_i g (mask rows), m g (body rows) |
//! | automorphisms | one per X -> X^(2^t + 1), t = 1 … log2 N | k · levels | -ψ(s_i) g |
//! | scheme switch | one on bits, none on digits | k GGSW, of -s_1 … -s_k | s_i s_j g, -s_i g |
//! | key switch | one | (k N / d) · levels, in the ring of degree d | -S_i g |
//!
//! Masks come from the key's seed; only bodies are stored and sent. Those of blind rotation are rounded.

use crate::ring::{self, Automorphism, RingSecret};
use crate::rotation::messages;
use crate::rows::{self, Masks, Secrets, unit};
use crate::set::{Gadget, ROTATION_ROW_BITS, Shape};
use core::iter::repeat_n;
use homaes_math::sample::Seed;
use homaes_math::{Fourier, Reals};
use homaes_scheme::SetId;
use homaes_scheme::file::stream_seed;
use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

impl Shape {
    fn steps(&self) -> usize {
        self.lwe_dimension / self.unroll
    }

    /// Transforms of the GLWE ring and of the key-switch ring.
    pub(crate) fn fouriers(&self) -> [Fourier; 2] {
        [self.degree, self.key_switch_degree].map(Fourier::new)
    }

    /// All records in file order.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let steps = (0..self.steps()).map(Part::Step);
        let automorphisms = (1..=self.degree.trailing_zeros()).map(Part::Automorphism);
        let scheme_switch = self.scheme_switch.map(Part::SchemeSwitch);
        steps
            .chain(automorphisms)
            .chain(scheme_switch)
            .chain([Part::KeySwitch])
            .collect()
    }
}

/// One record of the evaluation key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// step of blind rotation, from 0
    Step(usize),
    /// X -> X^(2^t + 1)
    Automorphism(u32),
    SchemeSwitch(Gadget),
    KeySwitch,
}

impl Part {
    /// Names the streams of the record.
    pub(crate) fn name(self) -> [u64; 2] {
        match self {
            Self::Step(step) => [0, step as u64],
            Self::Automorphism(t) => [1, u64::from(t)],
            Self::SchemeSwitch(_) => [2, 0],
            Self::KeySwitch => [3, 0],
        }
    }

    /// Masks of the record, from the seed of a key.
    pub(crate) fn masks(self, set: SetId<'_>, seed: &Seed) -> Masks {
        Masks {
            seed: *stream_seed(seed, set, &self.name()),
            first: 0,
        }
    }

    /// [`masks`](Self::masks) of a key file of version 1.
    pub(crate) fn numbered_masks(self, shape: &Shape, seed: &Seed) -> Masks {
        Masks {
            seed: *seed,
            first: (self.number(shape) as u64) << 32,
        }
    }

    /// Index in [`Shape::parts`].
    fn number(self, shape: &Shape) -> usize {
        let log = shape.degree.trailing_zeros() as usize;
        match self {
            Self::Step(step) => step,
            Self::Automorphism(t) => shape.steps() + t as usize - 1,
            Self::SchemeSwitch(_) => shape.steps() + log,
            Self::KeySwitch => shape.steps() + log + usize::from(shape.scheme_switch.is_some()),
        }
    }

    pub(crate) fn rows(self, shape: &Shape) -> usize {
        let k = shape.rank;
        match self {
            Self::Step(_) => {
                let digits = k * shape.rotation_mask.levels + shape.rotation_body.levels;
                shape.lwe_key.keys(shape.unroll) * digits
            }
            Self::Automorphism(_) => k * shape.automorphism.levels,
            Self::SchemeSwitch(gadget) => k * (k + 1) * gadget.levels,
            Self::KeySwitch => {
                shape.big_dimension() / shape.key_switch_degree * shape.key_switch.levels
            }
        }
    }

    /// Bits of a word that the body of each row keeps, from the top.
    pub(crate) fn row_bits(self, shape: &Shape) -> Vec<u32> {
        let count = self.rows(shape);
        let Self::Step(_) = self else {
            return vec![64; count];
        };
        let rows = [
            shape.rank * shape.rotation_mask.levels,
            shape.rotation_body.levels,
        ];
        let of_ggsw = ROTATION_ROW_BITS.into_iter().zip(rows);
        let of_ggsw = of_ggsw.flat_map(|(bits, rows)| repeat_n(bits, rows));
        of_ggsw.cycle().take(count).collect()
    }

    /// Words of a body.
    pub(crate) fn degree(self, shape: &Shape) -> usize {
        match self {
            Self::KeySwitch => shape.key_switch_degree,
            _ => shape.degree,
        }
    }

    fn rank(self, shape: &Shape) -> usize {
        match self {
            Self::KeySwitch => shape.lwe_dimension.div_ceil(shape.key_switch_degree),
            _ => shape.rank,
        }
    }

    /// The bodies, row by row.
    pub(crate) fn bodies(
        self,
        shape: &Shape,
        secrets: &Secrets<'_>,
        masks: &Masks,
        rng: &mut impl CryptoRng,
    ) -> Vec<u64> {
        let (secret, log2_sigma) = match self {
            Self::KeySwitch => (&secrets.small, shape.lwe_log2_sigma),
            _ => (&secrets.glwe, shape.glwe_log2_sigma),
        };
        let mut bodies = self.messages(shape, secrets);
        rows::encrypt(secret, log2_sigma.exp2(), masks, rng, &mut bodies);
        let rows = bodies.chunks_mut(self.degree(shape));
        for (body, bits) in rows.zip(self.row_bits(shape)) {
            ring::round(body, bits);
        }
        bodies
    }

    fn messages(self, shape: &Shape, secrets: &Secrets<'_>) -> Vec<u64> {
        let n = self.degree(shape);
        let Secrets { lwe, glwe, .. } = secrets;
        let mut out = Vec::with_capacity(self.rows(shape) * n);
        // factor · g · poly for the unit g of each level
        let mut times = |poly: &[u64], gadget: Gadget, factor: u64| {
            for level in 0..gadget.levels {
                let g = unit(gadget, level).wrapping_mul(factor);
                out.extend(poly.iter().map(|x| x.wrapping_mul(g)));
            }
        };
        let minus = |m: u64| m.wrapping_neg();
        match self {
            Self::Step(step) => {
                let bits = &lwe[step * shape.unroll..][..shape.unroll];
                let mut one = vec![0; n];
                one[0] = 1;
                for &m in Zeroizing::new(messages(shape.lwe_key, bits)).iter() {
                    for i in 0..shape.rank {
                        times(glwe.poly(i), shape.rotation_mask, minus(m));
                    }
                    times(&one, shape.rotation_body, m);
                }
            }
            Self::Automorphism(t) => {
                let map = Automorphism::new(n, t);
                let mut turned = Zeroizing::new(vec![0; n]);
                for i in 0..shape.rank {
                    map.apply(glwe.poly(i), &mut turned);
                    times(&turned, shape.automorphism, minus(1));
                }
            }
            Self::SchemeSwitch(gadget) => {
                for i in 0..shape.rank {
                    let one = RingSecret::new(glwe.fourier(), glwe.poly(i));
                    for j in 0..shape.rank {
                        let mut product = Zeroizing::new(vec![0; n]);
                        one.add_mask_product(glwe.poly(j), &mut product);
                        times(&product, gadget, 1);
                    }
                    times(glwe.poly(i), gadget, minus(1));
                }
            }
            Self::KeySwitch => {
                for poly in glwe.bits.chunks(n) {
                    times(poly, shape.key_switch, minus(1));
                }
            }
        }
        out
    }

    /// The spectra of the rows, masks before body.
    pub(crate) fn spectra(
        self,
        shape: &Shape,
        [fourier, small]: [&Fourier; 2],
        masks: &Masks,
        bodies: &[u64],
    ) -> Reals {
        let fourier = match self {
            Self::KeySwitch => small,
            _ => fourier,
        };
        let rank = self.rank(shape);
        let place = |row| match self {
            // the k matrices are side by side
            Self::SchemeSwitch(gadget) => {
                let rows = (rank + 1) * gadget.levels;
                (row % rows * rank + row / rows) * (rank + 1)
            }
            _ => row * (rank + 1),
        };
        rows::spectra(fourier, rank, masks, bodies, place)
    }
}

pub(crate) struct Spectra {
    /// see [`Fourier::rotation_step`]
    pub(crate) steps: Vec<Reals>,
    /// t = 1, 2, …: k · levels rows, k + 1 columns
    pub(crate) automorphisms: Vec<Reals>,
    /// (k + 1) · levels rows, k (k + 1) columns; empty on digits
    pub(crate) scheme_switch: Reals,
    /// (k N / d) · levels rows of ⌈n/d⌉ + 1 columns
    pub(crate) key_switch: Reals,
}

impl Spectra {
    /// Transforms all records, given in file order, on the current thread pool.
    pub(crate) fn new(
        shape: &Shape,
        fouriers: [&Fourier; 2],
        masks: impl Fn(Part) -> Masks + Sync,
        bodies: &[Vec<u64>],
    ) -> Self {
        let parts = shape.parts().into_par_iter().zip(bodies);
        let mut steps: Vec<Reals> = parts
            .map(|(part, bodies)| part.spectra(shape, fouriers, &masks(part), bodies))
            .collect();
        let nothing = || Reals::zeroed(0);
        let mut automorphisms = steps.split_off(shape.steps());
        let key_switch = automorphisms.pop().unwrap_or_else(nothing);
        let log = shape.degree.trailing_zeros() as usize;
        let scheme_switch = automorphisms.split_off(log).pop().unwrap_or_else(nothing);
        Self {
            steps,
            automorphisms,
            scheme_switch,
            key_switch,
        }
    }
}
