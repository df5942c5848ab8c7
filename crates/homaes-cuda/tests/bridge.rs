//! What crosses a bridge on the GPU equals what crosses on the processor bit for bit.

use crate::aes::{BOTH, blocks, gpu};
use homaes_aes::{Layout, RoundKeys};
use homaes_bgv::{
    Aes, EvalKey, LIFT_LEVEL, OnGpu, ParamSet, Params, SecretKey, WrapOptions, WrappedKey, sets,
};
use homaes_bridge::{BridgeKey, Numbers, Other, SlotsToLwe, Target};
use homaes_cuda::Arithmetic;
use homaes_scheme::{Gpu, Gpus, RunOptions};
use homaes_wire::KeyId;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::sync::Arc;
use std::time::Instant;

/// Bits, and pairs in both forms, of `bytes` bytes of AES in this layout.
fn across(set: &ParamSet, layouts: &'static [Layout], bytes: usize, arithmetics: &[Arithmetic]) {
    let params = Params::new(set).unwrap();
    let mut rng = ChaCha20Rng::from_seed([3; 32]);
    let bits = (0..params.ring().n() / 16).map(|_| u64::from(rng.next_u32() & 1));
    let bits: Vec<u64> = bits.collect();
    // until a secret key fits
    let (secret, bridge) = loop {
        let secret = SecretKey::generate(&params, &mut rng).unwrap();
        let (id, tag) = (KeyId([9; 16]), Vec::new());
        let other = Other::User { pattern: 0, tag };
        if let Ok(bridge) = BridgeKey::generate(&secret, &bits, Target { id, other }, &mut rng) {
            break (secret, bridge);
        }
    };
    let eval = EvalKey::generate(&secret, &mut rng);
    let how = WrapOptions {
        layouts,
        // results of K first come down to where a crossing begins
        levels_left: Some(set.cipher.map_or(LIFT_LEVEL - 1, |_| 8)),
        ..WrapOptions::default()
    };
    let keys = RoundKeys::expand(&[0x2b; 16]).unwrap();
    let wrapped = WrappedKey::encrypt(&secret, &keys, how, &mut rng).unwrap();
    let aes = Aes::new(&eval, &wrapped, layouts[0]).unwrap();
    let input = blocks(aes.blocks_per_batch());
    let results_of = |aes: &Aes<'_>| {
        let start = Instant::now();
        let state = aes
            .run(&input, &[], RunOptions::default())
            .unwrap()
            .remove(0);
        let cross = |numbers| {
            let crossing = SlotsToLwe::new(&bridge, numbers).unwrap();
            let crossed = crossing.cross(aes.evaluator(), &state).unwrap();
            let lwes = crossing.lwes(&crossed, 3..bytes).unwrap();
            let upper =
                (numbers == Numbers::Pairs).then(|| crossing.record(&crossed, 0..bytes).unwrap());
            (lwes.to_vec(), upper)
        };
        let found = [Numbers::Bits, Numbers::Pairs].map(cross);
        println!(
            "{} {:?}: {:?}",
            set.name.as_str(),
            layouts[0],
            start.elapsed()
        );
        found
    };
    let want = results_of(&aes);
    for &arithmetic in arithmetics {
        let Some(own) = gpu(params.of_aes(), arithmetic) else {
            return;
        };
        let cuda = match set.cipher {
            Some(_) => gpu(&params, arithmetic).unwrap(),
            None => own.clone(),
        };
        let on = OnGpu {
            aes: own,
            results: Some(cuda.clone()),
        };
        let gpus = Gpus {
            all: vec![(card(), Box::new(on))],
            ..Gpus::none()
        };
        let gpus = aes.on_gpus(gpus);
        let run = || gpus.run(results_of).unwrap().1;
        #[cfg(not(feature = "trace"))]
        let found = run();
        #[cfg(feature = "trace")]
        let found = {
            let (found, calls) = cuda.traced(run).unwrap();
            let is_called = |kernel| calls.iter().any(|call| call.name == kernel);
            assert!(
                ["combine_limbs", "rows_digits", "slot_words"]
                    .into_iter()
                    .all(is_called)
            );
            found
        };
        assert!(found == want);
    }
}

fn card() -> Arc<Gpu> {
    Arc::new(Gpu {
        number: 0,
        name: String::new(),
        memory_bytes: 0,
        arithmetic: String::new(),
    })
}

#[test]
fn toy_results_cross() {
    across(&sets::TOY_255, &[Layout::Sliced], 256, &BOTH);
    across(&sets::TOY_K_255, &[Layout::Sliced], 256, &BOTH);
}

/// Takes half a minute on the emulator.
#[test]
fn results_cross_at_full_size() {
    let (layouts, doubles) = (&[Layout::Packed], [Arithmetic::Doubles]);
    across(&sets::BRIDGE128, layouts, 64, &doubles);
}
