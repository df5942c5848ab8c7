//! The ladder of bounds on the carried-in noise, and the largest exponent at which it settles.

use super::moments::{Norms, ORDERS, quantile};
use super::recursion::{Component, Recursion};
use std::array::from_fn;

/// Rungs of the ladder.
const RUNGS: usize = 16;
/// Largest number of positions in one orbit whose state noise enters one output.
const STATES: usize = 13;
/// Passes after which a component counts as not settling, and the slack given in each.
const PASSES: usize = 24;
const SLACK: f64 = 1.02;
/// Carried-in noise, over `ρ`, beyond which a component counts as not settling.
pub(crate) const CARRIED_LIMIT: f64 = 20.0;

pub(super) struct Good {
    /// Norms of the component's share in the variance of a coefficient of the result.
    pub(super) last_round: Norms,
    /// Norms of the noise that the last round hands on, the largest of any position.
    pub(super) handed_on: Norms,
}

impl Recursion<'_> {
    /// Nats, up to the ceiling, of the proven bound on a component's single events.
    pub(super) fn nats(&self, index: usize, ceiling: f64) -> (f64, Good) {
        let component = self.component(index);
        match self.settle(&component, ceiling) {
            Some(good) => (ceiling, good),
            None => self.best(&component, ceiling),
        }
    }

    /// The largest exponent, to one nat, at which the component settles.
    fn best(&self, component: &Component, limit: f64) -> (f64, Good) {
        let (mut low, mut high) = (0.0, limit);
        let mut good = Good {
            last_round: from_fn(|_| f64::INFINITY),
            handed_on: from_fn(|_| f64::INFINITY),
        };
        while high - low > 1.0 {
            let middle = 0.5 * (low + high);
            match self.settle(component, middle) {
                Some(found) => (low, good) = (middle, found),
                None => high = middle,
            }
        }
        (low, good)
    }

    /// Looks for a self-reproducing ladder of bounds on the carried-in noise; rung `a` is exceeded with probability at
    /// most `exp(-nats·a/RUNGS)` at each position.
    fn settle(&self, component: &Component, nats: f64) -> Option<Good> {
        let n = component.kappa.len();
        let rung = |a: usize| nats * a as f64 / RUNGS as f64;
        let spent = |c: usize, inputs: usize| match c {
            0 => 0.0,
            _ => (rung(c) - (inputs as f64).ln()).max(0.0),
        };
        let inputs = 4 * n.min(STATES);
        let mut ladder = vec![vec![0.0; n]; RUNGS];
        let mut changed = [true; RUNGS];
        let mut last = [[0.0; ORDERS]; RUNGS];
        for _ in 0..PASSES {
            for c in 0..RUNGS {
                if !changed[c] {
                    continue;
                }
                changed[c] = false;
                // the carried-in noise lies between rungs c and c+1 with probability exp(-spent)
                let shares = self.shares(component, &ladder[c]);
                let outputs = self.outputs(component, &shares);
                last[c] = self.last_round(component, &shares[0]);
                for (a, row) in ladder.iter_mut().enumerate() {
                    let target = rung(a + 1) - spent(c, inputs) + (RUNGS as f64).ln();
                    if target <= 0.0 {
                        continue;
                    }
                    for (old, moments) in row.iter_mut().zip(&outputs) {
                        let z = self.last * quantile(moments, target).sqrt();
                        if z > *old {
                            (*old, changed[a]) = (z * SLACK, true);
                        }
                    }
                }
            }
            let carried = ladder.iter().flatten().copied().fold(0.0, f64::max);
            if carried > CARRIED_LIMIT {
                return None;
            }
            if changed == [false; RUNGS] {
                let logs: [f64; RUNGS] = from_fn(|c| -spent(c, n));
                let last_round = mixture(&logs, &last);
                return Some(Good {
                    last_round,
                    handed_on: self.handed_on(component, &ladder[RUNGS - 1]),
                });
            }
        }
        None
    }
}

/// Norms of a mixture, from the logarithms of its weights.
fn mixture(logs: &[f64], norms: &[Norms]) -> Norms {
    from_fn(|i| {
        let m = (i + 1) as f64;
        let terms = || logs.iter().zip(norms).map(|(log, n)| log / m + n[i].ln());
        let lead = terms().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = terms().map(|t| (m * (t - lead)).exp()).sum();
        (lead + sum.ln() / m).exp()
    })
}
