//! No GPUs: this program is built without code for them.

use super::{Gpu, Refusal};
use homaes_bgv::Params;
use homaes_bgv::device::Device;
use std::sync::Arc;

pub(super) fn cards() -> Result<Vec<Gpu>, Refusal> {
    Err(refusal())
}

pub(super) fn start(_: &Params, _: usize) -> Result<Arc<dyn Device>, Refusal> {
    Err(refusal())
}

fn refusal() -> Refusal {
    Refusal {
        why: "this program is built without code for GPUs, expected one for Linux with the feature cuda".to_owned(),
        expected: false,
    }
}
