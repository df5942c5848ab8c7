//! A key switch with its modulus switch, kernel by kernel.
//!
//! ```text
//! products  parts_columns ─► rows_convert ─► key_columns ─► modulus switch
//! images    columns_inverse ─► rows_convert ─► columns_forward ─► inner_product ─► columns_inverse ─► modulus switch
//! modulus switch: rows_convert ─► columns_finish, after columns_inverse if it stands alone
//! ```
//!
//! With L source, X extended, D dropped and T target primes, d digits, and u pieces per output:
//!
//! | array | limbs per output | order |
//! |---|---|---|
//! | `words`: pieces after the columns of the inverse transform | u L | tiles |
//! | `extended`: digits, before and then after the columns of the forward transform | u d X | tiles |
//! | `sums`: both sums | 2 X | natural |
//! | `lowered`: dropped limbs after the columns of the inverse transform | 2 D | tiles |
//! | `converted`: their remainders before the columns of the forward transform | 2 T | tiles |
//! | the result | 2 T | natural |

use crate::args::map;
use crate::cuda::Cuda;
use crate::kernels::Kind;
use crate::launch::{
    Factors, MOST_ITEMS, MOST_OUTPUTS, MOST_PRODUCTS, MOST_SUMMED, MOST_WORDS, PostTables,
    ProductTables, SumTables,
};
use crate::memory::{Buffer, Held};
use crate::plans::{PassConstants, Placed};
use crate::switch_tables::{ModSwitchTables, SwitchTables};
use homaes_bgv::device::{Addend, KeyPoly, Pass, Post, Products, Shape, Sums};
use homaes_bgv::{Params, Result};
use homaes_rns::{ModSwitch, Poly};
use std::sync::Arc;

/// Words of a term of a sum.
pub(crate) const TERM: usize = 5;

impl Cuda {
    /// Whether the kernels can do these products.
    pub(crate) fn has_products(pass: &Pass<'_>) -> bool {
        let most = MOST_SUMMED >> (Kind::of(pass.params).prime_bits - 47);
        2 * pass.plan.digits.len() < most
    }

    /// Whether the kernels can do these sums.
    pub(crate) fn has_sums(pass: &Pass<'_>, sums: &Sums<'_>) -> bool {
        let columns = match sums.post {
            Post::MixKeys(..) => sums.outputs.len().is_multiple_of(4),
            Post::None | Post::Keys(_) => true,
        };
        columns && at_once(pass, sums) > 0
    }

    /// See [`Device::products`](homaes_bgv::device::Device::products).
    pub(crate) fn multiplied(
        &self,
        pass: &Pass<'_>,
        products: &Products<'_>,
    ) -> Result<Vec<[Poly; 2]>> {
        let mut out = Vec::with_capacity(products.factors.len());
        for factors in products.factors.chunks(MOST_PRODUCTS) {
            pass.cancel.check()?;
            // both parts have the same constants
            let addend = Addend {
                map: products.map,
                by_row: products.by_row,
                second: false,
            };
            let kind = (Post::None, &[addend][..]);
            let work = Switching::new(self, pass, kind, factors.len(), products.keys.len())?;
            out.extend(work.products(&Products {
                factors,
                ..*products
            })?);
        }
        Ok(out)
    }

    /// See [`Device::sums`](homaes_bgv::device::Device::sums).
    pub(crate) fn summed(&self, pass: &Pass<'_>, sums: &Sums<'_>) -> Result<Vec<[Poly; 2]>> {
        let mut out = Vec::with_capacity(sums.outputs.len());
        let (shape, size) = (sums.shape, at_once(pass, sums));
        let kind = (sums.post, &shape.addends[..]);
        for (number, outputs) in sums.outputs.chunks(size).enumerate() {
            pass.cancel.check()?;
            let own = number * size..number * size + outputs.len();
            let post = match sums.post {
                Post::None => Post::None,
                Post::Keys(keys) => Post::Keys(&keys[own]),
                Post::MixKeys(two, keys) => Post::MixKeys(two, &keys[own]),
            };
            let sums = Sums {
                outputs,
                post,
                ..*sums
            };
            let work = Switching::new(self, pass, kind, outputs.len(), shape.uses.len())?;
            out.extend(work.sums(&sums)?);
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

    /// Completes the modulus switch `plan` of the elements at `sources`. Their dropped limbs are at `lowered`, after
    /// the columns of the inverse transform; `converted` has room for as many elements of the target.
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

/// Sums whose digits are in memory at one time, and whose tables a kernel has room for.
fn at_once(pass: &Pass<'_>, sums: &Sums<'_>) -> usize {
    let (uses, addends) = (&sums.shape.uses, sums.shape.addends.len());
    let terms = pass.plan.digits.len() * uses.iter().map(Vec::len).sum::<usize>();
    let left = MOST_WORDS.saturating_sub(TERM * terms);
    let most = MOST_OUTPUTS
        .min(left / (uses.len() + addends).max(1))
        .min(MOST_ITEMS / uses.len().max(1));
    match sums.post {
        Post::MixKeys(..) => most - most % 4,
        Post::None | Post::Keys(_) => most,
    }
}

/// Some outputs of a pass.
struct Switching<'a> {
    cuda: &'a Cuda,
    pass: &'a Pass<'a>,
    /// how many
    count: usize,
    /// what the addresses below are of, while it is in use
    held: Vec<Held>,
    tables: Arc<Placed<SwitchTables>>,
    constants: Arc<Placed<PassConstants>>,
    /// owns the five addresses below
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
        (post, addends): (Post<'_>, &[Addend<'_>]),
        count: usize,
        pieces: usize,
    ) -> Result<Self> {
        let plan = pass.plan;
        let n = cuda.gpu.n();
        let (sums, elements) = (2 * count, count * pieces);
        let limbs = [
            sums * plan.extended.len(),
            elements * plan.digits.len() * plan.extended.len(),
            elements * plan.from.len(),
            sums * plan.down.dropped().len(),
            sums * plan.down.to().len(),
        ];
        let driver = &cuda.gpu.driver;
        let entry = cuda.plans.switch(driver, pass.params, plan)?;
        let constants = entry.constants(driver, pass, post, addends)?;
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
            count,
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

    /// Address of a polynomial on the GPU, held until the outputs are computed.
    fn address(&mut self, poly: &Poly) -> Result<u64> {
        let held = self.cuda.held(&poly.limbs)?;
        let at = held.at();
        self.held.push(held);
        Ok(at)
    }

    /// Addresses of both halves of a key's digit, held likewise.
    fn key(&mut self, digit: &[KeyPoly; 2]) -> Result<[u64; 2]> {
        let [b, a] = digit.each_ref().map(|half| self.cuda.held_key(half));
        let held = [b?, a?];
        self.held.extend(held.iter().cloned());
        Ok(held.map(|half| half.at()))
    }

    fn addresses<'p>(&mut self, polys: impl IntoIterator<Item = &'p Poly>) -> Result<Vec<u64>> {
        polys.into_iter().map(|p| self.address(p)).collect()
    }

    /// Addresses of the sums of all outputs.
    fn sums_at(&self) -> Vec<u64> {
        let item = |k: usize| 8 * (k * self.pass.plan.extended.len() * self.cuda.gpu.n()) as u64;
        (0..2 * self.count).map(|k| self.sums + item(k)).collect()
    }

    /// The outputs, divided from their sums.
    fn divided(self) -> Result<Vec<[Poly; 2]>> {
        let tables = (&*self.tables, &self.tables.places.down);
        let work = [self.lowered, self.converted];
        let down = &self.pass.plan.down;
        let sums = self.sums_at();
        let mut out = self.cuda.divide(down, tables, &sums, work)?;
        let mut next = || out.next().expect("two for each output");
        Ok((0..self.count).map(|_| [next(), next()]).collect())
    }

    /// Products: their sums, those that are dropped after the columns of the way back, divided.
    fn products(mut self, products: &Products<'_>) -> Result<Vec<[Poly; 2]>> {
        let plan = self.pass.plan;
        let mut factors = Factors {
            x: Vec::new(),
            y: Vec::new(),
            map: map(products.map),
        };
        for [x, y] in products.factors {
            factors.x.extend(self.addresses(*x)?);
            factors.y.extend(self.addresses(*y)?);
        }
        let mut keys = Vec::new();
        for key in products.keys {
            let key = key.digits(plan);
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
        let elements = 2 * self.count;
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
        self.divided()
    }

    /// Sums of polynomials, those that are dropped also after the columns of the way back, divided.
    fn sums(mut self, sums: &Sums<'_>) -> Result<Vec<[Poly; 2]>> {
        let (plan, shape) = (self.pass.plan, sums.shape);
        let (mut pieces, mut added) = (Vec::new(), Vec::new());
        for output in sums.outputs {
            pieces.extend(self.addresses(output.pieces.iter().copied())?);
            added.extend(self.addresses(output.addends.iter().copied())?);
        }
        let mut words = self.terms(shape)?;
        let terms = words.len() / TERM;
        words.extend(pieces.iter().copied().chain(added));
        let post = self.post(sums.post)?;
        let gpu = &self.cuda.gpu;
        let (tables, at) = (&self.tables, &self.tables.places);
        let (from, extended, digits) = (plan.from.len(), plan.extended.len(), plan.digits.len());
        let unscaled = shape.unscaled && !plan.all_special;
        let primes = tables.at(at.convert.source_prime);
        gpu.columns_inverse(from, [primes, tables.at(at.order)], &pieces, self.words)?;
        let mut convert = at.convert.clone();
        if unscaled {
            convert.scale = at.unscaled;
        }
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
            pieces: shape.uses.len(),
            terms,
            addend_count: shape.addends.len(),
            outputs: self.count,
        };
        gpu.inner_product(extended, &t, words, self.extended, &post, self.sums)?;
        let down = &at.down;
        let places = [down.convert.source_prime, down.places].map(|at| tables.at(at));
        let dropped = plan.down.dropped().len();
        gpu.columns_inverse(dropped, places, &self.sums_at(), self.lowered)?;
        self.divided()
    }

    /// The words of every piece, digit and key.
    fn terms(&mut self, shape: &Shape<'_>) -> Result<Vec<u64>> {
        let plan = self.pass.plan;
        let mut words = Vec::new();
        for (piece, uses) in shape.uses.iter().enumerate() {
            for (d, digit) in plan.digits.iter().enumerate() {
                for (sigma, key) in uses {
                    let [row, col, lanes] = map(sigma).map(u64::from);
                    let key = self.key(&key.digits(plan)[digit.number])?;
                    words.extend([piece as u64 | (d as u64) << 32, row | col << 32, lanes]);
                    words.extend(key);
                }
            }
        }
        Ok(words)
    }

    /// What is done to the sums.
    fn post(&mut self, post: Post<'_>) -> Result<PostTables> {
        let keys = match post {
            Post::None => &[],
            Post::Keys(keys) | Post::MixKeys(_, keys) => keys,
        };
        let keys = self.addresses(keys.iter().flat_map(|k| k.iter()))?;
        let places = &self.constants.places;
        Ok(PostTables {
            two: self.constants.at(places.two),
            factor: self.constants.at(places.special),
            keys,
            mix: matches!(post, Post::MixKeys(..)),
        })
    }
}
