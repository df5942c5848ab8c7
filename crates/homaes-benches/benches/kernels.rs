//! The transform beside `tfhe-ntt`'s of the same length, and the kernels around it.
use criterion::{Criterion, criterion_group, criterion_main};
use homaes_math::{Ring, Transform, Words};
use std::hint::black_box;

const P47: u64 = 131_311_739_216_641;
/// A 50-bit prime, 1 modulo 65536: the reference's fast range.
const P50_NEGACYCLIC: u64 = 1_125_899_904_679_937;

fn transforms(c: &mut Criterion) {
    let plan = tfhe_ntt::prime64::Plan::try_new(32768, P50_NEGACYCLIC).expect("a usable prime");
    let mut data: Vec<u64> = (0..32768u64).map(|i| i * i * i).collect();
    c.bench_function("ntt/reference/32768", |b| {
        b.iter(|| plan.fwd(black_box(&mut data)));
    });
    let ring = Ring::new(65535).expect("an admitted conductor");
    let t = Transform::new(&ring, P47).expect("a usable prime");
    let mut a = Words::zeroed(ring.n());
    a.iter_mut()
        .enumerate()
        .for_each(|(i, x)| *x = (i * i * i) as u64);
    c.bench_function("ntt/forward/65535", |b| {
        b.iter(|| t.forward(black_box(&mut a)))
    });
    c.bench_function("ntt/inverse/65535", |b| {
        b.iter(|| t.inverse(black_box(&mut a)))
    });
}

criterion_group!(benches, transforms);
criterion_main!(benches);
