//! Bit-sliced AES (GHS12 §4.2): 128 ciphertexts of one bit per slot, over the circuits of
//! [`homaes_aes::Bitwise`].
//!
//! Bits are the bytes 0 and 1. An S-box is Boyar and Peralta's circuit: 34 conjunctions at depth four, 19
//! relinearisations, each merged with the switch to the level below; so a round takes four levels. An operand
//! that is several levels higher than the other comes down in one switch. Between rounds the modulus is switched
//! when the noise estimate asks for it (GHS12 §3.3): on the declared toy sets never, at n = 32768 once a round, because
//! sums of bits have grown beyond what D leaves for a product.

use crate::ciphertext::{Ciphertext, Product};
use crate::evaluate::{Evaluator, out_of_depth};
use crate::keys::EvalKey;
use crate::state::State;
use homaes_aes::{BitEval, Bitwise, Direction, EvalError, Rounds, Sliced};
use rayon::prelude::*;

/// log2 of the growth that sums of bits cause inside an S-box, per factor of a product: four to eight terms.
const SUM_BITS: f64 = 1.5;

/// The bit-sliced circuit under one evaluation key, and its view of bits.
pub(crate) struct BitsAes<'k> {
    pub(crate) eval: Evaluator<'k>,
}

impl<'k> BitsAes<'k> {
    pub(crate) fn new(key: &'k EvalKey) -> Self {
        Self {
            eval: Evaluator::new(key),
        }
    }

    /// Both operands at the lower of their levels.
    fn level_off(&self, a: &Ciphertext, b: &Ciphertext) -> (Ciphertext, Ciphertext) {
        let level = a.level.min(b.level);
        (self.eval.lowered(a, level), self.eval.lowered(b, level))
    }

    /// Whether a sum of products of sums of bits like `c` would leave more than √D·ρ after the switch: products of such
    /// operands would grow.
    fn is_noisy(&self, c: &Ciphertext) -> bool {
        let params = self.eval.params();
        let rho = params.noise().rho_log2;
        let drop = params.plain(c.level).log2_drop;
        // sums u·ρ and v·ρ give u·v·ρ/D after the switch, and eight such products are summed
        2.0 * (c.noise.rms_log2 - rho + SUM_BITS) + SUM_BITS > 1.5 * (drop - rho)
    }

    fn layer(
        &self,
        s: &State,
        f: impl FnOnce(&Bytes) -> Result<Bytes, EvalError>,
    ) -> Result<State, EvalError> {
        let mut bits = s.ciphertexts.iter().cloned();
        let bytes: Bytes = core::array::from_fn(|_| {
            core::array::from_fn(|_| bits.next().expect("128 ciphertexts of bits"))
        });
        Ok(State {
            ciphertexts: f(&bytes)?.into_iter().flatten().collect(),
            ..*s
        })
    }
}

/// Eight bits of each byte, least significant first.
type Bytes = [[Ciphertext; 8]; 16];

impl BitEval for BitsAes<'_> {
    type Bit = Ciphertext;
    type Product = Product;

    fn slots(&self) -> usize {
        self.eval.params().slots().count()
    }

    fn public(&self, v: &[bool]) -> Ciphertext {
        let bytes: Vec<u8> = v.iter().map(|&b| u8::from(b)).collect();
        self.eval
            .public(&bytes)
            .expect("at most one bit per slot, as the trait asks")
    }

    fn xor(&self, a: &Ciphertext, b: &Ciphertext) -> Ciphertext {
        let mut out = a.clone();
        self.xor_assign(&mut out, b);
        out
    }

    fn xor_assign(&self, a: &mut Ciphertext, b: &Ciphertext) {
        if a.level > b.level {
            *a = self.eval.lowered(a, b.level);
        }
        let lowered;
        let b = if b.level > a.level {
            lowered = self.eval.lowered(b, a.level);
            &lowered
        } else {
            b
        };
        let params = self.eval.params();
        for (x, y) in a.parts.iter_mut().zip(&b.parts) {
            x.add_assign(params, params.basis(a.level), y);
        }
        a.owner = a.owner.with(b.owner);
        a.noise = a.noise.plus(b.noise);
    }

    /// Adds the constant polynomial 1, which is 1 in every slot and takes the same value at every embedding.
    fn not(&self, mut a: Ciphertext) -> Ciphertext {
        let params = self.eval.params();
        for (limb, &i) in a.parts[0].limbs.iter_mut().zip(params.basis(a.level)) {
            let m = params.modulus(i);
            limb.iter_mut()
                .for_each(|x| *x = m.add(m.canonical(*x), m.r()));
        }
        a
    }

    fn and(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Product, EvalError> {
        let (a, b) = self.level_off(a, b);
        if a.level <= 1 {
            return Err(out_of_depth(1, 0).into());
        }
        Ok(self.eval.raw_product(&a, &b, 0)?)
    }

    fn xor_product(&self, a: Product, b: &Product) -> Product {
        self.eval
            .add_product(a, b)
            .expect("products of one depth are at one level")
    }

    fn relinearize(&self, p: Product) -> Result<Ciphertext, EvalError> {
        Ok(self.eval.relinearize(&p)?)
    }

    fn each<T: Send, const N: usize>(
        &self,
        task: impl Fn(usize) -> Result<T, EvalError> + Sync,
    ) -> Result<[T; N], EvalError> {
        let all: Vec<T> = (0..N)
            .into_par_iter()
            .with_max_len(1)
            .map(&task)
            .collect::<Result<_, _>>()?;
        Ok(all
            .try_into()
            .unwrap_or_else(|_| unreachable!("N tasks, N results")))
    }
}

impl Rounds for BitsAes<'_> {
    type State = State;
    type Key = Vec<Ciphertext>;

    fn add(&self, s: &State, key: &Vec<Ciphertext>) -> Result<State, EvalError> {
        let mut sum = s.clone();
        let pairs = sum.ciphertexts.par_iter_mut().zip(key);
        pairs.for_each(|(a, b)| self.xor_assign(a, b));
        Ok(sum)
    }

    fn sub_shift(&self, dir: Direction, s: &State) -> Result<State, EvalError> {
        self.layer(s, |bytes| Sliced(Bitwise::new(self)).sub_shift(dir, bytes))
    }

    fn sub_shift_mix(&self, dir: Direction, s: &State) -> Result<State, EvalError> {
        self.layer(s, |bytes| {
            Sliced(Bitwise::new(self)).sub_shift_mix(dir, bytes)
        })
    }

    /// One switch down for all bits if one of them is too noisy for a product, as long as levels last.
    fn refresh(&self, s: &mut State) -> Result<(), EvalError> {
        let level = s.level();
        if level > Bitwise::<Self>::SBOX_DEPTH as usize + 1
            && s.ciphertexts.iter().any(|c| self.is_noisy(c))
        {
            s.ciphertexts = s
                .ciphertexts
                .par_iter()
                .map(|c| self.eval.lowered(c, level - 1))
                .collect();
        }
        Ok(())
    }
}
