//! The properties of each part of a message that `decrypt` expects.

use super::lines::{bytes_of, each_object, mode_of, not_null};
use crate::args::parse_expected_nonce;
use crate::console::Failure;
use homaes::Expect;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Shown in errors.
const EXAMPLE: &str = concat!(
    r#"{"name": "a.txt", "mode": "gcm", "nonce": "00112233445566778899aabb", "#,
    r#""aad": "", "bytes": 1024}"#,
);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    name: String,
    #[serde(default, deserialize_with = "not_null")]
    mode: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    nonce: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    aad: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    bytes: Option<u64>,
    #[serde(default, deserialize_with = "not_null")]
    key_name: Option<String>,
}

pub(super) struct Expected {
    mode: Option<&'static str>,
    nonce: Option<Vec<u8>>,
    aad: Option<Vec<u8>>,
    bytes: Option<u64>,
    key_name: Option<String>,
}

impl Expected {
    pub(super) fn borrow(&self) -> Expect<'_> {
        Expect {
            mode: self.mode,
            nonce: self.nonce.as_deref(),
            aad: self.aad.as_deref(),
            bytes: self.bytes,
            key_name: self.key_name.as_deref(),
        }
    }
}

pub(super) fn read(list: &Path) -> Result<BTreeMap<String, Expected>, Failure> {
    let mut parts = BTreeMap::new();
    each_object(list, EXAMPLE, |line: Line, wrong| {
        let nonce = line.nonce.as_deref().map(|text| {
            parse_expected_nonce(text).map_err(|reason| wrong(&format!("nonce: {reason}")))
        });
        let expected = Expected {
            mode: mode_of(line.mode.as_deref(), wrong)?,
            nonce: nonce.transpose()?,
            aad: bytes_of(line.aad.as_deref(), "aad", wrong)?,
            bytes: line.bytes,
            key_name: line.key_name,
        };
        match parts.insert(line.name.clone(), expected) {
            Some(_) => Err(wrong(&format!("part {:?} is listed twice", line.name))),
            None => Ok(()),
        }
    })?;
    Ok(parts)
}
