//! Straight-line programs: values and costs of S-boxes; evaluation is lazy, frees items early, and agrees with the
//! gates.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use homaes_aes::interp::clear::ClearBits;
use homaes_aes::interp::count::{CountBits, Tally};
use homaes_aes::slp::tower::{Core, DEPTH_3, DEPTH_4};
use homaes_aes::slp::{Gate, Program, begin, evaluate, sbox};
use homaes_aes::{
    BitEval, Bitwise, Depth, Direction, EvalError, KeySize, RoundKeys, Rounds, Sliced, cipher,
    clear, state,
};
use proptest::prelude::*;

const SBOXES: [(Direction, &str, Program<8, 8>); 2] = [
    (Direction::Encrypt, "FORWARD", sbox::FORWARD),
    (Direction::Decrypt, "INVERSE", sbox::INVERSE),
];

fn tally(program: &Program<8, 8>) -> Tally {
    let e = CountBits::new(1);
    evaluate(&e, program, vec![[&0; 8]], &|_| {}).expect("counters without levels do not fail");
    e.tally()
}

/// The outputs of one copy.
fn one<E: BitEval, const I: usize, const O: usize>(
    view: &E,
    program: &Program<I, O>,
    inputs: &[E::Bit; I],
) -> Result<[E::Bit; O], E::Error> {
    let mut copies = evaluate(view, program, vec![inputs.each_ref()], &|_| {})?;
    assert_eq!(copies.len(), 1);
    Ok(copies.remove(0))
}

/// The inverses of all bytes, the cost of 16 copies, and the relinearisations of each pass.
fn inversion<const P: usize>(core: &Core<P>) -> (Vec<u8>, Tally, Vec<usize>) {
    let all: Vec<u8> = (0..=255).collect();
    let coordinates = core.coordinates();
    // coordinate k sums the bits of its mask
    let coordinate = |mask: u8| {
        let odd = |x: &u8| (mask & x).count_ones() % 2 == 1;
        all.iter().map(odd).collect::<Vec<bool>>()
    };
    let inputs = coordinates.map(coordinate);
    let view = ClearBits::new(256);
    let mut begun = begin(&view, &core.program, vec![inputs.each_ref()], &|_| {})
        .expect("nothing fails in the clear");
    let products = begun
        .remove(0)
        .finish()
        .expect("nothing fails in the clear");
    let inverse = |x: usize| {
        core.inverse.iter().fold(0, |y, (element, mask)| {
            let own = products
                .iter()
                .enumerate()
                .filter(|(p, _)| mask >> p & 1 == 1);
            let odd = own.fold(0, |sum, (_, product)| sum ^ u8::from(product[x]));
            y ^ (element * odd)
        })
    };
    let e = CountBits::new(1);
    let passes = std::sync::Mutex::new(Vec::new());
    let passed = |n| passes.lock().expect("no panic while it is held").push(n);
    for copy in
        begin(&e, &core.program, vec![[&0; 8]; 16], &passed).expect("nothing fails in the clear")
    {
        assert_eq!(
            copy.finish().expect("nothing fails in the clear"),
            [core.program.depth(); P]
        );
    }
    (
        (0..256).map(inverse).collect(),
        e.tally(),
        passes.into_inner().expect("no panic while it was held"),
    )
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
fn towers_invert_and_cost_what_their_table_says() {
    let expected: Vec<u8> = (0..=255).map(homaes_aes::gf256::inv).collect();
    let four = inversion(&DEPTH_4);
    let three = inversion(&DEPTH_3);
    assert_eq!(four.0, expected);
    assert_eq!(three.0, expected);
    // 16 copies in lockstep
    assert_eq!((four.1.products, four.2), (16 * 36, vec![64, 32, 64]));
    assert_eq!((three.1.products, three.2), (16 * 42, vec![64, 160]));
    assert_eq!(conjunctions(&DEPTH_4.program), [9, 3, 6, 18]);
    assert_eq!(conjunctions(&DEPTH_3.program), [9, 21, 12]);
    let doc = include_str!("../src/slp/tower.rs");
    assert!(doc.contains("//! | [`DEPTH_4`] | 36 | 9, 3, 6, 18 | 4 | 4, 2, 4 | 18 |"));
    assert!(doc.contains("//! | [`DEPTH_3`] | 42 | 9, 21, 12 | 3 | 4, 10 | 22 |"));
}

#[test]
fn copies_in_lockstep_share_passes() {
    let e = CountBits::new(1);
    let passes = std::sync::Mutex::new(Vec::new());
    let passed = |n| passes.lock().unwrap().push(n);
    evaluate(&e, &sbox::FORWARD, vec![[&0; 8]; 16], &passed).unwrap();
    assert_eq!(*passes.lock().unwrap(), [16 * 4, 16 * 3, 16 * 4, 16 * 8]);
    assert_eq!(e.tally().passes, 4);
}

#[test]
#[should_panic(expected = "an output is a bit, expected a product")]
fn begin_rejects_programs_that_end_in_bits() {
    let e = CountBits::new(1);
    let _ = begin(&e, &sbox::FORWARD, vec![[&0; 8]], &|_| {});
}

#[test]
fn sbox_programs_are_the_sboxes() {
    let inputs: Vec<u8> = (0..=255).collect();
    for (dir, name, program) in SBOXES {
        let bits = state::to_bits(&inputs);
        let found = one(&ClearBits::new(256), &program, &bits).unwrap();
        let expected: Vec<u8> = inputs.iter().map(|&x| clear::sbox(dir, x)).collect();
        assert_eq!(state::from_bits(&found), expected, "{name}");
    }
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

/// Relinearising every AND at once would take 34.
#[test]
fn relinearisations_are_fewer_than_ands() {
    for (_, name, program) in SBOXES {
        let ands = |g: &&Gate| matches!(g, Gate::And(..));
        assert_eq!(program.gates().iter().filter(ands).count(), 34);
        assert!(tally(&program).relinearisations < 34, "{name}");
    }
}

#[test]
fn levels_end_after_depth_four() {
    let run = |levels, program: &Program<8, 8>| {
        let e = CountBits::new(1).with_levels(levels);
        one(&e, program, &[0; 8]).map(|_| ())
    };
    let out = EvalError::OutOfDepth { needed: 1, left: 0 };
    for (_, _, program) in SBOXES {
        assert_eq!(run(4, &program), Ok(()));
        assert_eq!(run(3, &program), Err(out.clone()));
    }
}

#[test]
fn a_column_costs_sums_only() {
    for (dir, sums) in [(Direction::Encrypt, 116), (Direction::Decrypt, 176)] {
        let e = CountBits::new(1);
        Bitwise::new(&e).mix_column(dir, [&[0; 8]; 4]);
        let t = e.tally();
        assert_eq!((t.sums, t.products, t.relinearisations), (sums, 0, 0));
    }
}

#[test]
fn depth_of_a_round_is_four() {
    for dir in Direction::ALL {
        let e = CountBits::new(1);
        let rounds = Sliced(Bitwise::new(&e));
        let s = rounds.public(&[]);
        let s = rounds.round(dir, &s, &s).unwrap();
        assert!(s.as_flattened().iter().all(|&depth| depth == 4));
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
    for ((_, name, program), most) in SBOXES.into_iter().zip([36, 36]) {
        let live = Live::default();
        let view = Alive(&live);
        let inputs = core::array::from_fn(|_| view.public(&[]));
        let outputs = one(&view, &program, &inputs).unwrap();
        assert_eq!(live.now.load(Relaxed), 16, "{name}: inputs and outputs");
        assert_eq!(live.most.load(Relaxed), most, "{name}");
        assert_eq!(live.uneven.load(Relaxed), 0, "{name}");
        drop((inputs, outputs));
        assert_eq!(live.now.load(Relaxed), 0);
    }
}

struct Threaded(ClearBits);

impl BitEval for Threaded {
    type Error = EvalError;
    type Bit = Vec<bool>;
    type Product = Vec<bool>;

    fn slots(&self) -> usize {
        self.0.slots()
    }

    fn public(&self, v: &[bool]) -> Vec<bool> {
        self.0.public(v)
    }

    fn xor(&self, a: &Vec<bool>, b: &Vec<bool>) -> Vec<bool> {
        self.0.xor(a, b)
    }

    fn and(&self, a: &Vec<bool>, b: &Vec<bool>) -> Result<Vec<bool>, EvalError> {
        self.0.and(a, b)
    }

    fn xor_product(&self, a: Vec<bool>, b: &Vec<bool>) -> Vec<bool> {
        self.0.xor_product(a, b)
    }

    fn relinearize(&self, p: Vec<bool>) -> Result<Vec<bool>, EvalError> {
        self.0.relinearize(p)
    }

    fn each<S: Send, T: Send>(
        &self,
        items: Vec<S>,
        task: impl Fn(S) -> Result<T, EvalError> + Sync,
    ) -> Result<Vec<T>, EvalError> {
        let task = &task;
        std::thread::scope(|scope| {
            let threads = items
                .into_iter()
                .map(|item| scope.spawn(move || task(item)));
            let threads: Vec<_> = threads.collect();
            let results = threads.into_iter().map(|t| t.join().expect("no panic"));
            results.collect()
        })
    }
}

/// Uses the default bodies where [`ClearBits`] has its own, and threads.
#[test]
fn the_tasks_of_a_layer_may_run_side_by_side() {
    let view = Threaded(ClearBits::new(1));
    let rounds = Sliced(Bitwise::new(&view));
    for size in KeySize::ALL {
        let keys = RoundKeys::expand(&vec![0xc3; size.key_bytes()]).unwrap();
        for dir in Direction::ALL {
            let lifted = keys.schedule(dir);
            let lifted: Vec<_> = lifted
                .as_slice()
                .iter()
                .map(|&k| rounds.public(&[k]))
                .collect();
            let block = [0x1d; 16];
            let found = cipher(&rounds, dir, rounds.public(&[block]), &lifted).unwrap();
            let found = state::from_sliced(&found.each_ref().map(state::from_bits));
            let trace = clear::trace(dir, block, &keys);
            assert_eq!(found.first(), trace.last(), "{size:?} {dir:?}");
        }
    }
}

/// The outputs by the gates alone, and the number of products read as bits on the way to an output.
fn naive(program: &Program<4, 4>, inputs: [bool; 4]) -> ([bool; 4], usize) {
    let mut value = inputs.to_vec();
    // per wire: whether it is held as a product, and whether readers see one; per gate: whether it reads products
    let mut held = vec![false; 4];
    let mut product = vec![false; 4];
    let mut lazy = Vec::new();
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
        product.push((sums || matches!(gate, Gate::And(..))) && !matches!(gate, Gate::Xnor(..)));
    }
    let outputs = program.outputs().map(usize::from);
    let mut live = vec![false; value.len()];
    let mut read = vec![false; value.len()];
    for wire in outputs {
        (live[wire], read[wire]) = (true, true);
    }
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
                [
                    Gate::Xor(a, b),
                    Gate::Xnor(a, b),
                    Gate::And(a, b),
                    Gate::Plus(a, b),
                ][usize::from(*kind)]
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
