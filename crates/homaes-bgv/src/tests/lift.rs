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

/// Checks the eight bits of every byte, then pairs of them, and their noise; homaes-bridge tests the values modulo 32.
fn lifts(mut f: Fixture, from: usize) {
    // the mean square over few embeddings varies
    let slack = 0.1 + 5.0 / (f.params.set().m as f64).sqrt();
    let bytes = f.bytes();
    let x = f.encrypt(&bytes);
    let eval = Evaluator::new(&f.eval);
    let x = f.lowered(&eval.with_bound(&x).unwrap(), from);
    for (i, plane) in eval.bit_planes(&x).unwrap().iter().enumerate() {
        assert_eq!(parities(&f, plane), map(&bytes, |b| b >> i & 1), "bit {i}");
        let found = noise(&f, plane);
        let expected = LiftNoise::planes_rms_log2(&f.params, plane.carried_log2());
        // the carried noise is a bound
        assert!(found < expected + slack, "{found} {expected}");
    }
    for (i, pair) in eval.bit_pairs(&x).unwrap().iter().enumerate() {
        let bits = map(&bytes, |b| b >> (2 * i) & 1);
        assert_eq!(parities(&f, pair), bits, "pair {i}");
        let found = noise(&f, pair);
        let expected = LiftNoise::pairs_rms_log2(&f.params, pair.carried_log2());
        assert!((found - expected).abs() < 3.0 * slack, "{found} {expected}");
    }
}

#[test]
fn bits_of_bytes_are_lifted() {
    lifts(toy(3), 6);
    lifts(toy_4369(3), 9);
}

#[test]
#[ignore = "nightly: ten seconds"]
fn nightly_bits_of_bytes_are_lifted_at_full_size() {
    lifts(fixture(&sets::AES192, 3), 6);
}
