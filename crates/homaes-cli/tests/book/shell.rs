//! The commands of the book, run as they stand: the blocks marked `sh` of a chapter are one script.

use super::blocks::{Block, blocks, chapters};
use crate::common::{file, has};
use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// Programs that chapters need, and arguments with which they succeed where they are.
const TOOLS: [[&str; 3]; 2] = [
    ["openssl", "version", "-a"],
    ["python3", "-c", "import cryptography"],
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

/// Runs the commands of a chapter in an empty folder, and compares what they print with what the chapter says.
fn run(chapter: &str) {
    let all = blocks(&file(chapter));
    let scripts: Vec<&Block> = all.iter().filter(|block| block.kind == "sh").collect();
    assert!(!scripts.is_empty(), "{chapter}: nothing to run");
    let uses = |word: &str| scripts.iter().any(|block| block.text.contains(word));
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    for [tool, option, test] in TOOLS {
        if uses(tool) && !has(command(tool, home).args([option, test])) {
            return;
        }
    }
    if !cfg!(feature = "dghv") && uses("dghv/") {
        eprintln!("{chapter}: SKIPPED, as this build has no DGHV");
        return;
    }
    let mut script = String::from("set -euo pipefail\nexec 2>&1\n");
    for block in &scripts {
        let Block { line, text, .. } = block;
        script += &format!("printf '\\n%s%s\\n' '{MARK}' {line}\n{text}");
    }
    let output = command("bash", home).arg("-c").arg(script).output();
    let output = output.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let status = output.status;
    assert!(status.success(), "{chapter}: {status}\n{text}");
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
        let what = "not printed in this order";
        assert!(found, "{place}: {what}: {line}\nprinted was:\n{printed}");
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
