//! One module per command.

pub(crate) mod bench;
pub(crate) mod decrypt;
pub(crate) mod demo;
pub(crate) mod inspect;
pub(crate) mod keygen;
pub(crate) mod params;
mod sample;
pub(crate) mod transcipher;
pub(crate) mod wrap_key;

use crate::console::{self, Failure};
use homaes::{Error, SecretKey, Set};
use std::path::Path;

/// The set that the command line names; it is the command line that is wrong if there is none.
fn named_set(name: &str) -> Result<Set, Failure> {
    Set::named(name).map_err(|error| match error {
        Error::UnknownSet { .. } => Failure::Usage(format!("{error}; {}", error.remedy())),
        error => error.into(),
    })
}

/// The set given by name, or the default of the scheme it must belong to.
fn set_of_scheme(scheme: homaes::Scheme, name: Option<&str>) -> Result<Set, Failure> {
    let name = name.unwrap_or(scheme.default_set());
    let set = named_set(name)?;
    if set.scheme() == scheme {
        Ok(set)
    } else {
        let scheme = scheme.name();
        Err(Failure::Usage(format!(
            "set {name} is not of scheme {scheme}; see 'homaes params'"
        )))
    }
}

/// Opens a secret key and warns if it, or its set, protects nothing.
fn open_secret(path: &Path) -> Result<SecretKey, Failure> {
    let secret = SecretKey::open(path)?;
    console::warn_insecure(secret.set());
    if secret.is_exposed() {
        let path = path.display();
        console::warn(&format!(
            "{path}: others than the owner have access to this secret key; chmod 600 it"
        ));
    }
    Ok(secret)
}
