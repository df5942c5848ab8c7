//! Measures the gains of GHS12's general tools, the figures of docs/papers.md.
//!
//! ```text
//! cargo run --release -p homaes-bgv --example ghs12_tools
//! ```
//!
//! Transforms, levels and key bytes are the same on every machine. Key bytes are those of n = 32768; transforms and
//! levels do not depend on the ring. Noise is measured in a ring of 4096 dimensions with the chain of `bgv/aes128+8`
//! and fixed seeds, in bits of the canonical rms.

use homaes_bgv::{Axis, Ciphertext, EvalKey, Evaluator, Lift, ParamSet, Params, SecretKey, sets};
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

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

struct Bench<'a> {
    params: &'a Params,
    secret: &'a SecretKey,
    eval: &'a EvalKey,
    /// Encryptions of `bytes` at the top level.
    inputs: Vec<Ciphertext>,
    bytes: Vec<u8>,
}

fn main() -> Outcome {
    let params = Params::new(&SMALL)?;
    let mut rng = ChaCha20Rng::from_seed([12; 32]);
    let secret = SecretKey::generate(&params, &mut rng)?;
    let eval = EvalKey::generate(&secret, &mut rng);
    let mut bytes = vec![0; params.slots().count()];
    rng.fill_bytes(&mut bytes);
    let encrypt = |_| secret.encrypt(&bytes, &mut rng);
    let inputs = (0..4).map(encrypt).collect::<Result<Vec<_>, _>>()?;
    let bench = Bench {
        params: &params,
        secret: &secret,
        eval: &eval,
        inputs,
        bytes: bytes.clone(),
    };
    bench.double_crt()?;
    bench.key_switching();
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

impl Bench<'_> {
    fn evaluator(&self) -> Evaluator<'_> {
        Evaluator::new(self.eval)
    }

    /// The k-th input, switched down to `level`.
    fn at(&self, k: usize, level: usize) -> Outcome<Ciphertext> {
        let eval = self.evaluator();
        let mut c = self.inputs[k].clone();
        while c.level() > level {
            c = eval.mod_switch(&c)?;
        }
        Ok(c)
    }

    fn noise(&self, c: &Ciphertext) -> f64 {
        self.secret.measure_noise(c).0
    }

    /// Number of primes at `level`, with three levels a round.
    fn primes(level: usize) -> u64 {
        let base = (level.div_ceil(3) - 1) as u64;
        base + if level.is_multiple_of(3) { 2 } else { 1 }
    }

    fn double_crt(&self) -> Outcome {
        let eval = self.evaluator();
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

    fn key_switching(&self) {
        let top = self.params.top_level();
        let eval = self.evaluator();
        let _ = eval.frobenius(&self.inputs[0], 1);
        let measured = eval.reading().count("transforms");
        let q = self.params.log2_modulus(top);
        let qp = self.params.log2_qp();
        let special: f64 = SMALL.chain.special.iter().map(|&p| (p as f64).log2()).sum();
        let digits =
            1 + (SMALL.chain.base.len() - SMALL.chain.first_digit).div_ceil(SMALL.chain.digit);
        println!(
            "special modulus and digits (3.1), one switch at the top: {measured} transforms with {digits} digits \
             and P of {special:.0} bits (log2 QP {qp:.0}, limit 833); bits of the ciphertext one by one, as BGV: \
             at least {:.0}; one digit, as GHS12 3.1: log2 QP at least {:.0}",
            q * Self::primes(top) as f64,
            qp - special + q - 6.25,
        );
    }

    fn modulus_switching(&self) -> Outcome {
        for level in [39, 9] {
            let c = self.at(0, level)?;
            let eval = self.evaluator();
            let _ = eval.mod_switch(&c)?;
            let (from, to) = (Self::primes(level), Self::primes(level - 1));
            println!(
                "modulus switching in evaluation form (3.2), level {level}: {} transforms; through coefficients {}",
                eval.reading().count("transforms"),
                2 * (from + to)
            );
        }
        Ok(())
    }

    fn dynamic_noise(&self) -> Outcome {
        let eval = self.evaluator();
        let c = &eval;
        let mut dynamic = self.at(0, 20)?;
        let mut always = dynamic.clone();
        for _ in 0..6 {
            dynamic = c.multiply_byte(&dynamic, 0xb7)?;
            dynamic = c.multiply_frobenius(&dynamic, &dynamic, 1)?;
            // a switch after every operation
            always = eval.mod_switch(&c.multiply_byte(&always, 0xb7)?)?;
            always = eval.relinearize(&eval.mul_frobenius(&always, &always, 1)?)?;
        }
        println!(
            "dynamic noise (3.3), six times \"times a constant, times its own square\": {} levels by noise, \
             {} with a switch after each operation",
            20 - dynamic.level(),
            20 - always.level()
        );
        Ok(())
    }

    fn lifts(&self) -> Outcome {
        let eval = self.evaluator();
        let c = &eval;
        let input = self.at(0, 9)?;
        let plain = c.multiply_public(&input, &self.bytes, Lift::ZeroOne)?;
        let signs = c.multiply_public(&input, &self.bytes, Lift::Signs([3; 32]))?;
        let [before, plain, signs] = [&input, &plain, &signs].map(|c| self.noise(c));
        println!(
            "lifts of public polynomials (3.4): 0/1 adds {:.2} bits of noise, random signs {:.2}",
            plain - before,
            signs - before
        );
        Ok(())
    }

    fn three_way(&self) -> Outcome {
        for level in [9, 6] {
            let inputs = [self.at(0, level)?, self.at(1, level)?, self.at(2, level)?];
            let [x, y, z] = &inputs;
            let three = self.evaluator();
            let once = three.three_way(x, y, z)?;
            let two = self.evaluator();
            let xy = two.relinearize(&two.mul(x, y)?)?;
            let twice = two.relinearize(&two.mul(&xy, &two.mod_switch(z)?)?)?;
            println!(
                "three-way product (A), level {level} to {}: {} transforms, noise {:.2}; two products {} and {:.2}",
                once.level(),
                three.reading().count("transforms"),
                self.noise(&once),
                two.reading().count("transforms"),
                self.noise(&twice)
            );
        }
        Ok(())
    }

    fn constants_first(&self) -> Outcome {
        // at level 8 a digit is as large as the special modulus, so the key switch dominates the noise
        let (eval, x) = (self.evaluator(), self.at(0, 8)?);
        let c = 0xb7;
        let after = eval.multiply_byte(&eval.frobenius(&x, 1)?, c)?;
        let root = homaes_aes::gf256::frobenius(c, 7);
        let before = eval.frobenius(&eval.multiply_byte(&x, root)?, 1)?;
        println!(
            "constants before automorphisms (A), level 8: noise {:.2}, after {:.2}",
            self.noise(&before),
            self.noise(&after)
        );
        Ok(())
    }

    fn switch_keys_high(&self) -> Outcome {
        for level in [9, 8] {
            let x = self.at(0, level)?;
            let high = self.evaluator();
            let first = high.mod_switch(&high.frobenius(&x, 1)?)?;
            let low = self.evaluator();
            let second = low.frobenius(&low.mod_switch(&x)?, 1)?;
            println!(
                "key switching before modulus switching (A), level {level}: noise {:.2} with {} \
                 transforms; after {:.2} with {}",
                self.noise(&first),
                high.reading().count("transforms"),
                self.noise(&second),
                low.reading().count("transforms")
            );
        }
        Ok(())
    }

    fn sums_first(&self) -> Outcome {
        let inputs = (0..4).map(|k| self.at(k, 9)).collect::<Outcome<Vec<_>>>()?;
        let pairs = [(0, 1), (1, 2), (2, 3), (3, 0)].map(|(i, j)| (&inputs[i], &inputs[j]));
        let first = self.evaluator();
        let products = pairs.map(|(x, y)| first.mul(x, y));
        let [a, b, c, d] = products;
        let sum = first.add_product(first.add_product(first.add_product(a?, &b?)?, &c?)?, &d?)?;
        let sum = first.relinearize(&sum)?;
        let each = self.evaluator();
        let mut other: Option<Ciphertext> = None;
        for (x, y) in pairs {
            let product = each.relinearize(&each.mul(x, y)?)?;
            other = Some(match other {
                None => product,
                Some(sum) => each.add(&sum, &product)?,
            });
        }
        let other = other.ok_or("four products")?;
        println!(
            "sum before switching down (A), four products at level 9: {} transforms, noise {:.2}; \
             each for itself {} and {:.2}",
            first.reading().count("transforms"),
            self.noise(&sum),
            each.reading().count("transforms"),
            self.noise(&other)
        );
        Ok(())
    }

    fn generators(&self) -> Outcome {
        let (eval, x) = (self.evaluator(), self.at(0, 9)?);
        let _ = eval.rotate(&x, Axis::E257, 64)?;
        let one = eval.reading().count("transforms");
        let _ = eval.rotate(&x, Axis::E257, 77)?;
        let four = eval.reading().count("transforms") - one;
        // a key has one polynomial per digit at n = 32768; the other half of a digit is a seed
        let chain = SMALL.chain;
        let base = self.params.rotation_level().div_ceil(3) - 1;
        let primes = [
            &[chain.last, chain.low, chain.middle],
            &chain.base[..base],
            chain.special,
        ]
        .concat();
        let bits: f64 = primes.iter().map(|&p| (p as f64).log2().ceil()).sum();
        let digits = if base > chain.first_digit { 2.0 } else { 1.0 };
        let mib = digits * bits * 32768.0 / 8.0 / 1048576.0;
        println!(
            "keys for generators only (A): 10 rotations of {mib:.2} MiB = {:.1} MiB at n = 32768 instead of \
             1023 = {:.0} MiB; a step of 64 takes {one} transforms, one of 77 = 64 + 8 + 4 + 1 takes {four}",
            10.0 * mib,
            1023.0 * mib
        );
        Ok(())
    }
}
