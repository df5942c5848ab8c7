//! Operations of `kernels/arithmetic_*.h` and `sums_*.h` at the edges of their ranges.

use crate::args::Arg::{At, Int};
use crate::arithmetic::Arithmetic;
use crate::cuda::Cuda;
use crate::kernels::Kind;
use crate::memory::Buffer;
use homaes_bgv::{Params, sets};

const BLOCK: usize = 128;

const BOTH: [Arithmetic; 2] = [Arithmetic::Doubles, Arithmetic::Integers];

/// Bounds per operation of `numbers.cu` and arithmetic: of the operand in p (0 for a word), halved for primes of 48
/// bits, and of the result in eighths of p.
const OPERATIONS: [([f64; 2], [i64; 2]); 6] = [
    ([32.0, 1024.0], [6, 5]),
    ([32.0, 1024.0], [5, 5]),
    ([32.0, 2048.0], [6, 17]),
    ([16.0, 2048.0], [10, 34]),
    ([0.0; 2], [8, 5]),
    ([0.0; 2], [48, 5]),
];

fn terms(arithmetic: Arithmetic, prime_bits: u32) -> i128 {
    match arithmetic {
        Arithmetic::Doubles => 24 >> (prime_bits - 47),
        Arithmetic::Integers => 320,
    }
}

fn operands(p: u64, most: f64) -> Vec<(i64, u64)> {
    let edge = (most * p as f64) as i64;
    let q = p.cast_signed();
    let numbers = match edge {
        0 => vec![0, 1, q - 1, q, q + 1, 2 * q - 1],
        _ => [
            &[0, 1, -1, edge, -edge, edge - 1][..],
            &[1 - edge, q / 2, edge / 3, -edge / 7],
        ]
        .concat(),
    };
    let constants = [0, 1, 2, p / 3, p / 2, p / 2 + 1, p - 2, p - 1];
    let each = |&x: &i64| constants.map(|w| (x, w));
    let mut all: Vec<_> = numbers.iter().flat_map(each).collect();
    all.resize(BLOCK, (0, 0));
    all
}

#[expect(unsafe_code, reason = "arguments and lengths are those of the kernel")]
fn results(cuda: &Cuda, prime: usize, operation: usize, x: &[u64], f: &[u64]) -> Vec<u64> {
    let driver = &cuda.gpu.driver;
    let [x, f, out] = [x, f, x].map(|words| Buffer::of(driver, words).unwrap());
    let numbers = [Int(prime), Int(operation)];
    let args = [At(cuda.gpu.primes.at(0))].into_iter().chain(numbers);
    let args: Vec<_> = args.chain([x.at(0), f.at(0), out.at(0)].map(At)).collect();
    // SAFETY: one thread per word of `x` and `out`; two words of `f` each.
    unsafe { driver.launch("test_numbers", [1, 1, 1], BLOCK, 0, &args) }.unwrap();
    let mut words = vec![0; BLOCK];
    out.read(0, &mut words).unwrap();
    words
}

#[test]
fn results_are_residues_within_their_bounds() {
    // primes of 24 to 47 bits, and of 28 to 48
    for set in [&sets::BITS128, &sets::TOY_K_255] {
        results_are_within_bounds(&Params::new(set).unwrap());
    }
}

fn results_are_within_bounds(params: &Params) {
    let bits = Kind::of(params).prime_bits;
    for (kind, arithmetic) in BOTH.into_iter().enumerate() {
        let cuda = match Cuda::alone(params, arithmetic) {
            Ok(cuda) => cuda,
            Err(why) => return println!("skipped: {why}"),
        };
        let word = |x: i64| match arithmetic {
            Arithmetic::Doubles => (x as f64).to_bits(),
            Arithmetic::Integers => x.cast_unsigned(),
        };
        let number = |word: u64| match arithmetic {
            Arithmetic::Doubles => f64::from_bits(word) as i64,
            Arithmetic::Integers => word.cast_signed(),
        };
        for prime in 0..params.rns().count() {
            let m = params.rns().modulus(prime);
            let p = m.p();
            for (operation, (most, eighths)) in OPERATIONS.iter().enumerate() {
                let most = most[kind] / f64::from(bits - 46);
                let all = operands(p, most);
                let word = |x: i64| if most == 0.0 { x as u64 } else { word(x) };
                let x: Vec<u64> = all.iter().map(|&(x, _)| word(x)).collect();
                let f = all.iter().flat_map(|&(_, w)| arithmetic.factor(m, w));
                let found = results(&cuda, prime, operation, &x, &f.collect::<Vec<u64>>());
                for (&(x, w), found) in all.iter().zip(found) {
                    let (wide, w, found) = (i128::from(x), i128::from(w), number(found));
                    let p = i128::from(p);
                    let want = match operation {
                        0 | 2 => wide * w,
                        1 => wide,
                        3 => 2 * wide * w,
                        4 => wide % p * (wide * w % p),
                        _ => wide % p * (wide * w % p) % p * terms(arithmetic, bits),
                    };
                    let what =
                        format!("{arithmetic:?}, {operation}: {x} and {w} modulo {p} give {found}");
                    assert_eq!((i128::from(found) - want).rem_euclid(p), 0, "{what}");
                    let most = i128::from(eighths[kind]) * p / 8;
                    assert!(i128::from(found).abs() <= most, "{what}");
                }
            }
        }
    }
}

/// Quotients of conversions, at and near half-integers among others.
#[test]
#[expect(unsafe_code, reason = "arguments and lengths are those of the kernel")]
fn quotients_are_those_of_the_processor() {
    let all = [&sets::TOY_255, &sets::TOY_K_255].map(|set| Params::new(set).unwrap());
    let all = all.iter().flat_map(|params| BOTH.map(|a| (params, a)));
    for (params, arithmetic) in all {
        let bits = Kind::of(params).prime_bits;
        let end = (1_u64 << bits) as f64;
        let cuda = match Cuda::alone(params, arithmetic) {
            Ok(cuda) => cuda,
            Err(why) => return println!("skipped: {why}"),
        };
        // any odd numbers do; a thread takes one word of a tile
        let sources = [(bits, -115), (24, -3), (36, 31), (46, 15)];
        let sources = sources.map(|(log2, x)| (1_u64 << log2).wrapping_add_signed(x));
        let threads = 32;
        for count in 1..=sources.len() {
            let sources = &sources[..count];
            let word = |s: usize, at: u64| match (at % 4, at / 4) {
                (0, k) => (sources[s] / 2 + k / 2 * (s as u64 & 1)).min(sources[s] - 1),
                (1, k) => (sources[s] / 2 + 1).saturating_sub(k),
                (2, k) if s as u64 == k % 4 => sources[s] / 2 + k % 2,
                (2, _) => 0,
                (_, k) => sources[s] / 9 * k,
            };
            let words = |s: usize| (0..threads).map(move |at| word(s, at));
            let x: Vec<u64> = (0..count).flat_map(words).collect();
            let want = |at: u64| {
                let part = |s: usize| word(s, at) as f64 * (1.0 / sources[s] as f64);
                let whole = (0..count).fold(0.5, |sum, s| sum + part(s)).floor();
                // as kept in shared memory
                match arithmetic {
                    Arithmetic::Doubles => (1.0 + whole / end).to_bits(),
                    Arithmetic::Integers => whole as u64,
                }
            };
            let want: Vec<u64> = (0..threads).map(want).collect();
            let inverse = |&p: &u64| (end * (1.0 / p as f64)).to_bits();
            let inverses: Vec<u64> = sources.iter().map(inverse).collect();
            let driver = &cuda.gpu.driver;
            let [x, inverses] = [&x, &inverses].map(|words| Buffer::of(driver, words).unwrap());
            let y = Buffer::new(driver, 512 * count).unwrap();
            let mut found = vec![0; want.len()];
            let out = Buffer::of(driver, &found).unwrap();
            let [x, inverses, y, at] = [&x, &inverses, &y, &out].map(|b| At(b.at(0)));
            let args = [x, inverses, Int(count), y, at];
            // SAFETY: one word of `out` per thread, as many of each source of `x`, and a tile of each source of `y`.
            unsafe { driver.launch("test_nearest", [1, 1, 1], want.len(), 0, &args) }.unwrap();
            out.read(0, &mut found).unwrap();
            assert_eq!(found, want, "{arithmetic:?}, {count} sources");
        }
    }
}
