//! `.hcv` files hold values that a program computed on results, each a labelled list of numbers.
//!
//! ```text
//! tag 1, index 0   values (8); per value label (text) ‖ form (text) ‖ numbers (8) ‖ bits of a number (1)
//!                  ‖ ciphertexts (8)
//! tag 2, index i   ciphertext i of all values, in the scheme's encoding
//! ```
//!
//! A ciphertext holds bytes, and wider numbers take groups of ciphertexts, one per byte, lowest byte first; or, in the
//! forms of integers, a ciphertext or constant adds a multiple of what it holds to all numbers of its value.

use crate::decrypt::MIN_MARGIN_BITS;
use crate::error::{At, malformed, other_scheme, wrong_value};
use crate::machine::pool::Pool;
use crate::results::meta::{TAG_BATCH, TAG_META};
use crate::{Error, ErrorKind, EvalKey, Output, Result, SchemeError, SecretKey, Set};
use homaes_bgv::Addend;
use homaes_scheme::traits::{Input, ValueCodec, own};
use homaes_wire::{Contents, Decoder, Encoder, Header, KeyId, Kind, Reader, WireError};
use std::any::{Any, type_name};
use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

const MAX_LABEL_BYTES: usize = 256;
const MAX_VALUES: usize = 1 << 16;
/// More than so many values with the longest labels take.
const MAX_TABLE_BYTES: u64 = 1 << 26;
/// Least bytes of an entry of the table.
const ENTRY_BYTES: usize = 4 + 1 + 4 + 8 + 1 + 8;
const MAX_FORM_BYTES: usize = 32;

/// Forms of integers.
const UNSIGNED: &str = "bgv integers";
const SIGNED: &str = "bgv signed integers";

const LABEL: &str = "1 to 256 bytes without control characters, another one for each value";
const WIDTH: &str = "1 to 64 bits a number";
const CIPHERTEXTS: &str = "as many ciphertexts as its numbers fill";
const VALUES: &str = "at most 65536 values";

/// A file's description of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ValueMeta {
    /// Its name.
    pub label: String,
    /// The encoding in ciphertexts: `bgv slots`, `tfhe bits`, or for integers `bgv integers` or `bgv signed integers`.
    pub form: String,
    /// Number of numbers.
    pub count: u64,
    /// Bits of a number, 1 to 64.
    pub width: u8,
    /// Number of ciphertexts.
    pub ciphertexts: u64,
}

impl ValueMeta {
    /// Whether its numbers are two's complement.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        self.form == SIGNED
    }

    fn of_integers(&self) -> bool {
        self.is_signed() || self.form == UNSIGNED
    }

    /// Ciphertexts per group of numbers, one for each byte.
    fn planes(&self) -> u64 {
        u64::from(self.width.div_ceil(8))
    }

    fn wrong(&self, path: &Path, source: SchemeError) -> Error {
        Error::part_of(Some(path), Some(format!("value {:?}", self.label)), source)
    }

    fn most(&self) -> u64 {
        u64::MAX >> (64 - u32::from(self.width))
    }

    /// Whether ciphertexts of these lengths hold exactly its numbers.
    fn fits(&self, held: &[usize]) -> bool {
        if self.of_integers() {
            let fits = |held: &usize| (1..=*held as u64).contains(&self.count);
            return held.first().is_some_and(fits) && held.iter().all(|own| *own == held[0]);
        }
        let groups = held.chunks(self.planes() as usize);
        let even = |group: &[usize]| {
            group.len() as u64 == self.planes() && group.iter().all(|held| *held == group[0])
        };
        let sizes = groups.clone().map(|group| group[0] as u64);
        let (all, last) = sizes.fold((0_u64, 0), |(all, _), size| {
            (all.saturating_add(size), size)
        });
        let needed = self.count > all - last || held.is_empty();
        groups.clone().all(even) && self.count <= all && needed
    }
}

/// Values under one key, to be written to a file.
///
/// ```
/// # use homaes::{AesKey, Ciphertexts, Memory, Mode, Output, AesFile};
/// # use homaes::{KeySet, Set, Transcipher, WrappedKey, WrapOptions};
/// use homaes::Computed;
/// # let keys = KeySet::generate(&Set::named("bgv/toy-255")?)?;
/// # let aes_key = AesKey::from_bytes(&[7; 16])?;
/// # let wrapping = WrapOptions { levels_left: Some(5), ..WrapOptions::default() };
/// # let wrapped = WrappedKey::encrypt(&keys.secret, &aes_key, &wrapping)?;
/// # let part = AesFile::of(Memory::new([9; 20], "c"), Mode::Ctr { iv: [0; 16] })?;
/// # let (output, results) = Output::memory();
/// # Transcipher::new(&keys.eval, &wrapped)?.run(part, output)?;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("x.hcv");
/// # let batch = Ciphertexts::of_source(Memory::new(results.take(), "results"))?.into_iter().next().unwrap()?;
/// # let state: homaes_bgv::State = batch.state()?;
/// // server: `state` is a batch of results
/// let eval = keys.eval.of_scheme().ok_or("not a key of BGV")?;
/// let circuit = homaes_bgv::Evaluator::new(eval);
/// let first = &state.ciphertexts()[0]; // byte 0 of every block
/// let found = circuit.equals_byte(first, b'A')?;
/// let mut computed = Computed::new(&keys.eval);
/// computed.add("found", batch.blocks() as u64, 1, [&found])?;
/// computed.add("byte 0", batch.blocks() as u64, 8, [first])?;
/// computed.write(Output::create(&path, false)?)?;
///
/// // client
/// let values = keys.secret.open_values(&path)?;
/// assert_eq!((&*values[0].meta.label, values[0].numbers.len()), ("found", 2));
/// let is_a = values[1].numbers.iter().map(|&byte| u64::from(byte == u64::from(b'A')));
/// assert!(is_a.eq(values[0].numbers.iter().copied()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Computed {
    set: Set,
    key: KeyId,
    /// No output may replace the evaluation key.
    key_path: PathBuf,
    values: Vec<ValueMeta>,
    records: Vec<Vec<u8>>,
}

homaes_wire::debug_fields!(Computed, set, values);

impl Computed {
    /// Starts without values; they must be computed with `eval`.
    #[must_use]
    pub fn new(eval: &EvalKey) -> Self {
        Self {
            set: eval.set().clone(),
            key: eval.key_id(),
            key_path: eval.path().to_owned(),
            values: Vec::new(),
            records: Vec::new(),
        }
    }

    /// Adds the value `label`: `count` numbers of `width` bits in `ciphertexts`.
    ///
    /// A ciphertext holds one byte of several numbers: a `homaes_bgv::Ciphertext` one number per slot, a
    /// `homaes_tfhe::State` 16 per block, one after the other. For a `width` above 8, the ciphertexts of the same
    /// numbers follow each other from the lowest byte to the highest; those of the next numbers come after. The file
    /// also contains what the last ciphertexts hold beyond `count` numbers, although opening it does not show this:
    /// multiply it by zero if the key owner must not see it.
    ///
    /// # Errors
    /// `ErrorKind::Argument` if the label is invalid or already used, if the numbers do not fill the ciphertexts, or if
    /// the ciphertexts are of the wrong type for the set; [`Error::Keys`] if one is of another set or key, or may
    /// decrypt wrongly.
    pub fn add<'c, C: Any>(
        &mut self,
        label: &str,
        count: u64,
        width: u8,
        ciphertexts: impl IntoIterator<Item = &'c C>,
    ) -> Result<()> {
        let params = self.set.params();
        let other = || other_scheme(self.set.name(), type_name::<C>());
        let form = params.values().ok_or_else(other)?;
        self.check_value(label, width)?;
        let (mut records, mut held) = (Vec::new(), Vec::new());
        for ciphertext in ciphertexts {
            let record = form.encode(self.key, ciphertext).ok_or_else(other)?;
            let record = record.map_err(Error::keys)?;
            held.push(form.held(&record).map_err(Error::keys)?);
            records.push(record);
        }
        self.push((label, form.form()), (count, width), records, &held)
    }

    /// Adds the value `label`: integers of `width` bits, modulo 2^`width`, signed or not. Each addend is multiplied by
    /// its weight: the bytes of wide numbers have weights 1, 256, …
    ///
    /// `count` is 1 for sums, or else at most the number of slots.
    ///
    /// # Errors
    /// `ErrorKind::Argument` as [`add`](Self::add), and if the set is not of BGV; [`Error::Keys`] if integers are of
    /// another set or key.
    pub fn add_integers<'a>(
        &mut self,
        label: &str,
        (count, width, signed): (u64, u8, bool),
        addends: impl IntoIterator<Item = (u64, Addend<'a>)>,
    ) -> Result<()> {
        self.check_value(label, width)?;
        let params = self.set.params_of::<homaes_bgv::Params>();
        let params = params.ok_or_else(|| other_scheme(self.set.name(), "a set of BGV"))?;
        let encode = |(weight, addend): (u64, Addend<'a>)| {
            let record = addend.encode(&params, self.key, weight)?;
            Ok((params.integers_held(&record)?, record))
        };
        let records = addends.into_iter().map(encode);
        let records: homaes_bgv::Result<Vec<_>> = records.collect();
        let (held, records): (Vec<_>, Vec<_>) = records.map_err(Error::keys)?.into_iter().unzip();
        let form = if signed { SIGNED } else { UNSIGNED };
        self.push((label, form), (count, width), records, &held)
    }

    fn check_value(&self, label: &str, width: u8) -> Result<()> {
        let taken = self.values.iter().any(|value| value.label == label);
        match () {
            () if taken || !is_label(label) => Err(wrong_value(label, LABEL)),
            () if !(1..=64).contains(&width) => Err(wrong_value(label, WIDTH)),
            () if self.values.len() == MAX_VALUES => Err(wrong_value(label, VALUES)),
            () => Ok(()),
        }
    }

    /// The value in these records, of which each holds so many numbers.
    fn push(
        &mut self,
        (label, form): (&str, &str),
        (count, width): (u64, u8),
        mut records: Vec<Vec<u8>>,
        held: &[usize],
    ) -> Result<()> {
        let value = ValueMeta {
            label: label.to_owned(),
            form: form.to_owned(),
            count,
            width,
            ciphertexts: records.len() as u64,
        };
        if !value.fits(held) {
            return Err(wrong_value(label, CIPHERTEXTS));
        }
        self.values.push(value);
        self.records.append(&mut records);
        Ok(())
    }

    /// The labels of its values.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|value| &*value.label)
    }

    /// Writes all values to a file.
    ///
    /// # Errors
    /// `ErrorKind::AlreadyExists`, [`Error::Io`], or `ErrorKind::OwnInput` if the output is the evaluation key.
    pub fn write(&self, output: Output) -> Result<()> {
        output.refuse_own_input([&*self.key_path])?;
        let table = encode(&self.values);
        let contents = Contents::default().record(table.len() as u64);
        let lengths = self.records.iter().map(|record| record.len() as u64);
        let contents = lengths.fold(contents, Contents::record);
        let header = Header::new(
            Kind::Computed,
            self.set.name(),
            *self.set.digest(),
            self.key,
            contents,
        )
        .at(output.path())?;
        let mut file = output.container(header)?;
        file.record(TAG_META, 0, &table)?;
        for (index, record) in (0..).zip(&self.records) {
            file.record(TAG_BATCH, index, record)?;
        }
        file.commit()
    }
}

/// A decrypted value.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Numbers {
    /// The file's description of it.
    pub meta: ValueMeta,
    /// Its numbers, each below 2^width.
    pub numbers: Zeroizing<Vec<u64>>,
}

impl Numbers {
    /// The numbers of a value with signs: of two's complement, from -2^(width - 1) to 2^(width - 1) - 1.
    pub fn signed(&self) -> impl Iterator<Item = i64> {
        let unused = 64 - u32::from(self.meta.width);
        self.numbers
            .iter()
            .map(move |x| (x << unused).cast_signed() >> unused)
    }
}

// the numbers are secret
homaes_wire::debug_fields!(Numbers, meta);

impl SecretKey {
    /// Decrypts the values of the `.hcv` file `path`, in the order in which they were added.
    ///
    /// # Errors
    /// The first fault of the file, including another set or another secret key; `ErrorKind::Noise` if the noise of a
    /// ciphertext is too close to failure; `ErrorKind::Damaged` if a number has more bits than stated.
    pub fn open_values(&self, path: impl AsRef<Path>) -> Result<Vec<Numbers>> {
        let path = path.as_ref();
        let reader = Reader::open(path, Kind::Computed);
        self.values_of(reader.at(path)?.boxed())
    }

    /// As [`open_values`](Self::open_values), with the same errors, from the rest of `read`; `name` names it in errors.
    pub fn open_values_of(
        &self,
        read: impl Read + Send,
        name: impl AsRef<Path>,
    ) -> Result<Vec<Numbers>> {
        let name = name.as_ref();
        let reader = Reader::of_read(read, None, Kind::Computed, name);
        self.values_of(reader.at(name)?.boxed())
    }

    fn values_of(&self, reader: Input<'_>) -> Result<Vec<Numbers>> {
        self.set.check_own(&reader, self.id())?;
        let pool = Pool::new(0);
        let mut all = Vec::new();
        each_value(reader, &self.set, &mut |path, form, meta, bodies| {
            let Form::Bytes(form) = form else {
                let numbers = pool.install(|| self.integers(meta, &bodies));
                let numbers = numbers.map_err(|source| meta.wrong(path, source))?;
                let meta = meta.clone();
                all.push(Numbers { meta, numbers });
                return Ok(());
            };
            let mut planes = Vec::new();
            for body in bodies {
                let decrypted = pool.install(|| form.decrypt(&*self.key, &body));
                let (bytes, found) = decrypted.map_err(|source| meta.wrong(path, source))?;
                if found < MIN_MARGIN_BITS {
                    let (label, expected) = (&meta.label, MIN_MARGIN_BITS);
                    let message = format!(
                        "value {label:?}: {found:.1} bits of noise left, expected at least {expected}"
                    );
                    let error = Error::refused(ErrorKind::Noise, message);
                    return Err(error.with(found, expected).at(path));
                }
                planes.push(Zeroizing::new(bytes));
            }
            let numbers = Zeroizing::new(numbers(meta, &planes));
            if numbers.iter().any(|&number| number > meta.most()) {
                let message = format!(
                    "value {:?} has a number of more than {} bits",
                    meta.label, meta.width
                );
                return Err(Error::refused(ErrorKind::Damaged, message).at(path));
            }
            let meta = meta.clone();
            all.push(Numbers { meta, numbers });
            Ok(())
        })?;
        Ok(all)
    }
}

impl SecretKey {
    /// The numbers of a value of integers.
    fn integers(
        &self,
        meta: &ValueMeta,
        bodies: &[Vec<u8>],
    ) -> Result<Zeroizing<Vec<u64>>, SchemeError> {
        let key: &homaes_bgv::SecretKey = own(&*self.key);
        let mut numbers = Zeroizing::new(vec![0u64; meta.count as usize]);
        for body in bodies {
            let addend = Zeroizing::new(key.decrypt_integers(body)?);
            let pairs = numbers.iter_mut().zip(addend.iter());
            pairs.for_each(|(number, x)| *number = number.wrapping_add(*x));
        }
        numbers.iter_mut().for_each(|number| *number &= meta.most());
        Ok(numbers)
    }
}

fn numbers(meta: &ValueMeta, planes: &[Zeroizing<Vec<u8>>]) -> Vec<u64> {
    let mut out = Vec::with_capacity(planes.iter().map(|plane| plane.len()).sum());
    for group in planes.chunks(meta.planes() as usize) {
        let number = |j: usize| {
            let bytes = group.iter().rev().map(|plane| u64::from(plane[j]));
            bytes.fold(0, |number, byte| number << 8 | byte)
        };
        out.extend((0..group[0].len()).map(number));
    }
    out.truncate(meta.count as usize);
    out
}

/// Reads the descriptions and checks the ciphertexts.
pub(crate) fn describe_values(reader: Input<'_>, set: &Set) -> Result<Vec<ValueMeta>> {
    let mut all = Vec::new();
    each_value(reader, set, &mut |_, _, meta, _| {
        all.push(meta.clone());
        Ok(())
    })?;
    Ok(all)
}

/// What the records of a value are.
#[derive(Clone, Copy)]
enum Form<'p> {
    Bytes(&'p dyn ValueCodec),
    Integers(&'p homaes_bgv::Params),
}

impl Form<'_> {
    fn most_bytes(self) -> u64 {
        match self {
            Self::Bytes(form) => form.most_bytes(),
            Self::Integers(params) => params.most_integer_bytes(),
        }
    }

    fn held(self, body: &[u8]) -> Result<usize, SchemeError> {
        match self {
            Self::Bytes(form) => form.held(body),
            Self::Integers(params) => Ok(params.integers_held(body)?),
        }
    }
}

/// Called for each value with the file's path for errors, the form, the description and the records.
type Take<'t> = &'t mut dyn FnMut(&Path, Form<'_>, &ValueMeta, Vec<Vec<u8>>) -> Result<()>;

fn each_value(mut reader: Input<'_>, set: &Set, take: Take<'_>) -> Result<()> {
    let path = reader.path().to_owned();
    let (params, integers) = (set.params(), set.params_of::<homaes_bgv::Params>());
    let records = reader.header().records();
    let table = reader.next_record(TAG_META, MAX_TABLE_BYTES);
    let table = table.and_then(|body| decode(&body, records)).at(&path)?;
    let form_of = |meta: &ValueMeta| match &integers {
        Some(params) if meta.of_integers() => Ok(Form::Integers(params)),
        _ => {
            let form = params.values().filter(|form| meta.form == form.form());
            let form = form.ok_or_else(|| malformed("form of a value", "one of its set"));
            form.map(Form::Bytes)
        }
    };
    let forms: Result<Vec<_>, _> = table.iter().map(form_of).collect();
    let mut index = 0;
    for (meta, form) in table.iter().zip(forms.at(&path)?) {
        let (mut bodies, mut held) = (Vec::new(), Vec::new());
        for _ in 0..meta.ciphertexts {
            let read = reader.next_indexed(TAG_BATCH, form.most_bytes());
            let (found, body) = read.at(&path)?;
            if found != index {
                return Err(malformed("number of a ciphertext", "in order")).at(&path);
            }
            let bytes = form.held(&body);
            held.push(bytes.map_err(|source| meta.wrong(&path, source))?);
            bodies.push(body);
            index += 1;
        }
        if !meta.fits(&held) {
            return Err(malformed("value", CIPHERTEXTS)).at(&path);
        }
        take(&path, form, meta, bodies)?;
    }
    reader.finish().at(&path)
}

fn encode(values: &[ValueMeta]) -> Vec<u8> {
    let out = Encoder::new().u64(values.len() as u64);
    let add = |out: Encoder, value: &ValueMeta| {
        out.str(&value.label)
            .str(&value.form)
            .u64(value.count)
            .u8(value.width)
            .u64(value.ciphertexts)
    };
    values.iter().fold(out, add).finish()
}

fn decode(body: &[u8], records: u64) -> Result<Vec<ValueMeta>, WireError> {
    let mut decoder = Decoder::new(body);
    let count = decoder.count("number of values", MAX_VALUES, ENTRY_BYTES)?;
    let mut values: Vec<ValueMeta> = Vec::new();
    let mut expected = 1_u64;
    for _ in 0..count {
        let value = ValueMeta {
            label: decoder.str("label of a value", MAX_LABEL_BYTES)?.to_owned(),
            form: decoder.str("form of a value", MAX_FORM_BYTES)?.to_owned(),
            count: decoder.u64("numbers of a value")?,
            width: decoder.u8("width of a value")?,
            ciphertexts: decoder.u64("ciphertexts of a value")?,
        };
        if !is_label(&value.label) {
            return Err(malformed("label of a value", LABEL));
        }
        if !(1..=64).contains(&value.width) {
            return Err(malformed("width of a value", WIDTH));
        }
        expected = expected.saturating_add(value.ciphertexts);
        values.push(value);
    }
    decoder.finish("table of values")?;
    let labels: HashSet<&str> = values.iter().map(|value| &*value.label).collect();
    if labels.len() != values.len() {
        return Err(malformed("label of a value", LABEL));
    }
    match records == expected {
        true => Ok(values),
        false => Err(WireError::RecordCount {
            found: records,
            expected,
        }),
    }
}

fn is_label(label: &str) -> bool {
    (1..=MAX_LABEL_BYTES).contains(&label.len()) && !label.chars().any(char::is_control)
}
