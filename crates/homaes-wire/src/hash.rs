//! The chain of checksums.

use crate::{CHECKSUM_BYTES, RecordHead};
use blake3::Hasher;
use zeroize::Zeroize;

pub(crate) type Checksum = [u8; CHECKSUM_BYTES];

const HEADER_CONTEXT: &str = "homaes wire 1 header";
const RECORD_CONTEXT: &str = "homaes wire 1 record";

/// Checksum of the header's bytes before it.
pub(crate) fn header_checksum(bytes: &[u8]) -> Checksum {
    truncated(Hasher::new_derive_key(HEADER_CONTEXT).update(bytes))
}

/// Checksum of a record in the making.
pub(crate) struct RecordHash(Hasher);

impl RecordHash {
    pub(crate) fn new(previous: &Checksum, head: RecordHead) -> Self {
        let mut hasher = Hasher::new_derive_key(RECORD_CONTEXT);
        hasher.update(previous).update(&head.to_bytes());
        Self(hasher)
    }

    pub(crate) fn update(&mut self, body: &[u8]) {
        self.0.update(body);
    }

    pub(crate) fn finish(self) -> Checksum {
        truncated(&self.0)
    }
}

// The hasher keeps the last part of what it saw, which may be a secret key.
impl Drop for RecordHash {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

fn truncated(hasher: &Hasher) -> Checksum {
    *hasher
        .finalize()
        .as_bytes()
        .first_chunk()
        .expect("32 bytes hold 16")
}
