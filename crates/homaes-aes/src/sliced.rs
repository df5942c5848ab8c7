//! Sliced layouts: the state is 16 items; item i holds byte i of `slots` blocks.
//!
//! ShiftRows only renames items. MixColumns sums multiples of S-box outputs, so a view must offer one fused
//! operation, [`AesByte::sbox_times`]: the S-box with its multiples. A view with a faster layer overrides
//! [`AesByte::sub`] and [`AesByte::sub_mix`].
//!
//! Cost of a round, unless overridden: 16 calls of `sbox_times`, and 48 sums for MixColumns.

use crate::error::EvalError;
use crate::rounds::Rounds;
use crate::state::{Block, Direction, circulant, mix_source, shift_source, to_sliced, try_array};

/// The operations of AES on bytes. [`Bytewise`](crate::Bytewise) and [`Bitwise`](crate::Bitwise) implement it over
/// the views.
///
/// Laws: those of the views, and `D(sbox_times(dir, a, c)[k]) = c[k]·S(D(a))` slot by slot, where S is the S-box when
/// encrypting and its inverse when decrypting. `sub` and `sub_mix` decrypt to the same values as their default
/// bodies. Operations fail if a level or a key is missing.
pub trait AesByte {
    /// Why an evaluation stopped.
    type Error: From<EvalError>;
    /// One state byte of `slots()` blocks.
    type Byte: Clone;

    /// Blocks held by one `Byte`.
    fn slots(&self) -> usize;

    /// Public bytes, one per slot; slots beyond `v` hold zeros.
    ///
    /// # Panics
    /// If `v` is longer than `slots()`.
    fn public(&self, v: &[u8]) -> Self::Byte;

    /// Slot-wise XOR.
    fn xor(&self, a: &Self::Byte, b: &Self::Byte) -> Result<Self::Byte, Self::Error>;

    /// Adds `b` to `a` in place. Default: replaces `a` by [`xor`](Self::xor).
    fn xor_assign(&self, a: &mut Self::Byte, b: &Self::Byte) -> Result<(), Self::Error> {
        *a = self.xor(a, b)?;
        Ok(())
    }

    /// The multiples c_0·S(a), …, c_{K-1}·S(a) of an S-box output.
    fn sbox_times<const K: usize>(
        &self,
        dir: Direction,
        a: &Self::Byte,
        c: [u8; K],
    ) -> Result<[Self::Byte; K], Self::Error>;

    /// SubBytes, or its inverse, on the 16 bytes of a state.
    fn sub(&self, dir: Direction, s: [&Self::Byte; 16]) -> Result<[Self::Byte; 16], Self::Error> {
        try_array(|i| {
            let [y] = self.sbox_times(dir, s[i], [1])?;
            Ok(y)
        })
    }

    /// SubBytes then MixColumns, or their inverses, on the 16 bytes of a state after ShiftRows.
    fn sub_mix(
        &self,
        dir: Direction,
        s: [&Self::Byte; 16],
    ) -> Result<[Self::Byte; 16], Self::Error> {
        let c = circulant(dir);
        match dir {
            // The coefficient 1 occurs twice, so three multiples suffice.
            Direction::Encrypt => mixed(self, dir, s, ([c[0], c[1], c[2]], [0, 1, 2, 2])),
            Direction::Decrypt => mixed(self, dir, s, (c, [0, 1, 2, 3])),
        }
    }

    /// Makes room for one S-box on the whole state; called before each SubBytes.
    fn refresh(&self, _state: &mut [Self::Byte; 16]) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// SubBytes and MixColumns from multiples of S-box outputs; entry j of the circulant is `multiples[term[j]]`.
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

/// AES on 16 items, `slots` blocks at once.
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
