//! Tests: the pieces against closed forms, the bound against simulation.

mod simulation;

use super::grid::{BEYOND, Dist, Grid, REACH};
use super::ladder::FINE;
use super::recursion::Recursion;
use super::*;
use crate::linear::{LinearLayer, SECOND_CLASS};
use homaes_aes::gf256;
use homaes_math::Ring;
use homaes_math::sample::fixed_weight;
use homaes_math::slots::Slots;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use simulation::{Complex, Simulated};
use std::f64::consts::PI;

const AXES: [u32; 4] = [3, 5, 17, 257];
const SMALL: [u32; 3] = [3, 5, 17];

fn secret(ring: &Ring, weight: usize, seed: u64) -> Vec<i64> {
    let mut coefficients = vec![0; ring.n()];
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    fixed_weight(&mut rng, weight, &mut coefficients);
    coefficients
}

/// The constants of the linear layer for one choice of the second class of slots.
fn layer_of(second_class: usize) -> Option<LinearLayer> {
    let ring = Ring::new(255).unwrap();
    Some(LinearLayer::new(&Slots::new(&ring, second_class)?))
}

fn layer() -> LinearLayer {
    layer_of(SECOND_CLASS).unwrap()
}

fn gains() -> LinearGains {
    let layer = layer();
    let wide = |set: &Vec<u8>| set.iter().map(|&e| u32::from(e)).collect::<Vec<u32>>();
    LinearGains::from_lifts(17, &layer.gamma.each_ref().map(wide), &wide(&layer.two))
}

fn profile(seed: u64) -> KeyProfile {
    let ring = Ring::new(65535).unwrap();
    KeyProfile::from_secret(&ring, &secret(&ring, 256, seed)).unwrap()
}

fn model(d: f64, dl: f64) -> StabilityModel {
    StabilityModel::aes([d, d, dl], 10, 10.7, gains())
}

/// The same with `D = 8.6` and `w = 2^-8.6` for any unit.
fn model_of(unit: f64) -> StabilityModel {
    model(unit + 3.1, unit + 8.6)
}

#[test]
fn lifts_of_the_constants() {
    assert!(layer_of(2).is_none() && layer_of(17).is_none());
    let coefficients = gf256::linearised(gf256::affine_linear);
    let pow = |base: u8, e: u32| (0..e).fold(1, |acc, _| gf256::mul(acc, base));
    for second_class in (1..16).step_by(2) {
        let layer = layer_of(second_class).unwrap();
        assert_eq!(layer.gamma[5], [0], "the coefficient 1");
        // ζ_17 as the slots label it, and the exponents of the two representatives
        let root = pow(2, 15);
        let second = (0..second_class).fold(1, |acc, _| acc * 3 % 17);
        let value = |set: &[u8], at: u32| {
            set.iter()
                .fold(0, |acc, &e| acc ^ pow(root, u32::from(e) * at % 17))
        };
        for (set, &c) in layer.gamma.iter().zip(&coefficients) {
            assert!(set.len() <= 8);
            assert_eq!((value(set, 1), value(set, second)), (c, c));
        }
        assert_eq!((value(&layer.two, 1), value(&layer.two, second)), (2, 2));
    }
}

#[test]
fn gains_of_the_aes_layer() {
    let gains = gains();
    assert!((gains.mean_power() - 267.75).abs() < 1e-9);
    assert!((gains.mean_power() - layer().mean_powers().1).abs() < 1e-9);
    assert!(gains.max_power() > gains.mean_power());
}

#[test]
fn rounding_noise_is_nearly_independent_along_an_orbit() {
    // E[R_j·conj R_{j+i}] and E[R_j·R_{j+i}], over E|R_j|²: sums of ζ^(k(1 ∓ 2^i)) over the units k
    let m: u64 = AXES.iter().map(|&r| u64::from(r)).product();
    let units = (1..m).filter(|k| AXES.iter().all(|&r| k % u64::from(r) != 0));
    let units: Vec<u64> = units.collect();
    let cosine: Vec<f64> = (0..m)
        .map(|e| (2.0 * PI * e as f64 / m as f64).cos())
        .collect();
    let correlation = |factor: u64| {
        let sum: f64 = units
            .iter()
            .map(|k| cosine[(k * factor % m) as usize])
            .sum();
        (sum / units.len() as f64).abs()
    };
    for i in 1..16 {
        let (plain, conjugate) = if i == 8 {
            (2f64.powi(-8), 2f64.powi(-7))
        } else {
            (2f64.powi(-12), 2f64.powi(-11))
        };
        assert!(correlation(m + 1 - (1 << i)) <= plain + 1e-9, "{i}");
        assert!(correlation(1 + (1 << i)) <= conjugate + 1e-9, "{i}");
    }
    assert!(correlation(2) < 1e-4, "circular");
}

#[test]
fn profile_matches_direct_evaluation() {
    let ring = Ring::new(255).unwrap();
    let mut s = secret(&ring, 20, 1);
    let zero = s.iter().position(|&c| c == 0).unwrap();
    s[zero] = -3;
    let key = KeyProfile::from_secret(&ring, &s).unwrap();
    assert_eq!(
        (key.dimension(), key.orbit_len(), key.kappa().len()),
        (128, 8, 64)
    );
    assert_eq!((key.weight, key.dual), (29, 8.0 / 255.0));
    // the primitive root in use is exp(2πi Σ 1/r)
    let turn: f64 = SMALL.iter().map(|&r| 1.0 / f64::from(r)).sum();
    let mut seen = Vec::new();
    for orbit in 0..8 {
        // the orbit starts at the first position not seen, nor its conjugate
        let starts = (0..ring.n()).map(|i| ring.exponent(i));
        let start = starts.into_iter().find(|j| !seen.contains(j)).unwrap();
        for i in 0..8 {
            let j = (start << i) % 255;
            seen.extend([j, 255 - j]);
            let (re, im) = s.iter().enumerate().fold((0.0, 0.0), |acc, (at, &c)| {
                let exponent = j * ring.exponent(at) % 255;
                let (sin, cos) = (2.0 * PI * exponent as f64 * turn).sin_cos();
                (acc.0 + c as f64 * cos, acc.1 + c as f64 * sin)
            });
            let found = key.kappa()[orbit * 8 + i];
            assert!((found - 1.0 - re * re - im * im).abs() < 1e-9);
            assert_eq!(u64::from(key.class()[orbit * 8 + i]), j % 17);
        }
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 128, "every embedding once");
}

#[test]
fn profile_refuses_what_it_cannot_describe() {
    let found = |m: u64| {
        let ring = Ring::new(m).unwrap();
        KeyProfile::from_secret(&ring, &vec![1; ring.n()])
    };
    assert!(found(17).is_none(), "-1 is a power of 2");
    assert!(found(15).is_none() && found(15 * 257).is_none(), "no 17");
    assert_eq!(found(51).unwrap().orbit_len(), 8);
    assert_eq!(found(4369).unwrap().orbit_len(), 16);
    let ring = Ring::new(255).unwrap();
    assert!(KeyProfile::from_secret(&ring, &[1; 127]).is_none());
    assert!(KeyProfile::from_secret(&ring, &[1 << 31; 128]).is_none());
    assert!(KeyProfile::from_kappa(&SMALL, 4, 8, vec![1.0; 9], vec![1; 9]).is_none());
}

#[test]
fn grid_laws() {
    let grid = Grid::new(1.0 / 16.0);
    for (_, masses) in &grid.kernel {
        let sum: f64 = masses.iter().sum();
        assert!((1.0..1.0 + 2e-5).contains(&sum), "{sum}");
    }
    // |R| with R circular normal: the tail is exp(-x²), seen one grid step late
    let law = grid.offset_normal(0.0, 1.0);
    let mut tail = law.lost;
    for l in (0..law.mass.len()).rev() {
        tail += law.mass[l];
        let x = grid.value((law.lo + l).max(1) - 1);
        if x > 1.0 && x < 8.0 {
            let nats = -tail.ln();
            assert!(
                nats < x * x + 0.01 && nats > 0.9 * x * x - 0.5,
                "{x} {nats}"
            );
        }
    }
    let high = grid.offset_normal(1025.0, 1.0);
    assert!(high.lost >= 1.0 && high.mass.iter().sum::<f64>() == 0.0);
    let square = grid.product(&law, &law, 0);
    let mean = |d: &Dist| {
        d.mass
            .iter()
            .enumerate()
            .map(|(l, m)| m * grid.value(d.lo + l).powi(2))
            .sum::<f64>()
    };
    assert!(mean(&law) >= 1.0 && mean(&law) < 1.1 && mean(&square) >= 1.0 && mean(&square) < 1.25);
}

/// `P(|a + R| > t)` for `R` circular normal of variance 1, by Simpson's rule over as much of the
/// density as matters for ten digits, `I_0` as an integral over the circle.
fn rice_tail(a: f64, t: f64) -> f64 {
    const STEPS: usize = 1000;
    let density = |t: f64| {
        let x = 2.0 * a * t;
        let count = 30 + (5.0 * x.sqrt()) as usize;
        let point = |i: usize| (x * ((PI * (i as f64 + 0.5) / count as f64).cos() - 1.0)).exp();
        let bessel = (0..count).map(point).sum::<f64>() / count as f64;
        2.0 * t * (-(t - a) * (t - a)).exp() * bessel
    };
    let d = t - a;
    let width = ((d * d + 25.0).sqrt() - d) / STEPS as f64;
    let weight = |i: usize| match i {
        0 | STEPS => 1.0,
        _ => 2.0 + 2.0 * (i % 2) as f64,
    };
    let sum: f64 = (0..=STEPS)
        .map(|i| weight(i) * density(t + i as f64 * width))
        .sum();
    sum * width / 3.0
}

#[test]
fn grid_masses_cover_the_rice_tail() {
    assert!(BEYOND >= 2.0 * (-REACH * REACH).exp());
    for x in [0.5f64, 2.0, 6.0, 14.0] {
        assert!((rice_tail(0.0, x) / (-x * x).exp() - 1.0).abs() < 1e-8);
    }
    for octave_step in [1.0 / 8.0, 1.0 / 32.0] {
        let grid = Grid::new(octave_step);
        for offset in [0.0f64, 0.3, 1.0, 2.5, 7.0, 30.0, 120.0] {
            let row = grid.index(offset);
            let a = grid.value(row);
            let (start, masses) = &grid.kernel[row];
            let law = grid.offset_normal(a, 1.0);
            let mut last = None;
            for distance in [
                -1.0, 0.3, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 13.0, 14.0, 15.0,
            ] {
                let l = grid.index((a + distance).max(0.2)) - 1;
                let t = grid.value(l);
                if last == Some(l) || t > a + 15.0 {
                    continue;
                }
                last = Some(l);
                let above = |lo: usize, mass: &[f64]| {
                    mass.iter().skip((l + 1).saturating_sub(lo)).sum::<f64>()
                };
                let (kernel, truth) = (above(*start, masses), rice_tail(a, t));
                assert!(kernel + BEYOND >= truth, "{a} {t}: {kernel} {truth}");
                if t < a + 14.5 {
                    let excess = kernel / truth - 1.0;
                    assert!((0.0..2e-5).contains(&excess), "{a} {t}: {excess}");
                }
                let all = above(law.lo, &law.mass) + law.lost;
                assert!(all >= truth, "{a} {t}: {all} {truth}");
            }
        }
    }
}

#[test]
fn one_round_bound_covers_simulation() {
    let kappa: Vec<f64> = (0..8)
        .map(|i| if i < 2 { 5.0 } else { 1.0 })
        .map(|k| 17.0 * k)
        .collect();
    let class: Vec<u32> = (0..8).map(|i| (1 << i) % 17).collect();
    let key = KeyProfile::from_kappa(&SMALL, 16, 8, kappa, class).unwrap();
    let unit = key.unit().log2();
    let mut model = model(unit + 1.6, unit + 6.0);
    model.fresh_bits = unit - 1.0;
    let carried = vec![0.8; 8];
    let recursion = Recursion::new(&model, &key, FINE);
    let tails = recursion
        .round(&recursion.orbit(0), &carried, 20.0)
        .unwrap();
    let orbit = Simulated::new(&model, &key, 0);
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let carried: Vec<Complex> = carried.iter().map(|&c| (c, 0.0)).collect();
    let mut found: Vec<Vec<f64>> = vec![Vec::new(); 8];
    for _ in 0..10_000 {
        let s: Vec<_> = (0..4)
            .map(|_| orbit.sbox(&carried, false, &mut rng))
            .collect();
        for (j, z) in orbit.mix(&s, 0).iter().enumerate() {
            found[j].push(z.0.hypot(z.1));
        }
    }
    for (values, tail) in found.iter_mut().zip(&tails) {
        values.sort_by(f64::total_cmp);
        for nats in [2.0f64, 4.0, 6.0] {
            let quantile = values[(values.len() as f64 * (1.0 - (-nats).exp())) as usize];
            let bound = recursion.last * tail.modulus(nats);
            assert!(
                bound > quantile && bound < 5.0 * quantile,
                "{nats}: {bound} {quantile}"
            );
        }
    }
}

#[test]
fn bound_covers_escapes() {
    let key = profile(2);
    let worst = (0..key.kappa().len())
        .max_by(|&a, &b| key.kappa()[a].total_cmp(&key.kappa()[b]))
        .unwrap()
        / key.orbit_len();
    let unit = key.unit().log2();
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let mut rates = Vec::new();
    for ratio in [1.6f64, 2.0, 2.6] {
        let model = model(unit + ratio.log2(), unit + ratio.log2() + 4.0);
        let orbit = Simulated::new(&model, &key, worst);
        let escapes = (0..200).filter(|_| orbit.runs_away(10, &mut rng)).count();
        let rate = escapes as f64 / 200.0;
        assert!(model.log2_p_orbit(&key, worst, 40.0).exp2() >= rate);
        rates.push(rate);
    }
    assert!(
        rates[0] > 0.5 && rates[0] >= rates[1] && rates[1] > rates[2],
        "{rates:?}"
    );
    let safe = model(13.8, 19.3);
    assert!(safe.log2_p_orbit(&key, worst, 60.0) < -59.0);
    let orbit = Simulated::new(&safe, &key, worst);
    assert!((0..200).all(|_| !orbit.runs_away(10, &mut rng)));
}

#[test]
fn bound_is_monotone() {
    let key = profile(2);
    let at = |d: f64, dl: f64, rounds: u32| {
        let mut model = model(d, dl);
        model.rounds = rounds;
        model.log2_p_orbit(&key, 0, 200.0)
    };
    let scaled = |by: f64| {
        let kappa = key.kappa().iter().map(|k| k * by).collect();
        KeyProfile::from_kappa(&AXES, 256, 16, kappa, key.class().to_vec()).unwrap()
    };
    let mut last = 1.0;
    for dl in [15.0, 16.0, 17.0, 18.0] {
        let found = at(13.0, dl, 10);
        assert!(found <= last, "{dl}: {found} after {last}");
        last = found;
    }
    // each orbit's exponent is found to a nat
    assert!(at(13.0, 17.0, 14) >= at(13.0, 17.0, 10) - 1.5);
    let model = model(13.0, 17.0);
    let bounds: Vec<f64> = [1.0, 1.5, 2.5]
        .map(|by| model.log2_p_orbit(&scaled(by), 0, 200.0))
        .to_vec();
    assert!(bounds.windows(2).all(|w| w[0] <= w[1] + 3.0), "{bounds:?}");
    assert!(bounds[0] < bounds[2], "{bounds:?}");
}

#[test]
fn accepts_a_good_key_and_not_an_absurd_one() {
    let key = profile(4);
    let model = model(13.8, 19.3);
    let found = model.assess(&key, 80.0);
    assert!(found.log2_p_runaway <= -ACCEPTANCE_BITS, "{found:?}");
    assert!(found.log2_p_bulk(28.32) < -200.0, "{found:?}");
    assert!(model.accepts(&key, ACCEPTANCE_BITS, 28.32));
    assert!(!model.accepts(&key, ACCEPTANCE_BITS, 20.0));
    let huge = vec![257.0 * 60.0; 32];
    let bad = KeyProfile::from_kappa(&AXES, 256, 16, huge, vec![1; 32]).unwrap();
    let unit = bad.unit().log2();
    let model = model_of(unit);
    assert_eq!(model.log2_p_runaway(&bad), 0.0);
    assert!(!model.accepts(&bad, ACCEPTANCE_BITS, 60.0));
}

#[test]
fn result_is_independent_of_the_threads() {
    let ring = Ring::new(4369).unwrap();
    let key = KeyProfile::from_secret(&ring, &secret(&ring, 64, 6)).unwrap();
    let unit = key.unit().log2();
    // a good key, one with orbits that do not reach the ceiling, and a hopeless one
    for drop in [6.0, 4.0, 0.0] {
        let model = model(unit + drop, unit + drop + 5.0);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| model.assess(&key, 80.0))
        };
        let found = on(1);
        assert_eq!(found, on(3));
    }
}

#[test]
fn small_ring() {
    let ring = Ring::new(255).unwrap();
    let key = KeyProfile::from_secret(&ring, &secret(&ring, 16, 7)).unwrap();
    let unit = key.unit().log2();
    let mut wide = model(unit + 5.0, unit + 11.0);
    wide.fresh_bits = unit;
    assert!(wide.log2_p_runaway(&key) < -64.0);
    let mut narrow = model(unit, unit + 3.0);
    narrow.fresh_bits = unit;
    assert_eq!(narrow.log2_p_runaway(&key), 0.0);
}
