//! The pieces against closed forms, the bound against simulation.

mod simulation;

use super::moments::{Law, ORDERS, normal_of_variance, sum_of_independent};
use super::*;
use crate::noise::bound::KEY_PEAK;
use crate::params::SECOND_CLASS;
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

fn slots() -> Slots {
    Slots::new(&Ring::new(255).unwrap(), SECOND_CLASS).unwrap()
}

fn profile_in(m: u64, weight: usize, seed: u64) -> KeyProfile {
    let ring = Ring::new(m).unwrap();
    KeyProfile::from_secret(&ring, &secret(&ring, weight, seed)).unwrap()
}

fn profile(seed: u64) -> KeyProfile {
    profile_in(65535, 256, seed)
}

/// A sliced AES encryption with drops of `d`, `d` and `dl` bits, and key-switching noise of 1 % of the rounding noise's
/// variance.
fn model(d: f64, dl: f64) -> RunawayModel {
    RunawayModel {
        circuit: AesCircuit::ALL[0],
        d1: d,
        d2: d,
        dl,
        rounds: 10,
        fresh_bits: 10.7,
        expanded: [0.0; 2],
        ks_switched: [0.01; 2],
        ks_unswitched: 0.01,
        ks_last: 0.01,
        ks_worst: ([0.01; 2], 0.01),
        gains: LinearGains::of(&slots()),
    }
}

/// The model with `D = 8.6` and `w = 2^-8.6` for any unit.
fn model_of(unit: f64) -> RunawayModel {
    model(unit + 3.1, unit + 8.6)
}

#[test]
fn gains_of_the_aes_layers() {
    let gains = LinearGains::of(&slots());
    // means of the linear layer's powers over the classes
    for (decrypt, expected) in [(false, 267.75), (true, 538.0)] {
        let classes = (1..17).map(|class| gains.at(decrypt, class));
        let sum: f64 = classes.flatten().flatten().sum();
        assert!((sum / 16.0 - expected).abs() < 1e-9);
    }
}

/// Step 9: MixColumns brings more noise to a round than sums of words bring to a step of the key schedule.
#[test]
fn words_of_the_key_schedule_are_less_than_mix_columns() {
    let gains = LinearGains::of(&slots());
    for class in 1..17 {
        let round = gains.at(false, class);
        let step = gains.alone(false, class);
        assert!(round.contains(&step), "one of the four");
        let [round, step]: [f64; 2] = [round.iter().flatten().sum(), step.iter().sum()];
        // over ρ⁴·ρ^-2: two roundings behind every gain, and four words
        assert!(
            2.0 * (round - step) > 4.0 * KEY_PEAK,
            "{class}: {round} {step}"
        );
    }
    let with = |rounds| {
        let model = model(13.0, 17.0);
        RunawayModel { rounds, ..model }
    };
    let outputs = [10, 12, 13, 14].map(|rounds| with(rounds).outputs());
    assert_eq!(outputs, [160, 200, 208, 224]);
    let other = AesCircuit::ALL.map(|circuit| with(12).with_circuit(circuit).outputs());
    assert_eq!(other, [200, 192, 12, 12]);
    // less than 0.1 bits of the bound
    assert!((200f64 / 192.0).log2() < 0.1);
}

#[test]
fn rounding_noise_is_nearly_independent_along_an_orbit() {
    // E[R_j·conj R_{j+i}] and E[R_j·R_{j+i}], over E|R_j|²: sums of ζ^(k(1 ∓ 2^i)) over the units k
    let m: u64 = AXES.iter().map(|&r| u64::from(r)).product();
    let units = (1..m).filter(|k| AXES.iter().all(|&r| k % u64::from(r) != 0));
    let units: Vec<u64> = units.collect();
    let cosine = (0..m).map(|e| (2.0 * PI * e as f64 / m as f64).cos());
    let cosine: Vec<f64> = cosine.collect();
    let correlation = |factor: u64| {
        let terms = units.iter().map(|k| cosine[(k * factor % m) as usize]);
        let sum: f64 = terms.sum();
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
        (key.dimension, key.orbit_len, key.kappa.len()),
        (128, 8, 64)
    );
    assert_eq!((key.weight, key.dual), (29, 8.0 / 255.0));
    // the primitive root in use is exp(2πi Σ 1/r)
    let turn: f64 = SMALL.iter().map(|&r| 1.0 / f64::from(r)).sum();
    let mut seen = Vec::new();
    for orbit in 0..8 {
        // the orbit starts at the first position that is neither seen nor a conjugate of one
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
            let found = key.kappa[orbit * 8 + i];
            assert!((found - 1.0 - re * re - im * im).abs() < 1e-9);
            assert_eq!(u64::from(key.class[orbit * 8 + i]), j % 17);
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
    assert_eq!(found(51).unwrap().orbit_len, 8);
    assert_eq!(found(4369).unwrap().orbit_len, 16);
    let ring = Ring::new(255).unwrap();
    assert!(KeyProfile::from_secret(&ring, &[1; 127]).is_none());
    assert!(KeyProfile::from_secret(&ring, &[1 << 31; 128]).is_none());
    assert!(KeyProfile::from_kappa(&SMALL, 4, 8, vec![1.0; 9], vec![1; 9]).is_none());
}

#[test]
fn links_are_the_translations() {
    // (conductor, orbits of a component, whether a column may meet itself)
    for (m, orbits, coincident) in [(65535, 16, false), (21845, 8, true)] {
        let key = profile_in(m, 64, 1);
        assert!(key.packs());
        assert!(key.components.iter().all(|c| c.len() == orbits));
        let count: usize = key.components.iter().map(Vec::len).sum();
        assert_eq!(count * key.orbit_len, key.kappa.len());
        let model = model_of(10.0).with_circuit(AesCircuit::new(true, true));
        let component = Recursion::new(&model, &key).component(3);
        assert_eq!(component.coincident, coincident);
        for (j, links) in component.links.iter().enumerate() {
            let class = |j: usize| component.class[j].min(17 - component.class[j]);
            assert!(links.iter().flatten().all(|&p| class(p) == class(j)));
            // ρ of ρκ^c is ρ²κ^c; ρ of ρ³κ^c is κ^c, and one more ρ returns to ρκ^c
            for c in 0..8 {
                let at = |l: usize, j: usize| component.links[j][l - 1][c];
                assert_eq!(component.links[at(1, j)][0][0], at(2, j));
                let around = component.links[at(3, j)][0][0];
                assert_eq!(component.links[around][0][0], at(1, j));
                assert!(c > 0 || around == j);
            }
        }
    }
    assert!(!profile_in(4369, 64, 1).packs() && !profile_in(255, 16, 1).packs());
}

#[test]
fn moments_of_known_laws() {
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
    // a + R: E|.|² = a² + v, E|.|⁴ = a⁴ + 4a²v + 2v²
    let (a, v) = (1.5, 0.7);
    let one = Law::offset_normal(a, v);
    let none = Law::offset_normal(0.0, 1e-30);
    // (1 + |0|²)|a + R|²
    let norms = none.share(&one, 1.0, 2.0);
    assert!(close(norms[0], 2.0 * (a * a + v)));
    let fourth = a.powi(4) + 4.0 * a * a * v + 2.0 * v * v;
    assert!(close(norms[1], 2.0 * fourth.sqrt()));
    // E|AB/d + R|² = (a² + v)²/d² + u, and (1 + |A|²/d²)
    let product = one.product_plus_normal(&one, 3.0, 0.2);
    let second = (a * a + v).powi(2) / 9.0 + 0.2;
    assert!(close(none.share(&product, 1.0, 1.0)[0], second));
    let both = one.share(&product, 3.0, 1.0)[0];
    assert!(close(both, (1.0 + (a * a + v) / 9.0) * second));
    // constants add up, and the fourth moment of a normal variable of variance 5 is 50
    let sum = sum_of_independent(&[[2.0; ORDERS], [3.0; ORDERS]]);
    let mut orders = sum.iter().zip(1..);
    assert!(orders.all(|(s, m)| close(*s, f64::from(m) * 5f64.ln())));
    assert!(close(normal_of_variance(&sum)[1].exp(), 50.0));
    // overflow gives no bound
    let huge = sum_of_independent(&[[f64::INFINITY; ORDERS], [1.0; ORDERS]]);
    assert!(quantile(&huge, 1.0) == f64::INFINITY);
}

/// A key and a model close to running away.
fn tight(circuit: AesCircuit) -> (KeyProfile, RunawayModel) {
    let key = profile_in(65535, 16, 3);
    let unit = key.unit().log2();
    let mut model = model(unit + 1.6, unit + 6.0).with_circuit(circuit);
    model.fresh_bits = unit - 1.0;
    (key, model)
}

/// Carried-in noise of one size at `positions` positions, for the recursion and for its simulation.
fn carried_in(positions: usize) -> (Vec<f64>, Vec<Complex>) {
    (vec![0.8; positions], vec![(0.8, 0.0); positions])
}

#[test]
fn one_round_bound_covers_simulation() {
    for circuit in AesCircuit::ALL {
        let (key, model) = tight(circuit);
        let recursion = Recursion::new(&model, &key);
        let component = recursion.component(0);
        let (carried, states) = carried_in(component.kappa.len());
        let shares = recursion.shares(&component, &carried);
        let outputs = recursion.outputs(&component, &shares);
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        for slope in if circuit.packed { vec![0, 1] } else { vec![0] } {
            let orbit = Simulated::new(&model, &key, 0, slope == 0);
            let mut found: Vec<Vec<f64>> = vec![Vec::new(); carried.len()];
            for _ in 0..1000 {
                let bytes = if circuit.packed { 1 } else { 4 };
                let b: Vec<_> = (0..bytes)
                    .map(|_| orbit.power_127(&states, false, &mut rng))
                    .collect();
                for (j, z) in orbit.linear(&b, 0, slope).iter().enumerate() {
                    found[j].push(z.0.hypot(z.1));
                }
            }
            for (values, moments) in found.iter_mut().zip(&outputs) {
                values.sort_by(f64::total_cmp);
                for nats in [2.0f64, 4.0] {
                    let found = values[(values.len() as f64 * (1.0 - (-nats).exp())) as usize];
                    let bound = recursion.last * quantile(moments, nats).sqrt();
                    let covers = bound > found && bound < 6.0 * found;
                    assert!(covers, "{circuit:?} {nats}: {bound} {found}");
                }
            }
        }
    }
}

/// The bound of a round covers a step of the key schedule, with the noise of four words.
#[test]
fn one_round_bound_covers_the_key_schedule() {
    let (key, model) = tight(AesCircuit::ALL[0]);
    let recursion = Recursion::new(&model, &key);
    let component = recursion.component(0);
    let (carried, states) = carried_in(component.kappa.len());
    let shares = recursion.shares(&component, &carried);
    let outputs = recursion.outputs(&component, &shares);
    let orbit = Simulated::new(&model, &key, 0, false);
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let mut found: Vec<Vec<f64>> = vec![Vec::new(); carried.len()];
    for _ in 0..2000 {
        let b = orbit.power_127(&states, false, &mut rng);
        let words: Vec<_> = (0..4).map(|_| orbit.rounding(&mut rng)).collect();
        for (j, z) in orbit.last_round(false, &b).iter().enumerate() {
            let sum = |part: fn(&Complex) -> f64| words.iter().map(|w| part(&w[j])).sum::<f64>();
            let by = (-model.dl).exp2();
            found[j].push((z.0 + by * sum(|w| w.0)).hypot(z.1 + by * sum(|w| w.1)));
        }
    }
    for (values, moments) in found.iter_mut().zip(&outputs) {
        values.sort_by(f64::total_cmp);
        for nats in [2.0f64, 4.0] {
            let found = values[(values.len() as f64 * (1.0 - (-nats).exp())) as usize];
            let bound = recursion.last * quantile(moments, nats).sqrt();
            assert!(bound > found && found > 0.0, "{nats}: {bound} {found}");
        }
    }
}

#[test]
fn what_the_last_round_hands_on_covers_simulation() {
    for circuit in AesCircuit::ALL {
        let (key, model) = tight(circuit);
        let recursion = Recursion::new(&model, &key);
        let component = recursion.component(0);
        let (carried, states) = carried_in(component.kappa.len());
        let bounds = recursion.handed_on(&component, &carried);
        let mut rng = ChaCha20Rng::seed_from_u64(6);
        let simulated = Simulated::new(&model, &key, 0, false);
        // means of |Z'|² and |Z'|⁴ by position
        let samples = 4000;
        let mut found = vec![[0.0; 2]; carried.len()];
        for _ in 0..samples {
            let b = simulated.power_127(&states, false, &mut rng);
            let out = simulated.last_round(circuit.decrypt, &b);
            for (sums, z) in found.iter_mut().zip(out) {
                let square = z.0.mul_add(z.0, z.1 * z.1) / f64::from(samples).sqrt();
                *sums = [
                    sums[0] + square / f64::from(samples).sqrt(),
                    sums[1] + square * square,
                ];
            }
        }
        for (i, bound) in bounds[..2].iter().enumerate() {
            let root = |sums: &[f64; 2]| sums[i].powf(0.5 / (i + 1) as f64);
            let largest = found.iter().map(root).fold(0.0, f64::max);
            let close = largest < 1.05 * bound && *bound < 1.5 * largest;
            assert!(
                close,
                "{circuit:?}, order {}: {bound} {largest}",
                2 * (i + 1)
            );
        }
    }
}

/// log2 of the bound on one component and its conjugate, not refined below -`floor_bits`.
fn log2_p_component(
    model: &RunawayModel,
    key: &KeyProfile,
    component: usize,
    floor_bits: f64,
) -> f64 {
    let events = model.events(key, component);
    let ceiling = floor_bits * LN_2 + events.ln();
    let (nats, _) = Recursion::new(model, key).nats(component, ceiling);
    (events.log2() - nats / LN_2).min(0.0)
}

#[test]
fn bound_covers_escapes() {
    let key = profile(2);
    let peak = (0..key.kappa.len())
        .max_by(|&a, &b| key.kappa[a].total_cmp(&key.kappa[b]))
        .unwrap();
    let orbit = peak / key.orbit_len;
    let with = |c: &Vec<usize>| c.contains(&orbit);
    let worst = key.components.iter().position(with).unwrap();
    let unit = key.unit().log2();
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    for circuit in AesCircuit::ALL {
        let mut rates = Vec::new();
        for ratio in [1.6f64, 4.0] {
            let model = model(unit + ratio.log2(), unit + ratio.log2() + 5.0).with_circuit(circuit);
            let simulated = Simulated::new(&model, &key, worst, true);
            let escapes = (0..10).filter(|_| simulated.runs_away(10, &mut rng));
            let rate = escapes.count() as f64 / 10.0;
            assert!(log2_p_component(&model, &key, worst, 40.0).exp2() >= rate);
            rates.push(rate);
        }
        let grows = rates[0] > 0.5 && rates[0] > rates[1];
        assert!(grows, "{circuit:?} {rates:?}");
        let safe = model(14.0, 19.5).with_circuit(circuit);
        assert!(log2_p_component(&safe, &key, worst, 50.0) < -49.0);
        let simulated = Simulated::new(&safe, &key, worst, true);
        assert!((0..10).all(|_| !simulated.runs_away(10, &mut rng)));
    }
}

#[test]
fn bound_is_monotone() {
    let key = profile_in(65535, 256, 2);
    let scaled = |by: f64| {
        let kappa = key.kappa.iter().map(|k| k * by).collect();
        KeyProfile::from_kappa(&AXES, 256, 16, kappa, key.class.to_vec()).unwrap()
    };
    let single = scaled(1.0);
    let at = |d: f64, dl: f64, rounds: u32| {
        let mut model = model(d, dl);
        model.rounds = rounds;
        log2_p_component(&model, &single, 0, 200.0)
    };
    let mut last = 1.0;
    for dl in [15.0, 16.0, 17.0, 18.0] {
        let found = at(13.0, dl, 10);
        assert!(found <= last, "{dl}: {found} after {last}");
        last = found;
    }
    // exponents are found to a nat
    assert!(at(13.0, 17.0, 14) >= at(13.0, 17.0, 10) - 1.5);
    let mut noisy = model(13.0, 17.0);
    noisy.ks_unswitched = 1e4;
    let noisy = log2_p_component(&noisy, &single, 0, 200.0);
    assert!(
        noisy > at(13.0, 17.0, 10) + 10.0,
        "key switching counts: {noisy}"
    );
    let model = model(13.0, 17.0);
    let bounds = [1.0, 1.5, 2.5].map(|by| log2_p_component(&model, &scaled(by), 0, 200.0));
    assert!(bounds.windows(2).all(|w| w[0] <= w[1] + 3.0), "{bounds:?}");
    assert!(bounds[0] < bounds[2], "{bounds:?}");
}

#[test]
fn accepts_a_good_key_and_not_an_absurd_one() {
    let key = profile(4);
    let model = model(13.8, 19.3);
    let found = model.assess(&key, 80.0);
    assert!(found.log2_p_runaway <= -64.0, "{found:?}");
    let bulk = model.log2_p_bulk(&found, &key, (1, 28.32));
    assert!(bulk < -150.0, "{bulk} {found:?}");
    assert!(!model.accepts(&key, 64.0, (20.0, false)));
    let huge = vec![257.0 * 60.0; 32];
    let bad = KeyProfile::from_kappa(&AXES, 256, 16, huge, vec![1; 32]).unwrap();
    let unit = bad.unit().log2();
    let model = model_of(unit);
    assert_eq!(model.assess(&bad, 80.0).log2_p_runaway, 0.0);
    assert!(!model.accepts(&bad, 64.0, (60.0, false)));
    let packed = model.with_circuit(AesCircuit::new(false, true));
    let found = packed.assess(&profile_in(255, 16, 7), 80.0);
    assert_eq!(found.log2_p_runaway, 0.0);
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
