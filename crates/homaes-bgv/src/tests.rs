//! Encrypted runs on toy sets: every operation and every AES round against the clear.

use super::*;
use crate::aes::bits::Bits;
use crate::chain::KeyPart;
use homaes_aes::{Block, Direction, Layout, RoundKeys, clear, gf256, laws};
use homaes_scheme::Mismatch;
use homaes_wire::{Kind, Reader, Writer};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::sync::{Arc, LazyLock};

mod aes;
mod bounds;
mod circuit;
mod embeddings;
mod expand;
mod integers;
mod leave;
mod lift;
mod many;
mod memcheck;
mod programs;
mod reference;
mod refusals;
mod scan;
mod vectors;

pub(crate) struct Fixture {
    pub(crate) params: Arc<Params>,
    pub(crate) secret: Arc<SecretKey>,
    pub(crate) eval: Arc<EvalKey>,
    pub(crate) rng: ChaCha20Rng,
}

impl Fixture {
    fn new(params: Arc<Params>, seed: u8) -> Self {
        let mut rng = ChaCha20Rng::from_seed([seed; 32]);
        let secret = SecretKey::generate(&params, &mut rng).unwrap();
        let eval = EvalKey::generate(&secret, &mut rng);
        Self {
            params,
            secret: secret.into(),
            eval: eval.into(),
            rng,
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        random_bytes(&mut self.rng, self.params.slots().count())
    }

    fn blocks(&mut self, layout: Layout) -> Vec<Block> {
        let mut block = |_| random_bytes(&mut self.rng, 16).try_into().unwrap();
        (0..self.params.blocks_per_batch(layout))
            .map(&mut block)
            .collect()
    }

    fn encrypt(&mut self, bytes: &[u8]) -> Ciphertext {
        self.secret.encrypt(bytes, &mut self.rng).unwrap()
    }

    /// In full form.
    pub(crate) fn wrap(&mut self, key: &[u8], wrapping: WrapOptions<'_>) -> WrappedKey {
        let keys = RoundKeys::expand(key).unwrap();
        let wrapping = WrapOptions {
            full: true,
            ..wrapping
        };
        WrappedKey::encrypt(&self.secret, &keys, wrapping, &mut self.rng).unwrap()
    }

    pub(crate) fn aes<'k>(&'k self, wrapped: &'k WrappedKey, layout: Layout) -> Aes<'k> {
        Aes::new(&self.eval, wrapped, layout).unwrap()
    }

    fn lowered(&self, c: &Ciphertext, level: usize) -> Ciphertext {
        Evaluator::new(&self.eval).lowered(c, level).unwrap()
    }

    /// An encryption at `level`, the same for the same bytes.
    fn at_level(&self, bytes: &[u8], level: usize) -> Ciphertext {
        let mut rng = self.rng.clone();
        let stream = bytes.iter().map(|&b| u64::from(b));
        rng.set_stream(stream.fold(level as u64, |s, b| s.wrapping_mul(257) + b));
        self.lowered(&self.secret.encrypt(bytes, &mut rng).unwrap(), level)
    }
}

pub(crate) fn fixture(set: &ParamSet, seed: u8) -> Fixture {
    Fixture::new(Params::new(set).unwrap(), seed)
}

pub(crate) fn toy(seed: u8) -> Fixture {
    fixture(&sets::TOY_255, seed)
}

/// The larger toy, whose keys are made once because their quality test is slow.
pub(crate) fn toy_4369(seed: u8) -> Fixture {
    static KEYS: LazyLock<Fixture> = LazyLock::new(|| fixture(&sets::TOY_4369, 4));
    let mut rng = ChaCha20Rng::from_seed([seed; 32]);
    // differs from the keys' stream
    rng.set_stream(1);
    Fixture {
        params: KEYS.params.clone(),
        secret: KEYS.secret.clone(),
        eval: KEYS.eval.clone(),
        rng,
    }
}

fn wrapping(layouts: &[Layout], direction: Direction) -> WrapOptions<'_> {
    WrapOptions {
        direction,
        layouts,
        levels_left: None,
        full: true,
    }
}

fn random_bytes(rng: &mut impl Rng, n: usize) -> Vec<u8> {
    let mut out = vec![0; n];
    rng.fill_bytes(&mut out);
    out
}

fn map(x: &[u8], f: impl Fn(u8) -> u8) -> Vec<u8> {
    x.iter().map(|&x| f(x)).collect()
}

fn zip(x: &[u8], y: &[u8], f: impl Fn(u8, u8) -> u8) -> Vec<u8> {
    x.iter().zip(y).map(|(&x, &y)| f(x, y)).collect()
}

/// Checks that `c` decrypts to `want`, with no more noise than its bound and at least the promised room. Returns how
/// many bits the noise is below the bound.
fn sound(f: &Fixture, c: &Ciphertext, want: &[u8], what: &str) -> f64 {
    let line = c.summary(&f.params);
    let (got, margin) = f.secret.decrypt(c).unwrap();
    assert_eq!(got, want, "{what}: {line}");
    // margins saturate at 48 bits
    let promised = line.room_bits.min(40.0);
    assert!(margin >= promised, "{what}: margin {margin}, {line}");
    assert!(line.failure_log2 <= -64.0, "{what}: {line}");
    let (_, largest) = f.secret.measure_noise(c);
    assert!(largest <= line.bound_bits, "{what}: {largest}, {line}");
    line.bound_bits - largest
}

/// As [`sound`], and the mean square of the noise must be close to the carried estimate.
fn check(f: &Fixture, c: &Ciphertext, want: &[u8], what: &str) {
    sound(f, c, want, what);
    let (_, margin) = f.secret.decrypt(c).unwrap();
    assert!(margin > 2.0, "{what}: margin {margin}");
    let (rms, carried) = (f.secret.measure_noise(c).0, c.noise());
    let close = (rms - carried.rms_log2).abs() < 2.0;
    assert!(close, "{what}: {rms} for {carried:?}");
}

/// Products and Frobenius maps at every level, with measured noise, for both kinds of key parts.
#[test]
fn keys_switch_in_one_digit_with_the_noise_that_is_stated() {
    let mut f = toy_4369(4);
    let x = f.bytes();
    let fresh = f.encrypt(&x);
    let eval = Evaluator::new(&f.eval);
    let power = |k: u32| map(&x, |x| gf256::frobenius(x, k));
    let cube = zip(&x, &power(1), gf256::mul);
    let mut seen = 0;
    for level in 14..=23 {
        let a = f.lowered(&fresh, level);
        seen += usize::from(KeyPart::ALL[f.params.switching(level).part].one_digit);
        check(&f, &eval.frobenius(&a, 1).unwrap(), &power(1), "Frobenius");
        let product = eval.mul_frobenius(&a, &a, 1).unwrap();
        check(&f, &eval.relinearize(&product).unwrap(), &cube, "cube");
        if level % 3 != 2 {
            let image = eval.frobenius(&a, 7).unwrap();
            check(&f, &image, &power(7), "Frobenius 7");
        }
    }
    // six and seven rounds left
    assert_eq!(seen, 6);
}

#[test]
fn every_verb_agrees_with_the_clear_and_stays_below_its_noise_bound() {
    let mut f = toy(2);
    let (x, y) = (f.bytes(), f.bytes());
    let (a, b) = (f.encrypt(&x), f.encrypt(&y));
    let n = x.len();
    let eval = Evaluator::new(&f.eval);
    let is = |c: Result<Ciphertext>, want: &[u8], what: &str| check(&f, &c.unwrap(), want, what);
    let frobenius = |x: &[u8], k: usize| map(x, |x| gf256::frobenius(x, k as u32));
    let sum = zip(&x, &y, |x, y| x ^ y);
    is(Ok(a.clone()), &x, "fresh");
    is(eval.public(&x), &x, "public");
    is(eval.add(&a, &b), &sum, "sum");
    is(eval.add_public(&a, &y), &sum, "sum with public bytes");
    let plus_byte = map(&x, |x| x ^ 0x53);
    is(eval.add_byte(&a, 0x53), &plus_byte, "sum with a byte");
    for c in [1, 2, 3, 0x8f, 0xff] {
        let want = map(&x, |x| gf256::mul(x, c));
        is(eval.multiply_byte(&a, c), &want, "times a byte");
    }
    // levels are kept with both lifts
    for lift in [Lift::ZeroOne, Lift::Signs([7; 32])] {
        let out = eval.multiply_public(&f.lowered(&a, 12), &y, lift).unwrap();
        assert_eq!(out.level(), 12);
        sound(&f, &out, &zip(&x, &y, gf256::mul), "times public bytes");
    }
    // one level below the lower
    let factors = [(&a, 12), (&b, 10)].map(|(c, level)| f.lowered(c, level));
    let out = eval.multiply(&factors[0], &factors[1]).unwrap();
    assert_eq!(out.level(), 9);
    sound(&f, &out, &zip(&x, &y, gf256::mul), "product");
    for k in 0..9 {
        is(eval.frobenius(&a, k), &frobenius(&x, k), "Frobenius");
    }
    for k in 0..4 {
        let p = eval.mul_frobenius(&a, &b, k).unwrap();
        let c = eval.relinearize(&p).unwrap();
        assert_eq!(c.level(), a.level() - 1);
        let want = zip(&x, &frobenius(&y, k), gf256::mul);
        is(Ok(c), &want, "product");
        let twice = eval.add_product(p.clone(), &p).unwrap();
        is(eval.relinearize(&twice), &vec![0; n], "sum of products");
    }
    assert!(eval.mul_frobenius(&a, &b, 4).is_err());
    // down the whole chain: products at every level, operands at different levels
    let (mut c, mut value) = (a.clone(), x.clone());
    while c.level() > 1 {
        c = eval.relinearize(&eval.mul(&c, &b).unwrap()).unwrap();
        value = zip(&value, &y, gf256::mul);
        let what = format!("product down the chain, level {}", c.level());
        check(&f, &c, &value, &what);
    }
    let across = zip(&x, &value, |x, y| x ^ y);
    is(eval.add(&a, &c), &across, "sum across levels");
    assert!(eval.mod_switch(&c).is_err());
    let square = |c: Ciphertext| eval.relinearize(&eval.mul(&c, &c).unwrap());
    let last = (0..4).try_fold(c, |c, _| square(c));
    assert!(matches!(last, Err(Error::TooNoisy { .. })));
}

#[test]
fn public_key_encryption() {
    let mut f = toy(3);
    let public = PublicKey::generate(&f.secret, &mut f.rng);
    let x = f.bytes();
    let c = public.encrypt(&x, &mut f.rng).unwrap();
    check(&f, &c, &x, "public-key encryption");
    let eval = Evaluator::new(&f.eval);
    let square = eval.relinearize(&eval.mul(&c, &c).unwrap()).unwrap();
    check(&f, &square, &map(&x, |x| gf256::mul(x, x)), "its square");
    let more = vec![0; x.len() + 1];
    assert!(public.encrypt(&more, &mut f.rng).is_err());
}

#[test]
fn fips_197_vector() {
    let mut f = toy(5);
    let key: Vec<u8> = (0..16).collect();
    let plain: Block = core::array::from_fn(|i| (0x11 * i) as u8);
    let want = 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128.to_be_bytes();
    let wrapped = f.wrap(&key, WrapOptions::default());
    let state = f.aes(&wrapped, Layout::Sliced).evaluate(&[plain]).unwrap();
    let decrypted = f.secret.decrypt_blocks(&state).unwrap();
    assert_eq!(decrypted.blocks[0], want);
    assert_eq!(format!("{decrypted:?}"), "Decrypted(16 blocks)");
}

#[test]
fn bits_keep_the_laws_of_views() {
    let f = toy(12);
    let (slots, mut rng) = (f.params.slots().count(), f.rng.clone());
    let encrypt = |v: &[bool]| {
        let bytes: Vec<u8> = v.iter().map(|&b| u8::from(b)).collect();
        f.secret.encrypt(&bytes, &mut rng).unwrap()
    };
    let decrypt = |c: &Ciphertext| -> Vec<bool> {
        let bytes = f.secret.decrypt(c).unwrap().0[..slots].to_vec();
        assert!(bytes.iter().all(|&b| b <= 1));
        bytes.iter().map(|&b| b == 1).collect()
    };
    laws::bits(&Bits(Evaluator::new(&f.eval)), encrypt, decrypt).unwrap();
}

pub(crate) fn written(key: &impl Records) -> Vec<u8> {
    let mut w = Writer::new(Vec::new(), key.header().unwrap()).unwrap();
    homaes_scheme::file::write(key, &mut w).unwrap();
    w.finish().unwrap()
}

#[test]
fn files_round_trip() {
    let mut f = toy(7);
    let open = |bytes, kind| Reader::from_slice(bytes, kind).unwrap();
    let wrapped = f.wrap(&[1; 16], WrapOptions::default());
    let rng = f.rng.clone();
    let [s, k] = [written(&*f.secret), written(&wrapped)];
    let e = written(&EvalKeyFile::generate(&f.secret, &mut rng.clone()));
    let p = &f.params;
    let secret = SecretKey::read(p, open(&s, Kind::SecretKey)).unwrap();
    let eval = EvalKey::read(p, open(&e, Kind::EvalKey)).unwrap();
    let wrapped = WrappedKey::read(p, open(&k, Kind::WrappedKey)).unwrap();
    // the same randomness gives the same key in memory
    let made = EvalKey::generate(&f.secret, &mut rng.clone());
    let [aes, in_memory] =
        [&eval, &made].map(|eval| Aes::new(eval, &wrapped, Layout::Sliced).unwrap());
    let mut state = aes.evaluate(&[[3; 16]]).unwrap();
    let same = in_memory.evaluate(&[[3; 16]]).unwrap();
    let records = [&state, &same].map(|state| encode_batch(p, state).unwrap());
    assert_eq!(records[0], records[1]);
    state.xor_public(p, &[[0xaa; 16]]).unwrap();
    let body = encode_batch(p, &state).unwrap();
    assert_eq!(body.len() as u64, batch_bytes(p, Layout::Sliced, 1));
    let state = decode_batch(p, None, Layout::Sliced, 1, &body).unwrap();
    let keys = RoundKeys::expand(&[1; 16]).unwrap();
    let want = clear::encrypt_block([3; 16], &keys).map(|x| x ^ 0xaa);
    assert_eq!(secret.decrypt_blocks(&state).unwrap().blocks[0], want);
    assert!(aes.evaluate(&[[0; 16]; 17]).is_err());
}
