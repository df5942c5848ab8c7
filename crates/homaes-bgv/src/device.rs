//! Devices, which compute key switches, modulus switches and sums.
//!
//! An [`Evaluator`](crate::Evaluator) passes polynomials to its [`Device`] and gets polynomials back, without reading
//! them. A device may keep results in its own memory ([`Limbs`](homaes_rns::Limbs)) for the next operation; other
//! readers get a copy.

use crate::encrypt;
use crate::error::Result;
use crate::params::Params;
use crate::params::residues;
use crate::row_constant::by_row;
use homaes_math::kernel::{self, RowTerm};
use homaes_rns::{Meter, ModSwitch, Poly, Stage};
use rayon::prelude::*;

pub use crate::encrypt::Plaintext;
pub use crate::keyswitch::{
    Addend, KeyPoly, Pass, Post, Products, Shape, Summands, Sums, SwitchKey,
};

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

    /// Whether all columns of a state should go into one pass, rather than one each into parallel passes.
    fn joins_columns(&self) -> bool {
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

    /// MixColumns, or its inverse, of columns of four ciphertexts over the primes `basis`: row r of a column becomes
    /// Σ_j c_j times row r + j, where c_j is the sum of ζ_17^k over the exponents `mix[j]` (GHS12 §4.2). Keeps the
    /// level and multiplies noise by the power of the constants.
    fn mix_columns(
        &self,
        params: &Params,
        meter: &Meter,
        basis: &[usize],
        mix: &[Vec<u8>; 4],
        columns: &[[&[Poly; 2]; 4]],
    ) -> Result<Vec<[[Poly; 2]; 4]>> {
        let column = |b: &[&[Poly; 2]; 4]| {
            for part in b.iter().copied().flatten() {
                part.limbs.fetch()?;
            }
            Ok(mix_column(params, meter, basis, mix, *b))
        };
        columns.iter().map(column).collect()
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

fn mix_column(
    params: &Params,
    meter: &Meter,
    basis: &[usize],
    mix: &[Vec<u8>; 4],
    b: [&[Poly; 2]; 4],
) -> [[Poly; 2]; 4] {
    let ring = params.ring();
    let mut out = [(); 4].map(|()| [(); 2].map(|()| Poly::scratch(ring.n(), basis.len())));
    for (at, &i) in basis.iter().enumerate() {
        let constants = mix.each_ref().map(|e| by_row(params.transform(i), e));
        // term j of row r reads row r + j, for both parts
        let sources: [[&[u64]; 4]; 8] = core::array::from_fn(|k| {
            core::array::from_fn(|r| &*b[(r + k / 2) % 4][k % 2].limbs[at])
        });
        let terms = sources.iter().enumerate().map(|(k, sources)| RowTerm {
            sources,
            map: params.frobenius(0),
            by_row: &constants[k / 2],
            second: k % 2 == 1,
        });
        let terms: Vec<RowTerm<'_>> = terms.collect();
        let mut sums = out
            .each_mut()
            .map(|parts| parts.each_mut().map(|part| &mut part.limbs[at][..]));
        meter.time(Stage::Elementwise, || {
            kernel::inner_product(ring, params.modulus(i), &[], &terms, &mut sums);
        });
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
