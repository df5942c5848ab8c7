//! `homaes wrap-key`

use super::open_secret;
use crate::args::{Direction, Layout, WrapKey};
use crate::console::{self, Failure};
use crate::progress::spin;
use homaes::{AesKey, Error, WrappedKey};
use std::fs::File;
use std::io;

pub(crate) fn run(args: &WrapKey) -> Result<(), Failure> {
    // The only values so far, and what the library does.
    let (Layout::Sliced, Direction::Encrypt) = (args.layout, args.direction);
    let secret = open_secret(&args.secret)?;
    let aes_key = if args.key_file.as_os_str() == "-" {
        AesKey::read(io::stdin().lock(), "standard input")?
    } else {
        let path = &args.key_file;
        let file = File::open(path).map_err(|source| Error::Io {
            path: path.clone(),
            source,
        })?;
        AesKey::read(file, path)?
    };
    if aes_key.is_ambiguous() {
        console::warn(
            "the AES key is read as 32 hex digits, an AES-128 key; a raw AES-256 key that looks like this must be given in hex",
        );
    }
    let wrapped = spin("wrapping the AES key", || {
        WrappedKey::create(&secret, &aes_key, &args.out, args.force)
    })?;
    console::print(&format!(
        "{}: AES-{} key wrapped for set {}\n",
        args.out.display(),
        8 * wrapped.key_size().key_bytes(),
        wrapped.set().name(),
    ))
}
