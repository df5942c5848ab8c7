//! Noise of AES on digits: what each step adds, and how often a result is wrong.
//!
//! Variances are of phases, in units of the torus squared, as in [`crate::noise`]; k = 1.
//!
//! ```text
//!          key switch, modulus switch        packing              the same
//! digit x ──────────────────────────► e_j ───────────► test ◄──────────────────── digit y
//!                                   rotation          poly   rotation ─► f(x, y)
//! ```
//!
//! A digit is misread if its noise after key switch and modulus switch exceeds 1/(4 v): half a block of v in half of
//! the torus.

use crate::multiples::factors;
use crate::nibble::table::{Values, byte_tables, exclusive_or, norm, sbox_tables};
use crate::noise::{Ring, Rotation, log2_erfc, log2_sigma, log2_sum, rounded_to, steps, sub_words};
use crate::set::{LweKey, NibbleSet};
use homaes_aes::{Direction, KeySize};

/// Factors by which functions of the first digit multiply the variance of its rotation.
struct Norms {
    each: Vec<f64>,
    /// mean over all blocks, which multiplies the trace's noise
    mean: f64,
}

impl Norms {
    fn new(tables: &[Vec<Values>]) -> Self {
        let each: Vec<f64> = tables.iter().flatten().map(|f| norm(f)).collect();
        let mean = each.iter().sum::<f64>() / each.len() as f64;
        Self { each, mean }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NibbleNoise {
    /// Blind rotation; see [`crate::noise::rotation`].
    pub(crate) rotation: Rotation,
    pub(crate) automorphism: f64,
    pub(crate) key_switch: f64,
    pub(crate) modulus_switch: f64,
    degree: f64,
    /// Noise at which a digit is misread.
    pub(crate) threshold: f64,
}

impl NibbleNoise {
    pub(crate) fn new(set: &NibbleSet) -> Self {
        let ring = Ring::new(1, set.degree, set.glwe_log2_sigma);
        let degree = ring.degree;
        let steps = steps(set.lwe_dimension, LweKey::Independent, set.unroll);
        Self {
            rotation: ring.rotation(steps, [set.rotation, set.rotation_body]),
            automorphism: ring.automorphism(set.packing),
            key_switch: ring.key_switch(set.key_switch, set.lwe_log2_sigma),
            modulus_switch: rounded_to(2.0 * degree, set.lwe_dimension as f64 / 4.0),
            degree,
            threshold: (-f64::from(set.digit_bits) - 2.0).exp2(),
        }
    }

    /// A function of a first digit, in one block of an encrypted test polynomial.
    ///
    /// The coefficients e_j of the rotation enter with the differences of the function: `norm` · V_rotation. An
    /// automorphism with r of log2 N doublings to come adds 4^r V to the constant coefficient of each E_j, and N 2^r V
    /// to the sum over all coefficients: (N² - 1)/3 V and N (N - 1) V in all. Constants enter like the e_j. The others,
    /// 2/3 N V each on average, meet all coefficients of the public polynomials: Σ_j |Q_j|² N/v = N · (mean norm of the
    /// blocks).
    pub(crate) fn test(&self, norm: f64, mean: f64) -> f64 {
        let square = self.degree * self.degree;
        norm * self.rotation.total() + (norm + 2.0 * mean) / 3.0 * square * self.automorphism
    }

    /// A function of two digits: a block of a test polynomial, plus one rotation.
    pub(crate) fn leaf(&self, norm: f64, mean: f64) -> f64 {
        self.test(norm, mean) + self.rotation.total()
    }

    /// log2 of the probability that a result of these tables, in its worst block, is misread by the next rotation or by
    /// decryption.
    fn log2_p_digit(&self, norms: &Norms, decrypted: bool) -> f64 {
        let reading = if decrypted {
            0.0
        } else {
            self.key_switch + self.modulus_switch
        };
        let each = norms.each.iter().map(|&norm| {
            let variance = self.leaf(norm, norms.mean) + reading;
            log2_erfc(self.threshold / (2.0 * variance).sqrt())
        });
        each.fold(f64::NEG_INFINITY, f64::max)
    }

    fn log2_p_sum(&self, found: f64, sums: f64, tables: &[Vec<Values>]) -> f64 {
        log2_sum(
            found.log2() + self.log2_p_digit(&Norms::new(tables), false),
            sums.log2() + self.log2_p_digit(&Norms::new(&[exclusive_or()]), false),
        )
    }

    /// log2 of the probability that a block comes out wrong, summed over all digits read: 32 K look-up results and 128
    /// XORs in each round but the last, 32 of both in the last. The round keys are assumed right.
    pub(crate) fn log2_p_block(&self, size: KeySize, direction: Direction) -> f64 {
        let (middle, last) = (size.rounds() as f64 - 1.0, 32.0);
        let tables = sbox_tables(direction, false, 0);
        let found = middle * 16.0 * tables.len() as f64 + last;
        let read = self.log2_p_sum(found, 128.0 * middle, &tables);
        // modes of operation add public digits, which reads the result once more
        let xor = Norms::new(&[exclusive_or()]);
        let output = log2_sum(
            self.log2_p_digit(&xor, true),
            self.log2_p_digit(&xor, false),
        );
        log2_sum(read, output + last.log2())
    }

    /// log2 of the probability that a round key comes out wrong: 8 XORs and 8 test polynomials per word, 8 results per
    /// SubWord; decrypting, also the linear layer of all round keys but two.
    pub(crate) fn log2_p_expansion(&self, size: KeySize, direction: Direction) -> f64 {
        let schedule = self.log2_p_sum(
            8.0 * f64::from(sub_words(size)),
            64.0 * size.round_keys() as f64,
            &sbox_tables(Direction::Encrypt, true, 0),
        );
        if direction == Direction::Encrypt {
            return schedule;
        }
        let tables = byte_tables(&factors(direction, false), |x| x, 0);
        let mixed = size.rounds() as f64 - 1.0;
        let linear = self.log2_p_sum(mixed * 16.0 * tables.len() as f64, mixed * 128.0, &tables);
        log2_sum(schedule, linear)
    }

    /// The larger, over both directions, of [`log2_p_block`](Self::log2_p_block) and of
    /// [`log2_p_expansion`](Self::log2_p_expansion).
    pub(crate) fn log2_p(&self, size: KeySize) -> [f64; 2] {
        let greater = |p: [f64; 2]| p[0].max(p[1]);
        [
            greater(Direction::ALL.map(|d| self.log2_p_block(size, d))),
            greater(Direction::ALL.map(|d| self.log2_p_expansion(size, d))),
        ]
    }

    /// log2 of the standard deviation of a state's noisiest digits: functions of the key's digits in round 0,
    /// afterwards XORs with test polynomials of the key.
    pub(crate) fn state_log2_sigma(&self, round: usize) -> f64 {
        let xor = Norms::new(&[exclusive_or()]);
        let worst = xor.each.iter().copied().fold(0.0, f64::max);
        log2_sigma(if round == 0 {
            worst * self.rotation.total()
        } else {
            self.leaf(worst, xor.mean)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nibble::params::{nibble_paper, nibble_toy, nibble128};
    use homaes_scheme::lwe;

    #[test]
    fn sets_keep_their_promises() {
        let set = nibble128();
        let noise = NibbleNoise::new(&set);
        for size in KeySize::ALL {
            let [block, key] = noise.log2_p(size);
            assert!(log2_sum(block + 5.0, key) < -64.0, "{size:?}");
        }
        let estimate = |dimension: usize, log2_sigma, degree: usize| {
            lwe::estimate(dimension as u32, log2_sigma, degree as u32).unwrap()
        };
        for estimate in [
            estimate(set.lwe_dimension, set.lwe_log2_sigma, 128),
            estimate(set.degree, set.glwe_log2_sigma, set.degree),
        ] {
            assert!(estimate.with_rotations >= 128.5);
        }
        let paper = NibbleNoise::new(&nibble_paper());
        assert!(paper.log2_p(KeySize::Aes128)[0] < -10.0);
        let toy = NibbleNoise::new(&nibble_toy());
        assert!(toy.log2_p(KeySize::Aes256)[0] < -20.0);
    }
}
