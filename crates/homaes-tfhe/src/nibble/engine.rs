//! Tree-based bootstrapping of digits: key switch, blind rotation, packing.
//!
//! In comments N belongs to the GLWE ring and n to the LWE key, a digit has v values, and u encodes digit 1 on the
//! torus. In code `n` is the degree N.
//!
//! # Packing
//!
//! A node of the tree turns the rotation by a digit x into an encrypted test polynomial whose block y is u f(x, y). The
//! original packs f(x, 0) … f(x, v - 1), extracted as LWE ciphertexts, by the functional key switch (CGGI20; Guimarães,
//! Borin, Aranha 2021): N · t rows of keys, for each table anew. Here packing comes before combining. The values of all
//! tables are combinations Σ_j c_j e_j of v - 1 coefficients of one rotation ([`crate::nibble::table`]); the trace of
//! ring packing (Chen, Dai, Kim, Song 2021) turns these into constant ciphertexts E_j, and
//!
//! ```text
//! Σ_y X^(y N/v) (1 + X + … + X^(N/v - 1)) Σ_j c_{y,j} E_j  =  Σ_j E_j · (public polynomial)
//! ```
//!
//! costs v - 1 products of transforms per table. The trace takes log2 (N/v) + v - 1 automorphisms, 22 for v = 16 and
//! N = 2048: less than 5 % of a blind rotation, under log2 N keys in place of N · t.

use crate::bootstrap::{Bootstrap, Memory};
use crate::ciphertext::{Big, Glwe, Lwe, Polynomial};
use crate::meter::Stage;
use crate::nibble::table::{Table, Values, differences, ends, unit_log};
use crate::parts::Spectra;
use crate::rotation::{Exponents, Rotation, step_log};
use crate::set::NibbleSet;
use homaes_math::{Fourier, Reals};
use homaes_scheme::Cancel;
use rayon::prelude::*;

const RANK: usize = 1;

/// Accumulators per pass over the key.
const BATCH: usize = 32;

/// Most first digits per task: their rotations share a pass over the key, and each leads to several more.
const DIGITS_PER_TASK: usize = 16;

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct Engine<'k> {
    pub(crate) set: &'k NibbleSet,
    pub(crate) base: Bootstrap<'k>,
}

/// Evaluates every table at the first digit paired with every second digit.
pub(crate) struct Group<'a> {
    pub(crate) first: &'a Lwe<Big>,
    pub(crate) seconds: Vec<&'a Lwe<Big>>,
    pub(crate) tables: &'a [Table],
}

impl<'a> Group<'a> {
    /// All tables at one pair of digits.
    pub(crate) fn pair(first: &'a Lwe<Big>, second: &'a Lwe<Big>, tables: &'a [Table]) -> Self {
        Self {
            first,
            seconds: vec![second],
            tables,
        }
    }
}

impl<'k> Engine<'k> {
    pub(crate) fn new(
        set: &'k NibbleSet,
        fouriers: [&'k Fourier; 2],
        key: &'k Spectra,
        cancel: &Cancel,
    ) -> Self {
        let base = Bootstrap::new(set.into(), fouriers, key, cancel);
        Self { set, base }
    }

    /// A table for each of `functions`.
    pub(crate) fn tables(&self, functions: &[Vec<Values>]) -> Vec<Table> {
        let each = functions.iter();
        each.map(|f| Table::new(self.set, self.base.fourier, f))
            .collect()
    }

    /// v.
    fn values(&self) -> usize {
        1 << self.set.digit_bits
    }

    /// u.
    pub(crate) fn unit(&self) -> u64 {
        1 << unit_log(self.set)
    }

    /// Phases of digits as exponents of X, moved by half a digit, so that noise of either sign stays in a digit's
    /// block, and by half a step, because exponents are rounded.
    pub(crate) fn rotation_exponents(&self, digits: &[&Lwe<Big>]) -> Vec<Exponents> {
        let mut small = match self.base.cancel.is_cancelled() {
            false => self.base.key_switch(digits),
            true => vec![Lwe::zeroed(self.set.lwe_dimension); digits.len()],
        };
        let each = small.iter_mut().map(|lwe| {
            let half_step = 1 << (step_log(self.set.degree) - 1);
            lwe.add_constant(self.unit() / 2 - half_step);
            Exponents::new(lwe, 2, self.set.degree, 0)
        });
        each.collect()
    }

    /// Multi-value bootstraps: coefficient j N/v of a result is e_j of [`crate::nibble::table`], for j ≥ 1.
    pub(crate) fn multi_value(&self, exponents: &[Exponents]) -> Vec<Glwe> {
        let test = vec![self.unit() / 2; self.set.degree];
        let test = Polynomial::Public(&test);
        let each = exponents.iter();
        let rotations = each.map(|exponents| Rotation { exponents, test });
        self.rotated(&rotations.collect::<Vec<_>>())
    }

    /// A function of the digit of a multi-value bootstrap: Σ_j c_j e_j plus a constant. Noise: that of the rotation
    /// times √[`norm`](crate::nibble::table::norm).
    pub(crate) fn function(&self, rotated: &Glwe, f: &[u8]) -> Lwe<Big> {
        let n = self.set.degree;
        let mut sum = Lwe::zeroed(n);
        let mut term = Lwe::zeroed(n);
        for (d, j) in differences(f).zip(1..) {
            rotated.extract_to(j * n / self.values(), &mut term);
            sum.add_multiple(d as u64, &term);
        }
        sum.add_constant(ends(f) * (self.unit() / 2));
        sum
    }

    /// Test polynomials for a second digit, one per table, from a multi-value bootstrap.
    pub(crate) fn test_polynomials(
        &self,
        rotated: &Glwe,
        tables: &[Table],
        work: &mut Work,
    ) -> Vec<Glwe> {
        let rows = self.values() - 1;
        self.base.meter.time(Stage::Trace, || {
            let constants = self.constants(rotated, work);
            for (j, constant) in constants.iter().enumerate().skip(1) {
                for (c, poly) in constant.polynomials().enumerate() {
                    let place = 2 * (j - 1) + c;
                    self.base.fourier.forward(poly, &mut work.constants, place);
                }
            }
            self.base.meter.transforms(2 * rows);
        });
        let each = tables.iter().map(|table| {
            if self.base.cancel.is_cancelled() {
                return self.base.zero();
            }
            self.base.meter.time(Stage::LookUp, || {
                let sums = &mut work.sums;
                sums.fill(0.0);
                self.base
                    .fourier
                    .multiply_add(&table.spectra, &work.constants, 2, sums);
                let mut out = Glwe::trivial(RANK, &table.constants);
                for (c, poly) in out.polynomials_mut().enumerate() {
                    self.base.fourier.inverse_add(sums, c, poly);
                }
                self.base.meter.transforms(2);
                out
            })
        });
        each.collect()
    }

    /// E_0 … E_(v-1): coefficients j N/v of a ciphertext as constants.
    ///
    /// Each of log2 N steps x ± ψ(x) doubles the ciphertext, so it is divided by N first. The trace cancels all other
    /// coefficients; the last steps separate these by the bits of j, highest first.
    fn constants(&self, rotated: &Glwe, work: &mut Work) -> Vec<Glwe> {
        let (n, bits) = (self.set.degree, self.set.digit_bits);
        let log = n.trailing_zeros();
        let mut all = rotated.clone();
        all.divide(log);
        for t in bits + 1..=log {
            self.base.fold(t, &mut all, work.memory());
        }
        let mut parts = vec![all];
        for t in (1..=bits).rev() {
            let each = parts.into_iter();
            let split = each.map(|part| self.base.split(t, part, work.memory()));
            // index of j: its bits so far, the newest on top
            let (mut even, odd): (Vec<Glwe>, Vec<Glwe>) = split.map(Into::into).unzip();
            even.extend(odd);
            parts = even;
        }
        parts
    }

    fn rotated(&self, rotations: &[Rotation<'_>]) -> Vec<Glwe> {
        let passes = rotations.chunks(BATCH);
        passes
            .flat_map(|rotations| self.base.blind_rotate(rotations))
            .collect()
    }

    /// Leaves of trees: the block of the test polynomial at the second digit.
    pub(crate) fn choose(&self, rotations: &[Rotation<'_>]) -> Vec<Lwe<Big>> {
        let rotated = self.rotated(rotations);
        rotated.iter().map(|acc| acc.extract(0)).collect()
    }

    /// f(x, y) for all groups: for every second digit y of a group, all its tables f. Results in that order.
    ///
    /// Costs 1 + (second digits) · (tables) rotations per group.
    pub(crate) fn combine(&self, groups: &[Group<'_>]) -> Vec<Lwe<Big>> {
        let tasks = groups.par_chunks(self.share(groups.len()));
        let found = tasks.flat_map_iter(|groups| {
            let mut work = Work::new(self);
            let firsts: Vec<&Lwe<Big>> = groups.iter().map(|group| group.first).collect();
            let rotated = self.multi_value(&self.rotation_exponents(&firsts));
            let tests: Vec<Vec<Glwe>> = groups
                .iter()
                .zip(&rotated)
                .map(|(group, acc)| self.test_polynomials(acc, group.tables, &mut work))
                .collect();
            let seconds: Vec<Vec<Exponents>> = groups
                .iter()
                .map(|group| self.rotation_exponents(&group.seconds))
                .collect();
            let rotations: Vec<Rotation<'_>> = seconds
                .iter()
                .zip(&tests)
                .flat_map(|(seconds, tests)| seconds.iter().flat_map(|y| y.rotations(tests)))
                .collect();
            self.choose(&rotations)
        });
        found.collect()
    }

    /// Test polynomials of `table` for each of `firsts`.
    pub(crate) fn all_test_polynomials(&self, firsts: &[&Lwe<Big>], table: &[Table]) -> Vec<Glwe> {
        let tasks = firsts.par_chunks(self.share(firsts.len()));
        let found = tasks.flat_map_iter(|firsts| {
            let mut work = Work::new(self);
            let rotated = self.multi_value(&self.rotation_exponents(firsts));
            let each = rotated
                .iter()
                .flat_map(|acc| self.test_polynomials(acc, table, &mut work));
            each.collect::<Vec<_>>()
        });
        found.collect()
    }

    /// For each digit, the block of its test polynomial: one rotation each.
    pub(crate) fn apply(&self, pairs: &[(&Lwe<Big>, Polynomial<'_>)]) -> Vec<Lwe<Big>> {
        let tasks = pairs.par_chunks(self.share(pairs.len()));
        let found = tasks.flat_map_iter(|pairs| {
            let digits: Vec<&Lwe<Big>> = pairs.iter().map(|&(digit, _)| digit).collect();
            let exponents = self.rotation_exponents(&digits);
            let each = exponents.iter().zip(pairs);
            let rotations = each.map(|(exponents, &(_, test))| Rotation { exponents, test });
            self.choose(&rotations.collect::<Vec<_>>())
        });
        found.collect()
    }

    /// Items per task out of `count`, so that all threads do about the same work.
    pub(crate) fn share(&self, count: usize) -> usize {
        let threads = rayon::current_num_threads();
        let waves = count.div_ceil(threads * DIGITS_PER_TASK).max(1);
        count.div_ceil(threads * waves).max(1)
    }
}

pub(crate) struct Work {
    rows: Reals,
    sums: Reals,
    /// spectra of E_1 … E_(v-1)
    constants: Reals,
}

impl Work {
    pub(crate) fn new(engine: &Engine<'_>) -> Self {
        let n = engine.set.degree;
        Self {
            rows: Reals::zeroed(engine.set.packing.levels * n),
            sums: Reals::zeroed(2 * n),
            constants: Reals::zeroed(2 * (engine.values() - 1) * n),
        }
    }

    fn memory(&mut self) -> Memory<'_> {
        [&mut self.rows, &mut self.sums]
    }
}

#[cfg(test)]
pub(crate) mod tests;
