//! GF(2^8) as a tower, GF(16)\[y\]/(y² + y + ν) over GF(16) = GF(2)\[z\]/(z⁴ + z + 1).
//!
//! An element is h·y + l; its byte is h·16 + l. The inverse of h·y + l is (h·y + h + l)·δ^{-1} with
//! δ = l·(h + l) + ν·h² in GF(16). ν and the isomorphism with the AES field are searched for, not
//! written down. Maps that are GF(2)-linear are given by their columns: column i is the image of bit i.

/// The columns of a GF(2)-linear map of bytes.
pub(crate) type Columns = [u8; 8];

/// The columns of the linear map `f`, on as many bits as asked for.
pub(crate) fn columns<const N: usize>(f: impl Fn(u8) -> u8) -> [u8; N] {
    core::array::from_fn(|i| f(1 << i))
}

/// The image of `x` under the map with columns `m`.
pub(crate) fn apply(m: &[u8], x: u8) -> u8 {
    m.iter()
        .enumerate()
        .filter(|&(i, _)| x >> i & 1 == 1)
        .fold(0, |sum, (_, column)| sum ^ column)
}

/// The inverse of the bijective map with columns `m`.
fn inverse(m: &Columns) -> Columns {
    columns(|y| {
        (0..=255)
            .find(|&x| apply(m, x) == y)
            .expect("an isomorphism reaches every byte")
    })
}

/// The product in GF(16).
pub(crate) fn mul16(a: u8, b: u8) -> u8 {
    let mut product = (0..4)
        .filter(|i| b >> i & 1 == 1)
        .fold(0, |sum, i| sum ^ a << i);
    for i in (4..7).rev() {
        if product >> i & 1 == 1 {
            product ^= 0b10011 << (i - 4);
        }
    }
    product
}

/// x^(2^k) in GF(16).
pub(crate) fn frobenius16(x: u8, k: u32) -> u8 {
    (0..k).fold(x, |x, _| mul16(x, x))
}

/// The first ν that makes y² + y + ν irreducible over GF(16).
pub(crate) fn nu() -> u8 {
    (1..16)
        .find(|&nu| (0..16).all(|t| mul16(t, t) ^ t ^ nu != 0))
        .expect("half of the elements of GF(16) are not of the form t² + t")
}

/// The product in the tower.
fn mul(a: u8, b: u8) -> u8 {
    let (ah, al, bh, bl) = (a >> 4, a & 15, b >> 4, b & 15);
    let hh = mul16(ah, bh);
    let h = mul16(ah, bl) ^ mul16(al, bh) ^ hh;
    let l = mul16(al, bl) ^ mul16(hh, nu());
    h << 4 | l
}

/// An isomorphism from the AES field onto the tower, and its inverse.
pub(crate) fn isomorphism() -> (Columns, Columns) {
    // The powers of a root g of the AES polynomial are the images of 1, x, …, x^7.
    let powers = |g: u8| {
        let mut p = [1; 9];
        for i in 1..9 {
            p[i] = mul(p[i - 1], g);
        }
        p
    };
    let p = (2..=255)
        .map(powers)
        .find(|p| p[8] ^ p[4] ^ p[3] ^ p[1] ^ p[0] == 0)
        .expect("two fields of 256 elements are isomorphic");
    let there = core::array::from_fn(|i| p[i]);
    (there, inverse(&there))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gf256;

    #[test]
    fn isomorphism_respects_sums_and_products() {
        let (there, back) = isomorphism();
        for a in 0..=255 {
            assert_eq!(apply(&back, apply(&there, a)), a);
            for b in 0..=255 {
                assert_eq!(
                    apply(&there, gf256::mul(a, b)),
                    mul(apply(&there, a), apply(&there, b)),
                    "{a:#x} {b:#x}"
                );
            }
        }
    }

    #[test]
    fn tower_inverse_formula_holds() {
        for x in 1..=255u8 {
            let (h, l) = (x >> 4, x & 15);
            let delta = mul16(l, h ^ l) ^ mul16(nu(), mul16(h, h));
            let d14 = mul16(
                mul16(frobenius16(delta, 1), frobenius16(delta, 2)),
                frobenius16(delta, 3),
            );
            assert_eq!(mul(x, mul16(h, d14) << 4 | mul16(h ^ l, d14)), 1, "{x:#x}");
        }
    }
}
