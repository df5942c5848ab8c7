//! Wrapped keys as records; the parent module has the table.

mod head;

use super::LIMBS;
use crate::aes::compact::{BYTES, Compact, sent_level};
use crate::aes::level_plan::LevelPlan;
use crate::aes::wrapped::{Form, FormFile, Many, Part, WrappedKey, WrappedKeyFile, stream};
use crate::ciphertext::{Ciphertext, History};
use crate::error::{Error, Result};
use crate::keys::uniform_poly;
use crate::noise::Noise;
use crate::params::Params;
use crate::params::residues::{poly_bytes, put_poly, take_poly, take_words, words_bytes};
use head::{BOTH, Head, HeadForm, read_head};
pub(super) use head::{compact_contents, seeded_contents};
use homaes_aes::Direction;
use homaes_math::sample::Seed;
use homaes_rns::Poly;
use homaes_scheme::read;
use homaes_scheme::traits::WrappedFile;
use homaes_scheme::{Owner, Record, Records, WrappedKeyInfo};
use homaes_wire::{Decoder, Encoder, Header, KeyId, Reader, WireError};
use std::io::Read;
use std::sync::Arc;

impl WrappedKey {
    /// Describes a file of `params` by its length and its first record, or the first two.
    pub fn describe_file<R: Read>(params: &Params, mut r: Reader<R>) -> Result<WrappedKeyInfo> {
        let params = params.of_aes();
        let head = read_head(params, &mut r)?;
        read::check_length::<Error>(params.file_id(), r.header(), head.contents(params))?;
        Ok(head.describe())
    }

    /// Reads a wrapped key of `params` for one direction and expands its second halves.
    ///
    /// # Errors
    /// The first fault; also if the file is a [`Pair`].
    pub fn read<R: Read>(params: &Arc<Params>, r: Reader<R>) -> Result<Self> {
        match Self::read_any(params, r)? {
            (key, None) => Ok(key),
            (_, Some(_)) => Err(Error::field("direction", BOTH.into(), 0)),
        }
    }

    /// Reads a wrapped key of `params`, the second one of a [`Pair`] too.
    pub(crate) fn read_any<R: Read>(
        params: &Arc<Params>,
        mut r: Reader<R>,
    ) -> Result<(Self, Option<Self>)> {
        let params = params.cipher().unwrap_or(params);
        let id = r.header().key_id();
        let head = read_head(params, &mut r)?;
        let (size, pair) = (head.size, head.is_pair());
        let key = |direction, form| Self {
            params: params.clone(),
            id,
            size,
            direction,
            form,
        };
        let (first, second) = match head.form {
            HeadForm::Compact(plans, seeds) => {
                let count = plans[0].size.rounds() + 1;
                let mut sent =
                    seeds
                        .into_iter()
                        .enumerate()
                        .map(|(number, seed)| -> Result<Form> {
                            let traces = read_traces(params, &plans[0], number * count, &mut r)?;
                            Ok(Form::Compact(plans.clone(), Compact { seed, traces }))
                        });
                (sent.next().transpose()?, sent.next().transpose()?)
            }
            HeadForm::Many(plan, seed, names) => {
                let bytes =
                    read_round_key(params, id, (&plan.ahead(), 0), Some(&seed), &mut 0, &mut r)?;
                let many = Many { names, seed, bytes };
                (Some(Form::Many(plan, many)), None)
            }
            HeadForm::Seeded(parts) => {
                let parts = parts.into_iter().map(|(plan, seed)| (plan, Some(seed)));
                (Some(read_parts(params, id, parts, &mut r)?), None)
            }
            HeadForm::Whole(plans) => {
                let parts = plans.into_iter().map(|plan| (plan, None));
                (Some(read_parts(params, id, parts, &mut r)?), None)
            }
        };
        r.finish()?;
        let first = first.expect("a seed for each direction");
        let second = second.map(|form| key(Direction::Decrypt, form));
        debug_assert_eq!(pair, second.is_some());
        Ok((key(head.direction, first), second))
    }
}

/// Compact keys of one AES key for both directions, in one file.
pub struct Pair<K> {
    /// to encrypt
    pub encrypt: K,
    /// to decrypt
    pub decrypt: K,
}

/// A wrapped key that can be half of a [`Pair`].
trait Half: Records {
    fn head(&self) -> Head;
    fn origin(&self) -> (&Params, KeyId);
}

impl Half for WrappedKey {
    fn head(&self) -> Head {
        Self::head(self)
    }

    fn origin(&self) -> (&Params, KeyId) {
        (&self.params, self.id)
    }
}

impl Half for WrappedKeyFile<'_> {
    fn head(&self) -> Head {
        Self::head(self)
    }

    fn origin(&self) -> (&Params, KeyId) {
        (self.params(), self.id())
    }
}

/// The first record of both.
fn head_of<K: Half>(pair: &Pair<K>) -> Head {
    let mut head = pair.encrypt.head();
    if let (HeadForm::Compact(_, seeds), HeadForm::Compact(_, others)) =
        (&mut head.form, pair.decrypt.head().form)
    {
        seeds.extend(others);
    }
    head
}

impl<K: Half + Sync> Records for Pair<K> {
    fn header(&self) -> Result<Header, WireError> {
        let (params, id) = self.encrypt.origin();
        head_of(self).header(params, id)
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        let head = head_of(self);
        let count = head.size.rounds() as u64 + 1;
        match number {
            0 => Ok(head.record(0, |_| Record::new(LIMBS, 0, Vec::new()))),
            number if number <= count => self.encrypt.record(number),
            number => {
                let record = self.decrypt.record(number - count)?;
                let index = number - 1;
                Ok(Record { index, ..record })
            }
        }
    }
}

impl WrappedFile for Pair<WrappedKey> {
    fn describe(&self) -> WrappedKeyInfo {
        head_of(self).describe()
    }

    fn of_direction(&self, direction: Direction) -> Option<&dyn homaes_scheme::traits::WrappedKey> {
        Some(match direction {
            Direction::Encrypt => &self.encrypt,
            Direction::Decrypt => &self.decrypt,
        })
    }
}

impl WrappedFile for Pair<WrappedKeyFile<'_>> {
    fn describe(&self) -> WrappedKeyInfo {
        head_of(self).describe()
    }
}

/// The record of polynomials over the primes `basis`.
pub(super) fn round_key(params: &Params, index: u64, basis: &[usize], polys: &[&Poly]) -> Record {
    let body = polys.iter().fold(Encoder::new(), |body, poly| {
        put_poly(params, basis, poly, body)
    });
    Record::new(LIMBS, index, body.finish())
}

impl WrappedKey {
    fn head(&self) -> Head {
        let form = match &self.form {
            Form::Compact(plans, sent) => HeadForm::Compact(plans.clone(), vec![sent.seed]),
            Form::Many(plan, many) => HeadForm::Many(*plan, many.seed, many.names.clone()),
            Form::Full(parts) => {
                let seeded = parts.iter().map(|part| Some((part.plan, part.seed?)));
                match seeded.collect() {
                    Some(seeded) => HeadForm::Seeded(seeded),
                    None => HeadForm::Whole(self.plans()),
                }
            }
        };
        let (size, direction) = (self.size, self.direction);
        Head {
            size,
            direction,
            form,
        }
    }
}

impl Records for WrappedKey {
    fn header(&self) -> Result<Header, WireError> {
        self.head().header(&self.params, self.id)
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        let (params, head) = (&*self.params, self.head());
        let whole = matches!(head.form, HeadForm::Whole(_));
        Ok(head.record(number, |index| match &self.form {
            Form::Compact(plans, sent) => {
                let r = index as usize;
                let basis = params.basis(sent_level(&plans[0], r));
                round_key(params, index, basis, &[&sent.traces[r]])
            }
            Form::Many(plan, many) => {
                let basis = params.basis(plan.ahead().start);
                let c = &many.bytes[index as usize];
                round_key(params, index, basis, &[&c.parts[0]])
            }
            Form::Full(parts) => {
                let mut all = parts.iter().flat_map(|p| p.rounds.iter().flatten());
                let c = all.nth(index as usize).expect("a record of the file");
                let [first, second] = c.parts.each_ref();
                let halves = [first, second];
                let halves = if whole { &halves[..] } else { &halves[..1] };
                round_key(params, index, params.basis(c.level), halves)
            }
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
        let form = match &self.form {
            FormFile::Full(parts) => {
                let parts = parts.iter().map(|part| (part.plan, part.seed));
                HeadForm::Seeded(parts.collect())
            }
            FormFile::Compact(plans, file) => HeadForm::Compact(plans.clone(), vec![file.seed]),
            FormFile::Many(plan, names, part) => HeadForm::Many(*plan, part.seed, names.clone()),
        };
        let (size, direction) = (self.size, self.direction);
        Head {
            size,
            direction,
            form,
        }
    }
}

impl Records for WrappedKeyFile<'_> {
    fn header(&self) -> Result<Header, WireError> {
        self.head().header(self.params(), self.id())
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        Ok(self.head().record(number, |index| {
            let (basis, poly) = self.poly(index as usize);
            round_key(self.params(), index, basis, &[&poly])
        }))
    }
}

impl WrappedFile for WrappedKeyFile<'_> {
    fn describe(&self) -> WrappedKeyInfo {
        self.head().describe()
    }
}

/// The traces of a direction, records `first` and on.
fn read_traces<R: Read>(
    params: &Params,
    plan: &LevelPlan,
    first: usize,
    r: &mut Reader<R>,
) -> Result<Vec<Poly>> {
    let words = params.ring().n() / BYTES;
    let traces = (0..=plan.size.rounds()).map(|round| {
        let basis = params.basis(sent_level(plan, round));
        let bytes = words_bytes(params, basis, words);
        let body = read::record::<_, Error>(r, LIMBS, (first + round) as u64, bytes)?;
        let mut input = Decoder::new(&body);
        let trace = take_words(params, basis, words, "wrapped key", &mut input)?;
        input.finish("wrapped key")?;
        Ok(trace)
    });
    traces.collect()
}

/// Round keys in full form; those without a seed have both halves in the file.
fn read_parts<R: Read>(
    params: &Params,
    id: KeyId,
    plans: impl Iterator<Item = (LevelPlan, Option<Seed>)>,
    r: &mut Reader<R>,
) -> Result<Form> {
    let mut index = 0;
    let mut parts = Vec::new();
    for (plan, seed) in plans {
        let mut rounds = Vec::with_capacity(plan.size.rounds() + 1);
        for round in 0..=plan.size.rounds() {
            let at = (&plan, round);
            rounds.push(read_round_key(
                params,
                id,
                at,
                seed.as_ref(),
                &mut index,
                r,
            )?);
        }
        parts.push(Arc::new(Part { plan, seed, rounds }));
    }
    Ok(Form::Full(parts))
}

/// The ciphertexts of a round key, in records from `index` on.
fn read_round_key<R: Read>(
    params: &Params,
    id: KeyId,
    (plan, round): (&LevelPlan, usize),
    seed: Option<&Seed>,
    index: &mut u64,
    r: &mut Reader<R>,
) -> Result<Vec<Ciphertext>> {
    let level = plan.key_level(round);
    let basis = params.basis(level);
    let keys = (0..plan.layout.ciphertexts()).map(|i| {
        let halves = if seed.is_some() { 1 } else { 2 };
        let bytes = halves * poly_bytes(params, basis);
        let body = read::record::<_, Error>(r, LIMBS, *index, bytes)?;
        *index += 1;
        let mut input = Decoder::new(&body);
        let c0 = take_poly(params, basis, "wrapped key", &mut input)?;
        let model = params.noise();
        let (c1, noise) = match seed {
            Some(seed) => {
                let stream = stream(plan.layout, round, i);
                (uniform_poly(params, seed, stream, basis), model.fresh())
            }
            // expanded, and switched down to the noise of rounding
            None => {
                let c1 = take_poly(params, basis, "wrapped key", &mut input)?;
                (c1, Noise::gaussian(model.rho_log2))
            }
        };
        input.finish("wrapped key")?;
        Ok(Ciphertext {
            owner: Owner::new(params.id(), Some(id)),
            level,
            parts: [c0, c1],
            noise,
            history: History::AES,
        })
    });
    keys.collect()
}
