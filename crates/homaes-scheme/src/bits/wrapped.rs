//! The AES key under FHE: the bits of every round key, the same in all slots, at the level of their use.

use super::{BITS, BitScheme, BitSecret, Error, Result, State};
use crate::read::{self, SEED_BYTES};
use crate::traits::WrappedFile;
use crate::{FieldError, KeyRecords, Load, Mismatch, Owner, Record, Records, WrappedKeyInfo};
use homaes_aes::{Block, Direction, KeySize, Layout, RoundKeys};
use homaes_wire::{Contents, Decoder, Encoder, Header, KeyId, Kind, Reader, WireError};
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use rayon::prelude::*;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use zeroize::Zeroizing;

pub(super) const META: u16 = 1;
const ROUND_KEY: u16 = 2;
/// Bytes of the first record before the seed.
const META_BYTES: u64 = 5;

/// The first record of a wrapped key.
#[derive(Clone, Copy, Debug)]
pub struct Head<S> {
    pub(super) size: KeySize,
    pub(super) direction: Direction,
    /// level of the first round key
    pub(super) start: usize,
    seed: S,
}

impl<S: AsRef<[u8]> + AsMut<[u8]> + Copy + Default + Send + Sync> Head<S> {
    /// Round keys for AES that leaves at least `left` multiplications.
    ///
    /// # Errors
    /// [`Mismatch::Levels`] if the set has too few levels.
    pub fn new<P: BitScheme<Seed = S>>(
        params: &P,
        (size, direction): (KeySize, Direction),
        left: usize,
        seed: S,
    ) -> Result<Self> {
        let start = params.start_level(size, left).ok_or(Mismatch::Levels {
            layout: Layout::Bits,
            size,
            wanted: left,
            most: params.levels_left(size),
            set: params.id().name,
        })?;
        Ok(Self {
            size,
            direction,
            start,
            seed,
        })
    }

    /// Checks that the file has the records that its first one promises.
    fn read<P: BitScheme<Seed = S>>(params: &P, r: &mut Reader<impl Read>) -> Result<Self> {
        read::check_set(params.id(), r)?;
        let mut seed = S::default();
        let bytes = META_BYTES + seed.as_ref().len() as u64;
        let body = read::record::<_, Error>(r, META, 0, bytes)?;
        let mut input = Decoder::new(&body);
        let cipher = read::take_cipher::<Error>(&mut input)?;
        let start = usize::from(input.u16("level of the first round key")?);
        let len = seed.as_ref().len();
        seed.as_mut().copy_from_slice(input.bytes("seed", len)?);
        input.finish("wrapped key")?;
        let least = Self::new(params, cipher, 0, seed)?;
        let left = start.checked_sub(least.start);
        let there = left.and_then(|left| params.start_level(cipher.0, left));
        if there != Some(start) {
            let (found, expected) = (start as u64, least.start as u64);
            return Err(FieldError::new("level of the first round key", found, expected).into());
        }
        let head = Self { start, ..least };
        read::check_length::<Error>(params.id(), r.header(), head.contents(params))?;
        Ok(head)
    }

    /// Level of round key `r`.
    pub(super) fn level<P: BitScheme>(&self, params: &P, r: usize) -> usize {
        self.start - r * params.sbox().levels()
    }

    /// Levels of the ciphertexts, in the order of the file.
    pub fn levels<P: BitScheme>(&self, params: &P) -> Vec<usize> {
        let rounds = 0..=self.size.rounds();
        let levels = rounds.flat_map(|r| std::iter::repeat_n(self.level(params, r), BITS));
        levels.collect()
    }

    fn contents<P: BitScheme>(&self, params: &P) -> Contents {
        let bytes = META_BYTES + self.seed.as_ref().len() as u64;
        let levels = self.levels(params).into_iter();
        levels.fold(Contents::default().record(bytes), |contents, level| {
            contents.record(params.round_key_bytes(level))
        })
    }

    fn header<P: BitScheme>(&self, params: &P, id: KeyId) -> Result<Header, WireError> {
        let contents = self.contents(params);
        params.id().header(Kind::WrappedKey, id, contents)
    }

    fn record(&self) -> Record {
        let out = read::put_cipher(Encoder::new(), self.size, self.direction);
        let out = out.u16(self.start as u16).bytes(self.seed.as_ref());
        Record::new(META, 0, out.finish())
    }

    fn info<P: BitScheme>(&self, params: &P) -> WrappedKeyInfo {
        let output = self.level(params, self.size.rounds());
        WrappedKeyInfo::expanded(self.size, self.direction, vec![(Layout::Bits, output)])
    }
}

/// Encrypted round keys of one AES key and direction.
pub struct WrappedKey<P: BitScheme> {
    pub(super) params: Arc<P>,
    pub(super) id: KeyId,
    pub(super) head: Head<P::Seed>,
    /// those of one AES-128 key may be gigabytes, of which a round needs a tenth
    bodies: KeyRecords,
}

impl<P: BitScheme> WrappedKey<P> {
    /// Ciphertexts that were made for `secret` by [`BitSecret::wrap_bit`], or are like them.
    pub fn of_bodies(secret: &P::SecretKey, head: Head<P::Seed>, bodies: Vec<Vec<u8>>) -> Self {
        Self {
            params: secret.params().clone(),
            id: secret.id(),
            head,
            bodies: KeyRecords::Memory(bodies),
        }
    }

    /// Reads a wrapped key of `params`.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn read<R: Read>(params: &Arc<P>, r: Reader<R>) -> Result<Self> {
        Self::load(params, r, KeyRecords::read)
    }

    /// As [`read`](Self::read), but leaves the ciphertexts in the file until they are used, after they were all read
    /// once.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn open(params: &Arc<P>, r: Reader<File>) -> Result<Self> {
        Self::load(params, r, KeyRecords::open)
    }

    fn load<R: Read>(params: &Arc<P>, mut r: Reader<R>, records: Load<R, Error>) -> Result<Self> {
        let id = r.header().key_id();
        let head = Head::read(&**params, &mut r)?;
        let levels = head.levels(&**params);
        let lengths = levels.iter().map(|&level| params.round_key_bytes(level));
        let mut check = |number: usize, body: &[u8]| params.check_round_key(levels[number], body);
        Ok(Self {
            params: params.clone(),
            id,
            head,
            bodies: records(r, ROUND_KEY, &lengths.collect::<Vec<_>>(), &mut check)?,
        })
    }

    /// The contents of a file of `params`, from its first record and its length.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn describe_file(params: &P, mut r: Reader<impl Read>) -> Result<WrappedKeyInfo> {
        Ok(Head::read(params, &mut r)?.info(params))
    }

    /// AddRoundKey of round key `r` to a state of its level.
    ///
    /// # Errors
    /// Names what is wrong with the records of the key.
    pub fn add_round_key(&self, r: usize, state: &mut State<P>) -> Result<()> {
        let (params, level) = (&self.params, self.head.level(&*self.params, r));
        let owner = Owner::new(params.id(), Some(self.id));
        let numbers = (r * BITS..(r + 1) * BITS).into_par_iter();
        let pairs = numbers.zip(&mut state.bits).with_max_len(1);
        pairs.try_for_each_init(Vec::new, |buffer, (number, bit)| {
            let body = self.bodies.body(number, buffer)?;
            let key = params.take_round_key(owner, level, (&self.head.seed, number), body)?;
            params.add(bit, &key);
            Ok(())
        })
    }
}

impl<P: BitScheme> Records for WrappedKey<P> {
    fn header(&self) -> Result<Header, WireError> {
        self.head.header(&*self.params, self.id)
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        let Some(index) = number.checked_sub(1) else {
            return Ok(self.head.record());
        };
        let mut buffer = Vec::new();
        let body = self.bodies.body(index as usize, &mut buffer)?.to_vec();
        Ok(Record::new(ROUND_KEY, index, body))
    }
}

impl<P: BitScheme> WrappedFile for WrappedKey<P> {
    fn describe(&self) -> WrappedKeyInfo {
        self.head.info(&*self.params)
    }
}

homaes_wire::debug_fields!(WrappedKey<P> where P: BitScheme, id);

/// The file of a wrapped key, made ciphertext by ciphertext.
pub struct WrappedKeyFile<'s, P: BitScheme> {
    secret: &'s P::SecretKey,
    head: Head<P::Seed>,
    errors: Zeroizing<[u8; SEED_BYTES as usize]>,
    /// round keys in the coordinates of the state
    keys: Zeroizing<Vec<Block>>,
}

impl<'s, P: BitScheme> WrappedKeyFile<'s, P> {
    /// The round keys of `direction`, for AES that leaves at least `left` multiplications.
    ///
    /// # Errors
    /// [`Mismatch::Levels`] if the set has too few levels.
    pub fn generate(
        secret: &'s P::SecretKey,
        keys: &RoundKeys,
        direction: Direction,
        left: usize,
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        let params = &**secret.params();
        let seed = P::Seed::default();
        let mut head = Head::new(params, (keys.size(), direction), left, seed)?;
        rng.fill_bytes(head.seed.as_mut());
        let mut errors = Zeroizing::new([0; SEED_BYTES as usize]);
        rng.fill_bytes(errors.as_mut());
        Ok(Self {
            secret,
            head,
            errors,
            keys: params.sbox().folding().keys(&keys.schedule(direction)),
        })
    }

    /// Ciphertext `index`, as the file has it.
    fn body(&self, index: usize) -> Vec<u8> {
        let (r, k) = (index / BITS, index % BITS);
        let bit = self.keys[r][k / 8] >> (k % 8) & 1;
        let level = self.head.level(&**self.secret.params(), r);
        let mut rng = ChaCha20Rng::from_seed(*self.errors);
        rng.set_stream(index as u64);
        let of = (&self.head.seed, index);
        self.secret.wrap_bit(bit, level, of, &mut rng)
    }

    /// All of it in memory.
    #[must_use]
    pub fn all(&self) -> WrappedKey<P> {
        let count = BITS * (self.head.size.rounds() + 1);
        let bodies = (0..count).into_par_iter().map(|index| self.body(index));
        WrappedKey::of_bodies(self.secret, self.head, bodies.collect())
    }
}

impl<P: BitScheme> Records for WrappedKeyFile<'_, P> {
    fn header(&self) -> Result<Header, WireError> {
        self.head.header(&**self.secret.params(), self.secret.id())
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        Ok(match number.checked_sub(1) {
            None => self.head.record(),
            Some(index) => Record::new(ROUND_KEY, index, self.body(index as usize)),
        })
    }
}

impl<P: BitScheme> WrappedFile for WrappedKeyFile<'_, P> {
    fn describe(&self) -> WrappedKeyInfo {
        self.head.info(&**self.secret.params())
    }
}

/// Sizes of the files of a set, without making them: secret and evaluation key of these records, and wrapped key of the
/// largest AES key.
pub fn file_bytes<P: BitScheme>(params: &P, secret: Contents, eval: Contents) -> [u64; 3] {
    let cipher = (params.largest_size(), Direction::Encrypt);
    let wrapped = Head::new(params, cipher, 0, P::Seed::default());
    let wrapped = wrapped.map(|head| head.contents(params));
    [
        (Kind::SecretKey, secret),
        (Kind::EvalKey, eval),
        (Kind::WrappedKey, wrapped.unwrap_or_default()),
    ]
    .map(|(kind, contents)| {
        let header = params.id().header(kind, KeyId([0; 16]), contents);
        header.map_or(0, |h| h.file_bytes())
    })
}
