//! The levels that an AES evaluation runs through.

use crate::error::{Error, Result};
use crate::params::Params;
use homaes_aes::{Direction, KeySize, Layout};
use homaes_scheme::Mismatch;

/// The path of one cipher through the chain of moduli.
///
/// | layout | levels per round | starts at | round key r ≥ 1 | ends at |
/// |---|---|---|---|---|
/// | sliced, packed | 3 | 3t, t ≥ R | 3(t - r + 1) - 2 | 3(t - R), or 1 for t = R |
/// | bits | 4 | 4R + e | 4(R - r) + e | e |
///
/// R is the number of rounds, 3t the level of the first round, e the output level.
///
/// For bytes, the round key is added inside the linear layer, before the switch that ends the round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LevelPlan {
    pub(crate) layout: Layout,
    pub(crate) size: KeySize,
    pub(crate) start: usize,
}

impl LevelPlan {
    /// The plan of least start that leaves `spare` multiplications, by default the declared ones if the chain has them.
    pub(crate) fn new(
        params: &Params,
        layout: Layout,
        size: KeySize,
        spare: Option<usize>,
    ) -> Result<Self> {
        let short = |most| Mismatch::Levels {
            layout,
            size,
            wanted: spare.unwrap_or(0),
            most,
            set: params.set().name.as_str(),
        };
        let most = Self::most_spare(params, layout, size)?;
        let most = most.ok_or_else(|| short(None))?;
        let wanted = spare.unwrap_or(params.set().spare.min(most));
        if wanted > most {
            return Err(short(Some(most)).into());
        }
        let rounds = size.rounds();
        let start = match (layout, wanted) {
            (Layout::Bits, _) => 4 * rounds + 1 + wanted,
            (_, 0) => 3 * rounds,
            _ => 3 * (rounds + (wanted + 1).div_ceil(3)),
        };
        Ok(Self {
            layout,
            size,
            start,
        })
    }

    /// The plan that starts at `start`, as read from a file.
    pub(crate) fn at(params: &Params, layout: Layout, size: KeySize, start: usize) -> Result<Self> {
        offered(params, layout)?;
        let least = Self::least_start(layout, size);
        let step = if layout == Layout::Bits { 1 } else { 3 };
        if start < least || start > params.top_level() || !(start - least).is_multiple_of(step) {
            return Err(Error::field("starting level", start, least));
        }
        Ok(Self {
            layout,
            size,
            start,
        })
    }

    /// The most multiplications this set can leave after AES; `None` if the chain is too short for AES itself.
    pub(crate) fn most_spare(
        params: &Params,
        layout: Layout,
        size: KeySize,
    ) -> Result<Option<usize>> {
        offered(params, layout)?;
        let (top, least) = (params.top_level(), Self::least_start(layout, size));
        Ok(top.checked_sub(least).map(|room| match layout {
            Layout::Bits => room,
            _ => room.saturating_sub(1),
        }))
    }

    fn least_start(layout: Layout, size: KeySize) -> usize {
        match layout {
            Layout::Bits => 4 * size.rounds() + 1,
            Layout::Sliced | Layout::Packed => 3 * size.rounds(),
        }
    }

    pub(crate) fn key_level(&self, r: usize) -> usize {
        match (self.layout, r) {
            (_, 0) => self.start,
            (Layout::Bits, _) => self.start - 4 * r,
            _ => self.start - 3 * (r - 1) - 2,
        }
    }

    pub(crate) fn output_level(&self) -> usize {
        let rounds = self.size.rounds();
        match self.layout {
            Layout::Bits => self.start - 4 * rounds,
            _ => (self.start - 3 * rounds).max(1),
        }
    }
}

/// Slope of the packed state when round key `r` is added: 0 at the end; always 0 in other layouts.
pub(crate) fn slope(plan: &LevelPlan, direction: Direction, r: usize) -> usize {
    let left = plan.size.rounds() - r;
    match (plan.layout, direction) {
        // ShiftRows adds one, its inverse takes one away
        (Layout::Packed, Direction::Encrypt) => (4 - left % 4) % 4,
        (Layout::Packed, Direction::Decrypt) => left % 4,
        _ => 0,
    }
}

impl Params {
    /// The plan of the largest AES key that still leaves the declared levels, in the set's first layout.
    pub(crate) fn first_plan(&self) -> Option<LevelPlan> {
        let layout = *self.set().layouts.first()?;
        let spare = self.set().spare;
        let fits = |size| {
            self.levels_left(layout, size)
                .is_some_and(|most| most >= spare)
        };
        let size = KeySize::ALL.into_iter().rev().find(|&size| fits(size))?;
        LevelPlan::new(self, layout, size, None).ok()
    }

    /// The most multiplications that AES with keys of `size` can leave on an output in `layout`; `None` if the set does
    /// not support that combination.
    pub fn levels_left(&self, layout: Layout, size: KeySize) -> Option<usize> {
        LevelPlan::most_spare(self, layout, size).ok().flatten()
    }
}

pub(crate) fn offered(params: &Params, layout: Layout) -> Result<()> {
    if params.offers(layout) {
        return Ok(());
    }
    Err(Error::Mismatch(Mismatch::NoLayout {
        layout,
        set: params.set().name.as_str(),
        offered: params.set().layouts,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets;

    #[test]
    fn levels_of_the_declared_sets() {
        use KeySize::{Aes128, Aes192, Aes256};
        use Layout::{Bits, Packed, Sliced};
        let table = [
            (&sets::AES128, Sliced, Aes128, Some((0, 0))),
            (&sets::AES128, Packed, Aes128, Some((0, 0))),
            (&sets::AES128, Sliced, Aes192, None),
            (&sets::AES128_8, Sliced, Aes128, Some((8, 8))),
            (&sets::AES128_8, Packed, Aes192, Some((2, 2))),
            (&sets::AES192, Sliced, Aes128, Some((5, 0))),
            (&sets::AES192, Sliced, Aes192, Some((0, 0))),
            (&sets::AES256, Packed, Aes128, Some((11, 0))),
            (&sets::AES256, Packed, Aes256, Some((0, 0))),
            (&sets::TOY_255, Bits, Aes256, Some((0, 0))),
            (&sets::TOY_255, Bits, Aes128, Some((16, 0))),
        ];
        for (set, layout, size, expected) in table {
            let params = Params::new(set).unwrap();
            let most = LevelPlan::most_spare(&params, layout, size).unwrap();
            let name = set.name.as_str();
            assert_eq!(most, expected.map(|e| e.0), "{name} {layout} {size:?}");
            let plan = LevelPlan::new(&params, layout, size, None);
            let left = plan.ok().map(|c| c.output_level() - 1);
            assert_eq!(left, expected.map(|e| e.1));
            for wanted in 0..=most.unwrap_or(0) {
                let Ok(plan) = LevelPlan::new(&params, layout, size, Some(wanted)) else {
                    assert_eq!(expected, None);
                    continue;
                };
                assert!(plan.output_level() > wanted && plan.start <= params.top_level());
                let again = LevelPlan::at(&params, layout, size, plan.start).unwrap();
                assert_eq!(again, plan);
            }
        }
    }

    #[test]
    fn what_a_set_does_not_offer_is_refused() {
        let params = Params::new(&sets::AES128).unwrap();
        let plan = |layout, spare| match LevelPlan::new(&params, layout, KeySize::Aes128, spare) {
            Err(Error::Mismatch(mismatch)) => mismatch,
            found => panic!("{found:?}"),
        };
        let bits = plan(Layout::Bits, None);
        assert!(matches!(bits, Mismatch::NoLayout { .. }));
        let spare = plan(Layout::Sliced, Some(1));
        assert!(matches!(spare, Mismatch::Levels { most: Some(0), .. }));
    }
}
