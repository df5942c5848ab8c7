//! Tables of what was measured, for pages and for Markdown.

use crate::cells::Cells;
use crate::document::{Lab, Machine, Run};
use crate::papers::{POINTS, Point};
use crate::units::{bytes, digits, grouped, short_seconds};

/// A table with its heading.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Section {
    /// Heading.
    pub(crate) title: &'static str,
    /// How to read the table; may be empty.
    pub(crate) text: &'static str,
    /// The table.
    pub(crate) cells: Cells,
}

/// All tables of a document that have rows.
pub(crate) fn sections(lab: &Lab) -> Vec<Section> {
    let skipped = lab.skipped.iter().map(|skipped| {
        vec![
            skipped.run.clone(),
            skipped.reason.clone(),
            skipped.command.clone(),
        ]
    });
    let section = |title, text, cells| Section { title, text, cells };
    let mut all = vec![
        section("Where", "", machine_rows(lab)),
        section(
            "Evaluation",
            "Latency: a message of one block, keys read and expanded. Ready: reading both keys and expanding the AES key, once for each process. NTTs: time of a batch in forward transforms of the crate tfhe-ntt, 32768 points, timed in the same process. Times are medians of the repetitions; spread: the longest over the shortest. Noise left: bits between the standard deviation of the noise and failure.",
            run_rows(lab),
        ),
        section(
            "Around the evaluation",
            "From file to file, on all cores whatever the threads of the evaluation. Reading the wrapped key takes long where it is read through once and left in its file.",
            around_rows(lab),
        ),
        section(
            "Sizes",
            "Bytes of files, of an AES key of the length given, and FHE bytes for each byte of the message. Memory: the most that the process had in any repetition, client and server in one. Transforms and rotations (of TFHE: blind rotations) of the evaluation. A row for each set and layout that is no toy, of the run on most threads.",
            size_rows(lab),
        ),
        section(
            "Published",
            "What the papers printed, on the machines of their time.",
            published_rows(lab),
        ),
        section(
            "Security and failure",
            "Bits: log2 of the cost of the best attack known, of everything published; with rotations: for an attacker who uses that the ring rotates the secret. A set that is not marked secure protects nothing.",
            security_rows(lab),
        ),
        section(
            "Not measured",
            "",
            Cells::new(&["run", "why not", "command"], skipped.collect()),
        ),
    ];
    all.retain(|section| !section.cells.rows.is_empty());
    all
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".into())
}

/// Where and when.
fn machine_rows(lab: &Lab) -> Cells {
    let mut rows = Vec::new();
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            rows.push(vec![name.to_owned(), value]);
        }
    };
    let mut machines: Vec<&Machine> = Vec::new();
    let own = lab.runs.iter().filter_map(|run| run.machine.as_ref());
    for machine in Some(&lab.machine).into_iter().chain(own) {
        if !machine.processor.is_empty() && !machines.contains(&machine) {
            machines.push(machine);
        }
    }
    for machine in &machines {
        add("processor", machine.processor.clone());
        add("system", machine.system.clone());
        add("cores", machine.cores.to_string());
        add(
            "memory",
            machine.memory_bytes.map_or_else(String::new, bytes),
        );
        add("kernels", machine.kernels.clone());
        add("features", machine.features.join(", "));
    }
    if let Some(kernels) = &lab.kernels {
        let ratio = digits(kernels.forward_ns / kernels.reference_ntt_ns);
        let text = format!(
            "{} µs, {ratio} of that of tfhe-ntt ({} µs)",
            digits(kernels.forward_ns / 1e3),
            digits(kernels.reference_ntt_ns / 1e3)
        );
        add("own transform, 32768 points", text);
    }
    add("homaes", lab.version.clone());
    add("measured", lab.date.clone());
    if lab.wall_seconds > 0.0 {
        let given = lab.budget_seconds.map_or_else(String::new, |given| {
            format!(", of {} given", short_seconds(given))
        });
        add("time taken", short_seconds(lab.wall_seconds) + &given);
    }
    Cells::new(&["", ""], rows)
}

/// A row for each run.
fn run_rows(lab: &Lab) -> Cells {
    let row = |run: &Run| {
        vec![
            run.set.clone(),
            run.layout.clone(),
            run.key_bits.to_string(),
            run.threads.to_string(),
            grouped(run.blocks),
            time(run.ready_seconds()),
            time(run.latency_seconds),
            time(Some(run.seconds)),
            short_seconds(run.seconds_per_block()),
            or_dash(
                run.aes_over_reference_ntt
                    .map(|ntts| grouped(ntts.round() as u64)),
            ),
            run.samples.get("seconds").map_or(1, Vec::len).to_string(),
            or_dash(run.spread().map(|spread| format!("{spread:.2}"))),
            or_dash(run.capacity_bits.map(|bits| format!("{bits:.1}"))),
            or_dash(run.log2_p_fail.map(|log| format!("2^{log:.1}"))),
        ]
    };
    let mut cells = Cells::new(
        &[
            "set",
            "layout",
            "AES",
            "threads",
            "blocks",
            "ready",
            "latency",
            "evaluation",
            "per block",
            "NTTs",
            "repetitions",
            "spread",
            "noise left",
            "failure",
        ],
        lab.runs.iter().map(row).collect(),
    );
    // older documents say the failure of a batch alone
    if lab.runs.iter().all(|run| run.log2_p_fail.is_none()) {
        cells.head.pop();
        cells.rows.iter_mut().for_each(|row| drop(row.pop()));
    }
    cells
}

/// A row for each run with the times around it, and the command that repeats it.
fn around_rows(lab: &Lab) -> Cells {
    let row = |run: &Run| {
        vec![
            run.set.clone(),
            run.layout.clone(),
            time(run.keygen_seconds),
            time(run.load_key_seconds),
            time(run.wrap_seconds),
            time(run.load_wrapped_seconds),
            time(Some(run.setup_seconds).filter(|&s| s > 0.01)),
            time(run.decrypt_seconds),
            format!("`{}`", run.command()),
        ]
    };
    let runs = lab.runs.iter().filter(|run| run.keygen_seconds.is_some());
    Cells::new(
        &[
            "set",
            "layout",
            "key generation",
            "reading the key",
            "wrapping",
            "reading the wrapped key",
            "key expansion",
            "decryption",
            "command",
        ],
        runs.map(row).collect(),
    )
}

/// The points of the papers, where the picture of them is shown.
fn published_rows(lab: &Lab) -> Cells {
    let row = |point: &Point| {
        vec![
            format!("{} {}", point.paper, point.what),
            point.scheme.to_uppercase(),
            short_seconds(point.latency_seconds),
            short_seconds(point.seconds_per_block),
            point.machine.to_owned(),
            point.source.to_owned(),
        ]
    };
    let shown = lab.runs.iter().any(|run| run.purpose != "toy");
    let points = POINTS.iter().filter(|_| shown);
    Cells::new(
        &[
            "paper",
            "scheme",
            "one evaluation",
            "per block",
            "machine",
            "printed in",
        ],
        points.map(row).collect(),
    )
}

fn time(seconds: Option<f64>) -> String {
    or_dash(seconds.map(short_seconds))
}

/// A row for each set, layout and AES key.
fn size_rows(lab: &Lab) -> Cells {
    let row = |run: &&Run| {
        vec![
            run.set.clone(),
            run.layout.clone(),
            run.key_bits.to_string(),
            grouped(run.blocks),
            or_dash(Some(run.eval_key_bytes).filter(|&n| n > 0).map(grouped)),
            or_dash(Some(run.wrapped_key_bytes).filter(|&n| n > 0).map(grouped)),
            grouped(run.ciphertext_bytes),
            digits(run.ciphertext_bytes_per_byte),
            or_dash(run.peak_rss_bytes.map(bytes)),
            or_dash(Some(run.transforms).filter(|&n| n > 0).map(grouped)),
            or_dash(Some(run.rotations).filter(|&n| n > 0).map(grouped)),
        ]
    };
    Cells::new(
        &[
            "set",
            "layout",
            "AES",
            "blocks",
            "evaluation key",
            "wrapped key",
            "results",
            "per byte",
            "memory",
            "transforms",
            "rotations",
        ],
        crate::charts::best_runs(lab).iter().map(row).collect(),
    )
}

/// A row for each set with an estimate.
fn security_rows(lab: &Lab) -> Cells {
    let mut seen: Vec<&str> = Vec::new();
    let mut rows = Vec::new();
    for run in &lab.runs {
        let Some(security) = run
            .security
            .as_ref()
            .filter(|_| !seen.contains(&run.set.as_str()))
        else {
            continue;
        };
        seen.push(&run.set);
        let bits = |bits: Option<f64>| match (bits, security.order_of_magnitude) {
            (None, _) => "none".into(),
            (Some(bits), true) => format!("~{bits:.0}"),
            (Some(bits), false) => format!("{bits:.1}"),
        };
        rows.push(vec![
            run.set.clone(),
            match run.is_secure() {
                true => "secure".into(),
                false => format!("NOT SECURE ({})", run.purpose),
            },
            security
                .bits_claimed
                .map_or_else(|| "none".into(), |bits| bits.to_string()),
            bits(security.bits_estimated),
            bits(security.bits_with_rotations),
            or_dash(security.attack.clone()),
            or_dash(security.estimator.clone()),
            or_dash(security.estimated_on.clone()),
            or_dash(security.log2_p_fail.map(|log| format!("2^{log:.1}"))),
        ]);
    }
    Cells::new(
        &[
            "set",
            "purpose",
            "claimed",
            "estimated",
            "with rotations",
            "best attack",
            "estimator",
            "date",
            "failure per batch",
        ],
        rows,
    )
}
