use super::*;
use crate::bits::key::{BitsSecret, Part, spectra};
use crate::bits::table::{HALF, entries, polynomials};
use crate::params::Variant;
use crate::sets;
use homaes_aes::Direction;
use homaes_math::torus;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// Keys of a set, for tests of the stages.
struct Fixture {
    set: BitsSet,
    fouriers: [Fourier; 2],
    lwe: Vec<u64>,
    glwe: Vec<u64>,
    key: BitsKey,
}

impl Fixture {
    fn new(set: &BitsSet, seed: u8) -> Self {
        let mut rng = ChaCha20Rng::from_seed([seed; 32]);
        let fouriers = [Fourier::new(set.degree), Fourier::new(set.key_switch_degree)];
        let mut lwe = vec![0; set.lwe_dimension];
        torus::binary(&mut rng, &mut lwe);
        let mut glwe = vec![0; set.rank * set.degree];
        torus::binary(&mut rng, &mut glwe);
        let secret = BitsSecret::new(set, [&fouriers[0], &fouriers[1]], &lwe, &glwe);
        let mut parts: Vec<Reals> = Part::all(set)
            .into_iter()
            .map(|part| {
                let bodies = secret.bodies(part, &[seed; 32], &mut rng);
                spectra(set, [&fouriers[0], &fouriers[1]], part, &[seed; 32], &bodies)
            })
            .collect();
        drop(secret);
        let key = BitsKey::from_parts(set, &mut parts);
        Self {
            set: set.clone(),
            fouriers,
            lwe,
            glwe,
            key,
        }
    }

    fn secret(&self) -> BitsSecret<'_> {
        let [fourier, small] = &self.fouriers;
        BitsSecret::new(&self.set, [fourier, small], &self.lwe, &self.glwe)
    }

    fn engine(&self) -> Engine<'_> {
        let [fourier, small] = &self.fouriers;
        Engine::new(&self.set, [fourier, small], &self.key)
    }

    /// LWE ciphertexts of bits under the GLWE key, with fresh noise.
    fn encrypt(&self, bits: impl IntoIterator<Item = bool>) -> Vec<u64> {
        let secret = self.secret();
        let mut rng = ChaCha20Rng::from_seed([77; 32]);
        let mut out = Vec::new();
        for (i, bit) in bits.into_iter().enumerate() {
            let n = self.set.degree;
            let mut glwe = vec![0; (self.set.rank + 1) * n];
            let (masks, body) = glwe.split_at_mut(self.set.rank * n);
            torus::uniform(&[9; 32], i as u64, masks);
            body[0] = if bit { HALF } else { 0 };
            secret.glwe.encrypt((&[9; 32], i as u64), self.set.glwe_log2_sigma.exp2(), &mut rng, body);
            let mut lwe = vec![0; self.set.rank * n + 1];
            extract(&glwe, n, 0, &mut lwe);
            out.extend(lwe);
        }
        out
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

fn phase(lwe: &[u64], key: &[u64]) -> u64 {
    let (mask, body) = lwe.split_at(key.len());
    let sum = mask
        .iter()
        .zip(key)
        .fold(0u64, |sum, (a, s)| sum.wrapping_add(a.wrapping_mul(*s)));
    body[0].wrapping_sub(sum)
}

fn chain(set: &BitsSet, count: usize) {
    let f = Fixture::new(set, 3);
    let engine = f.engine();
    let n = set.degree;
    let bits: Vec<bool> = (0..count).map(|i| i * 7 % 5 % 2 == 1).collect();
    let lwes = f.encrypt(bits.iter().copied());
    let secret = f.secret();
    // key switch
    let small = engine.key_switch(&lwes);
    let errors: Vec<f64> = small
        .chunks_exact(set.lwe_dimension + 1)
        .zip(&bits)
        .map(|(lwe, &bit)| torus_of(phase(lwe, &f.lwe).wrapping_sub(if bit { HALF } else { 0 })))
        .collect();
    println!("key switch: 2^{:.2}", std(&errors).log2());
    // blind rotation
    let start = std::time::Instant::now();
    let rotated = engine.rotate_for_ggsw(&lwes);
    println!("rotation: {:.3} ms", start.elapsed().as_secs_f64() * 1e3 / count as f64);
    let mut errors = Vec::new();
    for (acc, &bit) in rotated.chunks_exact(engine.glwe_len()).zip(&bits) {
        let phase = secret.glwe.phase(acc);
        for level in 0..set.ggsw.levels {
            let want = if bit { unit(set.ggsw, level) } else { 0 };
            errors.push(torus_of(phase[level].wrapping_sub(want)));
        }
    }
    println!("blind rotation: 2^{:.2}", std(&errors).log2());
    // trace
    let mut work = Work::new(&engine);
    let (mut constant, mut rest) = (Vec::new(), Vec::new());
    let start = std::time::Instant::now();
    for (acc, &bit) in rotated.chunks_exact(engine.glwe_len()).zip(&bits) {
        let traced = engine.trace(acc, &mut work);
        for (level, ct) in traced.iter().take(set.ggsw.levels).enumerate() {
            let phase = secret.glwe.phase(ct);
            let want = if bit { unit(set.ggsw, level) } else { 0 };
            constant.push(torus_of(phase[0].wrapping_sub(want)));
            rest.extend(phase[1..].iter().map(|&x| torus_of(x)));
        }
    }
    println!("trace: {:.3} ms", start.elapsed().as_secs_f64() * 1e3 / count as f64);
    println!("constants: 2^{:.2}, others: 2^{:.2}", std(&constant).log2(), std(&rest).log2());
    // refresh
    let fresh = engine.refresh(&lwes, HALF);
    let errors: Vec<f64> = fresh
        .chunks_exact(engine.lwe_len())
        .zip(&bits)
        .map(|(lwe, &bit)| torus_of(phase(lwe, &f.glwe).wrapping_sub(if bit { HALF } else { 0 })))
        .collect();
    println!("refresh: 2^{:.2}", std(&errors).log2());
    // look-up
    let entries = entries(Direction::Encrypt, false);
    let table = polynomials(&entries, 0);
    let bytes: Vec<usize> = bits.chunks(8).map(|b| b.iter().rev().fold(0, |x, &b| 2 * x + usize::from(b))).collect();
    let tables: Vec<&[u64]> = bytes.iter().map(|_| &table[..]).collect();
    let start = std::time::Instant::now();
    let found = engine.look_up(&lwes, &tables);
    println!("whole: {:.3} ms per bit", start.elapsed().as_secs_f64() * 1e3 / count as f64);
    let mut errors = Vec::new();
    for (ct, x) in found.iter().zip(bytes) {
        let phase = secret.glwe.phase(ct);
        for o in 0..OUTPUTS {
            let want = u64::from(entries[x] >> o & 1) << 63;
            errors.push(torus_of(phase[o].wrapping_sub(want)));
        }
    }
    let worst = errors.iter().fold(0.0f64, |w, e| w.max(e.abs()));
    println!("look-up: 2^{:.2}, worst 2^{:.2}", std(&errors).log2(), worst.log2());
    assert!(worst < 0.25);
    println!("{:?}", engine.meter.read());
    let _ = n;
}

#[test]
fn toy_chain() {
    chain(bits(&sets::TOY), 16);
}

#[test]
#[ignore]
fn full_chain() {
    chain(bits(&sets::P64), 32);
}

#[test]
#[ignore]
fn rotation_speed() {
    let set = bits(&sets::P64);
    let f = Fixture::new(set, 3);
    let engine = f.engine();
    for count in [8, 16, 32, 64] {
        let lwes = f.encrypt((0..count).map(|i| i % 3 == 0));
        let small = engine.key_switch(&lwes);
        let test = vec![0; set.degree];
        let best = (0..3)
            .map(|_| {
                let start = std::time::Instant::now();
                let _ = engine.blind_rotate(&small, &test, 2);
                start.elapsed().as_secs_f64() * 1e3 / count as f64
            })
            .fold(f64::INFINITY, f64::min);
        println!("batch {count}: {best:.3} ms");
    }
}
