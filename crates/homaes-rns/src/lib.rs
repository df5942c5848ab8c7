//! Ring elements in residue number systems, and what BGV and NTRU do with them between two products: modulus switches, and digits for key
//! switching.
//!
//! | | file |
//! |---|---|
//! | a ring and the primes of a parameter set | `context.rs` |
//! | a ring element modulo some of them | `poly.rs` |
//! | its limbs, in memory or on a device | `limbs.rs` |
//! | division by primes that are dropped (GHS12 §3.2) | `mod_switch.rs` |
//! | key switching with such a division | `switching.rs` |
//! | digits of a ring element modulo further primes (GHS12 §3.1) | `digit.rs` |
//! | inner products of digits with a key in groups (KLSS23) | [`grouped`] |
//! | integers from residues, for looking at noise | `centred.rs` |
//! | arithmetic that meets secrets; parities of a decryption | [`secret`] |
//! | sums of numbers by their logarithms | [`log2`] |
//! | bounds on the probability that noise runs away, for AES in bits | [`noise`] |
//! | counts and times of all that | `meter.rs` |
//!
//! A *basis* is a list of places in a context; a *limb* is a polynomial modulo one prime. Limbs are in evaluation form, stored (factor 2^52, Montgomery's form) and lazy
//! unless a function says otherwise.

#![forbid(unsafe_code)]

mod centred;
mod context;
mod convert;
mod digit;
pub mod grouped;
mod limbs;
pub mod log2;
mod meter;
mod mod_switch;
pub mod noise;
mod poly;
pub mod secret;
mod switching;

pub use centred::centred;
pub use context::RnsContext;
pub use convert::Axes;
pub use digit::{Coefficients, Digit};
pub use limbs::{Copies, Fault, Limbs, Resident};
pub use meter::{Meter, Stage};
pub use mod_switch::{ModSwitch, ScaledRemainder};
pub use poly::{Poly, SecretPoly, transposed};
pub use switching::{Gadget, SwitchPlan};

#[cfg(test)]
mod tests;
