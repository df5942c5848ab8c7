//! Straight-line programs: costs of S-boxes; evaluation is lazy, frees items early, and agrees with the gates.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use homaes_aes::interp::count::{Count, Tally};
use homaes_aes::slp::tower::{Core, DEPTH_3, DEPTH_4};
use homaes_aes::slp::{Gate, Program, begin, evaluate, sbox};
use homaes_aes::{BitEval, Bitwise, Depth, Direction, EvalError};
use proptest::prelude::*;

const SBOXES: [(Direction, &str, Program<8, 8>); 2] = [
    (Direction::Encrypt, "FORWARD", sbox::FORWARD),
    (Direction::Decrypt, "INVERSE", sbox::INVERSE),
];

fn tally(program: &Program<8, 8>) -> Tally {
    let e = Count::new(1);
    evaluate(&e, program, vec![[&0; 8]]).unwrap();
    e.tally()
}

/// The outputs of one copy.
fn one<E: BitEval, const I: usize, const O: usize>(
    view: &E,
    program: &Program<I, O>,
    inputs: &[E::Bit; I],
) -> Result<[E::Bit; O], E::Error> {
    let mut copies = evaluate(view, program, vec![inputs.each_ref()])?;
    assert_eq!(copies.len(), 1);
    Ok(copies.remove(0))
}

/// The products of 16 copies, and the relinearisations of each pass.
fn passes<const P: usize>(core: &Core<P>) -> (u64, Vec<usize>) {
    let e = Count::new(1);
    for copy in begin(&e, &core.program, vec![[&0; 8]; 16]).unwrap() {
        assert_eq!(copy.finish().unwrap(), [core.program.depth(); P]);
    }
    (e.tally().products, e.tally().passes)
}

/// ANDs by the level of their operands.
fn conjunctions<const P: usize>(program: &Program<8, P>) -> Vec<usize> {
    let mut depth = vec![0; 8];
    let mut count = vec![0; 8];
    for &gate in program.gates() {
        let [a, b] = gate.operands().map(|w| depth[usize::from(w)]);
        let operands: usize = a.max(b);
        let and = usize::from(matches!(gate, Gate::And(..)));
        count[operands] += and;
        depth.push(operands + and);
    }
    count.retain(|&n| n > 0);
    count
}

#[test]
fn towers_cost_what_their_table_says() {
    // 16 copies in lockstep
    assert_eq!(passes(&DEPTH_4), (16 * 36, vec![64, 32, 64]));
    assert_eq!(passes(&DEPTH_3), (16 * 42, vec![64, 160]));
    assert_eq!(conjunctions(&DEPTH_4.program), [9, 3, 6, 18]);
    assert_eq!(conjunctions(&DEPTH_3.program), [9, 21, 12]);
    let doc = include_str!("../src/slp/tower.rs");
    assert!(doc.contains("//! | [`DEPTH_4`] | 36 | 9, 3, 6, 18 | 4 | 4, 2, 4 | 18 |"));
    assert!(doc.contains("//! | [`DEPTH_3`] | 42 | 9, 21, 12 | 3 | 4, 10 | 22 |"));
}

#[test]
fn copies_in_lockstep_share_passes() {
    let e = Count::new(1);
    evaluate(&e, &sbox::FORWARD, vec![[&0; 8]; 16]).unwrap();
    assert_eq!(e.tally().passes, [16 * 4, 16 * 3, 16 * 4, 16 * 8]);
}

#[test]
#[should_panic(expected = "an output is a bit, expected a product")]
fn begin_rejects_programs_that_end_in_bits() {
    let e = Count::new(1);
    let _ = begin(&e, &sbox::FORWARD, vec![[&0; 8]]);
}

#[test]
fn sbox_programs_cost_what_their_table_says() {
    for ((_, name, program), (sums, complements)) in SBOXES.into_iter().zip([(94, 4), (93, 10)]) {
        let t = tally(&program);
        assert_eq!((t.products, t.depth, t.relinearisations), (34, 4, 19));
        assert_eq!((t.sums, t.complements), (sums, complements), "{name}");
        let line = format!("//! | [`{name}`] | 34 | 4 | {sums} | {complements} | 19 |");
        assert!(include_str!("../src/slp/sbox.rs").contains(&line), "{line}");
    }
}

#[test]
fn a_column_costs_sums_only() {
    for (dir, sums) in [(Direction::Encrypt, 116), (Direction::Decrypt, 176)] {
        let e = Count::new(1);
        Bitwise::new(&e).mix_column(dir, [&[0; 8]; 4]);
        let t = e.tally();
        assert_eq!((t.sums, t.products, t.relinearisations), (sums, 0, 0));
    }
}

/// Counts the live items and knows the depth of each.
#[derive(Default)]
struct Live {
    now: AtomicUsize,
    most: AtomicUsize,
    relinearised: AtomicUsize,
    /// sums of products of different depths
    uneven: AtomicUsize,
}

struct Item<'e>(&'e Live, bool, Depth);

impl<'e> Item<'e> {
    fn new(e: &'e Live, value: bool, depth: Depth) -> Self {
        let now = e.now.fetch_add(1, Relaxed) + 1;
        e.most.fetch_max(now, Relaxed);
        Self(e, value, depth)
    }
}

impl Clone for Item<'_> {
    fn clone(&self) -> Self {
        Self::new(self.0, self.1, self.2)
    }
}

impl Drop for Item<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Relaxed);
    }
}

/// The view of a [`Live`].
struct Alive<'e>(&'e Live);

impl<'e> BitEval for Alive<'e> {
    type Error = EvalError;
    type Bit = Item<'e>;
    type Product = Item<'e>;

    fn slots(&self) -> usize {
        1
    }

    fn public(&self, v: &[bool]) -> Item<'e> {
        Item::new(self.0, v.first() == Some(&true), 0)
    }

    fn xor(&self, a: &Item<'e>, b: &Item<'e>) -> Item<'e> {
        Item::new(self.0, a.1 ^ b.1, a.2.max(b.2))
    }

    fn xor_assign(&self, a: &mut Item<'e>, b: &Item<'e>) {
        (a.1, a.2) = (a.1 ^ b.1, a.2.max(b.2));
    }

    fn not(&self, mut a: Item<'e>) -> Item<'e> {
        a.1 = !a.1;
        a
    }

    fn and(&self, a: &Item<'e>, b: &Item<'e>) -> Result<Item<'e>, EvalError> {
        Ok(Item::new(self.0, a.1 & b.1, 1 + a.2.max(b.2)))
    }

    fn xor_product(&self, mut a: Item<'e>, b: &Item<'e>) -> Item<'e> {
        self.0.uneven.fetch_add(usize::from(a.2 != b.2), Relaxed);
        self.xor_assign(&mut a, b);
        a
    }

    fn relinearize(&self, p: Item<'e>) -> Result<Item<'e>, EvalError> {
        self.0.relinearised.fetch_add(1, Relaxed);
        Ok(p)
    }
}

/// Bounds the live bits and products, the eight inputs included; only products of equal depth are added.
#[test]
fn few_items_are_alive_at_once() {
    for (_, name, program) in SBOXES {
        let live = Live::default();
        let view = Alive(&live);
        let inputs = core::array::from_fn(|_| view.public(&[]));
        let outputs = one(&view, &program, &inputs).unwrap();
        assert_eq!(live.now.load(Relaxed), 16, "{name}: inputs and outputs");
        assert_eq!(live.most.load(Relaxed), 36, "{name}");
        assert_eq!(live.uneven.load(Relaxed), 0, "{name}");
        drop((inputs, outputs));
        assert_eq!(live.now.load(Relaxed), 0);
    }
}

/// The outputs by the gates alone, and the number of products read as bits on the way to an output.
fn naive(program: &Program<4, 4>, inputs: [bool; 4]) -> ([bool; 4], usize) {
    let mut value = inputs.to_vec();
    // per wire: whether it is held as a product, and whether readers see one; per gate: whether it reads products
    let (mut held, mut product, mut lazy) = (vec![false; 4], vec![false; 4], Vec::new());
    for &gate in program.gates() {
        let [a, b] = gate.operands().map(usize::from);
        let sums = product[a] && product[b] && !matches!(gate, Gate::And(..) | Gate::Plus(..));
        lazy.push(sums);
        value.push(match gate {
            Gate::Xor(..) | Gate::Plus(..) => value[a] ^ value[b],
            Gate::Xnor(..) => !(value[a] ^ value[b]),
            Gate::And(..) => value[a] & value[b],
        });
        held.push(sums || matches!(gate, Gate::And(..)));
        product.push(held[held.len() - 1] && !matches!(gate, Gate::Xnor(..)));
    }
    let outputs = program.outputs().map(usize::from);
    let mut live: Vec<bool> = (0..value.len())
        .map(|wire| outputs.contains(&wire))
        .collect();
    let mut read = live.clone();
    for (k, gate) in program.gates().iter().enumerate().rev() {
        if live[4 + k] {
            for wire in gate.operands().map(usize::from) {
                live[wire] = true;
                read[wire] |= !lazy[k];
            }
        }
    }
    let both = held.iter().zip(&read).filter(|&(&h, &r)| h && r);
    (outputs.map(|wire| value[wire]), both.count())
}

proptest! {
    #[test]
    fn any_program_is_evaluated_as_its_gates_say(
        gates in prop::collection::vec(
            (0..4u8, any::<prop::sample::Index>(), any::<prop::sample::Index>()),
            0..60,
        ),
        outputs: [prop::sample::Index; 4],
        inputs: [bool; 4],
    ) {
        let gates: Vec<Gate> = gates
            .iter()
            .enumerate()
            .map(|(k, (kind, a, b))| {
                let [a, b] = [a, b].map(|wire| wire.index(4 + k) as u8);
                [Gate::Xor, Gate::Xnor, Gate::And, Gate::Plus][usize::from(*kind)](a, b)
            })
            .collect();
        let wires = 4 + gates.len();
        let program = Program::new(gates.leak(), outputs.map(|wire| wire.index(wires) as u8));

        let live = Live::default();
        let view = Alive(&live);
        let items = inputs.map(|bit| view.public(&[bit]));
        let found = one(&view, &program, &items).unwrap();
        let (expected, relinearisations) = naive(&program, inputs);
        prop_assert_eq!(found.each_ref().map(|bit| bit.1), expected);
        prop_assert_eq!(live.relinearised.load(Relaxed), relinearisations);
        prop_assert_eq!(live.now.load(Relaxed), 8);
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
