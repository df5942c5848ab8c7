//! Tests common to all stores, and tests of each. Some run this program again as other processes ([`process`]).

mod cache;
mod local;
mod location;
#[cfg(feature = "s3")]
mod s3;
mod suite;

use crate::store::{Created, Location, Store, StoreError, cached, open};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::{env, fs};
use tempfile::TempDir;

/// An empty store.
struct Place {
    store: Arc<dyn Store>,
    location: Location,
    _folder: Option<TempDir>,
}

fn in_a_folder() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::Local(folder.path().join("made/with the first object"));
    Place {
        store: open(&location).unwrap(),
        location,
        _folder: Some(folder),
    }
}

/// The content of object `number` by `writer`; every byte names the writer.
fn content(writer: u8, number: usize) -> Vec<u8> {
    vec![writer; 100_000 + number]
}

/// The task of [`process`], one word per line.
const TASK: &str = "HOMAES_STORE_TEST_TASK";

/// Runs this program again for a task. It prints the answer after the output of the test harness.
fn start(task: &[&str]) -> Child {
    start_with("", task)
}

/// The same after commands of a shell.
fn start_with(before: &str, task: &[&str]) -> Child {
    let run = "exec \"$0\" store::tests::process --exact --ignored --nocapture";
    let mut command = Command::new("sh");
    let command = command.args(["-c", &format!("{before} {run}")]);
    let command = command.arg(env::current_exe().unwrap());
    let command = command.env(TASK, task.join("\n")).stdout(Stdio::piped());
    command.spawn().unwrap()
}

fn answer(child: Child) -> String {
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "{}", out.status);
    let text = String::from_utf8(out.stdout).unwrap();
    let line = text.lines().find_map(|line| line.split_once("answer: "));
    line.expect("an answer").1.to_owned()
}

#[test]
#[ignore = "a task of other tests, not a test"]
fn process() {
    let Ok(task) = env::var(TASK) else {
        return;
    };
    let words: Vec<&str> = task.split('\n').collect();
    let open = |location: &str| open(&Location::parse(location).unwrap()).unwrap();
    match words[..] {
        // writes objects, answers how many were new
        ["create", location, writer, count] => {
            let store = open(location);
            let writer = writer.parse().unwrap();
            let new = (0..count.parse().unwrap()).filter(|&number| {
                let created = store.create(&format!("race/{number}"), &content(writer, number));
                created.unwrap() == Created::New
            });
            println!("\nanswer: {}", new.count());
        }
        // writes one object, answers why it failed
        ["fail", location] => {
            let error = open(location)
                .create("large", &vec![1; 1 << 20])
                .unwrap_err();
            println!("\nanswer: {} {error}", error.is_temporary());
        }
        // fetches a copy, answers which file it is
        ["cached", cache, location, digest, bytes] => {
            let digest = blake3::Hash::from_hex(digest).unwrap();
            let location = Location::parse(location).unwrap();
            let bytes = bytes.parse().unwrap();
            let path = cached(Path::new(cache), &location, digest.as_bytes(), bytes).unwrap();
            println!("\nanswer: {}", inode(&path));
        }
        _ => panic!("{words:?}"),
    }
}

/// Identifies the file at a path, for as long as it exists.
fn inode(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap())
}

/// The errors of all calls for an object.
fn errors(store: &dyn Store, name: &str) -> [StoreError; 6] {
    [
        store.bytes(name).unwrap_err(),
        store.read(name, 1).unwrap_err(),
        store.read_at(name, 0, &mut [0]).unwrap_err(),
        store.create(name, b"y").unwrap_err(),
        store.list(name).unwrap_err(),
        store.remove(name).unwrap_err(),
    ]
}

/// All objects by name and length.
fn listed(store: &dyn Store, prefix: &str) -> Vec<(String, u64)> {
    store.list(prefix).unwrap().objects
}
