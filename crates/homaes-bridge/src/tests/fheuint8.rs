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
fn by_signs(
    set: &ParamSet,
    layouts: &'static [Layout],
    end: &homaes_tfhe::ParamSet,
    key_bytes: usize,
) {
    let (client, server) = user();
    let mut w = Keys::new(set, 13);
    let end = homaes_tfhe::Params::new(end).unwrap();
    let own = homaes_tfhe::SecretKey::generate(&end, &mut w.rng).unwrap();
    let own_eval = homaes_tfhe::EvalKey::generate(&own, &mut w.rng);
    let export = ExportKey::generate(&own, client, &mut w.rng).unwrap();
    let bridge = BridgeKey::to_tfhe(&w.secret, &own, &mut w.rng).unwrap();
    let key: Vec<u8> = (0..key_bytes).map(|i| (7 * i) as u8).collect();
    let (keys, wrapped) = w.wrap(&key, layouts, left(set, 1));
    let aes = Aes::new(&w.eval, &wrapped, layouts[0]).unwrap();
    let crossing = SlotsToLwe::new(&bridge, Numbers::Bits).unwrap();
    let block = core::array::from_fn(|i| (31 * i) as u8);
    let state = result(&aes, &[block]);
    let crossed = crossing.cross(aes.evaluator(), &state).unwrap();
    let bits = crossing.state(&crossed, 0..1, &end).unwrap();
    let values = own_eval.to_fheuint8(&bits, &export, server).unwrap();
    let found: Vec<u8> = values.iter().map(|value| value.decrypt(client)).collect();
    assert_eq!(found, encrypt_block(block, &keys));
    // at most nominal noise
    let (key, _) = key_bits(client).unwrap();
    let values = values.iter().zip(&found);
    let errors = values.flat_map(|(v, &b)| errors(&key, v, b));
    assert!(errors.map(f64::abs).fold(0.0, f64::max) < 2f64.powf(-15.0 + 2.5));
}

#[test]
fn bits_become_values_by_signs() {
    let set = ParamSet {
        chain: sets::AES192.chain,
        ..sets::TOY_4369
    };
    by_signs(&set, SLICED, &homaes_tfhe::sets::TOY, 16);
}

#[test]
#[ignore = "nightly: a minute"]
fn nightly_bits_of_aes_256_become_values_by_signs_at_full_size() {
    by_signs(&sets::AES256_8, PACKED, &homaes_tfhe::sets::P64, 32);
}

const PACKED: &[Layout] = &[Layout::Packed];

/// Keys that fit a bridge to this user's key, and the bridge.
fn bridged(set: &ParamSet, seed: u8, client: &ClientKey) -> (Keys, BridgeKey) {
    let mut keys = (seed..).map(|seed| Keys::new(set, seed));
    let fits = |mut keys: Keys| match BridgeKey::to_client(&keys.secret, client, &mut keys.rng) {
        Err(Error::UnfitKey { .. }) => None,
        bridge => Some((keys, bridge.unwrap())),
    };
    keys.find_map(fits).unwrap()
}

/// Way (b): one packed block, at full size because client keys have 2048 bits.
#[test]
fn a_packed_block_becomes_values() {
    let (client, server) = user();
    let (mut w, bridge) = bridged(&sets::BRIDGE128, 14, client);
    let (keys, wrapped) = w.wrap(&[0x2b; 16], PACKED, None);
    let aes = Aes::new(&w.eval, &wrapped, Layout::Packed).unwrap();
    let crossing = SlotsToLwe::new(&bridge, Numbers::Pairs).unwrap();
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
    let less = values[0].lt(&values[1]).decrypt(client);
    assert_eq!(less, found[0] < found[1]);
}

/// A whole batch becomes values of `tfhe`; all are decrypted, their noise is measured, and some are computed with.
#[test]
#[ignore = "nightly: six minutes and 10 GiB"]
fn nightly_a_batch_becomes_values_of_tfhe() {
    a_batch_becomes_values(&sets::AES192, &[0x2b; 16]);
    a_batch_becomes_values(&sets::AES256_8, &[0x2b; 32]);
}

fn a_batch_becomes_values(set: &ParamSet, key: &[u8]) {
    let (client, server) = user();
    let (mut w, bridge) = bridged(set, 7, client);
    let (keys, wrapped) = w.wrap(key, SLICED, left(set, LIFT_LEVEL - 1));
    let aes = Aes::new(&w.eval, &wrapped, Layout::Sliced).unwrap();
    let block = |i: u32| core::array::from_fn(|k| (i >> (8 * (k % 4))) as u8);
    let blocks: Vec<Block> = (0..2048).map(block).collect();
    let state = result(&aes, &blocks);
    let crossing = SlotsToLwe::new(&bridge, Numbers::Pairs).unwrap();
    let crossed = crossing.cross(aes.evaluator(), &state).unwrap();
    let format = Format::of_server(server).unwrap();
    let want: Vec<u8> = encrypted(&blocks, &keys).concat();
    let (key, _) = key_bits(client).unwrap();
    let mut first = Vec::new();
    let mut all = Errors::default();
    for part in 0..16 {
        let range = 2048 * part..2048 * (part + 1);
        let values = crossing.fheuint8(&crossed, range.clone(), &format).unwrap();
        let pairs = values.par_iter().zip(&want[range]);
        let errors = pairs.flat_map_iter(|(value, &byte)| {
            let found: u8 = value.decrypt(client);
            assert_eq!(found, byte);
            errors(&key, value, byte)
        });
        for error in errors.collect::<Vec<f64>>() {
            all.add(error);
        }
        if part < 2 {
            first.extend(values);
        }
    }
    all.check(crossed.noise().log2_sigma, 0.3);
    assert!(crossed.noise().failure_log2 <= -64.0);
    no_outlier(&crossing, &w.secret, 16, all.largest);
    rayon::broadcast(|_| tfhe::set_server_key(server.clone()));
    let pairs = first.par_chunks(2).zip(want.par_chunks(2));
    pairs.for_each(|(a, b)| {
        let sum: u8 = (&a[0] + &a[1]).decrypt(client);
        assert_eq!(sum, b[0].wrapping_add(b[1]));
        assert_eq!(a[0].lt(&a[1]).decrypt(client), b[0] < b[1]);
    });
}
