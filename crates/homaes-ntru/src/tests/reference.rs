//! Relinearisation and the modulus switch after it as DHS14 writes them (§2, §4), with integers of any size.

use super::*;
use crate::prime_power::Wide;
use homaes_math::Words;
use homaes_math::kernel::LIMB_BITS;
use homaes_rns::RnsContext;
use homaes_scheme::Cancel;
use homaes_wire::Decoder;
use num_bigint::BigInt;
use sets::{ParamSet, Variant};

/// A polynomial by its coefficients.
type Integers = Vec<BigInt>;

fn integers(x: &Wide) -> Integers {
    let coefficient = |k: usize| {
        let limbs = x.limbs.iter().rev();
        limbs.fold(BigInt::ZERO, |sum, limb| (sum << LIMB_BITS) + limb[k])
    };
    (0..x.limbs[0].len()).map(coefficient).collect()
}

/// x modulo q, from 0 on.
fn modulo(x: &BigInt, q: &BigInt) -> BigInt {
    ((x % q) + q) % q
}

/// The product of two polynomials with coefficients of at most `bound`, from its values modulo enough primes.
fn times(context: &RnsContext, bound: &BigInt, x: &Integers, y: &Integers) -> Integers {
    let mut all = BigInt::from(1);
    let mut out = vec![BigInt::ZERO; x.len()];
    for i in 0.. {
        let (t, m) = (context.transform(i), context.modulus(i));
        let p = BigInt::from(m.p());
        let values = |x: &Integers| {
            let residues = x.iter().map(|x| modulo(x, &p).try_into().unwrap());
            let mut words = Words::scratch(x.len());
            words
                .iter_mut()
                .zip(residues)
                .for_each(|(out, x)| *out = m.to_stored(x));
            t.forward(&mut words);
            words
        };
        let (mut product, y) = (values(x), values(y));
        for (x, &y) in product.iter_mut().zip(y.iter()) {
            *x = m.mul_stored(*x, m.canonical(y));
        }
        t.inverse(&mut product);
        // Garner's step: the next residue decides the next multiple of all primes before
        let inverse = m.inv(modulo(&all, &p).try_into().unwrap());
        for (out, &residue) in out.iter_mut().zip(product.iter()) {
            let missing = modulo(&(m.from_stored(residue) - &*out), &p) * inverse % &p;
            *out += missing * &all;
        }
        all *= p;
        if all > bound * 2 {
            break;
        }
    }
    let signed = |x: BigInt| if &x * 2 > all { x - &all } else { x };
    out.into_iter().map(signed).collect()
}

/// Relinearize: c' = Σ_τ c_τ ζ_τ for the digits c_τ of c in base 2^w, modulo q = p^ℓ; then (c' - δ)/p for the smallest
/// even δ, modulo q/p.
fn relinearize(own: &PrimePower, level: usize, zeta: &[Integers], c: &Integers) -> Integers {
    let (word, p) = (own.word as usize, BigInt::from(own.p));
    let q = p.pow(level as u32);
    let growth = own.ring().product_log2().ceil() as usize;
    let bound = &q << (word + growth);
    let mut sum = vec![BigInt::ZERO; c.len()];
    for (tau, zeta) in zeta.iter().enumerate().take(own.digits(level)) {
        let digit = |x: &BigInt| (x >> (word * tau)) % (BigInt::from(1) << word);
        let zeta = zeta.iter().map(|x| x % &q).collect();
        let product = times(&own.context, &bound, &c.iter().map(digit).collect(), &zeta);
        sum.iter_mut().zip(product).for_each(|(sum, x)| *sum += x);
    }
    let switched = sum.iter().map(|c| {
        let c = modulo(c, &q);
        let centred = |x: BigInt| if &x * 2 > p { x - &p } else { x };
        let half: BigInt = (&p + 1) / 2;
        let delta = centred(modulo(&(&c * half), &p)) * 2;
        modulo(&((c - delta) / &p), &(&q / &p))
    });
    switched.collect()
}

/// Every coefficient is that of the formulas, for digits of one bit, as in the paper, and of several.
#[test]
fn relinearisation_is_that_of_the_paper() {
    for word in [1, 16, 28] {
        let mut rng = ChaCha20Rng::from_seed([4; 32]);
        let variant = Variant::Paper { word };
        let set = ParamSet {
            variant,
            ..sets::TOY_PAPER
        };
        let params = Params::<PrimePower>::new(&set).unwrap();
        let (own, meter) = (params.arithmetic(), Meter::default());
        let secret = SecretKey::generate(&params, &mut rng).unwrap();
        let file = EvalKeyFile::of_seed(&secret, Seed::default());
        for level in [2, 5] {
            let bodies = (0..own.digits(level)).map(|number| file.part(number));
            let bodies: Vec<Vec<u8>> = bodies.collect();
            let read = |body: &Vec<u8>| own.take(own.top(), "key", &mut Decoder::new(body));
            let zeta = bodies.iter().map(|body| integers(&read(body).unwrap()));
            let zeta: Vec<Integers> = zeta.collect();
            let key = bodies.iter().enumerate();
            let key = key.map(|(number, body)| own.take_key_part(number, &mut Decoder::new(body)));
            let key: Vec<Vec<Words>> = key.collect::<Result<_>>().unwrap();
            let [x, y] = [true, false].map(|bit| {
                let c = secret.encrypt(&[bit, true], &mut rng).unwrap();
                own.lower(&meter, own.top(), level, &c.element)
            });
            let product = own.multiply(&meter, level, &x, &y);
            let c = integers(&own.of_product(level, &product));
            let found = own.relinearize(&meter, &key, level, vec![product], &Cancel::new());
            let found = integers(&found.unwrap()[0]);
            assert!(
                found == relinearize(own, level, &zeta, &c),
                "{word}, level {level}"
            );
        }
    }
}
