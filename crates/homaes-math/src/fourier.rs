//! Negacyclic Fourier transform of torus polynomials, and the products of TFHE.
//!
//! A polynomial a of Z\[X\]/(X^N + 1) is given by its values at half of the roots ζ of X^N + 1, those with
//! ζ^(N/2) = i; the others are their conjugates. With z_j = a_j + i a_(j+N/2), these are the values of Σ z_j Y^j at
//! the M = N/2 roots of Y^M = i, found by splitting
//!
//! ```text
//! Y^m - c = Π_i (Y^(m/r) - c_i),   c_i = c^(1/r) e^(2πi·i/r),   r = 8 (first 2 or 4 where M is no power of 8)
//! ```
//!
//! so there is no separate twist: each pass multiplies block a by (c^(1/r))^a and does r-point transforms across
//! blocks. The last pass works within vectors of eight, after a transposition of 8 × 8 numbers.
//!
//! **Spectra** are in the order that the passes leave, eight values (real parts, then imaginary ones: a *group*) at a
//! time. P spectra are interleaved by groups: group g of spectrum p is at 16 (g P + p), so that products read memory
//! from front to back. P follows from the length N P.
//!
//! **Exactness.** Words are torus elements: x stands for x/2^64. Torus polynomials are transformed as fractions in
//! [-1/2, 1/2). The inverse reduces modulo 1 and rounds to 2^-51, below the error of the transform. All kernels round
//! once per operation and in the same order, so results are the same on every processor.

pub(crate) mod fft;

use crate::aligned::Reals;
use crate::simd::{Vectors, fourier as simd};
use core::cell::RefCell;
use core::f64::consts::PI;
use fft::Root;
use zeroize::Zeroize;

/// Smallest degree N.
pub const MIN_DEGREE: usize = 128;
/// Largest degree N.
pub const MAX_DEGREE: usize = 8192;

/// Numbers of one group of a spectrum: eight real parts, eight imaginary ones.
pub const GROUP: usize = 16;

/// How words become small signed digits.
///
/// A word x is rounded to the nearest multiple of 2^(64 - levels·base_log) and written as
/// Σ_j d_j 2^(64 - j·base_log), j = 1 … levels, d_j in [-B/2, B/2], B = 2^base_log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits {
    /// log2 of the base, 1 to 31
    pub base_log: u32,
    /// number of digits; `levels * base_log` is at most 63
    pub levels: usize,
}

impl Digits {
    /// From this base on, digits lie in [-B/2, B/2), and their mean of -1/2 is negligible. Below it, a digit of ±B/2
    /// takes its sign from the digit above and has no mean, which would add up in small gadgets.
    const ROUGH_BASE_LOG: u32 = 10;

    pub(crate) fn is_rough(self) -> bool {
        self.base_log >= Self::ROUGH_BASE_LOG
    }

    /// Added before words are cut into digits of [-B/2, B/2): half of the last digit's unit, and B/2 of every digit.
    pub(crate) fn offset(self) -> u64 {
        let half = 1u64 << (63 - self.levels as u32 * self.base_log);
        (1..=self.levels as u32).fold(half, |sum, j| {
            sum.wrapping_add(1 << (64 - j * self.base_log + self.base_log - 1))
        })
    }
}

/// The transform for one degree. All methods panic on slices of the wrong length.
#[derive(Clone)]
pub struct Fourier {
    degree: usize,
    vectors: Vectors,
    /// radix of every pass but the last, which is 8 within vectors
    radices: Vec<usize>,
    /// powers 1 … r - 1 of c^(1/r), for the blocks of every such pass in order
    twiddles: Vec<Root>,
    /// powers 1 … 7 for the last pass, eight blocks at a time: a group each
    lane_twiddles: Reals,
    /// e^(2πi·k/2N); X^a at a slot is number a (1 + 4 t)
    roots: Vec<Root>,
    /// t of lane 0 for each group
    slot: Vec<usize>,
}

impl Fourier {
    /// The transform of degree `degree`, with the best kernels of this processor.
    ///
    /// # Panics
    /// If `degree` is not a power of two from [`MIN_DEGREE`] to [`MAX_DEGREE`].
    pub fn new(degree: usize) -> Self {
        Self::with_vectors(degree, Vectors::detect())
    }

    /// As [`new`](Self::new), with the given kernels.
    pub fn with_vectors(degree: usize, vectors: Vectors) -> Self {
        assert!(
            degree.is_power_of_two() && (MIN_DEGREE..=MAX_DEGREE).contains(&degree),
            "degree {degree}"
        );
        let m = degree / 2;
        let radices = radices(m);
        let mut twiddles = Vec::new();
        // angles of the constants c of the blocks, as fractions of a turn
        let mut blocks = vec![0.25];
        for &r in &radices {
            blocks = split(&blocks, r, |angle, a| twiddles.push(root(angle * a as f64)));
        }
        let mut lane_twiddles = Reals::zeroed(blocks.len() / 8 * 7 * GROUP);
        for (b, &c) in blocks.iter().enumerate() {
            for a in 1..8 {
                let (re, im) = root(c / 8.0 * a as f64);
                let at = (b / 8 * 7 + a - 1) * GROUP + b % 8;
                (lane_twiddles[at], lane_twiddles[at + 8]) = (re, im);
            }
        }
        // slot i of block b has the angle (c_b + i)/8 = (1 + 4 t)/(4 M)
        let slot = (0..m / 8)
            .map(|g| {
                let angle = (blocks[g / 8 * 8] + (g % 8) as f64) / 8.0;
                ((angle * 4.0 * m as f64).round() as usize - 1) / 4
            })
            .collect();
        Self {
            degree,
            vectors,
            radices,
            twiddles,
            lane_twiddles,
            roots: (0..2 * degree)
                .map(|k| root(k as f64 / (2 * degree) as f64))
                .collect(),
            slot,
        }
    }

    /// N.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Groups of a spectrum: N/16.
    pub fn groups(&self) -> usize {
        self.degree / GROUP
    }

    /// The kernels in use.
    pub fn vectors(&self) -> Vectors {
        self.vectors
    }

    /// Transforms the torus polynomial `poly` to spectrum number `place` of `out`.
    pub fn forward(&self, poly: &[u64], out: &mut [f64], place: usize) {
        let count = self.count(poly.len(), out.len(), place);
        with_work(self.degree, |work| {
            simd::forward(self, poly, out, (place, count), work)
        });
    }

    /// Transforms the digits of `poly`, the largest first, to spectra number `place`, `place + 1`, … of `out`. Panics
    /// if the digits do not fit a word.
    pub fn forward_digits(&self, digits: Digits, poly: &[u64], out: &mut [f64], place: usize) {
        assert!(digits.levels > 0 && place <= out.len());
        let count = self.count(poly.len(), out.len(), place + digits.levels - 1);
        assert!((1..32).contains(&digits.base_log) && digits.levels as u32 * digits.base_log < 64);
        with_work((1 + digits.levels) * self.degree, |work| {
            simd::forward_digits(self, digits, poly, out, (place, count), work);
        });
    }

    /// Adds the polynomial of spectrum number `place` of `spectra`, a sum of products, to `poly`.
    pub fn inverse_add(&self, spectra: &[f64], place: usize, poly: &mut [u64]) {
        let count = self.count(poly.len(), spectra.len(), place);
        with_work(self.degree, |work| {
            simd::inverse_add(self, spectra, (place, count), poly, work)
        });
    }

    /// Zeroizes this thread's working memory, which keeps the last transform: call it after transforms of secrets.
    pub fn wipe() {
        WORK.with_borrow_mut(Zeroize::zeroize);
    }

    /// The number of spectra, from the lengths `poly` and `spectra`; asserts that `place` is one of them.
    fn count(&self, poly: usize, spectra: usize, place: usize) -> usize {
        // a shift, because a division would cost at every transform
        let count = spectra >> self.degree.trailing_zeros();
        assert_eq!((poly, spectra), (self.degree, count * self.degree));
        assert!(place < count);
        count
    }

    /// Adds the product of the spectra in `rows` and a matrix to the `columns` spectra in `out`.
    ///
    /// The matrix has `columns` columns, row by row. If it has more rows than `rows` has spectra, the last ones are
    /// used. Panics unless 1 ≤ `columns` ≤ 8.
    pub fn multiply_add(&self, rows: &[f64], matrix: &[f64], columns: usize, out: &mut [f64]) {
        let n = self.degree;
        assert!((1..=8).contains(&columns) && !rows.is_empty());
        assert!(rows.len().is_multiple_of(n) && matrix.len().is_multiple_of(n * columns));
        assert!(rows.len() * columns <= matrix.len());
        assert_eq!(out.len(), columns * n);
        simd::multiply_add(self, rows, matrix, columns, out);
    }

    /// One step of blind rotation for several accumulators. With the spectra d of the digits of an accumulator, keys
    /// K_1 … K_m and exponents e_1 … e_m of its own,
    ///
    /// ```text
    /// out = Σ_i (X^e_i - 1) d·K_i
    /// ```
    ///
    /// One key bit s takes one key, of s, and e = a. Two bits at once take three, of s1 (1 - s2), (1 - s1) s2 and s1
    /// s2, and exponents a, b, a + b.
    ///
    /// `digits` holds, group by group, the `rows` digits of every accumulator in turn; `key` the m matrices of
    /// `rows` × `columns`; `out` the `columns` results of every accumulator. `next` is memory that is read soon, such
    /// as part of the next key: it is prefetched, because keys are far larger than caches. Panics unless m is 1 or 3,
    /// 1 ≤ `columns` ≤ 4, and all exponents are below 4 N.
    pub fn rotation_step<const M: usize>(
        &self,
        exponents: &[[usize; M]],
        digits: &[f64],
        key: &[f64],
        out: &mut [f64],
        [rows, columns]: [usize; 2],
        next: &[f64],
    ) {
        let (n, count) = (self.degree, exponents.len());
        // so that no product of lengths wraps
        assert!(rows <= digits.len() && count <= out.len());
        assert!(M == 1 || M == 3);
        assert!(exponents.as_flattened().iter().all(|&e| e < 4 * n));
        assert_eq!(digits.len(), count * rows * n);
        assert_eq!(key.len(), M * rows * columns * n);
        assert_eq!(out.len(), count * columns * n);
        assert!(rows > 0 && (1..=4).contains(&columns) && count > 0);
        let step = fft::Step {
            exponents: exponents.as_flattened(),
            digits,
            key,
            keys: M,
            rows,
            columns,
            next,
        };
        with_work(count * M * n / 8, |work| {
            simd::rotation_step(self, &step, out, work);
        });
    }
}

impl core::fmt::Debug for Fourier {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Fourier")
            .field("degree", &self.degree)
            .field("vectors", &self.vectors)
            .finish_non_exhaustive()
    }
}

fn with_work<T>(len: usize, f: impl FnOnce(&mut [f64]) -> T) -> T {
    WORK.with_borrow_mut(|work| {
        if work.len() < len {
            // large buffers are recycled as they are
            work.zeroize();
            *work = Reals::zeroed(len);
        }
        f(work)
    })
}

thread_local! {
    static WORK: RefCell<Reals> = RefCell::new(Reals::zeroed(0));
}

/// The first radix makes the rest a power of eight.
fn radices(m: usize) -> Vec<usize> {
    let log = m.trailing_zeros();
    let first = [None, Some(2), Some(4)][log as usize % 3];
    let eights = log as usize / 3 - 1;
    first.into_iter().chain([8].repeat(eights)).collect()
}

/// The blocks after a pass of radix r; calls `twiddle(angle, a)` for every power that the pass multiplies by.
fn split(blocks: &[f64], r: usize, mut twiddle: impl FnMut(f64, usize)) -> Vec<f64> {
    let mut out = Vec::with_capacity(blocks.len() * r);
    for &c in blocks {
        (1..r).for_each(|a| twiddle(c / r as f64, a));
        out.extend((0..r).map(|i| (c + i as f64) / r as f64));
    }
    out
}

/// e^(2πi·turns), exact at multiples of an eighth.
fn root(turns: f64) -> Root {
    let eighth = (turns * 8.0).floor();
    let rest = turns * 8.0 - eighth;
    let (mut re, mut im) = if rest <= 0.5 {
        let (s, c) = (rest * PI / 4.0).sin_cos();
        (c, s)
    } else {
        // from the diagonal, so that equal angles give equal numbers
        let (s, c) = ((1.0 - rest) * PI / 4.0).sin_cos();
        let h = core::f64::consts::FRAC_1_SQRT_2;
        ((c + s) * h, (c - s) * h)
    };
    for bit in 0..3 {
        if eighth as i64 >> bit & 1 == 1 {
            let h = core::f64::consts::FRAC_1_SQRT_2;
            (re, im) = match bit {
                0 => ((re - im) * h, (re + im) * h),
                1 => (-im, re),
                _ => (-re, -im),
            };
        }
    }
    (re, im)
}

#[cfg(test)]
mod tests;
