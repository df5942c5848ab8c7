//! One module per command.

pub(crate) mod bench;
pub(crate) mod decrypt;
pub(crate) mod demo;
pub(crate) mod devices;
mod expected;
pub(crate) mod export;
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
pub(crate) mod transcipher;
pub(crate) mod wrap_key;

use crate::args::{Variant, is_stream};
use crate::console::{self, Failure};
use crate::progress::spin;
use crate::remedy::remedy;
use crate::{table, terminal};
use homaes::{AesKey, Error, ErrorKind, Layout, MAX_AAD_BYTES, Passphrase, Scheme, SecretKey, Set};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The set that the command line names; it is the command line that is wrong if there is none.
fn named_set(name: &str) -> Result<Set, Failure> {
    Set::named(name).map_err(|error| match error.kind() {
        kind @ ErrorKind::UnknownSet => Failure::Usage(format!("{error}; {}", remedy(kind))),
        _ => error.into(),
    })
}

/// The set given by name, or the default of the variant, or that of the scheme, to which it must belong.
fn set_of_scheme(
    scheme: Scheme,
    name: Option<&str>,
    variant: Option<Variant>,
) -> Result<Set, Failure> {
    if let Some(variant) = variant
        && !scheme.variants().contains(&variant.0)
    {
        // no two schemes have one of the same name
        let has = |scheme: &&Scheme| scheme.variants().contains(&variant.0);
        let other = Scheme::ALL.iter().find(has).map_or("", |s| s.name());
        return Err(Failure::Usage(format!(
            "--variant: only scheme {other} has variants; add --scheme {other}, or leave it out"
        )));
    }
    let default = variant.map_or(scheme.default_set(), |variant| variant.0.default_set);
    let name = name.unwrap_or(default);
    let set = named_set(name)?;
    if set.scheme() == scheme {
        Ok(set)
    } else {
        let (scheme, own) = (scheme.name(), set.scheme().name());
        Err(Failure::Usage(format!(
            "set {name} belongs to scheme {own}, expected {scheme}; see 'homaes params'"
        )))
    }
}

/// Opens a secret key, with its passphrase if it has one, and warns if it, or its set, protects nothing.
fn open_secret(path: &Path, passphrase_file: Option<&Path>) -> Result<SecretKey, Failure> {
    open_secret_by(path, passphrase_file, "--passphrase-file")
}

/// The same, where `option` names the passphrase's file.
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

/// Warns if others than the owner can read or write a file with a secret.
fn warn_if_exposed(exposed: bool, path: &Path, what: &str) {
    if exposed {
        console::warn(&format!(
            "{}: other users have access to this {what}; run 'chmod 600' on it",
            path.display()
        ));
    }
}

/// A passphrase to be: from a file, or asked for on the terminal; `option` names the one for the file.
fn new_passphrase(secret: &Path, file: Option<&Path>, option: &str) -> Result<Passphrase, Failure> {
    match file {
        Some(file) => read_passphrase(file),
        None => {
            let prompt = format!("new passphrase of {}", secret.display());
            terminal::ask_new(&prompt, option)
        }
    }
}

/// Reads a passphrase, from standard input if the path is `-`.
fn read_passphrase(path: &Path) -> Result<Passphrase, Failure> {
    Ok(if is_stream(path) {
        Passphrase::read(io::stdin().lock(), STANDARD_INPUT)?
    } else {
        warn_if_exposed(homaes::is_exposed(path), path, "passphrase");
        Passphrase::read(open_file(path)?, path)?
    })
}

/// Refuses to read two things from standard input.
fn one_standard_input(files: &[Option<&Path>]) -> Result<(), Failure> {
    let files = files.iter().flatten();
    match files.filter(|path| is_stream(path)).count() {
        0 | 1 => Ok(()),
        _ => Err(Failure::Usage(
            "two inputs cannot both come from standard input; name a file for one".into(),
        )),
    }
}

const STANDARD_INPUT: &str = "standard input";

const STANDARD_OUTPUT: &str = "standard output";

/// Reads an AES key, from standard input if the path is `-`; warns if it could be read in another way.
fn read_aes_key(path: &Path) -> Result<AesKey, Failure> {
    let key = if is_stream(path) {
        AesKey::read(io::stdin().lock(), STANDARD_INPUT)?
    } else {
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

/// The associated data, or a little more than is allowed.
fn read_aad(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut aad = Vec::new();
    let most = MAX_AAD_BYTES as u64 + 1;
    let read = open_file(path)?.take(most).read_to_end(&mut aad);
    read.map_err(|source| Error::Io {
        path: path.to_owned(),
        source,
    })?;
    Ok(aad)
}

/// Opens a file that is not one of the project's.
fn open_file(path: &Path) -> Result<File, Failure> {
    let file = File::open(path).map_err(|source| Error::Io {
        path: path.to_owned(),
        source,
    });
    Ok(file?)
}

/// A line with the path and size of a file, and `what` it is for.
fn of_size(path: &Path, what: &str) -> String {
    let bytes = fs::metadata(path).map_or(0, |data| data.len());
    format!("{}: {}, {what}", path.display(), table::bytes(bytes))
}

/// What goes with [`of_size`] for files that a server works with.
const FOR_THE_SERVER: &str = "goes to the server";

/// The layout asked for, or the first of the set; it is the command line that is wrong if the set does not offer it.
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

/// Refuses an output that is one of the command's own inputs, unless it goes to standard output.
pub(crate) fn refuse_own_input(out: &Path, inputs: &[&Path]) -> Result<(), Failure> {
    match is_stream(out) {
        true => Ok(()),
        false => Ok(homaes::refuse_own_input(out, inputs.iter().copied())?),
    }
}
