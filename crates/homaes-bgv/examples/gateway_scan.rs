//! Virus scanning of encrypted mail, the use case in papers on homomorphic AES, end to end.
//!
//! A client holds a message under AES-CTR. It gives a gateway the AES ciphertext, an evaluation key and the AES key
//! under BGV. The gateway turns the AES ciphertext into BGV ciphertexts, compares every byte offset with public
//! signatures, and returns one encrypted answer per signature, which only the holder of the secret key can read.
//!
//! ```text
//! cargo run --release -p homaes-bgv --example gateway_scan [-- SET [--clean]]
//! ```
//!
//! SET defaults to bgv/aes128+8; bgv/aes256+8 searches under AES-256, and bgv/toy-4369 takes seconds without security.
//! The mail has 6 KiB (4 KiB in the toy set) and the EICAR test string at an odd offset; with `--clean`, it does not
//! have the string.
//!
//! Limits: the gateway cannot read the answer, so it can attach it but not act on it; matches are of exact strings,
//! without wildcards or unpacking; a window that differs matches with probability 2^-48; the length of the message is
//! visible; the answer is only as trustworthy as the gateway, which could compute something else.

use homaes_aes::{Block, KeySize, Layout, RoundKeys, clear, mode};
use homaes_bgv::scan::{Placement, Scanner, Verdict};
use homaes_bgv::{Aes, EvalKey, Params, SecretKey, State, WrapOptions, WrappedKey, sets};
use homaes_scheme::RunOptions;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::error::Error;
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Random combinations per window; an unequal window passes each with probability 2^-8.
const ROWS: usize = 6;
/// Position of EICAR in the sample: no multiple of 16, across the end of the first run of blocks (byte 1968).
const HIDDEN: usize = 1935;
/// Multiplications left after AES: one for the sums' noise, three and ⌈log2 6⌉ for the comparison, one in reserve.
const LEVELS: usize = 8;
const BLOCK: usize = 16;

/// Public strings by name. EICAR is split so that no scanner flags this source.
fn signatures() -> [(&'static str, Vec<u8>); 3] {
    let eicar = [
        "X5O!P%@AP[4\\PZX54(P^)7CC)7}$",
        "EICAR-STANDARD-ANTIVIRUS-",
        "TEST-FILE!$H+H*",
    ];
    let dos = "This program cannot be run in DOS mode.";
    let script = "<script>eval(unescape(";
    [
        ("EICAR", eicar.concat().into()),
        ("DOS program", dos.into()),
        ("script injection", script.into()),
    ]
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let name = args.first().map_or("bgv/aes128+8", String::as_str);
    let set = sets::by_name(name).ok_or_else(|| format!("no set called {name}"))?;
    let signatures = signatures();
    let patterns: Vec<&[u8]> = signatures.iter().map(|s| &*s.1).collect();
    let longest = patterns.iter().map(|p| p.len()).max().unwrap_or(0);
    let params = Params::new(set)?;
    let at = Placement::new(&params, longest).ok_or("the signatures exceed a run of slots")?;
    // one batch
    let message = message(
        args.get(1).is_some(),
        patterns[0],
        BLOCK * at.blocks_per_batch(),
    );
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|e| e.to_string())?;
    let mut rng = ChaCha20Rng::from_seed(seed);

    println!("client, once: keys, and the AES key under BGV");
    let secret = SecretKey::generate(&params, &mut rng)?;
    let eval = EvalKey::generate(&secret, &mut rng);
    let fits = |&size: &KeySize| params.levels_left(Layout::Sliced, size) >= Some(LEVELS);
    let size = KeySize::ALL.into_iter().rev().find(fits);
    let size = size.ok_or("the set leaves too few multiplications")?;
    let mut aes_key = vec![0; size.key_bytes()];
    rng.fill_bytes(&mut aes_key);
    let keys = RoundKeys::expand(&aes_key)?;
    let how = WrapOptions {
        levels_left: Some(LEVELS),
        ..WrapOptions::default()
    };
    let wrapped = WrappedKey::encrypt(&secret, &keys, how, &mut rng)?;
    let mut iv: Block = [0; 16];
    rng.fill_bytes(&mut iv);
    let pads = (0..).flat_map(|b| clear::encrypt_block(mode::counter_block(iv, b), &keys));
    let ciphertext: Vec<u8> = message.iter().zip(pads).map(|(x, pad)| x ^ pad).collect();

    let bytes = message.len();
    let bits = 8 * size.key_bytes();
    println!("gateway: AES-{bits} under encryption, and the search, of {bytes} bytes");
    let aes = Aes::new(&eval, &wrapped, Layout::Sliced)?;
    let start = Instant::now();
    let state = transcipher(&aes, &at, iv, &ciphertext)?;
    let alphas = (0..ROWS).map(|_| {
        let mut row = vec![0; longest];
        rng.fill_bytes(&mut row);
        row
    });
    let scanner = Scanner::new(aes.evaluator(), alphas.collect());
    let verdicts = scanner.scan(&state, &patterns)?;
    let (seconds, noise) = (
        start.elapsed().as_secs_f64(),
        verdicts[0][0].summary(&params),
    );
    println!("  {seconds:.2} s; {noise}");

    println!("client, with the secret key");
    for ((name, pattern), verdict) in signatures.iter().zip(&verdicts) {
        let (mut found, margin) = open(&secret, &at, verdict)?;
        found.retain(|start| start + pattern.len() <= bytes);
        println!("  {name:<24} found at {found:?} (decryption margin {margin:.1} bits)");
    }
    Ok(())
}

/// The gateway's first step: AES under encryption turns the CTR ciphertext into encrypted bytes.
fn transcipher(aes: &Aes<'_>, at: &Placement, iv: Block, ciphertext: &[u8]) -> Result<State> {
    let data = |b: usize| -> Block {
        core::array::from_fn(|i| ciphertext.get(BLOCK * b + i).copied().unwrap_or(0))
    };
    let blocks = (0..aes.params().slots().count()).map(|slot| at.block_of(slot));
    let (counters, data): (Vec<Block>, Vec<Block>) = blocks
        .map(|b| (mode::counter_block(iv, b as u128), data(b)))
        .unzip();
    let mut results = aes.run(&counters, &data, RunOptions::default())?;
    Ok(results.swap_remove(0))
}

/// The key owner's step: possible start positions of a signature, and the least margin.
fn open(secret: &SecretKey, at: &Placement, verdict: &Verdict) -> Result<(Vec<usize>, f64)> {
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
    found.sort_unstable();
    Ok((found, margin))
}

/// A mail of at most `most` bytes and 6 KiB, with EICAR in it unless it is `clean`.
fn message(clean: bool, eicar: &[u8], most: usize) -> Vec<u8> {
    let line = "Dear colleague, please find the figures for the last quarter attached. ";
    let mut out: Vec<u8> = "From: a@example.org\nTo: b@example.org\nSubject: figures\n\n".into();
    out.extend(line.bytes().cycle().take(6144));
    out.truncate(most.min(6144));
    let end = HIDDEN + eicar.len();
    if let (false, Some(place)) = (clean, out.get_mut(HIDDEN..end)) {
        place.copy_from_slice(eicar);
    }
    out
}
