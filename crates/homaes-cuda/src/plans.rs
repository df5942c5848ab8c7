//! Tables of plans, made on first use and kept on the GPU.
//!
//! A plan is identified by the contents of its tables other than the set's primes: positions and primes of its bases,
//! of its digits and of what it drops. So plans that are rebuilt for each operation find their tables.

use crate::Result;
use crate::args::{Tables, map};
use crate::arithmetic::Arithmetic;
use crate::driver::Driver;
use crate::memory::Buffer;
use crate::switch_tables::{ModSwitchTables, SwitchTables, padded};
use homaes_bgv::Params;
use homaes_bgv::device::{Addend, Pass, Post};
use homaes_rns::{ModSwitch, SwitchPlan};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

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

/// Lists that identify a plan or a kind of passes.
type Key = Vec<Vec<u64>>;
type ByContent<T> = Mutex<HashMap<Key, Arc<T>>>;

/// All tables of plans of a parameter set on a GPU: 0.1 MB for a plan of `bgv/aes128`, a few MB in all.
#[derive(Default)]
pub(crate) struct Plans {
    switches: ByContent<SwitchEntry>,
    mod_switches: ByContent<Placed<ModSwitchTables>>,
    bases: ByContent<Placed<usize>>,
}

/// The tables of a key switch, and the constants of its most recent kinds of passes.
pub(crate) struct SwitchEntry {
    pub(crate) tables: Arc<Placed<SwitchTables>>,
    constants: Mutex<Vec<Constants>>,
}

/// Constants of a kind of passes, with what identifies it.
type Constants = (Key, Arc<Placed<PassConstants>>);

/// The entry for `key`, made if missing. Failures are not stored.
fn kept<T>(all: &ByContent<T>, key: Key, make: impl FnOnce() -> Result<Arc<T>>) -> Result<Arc<T>> {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = all.get(&key) {
        return Ok(found.clone());
    }
    let made = make()?;
    all.insert(key, made.clone());
    Ok(made)
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.iter().map(|&b| b.into()).collect()
}

fn places(list: &[usize]) -> Vec<u64> {
    list.iter().map(|&i| i as u64).collect()
}

fn mod_switch_key(plan: &ModSwitch) -> Key {
    let sources = (0..plan.to().len()).map(|j| plan.source(j).map_or(u64::MAX, |at| at as u64));
    let [dropped, primes, to] = [plan.dropped(), plan.dropped_primes(), plan.to()].map(places);
    vec![dropped, primes, to, sources.collect()]
}

fn switch_key(plan: &SwitchPlan) -> Key {
    let mut key = mod_switch_key(&plan.down);
    key.extend([&plan.from, &plan.extended].map(|basis| places(basis)));
    key.push(plan.scale.iter().map(|c| c.w).collect());
    key.extend(plan.digits.iter().map(|digit| places(&digit.own)));
    key
}

impl Plans {
    pub(crate) fn mod_switch(
        &self,
        driver: &Arc<Driver>,
        params: &Params,
        plan: &ModSwitch,
    ) -> Result<Arc<Placed<ModSwitchTables>>> {
        kept(&self.mod_switches, mod_switch_key(plan), || {
            Placed::new(driver, |tables| {
                ModSwitchTables::new(driver.arithmetic, params, plan, tables)
            })
        })
    }

    pub(crate) fn switch(
        &self,
        driver: &Arc<Driver>,
        params: &Params,
        plan: &SwitchPlan,
    ) -> Result<Arc<SwitchEntry>> {
        kept(&self.switches, switch_key(plan), || {
            Ok(Arc::new(SwitchEntry {
                tables: Placed::new(driver, |tables| {
                    SwitchTables::new(driver.arithmetic, params, plan, tables)
                })?,
                constants: Mutex::default(),
            }))
        })
    }

    pub(crate) fn basis(
        &self,
        driver: &Arc<Driver>,
        basis: &[usize],
    ) -> Result<Arc<Placed<usize>>> {
        kept(&self.bases, vec![places(basis)], || {
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
        let mut key = match post {
            Post::None => vec![vec![0]],
            Post::Keys(_) => vec![vec![1]],
            Post::MixKeys(two, _) => vec![vec![2], words(two)],
        };
        for addend in addends {
            key.push(packed(addend).to_vec());
            key.extend(addend.by_row.iter().cloned());
        }
        let all = self.constants.lock();
        let mut all = all.unwrap_or_else(PoisonError::into_inner);
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
