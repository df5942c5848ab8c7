//! Machine code of the kernels: compiled by NVRTC, which is opened at run time, and cached in the user's cache folder.

use crate::arithmetic::Arithmetic;
use crate::kernels::{Kind, OPTIONS, source};
use crate::{Error, Result};
use core::ffi::{CStr, c_char, c_int, c_void};
use homaes_wire::{AtomicFile, OutputOptions, cache_folder, hex};
use libloading::Library;
use std::ffi::{CString, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Names the path of NVRTC; if set, no other place is searched.
const VARIABLE: &str = "HOMAES_NVRTC";

const NAMES: [&str; 3] = ["libnvrtc.so.13", "libnvrtc.so", "libnvrtc.so.12"];

/// Prefix of the names of its second library.
const BUILTINS: &str = "libnvrtc-builtins.so";

/// Bytes of the digest at the head of a cached file.
const DIGEST: usize = blake3::OUT_LEN;

/// The kernels for an architecture (`sm_90`), an arithmetic, a ring and its primes, and a driver version.
pub(crate) fn kernels(
    architecture: &str,
    arithmetic: Arithmetic,
    kind: Kind,
    driver: i32,
) -> Result<Vec<u8>> {
    let options = options(architecture, kind);
    let source = source(arithmetic);
    let mut name = blake3::Hasher::new();
    for part in options.iter().chain([&source]) {
        name.update(&(part.len() as u64).to_le_bytes());
        name.update(part.as_bytes());
    }
    name.update(&driver.to_le_bytes());
    let name = format!("kernels-{}", hex(&name.finalize().as_bytes()[..16]));
    kept(cache_folder().as_deref(), &name, || {
        let nvrtc = opened(|name| env::var_os(name)).ok_or(Error::Compiler)?;
        compiled(&nvrtc, &source, &options)
    })
}

fn options(architecture: &str, kind: Kind) -> Vec<String> {
    let architecture = format!("--gpu-architecture={architecture}");
    let options = OPTIONS.iter().map(|&option| option.into());
    options
        .chain(kind.definitions())
        .chain([architecture])
        .collect()
}

/// The cached file of this name, or else the result of `make`, which is then cached. A damaged file is replaced;
/// failing to write one is no error.
fn kept(
    folder: Option<&Path>,
    name: &str,
    make: impl FnOnce() -> Result<Vec<u8>>,
) -> Result<Vec<u8>> {
    let Some(folder) = folder else { return make() };
    let path = folder.join(name);
    if let Ok(bytes) = fs::read(&path)
        && let Some((digest, image)) = bytes.split_at_checked(DIGEST)
        && blake3::hash(image).as_bytes()[..] == *digest
    {
        return Ok(image.to_vec());
    }
    let image = make()?;
    let _ = keep(&path, &image);
    Ok(image)
}

fn keep(path: &Path, image: &[u8]) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    let how = OutputOptions {
        force: true,
        ..OutputOptions::default()
    };
    let mut file = AtomicFile::create(path, how).map_err(io::Error::other)?;
    file.write_all(blake3::hash(image).as_bytes())?;
    file.write_all(image)?;
    file.commit().map_err(io::Error::other)
}

/// NVRTC, if it is in one of the usual places.
fn opened(variable: impl Fn(&str) -> Option<OsString>) -> Option<Library> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    let paths: Vec<PathBuf> = match set(VARIABLE) {
        Some(path) => vec![path.into()],
        None => {
            let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(set);
            let homes = homes.map(PathBuf::from).chain(["/usr/local/cuda".into()]);
            let folders = homes.map(|home| home.join("lib64"));
            // the loader searches for a bare name
            let folders = [PathBuf::new()].into_iter().chain(folders);
            folders
                .flat_map(|folder| NAMES.map(|name| folder.join(name)))
                .collect()
        }
    };
    paths.into_iter().find_map(|path| {
        // SAFETY: runs the library's initialisers alone.
        let nvrtc = unsafe { Library::new(&path) }.ok()?;
        if let Some(folder) = path.parent() {
            open_builtins(folder);
        }
        Some(nvrtc)
    })
}

/// Opens the second library, which NVRTC loads by name and the loader does not find in every folder. It stays open.
fn open_builtins(folder: &Path) {
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = file.file_name();
        if name.as_encoded_bytes().starts_with(BUILTINS.as_bytes()) {
            // SAFETY: runs the library's initialisers alone.
            let _ = unsafe { Library::new(file.path()) }.map(core::mem::forget);
        }
    }
}

type Program = *mut c_void;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Read = unsafe extern "C" fn(Program, *mut u8) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
type Reason = unsafe extern "C" fn(c_int) -> *const c_char;

/// Compiles a source with these options.
fn compiled(nvrtc: &Library, source: &str, options: &[String]) -> Result<Vec<u8>> {
    let failed = |why: &dyn ToString| Error::Kernels(why.to_string());
    let text = |text: &str| CString::new(text).map_err(|e| failed(&e));
    let source = text(source)?;
    let options = options.iter().map(|option| text(option));
    let options: Vec<CString> = options.collect::<Result<_>>()?;
    let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    // SAFETY: functions are declared as in `nvrtc.h`; texts end with 0 and live as long as the program; buffers have
    // the sizes that NVRTC gives.
    unsafe {
        let create = symbol::<Create>(nvrtc, c"nvrtcCreateProgram")?;
        let compile = symbol::<Compile>(nvrtc, c"nvrtcCompileProgram")?;
        let destroy = symbol::<Destroy>(nvrtc, c"nvrtcDestroyProgram")?;
        let read = |program, size: &CStr, get: &CStr| {
            let (size, get) = (symbol::<Size>(nvrtc, size)?, symbol::<Read>(nvrtc, get)?);
            let mut bytes = 0;
            checked(nvrtc, size(program, &mut bytes))?;
            let mut read = vec![0; bytes];
            checked(nvrtc, get(program, read.as_mut_ptr()))?;
            Ok(read)
        };
        let mut program = core::ptr::null_mut();
        let (name, none) = (c"kernels.cu".as_ptr(), core::ptr::null());
        let made = create(&mut program, source.as_ptr(), name, 0, none, none);
        checked(nvrtc, made)?;
        let done = checked(
            nvrtc,
            compile(program, options.len() as c_int, options.as_ptr()),
        );
        let image = match done {
            Ok(()) => read(program, c"nvrtcGetCUBINSize", c"nvrtcGetCUBIN"),
            Err(why) => {
                let log = read(program, c"nvrtcGetProgramLogSize", c"nvrtcGetProgramLog");
                let log = String::from_utf8_lossy(&log.unwrap_or_default()).into_owned();
                let first = log.lines().find(|line| line.contains("error"));
                Err(first.map_or(why, |line| Error::Kernels(line.trim().into())))
            }
        };
        destroy(&mut program);
        image
    }
}

/// A function of the library. Safety: it has this type, and the library stays open while it is called.
unsafe fn symbol<F: Copy>(nvrtc: &Library, name: &CStr) -> Result<F> {
    // SAFETY: as the caller vouches.
    let found = unsafe { nvrtc.get::<F>(name) };
    found.map(|f| *f).map_err(|e| Error::Kernels(e.to_string()))
}

/// Converts a status of NVRTC.
fn checked(nvrtc: &Library, code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: declared as in `nvrtc.h`; the text is a constant of the library.
    let why = unsafe { CStr::from_ptr(symbol::<Reason>(nvrtc, c"nvrtcGetErrorString")?(code)) };
    Err(Error::Kernels(why.to_string_lossy().into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn kernels_are_made_once_and_again_where_the_cache_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("a/b");
        let made = Cell::new(0);
        let get = |folder: Option<&Path>| {
            let image = kept(folder, "k", || {
                made.set(made.get() + 1);
                Ok(vec![made.get(); 100])
            });
            image.unwrap()[0]
        };
        assert_eq!([get(Some(&own)), get(Some(&own))], [1, 1]);
        let path = own.join("k");
        let whole = fs::read(&path).unwrap();
        for damaged in [&whole[..50], &[0; 132], &[]] {
            fs::write(&path, damaged).unwrap();
            let found = get(Some(&own));
            assert_eq!((found, get(Some(&own))), (made.get(), made.get()));
        }
        // no folder, or one that cannot be written
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let before = made.get();
        assert_eq!([get(None), get(Some(&file))], [before + 1, before + 2]);
        // errors are not kept
        let fails = || kept(Some(&own), "other", || Err(Error::Compiler));
        assert_eq!(
            [fails(), fails()],
            [Err(Error::Compiler), Err(Error::Compiler)]
        );
    }

    #[test]
    fn the_library_that_is_named_is_the_only_one() {
        let none = opened(|name| (name == VARIABLE).then(|| "/none/libnvrtc.so".into()));
        assert!(none.is_none());
    }

    #[test]
    fn nvrtc_compiles_the_kernels() {
        let Some(nvrtc) = opened(|name| env::var_os(name)) else {
            println!("skipped: NVRTC is not installed");
            return;
        };
        let compile = |arithmetic, kind, architecture: &str| {
            let image = compiled(&nvrtc, &source(arithmetic), &options(architecture, kind));
            image.map(|image| image[..4].to_vec())
        };
        let elf = Ok(b"\x7fELF".to_vec());
        let extended = Kind {
            halves: 2,
            prime_bits: 48,
            ..Kind::TOY
        };
        for kind in [Kind::TOY, extended] {
            assert_eq!(compile(Arithmetic::Doubles, kind, "sm_90"), elf);
            assert_eq!(compile(Arithmetic::Integers, kind, "sm_89"), elf);
        }
        let refused = compile(Arithmetic::Doubles, Kind::TOY, "sm_1");
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("--gpu-architecture"), "{refused}");
    }
}
