//! Straight-line programs on bits, held as data, run with lazy relinearisation, many copies in lockstep.
//!
//! A [`Program`] is a list of gates. Wires 0 to I − 1 are the inputs; wire I + k is the result of gate k, which reads
//! wires of smaller number. [`begin`] runs it over any [`BitEval`]. The program decides the form of a wire:
//!
//! ```text
//!   a x b       product                              reads bits
//!   a + b       product if a and b are products      reads products
//!               bit otherwise                        reads bits
//!   a plus b    bit, of the same value               reads bits
//!   output      product                              reads the same
//! ```
//!
//! A product that is read as a bit is relinearised once, whatever the number of readers; all others never are. So the
//! order of a program's sums decides how many relinearisations it needs: products first, bits last.
//!
//! **Lockstep.** A relinearisation key may be larger than memory, so one reading of it should serve many products.
//! Evaluation runs in stages. In each stage, every copy of the program runs the gates that need no pending
//! relinearisation. Then one call of [`BitEval::relinearize_all`], a *pass*, relinearises the products of all copies
//! that are read as bits next. Evaluation takes as many passes as the depth of the program, whatever the number of
//! copies.
//!
//! **Memory.** An item takes megabytes. A gate runs in the last stage that its readers allow, a wire is dropped after
//! its last reader, a sum overwrites an operand that has no other reader, inputs are borrowed, and gates that no
//! output needs do not run. [`begin`] stops before the last stage, so that not all copies hold their last products at
//! once.

#[macro_use]
mod macros;
pub mod tower;

use std::ops::Deref;
use std::sync::Arc;

use crate::error::Depth;
use crate::view::BitEval;

/// A gate of two wires, given by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// a ⊕ b
    Xor(u8, u8),
    /// a ⊕ b of bits: relinearises products first, for operands that are relinearised anyway
    Plus(u8, u8),
    /// a ∧ b
    And(u8, u8),
}

impl Gate {
    /// The two wires read.
    pub const fn operands(self) -> [u8; 2] {
        match self {
            Self::Xor(a, b) | Self::Plus(a, b) | Self::And(a, b) => [a, b],
        }
    }
}

/// A straight-line program from `I` to `O` bits, at most 256 wires.
#[derive(Clone, Copy, Debug)]
pub struct Program<const I: usize, const O: usize> {
    gates: &'static [Gate],
    outputs: [u8; O],
}

impl<const I: usize, const O: usize> Program<I, O> {
    /// The program of these gates; output k is wire `outputs[k]`. The compiler checks constant programs.
    ///
    /// # Panics
    /// If there are more than 256 wires, a gate reads itself or a later wire, or an output is not a wire.
    pub const fn new(gates: &'static [Gate], outputs: [u8; O]) -> Self {
        assert!(I + gates.len() <= 256, "a program has at most 256 wires");
        let mut k = 0;
        while k < gates.len() {
            let [a, b] = gates[k].operands();
            assert!(
                (a as usize) < I + k && (b as usize) < I + k,
                "a gate may only read earlier wires"
            );
            k += 1;
        }
        let mut k = 0;
        while k < O {
            assert!(
                (outputs[k] as usize) < I + gates.len(),
                "an output must be a wire"
            );
            k += 1;
        }
        Self { gates, outputs }
    }

    /// ANDs in sequence on the longest way to an output.
    pub fn depth(&self) -> Depth {
        let mut depth = vec![0; I];
        for gate in self.gates {
            let [a, b] = gate.operands().map(|w| depth[usize::from(w)]);
            depth.push(a.max(b) + Depth::from(matches!(gate, Gate::And(..))));
        }
        let outputs = self.outputs.iter().map(|&w| depth[usize::from(w)]);
        outputs.max().unwrap_or(0)
    }
}

/// Runs one copy of `program` per entry of `inputs` up to the stage after the last pass. All outputs must be
/// products.
///
/// # Panics
/// If an output is a bit: an input, or a sum with a bit.
///
/// # Errors
/// If a level or a key is missing.
pub fn begin<'a, E: BitEval, const I: usize, const O: usize>(
    view: &'a E,
    program: &'a Program<I, O>,
    inputs: Vec<[&'a E::Bit; I]>,
) -> Result<Vec<Begun<'a, E, I, O>>, E::Error> {
    let plan = Arc::new(Plan::new(program));
    let wires = inputs.iter().map(|inputs| Wires::new(view, &plan, inputs));
    let mut copies: Vec<_> = wires.collect();
    // each stage with the pass that follows it
    for stage in 0..plan.stages - 1 {
        copies = view.each(copies, |mut wires| {
            wires.stage(program.gates, &plan, stage)?;
            Ok(wires)
        })?;
        let due: Vec<usize> = plan.due(stage).collect();
        let products = copies.iter_mut().flat_map(|wires| {
            let take = |&wire: &usize| wires.take_for_pass(wire);
            due.iter().map(take).collect::<Vec<_>>()
        });
        let products: Vec<E::Product> = products.collect();
        if products.is_empty() {
            continue;
        }
        let mut bits = view.relinearize_all(products)?.into_iter();
        for wires in &mut copies {
            for &wire in &due {
                let bit = bits.next().expect("a pass returns a bit for each product");
                wires.wires[wire].bit = Some(Shared::Wire(Arc::new(bit)));
            }
        }
    }
    let begun = copies.into_iter().map(|wires| Begun {
        program,
        plan: Arc::clone(&plan),
        wires,
    });
    Ok(begun.collect())
}

/// A copy of a program before its last stage.
pub struct Begun<'a, E: BitEval, const I: usize, const O: usize> {
    program: &'a Program<I, O>,
    plan: Arc<Plan>,
    wires: Wires<'a, E>,
}

impl<E: BitEval, const I: usize, const O: usize> Begun<'_, E, I, O> {
    /// Runs the last stage, which ends in products.
    ///
    /// # Errors
    /// If a level is missing.
    pub fn finish(mut self) -> Result<[E::Product; O], E::Error> {
        self.wires
            .stage(self.program.gates, &self.plan, self.plan.stages - 1)?;
        let outputs = self.program.outputs;
        Ok(outputs.map(|wire| Arc::unwrap_or_clone(self.wires.product(wire))))
    }
}

/// The form in which a wire is computed or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Bit,
    Product,
}

/// When the gates of a program run, and which products are relinearised: the same for all copies.
struct Plan {
    /// per wire, inputs first
    wires: Vec<WirePlan>,
    stages: usize,
}

#[derive(Clone, Copy)]
struct WirePlan {
    /// what its gate computes
    held: Form,
    /// the form in which its gate reads its operands
    reads: Form,
    /// when its gate runs; `None` if no output needs it
    stage: Option<usize>,
    /// the stage whose pass relinearises it
    pass: Option<usize>,
    bit_readers: usize,
    product_readers: usize,
}

impl Plan {
    fn new<const I: usize, const O: usize>(program: &Program<I, O>) -> Self {
        let input = WirePlan {
            held: Form::Bit,
            reads: Form::Bit,
            stage: None,
            pass: None,
            bit_readers: 0,
            product_readers: 0,
        };
        let mut wires = vec![input; I];
        // the earliest stage in which a wire can be computed
        let mut earliest = vec![0; I];
        for &gate in program.gates {
            let operands = gate.operands().map(usize::from);
            let products = operands.iter().all(|&w| wires[w].held == Form::Product);
            let reads = match gate {
                Gate::Xor(..) if products => Form::Product,
                _ => Form::Bit,
            };
            let ready = operands.map(|w| earliest[w] + after(&wires[w], reads));
            earliest.push(ready[0].max(ready[1]));
            let held = match gate {
                Gate::And(..) => Form::Product,
                _ => reads,
            };
            wires.push(WirePlan {
                held,
                reads,
                ..input
            });
        }
        let outs = || program.outputs.iter().map(|&w| usize::from(w));
        let last = outs().map(|w| earliest[w]).max().unwrap_or(0);
        for w in outs() {
            assert!(
                wires[w].held == Form::Product,
                "an output is a bit, expected a product"
            );
            wires[w].read(Form::Product, last, last);
        }
        for (k, gate) in program.gates.iter().enumerate().rev() {
            let WirePlan { stage, reads, .. } = wires[I + k];
            if let Some(stage) = stage {
                for w in gate.operands().map(usize::from) {
                    wires[w].read(reads, stage, stage.saturating_sub(1));
                }
            }
        }
        Self {
            wires,
            stages: last + 1,
        }
    }

    /// The wires that the pass after `stage` relinearises.
    fn due(&self, stage: usize) -> impl Iterator<Item = usize> {
        let wires = self.wires.iter().enumerate();
        wires.filter_map(move |(w, plan)| (plan.pass == Some(stage)).then_some(w))
    }
}

/// Stages between a wire and a gate that reads it as `form`.
fn after(wire: &WirePlan, form: Form) -> usize {
    usize::from(form == Form::Bit && wire.held == Form::Product)
}

impl WirePlan {
    /// Records a reader in `stage`. A product read as a bit is relinearised after stage `before` at the latest.
    fn read(&mut self, form: Form, stage: usize, before: usize) {
        match form {
            Form::Bit => self.bit_readers += 1,
            Form::Product => self.product_readers += 1,
        }
        let by = match (form, self.held) {
            (Form::Bit, Form::Product) => {
                let pass = self.pass.map_or(before, |pass| pass.min(before));
                self.pass = Some(pass);
                pass
            }
            _ => stage,
        };
        self.stage = Some(self.stage.map_or(by, |stage| stage.min(by)));
    }
}

/// A bit: an input, or a wire that may have further readers.
enum Shared<'a, B> {
    Input(&'a B),
    Wire(Arc<B>),
}

// `derive` would require `B: Clone` needlessly.
impl<B> Clone for Shared<'_, B> {
    fn clone(&self) -> Self {
        match self {
            Self::Input(bit) => Self::Input(bit),
            Self::Wire(bit) => Self::Wire(Arc::clone(bit)),
        }
    }
}

impl<B> Deref for Shared<'_, B> {
    type Target = B;

    fn deref(&self) -> &B {
        match self {
            Self::Input(bit) => bit,
            Self::Wire(bit) => bit,
        }
    }
}

impl<B> Shared<'_, B> {
    /// The bit itself, unless it has other readers.
    fn take(self) -> Result<B, Self> {
        match self {
            Self::Input(_) => Err(self),
            Self::Wire(bit) => Arc::try_unwrap(bit).map_err(Self::Wire),
        }
    }
}

/// What a wire of one copy holds, and how many readers remain in either form.
struct Wire<'a, E: BitEval> {
    bit: Option<Shared<'a, E::Bit>>,
    product: Option<Arc<E::Product>>,
    bit_readers: usize,
    product_readers: usize,
}

struct Wires<'a, E: BitEval> {
    view: &'a E,
    wires: Vec<Wire<'a, E>>,
}

impl<'a, E: BitEval> Wires<'a, E> {
    fn new(view: &'a E, plan: &Plan, inputs: &[&'a E::Bit]) -> Self {
        let wires = plan.wires.iter().enumerate().map(|(w, plan)| Wire {
            bit: inputs.get(w).map(|bit| Shared::Input(*bit)),
            product: None,
            bit_readers: plan.bit_readers,
            product_readers: plan.product_readers,
        });
        Self {
            view,
            wires: wires.collect(),
        }
    }

    fn bit(&mut self, wire: u8) -> Shared<'a, E::Bit> {
        let wire = &mut self.wires[usize::from(wire)];
        wire.bit_readers -= 1;
        let bit = if wire.bit_readers == 0 {
            wire.bit.take()
        } else {
            wire.bit.clone()
        };
        bit.expect("a bit is computed before it is read")
    }

    fn product(&mut self, wire: u8) -> Arc<E::Product> {
        let wire = &mut self.wires[usize::from(wire)];
        wire.product_readers -= 1;
        // kept until its last reader in either form
        let done = wire.product_readers == 0 && (wire.bit_readers == 0 || wire.bit.is_some());
        let product = if done {
            wire.product.take()
        } else {
            wire.product.clone()
        };
        product.expect("a product stays until its last reader")
    }

    /// The product of a wire, to be relinearised.
    fn take_for_pass(&mut self, wire: usize) -> E::Product {
        let wire = &mut self.wires[wire];
        let product = if wire.product_readers == 0 {
            wire.product.take()
        } else {
            wire.product.clone()
        };
        Arc::unwrap_or_clone(product.expect("a product is computed before its pass"))
    }

    /// a ⊕ b of two bits, in place of one without other readers.
    fn xor_bits(&mut self, a: u8, b: u8) -> E::Bit {
        let (a, b) = (self.bit(a), self.bit(b));
        match (a.take(), b) {
            (Ok(mut a), b) => {
                self.view.xor_assign(&mut a, &b);
                a
            }
            (Err(a), b) => match b.take() {
                Ok(mut b) => {
                    self.view.xor_assign(&mut b, &a);
                    b
                }
                Err(b) => self.view.xor(&a, &b),
            },
        }
    }

    /// a ⊕ b of two products, in place of one without other readers.
    fn xor_products(&mut self, a: u8, b: u8) -> E::Product {
        let (a, b) = (self.product(a), self.product(b));
        let (a, b) = match Arc::try_unwrap(a) {
            Ok(a) => (a, b),
            Err(a) => match Arc::try_unwrap(b) {
                Ok(b) => (b, a),
                Err(b) => (E::Product::clone(&a), b),
            },
        };
        self.view.xor_product(a, &b)
    }

    fn stage(&mut self, gates: &[Gate], plan: &Plan, stage: usize) -> Result<(), E::Error> {
        let inputs = self.wires.len() - gates.len();
        for (k, &gate) in gates.iter().enumerate() {
            let wire = &plan.wires[inputs + k];
            if wire.stage == Some(stage) {
                self.step(gate, inputs + k, wire)?;
            }
        }
        Ok(())
    }

    fn step(&mut self, gate: Gate, at: usize, plan: &WirePlan) -> Result<(), E::Error> {
        let wire = match (gate, plan.reads) {
            (Gate::And(a, b), _) => {
                let (a, b) = (self.bit(a), self.bit(b));
                let product = self.view.and(&a, &b)?;
                (None, Some(product))
            }
            (Gate::Xor(a, b) | Gate::Plus(a, b), Form::Product) => {
                (None, Some(self.xor_products(a, b)))
            }
            (Gate::Xor(a, b) | Gate::Plus(a, b), Form::Bit) => (Some(self.xor_bits(a, b)), None),
        };
        let (bit, product) = wire;
        let wire = &mut self.wires[at];
        wire.bit = bit.map(|bit| Shared::Wire(Arc::new(bit)));
        wire.product = product.map(Arc::new);
        Ok(())
    }
}
