//! Backends without keys: circuits run on plain values, or only count operations.
//!
//! One type per view: a type with two views would make `xor`, `slots` and others ambiguous.

pub mod clear;
pub mod count;
