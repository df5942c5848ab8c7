//! The round loop of AES, the same for every scheme, layout, key size and direction. BGV, NTRU and DGHV run it; TFHE
//! looks up single bytes and has loops of its own.
//!
//! Decryption runs as the equivalent inverse cipher (FIPS-197 section 5.3.5): the same loop with the inverse S-box,
//! shift and circulant, and the round keys of [`RoundKeys::schedule`](crate::clear::RoundKeys::schedule).

use crate::error::EvalError;
use crate::state::Direction;

/// The operations of the round loop on a batch of encrypted states. They fail if a level or a key is missing.
///
/// [`FoldedBits`](crate::FoldedBits) implements it over the view [`BitEval`](crate::BitEval). A scheme may implement it
/// directly, with its own form of round keys.
///
/// Laws, with D the decryption of a state or of a key to blocks:
/// - `D(add(s, k)) = D(s) ⊕ D(k)`
/// - `D(round(dir, s, k)) = MixColumns(ShiftRows(SubBytes(D(s)))) ⊕ D(k)`, or the inverses when decrypting
/// - `D(last_round(dir, s, k)) = ShiftRows(SubBytes(D(s))) ⊕ D(k)`, or the inverses
/// - `refresh` changes no value
///
/// An implementation may hold all states but the last under an invertible affine map of bytes that it documents.
pub trait Rounds {
    /// Why an evaluation stopped.
    type Error: From<EvalError>;
    /// The AES states of one batch of blocks.
    type State;
    /// One round key for a whole batch.
    type Key;

    /// AddRoundKey.
    fn add(&self, s: &Self::State, key: &Self::Key) -> Result<Self::State, Self::Error>;

    /// Any round but the last: SubBytes, ShiftRows, MixColumns, AddRoundKey, or their inverses.
    fn round(
        &self,
        dir: Direction,
        s: &Self::State,
        key: &Self::Key,
    ) -> Result<Self::State, Self::Error>;

    /// The last round: SubBytes, ShiftRows, AddRoundKey, or their inverses.
    fn last_round(
        &self,
        dir: Direction,
        s: &Self::State,
        key: &Self::Key,
    ) -> Result<Self::State, Self::Error>;

    /// Makes room for one round; called before each. Default: does nothing.
    fn refresh(&self, _s: &mut Self::State) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// AES: AddRoundKey, then one round per further round key, the last without MixColumns.
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
/// `observe(r, s)` gets the state after the AddRoundKey of round r, the initial one being round 0: decrypted, entry r
/// of [`clear::trace`](crate::clear::trace).
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
    let [first, _, ..] = round_keys else {
        return Err(EvalError::TooFewRoundKeys {
            found: round_keys.len(),
            expected: 2,
        }
        .into());
    };
    let keyed = rounds.add(&state, first)?;
    // states are large: free this one now
    drop(state);
    observe(0, &keyed);
    cipher_from(rounds, dir, (0, keyed), round_keys, observe)
}

/// The rounds of [`cipher_observed`] after round `done`, from the state that it showed; after the last round, that state.
///
/// # Errors
/// Whatever the backend reports.
pub fn cipher_from<R: Rounds>(
    rounds: &R,
    dir: Direction,
    (done, mut state): (usize, R::State),
    round_keys: &[R::Key],
    mut observe: impl FnMut(usize, &R::State),
) -> Result<R::State, R::Error> {
    for (i, key) in round_keys.iter().enumerate().skip(done + 1) {
        rounds.refresh(&mut state)?;
        state = match i + 1 == round_keys.len() {
            true => rounds.last_round(dir, &state, key)?,
            false => rounds.round(dir, &state, key)?,
        };
        observe(i, &state);
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fuses whole rounds; a state lists the operations applied to it.
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
        for found in 0..2 {
            let keys = vec!['a'; found];
            let refused = cipher(&Fused, Direction::Encrypt, String::new(), &keys);
            let message = format!("{found} round keys, expected at least 2");
            assert_eq!(refused.unwrap_err().to_string(), message);
        }
    }
}
