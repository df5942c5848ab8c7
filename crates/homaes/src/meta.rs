//! The first record of an `.hct` file: what the ciphertexts after it are the encryption of.
//!
//! ```text
//! tag 1, index 0   mode (text) ‖ layout (text) ‖ iv (16) ‖ AES key bits (2) ‖ message bytes (8)
//!                  ‖ AES blocks (8) ‖ blocks per batch (8)
//! tag 2, index i   the ciphertexts of batch i, in the scheme's encoding
//! ```

use crate::batch::Split;
use homaes_aes::{Block, KeySize, Mode};
use homaes_wire::{Decoder, Encoder, WireError};

/// Tag of the record of this module.
pub(crate) const TAG_META: u16 = 1;

/// Tag of a batch.
pub(crate) const TAG_BATCH: u16 = 2;

/// Longest body that is read.
pub(crate) const MAX_META_BYTES: u64 = 256;

/// The one layout so far: ciphertext i of a batch holds byte i of every block.
pub const LAYOUT: &str = "sliced";

const CTR: &str = "ctr";

/// Longest text in the record.
const MAX_TEXT_BYTES: usize = 32;

/// What an `.hct` file says about its message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Meta {
    /// The initial counter block.
    pub iv: Block,
    /// Size of the AES key.
    pub key_size: KeySize,
    /// Length of the message, and how it is cut.
    pub split: Split,
}

impl Meta {
    /// The mode with its public parameters.
    #[must_use]
    pub fn mode(&self) -> Mode {
        Mode::Ctr { iv: self.iv }
    }

    /// The name of the mode, as on the command line.
    #[must_use]
    pub fn mode_name(&self) -> &'static str {
        CTR
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let bits = self.key_size.key_bytes() as u16 * 8;
        Encoder::new()
            .str(CTR)
            .str(LAYOUT)
            .bytes(&self.iv)
            .u16(bits)
            .u64(self.split.bytes)
            .u64(self.split.blocks())
            .u64(self.split.blocks_per_batch)
            .finish()
    }

    /// Reads the body; `records` is the number of records of the file, this one included.
    pub(crate) fn decode(body: &[u8], records: u64) -> Result<Self, WireError> {
        let mut decoder = Decoder::new(body);
        let text = |what, found: &str, expected| match found == expected {
            true => Ok(()),
            false => Err(WireError::Malformed { what, expected }),
        };
        text("mode", decoder.str("mode", MAX_TEXT_BYTES)?, CTR)?;
        text("layout", decoder.str("layout", MAX_TEXT_BYTES)?, LAYOUT)?;
        let iv = decoder.array("iv")?;
        let bits = decoder.u16("AES key bits")?;
        let key_size = KeySize::ALL
            .into_iter()
            .find(|size| size.key_bytes() * 8 == usize::from(bits))
            .ok_or(WireError::Malformed {
                what: "AES key bits",
                expected: "128, 192 or 256",
            })?;
        let bytes = decoder.u64("message bytes")?;
        let blocks = decoder.u64("AES blocks")?;
        let blocks_per_batch = decoder.u64("blocks per batch")?;
        decoder.finish("message record")?;
        let split = Split {
            bytes,
            blocks_per_batch,
        };
        if blocks_per_batch == 0 || blocks != split.blocks() {
            return Err(WireError::Malformed {
                what: "AES blocks",
                expected: "as many as the message fills",
            });
        }
        let expected = split.batches().saturating_add(1);
        if records != expected {
            return Err(WireError::RecordCount {
                found: records,
                expected,
            });
        }
        Ok(Self {
            iv,
            key_size,
            split,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(bytes: u64, blocks_per_batch: u64) -> Meta {
        let split = Split {
            bytes,
            blocks_per_batch,
        };
        Meta {
            iv: [5; 16],
            key_size: KeySize::Aes192,
            split,
        }
    }

    #[test]
    fn records_round_trip() {
        for bytes in [0, 1, 16, 17, 32767, u64::MAX] {
            let meta = meta(bytes, 16);
            let body = meta.encode();
            assert!(body.len() as u64 <= MAX_META_BYTES);
            let records = meta.split.batches() + 1;
            assert_eq!(Meta::decode(&body, records).unwrap(), meta);
            assert!(Meta::decode(&body, records + 1).is_err());
        }
    }

    #[test]
    fn every_byte_counts_and_none_panics() {
        let good = meta(1000, 16);
        let body = good.encode();
        for at in 0..body.len() {
            assert!(Meta::decode(&body[..at], 5).is_err());
            for value in 0..=255 {
                let mut bad = body.clone();
                bad[at] = value;
                if let Ok(read) = Meta::decode(&bad, 5) {
                    assert_eq!(read.encode(), bad);
                }
            }
        }
        let error = Meta::decode(&meta(1, 0).encode()[..], 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "AES blocks is malformed, expected as many as the message fills"
        );
    }
}
