//! Running out of memory.
//!
//! Rust's collections then end the process by a signal, which leaves temporary files behind. A program with
//! [`Guarded`] as its allocator ends with one line and exit code 1. [`is_available`] checks for large amounts.

use core::cell::Cell;
use core::hint::black_box;
#[cfg(unix)]
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};

/// The system's allocator, which ends the process when the system has no memory left.
///
/// It writes `error: out of memory: N more bytes wanted; …` to standard error and exits with code 1, without running
/// destructors or `atexit` functions. Fallible allocations end the process too: ask [`is_available`] first.
///
/// Start threads with [`start_thread`]: if a stack finds no address space, the C library ends the process by a
/// signal.
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

/// A thread is ending the process.
static ENDING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// It is this one. Needs no memory: constant at first, and without destructor.
    static ENDS: Cell<bool> = const { Cell::new(false) };

    /// The bytes that this thread has taken since the last check that [`HEADROOM`] is left.
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

/// Bytes left for the C library, which ends the process by a signal if it gets none to start a thread.
const HEADROOM: usize = 120 << 10;

/// Extra bytes of an allocation: a thread without an arena gets whole pages, and one more for alignment.
const SLACK: usize = 8 << 10;

/// Address space of a thread: the standard library's stack, and what the thread allocates before it does anything.
const THREAD: usize = (2 << 20) + (256 << 10);

/// Bytes that a thread takes between two checks of [`HEADROOM`].
const STEP: usize = 16 << 10;

impl Guarded {
    /// `clean_up` runs on the thread that finds no memory left, wherever it allocates, and must not wait forever for
    /// another thread. If it runs out of memory itself, the process ends there.
    #[must_use]
    pub const fn new(clean_up: fn()) -> Self {
        Self { clean_up }
    }

    fn given(&self, start: *mut u8, wanted: usize) -> *mut u8 {
        if start.is_null() {
            self.end(wanted);
        }
        let taken = TAKEN.get().saturating_add(wanted.saturating_add(SLACK));
        TAKEN.set(if taken < STEP { taken } else { 0 });
        if taken >= STEP && !is_allocated(HEADROOM) {
            self.end(wanted);
        }
        start
    }

    #[cold]
    fn end(&self, wanted: usize) -> ! {
        if ENDS.get() {
            // The clean-up ran out of memory.
            exit();
        }
        if ENDING.swap(true, Ordering::AcqRel) {
            // Another thread ends the process.
            loop {
                // Parking could allocate.
                thread::sleep(Duration::from_secs(1));
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

// SAFETY: every call goes to the system's allocator with its arguments, and its result is returned unless it is null,
// in which case the call does not return. Nothing unwinds: functions called then allocate nothing that could fail, or
// come back here and end the process.
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

/// Writes to standard error without allocating and without a lock, which this thread may hold.
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

/// Whether this process can get this many more bytes now, in one piece, within its address-space limit and what the
/// system promises. They are given back at once, untouched.
///
/// Asks the system, since the allocator may keep what was freed. There may be less when the bytes are used.
#[must_use]
pub fn is_available(bytes: usize) -> bool {
    #[cfg(unix)]
    // SAFETY: a new mapping touches no memory of this process; it is taken away with its own start and length.
    unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let start = libc::mmap(null_mut(), bytes.max(1), access, kind, -1, 0);
        start != libc::MAP_FAILED && libc::munmap(start, bytes.max(1)) == 0
    }
    #[cfg(not(unix))]
    is_allocated(bytes)
}

/// Whether the allocator gives this thread this many more bytes.
fn is_allocated(bytes: usize) -> bool {
    let Ok(layout) = Layout::from_size_align(bytes.max(1), 64) else {
        return false;
    };
    // SAFETY: the layout has a positive size; what was given is given back with it.
    unsafe {
        // Opaque: the compiler may leave out an allocation that nobody uses.
        let start = black_box(System.alloc(layout));
        if !start.is_null() {
            System.dealloc(start, layout);
        }
        !start.is_null()
    }
}

/// Makes all threads share one arena if the address space is limited. Call it before the first thread starts.
///
/// Otherwise glibc makes an arena of 64 MiB per thread. Under a limit, a started thread may then lack the pages of
/// its signal stack, for which the standard library ends the process; and a thread without an arena asks for one
/// again at each allocation. Without a limit, own arenas keep threads from waiting for each other.
pub fn share_arena_under_limit() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the structure belongs to this function and is written as a whole; the other call takes numbers.
    unsafe {
        let mut limit = libc::rlimit {
            rlim_cur: libc::RLIM_INFINITY,
            rlim_max: libc::RLIM_INFINITY,
        };
        if libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) == 0
            && limit.rlim_cur != libc::RLIM_INFINITY
        {
            libc::mallopt(libc::M_ARENA_MAX, 1);
        }
    }
}

/// Starts a thread with the standard stack size, and returns once it has begun `work`.
///
/// Checks for the thread's address space first. On return, the C library has taken what it needs to begin the thread,
/// so threads started in sequence do not compete. Under an address-space limit, call [`share_arena_under_limit`]
/// first.
///
/// # Errors
/// [`OutOfMemory`](io::ErrorKind::OutOfMemory) if there is no room, or the system's error if it starts no thread.
pub fn start_thread<T: Send + 'static>(
    thread: thread::Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    if !is_available(THREAD) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    // Unlike a channel, a barrier has nothing that the C library would have to destroy at the end of this thread.
    let begun = Arc::new(Barrier::new(2));
    let begins = Arc::clone(&begun);
    let handle = thread.spawn(move || {
        begins.wait();
        drop(begins);
        work()
    })?;
    begun.wait();
    Ok(handle)
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
        assert!(is_available(0) && is_available(1 << 20));
        assert!(!is_available(1 << 62) && !is_available(usize::MAX));
        assert!(is_allocated(0) && is_allocated(1 << 20) && !is_allocated(usize::MAX));
    }

    #[test]
    fn a_thread_gives_its_result_or_an_error() {
        let thread = |stack| thread::Builder::new().stack_size(stack);
        assert_eq!(
            start_thread(thread(1 << 16), || 7).unwrap().join().unwrap(),
            7
        );
        let refused = start_thread(thread(1 << 50), || 7);
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::WouldBlock);
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
