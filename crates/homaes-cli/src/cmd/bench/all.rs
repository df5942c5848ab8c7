//! `homaes bench all`: runs of every scheme by one protocol, each in a process of its own.

use super::case::Case;
use super::child::{self, Ended};
use super::kernels;
use super::machine::machine;
use crate::args::Bench;
use crate::cmd::{cores, named_set, set_of_scheme};
use crate::console::{self, Failure, fail};
use crate::progress::spin;
use crate::table;
use homaes::{Direction, KeySize, Purpose, Scheme, Set};
use homaes_lab::{Lab, Run, Schedule, Skipped, baseline};
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant, SystemTime};

/// Fraction of the given time by which a run may exceed it.
const OVERTIME: f64 = 0.07;

/// Fraction of the given time that the last run leaves for writing.
const RESERVE: f64 = 0.01;

/// Seconds: noise is not measured in runs that are expected to take longer.
const LONG: f64 = 150.0;

/// Seconds, and bytes of keys per second, of a run that was never measured.
const GUESSED: (f64, f64) = (4.0, 4e7);

pub(super) fn run(args: &Bench) -> Result<(), Failure> {
    let start = Instant::now();
    let date = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let kernels = spin("measuring transforms", kernels::measure)?;
    let mut lab = Lab {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        date,
        budget_seconds: args.budget.map(|budget| budget.as_secs_f64()),
        machine: machine(&kernels.backend),
        kernels: Some(kernels.clone()),
        ..Lab::default()
    };
    let failures = match args.budget {
        None => {
            once(args, &mut lab)?;
            Vec::new()
        }
        Some(budget) => within(args, budget, start, &mut lab)?,
    };
    lab.wall_seconds = start.elapsed().as_secs_f64();
    let complete = lab.runs.len();
    if complete > 0 || !child::is_interrupted() {
        console::print_either(
            args.json,
            || document(&lab, &kernels::json(&kernels)),
            || table::lab(&lab),
        )?;
    }
    if let Some(first) = failures.first() {
        return fail(format!(
            "{first}; the other measurements are on standard output"
        ));
    }
    Err(match (child::is_interrupted(), complete) {
        (false, 0) => Failure::Work(
            "no run finished within --budget; give more time, or close other programs".into(),
        ),
        (false, _) => return Ok(()),
        (true, 0) => Failure::Interrupted("interrupted before the first run finished".into()),
        (true, _) => Failure::Interrupted(format!(
            "interrupted; the finished runs are on standard output ({complete})"
        )),
    })
}

/// The first run of each scheme appears under the scheme's name, next to everything about the kernels.
fn document(lab: &Lab, kernels: &Value) -> Value {
    let mut document = json!(lab);
    for run in lab.runs.iter().rev() {
        document[run.scheme()] = json!(run);
    }
    document["kernels"] = kernels.clone();
    document
}

fn once(args: &Bench, lab: &mut Lab) -> Result<(), Failure> {
    let schemes = match &args.set {
        Some(set) => vec![named_set(set)?.scheme()],
        None => Scheme::ALL.to_vec(),
    };
    let cases = schemes.into_iter().map(|scheme| {
        let set = set_of_scheme(scheme, args.set.as_deref(), args.variant)?;
        Case::new(set, args)
    });
    let cases: Vec<Case> = cases.collect::<Result<_, Failure>>()?;
    for case in cases {
        let name = case.command(args.noise);
        match spin("measuring", || case.run(args.noise, None))? {
            Ended::Done(mut run) => {
                run.machine = None;
                lab.runs.push(*run);
            }
            Ended::Failed(error) => return fail(error),
            Ended::Killed | Ended::TooLong | Ended::Interrupted => {
                return fail(format!("{name}: killed; try again"));
            }
        }
    }
    Ok(())
}

/// Runs what fits into `budget` from `start`; returns failures.
fn within(
    args: &Bench,
    budget: Duration,
    start: Instant,
    lab: &mut Lab,
) -> Result<Vec<String>, Failure> {
    let baseline = baseline();
    let speed = match (&lab.kernels, &baseline.kernels) {
        (Some(now), Some(then)) => now.reference_ntt_ns / then.reference_ntt_ns,
        _ => 1.0,
    };
    let cost = |case: &Case| case.cost(&baseline.runs) * speed;
    let cases = in_order(cases(args.workers.threads)?, &cost);
    let costs: Vec<f64> = cases.iter().map(cost).collect();
    let seconds = budget.as_secs_f64();
    let mut schedule = Schedule::new(seconds * (1.0 - RESERVE), &costs);
    let deadline = start + budget.mul_f64(1.0 + OVERTIME);
    let mut runs: Vec<Vec<Run>> = vec![Vec::new(); cases.len()];
    let mut reasons: BTreeMap<usize, String> = BTreeMap::new();
    let mut failures = Vec::new();
    child::write_on_signal();
    let (all, time) = (cases.len(), humantime::format_duration(budget));
    console::tell(&format!(
        "measuring as many of {all} runs as fit into {time}\n"
    ));
    while let Some(index) = schedule.next(start.elapsed().as_secs_f64()) {
        if child::is_interrupted() {
            break;
        }
        let case = &cases[index];
        let noise = runs[index].is_empty() && case.shows_noise() && schedule.cost(index) < LONG;
        let begin = Instant::now();
        let ended = spin("measuring", || case.run(noise, Some(deadline)))?;
        let took = begin.elapsed().as_secs_f64();
        let reason = match ended {
            Ended::Done(mut run) => {
                schedule.done(index, took);
                run.command = Some(case.command(noise));
                run.wall_seconds = Some(took);
                run.machine = None;
                let left = Duration::from_secs(budget.saturating_sub(start.elapsed()).as_secs());
                let left = humantime::format_duration(left);
                let (name, time) = (run.name(), table::seconds(run.seconds));
                console::tell(&format!("{left} left  {name}: {time}\n"));
                runs[index].push(*run);
                continue;
            }
            Ended::Interrupted => break,
            Ended::Failed(error) => {
                if !error.starts_with("not enough memory") {
                    let command = case.command(noise);
                    failures.push(format!("{command}: {error}"));
                }
                error
            }
            Ended::Killed => "killed, perhaps because memory ran out".to_owned(),
            Ended::TooLong => "stopped when the time was up".to_owned(),
        };
        reasons.insert(index, reason);
        schedule.give_up(index);
    }
    let not_reached = match child::is_interrupted() {
        true => "not reached before the interruption",
        false => "did not fit into the remaining time",
    };
    for (index, (case, runs)) in cases.iter().zip(runs).enumerate() {
        match Run::median(runs) {
            Some(run) => lab.runs.push(run),
            None => lab.skipped.push(Skipped {
                run: case.name(),
                reason: reasons.remove(&index).unwrap_or_else(|| not_reached.into()),
                command: case.command(false),
            }),
        }
    }
    Ok(failures)
}

impl Case {
    fn words(&self, noise: bool) -> Vec<String> {
        let mut words = vec![
            "bench".to_owned(),
            self.set.scheme().name().to_owned(),
            format!("--set={}", self.set.name()),
            format!("--layout={}", self.layout),
            format!("--threads={}", self.threads),
        ];
        if self.key_size != KeySize::Aes128 {
            words.push(format!("--key-bits={}", self.key_bits()));
        }
        if self.direction == Direction::Decrypt {
            words.push("--direction=decrypt".to_owned());
        }
        words.extend(self.blocks.map(|blocks| format!("--blocks={blocks}")));
        if noise {
            words.push("--noise".to_owned());
        }
        words.push("--json".to_owned());
        words
    }

    fn command(&self, noise: bool) -> String {
        format!("homaes {}", self.words(noise).join(" ")).replace('=', " ")
    }

    fn run(&self, noise: bool, deadline: Option<Instant>) -> Result<Ended, Failure> {
        child::run(&self.words(noise), deadline)
    }

    fn name(&self) -> String {
        self.empty().name()
    }

    /// Noise is measured once for each set and layout.
    fn shows_noise(&self) -> bool {
        self.threads > NonZeroUsize::MIN && self.blocks.is_none()
    }

    /// Expected seconds on the machine of the baseline: the time of the same run there, that of a run with other
    /// threads, or a guess from the sizes of the keys.
    fn cost(&self, baseline: &[Run]) -> f64 {
        let name = self.name();
        let took = |run: &Run| run.wall_seconds.unwrap_or(GUESSED.0);
        if let Some(run) = baseline.iter().find(|run| run.name() == name) {
            return took(run);
        }
        let alike = |run: &&Run| {
            let mut other = self.empty();
            other.threads = run.threads;
            run.name() == other.name()
        };
        if let Some(run) = baseline.iter().find(alike) {
            let threads = self.threads.get() as f64;
            return took(run) * (run.threads as f64 / threads).max(1.0);
        }
        let card = self.set.card();
        let blocks = self.blocks();
        let blocks = blocks.div_ceil(self.set.default_blocks(self.layout));
        let bytes = (card.eval_key_bytes + card.wrapped_key_bytes) as f64;
        (GUESSED.0 + bytes / GUESSED.1) * blocks as f64
    }
}

/// Every set in every layout, on one thread and on all unless `threads` is given; also a full batch where the default
/// is less, except for toys. The key is AES-128, or the longer one that a set is named after.
fn cases(threads: Option<NonZeroUsize>) -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    let all = match threads {
        Some(threads) => vec![threads],
        None if cores() == NonZeroUsize::MIN => vec![cores()],
        None => vec![cores(), NonZeroUsize::MIN],
    };
    for name in Set::names() {
        let set = named_set(name)?;
        let named_after = |size: &KeySize| name.contains(&format!("aes{}", 8 * size.key_bytes()));
        let key_size = KeySize::ALL.into_iter().find(named_after);
        let key_size = key_size.unwrap_or(KeySize::Aes128);
        for &layout in set.layouts() {
            let full = set.blocks_per_batch(layout);
            let few = set.default_blocks(layout) < full && set.purpose() != Purpose::Toy;
            let case = |threads: NonZeroUsize, blocks: Option<u64>| Case {
                set: set.clone(),
                layout,
                threads,
                key_size,
                direction: Direction::Encrypt,
                blocks,
            };
            cases.extend(all.iter().map(|&threads| case(threads, None)));
            cases.extend(few.then(|| case(all[0], Some(full))));
        }
    }
    Ok(cases)
}

/// Default sets first, scheme by scheme; then secure sets, papers' sets and toys, the cheapest of each first.
fn in_order(mut cases: Vec<Case>, cost: &dyn Fn(&Case) -> f64) -> Vec<Case> {
    let rank = |case: &Case| {
        let (set, scheme) = (&case.set, case.set.scheme());
        let default = set.name() == scheme.default_set()
            && set.layouts().first() == Some(&case.layout)
            && case.blocks.is_none();
        match (default, set.purpose()) {
            (true, _) => 0,
            (_, Purpose::Secure) => 1,
            (_, Purpose::Paper) => 2,
            (_, Purpose::Toy) => 3,
        }
    };
    // default sets stay in the order of their schemes, all cores first
    let key = |case: &Case| match rank(case) {
        0 => (0, 0.0),
        rank => (rank, cost(case)),
    };
    cases.sort_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(Ordering::Equal));
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_and_layout_has_its_runs_and_defaults_come_first() {
        let cases = cases(NonZeroUsize::new(3)).unwrap();
        for name in Set::names() {
            let set = named_set(name).unwrap();
            for &layout in set.layouts() {
                let of = |case: &&Case| case.set.name() == name && case.layout == layout;
                let found: Vec<&Case> = cases.iter().filter(of).collect();
                assert!(found.iter().any(|case| case.blocks.is_none()), "{name}");
                for case in found {
                    let words = case.words(true);
                    let args = <crate::args::Args as clap::Parser>::try_parse_from(
                        ["homaes".to_owned()].iter().chain(&words),
                    );
                    assert!(args.is_ok(), "{words:?}");
                    // the set carries the key
                    assert!(set.levels_left(layout, case.key_size).is_some(), "{name}");
                }
            }
        }
        let cost = |case: &Case| case.cost(&[]);
        let cases = in_order(cases, &cost);
        let first: Vec<&str> = cases.iter().map(|case| case.set.name()).collect();
        let defaults: Vec<&str> = Scheme::ALL.iter().map(|s| s.default_set()).collect();
        assert_eq!(first[..defaults.len()], defaults);
        let key = |case: &Case| {
            let rank = match case.set.purpose() {
                Purpose::Secure => 1,
                Purpose::Paper => 2,
                Purpose::Toy => 3,
            };
            (rank, cost(case))
        };
        let rest = &cases[defaults.len()..];
        assert!(rest.is_sorted_by_key(key));
    }

    #[test]
    fn costs_come_from_the_baseline_where_it_has_them() {
        let cases = cases(NonZeroUsize::new(2)).unwrap();
        let case = &cases[0];
        let mut run = case.empty();
        run.wall_seconds = Some(7.0);
        assert_eq!(case.cost(&[run.clone()]), 7.0);
        run.threads = 4;
        assert_eq!(case.cost(&[run.clone()]), 14.0);
        run.set = "another".into();
        assert!(case.cost(&[run]) > GUESSED.0);
    }
}
