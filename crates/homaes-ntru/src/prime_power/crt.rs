//! Multi-limb integers to residues modulo auxiliary primes, and back.

use super::wide::{BLOCK, EXCESS, LIMB_BITS, Wide, WideModulus, limbs};
use homaes_math::kernel::{self, Combination};
use homaes_math::{Shoup, Words};
use homaes_rns::{Meter, RnsContext, Stage};
use num_bigint::BigUint;
use zeroize::Zeroize;

const SOURCES: usize = 16;

/// Powers of 2^46 modulo the primes of a context, for residues of multi-limb integers.
pub(super) struct Reduction {
    powers: Vec<Vec<u64>>,
}

impl Reduction {
    pub(super) fn new(context: &RnsContext, limbs: usize) -> Self {
        let powers = (0..context.count()).map(|i| {
            let m = context.modulus(i);
            let base = (1u64 << LIMB_BITS) % m.p();
            let power = |k: usize| m.to_stored_twice(m.pow(base, k as u64));
            (0..limbs).map(power).collect()
        });
        Self {
            powers: powers.collect(),
        }
    }

    /// Residues modulo prime `i` of the integers with limbs `x`, in evaluation form.
    pub(super) fn of(
        &self,
        context: &RnsContext,
        meter: &Meter,
        i: usize,
        x: &[Words],
        out: &mut Words,
    ) {
        let (ring, t) = (context.ring(), context.transform(i));
        let m = t.modulus();
        meter.time(Stage::Conversion, || {
            let parts = x.chunks(SOURCES).zip(self.powers[i].chunks(SOURCES));
            let mut sum = Words::scratch(ring.n());
            for (at, (limbs, powers)) in parts.enumerate() {
                let limbs: Vec<&[u64]> = limbs.iter().map(|l| &l[..]).collect();
                let one = Combination {
                    modulus: m,
                    constants: &powers[..limbs.len()],
                };
                if at == 0 {
                    kernel::combine(ring, &[one], &limbs, &mut [&mut out[..]]);
                    continue;
                }
                let mut part = Words::scratch(ring.n());
                kernel::combine(ring, &[one], &limbs, &mut [&mut part[..]]);
                kernel::add(ring, m, &part, out, &mut sum);
                core::mem::swap(&mut sum, out);
            }
        });
        meter.time(Stage::Transform, || t.forward(out));
    }
}

/// From residues modulo the first primes of a context to integers modulo q, or to sums of such integers times powers of
/// 2. The product M of the primes exceeds twice the size of an integer.
pub(super) struct Crt {
    /// (M/m_i)⁻¹, which also removes the stored form
    scale: Vec<Shoup>,
    inverses: Vec<f64>,
    /// by integer: M/m_i modulo q for all primes, then -M modulo q, all times the integer's power of 2
    constants: Vec<Vec<u64>>,
}

impl Crt {
    pub(super) fn new(context: &RnsContext, primes: usize, q: &BigUint, count: usize) -> Self {
        Self::of_sums(context, primes, q, count, &[0])
    }

    /// For sums of integers times 2^46 to these `powers`; q has `count` limbs.
    pub(super) fn of_sums(
        context: &RnsContext,
        primes: usize,
        q: &BigUint,
        count: usize,
        powers: &[usize],
    ) -> Self {
        let product: BigUint = (0..primes)
            .map(|i| BigUint::from(context.modulus(i).p()))
            .product();
        let scale = (0..primes).map(|i| {
            let m = context.modulus(i);
            let others = context.product(m, (0..primes).filter(|&j| j != i));
            m.shoup(m.mul(m.inv(others), m.inv(m.r())))
        });
        let constants = powers.iter().flat_map(|power| {
            let shifted = |x: BigUint| (x << (power * LIMB_BITS as usize)) % q;
            let cofactors = (0..primes).map(|i| shifted(&product / context.modulus(i).p()));
            let whole = q - shifted(product.clone());
            let all = cofactors.collect::<Vec<_>>().into_iter().chain([whole]);
            all.map(|x| limbs(&x, count)).collect::<Vec<_>>()
        });
        let inverses = (0..primes).map(|i| 1.0 / context.modulus(i).p() as f64);
        let out = Self {
            scale: scale.collect(),
            inverses: inverses.collect(),
            constants: constants.collect(),
        };
        // the most that `WideModulus::reduce` accepts
        assert!(out.constants.len() <= 64);
        out
    }

    pub(super) fn primes(&self) -> usize {
        self.scale.len()
    }

    /// Number of residues of all integers.
    pub(super) fn residues(&self) -> usize {
        self.constants.len() / (self.primes() + 1) * self.primes()
    }

    /// The sums of centred integers. `residues`, by integer, are in coefficient form, stored and lazy, and are
    /// overwritten.
    pub(super) fn apply(
        &self,
        context: &RnsContext,
        meter: &Meter,
        q: &WideModulus,
        residues: &mut [Words],
    ) -> Wide {
        assert_eq!(residues.len(), self.residues());
        let (ring, n, primes) = (context.ring(), context.ring().n(), self.primes());
        let mut out = Wide::zeroed(n, q.count());
        meter.time(Stage::Conversion, || {
            let mut quotients = Vec::new();
            for residues in residues.chunks_exact_mut(primes) {
                for (i, (y, &scale)) in residues.iter_mut().zip(&self.scale).enumerate() {
                    kernel::scale_canonical(ring, context.modulus(i), scale, y);
                }
                let ys: Vec<&[u64]> = residues.iter().map(|y| &y[..]).collect();
                let mut quotient = Words::scratch(n);
                kernel::quotient(ring, &ys, &self.inverses, &mut quotient);
                quotients.push(quotient);
            }
            let ys = residues.chunks_exact(primes).zip(&quotients);
            let ys = ys.flat_map(|(ys, v)| ys.iter().chain([v]).map(|y| &y[..]));
            let ys: Vec<&[u64]> = ys.collect();
            let mut block = vec![[0u64; BLOCK]; q.count() + EXCESS];
            for start in (0..n).step_by(BLOCK) {
                let ys: Vec<&[u64]> = ys.iter().map(|y| &y[start..start + BLOCK]).collect();
                let mut limbs: Vec<&mut [u64]> = block.iter_mut().map(|b| &mut b[..]).collect();
                kernel::limb_sums(ring, &ys, &self.constants, &mut limbs);
                q.reduce(&mut block);
                out.set_block(start, &block);
            }
            // decryption uses this too
            block.iter_mut().for_each(Zeroize::zeroize);
            quotients.iter_mut().for_each(Zeroize::zeroize);
        });
        out
    }
}
