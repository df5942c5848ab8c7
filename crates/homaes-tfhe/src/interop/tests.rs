use super::*;
use crate::tests::trial::{torus_of, variance};
use crate::tests::{Keys, bits, changed};
use crate::{Aes, ParamSet, WrapOptions, sets};
use homaes_aes::clear::encrypt_block;
use homaes_aes::state::{Block, xor};
use homaes_scheme::{Cancel, Owner};
use std::sync::OnceLock;
use tfhe::prelude::{FheDecrypt, FheMax};
use tfhe::shortint::parameters::v1_8::V1_8_PARAM_MESSAGE_1_CARRY_1_KS_PBS_TUNIFORM_2M128;
use tfhe::{ConfigBuilder, generate_keys, set_server_key};

/// Keys of the default parameters of `tfhe`, generated once.
fn user() -> &'static (ClientKey, ServerKey) {
    static KEYS: OnceLock<(ClientKey, ServerKey)> = OnceLock::new();
    KEYS.get_or_init(|| generate_keys(ConfigBuilder::default().build()))
}

/// Keys of a set, and an export key to [`user`].
fn exported(set: &ParamSet, seed: u8) -> (Keys, ExportKey) {
    let mut keys = Keys::new(set, seed);
    let export = ExportKey::generate(&keys.secret, &user().0, &mut keys.rng);
    (keys, export.unwrap())
}

fn state(set: &ParamSet, log2_sigma: f64) -> State {
    let params = Params::new(set).unwrap();
    State {
        lwes: Words::zeroed(params.state_words(1)),
        blocks: 1,
        log2_sigma,
        owner: Owner::new(params.id(), None),
        finished: true,
        mask_form: MaskForm::Any,
    }
}

/// The noise of the blocks of an encryption of `byte`.
fn errors(key: &[u64], value: &FheUint8, byte: u8) -> Vec<f64> {
    let (radix, ..) = value.clone().into_raw_parts();
    let blocks = radix.blocks().iter().enumerate();
    let error = |(i, block): (usize, &Ciphertext)| {
        let phase = Lwe::<Big>::from_words(block.ct.as_ref()).phase(key);
        torus_of(phase.wrapping_sub(u64::from(byte >> (2 * i) & 3) << 59))
    };
    blocks.map(error).collect()
}

/// AES in counter mode, conversion to values of `tfhe`, and a computation on these.
fn aes_to_fheuint8(set: &ParamSet, count: usize) {
    let (mut keys, export) = exported(set, 5);
    let (client, server) = user();
    let (round_keys, wrapped) = keys.wrap(&[0x2b; 16], WrapOptions::default());
    let aes = Aes::new(&keys.eval, &wrapped).unwrap();
    let counters: Vec<Block> = (0..count).map(|i| [i as u8; 16]).collect();
    let text: Vec<Block> = (0..count).map(|i| [0x35 ^ i as u8; 16]).collect();
    let mut state = aes.evaluate(&counters).unwrap();
    aes.xor_public(&mut state, &text, &Cancel::new()).unwrap();
    let values = keys.eval.to_fheuint8(&state, &export, server).unwrap();
    let want = counters.iter().zip(&text);
    let want = want.flat_map(|(&block, text)| xor(&encrypt_block(block, &round_keys), text));
    let want: Vec<u8> = want.collect();
    let found: Vec<u8> = values.iter().map(|value| value.decrypt(client)).collect();
    assert_eq!(found, want);
    let (key, _) = key_bits(client).unwrap();
    let pairs = values.iter().zip(&want);
    let errors: Vec<f64> = pairs.flat_map(|(v, &b)| errors(&key, v, b)).collect();
    let found = log2_sigma(variance(&errors));
    let rotated = rotation(bits(set)).total();
    let model = log2_sigma(2.0 * rotated + export.variance());
    println!("blocks: 2^{found:.2}, by the model 2^{model:.2}");
    assert!(found < model + 0.5 && found > model - 3.0);
    // values work in tfhe
    set_server_key(server.clone());
    let (a, b) = (&values[0], &values[1]);
    let max: u8 = a.max(b).decrypt(client);
    assert_eq!(max, want[0].max(want[1]));
    let sum: u8 = (a + b).decrypt(client);
    assert_eq!(sum, want[0].wrapping_add(want[1]));
    let word: u16 = join_be(a.clone(), b.clone()).decrypt(client);
    assert_eq!(word, u16::from_be_bytes([want[0], want[1]]));
}

#[test]
fn toy_states_become_values() {
    aes_to_fheuint8(&sets::TOY, 3);
    aes_to_fheuint8(&sets::TOY_BLOCKS, 2);
}

#[test]
#[ignore = "nightly: full size: half a minute"]
fn nightly_full_size_states_become_values() {
    aes_to_fheuint8(&sets::P64, 2);
    aes_to_fheuint8(&sets::P64_BLOCKS, 2);
}

fn refused<T>(found: Result<T>, start: &str) {
    let error = found.err().unwrap().to_string();
    assert!(error.starts_with(start), "{error}");
}

#[test]
fn unfit_operands_are_refused() {
    let (mut keys, export) = exported(&sets::TOY, 6);
    let (user, server) = user();
    let to = |keys: &Keys, state: &State| keys.eval.to_fheuint8(state, &export, server);
    let fit = state(&sets::TOY, -20.0);
    assert!(to(&keys, &fit).is_ok());
    // the noise that cards state for export keys
    assert!((export.sigma.log2() - crate::card::EXPORT_LOG2_SIGMA).abs() < 0.01);
    let noisy = to(&keys, &state(&sets::TOY, -3.0));
    assert!(matches!(noisy, Err(Error::Unreliable { .. })));
    // parameters of tfhe
    let parameters = V1_8_PARAM_MESSAGE_1_CARRY_1_KS_PBS_TUNIFORM_2M128;
    let config = ConfigBuilder::with_custom_parameters(parameters).build();
    let (client, small) = generate_keys(config);
    let start = "message modulus of the tfhe key is 2, expected 4";
    refused(
        ExportKey::generate(&keys.secret, &client, &mut keys.rng),
        start,
    );
    refused(keys.eval.to_fheuint8(&fit, &export, &small), start);
    // digits
    let mut digits = Keys::new(&sets::NIBBLE_TOY, 12);
    let start = "states of set tfhe/nibble-toy";
    refused(
        ExportKey::generate(&digits.secret, user, &mut digits.rng),
        start,
    );
    refused(to(&digits, &state(&sets::NIBBLE_TOY, -20.0)), start);
    // another key
    let (_, other) = exported(&sets::TOY, 8);
    let found = keys.eval.to_fheuint8(&fit, &other, server);
    refused(found, "the export key was made under key");
    let cut = State { blocks: 2, ..fit };
    assert!(to(&keys, &cut).is_err());
    // so noisy that blind rotation alone exceeds the nominal noise of tfhe
    let noisy = changed(&sets::TOY, |set| set.glwe_log2_sigma = -38.0, |_| ());
    let (keys, export) = exported(&noisy, 10);
    let found = keys
        .eval
        .to_fheuint8(&state(&noisy, -20.0), &export, server);
    refused(found, "a block for tfhe has noise of");
}
