//! Lists of AES keys with names.

use super::AesKey;
use crate::error::At;
use crate::{Error, ErrorKind, Result};
use homaes_scheme::MAX_KEY_NAME_BYTES;
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use zeroize::Zeroizing;

/// Longest list that is read: far more keys than a batch has blocks.
const MAX_LIST_BYTES: u64 = 16 << 20;

/// AES keys with different names, for a wrapped key that holds many.
#[derive(Debug)]
pub struct AesKeyList {
    keys: Vec<(String, AesKey)>,
    numbers: HashMap<String, usize>,
}

impl AesKeyList {
    /// Takes keys with their names. A name has 1 to 255 bytes without white space and control characters, and is public.
    ///
    /// # Errors
    /// `ErrorKind::Argument` if the list is empty, two keys have the same name, or a name is invalid. A name of 32, 48 or
    /// 64 hex digits is invalid, because it could be a key.
    pub fn new(keys: impl IntoIterator<Item = (String, AesKey)>) -> Result<Self> {
        let keys: Vec<(String, AesKey)> = keys.into_iter().collect();
        let mut numbers = HashMap::new();
        for (number, (name, _)) in keys.iter().enumerate() {
            // not quoted: it may be a key in the place of a name
            let found = match name.len() {
                0 => "none",
                MAX_KEY_NAME_BYTES.. if name.len() > MAX_KEY_NAME_BYTES => "more than 255 bytes",
                32 | 48 | 64 if name.bytes().all(|c| c.is_ascii_hexdigit()) => {
                    "hex digits like a key's"
                }
                _ if name.contains(|c: char| c.is_whitespace() || c.is_control()) => {
                    "white space or control characters"
                }
                _ if numbers.insert(name.clone(), number).is_some() => "that of an earlier key",
                _ => continue,
            };
            let expected = "another text of 1 to 255 bytes for each key, without white space";
            let message = format!(
                "name of AES key {}: found {found}, expected {expected}",
                number + 1
            );
            return Err(Error::refused(ErrorKind::Argument, message).with(found, expected));
        }
        match keys.is_empty() {
            true => Err(Error::refused(
                ErrorKind::Argument,
                "holds no AES keys, expected at least one",
            )),
            false => Ok(Self { keys, numbers }),
        }
    }

    /// Reads a list: each line holds a name, white space and a key in 32, 48 or 64 hex digits; empty lines and lines
    /// that start with `#` are skipped. `name` names the list in errors.
    ///
    /// # Errors
    /// `ErrorKind::Argument`, with the number of the line or key; [`Error::Io`].
    pub fn read(input: impl Read, name: impl AsRef<Path>) -> Result<Self> {
        let name = name.as_ref();
        let text = read_secret(input).at(name)?;
        if text.len() as u64 > MAX_LIST_BYTES {
            let message = "longer than 16 MiB, expected a line for each AES key";
            return Err(Error::refused(ErrorKind::Argument, message).at(name));
        }
        let mut keys = Vec::new();
        for (line, number) in text.split(|&byte| byte == b'\n').zip(1_u64..) {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let wrong = |what: &str| {
                let message = format!(
                    "line {number}: {what}, expected a name, a space and an AES key in hex digits"
                );
                Error::refused(ErrorKind::Argument, message).at(name)
            };
            let space = line.iter().position(u8::is_ascii_whitespace);
            let (own, hex) = line.split_at(space.ok_or_else(|| wrong("found one word"))?);
            let own = std::str::from_utf8(own).map_err(|_| wrong("the name is not UTF-8"))?;
            let hex = hex.trim_ascii();
            let key = AesKey::of_hex(hex);
            let key = key.ok_or_else(|| wrong(&format!("found {} characters", hex.len())))?;
            keys.push((own.to_owned(), key));
        }
        Self::new(keys).map_err(|error| error.at(name))
    }

    /// The key called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&AesKey> {
        self.numbers.get(name).map(|&number| &self.keys[number].1)
    }

    pub(crate) fn keys(&self) -> &[(String, AesKey)] {
        &self.keys
    }
}

/// Reads up to one byte more than the longest list, leaving no copies.
fn read_secret(mut input: impl Read) -> std::io::Result<Zeroizing<Vec<u8>>> {
    let mut text = Zeroizing::new(Vec::with_capacity(1 << 16));
    let mut room = MAX_LIST_BYTES + 1;
    while room > 0 {
        if text.len() == text.capacity() {
            // growing in place would free the old bytes as they are
            let mut longer = Zeroizing::new(Vec::with_capacity(2 * text.capacity()));
            longer.extend_from_slice(&text);
            text = longer;
        }
        let free = (text.capacity() - text.len()) as u64;
        let read = (&mut input).take(free.min(room)).read_to_end(&mut text)?;
        if read == 0 {
            break;
        }
        room -= read as u64;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "000102030405060708090a0b0c0d0e0f";

    #[test]
    fn a_line_holds_a_name_and_a_key() {
        let text = format!(
            "# devices\n\nmeter-1 {A}\r\n  é\t{A}{A}  \nlast {}",
            A.to_uppercase()
        );
        let list = AesKeyList::read(text.as_bytes(), "l").unwrap();
        let names: Vec<&str> = list.keys().iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["meter-1", "é", "last"]);
        assert_eq!(list.get("é").unwrap().bytes().len(), 32);
        assert_eq!(
            list.get("last").unwrap().bytes(),
            list.get("meter-1").unwrap().bytes()
        );
        assert!(list.get("none").is_none());
        // longer than the first piece that is read
        let lines = (0..3000).map(|number| format!("device-{number} {A}\n"));
        let list = AesKeyList::read(lines.collect::<String>().as_bytes(), "l").unwrap();
        assert_eq!(list.keys().len(), 3000);
    }

    #[test]
    fn wrong_lines_are_named_without_their_keys() {
        for (text, kind, words) in [
            ("", ErrorKind::Argument, "l: holds no AES keys"),
            (
                &format!("{A} {A}"),
                ErrorKind::Argument,
                "l: name of AES key 1: found hex digits",
            ),
            (
                &format!("{A}\u{a0}a {A}"),
                ErrorKind::Argument,
                "l: name of AES key 1: found white space",
            ),
            ("a\n", ErrorKind::Argument, "l: line 1: found one word"),
            (A, ErrorKind::Argument, "l: line 1: found one word"),
            (
                &format!("a {A}\nb {A}0"),
                ErrorKind::Argument,
                "l: line 2: found 33 characters",
            ),
            (
                &format!("a b {A}"),
                ErrorKind::Argument,
                "l: line 1: found 34 characters",
            ),
            (
                &format!("a {A}\na {A}"),
                ErrorKind::Argument,
                "l: name of AES key 2: found that of an earlier key",
            ),
        ] {
            let error = AesKeyList::read(text.as_bytes(), "l").unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().starts_with(words), "{error}");
            assert!(!error.to_string().contains("0001"), "{error}");
        }
        let long = "x".repeat(256);
        let key = || AesKey::from_bytes(&[1; 16]).unwrap();
        for name in ["", "a b", "a\u{1}", &long] {
            let error = AesKeyList::new([(name.to_owned(), key())]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument);
        }
    }
}
