//! The poster's comparison of bases and methods; `docs/papers.md` has the table that an ignored test prints.
//!
//! - **Tree**: a byte is digits of base v, and a node of the tree takes one of them. The first level is one multi-value
//!   bootstrap, level i has v^(L - i) rotations for each of L digits of the result, and results are packed to test
//!   polynomials for the next level.
//! - **Chaining** (Guimarães, Borin, Aranha 2021): two digits are one number a + v b of v² values, with one bootstrap
//!   for any function of it; so the plaintext space is 2 v². A look-up of four digits of base 4 is not a chain; here,
//!   with low and high half as such numbers, every result digit is Σ_h \[high = h\] · f(low, h): two multi-value
//!   bootstraps, and for each h one bootstrap per digit.

use super::*;
use crate::ring;
use crate::set::gadget;
use std::time::Instant;

/// How functions of several digits are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Tree,
    Chaining,
}

/// The rows of the poster's table whose parameters this crate can run: tree up to base 16, and chaining in base 4.
///
/// - Base 256 has N = 32768, beyond [`homaes_math::fourier::MAX_DEGREE`].
/// - Chaining in bases 8 and 16 has plaintext spaces of 128 and 512 values, N = 8192 and 32768, and noise of
///   10^-45 and 10^-248: such a torus takes 150 to 830 bits, far beyond words of 64.
fn rows() -> [(Method, NibbleSet); 4] {
    let base16 = nibble_paper();
    let with = |digit_bits, lwe_dimension, sigma: f64, rotation| NibbleSet {
        digit_bits,
        lwe_dimension,
        lwe_log2_sigma: sigma.log2(),
        rotation,
        rotation_body: rotation,
        key_switch_degree: 128,
        ..base16.clone()
    };
    let base4 = NibbleSet {
        degree: 1024,
        glwe_log2_sigma: 5.6e-8f64.log2(),
        packing: gadget(1, 21),
        ..with(2, 700, 1.9e-5, gadget(4, 5))
    };
    let base8 = with(3, 700, 1.9e-5, gadget(11, 2));
    let chaining = with(4, 850, 1.27e-6, gadget(11, 2));
    [
        (Method::Tree, base16),
        (Method::Tree, base8),
        (Method::Tree, base4),
        (Method::Chaining, chaining),
    ]
}

impl Method {
    /// Bits of the digits of a byte; chaining joins two of them to one digit of the set.
    fn digit_bits(self, set: &NibbleSet) -> u32 {
        match self {
            Self::Tree => set.digit_bits,
            Self::Chaining => set.digit_bits / 2,
        }
    }

    fn xor(self, engine: &Engine<'_>, a: &[Lwe<Big>], b: &[Lwe<Big>]) -> Vec<Lwe<Big>> {
        match self {
            Self::Tree => {
                let functions = of_pairs(engine.values(), |x, y| (x ^ y) as u8);
                let tables = engine.tables(&[functions]);
                let pairs = a.iter().zip(b);
                let groups = pairs.map(|(a, b)| Group::pair(a, b, &tables));
                engine.combine(&groups.collect::<Vec<_>>())
            }
            Self::Chaining => {
                let both: Vec<Lwe<Big>> = a.iter().zip(b).map(|(a, b)| joined(a, b)).collect();
                bootstrap(engine, &both, |x| x & 3 ^ x >> 2)
            }
        }
    }
}

/// Exclusive ors and S-box look-ups of `bytes` bytes: blind rotations and seconds of one of each, result digits, and
/// wrong ones.
fn measure(method: Method, keys: &Trial<NibbleSet>, bytes: u8) -> ([u64; 2], [f64; 2], [usize; 2]) {
    let engine = keys.engine();
    let width = method.digit_bits(&keys.set);
    let digits = |x: u8| {
        (0..8)
            .step_by(width as usize)
            .map(move |i| x >> i & ((1 << width) - 1))
    };
    let (mut rotations, mut seconds, mut counts) = ([0; 2], [0.0; 2], [0; 2]);
    for i in 0..bytes {
        let (x, y) = (i.wrapping_mul(73).wrapping_add(19), i.wrapping_mul(111));
        let [a, b] = [x, y].map(|x| keys.encrypt_digits(digits(x)));
        let mut run = |which: usize, operation: &dyn Fn() -> Vec<Lwe<Big>>, want: u8| {
            let (start, before) = (Instant::now(), engine.base.meter.read());
            let found = operation();
            seconds[which] += start.elapsed().as_secs_f64() / f64::from(bytes);
            rotations[which] = engine.base.meter.read().since(&before).count("rotations");
            let wrong = found.iter().zip(digits(want));
            let wrong = wrong
                .filter(|(lwe, digit)| keys.decrypt(lwe).0 != *digit)
                .count();
            counts = [counts[0] + found.len(), counts[1] + wrong];
        };
        run(0, &|| method.xor(&engine, &a, &b), x ^ y);
        let look_up = || match method {
            Method::Tree => tree_look_up(&engine, &a),
            Method::Chaining => chained_look_up(&engine, &a),
        };
        run(1, &look_up, clear::sbox(Direction::Encrypt, x));
    }
    (rotations, seconds, counts)
}

/// Seconds for one bootstrap: key switch and blind rotation, of sixteen digits shared out to all threads.
fn bootstrap_seconds(keys: &Trial<NibbleSet>) -> f64 {
    let (engine, digits) = (keys.engine(), keys.encrypt_digits([1; 16]));
    let time = || {
        let start = Instant::now();
        let _ = bootstrap(&engine, &digits, |_| 0);
        start.elapsed().as_secs_f64() / digits.len() as f64
    };
    (0..3).map(|_| time()).fold(f64::INFINITY, f64::min)
}

/// A function of each digit.
fn bootstrap(engine: &Engine<'_>, digits: &[Lwe<Big>], f: impl Fn(u8) -> u8) -> Vec<Lwe<Big>> {
    let f: Values = (0..engine.values() as u8).map(f).collect();
    let test = public_test_polynomial(engine.set, &f);
    let test = Polynomial::Public(&test);
    let pairs: Vec<_> = digits.iter().map(|digit| (digit, test)).collect();
    engine.apply(&pairs)
}

impl Engine<'_> {
    /// Inner nodes of trees of more than two digits: the same, and test polynomials for a further digit from every v of
    /// them in a row, by ring packing.
    ///
    /// Merged ciphertexts, divided beforehand, have all constant coefficients; the trace cancels what is between them,
    /// and block polynomials fill it.
    fn choose_test_polynomials(&self, rotations: &[Rotation<'_>], work: &mut Work) -> Vec<Glwe> {
        let (n, bits) = (self.set.degree, self.set.digit_bits);
        let log = n.trailing_zeros();
        let mut parts = self.rotated(rotations);
        for part in &mut parts {
            part.divide(log);
        }
        for t in 1..=bits {
            let stride = self.values() >> t;
            // the pairs that are apart by N/2^t in the end
            let mut next = Vec::with_capacity(parts.len() / 2);
            for tree in parts.chunks_exact_mut(2 * stride) {
                let (xs, ys) = tree.split_at_mut(stride);
                for (x, y) in xs.iter_mut().zip(ys) {
                    self.base.merge(t, x, y, work.memory());
                    next.push(x.clone());
                }
            }
            parts = next;
        }
        for part in &mut parts {
            for t in bits + 1..=log {
                self.base.fold(t, part, work.memory());
            }
            for poly in part.polynomials_mut() {
                blocks(poly, n / self.values());
            }
        }
        parts
    }
}

/// Multiplies a polynomial by 1 + X + … + X^(len - 1).
fn blocks(poly: &mut [u64], len: usize) {
    let from = poly.to_vec();
    let mut turned = from.clone();
    for amount in 1..len {
        ring::rotate(&from, amount, &mut turned);
        let pairs = poly.iter_mut().zip(&turned);
        pairs.for_each(|(x, y)| *x = x.wrapping_add(*y));
    }
}

/// Digit i of S(x), x being complete with zeros.
fn sbox_digit(bits: u32, i: u32, x: usize) -> u8 {
    clear::sbox(Direction::Encrypt, x as u8) >> (i * bits) & ((1 << bits) - 1)
}

fn tree_look_up(engine: &Engine<'_>, byte: &[Lwe<Big>]) -> Vec<Lwe<Big>> {
    let (bits, values) = (engine.set.digit_bits, engine.values());
    let mut work = Work::new(engine);
    let exponents = engine.rotation_exponents(&refs(byte));
    // per result digit, one test polynomial for each choice of all digits but the first two
    let choices = values.pow(byte.len() as u32 - 2);
    let each = (0..byte.len() as u32).flat_map(|i| (0..choices).map(move |c| (i, c)));
    let functions = each.map(|(i, c)| {
        of_pairs(values, |x, y| {
            sbox_digit(bits, i, x + values * (y + values * c))
        })
    });
    let tables = engine.tables(&functions.collect::<Vec<_>>());
    let rotated = engine.multi_value(&exponents[..1]);
    let mut tests = engine.test_polynomials(&rotated[0], &tables, &mut work);
    let last = exponents.len() - 1;
    for exponents in &exponents[1..last] {
        let rotations: Vec<Rotation<'_>> = exponents.rotations(&tests).collect();
        tests = engine.choose_test_polynomials(&rotations, &mut work);
    }
    let rotations: Vec<Rotation<'_>> = exponents[last].rotations(&tests).collect();
    engine.choose(&rotations)
}

/// a + 4 b.
fn joined(a: &Lwe<Big>, b: &Lwe<Big>) -> Lwe<Big> {
    let mut out = a.clone();
    out.add_multiple(4, b);
    out
}

fn chained_look_up(engine: &Engine<'_>, byte: &[Lwe<Big>]) -> Vec<Lwe<Big>> {
    let halves = [0, 2].map(|i| joined(&byte[i], &byte[i + 1]));
    let rotated = engine.multi_value(&engine.rotation_exponents(&refs(&halves)));
    let function = |half: usize, f: &dyn Fn(usize) -> u8| {
        engine.function(&rotated[half], &(0..16).map(f).collect::<Values>())
    };
    let terms = (0..16).flat_map(|h| {
        let is = function(1, &|x| u8::from(x == h));
        let digit = |i| function(0, &|x| sbox_digit(2, i, x + 16 * h));
        [0, 1, 2, 3].map(|i| joined(&digit(i), &is))
    });
    let terms: Vec<Lwe<Big>> = terms.collect();
    let mut sums = bootstrap(engine, &terms, |x| if x < 4 { 0 } else { x & 3 });
    let rest = sums.split_off(4);
    for terms in rest.chunks_exact(4) {
        for (sum, term) in sums.iter_mut().zip(terms) {
            sum.add(term);
        }
    }
    sums
}

/// Every row's circuit at a ring large enough for it and with little noise.
#[test]
fn methods_are_right() {
    let rotations = [[4, 3], [6, 28], [8, 85], [4, 66]];
    for ((method, set), rotations) in rows().into_iter().zip(rotations) {
        let set = NibbleSet {
            lwe_dimension: 16,
            lwe_log2_sigma: -35.0,
            degree: 256,
            glwe_log2_sigma: -50.0,
            rotation: gadget(15, 2),
            rotation_body: gadget(15, 2),
            packing: gadget(12, 3),
            ..set
        };
        let (found, _, [_, wrong]) = measure(method, &Trial::new(&set, [3; 32]), 8);
        assert_eq!((wrong, found), (0, rotations), "{method:?}");
    }
}

#[test]
#[ignore = "prints measurements"]
fn methods_at_the_posters_parameters() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.unwrap().install(|| {
        for (method, set) in rows() {
            let keys = Trial::new(&set, [1; 32]);
            let base = 1 << method.digit_bits(&set);
            let (rotations, seconds, digits) = measure(method, &keys, 4);
            let bootstrap = bootstrap_seconds(&keys);
            println!(
                "{method:?} {base}: bootstrap {bootstrap} s; XOR and look-up: {rotations:?} bootstraps, {seconds:?} s; \
                 digits and wrong ones {digits:?}"
            );
        }
    });
}
