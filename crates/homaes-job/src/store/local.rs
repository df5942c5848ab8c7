//! Objects as files below a folder.

use crate::store::objects::{check_name, check_prefix, fits};
use crate::store::{Created, Listing, Store, StoreError};
use homaes_wire::{AtomicFile, OutputOptions, WireError, read_exact_at};
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// A folder of objects as files, created with the first object.
///
/// An object gets its name once it is complete and on disk, and never replaces another. Links are followed to files,
/// and to folders that a name leads through, but not in listings.
#[derive(Debug, Clone)]
pub struct Local {
    folder: PathBuf,
}

impl Local {
    /// The objects below a folder, which need not exist yet.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        let folder = match folder.as_os_str().is_empty() {
            true => PathBuf::from("."),
            false => folder,
        };
        Self { folder }
    }

    fn path(&self, name: &str) -> Result<PathBuf, StoreError> {
        check_name(name)?;
        let path = self.folder.join(name);
        // a drive or the like, on some systems: it would replace the folder
        match path.starts_with(&self.folder) {
            true => Ok(path),
            false => Err(StoreError::Name {
                name: name.to_owned(),
                why: "it leads out of the folder",
            }),
        }
    }

    /// Metadata of an object's file; `None` if there is none. A folder is not an object, as in a bucket.
    fn metadata(&self, name: &str) -> Result<Option<(PathBuf, Metadata)>, StoreError> {
        let path = self.path(name)?;
        match found(&path)? {
            Some(found) if found.is_file() => Ok(Some((path, found))),
            // a pipe would wait for its writer
            Some(found) if !found.is_dir() => {
                Err(at(&path, io::Error::other("is not a regular file")))
            }
            _ => Ok(None),
        }
    }

    /// The open file of an object, and its length.
    fn open(&self, name: &str) -> Result<Option<(PathBuf, File, u64)>, StoreError> {
        let Some((path, found)) = self.metadata(name)? else {
            return Ok(None);
        };
        match File::open(&path) {
            Ok(file) => Ok(Some((path, file, found.len()))),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(at(&path, error)),
        }
    }
}

impl Store for Local {
    fn describe(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn bytes(&self, name: &str) -> Result<Option<u64>, StoreError> {
        let found = self.metadata(name)?;
        Ok(found.map(|(_, found)| found.len()))
    }

    fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let Some((path, file, len)) = self.open(name)? else {
            return Ok(None);
        };
        let mut bytes = Vec::with_capacity(fits(len, most, || self.describe(name))?);
        // one byte more reveals a file that has grown
        let mut file = file.take(most.saturating_add(1));
        file.read_to_end(&mut bytes)
            .map_err(|error| at(&path, error))?;
        fits(bytes.len() as u64, most, || self.describe(name))?;
        Ok(Some(bytes))
    }

    fn read_at(&self, name: &str, offset: u64, into: &mut [u8]) -> Result<(), StoreError> {
        let missing = || StoreError::Missing {
            name: self.describe(name),
        };
        let (path, file, found) = self.open(name)?.ok_or_else(missing)?;
        let expected = offset.saturating_add(into.len() as u64);
        let too_short = || StoreError::TooShort {
            name: self.describe(name),
            found,
            expected,
        };
        if expected > found {
            return Err(too_short());
        }
        match read_exact_at(&file, into, offset) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(too_short()),
            Err(error) => Err(at(&path, error)),
        }
    }

    fn create(&self, name: &str, bytes: &[u8]) -> Result<Created, StoreError> {
        let path = self.path(name)?;
        if let Some(folder) = path.parent() {
            make_folder(folder)?;
        }
        let write = || {
            let mut file = AtomicFile::create(&path, OutputOptions::default())?;
            let written = file.write_all(bytes);
            written.map_err(|source| WireError::Io {
                path: path.clone(),
                source,
            })?;
            file.commit()
        };
        match write() {
            Ok(()) => Ok(Created::New),
            Err(WireError::AlreadyExists { .. }) => Ok(Created::Existed),
            Err(WireError::Io { source, .. }) => Err(at(&path, source)),
            Err(other) => Err(at(&path, io::Error::other(other))),
        }
    }

    fn list(&self, prefix: &str) -> Result<Listing, StoreError> {
        check_prefix(prefix)?;
        let mut listing = Listing::default();
        let folder = match prefix {
            "" => self.folder.clone(),
            prefix => self.path(prefix)?,
        };
        visit(&folder, prefix, &mut |path, name| {
            if homaes_wire::is_temporary_name(path.file_name().unwrap_or_default()) {
                return Ok(());
            }
            // a name that is not UTF-8 differs from that of the path
            let no_object = check_name(&name).is_err() || self.folder.join(&name) != path;
            match found(path) {
                Ok(Some(file)) if file.is_file() && !no_object => {
                    listing.objects.push((name, file.len()));
                }
                // a dangling link is an error of its own
                Ok(Some(_)) => listing.others.push(name),
                Err(_) if path.is_symlink() => listing.others.push(name),
                // removed meanwhile
                Ok(None) => {}
                Err(error) => return Err(error),
            }
            Ok(())
        })?;
        Ok(listing.sorted())
    }

    fn remove(&self, name: &str) -> Result<(), StoreError> {
        let Some((path, _)) = self.metadata(name)? else {
            return Ok(());
        };
        match fs::remove_file(&path) {
            Err(error) if !is_missing(&error) => Err(at(&path, error)),
            _ => Ok(()),
        }
    }

    fn folder(&self) -> Option<&Path> {
        Some(&self.folder)
    }
}

/// Calls `see` with path and name (which begins with `prefix`) of everything below a folder except non-empty folders.
/// Names that are not UTF-8 contain U+FFFD. Returns whether the folder has entries.
fn visit(
    folder: &Path,
    prefix: &str,
    see: &mut impl FnMut(&Path, String) -> Result<(), StoreError>,
) -> Result<bool, StoreError> {
    let error = |error| at(folder, error);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        // as in a bucket, nothing is below a missing name or an object
        Err(error) if is_missing(&error) => return Ok(true),
        Err(source) => return Err(error(source)),
    };
    let mut is_empty = true;
    for entry in entries {
        is_empty = false;
        let entry = entry.map_err(error)?;
        let path = entry.path();
        let name = entry.file_name();
        let name = match prefix {
            "" => name.to_string_lossy().into_owned(),
            prefix => format!("{prefix}/{}", name.to_string_lossy()),
        };
        let is_folder = entry.file_type().map_err(error)?.is_dir();
        if !is_folder || !visit(&path, &name, see)? {
            see(&path, name)?;
        }
    }
    Ok(!is_empty)
}

/// Makes a folder and its ancestors, each durable in its parent.
pub(crate) fn make_folder(folder: &Path) -> Result<(), StoreError> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    let above = folder.parent().unwrap_or(Path::new(""));
    make_folder(above)?;
    match fs::create_dir(folder) {
        Err(_) if folder.is_dir() => {}
        made => made.map_err(|error| at(folder, error))?,
    }
    let above = match above.as_os_str().is_empty() {
        true => Path::new("."),
        false => above,
    };
    // some systems cannot synchronise folders
    if let Ok(above) = File::open(above) {
        let _ = above.sync_all();
    }
    Ok(())
}

/// What a path leads to; `None` if nothing. A dangling link is an error, as no object can be written in its place.
fn found(path: &Path) -> Result<Option<Metadata>, StoreError> {
    match fs::metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_missing(&error) => {
            match fs::symlink_metadata(path).is_ok_and(|link| link.is_symlink()) {
                true => Err(at(path, io::Error::other("is a symbolic link to nothing"))),
                false => Ok(None),
            }
        }
        Err(error) => Err(at(path, error)),
    }
}

/// Also if the path leads through a file.
fn is_missing(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

pub(crate) fn at(path: &Path, source: io::Error) -> StoreError {
    StoreError::io(path.display().to_string(), source)
}
