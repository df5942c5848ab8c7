//! What a user reads: results on standard output, warnings and errors on standard error.
//!
//! A reader that closes standard output early is no error (`homaes params | head -1`), and nothing here panics when a
//! stream is gone.

use crate::remedy::remedy;
use clap::error::{ContextKind, ContextValue};
use homaes::{Error, ErrorKind, Set, printable};
use homaes_job::JobError;
use std::io::{self, Write};

/// Exit code of a program stopped by Ctrl-C, by convention.
pub(crate) const INTERRUPTED: u8 = 130;

/// Exit code of work that may succeed later, by the convention of sysexits.
pub(crate) const TEMPORARY: u8 = 75;

/// Why a command ends without success.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The work failed.
    Work(String),
    /// The work failed for want of room; the same command can succeed later, and goes on with what was done.
    Temporary(String),
    /// The command line is wrong.
    Usage(String),
    /// A signal ended the work early, and what there was of it is on standard output.
    Interrupted(String),
    /// Nobody reads standard output any more.
    Closed,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = format!("{error}; {}", remedy(error.kind()));
        match error.kind() {
            ErrorKind::UnknownDevice | ErrorKind::NotOnGpu => Self::Usage(message),
            _ => Self::Work(message),
        }
    }
}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        let message = format!("{error}; {}", remedy(error.kind()));
        match error.is_temporary() {
            true => Self::Temporary(message),
            false => Self::Work(message),
        }
    }
}

impl Failure {
    /// The system refused something that concerns no file of the user.
    pub(crate) fn system(what: &str, error: impl std::fmt::Display) -> Self {
        Self::Work(format!("{what}: {error}; check the system and try again"))
    }
}

/// Reports a failure; gives the exit code of the process.
pub(crate) fn exit_code(result: Result<(), Failure>) -> u8 {
    let (message, code) = match result {
        Ok(()) | Err(Failure::Closed) => return 0,
        Err(Failure::Work(message)) => (message, 1),
        Err(Failure::Temporary(message)) => (message, TEMPORARY),
        Err(Failure::Usage(message)) => (message, 2),
        Err(Failure::Interrupted(message)) => (message, INTERRUPTED),
    };
    error(&message);
    code
}

/// Prints help and versions, or one line about a wrong command line.
pub(crate) fn usage(error: &clap::Error) -> u8 {
    let text = error.render().to_string();
    if !error.use_stderr() {
        return exit_code(print(&text));
    }
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = io::stderr().write_all(text.as_bytes());
        return exit_code(Err(Failure::Usage(
            "no command given; choose one of the above".into(),
        )));
    }
    if error.get(ContextKind::InvalidSubcommand) == Some(&ContextValue::String("encrypt".into())) {
        return exit_code(Err(Failure::Usage(
            "there is no command 'encrypt'; encrypt with any AES tool, such as 'openssl enc -aes-128-ctr -K KEY -iv IV', then call 'homaes wrap-key' and 'homaes transcipher'".into(),
        )));
    }
    // The first paragraph is the message; usage and hints follow.
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let message = lines.join(" ");
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    exit_code(Err(Failure::Usage(format!("{message}; see --help"))))
}

/// Writes to standard output what the command was called for.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    write(text).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::system("standard output", error),
    })
}

/// Says on standard output what was done. The files are complete, so it is no failure if that cannot be said.
pub(crate) fn print_done(text: &str) {
    if let Err(error) = write(&lines(text)) {
        warn(&format!(
            "standard output: {error}; the output file is complete"
        ));
    }
}

/// Writes to standard output.
pub(crate) fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// Says on standard error what was done, where standard output is for other things.
pub(crate) fn tell(text: &str) {
    // Without standard error there is nobody to tell.
    let _ = io::stderr().write_all(lines(text).as_bytes());
}

/// Lines for people, whatever a name in them contains.
fn lines(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(printable).collect();
    lines.join("\n")
}

/// Writes a JSON document and a line end to standard output.
pub(crate) fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}

pub(crate) fn error(message: &str) {
    line("error", message);
}

pub(crate) fn warn(message: &str) {
    line("warning", message);
}

/// Says that a set protects nothing, if it does not.
pub(crate) fn warn_insecure(set: &Set) {
    if !set.is_secure() {
        warn(&format!("{}: for tests only", insecure(set)));
    }
}

/// What to say about a set whose purpose is not `secure`.
pub(crate) fn insecure(set: &Set) -> String {
    format!("set {} offers no security ({})", set.name(), set.purpose())
}

/// One line, whatever a name in it contains.
fn line(kind: &str, message: &str) {
    let text = format!("{kind}: {}\n", printable(message));
    // Without standard error there is nobody to tell.
    let _ = io::stderr().write_all(text.as_bytes());
}
