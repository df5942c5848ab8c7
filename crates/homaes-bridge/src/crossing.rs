//! From lifted ciphertexts to LWE ciphertexts.
//!
//! With λ the functional of a slot and D its dual embedding, λ(c1·s') = Σ_k D_k c1_k s'_k over the positions k of evaluation form. s' is in the subring: it has
//! the same values in all rows. So the sixteen rows of D·c1 are summed, and the transform of the subring, which is symmetric, turns the sums into the
//! coefficients of λ(c1·s') = Σ_i a_i z_i: the mask. The body is Σ_k D_k c0_k. The D of other slots of a class is moved by a translation.

use crate::error::{Error, Result};
use crate::key::{BASE, BridgeKey, LEVELS, LOW};
use crate::noise::{batch_log2, exceeds_log2, power_sums, switch_log2};
use crate::weights::{Functional, centred};
use homaes_bgv::{Descent, Evaluator, LiftNoise, Lifted, Params};
use homaes_leveled::log2;
use homaes_math::kernel::{self, Term};
use homaes_math::{GaloisMap, Modulus, Words};
use homaes_scheme::misfit;

/// A ciphertext under the key of the subring, from which slots are read.
pub struct Switched {
    /// c1 and c0 modulo the prime, stored and canonical
    pub(crate) parts: [Words; 2],
    log2_t: u32,
}

/// The way from numbers modulo t in slots to LWE ciphertexts, prepared.
pub struct Crossing<'k> {
    key: &'k BridgeKey,
    log2_t: u32,
    functionals: Vec<Functional>,
    /// class and translation of every slot
    slots: Vec<(usize, GaloisMap)>,
    /// ⌊2^(63 + b)/q⌋ for q of b bits
    to_torus: u64,
}

/// What is known of the noise of readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadingNoise {
    /// log2 of the standard deviation, on the torus
    pub log2_sigma: f64,
    /// log2 of a bound on the probability that a batch has a reading with more noise than half of what its numbers are apart by: a quarter of 1/t
    pub failure_log2: f64,
}

impl<'k> Crossing<'k> {
    /// For numbers modulo 2^`log2_t`: 1 for bits, 5 for pairs of bits. Half a second at n = 32768.
    ///
    /// # Errors
    /// If `log2_t` is not 1 to 5.
    pub fn new(key: &'k BridgeKey, log2_t: u32) -> Result<Self> {
        if !(1..=5).contains(&log2_t) {
            return Err(Error::Modulus {
                found: log2_t,
                expected: 5,
            });
        }
        let params = &*key.params;
        let slots = params.slots();
        let [n3, n5, n257] = slots.axes();
        let classes = slots.count() / (n3 * n5 * n257);
        let descent = Descent::new(params, 1);
        let functionals = (0..classes)
            .map(|class| Functional::new(params, &descent, class, log2_t))
            .collect();
        let back = |e: usize, len: usize| (len - e % len) % len;
        let [_, cols, l3, l5] = params.ring().lens();
        let mut table = vec![None; slots.count()];
        for class in 0..classes {
            for step in (0..n3 * n5 * n257).map(|i| [i / (n5 * n257), i / n257 % n5, i % n257]) {
                let [e3, e5, e257] = step;
                let map = [back(e3, l3), back(e5, l5), back(e257, cols)];
                table[slots.slot(class, step)] = Some((class, key.ring.translation(map)));
            }
        }
        let q = key.transform.modulus();
        Ok(Self {
            key,
            log2_t,
            functionals,
            slots: table.into_iter().flatten().collect(),
            to_torus: ((1u128 << (63 + q.bits())) / u128::from(q.p())) as u64,
        })
    }

    /// log2 of t.
    pub(crate) fn log2_t(&self) -> u32 {
        self.log2_t
    }

    /// The key.
    pub fn key(&self) -> &'k BridgeKey {
        self.key
    }

    /// Words of an LWE ciphertext: mask, then body.
    pub fn words(&self) -> usize {
        self.key.dimension() + 1
    }

    /// `a` under the key of the subring.
    ///
    /// Noise: see [`ReadingNoise`]. Cost: ten transforms of the ring.
    ///
    /// # Errors
    /// If `a` holds numbers modulo another t, or belongs to another set or key.
    pub fn switched(&self, eval: &Evaluator<'_>, a: &Lifted) -> Result<Switched> {
        let params = self.params();
        let found = (eval.params().id(), eval.key_id());
        misfit::check("bridge key", (params.id(), self.key.id), found)?;
        if a.log2_t() != self.log2_t {
            return Err(Error::Modulus {
                found: a.log2_t(),
                expected: self.log2_t,
            });
        }
        let descent = Descent::new(params, a.level());
        let [c0, mut c1] = descent.apply(eval, a)?;
        let transform = descent.transform();
        let (ring, m) = (params.ring(), transform.modulus());
        transform.inverse(&mut c1);
        let mut rest: Vec<i64> = c1.iter().map(|&x| high_part(m, x)).collect();
        let digits: Vec<Words> = (0..LEVELS)
            .map(|level| {
                let mut digit = Words::scratch(rest.len());
                for (x, rest) in digit.iter_mut().zip(&mut rest) {
                    let d = match level + 1 == LEVELS {
                        true => *rest,
                        false => low_digit(*rest),
                    };
                    *rest = (*rest - d) >> BASE;
                    *x = m.to_stored(m.from_signed(d));
                }
                transform.forward(&mut digit);
                digit
            })
            .collect();
        let [mut body, mut mask] = [(); 2].map(|()| Words::scratch(c0.len()));
        let terms = |part: usize| -> Vec<[&[u64]; 2]> {
            let pairs = digits.iter().zip(&self.key.pairs);
            pairs.map(|(d, pair)| [&**d, &*pair[part]]).collect()
        };
        kernel::dot(ring, m, &terms(1), false, &mut mask);
        kernel::dot(ring, m, &terms(0), false, &mut body);
        for (x, c) in body.iter_mut().zip(c0.iter()) {
            *x = m.add(m.canonical(*x), *c);
        }
        for x in mask.iter_mut() {
            *x = m.canonical(*x);
        }
        Ok(Switched {
            parts: [mask, body],
            log2_t: a.log2_t(),
        })
    }

    /// The number in `slot` over t, as an LWE ciphertext on the torus: words of 64 bits, mask, then body, whose phase is body - <mask, key>.
    ///
    /// Cost: n products for mask and body, one transform of the subring.
    ///
    /// # Panics
    /// If `out` has not [`words`](Self::words), or there is no such slot.
    pub fn read(&self, c: &Switched, slot: usize, scratch: &mut ReadScratch, out: &mut [u64]) {
        assert!(out.len() == self.words() && c.log2_t == self.log2_t);
        let (class, map) = &self.slots[slot];
        let (ring, m) = (&self.key.ring, self.key.transform.modulus());
        let n = ring.n();
        let dual = &self.functionals[*class].dual;
        let sources: Vec<[&[u64]; 1]> = dual.chunks_exact(n).map(|row| [row]).collect();
        let [mask, body] = c.parts.each_ref().map(|p| p.chunks_exact(n));
        let terms: Vec<Term<'_>> = sources
            .iter()
            .zip(mask.zip(body))
            .map(|(sources, (mask, body))| Term {
                sources,
                map,
                key: [mask, body],
            })
            .collect();
        let [a, b] = &mut scratch.0;
        kernel::inner_product(ring, m, &terms, &[], &mut [[&mut a[..], &mut b[..]]]);
        self.key.transform.forward(a);
        let (mask, last) = out.split_at_mut(n);
        let (factor, shift) = (u128::from(self.to_torus), m.bits() - 1);
        // a canonical plain residue modulo q as a multiple of 2^-64
        let torus = |x: u64| ((u128::from(x) * factor) >> shift) as u64;
        for (out, &x) in mask.iter_mut().zip(a.iter()) {
            *out = torus(m.canonical(x));
        }
        let body = b.iter().fold(0, |sum, &x| m.add(sum, m.canonical(x)));
        last[0] = torus(body).wrapping_neg();
    }

    /// Memory that [`read`](Self::read) works in.
    pub fn scratch(&self) -> ReadScratch {
        let n = self.key.ring.n();
        ReadScratch([(); 2].map(|()| Words::scratch(n)))
    }

    pub(crate) fn params(&self) -> &'k Params {
        &self.key.params
    }

    /// Of `count` readings of what was lifted from planes like `a`.
    pub fn noise(&self, a: &Lifted, count: usize) -> ReadingNoise {
        let params = self.params();
        let gain = Descent::new(params, a.level()).gain_log2();
        let carried = a.carried_log2();
        let (rms, worst) = match self.log2_t {
            1 => (
                LiftNoise::planes_rms_log2(params, carried),
                LiftNoise::planes(params, carried),
            ),
            _ => (
                LiftNoise::pairs_rms_log2(params, carried),
                LiftNoise::pairs(params, carried),
            ),
        };
        let q = self.key.transform.modulus().log2();
        // μ/2 is what is read
        let unit = q + 1.0;
        let worst = worst.scaled(gain).with_normal(switch_log2(params, true));
        let limit = unit - f64::from(self.log2_t) - 2.0;
        let each = self.functionals.iter().map(|f| {
            let powers = power_sums(&f.squares, worst.moments().len() - 1);
            exceeds_log2(&worst, &powers, limit)
        });
        let each = each.fold(f64::NEG_INFINITY, f64::max);
        let rms = log2::hypot(rms + gain, switch_log2(params, false));
        let energy: f64 = self.functionals.iter().flat_map(|f| &f.squares).sum();
        let energy = energy / self.functionals.len() as f64;
        ReadingNoise {
            log2_sigma: rms + 0.5 * energy.log2() - unit,
            failure_log2: batch_log2(each, count, count.div_ceil(self.slots.len())),
        }
    }
}

/// The working memory of a reading.
pub struct ReadScratch([Words; 2]);

/// A stored lazy residue, centred, without its lowest bits, rounded.
fn high_part(m: &Modulus, x: u64) -> i64 {
    let x = centred(m, m.from_stored(m.canonical(x)));
    (x + (1 << (LOW - 1))) >> LOW
}

/// The lowest digit, centred.
fn low_digit(x: i64) -> i64 {
    let half = 1 << (BASE - 1);
    (x + half).rem_euclid(1 << BASE) - half
}
