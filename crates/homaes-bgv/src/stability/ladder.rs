//! The ladder of bounds on the carried-in noise, and the largest exponent at which it settles.

use super::recursion::{Orbit, Recursion};
use super::{KeyProfile, StabilityModel};

/// Rungs of the ladder of bounds on the carried-in noise, for orbits that need one.
const RUNGS: usize = 6;
/// Most positions of one orbit whose state noise enters one output.
const STATES: usize = 13;
/// Passes after which an orbit counts as not settling, and the slack given in each.
const PASSES: usize = 24;
const SLACK: f64 = 1.02;
/// Carried-in noise, over `ρ`, beyond which an orbit counts as not settling.
const CARRIED_LIMIT: f64 = 60.0;
/// Grid points per octave: coarse, medium and fine pass.
const COARSE: u32 = 8;
const MEDIUM: u32 = 16;
pub(super) const FINE: u32 = 32;

/// The good event of one orbit.
pub(super) struct Good {
    /// Largest carried-in noise allowed.
    pub(super) carried: f64,
    /// Sum over the orbit of the conditional variances of the linear layer's output.
    pub(super) variance: f64,
}

/// The recursion at three grid resolutions.
pub(super) struct Resolutions<'a>([Recursion<'a>; 3]);

impl<'a> Resolutions<'a> {
    pub(super) fn new(model: &'a StabilityModel, key: &'a KeyProfile) -> Self {
        Self([COARSE, MEDIUM, FINE].map(|p| Recursion::new(model, key, p)))
    }

    /// Nats up to the ceiling that an orbit's single events are known to cost.
    pub(super) fn nats(&self, index: usize, ceiling: f64) -> (f64, Good) {
        let [coarse, medium, fine] = &self.0;
        let orbit = coarse.orbit(index);
        let found = coarse
            .settle(&orbit, 1, ceiling)
            .or_else(|| coarse.settle(&orbit, RUNGS, ceiling))
            .or_else(|| medium.settle(&orbit, RUNGS, ceiling))
            .or_else(|| fine.settle(&orbit, RUNGS, ceiling));
        match found {
            Some(good) => (ceiling, good),
            None => fine.best(&orbit, RUNGS, ceiling),
        }
    }
}

impl Recursion<'_> {
    /// Largest exponent, to one nat, at which the orbit settles.
    fn best(&self, orbit: &Orbit<'_>, tiers: usize, limit: f64) -> (f64, Good) {
        let (mut low, mut high) = (0.0, limit);
        let mut good = Good {
            carried: f64::INFINITY,
            variance: f64::INFINITY,
        };
        while high - low > 1.0 {
            let middle = 0.5 * (low + high);
            match self.settle(orbit, tiers, middle) {
                Some(found) => (low, good) = (middle, found),
                None => high = middle,
            }
        }
        (low, good)
    }

    /// Looks for a ladder of bounds on the carried-in noise, rung `a` exceeded with probability
    /// at most `exp(-nats·a/tiers)` at each position, that reproduces itself.
    fn settle(&self, orbit: &Orbit<'_>, tiers: usize, nats: f64) -> Option<Good> {
        if self.second <= 1.5 {
            return None;
        }
        let n = orbit.kappa.len();
        let rung = |a: usize| nats * a as f64 / tiers as f64;
        let inputs = (4 * n.min(STATES)) as f64;
        let mut ladder = vec![vec![0.0; n]; tiers];
        for _ in 0..PASSES {
            let mut next = vec![vec![0.0; n]; tiers];
            let mut good = Good {
                carried: 0.0,
                variance: 0.0,
            };
            for (c, carried) in ladder.iter().enumerate() {
                // the carried-in noise lies between rungs c and c+1 with probability exp(-spent)
                let spent = if c == 0 {
                    0.0
                } else {
                    (rung(c) - inputs.ln()).max(0.0)
                };
                let spent = spent - (tiers as f64).ln();
                let tails = self.round(orbit, carried, nats - spent)?;
                for (a, row) in next.iter_mut().enumerate() {
                    for (z, tail) in row.iter_mut().zip(&tails) {
                        let target = rung(a + 1) - spent;
                        if target > 0.0 {
                            *z = f64::max(*z, self.last * tail.modulus(target));
                        }
                    }
                }
                let variance = tails.iter().map(|t| t.single).sum::<f64>();
                good.variance = good.variance.max(variance);
            }
            let mut settled = true;
            for (z, old) in next.iter().flatten().zip(ladder.iter_mut().flatten()) {
                settled &= *z <= *old;
                *old = if *z <= *old { *old } else { z * SLACK };
                good.carried = good.carried.max(*old);
            }
            if settled {
                return Some(good);
            }
            if good.carried > CARRIED_LIMIT {
                return None;
            }
        }
        None
    }
}
