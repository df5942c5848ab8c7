//! Straight-line programs on bits, kept as data, and their evaluation with lazy relinearisation.
//!
//! A [`Program`] is a list of gates. Wire k is input k for k < I, and the result of gate k − I from
//! there on; a gate reads wires of smaller number. [`evaluate`] runs it over any [`BitEval`]. Which form
//! a wire takes follows from the program alone:
//!
//! ```text
//!   a x b       product                              reads bits
//!   a + b       product if a and b are products      reads products
//!               bit otherwise                        reads bits
//!   a xnor b    bit                                  reads what a + b would read
//!   output                                           reads bits
//! ```
//!
//! A product that something reads as a bit is relinearised then, once, whatever the number of readers;
//! all others never are. So a program decides where relinearisations fall by the order in which it
//! associates its sums: products first, bits last.
//!
//! **Memory.** Items measure megabytes. A wire is dropped after its last reader, a sum is formed in
//! place of an operand that dies, and inputs are borrowed.

#[macro_use]
mod macros;
pub mod sbox;

use std::ops::Deref;
use std::rc::Rc;

use crate::error::Result;
use crate::state::try_array;
use crate::view::BitEval;

/// A gate of two wires, given by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// a ⊕ b
    Xor(u8, u8),
    /// 1 ⊕ a ⊕ b
    Xnor(u8, u8),
    /// a ∧ b
    And(u8, u8),
}

impl Gate {
    /// The two wires read.
    pub const fn operands(self) -> [u8; 2] {
        match self {
            Self::Xor(a, b) | Self::Xnor(a, b) | Self::And(a, b) => [a, b],
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
    /// The program of these gates; output k is wire `outputs[k]`. As a constant, it is checked by the
    /// compiler.
    ///
    /// # Panics
    /// If a gate reads itself or a later wire, or an output is no wire.
    pub const fn new(gates: &'static [Gate], outputs: [u8; O]) -> Self {
        assert!(I + gates.len() <= 256, "wires are numbered by bytes");
        let mut k = 0;
        while k < gates.len() {
            let [a, b] = gates[k].operands();
            assert!(
                (a as usize) < I + k && (b as usize) < I + k,
                "a gate reads earlier wires"
            );
            k += 1;
        }
        let mut k = 0;
        while k < O {
            assert!(
                (outputs[k] as usize) < I + gates.len(),
                "an output is a wire"
            );
            k += 1;
        }
        Self { gates, outputs }
    }

    /// The gates, in the order of evaluation.
    pub const fn gates(&self) -> &'static [Gate] {
        self.gates
    }

    /// The wires of the outputs.
    pub const fn outputs(&self) -> [u8; O] {
        self.outputs
    }
}

/// The outputs of `program` on `inputs`, slot by slot.
///
/// Cost: one `and` per [`Gate::And`], one sum per other gate, one `not` per [`Gate::Xnor`], and one
/// relinearisation for each product that is read as a bit.
///
/// # Errors
/// If a level or a key is missing.
pub fn evaluate<E: BitEval, const I: usize, const O: usize>(
    view: &E,
    program: &Program<I, O>,
    inputs: &[E::Bit; I],
) -> Result<[E::Bit; O]> {
    let mut wires = Wires::new(view, program, inputs);
    for &gate in program.gates {
        wires.step(gate)?;
    }
    try_array(|k| Ok(wires.bit(program.outputs[k])?.into_owned()))
}

/// The form in which a wire comes to exist, or is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Bit,
    Product,
}

/// A bit: an input, or a wire that may have further readers.
enum Shared<'a, B> {
    Input(&'a B),
    Wire(Rc<B>),
}

// `derive` would require `B: Clone` needlessly.
impl<B> Clone for Shared<'_, B> {
    fn clone(&self) -> Self {
        match self {
            Self::Input(bit) => Self::Input(bit),
            Self::Wire(bit) => Self::Wire(Rc::clone(bit)),
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

impl<B: Clone> Shared<'_, B> {
    /// The bit itself, unless someone else still needs it.
    fn take(self) -> core::result::Result<B, Self> {
        match self {
            Self::Input(_) => Err(self),
            Self::Wire(bit) => Rc::try_unwrap(bit).map_err(Self::Wire),
        }
    }

    fn into_owned(self) -> B {
        self.take().unwrap_or_else(|shared| B::clone(&shared))
    }
}

/// What a wire holds at present, and how often it will be read in either form.
struct Wire<'a, E: BitEval> {
    form: Form,
    bit: Option<Shared<'a, E::Bit>>,
    product: Option<Rc<E::Product>>,
    bit_readers: usize,
    product_readers: usize,
}

impl<E: BitEval> Wire<'_, E> {
    fn new(form: Form) -> Self {
        Self {
            form,
            bit: None,
            product: None,
            bit_readers: 0,
            product_readers: 0,
        }
    }
}

/// The state of an evaluation: all wires, and how many are computed.
struct Wires<'a, E: BitEval> {
    view: &'a E,
    wires: Vec<Wire<'a, E>>,
    computed: usize,
}

impl<'a, E: BitEval> Wires<'a, E> {
    fn new<const I: usize, const O: usize>(
        view: &'a E,
        program: &Program<I, O>,
        inputs: &'a [E::Bit; I],
    ) -> Self {
        let mut state = Self {
            view,
            wires: Vec::with_capacity(I + program.gates.len()),
            computed: I,
        };
        for input in inputs {
            let mut wire = Wire::new(Form::Bit);
            wire.bit = Some(Shared::Input(input));
            state.wires.push(wire);
        }
        for &gate in program.gates {
            let read = state.reads(gate);
            for wire in gate.operands() {
                let wire = &mut state.wires[usize::from(wire)];
                match read {
                    Form::Bit => wire.bit_readers += 1,
                    Form::Product => wire.product_readers += 1,
                }
            }
            state.wires.push(Wire::new(match gate {
                Gate::And(..) => Form::Product,
                Gate::Xor(..) => read,
                Gate::Xnor(..) => Form::Bit,
            }));
        }
        for wire in program.outputs {
            state.wires[usize::from(wire)].bit_readers += 1;
        }
        state
    }

    /// The form in which a gate reads its operands.
    fn reads(&self, gate: Gate) -> Form {
        let products = gate
            .operands()
            .iter()
            .all(|&wire| self.wires[usize::from(wire)].form == Form::Product);
        match gate {
            Gate::Xor(..) | Gate::Xnor(..) if products => Form::Product,
            _ => Form::Bit,
        }
    }

    /// Reads a wire as a bit.
    fn bit(&mut self, wire: u8) -> Result<Shared<'a, E::Bit>> {
        let view = self.view;
        let wire = &mut self.wires[usize::from(wire)];
        wire.bit_readers -= 1;
        let bit = match wire.bit.take() {
            Some(bit) => bit,
            None => {
                let product = if wire.product_readers == 0 {
                    wire.product.take()
                } else {
                    wire.product.clone()
                };
                let product = product.expect("a computed wire has one of the forms");
                Shared::Wire(Rc::new(view.relinearize(Rc::unwrap_or_clone(product))?))
            }
        };
        if wire.bit_readers > 0 {
            wire.bit = Some(bit.clone());
        }
        Ok(bit)
    }

    /// Reads a wire as a product.
    fn product(&mut self, wire: u8) -> Rc<E::Product> {
        let wire = &mut self.wires[usize::from(wire)];
        wire.product_readers -= 1;
        // The wire keeps the product for as long as anyone is going to read it, in either form.
        let product = if wire.product_readers == 0 && (wire.bit_readers == 0 || wire.bit.is_some())
        {
            wire.product.take()
        } else {
            wire.product.clone()
        };
        product.expect("a product stays until its last reader")
    }

    /// a ⊕ b of two bits, in place of one that nobody else reads.
    fn xor_bits(&mut self, a: u8, b: u8) -> Result<E::Bit> {
        let (a, b) = (self.bit(a)?, self.bit(b)?);
        Ok(match (a.take(), b) {
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
        })
    }

    /// a ⊕ b of two products, in place of one that nobody else reads.
    fn xor_products(&mut self, a: u8, b: u8) -> E::Product {
        let (a, b) = (self.product(a), self.product(b));
        let (a, b) = match Rc::try_unwrap(a) {
            Ok(a) => (a, b),
            Err(a) => match Rc::try_unwrap(b) {
                Ok(b) => (b, a),
                Err(b) => (E::Product::clone(&a), b),
            },
        };
        self.view.xor_product(a, &b)
    }

    /// Computes the next wire.
    fn step(&mut self, gate: Gate) -> Result<()> {
        let (mut bit, mut product) = (None, None);
        match (gate, self.reads(gate)) {
            (Gate::And(a, b), _) => {
                let (a, b) = (self.bit(a)?, self.bit(b)?);
                product = Some(Rc::new(self.view.and(&a, &b)?));
            }
            (Gate::Xor(a, b), Form::Product) => product = Some(Rc::new(self.xor_products(a, b))),
            (Gate::Xor(a, b), Form::Bit) => bit = Some(self.xor_bits(a, b)?),
            (Gate::Xnor(a, b), Form::Product) => {
                let sum = self.xor_products(a, b);
                bit = Some(self.view.not(self.view.relinearize(sum)?));
            }
            (Gate::Xnor(a, b), Form::Bit) => {
                let sum = self.xor_bits(a, b)?;
                bit = Some(self.view.not(sum));
            }
        }
        let wire = &mut self.wires[self.computed];
        wire.bit = bit.map(|bit| Shared::Wire(Rc::new(bit)));
        wire.product = product;
        self.computed += 1;
        Ok(())
    }
}
