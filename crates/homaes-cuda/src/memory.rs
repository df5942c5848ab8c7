//! Buffers on the GPU, and ring elements in them.

use crate::Result;
use crate::driver::Driver;
use core::ops::Deref;
use homaes_math::Words;
use homaes_rns::{Fault, Resident};
use std::sync::Arc;

/// Words on the GPU.
pub(crate) struct Buffer {
    driver: Arc<Driver>,
    at: u64,
    words: usize,
}

impl Buffer {
    /// A buffer of arbitrary content.
    pub(crate) fn new(driver: &Arc<Driver>, words: usize) -> Result<Self> {
        Ok(Self {
            driver: driver.clone(),
            at: driver.alloc(words.max(1))?,
            words,
        })
    }

    pub(crate) fn of(driver: &Arc<Driver>, words: &[u64]) -> Result<Self> {
        let out = Self::new(driver, words.len())?;
        out.write(0, words)?;
        Ok(out)
    }

    /// A copy of `words`, through pinned memory.
    pub(crate) fn sent(driver: &Arc<Driver>, words: &[u64]) -> Result<Self> {
        let out = Self::new(driver, words.len())?;
        // SAFETY: as many words as the buffer has.
        unsafe { driver.send(out.at(0), words) }?;
        Ok(out)
    }

    /// Shows all words to `take`, from pinned memory, while the GPU continues with later launches.
    pub(crate) fn received(&self, take: impl FnOnce(&[u64])) -> Result<()> {
        // SAFETY: as many words as the buffer has.
        unsafe { self.driver.receive(self.at, self.words, take) }
    }

    pub(crate) fn at(&self, word: usize) -> u64 {
        assert!(word <= self.words, "beyond a buffer");
        self.at + 8 * word as u64
    }

    pub(crate) fn write(&self, start: usize, words: &[u64]) -> Result<()> {
        assert!(start + words.len() <= self.words);
        if words.is_empty() {
            return Ok(());
        }
        // SAFETY: within the buffer, just checked.
        unsafe { self.driver.write(self.at(start), words) }
    }

    pub(crate) fn read(&self, start: usize, words: &mut [u64]) -> Result<()> {
        assert!(start + words.len() <= self.words);
        // SAFETY: within the buffer, just checked.
        unsafe { self.driver.read(self.at(start), words) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`; later launches cannot have the address, as its holders borrow or own the buffer.
        unsafe { self.driver.free(self.at) }
    }
}

/// Limbs of a ring element, contiguous in a buffer.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) buffer: Arc<Buffer>,
    pub(crate) start: usize,
    pub(crate) limbs: usize,
    pub(crate) n: usize,
}

impl Held {
    /// Copies limbs of n words, adjacent ones in one transfer. Empty limbs keep their place, unwritten.
    pub(crate) fn of<L: Deref<Target = [u64]>>(
        driver: &Arc<Driver>,
        all: impl ExactSizeIterator<Item = L>,
        n: usize,
    ) -> Result<Self> {
        let limbs = all.len();
        let buffer = Buffer::new(driver, limbs * n)?;
        let mut run = Vec::new();
        for (i, limb) in all.enumerate() {
            assert!(limb.is_empty() || limb.len() == n, "a limb of another ring");
            if limb.is_empty() {
                buffer.write(i * n - run.len(), &run)?;
                run.clear();
            }
            run.extend_from_slice(&limb);
        }
        buffer.write(limbs * n - run.len(), &run)?;
        Ok(Self {
            buffer: Arc::new(buffer),
            start: 0,
            limbs,
            n,
        })
    }

    pub(crate) fn at(&self) -> u64 {
        self.buffer.at(self.start)
    }

    pub(crate) fn is_on(&self, driver: &Arc<Driver>) -> bool {
        Arc::ptr_eq(&self.buffer.driver, driver)
    }
}

impl Resident for Held {
    fn download(&self) -> Result<Vec<Words>, Fault> {
        let limb = |i: usize| {
            let mut limb = Words::scratch(self.n);
            self.buffer.read(self.start + i * self.n, &mut limb)?;
            Ok(limb)
        };
        (0..self.limbs).map(limb).collect()
    }
}
