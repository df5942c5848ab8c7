//! The inner loop of products with rows of a streamed key: Σ_s v_s·d_s with eight limbs v_s and a window d_s of
//! digits.
//!
//! A product of numbers in 52-bit limbs is a sum of products of limbs. Those at one distance m are summed here, low
//! and high halves apart, for eight limbs v at a time, and added to the limbs of the result.

#![expect(
    clippy::needless_range_loop,
    reason = "iterators would push sums to memory"
)]

use super::word_lanes::{LANES, Lanes, MOST_TERMS};
use crate::modulus::{MASK, WORD_BITS};

/// Most outputs of one call of the inner loop: their halves fill the registers.
const MOST: usize = 12;

/// See [`super::Accumulation::add`].
#[inline(always)]
pub(crate) fn accumulate<V: Lanes>(
    vectors: &[[u64; LANES]],
    digits: &[u64],
    (stride, outputs): (usize, usize),
    out: &mut [u64],
    spacing: usize,
) {
    for (part, vectors) in vectors.chunks(MOST_TERMS).enumerate() {
        let digits = &digits[part * MOST_TERMS * stride..];
        let mut from = 0;
        while from < outputs {
            let count = (outputs - from).min(MOST);
            let (digits, out) = (&digits[from..], &mut out[from * spacing..]);
            macro_rules! by_count {
                ($($count:literal)*) => {
                    match count {
                        $($count => fixed::<V, $count>(vectors, digits, stride, out, spacing),)*
                        _ => fixed::<V, MOST>(vectors, digits, stride, out, spacing),
                    }
                };
            }
            by_count!(1 2 3 4 5 6 7 8 9 10 11);
            from += count;
        }
    }
}

#[inline(always)]
fn fixed<V: Lanes, const M: usize>(
    vectors: &[[u64; LANES]],
    digits: &[u64],
    stride: usize,
    out: &mut [u64],
    spacing: usize,
) {
    let mut sums = [V::no_sum(); M];
    for (s, v) in vectors.iter().enumerate() {
        let v = V::load(v);
        let Some(d) = digits[s * stride..].first_chunk::<M>() else {
            unreachable!("as many digits as the caller promises")
        };
        for m in 0..M {
            sums[m] = v.add_product(V::splat(d[m]), sums[m]);
        }
    }
    // a sum is 52 bits at its place, 52 at the next, and what is above
    let (mask, shift) = (V::splat(MASK), V::splat(u64::from(WORD_BITS)));
    let zero = V::splat(0);
    let (mut middle, mut upper) = (zero, zero);
    let mut add = |m: usize, x: V| {
        if let Some(to) = out[m * spacing..].first_chunk_mut() {
            V::load(to).plus(x).store(to);
        }
    };
    for m in 0..M {
        let [low, high] = V::total(sums[m], vectors.len());
        add(m, low.plus(middle));
        middle = high.and(mask).plus(upper);
        upper = high.shr(shift);
    }
    add(M, middle);
    add(M + 1, upper);
}
