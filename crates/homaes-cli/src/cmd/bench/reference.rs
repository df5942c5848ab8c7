//! Reference code timed in the same process as a run of AES, so that ratios can be compared between machines.
//!
//! | scheme | own code | reference |
//! |---|---|---|
//! | all | one transform of the set's ring, in bgv and ntru | one transform of 32768 points of the crate `tfhe-ntt` |
//! | tfhe | | with feature `tfhe-rs`: one key switch and bootstrap of the crate `tfhe`, 4 bits |
//! | dghv | one conversion | with feature `malachite`: one product of the crate `malachite-nz`, 16 million bits |

#[cfg(feature = "tfhe-rs")]
mod pbs;
#[cfg(feature = "malachite")]
mod product;

use super::kernels::{self, Own};
use crate::console::Failure;
use crate::table::Rows;
use homaes::{ReferenceOp, Report, Set};
use homaes_lab::{Run, median};

/// Transforms timed before and after the run.
const REPETITIONS: usize = 1000;

/// Ring degree at which own and reference transform have the same length.
const DEGREE: u64 = 32768;

/// Runs a few times and appends the milliseconds of each.
type Operation = Box<dyn FnMut(&mut Vec<f64>)>;

pub(super) struct Clock {
    operation: Operation,
    times_ms: Vec<f64>,
}

impl Clock {
    /// `None` if this program is built without the crate of the operation.
    pub(super) fn new(operation: ReferenceOp) -> Result<Option<Self>, Failure> {
        let operation: Option<Operation> = match operation {
            #[cfg(feature = "tfhe-rs")]
            ReferenceOp::Bootstrap => Some(pbs::operation()?),
            #[cfg(feature = "malachite")]
            ReferenceOp::Product => Some(product::operation()),
            _ => None,
        };
        let times_ms = Vec::new();
        Ok(operation.map(|operation| Self {
            operation,
            times_ms,
        }))
    }

    pub(super) fn tick(&mut self) {
        (self.operation)(&mut self.times_ms);
    }

    pub(super) fn read(self) -> f64 {
        median(&self.times_ms)
    }
}

pub(super) struct Clocks {
    own: Own,
    own_ns: Vec<f64>,
    ntt: kernels::Reference,
    ntt_ns: Vec<f64>,
    same_length: bool,
    /// The operation that the scheme's speed is measured by.
    measure: ReferenceOp,
    clock: Option<Clock>,
}

impl Clocks {
    pub(super) fn new(set: &Set) -> Result<Self, Failure> {
        let measure = set.scheme().reference_op();
        let ring = set.card().ring;
        let m = ring.map_or(DEGREE * 2 - 1, |ring| ring.m);
        Ok(Self {
            own: Own::new(m)?,
            own_ns: Vec::new(),
            ntt: kernels::Reference::new()?,
            ntt_ns: Vec::new(),
            same_length: ring.is_some_and(|ring| ring.n == DEGREE),
            measure,
            clock: Clock::new(measure)?,
        })
    }

    pub(super) fn tick(&mut self) {
        for _ in 0..REPETITIONS {
            if self.measure == ReferenceOp::Transform {
                self.own_ns.push(self.own.forward());
            }
            self.ntt_ns.push(self.ntt.time());
        }
        self.clock.iter_mut().for_each(Clock::tick);
    }

    /// Adds the medians to the run of `report`, and its times in these units.
    pub(super) fn add_fields(self, report: &Report, run: &mut Run) {
        let reference_ns = median(&self.ntt_ns);
        run.backend = Some(self.own.backend);
        run.reference_ntt_ns = Some(reference_ns);
        run.aes_over_reference_ntt = Some(run.seconds_per_batch * 1e9 / reference_ns);
        if self.measure == ReferenceOp::Transform {
            let own_ns = median(&self.own_ns);
            run.ns_per_transform = Some(own_ns);
            run.transform_over_reference = self.same_length.then_some(own_ns / reference_ns);
        }
        match (self.measure, self.clock.map(Clock::read)) {
            (ReferenceOp::Bootstrap, Some(ms)) => {
                run.reference_pbs_ms = Some(ms);
                run.aes_over_reference_pbs = Some(run.ms_per_block / ms);
            }
            (ReferenceOp::Product, Some(ms)) => {
                let own = convert_ms(report);
                run.reference_product_ms = Some(ms);
                run.convert_ms = Some(own);
                run.convert_over_reference_product = Some(own / ms);
            }
            _ => {}
        }
    }
}

/// The rows for the table of a run, with the run's time in these units.
pub(super) fn add_rows(report: &Report, run: &Run, rows: &mut Rows) {
    if let (Some(batch), Some(ns)) = (run.aes_over_reference_ntt, run.reference_ntt_ns) {
        let us = ns / 1e3;
        let batch = format!("{batch:.0} transforms of tfhe-ntt, {us:.1} µs each");
        rows.add("time per batch", batch);
    }
    if let (Some(ns), Some(backend)) = (run.ns_per_transform, &run.backend) {
        let ratio = run.transform_over_reference;
        let ratio = ratio.map_or_else(String::new, |r| format!(", {r:.2} of tfhe-ntt's"));
        let (transforms, us) = (run.transforms, ns / 1e3);
        let transforms = format!("{transforms} of {us:.1} µs{ratio} ({backend})");
        rows.add("transforms", transforms);
    } else {
        for &(name, count) in &report.counts {
            let name = match name {
                "rotations" => "blind rotations",
                name => name,
            };
            rows.add(name, count.to_string());
        }
    }
    if let (Some(block), Some(ms)) = (run.aes_over_reference_pbs, run.reference_pbs_ms) {
        let block = format!("{block:.1} bootstraps of tfhe, {ms:.2} ms each");
        rows.add("block over reference", block);
    }
    if let (Some(own), Some(ms)) = (run.convert_ms, run.reference_product_ms) {
        let ratio = own / ms;
        let own = format!("{own:.1} ms, {ratio:.2} products of malachite-nz of {ms:.1} ms");
        rows.add("conversion", own);
    }
}

/// Time of one DGHV conversion: all stages except products and sums of ciphertexts.
fn convert_ms(report: &Report) -> f64 {
    let stages = report.stages.iter();
    let own = stages.filter(|(name, _)| !matches!(*name, "products" | "sums"));
    let seconds: f64 = own.map(|(_, seconds)| seconds).sum();
    seconds * 1e3 / report.count("relinearisations") as f64
}
