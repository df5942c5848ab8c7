//! AES on bits, with the linear layer of a round folded into sums of products.
//!
//! From one inversion to the next, AES is affine: the affine map and change of basis X of the S-box, ShiftRows,
//! MixColumns, AddRoundKey, and the change of basis X⁻¹ of the next S-box. So the state between two rounds stays in
//! the coordinates of the tower. One sparse matrix over GF(2) ([`BitMatrix`]) maps the ANDs of the last level to the
//! state, and the round keys contain the constant 0x63 ([`Folding::key`]). A round relinearises 10 products per S-box
//! (14 at depth 3) and 128 sums for its outputs:
//!
//! ```text
//!   encrypting   x = X⁻¹(s)            x' = X⁻¹·MixColumns·ShiftRows·A (x⁻¹)  +  X⁻¹(k + 0x63)
//!   decrypting   x = X⁻¹A⁻¹(s + 0x63)  x' = X⁻¹·A⁻¹·InvMixColumns·InvShiftRows (x⁻¹)  +  X⁻¹A⁻¹(k + 0x63)
//! ```
//!
//! A is the linear part of the affine map and k the round key of the equivalent inverse cipher. The last round has no
//! MixColumns and ends in bytes: A(x⁻¹) + k + 0x63 when encrypting, x⁻¹ + k when decrypting.
//!
//! Cost of AES-128 over [`tower::DEPTH_4`]: 5760 ANDs, 2880 relinearisations in 40 passes, depth 40; over
//! [`tower::DEPTH_3`]: 6720, 3520, 30 and 30. `tests/cost.rs` counts them.

use crate::clear::Schedule;
use crate::error::Depth;
use crate::gf256;
use crate::rounds::Rounds;
use crate::slp::tower::{self, Core};
use crate::slp::{Begun, begin};
use crate::state::{Block, Direction, byte_index, circulant, shift_source};
use crate::view::BitEval;
use zeroize::Zeroizing;

/// A sparse matrix over GF(2): per row, the columns of its ones in rising order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitMatrix {
    rows: Vec<Vec<u16>>,
}

impl BitMatrix {
    /// The matrix of a round on one column of the state. Row 8r + k is coordinate k of the byte in row r after the
    /// round; column P·r' + p is output p of the S-box in row r' before MixColumns. With `mix` false it is that of
    /// the last round: different bytes do not mix, and the result is in plain bytes.
    pub fn round<const P: usize>(core: &Core<P>, dir: Direction, mix: bool) -> Self {
        let folding = Folding::new(core);
        let row = |r: usize, k: usize| {
            let mut row = Vec::new();
            for from in 0..4 {
                let c = match mix {
                    true => circulant(dir)[(4 + from - r) % 4],
                    false => u8::from(from == r),
                };
                // products that contribute to this bit; pairs cancel
                let mask = core.inverse.iter().fold(0, |mask, &(element, products)| {
                    let image = folding.image(dir, c, element, !mix);
                    if image >> k & 1 == 1 {
                        mask ^ products
                    } else {
                        mask
                    }
                });
                let own = (0..P).filter(|p| mask >> p & 1 == 1);
                row.extend(own.map(|p| (P * from + p) as u16));
            }
            row
        };
        let rows = (0..32).map(|i| row(i / 8, i % 8)).collect();
        Self { rows }
    }

    /// The rows.
    pub fn rows(&self) -> &[Vec<u16>] {
        &self.rows
    }
}

/// The coordinates of states and keys of [`FoldedBits`]. Its functions take the same time for all bytes.
#[derive(Clone, Copy, Debug)]
pub struct Folding {
    /// per coordinate, the mask of the bits it sums
    coordinates: [u8; 8],
}

impl Folding {
    /// The coordinates of a core.
    pub fn new<const P: usize>(core: &Core<P>) -> Self {
        Self {
            coordinates: core.coordinates(),
        }
    }

    fn coordinates(&self, x: u8) -> u8 {
        let masks = self.coordinates.into_iter().zip(0..);
        masks.fold(0, |out, (mask, k)| out | tower::parity(mask & x) << k)
    }

    /// The image of `x`, an output of the inversion, under the linear layer with the entry `c` of MixColumns.
    fn image(&self, dir: Direction, c: u8, x: u8, last: bool) -> u8 {
        let y = match dir {
            Direction::Encrypt => gf256::mul(c, gf256::affine_linear(x)),
            Direction::Decrypt if last => gf256::mul(c, x),
            Direction::Decrypt => gf256::affine_linear_inv(gf256::mul(c, x)),
        };
        if last { y } else { self.coordinates(y) }
    }

    /// A byte of the input, before the initial AddRoundKey.
    pub fn input(&self, dir: Direction, x: u8) -> u8 {
        match dir {
            Direction::Encrypt => self.coordinates(x),
            Direction::Decrypt => self.coordinates(gf256::affine_linear_inv(x)),
        }
    }

    /// The coordinates of byte `s` of any state but the last.
    pub fn state(&self, dir: Direction, s: u8) -> u8 {
        match dir {
            Direction::Encrypt => self.coordinates(s),
            Direction::Decrypt => self.input(dir, s ^ gf256::AFFINE_CONSTANT),
        }
    }

    /// A byte of round key `r` of `rounds`, including the constant of SubBytes.
    pub fn key(&self, dir: Direction, (r, rounds): (usize, usize), k: u8) -> u8 {
        let constant = gf256::AFFINE_CONSTANT;
        match dir {
            Direction::Encrypt if r == 0 => self.input(dir, k),
            Direction::Encrypt if r == rounds => k ^ constant,
            Direction::Decrypt if r == rounds => k,
            _ => self.input(dir, k ^ constant),
        }
    }

    /// The round keys of a schedule.
    pub fn keys(&self, schedule: &Schedule) -> Zeroizing<Vec<Block>> {
        let keys = schedule.as_slice();
        let (dir, rounds) = (schedule.direction(), keys.len() - 1);
        let mut out = Zeroizing::new(Vec::with_capacity(keys.len()));
        let folded = keys.iter().enumerate();
        out.extend(folded.map(|(r, key)| key.map(|k| self.key(dir, (r, rounds), k))));
        out
    }
}

/// AES on 128 items of the view: item 8i + j holds coordinate j of byte i. The core ends in `P` products.
///
/// States and keys are in the coordinates of [`Folding`]; the last round returns plain bits.
pub struct FoldedBits<'e, E: BitEval, const P: usize = 18> {
    eval: &'e E,
    core: &'static Core<P>,
    /// per direction, the matrices of a round and of the last round
    matrices: [[BitMatrix; 2]; 2],
}

impl<'e, E: BitEval, const P: usize> FoldedBits<'e, E, P> {
    /// AES over `eval` by `core`.
    pub fn new(eval: &'e E, core: &'static Core<P>) -> Self {
        let both = |dir| [true, false].map(|mix| BitMatrix::round(core, dir, mix));
        Self {
            eval,
            core,
            matrices: Direction::ALL.map(both),
        }
    }

    /// Depth of a round.
    pub fn depth(&self) -> Depth {
        self.core.program.depth()
    }

    /// The coordinates of states and keys.
    pub fn folding(&self) -> Folding {
        Folding::new(self.core)
    }

    /// SubBytes, ShiftRows, MixColumns if `mix`, AddRoundKey, or their inverses.
    fn layer(
        &self,
        dir: Direction,
        s: &[E::Bit],
        key: &[E::Bit],
        mix: bool,
    ) -> Result<Vec<E::Bit>, E::Error> {
        assert_eq!(key.len(), s.len());
        let mut state = self.unkeyed(dir, s, mix)?;
        let pairs: Vec<_> = state.iter_mut().zip(key).collect();
        self.eval.each(pairs, |(a, k)| {
            self.eval.xor_assign(a, k);
            Ok(())
        })?;
        Ok(state)
    }

    /// A round without AddRoundKey, for callers whose round keys are not all in memory: SubBytes, ShiftRows, and
    /// MixColumns if `mix`, or their inverses.
    ///
    /// # Errors
    /// Whatever the backend reports.
    ///
    /// # Panics
    /// Unless `s` has 128 bits.
    pub fn unkeyed(
        &self,
        dir: Direction,
        s: &[E::Bit],
        mix: bool,
    ) -> Result<Vec<E::Bit>, E::Error> {
        let (bytes, rest) = s.as_chunks::<8>();
        assert!(bytes.len() == 16 && rest.is_empty());
        let inputs = bytes.iter().map(<[E::Bit; 8]>::each_ref).collect();
        let begun = begin(self.eval, &self.core.program, inputs)?;
        let mut begun: Vec<Option<Begun<'_, E, 8, P>>> = begun.into_iter().map(Some).collect();
        let matrix = &self.matrices[usize::from(dir == Direction::Decrypt)][usize::from(!mix)];
        let mut sums = Vec::with_capacity(128);
        for column in 0..4 {
            let own = (0..4).map(|row| shift_source(dir, byte_index(row, column)));
            let own = own.map(|i| begun[i].take().expect("ShiftRows reads every byte once"));
            // one column at a time, to hold the last products of only four S-boxes
            let products = self.eval.each(own.collect(), Begun::finish)?;
            let products: Vec<&E::Product> = products.iter().flatten().collect();
            sums.extend(self.eval.sums(&products, &matrix.rows));
        }
        self.eval.relinearize_all(sums)
    }
}

impl<E: BitEval, const P: usize> Rounds for FoldedBits<'_, E, P> {
    type Error = E::Error;
    type State = Vec<E::Bit>;
    type Key = Vec<E::Bit>;

    fn add(&self, s: &Vec<E::Bit>, key: &Vec<E::Bit>) -> Result<Vec<E::Bit>, E::Error> {
        let pairs = s.iter().zip(key).collect();
        self.eval.each(pairs, |(a, k)| Ok(self.eval.xor(a, k)))
    }

    fn round(
        &self,
        dir: Direction,
        s: &Vec<E::Bit>,
        key: &Vec<E::Bit>,
    ) -> Result<Vec<E::Bit>, E::Error> {
        self.layer(dir, s, key, true)
    }

    fn last_round(
        &self,
        dir: Direction,
        s: &Vec<E::Bit>,
        key: &Vec<E::Bit>,
    ) -> Result<Vec<E::Bit>, E::Error> {
        self.layer(dir, s, key, false)
    }

    fn refresh(&self, s: &mut Vec<E::Bit>) -> Result<(), E::Error> {
        self.eval.refresh(s, self.depth())
    }
}
