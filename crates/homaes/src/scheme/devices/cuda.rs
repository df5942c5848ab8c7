use super::{Gpu, Refusal};
use homaes_bgv::device::Device;
use homaes_bgv::{OnGpu, Params};
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

pub(super) fn start(params: &Params, number: usize, crosses: bool) -> Result<OnGpu, Refusal> {
    let device =
        |params| -> Result<Arc<dyn Device>, Error> { Ok(Arc::new(Cuda::new(params, number)?)) };
    let aes = device(params.of_aes())?;
    let results = crosses && params.digest() != params.of_aes().digest();
    let results = results.then(|| device(params)).transpose()?;
    Ok(OnGpu { aes, results })
}
