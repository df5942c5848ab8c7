//! LWE and GLWE ciphertexts over words: torus elements in units of 2^-64.
//!
//! A GLWE ciphertext under key polynomials s_1 … s_k has mask polynomials a_1 … a_k and a body b, of N words each; its
//! phase is b - Σ a_i s_i = message + noise. An LWE ciphertext has a mask word per key bit, and a body word.
//!
//! Flattened, the GLWE key is an LWE key of k N bits; [`Glwe::extract`] gives the LWE ciphertext of one coefficient.

use crate::ring;
#[cfg(test)]
use crate::ring::RingSecret;
use core::marker::PhantomData;
use homaes_math::Words;
#[cfg(test)]
use zeroize::Zeroizing;

/// The flattened GLWE key of k N bits: states, and everything between two bootstraps.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Big {}

/// The key of n bits: inputs of blind rotation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Small {}

/// An LWE ciphertext under the key K: [`Big`] or [`Small`].
#[derive(Clone)]
pub(crate) struct Lwe<K> {
    /// mask, then body
    words: Words,
    key: PhantomData<K>,
}

impl<K> Lwe<K> {
    fn new(words: Words) -> Self {
        let key = PhantomData;
        Self { words, key }
    }

    /// 0 without noise, under a key of `dimension` bits.
    pub(crate) fn zeroed(dimension: usize) -> Self {
        Self::new(Words::zeroed(dimension + 1))
    }

    pub(crate) fn from_words(from: &[u64]) -> Self {
        let mut words = Words::scratch(from.len());
        words.copy_from_slice(from);
        Self::new(words)
    }

    /// Mask, then body, as in states.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(crate) fn dimension(&self) -> usize {
        self.words.len() - 1
    }

    pub(crate) fn mask(&self) -> &[u64] {
        &self.words[..self.dimension()]
    }

    pub(crate) fn mask_mut(&mut self) -> &mut [u64] {
        let dimension = self.dimension();
        &mut self.words[..dimension]
    }

    pub(crate) fn body(&self) -> u64 {
        self.words[self.dimension()]
    }

    pub(crate) fn add_constant(&mut self, constant: u64) {
        let dimension = self.dimension();
        let body = &mut self.words[dimension];
        *body = body.wrapping_add(constant);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        add(&mut self.words, &other.words);
    }

    pub(crate) fn add_multiple(&mut self, factor: u64, other: &Self) {
        for (x, y) in self.words.iter_mut().zip(other.words.iter()) {
            *x = x.wrapping_add(y.wrapping_mul(factor));
        }
    }

    /// b - <a, s>.
    #[cfg(test)]
    pub(crate) fn phase(&self, key: &[u64]) -> u64 {
        let terms = self.mask().iter().zip(key);
        terms.fold(self.body(), |sum, (a, s)| {
            sum.wrapping_sub(a.wrapping_mul(*s))
        })
    }
}

#[derive(Clone)]
pub(crate) struct Glwe {
    degree: usize,
    /// masks, then body
    words: Words,
}

impl Glwe {
    /// 0 without noise, with `rank` mask polynomials.
    pub(crate) fn zeroed(rank: usize, degree: usize) -> Self {
        let words = Words::zeroed((rank + 1) * degree);
        Self { degree, words }
    }

    /// Arbitrary content, to be overwritten.
    pub(crate) fn scratch(rank: usize, degree: usize) -> Self {
        let words = Words::scratch((rank + 1) * degree);
        Self { degree, words }
    }

    /// A public polynomial without noise.
    pub(crate) fn trivial(rank: usize, polynomial: &[u64]) -> Self {
        let mut out = Self::zeroed(rank, polynomial.len());
        out.split_mut().1.copy_from_slice(polynomial);
        out
    }

    fn dimension(&self) -> usize {
        self.words.len() - self.degree
    }

    /// Mask polynomials, then body.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(crate) fn split(&self) -> (&[u64], &[u64]) {
        self.words.split_at(self.dimension())
    }

    pub(crate) fn split_mut(&mut self) -> (&mut [u64], &mut [u64]) {
        let dimension = self.dimension();
        self.words.split_at_mut(dimension)
    }

    /// Mask polynomials, then body.
    pub(crate) fn polynomials(&self) -> impl ExactSizeIterator<Item = &[u64]> {
        self.words.chunks_exact(self.degree)
    }

    pub(crate) fn polynomials_mut(&mut self) -> impl ExactSizeIterator<Item = &mut [u64]> {
        self.words.chunks_exact_mut(self.degree)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        add(&mut self.words, &other.words);
    }

    pub(crate) fn sub(&mut self, other: &Self) {
        for (x, y) in self.words.iter_mut().zip(other.words.iter()) {
            *x = x.wrapping_sub(*y);
        }
    }

    /// Divides all words, as signed numbers, by 2^log with rounding; log ≥ 1.
    pub(crate) fn divide(&mut self, log: u32) {
        for x in self.words.iter_mut() {
            *x = ((x.wrapping_add(1 << (log - 1)) as i64) >> log) as u64;
        }
    }

    /// Writes X^amount · self, for 0 ≤ amount ≤ 2N.
    pub(crate) fn rotate(&self, amount: usize, to: &mut Self) {
        for (from, to) in self.polynomials().zip(to.polynomials_mut()) {
            ring::rotate(from, amount, to);
        }
    }

    /// The LWE ciphertext of coefficient h of the phase.
    pub(crate) fn extract(&self, h: usize) -> Lwe<Big> {
        let mut out = Lwe::new(Words::scratch(self.dimension() + 1));
        self.extract_to(h, &mut out);
        out
    }

    pub(crate) fn extract_to(&self, h: usize, out: &mut Lwe<Big>) {
        self.extract_words(h, &mut out.words);
    }

    /// Writes the words of the LWE ciphertext of coefficient h, mask before body.
    pub(crate) fn extract_words(&self, h: usize, out: &mut [u64]) {
        let (masks, body) = self.split();
        let (out, out_body) = out.split_at_mut(masks.len());
        let n = self.degree;
        for (mask, out) in masks.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
            ring::extract(mask, h, out);
        }
        out_body[0] = body[h];
    }

    /// b - Σ a_i s_i.
    #[cfg(test)]
    pub(crate) fn phase(&self, secret: &RingSecret<'_>) -> Zeroizing<Vec<u64>> {
        let (masks, body) = self.split();
        let mut phase = Zeroizing::new(vec![0; self.degree]);
        secret.add_mask_product(masks, &mut phase);
        for (p, b) in phase.iter_mut().zip(body) {
            *p = b.wrapping_sub(*p);
        }
        phase
    }
}

/// A public or encrypted polynomial: a test polynomial, or an input of a CMux.
#[derive(Clone, Copy)]
pub(crate) enum Polynomial<'a> {
    /// N words
    Public(&'a [u64]),
    Encrypted(&'a Glwe),
}

impl<'a> Polynomial<'a> {
    /// The words of the body if public, else of masks and body.
    pub(crate) fn words(self) -> &'a [u64] {
        match self {
            Self::Public(polynomial) => polynomial,
            Self::Encrypted(glwe) => glwe.words(),
        }
    }

    /// X^amount · self as a ciphertext of this rank, for 0 ≤ amount ≤ 2N.
    pub(crate) fn rotated(self, rank: usize, amount: usize) -> Glwe {
        match self {
            Self::Public(polynomial) => {
                let mut out = Glwe::zeroed(rank, polynomial.len());
                ring::rotate(polynomial, amount, out.split_mut().1);
                out
            }
            Self::Encrypted(glwe) => {
                let mut out = Glwe::scratch(rank, glwe.degree);
                glwe.rotate(amount, &mut out);
                out
            }
        }
    }
}

fn add(words: &mut [u64], others: &[u64]) {
    for (x, y) in words.iter_mut().zip(others) {
        *x = x.wrapping_add(*y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homaes_math::{Fourier, torus};
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    const DEGREE: usize = 128;
    const RANK: usize = 2;

    /// Key bits, and two uniform ciphertexts.
    fn uniform() -> (Vec<u64>, [Glwe; 2]) {
        let mut bits = vec![0; RANK * DEGREE];
        torus::binary(&mut ChaCha20Rng::from_seed([4; 32]), &mut bits);
        let glwes = [0, 1].map(|i| {
            let mut glwe = Glwe::zeroed(RANK, DEGREE);
            torus::uniform(&[5; 32], i, &mut glwe.words);
            glwe
        });
        (bits, glwes)
    }

    #[test]
    fn extraction_reads_coefficients() {
        let (bits, [glwe, _]) = uniform();
        let fourier = Fourier::new(DEGREE);
        let phase = glwe.phase(&RingSecret::new(&fourier, &bits));
        let mut again = Lwe::zeroed(RANK * DEGREE);
        for h in [0, 1, 63, DEGREE - 1] {
            let lwe = glwe.extract(h);
            assert_eq!(lwe.phase(&bits), phase[h]);
            glwe.extract_to(h, &mut again);
            assert_eq!(again.words(), lwe.words());
        }
    }

    #[test]
    fn rotations_go_round() {
        let (_, [glwe, mut turned]) = uniform();
        let mut back = glwe.clone();
        for amount in [0, 1, DEGREE, DEGREE + 7, 2 * DEGREE - 1] {
            glwe.rotate(amount, &mut turned);
            turned.rotate(2 * DEGREE - amount, &mut back);
            assert_eq!(back.words(), glwe.words());
            let encrypted = Polynomial::Encrypted(&glwe).rotated(RANK, amount);
            assert_eq!(encrypted.words(), turned.words());
            let public = Polynomial::Public(glwe.split().1).rotated(RANK, amount);
            let (masks, body) = public.split();
            assert!(masks.iter().all(|&x| x == 0));
            assert_eq!(body, turned.split().1);
        }
    }

    #[test]
    fn sums_are_sums_of_phases() {
        let (bits, glwes) = uniform();
        let [mut a, b] = glwes.each_ref().map(|glwe| glwe.extract(3));
        let [x, y] = [&a, &b].map(|lwe| lwe.phase(&bits));
        a.add(&b);
        a.add_multiple(5u64.wrapping_neg(), &b);
        a.add_constant(7);
        let want = x.wrapping_sub(y.wrapping_mul(4)).wrapping_add(7);
        assert_eq!(a.phase(&bits), want);
        let same = Lwe::<Big>::from_words(a.words());
        assert_eq!((same.mask(), same.body()), (a.mask(), a.body()));
        assert_eq!(same.dimension(), bits.len());

        let fourier = Fourier::new(DEGREE);
        let secret = RingSecret::new(&fourier, &bits);
        let polynomial: Vec<u64> = (0..DEGREE as u64).collect();
        let mut sum = Glwe::trivial(RANK, &polynomial);
        assert_eq!(sum.phase(&secret)[..], polynomial);
        let [x, y] = glwes.each_ref().map(|glwe| glwe.phase(&secret));
        sum.add(&glwes[0]);
        sum.sub(&glwes[1]);
        let want = x[9].wrapping_sub(y[9]).wrapping_add(9);
        assert_eq!(sum.phase(&secret)[9], want);
    }

    #[test]
    fn division_rounds_signed_words() {
        let words = [0, 1, 2, 3, 6, 7].map(|x: u64| [x, x.wrapping_neg()]);
        let mut polynomial = words.concat();
        polynomial.resize(DEGREE, 0);
        let mut glwe = Glwe::trivial(1, &polynomial);
        glwe.divide(2);
        let want = [0i64, 0, 0, 0, 1, 0, 1, -1, 2, -1, 2, -2];
        assert_eq!(glwe.split().1[..12], want.map(|x| x as u64));
    }
}
