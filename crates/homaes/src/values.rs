//! `.hlw` files: LWE ciphertexts under the client key of a user of the crate `tfhe`.

use crate::bridge::{BLOCKS_PER_RECORD, record_bytes};
use crate::decrypt::{Batch, Ciphertexts};
use crate::meta::{Meta, TAG_TARGET};
use crate::{Result, Set, Step};
use homaes_aes::Layout;
use homaes_bridge::{MOST_OTHER_BYTES, Other};
use homaes_wire::{Reader, WireError};
use std::fs::File;

/// The records of an `.hlw` file in order.
pub(crate) struct Values {
    file: Ciphertexts,
    set: Set,
    /// Whose they are.
    pub(crate) user: Other,
}

impl Values {
    /// Reads the first two records; the set is the file's.
    pub(crate) fn new(reader: Reader<File>, set: Set) -> Result<Self> {
        let mut file = Ciphertexts::framed(reader, 1)?;
        file.check_cut(BLOCKS_PER_RECORD)?;
        if (file.meta.layout, file.meta.level) != (Layout::Bits, 1) {
            return Err(file.error(WireError::Malformed {
                what: "layout or level",
                expected: "bits at level 1",
            }));
        }
        if !set.has_bridges() {
            return Err(file.error(WireError::Malformed {
                what: "set",
                expected: "one with bridges",
            }));
        }
        let user = file.record(TAG_TARGET, MOST_OTHER_BYTES, Other::decode)?;
        match user {
            Other::User { .. } => Ok(Self { file, set, user }),
            Other::Set(_) => Err(file.error(WireError::Malformed {
                what: "other side of the bridge",
                expected: "a user of the crate tfhe",
            })),
        }
    }

    /// What they are the encryption of.
    #[cfg(feature = "tfhe-rs")]
    pub(crate) fn meta(&self) -> &Meta {
        &self.file.meta
    }

    /// The next record; none after the last one.
    pub(crate) fn next(&mut self) -> Result<Option<Batch>> {
        let set = &self.set;
        let batch = self.file.next_of(|shape| record_bytes(set, shape))?;
        if let Some(batch) = &batch
            && batch.body.len() as u64 != record_bytes(set, batch.shape)
        {
            return Err(self.file.error(WireError::Malformed {
                what: "LWE ciphertexts",
                expected: "as many as the blocks of their record have",
            }));
        }
        Ok(batch)
    }

    /// Reads the last record and checks that nothing follows.
    pub(crate) fn finish(self) -> Result<(Meta, Vec<Step>)> {
        self.file.finish()
    }
}
