//! Tests: the pieces against closed forms, the bound against simulation.

use super::*;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

type Complex = (f64, f64);

const AXES: [u32; 4] = [3, 5, 17, 257];
const SMALL: [u32; 3] = [3, 5, 17];

fn mul(a: Complex, b: Complex) -> Complex {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

fn uniform(rng: &mut ChaCha20Rng) -> f64 {
    ((rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// Circular normal of variance 1.
fn normal(rng: &mut ChaCha20Rng) -> Complex {
    let r = (-uniform(rng).ln()).sqrt();
    let (s, c) = (2.0 * PI * uniform(rng)).sin_cos();
    (r * c, r * s)
}

fn secret(axes: &[u32], weight: usize, seed: u64) -> Vec<(u32, i8)> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let m: u32 = axes.iter().product();
    let mut terms: Vec<(u32, i8)> = Vec::new();
    while terms.len() < weight {
        let k = rng.next_u32() % m;
        if axes.iter().all(|r| !k.is_multiple_of(*r)) && terms.iter().all(|t| t.0 != k) {
            terms.push((k, if rng.next_u32() & 1 == 1 { 1 } else { -1 }));
        }
    }
    terms
}

fn profile(seed: u64) -> KeyProfile {
    KeyProfile::from_secret(&AXES, 17, &secret(&AXES, 256, seed)).unwrap()
}

fn model(d: f64, dl: f64) -> StabilityModel {
    StabilityModel::aes([d, d, dl], 10, 10.7, LinearGains::aes(11).unwrap())
}

/// The same with `D = 8.6` and `w = 2^-8.6` for any unit.
fn model_of(unit: f64) -> StabilityModel {
    model(unit + 3.1, unit + 8.6)
}

/// One orbit of the recursion, followed as it stands.
struct Orbit {
    sigma: Vec<f64>,
    /// `[position][tap]`.
    gamma: Vec<[Complex; TAPS]>,
    two: Vec<Complex>,
    d1: f64,
    d2: f64,
    last: f64,
    copy: f64,
    fresh: f64,
}

impl Orbit {
    fn new(model: &StabilityModel, key: &KeyProfile, index: usize) -> Self {
        let lifts = AesLifts::new(11).unwrap();
        assert!(!lifts.minus);
        let value = |set: &[u32], j: u32| {
            set.iter().fold((0.0, 0.0), |acc, &e| {
                let (s, c) = (2.0 * PI * f64::from(e * j % 17) / 17.0).sin_cos();
                (acc.0 + c, acc.1 + s)
            })
        };
        let range = index * key.orbit_len()..(index + 1) * key.orbit_len();
        let class = &key.class()[range.clone()];
        let unit = 1.0 + key.weight as f64;
        let sigma = |k: &f64| (k / unit + model.ks_switched).sqrt();
        Self {
            sigma: key.kappa()[range].iter().map(sigma).collect(),
            gamma: class
                .iter()
                .map(|&j| std::array::from_fn(|k| value(&lifts.gamma[k], j)))
                .collect(),
            two: class.iter().map(|&j| value(&lifts.two, j)).collect(),
            d1: model.d1.exp2() / key.unit(),
            d2: model.d2.exp2() / key.unit(),
            last: key.unit() / model.dl.exp2(),
            copy: (-model.d1).exp2(),
            fresh: model.fresh_bits.exp2() / key.unit(),
        }
    }

    /// S-box output of one byte from its carried-in noise.
    fn sbox(&self, carried: &[Complex], first: bool, rng: &mut ChaCha20Rng) -> Vec<Complex> {
        let n = carried.len();
        let mut noisy = |value: Complex, sigma: f64| {
            let r = normal(rng);
            (value.0 + sigma * r.0, value.1 + sigma * r.1)
        };
        let scaled = |a: Complex, by: f64| (a.0 * by, a.1 * by);
        let mut row = |f: &dyn Fn(usize) -> Complex, sigma: &dyn Fn(usize) -> f64| {
            (0..n).map(|j| noisy(f(j), sigma(j))).collect::<Vec<_>>()
        };
        let sigma = |j: usize| self.sigma[j];
        let x = row(&|j| carried[j], &|j| {
            if first { self.fresh } else { self.sigma[j] }
        });
        let c1 = row(&|j| scaled(x[j], self.copy), &sigma);
        let c3 = row(
            &|j| scaled(mul(x[j], x[(j + 1) % n]), 1.0 / self.d1),
            &sigma,
        );
        let c7 = row(
            &|j| scaled(mul(c1[j], c3[(j + 1) % n]), 1.0 / self.d2),
            &sigma,
        );
        let c15 = row(
            &|j| scaled(mul(c3[j], c3[(j + 2) % n]), 1.0 / self.d2),
            &sigma,
        );
        (0..n)
            .map(|j| {
                (0..TAPS).fold((0.0, 0.0), |acc, k| {
                    let p = if k == TAPS - 1 { j } else { (j + k + 1) % n };
                    let term = mul(self.gamma[j][k], mul(c7[p], c15[(p + 3) % n]));
                    (acc.0 + term.0, acc.1 + term.1)
                })
            })
            .collect()
    }

    /// One round on one column of four bytes, output byte `row`.
    fn mix(&self, s: &[Vec<Complex>], row: usize) -> Vec<Complex> {
        (0..s[0].len())
            .map(|j| {
                let two = self.two[j];
                let a = mul(two, s[row % 4][j]);
                let b = mul((1.0 + two.0, two.1), s[(row + 1) % 4][j]);
                let (c, d) = (s[(row + 2) % 4][j], s[(row + 3) % 4][j]);
                (
                    self.last * (a.0 + b.0 + c.0 + d.0),
                    self.last * (a.1 + b.1 + c.1 + d.1),
                )
            })
            .collect()
    }

    /// Whether a column (ShiftRows left out) runs away within the rounds.
    fn runs_away(&self, rounds: u32, rng: &mut ChaCha20Rng) -> bool {
        let mut state = vec![vec![(0.0, 0.0); self.sigma.len()]; 4];
        for round in 0..rounds {
            let s: Vec<_> = state
                .iter()
                .map(|c| self.sbox(c, round == 0, rng))
                .collect();
            state = (0..4).map(|row| self.mix(&s, row)).collect();
            if state
                .iter()
                .flatten()
                .any(|z| z.0.hypot(z.1).is_nan() || z.0.hypot(z.1) > 50.0)
            {
                return true;
            }
        }
        false
    }
}

#[test]
fn lifts_of_the_constants() {
    assert!(AesLifts::new(2).is_none() && LinearGains::aes(17).is_none());
    for second in [3, 5, 6, 7, 10, 11, 12, 14] {
        let lifts = AesLifts::new(second).unwrap();
        assert_eq!(lifts.gamma[5], [0], "the coefficient 1");
        let root = gf_pow(3, 15);
        let value = |set: &[u32], at: u32| {
            set.iter()
                .fold(0, |acc, &e| acc ^ gf_pow(root, e * at % 17))
        };
        for (set, &c) in lifts.gamma.iter().zip(&AesLifts::LINEARISED) {
            assert!(set.len() <= 8);
            assert_eq!((value(set, 1), value(set, second)), (c, c));
        }
        assert_eq!((value(&lifts.two, 1), value(&lifts.two, second)), (2, 2));
    }
    let gains = LinearGains::aes(11).unwrap();
    assert!((gains.mean_power() - 267.75).abs() < 1e-9);
    assert!(gains.max_power() > gains.mean_power());
}

#[test]
fn profile_matches_direct_evaluation() {
    let terms = secret(&SMALL, 20, 1);
    let key = KeyProfile::from_secret(&SMALL, 17, &terms).unwrap();
    assert_eq!(
        (key.dimension(), key.orbit_len(), key.kappa().len()),
        (128, 8, 64)
    );
    for orbit in 0..8 {
        // recover j from the layout: the smallest j not seen in an orbit or its conjugate
        let start = (0..orbit).fold(vec![1u32], |mut starts, _| {
            let seen = |j: u32| {
                starts
                    .iter()
                    .any(|s| (0..8).any(|i| (s << i) % 255 == j || (s << i) % 255 == 255 - j))
            };
            let next = (1..255).find(|&j| SMALL.iter().all(|r| j % r != 0) && !seen(j));
            starts.push(next.unwrap());
            starts
        })[orbit];
        for i in 0..8 {
            let j = (start << i) % 255;
            let (re, im) = terms.iter().fold((0.0, 0.0), |acc, &(k, c)| {
                let (s, co) = (2.0 * PI * f64::from(j * k % 255) / 255.0).sin_cos();
                (acc.0 + f64::from(c) * co, acc.1 + f64::from(c) * s)
            });
            let found = key.kappa()[orbit * 8 + i];
            assert!((found - 1.0 - re * re - im * im).abs() < 1e-9);
            assert_eq!(key.class()[orbit * 8 + i], j % 17);
        }
    }
}

#[test]
fn profile_refuses_what_it_cannot_describe() {
    assert!(
        KeyProfile::from_secret(&[17], 17, &[(1, 1)]).is_none(),
        "-1 is a power of 2"
    );
    assert!(
        KeyProfile::from_secret(&[3, 5], 5, &[(1, 1)]).is_none(),
        "orbits of 4"
    );
    assert!(KeyProfile::from_secret(&[3, 3], 3, &[(1, 1)]).is_none());
    assert!(KeyProfile::from_secret(&SMALL, 7, &[(1, 1)]).is_none());
    assert!(KeyProfile::from_secret(&SMALL, 17, &[(3, 1)]).is_none());
    assert!(KeyProfile::from_kappa(&SMALL, 4, 8, vec![1.0; 9], vec![1; 9]).is_none());
}

#[test]
fn grid_laws() {
    let grid = Grid::new(1.0 / 16.0);
    for (_, masses) in &grid.kernel {
        let sum: f64 = masses.iter().sum();
        assert!((sum - 1.0).abs() < 1e-5, "{sum}");
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
    let evaluator = Evaluator::new(&model, &key, FINE);
    let tails = evaluator
        .round(&evaluator.orbit(0), &carried, 20.0)
        .unwrap();
    let orbit = Orbit::new(&model, &key, 0);
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
            let bound = evaluator.last * tail.modulus(nats);
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
        let orbit = Orbit::new(&model, &key, worst);
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
    let orbit = Orbit::new(&safe, &key, worst);
    assert!((0..200).all(|_| !orbit.runs_away(10, &mut rng)));
}

#[test]
fn bound_is_monotone() {
    let key = profile(3);
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
fn small_ring() {
    let key = KeyProfile::from_secret(&SMALL, 17, &secret(&SMALL, 16, 7)).unwrap();
    let unit = key.unit().log2();
    let mut wide = model(unit + 5.0, unit + 11.0);
    wide.fresh_bits = unit;
    assert!(wide.log2_p_runaway(&key) < -64.0);
    let mut narrow = model(unit, unit + 3.0);
    narrow.fresh_bits = unit;
    assert_eq!(narrow.log2_p_runaway(&key), 0.0);
}
