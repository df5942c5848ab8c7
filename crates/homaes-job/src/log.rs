//! Logs of workers, one line per shard, for people only.

use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) const LOGS: &str = "log";
const END: &str = "ndjson";

/// This process's log in a job's folder.
pub(crate) struct Log {
    path: Option<PathBuf>,
    file: Option<File>,
    host: String,
}

impl Log {
    /// The file is created with the first line; there is no log without a folder.
    pub(crate) fn new(folder: Option<&Path>) -> Self {
        let host = fs::read_to_string("/proc/sys/kernel/hostname");
        let host = host.ok().or_else(|| std::env::var("HOSTNAME").ok());
        let allowed = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
        let host: String = host.unwrap_or_default().chars().filter(allowed).collect();
        let process = std::process::id();
        let name = format!("{host}-{process}-{}.{END}", now());
        Self {
            path: folder.map(|folder| folder.join(LOGS).join(name)),
            file: None,
            host,
        }
    }

    /// Adds a line; failures are ignored.
    pub(crate) fn add(&mut self, mut line: Value) {
        let Some(path) = &self.path else {
            return;
        };
        line["time"] = json!(now());
        line["host"] = json!(self.host);
        line["process"] = json!(std::process::id());
        let open = || {
            // fails if the job was removed
            let folder = path.parent()?;
            let _ = fs::create_dir(folder);
            File::options().create(true).append(true).open(path).ok()
        };
        self.file = self.file.take().or_else(open);
        if let Some(file) = &mut self.file {
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
    }
}

/// Removes the logs of all workers, when the job is done, and their folder if nothing else is in it.
pub(crate) fn remove_all(folder: &Path) {
    let folder = folder.join(LOGS);
    if folder.is_symlink() {
        return; // what it leads to is somebody else's
    }
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|end| end == END) && path.is_file() {
            let _ = fs::remove_file(path);
        }
    }
    let _ = fs::remove_dir(folder);
}

/// Seconds since 1970.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}
