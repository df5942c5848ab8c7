//! Between integers of several limbs and their residues modulo auxiliary primes.

use super::wide::{BLOCK, LIMB_BITS, Wide, WideModulus, carry, limbs};
use homaes_leveled::{Meter, Pool, Stage};
use homaes_math::{Shoup, Words, kernel};
use num_bigint::BigUint;
use zeroize::Zeroize;

/// Sources of one base conversion.
const SOURCES: usize = 16;

/// Residues of integers modulo the primes of a pool: powers of 2^46, as base conversion wants them.
pub(super) struct Reduction {
    /// by prime
    powers: Vec<Vec<u64>>,
}

impl Reduction {
    /// Of integers of so many limbs.
    pub(super) fn new(pool: &Pool, limbs: usize) -> Self {
        let powers = (0..pool.count()).map(|i| {
            let m = pool.modulus(i);
            let base = (1u64 << LIMB_BITS) % m.p();
            let power = |k: usize| m.to_stored_twice(m.pow(base, k as u64));
            (0..limbs).map(power).collect()
        });
        Self {
            powers: powers.collect(),
        }
    }

    /// Residues modulo prime `i`, in evaluation form.
    pub(super) fn of(&self, pool: &Pool, meter: &Meter, i: usize, x: &Wide, out: &mut Words) {
        let (ring, t) = (pool.ring(), pool.transform(i));
        let m = t.modulus();
        meter.time(Stage::Conversion, || {
            let parts = x.limbs.chunks(SOURCES).zip(self.powers[i].chunks(SOURCES));
            let mut sum = Words::scratch(ring.n());
            for (at, (limbs, powers)) in parts.enumerate() {
                let limbs: Vec<&[u64]> = limbs.iter().map(|l| &l[..]).collect();
                let powers = &powers[..limbs.len()];
                if at == 0 {
                    kernel::combine(ring, m, &limbs, powers, out);
                    continue;
                }
                let mut part = Words::scratch(ring.n());
                kernel::combine(ring, m, &limbs, powers, &mut part);
                kernel::add(ring, m, &part, out, &mut sum);
                core::mem::swap(&mut sum, out);
            }
        });
        meter.time(Stage::Transform, || t.forward(out));
    }
}

/// Integers modulo q from their residues modulo the first primes of a pool, whose product M is more than twice their size.
pub(super) struct Crt {
    /// (M/m_i)⁻¹, out of stored form
    scale: Vec<Shoup>,
    inverses: Vec<f64>,
    /// M/m_i modulo q
    cofactors: Vec<Vec<u64>>,
    /// -M modulo q
    whole: Vec<u64>,
}

impl Crt {
    pub(super) fn new(pool: &Pool, primes: usize, q: &BigUint, count: usize) -> Self {
        let product: BigUint = (0..primes)
            .map(|i| BigUint::from(pool.modulus(i).p()))
            .product();
        let scale = (0..primes).map(|i| {
            let m = pool.modulus(i);
            let others = pool.product(m, (0..primes).filter(|&j| j != i));
            m.shoup(m.mul(m.inv(others), m.inv(m.r())))
        });
        let cofactor = |i: usize| limbs(&(&product / pool.modulus(i).p() % q), count);
        Self {
            scale: scale.collect(),
            inverses: (0..primes)
                .map(|i| 1.0 / pool.modulus(i).p() as f64)
                .collect(),
            cofactors: (0..primes).map(cofactor).collect(),
            whole: limbs(&(q - &product % q), count),
        }
    }

    /// Number of primes.
    pub(super) fn primes(&self) -> usize {
        self.scale.len()
    }

    /// The integers, centred before they are reduced; `residues` are in coefficient form, stored and lazy, and are overwritten.
    pub(super) fn apply(
        &self,
        pool: &Pool,
        meter: &Meter,
        q: &WideModulus,
        residues: &mut [Words],
    ) -> Wide {
        let (ring, n) = (pool.ring(), pool.ring().n());
        let mut out = Wide::zeroed(n, q.count());
        meter.time(Stage::Conversion, || {
            for (i, (y, &scale)) in residues.iter_mut().zip(&self.scale).enumerate() {
                kernel::scale_canonical(ring, pool.modulus(i), scale, y);
            }
            let mut quotient = Words::scratch(n);
            let ys: Vec<&[u64]> = residues.iter().map(|y| &y[..]).collect();
            kernel::quotient(ring, &ys, &self.inverses, &mut quotient);
            for start in (0..n).step_by(BLOCK) {
                self.block(q, &ys, &quotient, start, &mut out);
            }
            quotient.zeroize();
        });
        out
    }

    fn block(
        &self,
        q: &WideModulus,
        ys: &[&[u64]],
        quotient: &Words,
        start: usize,
        out: &mut Wide,
    ) {
        let range = start..start + BLOCK;
        let mut sums = vec![[0u128; BLOCK]; q.count()];
        let terms = ys.iter().copied().zip(&self.cofactors);
        for (y, constants) in terms.chain([(&quotient[..], &self.whole)]) {
            let y: &[u64; BLOCK] = y[range.clone()].try_into().expect("a block");
            for (sums, &c) in sums.iter_mut().zip(constants) {
                for (sum, &y) in sums.iter_mut().zip(y) {
                    *sum += u128::from(y) * u128::from(c);
                }
            }
        }
        let mut block = vec![[0u64; BLOCK]; q.count() + 2];
        carry(&sums, &mut block);
        q.reduce(&mut block);
        out.set_block(start, &block);
        // decryption comes here too
        block.iter_mut().for_each(Zeroize::zeroize);
        sums.iter_mut().for_each(Zeroize::zeroize);
    }
}
