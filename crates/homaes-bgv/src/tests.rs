//! Encrypted runs on toy sets: every verb and every AES round against the clear.

use super::*;
use crate::aes::bits::Bits;
use crate::chain::KeyPart;
use homaes_aes::{Block, Bytewise, Direction, Layout, RoundKeys, Sliced, clear, gf256, laws};
use homaes_math::Backend;
use homaes_scheme::{Mismatch, Owner};
use homaes_wire::{Reader, Writer};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::sync::Arc;
use views::BgvBytes;

mod aes;
mod bounds;
mod circuit;
mod device;
mod embeddings;
mod lift;
mod memcheck;
mod reference;
mod vectors;
mod views;

struct Fixture {
    params: Arc<Params>,
    secret: SecretKey,
    eval: EvalKey,
    rng: ChaCha20Rng,
}

fn fixture(params: Arc<Params>, seed: u8) -> Fixture {
    let mut rng = ChaCha20Rng::from_seed([seed; 32]);
    let secret = SecretKey::generate(&params, &mut rng).unwrap();
    let eval = EvalKey::generate(&secret, &mut rng);
    Fixture {
        params,
        secret,
        eval,
        rng,
    }
}

fn toy(seed: u8) -> Fixture {
    fixture(Params::new(&sets::TOY_255).unwrap(), seed)
}

fn random_bytes(rng: &mut impl Rng, n: usize) -> Vec<u8> {
    let mut out = vec![0; n];
    rng.fill_bytes(&mut out);
    out
}

/// Decrypts, compares, and holds the measured noise against the carried bound.
fn check(f: &Fixture, c: &Ciphertext, want: &[u8], what: &str) {
    let (got, margin) = f.secret.decrypt(c).unwrap();
    assert_eq!(got, want, "{what}");
    assert!(margin > 2.0, "{what}: margin {margin}");
    let (rms, largest) = f.secret.measure_noise(c);
    assert!(
        largest <= c.bound_bits(&f.params),
        "{what}: {largest} above {}",
        c.bound_bits(&f.params)
    );
    // the carried mean square is an estimate from both sides
    assert!(
        (rms - c.noise().rms_log2).abs() < 2.0,
        "{what}: {rms} for {:?}",
        c.noise()
    );
}

/// At every level: products and Frobenius maps, with measured noise, whichever part of their keys they read.
#[test]
fn keys_switch_in_one_digit_with_the_noise_that_is_stated() {
    let mut f = fixture(Params::new(&sets::TOY_4369).unwrap(), 4);
    let n = f.params.blocks_per_batch(Layout::Sliced);
    let eval = Evaluator::new(&f.eval);
    let x = random_bytes(&mut f.rng, n);
    let power = |k: u32| -> Vec<u8> { x.iter().map(|&x| gf256::frobenius(x, k)).collect() };
    let fresh = f.secret.encrypt(&x, &mut f.rng).unwrap();
    let mut seen = 0;
    for level in 14..=23 {
        let a = eval.lowered(&fresh, level).unwrap();
        seen += usize::from(KeyPart::ALL[f.params.switching(level).part].one_digit);
        check(&f, &eval.frobenius(&a, 1).unwrap(), &power(1), "Frobenius");
        let product = eval.mul_frobenius(&a, &a, 1).unwrap();
        let cube: Vec<u8> = x
            .iter()
            .zip(power(1))
            .map(|(&a, b)| gf256::mul(a, b))
            .collect();
        check(&f, &eval.relinearize(&product).unwrap(), &cube, "cube");
        if level % 3 != 2 {
            check(
                &f,
                &eval.frobenius(&a, 7).unwrap(),
                &power(7),
                "Frobenius 7",
            );
        }
    }
    // six and seven rounds left
    assert_eq!(seen, 6);
}

#[test]
fn every_verb_agrees_with_the_clear_and_stays_below_its_noise_bound() {
    let mut f = toy(2);
    let n = f.params.blocks_per_batch(Layout::Sliced);
    let eval = Evaluator::new(&f.eval);
    let (x, y) = (random_bytes(&mut f.rng, n), random_bytes(&mut f.rng, n));
    let zip = |a: &[u8], b: &[u8], op: fn(u8, u8) -> u8| -> Vec<u8> {
        a.iter().zip(b).map(|(&a, &b)| op(a, b)).collect()
    };
    let frob =
        |a: &[u8], k: u32| -> Vec<u8> { a.iter().map(|&a| gf256::frobenius(a, k)).collect() };
    let a = f.secret.encrypt(&x, &mut f.rng).unwrap();
    let b = f.secret.encrypt(&y, &mut f.rng).unwrap();
    check(&f, &a, &x, "fresh");
    check(&f, &eval.public(&x).unwrap(), &x, "public");
    check(
        &f,
        &eval.add(&a, &b).unwrap(),
        &zip(&x, &y, |a, b| a ^ b),
        "sum",
    );
    let shifted = eval.add_public(&a, &y).unwrap();
    check(
        &f,
        &shifted,
        &zip(&x, &y, |a, b| a ^ b),
        "sum with public bytes",
    );
    for c in [1, 2, 3, 0x8f, 0xff] {
        let want: Vec<u8> = x.iter().map(|&x| gf256::mul(x, c)).collect();
        check(&f, &eval.multiply_byte(&a, c).unwrap(), &want, "scaled");
    }
    for k in 0..9 {
        check(
            &f,
            &eval.frobenius(&a, k).unwrap(),
            &frob(&x, k as u32),
            "Frobenius",
        );
    }
    for k in 0..4 {
        let p = eval.mul_frobenius(&a, &b, k).unwrap();
        let want = zip(&x, &frob(&y, k as u32), gf256::mul);
        let c = eval.relinearize(&p).unwrap();
        assert_eq!(c.level(), a.level() - 1);
        check(&f, &c, &want, "product");
        let twice = eval.add_product(p.clone(), &p).unwrap();
        check(
            &f,
            &eval.relinearize(&twice).unwrap(),
            &vec![0; n],
            "sum of products",
        );
    }
    assert!(eval.mul_frobenius(&a, &b, 4).is_err());
    // down the whole chain, products at every level, operands at different levels
    let (mut c, mut value) = (a.clone(), x.clone());
    while c.level() > 1 {
        let p = eval.mul(&c, &b).unwrap();
        c = eval.relinearize(&p).unwrap();
        value = zip(&value, &y, gf256::mul);
        check(
            &f,
            &c,
            &value,
            &format!("product down the chain, level {}", c.level()),
        );
    }
    check(
        &f,
        &eval.add(&a, &c).unwrap(),
        &zip(&x, &value, |a, b| a ^ b),
        "sum across levels",
    );
    assert!(eval.mod_switch(&c).is_err());
    let mut product = eval.relinearize(&eval.mul(&c, &c).unwrap());
    for _ in 0..3 {
        let Ok(c) = product else { break };
        product = eval.relinearize(&eval.mul(&c, &c).unwrap());
    }
    assert!(matches!(product, Err(Error::TooNoisy { .. })));
}

#[test]
fn public_key_encryption() {
    let mut f = toy(3);
    let n = f.params.blocks_per_batch(Layout::Sliced);
    let public = PublicKey::generate(&f.secret, &mut f.rng);
    let x = random_bytes(&mut f.rng, n);
    let c = public.encrypt(&x, &mut f.rng).unwrap();
    check(&f, &c, &x, "public-key encryption");
    let eval = Evaluator::new(&f.eval);
    let square = eval.relinearize(&eval.mul(&c, &c).unwrap()).unwrap();
    let want: Vec<u8> = x.iter().map(|&x| gf256::mul(x, x)).collect();
    check(&f, &square, &want, "its square");
    assert!(public.encrypt(&vec![0; n + 1], &mut f.rng).is_err());
}

#[test]
fn another_key_is_noticed() {
    let mut f = fixture(Params::new(&sets::TOY_4369).unwrap(), 4);
    let other = SecretKey::generate(&f.params, &mut f.rng).unwrap();
    let c = f.secret.encrypt(&[1, 2, 3], &mut f.rng).unwrap();
    assert_eq!(f.secret.decrypt(&c).unwrap().0[..4], [1, 2, 3, 0]);
    assert!(matches!(
        other.decrypt(&c),
        Err(Error::Mismatch(Mismatch::OtherKey { .. }))
    ));
    // from a record without its file
    let owner = Owner::new(f.params.id(), None);
    let unknown = Ciphertext { owner, ..c };
    assert!(matches!(other.decrypt(&unknown), Err(Error::NotBytes)));
}

#[test]
fn fips_197_vector_through_the_fused_and_the_generic_circuit() {
    let mut f = toy(5);
    let key: Vec<u8> = (0..16).collect();
    let plain: Block = core::array::from_fn(|i| (0x11 * i) as u8);
    let keys = RoundKeys::expand(&key).unwrap();
    let want = clear::encrypt_block(plain, &keys);
    assert_eq!(want[..4], [0x69, 0xc4, 0xe0, 0xd8]);
    let wrapped =
        WrappedKey::encrypt(&f.secret, &keys, WrapOptions::default(), &mut f.rng).unwrap();
    let aes = Aes::new(&f.eval, &wrapped, Layout::Sliced).unwrap();
    let state = aes.evaluate(&[plain]).unwrap();
    let decrypted = f.secret.decrypt_blocks(&state).unwrap();
    assert_eq!(decrypted.blocks[0], want);
    assert_eq!(format!("{decrypted:?}"), "Decrypted(16 blocks)");

    // two rounds of the generic circuit over the byte view, against the clear interpreter
    let round_keys: Vec<Block> = keys.as_slice()[..3].to_vec();
    let view = BgvBytes(Evaluator::new(&f.eval));
    let generic = Sliced(Bytewise::new(&view));
    let clear = homaes_aes::interp::clear::ClearBytes::new(1);
    let oracle = Sliced(Bytewise::new(&clear));
    let input = core::array::from_fn(|i| f.secret.encrypt(&[plain[i]], &mut f.rng).unwrap());
    for dir in Direction::ALL {
        let wrap: Vec<_> = round_keys.iter().map(|k| generic.public(&[*k])).collect();
        let plain_keys: Vec<_> = round_keys.iter().map(|k| oracle.public(&[*k])).collect();
        let got = homaes_aes::cipher(&generic, dir, input.clone(), &wrap).unwrap();
        let want = homaes_aes::cipher(&oracle, dir, oracle.public(&[plain]), &plain_keys).unwrap();
        let state = State {
            layout: Layout::Sliced,
            ciphertexts: got.to_vec(),
            slope: 0,
            finished: true,
            origin: None,
        };
        let got = f.secret.decrypt_blocks(&state).unwrap().blocks[0];
        assert_eq!(
            got.to_vec(),
            want.iter().map(|b| b[0]).collect::<Vec<u8>>(),
            "{dir:?}"
        );
    }
}

#[test]
fn views_keep_their_laws() {
    let Fixture {
        params,
        secret,
        eval,
        mut rng,
    } = toy(12);
    let slots = params.slots().count();
    let mut encrypt = |v: &[u8]| secret.encrypt(v, &mut rng).unwrap();
    let decrypt = |c: &Ciphertext| secret.decrypt(c).unwrap().0[..slots].to_vec();
    let bytes = BgvBytes(Evaluator::new(&eval));
    laws::bytes(&bytes, &mut encrypt, decrypt).unwrap();
    let bits = Bits(Evaluator::new(&eval));
    let as_bytes = |v: &[bool]| v.iter().map(|&b| u8::from(b)).collect::<Vec<u8>>();
    let as_bits = |c: &Ciphertext| -> Vec<bool> {
        let bytes = decrypt(c);
        assert!(bytes.iter().all(|&b| b <= 1));
        bytes.iter().map(|&b| b == 1).collect()
    };
    laws::bits(&bits, |v| encrypt(&as_bytes(v)), as_bits).unwrap();
}

#[test]
fn threads_and_backends_do_not_change_a_bit() {
    let mut outputs = Vec::new();
    for backend in Backend::available() {
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            outputs.push(pool.install(|| {
                let params = Params::with_backend(&sets::TOY_255, backend).unwrap();
                let mut f = fixture(params, 6);
                let keys = RoundKeys::expand(&[9; 16]).unwrap();
                let wrapped =
                    WrappedKey::encrypt(&f.secret, &keys, WrapOptions::default(), &mut f.rng)
                        .unwrap();
                let aes = Aes::new(&f.eval, &wrapped, Layout::Sliced).unwrap();
                let state = aes.evaluate(&[[5; 16], [6; 16]]).unwrap();
                encode_batch(&f.params, &state).unwrap()
            }));
        }
    }
    assert!(outputs.windows(2).all(|w| w[0] == w[1]));
}

fn written(key: &impl Records) -> Vec<u8> {
    let mut w = Writer::new(Vec::new(), key.header().unwrap()).unwrap();
    homaes_scheme::file::write(key, &mut w).unwrap();
    w.finish().unwrap()
}

#[test]
fn files_round_trip_and_wrong_ones_are_named() {
    let mut f = toy(7);
    let keys = RoundKeys::expand(&[1; 16]).unwrap();
    let wrapped =
        WrappedKey::encrypt(&f.secret, &keys, WrapOptions::default(), &mut f.rng).unwrap();
    let rng = f.rng.clone();
    let s = written(&f.secret);
    let e = written(&EvalKeyFile::generate(&f.secret, &mut rng.clone()));
    let k = written(&wrapped);
    let card = f.params.card();
    let sizes = [
        card.secret_key_bytes,
        card.eval_key_bytes,
        card.wrapped_key_bytes,
    ];
    // the card states the size for AES-256
    let long = RoundKeys::expand(&[1; 32]).unwrap();
    let long = WrappedKey::encrypt(&f.secret, &long, WrapOptions::default(), &mut f.rng).unwrap();
    let l = written(&long);
    assert_eq!([&s, &e, &l].map(|b| b.len() as u64), sizes);

    use homaes_wire::Kind;
    let read = |b: &[u8], kind| Reader::from_slice(b, kind).map_err(Error::from).map(|_| ());
    assert!(read(&s, Kind::EvalKey).is_err());
    let p = &f.params;
    let secret = SecretKey::read(p, Reader::from_slice(&s, Kind::SecretKey).unwrap()).unwrap();
    // made anew from the same randomness, in memory: the same key
    let made = EvalKey::generate(&f.secret, &mut rng.clone());
    let eval = EvalKey::read(p, Reader::from_slice(&e, Kind::EvalKey).unwrap()).unwrap();
    let wrapped = WrappedKey::read(p, Reader::from_slice(&k, Kind::WrappedKey).unwrap()).unwrap();
    let in_memory = Aes::new(&made, &wrapped, Layout::Sliced).unwrap();
    let aes = Aes::new(&eval, &wrapped, Layout::Sliced).unwrap();
    let mut state = aes.evaluate(&[[3; 16]]).unwrap();
    let same = in_memory.evaluate(&[[3; 16]]).unwrap();
    assert_eq!(
        encode_batch(p, &state).unwrap(),
        encode_batch(p, &same).unwrap()
    );
    state.xor_public(p, &[[0xaa; 16]]).unwrap();
    let body = encode_batch(p, &state).unwrap();
    assert_eq!(body.len() as u64, batch_bytes(p, Layout::Sliced, 1));
    let state = decode_batch(p, None, Layout::Sliced, 1, &body).unwrap();
    let want = clear::encrypt_block([3; 16], &keys).map(|x| x ^ 0xaa);
    assert_eq!(secret.decrypt_blocks(&state).unwrap().blocks[0], want);
    assert!(decode_batch(p, None, Layout::Sliced, 1, &body[..body.len() - 1]).is_err());
    assert!(aes.evaluate(&[[0; 16]; 17]).is_err());

    let other_set = Params::new(&sets::TOY_4369).unwrap();
    let e2 = EvalKey::read(&other_set, Reader::from_slice(&e, Kind::EvalKey).unwrap());
    assert!(e2.unwrap_err().to_string().contains("bgv/toy-255"));
    let stranger = SecretKey::generate(p, &mut f.rng).unwrap();
    let foreign = EvalKey::generate(&stranger, &mut f.rng);
    assert!(matches!(
        Aes::new(&foreign, &wrapped, Layout::Sliced),
        Err(Error::Mismatch(Mismatch::OtherKey { .. }))
    ));
}
