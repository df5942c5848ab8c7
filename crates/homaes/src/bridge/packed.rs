//! Reading `.hrl` files.

use super::crossed_file::CrossedFile;
use super::{link_bytes, values_log2_p_fail};
use crate::error::At;
use crate::{Result, Set};
use homaes_bridge::Other;
use homaes_wire::{KeyId, Kind, Reader};
use std::path::Path;

/// Bytes in RLWE ciphertexts under a link key, and what an export wrote of them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Packed {
    /// The BGV set of the results.
    pub set: Set,
    /// Identifies the link key.
    pub link: KeyId,
    /// log2 of the modulus of the bytes.
    pub log2_t: u32,
    /// Bytes of the message; of several parts, all of their blocks.
    pub bytes: u64,
    /// Number of parts.
    pub parts: usize,
    /// Bits of the link key, and bytes in an RLWE ciphertext.
    pub dimension: usize,
    /// Number of RLWE ciphertexts of that degree.
    pub ciphertexts: u64,
    /// log2 of the bound on the probability that any byte is off by half a unit; `None` without bytes.
    pub log2_p_fail: Option<f64>,
}

pub(crate) struct PackedFile {
    file: CrossedFile<'static>,
    pub(crate) about: Packed,
}

impl PackedFile {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let reader = Reader::open(path, Kind::Packed).at(path)?;
        let set = Set::of_file(path, reader.header().set())?;
        reader.check_set(set.name(), set.digest()).at(path)?;
        let link = reader.header().key_id();
        let file = CrossedFile::new(reader.boxed(), set.clone())?;
        let Other::Link { log2_t } = file.end else {
            unreachable!("checked with the kind of the file");
        };
        let split = file.meta().split;
        let bytes = match file.meta().only() {
            Some(part) => part.bytes,
            None => 16 * split.blocks(),
        };
        let blocks = 0..split.blocks();
        let about = Packed {
            link,
            log2_t,
            bytes,
            parts: file.meta().parts.len(),
            dimension: link_bytes(&set),
            ciphertexts: split.batches(),
            log2_p_fail: values_log2_p_fail(&set, &file.end, blocks),
            set,
        };
        Ok(Self { file, about })
    }

    /// The next ciphertext, 32 bits of the torus a word, mask and body; `None` at the end, once the whole file was read.
    pub(crate) fn next(&mut self) -> Result<Option<[Vec<u32>; 2]>> {
        let n = self.about.dimension;
        let batch = self.file.next()?;
        Ok(batch.map(|batch| {
            let (words, _) = batch.bytes().as_chunks();
            let word = |x: &[u8; 4]| u32::from_le_bytes(*x);
            [&words[..n], &words[n..]].map(|half| half.iter().map(word).collect())
        }))
    }
}
