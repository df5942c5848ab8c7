//! `job.json`, the plan of a job.

use crate::error::{JobError, Result, refused};
use crate::store::Location;
use homaes::{ErrorKind, Mode, PartMeta};
use homaes_wire::{hex, unhex};
use serde::{Deserialize, Serialize};

pub(crate) const FORMAT: &str = "homaes job 1";

/// Most bytes of the file: a hundred for each of some millions of parts.
pub(crate) const MAX_BYTES: u64 = 1 << 30;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) format: String,
    /// Id of the run: covers set, keys, layout and message.
    pub(crate) id: Hex<32>,
    pub(crate) set: SetEntry,
    pub(crate) key_id: String,
    pub(crate) eval_key: KeyEntry,
    pub(crate) wrapped_key: KeyEntry,
    pub(crate) layout: String,
    pub(crate) level: u64,
    pub(crate) blocks_per_batch: u64,
    pub(crate) batches: u64,
    pub(crate) shard_batches: u64,
    pub(crate) shards: u64,
    pub(crate) bytes: Lengths,
    pub(crate) parts: Vec<PartEntry>,
    /// BLAKE3 of each shard's ciphertext.
    pub(crate) inputs: Vec<Hex<32>>,
    /// The first bytes of the results file.
    pub(crate) front: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetEntry {
    pub(crate) name: String,
    pub(crate) digest: Hex<32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyEntry {
    pub(crate) uri: String,
    pub(crate) bytes: u64,
    pub(crate) blake3: Hex<32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lengths {
    pub(crate) shard: u64,
    pub(crate) last_shard: u64,
    pub(crate) output: u64,
}

/// A part of the message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartEntry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    pub(crate) uri: String,
    /// Start of the ciphertext.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) blake3: Hex<32>,
    pub(crate) mode: String,
    #[serde(default, skip_serializing_if = "Bytes::is_empty")]
    pub(crate) iv: Bytes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tag: Option<Hex<16>>,
    #[serde(default, skip_serializing_if = "Bytes::is_empty")]
    pub(crate) aad: Bytes,
    pub(crate) first_block: u64,
    /// The name of its AES key, if the wrapped key holds many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
}

impl PartEntry {
    pub(crate) fn new(meta: &PartMeta, uri: String, offset: u64, blake3: [u8; 32]) -> Self {
        Self {
            name: meta.name.clone(),
            uri,
            offset,
            bytes: meta.bytes,
            blake3: Hex(blake3),
            mode: meta.mode.name().to_owned(),
            iv: Bytes(meta.mode.iv().to_vec()),
            tag: meta.tag.map(Hex),
            aad: Bytes(meta.aad.clone()),
            first_block: meta.first_block,
            key: meta.key.as_ref().map(|key| key.name.clone()),
        }
    }

    /// Its description in the results file.
    pub(crate) fn meta(&self) -> Option<PartMeta> {
        let mut meta = PartMeta::new(Mode::with_vector(&self.mode, &self.iv.0)?, self.bytes);
        meta.name.clone_from(&self.name);
        meta.tag = self.tag.map(|tag| tag.0);
        meta.aad.clone_from(&self.aad.0);
        meta.first_block = self.first_block;
        Some(meta)
    }
}

/// The error of a path that cannot stand in a plan.
pub(crate) fn not_utf8(path: impl AsRef<std::path::Path>) -> JobError {
    refused(
        ErrorKind::Argument,
        path.as_ref(),
        "a plan needs UTF-8 names",
    )
    .into()
}

/// URI of a location in the plan of the job at `job`: a path relative to the job if it lies below the parent of the
/// job's folder, so that both can be moved together; otherwise the whole location.
pub(crate) fn uri(location: &Location, job: &Location) -> Result<String> {
    let Location::Local(path) = location else {
        return Ok(location.to_string());
    };
    let error = |source| homaes::Error::Io {
        path: path.clone(),
        source,
    };
    let path = path.canonicalize().map_err(error)?;
    let text = path.to_str().ok_or_else(|| not_utf8(&path))?;
    let above = match job {
        Location::Local(job) => job.canonicalize().ok(),
        Location::S3 { .. } => None,
    };
    let above = above.as_deref().and_then(std::path::Path::parent);
    let below = above.and_then(|above| path.strip_prefix(above).ok()?.to_str());
    // a plan in the root of the file system keeps absolute paths
    let below = below.filter(|_| above.is_some_and(|above| above.parent().is_some()));
    Ok(match below {
        Some(below) => format!("../{below}"),
        None => text.to_owned(),
    })
}

/// The location of a URI in a plan.
pub(crate) fn resolve(uri: &str, job: &Location) -> Result<Location> {
    if let Location::Local(folder) = job
        && uri.starts_with("../")
    {
        // resolve links on the way to the folder as `uri` does
        let resolved = folder.canonicalize();
        let folder = resolved.as_deref().unwrap_or(folder);
        let above = folder.parent().unwrap_or(folder);
        return Ok(Location::Local(above.join(&uri[3..])));
    }
    Ok(Location::parse(uri)?)
}

/// Bytes as hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Hex<const N: usize>(pub(crate) [u8; N]);

/// Any number of bytes as hex digits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Bytes {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl TryFrom<String> for Bytes {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        unhex(&text).map(Self).ok_or("expected pairs of hex digits")
    }
}

impl From<Bytes> for String {
    fn from(bytes: Bytes) -> Self {
        hex(&bytes.0)
    }
}

impl<const N: usize> TryFrom<String> for Hex<N> {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let bytes = Bytes::try_from(text)?.0;
        let found = bytes.len();
        let bytes = bytes.try_into();
        bytes
            .map(Self)
            .map_err(|_| format!("expected {} hex digits, found {}", 2 * N, 2 * found))
    }
}

impl<const N: usize> From<Hex<N>> for String {
    fn from(bytes: Hex<N>) -> Self {
        hex(&bytes.0)
    }
}
