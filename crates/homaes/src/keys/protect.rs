//! Secret keys under a passphrase.
//!
//! ```text
//! tag 2, index 0   method (1): 1 ‖ memory in KiB (4) ‖ passes (4) ‖ lanes (4) ‖ salt (16) ‖ nonce (24)
//! tag 3, index 0   the bytes of the unprotected file, encrypted ‖ authentication tag (16)
//!
//! key = Argon2id, version 0x13, of passphrase and salt (RFC 9106), 32 bytes
//! tag 3 = XChaCha20-Poly1305 under key and nonce, with the associated data
//!         "homaes protected secret key" ‖ set name (text) ‖ set digest (32) ‖ key id (16) ‖ body of tag 2
//! ```
//!
//! A change of the cost in the file changes the derived key. The cost that a file can ask for is bounded.

use crate::error::{At, malformed};
use crate::{Error, ErrorKind, Result};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};
use core::fmt;
use homaes_wire::{Contents, Decoder, Encoder, Header, Kind, Reader, WireError, Writer};
use std::io::Read;
use std::path::Path;
use zeroize::Zeroizing;

/// Tag of the record that describes the protection. An unprotected key has one record, of tag 1.
const TAG_PROTECTION: u16 = 2;

const TAG_SEALED: u16 = 3;

/// The only method.
const METHOD: u8 = 1;

const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 24;
const AEAD_TAG_BYTES: usize = 16;
const PROTECTION_BYTES: u64 = 1 + 3 * 4 + (SALT_BYTES + NONCE_BYTES) as u64;

/// Exceeds every secret key.
const MAX_SEALED_BYTES: u64 = 1 << 20;

/// Longest passphrase in bytes.
pub const MAX_PASSPHRASE_BYTES: usize = 1024;

/// A passphrase of 1 to [`MAX_PASSPHRASE_BYTES`] bytes. Overwritten when dropped; `Debug` does not show it.
///
/// The time of a comparison depends on the lengths and on the first difference. This suits two inputs that one person
/// typed.
#[derive(PartialEq)]
pub struct Passphrase(Zeroizing<Vec<u8>>);

impl Passphrase {
    /// A passphrase of these bytes.
    ///
    /// # Errors
    /// `ErrorKind::Passphrase` if there are none, or too many.
    pub fn new(bytes: &[u8]) -> Result<Self> {
        Self::checked(bytes, Path::new("<memory>"))
    }

    /// Reads a file of one line, without its line end; `name` names the file in errors.
    ///
    /// # Errors
    /// `ErrorKind::Passphrase` if the line is empty or too long, or not the only one; [`Error::Io`].
    pub fn read(input: impl Read, name: impl AsRef<Path>) -> Result<Self> {
        let name = name.as_ref();
        // final capacity, so that growing leaves no copies
        let most = MAX_PASSPHRASE_BYTES + 3;
        let mut content = Zeroizing::new(Vec::with_capacity(most));
        input.take(most as u64).read_to_end(&mut content).at(name)?;
        let line = content.strip_suffix(b"\n").unwrap_or(&content);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Self::checked(line, name)
    }

    fn checked(bytes: &[u8], name: &Path) -> Result<Self> {
        let found = match bytes {
            [] => "nothing",
            _ if bytes.len() > MAX_PASSPHRASE_BYTES => "more than 1024 bytes",
            _ if bytes.contains(&b'\n') => "more than one line",
            _ => return Ok(Self(Zeroizing::new(bytes.to_vec()))),
        };
        let expected = "one line of 1 to 1024 bytes";
        let message = format!("not a passphrase: found {found}, expected {expected}");
        Err(Error::refused(ErrorKind::Passphrase, message).at(name))
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(..)")
    }
}

/// The cost of trying one passphrase: the parameters of Argon2id.
///
/// The default is the second recommendation of RFC 9106, section 4: 64 MiB, three passes, four lanes. Time grows with
/// `memory_kib` times `passes`. The lanes run one after the other here; an attacker can run them in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KdfCost {
    /// Memory in KiB, at least 8 per lane and at most [`MAX_MEMORY_KIB`](Self::MAX_MEMORY_KIB).
    pub memory_kib: u32,
    /// Passes over the memory, at least 1; times `memory_kib` at most [`MAX_WORK_KIB`](Self::MAX_WORK_KIB).
    pub passes: u32,
    /// Lanes, 1 to [`MAX_LANES`](Self::MAX_LANES).
    pub lanes: u32,
}

impl KdfCost {
    /// Most memory that a file can ask for: 1 GiB.
    pub const MAX_MEMORY_KIB: u32 = 1 << 20;

    /// Most memory times passes: 4 GiB, some seconds.
    pub const MAX_WORK_KIB: u64 = 1 << 22;

    /// Most lanes.
    pub const MAX_LANES: u32 = 64;

    /// The parameters of Argon2id.
    fn params(self) -> Result<Params, WireError> {
        let Self {
            memory_kib,
            passes,
            lanes,
        } = self;
        let work = u64::from(memory_kib) * u64::from(passes);
        for (what, found, expected) in [
            ("lanes of Argon2id", lanes.into(), Self::MAX_LANES.into()),
            (
                "memory of Argon2id in KiB",
                memory_kib.into(),
                Self::MAX_MEMORY_KIB.into(),
            ),
            (
                "memory times passes of Argon2id in KiB",
                work,
                Self::MAX_WORK_KIB,
            ),
        ] {
            if found > expected {
                return Err(WireError::ValueTooLarge {
                    what,
                    found,
                    expected,
                });
            }
        }
        let expected = "1 lane and 1 pass at least, and 8 KiB of memory per lane";
        let params = Params::new(memory_kib, passes, lanes, None);
        params.map_err(|_| malformed("cost of Argon2id", expected))
    }
}

impl Default for KdfCost {
    fn default() -> Self {
        Self {
            memory_kib: 1 << 16,
            passes: 3,
            lanes: 4,
        }
    }
}

/// The protection of a key, without the passphrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Protection {
    pub(crate) cost: KdfCost,
    salt: [u8; SALT_BYTES],
    nonce: [u8; NONCE_BYTES],
}

impl Protection {
    /// Draws salt and nonce.
    fn new(cost: KdfCost) -> Result<Self> {
        let (mut salt, mut nonce) = ([0; SALT_BYTES], [0; NONCE_BYTES]);
        getrandom::fill(&mut salt).map_err(Error::Random)?;
        getrandom::fill(&mut nonce).map_err(Error::Random)?;
        Ok(Self { cost, salt, nonce })
    }

    fn encode(&self) -> Vec<u8> {
        Encoder::new()
            .u8(METHOD)
            .u32(self.cost.memory_kib)
            .u32(self.cost.passes)
            .u32(self.cost.lanes)
            .bytes(&self.salt)
            .bytes(&self.nonce)
            .finish()
    }

    fn decode(body: &[u8]) -> Result<Self, WireError> {
        let mut decoder = Decoder::new(body);
        if decoder.u8("protection")? != METHOD {
            return Err(malformed(
                "protection",
                "method 1 (Argon2id and XChaCha20-Poly1305)",
            ));
        }
        let mut number = |what| decoder.u32(what);
        let cost = KdfCost {
            memory_kib: number("memory of Argon2id")?,
            passes: number("passes of Argon2id")?,
            lanes: number("lanes of Argon2id")?,
        };
        cost.params()?;
        let protection = Self {
            cost,
            salt: decoder.array("salt")?,
            nonce: decoder.array("nonce")?,
        };
        decoder.finish("protection")?;
        Ok(protection)
    }

    /// Reads the first record, if the key is protected.
    pub(crate) fn read<R: Read>(reader: &mut Reader<R>) -> Result<Option<Self>, WireError> {
        let Some(mut record) = reader.begin_any()? else {
            return Ok(None);
        };
        let head = record.head();
        if head.tag != TAG_PROTECTION {
            return Ok(None);
        }
        if head.len != PROTECTION_BYTES {
            return Err(WireError::Length {
                what: "protection",
                found: head.len,
                expected: PROTECTION_BYTES,
            });
        }
        let mut body = [0; PROTECTION_BYTES as usize];
        record.read_exact(&mut body)?;
        record.finish()?;
        Self::decode(&body).map(Some)
    }

    /// Authenticated together with the key.
    fn associated_data(&self, header: &Header) -> Vec<u8> {
        Encoder::new()
            .bytes(b"homaes protected secret key")
            .str(header.set())
            .bytes(header.digest())
            .bytes(&header.key_id().0)
            .bytes(&self.encode())
            .finish()
    }

    fn cipher(&self, passphrase: &Passphrase, path: &Path) -> Result<XChaCha20Poly1305> {
        let params = self.cost.params().at(path)?;
        // the crate's own buffer is not overwritten, and its allocation cannot fail with an error
        let count = params.block_count();
        let mut memory = Zeroizing::new(Vec::new());
        memory.try_reserve_exact(count).map_err(|_| {
            let wanted = count as u64 * Block::SIZE as u64;
            let message = format!("no memory for the passphrase: Argon2id needs {wanted} bytes");
            Error::refused(ErrorKind::Memory, message).at(path)
        })?;
        memory.resize(count, Block::new());
        let mut key = Zeroizing::new([0; 32]);
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into_with_memory(
                &passphrase.0,
                &self.salt,
                key.as_mut_slice(),
                memory.as_mut_slice(),
            )
            .expect("lengths and memory are right");
        Ok(XChaCha20Poly1305::new((&*key).into()))
    }
}

/// The encrypted file of a secret key. `plain` is the unprotected file, with the header `header`; `path` names the
/// result in errors.
pub(super) fn seal(
    mut plain: Zeroizing<Vec<u8>>,
    header: &Header,
    (passphrase, cost): (&Passphrase, KdfCost),
    path: &Path,
) -> Result<Zeroizing<Vec<u8>>> {
    let protection = Protection::new(cost)?;
    let cipher = protection.cipher(passphrase, path)?;
    let tag = cipher
        .encrypt_inout_detached(
            &XNonce::from(protection.nonce),
            &protection.associated_data(header),
            plain.as_mut_slice().into(),
        )
        .expect("a secret key is short enough");
    let bodies = [protection.encode(), [&plain[..], &tag].concat()];
    let lengths = bodies.iter().map(|body| body.len() as u64);
    let contents = lengths.fold(Contents::default(), Contents::record);
    let (set, digest, id) = (header.set(), *header.digest(), header.key_id());
    let written = || {
        let header = Header::new(Kind::SecretKey, set, digest, id, contents)?;
        let mut writer = Writer::new(Vec::new(), header)?;
        for (tag, body) in [TAG_PROTECTION, TAG_SEALED].into_iter().zip(&bodies) {
            writer.write_record(tag, 0, body)?;
        }
        writer.finish().map(Zeroizing::new)
    };
    written().at(path)
}

pub(super) fn protected(path: &Path) -> Error {
    Error::refused(ErrorKind::Protected, "this secret key needs its passphrase").at(path)
}

/// Decrypts the unprotected file; `reader` is right behind the header.
pub(crate) fn open<R: Read>(
    mut reader: Reader<R>,
    passphrase: &Passphrase,
    path: &Path,
) -> Result<Zeroizing<Vec<u8>>> {
    let Some(protection) = Protection::read(&mut reader).at(path)? else {
        let message = "this secret key has no passphrase, found one";
        return Err(Error::refused(ErrorKind::NotProtected, message).at(path));
    };
    let sealed = reader.next_record(TAG_SEALED, MAX_SEALED_BYTES);
    let mut plain = Zeroizing::new(sealed.at(path)?);
    let header = reader.header().clone();
    reader.finish().at(path)?;
    let wrong = || {
        let message = "the passphrase does not open this secret key";
        Error::refused(ErrorKind::WrongPassphrase, message).at(path)
    };
    let (_, tag) = plain
        .split_last_chunk::<AEAD_TAG_BYTES>()
        .ok_or_else(wrong)?;
    let (tag, len) = (Tag::from(*tag), plain.len() - AEAD_TAG_BYTES);
    let cipher = protection.cipher(passphrase, path)?;
    cipher
        .decrypt_inout_detached(
            &XNonce::from(protection.nonce),
            &protection.associated_data(&header),
            plain[..len].as_mut().into(),
            &tag,
        )
        .map_err(|_| wrong())?;
    plain.truncate(len);
    Ok(plain)
}
