//! The passes of a transform, in both directions.

use super::super::{Digits, Fourier, GROUP};
use super::Root;
use super::dft::{dft, inverse_dft};
use super::digits::{Plain, RoughDigit, Source, Torus, add_torus, fine_digits};
use crate::lanes::{Complex, LANES, Lanes, array};

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

/// The last pass: within eight vectors at a time, to groups `place`, `place + count`, … of `out`. With `BOTH` the pass before it, across the same
/// eight vectors and with `powers`, is done first, in registers.
#[inline(always)]
fn last_pass<V: Lanes, const BOTH: bool>(
    f: &Fourier,
    work: &[[f64; GROUP]],
    powers: &[Root],
    out: &mut [[f64; GROUP]],
    (place, count): (usize, usize),
) {
    let (lane_twiddles, _) = f.lane_twiddles.as_chunks::<GROUP>();
    let tiles = work.chunks_exact(8).zip(lane_twiddles.chunks_exact(7));
    for (t, ((tile, twiddle), out)) in tiles.zip(out.chunks_exact_mut(8 * count)).enumerate() {
        let mut x = array!(8, Complex::<V>::zero(), |b| Complex::load(&tile[b]));
        if BOTH {
            let before: [Complex<V>; 8] = twiddles(&powers[7 * t..][..7]);
            butterfly(x, &before, |a, y| x[a] = y);
        }
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
    while 8 * blocks < work.len() {
        pass::<V>(
            work,
            work.len() / (8 * blocks),
            &f.twiddles[used..used + 7 * blocks],
        );
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

/// See [`last_pass`].
#[inline(always)]
fn inverse_last_pass<V: Lanes, const BOTH: bool>(
    f: &Fourier,
    spectra: &[[f64; GROUP]],
    (place, count): (usize, usize),
    powers: &[Root],
    work: &mut [[f64; GROUP]],
) {
    let (lane_twiddles, _) = f.lane_twiddles.as_chunks::<GROUP>();
    let tiles = work.chunks_exact_mut(8).zip(lane_twiddles.chunks_exact(7));
    for (t, ((tile, twiddle), spectra)) in tiles.zip(spectra.chunks_exact(8 * count)).enumerate() {
        let x = array!(8, Complex::<V>::zero(), |i| Complex::load(
            &spectra[i * count + place]
        ));
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
            let after: [Complex<V>; 8] = twiddles(&powers[7 * t..][..7]);
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
            add_torus(y.re, scale, &mut poly[a * step + j]);
            add_torus(y.im, scale, &mut poly[vectors + a * step + j]);
        }
    }
}
