//! The conversion by the paper's formulas, with a big-integer library, from the key's records.

use super::*;
use crate::ciphertext::big;
use crate::eval_key::{Part, t_words, terms_of, z_words};
use crate::params::{LANES, LIMB};
use crate::rows::unpack_lanes;
use num_bigint::{BigInt, BigUint};

fn words(n: &BigUint, len: usize) -> Vec<u64> {
    let mut out = n.to_u64_digits();
    out.resize(len, 0);
    out
}

fn power(bits: usize) -> BigUint {
    BigUint::from(1u8) << bits
}

struct Plain {
    x0: BigUint,
    /// z_i times 2^κ
    z: Vec<BigUint>,
    kappa: usize,
    sigma: Vec<BigUint>,
}

impl Plain {
    fn new(secret: &SecretKey, key: &EvalKey) -> Self {
        let params = secret.params();
        let set = params.set();
        let record = |number: usize| key.tiles.body(number, &mut Vec::new()).unwrap().to_vec();
        let x0 = big(secret.x0());
        let fraction = params.fraction_bits();
        let whole = big(&z_words(params, &key.seed));
        let (kappa, target) = (params.row_fraction(), set.digits.target);
        // with all bits of z
        let mut z: Vec<BigUint> = Vec::new();
        let groups = params.row_groups();
        let rows: Vec<_> = (0..groups)
            .map(|g| unpack_lanes(&record(1 + set.slots + g)).unwrap())
            .collect();
        for j in 0..set.slots {
            let limbs = rows[j / LANES].iter().map(|lanes| lanes[j % LANES]);
            let row = limbs.fold(BigUint::from(0u8), |sum, limb| (sum << LIMB) + limb);
            z.push(row << (fraction - kappa));
        }
        for i in set.slots..set.theta {
            let shifted = &whole << ((i - set.slots + 1) * params.step());
            z.push(shifted % power(fraction + target));
        }
        let mut sigma = Vec::new();
        let first = 1 + set.slots + groups;
        for number in 0..params.blocks() {
            assert_eq!(Part::of(params, first + number), Part::Block(number));
            let lanes = unpack_lanes(&record(first + number)).unwrap();
            let terms = terms_of(params, number);
            for term in terms.clone() {
                let row = (0..params.correction_groups()).rev().flat_map(|g| {
                    let lanes = lanes[g * terms.len() + term - terms.start];
                    lanes.into_iter().rev()
                });
                let v = row.fold(BigUint::from(0u8), |sum, limb| (sum << LIMB) + limb);
                let (digit, i) = (term / set.theta, term % set.theta);
                let t = big(&t_words(params, &key.seed, digit));
                let known = (&x0 * t) << (i * params.step()) >> fraction;
                sigma.push((known + v) % &x0);
            }
        }
        Self {
            x0,
            z,
            kappa: fraction,
            sigma,
        }
    }

    /// 2⟨σ, c'⟩ modulo x0 for the digits c' of c.
    fn convert(&self, params: &Params, c: &BigUint) -> BigUint {
        let set = params.set();
        let digits = set.digits;
        let mut sum = BigInt::from(0);
        for (i, z) in self.z.iter().enumerate() {
            let window = (c * z + power(self.kappa - 1)) >> self.kappa;
            let mut rest = BigInt::from(window % power(digits.target));
            if digits.signed && rest >= BigInt::from(power(digits.target - 1)) {
                rest -= BigInt::from(power(digits.target));
            }
            for d in 0..digits.count() {
                let base = BigInt::from(power(digits.word));
                let mut digit = ((&rest % &base) + &base) % &base;
                if digits.signed && digit >= BigInt::from(power(digits.word - 1)) {
                    digit -= &base;
                }
                rest = (rest - &digit) / &base;
                sum += &digit * BigInt::from(self.sigma[d * set.theta + i].clone());
            }
        }
        let x0 = BigInt::from(self.x0.clone());
        let value: BigInt = ((sum * 2 % &x0) + &x0) % &x0;
        value.to_biguint().unwrap()
    }
}

/// The fast conversion gives the number of the paper's formulas, up to the rounding of ⌊σ·2^(iD)⌋, far below the noise.
#[test]
fn conversions_are_those_of_the_paper() {
    for set in [&sets::SINGLE, &sets::MICRO, &sets::MICRO_PAPER] {
        let mut rng = rng(5);
        let w = World::new(set);
        let plain = Plain::new(&w.secret, &w.eval);
        let meter = Meter::default();
        let bits = Bits::new(&w.eval, &meter);
        for round in 0..5u64 {
            let [x, y] = [round, 3 * round + 1]
                .map(|x| w.secret.encrypt(&bits_of(x, set.slots), &mut rng).unwrap());
            let product = bits.and(&x, &y).unwrap();
            let c = big(&product.words) % &plain.x0;
            let expected = plain.convert(&w.params, &c);
            let fast = bits.relinearize(product).unwrap();
            let found = big(&fast.words) % &plain.x0;
            let forth = (&found + &plain.x0 - &expected) % &plain.x0;
            let back = (&expected + &plain.x0 - &found) % &plain.x0;
            let most = set.digits.word + 2 + w.params.terms().ilog2() as usize;
            let distance = forth.min(back).bits() as usize;
            assert!(distance <= most, "{}: {distance} bits", set.name);
            assert!(most < set.rho + set.digits.word);
            let mut by_the_book = fast.clone();
            by_the_book.words = words(&expected, fast.words.len());
            let both = [fast, by_the_book].map(|c| super::found(&w.secret.decrypt(&c).unwrap()));
            assert_eq!(both[0], both[1]);
        }
    }
}

/// A fresh ciphertext is the bit times (p_j - 1)/2 modulo each p_j², up to ρ bits of noise.
#[test]
fn fresh_ciphertexts_decrypt_under_all_primes() {
    let World { params, secret, .. } = World::new(&sets::MICRO);
    let mut rng = rng(6);
    let c = secret.encrypt(&[true, false, true], &mut rng).unwrap();
    let value = big(&c.words);
    for (j, prime) in secret.crt().primes().iter().enumerate() {
        let (p, square) = (big(prime.words()), big(prime.square()));
        assert_eq!(&p * &p, square);
        let r = &value % &square;
        let expected = (&p - 1u8) / 2u8 * u8::from(j != 1);
        let distance = (&r + &square - &expected) % &square;
        let distance = distance.clone().min(&square - distance);
        assert!(distance.bits() as usize <= params.set().rho);
        assert_eq!(big(secret.x0()) % &square, BigUint::from(0u8));
    }
}
