//! Costs of AES on bits, counted; checks the table in the documentation of the crate.

use crate::counted::{Counted, Item};
use homaes_aes::folded::BitMatrix;
use homaes_aes::slp::tower::{Core, DEPTH_3, DEPTH_4};
use homaes_aes::{Depth, Direction, EvalError, FoldedBits, KeySize, cipher};

/// AES by `core`, with some levels: the depth of its result.
fn run<const P: usize>(
    core: &'static Core<P>,
    (dir, size): (Direction, KeySize),
    counted: &Counted,
) -> Result<Depth, EvalError> {
    let zeros = || vec![Item::new(counted, false, 0); 128];
    let keys: Vec<_> = (0..size.round_keys()).map(|_| zeros()).collect();
    let state = cipher(&FoldedBits::new(&counted, core), dir, zeros(), &keys)?;
    Ok(state[0].depth)
}

fn cipher_costs<const P: usize>(
    core: &'static Core<P>,
    passes: &[usize],
    depth: Depth,
    [products, sums]: [usize; 2],
) {
    for dir in Direction::ALL {
        for size in KeySize::ALL {
            let rounds = size.rounds();
            let levels = rounds as Depth * depth;
            let counted = Counted::new(levels);
            assert_eq!(run(core, (dir, size), &counted), Ok(levels));
            assert_eq!(counted.products().iter().sum::<usize>(), products * rounds);
            assert_eq!(counted.passes(), passes.repeat(rounds));
            assert_eq!(passes.iter().sum::<usize>(), sums);
            let refreshes = counted.refreshes.lock().unwrap();
            assert_eq!(*refreshes, vec![depth; rounds]);
            let out = EvalError::OutOfDepth { needed: 1, left: 0 };
            let found = run(core, (dir, size), &Counted::new(levels - 1));
            assert_eq!(found, Err(out));
        }
    }
    let of_aes_128 = [products, sums, depth as usize].map(|of_round| 10 * of_round);
    let cells = of_aes_128.map(|n| n.to_string()).join(" | ");
    let row = format!("//! | [`DEPTH_{depth}`](slp::tower::DEPTH_{depth}) | {cells} |");
    assert!(include_str!("../src/lib.rs").contains(&row), "{row}");
}

/// Products, relinearisations, passes and depth; one level too few is an error.
#[test]
fn costs_follow_the_rounds() {
    cipher_costs(&DEPTH_4, &[64, 32, 64, 128], 4, [576, 288]);
    cipher_costs(&DEPTH_3, &[64, 160, 128], 3, [672, 352]);
}

/// The weights of the rows decide the additions and the noise of a round.
#[test]
fn rows_are_short() {
    for (dir, weights) in [
        (Direction::Encrypt, [28, 26, 18, 38, 38, 28, 32, 34]),
        (Direction::Decrypt, [32, 32, 34, 40, 34, 28, 38, 36]),
    ] {
        let matrix = BitMatrix::round(&DEPTH_4, dir, true);
        let found: Vec<usize> = matrix.rows().iter().map(Vec::len).collect();
        for row in found.chunks(8) {
            assert_eq!(row, weights);
        }
        let last = BitMatrix::round(&DEPTH_4, dir, false);
        assert!(last.rows().iter().all(|row| (4..=18).contains(&row.len())));
    }
}
