//! The passes of a transform, in both directions.

use super::super::{Digits, Fourier, GROUP};
use super::Root;
use super::dft::{dft, inverse_dft};
use super::digits::{Plain, RoughDigit, Source, Torus, add_torus, fine_digits};
use crate::float_lanes::{Complex, LANES, Lanes, array};

/// Calls `$pass::<V, R, STEP>($args)` for this degree, with R blocks of STEP vectors: constant lengths need no
/// checks.
macro_rules! first_pass {
    ($f:ident, $pass:ident($($arg:expr),*)) => {
        match ($f.radices[0], $f.degree / GROUP / $f.radices[0]) {
            (8, 1) => $pass::<V, 8, 1>($($arg),*),
            (2, 8) => $pass::<V, 2, 8>($($arg),*),
            (4, 8) => $pass::<V, 4, 8>($($arg),*),
            (8, 8) => $pass::<V, 8, 8>($($arg),*),
            (2, 64) => $pass::<V, 2, 64>($($arg),*),
            (4, 64) => $pass::<V, 4, 64>($($arg),*),
            (8, 64) => $pass::<V, 8, 64>($($arg),*),
            _ => unreachable!("degrees are checked"),
        }
    };
}

/// Distance of the vectors that a middle pass, or the joined last passes, combine.
const STEP: usize = 8;

#[inline(always)]
fn blocks<T, const R: usize, const STEP: usize>(x: &[T]) -> &[[T; STEP]; R] {
    let (blocks, _) = x.as_chunks();
    blocks.first_chunk().expect("lengths are checked")
}

#[inline(always)]
fn blocks_mut<T, const R: usize, const STEP: usize>(x: &mut [T]) -> &mut [[T; STEP]; R] {
    let (blocks, _) = x.as_chunks_mut();
    blocks.first_chunk_mut().expect("lengths are checked")
}

#[inline(always)]
fn forward_first_pass<V: Lanes, const R: usize, const STEP: usize>(
    f: &Fourier,
    source: impl Source<V>,
    work: &mut [[f64; GROUP]],
) {
    let twiddle: [Complex<V>; R] = twiddles(&f.twiddles[..R - 1]);
    let (re, im) = source.stored().split_at(R * STEP);
    let (re, im): (&[[_; STEP]; R], &[[_; STEP]; R]) = (blocks(re), blocks(im));
    let work: &mut [[_; STEP]; R] = blocks_mut(work);
    for j in 0..STEP {
        let x = array!(R, Complex::zero(), |a| Complex {
            re: source.vector(&re[a][j]),
            im: source.vector(&im[a][j]),
        });
        for (y, work) in dft(x, &twiddle).iter().zip(&mut *work) {
            y.store(&mut work[j]);
        }
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
fn pass<V: Lanes>(work: &mut [[f64; GROUP]], powers: &[Root]) {
    let (powers, _) = powers.as_chunks::<7>();
    for (block, powers) in work.chunks_exact_mut(8 * STEP).zip(powers) {
        let twiddle: [Complex<V>; 8] = twiddles(powers);
        let block: &mut [[_; STEP]; 8] = blocks_mut(block);
        for j in 0..STEP {
            let x = array!(8, Complex::<V>::zero(), |a| Complex::load(&block[a][j]));
            for (y, block) in dft(x, &twiddle).iter().zip(&mut *block) {
                y.store(&mut block[j]);
            }
        }
    }
}

/// The last pass, within eight vectors at a time, to groups `place`, `place + count`, … of `out`. With `BOTH` it
/// first does the pass before it in registers, across the same eight vectors and with `powers`.
#[inline(always)]
fn last_pass<V: Lanes, const BOTH: bool>(
    f: &Fourier,
    work: &[[f64; GROUP]],
    powers: &[Root],
    out: &mut [[f64; GROUP]],
    (place, count): (usize, usize),
) {
    assert!(place < count);
    let (lane_twiddles, _) = f.lane_twiddles.as_chunks::<GROUP>();
    let (lane_twiddles, _) = lane_twiddles.as_chunks::<7>();
    let (tiles, _) = work.as_chunks::<8>();
    let mut powers = powers.as_chunks::<7>().0.iter();
    let tiles = tiles.iter().zip(lane_twiddles);
    for ((tile, twiddle), out) in tiles.zip(out.chunks_exact_mut(8 * count)) {
        let mut x = array!(8, Complex::<V>::zero(), |b| Complex::load(&tile[b]));
        if BOTH {
            let powers = powers.next().expect("as many as tiles");
            let before: [Complex<V>; 8] = twiddles(powers);
            x = dft(x, &before);
        }
        let re = V::transpose(array!(8, x[0].re, |b| x[b].re));
        let im = V::transpose(array!(8, x[0].im, |b| x[b].im));
        let y = array!(8, x[0], |a| Complex {
            re: re[a],
            im: im[a],
        });
        let factors = array!(8, y[0], |a| if a == 0 {
            y[0]
        } else {
            Complex::load(&twiddle[a - 1])
        });
        let y = dft(y, &factors);
        for (y, out) in y.iter().zip(out.chunks_exact_mut(count)) {
            y.store(&mut out[place]);
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
    first_pass!(f, forward_first_pass(f, source, work));
    let mut used = f.radices[0] - 1;
    let mut blocks = f.radices[0];
    while 8 * blocks < work.len() {
        pass::<V>(work, &f.twiddles[used..used + 7 * blocks]);
        used += 7 * blocks;
        blocks *= 8;
    }
    let (out, _) = out.as_chunks_mut::<GROUP>();
    let powers = &f.twiddles[used..];
    if powers.is_empty() {
        last_pass::<V, false>(f, work, powers, out, at);
    } else {
        last_pass::<V, true>(f, work, powers, out, at);
    }
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

/// The inverse: the last pass first, every step inverted but for the factor M.
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
    let mut used = f.twiddles.len();
    let mut blocks = f.degree / GROUP;
    if f.radices.len() > 1 {
        blocks /= 8;
        used -= 7 * blocks;
        inverse_last_pass::<V, true>(f, spectra, (place, count), &f.twiddles[used..], work);
    } else {
        inverse_last_pass::<V, false>(f, spectra, (place, count), &[], work);
    }
    while blocks > f.radices[0] {
        blocks /= 8;
        used -= 7 * blocks;
        inverse_pass::<V>(work, &f.twiddles[used..used + 7 * blocks]);
    }
    let (words, _) = poly.as_chunks_mut::<LANES>();
    first_pass!(f, inverse_first_pass(f, work, words));
}

#[inline(always)]
fn inverse_last_pass<V: Lanes, const BOTH: bool>(
    f: &Fourier,
    spectra: &[[f64; GROUP]],
    (place, count): (usize, usize),
    powers: &[Root],
    work: &mut [[f64; GROUP]],
) {
    assert!(place < count);
    let (lane_twiddles, _) = f.lane_twiddles.as_chunks::<GROUP>();
    let (lane_twiddles, _) = lane_twiddles.as_chunks::<7>();
    let (tiles, _) = work.as_chunks_mut::<8>();
    let mut powers = powers.as_chunks::<7>().0.iter();
    let tiles = tiles.iter_mut().zip(lane_twiddles);
    for ((tile, twiddle), spectra) in tiles.zip(spectra.chunks_exact(8 * count)) {
        let mut x = [Complex::<V>::zero(); 8];
        for (x, spectra) in x.iter_mut().zip(spectra.chunks_exact(count)) {
            *x = Complex::load(&spectra[place]);
        }
        let mut y = inverse_dft(x);
        for a in 1..8 {
            y[a] = y[a].times_conj(Complex::load(&twiddle[a - 1]));
        }
        let re = V::transpose(array!(8, y[0].re, |a| y[a].re));
        let im = V::transpose(array!(8, y[0].im, |a| y[a].im));
        let mut x = array!(8, y[0], |b| Complex {
            re: re[b],
            im: im[b],
        });
        if BOTH {
            let powers = powers.next().expect("as many as tiles");
            let after: [Complex<V>; 8] = twiddles(powers);
            x = inverse_dft(x);
            for a in 1..8 {
                x[a] = x[a].times_conj(after[a]);
            }
        }
        for (x, out) in x.into_iter().zip(tile) {
            x.store(out);
        }
    }
}

#[inline(always)]
fn inverse_pass<V: Lanes>(work: &mut [[f64; GROUP]], powers: &[Root]) {
    let (powers, _) = powers.as_chunks::<7>();
    for (block, powers) in work.chunks_exact_mut(8 * STEP).zip(powers) {
        let twiddle: [Complex<V>; 8] = twiddles(powers);
        let block: &mut [[_; STEP]; 8] = blocks_mut(block);
        for j in 0..STEP {
            let x = array!(8, Complex::<V>::zero(), |a| Complex::load(&block[a][j]));
            let y = inverse_dft(x);
            for (a, (y, block)) in y.into_iter().zip(&mut *block).enumerate() {
                let y = if a == 0 { y } else { y.times_conj(twiddle[a]) };
                y.store(&mut block[j]);
            }
        }
    }
}

#[inline(always)]
fn inverse_first_pass<V: Lanes, const R: usize, const STEP: usize>(
    f: &Fourier,
    work: &[[f64; GROUP]],
    poly: &mut [[u64; LANES]],
) {
    let work: &[[_; STEP]; R] = blocks(work);
    let (re, im) = poly.split_at_mut(R * STEP);
    let (re, im): (&mut [[_; STEP]; R], &mut [[_; STEP]; R]) = (blocks_mut(re), blocks_mut(im));
    let twiddle: [Complex<V>; R] = twiddles(&f.twiddles[..R - 1]);
    let scale = V::splat(2.0 / f.degree as f64);
    for j in 0..STEP {
        let x = array!(R, Complex::<V>::zero(), |a| Complex::load(&work[a][j]));
        for (a, y) in inverse_dft(x).into_iter().enumerate() {
            let y = if a == 0 { y } else { y.times_conj(twiddle[a]) };
            add_torus(y.re, scale, &mut re[a][j]);
            add_torus(y.im, scale, &mut im[a][j]);
        }
    }
}
