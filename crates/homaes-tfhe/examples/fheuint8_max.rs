//! From AES to `tfhe`: maximum and inner product of numbers that arrive under AES.
//!
//! A sender that knows only AES, such as a sensor, sends two vectors of big-endian 16-bit numbers under AES-128-CTR. A
//! client has given the server the AES key under FHE, an export key and an ordinary `tfhe::ServerKey`. The server
//! transciphers, converts the bytes to `FheUint16`, and computes the maximum of the first vector and the inner product
//! of both modulo 2^16. The client decrypts with its `tfhe::ClientKey`.
//!
//! ```text
//! cargo run --release -p homaes-tfhe --features tfhe-rs --example fheuint8_max [-- --set SET]
//! ```
//!
//! SET is tfhe/p64 by default; tfhe/toy is faster and insecure. The keys of `tfhe` always have its default parameters.
//!
//! Prints the wall time of each stage, run once without warm-up on all threads of rayon's default pool. Keys stay in
//! memory. Fails if a result differs from the result in the clear.

use ctr::cipher::{KeyIvInit, StreamCipher};
use homaes_aes::{Block, Mode, RoundKeys};
use homaes_scheme::{Cancel, Purpose};
use homaes_tfhe::interop::{ExportKey, join_be};
use homaes_tfhe::{Aes, EvalKey, Params, SecretKey, WrapOptions, WrappedKey, sets};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::error::Error;
use std::time::Instant;
use tfhe::prelude::{FheDecrypt, FheMax};
use tfhe::{ConfigBuilder, FheUint16, generate_keys, set_server_key};

/// Numbers of a vector: one AES block.
const VALUES: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let name = set_name()?;
    let set = sets::by_name(&name).ok_or_else(|| format!("no set called {name}"))?;
    if set.purpose != Purpose::Secure {
        eprintln!("set {name} offers no security: for tests only");
    }
    let threads = rayon::current_num_threads();
    println!("set {name}, wall times of one run on {threads} threads");
    let mut rng = system_rng()?;

    println!("\nsender");
    let values: [u16; VALUES] = core::array::from_fn(|_| rng.next_u32() as u16);
    let weights: [u16; VALUES] = core::array::from_fn(|_| rng.next_u32() as u16);
    let mut aes_key = [0; 16];
    rng.fill_bytes(&mut aes_key);
    let (iv, ciphertext) = stage("AES-128-CTR", || {
        encrypt(&aes_key, &values, &weights, &mut rng)
    });

    println!("\nclient, once");
    let params = Params::new(set)?;
    let secret = stage("secret key", || SecretKey::generate(&params, &mut rng))?;
    let eval = stage("evaluation key", || EvalKey::generate(&secret, &mut rng));
    let keys = RoundKeys::expand(&aes_key)?;
    let wrapped = stage("AES key under FHE", || {
        WrappedKey::encrypt(&secret, &keys, WrapOptions::default(), &mut rng)
    })?;
    let (client_key, server_key) = stage("keys of tfhe", || {
        generate_keys(ConfigBuilder::default().build())
    });
    let export = stage("export key", || {
        ExportKey::generate(&secret, &client_key, &mut rng)
    })?;

    println!("\nserver");
    let aes = stage("AES key expanded", || Aes::new(&eval, &wrapped))?;
    let state = stage("2 blocks of AES", || {
        let mode = Mode::Ctr { iv };
        let mut state = aes.evaluate(&mode.input(0, None, &ciphertext))?;
        aes.xor_public(&mut state, &mode.mask(None, &ciphertext), &Cancel::new())?;
        Ok::<_, homaes_tfhe::Error>(state)
    })?;
    let bytes = stage("32 bytes to FheUint8", || {
        eval.to_fheuint8(&state, &export, &server_key)
    })?;
    set_server_key(server_key);
    let pairs = bytes.as_chunks().0.iter();
    let words: Vec<FheUint16> = pairs
        .map(|[high, low]| join_be(high.clone(), low.clone()))
        .collect();
    let (first, second) = words.split_at(VALUES);
    let maximum = stage("maximum of 8", || maximum(first)).ok_or("no values")?;
    let product = stage("inner product of 8", || inner_product(first, second));

    println!("\nclient");
    let (maximum, product): (u16, u16) = stage("decryption", || {
        (maximum.decrypt(&client_key), product.decrypt(&client_key))
    });
    let clear_maximum = values.iter().copied().max().unwrap_or(0);
    let clear_product = values
        .iter()
        .zip(&weights)
        .fold(0u16, |sum, (v, w)| sum.wrapping_add(v.wrapping_mul(*w)));
    println!("\nmaximum:       {maximum:5}, in the clear {clear_maximum:5}");
    println!("inner product: {product:5}, in the clear {clear_product:5}");
    if (maximum, product) != (clear_maximum, clear_product) {
        return Err("the results are wrong".into());
    }
    Ok(())
}

/// The big-endian bytes of both vectors under AES-128-CTR, by the crates `aes` and `ctr`.
fn encrypt(
    key: &[u8; 16],
    values: &[u16; VALUES],
    weights: &[u16; VALUES],
    rng: &mut impl Rng,
) -> (Block, Vec<Block>) {
    let mut iv: Block = [0; 16];
    rng.fill_bytes(&mut iv);
    let numbers = values.iter().chain(weights);
    let mut bytes: Vec<u8> = numbers.flat_map(|v| v.to_be_bytes()).collect();
    ctr::Ctr128BE::<aes::Aes128>::new(key.into(), &iv.into()).apply_keystream(&mut bytes);
    (iv, bytes.as_chunks().0.to_vec())
}

/// By a tournament; `None` for no values.
fn maximum(values: &[FheUint16]) -> Option<FheUint16> {
    match values {
        [] => None,
        [value] => Some(value.clone()),
        _ => {
            let (front, back) = values.split_at(values.len() / 2);
            Some(maximum(front)?.max(&maximum(back)?))
        }
    }
}

fn inner_product(values: &[FheUint16], weights: &[FheUint16]) -> FheUint16 {
    let products: Vec<FheUint16> = values.iter().zip(weights).map(|(v, w)| v * w).collect();
    products.iter().sum()
}

fn stage<T>(name: &str, f: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let out = f();
    println!("  {name:<22} {:8.3} s", start.elapsed().as_secs_f64());
    out
}

fn set_name() -> Result<String, Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.as_slice() {
        [] => Ok("tfhe/p64".into()),
        [option, name] if option == "--set" => Ok(name.clone()),
        _ => Err("usage: fheuint8_max [--set SET]".into()),
    }
}

fn system_rng() -> Result<ChaCha20Rng, Box<dyn Error>> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|e| e.to_string())?;
    Ok(ChaCha20Rng::from_seed(seed))
}
