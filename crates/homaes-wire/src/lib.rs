#![doc = include_str!("../FORMAT.md")]
//!
//! # This crate
//!
//! [`Writer`] and [`Reader`] stream the container; [`Encoder`] and [`Decoder`] fill and read record bodies;
//! [`pack_bits`] and [`unpack_bits`] handle residues; [`AtomicFile`] makes output appear whole or not at all.
//!
//! ```
//! use homaes_wire::{Contents, Header, KeyId, Kind, Reader, Writer};
//! # fn main() -> Result<(), homaes_wire::WireError> {
//! let contents = Contents::default().record(5);
//! let header = Header::new(Kind::Ciphertext, "bgv/toy-255", [7; 32], KeyId([1; 16]), contents)?;
//! let mut writer = Writer::new(Vec::new(), header)?;
//! writer.write_record(1, 0, b"hello")?;
//! let bytes = writer.finish()?;
//!
//! let mut reader = Reader::from_slice(&bytes, Kind::Ciphertext)?;
//! reader.check_set("bgv/toy-255", &[7; 32])?;
//! reader.check_key(KeyId([1; 16]))?;
//! assert_eq!(reader.next_record(1, 1024)?, b"hello");
//! reader.finish()?;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod atomic;
mod bits;
mod cache;
mod codec;
mod debug;
mod error;
mod hash;
mod header;
mod kind;
mod reader;
mod writer;

pub use atomic::{
    AtomicFile, OutputOptions, cleanup_all, free_bytes, is_temporary_name, unfinished_path,
};
pub use bits::{pack_bits, packed_len, unpack_bits};
pub use cache::cache_folder;
pub use codec::{Decoder, Encoder};
pub use error::WireError;
pub use header::{Contents, HEADER_FIXED_BYTES, Header, MAGIC, MAX_SET_NAME_BYTES, VERSION};
pub use kind::{KeyId, Kind, hex, unhex};
pub use reader::{Front, Reader, RecordReader, Stored, read_exact_at};
pub use writer::{RecordWriter, Writer};

/// Bytes of a checksum.
pub const CHECKSUM_BYTES: usize = 16;

/// Bytes of a record besides its body: tag, index, length and checksum.
pub const RECORD_OVERHEAD: u64 = RECORD_HEAD_BYTES as u64 + CHECKSUM_BYTES as u64;

/// Bytes of tag, index and length.
const RECORD_HEAD_BYTES: usize = 18;

/// The head of a record, before its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHead {
    /// The kind of body.
    pub tag: u16,
    /// Which one of several with the same tag.
    pub index: u64,
    /// Length of the body in bytes.
    pub len: u64,
}

impl RecordHead {
    fn to_bytes(self) -> [u8; RECORD_HEAD_BYTES] {
        let mut bytes = [0; RECORD_HEAD_BYTES];
        bytes[..2].copy_from_slice(&self.tag.to_le_bytes());
        bytes[2..10].copy_from_slice(&self.index.to_le_bytes());
        bytes[10..].copy_from_slice(&self.len.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; RECORD_HEAD_BYTES]) -> Self {
        let (tag, rest) = bytes.split_first_chunk().expect("18 bytes hold a tag");
        let (index, rest) = rest.split_first_chunk().expect("16 bytes hold an index");
        let len = rest.first_chunk().expect("8 bytes hold a length");
        Self {
            tag: u16::from_le_bytes(*tag),
            index: u64::from_le_bytes(*index),
            len: u64::from_le_bytes(*len),
        }
    }
}
