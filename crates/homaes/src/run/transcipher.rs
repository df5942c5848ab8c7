//! Runs from file to file: keys and message in, `.hct` file and report out.

use crate::error::{other_direction, quoted};
use crate::input::aes_input::AesInput;
use crate::input::batch::Batches;
use crate::input::split::Split;
use crate::keys::write;
use crate::machine::disk;
use crate::machine::memory;
use crate::machine::pool::Pool;
use crate::output::{folder_of, refuse_unfinished_name};
use crate::results::meta::{Meta, TAG_META, TAG_PARTS, TAG_TARGET};
use crate::run::evaluate::{Evaluated, on_gpus, transcipher};
use crate::run::plan::{Plan, contents, front_bytes, in_memory};
use crate::{
    AesFile, BridgeKey, Cancel, Devices, Error, ErrorKind, EvalKey, Measured, Output, Progress,
    Report, Result, SchemeError, SecretKey, Set, WrappedKey,
};
use homaes_aes::{Block, Direction, Layout};
use homaes_scheme::Warn;
use homaes_scheme::traits::Circuit;
use homaes_wire::{CHECKSUM_BYTES, Header, Kind};
use std::any::Any;
use std::cmp::Reverse;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::available_parallelism;
use std::time::Instant;

type Watch<'k> = Box<dyn FnMut(Progress) + Send + 'k>;

/// Evaluates AES on files under encryption.
pub struct Transcipher<'k> {
    eval: &'k EvalKey,
    wrapped: &'k WrappedKey,
    bridge: Option<&'k BridgeKey>,
    layout: Option<Layout>,
    devices: Devices,
    warn: Warn<'k>,
    /// One per layout of [`Layout::ALL`] and direction of [`Direction::ALL`], prepared on first use.
    circuits: [[OnceLock<Box<dyn Circuit + 'k>>; Direction::ALL.len()]; Layout::ALL.len()],
    pool: Pool,
    cancel: Cancel,
    reproducible: bool,
    watch: Mutex<Watch<'k>>,
}

impl<'k> Transcipher<'k> {
    /// Takes the keys, to run on all cores.
    ///
    /// # Errors
    /// [`Error::Keys`] if they belong to different sets or secret keys.
    pub fn new(eval: &'k EvalKey, wrapped: &'k WrappedKey) -> Result<Self> {
        let threads = available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self::with_threads(eval, wrapped, threads)
    }

    /// As [`new`](Self::new) with a number of worker threads, which does not change the ciphertexts. If fewer threads
    /// start, those do all the work: see [`threads`](Self::threads).
    pub fn with_threads(
        eval: &'k EvalKey,
        wrapped: &'k WrappedKey,
        threads: NonZeroUsize,
    ) -> Result<Self> {
        wrapped.check_of(eval.set().id(), eval.key_id())?;
        let pool = Pool::new(threads.get());
        Ok(Self {
            eval,
            wrapped,
            bridge: None,
            layout: None,
            devices: Devices::Auto,
            warn: Arc::new(|_| ()),
            circuits: Default::default(),
            pool,
            cancel: Cancel::new(),
            reproducible: false,
            watch: Mutex::new(Box::new(|_| ())),
        })
    }

    /// Evaluates in `layout`, instead of the choice of [`layout_for`](Self::layout_for).
    ///
    /// # Errors
    /// [`Error::Keys`] if the wrapped key has no round keys for it, or the evaluation key no keys.
    pub fn layout(self, layout: Layout) -> Result<Self> {
        self.checked_level(layout)?;
        let layout = Some(layout);
        Ok(Self { layout, ..self })
    }

    /// Converts results by `bridge`, to a `.hct` file of a TFHE set, or to a `.hlw` file of LWE ciphertexts under a
    /// user's client key of the crate `tfhe`.
    ///
    /// # Errors
    /// [`Error::Keys`] if the bridge is of another set or secret key.
    pub fn via_bridge(self, bridge: &'k BridgeKey) -> Result<Self> {
        bridge.check(self.eval)?;
        Ok(Self {
            bridge: Some(bridge),
            circuits: Default::default(),
            ..self
        })
    }

    /// Evaluates on these devices, by default [`Devices::Auto`]. The ciphertexts do not depend on it.
    ///
    /// A run fails at its start if a GPU cannot be used, or cannot evaluate this set and layout: see
    /// [`Devices::check`].
    #[must_use]
    pub fn on(self, devices: Devices) -> Self {
        Self {
            devices,
            circuits: Default::default(),
            ..self
        }
    }

    /// Receives a line of text if an expected GPU is not used, or if one failed and the processor continues.
    #[must_use]
    pub fn warn(self, warn: impl Fn(&str) + Send + Sync + 'k) -> Self {
        let warn: Warn<'k> = Arc::new(warn);
        Self { warn, ..self }
    }

    /// The devices that evaluate.
    #[must_use]
    pub fn devices(&self) -> &Devices {
        &self.devices
    }

    /// Calls `watch` from the workers, one at a time, after every round of every batch.
    #[must_use]
    pub fn watch(self, watch: impl FnMut(Progress) + Send + 'k) -> Self {
        let watch: Mutex<Watch<'k>> = Mutex::new(Box::new(watch));
        Self { watch, ..self }
    }

    /// Lets `cancel` end runs within a second: they return [`Error::Cancelled`], and no output appears.
    #[must_use]
    pub fn cancel(self, cancel: Cancel) -> Self {
        Self { cancel, ..self }
    }

    /// Whether every run with the same keys and input writes the same bytes. The last record then has 0 for the seconds
    /// of the steps.
    #[must_use]
    pub fn reproducible(self, reproducible: bool) -> Self {
        Self {
            reproducible,
            ..self
        }
    }

    /// Number of working threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// The parameter set of the keys.
    #[must_use]
    pub fn set(&self) -> &Set {
        self.eval.set()
    }

    /// The level of the output of AES in `layout`, which both keys must have.
    fn checked_level(&self, layout: Layout) -> Result<usize> {
        let level = self.wrapped.checked_level(layout)?;
        self.eval.check_layout(layout)?;
        Ok(level)
    }

    /// The layout for a message of `blocks` AES blocks: the requested one, otherwise the cheapest that both keys have.
    ///
    /// The cost of a layout is its number of batches times the cost of a batch, 10 sliced for 1 packed: a short message
    /// does not fill the slots of a sliced batch.
    ///
    /// # Errors
    /// [`Error::Keys`] if the two keys have no layout in common.
    pub fn layout_for(&self, blocks: u64) -> Result<Layout> {
        if let Some(layout) = self.layout {
            return Ok(layout);
        }
        let (wrapped, held) = (self.wrapped.layouts(), self.eval.layouts());
        let common = wrapped.iter().filter(|layout| held.contains(layout));
        let sized = common.map(|&layout| {
            let blocks_per_batch = self.set().blocks_per_batch(layout);
            (layout, blocks_per_batch)
        });
        match cheapest(blocks, sized) {
            Some(layout) => Ok(layout),
            None => {
                let layout = wrapped.first().copied().unwrap_or(Layout::Sliced);
                self.checked_level(layout).map(|_| layout)
            }
        }
    }

    /// The work and the output of a run on `message`, an [`AesFile`] or many.
    ///
    /// # Errors
    /// `ErrorKind::Direction` if the wrapped key is for the other direction of AES; `ErrorKind::KeyName` if it holds many
    /// AES keys and a part names none of them; [`Error::Keys`] if the two keys have no layout in common.
    pub fn plan(&self, message: impl Into<AesInput>) -> Result<Plan> {
        let message = message.into();
        // one direction, also of a key for both
        let mut directions = self.wrapped.directions();
        let modes = || message.parts().iter().map(AesFile::mode);
        if let Some(first) = modes().next() {
            directions.retain(|&direction| direction == first.direction());
        }
        let direction = directions.first().copied();
        if let Some(mode) = modes().find(|mode| direction != Some(mode.direction())) {
            return Err(other_direction(mode));
        }
        let direction = direction.unwrap_or(Direction::Encrypt);
        message.paths().try_for_each(refuse_unfinished_name)?;
        let layout = self.layout_for(message.blocks())?;
        let level = self.wrapped.checked_level(layout)?;
        if let Some(bridge) = self.bridge {
            bridge.check_level(level)?;
        }
        let blocks_per_batch = self.set().blocks_per_batch(layout);
        let names = self.wrapped.names();
        let message = match (&names[..], message.named_key(), self.bridge) {
            ([], None, _) => message,
            ([], Some(name), _) => return Err(one_key(name)),
            (_, _, None) => message.under(&names, self.set().blocks_per_record(layout))?,
            (_, _, Some(_)) => {
                let message = "--bridge: a wrapped key with many AES keys, expected one";
                return Err(Error::refused(ErrorKind::Argument, message));
            }
        };
        let split = Split {
            blocks_per_batch,
            ..message.split(blocks_per_batch)
        };
        // results have this layout and level unless they cross
        let (size, parts) = (self.wrapped.key_size(), message.meta());
        let (meta, user) = match self.bridge {
            None => {
                let blocks_per_batch = self.set().blocks_per_record(layout);
                let split = Split {
                    blocks_per_batch,
                    ..split
                };
                let meta = Meta::new(parts, size, (layout, level), split);
                let places = message.places().cloned();
                (Meta { places, ..meta }, None)
            }
            Some(bridge) => {
                let blocks_per_batch = bridge.blocks_per_record();
                let split = Split {
                    blocks_per_batch,
                    ..split
                };
                let meta = Meta::new(parts, size, (Layout::Bits, 1), split);
                (meta, bridge.user())
            }
        };
        let mut front = vec![(TAG_META, meta.encode())];
        front.extend(meta.encode_parts().map(|body| (TAG_PARTS, body)));
        front.extend(user.map(|body| (TAG_TARGET, body)));
        let last = meta.split.batches().saturating_sub(1);
        let batch_bytes = [0, last].map(|batch| match self.bridge {
            None => self.set().params().batch_bytes(meta.shape(batch)),
            Some(bridge) => bridge.record_bytes(meta.shape(batch)),
        });
        let (kind, set, id) = match self.bridge {
            None => (Kind::Ciphertext, self.set(), self.eval.key_id()),
            Some(bridge) => bridge.results(),
        };
        let contents = contents(&front, &meta, batch_bytes);
        let header = Header::new(kind, set.name(), *set.digest(), id, contents);
        let header = header.map_err(in_memory)?.of_version(meta.version());
        let front_digest = blake3::hash(&front_bytes(&header, &front)?).into();
        Ok(Plan {
            message,
            layout,
            direction,
            split,
            meta,
            crosses: self.bridge.is_some(),
            header,
            front,
            front_digest,
            batch_bytes,
            keys: self.keys(),
        })
    }

    /// The last checksums of the files of evaluation key, wrapped key and bridge key; zeros without a bridge.
    pub(crate) fn keys(&self) -> [[u8; CHECKSUM_BYTES]; 3] {
        let bridge = self.bridge.map(|bridge| *bridge.checksum());
        [
            *self.eval.checksum(),
            *self.wrapped.checksum(),
            bridge.unwrap_or_default(),
        ]
    }

    pub(crate) fn report(&self, plan: &Plan) -> Report {
        let mut report = Report::new(self.set().scheme(), plan.layout);
        report.threads = self.pool.threads();
        (report.bytes, report.blocks) = (plan.message.bytes(), plan.message.blocks());
        report.batch_log2_p_fail = match self.bridge {
            None => self.set().card().log2_p_fail,
            Some(bridge) => bridge.log2_p_fail(),
        };
        report.file_bytes = plan.file_bytes();
        report
    }

    /// Evaluates `message`, an [`AesFile`] or many, into `output`, a `.hct` file.
    ///
    /// # Errors
    /// The first failure: those of [`plan`](Self::plan), `ErrorKind::OwnInput` if `output` is a file of the message or of
    /// a key, [`Error::Memory`], or `ErrorKind::Disk` if there is no room for the file; `output` then does not appear.
    pub fn run(&self, message: impl Into<AesInput>, output: Output) -> Result<Report> {
        let plan = self.plan(message)?;
        output.refuse_own_input(self.inputs(&plan))?;
        memory::check(self.set().params().memory_of_run(plan.layout))?;
        if output.is_file() {
            disk::check(folder_of(output.path()), plan.file_bytes())?;
        }
        let mut results = plan.begin(output)?;
        let all = 0..plan.split.batches();
        let report = self.evaluate(&plan, all, &mut |done| results.batch(done))?;
        results.steps(&report.steps, !self.reproducible)?;
        results.file.commit()?;
        Ok(report)
    }

    /// Writes the round keys of `plan` to `output`, a `.hwk` file. As the wrapped key of later runs it spares them the
    /// expansion of a compact one. It is as large as the round keys in memory, and its results are the same.
    ///
    /// # Errors
    /// [`Error::Keys`] if the scheme has no such files; `ErrorKind::OwnInput` if `output` is the file of a key.
    pub fn save_round_keys(&self, plan: &Plan, output: Output) -> Result<()> {
        output.refuse_own_input([self.eval.path(), self.wrapped.path()])?;
        let Some(round_keys) = self.circuit(plan.layout, plan.direction)?.round_keys() else {
            let set = self.set().name();
            return Err(Error::keys(SchemeError::NoRoundKeys { set }));
        };
        write(output, &*round_keys)?.commit()
    }

    pub(crate) fn inputs<'p>(&'p self, plan: &'p Plan) -> impl Iterator<Item = &'p Path> {
        let keys = [self.eval.path(), self.wrapped.path()];
        plan.message.paths().chain(keys)
    }

    /// Encrypts or decrypts `input`, at most one batch, and measures the noise after the key addition and every round.
    /// For measurements only: nobody else has both keys.
    ///
    /// # Errors
    /// [`Error::Keys`] if `secret` is not that of the keys, or the wrapped key has no layout; [`Error::Content`] if there
    /// are more blocks than a batch holds.
    pub fn measure_noise(&self, secret: &SecretKey, input: &[Block]) -> Result<Vec<Measured>> {
        self.wrapped.check_of(secret.set().id(), secret.id())?;
        let layout = self.layout_for(input.len() as u64)?;
        let circuit = self.circuit(layout, self.wrapped.directions()[0])?;
        let measure = |quality, state: &dyn Any| {
            let noise_bits = secret.key.measure_noise(state)?;
            Ok(Measured {
                quality,
                noise_bits,
            })
        };
        let run = || {
            let mut found = Vec::new();
            let mut step = |_: usize, quality, state: &dyn Any| found.push(measure(quality, state));
            circuit.run(input, &[], &self.cancel, &mut step)?;
            found.into_iter().collect::<Result<_, SchemeError>>()
        };
        let found = self.pool.install(run);
        found.map_err(|source| Error::batch(0, source))
    }

    /// Evaluates the batches `range`, and passes each to `write`, in order.
    pub(crate) fn evaluate<'t>(
        &'t self,
        plan: &Plan,
        range: Range<u64>,
        write: &mut (dyn FnMut(Evaluated<'t>) -> Result<()> + Send),
    ) -> Result<Report> {
        let Plan { message, split, .. } = plan;
        let mut report = self.report(plan);
        if range.is_empty() {
            message.finish()?;
            return Ok(report);
        }
        let mut batches = Batches::new(message, *split, range);
        let start = Instant::now();
        let circuit = self.circuit(plan.layout, plan.direction)?;
        report.setup_seconds = start.elapsed().as_secs_f64();
        let watch = |batch, round, step| {
            // a watcher that panicked is called again
            let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
            watch(Progress {
                batch,
                batches: split.batches(),
                round,
                rounds: self.wrapped.key_size().rounds(),
                step,
            });
        };
        let in_flight = report.scheme.batches_in_flight(report.threads);
        let alone = in_flight == 1 && circuit.batches_on_gpus() == 0;
        let (before, start) = (circuit.meter(), Instant::now());
        let mut take = |done: Evaluated<'t>| {
            report.add(done.quality, &done.steps);
            report.add_device(done.gpu.as_deref(), done.seconds);
            if alone {
                report.add_stages(&done.stages);
            }
            write(done)
        };
        let cancel = &self.cancel;
        // threads that wait for GPUs: one per batch in flight
        let most = circuit.batches_on_gpus();
        let waiting = (most > self.pool.threads()).then(|| Pool::new(most));
        if let Some(workers) = waiting.as_ref().unwrap_or(&self.pool).workers() {
            on_gpus(circuit, cancel, &mut batches, workers, &watch, &mut take)?;
        }
        // all batches, or those that the GPUs left
        self.pool
            .install(|| transcipher(circuit, cancel, &mut batches, in_flight, &watch, take))?;
        message.finish()?;
        report.seconds = start.elapsed().as_secs_f64();
        report.take(&before, &circuit.meter());
        Ok(report)
    }

    /// The circuit of a layout and direction, prepared once.
    fn circuit(&self, layout: Layout, direction: Direction) -> Result<&(dyn Circuit + 'k)> {
        let place = &self.circuits[layout as usize][direction as usize];
        if let Some(circuit) = place.get() {
            return Ok(&**circuit);
        }
        let what = (self.set(), layout, self.bridge.is_some());
        let start = || self.devices.start(what, self.warn.clone());
        let gpus = self.pool.install(start)?;
        let prepare = || match self.bridge {
            None => (self.wrapped).circuit(self.eval, (layout, direction), gpus, &self.cancel),
            Some(bridge) => {
                let how = (layout, direction);
                bridge.circuit(self.eval, self.wrapped, how, gpus, &self.cancel)
            }
        };
        let circuit = self.pool.install(prepare)?;
        Ok(&**place.get_or_init(|| circuit))
    }
}

homaes_wire::debug_fields!(Transcipher<'_>, eval, layout, pool);

/// The error if a part names an AES key and the wrapped key holds one without a name.
fn one_key(name: &str) -> Error {
    let found = quoted(name);
    let message = format!(
        "the AES key of a part: found {found}, expected none: the wrapped key holds one AES key, without a name"
    );
    Error::refused(ErrorKind::KeyName, message)
}

/// The cheapest layout for a message of `blocks`, of equal ones that with larger batches. `layouts` holds the blocks
/// per batch.
fn cheapest(blocks: u64, layouts: impl Iterator<Item = (Layout, u64)>) -> Option<Layout> {
    let best = layouts.min_by_key(|&(layout, blocks_per_batch)| {
        let batches = blocks.max(1).div_ceil(blocks_per_batch);
        let cost = batches.saturating_mul(batch_cost(layout));
        (cost, Reverse(blocks_per_batch))
    });
    best.map(|(layout, _)| layout)
}

/// Relative cost of a batch, by `bench --layout`. A batch of bits has eight times the ciphertexts of a sliced one, and
/// more products for each.
const fn batch_cost(layout: Layout) -> u64 {
    match layout {
        Layout::Packed => 1,
        Layout::Sliced => 10,
        Layout::Bits => 100,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Layout::{Bits, Packed, Sliced};

    #[test]
    fn short_messages_are_packed_and_long_ones_sliced() {
        let layouts = [(Packed, 128), (Bits, 2048), (Sliced, 2048)];
        for (blocks, layout) in [
            (0, Packed),
            (1, Packed),
            (128, Packed),
            (9 * 128, Packed),
            (9 * 128 + 1, Sliced),
            (2048, Sliced),
            (2049, Packed),
            (2 * 1280, Sliced),
            (u64::MAX, Sliced),
        ] {
            assert_eq!(cheapest(blocks, layouts.into_iter()), Some(layout));
        }
        assert_eq!(cheapest(1, [(Bits, 16)].into_iter()), Some(Bits));
        assert_eq!(cheapest(1, [].into_iter()), None);
    }

    #[test]
    fn every_layout_has_its_place() {
        for (place, layout) in Layout::ALL.into_iter().enumerate() {
            assert_eq!(layout as usize, place);
        }
        for (place, direction) in Direction::ALL.into_iter().enumerate() {
            assert_eq!(direction as usize, place);
        }
    }
}
