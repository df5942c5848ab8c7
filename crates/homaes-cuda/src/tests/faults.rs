//! Faults of an emulated GPU: operations return errors and free their memory; the processor computes the batch.

use super::World;
use crate::Cuda;
use crate::arithmetic::Arithmetic;
use homaes_aes::{Block, Direction, Layout};
use homaes_bgv::device::{Device, Processor};
use homaes_bgv::{Aes, Error, Params, State, encode_batch, sets};
use std::sync::Arc;
use std::sync::atomic::Ordering;

struct Fixture {
    params: Arc<Params>,
    world: World,
    cuda: Arc<Cuda>,
}

impl Fixture {
    fn new(layouts: &'static [Layout]) -> Self {
        let params = Params::new(&sets::TOY_255).unwrap();
        // final results are rounded in memory, others packed on the GPU
        let left = (layouts != [Layout::Bits]).then_some(1);
        let world = World::new(&params, layouts, Direction::Encrypt, left);
        let cuda = Arc::new(Cuda::alone(&params, Arithmetic::Doubles).unwrap());
        Self {
            params,
            world,
            cuda,
        }
    }

    /// On the GPU.
    fn there(&self) -> Aes<'_> {
        self.world.aes().on(&self.device())
    }

    fn device(&self) -> Arc<dyn Device> {
        self.cuda.clone()
    }

    fn evaluate(&self, aes: &Aes<'_>) -> Result<State, Error> {
        aes.evaluate(&self.world.blocks)
    }

    fn encode(&self, state: &State) -> Result<Vec<u8>, Error> {
        encode_batch(&self.params, state)
    }

    fn batch(&self, aes: &Aes<'_>) -> Result<Vec<u8>, Error> {
        self.encode(&self.evaluate(aes)?)
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

    fn unreadable(&self, is: bool) {
        self.cuda.gpu.driver.unreadable.store(is, Ordering::Relaxed);
    }
}

fn processor() -> Arc<dyn Device> {
    Arc::new(Processor)
}

/// The message of the fault, which begins with `start`.
#[track_caller]
fn fault<T>(start: &str, result: Result<T, Error>) {
    match result {
        Err(Error::Device(fault)) => assert!(fault.to_string().starts_with(start), "{fault}"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("no fault"),
    }
}

const MEMORY: &str = "the GPU has too little memory: ";
const DOWNLOAD: &str = "the GPU failed at a download: ";

#[test]
fn a_batch_without_memory_is_computed_again_by_the_processor() {
    let f = Fixture::new(&[Layout::Sliced]);
    let want = f.batch(&f.world.aes()).unwrap();
    let there = f.there();
    // copies of keys fail, and allocations of results
    for bytes in [0, 1 << 16, 1 << 20] {
        f.limit(bytes);
        fault(MEMORY, f.batch(&there));
    }
    f.lift_limit();
    assert!(f.batch(&there).unwrap() == want);
    // keys and tables stay, nothing else, and the next batch uses them
    let kept = f.used();
    assert!(f.batch(&there).unwrap() == want);
    assert_eq!(f.used(), kept);
    for bytes in [0, 1 << 14, 1 << 16, 1 << 18] {
        f.limit(bytes);
        fault(MEMORY, f.batch(&there));
        assert_eq!(f.used(), kept, "{bytes}");
    }
    // still without memory, with the same keys
    let here = there.on(&processor());
    assert!(f.batch(&here).unwrap() == want);
    f.lift_limit();
    assert!(f.batch(&here.on(&f.device())).unwrap() == want);
    let Fixture { cuda, world, .. } = f;
    drop(world);
    let used = cuda.gpu.driver.used();
    assert!(used < kept / 2, "keys go from the GPU with those in memory");
}

#[test]
fn bits_without_memory_are_computed_again_by_the_processor() {
    let f = Fixture::new(&[Layout::Bits]);
    let there = f.there();
    for bytes in [0, 1 << 20] {
        f.limit(bytes);
        fault(MEMORY, f.batch(&there));
    }
    let want = f.batch(&f.world.aes()).unwrap();
    assert!(f.batch(&there.on(&processor())).unwrap() == want);
}

#[test]
fn results_that_cannot_be_had_are_errors() {
    let f = Fixture::new(&[Layout::Sliced]);
    let there = f.there();
    let state = f.evaluate(&there).unwrap();
    f.unreadable(true);
    fault(DOWNLOAD, f.encode(&state));
    fault(DOWNLOAD, there.encode_batch(&state));
    let circuit = there.evaluator();
    let byte = &state.ciphertexts()[0];
    fault("", circuit.add_byte(byte, 1));
    fault("", circuit.multiply(byte, &state.ciphertexts()[1]));
    fault("", circuit.multiply(byte, &byte.clone()));
    // no bound is known
    assert_eq!(byte.bound_bits(&f.params), f64::INFINITY);
    // the download can be repeated
    f.unreadable(false);
    assert!(f.encode(&state).unwrap() == f.batch(&f.world.aes()).unwrap());
}

#[test]
fn blocks_and_records_without_a_device_are_errors() {
    let f = Fixture::new(&[Layout::Sliced]);
    let (there, blocks) = (f.there(), &f.world.blocks);
    let mut state = f.evaluate(&there).unwrap();
    let before = there.encode_batch(&state).unwrap();
    for bytes in [0, 1 << 11, 1 << 14] {
        f.limit(bytes);
        fault("", f.evaluate(&there));
        fault("", there.xor_public(&mut state, blocks));
    }
    f.limit(0);
    fault("", there.encode_batch(&state));
    f.lift_limit();
    // the state is unchanged, and takes the blocks
    let kept = f.used();
    assert!(there.encode_batch(&state).unwrap() == before);
    assert_eq!(f.used(), kept);
    there.xor_public(&mut state, blocks).unwrap();
    let here = f.world.aes();
    let mut want = f.evaluate(&here).unwrap();
    here.xor_public(&mut want, blocks).unwrap();
    let [found, want] = [(&there, &state), (&here, &want)].map(|(aes, s)| aes.encode_batch(s));
    assert!(found.unwrap() == want.unwrap());
}

#[test]
fn what_batches_share_is_left_with_a_device_that_failed() {
    let f = Fixture::new(&[Layout::Sliced]);
    let count = f.world.blocks.len();
    let batch = |aes: &Aes<'_>, first: usize| {
        let block = |b: usize| core::array::from_fn(|i| if i < 15 { 5 } else { b as u8 });
        let run: Vec<Block> = (first..first + count).map(block).collect();
        f.encode(&aes.evaluate(&run)?)
    };
    let there = f.there();
    batch(&there, 0).unwrap();
    f.unreadable(true);
    let found = batch(&there.on(&processor()), count).unwrap();
    assert!(found == batch(&f.world.aes(), count).unwrap());
}

#[test]
fn every_device_keeps_its_own_copies_of_keys() {
    let f = Fixture::new(&[Layout::Sliced]);
    let other = Arc::new(Cuda::alone(&f.params, Arithmetic::Doubles).unwrap());
    let both = [f.cuda.clone(), other];
    let there = both
        .each_ref()
        .map(|cuda| f.world.aes().on(&(cuda.clone() as Arc<dyn Device>)));
    // the words copied to each GPU, and the results
    let run = || {
        [0, 1].map(|i| {
            let written = || both[i].gpu.driver.written.load(Ordering::Relaxed);
            let before = written();
            let bytes = f.batch(&there[i]).unwrap();
            (written() - before, bytes)
        })
    };
    let [first, second, third] = [run(), run(), run()];
    let used = || both.each_ref().map(|cuda| cuda.gpu.driver.used());
    let kept = used();
    assert_eq!(kept[0], kept[1]);
    assert!(second == third);
    for (first, second) in first.iter().zip(&second) {
        assert!(first.1 == second.1);
        let words = [first.0, second.0];
        assert!(words[1] < words[0] / 4, "{words:?}");
    }
    drop(there);
    drop(f);
    assert!(
        used().iter().all(|used| *used < kept[0] / 2),
        "keys go from both"
    );
}

#[test]
fn one_process_starts_a_gpu_once() {
    let params = Params::new(&sets::TOY_255).unwrap();
    let [a, b, c] = [0, 0, 1].map(|number| Cuda::new(&params, number).unwrap());
    assert!(Arc::ptr_eq(&a.gpu.driver, &b.gpu.driver));
    assert!(!Arc::ptr_eq(&a.gpu.driver, &c.gpu.driver));
}
