//! Limbs of keys, six bytes a word.
//!
//! Sums of products by keys read each word of a key once or twice, and wait for the bytes that come from memory for it. A canonical word is below
//! 2^47, so a quarter of the eight bytes of other limbs would be zeros.

use crate::aligned::Words;
use crate::memcheck;

/// Bits of a word.
const BITS: usize = 48;
const MASK: u64 = (1 << BITS) - 1;
/// Bits of canonical words at most: those of a prime. Kernels of sums rely on it.
const CANONICAL_BITS: u32 = 47;
/// Bytes of a word.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) const BYTES: usize = BITS / 8;
/// Words of eight bytes behind the last one: vector kernels load a whole register where the next eight words begin.
const BEHIND: usize = 2;

/// A limb of canonical words, which stand one after the other in 48 bits each, the low ones first.
#[derive(Clone)]
pub struct KeyLimb {
    words: Words,
    len: usize,
}

impl KeyLimb {
    /// The limb with these words.
    ///
    /// # Panics
    /// If a word has more than 47 bits, and so is not canonical.
    pub fn new(limb: &[u64]) -> Self {
        let used = limb.len().div_ceil(4) * 3;
        let mut words = Words::scratch(used + BEHIND);
        let (out, behind) = words.split_at_mut(used);
        let (fours, rest) = limb.as_chunks();
        let last: [u64; 4] = core::array::from_fn(|i| rest.get(i).copied().unwrap_or(0));
        let mut all = 0;
        let fours = fours.iter().chain([&last]);
        out.as_chunks_mut()
            .0
            .iter_mut()
            .zip(fours)
            .for_each(|(out, &[a, b, c, d])| {
                all |= a | b | c | d;
                *out = [a | b << 48, b >> 16 | c << 32, c >> 32 | d << 16];
            });
        behind.fill(0);
        // keys are published
        let all = memcheck::declassify(all);
        assert!(all >> CANONICAL_BITS == 0, "a word of a key is canonical");
        let len = limb.len();
        Self { words, len }
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A copy of the words.
    pub fn words(&self) -> Words {
        let mut out = Words::scratch(self.len);
        self.copy_to(0, &mut out);
        out
    }

    /// Copies words from the `start`-th on.
    pub(crate) fn copy_to(&self, start: usize, out: &mut [u64]) {
        assert!(start + out.len() <= self.len);
        if !start.is_multiple_of(4) {
            let words = (start..).map(|i| self.word(i));
            out.iter_mut()
                .zip(words)
                .for_each(|(out, word)| *out = word);
            return;
        }
        let groups = self.words[start / 4 * 3..].as_chunks::<3>().0;
        let (fours, rest) = out.as_chunks_mut::<4>();
        for (&[a, b, c], out) in groups.iter().zip(&mut *fours) {
            let four = [a, a >> 48 | b << 16, b >> 32 | c << 32, c >> 16];
            *out = four.map(|word| word & MASK);
        }
        let words = (start + 4 * fours.len()..).map(|i| self.word(i));
        rest.iter_mut()
            .zip(words)
            .for_each(|(out, word)| *out = word);
    }

    fn word(&self, i: usize) -> u64 {
        let (at, shift) = (BITS * i / 64, BITS * i % 64);
        let pair = u128::from(self.words[at]) | u128::from(self.words[at + 1]) << 64;
        (pair >> shift) as u64 & MASK
    }

    /// Where the first word is; the bytes of two more words can be read behind the last one.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(crate) fn as_ptr(&self) -> *const u8 {
        const { assert!(cfg!(target_endian = "little")) };
        self.words.as_ptr().cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        for len in [0, 2, 4, 8, 128, 130] {
            let word = |i: u64| match i % 5 {
                0 => (1 << CANONICAL_BITS) - 1,
                1 => 0,
                _ => i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17,
            };
            let limb: Vec<u64> = (0..len).map(word).collect();
            let key = KeyLimb::new(&limb);
            assert_eq!(key.len(), limb.len());
            assert_eq!(key.is_empty(), limb.is_empty());
            assert_eq!(&key.words()[..], &limb[..]);
            for start in 0..limb.len() {
                let end = limb.len().min(start + 7);
                let mut some = vec![1; end - start];
                key.copy_to(start, &mut some);
                assert_eq!(some, limb[start..end]);
            }
        }
    }

    #[test]
    #[should_panic(expected = "is canonical")]
    fn longer_words_are_refused() {
        let _ = KeyLimb::new(&[1 << CANONICAL_BITS; 8]);
    }
}
