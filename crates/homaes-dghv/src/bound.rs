//! A bound on the failure probability: the second moment of the noise through AES, and Chebyshev's inequality.
//!
//! A conversion of Σ a·b has noise r = Σ (r_a M_b + r_b M_a) plus its own. Its M is fresh: with signed digits a centred
//! sum of Θ/2 uniform parts, independent of all earlier noise. For each earlier conversion x, let D_x sum the root mean
//! squares of all r that M_x multiplies in Σ a·b. Then
//!
//! ```text
//! E[r²] ≤ E[M²] Σ_x D_x² + floor²
//! ```
//!
//! times 3 where noise meets the same M twice: noise of the state at levels 1 and 4 of an S-box, of the norm at levels
//! 2 and 3 (the fourth moment of a centred sum is at most three times the squared second). So a round costs a factor 9.
//! The r of a sum counts as the sum of the root mean squares, as its parts are dependent. Unsigned digits have M with a
//! mean, so absolute values are summed over x.
//!
//! A bit decrypts wrongly if |r| > p/4, p ≥ 2^(η-1): with probability at most 2·128·ℓ·E\[r²\]/(p/4)², twice that of the
//! output to cover all conversions. The bound is an average over keys, for the uniform windows of the paper's
//! heuristic.

use crate::noise::{LEAST_QUARTER, NoiseModel};
use crate::sets::ParamSet;
use core::cell::RefCell;
use homaes_aes::slp::tower;
use homaes_aes::{BitEval, Direction, EvalError, FoldedBits, Rounds};
use homaes_scheme::bits::BITS;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// A ciphertext: root mean square of r over 2^`unit`, and multiplicity of each M.
#[derive(Clone)]
struct Bit {
    r: f64,
    m: BTreeMap<usize, f64>,
}

#[derive(Clone)]
struct Product(BTreeMap<usize, f64>);

/// One round. Values are relative to a unit that moves from round to round, as they exceed a float.
struct View {
    signed: bool,
    /// mean square of M after a conversion
    m_square: f64,
    floor: f64,
    next: Mutex<usize>,
}

#[derive(Debug)]
struct Never;

impl From<EvalError> for Never {
    fn from(_: EvalError) -> Self {
        Self
    }
}

/// M of public bits and fresh ciphertexts: a bit.
const CONSTANT: usize = 0;

/// Root of the factor 9 of a round.
const TWICE_MET: f64 = 3.0;

impl View {
    fn size(&self, x: usize) -> f64 {
        match x {
            CONSTANT => 1.0,
            _ => self.m_square.sqrt(),
        }
    }

    fn fresh(&self) -> usize {
        let mut next = self.next.lock().unwrap_or_else(|e| e.into_inner());
        *next += 1;
        *next
    }
}

fn add(to: &mut BTreeMap<usize, f64>, from: &BTreeMap<usize, f64>, times: f64) {
    for (&x, &d) in from {
        *to.entry(x).or_default() += d * times;
    }
}

impl BitEval for View {
    type Error = Never;
    type Bit = Bit;
    type Product = Product;

    fn slots(&self) -> usize {
        1
    }

    fn public(&self, _: &[bool]) -> Bit {
        Bit {
            r: 0.0,
            m: BTreeMap::from([(CONSTANT, 1.0)]),
        }
    }

    fn xor(&self, a: &Bit, b: &Bit) -> Bit {
        let mut m = a.m.clone();
        add(&mut m, &b.m, 1.0);
        Bit { r: a.r + b.r, m }
    }

    fn and(&self, a: &Bit, b: &Bit) -> Result<Product, Never> {
        let mut d = BTreeMap::new();
        add(&mut d, &b.m, a.r);
        add(&mut d, &a.m, b.r);
        Ok(Product(d))
    }

    fn xor_product(&self, mut a: Product, b: &Product) -> Product {
        add(&mut a.0, &b.0, 1.0);
        a
    }

    fn relinearize(&self, p: Product) -> Result<Bit, Never> {
        let parts = p.0.iter().map(|(&x, d)| d * self.size(x));
        let r = match self.signed {
            true => parts.map(|part| part * part).sum::<f64>().sqrt(),
            false => parts.sum(),
        };
        Ok(Bit {
            r: r.hypot(self.floor),
            m: BTreeMap::from([(self.fresh(), 1.0)]),
        })
    }
}

/// log2 of the bound on the root mean square of r, after each of `rounds` rounds of AES.
pub fn noise_of_rounds(set: &ParamSet, rounds: usize, dir: Direction) -> Vec<f64> {
    let model = NoiseModel::new(set);
    let fresh = model.public().r_log2;
    let key = model.fresh().r_log2;
    // log2 of the unit of the round
    let unit = RefCell::new(fresh);
    let mut state: Option<Vec<f64>> = None;
    let mut out = Vec::with_capacity(rounds);
    for round in 1..=rounds {
        let view = View {
            signed: set.digits.signed,
            m_square: model.of_converted(0.0).m().powi(2),
            floor: (model.floor_log2() - *unit.borrow()).exp2(),
            next: Mutex::new(CONSTANT),
        };
        let bits: Vec<Bit> = (0..BITS)
            .map(|k| match &state {
                None => Bit {
                    r: 1.0 + (key - fresh).exp2(),
                    m: BTreeMap::from([(CONSTANT, 2.0)]),
                },
                Some(state) => Bit {
                    r: state[k],
                    m: BTreeMap::from([(view.fresh(), 1.0), (CONSTANT, 1.0)]),
                },
            })
            .collect();
        let folded = FoldedBits::new(&view, &tower::DEPTH_4);
        // the round key is fresh: its noise is negligible
        let zero = vec![
            Bit {
                r: (key - *unit.borrow()).exp2(),
                m: BTreeMap::new(),
            };
            BITS
        ];
        let result = match round == rounds {
            true => folded.last_round(dir, &bits, &zero),
            false => folded.round(dir, &bits, &zero),
        };
        let Ok(bits) = result else { return out };
        let most = bits.iter().map(|b| b.r).fold(0.0, f64::max);
        let log2 = most.log2() + *unit.borrow() + TWICE_MET.log2();
        out.push(log2);
        state = Some(bits.iter().map(|b| b.r / most).collect());
        unit.replace(log2);
    }
    out
}

/// log2 of the bound on the failure probability of a batch of AES of `rounds` rounds.
pub fn log2_p_fail(set: &ParamSet, rounds: usize) -> f64 {
    let model = NoiseModel::new(set);
    let of = |dir| {
        let noise = noise_of_rounds(set, rounds, dir);
        let capacity = noise
            .last()
            .map_or(0.0, |&r| LEAST_QUARTER + set.eta as f64 - r);
        // 1 bit covers all conversions
        1.0 + (BITS as f64 * model.slots()).log2() - 2.0 * capacity
    };
    Direction::ALL
        .into_iter()
        .map(of)
        .fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets;

    #[test]
    fn all_sets_fail_rarely() {
        for set in sets::ALL {
            let p = log2_p_fail(set, set.rounds);
            assert!(p <= -64.0, "{}: 2^{p}", set.name);
        }
    }
}
