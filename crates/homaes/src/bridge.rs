//! Bridges turn BGV results into LWE ciphertexts on which TFHE continues, or RLWE ciphertexts for libraries of CKKS.
//!
//! ```text
//! .hwk, .hek, AES ciphertext ─► AES on BGV ─► SlotsToLwe::cross ─┬► .hct of a TFHE set
//!                                                                ├► .hlw under a user's client key of the crate tfhe,
//!                                                                │  32 blocks per record
//!                                                                └► .hrl under a link key for CKKS libraries,
//!                                                                   an RLWE ciphertext per record
//! ```
//!
//! `docs/noise.md` has the derivation.

pub(crate) mod crossed_file;
#[cfg(feature = "tfhe-rs")]
mod export;
mod lattigo;
mod link;
mod npz;
mod packed;

pub use lattigo::{Lattigo, export_lattigo};
pub use link::LinkKey;
pub use npz::export_npz;
pub use packed::Packed;

#[cfg(feature = "tfhe-rs")]
pub use export::{Exported, export_fheuint8, read_client_key, read_fheuint8};

use crate::error::At;
use crate::keys::random;
use crate::keys::write;
use crate::machine::memory;
use crate::machine::pool::Pool;
use crate::{
    Cancel, Error, ErrorKind, EvalKey, Output, Quality, Result, Scheme, SchemeError, SecretKey,
    Set, Step, WrappedKey,
};
use homaes_aes::{Block, Direction, Layout};
use homaes_bgv::{Aes, LIFT_LEVEL, State};
use homaes_bridge::{Crossed, Fitness, Numbers, Other, SlotsToLwe, bytes_level};
use homaes_scheme::traits::{BatchRecords, Circuit, Finished, Shape};
use homaes_scheme::{
    Gpu, Gpus, MAX_LOG2_P_FAIL, OnGpus, Reading, RunOptions, log2_p_any, mismatch,
};
use homaes_wire::{CHECKSUM_BYTES, KeyId, Kind, Reader, WireError};
use rayon::prelude::*;
use std::any::Any;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Multiplications left on results of K where a crossing begins: they carry more noise, which falls below what bridge
/// keys allow for on the way to its level.
const FROM_K: usize = 8;

/// Blocks per record under a user's key.
pub(crate) const BLOCKS_PER_RECORD: u64 = 32;

/// Converts from a BGV secret key to a TFHE key or a link key. Public, for the server.
pub struct BridgeKey {
    key: homaes_bridge::BridgeKey,
    set: Set,
    /// The TFHE set; `None` for a user of the crate `tfhe` and for a link key.
    end: Option<End>,
    /// The last checksum of its file; zeros without a file.
    checksum: [u8; CHECKSUM_BYTES],
}

struct End {
    set: Set,
    params: Arc<homaes_tfhe::Params>,
}

fn own<T: Any>(object: &dyn Any) -> Option<&T> {
    object.downcast_ref()
}

impl<T> At<T> for homaes_bridge::Result<T> {
    fn at(self, path: &Path) -> Result<T> {
        self.map_err(SchemeError::of).at(path)
    }
}

/// Whether a file is a secret key of this project.
///
/// # Errors
/// [`Error::Io`] if it cannot be read; [`Error::File`] if it is another file of this project, or a damaged one.
pub fn is_secret_key(path: impl AsRef<Path>) -> Result<bool> {
    let path = path.as_ref();
    match Reader::open(path, Kind::SecretKey) {
        Ok(_) => Ok(true),
        Err(WireError::NotHomaes { .. }) => Ok(false),
        Err(source) => Err(Error::file(path, source)),
    }
}

impl Set {
    /// Checks that bridges lead from this BGV set to keys of the TFHE set `other`.
    ///
    /// # Errors
    /// [`Error::Keys`] if they do not.
    pub fn check_bridge(&self, other: &Self) -> Result<()> {
        let from = self
            .params_of()
            .ok_or_else(|| Error::keys(no_bridge(self)))?;
        let to = other
            .params_of()
            .ok_or_else(|| Error::keys(not_an_end(other)))?;
        check_dimension(&from, &to)
    }

    /// Whether a bridge can convert results of AES under this set.
    #[must_use]
    pub fn has_bridges(&self) -> bool {
        let params = self.params_of::<homaes_bgv::Params>();
        params.is_some_and(|params| params.bridge_ring().is_some())
    }
}

impl BridgeKey {
    /// Leads from `secret`, of a BGV set with multiplications left on bytes after AES, to `other`, of a TFHE set on
    /// bits.
    ///
    /// # Errors
    /// [`Error::Keys`] if they are of other sets, `ErrorKind::UnfitKey`, [`Error::Random`].
    pub fn generate(secret: &SecretKey, other: &SecretKey) -> Result<Self> {
        let end = own::<homaes_tfhe::SecretKey>(&*other.key);
        let end = end.ok_or_else(|| Error::keys(not_an_end(&other.set)))?;
        Self::with(secret, |own, rng| {
            homaes_bridge::BridgeKey::to_tfhe(own, end, rng)
        })
    }

    /// Leads from `secret`, of a BGV set with multiplications left on bytes after AES, to a user's key of the crate
    /// `tfhe`.
    ///
    /// # Errors
    /// [`Error::Keys`] if the set has no bridges, if `client` has other parameters than two message bits and two carry
    /// bits under 2048 key bits, or if its bits were not drawn at random; `ErrorKind::UnfitKey`, [`Error::Random`].
    #[cfg(feature = "tfhe-rs")]
    pub fn to_client(secret: &SecretKey, client: &tfhe::ClientKey) -> Result<Self> {
        Self::with(secret, |own, rng| {
            homaes_bridge::BridgeKey::to_client(own, client, rng)
        })
    }

    fn with(
        secret: &SecretKey,
        make: impl FnOnce(
            &homaes_bgv::SecretKey,
            &mut rand_chacha::ChaCha20Rng,
        ) -> homaes_bridge::Result<homaes_bridge::BridgeKey>,
    ) -> Result<Self> {
        let own = own::<homaes_bgv::SecretKey>(&*secret.key);
        let own = own.ok_or_else(|| Error::keys(no_bridge(&secret.set)))?;
        let key = make(own, &mut random::generator()?).map_err(Error::keys)?;
        Self::of(key, secret.set.clone())
    }

    fn of(key: homaes_bridge::BridgeKey, set: Set) -> Result<Self> {
        let end = match key.target().other {
            Other::User { .. } | Other::Link { .. } => None,
            Other::Set(name) => {
                let set = Set::named(name)?;
                let params = set
                    .params_of()
                    .ok_or_else(|| Error::keys(not_an_end(&set)))?;
                check_dimension(key.params(), &params)?;
                Some(End { set, params })
            }
        };
        Ok(Self {
            key,
            set,
            end,
            checksum: [0; CHECKSUM_BYTES],
        })
    }

    /// Writes the key to a file.
    ///
    /// # Errors
    /// `ErrorKind::AlreadyExists` or [`Error::Io`].
    pub fn save(&self, output: Output) -> Result<()> {
        write(output, &self.key)?.commit()
    }

    /// Reads a `.hbk` file for use with `eval`.
    ///
    /// # Errors
    /// The first fault of the file, including another set or another secret key.
    pub fn open(path: impl AsRef<Path>, eval: &EvalKey) -> Result<Self> {
        let path = path.as_ref();
        let set = eval.set().clone();
        let reader = Reader::open(path, Kind::BridgeKey).at(path)?;
        set.check_own(&reader, eval.key_id())?;
        memory::check(reader.header().file_bytes())?;
        let own = eval.of_scheme::<homaes_bgv::EvalKey>();
        let own = own.ok_or_else(|| no_bridge(&set)).at(path)?;
        let checksum = reader.last_checksum().at(path)?;
        let key = Pool::new(0).install(|| homaes_bridge::BridgeKey::read(own.params(), reader));
        let key = Self::of(key.at(path)?, set)?;
        Ok(Self { checksum, ..key })
    }

    /// Its BGV set.
    #[must_use]
    pub fn set(&self) -> &Set {
        &self.set
    }

    /// Identifies its BGV secret key.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        self.key.key_id()
    }

    /// Describes the key that it leads to.
    #[must_use]
    pub fn end(&self) -> String {
        self.key.target().other.to_string()
    }

    /// Whether it leads to a link key.
    #[must_use]
    pub fn is_link(&self) -> bool {
        matches!(self.key.target().other, Other::Link { .. })
    }

    /// How often a batch is converted wrongly if its results of AES are right. Only the client who made the key knows
    /// this: it is `None` for a key from a file.
    #[must_use]
    pub fn fitness(&self) -> Option<Fitness> {
        self.key.fitness()
    }

    pub(crate) fn checksum(&self) -> &[u8; CHECKSUM_BYTES] {
        &self.checksum
    }

    pub(crate) fn blocks_per_record(&self) -> u64 {
        match &self.end {
            Some(end) => end.set.blocks_per_batch(Layout::Bits),
            None => blocks_per_record(&self.set, self.results().0),
        }
    }

    pub(crate) fn results(&self) -> (Kind, &Set, KeyId) {
        let id = self.key.target().id;
        match &self.end {
            Some(end) => (Kind::Ciphertext, &end.set, id),
            None if self.is_link() => (Kind::Packed, &self.set, id),
            None => (Kind::Values, &self.set, id),
        }
    }

    /// Describes whose key the bridge leads to, unless it is that of a set.
    pub(crate) fn user(&self) -> Option<Vec<u8>> {
        self.end.is_none().then(|| self.key.target().other.encode())
    }

    pub(crate) fn record_bytes(&self, shape: Shape) -> u64 {
        match &self.end {
            Some(end) => homaes_tfhe::batch_bytes(&end.params, shape.blocks),
            None => record_bytes(&self.set, &self.key.target().other, shape),
        }
    }

    /// Checks that it belongs to `eval`.
    pub(crate) fn check(&self, eval: &EvalKey) -> Result<()> {
        let found = (self.set.id(), self.key_id());
        mismatch::check("bridge key", found, (eval.set().id(), eval.key_id())).map_err(Error::keys)
    }

    /// Refuses results of AES with too few multiplications left for the crossing.
    pub(crate) fn check_level(&self, level: usize) -> Result<()> {
        let needed = match self.numbers() {
            Numbers::Bits => 1,
            Numbers::Pairs => LIFT_LEVEL - 1,
            Numbers::Bytes(log2_t) => bytes_level(log2_t) - 1,
        };
        let params = self.set.params_of::<homaes_bgv::Params>();
        let needed = match params.is_some_and(|params| params.set().cipher.is_some()) {
            true => needed.max(FROM_K),
            false => needed,
        };
        let left = level.saturating_sub(1);
        if left >= needed {
            return Ok(());
        }
        let message =
            format!("too few multiplications left for the bridge: found {left}, expected {needed}");
        Err(Error::refused(ErrorKind::BridgeLevels(needed), message).with(left, needed))
    }

    pub(crate) fn log2_p_fail(&self) -> f64 {
        crossed_log2_p_fail(self.set.card().log2_p_fail, self.numbers())
    }

    fn numbers(&self) -> Numbers {
        numbers(&self.key.target().other)
    }

    /// AES under both keys, which must match, in `layout`, followed by the crossing; uses the current thread pool.
    pub(crate) fn circuit<'k>(
        &'k self,
        eval: &'k EvalKey,
        wrapped: &'k WrappedKey,
        (layout, direction): (Layout, Direction),
        gpus: Gpus<'k>,
        cancel: &Cancel,
    ) -> Result<Box<dyn Circuit + 'k>> {
        let keys = eval.of_scheme().zip(wrapped.of_scheme(direction));
        let (eval, wrapped) = keys.ok_or_else(|| Error::keys(no_bridge(&self.set)))?;
        let aes = Aes::new_until(eval, wrapped, layout, cancel).map_err(Error::keys)?;
        Ok(Box::new(Bridged {
            crossing: SlotsToLwe::new(&self.key, self.numbers()).map_err(Error::keys)?,
            end: self.end.as_ref().map(|end| &*end.params),
            gpus: aes.on_gpus(gpus),
            aes,
        }))
    }
}

/// log2 of the bound on the probability that AES or the crossing gives a wrong batch, from a BGV set with this
/// probability. A value of the crate `tfhe` counts as wrong as soon as its noise leaves no room for a first bootstrap.
fn crossed_log2_p_fail(log2_p_fail: f64, numbers: Numbers) -> f64 {
    let most = Fitness::most(log2_p_fail);
    let across = match numbers {
        Numbers::Bits | Numbers::Bytes(_) => most.read_log2,
        Numbers::Pairs => most.used_log2.unwrap_or(most.read_log2),
    };
    (log2_p_fail.exp2() + across.exp2()).log2()
}

/// Only results that crossed are of TFHE and have BGV levels.
pub(crate) fn have_crossed(set: &Set, steps: &[Step]) -> bool {
    set.scheme() == Scheme::Tfhe && steps.iter().any(|step| step.quality.level > 1)
}

/// log2 of the bound on the probability that any of `batches` batches in an `.hct` file is wrong; `None` without
/// batches. For results that crossed, AES was evaluated in at most as many batches, and the file does not name the BGV
/// set: that with the most failures counts.
pub(crate) fn log2_p_fail(set: &Set, steps: &[Step], batches: u64) -> Option<f64> {
    match have_crossed(set, steps) {
        true => log2_p_any(crossed_log2_p_fail(MAX_LOG2_P_FAIL, Numbers::Bits), batches),
        false => set.card().log2_p_fail_of(batches),
    }
}

/// The same for the blocks `blocks` of an `.hlw` or `.hrl` file with results of `set` under the key of `end`. The file
/// does not record the layout of AES, so the layout with most batches counts.
pub(crate) fn values_log2_p_fail(set: &Set, end: &Other, blocks: Range<u64>) -> Option<f64> {
    let last = blocks
        .end
        .checked_sub(1)
        .filter(|&last| last >= blocks.start)?;
    let batches = set.layouts().iter().map(|&layout| {
        let each = set.blocks_per_batch(layout);
        last / each - blocks.start / each + 1
    });
    let each = crossed_log2_p_fail(set.card().log2_p_fail, numbers(end));
    log2_p_any(each, batches.max()?)
}

/// Checks that a bridge can lead from one set to the other.
fn check_dimension(from: &homaes_bgv::Params, to: &homaes_tfhe::Params) -> Result<()> {
    let set = to.set().name.as_str();
    let homaes_tfhe::Variant::Bits(bits) = &to.set().variant else {
        return Err(Error::keys(homaes_bridge::Error::NoEnd { set }));
    };
    let (found, set) = (bits.rank * bits.degree, from.set().name.as_str());
    match from.bridge_ring().map(|ring| ring.n()) {
        Some(expected) if expected == found => Ok(()),
        Some(expected) => Err(Error::keys(homaes_bridge::Error::Dimension {
            found,
            expected,
            set,
        })),
        None => Err(Error::keys(homaes_bridge::Error::NoBridge { set })),
    }
}

fn not_an_end(set: &Set) -> homaes_bridge::Error {
    homaes_bridge::Error::NoEnd { set: set.name() }
}

pub(crate) fn no_bridge(set: &Set) -> homaes_bridge::Error {
    homaes_bridge::Error::NoBridge { set: set.name() }
}

/// What crosses to such a key.
fn numbers(end: &Other) -> Numbers {
    match *end {
        Other::Set(_) => Numbers::Bits,
        Other::User { .. } => Numbers::Pairs,
        Other::Link { log2_t } => Numbers::Bytes(log2_t),
    }
}

/// Length of a record under the key of `end`, a user or a link.
pub(crate) fn record_bytes(set: &Set, end: &Other, shape: Shape) -> u64 {
    let params = set.params_of();
    params.map_or(0, |params| match end {
        Other::Link { .. } => homaes_bridge::rlwe_bytes(&params),
        Other::Set(_) | Other::User { .. } => homaes_bridge::record_bytes(&params, shape.blocks),
    })
}

/// Blocks of a record of such a file with results of `set`.
pub(crate) fn blocks_per_record(set: &Set, kind: Kind) -> u64 {
    match kind {
        Kind::Packed => (link_bytes(set) / 16).max(1) as u64,
        _ => BLOCKS_PER_RECORD,
    }
}

/// Bytes in a ciphertext under link keys of `set`, and bits of these.
pub(crate) fn link_bytes(set: &Set) -> usize {
    let params = set.params_of::<homaes_bgv::Params>();
    let ring = params.and_then(|params| params.bridge_ring());
    ring.map_or(0, |ring| ring.n())
}

homaes_wire::debug_fields!(BridgeKey, set, key);

/// AES on BGV under one wrapped key in one layout, followed by the crossing.
struct Bridged<'k> {
    /// on the processor
    aes: Aes<'k>,
    gpus: OnGpus<'k, Aes<'k>>,
    crossing: SlotsToLwe<'k>,
    /// `None` for a user's key and a link key
    end: Option<&'k homaes_tfhe::Params>,
}

impl Bridged<'_> {
    /// AES and the crossing, on the device of `aes`.
    fn crossed(
        &self,
        aes: &Aes<'_>,
        [input, mask]: [&[Block]; 2],
        cancel: &Cancel,
        step: &mut dyn FnMut(usize, Quality, &dyn Any),
    ) -> homaes_bridge::Result<Vec<Crossed>> {
        let mut observe = |round, state: &State| {
            let capacity = state.capacity_bits(aes.state_params());
            let noise = state.noise_bits();
            step(round, Quality::new(state.level(), noise, capacity), state);
        };
        let results = aes.run(input, mask, RunOptions::new(cancel, &mut observe))?;
        let eval = aes.evaluator();
        let crossed = results.into_iter();
        let crossed = crossed.map(|state| self.crossing.cross_until(eval, &state, cancel));
        crossed.collect()
    }

    /// A record of what crossed on `gpu`, if there.
    fn record(
        &self,
        (crossed, gpu): (&Crossed, Option<&Gpu>),
        blocks: Range<usize>,
        cancel: &Cancel,
    ) -> Result<Vec<u8>, SchemeError> {
        let read = || -> homaes_bridge::Result<Vec<u8>> {
            let bytes = 16 * blocks.start..16 * blocks.end;
            match (self.end, self.crossing.numbers()) {
                (Some(params), _) => {
                    let state = self.crossing.state(crossed, blocks.clone(), params)?;
                    Ok(homaes_tfhe::encode_batch(params, &state)?)
                }
                (None, Numbers::Bytes(_)) => self.crossing.rlwe(crossed, bytes, cancel),
                (None, _) => self.crossing.record(crossed, bytes),
            }
        };
        match (read(), gpu) {
            (Err(error), Some(gpu)) if self.falls_back(gpu, &error) => {
                crossed.leave_device();
                Ok(read()?)
            }
            (Err(error), Some(gpu)) => Err(on_gpu(gpu, error)),
            (done, _) => Ok(done?),
        }
    }

    /// Whether another device takes over after this error of a GPU.
    fn falls_back(&self, gpu: &Gpu, error: &homaes_bridge::Error) -> bool {
        use homaes_bridge::Error::Bgv;
        matches!(error, Bgv(homaes_bgv::Error::Device(fault)) if self.gpus.falls_back(gpu, fault))
    }

    /// log2 of the torus distance at which a number is read wrongly.
    fn room_log2(&self) -> f64 {
        -f64::from(self.crossing.numbers().log2_t()) - 1.0
    }
}

fn on_gpu(gpu: &Gpu, error: homaes_bridge::Error) -> SchemeError {
    match error {
        homaes_bridge::Error::Bgv(error) => error.on(gpu).into(),
        error => error.into(),
    }
}

impl Circuit for Bridged<'_> {
    fn run(
        &self,
        input: &[Block],
        mask: &[Block],
        cancel: &Cancel,
        step: &mut dyn FnMut(usize, Quality, &dyn Any),
    ) -> Result<Finished<'_>, SchemeError> {
        let params = self.crossing.key().params();
        let blocks = [input, mask];
        let mut run = |aes: &Aes<'_>| self.crossed(aes, blocks, cancel, step);
        let (gpu, crossed) = loop {
            match self.gpus.run(&mut run) {
                None => break (None, run(&self.aes)?),
                Some((gpu, Ok(crossed))) => break (Some(gpu), crossed),
                Some((gpu, Err(error))) if self.falls_back(&gpu, &error) => {}
                Some((gpu, Err(error))) => return Err(on_gpu(&gpu, error)),
            }
        };
        cancel.check()?;
        let room = self.room_log2();
        let (blocks, cancel) = (input.len(), cancel.clone());
        // by result; the last may be short
        let each = params.blocks_per_batch(self.aes.layout());
        let ranges = move |part: usize| {
            (0..blocks)
                .step_by(each)
                .enumerate()
                .flat_map(move |(result, first)| {
                    let held = each.min(blocks - first);
                    let starts = (0..held).step_by(part);
                    starts.map(move |start| (result, start..held.min(start + part)))
                })
        };
        if let (None, Numbers::Bytes(_)) = (self.end, self.crossing.numbers()) {
            // small, and packing is sequential: the ciphertexts of a batch are made in parallel
            let sigmas = crossed
                .iter()
                .map(|crossed| self.crossing.rlwe_log2(crossed));
            let sigma = sigmas.fold(f64::NEG_INFINITY, f64::max);
            let each: Vec<_> = ranges(self.crossing.key().dimension() / 16).collect();
            let each = each.into_par_iter().with_max_len(1);
            let each: Vec<_> = each
                .map(|(result, blocks)| {
                    self.record((&crossed[result], gpu.as_deref()), blocks, &cancel)
                })
                .collect();
            return Ok(Finished {
                records: Box::new(each.into_iter()),
                quality: Quality::new(1, 64.0 + sigma, room - sigma),
                gpu,
            });
        }
        let sigmas = crossed.iter().map(|crossed| crossed.noise().log2_sigma);
        let sigma = sigmas.fold(f64::NEG_INFINITY, f64::max);
        let part = match self.end {
            Some(params) => params.blocks_per_batch(),
            None => BLOCKS_PER_RECORD as usize,
        };
        let on = gpu.clone();
        let records: BatchRecords<'_> = Box::new(ranges(part).map(move |(result, blocks)| {
            cancel.check()?;
            self.record((&crossed[result], on.as_deref()), blocks, &cancel)
        }));
        Ok(Finished {
            records,
            quality: Quality::new(1, 64.0 + sigma, room - sigma),
            gpu,
        })
    }

    fn batches_on_gpus(&self) -> usize {
        self.gpus.batches()
    }

    fn meter(&self) -> Reading {
        self.aes.meter()
    }
}

#[cfg(test)]
mod tests;
