//! Blind rotation as CGGI20 writes it (§3, §4): external products of schoolbook products of words.

use super::trial::{Trial, torus_of};
use crate::ciphertext::{Glwe, Polynomial};
use crate::parts::Part;
use crate::ring;
use crate::rotation::{BlindRotation, Exponents, Rotation};
use crate::set::{Gadget, LweKey, Shape};
use crate::{BitsSet, Params, sets};
use homaes_math::torus;
use homaes_scheme::Cancel;

/// Mask polynomials and body of a GLWE ciphertext.
type Polynomials = Vec<Vec<u64>>;

/// a·b modulo X^N + 1.
fn times(a: &[i64], b: &[u64]) -> Vec<u64> {
    let mut out = vec![0u64; b.len()];
    for (i, &a) in a.iter().enumerate() {
        for (j, &b) in b.iter().enumerate() {
            let (turns, k) = ((i + j) / out.len(), (i + j) % out.len());
            let sign = 1 - 2 * turns as i64;
            out[k] = out[k].wrapping_add(b.wrapping_mul((sign * a) as u64));
        }
    }
    out
}

/// Digits in [-B/2, B/2) of the coefficients, rounded, the largest first.
fn decompose(gadget: Gadget, polynomial: &[u64]) -> Vec<Vec<i64>> {
    let unused = 64 - gadget.levels as u32 * gadget.base_log;
    let rounded = |x: &u64| (x.wrapping_add(1 << (unused - 1)) >> unused) as i64;
    let mut rest: Vec<i64> = polynomial.iter().map(rounded).collect();
    let mut digits = vec![Vec::new(); gadget.levels];
    for digits in digits.iter_mut().rev() {
        for rest in &mut rest {
            let digit = *rest << (64 - gadget.base_log) >> (64 - gadget.base_log);
            *rest = (*rest - digit) >> gadget.base_log;
            digits.push(digit);
        }
    }
    digits
}

/// ACC ⊡ K: the digits of all polynomials of the accumulator times the rows of a GGSW ciphertext.
fn external_product(
    acc: &[Vec<u64>],
    rows: &[Polynomials],
    [mask, body]: [Gadget; 2],
) -> Polynomials {
    let rank = acc.len() - 1;
    let digits = acc.iter().enumerate();
    let digits = digits.flat_map(|(i, p)| decompose(if i < rank { mask } else { body }, p));
    let mut out = vec![vec![0u64; acc[0].len()]; rank + 1];
    for (digit, row) in digits.zip(rows) {
        for (out, row) in out.iter_mut().zip(row) {
            let product = times(&digit, row);
            for (out, x) in out.iter_mut().zip(product) {
                *out = out.wrapping_add(x);
            }
        }
    }
    out
}

/// ACC + Σ_i (X^e_i - 1)·ACC ⊡ K_i.
fn step(acc: &Polynomials, keys: &[(usize, &[Polynomials])], gadgets: [Gadget; 2]) -> Polynomials {
    let mut out = acc.clone();
    for &(exponent, rows) in keys {
        for (out, product) in out.iter_mut().zip(external_product(acc, rows, gadgets)) {
            let mut moved = vec![0; product.len()];
            ring::rotate(&product, exponent % (2 * product.len()), &mut moved);
            for ((out, moved), product) in out.iter_mut().zip(moved).zip(product) {
                *out = out.wrapping_add(moved).wrapping_sub(product);
            }
        }
    }
    out
}

/// The rows of the GGSW ciphertexts of a step, key by key.
fn rows(shape: &Shape, trial: &Trial<BitsSet>, number: usize) -> Vec<Polynomials> {
    let masks = Part::Step(number).numbered_masks(shape, &trial.public);
    let bodies = trial.bodies[number].chunks(shape.degree);
    let row = |(stream, body): (u64, &[u64])| {
        let mut mask = vec![0; shape.rank * shape.degree];
        torus::uniform(&masks.seed, stream, &mut mask);
        mask.chunks(shape.degree)
            .chain([body])
            .map(<[u64]>::to_vec)
            .collect()
    };
    (masks.first..).zip(bodies).map(row).collect()
}

/// The first step gives the words of the formulas but for the precision of the transform. All steps give their phases but
/// for noise, because a digit may be rounded the other way.
#[test]
fn rotations_are_those_of_the_paper() {
    for set in [&sets::TOY, &sets::TOY_BLOCKS] {
        let params = Params::new(set).unwrap();
        let set = params.bits().unwrap();
        let set = &BitsSet {
            rank: 2,
            ..set.clone()
        };
        let (shape, trial) = (Shape::from(set), Trial::new(set, [6; 32]));
        let (n, full_turn) = (set.degree, 2 * set.degree);
        let test: Vec<u64> = (0..n as u64).map(|i| i.wrapping_mul(i) << 50).collect();
        let mask: Vec<usize> = (0..set.lwe_dimension)
            .map(|i| (i * i + 77 * i + 5) % full_turn)
            .collect();
        let exponents = Exponents { mask, body: 19 };
        let gadgets = [set.rotation_mask, set.rotation_body];
        let mut acc = vec![vec![0; n]; set.rank + 1];
        ring::rotate(&test, full_turn - exponents.body, &mut acc[set.rank]);
        let steps = trial.spectra.steps.len();
        for number in 0..steps {
            let rows = rows(&shape, &trial, number);
            let own = &exponents.mask[number * set.unroll..][..set.unroll];
            let powers = match (set.lwe_key, own) {
                (LweKey::Independent, &[a, b]) => vec![a, b, a + b],
                _ => own.to_vec(),
            };
            let keys = rows.chunks(rows.len() / powers.len());
            let keys: Vec<_> = powers.into_iter().zip(keys).collect();
            acc = step(&acc, &keys, gadgets);
            let rotation = BlindRotation {
                fourier: &trial.fouriers[0],
                steps: &trial.spectra.steps[..=number],
                lwe_key: set.lwe_key,
                unroll: set.unroll,
                rank: set.rank,
                mask: gadgets[0],
                body: gadgets[1],
                cancel: &Cancel::new(),
            };
            let rotations = [Rotation {
                exponents: &exponents,
                test: Polynomial::Public(&test),
            }];
            let found = rotation.run(&rotations).0.remove(0);
            let mut wanted = Glwe::zeroed(set.rank, n);
            let polynomials = wanted.polynomials_mut().zip(&acc);
            polynomials.for_each(|(out, x)| out.copy_from_slice(x));
            let close = |x: &[u64], y: &[u64], variance: f64| {
                let most = x
                    .iter()
                    .zip(y)
                    .map(|(x, y)| torus_of(x.wrapping_sub(*y)).abs());
                let (most, sigma) = (most.fold(0.0, f64::max), variance.sqrt());
                assert!(most < 8.0 * sigma, "step {number}: {most} of {sigma}");
            };
            let noise = crate::noise::rotation(set);
            if number == 0 {
                close(found.words(), wanted.words(), noise.fft / steps as f64);
            }
            let secret = trial.secrets();
            let [found, wanted] = [found, wanted].map(|c| c.phase(&secret.glwe));
            close(&found, &wanted, noise.total());
        }
    }
}
