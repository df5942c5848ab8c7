//! The noises that a bound treats as independent.

use std::sync::Arc;

/// Most noises that one ciphertext tracks.
const MOST: usize = 4096;

/// Set in the number of a noise whose values at different embeddings may depend on each other, and in no other. Such a
/// noise counts as one.
pub(super) const WHOLE: u64 = 1 << 63;

/// The noises behind a ciphertext, each with the Galois elements t under which it enters: at embedding j, with its
/// value at jt. Sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Atoms(Arc<[(u64, u32)]>);

/// How far, in one ring, the noises of one rounding at different embeddings are from independent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Correlation {
    m: u32,
    primes: Vec<u32>,
    /// The share by which variances are raised, so that correlated noises count as independent.
    pub(super) slack: f64,
}

impl Correlation {
    /// With the slack that the Frobenius images of one noise need.
    pub(super) fn new(m: u32, primes: Vec<u32>) -> Self {
        let mut out = Self {
            m,
            primes,
            slack: 0.0,
        };
        let orbit = core::iter::successors(Some(1), |t| Some(2 * t % m).filter(|&t| t != 1));
        let orbit: Vec<u32> = orbit.collect();
        out.slack = out.excess(&orbit);
        out
    }

    /// Magnitude of the correlation between values at t and u: the product over the primes r of 1 if t and u agree
    /// modulo r, else 1/(r - 1) (Ramanujan's sums).
    fn between(&self, t: u32, u: u32) -> f64 {
        let factor = |&r: &u32| match t % r == u % r {
            true => 1.0,
            false => 1.0 / f64::from(r - 1),
        };
        self.primes.iter().map(factor).product()
    }

    /// An upper bound, by Gershgorin, on the excess over 1 of the largest eigenvalue of the correlations of values at
    /// these places, including those with complex conjugates.
    fn excess(&self, places: &[u32]) -> f64 {
        let row = |&t: &u32| -> f64 {
            let others = places.iter().filter(|&&u| u != t);
            let both = others.map(|&u| self.between(t, u) + self.between(t, self.m - u));
            both.sum()
        };
        places.iter().map(row).fold(0.0, f64::max)
    }

    /// Whether values at distinct places of this list may count as independent, with variances raised by `slack`.
    fn admits(&self, places: &[u32]) -> bool {
        let Some((first, rest)) = places.split_first() else {
            return true;
        };
        // Places that differ only modulo 257 have correlations -1/256 among themselves, so no eigenvalue exceeds
        // 257/256; with conjugates the excess is 0.067, 0.020, 0.012 for m = 4369, 21845, 65535, also below the slack.
        let run = |u: &u32| {
            let mut others = self.primes.iter().filter(|&&r| r != 257);
            others.all(|r| first % r == u % r)
        };
        let along_runs = self.m > 257 && 1.0 / 256.0 <= self.slack && rest.iter().all(run);
        along_runs || self.excess(places) <= self.slack + 1e-9
    }
}

impl Atoms {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn new(mut atoms: Vec<(u64, u32)>) -> Self {
        atoms.sort_unstable();
        atoms.dedup();
        Self(atoms.into())
    }

    pub(super) fn moved(&self, galois: u64, m: u32) -> Self {
        let by = |t: u32| (u64::from(t) * galois % u64::from(m)) as u32;
        Self::new(self.0.iter().map(|&(id, t)| (id, by(t))).collect())
    }

    /// The atoms of both, or `None` if they may not count as independent or, with `disjoint`, if they share one.
    pub(super) fn union(&self, other: &Self, disjoint: bool, within: &Correlation) -> Option<Self> {
        let (a, b) = (&self.0[..], &other.0[..]);
        if a.is_empty() || b.is_empty() {
            return Some(if a.is_empty() { other } else { self }.clone());
        }
        if a.len() + b.len() > MOST {
            return None;
        }
        let mut out = Vec::with_capacity(a.len() + b.len());
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let id = match (a.get(i), b.get(j)) {
                (Some(x), Some(y)) => x.0.min(y.0),
                (Some(x), None) | (None, Some(x)) => x.0,
                (None, None) => break,
            };
            let run =
                |s: &[(u64, u32)], at: usize| s[at..].iter().take_while(|x| x.0 == id).count();
            let (m, n) = (run(a, i), run(b, j));
            let start = out.len();
            out.extend_from_slice(&a[i..i + m]);
            out.extend_from_slice(&b[j..j + n]);
            (i, j) = (i + m, j + n);
            if m > 0 && n > 0 {
                out[start..].sort_unstable();
                out.dedup();
                let places: Vec<u32> = out[start..].iter().map(|x| x.1).collect();
                let met = disjoint && (id & WHOLE != 0 || places.len() < m + n);
                if met || !within.admits(&places) {
                    return None;
                }
            }
        }
        Some(Self(out.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Correlation {
        Correlation::new(65535, vec![3, 5, 17, 257])
    }

    #[test]
    fn frobenius_images_and_runs_are_independent() {
        let within = full();
        assert!(within.slack < 0.02, "{}", within.slack);
        let one = Atoms::new(vec![(9, 1)]);
        let image = one.moved(4, 65535);
        assert!(one.union(&image, true, &within).is_some());
        assert!(one.union(&one, true, &within).is_none(), "the same");
        assert_eq!(one.union(&one, false, &within), Some(one.clone()));
        let conjugate = one.moved(65534, 65535);
        assert!(one.union(&conjugate, false, &within).is_none());
        // 1 modulo 255, and a generator modulo 257
        let step = (0..257u64).map(|k| 1 + 255 * k).find(|t| t % 257 == 3);
        let mut run = one.clone();
        let mut moved = one.clone();
        for _ in 0..100 {
            moved = moved.moved(step.unwrap(), 65535);
            run = run.union(&moved, true, &within).unwrap();
        }
        // -1 modulo 3 only
        let third = (0..3u64).map(|k| 1 + 21845 * k).find(|t| t % 3 == 2);
        let third = one.moved(third.unwrap(), 65535);
        assert!(one.union(&third, true, &within).is_none());
    }

    #[test]
    fn other_noises_do_not_meet_and_too_many_are_given_up() {
        let within = full();
        let some =
            |from: u64, count: u64| Atoms::new((from..from + count).map(|i| (i, 1)).collect());
        let both = some(0, 10).union(&some(5, 10), false, &within).unwrap();
        assert_eq!(both, some(0, 15));
        assert!(some(0, 10).union(&some(5, 10), true, &within).is_none());
        assert!(some(0, 10).union(&some(10, 5), true, &within).is_some());
        assert!(
            some(0, 4000)
                .union(&some(5000, 97), true, &within)
                .is_none()
        );
        let none = Atoms::default();
        assert_eq!(none.union(&both, true, &within), Some(both));
    }

    #[test]
    fn correlations_are_ramanujan_sums() {
        let within = Correlation::new(255, vec![3, 5, 17]);
        let units: Vec<u32> = (1..255)
            .filter(|k| within.primes.iter().all(|r| k % r != 0))
            .collect();
        for t in [2, 4, 16, 86, 52, 254] {
            let sum: f64 = units
                .iter()
                .map(|k| (core::f64::consts::TAU * f64::from(k * (t + 254) % 255) / 255.0).cos())
                .sum();
            let found = (sum / units.len() as f64).abs();
            assert!((within.between(t, 1) - found).abs() < 1e-9, "{t}");
        }
    }
}
