//! The inner loop of products of many numbers by rows of a key that is streamed: Σ_s v_s·d_s, where v_s are eight limbs and d_s a window of a digit list.
//!
//! A number in 52-bit limbs times another is a sum of products of limbs. Those that meet at one distance m are summed here, low and high halves apart, for eight limbs v at a time, and
//! added to the limbs of the result.

use super::lanes::{LANES, Lanes};
use crate::modulus::{MASK, WORD_BITS};

/// Most outputs of one call of the inner loop: their halves fill the registers.
const MOST: usize = 12;
/// Most vectors at a time: sums of so many halves are below 2^64.
const DEEPEST: usize = 4096;

/// See [`super::Accumulation::add`].
#[inline(always)]
pub(crate) fn accumulate<V: Lanes>(
    vectors: &[[u64; LANES]],
    digits: &[u64],
    (stride, outputs): (usize, usize),
    out: &mut [u64],
    spacing: usize,
) {
    for (part, vectors) in vectors.chunks(DEEPEST).enumerate() {
        let digits = &digits[part * DEEPEST * stride..];
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
    let zero = V::splat(0);
    let (mut low, mut high) = ([zero; M], [zero; M]);
    for (s, v) in vectors.iter().enumerate() {
        let v = V::load(v);
        let Some(d) = digits[s * stride..].first_chunk::<M>() else {
            unreachable!("as many digits as the caller promises")
        };
        for m in 0..M {
            let d = V::splat(d[m]);
            low[m] = v.add_low(d, low[m]);
            high[m] = v.add_high(d, high[m]);
        }
    }
    // a half is 52 bits at its place and 12 at the next
    let (mask, shift) = (V::splat(MASK), V::splat(u64::from(WORD_BITS)));
    let (mut middle, mut upper) = (zero, zero);
    let mut add = |m: usize, x: V| {
        if let Some(to) = out[m * spacing..].first_chunk_mut() {
            V::load(to).plus(x).store(to);
        }
    };
    for m in 0..M {
        add(m, low[m].and(mask).plus(middle));
        middle = low[m].shr(shift).plus(high[m].and(mask)).plus(upper);
        upper = high[m].shr(shift);
    }
    add(M, middle);
    add(M + 1, upper);
}
