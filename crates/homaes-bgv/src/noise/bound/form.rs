//! Identifies second halves c1 up to changes that keep their rounding errors.
//!
//! The errors of rounding c1 are a function of c1. Two roundings are independent if their arguments are linear forms in
//! the pseudorandom c1 of fresh encryptions and key switches, and neither form is a multiple of the other: the rounding
//! errors of uniform u and u·a + v·b are uncorrelated. Multiples (c1 and ζ·c1, c1 and 2·c1, the same computed twice)
//! must be recognised. A [`Form`] is the image of the linear form under a ring homomorphism ζ_m ↦ ω of Z\[ζ_m\] to the
//! integers modulo a prime p near 2^61, with three pseudorandom elements for each root. Multiples have proportional
//! images; other forms do with probability 2^-61 at most. Images under σ_{2^k} are kept for k up to 3.
//!
//! This holds for small coefficients. Modulo a prime that a switch drops, a multiple of the prime vanishes, and x + p·y
//! has the errors of x. So a form is dropped once the sum of its coefficients' magnitudes exceeds 2^[`LARGEST_LOG2`],
//! far below every prime. Then no form vanishes modulo a prime, and forms that are proportional modulo one have ratios
//! of large integers, which do not correlate rounding errors.
//!
//! A product is named by its part under s·σ_k(s), which is c1·σ_k(c1') in the factors or a sum of such. The image of a
//! product is the product of the images, so equal polynomials have equal images however they were computed (x·z + y·z
//! and (x + y)·z). Products that differ only in their other parts count as the same noise, which is safe.

use super::hash;
use homaes_math::Ring;

/// A prime p with (p - 1)/131070 coprime to 131070.
const P: u64 = 2_305_843_009_201_758_391;
/// Of order 65535 modulo p.
const OMEGA: u64 = 2_292_792_729_595_788_027;
/// x^SIGNED is the component of x in the subgroup of order 131070, which -1 and ω generate.
const SIGNED: u64 = 2_136_832_298_975_152_051;

fn mul(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(P)) as u64
}

fn add(a: u64, b: u64) -> u64 {
    // both are below 2^61
    (a + b) % P
}

fn pow(base: u64, mut e: u64) -> u64 {
    let (mut out, mut square) = (1, base);
    while e > 0 {
        if e & 1 == 1 {
            out = mul(out, square);
        }
        square = mul(square, square);
        e >>= 1;
    }
    out
}

/// See the module's text; the smallest prime has 27 bits.
pub(super) const LARGEST_LOG2: f64 = 20.0;

/// Automorphisms σ_{2^k} whose images are kept: those that products take without a key switch.
const IMAGES: usize = crate::chain::PRODUCT_KEYS;

/// The images of an element of Z\[ζ_m\] and of its conjugates under σ_{2^k}, and log2 of the ℓ1 norm of its
/// coefficients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scalar([u64; IMAGES], pub(super) f64);

impl Scalar {
    /// The constant Σ ζ_17^e over `exponents`.
    pub(crate) fn constant(ring: &Ring, exponents: &[u8]) -> Self {
        let cofactor = ring.m() / 17;
        // 1 modulo 17 and 0 modulo the cofactor
        let unit = (1..17)
            .map(|k| k * cofactor)
            .find(|e| e % 17 == 1)
            .unwrap_or(1);
        let omega = pow(OMEGA, 65535 / ring.m() * unit);
        let at = |k: usize| {
            let powers = exponents.iter().map(|&e| pow(omega, u64::from(e) << k));
            powers.fold(0, add)
        };
        Self(core::array::from_fn(at), (exponents.len() as f64).log2())
    }

    /// A polynomial in the normal basis.
    pub(crate) fn polynomial(ring: &Ring, coefficients: &[i64]) -> Self {
        let omega = pow(OMEGA, 65535 / ring.m());
        let mut powers = vec![1; ring.m() as usize];
        for k in 1..powers.len() {
            powers[k] = mul(powers[k - 1], omega);
        }
        let (mut out, mut size) = ([0; IMAGES], 0.0);
        for (i, &c) in coefficients.iter().enumerate().filter(|t| *t.1 != 0) {
            size += c.unsigned_abs() as f64;
            let c = i128::from(c).rem_euclid(i128::from(P)) as u64;
            for (k, out) in out.iter_mut().enumerate() {
                let power = (ring.exponent(i) << k) % ring.m();
                *out = add(*out, mul(c, powers[power as usize]));
            }
        }
        Self(out, size.log2())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// c1 is a linear form in pseudorandom polynomials: its images by automorphism and element; all zero for a trivial
    /// encryption, whose c1 is 0. Products keep only the image without automorphism
    Known([[u64; 3]; IMAGES]),
    /// unknown: nothing may count as independent of it
    Unknown,
}

impl Form {
    pub(crate) const TRIVIAL: Self = Self::Known([[0; 3]; IMAGES]);

    /// A new pseudorandom polynomial, identified by `seed`.
    pub(crate) fn root(seed: u64) -> Self {
        let image = |k| [0u64, 1, 2].map(|i| 1 + hash(&(seed, i, k)) % (P - 1));
        Self::Known(core::array::from_fn(image))
    }

    pub(crate) fn is_trivial(self) -> bool {
        matches!(self, Self::Known([[0, 0, 0], ..]))
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        let (Self::Known(a), Self::Known(b)) = (self, other) else {
            return Self::Unknown;
        };
        let image = |k: usize| [0, 1, 2].map(|i| add(a[k][i], b[k][i]));
        Self::Known(core::array::from_fn(image))
    }

    pub(crate) fn times(self, c: Scalar) -> Self {
        match self {
            Self::Known(a) => {
                let image = |k: usize| a[k].map(|x| mul(x, c.0[k]));
                Self::Known(core::array::from_fn(image))
            }
            Self::Unknown => Self::Unknown,
        }
    }

    /// The part of Π σ_{2^k}(x) under the product of all secrets, over forms and k.
    pub(crate) fn product(factors: &[(Self, usize)]) -> Self {
        let mut out = [[0; 3]; IMAGES];
        out[0] = [1; 3];
        for &(factor, k) in factors {
            let Self::Known(a) = factor else {
                return Self::Unknown;
            };
            out[0] = [0, 1, 2].map(|i| mul(out[0][i], a[k][i]));
        }
        Self::Known(out)
    }

    /// The same number for all multiples of a form, and another for all other forms; `None` for an unknown form.
    pub(crate) fn family(self) -> Option<u64> {
        let Self::Known([a, ..]) = self else {
            return None;
        };
        let inverse = a.into_iter().find(|&x| x != 0).map(|x| pow(x, P - 2));
        Some(hash(&a.map(|x| mul(x, inverse.unwrap_or(0)))))
    }

    /// A unit ±ω^k, and a number shared by exactly the form's multiples by such units; the form is the unit times a
    /// form that the number determines.
    fn split(self) -> Option<(u64, u64)> {
        let Self::Known([a, ..]) = self else {
            return None;
        };
        let pivot = a.into_iter().find(|&x| x != 0)?;
        let unit = pow(pivot, SIGNED);
        let inverse = pow(unit, P - 2);
        Some((unit, hash(&a.map(|x| mul(x, inverse)))))
    }

    /// The c1 that a key switch of σ_t(x) returns, for x of this form or a product's part of it.
    ///
    /// Units ±ζ^k of x come out as ±σ_t(ζ)^k, because digits commute with units that permute the basis up to signs. For
    /// other units (one basis element in r for each prime r) two different results get one name, which merges atoms and
    /// loses no correlation. Apart from that, the result is pseudorandom.
    pub(crate) fn switched(self, galois: u64, kind: u64, m: u64) -> Self {
        // a c1 without that part consists of unknown others
        let Some((unit, seed)) = self.split() else {
            return Self::Unknown;
        };
        // an odd exponent keeps the sign
        let unit = pow(unit, galois + m * (1 - galois % 2));
        let units = core::array::from_fn(|k| pow(unit, 1 + (m + 1) * ((1 << k) - 1)));
        Self::root(hash(&(kind, seed, galois))).times(Scalar(units, 0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_has_the_units_that_are_needed() {
        for r in [3, 5, 17, 257] {
            assert_ne!(pow(OMEGA, 65535 / r), 1);
            assert_ne!((P - 1) / 131_070 % r, 0);
        }
        assert_eq!(pow(OMEGA, 65535), 1);
        assert_eq!((P - 1) % 131_070, 0);
        for unit in [1, P - 1, OMEGA, mul(P - 1, pow(OMEGA, 12345))] {
            assert_eq!(pow(unit, SIGNED), unit);
        }
        let other = pow(3, 131_070);
        assert_eq!(pow(other, SIGNED), 1);
    }

    #[test]
    fn multiples_are_one_family_and_other_forms_are_not() {
        let ring = Ring::new(255).unwrap();
        let c = |e: &[u8]| Scalar::constant(&ring, e);
        let (a, b) = (Form::root(1), Form::root(2));
        let sum = a.times(c(&[0, 5])).plus(b);
        for unit in [&[3][..], &[1, 2, 9], &[4, 4]] {
            assert_eq!(sum.times(c(unit)).family(), sum.family());
        }
        // the sum of all powers of ζ_17 is 0
        let all: Vec<u8> = (0..17).collect();
        assert!(a.times(c(&all)).is_trivial());
        assert_eq!(sum.plus(a.times(c(&all))), sum);
        let others = [
            a,
            b,
            a.plus(b),
            a.times(c(&[0, 6])).plus(b),
            Form::root(3),
            Form::TRIVIAL,
        ];
        for other in others {
            assert_ne!(other.family(), sum.family());
        }
        assert_eq!(Form::Unknown.family(), None);
        assert_eq!(Form::Unknown.plus(a), Form::Unknown);
        // the polynomial 1 is minus the sum of the normal basis for an odd number of primes
        let ones = vec![1; ring.n()];
        assert_eq!(a.times(Scalar::polynomial(&ring, &ones)), a.times(MINUS));
    }

    const MINUS: Scalar = Scalar([P - 1; IMAGES], 0.0);

    #[test]
    fn key_switches_commute_with_units_only() {
        let ring = Ring::new(255).unwrap();
        let zeta = |k: u8| Scalar::constant(&ring, &[k]);
        let x = Form::root(1);
        let image = |f: Form, g| f.switched(g, 7, 255);
        assert_eq!(image(x.times(zeta(3)), 2), image(x, 2).times(zeta(6)));
        assert_eq!(image(x.times(MINUS), 2), image(x, 2).times(MINUS));
        let twice = x.plus(x);
        assert_ne!(image(twice, 2).family(), image(x, 2).family());
        assert_ne!(image(x, 4).family(), image(x, 2).family());
        assert_eq!(image(Form::TRIVIAL, 2), Form::Unknown);
    }

    #[test]
    fn products_are_bilinear() {
        let ring = Ring::new(255).unwrap();
        let c = |e: &[u8]| Scalar::constant(&ring, e);
        let [x, y, z] = [1, 2, 3].map(Form::root);
        for k in 0..IMAGES {
            let product = |a, b| Form::product(&[(a, 0), (b, k)]);
            let whole = product(x.plus(y), z);
            assert_eq!(whole, product(x, z).plus(product(y, z)));
            assert_eq!(product(z, x.plus(y)), product(z, x).plus(product(z, y)));
            // σ_{2^k} of a constant, before and after
            let e = [1u8, 5];
            let image = e.map(|e| (u32::from(e) << k) as u8 % 17);
            let scaled = product(x, z.times(c(&e)));
            assert_eq!(scaled, product(x.times(c(&image)), z));
            assert_eq!(scaled.family(), product(x, z).times(c(&image)).family());
            assert_ne!(product(x, y).family(), product(x, z).family());
            assert_ne!(product(x, x).family(), product(x, z).family());
            assert!(product(x, Form::TRIVIAL).is_trivial());
            assert_eq!(product(x, Form::Unknown), Form::Unknown);
        }
        assert_eq!(
            Form::product(&[(x, 0), (y, 0)]),
            Form::product(&[(y, 0), (x, 0)])
        );
        assert_ne!(
            Form::product(&[(x, 0), (y, 0)]),
            Form::product(&[(x, 0), (y, 1)])
        );
    }
}
