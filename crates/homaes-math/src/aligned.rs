//! 64-byte aligned, recycled buffers of words: one vector register per cache line.
//!
//! A limb at n = 32768 is 256 KiB, which the allocator would map and the kernel would zero anew each
//! time; evaluation goes through thousands per second. Dropped buffers therefore wait in a pool,
//! by length, for the next request. The pool never holds more than the program's own peak use.

use core::ops::{Deref, DerefMut};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};
use zeroize::Zeroize;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; 8]);

type Pool = HashMap<usize, Vec<Vec<Line>>>;
static POOL: LazyLock<Mutex<Pool>> = LazyLock::new(Mutex::default);

/// Buffers shorter than this go back to the allocator, which is good at them.
const POOLED_LINES: usize = 64;

/// A buffer of fixed length, aligned to a cache line.
///
/// Hot kernels stream it with full-width loads; an unaligned buffer would make each of them touch
/// two cache lines. Secrets must be zeroised before the drop: a recycled buffer is handed out as
/// it is by [`Words::scratch`].
pub struct Words {
    lines: Vec<Line>,
    len: usize,
}

impl Words {
    /// `len` words of unspecified (but initialised) content, recycled where possible.
    pub fn scratch(len: usize) -> Self {
        let count = len.div_ceil(8);
        let recycled = (count >= POOLED_LINES)
            .then(|| {
                let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
                pool.get_mut(&count)?.pop()
            })
            .flatten();
        Self {
            lines: recycled.unwrap_or_else(|| vec![Line([0; 8]); count]),
            len,
        }
    }

    /// `len` zero words.
    pub fn zeroed(len: usize) -> Self {
        let mut out = Self::scratch(len);
        out.fill(0);
        out
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        if self.lines.len() >= POOLED_LINES {
            let lines = core::mem::take(&mut self.lines);
            let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
            pool.entry(lines.len()).or_default().push(lines);
        }
    }
}

impl Clone for Words {
    fn clone(&self) -> Self {
        let mut out = Self::scratch(self.len);
        out.copy_from_slice(self);
        out
    }
}

impl Deref for Words {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        // SAFETY: `lines` holds at least `len` initialised, contiguous u64 (Line is repr(C) over
        // [u64; 8] without padding), and u64 has a smaller alignment than Line.
        unsafe { core::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl DerefMut for Words {
    fn deref_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `deref`; the borrow of `self` is exclusive.
        unsafe { core::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

impl Zeroize for Words {
    fn zeroize(&mut self) {
        self.deref_mut().zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligned_and_zero_even_when_recycled() {
        for len in [0, 1, 7, 8, 9, 512, 32768] {
            for _ in 0..3 {
                let mut w = Words::zeroed(len);
                assert_eq!(w.len(), len);
                assert_eq!(w.as_ptr() as usize % 64, 0);
                assert!(w.iter().all(|&x| x == 0));
                w.fill(7);
                assert!(w.clone().iter().all(|&x| x == 7));
            }
        }
    }
}
