//! Backends without keys: the same circuits, run on plain values or on nothing but costs.
//!
//! One type per view: a type with two views would make `xor`, `slots` and others ambiguous.

pub mod clear;
pub mod count;
