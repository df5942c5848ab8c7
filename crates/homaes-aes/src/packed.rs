//! Packed layout: the state is one item; block b fills slots 16b to 16b + 15.
//!
//! The linear layer of a round is Σ_j c_j·π_j(S(x)), where c is the circulant of MixColumns and π_j is ShiftRows
//! followed by a rotation of every column by j (GHS12 section 4.1).
//!
//! Cost of a round: one S-box, four permutations (one in the last round), three sums.

use crate::bytewise::Bytewise;
use crate::rounds::Rounds;
use crate::sliced::AesByte;
use crate::state::{Block, Direction, circulant, mix_source, shift_source, to_packed};
use crate::view::{ByteEval, PackedEval};

/// AES on one item; `slots / 16` blocks at once.
pub struct Packed<'e, E: ByteEval>(pub Bytewise<'e, E>);

impl<E: PackedEval> Packed<'_, E> {
    /// Blocks per batch.
    pub fn blocks(&self) -> usize {
        self.0.slots() / 16
    }

    /// Public blocks as a state; zero blocks in the slots beyond `blocks`.
    ///
    /// # Panics
    /// If there are more than [`blocks`](Self::blocks).
    pub fn public(&self, blocks: &[Block]) -> E::Byte {
        self.0.public(&to_packed(blocks))
    }
}

impl<E: PackedEval> Packed<'_, E> {
    fn sub_shift(&self, dir: Direction, s: &E::Byte) -> Result<E::Byte, E::Error> {
        let [y] = self.0.sbox_times(dir, s, [1])?;
        let pi = core::array::from_fn(|i| shift_source(dir, i));
        self.0.eval().permute(&y, &pi)
    }

    fn sub_shift_mix(&self, dir: Direction, s: &E::Byte) -> Result<E::Byte, E::Error> {
        let multiples = self.0.sbox_times(dir, s, circulant(dir))?;
        let term = |j: usize| {
            let pi = core::array::from_fn(|i| shift_source(dir, mix_source(i, j)));
            self.0.eval().permute(&multiples[j], &pi)
        };
        let mut sum = term(0)?;
        for j in 1..4 {
            sum = self.0.xor(&sum, &term(j)?)?;
        }
        Ok(sum)
    }
}

impl<E: PackedEval> Rounds for Packed<'_, E> {
    type Error = E::Error;
    type State = E::Byte;
    type Key = E::Byte;

    fn add(&self, s: &E::Byte, key: &E::Byte) -> Result<E::Byte, E::Error> {
        self.0.xor(s, key)
    }

    fn round(&self, dir: Direction, s: &E::Byte, key: &E::Byte) -> Result<E::Byte, E::Error> {
        self.add(&self.sub_shift_mix(dir, s)?, key)
    }

    fn last_round(&self, dir: Direction, s: &E::Byte, key: &E::Byte) -> Result<E::Byte, E::Error> {
        self.add(&self.sub_shift(dir, s)?, key)
    }

    fn refresh(&self, s: &mut E::Byte) -> Result<(), E::Error> {
        self.0
            .eval()
            .refresh(core::slice::from_mut(s), Bytewise::<E>::SBOX_DEPTH)
    }
}
