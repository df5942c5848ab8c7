//! Round keys from their compact form ([`crate::aes::compact`]), once per AES key.
//!
//! z = ζ_257, τ adds one to e257 (z → z^3), H = ⟨3^16⟩ of order 16. The Gaussian periods η_i = Σ_(h∈H) z^(3^i h),
//! i < 16, are their own dual basis modulo 2: Tr(η_i η_j) = 257 δ - 16 over the field that H fixes. With two keys, for
//! τ^16 and τ,
//!
//! ```text
//! A   = Tr_H(c0) + Tr_H((0, c1))       x <- c1 + τ^16(x), fifteen times
//! A_k = τ^k(A), k < 16                 fifteen times τ
//! B_i = Σ_k τ^k(η_i) A_k               byte i in every slot: a round key of the sliced layout
//! K   = Σ_k ψ_k A_k                    packed; ψ_k = Σ_i mask_i τ^k(η_i) modulo 2
//! ```
//!
//! and mask_i is 1 in the slots of byte i. A value η_i at column e257 is η_0 at column e257 + i, and depends on this sum
//! modulo 16. Noise: [`NoiseModel::expanded`](crate::noise::NoiseModel::expanded), then a modulus switch to the
//! level of use. Cost for each round key: 30 key switches, and 256 (packed: 16) products per word.

use crate::aes::compact::{BYTES, Compact, repeated, sent_level};
use crate::aes::level_plan::{LevelPlan, slope};
use crate::aes::placement::{packed_slot, packed_step};
use crate::ciphertext::{Ciphertext, History};
use crate::circuit::evaluate::{Evaluator, only};
use crate::circuit::images::Image;
use crate::encrypt::plain_coefficients;
use crate::error::{Error, Result};
use crate::keys::{EvalKey, Target, uniform_poly};
use crate::keyswitch::Post;
use crate::params::{LAST, Params};
use homaes_aes::{Direction, Layout};
use homaes_math::{Words, kernel};
use homaes_rns::{Poly, SwitchPlan};
use homaes_scheme::{Cancel, Owner};
use rayon::prelude::*;

/// Expands round keys for the layout of `plan`.
pub(crate) struct Expansion<'k> {
    eval: Evaluator<'k>,
    plan: LevelPlan,
    direction: Direction,
    /// the rotation by sixteen steps, then by one
    rotations: [[Image; 1]; 2],
    factors: Factors,
}

/// The factors of the A_k.
enum Factors {
    /// for each prime of the largest level, a block of each η_j
    Periods(Vec<Vec<Words>>),
    /// for each slope, the coefficients of ψ_k
    Masks(Vec<Vec<Vec<i64>>>),
}

impl<'k> Expansion<'k> {
    /// # Errors
    /// If the evaluation key, of an older version, has no keys for it.
    pub(crate) fn new(
        key: &'k EvalKey,
        plan: LevelPlan,
        direction: Direction,
        cancel: &Cancel,
    ) -> Result<Self> {
        let params = &key.params;
        let [one, sixteen] = Target::EXPAND;
        let rotation = |target| -> Result<[Image; 1]> {
            key.key(target).map_err(|_| Error::NoExpansion)?;
            Ok([Image::new(key, target, vec![0], cancel)?])
        };
        let factors = match plan.layout {
            Layout::Packed => Factors::Masks(masks(params)),
            _ => {
                let basis = params.basis(sent_level(&plan, 0)).par_iter();
                Factors::Periods(basis.map(|&i| periods(params, i, block(params))).collect())
            }
        };
        Ok(Self {
            eval: Evaluator::new(key)
                .until(cancel)
                .beside(plan.size.rounds() + 1),
            plan,
            direction,
            rotations: [rotation(sixteen)?, rotation(one)?],
            factors,
        })
    }

    /// All round keys, each in the ciphertexts of the layout, at their level of use.
    ///
    /// # Errors
    /// If it is cancelled.
    pub(crate) fn round_keys(&self, sent: &Compact) -> Result<Vec<Vec<Ciphertext>>> {
        let rounds = 0..self.plan.size.rounds() + 1;
        let rounds = rounds.into_par_iter().with_max_len(1);
        let round_key = |r| {
            let sums = self.sums(r, self.rotated(sent, r)?).into_iter();
            let own = self.plan.key_level(r);
            sums.map(|c| self.eval.lowered(&c, own)).collect()
        };
        rounds.map(round_key).collect()
    }

    /// A_0 … A_15 of round key `r`.
    pub(crate) fn rotated(&self, sent: &Compact, r: usize) -> Result<Vec<Ciphertext>> {
        let (params, level) = (self.eval.params(), sent_level(&self.plan, r));
        let (rns, basis, switch) = (params.rns(), params.basis(level), params.expand_plan(level));
        let [sixteen, one] = &self.rotations;
        let mask = uniform_poly(params, &sent.seed, r as u64, basis);
        let mut x = Ciphertext {
            owner: Owner::new(params.id(), Some(self.eval.key_id())),
            level,
            parts: [Poly::zeroed(params.ring().n(), basis.len()), mask.clone()],
            noise: params.noise().fresh(),
            history: History::AES,
        };
        for _ in 1..BYTES {
            x = self.rotate(&switch, sixteen, &x)?;
            x.parts[1].add_assign(rns, basis, &mask);
        }
        x.parts[0].add_assign(rns, basis, &repeated(params, &sent.traces[r]));
        let mut all = vec![x];
        for k in 1..BYTES {
            all.push(self.rotate(&switch, one, &all[k - 1])?);
        }
        Ok(all)
    }

    fn rotate(&self, plan: &SwitchPlan, by: &[Image; 1], x: &Ciphertext) -> Result<Ciphertext> {
        self.eval.cancel.check()?;
        Ok(only(self.eval.sum_of_images(
            plan,
            by,
            &[x],
            1.0,
            Post::None,
        )?))
    }

    /// The ciphertexts of round key `r` in the layout, at the level of its compact form.
    pub(crate) fn sums(&self, r: usize, mut rotated: Vec<Ciphertext>) -> Vec<Ciphertext> {
        let (params, level) = (self.eval.params(), sent_level(&self.plan, r));
        let basis = params.basis(level).iter().enumerate();
        match &self.factors {
            Factors::Periods(periods) => basis.for_each(|(at, &i)| {
                let limbs = rotated.iter_mut().flat_map(|c| &mut c.parts);
                let mut limbs: Vec<&mut [u64]> = limbs.map(|p| &mut *p.limbs[at]).collect();
                period_sums(params, i, &periods[at], &mut limbs);
            }),
            Factors::Masks(masks) => {
                let masks = &masks[slope(&self.plan, self.direction, r)];
                let limbs = basis.map(|(at, &i)| mask_sums(params, i, at, masks, &rotated));
                let [first, second] = pairs(limbs);
                rotated.truncate(1);
                rotated[0].parts = [first, second];
            }
        }
        let noise = params
            .noise()
            .expanded(&params.expand_plan(level), self.plan.layout);
        rotated.iter_mut().for_each(|c| c.noise = noise);
        rotated
    }
}

/// Both parts of K modulo the prime numbered `i`, the `at`-th of the level.
fn mask_sums(
    params: &Params,
    i: usize,
    at: usize,
    masks: &[Vec<i64>],
    rotated: &[Ciphertext],
) -> [Words; 2] {
    let masks = masks.iter().map(|psi| {
        let psi = Poly::from_signed(params.rns(), &[i], psi);
        only(psi.limbs.into_words())
    });
    let masks: Vec<Words> = masks.collect();
    [0, 1].map(|part| {
        let rotated = rotated.iter().map(|c| &*c.parts[part].limbs[at]);
        let terms = rotated.zip(&masks).map(|(x, psi)| [x, &**psi]);
        let terms: Vec<[&[u64]; 2]> = terms.collect();
        let mut sum = Words::scratch(params.ring().n());
        kernel::dot(params.ring(), params.modulus(i), &terms, false, &mut sum);
        sum
    })
}

/// Two polynomials from both limbs of each prime.
fn pairs(limbs: impl Iterator<Item = [Words; 2]>) -> [Poly; 2] {
    let (first, second): (Vec<Words>, Vec<Words>) = limbs.map(|[a, b]| (a, b)).unzip();
    [first, second].map(|limbs| limbs.into_iter().collect())
}

/// The first `len` words of η_0 … η_15 modulo the prime numbered `i`, by columns; canonical and stored.
fn periods(params: &Params, i: usize, len: usize) -> Vec<Words> {
    let (ring, m) = (params.ring(), params.modulus(i));
    let lanes = ring.lanes();
    // up to sign, which modulo 2 does not matter: 1 is minus the sum of all powers along the other axes
    let column = |at: usize| at / lanes % ring.cols();
    let first = |at: usize| column(at) % BYTES == 0 && ring.half(at) == 0;
    let coefficients = (0..ring.n()).map(|at| i64::from(first(at)));
    let coefficients: Vec<i64> = coefficients.collect();
    let first = only(
        Poly::from_signed(params.rns(), &[i], &coefficients)
            .limbs
            .into_words(),
    );
    let period = |j: usize| {
        let mut limb = Words::scratch(len);
        for (at, x) in limb.iter_mut().enumerate() {
            *x = m.canonical(first[(column(at) + j) % BYTES * lanes]);
        }
        limb
    };
    (0..BYTES).map(period).collect()
}

/// Words that the sums of periods take at once: whole periods of columns, and the sources fit a second-level cache.
fn block(params: &Params) -> usize {
    params.ring().row_len().min(512)
}

/// Replaces A_k by B_k in the limbs modulo the prime numbered `i`: both parts of A_0, those of A_1, and so on.
fn period_sums(params: &Params, i: usize, periods: &[Words], limbs: &mut [&mut [u64]]) {
    let (ring, m, block) = (params.ring(), params.modulus(i), block(params));
    let mut sums = Words::scratch(limbs.len() * block);
    for start in (0..ring.n()).step_by(block) {
        let range = start..start + block;
        let sources = [0, 1].map(|part| {
            let own = limbs.iter().skip(part).step_by(2);
            own.map(|limb| &limb[range.clone()])
                .collect::<Vec<&[u64]>>()
        });
        let sources = sources.each_ref().map(|part| &part[..]);
        for (i, sums) in sums.chunks_exact_mut(2 * block).enumerate() {
            let factors: [&[u64]; BYTES] = core::array::from_fn(|k| &*periods[(i + k) % BYTES]);
            let (first, second) = sums.split_at_mut(block);
            let mut out = [first, second];
            kernel::dots(ring, m, &sources, [&factors; 2], false, &mut out);
        }
        for (limb, sum) in limbs.iter_mut().zip(sums.chunks_exact(block)) {
            limb[range.clone()].copy_from_slice(sum);
        }
    }
}

/// The coefficients of ψ_0 … ψ_15 for packed states of each slope, 0 or 1.
fn masks(params: &Params) -> Vec<Vec<Vec<i64>>> {
    let (ring, m, t) = (params.ring(), params.modulus(LAST), params.transform(LAST));
    let mut first = vec![0; params.slots().count()];
    for block in 0..params.blocks_per_batch(Layout::Packed) {
        first[packed_slot(params, block, 0, 0)] = 1;
    }
    let first = plain_coefficients(params, &first);
    let first = only(
        Poly::from_signed(params.rns(), &[LAST], &first)
            .limbs
            .into_words(),
    );
    let periods = periods(params, LAST, ring.n());
    let of_slope = |slope: usize| {
        // the slots of byte i are those of byte 0, moved by a translation, whose inverse is taken
        let mask = |i: usize| {
            let [_, row, column] = packed_step(params, i, slope);
            let map = ring.translation([0, 4 - row, ring.cols() - column]);
            let mut limb = Words::scratch(ring.n());
            for (at, x) in limb.iter_mut().enumerate() {
                *x = first[map.source(at)];
            }
            limb
        };
        let masks: Vec<Words> = (0..BYTES).map(mask).collect();
        let psi = |k: usize| {
            let terms = masks.iter().enumerate();
            let terms = terms.map(|(i, mask)| [&**mask, &*periods[(i + k) % BYTES]]);
            let terms: Vec<[&[u64]; 2]> = terms.collect();
            let mut sum = Words::scratch(ring.n());
            kernel::dot(ring, m, &terms, false, &mut sum);
            t.inverse(&mut sum);
            // integer coefficients of the sum are far below the prime
            let parity = |&x: &u64| {
                let x = m.from_stored(x);
                (x.min(m.p() - x) & 1) as i64
            };
            sum.iter().map(parity).collect()
        };
        (0..BYTES).map(psi).collect()
    };
    (0..4).into_par_iter().map(of_slope).collect()
}
