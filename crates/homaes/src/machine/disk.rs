//! Checks disk space before hours of work on a file that cannot fit.

use crate::{Error, Result};
use std::path::Path;

/// Refuses files of `bytes`, of which `there` are written already, if the disk of the folder `path` has no room for
/// them. An unknown amount of free space is no reason to refuse.
pub(crate) fn check(path: &Path, bytes: u64, there: u64) -> Result<()> {
    let wanted = bytes.saturating_sub(there);
    match homaes_wire::free_bytes(path) {
        Some(free) if free < wanted => Err(Error::Disk {
            path: path.to_owned(),
            wanted,
            free,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_the_bytes_wanted() {
        let folder = tempfile::tempdir().unwrap();
        check(folder.path(), 1 << 10, 0).unwrap();
        check(folder.path(), u64::MAX, u64::MAX).unwrap();
        if cfg!(unix) {
            let error = check(folder.path(), 1 << 60, 5).unwrap_err().to_string();
            assert!(error.contains(&((1u64 << 60) - 5).to_string()), "{error}");
        }
    }
}
