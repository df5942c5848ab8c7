//! Parts of messages: lengths, tags, nonces.

use super::*;
use crate::Memory;
use crate::input::batch::Batches;
use homaes_aes::mode::MAX_GCM_BYTES;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::sync::atomic::{AtomicUsize, Ordering};

fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    file
}

#[test]
fn lengths_must_fit_the_mode() {
    let iv = [1; 16];
    for len in 0..70usize {
        let file = file(&vec![9; len]);
        let bytes = |mode| {
            AesFile::open(file.path(), mode)
                .ok()
                .map(|part| part.bytes())
        };
        let whole = len.is_multiple_of(16).then_some(len as u64);
        assert_eq!(bytes(Mode::Ecb), whole);
        assert_eq!(bytes(Mode::Cbc { iv }), whole);
        assert_eq!(bytes(Mode::Ctr { iv }), Some(len as u64));
        let tagged = len.checked_sub(16).map(|len| len as u64);
        assert_eq!(bytes(Mode::Gcm { nonce: [1; 12] }), tagged);
        let own = AesFile::open_with_nonce(file.path()).ok();
        let expected = len.checked_sub(28).map(|len| len as u64);
        assert_eq!(own.map(|part| part.bytes()), expected);
    }
}

#[test]
fn too_long_gcm_messages_are_refused() {
    let mode = Mode::Gcm { nonce: [1; 12] };
    let of_length = |bytes| AesFile::raw(Changing::new(bytes, usize::MAX), mode);
    let error = of_length(MAX_GCM_BYTES + 17).unwrap_err();
    assert!(error.to_string().contains("2^36 - 32"), "{error}");
    let longest = of_length(MAX_GCM_BYTES + 16).unwrap();
    assert_eq!(longest.bytes(), MAX_GCM_BYTES);
}

#[test]
fn nonce_and_tag_are_read_from_the_file() {
    let bytes: Vec<u8> = (0..48).collect();
    let file = file(&bytes);
    let part = AesFile::open_with_nonce(file.path()).unwrap();
    let nonce = core::array::from_fn(|i| i as u8);
    assert_eq!((part.mode(), part.bytes()), (Mode::Gcm { nonce }, 20));
    let part = part.with_aad(vec![1]).unwrap();
    assert_eq!(part.meta.tag.unwrap()[..], bytes[32..]);
    assert_eq!(part.meta.aad, [1]);
    let (before, blocks) = part.read(1, 1).unwrap();
    assert_eq!(before.unwrap()[..], bytes[12..28]);
    assert_eq!(blocks[0][..4], bytes[28..32]);
    assert_eq!(blocks[0][4..], [0; 12]);
    part.finish().unwrap();
}

#[test]
fn a_file_that_changed_is_noticed() {
    let bytes: Vec<u8> = (0..48).collect();
    let mode = Mode::Gcm { nonce: [1; 12] };
    let mut other_tag = bytes.clone();
    other_tag[40] ^= 1;
    // contents that a writer may have left in between
    for found in [
        &bytes[..],
        &bytes[..47],
        &[&bytes[..], &[0]].concat(),
        &other_tag,
    ] {
        let file = file(&bytes);
        let part = AesFile::open(file.path(), mode).unwrap();
        part.finish().unwrap();
        fs::write(file.path(), found).unwrap();
        // the clock of the file system may be slow
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
        file.as_file().set_modified(later).unwrap();
        assert!(part.finish().is_err());
    }
    let file = file(&bytes);
    let part = AesFile::open(file.path(), Mode::Ctr { iv: [0; 16] }).unwrap();
    fs::write(file.path(), &bytes[..30]).unwrap();
    let error = part.read(1, 2).unwrap_err().to_string();
    assert!(error.contains("changed while it was read"), "{error}");
}

/// Many parts give the cipher's input of each, and its mask, zeros for a part without a mask.
#[test]
fn parts_follow_each_other() {
    let iv = [7; 16];
    let text = |len: usize| (0..len).map(|i| (i * i / 3) as u8).collect::<Vec<u8>>();
    let lengths = [33, 17, 0, 16, 80];
    for modes in [
        [Mode::Ctr { iv }, Mode::Cfb { iv }],
        [Mode::Ecb, Mode::Cbc { iv }],
    ] {
        let parts = lengths.iter().enumerate().map(|(i, len)| {
            let mode = modes[i % 2];
            let len = match mode.whole_blocks() {
                true => len / 16 * 16,
                false => *len,
            };
            AesFile::of(Memory::new(text(len), format!("{i}")), mode).unwrap()
        });
        let message = AesInput::new(parts.collect());
        let mut whole = PublicBlocks::default();
        for part in message.parts() {
            let (before, blocks) = part.read(0, part.blocks() as usize).unwrap();
            assert_eq!(before, None);
            whole.add(part.mode(), 0, None, &blocks);
        }
        let blocks = message.blocks() as usize;
        assert_eq!((whole.input.len(), whole.mask.len()), (blocks, blocks));
        assert_eq!(message.split(4).blocks(), blocks as u64);
        for first in 0..blocks {
            for count in 0..=blocks - first {
                let found = message.read(first as u64, count).unwrap();
                assert_eq!(found.input, whole.input[first..first + count]);
                let expected = &whole.mask[first..first + count];
                match found.mask.is_empty() {
                    true => assert!(expected.iter().all(|block| *block == [0; 16])),
                    false => assert_eq!(found.mask, expected),
                }
            }
        }
        message.finish().unwrap();
    }
}

#[test]
fn open_files_are_read_from_their_start() {
    let file = file(&[7; 48]);
    let mut handle = file.reopen().unwrap();
    handle.seek(SeekFrom::Start(40)).unwrap();
    let path = Path::new("standard input");
    let part = AesFile::of(FileSource::of(handle, path).unwrap(), Mode::Ecb).unwrap();
    assert_eq!((part.bytes(), part.path()), (48, path));
    let part = AesFile::open(file.path(), Mode::Gcm { nonce: [7; 12] }).unwrap();
    // associated data is bounded and belongs to GCM
    let ecb = AesFile::open(file.path(), Mode::Ecb).unwrap();
    assert!(ecb.with_aad(vec![1]).is_err());
    assert!(part.clone().with_aad(vec![0; MAX_AAD_BYTES]).is_ok());
    assert!(part.with_aad(vec![0; MAX_AAD_BYTES + 1]).is_err());
    // not every system opens folders
    if let Ok(folder) = File::open(std::env::temp_dir()) {
        assert!(FileSource::of(folder, path).is_err());
    }
}

#[test]
fn described_parts_are_the_ones_that_were_opened() {
    let bytes: Vec<u8> = (0..64).collect();
    let memory = || Memory::new(bytes.clone(), "m");
    let nonce = [1; 12];
    let opened = [
        AesFile::of(memory(), Mode::Ecb).unwrap(),
        AesFile::of(memory(), Mode::Ctr { iv: [7; 16] }).unwrap(),
        AesFile::of(memory(), Mode::Gcm { nonce }).unwrap(),
        AesFile::with_nonce(memory())
            .unwrap()
            .with_aad(vec![5])
            .unwrap(),
    ];
    for part in opened {
        let meta = part.meta.clone();
        let again = AesFile::described(memory(), part.offset(), &meta).unwrap();
        assert_eq!(again.meta, meta);
        assert_eq!(again.digest().unwrap(), part.digest().unwrap());
        again.finish().unwrap();
        // another length or tag, or no tag where one is needed
        let (mut shorter, mut other) = (meta.clone(), meta.clone());
        shorter.bytes -= 16;
        other.tag = meta.tag.map_or(Some([0; 16]), |_| None);
        let offset = part.offset();
        for (offset, meta) in [(offset, shorter), (offset, other), (u64::MAX, meta)] {
            assert!(AesFile::described(memory(), offset, &meta).is_err());
        }
    }
}

/// Its bytes change after some reads.
struct Changing {
    bytes: u64,
    reads: AtomicUsize,
    from: usize,
}

impl Changing {
    fn new(bytes: u64, from: usize) -> Self {
        let reads = AtomicUsize::new(0);
        Self { bytes, reads, from }
    }
}

impl Source for Changing {
    fn name(&self) -> &Path {
        Path::new("changing")
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let read = self.reads.fetch_add(1, Ordering::Relaxed);
        into.fill(if read < self.from { offset as u8 } else { 0xff });
        Ok(())
    }

    fn is_whole(&self) -> io::Result<bool> {
        Ok(self.reads.load(Ordering::Relaxed) <= self.from)
    }
}

#[test]
fn bytes_that_change_are_not_handed_out() {
    let source = Changing::new(160, 3);
    let message = AesInput::from(AesFile::raw(source, Mode::Ctr { iv: [0; 16] }).unwrap());
    let mut batches = Batches::new(&message, message.split(1), 0..10);
    assert_eq!(batches.window(3).unwrap().len(), 3);
    let error = batches.window(1).unwrap_err().to_string();
    assert!(error.contains("changing: it changed"), "{error}");
}

#[test]
fn held_ciphertext_is_what_its_digest_is_of() {
    let iv = [3; 16];
    let text: Vec<u8> = (0..160).collect();
    for mode in [
        Mode::Ecb,
        Mode::Cbc { iv },
        Mode::Ctr { iv },
        Mode::Cfb { iv },
    ] {
        let parts = [&text[..64], &[], &text[64..96], &text[96..]];
        let parts = parts.iter().enumerate().map(|(number, part)| {
            let part = Memory::new(part.to_vec(), format!("part {number}"));
            (number.to_string(), AesFile::of(part, mode).unwrap())
        });
        let message = AesInput::of_parts(parts).unwrap();
        let mut digests = HashSet::new();
        for blocks in [0..10, 0..1, 1..2, 3..7, 4..6, 9..10, 5..5] {
            let (held, digest) = message.held(blocks.clone()).unwrap();
            assert_eq!(digest, message.digest_of(blocks.clone()).unwrap());
            let count = (blocks.end - blocks.start) as usize;
            let of = |message: &AesInput| message.read(blocks.start, count).unwrap();
            assert_eq!(of(&held), of(&message));
            held.finish().unwrap();
            assert!(digests.insert(digest), "{blocks:?}");
        }
        let source = |from| Changing::new(160, from);
        // the head is not read
        let right = AesInput::from(AesFile::raw(source(usize::MAX), mode).unwrap());
        let changed = AesInput::from(AesFile::raw(source(1), mode).unwrap());
        let (held, digest) = changed.held(2..4).unwrap();
        assert_eq!(digest, right.digest_of(2..4).unwrap());
        assert_ne!(digest, changed.digest_of(2..4).unwrap());
        assert_eq!(held.read(2, 2).unwrap(), right.read(2, 2).unwrap());
    }
}
