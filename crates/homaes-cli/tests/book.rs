//! The user's book, `docs/SUMMARY.md`: its commands run and its links lead somewhere. Blocks of Rust are doctests of the crate `homaes`
//! (`homaes/src/book.rs`).

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod blocks;
mod links;
#[cfg(unix)]
mod shell;

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of the repository.
fn file(name: &str) -> String {
    let text = fs::read_to_string(root().join(name));
    text.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Whether `line` is the pattern whose literal parts are `parts`, with anything, or nothing, between two of them.
fn fits(parts: &[impl AsRef<str>], line: &str) -> bool {
    let Some((first, rest)) = parts.split_first() else {
        return false;
    };
    let Some(mut line) = line.strip_prefix(first.as_ref()) else {
        return false;
    };
    let Some((last, middle)) = rest.split_last() else {
        return line.is_empty();
    };
    for part in middle {
        let part = part.as_ref();
        match line.find(part) {
            None => return false,
            Some(at) => line = &line[at + part.len()..],
        }
    }
    line.ends_with(last.as_ref())
}

#[test]
fn patterns_fit_lines() {
    let parts = |pattern: &'static str| pattern.split('…').collect::<Vec<_>>();
    for (pattern, line) in [
        ("", ""),
        ("a", "a"),
        ("…", ""),
        ("…", "x"),
        ("a…b", "ab"),
        ("a…b…c", "a--b--b--c"),
        ("…b", "bb"),
    ] {
        assert!(fits(&parts(pattern), line), "{pattern}: {line}");
    }
    for (pattern, line) in [
        ("", "x"),
        ("a", "ab"),
        ("a…a", "a"),
        ("a…b…c", "a--c--b"),
        ("b…", "ab"),
    ] {
        assert!(!fits(&parts(pattern), line), "{pattern}: {line}");
    }
}
