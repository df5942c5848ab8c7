//! The canonical embedding in double precision, for noise and key statistics.

use crate::ring::Ring;
use zeroize::Zeroizing;

/// |a(ω^f)|^2 for every embedding f, in the ring's layout, with ω = ∏ exp(2πi/r) over the primes r of m. In K, w is
/// (1 + i√7)/2 in the first half and its conjugate in the second.
///
/// Cost: n·Σ(r - 1) complex products, 0.1 s at n = 32768. If `a` is secret, so is the result; the time is constant,
/// and intermediate values are zeroized.
pub fn squared_magnitudes(ring: &Ring, a: &[f64]) -> Vec<f64> {
    assert_eq!(a.len(), ring.n());
    let mut z = Zeroizing::new(a.iter().map(|&x| [x, 0.0]).collect::<Vec<_>>());
    if ring.halves() == 2 {
        for row in z.chunks_exact_mut(ring.row_len()) {
            let (first, second) = row.split_at_mut(row.len() / 2);
            for (x, y) in first.iter_mut().zip(second) {
                let (re, im) = (x[0] + 0.5 * y[0], 0.5 * 7f64.sqrt() * y[0]);
                (*x, *y) = ([re, im], [re, -im]);
            }
        }
    }
    let mut sum = Zeroizing::new(vec![[0.0; 2]; ring.n()]);
    let mut inner = ring.n();
    let lens = ring.lens();
    for (axis, len) in lens.into_iter().enumerate() {
        // blocks of the axes after that of 17 lie within one half
        inner /= len * if axis == 1 { ring.halves() } else { 1 };
        let Some((_, r, g)) = ring.factors().find(|&(i, _, _)| i == axis) else {
            continue;
        };
        let mut exponent = 1;
        let kernel: Vec<(f64, f64)> = (1..r)
            .map(|_| {
                let angle = core::f64::consts::TAU * exponent as f64 / r as f64;
                exponent = exponent * g % r;
                (angle.cos(), angle.sin())
            })
            .collect();
        let sum = &mut sum[..len * inner];
        for block in z.chunks_exact_mut(len * inner) {
            sum.fill([0.0; 2]);
            for (f, out) in sum.chunks_exact_mut(inner).enumerate() {
                for (e, x) in block.chunks_exact(inner).enumerate() {
                    let (c, s) = kernel[(e + f) % len];
                    for (o, &[re, im]) in out.iter_mut().zip(x) {
                        o[0] += re * c - im * s;
                        o[1] += re * s + im * c;
                    }
                }
            }
            block.copy_from_slice(sum);
        }
    }
    z.iter().map(|[re, im]| re * re + im * im).collect()
}

/// Σ_f x_f·∏_r weight(r, k) at every position e of the layout of R, k = g^(e+f) on the axis of the prime r.
///
/// Cost: n·Σ(r - 1) products. If `x` is secret, so is the result; the time is constant, and intermediate values are
/// zeroized.
pub fn correlated(ring: &Ring, x: &[f64], weight: impl Fn(u64, u64) -> f64) -> Vec<f64> {
    assert!(x.len() == ring.n() && ring.halves() == 1);
    let (mut out, mut sum) = (x.to_vec(), Zeroizing::new(vec![0.0; ring.n()]));
    let mut inner = ring.n();
    for (axis, len) in ring.lens().into_iter().enumerate() {
        inner /= len;
        let Some((_, r, g)) = ring.factors().find(|&(i, _, _)| i == axis) else {
            continue;
        };
        let powers = core::iter::successors(Some(1), |k| Some(k * g % r));
        let kernel: Vec<f64> = powers.take(len).map(|k| weight(r, k)).collect();
        let sum = &mut sum[..len * inner];
        for block in out.chunks_exact_mut(len * inner) {
            sum.fill(0.0);
            for (e, to) in sum.chunks_exact_mut(inner).enumerate() {
                for (f, from) in block.chunks_exact(inner).enumerate() {
                    let w = kernel[(e + f) % len];
                    to.iter_mut()
                        .zip(from)
                        .for_each(|(to, from)| *to += w * from);
                }
            }
            block.copy_from_slice(sum);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::rings;

    #[test]
    fn agrees_with_the_definition() {
        for ring in rings([255, 771]) {
            let a: Vec<f64> = (0..ring.n())
                .map(|i| ((i * 37) % 11) as f64 - 5.0)
                .collect();
            let got = squared_magnitudes(&ring, &a);
            // the root in use is exp(2πi Σ 1/r), a primitive m-th one
            let turn: f64 = ring.factors().map(|(_, r, _)| 1.0 / r as f64).sum();
            for f in [0, 1, 77, ring.n() - 1] {
                let (mut re, mut im) = (0.0, 0.0);
                let w = 0.5 * 7f64.sqrt() * (1.0 - 2.0 * ring.half(f) as f64);
                for (i, x) in a.iter().enumerate() {
                    let k = ring.exponent(i) * ring.exponent(f) % ring.m();
                    let (sin, cos) = (core::f64::consts::TAU * k as f64 * turn).sin_cos();
                    let (u, v) = [(1.0, 0.0), (0.5, w)][ring.half(i)];
                    re += x * (u * cos - v * sin);
                    im += x * (u * sin + v * cos);
                }
                assert!((got[f] - (re * re + im * im)).abs() < 1e-6);
            }
        }
    }
}
