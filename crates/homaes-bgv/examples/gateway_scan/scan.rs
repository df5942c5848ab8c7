//! Searching an encrypted message for public signatures, at every byte offset.
//!
//! Byte i of block b is in slot b of ciphertext i. A window that starts at byte o of block b reads bytes o, o + 1, … of a stream
//! whose byte n, from the start of the block, is ciphertext n mod 16 moved n div 16 blocks along a run of slots. For public
//! random α_{j,p} in GF(2^8), shared by all signatures,
//!
//! ```text
//! z_j = Σ_p α_{j,p} (x_{o+p} - s_p),  j < t          no level: constants and sums
//! e   = Π_j (1 - z_j^255)                            three levels, and ⌈log2 t⌉
//! ```
//!
//! is 1 where the window is the signature s, and where it is not, with probability 2^-8t. Sixteen offsets are packed in two
//! ciphertexts: bit i of slot b of ciphertext h says that a window at byte 8h + i of block b matches.
//!
//! Slots move cyclically within runs, so a run holds some blocks twice: those its last windows reach over into the next run.
//! The server chooses which counter block goes to which slot; nothing is masked.

use homaes_aes::{Block, mode};
use homaes_bgv::{Aes, Axis, Ciphertext, Circuit, Params, Result, SecretKey, State};
use rayon::prelude::*;

/// Bytes of a block.
const BLOCK: usize = 16;

/// A public string to look for.
pub(crate) struct Signature {
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
}

/// Public strings. The EICAR test file is put together here, so that no scanner takes this source for one.
pub(crate) fn signatures() -> Vec<Signature> {
    let eicar = [
        "X5O!P%@AP[4\\PZX54(P^)7CC)7}$",
        "EICAR-STANDARD-ANTIVIRUS-",
        "TEST-FILE!$H+H*",
    ];
    vec![
        Signature {
            name: "EICAR",
            bytes: eicar.concat().into_bytes(),
        },
        Signature {
            name: "DOS program",
            bytes: b"This program cannot be run in DOS mode.".to_vec(),
        },
        Signature {
            name: "script injection",
            bytes: b"<script>eval(unescape(".to_vec(),
        },
    ]
}

/// Which block is in which slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    run_len: usize,
    runs: usize,
    /// blocks at the end of a run that the next run holds too
    overlap: usize,
    blocks: usize,
    message_len: usize,
}

impl Placement {
    /// For a message of `message_len` bytes and signatures of up to `longest`; nothing if it does not fit one batch.
    pub(crate) fn new(params: &Params, message_len: usize, longest: usize) -> Option<Self> {
        let slots = params.slots();
        let out = Self {
            run_len: slots.run_len(),
            runs: slots.count() / slots.run_len(),
            overlap: (BLOCK + longest).saturating_sub(2) / BLOCK,
            blocks: message_len.div_ceil(BLOCK),
            message_len,
        };
        (out.overlap < out.run_len && out.blocks <= out.runs * out.own()).then_some(out)
    }

    /// Blocks of a run whose windows it answers for.
    fn own(&self) -> usize {
        self.run_len - self.overlap
    }

    /// Most bytes that one batch can hold.
    pub(crate) fn capacity(&self) -> usize {
        self.runs * self.own() * BLOCK
    }

    /// Index of the block in each slot; past the end of the message where there is none.
    fn block_of(&self, slot: usize) -> usize {
        slot / self.run_len * self.own() + slot % self.run_len
    }

    /// The message blocks of a CTR message in slot order: (counter blocks, ciphertext blocks).
    fn arrange(&self, iv: Block, ciphertext: &[u8]) -> (Vec<Block>, Vec<Block>) {
        let slots = self.runs * self.run_len;
        let data = |b: usize| -> Block {
            core::array::from_fn(|i| ciphertext.get(BLOCK * b + i).copied().unwrap_or(0))
        };
        let blocks = (0..slots).map(|slot| self.block_of(slot));
        blocks
            .map(|b| (mode::counter_block(iv, b as u128), data(b)))
            .unzip()
    }
}

/// The server's first step: AES under encryption turns the CTR ciphertext into encrypted bytes.
pub(crate) fn transcipher(
    aes: &Aes<'_>,
    at: &Placement,
    iv: Block,
    ciphertext: &[u8],
) -> Result<State> {
    let (counters, data) = at.arrange(iv, ciphertext);
    let mut state = aes.evaluate(&counters)?;
    state.xor_public(aes.params(), &data)?;
    Ok(state)
}

/// The encrypted answer for one signature.
pub(crate) struct Verdict {
    /// bit i of slot b of ciphertext h: a match begins at byte 8h + i of the block in slot b
    pub(crate) packed: [Ciphertext; 2],
}

/// The server's second step, with its random coefficients.
pub(crate) struct Scanner<'c> {
    circuit: Circuit<'c, 'c>,
    /// α_{j,p}
    alphas: Vec<Vec<u8>>,
}

impl<'c> Scanner<'c> {
    /// `alphas` are t rows of random bytes, as long as the longest signature.
    pub(crate) fn new(circuit: Circuit<'c, 'c>, alphas: Vec<Vec<u8>>) -> Self {
        Self { circuit, alphas }
    }

    /// Bytes 0, 1, …, `count` - 1 from the start of each block: rotations by one block for every sixteen.
    pub(crate) fn stream(&self, state: &State, count: usize) -> Result<Vec<Ciphertext>> {
        let mut out = state.ciphertexts().to_vec();
        while out.len() < count {
            let from = out.len() - BLOCK;
            let more = (count - out.len()).min(BLOCK);
            let next: Vec<Ciphertext> = out[from..from + more]
                .par_iter()
                .map(|x| self.circuit.rotate(x, Axis::E257, 1))
                .collect::<Result<_>>()?;
            out.extend(next);
        }
        Ok(out)
    }

    /// Σ_{p < len} α_{j,p} x_{o+p} for every offset o and row j, for each of the ascending `lengths`: \[length\]\[o\]\[j\].
    pub(crate) fn sums(
        &self,
        stream: &[Ciphertext],
        lengths: &[usize],
    ) -> Result<Vec<Vec<Vec<Ciphertext>>>> {
        let t = self.alphas.len();
        // prefix sums: a longer signature continues where the shorter one ended
        let sums: Vec<Vec<Ciphertext>> = (0..BLOCK * t)
            .into_par_iter()
            .map(|k| self.prefix_sums(&stream[k / t..], &self.alphas[k % t], lengths))
            .collect::<Result<_>>()?;
        let at = |o: usize, j: usize, l: usize| sums[o * t + j][l].clone();
        let by_row = |o, l| (0..t).map(|j| at(o, j, l)).collect();
        Ok((0..lengths.len())
            .map(|l| (0..BLOCK).map(|o| by_row(o, l)).collect())
            .collect())
    }

    fn prefix_sums(
        &self,
        x: &[Ciphertext],
        alpha: &[u8],
        lengths: &[usize],
    ) -> Result<Vec<Ciphertext>> {
        let mut out: Vec<Ciphertext> = Vec::new();
        let mut done = 0;
        for &len in lengths {
            let mut terms: Vec<(&Ciphertext, u8)> = x[done..len]
                .iter()
                .zip(alpha[done..len].iter().copied())
                .collect();
            if let Some(before) = out.last() {
                terms.push((before, 1));
            }
            out.push(self.circuit.combine(&terms)?);
            done = len;
        }
        Ok(out)
    }

    /// 1 where the window at one offset is `signature`, from its sums.
    fn matches(&self, sums: &[Ciphertext], signature: &[u8]) -> Result<Ciphertext> {
        let zeros: Vec<Ciphertext> = sums
            .par_iter()
            .zip(&self.alphas)
            .map(|(sum, alpha)| self.circuit.equals_byte(sum, inner(alpha, signature)))
            .collect::<Result<_>>()?;
        self.circuit.all(&zeros.iter().collect::<Vec<_>>())
    }

    /// The packed answer for `signature`, from the sums of its length at all offsets.
    pub(crate) fn verdict(&self, sums: &[Vec<Ciphertext>], signature: &[u8]) -> Result<Verdict> {
        let found: Vec<Ciphertext> = sums
            .par_iter()
            .map(|sums| self.matches(sums, signature))
            .collect::<Result<_>>()?;
        let pack = |h: usize| {
            let bits = found[8 * h..8 * h + 8].iter().enumerate();
            let terms: Vec<(&Ciphertext, u8)> = bits.map(|(i, e)| (e, 1 << i)).collect();
            self.circuit.combine(&terms)
        };
        Ok(Verdict {
            packed: [pack(0)?, pack(1)?],
        })
    }
}

/// By how many bits the noise of an answer stays below its bound, at most.
pub(crate) fn tightness(secret: &SecretKey, params: &Params, verdict: &Verdict) -> f64 {
    let bits = verdict
        .packed
        .iter()
        .map(|c| c.bound_bits(params) - secret.measure_noise(c).1);
    bits.fold(f64::NEG_INFINITY, f64::max)
}

/// Σ α_p s_p.
fn inner(alpha: &[u8], s: &[u8]) -> u8 {
    let products = alpha
        .iter()
        .zip(s)
        .map(|(&a, &s)| homaes_aes::gf256::mul(a, s));
    products.fold(0, |sum, x| sum ^ x)
}

/// The lengths of `signatures`, ascending, each once.
pub(crate) fn lengths(signatures: &[Signature]) -> Vec<usize> {
    let mut out: Vec<usize> = signatures.iter().map(|s| s.bytes.len()).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// The key owner's step: positions in the message where a signature of `len` bytes begins, and the least margin.
pub(crate) fn open(
    secret: &SecretKey,
    at: &Placement,
    verdict: &Verdict,
    len: usize,
) -> Result<(Vec<usize>, f64)> {
    let mut found = Vec::new();
    let mut margin = f64::INFINITY;
    for (h, packed) in verdict.packed.iter().enumerate() {
        let (slots, bits) = secret.decrypt(packed)?;
        margin = margin.min(bits);
        for (slot, byte) in slots.into_iter().enumerate() {
            // the last blocks of a run are answered for by the next
            if slot % at.run_len >= at.own() {
                continue;
            }
            let starts = (0..8).filter(|i| byte >> i & 1 == 1);
            found.extend(starts.map(|i| BLOCK * at.block_of(slot) + 8 * h + i));
        }
    }
    found.retain(|start| start + len <= at.message_len);
    found.sort_unstable();
    Ok((found, margin))
}
