//! What a file says about itself, and whether it is undamaged. Needs no secret.

use crate::decrypt::Ciphertexts;
use crate::keys::Protection;
use crate::meta::Meta;
use crate::pool::Pool;
use crate::{Error, KdfCost, Quality, Result, Set, Step, Wrapped};
use homaes_scheme::FieldError;
use homaes_wire::{Header, KeyId, Kind, Reader};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// What [`inspect`] finds.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Inspection {
    /// What the file holds.
    pub kind: Kind,
    /// Name of the parameter set.
    pub set_name: String,
    /// The set, unless this program does not have it.
    pub set: Option<Set>,
    /// Digest of the set's numbers.
    pub digest: [u8; 32],
    /// Names the secret key that the file belongs to.
    pub key_id: KeyId,
    /// Length of the file.
    pub file_bytes: u64,
    /// Number of records by tag.
    pub records: BTreeMap<u16, u64>,
    /// What an `.hct` file holds; `None` for other files and unknown sets.
    pub messages: Option<Messages>,
    /// What an `.hwk` file holds; `None` for other files and unknown sets.
    pub wrapped: Option<Wrapped>,
    /// What it costs to try a passphrase, if the file is a secret key that is protected with one.
    pub protection: Option<KdfCost>,
}

/// The ciphertexts of an `.hct` file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Messages {
    /// What they are the encryption of.
    pub meta: Meta,
    /// The worst of all ciphertexts; `None` for an empty message.
    pub quality: Option<Quality>,
    /// The steps of AES on them: seconds averaged over the batches, the worst quality of any. Empty for an empty message.
    pub steps: Vec<Step>,
}

/// Reads a file of any kind from front to back and verifies every checksum.
///
/// # Errors
/// The first thing that is wrong with the file; a known set with another digest counts.
pub fn inspect(path: impl AsRef<Path>) -> Result<Inspection> {
    let path = path.as_ref();
    let error = |source| Error::file(path, source);
    let open = || Reader::open_any(path).map_err(error);
    let mut reader = open()?;
    let header = reader.header().clone();
    let mut records = BTreeMap::new();
    while let Some(record) = reader.begin_any().map_err(error)? {
        *records.entry(record.head().tag).or_default() += 1;
        record.finish().map_err(error)?;
    }
    reader.finish().map_err(error)?;
    let set = match Set::of_file(path, header.set()) {
        Ok(set) => Some(set),
        Err(Error::UnknownSetInFile { .. }) => None,
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
        wrapped: None,
        protection: None,
    };
    if inspection.kind == Kind::SecretKey {
        let protection = Protection::read(&mut open()?).map_err(error)?;
        inspection.protection = protection.map(|protection| protection.cost);
    }
    if let Some(set) = &inspection.set {
        let reader = open()?;
        reader.check_set(set.name(), set.digest()).map_err(error)?;
        match inspection.kind {
            Kind::Ciphertext => inspection.messages = Some(messages(reader, set)?),
            Kind::WrappedKey => inspection.wrapped = Some(wrapped(path, reader, set)?),
            Kind::EvalKey => check_length(path, &header, set.card().eval_key_bytes)?,
            // its length is that of the name on the other side
            Kind::BridgeKey => {}
            // under a passphrase it is longer, and cannot be looked into
            Kind::SecretKey if inspection.protection.is_some() => {}
            Kind::SecretKey => check_length(path, &header, set.card().secret_key_bytes)?,
        }
    }
    Ok(inspection)
}

/// Keys of a set have one length; with whole records of another number they would be of no use.
fn check_length(path: &Path, header: &Header, expected: u64) -> Result<()> {
    let found = header.file_bytes();
    if found == expected {
        return Ok(());
    }
    let what = "bytes in all";
    Err(Error::content(
        path,
        FieldError::new(what, found, expected).into(),
    ))
}

fn messages(reader: Reader<File>, set: &Set) -> Result<Messages> {
    let mut ciphertexts = Ciphertexts::new(reader, set)?;
    let mut worst = None;
    let pool = Pool::new(0);
    while let Some(batch) = ciphertexts.next(set)? {
        let quality = pool.install(|| set.batch_quality(batch.shape, &batch.body));
        let quality = quality.map_err(|source| ciphertexts.wrong(batch.index, source))?;
        worst = Some(Quality::worst_of(worst, quality));
    }
    let (meta, steps) = ciphertexts.finish()?;
    Ok(Messages {
        meta,
        quality: worst,
        steps,
    })
}

fn wrapped(path: &Path, reader: Reader<File>, set: &Set) -> Result<Wrapped> {
    let described = set.params().describe_wrapped(reader.boxed());
    described.map_err(|source| Error::content(path, source))
}
