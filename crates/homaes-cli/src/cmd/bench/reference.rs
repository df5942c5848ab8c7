//! What a run of AES is held against: reference code timed in the same process, so that ratios can be compared between
//! machines.
//!
//! | scheme | own code | reference |
//! |---|---|---|
//! | all | one transform of the set's ring, in bgv and ntru | one transform of 32768 points of the crate `tfhe-ntt` |
//! | tfhe | | with feature `tfhe-rs`: one key switch and bootstrapping of the crate `tfhe`, 4 bits |
//! | dghv | one conversion | with feature `malachite`: one product of two integers of 16 million bits of the crate `malachite-nz` |

#[cfg(feature = "tfhe-rs")]
pub(super) mod pbs;
#[cfg(feature = "malachite")]
mod product;

use super::kernels::{self, Own};
use crate::console::Failure;
use crate::table::Rows;
use homaes::{ReferenceOp, Report, Set};
use homaes_lab::{Run, median};
use std::fs;

/// Transforms timed before and after the run.
const REPETITIONS: usize = 1000;

/// Degree of the ring at which transforms are compared with the reference of the same length.
const DEGREE: u64 = 32768;

/// Own code and references, timed in turn on one thread.
pub(super) struct Clocks {
    ntt: Ntt,
    reference_op: Option<Clock>,
}

/// What a scheme is held against beside the reference transform.
enum Clock {
    #[cfg(feature = "tfhe-rs")]
    Pbs(Box<pbs::Pbs>),
    #[cfg(feature = "malachite")]
    Product(product::Product),
}

/// Transforms, with the times so far.
struct Ntt {
    own: Own,
    reference: kernels::Reference,
    own_ns: Vec<f64>,
    reference_ns: Vec<f64>,
    /// Whether the scheme's work is transforms of a ring.
    of_scheme: bool,
    /// Whether both transforms have the same length.
    same_length: bool,
}

/// What the clocks showed, medians.
pub(super) struct Reference {
    backend: String,
    /// Own transform of the set's ring, where the scheme's work is that.
    transform_ns: Option<f64>,
    reference_ns: f64,
    same_length: bool,
    reference_op: Option<Yard>,
}

enum Yard {
    #[cfg(feature = "tfhe-rs")]
    Pbs { reference_ms: f64 },
    #[cfg(feature = "malachite")]
    Product { reference_ms: f64 },
}

impl Clocks {
    pub(super) fn new(set: &Set) -> Result<Self, Failure> {
        let reference_op = set.scheme().reference_op();
        // A set without a ring has no transform of its own to compare.
        let ring = set.card().ring;
        let m = ring.map_or(DEGREE * 2 - 1, |ring| ring.m);
        let ntt = Ntt {
            own: Own::new(m)?,
            reference: kernels::Reference::new()?,
            own_ns: Vec::new(),
            reference_ns: Vec::new(),
            of_scheme: reference_op == ReferenceOp::Transform,
            same_length: ring.is_some_and(|ring| ring.n == DEGREE),
        };
        let reference_op = match reference_op {
            #[cfg(feature = "tfhe-rs")]
            ReferenceOp::Bootstrap => Some(Clock::Pbs(Box::new(pbs::Pbs::new()?))),
            #[cfg(feature = "malachite")]
            ReferenceOp::Product => Some(Clock::Product(product::Product::new())),
            _ => None,
        };
        Ok(Self { ntt, reference_op })
    }

    /// Times all of them.
    pub(super) fn tick(&mut self) {
        let ntt = &mut self.ntt;
        for _ in 0..REPETITIONS {
            if ntt.of_scheme {
                ntt.own_ns.push(ntt.own.forward());
            }
            ntt.reference_ns.push(ntt.reference.time());
        }
        match &mut self.reference_op {
            #[cfg(feature = "tfhe-rs")]
            Some(Clock::Pbs(pbs)) => pbs.tick(),
            #[cfg(feature = "malachite")]
            Some(Clock::Product(product)) => product.tick(),
            _ => {}
        }
    }

    pub(super) fn read(self) -> Reference {
        let ntt = self.ntt;
        Reference {
            backend: ntt.own.backend().to_owned(),
            transform_ns: ntt.of_scheme.then(|| median(&ntt.own_ns)),
            reference_ns: median(&ntt.reference_ns),
            same_length: ntt.same_length,
            reference_op: match self.reference_op {
                #[cfg(feature = "tfhe-rs")]
                Some(Clock::Pbs(pbs)) => Some(Yard::Pbs {
                    reference_ms: median(&pbs.into_times()),
                }),
                #[cfg(feature = "malachite")]
                Some(Clock::Product(product)) => Some(Yard::Product {
                    reference_ms: median(&product.into_times()),
                }),
                _ => None,
            },
        }
    }
}

impl Reference {
    /// The fields that it adds to the document of a run.
    pub(super) fn add_fields(&self, report: &Report, run: &mut Run) {
        run.backend = Some(self.backend.clone());
        run.reference_ntt_ns = Some(self.reference_ns);
        run.aes_over_reference_ntt = Some(over(report, self.reference_ns));
        run.ns_per_transform = self.transform_ns;
        let comparable = self.transform_ns.filter(|_| self.same_length);
        run.transform_over_reference = comparable.map(|ns| ns / self.reference_ns);
        match self.reference_op {
            #[cfg(feature = "tfhe-rs")]
            Some(Yard::Pbs { reference_ms }) => {
                run.reference_pbs_ms = Some(reference_ms);
                run.aes_over_reference_pbs = Some(over_pbs(report, reference_ms));
            }
            #[cfg(feature = "malachite")]
            Some(Yard::Product { reference_ms }) => {
                let own = convert_ms(report);
                run.reference_product_ms = Some(reference_ms);
                run.convert_ms = Some(own);
                run.convert_over_reference_product = Some(own / reference_ms);
            }
            _ => {}
        }
    }

    /// Its rows in the table of a run, and what the run did as its multiple.
    pub(super) fn add_rows(&self, report: &Report, rows: &mut Rows) {
        let batch = over(report, self.reference_ns);
        rows.add(
            "time per batch",
            format!(
                "{batch:.0} transforms of tfhe-ntt, {:.1} µs each",
                self.reference_ns / 1e3
            ),
        );
        if let Some(transform_ns) = self.transform_ns {
            let ratio = match self.same_length {
                true => format!(", {:.2} of tfhe-ntt's", transform_ns / self.reference_ns),
                false => String::new(),
            };
            let (transforms, us) = (report.count("transforms"), transform_ns / 1e3);
            rows.add(
                "transforms",
                format!("{transforms} of {us:.1} µs{ratio} ({})", self.backend),
            );
        } else {
            add_counts(report, rows);
        }
        match self.reference_op {
            #[cfg(feature = "tfhe-rs")]
            Some(Yard::Pbs { reference_ms }) => {
                let block = over_pbs(report, reference_ms);
                rows.add(
                    "block over reference",
                    format!("{block:.1} bootstraps of tfhe, {reference_ms:.2} ms each"),
                );
            }
            #[cfg(feature = "malachite")]
            Some(Yard::Product { reference_ms }) => {
                let (own, ratio) = (convert_ms(report), convert_ms(report) / reference_ms);
                rows.add(
                    "conversion",
                    format!(
                        "{own:.1} ms, {ratio:.2} products of malachite-nz of {reference_ms:.1} ms"
                    ),
                );
            }
            _ => {}
        }
    }
}

/// Time per batch as a multiple of the reference.
fn over(report: &Report, reference_ns: f64) -> f64 {
    report.seconds / report.batches as f64 * 1e9 / reference_ns
}

/// Most memory this process has had, where the system tells; in `bench all` the runs before count.
pub(super) fn peak_rss_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// What a run did, without a reference for it.
fn add_counts(report: &Report, rows: &mut Rows) {
    for &(name, count) in &report.counts {
        let name = match name {
            "rotations" => "blind rotations",
            name => name,
        };
        rows.add(name, count.to_string());
    }
}

/// Time per block as a multiple of the reference.
#[cfg(feature = "tfhe-rs")]
fn over_pbs(report: &Report, reference_ms: f64) -> f64 {
    report.seconds / report.blocks as f64 * 1e3 / reference_ms
}

/// Time of one conversion of DGHV: of all stages but products and sums of ciphertexts.
#[cfg(feature = "malachite")]
fn convert_ms(report: &Report) -> f64 {
    let stages = report.stages.iter();
    let own = stages.filter(|(name, _)| !matches!(*name, "products" | "sums"));
    let seconds: f64 = own.map(|(_, seconds)| seconds).sum();
    seconds * 1e3 / report.count("relinearisations") as f64
}
