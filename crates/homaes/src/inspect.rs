//! The content of a file and its checksums. Needs no secret.

use crate::ShardName;
use crate::bridge::crossed_file::CrossedFile;
use crate::bridge::{have_crossed, log2_p_fail, no_bridge, values_log2_p_fail};
use crate::error::At;
use crate::keys::{Protection, layouts_of};
use crate::programs::computed::{ValueMeta, describe_values};
use crate::results::ciphertexts::Ciphertexts;
use crate::results::meta::Meta;
use crate::{Error, ErrorKind, KdfCost, Quality, Result, Scheme, Set, Step, WrappedKeyInfo};
use homaes_aes::Layout;
use homaes_bridge::{BridgeKey, Other};
use homaes_scheme::FieldError;
use homaes_wire::{Header, KeyId, Kind, Reader};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// The result of [`inspect`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Inspection {
    /// Kind of the file.
    pub kind: Kind,
    /// Name of the parameter set.
    pub set_name: String,
    /// The set; `None` if this program does not have it.
    pub set: Option<Set>,
    /// Digest of the set's numbers.
    pub digest: [u8; 32],
    /// Identifies the secret key that the file belongs to.
    pub key_id: KeyId,
    /// Length of the file.
    pub file_bytes: u64,
    /// Number of records by tag.
    pub records: BTreeMap<u16, u64>,
    /// The content of an `.hct`, `.hlw` or `.hrl` file; `None` for other files and unknown sets.
    pub messages: Option<Messages>,
    /// The layouts of an `.hek` file; `None` for other files and unknown sets.
    pub eval_layouts: Option<Vec<Layout>>,
    /// The content of an `.hwk` file; `None` for other files and unknown sets.
    pub wrapped: Option<WrappedKeyInfo>,
    /// The key that an `.hbk` file leads to, or that an `.hlw` or `.hrl` file is under; `None` for other files and unknown sets.
    pub end: Option<End>,
    /// The cost of trying a passphrase, if the file is a secret key under one.
    pub protection: Option<KdfCost>,
    /// The name of an `.hcs` file.
    pub shard: Option<ShardName>,
    /// The content of an `.hcv` file; `None` for other files and unknown sets.
    pub values: Option<Vec<ValueMeta>>,
}

/// The end of a bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct End {
    /// Identifies the key there: that of a TFHE set, or a random id.
    pub key_id: KeyId,
    /// Describes the key in words.
    pub what: String,
    /// The tag of a user's keys of the crate `tfhe`.
    pub tag: Option<Vec<u8>>,
}

impl End {
    fn new(key_id: KeyId, other: Other) -> Self {
        let what = other.to_string();
        let tag = match other {
            Other::User { tag, .. } => Some(tag),
            Other::Set(_) | Other::Link { .. } => None,
        };
        Self { key_id, what, tag }
    }
}

/// The ciphertexts of an `.hct`, `.hlw` or `.hrl` file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Messages {
    /// The message they encrypt.
    pub meta: Meta,
    /// The scheme that evaluated AES, to which the noise in `steps` refers; differs from the set's if the results
    /// crossed.
    pub evaluated_in: Scheme,
    /// The worst quality of all ciphertexts; `None` for an empty message and for results that crossed, which
    /// have no noise estimate.
    pub quality: Option<Quality>,
    /// log2 of the bound on the probability that any of them decrypts wrongly; `None` for an empty message.
    pub log2_p_fail: Option<f64>,
    /// The steps of AES: seconds averaged over the batches, the worst quality of any. Empty for an empty message.
    pub steps: Vec<Step>,
}

/// Reads a file of any kind to its end and verifies every checksum.
///
/// # Errors
/// The first fault of the file, including a known set with another digest.
pub fn inspect(path: impl AsRef<Path>) -> Result<Inspection> {
    let path = path.as_ref();
    let open = || Reader::open_any(path).at(path);
    let mut reader = open()?;
    let header = reader.header().clone();
    let mut records = BTreeMap::new();
    while let Some(record) = reader.begin_any().at(path)? {
        *records.entry(record.head().tag).or_default() += 1;
        record.finish().at(path)?;
    }
    reader.finish().at(path)?;
    let set = match Set::of_file(path, header.set()) {
        Ok(set) => Some(set),
        Err(error) if error.kind() == ErrorKind::UnknownSetInFile => None,
        Err(error) => return Err(error),
    };
    let mut inspection = Inspection {
        kind: header.kind(),
        set_name: header.set().to_owned(),
        set,
        digest: *header.digest(),
        key_id: header.key_id(),
        file_bytes: header.file_bytes(),
        records,
        messages: None,
        eval_layouts: None,
        wrapped: None,
        end: None,
        protection: None,
        shard: None,
        values: None,
    };
    if inspection.kind == Kind::SecretKey {
        let protection = Protection::read(&mut open()?).at(path)?;
        inspection.protection = protection.map(|protection| protection.cost);
    }
    if let Some(set) = &inspection.set {
        let mut reader = open()?;
        reader.check_set(set.name(), set.digest()).at(path)?;
        match inspection.kind {
            Kind::Ciphertext => inspection.messages = Some(messages(reader, set)?),
            Kind::Shard => inspection.shard = Some(ShardName::read(&mut reader).at(path)?),
            Kind::Computed => inspection.values = Some(describe_values(reader.boxed(), set)?),
            Kind::WrappedKey => {
                let described = set.params().describe_wrapped(reader.boxed());
                inspection.wrapped = Some(described.at(path)?);
            }
            Kind::EvalKey => {
                inspection.eval_layouts = Some(layouts_of(path, set, &header)?);
            }
            Kind::BridgeKey => inspection.end = Some(end(path, reader, set)?),
            Kind::Values | Kind::Packed => {
                let file = CrossedFile::new(reader.boxed(), set.clone())?;
                let (messages, end) = crossed(file, set)?;
                inspection.end = Some(End::new(header.key_id(), end));
                inspection.messages = Some(messages);
            }
            // a protected key is longer, and encrypted
            Kind::SecretKey if inspection.protection.is_some() => {}
            Kind::SecretKey => check_length(path, &header, set.card().secret_key_bytes)?,
        }
    }
    Ok(inspection)
}

/// More or fewer whole records would be useless.
fn check_length(path: &Path, header: &Header, expected: u64) -> Result<()> {
    let found = header.file_bytes();
    if found == expected {
        return Ok(());
    }
    let error = FieldError::new("bytes in all", found, expected);
    Err(Error::content(path, error.into()))
}

fn messages(reader: Reader<File>, set: &Set) -> Result<Messages> {
    let mut batches = Ciphertexts::new(reader.boxed(), set.clone())?.into_iter();
    let mut worst = None;
    while let Some(batch) = batches.next_batch()? {
        worst = Some(Quality::worst_of(worst, batch.quality()?));
    }
    let (meta, steps) = batches.into_parts();
    let log2_p_fail = log2_p_fail(set, &steps, meta.split.batches());
    Ok(Messages {
        meta,
        evaluated_in: match have_crossed(set, &steps) {
            true => Scheme::Bgv,
            false => set.scheme(),
        },
        quality: worst,
        log2_p_fail,
        steps,
    })
}

fn end(path: &Path, reader: Reader<File>, set: &Set) -> Result<End> {
    let params = set.params_of().ok_or_else(|| no_bridge(set)).at(path)?;
    let target = BridgeKey::describe_file(&params, reader).at(path)?;
    Ok(End::new(target.id, target.other))
}

fn crossed(mut file: CrossedFile<'_>, set: &Set) -> Result<(Messages, Other)> {
    while file.next()?.is_some() {}
    let end = file.end.clone();
    let (meta, steps) = file.into_parts();
    let messages = Messages {
        log2_p_fail: values_log2_p_fail(set, &end, 0..meta.split.blocks()),
        meta,
        evaluated_in: Scheme::Bgv,
        quality: None,
        steps,
    };
    Ok((messages, end))
}
