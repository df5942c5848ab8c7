//! The devices that evaluate AES: the processor or GPUs.

#[cfg_attr(all(feature = "cuda", target_os = "linux"), path = "devices/cuda.rs")]
#[cfg_attr(
    not(all(feature = "cuda", target_os = "linux")),
    path = "devices/none.rs"
)]
mod backend;

use crate::error::quoted;
use crate::{Error, ErrorKind, Result, Set};
use core::fmt;
use core::str::FromStr;
use homaes_aes::Layout;
use homaes_scheme::{Gpu, Gpus, Started, Warn};
use rayon::prelude::*;
use std::sync::Arc;

/// The environment variable that [`Devices::of_environment`] reads.
pub const DEVICE_VARIABLE: &str = "HOMAES_DEVICE";

/// The devices that evaluate AES. The ciphertexts do not depend on them.
///
/// ```
/// # use homaes::Devices;
/// assert_eq!("cuda:0,2".parse::<Devices>()?, Devices::Cuda(vec![0, 2]));
/// # Ok::<(), homaes::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Devices {
    /// `auto`: all GPUs that can evaluate the set and layout, otherwise the processor. If a GPU fails, the others repeat
    /// its batches, or else the processor.
    #[default]
    Auto,
    /// `cpu`: the processor.
    Cpu,
    /// `cuda`: all NVIDIA GPUs; `cuda:0,1`: those with these numbers.
    Cuda(Vec<usize>),
}

impl FromStr for Devices {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let numbers = |list: &str| {
            let numbers = list.split(',').map(|number| number.parse().ok());
            let numbers: Vec<usize> = numbers.collect::<Option<_>>()?;
            let twice = |(i, number)| numbers[..i].contains(number);
            (!numbers.iter().enumerate().any(twice)).then_some(Self::Cuda(numbers))
        };
        let found = match text {
            "auto" => Some(Self::Auto),
            "cpu" => Some(Self::Cpu),
            "cuda" => Some(Self::Cuda(Vec::new())),
            _ => text.strip_prefix("cuda:").and_then(numbers),
        };
        found.ok_or_else(|| {
            let expected = "auto, cpu, cuda, or GPU numbers such as cuda:0,1";
            let message = format!("device {}: expected {expected}", quoted(text));
            Error::refused(ErrorKind::UnknownDevice, message)
        })
    }
}

impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(numbers) => {
                f.write_str("cuda")?;
                let signs = std::iter::once(':').chain(std::iter::repeat(','));
                let mut numbers = numbers.iter().zip(signs);
                numbers.try_for_each(|(number, sign)| write!(f, "{sign}{number}"))
            }
        }
    }
}

/// The GPUs that this process can use.
///
/// # Errors
/// `ErrorKind::NoGpu` if there is no driver, or no GPU.
pub fn gpus() -> Result<Vec<Gpu>> {
    backend::cards().map_err(|refusal| refusal.of("cuda".to_owned()))
}

impl Devices {
    /// The devices in the environment variable `HOMAES_DEVICE`, by default [`Devices::Auto`].
    ///
    /// # Errors
    /// `ErrorKind::UnknownDevice`.
    pub fn of_environment() -> Result<Self> {
        match std::env::var_os(DEVICE_VARIABLE).filter(|value| !value.is_empty()) {
            Some(value) => value.to_string_lossy().parse(),
            None => Ok(Self::Auto),
        }
    }

    /// Refuses missing GPUs, and GPUs for work that only the processor does. Call it before reading keys. `layout` is
    /// the requested one, if any.
    ///
    /// # Errors
    /// `ErrorKind::NotOnGpu`, `ErrorKind::NoGpu`.
    pub fn check(&self, set: &Set, layout: Option<Layout>) -> Result<()> {
        let Self::Cuda(wanted) = self else {
            return Ok(());
        };
        let layouts = layout.as_ref().map_or(set.layouts(), std::slice::from_ref);
        let refusals = layouts.iter().map(|&layout| not_on_gpu(set, layout));
        // one layout that GPUs can evaluate is enough
        match refusals.reduce(Option::and).flatten() {
            Some(what) => Err(only_on_cpu(&what)),
            None => self.wanted(wanted).map(drop),
        }
    }

    fn wanted(&self, numbers: &[usize]) -> Result<Vec<Gpu>> {
        let mut all = backend::cards().map_err(|refusal| refusal.of(self.to_string()))?;
        let count = all.len();
        if let Some(number) = numbers.iter().find(|&&number| number >= count) {
            let why = format!("there is no GPU {number}: found {count}, numbered from 0");
            return Err(no_gpu(&self.to_string(), &why));
        }
        all.retain(|gpu| numbers.is_empty() || numbers.contains(&gpu.number));
        Ok(all)
    }

    /// Starts the GPUs for batches of a set in a layout; `crosses`: results cross a bridge.
    pub(crate) fn start<'k>(
        &self,
        (set, layout, crosses): (&Set, Layout, bool),
        warn: Warn<'k>,
    ) -> Result<Gpus<'k>> {
        let mut gpus = Gpus {
            all: Vec::new(),
            falls_back: *self == Self::Auto,
            warn,
        };
        match (self, not_on_gpu(set, layout)) {
            (Self::Cpu, _) | (Self::Auto, Some(_)) => {}
            (Self::Cuda(_), Some(what)) => return Err(only_on_cpu(&what)),
            (Self::Cuda(numbers), None) => {
                let started = started(set, crosses, self.wanted(numbers)?);
                gpus.all = started.map_err(|refusal| refusal.of(self.to_string()))?;
            }
            (Self::Auto, None) => {
                match backend::cards().and_then(|cards| started(set, crosses, cards)) {
                    Ok(all) => gpus.all = all,
                    Err(Refusal { why, expected }) if expected => {
                        (gpus.warn)(&format!("no GPU is used: {why}"));
                    }
                    Err(_) => {}
                }
            }
        }
        Ok(gpus)
    }
}

fn started(set: &Set, crosses: bool, gpus: Vec<Gpu>) -> Result<Vec<Started>, Refusal> {
    let Some(params) = set.params_of() else {
        return Ok(Vec::new());
    };
    // in parallel, because each takes a good part of a second
    let started = gpus.into_par_iter().map(|gpu| {
        let device = backend::start(&params, gpu.number, crosses)?;
        Ok((Arc::new(gpu), Box::new(device) as _))
    });
    started.collect()
}

/// Names what GPUs cannot evaluate.
fn not_on_gpu(set: &Set, layout: Layout) -> Option<String> {
    match set.gpu_memory(layout) {
        None if set.layouts().iter().all(|&l| set.gpu_memory(l).is_none()) => {
            Some(format!("set {}", set.name()))
        }
        None => Some(format!("layout {layout}")),
        Some(_) => None,
    }
}

struct Refusal {
    why: String,
    /// Whether the installed software suggests a GPU.
    expected: bool,
}

impl Refusal {
    /// The error for a request of `device`.
    fn of(self, device: String) -> Error {
        no_gpu(&device, &self.why)
    }
}

fn no_gpu(device: &str, why: &str) -> Error {
    Error::refused(ErrorKind::NoGpu, format!("device {device}: {why}"))
}

fn only_on_cpu(what: &str) -> Error {
    let expected = "layout sliced or packed of a BGV set with GPU memory in 'homaes params --all'";
    let message = format!("{what} does not run on GPUs, expected {expected}");
    Error::refused(ErrorKind::NotOnGpu, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_named_by_words() {
        for (text, device) in [
            ("auto", Devices::Auto),
            ("cpu", Devices::Cpu),
            ("cuda", Devices::Cuda(vec![])),
            ("cuda:3,1", Devices::Cuda(vec![3, 1])),
        ] {
            assert_eq!(text.parse::<Devices>().unwrap(), device);
            assert_eq!(device.to_string(), text);
        }
        for bad in [
            "", "gpu", "CUDA", "cuda:", "cuda:x", "cuda:0,", "cuda:1,1", "cuda 0", "cuda:-1",
        ] {
            let error = bad.parse::<Devices>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnknownDevice, "{bad}");
        }
    }

    #[test]
    fn gpus_are_for_bytes_of_bgv() {
        use Layout::{Bits, Packed, Sliced};
        for (set, layout, what) in [
            ("bgv/aes128", Sliced, None),
            ("bgv/aes128", Packed, None),
            ("bgv/toy-255", Bits, Some("layout bits")),
            ("tfhe/toy", Bits, Some("set tfhe/toy")),
        ] {
            let set = Set::named(set).unwrap();
            assert_eq!(not_on_gpu(&set, layout).as_deref(), what);
        }
    }
}
