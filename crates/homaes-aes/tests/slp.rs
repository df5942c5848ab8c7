//! Straight-line programs: costs of S-boxes; evaluation is lazy, frees items early, and agrees with the gates.

use crate::counted::Counted;
use homaes_aes::slp::tower::{Core, DEPTH_3, DEPTH_4};
use homaes_aes::slp::{Gate, Program, begin};
use homaes_aes::{BitEval, Depth};
use proptest::prelude::*;
use std::sync::atomic::Ordering::Relaxed;

/// The outputs of one copy, with their depths.
fn one<const I: usize, const O: usize>(
    counted: &Counted,
    program: &Program<I, O>,
    inputs: [bool; I],
) -> [(bool, Depth); O] {
    let inputs = inputs.map(|bit| counted.public(&[bit]));
    let mut copies = begin(&counted, program, vec![inputs.each_ref()]).unwrap();
    assert_eq!(copies.len(), 1);
    let outputs = copies.remove(0).finish().unwrap();
    assert_eq!(counted.live.load(Relaxed), I + O, "inputs and outputs");
    outputs.map(|item| (item.value, item.depth))
}

/// The most live bits and products of one copy, the eight inputs included; its products by level, and its
/// relinearisations by pass. Only products of equal depth are added. Copies in lockstep share passes.
fn costs<const P: usize>(core: &Core<P>) -> (usize, [Vec<usize>; 2]) {
    let counted = Counted::new(4);
    let outputs = one(&counted, &core.program, [true; 8]);
    assert_eq!(outputs.map(|(_, depth)| depth), [core.program.depth(); P]);
    assert_eq!(counted.uneven.load(Relaxed), 0);
    assert_eq!(counted.live.load(Relaxed), 0);
    let (most, passes) = (counted.most.load(Relaxed), counted.passes());
    let many = Counted::new(4);
    let (view, input) = (&many, (&many).public(&[]));
    begin(&view, &core.program, vec![[&input; 8]; 16]).unwrap();
    assert!(passes.iter().map(|count| 16 * count).eq(many.passes()));
    (most, [counted.products(), passes])
}

#[test]
fn towers_cost_what_their_table_says() {
    let four = [vec![9, 3, 6, 18], vec![4, 2, 4]];
    assert_eq!(costs(&DEPTH_4), (32, four));
    assert_eq!(costs(&DEPTH_3), (38, [vec![9, 21, 12], vec![4, 10]]));
    let doc = include_str!("../src/slp/tower.rs");
    assert!(doc.contains("//! | [`DEPTH_4`] | 36 | 9, 3, 6, 18 | 4 | 4, 2, 4 | 18 |"));
    assert!(doc.contains("//! | [`DEPTH_3`] | 42 | 9, 21, 12 | 3 | 4, 10 | 22 |"));
}

#[test]
#[should_panic(expected = "an output is a bit, expected a product")]
fn begin_rejects_programs_that_end_in_bits() {
    let program = Program::new(&[Gate::And(0, 1), Gate::Xor(2, 0)], [3]);
    one(&Counted::new(1), &program, [true; 2]);
}

/// The outputs by the gates alone, and the number of products read as bits on the way to an output; `None` if an output
/// is a bit.
fn naive(gates: &[Gate], outputs: [u8; 4], inputs: [bool; 4]) -> Option<([bool; 4], usize)> {
    let mut value = inputs.to_vec();
    // per wire: whether it is a product; per gate: whether it reads products
    let (mut product, mut lazy) = (vec![false; 4], Vec::new());
    for &gate in gates {
        let [a, b] = gate.operands().map(usize::from);
        let sums = product[a] && product[b] && matches!(gate, Gate::Xor(..));
        lazy.push(sums);
        value.push(match gate {
            Gate::Xor(..) | Gate::Plus(..) => value[a] ^ value[b],
            Gate::And(..) => value[a] & value[b],
        });
        product.push(sums || matches!(gate, Gate::And(..)));
    }
    let outputs = outputs.map(usize::from);
    let mut live: Vec<bool> = (0..value.len())
        .map(|wire| outputs.contains(&wire))
        .collect();
    let mut read = vec![false; live.len()];
    for (k, gate) in gates.iter().enumerate().rev() {
        if live[4 + k] {
            for wire in gate.operands().map(usize::from) {
                live[wire] = true;
                read[wire] |= !lazy[k];
            }
        }
    }
    let both = product.iter().zip(&read).filter(|&(&p, &r)| p && r);
    let products = outputs.iter().all(|&wire| product[wire]);
    products.then_some((outputs.map(|wire| value[wire]), both.count()))
}

proptest! {
    #[test]
    fn any_program_is_evaluated_as_its_gates_say(
        gates in prop::collection::vec(
            (0..3u8, any::<prop::sample::Index>(), any::<prop::sample::Index>()),
            0..60,
        ),
        outputs: [prop::sample::Index; 4],
        inputs: [bool; 4],
    ) {
        let mut gates: Vec<Gate> = gates
            .iter()
            .enumerate()
            .map(|(k, (kind, a, b))| {
                let [a, b] = [a, b].map(|wire| wire.index(4 + k) as u8);
                [Gate::Xor, Gate::And, Gate::Plus][usize::from(*kind)](a, b)
            })
            .collect();
        let wires = 4 + gates.len();
        let mut outputs = outputs.map(|wire| wire.index(wires) as u8);
        if naive(&gates, outputs, inputs).is_none() {
            // programs end in products
            gates.extend(outputs.map(|wire| Gate::And(wire, wire)));
            outputs = [0, 1, 2, 3].map(|k| (wires + k) as u8);
        }
        let (values, relinearisations) = naive(&gates, outputs, inputs).unwrap();
        let counted = Counted::new(Depth::MAX);
        let found = one(&counted, &Program::new(gates.leak(), outputs), inputs);
        prop_assert_eq!(found.map(|(value, _)| value), values);
        prop_assert_eq!(counted.passes().iter().sum::<usize>(), relinearisations);
    }
}

#[test]
#[should_panic(expected = "a gate may only read earlier wires")]
fn gates_that_read_later_wires_are_rejected() {
    let _ = Program::<1, 1>::new(&[Gate::Xor(0, 1)], [1]);
}

#[test]
#[should_panic(expected = "an output must be a wire")]
fn outputs_beyond_the_gates_are_rejected() {
    let _ = Program::<1, 1>::new(&[Gate::Xor(0, 0)], [2]);
}
