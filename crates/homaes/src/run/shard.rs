//! Shards hold the results of some batches of a run, each in its own file; together they form the file of results.
//!
//! ```text
//! tag 1, index 0   id of the run (32) ‖ number of the shard (8) ‖ first batch (8) ‖ batches (8)
//!                  ‖ BLAKE3 of the header and the records before the batches in the file of results (32)
//! tag 2, index i   the ciphertexts of batch i of the run, as in the file of results
//! tag 3, index 0   the steps of AES on them, as in the file of results, with 0 for seconds
//! ```
//!
//! A shard is a function of message, keys and layout: every worker computes the same bytes.

use crate::error::{At, malformed};
use crate::machine::memory;
use crate::output::Output;
use crate::results::meta::{
    TAG_BATCH, TAG_META, TAG_STEPS, decode_steps, encode_steps, steps_bytes,
};
use crate::results::report::worst;
use crate::run::plan::{Plan, Results, RunId, in_memory};
use crate::{Error, ErrorKind, Report, Result, Step, Transcipher};
use homaes_wire::{
    Contents, Decoder, Encoder, Front, Header, Kind, RECORD_OVERHEAD, Reader, WireError, Writer,
};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

const NAME_BYTES: u64 = 32 + 3 * 8 + 32;

/// Identifies the run and the batches of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardName {
    /// The run.
    pub run: RunId,
    /// Number of the shard, from 0.
    pub number: u64,
    /// Its first batch.
    pub first: u64,
    /// Number of its batches.
    pub batches: u64,
    /// BLAKE3 of the header and the records before the batches in the file of results.
    pub front: [u8; 32],
}

impl ShardName {
    /// The numbers of its batches.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.first..self.first.saturating_add(self.batches)
    }

    fn encode(&self) -> Vec<u8> {
        Encoder::new()
            .bytes(&self.run.0)
            .u64(self.number)
            .u64(self.first)
            .u64(self.batches)
            .bytes(&self.front)
            .finish()
    }

    pub(crate) fn read<R: Read>(reader: &mut Reader<R>) -> Result<Self, WireError> {
        let body = reader.next_record(TAG_META, NAME_BYTES)?;
        let mut decoder = Decoder::new(&body);
        let run = RunId(decoder.array("id of the run")?);
        let number = decoder.u64("number of the shard")?;
        let first = decoder.u64("first batch")?;
        let batches = decoder.u64("batches")?;
        let front = decoder.array("digest of the front")?;
        decoder.finish("name of the shard")?;
        Ok(Self {
            run,
            number,
            first,
            batches,
            front,
        })
    }

    /// The name of shard `number` of the same run, with as many batches as this one unless the run of `all` batches
    /// ends first.
    fn numbered(self, number: u64, all: u64) -> Self {
        let first = number.saturating_mul(self.batches);
        let batches = self.batches.min(all.saturating_sub(first));
        Self {
            number,
            first,
            batches,
            ..self
        }
    }
}

impl Plan {
    /// The name of shard `number` of this run, of `batches` batches of results each: a multiple of
    /// [`results_per_batch`](Self::results_per_batch).
    #[must_use]
    pub fn shard(&self, run: RunId, number: u64, batches: u64) -> ShardName {
        let first = ShardName {
            run,
            number: 0,
            first: 0,
            batches,
            front: self.front_digest,
        };
        first.numbered(number, self.meta.split.batches())
    }

    fn blocks(&self, name: &ShardName) -> Range<u64> {
        let Range { start, end } = name.range();
        let split = self.meta.split;
        split.first_block(start)..split.first_block(end).min(split.blocks())
    }

    /// Batches of results that one batch of AES gives, except the last one.
    #[must_use]
    pub fn results_per_batch(&self) -> u64 {
        (self.split.blocks_per_batch / self.meta.split.blocks_per_batch).max(1)
    }

    /// BLAKE3 of the ciphertext needed for a shard, and of its places in the parts of the message.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn input_digest(&self, name: &ShardName) -> Result<[u8; 32]> {
        self.message.digest_of(self.blocks(name))
    }

    /// The same plan with the ciphertext needed for a shard in memory, and its [`input_digest`](Self::input_digest).
    /// The digest covers the evaluated bytes, even if somebody writes to a file meanwhile.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn hold(&self, name: &ShardName) -> Result<(Self, [u8; 32])> {
        let (message, digest) = self.message.held(self.blocks(name))?;
        let held = Self {
            message,
            ..self.clone()
        };
        Ok((held, digest))
    }

    fn record_bytes(&self, batch: u64) -> u64 {
        let [full, last] = self.batch_bytes;
        match batch.saturating_add(1) < self.meta.split.batches() {
            true => full,
            false => last,
        }
    }

    /// Length of the file of a shard.
    #[must_use]
    pub fn shard_bytes(&self, name: &ShardName) -> u64 {
        self.shard_header(name)
            .map_or(u64::MAX, |header| header.file_bytes())
    }

    fn shard_header(&self, name: &ShardName) -> Result<Header> {
        let contents = Contents::default().record(NAME_BYTES);
        // all batches but the last of a run have one length
        let others = name.batches.saturating_sub(1);
        let contents = contents
            .records(others, self.record_bytes(name.first))
            .record(self.record_bytes(name.first.saturating_add(others)));
        let contents = contents.record(self.meta.steps_bytes());
        let Self { header, .. } = self;
        let (set, digest, id) = (header.set(), *header.digest(), header.key_id());
        Header::new(Kind::Shard, set, digest, id, contents).map_err(in_memory)
    }
}

impl Transcipher<'_> {
    /// Evaluates the batches of a shard of the run `plan`; returns the content of its file.
    ///
    /// # Errors
    /// As [`run`](Self::run). `ErrorKind::Shard` if the plan was made with other keys, if the run has no such batches,
    /// or if results cross a bridge, which shards do not support.
    pub fn shard(&self, plan: &Plan, name: &ShardName) -> Result<(Vec<u8>, Report)> {
        let (each, all) = (plan.results_per_batch(), plan.meta.split.batches());
        let Range { start, end } = name.range();
        let none = name.batches == 0 || end > all;
        let parted = start % each != 0 || (end % each != 0 && end != all);
        let crosses = plan.crosses;
        let wrong = match () {
            () if plan.keys != self.keys() => Some("keys"),
            () if none || parted || crosses || name.front != plan.front_digest => Some("run"),
            () => None,
        };
        if let Some(what) = wrong {
            return Err(Error::wrong_shard("<memory>", what));
        }
        memory::check(self.set().params().memory_of_run(plan.layout))?;
        let header = plan.shard_header(name)?;
        memory::check(header.file_bytes())?;
        let (output, buffer) = Output::memory();
        let mut file = output.container(header)?;
        file.record(TAG_META, 0, &name.encode())?;
        let next = name.first;
        let mut results = Results { file, next };
        let batches = start / each..end.div_ceil(each);
        let mut report = self.evaluate(plan, batches, &mut |done| results.batch(done))?;
        results.steps(&report.steps, false)?;
        results.file.commit()?;
        let bytes = buffer.take();
        report.file_bytes = bytes.len() as u64;
        Ok((bytes, report))
    }
}

/// A shard in memory with verified checksums.
pub struct Shard {
    /// Its name.
    pub name: ShardName,
    header: Header,
    bytes: Vec<u8>,
    bodies: Vec<Range<usize>>,
    steps: Vec<Step>,
}

homaes_wire::debug_fields!(Shard, name);

impl Shard {
    /// The name in the start of a shard's file, up to the first batch; `path` names the file in errors.
    ///
    /// # Errors
    /// The first fault of these bytes.
    pub fn name_of(front: &[u8], path: &Path) -> Result<ShardName> {
        let name = Reader::of_read(front, None, Kind::Shard, path)
            .and_then(|mut reader| ShardName::read(&mut reader));
        name.at(path)
    }

    /// Reads the file of a shard; `path` names it in errors.
    ///
    /// # Errors
    /// The first fault of the file.
    pub fn read(bytes: Vec<u8>, path: &Path) -> Result<Self> {
        let mut reader = Reader::from_slice(&bytes, Kind::Shard).at(path)?;
        let header = reader.header().clone();
        let name = ShardName::read(&mut reader).at(path)?;
        let mut at = header.header_bytes() + RECORD_OVERHEAD + NAME_BYTES;
        let mut bodies = Vec::new();
        if header.records().checked_sub(2) != Some(name.batches) {
            return Err(malformed("batches", "as many as there are records")).at(path);
        }
        for batch in name.range() {
            let record = reader.begin_record(TAG_BATCH, u64::MAX).at(path)?;
            let head = record.head();
            record.finish().at(path)?;
            if head.index != batch {
                return Err(malformed("batch number", "batches in order")).at(path);
            }
            let start = (at + RECORD_OVERHEAD) as usize - homaes_wire::CHECKSUM_BYTES;
            bodies.push(start..start + head.len as usize);
            at += RECORD_OVERHEAD + head.len;
        }
        let steps = reader
            .next_record(TAG_STEPS, steps_bytes(u64::from(u8::MAX)))
            .and_then(|body| decode_steps(&body, body.len() as u64 / steps_bytes(1)))
            .and_then(|steps| reader.finish().map(|()| steps))
            .at(path)?;
        Ok(Self {
            name,
            header,
            bytes,
            bodies,
            steps,
        })
    }

    /// Checks that it is the wanted shard of a run whose results have this header; `path` names it in errors.
    ///
    /// # Errors
    /// `ErrorKind::Shard`.
    pub fn check(&self, wanted: &ShardName, results: &Header, path: &Path) -> Result<()> {
        let (own, other) = (&self.header, results);
        let same_set = (own.set(), own.digest(), own.key_id())
            == (other.set(), other.digest(), other.key_id());
        let what = match () {
            () if self.name.run != wanted.run || self.name.front != wanted.front => "run",
            () if !same_set => "keys",
            () if self.name != *wanted => "shard",
            () => return Ok(()),
        };
        Err(Error::wrong_shard(path, what))
    }
}

/// Returns the bytes of a shard by its number, with its file name for errors.
pub type Fetch<'s> = Box<dyn FnMut(u64) -> Result<(Vec<u8>, PathBuf)> + Send + 's>;

/// The file of results that the shards of a run form, front to back, with one shard in memory at a time. The bytes
/// equal those of [`Transcipher::run`] when it is [`reproducible`](Transcipher::reproducible).
pub struct Merge<'s> {
    front: Option<Vec<u8>>,
    /// The name of shard 0.
    name: ShardName,
    shards: u64,
    batches: u64,
    writer: Writer<Vec<u8>>,
    fetch: Fetch<'s>,
    /// The current shard, and how many of its batches were read.
    current: Option<(Shard, usize)>,
    next: u64,
    steps: Vec<Step>,
    /// Bytes that [`Read`] has not returned yet.
    left: io::Cursor<Vec<u8>>,
}

homaes_wire::debug_fields!(Merge<'_>, name, shards, next);

impl<'s> Merge<'s> {
    /// The file that begins with `front` ([`Plan::front`]), with `shard_batches` batches per shard.
    ///
    /// # Errors
    /// [`Error::File`] if `front` is not the front of a file of results.
    pub fn new(front: Vec<u8>, run: RunId, shard_batches: u64, fetch: Fetch<'s>) -> Result<Self> {
        let expected = "a header and the records before the batches";
        let wrong = || in_memory(malformed("front of the results", expected));
        let (header, whole) = Front::of_any(&front, Kind::Ciphertext).map_err(in_memory)?;
        let rest = header.records().checked_sub(whole.records());
        // excludes the record of steps
        let batches = rest.and_then(|rest| rest.checked_sub(1));
        let batches = batches.filter(|_| whole.bytes() == front.len() as u64 && shard_batches > 0);
        let batches = batches.ok_or_else(wrong)?;
        let name = ShardName {
            run,
            number: 0,
            first: 0,
            batches: shard_batches,
            front: blake3::hash(&front).into(),
        };
        Ok(Self {
            front: Some(front),
            name,
            shards: batches.div_ceil(shard_batches),
            batches,
            writer: Writer::resume(Vec::new(), header, &whole),
            fetch,
            current: None,
            next: 0,
            steps: Vec::new(),
            left: io::Cursor::default(),
        })
    }

    /// The header of the file.
    #[must_use]
    pub fn header(&self) -> &Header {
        self.writer.header()
    }

    /// Number of shards.
    #[must_use]
    pub fn shards(&self) -> u64 {
        self.shards
    }

    /// The name that shard `number` must have.
    #[must_use]
    pub fn shard(&self, number: u64) -> ShardName {
        self.name.numbered(number, self.batches)
    }

    /// The next bytes of the file; `None` at its end.
    ///
    /// # Errors
    /// The fault of a shard or its source.
    pub fn next_bytes(&mut self) -> Result<Option<Vec<u8>>> {
        if let Some(front) = self.front.take() {
            return Ok(Some(front));
        }
        loop {
            if let Some((shard, at)) = &mut self.current
                && let Some(body) = shard.bodies.get(*at)
            {
                let index = shard.name.first + *at as u64;
                *at += 1;
                let written =
                    self.writer
                        .write_record(TAG_BATCH, index, &shard.bytes[body.clone()]);
                written.map_err(in_memory)?;
                return Ok(Some(std::mem::take(self.writer.output())));
            }
            self.current = None;
            if self.next == self.shards {
                return self.end();
            }
            let (bytes, path) = (self.fetch)(self.next)?;
            let shard = Shard::read(bytes, &path).map_err(Error::in_shard)?;
            let checked = shard.check(&self.shard(self.next), self.header(), &path);
            checked.map_err(Error::in_shard)?;
            worst(&mut self.steps, &shard.steps);
            self.next += 1;
            self.current = Some((shard, 0));
        }
    }

    fn end(&mut self) -> Result<Option<Vec<u8>>> {
        if self.writer.records_left() == 0 {
            return Ok(None);
        }
        let steps = encode_steps(&self.steps, false);
        let written = self.writer.write_record(TAG_STEPS, 0, &steps);
        written.map_err(in_memory)?;
        Ok(Some(std::mem::take(self.writer.output())))
    }
}

impl Error {
    /// The error for a shard of another job, other keys or another number; `what` says which.
    #[must_use]
    pub fn wrong_shard(path: impl Into<PathBuf>, what: &str) -> Self {
        let message = format!("wrong shard: its {what} does not match the job");
        Self::refused(ErrorKind::Shard, message).at(path)
    }

    /// Marks the error as one of a shard.
    #[must_use]
    pub fn in_shard(self) -> Self {
        match self {
            Self::WrongShard(_) | Self::Cancelled | Self::Io { .. } => self,
            error => Self::WrongShard(error.into()),
        }
    }
}

impl Read for Merge<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.left.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            match self.next_bytes() {
                Ok(Some(bytes)) => self.left = io::Cursor::new(bytes),
                Ok(None) => return Ok(0),
                Err(Error::Io { source, .. }) => return Err(source),
                Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            }
        }
    }
}
