//! The four kernels that hold the work, each against the processor, on words up to the edges of their ranges.

mod barriers;
#[cfg(feature = "emulator")]
mod faults;

use crate::args::Arg::{At, Int, Map};
use crate::args::{Tables, factor, least, map};
use crate::cuda::Cuda;
use crate::launch::Digits;
use crate::memory::Buffer;
use homaes_bgv::{ParamSet, Params, sets};
use homaes_math::KeyLimb;
use homaes_math::kernel::{self, Tensor};
use homaes_math::product::{Factor, ProductSums, product_sums};
use homaes_math::rns::Conversion;
use homaes_math::{Modulus, Transform};
use std::sync::Arc;

/// A small ring and the one of the secure sets.
const SETS: [&ParamSet; 2] = [&sets::TOY_255, &sets::AES128];

/// Three primes of a set on a GPU: two sources, and a target.
struct Bench {
    params: Arc<Params>,
    cuda: Cuda,
    n: usize,
}

const SOURCES: [usize; 2] = [4, 5];
const TARGET: usize = 6;

impl Bench {
    /// Nothing, where the reason is printed.
    fn new(set: &ParamSet) -> Option<Self> {
        let params = Params::new(set).unwrap();
        let n = params.ring().n();
        match Cuda::new(&params, 0) {
            Ok(cuda) => Some(Self { params, cuda, n }),
            Err(why) => {
                println!("skipped: {why}");
                None
            }
        }
    }

    fn transform(&self, i: usize) -> &Transform {
        self.params.pool().transform(i)
    }

    fn modulus(&self, i: usize) -> &Modulus {
        self.params.pool().modulus(i)
    }

    /// Words below `bound`, some of them next to it.
    fn limb(&self, bound: u64, seed: u64) -> Vec<u64> {
        let word = |i: u64| match i % 89 {
            0 => bound - 1,
            1 => 0,
            _ => (i + 1).wrapping_mul(seed * 2 + 0x9e37_79b9_7f4a_7c15) % bound,
        };
        (0..self.n as u64).map(word).collect()
    }

    fn buffer(&self, words: &[u64]) -> Buffer {
        Buffer::of(&self.cuda.gpu.driver, words).unwrap()
    }

    fn scratch(&self, limbs: usize) -> Buffer {
        Buffer::new(&self.cuda.gpu.driver, limbs * self.n).unwrap()
    }

    fn words(&self, buffer: &Buffer, limbs: usize) -> Vec<Vec<u64>> {
        let mut out = vec![vec![0; self.n]; limbs];
        for (i, limb) in out.iter_mut().enumerate() {
            buffer.read(i * self.n, limb).unwrap();
        }
        out
    }

    fn canonical(&self, prime: usize, limb: &[u64]) -> Vec<u64> {
        let m = self.modulus(prime);
        assert!(limb.iter().all(|&x| x < 2 * m.p()));
        limb.iter().map(|&x| m.canonical(x)).collect()
    }

    fn conversion(&self) -> Conversion {
        let sources = SOURCES.map(|i| *self.modulus(i));
        Conversion::new(&sources, &[*self.modulus(TARGET)], |_| 3, |_| 5)
    }

    /// Tables for the conversion as one digit.
    fn digit(&self, tables: &mut Tables) -> [usize; 5] {
        let c = self.conversion();
        let (m, combination) = (self.modulus(TARGET), c.combination(0));
        let constants = combination.constants.iter().map(|&w| m.from_stored(w));
        let mut constants: Vec<f64> = constants.map(|w| least(m, w)).collect();
        constants.resize(16, 0.0);
        [
            tables.places((0..16).map(|i| i % 2)),
            tables.places([2]),
            tables.places([0]),
            tables.reals(constants),
            tables.reals(c.inverses().iter().copied()),
        ]
    }
}

/// The digit whose tables are at these places.
fn digits(tables: &Buffer, at: [usize; 5]) -> Digits {
    let [places, counts, skip, constants, inverses] = at.map(|at| tables.at(at));
    Digits {
        count: 1,
        places,
        counts,
        skip,
        constants,
        inverses,
        limbs: 2,
    }
}

#[test]
fn conversion_and_transform() {
    for b in SETS.into_iter().filter_map(Bench::new) {
        let c = b.conversion();
        let ring = b.params.ring();
        let mut sources: Vec<Vec<u64>> = SOURCES
            .iter()
            .map(|&i| b.limb(b.modulus(i).p(), i as u64))
            .collect();
        sources.push(b.limb(3, 9));
        let sources: Vec<&[u64]> = sources.iter().map(|s| &s[..]).collect();
        let mut want = vec![0; b.n];
        c.combine(ring, 0, &sources, &mut want);
        b.transform(TARGET).forward(&mut want);
        let mut tables = Tables::default();
        let target = tables.places([TARGET]);
        let at = b.digit(&mut tables);
        let tables = b.buffer(&tables.0);
        let d = digits(&tables, at);
        let (y, v, out) = (
            b.buffer(&sources[..2].concat()),
            b.buffer(sources[2]),
            b.scratch(1),
        );
        let gpu = &b.cuda.gpu;
        gpu.rows_combine([1, 1], tables.at(target), &d, [y.at(0), v.at(0), out.at(0)])
            .unwrap();
        gpu.columns_forward([1, 1], tables.at(target), &d, out.at(0))
            .unwrap();
        let found = &b.words(&out, 1)[0];
        assert!(b.canonical(TARGET, found) == b.canonical(TARGET, &want));
    }
}

#[test]
fn inverse_scale_and_quotient() {
    for b in SETS.into_iter().filter_map(Bench::new) {
        let (c, ring) = (b.conversion(), b.params.ring());
        let limbs = SOURCES.map(|i| b.limb(2 * b.modulus(i).p(), i as u64));
        let mut want = limbs.to_vec();
        for (k, &i) in SOURCES.iter().enumerate() {
            b.transform(i).inverse(&mut want[k]);
            c.prepare_in_place(ring, k, &mut want[k]);
        }
        let ys: Vec<&[u64]> = want.iter().map(|y| &y[..]).collect();
        let mut quotient = vec![0; b.n];
        c.quotient(ring, &ys, &mut quotient);
        want.push(quotient);
        let mut tables = Tables::default();
        let primes = tables.places(SOURCES);
        let order = tables.places([0, 1]);
        let scales = c.scales().iter().zip(SOURCES);
        let scale = tables.reals(scales.flat_map(|(c, i)| factor(b.modulus(i), c.w)));
        let at = b.digit(&mut tables);
        let input = b.buffer(&limbs.concat());
        let source = tables.words([input.at(0)]);
        let tables = b.buffer(&tables.0);
        let [primes, order, scale, source] = [primes, order, scale, source].map(|at| tables.at(at));
        let (y, v) = (b.scratch(2), b.scratch(1));
        let gpu = &b.cuda.gpu;
        gpu.rows_inverse([2, 1], [primes, order, source, y.at(0)])
            .unwrap();
        gpu.columns_scale([2, 1], [primes, scale, y.at(0)]).unwrap();
        gpu.quotient(1, &digits(&tables, at), [y.at(0), v.at(0)])
            .unwrap();
        let mut found = b.words(&y, 2);
        found.extend(b.words(&v, 1));
        // canonical words, and the roundings of the quotient: equal as they are
        assert!(found == want);
    }
}

#[test]
fn products_with_keys() {
    for b in SETS.into_iter().filter_map(Bench::new) {
        for product in [true, false] {
            let (ring, m, t) = (b.params.ring(), b.modulus(TARGET), b.transform(TARGET));
            let p = m.p();
            let inputs: Vec<Vec<u64>> = (0..4).map(|k| b.limb(2 * p, 100 + k)).collect();
            let keys: Vec<Vec<u64>> = (0..8).map(|k| b.limb(p, k)).collect();
            let coefficients: Vec<Vec<u64>> = (0..4).map(|k| b.limb(2 * p, 50 + k)).collect();
            let galois = ring.frobenius(3);
            let (scale, special) = (m.shoup(p - 2), p - 3);
            // the first digit owns the prime, where it is a source
            let limbs: Vec<KeyLimb> = keys.iter().map(|k| KeyLimb::new(k)).collect();
            let key = |k: usize| [&limbs[2 * k], &limbs[2 * k + 1]];
            let terms = [
                (
                    if product {
                        Factor::Third
                    } else {
                        Factor::Digit(0)
                    },
                    key(0),
                ),
                (Factor::Digit(1), key(1)),
                (
                    if product {
                        Factor::Fourth
                    } else {
                        Factor::Digit(2)
                    },
                    key(2),
                ),
                (Factor::Digit(3), key(3)),
            ];
            let by_row = vec![special; ring.rows()];
            let tensor = Tensor {
                x: [&inputs[0], &inputs[1]],
                y: [&inputs[2], &inputs[3]],
                map: &galois,
                scale,
            };
            let sums = ProductSums {
                tensors: if product { &[tensor] } else { &[] },
                by_row: &by_row,
                terms: &terms,
            };
            let mut digits = coefficients.clone();
            for row in digits.iter_mut().flat_map(|d| d.chunks_mut(ring.row_len())) {
                t.forward_rows(row);
            }
            let rows = digits.concat();
            let digits: Vec<&mut [u64]> = digits.iter_mut().map(|d| &mut d[..]).collect();
            let mut want = [vec![0; b.n], vec![0; b.n]];
            let out = want.each_mut().map(|w| &mut w[..]);
            product_sums(ring, t, &sums, &mut [digits], &mut [out]);
            let mut tables = Tables::default();
            let prime = tables.places([TARGET]);
            let own = tables.places([usize::from(product), 0]);
            let scale = tables.reals(factor(m, m.from_stored(scale.w)));
            let special = tables.reals([least(m, special); 16]);
            // keys hold a limb for every prime; that of the target is in place
            let held: Vec<Buffer> = keys.iter().map(|k| b.buffer(k)).collect();
            let keys = held
                .iter()
                .map(|k| k.at(0).wrapping_sub(8 * (TARGET * b.n) as u64));
            let keys = tables.words(keys);
            let held_inputs: Vec<Buffer> = inputs.iter().map(|x| b.buffer(x)).collect();
            let xs = tables.words(held_inputs[..2].iter().map(|x| x.at(0)));
            let ys = tables.words(held_inputs[2..].iter().map(|x| x.at(0)));
            let tables = b.buffer(&tables.0);
            let at = |at: usize| At(tables.at(at));
            let (extended, out) = (b.buffer(&rows), b.scratch(2));
            b.cuda
                .gpu
                .product_columns(
                    [1, 1],
                    &[
                        at(prime),
                        Int(usize::from(product)),
                        at(own),
                        Int(2),
                        At(extended.at(0)),
                        at(xs),
                        at(ys),
                        Map(map(&galois)),
                        at(scale),
                        at(special),
                        at(keys),
                        At(out.at(0)),
                    ],
                )
                .unwrap();
            for (found, want) in b.words(&out, 2).iter().zip(&want) {
                assert!(b.canonical(TARGET, found) == b.canonical(TARGET, want));
            }
        }
    }
}

#[test]
fn mixing_and_keys() {
    for b in SETS.into_iter().filter_map(Bench::new) {
        let (ring, m, t) = (b.params.ring(), b.modulus(TARGET), b.transform(TARGET));
        let sums: Vec<Vec<u64>> = (0..8).map(|k| b.limb(2 * m.p(), k)).collect();
        let keys: Vec<Vec<u64>> = (0..8).map(|k| b.limb(m.p(), 20 + k)).collect();
        let two = t.row_values(&[1, 5, 9]);
        let shoup: Vec<_> = two.iter().map(|&w| m.shoup(w)).collect();
        let p = m.shoup(m.p() - 7);
        let mut want = sums.clone();
        for part in 0..2 {
            let mut column = want.iter_mut().skip(part).step_by(2);
            let column = [(); 4].map(|()| &mut column.next().unwrap()[..]);
            kernel::mix_column(ring, m, &shoup, column);
        }
        for (sum, key) in want.iter_mut().zip(&keys) {
            kernel::scale_add(ring, m, key, p, sum);
        }
        let mut tables = Tables::default();
        let prime = tables.places([TARGET]);
        let two = tables.reals(two.iter().flat_map(|&w| factor(m, w)));
        let p = tables.reals(factor(m, p.w));
        let held: Vec<Buffer> = keys.iter().map(|k| b.buffer(k)).collect();
        let keys = tables.words(held.iter().map(|k| k.at(0)));
        let (tables, sums) = (b.buffer(&tables.0), b.buffer(&sums.concat()));
        let [prime, two, p, keys] = [prime, two, p, keys].map(|at| At(tables.at(at)));
        let args = [prime, Int(1), two, p, keys, At(sums.at(0))];
        b.cuda.gpu.mix_keys(1, &args).unwrap();
        for (found, want) in b.words(&sums, 8).iter().zip(&want) {
            assert!(b.canonical(TARGET, found) == b.canonical(TARGET, want));
        }
    }
}
