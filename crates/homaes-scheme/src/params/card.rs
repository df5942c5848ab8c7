//! The card of a parameter set: what it is, what it claims, what it costs.

use super::{Estimate, Published, SecretWeight, SetName};
use core::fmt;

/// The least a [`Purpose::Secure`] set may claim.
pub const MIN_SECURE_BITS: u32 = 128;

/// log2 of the largest failure probability of a [`Purpose::Secure`] set.
pub const MAX_LOG2_P_FAIL: f64 = -64.0;

/// The purpose of a set. Shown wherever the set is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Small and fast, for tests. Claims nothing.
    Toy,
    /// Reproduces a paper; its claim stands beside today's estimate, which may be lower.
    Paper,
    /// For data that matter: the claim is covered by the estimates.
    Secure,
}

impl Purpose {
    /// The word used in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Toy => "toy",
            Self::Paper => "paper",
            Self::Secure => "secure",
        }
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The ring `Z[X]/Φ_m` of degree `n = φ(m)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ring {
    /// Conductor.
    pub m: u64,
    /// Degree.
    pub n: u64,
}

/// Everything `homaes params --json` prints about one set.
///
/// Fields that a scheme does not have are `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct SetCard {
    /// Name, `scheme/rest`.
    pub name: SetName,
    /// The paper the set follows.
    pub paper: &'static str,
    /// Its purpose.
    pub purpose: Purpose,
    /// Bits of security the set (or its paper) claims; a toy claims none.
    pub security_bits_claimed: Option<u32>,
    /// log2 of the probability that one AES evaluation decrypts wrongly.
    pub log2_p_fail: f64,
    /// Independent plaintext cells of one ciphertext.
    pub slots: u64,
    /// AES blocks evaluated together.
    pub blocks_per_batch: u64,
    /// Size of the evaluation key file.
    pub eval_key_bytes: u64,
    /// Size of the file of the largest AES key that the set wraps by default, in its first layout.
    pub wrapped_key_bytes: u64,
    /// Size of the ciphertexts of one batch.
    pub ciphertext_bytes_per_batch: u64,
    /// Size of the secret key file.
    pub secret_key_bytes: u64,
    /// The ring.
    pub ring: Option<Ring>,
    /// Distribution of the secret.
    pub secret_weight: Option<SecretWeight>,
    /// Standard deviation of the error.
    pub sigma: Option<f64>,
    /// log2 of the largest modulus at which anything is published.
    pub log2_qp: Option<f64>,
    /// A line for each thing that an adversary sees.
    pub published: Vec<Published>,
    /// Assumptions of the claim beyond those of all sets of the scheme, in sentences.
    pub assumptions: Vec<String>,
}

/// log2 of a bound on the probability that any of `batches` batches is wrong, each with at most 2^`log2_p`; `None`
/// without batches.
///
/// ```
/// use homaes_scheme::log2_p_any;
/// assert_eq!(log2_p_any(-64.0, 8), Some(-61.0));
/// assert_eq!(log2_p_any(-64.0, 0), None);
/// ```
#[must_use]
pub fn log2_p_any(log2_p: f64, batches: u64) -> Option<f64> {
    (batches > 0).then(|| (log2_p + (batches as f64).log2()).min(0.0))
}

impl SetCard {
    /// The card of a toy with one slot that never fails, without sizes and figures.
    #[must_use]
    pub fn new(name: SetName) -> Self {
        Self {
            name,
            paper: "none",
            purpose: Purpose::Toy,
            security_bits_claimed: None,
            log2_p_fail: f64::NEG_INFINITY,
            slots: 1,
            blocks_per_batch: 1,
            eval_key_bytes: 0,
            wrapped_key_bytes: 0,
            ciphertext_bytes_per_batch: 0,
            secret_key_bytes: 0,
            ring: None,
            secret_weight: None,
            sigma: None,
            log2_qp: None,
            published: Vec::new(),
            assumptions: Vec::new(),
        }
    }

    /// log2 of the bound on the probability that any of `batches` batches decrypts wrongly; `None` without batches.
    #[must_use]
    pub fn log2_p_fail_of(&self, batches: u64) -> Option<f64> {
        log2_p_any(self.log2_p_fail, batches)
    }

    /// Whether the estimates are orders of magnitude.
    #[must_use]
    pub fn is_order_of_magnitude(&self) -> bool {
        let rough = |estimate: &Estimate| estimate.order_of_magnitude;
        self.weakest().is_some_and(rough)
    }

    /// The smallest estimate over everything published; `None` if any line has none.
    #[must_use]
    pub fn security_bits_estimated(&self) -> Option<f64> {
        self.least(|estimate| estimate.bits)
    }

    /// The smallest estimate of attacks that use the rotations of the ring.
    #[must_use]
    pub fn security_bits_with_rotations(&self) -> Option<f64> {
        self.least(|estimate| estimate.with_rotations)
    }

    /// The estimate of what is easiest to break when rotations of the ring count; `None` if any line has none.
    #[must_use]
    pub fn weakest(&self) -> Option<&Estimate> {
        let least = self.security_bits_with_rotations()?;
        let mut estimates = self
            .published
            .iter()
            .filter_map(|line| line.estimate.as_ref());
        estimates.find(|estimate| estimate.with_rotations == least)
    }

    /// The smallest of one figure of the estimates; `None` if any line has none.
    pub fn least(&self, figure: impl Fn(&Estimate) -> f64) -> Option<f64> {
        self.published
            .iter()
            .map(|line| line.estimate.as_ref().map(&figure))
            .reduce(|a, b| Some(a?.min(b?)))
            .flatten()
    }

    /// Checks the card against the rules of its purpose. Written so that NaN fails.
    ///
    /// # Errors
    /// The first rule that is broken, in words.
    pub fn check(&self) -> Result<(), String> {
        let (name, claim) = (self.name, self.security_bits_claimed.unwrap_or(0));
        let ok = |good: bool, fault: String| match good {
            true => Ok(()),
            false => Err(format!("set {name}{fault}")),
        };
        let most = self.log2_qp.unwrap_or(f64::INFINITY);
        for Published {
            what, modulus_bits, ..
        } in &self.published
        {
            let fault =
                format!(": {what} has {modulus_bits} modulus bits, the card says at most {most}");
            ok(*modulus_bits <= most, fault)?;
        }
        match self.purpose {
            Purpose::Secure => {}
            Purpose::Paper => return Ok(()),
            Purpose::Toy => return ok(claim == 0, format!(" is a toy but claims {claim} bits")),
        }
        let least = MIN_SECURE_BITS;
        let fault = format!(" claims {claim} bits, a secure set needs at least {least}");
        ok(claim >= least, fault)?;
        let fault = " lists nothing published, so nothing supports its claim";
        ok(!self.published.is_empty(), fault.into())?;
        for Published { what, estimate, .. } in &self.published {
            let found = estimate.map_or(f64::NAN, |estimate| estimate.with_rotations);
            ok(
                found.is_finite(),
                format!(": {what} has no usable estimate"),
            )?;
            let fault =
                format!(": {what} is estimated at {found:.1} bits, below the claim of {claim}");
            ok(found >= f64::from(claim), fault)?;
        }
        let (found, most) = (self.log2_p_fail, MAX_LOG2_P_FAIL);
        let fault = format!(
            ": log2 of the failure probability is {found}, a secure set needs at most {most}"
        );
        ok(found <= most, fault)
    }
}

#[cfg(test)]
mod tests;
