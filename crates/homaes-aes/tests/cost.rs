//! Costs of AES in every view, counted; checks the table in the documentation of the crate.

use homaes_aes::interp::count::{CountBits, CountBytes, Tally};
use homaes_aes::slp::tower::{Core, DEPTH_3, DEPTH_4};
use homaes_aes::{
    Bitwise, Bytewise, Depth, Direction, EvalError, FoldedBits, KeySize, Packed, Rounds, Sliced,
    cipher,
};

fn run<S, R: Rounds<State = S, Key = S, Error = EvalError>>(
    rounds: &R,
    dir: Direction,
    size: KeySize,
    public: impl Fn() -> S,
) -> Result<(), EvalError> {
    let keys: Vec<_> = (0..size.round_keys()).map(|_| public()).collect();
    cipher(rounds, dir, public(), &keys).map(drop)
}

fn sliced_bytes(e: CountBytes, dir: Direction, size: KeySize) -> Result<Tally, EvalError> {
    let r = Sliced(Bytewise::new(&e));
    run(&r, dir, size, || r.public(&[]))?;
    Ok(e.tally())
}

fn packed_bytes(e: CountBytes, dir: Direction, size: KeySize) -> Result<Tally, EvalError> {
    let r = Packed(Bytewise::new(&e));
    run(&r, dir, size, || r.public(&[]))?;
    Ok(e.tally())
}

fn sliced_bits(e: CountBits, dir: Direction, size: KeySize) -> Result<Tally, EvalError> {
    let r = Sliced(Bitwise::new(&e));
    run(&r, dir, size, || r.public(&[]))?;
    Ok(e.tally())
}

fn folded_bits<const P: usize>(
    e: CountBits,
    core: &'static Core<P>,
    dir: Direction,
    size: KeySize,
) -> Result<Tally, EvalError> {
    run(&FoldedBits::new(&e, core), dir, size, || vec![0; 128])?;
    Ok(e.tally())
}

fn tallies(dir: Direction, size: KeySize) -> [Tally; 5] {
    [
        sliced_bytes(CountBytes::new(8), dir, size),
        packed_bytes(CountBytes::new(16), dir, size),
        sliced_bits(CountBits::new(8), dir, size),
        folded_bits(CountBits::new(8), &DEPTH_4, dir, size),
        folded_bits(CountBits::new(8), &DEPTH_3, dir, size),
    ]
    .map(|t| t.expect("counters without levels do not fail"))
}

/// Products, relinearisations, Frobenius maps, permutations, depth.
fn row(t: &Tally) -> [u64; 5] {
    [
        t.products,
        t.relinearisations,
        t.frobenius,
        t.permutations,
        u64::from(t.depth),
    ]
}

#[test]
fn aes128_costs() {
    for dir in Direction::ALL {
        let rows = tallies(dir, KeySize::Aes128).each_ref().map(row);
        assert_eq!(rows[0], [640, 640, 1760, 0, 30], "byte-sliced {dir:?}");
        assert_eq!(rows[1], [40, 40, 110, 37, 30], "packed {dir:?}");
        assert_eq!(rows[2], [5_440, 3_040, 0, 0, 40], "bit-sliced {dir:?}");
        assert_eq!(rows[3], [5_760, 2_880, 0, 0, 40], "depth 4 {dir:?}");
        assert_eq!(rows[4], [6_720, 3_520, 0, 0, 30], "depth 3 {dir:?}");
    }
}

#[test]
fn costs_follow_the_rounds() {
    for dir in Direction::ALL {
        for size in KeySize::ALL {
            let n = size.rounds() as u64;
            let rows = tallies(dir, size).each_ref().map(row);
            assert_eq!(rows[0], [64 * n, 64 * n, 176 * n, 0, 3 * n]);
            assert_eq!(rows[1], [4 * n, 4 * n, 11 * n, 4 * n - 3, 3 * n]);
            assert_eq!(rows[2], [544 * n, 304 * n, 0, 0, 4 * n]);
            assert_eq!(rows[3], [576 * n, 288 * n, 0, 0, 4 * n]);
            assert_eq!(rows[4], [672 * n, 352 * n, 0, 0, 3 * n]);
        }
    }
}

#[test]
fn table_in_the_documentation_is_the_count() {
    let names = [
        "byte-sliced | slots",
        "packed | slots / 16",
        "bit-sliced | slots",
        "bit-sliced, folded, depth 4 | slots",
        "bit-sliced, folded, depth 3 | slots",
    ];
    for dir in Direction::ALL {
        for (name, tally) in names.iter().zip(tallies(dir, KeySize::Aes128)) {
            let cells = row(&tally).map(|n| n.to_string()).join(" | ");
            let line = format!("//! | {name} | {cells} |");
            assert!(include_str!("../src/lib.rs").contains(&line), "{line}");
        }
    }
}

#[test]
fn refreshes() {
    for dir in Direction::ALL {
        let [sliced, packed, bits, ..] = tallies(dir, KeySize::Aes128);
        for (tally, depth) in [(&sliced, 3), (&packed, 3), (&bits, 4)] {
            assert_eq!(tally.refreshes, 10);
            assert!(tally.refresh_depths.iter().eq([&depth]));
            assert_eq!(tally.depth, 10 * depth);
        }
    }
}

/// Bit-sliced: the products that each pass of a round relinearises.
#[test]
fn passes_of_a_round() {
    use std::sync::Mutex;
    let passes = |dir, mix: bool| {
        let (e, seen) = (CountBits::new(1), Mutex::new(Vec::new()));
        let rounds = FoldedBits::new(&e, &DEPTH_4).observed(|n| seen.lock().unwrap().push(n));
        let (s, key) = (vec![0; 128], vec![0; 128]);
        let out = match mix {
            true => rounds.round(dir, &s, &key),
            false => rounds.last_round(dir, &s, &key),
        };
        assert!(out.unwrap().iter().all(|&depth| depth == 4));
        drop(rounds);
        let seen = seen.into_inner().unwrap();
        assert_eq!(e.tally().passes, seen.len() as u64);
        seen
    };
    for dir in Direction::ALL {
        for mix in [true, false] {
            assert_eq!(passes(dir, mix), [64, 32, 64, 128]);
        }
        let [.., bits, four, three] = tallies(dir, KeySize::Aes128);
        // Boyar and Peralta's S-boxes in lockstep
        assert_eq!([bits.passes, four.passes, three.passes], [40, 40, 30]);
    }
}

#[test]
fn keys_that_packed_aes_needs() {
    for dir in Direction::ALL {
        let [sliced, packed, ..] = tallies(dir, KeySize::Aes128);
        assert!(sliced.permutations_used.is_empty());
        assert_eq!(packed.permutations_used.len(), 4);
        assert!(packed.frobenius_used.iter().copied().eq(1..=7));
        assert_eq!(sliced.frobenius_used, packed.frobenius_used);
    }
}

#[test]
fn one_level_too_few_is_an_error() {
    let (dir, size) = (Direction::Encrypt, KeySize::Aes128);
    let outcome = |short: Depth| {
        [
            sliced_bytes(CountBytes::new(1).with_levels(30 - short), dir, size),
            packed_bytes(CountBytes::new(16).with_levels(30 - short), dir, size),
            sliced_bits(CountBits::new(1).with_levels(40 - short), dir, size),
            folded_bits(
                CountBits::new(1).with_levels(40 - short),
                &DEPTH_4,
                dir,
                size,
            ),
            folded_bits(
                CountBits::new(1).with_levels(30 - short),
                &DEPTH_3,
                dir,
                size,
            ),
        ]
        .map(|r| r.err())
    };
    let out = EvalError::OutOfDepth { needed: 1, left: 0 };
    assert_eq!(outcome(0), [const { None }; 5]);
    assert_eq!(outcome(1), core::array::from_fn(|_| Some(out.clone())));
}
