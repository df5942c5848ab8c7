//! Measures the gains of GHS12's general tools, the figures of docs/papers.md.
//!
//! ```text
//! cargo run --release -p homaes-bgv --example ghs12_tools
//! ```
//!
//! Transforms, levels and key bytes are the same on every machine. Key bytes are those of n = 32768; transforms and
//! levels do not depend on the ring. Noise is measured in a ring of 4096 dimensions with the chain of `bgv/aes128+8`
//! and fixed seeds, in bits of the canonical rms.

use homaes_bgv::{
    Axis, Ciphertext, EvalKey, Evaluator, Lift, ParamSet, Params, Result, SecretKey, sets,
};
use homaes_scheme::{Purpose, SetName};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::error::Error;

/// The chain of bgv/aes128+8 in a small ring.
const SMALL: ParamSet = ParamSet {
    name: SetName::from_static("bgv/toy-tools"),
    purpose: Purpose::Toy,
    security_bits_claimed: None,
    m: 4369,
    weight: 64,
    layouts: sets::TOY_4369.layouts,
    ..sets::AES128_8
};

struct Bench<'a> {
    params: &'a Params,
    secret: &'a SecretKey,
    eval: &'a EvalKey,
    /// Encryptions of `bytes` at the top level.
    inputs: Vec<Ciphertext>,
    bytes: &'a [u8],
}

/// What a circuit takes and leaves.
struct Found {
    transforms: u64,
    noise: f64,
    level: usize,
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let params = Params::new(&SMALL)?;
    let mut rng = ChaCha20Rng::from_seed([12; 32]);
    let secret = SecretKey::generate(&params, &mut rng)?;
    let eval = EvalKey::generate(&secret, &mut rng);
    let mut bytes = vec![0; params.slots().count()];
    rng.fill_bytes(&mut bytes);
    let inputs = (0..4).map(|_| secret.encrypt(&bytes, &mut rng));
    let bench = Bench {
        params: &params,
        secret: &secret,
        eval: &eval,
        inputs: inputs.collect::<Result<_>>()?,
        bytes: &bytes,
    };
    bench.double_crt()?;
    bench.key_switching()?;
    bench.modulus_switching()?;
    bench.dynamic_noise()?;
    bench.lifts()?;
    bench.three_way()?;
    bench.constants_first()?;
    bench.switch_keys_high()?;
    bench.sums_first()?;
    bench.generators()?;
    Ok(())
}

fn product(eval: &Evaluator<'_>, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
    eval.relinearize(&eval.mul(x, y)?)
}

impl Bench<'_> {
    fn run(&self, circuit: impl FnOnce(&Evaluator<'_>) -> Result<Ciphertext>) -> Result<Found> {
        let eval = Evaluator::new(self.eval);
        let out = circuit(&eval)?;
        Ok(Found {
            transforms: eval.reading().count("transforms"),
            noise: self.secret.measure_noise(&out).0,
            level: out.level(),
        })
    }

    /// The k-th input, switched down to `level`.
    fn at(&self, k: usize, level: usize) -> Result<Ciphertext> {
        let eval = Evaluator::new(self.eval);
        let mut c = self.inputs[k].clone();
        while c.level() > level {
            c = eval.mod_switch(&c)?;
        }
        Ok(c)
    }

    /// Number of primes at `level`, with three levels a round.
    fn primes(level: usize) -> u64 {
        let base = (level.div_ceil(3) - 1) as u64;
        base + if level.is_multiple_of(3) { 2 } else { 1 }
    }

    fn double_crt(&self) -> Result<()> {
        let eval = Evaluator::new(self.eval);
        let _ = eval.mul(&self.inputs[0], &self.inputs[1])?;
        let l = Self::primes(self.params.top_level());
        println!(
            "double-CRT (2.3), product at the top: {} transforms; with polynomials in coefficients {} \
             (4 in, 3 out, {l} primes each)",
            eval.reading().count("transforms"),
            7 * l
        );
        Ok(())
    }

    fn key_switching(&self) -> Result<()> {
        let top = self.params.top_level();
        let Found { transforms, .. } = self.run(|eval| eval.frobenius(&self.inputs[0], 1))?;
        let (q, qp) = (self.params.log2_modulus(top), self.params.log2_qp());
        let chain = SMALL.chain;
        let special: f64 = chain.special.iter().map(|&p| (p as f64).log2()).sum();
        let digits = 1 + (chain.base.len() - chain.first_digit).div_ceil(chain.digit);
        println!(
            "special modulus and digits (3.1), one switch at the top: {transforms} transforms with {digits} digits \
             and P of {special:.0} bits (log2 QP {qp:.0}, limit 833); bits of the ciphertext one by one, as BGV: \
             at least {:.0}; one digit, as GHS12 3.1: log2 QP at least {:.0}",
            q * Self::primes(top) as f64,
            qp - special + q - 6.25,
        );
        Ok(())
    }

    fn modulus_switching(&self) -> Result<()> {
        for level in [39, 9] {
            let c = self.at(0, level)?;
            let Found { transforms, .. } = self.run(|eval| eval.mod_switch(&c))?;
            let primes = Self::primes(level) + Self::primes(level - 1);
            println!(
                "modulus switching in evaluation form (3.2), level {level}: {transforms} transforms; through \
                 coefficients {}",
                2 * primes
            );
        }
        Ok(())
    }

    fn dynamic_noise(&self) -> Result<()> {
        let start = self.at(0, 20)?;
        let dynamic = self.run(|eval| {
            (0..6).try_fold(start.clone(), |x, _| {
                let x = eval.multiply_byte(&x, 0xb7)?;
                eval.multiply_frobenius(&x, &x, 1)
            })
        })?;
        // a switch after every operation
        let always = self.run(|eval| {
            (0..6).try_fold(start.clone(), |x, _| {
                let x = eval.mod_switch(&eval.multiply_byte(&x, 0xb7)?)?;
                eval.relinearize(&eval.mul_frobenius(&x, &x, 1)?)
            })
        })?;
        println!(
            "dynamic noise (3.3), six times \"times a constant, times its own square\": {} levels by noise, \
             {} with a switch after each operation",
            20 - dynamic.level,
            20 - always.level
        );
        Ok(())
    }

    fn lifts(&self) -> Result<()> {
        let input = self.at(0, 9)?;
        let before = self.secret.measure_noise(&input).0;
        let [plain, signs] = [Lift::ZeroOne, Lift::Signs([3; 32])]
            .map(|lift| self.run(|eval| eval.multiply_public(&input, self.bytes, lift)));
        println!(
            "lifts of public polynomials (3.4): 0/1 adds {:.2} bits of noise, random signs {:.2}",
            plain?.noise - before,
            signs?.noise - before
        );
        Ok(())
    }

    fn three_way(&self) -> Result<()> {
        for level in [9, 6] {
            let [x, y, z] = [0, 1, 2].map(|k| self.at(k, level));
            let (x, y, z) = (x?, y?, z?);
            let once = self.run(|eval| eval.three_way(&x, &y, &z))?;
            let twice =
                self.run(|eval| product(eval, &product(eval, &x, &y)?, &eval.mod_switch(&z)?))?;
            println!(
                "three-way product (A), level {level} to {}: {} transforms, noise {:.2}; two products {} and {:.2}",
                once.level, once.transforms, once.noise, twice.transforms, twice.noise
            );
        }
        Ok(())
    }

    fn constants_first(&self) -> Result<()> {
        // at level 8 a digit is as large as the special modulus, so the key switch dominates the noise
        let (x, c) = (self.at(0, 8)?, 0xb7);
        let after = self.run(|eval| eval.multiply_byte(&eval.frobenius(&x, 1)?, c))?;
        let root = homaes_aes::gf256::frobenius(c, 7);
        let before = self.run(|eval| eval.frobenius(&eval.multiply_byte(&x, root)?, 1))?;
        println!(
            "constants before automorphisms (A), level 8: noise {:.2}, after {:.2}",
            before.noise, after.noise
        );
        Ok(())
    }

    fn switch_keys_high(&self) -> Result<()> {
        for level in [9, 8] {
            let x = self.at(0, level)?;
            let first = self.run(|eval| eval.mod_switch(&eval.frobenius(&x, 1)?))?;
            let second = self.run(|eval| eval.frobenius(&eval.mod_switch(&x)?, 1))?;
            println!(
                "key switching before modulus switching (A), level {level}: noise {:.2} with {} \
                 transforms; after {:.2} with {}",
                first.noise, first.transforms, second.noise, second.transforms
            );
        }
        Ok(())
    }

    fn sums_first(&self) -> Result<()> {
        let inputs = (0..4).map(|k| self.at(k, 9)).collect::<Result<Vec<_>>>()?;
        let pairs = [(0, 1), (1, 2), (2, 3), (3, 0)].map(|(i, j)| (&inputs[i], &inputs[j]));
        let first = self.run(|eval| {
            let [a, b, c, d] = pairs.map(|(x, y)| eval.mul(x, y));
            let sum = eval.add_product(eval.add_product(a?, &b?)?, &c?)?;
            eval.relinearize(&eval.add_product(sum, &d?)?)
        })?;
        let each = self.run(|eval| {
            let [a, b, c, d] = pairs.map(|(x, y)| product(eval, x, y));
            eval.add(&eval.add(&eval.add(&a?, &b?)?, &c?)?, &d?)
        })?;
        println!(
            "sum before switching down (A), four products at level 9: {} transforms, noise {:.2}; \
             each for itself {} and {:.2}",
            first.transforms, first.noise, each.transforms, each.noise
        );
        Ok(())
    }

    fn generators(&self) -> Result<()> {
        let x = self.at(0, 9)?;
        let [one, four] = [64, 77].map(|steps| self.run(|eval| eval.rotate(&x, Axis::E257, steps)));
        // a key has one polynomial per digit at n = 32768; the other half of a digit is a seed
        let chain = SMALL.chain;
        let base = self.params.rotation_level().div_ceil(3) - 1;
        let tail = [chain.last, chain.low, chain.middle];
        let primes = [&tail, &chain.base[..base], chain.special].concat();
        let bits: f64 = primes.iter().map(|&p| (p as f64).log2().ceil()).sum();
        let digits = if base > chain.first_digit { 2.0 } else { 1.0 };
        let mib = digits * bits * 32768.0 / 8.0 / 1048576.0;
        println!(
            "keys for generators only (A): 10 rotations of {mib:.2} MiB = {:.1} MiB at n = 32768 instead of \
             1023 = {:.0} MiB; a step of 64 takes {} transforms, one of 77 = 64 + 8 + 4 + 1 takes {}",
            10.0 * mib,
            1023.0 * mib,
            one?.transforms,
            four?.transforms
        );
        Ok(())
    }
}
