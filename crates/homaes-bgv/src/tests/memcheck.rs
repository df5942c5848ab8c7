//! Looks for secret-dependent branches and addresses with valgrind; see `homaes_math::memcheck`.

use super::*;
use crate::aes::wrapped::{WrapOptions, WrappedKey};
use crate::circuit::integers::bound::IntegerBound;
use homaes_math::memcheck::{Poisoned, findings, poison};
use homaes_math::sample;
use homaes_wire::KeyId;

/// Key generation without its quality test, wrapping, encryption and decryption, with every secret undefined.
#[test]
#[ignore = "run by secrets_under_memcheck"]
fn secrets() {
    let params = Params::new(&sets::TOY_255).unwrap();
    let mut rng = Poisoned(ChaCha20Rng::from_seed([1; 32]));
    let mut coefficients = vec![0; params.ring().n()];
    sample::fixed_weight(&mut rng, params.set().weight, &mut coefficients);
    let secret = SecretKey::from_coefficients(&params, KeyId([1; 16]), coefficients);
    let _ = EvalKey::generate(&secret, &mut rng);
    let public = PublicKey::generate(&secret, &mut rng);
    let mut key = [7u8; 16];
    poison(&mut key);
    let keys = RoundKeys::expand(&key).unwrap();
    for direction in Direction::ALL {
        let wrapping = WrapOptions {
            direction,
            layouts: &[Layout::Sliced, Layout::Bits],
            ..WrapOptions::default()
        };
        WrappedKey::encrypt(&secret, &keys, wrapping, &mut rng).unwrap();
    }
    encryption(&params, &secret, &public, &mut rng);
    // in this ring every value has two slots, and decryption checks that they agree
    let params = Params::new(&sets::TOY_4369).unwrap();
    let mut coefficients = vec![0; params.ring().n()];
    sample::fixed_weight(&mut rng, 10, &mut coefficients);
    let secret = SecretKey::from_coefficients(&params, KeyId([2; 16]), coefficients);
    let public = PublicKey::generate(&secret, &mut rng);
    encryption(&params, &secret, &public, &mut rng);
    // in compact form
    WrappedKey::encrypt(&secret, &keys, WrapOptions::default(), &mut rng).unwrap();
}

fn encryption(
    params: &Params,
    secret: &SecretKey,
    public: &PublicKey,
    rng: &mut Poisoned<ChaCha20Rng>,
) {
    let mut bytes = vec![5u8; params.slots().count()];
    poison(&mut bytes);
    let ciphertexts = [
        secret.encrypt(&bytes, rng).unwrap(),
        public.encrypt(&bytes, rng).unwrap(),
    ];
    for c in &ciphertexts {
        core::hint::black_box(secret.decrypt(c).unwrap());
        if params.ring().cols() > 1 {
            // a byte is a pair whose second one is 0
            core::hint::black_box(secret.decrypt_members(c, true).unwrap());
        }
        // bytes are no integers, which ends a decryption after all its arithmetic but the last
        let integers = Integers {
            ciphertext: c.clone(),
            bits: 3,
            factor: 1,
            bound: IntegerBound::new(params, LiftNoise::normal(0.0, 16).moments(), 0.0),
        };
        core::hint::black_box(secret.integers(&integers).is_err());
    }
}

/// Run as `CARGO_PROFILE_RELEASE_DEBUG=line-tables-only cargo test --release under_memcheck -- --ignored --nocapture`.
#[test]
#[ignore = "needs valgrind"]
fn secrets_under_memcheck() {
    let Some(found) = findings("tests::memcheck::secrets") else {
        println!("skipped: valgrind is not installed");
        return;
    };
    let told = [
        // rejected draws are independent of the accepted one
        "homaes-math/src/sample.rs: if x < bound {",
        // decryption reports whether the result encodes bytes
        "homaes-math/src/slots.rs: if mismatch != 0 {",
    ];
    assert_eq!(found, told);
}
