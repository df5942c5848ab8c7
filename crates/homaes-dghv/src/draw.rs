//! Random primes.
//!
//! Each candidate is drawn independently: all primes are equally likely, and the time spent on rejected candidates
//! tells nothing about the prime. Trial division and, on AVX-512, Fermat tests of eight candidates at once leave
//! candidates for `crypto-primes`; its test and trial division do not run in constant time. For toy sizes,
//! `crypto-primes` searches upwards from a random number.

use crate::prime::Secret;
use crypto_bigint::U1024;
use crypto_primes::{Flavor, is_prime, random_prime};
use homaes_math::Backend;
use homaes_math::integer::{FERMAT_BITS, pass_fermat};
use homaes_math::natural::{inverse_of_word, words_of};
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;
use std::sync::OnceLock;
use zeroize::Zeroizing;

const TOGETHER: usize = 8;
/// Bound of trial division: larger primes cost more than the tests they save.
const SMALL: u64 = 1 << 11;

pub(crate) fn prime(rng: &mut ChaCha20Rng, bits: usize, backend: Backend) -> Secret {
    let words = words_of(bits);
    if !FERMAT_BITS.contains(&bits) {
        let p: Zeroizing<U1024> = Zeroizing::new(random_prime(rng, Flavor::Any, bits as u32));
        let mut out = Zeroizing::new(p.to_words().to_vec());
        out.truncate(words);
        return out;
    }
    loop {
        let together: [Secret; TOGETHER] = core::array::from_fn(|_| candidate(rng, bits));
        let passed = match backend {
            Backend::Avx512Ifma | Backend::Avx512 => {
                pass_fermat(together.each_ref().map(|n| &n[..]), bits, backend)
            }
            // here the library is at least as fast, and finds the same primes
            _ => [true; TOGETHER],
        };
        let mut passed = together
            .into_iter()
            .zip(passed)
            .filter(|(_, passed)| *passed);
        if let Some((n, _)) = passed.find(|(n, _)| is_prime_number(n)) {
            return n;
        }
    }
}

/// The test of Baillie, Fiori and Wagstaff.
pub(crate) fn is_prime_number(n: &[u64]) -> bool {
    let mut words = Zeroizing::new([0; U1024::LIMBS]);
    words[..n.len()].copy_from_slice(n);
    is_prime(Flavor::Any, &U1024::from_words(*words))
}

fn candidate(rng: &mut ChaCha20Rng, bits: usize) -> Secret {
    let mut n = Zeroizing::new(vec![0; words_of(bits)]);
    let (last, above) = (n.len() - 1, (bits - 1) % 64);
    loop {
        n.fill_with(|| rng.next_u64());
        n[0] |= 1;
        n[last] = n[last] & ((1 << above) - 1) | 1 << above;
        if !groups().iter().any(|group| group.divides(&n)) {
            return n;
        }
    }
}

/// Small odd primes whose product fits a word.
struct Group {
    primes: Vec<u64>,
    product: u64,
    /// -product^-1 mod 2^64
    neg_inv: u64,
}

impl Group {
    fn of(primes: Vec<u64>) -> Self {
        let product: u64 = primes.iter().product();
        Self {
            neg_inv: inverse_of_word(product).wrapping_neg(),
            primes,
            product,
        }
    }

    /// Whether one of the primes divides n. Montgomery reduction to a word keeps that, up to powers of 2.
    fn divides(&self, n: &[u64]) -> bool {
        let rest = n.iter().fold(0, |rest: u64, &word| {
            let sum = u128::from(rest) + u128::from(word);
            let m = (sum as u64).wrapping_mul(self.neg_inv);
            // below 2^64 because the product is below 2^63
            ((sum + u128::from(m) * u128::from(self.product)) >> 64) as u64
        });
        self.primes.iter().any(|p| rest % p == 0)
    }
}

/// All primes from 3 to [`SMALL`], smallest first.
fn groups() -> &'static [Group] {
    static GROUPS: OnceLock<Vec<Group>> = OnceLock::new();
    GROUPS.get_or_init(|| {
        let prime = |n: &u64| {
            (3..*n)
                .step_by(2)
                .take_while(|d| d * d <= *n)
                .all(|d| !n.is_multiple_of(d))
        };
        let mut groups: Vec<Vec<u64>> = vec![Vec::new()];
        let mut product = 1;
        for p in (3..SMALL).step_by(2).filter(prime) {
            if product > (1 << 63) / p {
                groups.push(Vec::new());
                product = 1;
            }
            product *= p;
            if let Some(group) = groups.last_mut() {
                group.push(p);
            }
        }
        groups.into_iter().map(Group::of).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ciphertext::big;
    use homaes_math::natural::bit_length;
    use num_bigint::BigUint;
    use rand_core::SeedableRng;

    #[test]
    fn small_factors_are_found() {
        let all: Vec<u64> = groups()
            .iter()
            .flat_map(|group| group.primes.clone())
            .collect();
        assert_eq!((all.len(), all[0], all[all.len() - 1]), (308, 3, 2039));
        let mut rng = ChaCha20Rng::from_seed([5; 32]);
        for _ in 0..200 {
            let n: Vec<u64> = (0..16).map(|_| rng.next_u64()).collect();
            let value = big(&n);
            for group in groups() {
                let divides = |p: &u64| &value % p == BigUint::from(0u8);
                assert_eq!(group.divides(&n), group.primes.iter().any(divides));
            }
        }
    }

    #[test]
    fn primes_are_prime_and_have_their_length() {
        for bits in [640, 971, 993, 1024] {
            let found = Backend::available().map(|backend| {
                let mut rng = ChaCha20Rng::from_seed([bits as u8; 32]);
                prime(&mut rng, bits, backend)
            });
            let found: Vec<Secret> = found.collect();
            assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{bits}");
            for p in found {
                assert_eq!(bit_length(&p), bits);
                assert!(is_prime_number(&p));
                // checked with another library: 2^(p-1) = 3^(p-1) = 1
                let p = big(&p);
                let one = BigUint::from(1u8);
                for base in [2u8, 3] {
                    assert_eq!(BigUint::from(base).modpow(&(&p - &one), &p), one);
                }
            }
        }
    }
}
