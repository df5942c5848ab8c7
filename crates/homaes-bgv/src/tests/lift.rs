//! Bits of bytes, and bits modulo 32.

use super::*;
use crate::circuit::lift::LiftNoise;
use homaes_math::embed::squared_magnitudes;

/// log2 of the root mean square over embeddings of μ = 2ν/t.
fn noise(f: &Fixture, x: &Lifted) -> f64 {
    let nu = f.secret.phase(x).unwrap();
    let e = squared_magnitudes(f.params.ring(), &nu);
    let mean = e.iter().sum::<f64>() / e.len() as f64;
    0.5 * mean.log2() + 1.0 - f64::from(x.log2_t())
}

/// Slots of ν modulo 2.
fn parities(f: &Fixture, x: &Lifted) -> Vec<u8> {
    let nu = f.secret.phase(x).unwrap();
    let bits: Vec<u64> = nu.iter().map(|x| x.rem_euclid(2.0) as u64).collect();
    f.params.slots().decode(&bits).unwrap()
}

/// The eight bits of every byte, then pairs of them, whose noise is as derived; how they come out modulo 32 is seen where they are read, in homaes-bridge.
fn lifts(set: &ParamSet, seed: u8, from: usize) {
    // so few embeddings have no mean square of their own
    let slack = 0.1 + 5.0 / (set.m as f64).sqrt();
    let f = &mut fixture(Params::new(set).unwrap(), seed);
    let eval = Evaluator::new(&f.eval);
    let bytes = random_bytes(&mut f.rng, f.params.slots().count());
    let x = f.secret.encrypt(&bytes, &mut f.rng).unwrap();
    let x = eval.lowered(&eval.with_bound(&x).unwrap(), from).unwrap();
    let start = std::time::Instant::now();
    let planes = eval.bit_planes(&x).unwrap();
    println!("planes {:?}", start.elapsed());
    for (i, plane) in planes.iter().enumerate() {
        let bits: Vec<u8> = bytes.iter().map(|b| b >> i & 1).collect();
        assert_eq!(parities(f, plane), bits, "bit {i}");
        let (found, expected) = (
            noise(f, plane),
            LiftNoise::planes_rms_log2(&f.params, plane.carried_log2()),
        );
        println!(
            "plane {i}: carried 2^{:.2}, noise 2^{found:.2}, derived 2^{expected:.2}",
            plane.carried_log2()
        );
        // what is carried is a bound
        assert!(found < expected + slack, "{found} {expected}");
    }
    let start = std::time::Instant::now();
    let pairs = eval.bit_pairs(&x).unwrap();
    println!("planes and pairs {:?}", start.elapsed());
    for (i, pair) in pairs.iter().enumerate() {
        let bits: Vec<u8> = bytes.iter().map(|b| b >> (2 * i) & 1).collect();
        assert_eq!(parities(f, pair), bits, "pair {i}");
        let (found, expected) = (
            noise(f, pair),
            LiftNoise::pairs_rms_log2(&f.params, pair.carried_log2()),
        );
        println!("pair {i}: noise 2^{found:.2}, derived 2^{expected:.2}");
        assert!((found - expected).abs() < 3.0 * slack, "{found} {expected}");
    }
}

#[test]
fn bits_of_bytes_are_lifted() {
    lifts(&sets::TOY_255, 3, 6);
    lifts(&sets::TOY_4369, 3, 9);
}

#[test]
#[ignore = "nightly: ten seconds"]
fn nightly_bits_of_bytes_are_lifted_at_full_size() {
    lifts(&sets::AES192, 3, 6);
}

#[test]
fn what_cannot_be_lifted_is_refused() {
    let f = &mut toy(4);
    let eval = Evaluator::new(&f.eval);
    let x = f.secret.encrypt(&[1], &mut f.rng).unwrap();
    let at = |level| eval.lowered(&eval.with_bound(&x).unwrap(), level).unwrap();
    let refused = eval.bit_pairs(&at(5)).unwrap_err().to_string();
    assert!(refused.starts_with("out of depth: 5 more multiplications needed, 4 left"));
    let refused = eval.bit_planes(&at(1)).unwrap_err().to_string();
    assert!(refused.contains("depth"), "{refused}");
    let other = toy(5);
    let refused = Evaluator::new(&other.eval).bit_pairs(&x).unwrap_err();
    assert!(matches!(refused, Error::Mismatch(_)), "{refused}");
}
