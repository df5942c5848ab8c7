//! Primality and roots of unity for word-size primes.

use crate::modulus::Modulus;

/// Whether `n` is prime (Miller–Rabin with the first twelve primes as bases: exact below 2^64).
pub fn is_prime(n: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if n < 2 {
        return false;
    }
    for b in BASES {
        if n.is_multiple_of(b) {
            return n == b;
        }
    }
    let mul = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(n)) as u64;
    let s = (n - 1).trailing_zeros();
    BASES.iter().all(|&b| {
        let (mut x, mut base, mut e) = (1, b, (n - 1) >> s);
        while e > 0 {
            if e & 1 == 1 {
                x = mul(x, base);
            }
            base = mul(base, base);
            e >>= 1;
        }
        if x == 1 || x == n - 1 {
            return true;
        }
        (1..s).any(|_| {
            x = mul(x, x);
            x == n - 1
        })
    })
}

/// A root of unity of exact order `order` modulo p, always the same one.
///
/// `order` must be a product of powers of the primes in `order_primes` and divide p - 1.
pub(crate) fn root_of_unity(m: &Modulus, order: u64, order_primes: &[u64]) -> u64 {
    assert!(
        (m.p() - 1).is_multiple_of(order),
        "{} is not 1 modulo {order}",
        m.p()
    );
    (2..)
        .map(|g| m.pow(g, (m.p() - 1) / order))
        .find(|&w| {
            order_primes
                .iter()
                .filter(|&&r| order.is_multiple_of(r))
                .all(|&r| m.pow(w, order / r) != 1)
        })
        .expect("a prime field has a primitive root")
}

/// A root w of x² - x + 2 modulo p, always the same one; the other is 1 - w. By Tonelli's and Shanks's algorithm.
///
/// # Panics
/// If -7 is not a square modulo the odd prime p.
pub(crate) fn quadratic_root(m: &Modulus) -> u64 {
    let p = m.p();
    let levels = (p - 1).trailing_zeros();
    let odd = (p - 1) >> levels;
    let generator = root_of_unity(m, 1 << levels, &[2]);
    let square = m.sub(0, 7 % p);
    // root² = square · rest, and rest is a power of `generator`
    let (mut root, mut rest) = (m.pow(square, odd.div_ceil(2)), m.pow(square, odd));
    for level in 1..levels {
        // its order divides 2^(levels - level) from now on
        if m.pow(rest, 1 << (levels - level - 1)) != 1 {
            root = m.mul(root, m.pow(generator, 1 << (level - 1)));
            rest = m.mul(rest, m.pow(generator, 1 << level));
        }
    }
    assert_eq!(m.mul(root, root), square, "-7 is no square modulo {p}");
    m.mul(m.add(1, root), m.inv(2))
}

/// The `count` largest primes below `bound` that are 1 modulo `step`, or all there are.
///
/// BGV sets list such primes as literals, which a test derives again; NTRU sets compute them.
pub fn largest_primes(bound: u64, step: u64, count: usize) -> Vec<u64> {
    let Some(top) = bound.checked_sub(1).filter(|&t| t > 0) else {
        return Vec::new();
    };
    let first = top - (top - 1) % step;
    (0..)
        .map_while(|i| first.checked_sub(i * step))
        .take_while(|&p| p > step)
        .filter(|&p| is_prime(p))
        .take(count)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_primes_exactly() {
        let sieve: Vec<u64> = (2..2000u64)
            .filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0))
            .collect();
        let ours: Vec<u64> = (0..2000).filter(|&n| is_prime(n)).collect();
        assert_eq!(ours, sieve);
        assert!(!is_prime(3_215_031_751)); // strong pseudoprime to 2, 3, 5, 7
    }

    #[test]
    fn roots_have_their_order() {
        let m = Modulus::new(335_539_201);
        for order in [3u64, 5, 16, 17, 256, 257] {
            let w = root_of_unity(&m, order, &[2, 3, 5, 17, 257]);
            let mut x = 1;
            for k in 1..=order {
                x = m.mul(x, w);
                assert_eq!(x == 1, k == order);
            }
        }
    }

    #[test]
    fn roots_of_the_quadratic() {
        for p in [
            117_438_721,
            335_539_201,
            131_311_739_216_641,
            140_737_303_776_001,
        ] {
            let m = Modulus::new(p);
            let w = quadratic_root(&m);
            assert_eq!(m.add(m.mul(w, w), 2), w);
        }
    }

    #[test]
    fn primes_by_size() {
        let step = 65535 * 256;
        assert_eq!(largest_primes(1 << 24, step, 3), vec![16_776_961]);
        assert!(largest_primes(0, step, 3).is_empty() && largest_primes(1, step, 3).is_empty());
        for p in largest_primes(1 << 47, step, 6) {
            assert!(is_prime(p) && p % step == 1 && p >> 46 == 1);
        }
    }
}
