//! Wrapped keys as records; the parent module has the table.

use super::{LIMBS, META, NAMES};
use crate::aes::compact::{BYTES, Compact, sent_level};
use crate::aes::level_plan::LevelPlan;
use crate::aes::wrapped::{
    Form, FormFile, Many, Part, WrappedKey, WrappedKeyFile, check_names, stream,
};
use crate::ciphertext::{Ciphertext, History};
use crate::error::{Error, MOST_NAME_BYTES, Result};
use crate::keys::uniform_poly;
use crate::noise::Noise;
use crate::params::Params;
use crate::params::residues::{poly_bytes, put_poly, take_poly, take_words, words_bytes};
use homaes_aes::{Direction, KeySize, Layout};
use homaes_math::sample::Seed;
use homaes_rns::Poly;
use homaes_scheme::read::{self, SEED_BYTES};
use homaes_scheme::traits::WrappedFile;
use homaes_scheme::{Expansion, Owner, Record, Records, WrappedKeyInfo};
use homaes_wire::{Contents, Decoder, Encoder, Header, KeyId, Kind, Reader, WireError};
use std::io::Read;
use std::sync::Arc;

/// Bytes of a wrapped key's first record: a fixed part, and one per layout.
const META_BYTES: u64 = 4;
const PART_BYTES: u64 = 3 + SEED_BYTES;
/// The same in files of version 2: AES key, form, number of layouts and starting level; a seed if it is compact; a seed
/// and the number of AES keys if there are many.
const META_BYTES_2: u64 = 3 + 1 + 1 + 2;
const COUNT_BYTES: u64 = 2;

impl WrappedKey {
    /// Describes a file of `params` by its length and its first record, or the first two.
    pub fn describe_file<R: Read>(params: &Params, mut r: Reader<R>) -> Result<WrappedKeyInfo> {
        let head = read_head(params, &mut r)?;
        read::check_length::<Error>(params.id(), r.header(), head.contents(params))?;
        Ok(head.describe())
    }

    /// Reads a wrapped key of `params` for one direction and expands its second halves.
    ///
    /// # Errors
    /// The first fault; also if the file is a [`Pair`].
    pub fn read<R: Read>(params: &Arc<Params>, r: Reader<R>) -> Result<Self> {
        match Self::read_any(params, r)? {
            (key, None) => Ok(key),
            (_, Some(_)) => Err(Error::field("direction", BOTH.into(), 0)),
        }
    }

    /// Reads a wrapped key of `params`, the second one of a [`Pair`] too.
    pub(crate) fn read_any<R: Read>(
        params: &Arc<Params>,
        mut r: Reader<R>,
    ) -> Result<(Self, Option<Self>)> {
        let id = r.header().key_id();
        let head = read_head(params, &mut r)?;
        let (size, pair) = (head.size, head.is_pair());
        let key = |direction, form| Self {
            params: params.clone(),
            id,
            size,
            direction,
            form,
        };
        let (first, second) = match head.form {
            HeadForm::Compact(plans, seeds) => {
                let count = plans[0].size.rounds() + 1;
                let mut sent =
                    seeds
                        .into_iter()
                        .enumerate()
                        .map(|(number, seed)| -> Result<Form> {
                            let traces = read_traces(params, &plans[0], number * count, &mut r)?;
                            Ok(Form::Compact(plans.clone(), Compact { seed, traces }))
                        });
                (sent.next().transpose()?, sent.next().transpose()?)
            }
            HeadForm::Many(plan, seed, names) => {
                let bytes =
                    read_round_key(params, id, (&plan.ahead(), 0), Some(&seed), &mut 0, &mut r)?;
                let many = Many { names, seed, bytes };
                (Some(Form::Many(plan, many)), None)
            }
            HeadForm::Seeded(parts) => {
                let parts = parts.into_iter().map(|(plan, seed)| (plan, Some(seed)));
                (Some(read_parts(params, id, parts, &mut r)?), None)
            }
            HeadForm::Whole(plans) => {
                let parts = plans.into_iter().map(|plan| (plan, None));
                (Some(read_parts(params, id, parts, &mut r)?), None)
            }
        };
        r.finish()?;
        let first = first.expect("a seed for each direction");
        let second = second.map(|form| key(Direction::Decrypt, form));
        debug_assert_eq!(pair, second.is_some());
        Ok((key(head.direction, first), second))
    }
}

/// Compact keys of one AES key for both directions, in one file.
pub struct Pair<K> {
    /// to encrypt
    pub encrypt: K,
    /// to decrypt
    pub decrypt: K,
}

/// A wrapped key that can be half of a [`Pair`].
trait Half: Records {
    fn head(&self) -> Head;
    fn origin(&self) -> (&Params, KeyId);
}

impl Half for WrappedKey {
    fn head(&self) -> Head {
        Self::head(self)
    }

    fn origin(&self) -> (&Params, KeyId) {
        (&self.params, self.id)
    }
}

impl Half for WrappedKeyFile<'_> {
    fn head(&self) -> Head {
        Self::head(self)
    }

    fn origin(&self) -> (&Params, KeyId) {
        (self.params(), self.id())
    }
}

/// The first record of both.
fn head_of<K: Half>(pair: &Pair<K>) -> Head {
    let mut head = pair.encrypt.head();
    if let (HeadForm::Compact(_, seeds), HeadForm::Compact(_, others)) =
        (&mut head.form, pair.decrypt.head().form)
    {
        seeds.extend(others);
    }
    head
}

impl<K: Half + Sync> Records for Pair<K> {
    fn header(&self) -> Result<Header, WireError> {
        let (params, id) = self.encrypt.origin();
        head_of(self).header(params, id)
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        let head = head_of(self);
        let count = head.size.rounds() as u64 + 1;
        match number {
            0 => Ok(head.record(0, |_| Record::new(LIMBS, 0, Vec::new()))),
            number if number <= count => self.encrypt.record(number),
            number => {
                let record = self.decrypt.record(number - count)?;
                let index = number - 1;
                Ok(Record { index, ..record })
            }
        }
    }
}

impl WrappedFile for Pair<WrappedKey> {
    fn describe(&self) -> WrappedKeyInfo {
        head_of(self).describe()
    }

    fn of_direction(&self, direction: Direction) -> Option<&dyn homaes_scheme::traits::WrappedKey> {
        Some(match direction {
            Direction::Encrypt => &self.encrypt,
            Direction::Decrypt => &self.decrypt,
        })
    }
}

impl WrappedFile for Pair<WrappedKeyFile<'_>> {
    fn describe(&self) -> WrappedKeyInfo {
        head_of(self).describe()
    }
}

/// The first record of a wrapped key.
struct Head {
    size: KeySize,
    direction: Direction,
    form: HeadForm,
}

enum HeadForm {
    /// version 1: plan of each layout, with the seed of its uniform halves
    Seeded(Vec<(LevelPlan, Seed)>),
    /// round keys with both halves
    Whole(Vec<LevelPlan>),
    /// plan of each layout, and the seed, or those of both directions
    Compact(Vec<LevelPlan>, Vec<Seed>),
    /// many AES keys: plan, seed and names
    Many(LevelPlan, Seed, Vec<String>),
}

impl HeadForm {
    fn plans(&self) -> Vec<LevelPlan> {
        match self {
            Self::Seeded(parts) => parts.iter().map(|part| part.0).collect(),
            Self::Many(plan, ..) => vec![*plan],
            Self::Whole(plans) | Self::Compact(plans, _) => plans.clone(),
        }
    }
}

impl Head {
    fn contents(&self, params: &Params) -> Contents {
        let plans = self.form.plans();
        let layouts = plans.len() as u64;
        match &self.form {
            HeadForm::Seeded(_) => seeded_contents(params, plans.into_iter()),
            HeadForm::Whole(_) => {
                let start = Contents::default().record(META_BYTES_2 + layouts);
                plans
                    .into_iter()
                    .fold(start, |c, plan| round_keys(params, plan, 2, c))
            }
            HeadForm::Compact(_, seeds) => {
                compact_contents(params, &plans[0], layouts, seeds.len() as u64)
            }
            HeadForm::Many(plan, _, names) => {
                let start = META_BYTES_2 + layouts + SEED_BYTES + COUNT_BYTES;
                let c = Contents::default()
                    .record(start)
                    .record(put_names(names).len() as u64);
                round_key_contents(params, (&plan.ahead(), 0), 1, c)
            }
        }
    }

    fn header(&self, params: &Params, id: KeyId) -> Result<Header, WireError> {
        let contents = self.contents(params);
        let header = params.id().header(Kind::WrappedKey, id, contents);
        match self.form {
            HeadForm::Seeded(_) => header,
            _ => header.map(|header| header.of_version(2)),
        }
    }

    fn describe(&self) -> WrappedKeyInfo {
        let plans = self.form.plans().into_iter();
        let layouts = plans.map(|plan| (plan.layout, plan.output_level()));
        let compact = matches!(self.form, HeadForm::Compact(..) | HeadForm::Many(..));
        let (expansion, names) = match &self.form {
            HeadForm::Many(.., names) => (Expansion::Server, names.clone()),
            _ => (Expansion::Client, Vec::new()),
        };
        let directions = match self.is_pair() {
            true => Direction::ALL.to_vec(),
            false => vec![self.direction],
        };
        WrappedKeyInfo {
            compact,
            directions,
            expansion,
            names,
            ..WrappedKeyInfo::expanded(self.size, self.direction, layouts.collect())
        }
    }

    fn is_pair(&self) -> bool {
        matches!(&self.form, HeadForm::Compact(_, seeds) if seeds.len() > 1)
    }

    /// Record `number` of the file; `round_key` makes those of round keys.
    fn record(&self, number: u64, round_key: impl FnOnce(u64) -> Record) -> Record {
        match (&self.form, number) {
            (_, 0) => {}
            (HeadForm::Many(.., names), 1) => return Record::new(NAMES, 0, put_names(names)),
            (HeadForm::Many(..), number) => return round_key(number - 2),
            (_, number) => return round_key(number - 1),
        }
        let meta = match self.is_pair() {
            true => Encoder::new()
                .u16(8 * self.size.key_bytes() as u16)
                .u8(BOTH),
            false => read::put_cipher(Encoder::new(), self.size, self.direction),
        };
        let layouts = |meta: Encoder, plans: &[LevelPlan]| {
            let meta = meta.u8(plans.len() as u8);
            let meta = plans
                .iter()
                .fold(meta, |meta, plan| meta.u8(layout_code(plan.layout)));
            meta.u16(plans[0].start as u16)
        };
        let meta = match &self.form {
            HeadForm::Seeded(parts) => {
                let meta = meta.u8(parts.len() as u8);
                parts.iter().fold(meta, |meta, (plan, seed)| {
                    let meta = meta.u8(layout_code(plan.layout)).u16(plan.start as u16);
                    meta.bytes(seed)
                })
            }
            HeadForm::Whole(plans) => layouts(meta.u8(WHOLE), plans),
            HeadForm::Compact(plans, seeds) => {
                let meta = layouts(meta.u8(COMPACT), plans);
                seeds.iter().fold(meta, |meta, seed| meta.bytes(seed))
            }
            HeadForm::Many(plan, seed, names) => {
                let meta = layouts(meta.u8(MANY), &[*plan]);
                meta.bytes(seed).u16(names.len() as u16)
            }
        };
        Record::new(META, 0, meta.finish())
    }
}

/// Forms in files of version 2.
const WHOLE: u8 = 0;
const COMPACT: u8 = 1;
const MANY: u8 = 2;
/// Direction of a compact key for both.
const BOTH: u8 = 2;

/// Contents of a wrapped key in full form with seeds.
pub(super) fn seeded_contents(
    params: &Params,
    plans: impl ExactSizeIterator<Item = LevelPlan>,
) -> Contents {
    let start = Contents::default().record(META_BYTES + plans.len() as u64 * PART_BYTES);
    plans.fold(start, |c, plan| round_keys(params, plan, 1, c))
}

/// Contents of a wrapped key in compact form.
pub(super) fn compact_contents(
    params: &Params,
    plan: &LevelPlan,
    layouts: u64,
    directions: u64,
) -> Contents {
    let start = Contents::default().record(META_BYTES_2 + layouts + directions * SEED_BYTES);
    (0..=plan.size.rounds()).fold(start, |c, r| {
        let basis = params.basis(sent_level(plan, r));
        c.records(
            directions,
            words_bytes(params, basis, params.ring().n() / BYTES),
        )
    })
}

/// Adds the round keys of a plan, with this number of halves of each ciphertext.
fn round_keys(params: &Params, plan: LevelPlan, halves: u64, c: Contents) -> Contents {
    (0..=plan.size.rounds()).fold(c, |c, r| round_key_contents(params, (&plan, r), halves, c))
}

fn round_key_contents(
    params: &Params,
    (plan, r): (&LevelPlan, usize),
    halves: u64,
    c: Contents,
) -> Contents {
    let basis = params.basis(plan.key_level(r));
    let count = plan.layout.ciphertexts() as u64;
    c.records(count, halves * poly_bytes(params, basis))
}

fn put_names(names: &[String]) -> Vec<u8> {
    let out = names.iter().fold(Encoder::new(), |out, name| out.str(name));
    out.finish()
}

/// Reads the record with the names of so many AES keys.
fn read_names<R: Read>(count: usize, r: &mut Reader<R>) -> Result<Vec<String>> {
    // a name comes after its length
    let most = count as u64 * (4 + MOST_NAME_BYTES as u64);
    let (index, body) = r.next_indexed(NAMES, most)?;
    read::check_record(index, &body, 0, body.len() as u64)?;
    let what = "name of an AES key";
    let mut input = Decoder::new(&body);
    let names = (0..count).map(|_| Ok(input.str(what, MOST_NAME_BYTES)?.to_owned()));
    let names: Vec<String> = names.collect::<Result<_>>()?;
    input.finish("names of AES keys")?;
    check_names(&names)?;
    Ok(names)
}

fn read_head<R: Read>(params: &Params, r: &mut Reader<R>) -> Result<Head> {
    read::check_set(params.id(), r)?;
    let layouts = Layout::ALL.len() as u64;
    let most = META_BYTES_2.max(META_BYTES) + SEED_BYTES + PART_BYTES * layouts;
    let second = r.header().version() > 1;
    let meta = r.next_record(META, most)?;
    // a pair is a key to encrypt, and one more seed
    let pair = second && meta.get(2) == Some(&BOTH);
    let mut one = meta.clone();
    if pair {
        one[2] = 0;
    }
    let mut input = Decoder::new(&one);
    let (size, direction) = read::take_cipher::<Error>(&mut input)?;
    let mut form = match second {
        true => take_form(params, (size, direction), pair, &mut input)?,
        false => HeadForm::Seeded(take_parts(params, size, &mut input)?),
    };
    input.finish("wrapped key")?;
    if let HeadForm::Many(.., names) = &mut form {
        *names = read_names(names.len(), r)?;
    }
    Ok(Head {
        size,
        direction,
        form,
    })
}

/// The rest of the first record in files of version 2. Names of many AES keys are empty: they follow in a record.
fn take_form(
    params: &Params,
    (size, direction): (KeySize, Direction),
    pair: bool,
    input: &mut Decoder<'_>,
) -> Result<HeadForm> {
    let form = input.u8("form")?;
    if form > MANY || pair && form != COMPACT {
        return Err(Error::field("form", form.into(), COMPACT.into()));
    }
    let mut layouts = Vec::new();
    for _ in 0..take_count(input)? {
        layouts.push(take_layout(input, &layouts)?);
    }
    let start = usize::from(input.u16("starting level")?);
    if form == MANY {
        let code = usize::from(layout_code(layouts[0]));
        for (what, found, expected) in [
            ("AES key bits", 8 * size.key_bytes(), 128),
            ("direction", usize::from(direction == Direction::Decrypt), 0),
            ("layouts", layouts.len(), 1),
            ("layout", code, layout_code(Layout::Sliced).into()),
        ] {
            if found != expected {
                return Err(Error::field(what, found, expected));
            }
        }
        let plan = LevelPlan::at(params, layouts[0], size, start)?;
        LevelPlan::at(params, layouts[0], size, plan.ahead().start)?;
        let seed = input.array::<32>("seed")?;
        let count = usize::from(input.u16("number of AES keys")?);
        let most = params.blocks_per_batch(plan.layout);
        if !(1..=most).contains(&count) {
            return Err(Error::field("number of AES keys", count, most));
        }
        return Ok(HeadForm::Many(plan, seed, vec![String::new(); count]));
    }
    let plans = layouts.into_iter().map(|layout| {
        let compact = params.expands() && layout != Layout::Bits;
        if form == COMPACT && !compact {
            return Err(Error::field("form", form.into(), WHOLE.into()));
        }
        LevelPlan::at(params, layout, size, start)
    });
    let plans = plans.collect::<Result<_>>()?;
    Ok(match form {
        COMPACT => {
            let seeds = (0..1 + u8::from(pair)).map(|_| input.array::<32>("seed"));
            HeadForm::Compact(plans, seeds.collect::<Result<_, _>>()?)
        }
        _ => HeadForm::Whole(plans),
    })
}

/// Layout, plan and seed of each part in files of version 1.
fn take_parts(
    params: &Params,
    size: KeySize,
    input: &mut Decoder<'_>,
) -> Result<Vec<(LevelPlan, Seed)>> {
    let (mut layouts, mut parts) = (Vec::new(), Vec::new());
    for _ in 0..take_count(input)? {
        let layout = take_layout(input, &layouts)?;
        layouts.push(layout);
        let start = usize::from(input.u16("starting level")?);
        let plan = LevelPlan::at(params, layout, size, start)?;
        parts.push((plan, input.array::<32>("seed")?));
    }
    Ok(parts)
}

fn take_count(input: &mut Decoder<'_>) -> Result<u8> {
    match input.u8("layouts")? {
        0 => Err(Error::field("layouts", 0, 1)),
        count => Ok(count),
    }
}

/// A layout other than those before it.
fn take_layout(input: &mut Decoder<'_>, before: &[Layout]) -> Result<Layout> {
    let code = input.u8("layout")?;
    let layout = Layout::ALL.into_iter().find(|&l| layout_code(l) == code);
    let layout = layout.ok_or_else(|| Error::field("layout", code.into(), 0))?;
    match before.contains(&layout) {
        true => Err(Error::LayoutTwice { layout }),
        false => Ok(layout),
    }
}

/// The record of polynomials over the primes `basis`.
pub(super) fn round_key(params: &Params, index: u64, basis: &[usize], polys: &[&Poly]) -> Record {
    let body = polys.iter().fold(Encoder::new(), |body, poly| {
        put_poly(params, basis, poly, body)
    });
    Record::new(LIMBS, index, body.finish())
}

impl WrappedKey {
    fn head(&self) -> Head {
        let form = match &self.form {
            Form::Compact(plans, sent) => HeadForm::Compact(plans.clone(), vec![sent.seed]),
            Form::Many(plan, many) => HeadForm::Many(*plan, many.seed, many.names.clone()),
            Form::Full(parts) => {
                let seeded = parts.iter().map(|part| Some((part.plan, part.seed?)));
                match seeded.collect() {
                    Some(seeded) => HeadForm::Seeded(seeded),
                    None => HeadForm::Whole(self.plans()),
                }
            }
        };
        let (size, direction) = (self.size, self.direction);
        Head {
            size,
            direction,
            form,
        }
    }
}

impl Records for WrappedKey {
    fn header(&self) -> Result<Header, WireError> {
        self.head().header(&self.params, self.id)
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        let (params, head) = (&*self.params, self.head());
        let whole = matches!(head.form, HeadForm::Whole(_));
        Ok(head.record(number, |index| match &self.form {
            Form::Compact(plans, sent) => {
                let r = index as usize;
                let basis = params.basis(sent_level(&plans[0], r));
                round_key(params, index, basis, &[&sent.traces[r]])
            }
            Form::Many(plan, many) => {
                let basis = params.basis(plan.ahead().start);
                let c = &many.bytes[index as usize];
                round_key(params, index, basis, &[&c.parts[0]])
            }
            Form::Full(parts) => {
                let mut all = parts.iter().flat_map(|p| p.rounds.iter().flatten());
                let c = all.nth(index as usize).expect("a record of the file");
                let [first, second] = c.parts.each_ref();
                let halves = [first, second];
                let halves = if whole { &halves[..] } else { &halves[..1] };
                round_key(params, index, params.basis(c.level), halves)
            }
        }))
    }
}

impl WrappedFile for WrappedKey {
    fn describe(&self) -> WrappedKeyInfo {
        self.head().describe()
    }
}

impl WrappedKeyFile<'_> {
    fn head(&self) -> Head {
        let form = match &self.form {
            FormFile::Full(parts) => {
                let parts = parts.iter().map(|part| (part.plan, part.seed));
                HeadForm::Seeded(parts.collect())
            }
            FormFile::Compact(plans, file) => HeadForm::Compact(plans.clone(), vec![file.seed]),
            FormFile::Many(plan, names, part) => HeadForm::Many(*plan, part.seed, names.clone()),
        };
        let (size, direction) = (self.size, self.direction);
        Head {
            size,
            direction,
            form,
        }
    }
}

impl Records for WrappedKeyFile<'_> {
    fn header(&self) -> Result<Header, WireError> {
        self.head().header(self.params(), self.id())
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        Ok(self.head().record(number, |index| {
            let (basis, poly) = self.poly(index as usize);
            round_key(self.params(), index, basis, &[&poly])
        }))
    }
}

impl WrappedFile for WrappedKeyFile<'_> {
    fn describe(&self) -> WrappedKeyInfo {
        self.head().describe()
    }
}

/// The traces of a direction, records `first` and on.
fn read_traces<R: Read>(
    params: &Params,
    plan: &LevelPlan,
    first: usize,
    r: &mut Reader<R>,
) -> Result<Vec<Poly>> {
    let words = params.ring().n() / BYTES;
    let traces = (0..=plan.size.rounds()).map(|round| {
        let basis = params.basis(sent_level(plan, round));
        let bytes = words_bytes(params, basis, words);
        let body = read::record::<_, Error>(r, LIMBS, (first + round) as u64, bytes)?;
        let mut input = Decoder::new(&body);
        let trace = take_words(params, basis, words, "wrapped key", &mut input)?;
        input.finish("wrapped key")?;
        Ok(trace)
    });
    traces.collect()
}

/// Round keys in full form; those without a seed have both halves in the file.
fn read_parts<R: Read>(
    params: &Params,
    id: KeyId,
    plans: impl Iterator<Item = (LevelPlan, Option<Seed>)>,
    r: &mut Reader<R>,
) -> Result<Form> {
    let mut index = 0;
    let mut parts = Vec::new();
    for (plan, seed) in plans {
        let mut rounds = Vec::with_capacity(plan.size.rounds() + 1);
        for round in 0..=plan.size.rounds() {
            let at = (&plan, round);
            rounds.push(read_round_key(
                params,
                id,
                at,
                seed.as_ref(),
                &mut index,
                r,
            )?);
        }
        parts.push(Arc::new(Part { plan, seed, rounds }));
    }
    Ok(Form::Full(parts))
}

/// The ciphertexts of a round key, in records from `index` on.
fn read_round_key<R: Read>(
    params: &Params,
    id: KeyId,
    (plan, round): (&LevelPlan, usize),
    seed: Option<&Seed>,
    index: &mut u64,
    r: &mut Reader<R>,
) -> Result<Vec<Ciphertext>> {
    let level = plan.key_level(round);
    let basis = params.basis(level);
    let keys = (0..plan.layout.ciphertexts()).map(|i| {
        let halves = if seed.is_some() { 1 } else { 2 };
        let bytes = halves * poly_bytes(params, basis);
        let body = read::record::<_, Error>(r, LIMBS, *index, bytes)?;
        *index += 1;
        let mut input = Decoder::new(&body);
        let c0 = take_poly(params, basis, "wrapped key", &mut input)?;
        let model = params.noise();
        let (c1, noise) = match seed {
            Some(seed) => {
                let stream = stream(plan.layout, round, i);
                (uniform_poly(params, seed, stream, basis), model.fresh())
            }
            // expanded, and switched down to the noise of rounding
            None => {
                let c1 = take_poly(params, basis, "wrapped key", &mut input)?;
                (c1, Noise::gaussian(model.rho_log2))
            }
        };
        input.finish("wrapped key")?;
        Ok(Ciphertext {
            owner: Owner::new(params.id(), Some(id)),
            level,
            parts: [c0, c1],
            noise,
            history: History::AES,
        })
    });
    keys.collect()
}

fn layout_code(layout: Layout) -> u8 {
    match layout {
        Layout::Sliced => 0,
        Layout::Packed => 1,
        Layout::Bits => 2,
    }
}
