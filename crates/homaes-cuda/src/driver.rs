//! The CUDA driver: memory, copies and launches in the order of one stream. Records are copied on a second stream.

use crate::args::{self, Arg};
use crate::arithmetic::Arithmetic;
use crate::compile;
use crate::kernels::{Kind, MOST_PRIMES, ROOTS, Size, kernels};
use crate::trace::Trace;
use crate::{Card, Error, Result};
use cudarc::driver::{CudaContext, CudaStream, result, sys};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// One GPU with the kernels and their constants for one set.
pub(crate) struct Driver {
    pub(crate) arithmetic: Arithmetic,
    pub(crate) size: Size,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    /// for copies from the GPU that overlap its work
    copies: Arc<CudaStream>,
    /// pinned memory not in use by a call; the GPU may still copy from it
    pinned: Mutex<Vec<Pinned>>,
    functions: HashMap<&'static str, Function>,
    /// whether the GPU prepares a kernel before the last one ends
    starts_early: bool,
    pub(crate) trace: Trace,
}

struct Function {
    handle: sys::CUfunction,
    /// dynamic shared memory allowed so far
    shared: AtomicUsize,
}

// SAFETY: handles of functions belong to a context, not to a thread.
unsafe impl Send for Function {}
// SAFETY: as above; the driver locks what it changes.
unsafe impl Sync for Function {}

impl Function {
    fn new(handle: sys::CUfunction) -> Self {
        // the driver's default
        let shared = AtomicUsize::new(48 << 10);
        Self { handle, shared }
    }

    fn allow(&self, bytes: usize) -> Result<(), result::DriverError> {
        if bytes <= self.shared.load(Ordering::Relaxed) {
            return Ok(());
        }
        let attribute =
            sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the module of the function is never unloaded.
        unsafe { result::function::set_function_attribute(self.handle, attribute, bytes as i32)? };
        self.shared.fetch_max(bytes, Ordering::Relaxed);
        Ok(())
    }
}

/// Attributes an error of the driver to the call `at`.
fn checked<T>(at: &'static str, result: Result<T, result::DriverError>) -> Result<T> {
    result.map_err(|e| Error::Fault { at, why: why(e) })
}

fn why(error: result::DriverError) -> String {
    let text = error.error_string();
    text.map_or_else(
        |_| format!("{:?}", error.0),
        |text| text.to_string_lossy().into_owned(),
    )
}

/// The driver's version, 13020 for 13.2, or an error if there is no suitable driver.
fn version() -> Result<i32, Error> {
    // SAFETY: opens the library by name, which runs its initialisers alone.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::Driver);
    }
    let mut version = 0;
    // SAFETY: writes the number; may be called before anything else.
    let asked = unsafe { sys::cuDriverGetVersion(&mut version) }.result();
    match asked {
        Ok(()) if version >= 13000 => Ok(version),
        Ok(()) => Err(Error::OldDriver {
            found: format!("{}.{}", version / 1000, version % 1000 / 10),
        }),
        Err(e) => Err(Error::NoCard(why(e))),
    }
}

/// The GPUs that the driver shows to this process.
pub(crate) fn cards() -> Result<Vec<Card>, Error> {
    version()?;
    let card = |number: usize| {
        let ratio =
            sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO;
        let card = || -> Result<Card, result::DriverError> {
            let device = result::device::get(number as i32)?;
            // SAFETY: the device is from the driver.
            let (bytes, ratio) = unsafe {
                let ratio = result::device::get_attribute(device, ratio)?;
                (result::device::total_mem(device)?, ratio)
            };
            Ok(Card {
                number,
                name: result::device::get_name(device)?,
                bytes: bytes as u64,
                single_to_double: ratio.unsigned_abs(),
            })
        };
        card().map_err(|e| Error::Device {
            number,
            why: why(e),
        })
    };
    let count = result::init().and_then(|()| result::device::get_count());
    let count = count.map_err(|e| Error::NoCard(why(e)))?;
    (0..count.unsigned_abs() as usize).map(card).collect()
}

/// The faster arithmetic on GPU `number`.
pub(crate) fn arithmetic(number: usize) -> Result<Arithmetic, Error> {
    let card = cards()?.into_iter().find(|card| card.number == number);
    let card = card.ok_or_else(|| Error::Device {
        number,
        why: "it has no such number".into(),
    })?;
    Ok(card.arithmetic())
}

impl Driver {
    /// Starts GPU `number` with kernels of a kind in an arithmetic, and their constants `roots`.
    pub(crate) fn new(
        number: usize,
        kind: Kind,
        arithmetic: Arithmetic,
        roots: &[u64],
    ) -> Result<Self, Error> {
        let version = version()?;
        let device = |e: result::DriverError| Error::Device {
            number,
            why: why(e),
        };
        let context = CudaContext::new(number).map_err(device)?;
        let (major, minor) = context.compute_capability().map_err(device)?;
        let image = compile::kernels(&format!("sm_{major}{minor}"), arithmetic, kind, version)?;
        context.bind_to_thread().map_err(device)?;
        let stream = context.new_stream().map_err(device)?;
        let copies = context.new_stream().map_err(device)?;
        // SAFETY: the image says how long it is; the module is never unloaded, so that its functions stay.
        let (functions, constants) = unsafe {
            let module = result::module::load_data(image.as_ptr().cast()).map_err(device)?;
            let function = |name: &'static str| {
                let c_name = CString::new(name).map_err(|e| Error::Kernels(e.to_string()))?;
                let function = result::module::get_function(module, c_name).map_err(device)?;
                Ok((name, Function::new(function)))
            };
            let functions = kernels().map(|(name, _)| function(name));
            let constants = result::module::get_global(module, c"roots".into());
            let (constants, _) = constants.map_err(device)?;
            (functions.collect::<Result<_, Error>>()?, constants)
        };
        keep_memory(&context).map_err(device)?;
        let attribute = |attribute| {
            let value = context.attribute(attribute).map_err(device)?;
            Ok::<_, Error>(value.unsigned_abs() as usize)
        };
        use sys::CUdevice_attribute as of;
        let size = Size {
            multiprocessors: attribute(of::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?.max(1),
            shared: attribute(of::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
            block_shared: attribute(of::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        };
        let out = Self {
            arithmetic,
            size,
            context,
            trace: Trace::new(&stream),
            stream,
            copies,
            pinned: Mutex::default(),
            functions,
            starts_early: major >= 9,
        };
        assert!(
            roots.len() <= ROOTS * MOST_PRIMES,
            "more roots than there is room for"
        );
        // SAFETY: the module has room for so many words there.
        unsafe { out.write(constants, roots) }?;
        Ok(out)
    }

    pub(crate) fn name(&self) -> Result<String> {
        checked("a query of its name", self.context.name())
    }

    fn bind(&self) -> Result<()> {
        checked("a switch to its context", self.context.bind_to_thread())
    }

    /// Memory of arbitrary content.
    pub(crate) fn alloc(&self, words: usize) -> Result<u64> {
        self.bind()?;
        let bytes = words * 8;
        // SAFETY: the stream is this context's.
        let allocated = unsafe { result::malloc_async(self.stream.cu_stream(), bytes) };
        match allocated {
            Err(e) if e.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Err(Error::Memory {
                bytes,
                free: result::mem_get_info().map_or(0, |(free, _)| free),
            }),
            other => checked("a memory allocation", other),
        }
    }

    /// Frees memory once all earlier launches are done. Safety: `at` comes from `alloc`, and no later launch uses it.
    pub(crate) unsafe fn free(&self, at: u64) {
        // a GPU that failed has no memory to give back
        if self.bind().is_ok() {
            // SAFETY: as the caller vouches.
            let _ = unsafe { result::free_async(at, self.stream.cu_stream()) };
        }
    }

    /// Copies words to the GPU. Safety: `to` has room for them.
    pub(crate) unsafe fn write(&self, to: u64, from: &[u64]) -> Result<()> {
        self.bind()?;
        self.trace.timed("upload", 8 * from.len(), || {
            // SAFETY: as the caller vouches; memory that is not pinned is copied before the call returns.
            let written = unsafe { result::memcpy_htod_async(to, from, self.stream.cu_stream()) };
            checked("an upload", written)
        })
    }

    /// Copies words from the GPU after all earlier launches. Safety: `from` holds that many words.
    pub(crate) unsafe fn read(&self, from: u64, to: &mut [u64]) -> Result<()> {
        self.bind()?;
        self.trace.timed("download", 8 * to.len(), || {
            // SAFETY: as the caller vouches; the stream is waited for while `to` is borrowed.
            let read = unsafe {
                let stream = self.stream.cu_stream();
                result::memcpy_dtoh_async(to, from, stream)
                    .and_then(|()| result::stream::synchronize(stream))
            };
            checked("a download", read)
        })
    }

    /// Copies words to the GPU through pinned memory without waiting for kernels. Safety: `to` has room for them.
    pub(crate) unsafe fn send(&self, to: u64, from: &[u64]) -> Result<()> {
        let at = "an upload";
        let mut pinned = self.take_pinned(from.len())?;
        let words = &mut pinned.words()[..from.len()];
        words.copy_from_slice(from);
        let stream = self.stream.cu_stream();
        self.trace.timed("upload", 8 * from.len(), || {
            // SAFETY: as the caller vouches; pinned memory is not used again, nor given back, before its event.
            checked(at, unsafe { result::memcpy_htod_async(to, words, stream) })
        })?;
        pinned.record(at, stream)?;
        self.keep_pinned(pinned);
        Ok(())
    }

    /// Shows words from the GPU to `take` after all earlier launches. Later kernels overlap the copy, which is missing
    /// from the times of the stream. Safety: `from` holds that many words.
    pub(crate) unsafe fn receive(
        &self,
        from: u64,
        words: usize,
        take: impl FnOnce(&[u64]),
    ) -> Result<()> {
        let at = "a download";
        let mut pinned = self.take_pinned(words)?;
        pinned.record(at, self.stream.cu_stream())?;
        let stream = self.copies.cu_stream();
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        let done = pinned.done;
        let copy = &mut pinned.words()[..words];
        // SAFETY: as the caller vouches; the copy is waited for below, and memory that is given back waits too.
        let started = unsafe {
            result::stream::wait_event(stream, done, flags)
                .and_then(|()| result::memcpy_dtoh_async(copy, from, stream))
        };
        checked(at, started)?;
        pinned.record(at, stream)?;
        // SAFETY: the event lives as long as `pinned`.
        checked(at, unsafe { result::event::synchronize(done) })?;
        take(&pinned.words()[..words]);
        self.keep_pinned(pinned);
        Ok(())
    }

    /// The smallest free pinned memory of at least `words` words, or new memory; arbitrary content.
    fn take_pinned(&self, words: usize) -> Result<Pinned> {
        self.bind()?;
        let mut all = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        let free = all.iter().enumerate();
        let free = free.filter(|(_, p)| p.capacity >= words && p.is_done());
        let least = free.min_by_key(|(_, p)| p.capacity).map(|(i, _)| i);
        match least {
            Some(i) => Ok(all.swap_remove(i)),
            None => Pinned::new(&self.context, words.next_power_of_two().max(512)),
        }
    }

    fn keep_pinned(&self, pinned: Pinned) {
        let mut all = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(pinned);
    }

    pub(crate) fn wait(&self) -> Result<()> {
        self.bind()?;
        checked("its computation", self.stream.synchronize())
    }

    /// Launches a kernel. Safety: the arguments match its declaration, and memory covers its accesses.
    pub(crate) unsafe fn launch(
        &self,
        kernel: &'static str,
        grid: [usize; 3],
        block: usize,
        shared_bytes: usize,
        args: &[Arg],
    ) -> Result<()> {
        self.bind()?;
        let function = &self.functions[kernel];
        checked(kernel, function.allow(shared_bytes))?;
        let mut pointers = args::pointers(args);
        let [x, y, z] = grid.map(|g| g as u32);
        // the GPU may prepare a kernel while the last one ends: each waits for it at its beginning
        let mut early = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue { pad: [0; 64] },
        };
        early.value.programmaticStreamSerializationAllowed = 1;
        let threads = grid.iter().product::<usize>() * block;
        self.trace.timed(kernel, threads, || {
            // SAFETY: as the caller vouches; arguments are copied by the call.
            let launched = unsafe {
                let config = sys::CUlaunchConfig {
                    gridDimX: x,
                    gridDimY: y,
                    gridDimZ: z,
                    blockDimX: block as u32,
                    blockDimY: 1,
                    blockDimZ: 1,
                    sharedMemBytes: shared_bytes as u32,
                    hStream: self.stream.cu_stream(),
                    attrs: &mut early,
                    numAttrs: u32::from(self.starts_early),
                };
                let none = core::ptr::null_mut();
                sys::cuLaunchKernelEx(&config, function.handle, pointers.as_mut_ptr(), none)
            };
            checked(kernel, launched.result())
        })
    }
}

/// Host memory that the GPU accesses directly.
struct Pinned {
    context: Arc<CudaContext>,
    at: *mut u64,
    capacity: usize,
    /// recorded after the last copy
    done: sys::CUevent,
}

// SAFETY: memory and events belong to the context, not to a thread; both are reached by `&mut` or waited for.
unsafe impl Send for Pinned {}

impl Pinned {
    /// Requires the context to be bound to this thread.
    fn new(context: &Arc<CudaContext>, capacity: usize) -> Result<Self> {
        let at = "an allocation of pinned memory";
        let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING;
        let done = checked(at, result::event::create(flags))?;
        let mut out = Self {
            context: context.clone(),
            at: core::ptr::null_mut(),
            capacity,
            done,
        };
        // SAFETY: given back once, by `drop`; zeros are words, whatever the memory held.
        unsafe {
            out.at = checked(at, result::malloc_host(8 * capacity, 0))?.cast();
            out.at.write_bytes(0, capacity);
        }
        Ok(out)
    }

    /// All of it. Memory from [`Driver::take_pinned`] has no copy under way.
    fn words(&mut self) -> &mut [u64] {
        // SAFETY: `new` allocated and wrote so many words, at addresses of pages.
        unsafe { core::slice::from_raw_parts_mut(self.at, self.capacity) }
    }

    /// Whether the last copy is done.
    fn is_done(&self) -> bool {
        // SAFETY: the event lives as long as this.
        unsafe { result::event::query(self.done) }.is_ok()
    }

    /// Marks the last copy as done when `stream` has finished its work so far.
    fn record(&self, at: &'static str, stream: sys::CUstream) -> Result<()> {
        // SAFETY: the event lives as long as this; the caller gives a stream of the driver.
        checked(at, unsafe { result::event::record(self.done, stream) })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_err() {
            return;
        }
        // SAFETY: both came from `new`. A failed GPU has neither to free.
        unsafe {
            if !self.at.is_null() {
                // after an error, the event may not cover a copy that is under way
                let _ = result::ctx::synchronize();
                let _ = result::free_host(self.at.cast());
            }
            let _ = result::event::destroy(self.done);
        }
    }
}

/// Freed memory stays with the process for later allocations.
fn keep_memory(context: &CudaContext) -> Result<(), result::DriverError> {
    let mut most = u64::MAX;
    let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: the attribute is a word of 64 bits.
    unsafe {
        let pool = result::device::get_default_mem_pool(context.cu_device())?;
        result::mem_pool::set_attribute(pool, attribute, (&raw mut most).cast())
    }
}
