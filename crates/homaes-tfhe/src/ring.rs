//! Polynomials modulo X^N + 1 over words (torus elements in units of 2^-64), and encryption under binary keys.

use homaes_math::fourier::Digits;
use homaes_math::sample::Seed;
use homaes_math::{Fourier, Reals, torus};
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

/// Exact products cut masks into limbs of 32 bits, shifted up by this: as torus elements they are below 2^-12.
const LIMB_SHIFT: u32 = 20;

/// The digit of x · 2^54 is x.
const AS_IS: Digits = Digits {
    base_log: 10,
    levels: 1,
};

pub(crate) struct RingSecret<'f> {
    fourier: &'f Fourier,
    /// k N coefficients, 0 or 1
    pub(crate) bits: Zeroizing<Vec<u64>>,
    spectra: Reals,
}

impl Drop for RingSecret<'_> {
    fn drop(&mut self) {
        self.spectra.zeroize();
    }
}

impl<'f> RingSecret<'f> {
    /// The key with these coefficients; zeros fill the last polynomial.
    pub(crate) fn new(fourier: &'f Fourier, bits: &[u64]) -> Self {
        let n = fourier.degree();
        // final length at once: growing would leave a copy behind
        let mut padded = Zeroizing::new(vec![0; bits.len().next_multiple_of(n)]);
        padded[..bits.len()].copy_from_slice(bits);
        let mut spectra = Reals::zeroed(padded.len());
        for (poly, spectrum) in padded.chunks(n).zip(spectra.chunks_mut(n)) {
            let moved = Zeroizing::new(poly.iter().map(|x| x << 54).collect::<Vec<u64>>());
            fourier.forward_digits(AS_IS, &moved, spectrum, 0);
        }
        Fourier::wipe();
        Self {
            fourier,
            bits: padded,
            spectra,
        }
    }

    pub(crate) fn fourier(&self) -> &'f Fourier {
        self.fourier
    }

    pub(crate) fn degree(&self) -> usize {
        self.fourier.degree()
    }

    pub(crate) fn poly(&self, i: usize) -> &[u64] {
        &self.bits[i * self.degree()..][..self.degree()]
    }

    /// Adds Σ a_i s_i to `out`, exactly: double precision holds products of 32-bit limbs and bits.
    pub(crate) fn add_mask_product(&self, masks: &[u64], out: &mut [u64]) {
        let n = self.degree();
        let mut limb = Zeroizing::new(vec![0u64; n]);
        let mut spectrum = Reals::zeroed(n);
        let mut product = Zeroizing::new(vec![0u64; n]);
        for half in [0, 32] {
            // a coefficient of a product is below 2^32 · N, so below 1/2 of the torus for N up to 2048
            for (mask, secret) in masks.chunks(n).zip(self.spectra.chunks(n)) {
                for (l, a) in limb.iter_mut().zip(mask) {
                    *l = (a >> half & 0xffff_ffff) << LIMB_SHIFT;
                }
                spectrum.fill(0.0);
                let mut limb_spectrum = Reals::zeroed(n);
                self.fourier.forward(&limb, &mut limb_spectrum, 0);
                self.fourier
                    .multiply_add(secret, &limb_spectrum, 1, &mut spectrum);
                product.fill(0);
                self.fourier.inverse_add(&spectrum, 0, &mut product);
                for (x, p) in out.iter_mut().zip(product.iter()) {
                    let exact = (*p as i64 + (1 << (LIMB_SHIFT - 1))) >> LIMB_SHIFT;
                    *x = x.wrapping_add((exact as u64) << half);
                }
            }
        }
        spectrum.zeroize();
        Fourier::wipe();
    }

    /// Encrypts in place: replaces the message in `body` by the body for the masks of `seed` and `stream`.
    #[inline(never)]
    pub(crate) fn encrypt(
        &self,
        (seed, stream): (&Seed, u64),
        sigma: f64,
        rng: &mut impl CryptoRng,
        body: &mut [u64],
    ) {
        let mut masks = vec![0; self.bits.len()];
        torus::uniform(seed, stream, &mut masks);
        self.add_mask_product(&masks, body);
        torus::add_gaussian(rng, sigma, body);
    }
}

/// Writes a' such that <a', s> is coefficient h of a·s for every polynomial s; only the first words if `out` is
/// shorter. With h = 0 it is its own inverse.
pub(crate) fn extract(a: &[u64], h: usize, out: &mut [u64]) {
    let (low, high) = out.split_at_mut(h + 1);
    for (x, a) in low.iter_mut().zip(a[..=h].iter().rev()) {
        *x = *a;
    }
    for (x, a) in high.iter_mut().zip(a[h + 1..].iter().rev()) {
        *x = a.wrapping_neg();
    }
}

/// Rounds words to multiples of 2^(64 - bits), for 1 to 64 bits; ties go up.
pub(crate) fn round(words: &mut [u64], bits: u32) {
    if bits < 64 {
        let shift = 64 - bits;
        for x in words {
            *x = x.wrapping_add(1 << (shift - 1)) >> shift << shift;
        }
    }
}

/// Writes X^amount · from, for 0 ≤ amount ≤ 2N.
pub(crate) fn rotate(from: &[u64], amount: usize, to: &mut [u64]) {
    let n = from.len();
    let (turns, shift) = (amount / n % 2, amount % n);
    let (stay, wrap) = from.split_at(n - shift);
    let (front, back) = to.split_at_mut(shift);
    let signed = |negative: bool, x: u64| if negative { x.wrapping_neg() } else { x };
    for (to, from) in front.iter_mut().zip(wrap) {
        *to = signed(turns == 0, *from);
    }
    for (to, from) in back.iter_mut().zip(stay) {
        *to = signed(turns == 1, *from);
    }
}

/// The permutation of coefficients by X -> X^(2^t + 1).
#[derive(Clone, Debug)]
pub(crate) struct Automorphism {
    /// target of coefficient j; the top bit is the sign
    target: Vec<u32>,
}

impl Automorphism {
    pub(crate) fn new(degree: usize, t: u32) -> Self {
        let power = (1usize << t) + 1;
        let target = (0..degree).map(|j| {
            let exponent = j * power % (2 * degree);
            let sign = (exponent / degree) as u32;
            (exponent % degree) as u32 | sign << 31
        });
        Self {
            target: target.collect(),
        }
    }

    pub(crate) fn apply(&self, from: &[u64], to: &mut [u64]) {
        for (x, &target) in from.iter().zip(&self.target) {
            // ±x without a branch
            let sign = u64::from(target >> 31).wrapping_neg();
            to[(target & 0x7fff_ffff) as usize] = (x ^ sign).wrapping_sub(sign);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    #[test]
    fn mask_products_are_exact() {
        let mut rng = ChaCha20Rng::from_seed([2; 32]);
        for (n, rank) in [(128, 5), (1024, 2), (2048, 1)] {
            let fourier = Fourier::new(n);
            let mut bits = vec![0; n * rank];
            torus::binary(&mut rng, &mut bits);
            let secret = RingSecret::new(&fourier, &bits);
            let masks: Vec<u64> = (0..n * rank).map(|_| rng.next_u64()).collect();
            let mut out = vec![5; n];
            secret.add_mask_product(&masks, &mut out);
            let mut want = vec![5u64; n];
            let mut turned = vec![0; n];
            for i in 0..rank {
                for (j, &s) in secret.poly(i).iter().enumerate() {
                    rotate(&masks[i * n..][..n], j, &mut turned);
                    for (x, y) in want.iter_mut().zip(&turned) {
                        *x = x.wrapping_add(y * s);
                    }
                }
            }
            assert!(out == want, "{n} {rank}");
        }
    }
}
