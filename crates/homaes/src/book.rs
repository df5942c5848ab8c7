//! The programs of the book in `docs/`, as doctests.

#[doc = include_str!("../../../docs/own-circuit.md")]
mod own_circuit {}
