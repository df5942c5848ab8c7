mod simulate;

use super::*;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use simulate::{normal, value};
use std::f64::consts::LN_2;

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

/// Carried parts, over ρ, of all state bits after ten rounds of one direction at one embedding.
fn sampled_reduced(
    model: &ReducedBits,
    (kappa, unit): (f64, f64),
    dir: Direction,
    rng: &mut impl Rng,
) -> Vec<f64> {
    let at = model.recursion(kappa, unit, 0..INPUTS);
    let fresh = |atom| at.fresh(atom);
    at.circuit.follow((10, dir), fresh, &at.ratios, rng)
}

fn sampled_switched(
    model: &SwitchedBits,
    (kappa, unit): (f64, f64),
    dir: Direction,
    rng: &mut impl Rng,
) -> Vec<f64> {
    let at = model.recursion(kappa, unit, 0..INPUTS);
    let fresh = |atom| at.fresh(atom);
    let circuit = &at.forms.circuit;
    circuit.follow((10, dir), fresh, &at.ratios, rng)
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
                    .flat_map(|_| sampled_reduced(&model, (kappa, 1.0), dir, &mut rng))
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
    let dir = Direction::Encrypt;
    let seen = [
        sampled_reduced(&reduced, (9.0, 1.0), dir, &mut rng),
        sampled_switched(&switched, (9.0, 1.0), dir, &mut rng),
        // the drops of bgv/bits128, each smaller by 3.5 bits
        sampled_switched(&bits128(3.5), (9.0, UNIT), dir, &mut rng),
    ];
    for seen in seen {
        assert!(seen.iter().any(|z| z.is_nan() || *z > 1e3));
    }
}

/// ρ of `bgv/bits128`.
const UNIT: f64 = 2646.02;

/// The model of `bgv/bits128`, with drops smaller by `bits`; homaes-bgv tests that the set has these figures.
fn bits128(bits: f64) -> SwitchedBits {
    SwitchedBits {
        drops: [18.607, 17.130, 17.864, 20.630].map(|drop| drop - bits),
        rounds: 10,
        round_key: 0.193,
        ks: [0.0019, 0.0146, 0.0053, 0.0001],
    }
}

/// Sampled noise exceeds the rungs no more often than they state, and the rungs are not far above it.
#[test]
fn sampled_noise_respects_the_ladder() {
    const RUNGS: f64 = 16.0;
    let model = bits128(0.0);
    for kappa in [1.0, 9.0] {
        let good = model.settle(kappa, UNIT, 16384.0, 65.0).unwrap();
        let events = 10.0 * CIPHERTEXTS as f64 * 16384.0;
        let nats = (65.0 * LN_2 + events.ln()) / RUNGS;
        for dir in Direction::ALL {
            let mut rng = ChaCha20Rng::from_seed([5; 32]);
            let mut seen: Vec<f64> = (0..40)
                .flat_map(|_| sampled_switched(&model, (kappa, UNIT), dir, &mut rng))
                .collect();
            seen.sort_by(f64::total_cmp);
            let above = seen.iter().filter(|z| **z > good.usual).count() as f64;
            let share = above / seen.len() as f64;
            assert!(share <= (-nats).exp(), "{kappa} {dir:?}");
            let quantile = seen[((1.0 - (-nats).exp()) * seen.len() as f64) as usize];
            let largest = seen.last().unwrap();
            assert!(good.usual < 4.0 * quantile && *largest < good.largest);
        }
    }
}

/// Fresh sums of products exceed their bound less often than allowed, and half the bound more often.
#[test]
fn products_of_fresh_parts_keep_their_bound() {
    let model = model(&[0.0; 4]);
    let recursion = model.recursion(2.0, 1.0, 0..2);
    let circuit = &recursion.circuit;
    let nothing = vec![0.0; circuit.atoms.len()];
    let carried = (0..circuit.atoms.len()).filter_map(|atom| circuit.carried(atom));
    let sums: Vec<&Pairs> = carried.chain(&circuit.outputs).collect();
    let mut rng = ChaCha20Rng::from_seed([8; 32]);
    const SAMPLES: usize = 4000;
    let mut above = [0; 2];
    let nats = 3.0;
    for _ in 0..SAMPLES {
        let atoms = (0..circuit.atoms.len()).map(|atom| normal(&mut rng, recursion.fresh(atom)));
        let atoms: Vec<(f64, f64)> = atoms.collect();
        for sum in &sums {
            let size = value(sum, &recursion.ratios, &atoms);
            let size = size.0.hypot(size.1);
            let bound = recursion.largest(sum, &nothing, nats);
            above[0] += usize::from(size > bound);
            above[1] += usize::from(size > bound / 2.0);
        }
    }
    let count = (SAMPLES * sums.len()) as f64;
    let [whole, half] = above.map(|above| above as f64 / count);
    assert!(whole < (-nats).exp() && half > whole && half > 0.0);
}
