//! What `decrypt` expects of each part of a message.

use super::lines::each_object;
use crate::args::{Mode, parse_expected_nonce};
use crate::console::Failure;
use homaes::{Expect, unhex};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A right line, for errors.
const EXAMPLE: &str = r#"{"name": "a.txt", "mode": "gcm", "nonce": "00112233445566778899aabb", "aad": "", "bytes": 1024}"#;

/// What a line says of a part.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    name: String,
    mode: Option<String>,
    nonce: Option<String>,
    aad: Option<String>,
    bytes: Option<u64>,
}

/// What a part must be.
pub(super) struct Expected {
    mode: Option<&'static str>,
    nonce: Option<Vec<u8>>,
    aad: Option<Vec<u8>>,
    bytes: Option<u64>,
}

impl Expected {
    pub(super) fn borrow(&self) -> Expect<'_> {
        Expect {
            mode: self.mode,
            nonce: self.nonce.as_deref(),
            aad: self.aad.as_deref(),
            bytes: self.bytes,
        }
    }
}

/// Reads what is expected of each part, by its name.
pub(super) fn read(list: &Path) -> Result<BTreeMap<String, Expected>, Failure> {
    let mut parts = BTreeMap::new();
    each_object(list, EXAMPLE, |line: Line, wrong| {
        let mode = line.mode.as_deref().map(|name| {
            let found = <Mode as clap::ValueEnum>::from_str(name, false);
            found.map_err(|_| wrong(&format!("there is no mode {name:?}")))
        });
        let nonce = line.nonce.as_deref().map(|text| {
            parse_expected_nonce(text).map_err(|reason| wrong(&format!("nonce: {reason}")))
        });
        let aad = line
            .aad
            .as_deref()
            .map(|text| unhex(text).ok_or_else(|| wrong("aad: expected pairs of hex digits")));
        let expected = Expected {
            mode: mode.transpose()?.map(|mode| mode.name()),
            nonce: nonce.transpose()?,
            aad: aad.transpose()?,
            bytes: line.bytes,
        };
        match parts.insert(line.name.clone(), expected) {
            Some(_) => Err(wrong(&format!("part {:?} stands here twice", line.name))),
            None => Ok(()),
        }
    })?;
    Ok(parts)
}
