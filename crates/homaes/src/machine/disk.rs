//! Checks disk space before hours of work on a file that cannot fit.

use crate::{Error, ErrorKind, Result};
use std::path::Path;

/// Refuses to write `wanted` bytes if the disk of the folder `path` has no room for them. An unknown amount of free
/// space is no reason to refuse.
///
/// # Errors
/// `ErrorKind::Disk`.
pub fn check(path: &Path, wanted: u64) -> Result<()> {
    match homaes_wire::free_bytes(path) {
        Some(free) if free < wanted => {
            let message = format!("needs {wanted} bytes, found {free} free on its disk");
            Err(Error::refused(ErrorKind::Disk, message).at(path))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_the_bytes_wanted() {
        let folder = tempfile::tempdir().unwrap();
        check(folder.path(), 1 << 10).unwrap();
        if cfg!(unix) {
            let error = check(folder.path(), 1 << 60).unwrap_err().to_string();
            assert!(error.contains(&(1u64 << 60).to_string()), "{error}");
        }
    }
}
