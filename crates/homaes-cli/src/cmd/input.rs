//! The input of a run: a file, standard input, or many files as parts of one message.

use super::lines::{bytes_of, each_object, mode_of, not_null};
use super::{STANDARD_INPUT, at, file_name, read_aad};
use crate::args::{self, is_stream, parse_iv, parse_nonce};
use crate::console::{self, Failure, fail, refuse};
use homaes::{AesFile, AesInput, Error, FileSource, Mode, Reopened};
use homaes_job::{JobError, Location, open_source};
use serde::Deserialize;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

struct How {
    /// `None`: GCM with the nonce at the start of the file.
    mode: Option<Mode>,
    /// Accepts files that begin like another format.
    raw: bool,
}

impl How {
    fn new(args: &args::Message) -> Result<Self, Failure> {
        if args.aad.is_some() && args.mode != "gcm" {
            return refuse("--aad: only mode gcm has associated data; leave it out");
        }
        // a list may give each file its own IV
        if args.iv.is_none() && args.inputs.is_empty() && args.files_from.is_some() {
            let raw = args.raw;
            return Ok(Self { mode: None, raw });
        }
        let how = Self::of(args.mode, args.iv.as_deref(), args.raw);
        how.map_err(|reason| Failure::Usage(format!("--iv: {reason}")))
    }

    fn of(mode: &str, iv: Option<&str>, raw: bool) -> Result<Self, String> {
        let no_iv = || format!("mode {mode} takes none; leave it out");
        let mode = match (mode, iv) {
            ("ecb", None) => Some(Mode::Ecb),
            ("ecb", Some(_)) => return Err(no_iv()),
            ("gcm", None) => None,
            ("gcm", Some(text)) => {
                let nonce = parse_nonce(text)?;
                Some(Mode::Gcm { nonce })
            }
            (mode, iv) => {
                let what = match mode {
                    "cbc" | "cfb" => "the initialisation vector",
                    _ => "the whole initial counter block",
                };
                let missing = || format!("missing, expected 32 hex digits: {what}");
                let iv = parse_iv(iv.ok_or_else(missing)?, what)?;
                Some(Mode::with_iv(mode, iv).ok_or_else(no_iv)?)
            }
        };
        Ok(Self { mode, raw })
    }

    fn part(&self, path: &Path) -> Result<AesFile, Failure> {
        Ok(match bucket(path)? {
            Some(location) => self.of_source(open_source(&location)?)?,
            None => self.of_source(Reopened::new(path)?)?,
        })
    }

    fn of_source(&self, source: impl homaes::Source + 'static) -> Result<AesFile, Error> {
        match (self.mode, self.raw) {
            (Some(mode), false) => AesFile::of(source, mode),
            (None, false) => AesFile::with_nonce(source),
            (Some(mode), true) => AesFile::raw(source, mode),
            (None, true) => AesFile::raw_with_nonce(source),
        }
    }
}

/// Inputs from the command line and the list. Folders are read without files at or below the paths `own`.
pub(crate) fn message(args: &args::Message, own: &[PathBuf]) -> Result<AesInput, Failure> {
    let how = How::new(args)?;
    let aad = args.aad.as_deref().map(read_aad).transpose()?;
    let aad = aad.as_deref();
    if let [input] = &args.inputs[..]
        && !input.is_dir()
        && args.files_from.is_none()
    {
        let part = with_aad(open_part(input, &how)?, aad)?;
        // for example what a failed command sent through a pipe
        if part.bytes() == 0 {
            console::warn("the input is empty; check that its encryption succeeded");
        }
        return Ok(part.into());
    }
    let mut parts = Vec::new();
    for input in &args.inputs {
        if is_stream(input) {
            return refuse("standard input cannot be one of several inputs; give files");
        }
        let mut files = Vec::new();
        match input.is_dir() {
            true => files_below(input, "", &mut files)?,
            false => files.push((file_name(input), input.clone())),
        }
        files.retain(|(_, path)| !is_own(path, own));
        if files.is_empty() {
            return fail(format!(
                "{}: no files in this folder; give AES-encrypted files",
                input.display()
            ));
        }
        for (name, path) in files {
            parts.push((name, with_aad(how.part(&path)?, aad)?));
        }
    }
    if let Some(list) = &args.files_from {
        listed(list, args, aad, &mut parts)?;
    }
    Ok(AesInput::of_parts(parts)?)
}

/// Warns if two parts under one AES key share a counter block, for example files of a folder under one --iv. `own_keys`:
/// each part is under the key it names.
pub(crate) fn warn_of_shared_counters(message: &AesInput, own_keys: bool) {
    if message.shares_counters(own_keys) {
        console::warn(
            "several parts share a counter block, so their AES ciphertexts show how the messages differ; encrypt each \
             file with its own IV",
        );
    }
}

fn is_own(path: &Path, own: &[PathBuf]) -> bool {
    let path = path.canonicalize();
    let is_below = |own: PathBuf| path.as_ref().is_ok_and(|path| path.starts_with(own));
    own.iter().any(|own| own.canonicalize().is_ok_and(is_below))
}

fn with_aad(part: AesFile, aad: Option<&[u8]>) -> Result<AesFile, Error> {
    match aad {
        None => Ok(part),
        Some(aad) => part.with_aad(aad.to_vec()),
    }
}

/// Every file below a folder with its relative path, sorted by name; unfinished outputs are left out. Links to files
/// are followed, links to folders are not.
fn files_below(
    folder: &Path,
    below: &str,
    out: &mut Vec<(String, PathBuf)>,
) -> Result<(), Failure> {
    let entries = fs::read_dir(folder).map_err(at(folder))?;
    let entries = entries.collect::<io::Result<Vec<_>>>();
    let mut entries = entries.map_err(at(folder))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        if homaes::is_unfinished_name(&name) {
            continue;
        }
        let Some(name) = name.to_str() else {
            return fail(format!(
                "{}: the file name is not UTF-8; rename the file, or name it with --files-from",
                entry.path().display()
            ));
        };
        let name = format!("{below}{name}");
        match entry.file_type().map_err(at(folder))?.is_dir() {
            true => files_below(&entry.path(), &format!("{name}/"), out)?,
            false => out.push((name, entry.path())),
        }
    }
    Ok(())
}

/// The files of a list. The command line supplies the mode, IV and, under GCM, associated data that a line lacks.
fn listed(
    list: &Path,
    args: &args::Message,
    aad: Option<&[u8]>,
    parts: &mut Vec<(String, AesFile)>,
) -> Result<(), Failure> {
    each_object(list, EXAMPLE, |entry: Listed, wrong| {
        let path = Path::new(&entry.path);
        let mode = mode_of(entry.mode.as_deref(), wrong)?.unwrap_or(args.mode);
        let how = How::of(mode, entry.iv.as_deref().or(args.iv.as_deref()), args.raw);
        let how = how.map_err(|reason| wrong(&format!("iv: {reason}")))?;
        let own = bytes_of(entry.aad.as_deref(), "aad", wrong)?;
        let part = with_aad(
            how.part(path)?,
            own.as_deref().or(aad.filter(|_| mode == "gcm")),
        )?;
        let part = match entry.key_name {
            Some(name) => part.under(name),
            None => part,
        };
        let name = entry.name.unwrap_or_else(|| file_name(path));
        parts.push((name, part));
        Ok(())
    })
}

/// Shown in errors.
const EXAMPLE: &str = r#"{"path": "a.aes", "name": "a.txt", "mode": "ctr", "iv": "00112233445566778899aabbccddeeff"}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    path: String,
    #[serde(default, deserialize_with = "not_null")]
    name: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    mode: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    iv: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    aad: Option<String>,
    /// not `key`, which would invite a secret
    #[serde(default, deserialize_with = "not_null")]
    key_name: Option<String>,
}

fn bucket(path: &Path) -> Result<Option<Location>, Failure> {
    let is_bucket = path.to_str().is_some_and(|path| path.starts_with("s3://"));
    let location = is_bucket.then(|| Location::parse(path)).transpose();
    Ok(location.map_err(JobError::from)?)
}

fn open_part(input: &Path, how: &How) -> Result<AesFile, Failure> {
    if bucket(input)?.is_some() {
        return how.part(input);
    }
    let source = match is_stream(input) {
        true => FileSource::of(spooled_input()?, Path::new(STANDARD_INPUT)),
        false => FileSource::open(input),
    };
    let source = source.map_err(|error| match &error {
        Error::Io { source, .. } if source.kind() == io::ErrorKind::InvalidInput => Failure::Work(
            format!("{error}; give a regular file, or - for standard input"),
        ),
        _ => error.into(),
    })?;
    Ok(how.of_source(source)?)
}

/// Copies standard input, because a run must know the length before it starts. The file has no name, so the system
/// removes it with the process; AES ciphertext is no secret.
fn spooled_input() -> Result<File, Failure> {
    let spool = tempfile::tempfile().and_then(|mut file| {
        io::copy(&mut io::stdin().lock(), &mut file)?;
        Ok(file)
    });
    spool.map_err(|error| Failure::system("standard input", error))
}
