//! Published objects and the cost of breaking them.

use core::fmt;
use std::borrow::Cow;

/// Costs of the cheapest known attacks, as log2 of a number of operations, and where the numbers come from.
///
/// *Tables* are memory beyond that of a sieve: the table of a meet-in-the-middle, whose memory is not counted, and the
/// arrays of a dual attack. *Rotations*: multiplication by a root of unity rotates the secret, so that one lattice
/// reduction serves many targets; only attacks on the ring have them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Classical operations, tables allowed, no use of the ring.
    pub bits: f64,
    /// The same without tables.
    pub without_tables: f64,
    /// Classical operations, tables allowed, rotations counted.
    pub with_rotations: f64,
    /// The same without tables.
    pub with_rotations_without_tables: f64,
    /// Core-SVP: one sieve of 2^(0.292 β) operations instead of a reduction; rotations counted.
    pub core_svp: f64,
    /// Core-SVP with quantum sieving, 2^(0.265 β), and Grover's search; rotations counted.
    pub core_svp_quantum: f64,
    /// Whole reductions with quantum sieves of 2^(0.265 β + 16.4) operations, and Grover's search; rotations counted.
    pub quantum: f64,
    /// Whether all these are an order of magnitude alone.
    pub order_of_magnitude: bool,
    /// The attack of `bits`.
    pub attack: &'static str,
    /// Cost model of `bits`, of the other classical figures but core-SVP, and assumptions.
    pub model: &'static str,
    /// Tool and its commit, or the paper.
    pub tool: &'static str,
    /// Day of the computation, `YYYY-MM-DD`.
    pub date: &'static str,
}

impl Estimate {
    /// `costs` in the order of the fields.
    pub(super) const fn new(
        costs: [f64; 7],
        [attack, model, tool, date]: [&'static str; 4],
    ) -> Self {
        Self {
            bits: costs[0],
            without_tables: costs[1],
            with_rotations: costs[2],
            with_rotations_without_tables: costs[3],
            core_svp: costs[4],
            core_svp_quantum: costs[5],
            quantum: costs[6],
            order_of_magnitude: false,
            attack,
            model,
            tool,
            date,
        }
    }
}

/// One thing an adversary sees: a key or a ciphertext, at its own modulus.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// Its name, such as `relinearisation key`; with dimension and noise where they differ from line to line
    /// ([`super::lwe::published`]).
    pub what: Cow<'static, str>,
    /// Dimension of the secret: the degree of a ring times the number of key polynomials.
    pub dimension: u32,
    /// log2 of the standard deviation of the error as a fraction of the modulus.
    pub log2_sigma: f64,
    /// Degree of the ring, whose roots of unity rotate the secret.
    pub ring_degree: u32,
    /// Weight of the secret, if it is not that of the card.
    pub weight: Option<u32>,
    /// log2 of the modulus it is published at.
    pub modulus_bits: f64,
    /// Its hardness; `None` where nothing is known or claimed (toy sets).
    pub estimate: Option<Estimate>,
}

/// How the coefficients of a secret are chosen: a ternary one in {-1, 0, 1}, or a binary one that is not uniform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SecretWeight {
    /// Exactly this many coefficients are not zero.
    Hamming(u32),
    /// Every coefficient is uniform.
    Ternary,
    /// Blocks of this many bits, of which one or none is 1, all cases equally likely: the LWE key of a TFHE set, whose
    /// GLWE key is uniform bits.
    Blocks(u32),
}

impl fmt::Display for SecretWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hamming(h) => write!(f, "h={h}"),
            Self::Ternary => f.write_str("ternary"),
            Self::Blocks(bits) => write!(f, "LWE key in blocks of {bits}"),
        }
    }
}
