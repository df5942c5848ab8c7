//! TBCS23's tables of parameters and of bases.

use super::{pool, seed};
use crate::console::Failure;
use crate::progress::spin;
use homaes_lab::Cells;
use homaes_lab::units::digits;
use homaes_tfhe::nibble::methods::{Method, rows};
use homaes_tfhe::sets::{NIBBLE_PAPER, NIBBLE128};
use homaes_tfhe::{NibbleSet, ParamSet, Variant};

/// Bytes that are looked up in each row.
const BYTES: u8 = 4;

/// What the poster prints: method, basis, n, N, l, B_g, B_KS, t, q, ε, TRLWE noise, TLWE noise.
const PRINTED: [[&str; 12]; 6] = [
    [
        "chaining", "4", "850", "2048", "2", "2048", "1024", "2", "32", "2^-32", "9.6e-11",
        "1.27e-6",
    ],
    [
        "chaining",
        "8",
        "1024",
        "8192",
        "1",
        "268435456",
        "1024",
        "2",
        "128",
        "2^-27",
        "1e-45",
        "5.6e-8",
    ],
    [
        "chaining",
        "16",
        "1100",
        "32768",
        "1",
        "4294967296",
        "8192",
        "2",
        "512",
        "2^-30",
        "1.4e-8",
        "1e-248",
    ],
    [
        "tree-based",
        "4",
        "700",
        "1024",
        "5",
        "16",
        "1024",
        "2",
        "8",
        "2^-30",
        "5.6e-8",
        "1.9e-5",
    ],
    [
        "tree-based",
        "8",
        "700",
        "2048",
        "2",
        "2048",
        "1024",
        "2",
        "16",
        "2^-25",
        "9.6e-11",
        "1.9e-5",
    ],
    [
        "tree-based",
        "16",
        "1024",
        "2048",
        "3",
        "256",
        "1024",
        "2",
        "32",
        "2^-25",
        "9.6e-11",
        "6.5e-8",
    ],
];

/// The poster's parameters, and those of our sets.
pub(super) fn parameters() -> String {
    let mut table: Vec<Vec<String>> = PRINTED
        .iter()
        .map(|row| row.iter().map(|&cell| cell.to_owned()).collect())
        .collect();
    table.extend([&NIBBLE_PAPER, &NIBBLE128].into_iter().filter_map(ours));
    let head = [
        "method",
        "basis",
        "n",
        "N",
        "l",
        "B_g",
        "B_KS",
        "t",
        "q",
        "ε",
        "TRLWE noise",
        "TLWE noise",
    ];
    format!(
        "Printed: the poster's first table. Its chaining rows 8 and 16 need a torus of 150 to 830 bits, which no word of 64 bits holds. In our rows t digits of B_KS multiply the noise, where the poster's keys hold every multiple of a digit; ε is of the model, \
         [PARAMETERS.md](../PARAMETERS.md) has the failure of a batch.\n\n{}",
        Cells::new(&head, table).markdown()
    )
}

fn ours(set: &ParamSet) -> Option<Vec<String>> {
    let Variant::Nibble(nibble) = &set.variant else {
        return None;
    };
    let NibbleSet {
        digit_bits,
        lwe_dimension,
        degree,
        rotation,
        key_switch,
        lwe_log2_sigma,
        glwe_log2_sigma,
        ..
    } = nibble;
    Some(vec![
        format!("tree-based, `{}`", set.name),
        (1 << digit_bits).to_string(),
        lwe_dimension.to_string(),
        degree.to_string(),
        rotation.levels.to_string(),
        (1u64 << rotation.base_log).to_string(),
        (1u64 << key_switch.base_log).to_string(),
        key_switch.levels.to_string(),
        (2 << digit_bits).to_string(),
        "see there".to_owned(),
        format!("{:.1e}", glwe_log2_sigma.exp2()),
        format!("{:.1e}", lwe_log2_sigma.exp2()),
    ])
}

/// Bootstraps and times by basis.
pub(super) fn bases(quick: bool) -> Result<String, Failure> {
    let pool = pool(1)?;
    let dash = || "–".to_owned();
    let mut table = vec![
        ["tree-based", "256", "1024", "32768", "2", "1", "1.5", "1.5"]
            .map(str::to_owned)
            .to_vec(),
    ];
    table[0].extend([dash(), dash(), dash(), dash(), "N beyond 8192".to_owned()]);
    for row in rows() {
        let method = match row.method {
            Method::Tree => "tree-based",
            Method::Chaining => "chaining",
        };
        let [n, degree] = row.dimensions();
        let count = |i: usize| {
            row.poster_bootstraps
                .map_or_else(dash, |b| b[i].to_string())
        };
        let time = |i: usize| row.poster_seconds.map_or_else(dash, |s| s[i].to_string());
        let mut cells = vec![
            method.to_owned(),
            (1 << row.digit_bits).to_string(),
            n.to_string(),
            degree.to_string(),
            count(0),
            count(1),
            time(0),
            time(1),
        ];
        if quick {
            cells.extend([dash(), dash(), dash(), dash(), "not measured".to_owned()]);
        } else {
            let seed = seed()?;
            let found = spin("measuring", || pool.install(|| row.measure(BYTES, seed)));
            cells.extend([
                found.xor_rotations.to_string(),
                found.look_up_rotations.to_string(),
                digits(found.bootstrap_seconds),
                digits(found.look_up_seconds),
                format!("{} of {}", found.wrong, found.checked),
            ]);
        }
        table.push(cells);
    }
    let head = [
        "method",
        "basis",
        "n",
        "N",
        "XOR, printed",
        "LUT, printed",
        "bootstrap s, printed",
        "LUT s, printed",
        "XOR",
        "LUT",
        "bootstrap s",
        "LUT s",
        "wrong digits",
    ];
    Ok(format!(
        "XOR, LUT: bootstraps for an exclusive or of two bytes and for a byte look-up; times in seconds, here on one thread at the poster's parameters. Sources: the poster's two tables below the parameters, and this command. \
         A look-up takes fewer bootstraps here because all result digits share the first one.\n\n{}",
        Cells::new(&head, table).markdown()
    ))
}
