//! Streams of evaluation keys are part of the format.

use homaes_scheme::SetId;
use homaes_scheme::file::stream_seed;
use homaes_wire::hex;

/// As the package `blake3` of Python has it.
#[test]
fn the_derivation_is_stable() {
    let seed = stream_seed(&[1; 32], SetId::new("any", &[2; 32]), &[3, 1 << 40]);
    assert_eq!(
        hex(&*seed),
        "5172eb1bdaca8d23a0ca6ad4919a2a80a6e3e9296117e21a66f0fda36256163c"
    );
}
