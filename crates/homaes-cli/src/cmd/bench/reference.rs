//! Reference code timed in the same process as a run of AES, so that ratios can be compared between machines.
//!
//! | scheme | own code | reference |
//! |---|---|---|
//! | all | one transform of the set's ring, in bgv and ntru | one transform of 32768 points of the crate `tfhe-ntt` |
//!  tfhe | | with feature `tfhe-rs`: one key switch and bootstrap of the crate `tfhe`, 4 bits |
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

pub(super) struct Reference {
    backend: String,
    /// Own transform of the set's ring, if the scheme consists mainly of these.
    transform_ns: Option<f64>,
    reference_ns: f64,
    same_length: bool,
    measure: ReferenceOp,
    operation_ms: Option<f64>,
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

    pub(super) fn read(self) -> Reference {
        let of_scheme = self.measure == ReferenceOp::Transform;
        Reference {
            backend: self.own.backend().to_owned(),
            transform_ns: of_scheme.then(|| median(&self.own_ns)),
            reference_ns: median(&self.ntt_ns),
            same_length: self.same_length,
            measure: self.measure,
            operation_ms: self.clock.map(Clock::read),
        }
    }
}

impl Reference {
    pub(super) fn add_fields(&self, report: &Report, run: &mut Run) {
        run.backend = Some(self.backend.clone());
        run.reference_ntt_ns = Some(self.reference_ns);
        run.aes_over_reference_ntt = Some(over(report, self.reference_ns));
        run.ns_per_transform = self.transform_ns;
        let comparable = self.transform_ns.filter(|_| self.same_length);
        run.transform_over_reference = comparable.map(|ns| ns / self.reference_ns);
        match (self.measure, self.operation_ms) {
            (ReferenceOp::Bootstrap, Some(ms)) => {
                run.reference_pbs_ms = Some(ms);
                run.aes_over_reference_pbs = Some(over_pbs(report, ms));
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

    /// The rows for the table of a run, with the run's time in these units.
    pub(super) fn add_rows(&self, report: &Report, rows: &mut Rows) {
        let (batch, us) = (over(report, self.reference_ns), self.reference_ns / 1e3);
        let batch = format!("{batch:.0} transforms of tfhe-ntt, {us:.1} µs each");
        rows.add("time per batch", batch);
        if let Some(transform_ns) = self.transform_ns {
            let ratio = match self.same_length {
                true => format!(", {:.2} of tfhe-ntt's", transform_ns / self.reference_ns),
                false => String::new(),
            };
            let (transforms, us) = (report.count("transforms"), transform_ns / 1e3);
            let transforms = format!("{transforms} of {us:.1} µs{ratio} ({})", self.backend);
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
        match (self.measure, self.operation_ms) {
            (ReferenceOp::Bootstrap, Some(ms)) => {
                let block = over_pbs(report, ms);
                let block = format!("{block:.1} bootstraps of tfhe, {ms:.2} ms each");
                rows.add("block over reference", block);
            }
            (ReferenceOp::Product, Some(ms)) => {
                let (own, ratio) = (convert_ms(report), convert_ms(report) / ms);
                let own = format!("{own:.1} ms, {ratio:.2} products of malachite-nz of {ms:.1} ms");
                rows.add("conversion", own);
            }
            _ => {}
        }
    }
}

fn over(report: &Report, reference_ns: f64) -> f64 {
    report.seconds / report.batches as f64 * 1e9 / reference_ns
}

fn over_pbs(report: &Report, reference_ms: f64) -> f64 {
    report.seconds / report.blocks as f64 * 1e3 / reference_ms
}

/// Time of one DGHV conversion: all stages except products and sums of ciphertexts.
fn convert_ms(report: &Report) -> f64 {
    let stages = report.stages.iter();
    let own = stages.filter(|(name, _)| !matches!(*name, "products" | "sums"));
    let seconds: f64 = own.map(|(_, seconds)| seconds).sum();
    seconds * 1e3 / report.count("relinearisations") as f64
}
