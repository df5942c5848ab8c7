//! Keys as lists of records.
//!
//! A record of a key depends on the key and the record's number alone. So the records can be made side by side, a few
//! at a time, and the making can stop and go on: memory is that of the records in hand.

use homaes_wire::{Contents, Header, KeyId, Kind, WireError, Writer};
use std::io::Write;
use zeroize::{Zeroize, Zeroizing};

/// A parameter set as files name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetId<'a> {
    /// The name.
    pub name: &'static str,
    /// Digest of the numbers that define it.
    pub digest: &'a [u8; 32],
}

impl<'a> SetId<'a> {
    /// The set of this name and digest.
    #[must_use]
    pub const fn new(name: &'static str, digest: &'a [u8; 32]) -> Self {
        Self { name, digest }
    }

    /// The header of a file of the set: an evaluation key of version 2, whose streams have names ([`stream_seed`]).
    ///
    /// # Errors
    /// None for a checked set: names and sizes are in range.
    pub fn header(self, kind: Kind, key: KeyId, contents: Contents) -> Result<Header, WireError> {
        let header = Header::new(kind, self.name, *self.digest, key, contents)?;
        Ok(match kind {
            Kind::EvalKey => header.of_version(2),
            _ => header,
        })
    }
}

/// One record of a key.
#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    /// The kind of body.
    pub tag: u16,
    /// Which one of several with this tag.
    pub index: u64,
    /// The bytes; zeroised, for they may be secret.
    pub body: Zeroizing<Vec<u8>>,
}

impl Record {
    /// A record.
    #[must_use]
    pub fn new(tag: u16, index: u64, body: Vec<u8>) -> Self {
        let body = Zeroizing::new(body);
        Self { tag, index, body }
    }
}

/// The seed of the errors of a key that is made from `secret` and the public `seed`.
///
/// The same secret and the same seed give the same errors, so key generation can go on where it was stopped with the
/// secret key alone, and no record is ever made twice with different errors. It is the key derivation of BLAKE3:
/// whoever does not know the secret cannot tell the result from a random one, for BLAKE3 as a random oracle.
#[must_use]
pub fn error_seed(secret: &[u8], seed: &[u8; 32]) -> Zeroizing<[u8; 32]> {
    let context = "homaes 2026-11 errors of evaluation keys";
    derived(context, [seed, secret])
}

/// The seed of one stream of an evaluation key of `set`, from the key's public seed or that of its errors. `name` is
/// what the stream serves to encrypt, never its place in the file.
///
/// A key generation that goes on, or makes other keys of the same seed, therefore draws the same numbers for the same
/// message and for no other: an error or a mask that serves two messages shows their difference.
#[must_use]
pub fn stream_seed(seed: &[u8; 32], set: SetId<'_>, name: &[u64]) -> Zeroizing<[u8; 32]> {
    let name: Vec<u8> = name.iter().flat_map(|n| n.to_le_bytes()).collect();
    let context = "homaes 2026-11 streams of evaluation keys";
    derived(context, [seed, set.digest, &name])
}

fn derived<const N: usize>(context: &str, parts: [&[u8]; N]) -> Zeroizing<[u8; 32]> {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    for part in parts {
        hasher.update(part);
    }
    let mut out = Zeroizing::new([0; 32]);
    hasher.finalize_xof().fill(out.as_mut());
    hasher.zeroize();
    out
}

/// A key as a file.
///
/// Laws: `record(i)` is the same whenever it is asked for; the records 0, 1, … are as many and as long as the header
/// says.
pub trait Records: Sync {
    /// The header.
    ///
    /// # Errors
    /// None for a checked set.
    fn header(&self) -> Result<Header, WireError>;

    /// Record `number` of the file, from 0. Uses the current thread pool.
    ///
    /// # Errors
    /// If it is read from a file that has become unreadable; none for what is made here.
    ///
    /// # Panics
    /// If the file has no such record.
    fn record(&self, number: u64) -> Result<Record, WireError>;
}

/// Writes all records, one after the other.
///
/// # Errors
/// If the output fails.
pub fn write<W: Write>(file: &(impl Records + ?Sized), w: &mut Writer<W>) -> Result<(), WireError> {
    for number in 0..file.header()?.records() {
        let Record { tag, index, body } = file.record(number)?;
        w.write_record(tag, index, &body)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Streams of evaluation keys are part of the format. The value is that of the package `blake3` of Python.
    #[test]
    fn the_derivation_is_stable() {
        let seed = stream_seed(&[1; 32], SetId::new("any", &[2; 32]), &[3, 1 << 40]);
        let want = "5172eb1bdaca8d23a0ca6ad4919a2a80a6e3e9296117e21a66f0fda36256163c";
        assert_eq!(homaes_wire::hex(&*seed), want);
    }
}
