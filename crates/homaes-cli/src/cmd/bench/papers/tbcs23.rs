//! TBCS23's table of parameters.

use homaes_lab::Cells;
use homaes_tfhe::sets::{NIBBLE_PAPER, NIBBLE128};
use homaes_tfhe::{ParamSet, Variant};

const PRINTED: [&str; 6] = [
    "chaining|4|850|2048|2|2048|1024|2|32|2^-32|9.6e-11|1.27e-6",
    "chaining|8|1024|8192|1|268435456|1024|2|128|2^-27|1e-45|5.6e-8",
    "chaining|16|1100|32768|1|4294967296|8192|2|512|2^-30|1.4e-8|1e-248",
    "tree-based|4|700|1024|5|16|1024|2|8|2^-30|5.6e-8|1.9e-5",
    "tree-based|8|700|2048|2|2048|1024|2|16|2^-25|9.6e-11|1.9e-5",
    "tree-based|16|1024|2048|3|256|1024|2|32|2^-25|9.6e-11|6.5e-8",
];

pub(super) fn parameters() -> Cells {
    let cells = |row: &str| row.split('|').map(str::to_owned).collect();
    let mut table: Vec<Vec<String>> = PRINTED.into_iter().map(cells).collect();
    table.extend([&NIBBLE_PAPER, &NIBBLE128].into_iter().filter_map(ours));
    let head = "method|basis|n|N|l|B_g|B_KS|t|q|ε|TRLWE noise|TLWE noise";
    Cells::of(head, table)
}

fn ours(set: &ParamSet) -> Option<Vec<String>> {
    let Variant::Nibble(nibble) = &set.variant else {
        return None;
    };
    let (rotation, key_switch) = (&nibble.rotation, &nibble.key_switch);
    Some(vec![
        format!("tree-based, `{}`", set.name),
        (1 << nibble.digit_bits).to_string(),
        nibble.lwe_dimension.to_string(),
        nibble.degree.to_string(),
        rotation.levels.to_string(),
        (1u64 << rotation.base_log).to_string(),
        (1u64 << key_switch.base_log).to_string(),
        key_switch.levels.to_string(),
        (2 << nibble.digit_bits).to_string(),
        "–".to_owned(),
        format!("{:.1e}", nibble.glwe_log2_sigma.exp2()),
        format!("{:.1e}", nibble.lwe_log2_sigma.exp2()),
    ])
}
