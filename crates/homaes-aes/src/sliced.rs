//! Sliced layout: the state is 16 items, item i holding byte i of `slots` blocks.
//!
//! ShiftRows only renames items. MixColumns is a sum of multiples of S-box outputs, so the one fused
//! operation a view must offer is [`AesByte::sbox_times`]: the S-box together with its multiples. A view
//! that has better ways to do a layer overrides [`AesByte::sub`] and [`AesByte::sub_mix`].
//!
//! Cost of a round: 16 calls of `sbox_times`, and 48 sums for MixColumns, unless overridden.

use crate::error::EvalError;
use crate::rounds::Rounds;
use crate::state::{Block, Direction, circulant, mix_source, shift_source, to_sliced, try_array};

/// All that AES does to a byte. [`Bytewise`](crate::Bytewise) and [`Bitwise`](crate::Bitwise) implement it over the views.
///
/// Laws: as for the views; `D(sbox_times(dir, a, c)[k]) = c[k]·S(D(a))` slot by slot, S being the
/// S-box when encrypting and its inverse when decrypting; `sub` and `sub_mix` decrypt to the same as
/// their default bodies.
pub trait AesByte {
    /// What can stop an evaluation.
    type Error: From<EvalError>;
    /// One state byte of `slots()` blocks.
    type Byte: Clone;

    /// Blocks held by one `Byte`.
    fn slots(&self) -> usize;

    /// Public bytes, one per slot; zeros in the slots beyond `v`.
    ///
    /// # Panics
    /// If `v` is longer than `slots()`.
    fn public(&self, v: &[u8]) -> Self::Byte;

    /// Slot-wise exclusive or.
    ///
    /// # Errors
    /// If the backend's can fail.
    fn xor(&self, a: &Self::Byte, b: &Self::Byte) -> Result<Self::Byte, Self::Error>;

    /// Slot-wise exclusive or, in place of `a`. By default replaces `a` by [`xor`](Self::xor).
    ///
    /// # Errors
    /// As [`xor`](Self::xor); `a` is then unspecified.
    fn xor_assign(&self, a: &mut Self::Byte, b: &Self::Byte) -> Result<(), Self::Error> {
        *a = self.xor(a, b)?;
        Ok(())
    }

    /// The multiples c_0·S(a), …, c_{K-1}·S(a) of an S-box output.
    ///
    /// # Errors
    /// If a level or a key is missing.
    fn sbox_times<const K: usize>(
        &self,
        dir: Direction,
        a: &Self::Byte,
        c: [u8; K],
    ) -> Result<[Self::Byte; K], Self::Error>;

    /// SubBytes, or its inverse, on the 16 bytes of a state.
    ///
    /// # Errors
    /// If a level or a key is missing.
    fn sub(&self, dir: Direction, s: [&Self::Byte; 16]) -> Result<[Self::Byte; 16], Self::Error> {
        try_array(|i| {
            let [y] = self.sbox_times(dir, s[i], [1])?;
            Ok(y)
        })
    }

    /// SubBytes then MixColumns, or their inverses, on the 16 bytes of a state after ShiftRows.
    ///
    /// # Errors
    /// If a level or a key is missing.
    fn sub_mix(
        &self,
        dir: Direction,
        s: [&Self::Byte; 16],
    ) -> Result<[Self::Byte; 16], Self::Error> {
        let c = circulant(dir);
        match dir {
            // The coefficient 1 occurs twice: three multiples, not four, are asked of the S-box.
            Direction::Encrypt => mixed(self, dir, s, ([c[0], c[1], c[2]], [0, 1, 2, 2])),
            Direction::Decrypt => mixed(self, dir, s, (c, [0, 1, 2, 3])),
        }
    }

    /// Makes room for one S-box on the whole state; called before each SubBytes.
    ///
    /// # Errors
    /// If room is lacking and the backend cannot make it.
    fn refresh(&self, _state: &mut [Self::Byte; 16]) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// SubBytes and MixColumns from multiples of S-box outputs; entry j of the circulant is
/// `multiples[term[j]]`.
fn mixed<B: AesByte + ?Sized, const K: usize>(
    view: &B,
    dir: Direction,
    s: [&B::Byte; 16],
    (multiples, term): ([u8; K], [usize; 4]),
) -> Result<[B::Byte; 16], B::Error> {
    let t: [_; 16] = try_array(|i| view.sbox_times(dir, s[i], multiples))?;
    try_array(|i| {
        let [a, b, c, d] = core::array::from_fn(|j| &t[mix_source(i, j)][term[j]]);
        view.xor(&view.xor(a, b)?, &view.xor(c, d)?)
    })
}

/// ShiftRows, or its inverse, by reference.
fn shifted<T>(dir: Direction, s: &[T; 16]) -> [&T; 16] {
    core::array::from_fn(|i| &s[shift_source(dir, i)])
}

/// AES on 16 items; `slots` blocks at once.
pub struct Sliced<B>(pub B);

impl<B: AesByte> Sliced<B> {
    /// Blocks per batch.
    pub fn blocks(&self) -> usize {
        self.0.slots()
    }

    /// Public blocks as a state; zero blocks in the slots beyond `blocks`.
    ///
    /// # Panics
    /// If there are more than [`blocks`](Self::blocks).
    pub fn public(&self, blocks: &[Block]) -> [B::Byte; 16] {
        to_sliced(blocks).map(|bytes| self.0.public(&bytes))
    }
}

impl<B: AesByte> Sliced<B> {
    /// AddRoundKey, in place.
    fn with_key(
        &self,
        mut s: [B::Byte; 16],
        key: &[B::Byte; 16],
    ) -> Result<[B::Byte; 16], B::Error> {
        let mut pairs = s.iter_mut().zip(key);
        pairs.try_for_each(|(s, key)| self.0.xor_assign(s, key))?;
        Ok(s)
    }
}

impl<B: AesByte> Rounds for Sliced<B> {
    type Error = B::Error;
    type State = [B::Byte; 16];
    type Key = [B::Byte; 16];

    fn add(&self, s: &Self::State, key: &Self::Key) -> Result<Self::State, B::Error> {
        try_array(|i| self.0.xor(&s[i], &key[i]))
    }

    fn round(
        &self,
        dir: Direction,
        s: &Self::State,
        key: &Self::Key,
    ) -> Result<Self::State, B::Error> {
        self.with_key(self.0.sub_mix(dir, shifted(dir, s))?, key)
    }

    fn last_round(
        &self,
        dir: Direction,
        s: &Self::State,
        key: &Self::Key,
    ) -> Result<Self::State, B::Error> {
        self.with_key(self.0.sub(dir, shifted(dir, s))?, key)
    }

    fn refresh(&self, s: &mut Self::State) -> Result<(), B::Error> {
        self.0.refresh(s)
    }
}
