//! Results on standard output, warnings and errors on standard error.
//!
//! A reader that closes standard output early (`homaes params | head -1`) causes neither an error nor a panic.

use crate::remedy::remedy;
use clap::error::{ContextKind, ContextValue};
use homaes::{Error, ErrorKind, Set, printable};
use homaes_job::JobError;
use serde_json::Value;
use std::io::{self, Write};

/// By convention, the exit code after Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;

/// By the convention of sysexits, the exit code of a failure that may pass.
pub(crate) const TEMPORARY: u8 = 75;

#[derive(Debug)]
pub(crate) enum Failure {
    Work(String),
    /// Disk or memory ran out; the same command can continue the work later.
    Temporary(String),
    Usage(String),
    /// A signal ended the work early; finished parts are on standard output.
    Interrupted(String),
    /// The reader closed standard output.
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
    pub(crate) fn system(what: &str, error: impl std::fmt::Display) -> Self {
        Self::Work(format!("{what}: {error}; check the system and try again"))
    }
}

/// Fails because of the command line.
pub(crate) fn refuse<T>(message: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Usage(message.into()))
}

pub(crate) fn fail<T>(message: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Work(message.into()))
}

/// Reports a failure; returns the exit code of the process.
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
        return exit_code(refuse("no command given; choose one of the above"));
    }
    if error.get(ContextKind::InvalidSubcommand) == Some(&ContextValue::String("encrypt".into())) {
        return exit_code(refuse(
            "there is no command 'encrypt'; encrypt with any AES tool, such as 'openssl enc -aes-128-ctr -K KEY -iv \
             IV', then call 'homaes wrap-key' and 'homaes transcipher'",
        ));
    }
    // the first paragraph is the message; usage and hints follow
    let lines = text.lines().map(str::trim);
    let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let message = lines.join(" ");
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    exit_code(refuse(format!("{message}; see --help")))
}

pub(crate) fn print(text: &str) -> Result<(), Failure> {
    write(text).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::system("standard output", error),
    })
}

/// Reports success. The files are complete, so a closed stream is no failure.
pub(crate) fn print_done(text: &str) {
    if let Err(error) = write(&format!("{}\n", lines(text))) {
        warn(&format!(
            "standard output: {error}; the output file is complete"
        ));
    }
}

pub(crate) fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// Reports on standard error when standard output has another use.
pub(crate) fn tell(text: &str) {
    // without standard error there is no reader
    let _ = io::stderr().write_all(lines(text).as_bytes());
}

/// Escapes control characters in names.
fn lines(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(printable).collect();
    lines.join("\n")
}

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

pub(crate) fn print_json(value: &Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}

pub(crate) fn error(message: &str) {
    line("error", message);
}

pub(crate) fn warn(message: &str) {
    line("warning", message);
}

pub(crate) fn warn_insecure(set: &Set) {
    if !set.is_secure() {
        warn(&format!("{}: for tests only", insecure(set)));
    }
}

pub(crate) fn insecure(set: &Set) -> String {
    format!("set {} offers no security ({})", set.name(), set.purpose())
}

/// Escapes control characters in names.
fn line(kind: &str, message: &str) {
    let text = format!("{kind}: {}\n", printable(message));
    // without standard error there is no reader
    let _ = io::stderr().write_all(text.as_bytes());
}
