//! Replaces the driver in tests without a GPU: the kernels, compiled by this machine's C++ compiler (`c++`).

use crate::args::{self, Arg};
use crate::arithmetic::Arithmetic;
use crate::kernels::{Kind, MOST_PRIMES, ROOTS, Size, kernels, source};
use crate::trace::Trace;
use crate::{Card, Error, Result};
use core::ffi::{CStr, c_char, c_void};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{env, fs, io, process};

const OPTIONS: [&str; 6] = [
    "-std=c++17",
    "-O3",
    "-march=native",
    "-ffp-contract=off",
    "-shared",
    "-fPIC",
];

/// Number of launches after which every launch fails, or name of the kernel that fails; for one GPU after its number and a
/// colon.
const FAULT: &str = "HOMAES_EMULATOR_FAULT";

/// Number of emulated GPUs.
const CARDS: usize = 2;

pub(crate) fn cards() -> Result<Vec<Card>> {
    let card = |number| Card {
        number,
        name: "the emulator".into(),
        bytes: 8 << 30,
        single_to_double: 2,
    };
    Ok((0..CARDS).map(card).collect())
}

pub(crate) fn arithmetic(_: usize) -> Result<Arithmetic> {
    Ok(Arithmetic::Doubles)
}

type Launch = unsafe extern "C" fn(
    *const c_char,
    *const u32,
    u32,
    usize,
    bool,
    *mut *mut c_void,
) -> *const c_char;

type Compiled = Result<Vec<u8>, String>;

/// Compiled kernels.
static LIBRARIES: Mutex<BTreeMap<(Arithmetic, Kind), Compiled>> = Mutex::new(BTreeMap::new());
/// Number of opened libraries: each has its own name, and so its own constants.
static OPENED: AtomicUsize = AtomicUsize::new(0);

fn library(arithmetic: Arithmetic, kind: Kind) -> Result<libloading::Library, String> {
    let number = OPENED.fetch_add(1, Ordering::Relaxed);
    let folder = env::temp_dir().join(format!("homaes-cuda-{}-{number}", process::id()));
    fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let opened = (|| {
        let mut libraries = LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner);
        let library = libraries.entry((arithmetic, kind));
        let compile = || compiled(&folder, arithmetic, kind).map_err(|e| e.to_string());
        let library = library.or_insert_with(compile);
        let path = folder.join("libown.so");
        fs::write(&path, library.as_ref().map_err(Clone::clone)?).map_err(|e| e.to_string())?;
        // SAFETY: the library's initialisers only set up its own tables.
        unsafe { libloading::Library::new(path) }.map_err(|e| e.to_string())
    })();
    // an open library needs no file
    let _ = fs::remove_dir_all(&folder);
    opened
}

fn compiled(folder: &Path, arithmetic: Arithmetic, kind: Kind) -> io::Result<Vec<u8>> {
    fs::write(folder.join("kernels.cu"), source(arithmetic))?;
    fs::write(folder.join("emulator.cpp"), include_str!("emulator.cpp"))?;
    let names = kernels().map(|(name, _)| format!("KERNEL({name})\n"));
    fs::write(folder.join("names.h"), names.collect::<String>())?;
    let library = folder.join("libkernels.so");
    let mut compiler = Command::new("c++");
    compiler.args(OPTIONS).args(kind.definitions());
    compiler.arg("-o").arg(&library);
    let status = compiler.arg(folder.join("emulator.cpp")).status()?;
    if !status.success() {
        return Err(io::Error::other("c++ refuses the kernels"));
    }
    fs::read(library)
}

/// This processor with the kernels. It reports lack of memory and requested failures as a GPU does.
pub(crate) struct Driver {
    pub(crate) arithmetic: Arithmetic,
    pub(crate) size: Size,
    /// one launch at a time
    library: Mutex<libloading::Library>,
    /// launches before all fail, and the kernel that fails
    most_launches: usize,
    faulty: String,
    /// bytes in use
    used: AtomicUsize,
    launches: AtomicUsize,
    pub(crate) trace: Trace,
    /// limit of memory in bytes; 0 for none
    pub(crate) most: AtomicUsize,
    /// whether copies from it fail
    pub(crate) unreadable: AtomicBool,
    /// words copied to it
    pub(crate) written: AtomicUsize,
}

impl Driver {
    /// Starts an emulated GPU; see the driver of a GPU.
    pub(crate) fn new(
        number: usize,
        kind: Kind,
        arithmetic: Arithmetic,
        roots: &[u64],
    ) -> Result<Self, Error> {
        if number >= CARDS {
            let why = format!("there are only {CARDS}");
            return Err(Error::Device { number, why });
        }
        let faulty = env::var(FAULT).unwrap_or_default();
        let faulty = match faulty.split_once(':') {
            Some((gpu, fault)) if gpu.parse() == Ok(number) => fault.into(),
            Some(_) => String::new(),
            None => faulty,
        };
        let library = library(arithmetic, kind).map_err(Error::Kernels)?;
        let out = Self {
            arithmetic,
            size: Size::H100,
            library: Mutex::new(library),
            most_launches: faulty.parse().unwrap_or(usize::MAX),
            faulty,
            used: AtomicUsize::default(),
            launches: AtomicUsize::default(),
            trace: Default::default(),
            most: AtomicUsize::default(),
            unreadable: AtomicBool::default(),
            written: AtomicUsize::default(),
        };
        out.set_roots(roots)?;
        Ok(out)
    }

    fn set_roots(&self, words: &[u64]) -> Result<()> {
        assert!(
            words.len() <= ROOTS * MOST_PRIMES,
            "more roots than there is room for"
        );
        let library = self.library.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the library has room for that many words, and no kernel runs.
        unsafe {
            let roots = library.get::<*mut u64>(CStr::to_bytes_with_nul(c"roots"));
            self.write(*roots.expect("constants of the library") as u64, words)
        }
    }

    pub(crate) fn name(&self) -> Result<String> {
        Ok("the emulator".into())
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn room(&self, bytes: usize) -> Result<()> {
        let most = self.most.load(Ordering::Relaxed);
        let free = most.saturating_sub(self.used());
        match most == 0 || bytes <= free {
            true => Ok(()),
            false => Err(Error::Memory { bytes, free }),
        }
    }

    /// Memory of arbitrary content, preceded by its length.
    pub(crate) fn alloc(&self, words: usize) -> Result<u64> {
        self.room(words * 8)?;
        self.used.fetch_add(words * 8, Ordering::Relaxed);
        let memory = vec![u64::MAX; words + 2].leak();
        memory[0] = memory.len() as u64;
        Ok((&raw mut memory[2]) as u64)
    }

    /// Safety: `at` comes from [`alloc`](Self::alloc).
    pub(crate) unsafe fn free(&self, at: u64) {
        // SAFETY: as the caller vouches; `alloc` put the length two words before.
        unsafe {
            let memory = (at as *mut u64).sub(2);
            let words = *memory as usize;
            self.used.fetch_sub((words - 2) * 8, Ordering::Relaxed);
            drop(Vec::from_raw_parts(memory, words, words));
        }
    }

    /// Safety: `to` has room for the words.
    pub(crate) unsafe fn write(&self, to: u64, from: &[u64]) -> Result<()> {
        self.written.fetch_add(from.len(), Ordering::Relaxed);
        self.trace.timed("upload", 8 * from.len(), || {
            // SAFETY: as the caller vouches.
            unsafe { core::ptr::copy_nonoverlapping(from.as_ptr(), to as *mut u64, from.len()) }
            Ok(())
        })
    }

    /// Safety: `from` holds that many words.
    pub(crate) unsafe fn read(&self, from: u64, to: &mut [u64]) -> Result<()> {
        if self.unreadable.load(Ordering::Relaxed) {
            let at = "a download";
            let why = "requested by the test".into();
            return Err(Error::Fault { at, why });
        }
        self.trace.timed("download", 8 * to.len(), || {
            // SAFETY: as the caller vouches.
            unsafe { core::ptr::copy_nonoverlapping(from as *const u64, to.as_mut_ptr(), to.len()) }
            Ok(())
        })
    }

    /// Safety: `to` has room for the words.
    pub(crate) unsafe fn send(&self, to: u64, from: &[u64]) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.write(to, from) }
    }

    /// Safety: `from` holds that many words.
    pub(crate) unsafe fn receive(
        &self,
        from: u64,
        words: usize,
        take: impl FnOnce(&[u64]),
    ) -> Result<()> {
        let mut copy = vec![0; words];
        // SAFETY: as the caller vouches.
        unsafe { self.read(from, &mut copy) }?;
        take(&copy);
        Ok(())
    }

    pub(crate) fn wait(&self) -> Result<()> {
        Ok(())
    }

    /// Safety: as with the driver of a GPU.
    pub(crate) unsafe fn launch(
        &self,
        kernel: &'static str,
        grid: [usize; 3],
        block: usize,
        shared_bytes: usize,
        args: &[Arg],
    ) -> Result<()> {
        let number = self.launches.fetch_add(1, Ordering::Relaxed);
        if number >= self.most_launches || kernel == self.faulty {
            let (at, why) = (kernel, format!("requested by {FAULT}"));
            return Err(Error::Fault { at, why });
        }
        let mut pointers = args::pointers(args);
        let threads = grid.iter().product::<usize>() * block;
        let grid = grid.map(|g| g as u32);
        // odd launches start with the other order of threads, so that a single block sees both
        let odd = number % 2 == 1;
        let name = CString::new(kernel).expect("a name");
        let library = self.library.lock().unwrap_or_else(PoisonError::into_inner);
        self.trace.timed(kernel, threads, || {
            // SAFETY: declared as in `emulator.cpp`; arguments are as the caller vouches.
            let fault = unsafe {
                let launch = library.get::<Launch>(CStr::to_bytes_with_nul(c"emulator_launch"));
                let fault = launch.expect("a function of the library")(
                    name.as_ptr(),
                    grid.as_ptr(),
                    block as u32,
                    shared_bytes,
                    odd,
                    pointers.as_mut_ptr(),
                );
                (!fault.is_null()).then(|| CStr::from_ptr(fault))
            };
            assert_eq!(fault, None, "{kernel}");
            Ok(())
        })
    }
}
