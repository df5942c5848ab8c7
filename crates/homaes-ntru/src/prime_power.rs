//! Elements modulo q = p^ℓ as in the paper: multi-word coefficients, digits of one or more bits, one key for all levels
//! (DHS14 §4).
//!
//! Products of polynomials are exact: residues modulo enough auxiliary NTT primes, and back by the CRT. The evaluation
//! key stays in that form, as the paper keeps it "in the NTT domain".
//!
//! | | integers below | primes of 46 bits at the top |
//! |---|---|---|
//! | product of two ciphertexts, sums included | q² n 2^16 | 56 |
//! | h·s, f·c | q n 2^10 | 29 |
//! | digits · four limbs of the key ([`homaes_rns::grouped`]) | 2^190 n 2^w · digits | 5 in each of seven groups |

mod crt;
mod wide;

use crate::arithmetic::{Arithmetic, Secret, add_product, in_lots};
use crate::error::{ParamsError, Result};
use crate::keys::f_of;
use crate::rns::quotient;
use crate::sets::{ParamSet, Variant};
use crt::{Crt, Reduction};
use homaes_math::natural::inverse_of_word;
use homaes_math::prime::largest_primes;
use homaes_math::{Ring, Words, kernel};
use homaes_rns::grouped::{Shape, inner_products};
use homaes_rns::{Meter, Poly, RnsContext, SecretPoly, Stage, transposed};
use homaes_scheme::{Cancel, FieldError};
use homaes_wire::{Decoder, Encoder, packed_len};
use num_bigint::BigUint;
use rayon::prelude::*;
pub(crate) use wide::Wide;
use wide::{BLOCK, LIMB_BITS, MASK, WideModulus, divide_exactly, limbs_of};
use zeroize::{Zeroize, Zeroizing};

/// Bits of p and of auxiliary primes: sums of 64 residues and limbs stay below 2^52 q.
const P_BITS: u32 = 31;
const AUXILIARY_BITS: u32 = 46;
/// Every auxiliary prime exceeds 2 to this power.
const EACH: f64 = 45.99;
const GROUP: usize = 4;
/// log2 of the number of products that are summed before relinearisation.
const SUMS_BITS: f64 = 10.0;

/// Arithmetic modulo powers of a prime.
pub struct PrimePower {
    pub(crate) p: u64,
    /// bits of a digit
    pub(crate) word: u32,
    /// auxiliary primes
    pub(crate) context: RnsContext,
    /// p itself
    base: RnsContext,
    /// by level, from 1
    levels: Vec<Level>,
    reduction: Reduction,
    /// p⁻¹ modulo 2^64
    inverse: u64,
}

struct Level {
    modulus: WideModulus,
    /// bits of the top limb in files
    bits: u32,
    /// for products of two elements
    products: Crt,
    /// for products of an element and a small polynomial
    small: Crt,
    /// for sums of digits times groups of the key
    grouped: Crt,
}

impl PrimePower {
    fn level(&self, level: usize) -> &Level {
        &self.levels[level - 1]
    }

    pub(crate) fn top(&self) -> usize {
        self.levels.len()
    }

    fn n(&self) -> usize {
        self.context.ring().n()
    }

    /// Digits of an element of a level.
    pub(crate) fn digits(&self, level: usize) -> usize {
        let bits = self.log2_modulus(level);
        (bits / f64::from(self.word)).floor() as usize + 1
    }

    fn digit(&self, x: &Wide, number: usize, out: &mut Words) {
        let at = number as u32 * self.word;
        let (limb, shift) = ((at / LIMB_BITS) as usize, at % LIMB_BITS);
        let mask = (1u64 << self.word) - 1;
        let Some(low) = x.limbs.get(limb) else {
            out.fill(0);
            return;
        };
        match x.limbs.get(limb + 1) {
            Some(high) if shift + self.word > LIMB_BITS => {
                for ((o, &l), &h) in out.iter_mut().zip(low.iter()).zip(high.iter()) {
                    *o = (l >> shift | h << (LIMB_BITS - shift)) & mask;
                }
            }
            _ => {
                for (o, &l) in out.iter_mut().zip(low.iter()) {
                    *o = l >> shift & mask;
                }
            }
        }
    }

    /// An element in evaluation form modulo the first `count` auxiliary primes.
    fn transformed(&self, meter: &Meter, x: &Wide, count: usize) -> Poly {
        let mut out = Poly::scratch(self.n(), count);
        for (i, limb) in out.limbs.iter_mut().enumerate() {
            self.reduction.of(&self.context, meter, i, &x.limbs, limb);
        }
        out
    }

    /// The element of residues in evaluation form, which are overwritten; the caller zeroizes secret ones.
    fn element(&self, meter: &Meter, level: usize, crt: &Crt, poly: &mut Poly) -> Wide {
        self.integers(meter, level, crt, &mut poly.limbs)
    }

    /// [`element`](Self::element) from the residues of several integers.
    fn integers(&self, meter: &Meter, level: usize, crt: &Crt, residues: &mut [Words]) -> Wide {
        for residues in residues.chunks_exact_mut(crt.primes()) {
            for (i, limb) in residues.iter_mut().enumerate() {
                meter.time(Stage::Transform, || self.context.transform(i).inverse(limb));
            }
        }
        let modulus = &self.level(level).modulus;
        crt.apply(&self.context, meter, modulus, residues)
    }

    /// Adds Σ x·y modulo auxiliary primes, canonical; y canonical.
    fn add_product(&self, out: &mut Poly, x: &Poly, y: &Poly) {
        let pairs = x.limbs.iter().zip(&y.limbs);
        for (i, (out, (x, y))) in out.limbs.iter_mut().zip(pairs).enumerate() {
            add_product(self.context.modulus(i), [x, y], out);
        }
    }

    /// `h s + noise` modulo the auxiliary primes of small products.
    #[inline(never)]
    fn masked(&self, h: &Poly, s: &[i64], noise: &[i64]) -> Poly {
        let basis: Vec<usize> = (0..h.limbs.len()).collect();
        let mut out = Poly::from_signed(&self.context, &basis, noise);
        let s = SecretPoly(Poly::from_signed(&self.context, &basis, s));
        self.add_product(&mut out, &s, h);
        out
    }

    /// f·c, or f²·c for `power` 2, modulo q.
    fn phase(&self, secret: &Secret, level: usize, power: usize, c: &Wide) -> Wide {
        let (meter, crt) = (Meter::default(), &self.level(level).small);
        let mut phase = c.clone();
        for _ in 0..power {
            let poly = SecretPoly(self.transformed(&meter, &phase, crt.primes()));
            let mut product = SecretPoly(Poly::zeroed(self.n(), crt.primes()));
            self.add_product(&mut product, &poly, &secret.f);
            phase.zeroize();
            phase = self.element(&meter, level, crt, &mut product);
        }
        phase
    }

    /// Switches one level down: (c - δ)/p, where δ ≡ c modulo p is even and between -p and p.
    fn switched(&self, meter: &Meter, level: usize, c: &Wide) -> Wide {
        let n = self.n();
        let modulus = &self.level(level - 1).modulus;
        let mut out = Wide::zeroed(n, modulus.count());
        meter.time(Stage::Elementwise, || {
            let base = (1u64 << LIMB_BITS) % self.p;
            let m = self.base.modulus(0);
            for start in (0..n).step_by(BLOCK) {
                let mut block = c.block(start);
                let mut remainder = [0u64; BLOCK];
                let shoup = m.shoup(base);
                for limb in block.iter().rev() {
                    for (r, &x) in remainder.iter_mut().zip(limb) {
                        *r = m.scale(*r, shoup) + m.scale(x, m.shoup(1));
                        *r = m.canonical(*r);
                    }
                }
                let delta = remainder.map(|r| even(r, self.p));
                divide_exactly(&mut block, &delta, self.p, self.inverse);
                // between -1 and q/p; -1 is all ones
                modulus.settle(&mut block);
                out.set_block(start, &block);
            }
        });
        out
    }

    /// Relinearises some products of one level, which share each load of the key.
    fn relinearize_some(
        &self,
        meter: &Meter,
        key: &[Vec<Words>],
        level: usize,
        products: Vec<Poly>,
        cancel: &Cancel,
    ) -> Result<Vec<Wide>> {
        let at = self.level(level);
        let elements = products.into_iter().map(|mut product| {
            cancel.check()?;
            Ok(self.element(meter, level, &at.products, &mut product))
        });
        let elements = elements.collect::<Result<Vec<Wide>>>()?;
        let digit = |element: usize, number: usize, prime: usize, out: &mut Words| {
            let t = self.context.transform(prime);
            let m = t.modulus();
            meter.time(Stage::Conversion, || {
                self.digit(&elements[element], number, out);
                kernel::scale_canonical(self.context.ring(), m, m.shoup(m.r()), out);
            });
            meter.time(Stage::Transform, || t.forward(out));
        };
        let shape = Shape {
            elements: elements.len(),
            digits: self.digits(level),
            groups: at.grouped.residues() / at.grouped.primes(),
            primes: at.grouped.primes(),
        };
        let check = || cancel.check();
        let sums = inner_products(&self.context, meter, shape, digit, |j| &key[j][..], check)?;
        let lowered = sums.into_iter().map(|mut sums| {
            let c = self.integers(meter, level, &at.grouped, &mut sums);
            self.switched(meter, level, &c)
        });
        Ok(lowered.collect())
    }
}

impl Arithmetic for PrimePower {
    type Element = Wide;
    type Product = Poly;
    type KeyPart = Vec<Words>;

    fn new(set: &ParamSet, ring: Ring) -> Result<Self, ParamsError> {
        let step = ring.modulus_step();
        let Variant::Paper { word } = set.variant else {
            unreachable!("sets of powers")
        };
        let p = largest_primes(1 << P_BITS, step, 1)[0];
        let top = set.top_level();
        let log2_p = (p as f64).log2();
        let log2_n = ring.product_log2();
        let primes_of = |bits: f64| (bits / EACH).ceil() as usize;
        let product_primes =
            |level: usize| primes_of(2.0 * log2_p * level as f64 + log2_n + SUMS_BITS + 2.0);
        let log2_q = log2_p * top as f64;
        // small factors are below 2^4
        let small = primes_of(log2_q + log2_n + 4.0 + 2.0);
        let digits = (log2_q / f64::from(word)).floor() + 1.0;
        let group_bits = (GROUP as u32 * LIMB_BITS + word) as f64;
        let grouped = primes_of(group_bits + log2_n + digits.log2() + 2.0);
        let count = product_primes(top).max(small).max(grouped);
        let primes = largest_primes(1 << AUXILIARY_BITS, step, count);
        assert!(primes.iter().all(|&p| (p as f64).log2() > EACH));
        let modulus = |p| ParamsError::Modulus { p, step };
        let base = RnsContext::new(ring.clone(), &[p]).map_err(modulus)?;
        let context = RnsContext::new(ring, &primes).map_err(modulus)?;
        let most = limbs_of(log2_q);
        let powers: Vec<usize> = (0..most).step_by(GROUP).collect();
        let levels = (1..=top).map(|level| {
            let q = BigUint::from(p).pow(level as u32);
            let modulus = WideModulus::new(&q);
            Level {
                grouped: Crt::of_sums(&context, grouped, &q, modulus.count(), &powers),
                products: Crt::new(&context, product_primes(level), &q, modulus.count()),
                small: Crt::new(&context, small, &q, modulus.count()),
                bits: q.bits() as u32 - LIMB_BITS * (modulus.count() as u32 - 1),
                modulus,
            }
        });
        let levels: Vec<Level> = levels.collect();
        Ok(Self {
            p,
            word,
            reduction: Reduction::new(&context, most),
            levels,
            context,
            base,
            inverse: inverse_of_word(p),
        })
    }

    fn ring(&self) -> &Ring {
        self.context.ring()
    }

    fn numbers(&self) -> Vec<u64> {
        vec![self.p, u64::from(self.word), self.top() as u64]
    }

    fn log2_modulus(&self, level: usize) -> f64 {
        (self.p as f64).log2() * level as f64
    }

    fn log2_key(&self) -> f64 {
        self.log2_modulus(self.top())
    }

    fn log2_drop(&self, _: usize) -> f64 {
        self.log2_modulus(1)
    }

    fn digit_power(&self, level: usize) -> f64 {
        // variance (4^w - 1)/12 of a uniform digit; its mean, a constant polynomial, is small at every embedding
        self.digits(level) as f64 * (f64::from(2 * self.word).exp2() - 1.0)
    }

    fn small(&self, level: usize, coefficients: &[i64]) -> Wide {
        let modulus = &self.level(level).modulus;
        let mut out = Wide::zeroed(self.n(), modulus.count());
        for (i, &c) in coefficients.iter().enumerate() {
            let wanted = (c >> 63) as u64;
            let mut carried = c;
            for (limb, &q) in out.limbs.iter_mut().zip(&modulus.limbs) {
                let sum = (q & wanted) as i64 + carried;
                limb[i] = sum as u64 & MASK;
                carried = sum >> LIMB_BITS;
            }
        }
        out
    }

    fn sum(&self, level: usize, a: &Wide, b: &Wide) -> Wide {
        let modulus = &self.level(level).modulus;
        let mut out = Wide::zeroed(self.n(), modulus.count());
        for start in (0..self.n()).step_by(BLOCK) {
            let mut block = a.block(start);
            modulus.add(&mut block, &b.block(start));
            out.set_block(start, &block);
        }
        out
    }

    /// Reduction: q_to divides q_from.
    fn lower(&self, meter: &Meter, _: usize, to: usize, a: &Wide) -> Wide {
        let modulus = &self.level(to).modulus;
        let mut out = Wide::zeroed(self.n(), modulus.count());
        meter.time(Stage::Elementwise, || {
            for start in (0..self.n()).step_by(BLOCK) {
                let mut block = a.block(start);
                modulus.reduce_long(&mut block);
                out.set_block(start, &block);
            }
        });
        out
    }

    fn lowering_log2(&self, _: usize, _: usize) -> Option<f64> {
        None
    }

    fn multiply(&self, meter: &Meter, level: usize, a: &Wide, b: &Wide) -> Poly {
        let (ring, n) = (self.context.ring(), self.n());
        let [mut x, mut y] = [(); 2].map(|()| Words::scratch(n));
        let mut out = Poly::scratch(n, self.level(level).products.primes());
        for (i, limb) in out.limbs.iter_mut().enumerate() {
            self.reduction.of(&self.context, meter, i, &a.limbs, &mut x);
            self.reduction.of(&self.context, meter, i, &b.limbs, &mut y);
            meter.time(Stage::Tensor, || {
                kernel::dot(ring, self.context.modulus(i), &[[&x, &y]], false, limb);
            });
        }
        out
    }

    fn sum_of_products(&self, _: usize, a: &Poly, b: &Poly) -> Poly {
        let mut out = Poly::scratch(self.n(), a.limbs.len());
        let pairs = a.limbs.iter().zip(&b.limbs);
        for (i, (out, (a, b))) in out.limbs.iter_mut().zip(pairs).enumerate() {
            kernel::add(self.context.ring(), self.context.modulus(i), a, b, out);
        }
        out
    }

    fn sums(&self, meter: &Meter, _: usize, products: &[&Poly], rows: &[Vec<u16>]) -> Vec<Poly> {
        let n = self.n();
        let tasks = (0..products[0].limbs.len()).into_par_iter().with_max_len(1);
        let limbs = tasks.map(|i| {
            let sources: Vec<&[u64]> = products.iter().map(|p| &p.limbs[i][..]).collect();
            let mut out = Poly::scratch(n, rows.len()).limbs.into_words();
            let mut sums: Vec<&mut [u64]> = out.iter_mut().map(|o| &mut o[..]).collect();
            let (ring, m) = (self.context.ring(), self.context.modulus(i));
            meter.time(Stage::Elementwise, || {
                kernel::sums(ring, m, &sources, rows, &mut sums);
            });
            out
        });
        let sums = transposed(limbs.collect(), rows.len()).into_iter();
        sums.map(|limbs| limbs.into_iter().collect()).collect()
    }

    fn relinearize(
        &self,
        meter: &Meter,
        key: &[Vec<Words>],
        level: usize,
        products: Vec<Poly>,
        cancel: &Cancel,
    ) -> Result<Vec<Wide>> {
        in_lots(products, |lot| {
            self.relinearize_some(meter, key, level, lot, cancel)
        })
    }

    /// 1/f modulo p value by value, then modulo p², p⁴, … by Newton's iteration x (2 - f x); DHS14 §4 has the same
    /// series in closed form.
    fn secret(&self, f_prime: &[i64], g: &[i64]) -> Option<Secret> {
        let (n, meter) = (self.n(), Meter::default());
        let small = self.levels[0].small.primes();
        let basis: Vec<usize> = (0..small).collect();
        let coefficients = Zeroizing::new(f_of(self.ring(), f_prime));
        let f = |context: &RnsContext, basis: &[usize]| {
            let mut f = SecretPoly(Poly::from_signed(context, basis, &coefficients));
            f.make_canonical(context, basis);
            f
        };
        let (t, m) = (self.base.transform(0), self.base.modulus(0));
        let modulo_p = f(&self.base, &[0]);
        let mut ones = Words::scratch(n);
        ones.fill(m.r());
        let mut start = quotient(m, &ones, &modulo_p.limbs[0])?;
        t.inverse(&mut start);
        start.iter_mut().for_each(|x| *x = m.from_stored(*x));
        let mut x = Wide { limbs: vec![start] };
        let f = f(&self.context, &basis);
        // 2 as a polynomial
        let one = f_of(self.ring(), &vec![0; n]);
        let two: Vec<i64> = one.iter().map(|&c| 2 * c).collect();
        let mut level = 1;
        while level < self.top() {
            level = (2 * level).min(self.top());
            let at = self.level(level);
            x.widen(at.modulus.count());
            // 2 - f x
            let mut product = SecretPoly(Poly::zeroed(n, small));
            let residues = SecretPoly(self.transformed(&meter, &x, small));
            self.add_product(&mut product, &residues, &f);
            let two = Poly::from_signed(&self.context, &basis, &two);
            for (i, (limb, two)) in product.limbs.iter_mut().zip(&two.limbs).enumerate() {
                let m = self.context.modulus(i);
                for (x, &two) in limb.iter_mut().zip(two.iter()) {
                    *x = m.sub(m.canonical(two), *x);
                }
            }
            let mut factor = self.element(&meter, level, &at.small, &mut product);
            let mut product = SecretPoly(self.multiply(&meter, level, &x, &factor));
            factor.zeroize();
            x.zeroize();
            x = self.element(&meter, level, &at.products, &mut product);
        }
        let twice = Zeroizing::new(g.iter().map(|&g| 2 * g).collect::<Vec<_>>());
        let mut twice = SecretPoly(Poly::from_signed(&self.context, &basis, &twice));
        twice.make_canonical(&self.context, &basis);
        let mut product = Poly::zeroed(n, small);
        let residues = SecretPoly(self.transformed(&meter, &x, small));
        self.add_product(&mut product, &residues, &twice);
        x.zeroize();
        let crt = &self.level(self.top()).small;
        let h = self.element(&meter, self.top(), crt, &mut product);
        let mut h = self.transformed(&meter, &h, small);
        h.make_canonical(&self.context, &basis);
        Some(Secret { f, h })
    }

    fn encrypt(&self, h: &Poly, level: usize, s: &[i64], noise: &[i64]) -> Wide {
        let (mut masked, crt) = (self.masked(h, s, noise), &self.level(level).small);
        self.element(&Meter::default(), level, crt, &mut masked)
    }

    fn encryption_drop(&self) -> f64 {
        0.0
    }

    fn parities(
        &self,
        secret: &Secret,
        level: usize,
        power: usize,
        c: &Wide,
    ) -> (Zeroizing<Vec<u64>>, u64) {
        let mut phase = self.phase(secret, level, power, c);
        let modulus = &self.level(level).modulus;
        let mut bits = Zeroizing::new(vec![0; self.n()]);
        let mut largest = 0;
        for (start, bits) in (0..).step_by(BLOCK).zip(bits.chunks_exact_mut(BLOCK)) {
            let mut block = phase.block(start);
            let above = modulus.above_half(&block);
            // the centred representative is x or x - q, with q odd
            for ((bit, x), above) in bits.iter_mut().zip(block[0]).zip(above) {
                *bit = (x ^ above) & 1;
            }
            modulus.negate_where(&mut block, &above);
            largest = modulus.fraction(&block).into_iter().fold(largest, maximum);
            block.iter_mut().for_each(Zeroize::zeroize);
        }
        phase.zeroize();
        (bits, largest)
    }

    fn noise(&self, secret: &Secret, level: usize, c: &Wide) -> Zeroizing<Vec<f64>> {
        let mut phase = self.phase(secret, level, 1, c);
        let modulus = &self.level(level).modulus;
        let mut out = Zeroizing::new(vec![0.0; self.n()]);
        for (start, out) in (0..).step_by(BLOCK).zip(out.chunks_exact_mut(BLOCK)) {
            let mut block = phase.block(start);
            let above = modulus.above_half(&block);
            modulus.negate_where(&mut block, &above);
            for (c, (out, above)) in out.iter_mut().zip(above).enumerate() {
                let limbs = block.iter().rev();
                let size = limbs.fold(0.0, |x, limb| {
                    x * f64::from(LIMB_BITS).exp2() + limb[c] as f64
                });
                *out = if above == 1 { -size } else { size };
            }
        }
        phase.zeroize();
        out
    }

    fn of_product(&self, level: usize, product: &Poly) -> Wide {
        let crt = &self.level(level).products;
        self.element(&Meter::default(), level, crt, &mut product.clone())
    }

    fn key_parts(&self) -> usize {
        self.digits(self.top())
    }

    fn key_part(&self, secret: &Secret, number: usize, s: &[i64], noise: &[i64]) -> Vec<u8> {
        let mut poly = self.masked(&secret.h, s, noise);
        for (i, (limb, f)) in poly.limbs.iter_mut().zip(&secret.f.limbs).enumerate() {
            let m = self.context.modulus(i);
            let factor = m.shoup(m.pow(2, number as u64 * u64::from(self.word)));
            for (x, &f) in limb.iter_mut().zip(f.iter()) {
                *x = m.add(*x, m.scale(f, factor));
            }
        }
        let top = self.top();
        let part = self.element(&Meter::default(), top, &self.level(top).small, &mut poly);
        self.put(top, &part, Encoder::new()).finish()
    }

    fn key_part_bytes(&self) -> u64 {
        self.element_bytes(self.top())
    }

    fn take_key_part(&self, _: usize, input: &mut Decoder<'_>) -> Result<Vec<Words>> {
        let top = self.top();
        let part = self.take(top, "evaluation key", input)?;
        let primes: Vec<usize> = (0..self.level(top).grouped.primes()).collect();
        let groups = part.limbs.chunks(GROUP).map(|limbs| {
            let mut poly = Poly::scratch(self.n(), primes.len());
            for (&i, out) in primes.iter().zip(&mut poly.limbs) {
                let meter = Meter::default();
                self.reduction.of(&self.context, &meter, i, limbs, out);
            }
            poly.make_canonical(&self.context, &primes);
            poly.limbs
        });
        Ok(groups.flatten().collect())
    }

    fn element_bytes(&self, level: usize) -> u64 {
        let at = self.level(level);
        let whole = packed_len(self.n(), LIMB_BITS) * (at.modulus.count() - 1);
        (whole + packed_len(self.n(), at.bits)) as u64
    }

    fn put(&self, level: usize, a: &Wide, out: Encoder) -> Encoder {
        let at = self.level(level);
        let last = at.modulus.count() - 1;
        let limbs = a.limbs.iter().enumerate();
        limbs.fold(out, |out, (k, limb)| {
            let bits = if k == last { at.bits } else { LIMB_BITS };
            out.residues(1 << bits, limb)
        })
    }

    fn take(&self, level: usize, what: &'static str, input: &mut Decoder<'_>) -> Result<Wide> {
        let at = self.level(level);
        let last = at.modulus.count() - 1;
        let mut out = Wide::zeroed(self.n(), last + 1);
        for (k, limb) in out.limbs.iter_mut().enumerate() {
            let bits = if k == last { at.bits } else { LIMB_BITS };
            input.residues_into(what, 1 << bits, limb)?;
        }
        for start in (0..self.n()).step_by(BLOCK) {
            let block = out.block(start);
            let mut reduced = block.clone();
            at.modulus.subtract_if_not_less(&mut reduced);
            if reduced != block {
                return Err(FieldError::new("coefficient above the modulus", 1u64, 0).into());
            }
        }
        Ok(out)
    }
}

/// The even representative of r modulo p between -p and p.
fn even(r: u64, p: u64) -> i64 {
    // centred; if odd, moved by p towards and past 0
    let above = u64::from(r > p / 2).wrapping_neg();
    let centred = (r as i64).wrapping_sub((p & above) as i64);
    let sign = centred >> 63 | 1;
    centred - sign * p as i64 * (centred & 1)
}

/// The maximum, without a branch.
fn maximum(a: u64, b: u64) -> u64 {
    let more = b.wrapping_sub(a) as i64;
    a.wrapping_add((more & core::hint::black_box(!(more >> 63))) as u64)
}
