//! Every vector kernel against its portable twin, and both against plain modular arithmetic.
use super::*;
use crate::simd::Backend;
use crate::tests::{PRIMES, SPECIAL, WIDE, limb, on_each, rings, same_on_each};

fn limbs(count: usize, n: usize, bound: u64, seed: u64) -> Vec<Vec<u64>> {
    let seeds = seed..seed + count as u64;
    seeds.map(|seed| limb(n, bound, seed)).collect()
}

fn refs(limbs: &[Vec<u64>]) -> Vec<&[u64]> {
    limbs.iter().map(Vec::as_slice).collect()
}

fn muts(limbs: &mut [Vec<u64>]) -> Vec<&mut [u64]> {
    limbs.iter_mut().map(Vec::as_mut_slice).collect()
}

fn pairs(limbs: &mut [Vec<u64>]) -> Vec<[&mut [u64]; 2]> {
    let pairs = limbs.as_chunks_mut().0.iter_mut();
    pairs
        .map(|pair: &mut [_; 2]| pair.each_mut().map(|limb| &mut limb[..]))
        .collect()
}

/// Runs `f`, which also gets the degree and the prime, on every backend for m = 255 and m = 65535, R and K, and all
/// primes.
/// Integer kernels must agree on lazy words, all on canonical ones.
fn on_all(f: impl Fn(&Ring, &Modulus, usize, u64) -> Vec<Vec<u64>>) {
    let rings = rings([255, 65535]);
    for (ring, p) in PRIMES
        .iter()
        .flat_map(|&p| rings.iter().map(move |r| (r, p)))
    {
        let modulus = Modulus::new(p);
        let outs = on_each(ring, |ring| f(ring, &modulus, ring.n(), p).concat());
        let of_integers = |b| matches!(b, Backend::Portable | Backend::Avx512Ifma);
        for (backend, out) in Backend::available().zip(&outs) {
            assert!(out.iter().all(|&x| x < 2 * p));
            // the first is portable; integers are reduced the same way, doubles by signed representatives
            let same = out.iter().zip(&outs[0]).all(|(&x, &y)| {
                let lazy = x == y || !of_integers(backend);
                lazy && modulus.canonical(x) == modulus.canonical(y)
            });
            assert!(same, "{ring:?}, p {p}, {backend:?}");
        }
    }
}

#[test]
fn sums_are_the_sums() {
    on_all(|ring, m, n, p| {
        let sources = limbs(9, n, 4 * p, 0);
        // as long as the rows of a round, and longer
        let long = (0..1024).map(|k| (k % 9) as u16).collect();
        let rows = [vec![3], vec![0, 8], (0..9).collect(), long];
        let mut out = vec![vec![1; n]; rows.len()];
        sums(ring, m, &refs(&sources), &rows, &mut muts(&mut out));
        for (row, out) in rows.iter().zip(&out) {
            for (i, &x) in out.iter().enumerate().step_by(61) {
                let terms = row.iter().map(|&k| u128::from(sources[usize::from(k)][i]));
                let want = terms.sum::<u128>() % u128::from(p);
                assert_eq!(u128::from(x % p), want);
            }
        }
        out
    });
}

#[test]
fn dot_adds_products() {
    for count in [0, 1, 3, 24] {
        on_all(|ring, m, n, p| {
            let (start, limbs) = (limb(n, 2 * p, 7), limbs(2 * count, n, 2 * p, 8));
            let limbs = refs(&limbs);
            let terms: &[[&[u64]; 2]] = limbs.as_chunks().0;
            let [mut out, mut sum] = [(); 2].map(|()| start.clone());
            dot(ring, m, terms, false, &mut out);
            dot(ring, m, terms, true, &mut sum);
            for i in [0, 5, 97, n - 1] {
                let products = terms.iter().map(|[x, y]| m.mul_stored(x[i] % p, y[i] % p));
                let want = products.fold(0, |sum, x| m.add(sum, x));
                assert_eq!(m.canonical(out[i]), want);
                assert_eq!(m.canonical(sum[i]), m.add(want, start[i] % p));
            }
            vec![out, sum]
        });
    }
}

#[test]
fn dots_share_factors() {
    for (elements, count) in [(1, 0), (1, 48), (2, 3), (4, 41), (7, 5)] {
        on_all(|ring, m, _, p| {
            let y = limbs(count, RANGE, p, 3);
            let ys = refs(&y);
            let xs = (1..=elements).map(|e| limbs(count, RANGE, 2 * p, 100 * e));
            let xs: Vec<_> = xs.collect();
            let x: Vec<Vec<&[u64]>> = xs.iter().map(|x| refs(x)).collect();
            let x: Vec<&[&[u64]]> = x.iter().map(|x| &x[..]).collect();
            let before = limbs(xs.len(), RANGE, 2 * p, 9);
            let run = |add| {
                let mut out = before.clone();
                dots(ring, m, &x, [&ys, &ys], add, &mut muts(&mut out));
                for (e, (out, before)) in out.iter().zip(&before).enumerate() {
                    for i in [0, 5, RANGE - 1] {
                        let terms = xs[e].iter().zip(&y);
                        let products = terms.map(|(x, y)| m.mul_stored(x[i] % p, y[i]));
                        let start = if add { before[i] % p } else { 0 };
                        let want = products.fold(start, |sum, x| m.add(sum, x));
                        assert_eq!(m.canonical(out[i]), want);
                    }
                }
                out
            };
            [run(false), run(true)].concat()
        });
    }
}

#[test]
fn limb_sums_are_those_of_integers() {
    for (terms, count) in [(1, 1), (64, 3), (5, 8), (29, 13), (42, 28)] {
        let most = 1 << LIMB_BITS;
        let ys = limbs(terms, 2 * RANGE, most, 0);
        let mut constants = limbs(terms, count, most, 100);
        constants[0].fill(most - 1);
        on_each(&Ring::new(255).unwrap(), |ring| {
            let mut made = vec![vec![0; 2 * RANGE]; count + 2];
            limb_sums(ring, &refs(&ys), &constants, &mut muts(&mut made));
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
        });
    }
}

/// Few terms, and as many as a reduction takes, of the largest words.
#[test]
fn inner_products() {
    let some = [1, 2, 3, 4, 7].map(|outputs| (outputs, 15, 9, false));
    let largest = [(1, 48, 0, true), (1, 39, 9, true), (1, 0, 48, true)];
    for (outputs, terms, rows, largest) in some.into_iter().chain(largest) {
        on_all(|ring, m, n, p| {
            let words = |n: usize, bound, seed| match largest {
                true => vec![bound - 1; n],
                false => limb(n, bound, seed),
            };
            let maps = [
                ring.frobenius(0),
                ring.frobenius(3),
                ring.galois(7).unwrap(),
            ];
            let limbs = (0..15 + outputs as u64).map(|i| words(n, 2 * p, i));
            let limbs: Vec<_> = limbs.collect();
            let limbs = refs(&limbs);
            let keys = (0..30).map(|i| KeyLimb::new(&words(n, p, 100 + i)));
            let keys: Vec<KeyLimb> = keys.collect();
            let by_row = words(ring.rows(), p, 500);
            let sources = |i: usize| &limbs[i % 15..][..outputs];
            let term = |i: usize| Term {
                sources: sources(i),
                map: &maps[i % 3],
                key: [&keys[2 * i % 30], &keys[2 * i % 30 + 1]],
            };
            let row = |i: usize| RowTerm {
                sources: sources(i),
                map: &maps[i % 3],
                by_row: &by_row,
                second: i % 4 == 3,
            };
            let terms: Vec<_> = (0..terms).map(term).collect();
            let rows: Vec<_> = (0..rows).map(row).collect();
            let mut out = vec![vec![0; n]; 2 * outputs];
            inner_product(ring, m, &terms, &rows, &mut pairs(&mut out));
            let last = outputs - 1;
            for (i, part) in [0, 5, n - 1].map(|i| [(i, 0), (i, 1)]).concat() {
                let product = |sources: &[&[u64]], map: &GaloisMap, factor: u64| {
                    m.mul_stored(sources[last][map.source(i)] % p, factor)
                };
                let terms = terms.iter();
                let terms = terms.map(|t| {
                    let mut word = [0];
                    t.key[part].copy_to(i, &mut word);
                    product(t.sources, t.map, word[0])
                });
                let rows = rows.iter().filter(|row| usize::from(row.second) == part);
                let rows = rows.map(|r| product(r.sources, r.map, by_row[i / ring.row_len()]));
                let want = terms.chain(rows).fold(0, |sum, x| m.add(sum, x));
                assert_eq!(m.canonical(out[2 * last + part][i]), want);
            }
            out
        });
    }
}

#[test]
fn products() {
    on_all(|ring, m, n, p| {
        let inputs = limbs(4, n, 2 * p, 0);
        let [x0, x1, y0, y1] = refs(&inputs)[..].try_into().unwrap();
        let (x, y, scale) = ([x0, x1], [y0, y1], m.shoup(12345));
        let map = ring.frobenius(2);
        let t = Tensor {
            x,
            y,
            map: &map,
            scale,
        };
        let mut out = vec![vec![0; n]; 7];
        let [a, b, c, d, e, f, g] = muts(&mut out).try_into().unwrap();
        tensor(ring, m, &t, [a, b, c, d]);
        product(ring, m, [x, y], scale, [e, f, g]);
        for (part, want) in out[2..4].iter().enumerate() {
            let mut found = vec![0; n];
            tensor_part(ring, m, &t, part, &mut found);
            assert!(found == *want);
        }
        for i in [0, 3, n - 1] {
            let j = map.source(i);
            let last = m.mul(m.mul(x1[i] % p, y1[j] % p), 12345 % p);
            let [x0, x1, y0, y1] = [x0, x1, y0, y1].map(|a| a[i] % p);
            let middle = m.add(m.mul(x0, y1), m.mul(x1, y0));
            let want = [last, m.mul(x0, y0), middle, m.mul(m.mul(x1, y1), 12345 % p)];
            let found = [3, 4, 5, 6].map(|part| m.canonical(out[part][i]));
            assert_eq!(found, want.map(|x| m.from_stored(x)));
        }
        out
    });
}

#[test]
fn mix_column_twins() {
    on_all(|ring, m, n, p| {
        let mut s = limbs(4, n, 2 * p, 0);
        let before: Vec<u64> = s.iter().map(|s| s[n - 1] % p).collect();
        let two = limb(ring.rows(), p, 8);
        let two: Vec<Shoup> = two.iter().map(|&x| m.shoup(x)).collect();
        mix_column(ring, m, &two, muts(&mut s).try_into().unwrap());
        let t = two[ring.rows() - 1].w;
        let doubled = m.add(m.mul(before[2], t), m.mul(before[3], t));
        let rest = m.add(before[3], m.add(before[0], before[1]));
        assert_eq!(s[2][n - 1] % p, m.add(doubled, rest));
        s
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
    on_all(|ring, m, n, _| {
        let row = ring.row_len();
        let inputs = limbs(7, n, 1 << 48, 40);
        let sources = refs(&inputs);
        let moduli: Vec<Modulus> = PRIMES
            .map(Modulus::new)
            .into_iter()
            .chain([*m; 5])
            .collect();
        let constants: Vec<_> = (50..)
            .zip(&moduli)
            .map(|(i, m)| limb(7, m.p(), i))
            .collect();
        let all = moduli.iter().zip(&constants);
        let all = all.map(|(modulus, constants)| Combination { modulus, constants });
        let all: Vec<Combination<'_>> = all.collect();
        let each = all
            .iter()
            .map(|c| combination(ring, c.modulus, &sources, c.constants));
        let each: Vec<Vec<u64>> = each.collect();
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
fn conversions_agree_with_wide_arithmetic() {
    on_all(|ring, m, n, p| {
        let wide = u128::from(p);
        let inputs = limbs(16, n, WIDE, 70);
        let any = limb(n, 1 << WORD_BITS, 91);
        let [lazy, before] = [3, 4].map(|seed| limb(n, 2 * p, seed));
        let mut outs = Vec::new();
        for constants in [limb(16, p, 90), vec![p - 1; 16]] {
            let combined = combination(ring, m, &refs(&inputs), &constants);
            let (c, factor) = (constants[3], m.shoup(constants[3]));
            let (mut scaled, mut added) = (any.clone(), before.clone());
            scale_canonical(ring, m, factor, &mut scaled);
            scale_add(ring, m, &lazy, factor, &mut added);
            let mut both = vec![0; n];
            add(ring, m, &lazy, &before, &mut both);
            for i in 0..n {
                let terms = inputs.iter().zip(&constants);
                let terms = terms.map(|(s, &c)| u128::from(s[i]) * u128::from(c) % wide);
                // the sum carries R once more than the result
                let lifted = u128::from(combined[i]) * (1 << WORD_BITS) % wide;
                assert_eq!(lifted, terms.sum::<u128>() % wide, "combine at {i}");
                let product = u128::from(any[i]) * u128::from(c) % wide;
                assert_eq!(u128::from(scaled[i]), product, "scale at {i}");
                let sum = m.add(before[i] % p, m.mul(lazy[i] % p, c));
                assert_eq!(added[i] % p, sum, "scale and add at {i}");
                assert_eq!(both[i] % p, (lazy[i] + before[i]) % p, "add at {i}");
            }
            outs.extend([combined, scaled, added, both]);
        }
        outs
    });
}

#[test]
fn quotient_agrees_with_wide_arithmetic() {
    for ring in rings([255, 65535]) {
        same_on_each(&ring, |ring| {
            let ys = PRIMES.map(|p| limb(ring.n(), p, p));
            let mut v = vec![0; ring.n()];
            quotient(ring, &refs(&ys), &PRIMES.map(|p| 1.0 / p as f64), &mut v);
            for i in 0..ring.n() {
                // the sum of y/p in units of 2^-75, each summand rounded down
                let unit = 1u128 << 75;
                let terms = ys.iter().zip(PRIMES);
                let terms = terms.map(|(y, p)| (u128::from(y[i]) << 75) / u128::from(p));
                let (half, slack) = (terms.sum::<u128>() + unit / 2, unit >> 45);
                let [low, high] = [half - slack, half + slack].map(|x| (x / unit) as u64);
                assert!((low..=high).contains(&v[i]), "{} at {i}", v[i]);
            }
            v
        });
    }
}

/// Both twins refuse slices of the wrong length.
#[test]
fn lengths_are_checked_on_every_backend() {
    on_each(&Ring::new(255).unwrap(), |ring| {
        let m = &Modulus::new(SPECIAL);
        let (n, scale) = (ring.n(), m.shoup(1));
        let (long, short) = (&vec![0; n][..], &vec![0; n - 8][..]);
        let (key, short_key) = (KeyLimb::new(long), KeyLimb::new(short));
        let map = &ring.frobenius(1);
        let inner = |source: &[u64], second: &KeyLimb| {
            let (sources, key) = (&[source][..], [&key, second]);
            let term = Term { sources, map, key };
            inner_product(ring, m, &[term], &[], &mut pairs(&mut vec![vec![0; n]; 2]));
        };
        let combine = |sources: &[&[u64]], constants: &[u64]| {
            combination(ring, m, sources, constants);
        };
        let (x, y) = ([long, short], [long, long]);
        type Call<'a> = &'a dyn Fn(&mut [u64]);
        let calls: [Call<'_>; 12] = [
            &|out| scale_add(ring, m, short, scale, out),
            &|out| scale_canonical(ring, m, scale, &mut out[8..]),
            &|out| sums(ring, m, &[short], &[vec![0]], &mut [out]),
            &|out| sums(ring, m, &[long], &[], &mut [out]),
            &|out| quotient(ring, &[short], &[1.0], out),
            &|_| combine(&[short], &[1]),
            &|_| combine(&[long], &[1, 1]),
            &|_| inner(short, &key),
            &|_| inner(long, &short_key),
            &|_| {
                let mut out = vec![vec![0; n]; 4];
                let t = Tensor { x, y, map, scale };
                tensor(ring, m, &t, muts(&mut out).try_into().unwrap());
            },
            &|_| {
                let mut out = vec![vec![0; n]; 3];
                product(ring, m, [x, y], scale, muts(&mut out).try_into().unwrap());
            },
            &|_| {
                let (two, mut out) = (vec![scale; ring.rows() - 1], vec![vec![0; n]; 4]);
                mix_column(ring, m, &two, muts(&mut out).try_into().unwrap());
            },
        ];
        for (number, call) in calls.iter().enumerate() {
            let call = std::panic::AssertUnwindSafe(|| call(&mut vec![0; n]));
            assert!(std::panic::catch_unwind(call).is_err(), "{number}");
        }
    });
}

/// On every backend, against sums of products; and as fractions of p.
#[test]
fn rows_are_summed_and_put_on_the_torus() {
    let shapes = [(15, 16), (257, 3), (3855, 16)];
    for ((conductor, rows), p) in PRIMES.map(|p| shapes.map(|shape| (shape, p))).concat() {
        let m = &Modulus::new(p);
        same_on_each(&Ring::new(conductor).unwrap(), |ring| {
            let n = ring.n();
            let [x, y, z] = [1, 2, 3].map(|seed| limb(rows * n, p, seed));
            let maps = [[0, 0, 0], [1, 3, 77], [0, 1, 255]].map(|e| ring.translation(e));
            let mut sums = vec![vec![0; n]; 2 * maps.len()];
            let maps: Vec<&GaloisMap> = maps.iter().collect();
            row_sums(ring, m, &x, [&y, &z], &maps, &mut pairs(&mut sums));
            for (number, sum) in sums.iter().enumerate() {
                let (map, key) = (maps[number / 2], [&y, &z][number % 2]);
                for i in (0..n).step_by(7) {
                    let term = |r| m.mul_stored(x[r * n + map.source(i)], key[r * n + i]);
                    let want = (0..rows).map(term).fold(0, |sum, x| m.add(sum, x));
                    assert_eq!(sum[i], want);
                }
            }
            let mut torus = vec![0; n];
            let lazy: Vec<u64> = sums[0].iter().map(|x| x + p).collect();
            to_torus(ring, m, &lazy, &mut torus);
            for (t, x) in torus.iter().zip(&sums[0]) {
                let want = (u128::from(*x) << 64) / u128::from(p);
                assert!((*t).abs_diff(want as u64) <= 1 << 14, "{t} {want}");
            }
            (sums, torus)
        });
    }
}

#[test]
fn outputs_share_readings() {
    let readings: Vec<usize> = (0..=9).map(key_readings).collect();
    assert_eq!(readings, [0, 1, 1, 2, 1, 2, 2, 3, 2, 3]);
}
