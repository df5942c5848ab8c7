//! Tables of plans, which are made when a plan is first met and stay on the GPU.
//!
//! A plan is known by all that its tables are made of but the primes of the set: the places and primes of its bases, of its digits and of
//! what it drops. So plans that are made anew for each operation find the tables of their like.

use crate::Result;
use crate::args::{Tables, factor, least, map};
use crate::driver::Driver;
use crate::memory::Buffer;
use homaes_bgv::Params;
use homaes_bgv::device::{Addend, Pass, Post};
use homaes_leveled::{Lowering, SwitchPlan};
use homaes_math::rns::Conversion;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Sources of a conversion, its quotient among them.
const SOURCES: usize = 16;
/// Rows that tables of constants have room for.
const ROWS: usize = 16;
/// Constants of passes that are kept for a plan. A batch has two kinds of passes for most plans; circuits of users have a few more.
const KEPT: usize = 8;

/// Tables in the memory of the GPU, and their places.
pub(crate) struct Placed<T> {
    pub(crate) buffer: Buffer,
    pub(crate) places: T,
}

impl<T> Placed<T> {
    fn new(driver: &Arc<Driver>, make: impl FnOnce(&mut Tables) -> T) -> Result<Arc<Self>> {
        let mut tables = Tables::default();
        let places = make(&mut tables);
        let buffer = Buffer::of(driver, &tables.0)?;
        Ok(Arc::new(Self { buffer, places }))
    }

    /// Address of a table.
    pub(crate) fn at(&self, place: usize) -> u64 {
        self.buffer.at(place)
    }
}

/// By what they are made of.
type ByContent<T> = Mutex<HashMap<Vec<u64>, Arc<T>>>;

/// All tables of plans on a GPU, of one parameter set. They take 0.1 MB for a plan of `bgv/aes128`, a few MB in all.
#[derive(Default)]
pub(crate) struct Plans {
    switches: ByContent<SwitchEntry>,
    lowerings: ByContent<Placed<LoweringTables>>,
    bases: ByContent<Placed<usize>>,
}

/// A key switching's own tables, and constants of the last kinds of passes by it, each by what it was made of.
pub(crate) struct SwitchEntry {
    pub(crate) tables: Arc<Placed<SwitchTables>>,
    constants: Mutex<Vec<Constants>>,
}

/// Constants of a kind of passes, and what they were made of.
type Constants = (Vec<u64>, Arc<Placed<PassConstants>>);

/// What is in `all` by `key`, made if need be. Nothing is kept of what cannot be made.
fn kept<T>(
    all: &ByContent<T>,
    key: Vec<u64>,
    make: impl FnOnce() -> Result<Arc<T>>,
) -> Result<Arc<T>> {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = all.get(&key) {
        return Ok(found.clone());
    }
    let made = make()?;
    all.insert(key, made.clone());
    Ok(made)
}

/// A list, so that no two sequences of lists are the same words.
fn put(key: &mut Vec<u64>, list: impl IntoIterator<Item = u64>) {
    let at = key.len();
    key.push(0);
    key.extend(list);
    key[at] = (key.len() - at - 1) as u64;
}

fn put_places(key: &mut Vec<u64>, list: &[usize]) {
    put(key, list.iter().map(|&i| i as u64));
}

fn put_lowering(key: &mut Vec<u64>, plan: &Lowering) {
    put_places(key, plan.dropped());
    put_places(key, plan.dropped_primes());
    put_places(key, plan.to());
    let sources = (0..plan.to().len()).map(|j| plan.source(j).map_or(u64::MAX, |at| at as u64));
    put(key, sources);
}

fn put_switch(key: &mut Vec<u64>, plan: &SwitchPlan) {
    put_places(key, &plan.from);
    put_places(key, &plan.extended);
    put(key, plan.scale.iter().map(|c| c.w));
    for digit in &plan.digits {
        put_places(key, &digit.own);
    }
    put_lowering(key, &plan.down);
}

impl Plans {
    /// The tables of a modulus switch.
    pub(crate) fn lowering(
        &self,
        driver: &Arc<Driver>,
        params: &Params,
        plan: &Lowering,
    ) -> Result<Arc<Placed<LoweringTables>>> {
        let mut key = Vec::new();
        put_lowering(&mut key, plan);
        kept(&self.lowerings, key, || {
            Placed::new(driver, |tables| lowering_tables(params, plan, tables))
        })
    }

    /// The tables of a key switching.
    pub(crate) fn switch(
        &self,
        driver: &Arc<Driver>,
        params: &Params,
        plan: &SwitchPlan,
    ) -> Result<Arc<SwitchEntry>> {
        let mut key = Vec::new();
        put_switch(&mut key, plan);
        kept(&self.switches, key, || {
            Ok(Arc::new(SwitchEntry {
                tables: Placed::new(driver, |tables| switch_tables(params, plan, tables))?,
                constants: Mutex::default(),
            }))
        })
    }

    /// The numbers of the primes of a basis.
    pub(crate) fn basis(
        &self,
        driver: &Arc<Driver>,
        basis: &[usize],
    ) -> Result<Arc<Placed<usize>>> {
        let mut key = Vec::new();
        put_places(&mut key, basis);
        kept(&self.bases, key, || {
            Placed::new(driver, |tables| tables.places(basis.iter().copied()))
        })
    }
}

/// Places of what passes of one kind have in common, in words.
pub(crate) struct PassConstants {
    /// `struct Addend` each
    pub(crate) addends: usize,
    /// constants of the addends, per source prime and row
    pub(crate) by_row: usize,
    /// for MixColumns, per extended prime and row
    pub(crate) two: usize,
    /// P_l per source prime
    pub(crate) special: usize,
}

impl SwitchEntry {
    /// The constants of a pass, of its first `addends` addends.
    pub(crate) fn constants(
        &self,
        driver: &Arc<Driver>,
        pass: &Pass<'_>,
        addends: usize,
    ) -> Result<Arc<Placed<PassConstants>>> {
        let addends = &pass.shape.addends[..addends];
        let mut key = Vec::new();
        match pass.post {
            Post::None => put(&mut key, [0]),
            Post::Keys(_) => put(&mut key, [1]),
            Post::MixKeys(two, _) => put(&mut key, two.iter().map(|&e| 2 + u64::from(e))),
        }
        for addend in addends {
            put(&mut key, packed(addend));
            for row in addend.by_row {
                put(&mut key, row.iter().copied());
            }
        }
        let mut all = self
            .constants
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = all.iter().find(|(of, _)| *of == key) {
            return Ok(found.clone());
        }
        let made = Placed::new(driver, |tables| pass_constants(pass, addends, tables))?;
        if all.len() == KEPT {
            all.remove(0);
        }
        all.push((key, made.clone()));
        Ok(made)
    }
}

/// `struct Addend`.
fn packed(addend: &Addend<'_>) -> [u64; 2] {
    let [row, col, lanes] = map(addend.map);
    let second = u32::from(addend.second);
    [[row, col], [lanes, second]].map(|[a, b]| u64::from(a) | u64::from(b) << 32)
}

fn pass_constants(pass: &Pass<'_>, addends: &[Addend<'_>], tables: &mut Tables) -> PassConstants {
    let (params, plan) = (pass.params, &pass.plan.switch);
    let mut by_row = Vec::new();
    for addend in addends {
        for (row, &i) in addend.by_row.iter().zip(&plan.from) {
            let m = params.pool().modulus(i);
            let row = row.iter().map(|&w| least(m, w));
            by_row.extend(row.chain(core::iter::repeat(0.0)).take(ROWS));
        }
    }
    let mut two = Vec::new();
    if let Post::MixKeys(exponents, _) = pass.post {
        for &i in &plan.extended {
            let t = params.pool().transform(i);
            let values = t.row_values(exponents).into_iter();
            let values = values.chain(core::iter::repeat(0)).take(ROWS);
            two.extend(values.flat_map(|v| factor(t.modulus(), v)));
        }
    }
    let special = plan.from.iter().flat_map(|&i| {
        let p = params.special_product(plan.special(), i);
        factor(params.pool().modulus(i), p)
    });
    PassConstants {
        addends: tables.words(addends.iter().flat_map(packed)),
        by_row: tables.reals(by_row),
        two: tables.reals(two),
        special: tables.reals(special),
    }
}

/// Places of the tables of a [`Lowering`], in words.
pub(crate) struct LoweringTables {
    pub(crate) dropped: usize,
    pub(crate) places: usize,
    pub(crate) counts: usize,
    pub(crate) skip: usize,
    pub(crate) constants: usize,
    pub(crate) inverses: usize,
    pub(crate) scale: usize,
    pub(crate) to: usize,
    pub(crate) kept: usize,
    pub(crate) factor: usize,
    pub(crate) order: usize,
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
pub(crate) struct SwitchTables {
    pub(crate) from: usize,
    pub(crate) extended: usize,
    pub(crate) own: usize,
    pub(crate) places: usize,
    pub(crate) counts: usize,
    pub(crate) constants: usize,
    pub(crate) inverses: usize,
    /// of coefficients, for the conversion
    pub(crate) words: usize,
    /// (P/P_l)⁻¹
    pub(crate) scale: usize,
    /// the same without the factor R of a product
    pub(crate) unstored_scale: usize,
    pub(crate) order: usize,
    /// of the division
    pub(crate) down: LoweringTables,
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
        down: lowering_tables(params, &plan.down, tables),
    }
}
