//! The commands of the book, run as they stand: the blocks marked `sh` of a chapter are one script.

use super::blocks::{Block, blocks, chapters};
use crate::common::file;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A program that chapters need, and a command that succeeds where it is.
const TOOLS: [(&str, &[&str]); 2] = [
    ("openssl", &["openssl", "version"]),
    ("python3", &["python3", "-c", "import cryptography"]),
];

/// What stands in the output before that of a block.
const MARK: &str = "@@ block at line ";

/// A command with nothing of the environment but where programs are.
fn command(name: &str, home: &Path) -> Command {
    let homaes = Path::new(env!("CARGO_BIN_EXE_homaes")).parent().unwrap();
    let others = env::var_os("PATH").unwrap_or_default();
    let paths = [homaes.into()].into_iter().chain(env::split_paths(&others));
    let paths: OsString = env::join_paths(paths).unwrap();
    let mut command = Command::new(name);
    command.env_clear().env("PATH", paths).env("HOME", home);
    command.current_dir(home).stdin(Stdio::null());
    command
}

/// Whether a program is there.
fn has(tool: &[&str]) -> bool {
    let home = tempfile::tempdir().unwrap();
    let mut command = command(tool[0], home.path());
    let silent = command
        .args(&tool[1..])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

/// Runs the commands of a chapter in an empty folder, and compares what they print with what the chapter says.
fn run(chapter: &str) {
    let all = blocks(&file(chapter));
    let scripts: Vec<&Block> = all.iter().filter(|block| block.kind == "sh").collect();
    assert!(!scripts.is_empty(), "{chapter}: nothing to run");
    for (tool, test) in TOOLS {
        if scripts.iter().any(|block| block.text.contains(tool)) && !has(test) {
            eprintln!("{chapter}: SKIPPED, as {test:?} fails here");
            return;
        }
    }
    if !cfg!(feature = "dghv") && scripts.iter().any(|block| block.text.contains("dghv/")) {
        eprintln!("{chapter}: SKIPPED, as this build has no DGHV");
        return;
    }
    let mut script = String::from("set -euo pipefail\nexec 2>&1\n");
    for block in &scripts {
        script += &format!(
            "printf '\\n%s%s\\n' '{MARK}' {}\n{}",
            block.line, block.text
        );
    }
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [home, beside] = folders.each_ref().map(tempfile::TempDir::path);
    fs::write(beside.join("script"), script).unwrap();
    let output = command("bash", home)
        .arg(beside.join("script"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{chapter}: {}\n{text}",
        output.status
    );
    for pair in all.windows(2) {
        let [block, said] = pair else { continue };
        if block.kind == "sh" && said.kind == "text" {
            let start = format!("\n{MARK}{}\n", block.line);
            let (_, printed) = text.split_once(&start).unwrap();
            let printed = printed.split(&format!("\n{MARK}")).next().unwrap();
            compare(&format!("{chapter}:{}", said.line), &said.text, printed);
        }
    }
}

/// Whether `line` is the pattern: `…` stands for anything, or nothing.
fn fits(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            None => return false,
            Some((_, after)) => rest = after,
        }
    }
    rest.ends_with(last)
}

/// Each line that is `said` must fit a line that was `printed`, in order.
fn compare(place: &str, said: &str, printed: &str) {
    let mut lines = printed.lines();
    for line in said.lines() {
        let found = lines.any(|printed| fits(line.trim_end(), printed.trim_end()));
        assert!(
            found,
            "{place}: not printed in this order: {line}\nprinted was:\n{printed}"
        );
    }
}

/// A test for each chapter with commands, and one that none is forgotten.
macro_rules! chapters {
    ($($(#[$attribute:meta])? $name:ident: $page:literal,)+) => {
        $(#[test] $(#[$attribute])? fn $name() { run($page); })+

        #[test]
        fn every_chapter_with_commands_is_run() {
            let runs = |page: &String| blocks(&file(page)).iter().any(|block| block.kind == "sh");
            let expected: Vec<_> = chapters().into_iter().filter(runs).collect();
            assert_eq!([$($page),+].as_slice(), expected);
        }
    };
}

chapters! {
    #[ignore = "nightly: half a minute at full size"]
    nightly_first_file: "docs/first-file.md",
    files: "docs/files.md",
    jobs: "docs/jobs.md",
    own_circuit: "docs/own-circuit.md",
}
