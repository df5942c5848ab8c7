//! Output that appears whole or not at all, also when the program is stopped by a signal.
//!
//! Temporary files are made and get their names only while [`GATE`] is held. [`interrupt`] takes it and never gives it
//! back, so after the clean-up no file can appear.

use crate::{Error, Result};
use homaes_wire::{AtomicFile, Header, OutputOptions, Writer};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held while names appear; the content are folders made for outputs that are not there yet.
static GATE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn gate() -> MutexGuard<'static, Vec<PathBuf>> {
    // A list of paths is sound after a panic elsewhere.
    GATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every unfinished output of this process and lets no further one appear: the last call before an exit on a
/// signal. Outputs that are being completed at this moment are completed first.
///
/// Call it from a thread, not inside a signal handler. Threads that write outputs block from then on.
pub fn interrupt() {
    let mut gate = gate();
    homaes_wire::cleanup_all();
    remove_folders(&mut gate);
    std::mem::forget(gate);
}

/// A file under a temporary name; it gets its own name when it is complete, and is removed if it is dropped before.
///
/// Reserve outputs before long work: an existing file or an unwritable folder is found here.
#[derive(Debug)]
pub struct Output {
    file: AtomicFile,
}

impl Output {
    /// Reserves `path`; `force` allows to replace an existing file.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] or [`Error::Io`].
    pub fn create(path: impl AsRef<Path>, force: bool) -> Result<Self> {
        let private = false;
        Self::with(path.as_ref(), OutputOptions { force, private })
    }

    /// As [`create`](Self::create), readable and writable by the owner alone (mode 0600 on Unix) from the first byte on: for
    /// plaintexts and keys.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn private(path: impl AsRef<Path>, force: bool) -> Result<Self> {
        let private = true;
        Self::with(path.as_ref(), OutputOptions { force, private })
    }

    fn with(path: &Path, options: OutputOptions) -> Result<Self> {
        let _gate = gate();
        match AtomicFile::create(path, options) {
            Ok(file) => Ok(Self { file }),
            Err(source) => Err(Error::output(path, source)),
        }
    }

    /// Where the file will be.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.target()
    }

    /// Starts a container of this project.
    pub(crate) fn container(self, header: Header) -> Result<Container> {
        let path = self.path().to_owned();
        match Writer::new(self.file, header) {
            Ok(writer) => Ok(Container { writer, path }),
            Err(source) => Err(Error::output(&path, source)),
        }
    }

    /// Gives the file its name: it is complete.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] if it has come to be there meanwhile, [`Error::Io`].
    pub fn commit(self) -> Result<()> {
        let path = self.path().to_owned();
        let _gate = gate();
        self.file
            .commit()
            .map_err(|source| Error::output(&path, source))
    }

    /// Gives this file its name and then `second` its own: together, as far as an [`interrupt`] is concerned. If the second fails,
    /// the first is removed.
    pub(crate) fn commit_with(self, second: Self) -> Result<()> {
        let [path, second_path] = [&self, &second].map(|file| file.path().to_owned());
        let _gate = gate();
        self.file
            .commit()
            .map_err(|source| Error::output(&path, source))?;
        second.file.commit().map_err(|source| {
            // The first error is the one to report.
            let _ = fs::remove_file(&path);
            Error::output(&second_path, source)
        })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// An [`Output`] with a header and records.
pub(crate) struct Container {
    writer: Writer<AtomicFile>,
    path: PathBuf,
}

impl Container {
    pub(crate) fn writer(&mut self) -> &mut Writer<AtomicFile> {
        &mut self.writer
    }

    pub(crate) fn record(&mut self, tag: u16, index: u64, body: &[u8]) -> Result<()> {
        self.writer
            .write_record(tag, index, body)
            .map_err(|source| Error::output(&self.path, source))
    }

    /// Gives the file its name.
    pub(crate) fn commit(self) -> Result<()> {
        Self::commit_all([self], true)
    }

    /// Gives the files their names, one right after the other: together, as far as an [`interrupt`] is concerned.
    ///
    /// If one fails, those before it are removed again unless they may have replaced older files.
    pub(crate) fn commit_all<const N: usize>(files: [Self; N], force: bool) -> Result<()> {
        let _gate = gate();
        let mut done: Vec<PathBuf> = Vec::with_capacity(N);
        for Self { writer, path } in files {
            if let Err(source) = writer.commit() {
                if !force {
                    for path in done {
                        // The first error is the one to report.
                        let _ = fs::remove_file(path);
                    }
                }
                return Err(Error::output(&path, source));
            }
            done.push(path);
        }
        Ok(())
    }
}

/// A folder that is removed again, with the parents made for it, if it is empty in the end.
pub(crate) struct Folder {
    made: Vec<PathBuf>,
}

impl Folder {
    /// Makes `path` and its missing parents.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let mut gate = gate();
        let missing: Vec<PathBuf> = path
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            .map(Path::to_owned)
            .collect();
        gate.extend(missing.iter().cloned());
        let folder = Self { made: missing };
        let result = match path.ancestors().find(|folder| folder.exists()) {
            // "file exists" would be what the system says
            Some(file) if !file.is_dir() => {
                let what = format!("{} is not a folder", file.display());
                Err(io::Error::new(io::ErrorKind::NotADirectory, what))
            }
            _ => fs::create_dir_all(path),
        };
        // Before `folder` is dropped, which takes the gate too.
        drop(gate);
        result.map_err(|source| Error::io(path, source))?;
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let mut gate = gate();
        gate.retain(|path| !self.made.contains(path));
        remove_folders(&mut self.made);
    }
}

/// Removes those folders that are empty; they are listed from the innermost outwards.
fn remove_folders(folders: &mut Vec<PathBuf>) {
    for folder in folders.drain(..) {
        // Not empty: it holds outputs that are complete.
        let _ = fs::remove_dir(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unused_folder_goes_with_its_parents_and_a_used_one_stays() {
        let base = tempfile::tempdir().unwrap();
        let deep = base.path().join("a/b");
        drop(Folder::create(&deep).unwrap());
        assert!(!base.path().join("a").exists() && base.path().exists());
        let folder = Folder::create(&deep).unwrap();
        Output::create(deep.join("f"), false)
            .unwrap()
            .commit()
            .unwrap();
        drop(folder);
        assert!(deep.join("f").exists());
    }

    #[test]
    fn of_two_files_both_appear_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        let files = || [&a, &b].map(|path| Output::create(path, false).unwrap());
        let [first, second] = files();
        fs::write(&b, b"taken").unwrap();
        let error = first.commit_with(second).unwrap_err();
        assert!(matches!(error, Error::AlreadyExists { path } if path == b));
        assert!(!a.exists() && fs::read(&b).unwrap() == b"taken");
        fs::remove_file(&b).unwrap();
        let [first, second] = files();
        first.commit_with(second).unwrap();
        assert!(a.exists() && b.exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_folder_below_a_file_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(Folder::create(&file.path().join("a")).is_err());
        assert!(Output::create(file.path().join("a"), false).is_err());
        assert!(file.path().exists());
    }
}
