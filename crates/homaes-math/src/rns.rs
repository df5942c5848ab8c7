//! Residue number systems: exact centred conversion from one set of primes to others.
//!
//! A polynomial known modulo X = ∏ x_i has, per coefficient, one representative c in about [-X/2, X/2]. With
//! y_i = [f·c·(X/x_i)^{-1}]_{x_i} and v = round(Σ y_i/x_i),
//!
//! ```text
//! [f·c]_X = Σ y_i (X/x_i) - v X        exactly, as an integer
//! ```
//!
//! so its residue modulo any target prime is a combination of the words y_i and v with public constants. Only the
//! tie-break of v is approximate (see [`crate::kernel::quotient`]). An approximate conversion would add multiples of
//! X: digits would grow by the number of primes, and a modulus switch would lose its rounding bound.

use crate::kernel::{self, Combination};
use crate::modulus::{Modulus, Shoup};
use crate::ring::Ring;

/// The constants that take [f·c]_X to `g·[f·c]_X` modulo each target.
#[derive(Clone, Debug)]
pub struct Conversion {
    scale: Vec<Shoup>,
    inverses: Vec<f64>,
    sources: Vec<Modulus>,
    targets: Vec<(Modulus, Vec<u64>)>,
}

impl Conversion {
    /// Conversion from the `sources` to the `targets`, with the factor `f` given modulo each source
    /// and the factor `g` modulo each target.
    pub fn new(
        sources: &[Modulus],
        targets: &[Modulus],
        f: impl Fn(&Modulus) -> u64,
        g: impl Fn(&Modulus) -> u64,
    ) -> Self {
        let product = |m: &Modulus, skip: usize| {
            let others = sources.iter().enumerate().filter(|&(j, _)| j != skip);
            others.fold(1, |acc, (_, x)| m.mul(acc, x.p() % m.p()))
        };
        let scale = sources.iter().enumerate().map(|(i, x)| {
            // sources arrive in stored form: the factor R leaves here
            let inverse = x.inv(x.mul(product(x, i), x.r()));
            x.shoup(x.mul(f(x), inverse))
        });
        let targets = targets.iter().map(|t| {
            let g = g(t);
            let mut c: Vec<u64> = (0..sources.len())
                .map(|i| t.to_stored_twice(t.mul(g, product(t, i))))
                .collect();
            let whole = t.mul(g, product(t, usize::MAX));
            c.push(t.to_stored_twice(t.sub(0, whole)));
            (*t, c)
        });
        Self {
            scale: scale.collect(),
            inverses: sources.iter().map(|x| 1.0 / x.p() as f64).collect(),
            sources: sources.to_vec(),
            targets: targets.collect(),
        }
    }

    /// The constants that map coefficients of each source, in stored form, to the words y_i.
    pub fn scales(&self) -> &[Shoup] {
        &self.scale
    }

    /// The inverses of the sources, for the quotient.
    pub fn inverses(&self) -> &[f64] {
        &self.inverses
    }

    /// Words y_i of source `i`, in place of its coefficients in stored form.
    pub fn prepare_in_place(&self, ring: &Ring, i: usize, coefficients: &mut [u64]) {
        kernel::scale_canonical(ring, &self.sources[i], self.scale[i], coefficients);
    }

    /// The quotient v from all y_i.
    pub fn quotient(&self, ring: &Ring, ys: &[&[u64]], out: &mut [u64]) {
        kernel::quotient(ring, ys, &self.inverses, out);
    }

    /// Coefficients modulo target `j`, stored form, from all y_i followed by v.
    pub fn combine(&self, ring: &Ring, j: usize, ys_and_v: &[&[u64]], out: &mut [u64]) {
        kernel::combine(ring, &[self.combination(j)], ys_and_v, &mut [out]);
    }

    /// Target `j` for [`kernel::combine`], which maps all y_i followed by v to coefficients in stored form.
    pub fn combination(&self, j: usize) -> Combination<'_> {
        let (modulus, constants) = &self.targets[j];
        Combination { modulus, constants }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ring;
    use crate::tests::on_each;

    #[test]
    fn conversion_is_exact_and_centred() {
        let sources = [16_776_961u64, 335_539_201, 6_666_190_840_321].map(Modulus::new);
        let targets = [419_424_001u64, 131_311_739_216_641].map(Modulus::new);
        let x: i128 = sources.iter().map(|m| i128::from(m.p())).product();
        on_each(&Ring::new(255).unwrap(), |ring| {
            let n = ring.n();
            let values: Vec<i128> = (0..n as i128)
                .map(|i| match i {
                    0 => 0,
                    1 => x / 7, // 3 x/7 is near the edge, but no tie
                    2 => -(x / 7),
                    3 => -1,
                    _ => (i * i * 0x1_2345_6789_abcd_ef01 * 7919) % (x / 2) * (1 - 2 * (i % 2)),
                })
                .collect();
            // f = 3, g = 5: the result is 5·[3c]_X
            let conv = Conversion::new(&sources, &targets, |_| 3, |_| 5);
            let residue = |v: i128, m: &Modulus| v.rem_euclid(i128::from(m.p())) as u64;
            let prepared = sources.iter().enumerate().map(|(i, m)| {
                let stored = values.iter().map(|&v| m.to_stored(residue(v, m)));
                let mut y: Vec<u64> = stored.collect();
                conv.prepare_in_place(ring, i, &mut y);
                y
            });
            let (prepared, mut v) = (prepared.collect::<Vec<_>>(), vec![0; n]);
            let mut all: Vec<&[u64]> = prepared.iter().map(Vec::as_slice).collect();
            conv.quotient(ring, &all, &mut v);
            all.push(&v);
            for (j, m) in targets.iter().enumerate() {
                let mut out = vec![0; n];
                conv.combine(ring, j, &all, &mut out);
                for (o, &c) in out.iter().zip(&values) {
                    let mut r = (3 * c).rem_euclid(x);
                    if r > x / 2 {
                        r -= x;
                    }
                    assert!(*o < 2 * m.p());
                    assert_eq!(m.from_stored(*o), residue(5 * r, m), "c = {c}");
                }
            }
        });
    }
}
