//! Polynomials in a residue number system (RNS), shared by BGV and NTRU: modulus switches, digits, key switches.
//!
//! | | file |
//! |---|---|
//! | the ring and the primes of a parameter set | `context.rs` |
//! | a ring element modulo some of these primes | `poly.rs` |
//! | its limbs, in memory or on a device | `limbs.rs` |
//! | modulus switch (GHS12 §3.2) | `mod_switch.rs` |
//! | key switch merged with a modulus switch | `switching.rs` |
//! | digits, extended to further primes (GHS12 §3.1) | `convert.rs` |
//! | inner products of digits and key, in groups (KLSS23) | [`grouped`] |
//! | integers from residues, to measure noise | `centred.rs` |
//! | arithmetic on secrets; parities of a decryption | [`secret`] |
//! | sums of numbers given as logarithms | [`log2`] |
//! | logarithm and exponential of power series | [`series`] |
//! | bounds on runaway noise of bit-sliced AES | [`noise`] |
//! | counts and times of the kernels | `meter.rs` |
//!
//! A *basis* lists primes by their index in the [`RnsContext`]; a *limb* is a polynomial modulo one prime. Unless a
//! function says otherwise, limbs are in evaluation form, stored (Montgomery form, factor 2^52) and lazy (below 2p).

#![forbid(unsafe_code)]

mod centred;
mod context;
mod convert;
pub mod grouped;
mod limbs;
pub mod log2;
mod meter;
mod mod_switch;
pub mod noise;
mod poly;
pub mod secret;
pub mod series;
mod switching;

pub use centred::centred;
pub use context::RnsContext;
pub use convert::{Axes, Coefficients, Digit};
pub use limbs::{Copies, Fault, Limbs, Resident};
pub use meter::{Meter, Stage};
pub use mod_switch::{ModSwitch, ScaledRemainder};
pub use poly::{Poly, SecretPoly, transposed};
pub use switching::{Gadget, SwitchPlan};

#[cfg(test)]
mod tests;
