//! What a worker did, one line for each shard, for people: nothing reads it.

use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The log of this process in a job's folder.
pub(crate) struct Log {
    path: Option<PathBuf>,
    file: Option<File>,
    host: String,
}

impl Log {
    /// Begins with the first line; none where the job is in no folder.
    pub(crate) fn new(folder: Option<&Path>) -> Self {
        let host = fs::read_to_string("/proc/sys/kernel/hostname");
        let host = host.ok().or_else(|| std::env::var("HOSTNAME").ok());
        let allowed = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
        let host: String = host.unwrap_or_default().chars().filter(allowed).collect();
        let process = std::process::id();
        let name = format!("{host}-{process}-{}.ndjson", now());
        Self {
            path: folder.map(|folder| folder.join("log").join(name)),
            file: None,
            host,
        }
    }

    /// Adds a line. That it cannot be written is no reason to stop.
    pub(crate) fn add(&mut self, mut line: Value) {
        let Some(path) = &self.path else {
            return;
        };
        line["time"] = json!(now());
        line["host"] = json!(self.host);
        line["process"] = json!(std::process::id());
        let open = || {
            // nothing where the job is gone
            let _ = fs::create_dir(path.parent()?);
            File::options().create(true).append(true).open(path).ok()
        };
        self.file = self.file.take().or_else(open);
        if let Some(file) = &mut self.file {
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}
