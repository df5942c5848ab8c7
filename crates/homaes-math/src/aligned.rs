//! 64-byte aligned buffers of words or reals; large ones are recycled and live on huge pages.
//!
//! A limb at n = 32768 is 256 KiB. The allocator would map and zero it anew, thousands of times per second. Besides,
//! a key inner product reads up to eighty limbs side by side, more than the first-level TLB has entries for 4 KiB
//! pages. So large buffers are cut from slabs of 8 MiB on huge pages, and dropped ones wait in a pool, by length. Per
//! length, the pool never exceeds the program's own peak use (rounded up to slabs); lengths do not share.
//!
//! Smaller buffers, those of toy rings and of TFHE, return to the allocator, except some of each length in shares of
//! few threads each: aligned allocation costs nearly as much as the work on them.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use zeroize::Zeroize;

const LINE_BYTES: usize = 64;
/// Smaller buffers are allocated one by one and kept in shares ([`KEPT`]); larger ones are cut from slabs and pooled.
const POOLED_BYTES: usize = 32 << 10;
/// Bytes that a share keeps of each length.
const KEPT_BYTES: usize = 1 << 20;
const SLAB_BYTES: usize = 8 << 20;
/// Gap between the buffers of a slab, and between those of successive slabs: limbs are read side by side at equal
/// positions, and would otherwise compete for one set of the caches.
const STAGGER_BYTES: usize = 9 * LINE_BYTES;
const HUGE_PAGE_BYTES: usize = 2 << 20;

static SLABS: AtomicUsize = AtomicUsize::new(0);

/// A free buffer of the size class it is filed under.
struct Free(NonNull<u64>);

// SAFETY: a free buffer is owned by the pool alone; it is plain memory.
unsafe impl Send for Free {}

/// Free buffers below [`POOLED_BYTES`], by length.
struct Kept(Vec<(usize, Vec<Free>)>);

impl Kept {
    fn class(&mut self, size: usize) -> &mut Vec<Free> {
        let at = self.0.iter().position(|(found, _)| *found == size);
        let at = at.unwrap_or_else(|| {
            self.0.push((size, Vec::new()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }
}

/// Number of shares; further threads use them too.
const SHARES: usize = 16;

static KEPT: [Mutex<Kept>; SHARES] = [const { Mutex::new(Kept(Vec::new())) }; SHARES];

/// The share of this thread. Not a thread-local list: glibc aborts if it lacks memory for its destructor.
fn kept() -> MutexGuard<'static, Kept> {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static SHARE: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    let share = match SHARE.get() {
        usize::MAX => {
            let share = THREADS.fetch_add(1, Ordering::Relaxed) % SHARES;
            SHARE.set(share);
            share
        }
        share => share,
    };
    KEPT[share].lock().unwrap_or_else(PoisonError::into_inner)
}

static POOL: LazyLock<Mutex<BTreeMap<usize, Vec<Free>>>> = LazyLock::new(Mutex::default);

/// Elements of buffers: eight bytes, every bit pattern of which is a value.
pub trait Element: Copy + zeroize::DefaultIsZeroes + private::Sealed {}

mod private {
    /// No other implementations: memory is handed out as it is.
    pub trait Sealed {}
    impl Sealed for u64 {}
    impl Sealed for f64 {}
}

impl Element for u64 {}
impl Element for f64 {}

/// A buffer of words.
pub type Words = Buffer<u64>;

/// A buffer of double-precision numbers.
pub type Reals = Buffer<f64>;

/// A buffer of fixed length, aligned to a cache line: an unaligned full-width load would touch two. Zeroize secrets
/// before the drop, because [`Buffer::scratch`] hands out recycled buffers as they are.
pub struct Buffer<T: Element> {
    start: NonNull<u64>,
    len: usize,
    element: PhantomData<T>,
}

// SAFETY: a buffer owns its memory exclusively, like a Vec.
unsafe impl<T: Element> Send for Buffer<T> {}
// SAFETY: shared access only reads.
unsafe impl<T: Element> Sync for Buffer<T> {}

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

impl<T: Element> Buffer<T> {
    /// `len` elements of unspecified (but initialised) content, recycled if possible.
    ///
    /// # Panics
    /// If `len` elements exceed the address space.
    pub fn scratch(len: usize) -> Self {
        let size = bytes(len);
        if size < POOLED_BYTES {
            let kept = kept().class(size).pop();
            return Self::new(kept.map_or_else(|| single(size), |Free(start)| start), len);
        }
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        let class = pool.entry(size).or_default();
        if class.is_empty() {
            class.extend(slab(size));
        }
        let Free(start) = class.pop().expect("a slab holds at least one buffer");
        Self::new(start, len)
    }

    fn new(start: NonNull<u64>, len: usize) -> Self {
        let element = PhantomData;
        Self {
            start,
            len,
            element,
        }
    }

    /// `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        let out = Self::scratch(len);
        // the bytes of 0 and of 0.0
        // SAFETY: `start` points to at least `len` elements of eight bytes owned by self.
        unsafe { out.start.as_ptr().write_bytes(0, out.len) };
        out
    }
}

fn single(size: usize) -> NonNull<u64> {
    let layout = layout(size, LINE_BYTES);
    // SAFETY: `bytes` makes the layout's size at least a line.
    let start = unsafe { alloc_zeroed(layout) };
    NonNull::new(start.cast()).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Buffers of `size` bytes from a new slab of zeroed memory, which is never freed.
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
    // continues the stagger of the previous slab, as far as the slab's end allows
    let count = total / stride;
    let spare = (total - count * stride) / LINE_BYTES + 1;
    let lines = SLABS.fetch_add(1, Ordering::Relaxed) * count * (STAGGER_BYTES / LINE_BYTES);
    let first = lines % spare * LINE_BYTES;
    (0..count).map(move |i| {
        // SAFETY: first + i·stride + stride <= total, so the piece lies within the slab.
        let piece = unsafe { start.add(first + i * stride) };
        Free(NonNull::new(piece.cast()).expect("within an allocation"))
    })
}

impl<T: Element> Drop for Buffer<T> {
    fn drop(&mut self) {
        let size = bytes(self.len);
        if size < POOLED_BYTES {
            let mut kept = kept();
            let class = kept.class(size);
            if (class.len() + 1) * size <= KEPT_BYTES {
                class.push(Free(self.start));
                return;
            }
            drop(kept);
            // SAFETY: allocated by `single` with this size, and nobody's from here on.
            unsafe { dealloc(self.start.as_ptr().cast(), layout(size, LINE_BYTES)) }
        } else {
            let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
            pool.entry(size).or_default().push(Free(self.start));
        }
    }
}

impl<T: Element> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        let mut out = Self::scratch(self.len);
        out.copy_from_slice(self);
        out
    }
}

impl<T: Element> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `start` points to at least `len` initialised elements owned by self; all bit patterns are values.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr().cast(), self.len) }
    }
}

impl<T: Element> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the borrow of `self` is exclusive.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.len) }
    }
}

impl<T: Element> Zeroize for Buffer<T> {
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
    fn sizes_beyond_memory_are_refused() {
        // bytes that wrap to 0, and more than a layout admits
        for len in [usize::MAX / 8 + 1, usize::MAX / 16 + 1] {
            assert!(std::panic::catch_unwind(|| bytes(len)).is_err());
        }
    }

    #[test]
    fn buffers_cross_threads() {
        let handles = [0, 1, 2, 3].map(|i| {
            let filled = move || {
                let mut w = Words::scratch(32768);
                w.fill(i);
                w
            };
            (i, std::thread::spawn(filled))
        });
        for (i, h) in handles {
            assert!(h.join().unwrap().iter().all(|&x| x == i));
        }
    }
}
