//! The input of a run, checked before the work starts: a message of one part, or of many that share batches.

use crate::error::foreign::{Foreign, HEAD_BYTES};
use crate::error::{At, quoted};
use crate::input::counters::overlap;
use crate::input::part_meta::{MAX_AAD_BYTES, MAX_PARTS_BYTES, PartKey, PartMeta, check_names};
use crate::input::places::{Piece, Places};
use crate::input::source::{CachedSource, FileSource, Source};
use crate::input::split::Split;
use crate::{Error, ErrorKind, Result};
use homaes_aes::{Block, Mode};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Length of a GCM tag; shorter tags are refused.
const TAG_BYTES: u64 = 16;

const NONCE_BYTES: u64 = 12;

const PIECE_BYTES: u64 = 1 << 20;

/// One AES ciphertext and how it was encrypted.
///
/// | mode | content | length of the message |
/// |---|---|---|
/// | ECB, CBC | ciphertext | a multiple of 16 bytes, 0 included |
/// | CFB, CTR | ciphertext | any; at most 2^36 bytes for counters of 32 bits |
/// | GCM | ciphertext ‖ tag, or nonce ‖ ciphertext ‖ tag | at most 2^36 - 32 bytes, 0 included |
///
/// The GCM tag (16 bytes) and the associated data ([`with_aad`](Self::with_aad)) are carried into the `.hct` file,
/// because they can be checked only at decryption, with the AES key.
#[derive(Clone)]
pub struct AesFile {
    source: Arc<dyn Source>,
    /// Offset of the ciphertext in the source.
    offset: u64,
    meta: PartMeta,
    /// The name of its AES key, if it was given.
    key: Option<String>,
}

impl AesFile {
    /// Opens a file encrypted in `mode`. A GCM file ends with the tag.
    ///
    /// # Errors
    /// `ErrorKind::Foreign` if it begins like another format, `ErrorKind::MessageLength` if its length does not fit the
    /// mode; [`Error::Io`] if the file cannot be read or is not a regular file, whose length is known in advance.
    pub fn open(path: impl AsRef<Path>, mode: Mode) -> Result<Self> {
        Self::of(FileSource::open(path.as_ref())?, mode)
    }

    /// As [`open`](Self::open), for a GCM file that begins with the nonce (12 bytes) and ends with the tag.
    pub fn open_with_nonce(path: impl AsRef<Path>) -> Result<Self> {
        Self::with_nonce(FileSource::open(path.as_ref())?)
    }

    /// The whole of a source encrypted in `mode`. A GCM source ends with the tag.
    ///
    /// # Errors
    /// `ErrorKind::Foreign` if it begins like another format, `ErrorKind::MessageLength` if its length does not fit the
    /// mode; [`Error::Io`].
    pub fn of(source: impl Source + 'static, mode: Mode) -> Result<Self> {
        refuse_foreign(&source)?;
        Self::raw(source, mode)
    }

    /// As [`of`](Self::of), without `ErrorKind::Foreign`: the source may begin like another format.
    pub fn raw(source: impl Source + 'static, mode: Mode) -> Result<Self> {
        Self::with(Arc::new(source), 0, mode)
    }

    /// As [`of`](Self::of), for a GCM source that begins with the nonce (12 bytes) and ends with the tag.
    pub fn with_nonce(source: impl Source + 'static) -> Result<Self> {
        refuse_foreign(&source)?;
        Self::raw_with_nonce(source)
    }

    /// As [`with_nonce`](Self::with_nonce), without `ErrorKind::Foreign`: the source may begin like another format.
    pub fn raw_with_nonce(source: impl Source + 'static) -> Result<Self> {
        let found = source.bytes();
        if found < NONCE_BYTES + TAG_BYTES {
            let expected = "at least 28: a nonce of 12 bytes, the ciphertext and a tag of 16";
            return Err(length(source.name(), "gcm", found, expected));
        }
        let mut nonce = [0; NONCE_BYTES as usize];
        source.read_at(0, &mut nonce).at(source.name())?;
        Self::with(Arc::new(source), NONCE_BYTES, Mode::Gcm { nonce })
    }

    /// A part whose properties are known, so that nothing is read. `source` from `offset` on has the mode, tag,
    /// associated data and length of `meta`; its name and place are ignored.
    ///
    /// # Errors
    /// `ErrorKind::MessageLength` if the length does not fit the mode or the source; `ErrorKind::Argument`.
    pub fn described(source: impl Source + 'static, offset: u64, meta: &PartMeta) -> Result<Self> {
        let PartMeta { mode, bytes, .. } = *meta;
        let gcm = matches!(mode, Mode::Gcm { .. });
        let all = offset
            .checked_add(bytes)
            .and_then(|end| end.checked_add(if gcm { TAG_BYTES } else { 0 }));
        if gcm != meta.tag.is_some() || all != Some(source.bytes()) {
            let expected = "the ciphertext, and in mode gcm a tag of 16 bytes";
            return Err(length(source.name(), mode.name(), source.bytes(), expected));
        }
        let part = Self::of_length(Arc::new(source), offset, bytes, mode, meta.tag)?;
        match meta.aad.is_empty() {
            true => Ok(part),
            false => part.with_aad(meta.aad.clone()),
        }
    }

    /// A part without associated data, if the mode allows the length.
    fn of_length(
        source: Arc<dyn Source>,
        offset: u64,
        bytes: u64,
        mode: Mode,
        tag: Option<Block>,
    ) -> Result<Self> {
        let expected = match mode {
            _ if mode.whole_blocks() && !bytes.is_multiple_of(16) => "a multiple of 16",
            _ if bytes <= mode.most_bytes() => {
                let meta = PartMeta {
                    tag,
                    ..PartMeta::new(mode, bytes)
                };
                return Ok(Self {
                    source,
                    offset,
                    meta,
                    key: None,
                });
            }
            Mode::Gcm { .. } => "at most 2^36 - 32 of a message, and a tag of 16",
            _ => "at most 2^36, after which its counter would come again",
        };
        let found = bytes + tag.map_or(0, |_| TAG_BYTES);
        Err(length(source.name(), mode.name(), found, expected))
    }

    /// Adds the associated data of GCM, which the tag covers.
    ///
    /// # Errors
    /// `ErrorKind::Argument` for another mode, or for more than [`MAX_AAD_BYTES`].
    pub fn with_aad(mut self, aad: Vec<u8>) -> Result<Self> {
        if self.meta.tag.is_none() || aad.len() > MAX_AAD_BYTES {
            let (found, mode) = (aad.len(), self.mode().name());
            let message = format!(
                "{found} bytes of associated data with mode {mode}, expected at most {MAX_AAD_BYTES} and mode gcm"
            );
            let error = Error::refused(ErrorKind::Argument, message);
            return Err(error.with(found, MAX_AAD_BYTES));
        }
        self.meta.aad = aad;
        Ok(self)
    }

    /// Names the AES key of the part, for a wrapped key that holds many. Without it, the name is the first folder of
    /// the part's name.
    #[must_use]
    pub fn under(self, key: impl Into<String>) -> Self {
        let key = Some(key.into());
        Self { key, ..self }
    }

    /// The name of its AES key: the one given, or the first folder of the part's name.
    fn key_name(&self) -> Option<&str> {
        self.key.as_deref().or_else(|| self.meta.folder())
    }

    fn with(source: Arc<dyn Source>, offset: u64, mode: Mode) -> Result<Self> {
        let left = source.bytes() - offset;
        let gcm = matches!(mode, Mode::Gcm { .. });
        let bytes = left.checked_sub(if gcm { TAG_BYTES } else { 0 });
        let bytes = bytes.ok_or_else(|| {
            let expected = "at least 16: the ciphertext and a tag of 16 bytes";
            length(source.name(), mode.name(), left, expected)
        })?;
        let tag = gcm.then_some([0; 16]);
        let mut part = Self::of_length(source, offset, bytes, mode, tag)?;
        if gcm {
            part.meta.tag = Some(part.read_tag().at(part.path())?);
        }
        Ok(part)
    }

    /// The file, or the name of another source.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.source.name()
    }

    /// The mode with its public parameters.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.meta.mode
    }

    /// Length of the message.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.meta.bytes
    }

    /// AES blocks; the last one may be partial.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.meta.blocks()
    }

    /// Offset of the ciphertext in its source.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    fn read_tag(&self) -> io::Result<Block> {
        let mut tag = [0; TAG_BYTES as usize];
        self.source.read_at(self.offset + self.bytes(), &mut tag)?;
        Ok(tag)
    }

    /// Reads `count` blocks from block `first` on, and the one before them, if any; the message's last block is filled
    /// up with zeros.
    pub(crate) fn read(&self, first: u64, count: usize) -> Result<(Option<Block>, Vec<Block>)> {
        let window = self.window(first..first + count as u64);
        let mut blocks = vec![[0; 16]; count + usize::from(first > 0)];
        let len = (window.end - window.start) as usize;
        self.fill(window.start, &mut blocks.as_flattened_mut()[..len])?;
        let before = (first > 0).then(|| blocks.remove(0));
        Ok((before, blocks))
    }

    /// The bytes that [`read`](Self::read) reads.
    fn window(&self, blocks: Range<u64>) -> Range<u64> {
        16 * blocks.start.saturating_sub(1)..self.bytes().min(16 * blocks.end)
    }

    /// The same part, with some of its bytes in memory.
    fn held(&self, from: u64, bytes: Vec<u8>) -> Self {
        let (inner, from) = (Arc::clone(&self.source), self.offset + from);
        let held = CachedSource { inner, from, bytes };
        Self {
            source: Arc::new(held),
            ..self.clone()
        }
    }

    /// BLAKE3 of the ciphertext.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn digest(&self) -> Result<[u8; 32]> {
        let mut hasher = blake3::Hasher::new();
        let mut piece = vec![0; PIECE_BYTES.min(self.bytes()) as usize];
        let mut at = 0;
        while at < self.bytes() {
            let len = PIECE_BYTES.min(self.bytes() - at);
            let some = &mut piece[..len as usize];
            self.fill(at, some)?;
            hasher.update(some);
            at += len;
        }
        Ok(hasher.finalize().into())
    }

    fn fill(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let read = self.source.read_at(self.offset + at, into);
        read.map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => self.error(changed()),
            _ => self.error(source),
        })
    }

    /// Checks that the source still ends in the same way, right after the message.
    pub(crate) fn finish(&self) -> Result<()> {
        let same_tag = match self.meta.tag {
            None => Ok(true),
            tag => self.read_tag().map(|found| Some(found) == tag),
        };
        let whole = self
            .source
            .is_whole()
            .and_then(|whole| Ok(whole && same_tag?));
        match whole {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.error(changed())),
            Err(source) => Err(self.error(source)),
        }
    }

    fn error(&self, source: io::Error) -> Error {
        Error::io(self.source.name(), source)
    }
}

/// Parts, one after the other, under one AES key, or each under one of a wrapped key's many. Each starts on a block; a
/// batch may hold blocks of several parts.
#[derive(Debug, Clone)]
pub struct AesInput {
    parts: Vec<AesFile>,
    read: Range<usize>,
    /// The places in batches under many AES keys.
    places: Option<Places>,
}

impl From<AesFile> for AesInput {
    fn from(part: AesFile) -> Self {
        Self::new(vec![part])
    }
}

impl AesInput {
    fn new(mut parts: Vec<AesFile>) -> Self {
        let mut next = 0;
        for part in &mut parts {
            part.meta.first_block = next;
            next += part.blocks();
        }
        let read = 0..parts.len();
        let places = None;
        Self {
            parts,
            read,
            places,
        }
    }

    /// Parts with names, which become paths below a folder when the parts are decrypted; `/` separates folders.
    ///
    /// # Errors
    /// `ErrorKind::PartNames` if there are none, or a name is invalid or occurs twice.
    pub fn of_parts(parts: impl IntoIterator<Item = (String, AesFile)>) -> Result<Self> {
        let named = parts.into_iter().map(|(name, mut part)| {
            part.meta.name = Some(name);
            part
        });
        let message = Self::new(named.collect());
        let metas = || message.parts.iter().map(|part| &part.meta);
        let checked = check_names(metas().filter_map(|meta| meta.name.as_deref()));
        // upper bound on the table of parts
        let bytes =
            metas().map(|meta| 128 + meta.name.as_ref().map_or(0, String::len) + meta.aad.len());
        let bytes: usize = bytes.sum();
        let (kind, found, expected) = match checked {
            Err((name, expected)) => (ErrorKind::PartNames, quoted(name), expected),
            Ok(()) if message.parts.is_empty() => {
                (ErrorKind::Argument, "none".to_owned(), "at least one part")
            }
            Ok(()) if bytes as u64 > MAX_PARTS_BYTES => {
                let found = format!("{bytes} bytes of names and associated data");
                (ErrorKind::PartNames, found, "256 MiB at most")
            }
            Ok(()) => return Ok(message),
        };
        let message = format!("parts of a message: found {found}, expected {expected}");
        Err(Error::refused(kind, message))
    }

    /// The same message under the AES keys of a wrapped key with these names.
    ///
    /// # Errors
    /// `ErrorKind::KeyName` if a part names none of them.
    pub(crate) fn under(mut self, names: &[String], blocks_per_batch: u64) -> Result<Self> {
        let numbers: HashMap<&str, u64> = names.iter().map(|name| &**name).zip(0..).collect();
        for part in &mut self.parts {
            let name = part.key_name().ok_or_else(|| no_key_name(part))?;
            let number = numbers.get(name);
            let number = *number.ok_or_else(|| other_key_name(part, name, names))?;
            let other = part
                .meta
                .folder_of_other(name, |name| numbers.contains_key(name));
            if let Some(folder) = other {
                let (found, expected) = (quoted(name), quoted(folder));
                let message = format!(
                    "the AES key of this part: found {found}, expected {expected}, which its first folder names"
                );
                let error = Error::refused(ErrorKind::KeyName, message);
                return Err(error.with(found, expected).at(part.path()));
            }
            let name = name.to_owned();
            part.meta.key = Some(PartKey { name, number });
        }
        self.places = Places::of(names.len() as u64, blocks_per_batch, &self.meta());
        match self.places {
            Some(_) => Ok(self),
            None => Err(Error::refused(
                ErrorKind::Argument,
                "the message is longer than 2^64 bytes",
            )),
        }
    }

    /// The AES key that a part names, although the wrapped key holds only one.
    pub(crate) fn named_key(&self) -> Option<&str> {
        self.parts.iter().find_map(|part| part.key.as_deref())
    }

    pub(crate) fn places(&self) -> Option<&Places> {
        self.places.as_ref()
    }

    pub(crate) fn meta(&self) -> Vec<PartMeta> {
        self.parts.iter().map(|part| part.meta.clone()).collect()
    }

    /// Bytes of all parts.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(AesFile::bytes).sum()
    }

    /// BLAKE3 of the ciphertext of each part; reads all of them.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn digests(&self) -> Result<Vec<[u8; 32]>> {
        self.parts.iter().map(AesFile::digest).collect()
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.parts.iter().map(AesFile::path)
    }

    /// Whether two parts under one AES key put the same counter block, or the same IV of CFB, into the cipher. This
    /// happens if files share a nonce or if their nonces are closer than the files are long, and reveals to anybody how
    /// the messages differ. `own_keys`: each part is under the key it names, otherwise all are under one.
    #[must_use]
    pub fn shares_counters(&self, own_keys: bool) -> bool {
        let mut by_key: BTreeMap<_, Vec<(Mode, u64)>> = BTreeMap::new();
        for part in &self.parts {
            let key = part.key_name().filter(|_| own_keys);
            let blocks = (part.mode(), part.blocks());
            by_key.entry(key).or_default().push(blocks);
        }
        by_key.into_values().any(|parts| overlap(parts.into_iter()))
    }

    /// The parts in their order.
    #[must_use]
    pub fn parts(&self) -> &[AesFile] {
        &self.parts
    }

    /// AES blocks of all parts.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.parts.iter().map(AesFile::blocks).sum()
    }

    /// Cuts the message into batches. Every part counts with its last block filled up, except the last part.
    pub(crate) fn split(&self, blocks_per_batch: u64) -> Split {
        if let Some(places) = &self.places {
            return places.split();
        }
        let last = self.parts.last().map_or(0, AesFile::bytes);
        let missing = last.wrapping_neg() % 16;
        Split {
            bytes: 16 * self.blocks() - missing,
            blocks_per_batch,
        }
    }

    /// Numbers of the parts that have blocks in `blocks`; of all parts, if they are under many AES keys.
    #[must_use]
    pub fn parts_of(&self, blocks: Range<u64>) -> Range<usize> {
        if self.places.is_some() {
            return 0..self.parts.len();
        }
        let start = |part: &AesFile| part.meta.first_block;
        let first = self
            .parts
            .partition_point(|part| start(part) <= blocks.start);
        let end = self.parts.partition_point(|part| start(part) < blocks.end);
        first.saturating_sub(1)..end.max(first.saturating_sub(1))
    }

    /// `count` blocks from `first` on. Under many AES keys, these must be whole batches of results; only the last may
    /// be short.
    pub(crate) fn read(&self, first: u64, count: usize) -> Result<PublicBlocks> {
        let each = self
            .places
            .as_ref()
            .map(|places| places.split().blocks_per_batch);
        let each = each.map_or(count, |each| each as usize);
        if count <= each {
            return self.read_batch(first, count);
        }
        let mut out = PublicBlocks::default();
        for start in (0..count).step_by(each) {
            let end = count.min(start + each);
            let batch = self.read_batch(first + start as u64, end - start)?;
            out.input.extend(batch.input);
            out.input.resize(end, [0; 16]);
            if !batch.mask.is_empty() {
                out.mask.resize(start, [0; 16]);
                out.mask.extend(batch.mask);
            }
        }
        if !out.mask.is_empty() {
            out.mask.resize(count, [0; 16]);
        }
        Ok(out)
    }

    fn read_batch(&self, first: u64, count: usize) -> Result<PublicBlocks> {
        let mut out = PublicBlocks::default();
        for (number, own, positions) in self.pieces(first..first + count as u64) {
            let part = &self.parts[number];
            let (before, text) = part.read(own.start, (own.end - own.start) as usize)?;
            let Some(piece) = positions else {
                out.add(part.mode(), own.start, before, &text);
                continue;
            };
            out.input.resize(count, [0; 16]);
            let mut of_part = PublicBlocks::default();
            of_part.add(part.mode(), own.start, before, &text);
            if !of_part.mask.is_empty() {
                out.mask.resize(count, [0; 16]);
            }
            for (at, position) in piece.positions().enumerate() {
                out.input[position] = of_part.input[at];
                if let Some(&mask) = of_part.mask.get(at) {
                    out.mask[position] = mask;
                }
            }
        }
        Ok(out)
    }

    /// The parts in `blocks`, by their numbers, with the blocks' numbers in each part; under many AES keys, where
    /// `blocks` are whole batches, with their positions in the first one.
    fn pieces(
        &self,
        blocks: Range<u64>,
    ) -> Box<dyn Iterator<Item = (usize, Range<u64>, Option<Piece>)> + '_> {
        if let Some(places) = &self.places {
            let pieces = places.pieces(places.batches(&blocks));
            return Box::new(pieces.map(|piece| (piece.part, piece.own.clone(), Some(piece))));
        }
        Box::new(self.parts_of(blocks.clone()).filter_map(move |number| {
            let part = &self.parts[number];
            let start = part.meta.first_block;
            let end = blocks.end.min(start + part.blocks());
            let first = blocks.start.max(start);
            (first < end).then(|| (number, first - start..end - start, None))
        }))
    }

    /// Passes on the ciphertext needed for `blocks`, part by part with its offset there; returns BLAKE3 of all of it.
    fn ciphertext(
        &self,
        blocks: Range<u64>,
        mut each: impl FnMut(usize, u64, Vec<u8>),
    ) -> Result<[u8; 32]> {
        let mut hasher = blake3::Hasher::new();
        for (number, own, _) in self.pieces(blocks) {
            let part = &self.parts[number];
            let window = part.window(own);
            let mut bytes = vec![0; (window.end - window.start) as usize];
            part.fill(window.start, &mut bytes)?;
            for head in [number as u64, window.start, window.end] {
                hasher.update(&head.to_le_bytes());
            }
            hasher.update(&bytes);
            each(number, window.start, bytes);
        }
        Ok(hasher.finalize().into())
    }

    /// BLAKE3 of the ciphertext needed for `blocks`, and of its places in the parts.
    pub(crate) fn digest_of(&self, blocks: Range<u64>) -> Result<[u8; 32]> {
        self.ciphertext(blocks, |_, _, _| ())
    }

    /// The same message with the ciphertext needed for `blocks` in memory, and its [`digest_of`](Self::digest_of).
    pub(crate) fn held(&self, blocks: Range<u64>) -> Result<(Self, [u8; 32])> {
        let mut held = self.clone();
        held.read = self.parts_of(blocks.clone());
        let digest = self.ciphertext(blocks, |number, from, bytes| {
            held.parts[number] = self.parts[number].held(from, bytes);
        })?;
        Ok((held, digest))
    }

    /// Checks that the sources of `blocks` are unchanged, as far as they can tell.
    pub(crate) fn check(&self, blocks: Range<u64>) -> Result<()> {
        let mut parts = self.pieces(blocks);
        parts.try_for_each(|(number, ..)| self.parts[number].finish())
    }

    /// Checks that the sources in use still end in the same way.
    pub(crate) fn finish(&self) -> Result<()> {
        let parts = &self.parts[self.read.clone()];
        parts.iter().try_for_each(AesFile::finish)
    }
}

/// The blocks that enter the cipher, and those added to its result.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct PublicBlocks {
    pub(crate) input: Vec<Block>,
    /// empty if nothing is added
    pub(crate) mask: Vec<Block>,
}

impl PublicBlocks {
    /// Adds the blocks `text` of a part, from its block `first` on.
    fn add(&mut self, mode: Mode, first: u64, before: Option<Block>, text: &[Block]) {
        let mask = mode.mask(before, text);
        if !mask.is_empty() {
            self.mask.resize(self.input.len(), [0; 16]);
            self.mask.extend_from_slice(&mask);
        }
        self.input
            .extend_from_slice(&mode.input(first, before, text));
        if !self.mask.is_empty() {
            self.mask.resize(self.input.len(), [0; 16]);
        }
    }
}

homaes_wire::debug_fields!(AesFile, offset, meta);

fn refuse_foreign(source: &dyn Source) -> Result<()> {
    let mut head = vec![0; source.bytes().min(HEAD_BYTES) as usize];
    source.read_at(0, &mut head).at(source.name())?;
    match Foreign::of_head(&head) {
        None => Ok(()),
        Some(format) => {
            let expected = "bare AES ciphertext";
            let message = format!("starts like {format}, expected {expected}");
            let error = Error::refused(format.kind(), message);
            Err(error.with(format.to_string(), expected).at(source.name()))
        }
    }
}

fn no_key_name(part: &AesFile) -> Error {
    let message = "names no AES key, and the wrapped key holds many: put the part into a folder with the name of its \
                   key, or give key_name in the list of files";
    Error::refused(ErrorKind::KeyName, message).at(part.path())
}

fn other_key_name(part: &AesFile, found: &str, names: &[String]) -> Error {
    let (found, many) = (quoted(found), names.len());
    let first = names.first().map_or_else(String::new, |name| quoted(name));
    let expected = format!("one of the {many} names in the wrapped key, such as {first}");
    let message = format!("the AES key of this part: found {found}, expected {expected}");
    Error::refused(ErrorKind::KeyName, message)
        .with(found, expected)
        .at(part.path())
}

fn changed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it changed while it was read")
}

fn length(path: &Path, mode: &'static str, found: u64, expected: &'static str) -> Error {
    let message = format!("{found} bytes do not fit mode {mode}, expected {expected}");
    Error::refused(ErrorKind::MessageLength, message)
        .with(found, expected)
        .at(path)
}

#[cfg(test)]
mod tests;
