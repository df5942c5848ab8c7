//! Checked parameters: the ring, the primes, the levels and every derived constant.
//!
//! **Levels.** With r AES rounds left the modulus is, at the three levels of the round,
//!
//! ```text
//! S0 = b_1 … b_{r-1} · last · low      level 3r
//! S1 = b_1 … b_{r-1} · middle          level 3r - 1
//! S2 = b_1 … b_{r-1} · last            level 3r - 2
//! ```
//!
//! by default ([`Steps::Three`]). Each round drops one base prime; the rest (*tail*) takes fine steps; a switch
//! drops some primes and adds others in one operation. If a chain carries more rounds than a cipher has, the others are
//! levels for users' circuits. A multiplication consumes one level. At level 1, a single prime, one last product fits
//! without a switch in AES and in small rings. Users' circuits may use it only if it is provably right, and it is not
//! at n = 32768 ([`crate::noise::bound`]).
//!
//! No level, and so no key, needs the middle prime together with last or low. A key-switching key comes in two parts:
//! one for S0 and S2 modulo last, low, base and special primes, one for S1 modulo middle, base and special primes
//! ([`Tail`]). This takes 41.8 bits off the largest published modulus, on which security depends.
//!
//! The bit layout takes four levels a round. It runs on the same chains, or on its own kind ([`Steps::Four`]) with two
//! base primes a round:
//!
//! ```text
//! level 4r + 1   b_1 … b_{2r} · last          level 4r - 1   b_1 … b_{2r-1} · last
//! level 4r       b_1 … b_{2r-1} · middle      level 4r - 2   b_1 … b_{2r-2} · low
//! ```
//!
//! so its four drops may differ: b_{2r}·last/middle, middle/last, b_{2r-1}·last/low, low/last. Keys then come in three
//! parts.
//!
//! **Digits.** Key switching splits a polynomial into digits: the tail with the first base primes, then groups of
//! `digit` base primes, starting with b_1, which survives longest. Each digit is about as large as the product of the
//! special primes; only as many special primes are used as the largest digit of the level needs.
//!
//! With few rounds left there are few base primes, and more special primes fit below the same largest modulus. A set
//! may declare key parts for the last rounds alone ([`OneDigit`]), in which one digit holds the whole polynomial. They
//! are used at levels where the other parts take more digits.

use crate::error::Error;
use crate::noise::NoiseModel;
use homaes_aes::{KeySize, Layout};
use homaes_math::sample::LOT;
use homaes_math::slots::Slots;
use homaes_math::{GaloisMap, Modulus, Ring, Transform};
use homaes_rns::{ModSwitch, RnsContext, SwitchPlan};
use homaes_scheme::{DigestBuilder, Purpose, SetId, SetName};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// e17 of the second class of slot representatives: the odd one with the least noise growth in the linear layer
/// (`linear`'s test `second_class_is_the_best`).
pub(crate) const SECOND_CLASS: usize = 7;

pub(crate) use crate::chain::LAST;
pub use crate::chain::{Chain, Cipher, OneDigit, Steps};
pub(crate) use crate::chain::{KeyPart, Tail};
use crate::chain::{LOW, MIDDLE};
pub use check::ParamsError;

mod check;
mod expansion;
mod plans;
pub(crate) mod residues;

/// Bits by which a digit may exceed the special modulus used with it.
///
/// Key-switching noise may then exceed the noise of the product it joins, but the next switch divides both: at S0 by
/// 2^13.5, which leaves a few percent of the rounding noise ρ². If all digits of a set are that large, this also
/// happens at S2, behind x^127, where the linear layer comes before the switch. [`crate::noise::runaway`] counts both
/// shares, and `tests::key_switching_noise_has_the_shares_that_are_stated` bounds them.
const DIGIT_EXCESS_BITS: f64 = 6.25;

/// A parameter set as declared: literal numbers, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamSet {
    /// `bgv/…`
    pub name: SetName,
    /// reference that it implements
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
    /// multiplications that AES leaves on its output by default, if the chain has them
    pub spare: usize,
    /// layouts with keys, the one for long messages first
    pub layouts: &'static [Layout],
    /// log2 of the largest probability that a batch fails, or that an operation on ciphertexts leaves a wrong result
    pub log2_p_fail: f64,
    /// whether final sliced results are joined in pairs, which key generation makes room for
    pub joins: bool,
    /// the ring and chain of AES, unless they are those of its results
    pub cipher: Option<Cipher>,
}

const TAIL: usize = 3;
/// Checked parameters with all precomputation; shared by keys, ciphertexts and evaluators.
pub struct Params {
    set: ParamSet,
    /// for AES, if it has a ring of its own
    cipher: Option<Arc<Self>>,
    /// last, low, middle, base…, special…, special primes of parts in one digit
    rns: RnsContext,
    slots: Slots,
    /// basis of every level, index 0 unused; in sets that expand compact wrapped keys, one more above the top
    levels: Vec<Vec<usize>>,
    /// special primes of the keys that expand compact wrapped keys; empty if the set has none
    expand_special: Range<usize>,
    /// in K, the highest level of results, and the special primes of the key to their ring
    leaving: (usize, Range<usize>),
    /// σ_{2^k} for k < 8
    frobenius: Vec<GaloisMap>,
    switching: Vec<SwitchPlan>,
    staying: Vec<SwitchPlan>,
    /// by source and target level, computed on first use
    mod_switches: Vec<OnceLock<ModSwitch>>,
    public_key_down: OnceLock<ModSwitch>,
    noise: NoiseModel,
    digest: [u8; 32],
    /// of the whole set, in files
    file_digest: [u8; 32],
}

impl Params {
    /// Checks `set` and computes its constants, in about a tenth of a second at n = 32768.
    ///
    /// # Errors
    /// For the first number that does not fit.
    pub fn new(set: &ParamSet) -> Result<Arc<Self>, ParamsError> {
        let conductor = ParamsError::Conductor { m: set.m };
        // secrets are processed in lots of this many coefficients
        let ring = Ring::new(set.m).filter(|ring| ring.n().is_multiple_of(LOT));
        let ring = ring.ok_or(conductor)?;
        let Some(cipher) = set.cipher else {
            return Ok(Arc::new(Self::over(ring, set, digest(set))?));
        };
        check::results(&set.chain, &cipher.chain)?;
        let inner = ParamSet {
            weight: cipher.weight,
            chain: cipher.chain,
            joins: false,
            cipher: None,
            ..set.clone()
        };
        let words = |digest: [u8; 32]| {
            let words = digest.as_chunks().0.iter();
            words
                .map(|word| u64::from_le_bytes(*word))
                .collect::<Vec<u64>>()
        };
        let own = DigestBuilder::new("bgv in K").u64_list("set", &words(digest(&inner)));
        let own = own.finish();
        let both = DigestBuilder::new("bgv and K").u64_list("results", &words(digest(set)));
        let both = both.u64_list("cipher", &words(own)).finish();
        let mut cipher = Self::over(ring.clone().extended(), &inner, own)?;
        let mut params = Self::over(ring, set, both)?;
        params.noise = params.noise.after(&cipher.noise);
        cipher.file_digest = both;
        cipher.plan_leaving(params.top_level());
        params.cipher = Some(Arc::new(cipher));
        Ok(Arc::new(params))
    }

    /// The parameters of one ring.
    fn over(ring: Ring, set: &ParamSet, digest: [u8; 32]) -> Result<Self, ParamsError> {
        let conductor = ParamsError::Conductor { m: set.m };
        let slots = Slots::new(&ring, SECOND_CLASS).ok_or(conductor)?;
        if set.weight == 0 || set.weight > ring.n() {
            return Err(ParamsError::Weight {
                weight: set.weight,
                n: ring.n(),
            });
        }
        check::counts(&set.chain)?;
        check::layouts(set)?;
        let c = &set.chain;
        let further = c.one_digit.map_or(&[][..], |o| o.special);
        let primes = [&[c.last, c.low, c.middle], c.base, c.special, further].concat();
        for (i, &p) in primes.iter().enumerate() {
            if primes[..i].contains(&p) {
                return Err(ParamsError::Repeated { p });
            }
        }
        let step = ring.modulus_step();
        let frobenius = (0..8).map(|k| ring.frobenius(k)).collect();
        let noise = NoiseModel::new(&ring, set.weight, set.log2_p_fail);
        let rns = RnsContext::new(ring, &primes).map_err(|p| ParamsError::Modulus { p, step })?;
        let mut params = Self {
            set: set.clone(),
            cipher: None,
            rns,
            slots,
            levels: levels(c),
            expand_special: 0..0,
            leaving: (0, 0..0),
            frobenius,
            switching: Vec::new(),
            staying: Vec::new(),
            mod_switches: Vec::new(),
            public_key_down: OnceLock::new(),
            noise,
            digest,
            file_digest: digest,
        };
        params.check_digits()?;
        params.plan_expansion();
        params.plan();
        Ok(params)
    }

    fn plan(&mut self) {
        let top = self.top_level();
        for level in 0..=top {
            let below = level.saturating_sub(1).max(1);
            let from = level.max(1);
            self.switching.push(self.switch_plan(from, below));
            self.staying.push(self.switch_plan(from, from));
        }
        let levels = self.levels.len();
        self.mod_switches
            .resize_with(levels * levels, OnceLock::new);
    }

    /// Index of the first special prime.
    pub fn special_from(&self) -> usize {
        TAIL + self.set.chain.base.len()
    }

    pub(crate) fn log2(&self, primes: impl Iterator<Item = usize>) -> f64 {
        self.rns.log2(primes)
    }

    /// Digit of `part` of a key that contains the RNS prime `i`.
    pub(crate) fn digit_of(&self, part: KeyPart, i: usize) -> usize {
        let c = &self.set.chain;
        if part.expands {
            return self.expand_digit(i);
        }
        if part.leaves {
            return 0;
        }
        match i.checked_sub(TAIL + c.first_digit) {
            Some(rest) if !part.one_digit => 1 + rest / c.digit,
            _ => 0,
        }
    }

    /// The parameters that AES runs under, if it has a ring of its own.
    pub(crate) fn cipher(&self) -> Option<&Arc<Self>> {
        self.cipher.as_ref()
    }

    /// The parameters that AES runs under: those of K if it runs there, else these.
    pub fn of_aes(&self) -> &Self {
        self.cipher.as_deref().unwrap_or(self)
    }

    /// Bits by which a digit may exceed the special modulus used with it: fewer in K, where it adds more noise.
    pub(crate) fn digit_excess(&self) -> f64 {
        DIGIT_EXCESS_BITS
            - self.ring().power().powi(2).log2()
            - (self.ring().halves() as f64 - 1.0) / 2.0
    }

    /// Whether these are the parameters of AES alone, in the ring K.
    pub(crate) fn leaves(&self) -> bool {
        self.ring().halves() == 2
    }

    /// The declared numbers.
    pub fn set(&self) -> &ParamSet {
        &self.set
    }

    /// Ring and primes.
    pub fn rns(&self) -> &RnsContext {
        &self.rns
    }

    /// The ring.
    pub fn ring(&self) -> &Ring {
        self.rns.ring()
    }

    /// The map between bytes and plaintexts.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Blocks of one batch: one per slot, or per sixteen slots when packed.
    pub fn blocks_per_batch(&self, layout: Layout) -> usize {
        match layout {
            Layout::Packed => self.slots.count() / 16,
            Layout::Sliced | Layout::Bits => self.slots.count(),
        }
    }

    /// Highest level.
    pub fn top_level(&self) -> usize {
        self.levels.len() - 1 - usize::from(self.expands())
    }

    /// AES rounds the chain carries.
    pub fn rounds(&self) -> usize {
        match self.set.chain.steps {
            Steps::Three => self.top_level() / 3,
            Steps::Four => self.top_level() / 4,
        }
    }

    /// Whether the set has keys for a byte layout.
    pub(crate) fn has_bytes(&self) -> bool {
        self.set.layouts.iter().any(|&l| l != Layout::Bits)
    }

    /// Levels that one switch may drop: a base conversion takes a limited number of primes.
    pub(crate) fn hop(&self) -> usize {
        match self.set.chain.steps {
            // ten base primes and the tail
            Steps::Three => 30,
            // twelve and the tail
            Steps::Four => 24,
        }
    }

    /// τ_t^j of slope `slope` as coordinates added to (e3, e5, e257); see `aes::placement`.
    ///
    /// Eight quarters make up the axis e257, and four of them change only the sign of the representative, which does
    /// not affect bytes. Reducing t·j modulo 8 instead of 4 keeps the bytes of a column on embeddings with independent
    /// rounding noises ([`crate::noise::runaway`]), at the cost of twelve different steps instead of ten.
    pub(crate) fn column_step(&self, slope: usize, j: usize) -> [usize; 3] {
        let quarter = self.slots().run_len() / 4;
        [0, j % 4, quarter * (slope * j % 8)]
    }

    /// The error of an operation at `level` if its keys end at level `most`; 0 means that there are no keys.
    pub(crate) fn no_key(&self, what: &'static str, level: usize, most: usize) -> Error {
        let set = self.set().name.as_str();
        Error::NoKey {
            what,
            level,
            most,
            set,
        }
    }

    /// Name and digest of the set, for files and errors. The parameters of K have another digest, which tells states in
    /// K from results.
    pub fn id(&self) -> SetId<'_> {
        SetId::new(self.set().name.as_str(), self.digest())
    }

    /// As [`id`](Self::id), for the files of keys that AES runs under.
    pub(crate) fn file_id(&self) -> SetId<'_> {
        SetId::new(self.set().name.as_str(), &self.file_digest)
    }

    /// BLAKE3 digest of the set's defining numbers; files carry it.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// The noise model of this ring and secret weight.
    pub fn noise(&self) -> &NoiseModel {
        &self.noise
    }

    /// log2 of the ciphertext modulus at `level`; 0 if there is no such level.
    pub fn log2_modulus(&self, level: usize) -> f64 {
        let basis = self.levels.get(level).map_or(&[][..], |basis| basis);
        self.log2(basis.iter().copied())
    }

    /// log2 of the largest published modulus.
    pub fn log2_qp(&self) -> f64 {
        self.log2_key(self.top_level())
    }

    /// log2 of the largest modulus among a key's parts for all levels up to `level`.
    pub(crate) fn log2_key(&self, level: usize) -> f64 {
        let parts = KeyPart::ALL.into_iter();
        let parts = parts.filter(|part| !part.expands && !part.leaves);
        let parts = parts.map(|part| {
            let level = match part.one_digit {
                true => self.one_digit_below(level),
                false => level,
            };
            self.log2(self.key_primes(level, part).into_iter())
        });
        parts.fold(0.0, f64::max)
    }

    /// Transform modulo the prime that [`Descent`](crate::Descent) ends at, over the whole ring.
    pub fn descent_transform(&self) -> &Transform {
        self.transform(self.special_from())
    }

    /// The subring of degree n/16 in which bytes leave through a bridge (crate `homaes-bridge`). Only sets in which
    /// AES-128 can leave a multiplication on bytes have one, because reading their bits takes one.
    pub fn bridge_ring(&self) -> Option<Ring> {
        let leaves = |&layout: &Layout| self.levels_left(layout, KeySize::Aes128) > Some(0);
        let crosses = self.has_bytes() && self.set().layouts.iter().any(leaves);
        self.ring().row_ring().filter(|_| crosses)
    }

    pub(crate) fn transform(&self, i: usize) -> &Transform {
        self.rns.transform(i)
    }

    pub(crate) fn modulus(&self, i: usize) -> &Modulus {
        self.rns.modulus(i)
    }

    pub(crate) fn basis(&self, level: usize) -> &[usize] {
        &self.levels[level]
    }

    /// Primes of all levels up to `level` with the tail of `part`, and the part's special primes; empty for level 0.
    pub(crate) fn key_primes(&self, level: usize, part: KeyPart) -> Vec<usize> {
        let (steps, tail) = (self.set.chain.steps, part.tail);
        let base = match (steps, tail) {
            // S1 of the lowest round is level 2
            (Steps::Three, Tail::Low) => return Vec::new(),
            (Steps::Three, Tail::Middle) if level == 1 => return Vec::new(),
            (Steps::Three, _) if level == 0 => return Vec::new(),
            (Steps::Three, _) => level.div_ceil(3) - 1,
            (Steps::Four, _) => {
                let mut levels = (1..=level).rev().map(|l| self.basis(l));
                match levels.find(|basis| Tail::of(basis) == tail) {
                    Some(basis) => basis.len() - 1,
                    None => return Vec::new(),
                }
            }
        };
        let tail = tail.primes(steps).iter().copied();
        tail.chain(TAIL..TAIL + base)
            .chain(self.specials(part))
            .collect()
    }

    /// Highest level at which users' circuits can rotate slots: the most that AES-128 can leave, at most 12. 0 if the
    /// chain has no levels beyond ten rounds, or four levels a round. If AES runs in K, the whole chain is for
    /// circuits, and K itself has no rotations.
    pub fn rotation_level(&self) -> usize {
        if self.set.chain.steps == Steps::Four || self.leaves() {
            return 0;
        }
        let before = if self.cipher.is_some() { 0 } else { 10 };
        (3 * self.rounds().saturating_sub(before)).min(12)
    }

    /// Steps along (e3, e5, e257) that have rotation keys: powers of two below the length of each axis of slots.
    pub(crate) fn generators(&self) -> Vec<[usize; 3]> {
        let lens = self.slots.axes();
        let steps = |axis: usize| {
            let powers = (0..8).map(|k| 1usize << k);
            powers.take_while(move |&p| p < lens[axis]).map(move |p| {
                let mut step = [0; 3];
                step[axis] = p;
                step
            })
        };
        (0..3).flat_map(steps).collect()
    }

    /// σ_k, which raises bytes in slots to the power 2^k, for k below 8.
    pub fn frobenius(&self, k: usize) -> &GaloisMap {
        &self.frobenius[k]
    }

    /// Whether the set has keys for `layout`.
    pub fn offers(&self, layout: Layout) -> bool {
        self.set.layouts.contains(&layout)
    }

    /// Key switching that also drops to the level below, except at level 1.
    pub(crate) fn switching(&self, level: usize) -> &SwitchPlan {
        &self.switching[level]
    }

    /// Key switching within `level`.
    pub(crate) fn staying(&self, level: usize) -> &SwitchPlan {
        &self.staying[level]
    }

    /// Modulus switch from one level to a lower one, without keys.
    pub(crate) fn mod_switch(&self, from: usize, to: usize) -> &ModSwitch {
        let plan = &self.mod_switches[from * self.levels.len() + to];
        plan.get_or_init(|| ModSwitch::new(&self.rns, self.basis(from), self.basis(to)))
    }

    /// From the top basis with one special prime (public-key encryptions) to the top basis.
    pub(crate) fn public_key_down(&self) -> &ModSwitch {
        self.public_key_down.get_or_init(|| {
            let top = self.basis(self.top_level());
            let wide = [top, &[self.special_from()]].concat();
            ModSwitch::new(&self.rns, &wide, top)
        })
    }

    /// Product of the first `count` special primes modulo RNS prime `i`.
    pub fn special_product(&self, count: usize, i: usize) -> u64 {
        let from = self.special_from();
        self.rns.product(self.modulus(i), from..from + count)
    }
}

homaes_wire::debug_fields!(Params, set);

fn levels(chain: &Chain) -> Vec<Vec<usize>> {
    let base = chain.base.len();
    let mut out = vec![Vec::new()];
    let mut push = |tail: &[usize], r: usize| {
        out.push(tail.iter().copied().chain(TAIL..TAIL + r).collect());
    };
    match chain.steps {
        Steps::Three => {
            for r in 0..=base {
                push(&[LAST], r);
                push(&[MIDDLE], r);
                push(&[LAST, LOW], r);
            }
        }
        Steps::Four => {
            push(&[LAST], 0);
            for r in 1..=base / 2 {
                push(&[LOW], 2 * r - 2);
                push(&[LAST], 2 * r - 1);
                push(&[MIDDLE], 2 * r - 1);
                push(&[LAST], 2 * r);
            }
        }
    }
    out
}

fn digest(set: &ParamSet) -> [u8; 32] {
    let c = &set.chain;
    let layouts = set.layouts.iter().map(|l| l.ciphertexts() as u64);
    let layouts: Vec<u64> = layouts.collect();
    let digest = DigestBuilder::new("bgv")
        .str("name", set.name.as_str())
        .u64("m", set.m)
        .u64("weight", set.weight as u64)
        .u64("second class", SECOND_CLASS as u64)
        .u64("last", c.last)
        .u64("low", c.low)
        .u64("middle", c.middle)
        .u64_list("base", c.base)
        .u64_list("special", c.special)
        .u64("first digit", c.first_digit as u64)
        .u64("digit", c.digit as u64)
        .u64("spare", set.spare as u64)
        .u64_list("layouts", &layouts);
    let digest = match c.steps {
        Steps::Three => digest,
        Steps::Four => digest.u64("levels of a round", 4),
    };
    match c.one_digit {
        None => digest,
        Some(OneDigit { rounds, special }) => digest
            .u64("rounds in one digit", rounds as u64)
            .u64_list("special for one digit", special),
    }
    .finish()
}

#[cfg(test)]
mod tests;
