//! Secret, public and evaluation keys.
//!
//! | key | decrypts to | published modulo | used for |
//! |---|---|---|---|
//! | public | 0 | top level · first special prime | encryption by others |
//! | σ^k(s), k = 1…7 | P·σ^k(s) | top level · special primes | Frobenius, linear layer |
//! | s·σ^k(s), k = 0…3 | P·s·σ^k(s) | top level · special primes | products x·σ^k(y) |
//! | τ(s), twelve steps τ_t^j of packed columns | P·τ(s) | top level · special primes | packed MixColumns |
//! | τ(s), steps 2^i along an axis | P·τ(s) | low levels · special primes | users' rotations |
//! | s³ | P·s³ | low levels · special primes | users' three-way products |
//! | τ(s), one and sixteen steps along e257 | P'·τ(s) | the level above the top · P' | compact wrapped keys |
//! | the secret of K, under that of R | P'·s | levels of results · P' | results that leave K ([`crate::leave`]) |
//!
//! Every key-switching key comes in two parts, three in a set for bits alone. Each part is a separate encryption for
//! one tail: levels S1 have another tail prime than S0 and S2, and a key with both would be published modulo their
//! product. At S1, AES only multiplies by the keys of k = 1 and 2 ([`crate::aes::sliced`]). Except for s², the other
//! keys hold S1 only at the low levels of users' circuits, unless the set offers the bit layout. In sets with parts in
//! one digit ([`OneDigit`](crate::params::OneDigit)), a part that needs several digits has a second one, for the last
//! rounds.
//!
//! A set for bits alone has one key, that for s². Keys that expand compact wrapped keys have a single part with special
//! primes of its own (`params::expansion`); evaluation keys of older versions lack them. An evaluation key can leave
//! out packed columns, two fifths of its length ([`EvalKey::choices`]).
//!
//! Users' circuits rotate after AES, at low levels. Their keys hold the primes of those levels only
//! ([`Target::primes`]), and exist only for steps that are powers of two; [`Evaluator::rotate`] composes the others
//! (GHS12, appendix: generators of the group instead of all elements). Keys of packed columns serve for those among
//! their steps.
//!
//! [`Evaluator::rotate`]: crate::Evaluator::rotate
//!
//! The second half of every pair is uniform and is a seed in files. Keys encrypt functions of the secret that they are
//! under: circular security is assumed.

use crate::chain::PRODUCT_KEYS;
use crate::ciphertext::Ciphertext;
use crate::error::{Error, Result};
use crate::keyswitch::{KeyPoly, SwitchKey};
use crate::params::{KeyPart, Params, Tail};
use homaes_aes::{EvalError, Layout};
use homaes_math::sample::{self, Seed};
use homaes_math::{GaloisMap, Words};
use homaes_rns::secret::{self, lots, lots_mut};
use homaes_rns::{Poly, SecretPoly, SwitchPlan};
use homaes_scheme::Mismatch;
use homaes_scheme::file::{error_seed, stream_seed};
use homaes_wire::{Encoder, KeyId};
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use rayon::prelude::*;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// Largest k with a key for σ^k(s).
pub(crate) const FROBENIUS_KEYS: usize = 7;
/// Secrets drawn before key generation gives up; a sound set never refuses this many.
const KEY_TRIES: usize = 100;

/// The source of a key-switching key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// σ_{2^k}(s), 1 <= k <= 7
    Frobenius(usize),
    /// s·σ_{2^k}(s), k <= 3
    Product(usize),
    /// τ(s) for the translation τ that adds to (e3, e5, e257), over all primes
    Translate([usize; 3]),
    /// the same, over the primes of low levels
    Rotate([usize; 3]),
    /// s³ over the primes of low levels
    Cube,
    /// τ(s) for the translation τ that adds to e257, to expand compact wrapped keys
    Expand(usize),
    /// s of K, under the secret of results
    Leave,
}

impl Target {
    /// The sources of the keys for some layouts of a set, in the order of files. Every layout of bytes needs those of
    /// sliced AES.
    pub(crate) fn all(params: &Params, layouts: &[Layout]) -> Vec<Self> {
        if !params.has_bytes() {
            return vec![Self::Product(0)];
        }
        let mut out: Vec<Self> = (1..=FROBENIUS_KEYS).map(Self::Frobenius).collect();
        out.extend((0..PRODUCT_KEYS).map(Self::Product));
        if layouts.contains(&Layout::Packed) {
            for slope in 0..4 {
                for j in 1..4 {
                    let target = Self::Translate(params.column_step(slope, j));
                    if !out.contains(&target) {
                        out.push(target);
                    }
                }
            }
        }
        if params.rotation_level() > 0 {
            let steps = params.generators().into_iter();
            let steps = steps.filter(|&s| !out.contains(&Self::Translate(s)));
            let steps: Vec<Self> = steps.map(Self::Rotate).collect();
            out.extend(steps);
            out.push(Self::Cube);
        }
        if params.expands() {
            out.extend(Self::EXPAND);
        }
        if params.leaves() {
            out.push(Self::Leave);
        }
        out
    }

    /// Those in keys of older versions, which are for all layouts.
    pub(crate) fn without_expansion(params: &Params) -> Vec<Self> {
        let mut out = Self::all(params, params.set().layouts);
        out.retain(|target| !Self::EXPAND.contains(target));
        out
    }

    /// The sources of the keys that expand compact wrapped keys: the last in files, if there are any.
    pub(crate) const EXPAND: [Self; 2] = [Self::Expand(1), Self::Expand(16)];

    /// The name of the key for users.
    fn name(self) -> &'static str {
        match self {
            Self::Frobenius(_) => "Frobenius",
            Self::Product(_) => "relinearisation",
            Self::Translate(_) => "packed",
            Self::Rotate(_) => "rotation",
            Self::Cube => "three-way product",
            Self::Expand(_) => "round key expansion",
            Self::Leave => "way back",
        }
    }

    /// σ or τ.
    pub(crate) fn map(self, params: &Params) -> GaloisMap {
        match self {
            Self::Frobenius(k) | Self::Product(k) => params.frobenius(k).clone(),
            Self::Translate(step) | Self::Rotate(step) => params.ring().translation(step),
            Self::Cube | Self::Leave => params.frobenius(0).clone(),
            Self::Expand(step) => params.ring().translation([0, 0, step]),
        }
    }

    /// Highest level of `part` of the key; 0 if there is none.
    fn level(self, params: &Params, part: KeyPart) -> usize {
        if part.one_digit {
            let usual = self.level(params, KeyPart::new(part.tail, false));
            return params.one_digit_below(usual);
        }
        let aes_at_middle = matches!(self, Self::Frobenius(1 | 2) | Self::Product(0..=2));
        match (self, part.tail) {
            (Self::Rotate(_) | Self::Cube, _) => params.rotation_level(),
            // empty in chains without such levels
            (_, Tail::Outer | Tail::Low) => params.top_level(),
            _ if aes_at_middle || params.offers(Layout::Bits) => params.top_level(),
            _ => params.rotation_level(),
        }
    }

    /// Primes of `part` of the key; empty if there is no such part.
    pub(crate) fn primes(self, params: &Params, part: KeyPart) -> Vec<usize> {
        match (self, part.expands) {
            (Self::Leave, _) if part.leaves => params.key_primes(params.leaving_level(), part),
            (Self::Leave, _) => Vec::new(),
            _ if part.leaves => Vec::new(),
            (Self::Expand(_), true) => params.expand_primes(),
            (Self::Expand(_), false) | (_, true) => Vec::new(),
            _ => params.key_primes(self.level(params, part), part),
        }
    }

    /// Digits of `part` of the key.
    pub(crate) fn digits(self, params: &Params, part: KeyPart) -> usize {
        let own = self.primes(params, part).into_iter();
        let own = own.filter(|i| !params.specials(part).contains(i));
        own.map(|i| params.digit_of(part, i) + 1).max().unwrap_or(0)
    }
}

/// The secret s: h coefficients ±1 in the normal basis. Zeroised when dropped.
pub struct SecretKey {
    params: Arc<Params>,
    id: KeyId,
    coefficients: Vec<i64>,
    /// s modulo every prime, stored and canonical
    poly: SecretPoly,
    /// for AES, in sets where it runs in K
    cipher: Option<Box<Self>>,
}

impl SecretKey {
    /// Draws secrets until one has acceptable noise: for this very secret, the probability that some orbit of
    /// embeddings runs away during one batch (`noise::runaway`) is at most
    /// 2^[`log2_p_fail`](crate::ParamSet::log2_p_fail). If AES runs in K, each ring has a secret, and the one of K
    /// takes this test.
    ///
    /// # Errors
    /// If many secrets in a row are refused, which cannot happen with a sound parameter set.
    pub fn generate(params: &Arc<Params>, rng: &mut impl CryptoRng) -> Result<Self> {
        let coefficients = drawn(params, rng)?;
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        let mut key = Self::from_coefficients(params, KeyId(id), coefficients);
        if let Some(cipher) = params.cipher() {
            let own = Self::from_coefficients(cipher, key.id, drawn(cipher, rng)?);
            key.set_cipher(own);
        }
        Ok(key)
    }

    pub(crate) fn from_coefficients(
        params: &Arc<Params>,
        id: KeyId,
        coefficients: Vec<i64>,
    ) -> Self {
        let all: Vec<usize> = (0..params.rns().count()).collect();
        let mut poly = SecretPoly(Poly::from_signed(params.rns(), &all, &coefficients));
        poly.make_canonical(params.rns(), &all);
        Self {
            params: params.clone(),
            id,
            coefficients,
            poly,
            cipher: None,
        }
    }

    /// The secret that AES runs under.
    pub(crate) fn of_aes(&self) -> &Self {
        self.cipher.as_deref().unwrap_or(self)
    }

    /// The secret that a ciphertext is under: that of K if AES made the ciphertext in K.
    pub(crate) fn of(&self, c: &Ciphertext) -> &Self {
        let cipher = self.cipher.as_deref();
        cipher
            .filter(|own| c.owner.is_of(own.params.id()))
            .unwrap_or(self)
    }

    /// The secret of R as an element of K.
    fn in_cipher(&self, cipher: &Arc<Params>) -> Self {
        let ring = cipher.ring();
        let mut coefficients = vec![0; ring.n()];
        for (i, &c) in self.coefficients.iter().enumerate() {
            coefficients[ring.place(0, i)] = c;
        }
        Self::from_coefficients(cipher, self.id, coefficients)
    }

    /// The parameters.
    pub fn params(&self) -> &Arc<Params> {
        &self.params
    }

    /// Random name that links keys and ciphertexts to this secret; public.
    pub fn id(&self) -> KeyId {
        self.id
    }

    fn bytes(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(self.coefficients.iter().map(|&c| c as u8).collect())
    }

    /// The coefficients in the format of files: 0, 1, 2 for 0, 1, -1; then those of K's secret.
    pub(crate) fn packed(&self) -> Zeroizing<Vec<u8>> {
        let residues = |key: &Self| {
            let residues = key.coefficients.iter().map(|&c| c.rem_euclid(3) as u64);
            Zeroizing::new(residues.collect::<Vec<u64>>())
        };
        let body = |key: &Self| Zeroizing::new(Encoder::new().residues(3, &residues(key)).finish());
        let Some(cipher) = &self.cipher else {
            return body(self);
        };
        let parts = [body(self), body(cipher)];
        // of the final length: growing would leave a copy behind
        let mut all = Zeroizing::new(Vec::with_capacity(parts[0].len() + parts[1].len()));
        parts.iter().for_each(|part| all.extend_from_slice(part));
        all
    }

    /// Takes the secret that AES runs under.
    pub(crate) fn set_cipher(&mut self, cipher: Self) {
        self.cipher = Some(Box::new(cipher));
    }

    /// Coefficients of the secret in the normal basis, -1, 0 or 1, for encryption under keys of other schemes.
    pub fn coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    pub(crate) fn poly(&self) -> &Poly {
        &self.poly
    }

    /// `-a s + 2e + extra` modulo the primes of `basis`, canonical; `a` canonical and stored.
    #[inline(never)]
    pub(crate) fn mask(
        &self,
        basis: &[usize],
        a: &Poly,
        extra: &Poly,
        rng: &mut impl CryptoRng,
    ) -> Poly {
        let n = self.params.ring().n();
        let mut e = Zeroizing::new(vec![0i64; n]);
        sample::gaussian(rng, &mut e);
        e.iter_mut().for_each(|x| *x *= 2);
        let mut out = Poly::from_signed(self.params.rns(), basis, &e);
        for (at, &i) in basis.iter().enumerate() {
            let m = self.params.modulus(i);
            let s = &self.poly.limbs[i];
            let [a, s, extra] = [&a.limbs[at], s, &extra.limbs[at]].map(|l| lots(l));
            let out = lots_mut(&mut out.limbs[at]).iter_mut();
            for (((x, a), s), extra) in out.zip(a).zip(s).zip(extra) {
                secret::mask(m, [a, s, extra], x);
            }
        }
        out
    }
}

/// The coefficients of an acceptable secret.
fn drawn(params: &Params, rng: &mut impl CryptoRng) -> Result<Vec<i64>> {
    let mut coefficients = vec![0; params.ring().n()];
    for _ in 0..KEY_TRIES {
        sample::fixed_weight(rng, params.set().weight, &mut coefficients);
        if crate::quality::accepts(params, &coefficients) {
            return Ok(coefficients);
        }
    }
    coefficients.zeroize();
    Err(Error::KeyQuality { tries: KEY_TRIES })
}

impl Drop for SecretKey {
    fn drop(&mut self) {
        self.coefficients.zeroize();
    }
}

homaes_wire::debug_fields!(SecretKey, id);

/// An encryption of zero, with which anyone can encrypt.
pub struct PublicKey {
    pub(crate) params: Arc<Params>,
    pub(crate) id: KeyId,
    pub(crate) basis: Vec<usize>,
    pub(crate) parts: [Poly; 2],
}

impl PublicKey {
    /// A public key modulo the top level and one special prime. The first modulus switch of every encryption drops that
    /// prime and most of the encryption noise.
    pub fn generate(secret: &SecretKey, rng: &mut impl CryptoRng) -> Self {
        let params = secret.params().clone();
        let mut basis = params.basis(params.top_level()).to_vec();
        basis.push(params.special_from());
        let mut seed = Seed::default();
        rng.fill_bytes(&mut seed);
        let a = uniform_poly(&params, &seed, 0, &basis);
        let zero = Poly::zeroed(params.ring().n(), basis.len());
        let b = secret.mask(&basis, &a, &zero, rng);
        Self {
            params,
            id: secret.id(),
            basis,
            parts: [b, a],
        }
    }
}

homaes_wire::debug_fields!(PublicKey, id);

/// All key-switching keys of a server; public.
pub struct EvalKey {
    pub(crate) params: Arc<Params>,
    pub(crate) id: KeyId,
    pub(crate) keys: Vec<(Target, Arc<SwitchKey>)>,
    /// for AES, in sets where it runs in K
    pub(crate) cipher: Option<Box<Self>>,
}

impl EvalKey {
    /// All key-switching keys of `secret`, for every layout of its set.
    ///
    /// Cost: a transform per limb and a Gaussian polynomial per digit of every key, about a second on two cores for
    /// `bgv/aes128`.
    pub fn generate(secret: &SecretKey, rng: &mut impl CryptoRng) -> Self {
        Self::of_file(&EvalKeyFile::generate(secret, rng))
    }

    fn of_file(file: &EvalKeyFile<'_>) -> Self {
        let params = file.secret.params();
        let mut pairs: Vec<_> = file
            .digits
            .par_iter()
            .map(|digit| {
                file.pair(digit)
                    .map(|half| KeyPoly::new(params.rns().count(), &digit.primes, half))
            })
            .collect();
        let mut pairs = pairs.drain(..);
        let keys = file.targets.iter().map(|&target| {
            let parts = KeyPart::ALL.map(|part| {
                let digits = target.digits(params, part);
                pairs.by_ref().take(digits).collect()
            });
            (target, Arc::new(SwitchKey { parts }))
        });
        Self {
            params: params.clone(),
            id: file.id(),
            keys: keys.collect(),
            cipher: file
                .cipher
                .as_deref()
                .map(|own| Box::new(Self::of_file(own))),
        }
    }

    /// The keys that AES runs under.
    pub(crate) fn of_aes(&self) -> &Self {
        self.cipher.as_deref().unwrap_or(self)
    }

    /// The parameters.
    pub fn params(&self) -> &Arc<Params> {
        &self.params
    }

    /// The secret key this belongs to.
    pub fn key_id(&self) -> KeyId {
        self.id
    }

    /// The layouts that an evaluation key of the set can be for: all of them, or all but packed. Packed AES needs every
    /// key, and in sets with bytes bits need none but those of sliced AES.
    pub fn choices(params: &Params) -> Vec<Vec<Layout>> {
        let all = params.set().layouts.to_vec();
        let mut smaller = all.clone();
        smaller.retain(|&layout| layout != Layout::Packed);
        match smaller.is_empty() || smaller == all {
            true => vec![all],
            false => vec![all, smaller],
        }
    }

    /// The layouts that it has keys for.
    pub fn layouts(&self) -> Vec<Layout> {
        let packed = |(target, _): &(Target, _)| matches!(target, Target::Translate(_));
        let packed = self.of_aes().keys.iter().any(packed);
        let offered = self.params.set().layouts.iter().copied();
        offered
            .filter(|&layout| packed || layout != Layout::Packed)
            .collect()
    }

    /// Checks that it has keys for `layout`.
    pub(crate) fn check_layout(&self, layout: Layout) -> Result<()> {
        let held = self.layouts();
        match held.contains(&layout) {
            true => Ok(()),
            false => Err(Mismatch::NotInEvalKey { layout, held }.into()),
        }
    }

    /// The key for `target`, if there is one.
    pub(crate) fn key(&self, target: Target) -> Result<&Arc<SwitchKey>> {
        let found = self.keys.iter().find(|(of, _)| *of == target);
        let what = target.name();
        found
            .map(|(_, key)| key)
            .ok_or(EvalError::MissingKey { what }.into())
    }

    /// The key for `target`, if it covers `plan`, which is one of `level`.
    pub(crate) fn key_at(
        &self,
        target: Target,
        plan: &SwitchPlan,
        level: usize,
    ) -> Result<&SwitchKey> {
        let key = self.key(target)?;
        match key.covers(plan) {
            true => Ok(key),
            // levels S2 and S0 have every key of AES, and S2 is the level below S1
            false => Err(self.params.no_key(target.name(), level, level - 1)),
        }
    }
}

homaes_wire::debug_fields!(EvalKey, id);

/// The file of an evaluation key, computed digit by digit.
pub struct EvalKeyFile<'s> {
    secret: &'s SecretKey,
    /// seed of the uniform halves
    pub(crate) seed: Seed,
    errors: Zeroizing<Seed>,
    pub(crate) targets: Vec<Target>,
    /// in the order of the file
    pub(crate) digits: Vec<KeyDigit>,
    /// the secret of results, in K
    results: Option<SecretKey>,
    /// the keys of AES, in sets where it runs in K
    cipher: Option<Box<Self>>,
}

/// One digit of one part of a key-switching key.
pub(crate) struct KeyDigit {
    target: Target,
    part: KeyPart,
    pub(crate) digit: usize,
    pub(crate) primes: Vec<usize>,
}

impl KeyDigit {
    pub(crate) fn all(
        params: &Params,
        target: Target,
        part: KeyPart,
    ) -> impl Iterator<Item = Self> {
        let primes = target.primes(params, part);
        (0..target.digits(params, part)).map(move |digit| Self {
            target,
            part,
            digit,
            primes: primes.clone(),
        })
    }

    /// Identifies the digit's message, and so its streams.
    pub(crate) fn name(&self) -> [u64; 6] {
        let [kind, a, b, c] = match self.target {
            Target::Frobenius(k) => [0, k, 0, 0],
            Target::Product(k) => [1, k, 0, 0],
            Target::Translate([a, b, c]) => [2, a, b, c],
            Target::Rotate([a, b, c]) => [3, a, b, c],
            Target::Cube => [4, 0, 0, 0],
            Target::Expand(step) => [5, step, 0, 0],
            Target::Leave => [6, 0, 0, 0],
        };
        [kind, a, b, c, self.part.number(), self.digit].map(|x| x as u64)
    }

    /// The uniform half, from the seed of the key.
    pub(crate) fn uniform(&self, params: &Params, seed: &Seed) -> Poly {
        let seed = stream_seed(seed, params.id(), &self.name());
        uniform_limbs(params, &seed, |i| params.modulus(i).p(), &self.primes)
    }
}

impl<'s> EvalKeyFile<'s> {
    /// An evaluation key with a random seed, for every layout of its set.
    pub fn generate(secret: &'s SecretKey, rng: &mut impl CryptoRng) -> Self {
        let mut seed = Seed::default();
        rng.fill_bytes(&mut seed);
        Self::of_seed(secret, seed, secret.params().set().layouts)
    }

    /// The evaluation key with this seed, for these layouts of its set: one of [`EvalKey::choices`].
    pub fn of_seed(secret: &'s SecretKey, seed: Seed, layouts: &[Layout]) -> Self {
        let params = secret.params();
        let cipher = secret.cipher.as_deref().map(|own| {
            let results = Some(secret.in_cipher(&own.params));
            Box::new(Self {
                results,
                ..Self::of_seed(own, seed, layouts)
            })
        });
        let layouts = if cipher.is_some() { &[] } else { layouts };
        let targets = Target::all(params, layouts);
        let parts = targets
            .iter()
            .flat_map(|&target| KeyPart::ALL.map(|part| (target, part)));
        let digits = parts.flat_map(|(target, part)| KeyDigit::all(params, target, part));
        Self {
            secret,
            seed,
            errors: error_seed(&secret.bytes(), &seed),
            digits: digits.collect(),
            targets,
            results: None,
            cipher,
        }
    }

    pub(crate) fn params(&self) -> &Params {
        self.secret.params()
    }

    pub(crate) fn id(&self) -> KeyId {
        self.secret.id()
    }

    /// The targets of K, and those of the set's own ring.
    pub(crate) fn all_targets(&self) -> [&[Target]; 2] {
        let cipher = self.cipher.as_ref();
        [cipher.map_or(&[][..], |own| &own.targets), &self.targets]
    }

    /// The keys of the ring that polynomial `index` of the file belongs to, and its number among them.
    pub(crate) fn file_of(&self, index: usize) -> (&Self, usize) {
        match &self.cipher {
            Some(cipher) if index < cipher.digits.len() => (cipher, index),
            Some(cipher) => (self, index - cipher.digits.len()),
            None => (self, index),
        }
    }

    /// Both halves: an encryption of P times the source modulo the digit's primes, and of 0 modulo the others.
    pub(crate) fn pair(&self, digit: &KeyDigit) -> [Poly; 2] {
        let params = self.params();
        let a = digit.uniform(params, &self.seed);
        let mut gadget = SecretPoly(Poly::zeroed(params.ring().n(), digit.primes.len()));
        let special = params.specials(digit.part);
        for (limb, &i) in gadget.limbs.iter_mut().zip(&digit.primes) {
            if !special.contains(&i) && params.digit_of(digit.part, i) == digit.digit {
                switched_secret(self.secret, digit.target, i, limb);
                let m = params.modulus(i);
                let p = m.shoup(params.rns().product(m, special.clone()));
                limb.iter_mut().for_each(|x| *x = m.scale(*x, p));
            }
        }
        let errors = stream_seed(&self.errors, params.id(), &digit.name());
        let mut rng = ChaCha20Rng::from_seed(*errors);
        let under = match (digit.target, &self.results) {
            (Target::Leave, Some(results)) => results,
            _ => self.secret,
        };
        let b = under.mask(&digit.primes, &a, &gadget, &mut rng);
        [b, a]
    }
}

homaes_wire::debug_fields!(EvalKeyFile<'_>, secret);

/// The image of s, for products times s or s², modulo prime `i`; stored and canonical.
fn switched_secret(secret: &SecretKey, target: Target, i: usize, out: &mut Words) {
    let params = secret.params();
    let m = params.modulus(i);
    let s = &secret.poly.limbs[i];
    let map = target.map(params);
    for (at, x) in out.iter_mut().enumerate() {
        *x = s[map.source(at)];
    }
    let factors = match target {
        Target::Product(_) => 1,
        Target::Cube => 2,
        _ => 0,
    };
    for _ in 0..factors {
        for (x, &s) in out.iter_mut().zip(s.iter()) {
            *x = m.mul_stored(*x, s);
        }
    }
}

/// Version 1 files: stream number of the uniform half of digit `digit` (below 16) of one part of key `index`.
pub(crate) fn key_stream(index: usize, part: KeyPart, digit: usize) -> u64 {
    (index as u64) << 16 | (part.number() as u64) << 12 | (digit as u64) << 8
}

/// The uniform polynomial `stream` of `seed`: canonical values, read as stored evaluation form. The limb of RNS prime i
/// takes the ChaCha stream `stream · 256 + i`.
pub(crate) fn uniform_poly(params: &Params, seed: &Seed, stream: u64, basis: &[usize]) -> Poly {
    uniform_limbs(params, seed, |i| stream << 8 | i as u64, basis)
}

/// As [`uniform_poly`], where the limb of RNS prime i takes the ChaCha stream `stream(i)`.
fn uniform_limbs(
    params: &Params,
    seed: &Seed,
    stream: impl Fn(usize) -> u64 + Sync,
    basis: &[usize],
) -> Poly {
    let n = params.ring().n();
    let limbs = basis
        .par_iter()
        .map(|&i| {
            let mut limb = Words::scratch(n);
            sample::uniform(seed, stream(i), params.modulus(i), &mut limb);
            limb
        })
        .collect::<Vec<_>>();
    Poly {
        limbs: limbs.into(),
    }
}
