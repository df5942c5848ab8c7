//! `.hlw` files, LWE ciphertexts under a user's client key of the crate `tfhe`, and `.hrl` files, RLWE ciphertexts under
//! a link key.

use crate::bridge::{blocks_per_record, record_bytes};
use crate::error::{At, malformed};
use crate::results::ciphertexts::{Batch, Batches, Ciphertexts};
use crate::results::meta::{Meta, TAG_TARGET};
use crate::{Result, Set, Step};
use homaes_aes::Layout;
use homaes_bridge::{MOST_OTHER_BYTES, Other};
use homaes_scheme::traits::Input;
use homaes_wire::Kind;

pub(crate) struct CrossedFile<'r> {
    records: Batches<'r>,
    /// Whose key it is under.
    pub(crate) end: Other,
}

impl<'r> CrossedFile<'r> {
    /// Reads the first two records; the file names the set.
    pub(crate) fn new(reader: Input<'r>, set: Set) -> Result<Self> {
        let kind = reader.header().kind();
        let mut file = Ciphertexts::framed(reader, set, 1)?;
        file.check_cut(blocks_per_record(file.set(), kind))?;
        let path = file.path().to_owned();
        let wrong = |what, expected| Err(malformed(what, expected)).at(&path);
        if (file.meta().layout, file.meta().level) != (Layout::Bits, 1) {
            return wrong("layout or level", "bits at level 1");
        }
        if !file.set().has_bridges() {
            return wrong("set", "one with bridges");
        }
        let end = file.record(TAG_TARGET, MOST_OTHER_BYTES, Other::decode)?;
        match (kind, &end) {
            (Kind::Values, Other::User { .. }) | (Kind::Packed, Other::Link { .. }) => Ok(Self {
                records: file.into_iter(),
                end,
            }),
            (Kind::Packed, _) => wrong("other side of the bridge", "a link key"),
            _ => wrong("other side of the bridge", "a user of the crate tfhe"),
        }
    }

    /// Describes the message.
    pub(crate) fn meta(&self) -> &Meta {
        self.records.meta()
    }

    /// The next record; `None` at the end, once the whole file was read.
    pub(crate) fn next(&mut self) -> Result<Option<Batch>> {
        let (end, mut expected) = (&self.end, 0);
        let batch = self.records.next_of(|set, shape| {
            expected = record_bytes(set, end, shape);
            expected
        })?;
        match batch {
            Some(batch) if batch.bytes().len() as u64 != expected => {
                let expected = "as many as the blocks of their record have";
                Err(malformed("ciphertexts", expected)).at(batch.path())
            }
            batch => Ok(batch),
        }
    }

    /// For callers at the end of the file.
    pub(crate) fn into_parts(self) -> (Meta, Vec<Step>) {
        self.records.into_parts()
    }
}
