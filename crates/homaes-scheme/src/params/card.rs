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
    /// Scheme, the first part of the name.
    pub scheme: &'static str,
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

/// A card that breaks a rule of its purpose.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("set {name}{fault}")]
pub struct CardError {
    /// The set.
    pub name: SetName,
    /// The broken rule.
    pub fault: CardFault,
}

/// A rule that a card breaks.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CardFault {
    /// The scheme is not the first part of the name.
    #[error(": scheme is {found}, expected {expected}")]
    Scheme {
        /// The card's scheme.
        found: &'static str,
        /// The name's scheme.
        expected: &'static str,
    },
    /// A toy set claims security.
    #[error(" is a toy but claims {found} bits")]
    ToyClaims {
        /// The claim.
        found: u32,
    },
    /// A secure set claims too little; no claim counts as 0.
    #[error(
        " claims {found} bits, a secure set needs at least {}",
        MIN_SECURE_BITS
    )]
    ClaimTooLow {
        /// The claim.
        found: u32,
    },
    /// A secure set lists nothing that an adversary sees.
    #[error(" lists nothing published, so nothing supports its claim")]
    NothingPublished,
    /// A published line of a secure set has no estimate, or one that is not a number.
    #[error(": {what} has no usable estimate")]
    NoEstimate {
        /// The published line.
        what: String,
    },
    /// A published line has a larger modulus than the card.
    #[error(": {what} has {found} modulus bits, the card says at most {expected}")]
    ModulusTooLarge {
        /// The published line.
        what: String,
        /// Its modulus.
        found: f64,
        /// The card's `log2_qp`.
        expected: f64,
    },
    /// A published line is easier to break than the set claims.
    #[error(": {what} is estimated at {found:.1} bits, below the claim of {expected}")]
    EstimateBelowClaim {
        /// The published line.
        what: String,
        /// Its estimate.
        found: f64,
        /// The claim.
        expected: u32,
    },
    /// A secure set fails too often.
    #[error(
        ": log2 of the failure probability is {found}, a secure set needs at most {}",
        MAX_LOG2_P_FAIL
    )]
    FailsTooOften {
        /// The card's value.
        found: f64,
    },
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
    /// The card of a toy that never fails, without sizes and figures.
    #[must_use]
    pub fn toy(name: SetName) -> Self {
        Self {
            name,
            scheme: name.scheme(),
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

    /// Checks the card against the rules of its purpose.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), CardError> {
        let name = self.name;
        self.checked().map_err(|fault| CardError { name, fault })
    }

    fn checked(&self) -> Result<(), CardFault> {
        let (found, expected) = (self.scheme, self.name.scheme());
        if found != expected {
            return Err(CardFault::Scheme { found, expected });
        }
        for line in &self.published {
            let (found, expected) = (line.modulus_bits, self.log2_qp.unwrap_or(f64::INFINITY));
            if found > expected {
                let what = line.what.to_string();
                return Err(CardFault::ModulusTooLarge {
                    what,
                    found,
                    expected,
                });
            }
        }
        match (self.purpose, self.security_bits_claimed) {
            (Purpose::Toy, Some(found)) => Err(CardFault::ToyClaims { found }),
            (Purpose::Toy, None) | (Purpose::Paper, _) => Ok(()),
            (Purpose::Secure, claim) => self.check_secure(claim.unwrap_or(0)),
        }
    }

    fn check_secure(&self, claim: u32) -> Result<(), CardFault> {
        if claim < MIN_SECURE_BITS {
            return Err(CardFault::ClaimTooLow { found: claim });
        }
        if self.published.is_empty() {
            return Err(CardFault::NothingPublished);
        }
        for line in &self.published {
            let what = line.what.to_string();
            let bits = line.estimate.map(|estimate| estimate.with_rotations);
            let bits = bits.filter(|bits| bits.is_finite());
            let Some(found) = bits else {
                return Err(CardFault::NoEstimate { what });
            };
            if found < f64::from(claim) {
                let expected = claim;
                return Err(CardFault::EstimateBelowClaim {
                    what,
                    found,
                    expected,
                });
            }
        }
        // written so that NaN fails
        match self.log2_p_fail <= MAX_LOG2_P_FAIL {
            true => Ok(()),
            false => Err(CardFault::FailsTooOften {
                found: self.log2_p_fail,
            }),
        }
    }
}

#[cfg(test)]
mod tests;
