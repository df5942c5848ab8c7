//! The command as a user meets it: a folder, files, command lines, exit codes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use aes_gcm::aead::{Aead, KeyInit, Payload};
use ctr::cipher::{KeyIvInit, StreamCipher};
use homaes::{Ciphertexts, Computed, EvalKey, Output, Scheme};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Hex digits of an initial counter that wraps.
pub(crate) const IV: &str = "fffffffffffffffffffffffffffffffe";

/// The AES key of every world.
pub(crate) const KEY: [u8; 16] = [7; 16];

/// Words that stand for the beginning of a command line.
const SHORT: [(&str, &str); 8] = [
    (
        "$keygen",
        "keygen --set bgv/toy-255 --accept-insecure --out",
    ),
    (
        "$wrap",
        "wrap-key --secret keys/secret.hsk --key-file k --out",
    ),
    ("$transcipher", "transcipher $keys --mode ctr --iv $iv"),
    ("$plan", "job plan $keys --mode ctr --iv $iv"),
    ("$open", "$decrypt --key-file k"),
    ("$decrypt", "decrypt --secret keys/secret.hsk"),
    ("$keys", "--eval keys/eval.hek --wrapped-key key.hwk"),
    ("$iv", IV),
];

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

    /// The same with another toy set. All worlds of a set have the same keys.
    pub(crate) fn of(set: &str) -> Self {
        type Files = Vec<(&'static str, Vec<u8>)>;
        static MADE: Mutex<BTreeMap<String, Files>> = Mutex::new(BTreeMap::new());
        let mut made = MADE.lock().unwrap();
        let files = made.entry(set.to_owned()).or_insert_with(|| {
            let world = Self::empty();
            world.ok(&format!("keygen --set {set} --out keys --accept-insecure"));
            world.write("k", KEY);
            world.ok("$wrap key.hwk");
            world.message(300);
            world.ok("$transcipher c -o o.hct");
            let names = [
                "keys/secret.hsk",
                "keys/eval.hek",
                "key.hwk",
                "k",
                "p",
                "c",
                "o.hct",
            ];
            names.map(|name| (name, world.read(name))).into()
        });
        let world = Self::empty();
        fs::create_dir(world.at("keys")).unwrap();
        for (name, bytes) in files {
            world.write(name, bytes);
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let private = fs::Permissions::from_mode(0o600);
            fs::set_permissions(world.at("keys/secret.hsk"), private).unwrap();
        }
        world
    }

    fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.at(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.at(name)).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// Writes a message of `len` bytes to `p`, and to `c` under AES-128-CTR.
    pub(crate) fn message(&self, len: usize) {
        let mut bytes: Vec<u8> = (0..len).map(|i| (i * i / 5) as u8).collect();
        self.write("p", &bytes);
        let iv = u128::from_str_radix(IV, 16).unwrap().to_be_bytes();
        ctr::Ctr128BE::<aes::Aes128>::new(&KEY.into(), &iv.into()).apply_keystream(&mut bytes);
        self.write("c", &bytes);
    }

    /// A command line of the command; [`SHORT`] has words for its beginning.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_homaes"));
        command.args(long(line).split_whitespace());
        command
    }

    /// Any program, in the folder, with nothing to read.
    pub(crate) fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        // a folder that cannot exist: no test sees a speed that another noted, and no file of a user is touched
        command.env("HOMAES_CACHE", "/dev/null/cache");
        command
    }

    /// A script of the shell, in which `$homaes` is the command.
    pub(crate) fn shell(&self, script: &str) -> Command {
        let mut command = self.program("bash");
        command.arg("-c").arg(long(script));
        command.env("homaes", env!("CARGO_BIN_EXE_homaes"));
        command
    }

    pub(crate) fn run(&self, line: &str) -> Run {
        Run::of(&mut self.command(line))
    }

    /// Runs a command that reads this file on standard input.
    pub(crate) fn fed(&self, line: &str, name: &str) -> Run {
        let input = File::open(self.at(name)).unwrap();
        Run::of(self.command(line).stdin(input))
    }

    /// Runs a command whose standard output has no room.
    #[cfg(target_os = "linux")]
    pub(crate) fn without_room(&self, line: &str) -> Run {
        let full = File::options().write(true).open("/dev/full").unwrap();
        Run::of(self.command(line).stdout(full))
    }

    /// Starts a command.
    pub(crate) fn spawn(&self, line: &str) -> Child {
        let mut command = self.command(line);
        let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        piped.spawn().unwrap()
    }

    /// Starts a command, kills it when this is true, and says whether it was still at work.
    pub(crate) fn killed(&self, line: &str, mut ready: impl FnMut(&Child) -> bool) -> bool {
        let mut command = self.command(line);
        let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = silent.spawn().unwrap();
        wait_until(line, || {
            ready(&child) || child.try_wait().unwrap().is_some()
        });
        child.kill().unwrap();
        !child.wait().unwrap().success()
    }

    #[track_caller]
    pub(crate) fn ok(&self, line: &str) -> Run {
        let run = self.run(line);
        assert_eq!(run.code, Some(0), "{line}: {run:?}");
        run
    }

    /// Runs the commands of a table, one a line. After `=>` stand the words that a command must print, after `=!` those
    /// on standard error, and after `=1` or `=2` those of the error with which it must fail; `…` stands between
    /// several.
    #[track_caller]
    pub(crate) fn table(&self, table: &str) {
        for row in table.lines().map(str::trim).filter(|row| !row.is_empty()) {
            let split = |kind: &'static str| Some((kind, row.split_once(&format!(" {kind} "))?));
            let found = ["=>", "=!", "=1", "=2"].into_iter().find_map(split);
            let (kind, (line, words)) = found.unwrap_or(("=>", (row, "")));
            let code: Option<i32> = kind[1..].parse().ok();
            let run = match code {
                Some(code) => self.fails(code, line, ""),
                None => self.ok(line),
            };
            for words in words.split('…').map(str::trim) {
                match (kind, code) {
                    (_, Some(code)) => run.check_failure(code, words, line),
                    ("=!", None) => _ = run.warns(words),
                    _ => _ = run.says(words),
                }
            }
        }
    }

    /// The document that a command prints.
    #[track_caller]
    pub(crate) fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.ok(line).out).unwrap()
    }

    /// Writes the first ciphertexts of `o.hct` to `v.hcv` as the value `first`, of `count` numbers of 8 bits, as a
    /// program does that computed nothing.
    pub(crate) fn values(&self, count: u64) {
        let eval = EvalKey::open(self.at("keys/eval.hek")).unwrap();
        let mut batches = Ciphertexts::open(self.at("o.hct")).unwrap().into_iter();
        let batch = batches.next().unwrap().unwrap();
        let mut computed = Computed::new(&eval);
        assert_eq!(eval.set().scheme(), Scheme::Bgv);
        let state: homaes_bgv::State = batch.state().unwrap();
        let first = &state.ciphertexts()[..1];
        computed.add("first", count, 8, first).unwrap();
        let output = Output::create(self.at("v.hcv"), true).unwrap();
        computed.write(output).unwrap();
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

    /// Whether a process has begun an output in the folder: without a name, or where that cannot be under a temporary
    /// one.
    pub(crate) fn has_begun(&self, child: &Child) -> bool {
        !self.begun(child).is_empty()
    }

    /// The outputs that a process has begun in the folder.
    pub(crate) fn begun(&self, child: &Child) -> Vec<PathBuf> {
        let folder = self.folder.path().canonicalize().unwrap();
        let open = fs::read_dir(format!("/proc/{}/fd", child.id()));
        let open = open.into_iter().chain(fs::read_dir(&folder));
        let mut paths: Vec<_> = open.flatten().flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| {
            let file = fs::read_link(path).unwrap_or(path.clone());
            let name = file.to_string_lossy();
            let unnamed = name.ends_with(" (deleted)") || name.contains(".homaes-tmp-");
            file.starts_with(&folder) && unnamed
        });
        paths
    }
}

/// A command line with the words of [`SHORT`] written out.
fn long(line: &str) -> String {
    let replace = |line: String, (word, words): &(&str, &str)| line.replace(word, words);
    SHORT.iter().fold(line.to_owned(), replace)
}

impl Run {
    pub(crate) fn of(command: &mut Command) -> Self {
        command.output().unwrap().into()
    }

    /// The command must have ended with this code.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// Standard output must have these words.
    #[track_caller]
    pub(crate) fn says(&self, words: &str) -> &Self {
        assert!(self.out.contains(words), "no {words:?}: {self:?}");
        self
    }

    /// Standard error must have these words.
    #[track_caller]
    pub(crate) fn warns(&self, words: &str) -> &Self {
        assert!(self.err.contains(words), "no {words:?}: {self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn check_failure(&self, code: i32, words: &str, line: &str) {
        assert_eq!(self.code, Some(code), "{line}: {self:?}");
        let (errors, rest): (Vec<_>, Vec<_>) = self
            .err
            .lines()
            .partition(|line| line.starts_with("error:"));
        assert_eq!(errors.len(), 1, "{line}: {self:?}");
        let warnings = rest.iter().all(|line| line.starts_with("warning:"));
        assert!(warnings, "{line}: {self:?}");
        assert!(
            errors[0].contains(words),
            "{line}: {errors:?} lacks {words:?}"
        );
        assert!(!self.err.contains("panicked"), "{line}: {self:?}");
        assert_eq!(self.out, "", "{line}");
    }
}

impl From<std::process::Output> for Run {
    fn from(output: std::process::Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }
}

/// How a command ends that was started.
pub(crate) fn end(child: Child) -> Run {
    child.wait_with_output().unwrap().into()
}

pub(crate) fn signal(child: &Child, name: &str) {
    let mut kill = Command::new("kill");
    let status = kill.args([name, &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

#[track_caller]
pub(crate) fn wait_until(what: &str, mut there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !there() {
        assert!(start.elapsed() < Duration::from_secs(600), "{what}");
        sleep(Duration::from_millis(1));
    }
}

/// The nonce of which every byte is `n`, in hex digits.
pub(crate) fn nonce(n: u8) -> String {
    format!("{n:02x}").repeat(12)
}

/// A message under AES-128-GCM with [`nonce(n)`](nonce), and its tag.
pub(crate) fn sealed(key: &[u8; 16], n: u8, aad: &[u8], msg: &[u8]) -> Vec<u8> {
    let cipher = aes_gcm::Aes128Gcm::new(key.into());
    let payload = Payload { msg, aad };
    cipher.encrypt(&[n; 12].into(), payload).unwrap()
}

/// The cells of a table, one row a line, with `=>` between them.
pub(crate) fn cells<const N: usize>(table: &str) -> impl Iterator<Item = [&str; N]> {
    let rows = table.lines().map(str::trim).filter(|row| !row.is_empty());
    rows.map(|row| {
        let cells: Vec<&str> = row.split(" => ").collect();
        cells.try_into().unwrap()
    })
}

/// The values of these fields.
pub(crate) fn fields<const N: usize>(value: &Value, names: [&str; N]) -> Value {
    names.map(|name| value[name].clone()).to_vec().into()
}

/// Each of these fields must be a number above zero.
#[track_caller]
pub(crate) fn assert_positive(value: &Value, names: &[&str]) {
    for name in names {
        assert!(value[name].as_f64() > Some(0.0), "{name}: {value}");
    }
}

/// A file of the repository.
pub(crate) fn file(name: &str) -> String {
    let text = fs::read_to_string(root().join(name));
    text.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
