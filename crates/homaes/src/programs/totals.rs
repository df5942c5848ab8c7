//! Totals of columns of results: sums, counts and dot products, exactly, in BGV.
//!
//! A number of several bytes is a digit to base 256 in each of as many ciphertexts. Every byte is lifted to an integer
//! in its slot; ciphertexts of digits of the same weight are added if the same slots hold numbers there. The sums that
//! are left, one in each of these slots, are added when they are decrypted: so nothing has to be masked or rotated, and
//! no levels are spent on it. Conditions are evaluated on bytes and multiplied in before the lift.
//!
//! Signed numbers are lifted with 128 added to the highest digit, which XOR with 0x80 does; 128 times the count of
//! numbers is subtracted afterwards.

use super::columns::{Check, Column, Condition};
use super::computed::Computed;
use crate::error::{other_scheme, quoted};
use crate::input::part_meta::PartMeta;
use crate::keys::EvalKey;
use crate::machine::pool::Pool;
use crate::results::ciphertexts::Ciphertexts;
use crate::results::meta::Meta;
use crate::{Cancel, Error, ErrorKind, Result};
use homaes_aes::Layout;
use homaes_bgv::{Addend, Ciphertext, Error as Bgv, Evaluator, Integers, Lifting, State};
use homaes_scheme::FieldError;
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write};
use std::ops::Range;
use std::str::FromStr;

/// Bits of a dot product.
const DOT_BITS: u32 = 16;
/// Least bits of lifted masks.
const MASK_BITS: u32 = 3;

/// What is computed from all records that meet the conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Total {
    /// The sum of a column, exact.
    Sum(Column),
    /// The number of records.
    Count,
    /// Σ x·y over two columns modulo 2^16, as two's complement if one has signs; with twice the same column, the sum of
    /// squares.
    Dot(Column, Column),
}

/// Totals over the records of a message.
///
/// Whole records count. Columns without a stride have that of the first column with one, or else the width of the first
/// column; counts and conditions alone need one, or [`records_of`](Self::records_of).
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
        let stride = given.or(first.map(|column| column.bytes.into()));
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

    /// Computes on results in layout sliced with levels left: from `bgv/aes128+8` sums of columns, from
    /// `bgv/aes256+2` after AES-128 all totals.
    ///
    /// Cost: [`Lifting::lift`] for each byte of a block that holds numbers, in each batch. Conditions take three
    /// levels, plus one for each doubling of the bytes compared, and one to select. The work runs on the threads of
    /// `pool` and ends within a second after `cancel` is cancelled.
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
        let mut run = Run {
            totals: self,
            checks: checks?,
            eval: Evaluator::new(key).until(cancel),
            tasks: tasks.len() as u64,
            states: BTreeMap::new(),
            lifts: HashMap::new(),
            lifted: HashMap::new(),
            mask: None,
            open: BTreeMap::new(),
            sums: vec![Vec::new(); self.totals.len()],
        };
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
        if let Some(condition) = self.conditions.iter().find(|c| c.column.stride.is_none()) {
            let column = condition.column;
            return refuse(&format!(
                "column {column}: how long is a record? Write {column}/16 for records of 16 bytes"
            ));
        }
        let columns: Vec<Column> = totals.chain(conditions).collect();
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

impl FromStr for Total {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split_whitespace().collect::<Vec<_>>()[..] {
            ["sum", column] => Ok(Self::Sum(column.parse()?)),
            ["count"] => Ok(Self::Count),
            ["dot", x, y] => Ok(Self::Dot(x.parse()?, y.parse()?)),
            _ => {
                let expected = "'sum COLUMN', 'count' or 'dot COLUMN COLUMN'";
                let message = format!("total {}: expected {expected}", quoted(text));
                Err(Error::refused(ErrorKind::Argument, message).with(text, expected))
            }
        }
    }
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sum(column) => write!(f, "sum {column}"),
            Self::Count => f.write_str("count"),
            Self::Dot(x, y) => write!(f, "dot {x} {y}"),
        }
    }
}

impl Total {
    fn columns_mut(&mut self) -> Vec<&mut Column> {
        match self {
            Self::Sum(column) => vec![column],
            Self::Count => Vec::new(),
            Self::Dot(x, y) => vec![x, y],
        }
    }

    fn columns(mut self) -> Vec<Column> {
        self.columns_mut()
            .into_iter()
            .map(|column| *column)
            .collect()
    }

    /// Numbers, bits and signs of the value, of so many records.
    fn form(&self, records: u64) -> (u64, u8, bool) {
        let log2 = |x: u64| 64 - x.saturating_sub(1).leading_zeros();
        let (bits, signed) = match self {
            Self::Sum(column) => (column.bits() + log2(records), column.signed),
            Self::Count => (log2(records + 1).max(1), false),
            Self::Dot(x, y) => (DOT_BITS, x.signed || y.signed),
        };
        (1, bits.min(64) as u8, signed)
    }
}

impl Column {
    /// What each lifted number is less than the number, modulo 2^64: -128 times the weight of the highest digit.
    fn offset_weight(&self) -> u64 {
        match self.signed {
            true => (1u64 << (self.bits() - 1)).wrapping_neg(),
            false => 0,
        }
    }
}

/// A batch, and the number of a byte in its blocks.
type Lane = (u64, usize);

/// Where the blocks of a message are.
struct Places {
    /// of each part, its place in the message, and the same if parts are filled up to whole blocks
    parts: Vec<[u64; 2]>,
    /// bytes of the message with filled parts; their batch; position of the first block in it, distance to the next
    runs: Vec<(Range<u64>, u64, [usize; 2])>,
}

impl Places {
    fn of(meta: &Meta) -> Self {
        let mut start = 0;
        let place = |part: &PartMeta| {
            let place = [start, 16 * part.first_block];
            start += part.bytes;
            place
        };
        let parts = meta.parts.iter().map(place).collect();
        let runs = (0..meta.split.batches()).flat_map(|batch| {
            let pieces = meta.pieces(batch).into_iter();
            pieces.map(move |(bytes, piece)| (bytes, batch, piece.positions))
        });
        let mut runs: Vec<_> = runs.collect();
        runs.sort_by_key(|(bytes, ..)| bytes.start);
        Self { parts, runs }
    }

    /// The lane and slot of a byte of the message.
    fn find(&self, byte: u64) -> (Lane, usize) {
        let part = self.parts.partition_point(|[start, _]| *start <= byte) - 1;
        let [start, filled] = self.parts[part];
        let byte = filled + byte - start;
        let run = self.runs.partition_point(|(bytes, ..)| bytes.start <= byte) - 1;
        let (bytes, batch, [first, step]) = &self.runs[run];
        let block = (byte - bytes.start) / 16;
        (
            (*batch, (byte % 16) as usize),
            first + block as usize * step,
        )
    }
}

/// The lanes of a task. Their order is that of the work.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct TaskPlace {
    /// the last one
    batch: u64,
    conditions: Vec<Lane>,
    total: usize,
    /// of a sum without conditions
    digit: usize,
    own: Vec<Lane>,
}

impl TaskPlace {
    fn lanes(&self) -> impl Iterator<Item = &Lane> {
        self.conditions.iter().chain(&self.own)
    }
}

/// Lanes whose chosen slots hold the bytes of records.
struct Task {
    place: TaskPlace,
    chosen: Vec<u8>,
}

/// A sum of integers, and the largest number that a slot can hold.
struct Open {
    x: Integers,
    most: u64,
}

/// A total, a weight and chosen slots.
type Target = (usize, u64, Vec<u8>);

struct Run<'r> {
    totals: &'r Totals,
    /// and whether a condition is the opposite
    checks: Vec<(Check, bool)>,
    eval: Evaluator<'r>,
    tasks: u64,
    states: BTreeMap<u64, State>,
    /// by whether of masks, level, and bits wanted
    lifts: HashMap<(bool, usize, u32), Lifting<'r>>,
    /// bytes lifted for the last batch, by whether 128 was added and bits wanted
    lifted: HashMap<(Lane, bool, u32), Integers>,
    /// the last mask, with the lanes of its conditions
    mask: Option<(Vec<Lane>, Ciphertext)>,
    open: BTreeMap<Target, Open>,
    /// of each total: weight, integers and chosen slots
    sums: Vec<Vec<(u64, Integers, Vec<u8>)>>,
}

impl Run<'_> {
    fn take(&mut self, task: &Task) -> homaes_bgv::Result<()> {
        let TaskPlace {
            conditions,
            total,
            digit,
            own,
            ..
        } = &task.place;
        let mask = match conditions.is_empty() {
            true => None,
            false => Some(self.mask(conditions)?),
        };
        let target = |weight: u64| (*total, weight, task.chosen.clone());
        let weight = |digit: usize| 1u64 << (8 * digit);
        match &self.totals.totals[*total] {
            Total::Sum(column) => {
                for (digit, lane) in (*digit..).zip(own) {
                    let is_signed = column.signed && digit + 1 == usize::from(column.bytes);
                    let bits = [8, self.bits(255)];
                    let x = self.digit(*lane, is_signed, mask.as_ref(), bits)?;
                    self.add(target(weight(digit)), x, 255)?;
                }
                if let Some(mask) = mask.filter(|_| column.signed) {
                    let x = self.lift(&mask, true, [MASK_BITS, self.bits(1)])?;
                    self.add(target(column.offset_weight()), x, 1)?;
                }
            }
            Total::Count => {
                if let Some(mask) = mask {
                    let x = self.lift(&mask, true, [MASK_BITS, self.bits(1)])?;
                    self.add(target(1), x, 1)?;
                }
            }
            Total::Dot(x, _) => {
                let (x, y) = own.split_at(x.bytes.into());
                let lowest = |all: &[Lane]| -> Vec<Lane> { all.iter().take(2).copied().collect() };
                let [x, y] = [lowest(x), lowest(y)];
                let mut left = Vec::new();
                for lane in x {
                    left.push(self.digit(lane, false, mask.as_ref(), [DOT_BITS; 2])?);
                }
                for (j, lane) in y.into_iter().enumerate() {
                    let right = self.digit(lane, false, None, [DOT_BITS; 2])?;
                    // higher digits are 0 modulo 2^16
                    for (i, left) in left.iter().enumerate().filter(|(i, _)| i + j < 2) {
                        let product = left.multiply(&self.eval, &right)?;
                        self.add(target(weight(i + j)), product, 0)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The bytes of a lane as integers: 128 added to those of a highest digit with a sign, then times a mask.
    fn digit(
        &mut self,
        lane: Lane,
        is_signed: bool,
        mask: Option<&Ciphertext>,
        bits: [u32; 2],
    ) -> homaes_bgv::Result<Integers> {
        let key = (lane, is_signed, bits[1]);
        if let (Some(x), None) = (self.lifted.get(&key), mask) {
            return Ok(x.clone());
        }
        let mut c = self.lane(lane);
        if is_signed {
            c = self.eval.add_byte(&c, 0x80)?;
        }
        if let Some(mask) = mask {
            c = self.eval.multiply(&c, mask)?;
        }
        let x = self.lift(&c, false, bits)?;
        if mask.is_none() {
            self.lifted.insert(key, x.clone());
        }
        Ok(x)
    }

    fn lane(&self, (batch, byte): Lane) -> Ciphertext {
        self.states[&batch].ciphertexts()[byte].clone()
    }

    /// The records that meet all conditions, whose bytes are in these lanes.
    fn mask(&mut self, lanes: &[Lane]) -> homaes_bgv::Result<Ciphertext> {
        if let Some((of, mask)) = &self.mask
            && of == lanes
        {
            return Ok(mask.clone());
        }
        let eval = &self.eval;
        let mut masks = Vec::new();
        let mut rest = lanes;
        for ((check, opposite), condition) in self.checks.iter().zip(&self.totals.conditions) {
            let (own, others) = rest.split_at(condition.column.bytes.into());
            rest = others;
            let mask = match check {
                Check::Equal(bytes) => {
                    let digits = own.iter().zip(bytes);
                    let equal = digits.map(|(lane, b)| eval.equals_byte(&self.lane(*lane), *b));
                    let equal: Vec<_> = equal.collect::<homaes_bgv::Result<_>>()?;
                    eval.all(&equal.iter().collect::<Vec<_>>())?
                }
                Check::Below(bound) => {
                    let mut x = self.lane(own[0]);
                    if condition.column.signed {
                        x = eval.add_byte(&x, 0x80)?;
                    }
                    eval.below_byte(&x, *bound)?
                }
            };
            masks.push(if *opposite { eval.not(&mask)? } else { mask });
        }
        let mask = eval.all(&masks.iter().collect::<Vec<_>>())?;
        self.mask = Some((lanes.to_vec(), mask.clone()));
        Ok(mask)
    }

    /// Bits that hold a sum of `most` of every task.
    fn bits(&self, most: u64) -> u32 {
        64 - (most.saturating_mul(self.tasks)).leading_zeros()
    }

    /// Integers from bytes or masks: of as many bits up to `wanted` as leave most room for sums, at least `least`.
    fn lift(
        &mut self,
        c: &Ciphertext,
        masks: bool,
        [least, wanted]: [u32; 2],
    ) -> homaes_bgv::Result<Integers> {
        let level = c.level();
        let key = (masks, level, wanted);
        if !self.lifts.contains_key(&key) {
            let of = |bits| match masks {
                true => self.eval.mask_lifting(level, bits),
                false => self.eval.lifting(level, bits),
            };
            // additions that it leaves, as their logarithm
            let additions =
                |lifting: &Lifting<'_>, bits: u32| lifting.room_bits().min(f64::from(bits - least));
            let mut best = of(least)?;
            let mut most = additions(&best, least);
            for bits in least + 1..=wanted.max(least) {
                match of(bits) {
                    Ok(lifting) if additions(&lifting, bits) > most => {
                        most = additions(&lifting, bits);
                        best = lifting;
                    }
                    Ok(_) | Err(Bgv::LiftBits { .. }) => (),
                    Err(error) => return Err(error),
                }
            }
            self.lifts.insert(key, best);
        }
        match self.lifts[&key].lift(c) {
            // sums of masks: a switch divides their noise
            Err(Bgv::PlaneNoise { .. }) if level > 1 => {
                let down = self.eval.mod_switch(c)?;
                self.lift(&down, masks, [least, wanted])
            }
            lifted => lifted,
        }
    }

    /// Adds integers up to `most` to the sum for `target`, or begins another if they do not fit.
    fn add(&mut self, target: Target, x: Integers, most: u64) -> homaes_bgv::Result<()> {
        let Some(open) = self.open.remove(&target) else {
            self.open.insert(target, Open { x, most });
            return Ok(());
        };
        let sum = open.most + most;
        let fits = sum >> open.x.bits() == 0;
        let added = fits.then(|| open.x.add(&self.eval, &x)).transpose();
        let next = match added {
            Ok(Some(x)) => Open { x, most: sum },
            Ok(None) | Err(Bgv::TooNoisy { .. }) => {
                self.close(&target, &open.x)?;
                Open { x, most }
            }
            Err(error) => return Err(error),
        };
        self.open.insert(target, next);
        Ok(())
    }

    fn close(&mut self, (total, weight, chosen): &Target, x: &Integers) -> homaes_bgv::Result<()> {
        let x = x.finish(&self.eval)?;
        self.sums[*total].push((*weight, x, chosen.clone()));
        Ok(())
    }

    fn close_all(&mut self) -> homaes_bgv::Result<()> {
        while let Some((target, open)) = self.open.pop_first() {
            self.close(&target, &open.x)?;
        }
        Ok(())
    }
}
