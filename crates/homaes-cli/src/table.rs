//! Texts for people: tables, sizes, times, security.

use homaes::{
    Direction, Expansion, Layout, Mode, NoiseTerms, Purpose, Quality, Scheme, SetCard, Step,
};
use std::fmt::Write;

/// Rows of a name and a value, the values in one column.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    rows: Vec<(String, String)>,
}

impl Rows {
    pub(crate) fn add(&mut self, name: &str, value: impl Into<String>) {
        self.rows.push((name.to_owned(), value.into()));
    }

    pub(crate) fn text(&self) -> String {
        let width = self
            .rows
            .iter()
            .map(|(name, _)| name.len())
            .max()
            .unwrap_or(0);
        let mut text = String::new();
        for (name, value) in &self.rows {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{name:width$}  {value}");
        }
        text
    }
}

/// A table with a head; all columns but the first two are right-aligned.
pub(crate) fn columns<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let widths: [usize; N] = core::array::from_fn(|i| {
        let cells = rows.iter().map(|row| row[i].chars().count());
        cells.chain([head[i].len()]).max().unwrap_or(0)
    });
    let head = head.map(str::to_owned);
    let mut text = String::new();
    for row in core::iter::once(&head).chain(rows) {
        let cells: Vec<String> = row
            .iter()
            .zip(widths)
            .enumerate()
            .map(|(i, (cell, width))| match i < 2 {
                true => format!("{cell:width$}"),
                false => format!("{cell:>width$}"),
            })
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// `1 block`, `2 blocks`.
pub(crate) fn count(number: u64, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// Blocks and batches of a message.
pub(crate) fn blocks(blocks: u64, batches: u64) -> String {
    let blocks = count(blocks, "block", "blocks");
    let batches = count(batches, "batch", "batches");
    format!("{blocks} in {batches}")
}

/// What is to be said about a result of a mode without a tag.
pub(crate) fn unauthenticated(mode: &str) -> String {
    format!("unauthenticated: mode {mode} has no tag")
}

/// What the public value of a mode is called.
pub(crate) fn iv_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Gcm { .. } => "nonce",
        _ => "iv",
    }
}

/// Length and hash of the associated data of GCM.
pub(crate) fn associated_data(bytes: u64, sha256: &[u8]) -> String {
    let bytes = count(bytes, "byte", "bytes");
    format!("{bytes}, SHA-256 {}", hex(sha256))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A number of bytes, with its unit.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A time, with its unit.
pub(crate) fn seconds(value: f64) -> String {
    match value {
        v if v < 1e-3 => format!("{:.1} µs", v * 1e6),
        v if v < 1.0 => format!("{:.1} ms", v * 1e3),
        v => format!("{v:.2} s"),
    }
}

/// Bits between noise and failure; none for an empty message.
pub(crate) fn noise_left(bits: Option<f64>) -> String {
    bits.map_or_else(|| "no ciphertext".into(), |bits| format!("{bits:.1} bits"))
}

/// Bits between noise and failure of the worst ciphertext.
pub(crate) fn quality_left(quality: Option<Quality>) -> String {
    noise_left(quality.map(|quality| quality.capacity_bits))
}

/// The steps of AES, a row each.
pub(crate) fn steps(scheme: Scheme, steps: &[Step]) -> String {
    let NoiseTerms { noise, meaning } = scheme.noise_terms();
    let rows: Vec<_> = steps
        .iter()
        .enumerate()
        .map(|(round, step)| {
            [
                round.to_string(),
                step.quality.level.to_string(),
                format!("{:.1} bits", step.quality.noise_bits),
                format!("{:.1} bits", step.quality.capacity_bits),
                seconds(step.seconds),
            ]
        })
        .collect();
    let table = columns(["round", "level", noise, "noise left", "time"], &rows);
    format!("{table}\n{meaning} time: mean over batches.\n")
}

/// The word of the option `--direction`.
pub(crate) fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Encrypt => "encrypt",
        Direction::Decrypt => "decrypt",
    }
}

/// What is left to do to a wrapped key, for the end of a sentence.
pub(crate) fn expansion(expansion: Expansion) -> &'static str {
    match expansion {
        Expansion::Server => ", to be expanded by the server",
        Expansion::Client => "",
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
    Some(count(left, "multiplication", "multiplications"))
}

/// What a set claims and what is estimated.
pub(crate) fn security(card: &SetCard) -> String {
    let figures = card
        .security_bits_estimated()
        .zip(card.security_bits_with_rotations());
    let estimated = figures.map_or_else(String::new, |(bits, rotations)| match card.ring {
        Some(_) => format!(", {bits:.1} estimated, {rotations:.1} with rotations"),
        None => format!(", {bits:.1} estimated"),
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
    fn units() {
        let sizes = [0, 1023, 1024, 1536, 1 << 20, u64::MAX].map(bytes);
        assert_eq!(
            sizes[..5],
            ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "1.0 MiB"]
        );
        assert!(sizes[5].ends_with(" TiB"));
        assert_eq!(blocks(1, 1), "1 block in 1 batch");
        assert_eq!(
            [2e-6, 0.25, 61.0].map(seconds),
            ["2.0 µs", "250.0 ms", "61.00 s"]
        );
    }

    #[test]
    fn tables_are_aligned() {
        let rows = [
            ["a".into(), "bb".into(), "1".into()],
            ["ccc".into(), "d".into(), "22".into()],
        ];
        assert_eq!(
            columns(["x", "y", "z"], &rows),
            "x    y    z\na    bb   1\nccc  d   22\n"
        );
    }

    #[test]
    fn multiplications_are_shown_where_they_are_counted() {
        let held = [(Layout::Sliced, 1), (Layout::Packed, 2)];
        assert_eq!(
            layouts(Scheme::Bgv, &held),
            "sliced (0 multiplications left), packed (1 multiplication left)"
        );
        assert_eq!(layouts(Scheme::Tfhe, &held[..1]), "sliced");
    }
}
