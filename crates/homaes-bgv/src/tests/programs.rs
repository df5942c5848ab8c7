//! Random programs: every allowed result is right, with noise below its bound.

use super::*;
use crate::circuit::{Axis, Lift};
use rayon::prelude::*;

type Value = (Ciphertext, Vec<u8>);

/// An operation of a random program: its name, its result, and the expected bytes.
type Step = (&'static str, Result<Ciphertext>, Vec<u8>);

/// An element of `pool`, usually among the latest.
fn any<'p>(pool: &'p [Value], rng: &mut ChaCha20Rng) -> &'p Value {
    let most = match rng.next_u32() % 3 {
        0 => pool.len(),
        _ => pool.len().min(3),
    };
    &pool[pool.len() - 1 - rng.next_u32() as usize % most]
}

fn linear_step(f: &Fixture, pool: &[Value], rng: &mut ChaCha20Rng) -> Step {
    let c = Evaluator::new(&f.eval);
    let n = f.params.slots().count();
    let ((x, a), (y, b)) = (any(pool, rng), any(pool, rng));
    let byte = rng.next_u32() as u8;
    let (k, steps) = (rng.next_u32() as usize % 8, rng.next_u32() as usize % 200);
    let axis = Axis::ALL[rng.next_u32() as usize % 3];
    let map = |g: &dyn Fn(u8) -> u8| map(a, g);
    let bytes = match byte % 3 {
        0 => bounds::chosen_bytes(&f.params),
        _ => random_bytes(rng, n),
    };
    let sum = |b: &[u8]| zip(a, b, |a, b| a ^ b);
    let moved = |e: usize| circuit::moved(f, a, axis, e);
    match rng.next_u32() % 12 {
        0 => ("add", c.add(x, y), sum(b)),
        1 => ("add_public", c.add_public(x, &bytes), sum(&bytes)),
        2 => ("add_byte", c.add_byte(x, byte), map(&|x| x ^ byte)),
        3 => ("not", c.not(x), map(&|x| x ^ 1)),
        4 => {
            let want = map(&|x| gf256::mul(x, byte));
            ("multiply_byte", c.multiply_byte(x, byte), want)
        }
        5 => {
            let lift = match byte % 2 {
                0 => Lift::ZeroOne,
                _ => Lift::Signs([byte; 32]),
            };
            let want = zip(a, &bytes, gf256::mul);
            ("multiply_public", c.multiply_public(x, &bytes, lift), want)
        }
        6 | 7 => {
            let terms: Vec<(&Value, u8)> = (0..1 + rng.next_u32() % 70)
                .map(|_| (any(pool, rng), rng.next_u32() as u8))
                .collect();
            let want = terms.iter().fold(vec![0; n], |sum, (v, c)| {
                zip(&sum, &v.1, |s, x| s ^ gf256::mul(x, *c))
            });
            let terms: Vec<_> = terms.iter().map(|(v, c)| (&v.0, *c)).collect();
            ("combine", c.combine(&terms), want)
        }
        8 => {
            let want = map(&|x| gf256::frobenius(x, k as u32));
            ("frobenius", c.frobenius(x, k), want)
        }
        9 => ("rotate", c.rotate(x, axis, steps), moved(steps)),
        10 => {
            let want =
                (0..c.places(axis)).fold(vec![0; n], |sum, e| zip(&sum, &moved(e), |a, b| a ^ b));
            ("sum_slots", c.sum_slots(x, &[axis]), want)
        }
        _ => ("mod_switch", c.mod_switch(x), a.clone()),
    }
}

fn product_step(f: &Fixture, pool: &[Value], rng: &mut ChaCha20Rng) -> Step {
    let c = Evaluator::new(&f.eval);
    let n = f.params.slots().count();
    let [(x, a), (y, b), (z, d)] = [any(pool, rng), any(pool, rng), any(pool, rng)];
    let byte = rng.next_u32() as u8;
    let k = rng.next_u32() as usize % 8;
    let axis = Axis::ALL[rng.next_u32() as usize % 3];
    let map = |g: &dyn Fn(u8) -> u8| map(a, g);
    let product = zip(a, b, gf256::mul);
    let cubic = zip(&product, d, gf256::mul);
    let frobenius = |x: u8| gf256::frobenius(x, k as u32);
    let or = |a: u8, b: u8| 1 ^ gf256::mul(1 ^ a, 1 ^ b);
    match rng.next_u32() % 14 {
        0 | 1 => ("multiply", c.multiply(x, y), product),
        2 => ("square", c.multiply(x, x), map(&|x| gf256::mul(x, x))),
        3 => {
            let want = zip(a, b, |a, b| gf256::mul(a, frobenius(b)));
            ("multiply_frobenius", c.multiply_frobenius(x, y, k), want)
        }
        4 => ("multiply_three", c.multiply_three(x, y, z), cubic),
        5 => ("is_zero", c.is_zero(x), map(&|x| u8::from(x == 0))),
        6 => {
            let want = map(&|x| u8::from(x == byte));
            ("equals_byte", c.equals_byte(x, byte), want)
        }
        7 => {
            let bytes = random_bytes(rng, n);
            let want = zip(a, &bytes, |a, b| u8::from(a == b));
            ("equals_public", c.equals_public(x, &bytes), want)
        }
        8 => ("and", c.and(x, y), product),
        9 => ("or", c.or(x, y), zip(a, b, or)),
        10 => {
            let k = k % 4;
            let p = c.mul_frobenius(x, y, k);
            let p = p.and_then(|p| c.add_product(c.mul_frobenius(y, x, k)?, &p));
            let frob = |x: u8| gf256::frobenius(x, k as u32);
            let want = zip(a, b, |a, b| gf256::mul(a, frob(b)) ^ gf256::mul(b, frob(a)));
            let out = p.and_then(|p| c.relinearize(&p));
            ("sum of products", out, want)
        }
        11 => ("all", c.all(&[x, y, z]), cubic),
        12 => {
            let want = zip(&zip(a, b, or), d, or);
            ("any", c.any(&[x, y, z]), want)
        }
        _ => {
            let want = (0..c.places(axis)).fold(vec![1; n], |product, e| {
                zip(&product, &circuit::moved(f, a, axis, e), gf256::mul)
            });
            ("all_slots", c.all_slots(x, &[axis]), want)
        }
    }
}

/// Runs a program of at most 60 operations; returns how many were allowed and how many refused.
fn random_program(f: &Fixture, start: &[Value], seed: u64) -> [usize; 2] {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut pool = start.to_vec();
    let mut refused = 0;
    for step in 0..1 + rng.next_u32() % 60 {
        let (name, result, want) = match rng.next_u32() % 2 {
            0 => linear_step(f, &pool, &mut rng),
            _ => product_step(f, &pool, &mut rng),
        };
        let what = format!("program {seed}, step {step}, {name}");
        match result {
            Ok(c) => {
                sound(f, &c, &want, &what);
                pool.push((c, want));
            }
            Err(
                Error::TooNoisy { .. }
                | Error::TooDeep { .. }
                | Error::NoKey { .. }
                | Error::Eval(_),
            ) => refused += 1,
            Err(e) => panic!("{what}: {e}"),
        }
    }
    [pool.len() - start.len(), refused]
}

fn random_programs(set: &ParamSet, programs: core::ops::Range<u64>) {
    let mut f = fixture(set, 42);
    // fresh, lowered and public ciphertexts, and outputs of AES
    let mut start: Vec<Value> = Vec::new();
    for level in [12, 12, 9] {
        let x = f.bytes();
        start.push((f.at_level(&x, level), x));
    }
    let x = f.bytes();
    let public = Evaluator::new(&f.eval).public(&x).unwrap();
    start.push((f.lowered(&public, 12), x));
    let wrapped = f.wrap(&[3; 16], bounds::FOR_CIRCUITS);
    let mut state = f
        .aes(&wrapped, Layout::Sliced)
        .evaluate(&[[7; 16]])
        .unwrap();
    let ones = vec![[0xff; 16]; f.params.slots().count()];
    state.xor_public(&f.params, &ones).unwrap();
    for c in &state.ciphertexts()[..2] {
        start.push((c.clone(), f.secret.decrypt(c).unwrap().0));
    }
    let count = programs.end - programs.start;
    let counts = programs
        .into_par_iter()
        .map(|seed| random_program(&f, &start, seed));
    let [right, refused] = counts.reduce(|| [0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
    assert!(right > 5 * count as usize && refused > 0);
}

#[test]
fn random_programs_are_right_or_refused() {
    random_programs(&sets::TOY_255, 0..200);
}

#[test]
#[ignore = "nightly: minutes"]
fn nightly_many_random_programs_are_right_or_refused() {
    random_programs(&sets::TOY_255, 200..6000);
    random_programs(&sets::TOY_4369, 0..100);
}
