//! Bits and pairs of bits cross and are read with the LWE key.

use super::*;
use homaes_aes::clear::encrypt_block;
use homaes_aes::{Layout, RoundKeys, gf256};
use homaes_bgv::{Aes, EvalKey, Evaluator, LIFT_LEVEL, ParamSet, Params, SecretKey};
use homaes_bgv::{WrapOptions, WrappedKey, sets};
use homaes_math::memcheck::{Poisoned, findings, poison};
use homaes_scheme::Records;
use homaes_wire::{KeyId, Kind, Reader, Writer};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[cfg(feature = "tfhe-rs")]
mod fheuint8;

struct World {
    params: Arc<Params>,
    secret: SecretKey,
    eval: EvalKey,
    bits: Vec<u64>,
    bridge: BridgeKey,
    rng: ChaCha20Rng,
}

fn target() -> Target {
    Target {
        id: KeyId([9; 16]),
        other: Other::User {
            pattern: 0,
            tag: b"mine".to_vec(),
        },
    }
}

fn world(set: &ParamSet, seed: u8) -> World {
    let params = Params::new(set).unwrap();
    let mut rng = ChaCha20Rng::from_seed([seed; 32]);
    let secret = SecretKey::generate(&params, &mut rng).unwrap();
    let eval = EvalKey::generate(&secret, &mut rng);
    let dimension = params.ring().n() / 16;
    let bits: Vec<u64> = (0..dimension)
        .map(|_| u64::from(rng.next_u32() & 1))
        .collect();
    let bridge = BridgeKey::generate(&secret, &bits, target(), &mut rng).unwrap();
    World {
        params,
        secret,
        eval,
        bits,
        bridge,
        rng,
    }
}

/// An AES key and its encryption, for results at the level where lifting begins.
fn wrapped(secret: &SecretKey, rng: &mut ChaCha20Rng) -> (RoundKeys, WrappedKey) {
    let keys = RoundKeys::expand(&[0x2b; 16]).unwrap();
    let wrapping = WrapOptions {
        levels_left: Some(LIFT_LEVEL - 1),
        ..WrapOptions::default()
    };
    let wrapped = WrappedKey::encrypt(secret, &keys, wrapping, rng).unwrap();
    (keys, wrapped)
}

/// Phase of an LWE ciphertext minus the number over t, on the torus from -1/2 to 1/2.
fn error(bits: &[u64], lwe: &[u64], number: u64, log2_t: u32) -> f64 {
    let (mask, body) = lwe.split_at(bits.len());
    let phase = mask
        .iter()
        .zip(bits)
        .fold(body[0], |p, (a, z)| p.wrapping_sub(a.wrapping_mul(*z)));
    phase.wrapping_sub(number << (64 - log2_t)) as i64 as f64 / 2f64.powi(64)
}

#[test]
fn bridge_keys_are_as_hard_as_the_sets() {
    let mut count = 0;
    for set in sets::ALL {
        let params = Params::new(set).unwrap();
        let card = params.card();
        let mut lines = card.published.iter();
        let Some(line) = lines.find(|line| line.what.starts_with("bridge key")) else {
            continue;
        };
        println!("{}: {} {:?}", set.name.as_str(), line.what, line.estimate);
        if set.security_bits_claimed.is_some() {
            let estimate = line.estimate.unwrap();
            assert!(estimate.bits.min(estimate.with_rotations) >= 128.0);
            assert_eq!(line.dimension, 2048);
            count += 1;
        }
    }
    assert_eq!(count, 6);
}

/// Makes a key whose secrets, except the BGV key, count as undefined memory: for valgrind, see `homaes_math::memcheck`.
/// The BGV key takes the same arithmetic.
#[test]
#[ignore = "run by secrets_under_memcheck"]
fn secrets() {
    let params = Params::new(&sets::TOY_255).unwrap();
    let mut rng = ChaCha20Rng::from_seed([10; 32]);
    let secret = SecretKey::generate(&params, &mut rng).unwrap();
    let mut bits = [1, 0, 0, 1, 1, 1, 0, 1];
    poison(&mut bits);
    let mut rng = Poisoned(rng);
    BridgeKey::generate(&secret, &bits, target(), &mut rng).unwrap();
}

/// `CARGO_PROFILE_RELEASE_DEBUG=line-tables-only cargo test --release under_memcheck -- --ignored`; needs valgrind.
#[test]
#[ignore = "needs valgrind"]
fn secrets_under_memcheck() {
    let Some(found) = findings("tests::secrets") else {
        println!("skipped: valgrind is not installed");
        return;
    };
    let none: [&str; 0] = [];
    assert_eq!(found, none);
}

#[test]
fn a_bridge_key_is_a_file() {
    let w = world(&sets::TOY_255, 9);
    let header = w.bridge.header().unwrap();
    let mut writer = Writer::new(Vec::new(), header).unwrap();
    homaes_scheme::file::write(&w.bridge, &mut writer).unwrap();
    let file = writer.finish().unwrap();
    assert_eq!(file.len() as u64, w.bridge.file_bytes());
    let open = || Reader::from_slice(&file, Kind::BridgeKey).unwrap();
    assert_eq!(
        BridgeKey::describe_file(&w.params, open()).unwrap(),
        target()
    );
    let read = BridgeKey::read(&w.params, open()).unwrap();
    assert_eq!(read.target(), &target());
    assert_eq!(read.key_id(), w.secret.id());
    for (a, b) in read
        .pairs
        .iter()
        .flatten()
        .zip(w.bridge.pairs.iter().flatten())
    {
        assert!(a[..] == b[..]);
    }
    let other = Params::new(&sets::TOY_4369).unwrap();
    let refused = BridgeKey::read(&other, open()).unwrap_err();
    assert!(refused.to_string().contains("bgv/toy-255"), "{refused}");
    for at in (0..file.len()).step_by(7) {
        let mut file = file.clone();
        file[at] ^= 1;
        let read = Reader::from_slice(&file, Kind::BridgeKey);
        assert!(
            read.is_err() || BridgeKey::read(&w.params, read.unwrap()).is_err(),
            "{at}"
        );
    }
}

/// Reads every bit of every slot over 2, and every pair over 32.
fn across(set: &ParamSet, seed: u8) {
    let w = &mut world(set, seed);
    let eval = Evaluator::new(&w.eval);
    let mut bytes = vec![0; w.params.slots().count()];
    w.rng.fill_bytes(&mut bytes);
    let mut x = w.secret.encrypt(&bytes, &mut w.rng).unwrap();
    while x.level() > LIFT_LEVEL {
        x = eval.mod_switch(&x).unwrap();
    }
    for numbers in [Numbers::Bits, Numbers::Pairs] {
        let log2_t = numbers.log2_t();
        let start = Instant::now();
        let crossing = SlotsToLwe::new(&w.bridge, numbers);
        println!("t = 2^{log2_t}: prepared in {:?}", start.elapsed());
        let start = Instant::now();
        let lifted = match numbers {
            Numbers::Bits => eval.bit_planes(&x).unwrap(),
            Numbers::Pairs => eval.bit_pairs(&x).unwrap(),
        };
        println!("lifted in {:?}", start.elapsed());
        let start = Instant::now();
        let switched: Vec<_> = lifted
            .iter()
            .map(|c| crossing.switched(&eval, c).unwrap())
            .collect();
        println!("switched in {:?}", start.elapsed());
        let mut reading = Duration::ZERO;
        let mut scratch = crossing.scratch();
        let slots: Vec<usize> = (0..bytes.len()).collect();
        let mut words = vec![0; bytes.len() * crossing.words()];
        let (mut sum, mut largest) = (0.0, 0.0f64);
        let width = 8 / lifted.len();
        for (i, c) in switched.iter().enumerate() {
            let mut lwes: Vec<&mut [u64]> = words.chunks_exact_mut(crossing.words()).collect();
            let start = Instant::now();
            crossing.read(c, &slots, &mut scratch, &mut lwes);
            reading += start.elapsed();
            for (slot, (byte, lwe)) in bytes.iter().zip(&lwes).enumerate() {
                let number = u64::from(byte >> (i * width)) & ((1 << width) - 1);
                let error = error(&w.bits, lwe, number, log2_t);
                assert!(
                    error.abs() < 0.5 / f64::from(1u32 << log2_t),
                    "slot {slot}, number {i}"
                );
                sum += error * error;
                largest = largest.max(error.abs());
            }
        }
        let count = switched.len() * bytes.len();
        println!("{count} read in {reading:?}");
        let found = 0.5 * (sum / count as f64).log2();
        let noise = crossing.noise(&lifted[0]).unwrap();
        println!(
            "noise 2^{found:.2}, largest {:.1} times as much; derived {noise:?}",
            largest / found.exp2()
        );
        // a key has its own errors, and toy keys have few
        let slack = 0.2 + 10.0 / (w.params.ring().m() as f64).sqrt();
        assert!((found - noise.log2_sigma).abs() < slack);
        assert!(noise.failure_log2 < -64.0);
        no_outlier(&crossing, &w.secret, 1, largest);
    }
}

/// The bound must allow the largest noise of all readings at least once in a million batches.
fn no_outlier(crossing: &SlotsToLwe<'_>, secret: &SecretKey, ciphertexts: usize, largest: f64) {
    let allowed = fit::exceeded_log2(crossing, secret, ciphertexts, largest.log2());
    assert!(
        allowed > -20.0,
        "2^{:.2} is exceeded once in 2^{:.0} batches",
        largest.log2(),
        -allowed
    );
}

/// How well keys of every bridge set fit, and how long the check takes.
#[test]
#[ignore = "ten minutes; run with --ignored --nocapture"]
fn keys_are_fit_at_full_size() {
    for set in [
        &sets::BRIDGE128,
        &sets::AES128_8,
        &sets::AES192_5,
        &sets::AES256_2,
    ] {
        let params = Params::new(set).unwrap();
        for seed in 50..66 {
            let mut rng = ChaCha20Rng::from_seed([seed; 32]);
            let secret = SecretKey::generate(&params, &mut rng).unwrap();
            let bits: Vec<u64> = (0..params.ring().n() / 16)
                .map(|_| rng.next_u64() & 1)
                .collect();
            let start = Instant::now();
            let bridge = BridgeKey::unchecked(&secret, &bits, target(), &mut rng).unwrap();
            let fits = bridge.check_secret(&secret).is_ok();
            print!("{} {:?}, fits {fits}:", set.name.as_str(), start.elapsed());
            for numbers in [Numbers::Bits, Numbers::Pairs] {
                let crossing = SlotsToLwe::new(&bridge, numbers);
                let limit = crossing.limit_log2();
                let exceeded = |limit| fit::exceeded_log2(&crossing, &secret, noise::BATCH, limit);
                let (found, used) = (exceeded(limit), exceeded(limit - 1.33));
                print!(
                    " 2^{found:.1} at 2^{limit}, 2^{used:.1} at 2^{:.2};",
                    limit - 1.33
                );
                assert!(found < noise::KEY_LOG2);
                assert!(!fits || used < noise::USE_LOG2);
            }
            println!();
        }
    }
}

#[test]
fn every_bit_of_every_slot_comes_across() {
    across(&sets::TOY_255, 3);
    across(&sets::TOY_4369, 4);
    // another prime for the ring switch
    let set = ParamSet {
        chain: sets::AES256_2.chain,
        ..sets::TOY_255
    };
    across(&set, 5);
}

#[test]
#[ignore = "nightly: half a minute"]
fn nightly_every_bit_of_every_slot_comes_across_at_full_size() {
    across(&sets::AES192, 5);
}

#[test]
#[ignore = "nightly: the command's test of a bridge always runs"]
fn nightly_a_result_of_aes_becomes_a_state_of_tfhe() {
    becomes_a_state(&homaes_tfhe::sets::TOY);
}

#[test]
#[ignore = "nightly: as the test above, with another key"]
fn nightly_a_result_of_aes_becomes_a_state_under_a_key_in_blocks() {
    becomes_a_state(&homaes_tfhe::sets::TOY_BLOCKS);
}

fn becomes_a_state(of: &homaes_tfhe::ParamSet) {
    // a shorter chain
    let set = ParamSet {
        chain: sets::AES192.chain,
        ..sets::TOY_4369
    };
    let params = Params::new(&set).unwrap();
    let mut rng = ChaCha20Rng::from_seed([6; 32]);
    let secret = SecretKey::generate(&params, &mut rng).unwrap();
    let eval = EvalKey::generate(&secret, &mut rng);
    let other = homaes_tfhe::Params::new(of).unwrap();
    let own = homaes_tfhe::SecretKey::generate(&other, &mut rng).unwrap();
    let own_eval = homaes_tfhe::EvalKey::generate(&own, &mut rng);
    let bridge = BridgeKey::to_tfhe(&secret, &own, &mut rng).unwrap();
    let (keys, wrapped) = wrapped(&secret, &mut rng);
    let aes = Aes::new(&eval, &wrapped, Layout::Sliced).unwrap();
    let blocks: Vec<[u8; 16]> = (0..40).map(|i| [i; 16]).collect();
    let state = aes.evaluate(&blocks).unwrap();
    let crossing = SlotsToLwe::new(&bridge, Numbers::Bits);
    let crossed = crossing.cross(aes.evaluator(), &state).unwrap();
    println!("{:?}", crossed.noise());
    let state = crossing.state(&crossed, 3..10, &other).unwrap();
    let found = own.decrypt_blocks(&state).unwrap();
    let want: Vec<[u8; 16]> = blocks[3..10]
        .iter()
        .map(|&b| encrypt_block(b, &keys))
        .collect();
    assert_eq!(found.blocks[..], want);
    // look-ups work on it
    let table: [u8; 256] = core::array::from_fn(|x| (x * x / 5) as u8);
    let looked_up = own_eval.look_up(&state, &table).unwrap();
    let found = own.decrypt_blocks(&looked_up).unwrap();
    let want = want
        .iter()
        .map(|block| block.map(|x| table[usize::from(x)]));
    assert!(found.blocks.iter().copied().eq(want));
    let measured = own.measure_noise(&state).unwrap();
    assert!((measured - state.noise_bits()).abs() < 1.0);
    // another key at the end, and another t
    let stranger = homaes_tfhe::SecretKey::generate(&other, &mut rng).unwrap();
    let refused = stranger.decrypt_blocks(&state).unwrap_err();
    assert!(refused.to_string().contains("under key"), "{refused}");
    let p64 = homaes_tfhe::Params::new(&homaes_tfhe::sets::P64).unwrap();
    let refused = crossing.state(&crossed, 0..1, &p64).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "the bridge key leads to a key of set {}, expected a key of set tfhe/p64",
            of.name
        )
    );
    let pairs = SlotsToLwe::new(&bridge, Numbers::Pairs);
    let crossed = pairs.cross(aes.evaluator(), &aes.evaluate(&blocks).unwrap());
    let refused = pairs.state(&crossed.unwrap(), 0..1, &other).unwrap_err();
    assert_eq!(refused.to_string(), "numbers modulo 2^5, expected 2^1");
}

/// Crosses a whole batch as states of TFHE and checks every bit and the noise.
fn a_batch_as_bits(set: &ParamSet, key_bytes: usize) {
    let params = Params::new(set).unwrap();
    let mut rng = ChaCha20Rng::from_seed([15; 32]);
    let secret = SecretKey::generate(&params, &mut rng).unwrap();
    let eval = EvalKey::generate(&secret, &mut rng);
    let other = homaes_tfhe::Params::new(&homaes_tfhe::sets::P64).unwrap();
    let own = homaes_tfhe::SecretKey::generate(&other, &mut rng).unwrap();
    let bridge = BridgeKey::to_tfhe(&secret, &own, &mut rng).unwrap();
    let keys = RoundKeys::expand(&vec![0x6c; key_bytes]).unwrap();
    let wrapping = WrapOptions {
        levels_left: Some(1),
        ..WrapOptions::default()
    };
    let wrapped = WrappedKey::encrypt(&secret, &keys, wrapping, &mut rng).unwrap();
    let aes = Aes::new(&eval, &wrapped, Layout::Sliced).unwrap();
    let blocks: Vec<[u8; 16]> = (0..params.blocks_per_batch(Layout::Sliced))
        .map(|i| (i as u128).to_be_bytes())
        .collect();
    let state = aes.evaluate(&blocks).unwrap();
    let crossing = SlotsToLwe::new(&bridge, Numbers::Bits);
    let crossed = crossing.cross(aes.evaluator(), &state).unwrap();
    let noise = crossed.noise();
    let (mut sum, mut largest) = (0.0, f64::NEG_INFINITY);
    let each = other.blocks_per_batch();
    for start in (0..blocks.len()).step_by(each) {
        let state = crossing
            .state(&crossed, start..start + each, &other)
            .unwrap();
        let found = own.decrypt_blocks(&state).unwrap();
        let want = blocks[start..start + each]
            .iter()
            .map(|&b| encrypt_block(b, &keys));
        assert!(found.blocks.iter().copied().eq(want), "from block {start}");
        sum += (2.0 * own.measure_noise(&state).unwrap()).exp2();
        // a bit is read wrongly at 1/4 of the torus
        largest = f64::max(largest, -2.0 - found.margin_bits);
    }
    let found = 0.5 * (sum / (blocks.len() / each) as f64).log2() - 64.0;
    println!(
        "{}: {} bits: noise 2^{found:.2}, the largest 2^{largest:.2}; derived {noise:?}",
        set.name.as_str(),
        128 * blocks.len(),
    );
    assert!((found - noise.log2_sigma).abs() < 0.3);
    assert!(noise.failure_log2 <= -64.0);
    // 262,144 normal variables exceed seven standard deviations with probability 2^-20
    assert!(largest < found + 7f64.log2());
}

#[test]
#[ignore = "nightly: a minute and 3 GiB"]
fn nightly_a_batch_comes_across_as_bits_at_full_size() {
    a_batch_as_bits(&sets::BRIDGE128, 16);
}

#[test]
#[ignore = "nightly: two minutes and 5 GiB"]
fn nightly_a_batch_of_aes_256_comes_across_as_bits_at_full_size() {
    a_batch_as_bits(&sets::AES256_2, 32);
}

/// Random bytes and circuit results in every slot cross as bits and as pairs.
#[test]
fn results_of_circuits_come_across() {
    let w = &mut world(&sets::TOY_4369, 12);
    let eval = Evaluator::new(&w.eval);
    let circuit = &eval;
    let count = w.params.slots().count();
    let [a, b] = [(); 2].map(|()| {
        let mut bytes = vec![0; count];
        w.rng.fill_bytes(&mut bytes);
        bytes
    });
    let [x, y] = [&a, &b].map(|bytes| w.secret.encrypt(bytes, &mut w.rng).unwrap());
    let product = circuit.multiply(&x, &y).unwrap();
    let sum = circuit.add_public(&circuit.add(&product, &x).unwrap(), &b);
    let results = [product, sum.unwrap()];
    let products: Vec<u8> = a.iter().zip(&b).map(|(&a, &b)| gf256::mul(a, b)).collect();
    let sums = products.iter().zip(&a).zip(&b).map(|((p, a), b)| p ^ a ^ b);
    let want: Vec<u8> = products.iter().copied().chain(sums).collect();
    for numbers in [Numbers::Bits, Numbers::Pairs] {
        let crossing = SlotsToLwe::new(&w.bridge, numbers);
        let crossed = crossing.cross_slots(&eval, &results).unwrap();
        assert_eq!(crossed.bytes(), want.len());
        let (each, width) = (numbers.count(), 8 / numbers.count());
        // starts within the first ciphertext and runs into the second
        let lwes = crossing.lwes(&crossed, 5..want.len()).unwrap();
        let mut lwes = lwes.chunks_exact(crossing.words());
        for byte in &want[5..] {
            for number in 0..each {
                let expected = u64::from(byte >> (number * width)) & ((1 << width) - 1);
                let error = error(&w.bits, lwes.next().unwrap(), expected, numbers.log2_t());
                assert!(error.abs() < 0.5 / f64::from(1u32 << numbers.log2_t()));
            }
        }
        assert!(lwes.next().is_none());
        #[allow(clippy::reversed_empty_ranges, reason = "callers can make them")]
        for bytes in [0..want.len() + 1, 7..6, usize::MAX..usize::MAX] {
            let refused = crossing.lwes(&crossed, bytes).err().unwrap();
            assert!(
                refused.to_string().contains("end of the bytes"),
                "{refused}"
            );
        }
        // another t, another key at the end
        let others = [Numbers::Bits, Numbers::Pairs].into_iter();
        for other in others.filter(|other| *other != numbers) {
            let refused = SlotsToLwe::new(&w.bridge, other).lwes(&crossed, 0..1).err();
            assert!(refused.unwrap().to_string().starts_with("numbers modulo"));
        }
        let to_another = Target {
            id: KeyId([8; 16]),
            ..target()
        };
        let another = BridgeKey::generate(&w.secret, &w.bits, to_another, &mut w.rng).unwrap();
        let refused = SlotsToLwe::new(&another, numbers)
            .lwes(&crossed, 0..1)
            .err();
        let refused = refused.unwrap().to_string();
        assert!(
            refused.starts_with("the crossed state was made under key"),
            "{refused}"
        );
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let w = &mut world(&sets::TOY_255, 7);
    let eval = Evaluator::new(&w.eval);
    let x = w.secret.encrypt(&[1], &mut w.rng).unwrap();
    let crossing = SlotsToLwe::new(&w.bridge, Numbers::Bits);
    let other = world(&sets::TOY_255, 8);
    let theirs = SlotsToLwe::new(&other.bridge, Numbers::Bits);
    let refused = theirs
        .cross_slots(&eval, std::slice::from_ref(&x))
        .err()
        .unwrap();
    assert!(
        refused
            .to_string()
            .starts_with("the bridge key was made under key"),
        "{refused}"
    );
    let stranger = other.secret.encrypt(&[1], &mut w.rng).unwrap();
    let many = vec![x.clone(); 65];
    let refused = crossing.cross_slots(&eval, &many).err().unwrap();
    assert!(
        refused
            .to_string()
            .ends_with("convert fewer ciphertexts at once"),
        "{refused}"
    );
    assert!(crossing.cross_slots(&eval, &many[1..]).is_ok());
    let refused = crossing.cross_slots(&eval, &[stranger]).err().unwrap();
    assert!(
        refused
            .to_string()
            .starts_with("the ciphertext was made under key")
    );
    let refused = BridgeKey::generate(&w.secret, &[1; 9], target(), &mut w.rng).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "bridge from set bgv/toy-255: the TFHE key has 9 bits, expected 8"
    );
    let pairs = SlotsToLwe::new(&w.bridge, Numbers::Pairs);
    let bits = eval.bit_planes(&x).unwrap();
    let refused = pairs.switched(&eval, &bits[0]).err().unwrap();
    assert_eq!(refused.to_string(), "numbers modulo 2^1, expected 2^5");
}
