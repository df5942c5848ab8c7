//! Damaged files with right checksums, from short scripts.
//!
//! Files of this project carry a chain of checksums, and a fuzzer that changes their bytes sees hardly more than the
//! refusal of the first wrong one. So the input of every target is a script: it takes a good file of a toy set apart into
//! header and records, changes them, and puts them together again with checksums that are right. The good files are made
//! at the start, always the same.
//!
//! ```text
//! script = first byte, operation*
//! first byte    bits 0-5: the good file, modulo their number; bit 6: the operations change bytes of the whole file, and
//!               no checksum is corrected; bit 7: the rest of the script is the file
//! operation     number (1 byte, modulo 13), then its arguments, see `Operation`; a script may end anywhere
//! ```
//!
//! A file that was changed may be refused, or be read. Nothing may panic, and the file as it is must be read.

mod job;

use homaes::{
    AesFile, AesInput, AesKey, Ciphertexts, Computed, DecryptOptions, EvalKey, Memory, Mode,
    Output, SecretKey, Transcipher, WrappedKey,
};
use homaes_scheme::{Records, file};
pub use homaes_wire::Kind;
use homaes_wire::{Reader, Writer};
pub use job::{run as run_job, seeds as job_seeds};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tempfile::TempDir;

/// The sets, small enough for tens of runs a second. Scripts number their files: add sets at the end.
const SETS: [&str; 4] = [
    "bgv/toy-255",
    "tfhe/toy",
    "tfhe/nibble-toy",
    "bgv/toy-k-255",
];

const AES_KEY: [u8; 16] = [7; 16];

type Rng = ChaCha20Rng;

/// A file taken apart.
#[derive(Debug, Clone)]
struct Parts {
    version: u16,
    kind: Kind,
    name: Vec<u8>,
    digest: [u8; 32],
    id: [u8; 16],
    records: Vec<Record>,
    /// Added to what the header says of their number and of the length of the file.
    lies: [u64; 2],
}

#[derive(Debug, Clone)]
struct Record {
    tag: u16,
    index: u64,
    body: Vec<u8>,
    /// Added to what it says of its length.
    lie: u64,
}

impl Parts {
    fn of(file: &[u8]) -> Self {
        let mut readers = Kind::ALL.map(|kind| Reader::from_slice(file, kind).ok());
        let reader = readers.iter_mut().find_map(Option::take);
        let mut reader = reader.expect("good files are read");
        let header = reader.header().clone();
        let mut records = Vec::new();
        while let Some(mut record) = reader.begin_any().expect("good records are read") {
            let head = record.head();
            let mut body = vec![0; head.len as usize];
            record.read_exact(&mut body).expect("good bodies are read");
            record.finish().expect("good checksums are right");
            records.push(Record {
                tag: head.tag,
                index: head.index,
                body,
                lie: 0,
            });
        }
        Self {
            version: header.version(),
            kind: header.kind(),
            name: header.set().as_bytes().to_vec(),
            digest: *header.digest(),
            id: header.key_id().0,
            records,
            lies: [0; 2],
        }
    }

    /// The file, with right checksums: `docs/FORMAT.md`.
    fn file(&self) -> Vec<u8> {
        let bodies: usize = self.records.iter().map(|record| record.body.len()).sum();
        let total = 92 + self.name.len() + 34 * self.records.len() + bodies;
        let mut out = Vec::with_capacity(total);
        out.extend(b"HOMAES\r\n");
        out.extend(self.version.to_le_bytes());
        out.push(self.kind as u8);
        out.push(self.name.len() as u8);
        out.extend(self.digest);
        out.extend(self.id);
        let [records, bytes] = self.lies;
        out.extend(
            (self.records.len() as u64)
                .wrapping_add(records)
                .to_le_bytes(),
        );
        out.extend((total as u64).wrapping_add(bytes).to_le_bytes());
        out.extend(&self.name);
        let mut previous = checksum("homaes wire 1 header", &[&out]);
        out.extend(previous);
        for record in &self.records {
            let mut head = [0; 18];
            head[..2].copy_from_slice(&record.tag.to_le_bytes());
            head[2..10].copy_from_slice(&record.index.to_le_bytes());
            let len = (record.body.len() as u64).wrapping_add(record.lie);
            head[10..].copy_from_slice(&len.to_le_bytes());
            previous = checksum("homaes wire 1 record", &[&previous, &head, &record.body]);
            out.extend(head);
            out.extend(&record.body);
            out.extend(previous);
        }
        out
    }
}

fn checksum(context: &str, parts: &[&[u8]]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    for part in parts {
        hasher.update(part);
    }
    let mut first = [0; 16];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    first
}

/// What is left of a script; zeros follow its end.
struct Script<'s>(&'s [u8]);

impl Script<'_> {
    fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            None => 0,
            Some((&byte, rest)) => {
                self.0 = rest;
                byte
            }
        }
    }

    fn number<const N: usize>(&mut self) -> u64 {
        (0..N).fold(0, |sum, i| sum | u64::from(self.byte()) << (8 * i))
    }

    /// At most 255 bytes, after their number.
    fn bytes(&mut self) -> Vec<u8> {
        let count = usize::from(self.byte());
        (0..count).map(|_| self.byte()).collect()
    }

    /// A place in something of `len`; 0 if it is empty.
    fn place(&mut self, len: usize) -> usize {
        let place = self.number::<3>() as usize;
        place % len.max(1)
    }
}

/// Changes the parts by one operation.
fn change(parts: &mut Parts, script: &mut Script<'_>) {
    let operation = script.byte() % 13;
    let count = parts.records.len();
    let chosen = usize::from(script.byte()) % count.max(1);
    if operation < 8 {
        let Some(record) = parts.records.get_mut(chosen) else {
            return;
        };
        let body = &mut record.body;
        match operation {
            0 => {
                let place = script.place(body.len());
                for (byte, new) in body[place..].iter_mut().zip(script.bytes()) {
                    *byte = new;
                }
            }
            1 => {
                let place = script.place(body.len());
                if let Some(byte) = body.get_mut(place) {
                    *byte ^= script.byte();
                }
            }
            2 => body.truncate(script.place(body.len())),
            3 => body.extend(script.bytes()),
            4 => *body = script.bytes(),
            5 => record.tag = script.number::<2>() as u16,
            6 => record.index = script.number::<8>(),
            _ => record.lie = script.number::<8>(),
        }
        return;
    }
    match operation {
        8 if count > 0 => {
            parts.records.remove(chosen);
        }
        // Not without end: a file of thousands of large records would only be slow.
        9 if count > 0 && count < 300 => {
            let place = script.place(count + 1);
            parts.records.insert(place, parts.records[chosen].clone());
        }
        10 if count > 0 => parts.records.swap(chosen, script.place(count)),
        11 => {
            let which = usize::from(script.byte()) % 2;
            parts.lies[which] = script.number::<8>();
        }
        12 => {
            let other = usize::from(script.byte());
            match script.byte() % 4 {
                0 => parts.name = SETS[other % SETS.len()].into(),
                1 => {
                    parts.name = script.bytes();
                    parts.name.truncate(64);
                }
                2 => parts.digest[other % 32] ^= script.byte(),
                _ => parts.id[other % 16] ^= script.byte(),
            }
        }
        _ => {}
    }
}

/// Changes bytes of a file.
fn edit(file: &mut Vec<u8>, script: &mut Script<'_>) {
    while !script.is_over() && !file.is_empty() {
        // mostly the header and the first record
        let near = script.byte();
        let len = if near & 1 == 0 {
            file.len().min(300)
        } else {
            file.len()
        };
        let place = script.place(len);
        match near >> 1 & 3 {
            0 => file.truncate(place),
            1 => file.extend(script.bytes()),
            _ => file[place] ^= script.byte(),
        }
    }
}

/// The file of a script that has it, or that changes its bytes; otherwise what follows its first byte.
fn whole<'s>(good: &[u8], script: &'s [u8]) -> Result<Vec<u8>, Script<'s>> {
    let mut script = Script(script);
    let first = script.byte();
    if first & 128 != 0 {
        return Ok(script.0.to_vec());
    }
    if first & 64 != 0 {
        let mut file = good.to_vec();
        edit(&mut file, &mut script);
        return Ok(file);
    }
    Err(script)
}

/// The file of a script.
fn file_of(good: &[Good], script: &[u8]) -> (usize, Vec<u8>) {
    let first = script.first().map_or(0, |first| first & 63);
    let chosen = usize::from(first) % good.len();
    let mut script = match whole(&good[chosen].file, script) {
        Ok(file) => return (chosen, file),
        Err(script) => script,
    };
    let mut parts = good[chosen].parts.clone();
    while !script.is_over() {
        change(&mut parts, &mut script);
    }
    (chosen, parts.file())
}

/// A good file, and what it is used with.
struct Good {
    world: usize,
    file: Vec<u8>,
    parts: Parts,
}

/// The keys of one set, in memory and in files.
struct World {
    secret: SecretKey,
    eval: EvalKey,
    /// Files that the keys and ciphertexts come from.
    paths: [PathBuf; 3],
    /// A wrapped key with many AES keys, for BGV.
    many: Option<PathBuf>,
    messages: Vec<PathBuf>,
    values: Vec<PathBuf>,
}

struct Fixture {
    folder: TempDir,
    worlds: Vec<World>,
    /// a compact wrapped key, of a set whose other files are too large to fuzz
    compact: PathBuf,
}

fn fixture() -> &'static Fixture {
    static FIXTURE: OnceLock<Fixture> = OnceLock::new();
    FIXTURE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let worlds = SETS.iter().map(|set| World::new(folder.path(), set));
        let worlds = worlds.collect();
        let compact = compact(folder.path());
        Fixture {
            folder,
            worlds,
            compact,
        }
    })
}

/// Writes a key of either scheme to a file.
macro_rules! save {
    ($path:expr, $key:expr) => {{
        let key = &$key;
        let header = key.header().expect("good keys have headers");
        let mut writer = Writer::new(Vec::new(), header).expect("memory takes a header");
        file::write(key, &mut writer).expect("memory takes records");
        let file = writer.finish().expect("good keys are complete");
        fs::write($path, file).expect("a file in the temporary folder");
    }};
}

/// Writes a compact wrapped key; always the same.
fn compact(folder: &Path) -> PathBuf {
    let path = folder.join("compact");
    let mut rng = Rng::seed_from_u64(8);
    let keys = homaes_aes::RoundKeys::expand(&AES_KEY).expect("16 bytes are a key");
    let params = homaes_bgv::Params::new(&homaes_bgv::sets::TOY_4369).expect("a sound set");
    let secret = homaes_bgv::SecretKey::generate(&params, &mut rng).expect("a key");
    let how = homaes_bgv::WrapOptions::default();
    let wrapped = homaes_bgv::WrappedKey::encrypt(&secret, &keys, how, &mut rng);
    save!(&path, wrapped.expect("a wrapped key"));
    path
}

/// Writes a wrapped key with two AES keys, under the secret key of `World::new`; always the same.
fn many(folder: &Path, set: &homaes_bgv::ParamSet) -> PathBuf {
    let path = folder.join("many");
    let mut rng = Rng::seed_from_u64(7);
    let keys = homaes_aes::RoundKeys::expand(&AES_KEY).expect("16 bytes are a key");
    let params = homaes_bgv::Params::new(set).expect("a sound set");
    let secret = homaes_bgv::SecretKey::generate(&params, &mut rng).expect("a key");
    let keys = ["b", "é"].map(|name| (name.to_owned(), &keys));
    let wrapped = homaes_bgv::WrappedKey::encrypt_many(&secret, &keys, None, &mut rng);
    save!(&path, wrapped.expect("a wrapped key"));
    path
}

/// Makes the keys of a set of either scheme, in files.
macro_rules! make_keys {
    ($scheme:ident, $set:expr, $round_keys:ident, $rng:ident, $paths:ident) => {{
        let params: Arc<_> = $scheme::Params::new($set).expect("a sound set");
        let secret = $scheme::SecretKey::generate(&params, &mut $rng).expect("a key");
        let eval = $scheme::EvalKeyFile::generate(&secret, &mut $rng);
        let how = $scheme::WrapOptions::default();
        let wrapped = $scheme::WrappedKey::encrypt(&secret, &$round_keys, how, &mut $rng);
        save!(&$paths[0], secret);
        save!(&$paths[1], eval);
        save!(&$paths[2], wrapped.expect("a wrapped key"));
    }};
}

impl World {
    /// Always the same keys.
    fn new(folder: &Path, set: &str) -> Self {
        let folder = folder.join(set.replace('/', "-"));
        fs::create_dir(&folder).expect("a folder for each set");
        let paths = ["hsk", "hek", "hwk"].map(|kind| folder.join(kind));
        let mut rng = Rng::seed_from_u64(7);
        let round_keys = homaes_aes::RoundKeys::expand(&AES_KEY).expect("16 bytes are a key");
        let bgv = homaes_bgv::sets::by_name(set);
        match bgv {
            Some(set) => make_keys!(homaes_bgv, set, round_keys, rng, paths),
            None => {
                let set = homaes_tfhe::sets::by_name(set).expect("a set of one of the schemes");
                make_keys!(homaes_tfhe, set, round_keys, rng, paths);
            }
        }
        let secret = SecretKey::open(&paths[0]).expect("a good secret key");
        let eval = EvalKey::open(&paths[1]).expect("a good evaluation key");
        let many = bgv.map(|set| many(&folder, set));
        let mut messages = messages(&folder, set, &eval, &paths[2]);
        messages.extend(many.as_ref().map(|many| under_many(&folder, &eval, many)));
        let values = values(&folder, set, &eval, &messages[0]);
        Self {
            secret,
            eval,
            paths,
            many,
            messages,
            values,
        }
    }
}

/// A message of two parts, each under its own AES key.
fn under_many(folder: &Path, eval: &EvalKey, many: &Path) -> PathBuf {
    let wrapped = WrappedKey::open(many, eval).expect("a good wrapped key");
    let part = |name: &str| {
        let part = AesFile::of(Memory::new([9; 150], name), Mode::Ctr { iv: [4; 16] });
        (name.to_owned(), part.expect("a length that fits"))
    };
    let parts = AesInput::of_parts(["é/a", "b/c"].map(part)).expect("names of parts");
    let path = folder.join("under many");
    let output = Output::create(&path, false).expect("an output");
    let run = Transcipher::new(eval, &wrapped).expect("keys that go together");
    run.run(parts, output).expect("good keys evaluate");
    path
}

/// A message in mode CTR, with BGV of two batches, and there one in mode GCM with associated data, and one of two parts.
fn messages(folder: &Path, set: &str, eval: &EvalKey, wrapped: &Path) -> Vec<PathBuf> {
    let wrapped = WrappedKey::open(wrapped, eval).expect("a good wrapped key");
    let run = Transcipher::new(eval, &wrapped).expect("keys that go together");
    let input = folder.join("input");
    let finish = |name: &str, message: AesInput| {
        let path = folder.join(name);
        let output = Output::create(&path, false).expect("an output");
        run.run(message, output).expect("good keys evaluate");
        path
    };
    let evaluate = |name: &str, bytes: usize, mode| {
        fs::write(&input, vec![9; bytes]).expect("an input");
        let mut part = AesFile::open(&input, mode).expect("a length that fits");
        if let Mode::Gcm { .. } = mode {
            part = part.with_aad(vec![3; 21]).expect("data that fit");
        }
        finish(name, part.into())
    };
    if set.starts_with("bgv/") {
        let gcm = Mode::Gcm { nonce: [1; 12] };
        let part = |name: &str| {
            let part = AesFile::of(Memory::new([9; 20], name), Mode::Ctr { iv: [4; 16] });
            (name.to_owned(), part.expect("a length that fits"))
        };
        let parts = AesInput::of_parts(["a", "b/c"].map(part));
        vec![
            evaluate("ctr", 300, Mode::Ctr { iv: [2; 16] }),
            evaluate("gcm", 36, gcm),
            finish("parts", parts.expect("names of parts")),
        ]
    } else {
        vec![evaluate("ctr", 20, Mode::Ctr { iv: [2; 16] })]
    }
}

/// Values of one byte and of two, where programs can compute with the set: of the first batch of a message.
fn values(folder: &Path, set: &str, eval: &EvalKey, message: &Path) -> Vec<PathBuf> {
    let mut batches = Ciphertexts::open(message)
        .expect("good results are opened")
        .into_iter();
    let batch = batches.next().expect("a batch").expect("a good batch");
    let blocks = batch.blocks() as u64;
    let mut computed = Computed::new(eval);
    let added = match set {
        "bgv/toy-255" | "bgv/toy-k-255" => {
            let state: homaes_bgv::State = batch.state().expect("results of BGV");
            let all = state.ciphertexts();
            let added = computed.add("bytes", blocks, 8, [&all[0]]);
            let added = added.and_then(|()| computed.add("é", blocks - 3, 16, &all[1..3]));
            let one = [(7, homaes_bgv::Addend::One)];
            added.and_then(|()| computed.add_integers("sum", (1, 9, true), one))
        }
        "tfhe/toy" => {
            let state: homaes_tfhe::State = batch.state().expect("results of TFHE");
            computed.add("bytes", 16 * blocks, 8, [&state])
        }
        _ => return Vec::new(),
    };
    added.expect("good values");
    let path = folder.join("hcv");
    let output = Output::create(&path, false).expect("an output");
    computed.write(output).expect("good values are written");
    vec![path]
}

/// The good files of a kind.
fn good(kind: Kind) -> &'static [Good] {
    static GOOD: [OnceLock<Vec<Good>>; 5] = [const { OnceLock::new() }; 5];
    let place = match kind {
        Kind::SecretKey => 0,
        Kind::EvalKey => 1,
        Kind::WrappedKey => 2,
        Kind::Computed => 4,
        _ => 3,
    };
    GOOD[place].get_or_init(|| {
        let worlds = fixture().worlds.iter().enumerate();
        let paths = worlds.flat_map(|(world, of)| {
            let paths = match of.paths.get(place) {
                Some(path) => std::slice::from_ref(path),
                None if kind == Kind::Computed => &of.values[..],
                None => &of.messages[..],
            };
            paths.iter().map(move |path| (world, path))
        });
        let worlds = fixture().worlds.iter().enumerate();
        let many = worlds.filter_map(|(world, of)| Some((world, of.many.as_ref()?)));
        let others = many.chain([(0, &fixture().compact)]);
        let paths = paths.chain(others.filter(|_| kind == Kind::WrappedKey));
        let good = paths.map(|(world, path)| {
            let file = fs::read(path).expect("a good file");
            let parts = Parts::of(&file);
            assert!(
                parts.file() == file,
                "a file put together again is the same"
            );
            Good { world, file, parts }
        });
        good.collect()
    })
}

/// Reads the file of a script by every way there is for its kind.
///
/// # Panics
/// If something in the library does, or the good file itself is refused.
pub fn run(kind: Kind, script: &[u8]) {
    let good = good(kind);
    let (chosen, file) = file_of(good, script);
    let world = &fixture().worlds[good[chosen].world];
    let path = fixture().folder.path().join("script");
    fs::write(&path, &file).expect("a file in the temporary folder");
    let inspected = homaes::inspect(&path).is_ok();
    let read = match kind {
        Kind::SecretKey => SecretKey::open(&path).is_ok_and(|secret| {
            // It decrypts something, to the message or not.
            let _ = secret.decrypt(&world.messages[0], Output::held("memory", io::sink()));
            true
        }),
        Kind::EvalKey => EvalKey::open(&path).is_ok_and(|eval| {
            let wrapped = WrappedKey::open(&world.paths[2], &eval);
            if let Ok(wrapped) = &wrapped {
                let _ = Transcipher::new(&eval, wrapped);
            }
            true
        }),
        Kind::WrappedKey => WrappedKey::open_alone(&path).is_ok_and(|wrapped| {
            let _ = (wrapped.layouts(), wrapped.file_bytes());
            let run = Transcipher::new(&world.eval, &wrapped);
            let other = wrapped.set().name() != world.eval.set().name();
            run.map_or(other, |run| run.layout_for(100).is_ok())
        }),
        Kind::Computed => world.secret.open_values(&path).is_ok(),
        _ => {
            let key = AesKey::from_bytes(&AES_KEY).expect("16 bytes are a key");
            let mut decrypted = false;
            for (aes_key, unpad, part) in [
                (Some(&key), false, None),
                (None, true, None),
                (None, false, None),
                (None, false, Some("b/c")),
            ] {
                let options = DecryptOptions {
                    aes_key,
                    unpad,
                    part,
                    unauthenticated: true,
                    ..DecryptOptions::default()
                };
                let output = Output::held("memory", io::sink());
                let report = world.secret.decrypt_with(&path, output, options);
                decrypted |= report.is_ok();
            }
            let results = Ciphertexts::open(&path);
            results.is_ok_and(|results| results.into_iter().all(|batch| batch.is_ok())) && decrypted
        }
    };
    if file == good[chosen].file {
        assert!(inspected && read, "the good file is read");
    }
}

/// Names and contents of the seeds for a kind: each operation on each good file, where its fields lie.
#[must_use]
pub fn seeds(kind: Kind) -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for (i, good) in good(kind).iter().enumerate() {
        let mut add = |what: &str, operations: &[u8]| {
            let script = [&[i as u8], operations].concat();
            seeds.push((format!("{i}-{what}"), script));
        };
        add("good", &[]);
        let last = good.parts.records.len().saturating_sub(1).min(255) as u8;
        for record in [0, 1, last] {
            let named = |what: &str| format!("{what}-{record}");
            add(&named("set"), &[0, record, 3, 0, 0, 4, 255, 255, 255, 127]);
            add(&named("flip"), &[1, record, 0, 0, 0, 1]);
            add(&named("cut"), &[2, record, 7, 0, 0]);
            add(&named("longer"), &[3, record, 2, 0, 0]);
            add(&named("replaced"), &[4, record, 0]);
            add(&named("tag"), &[5, record, 9, 0]);
            add(&named("index"), &[6, record, 1, 0, 0, 0, 0, 0, 0, 128]);
            add(&named("lie"), &[7, record, 0, 0, 0, 0, 0, 0, 0, 255]);
            add(&named("gone"), &[8, record]);
            add(&named("twice"), &[9, record, record, 0, 0]);
            add(&named("swapped"), &[10, record, 0, 0, 0]);
        }
        add("lie-records", &[11, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        add(
            "lie-bytes",
            &[11, 0, 1, 255, 255, 255, 255, 255, 255, 255, 255],
        );
        for what in 0..4 {
            add(
                &format!("header-{what}"),
                &[12, 0, 1, what, 3, b'a', b'/', b'b'],
            );
        }
        // every byte of a short first record: numbers, texts and lengths
        let first = good
            .parts
            .records
            .first()
            .map_or(0, |record| record.body.len());
        for place in 0..first.min(64) as u8 {
            add(&format!("byte-{place}"), &[0, 0, place, 0, 0, 1, 255]);
        }
        let script = [&[i as u8 | 64], &[6, 80, 0, 0, 1][..]].concat();
        seeds.push((format!("{i}-bytes"), script));
        let head = &good.file[..good.file.len().min(120)];
        let script = [&[i as u8 | 128], head].concat();
        seeds.push((format!("{i}-raw"), script));
    }
    seeds
}

/// Scripts that a fuzzer found, which reach code that the seeds do not: one a line, in hexadecimal.
///
/// # Panics
/// If a line is not hexadecimal.
#[must_use]
pub fn found(kind: Kind) -> Vec<Vec<u8>> {
    let lines = match kind {
        Kind::SecretKey => include_str!("../found/hsk.hex"),
        Kind::EvalKey => include_str!("../found/hek.hex"),
        Kind::Ciphertext => include_str!("../found/hct.hex"),
        _ => "",
    };
    let digit = |c: u8| (c as char).to_digit(16).unwrap() as u8;
    let script = |line: &str| {
        let pairs = line.as_bytes().chunks_exact(2);
        pairs
            .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
            .collect()
    };
    lines.lines().map(script).collect()
}

/// Writes the seeds of every kind, and what a fuzzer found, to `folder`.
///
/// # Errors
/// If they cannot be written.
pub fn write_seeds(folder: &Path) -> io::Result<()> {
    let kinds = KINDS.map(|(name, kind)| {
        let found = found(kind).into_iter().enumerate();
        let found = found.map(|(i, script)| (format!("found-{i}"), script));
        (name, seeds(kind).into_iter().chain(found).collect())
    });
    for (name, seeds) in kinds.into_iter().chain([("job", job_seeds())]) {
        let folder = folder.join(name);
        fs::create_dir_all(&folder)?;
        for (seed, script) in seeds {
            fs::write(folder.join(seed), script)?;
        }
    }
    Ok(())
}

/// The targets of files of one kind.
pub const KINDS: [(&str, Kind); 5] = [
    ("hsk", Kind::SecretKey),
    ("hek", Kind::EvalKey),
    ("hwk", Kind::WrappedKey),
    ("hct", Kind::Ciphertext),
    ("hcv", Kind::Computed),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_runs() {
        for (name, kind) in KINDS {
            let seeds = seeds(kind);
            assert!(seeds.len() > 100, "{name}");
            let seeds = seeds.into_iter().map(|(_, script)| script);
            for script in seeds.chain(found(kind)) {
                run(kind, &script);
            }
        }
        let seeds = job_seeds();
        assert!(seeds.len() > 100);
        for (_, script) in seeds {
            run_job(&script);
        }
    }

    #[test]
    fn scripts_reach_what_lies_behind_the_checksums() {
        // a record of the evaluation key of another length: refused for its length, and not for its checksum
        let script = [0, 2, 1, 7, 0, 0];
        let (_, file) = file_of(good(Kind::EvalKey), &script);
        let path = fixture().folder.path().join("test");
        fs::write(&path, file).unwrap();
        let error = EvalKey::open(&path).unwrap_err().to_string();
        assert!(!error.contains("corrupted"), "{error}");
    }

    #[test]
    fn files_are_always_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let again = World::new(folder.path(), SETS[0]);
        for (path, first) in again.paths.iter().zip(&fixture().worlds[0].paths) {
            assert!(fs::read(path).unwrap() == fs::read(first).unwrap());
        }
        assert_eq!(again.eval.set().name(), SETS[0]);
    }
}
