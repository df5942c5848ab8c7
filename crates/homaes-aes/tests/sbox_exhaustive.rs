//! The S-box of every adapter, and its multiples, on all 256 bytes in both directions.
//!
//! The adapters are compared with `clear::sbox`, and that with the S-box inside the crate `aes`.

use crate::common::View;
use aes::Aes128;
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use homaes_aes::interp::clear::{ClearBits, ClearBytes};
use homaes_aes::{
    AesByte, Bitwise, Block, Bytewise, Direction, EvalError, RoundKeys, clear, gf256, state,
};

const MULTIPLES: [u8; 9] = [0, 1, 2, 3, 9, 11, 13, 14, 255];

fn check<B: AesByte<Error = EvalError>>(
    adapter: &B,
    inputs: &[u8],
    value: impl Fn(&B::Byte) -> Vec<u8>,
) {
    for dir in Direction::ALL {
        let found = adapter.sbox_times(dir, &adapter.public(inputs), MULTIPLES);
        for (c, found) in MULTIPLES.into_iter().zip(&found.unwrap()) {
            let times = |&x: &u8| gf256::mul(c, clear::sbox(dir, x));
            let expected: Vec<u8> = inputs.iter().map(times).collect();
            assert_eq!(value(found), expected, "{dir:?} {c}");
        }
    }
}

#[test]
fn sboxes_of_both_views() {
    let inputs: Vec<u8> = (0..=255).collect();
    check(&Bytewise::new(&ClearBytes::new(256)), &inputs, Clone::clone);
    let bits = ClearBits::new(256);
    check(&Bitwise::new(&bits), &inputs, state::from_bits);
}

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
        for view in View::ALL {
            let found = view.run(dir, &inputs, &vec![keys.clone(); 256]);
            assert_eq!(found, outputs, "{view:?}");
        }
    }
}
