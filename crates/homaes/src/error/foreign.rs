//! Formats that contain or resemble AES ciphertext, but are not bare AES ciphertext.

use crate::{ErrorKind, hex};
use homaes_wire::MAGIC;
use std::fmt;

/// Enough of a file to recognise its format.
pub(crate) const HEAD_BYTES: u64 = 8192;

/// A format other than bare AES ciphertext, recognised by its head.
///
/// A random ciphertext matches the fixed bits of a head with probability at most 2^-bits:
///
/// | format | fixed | bits |
/// |---|---|---|
/// | openssl enc | `Salted__` | 64 |
/// | openssl enc -a | `U2FsdGVkX1`, its base64 | 80 |
/// | homaes | `HOMAES` and a line end | 64 |
/// | CMS, DER or BER | tags of SEQUENCE, OID and `[0]`, length and content of one of three OIDs | 103 |
/// | CMS, PEM | `-----BEGIN CMS-----`, `-----BEGIN PKCS7-----` | 152 |
/// | S/MIME | `Content-Type: application/pkcs7-mime`, case aside, at one of 8192 places | 236 |
/// | age | `age-encryption.org/v1`, `-----BEGIN AGE ENCRYPTED FILE-----` | 168 |
/// | JWE, compact | `eyJ`, `"enc":` in base64url, three dots, 2 bits of every other character | 90 |
/// | base64, hexadecimal | 44 or more characters of base64 and line ends, and nothing else | 87 |
/// | JWE, JSON | `{"ciphertext"`, or `{`, another member's name and that at one of 8192 places | 103 |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// `openssl enc` with a password and this salt.
    Openssl {
        /// Determines key and IV together with the password.
        salt: [u8; 8],
    },
    /// The same in base64.
    OpensslBase64,
    /// A key or results of this project.
    Homaes,
    /// CMS or PKCS #7 in DER, BER or PEM, or an S/MIME mail.
    Cms,
    /// age, binary or armored.
    Age,
    /// JSON Web Encryption, compact or JSON.
    Jwe,
    /// Text in base64 or hexadecimal digits.
    Text,
}

impl Foreign {
    /// The format that `head` begins.
    #[must_use]
    pub fn of_head(head: &[u8]) -> Option<Self> {
        if let Some(salt) = head.strip_prefix(b"Salted__").and_then(<[u8]>::first_chunk) {
            return Some(Self::Openssl { salt: *salt });
        }
        if head.starts_with(&MAGIC) {
            return Some(Self::Homaes);
        }
        let text = head.trim_ascii_start();
        let starts = |starts: &[&str]| starts.iter().any(|s| text.starts_with(s.as_bytes()));
        match () {
            () if starts(&["U2FsdGVkX1"]) => Some(Self::OpensslBase64),
            () if is_cms(head) => Some(Self::Cms),
            () if starts(&["-----BEGIN CMS-----", "-----BEGIN PKCS7-----"]) => Some(Self::Cms),
            () if starts(&[
                "age-encryption.org/v1",
                "-----BEGIN AGE ENCRYPTED FILE-----",
            ]) =>
            {
                Some(Self::Age)
            }
            () if is_smime(text) => Some(Self::Cms),
            () if is_compact_jwe(text) || is_json_jwe(text) => Some(Self::Jwe),
            () if is_base64(text) => Some(Self::Text),
            () => None,
        }
    }

    pub(crate) fn kind(self) -> ErrorKind {
        match self {
            Self::Openssl { .. } => ErrorKind::Salted,
            Self::OpensslBase64 | Self::Text => ErrorKind::Base64,
            _ => ErrorKind::Foreign,
        }
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Openssl { salt } => {
                write!(f, "the output of 'openssl enc' with salt {}", hex(salt))
            }
            Self::OpensslBase64 => f.write_str("the output of 'openssl enc -a' with a password"),
            Self::Homaes => f.write_str("a file of homaes itself"),
            Self::Cms => f.write_str("a CMS or S/MIME message"),
            Self::Age => f.write_str("a file of age, which does not use AES"),
            Self::Jwe => f.write_str("a JSON Web Encryption (JWE)"),
            Self::Text => f.write_str("text in base64 or hexadecimal digits"),
        }
    }
}

/// A SEQUENCE of definite or indefinite length that begins with the OID of enveloped, encrypted or
/// authenticated-enveloped data, followed by an explicit `[0]`.
fn is_cms(head: &[u8]) -> bool {
    const PKCS: [u8; 6] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d];
    const CONTENTS: [&[u8]; 3] = [
        &[1, 7, 3],
        &[1, 7, 6],
        // RFC 5083
        &[1, 9, 16, 1, 23],
    ];
    let length_bytes = |first: u8| match first {
        0..=0x80 => Some(0),
        0x81..=0x88 => Some(usize::from(first - 0x80)),
        _ => None,
    };
    let content = head.split_first_chunk().and_then(|(&[tag, first], rest)| {
        let bytes = length_bytes(first).filter(|_| tag == 0x30)?;
        rest.get(bytes..)?.strip_prefix(&[6])
    });
    let Some((&length, oid)) = content.and_then(<[u8]>::split_first) else {
        return false;
    };
    let Some(arc) = oid.strip_prefix(&PKCS) else {
        return false;
    };
    CONTENTS.iter().any(|content| {
        let after = arc.strip_prefix(*content);
        usize::from(length) == PKCS.len() + content.len()
            && after.and_then(<[u8]>::first) == Some(&0xa0)
    })
}

/// Header lines of a mail, one of which declares CMS content.
fn is_smime(text: &[u8]) -> bool {
    const FIELD: &str = "content-type:";
    const TYPES: [&str; 2] = ["application/pkcs7-mime", "application/x-pkcs7-mime"];
    let ascii = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let head = ascii.to_ascii_lowercase().replace("\r\n", "\n");
    let head = head.split("\n\n").next().unwrap_or_default();
    head.match_indices(FIELD).any(|(at, _)| {
        let value = head[at + FIELD.len()..].trim_start();
        let starts_line = at == 0 || head[..at].ends_with('\n');
        starts_line && TYPES.iter().any(|kind| value.starts_with(kind))
    })
}

/// Characters of base64, of which hexadecimal digits are some, and line ends.
fn is_base64(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    let is_one = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=\r\n".contains(byte);
    text.len() >= 44 && text.iter().all(is_one)
}

/// Base64url parts separated by dots; the first is a JSON object with a member `enc`.
fn is_compact_jwe(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    let dots = text.iter().filter(|&&byte| byte == b'.').count();
    // three if the ciphertext is longer than the head
    if !text.starts_with(b"eyJ") || !(3..=4).contains(&dots) {
        return false;
    }
    let mut parts = text.split(|&byte| byte == b'.').map(from_base64url);
    let header = parts.next().flatten();
    let header = header.and_then(|json| serde_json::from_slice::<serde_json::Value>(&json).ok());
    header.is_some_and(|header| header["enc"].is_string()) && parts.all(|part| part.is_some())
}

/// A JSON object that begins with a member of JWE and has a ciphertext.
fn is_json_jwe(text: &[u8]) -> bool {
    const MEMBERS: [&[u8]; 9] = [
        b"protected",
        b"unprotected",
        b"header",
        b"recipients",
        b"encrypted_key",
        b"aad",
        b"iv",
        b"ciphertext",
        b"tag",
    ];
    let object = text.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    let Some(first) = object.and_then(|rest| rest.strip_prefix(b"\"")) else {
        return false;
    };
    let named = |name: &&[u8]| {
        first
            .strip_prefix(*name)
            .is_some_and(|rest| rest.starts_with(b"\""))
    };
    let ciphertext = b"\"ciphertext\"";
    MEMBERS.iter().any(named)
        && text
            .windows(ciphertext.len())
            .any(|some| some == ciphertext)
}

/// Decodes base64url without padding; a truncated last character is left out.
fn from_base64url(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: &u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'-' => Some(62),
        b'_' => Some(63),
        _ => None,
    };
    let digits = text.iter().map(digit).collect::<Option<Vec<u8>>>()?;
    let bytes = digits.chunks(4).flat_map(|some| {
        let word = some
            .iter()
            .fold(0, |word, &digit| word << 6 | u32::from(digit));
        let word = word << (6 * (4 - some.len())) << 8;
        word.to_be_bytes().into_iter().take(some.len() * 6 / 8)
    });
    Some(bytes.collect())
}

#[cfg(test)]
mod tests;
