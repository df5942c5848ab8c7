//! Discrete Fourier transforms of two to eight vectors, in registers.
//!
//! Inputs are lazy. Outputs are in natural order and below 16p < 2^51; a product by a constant makes them lazy again.

use super::word_lanes::{Consts, Lanes};
use crate::modulus::{Modulus, Shoup};

/// Constants of the transforms of one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Roots {
    /// w8, w8^2, w8^3 for the eighth root of unity w8
    eighth: [Shoup; 3],
    third: Shoup,
    /// (w + w^-1)/2, (w^2 + w^-2)/2, (w - w^-1)/2, (w^2 - w^-2)/2 for the fifth root w
    fifth: [Shoup; 4],
}

impl Roots {
    /// From an eighth, a third and a fifth root of unity.
    pub(crate) fn new(m: &Modulus, [eighth, third, fifth]: [u64; 3]) -> Self {
        let half = m.inv(2);
        let part = |e: u64, sign: bool| {
            let (a, b) = (m.pow(fifth, e), m.pow(fifth, 5 - e));
            let sum = if sign { m.sub(a, b) } else { m.add(a, b) };
            m.shoup(m.mul(sum, half))
        };
        Self {
            eighth: [1, 2, 3].map(|e| m.shoup(m.pow(eighth, e))),
            third: m.shoup(third),
            fifth: [part(1, false), part(2, false), part(1, true), part(2, true)],
        }
    }
}

/// [`Roots`] in registers.
#[derive(Clone, Copy)]
pub(crate) struct Dft<V: Lanes> {
    k: Consts<V>,
    p4: V,
    p8: V,
    eighth: [V::Factor; 3],
    third: V::Factor,
    fifth: [V::Factor; 4],
}

impl<V: Lanes> Dft<V> {
    #[inline(always)]
    pub(crate) fn new(m: &Modulus, roots: &Roots) -> Self {
        let f = |c| V::splat_factor(c);
        let ([e0, e1, e2], [f0, f1, f2, f3]) = (roots.eighth, roots.fifth);
        Self {
            k: Consts::new(m),
            p4: V::splat(4 * m.p()),
            p8: V::splat(8 * m.p()),
            eighth: [f(e0), f(e1), f(e2)],
            third: f(roots.third),
            fifth: [f(f0), f(f1), f(f2), f(f3)],
        }
    }

    /// The constants of the modulus.
    #[inline(always)]
    pub(crate) fn consts(&self) -> &Consts<V> {
        &self.k
    }

    #[inline(always)]
    pub(crate) fn two(&self, [x0, x1]: [V; 2]) -> [V; 2] {
        [x0.plus(x1), x0.minus(x1).plus(self.k.p2)]
    }

    #[inline(always)]
    pub(crate) fn three(&self, [x0, x1, x2]: [V; 3]) -> [V; 3] {
        let p2 = self.k.p2;
        let t = self.k.times(x1.minus(x2).plus(p2), self.third);
        [
            x0.plus(x1).plus(x2),
            x0.minus(x2).plus(t).plus(p2),
            x0.minus(x1).minus(t).plus(self.p4),
        ]
    }

    /// Inputs may be below 4p.
    #[inline(always)]
    pub(crate) fn four(&self, [x0, x1, x2, x3]: [V; 4]) -> [V; 4] {
        let (e0, e1) = (x0.plus(x2), x1.plus(x3));
        let f0 = x0.minus(x2).plus(self.p4);
        let f1 = self.k.times(x1.minus(x3).plus(self.p4), self.eighth[1]);
        [
            e0.plus(e1),
            f0.plus(f1),
            e0.minus(e1).plus(self.p8),
            f0.minus(f1).plus(self.k.p2),
        ]
    }

    #[inline(always)]
    pub(crate) fn five(&self, [x0, x1, x2, x3, x4]: [V; 5]) -> [V; 5] {
        let (p2, k) = (self.k.p2, &self.k);
        let (s1, s2) = (x1.plus(x4), x2.plus(x3));
        let (d1, d2) = (x1.minus(x4).plus(p2), x2.minus(x3).plus(p2));
        let [c1, c2, i1, i2] = self.fifth;
        let a = x0.plus(k.times(s1, c1)).plus(k.times(s2, c2));
        let b = x0.plus(k.times(s1, c2)).plus(k.times(s2, c1));
        let u = k.times(d1, i1).plus(k.times(d2, i2));
        let v = k.times(d1, i2).minus(k.times(d2, i1)).plus(p2);
        [
            x0.plus(s1).plus(s2),
            a.plus(u),
            b.plus(v),
            b.minus(v).plus(self.p4),
            a.minus(u).plus(self.p4),
        ]
    }

    #[inline(always)]
    pub(crate) fn eight(&self, x: [V; 8]) -> [V; 8] {
        let [x0, x1, x2, x3, x4, x5, x6, x7] = x;
        let (p2, k) = (self.k.p2, &self.k);
        let [w1, w2, w3] = self.eighth;
        let even = self.four([x0.plus(x4), x1.plus(x5), x2.plus(x6), x3.plus(x7)]);
        let odd = self.four([
            x0.minus(x4).plus(p2),
            k.times(x1.minus(x5).plus(p2), w1),
            k.times(x2.minus(x6).plus(p2), w2),
            k.times(x3.minus(x7).plus(p2), w3),
        ]);
        [
            even[0], odd[0], even[1], odd[1], even[2], odd[2], even[3], odd[3],
        ]
    }
}
