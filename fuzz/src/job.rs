//! Plans that were changed, from short scripts.
//!
//! ```text
//! script = first byte, operation*
//! first byte    bit 6: the operations change bytes of the text of `job.json`; bit 7: the rest of the script is that text
//! operation     number (1 byte, modulo 9), the value of the plan that it changes (2 bytes), its arguments: see `change`
//! ```
//!
//! The values of a plan are numbered as they stand in the text: an object or array, then what is in it.
//! A plan that was changed may be refused, or be that of a job. Nothing may panic, and the plan as it is must be read.

use crate::{Script, fixture, whole};
use homaes::{AesFile, AesInput, Cancel, Ciphertexts, DecryptOptions, Mode, Output};
use homaes_job::{Job, Location, Planning, Worker};
use serde_json::Value;
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A complete job of two shards, and its plan.
struct Good {
    path: PathBuf,
    text: Vec<u8>,
    plan: Value,
    /// Numbers of its values.
    values: usize,
}

fn good() -> &'static Good {
    static GOOD: OnceLock<Good> = OnceLock::new();
    GOOD.get_or_init(|| {
        let folder = fixture().folder.path();
        let [_, eval, wrapped] = &fixture().worlds[0].paths;
        let part = |(name, bytes, mode): (&str, usize, Mode)| {
            let path = folder.join(name);
            fs::write(&path, vec![9; bytes]).expect("a part of a message");
            let part = AesFile::open(&path, mode).expect("a length that fits");
            (name.to_owned(), part)
        };
        let ctr = part(("ctr", 500, Mode::Ctr { iv: [2; 16] }));
        let (name, gcm) = part(("gcm", 36, Mode::Gcm { nonce: [1; 12] }));
        let gcm = gcm.with_aad(vec![3; 21]).expect("data that fit");
        let message = AesInput::of_parts([ctr, (name, gcm)]).expect("parts of other names");
        let planning = Planning {
            shard_batches: Some(2),
            ..Planning::new(
                Location::Local(eval.clone()),
                Location::Local(wrapped.clone()),
            )
        };
        let path = folder.join("job");
        let location = Location::Local(path.clone());
        let job = Job::plan(location, message, &planning).expect("a good job");
        let keys = job.keys(None).expect("the keys of the job");
        let worker = Worker::new(&job, &keys, Some(NonZeroUsize::MIN)).expect("a worker");
        worker.run(&[], &mut |_| ()).expect("all shards");
        assert_eq!(job.shards(), 2);
        let text = fs::read(path.join("job.json")).expect("a plan");
        let plan = serde_json::from_slice(&text).expect("a plan is JSON");
        let values = count(&plan);
        Good {
            path,
            text,
            plan,
            values,
        }
    })
}

/// Values that a value consists of, itself included.
fn count(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(count).sum::<usize>(),
        Value::Object(values) => 1 + values.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

/// The value of a number, which is counted down on the way.
fn find<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(values) => values.iter_mut().find_map(|value| find(value, left)),
        Value::Object(values) => values.values_mut().find_map(|value| find(value, left)),
        _ => None,
    }
}

/// Changes a value of the plan by one operation.
fn change(plan: &mut Value, script: &mut Script<'_>) {
    let operation = script.byte() % 9;
    let mut chosen = script.number::<2>() as usize % count(plan);
    let mut other = None;
    if operation == 7 {
        let mut number = script.number::<2>() as usize % count(plan);
        other = find(plan, &mut number).cloned();
    }
    let Some(value) = find(plan, &mut chosen) else {
        return;
    };
    match operation {
        0 => *value = script.number::<8>().into(),
        1 => *value = String::from_utf8_lossy(&script.bytes()).into(),
        2 => {
            *value = [Value::Null, true.into(), (-1).into(), 1e300.into()][script.place(4)].clone()
        }
        3 => {
            if let Some(number) = value.as_u64() {
                *value = number
                    .wrapping_add_signed(i64::from(script.byte() as i8))
                    .into();
            }
        }
        4 => {
            if let Value::String(text) = value {
                let mut bytes = text.clone().into_bytes();
                let place = script.place(bytes.len());
                if let Some(byte) = bytes.get_mut(place) {
                    *byte ^= script.byte();
                }
                *text = String::from_utf8_lossy(&bytes).into();
            }
        }
        5 => match value {
            Value::String(text) => {
                let len = script.place(text.len());
                *text = text.chars().take(len).collect();
            }
            Value::Array(values) => values.truncate(script.place(values.len())),
            Value::Object(values) => {
                let place = script.place(values.len());
                let name = values.keys().nth(place).cloned();
                name.and_then(|name| values.remove(&name));
            }
            _ => {}
        },
        6 => match value {
            Value::Array(values) if !values.is_empty() => {
                let place = script.place(values.len());
                values.insert(place, values[place].clone());
            }
            Value::Object(values) => {
                let name = String::from_utf8_lossy(&script.bytes()).into();
                values.insert(name, 1.into());
            }
            Value::String(text) => text.push_str(&String::from_utf8_lossy(&script.bytes())),
            _ => {}
        },
        // Not without end: what is in itself doubles.
        7 if count(value) < 1000 => *value = other.unwrap_or_default(),
        _ => {
            if let Value::Array(values) = value {
                values.reverse();
            }
        }
    }
}

/// The text of a script.
fn text_of(good: &Good, script: &[u8]) -> Vec<u8> {
    let mut script = match whole(&good.text, script) {
        Ok(text) => return text,
        Err(script) => script,
    };
    if script.is_over() {
        return good.text.clone();
    }
    let mut plan = good.plan.clone();
    while !script.is_over() {
        change(&mut plan, &mut script);
    }
    serde_json::to_vec(&plan).expect("values are written")
}

/// Reads a job with the plan of a script by every way there is.
///
/// # Panics
/// If something in the library does, or the good plan itself is refused.
pub fn run(script: &[u8]) {
    let good = good();
    let text = text_of(good, script);
    fs::write(good.path.join("job.json"), &text).expect("a plan in the temporary folder");
    let read = Job::open(Location::Local(good.path.clone())).is_ok_and(|job| uses(&job));
    if text == good.text {
        assert!(read, "the good plan is read");
    }
}

/// Whether everything that can be done with a job without changing it is done.
fn uses(job: &Job) -> bool {
    let there = (0..job.shards()).all(|number| job.has(number).is_ok_and(|there| there));
    let right = job
        .verify(&Cancel::new())
        .is_ok_and(|verified| verified.wrong.is_empty());
    let status = job.status().is_ok_and(|status| status.missing() == 0);
    let merged = job
        .merge(Output::held("memory", io::sink()), &Cancel::new())
        .is_ok();
    let secret = &fixture().worlds[0].secret;
    let decrypted = job.results().is_ok_and(|results| {
        let results = Ciphertexts::of_read(results, "job");
        results.is_ok_and(|results| {
            let options = DecryptOptions {
                part: Some("ctr"),
                ..DecryptOptions::default()
            };
            let output = Output::held("memory", io::sink());
            secret.decrypt_from(results, output, options).is_ok()
        })
    });
    let evaluated = job.keys(None).is_ok_and(|keys| {
        let worker = Worker::new(job, &keys, Some(NonZeroUsize::MIN));
        worker.is_ok_and(|worker| {
            let verified = worker.verify(0.0);
            verified.is_ok_and(|verified| verified.wrong.is_empty())
        })
    });
    there && right && status && merged && decrypted && evaluated
}

/// Names and contents of the seeds: each operation on each value.
#[must_use]
pub fn seeds() -> Vec<(String, Vec<u8>)> {
    let good = good();
    let mut seeds = vec![("good".to_owned(), vec![0])];
    for value in 0..good.values {
        for (operation, arguments) in [
            (0, &[255, 255, 255, 255, 255, 255, 255, 127][..]),
            (1, b"\x07../gone"),
            (2, &[3, 0, 0]),
            (3, &[1]),
            (4, &[0, 0, 0, 1]),
            (5, &[1, 0, 0]),
            (6, b"\x00\x00\x00"),
            (7, &[1, 0]),
            (8, &[]),
        ] {
            let [low, high] = (value as u16).to_le_bytes();
            let script = [&[0, operation, low, high], arguments].concat();
            seeds.push((format!("{operation}-{value}"), script));
        }
    }
    seeds.push(("bytes".to_owned(), vec![64, 6, 80, 0, 0, 1]));
    seeds.push(("raw".to_owned(), [&[128], &good.text[..]].concat()));
    seeds
}
