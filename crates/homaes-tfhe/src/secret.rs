//! The arithmetic of decryption, which meets secrets.
//!
//! The machine code of these functions has no jumps but those of their loops: a test of the command reads it.

use core::hint::black_box;
use homaes_math::sample::LOT;

/// `values`, a multiple of [`LOT`] as the dimension of every key of states is, in lots.
pub(crate) fn lots(values: &[u64]) -> &[[u64; LOT]] {
    let (lots, rest) = values.as_chunks();
    assert!(rest.is_empty());
    lots
}

/// phase - <a, s>.
#[inline(never)]
pub(crate) fn subtract_product(a: &[u64; LOT], s: &[u64; LOT], phase: u64) -> u64 {
    let products = a.iter().zip(s).map(|(a, s)| a.wrapping_mul(*s));
    products.fold(phase, u64::wrapping_sub)
}

/// The multiple of 2^shift next to the phase, over 2^shift, and the distance from it.
#[inline(never)]
pub(crate) fn round(phase: u64, shift: u32) -> [u64; 2] {
    let rounded = phase.wrapping_add(1 << (shift - 1)) >> shift;
    let error = phase.wrapping_sub(rounded << shift) as i64;
    [rounded, ((error ^ error >> 63) - (error >> 63)) as u64]
}

/// The greater of two numbers below 2^63.
#[inline(never)]
pub(crate) fn greater(a: u64, b: u64) -> u64 {
    let more = b.wrapping_sub(a) as i64;
    // the compiler must not know a maximum, or it may take a branch
    a.wrapping_add((more & black_box(!(more >> 63))) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_rounded() {
        for (phase, want) in [
            (0, [0, 0]),
            ((1 << 59) - 3, [1, 3]),
            ((1 << 58) - 1, [0, (1 << 58) - 1]),
            (1 << 58, [1, 1 << 58]),
            (5 << 59 | 77, [5, 77]),
            // 32 · 2^59 is 0
            (u64::MAX, [0, 1]),
        ] {
            assert_eq!(round(phase, 59), want, "{phase}");
        }
        assert_eq!([greater(3, 9), greater(9, 3), greater(4, 4)], [9, 9, 4]);
        let lot: [u64; LOT] = core::array::from_fn(|i| i as u64);
        assert_eq!(subtract_product(&lot, &[1; LOT], 5000), 5000 - 2016);
    }
}
