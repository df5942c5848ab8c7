use super::{canonical, edges};
use crate::arithmetic::Arithmetic;
use crate::cuda::Cuda;
use homaes_bgv::device::{Device, Lwes, Processor, Reading, Readings, RingSwitch};
use homaes_bgv::{Params, sets};
use homaes_math::Transform;
use homaes_rns::Poly;

const BOTH: [Arithmetic; 2] = [Arithmetic::Doubles, Arithmetic::Integers];

/// Canonical.
fn keys(params: &Params, seed: u64) -> Poly {
    let basis = [params.special_from()];
    let m = params.rns().modulus(basis[0]);
    let mut poly = edges(params, &basis, seed);
    poly.limbs[0].iter_mut().for_each(|x| *x = m.canonical(*x));
    poly
}

/// The sets have primes of 47 and of 48 bits.
#[test]
fn ring_switches_and_readings() {
    for set in [&sets::TOY_255, &sets::BRIDGE128, &sets::AES256_8] {
        let params = Params::new(set).unwrap();
        let prime = params.special_from();
        let ring = params.bridge_ring().unwrap();
        let transform = Transform::new(&ring, params.rns().modulus(prime).p()).unwrap();
        let ciphertexts =
            [0, 10, 20].map(|k| [1, 2].map(|part| edges(&params, &[prime], k + part)));
        for arithmetic in BOTH {
            let cuda = match Cuda::alone(&params, arithmetic) {
                Ok(cuda) => cuda,
                Err(why) => return println!("skipped: {why}"),
            };
            for (digits, base, low) in [(4, 9, 11), (10, 4, 7)] {
                let pairs: Vec<[Poly; 2]> = (0..digits)
                    .map(|k| [1, 2].map(|half| keys(&params, 100 * half + k)))
                    .collect();
                let pairs = &pairs;
                let switch = RingSwitch { low, base, pairs };
                // more than one call takes
                let count = if ring.cols() == 1 { 70 } else { 3 };
                let all = ciphertexts.iter().map(<[Poly; 2]>::each_ref);
                let all: Vec<[&Poly; 2]> = all.cycle().take(count).collect();
                let [found, want] = [&cuda as &dyn Device, &Processor].map(|device| {
                    let all = device.ring_switch(&params, &switch, &all).unwrap();
                    let parts = all.iter().flatten();
                    let parts = parts.map(|part| canonical(&params, &[prime], part));
                    parts.collect::<Vec<_>>()
                });
                assert!(found == want, "{arithmetic:?} {digits}");
            }
            let of = [[1, 2], [3, 4]].map(|parts| parts.map(|seed| keys(&params, seed)));
            let duals = [5, 6].map(|seed| keys(&params, seed));
            let [_, cols, n3, n5] = ring.lens();
            let maps = (0..23).map(|k| ring.translation([k % n3, k % n5, 7 * k % cols]));
            let maps: Vec<_> = maps.collect();
            let all = maps.iter().enumerate().map(|(k, map)| Reading {
                of: &of[k / 13],
                dual: &duals[k / 7 % 2],
                map,
                to: (k + 5) % maps.len(),
            });
            let all: Vec<Reading<'_>> = all.collect();
            let transform = &transform;
            let readings = Readings {
                all: &all,
                transform,
            };
            let words = all.len() * readings.words();
            let read = |device: &dyn Device| {
                let (mut whole, mut upper) = (vec![0; words], vec![0; 4 * words]);
                for out in [Lwes::Words(&mut whole), Lwes::Upper(&mut upper)] {
                    device.read(&params, &readings, out).unwrap();
                }
                (whole, upper)
            };
            assert!(read(&cuda) == read(&Processor), "{arithmetic:?}");
        }
    }
}
