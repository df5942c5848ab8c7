//! Arithmetic on secrets: keys and decryption.
//!
//! Only loops may jump here: a test of the command checks the machine code of these functions.

use crate::set::{BLOCK, LweKey};
use core::hint::black_box;
use homaes_math::sample::LOT;
use homaes_math::torus;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

pub(crate) fn lwe_bits(key: LweKey, rng: &mut impl CryptoRng, out: &mut [u64]) {
    match key {
        LweKey::Independent => torus::binary(rng, out),
        LweKey::Blocks => {
            // two uniform bits have four cases, as many as a block
            let (blocks, _) = out.as_chunks_mut::<BLOCK>();
            let mut cases = Zeroizing::new(vec![0; 2 * blocks.len()]);
            torus::binary(rng, &mut cases);
            let pairs = cases.as_chunks().0;
            let each = blocks.iter_mut().zip(pairs);
            each.for_each(|(block, &pair)| *block = one_of_three(pair));
        }
    }
}

/// s1 (1 - s2), (1 - s1) s2 and s1 s2: at most one is 1.
pub(crate) fn one_of_three([s1, s2]: [u64; 2]) -> [u64; 3] {
    [s1 & (s2 ^ 1), (s1 ^ 1) & s2, s1 & s2]
}

/// Whether `bits` have the distribution's structure. The running time depends on the result alone.
pub(crate) fn is_lwe_key(key: LweKey, bits: &[u64]) -> bool {
    match key {
        LweKey::Independent => true,
        LweKey::Blocks => {
            let (blocks, rest) = bits.as_chunks::<BLOCK>();
            let more = |block: &[u64; BLOCK]| block.iter().sum::<u64>() >> 1;
            let any = blocks.iter().fold(0, |any, block| any | more(block));
            any == 0 && rest.is_empty()
        }
    }
}

/// `values` in lots. Their number is a multiple of [`LOT`], as the dimension of states' keys is.
pub(crate) fn lots(values: &[u64]) -> &[[u64; LOT]] {
    let (lots, rest) = values.as_chunks();
    assert!(rest.is_empty());
    lots
}

#[inline(never)]
pub(crate) fn subtract_product(a: &[u64; LOT], s: &[u64; LOT], phase: u64) -> u64 {
    let products = a.iter().zip(s).map(|(a, s)| a.wrapping_mul(*s));
    products.fold(phase, u64::wrapping_sub)
}

/// The phase rounded to a multiple of 2^shift and divided by it, and the distance from that multiple.
#[inline(never)]
pub(crate) fn round(phase: u64, shift: u32) -> [u64; 2] {
    let rounded = phase.wrapping_add(1 << (shift - 1)) >> shift;
    let error = phase.wrapping_sub(rounded << shift) as i64;
    [rounded, ((error ^ error >> 63) - (error >> 63)) as u64]
}

/// The larger of two numbers below 2^63.
#[inline(never)]
pub(crate) fn greater(a: u64, b: u64) -> u64 {
    let more = b.wrapping_sub(a) as i64;
    // hides the maximum from the compiler, which could compile it to a branch
    a.wrapping_add((more & black_box(!(more >> 63))) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    #[test]
    fn blocks_are_uniform() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let mut bits = vec![7; BLOCK << 16];
        lwe_bits(LweKey::Blocks, &mut rng, &mut bits);
        assert!(is_lwe_key(LweKey::Blocks, &bits));
        let case = |block: &[u64; BLOCK]| match block {
            [0, 0, 0] => 0,
            [1, 0, 0] => 1,
            [0, 1, 0] => 2,
            [0, 0, 1] => 3,
            _ => panic!("{block:?}"),
        };
        let cases: Vec<usize> = bits.as_chunks().0.iter().map(case).collect();
        let mut pairs = [0u32; 16];
        for pair in cases.windows(2) {
            pairs[4 * pair[0] + pair[1]] += 1;
        }
        // 2^12 of each; standard deviation 62
        assert!(pairs.iter().all(|n| n.abs_diff(1 << 12) < 320), "{pairs:?}");
    }

    #[test]
    fn keys_that_are_not_block_binary_are_detected() {
        let is_key = |bits: &[u64]| is_lwe_key(LweKey::Blocks, bits);
        assert!(is_key(&[0, 0, 1, 1, 0, 0, 0, 0, 0]));
        for other in [[0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 0, 0, 1, 0, 1]] {
            assert!(!is_key(&other), "{other:?}");
            assert!(is_lwe_key(LweKey::Independent, &other));
        }
        assert!(!is_key(&[0, 0, 1, 0]));
    }

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
