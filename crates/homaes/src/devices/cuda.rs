//! GPUs of NVIDIA, by the crate `homaes-cuda`.

use super::{Gpu, Refusal};
use homaes_bgv::Params;
use homaes_bgv::device::Device;
use homaes_cuda::{Card, Cuda, Error};
use std::sync::Arc;

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self {
            why: error.to_string(),
            remedy: error.remedy(),
            expected: error != Error::Driver,
        }
    }
}

/// Operations in single precision for one in double precision up to which the latter is not called slow.
const FAST: u32 = 4;

pub(super) fn cards() -> Result<Vec<Gpu>, Refusal> {
    let gpu = |card: Card| Gpu {
        number: card.number,
        name: card.name,
        memory_bytes: card.bytes,
        arithmetic: match card.single_to_double {
            0..=FAST => "double".to_owned(),
            ratio => format!("double, at 1/{ratio} of the speed of single"),
        },
    };
    Ok(homaes_cuda::cards()?.into_iter().map(gpu).collect())
}

pub(super) fn start(params: &Params, number: usize) -> Result<Arc<dyn Device>, Refusal> {
    Ok(Arc::new(Cuda::new(params, number)?))
}
