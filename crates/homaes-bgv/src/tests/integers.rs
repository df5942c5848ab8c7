//! Integers lifted from bytes and masks, against integers.

use super::*;
use crate::circuit::{Integers, Lift};
use homaes_math::embed::squared_magnitudes;
use std::time::Instant;

/// With the fields of [`SecretKey::phase`].
fn lifted(x: &Integers) -> Lifted {
    Lifted {
        ciphertext: x.ciphertext.clone(),
        log2_t: x.bits(),
        factor: 1,
        carried_log2: 0.0,
    }
}

/// log2 of the root mean square of μ over embeddings.
fn noise(f: &Fixture, x: &Integers) -> f64 {
    let nu = f.secret.phase(&lifted(x)).unwrap();
    let e = squared_magnitudes(f.params.ring(), &nu);
    let mean = e.iter().sum::<f64>() / e.len() as f64;
    0.5 * mean.log2() + 1.0 - f64::from(x.bits())
}

fn modulo(x: &[u8], bits: u32) -> Vec<u64> {
    x.iter()
        .map(|&x| u64::from(x) & ((1 << bits) - 1))
        .collect()
}

/// Bytes and masks as integers of so many bits: all slots, and the noise of bytes within `slack` bits.
fn lifts(f: &Fixture, inputs: &[(Ciphertext, Vec<u8>)], bits: u32, slack: f64) {
    let eval = Evaluator::new(&f.eval);
    let lifting = eval.lifting(inputs[0].0.level(), bits).unwrap();
    let start = Instant::now();
    let lifted: Vec<Integers> = inputs
        .iter()
        .map(|(c, _)| lifting.lift(c).unwrap())
        .collect();
    let seconds = start.elapsed().as_secs_f64();
    for (got, (_, want)) in lifted.iter().zip(inputs) {
        assert_eq!(
            f.secret.integers(got).unwrap(),
            modulo(want, bits),
            "{bits} bits"
        );
        assert_eq!((got.level(), got.bits()), (lifting.level(), bits));
        assert!(got.failure_log2(&f.params) <= -64.0);
    }
    let squares = lifted.iter().map(|x| (2.0 * noise(f, x)).exp2());
    let found = 0.5 * (squares.sum::<f64>() / lifted.len() as f64).log2();
    let expected = lifting.noise_log2();
    let room = lifted[0].room_bits(&f.params);
    println!(
        "{bits} bits: noise {found:.2}, derived {expected:.2}, room {room:.1}, {seconds:.2} s"
    );
    assert!(
        (found - expected).abs() < slack,
        "{bits} bits: {found} {expected}"
    );
    // masks at the same level
    let [zero, one] = [0, 1].map(|b| map(&inputs[0].1, |x| x & 1 ^ b));
    let masks = eval.mask_lifting(lifting.from(), bits).unwrap();
    for want in [zero, one] {
        let mask = f.at_level(&want, lifting.from());
        let got = masks.lift(&mask).unwrap();
        assert_eq!(
            f.secret.integers(&got).unwrap(),
            modulo(&want, bits),
            "{bits} bits"
        );
    }
}

#[test]
fn bytes_and_masks_become_integers() {
    let all: Vec<u32> = (3..=24).collect();
    for (mut f, moduli) in [(toy(3), &all[..]), (toy_4369(3), &[8, 12, 16, 24])] {
        let bytes = f.bytes();
        let inputs = [(f.at_level(&bytes, 13), bytes)];
        // the mean square over few embeddings varies
        let slack = 0.3 + 12.0 / (f.params.set().m as f64).sqrt();
        for &bits in moduli {
            lifts(&f, &inputs, bits, slack);
        }
    }
}

#[test]
#[ignore = "nightly: a minute and 8 GB"]
fn nightly_results_of_aes_become_integers_at_full_size() {
    let mut f = fixture(&sets::AES128_8, 3);
    let wrapped = f.wrap(&[3; 16], bounds::FOR_CIRCUITS);
    let blocks = f.blocks(Layout::Sliced);
    let state = f.aes(&wrapped, Layout::Sliced).evaluate(&blocks).unwrap();
    let keys = RoundKeys::expand(&[3; 16]).unwrap();
    let want: Vec<Block> = blocks
        .iter()
        .map(|&b| clear::encrypt_block(b, &keys))
        .collect();
    let byte = |i: usize| want.iter().map(|block| block[i]).collect();
    let all = state.ciphertexts().iter().enumerate();
    let inputs: Vec<_> = all.map(|(i, c)| (c.clone(), byte(i))).collect();
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    one.install(|| {
        [8, 10, 11]
            .iter()
            .for_each(|&bits| lifts(&f, &inputs, bits, 0.3))
    });
    drop(f);
    // few embeddings of a key decide the mean of a high power, of degree 72 for 16 bits and 108 for 20
    let slack = 1.0;
    let mut f = fixture(&sets::AES192_5, 4);
    let bytes = f.bytes();
    let inputs = [(f.at_level(&bytes, 12), bytes)];
    for bits in [14, 16] {
        lifts(&f, &inputs, bits, slack);
    }
    drop(f);
    let mut f = fixture(&sets::AES256_2, 5);
    let bytes = f.bytes();
    let inputs = [(f.at_level(&bytes, 15), bytes)];
    for (bits, slack) in [(16, slack), (20, 3.0), (24, 3.0)] {
        lifts(&f, &inputs, bits, slack);
    }
}

#[test]
fn what_cannot_become_integers_is_refused() {
    let (mut f, other) = (toy(46), toy(47));
    let bytes = f.bytes();
    let c = Evaluator::new(&f.eval);
    for (level, bits, expected) in [
        (9, 16, "expected 3 to 12"),
        (13, 25, "expected 3 to 24"),
        (13, 2, "expected 3 to 24"),
        (3, 8, "which is too low for any"),
    ] {
        let error = c.lifting(level, bits).err().unwrap().to_string();
        let found = format!("integers of {bits} bits from level {level} of set bgv/toy-255, ");
        assert!(error.starts_with(&(found + expected)), "{error}");
    }
    let lifting = c.lifting(13, 8).unwrap();
    let low = f.at_level(&bytes, lifting.from() - 1);
    assert!(matches!(lifting.lift(&low), Err(Error::TooDeep { .. })));
    // more noise than a switch removes
    let mut noisy = f.at_level(&bytes, lifting.from());
    for _ in 0..9 {
        noisy = c.multiply_public(&noisy, &bytes, Lift::ZeroOne).unwrap();
    }
    assert!(matches!(
        lifting.lift(&noisy),
        Err(Error::PlaneNoise { .. })
    ));
    let public = c.public(&bytes).unwrap();
    assert!(matches!(
        lifting.lift(&public),
        Err(Error::PlaneNoise { .. })
    ));
    // no mask
    let masks = c.mask_lifting(13, 8).unwrap();
    let wrong = masks.lift(&f.at_level(&bytes, 13)).unwrap();
    assert!(matches!(f.secret.integers(&wrong), Err(Error::NotIntegers)));
    // another key
    let x = lifting.lift(&f.at_level(&bytes, 13)).unwrap();
    assert!(matches!(other.secret.integers(&x), Err(Error::Mismatch(_))));
}
