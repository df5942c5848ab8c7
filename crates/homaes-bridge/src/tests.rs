//! Bits and pairs of bits cross and are read with the LWE key.

use super::*;
use homaes_aes::clear::encrypt_block;
use homaes_aes::{Block, Layout, RoundKeys, gf256};
use homaes_bgv::{Aes, EvalKey, Evaluator, LIFT_LEVEL, ParamSet, Params, SecretKey};
use homaes_bgv::{WrapOptions, WrappedKey, sets};
use homaes_math::memcheck::{Poisoned, findings, poison};
use homaes_scheme::{Published, Records, RunOptions};
use homaes_wire::{KeyId, Kind, Reader, Writer};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::sync::Arc;

#[cfg(feature = "tfhe-rs")]
mod fheuint8;
mod link;

struct Keys {
    params: Arc<Params>,
    secret: SecretKey,
    eval: EvalKey,
    rng: ChaCha20Rng,
}

impl Keys {
    fn new(set: &ParamSet, seed: u8) -> Self {
        let params = Params::new(set).unwrap();
        let mut rng = ChaCha20Rng::from_seed([seed; 32]);
        let secret = SecretKey::generate(&params, &mut rng).unwrap();
        Self {
            eval: EvalKey::generate(&secret, &mut rng),
            params,
            secret,
            rng,
        }
    }

    /// An AES key and its encryption.
    fn wrap(
        &mut self,
        key: &[u8],
        layouts: &'static [Layout],
        levels_left: Option<usize>,
    ) -> (RoundKeys, WrappedKey) {
        let keys = RoundKeys::expand(key).unwrap();
        let wrapping = WrapOptions {
            layouts,
            levels_left,
            ..WrapOptions::default()
        };
        let wrapped = WrappedKey::encrypt(&self.secret, &keys, wrapping, &mut self.rng).unwrap();
        (keys, wrapped)
    }

    /// A bridge to random bits of a user's key.
    fn bridge(&mut self) -> (Vec<u64>, BridgeKey) {
        let bits = bits(&self.params, &mut self.rng);
        let bridge = BridgeKey::generate(&self.secret, &bits, target(), &mut self.rng).unwrap();
        (bits, bridge)
    }

    fn bytes(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; self.params.slots().count()];
        self.rng.fill_bytes(&mut bytes);
        bytes
    }
}

const SLICED: &[Layout] = &[Layout::Sliced];

fn bits(params: &Params, rng: &mut ChaCha20Rng) -> Vec<u64> {
    let bit = |_| u64::from(rng.next_u32() & 1);
    (0..params.ring().n() / 16).map(bit).collect()
}

fn target() -> Target {
    let (pattern, tag) = (0, b"mine".to_vec());
    Target {
        id: KeyId([9; 16]),
        other: Other::User { pattern, tag },
    }
}

/// Multiplications left for a crossing that takes `least` in R: results of K first come down to where it begins.
fn left(set: &ParamSet, least: usize) -> Option<usize> {
    Some(if set.cipher.is_some() { 8 } else { least })
}

/// AES of so many blocks that one state of results holds them.
fn result(aes: &Aes<'_>, blocks: &[Block]) -> homaes_bgv::State {
    let mut results = aes.run(blocks, &[], RunOptions::default()).unwrap();
    assert_eq!(results.len(), 1);
    results.swap_remove(0)
}

fn encrypted(blocks: &[Block], keys: &RoundKeys) -> Vec<Block> {
    let each = blocks.iter();
    each.map(|&block| encrypt_block(block, keys)).collect()
}

/// Phase of an LWE ciphertext minus the number over t, on the torus from -1/2 to 1/2.
fn error(bits: &[u64], lwe: &[u64], number: u64, log2_t: u32) -> f64 {
    let (mask, body) = lwe.split_at(bits.len());
    let terms = mask.iter().zip(bits).map(|(a, z)| a.wrapping_mul(*z));
    let phase = terms.fold(body[0], u64::wrapping_sub);
    phase.wrapping_sub(number << (64 - log2_t)) as i64 as f64 / 2f64.powi(64)
}

fn refused<T>(found: Result<T>, why: &str) {
    let error = found.err().unwrap().to_string();
    assert!(error.contains(why), "{error}");
}

#[test]
fn bridge_keys_are_as_hard_as_the_sets() {
    let mut count = 0;
    let secure = sets::ALL.iter();
    for set in secure.filter(|set| set.security_bits_claimed.is_some()) {
        let card = Params::new(set).unwrap().card();
        let of_bridges = |line: &&Published| {
            line.what.starts_with("bridge key") || line.what.starts_with("packing key")
        };
        for line in card.published.iter().filter(of_bridges) {
            let estimate = line.estimate.unwrap();
            assert!(estimate.bits.min(estimate.with_rotations) >= 128.0);
            assert_eq!(line.dimension, 2048);
            count += 1;
        }
    }
    // five of these sets have packing keys
    assert_eq!(count, 13);
}

/// Makes a key whose secrets, except the BGV key, count as undefined memory: for valgrind, see `homaes_math::memcheck`.
/// The BGV key takes the same arithmetic.
#[test]
#[ignore = "run by secrets_under_memcheck"]
fn secrets() {
    let Keys { secret, rng, .. } = Keys::new(&sets::TOY_255, 10);
    let mut bits = [1, 0, 0, 1, 1, 1, 0, 1];
    poison(&mut bits);
    let mut rng = Poisoned(rng);
    BridgeKey::generate(&secret, &bits, target(), &mut rng).unwrap();
    // the automorphisms of a packing key
    let Keys { params, secret, .. } = Keys::new(&sets::TOY_4369, 11);
    let mut bits = link::bits_of(&params);
    poison(&mut bits);
    BridgeKey::generate(&secret, &bits, link::link(11), &mut rng).unwrap();
}

/// `CARGO_PROFILE_RELEASE_DEBUG=line-tables-only cargo test --release under_memcheck -- --ignored`; needs valgrind.
#[test]
#[ignore = "needs valgrind"]
fn secrets_under_memcheck() {
    let Some(found) = findings("tests::secrets") else {
        println!("skipped: valgrind is not installed");
        return;
    };
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_bridge_key_is_a_file() {
    let mut w = Keys::new(&sets::TOY_255, 9);
    let (_, bridge) = w.bridge();
    let mut writer = Writer::new(Vec::new(), bridge.header().unwrap()).unwrap();
    homaes_scheme::file::write(&bridge, &mut writer).unwrap();
    let file = writer.finish().unwrap();
    assert_eq!(file.len() as u64, bridge.file_bytes());
    let open = || Reader::from_slice(&file, Kind::BridgeKey).unwrap();
    let described = BridgeKey::describe_file(&w.params, open());
    assert_eq!(described.unwrap(), target());
    let read = BridgeKey::read(&w.params, open()).unwrap();
    assert_eq!(read.target(), &target());
    assert_eq!(read.key_id(), w.secret.id());
    let pairs = |key: &BridgeKey| -> Vec<_> { key.pairs.iter().flatten().cloned().collect() };
    for (a, b) in pairs(&read).iter().zip(pairs(&bridge)) {
        assert!(a.limbs[0][..] == b.limbs[0][..]);
    }
    let other = Params::new(&sets::TOY_4369).unwrap();
    refused(BridgeKey::read(&other, open()), "bgv/toy-255");
    for at in (0..file.len()).step_by(7) {
        let mut file = file.clone();
        file[at] ^= 1;
        let read = Reader::from_slice(&file, Kind::BridgeKey);
        let read = read.map_err(Error::from);
        let read = read.and_then(|read| BridgeKey::read(&w.params, read));
        assert!(read.is_err(), "{at}");
    }
}

/// Reads every bit of every slot over 2, and every pair over 32.
fn across(set: &ParamSet, seed: u8) {
    let w = &mut Keys::new(set, seed);
    let (bits, bridge) = w.bridge();
    let bytes = w.bytes();
    let eval = Evaluator::new(&w.eval);
    let mut x = w.secret.encrypt(&bytes, &mut w.rng).unwrap();
    while x.level() > LIFT_LEVEL {
        x = eval.mod_switch(&x).unwrap();
    }
    for numbers in [Numbers::Bits, Numbers::Pairs] {
        let crossing = SlotsToLwe::new(&bridge, numbers).unwrap();
        let crossed = crossing
            .cross_slots(&eval, std::slice::from_ref(&x))
            .unwrap();
        let errors = read(&bits, &crossing, &crossed, &bytes, 0);
        // a key has its own errors, and toy keys have few
        let slack = 0.2 + 10.0 / (w.params.ring().m() as f64).sqrt();
        errors.check(crossed.noise().log2_sigma, slack);
        assert!(crossed.noise().failure_log2 < -64.0);
        no_outlier(&crossing, &w.secret, 1, errors.largest);
    }
}

/// Reads the bytes from number `first` on, which must be those of `want`.
fn read(
    bits: &[u64],
    crossing: &SlotsToLwe<'_>,
    crossed: &Crossed,
    want: &[u8],
    first: usize,
) -> Errors {
    let numbers = crossing.numbers();
    let (count, width, t) = (numbers.count(), 8 / numbers.count(), numbers.log2_t());
    let mut errors = Errors::default();
    for start in (first..want.len()).step_by(512) {
        let range = start..want.len().min(start + 512);
        let words = crossing.lwes(crossed, range.clone()).unwrap();
        let mut lwes = words.chunks_exact(crossing.words());
        for (at, byte) in range.clone().zip(&want[range]) {
            for i in 0..count {
                let number = u64::from(byte >> (i * width)) & ((1 << width) - 1);
                let error = error(bits, lwes.next().unwrap(), number, t);
                let most = 0.5 / f64::from(1u32 << t);
                assert!(error.abs() < most, "byte {at}, number {i}");
                errors.add(error);
            }
        }
        assert!(lwes.next().is_none());
    }
    errors
}

#[derive(Default)]
struct Errors {
    squares: f64,
    largest: f64,
    count: f64,
}

impl Errors {
    fn add(&mut self, error: f64) {
        self.squares += error * error;
        self.largest = self.largest.max(error.abs());
        self.count += 1.0;
    }

    /// Compares their deviation with a derived one.
    fn check(&self, log2_sigma: f64, slack: f64) {
        let found = 0.5 * (self.squares / self.count).log2();
        let largest = self.largest / found.exp2();
        println!("2^{found:.2}, derived 2^{log2_sigma:.2}, largest {largest:.1} times as much");
        assert!((found - log2_sigma).abs() < slack);
    }
}

/// The bound must allow the largest noise of all readings at least once in a million batches.
fn no_outlier(crossing: &SlotsToLwe<'_>, secret: &SecretKey, ciphertexts: usize, largest: f64) {
    let allowed = fit::exceeded_log2(crossing, secret, ciphertexts, largest.log2());
    assert!(
        allowed > -20.0,
        "{largest} is exceeded in 2^{allowed} of batches"
    );
}

/// How well keys of every bridge set fit.
#[test]
#[ignore = "ten minutes; run with --ignored --nocapture"]
fn keys_are_fit_at_full_size() {
    for set in [
        &sets::BRIDGE128,
        &sets::BRIDGE128_P128,
        &sets::AES128_8,
        &sets::AES192_5,
        &sets::AES256_8,
    ] {
        let params = Params::new(set).unwrap();
        for seed in 50..66 {
            let mut rng = ChaCha20Rng::from_seed([seed; 32]);
            let secret = SecretKey::generate(&params, &mut rng).unwrap();
            let bits = bits(&params, &mut rng);
            let bridge = BridgeKey::unchecked(&secret, &bits, target(), &mut rng).unwrap();
            let fits = bridge.check_secret(&secret).is_ok();
            println!("{}, fits {fits}:", set.name.as_str());
            for numbers in [Numbers::Bits, Numbers::Pairs] {
                let crossing = SlotsToLwe::new(&bridge, numbers).unwrap();
                let limit = crossing.limit_log2();
                let exceeded = |limit| fit::exceeded_log2(&crossing, &secret, noise::BATCH, limit);
                let (found, used) = (exceeded(limit), exceeded(limit - 1.33));
                println!(
                    "2^{found:.1} at 2^{limit}, 2^{used:.1} at 2^{:.2}",
                    limit - 1.33
                );
                let most = Fitness::most(set.log2_p_fail);
                assert!(found < most.read_log2);
                assert!(!fits || Some(used) < most.used_log2);
            }
        }
    }
}

#[test]
fn every_bit_of_every_slot_comes_across() {
    across(&sets::TOY_255, 3);
    across(&sets::TOY_4369, 4);
    // another prime for the ring switch
    let set = ParamSet {
        chain: sets::AES256.chain,
        ..sets::TOY_255
    };
    across(&set, 5);
}

#[test]
#[ignore = "nightly: half a minute"]
fn nightly_every_bit_of_every_slot_comes_across_at_full_size() {
    across(&sets::AES192, 5);
}

/// Crosses a whole batch as states of TFHE and checks every bit and the noise.
fn a_batch_as_bits(set: &ParamSet, other: &homaes_tfhe::ParamSet, key_bytes: usize) {
    let mut w = Keys::new(set, 15);
    let other = homaes_tfhe::Params::new(other).unwrap();
    let own = homaes_tfhe::SecretKey::generate(&other, &mut w.rng).unwrap();
    let bridge = BridgeKey::to_tfhe(&w.secret, &own, &mut w.rng).unwrap();
    let (keys, wrapped) = w.wrap(&vec![0x6c; key_bytes], SLICED, left(set, 1));
    let aes = Aes::new(&w.eval, &wrapped, Layout::Sliced).unwrap();
    let blocks = 0..w.params.blocks_per_batch(Layout::Sliced) as u128;
    let blocks: Vec<Block> = blocks.map(u128::to_be_bytes).collect();
    let state = result(&aes, &blocks);
    let crossing = SlotsToLwe::new(&bridge, Numbers::Bits).unwrap();
    let crossed = crossing.cross(aes.evaluator(), &state).unwrap();
    let noise = crossed.noise();
    let (mut sum, mut largest) = (0.0, f64::NEG_INFINITY);
    let each = other.blocks_per_batch();
    for start in (0..blocks.len()).step_by(each) {
        let range = start..start + each;
        let state = crossing.state(&crossed, range.clone(), &other).unwrap();
        let found = own.decrypt_blocks(&state).unwrap();
        let want = encrypted(&blocks[range], &keys);
        assert!(found.blocks[..] == want, "from block {start}");
        sum += (2.0 * own.measure_noise(&state).unwrap()).exp2();
        // a bit is read wrongly at 1/4 of the torus
        largest = f64::max(largest, -2.0 - found.margin_bits);
    }
    let found = 0.5 * (sum / (blocks.len() / each) as f64).log2() - 64.0;
    println!(
        "{}: 2^{found:.2}, largest 2^{largest:.2}, derived {noise:?}",
        set.name
    );
    assert!((found - noise.log2_sigma).abs() < 0.3);
    assert!(noise.failure_log2 <= set.log2_p_fail);
    // 262,144 normal variables exceed seven standard deviations with probability 2^-20
    assert!(largest < found + 7f64.log2());
}

#[test]
#[ignore = "nightly: two minutes and 3 GiB"]
fn nightly_a_batch_comes_across_as_bits_at_full_size() {
    a_batch_as_bits(&sets::BRIDGE128, &homaes_tfhe::sets::P64, 16);
    a_batch_as_bits(&sets::BRIDGE128_P128, &homaes_tfhe::sets::P128, 16);
}

#[test]
#[ignore = "nightly: two minutes and 5 GiB"]
fn nightly_a_batch_of_aes_256_comes_across_as_bits_at_full_size() {
    a_batch_as_bits(&sets::AES256_8, &homaes_tfhe::sets::P64, 32);
}

/// Random bytes and circuit results in every slot cross as bits and as pairs.
#[test]
fn results_of_circuits_come_across() {
    let w = &mut Keys::new(&sets::TOY_4369, 12);
    let (bits, bridge) = w.bridge();
    let [a, b] = [(); 2].map(|()| w.bytes());
    let eval = Evaluator::new(&w.eval);
    let [x, y] = [&a, &b].map(|bytes| w.secret.encrypt(bytes, &mut w.rng).unwrap());
    let product = eval.multiply(&x, &y).unwrap();
    let sum = eval.add_public(&eval.add(&product, &x).unwrap(), &b);
    let results = [product, sum.unwrap()];
    let products: Vec<u8> = a.iter().zip(&b).map(|(&a, &b)| gf256::mul(a, b)).collect();
    let sums = products.iter().zip(&a).zip(&b).map(|((p, a), b)| p ^ a ^ b);
    let want: Vec<u8> = products.iter().copied().chain(sums).collect();
    let mut to_another = target();
    to_another.id = KeyId([8; 16]);
    let another = BridgeKey::generate(&w.secret, &bits, to_another, &mut w.rng).unwrap();
    let both = [Numbers::Bits, Numbers::Pairs];
    for (numbers, other) in both.into_iter().zip([both[1], both[0]]) {
        let crossing = SlotsToLwe::new(&bridge, numbers).unwrap();
        let crossed = crossing.cross_slots(&eval, &results).unwrap();
        assert_eq!(crossed.bytes(), want.len());
        // starts within the first ciphertext and runs into the second
        read(&bits, &crossing, &crossed, &want, 5);
        #[allow(clippy::reversed_empty_ranges, reason = "callers can make them")]
        for bytes in [0..want.len() + 1, 7..6, usize::MAX..usize::MAX] {
            refused(crossing.lwes(&crossed, bytes), "end of the bytes");
        }
        // another t, another key at the end
        for (bridge, numbers, why) in [
            (&bridge, other, "numbers modulo"),
            (&another, numbers, "the crossed state was made under key"),
        ] {
            refused(
                SlotsToLwe::new(bridge, numbers)
                    .unwrap()
                    .lwes(&crossed, 0..1),
                why,
            );
        }
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let [w, other] = &mut [7, 8].map(|seed| Keys::new(&sets::TOY_255, seed));
    let (_, bridge) = w.bridge();
    let eval = Evaluator::new(&w.eval);
    let [x, stranger] =
        [&w.secret, &other.secret].map(|secret| secret.encrypt(&[1], &mut w.rng).unwrap());
    let crossing = SlotsToLwe::new(&bridge, Numbers::Bits).unwrap();
    let many = vec![x.clone(); 65];
    let found = crossing.cross_slots(&eval, &many);
    refused(found, "convert fewer ciphertexts at once");
    assert!(crossing.cross_slots(&eval, &many[1..]).is_ok());
    let found = crossing.cross_slots(&eval, &[stranger]);
    refused(found, "the ciphertext was made under key");
    let (_, theirs) = other.bridge();
    let found = SlotsToLwe::new(&theirs, Numbers::Bits)
        .unwrap()
        .cross_slots(&eval, &many[..1]);
    refused(found, "the bridge key was made under key");
    let found = BridgeKey::generate(&w.secret, &[1; 9], target(), &mut w.rng);
    refused(
        found,
        "bridge from set bgv/toy-255: the TFHE key has 9 bits, expected 8",
    );
    let bits = eval.bit_planes(&x).unwrap();
    let pairs = SlotsToLwe::new(&bridge, Numbers::Pairs).unwrap();
    let found = pairs.switched(&eval, &bits[..1]);
    refused(found, "numbers modulo 2^1, expected 2^5");
    let tfhe = homaes_tfhe::Params::new(&homaes_tfhe::sets::TOY).unwrap();
    let crossed = crossing.cross_slots(&eval, &many[..1]).unwrap();
    let found = crossing.state(&crossed, 0..1, &tfhe);
    let why =
        "the bridge key leads to a client key of the crate tfhe, expected a key of set tfhe/toy";
    refused(found, why);
    let found = pairs.state(&crossed, 0..1, &tfhe);
    refused(found, "numbers modulo 2^5, expected 2^1");
}
