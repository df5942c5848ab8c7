use super::*;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

#[test]
fn the_circuit_is_the_one_that_runs() {
    let count = |circuit: &Circuit, place| {
        let atoms = 0..circuit.atoms.len();
        let carried = atoms.filter_map(|atom| circuit.carried(atom));
        carried.filter(|pairs| pairs.place == place).count()
    };
    // relinearisations of four S-boxes by level, and the outputs of both directions
    let four = Circuit::of_depth(4, Descent::Switch, 0..INPUTS);
    let counts = [0, 1, 2, 3].map(|place| count(&four, place));
    assert_eq!(counts, [16, 8, 16, 0]);
    assert_eq!(four.outputs.len(), 64);
    assert!(four.outputs.iter().all(|pairs| pairs.place == 3));
    // the same without lowered operands
    let reduced = Circuit::of_depth(4, Descent::Reduction, 0..INPUTS);
    assert_eq!(reduced.atoms.len(), INPUTS + 16 + 8 + 16);
    let lowered = |atom: &&Atom| matches!(atom.kind, Kind::Lowered);
    assert!(four.atoms.iter().any(|atom| lowered(&atom)));
    assert!(!reduced.atoms.iter().any(|atom| lowered(&atom)));
    let three = Circuit::of_depth(3, Descent::Reduction, 0..INPUTS);
    assert_eq!([0, 1, 2].map(|place| count(&three, place)), [16, 40, 0]);
    assert!(three.outputs.iter().all(|pairs| pairs.place == 2));
    assert_eq!(descents(4), [[0, 1], [0, 3], [1, 2]]);
    assert_eq!(descents(3), [[0, 1], [1, 2]]);
}

fn model(drops: &[f64]) -> ReducedBits {
    ReducedBits {
        drops: drops.to_vec(),
        rounds: 10,
        round_key: 1.0,
        ks: vec![0.5; drops.len()],
    }
}

/// Sampled noise stays below the bound for 2^-64, which is within a factor of 200 of the largest of 10^4 samples.
#[test]
fn samples_stay_below_the_reduced_bound() {
    for drops in [&[12.5, 13.5, 14.0, 16.0][..], &[14.5, 14.0, 16.5]] {
        let model = model(drops);
        for kappa in [1.0, 12.0] {
            let bound = model.settle(kappa, 1.0, 16384.0, 64.0).unwrap();
            for dir in Direction::ALL {
                let mut rng = ChaCha20Rng::from_seed([7; 32]);
                let largest = (0..10)
                    .flat_map(|_| model.simulate((kappa, 1.0), (10, dir), &mut rng))
                    .fold(0.0, f64::max);
                let inside = largest < bound && bound < 200.0 * largest;
                assert!(inside, "{drops:?} {kappa} {dir:?}: {largest} of {bound}");
            }
        }
    }
}

/// With drops that are too small the recursion runs away, and neither bound settles.
#[test]
fn too_small_drops_run_away() {
    let reduced = model(&[4.0; 4]);
    assert_eq!(reduced.settle(9.0, 1.0, 16384.0, 65.0), None);
    let switched = SwitchedBits {
        drops: [4.0; 4],
        rounds: 10,
        round_key: 1.0,
        ks: [0.5; 4],
    };
    assert_eq!(switched.settle(9.0, 1.0, 16384.0, 65.0), None);
    let mut rng = ChaCha20Rng::from_seed([6; 32]);
    let to = (10, Direction::Encrypt);
    let seen = [
        reduced.simulate((9.0, 1.0), to, &mut rng),
        switched.simulate((9.0, 1.0), to, &mut rng),
    ];
    for seen in seen {
        assert!(seen.iter().any(|z| z.is_nan() || *z > 1e3));
    }
}
