//! Options for wrapping an AES key.

use crate::{Expansion, SchemeError};
use homaes_aes::{Direction, Layout};

/// How to wrap an AES key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrapOptions {
    /// Direction of the cipher that the server is to run: [`Mode::direction`](homaes_aes::Mode::direction).
    pub direction: Direction,
    /// Whether the other direction goes into the same file, for schemes with a compact form of wrapped keys.
    pub both: bool,
    /// The layouts that the server may choose from; if none is given, every layout of the set with whole bytes in its
    /// slots, sliced and packed, or else every layout.
    pub layouts: Vec<Layout>,
    /// Multiplications to be left on the output; by default what the set declares, as far as its levels go. For schemes
    /// with levels only.
    pub levels_left: Option<usize>,
    /// Who expands the AES key; by default the server where the scheme has a circuit for it, which makes the file
    /// small. In BGV it is the client, except for many AES keys in one file.
    pub expansion: Option<Expansion>,
    /// BGV: every round key in full, a file 200 times as large, instead of a compact form that the server expands in
    /// seconds; always so in sets whose servers cannot do that.
    pub full: bool,
}

impl Default for WrapOptions {
    fn default() -> Self {
        Self {
            direction: Direction::Encrypt,
            both: false,
            layouts: Vec::new(),
            levels_left: None,
            expansion: None,
            full: false,
        }
    }
}

impl WrapOptions {
    /// Refuses levels, which the output of a set without levels does not have.
    ///
    /// # Errors
    /// [`SchemeError::NoLevels`].
    pub fn without_levels(&self, set: &'static str) -> Result<(), SchemeError> {
        match self.levels_left {
            None | Some(0) => Ok(()),
            Some(wanted) => Err(SchemeError::NoLevels { wanted, set }),
        }
    }

    /// Refuses key expansion by the server, which a set without a circuit for the key schedule does not have.
    ///
    /// # Errors
    /// [`SchemeError::ClientExpands`].
    pub fn client_expands(&self, set: &'static str) -> Result<(), SchemeError> {
        match self.expansion {
            None | Some(Expansion::Client) => Ok(()),
            Some(Expansion::Server) => Err(SchemeError::ClientExpands { set }),
        }
    }
}
