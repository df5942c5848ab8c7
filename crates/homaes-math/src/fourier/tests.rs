use super::*;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([3; 32])
}

fn words(rng: &mut impl Rng, len: usize) -> Vec<u64> {
    (0..len).map(|_| rng.next_u64()).collect()
}

const fn digits(base_log: u32, levels: usize) -> Digits {
    Digits { base_log, levels }
}

/// The digits of one word, from the definition: the value and the range.
fn check_digits(d: Digits, x: u64, digits: &[i64]) {
    let mut value = 0u64;
    for (j, &digit) in digits.iter().enumerate() {
        assert!(digit.abs() <= 1 << (d.base_log - 1));
        let shift = 64 - (j as u32 + 1) * d.base_log;
        value = value.wrapping_add((digit as u64) << shift);
    }
    let error = value.wrapping_sub(x) as i64;
    assert!(error.unsigned_abs() <= 1 << (63 - d.levels as u32 * d.base_log));
}

/// Product in Z[X]/(X^N + 1) modulo 2^64, from the definition.
fn schoolbook(a: &[i64], b: &[u64]) -> Vec<u64> {
    let n = a.len();
    let mut out = vec![0u64; n];
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            let term = (x as u64).wrapping_mul(y);
            let k = (i + j) % n;
            out[k] = match i + j < n {
                true => out[k].wrapping_add(term),
                false => out[k].wrapping_sub(term),
            };
        }
    }
    out
}

/// Digits of a polynomial, read back from their spectra by multiplying with 1 at scale 2^-40.
fn digits_of(f: &Fourier, d: Digits, poly: &[u64]) -> Vec<Vec<i64>> {
    let n = f.degree();
    let mut spectra = vec![0.0; d.levels * n];
    f.forward_digits(d, poly, &mut spectra, 0);
    let mut one = vec![0; n];
    one[0] = 1 << 24;
    let mut unit = vec![0.0; n];
    f.forward(&one, &mut unit, 0);
    let digits_of = |level| {
        let groups = spectra.chunks(GROUP).skip(level).step_by(d.levels);
        let row: Vec<f64> = groups.flatten().copied().collect();
        let mut product = vec![0.0; n];
        f.multiply_add(&row, &unit, 1, &mut product);
        let mut out = vec![0; n];
        f.inverse_add(&product, 0, &mut out);
        let rounded = out.iter().map(|&x| ((x as i64) + (1 << 23)) >> 24);
        rounded.collect()
    };
    (0..d.levels).map(digits_of).collect()
}

#[test]
fn digits_are_small_and_recompose() {
    let mut rng = rng();
    let f = Fourier::new(128);
    let fine = [digits(2, 7), digits(3, 4), digits(4, 3)];
    let coarse = [(9, 4), (12, 3), (14, 2), (21, 1), (8, 3), (31, 2)].map(|(b, l)| digits(b, l));
    for d in fine.into_iter().chain(coarse) {
        let mut poly = words(&mut rng, 128);
        poly[..4].copy_from_slice(&[0, u64::MAX, 1 << 63, (1 << 63) - 1]);
        let digits = digits_of(&f, d, &poly);
        for (i, &x) in poly.iter().enumerate() {
            let column: Vec<i64> = digits.iter().map(|row| row[i]).collect();
            check_digits(d, x, &column);
        }
    }
}

#[test]
fn fine_digits_have_no_mean() {
    let f = Fourier::new(1024);
    let mut rng = rng();
    let rows = (0..32).flat_map(|_| digits_of(&f, digits(2, 4), &words(&mut rng, 1024)));
    let all: Vec<i64> = rows.flatten().collect();
    let mean_of =
        |g: fn(i64) -> i64| all.iter().map(|&x| g(x) as f64).sum::<f64>() / all.len() as f64;
    let (mean, square) = (mean_of(|x| x), mean_of(|x| x * x));
    assert!(mean.abs() < 0.02, "{mean}");
    // (B² + 2)/12 for independent digits; a tie makes the next digit a smaller one
    assert!(square > 1.2 && square < 1.5, "{square}");
}

#[test]
fn products_are_those_of_the_ring() {
    let mut rng = rng();
    for log in 7..=13 {
        let n = 1 << log;
        let f = Fourier::new(n);
        let d = digits(14, 2);
        let (a, b) = (words(&mut rng, n), words(&mut rng, 2 * n));
        let numbers = digits_of(&f, d, &a);
        let mut rows = vec![0.0; 2 * n];
        f.forward_digits(d, &a, &mut rows, 0);
        // a 2 × 3 matrix whose columns 0 and 2 are the two polynomials, one each, and column 1 is both
        let mut matrix = vec![0.0; 6 * n];
        for (place, poly) in [(0, 0), (1, 0), (4, 1), (5, 1)] {
            f.forward(&b[poly * n..][..n], &mut matrix, place);
        }
        let mut out = vec![0.0; 3 * n];
        f.multiply_add(&rows, &matrix, 3, &mut out);
        let [p, q] = [0, 1].map(|i| schoolbook(&numbers[i], &b[i * n..][..n]));
        let start = words(&mut rng, n);
        for column in 0..3 {
            let mut got = start.clone();
            f.inverse_add(&out, column, &mut got);
            let error = |i: usize| {
                let own = [p[i] * u64::from(column < 2), q[i] * u64::from(column > 0)];
                let want = own.into_iter().fold(start[i], u64::wrapping_add);
                (got[i].wrapping_sub(want) as i64).unsigned_abs()
            };
            let worst = (0..n).map(error).max().unwrap();
            // sqrt(2 N) numbers of 2^13 each with relative error 2^-53 and a few more for the transform
            let bits = (worst as f64).log2() - 64.0;
            let bound = 13.0 + log as f64 / 2.0 - 53.0 + 4.0;
            assert!(
                bits < bound,
                "N = {n}: error 2^{bits:.1}, bound 2^{bound:.1}"
            );
        }
    }
}

#[test]
fn monomials_rotate() {
    for n in [128, 256, 1024, 2048] {
        let pairs = [[1, 2 * n - 1], [n / 2 + 3, n + 5]];
        rotates(n, pairs.map(|[a, b]| [a, b, a + b]));
        rotates(n, pairs.map(|[a, _]| [a]));
        rotates(n, pairs.map(|[_, b]| [b]));
    }
}

/// Two accumulators; each key in turn is the only one that is not zero.
fn rotates<const M: usize>(n: usize, exponents: [[usize; M]; 2]) {
    let mut rng = rng();
    let f = Fourier::new(n);
    let (rows, columns) = (3, 2);
    let d = digits(12, rows);
    let polys: Vec<Vec<u64>> = (0..2).map(|_| words(&mut rng, n)).collect();
    for which in 0..M {
        let mut key = vec![0.0; M * rows * columns * n];
        let secret: Vec<Vec<u64>> = (0..rows * columns).map(|_| words(&mut rng, n)).collect();
        for (i, poly) in secret.iter().enumerate() {
            let place = which * rows * columns + i;
            f.forward(poly, &mut key, place);
        }
        let mut digits = vec![0.0; 2 * rows * n];
        for (i, poly) in polys.iter().enumerate() {
            f.forward_digits(d, poly, &mut digits, i * rows);
        }
        let mut out = vec![0.0; 2 * columns * n];
        f.rotation_step(&exponents, &digits, &key, &mut out, [rows, columns], &[]);
        for (i, poly) in polys.iter().enumerate() {
            let numbers = digits_of(&f, d, poly);
            for c in 0..columns {
                let mut sum = vec![0u64; n];
                for (j, row) in numbers.iter().enumerate() {
                    let p = schoolbook(row, &secret[j * columns + c]);
                    sum = sum.iter().zip(p).map(|(s, p)| s.wrapping_add(p)).collect();
                }
                let exponent = exponents[i][which] % (2 * n);
                let mut got = vec![0; n];
                f.inverse_add(&out, i * columns + c, &mut got);
                for k in 0..n {
                    // X^exponent · sum at k
                    let from = (2 * n + k - exponent) % (2 * n);
                    let sign = if from < n { 1 } else { u64::MAX };
                    let turned = sum[from % n].wrapping_mul(sign);
                    let error = got[k].wrapping_sub(turned.wrapping_sub(sum[k])) as i64;
                    assert!(
                        error.unsigned_abs() < 1 << 35,
                        "{n} {which} {i} {c} {k}: {error}"
                    );
                }
            }
        }
    }
}

#[test]
fn all_vectors_give_the_same_bits() {
    let mut rng = rng();
    for n in [128, 256, 512, 1024, 2048] {
        let (poly, key) = (words(&mut rng, n), words(&mut rng, 9 * n));
        let run = |vectors| {
            let f = Fourier::with_vectors(n, vectors);
            let (mut rows, mut small) = (vec![0.0; 3 * n], vec![0.0; 4 * n]);
            f.forward_digits(digits(14, 2), &poly, &mut rows, 0);
            f.forward_digits(digits(21, 1), &poly, &mut rows, 2);
            f.forward_digits(digits(3, 4), &poly, &mut small, 0);
            let mut matrix = vec![0.0; 9 * n];
            for (i, poly) in key.chunks(n).enumerate() {
                f.forward(poly, &mut matrix, i);
            }
            let [mut out, mut plain, mut sum] = [(); 3].map(|()| vec![0.0; 3 * n]);
            let three = matrix.repeat(3);
            f.rotation_step(&[[5, 77, 82]], &rows, &three, &mut out, [3, 3], &matrix);
            f.rotation_step(&[[5]], &rows, &matrix, &mut plain, [3, 3], &matrix);
            f.multiply_add(&rows, &matrix, 3, &mut sum);
            let mut back = poly.clone();
            f.inverse_add(&sum, 1, &mut back);
            let bits = |x: Vec<f64>| x.into_iter().map(f64::to_bits).collect::<Vec<_>>();
            let rotated = [out, plain].map(bits);
            (bits(rows), bits(small), bits(matrix), rotated, back)
        };
        let want = run(Vectors::Portable);
        for vectors in Vectors::available() {
            assert!(run(vectors) == want, "{n} {vectors:?}");
        }
    }
}

#[test]
#[should_panic(expected = "levels > 0")]
fn no_digits_are_refused() {
    Fourier::new(128).forward_digits(digits(4, 0), &[1; 128], &mut [0.0; 256], 1);
}

#[test]
#[should_panic(expected = "rows <= digits.len()")]
fn lengths_that_wrap_are_refused() {
    let rows = 1 << 57;
    Fourier::new(128).rotation_step(&[[3]], &[], &[], &mut [0.0; 128], [rows, 1], &[]);
}
