//! Keys, messages and files that the tests share.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use ctr::cipher::{KeyIvInit, StreamCipher};
use homaes::{
    AesFile, AesInput, AesKey, Block, Ciphertexts, DecryptOptions, DecryptReport, KeySet, Layout,
    Memory, Mode, Output, Result, Set, Transcipher, WrapOptions, WrappedKey,
};
use homaes_wire::{Contents, Header, KeyId, Kind, Reader, Writer};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(crate) const KEY: [u8; 16] = *b"not a secret key";

pub(crate) const IV: Block = *b"an IV of sixteen";

/// Keys of a set, [`KEY`] wrapped under them, and a temporary folder.
pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) keys: KeySet,
    pub(crate) wrapped: WrappedKey,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::of("bgv/toy-255", &WrapOptions::default())
    }

    pub(crate) fn of(set: &str, wrapping: &WrapOptions) -> Self {
        let keys = keys(set);
        Self {
            folder: tempfile::tempdir().unwrap(),
            wrapped: wrap(&keys, &KEY, wrapping),
            keys,
        }
    }

    /// Keys stored as `keys/` and `key.hwk` in the folder.
    pub(crate) fn with_files(set: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let set = Set::named(set).unwrap();
        let keys = KeySet::create(&set, folder.path().join("keys")).unwrap();
        let wrapped = wrap(&keys, &KEY, &WrapOptions::default());
        let output = Output::create(folder.path().join("key.hwk"), false).unwrap();
        wrapped.save(output).unwrap();
        Self {
            folder,
            keys,
            wrapped,
        }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn output(&self, name: &str) -> Output {
        Output::create(self.at(name), true).unwrap()
    }

    /// What the header of a file under these keys states.
    pub(crate) fn claims(&self, kind: Kind) -> Claims<'static> {
        let (secret, set) = (&self.keys.secret, self.keys.secret.set());
        (kind, set.name(), *set.digest(), secret.id())
    }

    /// The files in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    pub(crate) fn wrap(&self, wrapping: &WrapOptions) -> WrappedKey {
        wrap(&self.keys, &KEY, wrapping)
    }

    pub(crate) fn transcipher(&self) -> Transcipher<'_> {
        let run = Transcipher::new(&self.keys.eval, &self.wrapped).unwrap();
        run.reproducible(true)
    }

    pub(crate) fn results(&self, message: impl Into<AesInput>) -> Vec<u8> {
        let (output, buffer) = Output::memory();
        self.transcipher().run(message, output).unwrap();
        buffer.take()
    }

    pub(crate) fn decrypt(
        &self,
        results: &[u8],
        options: DecryptOptions<'_>,
    ) -> Result<(Vec<u8>, DecryptReport)> {
        self.read(Ciphertexts::of_read(results, "results")?, options)
    }

    pub(crate) fn read(
        &self,
        ciphertexts: Ciphertexts<'_>,
        options: DecryptOptions<'_>,
    ) -> Result<(Vec<u8>, DecryptReport)> {
        let (output, buffer) = Output::memory();
        let secret = &self.keys.secret;
        let report = secret.decrypt_from(ciphertexts, output, options);
        let bytes = buffer.take();
        assert!(report.is_ok() || bytes.is_empty());
        let report = report?;
        assert_eq!(report.bytes, bytes.len() as u64);
        Ok((bytes, report))
    }
}

pub(crate) fn keys(set: &str) -> KeySet {
    KeySet::generate(&Set::named(set).unwrap()).unwrap()
}

pub(crate) fn wrap(keys: &KeySet, key: &[u8], wrapping: &WrapOptions) -> WrappedKey {
    let key = AesKey::from_bytes(key).unwrap();
    WrappedKey::encrypt(&keys.secret, &key, wrapping).unwrap()
}

pub(crate) fn levels(levels: usize) -> WrapOptions {
    WrapOptions {
        levels_left: Some(levels),
        ..WrapOptions::default()
    }
}

pub(crate) fn layout(layout: Layout) -> WrapOptions {
    WrapOptions {
        layouts: vec![layout],
        ..WrapOptions::default()
    }
}

pub(crate) fn message(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * i / 7 + len) as u8).collect()
}

pub(crate) fn ctr(iv: Block, message: &[u8]) -> Vec<u8> {
    let mut text = message.to_vec();
    ctr::Ctr128BE::<aes::Aes128>::new(&KEY.into(), &iv.into()).apply_keystream(&mut text);
    text
}

pub(crate) fn memory(bytes: impl Into<Vec<u8>>, mode: Mode) -> AesFile {
    AesFile::of(Memory::new(bytes.into(), "m"), mode).unwrap()
}

pub(crate) fn part(message: &[u8]) -> AesFile {
    memory(ctr(IV, message), Mode::Ctr { iv: IV })
}

/// Tag, index, body.
pub(crate) type Record = (u16, u64, Vec<u8>);

pub(crate) type Claims<'c> = (Kind, &'c str, [u8; 32], KeyId);

pub(crate) fn records(path: &Path) -> Vec<Record> {
    let mut reader = Reader::open_any(path).unwrap();
    let mut records = Vec::new();
    while let Some(mut record) = reader.begin_any().unwrap() {
        let head = record.head();
        let mut body = vec![0; head.len as usize];
        record.read_exact(&mut body).unwrap();
        record.finish().unwrap();
        records.push((head.tag, head.index, body));
    }
    reader.finish().unwrap();
    records
}

pub(crate) fn forged(claims: Claims<'_>, records: &[Record]) -> Vec<u8> {
    forged_of(1, claims, records)
}

/// In this version of the format.
pub(crate) fn forged_of(
    version: u16,
    (kind, set, digest, id): Claims<'_>,
    records: &[Record],
) -> Vec<u8> {
    let lengths = records.iter().map(|record| record.2.len() as u64);
    let contents = lengths.fold(Contents::default(), Contents::record);
    let header = Header::new(kind, set, digest, id, contents).unwrap();
    let header = header.of_version(version);
    let mut writer = Writer::new(Vec::new(), header).unwrap();
    for (tag, index, body) in records {
        writer.write_record(*tag, *index, body).unwrap();
    }
    writer.finish().unwrap()
}
