use super::*;
use crate::set::gadget;
use crate::sets;
use crate::tests::bits;
use core::f64::consts::LOG2_E;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// A set near `tfhe/p64`, with measured noise.
fn p64() -> BitsSet {
    BitsSet {
        lwe_dimension: 640,
        lwe_log2_sigma: -13.63,
        glwe_log2_sigma: -50.0,
        rotation_mask: gadget(14, 2),
        ggsw: gadget(4, 3),
        key_switch: gadget(2, 7),
        ..bits(&sets::P64).clone()
    }
}

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    let near = (found - expected).abs() <= tolerance;
    assert!(near, "{found}, expected {expected}");
}

/// Reference values have 60 digits.
#[test]
fn erfc_is_accurate_far_out() {
    for (x, expected) in [
        (0.0, 0.0),
        (0.1, -0.172_120_693_964_328_66),
        (0.5, -1.060_396_912_014_155_6),
        (1.0, -2.668_416_696_781_599_5),
        (2.0, -7.739_974_157_122_987),
        (3.0, -15.466_214_597_195_473),
        (5.0, -39.242_588_455_115_3),
        (7.68, -88.872_451_276_767_75),
        (10.0, -148.424_305_703_350_63),
        (20.0, -582.227_490_282_927_6),
        (27.0, -1_057.306_308_186_760_1),
        (40.0, -2_314.460_192_072_486_7),
    ] {
        close(log2_erfc(x), expected, 1e-11);
    }
    close(log2_erfc(1.999_999_999), log2_erfc(2.0), 1e-7);
}

#[test]
fn tails_of_products() {
    let tail = |normal, products, terms, threshold| {
        let noise = Mixture {
            normal,
            products,
            terms,
        };
        log2_tail(&noise, threshold)
    };
    // two products of normal variables have a Laplace distribution: exp(-threshold/s)
    close(tail(0.0, 2.0, 2, 60.0), -60.0 * LOG2_E, 0.2);
    let many = tail(0.5, 0.5, u32::MAX, 10.0);
    close(many, tail(1.0, 0.0, 0, 10.0), 0.02);
    assert!(tail(0.5, 0.5, 84, 10.0) > many + 1.0);
}

#[test]
fn counts() {
    let sizes = KeySize::ALL;
    assert_eq!(sizes.map(sub_words), [10, 8, 13]);
    assert_eq!(sizes.map(bootstraps_per_block), [1152, 1408, 1664]);
    assert_eq!(sizes.map(bootstraps_of_expansion), [768, 704, 1088]);
}

/// The model of block binary keys is the maximum over keys, and above the mean.
#[test]
fn rounding_counts_the_worst_block_binary_key() {
    let set = BitsSet {
        lwe_dimension: 744,
        lwe_key: LweKey::Blocks,
        unroll: 3,
        ..p64()
    };
    let moment = |ones: f64| {
        // bits minus their mean of 1/4
        ones * (0.75f64.powi(2) + 2.0 * 0.25f64.powi(2)) + (248.0 - ones) * 3.0 * 0.25f64.powi(2)
    };
    let steps = 512.0f64.powi(2) * 12.0;
    close(modulus_switch(&set) * steps - 1.0, moment(248.0), 1e-9);
    // mean over keys: p (1 - p) per bit
    close(moment(0.75 * 248.0), 744.0 * 3.0 / 16.0, 1e-9);
    let independent = BitsSet {
        lwe_dimension: 744,
        ..p64()
    };
    let moment = modulus_switch(&independent) * steps - 1.0;
    close(moment, 744.0 / 4.0, 1e-9);
    // a step of three block bits has as many keys and cases as a step of two independent bits
    let [blocks, pairs] = [&set, &independent].map(|set| {
        let Rotation { key, rounding, fft } = rotation(set);
        [key, rounding, fft]
    });
    for (blocks, pairs) in blocks.into_iter().zip(pairs) {
        close(blocks / pairs, 248.0 / 372.0, 1e-12);
    }
}

/// Standard deviation over all coefficients, for the trace of one value and of four.
#[test]
fn trace_as_measured() {
    for (trace, standard, packed) in [
        (gadget(12, 3), -26.5, -25.4),
        (gadget(9, 4), -27.8, -26.6),
        (gadget(8, 5), -30.0, -28.8),
    ] {
        for (many, measured) in [(0, standard), (2, packed)] {
            let set = BitsSet {
                trace,
                log2_values: many,
                ..p64()
            };
            let sum = packed_trace(&set, automorphism(&set)).sum;
            let model = log2_sigma(sum / set.degree as f64);
            let range = measured..measured + 1.2;
            assert!(range.contains(&model), "{trace:?} {many}: {model}");
        }
    }
}

#[test]
fn structured_noise_is_below_the_bound() {
    let declared = [&sets::P64, &sets::P128, &sets::P64_BLOCKS].map(bits);
    for set in declared.into_iter().chain([&p64()]) {
        let uniform = NoiseModel::new(set, Accounting::Uniform);
        let structured = NoiseModel::new(set, Accounting::Structured);
        assert!(structured.look_up.total() < uniform.look_up.total());
        assert!(structured.log2_p_bootstrap() < uniform.log2_p_bootstrap());
        assert!(uniform.log2_p_output() < uniform.log2_p_bootstrap());
        let size = KeySize::Aes128;
        assert!(uniform.log2_p_fail(size) > uniform.log2_p_block(size));
    }
}

/// A noise polynomial of degree below N = `len`, modulo `X^N + 1`.
type Poly = Vec<f64>;

/// X -> X^exponent, then times X^by.
fn moved(p: &[f64], exponent: usize, by: usize) -> Poly {
    let n = p.len();
    let mut out = vec![0.0; n];
    for (i, &c) in p.iter().enumerate() {
        let j = (i * exponent + by) % (2 * n);
        out[j % n] = if j < n { c } else { -c };
    }
    out
}

fn add(p: &[f64], q: &[f64], sign: f64) -> Poly {
    p.iter().zip(q).map(|(a, b)| a + sign * b).collect()
}

/// The packed trace of four zeros; each automorphism adds `noise()`.
fn trace_of_four(n: usize, mut noise: impl FnMut() -> Poly) -> [Poly; 4] {
    let mut automorphism = |p: &[f64], exponent| add(&moved(p, exponent, 0), &noise(), 1.0);
    let zero = vec![0.0; n];
    let mut merge = |p: &[f64], q: &[f64], by, exponent| {
        let q = moved(q, 1, by);
        let switched = automorphism(&add(p, &q, -1.0), exponent);
        add(&add(p, &q, 1.0), &switched, 1.0)
    };
    let [even, odd] = [(); 2].map(|()| merge(&zero, &zero, n / 2, 3));
    let mut all = merge(&even, &odd, n / 4, 5);
    let mut exponent = 9;
    while exponent <= n + 1 {
        all = add(&all, &automorphism(&all, exponent), 1.0);
        exponent = 2 * exponent - 1;
    }
    let mut split = |p: &[f64], by, exponent| {
        let switched = automorphism(p, exponent);
        let odd = add(p, &switched, -1.0);
        [add(p, &switched, 1.0), moved(&odd, 1, 2 * n - by)]
    };
    let [even, odd] = split(&all, n / 4, 5);
    let ([a, c], [b, d]) = (split(&even, n / 2, 3), split(&odd, n / 2, 3));
    [a, b, c, d]
}

#[test]
fn trace_noise_as_derived() {
    let (n, trials) = (64, 3000);
    let set = BitsSet { degree: n, ..p64() };
    let expected = packed_trace(&set, 1.0);
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let mut noise = || {
        let sign = |_| if rng.next_u32() & 1 == 0 { 1.0 } else { -1.0 };
        (0..n).map(sign).collect()
    };
    let (mut constant, mut sum) = ([0.0; 4], [0.0; 4]);
    for _ in 0..trials {
        let out = trace_of_four(n, &mut noise);
        for (i, p) in out.iter().enumerate() {
            constant[i] += p[0] * p[0] / f64::from(trials);
            sum[i] += p.iter().map(|c| c * c).sum::<f64>() / f64::from(trials);
        }
    }
    for (constant, sum) in constant.iter().zip(sum) {
        // standard deviation of a mean square of 3000: 2.6 %
        close(constant / expected.constant, 1.0, 0.1);
        close(sum / expected.sum, 1.0, 0.1);
    }
}
