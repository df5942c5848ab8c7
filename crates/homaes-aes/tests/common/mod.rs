//! AES in the clear through every view and layout, with all intermediate states.
#![allow(dead_code, reason = "each test binary uses a part of this module")]

use homaes_aes::interp::clear::{ClearBits, ClearBytes};
use homaes_aes::slp::tower::{self, Core};
use homaes_aes::{
    Bitwise, Block, Bytewise, Direction, EvalError, FoldedBits, Packed, RoundKeys, Rounds, Sliced,
    cipher_observed, state,
};

/// A view with a layout.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View {
    SlicedBytes,
    PackedBytes,
    SlicedBits,
    FoldedBits,
    ShallowBits,
}

impl View {
    pub(crate) const ALL: [Self; 5] = [
        Self::SlicedBytes,
        Self::PackedBytes,
        Self::SlicedBits,
        Self::FoldedBits,
        Self::ShallowBits,
    ];

    /// Runs each block under its own key; entry r holds all states after round r.
    pub(crate) fn trace(
        self,
        dir: Direction,
        blocks: &[Block],
        keys: &[RoundKeys],
    ) -> Vec<Vec<Block>> {
        assert_eq!(blocks.len(), keys.len());
        let n = blocks.len();
        let schedules: Vec<_> = keys.iter().map(|k| k.schedule(dir)).collect();
        let keys: Vec<Vec<Block>> = (0..schedules[0].as_slice().len())
            .map(|r| schedules.iter().map(|s| s.as_slice()[r]).collect())
            .collect();
        match self {
            Self::SlicedBytes => {
                let eval = ClearBytes::new(n);
                let r = Sliced(Bytewise::new(&eval));
                observe(&r, dir, blocks, &keys, |b| r.public(b), state::from_sliced)
            }
            Self::PackedBytes => {
                let eval = ClearBytes::new(16 * n);
                let r = Packed(Bytewise::new(&eval));
                let lower = |s: &Vec<u8>| state::from_packed(s);
                observe(&r, dir, blocks, &keys, |b| r.public(b), lower)
            }
            Self::SlicedBits => {
                let eval = ClearBits::new(n);
                let r = Sliced(Bitwise::new(&eval));
                let lower = |s: &[_; 16]| state::from_sliced(&s.each_ref().map(state::from_bits));
                observe(&r, dir, blocks, &keys, |b| r.public(b), lower)
            }
            Self::FoldedBits => folded(&tower::DEPTH_4, dir, blocks, &keys),
            Self::ShallowBits => folded(&tower::DEPTH_3, dir, blocks, &keys),
        }
    }

    /// Runs each block under its own key; returns the results.
    pub(crate) fn run(self, dir: Direction, blocks: &[Block], keys: &[RoundKeys]) -> Vec<Block> {
        self.trace(dir, blocks, keys)
            .pop()
            .expect("a trace has at least two states")
    }
}

/// [`FoldedBits`], with input and keys converted to its coordinates and all states converted back.
fn folded<const P: usize>(
    core: &'static Core<P>,
    dir: Direction,
    blocks: &[Block],
    keys: &[Vec<Block>],
) -> Vec<Vec<Block>> {
    let eval = ClearBits::new(blocks.len());
    let rounds = FoldedBits::new(&eval, core);
    let folding = rounds.folding();
    let lift = |blocks: &[Block]| -> Vec<Vec<bool>> {
        let bytes = state::to_sliced(blocks);
        bytes.iter().flat_map(|b| state::to_bits(b)).collect()
    };
    let lower = |s: &Vec<Vec<bool>>| {
        let bytes: Vec<Vec<u8>> = s.as_chunks().0.iter().map(state::from_bits).collect();
        state::from_sliced(&bytes.try_into().expect("16 bytes"))
    };
    let last = keys.len() - 1;
    let each = |blocks: &[Block], f: &dyn Fn(u8) -> u8| -> Vec<Block> {
        blocks.iter().map(|b| b.map(f)).collect()
    };
    let key =
        |(r, keys): (usize, &Vec<Block>)| lift(&each(keys, &|k| folding.key(dir, (r, last), k)));
    let keys: Vec<_> = keys.iter().enumerate().map(key).collect();
    let input = each(blocks, &|x| folding.input(dir, x));
    let mut states = Vec::new();
    let done = cipher_observed(&rounds, dir, lift(&input), &keys, |r, s| {
        let plain = |y: u8| match r == last {
            true => y,
            false => (0..=255).find(|&x| folding.state(dir, x) == y).unwrap(),
        };
        states.push(each(&lower(s), &plain));
    });
    done.unwrap();
    states
}

fn observe<S, R: Rounds<State = S, Key = S, Error = EvalError>>(
    rounds: &R,
    dir: Direction,
    blocks: &[Block],
    keys: &[Vec<Block>],
    lift: impl Fn(&[Block]) -> S,
    lower: impl Fn(&S) -> Vec<Block>,
) -> Vec<Vec<Block>> {
    let keys: Vec<_> = keys.iter().map(|k| lift(k)).collect();
    let mut states = Vec::new();
    let result = cipher_observed(rounds, dir, lift(blocks), &keys, |r, s| {
        assert_eq!(r, states.len(), "rounds are shown in order");
        states.push(lower(s));
    });
    assert_eq!(states.last(), Some(&lower(&result.unwrap())));
    states
}

/// Bytes of a hexadecimal string.
pub(crate) fn hex(s: &str) -> Vec<u8> {
    assert!(s.len().is_multiple_of(2), "odd length: {s}");
    (0..s.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&s[i..i + 2], 16).expect("hexadecimal digits"))
        .collect()
}

/// One block of a hexadecimal string.
pub(crate) fn block(s: &str) -> Block {
    hex(s).try_into().expect("16 bytes")
}

/// The expanded key of a hexadecimal string.
pub(crate) fn expand(key: &str) -> RoundKeys {
    RoundKeys::expand(&hex(key)).expect("a key of AES length")
}
