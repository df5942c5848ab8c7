//! Whole ciphers and a circuit on the GPU equal those of the processor bit for bit.

use homaes_aes::{Block, Direction, Layout, RoundKeys};
use homaes_bgv::device::Device;
use homaes_bgv::{
    Addend, Aes, Ciphertext, EvalKey, Evaluator, ParamSet, Params, SecretKey, WrapOptions,
    WrappedKey, encode_batch, encode_value, sets,
};
use homaes_cuda::{Arithmetic, Cuda};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::sync::Arc;
use std::time::Instant;

/// A GPU for a set; prints the reason if no GPU can be used.
pub(crate) fn gpu(params: &Params, arithmetic: Arithmetic) -> Option<Arc<Cuda>> {
    let cuda = Cuda::alone(params, arithmetic).map(Arc::new);
    cuda.map_err(|why| println!("skipped: {why}")).ok()
}

pub(crate) fn blocks(count: usize) -> Vec<Block> {
    let byte = |i: usize| (i.wrapping_mul(2_654_435_761) >> 13) as u8;
    (0..count)
        .map(|b| core::array::from_fn(|i| byte(16 * b + i)))
        .collect()
}

const PACKED: &[Layout] = &[Layout::Packed];
const ENCRYPT: &[Direction] = &[Direction::Encrypt];
pub(crate) const BOTH: [Arithmetic; 2] = [Arithmetic::Doubles, Arithmetic::Integers];

/// Runs the cipher on the processor and on GPUs, there `again` more times for timing.
fn both(
    set: &ParamSet,
    layouts: &'static [Layout],
    directions: &[Direction],
    again: usize,
    arithmetics: &[Arithmetic],
) {
    let params = Params::new(set).unwrap();
    let gpus = arithmetics.iter().filter_map(|&a| gpu(params.of_aes(), a));
    let gpus: Vec<_> = gpus.collect();
    if gpus.is_empty() {
        return;
    }
    let mut rng = ChaCha20Rng::from_seed([7; 32]);
    let secret = SecretKey::generate(&params, &mut rng).unwrap();
    let eval = EvalKey::generate(&secret, &mut rng);
    let keys = RoundKeys::expand(&[0x2b; 16]).unwrap();
    for &direction in directions {
        let how = WrapOptions {
            direction,
            layouts,
            levels_left: None,
            full: true,
        };
        let wrapped = WrappedKey::encrypt(&secret, &keys, how, &mut rng).unwrap();
        for &layout in layouts {
            let name = format!("{} {layout:?} {direction:?}", set.name.as_str());
            let aes = Aes::new(&eval, &wrapped, layout).unwrap();
            let input = blocks(aes.blocks_per_batch());
            let start = Instant::now();
            let batch = |aes: &Aes<'_>| {
                let mut state = aes.evaluate(&input).unwrap();
                aes.xor_public(&mut state, &input[1..]).unwrap();
                aes.results(&state).unwrap()
            };
            let want = batch(&aes);
            let want = want.iter().map(|s| encode_batch(&params, s).unwrap());
            let want: Vec<Vec<u8>> = want.collect();
            println!("{name}: processor {:?}", start.elapsed());
            let transforms = |aes: &Aes<'_>| aes.meter().count("transforms");
            let counted = transforms(&aes);
            for cuda in &gpus {
                // a new cipher, so that no results of the processor are reused
                let device: Arc<dyn Device> = cuda.clone();
                let aes = Aes::new(&eval, &wrapped, layout).unwrap().on(&device);
                for _ in 0..=again {
                    let before = transforms(&aes);
                    let start = Instant::now();
                    let results = batch(&aes);
                    let launched = start.elapsed();
                    cuda.wait().unwrap();
                    let made = start.elapsed();
                    let found = results.iter().map(|s| aes.encode_batch(s).unwrap());
                    let found: Vec<Vec<u8>> = found.collect();
                    let whole = start.elapsed();
                    println!(
                        "{name}: GPU {made:?}, {launched:?} of the host, with record {whole:?}"
                    );
                    assert!(found == want, "{name}");
                    assert_eq!(transforms(&aes) - before, counted, "{name}");
                }
            }
        }
    }
}

#[test]
fn toy_sliced() {
    both(&sets::TOY_255, &[Layout::Sliced], &Direction::ALL, 0, &BOTH);
}

#[test]
fn toy_in_k() {
    let set = &sets::TOY_K_255;
    both(set, &[Layout::Sliced], &Direction::ALL, 0, &BOTH);
}

#[test]
fn toy_bits() {
    both(&sets::TOY_255, &[Layout::Bits], ENCRYPT, 0, &BOTH);
}

const EMULATED: bool = cfg!(feature = "emulator");
const AGAIN: usize = if EMULATED { 0 } else { 5 };

/// Takes half a minute on the emulator, which runs each direction in one arithmetic.
#[test]
fn packed_at_full_size() {
    let all: &[Direction] = &Direction::ALL;
    let directions = if EMULATED { ENCRYPT } else { all };
    let doubles = [Arithmetic::Doubles];
    both(&sets::AES128, PACKED, directions, AGAIN, &doubles);
}

/// Takes half a minute on the emulator.
#[test]
fn packed_at_full_size_in_integers() {
    let (directions, integers) = ([Direction::Decrypt], [Arithmetic::Integers]);
    both(&sets::AES128, PACKED, &directions, AGAIN, &integers);
}

#[test]
#[ignore = "80 seconds and 6 GB on the emulator; run with --ignored --nocapture --test-threads 1"]
fn packed_at_full_size_in_k() {
    let doubles = [Arithmetic::Doubles];
    both(&sets::AES256_8, PACKED, ENCRYPT, AGAIN, &doubles);
}

#[test]
#[ignore = "a minute with a GPU; run with --ignored --nocapture --test-threads 1"]
fn sliced_at_full_size() {
    both(&sets::AES128, &[Layout::Sliced], ENCRYPT, 3, &BOTH);
}

#[test]
fn toy_circuits() {
    circuits(&sets::TOY_255);
}

#[test]
fn toy_circuits_on_results_of_k() {
    circuits(&sets::TOY_K_255);
}

fn circuits(set: &ParamSet) {
    let params = Params::new(set).unwrap();
    let mut rng = ChaCha20Rng::from_seed([8; 32]);
    let secret = SecretKey::generate(&params, &mut rng).unwrap();
    let eval = EvalKey::generate(&secret, &mut rng);
    let slots = params.slots().count();
    let bytes = |k: usize| (0..slots).map(|i| (i * k + 3) as u8).collect::<Vec<u8>>();
    let [a, b] = [5, 11].map(|k| secret.encrypt(&bytes(k), &mut rng).unwrap());
    let run = |eval: &Evaluator<'_>| -> Vec<Ciphertext> {
        let public = eval.public(&bytes(7)).unwrap();
        let sum = eval.add(&public, &a).unwrap();
        let other = eval.add(&a, &public).unwrap();
        let product = eval.multiply(&sum, &b).unwrap();
        let lower = eval.mod_switch(&product).unwrap();
        let image = eval.frobenius(&lower, 3).unwrap();
        let mixed = eval.combine(&[(&image, 3), (&b, 0x1d)]).unwrap();
        let last = eval.multiply_frobenius(&mixed, &eval.add(&image, &a).unwrap(), 2);
        vec![sum, other, product, lower, image, mixed, last.unwrap()]
    };
    let here = Evaluator::new(&eval);
    for cuda in BOTH.into_iter().filter_map(|a| gpu(&params, a)) {
        let there = here.clone().on(cuda);
        for (k, (x, y)) in run(&here).iter().zip(&run(&there)).enumerate() {
            let [x, y] = [x, y].map(|c| encode_value(&params, secret.id(), c).unwrap());
            assert!(x == y, "{k}");
        }
        // squarings and doublings
        let lifted = [&here, &there].map(|eval| {
            let lift = eval.lifting(12, 11).unwrap().lift(&a).unwrap();
            Addend::Slots(&lift).encode(&params, secret.id(), 0)
        });
        let [x, y] = lifted.map(Result::unwrap);
        assert!(x == y, "integers");
    }
}
