//! The scheme at small sets.

mod memcheck;
mod reference;
mod vectors;

use crate::*;
use homaes_aes::{BitEval, Direction, KeySize, RoundKeys};
use homaes_scheme::bits::{BitSecret, SboxDepth, decode_batch, encode_batch};
use homaes_scheme::{Cancel, Records, RunOptions, SetName};
use homaes_wire::{Kind, Reader, Writer};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::sync::Arc;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn bits_of(x: u64, slots: usize) -> Vec<bool> {
    (0..slots).map(|i| x >> (i % 64) & 1 == 1).collect()
}

fn found(d: &Decrypted) -> Vec<bool> {
    d.bits.iter().map(|&b| b == 1).collect()
}

fn written(file: &impl Records) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), file.header().unwrap()).unwrap();
    homaes_scheme::file::write(file, &mut writer).unwrap();
    writer.finish().unwrap()
}

struct World {
    params: Arc<Params>,
    secret: SecretKey,
    eval: EvalKey,
}

impl World {
    fn new(set: &sets::ParamSet) -> Self {
        let mut rng = rng(2);
        let params = Params::new(set).unwrap();
        let secret = SecretKey::generate(&params, &mut rng).unwrap();
        let eval = EvalKey::generate(&secret, &mut rng).unwrap();
        Self {
            params,
            secret,
            eval,
        }
    }

    fn shows(&self, c: &Ciphertext, bits: &[bool]) {
        assert_eq!(found(&self.secret.decrypt(c).unwrap()), bits);
    }

    fn wrap(&self, keys: &RoundKeys, direction: Direction) -> WrappedKey {
        let file = WrappedKeyFile::generate(&self.secret, keys, direction, 0, &mut rng(3));
        let bytes = written(&file.unwrap());
        let reader = Reader::from_slice(&bytes, Kind::WrappedKey).unwrap();
        WrappedKey::read(&self.params, reader).unwrap()
    }
}

#[test]
fn encryption_and_conversion() {
    for set in [&sets::SINGLE, &sets::MICRO, &sets::MICRO_PAPER] {
        let w = World::new(set);
        let mut rng = rng(1);
        let [a, b] = [5, 3].map(|x| bits_of(x, set.slots));
        let [x, y] = [&a, &b].map(|bits| w.secret.encrypt(bits, &mut rng).unwrap());
        w.shows(&x, &a);
        for (r, m) in w.secret.measure_noise(&x) {
            assert!(r < set.rho as f64 + 1.0 && m.abs() <= 1.0, "{r} {m}");
        }
        let meter = Meter::default();
        let bits = Bits::new(&w.eval, &meter);
        w.shows(&bits.public(&b), &b);
        let sum = bits.xor(&x, &y);
        let both: Vec<bool> = a.iter().zip(&b).map(|(a, b)| a ^ b).collect();
        w.shows(&sum, &both);
        let product = bits.and(&x, &y).unwrap();
        let and: Vec<bool> = a.iter().zip(&b).map(|(a, b)| a & b).collect();
        assert_eq!(found(&w.secret.decrypt_product(&product).unwrap()), and);
        let mut c = bits.relinearize(product).unwrap();
        w.shows(&c, &and);
        let mut expected = and;
        for _ in 0..8 {
            c = bits.relinearize(bits.and(&c, &sum).unwrap()).unwrap();
            expected.iter_mut().zip(&both).for_each(|(e, b)| *e &= b);
            w.shows(&c, &expected);
            c = bits.xor(&c, &y);
            expected.iter_mut().zip(&b).for_each(|(e, b)| *e ^= b);
        }
    }
}

/// Runs AES on a full batch; checks every round, and the noise against model and bound.
fn aes(set: &sets::ParamSet, size: KeySize, direction: Direction) {
    let w = World::new(set);
    let mut rng = rng(4);
    let mut key = vec![0; size.key_bytes()];
    rng.fill_bytes(&mut key);
    let mut blocks = vec![[0; 16]; set.slots];
    blocks.iter_mut().for_each(|b| rng.fill_bytes(b));
    let keys = RoundKeys::expand(&key).unwrap();
    let wrapped = w.wrap(&keys, direction);
    let traces: Vec<_> = blocks
        .iter()
        .map(|&block| homaes_aes::clear::trace(direction, block, &keys))
        .collect();
    let bound = bound::noise_of_rounds(set, size.rounds(), direction);
    let aes = Aes::new(&w.eval, &wrapped).unwrap();
    let mut observe = |round: usize, state: &State| {
        let noise = w.secret.measure_noise(&state.bits()[0]);
        let most = noise.iter().map(|(r, _)| *r).fold(0.0, f64::max);
        let square = noise.iter().map(|(r, _)| (2.0 * (r - most)).exp2());
        let mean = square.sum::<f64>() / noise.len() as f64;
        let model = state.quality(&w.params).noise_bits;
        let found = most + 0.5 * mean.log2();
        // few samples with long tails
        assert!(found < model + 8.0, "{}", set.name);
        if let Some(bound) = round.checked_sub(1).map(|r| bound[r]) {
            assert!(found < bound + 8.0, "{}: bound {bound}", set.name);
        }
        let found = state.decrypt(&w.secret).unwrap().blocks;
        for (trace, found) in traces.iter().zip(found.iter()) {
            let expected = trace[round];
            let wanted = match round == size.rounds() {
                true => expected,
                false => expected.map(|x| SboxDepth::Four.folding().state(direction, x)),
            };
            assert_eq!(*found, wanted, "{} round {round}", set.name);
        }
    };
    aes.evaluate_with(&blocks, RunOptions::new(&Cancel::new(), &mut observe))
        .unwrap();
}

#[test]
fn a_run_goes_on_from_a_round() {
    let w = World::new(&sets::SINGLE);
    let keys = RoundKeys::expand(&[7; 16]).unwrap();
    let wrapped = w.wrap(&keys, Direction::Decrypt);
    let aes = Aes::new(&w.eval, &wrapped).unwrap();
    let (block, mut saved) = ([9; 16], None);
    let mut observe = |round: usize, state: &State| {
        if round == 6 {
            let level = state.bits()[0].level();
            saved = Some((level, encode_batch(&w.eval, state).unwrap()));
        }
    };
    let run = RunOptions::new(&Cancel::new(), &mut observe);
    aes.evaluate_with(&[block], run).unwrap();
    let (level, saved) = saved.unwrap();
    let state = || decode_batch(&*w.params, Some(w.secret.id()), level, &saved).unwrap();
    for round in [5, 7, 11] {
        let wrong = aes.evaluate_from(round, state(), RunOptions::default());
        assert!(wrong.is_err(), "{round}");
    }
    let rest = aes
        .evaluate_from(6, state(), RunOptions::default())
        .unwrap();
    let expected = homaes_aes::clear::trace(Direction::Decrypt, block, &keys)[10];
    assert_eq!(rest.decrypt(&w.secret).unwrap().blocks[0], expected);
}

#[test]
#[ignore = "nightly: the conformance suite of homaes always runs"]
fn nightly_aes_at_micro() {
    for direction in Direction::ALL {
        aes(&sets::MICRO, KeySize::Aes256, direction);
        aes(&sets::MICRO_PAPER, KeySize::Aes192, direction);
        aes(&sets::SINGLE, KeySize::Aes128, direction);
    }
}

#[test]
#[ignore = "nightly: a minute"]
fn nightly_aes_at_toy() {
    aes(&sets::TOY, KeySize::Aes128, Direction::Encrypt);
    aes(&sets::TOY, KeySize::Aes256, Direction::Decrypt);
    aes(&sets::TOY_PAPER, KeySize::Aes128, Direction::Encrypt);
}

#[test]
#[ignore = "nightly: a minute"]
fn nightly_aes_at_small() {
    aes(&sets::SMALL, KeySize::Aes128, Direction::Encrypt);
}

#[test]
#[ignore = "minutes"]
fn aes_at_medium() {
    aes(&sets::MEDIUM, KeySize::Aes128, Direction::Encrypt);
}

#[test]
fn public_key_encryption() {
    for set in [&sets::MICRO, &sets::SINGLE] {
        let w = World::new(set);
        let mut rng = rng(9);
        let public = PublicKey::generate(&w.secret, &mut rng).unwrap();
        assert!(w.params.zeros() * w.params.factor_bits() >= set.gamma);
        let meter = Meter::default();
        let bits = Bits::new(&w.eval, &meter);
        for x in 0..8 {
            let message = bits_of(x, set.slots);
            let c = public.encrypt(&message, &mut rng).unwrap();
            w.shows(&c, &message);
            for (r, m) in w.secret.measure_noise(&c) {
                assert!(r < c.noise().r_log2 + 3.0 && m.abs() <= 1.0, "{r} {m}");
            }
            let product = bits.relinearize(bits.and(&c, &c).unwrap()).unwrap();
            w.shows(&product, &message);
        }
    }
}

#[test]
fn laws_of_bits() {
    let w = World::new(&sets::MICRO);
    let meter = Meter::default();
    let bits = Bits::new(&w.eval, &meter);
    let mut rng = rng(8);
    let encrypt = |v: &[bool]| w.secret.encrypt(v, &mut rng).unwrap();
    let decrypt = |bit: &Ciphertext| found(&w.secret.decrypt(bit).unwrap());
    homaes_aes::laws::bits(&bits, encrypt, decrypt).unwrap();
}

/// Long sums stay right: numbers are reduced before they outgrow their words.
#[test]
fn sums_do_not_overflow() {
    let w = World::new(&sets::MICRO);
    let (mut rng, meter) = (rng(10), Meter::default());
    let bits = Bits::new(&w.eval, &meter);
    let one = w.secret.encrypt(&[true, false, true], &mut rng).unwrap();
    let mut sum = w.secret.encrypt(&[true, true, false], &mut rng).unwrap();
    let mut products = bits.and(&sum, &one).unwrap();
    // 2^150 times itself is 0
    for _ in 0..150 {
        let same = sum.clone();
        bits.xor_assign(&mut sum, &same);
        let same = products.clone();
        products = bits.xor_product(products, &same);
    }
    bits.xor_assign(&mut sum, &one);
    w.shows(&sum, &[true, false, true]);
    let product = bits.relinearize(products).unwrap();
    w.shows(&product, &[false; 3]);
    let own = bits.relinearize(bits.and(&one, &one).unwrap()).unwrap();
    w.shows(&own, &[true, false, true]);
}

/// The errors of an evaluation key depend on the set.
#[test]
fn errors_of_keys_have_names() {
    let renamed = sets::ParamSet {
        name: SetName::from_static("dghv/other"),
        ..sets::MICRO.clone()
    };
    // the same secret key, drawn from the same seed
    let keys = [&sets::MICRO, &renamed].map(|set| {
        let params = Params::new(set).unwrap();
        SecretKey::generate(&params, &mut rng(1)).unwrap()
    });
    assert!(keys[0].packed() == keys[1].packed());
    let files = [0, 1].map(|i| EvalKeyFile::of_seed(&keys[i], [7; 32]));
    assert!((1..4).all(|number| files[0].part(number) != files[1].part(number)));
}

/// Keys stay in their files. If one changes, is cut or replaced while in use, the run fails with an error that names
/// it.
#[test]
fn keys_that_change_in_use_are_noticed() {
    let w = World::new(&sets::MICRO);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("eval.hek");
    let [bytes, other] = [1, 2].map(|x| written(&EvalKeyFile::of_seed(&w.secret, [x; 32])));
    let mut rng = rng(11);
    let x = w.secret.encrypt(&[true, true, false], &mut rng).unwrap();
    let keys = RoundKeys::expand(&[7; 16]).unwrap();
    let wrapped = w.wrap(&keys, Direction::Encrypt);
    let run = |key: &EvalKey| {
        let aes = Aes::new(key, &wrapped).unwrap();
        aes.evaluate_with(&[[9; 16]; 3], RunOptions::default())
    };
    let half = bytes.len() / 2;
    let flipped = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        bytes
    };
    // bits flipped in a unit vector's correction, in rows, and in the last block; cut; replaced by another key
    let changed = [
        flipped(2000),
        flipped(half),
        flipped(bytes.len() - 100),
        bytes[..half].to_vec(),
        other,
    ];
    let open = || {
        std::fs::write(&path, &bytes).unwrap();
        let reader = Reader::open(&path, Kind::EvalKey).unwrap();
        EvalKey::open(&w.params, reader).unwrap()
    };
    assert!(run(&open()).is_ok());
    for changed in changed {
        let key = open();
        let meter = Meter::default();
        let bits = Bits::new(&key, &meter);
        let product = bits.relinearize(bits.and(&x, &x).unwrap()).unwrap();
        w.shows(&product, &[true, true, false]);
        std::fs::write(&path, &changed).unwrap();
        let error = run(&key).unwrap_err().to_string();
        assert!(error.contains("eval.hek"), "{error}");
    }
}

#[test]
fn primes_that_are_not_different_are_named() {
    let World { params, secret, .. } = World::new(&sets::MICRO);
    let (mut primes, q0) = secret.parts();
    primes[2] = primes[0].clone();
    let key = SecretKey::from_parts(&params, secret.id(), &primes, q0);
    let error = key.unwrap_err().to_string();
    assert!(
        error.ends_with("is not coprime to another prime"),
        "{error}"
    );
}
