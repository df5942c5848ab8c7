//! What the gateway's example and its test have beside [`homaes_bgv::scan`]: signatures, AES, and the key owner's step.

use homaes_aes::{Block, mode};
use homaes_bgv::scan::{Placement, Verdict};
use homaes_bgv::{Aes, Params, Result, SecretKey, State};

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

/// The signatures as patterns.
pub(crate) fn patterns(signatures: &[Signature]) -> Vec<&[u8]> {
    signatures.iter().map(|s| &*s.bytes).collect()
}

/// Length of the longest.
pub(crate) fn longest(signatures: &[Signature]) -> usize {
    signatures.iter().map(|s| s.bytes.len()).max().unwrap_or(0)
}

/// Most bytes that one batch can hold.
pub(crate) fn capacity(at: &Placement) -> usize {
    BLOCK * at.blocks_per_batch()
}

/// The server's first step: AES under encryption turns the CTR ciphertext into encrypted bytes.
pub(crate) fn transcipher(
    aes: &Aes<'_>,
    at: &Placement,
    iv: Block,
    ciphertext: &[u8],
) -> Result<State> {
    let data = |b: usize| -> Block {
        core::array::from_fn(|i| ciphertext.get(BLOCK * b + i).copied().unwrap_or(0))
    };
    let blocks = (0..aes.blocks_per_batch()).map(|slot| at.block_of(slot));
    let (counters, data): (Vec<Block>, Vec<Block>) = blocks
        .map(|b| (mode::counter_block(iv, b as u128), data(b)))
        .unzip();
    let mut state = aes.evaluate(&counters)?;
    state.xor_public(aes.params(), &data)?;
    Ok(state)
}

/// By how many bits the noise of an answer stays below its bound, at most.
pub(crate) fn tightness(secret: &SecretKey, params: &Params, verdict: &Verdict) -> f64 {
    let bits = verdict
        .iter()
        .map(|c| c.bound_bits(params) - secret.measure_noise(c).1);
    bits.fold(f64::NEG_INFINITY, f64::max)
}

/// The key owner's step: positions in a message of `bytes` where a signature of `len` begins, and the least margin.
pub(crate) fn open(
    secret: &SecretKey,
    at: &Placement,
    verdict: &Verdict,
    (len, bytes): (usize, usize),
) -> Result<(Vec<usize>, f64)> {
    let mut found = Vec::new();
    let mut margin = f64::INFINITY;
    for (h, packed) in verdict.iter().enumerate() {
        let (slots, bits) = secret.decrypt(packed)?;
        margin = margin.min(bits);
        for (slot, byte) in slots.into_iter().enumerate() {
            let bits = (0..8).filter(|i| byte >> i & 1 == 1);
            found.extend(bits.filter_map(|i| at.start(slot, 8 * h + i)));
        }
    }
    found.retain(|start| start + len <= bytes);
    found.sort_unstable();
    Ok((found, margin))
}
