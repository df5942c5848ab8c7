//! Bytes to bridge: AES results block by block, or every slot of other ciphertexts.

use crate::error::{Error, Result};
use crate::fitness::Fitness;
use crate::noise::{BATCH, RLWE_BITS, packing_log2};
use crate::numbers::{Numbers, bytes_level};
use crate::slots_to_lwe::{ReadingNoise, SlotsToLwe};
use crate::target::Other;
use homaes_bgv::device::{Device, Lwes, Processor, Reading, Readings, upper};
use homaes_bgv::{Ciphertext, Evaluator, Lifted, Params, State};
use homaes_math::Words;
use homaes_rns::{Poly, log2};
use homaes_scheme::{Cancel, FieldError, Owner};
use homaes_tfhe::noise::NOMINAL_LOG2_SIGMA;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

const BYTES: usize = 16;

/// Bytes that have been lifted and switched to the subring, ready to be read.
pub struct Crossed {
    /// per ciphertext its numbers, lowest bits first: body and mask, fetched in case the device fails later
    numbers: Vec<Vec<[Poly; 2]>>,
    /// the device that reads them, unless it was left
    device: Arc<dyn Device>,
    /// canonical numbers for the processor, once the device was left
    left: OnceLock<Vec<Vec<[Poly; 2]>>>,
    params: Arc<Params>,
    /// ciphertext and slot of every byte
    places: Vec<(usize, usize)>,
    noise: ReadingNoise,
    crosses: Numbers,
    /// the BGV set, and the key of the LWE ciphertexts
    owner: Owner,
}

impl Crossed {
    /// Noise of the LWE ciphertexts of all bytes.
    pub fn noise(&self) -> ReadingNoise {
        self.noise
    }

    /// Number of bytes.
    pub fn bytes(&self) -> usize {
        self.places.len()
    }

    /// Leaves readings to the processor, such as after a fault of the device.
    pub fn leave_device(&self) {
        let m = self.params.descent_transform().modulus();
        let canonical = |part: &Poly| {
            let mut part = part.clone();
            part.limbs[0].iter_mut().for_each(|x| *x = m.canonical(*x));
            part
        };
        self.left.get_or_init(|| {
            let numbers = self.numbers.iter();
            let copy = |parts: &[Poly; 2]| parts.each_ref().map(canonical);
            numbers.map(|all| all.iter().map(copy).collect()).collect()
        });
    }
}

impl SlotsToLwe<'_> {
    /// The numbers of every byte of `a`, lowest bits first.
    pub(crate) fn lifted(&self, eval: &Evaluator<'_>, a: &Ciphertext) -> Result<Vec<Lifted>> {
        Ok(match self.numbers() {
            Numbers::Bits => eval.bit_planes(a)?,
            Numbers::Pairs => eval.bit_pairs(a)?,
            Numbers::Bytes(log2_t) => {
                let lifting = eval.lifting(bytes_level(log2_t), log2_t)?;
                vec![lifting.lift(a)?.into_lifted()]
            }
        })
    }

    /// Lifts and switches an AES result, so that its bytes can be read in order, 16 per block.
    ///
    /// Cost per ciphertext of the state: lifting, and nine to eleven transforms of the ring per number.
    ///
    /// # Errors
    /// If the state is bit-sliced or belongs to another set or key, if its level is too low, or if a reading of the
    /// batch would be wrong with probability above that of a failure of the set.
    pub fn cross(&self, eval: &Evaluator<'_>, state: &State) -> Result<Crossed> {
        self.cross_until(eval, state, &Cancel::new())
    }

    /// As [`cross`](Self::cross); checks `cancel` before every ciphertext and then fails with
    /// [`homaes_bgv::Error::Cancelled`].
    pub fn cross_until(
        &self,
        eval: &Evaluator<'_>,
        state: &State,
        cancel: &Cancel,
    ) -> Result<Crossed> {
        let params = self.params();
        let blocks = params.blocks_per_batch(state.layout());
        let bytes = (0..blocks).flat_map(|block| (0..BYTES).map(move |byte| (block, byte)));
        let places = bytes.map(|(block, byte)| Ok(state.place(params, block, byte)?));
        let places = places.collect::<Result<_>>()?;
        self.crossed(eval, state.ciphertexts(), places, cancel)
    }

    /// Lifts and switches all slots of `inputs` in order, such as results of an [`Evaluator`](homaes_bgv::Evaluator). The
    /// bound on wrong readings allows at most 64 ciphertexts. Cost and errors: as [`cross`](Self::cross).
    pub fn cross_slots(&self, eval: &Evaluator<'_>, inputs: &[Ciphertext]) -> Result<Crossed> {
        let count = self.params().slots().count();
        let places = (0..inputs.len()).flat_map(|i| (0..count).map(move |slot| (i, slot)));
        self.crossed(eval, inputs, places.collect(), &Cancel::new())
    }

    fn crossed(
        &self,
        eval: &Evaluator<'_>,
        inputs: &[Ciphertext],
        places: Vec<(usize, usize)>,
        cancel: &Cancel,
    ) -> Result<Crossed> {
        // every ciphertext adds its share of the key's bound
        let most = self.params().set().log2_p_fail;
        let batches = inputs.len() as f64 / BATCH as f64;
        let failure_log2 = Fitness::most(most).read_log2 + batches.log2();
        if failure_log2 > most {
            return Err(Error::TooNoisy { failure_log2, most });
        }
        let mut log2_sigma = f64::NEG_INFINITY;
        let numbers = inputs.iter().map(|a| {
            cancel.check().map_err(homaes_bgv::Error::from)?;
            let lifted = self.lifted(eval, a)?;
            log2_sigma = log2_sigma.max(self.noise_log2(&lifted[0])?);
            self.switched(eval, &lifted)
        });
        let numbers = numbers.collect::<Result<Vec<_>>>()?;
        for part in numbers.iter().flatten().flatten() {
            part.limbs.fetch().map_err(homaes_bgv::Error::from)?;
        }
        Ok(Crossed {
            numbers,
            places,
            device: eval.device().clone(),
            left: OnceLock::new(),
            params: self.key().params.clone(),
            noise: ReadingNoise {
                log2_sigma,
                failure_log2,
            },
            crosses: self.numbers(),
            owner: Owner::new(self.params().id(), Some(self.key().target().id)),
        })
    }

    /// LWE ciphertexts of the bytes numbered `bytes`, byte by byte, lowest bits first; [`words`](Self::words) words
    /// each. Cost per number: see [`Device::read`].
    ///
    /// # Errors
    /// If `crossed` holds other numbers or belongs to another set or key, if there are no such bytes, or if the device
    /// of the crossing fails.
    pub fn lwes(&self, crossed: &Crossed, bytes: Range<usize>) -> Result<Words> {
        self.check_crossed(crossed, &bytes)?;
        let mut out = Words::scratch(bytes.len() * self.numbers().count() * self.words());
        self.read(crossed, bytes, Lwes::Words(&mut out))?;
        Ok(out)
    }

    /// [`lwes`](Self::lwes) of pairs for a user of `tfhe`, as bytes: the upper 32 bits of every word, rounded,
    /// little-endian. Never holds all LWE ciphertexts in memory. Rounding adds noise of at most √((d + 1)/12)·2^-32 of
    /// the torus for dimension d: 2^-28.3 for d = 2048.
    ///
    /// # Errors
    /// As [`lwes`](Self::lwes); also if the crossing is not one of pairs or a block would exceed nominal noise.
    pub fn record(&self, crossed: &Crossed, bytes: Range<usize>) -> Result<Vec<u8>> {
        self.check_crossed(crossed, &bytes)?;
        self.check(Numbers::Pairs)?;
        crossed.noise.nominal()?;
        let len = WORD_BYTES * self.words();
        let mut out = vec![0; bytes.len() * self.numbers().count() * len];
        self.read(crossed, bytes, Lwes::Upper(&mut out))?;
        Ok(out)
    }

    /// Bytes of a crossing of bytes, as many as the link key has bits or fewer, in one RLWE ciphertext: mask, then body,
    /// the upper 32 bits of every word, rounded, little-endian. Byte x is coefficient [`place`]; the coefficients of
    /// missing bytes are 0.
    ///
    /// Noise: [`rlwe_log2`](Self::rlwe_log2). Cost: of n bits, a reading per byte and n - 1 automorphisms.
    ///
    /// # Errors
    /// As [`lwes`](Self::lwes); also if there are more bytes, if the crossing is not one of bytes, or if the bridge
    /// leads elsewhere.
    pub fn rlwe(&self, crossed: &Crossed, bytes: Range<usize>, cancel: &Cancel) -> Result<Vec<u8>> {
        self.check_crossed(crossed, &bytes)?;
        let (key, len) = (self.key(), self.words());
        let n = key.dimension();
        let packing = key.packing.as_ref().ok_or_else(|| Error::Target {
            found: key.target().other.clone(),
            expected: Other::Link {
                log2_t: self.numbers().log2_t(),
            },
        })?;
        if bytes.len() > n {
            return Err(FieldError::new("bytes to pack", bytes.len() as u64, n as u64).into());
        }
        let mut lwes = Words::zeroed(bytes.len() * len);
        self.read(crossed, bytes, Lwes::Words(&mut lwes))?;
        let nothing = vec![0; len];
        let mut placed = vec![&nothing[..]; n];
        for (x, lwe) in lwes.chunks_exact(len).enumerate() {
            placed[place(x, n)] = lwe;
        }
        let packed = packing.pack(placed, cancel)?;
        Ok(packed
            .iter()
            .flat_map(|&x| upper(x).to_le_bytes())
            .collect())
    }

    /// log2 of the standard deviation of the noise of [`rlwe`](Self::rlwe) on the torus.
    pub fn rlwe_log2(&self, crossed: &Crossed) -> f64 {
        log2::hypot(
            crossed.noise.log2_sigma,
            packing_log2(self.key().dimension()),
        )
    }

    fn check_crossed(&self, crossed: &Crossed, bytes: &Range<usize>) -> Result<()> {
        let what = "crossed state";
        crossed.owner.check_set(what, self.params().id())?;
        crossed.owner.check_key(what, self.key().target().id)?;
        self.check(crossed.crosses)?;
        let (end, most) = (bytes.end.max(bytes.start) as u64, crossed.bytes() as u64);
        match bytes.start <= bytes.end && end <= most {
            true => Ok(()),
            false => Err(FieldError::new("end of the bytes to read", end, most).into()),
        }
    }

    fn read(&self, crossed: &Crossed, bytes: Range<usize>, out: Lwes<'_>) -> Result<()> {
        let (numbers, places) = (self.numbers().count(), &crossed.places[bytes]);
        // adjacent slots of one ciphertext and class are read together
        let key = |&i: &usize| (places[i].0, self.class(places[i].1), places[i].1);
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_unstable_by_key(key);
        let (device, held): (&dyn Device, _) = match crossed.left.get() {
            Some(left) => (&Processor, left),
            None => (&*crossed.device, &crossed.numbers),
        };
        let all = (0..numbers).flat_map(|number| order.iter().map(move |&i| (number, i)));
        let all = all.map(|(number, i)| {
            let (ciphertext, slot) = places[i];
            let of = &held[ciphertext][number];
            self.reading(of, slot, i * numbers + number)
        });
        let all: Vec<Reading<'_>> = all.collect();
        let transform = &self.key().transform;
        let readings = Readings {
            all: &all,
            transform,
        };
        Ok(device.read(self.params(), &readings, out)?)
    }

    /// The blocks numbered `blocks`, of 16 bytes each, as a state of the TFHE set that the bridge leads to.
    ///
    /// # Errors
    /// As [`lwes`](Self::lwes); also if the crossing is not one of bits, if the bridge leads to another set, or if
    /// there is more noise than AES states have.
    pub fn state(
        &self,
        crossed: &Crossed,
        blocks: Range<usize>,
        params: &homaes_tfhe::Params,
    ) -> Result<homaes_tfhe::State> {
        self.check(Numbers::Bits)?;
        let (found, expected) = (&self.key().target().other, params.set().name.as_str());
        if *found != Other::Set(expected) {
            return Err(Error::Target {
                found: found.clone(),
                expected: Other::Set(expected),
            });
        }
        let bytes = BYTES.saturating_mul(blocks.start)..BYTES.saturating_mul(blocks.end);
        let lwes = self.lwes(crossed, bytes)?;
        Ok(homaes_tfhe::State::from_lwes(
            params,
            self.key().target().id,
            lwes,
            crossed.noise.log2_sigma,
        )?)
    }
}

/// Coefficient of byte `x` among the `n` of a packed ciphertext: even bytes take the lower half, odd ones the upper, each
/// at its number with reversed bits. A CKKS library that moves coefficients to slots reverses the bits again, so even and
/// odd bytes come out in order, as real and imaginary parts.
pub fn place(x: usize, n: usize) -> usize {
    let half = n / 2;
    let reversed = (x / 2).reverse_bits() >> (usize::BITS - half.ilog2());
    x % 2 * half + reversed
}

/// Bytes of the result of [`SlotsToLwe::rlwe`] for link keys of `params`.
pub fn rlwe_bytes(params: &Params) -> u64 {
    let n = params.bridge_ring().map_or(0, |ring| ring.n());
    (2 * n * WORD_BYTES) as u64
}

/// Words of a record are multiples of 2^`RECORD_BITS`.
const RECORD_BITS: u32 = RLWE_BITS;
const WORD_BYTES: usize = 4;

/// The words of LWE ciphertexts in the result of [`SlotsToLwe::record`].
pub fn decode_lwes(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks();
    let word = |x: &[u8; WORD_BYTES]| u64::from(u32::from_le_bytes(*x)) << RECORD_BITS;
    words.iter().map(word).collect()
}

/// Bytes of a record of `blocks` AES blocks as pairs, for a crossing from `params`.
pub fn record_bytes(params: &Params, blocks: usize) -> u64 {
    let words = params.bridge_ring().map_or(0, |ring| ring.n() + 1);
    (blocks * BYTES * Numbers::Pairs.count() * words * WORD_BYTES) as u64
}

impl ReadingNoise {
    /// Refuses more noise than values of the crate `tfhe` may have.
    pub(crate) fn nominal(self) -> Result<()> {
        let (found, limit) = (self.log2_sigma, NOMINAL_LOG2_SIGMA);
        match found <= limit {
            true => Ok(()),
            false => Err(Error::Tfhe(homaes_tfhe::Error::TooNoisy {
                what: "a block for tfhe",
                found,
                limit,
            })),
        }
    }
}
