//! Files with one JSON object per line.

use super::{at, open_file};
use crate::args::MODES;
use crate::console::Failure;
use homaes::unhex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Longest line: 1 MiB of associated data is 2 MiB of hex digits.
const MAX_LINE_BYTES: u64 = 4 << 20;

/// Twice the longest table of parts; each line counts for [`LINE_ROOM_BYTES`] more.
const MAX_LIST_BYTES: u64 = 512 << 20;

const LINE_ROOM_BYTES: u64 = 128;

const MAX_REASON_CHARS: usize = 120;

/// Calls `each` with the object of every line and a constructor of errors about that line, which show `example`.
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
        read.map_err(at(list))?;
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
        // serde would also read an array as a struct
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

/// A field that may be missing but not null, which a program writes for a lost value.
pub(crate) fn not_null<'d, D: Deserializer<'d>, T: Deserialize<'d>>(
    field: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(field).map(Some)
}

pub(crate) fn mode_of(
    name: Option<&str>,
    wrong: &dyn Fn(&str) -> Failure,
) -> Result<Option<&'static str>, Failure> {
    let modes = MODES.map(|(mode, _)| mode);
    let mode = name.map(|name| {
        let found = modes.into_iter().find(|mode| *mode == name);
        let expected = modes.join(", ");
        found.ok_or_else(|| wrong(&format!("unknown mode {name:?}, expected {expected}")))
    });
    mode.transpose()
}

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
