//! Byte-sliced AES (GHS12 §4): one round fused from the parts of [`crate::keyswitch`].
//!
//! Sixteen ciphertexts hold the state, byte i of block b in slot b of ciphertext i. One round of one
//! byte, with c the input at level S0:
//!
//! ```text
//! c'   = switch(c)              S0 -> S1
//! c3   = c  · σ(c)              S0 -> S1      x^3
//! c7   = c' · σ(c3)             S1 -> S2      x^7
//! c15  = c3 · σ²(c3)            S1 -> S2      x^15
//! c127 = c7 · σ³(c15)           S2            x^127, only P is divided out
//! S    = Σ_k γ_k σ^(k+1)(c127)  S2, times P   seven hoisted key switches, σ^8 = id on bytes
//! out  = MixColumns(S) + key    S2, times P   -> S0 of the next round in one switch
//! ```
//!
//! Products never relinearise a Frobenius image first: x·σ(y) is switched directly from σ(s) and
//! s·σ(s), which saves two switches per product. The constants γ_k are folded into the keys of the
//! linear layer when an evaluation starts, so S is one inner product of 15 to 22 terms per word.
//!
//! Products are one rayon task per byte, the linear layer one per output column, whose four bytes share
//! every pass over its keys. All threads go through the steps together, so that the keys of a step are
//! read from memory once for all of them.

use crate::ciphertext::Ciphertext;
use crate::encrypt::trivial;
use crate::error::{Error, Result};
use crate::evaluate::Evaluator;
use crate::keys::{EvalKey, FROBENIUS_KEYS, Target};
use crate::keyswitch::{Addend, Job, Shape, SwitchKey};
use crate::linear::LinearLayer;
use crate::meter::{MeterReading, Stage};
use crate::noise::Noise;
use crate::params::{Params, SwitchPlan};
use crate::poly::Poly;
use crate::wrapped::WrappedKey;
use homaes_aes::state::shift_source;
use homaes_aes::{Block, Direction, EvalError, Rounds};
use homaes_math::kernel;
use rayon::prelude::*;

/// The state of one batch: sixteen ciphertexts at one level.
pub type State = [Ciphertext; 16];

/// AES under one wrapped key.
pub struct SlicedAes<'k> {
    eval: Evaluator<'k>,
    wrapped: &'k WrappedKey,
    linear: LinearLayer,
    /// γ_{k-1} times the key from σ^k(s), k = 1 … 7
    folded: Vec<SwitchKey>,
}

impl<'k> SlicedAes<'k> {
    /// Prepares the linear layer's keys; 119 MiB and a fraction of a second at n = 32768.
    ///
    /// # Errors
    /// If the two keys belong to different sets or secrets.
    pub fn new(key: &'k EvalKey, wrapped: &'k WrappedKey) -> Result<Self> {
        let params = &key.params;
        if params.digest() != wrapped.params.digest() {
            return Err(Error::OtherSet {
                what: "wrapped key",
                found: wrapped.params.set().name.as_str(),
                expected: params.set().name.as_str(),
            });
        }
        if key.id != wrapped.id {
            return Err(Error::OtherKey {
                what: "wrapped key",
                found: wrapped.id,
                expected: key.id,
            });
        }
        let linear = LinearLayer::new(params.slots());
        let folded = (1..=FROBENIUS_KEYS)
            .into_par_iter()
            .map(|k| {
                Ok(fold(
                    params,
                    key.key(Target::Frobenius(k))?,
                    &linear.gamma[k - 1],
                ))
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            eval: Evaluator::new(key),
            wrapped,
            linear,
            folded,
        })
    }

    /// The parameters.
    pub fn params(&self) -> &'k Params {
        self.eval.params()
    }

    /// Transforms and times of all evaluations so far.
    pub fn meter(&self) -> MeterReading {
        self.eval.reading()
    }

    /// AES of public `blocks`, at most one per slot; missing blocks are zero.
    ///
    /// Result at level 1. Cost: ten rounds of the circuit above.
    ///
    /// # Errors
    /// If there are more blocks than slots.
    pub fn encrypt_blocks(&self, blocks: &[Block]) -> Result<State> {
        self.encrypt_blocks_observed(blocks, |_, _| {})
    }

    /// [`SlicedAes::encrypt_blocks`], showing the state after every round: 0 is the state after the
    /// first AddRoundKey.
    ///
    /// # Errors
    /// If there are more blocks than slots.
    pub fn encrypt_blocks_observed(
        &self,
        blocks: &[Block],
        observe: impl FnMut(usize, &State),
    ) -> Result<State> {
        let level = 3 * self.wrapped.size.rounds();
        let state = self.public(blocks, level)?;
        let keys: Vec<&State> = self.wrapped.rounds.iter().collect();
        let dir = Direction::Encrypt;
        Ok(homaes_aes::cipher_observed(
            self, dir, &state, &keys, observe,
        )?)
    }

    /// Adds public blocks: turns an encrypted key stream into encrypted data (CTR). Missing blocks
    /// are zero.
    ///
    /// # Errors
    /// If there are more blocks than slots.
    pub fn xor_public(&self, state: &mut State, blocks: &[Block]) -> Result<()> {
        let level = state[0].level;
        if let Some(other) = state.iter().find(|c| c.level != level) {
            return Err(Error::Field {
                what: "level of a state byte",
                found: other.level as u64,
                expected: level as u64,
            });
        }
        let public = self.public(blocks, level)?;
        for (s, p) in state.iter_mut().zip(&public) {
            let basis = self.params().basis(level);
            s.parts[0].add_assign(self.params(), basis, &p.parts[0]);
            s.noise = s.noise.plus(p.noise);
        }
        Ok(())
    }

    fn public(&self, blocks: &[Block], level: usize) -> Result<State> {
        let params = self.params();
        let slots = params.slots().count();
        if blocks.len() > slots {
            return Err(Error::TooManyBlocks {
                found: blocks.len(),
                expected: slots,
            });
        }
        let bytes: Vec<Vec<u8>> = (0..16)
            .map(|i| {
                let mut bytes: Vec<u8> = blocks.iter().map(|b| b[i]).collect();
                bytes.resize(slots, 0);
                bytes
            })
            .collect();
        let state: Vec<Ciphertext> = bytes
            .par_iter()
            .map(|b| trivial(params, b, level))
            .collect();
        Ok(into_state(state))
    }

    /// x^127 of all bytes.
    fn power_127(&self, state: &State) -> Result<Vec<Ciphertext>> {
        let c: Vec<&Ciphertext> = state.iter().collect();
        let c3 = self.eval.multiply_many(&c, &c, 1, true)?;
        let c3: Vec<&Ciphertext> = c3.iter().collect();
        let copies: Vec<Ciphertext> = state
            .par_iter()
            .map(|c| self.eval.mod_switch(c))
            .collect::<Result<_>>()?;
        let copies: Vec<&Ciphertext> = copies.iter().collect();
        let c7 = self.eval.multiply_many(&copies, &c3, 1, true)?;
        let c15 = self.eval.multiply_many(&c3, &c3, 2, true)?;
        let (c7, c15): (Vec<_>, Vec<_>) = (c7.iter().collect(), c15.iter().collect());
        self.eval.multiply_many(&c7, &c15, 3, false)
    }

    /// The linear layer of one column; `mix` is false in the last round.
    fn linear_layer(
        &self,
        c127: [&Ciphertext; 4],
        keys: [&Ciphertext; 4],
        mix: bool,
    ) -> Result<Vec<Ciphertext>> {
        let (params, level) = (self.params(), c127[0].level);
        if let Some(key) = keys.iter().find(|k| k.level != level) {
            return Err(Error::Field {
                what: "level of a round key",
                found: key.level as u64,
                expected: level as u64,
            });
        }
        let plan = if mix {
            params.switching(level)
        } else {
            params.staying(level)
        };
        let special: Vec<Vec<Vec<u64>>> = self
            .linear
            .gamma
            .iter()
            .map(|g| self.eval.special_constants(plan.special, &plan.from, g))
            .collect();
        let shape = self.linear_shape(&special);
        let scaled: Vec<Poly> = c127
            .iter()
            .map(|c| self.eval.scaled(plan, &c.parts[1]))
            .collect();
        let jobs: Vec<Job<'_>> = c127
            .iter()
            .zip(&scaled)
            .map(|(c, scaled)| Job::Stored {
                pieces: vec![scaled],
                addends: [vec![&c.parts[0]; 8], vec![&c.parts[1]]].concat(),
            })
            .collect();
        let parts = self.eval.pass(plan, &shape, &jobs).run(|at, sums| {
            if mix {
                self.mix(plan.extended[at], sums);
            }
            if at < plan.from.len() {
                self.add_keys(plan, at, sums, keys);
            }
        });
        let (sbox, mixed) = self.linear.mean_powers();
        let power = if mix { mixed } else { sbox };
        let noises: Vec<Noise> = c127.iter().map(|c| c.noise.scaled(power)).collect();
        // each of the seven switches is multiplied by the powers of the layer, about `power` in all
        Ok(self
            .eval
            .finish(plan, parts, &noises, power.ceil() as usize))
    }

    /// S = Σ_k γ_k σ^(k+1)(x^127): seven keys with their γ folded in, and the constants for c0. γ_k goes
    /// with σ^(k+1), and σ^8 is the identity on bytes.
    fn linear_shape<'a>(&'a self, special: &'a [Vec<Vec<u64>>]) -> Shape<'a> {
        let params = self.params();
        let addend = |k: usize, second| Addend {
            map: params.frobenius((k + 1) % 8),
            by_row: &special[k],
            second,
        };
        let mut addends: Vec<Addend<'_>> = (0..8).map(|k| addend(k, false)).collect();
        addends.push(addend(7, true));
        let folded = self.folded.iter().enumerate();
        Shape {
            uses: vec![
                folded
                    .map(|(k, key)| (params.frobenius(k + 1), key))
                    .collect(),
            ],
            addends,
        }
    }

    /// MixColumns of the four sums modulo pool prime `i`.
    fn mix(&self, i: usize, sums: &mut [[&mut [u64]; 2]]) {
        let params = self.params();
        let [s0, s1, s2, s3] = sums else { return };
        let t = params.transform(i);
        let m = t.modulus();
        let two: Vec<_> = t
            .row_values(&self.linear.two)
            .into_iter()
            .map(|v| m.shoup(v))
            .collect();
        for part in 0..2 {
            let column = [&mut *s0, &mut *s1, &mut *s2, &mut *s3].map(|s| &mut *s[part]);
            self.eval.meter().time(Stage::Elementwise, || {
                kernel::mix_column(params.ring(), m, &two, column);
            });
        }
    }

    /// Adds P_l times the round keys modulo the `at`-th source prime.
    fn add_keys(
        &self,
        plan: &SwitchPlan,
        at: usize,
        sums: &mut [[&mut [u64]; 2]],
        keys: [&Ciphertext; 4],
    ) {
        let params = self.params();
        let i = plan.from[at];
        let m = params.modulus(i);
        let p = m.shoup(params.special_product(plan.special, i));
        for (sum, key) in sums.iter_mut().zip(keys) {
            for (s, k) in sum.iter_mut().zip(&key.parts) {
                self.eval.meter().time(Stage::Elementwise, || {
                    kernel::scale_add(params.ring(), m, &k.limbs[at], p, s);
                });
            }
        }
    }

    fn fused_round(
        &self,
        dir: Direction,
        s: &State,
        key: &State,
        mix: bool,
    ) -> Result<State, EvalError> {
        if dir != Direction::Encrypt {
            return Err(EvalError::MissingKey {
                what: "decryption-direction",
            });
        }
        let c127 = self.power_127(s)?;
        let columns: Vec<Result<Vec<Ciphertext>>> = (0..4usize)
            .into_par_iter()
            .map(|col| {
                let out = |row: usize| row + 4 * col;
                let input = core::array::from_fn(|row| &c127[shift_source(dir, out(row))]);
                let keys = core::array::from_fn(|row| &key[out(row)]);
                self.linear_layer(input, keys, mix)
            })
            .collect();
        let mut state = Vec::with_capacity(16);
        for column in columns {
            state.extend(column?);
        }
        Ok(into_state(state))
    }
}

/// The fused rounds, for [`homaes_aes::cipher_observed`]: encryption only, and with the round keys of a
/// [`WrappedKey`], which sit at their own levels and contain the constant 0x63. The unfused steps do
/// not exist, because the key is added before the division that ends a round.
impl<'k> Rounds for SlicedAes<'k> {
    type State = State;
    type Key = &'k State;

    fn add(&self, s: &State, key: &&'k State) -> Result<State, EvalError> {
        Ok(core::array::from_fn(|i| self.eval.add(&s[i], &key[i])))
    }

    fn sub_shift(&self, _: Direction, _: &State) -> Result<State, EvalError> {
        Err(EvalError::MissingKey { what: "round" })
    }

    fn sub_shift_mix(&self, _: Direction, _: &State) -> Result<State, EvalError> {
        Err(EvalError::MissingKey { what: "round" })
    }

    fn refresh(&self, _: &mut State) -> Result<(), EvalError> {
        Ok(())
    }

    fn round(&self, dir: Direction, s: &State, key: &&'k State) -> Result<State, EvalError> {
        self.fused_round(dir, s, key, true)
    }

    fn last_round(&self, dir: Direction, s: &State, key: &&'k State) -> Result<State, EvalError> {
        self.fused_round(dir, s, key, false)
    }
}

/// γ times a switching key, row by row.
fn fold(params: &Params, key: &SwitchKey, gamma: &[u8]) -> SwitchKey {
    let row_len = params.ring().row_len();
    let fold_poly = |poly: &Poly| {
        let mut out = poly.clone();
        for (i, limb) in out.limbs.iter_mut().enumerate() {
            let t = params.transform(i);
            let m = t.modulus();
            for (row, value) in limb.chunks_exact_mut(row_len).zip(t.row_values(gamma)) {
                let c = m.shoup(value);
                row.iter_mut().for_each(|x| *x = m.scale(*x, c));
            }
        }
        out
    };
    SwitchKey {
        digits: key
            .digits
            .iter()
            .map(|pair| pair.each_ref().map(fold_poly))
            .collect(),
    }
}

/// # Panics
/// Unless there are sixteen.
pub(crate) fn into_state(v: Vec<Ciphertext>) -> State {
    v.try_into().expect("sixteen ciphertexts")
}
