//! Limbs of keys, six bytes per word.
//!
//! Key inner products use each word of a key once or twice and wait for its bytes from memory. A canonical word is
//! below 2^48, so a quarter of eight bytes would be zeros.

use crate::aligned::Words;
use crate::memcheck;

const BITS: usize = 48;
const MASK: u64 = (1 << BITS) - 1;
/// Most bits of a canonical word; the kernels of sums rely on it.
const CANONICAL_BITS: u32 = 48;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) const BYTES: usize = BITS / 8;
/// Words behind the last one: vector kernels load a whole register at the last words.
const BEHIND: usize = 2;

/// A limb of canonical words, packed in 48 bits each, low words first.
#[derive(Clone)]
pub struct KeyLimb {
    words: Words,
    len: usize,
}

impl KeyLimb {
    /// The limb with these words.
    ///
    /// # Panics
    /// If a word has more than 48 bits.
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
        assert!(all >> CANONICAL_BITS == 0, "a key word exceeds 48 bits");
        let len = limb.len();
        Self { words, len }
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the limb is empty.
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

    /// Address of the first word. Two words of eight bytes behind the last one can be read.
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
    #[should_panic(expected = "exceeds 48 bits")]
    fn longer_words_are_refused() {
        let _ = KeyLimb::new(&[1 << CANONICAL_BITS; 8]);
    }
}
