//! Costs of AES in every view, counted; checks the table in the documentation of the crate.

use homaes_aes::interp::count::{Count, Tally};
use homaes_aes::slp::tower::{DEPTH_3, DEPTH_4};
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

/// In every view; `levels` are those of depth 3 and of depth 4 per round.
fn outcomes(dir: Direction, size: KeySize, levels: [Depth; 2]) -> [Result<Tally, EvalError>; 5] {
    let bytes = |slots| Count::new(slots).with_levels(levels[0]);
    let bits = |levels| Count::new(8).with_levels(levels);
    let (e, r) = (bytes(8), bytes(16));
    let sliced = Sliced(Bytewise::new(&e));
    let packed = Packed(Bytewise::new(&r));
    let (b, four, three) = (bits(levels[1]), bits(levels[1]), bits(levels[0]));
    let bitwise = Sliced(Bitwise::new(&b));
    let zeros = || vec![0; 128];
    [
        run(&sliced, dir, size, || sliced.public(&[])).map(|()| e.tally()),
        run(&packed, dir, size, || packed.public(&[])).map(|()| r.tally()),
        run(&bitwise, dir, size, || bitwise.public(&[])).map(|()| b.tally()),
        run(&FoldedBits::new(&four, &DEPTH_4), dir, size, zeros).map(|()| four.tally()),
        run(&FoldedBits::new(&three, &DEPTH_3), dir, size, zeros).map(|()| three.tally()),
    ]
}

fn tallies(dir: Direction, size: KeySize) -> [Tally; 5] {
    outcomes(dir, size, [100; 2]).map(Result::unwrap)
}

/// Products, relinearisations, Frobenius maps, permutations, depth.
fn row(t: &Tally) -> [u64; 5] {
    let depth = u64::from(t.depth);
    [
        t.products,
        t.relinearisations,
        t.frobenius,
        t.permutations,
        depth,
    ]
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

/// Bit-sliced: the products that each pass relinearises.
#[test]
fn passes_of_a_cipher() {
    for dir in Direction::ALL {
        let [.., bits, four, three] = tallies(dir, KeySize::Aes128);
        // Boyar and Peralta's S-boxes in lockstep
        assert_eq!(bits.passes.len(), 40);
        assert_eq!(four.passes, [64, 32, 64, 128].repeat(10));
        assert_eq!(three.passes, [64, 160, 128].repeat(10));
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
    let of = |levels| outcomes(Direction::Encrypt, KeySize::Aes128, levels).map(Result::err);
    let out = EvalError::OutOfDepth { needed: 1, left: 0 };
    assert_eq!(of([30, 40]), [const { None }; 5]);
    assert_eq!(of([29, 39]), core::array::from_fn(|_| Some(out.clone())));
}
