//! The S-box on encrypted bits: inversion in a tower field, with lazy products.
//!
//! A byte becomes h·y + l in GF(16)\[y\]/(y² + y + ν) by a linear map (see `tower.rs`), and
//!
//! ```text
//!   δ = l·(h + l) + ν·h²    δ^{-1} = (δ²·δ⁴)·δ⁸    (h·y + l)^{-1} = (h·y + h + l)·δ^{-1}
//! ```
//!
//! costs five products in GF(16) at depth 4. Powers 2^k and products by constants are linear, and the
//! affine map of the S-box is merged into the linear map out of the tower (encrypting) or into it
//! (decrypting). A product in GF(16) is 16 conjunctions, summed before relinearisation: four
//! relinearisations, not 16.
//!
//! Cost of an S-box, both directions: 80 conjunctions, 20 relinearisations, depth 4.

use crate::error::Result;
use crate::gf256;
use crate::sliced::AesByte;
use crate::state::{Direction, to_bits, try_array};
use crate::tower::{self, Columns};
use crate::view::{BitEval, Depth};

/// Linear maps around the inversion in the tower.
struct Maps {
    into: Columns,
    out: Columns,
}

/// View 2 as AES bytes. Bit i of a byte is item i, of value 2^i.
pub struct Bitwise<'e, E: BitEval> {
    eval: &'e E,
    encrypt: Maps,
    decrypt: Maps,
    /// h ↦ ν·h²
    nu_square: [u8; 4],
    /// δ ↦ δ^2, δ^4, δ^8
    powers: [[u8; 4]; 3],
    zero: E::Bit,
    one: E::Bit,
}

impl<'e, E: BitEval> Bitwise<'e, E> {
    /// Depth of one S-box.
    pub const SBOX_DEPTH: Depth = 4;

    /// The adapter of a backend.
    pub fn new(eval: &'e E) -> Self {
        let (there, back) = tower::isomorphism();
        let nu = tower::nu();
        Self {
            eval,
            encrypt: Maps {
                into: there,
                out: tower::columns(|x| gf256::affine_linear(tower::apply(&back, x))),
            },
            decrypt: Maps {
                into: tower::columns(|x| tower::apply(&there, gf256::affine_linear_inv(x))),
                out: back,
            },
            nu_square: tower::columns(|h| tower::mul16(nu, tower::mul16(h, h))),
            powers: [1, 2, 3].map(|k| tower::columns(|x| tower::frobenius16(x, k))),
            zero: eval.public(&vec![false; eval.slots()]),
            one: eval.public(&vec![true; eval.slots()]),
        }
    }

    /// The backend.
    pub fn eval(&self) -> &'e E {
        self.eval
    }

    /// The first `M` bits of the image of `x` under the linear map with columns `m`.
    fn linear<const N: usize, const M: usize>(&self, x: &[E::Bit; N], m: &[u8; N]) -> [E::Bit; M] {
        core::array::from_fn(|o| {
            let mut terms = x.iter().zip(m).filter(|&(_, column)| column >> o & 1 == 1);
            match (terms.next(), terms.next()) {
                (None, _) => self.zero.clone(),
                (Some((a, _)), None) => a.clone(),
                (Some((a, _)), Some((b, _))) => terms.fold(self.eval.xor(a, b), |sum, (bit, _)| {
                    self.eval.xor(&sum, bit)
                }),
            }
        })
    }

    fn xor_all<const N: usize>(&self, a: &[E::Bit; N], b: &[E::Bit; N]) -> [E::Bit; N] {
        core::array::from_fn(|i| self.eval.xor(&a[i], &b[i]))
    }

    /// x + 0x63.
    fn add_constant(&self, mut x: [E::Bit; 8]) -> [E::Bit; 8] {
        for (i, bit) in x.iter_mut().enumerate() {
            if gf256::AFFINE_CONSTANT >> i & 1 == 1 {
                *bit = self.eval.xor(bit, &self.one);
            }
        }
        x
    }

    /// The product in GF(16): 16 conjunctions, four relinearisations.
    fn mul16(&self, a: &[E::Bit; 4], b: &[E::Bit; 4]) -> Result<[E::Bit; 4]> {
        let mut sums: [Option<E::Product>; 4] = [const { None }; 4];
        for (i, a) in a.iter().enumerate() {
            for (j, b) in b.iter().enumerate() {
                let p = self.eval.and(a, b)?;
                let image = tower::mul16(1 << i, 1 << j);
                for (o, sum) in sums.iter_mut().enumerate() {
                    if image >> o & 1 == 1 {
                        *sum = Some(match sum.take() {
                            None => p.clone(),
                            Some(sum) => self.eval.xor_product(sum, &p),
                        });
                    }
                }
            }
        }
        try_array(|o| {
            let sum = sums[o].take().expect("z^o = z^o·1 is one of the terms");
            self.eval.relinearize(sum)
        })
    }

    /// The inverse in the tower, in the order l, h of the halves.
    fn inverse(&self, x: &[E::Bit; 8]) -> Result<[E::Bit; 8]> {
        let l = x.first_chunk::<4>().expect("a byte has a low half");
        let h = x.last_chunk::<4>().expect("a byte has a high half");
        let sum = self.xor_all(h, l);
        let delta = self.xor_all(&self.mul16(&sum, l)?, &self.linear(h, &self.nu_square));
        let [d2, d4, d8] = self.powers.each_ref().map(|m| self.linear(&delta, m));
        let d14 = self.mul16(&self.mul16(&d2, &d4)?, &d8)?;
        let high = self.mul16(h, &d14)?;
        let low = self.mul16(&sum, &d14)?;
        let mut bits = low.into_iter().chain(high);
        Ok(core::array::from_fn(|_| {
            bits.next().expect("two halves are eight bits")
        }))
    }
}

impl<E: BitEval> AesByte for Bitwise<'_, E> {
    type Byte = [E::Bit; 8];

    fn slots(&self) -> usize {
        self.eval.slots()
    }

    fn public(&self, v: &[u8]) -> Self::Byte {
        to_bits(v).map(|bits| self.eval.public(&bits))
    }

    fn xor(&self, a: &Self::Byte, b: &Self::Byte) -> Result<Self::Byte> {
        Ok(self.xor_all(a, b))
    }

    fn sbox_times<const K: usize>(
        &self,
        dir: Direction,
        a: &Self::Byte,
        c: [u8; K],
    ) -> Result<[Self::Byte; K]> {
        let through = |maps: &Maps, x: &Self::Byte| -> Result<Self::Byte> {
            let inverse = self.inverse(&self.linear(x, &maps.into))?;
            Ok(self.linear(&inverse, &maps.out))
        };
        let y = match dir {
            Direction::Encrypt => self.add_constant(through(&self.encrypt, a)?),
            Direction::Decrypt => through(&self.decrypt, &self.add_constant(a.clone()))?,
        };
        Ok(c.map(|c| match c {
            1 => y.clone(),
            c => self.linear(&y, &tower::columns(|x| gf256::mul(c, x))),
        }))
    }

    fn refresh(&self, state: &mut [Self::Byte; 16]) -> Result<()> {
        self.eval
            .refresh(state.as_flattened_mut(), Self::SBOX_DEPTH)
    }
}
