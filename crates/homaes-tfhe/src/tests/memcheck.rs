//! Valgrind looks for branches and addresses that depend on secrets; see `homaes_math::memcheck`.

use crate::state::{MaskForm, words_of};
use crate::{EvalKey, Expansion, Params, SecretKey, State, WrapOptions, WrappedKey, sets};
use homaes_aes::{Direction, RoundKeys};
use homaes_math::memcheck::{Poisoned, findings, poison};
use homaes_scheme::Owner;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// Key generation, wrapping and decryption of both variants and of a block binary key, with all secrets undefined.
#[test]
#[ignore = "run by secrets_under_memcheck"]
fn secrets() {
    for set in [&sets::TOY, &sets::TOY_BLOCKS, &sets::NIBBLE_TOY] {
        let mut rng = Poisoned(ChaCha20Rng::from_seed([1; 32]));
        let params = Params::new(set).unwrap();
        let secret = SecretKey::generate(&params, &mut rng).unwrap();
        let _ = EvalKey::generate(&secret, &mut rng);
        let mut key = [7u8; 16];
        poison(&mut key);
        let keys = RoundKeys::expand(&key).unwrap();
        for (direction, expansion) in [
            (Direction::Encrypt, Expansion::Server),
            (Direction::Decrypt, Expansion::Client),
        ] {
            let wrapping = WrapOptions {
                direction,
                expansion,
            };
            let wrapped = WrappedKey::encrypt(&secret, &keys, wrapping, &mut rng).unwrap();
            // the first digits of a wrapped key serve as a block
            let digits = 128 / params.digit_bits() as usize;
            let lwes = wrapped.lwes();
            let lwes: Vec<_> = lwes[..digits].iter().collect();
            let state = State {
                lwes: words_of(&lwes),
                blocks: 1,
                log2_sigma: 0.0,
                owner: Owner::new(params.id(), None),
                finished: true,
                mask_form: MaskForm::Any,
            };
            let found = secret.decrypt_blocks(&state).unwrap();
            let mut block = found.blocks[0];
            poison(&mut block);
            core::hint::black_box((block, found.margin_bits));
        }
    }
}

/// Needs valgrind. Run with
/// `CARGO_PROFILE_RELEASE_DEBUG=line-tables-only cargo test --release under_memcheck -- --ignored --nocapture`.
#[test]
#[ignore = "needs valgrind"]
fn secrets_under_memcheck() {
    let Some(found) = findings("tests::memcheck::secrets") else {
        println!("skipped: valgrind is not installed");
        return;
    };
    // decryption reveals whether all values are digits
    assert_eq!(found, ["homaes-tfhe/src/state.rs: if all >> width != 0 {"]);
}
