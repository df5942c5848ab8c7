//! Results on standard output, warnings and errors on standard error.
//!
//! A reader that closes standard output early is no error (`homaes params | head -1`), and a closed stream is no panic.

use crate::remedy::remedy;
use clap::error::{ContextKind, ContextValue};
use homaes::{Error, ErrorKind, Set, printable};
use homaes_job::JobError;
use serde_json::Value;
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
    /// The work failed for lack of disk or memory; the same command can succeed later, and continues the work.
    Temporary(String),
    /// The command line is wrong.
    Usage(String),
    /// A signal ended the work early; finished parts are on standard output.
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
    /// An error of the system that concerns no file of the user.
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
            "there is no command 'encrypt'; encrypt with any AES tool, such as 'openssl enc -aes-128-ctr -K KEY -iv \
             IV', then call 'homaes wrap-key' and 'homaes transcipher'"
                .into(),
        )));
    }
    // the first paragraph is the message; usage and hints follow
    let lines = text.lines().map(str::trim);
    let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let message = lines.join(" ");
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    exit_code(Err(Failure::Usage(format!("{message}; see --help"))))
}

/// Writes the result of a command to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    write(text).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::system("standard output", error),
    })
}

/// Reports success on standard output. The files are complete, so a closed stream is no failure.
pub(crate) fn print_done(text: &str) {
    if let Err(error) = write(&format!("{}\n", lines(text))) {
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

/// Reports progress or success on standard error, if standard output has another use.
pub(crate) fn tell(text: &str) {
    // without standard error nobody reads it
    let _ = io::stderr().write_all(lines(text).as_bytes());
}

/// Lines for people; control characters in names are escaped.
fn lines(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(printable).collect();
    lines.join("\n")
}

/// Writes a JSON document or a text to standard output.
pub(crate) fn print_either(
    json: bool,
    document: impl FnOnce() -> Value,
    text: impl FnOnce() -> String,
) -> Result<(), Failure> {
    match json {
        true => print_json(&document()),
        false => print(&text()),
    }
}

/// Writes a JSON document and a line end to standard output.
pub(crate) fn print_json(value: &Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}

pub(crate) fn error(message: &str) {
    line("error", message);
}

pub(crate) fn warn(message: &str) {
    line("warning", message);
}

/// Warns if a set protects nothing.
pub(crate) fn warn_insecure(set: &Set) {
    if !set.is_secure() {
        warn(&format!("{}: for tests only", insecure(set)));
    }
}

/// The warning about a set whose purpose is not `secure`.
pub(crate) fn insecure(set: &Set) -> String {
    format!("set {} offers no security ({})", set.name(), set.purpose())
}

/// One line; control characters in names are escaped.
fn line(kind: &str, message: &str) {
    let text = format!("{kind}: {}\n", printable(message));
    // without standard error nobody reads it
    let _ = io::stderr().write_all(text.as_bytes());
}
