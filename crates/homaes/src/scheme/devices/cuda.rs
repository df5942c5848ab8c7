use super::{Gpu, Refusal};
use homaes_bgv::Params;
use homaes_bgv::device::Device;
use homaes_cuda::{Arithmetic, Card, Cuda, Error};
use std::sync::Arc;

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self {
            why: error.to_string(),
            expected: error != Error::Driver,
        }
    }
}

pub(super) fn cards() -> Result<Vec<Gpu>, Refusal> {
    let gpu = |card: Card| Gpu {
        arithmetic: match card.arithmetic() {
            Arithmetic::Doubles => "double".to_owned(),
            Arithmetic::Integers => "integer".to_owned(),
        },
        number: card.number,
        name: card.name,
        memory_bytes: card.bytes,
    };
    Ok(homaes_cuda::cards()?.into_iter().map(gpu).collect())
}

pub(super) fn start(params: &Params, number: usize) -> Result<Arc<dyn Device>, Refusal> {
    Ok(Arc::new(Cuda::new(params.of_aes(), number)?))
}
