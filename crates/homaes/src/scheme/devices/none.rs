//! No GPUs: this program is built without code for them.

use super::{Gpu, Refusal};
use homaes_bgv::{OnGpu, Params};

pub(super) fn cards() -> Result<Vec<Gpu>, Refusal> {
    Err(refusal())
}

pub(super) fn start(_: &Params, _: usize, _: bool) -> Result<OnGpu, Refusal> {
    Err(refusal())
}

fn refusal() -> Refusal {
    Refusal {
        why: "this program is built without code for GPUs, expected one for Linux with the feature cuda".to_owned(),
        expected: false,
    }
}
