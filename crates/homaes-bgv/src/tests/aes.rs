//! Every round of AES, in every layout, direction and key size, against the oracle.

use super::*;
use crate::aes::wrapped::before_inversion;
use homaes_aes::{KeySize, Layout};

/// A set, a layout, a direction and a key size to run.
type Case = (Layout, Direction, KeySize);

fn wrapping(layout: &'static [Layout], direction: Direction) -> WrapOptions<'static> {
    WrapOptions {
        direction,
        layouts: layout,
        levels_left: None,
    }
}

const fn layouts(layout: Layout) -> &'static [Layout] {
    match layout {
        Layout::Sliced => &[Layout::Sliced],
        Layout::Packed => &[Layout::Packed],
        Layout::Bits => &[Layout::Bits],
    }
}

/// What the state after round `round` decrypts to: the oracle's, or the argument of the next inversion.
fn expected((layout, dir, size): Case, round: usize, trace: &[Block]) -> Block {
    match (layout, dir) {
        _ if round == size.rounds() => trace[round],
        (Layout::Bits, _) => trace[round].map(|x| crate::aes::bits::folding().state(dir, x)),
        (_, Direction::Decrypt) => trace[round].map(before_inversion),
        (_, Direction::Encrypt) => trace[round],
    }
}

/// Blocks of a state of any slope.
fn blocks_of(f: &Fixture, state: &State) -> (Vec<Block>, f64) {
    let found = f.secret.decrypt_blocks(state).unwrap();
    (found.blocks.to_vec(), found.margin_bits)
}

/// Random blocks through `case`, every round decrypted and compared, noise below the carried bound.
pub(super) fn round_by_round(f: &mut Fixture, case: Case) {
    let (layout, dir, size) = case;
    let count = f.params.blocks_per_batch(layout);
    let keys = RoundKeys::expand(&random_bytes(&mut f.rng, size.key_bytes())).unwrap();
    let how = wrapping(layouts(layout), dir);
    let wrapped = WrappedKey::encrypt(&f.secret, &keys, how, &mut f.rng).unwrap();
    let blocks: Vec<Block> = (0..count)
        .map(|_| random_bytes(&mut f.rng, 16).try_into().unwrap())
        .collect();
    let traces: Vec<Vec<Block>> = blocks
        .iter()
        .map(|&b| clear::trace(dir, b, &keys))
        .collect();
    let aes = Aes::new(&f.eval, &wrapped, layout).unwrap();
    let mut rounds = 0;
    let mut observe = |round: usize, state: &State| {
        let (got, margin) = blocks_of(f, state);
        let want: Vec<Block> = traces.iter().map(|t| expected(case, round, t)).collect();
        assert!(
            got == want,
            "{case:?}: the state after round {round} differs"
        );
        assert!(margin > 2.0, "{case:?}, round {round}: {margin}");
        for c in state.ciphertexts.iter().take(2) {
            let (rms, largest) = f.secret.measure_noise(c);
            let close = (rms - c.noise().rms_log2).abs() < 1.5;
            assert!(
                close && largest <= c.noise_bits(),
                "{case:?}, round {round}: {rms}, {largest} for {c:?}"
            );
        }
        rounds += 1;
    };
    let run = homaes_scheme::RunOptions::new(&homaes_scheme::Cancel::new(), &mut observe);
    let out = aes.evaluate_with(&blocks, run).unwrap();
    assert_eq!(rounds, size.rounds() + 1);
    let (meter, rounds) = (aes.meter(), size.rounds() as u64);
    let passes = if layout == Layout::Bits {
        4 * rounds
    } else {
        0
    };
    assert_eq!(
        (meter.count("passes"), meter.count("relinearisations")),
        (passes, 72 * passes)
    );
    assert_eq!((out.level(), out.slope), (aes.output_level(), 0));
    assert!(out.capacity_bits(&f.params) > 4.0);
    let reference = |trace: &Vec<Block>| match dir {
        Direction::Encrypt => clear::encrypt_block(trace_input(trace, &keys, dir), &keys),
        Direction::Decrypt => clear::decrypt_block(trace_input(trace, &keys, dir), &keys),
    };
    assert_eq!(reference(&traces[0]), traces[0][size.rounds()]);
}

/// The block a trace began with.
fn trace_input(trace: &[Block], keys: &RoundKeys, dir: Direction) -> Block {
    let first = keys.schedule(dir).as_slice()[0];
    core::array::from_fn(|i| trace[0][i] ^ first[i])
}

fn every_case(f: &mut Fixture, layouts: &[Layout]) {
    for &layout in layouts {
        for dir in Direction::ALL {
            for size in KeySize::ALL {
                round_by_round(f, (layout, dir, size));
            }
        }
    }
}

/// `homaes`'s conformance suite has the other directions and key sizes; this one measures noise against the bounds.
#[test]
fn toy_255() {
    let mut f = fixture(Params::new(&sets::TOY_255).unwrap(), 1);
    for dir in Direction::ALL {
        round_by_round(&mut f, (Layout::Sliced, dir, KeySize::Aes128));
    }
    round_by_round(&mut f, (Layout::Bits, Direction::Encrypt, KeySize::Aes128));
}

#[test]
#[ignore = "nightly: every backend, and a minute of larger toys"]
fn nightly_every_case() {
    for backend in Backend::available() {
        let params = Params::with_backend(&sets::TOY_255, backend).unwrap();
        every_case(&mut fixture(params, 1), &[Layout::Sliced]);
    }
    let mut f = fixture(Params::new(&sets::TOY_255).unwrap(), 2);
    every_case(&mut f, &[Layout::Bits]);
    let mut f = fixture(Params::new(&sets::TOY_4369).unwrap(), 1);
    round_by_round(
        &mut f,
        (Layout::Sliced, Direction::Encrypt, KeySize::Aes128),
    );
    round_by_round(
        &mut f,
        (Layout::Sliced, Direction::Decrypt, KeySize::Aes256),
    );
    let mut f = fixture(Params::new(&sets::TOY_21845).unwrap(), 1);
    every_case(&mut f, &[Layout::Packed]);
}

/// The chain of `bgv/aes128` and its parts of keys in one digit, on a ring half as large.
#[test]
#[ignore = "nightly: the full size always runs, encrypting"]
fn nightly_packed_over_parts_in_one_digit() {
    let set = ParamSet {
        chain: sets::AES128.chain,
        ..sets::TOY_21845
    };
    let mut f = fixture(Params::new(&set).unwrap(), 3);
    round_by_round(
        &mut f,
        (Layout::Packed, Direction::Decrypt, KeySize::Aes128),
    );
}

fn full_size(set: &ParamSet, cases: &[Case]) {
    let mut f = fixture(Params::new(set).unwrap(), 1);
    for &case in cases {
        round_by_round(&mut f, case);
    }
}

#[test]
fn packed_aes_128_at_full_size() {
    full_size(
        &sets::AES128,
        &[(Layout::Packed, Direction::Encrypt, KeySize::Aes128)],
    );
}

#[test]
#[ignore = "nightly: a minute"]
fn nightly_sliced_aes_128_at_full_size() {
    full_size(
        &sets::AES128,
        &[(Layout::Sliced, Direction::Encrypt, KeySize::Aes128)],
    );
}

/// The third implementation of GHS12: 2048 blocks, every round compared. 16 GB of memory.
#[test]
#[ignore = "nightly: four minutes"]
fn nightly_bit_sliced_aes_128_at_full_size() {
    full_size(
        &sets::BITS128,
        &[(Layout::Bits, Direction::Encrypt, KeySize::Aes128)],
    );
}

#[test]
#[ignore = "nightly: two minutes"]
fn nightly_aes_256_at_full_size() {
    let cases = [
        (Layout::Packed, Direction::Decrypt, KeySize::Aes256),
        (Layout::Sliced, Direction::Encrypt, KeySize::Aes256),
    ];
    full_size(&sets::AES256, &cases);
}

#[test]
#[ignore = "nightly: four minutes"]
fn nightly_every_secure_set_at_full_size() {
    let packed = |size| Direction::ALL.map(|dir| (Layout::Packed, dir, size));
    for (set, size) in [
        (&sets::AES128_8, KeySize::Aes128),
        (&sets::AES192, KeySize::Aes192),
        (&sets::AES192_5, KeySize::Aes192),
        (&sets::AES256_2, KeySize::Aes256),
    ] {
        full_size(set, &packed(size));
    }
}

/// The bytes of the first rounds that batches of a counter run have in common are computed once, and the results are those of a run of its own, bit for bit.
#[test]
fn batches_of_a_counter_run_share_their_first_rounds() {
    let mut f = toy(31);
    let keys = RoundKeys::expand(&random_bytes(&mut f.rng, 16)).unwrap();
    let how = wrapping(layouts(Layout::Sliced), Direction::Encrypt);
    let wrapped = WrappedKey::encrypt(&f.secret, &keys, how, &mut f.rng).unwrap();
    let count = f.params.blocks_per_batch(Layout::Sliced);
    let aes = || Aes::new(&f.eval, &wrapped, Layout::Sliced).unwrap();
    let counter = |nonce: u8, start: u32| -> Vec<Block> {
        let block = |i: u32| -> Block {
            let mut block = [nonce; 16];
            block[12..].copy_from_slice(&(start + i).to_be_bytes());
            block
        };
        (0..count as u32).map(block).collect()
    };
    let random = (0..count).map(|_| random_bytes(&mut f.rng, 16).try_into().unwrap());
    let random: Vec<Block> = random.collect();
    let after = counter(7, 0x0102_0400 + count as u32);
    let batches = [
        (counter(7, 0x0102_0400), 1.0),
        (after.clone(), 0.75),
        (random, 1.0),
        // the same bytes as two batches before
        (after.clone(), 0.7),
        (after[1..].to_vec(), 1.0),
        (counter(7, 0x0102_0400), 1.0),
        // other bytes 0 to 11
        (counter(8, 0x0102_0400), 0.98),
        (counter(8, 0x0102_0400), 0.7),
    ];
    let shared = aes();
    let mut before = 0;
    for (number, (blocks, share)) in batches.into_iter().enumerate() {
        let alone = aes();
        let want = alone.evaluate(&blocks).unwrap();
        let found = shared.evaluate(&blocks).unwrap();
        let bytes = [&want, &found].map(|state| encode_batch(&f.params, state).unwrap());
        assert!(bytes[0] == bytes[1], "batch {number}");
        let transforms = shared.meter().count("transforms") - before;
        before += transforms;
        let all = alone.meter().count("transforms");
        let expected = share * all as f64;
        assert!(
            transforms as f64 <= expected,
            "batch {number}: {transforms} of {all}"
        );
        assert!(
            share < 1.0 || transforms == all,
            "batch {number}: {transforms} of {all}"
        );
    }
}
