//! A parameter set on a GPU.

use crate::Error;
use crate::arithmetic::Arithmetic;
use crate::driver::{self, Driver};
use crate::kernels::{Kind, MOST_PRIMES};
use crate::launch::{Gpu, MOST_ITEMS};
use crate::memory::{Buffer, Held};
use crate::plans::Plans;
use crate::slots::SlotTables;
use homaes_bgv::device::{
    Constants, Device, KeyPoly, Lwes, Pass, Plaintext, Processor, Products, Readings, RingSwitch,
    Sums, check_lists,
};
use homaes_bgv::{Params, Result};
use homaes_math::transform;
use homaes_math::{KeyLimb, Modulus, Ring, Transform};
use homaes_rns::{Limbs, Meter, ModSwitch, Poly, SwitchPlan};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A GPU for one parameter set. Copies of keys stay there as long as the keys live, shared by all its users in this
/// process. For AES it needs [`Params::of_aes`], as AES has its own ring in some sets.
///
/// Work of another set runs on the processor. A GPU fault or lack of GPU memory ends the operation with
/// [`homaes_bgv::Error::Device`] and frees its memory; keys stay usable, so the processor can compute the batch.
pub struct Cuda {
    pub(crate) gpu: Gpu,
    pub(crate) plans: Plans,
    pub(crate) slots: SlotTables,
    /// the transform on the axes of 3 and 5 modulo the first special prime
    pub(crate) lanes: Buffer,
    name: String,
    digest: [u8; 32],
}

impl Cuda {
    /// Opens GPU `number`, from 0, for `params`. The first call of a process for a set loads the kernels, and compiles
    /// them in about a second unless they are cached.
    ///
    /// # Errors
    /// If there is no driver, compiler or GPU, if the GPU has no memory for the tables, or if the kernels do not
    /// support the set's ring.
    pub fn new(params: &Params, number: usize) -> core::result::Result<Self, Error> {
        let arithmetic = driver::arithmetic(number)?;
        Self::with(params, arithmetic, |roots| {
            started(params, number, arithmetic, roots)
        })
    }

    /// As [`new`](Self::new), with a given arithmetic and a driver of its own. For tests.
    #[doc(hidden)]
    pub fn alone(params: &Params, arithmetic: Arithmetic) -> core::result::Result<Self, Error> {
        Self::with(params, arithmetic, |roots| {
            Driver::new(0, Kind::of(params), arithmetic, roots).map(Arc::new)
        })
    }

    fn with(
        params: &Params,
        arithmetic: Arithmetic,
        driver: impl FnOnce(&[u64]) -> core::result::Result<Arc<Driver>, Error>,
    ) -> core::result::Result<Self, Error> {
        let (rns, ring) = (params.rns(), params.ring());
        let other = || Error::Ring {
            set: params.set().name.as_str().into(),
        };
        if ring.rows() != 16 || rns.count() > MOST_PRIMES {
            return Err(other());
        }
        let bits = Kind::of(params).prime_bits;
        let (mut primes, mut roots) = (Vec::new(), Vec::new());
        for i in 0..rns.count() {
            let t = rns.transform(i);
            let constants = t.constants().ok_or_else(other)?;
            primes.extend(tables(arithmetic, bits, t.modulus(), &constants));
            let factors = constants.iter().flat_map(|c| c.root16.as_flattened());
            roots.extend(factors.flat_map(|&w| arithmetic.factor(t.modulus(), w)));
        }
        let driver = driver(&roots)?;
        let m = rns.modulus(params.special_from());
        let lanes = by_lane(m).into_iter();
        let lanes: Vec<u64> = lanes.flat_map(|w| arithmetic.factor(m, w)).collect();
        Ok(Self {
            plans: Plans::default(),
            slots: SlotTables::new(&driver, params.slots())?,
            lanes: Buffer::of(&driver, &lanes)?,
            name: driver.name()?,
            gpu: Gpu {
                primes: Buffer::of(&driver, &primes)?,
                driver,
                rows: ring.rows(),
                cols: ring.cols(),
                halves: ring.halves(),
            },
            digest: *params.digest(),
        })
    }

    /// Name of the GPU.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits until the GPU has finished all work, or has failed.
    pub fn wait(&self) -> core::result::Result<(), Error> {
        self.gpu.driver.wait()
    }

    /// Runs `work`, and lists its kernels and copies, the longest first. Fails if the GPU does.
    #[cfg(feature = "trace")]
    pub fn traced<T>(
        &self,
        work: impl FnOnce() -> T,
    ) -> core::result::Result<(T, Vec<crate::Timed>), Error> {
        self.wait()?;
        self.gpu.driver.trace.traced(work)
    }

    /// Limbs on this GPU, copied there if needed.
    pub(crate) fn held(&self, limbs: &Limbs) -> Result<Held> {
        let own = |held: &Held| held.is_on(&self.gpu.driver);
        limbs.resident(own, |words| {
            let limbs = words.iter().map(|limb| &**limb);
            Ok(Held::of(&self.gpu.driver, limbs, self.gpu.n())?)
        })
    }

    /// Limbs of a key on this GPU, copied there if needed.
    pub(crate) fn held_key(&self, key: &KeyPoly) -> Result<Held> {
        let own = |held: &Held| held.is_on(&self.gpu.driver);
        key.resident(own, |limbs| {
            let limbs = limbs.iter().map(KeyLimb::words);
            Ok(Held::of(&self.gpu.driver, limbs, self.gpu.n())?)
        })
    }

    /// The ring element whose limbs begin at word `start` of `buffer`.
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

/// The driver of a GPU for a set: one per process, so that keys are copied once. Different GPUs start in parallel.
fn started(
    params: &Params,
    number: usize,
    arithmetic: Arithmetic,
    roots: &[u64],
) -> core::result::Result<Arc<Driver>, Error> {
    type Slot = Arc<Mutex<Weak<Driver>>>;
    static DRIVERS: Mutex<BTreeMap<(usize, [u8; 32]), Slot>> = Mutex::new(BTreeMap::new());
    let mut drivers = DRIVERS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (number, *params.digest());
    let slot = drivers.entry(key).or_default().clone();
    drop(drivers);
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(driver) = slot.upgrade() {
        return Ok(driver);
    }
    let driver = Driver::new(number, Kind::of(params), arithmetic, roots)?;
    let driver = Arc::new(driver);
    *slot = Arc::downgrade(&driver);
    Ok(driver)
}

/// Constants of a prime as laid out in `kernels/transform.h`.
fn tables(
    arithmetic: Arithmetic,
    prime_bits: u32,
    m: &Modulus,
    constants: &[transform::Constants; 2],
) -> Vec<u64> {
    let mut out = arithmetic.prime(m, prime_bits);
    for c in constants {
        for words in [&c.twiddle, &c.middle257] {
            // a warp reads neighbouring words
            let at = |k: usize| words.get(16 * (k % 16) + k / 16).copied().unwrap_or(0);
            out.extend((0..256).flat_map(|k| arithmetic.row_factor(m, at(k))));
        }
        let joined = c.joined.as_flattened().iter().flatten();
        let halves = c.halves.iter().flatten().flatten();
        out.extend(joined.chain(halves).flat_map(|&w| arithmetic.factor(m, w)));
    }
    out
}

/// The transform on the axes of 3 and 5: the matrix of Z\[ζ_15\].
fn by_lane(m: &Modulus) -> Vec<u64> {
    let ring = Ring::new(15).expect("a ring");
    let transform = Transform::new(&ring, m.p()).expect("a prime of a larger ring");
    let column = |e: usize| {
        let mut column = vec![0; 8];
        column[e] = 1;
        transform.forward(&mut column);
        column.into_iter().map(|x| m.canonical(x))
    };
    (0..8).flat_map(column).collect()
}

fn count_transforms(pass: &Pass<'_>, outputs: usize, pieces: usize) {
    let (plan, down) = (pass.plan, &pass.plan.down);
    let digits = pieces * plan.digits.len() * plan.extended.len();
    let division = 2 * (down.dropped().len() + down.to().len());
    pass.meter.transforms(outputs * (digits + division));
}

impl Device for Cuda {
    fn products(&self, pass: &Pass<'_>, products: &Products<'_>) -> Result<Vec<[Poly; 2]>> {
        if !self.is_for(pass.params) || !Self::has_products(pass) {
            return Processor.products(pass, products);
        }
        count_transforms(pass, products.factors.len(), products.keys.len());
        self.multiplied(pass, products)
    }

    fn sums(&self, pass: &Pass<'_>, sums: &Sums<'_>) -> Result<Vec<[Poly; 2]>> {
        if !self.is_for(pass.params) || !Self::has_sums(pass, sums) {
            return Processor.sums(pass, sums);
        }
        count_transforms(pass, sums.outputs.len(), sums.shape.uses.len());
        self.summed(pass, sums)
    }

    fn joins(&self) -> bool {
        true
    }

    fn mod_down(
        &self,
        params: &Params,
        meter: &Meter,
        plan: &ModSwitch,
        all: &[&Poly],
    ) -> Result<Vec<Poly>> {
        if !self.is_for(params) {
            return Processor.mod_down(params, meter, plan, all);
        }
        meter.transforms(all.len() * (plan.dropped().len() + plan.to().len()));
        self.lower(params, plan, all)
    }

    fn combine(
        &self,
        params: &Params,
        meter: &Meter,
        basis: &[usize],
        constants: &Constants<'_>,
        lists: &[Vec<&[Poly; 2]>],
    ) -> Result<Vec<Vec<[Poly; 2]>>> {
        check_lists(constants, lists);
        let terms = constants.rows[0].len();
        if !self.is_for(params) || 2 * terms > MOST_ITEMS {
            return Processor.combine(params, meter, basis, constants, lists);
        }
        let mut out = Vec::with_capacity(lists.len());
        for lists in lists.chunks(MOST_ITEMS / (2 * terms)) {
            out.extend(self.combined(params, basis, constants, lists)?);
        }
        Ok(out)
    }

    fn tensor(
        &self,
        params: &Params,
        meter: &Meter,
        plan: &SwitchPlan,
        k: usize,
        factors: [&[Poly; 2]; 2],
    ) -> Result<Vec<Poly>> {
        if !self.is_for(params) {
            return Processor.tensor(params, meter, plan, k, factors);
        }
        self.components(params, plan, k, factors)
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

    fn public(
        &self,
        params: &Params,
        basis: &[usize],
        all: &[Plaintext<'_>],
        onto: &[&Poly],
    ) -> Result<Vec<Poly>> {
        if !self.is_for(params) {
            return Processor.public(params, basis, all, onto);
        }
        let mut out = Vec::with_capacity(all.len());
        for start in (0..all.len()).step_by(MOST_ITEMS) {
            let part = |len: usize| start.min(len)..(start + MOST_ITEMS).min(len);
            let (all, onto) = (&all[part(all.len())], &onto[part(onto.len())]);
            out.extend(self.encode(params, basis, all, onto)?);
        }
        Ok(out)
    }

    fn ring_switch(
        &self,
        params: &Params,
        switch: &RingSwitch<'_>,
        all: &[[&Poly; 2]],
    ) -> Result<Vec<[Poly; 2]>> {
        if !self.is_for(params) {
            return Processor.ring_switch(params, switch, all);
        }
        self.ring_switched(params, switch, all)
    }

    fn read(&self, params: &Params, readings: &Readings<'_>, out: Lwes<'_>) -> Result<()> {
        if !self.is_for(params) {
            return Processor.read(params, readings, out);
        }
        self.slots_read(params, readings, out)
    }

    fn pack(
        &self,
        params: &Params,
        basis: &[usize],
        all: &[&Poly],
        out: &mut [&mut [u8]],
    ) -> Result<()> {
        if !self.is_for(params) {
            return Processor.pack(params, basis, all, out);
        }
        self.packed(params, basis, all, out)
    }
}
