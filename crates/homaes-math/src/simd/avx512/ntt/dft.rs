//! DFTs of length 16, over the words of any [`Arithmetic`], so that tests can run them on ranges.
//!
//! Ranges for p < 2^47: a product by a constant is below 2p for any 52-bit value, so four butterfly levels on values
//! below 2p stay below 32p < 2^52 without a conditional subtraction.
//!
//! Modulo wide primes, between 2^47 and 2^48, 16p is the limit: four to six values are reduced midway, and every
//! difference has a multiple of p of its own instead of a bias.
//!
//! A difference needs a multiple of p added so that it is not negative. If its first operand is a product, or a
//! difference itself, the operand contains that multiple already (its *bias*) at no cost, since a product is added to
//! something anyway. Comments give the range of values in p.

use crate::modulus::Shoup;

/// Position of output k of a radix-16 block.
pub(super) const REV: [usize; 16] = [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15];

/// Multiples of p that keep differences positive.
pub(super) struct Multiples<W> {
    pub(super) p2: W,
    pub(super) p4: W,
    pub(super) p8: W,
    pub(super) p10: W,
    pub(super) p16: W,
}

/// The operations of butterflies: on vectors, or in tests on ranges of their words.
pub(super) trait Arithmetic {
    type Word: Copy;

    /// Whether the prime has 48 bits.
    const WIDE: bool;

    fn multiples(&self) -> &Multiples<Self::Word>;

    unsafe fn zero(&self) -> Self::Word;

    /// A word below 16p, less 8p if that is not negative.
    unsafe fn below8(&self, x: Self::Word) -> Self::Word;

    unsafe fn add(&self, x: Self::Word, y: Self::Word) -> Self::Word;

    unsafe fn sub(&self, x: Self::Word, y: Self::Word) -> Self::Word;

    /// Σ x·c mod p over the pairs, plus `bias`: below 2p per pair plus `bias`, for any 52-bit x.
    unsafe fn products<const N: usize>(
        &self,
        bias: Self::Word,
        terms: [(Self::Word, &Shoup); N],
    ) -> Self::Word;
}

/// Butterflies of the entries a and b of `x`: their sum, and `x[a] - x[b] + offset`, times a constant plus a bias if
/// given. Without an offset, the bias of `x[a]` suffices.
macro_rules! butterflies {
    ($k:ident, $w:ident, $x:ident: $($a:literal - $b:literal $(+ $offset:ident)? $(=> $t:literal $($bias:ident)?)?;)*) => {$(
        let (s, t) = ($x[$a], $x[$b]);
        $x[$a] = $k.add(s, t);
        $(let s = $k.add(s, $k.multiples().$offset);)?
        $x[$b] = $k.sub(s, t);
        $($x[$b] = $k.products(bias!($k $($bias)?), [($x[$b], &$w[$t])]);)?
    )*};
}

macro_rules! bias {
    ($k:ident) => {
        $k.zero()
    };
    ($k:ident $bias:ident) => {
        $k.multiples().$bias
    };
}

/// Reductions before the last level of a DFT modulo a wide prime.
macro_rules! below8 {
    ($k:ident, $x:ident: $($i:literal)*) => {$(
        $x[$i] = $k.below8($x[$i]);
    )*};
}

/// The last three levels of [`dft16`], on both of its halves: below 4p in, below 32p out, or 16p if wide.
#[inline(always)]
unsafe fn two_dft8<A: Arithmetic>(k: &A, w: &[Shoup; 8], x: &mut [A::Word; 16]) {
    // SAFETY: that of the arithmetic; on vectors, it is inlined into functions compiled for AVX-512 IFMA.
    unsafe {
        if A::WIDE {
            // sums and 4 below 8, the rest below 2
            butterflies!(k, w, x: 0 - 4 + p4; 1 - 5 + p4 => 2; 2 - 6 + p4 => 4; 3 - 7 + p4 => 6;);
            butterflies!(k, w, x: 8 - 12 + p4; 9 - 13 + p4 => 2; 10 - 14 + p4 => 4; 11 - 15 + p4 => 6;);
            // 0, 1 and 2 below 16, 4 and 6 below 10, 5 below 4, 3 and 7 below 2
            butterflies!(k, w, x: 0 - 2 + p8; 1 - 3 + p8 => 4; 4 - 6 + p2; 5 - 7 + p2 => 4;);
            butterflies!(k, w, x: 8 - 10 + p8; 9 - 11 + p8 => 4; 12 - 14 + p2; 13 - 15 + p2 => 4;);
            below8!(k, x: 0 1 2 8 9 10);
            butterflies!(k, w, x: 0 - 1 + p8; 2 - 3 + p2; 4 - 5 + p4; 6 - 7 + p2;);
            butterflies!(k, w, x: 8 - 9 + p8; 10 - 11 + p2; 12 - 13 + p4; 14 - 15 + p2;);
            return;
        }
        // sums below 8; 4 in (6, 14), 5 in (2, 4), 6 and 7 below 2, and the other half alike
        butterflies!(k, w, x: 0 - 4 + p10; 1 - 5 + p4 => 2 p2; 2 - 6 + p4 => 4; 3 - 7 + p4 => 6;);
        butterflies!(k, w, x: 8 - 12 + p10; 9 - 13 + p4 => 2 p2; 10 - 14 + p4 => 4; 11 - 15 + p4 => 6;);
        // 0 and 1 below 16, 2 in (2, 18), 3 below 2, 4 in (6, 16), 5 in (2, 6), 6 in (4, 14), 7 below 2
        butterflies!(k, w, x: 0 - 2 + p10; 1 - 3 + p8 => 4; 4 - 6; 5 - 7 => 4;);
        butterflies!(k, w, x: 8 - 10 + p10; 9 - 11 + p8 => 4; 12 - 14; 13 - 15 => 4;);
        butterflies!(k, w, x: 0 - 1 + p16; 2 - 3; 4 - 5; 6 - 7;);
        butterflies!(k, w, x: 8 - 9 + p16; 10 - 11; 12 - 13; 14 - 15;);
    }
}

/// The first three levels of a DFT of length 16 for wide primes: below 2p in, below 16p out.
#[inline(always)]
unsafe fn three_wide_levels<A: Arithmetic>(k: &A, w: &[Shoup; 8], x: &mut [A::Word; 16]) {
    // SAFETY: as in `two_dft8`.
    unsafe {
        // sums and 8 below 4, the rest below 2
        butterflies!(k, w, x: 0 - 8 + p2; 1 - 9 + p2 => 1; 2 - 10 + p2 => 2; 3 - 11 + p2 => 3;);
        butterflies!(k, w, x: 4 - 12 + p2 => 4; 5 - 13 + p2 => 5; 6 - 14 + p2 => 6; 7 - 15 + p2 => 7;);
        // sums and 4 below 8, 8 and 12 below 6, 9 to 11 below 4, the rest below 2
        butterflies!(k, w, x: 0 - 4 + p4; 1 - 5 + p4 => 2; 2 - 6 + p4 => 4; 3 - 7 + p4 => 6;);
        butterflies!(k, w, x: 8 - 12 + p2; 9 - 13 + p2 => 2; 10 - 14 + p2 => 4; 11 - 15 + p2 => 6;);
        // 0, 1 and 2 below 16, 4, 6, 8 and 10 below 10, 9, 12 and 14 below 8, the rest below 4
        butterflies!(k, w, x: 0 - 2 + p8; 1 - 3 + p8 => 4; 4 - 6 + p2; 5 - 7 + p2 => 4;);
        butterflies!(k, w, x: 8 - 10 + p4; 9 - 11 + p4 => 4; 12 - 14 + p2; 13 - 15 + p2 => 4;);
    }
}

/// DFT of length 16, decimated in frequency: below 2p in, below 32p out, or 16p if wide; output k at position `REV[k]`.
#[inline(always)]
pub(super) unsafe fn dft16<A: Arithmetic>(k: &A, w: &[Shoup; 8], x: &mut [A::Word; 16]) {
    // SAFETY: as in `two_dft8`.
    unsafe {
        if A::WIDE {
            three_wide_levels(k, w, x);
            below8!(k, x: 0 1 2 8);
            butterflies!(k, w, x: 0 - 1 + p8; 2 - 3 + p2; 4 - 5 + p4; 6 - 7 + p2;);
            butterflies!(k, w, x: 8 - 9 + p8; 10 - 11 + p2; 12 - 13 + p4; 14 - 15 + p2;);
            return;
        }
        // sums below 4; 8 in (8, 12), 9 to 11 in (2, 4), the rest below 2
        butterflies!(k, w, x: 0 - 8 + p10; 1 - 9 + p2 => 1 p2; 2 - 10 + p2 => 2 p2; 3 - 11 + p2 => 3 p2;);
        butterflies!(k, w, x: 4 - 12 + p2 => 4; 5 - 13 + p2 => 5; 6 - 14 + p2 => 6; 7 - 15 + p2 => 7;);
        // the first half as in `two_dft8`; 8 in (8, 14), 9 to 11 in (2, 6), 12 in (6, 12), 13 in (2, 4), 14 and 15
        // below 2
        butterflies!(k, w, x: 0 - 4 + p10; 1 - 5 + p4 => 2 p2; 2 - 6 + p4 => 4; 3 - 7 + p4 => 6;);
        butterflies!(k, w, x: 8 - 12; 9 - 13 => 2 p2; 10 - 14 => 4; 11 - 15 => 6;);
        // 8 in (10, 20), 9 in (4, 12), 10 in (2, 12), 11 below 2, 12 in (6, 14), 13 in (2, 6), 14 in (4, 12), 15
        // below 2
        butterflies!(k, w, x: 0 - 2 + p10; 1 - 3 + p8 => 4; 4 - 6; 5 - 7 => 4;);
        butterflies!(k, w, x: 8 - 10; 9 - 11 + p4 => 4; 12 - 14; 13 - 15 => 4;);
        butterflies!(k, w, x: 0 - 1 + p16; 2 - 3; 4 - 5; 6 - 7;);
        butterflies!(k, w, x: 8 - 9 + p2; 10 - 11; 12 - 13; 14 - 15;);
    }
}

/// Bias of input j of [`pairs`], in p, unless the prime is wide.
pub(super) const BIAS: [u64; 16] = [6, 6, 6, 6, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0];

/// A correlation of length 16 times constants: a DFT, a product and a DFT, whose levels next to the product are
/// merged with it into 2 × 2 matrices.
///
/// In: below 2p, plus [`BIAS`]. Out: below 32p, or 16p if wide, output k at position `REV[k]`.
#[inline(always)]
pub(super) unsafe fn pairs<A: Arithmetic>(
    k: &A,
    w: &[Shoup; 8],
    matrices: &[[Shoup; 4]; 8],
    x: &mut [A::Word; 16],
) {
    // SAFETY: as in `two_dft8`.
    unsafe {
        if A::WIDE {
            three_wide_levels(k, w, x);
            return matrices_and_dfts(k, w, matrices, x);
        }
        // 0 to 3 in (6, 10), 4 to 7 in (2, 6), 8 in (4, 8), 9 to 11 in (2, 4), the rest below 2
        butterflies!(k, w, x: 0 - 8; 1 - 9 => 1 p2; 2 - 10 => 2 p2; 3 - 11 => 3 p2;);
        butterflies!(k, w, x: 4 - 12 => 4; 5 - 13 => 5; 6 - 14 => 6; 7 - 15 => 7;);
        // 0 to 3 in (8, 16), 4 below 8, 5 in (2, 4), 6 and 7 below 2, 8 in (4, 10), 9 to 11 in (2, 6), 12 in (2, 8),
        // 13 in (2, 4), 14 and 15 below 2
        butterflies!(k, w, x: 0 - 4; 1 - 5 => 2 p2; 2 - 6 => 4; 3 - 7 => 6;);
        butterflies!(k, w, x: 8 - 12; 9 - 13 => 2 p2; 10 - 14 => 4; 11 - 15 => 6;);
        // below 32
        butterflies!(k, w, x: 0 - 2 + p8; 1 - 3 + p8 => 4; 4 - 6 + p2; 5 - 7 => 4;);
        butterflies!(k, w, x: 8 - 10 + p2; 9 - 11 + p4 => 4; 12 - 14; 13 - 15 => 4;);
        matrices_and_dfts(k, w, matrices, x);
    }
}

/// The second half of [`pairs`].
#[inline(always)]
unsafe fn matrices_and_dfts<A: Arithmetic>(
    k: &A,
    w: &[Shoup; 8],
    matrices: &[[Shoup; 4]; 8],
    x: &mut [A::Word; 16],
) {
    // SAFETY: as in `two_dft8`.
    unsafe {
        let entries = *x;
        for (j, matrix) in matrices.iter().enumerate() {
            let [a, b] = [entries[REV[j]], entries[REV[j + 8]]];
            let [c0, c1, c2, c3] = matrix;
            x[j] = k.products(k.zero(), [(a, c0), (b, c1)]);
            x[j + 8] = k.products(k.zero(), [(a, c2), (b, c3)]);
        }
        two_dft8(k, w, x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranges of words: from the first multiple of p, inclusive, to the second.
    struct Ranges<const WIDE: bool>(Multiples<[u64; 2]>);

    impl<const WIDE: bool> Ranges<WIDE> {
        const MOST: u64 = if WIDE { 16 } else { 32 };
    }

    impl<const WIDE: bool> Arithmetic for Ranges<WIDE> {
        type Word = [u64; 2];

        const WIDE: bool = WIDE;

        unsafe fn below8(&self, x: [u64; 2]) -> [u64; 2] {
            assert!(x[1] <= 16);
            [0, 8]
        }

        fn multiples(&self) -> &Multiples<[u64; 2]> {
            &self.0
        }

        unsafe fn zero(&self) -> [u64; 2] {
            [0; 2]
        }

        unsafe fn add(&self, x: [u64; 2], y: [u64; 2]) -> [u64; 2] {
            [x[0] + y[0], x[1] + y[1]]
        }

        unsafe fn sub(&self, x: [u64; 2], y: [u64; 2]) -> [u64; 2] {
            assert!(x[0] >= y[1], "{x:?} - {y:?} may be negative");
            [x[0] - y[1], x[1] - y[0]]
        }

        unsafe fn products<const N: usize>(
            &self,
            bias: [u64; 2],
            terms: [([u64; 2], &Shoup); N],
        ) -> [u64; 2] {
            for (x, _) in terms {
                assert!(x[1] <= Self::MOST, "{x:?} may not be below 2^52");
            }
            [bias[0], bias[1] + 2 * N as u64]
        }
    }

    /// For any input, no difference of the butterflies is negative, and no word exceeds 52 bits.
    #[test]
    fn words_stay_within_their_ranges() {
        stay_within_their_ranges::<false>(BIAS);
        stay_within_their_ranges::<true>([0; 16]);
    }

    fn stay_within_their_ranges<const WIDE: bool>(bias: [u64; 16]) {
        let multiple = |n| [n; 2];
        let ranges = Ranges::<WIDE>(Multiples {
            p2: multiple(2),
            p4: multiple(4),
            p8: multiple(8),
            p10: multiple(10),
            p16: multiple(16),
        });
        let (w, matrices) = ([Shoup::default(); 8], [[Shoup::default(); 4]; 8]);
        let checked = |input: [[u64; 2]; 16], f: &dyn Fn(&mut [[u64; 2]; 16])| {
            let mut x = input;
            f(&mut x);
            assert!(x.iter().all(|x| x[1] <= Ranges::<WIDE>::MOST), "{x:?}");
        };
        let biased = bias.map(|bias| [bias, bias + 2]);
        // SAFETY: ranges are not vectors, and need no features.
        unsafe {
            checked([[0, 2]; 16], &|x| dft16(&ranges, &w, x));
            checked([[0, 4]; 16], &|x| two_dft8(&ranges, &w, x));
            checked(biased, &|x| pairs(&ranges, &w, &matrices, x));
        }
    }
}
