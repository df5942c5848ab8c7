//! The first record of a wrapped key, and the second one under many AES keys: what the other records are.

use crate::aes::compact::{BYTES, sent_level};
use crate::aes::level_plan::LevelPlan;
use crate::aes::wrapped::check_names;
use crate::codec::{META, NAMES};
use crate::error::{Error, Result};
use crate::params::Params;
use crate::params::residues::{poly_bytes, words_bytes};
use homaes_aes::{Direction, KeySize, Layout};
use homaes_math::sample::Seed;
use homaes_scheme::read::{self, SEED_BYTES};
use homaes_scheme::{Expansion, MAX_KEY_NAME_BYTES, Record, WrappedKeyInfo};
use homaes_wire::{Contents, Decoder, Encoder, Header, KeyId, Kind, Reader, WireError};
use std::io::Read;

/// Bytes of a wrapped key's first record: a fixed part, and one per layout.
const META_BYTES: u64 = 4;
const PART_BYTES: u64 = 3 + SEED_BYTES;
/// The same in files of version 2: AES key, form, number of layouts and starting level; a seed if it is compact; a seed
/// and the number of AES keys if there are many.
const META_BYTES_2: u64 = 3 + 1 + 1 + 2;
const COUNT_BYTES: u64 = 2;

/// The first record of a wrapped key.
pub(super) struct Head {
    pub(super) size: KeySize,
    pub(super) direction: Direction,
    pub(super) form: HeadForm,
}

pub(super) enum HeadForm {
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
    pub(super) fn contents(&self, params: &Params) -> Contents {
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

    pub(super) fn header(&self, params: &Params, id: KeyId) -> Result<Header, WireError> {
        let contents = self.contents(params);
        let header = params.file_id().header(Kind::WrappedKey, id, contents);
        match self.form {
            HeadForm::Seeded(_) => header,
            _ => header.map(|header| header.of_version(2)),
        }
    }

    pub(super) fn describe(&self) -> WrappedKeyInfo {
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

    pub(super) fn is_pair(&self) -> bool {
        matches!(&self.form, HeadForm::Compact(_, seeds) if seeds.len() > 1)
    }

    /// Record `number` of the file; `round_key` makes those of round keys.
    pub(super) fn record(&self, number: u64, round_key: impl FnOnce(u64) -> Record) -> Record {
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
pub(super) const BOTH: u8 = 2;

/// Contents of a wrapped key in full form with seeds.
pub(in crate::codec) fn seeded_contents(
    params: &Params,
    plans: impl ExactSizeIterator<Item = LevelPlan>,
) -> Contents {
    let start = Contents::default().record(META_BYTES + plans.len() as u64 * PART_BYTES);
    plans.fold(start, |c, plan| round_keys(params, plan, 1, c))
}

/// Contents of a wrapped key in compact form.
pub(in crate::codec) fn compact_contents(
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
    let most = count as u64 * (4 + MAX_KEY_NAME_BYTES as u64);
    let (index, body) = r.next_indexed(NAMES, most)?;
    read::check_record(index, &body, 0, body.len() as u64)?;
    let what = "name of an AES key";
    let mut input = Decoder::new(&body);
    let names = (0..count).map(|_| Ok(input.str(what, MAX_KEY_NAME_BYTES)?.to_owned()));
    let names: Vec<String> = names.collect::<Result<_>>()?;
    input.finish("names of AES keys")?;
    check_names(&names)?;
    Ok(names)
}

pub(super) fn read_head<R: Read>(params: &Params, r: &mut Reader<R>) -> Result<Head> {
    read::check_set(params.file_id(), r)?;
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
        let (ahead, top) = (plan.ahead().start, params.top_level());
        if ahead > top {
            return Err(Error::field("starting level", ahead, top));
        }
        let seed = input.array::<32>("seed")?;
        let count = usize::from(input.u16("number of AES keys")?);
        // either half of a batch has blocks of every key
        let most = params.blocks_per_batch(plan.layout) / params.ring().halves();
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

fn layout_code(layout: Layout) -> u8 {
    match layout {
        Layout::Sliced => 0,
        Layout::Packed => 1,
        Layout::Bits => 2,
    }
}
