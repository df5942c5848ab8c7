//! One multi-limb integer per coefficient; limb k of all coefficients is one buffer.
//!
//! A limb has 46 bits, as `kernel::combine` and `kernel::limb_sums` need. Nothing here branches on values.

use homaes_math::Words;
use num_bigint::BigUint;
use zeroize::Zeroize;

pub(super) use homaes_math::kernel::LIMB_BITS;
pub(super) const MASK: u64 = (1 << LIMB_BITS) - 1;
pub(super) const BLOCK: usize = 32;
/// Limbs by which a number may exceed its modulus.
pub(super) const EXCESS: usize = 2;

pub(super) fn limbs_of(bits: f64) -> usize {
    (bits / f64::from(LIMB_BITS)).floor() as usize + 1
}

pub(super) fn limbs(x: &BigUint, count: usize) -> Vec<u64> {
    (0..count)
        .map(|k| {
            let part = (x >> (k * LIMB_BITS as usize)) & BigUint::from(MASK);
            part.iter_u64_digits().next().unwrap_or(0)
        })
        .collect()
}

/// One integer per coefficient.
#[derive(Clone)]
pub struct Wide {
    pub(crate) limbs: Vec<Words>,
}

impl Wide {
    pub(super) fn zeroed(n: usize, limbs: usize) -> Self {
        Self {
            limbs: (0..limbs).map(|_| Words::zeroed(n)).collect(),
        }
    }

    pub(super) fn widen(&mut self, count: usize) {
        let n = self.limbs[0].len();
        self.limbs.resize_with(count, || Words::zeroed(n));
    }

    pub(super) fn block(&self, start: usize) -> Vec<[u64; BLOCK]> {
        let limbs = self.limbs.iter();
        limbs
            .map(|l| l[start..start + BLOCK].try_into().expect("a block"))
            .collect()
    }

    /// Writes coefficients from `start` on; excess limbs of the block must be 0.
    pub(super) fn set_block(&mut self, start: usize, block: &Block) {
        for (limb, own) in self.limbs.iter_mut().zip(block) {
            limb[start..start + BLOCK].copy_from_slice(own);
        }
    }

    pub(super) fn zeroize(&mut self) {
        self.limbs.iter_mut().for_each(Zeroize::zeroize);
    }
}

pub(super) struct WideModulus {
    pub(super) limbs: Vec<u64>,
    /// 2^(46 (L - 2))/q for L limbs of q
    inverse: f64,
    half: Vec<u64>,
}

/// A block of coefficients, limb by limb.
pub(super) type Block = [[u64; BLOCK]];

impl WideModulus {
    pub(super) fn new(q: &BigUint) -> Self {
        let count = limbs_of(q.bits() as f64 - 1.0);
        let limbs_q = limbs(q, count);
        let half = limbs(&(q >> 1u32), count);
        let top = |k: usize| limbs_q[count - 1 - k] as f64;
        // the top three limbs, of which at least one is not 0
        let scale = f64::from(LIMB_BITS).exp2();
        let leading = match count {
            1 => top(0) * scale,
            2 => top(0) * scale + top(1),
            _ => top(0) * scale + top(1) + top(2) / scale,
        };
        Self {
            inverse: 1.0 / leading,
            limbs: limbs_q,
            half,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.limbs.len()
    }

    /// Reduces x < 2^52 q with [`EXCESS`] limbs more than q, all below 2^46, to below q.
    pub(super) fn reduce(&self, x: &mut Block) {
        let count = self.count();
        assert_eq!(x.len(), count + EXCESS);
        let scale = f64::from(LIMB_BITS).exp2();
        let mut quotient = [0u64; BLOCK];
        for (c, quotient) in quotient.iter_mut().enumerate() {
            let at = |k: usize| x[k][c] as f64;
            let low = if count >= 2 { at(count - 2) } else { 0.0 };
            let leading =
                (at(count + 1) * scale + at(count)) * scale * scale + at(count - 1) * scale + low;
            // 1.5 exceeds the rounding error, so the quotient is never too large, and at most four too small
            *quotient = floor((leading * self.inverse - 1.5).max(0.0));
        }
        subtract_product(x, &self.limbs, &quotient);
        for _ in 0..4 {
            self.subtract_if_not_less(x);
        }
    }

    /// x + y modulo q, for x, y < q.
    pub(super) fn add(&self, x: &mut Vec<[u64; BLOCK]>, y: &Block) {
        let mut carried = [0u64; BLOCK];
        for (x, y) in x.iter_mut().zip(y) {
            for ((x, &y), carried) in x.iter_mut().zip(y).zip(&mut carried) {
                let sum = *x + y + *carried;
                *carried = sum >> LIMB_BITS;
                *x = sum & MASK;
            }
        }
        x.push(carried);
        self.subtract_if_not_less(x);
    }

    /// x - q where that is not negative, else x.
    pub(super) fn subtract_if_not_less(&self, x: &mut Block) {
        let mut borrow = [0u64; BLOCK];
        let mut difference = vec![[0u64; BLOCK]; x.len()];
        for (k, (d, x)) in difference.iter_mut().zip(x.iter()).enumerate() {
            let q = self.limbs.get(k).copied().unwrap_or(0);
            for ((d, &x), borrow) in d.iter_mut().zip(x).zip(&mut borrow) {
                let t = x.wrapping_sub(q).wrapping_sub(*borrow);
                *borrow = t >> 63;
                *d = t & MASK;
            }
        }
        for (x, d) in x.iter_mut().zip(&difference) {
            for ((x, &d), &borrow) in x.iter_mut().zip(d).zip(&borrow) {
                let keep = borrow.wrapping_neg();
                *x = (*x & keep) | (d & !keep);
            }
        }
        difference.iter_mut().for_each(Zeroize::zeroize);
    }

    /// Reduces a number of any length, one limb at a time from above.
    pub(super) fn reduce_long(&self, x: &mut Vec<[u64; BLOCK]>) {
        let count = self.count();
        if x.len() < count {
            x.resize(count, [0; BLOCK]);
        }
        // one limb fewer than q is below q; with the next limb it is below 2^46 q
        let rest = x.len() - (count - 1);
        let mut window: Vec<[u64; BLOCK]> = x[rest..].to_vec();
        window.resize(count + EXCESS, [0; BLOCK]);
        for limb in x[..rest].iter().rev() {
            window.rotate_right(1);
            window[0] = *limb;
            self.reduce(&mut window);
        }
        x.truncate(count);
        x.copy_from_slice(&window[..count]);
    }

    /// Reduces numbers from -1 to q, with limbs computed modulo 2^46, to below q; drops limbs above those of q.
    pub(super) fn settle(&self, x: &mut Vec<[u64; BLOCK]>) {
        let count = self.count();
        let negative = x.last().expect("limbs").map(|limb| {
            // among numbers up to q, only -1 has a top limb of all ones
            u64::from(limb == MASK).wrapping_neg()
        });
        x.resize(count, [0; BLOCK]);
        let mut carried = [0u64; BLOCK];
        for (x, &q) in x.iter_mut().zip(&self.limbs) {
            for ((x, carried), negative) in x.iter_mut().zip(&mut carried).zip(negative) {
                let sum = *x + (q & negative) + *carried;
                *carried = sum >> LIMB_BITS;
                *x = sum & MASK;
            }
        }
        self.subtract_if_not_less(x);
    }

    /// q - x where `marked` is 1.
    pub(super) fn negate_where(&self, x: &mut Block, marked: &[u64; BLOCK]) {
        let mut borrow = [0u64; BLOCK];
        for (x, &q) in x.iter_mut().zip(&self.limbs) {
            for ((x, borrow), &marked) in x.iter_mut().zip(&mut borrow).zip(marked) {
                let wanted = marked.wrapping_neg();
                let t = q.wrapping_sub(*x).wrapping_sub(*borrow);
                *borrow = t >> 63;
                *x = (*x & !wanted) | (t & MASK & wanted);
            }
        }
    }

    /// x/q for x ≤ q/2, in units of 2^-63, precise to about 2^-50.
    pub(super) fn fraction(&self, x: &Block) -> [u64; BLOCK] {
        let (count, scale) = (self.count(), f64::from(LIMB_BITS).exp2());
        core::array::from_fn(|c| {
            let at = |k: usize| count.checked_sub(k).map_or(0.0, |k| x[k][c] as f64);
            let leading = at(1) * scale + at(2) + at(3) / scale;
            floor(leading * self.inverse * f64::from(51).exp2()) << 12
        })
    }

    /// 1 where q/2 < x < q, else 0.
    pub(super) fn above_half(&self, x: &Block) -> [u64; BLOCK] {
        let mut borrow = [0u64; BLOCK];
        for (k, x) in x.iter().enumerate() {
            let half = self.half.get(k).copied().unwrap_or(0);
            for (&x, borrow) in x.iter().zip(&mut borrow) {
                *borrow = half.wrapping_sub(x).wrapping_sub(*borrow) >> 63;
            }
        }
        borrow
    }
}

/// ⌊x⌋ for 0 ≤ x < 2^52.
fn floor(x: f64) -> u64 {
    const TWO_52: f64 = (1u64 << 52) as f64;
    let near = x + TWO_52;
    (near.to_bits() - TWO_52.to_bits()) - u64::from(near - TWO_52 > x)
}

/// x - q·quotient, which must not be negative.
fn subtract_product(x: &mut Block, q: &[u64], quotient: &[u64; BLOCK]) {
    let mut borrow = [0u128; BLOCK];
    for (k, x) in x.iter_mut().enumerate() {
        let q = u128::from(q.get(k).copied().unwrap_or(0));
        for ((x, borrow), &quotient) in x.iter_mut().zip(&mut borrow).zip(quotient) {
            // still to be subtracted from here upwards
            let take = q * u128::from(quotient) + *borrow;
            let low = take as u64 & MASK;
            let t = x.wrapping_sub(low);
            *borrow = (take >> LIMB_BITS) + u128::from(t >> 63);
            *x = t & MASK;
        }
    }
}

/// (x - δ)/p modulo 2^(46 L) for x ≡ δ modulo p, δ small and even, limb by limb from below.
pub(super) fn divide_exactly(x: &mut Block, delta: &[i64; BLOCK], p: u64, inverse: u64) {
    let mut carried = delta.map(i128::from);
    for x in x.iter_mut() {
        for (x, carried) in x.iter_mut().zip(&mut carried) {
            // q·p matches t modulo 2^46
            let t = i128::from(*x) - *carried;
            let q = (t as u64).wrapping_mul(inverse) & MASK;
            *carried = (i128::from(q) * i128::from(p) - t) >> LIMB_BITS;
            *x = q;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(x: &Block, c: usize) -> BigUint {
        x.iter().rev().fold(BigUint::from(0u32), |sum, limb| {
            (sum << LIMB_BITS as usize) + BigUint::from(limb[c])
        })
    }

    fn number(seed: u64, words: usize) -> BigUint {
        let mut x = seed | 1;
        let mut out = BigUint::from(0u32);
        for _ in 0..words {
            x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
            out = (out << 64usize) + BigUint::from(x);
        }
        out
    }

    fn set(block: &mut Block, xs: &[BigUint]) {
        for (c, x) in xs.iter().enumerate() {
            let own = limbs(x, block.len());
            block.iter_mut().zip(own).for_each(|(b, l)| b[c] = l);
        }
    }

    #[test]
    fn reduction_is_that_of_integers() {
        for power in [1u32, 2, 3, 7, 41] {
            let q = BigUint::from(2_130_673_921u64).pow(power);
            let modulus = WideModulus::new(&q);
            let count = modulus.count();
            let most: BigUint = &q << 51usize;
            let mut xs: Vec<BigUint> = [0u32, 1, 12345, 123_456_789].map(|k| &q * k).into();
            xs.extend([&q - 1u32, &most - 1u32, &q * 12345u32 - 1u32]);
            xs.extend([&q >> 1u32, (&q >> 1u32) + 1u32]);
            xs.extend((xs.len() as u64..BLOCK as u64).map(|c| number(c, 30) % &most));
            let mut block = vec![[0; BLOCK]; count + EXCESS];
            set(&mut block, &xs);
            modulus.reduce(&mut block);
            let above = modulus.above_half(&block);
            for (c, x) in xs.iter().enumerate() {
                let want = x % &q;
                assert_eq!(value(&block, c), want, "{power} {c}");
                assert_eq!(above[c] == 1, want > &q >> 1u32);
            }
        }
    }

    #[test]
    fn long_numbers_are_reduced() {
        for (power, words) in [(1u32, 3), (7, 4), (7, 9), (38, 20)] {
            let q = BigUint::from(2_130_673_921u64).pow(power);
            let modulus = WideModulus::new(&q);
            let count = words * 64 / LIMB_BITS as usize + 1;
            let mut block = vec![[0; BLOCK]; count];
            let xs: Vec<BigUint> = (0..BLOCK as u64).map(|c| number(c, words)).collect();
            set(&mut block, &xs);
            modulus.reduce_long(&mut block);
            for (c, x) in xs.iter().enumerate() {
                assert_eq!(value(&block, c), x % &q, "{power} {words} {c}");
            }
        }
    }

    #[test]
    fn division_is_exact() {
        let p = 2_130_673_921u64;
        let inverse = homaes_math::natural::inverse_of_word(p);
        let count = 6;
        let mut block = vec![[0; BLOCK]; count];
        let delta: [i64; BLOCK] =
            core::array::from_fn(|c| 2 * (c as i64 * 33_333_333 - 500_000_000));
        let wants: Vec<BigUint> = (0..BLOCK as u64).map(|c| number(c + 3, 3)).collect();
        let xs = wants
            .iter()
            .zip(delta)
            .map(|(want, delta)| match delta >= 0 {
                true => want * p + delta as u64,
                false => want * p - delta.unsigned_abs(),
            });
        set(&mut block, &xs.collect::<Vec<_>>());
        divide_exactly(&mut block, &delta, p, inverse);
        for (c, want) in wants.iter().enumerate() {
            assert_eq!(value(&block, c), *want, "{c}");
        }
    }
}
