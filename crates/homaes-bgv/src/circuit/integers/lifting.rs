//! From bytes and masks to integers.

use super::bound::{IntegerBound, raise_log2};
use super::factor::{doubled_factor, squared_factor, switch_factor};
use super::{Integers, limit};
use crate::chain::Steps;
use crate::ciphertext::{Ciphertext, Product};
use crate::circuit::bounds::key_switch_variance_log2;
use crate::circuit::evaluate::{Evaluator, only};
use crate::circuit::lift::Lifted;
use crate::circuit::lift::noise::LiftNoise;
use crate::circuit::lift::plan::{MOST_BITS, Plan};
use crate::error::{Error, Result};
use crate::keys::Target;
use crate::noise::bound::KEY_PEAK;
use crate::params::Params;
use homaes_rns::SwitchPlan;
use rayon::prelude::*;

/// log2, over ρ, of the largest noise that planes may carry over from above their level: 2^9.2 in the rings of degree
/// 32768.
const HANDED_LOG2: f64 = -1.5;
/// The same for outputs of AES: 2^7.4.
const USUAL_LOG2: f64 = -3.3;

/// log2 of the quantile at 2^-100, over the root mean square, of seven images times constants of weight 8.
const PLANES_LOG2: f64 = 7.0;

/// The lift of bytes or of masks of one level to integers modulo 2^k. Cheap to keep; its bounds take milliseconds.
pub struct Lifting<'k> {
    eval: Evaluator<'k>,
    plan: Plan<'static>,
    /// key switches of the planes of bytes; masks need none
    images: Option<SwitchPlan>,
    bound: IntegerBound,
}

/// Products y·w of one level, summed before their key switch.
type Factors = [Ciphertext; 2];

impl<'k> Evaluator<'k> {
    /// The lift of bytes to integers modulo 2^`bits`, 3 ≤ `bits` ≤ 24, from `level` or from one of the two levels below
    /// if that leaves more room.
    ///
    /// # Errors
    /// [`Error::NoLift`] for a set with the levels of bits; [`Error::LiftBits`] if results could be wrong with a
    /// probability above that of the set.
    pub fn lifting(&self, level: usize, bits: u32) -> Result<Lifting<'k>> {
        let best = Best::right(self.params(), Source::Bytes, level, bits)?;
        Ok(Lifting {
            eval: self.clone(),
            plan: best.plan,
            images: Some(self.params().quiet_plan(best.plan.level)),
            bound: best.bound,
        })
    }

    /// As [`Evaluator::lifting`], for masks: ciphertexts with 0 or 1 in every slot.
    ///
    /// # Errors
    /// As [`Evaluator::lifting`].
    pub fn mask_lifting(&self, level: usize, bits: u32) -> Result<Lifting<'k>> {
        let best = Best::right(self.params(), Source::Masks, level, bits)?;
        Ok(Lifting {
            eval: self.clone(),
            plan: best.plan,
            images: None,
            bound: best.bound,
        })
    }

    /// Σ y·w at their level in one relinearisation, by `plan`.
    fn products(&self, factors: &[Factors], plan: &SwitchPlan) -> Result<Ciphertext> {
        let products = factors.par_iter().with_max_len(1).map(|[y, w]| {
            self.cancel.check()?;
            self.tensor(y, w, 0, plan)
        });
        let products = products.collect::<Result<Vec<Product>>>()?;
        let mut products = products.into_iter();
        let mut sum = products.next().ok_or(Error::NoOperands)?;
        for product in products {
            self.sum_products(&mut sum, &product)?;
        }
        let (product, targets) = ([(&sum.parts[..], sum.noise)], &[Target::Product(0)]);
        Ok(only(
            self.switched_products(plan, sum.level, targets, &product)?,
        ))
    }

    /// Factors y = x² and w = 3f - 2x, one level below x, whose product lifts x = f·b to b modulo 2^`to` times a
    /// factor. y is multiplied by 2^(to - 1), for the units of `to`.
    fn doubling(&self, x: &Lifted, to: u32) -> Result<Factors> {
        let params = self.params();
        let (level, k) = (x.level(), x.log2_t() as i32);
        let plan = params.switching(level);
        let left = self.scaled(&x.ciphertext, 2 * k - 1 - to as i32, 1)?;
        let y = self.products(&[[left, x.ciphertext.clone()]], plan)?;
        let y = self.scaled(&y, to as i32 - 1, 1)?;
        // 3f between ±2^(to - 1)
        let constant = (x.factor.wrapping_mul(3) << (64 - to)) as i64 >> (64 - to);
        let plus = params.basis(level).iter().map(|&i| {
            let m = params.modulus(i);
            let constant = m.scale(m.from_signed(constant), m.shoup(m.inv(1 << (to - 1))));
            m.to_stored(constant)
        });
        let plus: Vec<u64> = plus.collect();
        let w = only(self.scaled_all(&[&x.ciphertext], k + 1 - to as i32, -1, &plus)?);
        Ok([y, self.lowered(&w, level - 1)?])
    }
}

/// The ciphertexts of a lift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Bytes,
    /// one bit, which is its own plane
    Masks,
}

impl Source {
    fn planes(self, plan: &Plan<'_>) -> u32 {
        match self {
            Self::Bytes => plan.planes(),
            Self::Masks => 1,
        }
    }

    /// Whether planes have little noise from key switches at the level below. Bytes have none at the level of the
    /// middle prime, which the keys of AES's linear layer lack, nor where digits exceed the special modulus.
    fn starts_at(self, params: &Params, level: usize) -> bool {
        if level < 2 || self == Self::Bytes && level % 3 == 2 {
            return false;
        }
        let drop = params.log2_modulus(level) - params.log2_modulus(level - 1);
        let switch = || 0.5 * key_switch_variance_log2(params, &params.quiet_plan(level), 1);
        let most = params.noise().rho_log2 + HANDED_LOG2;
        self == Self::Masks || switch() + PLANES_LOG2 - drop <= most
    }

    /// Bound at an embedding with this κ, with variances raised by 2^`raise_log2`.
    fn noise(self, params: &Params, plan: &Plan<'_>, at: [f64; 2]) -> LiftNoise {
        let handed = params.noise().rho_log2 + HANDED_LOG2;
        LiftNoise::integers(params, plan, (self.planes(plan), handed), at)
    }

    fn rms_log2(self, params: &Params, plan: &Plan<'_>) -> f64 {
        let handed = params.noise().rho_log2 + USUAL_LOG2;
        LiftNoise::integers_rms_log2(params, plan, (self.planes(plan), handed))
    }

    fn bound(self, params: &Params, plan: &Plan<'_>) -> IntegerBound {
        let noise = self.noise(params, plan, [KEY_PEAK, raise_log2(params)]);
        IntegerBound::new(params, noise.moments(), f64::from(self.planes(plan)))
    }
}

/// The level, factor and noise of the integers that [`Evaluator::lifting`] leads to, without keys. Made in milliseconds.
pub struct ByteLift<'p> {
    params: &'p Params,
    plan: Plan<'static>,
}

impl<'p> ByteLift<'p> {
    /// For bytes lifted from `level` to integers modulo 2^`bits`.
    ///
    /// # Errors
    /// As [`Evaluator::lifting`].
    pub fn new(params: &'p Params, level: usize, bits: u32) -> Result<Self> {
        let plan = Best::right(params, Source::Bytes, level, bits)?.plan;
        Ok(Self { params, plan })
    }

    /// Level of the integers.
    pub fn level(&self) -> usize {
        self.plan.end()
    }

    /// The odd factor of the integers, modulo 2^64: a number m in a slot is stored as m times this.
    pub fn factor(&self) -> u64 {
        let down = |from, to| switch_factor(self.params, from, to);
        let (mut factor, mut level) = (1u64, self.plan.level - 1);
        for _ in 0..self.plan.squarings {
            factor = squared_factor(factor, down(level, level - 1));
            level -= 1;
        }
        for _ in self.plan.between {
            let downs = [down(level, level - 1), down(level - 1, level - 2)];
            factor = doubled_factor(factor, downs);
            level -= 2;
        }
        doubled_factor(factor, [down(level, level - 1), 1])
    }

    /// [`Lifting::noise_log2`].
    pub fn noise_log2(&self) -> f64 {
        Source::Bytes.rms_log2(self.params, &self.plan)
    }

    /// Bound on the noise at an embedding with this κ, in units of t = 2, with variances raised by 2^`raise_log2`.
    pub fn noise_at(&self, kappa: f64, raise_log2: f64) -> LiftNoise {
        Source::Bytes.noise(self.params, &self.plan, [kappa, raise_log2])
    }
}

/// A plan whose results are right, and the bits that its noise may still grow.
struct Best {
    plan: Plan<'static>,
    bound: IntegerBound,
    room: f64,
}

impl Best {
    /// The plan of [`Best::of`]; an error says why there is none.
    fn right(params: &Params, source: Source, level: usize, bits: u32) -> Result<Self> {
        let set = params.set().name.as_str();
        if params.set().chain.steps != Steps::Three {
            return Err(Error::NoLift { set });
        }
        let level = level.min(params.top_level());
        let best = |bits| Self::of(params, source, level, bits);
        best(bits).ok_or_else(|| Error::LiftBits {
            found: bits,
            most: (3..=MOST_BITS)
                .rev()
                .find(|&bits| best(bits).is_some())
                .unwrap_or(0),
            level,
            set,
        })
    }

    /// The plan that leaves most room, from `level` or the two below.
    fn of(params: &Params, source: Source, level: usize, bits: u32) -> Option<Self> {
        let levels = level.saturating_sub(2)..=level;
        let plans = levels.filter_map(|level| {
            let plan = Plan::new(level, bits).filter(|_| source.starts_at(params, level))?;
            let bound = source.bound(params, &plan);
            let room = limit(params, plan.end(), bits) - bound.largest_log2(params);
            let right = bound.holds(params, plan.end(), bits);
            right.then_some(Self { plan, bound, room })
        });
        plans.max_by(|a, b| a.room.total_cmp(&b.room))
    }
}

impl Lifting<'_> {
    /// Level that ciphertexts come down to first.
    pub fn from(&self) -> usize {
        self.plan.level
    }

    /// Level of the integers.
    pub fn level(&self) -> usize {
        self.plan.end()
    }

    /// [`Integers::room_bits`] of the integers.
    pub fn room_bits(&self) -> f64 {
        let (params, plan) = (self.eval.params(), &self.plan);
        limit(params, plan.end(), plan.log2_t) - self.bound.largest_log2(params)
    }

    fn source(&self) -> Source {
        match self.images {
            Some(_) => Source::Bytes,
            None => Source::Masks,
        }
    }

    /// log2 of the root mean square noise of the integers, in units of t = 2, over the embeddings of a usual key.
    pub fn noise_log2(&self) -> f64 {
        self.source().rms_log2(self.eval.params(), &self.plan)
    }

    /// Every byte as an integer from 0 to 255, or every 0 or 1 of a mask, modulo 2^k. Other bytes in a mask give
    /// numbers without meaning.
    ///
    /// Cost: bytes first take [`Evaluator::bit_planes`], seven key switches. Every bit then takes one for each squaring
    /// and two for each doubling; the last doubling takes one per bit and one in all. Bytes take 36 key switches for 8
    /// bits, 45 for 11, 56 for 16 and 64 for 24; masks take 5, 6, 7 and 8. Bytes to 8 to 11 bits take 0.11 to 0.13 s on
    /// one thread at n = 32768.
    ///
    /// # Errors
    /// [`Error::TooDeep`] below the level of this lift; [`Error::PlaneNoise`] at it, for ciphertexts with more noise
    /// than results of AES and products have, and for public ones; if `a` belongs to another set or key.
    pub fn lift(&self, a: &Ciphertext) -> Result<Integers> {
        let (eval, level) = (&self.eval, self.plan.level);
        let a = eval.lowered(&eval.with_bound(a)?, level)?;
        if a.level < level {
            return Err(eval.too_deep(level - 1, a.level - 1));
        }
        let form = a.bound(eval.params()).form;
        if form.is_trivial() || form.family().is_none() {
            // roundings may be those of public bytes, which can be chosen
            return Err(self.noisy(eval.params().noise().bounds().message_log2));
        }
        let mut planes = match &self.images {
            Some(images) => eval.planes(&a, images)?,
            None => vec![eval.plane(&a)?],
        };
        planes.truncate(self.plan.planes() as usize);
        self.sum_of_bits(planes)
    }

    fn noisy(&self, found: f64) -> Error {
        let params = self.eval.params();
        Error::PlaneNoise {
            found,
            most: params.noise().rho_log2 + HANDED_LOG2,
            set: params.set().name.as_str(),
        }
    }

    /// Σ 2^i b_i.
    fn sum_of_bits(&self, mut x: Vec<Lifted>) -> Result<Integers> {
        let (eval, plan) = (&self.eval, &self.plan);
        let params = eval.params();
        let handed = x
            .iter()
            .map(Lifted::carried_log2)
            .fold(f64::NEG_INFINITY, f64::max);
        if handed.is_nan() || handed > params.noise().rho_log2 + HANDED_LOG2 {
            return Err(self.noisy(handed));
        }
        let beside = eval.beside(x.len());
        for _ in 0..plan.squarings {
            x = eval.squares(&x, params.switching(x[0].level()))?;
        }
        for &to in plan.between {
            let doubled = x.par_iter().with_max_len(1).map(|x| {
                let factors = beside.doubling(x, to)?;
                let last = params.switching(factors[0].level);
                let product = beside.products(&[factors], last)?;
                Ok(x.doubled(params, product, to))
            });
            x = doubled.collect::<Result<_>>()?;
        }
        let doubled = (0..).zip(&x).filter(|(i, _)| plan.is_doubled(*i));
        let doubled: Vec<_> = doubled.collect();
        let factors = doubled
            .par_iter()
            .with_max_len(1)
            .map(|(i, x)| beside.doubling(x, plan.log2_t - i));
        let factors = factors.collect::<Result<Vec<_>>>()?;
        let mut sum = eval.products(&factors, params.staying(plan.end()))?;
        let factor = x[0].doubled(params, sum.clone(), plan.log2_t).factor;
        for (i, x) in (0..).zip(&x).skip(factors.len()) {
            // b modulo 2^before as 2^i b modulo 2^k
            let low = eval.lowered(&x.ciphertext, plan.end())?;
            let low = eval.scaled(&low, (plan.before() + i - plan.log2_t) as i32, 1)?;
            sum = eval.sum(&sum, &low)?;
        }
        Integers {
            ciphertext: sum,
            bits: plan.log2_t,
            factor,
            bound: self.bound.clone(),
        }
        .checked(params, "lift")
    }
}

impl Lifted {
    /// With the product of a doubling of this.
    fn doubled(&self, params: &Params, ciphertext: Ciphertext, to: u32) -> Self {
        let down = switch_factor(params, self.level(), self.level() - 1);
        let last = switch_factor(params, self.level() - 1, ciphertext.level);
        Self {
            factor: doubled_factor(self.factor, [down, last]),
            log2_t: to,
            ciphertext,
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets;

    /// Every chain of exponents up to the last doubling, of at most two.
    fn chains(log2_t: u32, from: u32) -> Vec<Vec<u32>> {
        let next = |k: u32| k + 2..=(2 * k).min(log2_t - 1);
        let one = next(from).map(|k| vec![k]);
        let two = next(from).flat_map(|k| next(k).map(move |l| vec![k, l]));
        let all = [vec![]].into_iter().chain(one).chain(two);
        all.filter(|c| log2_t <= 2 * c.last().unwrap_or(&from))
            .collect()
    }

    /// The most bits of integers from the level that AES-128 leaves, and the most whose sums over the 1,024 slots of a
    /// class hold: of bytes, of masks, which comparisons leave four levels below, and of bytes times masks.
    #[test]
    #[ignore = "nightly: ten seconds"]
    fn nightly_full_sizes_offer_these_bits() {
        let sets = [
            (&sets::AES128_8, 9),
            (&sets::AES192_5, 12),
            (&sets::AES256_8, 9),
            (&sets::AES256_8, 15),
            (&sets::AES256_17, 18),
            (&sets::AES256_17, 21),
        ];
        let found = sets.map(|(set, level)| {
            let params = Params::new(set).unwrap();
            let most = |source, level| {
                [f64::NEG_INFINITY, 10.5].map(|room| {
                    let right = |bits: &u32| {
                        let best = Best::of(&params, source, level, *bits);
                        best.is_some_and(|best| best.room > room)
                    };
                    (3..=MOST_BITS).rev().find(right).unwrap_or(0)
                })
            };
            [
                most(Source::Bytes, level),
                most(Source::Masks, level - 4),
                most(Source::Bytes, level - 5),
            ]
        });
        let want = [
            [[11, 8], [4, 0], [0, 0]],
            [[16, 14], [8, 6], [6, 6]],
            [[12, 8], [4, 0], [0, 0]],
            [[24, 22], [12, 12], [12, 11]],
            [[24, 24], [24, 19], [16, 16]],
            [[24, 24], [24, 24], [24, 24]],
        ];
        assert_eq!(found, want);
    }

    #[test]
    #[ignore = "nightly: two minutes"]
    fn nightly_no_other_steps_leave_more_room() {
        let params = Params::new(&sets::AES256_8).unwrap();
        for log2_t in 5..=MOST_BITS {
            let room = |plan: &Plan<'_>| {
                let bound = Source::Bytes.bound(&params, plan);
                limit(&params, plan.end(), log2_t) - bound.largest_log2(&params)
            };
            let mut best = f64::NEG_INFINITY;
            for squarings in 1..=4.min(log2_t - 2) {
                for between in chains(log2_t, 1 + squarings) {
                    best = best.max(room(&Plan {
                        level: 15,
                        log2_t,
                        squarings,
                        between: &between,
                    }));
                }
            }
            let found = room(&Plan::new(15, log2_t).unwrap());
            println!("2^{log2_t}: {found:.1} bits of room");
            assert!((found - best).abs() < 1e-9, "2^{log2_t}: {found} {best}");
        }
    }
}
