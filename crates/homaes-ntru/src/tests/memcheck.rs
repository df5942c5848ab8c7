//! Valgrind looks for branches and addresses that depend on secrets; see `homaes_math::memcheck`.

use super::*;
use homaes_math::memcheck::{Poisoned, findings, poison};
use homaes_math::sample;
use homaes_wire::KeyId;

/// Keys, wrapping, encryption and decryption, with all secrets undefined.
#[test]
#[ignore = "run by secrets_under_memcheck"]
fn secrets() {
    undefined::<Rns>(&sets::TOY_255);
    undefined::<Rns>(&sets::TOY_RNS);
    undefined::<PrimePower>(&sets::TOY_PAPER);
}

fn undefined<A: Arithmetic>(set: &sets::ParamSet) {
    let params = Params::<A>::new(set).unwrap();
    let n = params.ring().n();
    let mut rng = Poisoned(ChaCha20Rng::from_seed([1; 32]));
    let [mut f_prime, mut g] = [(); 2].map(|()| vec![0; n]);
    sample::binomial(&mut rng, &mut f_prime);
    sample::binomial(&mut rng, &mut g);
    let secret = SecretKey::from_coefficients(&params, KeyId([1; 16]), &f_prime, &g).unwrap();
    let file = EvalKeyFile::of_seed(&secret, Seed::default());
    core::hint::black_box(file.record(1).unwrap());
    let mut key = [7u8; 16];
    poison(&mut key);
    let keys = RoundKeys::expand(&key).unwrap();
    for direction in Direction::ALL {
        let file = WrappedKeyFile::generate(&secret, &keys, direction, 0, &mut rng).unwrap();
        core::hint::black_box(file.record(201).unwrap());
    }
    let mut bytes = [0u8; 16];
    poison(&mut bytes);
    let bits = bytes.map(|b| b & 1 == 1);
    let c = secret.encrypt(&bits, &mut rng).unwrap();
    core::hint::black_box(secret.decrypt(&c).unwrap());
}

/// Needs valgrind. Run with
/// `CARGO_PROFILE_RELEASE_DEBUG=line-tables-only cargo test --release under_memcheck -- --ignored --nocapture`.
#[test]
#[ignore = "needs valgrind"]
fn secrets_under_memcheck() {
    let Some(found) = findings("tests::memcheck::secrets") else {
        println!("skipped: valgrind is not installed");
        return;
    };
    let told = [
        // decryption reveals whether all slots are bits
        "homaes-ntru/src/ciphertext.rs: if bytes.iter().fold(0, |all, &byte| all | byte) > 1 {",
        // key generation reveals whether a secret is invertible
        "homaes-ntru/src/rns.rs: if product == 0 {",
        // the evaluation key is public
        "homaes-wire/src/bits.rs: assert!(seen >> bits == 0, \"a value does not fit in {bits} bits\");",
    ];
    assert_eq!(found, told);
}
