//! The poster's comparison of bases and methods; `examples/nibble_methods.rs` prints the table.
//!
//! - **Tree**: a byte is digits of base v, and a node of the tree takes one of them. The first level is one multi-value bootstrap, level
//!   i has v^(L - i) rotations for each of L digits of the result, and results are packed to test polynomials for the next level.
//! - **Chaining** (Guimarães, Borin, Aranha 2021): two digits are one number a + v b of v² values, with one bootstrap for
//!   any function of it; so the plaintext space is 2 v². A look-up of four digits of base 4 is not a chain; here, with low and high half
//!   as such numbers, every result digit is Σ_h \[high = h\] · f(low, h): two multi-value bootstraps, and for each h one bootstrap per digit.
//!
//! An ignored test prints the table.

use crate::ciphertext::{Big, Glwe, Lwe, Polynomial};
use crate::meter::Meter;
use crate::nibble::engine::{Engine, Group, Work};
use crate::nibble::params::nibble_paper;
use crate::nibble::table::{Table, Values, of_pairs, public_test_polynomial, unit_log};
use crate::parts::Shape;
use crate::rotation::Rotation;
use crate::set::{Gadget, NibbleSet};
use crate::tests::trial::Trial;
use homaes_aes::{Direction, clear};
use std::sync::Arc;
use std::time::Instant;

/// How functions of several digits are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// tree-based
    Tree,
    /// chaining
    Chaining,
}

/// A row of the poster's table.
#[derive(Clone, Debug)]
struct Row {
    /// the method
    method: Method,
    /// log2 of the base
    digit_bits: u32,
    set: NibbleSet,
}

/// Result of [`Row::measure`].
#[derive(Clone, Copy, Debug)]
struct Measured {
    /// blind rotations of an exclusive or of two bytes
    xor_rotations: u64,
    /// blind rotations of a byte look-up
    look_up_rotations: u64,
    /// seconds for one bootstrap: key switch and blind rotation, of sixteen digits shared out to all threads
    bootstrap_seconds: f64,
    /// seconds for an exclusive or of two bytes
    xor_seconds: f64,
    /// seconds for a byte look-up
    look_up_seconds: f64,
    /// result digits that were checked
    checked: u32,
    /// and those that were wrong
    wrong: u32,
}

/// The rows whose parameters this crate can run: tree up to base 16, and chaining in base 4.
///
/// - Base 256 has N = 32768, beyond [`homaes_math::fourier::MAX_DEGREE`].
/// - Chaining in bases 8 and 16 has plaintext spaces of 128 and 512 values, N = 8192 and 32768, and noise of
///   10^-45 and 10^-248: such a torus takes 150 to 830 bits, far beyond words of 64.
fn rows() -> Vec<Row> {
    let gadget = |base_log, levels| Gadget { base_log, levels };
    let base16 = nibble_paper();
    let with = |digit_bits, (n, log2_sigma), rotation| NibbleSet {
        digit_bits,
        lwe_dimension: n,
        lwe_log2_sigma: f64::log2(log2_sigma),
        rotation,
        rotation_body: rotation,
        key_switch_degree: 128,
        ..base16.clone()
    };
    let base4 = NibbleSet {
        degree: 1024,
        glwe_log2_sigma: f64::log2(5.6e-8),
        packing: gadget(1, 21),
        ..with(2, (700, 1.9e-5), gadget(4, 5))
    };
    let base8 = with(3, (700, 1.9e-5), gadget(11, 2));
    let chaining = with(4, (850, 1.27e-6), gadget(11, 2));
    let tree = |set: NibbleSet| Row {
        method: Method::Tree,
        digit_bits: set.digit_bits,
        set,
    };
    let chaining = Row {
        method: Method::Chaining,
        digit_bits: 2,
        set: chaining,
    };
    vec![tree(base16), tree(base8), tree(base4), chaining]
}

impl Row {
    /// Runs exclusive ors and S-box look-ups of `bytes` bytes under a fresh key from `seed`, and checks the results.
    fn measure(&self, bytes: u8, seed: [u8; 32]) -> Measured {
        let keys = Keys::new(&self.set, seed);
        let engine = keys.engine();
        let method: &dyn Bytes = match self.method {
            Method::Tree => &Tree { engine: &engine },
            Method::Chaining => &Chaining { engine: &engine },
        };
        let mut out = Measured {
            xor_rotations: 0,
            look_up_rotations: 0,
            bootstrap_seconds: self.bootstrap_seconds(&keys, &engine),
            xor_seconds: 0.0,
            look_up_seconds: 0.0,
            checked: 0,
            wrong: 0,
        };
        let mask = (1 << self.digit_bits) - 1;
        let digit = |x: u8, i| x >> (i * self.digit_bits) & mask;
        let count = 8u32.div_ceil(self.digit_bits);
        let encrypt = |x: u8| keys.encrypt((0..count).map(|i| digit(x, i)));
        for i in 0..bytes {
            let (x, y) = (i.wrapping_mul(73).wrapping_add(19), i.wrapping_mul(111));
            let (a, b) = (encrypt(x), encrypt(y));
            let mut check = |found: &[Lwe<Big>], want: u8| {
                for (i, lwe) in (0..).zip(found) {
                    out.checked += 1;
                    out.wrong += u32::from(keys.decrypt(lwe).0 != digit(want, i));
                }
            };
            let (start, before) = (Instant::now(), keys.meter.read().count("rotations"));
            let sum = method.xor(&a, &b);
            out.xor_seconds += start.elapsed().as_secs_f64() / f64::from(bytes);
            out.xor_rotations = keys.meter.read().count("rotations") - before;
            check(&sum, x ^ y);
            let (start, before) = (Instant::now(), keys.meter.read().count("rotations"));
            let found = method.look_up(&a);
            out.look_up_seconds += start.elapsed().as_secs_f64() / f64::from(bytes);
            out.look_up_rotations = keys.meter.read().count("rotations") - before;
            check(&found, clear::sbox(Direction::Encrypt, x));
        }
        out
    }

    fn bootstrap_seconds(&self, keys: &Keys, engine: &Engine<'_>) -> f64 {
        let digits = keys.encrypt([1; 16]);
        let test = public_test_polynomial(&self.set, &vec![0; 1 << self.set.digit_bits]);
        let test = Polynomial::Public(&test);
        let pairs: Vec<_> = digits.iter().map(|d| (d, test)).collect();
        let time = || {
            let start = Instant::now();
            let _ = engine.apply(&pairs);
            start.elapsed().as_secs_f64() / pairs.len() as f64
        };
        (0..3).map(|_| time()).fold(f64::INFINITY, f64::min)
    }
}

impl Engine<'_> {
    /// Inner nodes of trees of more than two digits: the same, and test polynomials for a further digit from every v of
    /// them in a row, by ring packing.
    ///
    /// Of two ciphertexts x and y, divided beforehand, (x + X^(N/2^t) y) + ψ(x - X^(N/2^t) y) has both constant coefficients;
    /// the trace cancels what is between them, and block polynomials fill it.
    fn choose_test_polynomials(&self, rotations: &[Rotation<'_>], work: &mut Work) -> Vec<Glwe> {
        let (n, bits) = (self.set.degree, self.set.digit_bits);
        let log = n.trailing_zeros();
        let mut parts = self.rotated(rotations);
        for part in &mut parts {
            part.divide(log);
        }
        let mut image = self.scratch();
        let mut turned = self.scratch();
        for t in 1..=bits {
            let mut next = Vec::with_capacity(parts.len() / 2);
            let stride = self.values() >> t;
            for tree in parts.chunks_exact(2 * stride) {
                // the pairs that are apart by N/2^t in the end
                for (x, y) in tree.iter().zip(&tree[stride..]).take(stride) {
                    y.rotate(n >> t, &mut turned);
                    let mut difference = x.clone();
                    difference.sub(&turned);
                    self.automorphism(t, &difference, &mut image, work);
                    let mut sum = x.clone();
                    sum.add(&turned);
                    sum.add(&image);
                    next.push(sum);
                }
            }
            parts = next;
        }
        for part in &mut parts {
            for t in bits + 1..=log {
                self.automorphism(t, part, &mut image, work);
                part.add(&image);
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
    let n = poly.len();
    // the window that ends at coefficient -1: X^-j is -X^(N - j)
    let mut sum = poly[n - len..]
        .iter()
        .fold(0u64, |sum, x| sum.wrapping_sub(*x));
    let from = poly.to_vec();
    for (i, x) in poly.iter_mut().enumerate() {
        let leaves = if i < len {
            from[n + i - len].wrapping_neg()
        } else {
            from[i - len]
        };
        sum = sum.wrapping_add(from[i]).wrapping_sub(leaves);
        *x = sum;
    }
}

/// Digit i of S(x), x being complete with zeros.
fn sbox_digit(bits: u32, i: u32, x: usize) -> u8 {
    clear::sbox(Direction::Encrypt, x as u8) >> (i * bits) & ((1 << bits) - 1)
}

/// A method on bytes of digits, lowest first.
trait Bytes {
    fn xor(&self, a: &[Lwe<Big>], b: &[Lwe<Big>]) -> Vec<Lwe<Big>>;
    fn look_up(&self, byte: &[Lwe<Big>]) -> Vec<Lwe<Big>>;
}

struct Tree<'e, 'k> {
    engine: &'e Engine<'k>,
}

impl Bytes for Tree<'_, '_> {
    fn xor(&self, a: &[Lwe<Big>], b: &[Lwe<Big>]) -> Vec<Lwe<Big>> {
        let engine = self.engine;
        let values = 1 << engine.set.digit_bits;
        let functions = of_pairs(values, |x, y| (x ^ y) as u8);
        let tables = [Table::new(engine.set, engine.fourier, &functions)];
        let groups: Vec<Group<'_>> = a
            .iter()
            .zip(b)
            .map(|(a, b)| Group {
                first: a,
                seconds: vec![b],
                tables: &tables,
            })
            .collect();
        engine.combine(&groups)
    }

    fn look_up(&self, byte: &[Lwe<Big>]) -> Vec<Lwe<Big>> {
        let (engine, bits) = (self.engine, self.engine.set.digit_bits);
        let values = 1usize << bits;
        let mut work = Work::new(engine);
        let exponents = engine.rotation_exponents(&byte.iter().collect::<Vec<_>>());
        // per result digit, one test polynomial for each choice of all digits but the first two
        let choices = values.pow(byte.len() as u32 - 2);
        let tables: Vec<Table> = (0..byte.len() as u32)
            .flat_map(|i| (0..choices).map(move |c| (i, c)))
            .map(|(i, c)| {
                let functions = of_pairs(values, |x, y| {
                    sbox_digit(bits, i, x + values * (y + values * c))
                });
                Table::new(engine.set, engine.fourier, &functions)
            })
            .collect();
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
}

/// Chaining in base 4, on sixteen values.
struct Chaining<'e, 'k> {
    engine: &'e Engine<'k>,
}

impl Chaining<'_, '_> {
    fn joined(a: &Lwe<Big>, b: &Lwe<Big>) -> Lwe<Big> {
        let mut out = a.clone();
        out.add_multiple(4, b);
        out
    }

    fn bootstrap(&self, joined: &[Lwe<Big>], f: &[u8]) -> Vec<Lwe<Big>> {
        let test = public_test_polynomial(self.engine.set, f);
        let test = Polynomial::Public(&test);
        let pairs: Vec<_> = joined.iter().map(|x| (x, test)).collect();
        self.engine.apply(&pairs)
    }
}

impl Bytes for Chaining<'_, '_> {
    fn xor(&self, a: &[Lwe<Big>], b: &[Lwe<Big>]) -> Vec<Lwe<Big>> {
        let joined: Vec<Lwe<Big>> = a.iter().zip(b).map(|(a, b)| Self::joined(a, b)).collect();
        let f: Values = (0..16).map(|x| x & 3 ^ x >> 2).collect();
        self.bootstrap(&joined, &f)
    }

    fn look_up(&self, byte: &[Lwe<Big>]) -> Vec<Lwe<Big>> {
        let engine = self.engine;
        let halves = [0, 2].map(|i| Self::joined(&byte[i], &byte[i + 1]));
        let rotated = engine.multi_value(&engine.rotation_exponents(&[&halves[0], &halves[1]]));
        let terms: Vec<Lwe<Big>> = (0..16usize)
            .flat_map(|h| {
                let is: Values = (0..16).map(|x| u8::from(x == h)).collect();
                let is = engine.function(&rotated[1], &is);
                let rotated = &rotated[0];
                (0..4).map(move |i| {
                    let f: Values = (0..16).map(|x| sbox_digit(2, i, x + 16 * h)).collect();
                    Self::joined(&engine.function(rotated, &f), &is)
                })
            })
            .collect();
        let f: Values = (0..16).map(|x| if x < 4 { 0 } else { x & 3 }).collect();
        let mut sums = self.bootstrap(&terms, &f);
        let rest = sums.split_off(4);
        for terms in rest.chunks_exact(4) {
            for (sum, term) in sums.iter_mut().zip(terms) {
                sum.add(term);
            }
        }
        sums
    }
}

pub(crate) struct Keys {
    pub(crate) set: NibbleSet,
    pub(crate) trial: Trial,
    pub(crate) meter: Arc<Meter>,
}

impl Keys {
    pub(crate) fn new(set: &NibbleSet, seed: [u8; 32]) -> Self {
        Self {
            set: set.clone(),
            trial: Trial::new(Shape::from(set), seed),
            meter: Arc::default(),
        }
    }

    pub(crate) fn engine(&self) -> Engine<'_> {
        let Trial {
            fouriers, spectra, ..
        } = &self.trial;
        Engine::new(&self.set, fouriers.each_ref(), spectra, self.meter.clone())
    }

    /// Encrypts digits with fresh noise. Deterministic.
    pub(crate) fn encrypt(&self, digits: impl IntoIterator<Item = u8>) -> Vec<Lwe<Big>> {
        let log = unit_log(&self.set);
        let messages = digits.into_iter().map(|digit| u64::from(digit) << log);
        self.trial.encrypt(messages)
    }

    pub(crate) fn decrypt(&self, lwe: &Lwe<Big>) -> (u8, f64) {
        let phase = lwe.phase(&self.trial.glwe);
        let log = unit_log(&self.set);
        let digit = phase.wrapping_add(1 << (log - 1)) >> log;
        let error = phase.wrapping_sub(digit << log);
        (digit as u8, error as i64 as f64 * 2f64.powi(-64))
    }
}

/// Every row's circuit at a ring large enough for it and with little noise.
#[test]
fn methods_are_right() {
    for row in rows() {
        let set = NibbleSet {
            lwe_dimension: 16,
            lwe_log2_sigma: -35.0,
            degree: 256,
            glwe_log2_sigma: -50.0,
            rotation: Gadget {
                base_log: 15,
                levels: 2,
            },
            rotation_body: Gadget {
                base_log: 15,
                levels: 2,
            },
            packing: Gadget {
                base_log: 12,
                levels: 3,
            },
            ..row.set.clone()
        };
        let row = Row { set, ..row };
        let found = row.measure(8, [3; 32]);
        println!("{:?} {}: {found:?}", row.method, 1 << row.digit_bits);
        assert_eq!(found.wrong, 0);
        let want = match (row.method, row.digit_bits) {
            (Method::Tree, 4) => [4, 3],
            (Method::Tree, 3) => [6, 28],
            (Method::Tree, _) => [8, 85],
            (Method::Chaining, _) => [4, 66],
        };
        assert_eq!([found.xor_rotations, found.look_up_rotations], want);
    }
}

#[test]
#[ignore = "prints measurements"]
fn methods_at_the_posters_parameters() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.unwrap().install(|| {
        for row in rows() {
            let found = row.measure(4, [1; 32]);
            let (base, bootstrap) = (1 << row.digit_bits, found.bootstrap_seconds);
            println!("{:?} {base}: {bootstrap} s, {found:?}", row.method);
        }
    });
}
