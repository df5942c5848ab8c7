//! Statistical tests for secrets in running times: Reparaz, Balasch, Verbauwhede, *Dude, is my code constant time?*,
//! 2017.
//!
//! Inputs of two classes, one fixed and one random, are measured in random order. Every input is created just before
//! its measurement, with the same work for both classes: its address affects the time more than a leak would, and is
//! therefore independent of the class. Welch's t-test compares the mean times of all runs, those of the runs below each
//! of many percentiles (because other load hides small differences in a long tail), and the squared deviations. The
//! largest |t| counts: above 10, the threshold of the paper's program, a leak is likely; below 5 there is no evidence.
//!
//! `cargo test --release -p homaes --test all timing:: -- --ignored --nocapture --test-threads=1` takes some minutes.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use homaes_aes::RoundKeys;
use homaes_math::{sample, torus};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// |t| from which a leak is likely.
const LIKELY: f64 = 10.0;
const CUTS: i32 = 100;

fn statistics(values: &[f64]) -> [f64; 3] {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    [mean, square / (count - 1.0), count]
}

/// Welch's t of two classes; 0 if one has fewer than 500 values.
fn welch(classes: &[Vec<f64>; 2]) -> f64 {
    let [a, b] = classes.each_ref().map(|c| statistics(c));
    if a[2] < 500.0 || b[2] < 500.0 {
        return 0.0;
    }
    let variance = a[1] / a[2] + b[1] / b[2];
    if variance > 0.0 {
        (a[0] - b[0]) / variance.sqrt()
    } else {
        0.0
    }
}

/// The largest |t| over all percentiles and the squared deviations.
fn greatest(times: &[(bool, f64)]) -> f64 {
    let mut sorted: Vec<f64> = times.iter().map(|t| t.1).collect();
    sorted.sort_by(f64::total_cmp);
    // denser towards the slowest times: the fraction 1 - 2^(-10 i/100) of the runs
    let cuts = (1..=CUTS).map(|i| {
        let share = 1.0 - 0.5f64.powf(10.0 * f64::from(i) / f64::from(CUTS));
        sorted[(share * sorted.len() as f64) as usize]
    });
    let split = |below: f64| {
        [false, true].map(|class| {
            let all = times.iter().filter(|t| t.0 == class && t.1 <= below);
            all.map(|t| t.1).collect::<Vec<f64>>()
        })
    };
    let mut worst = 0.0f64;
    for below in cuts.chain([f64::INFINITY]) {
        worst = worst.max(welch(&split(below)).abs());
    }
    // second moment, without the slowest tenth
    let classes = split(sorted[sorted.len() * 9 / 10]);
    let squares = classes.map(|c| {
        let [mean, ..] = statistics(&c);
        c.iter().map(|x| (x - mean).powi(2)).collect()
    });
    worst.max(welch(&squares).abs())
}

/// Times `run` on inputs `make(class, number)`, class `false` being the fixed one; returns the largest |t|.
fn measure<I>(
    what: &str,
    count: usize,
    mut make: impl FnMut(bool, usize) -> I,
    mut run: impl FnMut(&mut I),
) -> f64 {
    let mut order = ChaCha20Rng::from_seed([9; 32]);
    let mut times = Vec::with_capacity(count);
    for i in 0..count + count / 10 {
        let class = order.next_u32() & 1 == 1;
        let mut input = make(class, i);
        let start = Instant::now();
        run(&mut input);
        let time: Duration = start.elapsed();
        // the first runs warm up
        if i >= count / 10 {
            times.push((class, time.as_nanos() as f64));
        }
    }
    let worst = greatest(&times);
    let mut sorted: Vec<f64> = times.iter().map(|t| t.1).collect();
    sorted.sort_by(f64::total_cmp);
    println!(
        "{what}: |t| = {worst:.2} of {count} runs, median {:.1} µs",
        sorted[count / 2] * 1e-3
    );
    worst
}

fn constant<I>(
    what: &str,
    count: usize,
    make: impl FnMut(bool, usize) -> I,
    run: impl FnMut(&mut I),
) {
    let worst = measure(what, count, make, run);
    assert!(worst < LIKELY, "{what}: |t| = {worst}");
}

/// One thread, so that every run wakes it alike.
fn one_thread(f: impl FnOnce() + Send) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.unwrap().install(f);
}

/// The same seed for all inputs of the fixed class, drawn with the same work in both classes.
fn seed(class: bool, number: usize) -> [u8; 32] {
    let mut seed = [0; 32];
    ChaCha20Rng::seed_from_u64(if class { number as u64 } else { 77 }).fill_bytes(&mut seed);
    seed
}

fn generator(class: bool, number: usize) -> ChaCha20Rng {
    ChaCha20Rng::from_seed(seed(class, number))
}

/// A leak that the test must find: the sum skips words whose last bit is 0.
#[test]
#[ignore = "measures times"]
fn a_leak_is_found() {
    let words = |class: bool, number| {
        let mut words = vec![0u64; 256];
        if class {
            let mut rng = generator(true, number);
            words.iter_mut().for_each(|x| *x = rng.next_u64());
        }
        words
    };
    let worst = measure("a leak on purpose", 20_000, words, |words| {
        let mut sum = 0u64;
        for x in &*words {
            if black_box(*x) & 1 == 1 {
                sum = black_box(sum.wrapping_mul(*x).rotate_left(7));
            }
        }
        black_box(sum);
    });
    assert!(worst > LIKELY, "|t| = {worst}");
    // no leak, none found
    let worst = measure("no leak", 20_000, words, |words| {
        black_box(words.iter().fold(0u64, |sum, x| sum.wrapping_add(*x)));
    });
    assert!(worst < LIKELY, "|t| = {worst}");
}

/// Key sampling: one seed for the fixed class, fresh seeds for the other.
#[test]
#[ignore = "measures times"]
fn sampling() {
    let mut signed = vec![0i64; 4096];
    let mut words = vec![0u64; 2048];
    constant("BGV errors", 20_000, generator, |rng| {
        sample::gaussian(&mut rng.clone(), black_box(&mut signed));
    });
    constant("BGV secrets", 5_000, generator, |rng| {
        sample::fixed_weight(&mut rng.clone(), 64, black_box(&mut signed));
    });
    constant("ternary", 20_000, generator, |rng| {
        sample::ternary(&mut rng.clone(), black_box(&mut signed));
    });
    constant("TFHE errors", 20_000, generator, |rng| {
        torus::add_gaussian(&mut rng.clone(), 2f64.powf(-12.76), black_box(&mut words));
    });
    constant("TFHE secrets", 20_000, generator, |rng| {
        torus::binary(&mut rng.clone(), black_box(&mut words));
    });
}

fn aes_key(class: bool, number: usize) -> [u8; 16] {
    let seed = seed(class, number);
    core::array::from_fn(|i| seed[i])
}

#[test]
#[ignore = "measures times"]
fn bgv() {
    one_thread(|| {
        use homaes_bgv::{Params, SecretKey, WrapOptions, WrappedKey, sets};
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        constant("expansion of an AES key", 20_000, aes_key, |key| {
            drop(black_box(RoundKeys::expand(key)))
        });
        let params = Params::new(&sets::TOY_255).unwrap();
        let secret = SecretKey::generate(&params, &mut rng).unwrap();
        let keys = |class, number| RoundKeys::expand(&aes_key(class, number)).unwrap();
        constant("BGV wrap-key, bgv/toy-255", 2_000, keys, |keys| {
            let wrapped = WrappedKey::encrypt(&secret, keys, WrapOptions::default(), &mut rng);
            drop(black_box(wrapped));
        });
        let bytes = |params: &Params, class, number| {
            let mut bytes = vec![0; params.slots().count()];
            generator(class, number).fill_bytes(&mut bytes);
            bytes
        };
        for (set, count) in [(&sets::TOY_255, 40_000), (&sets::TOY_4369, 4_000)] {
            let params = Params::new(set).unwrap();
            let name = set.name.as_str();
            let secret = SecretKey::generate(&params, &mut rng).unwrap();
            let plain = |class, number| bytes(&params, class, number);
            constant(&format!("BGV encryption, {name}"), count, plain, |bytes| {
                drop(black_box(secret.encrypt(bytes, &mut rng)));
            });
            let mut own = ChaCha20Rng::from_seed([2; 32]);
            constant(
                &format!("BGV decryption of bytes, {name}"),
                count,
                |class, number| secret.encrypt(&plain(class, number), &mut own).unwrap(),
                |c| drop(black_box(secret.decrypt(c))),
            );
        }
        let mut own = ChaCha20Rng::from_seed([3; 32]);
        constant(
            "BGV decryption by keys, bgv/toy-255",
            4_000,
            |class, number| {
                let secret = SecretKey::generate(&params, &mut generator(class, number)).unwrap();
                let c = secret.encrypt(&[5], &mut own).unwrap();
                (secret, c)
            },
            |(secret, c)| drop(black_box(secret.decrypt(c))),
        );
    });
}

#[test]
#[ignore = "measures times"]
fn tfhe() {
    one_thread(|| {
        use homaes_tfhe::{
            Aes, EvalKey, Params, SecretKey, State, WrapOptions, WrappedKey, batch_bytes,
            decode_batch, sets,
        };
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let params = Params::new(&sets::P64).unwrap();
        let secret = SecretKey::generate(&params, &mut rng).unwrap();
        let keys = |class, number| RoundKeys::expand(&aes_key(class, number)).unwrap();
        constant("TFHE wrap-key, tfhe/p64", 10_000, keys, |keys| {
            let wrapped = WrappedKey::encrypt(&secret, keys, WrapOptions::default(), &mut rng);
            drop(black_box(wrapped));
        });
        // any words are valid ciphertexts of bits
        let mut body = vec![0; batch_bytes(&params, 1) as usize];
        rng.fill_bytes(&mut body);
        body[..8].copy_from_slice(&(-10f64).to_le_bytes());
        let state = decode_batch(&params, None, 1, &body).unwrap();
        constant(
            "TFHE decryption by keys, tfhe/p64",
            4_000,
            |class, number| SecretKey::generate(&params, &mut generator(class, number)).unwrap(),
            |secret| drop(black_box(secret.decrypt_blocks(&state))),
        );
        // AES of one block or of varying blocks, evaluated in advance
        let params = Params::new(&sets::TOY).unwrap();
        let secret = SecretKey::generate(&params, &mut rng).unwrap();
        let eval = EvalKey::generate(&secret, &mut rng);
        let wrapped =
            WrappedKey::encrypt(&secret, &keys(false, 0), WrapOptions::default(), &mut rng);
        let wrapped = wrapped.unwrap();
        let aes = Aes::new(&eval, &wrapped).unwrap();
        let states = [false, true].map(|class| {
            let blocks = (0..128).map(|number| aes_key(class, number));
            blocks
                .map(|block| aes.evaluate(&[block]).unwrap())
                .collect()
        });
        let states: [Vec<State>; 2] = states;
        constant(
            "TFHE decryption of blocks, tfhe/toy",
            100_000,
            |class, number| states[usize::from(class)][number % 128].clone(),
            |state| drop(black_box(secret.decrypt_blocks(state))),
        );
    });
}
