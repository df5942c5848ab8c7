//! Inner products of digits with a key in groups.
//!
//! A key switch needs `Σ_j d_j ζ_j` modulo many primes. Extending every digit to every prime costs L² transforms for L
//! primes and as many digits. Here a *group* is an integer polynomial ζ_j^(g), hardly larger than the few primes or
//! limbs of the key's coefficients that it is built from. `S_g = Σ_j d_j ζ_j^(g)` is computed exactly modulo a few
//! *auxiliary* primes whose product exceeds it. So digits are transformed modulo auxiliary primes only, whatever the
//! number of groups: 4L transforms for four of them, and L more for the groups.
//!
//! Source: Kim, Lee, Seo, Song, *Accelerating HE operations from key decomposition technique* (CRYPTO 2023, doi
//! 10.1007/978-3-031-38551-3_3).

use crate::context::RnsContext;
use crate::meter::{Meter, Stage};
use homaes_math::Words;
use homaes_math::kernel::{self, MAX_TERMS, RANGE};
use std::ops::Range;

/// Words of each limb per step, so that the ranges of all digits stay in the L2 cache for all groups.
const PART: usize = 4 * RANGE;

/// Shape of the inner products.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// ring elements, which share every load of the key
    pub elements: usize,
    /// digits of each element
    pub digits: usize,
    /// groups of the key
    pub groups: usize,
    /// auxiliary primes
    pub primes: usize,
}

/// The sums S_g of each element modulo the first `shape.primes` primes of `auxiliary`, in evaluation form: group g
/// modulo prime t at index `g·primes + t`.
///
/// `digit(element, number, prime, out)` writes a digit modulo an auxiliary prime, in evaluation form. `key(j)` has the
/// canonical limbs of ζ_j in the order of the result. `check` runs once per element in every step; the call returns its
/// error. Cost: elements · digits · groups · primes products of limbs, and a call of `digit` per digit and prime.
pub fn inner_products<'k, E>(
    auxiliary: &RnsContext,
    meter: &Meter,
    shape: Shape,
    digit: impl Fn(usize, usize, usize, &mut Words),
    key: impl Fn(usize) -> &'k [Words],
    check: impl Fn() -> Result<(), E>,
) -> Result<Vec<Vec<Words>>, E> {
    let (ring, n) = (auxiliary.ring(), auxiliary.ring().n());
    let Shape {
        elements,
        digits,
        groups,
        primes,
    } = shape;
    let limbs = |count: usize| -> Vec<Words> { (0..count).map(|_| Words::scratch(n)).collect() };
    let mut sums: Vec<Vec<Words>> = (0..elements).map(|_| limbs(groups * primes)).collect();
    let at_once = digits.min(MAX_TERMS);
    let mut factors: Vec<Vec<Words>> = (0..elements).map(|_| limbs(at_once)).collect();
    // key ranges of this group and, to prefetch, of the next one
    let [mut own, mut next] = [(); 2].map(|()| Vec::with_capacity(at_once));
    for prime in 0..primes {
        for first in (0..digits).step_by(at_once) {
            let numbers = first..digits.min(first + at_once);
            for (element, factors) in factors.iter_mut().enumerate() {
                check()?;
                for (number, factor) in numbers.clone().zip(factors) {
                    digit(element, number, prime, factor);
                }
            }
            meter.time(Stage::InnerProduct, || {
                for start in (0..n).step_by(PART) {
                    let range = start..n.min(start + PART);
                    let parts = factors.iter().map(|factors| -> Vec<&[u64]> {
                        let own = factors[..numbers.len()].iter();
                        own.map(|factor| &factor[range.clone()]).collect()
                    });
                    let parts: Vec<Vec<&[u64]>> = parts.collect();
                    let parts: Vec<&[&[u64]]> = parts.iter().map(|p| &p[..]).collect();
                    let load = |list: &mut Vec<&'k [u64]>, at: usize, range: Range<usize>| {
                        list.clear();
                        list.extend(numbers.clone().map(|j| &key(j)[at][range.clone()]));
                    };
                    load(&mut own, prime, range.clone());
                    for group in 0..groups {
                        let at = group * primes + prime;
                        if group + 1 < groups {
                            load(&mut next, at + primes, range.clone());
                        } else {
                            // after the last group comes the first one of the next range
                            let start = range.end % n;
                            load(&mut next, prime, start..start + range.len());
                        }
                        let out = sums.iter_mut().map(|sums| &mut sums[at][range.clone()]);
                        let mut out: Vec<&mut [u64]> = out.collect();
                        let m = auxiliary.modulus(prime);
                        kernel::dots(ring, m, &parts, [&own, &next], first > 0, &mut out);
                        core::mem::swap(&mut own, &mut next);
                    }
                }
            });
        }
    }
    Ok(sums)
}
