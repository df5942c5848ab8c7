//! The S-box as one look-up: all multiples of S(x) that MixColumns needs come out of it at once.
//!
//! Cost of an S-box: one look-up with three tables when encrypting (1, 2, 3 times S), four when
//! decrypting, one in the last round; depth 1.

use crate::clear::sbox;
use crate::gf256;
use crate::sliced::AesByte;
use crate::state::Direction;
use crate::view::{LutEval, Table};

/// View 3 as AES bytes; one block at a time.
pub struct Lutwise<'e, E> {
    eval: &'e E,
    encrypt: Table,
    decrypt: Table,
}

impl<'e, E: LutEval> Lutwise<'e, E> {
    /// The adapter of a backend. Computes the two S-box tables.
    pub fn new(eval: &'e E) -> Self {
        let table = |dir| core::array::from_fn(|x| sbox(dir, x as u8));
        Self {
            eval,
            encrypt: table(Direction::Encrypt),
            decrypt: table(Direction::Decrypt),
        }
    }

    /// The backend.
    pub fn eval(&self) -> &'e E {
        self.eval
    }
}

impl<E: LutEval> AesByte for Lutwise<'_, E> {
    type Error = E::Error;
    type Byte = E::Byte;

    fn slots(&self) -> usize {
        1
    }

    fn public(&self, v: &[u8]) -> E::Byte {
        assert!(v.len() <= 1, "{} bytes for 1 slot", v.len());
        self.eval.public(v.first().copied().unwrap_or(0))
    }

    fn xor(&self, a: &E::Byte, b: &E::Byte) -> Result<E::Byte, E::Error> {
        self.eval.xor(a, b)
    }

    fn sbox_times<const K: usize>(
        &self,
        dir: Direction,
        a: &E::Byte,
        c: [u8; K],
    ) -> Result<[E::Byte; K], E::Error> {
        let s = match dir {
            Direction::Encrypt => &self.encrypt,
            Direction::Decrypt => &self.decrypt,
        };
        let tables: [Table; K] = c.map(|c| s.map(|y| gf256::mul(c, y)));
        self.eval.lookup(a, tables.each_ref())
    }
}
