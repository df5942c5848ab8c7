//! Elements as residues modulo primes: the sets `ntru/rns…` and `ntru/hybrid…`.

pub(crate) mod chain;
mod groups;
mod limb;
mod relinearize;

use crate::arithmetic::{Arithmetic, Secret, add_product, in_lots};
use crate::error::{ParamsError, Result};
use crate::sets::{ParamSet, Variant};
use chain::Chain;
use groups::Groups;
use homaes_math::{Modulus, Ring, Words};
use homaes_rns::secret;
use homaes_rns::{
    Gadget, Meter, ModSwitch, Poly, RnsContext, SecretPoly, Stage, SwitchPlan, transposed,
};
use homaes_scheme::Cancel;
use homaes_wire::{Decoder, Encoder, packed_len};
use limb::Limb;
use rayon::prelude::*;
use zeroize::{Zeroize, Zeroizing};

/// Bits by which a digit of a hybrid set may exceed the special modulus. After a switch, the noise of relinearisation
/// then has 10^-4 of the variance of rounding.
const DIGIT_EXCESS_BITS: f64 = 5.6;

/// Residues modulo the primes of a level, in evaluation form.
#[derive(Clone)]
pub struct Residues {
    limbs: Vec<Limb>,
}

impl FromIterator<Limb> for Residues {
    fn from_iter<T: IntoIterator<Item = Limb>>(limbs: T) -> Self {
        Self {
            limbs: limbs.into_iter().collect(),
        }
    }
}

/// A polynomial of the evaluation key, in evaluation form, canonical.
pub enum KeyPart {
    /// modulo all primes
    Primes(Residues),
    /// in groups, modulo auxiliary primes
    Groups(Vec<Words>),
}

/// Arithmetic modulo products of NTT primes.
pub struct Rns {
    variant: Variant,
    context: RnsContext,
    chain: Chain,
    /// relinearisation from each level to the next lower one, from level 2
    switching: Vec<SwitchPlan>,
    /// modulus switches between the same levels
    mod_switches: Vec<ModSwitch>,
    /// from each level with the first special prime to the level, from level 1
    encrypting: Vec<ModSwitch>,
    groups: Option<Groups>,
}

impl Rns {
    fn basis(&self, level: usize) -> &[usize] {
        &self.chain.levels[level]
    }

    fn plan(&self, level: usize) -> &SwitchPlan {
        &self.switching[level - 2]
    }

    fn all(&self) -> Vec<usize> {
        (0..self.context.count()).collect()
    }

    fn n(&self) -> usize {
        self.context.ring().n()
    }

    fn contains(&self, from: usize, to: usize) -> bool {
        self.basis(to).iter().all(|i| self.basis(from).contains(i))
    }

    /// Drops the limbs that the lower level lacks.
    fn reduced(&self, from: usize, to: usize, a: &Residues) -> Residues {
        let place = |i| self.basis(from).iter().position(|j| j == i);
        let limbs = self.basis(to).iter().map(|i| {
            let at = place(i).expect("a prime of the higher level");
            a.limbs[at].clone()
        });
        limbs.collect()
    }

    /// `noise + h·s` modulo the primes of `basis`, canonical.
    #[inline(never)]
    fn masked(&self, h: &Poly, basis: &[usize], s: &[i64], noise: &[i64]) -> Poly {
        let mut out = Poly::from_signed(&self.context, basis, noise);
        let s = SecretPoly(Poly::from_signed(&self.context, basis, s));
        for ((limb, s), &i) in out.limbs.iter_mut().zip(&s.limbs).zip(basis) {
            add_product(self.context.modulus(i), [&h.limbs[i], s], limb);
        }
        out
    }

    /// f·c, or f²·c for `power` 2, in coefficient form, canonical and plain.
    fn phase(&self, secret: &Secret, level: usize, power: usize, c: &Residues) -> SecretPoly {
        let limbs = self.basis(level).iter().zip(&c.limbs).map(|(&i, limb)| {
            let (t, n) = (self.context.transform(i), self.n());
            let m = t.modulus();
            let mut scratch = Words::scratch(n);
            let mut x = Words::scratch(n);
            x.copy_from_slice(limb.open(self.context.ring(), &mut scratch));
            for _ in 0..power {
                let mut product = Words::zeroed(n);
                add_product(m, [&x, &secret.f.limbs[i]], &mut product);
                core::mem::swap(&mut x, &mut product);
                product.zeroize();
            }
            t.inverse(&mut x);
            x.iter_mut().for_each(|x| *x = m.from_stored(*x));
            x
        });
        SecretPoly(limbs.collect())
    }

    fn limb_bytes(&self, basis: &[usize]) -> u64 {
        let limbs = basis.iter();
        let bytes = limbs.map(|&i| packed_len(self.n(), self.context.modulus(i).bits()) as u64);
        bytes.sum()
    }
}

impl Arithmetic for Rns {
    type Element = Residues;
    type Product = Residues;
    type KeyPart = KeyPart;

    fn new(set: &ParamSet, ring: Ring) -> Result<Self, ParamsError> {
        let step = ring.modulus_step();
        let chain = Chain::new(set, step);
        let context =
            RnsContext::new(ring, &chain.primes).map_err(|p| ParamsError::Modulus { p, step })?;
        let gadget = Gadget {
            part: 0,
            special: chain.special.clone(),
            digit_of: &|i| chain.digit_of[i],
            excess_bits: DIGIT_EXCESS_BITS,
        };
        let pairs = || (2..=set.top_level()).map(|level| [level, level - 1]);
        let bases = |levels: [usize; 2]| levels.map(|level| &chain.levels[level][..]);
        let switching = pairs().map(|levels| {
            let [from, to] = bases(levels);
            SwitchPlan::new(&context, from, (levels[1], to), &gadget)
        });
        let mod_switches = pairs().map(|levels| {
            let [from, to] = bases(levels);
            ModSwitch::new(&context, from, to)
        });
        let encrypting = (1..=set.top_level()).map(|level| {
            let basis = &chain.levels[level];
            ModSwitch::new(&context, &chain.with_special(level), basis)
        });
        let groups = match set.variant {
            Variant::Rns => Some(Groups::new(&context, &chain)?),
            _ => None,
        };
        Ok(Self {
            groups,
            variant: set.variant,
            switching: switching.collect(),
            mod_switches: mod_switches.collect(),
            encrypting: encrypting.collect(),
            context,
            chain,
        })
    }

    fn ring(&self) -> &Ring {
        self.context.ring()
    }

    fn numbers(&self) -> Vec<u64> {
        let levels = self.chain.levels.iter();
        let levels = levels.map(|level| level.iter().fold(0, |mask, &i| mask ^ 1 << i));
        let digits = self.chain.digit_of.iter().map(|&d| d as u64);
        let primes = self.chain.primes.iter().copied();
        primes.chain(levels).chain(digits).collect()
    }

    fn log2_modulus(&self, level: usize) -> f64 {
        self.context.log2(self.basis(level).iter().copied())
    }

    fn log2_key(&self) -> f64 {
        self.context.log2(0..self.context.count())
    }

    fn log2_drop(&self, level: usize) -> f64 {
        self.plan(level).log2_drop()
    }

    fn digit_power(&self, level: usize) -> f64 {
        let excesses = self.plan(level).excesses.iter();
        excesses.map(|bits| (2.0 * bits).exp2()).sum()
    }

    fn small(&self, level: usize, coefficients: &[i64]) -> Residues {
        let poly = Poly::from_signed(&self.context, self.basis(level), coefficients);
        self.rest(level, poly)
    }

    fn sum(&self, level: usize, a: &Residues, b: &Residues) -> Residues {
        let limbs = a.limbs.iter().zip(&b.limbs).zip(self.basis(level));
        let limbs =
            limbs.map(|((a, b), &i)| a.plus(self.context.ring(), self.context.modulus(i), b));
        limbs.collect()
    }

    fn lower(&self, meter: &Meter, from: usize, to: usize, a: &Residues) -> Residues {
        if self.contains(from, to) {
            return self.reduced(from, to, a);
        }
        if from > to + 1 && self.contains(from, to + 1) {
            return self.lower(meter, to + 1, to, &self.reduced(from, to + 1, a));
        }
        if from > to + 1 {
            let next = self.lower(meter, from, from - 1, a);
            return self.lower(meter, from - 1, to, &next);
        }
        let plan = &self.mod_switches[from - 2];
        self.rest(to, plan.apply(&self.context, meter, &self.words(a)))
    }

    fn lowering_log2(&self, from: usize, to: usize) -> Option<f64> {
        if self.contains(from, to) {
            return None;
        }
        if from > to + 1 && !self.contains(from, to + 1) {
            let rest = self.lowering_log2(from - 1, to);
            return Some(self.mod_switches[from - 2].log2_drop() + rest.unwrap_or(0.0));
        }
        Some(self.mod_switches[to - 1].log2_drop())
    }

    fn multiply(&self, meter: &Meter, level: usize, a: &Residues, b: &Residues) -> Residues {
        let (ring, n) = (self.context.ring(), self.n());
        let mut x = Words::scratch(n);
        let limbs = a.limbs.iter().zip(&b.limbs).zip(self.basis(level));
        let limbs = limbs.map(|((a, b), &i)| {
            meter.time(Stage::Tensor, || {
                let (m, mut out) = (self.context.modulus(i), Words::scratch(n));
                Limb::dot(ring, m, &[(a.open(ring, &mut x), b)], false, &mut out);
                Limb::of(self.variant, ring, m, out)
            })
        });
        limbs.collect()
    }

    fn sum_of_products(&self, level: usize, a: &Residues, b: &Residues) -> Residues {
        self.sum(level, a, b)
    }

    /// Limb by limb, so that each limb of a product is loaded once for all rows.
    fn sums(
        &self,
        meter: &Meter,
        level: usize,
        products: &[&Residues],
        rows: &[Vec<u16>],
    ) -> Vec<Residues> {
        let basis = self.basis(level);
        let tasks = (0..basis.len()).into_par_iter().with_max_len(1);
        let limbs = tasks.map(|at| {
            let sources: Vec<&Limb> = products.iter().map(|p| &p.limbs[at]).collect();
            let m = self.context.modulus(basis[at]);
            meter.time(Stage::Elementwise, || {
                Limb::sums(self.context.ring(), m, &sources, rows)
            })
        });
        let sums = transposed(limbs.collect(), rows.len()).into_iter();
        sums.map(|limbs| Residues { limbs }).collect()
    }

    fn relinearize(
        &self,
        meter: &Meter,
        key: &[KeyPart],
        level: usize,
        products: Vec<Residues>,
        cancel: &Cancel,
    ) -> Result<Vec<Residues>> {
        let Some(groups) = &self.groups else {
            let key: Vec<&Residues> = key.iter().filter_map(KeyPart::primes).collect();
            let one = |product| Ok(self.relinearize_one(meter, &key, level, product));
            return cancel.each(products, one);
        };
        let key: Vec<&[Words]> = key.iter().filter_map(KeyPart::groups).collect();
        in_lots(products, |lot| {
            self.relinearize_grouped(meter, groups, &key, level, lot, cancel)
        })
    }

    fn secret(&self, f_prime: &[i64], g: &[i64]) -> Option<Secret> {
        let all = self.all();
        let f = Zeroizing::new(crate::keys::f_of(self.ring(), f_prime));
        let mut f = SecretPoly(Poly::from_signed(&self.context, &all, &f));
        let twice = Zeroizing::new(g.iter().map(|&g| 2 * g).collect::<Vec<_>>());
        let twice = SecretPoly(Poly::from_signed(&self.context, &all, &twice));
        f.make_canonical(&self.context, &all);
        let quotients = f.limbs.par_iter().zip(&*twice.limbs).zip(&all);
        let quotients = quotients.map(|((f, g), &i)| quotient(self.context.modulus(i), g, f));
        let limbs = quotients.collect::<Option<Vec<Words>>>()?;
        Some(Secret {
            f,
            h: limbs.into_iter().collect(),
        })
    }

    /// Encrypts modulo a special prime too and divides by it, which leaves little but rounding noise. Otherwise a fresh
    /// ciphertext would have four times the noise of a state.
    fn encrypt(&self, h: &Poly, level: usize, s: &[i64], noise: &[i64]) -> Residues {
        let masked = self.masked(h, &self.chain.with_special(level), s, noise);
        let down = &self.encrypting[level - 1];
        self.rest(level, down.apply(&self.context, &Meter::default(), &masked))
    }

    fn encryption_drop(&self) -> f64 {
        self.encrypting[0].log2_drop()
    }

    fn parities(
        &self,
        secret: &Secret,
        level: usize,
        power: usize,
        c: &Residues,
    ) -> (Zeroizing<Vec<u64>>, u64) {
        let mut phase = self.phase(secret, level, power, c);
        secret::parities(&self.context, self.basis(level), &mut phase)
    }

    fn noise(&self, secret: &Secret, level: usize, c: &Residues) -> Zeroizing<Vec<f64>> {
        let phase = self.phase(secret, level, 1, c);
        homaes_rns::centred(&self.context, self.basis(level), &phase)
    }

    fn of_product(&self, _: usize, product: &Residues) -> Residues {
        product.clone()
    }

    fn key_parts(&self) -> usize {
        self.chain.digit_of.iter().max().map_or(0, |d| d + 1)
    }

    fn key_part(&self, secret: &Secret, number: usize, s: &[i64], noise: &[i64]) -> Vec<u8> {
        let all = self.all();
        let mut poly = self.masked(&secret.h, &all, s, noise);
        for (i, limb) in poly.limbs.iter_mut().enumerate() {
            if self.chain.digit_of.get(i) != Some(&number) {
                continue;
            }
            // P·f modulo the primes of the digit, 0 modulo others
            let m = self.context.modulus(i);
            let p = m.shoup(self.context.product(m, self.chain.special.clone()));
            for (x, &f) in limb.iter_mut().zip(secret.f.limbs[i].iter()) {
                *x = m.add(*x, m.scale(f, p));
            }
        }
        let out = Encoder::with_capacity(self.key_part_bytes() as usize);
        let limbs = poly.limbs.iter().zip(&all);
        let out = limbs.fold(out, |out, (limb, &i)| {
            out.residues(self.context.modulus(i).p(), limb)
        });
        out.finish()
    }

    fn key_part_bytes(&self) -> u64 {
        self.limb_bytes(&self.all())
    }

    fn take_key_part(&self, _: usize, input: &mut Decoder<'_>) -> Result<KeyPart> {
        let all = self.all();
        let poly = self.take_words(&all, "evaluation key", input)?;
        Ok(match &self.groups {
            Some(groups) => KeyPart::Groups(groups.key(&self.context, poly)),
            None => KeyPart::Primes(self.rest_modulo(&all, poly)),
        })
    }

    fn element_bytes(&self, level: usize) -> u64 {
        self.limb_bytes(self.basis(level))
    }

    fn put(&self, level: usize, a: &Residues, mut out: Encoder) -> Encoder {
        let n = self.n();
        let [mut scratch, mut canonical] = [(); 2].map(|()| Words::scratch(n));
        for (limb, &i) in a.limbs.iter().zip(self.basis(level)) {
            let m = self.context.modulus(i);
            let words = limb.open(self.context.ring(), &mut scratch);
            for (c, &x) in canonical.iter_mut().zip(words) {
                *c = m.canonical(x);
            }
            out = out.residues(m.p(), &canonical);
        }
        out
    }

    fn take(&self, level: usize, what: &'static str, input: &mut Decoder<'_>) -> Result<Residues> {
        let poly = self.take_words(self.basis(level), what, input)?;
        Ok(self.rest(level, poly))
    }
}

impl Rns {
    fn rest(&self, level: usize, poly: Poly) -> Residues {
        self.rest_modulo(self.basis(level), poly)
    }

    fn rest_modulo(&self, basis: &[usize], poly: Poly) -> Residues {
        let limbs = poly.limbs.into_iter().zip(basis);
        let limbs = limbs.map(|(words, &i)| {
            Limb::of(
                self.variant,
                self.context.ring(),
                self.context.modulus(i),
                words,
            )
        });
        limbs.collect()
    }

    fn words(&self, a: &Residues) -> Poly {
        let limbs = a
            .limbs
            .iter()
            .map(|l| l.clone().into_words(self.context.ring()));
        limbs.collect()
    }

    fn take_words(
        &self,
        basis: &[usize],
        what: &'static str,
        input: &mut Decoder<'_>,
    ) -> Result<Poly> {
        let n = self.n();
        let limbs = basis.iter().map(|&i| {
            let mut limb = Words::scratch(n);
            input.residues_into(what, self.context.modulus(i).p(), &mut limb)?;
            Ok(limb)
        });
        limbs.collect()
    }
}

impl KeyPart {
    fn primes(&self) -> Option<&Residues> {
        match self {
            Self::Primes(residues) => Some(residues),
            Self::Groups(_) => None,
        }
    }

    fn groups(&self) -> Option<&[Words]> {
        match self {
            Self::Groups(limbs) => Some(limbs),
            Self::Primes(_) => None,
        }
    }
}

/// g/f word by word, stored and canonical, by one inversion of the product of all words of f; `None` if one of them is
/// 0. Inputs are stored, f canonical. The running time depends only on whether there is a result.
#[inline(never)]
pub(crate) fn quotient(m: &Modulus, g: &Words, f: &Words) -> Option<Words> {
    let n = f.len();
    // prefix products
    let mut before = Words::scratch(n);
    let mut product = m.r();
    for (b, &f) in before.iter_mut().zip(f.iter()) {
        *b = product;
        product = m.mul_stored(f, product);
    }
    if product == 0 {
        before.zeroize();
        return None;
    }
    // product^(p - 2) in stored form; the exponent is public
    let mut inverse = m.r();
    for bit in (0..m.bits()).rev() {
        inverse = m.mul_stored(inverse, inverse);
        if (m.p() - 2) >> bit & 1 == 1 {
            inverse = m.mul_stored(product, inverse);
        }
    }
    let mut out = Words::scratch(n);
    for i in (0..n).rev() {
        let own = m.mul_stored(before[i], inverse);
        inverse = m.mul_stored(f[i], inverse);
        out[i] = m.mul_stored(g[i], own);
    }
    before.zeroize();
    product.zeroize();
    inverse.zeroize();
    Some(out)
}
