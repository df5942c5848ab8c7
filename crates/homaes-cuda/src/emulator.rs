//! In place of the driver, for tests where no GPU is: the kernels as the C++ compiler of this machine (`c++`) makes them, one block after the other.

use crate::Error;
use crate::args::Arg;
use core::ffi::{CStr, c_char, c_int, c_void};
use std::ffi::CString;
use std::path::Path;
use std::process::Command;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::{env, fs, io, process};

const SOURCES: [(&str, &str); 2] = [
    ("kernels.cu", include_str!("kernels.cu")),
    ("emulator.cpp", include_str!("emulator.cpp")),
];
const OPTIONS: [&str; 6] = [
    "-std=c++17",
    "-O2",
    "-mfma",
    "-ffp-contract=off",
    "-shared",
    "-fPIC",
];

type Launch = unsafe extern "C" fn(*const c_char, *const u32, u32, *mut *mut c_void) -> c_int;

/// The library with the kernels; one launch at a time.
static LIBRARY: LazyLock<Result<Mutex<libloading::Library>, String>> = LazyLock::new(|| {
    let folder = env::temp_dir().join(format!("homaes-cuda-{}", process::id()));
    let library = compiled(&folder);
    // an open library needs no file
    let _ = fs::remove_dir_all(&folder);
    library.map(Mutex::new).map_err(|e| e.to_string())
});

fn compiled(folder: &Path) -> io::Result<libloading::Library> {
    fs::create_dir_all(folder)?;
    for (name, text) in SOURCES {
        fs::write(folder.join(name), text)?;
    }
    let library = folder.join("libkernels.so");
    let mut compiler = Command::new("c++");
    compiler.args(OPTIONS).arg("-o").arg(&library);
    let status = compiler.arg(folder.join("emulator.cpp")).status()?;
    if !status.success() {
        return Err(io::Error::other("c++ refuses the kernels"));
    }
    // SAFETY: initialisers of the library make its own tables alone.
    unsafe { libloading::Library::new(library) }.map_err(io::Error::other)
}

/// This processor with the kernels.
pub(crate) struct Driver;

impl Driver {
    /// There is one for each number.
    pub(crate) fn new(_: usize) -> Result<Self, Error> {
        match &*LIBRARY {
            Ok(_) => Ok(Self),
            Err(why) => Err(Error::Kernels(why.clone())),
        }
    }

    pub(crate) fn name(&self) -> String {
        "the emulator".into()
    }

    /// Memory of any content, and before it its length.
    pub(crate) fn alloc(&self, words: usize) -> u64 {
        let memory = vec![u64::MAX; words + 2].leak();
        memory[0] = memory.len() as u64;
        (&raw mut memory[2]) as u64
    }

    /// # Safety
    /// It must come from [`alloc`](Self::alloc).
    pub(crate) unsafe fn free(&self, at: u64) {
        // SAFETY: as the caller vouches; `alloc` left the length two words before.
        unsafe {
            let memory = (at as *mut u64).sub(2);
            let words = *memory as usize;
            drop(Vec::from_raw_parts(memory, words, words));
        }
    }

    /// # Safety
    /// There must be so many words at `to`.
    pub(crate) unsafe fn write(&self, to: u64, from: &[u64]) {
        // SAFETY: as the caller vouches.
        unsafe { core::ptr::copy_nonoverlapping(from.as_ptr(), to as *mut u64, from.len()) }
    }

    /// # Safety
    /// There must be so many words at `from`.
    pub(crate) unsafe fn read(&self, from: u64, to: &mut [u64]) {
        // SAFETY: as the caller vouches.
        unsafe { core::ptr::copy_nonoverlapping(from as *const u64, to.as_mut_ptr(), to.len()) }
    }

    pub(crate) fn wait(&self) {}

    /// # Safety
    /// The arguments must be those that the source declares, and memory must hold what the kernel reads and writes in this grid.
    pub(crate) unsafe fn launch(
        &self,
        kernel: &'static str,
        grid: [usize; 3],
        block: usize,
        args: &[Arg],
    ) {
        let words: Vec<[u64; 2]> = args.iter().map(|a| a.words()).collect();
        let mut pointers: Vec<*mut c_void> =
            words.iter().map(|w| w.as_ptr().cast_mut().cast()).collect();
        let grid = grid.map(|g| g as u32);
        let name = CString::new(kernel).expect("a name");
        let library = LIBRARY.as_ref().expect("opened by `new`");
        let library = library.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the function is declared so in `emulator.cpp`; arguments are as the caller vouches.
        let refused = unsafe {
            let launch = library.get::<Launch>(CStr::to_bytes_with_nul(c"emulator_launch"));
            launch.expect("a function of the library")(
                name.as_ptr(),
                grid.as_ptr(),
                block as u32,
                pointers.as_mut_ptr(),
            )
        };
        assert_eq!(refused, 0, "{kernel}");
    }
}
