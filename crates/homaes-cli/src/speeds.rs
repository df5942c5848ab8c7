//! How fast this machine was: seconds a batch of the last run of each kind, in the user's folder for caches. Estimates alone depend on it.

use crate::console;
use crate::table;
use homaes::{Devices, Layout, Output, Set, Share};
use homaes_job::cache_folder;
use homaes_lab::units::short_seconds;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::PathBuf;

/// Longest file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// Seconds that a GPU takes until its first batch: kernels, keys.
const START: f64 = 1.0;

/// The kind of a run.
pub(crate) struct Speed(String);

/// Where a run of so many batches is evaluated, and how fast that was. Under `auto` the processor keeps a message that it
/// is known to finish before a GPU would.
pub(crate) fn choose(
    devices: Devices,
    (set, layout, crosses): (&Set, Layout, bool),
    threads: usize,
    batches: u64,
) -> (Devices, Speed) {
    let (name, layout_name) = (set.name(), layout.name());
    let cpu = Speed(format!("{name}, {layout_name}, {threads} threads"));
    let gpu = Speed(format!("{name}, {layout_name}, GPU"));
    match devices {
        Devices::Cuda(_) => return (devices, gpu),
        Devices::Auto if set.gpu_memory(layout).is_some() && !crosses => {}
        _ => return (devices, cpu),
    }
    let seconds = |speed: &Speed| Some(speed.seconds_per_batch()? * batches as f64);
    let on_gpu = START + seconds(&gpu).unwrap_or(0.0);
    match seconds(&cpu).is_some_and(|on_cpu| on_cpu < on_gpu) {
        true => (Devices::Cpu, cpu),
        false if homaes::gpus().is_ok_and(|gpus| !gpus.is_empty()) => (devices, gpu),
        false => (devices, cpu),
    }
}

impl Speed {
    /// Seconds that a batch took, if there was such a run.
    pub(crate) fn seconds_per_batch(&self) -> Option<f64> {
        let seconds = read(&path()?)?.get(&self.0).copied()?;
        // more than a year is no measurement
        (seconds > 0.0 && seconds < 3e7).then_some(seconds)
    }

    /// Notes what a run of so many batches took, unless several devices took part or others than were expected. That it
    /// cannot be noted is no reason to say so.
    pub(crate) fn note(&self, seconds: f64, batches: u64, devices: &[Share]) {
        let on_gpus = self.0.ends_with("GPU");
        let expected = devices.iter().all(|share| share.name.is_some() == on_gpus);
        let Some(path) = path().filter(|_| expected && batches > 0 && seconds > 0.0) else {
            return;
        };
        // a link leads to a file of somebody else's
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
            return;
        }
        let mut all = read(&path).unwrap_or_default();
        all.insert(self.0.clone(), seconds / batches as f64);
        let folder = path.parent().map(fs::create_dir_all);
        if let (Some(Ok(())), Ok(text)) = (folder, serde_json::to_string(&all)) {
            let written = Output::create(&path, true).and_then(|mut output| {
                let written = output.write_all(text.as_bytes());
                written.map_err(|source| homaes::Error::Io { path, source })?;
                output.commit()
            });
            drop(written);
        }
    }

    /// Says what is to be done, and how long that takes as far as it is known, if it is a minute or more.
    pub(crate) fn announce(&self, batches: u64, bytes: u64) {
        let Some(seconds) = self.seconds_per_batch() else {
            return;
        };
        let seconds = seconds * batches as f64;
        if seconds >= 60.0 {
            let batches = table::count(batches, "batch", "batches");
            let (time, bytes) = (short_seconds(seconds), table::bytes(bytes));
            console::tell(&format!("{batches}, about {time}, {bytes} of results\n"));
        }
    }
}

fn path() -> Option<PathBuf> {
    Some(cache_folder()?.join("speeds.json"))
}

fn read(path: &PathBuf) -> Option<BTreeMap<String, f64>> {
    // opening a pipe would wait for its writer
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MOST_BYTES).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}
