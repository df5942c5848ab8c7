//! The round loop of AES, the same for every view, layout, key size and direction. BGV runs it; TFHE, whose look-ups are not in rounds, has loops
//! of its own.
//!
//! Decryption runs as the equivalent inverse cipher (FIPS-197 section 5.3.5): the same loop with the
//! inverse S-box, shift and circulant, and with the round keys of
//! [`RoundKeys::schedule`](crate::clear::RoundKeys::schedule).

use crate::error::EvalError;
use crate::state::Direction;

/// What the round loop needs of a batch of encrypted states.
///
/// [`Sliced`](crate::Sliced), [`Packed`](crate::Packed) and [`FoldedBits`](crate::FoldedBits) implement it over the views. A
/// backend may implement it directly, and hold round keys in a form of its own.
///
/// Laws, with D the decryption of a state or of a key to blocks:
/// - `D(add(s, k)) = D(s) ⊕ D(k)`
/// - `D(round(dir, s, k)) = MixColumns(ShiftRows(SubBytes(D(s)))) ⊕ D(k)`, or the inverses when decrypting
/// - `D(last_round(dir, s, k)) = ShiftRows(SubBytes(D(s))) ⊕ D(k)`, or the inverses
/// - `refresh` changes no value
///
/// An implementation may hold all states but the last under an invertible affine map of bytes, if it says so.
pub trait Rounds {
    /// What can stop an evaluation.
    type Error: From<EvalError>;
    /// The AES states of one batch of blocks.
    type State;
    /// One round key for a whole batch.
    type Key;

    /// AddRoundKey.
    ///
    /// # Errors
    /// If the backend's sum can fail.
    fn add(&self, s: &Self::State, key: &Self::Key) -> Result<Self::State, Self::Error>;

    /// One round but the last: SubBytes, ShiftRows, MixColumns, AddRoundKey, or their inverses.
    ///
    /// # Errors
    /// If a level or a key is missing.
    fn round(
        &self,
        dir: Direction,
        s: &Self::State,
        key: &Self::Key,
    ) -> Result<Self::State, Self::Error>;

    /// The last round: SubBytes, ShiftRows, AddRoundKey, or their inverses.
    ///
    /// # Errors
    /// If a level or a key is missing.
    fn last_round(
        &self,
        dir: Direction,
        s: &Self::State,
        key: &Self::Key,
    ) -> Result<Self::State, Self::Error>;

    /// Makes room for one round; called before each. By default does nothing.
    ///
    /// # Errors
    /// If room is lacking and the backend cannot make it.
    fn refresh(&self, _s: &mut Self::State) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// AES: AddRoundKey, then one round for each further round key, the last without MixColumns.
///
/// # Errors
/// [`EvalError::TooFewRoundKeys`] for fewer than two round keys, and whatever the backend reports.
pub fn cipher<R: Rounds>(
    rounds: &R,
    dir: Direction,
    state: R::State,
    round_keys: &[R::Key],
) -> Result<R::State, R::Error> {
    cipher_observed(rounds, dir, state, round_keys, |_, _| {})
}

/// [`cipher`], showing each intermediate state to `observe`.
///
/// `observe(0, s)` sees the state after the initial AddRoundKey, `observe(r, s)` the one after the
/// AddRoundKey of round r: decrypted, entry r of [`clear::trace`](crate::clear::trace).
///
/// # Errors
/// As [`cipher`].
pub fn cipher_observed<R: Rounds>(
    rounds: &R,
    dir: Direction,
    state: R::State,
    round_keys: &[R::Key],
    mut observe: impl FnMut(usize, &R::State),
) -> Result<R::State, R::Error> {
    let [first, middle @ .., last] = round_keys else {
        return Err(EvalError::TooFewRoundKeys {
            found: round_keys.len(),
            expected: 2,
        }
        .into());
    };
    let keyed = rounds.add(&state, first)?;
    // a state may be large
    drop(state);
    let mut state = keyed;
    observe(0, &state);
    for (i, key) in middle.iter().enumerate() {
        rounds.refresh(&mut state)?;
        state = rounds.round(dir, &state, key)?;
        observe(i + 1, &state);
    }
    rounds.refresh(&mut state)?;
    state = rounds.last_round(dir, &state, last)?;
    observe(middle.len() + 1, &state);
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interp::clear::ClearBytes;
    use crate::{Bytewise, Sliced};

    /// Fuses everything: a state is the list of what was done to it.
    struct Fused;

    impl Rounds for Fused {
        type Error = EvalError;
        type State = String;
        type Key = char;

        fn add(&self, s: &String, key: &char) -> Result<String, EvalError> {
            Ok(format!("{s}+{key}"))
        }

        fn refresh(&self, s: &mut String) -> Result<(), EvalError> {
            s.push('!');
            Ok(())
        }

        fn round(&self, _: Direction, s: &String, key: &char) -> Result<String, EvalError> {
            Ok(format!("{s}R{key}"))
        }

        fn last_round(&self, _: Direction, s: &String, key: &char) -> Result<String, EvalError> {
            Ok(format!("{s}L{key}"))
        }
    }

    #[test]
    fn a_backend_may_fuse_rounds_and_keep_keys_in_its_own_form() {
        let (start, keys) = (String::from("s"), ['a', 'b', 'c', 'd']);
        let mut seen = Vec::new();
        let observe = |r, s: &String| seen.push((r, s.len()));
        let end = cipher_observed(&Fused, Direction::Encrypt, start, &keys, observe);
        assert_eq!(end.as_deref(), Ok("s+a!Rb!Rc!Ld"));
        assert_eq!(seen, [(0, 3), (1, 6), (2, 9), (3, 12)]);
    }

    #[test]
    fn fewer_than_two_round_keys_are_an_error() {
        let eval = ClearBytes::new(1);
        let rounds = Sliced(Bytewise::new(&eval));
        let block = rounds.public(&[[0; 16]]);
        for found in 0..2 {
            let keys = vec![block.clone(); found];
            assert_eq!(
                cipher(&rounds, Direction::Encrypt, block.clone(), &keys),
                Err(EvalError::TooFewRoundKeys { found, expected: 2 })
            );
        }
        assert!(
            cipher(
                &rounds,
                Direction::Encrypt,
                block.clone(),
                &[block.clone(), block.clone()]
            )
            .is_ok()
        );
    }
}
