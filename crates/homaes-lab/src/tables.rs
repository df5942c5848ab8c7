//! The tables of a document.

use crate::cells::{Cells, or_dash};
use crate::document::{Lab, Machine, Run};
use crate::units::{bytes, counted, digits, grouped, short_seconds};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Section {
    pub(crate) title: &'static str,
    /// How to read the table; may be empty.
    pub(crate) text: String,
    pub(crate) cells: Cells,
}

/// The fastest evaluation, of a secure set if there is one, in a sentence.
pub(crate) fn headline(lab: &Lab) -> Option<String> {
    let cost = |run: &&Run| run.seconds_per_block();
    let fastest = |secure| {
        let runs = lab.runs.iter().filter(|run| run.is_secure() == secure);
        runs.min_by(|a, b| cost(a).total_cmp(&cost(b)))
    };
    let run = fastest(true).or_else(|| fastest(false))?;
    let machine = run.machine.as_ref().unwrap_or(&lab.machine);
    let time = short_seconds(run.seconds_per_block());
    let security = run.security.as_ref();
    let bits = security.and_then(|security| security.bits_with_rotations);
    let security = match (run.is_secure(), bits) {
        (true, Some(bits)) => format!("estimated at {bits:.1} bits of security"),
        (true, None) => "a secure set".to_owned(),
        (false, _) => "NOT SECURE".to_owned(),
    };
    Some(format!(
        "The fastest: AES-{} under {} ({}), {security}, at {time} a block on {} of {}.",
        run.key_bits,
        run.set,
        run.layout,
        counted(run.threads as u64, "thread"),
        machine.processor
    ))
}

/// All tables of a document that have rows, secure sets first.
pub(crate) fn sections(lab: &Lab) -> Vec<Section> {
    let mut lab = lab.clone();
    lab.runs.sort_by(|a, b| {
        let place = |run: &'_ Run| (!run.is_secure(), run.set.clone());
        let [a, b] = [a, b].map(|run| (place(run), &run.layout, run.key_bits, run.threads));
        a.cmp(&b)
    });
    let lab = &lab;
    let section = |title, text: &str, cells| Section {
        title,
        text: text.to_owned(),
        cells,
    };
    let mut all = vec![
        section("Machine", &when(lab), machine_rows(lab)),
        section(
            "Evaluation",
            "One block: time of a message of one block. All: time of all blocks, the median of the repetitions; \
             spread is the longest time over the shortest. NTTs: time of a batch in transforms of the crate \
             tfhe-ntt (32768 points) that are measured in the same process. Noise left: bits between noise and \
             failure. Security: bits, with rotations.",
            run_rows(lab),
        ),
        section(
            "Once per key",
            "Times of the run with most threads, from file to file on all cores. Ready: reading both keys and \
             expanding the AES key, before the first block.",
            key_rows(lab),
        ),
        section(
            "Memory and counts",
            "Per byte: result bytes per message byte. Memory: the peak of a process that is client and server. \
             Transforms and blind rotations are those of the evaluation. PARAMETERS.md has the sizes of files.",
            count_rows(lab),
        ),
        section("Not measured", "", skipped_rows(lab)),
    ];
    all.retain(|section| !section.cells.rows.is_empty());
    all
}

fn time(seconds: Option<f64>) -> String {
    or_dash(seconds.map(short_seconds))
}

fn count(number: u64) -> String {
    or_dash(Some(number).filter(|&n| n > 0).map(grouped))
}

/// Date and duration of the measurement, and the speed of the own transform.
fn when(lab: &Lab) -> String {
    let mut text = format!("homaes {}", lab.version);
    if lab.wall_seconds > 0.0 {
        let day = lab.date.split('T').next().unwrap_or_default();
        text += &format!(", {day}, in {}", short_seconds(lab.wall_seconds));
    }
    text += ".";
    if let Some(kernels) = &lab.kernels {
        let [own, reference] =
            [kernels.forward_ns, kernels.reference_ntt_ns].map(|ns| digits(ns / 1e3));
        text += &format!(" Transform of 32768 points: {own} µs; tfhe-ntt takes {reference} µs.");
    }
    text
}

fn machine_rows(lab: &Lab) -> Cells {
    let mut machines: Vec<&Machine> = Vec::new();
    let own = lab.runs.iter().filter_map(|run| run.machine.as_ref());
    for machine in Some(&lab.machine).into_iter().chain(own) {
        if !machine.processor.is_empty() && !machines.contains(&machine) {
            machines.push(machine);
        }
    }
    let row = |machine: &&Machine| {
        vec![
            machine.processor.clone(),
            machine.cores.to_string(),
            or_dash(machine.memory_bytes.map(bytes)),
            machine.system.clone(),
            machine.kernels.clone(),
            machine.features.join(", "),
        ]
    };
    let head = "processor|cores|memory|system|kernels|features";
    Cells::of(head, machines.iter().map(row).collect())
}

fn run_rows(lab: &Lab) -> Cells {
    let row = |run: &Run| {
        let ntts = run.aes_over_reference_ntt;
        let security = run.security.as_ref();
        let bits = security.and_then(|security| security.bits_with_rotations);
        vec![
            run.set.clone(),
            run.layout.clone(),
            run.key_bits.to_string(),
            run.threads.to_string(),
            grouped(run.blocks),
            time(run.latency_seconds),
            time(Some(run.seconds)),
            short_seconds(run.seconds_per_block()),
            or_dash(ntts.map(|ntts| grouped(ntts.round() as u64))),
            or_dash(run.spread().map(|spread| format!("{spread:.2}"))),
            or_dash(run.capacity_bits.map(|bits| format!("{bits:.1}"))),
            match run.is_secure() {
                true => or_dash(bits.map(|bits| format!("{bits:.1}"))),
                false => "NOT SECURE".into(),
            },
        ]
    };
    let head =
        "set|layout|AES|threads|blocks|one block|all|per block|NTTs|spread|noise left|security";
    Cells::of(head, lab.runs.iter().map(row).collect())
}

/// Per set, layout and AES key, the run with most threads; of those, the longest.
fn best_runs(lab: &Lab) -> Vec<&Run> {
    let mut best: Vec<&Run> = Vec::new();
    for run in &lab.runs {
        let same = |other: &&mut &Run| {
            (&other.set, &other.layout, other.key_bits) == (&run.set, &run.layout, run.key_bits)
        };
        match best.iter_mut().find(same) {
            None => best.push(run),
            Some(best) if (run.threads, run.blocks) > (best.threads, best.blocks) => *best = run,
            Some(_) => {}
        }
    }
    best
}

fn key_rows(lab: &Lab) -> Cells {
    let row = |run: &Run| {
        vec![
            run.set.clone(),
            run.layout.clone(),
            time(run.keygen_seconds),
            time(run.wrap_seconds),
            time(run.ready_seconds()),
            time(run.decrypt_seconds),
        ]
    };
    let runs = best_runs(lab).into_iter();
    let runs = runs.filter(|run| run.keygen_seconds.is_some());
    let head = "set|layout|key generation|wrapping|ready|decryption";
    Cells::of(head, runs.map(row).collect())
}

fn count_rows(lab: &Lab) -> Cells {
    let row = |run: &Run| {
        vec![
            run.set.clone(),
            run.layout.clone(),
            digits(run.ciphertext_bytes_per_byte),
            or_dash(run.peak_rss_bytes.map(bytes)),
            count(run.transforms),
            count(run.rotations),
        ]
    };
    let head = "set|layout|per byte|memory|transforms|rotations";
    Cells::of(head, best_runs(lab).into_iter().map(row).collect())
}

/// One row per reason, with the sets that have no run.
fn skipped_rows(lab: &Lab) -> Cells {
    let mut reasons: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for skipped in &lab.skipped {
        let set = skipped.run.split(' ').next().unwrap_or_default();
        if lab.runs.iter().all(|run| run.set != set) {
            reasons.entry(&skipped.reason).or_default().insert(set);
        }
    }
    let row = |(reason, sets): (&str, BTreeSet<&str>)| {
        vec![reason.to_owned(), Vec::from_iter(sets).join(", ")]
    };
    Cells::of("why|sets", reasons.into_iter().map(row).collect())
}
