//! The homomorphic operations.
//!
//! [`Evaluator`] is the set of operations under one evaluation key, for AES in all layouts and for users' circuits. The
//! rounds of [`crate::aes::sliced`] fuse several of them into one pass of [`crate::keyswitch`].

use crate::ciphertext::{Ciphertext, History, Product};
use crate::circuit::bounds::{lowered_bound, product_bound, relinearized_bound};
use crate::device::{ByRow, Constants, Device, Processor};
use crate::encrypt::{largest_embedding_log2, padded, plain_coefficients, without_key};
use crate::error::{Error, Result};
use crate::keys::{EvalKey, Target};
use crate::keyswitch::{Addend, Pass, Post, Products, Shape, Summands, Sums};
use crate::noise::Noise;
use crate::noise::bound::Bound;
use crate::params::Params;
use crate::row_constant::scaled_by_row;
use homaes_aes::EvalError;
use homaes_rns::{Meter, Poly, SwitchPlan};
use homaes_scheme::{Cancel, Owner, Reading};
use homaes_wire::KeyId;
use std::borrow::Cow;
use std::sync::Arc;

/// Least capacity of a product in the bit-sliced AES: sixteen standard deviations.
const MIN_CAPACITY_BITS: f64 = 4.0;

/// Ciphertexts of one level at a lower one, at most [`Params::hop`] below; needs no key.
pub(crate) fn lower(
    device: &dyn Device,
    params: &Params,
    meter: &Meter,
    all: &[&Ciphertext],
    level: usize,
) -> Result<Vec<Ciphertext>> {
    let Some(first) = all.first() else {
        return Ok(Vec::new());
    };
    let plan = params.mod_switch(first.level, level);
    let parts: Vec<&Poly> = all.iter().flat_map(|a| &a.parts).collect();
    let down = device.mod_down(params, meter, plan, &parts)?;
    let mut down = down.into_iter();
    let drop = plan.log2_drop();
    let switched = all.iter().map(|a| Ciphertext {
        owner: a.owner,
        level,
        parts: [(); 2].map(|()| down.next().expect("one for each part")),
        noise: a.noise.switched(drop, params.noise()),
        history: a.history.one(|b| lowered_bound(params, b, drop)),
    });
    Ok(switched.collect())
}

/// The homomorphic operations under one evaluation key. Results do not depend on the number of threads. Cheap to clone;
/// clones share their counters.
///
/// Operations fail for operands of another set or key, for more public bytes than slots, and if a key is missing or
/// does not reach the level ([`Error::NoKey`]). They also fail if the result might decrypt wrongly with a probability
/// above 2^-64 ([`Error::TooNoisy`], [`Error::TooDeep`]).
#[derive(Clone)]
pub struct Evaluator<'k> {
    key: &'k EvalKey,
    meter: Arc<Meter>,
    device: Arc<dyn Device>,
    /// checked before every product of AES (of bits: before each relinearisation), before every column of its linear
    /// layer, and at every operand of users' circuits
    pub(crate) cancel: Cancel,
    spread: bool,
}

impl<'k> Evaluator<'k> {
    /// The operations under `key`.
    pub fn new(key: &'k EvalKey) -> Self {
        Self {
            key,
            meter: Arc::default(),
            device: Arc::new(Processor),
            cancel: Cancel::new(),
            spread: true,
        }
    }

    /// The same with cancellation: after `cancel`, operations of users' circuits return [`Error::Cancelled`], at the
    /// latest after one key switch.
    #[must_use]
    pub fn until(self, cancel: &Cancel) -> Self {
        let cancel = cancel.clone();
        Self { cancel, ..self }
    }

    /// The same on another device.
    #[must_use]
    pub fn on(self, device: Arc<dyn Device>) -> Self {
        Self { device, ..self }
    }

    /// The same for one of `count` parallel tasks. If these keep all threads busy, none spreads its passes.
    pub(crate) fn beside(&self, count: usize) -> Self {
        let spread = count < rayon::current_num_threads();
        Self {
            spread,
            ..self.clone()
        }
    }

    pub(crate) fn on_cpu(&self) -> Self {
        self.clone().on(Arc::new(Processor))
    }

    /// The device that computes.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// The parameters.
    pub fn params(&self) -> &'k Params {
        &self.key.params
    }

    pub(crate) fn key(&self) -> &'k EvalKey {
        self.key
    }

    /// The secret key that the evaluation key belongs to.
    pub fn key_id(&self) -> KeyId {
        self.key.id
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Transforms and times so far.
    pub fn reading(&self) -> Reading {
        self.meter.read()
    }

    /// Public bytes, one per slot, as a ciphertext without error at the top level.
    pub fn public(&self, bytes: &[u8]) -> Result<Ciphertext> {
        let params = self.params();
        let coefficients = plain_coefficients(params, &padded(params, bytes)?);
        let bound = Bound::public(largest_embedding_log2(params, &coefficients));
        let top = params.top_level();
        let message = Poly::from_signed(params.rns(), params.basis(top), &coefficients);
        Ok(Ciphertext {
            history: History::known(bound),
            ..without_key(params, message, top)
        })
    }

    /// `a` with its bound, after checks of cancellation, set and key.
    pub(crate) fn with_bound(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.cancel.check()?;
        a.check(self.params(), self.key.id)?;
        Ok(Ciphertext {
            history: History::Known(a.bound(self.params())),
            ..a.clone()
        })
    }

    /// `c`, unless it may decrypt wrongly with a probability above 2^-64.
    pub(crate) fn checked(&self, what: &'static str, c: Ciphertext) -> Result<Ciphertext> {
        c.checked(self.params(), what)?;
        Ok(c)
    }

    /// [`Evaluator::add`] without a check of the result. If an operand is from AES, the sum has no bound.
    pub(crate) fn sum(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        let [a, b] = self.align_levels(a, b)?;
        let params = self.params();
        let basis = params.basis(a.level);
        let sum = |k: usize| -> Result<Poly> {
            let [x, y] = [&a, &b].map(|c| &c.parts[k]);
            if y.limbs.is_zero() {
                return self.device.copy(params, x);
            }
            let mut out = self.device.copy(params, y)?;
            if !x.limbs.is_zero() {
                self.device.add(params, basis, &mut out, x)?;
            }
            Ok(out)
        };
        let bounds = params.noise().bounds();
        Ok(Ciphertext {
            owner: a.owner.with(b.owner),
            level: a.level,
            parts: [sum(0)?, sum(1)?],
            noise: a.noise.plus_dependent(b.noise),
            history: a.history.both(&b.history, |a, b| a.plus(b, bounds)),
        })
    }

    /// `a` at `level` if its own is higher, in as few switches as [`Params::hop`] allows.
    ///
    /// Noise: as [`Evaluator::mod_switch`]. Cost: one transform per part and switch for every prime dropped and every
    /// prime of the target.
    pub(crate) fn lowered(&self, a: &Ciphertext, level: usize) -> Result<Ciphertext> {
        if a.level <= level {
            return Ok(a.clone());
        }
        let params = self.params();
        let hop = params.hop();
        if a.level > level + hop {
            return self.lowered(&self.lowered(a, a.level - hop)?, level);
        }
        Ok(only(self.down(&[a], level)?))
    }

    fn down(&self, all: &[&Ciphertext], level: usize) -> Result<Vec<Ciphertext>> {
        lower(&*self.device, self.params(), &self.meter, all, level)
    }

    /// Switches to the level below; fails at level 1.
    ///
    /// Noise: divided by the dropped factor, plus the rounding noise ρ. Cost: one transform per part for every prime
    /// dropped and every prime of the target.
    pub fn mod_switch(&self, a: &Ciphertext) -> Result<Ciphertext> {
        let out = self.mod_switch_all(&[&self.with_bound(a)?])?;
        self.checked("modulus switch", only(out))
    }

    /// [`Evaluator::mod_switch`] of several, without a check of the results.
    pub(crate) fn mod_switch_all(&self, all: &[&Ciphertext]) -> Result<Vec<Ciphertext>> {
        match all.first() {
            Some(a) if a.level <= 1 => Err(out_of_depth(1, 0)),
            Some(a) => self.down(all, a.level - 1),
            None => Ok(Vec::new()),
        }
    }

    fn align_levels<'c>(
        &self,
        a: &'c Ciphertext,
        b: &'c Ciphertext,
    ) -> Result<[Cow<'c, Ciphertext>; 2]> {
        let level = a.level.min(b.level);
        Ok([self.at_most(a, level)?, self.at_most(b, level)?])
    }

    pub(crate) fn at_most<'c>(
        &self,
        c: &'c Ciphertext,
        level: usize,
    ) -> Result<Cow<'c, Ciphertext>> {
        if c.level <= level {
            Ok(Cow::Borrowed(c))
        } else {
            Ok(Cow::Owned(self.lowered(c, level)?))
        }
    }

    /// Slot-wise product x·y^(2^k), unrelinearised, at the lower level of the two; k at most 3.
    ///
    /// Noise: the product of the factors' noises. Cost: four products per word.
    pub fn mul_frobenius(&self, x: &Ciphertext, y: &Ciphertext, k: usize) -> Result<Product> {
        self.raw_product(&self.with_bound(x)?, &self.with_bound(y)?, k)
    }

    /// [`Evaluator::mul_frobenius`] of unchecked operands; those from AES get no bound.
    pub(crate) fn raw_product(&self, x: &Ciphertext, y: &Ciphertext, k: usize) -> Result<Product> {
        self.key.key(Target::Product(k))?;
        let [x, y] = self.align_levels(x, y)?;
        self.tensor(&x, &y, k, self.params().switching(x.level))
    }

    /// Slot-wise product, unrelinearised. See [`Evaluator::mul_frobenius`].
    pub fn mul(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Product> {
        self.mul_frobenius(x, y, 0)
    }

    /// The tensor product of two ciphertexts at the source level of `plan`; the parts to be key-switched carry its
    /// scale. [`Evaluator::relinearize`] expects the plan of their level.
    pub(crate) fn tensor(
        &self,
        x: &Ciphertext,
        y: &Ciphertext,
        k: usize,
        plan: &SwitchPlan,
    ) -> Result<Product> {
        let params = self.params();
        let factors = [&x.parts, &y.parts];
        let parts = (self.device).tensor(params, &self.meter, plan, k, factors)?;
        Ok(Product {
            owner: x.owner.with(y.owner),
            level: x.level,
            frobenius: k,
            parts,
            noise: x.noise.times(y.noise),
            history: x
                .history
                .both(&y.history, |x, y| product_bound(params, x, y, k)),
        })
    }

    /// Σ_t c_t·x_t of ciphertexts at `level`: see [`Device::combine`].
    pub(crate) fn combined(
        &self,
        level: usize,
        rows: &[Vec<ByRow>],
        plus: &[u64],
        lists: &[Vec<&Ciphertext>],
    ) -> Result<Vec<Vec<[Poly; 2]>>> {
        let params = self.params();
        let parts = lists.iter().map(|x| x.iter().map(|c| &c.parts).collect());
        let (constants, basis) = (Constants { rows, plus }, params.basis(level));
        let parts: Vec<Vec<&[Poly; 2]>> = parts.collect();
        self.device
            .combine(params, &self.meter, basis, &constants, &parts)
    }

    /// Sum of two products with the same automorphism and level. Noise: bounds add.
    ///
    /// # Errors
    /// If level or automorphism differ, or a product belongs to another set or key.
    pub fn add_product(&self, mut a: Product, b: &Product) -> Result<Product> {
        for p in [&a, b] {
            p.check(self.params(), self.key.id)?;
        }
        for (what, found, expected) in [
            ("level of a product", b.level, a.level),
            ("automorphism of a product", b.frobenius, a.frobenius),
        ] {
            if found != expected {
                return Err(Error::field(what, found, expected));
            }
        }
        self.sum_products(&mut a, b)?;
        let bounds = self.params().noise().bounds();
        a.history = a.history.both(&b.history, |a, b| a.plus(b, bounds));
        Ok(a)
    }

    /// Adds a product over the same basis, without a bound.
    pub(crate) fn sum_products(&self, a: &mut Product, b: &Product) -> Result<()> {
        let params = self.params();
        for (x, y) in a.parts.iter_mut().zip(&b.parts) {
            self.device.add(params, params.basis(a.level), x, y)?;
        }
        a.owner = a.owner.with(b.owner);
        a.noise = a.noise.plus(b.noise);
        Ok(())
    }

    /// Key-switches a product back to (1, s) and, except at level 1, switches to the level below in the same division.
    pub fn relinearize(&self, p: &Product) -> Result<Ciphertext> {
        let params = self.params();
        p.check(params, self.key.id)?;
        let plan = params.switching(p.level);
        let targets = match p.frobenius {
            0 => &[Target::Product(0)][..],
            k => &[Target::Frobenius(k), Target::Product(k)],
        };
        let product = [(&p.parts[..], p.noise)];
        let mut c = only(self.switched_products(plan, p.level, targets, &product)?);
        let bound = |b: &Bound| relinearized_bound(params, plan, b, targets.len());
        c.history = p.history.one(bound);
        match c.history {
            History::Known(_) => self.checked("product", c),
            // for bits of AES the bookkeeping is an estimate
            History::Aes { .. } if c.capacity_bits(params) < MIN_CAPACITY_BITS => {
                Err(out_of_depth(1, 0))
            }
            History::Aes { .. } => Ok(c),
        }
    }

    /// The relinearised products x_i·σ_k(y_i) of ciphertexts of one level, k ≥ 1; `switch` drops to the level below.
    pub(crate) fn multiply_many(
        &self,
        x: &[&Ciphertext],
        y: &[&Ciphertext],
        k: usize,
        switch: bool,
    ) -> Result<Vec<Ciphertext>> {
        let (params, level) = (self.params(), x[0].level);
        let plan = if switch {
            params.switching(level)
        } else {
            params.staying(level)
        };
        let special = self.special_constants(plan, &[0]);
        let key = |target| self.key.key_at(target, plan, level);
        let pairs = || x.iter().zip(y);
        let factors: Vec<_> = pairs().map(|(x, y)| [&x.parts, &y.parts]).collect();
        let noises: Vec<Noise> = pairs().map(|(x, y)| x.noise.times(y.noise)).collect();
        let products = Products {
            factors: &factors,
            map: params.frobenius(k),
            keys: [key(Target::Frobenius(k))?, key(Target::Product(k))?],
            by_row: &special,
        };
        let parts = self.device.products(&self.pass(plan), &products)?;
        let all = parts.into_iter().zip(noises);
        let all = all.map(|(parts, noise)| self.finish(plan, parts, noise, products.keys.len()));
        Ok(all.collect())
    }

    /// Products of `level` from their parts and noises, switched by `plan`: the first two parts are added, the others
    /// switched from `targets`.
    pub(crate) fn switched_products(
        &self,
        plan: &SwitchPlan,
        level: usize,
        targets: &[Target],
        products: &[(&[Poly], Noise)],
    ) -> Result<Vec<Ciphertext>> {
        let (map, by_row) = (
            self.params().frobenius(0),
            self.special_constants(plan, &[0]),
        );
        let uses = targets.iter().map(|&target| {
            let key = self.key.key_at(target, plan, level)?;
            Ok(vec![(map, key)])
        });
        let addends = [false, true].map(|second| Addend {
            map,
            by_row: &by_row,
            second,
        });
        let shape = Shape {
            uses: uses.collect::<Result<_>>()?,
            addends: addends.to_vec(),
            unscaled: false,
        };
        let outputs = products.iter().map(|(parts, _)| {
            let (addends, pieces) = parts.split_at(2);
            Summands {
                pieces: pieces.iter().collect(),
                addends: addends.iter().collect(),
            }
        });
        let outputs: Vec<Summands<'_>> = outputs.collect();
        let all = self.sums(plan, &shape, &outputs, Post::None)?;
        let all = all.into_iter().zip(products);
        let all = all.map(|(parts, (_, noise))| self.finish(plan, parts, *noise, targets.len()));
        Ok(all.collect())
    }

    fn pass<'a>(&'a self, plan: &'a SwitchPlan) -> Pass<'a> {
        Pass {
            params: self.params(),
            meter: &self.meter,
            cancel: &self.cancel,
            plan,
            spread: self.spread,
        }
    }

    pub(crate) fn sums(
        &self,
        plan: &SwitchPlan,
        shape: &Shape<'_>,
        outputs: &[Summands<'_>],
        post: Post<'_>,
    ) -> Result<Vec<[Poly; 2]>> {
        let sums = Sums {
            shape,
            outputs,
            post,
        };
        self.device.sums(&self.pass(plan), &sums)
    }

    /// P_l times Σ ζ_17^k over `exponents`, per prime of the source basis of `plan`.
    pub(crate) fn special_constants(&self, plan: &SwitchPlan, exponents: &[u8]) -> Vec<Vec<u64>> {
        let params = self.params();
        let primes = plan.from.iter().zip(&plan.special_products);
        primes
            .map(|(&i, &special)| scaled_by_row(params.transform(i), exponents, special))
            .collect()
    }

    /// A ciphertext of a pass. `noise` is that before the key switch of `pieces` polynomials by `plan`.
    pub(crate) fn finish(
        &self,
        plan: &SwitchPlan,
        parts: [Poly; 2],
        noise: Noise,
        pieces: usize,
    ) -> Ciphertext {
        let (params, model) = (self.params(), self.params().noise());
        let noise = noise.with(model.key_switch_log2(pieces, plan));
        Ciphertext {
            owner: Owner::new(params.id(), Some(self.key.id)),
            level: plan.to_level,
            parts,
            noise: noise.switched(plan.log2_drop(), model),
            history: History::AES,
        }
    }

    /// Slot-wise square by the Frobenius map, with the switch to the level below in the same division.
    pub(crate) fn square(&self, a: &Ciphertext) -> Result<Ciphertext> {
        let plan = self.params().switching(a.level);
        self.image(&self.with_bound(a)?, Target::Frobenius(1), plan)
    }

    /// Moves slots by a translation, at the level of `a`.
    pub(crate) fn translate(&self, a: &Ciphertext, step: [usize; 3]) -> Result<Ciphertext> {
        let a = self.with_bound(a)?;
        self.image(&a, self.translation(step), self.params().staying(a.level))
    }

    /// The key of a translation: one for every level if there is such, otherwise one for the levels of users' circuits.
    pub(crate) fn translation(&self, step: [usize; 3]) -> Target {
        match self.key.key(Target::Translate(step)) {
            Ok(_) => Target::Translate(step),
            Err(_) => Target::Rotate(step),
        }
    }
}

/// The result for a single input.
pub(crate) fn only<T>(mut all: Vec<T>) -> T {
    all.pop().expect("one in, one out")
}

pub(crate) fn out_of_depth(needed: u32, left: u32) -> Error {
    Error::Eval(EvalError::OutOfDepth { needed, left })
}
