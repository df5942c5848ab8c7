use super::*;
use crate::bits::table::{HALF, entries, polynomials};
use crate::noise::{
    Accounting, BIT_THRESHOLD, LINEAR_TERMS, LOOK_UP_DEPTH, NoiseModel, REFRESHED,
    external_product, log2_erfc, rotation, rounded_to, rounding,
};
use crate::ring::Automorphism;
use crate::sampling::{Moments, Reading, describe, judge, moment_of_digits, moments_of_digits};
use crate::set::{LweKey, gadget};
use crate::sets;
use crate::tests::bits;
use crate::tests::trial::{Trial, refs, torus_of, variance};
use homaes_aes::Direction;
use homaes_math::torus;
use rayon::prelude::*;

impl Trial<BitsSet> {
    fn engine(&self) -> Engine<'_> {
        let fouriers = self.fouriers.each_ref();
        Engine::new(&self.set, fouriers, &self.spectra, &Cancel::new())
    }

    fn encrypt_bits(&self, bits: &[bool]) -> Vec<Lwe<Big>> {
        self.encrypt(bits.iter().map(|&bit| if bit { HALF } else { 0 }))
    }
}

fn some_bits(count: u64) -> Vec<bool> {
    let random = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61 & 1 == 1;
    (0..count).map(random).collect()
}

/// The byte of each eight bits.
fn bytes(bits: &[bool]) -> Vec<usize> {
    let byte = |b: &[bool; 8]| b.iter().rev().fold(0, |x, &b| 2 * x + usize::from(b));
    bits.as_chunks().0.iter().map(byte).collect()
}

fn lwe_errors<K>(lwes: &[Lwe<K>], key: &[u64], bits: &[bool]) -> Vec<f64> {
    let error = |(lwe, &bit): (&Lwe<K>, &bool)| {
        torus_of(lwe.phase(key).wrapping_sub(if bit { HALF } else { 0 }))
    };
    lwes.iter().zip(bits).map(error).collect()
}

/// Errors of all values of rotations, which hold bit · g_j in coefficient j.
fn value_errors(f: &Trial<BitsSet>, rotated: &[Glwe], bits: &[bool]) -> Vec<f64> {
    let secret = f.secrets();
    let gadget = f.set.ggsw;
    let mut errors = Vec::new();
    for (acc, &bit) in rotated.iter().zip(bits) {
        let phase = acc.phase(&secret.glwe);
        for level in 0..gadget.levels {
            let want = if bit { unit(gadget, level) } else { 0 };
            errors.push(torus_of(phase[level].wrapping_sub(want)));
        }
    }
    errors
}

/// Sampled noise is at most the model's, up to sampling error, and at most `slack` bits below it.
fn agrees(what: &str, errors: &[f64], model: f64, slack: f64) {
    let difference = 0.5 * (variance(errors) / model).log2();
    let spread = 3.0 / (errors.len() as f64 * 2.0).sqrt() * core::f64::consts::LOG2_E;
    let range = -slack - spread..=spread;
    assert!(range.contains(&difference), "{what}: {difference} bits off");
}

/// Images of ciphertexts with a mask only, whose phases are known exactly.
fn automorphisms(f: &Trial<BitsSet>, work: &mut Work) {
    let (engine, set, n) = (f.engine(), &f.set, f.set.degree);
    let secret = f.secrets();
    let mut errors = Vec::new();
    let (mut x, mut out, mut want) = (engine.base.zero(), engine.base.zero(), vec![0; n]);
    for t in 1..=n.trailing_zeros() {
        torus::uniform(&[5; 32], u64::from(t), x.split_mut().0);
        engine.base.automorphism(t, &x, &mut out, work.memory());
        Automorphism::new(n, t).apply(&x.phase(&secret.glwe), &mut want);
        let phase = out.phase(&secret.glwe);
        let pairs = phase.iter().zip(&want);
        errors.extend(pairs.map(|(x, y)| torus_of(x.wrapping_sub(*y))));
    }
    let model = NoiseModel::new(set, Accounting::Structured);
    agrees("automorphism", &errors, model.automorphism, 0.6);
}

/// Rows of GGSW ciphertexts: body rows hold bit · g, mask rows -s_i · bit · g.
fn ggsw_rows(f: &Trial<BitsSet>, accs: &[Glwe], bits: &[bool], work: &mut Work) {
    let (engine, set) = (f.engine(), &f.set);
    let secret = f.secrets();
    let (columns, levels) = (set.rank + 1, set.ggsw.levels);
    let mut ggsw = engine.zero_ggsw();
    let mut errors = [Vec::new(), Vec::new()];
    for (acc, &bit) in accs.iter().zip(bits) {
        engine.ggsw(acc, &mut ggsw, work);
        for row in 0..columns * levels {
            let mut ct = engine.base.zero();
            for (c, poly) in ct.polynomials_mut().enumerate() {
                f.fouriers[0].inverse_add(&ggsw.spectra, row * columns + c, poly);
            }
            let phase = ct.phase(&secret.glwe);
            let g = if bit { unit(set.ggsw, row % levels) } else { 0 };
            let part = row / levels;
            let key = |j: usize| secret.glwe.poly(part)[j].wrapping_neg();
            for (j, &x) in phase.iter().enumerate() {
                let factor = match part == set.rank {
                    false => key(j),
                    true => u64::from(j == 0),
                };
                let error = torus_of(x.wrapping_sub(g.wrapping_mul(factor)));
                // the scalar of a body row is in one coefficient only
                if part < set.rank || j == 0 {
                    errors[usize::from(part == set.rank)].push(error);
                }
            }
        }
    }
    let model = NoiseModel::new(set, Accounting::Uniform);
    // the scalar does not count where the key has a 0: half a bit less on average
    agrees("mask rows", &errors[0], model.circuit_bootstrap, 0.9);
    agrees("body rows", &errors[1], model.circuit_bootstrap, 0.5);
}

/// Compares the noise of every stage with the model.
fn stages(set: &BitsSet, count: u64) {
    let f = Trial::new(set, [3; 32]);
    let engine = f.engine();
    let model = NoiseModel::new(set, Accounting::Structured);
    let bits = some_bits(count);
    let lwes = f.encrypt_bits(&bits);
    let small = engine.base.key_switch(&refs(&lwes));
    let errors = lwe_errors(&small, &f.lwe, &bits);
    agrees("key switch", &errors, model.key_switch, 0.5);
    let accs = engine.rotate_for_ggsw(&refs(&lwes));
    let errors = value_errors(&f, &accs, &bits);
    agrees("blind rotation", &errors, model.rotation.total(), 0.6);
    let mut work = Work::new(&engine);
    let (mut constants, mut others) = (Vec::new(), Vec::new());
    for (acc, &bit) in accs[..8].iter().zip(&bits) {
        let traced = engine.trace(acc, &mut work);
        for (level, ct) in traced.iter().take(set.ggsw.levels).enumerate() {
            let phase = ct.phase(&f.secrets().glwe);
            let want = if bit { unit(set.ggsw, level) } else { 0 };
            constants.push(torus_of(phase[0].wrapping_sub(want)));
            others.extend(phase[1..].iter().map(|&x| torus_of(x)));
        }
    }
    let sigma = (model.rotation.total() + model.trace.constant).sqrt();
    assert!(constants.iter().all(|e| e.abs() < 8.0 * sigma));
    let each = (model.trace.sum - model.trace.constant) / set.degree as f64;
    agrees("trace", &others, each, 0.8);
    automorphisms(&f, &mut work);
    ggsw_rows(&f, &accs[..16], &bits, &mut work);
    let fresh = engine.refresh(&refs(&lwes), &[HALF]);
    let errors = lwe_errors(&fresh, &f.glwe, &bits);
    // the exponents may be odd, and those monomials round once more
    let variance = REFRESHED * model.rotation.total();
    agrees("refreshed", &errors, variance, 0.8);
    let entries = entries(Direction::Encrypt, false);
    let table = polynomials(&entries, 0);
    let bytes = bytes(&bits);
    let lwes: Vec<&LweByte> = lwes.as_chunks().0.iter().collect();
    let found = engine.look_up(&lwes, &vec![&table[..]; bytes.len()]);
    let mut errors = Vec::new();
    for (ct, x) in found.iter().zip(bytes) {
        let phase = ct.phase(&f.secrets().glwe);
        for o in 0..OUTPUTS {
            let want = u64::from(entries[x] >> o & 1) << 63;
            errors.push(torus_of(phase[o].wrapping_sub(want)));
        }
    }
    let uniform = NoiseModel::new(set, Accounting::Uniform);
    agrees("look-up", &errors, uniform.look_up.total(), 2.5);
    assert!(errors.iter().all(|e| e.abs() < 0.25));
}

#[test]
fn toy_stages() {
    let toy = bits(&sets::TOY);
    stages(toy, 64);
    // rank 2 as in the secure sets, and more polynomials than entries in a polynomial
    for (lwe_dimension, lwe_key, unroll) in [
        (16, LweKey::Independent, 1),
        (16, LweKey::Independent, 2),
        (24, LweKey::Blocks, 3),
    ] {
        let small = BitsSet {
            rank: 2,
            degree: 128,
            lwe_dimension,
            lwe_key,
            unroll,
            ..toy.clone()
        };
        stages(&small, 64);
    }
}

/// With digits this long, the rounding of mask rows is nearly all of the noise of a blind rotation.
#[test]
fn rounded_rows_add_the_noise_of_the_model() {
    let set = BitsSet {
        rank: 2,
        degree: 128,
        rotation_mask: gadget(16, 3),
        rotation_body: gadget(10, 5),
        ..bits(&sets::TOY).clone()
    };
    let model = rotation(&set);
    assert!(model.rounding + model.fft < model.key / 20.0, "{model:?}");
    let f = Trial::new(&set, [4; 32]);
    let bits = some_bits(512);
    let rotated = f.engine().rotate_for_ggsw(&refs(&f.encrypt_bits(&bits)));
    let errors = value_errors(&f, &rotated, &bits);
    agrees("blind rotation", &errors, model.total(), 0.2);
}

#[test]
#[ignore = "nightly: half a minute"]
fn nightly_stages_at_full_size() {
    stages(bits(&sets::P64), 512);
    stages(bits(&sets::P64_BLOCKS), 512);
}

/// Samples the input of blind rotation: sums of four look-ups of random tables, switched to the LWE key, moved and
/// rounded to the steps; `OUTPUTS` samples for each of `sums`. The bytes looked up consist of `bits`, whose circuit
/// bootstraps are reused.
///
/// Returns the errors of their blind rotations, of the linear layer, key switch and modulus switch, and of the input.
fn inputs(f: &Trial<BitsSet>, bits: &[bool], sums: u64) -> [Vec<f64>; 5] {
    let (set, engine) = (&f.set, f.engine());
    let mut work = Work::new(&engine);
    let lwes = f.encrypt_bits(bits);
    let lots = lwes.chunks(16);
    let accs = lots.flat_map(|lwes| engine.rotate_for_ggsw(&refs(lwes)));
    let accs: Vec<Glwe> = accs.collect();
    let ggsw = accs.iter().map(|acc| {
        let mut ggsw = engine.zero_ggsw();
        engine.ggsw(acc, &mut ggsw, &mut work);
        ggsw
    });
    let ggsw: Vec<Ggsw> = ggsw.collect();
    let values = bytes(bits);
    let secret = f.secrets();
    let mut out: [Vec<f64>; 4] = Default::default();
    for repetition in 0..sums {
        let mut random = [0u64; 256];
        torus::uniform(&[7; 32], repetition, &mut random);
        let entries = random.map(|x| x as u32);
        let table = polynomials(&entries, 0);
        let mut sum = engine.base.zero();
        let mut want = 0;
        for j in 0..4 {
            let byte = (4 * repetition as usize + j + repetition as usize / 16) % values.len();
            sum.add(&engine.look_up_ggsw(&ggsw[8 * byte..][..8], &table));
            want ^= entries[values[byte]];
        }
        let glwe_phase = sum.phase(&secret.glwe);
        let lwes: Vec<Lwe<Big>> = (0..OUTPUTS).map(|o| sum.extract(o)).collect();
        let small = engine.base.key_switch(&refs(&lwes));
        let mut turned = small.clone();
        turn_by_a_quarter(set, &mut turned, set.log2_values);
        for (o, (lwe, turned)) in small.iter().zip(&turned).enumerate() {
            let before = glwe_phase[o];
            let switched = lwe.phase(&f.lwe);
            let per_one = set.lwe_key.bits_per_one(set.unroll);
            let exponents = Exponents::new(turned, per_one, set.degree, set.log2_values);
            let rounded = f.rounded(&exponents, set.log2_values);
            let rounded = rounded.wrapping_sub(1 << 62);
            let message = u64::from(want >> o & 1) << 63;
            let parts = [
                before.wrapping_sub(message),
                switched.wrapping_sub(before),
                rounded.wrapping_sub(switched),
                rounded.wrapping_sub(message),
            ];
            for (errors, part) in out.iter_mut().zip(parts) {
                errors.push(torus_of(part));
            }
        }
    }
    let [linear, key_switch, modulus_switch, all] = out;
    let rotation = value_errors(f, &accs, bits);
    [rotation, linear, key_switch, modulus_switch, all]
}

/// 2^16 samples: the input of blind rotation has the distribution of the model, or a narrower one, far into the tail.
#[test]
fn noise_at_full_size_has_the_distribution_of_the_model() {
    distribution(bits(&sets::P64));
}

#[test]
fn noise_of_a_block_binary_key_has_the_distribution_of_the_model() {
    distribution(bits(&sets::P64_BLOCKS));
}

fn distribution(set: &BitsSet) {
    let f = Trial::new(set, [5; 32]);
    let [_, linear, _, _, all] = inputs(&f, &some_bits(8 * 64), (1 << 16) / OUTPUTS as u64);
    let model = NoiseModel::new(set, Accounting::Structured).linear.total();
    let bound = NoiseModel::new(set, Accounting::Uniform);
    let input = bound.bootstrap_input.total();
    agrees("linear layer", &linear, bound.linear.total(), 1.5);
    agrees("linear layer, structured", &linear, model, 1.0);
    agrees("input of blind rotation", &all, input, 1.0);
    // beyond t standard deviations of the model there are at most as many samples as for a normal variable
    for t in [1.0, 2.0, 3.0, 4.0] {
        let found = all.iter().filter(|e| e.abs() > t * input.sqrt()).count() as f64;
        let share = log2_erfc(t / core::f64::consts::SQRT_2).exp2() * all.len() as f64;
        assert!(
            found <= share + 4.0 * share.sqrt() + 4.0,
            "{found} beyond {t}"
        );
    }
    assert!(all.iter().all(|e| e.abs() < 0.25));
}

/// Samples the noise at which bits are read, over many keys, precisely enough to show an error of one bit in the
/// exponent of the failure probability; see [`judge`]. All bits looked up are 1, so that rounding counts in every CMux,
/// as in the model. Samples of a key share the circuit bootstraps of `bytes` bytes.
///
/// The exact model is the structured one with [`moments_of_digits`], the measured noise of blind rotation (the model
/// has only a bound on the transforms' precision), and the correlation of levels, which are neighbouring coefficients
/// of one rotation, with neighbouring digits.
fn reading(set: &BitsSet, keys: u8, bytes: usize, samples_per_key: usize) {
    let model = NoiseModel::new(set, Accounting::Structured);
    let bound = NoiseModel::new(set, Accounting::Uniform);
    let sums = samples_per_key as u64 / OUTPUTS as u64;
    let declared = Reading {
        variance: bound.bootstrap_input.total(),
        threshold: BIT_THRESHOLD,
        step: f64::from(1 << set.log2_values) / (2 * set.degree) as f64,
    };
    let sigma = declared.sigma();
    let (levels, digits) = (set.ggsw.levels, moments_of_digits(set.ggsw));
    // Σ E[d_l d_m] e_l e_m over the levels, averaged over the bits
    let in_rows = |errors: &[f64]| {
        let pairs = |e: &[f64]| -> f64 {
            let row = |(row, x): (&Vec<f64>, &f64)| {
                row.iter().zip(e).map(|(d, y)| d * x * y).sum::<f64>()
            };
            digits.iter().zip(e).map(row).sum()
        };
        let sum: f64 = errors.chunks_exact(levels).map(pairs).sum();
        sum / errors.len() as f64
    };
    let found: Vec<([Moments; 5], [f64; 2])> = (0..keys)
        .into_par_iter()
        .with_max_len(1)
        .map(|key| {
            let f = Trial::new(set, [100 + key; 32]);
            let parts = inputs(&f, &vec![true; 8 * bytes], sums);
            assert!(parts[4].iter().all(|e| e.abs() < BIT_THRESHOLD));
            let sums = [in_rows(&parts[0]), moment_of_bits(&f)];
            (parts.map(|e| Moments::new(e, sigma)), sums)
        })
        .collect();
    let of_keys = |part: usize| found.iter().map(|f| f.0[part]).collect::<Vec<_>>();
    let describe = |part, what, variance| describe(what, &of_keys(part), sigma, variance);
    let rotation = describe(0, "blind rotation", model.rotation.total());
    assert!(rotation < model.rotation.total() && rotation > 0.8 * model.rotation.total());
    let moment = moment_of_digits(set.ggsw);
    let mean = |i: usize| found.iter().map(|f| f.1[i]).sum::<f64>() / found.len() as f64;
    let in_rows = mean(0) / moment;
    println!(
        "  {:.4} times as much in rows, for the correlation of levels",
        in_rows / rotation
    );
    let (trace, switch) = (&model.trace, model.scheme_switch);
    let product = external_product(set, Accounting::Structured, in_rows, trace, switch);
    // the first CMux chooses between public polynomials and has no mask digits
    let depth = f64::from(LINEAR_TERMS * (LOOK_UP_DEPTH - 1));
    let linear = depth * (product.rounding + moment * product.rows);
    let dimension = (set.rank * set.degree) as f64;
    let rounded = dimension * rounding(set.key_switch) / 4.0;
    let switched = rounded + moment_of_digits(set.key_switch) * (model.key_switch - rounded);
    describe(1, "linear layer", linear);
    describe(2, "key switch", switched);
    // the model takes the worst block binary key
    let rounded = rounded_to(1.0 / declared.step, mean(1));
    assert!(rounded <= model.modulus_switch * (1.0 + 1e-9));
    describe(3, "modulus switch", rounded);
    // the samples have no round key
    let exact = Reading {
        variance: linear + switched + rounded,
        ..declared
    };
    judge("bits when read", &of_keys(4), sigma, exact, declared);
}

fn moment_of_bits(f: &Trial<BitsSet>) -> f64 {
    let mean = 1.0 / f.set.lwe_key.bits_per_one(f.set.unroll) as f64;
    let squares = f.lwe.iter().map(|&s| (s as f64 - mean).powi(2));
    squares.sum()
}

/// `cargo test --release -p homaes-tfhe reading -- --ignored --nocapture`; all of these take a quarter of an hour on
/// two cores.
#[test]
#[ignore = "nightly: minutes"]
fn nightly_reading_p64() {
    reading(bits(&sets::P64), 32, 32, 1 << 14);
}

#[test]
#[ignore = "nightly: minutes"]
fn nightly_reading_p64_blocks() {
    reading(bits(&sets::P64_BLOCKS), 64, 32, 1 << 14);
}

#[test]
#[ignore = "nightly: minutes"]
fn nightly_reading_p128() {
    reading(bits(&sets::P128), 48, 64, 1 << 15);
}
