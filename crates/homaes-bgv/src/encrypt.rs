//! Encryption and decryption.
//!
//! Runs without branches or indexes on secrets: samplers scan with masks, residues are corrected with minima, slots are
//! encoded and decoded by masked linear maps, phases are rounded as integers. Only whether a decryption failed is
//! visible.

use crate::ciphertext::{Ciphertext, History};
use crate::error::{Error, Result};
use crate::keys::{PublicKey, SecretKey, uniform_poly};
use crate::noise::Noise;
use crate::noise::bound::{Bound, hash};
use crate::params::Params;
use homaes_math::sample::{self, Seed};
use homaes_math::{Words, joined, torus};
use homaes_rns::secret::{self, lots, lots_mut};
use homaes_rns::{Limbs, Meter, Poly, SecretPoly};
use homaes_scheme::{Owner, mismatch, signs};
use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

/// The plaintext polynomial of `bytes` (one per slot) modulo the primes of `level`.
#[inline(never)]
fn encode(params: &Params, bytes: &[u8], level: usize) -> Poly {
    let mut bits = Zeroizing::new(vec![0u64; params.ring().n()]);
    params.slots().encode(bytes, &mut bits);
    let signed = Zeroizing::new(bits.iter().map(|&b| b as i64).collect::<Vec<_>>());
    Poly::from_signed(params.rns(), params.basis(level), &signed)
}

/// The 0/1 coefficients of the plaintext polynomial of public `bytes`, one per slot.
pub(crate) fn plain_coefficients(params: &Params, bytes: &[u8]) -> Vec<i64> {
    let mut bits = vec![0u64; params.ring().n()];
    params.slots().encode(bytes, &mut bits);
    bits.into_iter().map(|b| b as i64).collect()
}

/// log2 of the largest canonical embedding of a public polynomial.
pub(crate) fn largest_embedding_log2(params: &Params, coefficients: &[i64]) -> f64 {
    let real: Vec<f64> = coefficients.iter().map(|&c| c as f64).collect();
    let squares = homaes_math::embed::squared_magnitudes(params.ring(), &real);
    0.5 * squares.into_iter().fold(0.0, f64::max).log2()
}

impl SecretKey {
    /// Encrypts one byte per slot at `level`; the uniform half is stream `stream` of `seed`.
    ///
    /// Noise: fresh symmetric, log2 rms 10.2 at n = 32768.
    pub(crate) fn encrypt_seeded(
        &self,
        bytes: &[u8],
        level: usize,
        (seed, stream): (&Seed, u64),
        rng: &mut impl CryptoRng,
    ) -> Ciphertext {
        let params = self.params();
        let basis = params.basis(level);
        let message = SecretPoly(encode(params, bytes, level));
        let a = uniform_poly(params, seed, stream, basis);
        let b = self.mask(basis, &a, &message, rng);
        Ciphertext {
            owner: Owner::new(params.id(), Some(self.id())),
            level,
            parts: [b, a],
            noise: params.noise().fresh(),
            history: History::AES,
        }
    }

    /// Encrypts one byte per slot at the top level. Short input is padded with zero bytes.
    ///
    /// # Errors
    /// If there are more bytes than slots.
    pub fn encrypt(&self, bytes: &[u8], rng: &mut impl CryptoRng) -> Result<Ciphertext> {
        let bytes = padded(self.params(), bytes)?;
        let mut seed = Seed::default();
        rng.fill_bytes(&mut seed);
        let top = self.params().top_level();
        let bound = Bound::encrypted(self.params().noise().bounds(), hash(&seed));
        Ok(Ciphertext {
            history: History::known(bound),
            ..self.encrypt_seeded(&bytes, top, (&seed, 0), rng)
        })
    }

    /// c0 + c1·s in coefficient form modulo each prime of the ciphertext's level, canonical and plain.
    pub(crate) fn phase_of(&self, c: &Ciphertext) -> Result<SecretPoly> {
        c.check_shape(self.params())?;
        let params = self.params();
        let basis = params.basis(c.level).iter().enumerate();
        let limbs = basis
            .map(|(at, &i)| {
                let t = params.transform(i);
                let m = t.modulus();
                let [c0, c1] = c.parts.each_ref().map(|p| &p.limbs[at]);
                let mut limb = Words::scratch(params.ring().n());
                limb.copy_from_slice(c0);
                let factors = lots(c1).iter().zip(lots(&self.poly().limbs[i]));
                for (x, (c1, s)) in lots_mut(&mut limb).iter_mut().zip(factors) {
                    secret::add_product(m, [c1, s], x);
                }
                t.inverse(&mut limb);
                limb.iter_mut().for_each(|x| *x = m.from_stored(*x));
                limb
            })
            .collect();
        Ok(SecretPoly(Poly { limbs }))
    }

    /// The message, which is the noise's parity, and the bits between the largest coefficient and half the modulus.
    fn message(&self, c: &Ciphertext) -> Result<(Zeroizing<Vec<u64>>, f64)> {
        let params = self.params();
        let mut phase = self.phase_of(c)?;
        let (bits, largest) = secret::parities(params.rns(), params.basis(c.level), &mut phase);
        // 1/2 over `largest`·2^-63; a noise of 0 counts as one unit
        Ok((bits, -2.0 - torus::log2_fraction(largest | 1)))
    }

    /// One byte per slot, and the margin as in [`Decrypted`](crate::Decrypted).
    ///
    /// # Errors
    /// [`Error::NotBytes`] if the result is no vector of bytes, because of a wrong key or too much noise; where 257
    /// divides m, this goes undetected with a probability of 2^-(n/2). [`Error::OtherShape`] if level or size show that
    /// the ciphertext belongs to another parameter set. [`Error::TooNoisy`] if the ciphertext's own bound is too large.
    pub fn decrypt(&self, c: &Ciphertext) -> Result<(Vec<u8>, f64)> {
        let own = self.of(c);
        if !core::ptr::eq(own, self) {
            return own.decrypt(c);
        }
        c.check(self.params(), self.id())?;
        // this may branch: the bound is public
        if let History::Known(_) = c.history {
            c.checked(self.params(), "decryption")?;
        }
        self.bytes_and_margin(c)
    }

    /// The part of [`SecretKey::decrypt`] that reads the secret.
    #[inline(never)]
    fn bytes_and_margin(&self, c: &Ciphertext) -> Result<(Vec<u8>, f64)> {
        let (bits, margin) = self.message(c)?;
        let bytes = self.params().slots().decode(&bits);
        Ok((bytes.map_err(|_| Error::NotBytes)?, margin))
    }

    /// The slots of a state's ciphertext, or of the two that it holds, and the margin as for
    /// [`decrypt`](Self::decrypt).
    #[inline(never)]
    pub(crate) fn decrypt_members(
        &self,
        c: &Ciphertext,
        has_two: bool,
    ) -> Result<(Vec<Vec<u8>>, f64)> {
        if !has_two {
            let (bytes, margin) = self.decrypt(c)?;
            return Ok((vec![bytes], margin));
        }
        c.check(self.params(), self.id())?;
        let (bits, margin) = self.message(c)?;
        let members = joined::split(self.params().ring(), &bits);
        let bytes = members
            .iter()
            .map(|bits| self.params().slots().decode(bits));
        let bytes = bytes.collect::<core::result::Result<_, _>>();
        Ok((bytes.map_err(|_| Error::NotBytes)?, margin))
    }

    /// The measured noise of a ciphertext: log2 of the root mean square and of the largest canonical embedding. The
    /// coefficients are recovered modulo the first primes of the level, up to 126 bits, and must be below half their
    /// product: 2^27 at level 1, 2^41 at level 2, 2^55 at level 3, between 2^73 and 2^119 above, with the primes of the
    /// declared sets.
    ///
    /// # Panics
    /// If the ciphertext belongs to another set, or only a failed device holds it.
    pub fn measure_noise(&self, c: &Ciphertext) -> (f64, f64) {
        let squares = self.noise_embeddings(c);
        let mean = squares.iter().sum::<f64>() / squares.len() as f64;
        let largest = squares.iter().copied().fold(0.0, f64::max);
        (0.5 * mean.log2(), 0.5 * largest.log2())
    }

    /// The squared magnitude of the noise at every embedding, as [`SecretKey::measure_noise`] finds it.
    pub(crate) fn noise_embeddings(&self, c: &Ciphertext) -> Zeroizing<Vec<f64>> {
        let own = self.of(c);
        let params = own.params();
        let basis = params.basis(c.level);
        let phase = own.phase_of(c).expect("in memory, and of this key's set");
        let noise = homaes_rns::centred(params.rns(), basis, &phase);
        Zeroizing::new(homaes_math::embed::squared_magnitudes(
            params.ring(),
            &noise,
        ))
    }
}

impl PublicKey {
    /// Encrypts one byte per slot; short input is padded with zero bytes. The result is at the top level with noise ρ:
    /// dropping one special prime removes the encryption noise, 2^17 at n = 32768.
    ///
    /// # Errors
    /// If there are more bytes than slots.
    pub fn encrypt(&self, bytes: &[u8], rng: &mut impl CryptoRng) -> Result<Ciphertext> {
        let params = &self.params;
        let n = params.ring().n();
        let bytes = padded(params, bytes)?;
        let mut bits = Zeroizing::new(vec![0u64; n]);
        params.slots().encode(&bytes, &mut bits);
        let mut u = Zeroizing::new(vec![0i64; n]);
        sample::ternary(rng, &mut u);
        let u_poly = SecretPoly(Poly::from_signed(params.rns(), &self.basis, &u));
        let mut parts = Vec::with_capacity(2);
        for (c, key) in self.parts.iter().enumerate() {
            let mut e = Zeroizing::new(vec![0i64; n]);
            sample::gaussian(rng, &mut e);
            for (e, &b) in e.iter_mut().zip(bits.iter()) {
                // the switch below divides by P ≡ 1 mod 2 and keeps the value modulo 2
                *e = 2 * *e + if c == 0 { b as i64 } else { 0 };
            }
            let mut part = Poly::from_signed(params.rns(), &self.basis, &e);
            for (at, &i) in self.basis.iter().enumerate() {
                let m = params.modulus(i);
                let factors = lots(&key.limbs[at]).iter().zip(lots(&u_poly.limbs[at]));
                for (x, (key, u)) in lots_mut(&mut part.limbs[at]).iter_mut().zip(factors) {
                    secret::add_product(m, [key, u], x);
                }
            }
            parts.push(part);
        }
        let meter = Meter::default();
        let plan = params.public_key_down();
        let mut down = parts
            .into_iter()
            .map(|p| plan.apply(params.rns(), &meter, &p));
        let parts = [(); 2].map(|()| down.next().expect("two parts"));
        let (model, fresh) = (params.noise(), params.noise().fresh_public());
        let carried = fresh.bound_log2() - plan.log2_drop();
        let id = hash(&parts[1].limbs[0][..64].to_vec());
        Ok(Ciphertext {
            owner: Owner::new(params.id(), Some(self.id)),
            level: params.top_level(),
            parts,
            noise: fresh.switched(plan.log2_drop(), model),
            history: History::known(Bound::rounded(model.bounds(), id, carried)),
        })
    }
}

/// Public bytes, one per slot, with signs for their polynomial's 0/1 coefficients.
pub struct Plaintext<'a> {
    /// one for each of [`Slots::count`](homaes_math::slots::Slots::count)
    pub bytes: &'a [u8],
    /// bit `i % 8` of byte `i / 8` is 1 if coefficient `i` is negated
    pub signs: Vec<u8>,
}

/// [`Device::public`](crate::device::Device::public) on the processor.
pub(crate) fn public(
    params: &Params,
    basis: &[usize],
    all: &[Plaintext<'_>],
    onto: &[&Poly],
) -> Result<Vec<Poly>> {
    let poly = |(k, plain): (usize, &Plaintext<'_>)| {
        let mut coefficients = plain_coefficients(params, plain.bytes);
        signs::apply(&plain.signs, &mut coefficients);
        let limbs = basis.par_iter().with_max_len(1);
        let limbs =
            limbs.flat_map_iter(|&i| Poly::from_signed(params.rns(), &[i], &coefficients).limbs);
        let mut poly = Poly {
            limbs: limbs.collect::<Vec<_>>().into(),
        };
        if let Some(a) = onto.get(k) {
            a.limbs.fetch()?;
            poly.add_assign(params.rns(), basis, a);
        }
        Ok(poly)
    };
    all.par_iter().enumerate().map(poly).collect()
}

/// The trivial ciphertext of a public polynomial at `level`: no key, no error.
pub(crate) fn without_key(params: &Params, message: Poly, level: usize) -> Ciphertext {
    let zero = Poly {
        limbs: Limbs::zero(params.ring().n(), params.basis(level).len()),
    };
    Ciphertext {
        owner: Owner::new(params.id(), None),
        level,
        parts: [message, zero],
        noise: Noise::plaintext(params.noise()),
        history: History::AES,
    }
}

/// `bytes` padded with zeros to one per slot.
pub(crate) fn padded(params: &Params, bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
    let slots = params.slots().count();
    mismatch::check_count("bytes", bytes.len(), slots)?;
    // one allocation of the final length: growing would leave a copy behind
    let mut out = Zeroizing::new(vec![0; slots]);
    out[..bytes.len()].copy_from_slice(bytes);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use homaes_math::Ring;
    use homaes_math::embed::squared_magnitudes;

    /// Coefficients chosen to add up at an embedding reach n/π there; with signs they are no larger than others.
    #[test]
    fn signs_undo_what_is_chosen() {
        let ring = Ring::new(255).unwrap();
        let n = ring.n();
        let unit = |at: &[usize]| {
            let mut x = vec![0.0; n];
            at.iter().for_each(|&i| x[i] = 1.0);
            squared_magnitudes(&ring, &x)[0]
        };
        // |ω_0 + ω_i|² is above 2 if both point the same way
        let chosen = (0..n).map(|i| i64::from(i == 0 || unit(&[0, i]) > 2.0));
        let mut coefficients: Vec<i64> = chosen.collect();
        let largest = |coefficients: &[i64]| {
            let real: Vec<f64> = coefficients.iter().map(|&c| c as f64).collect();
            let squares = squared_magnitudes(&ring, &real);
            squares.into_iter().fold(0.0, f64::max).sqrt()
        };
        let n = n as f64;
        let plain = largest(&coefficients) * std::f64::consts::PI / n;
        assert!((0.95..1.05).contains(&plain), "{plain}");
        let bytes: Vec<u8> = coefficients.iter().map(|&c| c as u8).collect();
        signs::randomize_signs(&bytes, &mut coefficients);
        // exponential squares: the largest of n/2 exceeds this with probability e^-16
        let most = (n / 2.0 * ((n / 2.0).ln() + 16.0)).sqrt();
        let signed = largest(&coefficients);
        assert!(signed < most, "{signed}, at most {most}");
    }
}
