//! x^127 of bytes by four products at depth three: the inversion of SubBytes up to one squaring.
//!
//! ```text
//! c'   = switch(c)              S0 -> S1
//! c3   = c  · σ(c)              S0 -> S1      x^3
//! c7   = c' · σ(c3)             S1 -> S2      x^7
//! c15  = c3 · σ²(c3)            S1 -> S2      x^15
//! c127 = c7 · σ³(c15)           S2            x^127, only P is divided out
//! ```
//!
//! Frobenius images are not relinearised first: x·σ(y) is switched directly from σ(s) and s·σ(s), which saves two key
//! switches per product.

use crate::ciphertext::Ciphertext;
use crate::circuit::evaluate::Evaluator;
use crate::error::Result;

impl Evaluator<'_> {
    /// x^127 of every slot, from level 3r to level 3r - 2; the last product is not switched down.
    pub(crate) fn power_127(&self, c: &[&Ciphertext]) -> Result<Vec<Ciphertext>> {
        if c.is_empty() {
            return Ok(Vec::new());
        }
        let c3 = self.multiply_many(c, c, 1, true)?;
        let c3: Vec<&Ciphertext> = c3.iter().collect();
        let copies = self.mod_switch_all(c)?;
        let copies: Vec<&Ciphertext> = copies.iter().collect();
        let c7 = self.multiply_many(&copies, &c3, 1, true)?;
        let c15 = self.multiply_many(&c3, &c3, 2, true)?;
        let (c7, c15): (Vec<_>, Vec<_>) = (c7.iter().collect(), c15.iter().collect());
        self.multiply_many(&c7, &c15, 3, false)
    }
}
