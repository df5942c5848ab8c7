use super::*;
use homaes_aes::{BitEval, Direction, RoundKeys};
use homaes_leveled::Meter;
use homaes_math::sample::Seed;
use homaes_scheme::Records;
use homaes_wire::{Kind, Reader, Writer};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::sync::Arc;

fn bytes(file: &impl Records) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, file.header().unwrap()).unwrap();
    homaes_scheme::file::write(file, &mut writer).unwrap();
    writer.finish().unwrap();
    out
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
        let file = bytes(&EvalKeyFile::of_seed(&secret, Seed::default()));
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

#[test]
fn bits_go_through() {
    for set in [&sets::TOY_255, &sets::TOY_RNS] {
        let mut w = World::<Rns>::new(set);
        let meter = Meter::default();
        let bits = Bits::new(&w.eval, &meter);
        let (x, y) = ([true, false, true, true], [true, true, false, true]);
        let [a, b] = [x, y].map(|v| w.secret.encrypt(&v, &mut w.rng).unwrap());
        let (found, margin) = w.secret.decrypt(&a).unwrap();
        assert_eq!(found[..4], [1, 0, 1, 1]);
        println!(
            "{} margin {margin}, noise {} of {}",
            set.name,
            w.secret.measure_noise(&a),
            a.noise().rms_log2
        );
        let product = bits.and(&a, &b).unwrap();
        let (found, _) = w.secret.decrypt_product(&product).unwrap();
        assert_eq!(found[..4], [1, 0, 0, 1]);
        let c = bits.relinearize(product).unwrap();
        let (found, _) = w.secret.decrypt(&c).unwrap();
        assert_eq!(found[..4], [1, 0, 0, 1]);
        println!(
            "product noise {} of {}",
            w.secret.measure_noise(&c),
            c.noise().rms_log2
        );
        let d = bits.xor(&c, &a);
        assert_eq!(w.secret.decrypt(&d).unwrap().0[..4], [0, 0, 1, 0]);
        let e = bits.lowered(&a, a.level() - 3);
        assert_eq!(w.secret.decrypt(&e).unwrap().0[..4], [1, 0, 1, 1]);
        println!(
            "lowered noise {} of {}",
            w.secret.measure_noise(&e),
            e.noise().rms_log2
        );
    }
}

fn aes_128(set: &sets::ParamSet, count: usize) {
    let mut w = World::<Rns>::new(set);
    let key = [7; 16];
    let keys = RoundKeys::expand(&key).unwrap();
    let start = std::time::Instant::now();
    let file =
        WrappedKeyFile::generate(&w.secret, &keys, Direction::Encrypt, 0, &mut w.rng).unwrap();
    let file = bytes(&file);
    println!("wrap {:?}, {} bytes", start.elapsed(), file.len());
    let start = std::time::Instant::now();
    let reader = Reader::from_slice(&file, Kind::WrappedKey).unwrap();
    let wrapped = WrappedKey::read(&w.params, reader).unwrap();
    drop(file);
    println!("read {:?}", start.elapsed());
    let aes = Aes::new(&w.eval, &wrapped).unwrap();
    let blocks: Vec<[u8; 16]> = (0..count)
        .map(|i| core::array::from_fn(|j| (i * 31 + j * 7) as u8))
        .collect();
    let start = std::time::Instant::now();
    let out = aes
        .evaluate_until(&blocks, &homaes_scheme::Cancel::new(), |r, s| {
            let c = &s.bits()[5];
            println!(
                "{r} {:?}: level {}, noise {:.2} of {:.2}, room {:.1}",
                start.elapsed(),
                s.level(),
                w.secret.measure_noise(c),
                c.noise().rms_log2,
                s.capacity_bits(&w.params)
            );
        })
        .unwrap();
    println!("{:?} {:?}", start.elapsed(), aes.meter());
    let found = w.secret.decrypt_blocks(&out).unwrap();
    use ::aes::cipher::{BlockCipherEncrypt, KeyInit};
    let oracle = ::aes::Aes128::new(&key.into());
    for (block, found) in blocks.iter().zip(found.blocks.iter()) {
        let mut b = (*block).into();
        oracle.encrypt_block(&mut b);
        assert_eq!(found[..], b[..]);
    }
}

#[test]
fn aes_on_toys() {
    for set in [&sets::TOY_255, &sets::TOY_RNS, &sets::TOY_DEPTH_3] {
        aes_128(set, 16);
    }
}

#[test]
#[ignore = "minutes"]
fn aes_hybrid() {
    aes_128(&sets::HYBRID, 2048);
}

#[test]
#[ignore = "minutes"]
fn aes_rns() {
    aes_128(&sets::RNS, 2048);
}
