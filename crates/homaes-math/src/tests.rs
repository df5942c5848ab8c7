//! Inputs and backends for the tests of this crate.

use crate::{Backend, Ring};

/// From the smallest admitted modulus to the largest, below 2^48.
pub(crate) const PRIMES: [u64; 6] = [
    65_537,
    16_776_961,
    131_311_739_216_641,
    140_737_303_776_001,
    SPECIAL,
    WIDE,
];
/// The largest below 2^48 that K admits.
pub(crate) const WIDE: u64 = 281_474_758_544_641;
pub(crate) const SPECIAL: u64 = 140_737_437_991_681;

/// Words below `bound`, with both edges.
pub(crate) fn limb(n: usize, bound: u64, seed: u64) -> Vec<u64> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let word = |i| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        match i % 97 {
            0 => bound - 1,
            1 => 0,
            _ => x % bound,
        }
    };
    (0..n).map(word).collect()
}

/// R and K of each conductor.
pub(crate) fn rings<const N: usize>(conductors: [u64; N]) -> Vec<Ring> {
    let both = |m| [Ring::new(m).unwrap(), Ring::new(m).unwrap().extended()];
    conductors.into_iter().flat_map(both).collect()
}

/// Runs `f` on every backend.
pub(crate) fn on_each<T>(ring: &Ring, f: impl Fn(&Ring) -> T) -> Vec<T> {
    let run = |backend| f(&ring.on(backend));
    Backend::available().map(run).collect()
}

/// Runs `f` on every backend; all give the same.
pub(crate) fn same_on_each<T: PartialEq>(ring: &Ring, f: impl Fn(&Ring) -> T) {
    let outs = on_each(ring, f);
    assert!(outs.windows(2).all(|pair| pair[0] == pair[1]), "{ring:?}");
}
