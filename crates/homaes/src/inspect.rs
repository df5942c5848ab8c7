//! What a file says about itself, and whether it is undamaged. Needs no secret.

use crate::decrypt::Ciphertexts;
use crate::meta::Meta;
use crate::{Error, Result, Set, scheme};
use homaes_wire::{KeyId, Kind, Reader};
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
}

/// The ciphertexts of an `.hct` file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Messages {
    /// What they are the encryption of.
    pub meta: Meta,
    /// Least level; `None` for an empty message.
    pub level: Option<usize>,
    /// Least bits between noise and failure; `None` for an empty message.
    pub capacity_bits: Option<f64>,
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
    };
    if let Some(set) = &inspection.set {
        let reader = open()?;
        reader.check_set(set.name(), set.digest()).map_err(error)?;
        if inspection.kind == Kind::Ciphertext {
            inspection.messages = Some(messages(reader, set)?);
        }
    }
    Ok(inspection)
}

fn messages(reader: Reader<File>, set: &Set) -> Result<Messages> {
    let mut ciphertexts = Ciphertexts::new(reader)?;
    let mut worst: Option<(usize, f64)> = None;
    while let Some((_, batch)) = ciphertexts.next(set)? {
        let (level, bits) = scheme::quality(set.params(), &batch);
        worst = Some(worst.map_or((level, bits), |(l, b)| (l.min(level), b.min(bits))));
    }
    Ok(Messages {
        meta: ciphertexts.finish()?,
        level: worst.map(|(level, _)| level),
        capacity_bits: worst.map(|(_, bits)| bits),
    })
}
