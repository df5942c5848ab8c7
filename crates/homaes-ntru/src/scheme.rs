//! NTRU: leveled, bit-sliced, in batches of as many blocks as a ciphertext has slots. None of its sets is secure.

use crate::bits::Bits;
use crate::card::card;
use crate::ciphertext::{Encrypted, public, sum, take_element};
use crate::noise::Noise;
use crate::sets::{SboxDepth, Variant};
use crate::{
    Arithmetic, Ciphertext, EvalKey, EvalKeyFile, Params, PrimePower, Result, Rns, SecretKey, sets,
};
use homaes_aes::KeySize;
use homaes_rns::Meter;
use homaes_scheme::bits::{BitEvalKey, BitScheme, BitSecret, batch_bytes};
use homaes_scheme::traits::{self, Input, SchemeEntry};
use homaes_scheme::{
    Cancel, NoiseTerms, Owner, ParamsError, Quality, Reading, Records, ReferenceOp, SetCard, SetId,
};
use homaes_wire::{Decoder, Encoder, KeyId, Kind};
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;
use std::sync::Arc;
use zeroize::Zeroizing;

/// States that evaluation holds at once, at least: what enters a round and what leaves it.
const STATES: u64 = 2;

/// The scheme.
pub static SCHEME: SchemeEntry = SchemeEntry {
    noise_terms: NoiseTerms {
        noise: "noise",
        meaning: "noise: log2 of its root mean square over the embeddings, by the model; noise left: log2 of half the modulus over\nthe standard deviation of a coefficient.",
    },
    reference_op: ReferenceOp::Transform,
    has_levels: true,
    memory_of_key,
    ..SchemeEntry::new("ntru", names, params)
};

fn names() -> Vec<&'static str> {
    sets::ALL.iter().map(|set| set.name.as_str()).collect()
}

fn params(name: &str) -> Option<Result<Arc<dyn traits::Params>, ParamsError>> {
    let set = sets::by_name(name)?;
    let params = match set.variant {
        Variant::Paper { .. } => Params::<PrimePower>::new(set).map(|p| p as _),
        Variant::Rns | Variant::Hybrid => Params::<Rns>::new(set).map(|p| p as _),
    };
    Some(params.map_err(ParamsError::of))
}

/// Wrapped keys stay in their files.
fn memory_of_key(kind: Kind, file_bytes: u64) -> u64 {
    match kind {
        Kind::WrappedKey => 0,
        // words of the evaluation key are not packed, and in groups there are more of them
        Kind::EvalKey => file_bytes / 4 * 9,
        _ => file_bytes,
    }
}

impl<A: Arithmetic> BitScheme for Params<A> {
    type Ciphertext = Ciphertext<A>;
    type SecretKey = SecretKey<A>;
    type EvalKey = EvalKey<A>;
    type Seed = [u8; 0];
    type Meter = Meter;

    fn card(&self) -> SetCard {
        card(self)
    }

    fn id(&self) -> SetId<'_> {
        SetId::new(self.set().name.as_str(), self.digest())
    }

    fn slot_count(&self) -> usize {
        self.slots().count()
    }

    fn sbox(&self) -> SboxDepth {
        self.set().sbox
    }

    fn rounds(&self) -> usize {
        self.set().rounds
    }

    /// What AES leaves are whole rounds.
    fn start_level(&self, size: KeySize, left: usize) -> Option<usize> {
        let depth = self.sbox().levels();
        let rounds = size.rounds().checked_add(left.div_ceil(depth))?;
        (rounds <= self.rounds()).then_some(rounds * depth + 1)
    }

    fn memory_of_run(&self) -> u64 {
        batch_bytes(self, self.top_level()).saturating_mul(STATES)
    }

    fn ciphertext_bytes(&self, level: usize) -> u64 {
        self.arithmetic().element_bytes(level)
    }

    fn round_key_bytes(&self, level: usize) -> u64 {
        self.arithmetic().element_bytes(level)
    }

    fn quality(&self, c: &Ciphertext<A>) -> Quality {
        Quality::new(c.level, c.noise.rms_log2, c.capacity_bits(self))
    }

    fn add(&self, a: &mut Ciphertext<A>, b: &Ciphertext<A>) {
        assert_eq!(a.level, b.level, "summands are at one level");
        *a = sum(self, a, b);
    }

    fn take(
        &self,
        owner: Owner,
        level: usize,
        rms_log2: f64,
        input: &mut Decoder<'_>,
    ) -> Result<Ciphertext<A>> {
        Ok(Encrypted {
            owner,
            level,
            element: self.arithmetic().take(level, "ciphertext", input)?,
            noise: Noise { rms_log2 },
        })
    }

    fn take_round_key(
        &self,
        owner: Owner,
        level: usize,
        _: (&[u8; 0], usize),
        body: &[u8],
    ) -> Result<Ciphertext<A>> {
        Ok(Encrypted {
            owner,
            level,
            element: take_element(self, level, "wrapped key", body)?,
            noise: self.fresh(),
        })
    }

    fn check_round_key(&self, level: usize, body: &[u8]) -> Result<()> {
        take_element(self, level, "wrapped key", body).map(drop)
    }

    fn generate(
        self: &Arc<Self>,
        rng: &mut ChaCha20Rng,
        _: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<SecretKey<A>> {
        SecretKey::generate(self, rng)
    }

    fn read_secret(self: &Arc<Self>, file: Input<'_>) -> Result<SecretKey<A>> {
        SecretKey::read(self, file)
    }

    fn read_eval(self: &Arc<Self>, file: Input<'_>) -> Result<EvalKey<A>> {
        EvalKey::read(self, file)
    }

    fn reading(meter: &Meter) -> Reading {
        meter.read()
    }
}

impl<A: Arithmetic> BitSecret for SecretKey<A> {
    type Scheme = Params<A>;

    fn params(&self) -> &Arc<Params<A>> {
        &self.params
    }

    fn id(&self) -> KeyId {
        self.id
    }

    /// The coefficients of f' and of g, 0 to 4 for 0, 1, 2, -2, -1, as a file has them.
    fn packed(&self) -> Zeroizing<Vec<u8>> {
        let out = [&self.f_prime, &self.g].map(|c| {
            // without a branch: 5 is added to negative ones
            let residues = c.iter().map(|&c| (c + (5 & (c >> 63))) as u64);
            Zeroizing::new(residues.collect::<Vec<u64>>())
        });
        let [f, g] = &out;
        Zeroizing::new(Encoder::new().residues(5, f).residues(5, g).finish())
    }

    fn bits_of(&self, c: &Ciphertext<A>) -> Result<(Zeroizing<Vec<u8>>, f64)> {
        self.decrypt(c)
    }

    fn noises_log2(&self, c: &Ciphertext<A>) -> Vec<f64> {
        vec![self.measure_noise(c)]
    }

    fn eval_file(&self, seed: [u8; 32]) -> Box<dyn Records + '_> {
        Box::new(EvalKeyFile::of_seed(self, seed))
    }

    fn wrap_bit(
        &self,
        bit: u8,
        level: usize,
        _: (&[u8; 0], usize),
        rng: &mut ChaCha20Rng,
    ) -> Vec<u8> {
        let arithmetic = self.params.arithmetic();
        // modulo 2, a bit in all slots is the same bit in all coefficients
        let mut message = Zeroizing::new(vec![0; self.params.ring().n()]);
        // `vec![value; n]` would look whether it is 0
        message.fill(i64::from(bit));
        let element = self.encrypt_at(level, &message, rng);
        let out = Encoder::with_capacity(arithmetic.element_bytes(level) as usize);
        arithmetic.put(level, &element, out).finish()
    }
}

impl<A: Arithmetic> BitEvalKey for EvalKey<A> {
    type Scheme = Params<A>;
    type View<'k> = Bits<'k, A>;

    fn params(&self) -> &Arc<Params<A>> {
        &self.params
    }

    fn key_id(&self) -> KeyId {
        self.id
    }

    fn view<'k>(&'k self, meter: &'k Meter, cancel: &Cancel) -> Bits<'k, A> {
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
        _: &Meter,
        _: &Cancel,
    ) -> Result<Vec<Ciphertext<A>>> {
        let bits = bits.par_iter().map(|own| public(&self.params, level, own));
        bits.collect()
    }

    fn pack(&self, c: &Ciphertext<A>) -> Vec<u8> {
        let arithmetic = self.params.arithmetic();
        let out = Encoder::with_capacity(arithmetic.element_bytes(c.level) as usize);
        arithmetic.put(c.level, &c.element, out).finish()
    }
}
