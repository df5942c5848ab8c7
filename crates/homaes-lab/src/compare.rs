//! What became faster or slower between two documents, beyond the noise of their runs.
//!
//! Times are compared as multiples of the reference transform where both documents have it, so that a slower machine is no slower
//! program: of the mean over all runs of the document, because one measurement of it says less about the machine than the runs themselves do. The noise of a time is estimated from repetitions: the standard deviation of its logarithm within runs, by the median of the differences of two repetitions, over the
//! runs of both documents that are short or long as it is ([`LONG`]), and like it on one thread or on several; or that of the run itself if it is larger. A difference of medians counts as a
//! change if it exceeds [`DEVIATIONS`] standard deviations of that difference and [`LEAST_CHANGE`], and nearly all values of one document lie on one side of those
//! of the other. Where that is more than a factor of [`BLIND`], the documents are too noisy to be compared, and the comparison says so.
//! Sizes and security figures have no noise: every difference counts. Counts of operations depend on keys and messages in some schemes, and count from [`LEAST_COUNT`] on, memory
//! from [`LEAST_CHANGE`] and [`LEAST_MEMORY`] on, noise left from [`LEAST_BITS`] on.

use crate::document::{Lab, Run, median};
use crate::units;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Standard deviations of a difference that chance does not give: some hundred differences are looked at, and the noise of a shared host has no normal distribution.
pub const DEVIATIONS: f64 = 5.0;

/// Relative difference of medians that is too small to matter.
pub const LEAST_CHANGE: f64 = 0.05;

/// Where chance gives more than this factor, nothing can be said.
pub const BLIND: f64 = 2.0;

/// Relative difference of counts of operations that does not matter: blocks with equal bytes share rotations in TFHE.
const LEAST_COUNT: f64 = 0.005;

/// Share of pairs of repetitions, one of each document, that may be in the other order: one value in five or six, and none of two or three.
const MOST_CONTRARY: f64 = 0.2;

/// What a set must be called to protect data.
const SECURE: &str = "secure";

/// Bytes of memory that do not matter: what threads and the allocator keep.
const LEAST_MEMORY: f64 = (32u64 << 20) as f64;

/// Bits of noise left that do not matter.
const LEAST_BITS: f64 = 0.5;

/// Standard deviation of a time's logarithm where nothing was repeated.
const UNKNOWN_NOISE: f64 = 0.08;

/// The same of times below [`LONG`].
const UNKNOWN_SHORT_NOISE: f64 = 0.2;

/// Median of the absolute difference of two values, over their standard deviation, of normal ones: 0.6745·√2.
const MEDIAN_DIFFERENCE: f64 = 0.9539;

/// Runs of at least so many seconds have a noise of their own: short ones are of the clock and of what else the machine does at the moment.
const LONG: f64 = 1.0;

/// Times of which both are below this are of the file system and the clock, seconds.
const LEAST_SECONDS: f64 = 20e-3;

/// The times that are compared, with what people call them.
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
    /// Less time.
    Faster,
    /// More time.
    Slower,
    /// Fewer bytes, a lower failure probability, less of what is counted.
    Better,
    /// The other way round, or a figure that is gone.
    Worse,
}

/// A figure that changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// As [`Run::name`].
    pub run: String,
    /// What changed.
    pub what: String,
    /// Before and after, as text.
    pub values: [String; 2],
    /// After over before; of times as multiples of the reference where both have it.
    pub ratio: f64,
    /// The ratio that chance gives at most.
    pub chance: f64,
    /// Which way.
    pub verdict: Verdict,
}

/// Two documents compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Runs that are in both.
    pub compared: usize,
    /// Figures that were looked at.
    pub figures: usize,
    /// What changed.
    pub changes: Vec<Change>,
    /// Runs of one document alone: the old one and the new one.
    pub alone: [Vec<String>; 2],
    /// The ratio that chance gives for the evaluation of a run, median over the runs.
    pub chance: f64,
    /// Whether anything was repeated, so that its noise is known.
    pub repeated: bool,
    /// Median over runs of the time of evaluation, new over old, in seconds and in reference transforms.
    pub shift: [f64; 2],
}

/// What runs have their noise in common with: whether they are long, and whether they are on one thread, which others disturb less.
type Class = (bool, bool);

/// Standard deviations of the logarithms of times, by what is timed and the class of the run.
type Noise = BTreeMap<(&'static str, Class), f64>;

/// Compares two documents.
#[must_use]
pub fn compare(old: &Lab, new: &Lab) -> Comparison {
    let references = [old, new].map(reference);
    let references = match references {
        [Some(old), Some(new)] => [old, new],
        _ => [1.0; 2],
    };
    let [old, new] = [old, new].map(named);
    let pairs: Vec<(&Run, &Run)> = old
        .iter()
        .filter_map(|(name, a)| new.get(name).map(|b| (*a, *b)))
        .collect();
    let all = || old.values().chain(new.values()).copied();
    let noise = noise(all);
    let alone = [(&old, &new), (&new, &old)].map(|(a, b)| {
        let names = a.iter().filter(|(name, _)| !b.contains_key(*name));
        names.map(|((name, _), _)| name.clone()).collect()
    });
    let mut comparison = Comparison {
        compared: pairs.len(),
        figures: 0,
        changes: Vec::new(),
        alone,
        chance: 1.0,
        repeated: all().any(|run| values(run, "seconds").len() > 1),
        shift: [false, true].map(|relative| {
            let ratios = pairs.iter().map(|(a, b)| {
                let [a, b] = [a, b].map(|run| median(&values(run, "seconds")));
                b / a
            });
            let [old, new] = references;
            let slower = if relative { new / old } else { 1.0 };
            median(&ratios.collect::<Vec<_>>()) / slower
        }),
    };
    let mut chances = Vec::new();
    for (a, b) in pairs {
        chances.extend(comparison.times([(a, references[0]), (b, references[1])], &noise));
        comparison.exact(a, b);
    }
    comparison.chance = median(&chances).max(1.0);
    comparison
}

/// The reference transform in a document: geometric mean over all repetitions of all runs. `None` if a run has none.
fn reference(lab: &Lab) -> Option<f64> {
    let all: Vec<Vec<f64>> = lab
        .runs
        .iter()
        .map(|run| values(run, "reference_ntt_ns"))
        .collect();
    let logs: Vec<f64> = all.iter().flatten().map(|ns| ns.ln()).collect();
    let known = !logs.is_empty() && all.iter().all(|values| !values.is_empty());
    known.then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// The runs by their names; of several of one name each has its number.
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

/// The class of a run.
fn class(run: &Run) -> Class {
    (run.seconds >= LONG, run.threads == 1)
}

/// The noise of every time in every class; that of all runs where a class has no repetitions.
fn noise<'r, I: Iterator<Item = &'r Run>>(all: impl Fn() -> I) -> Noise {
    const CLASSES: [Class; 4] = [(true, true), (true, false), (false, true), (false, false)];
    let mut noise = Noise::new();
    for (field, what) in TIMES {
        let of = |classes: &[Class]| {
            let runs = all().filter(|run| classes.contains(&class(run)));
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

/// The values of a time, all repetitions; none where it is zero.
fn values(run: &Run, field: &str) -> Vec<f64> {
    let values = match run.samples.get(field) {
        Some(values) => values.clone(),
        None => json!(run)[field].as_f64().into_iter().collect(),
    };
    values.into_iter().filter(|&value| value > 0.0).collect()
}

/// Standard deviation of logarithms, by the median of the differences of two values of a group; `None` where no group has two.
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

/// The share of pairs of a value of `a` and one of `b` that are not ordered as the medians are.
fn contrary(a: &[f64], b: &[f64]) -> f64 {
    let up = median(b) > median(a);
    let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
    let count = pairs.filter(|(a, b)| a == b || (b > a) != up).count();
    count as f64 / (a.len() * b.len()) as f64
}

impl Comparison {
    /// Compares all times of two runs, in units of the references beside them; gives the ratio that chance gives for the evaluation.
    fn times(&mut self, runs: [(&Run, f64); 2], noise: &Noise) -> Option<f64> {
        let [(old, _), (new, _)] = runs;
        let mut evaluation = None;
        for (field, what) in TIMES {
            let [before, after] = [old, new].map(|run| values(run, field));
            let seconds = [&before, &after].map(|values| median(values));
            if seconds.iter().all(|&seconds| seconds < LEAST_SECONDS) {
                continue;
            }
            self.figures += 1;
            if before.is_empty() || after.is_empty() {
                let [before, after] = seconds.map(units::short_seconds);
                // only what is not done takes no time
                let (values, verdict) = match (seconds[0] > 0.0, field) {
                    (false, _) => ([before, after], Verdict::Slower),
                    (true, "setup_seconds") => ([before, after], Verdict::Faster),
                    (true, _) => ([before, "gone".into()], Verdict::Worse),
                };
                self.add(new, what, values, [f64::NAN, 1.0], verdict);
                continue;
            }
            let [a, b] = runs.map(|(run, unit)| -> Vec<f64> {
                values(run, field)
                    .into_iter()
                    .map(|time| time / unit)
                    .collect()
            });
            let ratio = median(&b) / median(&a);
            let own = deviation([a.clone(), b.clone()].into_iter()).unwrap_or(0.0);
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
                let verdict = if ratio < 1.0 {
                    Verdict::Faster
                } else {
                    Verdict::Slower
                };
                self.add(
                    new,
                    what,
                    seconds.map(units::short_seconds),
                    [ratio, chance],
                    verdict,
                );
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

    /// Figures without noise, and memory, for all of which less is better.
    fn exact(&mut self, old: &Run, new: &Run) {
        let [before, after] = [old, new].map(figures);
        for (what, a) in &before {
            self.figures += 1;
            let Some(b) = after.get(what) else {
                let values = [a.text(), "gone".into()];
                self.add(new, what, values, [f64::NAN, 1.0], Verdict::Worse);
                continue;
            };
            if !a.differs(b) {
                continue;
            }
            let verdict = if b.value < a.value {
                Verdict::Better
            } else {
                Verdict::Worse
            };
            let ratio = if a.log2 { f64::NAN } else { b.value / a.value };
            let values = [a, b].map(Figure::text);
            self.add(new, what, values, [ratio, 1.0 + a.least], verdict);
        }
        if old.purpose != new.purpose {
            let values = [old.purpose.clone(), new.purpose.clone()];
            let verdict = match new.purpose == SECURE {
                true => Verdict::Better,
                false => Verdict::Worse,
            };
            self.add(new, "purpose", values, [f64::NAN, 1.0], verdict);
        }
    }

    /// Whether anything became slower or worse, or is gone.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        let worse = |change: &Change| matches!(change.verdict, Verdict::Slower | Verdict::Worse);
        self.changes.iter().any(worse) || !self.alone[0].is_empty()
    }

    /// Whether chance alone gives differences beyond [`BLIND`].
    #[must_use]
    pub fn is_blind(&self) -> bool {
        self.chance > BLIND
    }

    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "{} runs are in both documents, {} figures compared",
            self.compared, self.figures
        );
        let [seconds, reference] = self.shift.map(percent);
        let _ = writeln!(
            out,
            "evaluation, median over runs: {seconds:+.1} % in seconds, {reference:+.1} % in reference transforms"
        );
        let known = match self.repeated {
            true => "by the repetitions of the runs",
            false => "by a noise of 8 %, which is assumed: nothing was repeated",
        };
        let chance = percent(self.chance);
        let _ = writeln!(
            out,
            "chance gives differences of up to {chance:.0} % for a run, {known}"
        );
        for (which, alone) in ["old", "new"].into_iter().zip(&self.alone) {
            for run in alone {
                let _ = writeln!(out, "only in the {which} document: {run}");
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
            let _ = write!(out, "{verdict}: {run}: {what} {old} -> {new}");
            if change.ratio.is_finite() {
                let (ratio, chance) = (percent(change.ratio), percent(change.chance));
                let _ = match change.verdict {
                    Verdict::Faster | Verdict::Slower => write!(
                        out,
                        "; {ratio:+.1} % in reference transforms, where both documents have them (chance: up to {chance:.1} %)"
                    ),
                    Verdict::Better | Verdict::Worse => write!(out, "; {ratio:+.1} %"),
                };
            }
            out.push('\n');
        }
        out += match (self.is_blind(), self.changes.is_empty()) {
            (true, _) => {
                "TOO NOISY: a run that takes twice or half the time might not be seen; measure on a quiet machine, or with more repetitions\n"
            }
            (false, true) => "no change\n",
            (false, false) => "",
        };
        out
    }
}

/// A figure of which less is better.
#[derive(Debug, Clone, Copy)]
struct Figure {
    value: f64,
    /// Difference that does not matter: relative, of logarithms absolute.
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
        // two probabilities of nothing, both of logarithm -∞, have no difference as a number
        a != b && difference.abs() > self.least
    }

    fn text(&self) -> String {
        match (self.log2, self.value == f64::NEG_INFINITY) {
            (true, true) => "none".into(),
            (true, false) => format!("2^{:.1}", self.value),
            (false, _) => units::grouped(self.value as u64),
        }
    }
}

/// Figures without noise, by name.
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
        // more bits left, smaller noise
        add("noise over what fails", -bits, LEAST_BITS, true);
    }
    if let Some(security) = &run.security {
        // none is a probability of nothing
        let p_fail = security.log2_p_fail.unwrap_or(f64::NEG_INFINITY);
        add("failure probability", p_fail, 1e-9, true);
        // more bits, fewer keys broken; no bits, no security
        let success = |bits: Option<f64>| -bits.unwrap_or(0.0);
        let claimed = security.bits_claimed.map(f64::from);
        for (what, bits) in [
            ("success of an attack of one operation, claimed", claimed),
            ("the same, estimated", security.bits_estimated),
            ("the same, with rotations", security.bits_with_rotations),
        ] {
            add(what, success(bits), 1e-9, true);
        }
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
        // one document without references: seconds against seconds
        let mut without = lab(&["a"], &[1.0, 1.01], 1.0);
        without.runs[0].reference_ntt_ns = None;
        without.runs[0].samples.remove("reference_ntt_ns");
        let with = lab(&["a"], &[1.0, 1.01], 1.0);
        assert_eq!(compare(&with, &without).changes, []);
    }

    #[test]
    fn what_is_gone_is_told_and_noise_that_hides_everything_too() {
        let old = lab(&["a", "b"], &[1.0, 1.01], 1.0);
        let mut new = old.clone();
        new.runs.truncate(1);
        let found = compare(&old, &new);
        assert!(found.is_worse() && found.changes.is_empty());
        let mut new = old.clone();
        new.runs[0].counts.insert("x".into(), 1);
        assert!(!compare(&old, &new).is_worse());
        assert!(compare(&new, &old).is_worse());
        // of two runs of one name each is compared
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

    /// One repetition that was disturbed neither hides a change nor makes one.
    #[test]
    fn outliers_hide_nothing() {
        let old = lab(&["a"], &[1.0, 1.01, 1.02, 0.99, 1.0, 3.0], 1.0);
        let new = lab(&["a"], &[2.0, 2.01, 2.02, 1.99, 2.0, 2.0], 1.0);
        let found = compare(&old, &new);
        assert_eq!(found.changes[0].verdict, Verdict::Slower, "{found:?}");
        let new = lab(&["a"], &[1.0, 1.01, 1.02, 0.99, 1.0, 1.0], 1.0);
        assert_eq!(compare(&old, &new).changes, []);
    }

    #[test]
    fn security_that_is_lost_is_worse() {
        let of = |p_fail: Option<f64>, bits: Option<f64>, purpose: &str| {
            let mut lab = lab(&["a"], &[1.0, 1.01], 1.0);
            lab.runs[0].purpose = purpose.into();
            lab.runs[0].latency_seconds = Some(1.0);
            lab.runs[0].security = Some(crate::Security {
                log2_p_fail: p_fail,
                bits_estimated: bits,
                ..crate::Security::default()
            });
            lab
        };
        let good = of(Some(-64.0), Some(128.0), "secure");
        for bad in [
            of(Some(-3.0), Some(128.0), "secure"),
            of(Some(-64.0), Some(40.0), "secure"),
            of(Some(-64.0), None, "secure"),
            of(Some(-64.0), Some(128.0), "toy"),
        ] {
            assert!(compare(&good, &bad).is_worse(), "{bad:?}");
            assert!(!compare(&bad, &good).is_worse(), "{bad:?}");
        }
        // no failure at all
        let best = of(None, Some(128.0), "secure");
        assert!(!compare(&good, &best).is_worse() && compare(&best, &good).is_worse());
        assert_eq!(compare(&best, &best).changes, []);
        // beyond what a probability can be as a number
        let tiny = of(Some(-2000.0), Some(128.0), "secure");
        assert!(compare(&tiny, &of(Some(-1100.0), Some(128.0), "secure")).is_worse());
        let mut without = good.clone();
        without.runs[0].latency_seconds = None;
        assert!(compare(&good, &without).is_worse());
    }
}
