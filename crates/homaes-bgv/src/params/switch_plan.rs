//! What key switches do at every level, worked out once per parameter set.

use crate::chain::KeyPart;
use core::ops::Deref;
use homaes_math::Shoup;

/// Key switching at one level, followed by the switch back to a basis without special primes.
pub struct SwitchPlan {
    /// Without what concerns keys and levels.
    pub switch: homaes_rns::SwitchPlan,
    /// the part of every key that holds the primes of the level
    pub(crate) part: KeyPart,
    /// P_l modulo each prime of the source basis, stored
    pub(crate) special_products: Vec<Shoup>,
    /// level of the result
    pub(crate) to_level: usize,
}

impl Deref for SwitchPlan {
    type Target = homaes_rns::SwitchPlan;
    fn deref(&self) -> &Self::Target {
        &self.switch
    }
}
