//! The kernels, over any [`Lanes`]. Working memory is in groups, like spectra: vector j of eight complex numbers is group j.

use super::{Digits, Fourier, GROUP};
use crate::lanes::{Complex, LANES, Lanes, array};
use core::f64::consts::FRAC_1_SQRT_2;

/// A complex constant.
pub(crate) type Root = (f64, f64);

/// Adding and subtracting it rounds numbers below 2^51 to integers.
const ROUNDER: f64 = 1.5 * (1u64 << 52) as f64;

/// Its bits, or'ed with an integer below 2^52, are those of 2^52 plus the integer.
const TWO_52: f64 = (1u64 << 52) as f64;

/// e^(2πi·k/8).
const EIGHTHS: [Root; 8] = {
    let h = FRAC_1_SQRT_2;
    [
        (1.0, 0.0),
        (h, h),
        (0.0, 1.0),
        (-h, h),
        (-1.0, 0.0),
        (-h, -h),
        (0.0, -1.0),
        (h, -h),
    ]
};

/// r-point transform of positive sign: Σ_a x_a e^(2πi·ia/r).
#[inline(always)]
fn dft<V: Lanes, const R: usize>(mut x: [Complex<V>; R]) -> [Complex<V>; R] {
    match R {
        2 => {
            let (a, b) = (x[0], x[1]);
            (x[0], x[1]) = (a.plus(b), a.minus(b));
        }
        4 => {
            let y = dft4([x[0], x[1], x[2], x[3]]);
            x.copy_from_slice(&y);
        }
        _ => {
            let h = V::splat(FRAC_1_SQRT_2);
            let even = array!(4, x[0], |a| x[a].plus(x[a + 4]));
            let odd = array!(4, x[0], |a| x[a].minus(x[a + 4]));
            let even = dft4(even);
            // the odd half times e^(2πi·a/8)
            let turned = |y: Complex<V>| Complex {
                re: (y.re - y.im) * h,
                im: (y.re + y.im) * h,
            };
            let (one, three) = (turned(odd[1]), turned(odd[3]));
            // dft4 of (odd0, one, i odd2, i three), with the factors i taken into the sums
            let (c0, c1) = (odd[0].plus_i(odd[2]), odd[0].minus_i(odd[2]));
            let (c2, c3) = (one.plus_i(three), one.minus_i(three));
            let odd = [c0.plus(c2), c1.plus_i(c3), c0.minus(c2), c1.minus_i(c3)];
            for i in 0..4 {
                (x[2 * i], x[2 * i + 1]) = (even[i], odd[i]);
            }
        }
    }
    x
}

#[inline(always)]
fn dft4<V: Lanes>(x: [Complex<V>; 4]) -> [Complex<V>; 4] {
    let (c0, c1) = (x[0].plus(x[2]), x[0].minus(x[2]));
    let (c2, c3) = (x[1].plus(x[3]), x[1].minus(x[3]));
    [c0.plus(c2), c1.plus_i(c3), c0.minus(c2), c1.minus_i(c3)]
}

/// r-point transform of negative sign, not divided by r.
#[inline(always)]
fn inverse_dft<V: Lanes, const R: usize>(mut x: [Complex<V>; R]) -> [Complex<V>; R] {
    match R {
        2 => {
            let (a, b) = (x[0], x[1]);
            (x[0], x[1]) = (a.plus(b), a.minus(b));
        }
        4 => {
            let y = inverse_dft4([x[0], x[1], x[2], x[3]]);
            x.copy_from_slice(&y);
        }
        _ => {
            let h = V::splat(FRAC_1_SQRT_2);
            let even = array!(4, x[0], |i| x[i].plus(x[i + 4]));
            let odd = array!(4, x[0], |i| x[i].minus(x[i + 4]));
            let even = inverse_dft4(even);
            let turned = |y: Complex<V>| Complex {
                re: (y.re + y.im) * h,
                im: (y.im - y.re) * h,
            };
            let (one, three) = (turned(odd[1]), turned(odd[3]));
            let (c0, c1) = (odd[0].minus_i(odd[2]), odd[0].plus_i(odd[2]));
            let (c2, c3) = (one.minus_i(three), one.plus_i(three));
            let odd = [c0.plus(c2), c1.minus_i(c3), c0.minus(c2), c1.plus_i(c3)];
            for i in 0..4 {
                (x[2 * i], x[2 * i + 1]) = (even[i], odd[i]);
            }
        }
    }
    x
}

#[inline(always)]
fn inverse_dft4<V: Lanes>(x: [Complex<V>; 4]) -> [Complex<V>; 4] {
    let (c0, c1) = (x[0].plus(x[2]), x[0].minus(x[2]));
    let (c2, c3) = (x[1].plus(x[3]), x[1].minus(x[3]));
    [c0.plus(c2), c1.minus_i(c3), c0.minus(c2), c1.plus_i(c3)]
}

/// Where the first pass takes numbers from: vector j of real numbers, then of imaginary ones.
trait Source<V: Lanes>: Copy {
    fn vector(self, j: usize) -> V;
}

/// Torus elements as fractions in [-1/2, 1/2), rounded to double precision.
#[derive(Clone, Copy)]
struct Torus<'a> {
    words: &'a [[u64; LANES]],
}

impl<V: Lanes> Source<V> for Torus<'_> {
    #[inline(always)]
    fn vector(self, j: usize) -> V {
        // the upper half, moved to be positive, and the lower one: both exact, one rounding
        let x = V::add_word(V::load_word(&self.words[j]), V::splat_word(1 << 63));
        let magic = V::splat_word(TWO_52.to_bits());
        let high = V::or_word(V::shr_word(x, V::splat_word(32)), magic);
        let low = V::or_word(V::and_word(x, V::splat_word(0xffff_ffff)), magic);
        let high = V::from_bits(high) - V::splat(TWO_52 + (1u64 << 31) as f64);
        let low = V::from_bits(low) - V::splat(TWO_52);
        high.mul_add(V::splat(2f64.powi(-32)), low * V::splat(2f64.powi(-64)))
    }
}

/// One digit of every word, in [-B/2, B/2).
#[derive(Clone, Copy)]
struct RoughDigit<'a, V: Lanes> {
    words: &'a [[u64; LANES]],
    offset: V::Word,
    shift: V::Word,
    mask: V::Word,
    middle: V,
}

impl<'a, V: Lanes> RoughDigit<'a, V> {
    #[inline(always)]
    fn new(digits: Digits, level: usize, words: &'a [[u64; LANES]]) -> Self {
        let b = digits.base_log;
        Self {
            words,
            offset: V::splat_word(digits.offset()),
            shift: V::splat_word(u64::from(64 - (level as u32 + 1) * b)),
            mask: V::splat_word((1 << b) - 1),
            middle: V::splat(TWO_52 + (1u64 << (b - 1)) as f64),
        }
    }
}

impl<V: Lanes> Source<V> for RoughDigit<'_, V> {
    #[inline(always)]
    fn vector(self, j: usize) -> V {
        let x = V::add_word(V::load_word(&self.words[j]), self.offset);
        let digit = V::and_word(V::shr_word(x, self.shift), self.mask);
        let magic = V::splat_word(TWO_52.to_bits());
        V::from_bits(V::or_word(digit, magic)) - self.middle
    }
}

/// Numbers as they are.
#[derive(Clone, Copy)]
struct Plain<'a> {
    numbers: &'a [[f64; LANES]],
}

impl<V: Lanes> Source<V> for Plain<'_> {
    #[inline(always)]
    fn vector(self, j: usize) -> V {
        V::load(&self.numbers[j])
    }
}

/// All digits of every word, ±B/2 with the sign of the next digit: digit `level` of vector j at vector
/// `level · poly.len() + j` of `out`.
#[inline(always)]
fn fine_digits<V: Lanes>(digits: Digits, poly: &[[u64; LANES]], out: &mut [[f64; LANES]]) {
    let (b, levels) = (digits.base_log, digits.levels);
    let dropped = 64 - levels as u32 * b;
    let word = V::splat_word;
    let (one, mask) = (word(1), word((1 << b) - 1));
    let (by_base, by_sign) = (word(u64::from(b)), word(u64::from(b) - 1));
    // above the top digit there is nothing to take a sign from: a bit of the part rounded off serves as well
    let sign_at = levels as u32 * b + b - 1;
    let sign = |x| V::and_word(V::shr_word(x, word(u64::from(dropped) - 1)), one);
    for (j, x) in poly.iter().enumerate() {
        // rounded to the digits kept; a carry out of the top is a multiple of 1
        let half = word(1 << (dropped - 1));
        let x = V::load_word(x);
        let mut rest = V::shr_word(V::add_word(x, half), word(u64::from(dropped)));
        if sign_at < 64 {
            rest = V::or_word(rest, V::shl_word(sign(x), word(u64::from(sign_at))));
        }
        for level in (0..levels).rev() {
            let digit = V::and_word(rest, mask);
            rest = V::shr_word(rest, by_base);
            let carry = V::or_word(V::sub_word(digit, one), rest);
            let carry = V::and_word(V::shr_word(V::and_word(carry, digit), by_sign), one);
            rest = V::add_word(rest, carry);
            // digit - carry·B, moved to be positive
            let moved = V::add_word(digit, word(1 << b));
            let moved = V::sub_word(moved, V::shl_word(carry, by_base));
            let number = V::from_bits(V::or_word(moved, word(TWO_52.to_bits())));
            let number = number - V::splat(TWO_52 + (1u64 << b) as f64);
            number.store(&mut out[level * poly.len() + j]);
        }
    }
}

#[inline(always)]
fn first_pass<V: Lanes, const R: usize>(
    f: &Fourier,
    source: impl Source<V>,
    work: &mut [[f64; GROUP]],
) {
    let vectors = f.degree / GROUP;
    let step = vectors / R;
    let twiddle: [Complex<V>; R] = twiddles(&f.twiddles[..R - 1]);
    for j in 0..step {
        let x = array!(R, Complex::zero(), |a| Complex {
            re: source.vector(a * step + j),
            im: source.vector(vectors + a * step + j),
        });
        butterfly(x, &twiddle, |a, y| y.store(&mut work[a * step + j]));
    }
}

/// Factors 1, w, w^2, …; the first is not used.
#[inline(always)]
fn twiddles<V: Lanes, const R: usize>(powers: &[Root]) -> [Complex<V>; R] {
    array!(R, Complex::splat((1.0, 0.0)), |a| Complex::splat(
        if a == 0 { (1.0, 0.0) } else { powers[a - 1] }
    ))
}

#[inline(always)]
fn butterfly<V: Lanes, const R: usize>(
    mut x: [Complex<V>; R],
    twiddle: &[Complex<V>; R],
    mut store: impl FnMut(usize, Complex<V>),
) {
    for a in 1..R {
        x[a] = x[a].times(twiddle[a]);
    }
    for (a, y) in dft(x).into_iter().enumerate() {
        store(a, y);
    }
}

/// A pass of radix 8 in place, over blocks of `8 step` vectors each.
#[inline(always)]
fn pass<V: Lanes>(work: &mut [[f64; GROUP]], step: usize, powers: &[Root]) {
    for (block, powers) in work.chunks_exact_mut(8 * step).zip(powers.chunks_exact(7)) {
        let twiddle: [Complex<V>; 8] = twiddles(powers);
        for j in 0..step {
            let x = array!(8, Complex::<V>::zero(), |a| Complex::load(
                &block[a * step + j]
            ));
            butterfly(x, &twiddle, |a, y| y.store(&mut block[a * step + j]));
        }
    }
}

/// The last pass: within eight vectors at a time, to groups `place`, `place + count`, … of `out`.
#[inline(always)]
fn last_pass<V: Lanes>(
    f: &Fourier,
    work: &[[f64; GROUP]],
    out: &mut [[f64; GROUP]],
    (place, count): (usize, usize),
) {
    let (twiddles, _) = f.lane_twiddles.as_chunks::<GROUP>();
    let tiles = work.chunks_exact(8).zip(twiddles.chunks_exact(7));
    for ((tile, twiddle), out) in tiles.zip(out.chunks_exact_mut(8 * count)) {
        let x = array!(8, Complex::<V>::zero(), |b| Complex::load(&tile[b]));
        let re = V::transpose(array!(8, x[0].re, |b| x[b].re));
        let im = V::transpose(array!(8, x[0].im, |b| x[b].im));
        let mut y = array!(8, x[0], |a| Complex {
            re: re[a],
            im: im[a],
        });
        for a in 1..8 {
            y[a] = y[a].times(Complex::load(&twiddle[a - 1]));
        }
        for (i, y) in dft(y).into_iter().enumerate() {
            y.store(&mut out[i * count + place]);
        }
    }
}

#[inline(always)]
fn transform<V: Lanes>(
    f: &Fourier,
    source: impl Source<V>,
    out: &mut [f64],
    at: (usize, usize),
    work: &mut [f64],
) {
    let (work, _) = work[..f.degree].as_chunks_mut::<GROUP>();
    match f.radices[0] {
        2 => first_pass::<V, 2>(f, source, work),
        4 => first_pass::<V, 4>(f, source, work),
        _ => first_pass::<V, 8>(f, source, work),
    }
    let mut used = f.radices[0] - 1;
    let mut blocks = f.radices[0];
    for _ in &f.radices[1..] {
        pass::<V>(
            work,
            work.len() / (8 * blocks),
            &f.twiddles[used..used + 7 * blocks],
        );
        used += 7 * blocks;
        blocks *= 8;
    }
    let (out, _) = out.as_chunks_mut::<GROUP>();
    last_pass::<V>(f, work, out, at);
}

#[inline(always)]
pub(crate) fn forward<V: Lanes>(
    f: &Fourier,
    poly: &[u64],
    out: &mut [f64],
    at: (usize, usize),
    work: &mut [f64],
) {
    let (words, _) = poly.as_chunks();
    transform::<V>(f, Torus { words }, out, at, work);
}

#[inline(always)]
pub(crate) fn forward_digits<V: Lanes>(
    f: &Fourier,
    digits: Digits,
    poly: &[u64],
    out: &mut [f64],
    (place, count): (usize, usize),
    work: &mut [f64],
) {
    let (words, _) = poly.as_chunks();
    if digits.is_rough() {
        for level in 0..digits.levels {
            let source = RoughDigit::<V>::new(digits, level, words);
            transform::<V>(f, source, out, (place + level, count), work);
        }
        return;
    }
    let (work, numbers) = work.split_at_mut(f.degree);
    let (numbers, _) = numbers[..digits.levels * f.degree].as_chunks_mut();
    fine_digits::<V>(digits, words, numbers);
    for (level, numbers) in numbers.chunks_exact(f.degree / LANES).enumerate() {
        transform::<V>(f, Plain { numbers }, out, (place + level, count), work);
    }
}

/// The way back: the last pass first, every step the inverse but for the factor M.
#[inline(always)]
pub(crate) fn inverse_add<V: Lanes>(
    f: &Fourier,
    spectra: &[f64],
    (place, count): (usize, usize),
    poly: &mut [u64],
    work: &mut [f64],
) {
    let (work, _) = work[..f.degree].as_chunks_mut::<GROUP>();
    let (spectra, _) = spectra.as_chunks::<GROUP>();
    inverse_last_pass::<V>(f, spectra, (place, count), work);
    let mut used = f.twiddles.len();
    let mut blocks = f.degree / GROUP;
    for _ in &f.radices[1..] {
        blocks /= 8;
        used -= 7 * blocks;
        inverse_pass::<V>(
            work,
            work.len() / (8 * blocks),
            &f.twiddles[used..used + 7 * blocks],
        );
    }
    let (words, _) = poly.as_chunks_mut::<LANES>();
    match f.radices[0] {
        2 => inverse_first_pass::<V, 2>(f, work, words),
        4 => inverse_first_pass::<V, 4>(f, work, words),
        _ => inverse_first_pass::<V, 8>(f, work, words),
    }
}

#[inline(always)]
fn inverse_last_pass<V: Lanes>(
    f: &Fourier,
    spectra: &[[f64; GROUP]],
    (place, count): (usize, usize),
    work: &mut [[f64; GROUP]],
) {
    let (twiddles, _) = f.lane_twiddles.as_chunks::<GROUP>();
    let tiles = work.chunks_exact_mut(8).zip(twiddles.chunks_exact(7));
    for ((tile, twiddle), spectra) in tiles.zip(spectra.chunks_exact(8 * count)) {
        let x = array!(8, Complex::<V>::zero(), |i| Complex::load(
            &spectra[i * count + place]
        ));
        let mut y = inverse_dft(x);
        for a in 1..8 {
            y[a] = y[a].times_conj(Complex::load(&twiddle[a - 1]));
        }
        let re = V::transpose(array!(8, y[0].re, |a| y[a].re));
        let im = V::transpose(array!(8, y[0].im, |a| y[a].im));
        for (b, out) in tile.iter_mut().enumerate() {
            let x = Complex {
                re: re[b],
                im: im[b],
            };
            x.store(out);
        }
    }
}

#[inline(always)]
fn inverse_pass<V: Lanes>(work: &mut [[f64; GROUP]], step: usize, powers: &[Root]) {
    for (block, powers) in work.chunks_exact_mut(8 * step).zip(powers.chunks_exact(7)) {
        let twiddle: [Complex<V>; 8] = twiddles(powers);
        for j in 0..step {
            let x = array!(8, Complex::<V>::zero(), |a| Complex::load(
                &block[a * step + j]
            ));
            let y = inverse_dft(x);
            for (a, y) in y.into_iter().enumerate() {
                let y = if a == 0 { y } else { y.times_conj(twiddle[a]) };
                y.store(&mut block[a * step + j]);
            }
        }
    }
}

#[inline(always)]
fn inverse_first_pass<V: Lanes, const R: usize>(
    f: &Fourier,
    work: &[[f64; GROUP]],
    poly: &mut [[u64; LANES]],
) {
    let vectors = f.degree / GROUP;
    let step = vectors / R;
    let twiddle: [Complex<V>; R] = twiddles(&f.twiddles[..R - 1]);
    let scale = V::splat(2.0 / f.degree as f64);
    for j in 0..step {
        let x = array!(R, Complex::<V>::zero(), |a| Complex::load(
            &work[a * step + j]
        ));
        for (a, y) in inverse_dft(x).into_iter().enumerate() {
            let y = if a == 0 { y } else { y.times_conj(twiddle[a]) };
            add_torus(y.re * scale, &mut poly[a * step + j]);
            add_torus(y.im * scale, &mut poly[vectors + a * step + j]);
        }
    }
}

/// Adds x modulo 1, rounded to 2^-51, to the words.
#[inline(always)]
fn add_torus<V: Lanes>(x: V, words: &mut [u64; LANES]) {
    let rounder = V::splat(ROUNDER);
    let fraction = x - ((x + rounder) - rounder);
    // numbers from 2 to 4 have units of 2^-51
    let word = V::sub_word(
        (fraction + V::splat(3.0)).to_bits(),
        V::splat_word(3f64.to_bits()),
    );
    let word = V::shl_word(word, V::splat_word(13));
    V::store_word(V::add_word(V::load_word(words), word), words);
}

/// See [`Fourier::multiply_add`].
#[inline(always)]
pub(crate) fn multiply_add<V: Lanes>(
    f: &Fourier,
    rows: &[f64],
    matrix: &[f64],
    columns: usize,
    out: &mut [f64],
    at: (usize, usize),
) {
    match columns {
        1 => multiply_add_columns::<V, 1>(f, rows, matrix, out, at),
        2 => multiply_add_columns::<V, 2>(f, rows, matrix, out, at),
        3 => multiply_add_columns::<V, 3>(f, rows, matrix, out, at),
        4 => multiply_add_columns::<V, 4>(f, rows, matrix, out, at),
        5 => multiply_add_columns::<V, 5>(f, rows, matrix, out, at),
        6 => multiply_add_columns::<V, 6>(f, rows, matrix, out, at),
        7 => multiply_add_columns::<V, 7>(f, rows, matrix, out, at),
        8 => multiply_add_columns::<V, 8>(f, rows, matrix, out, at),
        _ => unreachable!("checked by the caller"),
    }
}

#[inline(always)]
fn multiply_add_columns<V: Lanes, const C: usize>(
    f: &Fourier,
    rows: &[f64],
    matrix: &[f64],
    out: &mut [f64],
    (place, count): (usize, usize),
) {
    let used = rows.len() / f.degree;
    let held = matrix.len() / f.degree;
    let (rows, _) = rows.as_chunks::<GROUP>();
    let (matrix, _) = matrix.as_chunks::<GROUP>();
    let (out, _) = out.as_chunks_mut::<GROUP>();
    let parts = rows.chunks_exact(used).zip(matrix.chunks_exact(held));
    for ((rows, matrix), out) in parts.zip(out.chunks_exact_mut(count)) {
        let matrix = &matrix[held - used * C..];
        let out = &mut out[place..place + C];
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

/// The arguments of [`Fourier::rotate`].
pub(crate) struct Step<'a> {
    /// as many for every accumulator as there are keys
    pub(crate) exponents: &'a [usize],
    pub(crate) digits: &'a [f64],
    pub(crate) key: &'a [f64],
    pub(crate) keys: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) next: &'a [f64],
}

/// See [`Fourier::rotate`].
#[inline(always)]
pub(crate) fn rotate<V: Lanes>(f: &Fourier, step: &Step<'_>, out: &mut [f64], work: &mut [f64]) {
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
    match (step.keys, step.columns) {
        (1, 1) => rotate_columns::<V, 1, 1>(f, step, monomials, out),
        (1, 2) => rotate_columns::<V, 1, 2>(f, step, monomials, out),
        (1, 3) => rotate_columns::<V, 1, 3>(f, step, monomials, out),
        (1, 4) => rotate_columns::<V, 1, 4>(f, step, monomials, out),
        (3, 1) => rotate_columns::<V, 3, 1>(f, step, monomials, out),
        (3, 2) => rotate_columns::<V, 3, 2>(f, step, monomials, out),
        (3, 3) => rotate_columns::<V, 3, 3>(f, step, monomials, out),
        (3, 4) => rotate_columns::<V, 3, 4>(f, step, monomials, out),
        _ => unreachable!("checked by the caller"),
    }
}

#[inline(always)]
fn rotate_columns<V: Lanes, const K: usize, const C: usize>(
    f: &Fourier,
    step: &Step<'_>,
    monomials: &[[f64; GROUP]],
    out: &mut [f64],
) {
    let (count, rows) = (step.exponents.len() / K, step.rows);
    let (exponents, _) = step.exponents.as_chunks::<K>();
    let (digits, _) = step.digits.as_chunks::<GROUP>();
    let (key, _) = step.key.as_chunks::<GROUP>();
    let (next, _) = step.next.as_chunks::<GROUP>();
    let (out, _) = out.as_chunks_mut::<GROUP>();
    let ahead = next.len().div_ceil(f.groups());
    let mut next = next.iter();
    let parts = digits
        .chunks_exact(count * rows)
        .zip(key.chunks_exact(K * rows * C))
        .zip(out.chunks_exact_mut(count * C));
    for (g, ((digits, key), out)) in parts.enumerate() {
        next.by_ref().take(ahead).for_each(V::prefetch);
        let tiles = f.groups() / 8;
        let mut done = 0;
        while done < count {
            let left = (&exponents[done..], &monomials[K * tiles * done..]);
            let (digits, out) = (&digits[done * rows..], &mut out[done * C..]);
            if count - done >= 2 {
                rotate_some::<V, K, C, 2>(g, tiles, left, digits, key, out);
                done += 2;
            } else {
                rotate_some::<V, K, C, 1>(g, tiles, left, digits, key, out);
                done += 1;
            }
        }
    }
}

/// One group of `B` accumulators. Complex products with three multiplications instead of four: the third sum is of
/// (re + im)(re + im).
#[inline(always)]
fn rotate_some<V: Lanes, const K: usize, const C: usize, const B: usize>(
    g: usize,
    tiles: usize,
    (exponents, monomials): (&[[usize; K]], &[[f64; GROUP]]),
    digits: &[[f64; GROUP]],
    key: &[[f64; GROUP]],
    out: &mut [[f64; GROUP]],
) {
    let rows = key.len() / (K * C);
    let mut factors = [[Complex::<V>::zero(); K]; B];
    for i in 0..B {
        let tile = &monomials[K * (tiles * i + g / 8)..][..K];
        for which in 0..K {
            factors[i][which] = monomial_less_one(&tile[which], exponents[i][which] * g);
        }
    }
    for c in 0..C {
        let mut sums = [[[V::splat(0.0); 3]; K]; B];
        for j in 0..rows {
            let d = array!(B, [V::splat(0.0); 3], |i| {
                let d = Complex::<V>::load(&digits[i * rows + j]);
                [d.re, d.im, d.re + d.im]
            });
            for which in 0..K {
                let k = Complex::<V>::load(&key[(which * rows + j) * C + c]);
                let k = [k.re, k.im, k.re + k.im];
                for i in 0..B {
                    for part in 0..3 {
                        sums[i][which][part] = d[i][part].mul_add(k[part], sums[i][which][part]);
                    }
                }
            }
        }
        for i in 0..B {
            let sum = array!(K, Complex::<V>::zero(), |which| {
                let [re, im, both] = sums[i][which];
                Complex {
                    re: re - im,
                    im: both - re - im,
                }
            });
            let mut all = sum[0].times(factors[i][0]);
            for which in 1..K {
                all = all.plus_product(sum[which], factors[i][which]);
            }
            all.store(&mut out[i * C + c]);
        }
    }
}

/// X^a - 1 at the slots of a group: those of its tile's first group, turned by an eighth root, which is exact for even
/// numbers of eighths and rounds once more for odd ones.
#[inline(always)]
fn monomial_less_one<V: Lanes>(first: &[f64; GROUP], eighths: usize) -> Complex<V> {
    let turned = Complex::load(first).times(Complex::splat(EIGHTHS[eighths % 8]));
    turned.minus(Complex::splat((1.0, 0.0)))
}

impl Fourier {
    /// X^a at the slots of the first group of a tile, as exact as numbers are: an error here would be one of the products'
    /// largest.
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
