//! AES on encrypted blocks under one wrapped key, whatever the layout.

pub(crate) mod bits;
pub(crate) mod compact;
pub(crate) mod expand;
pub(crate) mod level_plan;
pub(crate) mod maps;
pub(crate) mod packed;
pub(crate) mod placement;
pub(crate) mod reuse;
pub(crate) mod schedule;
pub(crate) mod sliced;
pub(crate) mod state;
pub(crate) mod wrapped;

use crate::aes::level_plan::slope;
use crate::aes::packed::PackedAes;
use crate::aes::reuse::Origin;
use crate::aes::sliced::SlicedAes;
use crate::aes::state::State;
use crate::aes::wrapped::{Form, Part, WrappedKey, before_inversion};
use crate::ciphertext::{Ciphertext, History};
use crate::circuit::evaluate::Evaluator;
use crate::device::{Device, Processor};
use crate::error::{Error, Result};
use crate::keys::EvalKey;
use crate::params::Params;
use bits::Bits;
use homaes_aes::{Block, Direction, Layout, Rounds, cipher_observed};
use homaes_scheme::{Cancel, Gpus, OnGpus, Reading, RunOptions, traits};
use std::sync::Arc;

/// AES under one wrapped key, in one layout. Clones share prepared keys, counters and cached first rounds.
#[derive(Clone)]
pub struct Aes<'k> {
    part: Arc<Part>,
    direction: Direction,
    /// whether blocks have AES keys of their own
    many: bool,
    circuit: ByLayout<'k>,
    /// for results, if AES runs in a ring of its own
    results: Option<Evaluator<'k>>,
}

#[derive(Clone)]
enum ByLayout<'k> {
    Sliced(SlicedAes<'k>),
    Packed(PackedAes<'k>),
    Bits(Bits<'k>),
}

impl<'k> ByLayout<'k> {
    fn eval(&self) -> &Evaluator<'k> {
        match self {
            Self::Sliced(c) => &c.eval,
            Self::Packed(c) => &c.eval,
            Self::Bits(c) => &c.0,
        }
    }

    fn eval_mut(&mut self) -> &mut Evaluator<'k> {
        match self {
            Self::Sliced(c) => &mut c.eval,
            Self::Packed(c) => &mut c.eval,
            Self::Bits(c) => &mut c.0,
        }
    }
}

impl Rounds for ByLayout<'_> {
    type Error = Error;
    type State = State;
    type Key = Vec<Ciphertext>;

    fn add(&self, s: &State, key: &Vec<Ciphertext>) -> Result<State> {
        match self {
            Self::Bits(c) => Ok(s.with(c.folded().add(&s.ciphertexts, key)?)),
            Self::Sliced(_) | Self::Packed(_) => s.plus(self.eval(), key),
        }
    }

    fn round(&self, dir: Direction, s: &State, key: &Vec<Ciphertext>) -> Result<State> {
        match self {
            Self::Sliced(c) => c.fused_round(dir, s, key, true),
            Self::Packed(c) => c.fused_round(dir, s, key, true),
            Self::Bits(c) => Ok(s.with(c.folded().round(dir, &s.ciphertexts, key)?)),
        }
    }

    fn last_round(&self, dir: Direction, s: &State, key: &Vec<Ciphertext>) -> Result<State> {
        match self {
            Self::Sliced(c) => c.fused_round(dir, s, key, false),
            Self::Packed(c) => c.fused_round(dir, s, key, false),
            Self::Bits(c) => Ok(s.with(c.folded().last_round(dir, &s.ciphertexts, key)?)),
        }
    }
}

/// The devices of a GPU.
pub struct OnGpu {
    /// For [`Params::of_aes`].
    pub aes: Arc<dyn Device>,
    /// For circuits on results, if these are in another ring than AES.
    pub results: Option<Arc<dyn Device>>,
}

impl<'k> Aes<'k> {
    /// Prepares the keys of the linear layer in a fraction of a second. In `bgv/aes128` they take 106 MiB sliced (123
    /// decrypting) and 176 MiB packed (335). Computes the round keys if `wrapped` is compact, by 30 key switches each,
    /// or holds many AES keys, by a fourth of the products and sums of a batch.
    ///
    /// # Errors
    /// If the two keys belong to different sets or secrets, `wrapped` has no round keys for `layout`, `key` has no keys
    /// for it, or `key` is of an older version and cannot expand round keys ([`Error::NoExpansion`]).
    pub fn new(key: &'k EvalKey, wrapped: &'k WrappedKey, layout: Layout) -> Result<Self> {
        Self::new_until(key, wrapped, layout, &Cancel::new())
    }

    /// As [`new`](Self::new), but checks `cancel` before every digit of a key and every key switch.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Error::Cancelled`](crate::Error::Cancelled).
    pub fn new_until(
        key: &'k EvalKey,
        wrapped: &'k WrappedKey,
        layout: Layout,
        cancel: &Cancel,
    ) -> Result<Self> {
        let results = key.cipher.as_ref().map(|_| Evaluator::new(key));
        let key = key.of_aes();
        wrapped.check_of(key)?;
        key.check_layout(layout)?;
        let part = wrapped.part(key, layout, cancel)?;
        let direction = wrapped.direction;
        Ok(Self {
            part,
            direction,
            many: matches!(wrapped.form, Form::Many(..)),
            circuit: match layout {
                Layout::Sliced => ByLayout::Sliced(SlicedAes::new(key, direction, cancel)?),
                Layout::Packed => ByLayout::Packed(PackedAes::new(key, direction, cancel)?),
                Layout::Bits => ByLayout::Bits(Bits(Evaluator::new(key))),
            },
            results,
        })
    }

    /// The round keys in use as a wrapped key in full form, for evaluations without another expansion. The file of
    /// expanded ones has both halves of every ciphertext, because they have no seed. `None` under many AES keys, whose
    /// names the full form cannot hold.
    pub fn round_keys(&self) -> Option<WrappedKey> {
        let key = self.circuit.eval().key();
        (!self.many).then(|| WrappedKey {
            params: key.params.clone(),
            id: key.id,
            size: self.part.plan.size,
            direction: self.direction,
            form: Form::Full(vec![self.part.clone()]),
        })
    }

    /// Moves the circuit to another device and drops cached first rounds, which lie on the old device.
    #[must_use]
    pub fn on(mut self, device: &Arc<dyn Device>) -> Self {
        if let ByLayout::Sliced(c) = &mut self.circuit {
            c.reuse = Arc::default();
        }
        let eval = self.circuit.eval_mut();
        *eval = eval.clone().on(device.clone());
        self
    }

    /// The circuit on each of `gpus`, whose devices are [`OnGpu`].
    pub fn on_gpus(&self, gpus: Gpus<'k>) -> OnGpus<'k, Self> {
        OnGpus::new(gpus, |device| {
            let OnGpu { aes, results } = traits::own(device);
            let mut out = self.clone().on(aes);
            if let (Some(eval), Some(device)) = (&mut out.results, results) {
                *eval = eval.clone().on(device.clone());
            }
            out
        })
    }

    /// The parameters of results.
    pub fn params(&self) -> &'k Params {
        self.evaluator().params()
    }

    /// The parameters of states between rounds, which may be in another ring than results.
    pub fn state_params(&self) -> &'k Params {
        self.circuit.eval().params()
    }

    /// The evaluator for circuits on results, under the same key.
    pub fn evaluator(&self) -> &Evaluator<'k> {
        self.results.as_ref().unwrap_or(self.circuit.eval())
    }

    /// The device of states: the evaluator's, except that the bit layout works on words in memory.
    pub(crate) fn device(&self) -> &dyn Device {
        match &self.circuit {
            ByLayout::Bits(_) => &Processor,
            _ => &**self.circuit.eval().device(),
        }
    }

    /// The layout.
    pub fn layout(&self) -> Layout {
        self.part.plan.layout
    }

    /// Blocks of one batch of AES.
    pub fn blocks_per_batch(&self) -> usize {
        self.state_params().blocks_per_batch(self.layout())
    }

    /// Level of results.
    pub fn output_level(&self) -> usize {
        self.part.plan.output_level()
    }

    /// Transforms and times so far.
    pub fn meter(&self) -> Reading {
        self.circuit.eval().reading()
    }

    /// Encrypts or decrypts public `blocks`, as the wrapped key says: at most [`Aes::blocks_per_batch`]; missing blocks
    /// are zero.
    ///
    /// # Errors
    /// If there are too many blocks.
    pub fn evaluate(&self, blocks: &[Block]) -> Result<State> {
        self.evaluate_with(blocks, RunOptions::default())
    }

    /// As [`evaluate`](Self::evaluate), with an observer, and with a cancellation check before every product of a byte
    /// and every relinearisation of a bit.
    ///
    /// Decrypting bytes, the observer sees A⁻¹(s + 0x63) for each byte s of the equivalent inverse cipher, where A is
    /// the linear part of SubBytes's affine map. In the bit layout, states before the last round are in the coordinates
    /// of [`homaes_aes::Folding`].
    ///
    /// # Errors
    /// As there, and [`Error::Cancelled`](crate::Error::Cancelled).
    pub fn evaluate_with(&self, blocks: &[Block], mut run: RunOptions<'_, State>) -> Result<State> {
        let (plan, dir) = (&self.part.plan, self.direction);
        let at = (plan.start, slope(plan, dir, 0));
        let mapped: Vec<Block>;
        let map = |f: &dyn Fn(u8) -> u8| blocks.iter().map(|b| b.map(f)).collect();
        let input = match (&self.circuit, dir) {
            (ByLayout::Bits(_), _) => {
                mapped = map(&|x| bits::folding().input(dir, x));
                &mapped
            }
            // round key 0 already contains A⁻¹(0x63)
            (_, Direction::Decrypt) => {
                let zero = before_inversion(0);
                mapped = map(&|x| before_inversion(x) ^ zero);
                &mapped
            }
            (_, Direction::Encrypt) => blocks,
        };
        let mut state = State::public(
            self.device(),
            self.state_params(),
            plan.layout,
            input,
            at,
            &[],
        )?;
        if plan.layout == Layout::Sliced {
            state.origin = Origin::of_counter(input);
        }
        let keys = &self.part.rounds;
        let cancel = run.cancel.clone();
        let observe = |round, state: &State| run.show(round, state);
        let mut circuit = self.circuit.clone();
        circuit.eval_mut().cancel = cancel;
        let mut out = cipher_observed(&circuit, dir, state, keys, observe)?;
        out.finished = true;
        if plan.layout != Layout::Bits {
            for c in &mut out.ciphertexts {
                c.history = History::Aes {
                    output: true,
                    summands: 0,
                };
            }
        }
        Ok(out)
    }

    /// Encrypts or decrypts public `input` as [`evaluate_with`](Self::evaluate_with) does, and adds the public blocks
    /// `mask`, if there are any. Returns the [`results`](Self::results) with blocks of `input`, or the first one if
    /// `input` is empty. Result i begins with block i·n, where n is [`Params::blocks_per_batch`] of
    /// [`params`](Self::params).
    ///
    /// # Errors
    /// As [`evaluate_with`](Self::evaluate_with) and [`xor_public`](Self::xor_public).
    pub fn run(
        &self,
        input: &[Block],
        mask: &[Block],
        run: RunOptions<'_, State>,
    ) -> Result<Vec<State>> {
        let cancel = run.cancel.clone();
        let mut state = self.evaluate_with(input, run)?;
        if !mask.is_empty() {
            self.xor_public(&mut state, mask)?;
        }
        let mut results = self.results_until(&state, &cancel)?;
        let each = self.params().blocks_per_batch(self.layout());
        results.truncate(input.len().div_ceil(each).max(1));
        Ok(results)
    }

    /// The results in a finished `state`, for circuits. If AES runs in R, the only result is the state itself. If it
    /// runs in K, there are two, of half as many blocks each: the first half of the blocks, then the second.
    ///
    /// The level stays. From K, the mean square of the noise is multiplied by 4/7, and the noise of a key switch and
    /// its rounding are added. Cost: one key switch per ciphertext of K; in R, a copy.
    ///
    /// # Errors
    /// [`Error::NotFinished`] for a state between rounds; [`Error::Mismatch`] for a state of another set, and for a
    /// result that has left K. If the device fails.
    pub fn results(&self, state: &State) -> Result<Vec<State>> {
        self.results_until(state, &Cancel::new())
    }

    fn results_until(&self, state: &State, cancel: &Cancel) -> Result<Vec<State>> {
        if !state.finished {
            return Err(Error::NotFinished);
        }
        for c in &state.ciphertexts {
            c.check_set(self.state_params())?;
        }
        match &self.results {
            None => Ok(vec![state.clone()]),
            Some(results) => {
                let eval = self.circuit.eval().clone().until(cancel);
                let halves = eval.leave(results.params(), &state.ciphertexts)?;
                Ok(halves.map(|half| state.with(half)).into())
            }
        }
    }

    /// [`State::xor_public`] on the evaluator's device.
    ///
    /// # Errors
    /// As there, and if the device fails; the state is then unchanged.
    pub fn xor_public(&self, state: &mut State, blocks: &[Block]) -> Result<()> {
        state.xor_public_on(self.device(), self.state_params(), blocks)
    }
}

homaes_wire::debug_fields!(Aes<'_>, part, direction);
