//! Constants of kernels in either arithmetic; the heads of `kernels/arithmetic_*.h` define them.

use homaes_math::{Modulus, rns::Conversion};

/// Sources of a conversion, including its quotient.
pub(crate) const SOURCES: usize = 16;

/// The arithmetic of kernels. Both give the same words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arithmetic {
    /// Double precision: faster if single precision has at most four times its rate.
    Doubles,
    /// Integers of 64 bits.
    Integers,
}

const ONE: u64 = 1.0f64.to_bits();
const MAGIC: f64 = 6_755_399_441_055_744.0;

/// The representative of least absolute value.
fn least(m: &Modulus, w: u64) -> i64 {
    let p = m.p() as i64;
    let w = w as i64;
    if w > p / 2 { w - p } else { w }
}

/// floor(2^k w/p), below 2^64.
fn quotient(m: &Modulus, w: u64, k: u32) -> u64 {
    ((u128::from(w) << k) / u128::from(m.p())) as u64
}

impl Arithmetic {
    pub(crate) fn number(self, m: &Modulus, w: u64) -> u64 {
        let w = least(m, w);
        match self {
            Self::Doubles => (w as f64).to_bits(),
            Self::Integers => w.cast_unsigned(),
        }
    }

    /// A constant factor: `Factor`.
    pub(crate) fn factor(self, m: &Modulus, w: u64) -> [u64; 2] {
        match self {
            Self::Doubles => {
                let w = least(m, w) as f64;
                [w, w / m.p() as f64].map(f64::to_bits)
            }
            Self::Integers => [w, quotient(m, w, 63)],
        }
    }

    /// A constant factor of rows, of `ROW_FACTOR` words.
    pub(crate) fn row_factor(self, m: &Modulus, w: u64) -> Vec<u64> {
        match self {
            Self::Doubles => vec![self.number(m, w)],
            Self::Integers => self.factor(m, w).to_vec(),
        }
    }

    /// The `CONSTANTS` of a prime below `2^prime_bits`, which `modulus` reads, and the factor 1/R.
    pub(crate) fn prime(self, m: &Modulus, prime_bits: u32) -> Vec<u64> {
        let [unit, by_unit] = self.factor(m, m.from_stored(1));
        match self {
            Self::Doubles => {
                let p = m.p() as f64;
                let [p, inverse, wide] = [p, 1.0 / p, MAGIC * p].map(f64::to_bits);
                vec![p, inverse, unit, by_unit, wide, 0, 0, 0]
            }
            Self::Integers => {
                let (p, shift) = (m.p(), m.bits() - 16);
                // rounded to nearest
                let inverse = quotient(m, 1, shift + 33).div_ceil(2);
                let inverse = inverse | u64::from(shift) << 32;
                let [step, by_step] = self.factor(m, (1 << 24) % p);
                let wide = quotient(m, 1, prime_bits + 1 + m.bits());
                let [_, one] = self.factor(m, 1);
                let minus = (2 * p).wrapping_neg();
                let lift = (1u64 << 58).next_multiple_of(p);
                vec![
                    p, inverse, unit, by_unit, step, by_step, wide, one, minus, lift,
                ]
            }
        }
    }

    /// `struct Target` of target `j`, with constants without the factor R; zeros without a target.
    pub(crate) fn target(
        self,
        target: Option<(&Conversion, usize)>,
        m: &Modulus,
        prime_bits: u32,
    ) -> Vec<u64> {
        let constants = target.map_or(&[][..], |(c, j)| c.combination(j).constants);
        let constants = constants.iter().map(|&w| m.from_stored(w));
        let constants = constants.chain(core::iter::repeat(0)).take(SOURCES);
        match self {
            Self::Doubles => {
                let constants: Vec<i64> = constants.map(|w| least(m, w)).collect();
                let part = |c: i64| (1_u64 << prime_bits) as f64 * (c as f64 / m.p() as f64);
                // the sum first: it is exact, so only one rounding remains
                let near = -part(constants.iter().sum());
                let whole = |c: i64| c.cast_unsigned();
                let bits = constants
                    .iter()
                    .fold(0u64, |s, &c| s.wrapping_add(whole(c)));
                let excess = MAGIC.to_bits().wrapping_mul(m.p() << (52 - prime_bits));
                let low = excess.wrapping_sub(ONE.wrapping_mul(bits));
                let pairs = constants
                    .iter()
                    .flat_map(|&c| [whole(c), part(c).to_bits()]);
                [near.to_bits(), low].into_iter().chain(pairs).collect()
            }
            Self::Integers => {
                let split = |w: u64| (w >> 24) << 32 | w & 0xff_ffff;
                constants.map(split).collect()
            }
        }
    }
}
