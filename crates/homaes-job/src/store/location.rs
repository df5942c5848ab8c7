use crate::store::StoreError;
use crate::store::objects::check_name;
use core::fmt;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Location of an object or a store: a path, or a key of a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Location {
    /// A path of this machine.
    Local(PathBuf),
    /// `s3://bucket/key`.
    S3 {
        /// The bucket.
        bucket: String,
        /// The name of an object, or the prefix of names; empty for the whole bucket.
        key: String,
    },
}

impl Location {
    /// Parses `s3://bucket/key`, `file:///path` (with `%` and two hex digits for special bytes) or a path. Refuses
    /// other URIs and invalid keys.
    pub fn parse(text: impl AsRef<OsStr>) -> Result<Self, StoreError> {
        let text = text.as_ref();
        let refused = |why| StoreError::Location {
            location: text.to_string_lossy().into_owned(),
            why,
        };
        if text.is_empty() {
            return Err(StoreError::Location {
                location: "\"\"".to_owned(),
                why: "expected a path, file:///path or s3://bucket/key",
            });
        }
        let Some((scheme, rest)) = text.to_str().and_then(|text| text.split_once("://")) else {
            return Ok(Self::Local(PathBuf::from(text)));
        };
        match scheme {
            "s3" => {
                let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
                let key = key.strip_suffix('/').unwrap_or(key);
                let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
                if bucket.is_empty() || !bucket.chars().all(allowed) {
                    return Err(refused(
                        "a bucket name has only letters, digits, '-', '.' and '_'",
                    ));
                }
                if !key.is_empty() {
                    check_name(key)?;
                }
                Ok(Self::S3 {
                    bucket: bucket.to_owned(),
                    key: key.to_owned(),
                })
            }
            "file" => {
                let path = rest.strip_prefix("localhost").unwrap_or(rest);
                let decoded = path.starts_with('/').then(|| decoded(path)).flatten();
                let path = decoded.ok_or_else(|| {
                    refused("expected an absolute path after file://, with special bytes as '%' and two hex digits")
                })?;
                Ok(Self::Local(path))
            }
            // a path may contain "://", but hardly begins so
            _ if scheme.chars().all(|c| c.is_ascii_alphanumeric()) => Err(refused(
                "expected a path, file:///path or s3://bucket/key; start a path that looks like another URI with ./",
            )),
            _ => Ok(Self::Local(PathBuf::from(text))),
        }
    }

    /// The location of the object `name` below this one.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        match self {
            Self::Local(path) => Self::Local(path.join(name)),
            Self::S3 { bucket, key } => Self::S3 {
                bucket: bucket.clone(),
                key: match &key[..] {
                    "" => name.to_owned(),
                    key => format!("{key}/{name}"),
                },
            },
        }
    }

    /// The store of the object at this location, and its name there; `None` if none can be here, as at a bucket's root.
    #[must_use]
    pub fn split(&self) -> Option<(Self, &str)> {
        match self {
            Self::Local(path) => {
                let name = path.file_name()?.to_str()?;
                let folder = path.parent().unwrap_or(Path::new(""));
                Some((Self::Local(folder.to_owned()), name))
            }
            Self::S3 { key, .. } if key.is_empty() => None,
            Self::S3 { bucket, key } => {
                let (above, name) = key.rsplit_once('/').unwrap_or(("", key));
                let above = Self::S3 {
                    bucket: bucket.clone(),
                    key: above.to_owned(),
                };
                Some((above, name))
            }
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(path) => path.display().fmt(f),
            Self::S3 { bucket, key } => write!(f, "s3://{bucket}/{key}"),
        }
    }
}

/// The path of a URI.
fn decoded(text: &str) -> Option<PathBuf> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digits = str::from_utf8(digits).ok()?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStringExt;
        Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
    }
    #[cfg(not(unix))]
    {
        String::from_utf8(bytes).ok().map(PathBuf::from)
    }
}
