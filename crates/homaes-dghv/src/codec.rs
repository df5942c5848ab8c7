//! Keys and ciphertexts as records of the container (`docs/FORMAT.md`).
//!
//! | kind | tag | index | body |
//! |---|---|---|---|
//! | secret key | 1 | 0 | the ℓ primes, then q0, each in 64-bit words, lowest first, and zeros up to the length of the longest q0 |
//! | evaluation key | 1 | 0 | seed, 32 bytes |
//! | | 2 | 0 | x0, in words of γ bits |
//! | | 2 | 1 … ℓ | corrections of the encryptions of unit vectors, in words |
//! | | 2 | … | z_0 … z_(ℓ-1), eight to a record: 52-bit limbs, highest first, those of the eight side by side, zeros for missing ones |
//! | | 2 | … | corrections v of consecutive terms: for eight limbs at a time, lowest first, those of all terms of the record |
//! | wrapped key | | | [`bits`]: with a seed, corrections in words |
//! | batch | | | [`bits`]: numbers modulo x0 in words of γ bits |
//!
//! Limbs are bit-packed, 52 bits each.

use crate::error::{Error, Result};
use crate::eval::{EvalKey, Learnt};
use crate::eval_key::{EvalKeyFile, Part};
use crate::keys::SecretKey;
use crate::params::Params;
use homaes_math::natural::{bit_length, words_of};
use homaes_scheme::bits::{self, BitScheme, BitSecret};
use homaes_scheme::read::{self, SEED_BYTES, take_words};
use homaes_scheme::{KeyRecords, Load, Record, Records};
use homaes_wire::{Contents, Header, Kind, Reader, WireError};
use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use zeroize::Zeroizing;

const META: u16 = 1;
const NUMBERS: u16 = 2;

impl SecretKey {
    /// Bytes of the primes, and of the longest q0.
    pub(crate) fn body_bytes(params: &Params) -> [usize; 2] {
        let set = params.set();
        let q0 = set.gamma - 2 * (set.eta - 1) * set.slots + 2;
        [set.slots * 8 * words_of(set.eta), 8 * words_of(q0)]
    }

    /// Reads a key of `params`.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn read<R: Read>(params: &Arc<Params>, mut r: Reader<R>) -> Result<Self> {
        read::check_set(params.id(), &r)?;
        let id = r.header().key_id();
        let [primes, most] = Self::body_bytes(params);
        let bytes = (primes + most) as u64;
        let body = Zeroizing::new(read::record::<_, Error>(&mut r, META, 0, bytes)?);
        r.finish()?;
        let words = Zeroizing::new(take_words(&body));
        let (primes, q0) = words.split_at(primes / 8);
        let each = primes.len() / params.slots();
        let primes: Vec<_> = primes
            .chunks(each)
            .map(|p| Zeroizing::new(p.to_vec()))
            .collect();
        let used = words_of(bit_length(q0));
        Self::from_parts(params, id, &primes, Zeroizing::new(q0[..used].to_vec()))
    }
}

impl EvalKey {
    fn contents(params: &Params) -> Contents {
        let start = Contents::default().record(SEED_BYTES);
        part_lengths(params).fold(start, Contents::record)
    }

    /// Reads a key of `params` into memory.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn read<R: Read>(params: &Arc<Params>, r: Reader<R>) -> Result<Self> {
        Self::load(params, r, KeyRecords::read)
    }

    /// As [`read`](Self::read), but leaves the numbers in the file until they are used, after they were all read once.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn open(params: &Arc<Params>, r: Reader<File>) -> Result<Self> {
        Self::load(params, r, KeyRecords::open)
    }

    fn load<R: Read>(
        params: &Arc<Params>,
        mut r: Reader<R>,
        records: Load<R, Error>,
    ) -> Result<Self> {
        let id = r.header().key_id();
        read::check_set(params.id(), &r)?;
        read::check_length::<Error>(params.id(), r.header(), Self::contents(params))?;
        let seed = read::record::<_, Error>(&mut r, META, 0, SEED_BYTES)?;
        let seed = read::seed(&seed)?;
        let mut learnt = Learnt::new(params);
        let lengths: Vec<u64> = part_lengths(params).collect();
        let mut check = |number: usize, body: &[u8]| learnt.record(params, number, body);
        let tiles = records(r, NUMBERS, &lengths, &mut check)?;
        Ok(learnt.key(params, id, seed, tiles))
    }
}

/// Lengths of the records of an evaluation key after the seed.
fn part_lengths(params: &Params) -> impl Iterator<Item = u64> + '_ {
    let parts = (0..Part::count(params)).map(|number| Part::of(params, number));
    parts.map(|part| part.bytes(params) as u64)
}

impl Records for EvalKeyFile<'_> {
    fn header(&self) -> Result<Header, WireError> {
        let params = self.secret.params();
        let contents = EvalKey::contents(params);
        params
            .id()
            .header(Kind::EvalKey, self.secret.id(), contents)
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        Ok(match number.checked_sub(1) {
            None => Record::new(META, 0, self.seed.to_vec()),
            Some(index) => Record::new(NUMBERS, index, self.part(index as usize)),
        })
    }
}

/// Sizes of the files of a set, without making them: secret (the largest), evaluation key, and wrapped key of the
/// largest AES key.
pub(crate) fn file_bytes(params: &Params) -> [u64; 3] {
    let [primes, q0] = SecretKey::body_bytes(params);
    let secret = Contents::default().record((primes + q0) as u64);
    bits::file_bytes(params, secret, EvalKey::contents(params))
}
