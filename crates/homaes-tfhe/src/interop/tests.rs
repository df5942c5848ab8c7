use super::*;
use crate::{Aes, ParamSet, Variant, WrapOptions, WrappedKey, sets};
use homaes_aes::RoundKeys;
use homaes_aes::clear::encrypt_block;
use homaes_aes::state::{Block, xor};
use homaes_scheme::{Cancel, Mismatch, Owner};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::sync::OnceLock;
use std::time::Instant;
use tfhe::prelude::{FheDecrypt, FheMax};
use tfhe::shortint::parameters::v1_8::V1_8_PARAM_MESSAGE_1_CARRY_1_KS_PBS_TUNIFORM_2M128;
use tfhe::{ConfigBuilder, generate_keys, set_server_key};

/// Keys of the default parameters of `tfhe`, generated once.
fn user() -> &'static (ClientKey, ServerKey) {
    static KEYS: OnceLock<(ClientKey, ServerKey)> = OnceLock::new();
    KEYS.get_or_init(|| generate_keys(ConfigBuilder::default().build()))
}

/// Keys of a set from a fixed seed, and an export key to [`user`].
struct Fixture {
    secret: SecretKey,
    eval: EvalKey,
    export: ExportKey,
    rng: ChaCha20Rng,
}

impl Fixture {
    fn new(set: &ParamSet, seed: u8) -> Self {
        let mut rng = ChaCha20Rng::from_seed([seed; 32]);
        let params = Params::new(set).unwrap();
        let secret = SecretKey::generate(&params, &mut rng).unwrap();
        let eval = EvalKey::generate(&secret, &mut rng);
        let export = ExportKey::generate(&secret, &user().0, &mut rng).unwrap();
        Self {
            secret,
            eval,
            export,
            rng,
        }
    }

    fn state(&self, log2_sigma: f64) -> State {
        State {
            lwes: Words::zeroed(self.secret.params().state_words(1)),
            blocks: 1,
            log2_sigma,
            owner: Owner::new(self.secret.params().id(), None),
            finished: true,
        }
    }

    fn convert(&self, state: &State, server_key: &ServerKey) -> Result<Vec<FheUint8>> {
        self.eval.to_fheuint8(state, &self.export, server_key)
    }
}

/// The noise of the blocks of an encryption of `byte`.
fn errors(value: &FheUint8, byte: u8) -> Vec<f64> {
    let integer: &tfhe::integer::ClientKey = user().0.as_ref();
    let shortint: &tfhe::shortint::ClientKey = integer.as_ref();
    let (key, _) = shortint.encryption_key_and_noise();
    let (radix, ..) = value.clone().into_raw_parts();
    let blocks = radix.blocks().iter().enumerate();
    blocks
        .map(|(i, block)| {
            let (mask, body) = block.ct.as_ref().split_at(DEGREE);
            let products = mask.iter().zip(key.as_ref());
            let phase = products.fold(body[0], |phase, (a, z)| {
                phase.wrapping_sub(a.wrapping_mul(*z))
            });
            let message = u64::from(byte >> (2 * i) & 3) << 59;
            phase.wrapping_sub(message) as i64 as f64 * 2f64.powi(-64)
        })
        .collect()
}

/// AES in counter mode, conversion to values of `tfhe`, and a computation on these.
fn aes_to_fheuint8(set: &ParamSet, count: usize) {
    let mut keys = Fixture::new(set, 5);
    let (client, server) = user();
    let round_keys = RoundKeys::expand(&[0x2b; 16]).unwrap();
    let wrapping = WrapOptions::default();
    let wrapped = WrappedKey::encrypt(&keys.secret, &round_keys, wrapping, &mut keys.rng).unwrap();
    let aes = Aes::new(&keys.eval, &wrapped).unwrap();
    let counters: Vec<Block> = (0..count).map(|i| [i as u8; 16]).collect();
    let text: Vec<Block> = (0..count).map(|i| [0x35 ^ i as u8; 16]).collect();
    let mut state = aes.evaluate(&counters).unwrap();
    aes.xor_public(&mut state, &text, &Cancel::new()).unwrap();
    let start = Instant::now();
    let values = keys.convert(&state, server).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(values.len(), 16 * count);
    println!(
        "{:.2} ms per byte on {} threads",
        seconds * 1e3 / values.len() as f64,
        rayon::current_num_threads()
    );
    let want = counters.iter().zip(&text);
    let want = want.flat_map(|(&block, text)| xor(&encrypt_block(block, &round_keys), text));
    let want: Vec<u8> = want.collect();
    for (value, &want) in values.iter().zip(&want) {
        let found: u8 = value.decrypt(client);
        assert_eq!(found, want);
    }
    let errors = values.iter().zip(&want).flat_map(|(v, &b)| errors(v, b));
    let squares: Vec<f64> = errors.map(|e| e * e).collect();
    let found = log2_sigma(squares.iter().sum::<f64>() / squares.len() as f64);
    let Variant::Bits(bits) = &set.variant else {
        unreachable!()
    };
    let model = log2_sigma(2.0 * rotation(bits).total() + keys.export.variance());
    let switch = log2_sigma(keys.export.variance());
    println!("blocks: 2^{found:.2}, by the model 2^{model:.2}, of which the switch 2^{switch:.2}");
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

#[test]
fn other_parameters_of_tfhe_are_refused() {
    let mut keys = Fixture::new(&sets::TOY, 6);
    let parameters = V1_8_PARAM_MESSAGE_1_CARRY_1_KS_PBS_TUNIFORM_2M128;
    let config = ConfigBuilder::with_custom_parameters(parameters).build();
    let (client, server) = generate_keys(config);
    let made = ExportKey::generate(&keys.secret, &client, &mut keys.rng);
    let converted = keys.convert(&keys.state(-20.0), &server);
    for error in [made.err().unwrap(), converted.err().unwrap()] {
        let text = error.to_string();
        assert!(
            text.starts_with("message modulus of the tfhe key is 2, expected 4"),
            "{text}"
        );
    }
}

#[test]
fn other_keys_are_refused() {
    let keys = Fixture::new(&sets::TOY, 7);
    // the noise that cards state for export keys
    assert!((keys.export.sigma.log2() - crate::card::EXPORT_LOG2_SIGMA).abs() < 0.01);
    let server = &user().1;
    let other = Fixture::new(&sets::TOY, 8);
    let state = keys.state(-20.0);
    assert!(keys.convert(&state, server).is_ok());
    let found = keys.eval.to_fheuint8(&state, &other.export, server);
    assert!(matches!(
        found,
        Err(Error::Mismatch(Mismatch::OtherKey { .. }))
    ));
    let mut cut = state.clone();
    cut.blocks = 2;
    assert!(keys.convert(&cut, server).is_err());
}

#[test]
fn digits_are_refused() {
    let keys = Fixture::new(&sets::TOY, 11);
    let mut rng = ChaCha20Rng::from_seed([12; 32]);
    let params = Params::new(&sets::NIBBLE_TOY).unwrap();
    let secret = SecretKey::generate(&params, &mut rng).unwrap();
    let eval = EvalKey::generate(&secret, &mut rng);
    let state = State {
        lwes: Words::zeroed(params.state_words(1)),
        blocks: 1,
        log2_sigma: -20.0,
        owner: Owner::new(params.id(), None),
        finished: true,
    };
    let (client, server) = user();
    let made = ExportKey::generate(&secret, client, &mut rng).map(|_| ());
    let converted = eval.to_fheuint8(&state, &keys.export, server).map(|_| ());
    for found in [made, converted] {
        let text = found.unwrap_err().to_string();
        assert!(text.starts_with("states of set tfhe/nibble-toy"), "{text}");
    }
}

#[test]
fn noise_is_refused() {
    let keys = Fixture::new(&sets::TOY, 9);
    let server = &user().1;
    let found = keys.convert(&keys.state(-3.0), server);
    assert!(matches!(found, Err(Error::Unreliable { .. })));
    // so noisy that blind rotation alone exceeds the nominal noise of tfhe
    let Variant::Bits(bits) = &sets::TOY.variant else {
        unreachable!()
    };
    let noisy = ParamSet {
        variant: Variant::Bits(BitsSet {
            glwe_log2_sigma: -38.0,
            ..bits.clone()
        }),
        ..sets::TOY
    };
    let keys = Fixture::new(&noisy, 10);
    let found = keys.convert(&keys.state(-20.0), server);
    let Err(Error::TooNoisy { what, .. }) = found else {
        unreachable!("{:?}", found.err())
    };
    assert_eq!(what, "a block for tfhe");
}
