//! Tests of noise models by sampling.
//!
//! A far tail cannot be sampled; its probability 2^-x follows from the standard deviation σ, and 1 % of σ changes the
//! exponent by 0.02 x bits. Samples of one key share the errors of that key: N samples tell σ to 1/√(2N), K keys to
//! their spread over √K. The spread of results over keys shows both, and gives the standard error.

use crate::noise::{digit_moment, log2_erfc};
use crate::set::Gadget;
use core::f64::consts::SQRT_2;
use homaes_math::torus;

/// Samples beyond these multiples of the model's σ are counted.
const TAILS: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 4.5];

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments {
    count: f64,
    /// sums of powers 1 to 4
    sums: [f64; 4],
    beyond: [f64; TAILS.len()],
}

impl Moments {
    /// Moments of `errors` in units of the model's `sigma`.
    pub(crate) fn new(errors: impl IntoIterator<Item = f64>, sigma: f64) -> Self {
        errors.into_iter().fold(Self::default(), |mut all, error| {
            all.count += 1.0;
            let x = error / sigma;
            let powers = [x, x * x, x * x * x, x * x * x * x];
            all.sums.iter_mut().zip(powers).for_each(|(s, p)| *s += p);
            let beyond = all.beyond.iter_mut().zip(TAILS);
            beyond.for_each(|(b, t)| *b += f64::from(u8::from(x.abs() > t)));
            all
        })
    }

    fn plus(mut self, other: &Self) -> Self {
        self.count += other.count;
        let sums = self.sums.iter_mut().chain(&mut self.beyond);
        let others = other.sums.iter().chain(&other.beyond);
        sums.zip(others).for_each(|(a, b)| *a += b);
        self
    }

    /// Sampled σ over the model's.
    fn ratio(&self) -> f64 {
        (self.sums[1] / self.count).sqrt()
    }
}

/// A model of a reading: the variance, the noise that is misread, and the steps to which the noise is rounded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) variance: f64,
    pub(crate) threshold: f64,
    pub(crate) step: f64,
}

impl Reading {
    pub(crate) fn sigma(&self) -> f64 {
        self.variance.sqrt()
    }

    /// log2 of the failure probability, with σ times `factor`.
    fn exponent(&self, factor: f64) -> f64 {
        log2_erfc(self.threshold / (SQRT_2 * factor * self.sigma()))
    }

    /// The relative change of σ that moves the exponent by one bit: about 1/(2 ln 2 · exponent).
    fn one_bit(&self) -> f64 {
        1.0 / (self.exponent(1.005) - self.exponent(0.995)) * 0.01
    }
}

/// Prints the σ of one part of the noise, and by how much it exceeds the model; returns the variance. Moments are in
/// units of `sigma`.
pub(crate) fn describe(what: &str, keys: &[Moments], sigma: f64, variance: f64) -> f64 {
    let all = keys.iter().fold(Moments::default(), Moments::plus);
    let found = all.ratio() * sigma;
    let percent = 100.0 * (found / variance.sqrt() - 1.0);
    println!("{what}: σ = 2^{:.4}, {percent:+.3} %", found.log2());
    found * found
}

/// E[d_l d_m] of the digits of a uniform word over [`digit_moment`], by pair of levels, top digit first.
///
/// A digit ±B/2 takes the sign of the digit above, and the carry makes that one smaller. So the model's moment is an
/// upper bound (by 3 % at B = 8, 12 % at 4, 32 % at 2), and neighbours are correlated (0.12 at B = 8). From B = 2^10
/// on, signs do not depend on the digit above.
pub(crate) fn moments_of_digits(gadget: Gadget) -> Vec<Vec<f64>> {
    let (b, levels) = (gadget.base_log, gadget.levels);
    let mut sums = vec![vec![0i64; levels]; levels];
    if b >= 10 {
        let one = |l: usize| (0..levels).map(|m| f64::from(u8::from(l == m))).collect();
        return (0..levels).map(one).collect();
    }
    let base = 1i64 << b;
    let mut words = vec![0; 1 << 20];
    torus::uniform(&[3; 32], 0, &mut words);
    for x in &words {
        // random bits above the top digit
        let top = 64 - levels as u32 * b;
        let mut rest = (x >> top | (x & 1) << (64 - top + b - 1)) as i64;
        let mut digits = vec![0; levels];
        for place in digits.iter_mut().rev() {
            let digit = rest & (base - 1);
            rest >>= b;
            let up = digit > base / 2 || digit == base / 2 && rest & (base / 2) != 0;
            rest += i64::from(up);
            *place = digit - i64::from(up) * base;
        }
        for (row, d) in sums.iter_mut().zip(&digits) {
            row.iter_mut().zip(&digits).for_each(|(s, e)| *s += d * e);
        }
    }
    let unit = words.len() as f64 * digit_moment(gadget);
    let row = |row: &Vec<i64>| row.iter().map(|&s| s as f64 / unit).collect();
    sums.iter().map(row).collect()
}

pub(crate) fn moment_of_digits(gadget: Gadget) -> f64 {
    let moments = moments_of_digits(gadget);
    let own = moments.iter().enumerate().map(|(l, row)| row[l]);
    own.sum::<f64>() / moments.len() as f64
}

#[test]
fn moments_of_small_digits() {
    // known by enumeration
    for (base_log, levels, want) in [(2, 5, 0.888), (3, 4, 0.9686), (1, 15, 0.6815)] {
        let found = moment_of_digits(Gadget { base_log, levels });
        assert!((found - want).abs() < 0.002, "{base_log}: {found}");
    }
    let moments = moments_of_digits(Gadget {
        base_log: 3,
        levels: 4,
    });
    assert!((moments[1][2] - 0.119).abs() < 0.002 && moments[0][2].abs() < 0.002);
}

/// Compares samples of several keys with the `exact` model and prints the result. They must agree to half a bit of the
/// `declared` exponent with a standard error of at most a third of a bit, so that a model wrong by one bit fails. The
/// declared bound must not be better than the samples.
pub(crate) fn judge(what: &str, keys: &[Moments], sigma: f64, exact: Reading, declared: Reading) {
    let all = keys.iter().fold(Moments::default(), Moments::plus);
    let count = keys.len() as f64;
    let unit = sigma / exact.sigma();
    let ratio = all.ratio() * unit;
    let spread = keys.iter().map(|k| (k.ratio() * unit - ratio).powi(2));
    let spread = (spread.sum::<f64>() / (count - 1.0)).sqrt();
    let error = spread / count.sqrt();
    let one_bit = declared.one_bit();
    let [mean, second, _, fourth] = all.sums.map(|s| s / all.count);
    // a row of docs/noise.md, but for the exact model's exponent
    println!(
        "| {what} | {} | {:+.3} ± {:.3} % | {:.3} % | {:.3} % | {:.4} ± {:.4} | 2^{:.2} (exact 2^{:.2}) | 2^{:.2} |",
        all.count,
        100.0 * (ratio - 1.0),
        100.0 * error,
        100.0 * one_bit,
        100.0 * spread,
        fourth / (second * second) - 3.0,
        (24.0 / all.count).sqrt(),
        exact.exponent(ratio),
        exact.exponent(1.0),
        declared.exponent(1.0)
    );
    for (t, found) in TAILS.into_iter().zip(all.beyond) {
        // t is in units of `sigma`; noise that is rounded up to the next step counts as well
        let own = t / second.sqrt();
        let half_step = exact.step / (2.0 * ratio * exact.sigma());
        let normal = |t: f64| log2_erfc(t / SQRT_2).exp2() * all.count;
        let most = normal(own - half_step);
        // samples of one look-up are dependent, hence the slack
        let most = most + 4.0 * most.sqrt() + 4.0;
        assert!(
            found <= most,
            "{what}: {found} beyond {own:.2} σ, at most {most:.1}"
        );
    }
    // a mean would add to the largest noise
    assert!((mean / second.sqrt()).abs() < 0.01, "{what}: mean");
    let accepts = |model: f64| (ratio / model - 1.0).abs() < one_bit / 2.0;
    assert!(3.0 * error <= one_bit, "{what}: too few samples");
    assert!(accepts(1.0), "{what}: not the model's noise");
    assert!(!accepts(1.0 - one_bit) && !accepts(1.0 + one_bit));
    assert!(exact.exponent(ratio) <= declared.exponent(1.0), "{what}");
}
