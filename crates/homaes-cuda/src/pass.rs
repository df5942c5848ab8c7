//! A key switching with its division, kernel by kernel.
//!
//! ```text
//! of products     parts_columns ─► rows_convert ─► key_columns ─────────────────────────────────────────► rows_convert ─► columns_finish
//! of images       columns_inverse ─► rows_convert ─► columns_forward ─► inner_product ─► columns_inverse ─► rows_convert ─► columns_finish
//! modulus switch                                                                        columns_inverse ─► rows_convert ─► columns_finish
//! ```
//!
//! For L source primes, X of the extended basis, D that are dropped and T of the target, d digits, and per output u pieces, in limbs of N words:
//!
//! | array | limbs per output | order of words |
//! |---|---|---|
//! | `words`: pieces after the columns of the way back | u L | tiles |
//! | `extended`: digits, first before and then after the columns of the way forward | u d X | tiles |
//! | `sums`: both sums | 2 X | natural |
//! | `lowered`: those that are dropped, after the columns of the way back | 2 D | tiles |
//! | `converted`: their remainders, before the columns of the way forward | 2 T | tiles |
//! | the result | 2 T | natural |

use crate::args::map;
use crate::cuda::Cuda;
use crate::launch::{
    Factors, MOST_ITEMS, MOST_KEYS, MOST_OUTPUTS, MOST_PRODUCTS, MOST_WORDS, PostTables,
    ProductTables, SumTables,
};
use crate::memory::{Buffer, Held};
use crate::plans::{ModSwitchTables, PassConstants, Placed, SwitchTables};
use homaes_bgv::device::{Factors as Operands, KeyPoly, Pass, Post, Summands};
use homaes_bgv::{Params, Result};
use homaes_rns::{ModSwitch, Poly};
use std::sync::Arc;

/// Words of a term.
const TERM: usize = 5;

impl Cuda {
    /// Whether the kernels can do it.
    pub(crate) fn has(pass: &Pass<'_>) -> bool {
        let products = |o: &Summands<'_>| matches!(o, Summands::Product(_));
        let uses = &pass.shape.uses;
        if pass.outputs.iter().any(products) {
            return pass.outputs.iter().all(products)
                && uses.len() == 2
                && uses.iter().all(|uses| uses.len() == 1)
                && 2 * pass.plan.digits.len() <= MOST_KEYS
                && matches!(pass.post, Post::None);
        }
        let fits = at_once(pass) > 0;
        match pass.post {
            Post::MixKeys(..) => pass.outputs.len().is_multiple_of(4) && fits,
            Post::None | Post::Keys(_) => fits,
        }
    }

    /// See [`Device::pass`](homaes_bgv::device::Device::pass).
    pub(crate) fn run(&self, pass: &Pass<'_>) -> Result<Vec<[Poly; 2]>> {
        let mut out = Vec::with_capacity(pass.outputs.len());
        let size = at_once(pass);
        for (number, outputs) in pass.outputs.chunks(size).enumerate() {
            pass.cancel.check()?;
            out.extend(Switching::new(self, pass, outputs, number * size)?.run()?);
        }
        Ok(out)
    }

    /// See [`Device::mod_down`](homaes_bgv::device::Device::mod_down).
    pub(crate) fn lower(
        &self,
        params: &Params,
        plan: &ModSwitch,
        all: &[&Poly],
    ) -> Result<Vec<Poly>> {
        let tables = self.plans.mod_switch(&self.gpu.driver, params, plan)?;
        let (n, dropped, to) = (self.gpu.n(), plan.dropped().len(), plan.to().len());
        let mut out = Vec::with_capacity(all.len());
        for all in all.chunks(MOST_ITEMS) {
            let held = all.iter().map(|a| self.held(&a.limbs));
            let held: Vec<Held> = held.collect::<Result<_>>()?;
            let sources: Vec<u64> = held.iter().map(Held::at).collect();
            let work = Buffer::new(&self.gpu.driver, all.len() * (dropped + to) * n)?;
            let (lowered, converted) = (work.at(0), work.at(all.len() * dropped * n));
            let at = &tables.places;
            let places = [at.convert.source_prime, at.places].map(|at| tables.at(at));
            self.gpu
                .columns_inverse(dropped, places, &sources, lowered)?;
            let places = (&*tables, &tables.places);
            out.extend(self.divide(plan, places, &sources, [lowered, converted])?);
        }
        Ok(out)
    }

    /// See [`Device::mix_columns`](homaes_bgv::device::Device::mix_columns): of at most eight columns.
    pub(crate) fn mix(
        &self,
        params: &Params,
        basis: &[usize],
        mix: &[Vec<u8>; 4],
        columns: &[[&[Poly; 2]; 4]],
    ) -> Result<impl Iterator<Item = [[Poly; 2]; 4]>> {
        let (driver, n, limbs) = (&self.gpu.driver, self.gpu.n(), basis.len());
        let tables = self.plans.mixing(driver, params, basis, mix)?;
        let parts = columns
            .iter()
            .flat_map(|b| [0, 1].map(|part| b.map(|c| &c[part])));
        let held = parts.flatten().map(|part| self.held(&part.limbs));
        let held: Vec<Held> = held.collect::<Result<_>>()?;
        let sources: Vec<u64> = held.iter().map(Held::at).collect();
        let out = Arc::new(Buffer::new(driver, sources.len() * limbs * n)?);
        let places = tables.places.map(|at| tables.at(at));
        self.gpu.mix_columns(limbs, places, &sources, out.at(0))?;
        let mut items = (0..sources.len()).map(move |k| self.poly(&out, k * limbs * n, limbs));
        Ok((0..columns.len()).map(move |_| {
            [(); 4].map(|()| [(); 2].map(|()| items.next().expect("eight for each column")))
        }))
    }

    /// Divides the elements at `sources` by `plan`, whose dropped limbs are at `lowered`, after the columns of the way back. At `converted` there is
    /// room for as many elements of the target.
    fn divide<T>(
        &self,
        plan: &ModSwitch,
        (tables, at): (&Placed<T>, &ModSwitchTables),
        sources: &[u64],
        [lowered, converted]: [u64; 2],
    ) -> Result<impl Iterator<Item = Poly>> {
        let gpu = &self.gpu;
        let (n, to, count) = (gpu.n(), plan.to().len(), sources.len());
        let out = Arc::new(Buffer::new(&gpu.driver, count * to * n)?);
        gpu.rows_convert(tables, &at.convert, count, [lowered, converted])?;
        let places = [at.convert.target_prime, at.kept, at.factor].map(|at| tables.at(at));
        gpu.columns_finish(to, places, sources, [converted, out.at(0)])?;
        Ok((0..count).map(move |k| self.poly(&out, k * to * n, to)))
    }
}

/// Outputs whose digits are in memory at one time, and whose tables a kernel has room for.
fn at_once(pass: &Pass<'_>) -> usize {
    if let [Summands::Product(_), ..] = pass.outputs {
        return MOST_PRODUCTS;
    }
    let (uses, addends) = (&pass.shape.uses, pass.shape.addends.len());
    let terms = pass.plan.digits.len() * uses.iter().map(Vec::len).sum::<usize>();
    let left = MOST_WORDS.saturating_sub(TERM * terms);
    let most = MOST_OUTPUTS
        .min(left / (uses.len() + addends).max(1))
        .min(MOST_ITEMS / uses.len().max(1));
    match pass.post {
        Post::MixKeys(..) => most - most % 4,
        Post::None | Post::Keys(_) => most,
    }
}

/// Some outputs of a pass.
struct Switching<'a> {
    cuda: &'a Cuda,
    pass: &'a Pass<'a>,
    outputs: &'a [Summands<'a>],
    /// number of the first of them
    first: usize,
    /// what the addresses below are of, while it is in use
    held: Vec<Held>,
    /// of the plan
    tables: Arc<Placed<SwitchTables>>,
    /// of passes of this kind
    constants: Arc<Placed<PassConstants>>,
    /// of all that follows
    _work: Buffer,
    sums: u64,
    extended: u64,
    words: u64,
    lowered: u64,
    converted: u64,
}

impl<'a> Switching<'a> {
    fn new(
        cuda: &'a Cuda,
        pass: &'a Pass<'a>,
        outputs: &'a [Summands<'a>],
        first: usize,
    ) -> Result<Self> {
        let plan = pass.plan;
        let n = cuda.gpu.n();
        let (sums, elements) = (2 * outputs.len(), outputs.len() * pass.shape.uses.len());
        let limbs = [
            sums * plan.extended.len(),
            elements * plan.digits.len() * plan.extended.len(),
            elements * plan.from.len(),
            sums * plan.down.dropped().len(),
            sums * plan.down.to().len(),
        ];
        let driver = &cuda.gpu.driver;
        let products = matches!(outputs, [Summands::Product(_), ..]);
        // both parts of a product's addends have the constants of the first
        let addends = if products {
            1
        } else {
            pass.shape.addends.len()
        };
        let entry = cuda.plans.switch(driver, pass.params, plan)?;
        let constants = entry.constants(driver, pass, addends)?;
        let work = Buffer::new(driver, limbs.iter().sum::<usize>() * n)?;
        let mut used = 0;
        let [sums, extended, words, lowered, converted] = limbs.map(|limbs| {
            let at = work.at(used);
            used += limbs * n;
            at
        });
        Ok(Self {
            cuda,
            pass,
            outputs,
            first,
            held: Vec::new(),
            tables: entry.tables.clone(),
            constants,
            _work: work,
            sums,
            extended,
            words,
            lowered,
            converted,
        })
    }

    /// Address of a polynomial on the GPU, where it stays until the outputs are computed.
    fn address(&mut self, poly: &Poly) -> Result<u64> {
        let held = self.cuda.held(&poly.limbs)?;
        let at = held.at();
        self.held.push(held);
        Ok(at)
    }

    /// Addresses of both halves of a digit of a key, likewise.
    fn key(&mut self, digit: &[KeyPoly; 2]) -> Result<[u64; 2]> {
        let [b, a] = digit.each_ref().map(|half| self.cuda.held_key(half));
        let held = [b?, a?];
        self.held.extend(held.iter().cloned());
        Ok(held.map(|half| half.at()))
    }

    fn addresses<'p>(&mut self, polys: impl IntoIterator<Item = &'p Poly>) -> Result<Vec<u64>> {
        polys.into_iter().map(|p| self.address(p)).collect()
    }

    fn run(mut self) -> Result<Vec<[Poly; 2]>> {
        let plan = self.pass.plan;
        let n = self.cuda.gpu.n();
        let item = |k: usize| self.sums + 8 * (k * plan.extended.len() * n) as u64;
        let sums: Vec<u64> = (0..2 * self.outputs.len()).map(item).collect();
        let products = self.outputs.iter().filter_map(|o| match o {
            Summands::Product(factors) => Some(factors),
            Summands::Stored { .. } => None,
        });
        let products: Vec<&Operands<'_>> = products.collect();
        if products.is_empty() {
            self.stored(&sums)?;
        } else {
            self.products(&products)?;
        }
        let tables = (&*self.tables, &self.tables.places.down);
        let work = [self.lowered, self.converted];
        let mut out = self.cuda.divide(&plan.down, tables, &sums, work)?;
        let mut next = || out.next().expect("two for each output");
        Ok(self.outputs.iter().map(|_| [next(), next()]).collect())
    }

    /// The sums of products, those that are dropped after the columns of the way back.
    fn products(&mut self, operands: &[&Operands<'_>]) -> Result<()> {
        let (pass, plan) = (self.pass, self.pass.plan);
        let mut factors = Factors {
            x: Vec::new(),
            y: Vec::new(),
            map: map(operands[0].map),
        };
        for f in operands {
            factors.x.extend(self.addresses(f.x)?);
            factors.y.extend(self.addresses(f.y)?);
        }
        let mut keys = Vec::new();
        for (_, key) in pass.shape.uses.iter().flatten() {
            let key = key.digits(pass.plan);
            for digit in &plan.digits {
                keys.push(self.key(&key[digit.number])?);
            }
        }
        let gpu = &self.cuda.gpu;
        let (tables, at) = (&self.tables, &self.tables.places);
        let (from, extended) = (plan.from.len(), plan.extended.len());
        let primes = tables.at(at.convert.source_prime);
        let (scale, owner) = (tables.at(at.unstored_scale), tables.at(at.owner));
        let own = (self.extended, plan.digits.len(), extended);
        gpu.parts_columns(from, [primes, scale, owner], &factors, own, self.words)?;
        let elements = 2 * operands.len();
        gpu.rows_convert(tables, &at.convert, elements, [self.words, self.extended])?;
        let t = ProductTables {
            prime_of: tables.at(at.convert.target_prime),
            owner,
            dropped: tables.at(at.dropped),
            by_row: self.constants.at(self.constants.places.first),
            sources: from,
            digits: plan.digits.len(),
        };
        let lowered = (self.lowered, plan.down.dropped().len());
        let to = [self.extended, self.sums];
        gpu.key_columns(extended, &t, &factors, &keys, to, lowered)?;
        Ok(())
    }

    /// The sums of polynomials, to `sums`, those that are dropped also after the columns of the way back.
    fn stored(&mut self, sums: &[u64]) -> Result<()> {
        let (pass, plan) = (self.pass, self.pass.plan);
        let (mut pieces, mut added) = (Vec::new(), Vec::new());
        for output in self.outputs {
            if let Summands::Stored { pieces: p, addends } = output {
                pieces.extend(self.addresses(p.iter().copied())?);
                added.extend(self.addresses(addends.iter().copied())?);
            }
        }
        let mut words = self.terms()?;
        let terms = words.len() / TERM;
        words.extend(pieces.iter().copied().chain(added));
        let post = self.post()?;
        let gpu = &self.cuda.gpu;
        let (tables, at) = (&self.tables, &self.tables.places);
        let (from, extended, digits) = (plan.from.len(), plan.extended.len(), plan.digits.len());
        let unscaled = pass.shape.unscaled && !plan.all_special;
        let primes = tables.at(at.convert.source_prime);
        gpu.columns_inverse(from, [primes, tables.at(at.order)], &pieces, self.words)?;
        let scale = unscaled.then_some(at.unscaled);
        let convert = at.convert.with_scale(scale);
        let elements = pieces.len();
        gpu.rows_convert(tables, &convert, elements, [self.words, self.extended])?;
        let primes = tables.at(at.convert.target_prime);
        let own = tables.at(at.own);
        let size = [extended, elements * digits];
        gpu.columns_forward(size, [primes, own], digits, self.extended)?;
        let t = SumTables {
            prime_of: primes,
            own,
            scale: tables.at(if unscaled { at.scale } else { at.unit }),
            by_row: self.constants.at(self.constants.places.by_row),
            addends: self.constants.at(self.constants.places.addends),
            sources: from,
            digits,
            pieces: pass.shape.uses.len(),
            terms,
            addend_count: pass.shape.addends.len(),
            outputs: self.outputs.len(),
        };
        gpu.inner_product(extended, &t, words, self.extended, &post, self.sums)?;
        let down = &at.down;
        let places = [down.convert.source_prime, down.places].map(|at| tables.at(at));
        let dropped = plan.down.dropped().len();
        gpu.columns_inverse(dropped, places, sums, self.lowered)?;
        Ok(())
    }

    /// The words of every piece, digit and key.
    fn terms(&mut self) -> Result<Vec<u64>> {
        let (pass, plan) = (self.pass, self.pass.plan);
        let mut words = Vec::new();
        for (piece, uses) in pass.shape.uses.iter().enumerate() {
            for (d, digit) in plan.digits.iter().enumerate() {
                for (sigma, key) in uses {
                    let [row, col, lanes] = map(sigma).map(u64::from);
                    let key = self.key(&key.digits(pass.plan)[digit.number])?;
                    words.extend([piece as u64 | (d as u64) << 32, row | col << 32, lanes]);
                    words.extend(key);
                }
            }
        }
        Ok(words)
    }

    /// What is done to the sums.
    fn post(&mut self) -> Result<PostTables> {
        let keys = match self.pass.post {
            Post::None => &[],
            Post::Keys(keys) | Post::MixKeys(_, keys) => &keys[self.first..][..self.outputs.len()],
        };
        let keys = self.addresses(keys.iter().flat_map(|k| k.iter()))?;
        let places = &self.constants.places;
        Ok(PostTables {
            two: self.constants.at(places.two),
            factor: self.constants.at(places.special),
            keys,
            mix: matches!(self.pass.post, Post::MixKeys(..)),
        })
    }
}
