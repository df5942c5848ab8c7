//! Faults of an emulated GPU: operations return errors and free their memory; the processor computes the batch.

use crate::Cuda;
use crate::arithmetic::Arithmetic;
use homaes_aes::{Block, Direction, Layout, RoundKeys};
use homaes_bgv::device::{Device, Processor};
use homaes_bgv::{
    Aes, Error, EvalKey, Params, SecretKey, WrapOptions, WrappedKey, encode_batch, sets,
};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::sync::Arc;
use std::sync::atomic::Ordering;

struct Fixture {
    params: Arc<Params>,
    eval: EvalKey,
    wrapped: WrappedKey,
    blocks: Vec<Block>,
    cuda: Arc<Cuda>,
}

impl Fixture {
    fn new(layout: &'static [Layout]) -> Self {
        let params = Params::new(&sets::TOY_255).unwrap();
        let mut rng = ChaCha20Rng::from_seed([11; 32]);
        let secret = SecretKey::generate(&params, &mut rng).unwrap();
        let eval = EvalKey::generate(&secret, &mut rng);
        let keys = RoundKeys::expand(&[0x2b; 16]).unwrap();
        let how = WrapOptions {
            direction: Direction::Encrypt,
            layouts: layout,
            levels_left: None,
        };
        let wrapped = WrappedKey::encrypt(&secret, &keys, how, &mut rng).unwrap();
        let block = |b: usize| core::array::from_fn(|i| (7 * b + 31 * i * i) as u8);
        let blocks = (0..params.blocks_per_batch(layout[0])).map(block);
        Self {
            blocks: blocks.collect(),
            cuda: Arc::new(Cuda::alone(&params, Arithmetic::Doubles).unwrap()),
            params,
            eval,
            wrapped,
        }
    }

    fn aes(&self, layout: Layout) -> Aes<'_> {
        Aes::new(&self.eval, &self.wrapped, layout).unwrap()
    }

    fn device(&self) -> Arc<dyn Device> {
        self.cuda.clone()
    }

    fn used(&self) -> usize {
        self.cuda.gpu.driver.used()
    }

    /// Allows `bytes` beyond the present use.
    fn limit(&self, bytes: usize) {
        let most = self.used() + bytes;
        self.cuda.gpu.driver.most.store(most, Ordering::Relaxed);
    }

    fn lift_limit(&self) {
        self.cuda.gpu.driver.most.store(0, Ordering::Relaxed);
    }
}

#[track_caller]
fn fault<T>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::Device(fault)) => fault.to_string(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("no fault"),
    }
}

#[test]
fn a_batch_without_memory_is_computed_again_by_the_processor() {
    let f = Fixture::new(&[Layout::Sliced]);
    let batch = |aes: &Aes<'_>| {
        let state = aes.evaluate(&f.blocks)?;
        encode_batch(&f.params, &state)
    };
    let want = batch(&f.aes(Layout::Sliced)).unwrap();
    let there = f.aes(Layout::Sliced).on(&f.device());
    // copies of keys fail, and allocations of results
    for bytes in [0, 1 << 16, 1 << 20] {
        f.limit(bytes);
        let message = fault(batch(&there));
        assert!(
            message.starts_with("the GPU has too little memory: "),
            "{message}"
        );
    }
    f.lift_limit();
    assert!(batch(&there).unwrap() == want);
    // keys and tables stay, nothing else, and the next batch uses them
    let kept = f.used();
    assert!(batch(&there).unwrap() == want);
    assert_eq!(f.used(), kept);
    for bytes in [0, 1 << 14, 1 << 16, 1 << 18] {
        f.limit(bytes);
        fault(batch(&there));
        assert_eq!(f.used(), kept, "{bytes}");
    }
    // still without memory, with the same keys
    let processor: Arc<dyn Device> = Arc::new(Processor);
    let here = there.on(&processor);
    assert!(batch(&here).unwrap() == want);
    f.lift_limit();
    assert!(batch(&here.on(&f.device())).unwrap() == want);
    let Fixture {
        cuda,
        eval,
        wrapped,
        ..
    } = f;
    drop((eval, wrapped));
    assert!(
        cuda.gpu.driver.used() < kept / 2,
        "keys go from the GPU with those in memory"
    );
}

#[test]
fn bits_without_memory_are_computed_again_by_the_processor() {
    let f = Fixture::new(&[Layout::Bits]);
    let batch = |aes: &Aes<'_>| {
        let state = aes.evaluate(&f.blocks)?;
        encode_batch(&f.params, &state)
    };
    let there = f.aes(Layout::Bits).on(&f.device());
    for bytes in [0, 1 << 20] {
        f.limit(bytes);
        fault(batch(&there));
    }
    let processor: Arc<dyn Device> = Arc::new(Processor);
    let want = batch(&f.aes(Layout::Bits)).unwrap();
    assert!(batch(&there.on(&processor)).unwrap() == want);
}

#[test]
fn results_that_cannot_be_had_are_errors() {
    let f = Fixture::new(&[Layout::Sliced]);
    let there = f.aes(Layout::Sliced).on(&f.device());
    let state = there.evaluate(&f.blocks).unwrap();
    let unreadable = |is| {
        let driver = &f.cuda.gpu.driver;
        driver.unreadable.store(is, Ordering::Relaxed);
    };
    unreadable(true);
    let message = fault(encode_batch(&f.params, &state));
    assert!(
        message.starts_with("the GPU failed at a download: "),
        "{message}"
    );
    let circuit = there.evaluator();
    let byte = &state.ciphertexts()[0];
    fault(circuit.add_byte(byte, 1));
    fault(circuit.multiply(byte, &state.ciphertexts()[1]));
    fault(circuit.multiply(byte, &byte.clone()));
    // no bound is known
    assert_eq!(byte.bound_bits(&f.params), f64::INFINITY);
    // the download can be repeated
    unreadable(false);
    let found = encode_batch(&f.params, &state).unwrap();
    let want = f.aes(Layout::Sliced).evaluate(&f.blocks).unwrap();
    assert!(found == encode_batch(&f.params, &want).unwrap());
}

#[test]
fn blocks_and_records_without_a_device_are_errors() {
    let f = Fixture::new(&[Layout::Sliced]);
    let there = f.aes(Layout::Sliced).on(&f.device());
    let mut state = there.evaluate(&f.blocks).unwrap();
    let before = there.encode_batch(&state).unwrap();
    for bytes in [0, 1 << 11, 1 << 14] {
        f.limit(bytes);
        fault(there.evaluate(&f.blocks));
        fault(there.xor_public(&mut state, &f.blocks));
    }
    f.limit(0);
    fault(there.encode_batch(&state));
    f.lift_limit();
    let unreadable = |is| {
        let driver = &f.cuda.gpu.driver;
        driver.unreadable.store(is, Ordering::Relaxed);
    };
    unreadable(true);
    let message = fault(there.encode_batch(&state));
    assert!(
        message.starts_with("the GPU failed at a download: "),
        "{message}"
    );
    unreadable(false);
    // the state is unchanged, and takes the blocks
    let kept = f.used();
    assert!(there.encode_batch(&state).unwrap() == before);
    assert_eq!(f.used(), kept);
    there.xor_public(&mut state, &f.blocks).unwrap();
    let here = f.aes(Layout::Sliced);
    let mut want = here.evaluate(&f.blocks).unwrap();
    here.xor_public(&mut want, &f.blocks).unwrap();
    let [found, want] = [(&there, &state), (&here, &want)].map(|(aes, s)| aes.encode_batch(s));
    assert!(found.unwrap() == want.unwrap());
}

#[test]
fn what_batches_share_is_left_with_a_device_that_failed() {
    let f = Fixture::new(&[Layout::Sliced]);
    let count = f.blocks.len();
    let run = |first: usize| -> Vec<Block> {
        let block = |b: usize| core::array::from_fn(|i| if i < 15 { 5 } else { b as u8 });
        (first..first + count).map(block).collect()
    };
    let batch = |aes: &Aes<'_>, first| encode_batch(&f.params, &aes.evaluate(&run(first))?);
    let there = f.aes(Layout::Sliced).on(&f.device());
    batch(&there, 0).unwrap();
    f.cuda.gpu.driver.unreadable.store(true, Ordering::Relaxed);
    let processor: Arc<dyn Device> = Arc::new(Processor);
    let found = batch(&there.on(&processor), count).unwrap();
    assert!(found == batch(&f.aes(Layout::Sliced), count).unwrap());
}

#[test]
fn every_device_keeps_its_own_copies_of_keys() {
    let f = Fixture::new(&[Layout::Sliced]);
    let other = Arc::new(Cuda::alone(&f.params, Arithmetic::Doubles).unwrap());
    let both = [&f.cuda, &other];
    // also counts the words copied to the GPU
    let batch = |cuda: &Arc<Cuda>, aes: &Aes<'_>| {
        let driver = &cuda.gpu.driver;
        let before = driver.written.load(Ordering::Relaxed);
        let state = aes.evaluate(&f.blocks).unwrap();
        let bytes = encode_batch(&f.params, &state).unwrap();
        (driver.written.load(Ordering::Relaxed) - before, bytes)
    };
    let here = f.aes(Layout::Sliced);
    let there = both.map(|cuda| here.clone().on(&(cuda.clone() as Arc<dyn Device>)));
    let run = || [0, 1].map(|i| batch(both[i], &there[i]));
    let [first, second, third] = [run(), run(), run()];
    let used = both.map(|cuda| cuda.gpu.driver.used());
    assert_eq!(used[0], used[1]);
    for i in 0..2 {
        let [first, second, third] = [&first[i], &second[i], &third[i]];
        assert!(first.1 == second.1 && second.1 == third.1);
        assert!(
            second.0 < first.0 / 4 && second.0 == third.0,
            "{} words, then {} and {}",
            first.0,
            second.0,
            third.0
        );
    }
    drop((here, there));
    let Fixture { eval, wrapped, .. } = f;
    drop((eval, wrapped));
    for (cuda, used) in both.iter().zip(used) {
        assert!(cuda.gpu.driver.used() < used / 2, "keys go from both");
    }
}

#[test]
fn one_process_starts_a_gpu_once() {
    let params = Params::new(&sets::TOY_255).unwrap();
    let [a, b, c] = [0, 0, 1].map(|number| Cuda::new(&params, number).unwrap());
    assert!(Arc::ptr_eq(&a.gpu.driver, &b.gpu.driver));
    assert!(!Arc::ptr_eq(&a.gpu.driver, &c.gpu.driver));
}
