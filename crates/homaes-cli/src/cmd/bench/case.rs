use crate::args::Bench;
use crate::cmd::{cores, layout_of_set};
use crate::console::{self, Failure};
use crate::table;
use homaes::{Direction, KeySize, Layout, Set};
use homaes_lab::Run;
use std::num::NonZeroUsize;

pub(super) struct Case {
    pub(super) set: Set,
    pub(super) layout: Layout,
    pub(super) threads: NonZeroUsize,
    pub(super) key_size: KeySize,
    pub(super) direction: Direction,
    pub(super) blocks: Option<u64>,
}

impl Case {
    /// Warns if the set protects nothing.
    pub(super) fn new(set: Set, args: &Bench) -> Result<Self, Failure> {
        console::warn_insecure(&set);
        Ok(Self {
            layout: layout_of_set(&set, args.layout)?,
            threads: args.workers.threads.unwrap_or_else(cores),
            key_size: args.key_bits,
            direction: args.direction,
            blocks: args.blocks,
            set,
        })
    }

    pub(super) fn blocks(&self) -> u64 {
        let default = || self.set.default_blocks(self.layout);
        self.blocks.unwrap_or_else(default)
    }

    pub(super) fn key_bits(&self) -> usize {
        8 * self.key_size.key_bytes()
    }

    pub(super) fn empty(&self) -> Run {
        Run {
            set: self.set.name().to_owned(),
            layout: self.layout.name().to_owned(),
            key_bits: self.key_bits() as u32,
            direction: table::direction(self.direction).to_owned(),
            blocks: self.blocks(),
            threads: self.threads.get(),
            ..Run::default()
        }
    }

    pub(super) fn cipher(&self) -> String {
        let (bits, direction) = (self.key_bits(), table::direction(self.direction));
        format!("AES-{bits}, {direction}, layout {}", self.layout)
    }
}
