//! GF(2^8) = GF(2)\[x\] / (x^8 + x^4 + x^3 + x + 1), the field of AES, in the clear.
//!
//! Bit i of a `u8` is the coefficient of x^i (FIPS-197 section 4). Every constant is computed from the polynomial.
//! Operations neither branch on operands nor index by them, because the key expansion's S-box runs on secrets.
//!
//! A GF(2)-linear map f of the field is a *linearised polynomial* f(x) = Σ_k c_k·x^(2^k): a sum of Frobenius images.
//! [`linearised`] finds its coefficients; byte circuits evaluate the affine part of the S-box with it (GHS12 section
//! 4).

/// The constant of the S-box affine map.
pub const AFFINE_CONSTANT: u8 = 0x63;

/// 0xff if bit 0 of `bit` is set, 0 otherwise.
const fn mask(bit: u8) -> u8 {
    0u8.wrapping_sub(bit & 1)
}

/// x·`a`: FIPS-197 `xtime`.
const fn times_x(a: u8) -> u8 {
    (a << 1) ^ (0x1b & mask(a >> 7))
}

/// The product `a`·`b`.
///
/// ```
/// assert_eq!(homaes_aes::gf256::mul(0x57, 0x83), 0xc1); // FIPS-197 section 4.2
/// ```
pub const fn mul(a: u8, b: u8) -> u8 {
    let (mut a, mut sum, mut i) = (a, 0, 0);
    while i < 8 {
        sum ^= a & mask(b >> i);
        a = times_x(a);
        i += 1;
    }
    sum
}

/// `x`^`e`, with 0^0 = 1. The exponent is public: the time depends on it.
pub const fn pow(x: u8, e: u32) -> u8 {
    let (mut result, mut square, mut e) = (1, x, e);
    while e != 0 {
        if e & 1 == 1 {
            result = mul(result, square);
        }
        square = mul(square, square);
        e >>= 1;
    }
    result
}

/// The Frobenius map iterated `k` times: `x`^(2^k). `k` is public and counts modulo 8.
pub const fn frobenius(x: u8, k: u32) -> u8 {
    let (mut x, mut i) = (x, 0);
    while i < k % 8 {
        x = mul(x, x);
        i += 1;
    }
    x
}

/// The inverse of `x`, and 0 for 0: x^254 by four products that are not squarings.
pub const fn inv(x: u8) -> u8 {
    let x3 = mul(x, frobenius(x, 1));
    let x7 = mul(x, frobenius(x3, 1));
    let x15 = mul(x3, frobenius(x3, 2));
    let x127 = mul(x7, frobenius(x15, 3));
    frobenius(x127, 1)
}

/// The absolute trace Σ_k x^(2^k), 0 or 1.
pub const fn trace(x: u8) -> u8 {
    let (mut sum, mut k) = (0, 0);
    while k < 8 {
        sum ^= frobenius(x, k);
        k += 1;
    }
    sum
}

/// The linear part of the S-box affine map (FIPS-197 section 5.1.1).
pub const fn affine_linear(x: u8) -> u8 {
    x ^ x.rotate_left(1) ^ x.rotate_left(2) ^ x.rotate_left(3) ^ x.rotate_left(4)
}

/// The inverse of [`affine_linear`].
pub const fn affine_linear_inv(x: u8) -> u8 {
    x.rotate_left(1) ^ x.rotate_left(3) ^ x.rotate_left(6)
}

/// The S-box affine map: [`affine_linear`], then the constant 0x63.
pub const fn affine(x: u8) -> u8 {
    affine_linear(x) ^ AFFINE_CONSTANT
}

/// The inverse of [`affine`].
pub const fn affine_inv(x: u8) -> u8 {
    affine_linear_inv(x ^ AFFINE_CONSTANT)
}

/// The basis d_0, …, d_7 with Tr(x^i·d_j) = 1 for i = j and 0 otherwise.
fn dual_basis() -> [u8; 8] {
    core::array::from_fn(|j| {
        (1..=255u8)
            .find(|&d| (0..8).all(|i| trace(mul(1 << i, d)) == u8::from(i == j)))
            .expect("the trace form of a finite field is not degenerate")
    })
}

/// The coefficients c_k with f(x) = Σ_k c_k·x^(2^k), for a GF(2)-linear `f`.
///
/// With d_j the basis dual to 1, x, …, x^7 under the trace, f(x) = Σ_j f(x^j)·Tr(d_j·x), hence c_k = Σ_j
/// f(x^j)·d_j^(2^k). `f` is read at 1, x, …, x^7 only; the result agrees with it there.
///
/// ```
/// use homaes_aes::gf256::{affine_linear, linearised};
/// let c = linearised(affine_linear);
/// assert_eq!(c, [0x05, 0x09, 0xf9, 0x25, 0xf4, 0x01, 0xb5, 0x8f]);
/// ```
pub fn linearised(f: impl Fn(u8) -> u8) -> [u8; 8] {
    let dual = dual_basis();
    core::array::from_fn(|k| {
        (0..8).fold(0, |sum, j| {
            sum ^ mul(f(1 << j), frobenius(dual[j], k as u32))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate(c: &[u8; 8], x: u8) -> u8 {
        (0..8).fold(0, |sum, k| sum ^ mul(c[k], frobenius(x, k as u32)))
    }

    fn mul_naive(a: u8, b: u8) -> u8 {
        let own = (0..8).filter(|i| b >> i & 1 == 1);
        let mut p = own.fold(0u16, |p, i| p ^ (u16::from(a) << i));
        for i in (8..16).rev() {
            if p >> i & 1 == 1 {
                p ^= 0x11b << (i - 8);
            }
        }
        p as u8
    }

    #[test]
    fn product_equals_the_schoolbook_product() {
        for a in 0..=255 {
            for b in 0..=255 {
                assert_eq!(mul(a, b), mul_naive(a, b), "{a:#x} {b:#x}");
            }
        }
    }

    #[test]
    fn inverse_power_frobenius_and_trace_agree() {
        assert_eq!((inv(0), pow(0, 0)), (0, 1));
        for x in 0..=255 {
            assert_eq!(inv(x), pow(x, 254));
            assert!(x == 0 || mul(x, inv(x)) == 1);
            assert!(trace(x) <= 1);
            for k in 0..8 {
                assert_eq!(frobenius(x, k), pow(x, 1 << k));
            }
            assert_eq!(frobenius(x, 8), x);
        }
    }

    #[test]
    fn linearised_polynomials_evaluate_to_their_map() {
        let third = |x| frobenius(x, 3);
        for f in [affine_linear, affine_linear_inv, times_x, third] {
            let c = linearised(f);
            for x in 0..=255 {
                assert_eq!(evaluate(&c, x), f(x));
            }
        }
        assert_eq!(linearised(|x| frobenius(x, 3)), [0, 0, 0, 1, 0, 0, 0, 0]);
    }
}
