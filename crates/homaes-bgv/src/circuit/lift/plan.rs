//! How bits become integers modulo 2^k: the steps of a lift.

use super::BITS;

/// Most bits of an integer.
pub(crate) const MOST_BITS: u32 = 24;

/// For integers of up to twice the last exponent: squarings, then the exponent after each doubling but the last. Of all
/// such rows of at most three doublings these leave the most room from levels that are multiples of three; deeper sets
/// add rows (test `nightly_no_other_steps_leave_more_room`).
const ROWS: [(u32, &[u32]); 11] = [
    (1, &[]),
    (2, &[]),
    (3, &[]),
    (2, &[5]),
    (2, &[6]),
    (3, &[7]),
    (3, &[8]),
    (2, &[5, 9]),
    (2, &[5, 10]),
    (2, &[6, 11]),
    (2, &[6, 12]),
];

/// The steps of a lift: planes one level below the bytes, squarings of one level each, doublings of two levels each,
/// and a last doubling that takes one level, because its products stay unswitched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan<'a> {
    /// level of the bytes
    pub(crate) level: usize,
    /// k of the integers' modulus 2^k
    pub(crate) log2_t: u32,
    /// squarings, which reach modulo 2^(1 + squarings)
    pub(crate) squarings: u32,
    /// exponents after the doublings but the last
    pub(crate) between: &'a [u32],
}

impl Plan<'static> {
    /// The steps to integers modulo 2^`log2_t` from bytes of `level`; `None` if the level or the exponent is too low,
    /// or the exponent too high.
    pub(crate) fn new(level: usize, log2_t: u32) -> Option<Self> {
        let plans = ROWS.map(|(squarings, between)| Self {
            level,
            log2_t,
            squarings,
            between,
        });
        let plan = plans.into_iter().find(|plan| log2_t <= 2 * plan.before())?;
        (log2_t > plan.before() && plan.levels() < level).then_some(plan)
    }
}

impl Plan<'_> {
    /// Exponent of the modulus before the last doubling.
    pub(crate) fn before(&self) -> u32 {
        self.between.last().copied().unwrap_or(1 + self.squarings)
    }

    /// Whether the last doubling takes bit `i`, which is needed modulo 2^(k - i). The other bits have exponents of at
    /// most 8, modulo which no switch leaves a factor on them.
    pub(crate) fn is_doubled(&self, i: u32) -> bool {
        self.log2_t - i > self.before()
    }

    /// Levels from the bytes to the integers.
    pub(crate) fn levels(&self) -> usize {
        2 + self.squarings as usize + 2 * self.between.len()
    }

    /// Level of the integers.
    pub(crate) fn end(&self) -> usize {
        self.level - self.levels()
    }

    /// Bits of a byte that are not 0 modulo 2^k.
    pub(crate) fn planes(&self) -> u32 {
        self.log2_t.min(BITS as u32)
    }

    /// Degree of the integers' noise in that of the planes.
    pub(crate) fn degree(&self) -> usize {
        (1 << self.squarings) * 3usize.pow(1 + self.between.len() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_reach_every_exponent_and_leave_no_factor_on_small_bits() {
        for log2_t in 3..=MOST_BITS {
            let plan = Plan::new(40, log2_t).unwrap();
            let mut exponent = 1 + plan.squarings;
            for &next in plan.between.iter().chain([&log2_t]) {
                assert!((exponent + 1..=2 * exponent).contains(&next));
                exponent = next;
            }
            let small = (0..log2_t.min(8)).filter(|&i| !plan.is_doubled(i));
            assert!(small.map(|i| log2_t - i).all(|k| k <= 8), "{log2_t}");
        }
        for (level, log2_t) in [(9, 2), (7, 13), (40, 25), (0, 8)] {
            assert_eq!(Plan::new(level, log2_t), None);
        }
    }
}
