//! Base conversion to several primes at once.

use crate::context::RnsContext;
use crate::meter::{Meter, Stage};
use homaes_math::kernel::{self, AT_ONCE, Combination, MAX_SOURCES};
use homaes_math::rns::Conversion;

#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) number: usize,
    pub(crate) prime: usize,
}

/// How much of the transform follows a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axes {
    /// All of it: the result is in evaluation form.
    All,
    /// The first half, [`Transform::forward_rows`](homaes_math::Transform::forward_rows); the kernel that reads the
    /// result does the second.
    First,
}

/// Converts `sources` (words y of all source primes, then v) to each target, followed by these axes of the transform.
///
/// Each source row is read from memory once per [`AT_ONCE`] targets. The target rows take the first axis of the
/// transform while they are in cache.
pub(crate) fn convert(
    rns: &RnsContext,
    meter: &Meter,
    conversion: &Conversion,
    sources: &[&[u64]],
    (targets, axes): (&[Target], Axes),
    out: &mut [&mut [u64]],
) {
    assert!(sources.len() <= MAX_SOURCES && targets.len() == out.len());
    let (ring, n) = (rns.ring(), rns.ring().n());
    // without the axis of 257 rows are too short to be worth a pass each
    let len = if ring.cols() > 1 { ring.row_len() } else { n };
    for (targets, out) in targets.chunks(AT_ONCE).zip(out.chunks_mut(AT_ONCE)) {
        meter.converts_from(sources.len());
        let mut combinations = [conversion.combination(targets[0].number); AT_ONCE];
        for (combination, target) in combinations.iter_mut().zip(targets) {
            *combination = conversion.combination(target.number);
        }
        let combinations: &[Combination<'_>] = &combinations[..targets.len()];
        for start in (0..n).step_by(len) {
            let range = start..start + len;
            let mut parts = [&[][..]; MAX_SOURCES];
            for (part, source) in parts.iter_mut().zip(sources) {
                *part = &source[range.clone()];
            }
            let parts = &parts[..sources.len()];
            let mut rows = out.iter_mut().map(|out| &mut out[range.clone()]);
            let mut rows: [&mut [u64]; AT_ONCE] =
                [(); AT_ONCE].map(|()| rows.next().unwrap_or_default());
            let rows = &mut rows[..targets.len()];
            meter.part(Stage::Conversion, || {
                kernel::combine(ring, combinations, parts, rows);
            });
            meter.part(Stage::Transform, || {
                for (row, target) in rows.iter_mut().zip(targets) {
                    rns.transform(target.prime).forward_rows(row);
                }
            });
        }
        for (out, target) in out.iter_mut().zip(targets) {
            let t = rns.transform(target.prime);
            match axes {
                Axes::All => meter.time(Stage::Transform, || t.forward_columns(out)),
                Axes::First => meter.transform(),
            }
        }
    }
}
