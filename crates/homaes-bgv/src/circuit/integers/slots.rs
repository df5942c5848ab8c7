//! Integers in slots: the values of a polynomial modulo 2^k at the roots that slots stand for.
//!
//! A polynomial with an integer in every slot is fixed by X → X², so its coefficients c_u in the normal basis agree
//! along orbits of u → 2u. At a root ω^g of unity in the 2-adic integers' unramified extension its value is
//!
//! ```text
//! Σ_u c_u ω^(gu) = Σ c_u T(gu), one u per orbit,        T(a) = Σ_j ω^(a 2^j), the trace of ω^a
//! ```
//!
//! Traces satisfy the recursion of ω's minimal polynomial, which Graeffe's method lifts from modulo 2: if f has the
//! roots r modulo 2^j, the polynomial with the roots r² has them modulo 2^(j+1).

use crate::params::{Params, SECOND_CLASS};

/// Primitive polynomials modulo 2 of degree 8 and 16: bit i is the coefficient of X^i.
const PRIMITIVE: [u64; 2] = [0x11d, 0x1100b];

/// From coefficients modulo 2^64 to slots.
pub(super) struct IntegerSlots {
    m: u64,
    /// T by exponent
    traces: Vec<u64>,
    /// of every slot, the place and the exponent of its representative
    slots: Vec<(usize, u64)>,
}

impl IntegerSlots {
    pub(super) fn new(params: &Params) -> Self {
        let (ring, slots) = (params.ring(), params.slots());
        let [n3, n5, n257] = slots.axes();
        let mut places = vec![(0, 0); slots.count()];
        for (class, row) in [0, SECOND_CLASS].into_iter().enumerate() {
            for place in 0..n3 * n5 * n257 {
                let at = [place / (n5 * n257), place / n257 % n5, place % n257];
                let index = ring.index([row, at[2], at[0], at[1]]);
                places[slots.slot(class, at)] = (index, ring.exponent(index));
            }
        }
        let m = ring.m();
        let traces = traces(ring.order_of_two());
        let step = traces.len() / m as usize;
        let mut out = Self {
            m,
            traces: traces.into_iter().step_by(step).collect(),
            slots: places,
        };
        // of the roots of order m, one of a slot's orbit is the one that bytes are encoded with
        let mut bytes = vec![0; slots.count()];
        let mut coefficients = vec![0; ring.n()];
        bytes[0] = 1;
        slots.encode(&bytes, &mut coefficients);
        let first = |s: usize| u64::from(s == 0);
        let unit = out.slots.iter().map(|&(_, unit)| unit).find(|unit| {
            let places = 0..out.slots.len();
            places
                .into_iter()
                .all(|s| out.value(&coefficients, s, *unit) & 1 == first(s))
        });
        let unit = unit.expect("some root is the one of bytes");
        out.traces = (0..m)
            .map(|a| out.traces[(a * unit % m) as usize])
            .collect();
        out
    }

    /// The value in slot `s`, for roots to the power `unit`.
    fn value(&self, coefficients: &[u64], s: usize, unit: u64) -> u64 {
        let g = self.slots[s].1 * unit % self.m;
        let terms = self.slots.iter().map(|&(place, u)| {
            let trace = self.traces[(g * u % self.m) as usize];
            coefficients[place].wrapping_mul(trace)
        });
        terms.fold(0, u64::wrapping_add)
    }

    /// The numbers in all slots, modulo 2^64. No branch or address depends on `coefficients`.
    pub(super) fn values(&self, coefficients: &[u64]) -> Vec<u64> {
        (0..self.slots.len())
            .map(|s| self.value(coefficients, s, 1))
            .collect()
    }
}

/// Traces of the powers of an element of order 2^degree - 1, modulo 2^64.
fn traces(degree: usize) -> Vec<u64> {
    let mask = PRIMITIVE
        .into_iter()
        .find(|mask| mask.ilog2() as usize == degree);
    let mask = mask.expect("slots have degree 8 or 16");
    let mut f: Vec<u64> = (0..=degree).map(|i| mask >> i & 1).collect();
    for _ in 0..64 {
        // f(X) f(-X) = e(X²)² - X² o(X²)², with the squares of the roots of f
        let mut next = vec![0u64; degree + 1];
        for (i, &a) in f.iter().enumerate() {
            for (j, &b) in f.iter().enumerate().filter(|(j, _)| (i + j) % 2 == 0) {
                let term = a.wrapping_mul(b);
                let out = &mut next[(i + j) / 2];
                *out = match i % 2 {
                    0 => out.wrapping_add(term),
                    _ => out.wrapping_sub(term),
                };
            }
        }
        f = next;
    }
    // Newton's identities, f monic
    let mut out = vec![degree as u64];
    for j in 1..(1 << degree) - 1 {
        let known = (1..=j.min(degree)).map(|i| {
            let power = if i == j { j as u64 } else { out[j - i] };
            f[degree - i].wrapping_mul(power)
        });
        out.push(known.fold(0u64, u64::wrapping_sub));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets;

    /// Sums of coefficients are sums of numbers, also beyond modulo 2.
    #[test]
    fn bits_of_slots_are_numbers() {
        for set in [&sets::TOY_255, &sets::TOY_4369, &sets::TOY_21845] {
            let params = Params::new(set).unwrap();
            let slots = IntegerSlots::new(&params);
            // 1 is minus, or plus, the sum of the basis
            let sign = params.ring().coordinates(0).len();
            assert_eq!(sign, 4);
            let one = slots.values(&vec![1; params.ring().n()]);
            assert!(one.iter().all(|&x| x == 1 || x == u64::MAX), "{one:?}");
            assert!(one.windows(2).all(|pair| pair[0] == pair[1]));
            for seed in 0..3 {
                let bytes: Vec<u8> = (0..params.slots().count())
                    .map(|i| (i * 7 + seed) as u8 % 5 / 4)
                    .collect();
                let mut coefficients = vec![0; params.ring().n()];
                params.slots().encode(&bytes, &mut coefficients);
                let parities = slots.values(&coefficients);
                assert!(
                    parities
                        .iter()
                        .zip(&bytes)
                        .all(|(x, b)| x & 1 == u64::from(*b))
                );
            }
        }
    }
}
