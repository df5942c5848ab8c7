//! Bootstrapping of bits: key switch, blind rotation, trace, scheme switch, look-up.
//!
//! Notation: N, k of the GLWE ring; n of the LWE key; v = 2^log2_values values per blind rotation.

use crate::bits::table::OUTPUTS;
use crate::meter::{Meter, Stage};
use crate::parts::Spectra;
use crate::ring::{add, extract, rotate, sub};
use crate::rotation::{BlindRotation, exponents, step_log};
use crate::rows::unit;
use crate::set::BitsSet;
use crate::switching::{Automorphisms, KeySwitch, centre};
use homaes_math::fourier::GROUP;
use homaes_math::{Fourier, Reals, Words};
use homaes_scheme::Cancel;
use std::sync::Arc;

/// Everything that bootstrapping needs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Engine<'k> {
    pub(crate) set: &'k BitsSet,
    pub(crate) fourier: &'k Fourier,
    small: &'k Fourier,
    key: &'k Spectra,
    automorphisms: Automorphisms<'k>,
    pub(crate) meter: Arc<Meter>,
    /// once thrown, look-ups give nothing of use, and at once
    pub(crate) cancel: Cancel,
}

/// A bit as GGSW ciphertext: spectra of (k + 1) · levels rows, k + 1 columns.
pub(crate) type Ggsw = Reals;

impl<'k> Engine<'k> {
    pub(crate) fn new(
        set: &'k BitsSet,
        [fourier, small]: [&'k Fourier; 2],
        key: &'k Spectra,
    ) -> Self {
        Self {
            set,
            fourier,
            small,
            key,
            automorphisms: Automorphisms::new(fourier, &key.automorphisms, set.trace),
            meter: Arc::default(),
            cancel: Cancel::new(),
        }
    }

    /// Words of an LWE ciphertext under the flattened GLWE key.
    pub(crate) fn lwe_len(&self) -> usize {
        self.set.rank * self.set.degree + 1
    }

    /// Words of a GLWE ciphertext.
    pub(crate) fn glwe_len(&self) -> usize {
        (self.set.rank + 1) * self.set.degree
    }

    /// Spectra of a GLWE ciphertext.
    fn columns(&self) -> usize {
        self.set.rank + 1
    }

    /// Numbers of a GGSW ciphertext.
    pub(crate) fn ggsw_len(&self) -> usize {
        self.columns() * self.set.ggsw.levels * self.glwe_len()
    }

    /// Switches LWE ciphertexts, one after the other, to the LWE key: n + 1 words each.
    pub(crate) fn key_switch(&self, lwes: &[u64]) -> Words {
        let switch = KeySwitch {
            fourier: self.small,
            key: &self.key.key_switch,
            gadget: self.set.key_switch,
            dimension: self.set.lwe_dimension,
        };
        let (out, transforms) = switch.run(lwes.chunks_exact(self.lwe_len()));
        self.meter.transforms(transforms);
        out
    }

    /// Blind rotation: X^-phase · `test` for every LWE ciphertext under the LWE key, the phase being rounded to multiples of
    /// 2^grid of its 2N steps. Ciphertext i uses test polynomial i modulo their number.
    pub(crate) fn blind_rotate(&self, lwes: &[u64], tests: &[u64], grid: u32) -> Words {
        let (set, n) = (self.set, self.set.degree);
        let count = lwes.len() / (set.lwe_dimension + 1);
        let amounts: Vec<Vec<usize>> = lwes
            .chunks_exact(set.lwe_dimension + 1)
            .map(|lwe| exponents(lwe, n, grid))
            .collect();
        let mut accumulators = Words::zeroed(count * self.glwe_len());
        let pairs = accumulators.chunks_exact_mut(self.glwe_len()).zip(&amounts);
        for ((acc, amounts), test) in pairs.zip(tests.chunks_exact(n).cycle()) {
            let body = amounts[set.lwe_dimension];
            rotate(test, n, 2 * n - body, &mut acc[set.rank * n..]);
        }
        let rotation = BlindRotation {
            fourier: self.fourier,
            steps: &self.key.steps,
            unroll: set.unroll,
            rank: set.rank,
            mask: set.rotation_mask,
            body: set.rotation_body,
            cancel: &self.cancel,
        };
        let transforms = rotation.run(&mut accumulators, &amounts);
        self.meter.rotations(count);
        self.meter.transforms(transforms);
        accumulators
    }

    /// Bits as LWE ciphertexts to blind rotations whose first coefficients hold bit · g for the units g of the GGSW gadget.
    fn rotate_for_ggsw(&self, lwes: &[u64]) -> Words {
        let set = self.set;
        let small = self.meter.time(Stage::KeySwitch, || self.key_switch(lwes));
        self.meter.time(Stage::Rotation, || {
            // ±g/2 by the sign of the phase, then g/2 on top
            let values = 1 << set.log2_values;
            let mut test = Words::zeroed(set.degree);
            let units: Vec<u64> = (0..set.ggsw.levels).map(|l| unit(set.ggsw, l)).collect();
            for slots in test.chunks_exact_mut(values) {
                for (x, g) in slots.iter_mut().zip(&units) {
                    *x = (g / 2).wrapping_neg();
                }
            }
            let shifted = quarter_turned(set, &small, set.log2_values);
            let mut out = self.blind_rotate(&shifted, &test, set.log2_values);
            for acc in out.chunks_exact_mut(self.glwe_len()) {
                let body = &mut acc[set.rank * set.degree..];
                for (x, g) in body.iter_mut().zip(&units) {
                    *x = x.wrapping_add(g / 2);
                }
            }
            out
        })
    }

    /// The same bits with the noise of one blind rotation. One LWE ciphertext after the other, in and out.
    ///
    /// A bit 1 comes out as `units[i mod len]` in output i; AES itself passes 2^63 alone.
    pub(crate) fn refresh(&self, lwes: &[u64], units: &[u64]) -> Words {
        let (set, n) = (self.set, self.set.degree);
        let small = self.meter.time(Stage::KeySwitch, || self.key_switch(lwes));
        self.meter.time(Stage::Rotation, || {
            let mut tests = Words::zeroed(units.len() * n);
            for (test, unit) in tests.chunks_exact_mut(n).zip(units) {
                test.fill((unit / 2).wrapping_neg());
            }
            let shifted = quarter_turned(set, &small, 0);
            let rotated = self.blind_rotate(&shifted, &tests, 0);
            let count = lwes.len() / self.lwe_len();
            let mut out = Words::zeroed(count * self.lwe_len());
            let pairs = rotated.chunks_exact(self.glwe_len());
            let outputs = out
                .chunks_exact_mut(self.lwe_len())
                .zip(units.iter().cycle());
            for (acc, (out, unit)) in pairs.zip(outputs) {
                extract(acc, n, 0, out);
                let body = &mut out[set.rank * n];
                *body = body.wrapping_add(unit / 2);
            }
            out
        })
    }

    /// x ↦ ψ(x) for X -> X^(2^t + 1), switched back to the key.
    fn automorphism(&self, t: u32, x: &[u64], out: &mut [u64], work: &mut Work) {
        let memory = [&mut work.rows[..], &mut work.sums];
        let transforms = self.automorphisms.apply(t, x, out, memory);
        self.meter.transforms(transforms);
    }

    /// The packed trace: from a ciphertext whose coefficients 0 … v - 1 hold values, v ciphertexts of these as constants.
    ///
    /// Each of the log2(v N) steps x ± ψ(x) doubles a value, so the ciphertext is divided by v N first. The steps merge the v values into one
    /// ciphertext, at multiples of N/v, cancel the coefficients between once for all of them, and split the values again.
    fn trace(&self, acc: &[u64], work: &mut Work) -> Vec<Words> {
        let (log_values, n) = (self.set.log2_values, self.set.degree);
        let log = n.trailing_zeros();
        let half = 1u64 << (log + log_values - 1);
        let mut slots: Vec<Words> = (0..1 << log_values)
            .map(|j| {
                let mut slot = Words::scratch(acc.len());
                rotate(acc, n, 2 * n - j, &mut slot);
                for x in slot.iter_mut() {
                    *x = ((x.wrapping_add(half) as i64) >> (log + log_values)) as u64;
                }
                slot
            })
            .collect();
        let mut turned = Words::scratch(acc.len());
        let mut image = Words::scratch(acc.len());
        for t in 1..=log_values {
            for pair in (0..slots.len()).step_by(2) {
                // (x + X^(N/2^t) y) + ψ(x - X^(N/2^t) y)
                rotate(&slots[pair + 1], n, n >> t, &mut turned);
                let mut difference = slots[pair].clone();
                sub(&mut difference, &turned);
                self.automorphism(t, &difference, &mut image, work);
                let sum = &mut slots[pair];
                add(sum, &turned);
                add(sum, &image);
            }
            slots = slots.into_iter().step_by(2).collect();
        }
        for t in log_values + 1..=log {
            self.automorphism(t, &slots[0], &mut image, work);
            add(&mut slots[0], &image);
        }
        for t in (1..=log_values).rev() {
            slots = slots
                .into_iter()
                .flat_map(|mut even| {
                    self.automorphism(t, &even, &mut image, work);
                    let mut odd = even.clone();
                    sub(&mut odd, &image);
                    rotate(&odd, n, 2 * n - (n >> t), &mut turned);
                    odd.copy_from_slice(&turned);
                    add(&mut even, &image);
                    [even, odd]
                })
                .collect();
        }
        slots
    }

    /// The GGSW ciphertext of a bit from its blind rotation.
    ///
    /// The body rows are the traced ciphertexts; the mask rows are these times -s_i, by external products with
    /// GGSW ciphertexts of -s_i. Those products stay spectra: they are used as such only, and numbers of 2^20 lose no
    /// precision that counts beside the digits' noise.
    fn ggsw(&self, acc: &[u64], out: &mut Ggsw, work: &mut Work) {
        let (set, n, columns) = (self.set, self.set.degree, self.columns());
        let levels = set.ggsw.levels;
        let traced = self.meter.time(Stage::Trace, || self.trace(acc, work));
        self.meter.time(Stage::SchemeSwitch, || {
            out.fill(0.0);
            let count = columns * levels * columns;
            let digits = set.scheme_switch.digits();
            let rows = &mut work.rows[..columns * digits.levels * n];
            for (level, row) in traced.iter().take(levels).enumerate() {
                for (i, poly) in row.chunks_exact(n).enumerate() {
                    let body_row = (set.rank * levels + level) * columns;
                    self.fourier.forward(poly, out, body_row + i, count);
                    let place = i * digits.levels;
                    self.fourier
                        .forward_digits(digits, poly, rows, place, columns * digits.levels);
                }
                let sums = &mut work.sums[..set.rank * columns * n];
                sums.fill(0.0);
                let all = set.rank * columns;
                self.fourier
                    .multiply_add(rows, &self.key.scheme_switch, all, sums, (0, all));
                for i in 0..set.rank {
                    let row = (i * levels + level) * columns;
                    copy(sums, (i * columns, all), out, (row, count), columns);
                }
            }
            self.meter
                .transforms(levels * columns * (1 + digits.levels));
        });
    }

    /// a + bit (b - a), into a.
    fn select(&self, bit: &Ggsw, a: &mut [u64], b: &[u64], work: &mut Work) {
        let (set, n, columns) = (self.set, self.set.degree, self.columns());
        let levels = set.ggsw.levels;
        let difference = &mut work.difference[..b.len()];
        difference.copy_from_slice(b);
        sub(difference, &a[a.len() - b.len()..]);
        let (masks, body) = difference.split_at_mut(b.len() - n);
        centre(set.ggsw, n, masks, body);
        // public polynomials have no mask: only body rows then
        let polys = b.len() / n;
        let rows = &mut work.rows[..polys * levels * n];
        for (i, poly) in difference.chunks_exact(n).enumerate() {
            let place = i * levels;
            self.fourier
                .forward_digits(set.ggsw.digits(), poly, rows, place, polys * levels);
        }
        let sums = &mut work.sums[..columns * n];
        sums.fill(0.0);
        self.fourier
            .multiply_add(rows, bit, columns, sums, (0, columns));
        for (c, poly) in a.chunks_exact_mut(n).enumerate() {
            self.fourier.inverse_add(sums, c, columns, poly);
        }
        self.meter.transforms(polys * levels + columns);
    }

    /// One bit of a look-up, 7 first: the upper ones choose among the table's polynomials, the lower ones
    /// rotate the entry to the front.
    fn descend(&self, tree: &mut Tree<'_>, i: usize, bit: &Ggsw, work: &mut Work) {
        let n = self.set.degree;
        let masks = self.set.rank * n;
        let entries = (n / OUTPUTS).trailing_zeros() as usize;
        let trivial = |poly: &[u64]| {
            let mut out = Words::zeroed(self.glwe_len());
            out[masks..].copy_from_slice(poly);
            out
        };
        let nodes = &mut tree.nodes;
        if i < entries {
            if nodes.is_empty() {
                nodes.push(trivial(tree.table));
            }
            let mut turned = Words::scratch(self.glwe_len());
            rotate(&nodes[0], n, 2 * n - (OUTPUTS << i), &mut turned);
            self.select(bit, &mut nodes[0], &turned, work);
        } else if nodes.is_empty() {
            let (low, high) = tree.table.split_at(tree.table.len() / 2);
            for (low, high) in low.chunks_exact(n).zip(high.chunks_exact(n)) {
                let mut node = trivial(low);
                self.select(bit, &mut node, high, work);
                nodes.push(node);
            }
        } else {
            let high = nodes.split_off(nodes.len() / 2);
            for (low, high) in nodes.iter_mut().zip(&high) {
                self.select(bit, low, high, work);
            }
        }
    }

    /// Looks bytes up, byte i in `tables[i]`: `bytes` are 8 LWE bits each, one byte after the other. Coefficients 0 … 31 of a result are the
    /// entry's bits.
    pub(crate) fn look_up(&self, bytes: &[u64], tables: &[&[u64]]) -> Vec<Words> {
        if self.cancel.is_cancelled() {
            let nothing = tables.iter().map(|_| Words::zeroed(self.glwe_len()));
            return nothing.collect();
        }
        let rotated = self.rotate_for_ggsw(bytes);
        let mut work = Work::new(self);
        let mut ggsw = Reals::zeroed(self.ggsw_len());
        let each = rotated.chunks_exact(8 * self.glwe_len()).zip(tables);
        each.map(|(bits, table)| {
            let mut tree = Tree::new(table);
            for (i, acc) in bits.chunks_exact(self.glwe_len()).enumerate().rev() {
                self.ggsw(acc, &mut ggsw, &mut work);
                self.meter.time(Stage::LookUp, || {
                    self.descend(&mut tree, i, &ggsw, &mut work);
                });
            }
            tree.nodes.swap_remove(0)
        })
        .collect()
    }

    /// Bits as GGSW ciphertexts, for look-ups of other bytes with the same key byte.
    pub(crate) fn circuit_bootstrap(&self, lwes: &[u64]) -> Vec<Ggsw> {
        if self.cancel.is_cancelled() {
            let nothing = lwes.chunks_exact(self.lwe_len());
            return nothing.map(|_| Reals::zeroed(self.ggsw_len())).collect();
        }
        let mut work = Work::new(self);
        let rotated = self.rotate_for_ggsw(lwes);
        let each = rotated.chunks_exact(self.glwe_len());
        each.map(|acc| {
            let mut ggsw = Reals::zeroed(self.ggsw_len());
            self.ggsw(acc, &mut ggsw, &mut work);
            ggsw
        })
        .collect()
    }

    /// Looks up the byte of eight GGSW bits.
    pub(crate) fn look_up_ggsw(&self, bits: &[Ggsw], table: &[u64]) -> Words {
        if self.cancel.is_cancelled() {
            return Words::zeroed(self.glwe_len());
        }
        let mut work = Work::new(self);
        let mut tree = Tree::new(table);
        self.meter.time(Stage::LookUp, || {
            for (i, bit) in bits.iter().enumerate().rev() {
                self.descend(&mut tree, i, bit, &mut work);
            }
        });
        tree.nodes.swap_remove(0)
    }
}

/// A look-up on its way.
struct Tree<'t> {
    table: &'t [u64],
    /// ciphertexts still to choose among; none before the first bit
    nodes: Vec<Words>,
}

impl<'t> Tree<'t> {
    fn new(table: &'t [u64]) -> Self {
        Self {
            table,
            nodes: Vec::new(),
        }
    }
}

/// Working memory of one thread.
struct Work {
    /// spectra of digits
    rows: Reals,
    /// spectra of results
    sums: Reals,
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
            difference: Words::zeroed(engine.glwe_len()),
        }
    }
}

/// Adds 1/4 to the phases of LWE ciphertexts of bit/2, so that the half of the torus tells the bit, and subtracts half a step of 2^grid,
/// because rounding to the nearest step shifts every boundary down by that much.
fn quarter_turned(set: &BitsSet, lwes: &[u64], grid: u32) -> Words {
    let half_step = 1 << (step_log(set.degree) + grid - 1);
    let mut out = Words::scratch(lwes.len());
    out.copy_from_slice(lwes);
    for lwe in out.chunks_exact_mut(set.lwe_dimension + 1) {
        let body = &mut lwe[set.lwe_dimension];
        *body = body.wrapping_add((1 << 62) - half_step);
    }
    out
}

/// Copies spectra `from` … `from + count - 1` between interleaved arrays.
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
