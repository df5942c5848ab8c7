//! The block calls of the NIST AESAVS files and of SP 800-38A, in every layout. Every slot has its own key, so a batch
//! holds as many vectors as blocks.

use super::*;
use crate::aes::level_plan::LevelPlan;
use crate::aes::wrapped::{Form, PartFile, wrapped_schedule};
use homaes_aes::{KeySize, Layout};
use rayon::prelude::*;

#[path = "../../../homaes-aes/tests/vectors/mod.rs"]
mod nist;

use nist::{KeyedCall as Call, block_calls};

/// A wrapped key with the key of call b for block b.
fn wrap(f: &Fixture, plan: LevelPlan, direction: Direction, calls: &[Call]) -> WrappedKey {
    let schedules = calls.iter().map(|c| {
        let keys = RoundKeys::expand(&c.0).unwrap();
        let schedule = keys.schedule(direction);
        wrapped_schedule(&schedule, plan.layout)
    });
    let mut rng = ChaCha20Rng::from_seed([calls.len() as u8; 32]);
    let part = PartFile::new(plan, schedules.collect(), &mut rng);
    WrappedKey {
        params: f.params.clone(),
        id: f.secret.id(),
        size: plan.size,
        direction,
        form: Form::Full(vec![part.all(&f.secret, direction).into()]),
    }
}

/// Runs every `step`-th call of each direction and key size.
fn vectors(set: &ParamSet, layout: Layout, step: usize) {
    let f = fixture(set, 11);
    let mut count = 0;
    for direction in Direction::ALL {
        for size in KeySize::ALL {
            let plan = LevelPlan::new(&f.params, layout, size, Some(0)).unwrap();
            let calls: Vec<Call> = block_calls(direction, size.key_bytes())
                .into_iter()
                .step_by(step)
                .collect();
            count += calls.len();
            calls
                .par_chunks(f.params.blocks_per_batch(layout))
                .for_each(|calls| {
                    let wrapped = wrap(&f, plan, direction, calls);
                    let inputs: Vec<Block> = calls.iter().map(|c| c.1).collect();
                    let state = f.aes(&wrapped, layout).evaluate(&inputs).unwrap();
                    let got = f.secret.decrypt_blocks(&state).unwrap().blocks;
                    for (call, got) in calls.iter().zip(got.iter()) {
                        assert_eq!(*got, call.2, "{direction:?} {layout} {call:?}");
                    }
                });
        }
    }
    assert!(count * step > 2000, "{count} calls");
}

#[test]
fn sliced() {
    vectors(&sets::TOY_255, Layout::Sliced, 16);
}

#[test]
fn bits() {
    vectors(&sets::TOY_255, Layout::Bits, 64);
}

/// Every `step`-th call under a key of 128 bits, with key schedules on the server.
fn vectors_under_many_keys(step: usize) {
    let mut f = toy(12);
    let calls: Vec<Call> = block_calls(Direction::Encrypt, 16)
        .into_iter()
        .step_by(step)
        .collect();
    for calls in calls.chunks(f.params.blocks_per_batch(Layout::Sliced)) {
        let keys = calls.iter().map(|c| RoundKeys::expand(&c.0).unwrap());
        let wrapped = many::wrap(&mut f, &keys.collect::<Vec<_>>());
        let inputs: Vec<Block> = calls.iter().map(|c| c.1).collect();
        let state = f.aes(&wrapped, Layout::Sliced).evaluate(&inputs).unwrap();
        let got = f.secret.decrypt_blocks(&state).unwrap().blocks;
        for (call, got) in calls.iter().zip(got.iter()) {
            assert_eq!(*got, call.2, "{call:?}");
        }
    }
    assert!(calls.len() * step > 300, "{} calls", calls.len());
}

#[test]
fn under_many_keys() {
    vectors_under_many_keys(8);
}

#[test]
#[ignore = "nightly: a minute"]
fn nightly_every_vector() {
    vectors_under_many_keys(1);
    vectors(&sets::TOY_255, Layout::Sliced, 1);
    vectors(&sets::TOY_255, Layout::Bits, 1);
    // the full ring is faster: the toy ring with this layout has no vector kernels
    vectors(&sets::AES256, Layout::Packed, 1);
}
