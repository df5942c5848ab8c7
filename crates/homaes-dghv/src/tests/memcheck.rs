//! Valgrind looks for branches and addresses that depend on secrets; see `homaes_math::memcheck`.

use super::*;
use homaes_math::memcheck::{Poisoned, findings, poison};
use homaes_math::sample::Seed;
use homaes_scheme::Records;
use homaes_scheme::read::{put_words, take_words};
use homaes_wire::KeyId;
use zeroize::Zeroizing;

/// Keys, wrapping, encryption and decryption, with all secrets undefined.
#[test]
#[ignore = "run by secrets_under_memcheck"]
fn secrets() {
    let params = Params::new(&sets::MICRO).unwrap();
    let drawn = SecretKey::generate(&params, &mut rng(1)).unwrap();
    let (mut primes, mut q0) = drawn.parts();
    primes.iter_mut().for_each(poison_words);
    poison_words(&mut q0);
    let secret = SecretKey::from_parts(&params, KeyId([1; 16]), &primes, q0).unwrap();
    let file = EvalKeyFile::of_seed(&secret, Seed::default());
    for number in 0..file.header().unwrap().records() {
        core::hint::black_box(file.record(number).unwrap());
    }
    let mut rng = Poisoned(rng(2));
    let mut key = [7u8; 16];
    poison(&mut key);
    let keys = RoundKeys::expand(&key).unwrap();
    for direction in Direction::ALL {
        let file = WrappedKeyFile::generate(&secret, &keys, direction, 0, &mut rng).unwrap();
        core::hint::black_box(file.record(201).unwrap());
    }
    let mut bytes = [0u8; 3];
    poison(&mut bytes);
    let bits = bytes.map(|b| b & 1 == 1);
    let public = PublicKey::generate(&secret, &mut rng).unwrap();
    core::hint::black_box(public.encrypt(&bits, &mut rng).unwrap());
    let c = secret.encrypt(&bits, &mut rng).unwrap();
    core::hint::black_box(secret.decrypt(&c).unwrap());
}

fn poison_words(words: &mut Zeroizing<Vec<u64>>) {
    let mut bytes = put_words(words);
    poison(&mut bytes);
    words.copy_from_slice(&take_words(&bytes));
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
        // decryption reveals whether it failed
        "homaes-dghv/src/ciphertext.rs: match margin_bits < 1.0 {",
        // reading a file reveals whether the primes are odd and distinct, and their number of bits
        "homaes-dghv/src/crt.rs: prime.set_cofactor(cofactor).ok_or(number)?;",
        "homaes-dghv/src/prime.rs: let inverse: Option<FixedMontyForm<SQUARE_WORDS>> = form.invert().into();",
        "homaes-dghv/src/prime.rs: let odd = Option::from(Odd::new(narrow(&p)))?;",
        "homaes-dghv/src/prime.rs: let odd_square = Option::from(Odd::new(wide(&square)))?;",
        "homaes-dghv/src/prime.rs: let square_params = FixedMontyParams::new(odd_square);",
        "homaes-dghv/src/prime.rs: params: FixedMontyParams::new(odd),",
    ];
    assert_eq!(found, told);
}
