//! What happens where memory ends.
//!
//! Rust's collections end the process by a signal then, and leave its temporary files behind. A program that takes
//! [`Guarded`] as its allocator ends with one line and exit code 1 instead; [`is_available`] tells beforehand whether a
//! large amount is there.

use core::cell::Cell;
use core::hint::black_box;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io;

/// The system's allocator, which ends the process where the system has no memory left.
///
/// It writes `error: out of memory: N more bytes wanted; …` to standard error and exits with code 1, without the
/// destructors of values and without `atexit` functions. So a fallible allocation of the standard library does not fail
/// either; ask [`is_available`] for large ones.
///
/// Where a thread starts and its stack takes the last of the address space, the C library ends the process itself, by a
/// signal: ask [`room_for_thread`] before.
///
/// ```
/// use homaes_math::memory::Guarded;
/// #[global_allocator]
/// static ALLOCATOR: Guarded = Guarded::new(|| { /* removes temporary files */ });
/// ```
#[derive(Debug)]
pub struct Guarded {
    clean_up: fn(),
}

/// A thread has begun to end the process.
static ENDING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// It is this one. Needs no memory: it is constant at first and has no destructor.
    static ENDS: Cell<bool> = const { Cell::new(false) };

    /// The bytes that this thread has taken since it last saw that [`HEADROOM`] is left.
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

/// Bytes left for those who do not ask this allocator. The C library takes some where a thread starts, and ends the
/// process by a signal if it gets none.
const HEADROOM: usize = 120 << 10;

/// What an allocation may take beside its bytes: a thread for which the C library finds no address space for an arena gets
/// pages for each, and one more for alignment.
const SLACK: usize = 8 << 10;

/// Address space of a thread: the stack that the standard library gives it, and what it allocates before it does anything.
const THREAD: usize = (2 << 20) + (256 << 10);

/// [`HEADROOM`] is looked for again each time a thread has taken so many bytes.
const STEP: usize = 16 << 10;

impl Guarded {
    /// `clean_up` is called on the thread that finds no memory left, at any place where it may allocate, and must not
    /// wait for another thread for ever. If it takes memory itself, the process ends there.
    #[must_use]
    pub const fn new(clean_up: fn()) -> Self {
        Self { clean_up }
    }

    /// Passes on what the system gave.
    fn given(&self, start: *mut u8, wanted: usize) -> *mut u8 {
        if start.is_null() {
            self.end(wanted);
        }
        let taken = TAKEN.get().saturating_add(wanted.saturating_add(SLACK));
        TAKEN.set(if taken < STEP { taken } else { 0 });
        if taken >= STEP && !is_available(HEADROOM) {
            self.end(wanted);
        }
        start
    }

    #[cold]
    fn end(&self, wanted: usize) -> ! {
        if ENDS.get() {
            // The clean-up took memory.
            exit();
        }
        if ENDING.swap(true, Ordering::AcqRel) {
            // Another thread ends the process.
            loop {
                // Parking may take memory.
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        ENDS.set(true);
        let mut digits = [0; 20];
        for part in [
            b"error: out of memory: ",
            decimal(wanted, &mut digits),
            b" more bytes wanted; close other programs, raise the memory limit, or use fewer threads\n",
        ] {
            say(part);
        }
        (self.clean_up)();
        exit()
    }
}

// SAFETY: every call is passed on to the system's allocator with its arguments, and its result is returned unless it is
// null, in which case the call does not return. Nothing unwinds: the functions called then allocate nothing that could
// fail, or come back here and end the process.
unsafe impl GlobalAlloc for Guarded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let start = unsafe { System.alloc(layout) };
        self.given(start, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let start = unsafe { System.alloc_zeroed(layout) };
        self.given(start, layout.size())
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        let start = unsafe { System.realloc(start, layout, size) };
        self.given(start, size)
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise; `start` came from the system's allocator.
        unsafe { System.dealloc(start, layout) }
    }
}

/// The digits of a number, at the end of `buffer`.
fn decimal(mut number: usize, buffer: &mut [u8; 20]) -> &[u8] {
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 || at == 0 {
            return &buffer[at..];
        }
    }
}

/// Writes to standard error without memory of its own and without a lock, which this thread may hold.
fn say(text: &[u8]) {
    #[cfg(unix)]
    // SAFETY: the pointer and the length are those of a slice.
    unsafe {
        libc::write(2, text.as_ptr().cast(), text.len());
    }
    #[cfg(not(unix))]
    {
        use std::io::Write;
        let _ = std::io::stderr().write_all(text);
    }
}

fn exit() -> ! {
    #[cfg(unix)]
    // SAFETY: it may be called at any time and by any thread; nothing of the process runs afterwards.
    unsafe {
        libc::_exit(1)
    }
    #[cfg(not(unix))]
    std::process::exit(1)
}

/// Whether this process can have this many bytes more, in one piece, at this moment: within its limit of address space
/// and what the system promises. They are given back at once, and no page of them is touched.
///
/// The system may still have less when they are used.
#[must_use]
pub fn is_available(bytes: usize) -> bool {
    let Ok(layout) = Layout::from_size_align(bytes.max(1), 64) else {
        return false;
    };
    // SAFETY: the layout has a positive size; what was given is given back with it.
    unsafe {
        // Opaque, for the compiler may otherwise leave out an allocation that nobody uses.
        let start = black_box(System.alloc(layout));
        if !start.is_null() {
            System.dealloc(start, layout);
        }
        !start.is_null()
    }
}

/// Whether a thread of the standard library's size can start at this moment, and the C library have what it needs then.
///
/// # Errors
/// If it cannot, one of kind [`OutOfMemory`](io::ErrorKind::OutOfMemory).
pub fn room_for_thread() -> io::Result<()> {
    match is_available(THREAD) {
        true => Ok(()),
        false => Err(io::ErrorKind::OutOfMemory.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_full() {
        let mut buffer = [0; 20];
        for number in [0, 7, 10, 65_536, usize::MAX] {
            assert_eq!(decimal(number, &mut buffer), number.to_string().as_bytes());
        }
    }

    #[test]
    fn no_process_has_all_the_address_space() {
        assert!(is_available(0) && is_available(1 << 20) && room_for_thread().is_ok());
        assert!(!is_available(1 << 62) && !is_available(usize::MAX));
    }

    #[test]
    fn what_the_system_gives_is_passed_on() {
        let guarded = Guarded::new(|| ());
        let layout = Layout::from_size_align(4096, 64).unwrap();
        // SAFETY: the layout has a positive size, and the block is used within it and given back with it.
        unsafe {
            let start = guarded.alloc_zeroed(layout);
            assert_eq!(*start.add(4095), 0);
            *start = 7;
            let start = guarded.realloc(start, layout, 8192);
            assert_eq!(*start, 7);
            guarded.dealloc(start, Layout::from_size_align(8192, 64).unwrap());
        }
    }
}
