//! Values of the crate `tfhe` under its default parameters.

use super::*;
use homaes_tfhe::interop::{ExportKey, Format, key_bits};
use rayon::prelude::*;
use std::sync::OnceLock;
use tfhe::integer::ciphertext::IntegerCiphertext;
use tfhe::prelude::{FheDecrypt, FheOrd};
use tfhe::{ClientKey, FheUint8, ServerKey};

fn user() -> &'static (ClientKey, ServerKey) {
    static KEYS: OnceLock<(ClientKey, ServerKey)> = OnceLock::new();
    KEYS.get_or_init(|| tfhe::generate_keys(tfhe::ConfigBuilder::default().build()))
}

/// Noise of the four blocks of a value of `byte`.
fn errors(key: &[u64], value: &FheUint8, byte: u8) -> Vec<f64> {
    let (radix, ..) = value.clone().into_raw_parts();
    let blocks = radix.blocks().iter().enumerate();
    let pair = |i: usize| u64::from(byte >> (2 * i) & 3);
    blocks
        .map(|(i, block)| error(key, block.ct.as_ref(), pair(i), 5))
        .collect()
}

/// Way (a): blocks cross as bits to a TFHE set; sign bootstraps turn them into values of `tfhe`.
fn by_signs(set: &ParamSet, layout: Layout, end: &homaes_tfhe::ParamSet, key_bytes: usize) {
    let (client, server) = user();
    let params = Params::new(set).unwrap();
    let mut rng = ChaCha20Rng::from_seed([13; 32]);
    let secret = SecretKey::generate(&params, &mut rng).unwrap();
    let eval = EvalKey::generate(&secret, &mut rng);
    let end = homaes_tfhe::Params::new(end).unwrap();
    let own = homaes_tfhe::SecretKey::generate(&end, &mut rng).unwrap();
    let own_eval = homaes_tfhe::EvalKey::generate(&own, &mut rng);
    let export = ExportKey::generate(&own, client, &mut rng).unwrap();
    let bridge = BridgeKey::to_tfhe(&secret, &own, &mut rng).unwrap();
    let key: Vec<u8> = (0..key_bytes).map(|i| (7 * i) as u8).collect();
    let keys = RoundKeys::expand(&key).unwrap();
    let wrapping = WrapOptions {
        layouts: &[layout],
        levels_left: Some(1),
        ..WrapOptions::default()
    };
    let wrapped = WrappedKey::encrypt(&secret, &keys, wrapping, &mut rng).unwrap();
    let aes = Aes::new(&eval, &wrapped, layout).unwrap();
    let crossing = SlotsToLwe::new(&bridge, Numbers::Bits);
    let block = core::array::from_fn(|i| (31 * i) as u8);
    // the first run has cold caches
    let [_, state] = [(); 2].map(|()| {
        let start = Instant::now();
        let state = aes.evaluate(&[block]).unwrap();
        println!("AES {:?}", start.elapsed());
        state
    });
    let start = Instant::now();
    let crossed = crossing.cross(aes.evaluator(), &state).unwrap();
    let bits = crossing.state(&crossed, 0..1, &end).unwrap();
    println!(
        "across as bits {:?}, {:?}",
        start.elapsed(),
        crossed.noise()
    );
    let start = Instant::now();
    let values = own_eval.to_fheuint8(&bits, &export, server).unwrap();
    println!("128 signs {:?}", start.elapsed());
    let found: Vec<u8> = values.iter().map(|value| value.decrypt(client)).collect();
    assert_eq!(found, encrypt_block(block, &keys));
    // at most nominal noise
    let (key, _) = key_bits(client).unwrap();
    let errors = values
        .iter()
        .zip(&found)
        .flat_map(|(v, &b)| errors(&key, v, b));
    assert!(errors.map(f64::abs).fold(0.0, f64::max) < 2f64.powf(-15.0 + 2.5));
}

#[test]
fn bits_become_values_by_signs() {
    let set = ParamSet {
        chain: sets::AES192.chain,
        ..sets::TOY_4369
    };
    by_signs(&set, Layout::Sliced, &homaes_tfhe::sets::TOY, 16);
}

#[test]
#[ignore = "nightly: a minute"]
fn nightly_bits_of_aes_256_become_values_by_signs_at_full_size() {
    by_signs(&sets::AES256_2, Layout::Packed, &homaes_tfhe::sets::P64, 32);
}

/// A secret key that fits a bridge to this user's key, and the bridge.
fn bridged(
    params: &Arc<Params>,
    client: &ClientKey,
    rng: &mut ChaCha20Rng,
) -> (SecretKey, BridgeKey) {
    loop {
        let secret = SecretKey::generate(params, rng).unwrap();
        match BridgeKey::to_client(&secret, client, rng) {
            Err(Error::UnfitKey { .. }) => {}
            bridge => break (secret, bridge.unwrap()),
        }
    }
}

/// Way (b): one packed block, at full size because client keys have 2048 bits.
#[test]
fn a_packed_block_becomes_values() {
    let (client, server) = user();
    let params = Params::new(&sets::BRIDGE128).unwrap();
    let mut rng = ChaCha20Rng::from_seed([14; 32]);
    let (secret, bridge) = bridged(&params, client, &mut rng);
    let eval = EvalKey::generate(&secret, &mut rng);
    let keys = RoundKeys::expand(&[0x2b; 16]).unwrap();
    let wrapping = WrapOptions {
        layouts: &[Layout::Packed],
        ..WrapOptions::default()
    };
    let wrapped = WrappedKey::encrypt(&secret, &keys, wrapping, &mut rng).unwrap();
    let aes = Aes::new(&eval, &wrapped, Layout::Packed).unwrap();
    let crossing = SlotsToLwe::new(&bridge, Numbers::Pairs);
    let state = aes.evaluate(&[[9; 16]]).unwrap();
    let crossed = crossing.cross(aes.evaluator(), &state).unwrap();
    let format = Format::of_server(server).unwrap();
    let other = Format::from_parts(format.pattern(), b"another tag").unwrap();
    let refused = crossing.fheuint8(&crossed, 0..16, &other);
    assert!(matches!(refused, Err(Error::Format)));
    let values = crossing.fheuint8(&crossed, 0..16, &format).unwrap();
    let found: Vec<u8> = values.iter().map(|value| value.decrypt(client)).collect();
    assert_eq!(found, encrypt_block([9; 16], &keys));
    // tfhe computes on them
    tfhe::set_server_key(server.clone());
    let sum: u8 = (&values[0] + &values[1]).decrypt(client);
    assert_eq!(sum, found[0].wrapping_add(found[1]));
    assert_eq!(
        values[0].lt(&values[1]).decrypt(client),
        found[0] < found[1]
    );
}

/// A whole batch becomes values of `tfhe`; all are decrypted, their noise is measured, and some are computed with.
#[test]
#[ignore = "nightly: three minutes and 6 GiB"]
fn nightly_a_batch_becomes_values_of_tfhe() {
    let (client, server) = user();
    let params = Params::new(&sets::AES192).unwrap();
    let mut rng = ChaCha20Rng::from_seed([7; 32]);
    let (secret, bridge) = bridged(&params, client, &mut rng);
    let eval = EvalKey::generate(&secret, &mut rng);
    let (keys, wrapped) = wrapped(&secret, &mut rng);
    let aes = Aes::new(&eval, &wrapped, Layout::Sliced).unwrap();
    let blocks: Vec<[u8; 16]> = (0..2048u32)
        .map(|i| core::array::from_fn(|k| (i >> (8 * (k % 4))) as u8))
        .collect();
    let start = Instant::now();
    let state = aes.evaluate(&blocks).unwrap();
    println!("AES {:?}", start.elapsed());
    let start = Instant::now();
    let crossing = SlotsToLwe::new(&bridge, Numbers::Pairs);
    println!("prepared {:?}", start.elapsed());
    let start = Instant::now();
    let crossed = crossing.cross(aes.evaluator(), &state).unwrap();
    println!("lifted {:?}", start.elapsed());
    let format = Format::of_server(server).unwrap();
    let want: Vec<u8> = blocks
        .iter()
        .flat_map(|&b| encrypt_block(b, &keys))
        .collect();
    let (key, _) = key_bits(client).unwrap();
    let mut first = Vec::new();
    let mut reading = Duration::ZERO;
    let (mut sum, mut largest) = (0.0, 0.0f64);
    for part in 0..16 {
        let range = 2048 * part..2048 * (part + 1);
        let start = Instant::now();
        let values = crossing.fheuint8(&crossed, range.clone(), &format).unwrap();
        reading += start.elapsed();
        let want = &want[range];
        let errors: Vec<f64> = values
            .par_iter()
            .zip(want)
            .flat_map_iter(|(value, &byte)| {
                let found: u8 = value.decrypt(client);
                assert_eq!(found, byte);
                errors(&key, value, byte)
            })
            .collect();
        for e in errors {
            sum += e * e;
            largest = largest.max(e.abs());
        }
        if part < 2 {
            first.extend(values);
        }
    }
    let count = 4 * want.len();
    let found = 0.5 * (sum / count as f64).log2();
    println!("read {reading:?}");
    println!(
        "{count} blocks: noise 2^{found:.2}, largest {:.1} times as much, derived {:?}",
        largest / found.exp2(),
        crossed.noise()
    );
    assert!((found - crossed.noise().log2_sigma).abs() < 0.3);
    assert!(crossed.noise().failure_log2 <= -64.0);
    no_outlier(&crossing, &secret, 16, largest);
    let pairs = first.len() / 2;
    rayon::broadcast(|_| tfhe::set_server_key(server.clone()));
    let start = Instant::now();
    first
        .par_chunks(2)
        .zip(want.par_chunks(2))
        .for_each(|(a, b)| {
            let sum: u8 = (&a[0] + &a[1]).decrypt(client);
            assert_eq!(sum, b[0].wrapping_add(b[1]));
            assert_eq!(a[0].lt(&a[1]).decrypt(client), b[0] < b[1]);
        });
    println!("{pairs} sums and comparisons {:?}", start.elapsed());
}
