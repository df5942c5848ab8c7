//! Whole ciphers on the GPU: results equal those of the processor bit for bit.

use homaes_aes::{Block, Direction, Layout, RoundKeys};
use homaes_bgv::device::Device;
use homaes_bgv::{
    Aes, EvalKey, ParamSet, Params, SecretKey, WrappedKey, Wrapping, encode_batch, sets,
};
use homaes_cuda::Cuda;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::sync::Arc;
use std::time::Instant;

/// A GPU for a set, or nothing where the reason is printed.
fn gpu(params: &Params) -> Option<Arc<Cuda>> {
    match Cuda::new(params, 0) {
        Ok(cuda) => {
            println!("on {}", cuda.name());
            Some(Arc::new(cuda))
        }
        Err(why) => {
            println!("skipped: {why}");
            None
        }
    }
}

fn blocks(count: usize) -> Vec<Block> {
    let byte = |i: usize| (i.wrapping_mul(2_654_435_761) >> 13) as u8;
    (0..count)
        .map(|b| core::array::from_fn(|i| byte(16 * b + i)))
        .collect()
}

/// The cipher on both, `again` times more on the GPU for its time.
fn both(set: &ParamSet, layouts: &'static [Layout], directions: &[Direction], again: usize) {
    let params = Params::new(set).unwrap();
    let Some(cuda) = gpu(&params) else { return };
    let device: Arc<dyn Device> = cuda.clone();
    let mut rng = ChaCha20Rng::from_seed([7; 32]);
    let secret = SecretKey::generate(&params, &mut rng).unwrap();
    let eval = EvalKey::generate(&secret, &mut rng);
    let keys = RoundKeys::expand(&[0x2b; 16]).unwrap();
    for &direction in directions {
        let how = Wrapping {
            direction,
            layouts,
            levels_left: None,
        };
        let wrapped = WrappedKey::encrypt(&secret, &keys, how, &mut rng).unwrap();
        for &layout in layouts {
            let name = format!("{} {layout:?} {direction:?}", set.name.as_str());
            let input = blocks(params.blocks_per_batch(layout));
            let aes = Aes::new(&eval, &wrapped, layout).unwrap();
            let start = Instant::now();
            let want = encode_batch(&params, &aes.evaluate(&input).unwrap()).unwrap();
            println!("{name}: processor {:?}", start.elapsed());
            // no results of the processor to be taken over from earlier batches
            let aes = Aes::new(&eval, &wrapped, layout).unwrap().on(&device);
            for _ in 0..=again {
                let start = Instant::now();
                let state = aes.evaluate(&input).unwrap();
                cuda.wait().unwrap();
                let made = start.elapsed();
                let found = encode_batch(&params, &state).unwrap();
                println!("{name}: GPU {made:?}, with download {:?}", start.elapsed());
                assert!(found == want, "{name}");
            }
        }
    }
}

#[test]
fn toy_sliced() {
    both(&sets::TOY_255, &[Layout::Sliced], &Direction::ALL, 0);
}

#[test]
fn toy_bits() {
    both(&sets::TOY_255, &[Layout::Bits], &[Direction::Encrypt], 0);
}

#[test]
#[ignore = "seconds with a GPU; run with --ignored --nocapture --test-threads 1"]
fn packed_at_full_size() {
    both(&sets::AES128, &[Layout::Packed], &Direction::ALL, 5);
}

#[test]
#[ignore = "a minute with a GPU; run with --ignored --nocapture --test-threads 1"]
fn sliced_at_full_size() {
    both(&sets::AES128, &[Layout::Sliced], &[Direction::Encrypt], 3);
}
