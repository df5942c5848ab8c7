//! What a run of AES is held against: reference code timed in the same process, so that ratios can be compared between
//! machines.
//!
//! | scheme | own code | reference |
//! |---|---|---|
//! | bgv | one transform of the set's ring | one transform of 32768 points of the crate `tfhe-ntt` |
//! | tfhe | | with feature `tfhe-rs`: one key switch and bootstrapping of the crate `tfhe`, 4 bits |
//! | dghv | one conversion | with feature `malachite`: one product of two integers of 16 million bits of the crate `malachite-nz` |

#[cfg(feature = "tfhe-rs")]
mod pbs;
#[cfg(feature = "malachite")]
mod product;

use super::kernels::{self, Own, median};
use crate::console::Failure;
use crate::table::Rows;
use homaes::{Report, Set, Yardstick};
use serde_json::{Map, Value, json};

/// Transforms timed before and after the run.
const REPETITIONS: usize = 1000;

/// Degree of the ring at which transforms are compared with the reference of the same length.
const DEGREE: u64 = 32768;

/// Own code and reference, timed in turn on one thread.
pub(super) enum Clocks {
    Ntt(Box<Ntt>),
    #[cfg(feature = "tfhe-rs")]
    Pbs(Box<pbs::Pbs>),
    #[cfg(feature = "malachite")]
    Product(product::Product),
    None,
}

/// Transforms, with the times so far.
pub(super) struct Ntt {
    own: Own,
    reference: kernels::Reference,
    own_ns: Vec<f64>,
    reference_ns: Vec<f64>,
    same_length: bool,
}

/// What the clocks showed, medians.
pub(super) enum Reference {
    Ntt {
        backend: String,
        transform_ns: f64,
        reference_ns: f64,
        /// Whether both transforms have the same length.
        same_length: bool,
    },
    #[cfg(feature = "tfhe-rs")]
    Pbs {
        reference_ms: f64,
    },
    #[cfg(feature = "malachite")]
    Product {
        reference_ms: f64,
    },
    None,
}

impl Clocks {
    pub(super) fn new(set: &Set) -> Result<Self, Failure> {
        match set.scheme().yardstick() {
            Yardstick::Transform => Self::transforms(set),
            #[cfg(feature = "tfhe-rs")]
            Yardstick::Bootstrap => Ok(Self::Pbs(Box::new(pbs::Pbs::new()?))),
            #[cfg(feature = "malachite")]
            Yardstick::Product => Ok(Self::Product(product::Product::new())),
            _ => Ok(Self::None),
        }
    }

    fn transforms(set: &Set) -> Result<Self, Failure> {
        // A set without a ring has no transform of its own to compare.
        let ring = set.card().ring;
        let m = ring.map_or(DEGREE * 2 - 1, |ring| ring.m);
        Ok(Self::Ntt(Box::new(Ntt {
            own: Own::new(m)?,
            reference: kernels::Reference::new()?,
            own_ns: Vec::new(),
            reference_ns: Vec::new(),
            same_length: ring.is_some_and(|ring| ring.n == DEGREE),
        })))
    }

    /// Times both.
    pub(super) fn tick(&mut self) {
        match self {
            Self::Ntt(ntt) => {
                for _ in 0..REPETITIONS {
                    ntt.own_ns.push(ntt.own.forward());
                    ntt.reference_ns.push(ntt.reference.time());
                }
            }
            #[cfg(feature = "tfhe-rs")]
            Self::Pbs(pbs) => pbs.tick(),
            #[cfg(feature = "malachite")]
            Self::Product(product) => product.tick(),
            Self::None => {}
        }
    }

    pub(super) fn read(self) -> Reference {
        match self {
            Self::Ntt(ntt) => Reference::Ntt {
                backend: ntt.own.backend().to_owned(),
                transform_ns: median(ntt.own_ns),
                reference_ns: median(ntt.reference_ns),
                same_length: ntt.same_length,
            },
            #[cfg(feature = "tfhe-rs")]
            Self::Pbs(pbs) => Reference::Pbs {
                reference_ms: median(pbs.into_times()),
            },
            #[cfg(feature = "malachite")]
            Self::Product(product) => Reference::Product {
                reference_ms: median(product.into_times()),
            },
            Self::None => Reference::None,
        }
    }
}

impl Reference {
    /// The fields that it adds to the document of a run.
    pub(super) fn fields(&self, report: &Report) -> Map<String, Value> {
        let fields = match self {
            Self::Ntt {
                backend,
                transform_ns,
                reference_ns,
                same_length,
            } => json!({
                "backend": backend,
                "ns_per_transform": transform_ns,
                "reference_ntt_ns": reference_ns,
                "aes_over_reference_ntt": over(report, *reference_ns),
                "transform_over_reference": same_length.then(|| transform_ns / reference_ns),
            }),
            #[cfg(feature = "tfhe-rs")]
            Self::Pbs { reference_ms } => json!({
                "reference_pbs_ms": reference_ms,
                "aes_over_reference_pbs": over_pbs(report, *reference_ms),
            }),
            #[cfg(feature = "malachite")]
            Self::Product { reference_ms } => json!({
                "reference_product_ms": reference_ms,
                "convert_ms": convert_ms(report),
                "convert_over_reference_product": convert_ms(report) / reference_ms,
            }),
            Self::None => Value::Null,
        };
        match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    /// Its rows in the table of a run, and what the run did as its multiple.
    pub(super) fn add_rows(&self, report: &Report, rows: &mut Rows) {
        match self {
            Self::Ntt {
                backend,
                transform_ns,
                reference_ns,
                same_length,
            } => {
                let batch = over(report, *reference_ns);
                rows.add(
                    "time per batch",
                    format!("{batch:.0} transforms of tfhe-ntt"),
                );
                let ratio = match same_length {
                    true => format!(", {:.2} of tfhe-ntt's", transform_ns / reference_ns),
                    false => String::new(),
                };
                let (transforms, us) = (report.count("transforms"), transform_ns / 1e3);
                rows.add(
                    "transforms",
                    format!("{transforms} of {us:.1} µs{ratio} ({backend})"),
                );
            }
            #[cfg(feature = "tfhe-rs")]
            Self::Pbs { reference_ms } => {
                let block = over_pbs(report, *reference_ms);
                rows.add(
                    "block over reference",
                    format!("{block:.1} bootstrappings of tfhe, {reference_ms:.2} ms each"),
                );
                add_counts(report, rows);
            }
            #[cfg(feature = "malachite")]
            Self::Product { reference_ms } => {
                let (own, ratio) = (convert_ms(report), convert_ms(report) / reference_ms);
                rows.add(
                    "conversion",
                    format!(
                        "{own:.1} ms, {ratio:.2} products of malachite-nz of {reference_ms:.1} ms"
                    ),
                );
                add_counts(report, rows);
            }
            Self::None => add_counts(report, rows),
        }
    }
}

/// Time per batch as a multiple of the reference.
fn over(report: &Report, reference_ns: f64) -> f64 {
    report.seconds / report.batches as f64 * 1e9 / reference_ns
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
