//! The input of a run, checked before any work starts.

use crate::batch::{Batches, Split};
use crate::{Error, Result};
use homaes_aes::mode::MAX_GCM_BYTES;
use homaes_aes::{Block, Mode};
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Longest associated data that a run carries: 1 MiB.
pub const MAX_AAD_BYTES: usize = 1 << 20;

/// Length of a GCM tag; shorter ones are not taken.
const TAG_BYTES: u64 = 16;

/// An AES-encrypted file and how it was encrypted.
///
/// | mode | content of the file | length of the message |
/// |---|---|---|
/// | ECB, CBC | ciphertext | a multiple of 16 bytes, 0 included |
/// | CFB, CTR | ciphertext | any; at most 2^36 bytes for counters of 32 bits |
/// | GCM | ciphertext ‖ tag, or nonce ‖ ciphertext ‖ tag | at most 2^36 - 32 bytes, 0 included |
///
/// The tag of GCM (16 bytes) and the associated data ([`with_aad`](Self::with_aad)) are carried into the `.hct` file:
/// they can be checked only with the AES key, at decryption.
#[derive(Debug)]
pub struct Job {
    path: PathBuf,
    /// At the start of the ciphertext.
    file: File,
    bytes: u64,
    public: Public,
}

/// What is public about a message beside its ciphertext.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Public {
    pub(crate) mode: Mode,
    /// There for GCM only.
    pub(crate) tag: Option<Block>,
    /// Empty for other modes than GCM.
    pub(crate) aad: Vec<u8>,
}

impl Job {
    /// Opens a file that was encrypted in `mode`. In GCM it ends with the tag.
    ///
    /// # Errors
    /// [`Error::MessageLength`] if its length does not fit the mode; [`Error::Io`] if the file cannot be read or is not a
    /// regular file: its length must be known in advance.
    pub fn open(path: impl AsRef<Path>, mode: Mode) -> Result<Self> {
        let path = path.as_ref();
        let (file, bytes) = open(path)?;
        Self::with(path, file, bytes, mode)
    }

    /// Opens a file that was encrypted in GCM and begins with the nonce (12 bytes) and ends with the tag.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with_nonce(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (file, found) = open(path)?;
        Self::with_nonce(path, file, found)
    }

    /// `found` bytes are in the file, the nonce first.
    fn with_nonce(path: &Path, mut file: File, found: u64) -> Result<Self> {
        let mut nonce = [0; 12];
        let bytes = found.checked_sub(nonce.len() as u64 + TAG_BYTES);
        let bytes = bytes.ok_or_else(|| {
            let expected = "at least 28: a nonce of 12 bytes, the ciphertext and a tag of 16";
            length(path, "gcm", found, expected)
        })?;
        file.read_exact(&mut nonce)
            .map_err(|source| Error::io(path, source))?;
        Self::with(path, file, bytes + TAG_BYTES, Mode::Gcm { nonce })
    }

    /// As [`open`](Self::open), from the start of a regular file that is open already; `name` names it in errors.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_file(file: File, name: impl AsRef<Path>, mode: Mode) -> Result<Self> {
        let (file, bytes) = whole(file, name.as_ref())?;
        Self::with(name.as_ref(), file, bytes, mode)
    }

    /// As [`open_with_nonce`](Self::open_with_nonce), from the start of a regular file that is open already; `name` names
    /// it in errors.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_file_with_nonce(file: File, name: impl AsRef<Path>) -> Result<Self> {
        let (file, bytes) = whole(file, name.as_ref())?;
        Self::with_nonce(name.as_ref(), file, bytes)
    }

    /// Adds the associated data of GCM, which the tag covers.
    ///
    /// # Errors
    /// [`Error::Aad`] for another mode, or if there are more than [`MAX_AAD_BYTES`].
    pub fn with_aad(mut self, aad: Vec<u8>) -> Result<Self> {
        if self.public.tag.is_none() || aad.len() > MAX_AAD_BYTES {
            return Err(Error::Aad {
                mode: self.public.mode.name(),
                found: aad.len(),
                expected: MAX_AAD_BYTES,
            });
        }
        self.public.aad = aad;
        Ok(self)
    }

    /// `left` bytes are left in the file.
    fn with(path: &Path, mut file: File, left: u64, mode: Mode) -> Result<Self> {
        let error = |expected| Err(length(path, mode.name(), left, expected));
        let (mut bytes, mut tag) = (left, None);
        if let Mode::Gcm { .. } = mode {
            let Some(message) = left.checked_sub(TAG_BYTES) else {
                return error("at least 16: the ciphertext and a tag of 16 bytes");
            };
            if message > MAX_GCM_BYTES {
                return error("at most 2^36 - 32 of a message, and a tag of 16");
            }
            let read = read_tag(&mut file, message);
            tag = Some(read.map_err(|source| Error::io(path, source))?);
            bytes = message;
        } else if mode.whole_blocks() && !left.is_multiple_of(16) {
            return error("a multiple of 16");
        } else if left > mode.most_bytes() {
            return error("at most 2^36, after which its counter would come again");
        }
        let aad = Vec::new();
        Ok(Self {
            path: path.to_owned(),
            file,
            bytes,
            public: Public { mode, tag, aad },
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The mode with its public parameters.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.public.mode
    }

    /// Length of the message.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn public(&self) -> &Public {
        &self.public
    }

    /// The file's batches.
    pub(crate) fn batches(self, split: Split) -> Batches<BufReader<File>> {
        let trailer = self.public.tag.map_or_else(Vec::new, |tag| tag.to_vec());
        Batches::new(BufReader::new(self.file), self.path, split).with_trailer(trailer)
    }
}

/// A regular file and its length.
fn open(path: &Path) -> Result<(File, u64)> {
    let error = |source| Error::io(path, source);
    // Asked before opening: opening a pipe would wait for its writer.
    if !fs::metadata(path).map_err(error)?.is_file() {
        return Err(not_regular(path));
    }
    whole(File::open(path).map_err(error)?, path)
}

/// The file at its start, and its length.
fn whole(mut file: File, path: &Path) -> Result<(File, u64)> {
    let error = |source| Error::io(path, source);
    let data = file.metadata().map_err(error)?;
    if !data.is_file() {
        return Err(not_regular(path));
    }
    file.rewind().map_err(error)?;
    Ok((file, data.len()))
}

fn not_regular(path: &Path) -> Error {
    let error = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
    Error::io(path, error)
}

/// The tag after `message` bytes; the file stays where it is.
fn read_tag(file: &mut File, message: u64) -> io::Result<Block> {
    let start = file.stream_position()?;
    let mut tag = [0; 16];
    file.seek(SeekFrom::Start(start + message))?;
    file.read_exact(&mut tag)?;
    file.seek(SeekFrom::Start(start))?;
    Ok(tag)
}

fn length(path: &Path, mode: &'static str, found: u64, expected: &'static str) -> Error {
    Error::MessageLength {
        path: path.to_owned(),
        mode,
        found,
        expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let bytes = |mode| Job::open(file.path(), mode).ok().map(|job| job.bytes());
            let whole = len.is_multiple_of(16).then_some(len as u64);
            assert_eq!(bytes(Mode::Ecb), whole);
            assert_eq!(bytes(Mode::Cbc { iv }), whole);
            assert_eq!(bytes(Mode::Ctr { iv }), Some(len as u64));
            let tagged = len.checked_sub(16).map(|len| len as u64);
            assert_eq!(bytes(Mode::Gcm { nonce: [1; 12] }), tagged);
            let own = Job::open_with_nonce(file.path()).ok();
            let expected = len.checked_sub(28).map(|len| len as u64);
            assert_eq!(own.map(|job| job.bytes()), expected);
        }
    }

    #[test]
    fn too_long_gcm_messages_are_refused() {
        let file = file(b"");
        let mode = Mode::Gcm { nonce: [1; 12] };
        let handle = file.reopen().unwrap();
        let grown = handle.set_len(MAX_GCM_BYTES + 17);
        // Not every file system has room for a sparse file.
        if grown.is_ok() {
            let error = Job::open(file.path(), mode).unwrap_err();
            assert!(error.to_string().contains("2^36 - 32"), "{error}");
            handle.set_len(MAX_GCM_BYTES + 16).unwrap();
            assert_eq!(Job::open(file.path(), mode).unwrap().bytes(), MAX_GCM_BYTES);
        }
    }

    #[test]
    fn nonce_and_tag_are_read_from_the_file() {
        let bytes: Vec<u8> = (0..48).collect();
        let file = file(&bytes);
        let job = Job::open_with_nonce(file.path()).unwrap();
        let nonce = core::array::from_fn(|i| i as u8);
        assert_eq!((job.mode(), job.bytes()), (Mode::Gcm { nonce }, 20));
        let job = job.with_aad(vec![1]).unwrap();
        assert_eq!(job.public().tag.unwrap()[..], bytes[32..]);
        assert_eq!(job.public().aad, [1]);
        let split = Split {
            bytes: job.bytes(),
            blocks_per_batch: 9,
        };
        let mut batches = job.batches(split);
        let batch = &batches.window(1).unwrap()[0];
        assert_eq!(batch.blocks.as_flattened()[..20], bytes[12..32]);
        batches.finish().unwrap();
    }

    #[test]
    fn open_files_are_read_from_their_start() {
        let file = file(&[7; 48]);
        let mut handle = file.reopen().unwrap();
        handle.seek(SeekFrom::Start(40)).unwrap();
        let other = || handle.try_clone().unwrap();
        let job = Job::from_file(other(), "standard input", Mode::Ecb).unwrap();
        assert_eq!((job.bytes(), job.path()), (48, Path::new("standard input")));
        let job = Job::from_file_with_nonce(other(), "standard input").unwrap();
        assert_eq!(
            (job.bytes(), job.mode()),
            (20, Mode::Gcm { nonce: [7; 12] })
        );
        let folder = File::open(std::env::temp_dir());
        // Not every system opens folders.
        if let Ok(folder) = folder {
            assert!(Job::from_file(folder, "f", Mode::Ecb).is_err());
        }
    }

    #[test]
    fn associated_data_belongs_to_gcm_and_is_bounded() {
        let file = file(&[0; 32]);
        let open = |mode| Job::open(file.path(), mode).unwrap();
        assert!(open(Mode::Ecb).with_aad(vec![1]).is_err());
        let gcm = || open(Mode::Gcm { nonce: [0; 12] });
        assert!(gcm().with_aad(vec![0; MAX_AAD_BYTES]).is_ok());
        assert!(gcm().with_aad(vec![0; MAX_AAD_BYTES + 1]).is_err());
    }
}
