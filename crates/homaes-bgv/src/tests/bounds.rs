//! The bound of users' circuits: circuits that try to break it, and its ingredients against the scheme.

use super::*;
use crate::circuit::{Axis, Lift};
use rayon::prelude::*;
use std::f64::consts::TAU;

/// Level of the output of AES-128 in `bgv/aes128+8`.
const LEVEL: usize = 9;

/// An AES key whose outputs have eight multiplications left.
pub(super) const FOR_CIRCUITS: WrapOptions<'static> = WrapOptions {
    direction: Direction::Encrypt,
    layouts: &[Layout::Sliced],
    levels_left: Some(8),
    full: true,
};

/// Checks the steps of a circuit until one is refused; returns their number and the last result.
fn steps(
    f: &Fixture,
    what: &str,
    most: usize,
    (mut c, mut bytes): (Ciphertext, Vec<u8>),
    mut step: impl FnMut(&Ciphertext, &[u8]) -> (Result<Ciphertext>, Vec<u8>),
) -> (usize, Ciphertext) {
    for done in 0..most {
        let (next, want) = step(&c, &bytes);
        match next {
            Ok(next) => (c, bytes) = (next, want),
            Err(Error::TooNoisy { .. } | Error::TooDeep { .. }) => return (done, c),
            Err(e) => panic!("{what}: {e}"),
        }
        sound(f, &c, &bytes, what);
    }
    (most, c)
}

/// Bytes whose plaintext has an embedding of about n/4.
pub(super) fn chosen_bytes(params: &Params) -> Vec<u8> {
    let (ring, m) = (params.ring(), params.ring().m());
    let cosine = |k: u64| (TAU * (k % m) as f64 / m as f64).cos();
    // the bytes are the polynomials that σ^8 fixes modulo 2; cos(2πk/m) is largest where ζ^k is near 1
    let bit = |i: usize| {
        let k = ring.exponent(i);
        let orbit: f64 = (0..ring.order_of_two() / 8)
            .scan(k, |k, _| {
                let now = *k;
                *k = 256 * *k % m;
                Some(cosine(now))
            })
            .sum();
        u64::from(orbit > 0.0)
    };
    let bits: Vec<u64> = (0..ring.n()).map(bit).collect();
    params.slots().decode(&bits).expect("fixed by σ^8")
}

/// Circuits that break mean-square estimates: each is right as long as it is allowed.
fn breaking_circuits(mut f: Fixture, expect_refusals: bool) {
    let (x, y) = (f.bytes(), f.bytes());
    let [a, b] = [&x, &y].map(|x| f.at_level(x, LEVEL));
    let c = Evaluator::new(&f.eval);
    let public = f.lowered(&c.public(&x).unwrap(), LEVEL);

    // x_(t+1) = x_t + x_(t-1)
    let mut before = (b.clone(), y.clone());
    let sum_of_two = |now: &Ciphertext, bytes: &[u8]| {
        let next = c.combine(&[(now, 1), (&before.0, 1)]);
        let want = zip(bytes, &before.1, |a, b| a ^ b);
        before = (now.clone(), bytes.to_vec());
        (next, want)
    };
    let start = || (a.clone(), x.clone());
    let (done, _) = steps(&f, "sums of two", 204, start(), sum_of_two);
    assert!(done > 20 && done < 204);
    let sixty_one =
        |now: &Ciphertext, bytes: &[u8]| (c.combine(&vec![(now, 1); 61]), bytes.to_vec());
    let (done, last) = steps(&f, "61-fold sums", 25, start(), sixty_one);
    assert!(done > 5 && done < 24);
    // `sound` would fail if mean squares were added as a bound
    let (_, largest) = f.secret.measure_noise(&last);
    assert!(largest > last.noise_bits(), "{largest}, {:?}", last.noise());
    let what = "61-fold sums of public bytes";
    let (done, _) = steps(&f, what, 25, (public, x.clone()), sixty_one);
    assert!(done > 5 && done < 25);

    let chosen = chosen_bytes(&f.params);
    let zero = vec![0; x.len()];
    let squares = |bytes: &[u8]| map(bytes, |x| gf256::mul(x, x));
    for count in [0, 3, 5] {
        let (mut start, mut bytes) = (a.clone(), x.clone());
        for _ in 0..count {
            start = c.add_public(&start, &chosen).unwrap();
            bytes = zip(&bytes, &chosen, |a, b| a ^ b);
        }
        let run = |kind: &str, step: &dyn Fn(&Ciphertext) -> Result<Ciphertext>| {
            let what = format!("chosen bytes {count} times, {kind}");
            let start = (start.clone(), bytes.clone());
            steps(&f, &what, 8, start, |c, bytes| (step(c), squares(bytes))).0
        };
        let done = run("squares", &|now| c.multiply(now, now));
        assert_eq!(done, 8, "squares are Frobenius maps");
        let by_tensor = |now: &Ciphertext| c.relinearize(&c.mul(now, now)?);
        let done = run("products with themselves", &by_tensor);
        assert_eq!(done < 8, expect_refusals);
        // a copy that is not recognised as such
        run("products with a copy", &|now| {
            c.multiply(now, &c.add_public(now, &zero)?)
        });
    }
    let by_public = |now: &Ciphertext, bytes: &[u8]| {
        let out = c.multiply_public(now, &y, Lift::ZeroOne);
        (out, zip(bytes, &y, gf256::mul))
    };
    let (done, _) = steps(&f, "products with public bytes", 18, start(), by_public);
    assert!(!expect_refusals || done < 18);
}

#[test]
fn breaking_circuits_are_right_or_refused() {
    breaking_circuits(toy(40), false);
}

#[test]
#[ignore = "nightly: a minute at n = 32768"]
fn nightly_breaking_circuits_are_right_or_refused_at_full_size() {
    breaking_circuits(fixture(&sets::AES128_8, 41), true);
}

/// Public blocks are added until their noise outgrows that of AES, in one process and across a file.
#[test]
fn public_blocks_are_counted() {
    count_public_blocks(2048);
}

#[test]
#[ignore = "nightly: ten times as many additions"]
fn nightly_many_public_blocks_are_counted() {
    count_public_blocks(20_000);
}

fn count_public_blocks(additions: u32) {
    // on one thread, or every small addition waits for the larger tasks of other tests
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    alone.unwrap().install(|| add_public_blocks(additions));
}

fn add_public_blocks(additions: u32) {
    let mut f = toy(45);
    let wrapped = f.wrap(&[3; 16], FOR_CIRCUITS);
    let aes = f.aes(&wrapped, Layout::Sliced);
    let mut state = aes.evaluate(&[[7; 16]]).unwrap();
    let output = state.ciphertexts()[0].bound_bits(&f.params);
    let chosen: Vec<Block> = chosen_bytes(&f.params).iter().map(|&b| [b; 16]).collect();
    let below = |state: &State| {
        let c = &state.ciphertexts()[0];
        let (_, largest) = f.secret.measure_noise(c);
        assert!(largest <= c.bound_bits(&f.params));
        largest
    };
    for times in 0..additions {
        if times.is_power_of_two() {
            below(&state);
        }
        if times < 64 || times % 64 == 0 {
            match encode_batch(&f.params, &state) {
                Ok(body) => {
                    let read = decode_batch(&f.params, None, Layout::Sliced, state.level(), &body);
                    below(&read.unwrap());
                }
                Err(Error::Field(homaes_scheme::FieldError { found, .. })) => {
                    assert!(found == u64::from(times) && times > 2)
                }
                Err(e) => panic!("{e}"),
            }
        }
        state.xor_public(&f.params, &chosen).unwrap();
    }
    let largest = below(&state);
    assert!(largest > output, "{largest}, at first {output}");
    let all: Vec<&Ciphertext> = state.ciphertexts().iter().collect();
    match aes.evaluator().all(&all) {
        Ok(c) => {
            // an even number of additions cancels out
            let plain = f.secret.decrypt_blocks(&aes.evaluate(&[[7; 16]]).unwrap());
            let product = |b: &Block| b.iter().fold(1, |p, &x| gf256::mul(p, x));
            let want: Vec<u8> = plain.unwrap().blocks.iter().map(product).collect();
            sound(&f, &c, &want, "product of all bytes");
        }
        Err(Error::TooNoisy { .. } | Error::TooDeep { .. }) => {}
        Err(e) => panic!("{e}"),
    }
}

/// The norms of a high product and a fresh ciphertext differ by more than the range of `f64`.
#[test]
fn large_and_small_norms_are_summed_without_loss() {
    let mut f = toy(52);
    let ones = vec![1; f.params.slots().count()];
    let fresh: Vec<_> = (0..512).map(|_| f.encrypt(&ones)).collect();
    let eval = Evaluator::new(&f.eval);
    let lower = |c: &Ciphertext| eval.mod_switch(c).unwrap();
    let mut row: Vec<_> = fresh.iter().map(lower).collect();
    while row.len() > 1 {
        for c in &mut row {
            for _ in 0..4 {
                *c = eval.add(c, c).unwrap();
            }
        }
        row = row
            .par_chunks(2)
            .map(|pair| product(&f, &pair[0], &pair[1]))
            .collect();
    }
    let (big, small, zeros) = (&row[0], &fresh[0], map(&ones, |_| 0));
    // four doublings a level, nine times: an even multiple of an encryption of ones
    sound(&f, big, &zeros, "product");
    let combined = |terms: &[(&Ciphertext, u8)], want: &[u8]| {
        let c = eval.combine(terms).unwrap();
        sound(&f, &c, want, "combination");
        c.bound_bits(&f.params)
    };
    combined(&[(big, 1)], &zeros);
    let both = combined(&[(big, 1), (small, 1)], &ones);
    let alone = combined(&[(big, 0), (small, 1)], &ones);
    let bound = |c: &Ciphertext| c.bound_bits(&f.params);
    assert!(both >= bound(big));
    assert!(alone >= bound(&f.lowered(small, big.level)) - 1.0);
}

fn three_fresh(seed: u8) -> (Fixture, [Ciphertext; 3]) {
    let mut f = toy_4369(seed);
    let bytes = [(); 3].map(|()| f.bytes());
    let fresh = bytes.map(|x| f.at_level(&x, 9));
    (f, fresh)
}

/// Whether the bounds treat the noises of the two as shared.
fn shared(f: &Fixture, a: &Ciphertext, b: &Ciphertext) -> bool {
    let level = a.level.min(b.level);
    let [a, b] = [a, b].map(|c| f.lowered(c, level).bound(&f.params));
    let product = crate::circuit::bounds::product_bound(&f.params, &a, &b, 0);
    product.events() > a.events() + b.events()
}

fn product(f: &Fixture, a: &Ciphertext, b: &Ciphertext) -> Ciphertext {
    let eval = Evaluator::new(&f.eval);
    eval.relinearize(&eval.mul(a, b).unwrap()).unwrap()
}

#[track_caller]
fn same(f: &Fixture, a: &Ciphertext, b: &Ciphertext) {
    assert!(shared(f, a, b));
}

#[track_caller]
fn apart(f: &Fixture, a: &Ciphertext, b: &Ciphertext) {
    assert!(!shared(f, a, b));
}

/// Switches and automorphisms that share noise although they are computed separately.
#[test]
fn the_same_noise_is_recognised() {
    let (f, [x, y, _]) = three_fresh(44);
    let c = Evaluator::new(&f.eval);
    let shifted = c.add_public(&x, &[1, 2, 3]).unwrap();
    // the sum of ζ_17^3·ζ_257^i over all i but 0 is -ζ_17^3
    let third = |i| u64::from(f.params.ring().exponent(i) % 17 == 3);
    let unit: Vec<u64> = (0..f.params.ring().n()).map(third).collect();
    let unit = f.params.slots().decode(&unit).unwrap();
    let unit = c.multiply_public(&x, &unit, Lift::ZeroOne).unwrap();
    let down = |c: &Ciphertext, level| f.lowered(c, level);
    let power = |a: &Ciphertext| c.frobenius(a, 1).unwrap();
    let rotate = |a: &Ciphertext, steps| c.rotate(a, Axis::E257, steps).unwrap();
    let turn = |a: &Ciphertext| rotate(a, 1);
    // switches of sums with public bytes, of units and other multiples, at other levels, in two steps
    let x8 = down(&x, 8);
    same(&f, &x8, &down(&shifted, 8));
    same(&f, &x8, &down(&unit, 8));
    same(&f, &x8, &down(&c.add(&x, &x).unwrap(), 8));
    same(&f, &x8, &down(&c.multiply_byte(&x, 3).unwrap(), 6));
    same(&f, &down(&x, 7), &down(&x8, 7));
    // automorphisms of these, along other paths, at another level
    same(&f, &power(&x), &power(&shifted));
    same(&f, &power(&x), &power(&unit));
    same(&f, &turn(&x), &turn(&shifted));
    same(&f, &power(&turn(&x)), &turn(&power(&x)));
    same(&f, &down(&power(&x), 6), &power(&down(&x, 6)));
    // a switch merged into the division of a key switch, and after it
    same(&f, &c.multiply(&x, &x).unwrap(), &down(&power(&x), 8));
    // a sum of switched ciphertexts
    let y8 = down(&y, 8);
    same(&f, &c.add(&x8, &y8).unwrap(), &y8);
    // fresh ciphertexts, forms, images
    let sum = |b: u8| down(&c.combine(&[(&x, 1), (&y, b)]).unwrap(), 8);
    apart(&f, &x, &y);
    apart(&f, &sum(3), &sum(7));
    apart(&f, &x, &power(&x));
    apart(&f, &turn(&x), &rotate(&x, 2));
}

/// Products that are one polynomial although they are computed separately.
#[test]
fn the_same_product_is_recognised() {
    let (mut f, [x, y, z]) = three_fresh(49);
    let bytes = f.bytes();
    let c = Evaluator::new(&f.eval);
    let shifted = c.add_public(&x, &[1, 2, 3]).unwrap();
    let times = |a: &Ciphertext, b: &Ciphertext| product(&f, a, b);
    let three = |a: &Ciphertext, b: &Ciphertext, d: &Ciphertext| c.three_way(a, b, d).unwrap();
    same(&f, &times(&x, &y), &times(&y, &shifted));
    same(&f, &three(&x, &y, &z), &three(&z, &shifted, &y));
    // products of sums, with an image for k = 1: Σ a·σ^k(z)
    let sum = |all: &[&Ciphertext], k| {
        let products = all.iter().map(|a| c.mul_frobenius(a, &z, k));
        let sum = products.reduce(|s, p| c.add_product(s?, &p?)).unwrap();
        c.relinearize(&sum.unwrap()).unwrap()
    };
    let both = c.add(&x, &y).unwrap();
    for k in [0, 1] {
        same(&f, &sum(&[&both], k), &sum(&[&x, &y], k));
    }
    // a constant, or public bytes, on either factor
    let twice = |a: &Ciphertext| c.add(a, a);
    let by_three = |a: &Ciphertext| c.multiply_byte(a, 3);
    let public = |a: &Ciphertext| c.multiply_public(a, &bytes, Lift::ZeroOne);
    for change in [&twice as &dyn Fn(&Ciphertext) -> _, &by_three, &public] {
        let [x_changed, z_changed] = [&x, &z].map(|a| change(a).unwrap());
        same(&f, &times(&x_changed, &z), &times(&x, &z_changed));
    }
    let [two_x, two_z] = [&x, &z].map(|a| twice(a).unwrap());
    same(&f, &three(&two_x, &y, &z), &three(&x, &y, &two_z));
    // public factors are unknown
    let one = f.lowered(&c.public(&[1; 1]).unwrap(), 9);
    apart(&f, &times(&x, &y), &z);
    apart(&f, &times(&x, &one), &y);
}

/// Forms do not separate sums that may share a part's rounding.
#[test]
fn large_multiples_have_no_names() {
    let (f, [x, y, _]) = three_fresh(50);
    let c = Evaluator::new(&f.eval);
    // sums in which a term vanishes, or may, modulo the primes that a switch drops
    let multiple = |a: &Ciphertext, k: u64| {
        let twice = |p: &Ciphertext| Some(c.add(p, p).unwrap());
        let doubled = core::iter::successors(Some(a.clone()), twice);
        let doubled: Vec<_> = doubled.take(64 - k.leading_zeros() as usize).collect();
        let terms = doubled.iter().enumerate().filter(|(i, _)| k >> i & 1 == 1);
        let terms: Vec<_> = terms.map(|t| (t.1, 1)).collect();
        c.combine(&terms).unwrap()
    };
    let middle = multiple(&y, f.params.set().chain.middle);
    let hidden = c.add(&x, &middle).unwrap();
    assert_eq!(hidden.bound(&f.params).family(), None);
    assert!(multiple(&y, 1000).bound(&f.params).family().is_some());
}
