//! Folders for outputs, removed again if they stay empty.

use super::gate;
use crate::Result;
use crate::error::At;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A folder that is removed if it is empty in the end, together with the parents made for it.
pub(crate) struct Folder {
    made: Vec<PathBuf>,
}

impl Folder {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let mut gate = gate();
        let missing: Vec<PathBuf> = path
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            .map(Path::to_owned)
            .collect();
        gate.folders.extend_from_slice(&missing);
        let folder = Self { made: missing };
        let result = match path.ancestors().find(|folder| folder.exists()) {
            // the system would say "file exists"
            Some(file) if !file.is_dir() => {
                let what = format!("{} is not a folder", file.display());
                Err(io::Error::new(io::ErrorKind::NotADirectory, what))
            }
            _ => fs::create_dir_all(path),
        };
        // dropping `folder` takes the gate too
        drop(gate);
        result.at(path)?;
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let mut gate = gate();
        gate.folders.retain(|folder| !self.made.contains(folder));
        remove_folders(&self.made);
    }
}

/// Removes empty folders, listed from the innermost outwards.
pub(super) fn remove_folders(folders: &[PathBuf]) {
    for folder in folders {
        // not empty: it holds complete outputs
        let _ = fs::remove_dir(folder);
    }
}
