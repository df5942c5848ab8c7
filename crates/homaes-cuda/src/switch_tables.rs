//! Tables of conversions, modulus switches and key switches.

use crate::args::Tables;
use crate::arithmetic::{Arithmetic, SOURCES};
use crate::kernels::Kind;
use homaes_bgv::Params;
use homaes_math::Modulus;
use homaes_math::rns::Conversion;
use homaes_rns::{ModSwitch, SwitchPlan};

/// Most targets of a digit's conversion.
const TARGETS: usize = 47;

/// The first `count` items, with `zero` for missing ones.
pub(crate) fn padded<T: Copy>(
    some: impl IntoIterator<Item = T>,
    count: usize,
    zero: T,
) -> impl Iterator<Item = T> {
    some.into_iter().chain(core::iter::repeat(zero)).take(count)
}

/// A place as the kernels read it, -1 for none.
fn place_or_none(place: Option<usize>) -> i32 {
    place.map_or(-1, |place| place as i32)
}

/// Positions of the tables of a conversion, in words, and its sizes.
#[derive(Clone)]
pub(crate) struct Convert {
    pub(crate) source_prime: usize,
    pub(crate) target_prime: usize,
    /// factor of coefficients, per limb
    pub(crate) scale: usize,
    /// `struct Digit` each
    pub(crate) digits: usize,
    /// `struct Target` per digit and target
    pub(crate) table: usize,
    pub(crate) targets: usize,
    pub(crate) limbs: usize,
    /// sources and targets of each digit
    pub(crate) sizes: Vec<[usize; 2]>,
}

/// A digit: positions of its limbs, its conversion, and per target the conversion's number for it, if any.
struct ConvertDigit<'a> {
    places: Vec<usize>,
    conversion: &'a Conversion,
    targets: Vec<Option<usize>>,
}

impl Convert {
    fn new(
        arithmetic: Arithmetic,
        params: &Params,
        [sources, targets]: [&[usize]; 2],
        scale: Vec<u64>,
        digits: &[ConvertDigit<'_>],
        tables: &mut Tables,
    ) -> Self {
        let moduli = targets.iter().map(|&i| params.rns().modulus(i));
        let moduli: Vec<&Modulus> = moduli.collect();
        let bits = Kind::of(params).prime_bits;
        let mut sizes = Vec::new();
        let mut heads = Vec::new();
        let mut table = Vec::new();
        for digit in digits {
            let own = |(at, target): (usize, &Option<usize>)| target.map(|_| at);
            let held: Vec<usize> = digit.targets.iter().enumerate().filter_map(own).collect();
            let count = digit.places.len();
            assert!(
                count < SOURCES && held.len() <= TARGETS,
                "a conversion that is too large"
            );
            sizes.push([count, held.len()]);
            let mut ints = vec![count];
            ints.extend(padded(digit.places.iter().copied(), SOURCES, 0));
            ints.push(held.len());
            ints.extend(padded(held, TARGETS + 1, 0));
            let pair = |pair: &[usize]| pair[0] as u64 | (pair[1] as u64) << 32;
            heads.extend(ints.chunks(2).map(pair));
            let inverses = digit
                .conversion
                .inverses()
                .iter()
                .map(|x| (1_u64 << bits) as f64 * x);
            heads.extend(padded(inverses.map(f64::to_bits), SOURCES, 0));
            for (target, m) in digit.targets.iter().zip(&moduli) {
                let target = target.map(|j| (digit.conversion, j));
                table.extend(arithmetic.target(target, m, bits));
            }
        }
        Self {
            source_prime: tables.places(sources.iter().copied()),
            target_prime: tables.places(targets.iter().copied()),
            scale: tables.words(scale),
            digits: tables.words(heads),
            table: tables.words(table),
            targets: targets.len(),
            limbs: sources.len(),
            sizes,
        }
    }
}

pub(crate) struct ModSwitchTables {
    /// of the dropped limbs
    pub(crate) places: usize,
    pub(crate) convert: Convert,
    pub(crate) kept: usize,
    pub(crate) factor: usize,
}

impl ModSwitchTables {
    pub(crate) fn new(
        arithmetic: Arithmetic,
        params: &Params,
        plan: &ModSwitch,
        tables: &mut Tables,
    ) -> Self {
        let rns = params.rns();
        let (dropped, to) = (plan.dropped(), plan.to());
        let conversion = plan.conversion();
        let scales = conversion.scales().iter().zip(plan.dropped_primes());
        let scales = scales.flat_map(|(c, &i)| arithmetic.factor(rns.modulus(i), c.w));
        let factors = (0..to.len()).flat_map(|j| {
            let m = rns.modulus(to[j]);
            plan.factor(j).map_or([0; 2], |c| arithmetic.factor(m, c.w))
        });
        let digit = ConvertDigit {
            places: (0..dropped.len()).collect(),
            conversion,
            targets: (0..to.len()).map(Some).collect(),
        };
        let primes = [plan.dropped_primes(), to];
        Self {
            places: tables.places(dropped.iter().copied()),
            convert: Convert::new(
                arithmetic,
                params,
                primes,
                scales.collect(),
                &[digit],
                tables,
            ),
            kept: tables.ints((0..to.len()).map(|j| place_or_none(plan.source(j)))),
            factor: tables.words(factors),
        }
    }
}

pub(crate) struct SwitchTables {
    /// for elements that `scale` multiplied
    pub(crate) convert: Convert,
    /// factors of coefficients for elements not yet multiplied by `scale`
    pub(crate) unscaled: usize,
    /// whether the digit owns the prime, by digit and extended prime
    pub(crate) own: usize,
    /// the digit that owns an extended prime, or -1
    pub(crate) owner: usize,
    /// (P/P_l)⁻¹ per source prime, and 1
    pub(crate) scale: usize,
    pub(crate) unit: usize,
    /// (P/P_l)⁻¹ without the factor R of a product
    pub(crate) unstored_scale: usize,
    /// positions 0, 1, …
    pub(crate) order: usize,
    /// position of an extended prime among the dropped ones, or -1
    pub(crate) dropped: usize,
    pub(crate) down: ModSwitchTables,
}

impl SwitchTables {
    pub(crate) fn new(
        arithmetic: Arithmetic,
        params: &Params,
        plan: &SwitchPlan,
        tables: &mut Tables,
    ) -> Self {
        let rns = params.rns();
        let (from, extended) = (&plan.from, &plan.extended);
        let digits = || plan.digits.iter();
        let own = digits().flat_map(|d| (0..extended.len()).map(|at| usize::from(d.owns(at))));
        let owner = |at| place_or_none(digits().position(|d| d.owns(at)));
        let dropped = |at| place_or_none(plan.down.dropped().iter().position(|&d| d == at));
        let mut words = vec![0; from.len()];
        for d in digits() {
            for (&at, c) in d.own.iter().zip(d.conversion().scales()) {
                words[at] = c.w;
            }
        }
        // factors per source prime, from its modulus, the factor of coefficients and (P/P_l)⁻¹
        let factors = |of: fn(&Modulus, u64, u64) -> u64| -> Vec<u64> {
            let factors = (0..from.len()).flat_map(|at| {
                let m = rns.modulus(from[at]);
                arithmetic.factor(m, of(m, words[at], plan.scale[at].w))
            });
            factors.collect()
        };
        let each: Vec<ConvertDigit<'_>> = digits()
            .map(|d| ConvertDigit {
                places: d.own.clone(),
                conversion: d.conversion(),
                targets: (0..extended.len()).map(|at| d.target(at)).collect(),
            })
            .collect();
        let scale = factors(|_, words, _| words);
        Self {
            convert: Convert::new(arithmetic, params, [from, extended], scale, &each, tables),
            unscaled: tables.words(factors(|m, words, scale| m.mul(words, scale))),
            own: tables.places(own),
            owner: tables.ints((0..extended.len()).map(owner)),
            scale: tables.words(factors(|_, _, scale| scale)),
            unit: tables.words(factors(|_, _, _| 1)),
            unstored_scale: tables.words(factors(|m, _, scale| m.from_stored(scale))),
            order: tables.places(0..from.len()),
            dropped: tables.ints((0..extended.len()).map(dropped)),
            down: ModSwitchTables::new(arithmetic, params, &plan.down, tables),
        }
    }
}
