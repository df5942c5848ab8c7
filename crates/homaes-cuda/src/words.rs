//! Operations word by word: `kernels/words.cu`.

use crate::args::{Tables, map};
use crate::cuda::Cuda;
use crate::launch::Factors;
use crate::memory::{Buffer, Held};
use homaes_bgv::device::Constants;
use homaes_bgv::{Params, Result};
use homaes_rns::{Poly, SwitchPlan};
use std::sync::Arc;

impl Cuda {
    fn addresses<'p>(
        &self,
        limbs: usize,
        polys: impl IntoIterator<Item = &'p Poly>,
    ) -> Result<(Vec<Held>, Vec<u64>)> {
        let held = polys.into_iter().map(|p| self.held(&p.limbs));
        let held: Vec<Held> = held.collect::<Result<_>>()?;
        assert!(
            held.iter().all(|p| p.limbs == limbs),
            "polynomials of another basis"
        );
        let addresses = held.iter().map(Held::at).collect();
        Ok((held, addresses))
    }

    /// See [`Device::combine`](homaes_bgv::device::Device::combine); at most `MOST_ITEMS` parts in all lists, which have
    /// equally many.
    pub(crate) fn combined(
        &self,
        params: &Params,
        basis: &[usize],
        constants: &Constants<'_>,
        lists: &[Vec<&[Poly; 2]>],
    ) -> Result<Vec<Vec<[Poly; 2]>>> {
        let (gpu, n, limbs) = (&self.gpu, self.gpu.n(), basis.len());
        let (rows, terms) = (constants.rows.len(), constants.rows[0].len());
        let arithmetic = gpu.driver.arithmetic;
        let moduli = || basis.iter().map(|&i| params.rns().modulus(i));
        let plus = constants.plus.iter().chain(core::iter::repeat(&0));
        let mut factors = Vec::with_capacity(2 * limbs * gpu.rows * rows * terms);
        for (at, m) in moduli().enumerate() {
            for row in 0..gpu.rows {
                for c in constants.rows.iter().flatten() {
                    factors.extend(arithmetic.factor(m, m.from_stored(c[at][row])));
                }
            }
        }
        let mut tables = Tables::default();
        let at = [
            tables.places(basis.iter().copied()),
            tables.words(factors),
            tables.words(moduli().zip(plus).map(|(m, &w)| arithmetic.number(m, w))),
        ];
        let tables = Buffer::sent(&gpu.driver, &tables.0)?;
        let parts = lists
            .iter()
            .flat_map(|x| [0, 1].map(|part| x.iter().map(move |c| &c[part])));
        let (_held, sources) = self.addresses(limbs, parts.flatten())?;
        let out = Arc::new(Buffer::new(
            &gpu.driver,
            lists.len() * rows * 2 * limbs * n,
        )?);
        let (size, at) = ([limbs, lists.len()], at.map(|at| tables.at(at)));
        gpu.combine_limbs(size, at, [rows, terms], &sources, out.at(0))?;
        let mut items = (0..).map(|k| self.poly(&out, k * limbs * n, limbs));
        let mut next = || items.next().expect("endless");
        let list = |_| (0..rows).map(|_| [next(), next()]).collect();
        Ok(lists.iter().map(list).collect())
    }

    /// See [`Device::tensor`](homaes_bgv::device::Device::tensor).
    pub(crate) fn components(
        &self,
        params: &Params,
        plan: &SwitchPlan,
        k: usize,
        [x, y]: [&[Poly; 2]; 2],
    ) -> Result<Vec<Poly>> {
        let (gpu, n, limbs) = (&self.gpu, self.gpu.n(), plan.from.len());
        let (_x, x) = self.addresses(limbs, x)?;
        let (_y, y) = self.addresses(limbs, y)?;
        let map = map(params.frobenius(k));
        let components = if k == 0 { 3 } else { 4 };
        let entry = self.plans.switch(&gpu.driver, params, plan)?;
        let (tables, at) = (&entry.tables, &entry.tables.places);
        let places = [at.convert.source_prime, at.unstored_scale].map(|at| tables.at(at));
        let out = Arc::new(Buffer::new(&gpu.driver, components * limbs * n)?);
        gpu.tensor_limbs(limbs, places, &Factors { x, y, map }, components, out.at(0))?;
        Ok((0..components)
            .map(|k| self.poly(&out, k * limbs * n, limbs))
            .collect())
    }
}
