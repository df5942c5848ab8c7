//! 64-byte aligned buffers of words; large ones are recycled and live on huge pages.
//!
//! A limb at n = 32768 is 256 KiB. The allocator would map it and the kernel would zero it anew each
//! time, and evaluation goes through thousands per second; besides, a key inner product reads up to
//! eighty limbs side by side, more than the first-level TLB has entries for 4 KiB pages. So large
//! buffers are cut from slabs of 8 MiB that ask for huge pages, and dropped ones wait in a pool, by
//! length, for the next request. Per size class, the pool never holds more than the program's own peak
//! use of that class (rounded up to slabs); classes do not lend to each other.

use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};
use zeroize::Zeroize;

const LINE_BYTES: usize = 64;
/// Buffers below this go back to the allocator, which is good at them.
const POOLED_BYTES: usize = 32 << 10;
const SLAB_BYTES: usize = 8 << 20;
/// Distance added between the buffers of a slab. Limbs are read side by side at equal positions;
/// without it they would all compete for one set of the caches.
const STAGGER_BYTES: usize = 9 * LINE_BYTES;
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// A free buffer of the size class it is filed under.
struct Free(NonNull<u64>);

// SAFETY: a free buffer is owned by the pool alone; it is plain memory.
unsafe impl Send for Free {}

static POOL: LazyLock<Mutex<HashMap<usize, Vec<Free>>>> = LazyLock::new(Mutex::default);

/// A buffer of fixed length, aligned to a cache line.
///
/// Hot kernels stream it with full-width loads; an unaligned buffer would make each of them touch
/// two cache lines. Secrets must be zeroised before the drop: a recycled buffer is handed out as
/// it is by [`Words::scratch`].
pub struct Words {
    start: NonNull<u64>,
    len: usize,
}

// SAFETY: `Words` owns its memory exclusively, like a Vec<u64>.
unsafe impl Send for Words {}
// SAFETY: shared access only reads.
unsafe impl Sync for Words {}

/// Bytes of `len` words in whole cache lines, at least one.
///
/// # Panics
/// If no allocation can be that large: a wrapped size would alias memory.
fn bytes(len: usize) -> usize {
    len.checked_mul(8)
        .and_then(|b| b.checked_next_multiple_of(LINE_BYTES))
        .filter(|&b| isize::try_from(b).is_ok())
        .expect("a buffer fits the address space")
        .max(LINE_BYTES)
}

fn layout(bytes: usize, align: usize) -> Layout {
    Layout::from_size_align(bytes, align).expect("sizes are far below the address space")
}

impl Words {
    /// `len` words of unspecified (but initialised) content, recycled where possible.
    ///
    /// # Panics
    /// If `len` words exceed the address space.
    pub fn scratch(len: usize) -> Self {
        let size = bytes(len);
        if size < POOLED_BYTES {
            let layout = layout(size, LINE_BYTES);
            // SAFETY: the layout has a positive size.
            let start = unsafe { alloc_zeroed(layout) };
            let Some(start) = NonNull::new(start.cast()) else {
                handle_alloc_error(layout)
            };
            return Self { start, len };
        }
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        let class = pool.entry(size).or_default();
        if class.is_empty() {
            class.extend(slab(size));
        }
        let Free(start) = class.pop().expect("a slab holds at least one buffer");
        Self { start, len }
    }

    /// `len` zero words.
    pub fn zeroed(len: usize) -> Self {
        let mut out = Self::scratch(len);
        out.fill(0);
        out
    }
}

/// Buffers of `size` bytes from a new slab of zeroed memory, which is never given back.
fn slab(size: usize) -> impl Iterator<Item = Free> {
    let stride = size + STAGGER_BYTES;
    let total = SLAB_BYTES.max(stride.next_multiple_of(HUGE_PAGE_BYTES));
    let layout = layout(total, HUGE_PAGE_BYTES);
    // SAFETY: the layout has a positive size; the memory is advised and zeroed before use, and the
    // advice covers exactly the allocation, whose start is aligned to a page.
    let start = unsafe {
        let start = alloc(layout);
        if start.is_null() {
            handle_alloc_error(layout);
        }
        #[cfg(target_os = "linux")]
        libc::madvise(start.cast(), total, libc::MADV_HUGEPAGE);
        start.write_bytes(0, total);
        start
    };
    (0..total / stride).map(move |i| {
        // SAFETY: i·stride + stride <= total, so the piece lies within the slab.
        let piece = unsafe { start.add(i * stride) };
        Free(NonNull::new(piece.cast()).expect("within an allocation"))
    })
}

impl Drop for Words {
    fn drop(&mut self) {
        let size = bytes(self.len);
        if size < POOLED_BYTES {
            // SAFETY: allocated in `scratch` with this very layout.
            unsafe { dealloc(self.start.as_ptr().cast(), layout(size, LINE_BYTES)) }
        } else {
            let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
            pool.entry(size).or_default().push(Free(self.start));
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
        // SAFETY: `start` points to at least `len` initialised words owned by self.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Words {
    fn deref_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `deref`; the borrow of `self` is exclusive.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
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
    fn aligned_zero_and_apart_even_when_recycled() {
        for len in [0, 1, 7, 8, 9, 512, 4096, 32768, 1 << 20] {
            for _ in 0..3 {
                let mut w = Words::zeroed(len);
                assert_eq!(w.len(), len);
                assert_eq!(w.as_ptr() as usize % 64, 0);
                assert!(w.iter().all(|&x| x == 0));
                w.fill(7);
                let mut other = w.clone();
                other.fill(9);
                assert!(w.iter().all(|&x| x == 7));
            }
        }
    }

    #[test]
    #[should_panic(expected = "fits the address space")]
    fn a_size_that_wraps_is_refused() {
        // 2^61 words are 2^64 bytes, 0 after wrapping
        let _ = Words::scratch(usize::MAX / 8 + 1);
    }

    #[test]
    #[should_panic(expected = "fits the address space")]
    fn a_size_no_layout_admits_is_refused() {
        let _ = Words::scratch(usize::MAX / 16 + 1);
    }

    #[test]
    fn buffers_cross_threads() {
        let handles: Vec<_> = (0..4u64)
            .map(|i| {
                std::thread::spawn(move || {
                    let mut w = Words::scratch(32768);
                    w.fill(i);
                    w
                })
            })
            .collect();
        for (i, h) in handles.into_iter().enumerate() {
            assert!(h.join().unwrap().iter().all(|&x| x == i as u64));
        }
    }
}
