//! The scheme's noise at single embeddings, against the models of [`crate::noise::runaway`], [`crate::quality`] and
//! [`crate::noise::bound`].

use super::*;
use crate::circuit::bounds::key_switch_variance_log2;
use crate::quality;

/// Number of tested embeddings: those where the secret is largest, one of each conjugate pair.
const WORST: usize = 16;

/// Mean over `samples` of the squared noise at every embedding, and of its square at the embeddings `at`; and the share
/// of squares above `tail` times their variance.
fn sampled(
    f: &mut Fixture,
    samples: usize,
    (at, variances, tail): (&[usize], &[f64], f64),
    mut noise: impl FnMut(&mut Fixture) -> Ciphertext,
) -> (Vec<f64>, Vec<f64>, f64) {
    let (mut second, mut fourth) = (vec![0.0; f.params.ring().n()], vec![0.0; at.len()]);
    let mut above = 0usize;
    for _ in 0..samples {
        let c = noise(f);
        let squares = f.secret.noise_embeddings(&c);
        for (sum, s) in second.iter_mut().zip(squares.iter()) {
            *sum += s / samples as f64;
        }
        for (sum, &j) in fourth.iter_mut().zip(at) {
            *sum += squares[j].powi(2) / samples as f64;
        }
        let pairs = squares.iter().zip(variances);
        above += pairs.filter(|(s, v)| **s > tail * **v).count();
    }
    let all = (samples * variances.len()).max(1) as f64;
    (second, fourth, above as f64 / all)
}

/// The embeddings at which `values` is largest, one of each conjugate pair.
fn worst(f: &Fixture, values: &[f64]) -> Vec<usize> {
    let conjugate = f.params.ring().galois(f.params.ring().m() - 1).unwrap();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.retain(|&j| j < conjugate.source(j));
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    order.truncate(WORST);
    order
}

/// Compares the noise of a modulus switch and of a key switch with the model, at the embeddings where they are largest.
fn check_embeddings(mut f: Fixture, samples: usize) {
    let params = f.params.clone();
    let ring = params.ring();
    let real: Vec<f64> = f.secret.coefficients().iter().map(|&c| c as f64).collect();
    let kappa: Vec<f64> = homaes_math::embed::squared_magnitudes(ring, &real)
        .iter()
        .map(|s| 1.0 + s)
        .collect();
    let at = worst(&f, &kappa);
    // four standard deviations of a mean of `samples` exponential variables; for their squares, three times that
    let slack = 4.0 / (samples as f64).sqrt();

    // rounding: a fresh encryption switched down, which divides its own noise by 2^13.5 or more
    let unit = ring.n() as f64 / 3.0;
    let tail = 4.0;
    let variances: Vec<f64> = kappa.iter().map(|k| unit * k).collect();
    let (second, fourth, above) = sampled(&mut f, samples, (&at, &variances, tail), |f| {
        let bytes = f.bytes();
        let c = f.encrypt(&bytes);
        Evaluator::new(&f.eval).mod_switch(&c).unwrap()
    });
    let mut mean = [0.0; 2];
    for (&j, &fourth) in at.iter().zip(&fourth) {
        let found = second[j] / (unit * kappa[j]);
        let normality = fourth / (2.0 * second[j].powi(2));
        assert!((found - 1.0).abs() < slack, "embedding {j}: {found}");
        mean[0] += found / at.len() as f64;
        mean[1] += normality / at.len() as f64;
    }
    let normal = (-tail).exp();
    // one of each conjugate pair, four standard deviations
    let count = (samples * ring.n() / 2) as f64;
    let deviation = (normal / count).sqrt();
    let near = 4.0 * deviation + 0.02 * normal;
    assert!((above - normal).abs() < near, "{above}");
    let several = slack / (WORST as f64).sqrt();
    assert!((mean[0] - 1.0).abs() < several, "{}", mean[0]);
    assert!((mean[1] - 1.0).abs() < 3.0 * several, "{}", mean[1]);

    // key switching at a level where it dominates: one key's noise over many ciphertexts
    let top = f.params.top_level();
    let plan = params.staying(top);
    let model = params.noise();
    let variance = 2.0 * model.key_switch_log2(1, plan);
    let weights = plan.shares();
    let spread = quality::key_spread(&weights);
    let (second, ..) = sampled(&mut f, samples, (&[], &[], tail), |f| {
        let bytes = f.bytes();
        let c = f.encrypt(&bytes);
        Evaluator::new(&f.eval).frobenius(&c, 1).unwrap()
    });
    // the noise of the ciphertext and of the division
    let other = 2.0 * model.fresh().rms_log2;
    let rounding = |j: usize| unit * kappa[j];
    let switched: Vec<f64> = (0..second.len())
        .map(|j| (second[j] - other.exp2() - rounding(j)) / variance.exp2())
        .collect();
    let mean = switched.iter().sum::<f64>() / switched.len() as f64;
    let largest = switched.iter().copied().fold(0.0, f64::max);
    // a key's errors are drawn once: half the embeddings give the mean to four standard deviations
    let total: f64 = weights.iter().sum();
    let squares: f64 = weights.iter().map(|w| (w / total).powi(2)).sum();
    let sure = 4.0 * (squares * 2.0 / ring.n() as f64).sqrt();
    assert!((mean - 1.0).abs() < sure.max(0.02), "{mean}, sure {sure}");
    assert!(largest < spread * (1.0 + slack), "{largest} above {spread}");
    let bound = key_switch_variance_log2(&params, plan, 1);
    let most = variance + largest.log2();
    assert!(most < bound, "{most} {bound}");
}

#[test]
#[ignore = "nightly: two thousand key switches"]
fn nightly_noise_at_the_worst_embeddings() {
    check_embeddings(toy(31), 2000);
}

#[test]
#[ignore = "nightly: two minutes"]
fn nightly_noise_at_the_worst_embeddings_at_full_size() {
    check_embeddings(fixture(&sets::AES128, 32), 256);
}
