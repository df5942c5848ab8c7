//! Public properties of a part of a message: name, mode, tag, associated data and length.

use crate::error::printable;
use crate::output::is_unfinished_name;
use homaes_aes::{Block, Mode};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Longest associated data of a part: 1 MiB.
pub const MAX_AAD_BYTES: usize = 1 << 20;

pub(crate) const MAX_PARTS_BYTES: u64 = 1 << 28;

pub(crate) const MAX_NAME_BYTES: usize = 1024;

/// The AES key of a part, in a message under many.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartKey {
    /// Its name in the wrapped key.
    pub name: String,
    /// Its number in the wrapped key.
    pub number: u64,
}

/// A file's description of one part of its message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartMeta {
    /// A path below a folder, with `/` between folders. `None` if the message is one part without a name.
    pub name: Option<String>,
    /// The mode with its public parameters.
    pub mode: Mode,
    /// The tag of GCM; `None` for other modes.
    pub tag: Option<Block>,
    /// The associated data of GCM; empty for other modes.
    pub aad: Vec<u8>,
    /// Length.
    pub bytes: u64,
    /// Number of its first block in the message.
    pub first_block: u64,
    /// Its AES key, in a message under many.
    pub key: Option<PartKey>,
}

impl PartMeta {
    /// A message of one part without name, tag and associated data.
    #[must_use]
    pub fn new(mode: Mode, bytes: u64) -> Self {
        Self {
            name: None,
            mode,
            tag: None,
            aad: Vec::new(),
            bytes,
            first_block: 0,
            key: None,
        }
    }

    /// SHA-256 of the associated data, as `sha256sum` prints it.
    #[must_use]
    pub fn aad_sha256(&self) -> [u8; 32] {
        sha256(&self.aad)
    }

    /// The file and the name of the part, for errors.
    pub(crate) fn place(&self, file: &Path) -> PathBuf {
        let mut place = file.as_os_str().to_owned();
        if let Some(name) = &self.name {
            place.push(": part ");
            place.push(printable(name));
        }
        place.into()
    }

    /// The first folder of its name.
    pub(crate) fn folder(&self) -> Option<&str> {
        let (folder, _) = self.name.as_deref()?.split_once('/')?;
        Some(folder)
    }

    /// The AES key that its first folder names, if that is another than `key`. Such a part is refused, because a server
    /// that exchanges two parts leaves their tags valid.
    pub(crate) fn folder_of_other(&self, key: &str, is_key: impl Fn(&str) -> bool) -> Option<&str> {
        self.folder()
            .filter(|folder| *folder != key && is_key(folder))
    }

    /// AES blocks; the last one may be partial.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.bytes.div_ceil(16)
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Checks that every name is a path below a folder, and that none is below another.
///
/// # Errors
/// The name, and the rule that it breaks.
pub(crate) fn check_names<'n>(
    names: impl Iterator<Item = &'n str>,
) -> Result<(), (&'n str, &'static str)> {
    let mut all: Vec<&str> = names.collect();
    let is_path = |name: &str| {
        let within = |part: &str| !matches!(part, "" | "." | "..");
        let plain = |c: char| !c.is_control() && c != '\\';
        name.len() <= MAX_NAME_BYTES && name.split('/').all(within) && name.chars().all(plain)
    };
    if let Some(name) = all.iter().find(|name| !is_path(name)) {
        let expected = "a path of at most 1024 bytes below a folder, with / between folders, without backslashes and control characters";
        return Err((name, expected));
    }
    let is_unfinished =
        |name: &str| is_unfinished_name(name.rsplit('/').next().unwrap_or(name).as_ref());
    if let Some(name) = all.iter().find(|name| is_unfinished(name)) {
        return Err((name, "a name that no unfinished output has"));
    }
    all.sort_unstable();
    if let Some(pair) = all.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err((pair[0], "another name for each part"));
    }
    let folders = all.iter().flat_map(|name| {
        let ends = name.match_indices('/').map(|(end, _)| end);
        ends.map(|end| &name[..end])
    });
    let mut folders: Vec<&str> = folders.collect();
    folders.sort_unstable();
    match all.iter().find(|name| folders.binary_search(name).is_ok()) {
        Some(name) => Err((name, "no part that is a folder of another")),
        None => Ok(()),
    }
}
