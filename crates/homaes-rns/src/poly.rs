//! A ring element in evaluation form: one limb per prime of its basis.

use crate::context::RnsContext;
use crate::limbs::Limbs;
use core::ops::{Deref, DerefMut};
use homaes_math::{Words, kernel};
use zeroize::Zeroize;

/// Residues of one ring element, `limbs[i]` modulo the i-th prime of a basis the owner knows.
///
/// Limbs are in evaluation form, stored (factor 2^52) and lazy unless a function says otherwise.
#[derive(Clone)]
pub struct Poly {
    /// One per prime of the basis.
    pub limbs: Limbs,
}

impl Poly {
    /// One of any content, to be overwritten: `limbs` limbs of `n` words.
    pub fn scratch(n: usize, limbs: usize) -> Self {
        Self {
            limbs: (0..limbs).map(|_| Words::scratch(n)).collect(),
        }
    }

    /// 0 modulo `limbs` primes.
    pub fn zeroed(n: usize, limbs: usize) -> Self {
        Self {
            limbs: (0..limbs).map(|_| Words::zeroed(n)).collect(),
        }
    }

    /// The signed integer polynomial `coefficients` modulo the primes `basis`, in evaluation form.
    pub fn from_signed(rns: &RnsContext, basis: &[usize], coefficients: &[i64]) -> Self {
        let limbs = basis.iter().map(|&i| {
            let t = rns.transform(i);
            let m = t.modulus();
            let (p, r) = (m.p() as i64, m.r());
            let r = m.shoup(r);
            let mut limb = Words::scratch(coefficients.len());
            for (x, &c) in limb.iter_mut().zip(coefficients) {
                // |c| < p always holds here; the sign is folded in without a branch
                *x = m.scale(((c >> 63) & p).wrapping_add(c) as u64, r);
            }
            t.forward(&mut limb);
            limb
        });
        Self {
            limbs: limbs.collect(),
        }
    }

    /// Makes the limbs, which are modulo the primes `basis`, canonical.
    pub fn make_canonical(&mut self, rns: &RnsContext, basis: &[usize]) {
        for (limb, &i) in self.limbs.iter_mut().zip(basis) {
            let m = rns.modulus(i);
            limb.iter_mut().for_each(|x| *x = m.canonical(*x));
        }
    }

    /// `self += other`, limb by limb.
    ///
    /// # Panics
    /// If the two do not have one limb per prime of `basis`: they come from different sets.
    pub fn add_assign(&mut self, rns: &RnsContext, basis: &[usize], other: &Self) {
        let limbs = [self.limbs.len(), other.limbs.len()];
        assert_eq!(limbs, [basis.len(); 2], "a ciphertext of another set");
        for ((a, b), &i) in self.limbs.iter_mut().zip(&other.limbs).zip(basis) {
            let m = rns.modulus(i);
            kernel::scale_add(rns.ring(), m, b, m.shoup(1), a);
        }
    }
}

/// Column k of `rows`, for all `columns` columns: per output its limbs of all primes, from per prime the limbs of all outputs.
///
/// # Panics
/// If a row is shorter.
pub fn transposed<T>(rows: Vec<Vec<T>>, columns: usize) -> Vec<Vec<T>> {
    let mut rows: Vec<_> = rows.into_iter().map(Vec::into_iter).collect();
    let column = |_| {
        let own = rows.iter_mut().map(|row| row.next());
        own.map(|x| x.expect("one for every column")).collect()
    };
    (0..columns).map(column).collect()
}

/// A polynomial made of secrets: overwritten when dropped, panics included.
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
