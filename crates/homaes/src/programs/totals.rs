//! Totals of columns of results: sums, counts and dot products, exactly, in BGV.
//!
//! A number of several bytes is a digit to base 256 in each of as many ciphertexts. Every byte is lifted to an integer
//! in its slot; ciphertexts of digits of the same weight are added if the same slots hold numbers there. The sums that
//! are left, one in each of these slots, are added when they are decrypted: so nothing has to be masked or rotated, and
//! no levels are spent on it. Conditions are evaluated on bytes and multiplied in before the lift.
//!
//! Signed numbers are lifted with 128 added to the highest digit, which XOR with 0x80 does; 128 times the count of
//! numbers is subtracted afterwards.

mod places;
mod sums;
mod total;

pub use total::Total;

use super::columns::{Column, Condition};
use super::computed::Computed;
use crate::error::other_scheme;
use crate::keys::EvalKey;
use crate::machine::pool::Pool;
use crate::results::ciphertexts::Ciphertexts;
use crate::results::meta::Meta;
use crate::{Cancel, Error, ErrorKind, Result};
use homaes_aes::Layout;
use homaes_bgv::{Addend, Error as Bgv, Evaluator, State};
use homaes_scheme::FieldError;
use places::{Lane, Places};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use sums::{Run, Task, TaskPlace};
use total::DOT_BITS;

/// Totals over the records of a message.
///
/// Whole records count. Columns without a stride have that of the first column with one, or else the width of the first
/// column, if it begins at the start of the message; counts and conditions alone need one, or
/// [`records_of`](Self::records_of).
///
/// ```
/// # use homaes::{AesKey, Cancel, Ciphertexts, Memory, Mode, Output, AesFile, Pool};
/// # use homaes::{KeySet, Set, Transcipher, WrappedKey, WrapOptions};
/// use homaes::{Total, Totals};
/// # let keys = KeySet::generate(&Set::named("bgv/toy-255")?)?;
/// # let aes_key = AesKey::from_bytes(&[7; 16])?;
/// # let wrapping = WrapOptions { levels_left: Some(14), ..WrapOptions::default() };
/// # let wrapped = WrappedKey::encrypt(&keys.secret, &aes_key, &wrapping)?;
/// # let part = AesFile::of(Memory::new([9; 20], "c"), Mode::Ctr { iv: [0; 16] })?;
/// # let (output, results) = Output::memory();
/// # Transcipher::new(&keys.eval, &wrapped)?.run(part, output)?;
/// # let results = Ciphertexts::of_source(Memory::new(results.take(), "results"))?;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("totals.hcv");
/// // server: `results` are FHE ciphertexts of records of four bytes
/// let reading = "u16be@2/4".parse()?;
/// let totals = Totals::new([Total::Sum(reading), Total::Count], ["u8@0 >= 128".parse()?]);
/// let computed = totals.run(&keys.eval, results, &Pool::new(0), &Cancel::new())?;
/// computed.write(Output::create(&path, false)?)?;
///
/// // client
/// let values = keys.secret.open_values(&path)?;
/// assert_eq!(values[0].meta.label, "sum u16be@2/4 where u8@0/4 >= 128");
/// println!("{} of {} readings", values[0].numbers[0], values[1].numbers[0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Totals {
    totals: Vec<Total>,
    conditions: Vec<Condition>,
    /// also says what a record is
    column: Option<Column>,
    /// of all records of the message
    first: Option<u64>,
}

impl Totals {
    /// These totals, of the records that meet all `conditions`.
    pub fn new(
        totals: impl IntoIterator<Item = Total>,
        conditions: impl IntoIterator<Item = Condition>,
    ) -> Self {
        let new = Self {
            totals: totals.into_iter().collect(),
            conditions: conditions.into_iter().collect(),
            column: None,
            first: None,
        };
        new.with_strides()
    }

    /// The same over the records of this column.
    #[must_use]
    pub fn records_of(self, column: Column) -> Self {
        let column = Some(column);
        Self { column, ..self }.with_strides()
    }

    /// The same over the first `records` records. Padding of ECB and CBC belongs to the message.
    #[must_use]
    pub fn first_records(self, records: u64) -> Self {
        let first = Some(records);
        Self { first, ..self }
    }

    fn with_strides(mut self) -> Self {
        let columns: Vec<Column> = self.columns_mut().map(|column| *column).collect();
        let given = columns.iter().find_map(|column| column.stride);
        let numbers = columns.len() - self.conditions.len();
        let first = columns[..numbers].first();
        // a list of numbers begins with one
        let list = first.filter(|column| column.offset < column.bytes.into());
        let stride = given.or(list.map(|column| column.bytes.into()));
        for column in self.columns_mut() {
            column.stride = column.stride.or(stride);
        }
        self
    }

    /// Those of conditions last.
    fn columns_mut(&mut self) -> impl Iterator<Item = &mut Column> {
        let totals = self.totals.iter_mut().flat_map(Total::columns_mut);
        let conditions = self.conditions.iter_mut();
        let columns = self.column.iter_mut().chain(totals);
        columns.chain(conditions.map(|condition| &mut condition.column))
    }

    /// Computes on results in layout sliced with levels left: sums of columns from `bgv/aes128+8` or, after
    /// AES-256, `bgv/aes256+8`; all totals from `bgv/aes256+17` or, after AES-128, `bgv/aes256+8`.
    ///
    /// Cost: [`lift`](homaes_bgv::Lifting::lift) once for each byte of a block that holds numbers, in each batch; under
    /// conditions also a product each. Conditions take three levels, plus one for each doubling of the bytes compared,
    /// and one to select. The work runs on the threads of `pool` and ends within a second after `cancel` is cancelled.
    ///
    /// # Errors
    /// `ErrorKind::Argument` if nothing is asked for, for a column beyond the message or across records, a condition
    /// that all or no numbers meet, results in another layout, and numbers that are compared or multiplied but lie in
    /// different blocks; `ErrorKind::TooDeep` if too few levels are left; the faults of the file; [`Error::Keys`] if
    /// the evaluation key is of another set or key; [`Error::Cancelled`].
    pub fn run(
        &self,
        eval: &EvalKey,
        results: Ciphertexts<'_>,
        pool: &Pool,
        cancel: &Cancel,
    ) -> Result<Computed> {
        results.check(eval.set(), eval.key_id())?;
        let other = || other_scheme(eval.set().name(), "a set of BGV");
        let key: &homaes_bgv::EvalKey = eval.of_scheme().ok_or_else(other)?;
        let (meta, path) = (results.meta().clone(), results.path().to_owned());
        let (layout, left) = (meta.layout, meta.level - 1);
        if layout != Layout::Sliced || left == 0 {
            let message = format!(
                "results in layout {layout} with {left} multiplications left, expected layout sliced and some left"
            );
            let kind = if left == 0 {
                ErrorKind::TooDeep
            } else {
                ErrorKind::Argument
            };
            let error = Error::refused(kind, message).with(layout.name(), "sliced");
            return Err(error.at(path));
        }
        // the table below is as long as the message
        let lengths = eval.set().params().batch_lengths(meta.shape(0));
        let batches = meta.split.batches().saturating_sub(1);
        let least = lengths
            .into_iter()
            .min()
            .unwrap_or(0)
            .saturating_mul(batches);
        if results.file_bytes() < least {
            let error = FieldError::new("bytes of the file", results.file_bytes(), least);
            return Err(Error::content(&path, error.into()));
        }
        let checks: Result<Vec<_>> = self.conditions.iter().map(Condition::check).collect();
        let records = self.records(meta.bytes())?;
        let tasks = self.tasks(&meta, records)?;
        let mut computed = Computed::new(eval);
        // checks the labels before the work
        let labels: Vec<String> = self.totals.iter().map(|total| self.label(total)).collect();
        let mut names = Computed::new(eval);
        for label in &labels {
            names.add_integers(label, (1, 1, false), [(0, Addend::One)])?;
        }
        let mut run = Run::new(
            (&self.totals, &self.conditions),
            checks?,
            Evaluator::new(key).until(cancel),
            tasks.len(),
        );
        let mut last = HashMap::new();
        for task in &tasks {
            for (batch, _) in task.place.lanes() {
                last.insert(*batch, task.place.batch);
            }
        }
        let mut tasks = tasks.into_iter().peekable();
        for batch in results {
            let batch = batch?;
            let index = batch.index();
            let wrong = |error: Bgv| Error::batch(index, error.into());
            if last.contains_key(&index) {
                let state: State = batch.state()?;
                state.place(key.params(), 0, 0).map_err(wrong)?;
                run.states.insert(index, state);
            }
            while let Some(task) = tasks.next_if(|task| task.place.batch == index) {
                let taken = pool.install(|| run.take(&task));
                taken.map_err(|error| match error {
                    Bgv::LiftBits { .. } | Bgv::TooDeep { .. } | Bgv::TooNoisy { .. } => {
                        let label = &labels[task.place.total];
                        let message = format!(
                            "{label}: the {left} multiplications left on the results are too few"
                        );
                        let error = Error::refused(ErrorKind::TooDeep, message);
                        error.at(path.clone())
                    }
                    error => wrong(error),
                })?;
            }
            run.states.retain(|batch, _| last[batch] > index);
            run.lifted.clear();
        }
        pool.install(|| run.close_all()).map_err(Error::keys)?;
        for ((total, label), sums) in self.totals.iter().zip(&labels).zip(&run.sums) {
            let sums = sums.iter();
            let sums = sums.map(|(weight, x, chosen)| (*weight, Addend::Sum(x, chosen)));
            let known = self.known(total, records);
            let addends = sums.chain([(known, Addend::One)]);
            computed.add_integers(label, total.form(records), addends)?;
        }
        Ok(computed)
    }

    /// Records of the message.
    fn records(&self, bytes: u64) -> Result<u64> {
        let refuse = |message: &str| Err(Error::refused(ErrorKind::Argument, message));
        let totals = self.totals.iter().flat_map(|total| total.columns());
        let totals = self.column.into_iter().chain(totals);
        let conditions = self.conditions.iter().map(|condition| condition.column);
        for total in &self.totals {
            if let Total::Dot(x, y) = total
                && [x, y]
                    .into_iter()
                    .any(|column| column.signed && column.bytes == 1)
            {
                return refuse("dot product: expected columns of u8, or of 16 or 32 bits");
            }
        }
        let columns: Vec<Column> = totals.chain(conditions).collect();
        if let Some(column) = columns.iter().find(|column| column.stride.is_none()) {
            return refuse(&format!(
                "column {column}: how long is a record? Write {column}/16 for records of 16 bytes"
            ));
        }
        if let Some(other) = columns.iter().find(|c| c.stride != columns[0].stride) {
            let message = format!(
                "columns {} and {other}: expected records of one length",
                columns[0]
            );
            return refuse(&message);
        }
        let records = columns.iter().map(|column| column.records(bytes));
        let records: Vec<u64> = records.collect::<Result<_>>()?;
        match (records.into_iter().min(), self.first) {
            (Some(records), Some(first)) if first == 0 || first > records => refuse(&format!(
                "first {first} records: expected 1 to {records}, those of the message"
            )),
            (Some(records), first) if !self.totals.is_empty() => Ok(first.unwrap_or(records)),
            _ => refuse(
                "nothing to compute: expected a sum, dot product or count, and a column or condition",
            ),
        }
    }

    /// What is known of a total without its ciphertexts.
    fn known(&self, total: &Total, records: u64) -> u64 {
        match total {
            _ if !self.conditions.is_empty() => 0,
            Total::Sum(column) => column.offset_weight().wrapping_mul(records),
            Total::Count => records,
            Total::Dot(..) => 0,
        }
    }

    fn label(&self, total: &Total) -> String {
        let mut label = total.to_string();
        if let Total::Dot(..) = total {
            write!(label, " modulo {}", 1 << DOT_BITS).expect("strings take all text");
        }
        for (i, condition) in self.conditions.iter().enumerate() {
            let word = if i == 0 { "where" } else { "and" };
            write!(label, " {word} {condition}").expect("strings take all text");
        }
        label
    }

    /// All tasks, in the order of their last batches; those of one condition and place follow each other.
    fn tasks(&self, meta: &Meta, records: u64) -> Result<Vec<Task>> {
        let places = Places::of(meta);
        let slots = meta.split.blocks_per_batch as usize;
        let mut tasks: BTreeMap<TaskPlace, Vec<u8>> = BTreeMap::new();
        let mut add = |place: TaskPlace, slot: usize| {
            let chosen = tasks.entry(place).or_insert_with(|| vec![0; slots / 8]);
            chosen[slot / 8] |= 1 << (slot % 8);
        };
        for record in 0..records {
            let digits = |column: &Column| {
                let first = column.offset + record * column.stride.unwrap_or(0);
                let (column, places) = (*column, &places);
                (0..column.bytes).map(move |i| places.find(first + column.place(i)))
            };
            let conditions: Vec<_> = self
                .conditions
                .iter()
                .flat_map(|condition| digits(&condition.column))
                .collect();
            for (number, total) in self.totals.iter().enumerate() {
                let own = total.columns().into_iter();
                let own = own.flat_map(|column| digits(&column));
                let place = |lanes: &[(Lane, usize)], digit| TaskPlace {
                    batch: lanes
                        .iter()
                        .map(|((batch, _), _)| *batch)
                        .max()
                        .unwrap_or(0),
                    conditions: conditions.iter().map(|(lane, _)| *lane).collect(),
                    total: number,
                    digit,
                    own: lanes[conditions.len()..]
                        .iter()
                        .map(|(lane, _)| *lane)
                        .collect(),
                };
                if let (Total::Sum(_), []) = (total, &conditions[..]) {
                    for (digit, found) in own.enumerate() {
                        add(place(&[found], digit), found.1);
                    }
                    continue;
                }
                let all: Vec<_> = conditions.iter().copied().chain(own).collect();
                let Some(&(_, slot)) = all.first() else {
                    continue;
                };
                if all.iter().any(|(_, other)| *other != slot) {
                    let message = format!(
                        "{}: record {record} has these columns in different blocks of 16 bytes, expected one, or the \
                         same place of two batches of {slots} blocks: lay out records so that columns share blocks",
                        self.label(total)
                    );
                    return Err(Error::refused(ErrorKind::Argument, message));
                }
                add(place(&all, 0), slot);
            }
        }
        let task = |(place, chosen)| Task { place, chosen };
        Ok(tasks.into_iter().map(task).collect())
    }
}
