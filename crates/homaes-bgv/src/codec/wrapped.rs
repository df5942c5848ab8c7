//! Wrapped keys as records; the parent module has the table.

use super::{LIMBS, META};
use crate::aes::compact::{BYTES, Compact, sent_level};
use crate::aes::level_plan::LevelPlan;
use crate::aes::wrapped::{Form, FormFile, Part, WrappedKey, WrappedKeyFile, stream};
use crate::ciphertext::{Ciphertext, History};
use crate::error::{Error, Result};
use crate::keys::uniform_poly;
use crate::noise::Noise;
use crate::params::Params;
use crate::params::residues::{poly_bytes, put_poly, take_poly, take_words, words_bytes};
use homaes_aes::{Direction, KeySize, Layout};
use homaes_math::sample::Seed;
use homaes_rns::Poly;
use homaes_scheme::read::{self, SEED_BYTES};
use homaes_scheme::traits::WrappedFile;
use homaes_scheme::{Owner, Record, Records, WrappedKeyInfo};
use homaes_wire::{Contents, Decoder, Encoder, Header, KeyId, Kind, Reader, WireError};
use std::io::Read;
use std::sync::Arc;

/// Bytes of a wrapped key's first record: a fixed part, and one per layout.
const META_BYTES: u64 = 4;
const PART_BYTES: u64 = 3 + SEED_BYTES;
/// The same in files of version 2: AES key, form, number of layouts and starting level; in the compact form a seed.
const META_BYTES_2: u64 = 3 + 1 + 1 + 2;

impl WrappedKey {
    /// Describes a file of `params` by its first record and its length.
    pub fn describe_file<R: Read>(params: &Params, mut r: Reader<R>) -> Result<WrappedKeyInfo> {
        let head = read_head(params, &mut r)?;
        read::check_length::<Error>(params.id(), r.header(), head.contents(params))?;
        Ok(head.describe())
    }

    /// Reads a wrapped key of `params` and expands its second halves.
    pub fn read<R: Read>(params: &Arc<Params>, mut r: Reader<R>) -> Result<Self> {
        let id = r.header().key_id();
        let Head {
            size,
            direction,
            form,
        } = read_head(params, &mut r)?;
        let form = match form {
            HeadForm::Compact(plans, seed) => {
                let traces = read_traces(params, &plans[0], &mut r)?;
                Form::Compact(plans, Compact { seed, traces })
            }
            HeadForm::Seeded(parts) => {
                let parts = parts.into_iter().map(|(plan, seed)| (plan, Some(seed)));
                read_parts(params, id, parts, &mut r)?
            }
            HeadForm::Whole(plans) => read_parts(
                params,
                id,
                plans.into_iter().map(|plan| (plan, None)),
                &mut r,
            )?,
        };
        r.finish()?;
        Ok(Self {
            params: params.clone(),
            id,
            size,
            direction,
            form,
        })
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
    /// plan of each layout, and the seed
    Compact(Vec<LevelPlan>, Seed),
}

impl HeadForm {
    fn plans(&self) -> Vec<LevelPlan> {
        match self {
            Self::Seeded(parts) => parts.iter().map(|part| part.0).collect(),
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
            HeadForm::Compact(..) => compact_contents(params, &plans[0], layouts),
        }
    }

    fn header(&self, params: &Params, id: KeyId) -> Result<Header, WireError> {
        let contents = self.contents(params);
        let header = params.id().header(Kind::WrappedKey, id, contents);
        match self.form {
            HeadForm::Seeded(_) => header,
            HeadForm::Whole(_) | HeadForm::Compact(..) => header.map(|header| header.of_version(2)),
        }
    }

    fn describe(&self) -> WrappedKeyInfo {
        let plans = self.form.plans().into_iter();
        let layouts = plans.map(|plan| (plan.layout, plan.output_level()));
        let compact = matches!(self.form, HeadForm::Compact(..));
        WrappedKeyInfo {
            compact,
            ..WrappedKeyInfo::expanded(self.size, self.direction, layouts.collect())
        }
    }

    /// Record `number` of the file; `round_key` makes all but the first.
    fn record(&self, number: u64, round_key: impl FnOnce(u64) -> Record) -> Record {
        if let Some(index) = number.checked_sub(1) {
            return round_key(index);
        }
        let meta = read::put_cipher(Encoder::new(), self.size, self.direction);
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
            HeadForm::Compact(plans, seed) => layouts(meta.u8(COMPACT), plans).bytes(seed),
        };
        Record::new(META, 0, meta.finish())
    }
}

/// Forms in files of version 2.
const WHOLE: u8 = 0;
const COMPACT: u8 = 1;

/// Contents of a wrapped key in full form with seeds.
pub(super) fn seeded_contents(
    params: &Params,
    plans: impl ExactSizeIterator<Item = LevelPlan>,
) -> Contents {
    let start = Contents::default().record(META_BYTES + plans.len() as u64 * PART_BYTES);
    plans.fold(start, |c, plan| round_keys(params, plan, 1, c))
}

/// Contents of a wrapped key in compact form.
pub(super) fn compact_contents(params: &Params, plan: &LevelPlan, layouts: u64) -> Contents {
    let start = Contents::default().record(META_BYTES_2 + layouts + SEED_BYTES);
    (0..=plan.size.rounds()).fold(start, |c, r| {
        let basis = params.basis(sent_level(plan, r));
        c.record(words_bytes(params, basis, params.ring().n() / BYTES))
    })
}

/// Adds the round keys of a plan, with this number of halves of each ciphertext.
fn round_keys(params: &Params, plan: LevelPlan, halves: u64, c: Contents) -> Contents {
    (0..=plan.size.rounds()).fold(c, |c, r| {
        let basis = params.basis(plan.key_level(r));
        let count = plan.layout.ciphertexts() as u64;
        c.records(count, halves * poly_bytes(params, basis))
    })
}

fn read_head<R: Read>(params: &Params, r: &mut Reader<R>) -> Result<Head> {
    read::check_set(params.id(), r)?;
    let layouts = Layout::ALL.len() as u64;
    let most = META_BYTES_2.max(META_BYTES) + PART_BYTES * layouts;
    let second = r.header().version() > 1;
    let meta = r.next_record(META, most)?;
    let mut input = Decoder::new(&meta);
    let (size, direction) = read::take_cipher::<Error>(&mut input)?;
    let form = match second {
        true => take_form(params, size, &mut input)?,
        false => HeadForm::Seeded(take_parts(params, size, &mut input)?),
    };
    input.finish("wrapped key")?;
    Ok(Head {
        size,
        direction,
        form,
    })
}

/// The rest of the first record in files of version 2.
fn take_form(params: &Params, size: KeySize, input: &mut Decoder<'_>) -> Result<HeadForm> {
    let form = input.u8("form")?;
    if form > COMPACT {
        return Err(Error::field("form", form.into(), COMPACT.into()));
    }
    let mut layouts = Vec::new();
    for _ in 0..take_count(input)? {
        layouts.push(take_layout(input, &layouts)?);
    }
    let start = usize::from(input.u16("starting level")?);
    let plans = layouts.into_iter().map(|layout| {
        let compact = params.expands() && layout != Layout::Bits;
        if form == COMPACT && !compact {
            return Err(Error::field("form", form.into(), WHOLE.into()));
        }
        LevelPlan::at(params, layout, size, start)
    });
    let plans = plans.collect::<Result<_>>()?;
    Ok(match form {
        COMPACT => HeadForm::Compact(plans, input.array::<32>("seed")?),
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
            Form::Compact(plans, sent) => HeadForm::Compact(plans.clone(), sent.seed),
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
            FormFile::Compact(plans, file) => HeadForm::Compact(plans.clone(), file.seed),
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

fn read_traces<R: Read>(params: &Params, plan: &LevelPlan, r: &mut Reader<R>) -> Result<Vec<Poly>> {
    let words = params.ring().n() / BYTES;
    let traces = (0..=plan.size.rounds()).map(|round| {
        let basis = params.basis(sent_level(plan, round));
        let bytes = words_bytes(params, basis, words);
        let body = read::record::<_, Error>(r, LIMBS, round as u64, bytes)?;
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
            let level = plan.key_level(round);
            let basis = params.basis(level);
            let keys = (0..plan.layout.ciphertexts()).map(|i| {
                let halves = if seed.is_some() { 1 } else { 2 };
                let bytes = halves * poly_bytes(params, basis);
                let body = read::record::<_, Error>(r, LIMBS, index, bytes)?;
                index += 1;
                let mut input = Decoder::new(&body);
                let c0 = take_poly(params, basis, "wrapped key", &mut input)?;
                let model = params.noise();
                let (c1, noise) = match &seed {
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
            rounds.push(keys.collect::<Result<_>>()?);
        }
        parts.push(Arc::new(Part { plan, seed, rounds }));
    }
    Ok(Form::Full(parts))
}

fn layout_code(layout: Layout) -> u8 {
    match layout {
        Layout::Sliced => 0,
        Layout::Packed => 1,
        Layout::Bits => 2,
    }
}
