//! The scheme by itself. The conformance suite of `homaes` also runs every toy set.

mod memcheck;
mod reference;
mod vectors;

use super::*;
use homaes_aes::{BitEval, Direction, RoundKeys, clear, laws};
use homaes_math::sample::Seed;
use homaes_rns::Meter;
use homaes_scheme::bits::BitSecret;
use homaes_scheme::{Cancel, Records, RunOptions, SetName};
use homaes_wire::{Kind, Reader, Writer};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::io::Write;
use std::sync::Arc;

fn write<W: Write>(file: &impl Records, out: W) -> W {
    let mut writer = Writer::new(out, file.header().unwrap()).unwrap();
    homaes_scheme::file::write(file, &mut writer).unwrap();
    writer.finish().unwrap()
}

struct World<A: Arithmetic> {
    params: Arc<Params<A>>,
    secret: SecretKey<A>,
    eval: EvalKey<A>,
    rng: ChaCha20Rng,
}

impl<A: Arithmetic> World<A> {
    fn new(set: &sets::ParamSet) -> Self {
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        let params = Params::<A>::new(set).unwrap();
        let secret = SecretKey::generate(&params, &mut rng).unwrap();
        let file = write(&EvalKeyFile::of_seed(&secret, Seed::default()), Vec::new());
        let reader = Reader::from_slice(&file, Kind::EvalKey).unwrap();
        let eval = EvalKey::read(&params, reader).unwrap();
        Self {
            params,
            secret,
            eval,
            rng,
        }
    }
}

/// The errors of an evaluation key depend on the set.
#[test]
fn errors_of_keys_have_names() {
    let renamed = sets::ParamSet {
        name: SetName::from_static("ntru/other"),
        ..sets::TOY_255
    };
    // the same secret key, drawn from the same seed
    let keys = [&sets::TOY_255, &renamed].map(|set| World::<Rns>::new(set).secret);
    assert!(keys[0].packed() == keys[1].packed());
    let files = [0, 1].map(|i| EvalKeyFile::of_seed(&keys[i], [7; 32]));
    assert!((0..4).all(|number| files[0].part(number) != files[1].part(number)));
}

#[test]
fn bits_go_through() {
    for set in [&sets::TOY_255, &sets::TOY_RNS] {
        bits_of::<Rns>(set);
    }
    for word in [1, 3, 16] {
        bits_of::<PrimePower>(&sets::ParamSet {
            variant: sets::Variant::Paper { word },
            ..sets::TOY_PAPER
        });
    }
}

fn bits_of<A: Arithmetic>(set: &sets::ParamSet) {
    let mut w = World::<A>::new(set);
    let meter = Meter::default();
    let bits = Bits::new(&w.eval, &meter);
    let (x, y) = ([true, false, true, true], [true, true, false, true]);
    let a = w.secret.encrypt(&x, &mut w.rng).unwrap();
    let b = w.secret.public().encrypt(&y, &mut w.rng).unwrap();
    let shows = |c: &Ciphertext<A>, expected: [u8; 4]| {
        let (found, margin) = w.secret.decrypt(c).unwrap();
        assert_eq!(found[..4], expected);
        assert!(found[4..].iter().all(|&bit| bit == 0) && margin > 40.0);
        let (measured, model) = (w.secret.measure_noise(c), c.noise().rms_log2);
        assert!((measured - model).abs() < 1.0, "{measured} of {model}");
    };
    shows(&a, [1, 0, 1, 1]);
    let product = bits.and(&a, &b).unwrap();
    let (found, _) = w.secret.decrypt_product(&product).unwrap();
    assert_eq!(found[..4], [1, 0, 0, 1]);
    let c = bits.relinearize(product).unwrap();
    shows(&c, [1, 0, 0, 1]);
    shows(&bits.xor(&c, &a), [0, 0, 1, 0]);
    // some of these moduli divide the top one, others do not
    for down in 1..=9 {
        shows(&bits.lowered(&a, a.level() - down), [1, 0, 1, 1]);
    }
}

/// Runs AES-128 on `count` blocks; compares every byte with AES in the clear, and the noise of every round with the
/// model.
fn aes_128<A: Arithmetic>(set: &sets::ParamSet, count: usize) {
    let mut w = World::<A>::new(set);
    let keys = RoundKeys::expand(&[7; 16]).unwrap();
    let file = WrappedKeyFile::generate(&w.secret, &keys, Direction::Encrypt, 0, &mut w.rng);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key.hwk");
    write(&file.unwrap(), std::fs::File::create(&path).unwrap());
    let reader = Reader::open(&path, Kind::WrappedKey).unwrap();
    let wrapped = WrappedKey::open(&w.params, reader).unwrap();
    let aes = Aes::new(&w.eval, &wrapped).unwrap();
    let block = |i: usize| core::array::from_fn(|j| (i * 31 + j * 7) as u8);
    let blocks: Vec<[u8; 16]> = (0..count).map(block).collect();
    let mut observe = |round: usize, s: &State<A>| {
        let measured = s.bits()[..8].iter().map(|c| w.secret.measure_noise(c));
        let measured = measured.fold(0.0, f64::max);
        let model = s.quality(&w.params).noise_bits;
        // a small ring has few embeddings
        let near = (measured - model).abs() < 1.0;
        assert!(near, "{} round {round}: {measured} of {model}", set.name);
    };
    let run = RunOptions::new(&Cancel::new(), &mut observe);
    let out = aes.evaluate_with(&blocks, run).unwrap();
    let found = out.decrypt(&w.secret).unwrap();
    for (&block, found) in blocks.iter().zip(found.blocks.iter()) {
        assert_eq!(*found, clear::encrypt_block(block, &keys));
    }
}

#[test]
fn the_view_keeps_its_laws() {
    fn kept<A: Arithmetic>(set: &sets::ParamSet) {
        let mut w = World::<A>::new(set);
        let meter = Meter::default();
        let bits = Bits::new(&w.eval, &meter);
        let slots = w.params.slots().count();
        let encrypt = |v: &[bool]| w.secret.encrypt(v, &mut w.rng).unwrap();
        let decrypt = |c: &Ciphertext<A>| -> Vec<bool> {
            let (found, _) = w.secret.decrypt(c).unwrap();
            found[..slots].iter().map(|&bit| bit == 1).collect()
        };
        laws::bits(&bits, encrypt, decrypt).unwrap();
    }
    kept::<Rns>(&sets::TOY_255);
    kept::<Rns>(&sets::TOY_RNS);
    kept::<PrimePower>(&sets::TOY_PAPER);
}

#[test]
#[ignore = "nightly: the conformance suite of homaes always runs"]
fn nightly_aes_on_toys() {
    for set in [&sets::TOY_255, &sets::TOY_RNS, &sets::TOY_DEPTH_3] {
        aes_128::<Rns>(set, 16);
    }
    aes_128::<PrimePower>(&sets::TOY_PAPER, 16);
}

#[test]
#[ignore = "nightly: minutes on the portable kernels"]
fn nightly_aes_on_the_ring_without_3_and_5() {
    aes_128::<Rns>(&sets::TOY_4369, 256);
}

macro_rules! at_full_size {
    ($($name:ident: $set:ident of $arithmetic:ident, $why:literal;)*) => {
        $(#[test]
        #[ignore = $why]
        fn $name() {
            aes_128::<$arithmetic>(&sets::$set, 2048);
        })*
    };
}

at_full_size! {
    paper_at_full_size: PAPER of PrimePower, "twenty minutes, 18 GiB of memory";
    nightly_paper_16_at_full_size: PAPER_16 of PrimePower, "nightly: minutes, and 3.8 GB of disk";
    nightly_hybrid_at_full_size: HYBRID of Rns, "nightly: a minute, and 2.9 GB of disk";
    nightly_rns_at_full_size: RNS of Rns, "nightly: minutes, and 3.8 GB of disk";
    depth_3_at_full_size: RNS_DEPTH_3 of Rns, "minutes, and 2.9 GB of disk";
}
