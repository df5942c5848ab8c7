//! Noise of readings, and how often they are wrong.
//!
//! A reading is S = Σ_j D_j μ_j over the embeddings, with D the functional's dual embedding
//! ([`weights`](crate::weights)) and μ_j the noise there. S = 2 Re Z, with Z over one of each conjugate pair.
//!
//! **Groups.** The coefficients of a rounding are independent, so its values at two embeddings correlate by
//! Π_r -1/(r - 1) over the primes r modulo which the embeddings differ. The strongest correlations are -1/2 and -1/4,
//! of embeddings that differ modulo 3 or 5 alone. Embeddings that agree modulo 17 and 257 form a group of eight. The
//! correlation matrix is at most (17/16)(257/256) times the one that keeps correlations within groups and has none
//! between them. Given s, Z is a polynomial in the roundings and key-switch errors without conjugates. Adding
//! independent circular roundings to the given ones gives the larger matrix and cannot lower E|Z|^2q. Hence we raise
//! variances by this factor and treat groups as independent. Within a group norms add: ‖Z_g‖_2q ≤ Σ_j |D_j| ‖μ_j‖_2q.
//!
//! **Moments.** Only products whose phases cancel have a mean other than 0, so
//!
//! ```text
//! Σ_q E|Z|^2q x^q / q!² = Π_g Σ_q E|Z_g|^2q x^q / q!²        E S^2q = C(2q, q) E|Z|^2q
//! ```
//!
//! By Markov's inequality P(|S| > y) ≤ E S^2q / y^2q at the best q. [`exceeded_log2`](crate::fit::exceeded_log2)
//! evaluates this for the actual secret and every slot, as it depends on which embeddings of the secret are large. A
//! bridge key is made only if all slots of a batch together stay below [`Fitness::most`].
//!
//! In units of the noise for t = 2, modulo the prime q of the ring switch, μ is the lifted noise times q/Q plus
//!
//! | what | variance at one embedding |
//! |---|---|
//! | rounding of the descent | ρ²κ |
//! | errors of the bridge key, with l digits of b bits | 4·l·n²σ²·2^2b/12 |
//! | dropped bits of c1, the lowest k | 4·n·2^2k/12·\|s_j\|² |
//!
//! **Bytes** for a link key get a sixteenth of their room for the noise of the lift, bounded as above, and the rest for
//! the ring switch. That is normal and linear: the correlation matrix of all embeddings is at most Π r/(r - 1) over the
//! primes r of m, so S = 2 Re Z is normal with at most the variance 2·Π r/(r - 1)·Σ_j |D_j|² v_j. Packing and rounding
//! then add normal noise: sixteen of its deviations, left out with probability 2^-188 a byte, are taken from the room
//! first.

use crate::fitness::Fitness;
use crate::numbers::Digits;
use homaes_bgv::Params;
use homaes_math::sample::SIGMA;
use homaes_rns::log2;
use homaes_rns::series::{exponential, logarithm};
use homaes_tfhe::PackingKey;

/// Ciphertexts of a batch.
pub(crate) const BATCH: usize = 16;
/// log2 of the ciphertexts that may cross together, over those of a batch.
const TOGETHER_LOG2: f64 = 2.0;
/// log2 of the error that the sum 4a + b of two blocks allows before a bootstrap of `tfhe`: a fifth of a block's room.
pub(crate) const USE_ROOM_LOG2: f64 = -8.33;
/// log2 of the noise that planes may have at an embedding.
pub(crate) const CARRIED_LOG2: f64 = 9.0;
pub(crate) const ORDERS: usize = 16;

impl Fitness {
    /// Limits that every made key meets, from a BGV set with this [`ParamSet::log2_p_fail`](homaes_bgv::ParamSet);
    /// `used_log2` is for bridges to a user of `tfhe`, whose own blocks are made for 2^-129.
    #[must_use]
    pub fn most(log2_p_fail: f64) -> Self {
        Self {
            read_log2: log2_p_fail - TOGETHER_LOG2,
            used_log2: Some(log2_p_fail),
        }
    }
}

/// log2 of the root mean square noise that the ring switch adds at an embedding with this κ, in units of t = 2. Key
/// errors have `spread` times their mean square there.
pub(crate) fn switch_log2(
    params: &Params,
    Digits { levels, base, low }: Digits,
    kappa: f64,
    spread: f64,
) -> f64 {
    let n = params.ring().n() as f64;
    let levels = levels as f64;
    let digit = f64::from(2 * base).exp2() / 12.0;
    let low = f64::from(2 * low).exp2() / 12.0;
    let errors = levels * n * n * SIGMA * SIGMA * digit * spread;
    // κ to |s_j|² = (1 + h)κ - 1
    let dropped = n * low * (1.0 + params.set().weight as f64) * kappa;
    let rounding = n / 3.0 * (1.0 + params.set().weight as f64) * kappa;
    0.5 * (4.0 * (errors + dropped) + rounding).log2()
}

/// Deviations of the noise of packing that the room of a reading leaves.
pub(crate) const PACKING_SIGMAS: f64 = 16.0;

/// log2 of the standard deviation, on the torus, that packing in this degree adds, and rounding to words of
/// [`RLWE_BITS`] bits: √((d/2 + 1)/12)·2^-32.
pub(crate) fn packing_log2(degree: usize) -> f64 {
    let words = (degree as f64 / 2.0 + 1.0) / 12.0;
    let rounding = 0.5 * words.log2() - f64::from(RLWE_BITS);
    log2::hypot(PackingKey::noise_log2(degree), rounding)
}

/// Bits of a word of a packed ciphertext in a file.
pub(crate) const RLWE_BITS: u32 = 32;

/// log2 of the least E S^2q over q, given ‖Z_g‖_2q.
pub(crate) fn markov(groups: &[[f64; ORDERS]]) -> f64 {
    let square: f64 = groups.iter().map(|g| g[0] * g[0]).sum();
    let unit = square.sqrt();
    let mut log = [0.0; ORDERS + 1];
    for group in groups {
        let mut series = [1.0; ORDERS + 1];
        let mut factorial = 1.0;
        for (q, norm) in group.iter().enumerate() {
            factorial *= (q + 1) as f64;
            series[q + 1] = (norm / unit).powi(2 * (q as i32 + 1)) / (factorial * factorial);
        }
        for (sum, c) in log.iter_mut().zip(logarithm(&series)) {
            *sum += c;
        }
    }
    let sums = exponential(&log);
    let mut best = 0.0f64;
    let mut factorial = 1.0f64;
    for (q, z) in sums.iter().enumerate().skip(1) {
        // C(2q, q) q!² = (2q)!
        factorial *= ((2 * q - 1) * 2 * q) as f64;
        best = best.min((z * factorial).log2() + 2.0 * q as f64 * unit.log2());
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_normal_variable_has_its_moments() {
        // E|μ|^2q = q! v^q; S = 2 Re μ has the variance 2·v
        let v = 2f64.powi(-14);
        let mut factorial = 1.0;
        let norms = core::array::from_fn(|q| {
            factorial *= (q + 1) as f64;
            (f64::powi(v, q as i32 + 1) * factorial).powf(0.5 / (q + 1) as f64)
        });
        let got = markov(&[norms]);
        // E S^2q = (2q - 1)!!·(2v)^q
        let moment = |q: i32| (1..=q).map(|i| f64::from(2 * i - 1).log2()).sum::<f64>();
        let want = (1..=16).map(|q| moment(q) - 13.0 * f64::from(q));
        let want = want.fold(0.0, f64::min);
        assert!((got - want).abs() < 1e-6, "{got} {want}");
    }
}
