//! The bridge key as records of the container (`docs/FORMAT.md`).
//!
//! | tag | index | body |
//! |---|---|---|
//! | 1 | 0 | seed, 32 bytes; id of the target key, 16; then [`Other::encode`]: its kind and set, or pattern and tag |
//! | 2 | 0 … 3 | b_l in evaluation and stored form, canonical, bit-packed at the length of q |
//!
//! The header names the BGV set and the BGV secret key. The a_l are the ChaCha20 streams l of the seed.

use crate::error::Result;
use crate::key::{BridgeKey, LEVELS, masks, rings};
use crate::target::{Other, Target};
use homaes_bgv::Params;
use homaes_scheme::read::{self, SEED_BYTES};
use homaes_scheme::{Record, Records};
use homaes_wire::{Contents, Decoder, Encoder, Header, KeyId, Kind, Reader, WireError, packed_len};
use std::io::Read;
use std::sync::Arc;

const META: u16 = 1;
const BODY: u16 = 2;
/// Bytes of the first record without the encoded [`Other`].
const META_BYTES: u64 = SEED_BYTES + 16;
/// Most bytes of an encoded [`Other`], reached by the longest tag.
pub const MOST_OTHER_BYTES: u64 = 1024;

fn body_bytes(params: &Params) -> u64 {
    packed_len(
        params.ring().n(),
        params.descent_transform().modulus().bits(),
    ) as u64
}

fn contents(params: &Params, other: u64) -> Contents {
    let start = Contents::default().record(META_BYTES + other);
    start.records(LEVELS as u64, body_bytes(params))
}

impl Other {
    /// One byte, 0 for a set and 1 for a user; then the set's name, or the pattern and the tag.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Set(name) => [&[0], name.as_bytes()].concat(),
            Self::User { pattern, tag } => [&[1, *pattern], &tag[..]].concat(),
        }
    }

    /// Decodes the result of [`encode`](Self::encode); fails if it is malformed or names a set that this program lacks.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let mut sets = homaes_tfhe::sets::ALL.iter().map(|set| set.name.as_str());
        let found = match bytes {
            [0, name @ ..] => sets.find(|own| own.as_bytes() == name).map(Self::Set),
            // the patterns of `homaes_tfhe::interop::Format`, which exists with a feature only
            [1, pattern @ 0..=1, tag @ ..] => Some(Self::User {
                pattern: *pattern,
                tag: tag.to_vec(),
            }),
            _ => None,
        };
        found.ok_or(WireError::Malformed {
            what: "other side of the bridge",
            expected: "a TFHE set of this program, or a user of tfhe",
        })
    }
}

impl BridgeKey {
    /// Reads the target from the first record of a file of `params`. Fails if the file is damaged or of another set.
    pub fn describe_file<R: Read>(params: &Params, mut r: Reader<R>) -> Result<Target> {
        let (_, target, other) = head(params, &mut r)?;
        read::check_length::<crate::Error>(params.id(), r.header(), contents(params, other))?;
        rings(params)?;
        Ok(target)
    }

    /// Reads a key of `params` and expands its uniform halves. Fails if the file is damaged or of another set.
    pub fn read<R: Read>(params: &Arc<Params>, mut r: Reader<R>) -> Result<Self> {
        let id = r.header().key_id();
        let (seed, target, _) = head(params, &mut r)?;
        let (ring, transform) = rings(params)?;
        let m = transform.modulus();
        let mut pairs = masks(m, &seed, params.ring().n());
        for (level, [b, _]) in pairs.iter_mut().enumerate() {
            let body =
                read::record::<_, crate::Error>(&mut r, BODY, level as u64, body_bytes(params))?;
            let mut input = Decoder::new(&body);
            input.residues_into("bridge key", m.p(), b)?;
            input.finish("bridge key")?;
        }
        r.finish()?;
        Ok(Self {
            params: params.clone(),
            id,
            target,
            ring,
            transform,
            pairs,
            seed,
            fitness: None,
        })
    }

    /// Bytes of its file.
    pub fn file_bytes(&self) -> u64 {
        self.header().map_or(0, |header| header.file_bytes())
    }
}

/// Seed, target, and the length of its encoded [`Other`].
fn head<R: Read>(params: &Params, r: &mut Reader<R>) -> Result<([u8; 32], Target, u64)> {
    read::check_set(params.id(), r)?;
    let meta = r.next_record(META, META_BYTES + MOST_OTHER_BYTES)?;
    let mut input = Decoder::new(&meta);
    let seed = input.array::<32>("seed")?;
    let id = KeyId(input.array::<16>("key on the other side")?);
    let rest = &meta[meta.len() - input.left()..];
    let other = Other::decode(rest)?;
    Ok((seed, Target { id, other }, rest.len() as u64))
}

impl Records for BridgeKey {
    fn header(&self) -> Result<Header, WireError> {
        let other = self.target.other.encode();
        let contents = contents(&self.params, other.len() as u64);
        self.params.id().header(Kind::BridgeKey, self.id, contents)
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        let Some(index) = number.checked_sub(1) else {
            let meta = Encoder::new()
                .bytes(&self.seed)
                .bytes(&self.target.id.0)
                .bytes(&self.target.other.encode());
            return Ok(Record::new(META, 0, meta.finish()));
        };
        let [b, _] = &self.pairs[index as usize];
        let body = Encoder::with_capacity(body_bytes(&self.params) as usize);
        let body = body.residues(self.transform.modulus().p(), b);
        Ok(Record::new(BODY, index, body.finish()))
    }
}
