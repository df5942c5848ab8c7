//! The evaluation key in use.

use crate::ciphertext::{Ciphertext, Product};
use crate::convert::{Converter, add_rows};
use crate::error::Result;
use crate::eval_key::{EvalKeyFile, Part, slot_element};
use crate::keys::SecretKey;
use crate::meter::{Meter, Stage};
use crate::params::{LANES, Params};
use crate::rows::unpack_lanes;
use homaes_math::integer::Form;
use homaes_math::natural::{add_assign, set_bits};
use homaes_math::sample::Seed;
use homaes_scheme::bits::{BitScheme, BitSecret};
use homaes_scheme::read::take_words;
use homaes_scheme::{Cancel, FieldError, KeyRecords, Owner};
use homaes_wire::KeyId;
use rand_core::CryptoRng;
use rayon::prelude::*;
use std::sync::Arc;

const SLOTS_AT_ONCE: usize = 16;

/// The server's public key for evaluation.
pub struct EvalKey {
    pub(crate) params: Arc<Params>,
    pub(crate) id: KeyId,
    pub(crate) seed: Seed,
    pub(crate) tiles: KeyRecords,
    pub(crate) converter: Converter,
}

pub(crate) struct Learnt {
    x0: Vec<u64>,
    sum: Vec<u64>,
}

impl Learnt {
    pub(crate) fn new(params: &Params) -> Self {
        Self {
            x0: Vec::new(),
            sum: vec![0; LANES * params.correction_groups() + 1],
        }
    }

    /// Checks a record after the seed.
    pub(crate) fn record(&mut self, params: &Params, number: usize, body: &[u8]) -> Result<()> {
        match Part::of(params, number) {
            Part::Modulus => {
                let words = take_words(body);
                let bits = homaes_math::natural::bit_length(&words);
                let gamma = params.set().gamma;
                if !(gamma - 1..=gamma).contains(&bits) {
                    return Err(FieldError::new("bits of x0", bits as u64, gamma as u64).into());
                }
                self.x0 = words;
            }
            Part::Slot(_) => {}
            Part::Rows(_) => drop(unpack_lanes(body)?),
            Part::Block(number) => add_rows(params, number, &unpack_lanes(body)?, &mut self.sum),
        }
        Ok(())
    }

    pub(crate) fn key(
        self,
        params: &Arc<Params>,
        id: KeyId,
        seed: Seed,
        tiles: KeyRecords,
    ) -> EvalKey {
        EvalKey {
            converter: Converter::new(params, &seed, &self.x0, &self.sum),
            params: params.clone(),
            id,
            seed,
            tiles,
        }
    }
}

impl EvalKey {
    /// A new evaluation key of `secret`, in memory.
    pub fn generate(secret: &SecretKey, rng: &mut impl CryptoRng) -> Result<Self> {
        let mut seed = Seed::default();
        rng.fill_bytes(&mut seed);
        let file = EvalKeyFile::of_seed(secret, seed);
        let params = secret.params();
        let mut learnt = Learnt::new(params);
        let mut bodies = Vec::with_capacity(Part::count(params));
        for number in 0..Part::count(params) {
            let body = file.part(number);
            learnt.record(params, number, &body)?;
            bodies.push(body);
        }
        Ok(learnt.key(params, secret.id(), seed, KeyRecords::Memory(bodies)))
    }

    /// 2·a·b (CLT14 §3.1).
    pub(crate) fn multiply(&self, a: &Ciphertext, b: &Ciphertext, level: usize) -> Product {
        let c = &self.params.pair;
        let mut spectrum = c.forward(&a.words, Form::Plain);
        c.multiply_assign(&mut spectrum, &c.forward(&b.words, Form::Stored));
        let mut product = vec![0; self.params.type_two_words()];
        c.inverse(spectrum, 0, &mut product);
        let mut words = vec![0; product.len()];
        set_bits(&mut words, &product, 1);
        Product {
            owner: a.owner.with(b.owner),
            level,
            words,
            noise: a.noise.times(b.noise),
        }
    }

    /// Converts products of one level to type I ciphertexts.
    pub(crate) fn convert(
        &self,
        products: Vec<Product>,
        meter: &Meter,
        cancel: &Cancel,
    ) -> Result<Vec<Ciphertext>> {
        meter.pass(products.len());
        let made: Vec<_> = products
            .iter()
            .map(|p| (p.owner, p.level - 1, self.params.noise().converted(p.noise)))
            .collect();
        let words = products.into_iter().map(|p| p.words).collect();
        let words = self.converter.convert(&self.tiles, words, meter, cancel)?;
        let pairs = words.into_iter().zip(made);
        Ok(pairs
            .map(|(words, (owner, level, noise))| Ciphertext {
                owner,
                level,
                words,
                noise,
            })
            .collect())
    }

    /// Ciphertexts of public bits, one per slot: sums of encryptions of unit vectors. Fails if the key's file is no
    /// longer readable.
    pub(crate) fn public(
        &self,
        level: usize,
        bits: &[Vec<bool>],
        meter: &Meter,
        cancel: &Cancel,
    ) -> Result<Vec<Ciphertext>> {
        let params = &self.params;
        let empty = || vec![0; params.type_one_words()];
        let mut sums: Vec<Vec<u64>> = bits.iter().map(|_| empty()).collect();
        for first in (0..params.slots()).step_by(SLOTS_AT_ONCE) {
            cancel.check()?;
            let slots = first..(first + SLOTS_AT_ONCE).min(params.slots());
            let elements = slots.into_par_iter().map(|j| {
                let used = bits.iter().any(|bits| bits.get(j) == Some(&true));
                if !used {
                    return Ok((j, Vec::new()));
                }
                let mut buffer = Vec::new();
                let body = self.tiles.body(1 + j, &mut buffer)?;
                meter.read_bytes(body.len());
                let correction = take_words(body);
                Ok((j, slot_element(params, &self.seed, j, &correction)))
            });
            let elements: Vec<(usize, Vec<u64>)> = elements.collect::<Result<_>>()?;
            sums.par_iter_mut().zip(bits).for_each(|(sum, bits)| {
                meter.time(Stage::Sum, || {
                    for (j, element) in &elements {
                        // the bits are public
                        if bits.get(*j) == Some(&true) {
                            add_assign(sum, element);
                        }
                    }
                });
            });
        }
        let noise = params.noise().public();
        // all-zero bits, whose sum is the number 0, get this noise too
        let one = |words| Ciphertext {
            owner: Owner::new(params.id(), Some(self.id)),
            level,
            words,
            noise,
        };
        Ok(sums.into_iter().map(one).collect())
    }

    pub(crate) fn reduced(&self, words: &[u64]) -> Vec<u64> {
        self.converter.reducer().reduce(words)
    }
}

homaes_wire::debug_fields!(EvalKey, id);
