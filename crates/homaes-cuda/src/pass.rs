//! A key switching with its division, kernel by kernel.

use crate::args::Arg::{At, Int, Map};
use crate::args::{Tables, map};
use crate::cuda::Cuda;
use crate::launch::Digits;
use crate::memory::{Buffer, Held};
use crate::plans::{LoweringTables, PassConstants, Placed, SwitchTables};
use homaes_bgv::device::{Factors, KeyPoly, Pass, Post, Summands};
use homaes_bgv::{Params, Result};
use homaes_leveled::{Lowering, Poly, SwitchPlan};
use std::sync::Arc;

/// Outputs whose digits are in memory at one time.
const OUTPUTS: usize = 16;
/// Outputs that share the reading of keys.
const GROUP: usize = 4;

impl Cuda {
    /// Whether the kernels can do it.
    pub(crate) fn has(pass: &Pass<'_>) -> bool {
        let products = |o: &Summands<'_>| matches!(o, Summands::Product(_));
        let uses = &pass.shape.uses;
        if pass.outputs.iter().any(products) {
            return pass.outputs.iter().all(products)
                && uses.len() == 2
                && uses.iter().all(|uses| uses.len() == 1)
                && matches!(pass.post, Post::None);
        }
        match pass.post {
            Post::MixKeys(..) => pass.outputs.len() == 4,
            Post::None | Post::Keys(_) => true,
        }
    }

    /// See [`Device::pass`](homaes_bgv::device::Device::pass).
    pub(crate) fn run(&self, pass: &Pass<'_>) -> Result<Vec<[Poly; 2]>> {
        let mut out = Vec::with_capacity(pass.outputs.len());
        for (number, outputs) in pass.outputs.chunks(OUTPUTS).enumerate() {
            pass.cancel.check()?;
            out.extend(Switching::new(self, pass, outputs, number * OUTPUTS)?.run()?);
        }
        Ok(out)
    }

    /// See [`Device::mod_down`](homaes_bgv::device::Device::mod_down).
    pub(crate) fn lower(
        &self,
        params: &Params,
        plan: &Lowering,
        all: &[&Poly],
    ) -> Result<Vec<Poly>> {
        let held = all.iter().map(|a| self.held(&a.limbs));
        let held: Vec<Held> = held.collect::<Result<_>>()?;
        let driver = &self.gpu.driver;
        let plans = self.plans.lowering(driver, params, plan)?;
        let sources: Vec<u64> = held.iter().map(Held::at).collect();
        let sources = Buffer::of(driver, &sources)?;
        let (dropped, elements) = (plan.dropped().len(), all.len());
        let work = Buffer::new(driver, elements * (dropped + 1) * self.gpu.n())?;
        let tables = (&plans.buffer, &plans.places);
        let out = self.divide(plan, tables, (sources.at(0), elements), work.at(0))?;
        let (n, to) = (self.gpu.n(), plan.to().len());
        let poly = |k: usize| self.poly(&out, k * to * n, to);
        Ok((0..elements).map(poly).collect())
    }

    /// Switches elements by `plan`; the addresses of their limbs are at `sources`. At `work` there is room for the limbs dropped, and for one
    /// more of each element.
    fn divide(
        &self,
        plan: &Lowering,
        (tables, at): (&Buffer, &LoweringTables),
        (sources, elements): (u64, usize),
        work: u64,
    ) -> Result<Arc<Buffer>> {
        let gpu = &self.gpu;
        let (n, dropped, to) = (gpu.n(), plan.dropped().len(), plan.to().len());
        let out = Arc::new(Buffer::new(&gpu.driver, elements * to * n)?);
        let digits = Digits {
            count: 1,
            places: tables.at(at.order),
            counts: tables.at(at.counts),
            skip: tables.at(at.skip),
            constants: tables.at(at.constants),
            inverses: tables.at(at.inverses),
            limbs: dropped,
        };
        let (y, v) = (work, work + 8 * (elements * dropped * n) as u64);
        let primes = tables.at(at.dropped);
        let from = [primes, tables.at(at.places), sources, y];
        gpu.rows_inverse([dropped, elements], from)?;
        gpu.columns_scale([dropped, elements], [primes, tables.at(at.scale), y])?;
        gpu.quotient(elements, &digits, [y, v])?;
        let primes = tables.at(at.to);
        gpu.rows_combine([to, elements], primes, &digits, [y, v, out.at(0)])?;
        let [kept, factor] = [at.kept, at.factor].map(|at| tables.at(at));
        let args = [primes, kept, factor, sources, out.at(0)];
        gpu.columns_finish([to, elements], args)?;
        Ok(out)
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
    /// addresses of this one
    call: Tables,
    /// of all that follows
    _work: Buffer,
    /// both sums of every output, over the extended basis
    sums: u64,
    /// digits of all pieces, over the extended basis
    extended: u64,
    /// words of all pieces, and quotients of their digits
    words: u64,
    quotients: u64,
    /// pieces times the plan's scale
    scaled: u64,
    /// of the division
    division: u64,
}

impl<'a> Switching<'a> {
    fn new(
        cuda: &'a Cuda,
        pass: &'a Pass<'a>,
        outputs: &'a [Summands<'a>],
        first: usize,
    ) -> Result<Self> {
        let plan: &SwitchPlan = pass.plan;
        let n = cuda.gpu.n();
        let (sums, elements) = (2 * outputs.len(), outputs.len() * pass.shape.uses.len());
        let (from, extended, digits) = (plan.from.len(), plan.extended.len(), plan.digits.len());
        let scaled = match pass.shape.unscaled && !plan.all_special {
            true => elements * from,
            false => 0,
        };
        let limbs = [
            sums * extended,
            elements * digits * extended,
            elements * from,
            elements * digits,
            scaled,
            sums * (plan.down.dropped().len() + 1),
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
        let [sums, extended, words, quotients, scaled, division] = limbs.map(|limbs| {
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
            call: Tables::default(),
            _work: work,
            sums,
            extended,
            words,
            quotients,
            scaled,
            division,
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

    fn pieces(&self) -> usize {
        self.pass.shape.uses.len()
    }

    fn elements(&self) -> usize {
        self.outputs.len() * self.pieces()
    }

    fn run(mut self) -> Result<Vec<[Poly; 2]>> {
        let plan: &SwitchPlan = self.pass.plan;
        let n = self.cuda.gpu.n();
        let item = |k: usize| self.sums + 8 * (k * plan.extended.len() * n) as u64;
        let sums: Vec<u64> = (0..2 * self.outputs.len()).map(item).collect();
        let sources = self.call.words(sums);
        let factors: Vec<&Factors<'_>> = self
            .outputs
            .iter()
            .filter_map(|o| match o {
                Summands::Product(factors) => Some(factors),
                Summands::Stored { .. } => None,
            })
            .collect();
        // the addresses live until what reads them is launched
        let call = if factors.is_empty() {
            self.stored()?
        } else {
            self.products(&factors)?
        };
        let tables = (&self.tables.buffer, &self.tables.places.down);
        let sources = (call.at(sources), 2 * self.outputs.len());
        let out = self
            .cuda
            .divide(&plan.down, tables, sources, self.division)?;
        let to = plan.down.to().len();
        let poly = |k: usize| self.cuda.poly(&out, k * to * n, to);
        Ok((0..self.outputs.len())
            .map(|k| [poly(2 * k), poly(2 * k + 1)])
            .collect())
    }

    /// From rows of coefficients to digits after the first axis.
    fn extend(&self) -> Result<Digits> {
        let (tables, at) = (&self.tables, &self.tables.places);
        let (gpu, plan) = (&self.cuda.gpu, &self.pass.plan.switch);
        let digits = Digits {
            count: plan.digits.len(),
            places: tables.at(at.places),
            counts: tables.at(at.counts),
            skip: tables.at(at.own),
            constants: tables.at(at.constants),
            inverses: tables.at(at.inverses),
            limbs: plan.from.len(),
        };
        let elements = self.elements();
        let (y, v) = (self.words, self.quotients);
        let args = [tables.at(at.from), tables.at(at.words), y];
        gpu.columns_scale([plan.from.len(), elements], args)?;
        gpu.quotient(elements, &digits, [y, v])?;
        let size = [plan.extended.len(), elements];
        let to = [y, v, self.extended];
        gpu.rows_combine(size, tables.at(at.extended), &digits, to)?;
        Ok(digits)
    }

    /// Sums of products; gives the addresses.
    fn products(&mut self, factors: &[&Factors<'_>]) -> Result<Buffer> {
        let (pass, plan) = (self.pass, &self.pass.plan.switch);
        let mut xs = Vec::new();
        let mut ys = Vec::new();
        for f in factors {
            xs.extend(self.addresses(f.x)?);
            ys.extend(self.addresses(f.y)?);
        }
        let second: Vec<u64> = ys.chunks(2).flat_map(|y| [y[1]; 2]).collect();
        let (xs, ys) = (self.call.words(xs), self.call.words(ys));
        let second = self.call.words(second);
        let mut keys = Vec::new();
        for (_, key) in pass.shape.uses.iter().flatten() {
            let key = key.digits(pass.plan);
            for digit in &plan.digits {
                keys.extend(self.key(&key[digit.number])?);
            }
        }
        let keys = self.call.words(keys);
        let call = Buffer::of(&self.cuda.gpu.driver, &self.call.0)?;
        let gpu = &self.cuda.gpu;
        let (tables, at) = (&self.tables, &self.tables.places);
        let sigma = map(factors[0].map);
        let (from, extended) = (plan.from.len(), plan.extended.len());
        let [primes, scale] = [at.from, at.unstored_scale].map(|at| tables.at(at));
        let args = [primes, scale, call.at(xs), call.at(second)];
        gpu.rows_product([from, self.elements()], args, sigma, self.words)?;
        self.extend()?;
        let args = [
            At(tables.at(at.extended)),
            Int(from),
            At(tables.at(at.own)),
            Int(plan.digits.len()),
            At(self.extended),
            At(call.at(xs)),
            At(call.at(ys)),
            Map(sigma),
            At(scale),
            At(self.constants.at(self.constants.places.by_row)),
            At(call.at(keys)),
            At(self.sums),
        ];
        gpu.product_columns([extended, self.outputs.len()], &args)?;
        Ok(call)
    }

    /// Sums of polynomials; gives the addresses.
    fn stored(&mut self) -> Result<Buffer> {
        let (pass, plan) = (self.pass, &self.pass.plan.switch);
        let (mut pieces, mut added) = (Vec::new(), Vec::new());
        for output in self.outputs {
            if let Summands::Stored { pieces: p, addends } = output {
                pieces.extend(self.addresses(p.iter().copied())?);
                added.extend(self.addresses(addends.iter().copied())?);
            }
        }
        let n = self.cuda.gpu.n();
        let (from, extended) = (plan.from.len(), plan.extended.len());
        let unscaled = pass.shape.unscaled && !plan.all_special;
        let as_given = self.call.words(pieces.iter().copied());
        let scaled = |k: usize| self.scaled + 8 * (k * from * n) as u64;
        let stored = match unscaled {
            true => (0..pieces.len()).map(scaled).collect(),
            false => pieces,
        };
        let stored = self.call.words(stored);
        let added = self.call.words(added);
        let (terms, term_count) = self.terms()?;
        let keys = self.post_keys()?;
        let call = Buffer::of(&self.cuda.gpu.driver, &self.call.0)?;
        let gpu = &self.cuda.gpu;
        let (tables, at) = (&self.tables, &self.tables.places);
        let (primes, size) = (tables.at(at.from), [from, self.elements()]);
        if unscaled {
            let args = [primes, tables.at(at.scale), call.at(as_given), self.scaled];
            gpu.scale_limbs(size, args)?;
        }
        let args = [primes, tables.at(at.order), call.at(stored), self.words];
        gpu.rows_inverse(size, args)?;
        let digits = self.extend()?;
        let primes = tables.at(at.extended);
        let size = [extended, self.elements()];
        gpu.columns_forward(size, primes, &digits, self.extended)?;
        let constants = (&self.constants, &self.constants.places);
        let args = [
            At(primes),
            Int(from),
            At(tables.at(at.own)),
            Int(plan.digits.len()),
            Int(self.pieces()),
            At(self.extended),
            At(call.at(stored)),
            At(call.at(terms)),
            Int(term_count),
            At(constants.0.at(constants.1.addends)),
            Int(pass.shape.addends.len()),
            At(call.at(added)),
            At(constants.0.at(constants.1.by_row)),
            Int(self.outputs.len()),
            At(self.sums),
        ];
        gpu.inner_product([extended, self.outputs.len().div_ceil(GROUP)], &args)?;
        self.post(call.at(keys))?;
        Ok(call)
    }

    /// `struct Term` for every piece, digit and key.
    fn terms(&mut self) -> Result<(usize, usize)> {
        let (pass, plan) = (self.pass, &self.pass.plan.switch);
        let mut words = Vec::new();
        let mut count = 0;
        for (piece, uses) in pass.shape.uses.iter().enumerate() {
            for (d, digit) in plan.digits.iter().enumerate() {
                for (sigma, key) in uses {
                    let [row, col, lanes] = map(sigma).map(u64::from);
                    let key = self.key(&key.digits(pass.plan)[digit.number])?;
                    words.extend([piece as u64 | (d as u64) << 32, row | col << 32, lanes]);
                    words.extend(key);
                    count += 1;
                }
            }
        }
        Ok((self.call.words(words), count))
    }

    /// Addresses of the keys that are added.
    fn post_keys(&mut self) -> Result<usize> {
        let keys = match self.pass.post {
            Post::None => &[],
            Post::Keys(keys) | Post::MixKeys(_, keys) => &keys[self.first..][..self.outputs.len()],
        };
        let keys = self.addresses(keys.iter().flat_map(|k| k.iter()))?;
        Ok(self.call.words(keys))
    }

    fn post(&self, keys: u64) -> Result<()> {
        let (gpu, plan) = (&self.cuda.gpu, &self.pass.plan.switch);
        let (from, extended) = (plan.from.len(), plan.extended.len());
        let primes = self.tables.at(self.tables.places.extended);
        let constants = &self.constants.places;
        let [two, p] = [constants.two, constants.special].map(|at| self.constants.at(at));
        match self.pass.post {
            Post::None => {}
            Post::Keys(_) => {
                let size = [from, 2 * self.outputs.len()];
                gpu.add_keys(size, primes, extended, [p, keys, self.sums])?;
            }
            Post::MixKeys(..) => {
                let args = [
                    At(primes),
                    Int(from),
                    At(two),
                    At(p),
                    At(keys),
                    At(self.sums),
                ];
                gpu.mix_keys(extended, &args)?;
            }
        }
        Ok(())
    }
}
