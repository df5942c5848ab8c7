//! What became faster or slower between two documents, beyond the noise of their runs.
//!
//! Times are compared as multiples of the reference transform of their own run where there is one, so that a slower machine is no slower program. The noise
//! of a time is estimated from repetitions: the standard deviation of its logarithm within runs, pooled over all runs of both documents that were repeated, or that
//! of the run itself if it is larger. A difference of medians counts as a change if it exceeds [`DEVIATIONS`] standard deviations of that
//! difference and [`LEAST_CHANGE`], and no value of one document lies among those of the other.
//! Counts, sizes and security figures have no noise: every difference counts. Memory counts from [`LEAST_CHANGE`] on.

use crate::document::{Lab, Run, median};
use crate::units;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Standard deviations of a difference that chance does not give: some hundred differences are looked at.
pub const DEVIATIONS: f64 = 4.0;

/// Relative difference of medians that is too small to matter.
pub const LEAST_CHANGE: f64 = 0.05;

/// Standard deviation of a time's logarithm where nothing was repeated.
const UNKNOWN_NOISE: f64 = 0.1;

/// The times that are compared, with what people call them.
const TIMES: [(&str, &str); 7] = [
    ("seconds", "evaluation"),
    ("latency_seconds", "latency"),
    ("keygen_seconds", "key generation"),
    ("load_key_seconds", "reading the evaluation key"),
    ("wrap_seconds", "wrapping"),
    ("load_wrapped_seconds", "reading the wrapped key"),
    ("decrypt_seconds", "decryption"),
];

/// Times below this are of the file system and the clock.
const LEAST_SECONDS: f64 = 5e-3;

/// How a figure changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Less time.
    Faster,
    /// More time.
    Slower,
    /// Fewer bytes, a lower failure probability, less of what is counted.
    Better,
    /// The other way round.
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
    /// After over before; of times as multiples of the reference.
    pub ratio: f64,
    /// The ratio that chance gives at most.
    pub noise: f64,
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
    /// Standard deviation of a time from repetition to repetition, relative, by what it is of.
    pub noise: BTreeMap<&'static str, f64>,
    /// Median over runs of the time of evaluation, new over old, in seconds and in reference transforms.
    pub shift: [f64; 2],
}

/// Compares two documents.
#[must_use]
pub fn compare(old: &Lab, new: &Lab) -> Comparison {
    let pairs: Vec<(&Run, &Run)> = old
        .runs
        .iter()
        .filter_map(|a| {
            let name = a.name();
            let same = new.runs.iter().find(|b| b.name() == name);
            same.map(|b| (a, b))
        })
        .collect();
    let all = || old.runs.iter().chain(&new.runs);
    let noise: BTreeMap<_, _> = TIMES
        .iter()
        .map(|&(field, what)| (what, pooled(all().map(|run| relative(run, field)))))
        .collect();
    let mut comparison = Comparison {
        compared: pairs.len(),
        figures: 0,
        changes: Vec::new(),
        alone: [(old, new), (new, old)].map(|(a, b)| {
            let others: Vec<String> = b.runs.iter().map(Run::name).collect();
            let names = a.runs.iter().map(Run::name);
            names.filter(|name| !others.contains(name)).collect()
        }),
        noise,
        shift: [
            shift(&pairs, |run| vec![run.seconds]),
            shift(&pairs, |run| relative(run, "seconds")),
        ],
    };
    for (a, b) in pairs {
        comparison.times(a, b);
        comparison.exact(a, b);
    }
    comparison
}

/// Median over runs of the ratio of medians.
fn shift(pairs: &[(&Run, &Run)], of: impl Fn(&Run) -> Vec<f64>) -> f64 {
    let ratio = |(a, b): &(&Run, &Run)| median(&of(b)) / median(&of(a));
    median(&pairs.iter().map(ratio).collect::<Vec<_>>())
}

/// The values of a time, all repetitions.
fn values(run: &Run, field: &str) -> Vec<f64> {
    if let Some(values) = run.samples.get(field) {
        return values.clone();
    }
    let fields = json!(run);
    fields[field].as_f64().into_iter().collect()
}

/// The same as multiples of the reference transform of the same repetition, where it was timed each time.
fn relative(run: &Run, field: &str) -> Vec<f64> {
    let (values, references) = (values(run, field), values(run, "reference_ntt_ns"));
    if values.len() != references.len() {
        return values;
    }
    let pairs = values.into_iter().zip(references);
    pairs.map(|(seconds, ns)| seconds * 1e9 / ns).collect()
}

/// Standard deviation of logarithms within groups, over all groups with more than one value.
fn pooled(groups: impl Iterator<Item = Vec<f64>>) -> f64 {
    let (mut squares, mut freedom) = (0.0, 0);
    for group in groups {
        squares += squared_deviations(&group);
        freedom += group.len().saturating_sub(1);
    }
    match freedom {
        0 => UNKNOWN_NOISE,
        _ => (squares / freedom as f64).sqrt(),
    }
}

fn squared_deviations(values: &[f64]) -> f64 {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    logs.iter().map(|log| (log - mean).powi(2)).sum()
}

fn range(values: &[f64]) -> [f64; 2] {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    [least, values.iter().copied().fold(0.0, f64::max)]
}

impl Comparison {
    fn times(&mut self, old: &Run, new: &Run) {
        for (field, what) in TIMES {
            let seconds = [old, new].map(|run| median(&values(run, field)));
            if seconds.iter().any(|&seconds| seconds < LEAST_SECONDS) {
                continue;
            }
            self.figures += 1;
            let [a, b] = [old, new].map(|run| relative(run, field));
            let ratio = median(&b) / median(&a);
            let own = pooled([a.clone(), b.clone()].into_iter());
            let repeated = a.len() > 1 && b.len() > 1;
            let one = self.noise[what].max(if repeated { own } else { 0.0 });
            let both = one * (1.0 / a.len() as f64 + 1.0 / b.len() as f64).sqrt();
            let chance = (DEVIATIONS * both).max(LEAST_CHANGE.ln_1p());
            let [[a0, a1], [b0, b1]] = [range(&a), range(&b)];
            let apart = a1 < b0 || b1 < a0;
            if ratio.ln().abs() > chance && apart {
                self.changes.push(Change {
                    run: new.name(),
                    what: what.to_owned(),
                    values: seconds.map(units::short_seconds),
                    ratio,
                    noise: chance.exp(),
                    verdict: match ratio < 1.0 {
                        true => Verdict::Faster,
                        false => Verdict::Slower,
                    },
                });
            }
        }
    }

    /// Figures without noise, and memory, for all of which less is better.
    fn exact(&mut self, old: &Run, new: &Run) {
        let counts = |run: &Run| {
            let counts = run.counts.iter();
            counts
                .map(|(name, &count)| (name.clone(), count as f64, 0.0))
                .collect::<Vec<_>>()
        };
        let figures = |run: &Run| {
            let mut all = vec![
                (
                    "evaluation key, bytes".to_owned(),
                    run.eval_key_bytes as f64,
                    0.0,
                ),
                (
                    "wrapped key, bytes".to_owned(),
                    run.wrapped_key_bytes as f64,
                    0.0,
                ),
                (
                    "results, bytes".to_owned(),
                    run.ciphertext_bytes as f64,
                    0.0,
                ),
            ];
            if let Some(bytes) = run.peak_rss_bytes {
                all.push(("peak memory, bytes".to_owned(), bytes as f64, LEAST_CHANGE));
            }
            if let Some(security) = &run.security {
                if let Some(log) = security.log2_p_fail {
                    all.push(("failure probability".to_owned(), log.exp2(), 1e-9));
                }
                if let Some(bits) = security.bits_with_rotations {
                    // more bits, fewer keys broken
                    all.push(("attack, 2^-bits".to_owned(), (-bits).exp2(), 1e-9));
                }
            }
            all.extend(counts(run));
            all
        };
        let after = figures(new);
        for (what, a, least) in figures(old) {
            let Some(&(_, b, _)) = after.iter().find(|(name, _, _)| *name == what) else {
                continue;
            };
            self.figures += 1;
            let ratio = b / a;
            if a == b || (ratio - 1.0).abs() <= least {
                continue;
            }
            let text = |value: f64| match value < 1.0 {
                true => format!("2^{:.1}", value.log2()),
                false => units::grouped(value as u64),
            };
            self.changes.push(Change {
                run: new.name(),
                values: [a, b].map(text),
                what,
                ratio,
                noise: 1.0 + least,
                verdict: match b < a {
                    true => Verdict::Better,
                    false => Verdict::Worse,
                },
            });
        }
    }

    /// Whether anything became slower or worse.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        let worse = |change: &Change| matches!(change.verdict, Verdict::Slower | Verdict::Worse);
        self.changes.iter().any(worse)
    }

    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "{} runs are in both documents, {} figures compared",
            self.compared, self.figures
        );
        let noise = &self.noise["evaluation"];
        let [seconds, reference] = self.shift.map(|ratio| (ratio - 1.0) * 100.0);
        let _ = writeln!(
            out,
            "evaluation, median over runs: {seconds:+.1} % in seconds, {reference:+.1} % in reference transforms; repetitions of one run differ by {:.1} % (standard deviation)",
            noise * 100.0
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
                Verdict::Worse => "MORE",
            };
            let ([old, new], percent) = (&change.values, (change.ratio - 1.0) * 100.0);
            let (run, what, chance) = (&change.run, &change.what, (change.noise - 1.0) * 100.0);
            let _ = writeln!(
                out,
                "{verdict}: {run}: {what} {old} -> {new}, {percent:+.1} % (chance: up to {chance:.1} %)"
            );
        }
        if self.changes.is_empty() {
            out += "no change\n";
        }
        out
    }
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
        assert!(
            (0.03..0.06).contains(&found.noise["evaluation"]),
            "{found:?}"
        );
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
        old.runs[0].peak_rss_bytes = Some(1000);
        new.runs[0].peak_rss_bytes = Some(1049);
        assert_eq!(compare(&old, &new).changes, []);
        new.runs[0].peak_rss_bytes = Some(1200);
        assert_eq!(compare(&old, &new).changes.len(), 1);
    }
}
