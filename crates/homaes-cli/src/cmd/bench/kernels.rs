//! The ring transform compared with that of the crate `tfhe-ntt`.

use crate::console::Failure;
use crate::table::Rows;
use homaes_lab::{Kernels, median};
use homaes_math::{Ring, Transform, Words};
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::Instant;
use tfhe_ntt::prime64::Plan;

/// Conductor of the ring of degree 32768.
const CONDUCTOR: u64 = 65535;

/// A 47-bit prime that serves every ring.
const PRIME: u64 = 131_311_739_216_641;

const REFERENCE_POINTS: usize = 32768;

/// A 50-bit prime, 1 modulo 65536: the reference's fast range.
const REFERENCE_PRIME: u64 = 1_125_899_904_679_937;

const REPETITIONS: usize = 2500;

pub(super) struct Reference {
    plan: Plan,
    /// aligned to cache lines: the address of a plain vector changes the time by 15 %
    data: Words,
}

impl Reference {
    pub(super) fn new() -> Result<Self, Failure> {
        let plan = Plan::try_new(REFERENCE_POINTS, REFERENCE_PRIME)
            .ok_or_else(|| Failure::system("tfhe-ntt", "no plan for the reference prime"))?;
        let mut data = Words::zeroed(REFERENCE_POINTS);
        for (i, word) in (0..).zip(data.iter_mut()) {
            *word = i * i * i;
        }
        Ok(Self { plan, data })
    }

    pub(super) fn time(&mut self) -> f64 {
        time(|| self.plan.fwd(black_box(&mut self.data)))
    }
}

pub(super) struct Own {
    transform: Transform,
    data: Words,
    pub(super) backend: String,
}

impl Own {
    pub(super) fn new(m: u64) -> Result<Self, Failure> {
        let failure = || Failure::system("transform", format!("no ring of conductor {m}"));
        let ring = Ring::new(m).ok_or_else(failure)?;
        let transform = Transform::new(&ring, PRIME).ok_or_else(failure)?;
        let mut data = Words::zeroed(ring.n());
        for (i, word) in data.iter_mut().enumerate() {
            *word = (i * i * i) as u64 % PRIME;
        }
        Ok(Self {
            transform,
            data,
            backend: format!("{:?}", ring.backend()),
        })
    }

    pub(super) fn forward(&mut self) -> f64 {
        time(|| self.transform.forward(black_box(&mut self.data)))
    }

    pub(super) fn inverse(&mut self) -> f64 {
        time(|| self.transform.inverse(black_box(&mut self.data)))
    }
}

fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e9
}

/// Medians of the three transforms, timed in turn so that all see the same machine.
pub(super) fn measure() -> Result<Kernels, Failure> {
    let (mut own, mut reference) = (Own::new(CONDUCTOR)?, Reference::new()?);
    let mut times = [const { Vec::new() }; 3];
    // the first rounds run on cold caches
    for i in 0..REPETITIONS + REPETITIONS / 10 {
        let round = [own.forward(), own.inverse(), reference.time()];
        if i >= REPETITIONS / 10 {
            for (times, ns) in times.iter_mut().zip(round) {
                times.push(ns);
            }
        }
    }
    let [forward_ns, inverse_ns, reference_ntt_ns] = times.map(|times| median(&times));
    Ok(Kernels {
        backend: own.backend,
        forward_ns,
        inverse_ns,
        reference_ntt_ns,
    })
}

pub(super) fn json(kernels: &Kernels) -> Value {
    let reference_ns = kernels.reference_ntt_ns;
    json!({
        "backend": kernels.backend,
        "repetitions": REPETITIONS,
        "conductor": CONDUCTOR,
        "prime": PRIME,
        "reference": format!("tfhe-ntt prime64, {REFERENCE_POINTS} points, forward"),
        "reference_prime": REFERENCE_PRIME,
        "forward_ns": kernels.forward_ns,
        "inverse_ns": kernels.inverse_ns,
        "reference_ntt_ns": reference_ns,
        "forward_over_reference": kernels.forward_ns / reference_ns,
        "inverse_over_reference": kernels.inverse_ns / reference_ns,
    })
}

pub(super) fn text(kernels: &Kernels) -> String {
    let reference_ns = kernels.reference_ntt_ns;
    let us = |ns: f64| format!("{:.1} µs", ns / 1e3);
    let compared = |ns: f64| format!("{}, {:.2} of the reference", us(ns), ns / reference_ns);
    let mut rows = Rows::default();
    rows.add("backend", kernels.backend.as_str());
    rows.add("forward transform", compared(kernels.forward_ns));
    rows.add("inverse transform", compared(kernels.inverse_ns));
    rows.add("tfhe-ntt forward", us(reference_ns));
    rows.text()
}
