//! The command as a user meets it: a folder, files, command lines, exit codes.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(dead_code, reason = "each test program uses a part of this")]

use ctr::cipher::{KeyIvInit, StreamCipher};
use homaes::{Ciphertexts, Computed, EvalKey, Output, Scheme};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Hex digits of an initial counter that wraps.
pub(crate) const IV: &str = "fffffffffffffffffffffffffffffffe";

const KEY: [u8; 16] = [7; 16];

/// A folder with keys of a toy set, an AES-encrypted file of 300 bytes, and its FHE ciphertexts.
pub(crate) struct World {
    folder: TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl World {
    /// `keys/`, `k`, `key.hwk`, `p`, `c`, `o.hct`.
    pub(crate) fn new() -> Self {
        Self::of("bgv/toy-255")
    }

    /// The same with another toy set.
    pub(crate) fn of(set: &str) -> Self {
        let world = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        world.ok(&format!("keygen --set {set} --out keys --accept-insecure"));
        world.write("k", &KEY);
        world.ok("wrap-key --secret keys/secret.hsk --key-file k --out key.hwk");
        world.message(300);
        world.transcipher("c", "o.hct");
        world
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.at(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.at(name)).unwrap()
    }

    /// Writes a message of `len` bytes to `p`, and to `c` under AES-128-CTR.
    pub(crate) fn message(&self, len: usize) {
        let mut bytes: Vec<u8> = (0..len).map(|i| (i * i / 5) as u8).collect();
        self.write("p", &bytes);
        let iv = u128::from_str_radix(IV, 16).unwrap().to_be_bytes();
        ctr::Ctr128BE::<aes::Aes128>::new(&KEY.into(), &iv.into()).apply_keystream(&mut bytes);
        self.write("c", &bytes);
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_homaes"));
        command.args(line.split_whitespace());
        command
    }

    /// Any program, in the folder, with nothing to read.
    pub(crate) fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        // No folder can be there: what a run says depends on no speed that another test has noted, and no user's file is touched.
        command.env("HOMAES_CACHE", "/dev/null/cache");
        command
    }

    pub(crate) fn run(&self, line: &str) -> Run {
        Run::of(&mut self.command(line))
    }

    #[track_caller]
    pub(crate) fn ok(&self, line: &str) -> Run {
        let run = self.run(line);
        assert_eq!(run.code, Some(0), "{line}: {run:?}");
        run
    }

    /// Writes the first ciphertexts of `o.hct` to `v.hcv` as the value `first`, of `count` numbers of 8 bits, as a program does that computed nothing.
    pub(crate) fn values(&self, count: u64) {
        let eval = EvalKey::open(self.at("keys/eval.hek")).unwrap();
        let mut batches = Ciphertexts::open(self.at("o.hct")).unwrap().into_iter();
        let batch = batches.next().unwrap().unwrap();
        let mut computed = Computed::new(&eval);
        match eval.set().scheme() {
            Scheme::Bgv => {
                let state: homaes_bgv::State = batch.state().unwrap();
                computed.add("first", count, 8, &state.ciphertexts()[..1])
            }
            _ => {
                let state: homaes_tfhe::State = batch.state().unwrap();
                computed.add("first", count, 8, [&state])
            }
        }
        .unwrap();
        let output = Output::create(self.at("v.hcv"), true).unwrap();
        computed.write(output).unwrap();
    }

    #[track_caller]
    pub(crate) fn transcipher(&self, input: &str, output: &str) -> Run {
        self.ok(&format!(
            "transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --iv {IV} {input} -o {output} --force"
        ))
    }

    /// The command must fail with this code and one `error:` line that contains `words`, and leave nothing behind.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, line: &str, words: &str) -> Run {
        let before = self.listing();
        let run = self.run(line);
        run.check_failure(code, words, line);
        assert_eq!(self.listing(), before, "{line}: files have come or gone");
        run
    }

    /// Every path in the folder.
    pub(crate) fn listing(&self) -> BTreeSet<PathBuf> {
        fn add(folder: &Path, paths: &mut BTreeSet<PathBuf>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    add(&path, paths);
                }
                paths.insert(path);
            }
        }
        let mut paths = BTreeSet::new();
        add(self.folder.path(), &mut paths);
        paths
    }
}

impl Run {
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    #[track_caller]
    pub(crate) fn check_failure(&self, code: i32, words: &str, line: &str) {
        assert_eq!(self.code, Some(code), "{line}: {self:?}");
        let errors: Vec<&str> = self
            .err
            .lines()
            .filter(|l| l.starts_with("error:"))
            .collect();
        assert_eq!(errors.len(), 1, "{line}: {self:?}");
        let rest = self.err.lines().filter(|l| !l.starts_with("error:"));
        assert!(
            rest.clone().all(|l| l.starts_with("warning:")),
            "{line}: {self:?}"
        );
        assert!(
            errors[0].contains(words),
            "{line}: {:?} lacks {words:?}",
            errors[0]
        );
        assert!(!self.err.contains("panicked"), "{line}: {self:?}");
        assert_eq!(self.out, "", "{line}");
    }
}

/// Outputs that a process has begun in a folder: without a name, or where that cannot be under a temporary one.
pub(crate) fn unnamed_files(child: &std::process::Child, folder: &Path) -> Vec<PathBuf> {
    let folder = folder.canonicalize().unwrap();
    let open = fs::read_dir(format!("/proc/{}/fd", child.id()));
    let open = open.into_iter().chain(fs::read_dir(&folder));
    let paths = open.flatten().flatten().map(|entry| entry.path());
    let begun = paths.filter(|path| {
        let file = fs::read_link(path).unwrap_or(path.clone());
        let name = file.to_string_lossy();
        file.starts_with(&folder) && (name.ends_with(" (deleted)") || name.contains(".homaes-tmp-"))
    });
    begun.collect()
}
