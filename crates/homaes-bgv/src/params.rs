//! Checked parameters: the ring, the primes, the levels, and every constant derived from them.
//!
//! **Levels.** With r AES rounds left the modulus is, at the three levels of the round,
//!
//! ```text
//! S0 = b_1 … b_{r-1} · last · low      level 3r
//! S1 = b_1 … b_{r-1} · middle          level 3r - 1
//! S2 = b_1 … b_{r-1} · last            level 3r - 2
//! ```
//!
//! so one base prime is dropped per round and the tail takes the fine steps; a switch drops some
//! primes and adds others in one operation. A multiplication consumes one level; at level 1, a
//! single prime, one last product fits without a switch.
//!
//! **Digits.** Key switching splits a polynomial into digits: the tail with the first base primes,
//! then groups of `digit` base primes, in the order in which primes are dropped last. Each digit is
//! about as large as the product of the special primes, of which only as many are used as the
//! largest digit in play needs.

use crate::noise::NoiseModel;
use homaes_math::rns::Conversion;
use homaes_math::slots::Slots;
use homaes_math::{GaloisMap, Modulus, Ring, Shoup, Transform};
use homaes_params::{DigestBuilder, Purpose, SetName};
use std::sync::Arc;

/// Bits by which a digit may exceed the special modulus used with it: key-switching noise stays
/// below the noise of the product it joins (see [`crate::noise`]).
const DIGIT_EXCESS_BITS: f64 = 6.0;

/// The primes of a set, by role. See the module's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// only prime of the last level; part of S0 and S2
    pub last: u64,
    /// second tail prime of S0
    pub low: u64,
    /// tail prime of S1
    pub middle: u64,
    /// b_1, b_2, …: one per round but the last
    pub base: &'static [u64],
    /// special primes of key switching
    pub special: &'static [u64],
    /// base primes that share the first digit with the tail
    pub first_digit: usize,
    /// base primes of every further digit
    pub digit: usize,
}

/// A parameter set as declared: literal numbers, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamSet {
    /// `bgv/…`
    pub name: SetName,
    /// what it implements
    pub paper: &'static str,
    /// whether it claims security
    pub purpose: Purpose,
    /// claimed bits, for secure sets
    pub security_bits_claimed: Option<u32>,
    /// conductor of the ring
    pub m: u64,
    /// Hamming weight of the secret in the normal basis
    pub weight: usize,
    /// moduli
    pub chain: Chain,
}

/// Why a [`ParamSet`] is not usable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// The conductor is not a product of distinct primes 3, 5, 17, 257 that includes 17.
    #[error("conductor {m}: expected a product of distinct primes 3, 5, 17, 257 that includes 17")]
    Conductor {
        /// found
        m: u64,
    },
    /// A modulus is unusable in this ring.
    #[error("modulus {p}: expected a prime below 2^47 that is 1 modulo {step}")]
    Modulus {
        /// found
        p: u64,
        /// expected residue class
        step: u64,
    },
    /// Two moduli coincide.
    #[error("modulus {p} appears twice")]
    Repeated {
        /// found
        p: u64,
    },
    /// The secret's weight does not fit the ring.
    #[error("secret weight {weight}: expected 1 to {n}")]
    Weight {
        /// found
        weight: usize,
        /// ring degree
        n: usize,
    },
}

const TAIL: usize = 3;
const LAST: usize = 0;
const LOW: usize = 1;
const MIDDLE: usize = 2;

/// Checked parameters with all precomputation; shared by keys, ciphertexts and evaluators.
pub struct Params {
    set: ParamSet,
    ring: Ring,
    slots: Slots,
    /// last, low, middle, base…, special…
    primes: Vec<Transform>,
    /// basis of every level, index 0 unused
    levels: Vec<Vec<usize>>,
    /// σ_{2^k} for k < 8
    frobenius: Vec<GaloisMap>,
    switching: Vec<SwitchPlan>,
    staying: Vec<SwitchPlan>,
    plain: Vec<DownPlan>,
    intake: DownPlan,
    noise: NoiseModel,
    digest: [u8; 32],
}

/// A modulus switch from one basis to another: `c' = (Y c + δ)/X` with X the primes dropped, Y those
/// added, and δ ≡ -Y c mod X even (GHS12 §3.2, with added primes).
#[derive(Clone)]
pub(crate) struct DownPlan {
    /// positions in the source basis that are dropped
    pub(crate) dropped: Vec<usize>,
    /// the primes there
    pub(crate) dropped_primes: Vec<usize>,
    pub(crate) conversion: Conversion,
    /// target basis
    pub(crate) to: Vec<usize>,
    /// per target prime: position in the source basis and the factor Y/X, or nothing for added ones
    pub(crate) kept: Vec<Option<(usize, Shoup)>>,
    /// log2 (X / Y)
    pub(crate) log2_drop: f64,
}

/// One digit of a key-switching decomposition.
pub(crate) struct Digit {
    /// which digit of the gadget
    pub(crate) number: usize,
    /// positions in the source basis
    pub(crate) own: Vec<usize>,
    /// to every prime of source basis and special primes outside the digit, in that order
    pub(crate) conversion: Conversion,
    /// per prime of the extended basis: index among the conversion's targets
    pub(crate) target: Vec<Option<usize>>,
}

/// Key switching at one level, followed by the switch back to a basis without special primes.
pub(crate) struct SwitchPlan {
    pub(crate) from: Vec<usize>,
    /// from, then the special primes in use
    pub(crate) extended: Vec<usize>,
    pub(crate) digits: Vec<Digit>,
    /// (P/P_l)^{-1} per prime of `from`: compensates for the special primes left out
    pub(crate) scale: Vec<Shoup>,
    pub(crate) all_special: bool,
    pub(crate) down: DownPlan,
    /// level of the result
    pub(crate) to_level: usize,
    /// number of special primes in use
    pub(crate) special: usize,
    /// log2 of the largest digit over the special modulus
    pub(crate) log2_digit_excess: f64,
}

impl Params {
    /// Checks `set` and computes its constants; about a tenth of a second at n = 32768.
    ///
    /// # Errors
    /// Names the first number that does not fit.
    pub fn new(set: &ParamSet) -> Result<Arc<Self>, ParamsError> {
        Self::with_ring(set, Ring::new(set.m))
    }

    /// [`Params::new`] on the kernels of `backend`, for tests that compare backends.
    ///
    /// # Errors
    /// As [`Params::new`].
    pub fn with_backend(
        set: &ParamSet,
        backend: homaes_math::Backend,
    ) -> Result<Arc<Self>, ParamsError> {
        Self::with_ring(set, Ring::with_backend(set.m, backend))
    }

    fn with_ring(set: &ParamSet, ring: Option<Ring>) -> Result<Arc<Self>, ParamsError> {
        let conductor = ParamsError::Conductor { m: set.m };
        let ring = ring.ok_or(conductor.clone())?;
        let slots = Slots::new(&ring, crate::linear::SECOND_CLASS).ok_or(conductor)?;
        if set.weight == 0 || set.weight > ring.n() {
            return Err(ParamsError::Weight {
                weight: set.weight,
                n: ring.n(),
            });
        }
        let c = &set.chain;
        let primes = [&[c.last, c.low, c.middle], c.base, c.special].concat();
        for (i, &p) in primes.iter().enumerate() {
            if primes[..i].contains(&p) {
                return Err(ParamsError::Repeated { p });
            }
        }
        let step = ring.modulus_step();
        let transforms = primes
            .iter()
            .map(|&p| Transform::new(&ring, p).ok_or(ParamsError::Modulus { p, step }));
        let mut params = Self {
            set: set.clone(),
            slots,
            primes: transforms.collect::<Result<_, _>>()?,
            levels: levels(c.base.len()),
            frobenius: (0..8).map(|k| ring.frobenius(k)).collect(),
            switching: Vec::new(),
            staying: Vec::new(),
            plain: Vec::new(),
            intake: DownPlan::empty(),
            noise: NoiseModel::new(&ring, set.weight),
            digest: digest(set),
            ring,
        };
        params.plan();
        Ok(Arc::new(params))
    }

    fn plan(&mut self) {
        let top = self.top_level();
        for level in 0..=top {
            let below = level.saturating_sub(1).max(1);
            let from = level.max(1);
            self.switching.push(self.switch_plan(from, below));
            self.staying.push(self.switch_plan(from, from));
            self.plain
                .push(self.down_plan(self.basis(from), self.basis(below)));
        }
        let mut wide = self.basis(top).to_vec();
        wide.push(self.special_from());
        self.intake = self.down_plan(&wide, self.basis(top));
    }

    /// Index of the first special prime.
    fn special_from(&self) -> usize {
        TAIL + self.set.chain.base.len()
    }

    fn product(&self, m: &Modulus, primes: impl Iterator<Item = usize>) -> u64 {
        primes.fold(1, |acc, i| m.mul(acc, self.modulus(i).p() % m.p()))
    }

    fn log2(&self, primes: impl Iterator<Item = usize>) -> f64 {
        primes.map(|i| self.modulus(i).log2()).sum()
    }

    fn down_plan(&self, from: &[usize], to: &[usize]) -> DownPlan {
        let x: Vec<usize> = from.iter().copied().filter(|i| !to.contains(i)).collect();
        let y: Vec<usize> = to.iter().copied().filter(|i| !from.contains(i)).collect();
        let moduli =
            |idx: &[usize]| -> Vec<Modulus> { idx.iter().map(|&i| *self.modulus(i)).collect() };
        let added = |m: &Modulus| self.product(m, y.iter().copied());
        let dropped_inv = |m: &Modulus| m.inv(self.product(m, x.iter().copied()));
        let conversion = Conversion::new(
            &moduli(&x),
            &moduli(to),
            |m| m.sub(0, m.mul(added(m), m.inv(2))),
            |m| m.mul(2, dropped_inv(m)),
        );
        DownPlan {
            dropped: x.iter().map(|&i| position(from, i)).collect(),
            dropped_primes: x.clone(),
            conversion,
            to: to.to_vec(),
            kept: to
                .iter()
                .map(|&i| {
                    let m = self.modulus(i);
                    let at = from.iter().position(|&j| j == i)?;
                    Some((at, m.shoup(m.mul(added(m), dropped_inv(m)))))
                })
                .collect(),
            log2_drop: self.log2(x.iter().copied()) - self.log2(y.iter().copied()),
        }
    }

    fn switch_plan(&self, level: usize, to_level: usize) -> SwitchPlan {
        let from = self.basis(level).to_vec();
        let numbers: Vec<usize> = from.iter().map(|&i| self.digit_of(i)).collect();
        let count = numbers.iter().max().map_or(0, |d| d + 1);
        let own = |d: usize| {
            (0..from.len())
                .filter(move |&i| numbers[i] == d)
                .collect::<Vec<_>>()
        };
        let sets: Vec<(usize, Vec<usize>)> = (0..count)
            .map(|d| (d, own.clone()(d)))
            .filter(|(_, o)| !o.is_empty())
            .collect();
        let bits = |o: &[usize]| self.log2(o.iter().map(|&i| from[i]));
        let largest = sets.iter().map(|(_, o)| bits(o)).fold(0.0, f64::max);
        let all = self.set.chain.special.len();
        let special_from = self.special_from();
        let special_bits = |k: usize| self.log2(special_from..special_from + k);
        let special = (1..all)
            .find(|&k| special_bits(k) + DIGIT_EXCESS_BITS >= largest)
            .unwrap_or(all);
        let extended: Vec<usize> = from
            .iter()
            .copied()
            .chain(special_from..special_from + special)
            .collect();
        let digits = sets
            .into_iter()
            .map(|(number, own)| self.digit(number, own, &from, &extended))
            .collect();
        let left_out = special_from + special..special_from + all;
        SwitchPlan {
            scale: from
                .iter()
                .map(|&i| {
                    let m = self.modulus(i);
                    m.shoup(m.inv(self.product(m, left_out.clone())))
                })
                .collect(),
            all_special: special == all,
            down: self.down_plan(&extended, self.basis(to_level)),
            from,
            extended,
            digits,
            to_level,
            special,
            log2_digit_excess: largest - special_bits(special),
        }
    }

    fn digit(&self, number: usize, own: Vec<usize>, from: &[usize], extended: &[usize]) -> Digit {
        let sources: Vec<Modulus> = own.iter().map(|&i| *self.modulus(from[i])).collect();
        let mut targets = Vec::new();
        let target = extended
            .iter()
            .enumerate()
            .map(|(at, &i)| {
                (!own.contains(&at)).then(|| {
                    targets.push(*self.modulus(i));
                    targets.len() - 1
                })
            })
            .collect();
        Digit {
            number,
            own,
            conversion: Conversion::new(&sources, &targets, |_| 1, |_| 1),
            target,
        }
    }

    /// Digit of the gadget that the pool prime `i` belongs to.
    pub(crate) fn digit_of(&self, i: usize) -> usize {
        let c = &self.set.chain;
        match i.checked_sub(TAIL + c.first_digit) {
            None => 0,
            Some(rest) => 1 + rest / c.digit,
        }
    }

    /// Number of digits of a key.
    pub(crate) fn digits(&self) -> usize {
        1 + self.digit_of(self.special_from() - 1)
    }

    /// The declared numbers.
    pub fn set(&self) -> &ParamSet {
        &self.set
    }

    /// The ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Bytes <-> plaintexts.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Blocks of one byte-sliced batch: one per slot.
    pub fn blocks_per_batch(&self) -> usize {
        self.slots.count()
    }

    /// Highest level: three per round.
    pub fn top_level(&self) -> usize {
        self.levels.len() - 1
    }

    /// AES rounds the chain carries.
    pub fn rounds(&self) -> usize {
        self.top_level() / 3
    }

    /// BLAKE3 digest of the numbers that define the set; files carry it.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// The noise model of this ring and secret weight.
    pub fn noise(&self) -> &NoiseModel {
        &self.noise
    }

    /// log2 of the ciphertext modulus at `level`.
    pub fn log2_modulus(&self, level: usize) -> f64 {
        self.log2(self.basis(level).iter().copied())
    }

    /// log2 of the largest modulus a key is published under: all primes.
    pub fn log2_qp(&self) -> f64 {
        self.log2(0..self.primes.len())
    }

    pub(crate) fn transform(&self, i: usize) -> &Transform {
        &self.primes[i]
    }

    pub(crate) fn modulus(&self, i: usize) -> &Modulus {
        self.primes[i].modulus()
    }

    pub(crate) fn prime_count(&self) -> usize {
        self.primes.len()
    }

    /// Primes of `level`, 1 to the top.
    pub(crate) fn basis(&self, level: usize) -> &[usize] {
        &self.levels[level]
    }

    /// Numbers of all primes: what switching keys are made over.
    pub(crate) fn all_primes(&self) -> Vec<usize> {
        (0..self.primes.len()).collect()
    }

    /// log2 of the product of the primes numbered `range`.
    pub(crate) fn log2_primes(&self, range: std::ops::RangeFrom<usize>) -> f64 {
        self.log2(range.start..self.primes.len())
    }

    /// Whether prime `i` is one of the special ones.
    pub(crate) fn is_special(&self, i: usize) -> bool {
        i >= self.special_from()
    }

    pub(crate) fn frobenius(&self, k: usize) -> &GaloisMap {
        &self.frobenius[k]
    }

    /// Key switching that also drops to the level below (at level 1: stays).
    pub(crate) fn switching(&self, level: usize) -> &SwitchPlan {
        &self.switching[level]
    }

    /// Key switching within `level`.
    pub(crate) fn staying(&self, level: usize) -> &SwitchPlan {
        &self.staying[level]
    }

    /// Modulus switch to the level below, without keys.
    pub(crate) fn plain(&self, level: usize) -> &DownPlan {
        &self.plain[level]
    }

    /// From the top basis with one special prime (public-key encryptions) to the top basis.
    pub(crate) fn intake(&self) -> &DownPlan {
        &self.intake
    }

    /// Product of the first `count` special primes modulo pool prime `i`.
    pub(crate) fn special_product(&self, count: usize, i: usize) -> u64 {
        let from = self.special_from();
        self.product(self.modulus(i), from..from + count)
    }

    /// Number of special primes.
    pub(crate) fn special_count(&self) -> usize {
        self.set.chain.special.len()
    }
}

impl SwitchPlan {
    /// log2 of the special primes in use.
    pub(crate) fn log2_special(&self, params: &Params) -> f64 {
        params.log2(self.extended[self.from.len()..].iter().copied())
    }
}

impl core::fmt::Debug for Params {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Params")
            .field("set", &self.set)
            .finish_non_exhaustive()
    }
}

impl DownPlan {
    fn empty() -> Self {
        Self {
            dropped: Vec::new(),
            dropped_primes: Vec::new(),
            conversion: Conversion::new(&[], &[], |_| 0, |_| 0),
            to: Vec::new(),
            kept: Vec::new(),
            log2_drop: 0.0,
        }
    }
}

fn position(basis: &[usize], i: usize) -> usize {
    basis
        .iter()
        .position(|&j| j == i)
        .expect("a dropped prime comes from its source basis")
}

fn levels(base: usize) -> Vec<Vec<usize>> {
    let mut out = vec![Vec::new()];
    for r in 0..=base {
        let with = |tail: &[usize]| tail.iter().copied().chain(TAIL..TAIL + r).collect();
        out.push(with(&[LAST]));
        out.push(with(&[MIDDLE]));
        out.push(with(&[LAST, LOW]));
    }
    out
}

fn digest(set: &ParamSet) -> [u8; 32] {
    let c = &set.chain;
    DigestBuilder::new("bgv")
        .str("name", set.name.as_str())
        .u64("m", set.m)
        .u64("weight", set.weight as u64)
        .u64("second class", crate::linear::SECOND_CLASS as u64)
        .u64("last", c.last)
        .u64("low", c.low)
        .u64("middle", c.middle)
        .u64_list("base", c.base)
        .u64_list("special", c.special)
        .u64("first digit", c.first_digit as u64)
        .u64("digit", c.digit as u64)
        .finish()
}
