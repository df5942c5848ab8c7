//! CLT14's Table 1, measured here.

use crate::error::Result;
use crate::eval::EvalKey;
use crate::keys::SecretKey;
use crate::meter::Meter;
use crate::params::Params;
use crate::public_key::PublicKey;
use crate::sets::{EXTRA, LARGE, MEDIUM, ParamSet, SMALL, TOY};
use crate::{Aes, Bits, State, WrappedKeyFile};
use homaes_aes::{BitEval, Block, Direction, KeySize, RoundKeys, clear};
use homaes_scheme::bits::BITS;
use homaes_scheme::{Cancel, Records, RunOptions};
use rand_core::CryptoRng;
use std::time::Instant;

/// A measured row; times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// public key and evaluation key
    pub key_bytes: f64,
    /// generating all keys
    pub keygen: f64,
    /// one ciphertext, by the public key
    pub encrypt: f64,
    /// one ciphertext
    pub decrypt: f64,
    /// a product, not converted
    pub multiply: f64,
    /// a conversion, in a pass of 128
    pub convert: f64,
    /// a round key
    pub add_round_key: f64,
    /// SubBytes of a round, with the rest of ShiftRows and MixColumns
    pub sub_bytes: f64,
    /// sums in the linear layer of a round
    pub mix_columns: f64,
    /// AES-128 on a full batch
    pub total: f64,
}

/// The instances of the table.
pub const INSTANCES: [&ParamSet; 5] = [&TOY, &SMALL, &MEDIUM, &LARGE, &EXTRA];

/// Measures a row with keys in memory, and checks every byte of the AES run.
///
/// # Errors
/// [`Error::Noise`](crate::Error::Noise) if decryption fails.
///
/// # Panics
/// If AES gives wrong blocks.
pub fn measure(set: &ParamSet, rng: &mut impl CryptoRng) -> Result<Row> {
    let params = Params::new(set).expect("a declared set is sound");
    let start = Instant::now();
    let secret = SecretKey::generate(&params, rng)?;
    let eval = EvalKey::generate(&secret, rng)?;
    let public = PublicKey::generate(&secret, rng)?;
    let keygen = start.elapsed().as_secs_f64();
    let eval_bytes = crate::EvalKeyFile::of_seed(&secret, [0; 32])
        .header()?
        .file_bytes();
    let bits = vec![true; set.slots];
    let (encrypt, c) = timed(|| public.encrypt(&bits, rng));
    let (decrypt, _) =
        timed(|| secret.decrypt(&c.as_ref().expect("as many bits as slots").clone()));
    let c = c?;
    let meter = Meter::default();
    let view = Bits::new(&eval, &meter);
    let (multiply, product) = timed(|| view.and(&c, &c));
    let products = vec![product?; BITS];
    let (pass, converted) = timed(|| view.relinearize_all(products));
    converted?;
    let mut key = [0; 16];
    rng.fill_bytes(&mut key);
    let mut blocks: Vec<Block> = vec![[0; 16]; set.slots];
    blocks.iter_mut().for_each(|block| rng.fill_bytes(block));
    let keys = RoundKeys::expand(&key).expect("16 bytes");
    let file = WrappedKeyFile::generate(&secret, &keys, Direction::Encrypt, 0, rng)?;
    let wrapped = file.all();
    let aes = Aes::new(&eval, &wrapped)?;
    let mut ends = Vec::new();
    let start = Instant::now();
    let mut observe = |_, _: &State| ends.push(start.elapsed().as_secs_f64());
    let state = aes.evaluate_with(&blocks, RunOptions::new(&Cancel::new(), &mut observe))?;
    let total = start.elapsed().as_secs_f64();
    let found = state.decrypt(&secret)?.blocks;
    let expected = blocks
        .iter()
        .map(|&block| clear::encrypt_block(block, &keys));
    assert!(found.iter().copied().eq(expected), "AES is wrong");
    let mut state = state;
    let (add_round_key, added) = timed(|| wrapped.add_round_key(0, &mut state));
    added?;
    let rounds = KeySize::Aes128.rounds() as f64;
    let sums = aes
        .meter()
        .seconds
        .iter()
        .find(|(name, _)| *name == "sums")
        .map_or(0.0, |s| s.1);
    let threads = rayon::current_num_threads() as f64;
    Ok(Row {
        key_bytes: eval_bytes as f64 + params.public_key_bytes() as f64,
        keygen,
        encrypt,
        decrypt,
        multiply,
        convert: pass / BITS as f64,
        add_round_key,
        sub_bytes: (total - ends[0]) / rounds - add_round_key,
        mix_columns: sums / threads / rounds,
        total,
    })
}

fn timed<T>(f: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let out = f();
    (start.elapsed().as_secs_f64(), out)
}
