//! The work and the output of a run, known before it starts.

use crate::input::aes_input::AesInput;
use crate::input::split::Split;
use crate::output::Container;
use crate::results::meta::{Meta, TAG_BATCH, TAG_STEPS, encode_steps};
use crate::run::evaluate::Evaluated;
use crate::{Error, Output, Result, Step};
use core::fmt;
use homaes_aes::{Direction, Layout};
use homaes_wire::hex;
use homaes_wire::{CHECKSUM_BYTES, Contents, Header, WireError, Writer};

/// Separates these digests from others.
const RUN_CONTEXT: &str = "homaes job 1";

/// Identifies a computation by message, keys and layout. Two runs with the same id write the same bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RunId(pub [u8; 32]);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunId({self})")
    }
}

/// A run with its message, batches and output. Made by [`Transcipher::plan`](crate::Transcipher::plan).
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) message: AesInput,
    /// The layout of AES.
    pub(crate) layout: Layout,
    pub(crate) direction: Direction,
    /// The batches of AES; results that cross a bridge have other batches in the file.
    pub(crate) split: Split,
    pub(crate) meta: Meta,
    /// Whether results cross a bridge.
    pub(crate) crosses: bool,
    pub(crate) header: Header,
    /// Tags and bodies of the records before the batches.
    pub(crate) front: Vec<(u16, Vec<u8>)>,
    /// BLAKE3 of the header and these.
    pub(crate) front_digest: [u8; 32],
    /// Record length of a full batch and of the last one.
    pub(crate) batch_bytes: [u64; 2],
    /// The last checksums of the key files.
    pub(crate) keys: [[u8; CHECKSUM_BYTES]; 3],
}

impl Plan {
    /// The message.
    #[must_use]
    pub fn message(&self) -> &AesInput {
        &self.message
    }

    /// The file's description of the message.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The layout in which AES is evaluated.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The batches of the message.
    #[must_use]
    pub fn split(&self) -> Split {
        self.split
    }

    /// The header of the file of results.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Length of the file of results.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.header.file_bytes()
    }

    /// The id of the run; reads the whole message.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn id(&self) -> Result<RunId> {
        Ok(self.id_of(&self.message.digests()?))
    }

    /// The id of the run, given the BLAKE3 digests of its parts ([`AesInput::digests`]).
    #[must_use]
    pub fn id_of(&self, parts: &[[u8; 32]]) -> RunId {
        let mut hasher = blake3::Hasher::new_derive_key(RUN_CONTEXT);
        // covers set, key id, layout, level, blocks per batch, and the mode and length of each part
        hasher.update(&self.front_digest);
        self.keys.iter().for_each(|key| {
            hasher.update(key);
        });
        parts.iter().for_each(|part| {
            hasher.update(part);
        });
        RunId(hasher.finalize().into())
    }

    /// The start of the file: its header and the records before the batches.
    ///
    /// # Errors
    /// Only for a fault of this program.
    pub fn front(&self) -> Result<Vec<u8>> {
        front_bytes(&self.header, &self.front)
    }

    pub(crate) fn begin(&self, output: Output) -> Result<Results> {
        let mut file = output.container(self.header.clone())?;
        for (tag, body) in &self.front {
            file.record(*tag, 0, body)?;
        }
        Ok(Results { file, next: 0 })
    }

    pub(crate) fn front_records(&self) -> u64 {
        self.front.len() as u64
    }
}

/// A file of results whose front is written.
pub(crate) struct Results {
    pub(crate) file: Container,
    pub(crate) next: u64,
}

impl Results {
    /// Writes the records of a batch, making one while another is written.
    pub(crate) fn batch(&mut self, done: Evaluated<'_>) -> Result<()> {
        let mut records = done.records;
        let mut ready = records.next();
        while let Some(body) = ready {
            let body = body.map_err(|source| Error::batch(done.index, source))?;
            let write = || self.file.record(TAG_BATCH, self.next, &body);
            let (written, following) = rayon::join(write, || records.next());
            written?;
            self.next += 1;
            ready = following;
        }
        Ok(())
    }

    /// Writes the last record; `timed`: with the seconds of the steps.
    pub(crate) fn steps(&mut self, steps: &[Step], timed: bool) -> Result<()> {
        let steps = encode_steps(steps, timed);
        self.file.record(TAG_STEPS, 0, &steps)
    }
}

/// Contents of a file with these records and batches of length `full`, except the last one.
pub(crate) fn contents(front: &[(u16, Vec<u8>)], meta: &Meta, [full, last]: [u64; 2]) -> Contents {
    let sum = |sum: Contents, (_, body): &(u16, Vec<u8>)| sum.record(body.len() as u64);
    let contents = front.iter().fold(Contents::default(), sum);
    let contents = match meta.split.batches().checked_sub(1) {
        None => contents,
        // the last batch may be shorter
        Some(others) => contents.records(others, full).record(last),
    };
    contents.record(meta.steps_bytes())
}

/// The front of a file: the header and the records before the batches.
pub(crate) fn front_bytes(header: &Header, front: &[(u16, Vec<u8>)]) -> Result<Vec<u8>> {
    let written = || {
        let mut writer = Writer::new(Vec::new(), header.clone())?;
        for (tag, body) in front {
            writer.write_record(*tag, 0, body)?;
        }
        Ok(std::mem::take(writer.output()))
    };
    written().map_err(in_memory)
}

pub(crate) fn in_memory(source: WireError) -> Error {
    Error::file("<memory>".as_ref(), source)
}
