//! Look-ups and sums of states.

use super::Keys;
use crate::programs::log2_sigma_of_sum;
use crate::state::MaskForm;
use crate::{Error, ParamSet, Params, State, decode_batch, encode_batch, sets};
use homaes_aes::state::xor;
use homaes_aes::{Block, Layout};
use homaes_math::{Words, torus};
use homaes_scheme::Owner;
use homaes_wire::KeyId;
use rand_core::Rng;

/// Random blocks with the noise of an AES result, and the same blocks in the clear.
fn fresh(keys: &mut Keys, blocks: usize) -> (State, Vec<Block>) {
    let (params, key) = (keys.secret.params(), keys.secret.glwe());
    let log2_sigma = params.state_log2_sigma(1, 1);
    let mut clear = vec![[0; 16]; blocks];
    keys.rng.fill_bytes(clear.as_flattened_mut());
    let bits = clear.as_flattened().iter();
    let bits = bits.flat_map(|&byte| (0..8).map(move |i| u64::from(byte >> i) << 63));
    let mut lwes = Words::zeroed(params.state_words(blocks));
    for (lwe, bit) in lwes.chunks_exact_mut(key.len() + 1).zip(bits) {
        let (mask, body) = lwe.split_at_mut(key.len());
        mask.fill_with(|| keys.rng.next_u64());
        let products = mask.iter().zip(key).map(|(a, s)| a.wrapping_mul(*s));
        body[0] = products.fold(bit, u64::wrapping_add);
        torus::add_gaussian(&mut keys.rng, log2_sigma.exp2(), body);
    }
    let state = State::from_lwes(params, keys.secret.id(), lwes, log2_sigma);
    (state.unwrap(), clear)
}

/// Whether a call was refused because it could misread bits.
fn unreliable<T>(found: crate::Result<T>) -> bool {
    matches!(found, Err(Error::Unreliable { .. }))
}

#[test]
fn invalid_operands_are_refused() {
    let mut keys = Keys::new(&sets::TOY, 22);
    let [(state, _), (two, _)] = [1, 2].map(|blocks| fresh(&mut keys, blocks));
    let [other, digits] = [&sets::TOY, &sets::NIBBLE_TOY].map(|set| Keys::new(set, 23));
    let (table, on_digits) = ([0; 256], "states of set tfhe/nibble-toy");
    for (found, want) in [
        (keys.eval.xor(&state, &two), "2 blocks, expected 1"),
        (other.eval.look_up(&state, &table), "under key"),
        (other.eval.xor(&state, &state), "under key"),
        (digits.eval.look_up(&state, &table), on_digits),
        (digits.eval.xor(&state, &state), on_digits),
    ] {
        let refused = found.unwrap_err().to_string();
        assert!(refused.contains(want), "{refused}");
    }
    // sums grow until they are unreadable
    let grown = (0..64).try_fold(state, |sum, _| keys.eval.xor(&sum, &sum));
    assert!(unreliable(grown));
}

/// Full batches of results can be encoded and decoded, and look-ups accept sums of two.
#[test]
fn results_of_every_set_pass() {
    for set in sets::ALL {
        let params = Params::new(set).unwrap();
        let (blocks, result) = (params.blocks_per_batch(), params.state_log2_sigma(1, 1));
        assert!(params.check_decryption(blocks, result).is_ok());
        let read = params.check_look_up(blocks, 1.0 + result, false);
        assert_eq!(read.is_ok(), params.bits().is_ok(), "{:?}", set.name);
        let misread = |log2_sigma| params.log2_p_look_up(log2_sigma, false);
        assert!(misread(result) < misread(1.0 + result) || params.bits().is_err());
    }
    // sums of two records too
    for set in [&sets::P64, &sets::P128, &sets::P64_BLOCKS, &sets::TOY] {
        let params = Params::new(set).unwrap();
        let record = |masks: u64| {
            let mut lwes = Words::zeroed(params.state_words(1));
            lwes.fill(masks);
            State {
                lwes,
                blocks: 1,
                log2_sigma: params.result_log2_sigma(params.state_log2_sigma(1, 1)),
                owner: Owner::new(params.id(), None),
                finished: true,
                mask_form: MaskForm::Packed,
            }
        };
        let [a, b] = [0, 1].map(record);
        let sum = log2_sigma_of_sum(&params, &a, &b);
        assert!(
            params.check_look_up(32, sum, true).is_ok(),
            "{:?}",
            set.name
        );
        // with the same masks, errors from rounding are the same
        let twice = log2_sigma_of_sum(&params, &a, &a);
        assert!((twice - a.log2_sigma - 1.0).abs() < 1e-9 && twice > sum);
    }
    // hardly more often than AES misreads its state
    let params = Params::new(&sets::P128).unwrap();
    let found = params.log2_p_look_up(1.0 + params.state_log2_sigma(1, 1), false);
    assert!(found.unwrap() < -128.0, "{found:?}");
}

/// Every step of random programs, and its record, is right or refused. Most operands are dependent.
#[test]
fn random_programs_are_right_or_refused() {
    // sums, look-ups: right, refused
    let mut outcomes = [[0; 2]; 2];
    for (set, seed) in [(&sets::TOY, 24), (&sets::TOY_BLOCKS, 25)] {
        let mut keys = Keys::new(set, seed);
        let params = keys.secret.params().clone();
        for _ in 0..200 {
            let mut states = vec![fresh(&mut keys, 1), fresh(&mut keys, 1)];
            for _ in 0..12 {
                let mut late =
                    || states.len() - 1 - keys.rng.next_u32() as usize % states.len().min(4);
                let [(a, a_clear), (b, b_clear)] = [late(), late()].map(|i| &states[i]);
                let look_up = keys.rng.next_u32().is_multiple_of(8);
                let (found, want) = if look_up {
                    let mut table = [0; 256];
                    keys.rng.fill_bytes(&mut table);
                    let want = a_clear[0].map(|x| table[usize::from(x)]);
                    (keys.eval.look_up(a, &table), want)
                } else {
                    (keys.eval.xor(a, b), xor(&a_clear[0], &b_clear[0]))
                };
                let right = found.is_ok();
                outcomes[usize::from(look_up)][usize::from(!right)] += 1;
                match found {
                    Ok(state) => {
                        let record = encode_batch(&params, &state).unwrap();
                        let read = decode_batch(&params, None, 1, &record).unwrap();
                        let packed = keys.eval.pack(&state);
                        let packed = packed.map(|r| decode_batch(&params, None, 1, &r).unwrap());
                        assert!(matches!(packed, Ok(_) | Err(Error::Unreliable { .. })));
                        for state in [&state, &read].into_iter().chain(&packed) {
                            assert!(state.failure_log2(&params) <= -64.0, "{state:?}");
                            let blocks = keys.secret.decrypt_blocks(state).unwrap().blocks;
                            assert_eq!(blocks[..], [want], "{state:?}");
                            let noise = keys.secret.measure_noise(state).unwrap();
                            assert!(noise < state.noise_bits() + 0.5, "{noise} {state:?}");
                        }
                        let packed = packed
                            .ok()
                            .filter(|_| keys.rng.next_u32().is_multiple_of(8));
                        states.push((packed.unwrap_or(state), vec![want]));
                    }
                    refused => assert!(unreliable(refused)),
                }
            }
        }
    }
    let all = outcomes.as_flattened().iter();
    assert!(all.copied().all(|count| count > 3), "{outcomes:?}");
}

#[test]
fn states_that_may_decrypt_wrongly_are_refused_everywhere() {
    for set in [&sets::TOY, &sets::NIBBLE_TOY] {
        let params = Params::new(set).unwrap();
        let id = KeyId([7; 16]);
        let state = |log2_sigma| State {
            lwes: Words::zeroed(params.state_words(2)),
            blocks: 2,
            log2_sigma,
            owner: Owner::new(params.id(), Some(id)),
            finished: true,
            mask_form: MaskForm::Any,
        };
        // ten, then nine standard deviations below the distance at which a digit changes
        let distance = f64::from(params.digit_shift()) - 65.0;
        let [quiet, noisy] = [10.0, 9.0].map(|deviations| distance - f64::log2(deviations));
        let good = encode_batch(&params, &state(quiet)).unwrap();
        assert!(decode_batch(&params, None, 2, &good).is_ok());
        assert!(unreliable(encode_batch(&params, &state(noisy))));
        let mut bad = good.clone();
        bad[..8].copy_from_slice(&noisy.to_le_bytes());
        assert!(unreliable(decode_batch(&params, None, 2, &bad)));
        if params.layouts() == [Layout::Bits] {
            let from = |noise| State::from_lwes(&params, id, state(0.0).lwes, noise);
            assert!(from(quiet).is_ok());
            for noise in [noisy, f64::INFINITY, f64::NAN] {
                assert!(unreliable(from(noise)), "{noise}");
            }
        }
        let failure = |blocks| {
            let state = state(quiet);
            State { blocks, ..state }.failure_log2(&params)
        };
        assert!((failure(32) - failure(1) - 5.0).abs() < 1e-9);
        // the rounding of records to 32 bits counts
        let exact = encode_batch(&params, &state(-64.0)).unwrap();
        let read = decode_batch(&params, None, 2, &exact).unwrap();
        let words = params.big_dimension() as f64 + 1.0;
        let rounding = 32.0 + 0.5 * (words / 12.0).log2();
        assert!((read.noise_bits() - rounding).abs() < 0.01);
    }
}

/// Records of results are opened, summed and looked up.
fn records_go_on(set: &ParamSet, blocks: usize) {
    let mut keys = Keys::new(set, 27);
    let params = keys.secret.params().clone();
    let both = [(); 2].map(|()| {
        let (state, clear) = fresh(&mut keys, blocks);
        let record = keys.eval.pack(&state).unwrap();
        let read = decode_batch(&params, Some(keys.secret.id()), blocks, &record).unwrap();
        let found = keys.secret.decrypt_blocks(&read).unwrap();
        assert_eq!(found.blocks[..], clear);
        let noise = keys.secret.measure_noise(&read).unwrap();
        assert!((noise - read.noise_bits()).abs() < 0.2, "{noise} {read:?}");
        (read, clear)
    });
    let [(a, a_clear), (b, b_clear)] = &both;
    let sum = keys.eval.xor(a, b).unwrap();
    let table: [u8; 256] = core::array::from_fn(|x| (x * 7 + 3) as u8);
    let found = keys.eval.look_up(&sum, &table).unwrap();
    let found = keys.secret.decrypt_blocks(&found).unwrap();
    let want = a_clear.iter().zip(b_clear);
    let want: Vec<Block> = want
        .map(|(a, b)| xor(a, b).map(|x| table[usize::from(x)]))
        .collect();
    assert_eq!(found.blocks[..], want);
    let noise = keys.secret.measure_noise(&sum).unwrap();
    assert!(noise < sum.noise_bits(), "{noise} {sum:?}");
}

#[test]
fn records_are_programs_input() {
    for blocks in [1, 2, 5] {
        records_go_on(&sets::TOY, blocks);
    }
    records_go_on(&sets::TOY_BLOCKS, 3);
}

#[test]
#[ignore = "nightly: full size, half a minute"]
fn nightly_records_are_programs_input_at_full_size() {
    records_go_on(&sets::P64, 9);
    records_go_on(&sets::P64_BLOCKS, 3);
}

/// x_(t+1) = x_t + x_(t-1): standard deviations are 1, 1, 2, 3, 5 times that of a result.
#[test]
fn sums_of_sums_are_refused_at_full_size() {
    let mut keys = Keys::new(&sets::P64, 26);
    let params = keys.secret.params().clone();
    let [mut last, mut sum] = [fresh(&mut keys, 2), fresh(&mut keys, 2)];
    for _ in 0..2 {
        let state = keys.eval.xor(&last.0, &sum.0).unwrap();
        let clear = last.1.iter().zip(&sum.1).map(|(a, b)| xor(a, b));
        (last, sum) = (sum.clone(), (state, clear.collect()));
        let found = keys.secret.decrypt_blocks(&sum.0).unwrap();
        assert_eq!(found.blocks[..], sum.1);
    }
    assert!(unreliable(keys.eval.xor(&last.0, &sum.0)));
    assert!(sum.0.failure_log2(&params) < -64.0);
    // readable, but not by a bootstrap
    assert!(unreliable(keys.eval.look_up(&sum.0, &[0; 256])));
}
