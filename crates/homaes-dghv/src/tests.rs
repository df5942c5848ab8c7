//! The scheme at small sets.

use crate::*;
use homaes_aes::{BitEval, RoundKeys};
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

#[test]
fn encryption_and_conversion() {
    for set in [&sets::SINGLE, &sets::MICRO, &sets::MICRO_PAPER] {
        let mut rng = rng(1);
        let params = Params::new(set).unwrap();
        let secret = SecretKey::generate(&params, &mut rng).unwrap();
        assert!(secret.primes_are_prime());
        let slots = params.slots();
        let a = bits_of(5, slots);
        let b = bits_of(3, slots);
        let x = secret.encrypt(&a, &mut rng).unwrap();
        let y = secret.encrypt(&b, &mut rng).unwrap();
        assert_eq!(found(&secret.decrypt(&x).unwrap()), a);
        for (r, m) in secret.measure_noise(&x) {
            assert!(r < set.rho as f64 + 1.0 && m.abs() <= 1.0, "{r} {m}");
        }
        let key = EvalKey::generate(&secret, &mut rng).unwrap();
        let meter = Meter::default();
        let bits = Bits::new(&key, &meter);
        let p = bits.public(&b);
        assert_eq!(found(&secret.decrypt(&p).unwrap()), b);
        let sum = bits.xor(&x, &y);
        let both: Vec<bool> = a.iter().zip(&b).map(|(a, b)| a ^ b).collect();
        assert_eq!(found(&secret.decrypt(&sum).unwrap()), both);
        let product = bits.and(&x, &y).unwrap();
        let and: Vec<bool> = a.iter().zip(&b).map(|(a, b)| a & b).collect();
        assert_eq!(found(&secret.decrypt_product(&product).unwrap()), and);
        let mut c = bits.relinearize(product).unwrap();
        assert_eq!(found(&secret.decrypt(&c).unwrap()), and);
        let mut expected = and;
        for level in 0..8 {
            let noise = secret.measure_noise(&c);
            println!("{} {level}: {:?}, model {:?}", set.name, noise, c.noise());
            c = bits.relinearize(bits.and(&c, &sum).unwrap()).unwrap();
            expected.iter_mut().zip(&both).for_each(|(e, b)| *e &= b);
            assert_eq!(found(&secret.decrypt(&c).unwrap()), expected);
            c = bits.xor(&c, &y);
            expected.iter_mut().zip(&b).for_each(|(e, b)| *e ^= b);
        }
    }
}

/// AES on a full batch, every round checked; the time it took.
pub(crate) fn aes_round_trip(set: &sets::ParamSet, key_bytes: usize) {
    let mut rng = rng(2);
    let t = std::time::Instant::now();
    let params = Params::new(set).unwrap();
    let secret = SecretKey::generate(&params, &mut rng).unwrap();
    println!("{}: secret key {:?}", set.name, t.elapsed());
    let t = std::time::Instant::now();
    let key = Arc::new(EvalKey::generate(&secret, &mut rng).unwrap());
    println!("{}: evaluation key {:?}", set.name, t.elapsed());
    let mut aes_key = vec![0; key_bytes];
    rng.fill_bytes(&mut aes_key);
    let mut blocks = vec![[0; 16]; params.slots()];
    blocks.iter_mut().for_each(|b| rng.fill_bytes(b));
    let round_keys = RoundKeys::expand(&aes_key).unwrap();
    let t = std::time::Instant::now();
    let wrapped = wrapped_key(&secret, &round_keys, &mut rng);
    println!("{}: wrapped key {:?}", set.name, t.elapsed());
    let aes = Aes::new(&key, &wrapped).unwrap();
    let t = std::time::Instant::now();
    let state = aes
        .evaluate_until(&blocks, &homaes_scheme::Cancel::new(), |round, state| {
            let noise = secret.measure_noise(&state.bits()[0]);
            let most = noise.iter().map(|n| n.0).fold(0.0, f64::max);
            println!(
                "round {round} after {:?}: noise {most:.1}, model {:.1}",
                t.elapsed(),
                state.noise_bits()
            );
        })
        .unwrap();
    println!("{:?}", aes.meter());
    let decrypted = secret.decrypt_blocks(&state).unwrap();
    println!("margin {}", decrypted.margin_bits);
    for (block, found) in blocks.iter().zip(decrypted.blocks.iter()) {
        assert_eq!(
            *found,
            homaes_aes::clear::encrypt_block(*block, &round_keys)
        );
    }
}

fn wrapped_key(secret: &SecretKey, keys: &RoundKeys, rng: &mut ChaCha20Rng) -> WrappedKey {
    let file =
        WrappedKeyFile::generate(secret, keys, homaes_aes::Direction::Encrypt, 0, rng).unwrap();
    let count = 128 * (keys.size().rounds() + 1);
    let bodies = (0..count).map(|i| eval_key::bytes_of_words(&file.element(i)));
    WrappedKey {
        params: secret.params().clone(),
        id: secret.id(),
        size: file.size,
        direction: file.direction,
        start: file.start,
        seed: file.seed,
        bodies: wrapped::Bodies::Memory(bodies.collect()),
    }
}

#[test]
fn aes_at_micro() {
    aes_round_trip(&sets::MICRO, 16);
}

#[test]
#[ignore = "seconds"]
fn aes_at_toy() {
    aes_round_trip(&sets::TOY, 16);
}

#[test]
#[ignore = "half a minute"]
fn aes_at_small() {
    aes_round_trip(&sets::SMALL, 16);
}

#[test]
#[ignore = "minutes"]
fn aes_at_medium() {
    aes_round_trip(&sets::MEDIUM, 16);
}
