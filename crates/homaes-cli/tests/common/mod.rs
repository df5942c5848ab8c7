//! The command as a user meets it: a folder, files, command lines, exit codes.

use aes_gcm::aead::{Aead, KeyInit, Payload};
use ctr::cipher::{KeyIvInit, StreamCipher};
use homaes::{Ciphertexts, Computed, EvalKey, Output, Scheme};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Hex digits of an initial counter that wraps.
pub(crate) const IV: &str = "fffffffffffffffffffffffffffffffe";

/// The AES key of every world.
pub(crate) const KEY: [u8; 16] = [7; 16];

/// Words that stand for the beginning of a command line, one a line.
const SHORT: &str = "\
    $keygen keygen --set bgv/toy-255 --accept-insecure --out
    $wrap wrap-key --secret keys/secret.hsk --key-file k --out
    $transcipher transcipher $keys --mode ctr --iv $iv
    $plan job plan $keys --mode ctr --iv $iv
    $open $decrypt --key-file k
    $decrypt decrypt --secret keys/secret.hsk
    $keys --eval keys/eval.hek --wrapped-key key.hwk";

/// What every world has.
const FILES: &str = "keys/secret.hsk keys/eval.hek key.hwk k p c o.hct";

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
        static MADE: Mutex<BTreeMap<String, Vec<Vec<u8>>>> = Mutex::new(BTreeMap::new());
        let mut made = MADE.lock().unwrap();
        let files = made.entry(set.to_owned()).or_insert_with(|| {
            let world = Self::empty();
            world.ok(&format!("keygen --set {set} --out keys --accept-insecure"));
            world.write("k", KEY);
            world.ok("$wrap key.hwk");
            world.message(300);
            world.ok("$transcipher c -o o.hct");
            FILES.split(' ').map(|name| world.read(name)).collect()
        });
        let world = Self::empty();
        world.step("mkdir keys");
        for (name, bytes) in FILES.split(' ').zip(files) {
            world.write(name, bytes);
        }
        world.step("chmod 600 keys/secret.hsk");
        world
    }

    /// A world with a message of so many batches, the last one shorter, and in `whole.hct` what a run makes of it that
    /// nobody stops.
    pub(crate) fn with_whole(batches: usize) -> Self {
        static MADE: Mutex<BTreeMap<usize, Vec<u8>>> = Mutex::new(BTreeMap::new());
        let world = Self::new();
        world.message(batches * 256 - 50);
        let mut made = MADE.lock().unwrap();
        let whole = made.entry(batches).or_insert_with(|| {
            world.ok("$transcipher c --reproducible -o whole.hct");
            world.read("whole.hct")
        });
        world.write("whole.hct", whole);
        world
    }

    fn empty() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
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

    /// The names of what is in a folder.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.at(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    /// The JSON in a file.
    pub(crate) fn document(&self, name: &str) -> Value {
        serde_json::from_slice(&self.read(name)).unwrap()
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
        let mut child = self.spawn(line);
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

    /// Runs the commands of a table, one a line. After `=>` stand the words that a command must print, after `=-` those
    /// that it must not, after `=!` those on standard error, and after `=1` or `=2` those of the error with which it
    /// must fail; `…` stands between several. Rows can be a [`step`](Self::step) too.
    #[track_caller]
    pub(crate) fn table(&self, table: &str) {
        for row in table.lines().map(str::trim).filter(|row| !row.is_empty()) {
            if self.step(row) {
                continue;
            }
            let split = |kind: &'static str| Some((kind, row.split_once(&format!(" {kind} "))?));
            let found = ["=>", "=-", "=!", "=1", "=2"].into_iter().find_map(split);
            let (kind, (line, words)) = found.unwrap_or(("=>", (row, "")));
            match kind {
                "=>" => _ = self.ok(line).says(words),
                "=-" => assert!(!self.ok(line).out.contains(words), "{row}"),
                "=!" => _ = self.ok(line).warns(words),
                _ => _ = self.fails(kind[1..].parse().unwrap(), line, words),
            }
        }
    }

    /// Does something to files, as programs of these names do, or compares two; false if it is another command.
    #[track_caller]
    pub(crate) fn step(&self, line: &str) -> bool {
        let at = |name: &str| self.at(name);
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["mkdir", name] => fs::create_dir_all(at(name)).unwrap(),
            ["mkfifo", name] => _ = Run::of(self.program("mkfifo").arg(name)).ends(0),
            ["cp", from, to] => _ = fs::copy(at(from), at(to)).unwrap(),
            ["mv", from, to] => fs::rename(at(from), at(to)).unwrap(),
            ["rm", name] if at(name).is_dir() => fs::remove_dir_all(at(name)).unwrap(),
            ["rm", name] => fs::remove_file(at(name)).unwrap(),
            ["write", name, ..] => self.write(name, line.splitn(3, ' ').nth(2).unwrap()),
            ["same", one, two] => assert!(self.read(one) == self.read(two), "{line}"),
            #[cfg(unix)]
            ["ln", to, name] => std::os::unix::fs::symlink(at(to), at(name)).unwrap(),
            #[cfg(unix)]
            ["chmod", mode, name] => {
                let mode = PermissionsExt::from_mode(u32::from_str_radix(mode, 8).unwrap());
                fs::set_permissions(at(name), mode).unwrap();
            }
            _ => return false,
        }
        true
    }

    /// The permission bits of a file.
    #[cfg(unix)]
    pub(crate) fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.at(name)).unwrap().permissions().mode() & 0o777
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

    /// The command must fail with this code and one `error:` line that contains `words`, leave nothing behind and
    /// change no file.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, line: &str, words: &str) -> Run {
        self.refused(code, &mut self.command(line), words)
    }

    /// The same of any program.
    #[track_caller]
    pub(crate) fn refused(&self, code: i32, command: &mut Command, words: &str) -> Run {
        let before = self.files();
        let run = Run::of(command);
        run.check_failure(code, words, &format!("{command:?}"));
        self.is_as(&before, &format!("{command:?}"));
        run
    }

    /// No file of the folder has come, gone or changed.
    #[track_caller]
    pub(crate) fn is_as(&self, before: &BTreeMap<PathBuf, Vec<u8>>, what: &str) {
        let now = self.files();
        let paths = before.keys().chain(now.keys());
        let changed = paths.filter(|path| now.get(*path) != before.get(*path));
        assert_eq!(
            changed.collect::<Vec<_>>(),
            Vec::<&PathBuf>::new(),
            "{what}"
        );
    }

    /// Every path in the folder, with the first two MiB of each file.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut found, mut folders) = (BTreeMap::new(), vec![self.at("")]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let mut bytes = Vec::new();
                if path.is_file() {
                    let file = File::open(&path).unwrap();
                    file.take(2 << 20).read_to_end(&mut bytes).unwrap();
                }
                folders.extend(path.is_dir().then(|| path.clone()));
                found.insert(path, bytes);
            }
        }
        found
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

/// A command line with the words of [`SHORT`], and `$iv`, written out.
fn long(line: &str) -> String {
    let replace = |line: String, short: &str| {
        let (word, words) = short.trim().split_once(' ').unwrap();
        line.replace(word, words)
    };
    let line = SHORT.lines().fold(line.to_owned(), replace);
    line.replace("$iv", IV)
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

    /// Standard output must have these words, between which stands `…`.
    #[track_caller]
    pub(crate) fn says(&self, words: &str) -> &Self {
        assert_eq!(lacking(&self.out, words), None, "{self:?}");
        self
    }

    /// Standard error must have these words.
    #[track_caller]
    pub(crate) fn warns(&self, words: &str) -> &Self {
        assert_eq!(lacking(&self.err, words), None, "{self:?}");
        self
    }

    /// Standard output as JSON, one value a line.
    pub(crate) fn events(&self) -> Vec<Value> {
        let lines = self.out.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The command must have failed with this code, and one `error:` line with these words; `line` is its command line.
    #[track_caller]
    pub(crate) fn check_failure(&self, code: i32, words: &str, line: &str) {
        assert_eq!(self.code, Some(code), "{line}: {self:?}");
        let lines = self.err.lines();
        let (errors, rest): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with("error:"));
        assert_eq!(errors.len(), 1, "{line}: {self:?}");
        let warnings = rest.iter().all(|line| line.starts_with("warning:"));
        assert!(
            warnings && !self.err.contains("panicked"),
            "{line}: {self:?}"
        );
        assert_eq!(lacking(errors[0], words), None, "{line}: {errors:?}");
        assert_eq!(self.out, "", "{line}");
    }
}

/// The first of some words, between which stands `…`, that a text lacks.
fn lacking<'w>(text: &str, words: &'w str) -> Option<&'w str> {
    words.split(" … ").find(|words| !text.contains(words))
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

/// A command at its last line: it waits for room in the pipe of its standard output, from which the caller reads.
#[cfg(target_os = "linux")]
pub(crate) fn at_its_last_line(mut command: Command, output: &Path) -> (Child, io::PipeReader) {
    let (reader, mut writer) = io::pipe().unwrap();
    // as much as a pipe holds
    writer.write_all(&[0; 1 << 16]).unwrap();
    let command = command.stdout(writer).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let call = format!("/proc/{}/syscall", child.id());
    wait_until("the last line", || {
        // a write to standard output is system call 1 on x86-64, 64 on aarch64
        let call = fs::read_to_string(&call).unwrap_or_default();
        let writes = call.starts_with("1 0x1 ") || call.starts_with("64 0x1 ");
        output.exists() && writes
    });
    (child, reader)
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

/// Whether a command that a test needs succeeds here.
pub(crate) fn has(command: &mut Command) -> bool {
    let there = command.output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("SKIPPED, as {command:?} fails here");
    }
    there
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

/// What `params` has of every set.
pub(crate) fn all_sets() -> &'static [Value] {
    static SETS: LazyLock<Value> = LazyLock::new(|| World::empty().json("params --json"));
    SETS.as_array().unwrap()
}

/// The fields of `expected` must have these values.
#[track_caller]
pub(crate) fn assert_fields(value: &Value, expected: Value) {
    for (name, expected) in expected.as_object().unwrap() {
        assert_eq!(value[name], *expected, "{name}: {value}");
    }
}

/// Each of these fields must be a number above zero.
#[track_caller]
pub(crate) fn assert_positive(value: &Value, names: &str) {
    for name in names.split_whitespace() {
        assert!(value[name].as_f64() > Some(0.0), "{name}: {value}");
    }
}

/// The shares of the stages of a benchmark make one.
pub(crate) fn check_shares(document: &Value) {
    let shares = document["stages"].as_object().unwrap().values();
    let sum: f64 = shares.map(|share| share.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{document}");
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

/// Whether pages are to be written instead of compared.
pub(crate) fn updates() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}

/// What to do about a page that is not the generated one.
pub(crate) const STALE: &str =
    "stale: run UPDATE_DOCS=1 cargo test --release -p homaes-cli --test all up_to_date";

/// A page of the repository must be the one that was `made`.
#[track_caller]
pub(crate) fn check_page(name: &str, made: &str) {
    if updates() {
        fs::write(root().join(name), made).unwrap();
    }
    let stored = file(name);
    let differs = stored.lines().zip(made.lines()).find(|(a, b)| a != b);
    assert!(stored == made, "{name} is {STALE}; {differs:?}");
}

/// A page with `text` in the region between `<!-- name -->` and `<!-- end -->`.
pub(crate) fn with_region(page: &str, name: &str, text: &str) -> String {
    let start = format!("<!-- {name} -->\n");
    let (before, rest) = page.split_once(&start).unwrap();
    let (_, after) = rest.split_once("<!-- end -->\n").unwrap();
    format!("{before}{start}{text}<!-- end -->\n{after}")
}
