//! What an AES key is wrapped for.

use homaes_aes::{Direction, Layout};
use homaes_scheme::Expansion;

/// What to make of an AES key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrapOptions {
    /// Direction of the cipher that the server is to run: [`Mode::direction`](crate::Mode::direction).
    pub direction: Direction,
    /// The layouts that the server may choose from; if none is given, every layout of the set with whole bytes in its
    /// slots, sliced and packed, or else every layout.
    pub layouts: Vec<Layout>,
    /// Multiplications to be left on the output; by default what the set declares, as far as its levels go. For schemes
    /// with levels only: see [`Scheme::multiplications_left`](crate::Scheme::multiplications_left).
    pub levels_left: Option<usize>,
    /// Who expands the AES key; by default the server where the scheme has a circuit for it, which makes the file small.
    /// In BGV it is always the client.
    pub expansion: Option<Expansion>,
}

impl Default for WrapOptions {
    fn default() -> Self {
        Self {
            direction: Direction::Encrypt,
            layouts: Vec::new(),
            levels_left: None,
            expansion: None,
        }
    }
}
