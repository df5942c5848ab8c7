use super::*;
use crate::bits::table::{HALF, entries, polynomials};
use crate::noise::{
    Accounting, BIT_THRESHOLD, LINEAR_TERMS, LOOK_UP_DEPTH, NoiseModel, REFRESHED,
    external_product, log2_erfc, rounded_to, rounding,
};
use crate::parts::Shape;
use crate::ring::Automorphism;
use crate::sampling::{Moments, Reading, describe, judge, moment_of_digits, moments_of_digits};
use crate::set::{LweKey, Variant};
use crate::sets;
use crate::tests::cpu_seconds;
use crate::tests::trial::Trial;
use homaes_aes::Direction;
use homaes_math::torus;
use rayon::prelude::*;

struct Fixture {
    set: BitsSet,
    trial: Trial,
}

impl Fixture {
    fn new(set: &BitsSet, seed: u8) -> Self {
        Self {
            set: set.clone(),
            trial: Trial::new(Shape::from(set), [seed; 32]),
        }
    }

    fn engine(&self) -> Engine<'_> {
        let Trial {
            fouriers, spectra, ..
        } = &self.trial;
        Engine::new(&self.set, fouriers.each_ref(), spectra)
    }

    fn encrypt(&self, bits: impl IntoIterator<Item = bool>) -> Vec<Lwe<Big>> {
        let messages = bits.into_iter().map(|bit| if bit { HALF } else { 0 });
        self.trial.encrypt(messages)
    }
}

fn bits(set: &crate::ParamSet) -> &BitsSet {
    match &set.variant {
        Variant::Bits(set) => set,
        Variant::Nibble(_) => unreachable!(),
    }
}

fn std(errors: &[f64]) -> f64 {
    (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt()
}

fn torus_of(x: u64) -> f64 {
    x as i64 as f64 * 2f64.powi(-64)
}

fn some_bits(count: usize) -> Vec<bool> {
    (0..count)
        .map(|i| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61 & 1 == 1)
        .collect()
}

fn lwe_errors<K>(lwes: &[Lwe<K>], key: &[u64], bits: &[bool]) -> Vec<f64> {
    lwes.iter()
        .zip(bits)
        .map(|(lwe, &bit)| torus_of(lwe.phase(key).wrapping_sub(if bit { HALF } else { 0 })))
        .collect()
}

fn refs(lwes: &[Lwe<Big>]) -> Vec<&Lwe<Big>> {
    lwes.iter().collect()
}

/// Errors of all values of GLWE ciphertexts that hold bit · unit in coefficient `at(level)`.
fn value_errors(
    f: &Fixture,
    ciphertexts: &[Glwe],
    bits: &[bool],
    at: impl Fn(usize) -> usize,
) -> Vec<f64> {
    let secret = f.trial.secrets();
    let gadget = f.set.ggsw;
    let all = ciphertexts.iter().zip(bits).flat_map(|(ct, &bit)| {
        let phase = ct.phase(&secret.glwe);
        let errors = (0..gadget.levels).map(|level| {
            let want = if bit { unit(gadget, level) } else { 0 };
            torus_of(phase[at(level)].wrapping_sub(want))
        });
        errors.collect::<Vec<_>>()
    });
    all.collect()
}

/// Sampled noise is at most the model's, up to sampling error, and at most `slack` bits below it.
fn agrees(what: &str, errors: &[f64], variance: f64, slack: f64) {
    let (found, want) = (std(errors).log2(), variance.log2() / 2.0);
    println!("{what}: 2^{found:.2}, model 2^{want:.2}");
    let spread = 3.0 / (errors.len() as f64 * 2.0).sqrt() * core::f64::consts::LOG2_E;
    assert!(
        found <= want + spread,
        "{what}: 2^{found:.2}, model 2^{want:.2}"
    );
    assert!(
        found >= want - slack - spread,
        "{what}: 2^{found:.2}, model 2^{want:.2}"
    );
}

/// Images of ciphertexts with a mask only, whose phases are known exactly.
fn automorphisms(f: &Fixture, work: &mut Work) {
    let (engine, set, n) = (f.engine(), &f.set, f.set.degree);
    let secret = f.trial.secrets();
    let mut errors = Vec::new();
    for t in 1..=n.trailing_zeros() {
        let mut x = engine.zero();
        torus::uniform(&[5; 32], u64::from(t), x.split_mut().0);
        let mut out = engine.zero();
        engine.automorphism(t, &x, &mut out, work);
        let mut want = vec![0; n];
        Automorphism::new(n, t).apply(&x.phase(&secret.glwe), &mut want);
        let phase = out.phase(&secret.glwe);
        errors.extend(
            phase
                .iter()
                .zip(&want)
                .map(|(x, y)| torus_of(x.wrapping_sub(*y))),
        );
    }
    let model = NoiseModel::new(set, Accounting::Structured);
    agrees("automorphism", &errors, model.automorphism, 0.6);
}

/// Rows of GGSW ciphertexts: body rows hold bit · g, mask rows -s_i · bit · g.
fn ggsw_rows(f: &Fixture, accs: &[Glwe], bits: &[bool], work: &mut Work) {
    let (engine, set) = (f.engine(), &f.set);
    let secret = f.trial.secrets();
    let (columns, levels) = (set.rank + 1, set.ggsw.levels);
    let mut ggsw = engine.zero_ggsw();
    let mut errors = [Vec::new(), Vec::new()];
    for (acc, &bit) in accs.iter().zip(bits) {
        engine.ggsw(acc, &mut ggsw, work);
        for row in 0..columns * levels {
            let mut ct = engine.zero();
            for (c, poly) in ct.polynomials_mut().enumerate() {
                f.trial.fouriers[0].inverse_add(&ggsw.spectra, row * columns + c, poly);
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
fn stages(set: &BitsSet, count: usize) {
    let f = Fixture::new(set, 3);
    let engine = f.engine();
    let model = NoiseModel::new(set, Accounting::Structured);
    let bits = some_bits(count);
    let lwes = f.encrypt(bits.iter().copied());
    let small = engine.key_switch(&refs(&lwes));
    agrees(
        "key switch",
        &lwe_errors(&small, &f.trial.lwe, &bits),
        model.key_switch,
        0.5,
    );
    let accs = engine.rotate_for_ggsw(&refs(&lwes));
    let errors = value_errors(&f, &accs, &bits, |level| level);
    agrees("blind rotation", &errors, model.rotation.total(), 0.6);
    let mut work = Work::new(&engine);
    let mut others = Vec::new();
    for (acc, &bit) in accs[..8].iter().zip(&bits) {
        for (level, ct) in engine
            .trace(acc, &mut work)
            .iter()
            .take(set.ggsw.levels)
            .enumerate()
        {
            let phase = ct.phase(&f.trial.secrets().glwe);
            let want = if bit { unit(set.ggsw, level) } else { 0 };
            let error = torus_of(phase[0].wrapping_sub(want)).abs();
            assert!(error < 8.0 * (model.rotation.total() + model.trace.constant).sqrt());
            others.extend(phase[1..].iter().map(|&x| torus_of(x)));
        }
    }
    let each = (model.trace.sum - model.trace.constant) / set.degree as f64;
    agrees("trace", &others, each, 0.8);
    automorphisms(&f, &mut work);
    ggsw_rows(&f, &accs[..16], &bits, &mut work);
    let fresh = engine.refresh(&refs(&lwes), &[HALF]);
    // the exponents may be odd, and those monomials round once more
    let variance = REFRESHED * model.rotation.total();
    agrees(
        "refreshed",
        &lwe_errors(&fresh, &f.trial.glwe, &bits),
        variance,
        0.8,
    );
    let entries = entries(Direction::Encrypt, false);
    let table = polynomials(&entries, 0);
    let bytes = bits.chunks_exact(8);
    let bytes: Vec<usize> = bytes
        .map(|b| b.iter().rev().fold(0, |x, &b| 2 * x + usize::from(b)))
        .collect();
    let tables = vec![&table[..]; bytes.len()];
    let lwes: Vec<&LweByte> = lwes.as_chunks().0.iter().collect();
    let found = engine.look_up(&lwes, &tables);
    let mut errors = Vec::new();
    for (ct, x) in found.iter().zip(bytes) {
        let phase = ct.phase(&f.trial.secrets().glwe);
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
    stages(bits(&sets::TOY), 64);
    // rank 2 as in the secure sets, and more polynomials than entries in a polynomial
    let small = BitsSet {
        rank: 2,
        degree: 128,
        ..bits(&sets::TOY).clone()
    };
    stages(&small, 64);
    let blocks = BitsSet {
        lwe_dimension: 24,
        lwe_key: LweKey::Blocks,
        unroll: 3,
        ..small.clone()
    };
    stages(&blocks, 64);
    let plain = BitsSet { unroll: 1, ..small };
    stages(&plain, 64);
}

#[test]
#[ignore = "nightly: half a minute"]
fn nightly_stages_at_full_size() {
    stages(bits(&sets::P64), 512);
    stages(bits(&sets::P64_BLOCKS), 512);
}

/// Errors at the input of blind rotation, and of its parts.
struct Inputs {
    rotation: Vec<f64>,
    linear: Vec<f64>,
    key_switch: Vec<f64>,
    modulus_switch: Vec<f64>,
    all: Vec<f64>,
}

/// Samples the input of blind rotation: sums of four look-ups of random tables, switched to the LWE key, moved and
/// rounded to the steps; `OUTPUTS` samples for each of `sums`. The bytes looked up consist of `bits`, whose circuit
/// bootstraps are reused.
fn inputs(f: &Fixture, bits: &[bool], sums: u64) -> Inputs {
    let (set, engine) = (&f.set, f.engine());
    let words = bits.len() / 8;
    let mut work = Work::new(&engine);
    let lwes = f.encrypt(bits.iter().copied());
    let accs: Vec<Glwe> = refs(&lwes)
        .chunks(16)
        .flat_map(|lwes| engine.rotate_for_ggsw(lwes))
        .collect();
    let ggsw: Vec<Ggsw> = accs
        .iter()
        .map(|acc| {
            let mut ggsw = engine.zero_ggsw();
            engine.ggsw(acc, &mut ggsw, &mut work);
            ggsw
        })
        .collect();
    let bytes: Vec<&[Ggsw]> = ggsw.chunks_exact(8).collect();
    let values: Vec<usize> = bits
        .chunks_exact(8)
        .map(|b| b.iter().rev().fold(0, |x, &b| 2 * x + usize::from(b)))
        .collect();
    let secret = f.trial.secrets();
    let step = step_log(set.degree);
    let half_step = 1u64 << (step + set.log2_values - 1);
    let mut out = Inputs {
        rotation: value_errors(f, &accs, bits, |level| level),
        linear: Vec::new(),
        key_switch: Vec::new(),
        modulus_switch: Vec::new(),
        all: Vec::new(),
    };
    for repetition in 0..sums {
        let mut random = [0u64; 256];
        torus::uniform(&[7; 32], repetition, &mut random);
        let entries: Vec<u32> = random.iter().map(|&x| x as u32).collect();
        let table = polynomials(&entries, 0);
        let mut sum = engine.zero();
        let mut want = 0;
        for j in 0..4 {
            let byte = (4 * repetition as usize + j + repetition as usize / 16) % words;
            sum.add(&engine.look_up_ggsw(bytes[byte], &table));
            want ^= entries[values[byte]];
        }
        let glwe_phase = sum.phase(&secret.glwe);
        let lwes: Vec<Lwe<Big>> = (0..OUTPUTS).map(|o| sum.extract(o)).collect();
        let small = engine.key_switch(&refs(&lwes));
        let mut turned = small.clone();
        turn_by_a_quarter(set, &mut turned, set.log2_values);
        for (o, (lwe, turned)) in small.iter().zip(&turned).enumerate() {
            let before = glwe_phase[o];
            let switched = lwe.phase(&f.trial.lwe);
            let per_one = set.lwe_key.bits_per_one(set.unroll);
            let exponents = Exponents::new(turned, per_one, set.degree, set.log2_values);
            let products = exponents.mask.iter().zip(&f.trial.lwe);
            let sum: usize = products.map(|(a, s)| a * *s as usize).sum();
            // the middle of the interval that is rounded to this step, moved back
            let rounded = ((exponents.body as u64).wrapping_sub(sum as u64) << step)
                .wrapping_add(half_step)
                .wrapping_sub(1 << 62);
            let message = u64::from(want >> o & 1) << 63;
            out.linear.push(torus_of(before.wrapping_sub(message)));
            out.key_switch.push(torus_of(switched.wrapping_sub(before)));
            out.modulus_switch
                .push(torus_of(rounded.wrapping_sub(switched)));
            out.all.push(torus_of(rounded.wrapping_sub(message)));
        }
    }
    out
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
    let f = Fixture::new(set, 5);
    let Inputs { linear, all, .. } = inputs(&f, &some_bits(8 * 64), (1 << 16) / OUTPUTS as u64);
    let model = NoiseModel::new(set, Accounting::Structured);
    let bound = NoiseModel::new(set, Accounting::Uniform);
    agrees("linear layer", &linear, bound.linear.total(), 1.5);
    agrees(
        "linear layer, structured",
        &linear,
        model.linear.total(),
        1.0,
    );
    agrees(
        "input of blind rotation",
        &all,
        bound.bootstrap_input.total(),
        1.0,
    );
    // beyond t standard deviations of the model there are at most as many samples as for a normal variable
    let sigma = bound.bootstrap_input.total().sqrt();
    for t in [1.0, 2.0, 3.0, 4.0] {
        let found = all.iter().filter(|e| e.abs() > t * sigma).count() as f64;
        let share = (log2_erfc(t / core::f64::consts::SQRT_2)).exp2() * all.len() as f64;
        println!("beyond {t}: {found}, normal {share:.1}");
        assert!(found <= share + 4.0 * share.sqrt() + 4.0);
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
            let f = Fixture::new(set, 100 + key);
            let parts = inputs(&f, &vec![true; 8 * bytes], sums);
            assert!(parts.all.iter().all(|e| e.abs() < BIT_THRESHOLD));
            let Inputs {
                rotation,
                linear,
                key_switch,
                modulus_switch,
                all,
            } = parts;
            let sums = [in_rows(&rotation), moment_of_bits(&f)];
            let parts = [rotation, linear, key_switch, modulus_switch, all];
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

fn moment_of_bits(f: &Fixture) -> f64 {
    let mean = 1.0 / f.set.lwe_key.bits_per_one(f.set.unroll) as f64;
    let squares = f.trial.lwe.iter().map(|&s| (s as f64 - mean).powi(2));
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
    reading(bits(&sets::P64_BLOCKS), 32, 32, 1 << 14);
}

#[test]
#[ignore = "nightly: minutes"]
fn nightly_reading_p128() {
    reading(bits(&sets::P128), 48, 64, 1 << 15);
}

#[test]
#[ignore = "prints times"]
fn rotation_speed() {
    for unroll in [1, 2] {
        let set = BitsSet {
            unroll,
            ..bits(&sets::P64).clone()
        };
        let f = Fixture::new(&set, 3);
        let engine = f.engine();
        for count in [8, 16, 32, 64] {
            let lwes = f.encrypt((0..count).map(|i| i % 3 == 0));
            let small = engine.key_switch(&refs(&lwes));
            let tests = [vec![0; set.degree]];
            let best = (0..3)
                .map(|_| {
                    let start = cpu_seconds();
                    let _ = engine.blind_rotate(&small, &tests, 2);
                    (cpu_seconds() - start) * 1e3 / count as f64
                })
                .fold(f64::INFINITY, f64::min);
            println!("{unroll} key bits a step, batch {count}: {best:.3} ms");
        }
    }
}
