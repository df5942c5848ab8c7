//! Descriptions of parameter sets: name, purpose, security and sizes. No scheme code.
//!
//! - [`SetCard`]: what `homaes params --json` prints for one set; [`SetCard::check`] holds its claim against its
//!   estimates.
//! - [`rlwe`]: hardness of ring-LWE, read off results of `tools/estimate`; [`lwe`]: the same for LWE and GLWE with
//!   binary secrets; [`ntru`]: what breaks NTRU with large moduli; [`agcd`]: what breaks DGHV.
//! - [`DigestBuilder`]: the 32 bytes by which a file says which numbers it was made with.
//!
//! The invariant: a [`Purpose::Secure`] set claims at least [`MIN_SECURE_BITS`], at most the smallest estimate over
//! *everything* it publishes (each key at its own modulus), and fails with probability at most `2^MAX_LOG2_P_FAIL`.

pub mod agcd;
mod card;
mod digest;
mod estimate;
pub mod lwe;
mod name;
pub mod ntru;
pub mod rlwe;
mod table;

pub use card::{MAX_LOG2_P_FAIL, MIN_SECURE_BITS, Purpose, Ring, SetCard, log2_p_any};
pub use digest::DigestBuilder;
pub use estimate::{Estimate, Published, SecretWeight};
pub use name::SetName;
