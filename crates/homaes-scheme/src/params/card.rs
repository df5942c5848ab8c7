//! The card of a parameter set: what it is, what it claims, what it costs.

use super::{Estimate, Published, SecretWeight, SetName};
use core::fmt;

/// The least a [`Purpose::Secure`] set may claim.
pub const MIN_SECURE_BITS: u32 = 128;

/// log2 of the largest failure probability of a [`Purpose::Secure`] set.
pub const MAX_LOG2_P_FAIL: f64 = -64.0;

/// What a set is for. Shown wherever the set is named.
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
    /// What the set is for.
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
    /// One line per thing an adversary sees.
    pub published: Vec<Published>,
    /// What the claim assumes beyond what the claims of all sets of the scheme assume, in sentences.
    pub assumptions: Vec<String>,
}

/// What is wrong with a card.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CardError {
    /// The scheme is not the first part of the name.
    #[error("set {name}: scheme is {found}, expected {expected}")]
    Scheme {
        /// The set.
        name: SetName,
        /// The card's scheme.
        found: &'static str,
        /// The name's scheme.
        expected: &'static str,
    },
    /// A toy set claims security.
    #[error("set {name} is a toy but claims {found} bits")]
    ToyClaims {
        /// The set.
        name: SetName,
        /// The claim.
        found: u32,
    },
    /// A secure set claims too little; no claim counts as 0.
    #[error("set {name} claims {found} bits, a secure set needs at least {expected}")]
    ClaimTooLow {
        /// The set.
        name: SetName,
        /// The claim.
        found: u32,
        /// [`MIN_SECURE_BITS`].
        expected: u32,
    },
    /// A secure set lists nothing that an adversary sees.
    #[error("set {name} lists nothing published, so nothing supports its claim")]
    NothingPublished {
        /// The set.
        name: SetName,
    },
    /// A published line of a secure set has no estimate, or one that is not a number.
    #[error("set {name}: {what} has no usable estimate")]
    NoEstimate {
        /// The set.
        name: SetName,
        /// The published line.
        what: String,
    },
    /// A published line has a larger modulus than the card.
    #[error("set {name}: {what} has {found} modulus bits, the card says at most {expected}")]
    ModulusTooLarge {
        /// The set.
        name: SetName,
        /// The published line.
        what: String,
        /// Its modulus.
        found: f64,
        /// The card's `log2_qp`.
        expected: f64,
    },
    /// A published line is easier to break than the set claims.
    #[error("set {name}: {what} is estimated at {found:.1} bits, below the claim of {expected}")]
    EstimateBelowClaim {
        /// The set.
        name: SetName,
        /// The published line.
        what: String,
        /// Its estimate.
        found: f64,
        /// The claim.
        expected: u32,
    },
    /// A secure set fails too often.
    #[error(
        "set {name}: log2 of the failure probability is {found}, a secure set needs at most {expected}"
    )]
    FailsTooOften {
        /// The set.
        name: SetName,
        /// The card's value.
        found: f64,
        /// [`MAX_LOG2_P_FAIL`].
        expected: f64,
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
    /// Of a toy that never fails, without sizes and figures.
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

    /// The same for attacks that use the rotations of the ring.
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

    /// Holds the card against the rules of its purpose.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), CardError> {
        let name = self.name;
        if self.scheme != name.scheme() {
            return Err(CardError::Scheme {
                name,
                found: self.scheme,
                expected: name.scheme(),
            });
        }
        if let Some(expected) = self.log2_qp
            && let Some(line) = self
                .published
                .iter()
                .find(|line| line.modulus_bits > expected)
        {
            let (what, found) = (line.what.to_string(), line.modulus_bits);
            return Err(CardError::ModulusTooLarge {
                name,
                what,
                found,
                expected,
            });
        }
        match (self.purpose, self.security_bits_claimed) {
            (Purpose::Toy, Some(found)) => Err(CardError::ToyClaims { name, found }),
            (Purpose::Toy, None) | (Purpose::Paper, _) => Ok(()),
            (Purpose::Secure, claim) => self.check_secure(claim.unwrap_or(0)),
        }
    }

    fn check_secure(&self, claim: u32) -> Result<(), CardError> {
        let name = self.name;
        if claim < MIN_SECURE_BITS {
            return Err(CardError::ClaimTooLow {
                name,
                found: claim,
                expected: MIN_SECURE_BITS,
            });
        }
        if self.published.is_empty() {
            return Err(CardError::NothingPublished { name });
        }
        for line in &self.published {
            let what = || line.what.to_string();
            let bits = line.estimate.map(|estimate| estimate.with_rotations);
            match bits.filter(|bits| bits.is_finite()) {
                None => return Err(CardError::NoEstimate { name, what: what() }),
                Some(found) if found < f64::from(claim) => {
                    return Err(CardError::EstimateBelowClaim {
                        name,
                        what: what(),
                        found,
                        expected: claim,
                    });
                }
                Some(_) => {}
            }
        }
        // Written so that NaN fails.
        if self.log2_p_fail <= MAX_LOG2_P_FAIL {
            Ok(())
        } else {
            Err(CardError::FailsTooOften {
                name,
                found: self.log2_p_fail,
                expected: MAX_LOG2_P_FAIL,
            })
        }
    }
}

#[cfg(test)]
mod tests;
