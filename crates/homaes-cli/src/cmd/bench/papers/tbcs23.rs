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

/// The poster's parameters.
const PRINTED: [&str; 6] = [
    "chaining|4|850|2048|2|2048|1024|2|32|2^-32|9.6e-11|1.27e-6",
    "chaining|8|1024|8192|1|268435456|1024|2|128|2^-27|1e-45|5.6e-8",
    "chaining|16|1100|32768|1|4294967296|8192|2|512|2^-30|1.4e-8|1e-248",
    "tree-based|4|700|1024|5|16|1024|2|8|2^-30|5.6e-8|1.9e-5",
    "tree-based|8|700|2048|2|2048|1024|2|16|2^-25|9.6e-11|1.9e-5",
    "tree-based|16|1024|2048|3|256|1024|2|32|2^-25|9.6e-11|6.5e-8",
];

/// The poster's parameters, and those of our sets.
pub(super) fn parameters() -> Cells {
    let cells = |row: &str| row.split('|').map(str::to_owned).collect();
    let mut table: Vec<Vec<String>> = PRINTED.into_iter().map(cells).collect();
    table.extend([&NIBBLE_PAPER, &NIBBLE128].into_iter().filter_map(ours));
    let head = "method|basis|n|N|l|B_g|B_KS|t|q|ε|TRLWE noise|TLWE noise";
    Cells::new(&head.split('|').collect::<Vec<_>>(), table)
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
        "–".to_owned(),
        format!("{:.1e}", glwe_log2_sigma.exp2()),
        format!("{:.1e}", lwe_log2_sigma.exp2()),
    ])
}

/// Bootstraps and times by basis: measured (printed).
pub(super) fn bases(quick: bool) -> Result<Cells, Failure> {
    let pool = pool(1)?;
    // no ring of this library has N = 32768
    let largest = "tree-based|256|1024|32768|– (2)|– (1)|– (1.5)|– (1.5)|–";
    let mut table = vec![largest.split('|').map(str::to_owned).collect()];
    for row in rows() {
        let method = match row.method {
            Method::Tree => "tree-based",
            Method::Chaining => "chaining",
        };
        let [n, degree] = row.dimensions();
        let found = match quick {
            true => None,
            false => {
                let seed = seed()?;
                Some(spin("measuring", || {
                    pool.install(|| row.measure(BYTES, seed))
                }))
            }
        };
        let measured = found.map(|found| {
            [
                found.xor_rotations.to_string(),
                found.look_up_rotations.to_string(),
                digits(found.bootstrap_seconds),
                digits(found.look_up_seconds),
            ]
        });
        let counts = row
            .poster_bootstraps
            .map(|counts| counts.map(|n| n.to_string()));
        let times = row.poster_seconds.map(|times| times.map(|s| s.to_string()));
        let printed = [counts, times].map(|pair| pair.unwrap_or_default());
        let mut cells = vec![
            method.to_owned(),
            (1 << row.digit_bits).to_string(),
            n.to_string(),
            degree.to_string(),
        ];
        for (i, printed) in printed.into_iter().flatten().enumerate() {
            let here = measured
                .as_ref()
                .map_or_else(|| "–".to_owned(), |cells| cells[i].clone());
            cells.push(match printed.is_empty() {
                true => here,
                false => format!("{here} ({printed})"),
            });
        }
        cells.push(found.map_or_else(
            || "not measured".to_owned(),
            |found| format!("{} of {}", found.wrong, found.checked),
        ));
        table.push(cells);
    }
    let head = "method|basis|n|N|XOR|LUT|bootstrap, s|LUT, s|wrong digits";
    Ok(Cells::new(&head.split('|').collect::<Vec<_>>(), table))
}
