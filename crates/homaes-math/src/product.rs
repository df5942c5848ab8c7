//! Key switching of a product modulo one prime: the last axes of its digits' transforms, the product itself, and the inner product with the key.
//!
//! The automorphism of a product is applied to one of its factors ([`Tensor`]) and none to its digits, so a word of the sums needs the words in its place of
//! digits and keys alone. The vector twin therefore goes through some columns at a time: neither transformed digits nor parts of the product are written
//! to memory.

use crate::aligned::Words;
use crate::kernel::{self, MAX_TERMS, RowTerm, Tensor, Term};
use crate::modulus::Modulus;
use crate::ring::Ring;
use crate::simd;
use crate::transform::Transform;

/// What meets a limb of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// A digit, by its number.
    Digit(usize),
    /// The part of the product under σ(s).
    Third,
    /// The part of the product under s·σ(s).
    Fourth,
}

/// Sums over the digits of a product's last two parts, and its first two parts.
#[derive(Clone, Copy)]
pub struct ProductSums<'a> {
    /// The product, where the prime is one of its own.
    pub tensor: Option<Tensor<'a>>,
    /// One canonical stored constant per row, for the parts under 1 and s.
    pub by_row: &'a [u64],
    /// Each with two canonical limbs of the key.
    pub terms: &'a [(Factor, [&'a [u64]; 2])],
}

/// `out_c = Σ_terms factor·key_c + part_c·by_row`, lazy, where part 0 is that under 1 and part 1 that under s; without a product, the sum alone. At most [`MAX_TERMS`] - 2 terms.
///
/// Digits went through [`Transform::forward_rows`], and are of no use afterwards. Cost: the second half of a transform for each, a [`kernel::tensor`], and an
/// [`kernel::inner_product`].
///
/// # Panics
/// On slices of the wrong length, and on parts of a product without a product.
pub fn product_sums(
    ring: &Ring,
    transform: &Transform,
    sums: &ProductSums<'_>,
    digits: &mut [&mut [u64]],
    out: [&mut [u64]; 2],
) {
    let n = ring.n();
    // a product of two lazy words counts twice
    assert!(sums.terms.len() + 2 <= MAX_TERMS && digits.iter().all(|d| d.len() == n));
    for &(factor, key) in sums.terms {
        assert!(key.iter().all(|k| k.len() == n));
        match factor {
            Factor::Digit(number) => assert!(number < digits.len()),
            Factor::Third | Factor::Fourth => assert!(sums.tensor.is_some()),
        }
    }
    assert!(out.iter().all(|o| o.len() == n));
    if let Some(t) = &sums.tensor {
        assert!(t.x.iter().chain(&t.y).all(|s| s.len() == n) && sums.by_row.len() == ring.rows());
    }
    let m = transform.modulus();
    match transform.integer_tables() {
        Some(tables) => simd::product_sums(ring, m, tables, sums, digits, out),
        None => by_limbs(ring, m, transform, sums, digits, out),
    }
}

/// The twin: one limb after the other.
fn by_limbs(
    ring: &Ring,
    m: &Modulus,
    transform: &Transform,
    sums: &ProductSums<'_>,
    digits: &mut [&mut [u64]],
    out: [&mut [u64]; 2],
) {
    for digit in &mut *digits {
        transform.forward_columns(digit);
    }
    let mut parts: Vec<Words> = Vec::new();
    if let Some(t) = &sums.tensor {
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
    use crate::simd::Backend;

    /// On every backend both twins give the same words, of digits up to the edge of what the first axis leaves.
    #[test]
    fn sums_by_columns_are_those_by_limbs() {
        for m in [255, 771, 3855, 4369, 65535] {
            for backend in Backend::available() {
                let ring = Ring::with_backend(m, backend).unwrap();
                for p in crate::prime::largest_primes(1 << 47, ring.modulus_step(), 1)
                    .into_iter()
                    .chain(crate::prime::largest_primes(
                        1 << 30,
                        ring.modulus_step(),
                        1,
                    ))
                {
                    let transform = Transform::new(&ring, p).unwrap();
                    for digits in [0, 1, 4, 9] {
                        twins(&ring, &transform, digits, true);
                        twins(&ring, &transform, digits, false);
                    }
                }
            }
        }
    }

    type Run<'a> = dyn Fn(&mut [&mut [u64]], [&mut [u64]; 2]) + 'a;

    fn twins(ring: &Ring, transform: &Transform, digits: usize, product: bool) {
        let (n, m) = (ring.n(), transform.modulus());
        let p = m.p();
        let limb = |bound: u64, seed: u64| -> Vec<u64> {
            let word = |i: u64| match i % 89 {
                0 => bound - 1,
                1 => 0,
                _ => (i + 1).wrapping_mul(seed * 2 + 0x9e37_79b9_7f4a_7c15) % bound,
            };
            (0..n as u64).map(word).collect()
        };
        let inputs: Vec<Vec<u64>> = (0..4).map(|k| limb(2 * p, 100 + k)).collect();
        let map = ring.frobenius(3);
        let tensor = Tensor {
            x: [&inputs[0], &inputs[1]],
            y: [&inputs[2], &inputs[3]],
            map: &map,
            scale: m.shoup(p - 2),
        };
        let by_row: Vec<u64> = (0..ring.rows() as u64).map(|r| p - 1 - r).collect();
        let keys: Vec<Vec<u64>> = (0..2 * digits as u64 + 4).map(|k| limb(p, k)).collect();
        let key = |k: usize| [&keys[2 * k][..], &keys[2 * k + 1][..]];
        let mut terms: Vec<_> = (0..digits)
            .map(|d| (Factor::Digit(digits - 1 - d), key(d)))
            .collect();
        if product {
            terms.insert(0, (Factor::Third, key(digits)));
            terms.push((Factor::Fourth, key(digits + 1)));
        }
        let sums = ProductSums {
            tensor: product.then_some(tensor),
            by_row: &by_row,
            terms: &terms,
        };
        let made = |run: &Run<'_>| {
            let mut limbs: Vec<Vec<u64>> =
                (0..digits as u64).map(|k| limb(2 * p, 50 + k)).collect();
            let mut limbs: Vec<&mut [u64]> = limbs.iter_mut().map(|l| &mut l[..]).collect();
            let mut out = [vec![1; n], vec![2; n]];
            run(&mut limbs, out.each_mut().map(|o| &mut o[..]));
            let words = out.iter_mut().flatten();
            for word in words {
                assert!(*word < 2 * p);
                *word = m.canonical(*word);
            }
            out
        };
        let found = made(&|digits, out| product_sums(ring, transform, &sums, digits, out));
        let twin = made(&|digits, out| by_limbs(ring, m, transform, &sums, digits, out));
        assert!(found == twin, "{digits} digits, product: {product}");
    }
}
