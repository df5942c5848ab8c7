//! Look-ups and sums of states.

use super::Keys;
use crate::{Aes, EvalKey, Params, SecretKey, State, WrappedKey, Wrapping, sets};
use homaes_aes::clear::encrypt_block;
use homaes_aes::state::xor;
use homaes_aes::{Block, RoundKeys};

/// The result of AES on some blocks, and these in the clear.
fn aes(keys: &mut Keys, inputs: &[Block]) -> (State, Vec<Block>) {
    let round_keys = RoundKeys::expand(&[0x2b; 16]).unwrap();
    let wrapping = Wrapping::default();
    let wrapped = WrappedKey::encrypt(&keys.secret, &round_keys, wrapping, &mut keys.rng).unwrap();
    let aes = Aes::new(&keys.eval, &wrapped).unwrap();
    let clear = inputs.iter().map(|&b| encrypt_block(b, &round_keys));
    (aes.evaluate(inputs).unwrap(), clear.collect())
}

/// Tables over bytes, sums, tables over sums, and again.
#[test]
fn programs_go_on_from_aes() {
    let mut keys = Keys::new(&sets::TOY, 21);
    let (mut state, mut clear) = aes(&mut keys, &[[1; 16], [7; 16], [8; 16]]);
    let tables: [[u8; 256]; 2] = [3, 7].map(|d| core::array::from_fn(|x| (x * x / d + 5) as u8));
    for _ in 0..3 {
        let [a, b] = tables.each_ref().map(|table| {
            let found = keys.eval.look_up(&state, table).unwrap();
            let want = clear.iter().map(|b| b.map(|x| table[usize::from(x)]));
            let want: Vec<Block> = want.collect();
            assert_eq!(keys.secret.decrypt_blocks(&found).unwrap().blocks[..], want);
            let measured = keys.secret.measure_noise(&found).unwrap();
            assert!(measured < found.noise_bits() + 0.5, "{measured} {found:?}");
            (found, want)
        });
        state = keys.eval.xor(&a.0, &b.0).unwrap();
        clear = a.1.iter().zip(&b.1).map(|(a, b)| xor(a, b)).collect();
        assert_eq!(
            keys.secret.decrypt_blocks(&state).unwrap().blocks[..],
            clear
        );
    }
}

#[test]
fn what_programs_cannot_take_is_refused() {
    let mut keys = Keys::new(&sets::TOY, 22);
    let (state, _) = aes(&mut keys, &[[1; 16]]);
    let (two, _) = aes(&mut keys, &[[1; 16], [2; 16]]);
    let table = [0; 256];
    let refused = keys.eval.xor(&state, &two).unwrap_err();
    assert!(refused.to_string().contains('2'), "{refused}");
    let other = Keys::new(&sets::TOY, 23);
    let refused = [
        other.eval.look_up(&state, &table).unwrap_err(),
        other.eval.xor(&state, &state).unwrap_err(),
    ];
    for refused in refused {
        assert!(refused.to_string().contains("under key"), "{refused}");
    }
    // sums grow until no bootstrapping reads them
    let mut sum = state.clone();
    let refused = (0..64).find_map(|_| {
        sum = keys.eval.xor(&sum, &sum).unwrap();
        keys.eval.look_up(&sum, &table).err()
    });
    assert!(
        refused
            .unwrap()
            .to_string()
            .starts_with("the state has noise of")
    );
    let params = Params::new(&sets::NIBBLE_TOY).unwrap();
    let secret = SecretKey::generate(&params, &mut keys.rng).unwrap();
    let eval = EvalKey::generate(&secret, &mut keys.rng);
    let refused = eval.look_up(&state, &table).unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("states of set tfhe/nibble-toy"),
        "{refused}"
    );
}

/// What is looked up is a sum of two results at most, and then read wrongly hardly more often than in AES.
#[test]
fn sums_of_two_results_are_read_rightly() {
    for (set, most) in [
        (&sets::P64, -64.0),
        (&sets::P128, -128.0),
        (&sets::P64_BLOCKS, -64.0),
    ] {
        let params = Params::new(set).unwrap();
        let result = params.state_log2_sigma(1, 1);
        let found = params.log2_p_look_up(1.0 + result).unwrap();
        let alone = params.log2_p_look_up(result).unwrap();
        println!("{}: 2^{alone:.1}, of a sum 2^{found:.1}", set.name.as_str());
        assert!(alone < found && found < most);
    }
}
