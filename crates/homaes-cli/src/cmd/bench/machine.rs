use crate::cmd::cores;
use homaes_lab::Machine;
use std::fs;

pub(super) fn machine(kernels: &str) -> Machine {
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
        memory_bytes: bytes("/proc/meminfo", "MemTotal"),
        kernels: kernels.to_owned(),
        features: features.map(|(name, _)| name.to_owned()).collect(),
    }
}

/// Peak memory of this process, if the system reports it.
pub(super) fn peak_rss_bytes() -> Option<u64> {
    bytes("/proc/self/status", "VmHWM")
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn bytes(file: &str, name: &str) -> Option<u64> {
    let text = field(file, name)?;
    let kilobytes: u64 = text.strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
