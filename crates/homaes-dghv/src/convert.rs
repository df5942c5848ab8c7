//! Conversion of products to ciphertexts (CLT14 §3.2, §5.1), many at a time so that they share one pass over the key.
//!
//! A type II ciphertext c encrypts m_j in c/p_j²: c·2^η'/p_j² is m_j·2^(η'-1) modulo 2^η', plus noise. With
//! Σ s_(j,i) z_i = 2^η'/p_j² modulo 2^η':
//!
//! 1. Ciphertext expansion: c_i = ⌊c·z_i⌉ modulo 2^η'. For i ≥ ℓ they are windows of one product c·z, for i < ℓ of
//!    products with rows of the key.
//! 2. Digits c'_(d,i) of ω bits of c_i.
//! 3. 2·Σ σ_(d,i) c'_(d,i). The part ⌊σ_d 2^(iD)⌋ of σ_(d,i) is x0·frac(τ_d·C_d) with C_d = Σ_i c'_(d,i)·2^(iD), one
//!    product per digit; the part v_(d,i) is a product of digits and rows of the key.
//!
//! Signed digits are computed as u = c' + 2^(ω-1); the effect of the constant is subtracted at the end.

use crate::error::{Error, Result};
use crate::eval_key::{Part, t_words, terms_of, z_words};
use crate::meter::{Meter, Stage};
use crate::params::{LANES, LIMB, Params};
use crate::rows::unpack_lanes;
use homaes_math::integer::{
    Form, Lanes, Reducer, Spectrum, carry_limbs, limbs_of_words, words_of_limbs,
};
use homaes_math::natural::{add_assign, bits_from, set_bits, sub_assign, truncate, words_of};
use homaes_math::sample::Seed;
use homaes_scheme::{Cancel, KeyRecords};
use rayon::prelude::*;
use std::sync::Arc;

/// Vectors per tile of rows: 128 KiB, which stay in the second-level cache for many ciphertexts.
const TILE: usize = 2048;
/// Records between carries; each adds less than 2^58 to a word.
const CARRY_AFTER: usize = 32;

pub(crate) struct Converter {
    params: Arc<Params>,
    reducer: Reducer,
    x0: Spectrum,
    z: Spectrum,
    t: Vec<Spectrum>,
    /// x0 minus the effect of the constant in signed digits
    offset: Vec<u64>,
}

struct Item {
    /// c in limbs, padded with zeros
    limbs: Vec<u64>,
    /// windows by position, then by row
    windows: Vec<u64>,
    /// limbs of the digits u by term
    digits: Vec<u64>,
    sum: Vec<u64>,
    value: Vec<u64>,
}

impl Converter {
    /// `sum` is Σ v_(d,i) in limbs.
    pub(crate) fn new(params: &Arc<Params>, seed: &Seed, x0: &[u64], sum: &[u64]) -> Self {
        let c = &params.long;
        let digits = params.set().digits;
        let mut out = Self {
            reducer: Reducer::new(x0, params.backend()),
            x0: params.pair.forward(x0, Form::Stored),
            z: c.forward(&z_words(params, seed), Form::Stored),
            t: (0..digits.count())
                .map(|d| c.forward(&t_words(params, seed, d), Form::Stored))
                .collect(),
            offset: x0.to_vec(),
            params: params.clone(),
        };
        if digits.signed {
            // 2^(ω-1) in every digit
            let half = digits.word - 1;
            let mut digit = vec![0; words_of(digits.word)];
            digit[half / 64] = 1 << (half % 64);
            let mut sparse = vec![0; words_of(params.set().theta * params.step())];
            for i in 0..params.set().theta {
                set_bits(&mut sparse, &digit, i * params.step());
            }
            let spectra = (0..digits.count()).map(|_| c.forward(&sparse, Form::Plain));
            let value = out.of_sparse(spectra);
            let mut part = vec![0; words_of(params.correction_bits() + 64)];
            words_of_limbs(sum, &mut part);
            let mut shifted = vec![0; part.len() + words_of(digits.word)];
            set_bits(&mut shifted, &part, half);
            let all = out.reducer.reduce(&out.doubled(value, &shifted));
            out.offset.resize(all.len(), 0);
            sub_assign(&mut out.offset, &all);
        }
        out
    }

    pub(crate) fn reducer(&self) -> &Reducer {
        &self.reducer
    }

    /// x0·frac(Σ_d τ_d·C_d), up to a unit or two, from the transforms of C_d.
    fn of_sparse(&self, spectra: impl Iterator<Item = Spectrum>) -> Vec<u64> {
        let params = &self.params;
        let (c, pair) = (&params.long, &params.pair);
        let mut sum: Option<Spectrum> = None;
        for (mut spectrum, t) in spectra.zip(&self.t) {
            match &mut sum {
                None => {
                    c.multiply_assign(&mut spectrum, t);
                    sum = Some(spectrum);
                }
                Some(sum) => c.multiply_add(&spectrum, t, sum),
            }
        }
        let Some(sum) = sum else { return Vec::new() };
        let kept = params.part_digits();
        let bits = kept * c.digit_bits();
        let mut fraction = vec![0; words_of(bits)];
        c.inverse(sum, params.fraction_digits() - kept, &mut fraction);
        truncate(&mut fraction, bits);
        // the product with x0, without the fraction
        let mut spectrum = pair.forward(&fraction, Form::Plain);
        pair.multiply_assign(&mut spectrum, &self.x0);
        let first = bits / pair.digit_bits();
        let mut upper = vec![0; params.type_one_words() + 1];
        pair.inverse(spectrum, first, &mut upper);
        let mut out = vec![0; params.type_one_words()];
        bits_from(&upper, bits % pair.digit_bits(), &mut out);
        out
    }

    fn doubled(&self, mut value: Vec<u64>, part: &[u64]) -> Vec<u64> {
        let kept = part.len().min(value.len());
        add_assign(&mut value, &part[..kept]);
        let mut out = vec![0; value.len()];
        set_bits(&mut out, &value, 1);
        out
    }

    /// Converts type II ciphertexts to type I. Fails if the key's file is no longer readable.
    pub(crate) fn convert(
        &self,
        tiles: &KeyRecords,
        products: Vec<Vec<u64>>,
        meter: &Meter,
        cancel: &Cancel,
    ) -> Result<Vec<Vec<u64>>> {
        let params = &self.params;
        let expand = |product: Vec<u64>| {
            Ok::<_, Error>(meter.time(Stage::Transform, || self.expand(&product)))
        };
        let mut items = cancel.each(products, expand)?;
        let groups = params.row_groups();
        let first = 1 + params.slots();
        self.stream(
            tiles,
            first..first + groups,
            meter,
            cancel,
            |number, lanes| {
                let outputs = number * params.windows().words();
                meter.time(Stage::Rows, || self.rows(lanes, outputs, &mut items));
            },
        )?;
        items.par_iter_mut().with_max_len(1).try_for_each(|item| {
            cancel.check()?;
            meter.time(Stage::Transform, || self.contract(item));
            Ok::<(), Error>(())
        })?;
        let first = first + groups;
        let blocks = first..first + params.blocks();
        self.stream(tiles, blocks, meter, cancel, |number, lanes| {
            meter.time(Stage::Rows, || self.block(number, lanes, &mut items));
        })?;
        let finished = items.into_par_iter().with_max_len(1).map(|mut item| {
            meter.time(Stage::Transform, || {
                carry_limbs(&mut item.sum);
                let bits = params.correction_bits() + params.set().digits.word + 64;
                let mut part = vec![0; words_of(bits)];
                words_of_limbs(&item.sum, &mut part);
                let mut out = self.doubled(item.value, &part);
                add_assign(&mut out, &self.offset);
                out
            })
        });
        Ok(finished.collect())
    }

    /// Runs `work` on records of the key, and reads the next record meanwhile.
    fn stream(
        &self,
        tiles: &KeyRecords,
        records: core::ops::Range<usize>,
        meter: &Meter,
        cancel: &Cancel,
        mut work: impl FnMut(usize, &[Lanes]) + Send,
    ) -> Result<()> {
        let read = |record: usize| -> Result<Vec<Lanes>> {
            meter.time(Stage::Reading, || {
                meter.read_bytes(Part::of(&self.params, record).bytes(&self.params));
                let mut buffer = Vec::new();
                Ok(unpack_lanes(tiles.body(record, &mut buffer)?)?)
            })
        };
        let mut next = match records.is_empty() {
            true => return Ok(()),
            false => Some(read(records.start)?),
        };
        for record in records.clone() {
            cancel.check()?;
            let Some(lanes) = next.take() else { break };
            let after = record + 1;
            let (ahead, ()) = rayon::join(
                || (after < records.end).then(|| read(after)),
                || work(record - records.start, &lanes),
            );
            next = ahead.transpose()?;
        }
        Ok(())
    }

    /// Step 1 without the rows: c modulo x0 in limbs, and the digits of the windows of c·z.
    fn expand(&self, product: &[u64]) -> Item {
        let params = &self.params;
        let (set, c) = (params.set(), &params.long);
        let reduced = self.reducer.reduce(product);
        let window = params.window_limbs();
        let mut limbs = vec![0; params.row_limbs() + window];
        limbs_of_words(&reduced, &mut limbs[window - 1..]);
        let mut spectrum = c.forward(&reduced, Form::Plain);
        c.multiply_assign(&mut spectrum, &self.z);
        // the lowest window, with one bit for rounding
        let lowest = params.fraction_bits() - (set.theta - set.slots) * params.step() - 1;
        let first = lowest / c.digit_bits();
        let kept = params.fraction_bits() + set.digits.target - first * c.digit_bits();
        let mut expanded = vec![0; words_of(kept)];
        c.inverse(spectrum, first, &mut expanded);
        let mut item = Item {
            limbs,
            windows: vec![0; params.row_groups() * params.windows().words()],
            digits: vec![0; params.terms() * params.digit_limbs()],
            sum: vec![0; LANES * params.correction_groups() + params.corrections().words()],
            value: Vec::new(),
        };
        let mut scratch = Cut::new(params);
        for i in set.slots..set.theta {
            let at = params.fraction_bits() - (i - set.slots + 1) * params.step() - 1;
            bits_from(&expanded, at - first * c.digit_bits(), &mut scratch.window);
            scratch.cut(params, i, &mut item.digits);
        }
        item
    }

    /// Step 1 for eight rows: products of their limbs with windows of the ciphertexts' limbs.
    fn rows(&self, lanes: &[Lanes], at: usize, items: &mut [Item]) {
        let shape = self.params.windows();
        let share = items.len().div_ceil(rayon::current_num_threads()).max(1);
        items.par_chunks_mut(share).for_each(|items| {
            for (tile, vectors) in lanes.chunks(TILE).enumerate() {
                for item in items.iter_mut() {
                    let digits = &item.limbs[tile * TILE..];
                    let out = &mut item.windows[at..at + shape.words()];
                    shape.add(self.params.backend(), vectors, digits, out);
                }
            }
        });
    }

    /// Step 2 for the rows; step 3 for ⌊σ_d 2^(iD)⌋.
    fn contract(&self, item: &mut Item) {
        let params = &self.params;
        let (set, digits) = (params.set(), params.set().digits);
        let (shape, window) = (params.windows(), params.window_limbs());
        let mut scratch = Cut::new(params);
        let mut words = vec![0; words_of(LIMB * window)];
        for i in 0..set.slots {
            let group = &item.windows[i / LANES * shape.words()..];
            let mut limbs: Vec<u64> = (0..=window).map(|m| group[LANES * m + i % LANES]).collect();
            carry_limbs(&mut limbs);
            words_of_limbs(&limbs[..window], &mut words);
            let low = LIMB * window - digits.target - 1;
            bits_from(&words, low, &mut scratch.window);
            scratch.cut(params, i, &mut item.digits);
        }
        let limbs = params.digit_limbs();
        let spectra = (0..digits.count()).map(|d| {
            let mut sparse = vec![0; words_of(set.theta * params.step())];
            let mut words = vec![0; words_of(digits.word)];
            for i in 0..set.theta {
                let at = (d * set.theta + i) * limbs;
                words_of_limbs(&item.digits[at..at + limbs], &mut words);
                set_bits(&mut sparse, &words, i * params.step());
            }
            params.long.forward(&sparse, Form::Plain)
        });
        item.value = self.of_sparse(spectra);
    }

    fn block(&self, number: usize, lanes: &[Lanes], items: &mut [Item]) {
        let params = &self.params;
        let shape = params.corrections();
        let terms = terms_of(params, number);
        let share = items.len().div_ceil(rayon::current_num_threads()).max(1);
        items.par_chunks_mut(share).for_each(|items| {
            for (group, vectors) in lanes.chunks(terms.len()).enumerate() {
                for item in items.iter_mut() {
                    let digits = &item.digits[terms.start * params.digit_limbs()..];
                    let out = &mut item.sum[LANES * group..];
                    shape.add(params.backend(), vectors, digits, out);
                }
            }
            if number % CARRY_AFTER == CARRY_AFTER - 1 {
                for item in items {
                    carry_limbs(&mut item.sum);
                }
            }
        });
    }
}

struct Cut {
    /// η' + 1 bits; the lowest rounds
    window: Vec<u64>,
    rounded: Vec<u64>,
    /// 2^(ω-1) in every digit
    halves: Vec<u64>,
    digit: Vec<u64>,
}

impl Cut {
    fn new(params: &Params) -> Self {
        let digits = params.set().digits;
        let words = words_of(digits.target + 2);
        let mut halves = vec![0; words];
        if digits.signed {
            for d in 0..digits.count() {
                let at = digits.word * d + digits.word - 1;
                if at < digits.target {
                    halves[at / 64] |= 1 << (at % 64);
                }
            }
        }
        Self {
            window: vec![0; words],
            rounded: vec![0; words],
            halves,
            digit: vec![0; words_of(digits.word)],
        }
    }

    /// Writes the digits u of term i, from the current window.
    fn cut(&mut self, params: &Params, i: usize, out: &mut [u64]) {
        let (set, digits) = (params.set(), params.set().digits);
        truncate(&mut self.window, digits.target + 1);
        add_assign(&mut self.window, &[1]);
        bits_from(&self.window, 1, &mut self.rounded);
        add_assign(&mut self.rounded, &self.halves);
        truncate(&mut self.rounded, digits.target);
        let limbs = params.digit_limbs();
        for d in 0..digits.count() {
            bits_from(&self.rounded, digits.word * d, &mut self.digit);
            truncate(&mut self.digit, digits.word);
            let at = (d * set.theta + i) * limbs;
            limbs_of_words(&self.digit, &mut out[at..at + limbs]);
        }
    }
}

/// Adds all rows of a block of corrections to `sum`, limb by limb.
pub(crate) fn add_rows(params: &Params, number: usize, lanes: &[Lanes], sum: &mut [u64]) {
    let terms = terms_of(params, number).len();
    for (group, rows) in lanes.chunks(terms).enumerate() {
        let sum = &mut sum[LANES * group..][..LANES];
        for row in rows {
            for (sum, limb) in sum.iter_mut().zip(row) {
                *sum += limb;
            }
        }
    }
    carry_limbs(sum);
}
