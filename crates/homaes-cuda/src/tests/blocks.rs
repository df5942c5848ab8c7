use super::{canonical, edges, is_small};
use crate::cuda::Cuda;
use homaes_bgv::device::{Device, Plaintext, Processor};
use homaes_bgv::{ParamSet, Params, sets};
use homaes_rns::Poly;
use std::sync::Arc;

const SETS: [&ParamSet; 4] = [
    &sets::TOY_255,
    &sets::AES128,
    &sets::TOY_K_255,
    &sets::AES256_8,
];

/// AES of a set on a GPU; prints the reason if no GPU can be used.
fn bench(set: &ParamSet) -> Option<(Arc<Params>, Cuda)> {
    let params = Params::new(set).unwrap();
    let cuda = Cuda::new(params.of_aes(), 0);
    let cuda = cuda.map_err(|why| println!("skipped: {why}")).ok()?;
    Some((params, cuda))
}

fn bytes(count: usize, seed: u64) -> Vec<u8> {
    let byte = |i: u64| ((i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8;
    (0..count as u64).map(byte).collect()
}

fn plaintext(bytes: &[u8], n: usize, seed: u64) -> Plaintext<'_> {
    let signs = self::bytes(n / 8, seed);
    Plaintext { bytes, signs }
}

/// The records of polynomials over `basis`.
fn packed(device: &dyn Device, params: &Params, basis: &[usize], polys: &[Poly]) -> Vec<u8> {
    let bits = basis
        .iter()
        .map(|&i| params.rns().modulus(i).bits() as usize);
    let length = params.ring().n() / 8 * bits.sum::<usize>();
    let mut out = vec![0; polys.len() * length];
    let mut slices: Vec<&mut [u8]> = out.chunks_exact_mut(length).collect();
    let all: Vec<&Poly> = polys.iter().collect();
    device.pack(params, basis, &all, &mut slices).unwrap();
    out
}

#[test]
fn public_blocks() {
    for (params, cuda) in SETS.into_iter().filter_map(bench) {
        let params = params.of_aes();
        let (count, n) = (params.slots().count(), params.ring().n());
        let basis = [6, 0, 4];
        let mut last = vec![0; count];
        last[count - 1] = 0xff;
        let columns = [bytes(count, 1), last, vec![0; count]];
        // at the small ring, more than one launch takes
        let all = if is_small(params) { 70 } else { 3 };
        let plain = columns.iter().cycle().zip(5..5 + all);
        let plain = plain.map(|(bytes, seed)| plaintext(bytes, n, seed));
        let plain: Vec<Plaintext<'_>> = plain.collect();
        let onto: Vec<Poly> = (0..all).map(|seed| edges(params, &basis, seed)).collect();
        let onto: Vec<&Poly> = onto.iter().collect();
        let compare = |basis: &[usize], plain: &[Plaintext<'_>], onto: &[&Poly]| {
            let [found, want] = [&cuda as &dyn Device, &Processor].map(|device| {
                let polys = device.public(params, basis, plain, onto).unwrap();
                let words = polys.iter().map(|poly| canonical(params, basis, poly));
                words.collect::<Vec<_>>()
            });
            assert_eq!(found.len(), plain.len());
            assert!(found == want);
        };
        compare(&basis, &plain, &[]);
        compare(&basis, &plain, &onto);
        // one alone, as for packed blocks
        compare(&basis[..1], &plain[..1], &[]);
    }
}

/// Kernels hold the constants of one set's primes; each set needs its own.
#[test]
fn two_sets_of_a_ring_take_turns_on_a_gpu() {
    let other = ParamSet {
        m: sets::TOY_255.m,
        ..sets::TOY_4369
    };
    let both = [&sets::TOY_255, &other].map(bench);
    for (params, cuda) in both.iter().flatten().cycle().take(4) {
        let basis: Vec<usize> = (0..params.rns().count()).collect();
        let bytes = bytes(params.slots().count(), 3);
        let plain = [plaintext(&bytes, params.ring().n(), 4)];
        let [found, want] = [cuda as &dyn Device, &Processor].map(|device| {
            let polys = device.public(params, &basis, &plain, &[]).unwrap();
            canonical(params, &basis, &polys[0])
        });
        assert!(found == want, "{}", params.set().name.as_str());
    }
}

#[test]
fn records() {
    for (params, cuda) in SETS.into_iter().filter_map(bench) {
        let params = params.of_aes();
        // primes of all lengths, in any order
        let basis: Vec<usize> = (0..params.rns().count()).rev().collect();
        let polys = [1, 100, 200].map(|seed| edges(params, &basis, seed));
        let packed = |device: &dyn Device| packed(device, params, &basis, &polys);
        assert!(packed(&cuda) == packed(&Processor));
    }
}

#[test]
fn threads_share_the_memory_of_copies() {
    let Some((params, cuda)) = bench(SETS[0]) else {
        return;
    };
    let (basis, n) = ([0, 5], params.ring().n());
    let record = |device: &dyn Device, seed: u64| {
        // records of different lengths
        let columns = (0..=seed % 3).map(|k| bytes(params.slots().count(), 9 * seed + k));
        let columns: Vec<Vec<u8>> = columns.collect();
        let plain = columns.iter().map(|bytes| plaintext(bytes, n, seed));
        let plain: Vec<Plaintext<'_>> = plain.collect();
        let polys = device.public(&params, &basis, &plain, &[]).unwrap();
        packed(device, &params, &basis, &polys)
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (record, cuda) = (&record, &cuda);
            scope.spawn(move || {
                for seed in (0..25).map(|i| 4 * i + thread) {
                    assert!(record(cuda, seed) == record(&Processor, seed), "{seed}");
                }
            });
        }
    });
}
