//! FIPS-197 in the clear: the reference for every circuit, and the client's key expansion.
//!
//! Not optimised. The S-box is affine(x^254) by masked multiplications: the key expansion runs on the client's secret
//! key, so no branch and no table index depends on data. (This holds for the source; a compiler may undo it.) Types
//! with round keys are zeroized on drop and do not print them.

use core::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::error::Error;
use crate::gf256;
use crate::state::{Block, Direction, mix_columns, shift_rows, xor};

/// The three key sizes of AES.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeySize {
    /// 16 bytes, 10 rounds
    Aes128,
    /// 24 bytes, 12 rounds
    Aes192,
    /// 32 bytes, 14 rounds
    Aes256,
}

impl KeySize {
    /// The three sizes, smallest first.
    pub const ALL: [Self; 3] = [Self::Aes128, Self::Aes192, Self::Aes256];

    /// The size of a key of `found` bytes.
    ///
    /// # Errors
    /// [`Error::KeyLength`] unless `found` is 16, 24 or 32.
    pub fn from_key_bytes(found: usize) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|size| size.key_bytes() == found)
            .ok_or(Error::KeyLength { found })
    }

    /// Nr: 10, 12 or 14.
    pub const fn rounds(self) -> usize {
        self.key_bytes() / 4 + 6
    }

    /// Length of the key: 16, 24 or 32 bytes.
    pub const fn key_bytes(self) -> usize {
        match self {
            Self::Aes128 => 16,
            Self::Aes192 => 24,
            Self::Aes256 => 32,
        }
    }

    /// Number of round keys, Nr + 1: 11, 13 or 15.
    pub const fn round_keys(self) -> usize {
        self.rounds() + 1
    }
}

/// The key schedule of FIPS-197 section 5.2: Nr + 1 round keys, in the order of encryption.
///
/// Zeroized on drop; `Debug` shows only the size.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct RoundKeys {
    #[zeroize(skip)]
    size: KeySize,
    keys: Vec<Block>,
}

impl RoundKeys {
    /// Expands a key of 16, 24 or 32 bytes.
    ///
    /// # Errors
    /// [`Error::KeyLength`] for any other length.
    pub fn expand(key: &[u8]) -> Result<Self, Error> {
        let size = KeySize::from_key_bytes(key.len())?;
        let (words, total) = (key.len() / 4, 4 * size.round_keys());
        // Both vectors start at full capacity: growing would leave copies of key material behind.
        let mut w: Zeroizing<Vec<[u8; 4]>> = Zeroizing::new(Vec::with_capacity(total));
        w.extend_from_slice(key.as_chunks().0);
        let mut round_constant = 1;
        for i in words..total {
            let mut t = w[i - 1];
            if i % words == 0 {
                t.rotate_left(1);
                t = t.map(|b| sbox(Direction::Encrypt, b));
                t[0] ^= round_constant;
                round_constant = gf256::mul(round_constant, 2);
            } else if words > 6 && i % words == 4 {
                t = t.map(|b| sbox(Direction::Encrypt, b));
            }
            let back = w[i - words];
            w.push(core::array::from_fn(|j| back[j] ^ t[j]));
        }
        let mut keys = Vec::with_capacity(size.round_keys());
        keys.extend_from_slice(w.as_flattened().as_chunks().0);
        Ok(Self { size, keys })
    }

    /// The size of the key this was expanded from.
    pub fn size(&self) -> KeySize {
        self.size
    }

    /// The round keys; number r belongs to round r.
    pub fn as_slice(&self) -> &[Block] {
        &self.keys
    }

    /// The round keys in the form that [`cipher`](crate::cipher) takes.
    ///
    /// Encrypting: unchanged. Decrypting: the schedule of the equivalent inverse cipher (FIPS-197 section 5.3.5),
    /// reversed, with InvMixColumns applied to all but the first and the last.
    pub fn schedule(&self, direction: Direction) -> Schedule {
        let mut keys = self.keys.clone();
        if direction == Direction::Decrypt {
            keys.reverse();
            let last = keys.len() - 1;
            for key in &mut keys[1..last] {
                *key = mix_columns(direction, key);
            }
        }
        Schedule { direction, keys }
    }
}

impl fmt::Debug for RoundKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoundKeys")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

/// Round keys as [`cipher`](crate::cipher) takes them, made by [`RoundKeys::schedule`].
///
/// Zeroized on drop; `Debug` shows only the direction.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Schedule {
    #[zeroize(skip)]
    direction: Direction,
    keys: Vec<Block>,
}

impl Schedule {
    /// The direction these keys serve.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The round keys, number 0 for the initial AddRoundKey.
    pub fn as_slice(&self) -> &[Block] {
        &self.keys
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schedule")
            .field("direction", &self.direction)
            .finish_non_exhaustive()
    }
}

/// The S-box (encrypting) or its inverse (decrypting), computed (FIPS-197 sections 5.1.1 and 5.3.2).
///
/// ```
/// use homaes_aes::{Direction, clear::sbox};
/// assert_eq!(sbox(Direction::Encrypt, 0x53), 0xed); // FIPS-197 section 5.1.1
/// ```
pub const fn sbox(dir: Direction, x: u8) -> u8 {
    match dir {
        Direction::Encrypt => gf256::affine(gf256::inv(x)),
        Direction::Decrypt => gf256::inv(gf256::affine_inv(x)),
    }
}

/// Encrypts one block: the cipher of FIPS-197 section 5.1.
pub fn encrypt_block(block: Block, keys: &RoundKeys) -> Block {
    let dir = Direction::Encrypt;
    let keys = keys.as_slice();
    let rounds = keys.len() - 1;
    let mut state = xor(&block, &keys[0]);
    for key in &keys[1..rounds] {
        state = shift_rows(dir, &state.map(|x| sbox(dir, x)));
        state = xor(&mix_columns(dir, &state), key);
    }
    state = shift_rows(dir, &state.map(|x| sbox(dir, x)));
    xor(&state, &keys[rounds])
}

/// Decrypts one block by the inverse cipher of FIPS-197 section 5.3; [`trace`] runs the equivalent one, as a check.
pub fn decrypt_block(block: Block, keys: &RoundKeys) -> Block {
    let dir = Direction::Decrypt;
    let keys = keys.as_slice();
    let rounds = keys.len() - 1;
    let mut state = xor(&block, &keys[rounds]);
    for key in keys[1..rounds].iter().rev() {
        state = shift_rows(dir, &state).map(|x| sbox(dir, x));
        state = mix_columns(dir, &xor(&state, key));
    }
    state = shift_rows(dir, &state).map(|x| sbox(dir, x));
    xor(&state, &keys[0])
}

/// The states of [`cipher`](crate::cipher): entry 0 after the initial AddRoundKey, entry r after that of round r.
///
/// Decryption runs as the equivalent inverse cipher. In the appendices of FIPS-197, entry r is `round[r+1].start` (or
/// `istart`). `keys` is the encryption schedule in both directions.
pub fn trace(dir: Direction, block: Block, keys: &RoundKeys) -> Vec<Block> {
    let schedule = keys.schedule(dir);
    let keys = schedule.as_slice();
    let rounds = keys.len() - 1;
    let mut states = Vec::with_capacity(keys.len());
    let mut state = xor(&block, &keys[0]);
    states.push(state);
    for (round, key) in keys.iter().enumerate().skip(1) {
        state = shift_rows(dir, &state.map(|x| sbox(dir, x)));
        if round < rounds {
            state = mix_columns(dir, &state);
        }
        state = xor(&state, key);
        states.push(state);
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_key_lengths_are_refused() {
        for found in (0..64).filter(|n| ![16, 24, 32].contains(n)) {
            let refused = RoundKeys::expand(&vec![0; found]).unwrap_err();
            assert_eq!(refused, Error::KeyLength { found });
        }
    }

    #[test]
    fn debug_output_shows_no_key() {
        let keys = RoundKeys::expand(&[0xab; 16]).unwrap();
        assert_eq!(format!("{keys:?}"), "RoundKeys { size: Aes128, .. }");
        let schedule = keys.schedule(Direction::Decrypt);
        let shown = format!("{schedule:?}");
        assert_eq!(shown, "Schedule { direction: Decrypt, .. }");
    }
}
