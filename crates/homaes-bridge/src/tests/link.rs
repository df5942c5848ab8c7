//! Bytes under a link key: as LWE ciphertexts, and packed.

use super::*;
use homaes_scheme::Cancel;
use std::ops::Range;

pub(super) fn bits_of(params: &Params) -> Vec<u64> {
    bits(params, &mut ChaCha20Rng::from_seed([30; 32]))
}

pub(super) fn link(log2_t: u32) -> Target {
    Target {
        id: KeyId([3; 16]),
        other: Other::Link { log2_t },
    }
}

/// The phase body - mask·z of a packed ciphertext, words of 32 bits.
fn phase(record: &[u8], bits: &[u64]) -> Vec<u64> {
    let n = bits.len();
    let words = decode_lwes(record);
    let mut phase = words[n..].to_vec();
    for (j, _) in bits.iter().enumerate().filter(|(_, bit)| **bit == 1) {
        for (i, a) in words[..n].iter().enumerate() {
            let at = &mut phase[(i + j) % n];
            *at = match i + j < n {
                true => at.wrapping_sub(*a),
                false => at.wrapping_add(*a),
            };
        }
    }
    phase
}

/// Bits by which noise may differ from derived: a key has its own errors, and toy rings have few embeddings.
fn slack(params: &Params) -> f64 {
    match params.ring().m() {
        65535 => 0.3,
        _ => 1.2,
    }
}

/// Checks the packed bytes number `first` to `last`, and returns the log2 of their noise.
fn packed(
    (crossing, crossed): (&SlotsToLwe<'_>, &Crossed),
    bits: &[u64],
    want: &[u8],
    bytes: Range<usize>,
) -> f64 {
    let record = crossing
        .rlwe(crossed, bytes.clone(), &Cancel::new())
        .unwrap();
    assert_eq!(record.len() as u64, rlwe_bytes(crossing.params()));
    let phase = phase(&record, bits);
    let t = crossing.numbers().log2_t();
    let mut left = vec![true; phase.len()];
    let mut errors = Errors::default();
    for (x, byte) in want[bytes].iter().enumerate() {
        let at = place(x, phase.len());
        assert!(core::mem::take(&mut left[at]));
        let error = phase[at].wrapping_sub(u64::from(*byte) << (64 - t)) as i64;
        errors.add(error as f64 / 2f64.powi(64));
    }
    assert!(
        errors.largest < (-f64::from(t) - 1.0).exp2(),
        "{}",
        errors.largest
    );
    for (_, x) in left.iter().zip(&phase).filter(|(left, _)| **left) {
        let x = *x as i64 as f64 / 2f64.powi(64);
        assert!(x.abs() < (-f64::from(t) - 4.0).exp2());
    }
    errors.check(crossing.rlwe_log2(crossed), slack(crossing.params()));
    errors.largest
}

/// Bytes in every slot cross, are read one by one, and packed in full and in part.
fn bytes_cross(set: &ParamSet, seed: u8, log2_t: u32) {
    let w = &mut Keys::new(set, seed);
    let bits = bits(&w.params, &mut w.rng);
    let start = std::time::Instant::now();
    let bridge = BridgeKey::generate(&w.secret, &bits, link(log2_t), &mut w.rng).unwrap();
    println!("{:?} after {:.1?}", bridge.fitness(), start.elapsed());
    let bytes = w.bytes();
    let eval = Evaluator::new(&w.eval);
    let x = w.secret.encrypt(&bytes, &mut w.rng).unwrap();
    let start = std::time::Instant::now();
    let crossing = SlotsToLwe::new(&bridge, Numbers::Bytes(log2_t)).unwrap();
    println!("functionals {:.2?}", start.elapsed());
    let start = std::time::Instant::now();
    let inputs = std::slice::from_ref(&x);
    let crossed = crossing.cross_slots(&eval, inputs).unwrap();
    println!("lift and switch {:.2?}", start.elapsed());
    let errors = read(&bits, &crossing, &crossed, &bytes, 0);
    errors.check(crossed.noise().log2_sigma, slack(&w.params));
    println!(
        "{:?}, of a unit {:.4}, largest {:.4}",
        crossed.noise(),
        (crossed.noise().log2_sigma + f64::from(log2_t)).exp2(),
        errors.largest * f64::from(1 << log2_t)
    );
    no_outlier(&crossing, &w.secret, 1, errors.largest);
    let both = (&crossing, &crossed);
    let n = bits.len().min(bytes.len());
    let start = std::time::Instant::now();
    packed(both, &bits, &bytes, 0..n);
    println!("packed {:.2?}", start.elapsed());
    packed(both, &bits, &bytes, 3..n / 2 + 1);
    let found = crossing.rlwe(&crossed, 0..bytes.len() + 1, &Cancel::new());
    refused(found, "bytes");
    for other in [Numbers::Bits, Numbers::Bytes(19 - log2_t)] {
        refused(SlotsToLwe::new(&bridge, other), "numbers modulo");
    }
}

#[test]
fn bytes_come_across_packed() {
    for (seed, log2_t) in (20..).zip(Other::LINK_BITS) {
        bytes_cross(&sets::TOY_4369, seed, log2_t);
    }
    bytes_cross(&sets::TOY_21845, 25, 11);
}

#[test]
#[ignore = "nightly: two minutes"]
fn nightly_bytes_come_across_packed_at_full_size() {
    bytes_cross(&sets::AES128_8, 26, 8);
    for (set, seed) in [(&sets::AES192_5, 27), (&sets::AES256_8, 28)] {
        for log2_t in [8, 11] {
            bytes_cross(set, seed, log2_t);
        }
    }
}

#[test]
fn only_bytes_for_a_link_are_packed() {
    let w = &mut Keys::new(&sets::TOY_255, 31);
    let (_, bridge) = w.bridge();
    refused(
        SlotsToLwe::new(&bridge, Numbers::Bytes(8)),
        "numbers modulo 2^8, expected 2^1",
    );
    let crossing = SlotsToLwe::new(&bridge, Numbers::Bits).unwrap();
    let x = w.secret.encrypt(&[1], &mut w.rng).unwrap();
    let crossed = crossing
        .cross_slots(&Evaluator::new(&w.eval), &[x])
        .unwrap();
    let found = crossing.rlwe(&crossed, 0..1, &Cancel::new());
    refused(
        found,
        "leads to a client key of the crate tfhe, expected a link key",
    );
}

#[test]
fn no_ring_to_pack_in_is_an_error() {
    let w = &mut Keys::new(&sets::TOY_255, 29);
    let bits = bits(&w.params, &mut w.rng);
    let found = BridgeKey::generate(&w.secret, &bits, link(11), &mut w.rng);
    refused(
        found,
        "found a ring of degree 8 to pack in, expected 128 to 2048",
    );
}
