//! The S-box of every adapter, and its multiples, on all 256 bytes in both directions.
//!
//! The adapters are compared with `clear::sbox`, and that with the S-box inside the crate `aes`.

use aes::Aes128;
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use homaes_aes::interp::clear::{ClearBits, ClearBytes};
use homaes_aes::{
    AesByte, Bitwise, Bytewise, Direction, EvalError, RoundKeys, clear, gf256, state,
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
    check(
        &Bitwise::new(&ClearBits::new(256)),
        &inputs,
        state::from_bits,
    );
}

/// The last round is S-box, ShiftRows, AddRoundKey: removing the key from the crate's output gives its S-box on the
/// state after round 9. Enough blocks make every byte occur there.
#[test]
fn clear_sbox_equals_that_of_the_crate_aes() {
    let key = [0x5a; 16];
    let keys = RoundKeys::expand(&key).unwrap();
    let oracle = Aes128::new(&key.into());
    let mut seen = [[false; 256]; 2];
    for i in 0..=255 {
        let input = [i; 16];
        for dir in Direction::ALL {
            let mut output = input.into();
            match dir {
                Direction::Encrypt => oracle.encrypt_block(&mut output),
                Direction::Decrypt => oracle.decrypt_block(&mut output),
            }
            let schedule = keys.schedule(dir);
            let trace = clear::trace(dir, input, &keys);
            let before = state::shift_rows(dir, &trace[9]);
            let after = state::xor(&output.into(), &schedule.as_slice()[10]);
            for (x, y) in before.into_iter().zip(after) {
                assert_eq!(clear::sbox(dir, x), y);
                seen[dir as usize][usize::from(x)] = true;
            }
        }
    }
    assert_eq!(seen, [[true; 256]; 2], "every byte has occurred");
}
