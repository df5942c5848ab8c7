//! DGHV over the integers: leveled, bit-sliced, in batches of as many blocks as a ciphertext has primes. None of its
//! sets is secure.

use crate::card::card;
use crate::element::{compressed, expand, half_prime};
use crate::eval_key::correction_bytes;
use crate::{Bits, Ciphertext, EvalKey, EvalKeyFile, Meter, Params, Result, SecretKey, sets};
use homaes_aes::KeySize;
use homaes_math::natural::{bit_length, words_of};
use homaes_math::sample::Seed;
use homaes_scheme::bits::{BitEvalKey, BitScheme, BitSecret, SboxDepth};
use homaes_scheme::read::{put_words, take_words};
use homaes_scheme::traits::{self, Input, SchemeEntry};
use homaes_scheme::{
    Cancel, FieldError, NoiseTerms, Owner, ParamsError, Quality, Reading, Records, ReferenceOp,
    SetCard, SetId,
};
use homaes_wire::{Decoder, Encoder, KeyId, Kind, Reader};
use rand_chacha::ChaCha20Rng;
use std::fs::File;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The scheme.
pub static SCHEME: SchemeEntry = SchemeEntry {
    noise_terms: NoiseTerms {
        noise: "noise",
        meaning: "noise: log2 of the root mean square of r modulo a secret prime p, by the model; noise left: log2 of p/4 over that.",
    },
    reference_op: ReferenceOp::Product,
    has_levels: true,
    memory_of_key,
    ..SchemeEntry::new("dghv", names, params)
};

fn names() -> Vec<&'static str> {
    sets::ALL.iter().map(|set| set.name.as_str()).collect()
}

fn params(name: &str) -> Option<Result<Arc<dyn traits::Params>, ParamsError>> {
    let params = Params::new(sets::by_name(name)?);
    Some(params.map(|p| p as _).map_err(ParamsError::of))
}

/// Keys stay in their files, but for what is expanded from seeds.
fn memory_of_key(kind: Kind, file_bytes: u64) -> u64 {
    match kind {
        Kind::SecretKey => 40 * file_bytes,
        _ => 0,
    }
}

impl BitScheme for Params {
    type Ciphertext = Ciphertext;
    type SecretKey = SecretKey;
    type EvalKey = EvalKey;
    type Seed = Seed;
    type Meter = Meter;

    fn card(&self) -> SetCard {
        card(self)
    }

    fn id(&self) -> SetId<'_> {
        SetId::new(self.set().name.as_str(), self.digest())
    }

    fn slot_count(&self) -> usize {
        self.slots()
    }

    fn sbox(&self) -> SboxDepth {
        SboxDepth::Four
    }

    fn rounds(&self) -> usize {
        self.set().rounds
    }

    /// A higher level costs nothing.
    fn start_level(&self, size: KeySize, left: usize) -> Option<usize> {
        let most = self.levels_left(size)?;
        (left <= most).then(|| self.top_level())
    }

    /// The fixed factors, the state twice, and the products of the last level.
    fn memory_of_run(&self) -> u64 {
        let spectrum = 24 * self.long.digits();
        let fixed = (1 + self.set().digits.count()) * spectrum;
        let state = 2 * 128 * 8 * self.type_one_words();
        let products = 128 * 8 * self.type_two_words();
        (fixed + state + products) as u64
    }

    fn ciphertext_bytes(&self, _: usize) -> u64 {
        8 * self.words() as u64
    }

    fn round_key_bytes(&self, _: usize) -> u64 {
        correction_bytes(self) as u64
    }

    fn quality(&self, c: &Ciphertext) -> Quality {
        Quality::new(c.level, c.noise.r_log2, c.capacity_bits(self))
    }

    fn add(&self, sum: &mut Ciphertext, other: &Ciphertext) {
        sum.add(other);
    }

    fn take(
        &self,
        owner: Owner,
        level: usize,
        r_log2: f64,
        input: &mut Decoder<'_>,
    ) -> Result<Ciphertext> {
        let mut words = take_words(input.bytes("ciphertext", 8 * self.words())?);
        let (bits, most) = (bit_length(&words) as u64, self.set().gamma as u64);
        if bits > most {
            return Err(FieldError::new("bits of a ciphertext", bits, most).into());
        }
        words.resize(self.type_one_words(), 0);
        Ok(Ciphertext {
            owner,
            level,
            words,
            noise: self.noise().of_converted(r_log2),
        })
    }

    fn take_round_key(
        &self,
        owner: Owner,
        level: usize,
        (seed, number): (&Seed, usize),
        body: &[u8],
    ) -> Result<Ciphertext> {
        Ok(Ciphertext {
            owner,
            level,
            words: expand(self, seed, number as u64, &take_words(body)),
            noise: self.fresh(),
        })
    }

    fn generate(
        self: &Arc<Self>,
        rng: &mut ChaCha20Rng,
        tick: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<SecretKey> {
        SecretKey::generate_watched(self, rng, tick)
    }

    fn read_secret(self: &Arc<Self>, file: Input<'_>) -> Result<SecretKey> {
        SecretKey::read(self, file)
    }

    fn read_eval(self: &Arc<Self>, file: Input<'_>) -> Result<EvalKey> {
        EvalKey::read(self, file)
    }

    fn open_eval(self: &Arc<Self>, file: Reader<File>) -> Result<EvalKey> {
        EvalKey::open(self, file)
    }

    fn reading(meter: &Meter) -> Reading {
        meter.read()
    }
}

impl BitSecret for SecretKey {
    type Scheme = Params;

    fn params(&self) -> &Arc<Params> {
        &self.params
    }

    fn id(&self) -> KeyId {
        self.id
    }

    /// The primes and q0, as a file has them: words, lowest first.
    fn packed(&self) -> Zeroizing<Vec<u8>> {
        let words = words_of(self.params.set().eta);
        let [primes_bytes, q0_bytes] = Self::body_bytes(&self.params);
        let primes = self.crt().primes().iter().map(|p| &p.words()[..words]);
        let mut out = Encoder::with_capacity(primes_bytes + q0_bytes);
        for word in primes.flatten().chain(self.q0.iter()) {
            out = out.u64(*word);
        }
        let mut out = Zeroizing::new(out.finish());
        out.resize(primes_bytes + q0_bytes, 0);
        out
    }

    fn bits_of(&self, c: &Ciphertext) -> Result<(Zeroizing<Vec<u8>>, f64)> {
        let found = self.decrypt(c)?;
        Ok((found.bits, found.margin_bits))
    }

    fn noises_log2(&self, c: &Ciphertext) -> Vec<f64> {
        let parts = self.measure_noise(c).into_iter();
        parts.map(|(log, _)| log).collect()
    }

    fn eval_file(&self, seed: [u8; 32]) -> Box<dyn Records + '_> {
        Box::new(EvalKeyFile::of_seed(self, seed))
    }

    /// A correction of an element whose bulk comes from the seed.
    fn wrap_bit(
        &self,
        bit: u8,
        _: usize,
        (seed, number): (&Seed, usize),
        rng: &mut ChaCha20Rng,
    ) -> Vec<u8> {
        put_words(&compressed(self, rng, (seed, number as u64), |j| {
            half_prime(self, j, u64::from(bit))
        }))
    }
}

impl BitEvalKey for EvalKey {
    type Scheme = Params;
    type View<'k> = Bits<'k>;

    fn params(&self) -> &Arc<Params> {
        &self.params
    }

    fn key_id(&self) -> KeyId {
        self.id
    }

    fn view<'k>(&'k self, meter: &'k Meter, cancel: &Cancel) -> Bits<'k> {
        let cancel = cancel.clone();
        Bits {
            cancel,
            ..Bits::new(self, meter)
        }
    }

    fn public(
        &self,
        level: usize,
        bits: &[Vec<bool>],
        meter: &Meter,
        cancel: &Cancel,
    ) -> Result<Vec<Ciphertext>> {
        self.public(level, bits, meter, cancel)
    }

    fn pack(&self, c: &Ciphertext) -> Vec<u8> {
        let mut words = self.reduced(&c.words);
        words.resize(self.params.words(), 0);
        put_words(&words)
    }
}
