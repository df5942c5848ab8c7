//! The S-box in the clear and those on bits against the S-box inside the crate `aes`, on all 256 bytes in both
//! directions.

use crate::common::{DEPTHS, run};
use aes::Aes128;
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use homaes_aes::{Block, Direction, RoundKeys, clear, state};

/// The last round is S-box, ShiftRows, AddRoundKey: removing the key from the crate's output gives its S-box on the
/// state after round 9. Enough blocks make every byte occur there.
#[test]
fn sboxes_equal_that_of_the_crate_aes() {
    let key = [0x5a; 16];
    let keys = RoundKeys::expand(&key).unwrap();
    let oracle = Aes128::new(&key.into());
    let inputs: Vec<Block> = (0..=255).map(|i| [i; 16]).collect();
    for dir in Direction::ALL {
        let mut seen = [false; 256];
        let output = |&input: &Block| {
            let mut output = input.into();
            match dir {
                Direction::Encrypt => oracle.encrypt_block(&mut output),
                Direction::Decrypt => oracle.decrypt_block(&mut output),
            }
            output.into()
        };
        let outputs: Vec<Block> = inputs.iter().map(output).collect();
        let schedule = keys.schedule(dir);
        for (&input, output) in inputs.iter().zip(&outputs) {
            let before = state::shift_rows(dir, &clear::trace(dir, input, &keys)[9]);
            let after = state::xor(output, &schedule.as_slice()[10]);
            for (x, y) in before.into_iter().zip(after) {
                assert_eq!(clear::sbox(dir, x), y);
                seen[usize::from(x)] = true;
            }
        }
        assert_eq!(seen, [true; 256], "every byte has occurred");
        for depth in DEPTHS {
            let found = run(depth, dir, &inputs, &vec![keys.clone(); 256]);
            assert_eq!(found, outputs, "{depth}");
        }
    }
}
