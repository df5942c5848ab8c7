//! Texts for people: tables, sizes, times, security.

pub(crate) use homaes::hex;
use homaes::{
    Direction, Expansion, Layout, Mode, NoiseTerms, Purpose, Quality, Report, Scheme, SetCard,
    Step, WrappedKeyInfo, printable,
};
use homaes_lab::units::short_seconds;
pub(crate) use homaes_lab::units::{bytes, counted as count, seconds};
use homaes_lab::{Lab, Run, Skipped};
use std::{array, iter};

/// Rows of a name and a value, the values in one column.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    rows: Vec<(String, String)>,
}

impl Rows {
    pub(crate) fn add(&mut self, name: &str, value: impl Into<String>) {
        self.rows.push((printable(name), printable(&value.into())));
    }

    pub(crate) fn text(&self) -> String {
        let widths = self.rows.iter().map(|(name, _)| name.len());
        let width = widths.max().unwrap_or(0);
        let rows = self.rows.iter();
        rows.map(|(name, value)| format!("{name:width$}  {value}\n"))
            .collect()
    }
}

/// All columns but the first two are right-aligned. `head` holds the column names, separated by `|`.
pub(crate) fn columns<const N: usize>(head: &str, rows: &[[String; N]]) -> String {
    let mut names = head.split('|').map(str::to_owned);
    let head: [String; N] = array::from_fn(|_| names.next().unwrap_or_default());
    let lines = || iter::once(&head).chain(rows);
    let widths: [usize; N] = array::from_fn(|i| {
        let cells = lines().map(|row| row[i].chars().count());
        cells.max().unwrap_or(0)
    });
    let line = |row: &[String; N]| {
        let cells: [String; N] = array::from_fn(|i| {
            let (cell, width) = (&row[i], widths[i]);
            match i < 2 {
                true => format!("{cell:width$}"),
                false => format!("{cell:>width$}"),
            }
        });
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    lines().map(line).collect()
}

pub(crate) fn lab(lab: &Lab) -> String {
    let none = || "-".to_owned();
    let size = |count: u64| if count > 0 { bytes(count) } else { none() };
    let number = |value: Option<f64>| value.map_or_else(none, |value| format!("{value:.0}"));
    let tenths = |value: Option<f64>| value.map_or_else(none, |value| format!("{value:.1}"));
    let row = |run: &Run| {
        let security = run.security.as_ref();
        let bits = security.and_then(|security| security.bits_with_rotations);
        [
            run.set.clone(),
            format!("{} {}", run.layout, run.key_bits),
            run.threads.to_string(),
            run.blocks.to_string(),
            run.latency_seconds.map_or_else(none, short_seconds),
            short_seconds(run.seconds_per_block()),
            number(run.aes_over_reference_ntt),
            run.keygen_seconds.map_or_else(none, short_seconds),
            run.wrap_seconds.map_or_else(none, short_seconds),
            run.decrypt_seconds.map_or_else(none, short_seconds),
            size(run.eval_key_bytes),
            size(run.wrapped_key_bytes),
            format!("{:.0}", run.ciphertext_bytes_per_byte),
            run.peak_rss_bytes.map_or_else(none, bytes),
            tenths(run.capacity_bits),
            tenths(run.p_fail()),
            match run.is_secure() {
                true => number(bits),
                false => "NOT SECURE".to_owned(),
            },
        ]
    };
    let head = "set|layout, AES|threads|blocks|latency|per block|NTTs|keygen|wrap|decrypt|eval key|wrapped key|\
                bytes out|memory|noise left|log2 p_fail|security";
    let rows: Vec<_> = lab.runs.iter().map(row).collect();
    let mut text = columns(head, &rows);
    text += "\nlatency: one block; NTTs: time of a batch in tfhe-ntt transforms (32768 points); bytes out: FHE bytes \
             per message byte;\nnoise left, security (with rotations): in bits. 'bench' checks every byte.\n";
    let (machine, took) = (&lab.machine, short_seconds(lab.wall_seconds));
    if !machine.processor.is_empty() {
        let (processor, cores, kernels) = (&machine.processor, machine.cores, &machine.kernels);
        text += &format!("{processor}, {cores} cores, kernels {kernels}; {took}.\n");
    }
    for Skipped { run, reason, .. } in &lab.skipped {
        text += &format!("not measured: {run}: {reason}\n");
    }
    text
}

/// Numbers and names of the GPUs that took part in a run.
pub(crate) fn gpus(report: &Report) -> Option<(String, String)> {
    let gpus = report.devices.iter();
    let gpus = gpus.filter_map(|share| Some((share.device.strip_prefix("cuda:")?, share)));
    let mut gpus: Vec<_> = gpus.collect();
    gpus.sort_by_key(|(number, _)| number.parse::<u64>().ok());
    let numbers: Vec<&str> = gpus.iter().map(|(number, _)| *number).collect();
    let names = gpus.iter().filter_map(|(_, share)| share.name.as_deref());
    let mut names: Vec<&str> = names.collect();
    names.dedup();
    (!gpus.is_empty()).then(|| (numbers.join(","), names.join(", ")))
}

pub(crate) fn devices(report: &Report) -> String {
    let threads = count(report.threads as u64, "thread");
    let of_cpu = report.devices.iter().find(|share| share.device == "cpu");
    match (gpus(report), of_cpu) {
        (None, _) => threads,
        (Some((numbers, names)), None) => format!("cuda:{numbers} ({names})"),
        (Some((numbers, names)), Some(cpu)) => {
            let batches = count(cpu.batches, "batch");
            format!("cuda:{numbers} ({names}), {batches} on {threads}")
        }
    }
}

pub(crate) fn blocks(blocks: u64, batches: u64) -> String {
    let blocks = count(blocks, "block");
    let batches = count(batches, "batch");
    format!("{blocks} in {batches}")
}

pub(crate) fn unauthenticated(mode: &str) -> String {
    format!("unauthenticated: mode {mode} has no tag")
}

pub(crate) fn iv_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Gcm { .. } => "nonce",
        _ => "iv",
    }
}

pub(crate) fn associated_data(bytes: u64, sha256: &[u8]) -> String {
    let bytes = count(bytes, "byte");
    format!("{bytes}, SHA-256 {}", hex(sha256))
}

/// Bits between noise and failure; an empty message has no ciphertext.
pub(crate) fn noise_left(bits: Option<f64>) -> String {
    bits.map_or_else(|| "no ciphertext".into(), |bits| format!("{bits:.1} bits"))
}

pub(crate) fn memory(peak: Option<u64>) -> String {
    peak.map_or_else(|| "unknown".into(), bytes)
}

/// Bits between noise and failure of the worst ciphertext.
pub(crate) fn quality_left(quality: Option<Quality>) -> String {
    noise_left(quality.map(|quality| quality.capacity_bits))
}

/// `2^-62.0`: the bound on the probability that a message decrypts wrongly; `None` if that is 0.
pub(crate) fn p_fail(log2: Option<f64>) -> Option<String> {
    let log2 = log2.filter(|log2| log2.is_finite())?;
    Some(format!("2^{log2:.1}"))
}

/// The same as a clause.
pub(crate) fn wrong(log2: Option<f64>) -> String {
    let text = p_fail(log2).map(|p| format!(", wrong with probability at most {p}"));
    text.unwrap_or_default()
}

pub(crate) fn steps(scheme: Scheme, steps: &[Step]) -> String {
    let NoiseTerms { noise, meaning } = scheme.noise_terms();
    let row = |(round, step): (usize, &Step)| {
        [
            round.to_string(),
            step.quality.level.to_string(),
            format!("{:.1} bits", step.quality.noise_bits),
            format!("{:.1} bits", step.quality.capacity_bits),
            seconds(step.seconds),
        ]
    };
    let rows: Vec<_> = steps.iter().enumerate().map(row).collect();
    let table = columns(&format!("round|level|{noise}|noise left|time"), &rows);
    format!("{table}\n{meaning} time: mean over batches.\n")
}

pub(crate) fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Encrypt => "encrypt",
        Direction::Decrypt => "decrypt",
    }
}

pub(crate) fn directions(directions: &[Direction]) -> &'static str {
    match directions {
        [one] => direction(*one),
        _ => "both",
    }
}

/// The same in a sentence.
pub(crate) fn to_directions(directions: &[Direction]) -> &'static str {
    match directions {
        [one] => direction(*one),
        _ => "encrypt and decrypt",
    }
}

pub(crate) fn expansion(wrapped: &WrappedKeyInfo) -> &'static str {
    match wrapped.expansion {
        Expansion::Client if !wrapped.compact => "",
        _ => ", to be expanded by the server",
    }
}

/// Layouts with the multiplications left on their results, if the scheme counts them.
pub(crate) fn layouts(scheme: Scheme, layouts: &[(Layout, usize)]) -> String {
    let texts = layouts
        .iter()
        .map(|&(layout, level)| match multiplications(scheme, level) {
            Some(left) => format!("{layout} ({left} left)"),
            None => layout.to_string(),
        });
    texts.collect::<Vec<_>>().join(", ")
}

/// The multiplications left at a level, if the scheme counts them.
pub(crate) fn multiplications(scheme: Scheme, level: usize) -> Option<String> {
    let left = scheme.multiplications_left(level)? as u64;
    Some(count(left, "multiplication"))
}

/// The use of results at a level, if the scheme counts multiplications.
pub(crate) fn results(scheme: Scheme, level: usize) -> Option<String> {
    Some(match scheme.multiplications_left(level)? {
        0 => "decrypt only: no multiplications left".to_owned(),
        _ => multiplications(scheme, level)? + " left",
    })
}

pub(crate) fn bits(card: &SetCard, bits: f64) -> String {
    match card.is_order_of_magnitude() {
        true => format!("~{bits:.0}"),
        false => format!("{bits:.1}"),
    }
}

pub(crate) fn security(card: &SetCard) -> String {
    let figures = card
        .security_bits_estimated()
        .zip(card.security_bits_with_rotations());
    let estimated = figures.map_or_else(String::new, |(bits, rotations)| {
        if card.is_order_of_magnitude() {
            return format!(", about {bits:.0} estimated (an order of magnitude)");
        }
        let with = match card.ring.is_some() || rotations < bits {
            true => format!(", {rotations:.1} with rotations"),
            false => String::new(),
        };
        format!(", {bits:.1} estimated{with}")
    });
    match (card.purpose, card.security_bits_claimed) {
        (Purpose::Secure, Some(claim)) => format!("{claim} bits claimed{estimated}"),
        (purpose, Some(claim)) => {
            format!("NOT SECURE ({purpose}): {claim} bits claimed by the paper{estimated}")
        }
        (purpose, None) => format!("NOT SECURE ({purpose}): none claimed{estimated}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_blocks() {
        assert_eq!(blocks(1, 1), "1 block in 1 batch");
        assert_eq!(blocks(0, 2), "0 blocks in 2 batches");
    }

    #[test]
    fn tables_are_aligned() {
        let rows = [
            ["a".into(), "bb".into(), "1".into()],
            ["ccc".into(), "d".into(), "22".into()],
        ];
        assert_eq!(
            columns("x|y|z", &rows),
            "x    y    z\na    bb   1\nccc  d   22\n"
        );
    }

    #[test]
    fn orders_of_magnitude_are_called_so() {
        let ntru = homaes::Set::named("ntru/hybrid").unwrap();
        assert_eq!(bits(ntru.card(), 48.0), "~48");
        assert!(security(ntru.card()).ends_with(", about 48 estimated (an order of magnitude)"));
        let tfhe = homaes::Set::named("tfhe/p64").unwrap();
        assert_eq!(bits(tfhe.card(), 129.1), "129.1");
    }

    #[test]
    fn multiplications_are_shown_where_they_are_counted() {
        let held = [(Layout::Sliced, 1), (Layout::Packed, 2)];
        assert_eq!(
            layouts(Scheme::Bgv, &held),
            "sliced (0 multiplications left), packed (1 multiplication left)"
        );
        assert_eq!(layouts(Scheme::Tfhe, &held[..1]), "sliced");
        let said = [1, 2, 3].map(|level| results(Scheme::Bgv, level).unwrap());
        let expected = [
            "decrypt only: no multiplications left",
            "1 multiplication left",
            "2 multiplications left",
        ];
        assert_eq!(said, expected);
        assert_eq!(results(Scheme::Tfhe, 1), None);
    }
}
