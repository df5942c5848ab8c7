//! The levels that an AES evaluation runs through.

use crate::chain::Steps;
use crate::error::{Error, Result};
use crate::params::{Chain, ParamSet, Params};
use crate::sets;
use homaes_aes::{Direction, KeySize, Layout};
use homaes_scheme::{Mismatch, Purpose};

/// Levels by which the key schedule of many AES keys runs ahead of the cipher: those of a round.
const AHEAD: usize = 3;

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
        let most = Self::most_spare(params, layout, size)?;
        Self::leaving(params, (layout, size), spare, most).map_err(|wanted| {
            Error::Mismatch(Mismatch::Levels {
                layout,
                size,
                wanted,
                most,
                set: params.set().name.as_str(),
            })
        })
    }

    /// The plan of AES-128 under many keys, likewise: sliced, and with the levels above its start that the key schedule
    /// takes ([`ahead`](Self::ahead)).
    pub(crate) fn of_many(params: &Params, spare: Option<usize>) -> Result<Self> {
        let (layout, size) = (Layout::Sliced, KeySize::Aes128);
        offered(params, layout)?;
        let results = params.leaves().then(|| params.leaving_level());
        let most = most_of_many(&params.set().chain, results);
        Self::leaving(params, (layout, size), spare, most).map_err(|wanted| {
            let fits = |set: &&ParamSet| {
                let levels = 3 * (set.chain.base.len() + 1);
                let most = match set.cipher {
                    Some(cipher) => most_of_many(&cipher.chain, Some(levels)),
                    None => most_of_many(&set.chain, None),
                };
                set.purpose == Purpose::Secure && most.is_some_and(|most| wanted <= most)
            };
            let sets = sets::ALL.into_iter().filter(fits);
            Error::ManyKeyLevels {
                wanted,
                most,
                set: params.set().name.as_str(),
                sets: sets.map(|set| set.name.as_str()).collect(),
            }
        })
    }

    /// The plan of least start that leaves `spare` multiplications, at most `most`; the number wanted if that is more.
    fn leaving(
        params: &Params,
        (layout, size): (Layout, KeySize),
        spare: Option<usize>,
        most: Option<usize>,
    ) -> Result<Self, usize> {
        let wanted = spare.unwrap_or(params.set().spare.min(most.unwrap_or(0)));
        if most.is_none_or(|most| wanted > most) {
            return Err(wanted);
        }
        let rounds = size.rounds();
        let start = match (layout, wanted) {
            (Layout::Bits, _) => 4 * rounds + 1 + wanted,
            (_, 0) => Self::least_start(params, layout, size),
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
        let least = Self::least_start(params, layout, size);
        let step = if layout == Layout::Bits { 1 } else { 3 };
        let most = Self::most_start(params, size);
        if start < least || start > most || !(start - least).is_multiple_of(step) {
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
        let least = Self::least_start(params, layout, size);
        let room = Self::most_start(params, size).checked_sub(least);
        Ok(room.map(|room| match layout {
            Layout::Bits => room,
            _ => (room + least - 3 * size.rounds()).saturating_sub(1),
        }))
    }

    /// The plan of the key schedule of many AES keys, which runs a round ahead: they are sent at its starting level.
    pub(crate) fn ahead(self) -> Self {
        let start = self.start + AHEAD;
        Self { start, ..self }
    }

    /// Results leave K above level 1, so that modulus switches divide the noise of AES before decryption.
    fn least_start(params: &Params, layout: Layout, size: KeySize) -> usize {
        match layout {
            Layout::Bits => 4 * size.rounds() + 1,
            Layout::Sliced | Layout::Packed => 3 * (size.rounds() + usize::from(params.leaves())),
        }
    }

    /// The highest level at which AES can start. In K, it must end at a level of results.
    fn most_start(params: &Params, size: KeySize) -> usize {
        match params.leaves() {
            true => (3 * size.rounds() + params.leaving_level()).min(params.top_level()),
            false => params.top_level(),
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
        LevelPlan::new(self.of_aes(), layout, size, None).ok()
    }

    /// The most multiplications that AES with keys of `size` can leave on an output in `layout`; `None` if the set does
    /// not support that combination.
    pub fn levels_left(&self, layout: Layout, size: KeySize) -> Option<usize> {
        LevelPlan::most_spare(self.of_aes(), layout, size)
            .ok()
            .flatten()
    }
}

/// The most multiplications that a chain can leave after AES-128 under many keys, on results of at most `results` levels
/// if they leave K.
fn most_of_many(chain: &Chain, results: Option<usize>) -> Option<usize> {
    let rounds = match chain.steps {
        Steps::Three => chain.base.len() + 1,
        Steps::Four => 0,
    };
    let least = 3 * KeySize::Aes128.rounds() + AHEAD;
    let room = usize::checked_sub(3 * rounds, least)?;
    Some(room.min(results.unwrap_or(room)).saturating_sub(1))
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
    fn levels_under_many_keys() {
        for (set, most, declared) in [
            (&sets::AES128, None, 0),
            (&sets::AES128_P128, None, 0),
            (&sets::AES192, Some(2), 0),
            (&sets::BRIDGE128, Some(2), 2),
            (&sets::AES128_8, Some(5), 5),
            (&sets::AES256, Some(8), 0),
            (&sets::AES256_8, Some(17), 8),
            (&sets::AES256_17, Some(20), 17),
        ] {
            let params = Params::new(set).unwrap();
            let params = params.of_aes();
            let plan = |spare| LevelPlan::of_many(params, spare);
            let name = set.name.as_str();
            let found = plan(None).ok();
            assert_eq!(
                found.map(|plan| plan.output_level() - 1),
                most.map(|_| declared),
                "{name}"
            );
            let refused = match plan(Some(most.map_or(0, |most| most + 1))) {
                Err(Error::ManyKeyLevels { most, sets, .. }) => (most, sets),
                found => panic!("{name}: {found:?}"),
            };
            assert_eq!(refused.0, most, "{name}");
            assert!(!refused.1.contains(&name), "{name}");
            for spare in 0..most.map_or(0, |most| most + 1) {
                let plan = plan(Some(spare)).unwrap();
                assert!(plan.output_level() > spare && plan.ahead().start <= params.top_level());
                let again = LevelPlan::at(params, plan.layout, plan.size, plan.start).unwrap();
                assert_eq!(again, plan);
            }
        }
        let params = Params::new(&sets::AES128).unwrap();
        let found = LevelPlan::of_many(&params, Some(9))
            .unwrap_err()
            .to_string();
        assert_eq!(
            found,
            "AES-128 under many keys, with 9 multiplications left: set bgv/aes128 has too few levels for it, expected \
             bgv/aes256+8 or bgv/aes256+17"
        );
        let params = Params::new(&sets::BITS128).unwrap();
        let bits = LevelPlan::of_many(&params, None);
        assert!(matches!(
            bits,
            Err(Error::Mismatch(Mismatch::NoLayout { .. }))
        ));
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
