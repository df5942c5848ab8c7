//! One level, with keys on disk, of a set whose whole run takes hours.

use super::*;
use std::path::PathBuf;

/// `HOMAES_KEYS=DIR cargo test --release -p homaes-dghv --lib -- --ignored --nocapture a_level_with_the_key_on_disk`
///
/// DIR has an unprotected `secret.hsk` and the `eval.hek` of any set, from `homaes keygen`. Converts 128 products of
/// random bits in one pass over the key, and checks every bit and the noise.
#[test]
#[ignore = "needs a folder of keys"]
fn a_level_with_the_key_on_disk() {
    let Some(folder) = std::env::var_os("HOMAES_KEYS").map(PathBuf::from) else {
        println!("skipped: HOMAES_KEYS names no folder");
        return;
    };
    let start = Instant::now();
    let tell = |what: &str| println!("{:.1} s: {what}", start.elapsed().as_secs_f64());
    let file = Reader::open(folder.join("secret.hsk"), Kind::SecretKey).unwrap();
    let set = sets::by_name(file.header().set()).unwrap();
    let params = Params::new(set).unwrap();
    let secret = SecretKey::read(&params, file).unwrap();
    let file = Reader::open(folder.join("eval.hek"), Kind::EvalKey).unwrap();
    let key = EvalKey::open(&params, file).unwrap();
    tell("keys are read");
    let mut rng = rng(12);
    let mut random = || -> (Vec<bool>, Ciphertext) {
        let bits: Vec<bool> = (0..set.slots).map(|_| rng.next_u32() & 1 == 1).collect();
        let c = secret.encrypt(&bits, &mut rng).unwrap();
        (bits, c)
    };
    let left: Vec<_> = (0..16).map(|_| random()).collect();
    let right: Vec<_> = (0..8).map(|_| random()).collect();
    tell("24 ciphertexts are encrypted");
    let meter = Meter::default();
    let view = Bits::new(&key, &meter);
    let pairs: Vec<_> = left
        .iter()
        .flat_map(|x| right.iter().map(move |y| (x, y)))
        .collect();
    let products = pairs
        .iter()
        .map(|((_, x), (_, y))| view.and(x, y).unwrap())
        .collect();
    tell("128 products");
    let converted = view.relinearize_all(products).unwrap();
    tell("128 conversions");
    println!("{:?}", meter.read());
    for (((a, _), (b, _)), c) in pairs.iter().zip(&converted) {
        let expected: Vec<bool> = a.iter().zip(b).map(|(a, b)| a & b).collect();
        assert_eq!(found(&secret.decrypt(c).unwrap()), expected);
    }
    tell("all bits are right");
    let noise = secret.measure_noise(&converted[0]);
    let model = converted[0].noise().r_log2;
    // relative to the model: squares of the noise exceed a float
    let squares = noise.iter().map(|(r, _)| (2.0 * (r - model)).exp2());
    let found = model + 0.5 * (squares.sum::<f64>() / noise.len() as f64).log2();
    println!("log2 of the root mean square of r: {found:.2}, model {model:.2}");
    assert!((found - model).abs() < 1.0, "{found} {model}");
}
