//! Passphrase prompts on `/dev/tty`, wherever the standard streams lead.

use crate::console::{Failure, fail};
use homaes::Passphrase;

/// Errors name `option` as the alternative without a terminal.
pub(crate) fn ask(prompt: &str, option: &str) -> Result<Passphrase, Failure> {
    let line = tty::read_line(prompt).map_err(|error| {
        Failure::Work(format!(
            "{prompt}: no terminal to ask on ({error}); use {option}"
        ))
    })?;
    Ok(Passphrase::new(&line)?)
}

pub(crate) fn ask_new(prompt: &str, option: &str) -> Result<Passphrase, Failure> {
    let first = ask(prompt, option)?;
    let second = ask(&format!("{prompt}, again"), option)?;
    if first == second {
        Ok(first)
    } else {
        fail("the two passphrases differ; enter the same one twice")
    }
}

pub(crate) use tty::{never_hide, restore};

#[cfg(unix)]
mod tty {
    use crate::signals::lock;
    use homaes::MAX_PASSPHRASE_BYTES;
    use rustix::termios::{LocalModes, OptionalActions, Termios, isatty, tcgetattr, tcsetattr};
    use std::fs::File;
    use std::io::{self, Read, Write};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};
    use zeroize::Zeroizing;

    /// The terminal and its settings while echo is off.
    static QUIET: Mutex<Option<(File, Termios)>> = Mutex::new(None);

    /// Whether signals are unhandled, so that nothing would restore the terminal.
    static NEVER: AtomicBool = AtomicBool::new(false);

    /// Refuses later prompts, because nothing would restore the terminal after a signal.
    pub(crate) fn never_hide() {
        NEVER.store(true, Ordering::Relaxed);
    }

    /// Restores the terminal if echo is off.
    pub(crate) fn restore() {
        if let Some((tty, settings)) = lock(&QUIET).take() {
            // no other remedy exists if this fails
            let _ = tcsetattr(&tty, OptionalActions::Flush, &settings);
        }
    }

    struct Restore;

    impl Drop for Restore {
        fn drop(&mut self) {
            restore();
        }
    }

    pub(super) fn read_line(prompt: &str) -> io::Result<Zeroizing<Vec<u8>>> {
        if NEVER.load(Ordering::Relaxed) {
            return Err(io::Error::other("signals are not handled"));
        }
        let mut tty = File::options().read(true).write(true).open("/dev/tty")?;
        if !isatty(&tty) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let _restore = Restore;
        {
            // locked, so that a signal sees either an unchanged terminal or one it can restore
            let mut guard = lock(&QUIET);
            let settings = tcgetattr(&tty)?;
            let mut hidden = settings.clone();
            hidden.local_modes.remove(LocalModes::ECHO);
            hidden
                .local_modes
                .insert(LocalModes::ICANON | LocalModes::ECHONL);
            tcsetattr(&tty, OptionalActions::Flush, &hidden)?;
            *guard = Some((tty.try_clone()?, settings));
        }
        tty.write_all(format!("{}: ", prompt.escape_debug()).as_bytes())?;
        // final capacity, so that growing leaves no copies; the extra byte detects overlong input
        let mut line = Zeroizing::new(Vec::with_capacity(MAX_PASSPHRASE_BYTES + 1));
        let mut byte = Zeroizing::new([0]);
        while tty.read(&mut *byte)? == 1 && *byte != *b"\n" {
            if line.len() < line.capacity() {
                line.push(byte[0]);
            }
        }
        Ok(line)
    }
}

#[cfg(not(unix))]
mod tty {
    use std::io;
    use zeroize::Zeroizing;

    pub(crate) fn never_hide() {}

    pub(crate) fn restore() {}

    pub(super) fn read_line(_: &str) -> io::Result<Zeroizing<Vec<u8>>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
