//! Circuits on a device that keeps its results in its own memory.

use super::*;
use crate::device::{Device, Pass, Plaintext, Processor, Products, Sums};
use homaes_math::Words;
use homaes_rns::{Fault, Limbs, Meter, ModSwitch, Poly, Resident};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A processor whose results have to be fetched; counts fetches.
#[derive(Clone, Default)]
struct Elsewhere {
    made: Arc<AtomicUsize>,
    fetched: Arc<AtomicUsize>,
    /// polynomials of public bytes, and packed polynomials
    public: Arc<AtomicUsize>,
    packed: Arc<AtomicUsize>,
}

struct Kept(Vec<Words>, Arc<AtomicUsize>);

impl Resident for Kept {
    fn download(&self) -> core::result::Result<Vec<Words>, Fault> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Ok(self.0.clone())
    }
}

impl Elsewhere {
    fn keep(&self, poly: Poly) -> Poly {
        self.made.fetch_add(1, Ordering::Relaxed);
        let kept = Kept(poly.limbs.into_words(), self.fetched.clone());
        Poly {
            limbs: Limbs::on_device(Arc::new(kept)),
        }
    }

    fn keep_pairs(&self, pairs: Vec<[Poly; 2]>) -> Vec<[Poly; 2]> {
        let keep = |pair: [Poly; 2]| pair.map(|poly| self.keep(poly));
        pairs.into_iter().map(keep).collect()
    }
}

impl Device for Elsewhere {
    fn products(&self, pass: &Pass<'_>, products: &Products<'_>) -> Result<Vec<[Poly; 2]>> {
        Ok(self.keep_pairs(Processor.products(pass, products)?))
    }

    fn sums(&self, pass: &Pass<'_>, sums: &Sums<'_>) -> Result<Vec<[Poly; 2]>> {
        Ok(self.keep_pairs(Processor.sums(pass, sums)?))
    }

    fn mod_down(
        &self,
        params: &Params,
        meter: &Meter,
        plan: &ModSwitch,
        all: &[&Poly],
    ) -> Result<Vec<Poly>> {
        let switched = Processor.mod_down(params, meter, plan, all)?.into_iter();
        Ok(switched.map(|poly| self.keep(poly)).collect())
    }

    fn add(&self, params: &Params, basis: &[usize], a: &mut Poly, b: &Poly) -> Result<()> {
        Processor.add(params, basis, a, b)?;
        *a = self.keep(a.clone());
        Ok(())
    }

    fn public(
        &self,
        params: &Params,
        basis: &[usize],
        all: &[Plaintext<'_>],
        onto: &[&Poly],
    ) -> Result<Vec<Poly>> {
        self.public.fetch_add(all.len(), Ordering::Relaxed);
        let polys = Processor.public(params, basis, all, onto)?.into_iter();
        Ok(polys.map(|poly| self.keep(poly)).collect())
    }

    fn pack(
        &self,
        params: &Params,
        basis: &[usize],
        all: &[&Poly],
        out: &mut [&mut [u8]],
    ) -> Result<()> {
        self.packed.fetch_add(all.len(), Ordering::Relaxed);
        Processor.pack(params, basis, all, out)
    }

    fn upload(&self, _: &Poly) -> Result<()> {
        Ok(())
    }
}

#[test]
fn circuits_leave_results_where_they_are() {
    let mut f = toy(77);
    let key = random_bytes(&mut f.rng, 16);
    for direction in Direction::ALL {
        for layout in [Layout::Sliced, Layout::Bits] {
            let wrapped = f.wrap(&key, wrapping(&[layout], direction));
            let blocks = f.blocks(layout);
            let device = Elsewhere::default();
            let there = f.aes(&wrapped, layout);
            let there = there.on(&(Arc::new(device.clone()) as Arc<dyn Device>));
            let [here, there] = [f.aes(&wrapped, layout), there].map(|aes| {
                let mut state = aes.evaluate(&blocks).unwrap();
                aes.xor_public(&mut state, &blocks[1..]).unwrap();
                let record = aes.encode_batch(&state).unwrap();
                assert!(record == encode_batch(&f.params, &state).unwrap());
                record
            });
            assert!(here == there, "{layout:?}, {direction:?}");
            // every round ran there, and readers fetched its results
            let [made, fetched] = [device.made, device.fetched].map(|n| n.load(Ordering::Relaxed));
            assert!(made > 300 && fetched > 0, "{fetched} of {made}");
            // the circuit of bits works on words in memory
            let halves = if layout == Layout::Bits { 0 } else { 32 };
            let borders = [device.public, device.packed].map(|n| n.load(Ordering::Relaxed));
            assert_eq!(borders, [halves; 2]);
        }
    }
}
