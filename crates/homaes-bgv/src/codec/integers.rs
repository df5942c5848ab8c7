//! Records of integers, for their owner to decrypt: each adds a multiple of what it holds to the numbers of a value.
//!
//! ```text
//! weight (8) ‖ what (1): 0 one; 1 slots; 2 sum of chosen slots
//! 2:    chosen slots, a bit each, lowest first (slots/8)
//! 1, 2: bits of the modulus (1) ‖ odd factor (8) ‖ one ciphertext, as in a batch
//! ```

use super::{put_ciphertext, take_ciphertext, value_bytes};
use crate::ciphertext::{Ciphertext, History};
use crate::circuit::Integers;
use crate::error::{Error, Result};
use crate::keys::SecretKey;
use crate::params::Params;
use homaes_scheme::Owner;
use homaes_wire::{Decoder, Encoder, KeyId};
use zeroize::Zeroizing;

/// Widest integers of a ciphertext.
const MOST_BITS: u8 = 32;

/// What a record multiplies by its weight and adds to the numbers of a value, modulo 2^64.
#[derive(Clone, Copy, Debug)]
pub enum Addend<'a> {
    /// 1, to a value of one number
    One,
    /// the number in each slot, to the number of that place
    Slots(&'a Integers),
    /// the sum over the slots whose bits are set, lowest bit first, to a value of one number
    Sum(&'a Integers, &'a [u8]),
}

impl Addend<'_> {
    /// Its record with `weight`, for the owner of `key`.
    ///
    /// # Errors
    /// [`Error::Field`] for another number of slots; if the integers are of another set or key.
    pub fn encode(self, params: &Params, key: KeyId, weight: u64) -> Result<Vec<u8>> {
        let out = Encoder::with_capacity(most_bytes(params) as usize).u64(weight);
        let (out, x) = match self {
            Self::One => return Ok(out.u8(0).finish()),
            Self::Slots(x) => (out.u8(1), x),
            Self::Sum(x, chosen) => {
                let expected = params.slots().count() / 8;
                if chosen.len() != expected {
                    return Err(Error::field(
                        "bytes of chosen slots",
                        chosen.len(),
                        expected,
                    ));
                }
                (out.u8(2).bytes(chosen), x)
            }
        };
        x.ciphertext.check(params, key)?;
        let out = out.u8(x.bits as u8).u64(x.factor);
        Ok(put_ciphertext(params, &x.ciphertext, out).finish())
    }
}

/// Longest record.
pub(crate) fn most_bytes(params: &Params) -> u64 {
    18 + (params.slots().count() / 8) as u64 + value_bytes(params, params.top_level())
}

/// A record, read.
struct Share {
    weight: u64,
    /// of a sum
    chosen: Option<Vec<u8>>,
    /// with bits of the modulus and odd factor
    integers: Option<(Ciphertext, u32, u64)>,
}

impl Share {
    fn read(params: &Params, key: Option<KeyId>, body: &[u8]) -> Result<Self> {
        let mut input = Decoder::new(body);
        let weight = input.u64("weight of a record")?;
        let what = input.u8("kind of a record")?;
        let mut chosen = None;
        let mut integers = None;
        match what {
            0 => (),
            1 | 2 => {
                if what == 2 {
                    let bytes = params.slots().count() / 8;
                    chosen = Some(input.bytes("chosen slots", bytes)?.to_vec());
                }
                let bits = input.u8("bits of the modulus")?;
                if !(1..=MOST_BITS).contains(&bits) {
                    return Err(Error::field(
                        "bits of the modulus",
                        bits.into(),
                        MOST_BITS.into(),
                    ));
                }
                let factor = input.u64("odd factor")?;
                if factor % 2 == 0 {
                    return Err(Error::field("odd factor, its last bit", 0, 1));
                }
                let (owner, top) = (Owner::new(params.id(), key), params.top_level());
                let level = |level| match (1..=top).contains(&level) {
                    true => Ok(level),
                    false => Err(Error::field("level", level, top)),
                };
                let c = take_ciphertext(params, owner, level, History::AES, &mut input)?;
                integers = Some((c, bits.into(), factor));
            }
            other => return Err(Error::field("kind of a record", other.into(), 2)),
        }
        input.finish("record of integers")?;
        Ok(Self {
            weight,
            chosen,
            integers,
        })
    }

    /// The numbers that it adds to.
    fn held(&self, params: &Params) -> usize {
        match (&self.integers, &self.chosen) {
            (Some(_), None) => params.slots().count(),
            _ => 1,
        }
    }
}

impl Params {
    /// Longest record of integers.
    pub fn most_integer_bytes(&self) -> u64 {
        most_bytes(self)
    }

    /// Checks a record of integers; how many numbers it adds to: all slots', or one.
    ///
    /// # Errors
    /// Its fault.
    pub fn integers_held(&self, body: &[u8]) -> Result<usize> {
        Ok(Share::read(self, None, body)?.held(self))
    }
}

impl SecretKey {
    /// What a record of integers adds to the numbers of its value, modulo 2^64.
    ///
    /// # Errors
    /// The record's fault; as [`SecretKey::integers`].
    pub fn decrypt_integers(&self, body: &[u8]) -> Result<Vec<u64>> {
        let share = Share::read(self.params(), Some(self.id()), body)?;
        let Some((c, bits, factor)) = &share.integers else {
            return Ok(vec![share.weight]);
        };
        let mut numbers = Zeroizing::new(self.numbers(c, *bits, *factor)?);
        if let Some(chosen) = &share.chosen {
            let is_chosen = |slot: &usize| chosen[slot / 8] >> (slot % 8) & 1 == 1;
            let all = (0..numbers.len()).filter(is_chosen);
            let sum = all.fold(0u64, |sum, slot| sum.wrapping_add(numbers[slot]));
            return Ok(vec![sum.wrapping_mul(share.weight)]);
        }
        let weigh = |x: &mut u64| *x = x.wrapping_mul(share.weight);
        numbers.iter_mut().for_each(weigh);
        Ok(std::mem::take(&mut *numbers))
    }
}
