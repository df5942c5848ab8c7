//! Encryption and decryption.
//!
//! Neither branches nor indexes on secrets: sampling scans with masks, residues are corrected with
//! minima, slots are encoded and decoded by masked linear maps. What does show is whether a decryption
//! failed.

use crate::ciphertext::Ciphertext;
use crate::error::{Error, Result};
use crate::keys::{PublicKey, SecretKey, uniform_poly};
use crate::meter::Meter;
use crate::noise::Noise;
use crate::params::Params;
use crate::poly::{Poly, SecretPoly};
use core::fmt;
use homaes_aes::Block;
use homaes_math::Words;
use homaes_math::sample::{self, Seed};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// Decrypted blocks and how far the decryption was from failing. Overwritten when dropped; `Debug` shows no byte of them.
pub struct Decrypted {
    /// as many as the layout has in a batch
    pub blocks: Zeroizing<Vec<Block>>,
    /// log2 of half the modulus over the largest noise coefficient: below 1, treat the output as lost.
    /// Computed in double precision, so it saturates at about 48 bits however small the noise
    pub margin_bits: f64,
}

// The content is secret, and the margin tells of the key (SECURITY.md).
impl fmt::Debug for Decrypted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decrypted({} blocks)", self.blocks.len())
    }
}

/// The plaintext polynomial of `bytes` (one per slot) modulo the primes of `level`.
pub(crate) fn encode(params: &Params, bytes: &[u8], level: usize) -> Poly {
    let mut bits = Zeroizing::new(vec![0u64; params.ring().n()]);
    params.slots().encode(bytes, &mut bits);
    let signed = Zeroizing::new(bits.iter().map(|&b| b as i64).collect::<Vec<_>>());
    Poly::from_signed(params, params.basis(level), &signed)
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
            level,
            parts: [b, a],
            noise: params.noise().fresh(),
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
        Ok(self.encrypt_seeded(&bytes, top, (&seed, 0), rng))
    }

    /// c0 + c1·s in coefficient form modulo each prime of the ciphertext's level, canonical and plain.
    fn phase(&self, c: &Ciphertext) -> Result<SecretPoly> {
        c.check_shape(self.params())?;
        let params = self.params();
        let basis = params.basis(c.level).iter().enumerate();
        let limbs = basis
            .map(|(at, &i)| {
                let t = params.transform(i);
                let m = t.modulus();
                let mut limb = Words::scratch(params.ring().n());
                let [c0, c1] = c.parts.each_ref().map(|p| &p.limbs[at]);
                let s = &self.poly().limbs[i];
                for (k, x) in limb.iter_mut().enumerate() {
                    *x = m.add(m.canonical(c0[k]), m.mul_stored(c1[k], s[k]));
                }
                t.inverse(&mut limb);
                limb.iter_mut().for_each(|x| *x = m.from_stored(*x));
                limb
            })
            .collect();
        Ok(SecretPoly(Poly { limbs }))
    }

    /// The noise polynomial's parity (the message) and its largest coefficient over the modulus,
    /// which is at most 1/2.
    fn message(&self, c: &Ciphertext) -> Result<(Zeroizing<Vec<u64>>, f64)> {
        let params = self.params();
        let mut phase = self.phase(c)?;
        let basis = params.basis(c.level);
        // [phase]_Q = Σ y_i Q/q_i - v Q, with all q_i odd: its parity is that of Σ y_i + v
        for (limb, &i) in phase.limbs.iter_mut().zip(basis) {
            let m = params.modulus(i);
            let others = basis.iter().filter(|&&j| j != i);
            let cofactor = others.fold(1, |x, &j| m.mul(x, params.modulus(j).p() % m.p()));
            let c = m.shoup(m.inv(cofactor));
            limb.iter_mut().for_each(|x| *x = m.scale(*x, c));
        }
        let mut largest = 0.0f64;
        let bits = (0..params.ring().n()).map(|k| {
            let terms = phase.limbs.iter().zip(basis);
            let (sum, parity) = terms.fold((0.0, 0), |(s, parity), (limb, &i)| {
                let p = params.modulus(i).p() as f64;
                (s + limb[k] as f64 / p, parity ^ limb[k])
            });
            let v = (sum + 0.5).floor();
            largest = largest.max((sum - v).abs());
            (parity ^ v as u64) & 1
        });
        let bits = Zeroizing::new(bits.collect());
        Ok((bits, largest))
    }

    /// One byte per slot, and the margin as in [`Decrypted`].
    ///
    /// # Errors
    /// [`Error::NotBytes`] if the result is no vector of bytes: another key, or noise beyond the
    /// modulus. Detected with certainty up to 2^-(n/2) where 257 divides m. [`Error::OtherShape`] if the
    /// ciphertext belongs to another parameter set and shows it by its level or its size.
    pub fn decrypt(&self, c: &Ciphertext) -> Result<(Vec<u8>, f64)> {
        let (bits, largest) = self.message(c)?;
        let bytes = self.params().slots().decode(&bits);
        Ok((bytes.map_err(|_| Error::NotBytes)?, -(2.0 * largest).log2()))
    }

    /// The measured noise of a ciphertext: log2 of the root mean square and of the largest
    /// canonical embedding. The coefficients are found modulo the first primes of the level, up to 126
    /// bits, and must be below half their product: 2^27 at level 1, 2^41 at level 2, 2^55 at level 3,
    /// between 2^73 and 2^119 above, with the primes of the declared sets.
    ///
    /// # Panics
    /// On a ciphertext of another set.
    pub fn measure_noise(&self, c: &Ciphertext) -> (f64, f64) {
        let squares = self.noise_embeddings(c);
        let mean = squares.iter().sum::<f64>() / squares.len() as f64;
        let largest = squares.iter().copied().fold(0.0, f64::max);
        (0.5 * mean.log2(), 0.5 * largest.log2())
    }

    /// The squared magnitude of the noise at every embedding, as [`SecretKey::measure_noise`] finds it.
    pub(crate) fn noise_embeddings(&self, c: &Ciphertext) -> Zeroizing<Vec<f64>> {
        let params = self.params();
        let basis = params.basis(c.level);
        let phase = self.phase(c).expect("a ciphertext of this key's set");
        let phase = &phase.limbs;
        // as many primes as 126 bits hold; the others would only repeat the noise
        let mut bits = 0.0;
        let used = basis
            .iter()
            .take_while(|&&i| {
                bits += params.modulus(i).log2();
                bits < 126.0
            })
            .count();
        let moduli: Vec<_> = basis[..used].iter().map(|&i| params.modulus(i)).collect();
        let coefficients = (0..params.ring().n())
            .map(|k| crt_centred(&moduli, phase[..used].iter().map(|l| l[k])) as f64);
        let noise = Zeroizing::new(coefficients.collect::<Vec<f64>>());
        Zeroizing::new(homaes_math::embed::squared_magnitudes(
            params.ring(),
            &noise,
        ))
    }
}

/// Centred CRT by mixed radix; the product of the moduli must be below 2^126.
fn crt_centred(moduli: &[&homaes_math::Modulus], residues: impl Iterator<Item = u64>) -> i128 {
    let (mut x, mut product) = (0i128, 1i128);
    for (m, r) in moduli.iter().zip(residues) {
        let p = i128::from(m.p());
        let have = x.rem_euclid(p) as u64;
        let step = m.mul(m.sub(r, have), m.inv(product.rem_euclid(p) as u64));
        x += i128::from(step) * product;
        product *= p;
    }
    if x > product / 2 { x - product } else { x }
}

impl PublicKey {
    /// Encrypts one byte per slot; short input is padded with zero bytes. The result is at the top
    /// level with noise ρ: the encryption noise, 2^17 at n = 32768, leaves with one special prime.
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
        let u_poly = SecretPoly(Poly::from_signed(params, &self.basis, &u));
        let mut parts = Vec::with_capacity(2);
        for (c, key) in self.parts.iter().enumerate() {
            let mut e = Zeroizing::new(vec![0i64; n]);
            sample::gaussian(rng, &mut e);
            for (e, &b) in e.iter_mut().zip(bits.iter()) {
                // the switch below divides by P ≡ 1 mod 2 and keeps the value modulo 2
                *e = 2 * *e + if c == 0 { b as i64 } else { 0 };
            }
            let mut part = Poly::from_signed(params, &self.basis, &e);
            for (at, &i) in self.basis.iter().enumerate() {
                let m = params.modulus(i);
                let (key, u) = (&key.limbs[at], &u_poly.limbs[at]);
                for (k, x) in part.limbs[at].iter_mut().enumerate() {
                    *x = m.add(m.canonical(*x), m.mul_stored(key[k], u[k]));
                }
            }
            parts.push(part);
        }
        let meter = Meter::default();
        let plan = params.intake();
        let mut down = parts
            .into_iter()
            .map(|p| crate::keyswitch::mod_down(params, &meter, plan, &p));
        let parts = [(); 2].map(|()| down.next().expect("two parts"));
        Ok(Ciphertext {
            level: params.top_level(),
            parts,
            noise: params
                .noise()
                .fresh_public()
                .switched(plan.log2_drop, params.noise()),
        })
    }
}

/// The trivial encryption of public bytes at `level`: no key, no error.
pub(crate) fn trivial(params: &Params, bytes: &[u8], level: usize) -> Ciphertext {
    let message = encode(params, bytes, level);
    let zero = Poly::zeroed(params.ring().n(), message.limbs.len());
    Ciphertext {
        level,
        parts: [message, zero],
        noise: Noise::plaintext(params.noise()),
    }
}

/// `bytes` filled up with zeros to one per slot.
pub(crate) fn padded(params: &Params, bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
    let slots = params.slots().count();
    if bytes.len() > slots {
        return Err(Error::TooManyBlocks {
            found: bytes.len(),
            expected: slots,
        });
    }
    // one allocation of the final length: growing would leave a copy behind
    let mut out = Zeroizing::new(vec![0; slots]);
    out[..bytes.len()].copy_from_slice(bytes);
    Ok(out)
}
