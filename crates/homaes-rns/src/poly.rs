//! A ring element: one limb per prime of its basis.

use crate::context::RnsContext;
use crate::limbs::Limbs;
use core::ops::{Deref, DerefMut};
use homaes_math::{Words, kernel};
use zeroize::Zeroize;

/// Residues of a ring element: `limbs[i]` modulo the i-th prime of a basis that the owner knows.
#[derive(Clone)]
pub struct Poly {
    /// One per prime of the basis.
    pub limbs: Limbs,
}

impl FromIterator<Words> for Poly {
    fn from_iter<T: IntoIterator<Item = Words>>(limbs: T) -> Self {
        Self {
            limbs: limbs.into_iter().collect(),
        }
    }
}

impl Poly {
    /// Arbitrary content, to be overwritten: `limbs` limbs of `n` words.
    pub fn scratch(n: usize, limbs: usize) -> Self {
        (0..limbs).map(|_| Words::scratch(n)).collect()
    }

    /// Zero modulo `limbs` primes.
    pub fn zeroed(n: usize, limbs: usize) -> Self {
        (0..limbs).map(|_| Words::zeroed(n)).collect()
    }

    /// Reduces the signed integer polynomial `coefficients` modulo the primes `basis`, in evaluation form.
    pub fn from_signed(rns: &RnsContext, basis: &[usize], coefficients: &[i64]) -> Self {
        let limbs = basis.iter().map(|&i| {
            let t = rns.transform(i);
            let m = t.modulus();
            let (p, r) = (m.p() as i64, m.r());
            let r = m.shoup(r);
            let mut limb = Words::scratch(coefficients.len());
            for (x, &c) in limb.iter_mut().zip(coefficients) {
                // |c| < p always holds; the sign is handled without a branch
                *x = m.scale(((c >> 63) & p).wrapping_add(c) as u64, r);
            }
            t.forward(&mut limb);
            limb
        });
        limbs.collect()
    }

    /// Makes the limbs modulo the primes `basis` canonical.
    pub fn make_canonical(&mut self, rns: &RnsContext, basis: &[usize]) {
        for (limb, &i) in self.limbs.iter_mut().zip(basis) {
            let m = rns.modulus(i);
            limb.iter_mut().for_each(|x| *x = m.canonical(*x));
        }
    }

    /// `self += other`, limb by limb.
    ///
    /// # Panics
    /// If either operand does not have one limb per prime of `basis`.
    pub fn add_assign(&mut self, rns: &RnsContext, basis: &[usize], other: &Self) {
        let limbs = [self.limbs.len(), other.limbs.len()];
        assert_eq!(limbs, [basis.len(); 2], "a ciphertext of another set");
        for ((a, b), &i) in self.limbs.iter_mut().zip(&other.limbs).zip(basis) {
            let m = rns.modulus(i);
            kernel::scale_add(rns.ring(), m, b, m.shoup(1), a);
        }
    }
}

/// Transposes `rows`, one per prime with the limbs of all outputs, into one list of limbs per output.
///
/// # Panics
/// If a row has fewer than `columns` entries.
pub fn transposed<T>(rows: Vec<Vec<T>>, columns: usize) -> Vec<Vec<T>> {
    let mut rows: Vec<_> = rows.into_iter().map(Vec::into_iter).collect();
    let column = |_| {
        let own = rows.iter_mut().map(|row| row.next());
        own.map(|x| x.expect("one for every column")).collect()
    };
    (0..columns).map(column).collect()
}

/// A polynomial that depends on secrets: zeroized on drop, also during a panic.
pub struct SecretPoly(pub Poly);

impl Deref for SecretPoly {
    type Target = Poly;
    fn deref(&self) -> &Poly {
        &self.0
    }
}

impl DerefMut for SecretPoly {
    fn deref_mut(&mut self) -> &mut Poly {
        &mut self.0
    }
}

impl Drop for SecretPoly {
    fn drop(&mut self) {
        self.0.limbs.iter_mut().for_each(Zeroize::zeroize);
    }
}
