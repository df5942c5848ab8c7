//! Every vector kernel against its portable twin, and both against plain modular arithmetic.
use super::*;
use crate::simd::Backend;

/// From the smallest admitted modulus to the largest prime of the shipped sets, below 2^47.
const PRIMES: [u64; 4] = [65_537, 16_776_961, 131_311_739_216_641, SPECIAL];
const SPECIAL: u64 = 140_737_437_991_681;

fn limb(n: usize, bound: u64, seed: u64) -> Vec<u64> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..n)
        .map(|i| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            if i % 97 == 0 { bound - 1 } else { x % bound }
        })
        .collect()
}

/// Runs `f` on every backend for m = 255 and m = 65535 and all primes. Integer kernels must agree on lazy words, all
/// on canonical ones.
fn on_all(f: impl Fn(&Ring, &Modulus) -> Vec<Vec<u64>>) {
    for m in [255, 65535] {
        for p in PRIMES {
            let modulus = Modulus::new(p);
            let outs: Vec<Vec<Vec<u64>>> = Backend::available()
                .map(|b| f(&Ring::with_backend(m, b).unwrap(), &modulus))
                .collect();
            assert!(outs.iter().flatten().flatten().all(|&x| x < 2 * p));
            let canonical = outs.iter().map(|limbs| {
                let words = limbs.iter().flatten();
                words.map(|&x| modulus.canonical(x)).collect()
            });
            let canonical: Vec<Vec<u64>> = canonical.collect();
            assert!(canonical.windows(2).all(|w| w[0] == w[1]), "m {m}, p {p}");
            // integers are reduced the same way, doubles by signed representatives
            let of_integers = Backend::available().zip(&outs);
            let of_integers = of_integers
                .filter(|&(backend, _)| matches!(backend, Backend::Portable | Backend::Avx512Ifma));
            let of_integers: Vec<_> = of_integers.map(|(_, limbs)| limbs).collect();
            assert!(of_integers.windows(2).all(|w| w[0] == w[1]), "m {m}, p {p}");
        }
    }
}

#[test]
fn sums_are_the_sums() {
    on_all(|ring, m| {
        let n = ring.n();
        let sources: Vec<Vec<u64>> = (0..9).map(|k| limb(n, 4 * m.p(), k)).collect();
        let sources: Vec<&[u64]> = sources.iter().map(|s| &s[..]).collect();
        // as long as the rows of a round, and longer
        let long = (0..1024).map(|k| (k % 9) as u16).collect();
        let rows = [vec![3], vec![0, 8], (0..9).collect(), long];
        let mut out = vec![vec![1; n]; rows.len()];
        let mut limbs: Vec<&mut [u64]> = out.iter_mut().map(|o| &mut o[..]).collect();
        sums(ring, m, &sources, &rows, &mut limbs);
        for (row, out) in rows.iter().zip(&out) {
            for (i, &x) in out.iter().enumerate().step_by(61) {
                let terms = row.iter().map(|&k| u128::from(sources[usize::from(k)][i]));
                assert_eq!(
                    u128::from(x % m.p()),
                    terms.sum::<u128>() % u128::from(m.p())
                );
            }
        }
        out
    });
}

#[test]
fn inner_product_twins() {
    for outputs in [1, 2, 3, 4, 7] {
        inner_product_of(outputs);
    }
}

#[test]
fn sums_of_two() {
    on_all(|ring, m| {
        let (n, p) = (ring.n(), m.p());
        let [a, b] = [3, 4].map(|k| limb(n, 2 * p, k));
        let mut out = vec![0; n];
        add(ring, m, &a, &b, &mut out);
        assert!((0..n).all(|i| out[i] % p == (a[i] + b[i]) % p));
        vec![out]
    });
}

#[test]
fn dot_adds_products() {
    for count in [0, 1, 3, 24] {
        on_all(|ring, m| {
            let (n, p) = (ring.n(), m.p());
            let limbs: Vec<_> = (0..=2 * count as u64)
                .map(|k| limb(n, 2 * p, 7 + k))
                .collect();
            let terms = limbs[1..]
                .chunks_exact(2)
                .map(|pair| [&pair[0][..], &pair[1][..]]);
            let terms: Vec<[&[u64]; 2]> = terms.collect();
            let [mut out, mut sum] = [(); 2].map(|()| limbs[0].clone());
            dot(ring, m, &terms, false, &mut out);
            dot(ring, m, &terms, true, &mut sum);
            for i in [0, 5, 97, n - 1] {
                let products = terms.iter().map(|[x, y]| m.mul_stored(x[i] % p, y[i] % p));
                let want = products.fold(0, |sum, x| m.add(sum, x));
                assert_eq!(m.canonical(out[i]), want);
                assert_eq!(m.canonical(sum[i]), m.add(want, limbs[0][i] % p));
            }
            vec![out, sum]
        });
    }
}

#[test]
fn dots_share_factors() {
    for (elements, count) in [(1, 0), (1, 48), (2, 3), (4, 41), (7, 5)] {
        on_all(|ring, m| {
            let (n, p) = (ring.n(), m.p());
            let limbs = |count: usize, below: u64, seed: u64| -> Vec<Vec<u64>> {
                let numbers = 0..count as u64;
                numbers.map(|k| limb(n, below, seed + k)).collect()
            };
            let y = limbs(count, p, 3);
            let xs: Vec<_> = (0..elements as u64)
                .map(|e| limbs(count, 2 * p, 100 * (e + 1)))
                .collect();
            let before = limbs(elements, 2 * p, 9);
            let range = n - RANGE..n;
            let part = |limbs: &'_ [Vec<u64>]| -> Vec<Vec<u64>> {
                limbs.iter().map(|l| l[range.clone()].to_vec()).collect()
            };
            let (y, xs): (_, Vec<_>) = (part(&y), xs.iter().map(|x| part(x)).collect());
            let ys: Vec<&[u64]> = y.iter().map(|y| &y[..]).collect();
            let x: Vec<Vec<&[u64]>> = xs
                .iter()
                .map(|x| x.iter().map(|x| &x[..]).collect())
                .collect();
            let x: Vec<&[&[u64]]> = x.iter().map(|x| &x[..]).collect();
            let mut made = Vec::new();
            for add in [false, true] {
                let mut out = part(&before);
                let mut outs: Vec<&mut [u64]> = out.iter_mut().map(|o| &mut o[..]).collect();
                dots(ring, m, &x, [&ys, &ys], add, &mut outs);
                for (e, (out, before)) in out.iter().zip(part(&before)).enumerate() {
                    for i in [0, 5, RANGE - 1] {
                        let terms = xs[e].iter().zip(&y);
                        let products = terms.map(|(x, y)| m.mul_stored(x[i] % p, y[i]));
                        let start = if add { before[i] % p } else { 0 };
                        let want = products.fold(start, |sum, x| m.add(sum, x));
                        assert_eq!(m.canonical(out[i]), want);
                    }
                }
                made.extend(out);
            }
            made
        });
    }
}

#[test]
fn limb_sums_are_those_of_integers() {
    for (terms, limbs) in [(1, 1), (64, 3), (5, 8), (29, 13), (42, 28)] {
        let most = 1 << LIMB_BITS;
        let ys: Vec<Vec<u64>> = (0..terms).map(|t| limb(2 * RANGE, most, t)).collect();
        let constants = (0..terms).map(|t| limb(limbs, most, 100 + t));
        let mut constants: Vec<Vec<u64>> = constants.collect();
        constants[0].fill(most - 1);
        let y: Vec<&[u64]> = ys.iter().map(|y| &y[..]).collect();
        for backend in Backend::available() {
            let ring = Ring::with_backend(255, backend).unwrap();
            let mut made = vec![vec![0; 2 * RANGE]; limbs + 2];
            let mut out: Vec<&mut [u64]> = made.iter_mut().map(|o| &mut o[..]).collect();
            limb_sums(&ring, &y, &constants, &mut out);
            for i in 0..2 * RANGE {
                let mut carried = 0u128;
                for (k, out) in made.iter().enumerate() {
                    for (y, c) in ys.iter().zip(&constants) {
                        let c = c.get(k).copied().unwrap_or(0);
                        carried += u128::from(y[i]) * u128::from(c);
                    }
                    assert_eq!(u128::from(out[i]), carried % u128::from(most), "{k}");
                    carried >>= LIMB_BITS;
                }
                assert_eq!(carried, 0);
            }
        }
    }
}

fn inner_product_of(outputs: usize) {
    on_all(|ring, m| {
        let (n, p) = (ring.n(), m.p());
        let maps = [
            ring.frobenius(0),
            ring.frobenius(3),
            ring.galois(7).unwrap(),
        ];
        let limbs: Vec<_> = (0..(15 + outputs) as u64)
            .map(|i| limb(n, 2 * p, i))
            .collect();
        let sources: Vec<Vec<&[u64]>> = (0..15)
            .map(|i| (0..outputs).map(|j| &limbs[i + j][..]).collect())
            .collect();
        let keys = (0..30).map(|i| KeyLimb::new(&limb(n, p, 100 + i)));
        let keys: Vec<KeyLimb> = keys.collect();
        let by_row = limb(ring.rows(), p, 500);
        let terms: Vec<_> = (0..15)
            .map(|i| Term {
                sources: &sources[i],
                map: &maps[i % 3],
                key: [&keys[2 * i], &keys[2 * i + 1]],
            })
            .collect();
        let rows: Vec<_> = (0..9)
            .map(|i| RowTerm {
                sources: &sources[i],
                map: &maps[i % 3],
                by_row: &by_row,
                second: i == 8,
            })
            .collect();
        let mut out = vec![vec![0; n]; 2 * outputs];
        let mut pairs: Vec<[&mut [u64]; 2]> = out
            .chunks_exact_mut(2)
            .map(|c| {
                let (a, b) = c.split_at_mut(1);
                [&mut a[0][..], &mut b[0][..]]
            })
            .collect();
        inner_product(ring, m, &terms, &rows, &mut pairs);
        let output = outputs - 1;
        for i in [0, 5, n - 1] {
            let mut want = 0;
            for t in &terms {
                let x = t.sources[output][t.map.source(i)] % p;
                want = m.add(want, m.from_stored(m.mul(x, t.key[1].words()[i])));
            }
            let t = &rows[8];
            let x = t.sources[output][t.map.source(i)] % p;
            want = m.add(want, m.from_stored(m.mul(x, t.by_row[i / ring.row_len()])));
            assert_eq!(m.canonical(out[2 * output + 1][i]), want);
        }
        out
    });
}

#[test]
fn tensor_twins() {
    on_all(|ring, m| {
        let (n, p) = (ring.n(), m.p());
        let inputs: Vec<_> = (0..4).map(|i| limb(n, 2 * p, i)).collect();
        let map = ring.frobenius(2);
        let t = Tensor {
            x: [&inputs[0], &inputs[1]],
            y: [&inputs[2], &inputs[3]],
            map: &map,
            scale: m.shoup(12345),
        };
        let mut out = vec![vec![0; n]; 4];
        let [a, b, c, d] = &mut out[..] else {
            unreachable!()
        };
        tensor(ring, m, &t, [a, b, c, d]);
        for (part, want) in out[2..].iter().enumerate() {
            let mut found = vec![0; n];
            tensor_part(ring, m, &t, part, &mut found);
            assert!(found == *want);
        }
        for i in [0, 3, n - 1] {
            let j = map.source(i);
            let product = m.mul(inputs[1][i] % p, inputs[3][j] % p);
            let want = m.from_stored(m.mul(product, 12345 % p));
            assert_eq!(m.canonical(out[3][i]), want);
        }
        out
    });
}

#[test]
fn product_twins() {
    on_all(|ring, m| {
        let (n, p) = (ring.n(), m.p());
        let inputs: Vec<_> = (0..4).map(|i| limb(n, 2 * p, i)).collect();
        let [x0, x1, y0, y1] = [0, 1, 2, 3].map(|i| &inputs[i][..]);
        let mut out = vec![vec![0; n]; 3];
        let [a, b, c] = &mut out[..] else {
            unreachable!()
        };
        let factors = [[x0, x1], [y0, y1]];
        product(ring, m, factors, m.shoup(12345), [a, b, c]);
        for i in [0, 3, n - 1] {
            let [x0, x1, y0, y1] = [x0, x1, y0, y1].map(|a| a[i] % p);
            let want = [
                m.mul(x0, y0),
                m.add(m.mul(x0, y1), m.mul(x1, y0)),
                m.mul(m.mul(x1, y1), 12345 % p),
            ];
            let got = [0, 1, 2].map(|part| m.canonical(out[part][i]));
            assert_eq!(got, want.map(|x| m.from_stored(x)));
        }
        out
    });
}

#[test]
fn elementwise_twins() {
    on_all(|ring, m| {
        let (n, p) = (ring.n(), m.p());
        let a: Vec<_> = (0..8).map(|i| limb(n, 1 << 47, i)).collect();
        let sources: Vec<&[u64]> = a.iter().map(Vec::as_slice).collect();
        let constants = limb(8, p, 9);
        let combined = combination(ring, m, &sources, &constants);
        let lazy = limb(n, 2 * p, 3);
        let mut scaled = lazy.clone();
        scale_canonical(ring, m, m.shoup(54321), &mut scaled);
        assert!(scaled.iter().all(|&x| x < p));
        let mut added = limb(n, 2 * p, 4);
        let before = added[7] % p;
        scale_add(ring, m, &lazy, m.shoup(999), &mut added);
        assert_eq!(added[7] % p, m.add(before, m.mul(lazy[7] % p, 999)));
        vec![combined, scaled, added]
    });
    for m in [255, 65535] {
        let quotients: Vec<Vec<u64>> = Backend::available()
            .map(|b| {
                let ring = Ring::with_backend(m, b).unwrap();
                let ys: Vec<_> = PRIMES.iter().map(|&p| limb(ring.n(), p, p)).collect();
                let ys: Vec<&[u64]> = ys.iter().map(Vec::as_slice).collect();
                let mut v = vec![0; ring.n()];
                quotient(&ring, &ys, &PRIMES.map(|p| 1.0 / p as f64), &mut v);
                assert!(v.iter().all(|&x| x <= PRIMES.len() as u64));
                v
            })
            .collect();
        assert!(quotients.windows(2).all(|w| w[0] == w[1]));
    }
}

#[test]
fn mix_column_twins() {
    on_all(|ring, m| {
        let (n, p) = (ring.n(), m.p());
        let mut s: Vec<_> = (0..4).map(|i| limb(n, 2 * p, i)).collect();
        let before: Vec<u64> = s.iter().map(|s| s[n - 1] % p).collect();
        let two: Vec<Shoup> = limb(ring.rows(), p, 8)
            .iter()
            .map(|&x| m.shoup(x))
            .collect();
        let [a, b, c, d] = &mut s[..] else {
            unreachable!()
        };
        mix_column(ring, m, &two, [a, b, c, d]);
        let t = two[ring.rows() - 1].w;
        let doubled = m.add(m.mul(before[2], t), m.mul(before[3], t));
        let rest = m.add(before[3], m.add(before[0], before[1]));
        assert_eq!(s[2][n - 1] % p, m.add(doubled, rest));
        s
    });
}

#[test]
fn inner_product_of_forty_largest_terms() {
    on_all(|ring, m| {
        let (n, p) = (ring.n(), m.p());
        let (lazy, key) = (vec![2 * p - 1; n], KeyLimb::new(&vec![p - 1; n]));
        let by_row = vec![p - 1; ring.rows()];
        let (sources, map) = ([&lazy[..]], ring.frobenius(1));
        let term = Term {
            sources: &sources,
            map: &map,
            key: [&key, &key],
        };
        let row = RowTerm {
            sources: &sources,
            map: &map,
            by_row: &by_row,
            second: true,
        };
        let mut outs = Vec::new();
        for rows in [0, 9, 48] {
            let (mut a, mut b) = (vec![0; n], vec![0; n]);
            let (terms, row_terms) = (vec![term; 48 - rows], vec![row; rows]);
            inner_product(ring, m, &terms, &row_terms, &mut [[&mut a, &mut b]]);
            let sum = |count: u128| {
                let total = count * u128::from(2 * p - 1) * u128::from(p - 1);
                m.from_stored((total % u128::from(p)) as u64)
            };
            let (first, second) = (sum(48 - rows as u128), sum(48));
            assert!(a.iter().all(|&x| m.canonical(x) == first));
            assert!(b.iter().all(|&x| m.canonical(x) == second));
            outs.extend([a, b]);
        }
        outs
    });
}

fn combination(ring: &Ring, modulus: &Modulus, sources: &[&[u64]], constants: &[u64]) -> Vec<u64> {
    let mut out = vec![0; ring.n()];
    let one = Combination { modulus, constants };
    combine(ring, &[one], sources, &mut [&mut out[..]]);
    out
}

#[test]
fn several_combinations_are_those_of_one_each() {
    on_all(|ring, m| {
        let (n, row) = (ring.n(), ring.row_len());
        let inputs: Vec<_> = (0..7).map(|i| limb(n, 1 << 47, 40 + i)).collect();
        let sources: Vec<&[u64]> = inputs.iter().map(Vec::as_slice).collect();
        let mut moduli = vec![*m; 9];
        PRIMES
            .iter()
            .zip(&mut moduli)
            .for_each(|(&p, m)| *m = Modulus::new(p));
        let constants: Vec<_> = (50..)
            .zip(&moduli)
            .map(|(i, m)| limb(7, m.p(), i))
            .collect();
        let all: Vec<Combination<'_>> = moduli
            .iter()
            .zip(&constants)
            .map(|(modulus, constants)| Combination { modulus, constants })
            .collect();
        let each: Vec<Vec<u64>> = all
            .iter()
            .map(|c| combination(ring, c.modulus, &sources, c.constants))
            .collect();
        for count in 1..=all.len() {
            let mut out = vec![vec![0; n]; count];
            for start in (0..n).step_by(row) {
                let sources: Vec<&[u64]> = sources.iter().map(|s| &s[start..start + row]).collect();
                let rows = out.iter_mut().map(|o| &mut o[start..start + row]);
                let mut rows: Vec<&mut [u64]> = rows.collect();
                combine(ring, &all[..count], &sources, &mut rows);
            }
            assert!(out == each[..count], "{count}");
        }
        each[PRIMES.len()..].to_vec()
    });
}

#[test]
fn combine_of_sixteen_largest_sources() {
    on_all(|ring, m| {
        let (n, p) = (ring.n(), m.p());
        let source = vec![(1 << 47) - 1; n];
        let out = combination(ring, m, &[&source[..]; 16], &[p - 1; 16]);
        let total = 16 * ((1u128 << 47) - 1) * u128::from(p - 1);
        let want = m.from_stored((total % u128::from(p)) as u64);
        assert!(out.iter().all(|&x| m.canonical(x) == want));
        vec![out]
    });
}

#[test]
fn conversions_agree_with_wide_arithmetic() {
    on_all(|ring, m| {
        let (n, p) = (ring.n(), m.p());
        let wide = u128::from(p);
        let inputs: Vec<_> = (0..16).map(|i| limb(n, 1 << 47, 70 + i)).collect();
        let sources: Vec<&[u64]> = inputs.iter().map(Vec::as_slice).collect();
        let constants = limb(16, p, 90);
        let combined = combination(ring, m, &sources, &constants);
        let any = limb(n, 1 << WORD_BITS, 91);
        let mut scaled = any.clone();
        scale_canonical(ring, m, m.shoup(constants[3]), &mut scaled);
        for i in 0..n {
            let total = sources.iter().zip(&constants).fold(0, |sum, (s, &c)| {
                (sum + u128::from(s[i]) * u128::from(c)) % wide
            });
            // the sum carries R once more than the result
            let lifted = u128::from(combined[i]) * (1 << WORD_BITS) % wide;
            assert_eq!(lifted, total, "combine at {i}");
            let product = u128::from(any[i]) * u128::from(constants[3]) % wide;
            assert_eq!(u128::from(scaled[i]), product, "scale at {i}");
        }
        vec![combined, scaled]
    });
}

#[test]
fn quotient_agrees_with_wide_arithmetic() {
    for m in [255, 65535] {
        for backend in Backend::available() {
            let ring = Ring::with_backend(m, backend).unwrap();
            let ys: Vec<_> = PRIMES.iter().map(|&p| limb(ring.n(), p, p)).collect();
            let sources: Vec<&[u64]> = ys.iter().map(Vec::as_slice).collect();
            let mut v = vec![0; ring.n()];
            quotient(&ring, &sources, &PRIMES.map(|p| 1.0 / p as f64), &mut v);
            for i in 0..ring.n() {
                // the sum of y/p in units of 2^-75, each summand rounded down
                let unit = 1u128 << 75;
                let terms = ys.iter().zip(PRIMES);
                let sum: u128 = terms
                    .map(|(y, p)| (u128::from(y[i]) << 75) / u128::from(p))
                    .sum();
                let slack = unit >> 45;
                let (low, high) = (sum + unit / 2 - slack, sum + unit / 2 + slack);
                let (low, high) = ((low / unit) as u64, (high / unit) as u64);
                assert!((low..=high).contains(&v[i]), "{} at {i}", v[i]);
            }
        }
    }
}

/// Both twins refuse slices of the wrong length.
#[test]
fn lengths_are_checked_on_every_backend() {
    for backend in Backend::available() {
        let ring = Ring::with_backend(255, backend).unwrap();
        let m = Modulus::new(SPECIAL);
        let (n, c) = (ring.n(), m.shoup(1));
        let (long, short) = (vec![0; n], vec![0; n - 8]);
        let (key, short_key) = (KeyLimb::new(&long), KeyLimb::new(&short));
        let refuses = |f: &mut dyn FnMut()| {
            let f = std::panic::AssertUnwindSafe(f);
            assert!(std::panic::catch_unwind(f).is_err(), "{backend:?}");
        };
        refuses(&mut || scale_add(&ring, &m, &short, c, &mut long.clone()));
        refuses(&mut || scale_canonical(&ring, &m, c, &mut short.clone()));
        refuses(&mut || sums(&ring, &m, &[&short], &[vec![0]], &mut [&mut long.clone()]));
        refuses(&mut || sums(&ring, &m, &[&long], &[], &mut [&mut long.clone()]));
        refuses(&mut || quotient(&ring, &[&short], &[1.0], &mut long.clone()));
        let combine = |sources: &[&[u64]], constants: &[u64]| {
            let modulus = &m;
            let one = Combination { modulus, constants };
            combine(&ring, &[one], sources, &mut [&mut long.clone()]);
        };
        refuses(&mut || combine(&[&short], &[1]));
        refuses(&mut || combine(&[&long], &[1, 1]));
        let map = ring.frobenius(1);
        let x = [&long[..], &short];
        let (mut a, mut b, mut d, mut e) = (long.clone(), long.clone(), long.clone(), long.clone());
        refuses(&mut || {
            let t = Tensor {
                x,
                y: [&long, &long],
                map: &map,
                scale: c,
            };
            tensor(&ring, &m, &t, [&mut a, &mut b, &mut d, &mut e]);
        });
        refuses(&mut || {
            product(&ring, &m, [x, [&long, &long]], c, [&mut a, &mut b, &mut d]);
        });
        refuses(&mut || {
            let two = vec![c; ring.rows() - 1];
            mix_column(&ring, &m, &two, [&mut a, &mut b, &mut d, &mut e]);
        });
        refuses(&mut || {
            let term = Term {
                sources: &[&short],
                map: &map,
                key: [&key, &key],
            };
            inner_product(&ring, &m, &[term], &[], &mut [[&mut a, &mut b]]);
        });
        refuses(&mut || {
            let term = Term {
                sources: &[&long],
                map: &map,
                key: [&key, &short_key],
            };
            inner_product(&ring, &m, &[term], &[], &mut [[&mut a, &mut b]]);
        });
    }
}

/// On every backend, against sums of products; and as fractions of p.
#[test]
fn rows_are_summed_and_put_on_the_torus() {
    for (conductor, rows) in [(15, 16), (257, 3), (3855, 16)] {
        for p in PRIMES {
            let m = &Modulus::new(p);
            let outs: Vec<Vec<Vec<u64>>> = Backend::available()
                .map(|b| {
                    let ring = &Ring::with_backend(conductor, b).unwrap();
                    let n = ring.n();
                    let [x, y, z] = [1, 2, 3].map(|seed| limb(rows * n, p, seed));
                    let maps = [[0, 0, 0], [1, 3, 77], [0, 1, 255]].map(|e| ring.translation(e));
                    let mut sums = vec![vec![0; n]; 2 * maps.len()];
                    let mut pairs = sums.chunks_exact_mut(2);
                    let mut limbs: Vec<[&mut [u64]; 2]> = pairs
                        .by_ref()
                        .map(|pair| {
                            let (a, b) = pair.split_at_mut(1);
                            [&mut a[0][..], &mut b[0][..]]
                        })
                        .collect();
                    let maps: Vec<&GaloisMap> = maps.iter().collect();
                    row_sums(ring, m, &x, [&y, &z], &maps, &mut limbs);
                    for (map, pair) in maps.iter().zip(sums.chunks_exact(2)) {
                        for i in (0..n).step_by(7) {
                            let at = map.source(i);
                            for (key, sum) in [&y, &z].iter().zip(pair) {
                                let want = (0..rows).fold(0, |sum, r| {
                                    m.add(sum, m.mul_stored(x[r * n + at], key[r * n + i]))
                                });
                                assert_eq!(sum[i], want);
                            }
                        }
                    }
                    let mut torus = vec![0; n];
                    let lazy: Vec<u64> = sums[0].iter().map(|x| x + p).collect();
                    to_torus(ring, m, &lazy, &mut torus);
                    for (t, x) in torus.iter().zip(&sums[0]) {
                        let want = (u128::from(*x) << 64) / u128::from(p);
                        assert!((*t).abs_diff(want as u64) <= 1 << 14, "{t} {want}");
                    }
                    sums.push(torus);
                    sums
                })
                .collect();
            assert!(outs.windows(2).all(|w| w[0] == w[1]), "{conductor}, p {p}");
        }
    }
}

#[test]
fn outputs_share_readings() {
    let readings: Vec<usize> = (0..=9).map(key_readings).collect();
    assert_eq!(readings, [0, 1, 1, 2, 1, 2, 2, 3, 2, 3]);
}
