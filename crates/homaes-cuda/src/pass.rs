//! A key switching with its division, kernel by kernel.

use crate::args::Arg::{At, Int, Map};
use crate::args::{Tables, factor, least, map};
use crate::cuda::Cuda;
use crate::launch::Digits;
use crate::memory::{Buffer, Held};
use homaes_bgv::device::{Factors, Pass, Post, Summands};
use homaes_bgv::{Params, Result};
use homaes_leveled::{Lowering, Poly, SwitchPlan};
use homaes_math::rns::Conversion;
use std::sync::Arc;

/// Sources of a conversion, its quotient among them.
const SOURCES: usize = 16;
/// Outputs whose digits are in memory at one time.
const OUTPUTS: usize = 16;
/// Rows that tables of constants have room for.
const ROWS: usize = 16;
/// Outputs that share the reading of keys.
const GROUP: usize = 4;

/// Places of the tables of a [`Lowering`], in words.
struct LoweringTables {
    dropped: usize,
    places: usize,
    counts: usize,
    skip: usize,
    constants: usize,
    inverses: usize,
    scale: usize,
    to: usize,
    kept: usize,
    factor: usize,
    order: usize,
}

/// Of the conversion's sources, [`SOURCES`] numbers each.
fn padded<T: Copy>(some: impl IntoIterator<Item = T>, zero: T) -> impl Iterator<Item = T> {
    some.into_iter()
        .chain(core::iter::repeat(zero))
        .take(SOURCES)
}

/// Constants of target `j`, without the factors R.
fn constants(conversion: &Conversion, j: usize) -> impl Iterator<Item = f64> {
    let c = conversion.combination(j);
    let words = c.constants.iter();
    padded(
        words.map(move |&w| least(c.modulus, c.modulus.from_stored(w))),
        0.0,
    )
}

/// The tables of a modulus switch.
fn lowering_tables(params: &Params, plan: &Lowering, tables: &mut Tables) -> LoweringTables {
    let pool = params.pool();
    let (dropped, to) = (plan.dropped(), plan.to());
    let count = dropped.len();
    let conversion = plan.conversion();
    let scales = conversion.scales().iter().zip(plan.dropped_primes());
    let kept = (0..to.len()).map(|j| plan.source(j).map_or(-1, |at| at as i32));
    let kept: Vec<i32> = kept.collect();
    let factors = (0..to.len()).map(|j| {
        let m = pool.modulus(to[j]);
        plan.factor(j).map_or([0.0; 2], |c| factor(m, c.w))
    });
    let factors: Vec<f64> = factors.flatten().collect();
    LoweringTables {
        dropped: tables.places(plan.dropped_primes().iter().copied()),
        places: tables.places(dropped.iter().copied()),
        order: tables.places(padded(0..count, 0)),
        counts: tables.places([count]),
        skip: tables.places(vec![0; to.len()]),
        constants: tables.reals((0..to.len()).flat_map(|j| constants(conversion, j))),
        inverses: tables.reals(padded(conversion.inverses().iter().copied(), 0.0)),
        scale: tables.reals(scales.flat_map(|(c, &i)| factor(pool.modulus(i), c.w))),
        to: tables.places(to.iter().copied()),
        kept: tables.ints(kept),
        factor: tables.reals(factors),
    }
}

/// Places of the tables of a key switching, in words.
struct SwitchTables {
    from: usize,
    extended: usize,
    own: usize,
    places: usize,
    counts: usize,
    constants: usize,
    inverses: usize,
    /// of coefficients, for the conversion
    words: usize,
    /// (P/P_l)⁻¹
    scale: usize,
    /// the same without the factor R of a product
    unstored_scale: usize,
    order: usize,
}

fn switch_tables(params: &Params, plan: &SwitchPlan, tables: &mut Tables) -> SwitchTables {
    let pool = params.pool();
    let (from, extended) = (&plan.from, &plan.extended);
    let digits = || plan.digits.iter();
    let own = digits().flat_map(|d| (0..extended.len()).map(|at| usize::from(d.owns(at))));
    let own: Vec<usize> = own.collect();
    let all = digits().flat_map(|d| (0..extended.len()).map(move |at| (d, at)));
    let all = all.flat_map(|(d, at)| -> Vec<f64> {
        match d.target(at) {
            Some(target) => constants(d.conversion(), target).collect(),
            None => vec![0.0; SOURCES],
        }
    });
    let all: Vec<f64> = all.collect();
    let mut words = vec![[0.0; 2]; from.len()];
    for d in digits() {
        for (&at, c) in d.own.iter().zip(d.conversion().scales()) {
            words[at] = factor(pool.modulus(from[at]), c.w);
        }
    }
    let scales = || {
        plan.scale
            .iter()
            .zip(from)
            .map(|(c, &i)| (c.w, pool.modulus(i)))
    };
    SwitchTables {
        from: tables.places(from.iter().copied()),
        extended: tables.places(extended.iter().copied()),
        own: tables.places(own),
        places: tables.places(digits().flat_map(|d| padded(d.own.iter().copied(), 0))),
        counts: tables.places(digits().map(|d| d.own.len())),
        constants: tables.reals(all),
        inverses: tables
            .reals(digits().flat_map(|d| padded(d.conversion().inverses().iter().copied(), 0.0))),
        words: tables.reals(words.into_iter().flatten()),
        scale: tables.reals(scales().flat_map(|(w, m)| factor(m, w))),
        unstored_scale: tables.reals(scales().flat_map(|(w, m)| factor(m, m.from_stored(w)))),
        order: tables.places(0..from.len()),
    }
}

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
        let mut tables = Tables::default();
        let at = lowering_tables(params, plan, &mut tables);
        let sources = tables.words(held.iter().map(Held::at));
        let tables = Buffer::of(&self.gpu.driver, &tables.0)?;
        let (dropped, elements) = (plan.dropped().len(), all.len());
        let work = Buffer::new(&self.gpu.driver, elements * (dropped + 1) * self.gpu.n())?;
        let out = self.divide(plan, &tables, &at, (sources, elements), work.at(0))?;
        let (n, to) = (self.gpu.n(), plan.to().len());
        let poly = |k: usize| self.poly(&out, k * to * n, to);
        Ok((0..elements).map(poly).collect())
    }

    /// Switches elements by `plan`; the addresses of their limbs are in the tables. At `work` there is room for the limbs dropped, and for one more of each element.
    fn divide(
        &self,
        plan: &Lowering,
        tables: &Buffer,
        at: &LoweringTables,
        (sources, elements): (usize, usize),
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
        let from = [primes, tables.at(at.places), tables.at(sources), y];
        gpu.rows_inverse([dropped, elements], from)?;
        gpu.columns_scale([dropped, elements], [primes, tables.at(at.scale), y])?;
        gpu.quotient(elements, &digits, [y, v])?;
        let primes = tables.at(at.to);
        gpu.rows_combine([to, elements], primes, &digits, [y, v, out.at(0)])?;
        let [kept, factor] = [at.kept, at.factor].map(|at| tables.at(at));
        let args = [primes, kept, factor, tables.at(sources), out.at(0)];
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
    tables: Tables,
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
        let work = Buffer::new(&cuda.gpu.driver, limbs.iter().sum::<usize>() * n)?;
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
            tables: Tables::default(),
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
        let (params, plan): (_, &SwitchPlan) = (self.pass.params, self.pass.plan);
        let at = switch_tables(params, plan, &mut self.tables);
        let down = lowering_tables(params, &plan.down, &mut self.tables);
        let n = self.cuda.gpu.n();
        let item = |k: usize| self.sums + 8 * (k * plan.extended.len() * n) as u64;
        let sums: Vec<u64> = (0..2 * self.outputs.len()).map(item).collect();
        let sources = self.tables.words(sums);
        let factors: Vec<&Factors<'_>> = self
            .outputs
            .iter()
            .filter_map(|o| match o {
                Summands::Product(factors) => Some(factors),
                Summands::Stored { .. } => None,
            })
            .collect();
        let tables = if factors.is_empty() {
            self.stored(&at)?
        } else {
            self.products(&at, &factors)?
        };
        let elements = 2 * self.outputs.len();
        let out = self.cuda.divide(
            &plan.down,
            &tables,
            &down,
            (sources, elements),
            self.division,
        )?;
        let to = plan.down.to().len();
        let poly = |k: usize| self.cuda.poly(&out, k * to * n, to);
        Ok((0..self.outputs.len())
            .map(|k| [poly(2 * k), poly(2 * k + 1)])
            .collect())
    }

    /// From rows of coefficients to digits after the first axis.
    fn extend(&self, tables: &Buffer, at: &SwitchTables) -> Result<Digits> {
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

    /// Sums of products; gives the tables.
    fn products(&mut self, at: &SwitchTables, factors: &[&Factors<'_>]) -> Result<Buffer> {
        let (pass, plan) = (self.pass, &self.pass.plan.switch);
        let mut xs = Vec::new();
        let mut ys = Vec::new();
        for f in factors {
            xs.extend(self.addresses(f.x)?);
            ys.extend(self.addresses(f.y)?);
        }
        let second: Vec<u64> = ys.chunks(2).flat_map(|y| [y[1]; 2]).collect();
        let (xs, ys) = (self.tables.words(xs), self.tables.words(ys));
        let second = self.tables.words(second);
        let mut keys = Vec::new();
        for (_, key) in pass.shape.uses.iter().flatten() {
            let key = key.digits(pass.plan);
            for digit in &plan.digits {
                keys.extend(self.addresses(&key[digit.number])?);
            }
        }
        let keys = self.tables.words(keys);
        let by_row = self.by_row(0..1);
        let tables = Buffer::of(&self.cuda.gpu.driver, &self.tables.0)?;
        let gpu = &self.cuda.gpu;
        let sigma = map(factors[0].map);
        let (from, extended) = (plan.from.len(), plan.extended.len());
        let args = [at.from, at.unstored_scale, xs, second].map(|at| tables.at(at));
        gpu.rows_product([from, self.elements()], args, sigma, self.words)?;
        self.extend(&tables, at)?;
        let args = [
            At(tables.at(at.extended)),
            Int(from),
            At(tables.at(at.own)),
            Int(plan.digits.len()),
            At(self.extended),
            At(tables.at(xs)),
            At(tables.at(ys)),
            Map(sigma),
            At(tables.at(at.unstored_scale)),
            At(tables.at(by_row)),
            At(tables.at(keys)),
            At(self.sums),
        ];
        gpu.product_columns([extended, self.outputs.len()], &args)?;
        Ok(tables)
    }

    /// Constants of some addends, per source prime and row.
    fn by_row(&mut self, addends: core::ops::Range<usize>) -> usize {
        let (params, from) = (self.pass.params, &self.pass.plan.from);
        let mut reals = Vec::new();
        for addend in &self.pass.shape.addends[addends] {
            for (row, &i) in addend.by_row.iter().zip(from) {
                let m = params.pool().modulus(i);
                let row = row.iter().map(|&w| least(m, w));
                reals.extend(row.chain(core::iter::repeat(0.0)).take(ROWS));
            }
        }
        self.tables.reals(reals)
    }

    /// Sums of polynomials; gives the tables.
    fn stored(&mut self, at: &SwitchTables) -> Result<Buffer> {
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
        let as_given = self.tables.words(pieces.iter().copied());
        let scaled = |k: usize| self.scaled + 8 * (k * from * n) as u64;
        let stored = match unscaled {
            true => (0..pieces.len()).map(scaled).collect(),
            false => pieces,
        };
        let stored = self.tables.words(stored);
        let added = self.tables.words(added);
        let (terms, term_count) = self.terms()?;
        let maps = pass.shape.addends.iter();
        let maps = maps.flat_map(|a| {
            let [row, col, lanes] = map(a.map);
            let second = u32::from(a.second);
            [[row, col], [lanes, second]].map(|[a, b]| u64::from(a) | u64::from(b) << 32)
        });
        let maps: Vec<u64> = maps.collect();
        let maps = self.tables.words(maps);
        let addends = pass.shape.addends.len();
        let by_row = self.by_row(0..addends);
        let post = self.post_tables()?;
        let tables = Buffer::of(&self.cuda.gpu.driver, &self.tables.0)?;
        let gpu = &self.cuda.gpu;
        if unscaled {
            let args = [at.from, at.scale, as_given].map(|at| tables.at(at));
            let [primes, scale, sources] = args;
            gpu.scale_limbs(
                [from, self.elements()],
                [primes, scale, sources, self.scaled],
            )?;
        }
        let args = [at.from, at.order, stored].map(|at| tables.at(at));
        let [primes, order, sources] = args;
        gpu.rows_inverse(
            [from, self.elements()],
            [primes, order, sources, self.words],
        )?;
        let digits = self.extend(&tables, at)?;
        let primes = tables.at(at.extended);
        let size = [extended, self.elements()];
        gpu.columns_forward(size, primes, &digits, self.extended)?;
        let args = [
            At(primes),
            Int(from),
            At(tables.at(at.own)),
            Int(plan.digits.len()),
            Int(self.pieces()),
            At(self.extended),
            At(tables.at(stored)),
            At(tables.at(terms)),
            Int(term_count),
            At(tables.at(maps)),
            Int(addends),
            At(tables.at(added)),
            At(tables.at(by_row)),
            Int(self.outputs.len()),
            At(self.sums),
        ];
        gpu.inner_product([extended, self.outputs.len().div_ceil(GROUP)], &args)?;
        self.post(&tables, primes, post)?;
        Ok(tables)
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
                    let key = self.addresses(&key.digits(pass.plan)[digit.number])?;
                    words.extend([piece as u64 | (d as u64) << 32, row | col << 32, lanes]);
                    words.extend(key);
                    count += 1;
                }
            }
        }
        Ok((self.tables.words(words), count))
    }

    /// Constants for MixColumns, P_l, and addresses of keys.
    fn post_tables(&mut self) -> Result<[usize; 3]> {
        let (params, plan) = (self.pass.params, &self.pass.plan.switch);
        let (two, keys) = match self.pass.post {
            Post::None => return Ok([0; 3]),
            Post::Keys(keys) => (None, keys),
            Post::MixKeys(two, keys) => (Some(two), keys),
        };
        let mut reals = Vec::new();
        for &i in two.iter().flat_map(|_| &plan.extended) {
            let t = params.pool().transform(i);
            let values = t.row_values(two.unwrap_or_default());
            let values = values.into_iter().chain(core::iter::repeat(0)).take(ROWS);
            reals.extend(values.flat_map(|v| factor(t.modulus(), v)));
        }
        let two = self.tables.reals(reals);
        let p = plan.from.iter().flat_map(|&i| {
            let p = params.special_product(plan.special(), i);
            factor(params.pool().modulus(i), p)
        });
        let p: Vec<f64> = p.collect();
        let p = self.tables.reals(p);
        let keys = &keys[self.first..][..self.outputs.len()];
        let keys = self.addresses(keys.iter().flat_map(|k| k.iter()))?;
        Ok([two, p, self.tables.words(keys)])
    }

    fn post(&self, tables: &Buffer, primes: u64, at: [usize; 3]) -> Result<()> {
        let (gpu, plan) = (&self.cuda.gpu, &self.pass.plan.switch);
        let (from, extended) = (plan.from.len(), plan.extended.len());
        let [two, p, keys] = at.map(|at| tables.at(at));
        let sums = self.sums;
        match self.pass.post {
            Post::None => {}
            Post::Keys(_) => {
                gpu.add_keys(
                    [from, 2 * self.outputs.len()],
                    primes,
                    extended,
                    [p, keys, sums],
                )?;
            }
            Post::MixKeys(..) => {
                let args = [primes, from as u64, two, p, keys, sums];
                let mut args = args.map(At);
                args[1] = Int(from);
                gpu.mix_keys(extended, &args)?;
            }
        }
        Ok(())
    }
}
