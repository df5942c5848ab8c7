//! The inner loop of products of many numbers by rows of a key that is streamed: Σ_s v_s·d_s, where v_s are eight limbs and d_s a window of a digit list.
//!
//! A number in 52-bit limbs times another is a sum of products of limbs; the products that meet at one distance m are summed here, low and high halves apart, for eight limbs v at a
//! time.

use super::lanes::{LANES, Lanes};

/// Most outputs of one call of the inner loop: their halves fill the registers.
const MOST: usize = 12;

/// sums\[m\] += the (low, high) halves of Σ_s v_s·d\[s·stride + m\], for all m < `sums.len()`; at most 4096 vectors, and sums that are below 2^64 with that.
///
/// # Panics
/// If `digits` is too short.
#[inline(always)]
pub(crate) fn accumulate<V: Lanes>(
    vectors: &[[u64; LANES]],
    digits: &[u64],
    stride: usize,
    sums: &mut [[[u64; LANES]; 2]],
) {
    let mut from = 0;
    while from < sums.len() {
        let count = (sums.len() - from).min(MOST);
        let sums = &mut sums[from..from + count];
        let digits = &digits[from..];
        macro_rules! by_count {
            ($($count:literal)*) => {
                match count {
                    $($count => fixed::<V, $count>(vectors, digits, stride, sums),)*
                    _ => fixed::<V, MOST>(vectors, digits, stride, sums),
                }
            };
        }
        by_count!(1 2 3 4 5 6 7 8 9 10 11);
        from += count;
    }
}

#[inline(always)]
fn fixed<V: Lanes, const M: usize>(
    vectors: &[[u64; LANES]],
    digits: &[u64],
    stride: usize,
    sums: &mut [[[u64; LANES]; 2]],
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
    for (m, [l, h]) in sums.iter_mut().enumerate() {
        V::load(l).plus(low[m]).store(l);
        V::load(h).plus(high[m]).store(h);
    }
}
