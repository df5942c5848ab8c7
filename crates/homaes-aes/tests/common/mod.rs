//! AES on bits in the clear, with all intermediate states.

use crate::vectors::hex;
use homaes_aes::interp::ClearBits;
use homaes_aes::slp::tower::{self, Core};
use homaes_aes::{Block, Depth, Direction, FoldedBits, RoundKeys, cipher_observed};

/// Depths of the two S-boxes.
pub(crate) const DEPTHS: [Depth; 2] = [4, 3];

/// Runs each block under its own key, with S-boxes of depth `depth`; returns the results.
pub(crate) fn run(
    depth: Depth,
    dir: Direction,
    blocks: &[Block],
    keys: &[RoundKeys],
) -> Vec<Block> {
    let mut states = trace(depth, dir, blocks, keys);
    states.pop().expect("a trace has at least two states")
}

/// As [`run`]; entry r holds all states after round r.
pub(crate) fn trace(
    depth: Depth,
    dir: Direction,
    blocks: &[Block],
    keys: &[RoundKeys],
) -> Vec<Vec<Block>> {
    assert_eq!(blocks.len(), keys.len());
    let schedules: Vec<_> = keys.iter().map(|k| k.schedule(dir)).collect();
    let keys: Vec<Vec<Block>> = (0..schedules[0].as_slice().len())
        .map(|r| schedules.iter().map(|s| s.as_slice()[r]).collect())
        .collect();
    match depth {
        4 => by_core(&tower::DEPTH_4, dir, blocks, &keys),
        _ => by_core(&tower::DEPTH_3, dir, blocks, &keys),
    }
}

/// Converts input and keys to the coordinates of [`FoldedBits`], and all states back.
fn by_core<const P: usize>(
    core: &'static Core<P>,
    dir: Direction,
    blocks: &[Block],
    keys: &[Vec<Block>],
) -> Vec<Vec<Block>> {
    let eval = ClearBits::new(blocks.len());
    let rounds = FoldedBits::new(&eval, core);
    let folding = rounds.folding();
    let lift = |blocks: &[Block]| -> Vec<Vec<bool>> {
        let bit = |block: &Block, i: usize| block[i / 8] >> (i % 8) & 1 == 1;
        let item = |i| blocks.iter().map(|block| bit(block, i)).collect();
        (0..128).map(item).collect()
    };
    let lower = |items: &[Vec<bool>], b: usize| -> Block {
        let bit = |i: usize| u8::from(items[i][b]) << (i % 8);
        core::array::from_fn(|i| (0..8).fold(0, |byte, j| byte | bit(8 * i + j)))
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
        assert_eq!(r, states.len(), "rounds are shown in order");
        let plain = |y: u8| match r == last {
            true => y,
            false => (0..=255).find(|&x| folding.state(dir, x) == y).unwrap(),
        };
        let found: Vec<Block> = (0..blocks.len()).map(|b| lower(s, b)).collect();
        states.push(each(&found, &plain));
    });
    done.unwrap();
    states
}

/// One block of a hexadecimal string.
pub(crate) fn block(s: &str) -> Block {
    hex(s).try_into().expect("16 bytes")
}

/// The expanded key of a hexadecimal string.
pub(crate) fn expand(key: &str) -> RoundKeys {
    RoundKeys::expand(&hex(key)).expect("a key of AES length")
}
