//! Encrypted runs on toy sets: every verb and every AES round against the clear.

use super::*;
use homaes_aes::{Block, Bytewise, Direction, RoundKeys, Sliced, clear, gf256};
use homaes_math::Backend;
use homaes_wire::{Reader, Writer};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::sync::Arc;

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
        largest <= c.noise_bits(),
        "{what}: {largest} above {}",
        c.noise_bits()
    );
    // the carried mean square is an estimate from both sides
    assert!(
        (rms - c.noise().rms_log2).abs() < 2.0,
        "{what}: {rms} for {:?}",
        c.noise()
    );
}

#[test]
fn every_verb_agrees_with_the_clear_and_stays_below_its_noise_bound() {
    let mut f = toy(2);
    let n = f.params.blocks_per_batch();
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
    check(&f, &eval.add(&a, &b), &zip(&x, &y, |a, b| a ^ b), "sum");
    let mut shifted = a.clone();
    eval.add_public(&mut shifted, &y).unwrap();
    check(
        &f,
        &shifted,
        &zip(&x, &y, |a, b| a ^ b),
        "sum with public bytes",
    );
    for c in [1, 2, 3, 0x8f, 0xff] {
        let want: Vec<u8> = x.iter().map(|&x| gf256::mul(x, c)).collect();
        check(&f, &eval.scale(&a, c), &want, "scaled");
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
        &eval.add(&a, &c),
        &zip(&x, &value, |a, b| a ^ b),
        "sum across levels",
    );
    assert!(eval.mod_switch(&c).is_err());
    let mut product = eval.relinearize(&eval.mul(&c, &c).unwrap());
    for _ in 0..3 {
        let Ok(c) = product else { break };
        product = eval.relinearize(&eval.mul(&c, &c).unwrap());
    }
    assert!(matches!(
        product,
        Err(Error::Eval(homaes_aes::EvalError::OutOfDepth { .. }))
    ));
}

#[test]
fn public_key_encryption() {
    let mut f = toy(3);
    let n = f.params.blocks_per_batch();
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
    assert!(matches!(other.decrypt(&c), Err(Error::NotBytes)));
}

/// Every round of AES-128 on random blocks, decrypted and compared with the oracle, with the
/// measured noise below the carried bound.
fn aes_round_by_round(params: Arc<Params>) {
    let mut f = fixture(params, 1);
    let slots = f.params.blocks_per_batch();
    let keys = RoundKeys::expand(&random_bytes(&mut f.rng, 16)).unwrap();
    let wrapped = WrappedKey::encrypt(&f.secret, &keys, &mut f.rng).unwrap();
    let blocks: Vec<Block> = (0..slots)
        .map(|_| random_bytes(&mut f.rng, 16).try_into().unwrap())
        .collect();
    let traces: Vec<Vec<Block>> = blocks
        .iter()
        .map(|&b| clear::trace(Direction::Encrypt, b, &keys))
        .collect();
    let aes = SlicedAes::new(&f.eval, &wrapped).unwrap();
    let mut rounds = 0;
    let out = aes
        .encrypt_blocks_observed(&blocks, |round, state| {
            let got = f.secret.decrypt_blocks(state).unwrap();
            let want: Vec<Block> = traces.iter().map(|t| t[round]).collect();
            assert!(got.blocks == want, "the state after round {round} differs");
            assert!(got.margin_bits > 2.0, "round {round}: {}", got.margin_bits);
            for c in &state[..2] {
                let (rms, largest) = f.secret.measure_noise(c);
                assert!(
                    largest <= c.noise_bits(),
                    "round {round}: {largest} above {c:?}"
                );
                assert!(
                    (rms - c.noise().rms_log2).abs() < 1.0,
                    "round {round}: {rms} for {c:?}"
                );
            }
            rounds += 1;
        })
        .unwrap();
    assert_eq!(rounds, 11);
    assert!(
        out.iter()
            .all(|c| c.level() == 1 && c.capacity_bits(&f.params) > 4.0)
    );
    // the oracle itself against another implementation
    use aes::cipher::{BlockCipherEncrypt, KeyInit};
    let reference = aes::Aes128::new_from_slice(&keys.as_slice()[0]).unwrap();
    let mut block = blocks[0].into();
    reference.encrypt_block(&mut block);
    assert_eq!(block.as_slice(), &traces[0][10]);
}

#[test]
fn aes_on_toy_255_with_every_backend() {
    for backend in Backend::available() {
        aes_round_by_round(Params::with_backend(&sets::TOY_255, backend).unwrap());
    }
}

#[test]
fn aes_on_toy_4369() {
    aes_round_by_round(Params::new(&sets::TOY_4369).unwrap());
}

#[test]
fn aes_at_full_size() {
    aes_round_by_round(Params::new(&sets::AES128).unwrap());
}

#[test]
fn fips_197_vector_through_the_fused_and_the_generic_circuit() {
    let mut f = toy(5);
    let key: Vec<u8> = (0..16).collect();
    let plain: Block = core::array::from_fn(|i| (0x11 * i) as u8);
    let keys = RoundKeys::expand(&key).unwrap();
    let want = clear::encrypt_block(plain, &keys);
    assert_eq!(want[..4], [0x69, 0xc4, 0xe0, 0xd8]);
    let wrapped = WrappedKey::encrypt(&f.secret, &keys, &mut f.rng).unwrap();
    let aes = SlicedAes::new(&f.eval, &wrapped).unwrap();
    let state = aes.encrypt_blocks(&[plain]).unwrap();
    assert_eq!(f.secret.decrypt_blocks(&state).unwrap().blocks[0], want);

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
        let got = homaes_aes::cipher(&generic, dir, &input, &wrap).unwrap();
        let want = homaes_aes::cipher(&oracle, dir, &oracle.public(&[plain]), &plain_keys).unwrap();
        let got = f.secret.decrypt_blocks(&got).unwrap().blocks[0];
        assert_eq!(
            got.to_vec(),
            want.iter().map(|b| b[0]).collect::<Vec<u8>>(),
            "{dir:?}"
        );
    }
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
                let wrapped = WrappedKey::encrypt(&f.secret, &keys, &mut f.rng).unwrap();
                let aes = SlicedAes::new(&f.eval, &wrapped).unwrap();
                let state = aes.encrypt_blocks(&[[5; 16], [6; 16]]).unwrap();
                encode_batch(&f.params, &state).unwrap()
            }));
        }
    }
    assert!(outputs.windows(2).all(|w| w[0] == w[1]));
}

fn written<E>(
    header: homaes_wire::Header,
    write: impl FnOnce(&mut Writer<Vec<u8>>) -> Result<(), E>,
) -> Vec<u8>
where
    E: core::fmt::Debug,
{
    let mut w = Writer::new(Vec::new(), header).unwrap();
    write(&mut w).unwrap();
    w.finish().unwrap()
}

#[test]
fn files_round_trip_and_wrong_ones_are_named() {
    let mut f = toy(7);
    let keys = RoundKeys::expand(&[1; 16]).unwrap();
    let wrapped = WrappedKey::encrypt(&f.secret, &keys, &mut f.rng).unwrap();
    let s = written(f.secret.header().unwrap(), |w| f.secret.write(w));
    let e = written(f.eval.header().unwrap(), |w| f.eval.write(w));
    let k = written(wrapped.header().unwrap(), |w| wrapped.write(w));
    let card = f.params.card();
    let sizes = [
        card.secret_key_bytes,
        card.eval_key_bytes,
        card.wrapped_key_bytes,
    ];
    assert_eq!([&s, &e, &k].map(|b| b.len() as u64), sizes);

    use homaes_wire::Kind;
    let read = |b: &[u8], kind| Reader::from_slice(b, kind).map_err(Error::from).map(|_| ());
    assert!(read(&s, Kind::EvalKey).is_err());
    let p = &f.params;
    let secret = SecretKey::read(p, Reader::from_slice(&s, Kind::SecretKey).unwrap()).unwrap();
    let eval = EvalKey::read(p, Reader::from_slice(&e, Kind::EvalKey).unwrap()).unwrap();
    let wrapped = WrappedKey::read(p, Reader::from_slice(&k, Kind::WrappedKey).unwrap()).unwrap();
    let aes = SlicedAes::new(&eval, &wrapped).unwrap();
    let mut state = aes.encrypt_blocks(&[[3; 16]]).unwrap();
    aes.xor_public(&mut state, &[[0xaa; 16]]).unwrap();
    let body = encode_batch(p, &state).unwrap();
    assert_eq!(body.len() as u64, batch_bytes(p));
    let state = decode_batch(p, &body).unwrap();
    let want = clear::encrypt_block([3; 16], &keys).map(|x| x ^ 0xaa);
    assert_eq!(secret.decrypt_blocks(&state).unwrap().blocks[0], want);
    assert!(decode_batch(p, &body[..body.len() - 1]).is_err());
    assert!(aes.encrypt_blocks(&[[0; 16]; 17]).is_err());

    let other_set = Params::new(&sets::TOY_4369).unwrap();
    let e2 = EvalKey::read(&other_set, Reader::from_slice(&e, Kind::EvalKey).unwrap());
    assert!(e2.unwrap_err().to_string().contains("bgv/toy-255"));
    let stranger = SecretKey::generate(p, &mut f.rng).unwrap();
    let foreign = EvalKey::generate(&stranger, &mut f.rng);
    assert!(matches!(
        SlicedAes::new(&foreign, &wrapped),
        Err(Error::OtherKey { .. })
    ));
    let long = RoundKeys::expand(&[0; 32]).unwrap();
    let refused = WrappedKey::encrypt(&f.secret, &long, &mut f.rng).unwrap_err();
    assert!(refused.to_string().contains("14 rounds"), "{refused}");
}
