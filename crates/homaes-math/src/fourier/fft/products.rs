//! Products of spectra: sums of products, and one step of a blind rotation.

use super::super::{Fourier, GROUP};
use super::EIGHTHS;
use crate::float_lanes::{Complex, LANES, Lanes, array};

#[inline(always)]
pub(crate) fn multiply_add<V: Lanes>(
    f: &Fourier,
    rows: &[f64],
    matrix: &[f64],
    columns: usize,
    out: &mut [f64],
) {
    match columns {
        1 => multiply_add_columns::<V, 1>(f, rows, matrix, out),
        2 => multiply_add_columns::<V, 2>(f, rows, matrix, out),
        3 => multiply_add_columns::<V, 3>(f, rows, matrix, out),
        4 => multiply_add_columns::<V, 4>(f, rows, matrix, out),
        5 => multiply_add_columns::<V, 5>(f, rows, matrix, out),
        6 => multiply_add_columns::<V, 6>(f, rows, matrix, out),
        7 => multiply_add_columns::<V, 7>(f, rows, matrix, out),
        8 => multiply_add_columns::<V, 8>(f, rows, matrix, out),
        _ => unreachable!("checked by the caller"),
    }
}

#[inline(always)]
fn multiply_add_columns<V: Lanes, const C: usize>(
    f: &Fourier,
    rows: &[f64],
    matrix: &[f64],
    out: &mut [f64],
) {
    let used = rows.len() / f.degree;
    let held = matrix.len() / f.degree;
    let (rows, _) = rows.as_chunks::<GROUP>();
    let (matrix, _) = matrix.as_chunks::<GROUP>();
    let (out, _) = out.as_chunks_mut::<GROUP>();
    let parts = rows.chunks_exact(used).zip(matrix.chunks_exact(held));
    for ((rows, matrix), out) in parts.zip(out.chunks_exact_mut(C)) {
        let matrix = &matrix[held - used * C..];
        let mut sums = array!(C, Complex::<V>::zero(), |c| Complex::load(&out[c]));
        for (row, matrix) in rows.iter().zip(matrix.chunks_exact(C)) {
            let x = Complex::load(row);
            for (sum, entry) in sums.iter_mut().zip(matrix) {
                *sum = sum.plus_product(x, Complex::load(entry));
            }
        }
        for (sum, out) in sums.iter().zip(out) {
            sum.store(out);
        }
    }
}

/// The arguments of [`Fourier::rotation_step`].
pub(crate) struct Step<'a> {
    /// one per accumulator and key
    pub(crate) exponents: &'a [usize],
    pub(crate) digits: &'a [f64],
    pub(crate) key: &'a [f64],
    pub(crate) keys: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) next: &'a [f64],
}

#[inline(always)]
pub(crate) fn rotation_step<V: Lanes>(
    f: &Fourier,
    step: &Step<'_>,
    out: &mut [f64],
    work: &mut [f64],
) {
    // by accumulator, tile of eight groups, and key
    let tiles = f.groups() / 8;
    let (monomials, _) = work[..step.exponents.len() * tiles * GROUP].as_chunks_mut();
    let each = step.exponents.chunks_exact(step.keys);
    for (powers, monomials) in each.zip(monomials.chunks_exact_mut(step.keys * tiles)) {
        for (tile, out) in monomials.chunks_exact_mut(step.keys).enumerate() {
            for (&power, out) in powers.iter().zip(out) {
                f.monomial(power, tile, out);
            }
        }
    }
    match step.keys {
        1 => rotate::<V, 1>(f, step, monomials, out),
        3 => rotate::<V, 3>(f, step, monomials, out),
        _ => unreachable!("checked by the caller"),
    }
}

#[inline(always)]
fn rotate<V: Lanes, const K: usize>(
    f: &Fourier,
    step: &Step<'_>,
    monomials: &[[f64; GROUP]],
    out: &mut [f64],
) {
    let (count, rows, columns) = (step.exponents.len() / K, step.rows, step.columns);
    let (exponents, _) = step.exponents.as_chunks::<K>();
    let (digits, _) = step.digits.as_chunks::<GROUP>();
    let (key, _) = step.key.as_chunks::<GROUP>();
    let (next, _) = step.next.as_chunks::<GROUP>();
    let (out, _) = out.as_chunks_mut::<GROUP>();
    let ahead = next.len().div_ceil(f.groups());
    let mut next = next.iter();
    let parts = digits
        .chunks_exact(count * rows)
        .zip(key.chunks_exact(K * rows * columns))
        .zip(out.chunks_exact_mut(count * columns));
    for (g, ((digits, key), out)) in parts.enumerate() {
        next.by_ref().take(ahead).for_each(V::prefetch);
        let tiles = f.groups() / 8;
        let mut done = 0;
        while done < count {
            let left = (&exponents[done..], &monomials[K * tiles * done..]);
            let (digits, out) = (&digits[done * rows..], &mut out[done * columns..]);
            if count - done >= 2 {
                rotate_some::<V, K, 2>((g, tiles), left, digits, (key, columns), out);
                done += 2;
            } else {
                rotate_some::<V, K, 1>((g, tiles), left, digits, (key, columns), out);
                done += 1;
            }
        }
    }
}

/// One group of `B` accumulators, which share loads of the key. `key` is ordered by key, row and column.
#[inline(always)]
fn rotate_some<V: Lanes, const K: usize, const B: usize>(
    (g, tiles): (usize, usize),
    (exponents, monomials): (&[[usize; K]], &[[f64; GROUP]]),
    digits: &[[f64; GROUP]],
    (key, columns): (&[[f64; GROUP]], usize),
    out: &mut [[f64; GROUP]],
) {
    let rows = key.len() / (K * columns);
    let mut factors = [[Complex::<V>::zero(); K]; B];
    for i in 0..B {
        let tile = &monomials[K * (tiles * i + g / 8)..][..K];
        for which in 0..K {
            factors[i][which] = monomial_less_one(&tile[which], exponents[i][which] * g);
        }
    }
    let digits = array!(B, &digits[..0], |i| &digits[i * rows..][..rows]);
    for c in 0..columns {
        let mut sums = [[Complex::<V>::zero(); K]; B];
        for j in 0..rows {
            let d = array!(B, Complex::<V>::zero(), |i| Complex::load(&digits[i][j]));
            for which in 0..K {
                let k = Complex::load(&key[(which * rows + j) * columns + c]);
                for i in 0..B {
                    sums[i][which] = sums[i][which].plus_product(d[i], k);
                }
            }
        }
        for i in 0..B {
            let mut all = sums[i][0].times(factors[i][0]);
            for which in 1..K {
                all = all.plus_product(sums[i][which], factors[i][which]);
            }
            all.store(&mut out[i * columns + c]);
        }
    }
}

/// X^a - 1 at the slots of a group: those of its tile's first group, turned by an eighth root. An even number of
/// eighths is exact, an odd one rounds once more.
#[inline(always)]
fn monomial_less_one<V: Lanes>(first: &[f64; GROUP], eighths: usize) -> Complex<V> {
    let turned = Complex::load(first).times(Complex::splat(EIGHTHS[eighths % 8]));
    turned.minus(Complex::splat((1.0, 0.0)))
}

impl Fourier {
    /// X^a at the slots of a tile's first group, in full precision: its error would be among the products' largest.
    #[inline(always)]
    fn monomial(&self, a: usize, tile: usize, out: &mut [f64; GROUP]) {
        let turn = self.roots.len();
        let mut at = a * (1 + 4 * self.slot[8 * tile]);
        for lane in 0..LANES {
            (out[lane], out[LANES + lane]) = self.roots[at & (turn - 1)];
            at += a * (turn / 64);
        }
    }
}
