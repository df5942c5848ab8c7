use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The value of a lock, also after a panic of its holder: signals end the work properly even then.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `stop` for every termination signal, in a separate thread.
///
/// Signals ignored at the start stay ignored, as `nohup` and `&` in a script expect.
#[cfg(unix)]
pub(crate) fn watch(stop: impl Fn() + Send + 'static) -> io::Result<()> {
    use signal_hook::iterator::Signals;
    let mut signals = Signals::new(asking())?;
    let thread = std::thread::Builder::new().name("signals".into());
    thread.spawn(move || signals.forever().for_each(|_| stop()))?;
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn watch(stop: impl Fn() + Send + 'static) -> io::Result<()> {
    ctrlc::set_handler(stop).map_err(|error| match error {
        ctrlc::Error::System(error) => error,
        error => io::Error::other(error),
    })
}

/// Lets signals end the program at once, without clean-up.
pub(crate) fn end_at_once() {
    #[cfg(unix)]
    for signal in asking() {
        let always = std::sync::Arc::new(true.into());
        let status = crate::console::INTERRUPTED.into();
        // if this fails too, only SIGKILL ends the program
        let _ = signal_hook::flag::register_conditional_shutdown(signal, status, always);
    }
}

/// Ends the program without handlers of other libraries: the driver of a GPU has some, and launches may be under way.
pub(crate) fn end(code: u8) -> ! {
    #[cfg(unix)]
    signal_hook::low_level::exit(code.into());
    #[cfg(not(unix))]
    std::process::exit(code.into());
}

#[cfg(unix)]
fn asking() -> Vec<i32> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut all = vec![SIGINT, SIGTERM, SIGHUP];
    all.retain(|&signal| !is_ignored(signal));
    all
}

/// Whether this process was started with `signal` ignored, if the system reports it.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
