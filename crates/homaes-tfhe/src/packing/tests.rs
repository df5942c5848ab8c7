//! Packed bits decrypt, and go on to a bootstrap, with the noise of the model.

use super::*;
use crate::bits::engine::Engine;
use crate::bits::table::HALF;
use crate::ciphertext::{Big, Lwe};
use crate::noise::{Accounting, NoiseModel};
use crate::set::{Gadget, gadget};
use crate::tests::bits;
use crate::tests::trial::{Trial, refs, torus_of, variance};
use crate::{ParamSet, sets};
use homaes_scheme::Cancel;

fn base(f: &Trial<BitsSet>) -> Bootstrap<'_> {
    let fouriers = f.fouriers.each_ref();
    Bootstrap::new((&f.set).into(), fouriers, &f.spectra, &Cancel::new())
}

/// Random bits, and the words of their encryptions.
fn fresh(f: &Trial<BitsSet>, count: u64) -> (Vec<bool>, Vec<u64>) {
    let random = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61 & 1 == 1;
    let bits: Vec<bool> = (0..count).map(random).collect();
    let lwes = f.encrypt(bits.iter().map(|&bit| if bit { HALF } else { 0 }));
    let words = lwes.iter().flat_map(|lwe| lwe.words().to_vec());
    (bits, words.collect())
}

fn error(phase: u64, bit: bool) -> f64 {
    torus_of(phase.wrapping_sub(if bit { HALF } else { 0 }))
}

/// The LWE ciphertexts of packed bits.
fn extracted(f: &Trial<BitsSet>, packed: &[Glwe], count: usize) -> Vec<Lwe<Big>> {
    let firsts = (0..count).step_by(f.set.degree);
    let each = packed.iter().zip(firsts).flat_map(|(packed, first)| {
        let own = f.set.degree.min(count - first);
        let stride = stride(&f.set, own);
        (0..own).map(move |i| packed.extract(i * stride))
    });
    each.collect()
}

fn errors(lwes: &[Lwe<Big>], key: &[u64], bits: &[bool]) -> Vec<f64> {
    let pairs = lwes.iter().zip(bits);
    pairs
        .map(|(lwe, &bit)| error(lwe.phase(key), bit))
        .collect()
}

/// Sampled noise is within `off` bits of the model's.
#[track_caller]
fn close(what: &str, errors: &[f64], model: f64, off: f64) {
    let found = 0.5 * (variance(errors) / model).log2();
    println!(
        "{what}: 2^{:.2} by the model, {found:+.2} bits",
        model.log2() / 2.0
    );
    assert!(found.abs() < off, "{what}: {found} bits off");
}

fn mean(errors: &[f64]) -> f64 {
    errors.iter().sum::<f64>() / errors.len() as f64
}

/// The toy set with the key switch of `tfhe/p64`.
fn small(degree: usize) -> BitsSet {
    BitsSet {
        rank: 2,
        degree,
        key_switch: gadget(2, 5),
        ..bits(&sets::TOY).clone()
    }
}

#[test]
fn any_number_of_blocks_is_packed() {
    let f = Trial::new(&small(512), [7; 32]);
    let base = base(&f);
    let model = NoiseModel::new(&f.set, Accounting::Uniform);
    let body = (-2.0 * f64::from(PACKED_BODY_BITS)).exp2() / 12.0;
    let automorphisms = model.packing - model.key_switch_rounding - body;
    let (bits, words) = fresh(&f, 1024);
    let len = f.set.rank * f.set.degree + 1;
    // one block, padding of one, and a second ciphertext
    for count in [128, 384, 512, 1024] {
        let (bits, words) = (&bits[..count], &words[..count * len]);
        let packed = pack(&base, &f.set, words);
        assert_eq!(packed.len(), count.div_ceil(512));
        let found = errors(&extracted(&f, &packed, count), &f.glwe, bits);
        close(&format!("{count} bits"), &found, model.packing, 0.25);
        if count > 512 {
            continue;
        }
        let exact = Packing::new(&base, words.chunks(len).collect()).run();
        let phase = exact.phase(&f.secrets().glwe);
        let stride = stride(&f.set, count);
        let found = phase.iter().step_by(stride).zip(bits);
        let found: Vec<f64> = found.map(|(&x, &bit)| error(x, bit)).collect();
        close("before rounding", &found, automorphisms, 0.7);
        let between = phase.iter().enumerate().filter(|(i, _)| i % stride > 0);
        let sigma = automorphisms.sqrt();
        assert!(
            between
                .into_iter()
                .all(|(_, &x)| torus_of(x).abs() < 8.0 * sigma)
        );
    }
}

/// Masks on the grid of the key switch lose nothing there. On one twice as fine, half of the words are ties.
#[test]
fn finer_masks_would_be_read_wrongly() {
    let f = Trial::new(&small(256), [8; 32]);
    let base = base(&f);
    let (bits, words) = fresh(&f, 256);
    let exact = Packing::new(&base, words.chunks(513).collect()).run();
    let switched = |finer: u32| {
        let kept = Gadget {
            base_log: f.set.key_switch.bits() + finer,
            levels: 1,
        };
        let mut packed = exact.clone();
        let (masks, body) = packed.split_mut();
        centre(kept, f.set.degree, masks, body);
        ring::round(masks, kept.bits());
        let small = base.key_switch(&refs(&extracted(&f, &[packed], 256)));
        let pairs = small.iter().zip(&bits);
        let errors = pairs.map(|(lwe, &bit)| error(lwe.phase(&f.lwe), bit));
        errors.collect::<Vec<f64>>()
    };
    let model = NoiseModel::new(&f.set, Accounting::Uniform);
    let own = model.packing + model.key_switch - model.key_switch_rounding;
    let found = switched(0);
    assert!(mean(&found).abs() < own.sqrt() / 2.0, "{}", mean(&found));
    assert!(variance(&found) < 1.5 * own);
    // k N/2 ties, half a step each
    let shift = 256.0 * (-11f64).exp2();
    let found = switched(1);
    assert!(mean(&found).abs() > 0.8 * shift, "{}", mean(&found));
}

/// As many bits as `blocks` have decrypt, and those of eight blocks are bootstrapped on.
fn at_size(set: &ParamSet, blocks: usize) {
    let f = Trial::new(bits(set), [77; 32]);
    let base = base(&f);
    let model = NoiseModel::new(&f.set, Accounting::Uniform);
    let (bits, words) = fresh(&f, 128 * blocks as u64);
    let packed = pack(&base, &f.set, &words);
    let lwes = extracted(&f, &packed, bits.len());
    let found = errors(&lwes, &f.glwe, &bits);
    assert!(found.iter().all(|e| e.abs() < 0.25));
    close("packed", &found, model.packing, 0.2);
    let (lwes, bits) = (&lwes[..1024.min(bits.len())], &bits[..1024.min(bits.len())]);
    let small = base.key_switch(&refs(lwes));
    let pairs = small.iter().zip(bits);
    let found: Vec<f64> = pairs
        .map(|(lwe, &bit)| error(lwe.phase(&f.lwe), bit))
        .collect();
    let read = model.packing + model.key_switch - model.key_switch_rounding;
    close("after the key switch", &found, read, 0.2);
    let engine = Engine::new(&f.set, f.fouriers.each_ref(), &f.spectra, &Cancel::new());
    let out: Vec<Lwe<Big>> = lwes
        .chunks(32)
        .flat_map(|lwes| engine.refresh(&refs(lwes), &[HALF]))
        .collect();
    let found = errors(&out, &f.glwe, bits);
    assert!(found.iter().all(|e| e.abs() < 0.25), "bootstrapped");
}

#[test]
fn toy_bits_go_on() {
    at_size(&sets::TOY, 4);
}

#[test]
#[ignore = "nightly: full size, half a minute"]
fn nightly_bits_go_on_at_full_size() {
    for set in [&sets::P64, &sets::P128, &sets::P64_BLOCKS] {
        at_size(set, 32);
    }
}
