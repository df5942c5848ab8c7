//! Bootstrapping of bits: key switch, blind rotation, trace, scheme switch, look-up.
//!
//! In comments N and k belong to the GLWE ring, n to the LWE key, and a blind rotation has v = 2^log2_values values. In
//! code `n` is the degree N.

use crate::bits::table::OUTPUTS;
use crate::bootstrap::{Bootstrap, Memory};
use crate::ciphertext::{Big, Glwe, Lwe, Polynomial, Small};
use crate::meter::Stage;
use crate::parts::Spectra;
use crate::rotation::{Exponents, Rotation, step_log};
use crate::rows::unit;
use crate::set::BitsSet;
use crate::switching::centre;
use homaes_math::fourier::GROUP;
use homaes_math::{Fourier, Reals, Words};
use homaes_scheme::Cancel;

/// Most bytes whose bits are rotated together: accumulators of 32 bits (768 KiB) and the keys of two steps (720 KiB)
/// fit a second-level cache of 2 MiB.
pub(crate) const BYTES_PER_TASK: usize = 4;

/// Bytes per task if the threads of the pool share `bytes`.
pub(crate) fn bytes_per_task(bytes: usize) -> usize {
    let share = bytes.div_ceil(rayon::current_num_threads());
    share.clamp(1, BYTES_PER_TASK)
}

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct Engine<'k> {
    pub(crate) set: &'k BitsSet,
    /// after cancellation, look-ups return garbage immediately
    pub(crate) base: Bootstrap<'k>,
}

/// The bits of a byte, lowest first.
pub(crate) type LweByte = [Lwe<Big>; 8];

pub(crate) struct Ggsw {
    /// (k + 1) · levels rows, k + 1 columns
    spectra: Reals,
}

impl<'k> Engine<'k> {
    pub(crate) fn new(
        set: &'k BitsSet,
        fouriers: [&'k Fourier; 2],
        key: &'k Spectra,
        cancel: &Cancel,
    ) -> Self {
        let base = Bootstrap::new(set.into(), fouriers, key, cancel);
        Self { set, base }
    }

    fn zero_ggsw(&self) -> Ggsw {
        let (columns, levels) = (self.columns(), self.set.ggsw.levels);
        Ggsw {
            spectra: Reals::zeroed(columns * levels * columns * self.set.degree),
        }
    }

    fn columns(&self) -> usize {
        self.set.rank + 1
    }

    /// X^-phase · test for each ciphertext, with phases rounded to multiples of 2^grid steps of 1/(2N). Ciphertext i
    /// takes test polynomial i modulo their number.
    fn blind_rotate(&self, lwes: &[Lwe<Small>], tests: &[Vec<u64>], grid: u32) -> Vec<Glwe> {
        let set = self.set;
        let per_one = set.lwe_key.bits_per_one(set.unroll);
        let exponents = lwes
            .iter()
            .map(|lwe| Exponents::new(lwe, per_one, set.degree, grid));
        let exponents: Vec<Exponents> = exponents.collect();
        let pairs = exponents.iter().zip(tests.iter().cycle());
        let rotations = pairs.map(|(exponents, test)| Rotation {
            exponents,
            test: Polynomial::Public(test),
        });
        self.base.blind_rotate(&rotations.collect::<Vec<_>>())
    }

    /// Blind rotations of bits; coefficient j holds bit · g_j for unit g_j of the GGSW gadget.
    fn rotate_for_ggsw(&self, bits: &[&Lwe<Big>]) -> Vec<Glwe> {
        let set = self.set;
        let mut small = self.base.key_switch(bits);
        // ±g/2 by the sign of the phase, plus g/2
        let values = 1 << set.log2_values;
        let mut test = vec![0; set.degree];
        let units: Vec<u64> = (0..set.ggsw.levels).map(|l| unit(set.ggsw, l)).collect();
        for slots in test.chunks_exact_mut(values) {
            for (x, g) in slots.iter_mut().zip(&units) {
                *x = (g / 2).wrapping_neg();
            }
        }
        turn_by_a_quarter(set, &mut small, set.log2_values);
        let mut out = self.blind_rotate(&small, &[test], set.log2_values);
        for acc in &mut out {
            let (_, body) = acc.split_mut();
            for (x, g) in body.iter_mut().zip(&units) {
                *x = x.wrapping_add(g / 2);
            }
        }
        out
    }

    /// Refreshes bits to the noise of one blind rotation. A bit 1 of input i becomes `units[i mod len]`; AES takes
    /// 2^63.
    pub(crate) fn refresh(&self, bits: &[&Lwe<Big>], units: &[u64]) -> Vec<Lwe<Big>> {
        let set = self.set;
        let mut small = self.base.key_switch(bits);
        let test = |unit: &u64| vec![(unit / 2).wrapping_neg(); set.degree];
        let tests: Vec<Vec<u64>> = units.iter().map(test).collect();
        turn_by_a_quarter(set, &mut small, 0);
        let rotated = self.blind_rotate(&small, &tests, 0);
        let pairs = rotated.iter().zip(units.iter().cycle());
        let each = pairs.map(|(acc, unit)| {
            let mut out = acc.extract(0);
            out.add_constant(unit / 2);
            out
        });
        each.collect()
    }

    /// The packed trace: turns coefficients 0 … v - 1 of a ciphertext into v ciphertexts of constants.
    ///
    /// It merges the values into one ciphertext at multiples of N/v, cancels the other coefficients once for all
    /// values, and splits. Each of the log2(v N) steps x ± ψ(x) on the way doubles a value, so the input is divided by
    /// v N first.
    fn trace(&self, acc: &Glwe, work: &mut Work) -> Vec<Glwe> {
        let (log_values, n) = (self.set.log2_values, self.set.degree);
        let log = n.trailing_zeros();
        let mut slots: Vec<Glwe> = (0..1 << log_values)
            .map(|j| {
                let mut slot = self.base.scratch();
                acc.rotate(2 * n - j, &mut slot);
                slot.divide(log + log_values);
                slot
            })
            .collect();
        for t in 1..=log_values {
            for pair in slots.chunks_exact_mut(2) {
                let (x, y) = pair.split_at_mut(1);
                self.base.merge(t, &mut x[0], &y[0], work.memory());
            }
            slots = slots.into_iter().step_by(2).collect();
        }
        for t in log_values + 1..=log {
            self.base.fold(t, &mut slots[0], work.memory());
        }
        for t in (1..=log_values).rev() {
            let each = slots.into_iter();
            let split = each.flat_map(|slot| self.base.split(t, slot, work.memory()));
            slots = split.collect();
        }
        slots
    }

    /// The GGSW ciphertext of a bit from its blind rotation.
    ///
    /// Body rows are the traced ciphertexts; mask rows are their external products with GGSW ciphertexts of -s_i. The
    /// products stay spectra: they are used only as such, and the loss of precision is far below the digits' noise.
    fn ggsw(&self, acc: &Glwe, out: &mut Ggsw, work: &mut Work) {
        let (set, n, columns) = (self.set, self.set.degree, self.columns());
        let levels = set.ggsw.levels;
        let traced = self.base.meter.time(Stage::Trace, || self.trace(acc, work));
        self.base.meter.time(Stage::SchemeSwitch, || {
            let out = &mut out.spectra;
            out.fill(0.0);
            let count = columns * levels * columns;
            let digits = set.scheme_switch.digits();
            let rows = &mut work.rows[..columns * digits.levels * n];
            for (level, row) in traced.iter().take(levels).enumerate() {
                for (i, poly) in row.polynomials().enumerate() {
                    let body_row = (set.rank * levels + level) * columns;
                    self.base.fourier.forward(poly, out, body_row + i);
                    let place = i * digits.levels;
                    self.base.fourier.forward_digits(digits, poly, rows, place);
                }
                let sums = &mut work.sums[..set.rank * columns * n];
                sums.fill(0.0);
                let all = set.rank * columns;
                self.base
                    .fourier
                    .multiply_add(rows, &self.base.key.scheme_switch, all, sums);
                for i in 0..set.rank {
                    let row = (i * levels + level) * columns;
                    copy(sums, (i * columns, all), out, (row, count), columns);
                }
            }
            self.base
                .meter
                .transforms(levels * columns * (1 + digits.levels));
        });
    }

    /// CMux: adds bit · (b - a) to a. If b is public, a must be public too, without mask or noise.
    fn select(&self, bit: &Ggsw, a: &mut Glwe, b: Polynomial<'_>, work: &mut Work) {
        let (set, n, columns) = (self.set, self.set.degree, self.columns());
        let levels = set.ggsw.levels;
        // public polynomials have digits of the body alone, which meet the last rows of the matrix
        let b = b.words();
        let own = &a.words()[a.words().len() - b.len()..];
        let difference = &mut work.difference[..b.len()];
        for ((x, b), a) in difference.iter_mut().zip(b).zip(own) {
            *x = b.wrapping_sub(*a);
        }
        let (masks, body) = difference.split_at_mut(b.len() - n);
        centre(set.ggsw, n, masks, body);
        let polys = b.len() / n;
        let rows = &mut work.rows[..polys * levels * n];
        for (i, poly) in difference.chunks_exact(n).enumerate() {
            let place = i * levels;
            self.base
                .fourier
                .forward_digits(set.ggsw.digits(), poly, rows, place);
        }
        let sums = &mut work.sums[..columns * n];
        sums.fill(0.0);
        self.base
            .fourier
            .multiply_add(rows, &bit.spectra, columns, sums);
        for (c, poly) in a.polynomials_mut().enumerate() {
            self.base.fourier.inverse_add(sums, c, poly);
        }
        self.base.meter.transforms(polys * levels + columns);
    }

    /// Descends by one bit, 7 first: high bits select among the table's polynomials, low bits rotate the entry to the
    /// front.
    fn descend(&self, tree: &mut Tree<'_>, i: usize, bit: &Ggsw, work: &mut Work) {
        let (rank, n) = (self.set.rank, self.set.degree);
        let entries = (n / OUTPUTS).trailing_zeros() as usize;
        let nodes = &mut tree.nodes;
        if i < entries {
            if nodes.is_empty() {
                nodes.push(Glwe::trivial(rank, tree.table));
            }
            let mut turned = self.base.scratch();
            nodes[0].rotate(2 * n - (OUTPUTS << i), &mut turned);
            self.select(bit, &mut nodes[0], Polynomial::Encrypted(&turned), work);
        } else if nodes.is_empty() {
            let (low, high) = tree.table.split_at(tree.table.len() / 2);
            for (low, high) in low.chunks_exact(n).zip(high.chunks_exact(n)) {
                let mut node = Glwe::trivial(rank, low);
                self.select(bit, &mut node, Polynomial::Public(high), work);
                nodes.push(node);
            }
        } else {
            let high = nodes.split_off(nodes.len() / 2);
            for (low, high) in nodes.iter_mut().zip(&high) {
                self.select(bit, low, Polynomial::Encrypted(high), work);
            }
        }
    }

    /// Looks up byte i in `tables[i]`. Coefficients 0 … 31 of a result are the bits of the entry.
    pub(crate) fn look_up(&self, bytes: &[&LweByte], tables: &[&[u64]]) -> Vec<Glwe> {
        if self.base.cancel.is_cancelled() {
            return tables.iter().map(|_| self.base.zero()).collect();
        }
        let bits: Vec<&Lwe<Big>> = bytes.iter().copied().flatten().collect();
        let rotated = self.rotate_for_ggsw(&bits);
        let mut work = Work::new(self);
        let mut ggsw = self.zero_ggsw();
        let each = rotated.chunks_exact(8).zip(tables);
        each.map(|(bits, table)| {
            let mut tree = Tree::new(table);
            for (i, acc) in bits.iter().enumerate().rev() {
                self.ggsw(acc, &mut ggsw, &mut work);
                self.base.meter.time(Stage::LookUp, || {
                    self.descend(&mut tree, i, &ggsw, &mut work);
                });
            }
            tree.nodes.swap_remove(0)
        })
        .collect()
    }

    /// GGSW ciphertexts of bits that serve many look-ups.
    pub(crate) fn circuit_bootstrap(&self, bits: &[&Lwe<Big>]) -> Vec<Ggsw> {
        if self.base.cancel.is_cancelled() {
            return bits.iter().map(|_| self.zero_ggsw()).collect();
        }
        let mut work = Work::new(self);
        let rotated = self.rotate_for_ggsw(bits);
        let each = rotated.iter().map(|acc| {
            let mut ggsw = self.zero_ggsw();
            self.ggsw(acc, &mut ggsw, &mut work);
            ggsw
        });
        each.collect()
    }

    /// [`look_up`](Self::look_up) of a byte of GGSW bits.
    pub(crate) fn look_up_ggsw(&self, bits: &[Ggsw], table: &[u64]) -> Glwe {
        if self.base.cancel.is_cancelled() {
            return self.base.zero();
        }
        let mut work = Work::new(self);
        let mut tree = Tree::new(table);
        self.base.meter.time(Stage::LookUp, || {
            for (i, bit) in bits.iter().enumerate().rev() {
                self.descend(&mut tree, i, bit, &mut work);
            }
        });
        tree.nodes.swap_remove(0)
    }
}

struct Tree<'t> {
    /// concatenated public polynomials
    table: &'t [u64],
    /// remaining candidates; empty before the first bit
    nodes: Vec<Glwe>,
}

impl<'t> Tree<'t> {
    fn new(table: &'t [u64]) -> Self {
        Self {
            table,
            nodes: Vec::new(),
        }
    }
}

struct Work {
    /// spectra of digits
    rows: Reals,
    /// spectra of results
    sums: Reals,
    /// words of a GLWE ciphertext, or of a public polynomial
    difference: Words,
}

impl Work {
    fn new(engine: &Engine<'_>) -> Self {
        let (set, columns) = (engine.set, engine.columns());
        let levels = set
            .ggsw
            .levels
            .max(set.scheme_switch.levels)
            .max(set.trace.levels);
        Self {
            rows: Reals::zeroed(columns * levels * set.degree),
            sums: Reals::zeroed(set.rank * columns * set.degree),
            difference: Words::zeroed(columns * set.degree),
        }
    }

    fn memory(&mut self) -> Memory<'_> {
        [&mut self.rows, &mut self.sums]
    }
}

/// Adds 1/4, so that the sign of the phase tells the bit, and subtracts half a step of 2^grid: rounding to the nearest
/// step moves every boundary down by that much.
fn turn_by_a_quarter(set: &BitsSet, lwes: &mut [Lwe<Small>], grid: u32) {
    let half_step = 1 << (step_log(set.degree) + grid - 1);
    for lwe in lwes {
        lwe.add_constant((1 << 62) - half_step);
    }
}

/// Copies `count` spectra between arrays that interleave `sources` and `targets` of them.
fn copy(
    source: &[f64],
    (from, sources): (usize, usize),
    target: &mut [f64],
    (to, targets): (usize, usize),
    count: usize,
) {
    let groups = source.chunks_exact(sources * GROUP);
    for (source, target) in groups.zip(target.chunks_exact_mut(targets * GROUP)) {
        let source = &source[from * GROUP..][..count * GROUP];
        target[to * GROUP..][..count * GROUP].copy_from_slice(source);
    }
}

#[cfg(test)]
mod tests;
