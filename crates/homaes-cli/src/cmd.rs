//! One module per command.

pub(crate) mod bench;
pub(crate) mod compute;
pub(crate) mod decrypt;
pub(crate) mod demo;
pub(crate) mod devices;
mod expected;
pub(crate) mod export;
pub(crate) mod finish;
pub(crate) mod input;
pub(crate) mod inspect;
mod inspect_folder;
pub(crate) mod job;
pub(crate) mod keygen;
mod lines;
pub(crate) mod manual;
pub(crate) mod params;
pub(crate) mod passphrase;
pub(crate) mod report;
mod sample;
pub(crate) mod scan;
pub(crate) mod transcipher;
pub(crate) mod wrap_key;

use crate::args::is_stream;
use crate::console::{self, Failure, refuse};
use crate::progress::spin;
use crate::remedy::remedy;
use crate::{table, terminal};
use homaes::{
    AesKey, AesKeyList, BridgeKey, Error, ErrorKind, EvalKey, Layout, MAX_AAD_BYTES, Output,
    Passphrase, Scheme, SecretKey, Set, Transcipher, Variant, WrappedKey,
};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;

/// The set of this name; an unknown name is an error of the command line.
fn named_set(name: &str) -> Result<Set, Failure> {
    Set::named(name).map_err(|error| match error.kind() {
        kind @ ErrorKind::UnknownSet => Failure::Usage(format!("{error}; {}", remedy(kind))),
        _ => error.into(),
    })
}

/// The named set, or else the default of the variant or scheme; a set of another scheme is refused.
fn set_of_scheme(
    scheme: Scheme,
    name: Option<&str>,
    variant: Option<Variant>,
) -> Result<Set, Failure> {
    if let Some(variant) = variant
        && !scheme.variants().contains(&variant)
    {
        // variants of two schemes have different names
        let has = |scheme: &&Scheme| scheme.variants().contains(&variant);
        let other = Scheme::ALL.iter().find(has).map_or("", |s| s.name());
        return refuse(format!(
            "--variant: only scheme {other} has variants; add --scheme {other}, or leave it out"
        ));
    }
    let default = variant.map_or(scheme.default_set(), |variant| variant.default_set);
    let name = name.unwrap_or(default);
    let set = named_set(name)?;
    if set.scheme() == scheme {
        Ok(set)
    } else {
        let (scheme, own) = (scheme.name(), set.scheme().name());
        refuse(format!(
            "set {name} belongs to scheme {own}, expected {scheme}; see 'homaes params'"
        ))
    }
}

/// Opens a secret key, with its passphrase if it has one. Warns if others can read it, or if its set protects nothing.
fn open_secret(path: &Path, passphrase_file: Option<&Path>) -> Result<SecretKey, Failure> {
    open_secret_by(path, passphrase_file, "--passphrase-file")
}

fn open_secret_by(
    path: &Path,
    passphrase_file: Option<&Path>,
    option: &str,
) -> Result<SecretKey, Failure> {
    let secret = match SecretKey::open(path) {
        Err(error) if error.kind() == ErrorKind::Protected => {
            let passphrase = match passphrase_file {
                Some(file) => read_passphrase(file)?,
                None => {
                    let prompt = format!("passphrase of {}", path.display());
                    terminal::ask(&prompt, option)?
                }
            };
            spin("opening the secret key", || {
                SecretKey::unlock(path, &passphrase)
            })?
        }
        secret => secret?,
    };
    console::warn_insecure(secret.set());
    if passphrase_file.is_some() && !secret.is_protected() {
        let path = path.display();
        console::warn(&format!(
            "{path}: this secret key has no passphrase; the given one is ignored"
        ));
    }
    warn_if_exposed(secret.is_exposed(), path, "secret key");
    Ok(secret)
}

fn warn_if_exposed(exposed: bool, path: &Path, what: &str) {
    if exposed {
        console::warn(&format!(
            "{}: other users have access to this {what}; run 'chmod 600' on it",
            path.display()
        ));
    }
}

/// A new passphrase, from a file or the terminal; `option` is the name of the file's option.
fn new_passphrase(secret: &Path, file: Option<&Path>, option: &str) -> Result<Passphrase, Failure> {
    match file {
        Some(file) => read_passphrase(file),
        None => {
            let prompt = format!("new passphrase of {}", secret.display());
            terminal::ask_new(&prompt, option)
        }
    }
}

fn read_passphrase(path: &Path) -> Result<Passphrase, Failure> {
    Ok(if is_stream(path) {
        Passphrase::read(io::stdin().lock(), STANDARD_INPUT)?
    } else {
        warn_if_exposed(homaes::is_exposed(path), path, "passphrase");
        Passphrase::read(open_file(path)?, path)?
    })
}

/// Refuses to read two inputs from standard input.
fn one_standard_input(files: &[Option<&Path>]) -> Result<(), Failure> {
    let files = files.iter().flatten();
    match files.filter(|path| is_stream(path)).count() {
        0 | 1 => Ok(()),
        _ => refuse("two inputs cannot both come from standard input; name a file for one"),
    }
}

const STANDARD_INPUT: &str = "standard input";

const STANDARD_OUTPUT: &str = "standard output";

/// An error of a run which the same command continues if it has `--resume`: it says so if that can succeed later.
fn resumable(resume: bool, error: Error) -> Failure {
    if !(resume && error.is_temporary()) {
        return error.into();
    }
    let what_to_do = match error.kind() {
        // the same command cannot name another disk
        ErrorKind::Disk => "free space",
        kind => remedy(kind),
    };
    Failure::Temporary(format!(
        "{error}; {what_to_do}, then run the same command again"
    ))
}

fn read_aes_key(path: &Path) -> Result<AesKey, Failure> {
    let key = if is_stream(path) {
        AesKey::read(io::stdin().lock(), STANDARD_INPUT)?
    } else {
        refuse_key_as_name(path)?;
        warn_if_exposed(homaes::is_exposed(path), path, "AES key");
        AesKey::read(open_file(path)?, path)?
    };
    if key.is_ambiguous() {
        console::warn(
            "the AES key was read as 32 hex digits (AES-128); if it is a raw AES-256 key, give it in hex",
        );
    }
    Ok(key)
}

fn read_aes_keys(path: &Path) -> Result<AesKeyList, Failure> {
    if is_stream(path) {
        return Ok(AesKeyList::read(io::stdin().lock(), STANDARD_INPUT)?);
    }
    refuse_key_as_name(path)?;
    warn_if_exposed(homaes::is_exposed(path), path, "list of AES keys");
    Ok(AesKeyList::read(open_file(path)?, path)?)
}

/// A key in place of the name of its file would appear in the error about that file, and so in logs.
fn refuse_key_as_name(path: &Path) -> Result<(), Failure> {
    let name = path.as_os_str().as_encoded_bytes();
    if matches!(name.len(), 32 | 48 | 64)
        && name.iter().all(u8::is_ascii_hexdigit)
        && !path.exists()
    {
        return refuse(
            "--key-file and --keys take the name of a file, found hex digits; write the AES key into a file",
        );
    }
    Ok(())
}

fn read_aad(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut aad = Vec::new();
    let most = MAX_AAD_BYTES as u64 + 1;
    let read = open_file(path)?.take(most).read_to_end(&mut aad);
    read.map_err(at(path))?;
    Ok(aad)
}

fn open_file(path: &Path) -> Result<File, Failure> {
    Ok(File::open(path).map_err(at(path))?)
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn at(path: &Path) -> impl Fn(io::Error) -> Error {
    move |source| Error::Io {
        path: path.to_owned(),
        source,
    }
}

fn write(mut output: Output, text: &str) -> Result<(), Failure> {
    let path = output.path().to_owned();
    output.write_all(text.as_bytes()).map_err(at(&path))?;
    Ok(output.commit()?)
}

/// Finished batches or shards, and all, of a run that the same command continues; 0 of 0 before it starts.
static KEPT: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

fn keep(done: u64, of: u64) {
    KEPT[1].store(of, Ordering::Relaxed);
    KEPT[0].store(done, Ordering::Relaxed);
}

/// The message after a signal during such a run.
fn interrupted_after(what: &str) -> String {
    let [done, of] = [&KEPT[0], &KEPT[1]].map(|count| count.load(Ordering::Relaxed));
    let after = match of {
        0 => String::new(),
        of => format!(" after {done} of {of} {what}"),
    };
    format!("interrupted{after}; run the same command to continue")
}

/// Reports a complete output, on standard error if the output is standard output.
fn print_done(out: &Path, what: &str) {
    match is_stream(out) {
        true => console::tell(&format!("{STANDARD_OUTPUT}: {what}\n")),
        false => console::print_done(&format!("{}: {what}", out.display())),
    }
}

fn of_size(path: &Path, what: &str) -> String {
    let bytes = fs::metadata(path).map_or(0, |data| data.len());
    format!("{}: {}, {what}", path.display(), table::bytes(bytes))
}

const FOR_THE_SERVER: &str = "goes to the server";

fn cores() -> NonZeroUsize {
    available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// AES on `threads`, across a bridge and in a layout if these are given.
fn transcipher<'k>(
    eval: &'k EvalKey,
    wrapped: &'k WrappedKey,
    bridge: Option<&'k BridgeKey>,
    threads: NonZeroUsize,
    layout: Option<Layout>,
) -> Result<Transcipher<'k>, Error> {
    let mut transcipher = Transcipher::with_threads(eval, wrapped, threads)?;
    if let Some(bridge) = bridge {
        transcipher = transcipher.via_bridge(bridge)?;
    }
    match layout {
        Some(layout) => transcipher.layout(layout),
        None => Ok(transcipher),
    }
}

/// The requested layout, which the set must offer, or else the set's first.
fn layout_of_set(set: &Set, layout: Option<Layout>) -> Result<Layout, Failure> {
    let offered = set.layouts();
    let layout = layout.or_else(|| offered.first().copied());
    layout
        .filter(|layout| offered.contains(layout))
        .ok_or_else(|| {
            let names: Vec<&str> = offered.iter().map(|layout| layout.name()).collect();
            let (set, names) = (set.name(), names.join(" or "));
            Failure::Usage(format!(
                "set {set} has no such layout, expected {names}; see 'homaes params'"
            ))
        })
}

/// Refuses an output that is also an input; standard output is allowed.
pub(crate) fn refuse_own_input(out: &Path, inputs: &[&Path]) -> Result<(), Failure> {
    match is_stream(out) {
        true => Ok(()),
        false => Ok(homaes::refuse_own_input(out, inputs.iter().copied())?),
    }
}
