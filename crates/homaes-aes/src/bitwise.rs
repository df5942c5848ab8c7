//! The S-box on encrypted bits by the straight-line programs of [`slp::sbox`], and MixColumns on bits.
//!
//! Doubling in GF(2^8) renames bits and adds the top one to three others, so MixColumns needs no public factors. With
//! a_0, …, a_3 a column, s_i = a_i + a_{i+1} and t = a_0 + a_1 + a_2 + a_3, indices modulo 4:
//!
//! ```text
//!   circulant(2 3 1 1)·a       2·s_i + a_i + t
//!   circulant(14 11 13 9)·a    the same, after a_i ← a_i + 4·(a_i + a_{i+2})
//! ```
//!
//! Cost of an S-box: 34 ANDs, 19 relinearisations, depth 4. A column of MixColumns takes 116 sums when encrypting,
//! 176 when decrypting (counted in `tests/slp.rs`). [`FoldedBits`](crate::FoldedBits) takes 18 relinearisations per
//! byte and adds no bits in MixColumns.

use crate::error::Depth;
use crate::sliced::AesByte;
use crate::slp::{self, sbox};
use crate::state::{Direction, byte_index, exactly, to_bits};
use crate::view::BitEval;

/// AES bytes over a [`BitEval`]. Bit i of a byte is item i, of value 2^i.
///
/// The S-boxes of a layer run in lockstep, in four passes over the key; MixColumns runs its columns by
/// [`BitEval::each`].
pub struct Bitwise<'e, E: BitEval> {
    eval: &'e E,
}

impl<'e, E: BitEval> Bitwise<'e, E> {
    /// Depth of one S-box.
    pub const SBOX_DEPTH: Depth = 4;

    /// The adapter of a backend.
    pub fn new(eval: &'e E) -> Self {
        Self { eval }
    }

    /// The backend.
    pub fn eval(&self) -> &'e E {
        self.eval
    }

    /// The S-box, or its inverse, on any number of bytes in lockstep ([`slp::evaluate`]).
    ///
    /// # Errors
    /// If a level or a key is missing.
    pub fn sboxes(
        &self,
        dir: Direction,
        bytes: Vec<&[E::Bit; 8]>,
    ) -> Result<Vec<[E::Bit; 8]>, E::Error> {
        let program = match dir {
            Direction::Encrypt => &sbox::FORWARD,
            Direction::Decrypt => &sbox::INVERSE,
        };
        let inputs = bytes.into_iter().map(|a| a.each_ref()).collect();
        slp::evaluate(self.eval, program, inputs)
    }

    /// MixColumns, or its inverse, on the bytes of one column, row 0 first.
    pub fn mix_column(&self, dir: Direction, a: [&[E::Bit; 8]; 4]) -> [[E::Bit; 8]; 4] {
        if dir == Direction::Decrypt {
            let quadruples = [0, 1].map(|i| {
                let mut x = self.sum(a[i], a[i + 2]);
                self.double(&mut x);
                self.double(&mut x);
                x
            });
            let a: [_; 4] = core::array::from_fn(|i| self.sum(a[i], &quadruples[i % 2]));
            return self.mix_column(Direction::Encrypt, a.each_ref());
        }
        let mut sums: [_; 4] = core::array::from_fn(|i| self.sum(a[i], a[(i + 1) % 4]));
        let total = self.sum(&sums[0], &sums[2]);
        for (sum, a) in sums.iter_mut().zip(a) {
            self.double(sum);
            self.add_to(sum, a);
            self.add_to(sum, &total);
        }
        sums
    }

    fn sum(&self, a: &[E::Bit; 8], b: &[E::Bit; 8]) -> [E::Bit; 8] {
        core::array::from_fn(|i| self.eval.xor(&a[i], &b[i]))
    }

    fn add_to(&self, a: &mut [E::Bit; 8], b: &[E::Bit; 8]) {
        for (a, b) in a.iter_mut().zip(b) {
            self.eval.xor_assign(a, b);
        }
    }

    /// a ← 2·a: the bits move up, and x^8 = x^4 + x^3 + x + 1.
    fn double(&self, a: &mut [E::Bit; 8]) {
        a.rotate_right(1);
        let [top, rest @ ..] = a;
        for i in [1, 3, 4] {
            self.eval.xor_assign(&mut rest[i - 1], top);
        }
    }

    /// c·a, by doubling.
    fn times(&self, c: u8, a: &[E::Bit; 8]) -> [E::Bit; 8] {
        let mut bits = (0..8).rev().skip_while(|i| c >> i & 1 == 0);
        if bits.next().is_none() {
            return core::array::from_fn(|_| self.eval.public(&[]));
        }
        bits.fold(a.clone(), |mut product, i| {
            self.double(&mut product);
            if c >> i & 1 == 1 {
                self.add_to(&mut product, a);
            }
            product
        })
    }
}

impl<E: BitEval> AesByte for Bitwise<'_, E> {
    type Error = E::Error;
    type Byte = [E::Bit; 8];

    fn slots(&self) -> usize {
        self.eval.slots()
    }

    fn public(&self, v: &[u8]) -> Self::Byte {
        to_bits(v).map(|bits| self.eval.public(&bits))
    }

    fn xor(&self, a: &Self::Byte, b: &Self::Byte) -> Result<Self::Byte, E::Error> {
        Ok(self.sum(a, b))
    }

    fn xor_assign(&self, a: &mut Self::Byte, b: &Self::Byte) -> Result<(), E::Error> {
        self.add_to(a, b);
        Ok(())
    }

    fn sbox_times<const K: usize>(
        &self,
        dir: Direction,
        a: &Self::Byte,
        c: [u8; K],
    ) -> Result<[Self::Byte; K], E::Error> {
        let y = self.sboxes(dir, vec![a])?;
        Ok(c.map(|c| self.times(c, &y[0])))
    }

    fn sub(&self, dir: Direction, s: [&Self::Byte; 16]) -> Result<[Self::Byte; 16], E::Error> {
        Ok(exactly(self.sboxes(dir, s.to_vec())?))
    }

    fn sub_mix(&self, dir: Direction, s: [&Self::Byte; 16]) -> Result<[Self::Byte; 16], E::Error> {
        let y = self.sub(dir, s)?;
        let columns = self.eval.each((0..4).collect(), |column| {
            let a = core::array::from_fn(|row| &y[byte_index(row, column)]);
            Ok(self.mix_column(dir, a))
        })?;
        Ok(exactly(columns.into_iter().flatten().collect()))
    }

    fn refresh(&self, state: &mut [Self::Byte; 16]) -> Result<(), E::Error> {
        self.eval
            .refresh(state.as_flattened_mut(), Self::SBOX_DEPTH)
    }
}
