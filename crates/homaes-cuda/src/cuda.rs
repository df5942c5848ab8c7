//! A parameter set on a GPU.

use crate::Error;
use crate::args::{Tables, factor};
use crate::driver::Driver;
use crate::launch::Gpu;
use crate::memory::{Buffer, Held};
use crate::plans::Plans;
use homaes_bgv::device::{Device, KeyPoly, Pass, Processor};
use homaes_bgv::{Params, Result};
use homaes_leveled::{Limbs, Lowering, Meter, Poly};
use homaes_math::{KeyLimb, Transform};
use std::sync::Arc;

/// Words that `kernels/` has for a prime, and for a direction of its transform.
const PRIME: usize = 2244;
const DIRECTION: usize = 1120;

/// A GPU, for one parameter set. It keeps copies of keys as long as these live.
///
/// A set of another digest is computed on the processor. A fault of the GPU, lack of its memory among them, ends the operation by
/// [`homaes_bgv::Error::Device`]: its memory is given back, keys stay as they are, and the processor can compute the batch.
pub struct Cuda {
    pub(crate) gpu: Gpu,
    pub(crate) plans: Plans,
    name: String,
    digest: [u8; 32],
}

impl Cuda {
    /// The GPU with this number, from 0, for `params`. Compiles the kernels, in about a second.
    ///
    /// # Errors
    /// If there is no driver, compiler or GPU, or it has no memory for tables of primes, or the set has no ring of eight lanes.
    pub fn new(params: &Params, number: usize) -> core::result::Result<Self, Error> {
        let pool = params.pool();
        let mut primes = Vec::with_capacity(pool.count() * PRIME);
        for i in 0..pool.count() {
            primes.extend(tables(pool.transform(i)).ok_or_else(|| Error::Ring {
                set: params.set().name.as_str().into(),
            })?);
        }
        let driver = Arc::new(Driver::new(number)?);
        Ok(Self {
            plans: Plans::default(),
            name: driver.name()?,
            gpu: Gpu {
                primes: Buffer::of(&driver, &primes)?,
                driver,
                rows: params.ring().rows(),
                cols: params.ring().cols(),
            },
            digest: *params.digest(),
        })
    }

    /// What the GPU is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits until all is computed that was asked for.
    ///
    /// # Errors
    /// If the GPU fails.
    pub fn wait(&self) -> core::result::Result<(), Error> {
        self.gpu.driver.wait()
    }

    /// Limbs on this GPU, copied there if need be.
    pub(crate) fn held(&self, limbs: &Limbs) -> Result<Held> {
        let own = |held: &Held| held.is_on(&self.gpu.driver);
        limbs.resident(own, |words| {
            let limbs = words.iter().map(|limb| &**limb);
            Ok(Held::of(&self.gpu.driver, limbs, self.gpu.n())?)
        })
    }

    /// Limbs of a key on this GPU, copied there if need be.
    pub(crate) fn held_key(&self, key: &KeyPoly) -> Result<Held> {
        let own = |held: &Held| held.is_on(&self.gpu.driver);
        key.resident(own, |limbs| {
            let limbs = limbs.iter().map(KeyLimb::words);
            Ok(Held::of(&self.gpu.driver, limbs, self.gpu.n())?)
        })
    }

    /// The ring element whose limbs begin at a word of `buffer`.
    pub(crate) fn poly(&self, buffer: &Arc<Buffer>, start: usize, limbs: usize) -> Poly {
        let held = Held {
            buffer: buffer.clone(),
            start,
            limbs,
            n: self.gpu.n(),
        };
        Poly {
            limbs: Limbs::on_device(Arc::new(held)),
        }
    }

    fn is_for(&self, params: &Params) -> bool {
        *params.digest() == self.digest
    }
}

/// Constants of a prime as `kernels/` has them; none if the ring has no eight lanes.
fn tables(t: &Transform) -> Option<Vec<u64>> {
    let m = t.modulus();
    let mut out = Tables::default();
    out.reals([m.p() as f64, 1.0 / m.p() as f64]);
    out.reals(factor(m, m.from_stored(1)));
    for (number, c) in t.constants()?.iter().enumerate() {
        let factors = |words: &[u64], places: usize| -> Vec<f64> {
            let padded = words.iter().copied().chain(core::iter::repeat(0));
            padded.take(places).flat_map(|w| factor(m, w)).collect()
        };
        out.reals(factors(c.root16.as_flattened(), 16));
        out.reals(factors(&c.twiddle, 256));
        out.reals(factors(&c.middle257, 256));
        out.reals(factors(&c.middle17, 16));
        out.reals(factors(&[c.three, c.five_even, c.five_swap], 3));
        out.reals(factors(&c.five_odd, 8));
        out.0.resize(4 + DIRECTION * (number + 1), 0);
    }
    assert_eq!(out.0.len(), PRIME);
    Some(out.0)
}

impl Device for Cuda {
    fn pass(&self, pass: &Pass<'_>) -> Result<Vec<[Poly; 2]>> {
        if !self.is_for(pass.params) || !Self::has(pass) {
            return Processor.pass(pass);
        }
        self.run(pass)
    }

    fn mod_down(
        &self,
        params: &Params,
        meter: &Meter,
        plan: &Lowering,
        all: &[&Poly],
    ) -> Result<Vec<Poly>> {
        if !self.is_for(params) {
            return Processor.mod_down(params, meter, plan, all);
        }
        self.lower(params, plan, all)
    }

    fn add(&self, params: &Params, basis: &[usize], a: &mut Poly, b: &Poly) -> Result<()> {
        if !self.is_for(params) {
            return Processor.add(params, basis, a, b);
        }
        let (x, y) = (self.held(&a.limbs)?, self.held(&b.limbs)?);
        let limbs = [x.limbs, y.limbs];
        assert_eq!(limbs, [basis.len(); 2], "a ciphertext of another set");
        let primes = self.plans.basis(&self.gpu.driver, basis)?;
        let out = Arc::new(Buffer::new(&self.gpu.driver, basis.len() * self.gpu.n())?);
        let args = [primes.at(primes.places), x.at(), y.at(), out.at(0)];
        self.gpu.sum_limbs(basis.len(), args)?;
        *a = self.poly(&out, 0, basis.len());
        Ok(())
    }

    fn copy(&self, params: &Params, a: &Poly) -> Result<Poly> {
        if !self.is_for(params) {
            return Processor.copy(params, a);
        }
        let held = self.held(&a.limbs)?;
        Ok(Poly {
            limbs: Limbs::on_device(Arc::new(held)),
        })
    }

    fn upload(&self, a: &Poly) -> Result<()> {
        self.held(&a.limbs).map(drop)
    }
}
