//! `homaes report`: pages and pictures of what was measured.

use crate::console::Failure;
use homaes_lab::Document;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Longer files are no documents of ours: a run of a million batches has less.
const MAX_BYTES: u64 = 1 << 30;

/// A document of `bench` or of `transcipher --report`.
pub(crate) fn read_document(path: &Path) -> Result<Document, Failure> {
    let name = path.display();
    let failed = |error| Failure::Work(format!("{name}: {error}; give a file that can be read"));
    let file = File::open(path).map_err(failed)?;
    let mut text = String::new();
    let read = file
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(failed)?;
    if read as u64 > MAX_BYTES {
        return Err(Failure::Work(format!(
            "{name}: more than {MAX_BYTES} bytes, expected a document of 'homaes bench --json'; give another file"
        )));
    }
    homaes_lab::read(&text)
        .map_err(|error| Failure::Work(format!("{name}: {error}; {}", error.remedy())))
}
