//! Where a run is measured.

use homaes_lab::Machine;
use std::fs;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;

/// Cores for this process.
pub(super) fn cores() -> NonZeroUsize {
    available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// What the system tells of the machine.
pub(super) fn machine(kernels: &str) -> Machine {
    let field = |file: &str, name: &str| {
        let text = fs::read_to_string(file).ok()?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let memory = field("/proc/meminfo", "MemTotal").and_then(|text| {
        let kilobytes: u64 = text.strip_suffix("kB")?.trim().parse().ok()?;
        Some(kilobytes * 1024)
    });
    let features = [
        ("dghv", cfg!(feature = "dghv")),
        ("malachite", cfg!(feature = "malachite")),
        ("tfhe-rs", cfg!(feature = "tfhe-rs")),
    ];
    let features = features.into_iter().filter(|&(_, on)| on);
    Machine {
        processor: field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".into()),
        system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        cores: cores().get(),
        memory_bytes: memory,
        kernels: kernels.to_owned(),
        features: features.map(|(name, _)| name.to_owned()).collect(),
    }
}
