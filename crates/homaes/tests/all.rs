//! Tests of the library's public API, linked as one program.

mod cancel;
mod ciphertexts;
mod common;
mod crafted;
mod golden;
mod modes;
mod parts;
mod passphrase;
mod resume;
mod round_trip;
mod scan;
mod tfhe;
mod timing;
mod values;

use homaes::Quality;

/// Whether the quality in a file is that of the run, rounded to the safe side.
fn is_rounded(read: Option<Quality>, told: Option<Quality>) -> bool {
    let (Some(read), Some(told)) = (read, told) else {
        return read.is_none() && told.is_none();
    };
    let above = read.noise_bits - told.noise_bits;
    let below = told.capacity_bits - read.capacity_bits;
    let safe = |by: f64| by > -1e-9 && by < 2f64.powi(-15);
    read.level == told.level && safe(above) && safe(below)
}
