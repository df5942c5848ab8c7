//! From lifted ciphertexts to LWE ciphertexts.
//!
//! With λ the functional of a slot and D its dual embedding, λ(c1·s') = Σ_k D_k c1_k s'_k over the positions k of
//! evaluation form. As s' lies in the subring, its values are the same in all sixteen rows. So the rows of D·c1 are
//! summed, and the transform of the subring, which is symmetric, turns the sums into the coefficients a_i of
//! λ(c1·s') = Σ_i a_i z_i: the mask. The body is Σ_k D_k c0_k. The D of other slots of a class are translations.

use crate::error::{Error, Result};
use crate::key::BridgeKey;
use crate::noise::{CARRIED_LOG2, PACKING_SIGMAS, packing_log2, switch_log2};
use crate::numbers::{Digits, Numbers, bytes_level};
use crate::weights::Functional;
use homaes_bgv::device::{Reading, RingSwitch};
use homaes_bgv::{ByteLift, Descent, Evaluator, LiftNoise, Lifted, Params};
use homaes_math::GaloisMap;
use homaes_rns::{Poly, log2};
use homaes_scheme::mismatch;

/// The prepared crossing from numbers modulo t in slots to LWE ciphertexts.
pub struct SlotsToLwe<'k> {
    key: &'k BridgeKey,
    numbers: Numbers,
    /// of bytes
    lift: Option<ByteLift<'k>>,
    functionals: Vec<Functional>,
    /// class and translation of every slot
    slots: Vec<(usize, GaloisMap)>,
}

/// Bounds on the noise of readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadingNoise {
    /// log2 of the standard deviation on the torus
    pub log2_sigma: f64,
    /// log2 of a bound on the probability that any reading of a batch is off by more than 1/(4t), half of what decodes
    pub failure_log2: f64,
}

impl<'k> SlotsToLwe<'k> {
    /// Finds the functional of one slot per class, and the translations from there to the other slots. Takes a third of
    /// a second at n = 32768 on one thread.
    ///
    /// # Errors
    /// [`Error::Modulus`] for numbers that do not cross to the key's target, for which no bound was computed; if bytes of
    /// the set cannot be lifted.
    pub fn new(key: &'k BridgeKey, numbers: Numbers) -> Result<Self> {
        let params = &*key.params;
        let crossing = key.target.other.numbers();
        if !crossing.contains(&numbers) {
            return Err(Error::Modulus {
                found: numbers.log2_t(),
                expected: crossing[0].log2_t(),
            });
        }
        let lift = match numbers {
            Numbers::Bytes(log2_t) => Some(ByteLift::new(params, bytes_level(log2_t), log2_t)?),
            Numbers::Bits | Numbers::Pairs => None,
        };
        let factor = lift.as_ref().map_or(1, |lift| {
            let descent = Descent::new(params, lift.level());
            lift.factor().wrapping_mul(descent.factor())
        });
        let slots = params.slots();
        let [n3, n5, n257] = slots.axes();
        let classes = slots.count() / (n3 * n5 * n257);
        let descent = Descent::new(params, 1);
        let functionals = (0..classes)
            .map(|class| Functional::new(params, &descent, class, numbers.log2_t(), factor))
            .collect();
        let back = |e: usize, len: usize| (len - e % len) % len;
        let [_, cols, l3, l5] = params.ring().lens();
        let mut table = vec![None; slots.count()];
        for class in 0..classes {
            for step in (0..n3 * n5 * n257).map(|i| [i / (n5 * n257), i / n257 % n5, i % n257]) {
                let [e3, e5, e257] = step;
                let map = [back(e3, l3), back(e5, l5), back(e257, cols)];
                table[slots.slot(class, step)] = Some((class, key.ring.translation(map)));
            }
        }
        Ok(Self {
            key,
            numbers,
            lift,
            functionals,
            slots: table
                .into_iter()
                .map(|place| place.expect("classes and translations reach every slot"))
                .collect(),
        })
    }

    /// What the crossing reads.
    pub fn numbers(&self) -> Numbers {
        self.numbers
    }

    pub(crate) fn check(&self, expected: Numbers) -> Result<()> {
        same_modulus(self.numbers.log2_t(), expected.log2_t())
    }

    /// Class of a slot, which selects its functional.
    pub(crate) fn class(&self, slot: usize) -> usize {
        self.slots[slot].0
    }

    /// The key.
    pub fn key(&self) -> &'k BridgeKey {
        self.key
    }

    /// Words of an LWE ciphertext: mask, then body.
    pub fn words(&self) -> usize {
        self.key.dimension() + 1
    }

    /// Switches `all`, of one level, to the key of the subring. Noise: see [`ReadingNoise`]. Cost each: nine transforms of
    /// the ring from level 2, eleven from level 5. Fails if one holds numbers modulo another t, or belongs to another set
    /// or key.
    pub(crate) fn switched(&self, eval: &Evaluator<'_>, all: &[Lifted]) -> Result<Vec<[Poly; 2]>> {
        let params = self.params();
        let found = (eval.params().id(), eval.key_id());
        mismatch::check("bridge key", (params.id(), self.key.id), found)?;
        for a in all {
            same_modulus(a.log2_t(), self.numbers.log2_t())?;
        }
        let level = all.first().map_or(1, Lifted::level);
        let halves = Descent::new(params, level).apply(eval, all)?;
        let halves: Vec<[&Poly; 2]> = halves.iter().map(<[Poly; 2]>::each_ref).collect();
        let Digits { base, low, .. } = self.key.target.other.digits();
        let pairs = &self.key.pairs;
        let switch = RingSwitch { low, base, pairs };
        Ok(eval.device().ring_switch(params, &switch, &halves)?)
    }

    /// Reads slot `slot` of `of` as the LWE ciphertext numbered `to`.
    pub(crate) fn reading<'a>(&'a self, of: &'a [Poly; 2], slot: usize, to: usize) -> Reading<'a> {
        let (class, map) = &self.slots[slot];
        let dual = &self.functionals[*class].dual;
        Reading { of, dual, map, to }
    }

    pub(crate) fn params(&self) -> &'k Params {
        &self.key.params
    }

    /// log2 of the noise of readings of all slots of one ciphertext, lifted from planes like `a`; fails if the planes
    /// have more noise than the key allows for.
    pub(crate) fn noise_log2(&self, a: &Lifted) -> Result<f64> {
        let (params, found) = (self.params(), a.carried_log2());
        if found.is_nan() || found > CARRIED_LOG2 {
            let most = CARRIED_LOG2;
            return Err(Error::Handed { found, most });
        }
        let gain = Descent::new(params, a.level()).gain_log2();
        let rms = match (self.numbers, &self.lift) {
            (Numbers::Bytes(_), Some(lift)) => lift.noise_log2(),
            (Numbers::Pairs, _) => LiftNoise::pairs_rms_log2(params, found),
            _ => LiftNoise::planes_rms_log2(params, found),
        };
        let digits = self.key.target.other.digits();
        let rms = log2::hypot(rms + gain, switch_log2(params, digits, 1.0, 1.0));
        // the noise of bits is mostly roundings of c1 times s; that of pairs, squares of these; that of bytes, products
        // of two factors
        let variances = self.functionals.iter().map(|f| match self.numbers {
            Numbers::Bits | Numbers::Bytes(_) => f.of_products,
            Numbers::Pairs => f.of_squares,
        });
        let energy = variances.sum::<f64>() / self.functionals.len() as f64;
        Ok(rms + 0.5 * energy.log2() - self.unit_log2())
    }

    /// log2 of the factor from noise to the torus: a reading is μ/2 modulo q.
    pub(crate) fn unit_log2(&self) -> f64 {
        self.key.transform.modulus().log2() + 1.0
    }

    /// log2 of the error that the failure bound is for: 1/(4t), half of what decodes; of bytes 1/(2t), less what packing
    /// adds.
    pub(crate) fn limit_log2(&self) -> f64 {
        let t = -f64::from(self.numbers.log2_t());
        match self.numbers {
            Numbers::Bits | Numbers::Pairs => t - 2.0,
            Numbers::Bytes(_) => {
                let packing = packing_log2(self.key.dimension()).exp2();
                ((t - 1.0).exp2() - PACKING_SIGMAS * packing).log2()
            }
        }
    }

    /// log2 of the largest growth of noise on its way to the other ring.
    pub(crate) fn largest_gain_log2(&self) -> f64 {
        let level = match (self.numbers, &self.lift) {
            (Numbers::Bits, _) => 1,
            (_, Some(lift)) => lift.level(),
            _ => 2,
        };
        Descent::new(self.params(), level).gain_log2()
    }

    /// The lift of bytes.
    pub(crate) fn lift(&self) -> Option<&ByteLift<'k>> {
        self.lift.as_ref()
    }

    /// |D_j| per slot, up to its translation.
    pub(crate) fn slots(&self) -> Vec<(&[f64], &GaloisMap)> {
        let slots = self.slots.iter();
        slots
            .map(|(class, map)| (&self.functionals[*class].magnitudes[..], map))
            .collect()
    }
}

fn same_modulus(found: u32, expected: u32) -> Result<()> {
    match found == expected {
        true => Ok(()),
        false => Err(Error::Modulus { found, expected }),
    }
}
