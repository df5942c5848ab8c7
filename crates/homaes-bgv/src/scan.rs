//! Search in encrypted messages for public patterns, at every byte offset.
//!
//! Byte i of block b is in slot b of ciphertext i. A window that starts at byte o of block b reads bytes o, o + 1, … of
//! a stream. Byte n of the stream, counted from the start of the block, is ciphertext n mod 16 moved n div 16 blocks
//! along a run of slots. For public random α_{j,p} in GF(2^8), shared by all patterns,
//!
//! ```text
//! z_j = Σ_p α_{j,p} (x_{o+p} - s_p),  j < t          no level: constants and sums
//! e   = Π_j (1 - z_j^255)                            three levels, and ⌈log2 t⌉
//! ```
//!
//! is 1 if the window equals the pattern s, and also, with probability 2^-8t, if it does not. Sixteen offsets are
//! packed in two ciphertexts: bit i of slot b of ciphertext h says whether a window at byte 8h + i of block b matches.
//!
//! Slots move cyclically within runs, so the blocks that a run's last windows reach are stored twice: in that run and
//! in the next one, of the same batch or of the next. The server places blocks in slots; nothing is masked.

use crate::aes::state::State;
use crate::ciphertext::Ciphertext;
use crate::circuit::{Axis, Evaluator};
use crate::error::{Error, Result};
use crate::params::Params;
use rayon::prelude::*;
use std::ops::Range;

const BLOCK: usize = 16;

/// Multiplications left for patterns of every length.
const LEVELS_FOR_LONG: usize = 11;
/// Bytes of patterns with fewer.
const MOST_WITH_FEW_LEVELS: usize = 112;

/// The assignment of blocks to slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    run_len: usize,
    runs: usize,
    /// blocks at the end of a run that the next run repeats
    overlap: usize,
}

impl Placement {
    /// Placement for patterns of up to `longest` bytes; `None` if their windows exceed a run of slots.
    pub fn new(params: &Params, longest: usize) -> Option<Self> {
        let slots = params.slots();
        let out = Self {
            run_len: slots.run_len(),
            runs: slots.count() / slots.run_len(),
            overlap: longest.saturating_add(BLOCK - 2) / BLOCK,
        };
        (out.overlap < out.run_len).then_some(out)
    }

    /// Bytes of the longest pattern that has a placement.
    pub fn longest(params: &Params) -> usize {
        BLOCK * params.slots().run_len() - (BLOCK - 1)
    }

    /// Bytes of the longest pattern that a search finds in results with `left` multiplications. With few left, sums of
    /// more terms are too noisy for the last products, and [`Evaluator`] refuses them: at 140 bytes in `bgv/aes256+8`.
    pub fn longest_with(params: &Params, left: usize) -> usize {
        match left.min(params.rotation_level().saturating_sub(1)) >= LEVELS_FOR_LONG {
            true => Self::longest(params),
            false => MOST_WITH_FEW_LEVELS.min(Self::longest(params)),
        }
    }

    /// Bytes of memory for the moved ciphertexts that a search for patterns of up to `longest` bytes reads.
    pub fn memory(params: &Params, longest: usize) -> u64 {
        let limbs = params.basis(params.rotation_level()).len();
        let ciphertext = 2 * limbs * params.ring().n() * size_of::<u64>();
        (BLOCK - 1 + longest) as u64 * ciphertext as u64
    }

    /// Blocks per run whose windows are tested there.
    fn own(&self) -> usize {
        self.run_len - self.overlap
    }

    /// Blocks per batch whose windows are tested.
    pub fn blocks_per_batch(&self) -> usize {
        self.runs * self.own()
    }

    /// Number of the block in a slot, with slots numbered across batches. It may be past the end of the message.
    pub fn block_of(&self, slot: usize) -> usize {
        slot / self.run_len * self.own() + slot % self.run_len
    }

    /// Byte of the message where the window of bit `offset`, 0 to 15, of a slot begins; `None` if the next run tests
    /// it. Slots are numbered across batches.
    pub fn start(&self, slot: usize, offset: usize) -> Option<usize> {
        let own = slot % self.run_len < self.own();
        own.then(|| BLOCK * self.block_of(slot) + offset)
    }
}

/// The encrypted answer for a pattern: bit i of slot b of ciphertext h is 1 if a match begins at byte 8h + i there.
pub type Verdict = [Ciphertext; 2];

/// Compares all windows of a batch with patterns.
pub struct Scanner<'c> {
    eval: &'c Evaluator<'c>,
    /// α_{j,p}
    alphas: Vec<Vec<u8>>,
}

impl<'c> Scanner<'c> {
    /// `alphas` are t rows of random bytes, as long as the longest pattern.
    pub fn new(eval: &'c Evaluator<'c>, alphas: Vec<Vec<u8>>) -> Self {
        Self { eval, alphas }
    }

    /// The answers for `patterns`, from a sliced state whose blocks are placed by [`Placement`].
    ///
    /// Level: below by three and ⌈log2 t⌉, and one for the noise of AES and of sums. Cost: a rotation for each byte
    /// beyond the first block that a window reads, 16·t sums, and for each pattern 16 times t comparisons and their
    /// product.
    ///
    /// # Errors
    /// As [`Evaluator::multiply`] and [`Evaluator::rotate`]; if the state does not have sixteen ciphertexts, or a
    /// pattern is empty or longer than the rows of coefficients.
    pub fn scan(&self, state: &State, patterns: &[&[u8]]) -> Result<Vec<Verdict>> {
        let bytes = state.ciphertexts().len();
        if bytes != BLOCK {
            let what = "ciphertexts of a sliced state";
            return Err(Error::field(what, bytes, BLOCK));
        }
        let lengths = lengths(patterns);
        let longest = lengths.last().copied().unwrap_or(1);
        let rows = self.alphas.iter().map(Vec::len).min().unwrap_or(0);
        if lengths.first() == Some(&0) || longest > rows {
            return Err(Error::field("bytes of a pattern", longest, rows));
        }
        let stream = self.stream(state, BLOCK - 1 + longest)?;
        let mut verdicts = Vec::with_capacity(patterns.len());
        let (mut sums, mut done) = (Vec::new(), 0);
        // a longer pattern continues the sums of a shorter one
        for length in lengths {
            sums = self.sums(&stream, &sums, done..length)?;
            done = length;
            let of_length = patterns.iter().enumerate();
            for (number, pattern) in of_length.filter(|(_, pattern)| pattern.len() == length) {
                verdicts.push((number, self.verdict(&sums, pattern)?));
            }
        }
        verdicts.sort_unstable_by_key(|(number, _)| *number);
        Ok(verdicts.into_iter().map(|(_, verdict)| verdict).collect())
    }

    /// Bytes 0 … `count` - 1 from the start of each block, by rotations by one block at a level with rotation keys.
    fn stream(&self, state: &State, count: usize) -> Result<Vec<Ciphertext>> {
        let (eval, level) = (self.eval, self.eval.params().rotation_level());
        let bytes = state.ciphertexts().par_iter();
        let mut out: Vec<Ciphertext> = match level {
            // the first rotation reports the missing keys
            0 => state.ciphertexts().to_vec(),
            _ => bytes
                .map(|x| eval.lowered(&eval.with_bound(x)?, level))
                .collect::<Result<_>>()?,
        };
        while out.len() < count {
            let from = out.len() - BLOCK;
            let more = (count - out.len()).min(BLOCK);
            let next: Vec<Ciphertext> = out[from..from + more]
                .par_iter()
                .map(|x| self.eval.rotate(x, Axis::E257, 1))
                .collect::<Result<_>>()?;
            out.extend(next);
        }
        Ok(out)
    }

    /// Σ α_{j,p} x_{o+p} over the positions p up to the end of `more`, for every offset o and row j in turn, from the
    /// sums `before` up to its start.
    fn sums(
        &self,
        stream: &[Ciphertext],
        before: &[Ciphertext],
        more: Range<usize>,
    ) -> Result<Vec<Ciphertext>> {
        let t = self.alphas.len();
        let sums = (0..BLOCK * t).into_par_iter().map(|k| {
            let (x, alpha) = (&stream[k / t..], &self.alphas[k % t]);
            let mut terms: Vec<(&Ciphertext, u8)> =
                more.clone().map(|p| (&x[p], alpha[p])).collect();
            terms.extend(before.get(k).map(|sum| (sum, 1)));
            self.eval.combine(&terms)
        });
        sums.collect()
    }

    /// 1 where the window at one offset equals `pattern`, from its sums.
    fn matches(&self, sums: &[Ciphertext], pattern: &[u8]) -> Result<Ciphertext> {
        let zeros: Vec<Ciphertext> = sums
            .par_iter()
            .zip(&self.alphas)
            .map(|(sum, alpha)| self.eval.equals_byte(sum, inner(alpha, pattern)))
            .collect::<Result<_>>()?;
        self.eval.all(&zeros.iter().collect::<Vec<_>>())
    }

    /// The packed answer for `pattern`, from the sums of its length at all offsets.
    fn verdict(&self, sums: &[Ciphertext], pattern: &[u8]) -> Result<Verdict> {
        let found: Vec<Ciphertext> = sums
            .par_chunks(self.alphas.len())
            .map(|sums| self.matches(sums, pattern))
            .collect::<Result<_>>()?;
        let pack = |h: usize| {
            let bits = found[8 * h..8 * h + 8].iter().enumerate();
            let terms: Vec<(&Ciphertext, u8)> = bits.map(|(i, e)| (e, 1 << i)).collect();
            self.eval.combine(&terms)
        };
        Ok([pack(0)?, pack(1)?])
    }
}

/// Σ α_p s_p.
fn inner(alpha: &[u8], s: &[u8]) -> u8 {
    let products = alpha
        .iter()
        .zip(s)
        .map(|(&a, &s)| homaes_aes::gf256::mul(a, s));
    products.fold(0, |sum, x| sum ^ x)
}

/// The distinct lengths of `patterns`, ascending.
fn lengths(patterns: &[&[u8]]) -> Vec<usize> {
    let mut out: Vec<usize> = patterns.iter().map(|pattern| pattern.len()).collect();
    out.sort_unstable();
    out.dedup();
    out
}
