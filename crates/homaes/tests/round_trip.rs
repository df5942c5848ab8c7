//! From AES ciphertext to FHE ciphertext and back, on toy sets, against the crates `aes` and `ctr`.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{World, ctr, keys, layout, levels, memory, message};
use homaes::{
    AesFile, AesKey, Block, Computed, Direction, ErrorKind, EvalKey, Expansion, Layout, Mode,
    Progress, Quality, Resume, Scheme, Transcipher, WrapOptions, WrappedKey, inspect,
};
use std::fs;
use std::num::NonZeroUsize;

/// The counter wraps after two blocks.
const IV: Block = {
    let mut iv = [0xff; 16];
    iv[15] = 0xfe;
    iv
};

/// Whether the quality in a file is that of the run, rounded to the safe side.
fn is_rounded(read: Option<Quality>, told: Option<Quality>) -> bool {
    let (Some(read), Some(told)) = (read, told) else {
        return read.is_none() && told.is_none();
    };
    let above = read.noise_bits - told.noise_bits;
    let below = told.capacity_bits - read.capacity_bits;
    let safe = |by: f64| by > -1e-9 && by < 2f64.powi(-15);
    read.level == told.level && safe(above) && safe(below)
}

impl World {
    fn job(&self, message: &[u8]) -> AesFile {
        fs::write(self.at("c"), ctr(IV, message)).unwrap();
        AesFile::open(self.at("c"), Mode::Ctr { iv: IV }).unwrap()
    }

    fn decrypted(&self, name: &str) -> Vec<u8> {
        let secret = &self.keys.secret;
        let report = secret.decrypt(self.at(name), self.output("p")).unwrap();
        let message = fs::read(self.at("p")).unwrap();
        assert_eq!(report.bytes, message.len() as u64);
        assert_eq!(report.margin_bits.is_none(), message.is_empty());
        message
    }

    fn file_bytes(&self, len: usize) -> u64 {
        let part = memory(vec![0; len], Mode::Ctr { iv: IV });
        self.transcipher().plan(part).unwrap().file_bytes()
    }
}

#[test]
fn every_length_comes_back() {
    comes_back("bgv/toy-255", &[0, 1, 16, 17, 256, 257, 1000]);
    let tfhe = comes_back("tfhe/toy", &[0, 1, 16 * 32 + 3]);
    comes_back("tfhe/toy-blocks", &[0, 17]);
    comes_back("tfhe/nibble-toy", &[0, 17]);
    // in TFHE the last batch is as short as its blocks
    let [full, more] = [32, 33].map(|blocks| tfhe.file_bytes(16 * blocks));
    assert!(more > full && more < 2 * full, "{more} {full}");
}

fn comes_back(set: &str, lengths: &[usize]) -> World {
    let world = World::of(set, &WrapOptions::default());
    let run = Transcipher::new(&world.keys.eval, &world.wrapped).unwrap();
    let layout = run.set().layouts()[0];
    assert_eq!(run.layout_for(1).unwrap(), layout);
    for &len in lengths {
        let message = message(len);
        let report = run.run(world.job(&message), world.output("o.hct")).unwrap();
        let blocks = len.div_ceil(16) as u64;
        let batches = blocks.div_ceil(run.set().blocks_per_batch(layout));
        assert_eq!(
            (report.bytes, report.blocks, report.batches),
            (len as u64, blocks, batches)
        );
        let file_bytes = fs::metadata(world.at("o.hct")).unwrap().len();
        assert_eq!(report.file_bytes, file_bytes);
        assert_eq!(world.file_bytes(len), file_bytes);
        assert_eq!(report.steps.len(), if len == 0 { 0 } else { 11 });
        let rotates = report.scheme == Scheme::Tfhe && len > 0;
        assert_eq!(report.count("rotations") > 0, rotates);
        assert_eq!(world.decrypted("o.hct"), message, "{set}: {len} bytes");
        let found = inspect(world.at("o.hct")).unwrap().messages.unwrap();
        assert_eq!(found.meta.split.bytes, len as u64);
        assert_eq!((found.meta.layout, found.meta.level), (layout, 1));
        assert!(is_rounded(found.quality, report.quality));
        assert_eq!(found.steps.len(), report.steps.len());
        for (read, told) in found.steps.iter().zip(&report.steps) {
            assert!(is_rounded(Some(read.quality), Some(told.quality)));
            assert_eq!(read.seconds, told.seconds);
        }
    }
    drop(run);
    assert_eq!(world.names(), ["c", "o.hct", "p"]);
    world
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let world = World::new();
    let message = message(16 * 16 * 2 + 3);
    let mut files = Vec::new();
    for (threads, reproducible) in [(1, false), (1, true), (3, true)] {
        let threads = NonZeroUsize::new(threads).unwrap();
        let mut events: Vec<Progress> = Vec::new();
        let run = Transcipher::with_threads(&world.keys.eval, &world.wrapped, threads);
        let run = run.unwrap().reproducible(reproducible);
        let run = run.watch(|event| events.push(event));
        let report = run.run(world.job(&message), world.output("o.hct")).unwrap();
        drop(run);
        assert_eq!((report.threads, report.batches), (threads.get(), 3));
        assert_eq!(events.len(), 3 * 11);
        for batch in 0..3 {
            let rounds = events.iter().filter(|e| e.batch == batch).map(|e| e.round);
            assert!(rounds.eq(0..=10), "batch {batch}: {events:?}");
        }
        for (round, step) in report.steps.iter().enumerate() {
            let of_round = events.iter().filter(|e| e.round == round);
            let worst = of_round.map(|e| e.step.quality).reduce(|a, b| a.worst(b));
            assert_eq!(worst, Some(step.quality));
            assert!(step.seconds > 0.0);
        }
        let levels = report.steps.iter().map(|step| step.quality.level);
        assert!(levels.is_sorted_by(|a, b| a > b), "{:?}", report.steps);
        files.push(fs::read(world.at("o.hct")).unwrap());
    }
    assert!(files[1] == files[2]);
    // the first file has times in its last record: a head, eleven steps of 26 bytes, a checksum
    assert!(files[0] != files[1]);
    let [timed, same, _] = &files[..] else {
        unreachable!("three files");
    };
    let before = timed.len() - (18 + 11 * 26 + 16);
    assert!(timed[..before] == same[..before]);
}

#[test]
fn what_is_read_is_not_replaced() {
    let world = World::with_files("bgv/toy-255");
    let eval = EvalKey::open(world.at("keys/eval.hek")).unwrap();
    let wrapped = WrappedKey::open(world.at("key.hwk"), &eval).unwrap();
    let transcipher = Transcipher::new(&eval, &wrapped).unwrap();
    let refused = |run: homaes::Result<()>| {
        let error = run.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OwnInput, "{error}");
    };
    let part = || world.job(&message(100));
    part();
    for name in ["c", "keys/eval.hek", "key.hwk", "keys/../key.hwk"] {
        let before = fs::read(world.at(name)).unwrap();
        refused(transcipher.run(part(), world.output(name)).map(drop));
        let how = Resume {
            force: true,
            ..Resume::default()
        };
        let resumed = transcipher.resume(part(), world.at(name), how, &mut |_| ());
        refused(resumed.map(drop));
        assert!(fs::read(world.at(name)).unwrap() == before);
    }
    transcipher.run(part(), world.output("o.hct")).unwrap();
    let secret = &world.keys.secret;
    let own = secret.decrypt(world.at("o.hct"), world.output("o.hct"));
    refused(own.map(drop));
    refused(Computed::new(&eval).write(world.output("keys/eval.hek")));
    assert_eq!(world.decrypted("o.hct"), message(100));
}

#[test]
fn what_a_set_does_not_carry_is_refused_before_any_work() {
    let world = World::new();
    let key = AesKey::from_bytes(&[1; 32]).unwrap();
    for (wrapping, expected) in [
        (
            levels(15),
            "AES-256, layout sliced, with 15 multiplications left: set bgv/toy-255 leaves at most 14",
        ),
        (
            layout(Layout::Packed),
            "set bgv/toy-255 has no layout packed, expected sliced or bits",
        ),
        (
            WrapOptions {
                expansion: Some(Expansion::Server),
                ..WrapOptions::default()
            },
            "key expansion by the server, expected by the client: set bgv/toy-255 has no circuit for it",
        ),
    ] {
        let secret = &world.keys.secret;
        let error = WrappedKey::create(secret, &key, &wrapping, world.at("w"), false);
        assert_eq!(error.unwrap_err().to_string(), expected);
        assert!(!world.at("w").exists());
    }
}

#[test]
fn a_wrapped_key_serves_its_layouts_and_direction_only() {
    let world = World::new();
    let run = Transcipher::new(&world.keys.eval, &world.wrapped).unwrap();
    assert_eq!(run.layout_for(1).unwrap(), Layout::Sliced);
    let error = run.layout(Layout::Bits).unwrap_err();
    assert!(error.to_string().contains("has no layout bits"));
    let tfhe = keys("tfhe/toy").eval;
    let error = Transcipher::new(&tfhe, &world.wrapped).unwrap_err();
    let words = "wrapped key belongs to set bgv/toy-255, expected tfhe/toy";
    assert!(error.to_string().contains(words), "{error}");
    let other = world.wrap(&WrapOptions {
        direction: Direction::Decrypt,
        ..WrapOptions::default()
    });
    let gcm = Mode::Gcm { nonce: [1; 12] };
    let (cbc, ctr) = (Mode::Cbc { iv: IV }, Mode::Ctr { iv: IV });
    for (wrapped, mode, words) in [
        (&world.wrapped, Mode::Ecb, "mode ecb needs AES decryption"),
        (&world.wrapped, cbc, "mode cbc needs AES decryption"),
        (&other, ctr, "mode ctr needs AES encryption"),
        (&other, gcm, "mode gcm needs AES encryption"),
    ] {
        let run = Transcipher::new(&world.keys.eval, wrapped).unwrap();
        let run = run.run(memory([0; 32], mode), world.output("o.hct"));
        let error = run.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.kind(), ErrorKind::Direction(mode.direction()));
        assert!(!world.at("o.hct").exists());
    }
}

#[test]
fn levels_left_are_what_was_asked_for() {
    let mut world = World::new();
    for (levels_left, level) in [(Some(0), 1), (Some(1), 3), (Some(5), 6)] {
        world.wrapped = world.wrap(&WrapOptions {
            levels_left,
            ..WrapOptions::default()
        });
        assert_eq!(world.wrapped.output_level(Layout::Sliced), Some(level));
        let message = message(20);
        let run = world.transcipher();
        let report = run.run(world.job(&message), world.output("o.hct")).unwrap();
        assert_eq!(report.quality.unwrap().level, level);
        assert_eq!(world.decrypted("o.hct"), message);
        let found = inspect(world.at("o.hct")).unwrap().messages.unwrap();
        assert_eq!(found.meta.level, level);
    }
}

#[test]
fn a_failed_run_leaves_nothing_behind() {
    let world = World::new();
    for change in [999, 1001] {
        let job = world.job(&message(1000));
        fs::write(world.at("c"), vec![0; change]).unwrap();
        let error = world.transcipher().run(job, world.output("o.hct"));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("changed while it was read"), "{error}");
    }
    assert_eq!(world.names(), ["c"]);
}
