//! Lists: files with a JSON object a line.

use crate::args::Mode;
use crate::cmd::open_file;
use crate::console::Failure;
use homaes::{Error, unhex};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Longest line: associated data of 1 MiB have twice as many hex digits.
const MAX_LINE_BYTES: u64 = 4 << 20;

/// Longest list, twice the longest table of parts, where each line counts for [`LINE_ROOM_BYTES`] more.
const MAX_LIST_BYTES: u64 = 512 << 20;

const LINE_ROOM_BYTES: u64 = 128;

/// Most of the reason that an error shows.
const MAX_REASON_CHARS: usize = 120;

/// Calls `each` with the object of every line and a function that makes an error about this line. `example` is a right
/// line, which errors show.
pub(crate) fn each_object<T: DeserializeOwned>(
    list: &Path,
    example: &str,
    mut each: impl FnMut(T, &dyn Fn(&str) -> Failure) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (mut file, mut room) = (BufReader::new(open_file(list)?), MAX_LIST_BYTES);
    for number in 1_u64.. {
        let wrong = |what: &str| {
            let list = list.display();
            Failure::Work(format!("{list}, line {number}: {what}"))
        };
        let malformed = |what: &str| {
            wrong(&format!(
                "{what}; write one JSON object per line, such as {example}"
            ))
        };
        let mut line = Vec::new();
        let read = (&mut file)
            .take(MAX_LINE_BYTES + 1)
            .read_until(b'\n', &mut line);
        read.map_err(|source| Error::Io {
            path: list.to_owned(),
            source,
        })?;
        if line.is_empty() {
            break;
        }
        if line.len() as u64 > MAX_LINE_BYTES {
            return Err(malformed("longer than 4 MiB"));
        }
        let left = room.checked_sub(LINE_ROOM_BYTES + line.len() as u64);
        room = left.ok_or_else(|| wrong("the list is too long; split it into several messages"))?;
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        // an array of as many texts would be read as well
        if !line.starts_with(b"{") {
            return Err(malformed("not a JSON object"));
        }
        let object = serde_json::from_slice(line).map_err(|error| {
            let reason = error.to_string().replace(" at line 1 column", " at column");
            malformed(&reason.chars().take(MAX_REASON_CHARS).collect::<String>())
        })?;
        each(object, &wrong)?;
    }
    Ok(())
}

/// A field that may be missing, but is no null: a program that lost a value writes one.
pub(crate) fn not_null<'d, D: Deserializer<'d>, T: Deserialize<'d>>(
    field: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(field).map(Some)
}

/// The mode that a field names.
pub(crate) fn mode_of(
    name: Option<&str>,
    wrong: &dyn Fn(&str) -> Failure,
) -> Result<Option<Mode>, Failure> {
    let mode = name.map(|name| {
        let found = <Mode as clap::ValueEnum>::from_str(name, false);
        found.map_err(|_| {
            let modes = <Mode as clap::ValueEnum>::value_variants().iter();
            let modes: Vec<_> = modes.map(|mode| mode.name()).collect();
            wrong(&format!(
                "unknown mode {name:?}, expected {}",
                modes.join(", ")
            ))
        })
    });
    mode.transpose()
}

/// The bytes that a field has in hex.
pub(crate) fn bytes_of(
    hex: Option<&str>,
    field: &str,
    wrong: &dyn Fn(&str) -> Failure,
) -> Result<Option<Vec<u8>>, Failure> {
    let bytes = hex.map(|hex| {
        unhex(hex).ok_or_else(|| wrong(&format!("{field}: expected pairs of hex digits")))
    });
    bytes.transpose()
}
