//! Devices, which compute key switches, modulus switches, sums, and the crossing of bridges.
//!
//! An [`Evaluator`](crate::Evaluator) passes polynomials to its [`Device`] and gets polynomials back, without reading
//! them. A device may keep results in its own memory ([`Limbs`](homaes_rns::Limbs)) for the next operation; other
//! readers get a copy.

use crate::encrypt;
use crate::error::Result;
use crate::params::Params;
use crate::params::residues;
use crate::row_constant::by_row;
use crate::subring;
use homaes_math::Words;
use homaes_math::kernel::{self, RowTerm, Tensor};
use homaes_rns::{Meter, ModSwitch, Poly, Stage, SwitchPlan};
use rayon::prelude::*;

pub use crate::encrypt::Plaintext;
pub use crate::keyswitch::{
    Addend, KeyPoly, Pass, Post, Products, Shape, Summands, Sums, SwitchKey,
};
pub use crate::subring::{Lwes, Reading, Readings, RingSwitch, upper};

/// The processor, or an accelerator with its own memory.
///
/// Every operation returns the residues that [`Processor`] returns, possibly as other lazy words. It fails with
/// [`Error::Device`](crate::Error::Device) if the device fails, and key switches also with
/// [`Error::Cancelled`](crate::Error::Cancelled).
pub trait Device: Send + Sync {
    /// Products with their key switch and division: two polynomials each over the plan's target basis.
    fn products(&self, pass: &Pass<'_>, products: &Products<'_>) -> Result<Vec<[Poly; 2]>>;

    /// Sums with their key switch and division: two polynomials each over the plan's target basis.
    fn sums(&self, pass: &Pass<'_>, sums: &Sums<'_>) -> Result<Vec<[Poly; 2]>>;

    /// Whether work of one kind should go into one pass, such as all columns of a state, rather than into parallel
    /// passes.
    fn joins(&self) -> bool {
        false
    }

    /// Modulus-switches several polynomials.
    fn mod_down(
        &self,
        params: &Params,
        meter: &Meter,
        plan: &ModSwitch,
        all: &[&Poly],
    ) -> Result<Vec<Poly>>;

    /// Σ_t c_t·x_t over the primes `basis`, for every row of constants c and every list of ciphertexts x; by list, then
    /// by row. `plus` has one word per prime, which is added to every word of the first parts. Keeps the level and
    /// multiplies noise by the power of the constants.
    fn combine(
        &self,
        params: &Params,
        meter: &Meter,
        basis: &[usize],
        constants: &Constants<'_>,
        lists: &[Vec<&[Poly; 2]>],
    ) -> Result<Vec<Vec<[Poly; 2]>>> {
        check_lists(constants, lists);
        for part in lists.iter().flatten().copied().flatten() {
            part.limbs.fetch()?;
        }
        let list = |x: &Vec<&[Poly; 2]>| {
            let rows = constants.rows.par_iter().with_max_len(1);
            let rows = rows.map(|row| combined(params, meter, basis, (row, constants.plus), x));
            rows.collect()
        };
        Ok(lists.par_iter().with_max_len(1).map(list).collect())
    }

    /// The components of x·σ_k(y) over the source basis of `plan`: under 1, s and s² for k = 0, otherwise under 1, s,
    /// σ(s) and s·σ(s). Those that will be key-switched are multiplied by the plan's scale.
    fn tensor(
        &self,
        params: &Params,
        meter: &Meter,
        plan: &SwitchPlan,
        k: usize,
        [x, y]: [&[Poly; 2]; 2],
    ) -> Result<Vec<Poly>> {
        for part in x.iter().chain(y) {
            part.limbs.fetch()?;
        }
        let n = params.ring().n();
        let parts = if k == 0 { 3 } else { 4 };
        let mut parts: Vec<Poly> = (0..parts)
            .map(|_| Poly::scratch(n, plan.from.len()))
            .collect();
        for (at, &i) in plan.from.iter().enumerate() {
            let (ring, m, scale) = (params.ring(), params.modulus(i), plan.scale[at]);
            let [x, y] = [x, y].map(|c| c.each_ref().map(|p| &*p.limbs[at]));
            meter.time(Stage::Tensor, || {
                let mut limbs = parts.iter_mut().map(|p| &mut *p.limbs[at]);
                let mut next = || limbs.next().expect("as many as just made");
                if k == 0 {
                    return kernel::product(ring, m, [x, y], scale, [next(), next(), next()]);
                }
                let map = params.frobenius(k);
                let t = Tensor { x, y, map, scale };
                kernel::tensor(ring, m, &t, [next(), next(), next(), next()]);
            });
        }
        Ok(parts)
    }

    /// Adds `b` to `a`, over the primes `basis`. If this fails, `a` is unchanged.
    fn add(&self, params: &Params, basis: &[usize], a: &mut Poly, b: &Poly) -> Result<()>;

    /// A copy of `a` on the device; words that are already there are not copied.
    fn copy(&self, _params: &Params, a: &Poly) -> Result<Poly> {
        a.limbs.fetch()?;
        Ok(a.clone())
    }

    /// The polynomials of public plaintexts modulo the primes `basis`, each added to its polynomial of `onto` unless
    /// that is empty.
    fn public(
        &self,
        params: &Params,
        basis: &[usize],
        all: &[Plaintext<'_>],
        onto: &[&Poly],
    ) -> Result<Vec<Poly>> {
        encrypt::public(params, basis, all, onto)
    }

    /// Switches ciphertexts c0 + c1·s over the prime [`Params::special_from`] to the key of the subring: body and mask
    /// with body + mask·s' for the key s' that `switch.pairs` lead to.
    ///
    /// Noise: of the digits times that of the pairs, and of the dropped bits times s.
    fn ring_switch(
        &self,
        params: &Params,
        switch: &RingSwitch<'_>,
        all: &[[&Poly; 2]],
    ) -> Result<Vec<[Poly; 2]>> {
        for part in all.iter().flatten() {
            part.limbs.fetch()?;
        }
        let all = all.par_iter().with_max_len(1);
        Ok(all.map(|&c| subring::switched(params, switch, c)).collect())
    }

    /// Reads slots as LWE ciphertexts on the torus: mask, then body, with phase body - <mask, key>.
    ///
    /// Cost each: n products each for mask and body, and a transform of the subring.
    fn read(&self, _params: &Params, readings: &Readings<'_>, out: Lwes<'_>) -> Result<()> {
        for reading in readings.all {
            for part in reading.of {
                part.limbs.fetch()?;
            }
        }
        subring::read(readings, out);
        Ok(())
    }

    /// Writes polynomials over the primes `basis` in the format of files, each into a slice of that length: canonical
    /// residues, packed at the length of their prime.
    fn pack(
        &self,
        params: &Params,
        basis: &[usize],
        all: &[&Poly],
        out: &mut [&mut [u8]],
    ) -> Result<()> {
        residues::pack(params, basis, all, out)
    }
}

/// A constant of Z\[ζ_17\], stored: by prime of a basis, then by row.
pub type ByRow = Vec<Vec<u64>>;

/// The constant with these exponents of ζ_17, for the primes `basis`.
pub(crate) fn constant_over(params: &Params, basis: &[usize], exponents: &[u8]) -> ByRow {
    let primes = basis.iter();
    primes
        .map(|&i| by_row(params.transform(i), exponents))
        .collect()
}

/// The constants of [`Device::combine`].
#[derive(Clone, Copy)]
pub struct Constants<'a> {
    /// For every result, one per ciphertext of a list.
    pub rows: &'a [Vec<ByRow>],
    /// A stored word per prime; nothing is added if it is empty.
    pub plus: &'a [u64],
}

/// Panics unless every list has a ciphertext per constant, and all rows have equally many, at least one.
pub fn check_lists(constants: &Constants<'_>, lists: &[Vec<&[Poly; 2]>]) {
    let terms = constants.rows[0].len();
    let right = constants.rows.iter().all(|row| row.len() == terms);
    assert!(
        right && terms > 0 && lists.iter().all(|x| x.len() == terms),
        "other numbers of terms"
    );
}

/// Ciphertexts that one pass over a limb sums.
const COMBINED: usize = kernel::MAX_TERMS / 2;

fn combined(
    params: &Params,
    meter: &Meter,
    basis: &[usize],
    (constants, plus): (&[ByRow], &[u64]),
    x: &[&[Poly; 2]],
) -> [Poly; 2] {
    let ring = params.ring();
    let mut out = [(); 2].map(|()| Poly::scratch(ring.n(), basis.len()));
    for (at, &i) in basis.iter().enumerate() {
        let m = params.modulus(i);
        let passes = x.chunks(COMBINED).zip(constants.chunks(COMBINED));
        for (pass, (x, constants)) in passes.enumerate() {
            let sources: Vec<[&[u64]; 1]> = x
                .iter()
                .flat_map(|c| c.each_ref().map(|p| [&*p.limbs[at]]))
                .collect();
            let terms = sources.iter().enumerate().map(|(k, source)| RowTerm {
                sources: source,
                map: params.frobenius(0),
                by_row: &constants[k / 2][at],
                second: k % 2 == 1,
            });
            let terms: Vec<RowTerm<'_>> = terms.collect();
            let sum = |out: [&mut [u64]; 2]| {
                meter.time(Stage::Elementwise, || {
                    kernel::inner_product(ring, m, &[], &terms, &mut [out]);
                });
            };
            if pass == 0 {
                sum(out.each_mut().map(|part| &mut part.limbs[at][..]));
                continue;
            }
            let mut more = [(); 2].map(|()| Words::scratch(ring.n()));
            sum(more.each_mut().map(|part| &mut part[..]));
            for (part, more) in out.iter_mut().zip(&more) {
                kernel::scale_add(ring, m, more, m.shoup(1), &mut part.limbs[at]);
            }
        }
        if let Some(&plus) = plus.get(at) {
            let limb = out[0].limbs[at].iter_mut();
            limb.for_each(|x| *x = m.add(m.canonical(*x), plus));
        }
    }
    out
}

/// The processor that the program runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Processor;

impl Device for Processor {
    fn products(&self, pass: &Pass<'_>, products: &Products<'_>) -> Result<Vec<[Poly; 2]>> {
        products.fetch()?;
        products.run(pass)
    }

    fn sums(&self, pass: &Pass<'_>, sums: &Sums<'_>) -> Result<Vec<[Poly; 2]>> {
        sums.fetch()?;
        Ok(sums.run(pass))
    }

    fn mod_down(
        &self,
        params: &Params,
        meter: &Meter,
        plan: &ModSwitch,
        all: &[&Poly],
    ) -> Result<Vec<Poly>> {
        let switched = all.par_iter().with_max_len(1);
        switched
            .map(|a| {
                a.limbs.fetch()?;
                Ok(plan.apply(params.rns(), meter, a))
            })
            .collect()
    }

    fn add(&self, params: &Params, basis: &[usize], a: &mut Poly, b: &Poly) -> Result<()> {
        for limbs in [&a.limbs, &b.limbs] {
            limbs.fetch()?;
        }
        a.add_assign(params.rns(), basis, b);
        Ok(())
    }
}
