//! Wrapped keys as records; the parent module has the table.

use super::{META, poly_record, read_poly};
use crate::aes::level_plan::LevelPlan;
use crate::aes::wrapped::{Part, WrappedKey, WrappedKeyFile, stream};
use crate::ciphertext::{Ciphertext, History};
use crate::error::{Error, Result};
use crate::keys::uniform_poly;
use crate::params::Params;
use crate::params::residues::poly_bytes;
use homaes_aes::{Direction, KeySize, Layout};
use homaes_math::sample::Seed;
use homaes_scheme::read::{self, SEED_BYTES};
use homaes_scheme::traits::WrappedFile;
use homaes_scheme::{Owner, Record, Records, WrappedKeyInfo};
use homaes_wire::{Contents, Decoder, Encoder, Header, KeyId, Kind, Reader, WireError};
use std::io::Read;
use std::sync::Arc;

/// Bytes of a wrapped key's first record: a fixed part, and one per layout.
const META_BYTES: u64 = 4;
const PART_BYTES: u64 = 3 + SEED_BYTES;

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
            parts: heads,
        } = read_head(params, &mut r)?;
        let mut index = 0;
        let parts = heads
            .into_iter()
            .map(|head| read_part(params, id, head, &mut index, &mut r))
            .collect::<Result<_>>()?;
        r.finish()?;
        Ok(Self {
            params: params.clone(),
            id,
            size,
            direction,
            parts,
        })
    }
}

/// The first record of a wrapped key.
struct Head {
    size: KeySize,
    direction: Direction,
    /// plan of each layout, with the seed of its uniform halves
    parts: Vec<(LevelPlan, Seed)>,
}

impl Head {
    fn new(size: KeySize, direction: Direction, parts: Vec<(LevelPlan, Seed)>) -> Self {
        Self {
            size,
            direction,
            parts,
        }
    }

    fn contents(&self, params: &Params) -> Contents {
        wrapped_contents(params, self.parts.iter().map(|part| part.0))
    }

    fn header(&self, params: &Params, id: KeyId) -> Result<Header, WireError> {
        let contents = self.contents(params);
        params.id().header(Kind::WrappedKey, id, contents)
    }

    fn describe(&self) -> WrappedKeyInfo {
        let layouts = self.parts.iter();
        let layouts = layouts.map(|(plan, _)| (plan.layout, plan.output_level()));
        WrappedKeyInfo::expanded(self.size, self.direction, layouts.collect())
    }

    /// Record `number` of the file; `round_key` makes all but the first.
    fn record(&self, number: u64, round_key: impl FnOnce(u64) -> Record) -> Record {
        if let Some(index) = number.checked_sub(1) {
            return round_key(index);
        }
        let meta = read::put_cipher(Encoder::new(), self.size, self.direction);
        let meta = meta.u8(self.parts.len() as u8);
        let meta = self.parts.iter().fold(meta, |meta, (plan, seed)| {
            let meta = meta.u8(layout_code(plan.layout)).u16(plan.start as u16);
            meta.bytes(seed)
        });
        Record::new(META, 0, meta.finish())
    }
}

pub(super) fn wrapped_contents(
    params: &Params,
    plans: impl ExactSizeIterator<Item = LevelPlan>,
) -> Contents {
    let start = Contents::default().record(META_BYTES + plans.len() as u64 * PART_BYTES);
    plans.fold(start, |c, plan| {
        (0..=plan.size.rounds()).fold(c, |c, r| {
            let basis = params.basis(plan.key_level(r));
            let count = plan.layout.ciphertexts() as u64;
            c.records(count, poly_bytes(params, basis))
        })
    })
}

fn read_head<R: Read>(params: &Params, r: &mut Reader<R>) -> Result<Head> {
    read::check_set(params.id(), r)?;
    let most = META_BYTES + PART_BYTES * Layout::ALL.len() as u64;
    let meta = r.next_record(META, most)?;
    let mut input = Decoder::new(&meta);
    let (size, direction) = read::take_cipher::<Error>(&mut input)?;
    let mut parts: Vec<(LevelPlan, Seed)> = Vec::new();
    let count = input.u8("layouts")?;
    if count == 0 {
        return Err(Error::field("layouts", 0, 1));
    }
    for _ in 0..count {
        let code = input.u8("layout")?;
        let layout = Layout::ALL.into_iter().find(|&l| layout_code(l) == code);
        let layout = layout.ok_or_else(|| Error::field("layout", code.into(), 0))?;
        if parts.iter().any(|part| part.0.layout == layout) {
            return Err(Error::LayoutTwice { layout });
        }
        let start = usize::from(input.u16("starting level")?);
        let plan = LevelPlan::at(params, layout, size, start)?;
        parts.push((plan, input.array::<32>("seed")?));
    }
    input.finish("wrapped key")?;
    Ok(Head::new(size, direction, parts))
}

pub(super) fn round_key(params: &Params, index: u64, c: &Ciphertext) -> Record {
    poly_record(params, params.basis(c.level), index, &c.parts[0])
}

impl WrappedKey {
    fn head(&self) -> Head {
        let parts = self.parts.iter().map(|part| (part.plan, part.seed));
        Head::new(self.size, self.direction, parts.collect())
    }
}

impl Records for WrappedKey {
    fn header(&self) -> Result<Header, WireError> {
        self.head().header(&self.params, self.id)
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        Ok(self.head().record(number, |index| {
            let mut all = self.parts.iter().flat_map(|p| p.rounds.iter().flatten());
            let c = all.nth(index as usize).expect("a record of the file");
            round_key(&self.params, index, c)
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
        let parts = self.parts.iter().map(|part| (part.plan, part.seed));
        Head::new(self.size, self.direction, parts.collect())
    }
}

impl Records for WrappedKeyFile<'_> {
    fn header(&self) -> Result<Header, WireError> {
        self.head().header(self.params(), self.id())
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        Ok(self.head().record(number, |index| {
            round_key(self.params(), index, &self.ciphertext(index as usize))
        }))
    }
}

impl WrappedFile for WrappedKeyFile<'_> {
    fn describe(&self) -> WrappedKeyInfo {
        self.head().describe()
    }
}

fn read_part<R: Read>(
    params: &Params,
    id: KeyId,
    (plan, seed): (LevelPlan, Seed),
    index: &mut u64,
    r: &mut Reader<R>,
) -> Result<Part> {
    let mut rounds = Vec::with_capacity(plan.size.rounds() + 1);
    for round in 0..=plan.size.rounds() {
        let level = plan.key_level(round);
        let basis = params.basis(level);
        let keys = (0..plan.layout.ciphertexts()).map(|i| {
            let c0 = read_poly(params, basis, "wrapped key", index, r)?;
            let c1 = uniform_poly(params, &seed, stream(plan.layout, round, i), basis);
            Ok(Ciphertext {
                owner: Owner::new(params.id(), Some(id)),
                level,
                parts: [c0, c1],
                noise: params.noise().fresh(),
                history: History::AES,
            })
        });
        rounds.push(keys.collect::<Result<_>>()?);
    }
    Ok(Part { plan, seed, rounds })
}

fn layout_code(layout: Layout) -> u8 {
    match layout {
        Layout::Sliced => 0,
        Layout::Packed => 1,
        Layout::Bits => 2,
    }
}
