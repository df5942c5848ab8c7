//! Inner products of digits with a key in groups.
//!
//! Key switching wants `Σ_j d_j ζ_j` modulo a product of many primes, and the obvious way extends every digit to every prime: with L primes and as many digits
//! L² transforms. Here the key's residues modulo a few of the primes at a time, or a few limbs of its coefficients, make up a *group*: an integer polynomial ζ_j^(g) that is not much larger than
//! those primes. `S_g = Σ_j d_j ζ_j^(g)` is then computed exactly, as an integer polynomial, modulo a few *auxiliary* primes whose product exceeds it. Digits are transformed modulo
//! auxiliary primes alone, whatever the number of groups: with four of them 4 L transforms, and L for the groups.
//!
//! Source: Kim, Lee, Seo, Song, *Accelerating HE operations from key decomposition technique* (CRYPTO 2023, doi 10.1007/978-3-031-38551-3_3).

use crate::context::RnsContext;
use crate::meter::{Meter, Stage};
use homaes_math::Words;
use homaes_math::kernel::{self, MAX_TERMS, RANGE};
use std::ops::Range;

/// Words of each limb that are worked on at a time, so that those of all digits stay in the second-level cache for all groups.
const PART: usize = 4 * RANGE;

/// Shape of the inner products.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// elements, which share every load of the key
    pub elements: usize,
    /// digits of each
    pub digits: usize,
    /// groups of the key
    pub groups: usize,
    /// auxiliary primes
    pub primes: usize,
}

/// For each element the sums S_g modulo the first primes of `auxiliary`, in evaluation form: that of group g modulo prime t at `g·primes + t`.
///
/// `digit` writes a digit modulo an auxiliary prime, in evaluation form: element, number, prime. `key` has the limbs of ζ_j, canonical, in the order of the result. `check` is called now and then, and its
/// error ends the work.
///
/// Cost: elements · digits · groups · primes products of limbs, and what `digit` costs for every auxiliary prime.
///
/// # Errors
/// Those of `check`.
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
    // ranges of the key for this group and for the next one
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
                            // the first group goes on, at last from the start
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
