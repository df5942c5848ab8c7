//! The contents of a wrapped key.

use crate::Expansion;
use homaes_aes::{Direction, KeySize, Layout};

/// Longest name of an AES key, in bytes.
pub const MAX_KEY_NAME_BYTES: usize = 255;

/// The contents of a wrapped key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrappedKeyInfo {
    /// Size of the AES key.
    pub key_size: KeySize,
    /// Directions of the cipher: one, or both.
    pub directions: Vec<Direction>,
    /// Who expands the key.
    pub expansion: Expansion,
    /// Whether the server must first expand the round keys from a compact form.
    pub compact: bool,
    /// The layouts there are round keys for, with the level of the output of AES in each: one more than the
    /// multiplications left, if the scheme has levels.
    pub layouts: Vec<(Layout, usize)>,
    /// Names of the AES keys if there are many: block b of a batch is under key b modulo their number. Empty for one
    /// AES key, which has no name.
    pub names: Vec<String>,
}

impl WrappedKeyInfo {
    /// A key that the client has expanded.
    #[must_use]
    pub fn expanded(
        key_size: KeySize,
        direction: Direction,
        layouts: Vec<(Layout, usize)>,
    ) -> Self {
        Self {
            key_size,
            directions: vec![direction],
            expansion: Expansion::Client,
            compact: false,
            layouts,
            names: Vec::new(),
        }
    }

    /// The layouts there are round keys for.
    #[must_use]
    pub fn layouts(&self) -> Vec<Layout> {
        self.layouts.iter().map(|&(layout, _)| layout).collect()
    }

    /// Level of the output of AES in `layout`, if there are round keys for it.
    #[must_use]
    pub fn output_level(&self, layout: Layout) -> Option<usize> {
        let mut layouts = self.layouts.iter();
        let found = layouts.find(|(found, _)| *found == layout);
        found.map(|&(_, level)| level)
    }
}
