//! Key switching of a product modulo one prime: last axes of the digits, product, and inner product with the key.
//!
//! The automorphism of a product acts on one of its factors ([`Tensor`]) and on no digit, so a word of the sums
//! depends only on digit and key words in the same place. The vector twin therefore works on a few columns at a time
//! and writes neither transformed digits nor components of the product to memory.

use crate::aligned::Words;
use crate::kernel::{self, MAX_TERMS, RowTerm, Tensor, Term};
use crate::key_limb::KeyLimb;
use crate::ring::Ring;
use crate::simd;
use crate::transform::Transform;

/// What a limb of a key is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// A digit, by its number.
    Digit(usize),
    /// The σ(s) component of the product.
    Third,
    /// The s·σ(s) component of the product.
    Fourth,
}

/// Outputs that share each load of a key word, on 52-bit integer kernels; others load the key for each output.
pub const OUTPUTS_AT_ONCE: usize = 2;

/// The operands of [`product_sums`].
#[derive(Clone, Copy)]
pub struct ProductSums<'a> {
    /// The product of every output; empty modulo primes that the ciphertexts lack.
    pub tensors: &'a [Tensor<'a>],
    /// One canonical stored constant per row, for the 1 and s components.
    pub by_row: &'a [u64],
    /// Factors, each with two canonical limbs of the key.
    pub terms: &'a [(Factor, [&'a KeyLimb; 2])],
}

/// For every output `out_c = Σ_terms factor·key_c + part_c·by_row`, lazy, where part 0 is the 1 component and part 1
/// the s component of the product; without products, the sum alone. At most [`MAX_TERMS`] - 2 terms.
///
/// All outputs have equally many digits, each after [`Transform::forward_rows`]; they are overwritten. Cost of an
/// output: the second half of a transform per digit, a [`kernel::tensor`] and a [`kernel::inner_product`];
/// [`OUTPUTS_AT_ONCE`] outputs share each load of a key word.
///
/// # Panics
/// On slices of the wrong length, and on components of a product without products.
pub fn product_sums(
    ring: &Ring,
    transform: &Transform,
    sums: &ProductSums<'_>,
    digits: &mut [Vec<&mut [u64]>],
    out: &mut [[&mut [u64]; 2]],
) {
    let n = ring.n();
    let count = digits.first().map_or(0, Vec::len);
    // a product of two lazy words counts twice
    assert!(sums.terms.len() + 2 <= MAX_TERMS && digits.len() == out.len());
    for digits in &*digits {
        assert!(digits.len() == count && digits.iter().all(|d| d.len() == n));
    }
    for &(factor, key) in sums.terms {
        assert!(key.iter().all(|k| k.len() == n));
        match factor {
            Factor::Digit(number) => assert!(number < count),
            Factor::Third | Factor::Fourth => assert!(!sums.tensors.is_empty()),
        }
    }
    assert!(out.iter().flatten().all(|o| o.len() == n));
    for t in sums.tensors {
        assert!(t.x.iter().chain(&t.y).all(|s| s.len() == n) && sums.by_row.len() == ring.rows());
    }
    assert!(sums.tensors.is_empty() || sums.tensors.len() == out.len());
    let m = transform.modulus();
    match transform.integer_tables() {
        Some(tables) => simd::product_sums(ring, m, tables, sums, digits, out),
        None => {
            for (number, (digits, out)) in digits.iter_mut().zip(out).enumerate() {
                let out = out.each_mut().map(|limb| &mut **limb);
                by_limbs(ring, transform, sums, number, digits, out);
            }
        }
    }
}

/// The twin for one output, limb after limb.
fn by_limbs(
    ring: &Ring,
    transform: &Transform,
    sums: &ProductSums<'_>,
    number: usize,
    digits: &mut [&mut [u64]],
    out: [&mut [u64]; 2],
) {
    for digit in &mut *digits {
        transform.forward_columns(digit);
    }
    let m = transform.modulus();
    let mut parts: Vec<Words> = Vec::new();
    if let Some(t) = sums.tensors.get(number) {
        parts.extend((0..4).map(|_| Words::scratch(ring.n())));
        let mut limbs = parts.iter_mut().map(|part| &mut **part);
        let limbs = [(); 4].map(|()| limbs.next().expect("four parts"));
        kernel::tensor(ring, m, t, limbs);
    }
    let parts: Vec<[&[u64]; 1]> = parts.iter().map(|part| [&**part]).collect();
    let sources: Vec<[&[u64]; 1]> = sums
        .terms
        .iter()
        .map(|(factor, _)| match factor {
            Factor::Digit(number) => [&*digits[*number]],
            Factor::Third => parts[2],
            Factor::Fourth => parts[3],
        })
        .collect();
    let map = &ring.frobenius(0);
    let terms = sources.iter().zip(sums.terms);
    let terms: Vec<Term<'_>> = terms
        .map(|(sources, &(_, key))| Term { sources, map, key })
        .collect();
    let by_row = sums.by_row;
    let rows: Vec<RowTerm<'_>> = parts
        .iter()
        .take(2)
        .zip([false, true])
        .map(|(sources, second)| RowTerm {
            sources,
            map,
            by_row,
            second,
        })
        .collect();
    kernel::inner_product(ring, m, &terms, &rows, &mut [out]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prime::largest_primes;
    use crate::tests::{limb, on_each, rings};

    /// Both twins give the same words on every backend, up to the edge of what the first axis leaves.
    #[test]
    fn sums_by_columns_are_those_by_limbs() {
        for ring in rings([255, 771, 3855, 4369, 65535]) {
            on_each(&ring, |ring| {
                let primes = |below| largest_primes(below, ring.modulus_step(), 9);
                let prime = |below| primes(below).into_iter().find(|&p| ring.admits(p));
                for p in [1 << 48, 1 << 47, 1 << 30].into_iter().filter_map(prime) {
                    let transform = Transform::new(ring, p).unwrap();
                    for digits in [0, 1, 4, 9] {
                        twins(ring, &transform, digits, true);
                        twins(ring, &transform, digits, false);
                    }
                }
            });
        }
    }

    /// Two outputs that share keys, and one alone.
    const OUTPUTS: usize = 3;

    type Run<'a> = dyn Fn(&mut [Vec<&mut [u64]>], &mut [[&mut [u64]; 2]]) + 'a;

    fn twins(ring: &Ring, transform: &Transform, digits: usize, product: bool) {
        let (n, m) = (ring.n(), transform.modulus());
        let p = m.p();
        let limb = |bound, seed| limb(n, bound, seed);
        let inputs = (0..4 * OUTPUTS as u64).map(|k| limb(2 * p, 100 + k));
        let inputs: Vec<Vec<u64>> = inputs.collect();
        let (map, scale) = (&ring.frobenius(3), m.shoup(p - 2));
        let inputs = inputs.as_chunks().0.iter();
        let tensors = inputs.map(|[a, b, c, d]| Tensor {
            x: [a, b],
            y: [c, d],
            map,
            scale,
        });
        let tensors: Vec<_> = tensors.collect();
        let by_row: Vec<u64> = (0..ring.rows() as u64).map(|r| p - 1 - r).collect();
        let keys = (0..2 * digits as u64 + 4).map(|k| KeyLimb::new(&limb(p, k)));
        let keys: Vec<KeyLimb> = keys.collect();
        let key = |k: usize| [&keys[2 * k], &keys[2 * k + 1]];
        let terms = (0..digits).map(|d| (Factor::Digit(digits - 1 - d), key(d)));
        let mut terms: Vec<_> = terms.collect();
        if product {
            terms.insert(0, (Factor::Third, key(digits)));
            terms.push((Factor::Fourth, key(digits + 1)));
        }
        let sums = ProductSums {
            tensors: if product { &tensors } else { &[] },
            by_row: &by_row,
            terms: &terms,
        };
        let made = |run: &Run<'_>| {
            let limbs = (0..OUTPUTS * digits).map(|k| limb(2 * p, 50 + k as u64));
            let mut limbs: Vec<Vec<u64>> = limbs.collect();
            let mut limbs = limbs.iter_mut().map(|l| &mut l[..]);
            let mut digits = [(); OUTPUTS].map(|()| limbs.by_ref().take(digits).collect());
            let mut out = [(); OUTPUTS].map(|()| [vec![1; n], vec![2; n]]);
            let pairs = out.each_mut().map(|out| out.each_mut().map(|o| &mut o[..]));
            run(&mut digits, &mut { pairs });
            for word in out.iter_mut().flatten().flatten() {
                assert!(*word < 2 * p);
                *word = m.canonical(*word);
            }
            out
        };
        let found = made(&|digits, out| product_sums(ring, transform, &sums, digits, out));
        let twin = made(&|digits, out| {
            for (number, (digits, out)) in digits.iter_mut().zip(out).enumerate() {
                let out = out.each_mut().map(|o| &mut **o);
                by_limbs(ring, transform, &sums, number, digits, out);
            }
        });
        assert!(found == twin, "{digits} digits, product: {product}");
    }
}
