//! Tables of plans, made on first use and kept on the GPU.
//!
//! A plan is identified by the contents of its tables other than the set's primes: positions and primes of its bases,
//! of its digits and of what it drops. So plans that are rebuilt for each operation find their tables.

use crate::Result;
use crate::args::{Tables, map};
use crate::arithmetic::{Arithmetic, SOURCES};
use crate::driver::Driver;
use crate::kernels::MOST_PRIMES;
use crate::memory::Buffer;
use homaes_bgv::Params;
use homaes_bgv::device::{Addend, Pass, Post};
use homaes_math::Modulus;
use homaes_math::rns::Conversion;
use homaes_rns::{ModSwitch, SwitchPlan};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Most targets of a digit's conversion.
const TARGETS: usize = 47;
/// Rows of a table of constants.
const ROWS: usize = 16;
/// Kinds of passes whose constants are kept per plan. AES has two kinds for most plans; user circuits a few more.
const KEPT: usize = 8;

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

    pub(crate) fn at(&self, place: usize) -> u64 {
        self.buffer.at(place)
    }
}

type ByContent<T> = Mutex<HashMap<Vec<u64>, Arc<T>>>;

/// All tables of plans of a parameter set on a GPU: 0.1 MB for a plan of `bgv/aes128`, a few MB in all.
#[derive(Default)]
pub(crate) struct Plans {
    switches: ByContent<SwitchEntry>,
    mod_switches: ByContent<Placed<ModSwitchTables>>,
    bases: ByContent<Placed<usize>>,
    /// indices of primes, and constants of MixColumns by prime and row
    mixings: ByContent<Placed<[usize; 2]>>,
}

/// The tables of a key switch, and the constants of its most recent kinds of passes.
pub(crate) struct SwitchEntry {
    pub(crate) tables: Arc<Placed<SwitchTables>>,
    constants: Mutex<Vec<Constants>>,
}

/// Constants of a kind of passes, with the words that identify it.
type Constants = (Vec<u64>, Arc<Placed<PassConstants>>);

/// The entry for `key`, made if missing. Failures are not stored.
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

/// Appends a list with its length, so that different sequences of lists differ.
fn put(key: &mut Vec<u64>, list: impl IntoIterator<Item = u64>) {
    let at = key.len();
    key.push(0);
    key.extend(list);
    key[at] = (key.len() - at - 1) as u64;
}

fn put_places(key: &mut Vec<u64>, list: &[usize]) {
    put(key, list.iter().map(|&i| i as u64));
}

fn put_mod_switch(key: &mut Vec<u64>, plan: &ModSwitch) {
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
    put_mod_switch(key, &plan.down);
}

impl Plans {
    pub(crate) fn mod_switch(
        &self,
        driver: &Arc<Driver>,
        params: &Params,
        plan: &ModSwitch,
    ) -> Result<Arc<Placed<ModSwitchTables>>> {
        let mut key = Vec::new();
        put_mod_switch(&mut key, plan);
        kept(&self.mod_switches, key, || {
            Placed::new(driver, |tables| {
                lowering_tables(driver.arithmetic, params, plan, tables)
            })
        })
    }

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
                tables: Placed::new(driver, |tables| {
                    switch_tables(driver.arithmetic, params, plan, tables)
                })?,
                constants: Mutex::default(),
            }))
        })
    }

    /// The constants of MixColumns over a basis: four per prime and row.
    pub(crate) fn mixing(
        &self,
        driver: &Arc<Driver>,
        params: &Params,
        basis: &[usize],
        mix: &[Vec<u8>; 4],
    ) -> Result<Arc<Placed<[usize; 2]>>> {
        let mut key = Vec::new();
        put_places(&mut key, basis);
        for exponents in mix {
            put(&mut key, exponents.iter().map(|&e| u64::from(e)));
        }
        kept(&self.mixings, key, || {
            Placed::new(driver, |tables| {
                let mut constants = Vec::new();
                for &i in basis {
                    let t = params.rns().transform(i);
                    let values = mix.each_ref().map(|exponents| t.row_values(exponents));
                    for row in 0..ROWS {
                        let row = values.each_ref().map(|values| values[row]);
                        constants.extend(
                            row.iter()
                                .flat_map(|&c| driver.arithmetic.factor(t.modulus(), c)),
                        );
                    }
                }
                [
                    tables.places(basis.iter().copied()),
                    tables.words(constants),
                ]
            })
        })
    }

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

/// Positions, in words, of the constants of passes of one kind.
pub(crate) struct PassConstants {
    /// `struct Addend` each
    pub(crate) addends: usize,
    /// constants of the addends, per source prime and row
    pub(crate) by_row: usize,
    /// those of the first addend over R, as factors
    pub(crate) first: usize,
    /// "2" of MixColumns, per extended prime and row
    pub(crate) two: usize,
    /// P_l per source prime
    pub(crate) special: usize,
}

impl SwitchEntry {
    /// The constants of a pass and of its first `addends` addends.
    pub(crate) fn constants(
        &self,
        driver: &Arc<Driver>,
        pass: &Pass<'_>,
        post: Post<'_>,
        addends: &[Addend<'_>],
    ) -> Result<Arc<Placed<PassConstants>>> {
        let mut key = Vec::new();
        match post {
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
        let made = Placed::new(driver, |tables| {
            pass_constants(driver.arithmetic, pass, (post, addends), tables)
        })?;
        if all.len() == KEPT {
            all.remove(0);
        }
        all.push((key, made.clone()));
        Ok(made)
    }
}

fn packed(addend: &Addend<'_>) -> [u64; 2] {
    let [row, col, lanes] = map(addend.map);
    let second = u32::from(addend.second);
    [[row, col], [lanes, second]].map(|[a, b]| u64::from(a) | u64::from(b) << 32)
}

fn pass_constants(
    arithmetic: Arithmetic,
    pass: &Pass<'_>,
    (post, addends): (Post<'_>, &[Addend<'_>]),
    tables: &mut Tables,
) -> PassConstants {
    let (params, plan) = (pass.params, pass.plan);
    let rows = || {
        let rows = addends.iter().flat_map(|a| a.by_row.iter().zip(&plan.from));
        rows.map(|(row, &i)| (params.rns().modulus(i), row))
    };
    let by_row = rows().flat_map(|(m, row)| {
        let row = row.iter().map(|&w| arithmetic.number(m, w));
        padded(row.collect::<Vec<u64>>(), ROWS, 0)
    });
    let first = rows().take(plan.from.len()).flat_map(|(m, row)| {
        let factors = row.iter();
        let factors = factors.flat_map(|&w| arithmetic.factor(m, m.from_stored(w)));
        padded(factors.collect::<Vec<u64>>(), 2 * ROWS, 0)
    });
    let mut two = Vec::new();
    if let Post::MixKeys(exponents, _) = post {
        for &i in &plan.extended {
            let t = params.rns().transform(i);
            let values = t.row_values(exponents).into_iter();
            let values = values.chain(core::iter::repeat(0)).take(ROWS);
            two.extend(values.flat_map(|v| arithmetic.factor(t.modulus(), v)));
        }
    }
    let special = plan.from.iter().flat_map(|&i| {
        let p = params.special_product(plan.special(), i);
        arithmetic.factor(params.rns().modulus(i), p)
    });
    PassConstants {
        addends: tables.words(addends.iter().flat_map(packed)),
        by_row: tables.words(by_row),
        first: tables.words(first),
        two: tables.words(two),
        special: tables.words(special),
    }
}

/// Positions of the tables of a conversion, in words, and its sizes.
#[derive(Clone)]
pub(crate) struct Convert {
    pub(crate) source_prime: usize,
    pub(crate) target_prime: usize,
    /// factor of coefficients, per limb
    pub(crate) scale: usize,
    /// `struct Digit` each
    pub(crate) digits: usize,
    /// `struct Target` per digit and target
    pub(crate) table: usize,
    pub(crate) targets: usize,
    pub(crate) limbs: usize,
    /// sources and targets of each digit
    pub(crate) sizes: Vec<[usize; 2]>,
}

/// A digit: positions of its limbs, its conversion, and per target the conversion's number for it, if any.
struct ConvertDigit<'a> {
    places: Vec<usize>,
    conversion: &'a Conversion,
    targets: Vec<Option<usize>>,
}

impl Convert {
    /// The same with another table of factors of coefficients.
    pub(crate) fn with_scale(&self, scale: Option<usize>) -> Self {
        let scale = scale.unwrap_or(self.scale);
        Self {
            scale,
            ..self.clone()
        }
    }

    fn new(
        arithmetic: Arithmetic,
        params: &Params,
        [sources, targets]: [&[usize]; 2],
        scale: Vec<[u64; 2]>,
        digits: &[ConvertDigit<'_>],
        tables: &mut Tables,
    ) -> Self {
        let moduli = targets.iter().map(|&i| params.rns().modulus(i));
        let moduli: Vec<&Modulus> = moduli.collect();
        let mut sizes = Vec::new();
        let mut heads = Vec::new();
        let mut table = Vec::new();
        for digit in digits {
            let own = |(at, target): (usize, &Option<usize>)| target.map(|_| at);
            let held: Vec<usize> = digit.targets.iter().enumerate().filter_map(own).collect();
            let count = digit.places.len();
            assert!(
                count < SOURCES && held.len() <= TARGETS,
                "a conversion that is too large"
            );
            sizes.push([count, held.len()]);
            let places = padded(digit.places.iter().copied(), SOURCES, 0);
            let held_places = padded(held.iter().copied(), TARGETS + 1, 0);
            let ints: Vec<usize> = core::iter::once(count)
                .chain(places)
                .chain([held.len()])
                .chain(held_places)
                .collect();
            let pair = |pair: &[usize]| pair[0] as u64 | (pair[1] as u64) << 32;
            heads.extend(ints.chunks(2).map(pair));
            let inverses = digit.conversion.inverses().iter().map(|x| TWO_47 * x);
            heads.extend(padded(inverses.map(f64::to_bits), SOURCES, 0));
            for (target, m) in digit.targets.iter().zip(&moduli) {
                let target = target.map(|j| (digit.conversion, j));
                table.extend(arithmetic.target(target, m));
            }
        }
        Self {
            source_prime: tables.places(sources.iter().copied()),
            target_prime: tables.places(targets.iter().copied()),
            scale: tables.words(scale.into_iter().flatten()),
            digits: tables.words(heads),
            table: tables.words(table),
            targets: targets.len(),
            limbs: sources.len(),
            sizes,
        }
    }
}

const TWO_47: f64 = (1u64 << 47) as f64;

fn padded<T: Copy>(
    some: impl IntoIterator<Item = T>,
    count: usize,
    zero: T,
) -> impl Iterator<Item = T> {
    some.into_iter().chain(core::iter::repeat(zero)).take(count)
}

pub(crate) struct ModSwitchTables {
    /// of the dropped limbs
    pub(crate) places: usize,
    pub(crate) convert: Convert,
    pub(crate) kept: usize,
    pub(crate) factor: usize,
}

fn lowering_tables(
    arithmetic: Arithmetic,
    params: &Params,
    plan: &ModSwitch,
    tables: &mut Tables,
) -> ModSwitchTables {
    let rns = params.rns();
    let (dropped, to) = (plan.dropped(), plan.to());
    let conversion = plan.conversion();
    let scales = conversion.scales().iter().zip(plan.dropped_primes());
    let scales = scales.map(|(c, &i)| arithmetic.factor(rns.modulus(i), c.w));
    let kept = (0..to.len()).map(|j| plan.source(j).map_or(-1, |at| at as i32));
    let kept: Vec<i32> = kept.collect();
    let factors = (0..to.len()).map(|j| {
        let m = rns.modulus(to[j]);
        plan.factor(j).map_or([0; 2], |c| arithmetic.factor(m, c.w))
    });
    let factors: Vec<u64> = factors.flatten().collect();
    let digit = ConvertDigit {
        places: (0..dropped.len()).collect(),
        conversion,
        targets: (0..to.len()).map(Some).collect(),
    };
    let primes = [plan.dropped_primes(), to];
    ModSwitchTables {
        places: tables.places(dropped.iter().copied()),
        convert: Convert::new(
            arithmetic,
            params,
            primes,
            scales.collect(),
            &[digit],
            tables,
        ),
        kept: tables.ints(kept),
        factor: tables.words(factors),
    }
}

pub(crate) struct SwitchTables {
    /// for elements that `scale` multiplied
    pub(crate) convert: Convert,
    /// factors of coefficients for elements not yet multiplied by `scale`
    pub(crate) unscaled: usize,
    /// whether the digit owns the prime, by digit and extended prime
    pub(crate) own: usize,
    /// the digit that owns an extended prime, or -1
    pub(crate) owner: usize,
    /// (P/P_l)⁻¹ per source prime, and 1
    pub(crate) scale: usize,
    pub(crate) unit: usize,
    /// (P/P_l)⁻¹ without the factor R of a product
    pub(crate) unstored_scale: usize,
    /// positions 0, 1, …
    pub(crate) order: usize,
    /// position of an extended prime among the dropped ones, or -1
    pub(crate) dropped: usize,
    pub(crate) down: ModSwitchTables,
}

fn switch_tables(
    arithmetic: Arithmetic,
    params: &Params,
    plan: &SwitchPlan,
    tables: &mut Tables,
) -> SwitchTables {
    let rns = params.rns();
    let (from, extended) = (&plan.from, &plan.extended);
    assert!(
        rns.count() <= MOST_PRIMES,
        "more primes than the kernels have room for"
    );
    let digits = || plan.digits.iter();
    let own = digits().flat_map(|d| (0..extended.len()).map(|at| usize::from(d.owns(at))));
    let own: Vec<usize> = own.collect();
    let owner = (0..extended.len()).map(|at| {
        let owner = digits().position(|d| d.owns(at));
        owner.map_or(-1, |d| d as i32)
    });
    let owner: Vec<i32> = owner.collect();
    let dropped = (0..extended.len()).map(|at| {
        let place = plan.down.dropped().iter().position(|&d| d == at);
        place.map_or(-1, |place| place as i32)
    });
    let dropped: Vec<i32> = dropped.collect();
    let mut words = vec![0; from.len()];
    for d in digits() {
        for (&at, c) in d.own.iter().zip(d.conversion().scales()) {
            words[at] = c.w;
        }
    }
    let source = |at: usize| (rns.modulus(from[at]), words[at], plan.scale[at].w);
    let by_source = |of: &dyn Fn(&Modulus, u64, u64) -> u64| -> Vec<[u64; 2]> {
        let places = 0..from.len();
        let factors = places.map(|at| {
            let (m, words, scale) = source(at);
            arithmetic.factor(m, of(m, words, scale))
        });
        factors.collect()
    };
    let each: Vec<ConvertDigit<'_>> = digits()
        .map(|d| ConvertDigit {
            places: d.own.clone(),
            conversion: d.conversion(),
            targets: (0..extended.len()).map(|at| d.target(at)).collect(),
        })
        .collect();
    let scale = by_source(&|_, words, _| words);
    let factors = |tables: &mut Tables, of: &dyn Fn(&Modulus, u64, u64) -> u64| {
        tables.words(by_source(of).into_iter().flatten())
    };
    SwitchTables {
        convert: Convert::new(arithmetic, params, [from, extended], scale, &each, tables),
        unscaled: factors(tables, &|m, words, scale| m.mul(words, scale)),
        own: tables.places(own),
        owner: tables.ints(owner),
        scale: factors(tables, &|_, _, scale| scale),
        unit: factors(tables, &|_, _, _| 1),
        unstored_scale: factors(tables, &|m, _, scale| m.from_stored(scale)),
        order: tables.places(0..from.len()),
        dropped: tables.ints(dropped),
        down: lowering_tables(arithmetic, params, &plan.down, tables),
    }
}
