//! The user's book, `docs/SUMMARY.md`: its commands run and its links lead somewhere. Blocks of Rust are doctests of
//! the crate `homaes` (`homaes/src/book.rs`).

mod blocks;
mod links;
#[cfg(unix)]
mod shell;
