//! Compares passes, modulus switches, public blocks and records with the processor, up to the edges of words' ranges.

#[cfg(feature = "emulator")]
mod barriers;
mod blocks;
#[cfg(feature = "trace")]
mod ceilings;
#[cfg(feature = "emulator")]
mod faults;
mod numbers;
mod readings;

use crate::arithmetic::Arithmetic;
use crate::cuda::Cuda;
use homaes_aes::{Block, Direction, Layout, RoundKeys};
use homaes_bgv::device::{Constants, Device, Pass, Processor, Products, Shape, Summands, Sums};
use homaes_bgv::{
    Aes, Chain, Cipher, EvalKey, ParamSet, Params, Result, SecretKey, WrapOptions, WrappedKey, sets,
};
use homaes_math::Words;
use homaes_rns::{Meter, ModSwitch, Poly};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Addends of a sum: more than the kernels' `Sum` holds in doubles.
const ADDENDS: usize = 40;

/// The processor as a device that first compares the GPU's operations with its own, on edge-case words.
struct Compared {
    cuda: Cuda,
    /// comparisons before an error ends the cipher
    left: AtomicUsize,
}

/// A polynomial over `basis` of words below 2p; every third one is next to 0, p or 2p.
fn edges(params: &Params, basis: &[usize], seed: u64) -> Poly {
    let limb = |&i: &usize| -> Words {
        let p = params.rns().modulus(i).p();
        let ends = [0, 1, p - 1, p, p + 1, 2 * p - 2, 2 * p - 1];
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ i as u64;
        let mut limb = Words::zeroed(params.ring().n());
        for word in limb.iter_mut() {
            state = state
                .wrapping_mul(0x5851_f42d_4c95_7f2d)
                .wrapping_add(0x1405_7b7e_f767_814f);
            let random = state >> 11;
            *word = match random % 3 {
                0 => ends[(random / 3 % 7) as usize],
                _ => random % (2 * p),
            };
        }
        limb
    };
    Poly {
        limbs: basis.iter().map(limb).collect(),
    }
}

/// Whether the ring is without the axis of 257.
fn is_small(params: &Params) -> bool {
    params.ring().cols() == params.ring().halves()
}

fn canonical(params: &Params, basis: &[usize], poly: &Poly) -> Vec<Vec<u64>> {
    let limbs = poly.limbs.iter().zip(basis);
    let limb = |(limb, &i): (&Words, &usize)| {
        let m = params.rns().modulus(i);
        assert!(limb.iter().all(|&x| x < 2 * m.p()));
        limb.iter().map(|&x| m.canonical(x)).collect()
    };
    limbs.map(limb).collect()
}

impl Compared {
    fn count(&self) -> Result<()> {
        match self.left.fetch_sub(1, Ordering::Relaxed) {
            0 => Err(homaes_bgv::Error::Device(homaes_rns::Fault(
                "enough".into(),
            ))),
            _ => Ok(()),
        }
    }

    /// Runs an operation on the GPU and on the processor.
    fn compare(&self, params: &Params, to: &[usize], run: &dyn Fn(&dyn Device) -> Vec<Poly>) {
        let [found, want] = [&self.cuda as &dyn Device, &Processor].map(run);
        assert_eq!(found.len(), want.len());
        for (found, want) in found.iter().zip(&want) {
            assert!(canonical(params, to, found) == canonical(params, to, want));
        }
    }

    fn compare_pass(&self, pass: &Pass<'_>, run: impl Fn(&dyn Device) -> Result<Vec<[Poly; 2]>>) {
        self.compare(pass.params, pass.plan.down.to(), &|device| {
            run(device).unwrap().into_iter().flatten().collect()
        });
    }
}

impl Device for Compared {
    fn products(&self, pass: &Pass<'_>, products: &Products<'_>) -> Result<Vec<[Poly; 2]>> {
        self.count()?;
        let made: Vec<[Poly; 2]> = (0..2 * products.factors.len() as u64)
            .map(|seed| [2, 3].map(|k| edges(pass.params, &pass.plan.from, 100 * k + seed)))
            .collect();
        let factors = made.as_chunks().0.iter().map(|[x, y]| [x, y]);
        let edged = Products {
            factors: &factors.collect::<Vec<_>>(),
            ..*products
        };
        assert!(Cuda::has_products(pass));
        self.compare_pass(pass, |device| device.products(pass, &edged));
        Processor.products(pass, products)
    }

    fn sums(&self, pass: &Pass<'_>, sums: &Sums<'_>) -> Result<Vec<[Poly; 2]>> {
        self.count()?;
        let made: Vec<Poly> = (0..8 * ADDENDS as u64)
            .map(|seed| edges(pass.params, &pass.plan.from, seed % 61))
            .collect();
        let addends = sums.shape.addends.iter().copied();
        let shape = Shape {
            uses: sums.shape.uses.clone(),
            addends: addends.cycle().take(ADDENDS).collect(),
            unscaled: sums.shape.unscaled,
        };
        let outputs = sums.outputs.iter().enumerate();
        let outputs = outputs.map(|(k, output)| Summands {
            pieces: made[k..][..output.pieces.len()].iter().collect(),
            addends: made[k + 7..][..ADDENDS].iter().collect(),
        });
        let edged = Sums {
            shape: &shape,
            outputs: &outputs.collect::<Vec<_>>(),
            ..*sums
        };
        assert!(Cuda::has_sums(pass, &edged));
        self.compare_pass(pass, |device| device.sums(pass, &edged));
        Processor.sums(pass, sums)
    }

    fn mod_down(
        &self,
        params: &Params,
        meter: &Meter,
        plan: &ModSwitch,
        all: &[&Poly],
    ) -> Result<Vec<Poly>> {
        self.count()?;
        let dropped = plan.dropped().iter().zip(plan.dropped_primes());
        let kept = (0..plan.to().len()).filter_map(|j| Some((plan.source(j)?, plan.to()[j])));
        let mut from: Vec<(usize, usize)> = dropped.map(|(&at, &i)| (at, i)).chain(kept).collect();
        from.sort_unstable();
        let from: Vec<usize> = from.into_iter().map(|(_, i)| i).collect();
        // more than one call takes
        let count = if is_small(params) { 70 } else { 1 };
        let edged: Vec<Poly> = (0..count).map(|seed| edges(params, &from, seed)).collect();
        let edged: Vec<&Poly> = edged.iter().collect();
        self.compare(params, plan.to(), &|device| {
            device.mod_down(params, meter, plan, &edged).unwrap()
        });
        Processor.mod_down(params, meter, plan, all)
    }

    fn combine(
        &self,
        params: &Params,
        meter: &Meter,
        basis: &[usize],
        constants: &Constants<'_>,
        lists: &[Vec<&[Poly; 2]>],
    ) -> Result<Vec<Vec<[Poly; 2]>>> {
        // more than one call takes, with and without a sum
        let made: Vec<[Poly; 2]> = (0..36)
            .map(|seed| [1, 2].map(|part| edges(params, basis, 100 * part + seed)))
            .collect();
        let edged = made.chunks_exact(lists[0].len());
        let edged: Vec<Vec<&[Poly; 2]>> = edged.map(|x| x.iter().collect()).collect();
        let moduli = basis.iter().map(|&i| params.rns().modulus(i));
        let plus: Vec<u64> = moduli.map(|m| m.p() - 1).collect();
        for plus in [&[][..], &plus] {
            let constants = Constants { plus, ..*constants };
            self.compare(params, basis, &|device| {
                let found = device.combine(params, meter, basis, &constants, &edged);
                found.unwrap().into_iter().flatten().flatten().collect()
            });
        }
        Processor.combine(params, meter, basis, constants, lists)
    }

    fn add(&self, params: &Params, basis: &[usize], a: &mut Poly, b: &Poly) -> Result<()> {
        self.compare(params, basis, &|device| {
            let mut x = edges(params, basis, 1);
            device.add(params, basis, &mut x, b).unwrap();
            vec![x]
        });
        Processor.add(params, basis, a, b)
    }

    fn joins(&self) -> bool {
        true
    }
}

/// Keys of a set and a batch of blocks.
struct World {
    eval: EvalKey,
    wrapped: WrappedKey,
    blocks: Vec<Block>,
    layout: Layout,
}

impl World {
    fn new(
        params: &Arc<Params>,
        layouts: &'static [Layout],
        direction: Direction,
        levels_left: Option<usize>,
    ) -> Self {
        let mut rng = ChaCha20Rng::from_seed([9; 32]);
        let secret = SecretKey::generate(params, &mut rng).unwrap();
        let eval = EvalKey::generate(&secret, &mut rng);
        let keys = RoundKeys::expand(&[0x3c; 16]).unwrap();
        let how = WrapOptions {
            direction,
            layouts,
            levels_left,
            full: true,
        };
        let wrapped = WrappedKey::encrypt(&secret, &keys, how, &mut rng).unwrap();
        let block = |b: usize| core::array::from_fn(|i| (7 * b + 31 * i * i) as u8);
        let blocks = (0..params.of_aes().blocks_per_batch(layouts[0])).map(block);
        Self {
            blocks: blocks.collect(),
            eval,
            wrapped,
            layout: layouts[0],
        }
    }

    fn aes(&self) -> Aes<'_> {
        Aes::new(&self.eval, &self.wrapped, self.layout).unwrap()
    }
}

/// Compares up to `most` operations of a cipher; returns how many were left.
fn compared(
    set: &ParamSet,
    layouts: &'static [Layout],
    direction: Direction,
    arithmetic: Arithmetic,
    most: usize,
) -> Option<usize> {
    let params = Params::new(set).unwrap();
    let cuda = Cuda::alone(params.of_aes(), arithmetic);
    let cuda = cuda.map_err(|why| println!("skipped: {why}")).ok()?;
    let world = World::new(&params, layouts, direction, None);
    let left = AtomicUsize::new(most);
    let device = Arc::new(Compared { cuda, left });
    let aes = world.aes().on(&(device.clone() as Arc<dyn Device>));
    let done = aes.evaluate(&world.blocks);
    let left = device.left.load(Ordering::Relaxed);
    assert_eq!(done.is_ok(), left <= most, "{:?}", done.err());
    Some(left)
}

#[test]
fn toy_operations() {
    for arithmetic in [Arithmetic::Doubles, Arithmetic::Integers] {
        for set in [&sets::TOY_255, &sets::TOY_K_255] {
            for direction in Direction::ALL {
                let left = compared(set, &[Layout::Sliced], direction, arithmetic, 1000);
                assert!(left.is_none_or(|left| left < 950));
            }
        }
    }
}

/// A round of products and sums of images at the size of the secure sets: top-level plans of two digits.
#[test]
fn operations_at_full_size() {
    operations_of(&sets::AES128, 8);
}

/// The same in K, on a chain for AES-128 alone, which has smaller keys than that of `bgv/aes256+8`.
#[test]
fn operations_at_full_size_in_k() {
    let cipher = sets::AES256_8.cipher.unwrap();
    let chain = Chain {
        base: cipher.chain.base.split_at(10).0,
        special: cipher.chain.special.split_at(6).0,
        first_digit: 4,
        digit: 5,
        one_digit: None,
        ..cipher.chain
    };
    let set = ParamSet {
        m: sets::AES256_8.m,
        layouts: &[Layout::Packed],
        cipher: Some(Cipher { chain, ..cipher }),
        spare: 0,
        ..sets::TOY_K_255
    };
    operations_of(&set, 3);
}

fn operations_of(set: &ParamSet, most: usize) {
    for arithmetic in [Arithmetic::Doubles, Arithmetic::Integers] {
        let left = compared(set, &[Layout::Packed], Direction::Encrypt, arithmetic, most);
        assert!(left.is_none_or(|left| left > most));
    }
}

/// The most sources of a conversion: last, low and all special primes of `bgv/aes256+8` in K.
#[test]
fn the_largest_division() {
    let params = Params::new(&sets::AES256_8).unwrap();
    let params = params.of_aes();
    let from: Vec<usize> = (0..params.rns().count()).collect();
    let plan = ModSwitch::new(params.rns(), &from, &from[2..19]);
    assert_eq!(plan.dropped().len(), 15);
    let poly = edges(params, &from, 1);
    for arithmetic in [Arithmetic::Doubles, Arithmetic::Integers] {
        let cuda = match Cuda::alone(params, arithmetic) {
            Ok(cuda) => cuda,
            Err(why) => return println!("skipped: {why}"),
        };
        let [found, want] = [&cuda as &dyn Device, &Processor].map(|device| {
            let all = device.mod_down(params, &Meter::default(), &plan, &[&poly]);
            canonical(params, plan.to(), &all.unwrap()[0])
        });
        assert!(found == want, "{arithmetic:?}");
    }
}

#[cfg(feature = "trace")]
#[test]
fn kernels_and_copies_are_timed() {
    let params = Params::new(&sets::TOY_255).unwrap();
    // alone, so that calls of other tests are not counted
    let Ok(cuda) = Cuda::alone(&params, Arithmetic::Doubles) else {
        return;
    };
    let (basis, n) = ([4], params.ring().n());
    let b = edges(&params, &basis, 1);
    let sum = |times: u64| {
        for seed in 0..times {
            let mut a = edges(&params, &basis, seed);
            cuda.add(&params, &basis, &mut a, &b).unwrap();
            a.limbs.fetch().unwrap();
        }
    };
    sum(1);
    let ((), calls) = cuda.traced(|| sum(3)).unwrap();
    let mut found: Vec<_> = calls.iter().map(|c| (c.name, c.calls, c.size)).collect();
    found.sort_unstable();
    let copies = [("download", 3, 24 * n), ("upload", 3, 24 * n)];
    assert_eq!(found, [copies[0], ("sum_limbs", 3, 3 * n), copies[1]]);
    assert!(calls.is_sorted_by(|a, b| a.ms >= b.ms));
}
