//! The bridge key as records of the container (`docs/FORMAT.md`).
//!
//! | tag | index | body |
//! |---|---|---|
//! | 1 | 0 | seed, 32 bytes; id of the target key, 16; then [`Other::encode`]: its kind and set, or pattern and tag |
//! | 2 | l = 0, 1, … | b_l in evaluation and stored form, canonical, bit-packed at the length of q |
//! | 3 | 0, 1, … | to a link key: records of its [`PackingKey`] |
//!
//! The header names the BGV set and the BGV secret key. The a_l are the ChaCha20 streams l of the seed. There are four
//! b_l, or ten to a link key.

use crate::error::Result;
use crate::key::{BridgeKey, masks, rings_to};
use crate::target::{Other, Target};
use homaes_bgv::Params;
use homaes_math::sample::Seed;
use homaes_scheme::read::{self, SEED_BYTES};
use homaes_scheme::{Record, Records};
use homaes_tfhe::PackingKey;
use homaes_wire::{Contents, Decoder, Encoder, Header, KeyId, Kind, Reader, WireError, packed_len};
use std::io::Read;
use std::sync::Arc;

const META: u16 = 1;
const BODY: u16 = 2;
const PACKING: u16 = 3;
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

fn contents(params: &Params, other: &Other) -> Contents {
    let start = Contents::default().record(META_BYTES + other.encode().len() as u64);
    let bodies = start.records(other.digits().levels as u64, body_bytes(params));
    match (other, params.bridge_ring().map(|ring| ring.n())) {
        (Other::Link { .. }, Some(n)) => {
            bodies.records(PackingKey::records(n) as u64, PackingKey::record_bytes(n))
        }
        _ => bodies,
    }
}

impl Other {
    /// One byte, 0 for a set, 1 for a user and 2 for a link; then the set's name, the pattern and the tag, or log2 t.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Set(name) => [&[0], name.as_bytes()].concat(),
            Self::User { pattern, tag } => [&[1, *pattern], &tag[..]].concat(),
            Self::Link { log2_t } => vec![2, *log2_t as u8],
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
            [2, log2_t] => Some(u32::from(*log2_t))
                .filter(|log2_t| Self::LINK_BITS.contains(log2_t))
                .map(|log2_t| Self::Link { log2_t }),
            _ => None,
        };
        found.ok_or(WireError::Malformed {
            what: "other side of the bridge",
            expected: "a TFHE set of this program, a user of tfhe, or a link key for bytes modulo 2^8 or 2^11",
        })
    }
}

impl BridgeKey {
    /// Reads the target from the first record of a file of `params`. Fails if the file is damaged or of another set.
    pub fn describe_file<R: Read>(params: &Params, mut r: Reader<R>) -> Result<Target> {
        let (_, target) = head(params, &mut r)?;
        let contents = contents(params, &target.other);
        read::check_length::<crate::Error>(params.id(), r.header(), contents)?;
        rings_to(params, &target.other)?;
        Ok(target)
    }

    /// Reads a key of `params` and expands its uniform halves. Fails if the file is damaged or of another set.
    pub fn read<R: Read>(params: &Arc<Params>, mut r: Reader<R>) -> Result<Self> {
        let id = r.header().key_id();
        let (seed, target) = head(params, &mut r)?;
        let (ring, transform) = rings_to(params, &target.other)?;
        let m = transform.modulus();
        let levels = target.other.digits().levels;
        let mut pairs = masks(m, &seed, levels, params.ring().n());
        for (level, [b, _]) in pairs.iter_mut().enumerate() {
            let body =
                read::record::<_, crate::Error>(&mut r, BODY, level as u64, body_bytes(params))?;
            let mut input = Decoder::new(&body);
            input.residues_into("bridge key", m.p(), &mut b.limbs[0])?;
            input.finish("bridge key")?;
        }
        let packing = match target.other {
            Other::Link { .. } => Some(packing_key(params, &seed, ring.n(), &mut r)?),
            Other::Set(_) | Other::User { .. } => None,
        };
        r.finish()?;
        Ok(Self {
            params: params.clone(),
            id,
            packing,
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

fn packing_key<R: Read>(
    params: &Params,
    seed: &Seed,
    degree: usize,
    r: &mut Reader<R>,
) -> Result<PackingKey> {
    let bytes = PackingKey::record_bytes(degree);
    let records = (0..PackingKey::records(degree) as u64)
        .map(|index| read::record::<_, crate::Error>(r, PACKING, index, bytes))
        .collect::<Result<Vec<_>>>()?;
    Ok(PackingKey::from_records(
        params.id(),
        seed,
        degree,
        &records,
    )?)
}

/// Seed and target.
fn head<R: Read>(params: &Params, r: &mut Reader<R>) -> Result<(Seed, Target)> {
    read::check_set(params.id(), r)?;
    let meta = r.next_record(META, META_BYTES + MOST_OTHER_BYTES)?;
    let mut input = Decoder::new(&meta);
    let seed = input.array::<32>("seed")?;
    let id = KeyId(input.array::<16>("key on the other side")?);
    let rest = &meta[meta.len() - input.left()..];
    let other = Other::decode(rest)?;
    Ok((seed, Target { id, other }))
}

impl Records for BridgeKey {
    fn header(&self) -> Result<Header, WireError> {
        let contents = contents(&self.params, &self.target.other);
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
        let levels = self.pairs.len() as u64;
        if let (Some(packing), Some(index)) = (&self.packing, index.checked_sub(levels)) {
            return Ok(Record::new(PACKING, index, packing.record(index as usize)));
        }
        let [b, _] = &self.pairs[index as usize];
        let body = Encoder::with_capacity(body_bytes(&self.params) as usize);
        let body = body.residues(self.transform.modulus().p(), &b.limbs[0]);
        Ok(Record::new(BODY, index, body.finish()))
    }
}
