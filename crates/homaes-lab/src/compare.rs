//! Figures of two documents that differ by more than noise.
//!
//! - Times are compared in units of the reference transform if both documents have it, so that a slower machine does
//!   not look like a slower program. The unit is the mean over all runs of a document.
//! - The noise of a time is the standard deviation of its logarithm between repetitions of a run, estimated from the
//!   median of their differences. All runs of both documents in the same class ([`Class`]) count, or the run alone if
//!   that gives more.
//! - A time has changed if its medians differ by more than [`DEVIATIONS`] standard deviations and by
//!   [`LEAST_CHANGE`], and if at most a fraction [`MOST_CONTRARY`] of the pairs of repetitions contradicts. If chance
//!   alone gives a factor of [`BLIND`], the comparison says that it is too noisy.
//! - Sizes have no noise: every difference counts. Counts, memory and noise bits may differ by [`LEAST_COUNT`],
//!   [`LEAST_MEMORY`] and [`LEAST_BITS`].

use crate::document::{Lab, Run, median};
use crate::units;
use serde_json::json;
use std::collections::BTreeMap;

/// Standard deviations that a change must exceed: a comparison looks at hundreds of figures, and the noise of a
/// shared host is not normal.
const DEVIATIONS: f64 = 5.0;

/// Relative difference of medians that does not matter.
const LEAST_CHANGE: f64 = 0.05;

/// If chance gives more than this factor, a comparison says nothing.
const BLIND: f64 = 2.0;

/// Relative difference of counts that does not matter: in TFHE, blocks with equal bytes share rotations.
const LEAST_COUNT: f64 = 0.005;

/// Fraction of pairs of repetitions, one of each document, that may be ordered otherwise: one outlier among five or
/// six.
const MOST_CONTRARY: f64 = 0.2;

/// Bytes of memory that do not matter: threads and the allocator keep some.
const LEAST_MEMORY: f64 = (32u64 << 20) as f64;

const LEAST_BITS: f64 = 0.5;

/// Assumed standard deviation of a time's logarithm if nothing was repeated.
const UNKNOWN_NOISE: f64 = 0.08;

/// The same for times below [`LONG`].
const UNKNOWN_SHORT_NOISE: f64 = 0.2;

/// Median of the absolute difference of two normal values, over their standard deviation: 0.6745·√2.
const MEDIAN_DIFFERENCE: f64 = 0.9539;

/// Seconds above which a run is long. Short runs have another noise, that of the clock and of other processes.
const LONG: f64 = 1.0;

/// Times below this are noise of file system and clock; they are not compared.
const LEAST_SECONDS: f64 = 20e-3;

/// The times that are compared, with their names in the output.
const TIMES: [(&str, &str); 8] = [
    ("seconds", "evaluation"),
    ("latency_seconds", "latency"),
    ("setup_seconds", "key expansion"),
    ("keygen_seconds", "key generation"),
    ("load_key_seconds", "reading the evaluation key"),
    ("wrap_seconds", "wrapping"),
    ("load_wrapped_seconds", "reading the wrapped key"),
    ("decrypt_seconds", "decryption"),
];

/// How a figure changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It takes less time.
    Faster,
    /// It takes more time.
    Slower,
    /// Fewer bytes, operations or bits of noise.
    Better,
    /// More of them, or a missing figure.
    Worse,
}

/// A figure that changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// As [`Run::name`].
    pub run: String,
    /// The figure.
    pub what: String,
    /// Old and new value, as text.
    pub values: [String; 2],
    /// New over old; times in units of the reference if both documents have it.
    pub ratio: f64,
    /// The largest ratio that chance gives.
    pub chance: f64,
    /// The direction.
    pub verdict: Verdict,
}

/// A comparison of two documents.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// Runs in both documents.
    pub compared: usize,
    /// Figures compared.
    pub figures: usize,
    /// The changes.
    pub changes: Vec<Change>,
    /// Runs in the old document only, and in the new one only.
    pub alone: [Vec<String>; 2],
    /// The ratio that chance gives for evaluation times, median over runs.
    pub chance: f64,
    /// Whether a document has repetitions, so that its noise is known.
    pub repeated: bool,
    /// New over old evaluation time, median over runs, in seconds and in reference transforms.
    pub shift: [f64; 2],
}

/// Runs of equal noise: whether they are long, and whether they use one thread, which other programs disturb less.
type Class = (bool, bool);

/// Standard deviations of the logarithms of times, by time and class.
type Noise = BTreeMap<(&'static str, Class), f64>;

/// Compares two documents.
#[must_use]
pub fn compare(old: &Lab, new: &Lab) -> Comparison {
    let scale = match [old, new].map(reference) {
        [Some(old), Some(new)] => old / new,
        _ => 1.0,
    };
    let [old, new] = [old, new].map(named);
    let all: Vec<&Run> = old.values().chain(new.values()).copied().collect();
    let noise = noise(&all);
    let mut comparison = Comparison {
        repeated: all.iter().any(|run| values(run, "seconds").len() > 1),
        ..Comparison::default()
    };
    let (mut ratios, mut chances) = (Vec::new(), Vec::new());
    for (name, &a) in &old {
        let Some(&b) = new.get(name) else {
            comparison.alone[0].push(name.0.clone());
            continue;
        };
        comparison.compared += 1;
        let [before, after] = [a, b].map(|run| median(&values(run, "seconds")));
        ratios.push(after / before);
        chances.extend(comparison.times([a, b], scale, &noise));
        comparison.exact(a, b);
    }
    let added = new.keys().filter(|name| !old.contains_key(*name));
    comparison.alone[1] = added.map(|(name, _)| name.clone()).collect();
    comparison.chance = median(&chances).max(1.0);
    let seconds = median(&ratios);
    comparison.shift = [seconds, seconds * scale];
    comparison
}

/// The reference transform of a document: geometric mean over all repetitions of all runs; `None` if a run lacks it.
fn reference(lab: &Lab) -> Option<f64> {
    let all = lab.runs.iter().map(|run| values(run, "reference_ntt_ns"));
    let all: Vec<Vec<f64>> = all.collect();
    let logs: Vec<f64> = all.iter().flatten().map(|ns| ns.ln()).collect();
    let known = !logs.is_empty() && all.iter().all(|values| !values.is_empty());
    known.then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// Runs by name, numbered if they share a name.
fn named(lab: &Lab) -> BTreeMap<(String, usize), &Run> {
    let mut named: BTreeMap<(String, usize), &Run> = BTreeMap::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for run in &lab.runs {
        let name = run.name();
        let count = counts.entry(name.clone()).or_default();
        named.insert((name, *count), run);
        *count += 1;
    }
    named
}

fn class(run: &Run) -> Class {
    (run.seconds >= LONG, run.threads == 1)
}

/// The noise of every time and class; that of all runs if a class has no repetitions.
fn noise(all: &[&Run]) -> Noise {
    const CLASSES: [Class; 4] = [(true, true), (true, false), (false, true), (false, false)];
    let mut noise = Noise::new();
    for (field, what) in TIMES {
        let of = |classes: &[Class]| {
            let runs = all.iter().filter(|run| classes.contains(&class(run)));
            let runs = runs.filter(|run| median(&values(run, field)) >= LEAST_SECONDS);
            deviation(runs.map(|run| values(run, field)))
        };
        let any = of(&CLASSES).unwrap_or(UNKNOWN_NOISE);
        for class in CLASSES {
            noise.insert((what, class), of(&[class]).unwrap_or(any));
        }
    }
    noise
}

/// All positive repetitions of a time.
fn values(run: &Run, field: &str) -> Vec<f64> {
    let values = match run.samples.get(field) {
        Some(values) => values.clone(),
        None => json!(run)[field].as_f64().into_iter().collect(),
    };
    values.into_iter().filter(|&value| value > 0.0).collect()
}

/// Standard deviation of logarithms, by the median difference of two values of a group; `None` if no group has two.
fn deviation(groups: impl Iterator<Item = Vec<f64>>) -> Option<f64> {
    let mut differences = Vec::new();
    for group in groups {
        for (i, a) in group.iter().enumerate() {
            differences.extend(group[..i].iter().map(|b| (a / b).ln().abs()));
        }
    }
    let found = median(&differences) / MEDIAN_DIFFERENCE;
    (!differences.is_empty()).then_some(found)
}

/// The fraction of pairs of a value of `a` and one of `b` that are ordered against their medians.
fn contrary(a: &[f64], b: &[f64]) -> f64 {
    let up = median(b) > median(a);
    let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
    let count = pairs.filter(|(a, b)| a == b || (b > a) != up).count();
    count as f64 / (a.len() * b.len()) as f64
}

impl Comparison {
    /// Compares all times of two runs; `scale` is the old reference over the new one. Returns the ratio that chance
    /// gives for the evaluation.
    fn times(&mut self, [old, new]: [&Run; 2], scale: f64, noise: &Noise) -> Option<f64> {
        let mut evaluation = None;
        for (field, what) in TIMES {
            let [a, mut b] = [old, new].map(|run| values(run, field));
            let seconds = [&a, &b].map(|values| median(values));
            if seconds.iter().all(|&seconds| seconds < LEAST_SECONDS) {
                continue;
            }
            self.figures += 1;
            let [before, after] = seconds.map(units::short_seconds);
            if a.is_empty() || b.is_empty() {
                // a step without time is not done
                let (after, verdict) = match (a.is_empty(), field) {
                    (true, _) => (after, Verdict::Slower),
                    (false, "setup_seconds") => (after, Verdict::Faster),
                    (false, _) => ("missing".into(), Verdict::Worse),
                };
                self.add(new, what, [before, after], [f64::NAN, 1.0], verdict);
                continue;
            }
            let own = deviation([a.clone(), b.clone()].into_iter()).unwrap_or(0.0);
            b.iter_mut().for_each(|time| *time *= scale);
            let ratio = median(&b) / median(&a);
            let mut one = noise[&(what, class(old))].max(own);
            if !self.repeated && seconds[0] < LONG && field != "seconds" {
                one = one.max(UNKNOWN_SHORT_NOISE);
            }
            let difference = one * (1.0 / a.len() as f64 + 1.0 / b.len() as f64).sqrt();
            let chance = (DEVIATIONS * difference).max(LEAST_CHANGE.ln_1p()).exp();
            if field == "seconds" {
                evaluation = Some(chance);
            }
            if ratio.ln().abs() > chance.ln() && contrary(&a, &b) <= MOST_CONTRARY {
                let verdict = match ratio < 1.0 {
                    true => Verdict::Faster,
                    false => Verdict::Slower,
                };
                self.add(new, what, [before, after], [ratio, chance], verdict);
            }
        }
        evaluation
    }

    fn add(
        &mut self,
        run: &Run,
        what: &str,
        values: [String; 2],
        [ratio, chance]: [f64; 2],
        verdict: Verdict,
    ) {
        self.changes.push(Change {
            run: run.name(),
            what: what.to_owned(),
            values,
            ratio,
            chance,
            verdict,
        });
    }

    /// Compares figures without noise, and memory.
    fn exact(&mut self, old: &Run, new: &Run) {
        let [before, after] = [old, new].map(figures);
        for (what, a) in &before {
            self.figures += 1;
            let Some(b) = after.get(what) else {
                let values = [a.text(), "missing".into()];
                self.add(new, what, values, [f64::NAN, 1.0], Verdict::Worse);
                continue;
            };
            if !a.differs(b) {
                continue;
            }
            let verdict = match b.value < a.value {
                true => Verdict::Better,
                false => Verdict::Worse,
            };
            let ratio = if a.log2 { f64::NAN } else { b.value / a.value };
            let values = [a, b].map(Figure::text);
            self.add(new, what, values, [ratio, 1.0 + a.least], verdict);
        }
    }

    /// Whether anything became slower or worse, or is missing.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        let worse = |change: &Change| matches!(change.verdict, Verdict::Slower | Verdict::Worse);
        self.changes.iter().any(worse) || !self.alone[0].is_empty()
    }

    /// Whether chance alone gives a factor of `BLIND`.
    #[must_use]
    pub fn is_blind(&self) -> bool {
        self.chance > BLIND
    }

    /// The comparison as text.
    #[must_use]
    pub fn text(&self) -> String {
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let [seconds, reference] = self.shift.map(percent);
        let known = match self.repeated {
            true => "by the repetitions of the runs",
            false => "assuming a noise of 8 %, because nothing was repeated",
        };
        let (compared, figures, chance) = (self.compared, self.figures, percent(self.chance));
        let mut out = format!(
            "{compared} runs are in both documents, {figures} figures compared\n\
             evaluation, median over runs: {seconds:+.1} % in seconds, {reference:+.1} % in reference transforms\n\
             chance explains differences of up to {chance:.0} % for a run, {known}\n"
        );
        for (which, alone) in ["old", "new"].into_iter().zip(&self.alone) {
            for run in alone {
                out += &format!("only in the {which} document: {run}\n");
            }
        }
        for change in &self.changes {
            let verdict = match change.verdict {
                Verdict::Faster => "faster",
                Verdict::Slower => "SLOWER",
                Verdict::Better => "less",
                Verdict::Worse => "WORSE",
            };
            let ([old, new], run, what) = (&change.values, &change.run, &change.what);
            out += &format!("{verdict}: {run}: {what} {old} -> {new}");
            if change.ratio.is_finite() {
                out += &format!("; {:+.1} %", percent(change.ratio));
                if matches!(change.verdict, Verdict::Faster | Verdict::Slower) {
                    out += &format!(
                        " in reference transforms, if both documents have them (chance: {:.1} %)",
                        percent(change.chance)
                    );
                }
            }
            out.push('\n');
        }
        out += match (self.is_blind(), self.changes.is_empty()) {
            (true, _) => {
                "TOO NOISY: even twice the time might be chance; measure on a quiet machine or with more repetitions\n"
            }
            (false, true) => "no change\n",
            (false, false) => "",
        };
        out
    }
}

/// A figure; less is better.
#[derive(Debug, Clone, Copy)]
struct Figure {
    value: f64,
    /// Difference that does not matter: relative, or absolute for logarithms.
    least: f64,
    /// Whether the value is a binary logarithm.
    log2: bool,
}

impl Figure {
    fn differs(&self, other: &Self) -> bool {
        let (a, b) = (self.value, other.value);
        let difference = match self.log2 {
            true => b - a,
            false => b / a - 1.0,
        };
        difference.abs() > self.least
    }

    fn text(&self) -> String {
        match self.log2 {
            true => format!("2^{:.1}", self.value),
            false => units::grouped(self.value as u64),
        }
    }
}

/// Sizes, memory, noise and counts, by name.
fn figures(run: &Run) -> BTreeMap<String, Figure> {
    let mut all = BTreeMap::new();
    let mut add = |what: &str, value: f64, least: f64, log2: bool| {
        all.insert(what.to_owned(), Figure { value, least, log2 });
    };
    let sizes = [
        ("evaluation key, bytes", run.eval_key_bytes),
        ("wrapped key, bytes", run.wrapped_key_bytes),
        ("results, bytes", run.ciphertext_bytes),
    ];
    for (what, bytes) in sizes {
        add(what, bytes as f64, 0.0, false);
    }
    if let Some(bytes) = run.peak_rss_bytes {
        let bytes = bytes as f64;
        let least = LEAST_CHANGE.max(LEAST_MEMORY / bytes);
        add("peak memory, bytes", bytes, least, false);
    }
    if let Some(bits) = run.capacity_bits {
        add("noise over the limit", -bits, LEAST_BITS, true);
    }
    for (name, &count) in &run.counts {
        let what = format!("number of {name}");
        add(&what, count as f64, LEAST_COUNT, false);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of `names`, each with these seconds times `factor`.
    fn lab(names: &[&str], seconds: &[f64], factor: f64) -> Lab {
        let runs = names.iter().map(|&set| {
            let run = |s: &f64| Run {
                set: set.into(),
                seconds: s * factor,
                blocks: 1,
                threads: 1,
                eval_key_bytes: 1000,
                reference_ntt_ns: Some(4e4),
                ..Run::default()
            };
            Run::median(seconds.iter().map(run).collect()).unwrap()
        });
        Lab {
            runs: runs.collect(),
            ..Lab::default()
        }
    }

    #[test]
    fn noise_is_no_change() {
        let old = lab(&["a", "b", "c"], &[1.0, 1.06, 0.97], 1.0);
        let new = lab(&["a", "b", "d"], &[1.05, 1.1, 1.0], 1.0);
        let found = compare(&old, &new);
        assert_eq!((found.compared, found.changes.len()), (2, 0), "{found:?}");
        assert_eq!(
            found.alone,
            [
                vec!["c , AES-0, decrypting, 1 block, 1 thread".to_owned()],
                vec!["d , AES-0, decrypting, 1 block, 1 thread".to_owned()]
            ]
        );
        assert!((1.05..BLIND).contains(&found.chance), "{found:?}");
        assert!(found.text().ends_with("no change\n"), "{}", found.text());
    }

    #[test]
    fn changes_beyond_the_noise_are_found() {
        let old = lab(&["a", "b"], &[1.0, 1.02, 0.99], 1.0);
        for (factor, verdict) in [(1.3, Verdict::Slower), (0.7, Verdict::Faster)] {
            let mut new = lab(&["a", "b"], &[1.0, 1.01, 0.98], 1.0);
            new.runs[1] = lab(&["b"], &[1.0, 1.01, 0.98], factor).runs.remove(0);
            let found = compare(&old, &new);
            let changes: Vec<_> = found
                .changes
                .iter()
                .map(|c| (&c.run[..1], c.verdict))
                .collect();
            assert_eq!(changes, [("b", verdict)], "{found:?}");
            assert_eq!(found.is_worse(), factor > 1.0);
        }
    }

    #[test]
    fn a_slower_machine_is_no_slower_program() {
        let old = lab(&["a"], &[1.0, 1.01], 1.0);
        let mut new = lab(&["a"], &[2.0, 2.02], 1.0);
        let run = &mut new.runs[0];
        run.reference_ntt_ns = Some(8e4);
        run.samples
            .insert("reference_ntt_ns".into(), vec![8e4, 8e4]);
        let found = compare(&old, &new);
        assert_eq!(found.changes, [], "{found:?}");
        assert!((found.shift[0] - 2.0).abs() < 0.02 && (found.shift[1] - 1.0).abs() < 0.01);
    }

    #[test]
    fn sizes_have_no_noise_and_memory_has() {
        let old = lab(&["a"], &[1.0], 1.0);
        let mut new = old.clone();
        new.runs[0].eval_key_bytes = 1001;
        let found = compare(&old, &new);
        let change = &found.changes[0];
        assert_eq!(
            (change.what.as_str(), change.verdict),
            ("evaluation key, bytes", Verdict::Worse)
        );
        assert_eq!(change.values, ["1,000", "1,001"]);
        let [mut old, mut new] = [old.clone(), old];
        for (bytes, then, changes) in [
            (1_000_000_000, 1_049_000_000, 0),
            (1_000_000_000, 1_200_000_000, 1),
            (50_000_000, 80_000_000, 0),
        ] {
            old.runs[0].peak_rss_bytes = Some(bytes);
            new.runs[0].peak_rss_bytes = Some(then);
            assert_eq!(compare(&old, &new).changes.len(), changes, "{bytes}");
        }
        for (count, changes) in [(2003, 0), (2020, 1)] {
            old.runs[0].counts.insert("rotations".into(), 2000);
            new.runs[0].counts.insert("rotations".into(), count);
            let [mut old, mut new] = [old.clone(), new.clone()];
            old.runs[0].peak_rss_bytes = None;
            new.runs[0].peak_rss_bytes = None;
            assert_eq!(compare(&old, &new).changes.len(), changes, "{count}");
        }
    }

    #[test]
    fn short_times_count_where_one_is_long_and_references_where_both_have_them() {
        let fast = lab(&["a"], &[1e-3, 1.1e-3], 1.0);
        assert_eq!(compare(&fast, &lab(&["a"], &[9e-3, 9e-3], 1.0)).changes, []);
        let found = compare(&fast, &lab(&["a"], &[9.0, 9.1], 1.0));
        assert_eq!(found.changes[0].verdict, Verdict::Slower, "{found:?}");
        // one document without references: compares seconds
        let mut without = lab(&["a"], &[1.0, 1.01], 1.0);
        without.runs[0].reference_ntt_ns = None;
        without.runs[0].samples.remove("reference_ntt_ns");
        let with = lab(&["a"], &[1.0, 1.01], 1.0);
        assert_eq!(compare(&with, &without).changes, []);
    }

    #[test]
    fn missing_runs_and_too_much_noise_are_reported() {
        let old = lab(&["a", "b"], &[1.0, 1.01], 1.0);
        let mut new = old.clone();
        new.runs.truncate(1);
        let found = compare(&old, &new);
        assert!(found.is_worse() && found.changes.is_empty());
        let mut new = old.clone();
        new.runs[0].counts.insert("x".into(), 1);
        assert!(!compare(&old, &new).is_worse());
        assert!(compare(&new, &old).is_worse());
        // runs of the same name are compared one by one
        let mut twice = old.clone();
        twice
            .runs
            .push(lab(&["a"], &[1.0, 1.01], 100.0).runs.remove(0));
        assert_eq!(compare(&twice, &old).alone[0].len(), 1);
        let noisy = lab(&["a"], &[1.0, 2.5], 1.0);
        let found = compare(&noisy, &noisy);
        assert!(
            found.is_blind() && found.text().contains("TOO NOISY"),
            "{}",
            found.text()
        );
        assert!(!compare(&old, &old).is_blind());
    }

    /// One disturbed repetition neither hides a change nor makes one.
    #[test]
    fn outliers_hide_nothing() {
        let old = lab(&["a"], &[1.0, 1.01, 1.02, 0.99, 1.0, 3.0], 1.0);
        let new = lab(&["a"], &[2.0, 2.01, 2.02, 1.99, 2.0, 2.0], 1.0);
        let found = compare(&old, &new);
        assert_eq!(found.changes[0].verdict, Verdict::Slower, "{found:?}");
        let new = lab(&["a"], &[1.0, 1.01, 1.02, 0.99, 1.0, 1.0], 1.0);
        assert_eq!(compare(&old, &new).changes, []);
    }
}
