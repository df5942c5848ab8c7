//! Compares one byte of every block of an encrypted message with a public byte and writes an encrypted bit per block.
//!
//! ```text
//! cargo run --release -p homaes --example equals_byte -- EVAL RESULTS PLACE BYTE OUT
//! ```
//!
//! EVAL is a BGV evaluation key (`.hek`). RESULTS are results under it in the layout sliced with at least four
//! multiplications left (`.hct`). PLACE is the number of the byte in its block, 0 to 15, BYTE a character, and OUT the
//! file to write (`.hcv`). `homaes decrypt --json` prints OUT.

use homaes::{Ciphertexts, Computed, EvalKey, Layout, Output};
use homaes_bgv::{Evaluator, State};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [eval, results, place, byte, out] = &arguments[..] else {
        return Err("expected EVAL RESULTS PLACE BYTE OUT".into());
    };
    let place: usize = place.parse()?;
    let &[byte] = byte.as_bytes() else {
        return Err("BYTE is one character".into());
    };
    // first: nothing is computed for a file that cannot be written
    let output = Output::create(out, false)?;
    let key = EvalKey::open(eval)?;
    let circuit = Evaluator::new(key.of_scheme().ok_or("not a key of BGV")?);
    let results = Ciphertexts::open(results)?;
    let blocks = results.meta().split.blocks();
    let mut found = Vec::new();
    for batch in results {
        let batch = batch?;
        if batch.layout() != Layout::Sliced {
            return Err("results in another layout than sliced".into());
        }
        let state: State = batch.state()?;
        let bytes = state.ciphertexts().get(place).ok_or("PLACE is 0 to 15")?;
        found.push(circuit.equals_byte(bytes, byte)?);
    }
    let mut computed = Computed::new(&key);
    computed.add("found", blocks, 1, &found)?;
    computed.write(output)?;
    println!("{out}: a bit for each of {blocks} blocks");
    Ok(())
}
