use super::{Place, answer, content, errors, listed, start};
use crate::store::{Created, Store, StoreError};
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

/// The tests for one kind of store, each with an attribute.
macro_rules! suite {
    ($kind:ident, $place:path, $attribute:meta) => {
        suite! { $kind, $place, $attribute;
            objects_come_back_as_written
            bytes_are_read_at_ends
            long_objects_are_refused
            what_is_below_a_prefix_is_listed
            wrong_names_are_refused
            one_of_eight_threads_is_first
            one_of_two_processes_is_first
            killed_writers_leave_no_half_objects
        }
    };
    ($kind:ident, $place:path, $attribute:meta; $($test:ident)*) => {
        mod $kind {
            $(
                #[test]
                #[$attribute]
                fn $test() {
                    super::$test(&$place());
                }
            )*
        }
    };
}

suite!(local, crate::store::tests::in_a_folder, cfg(all()));
#[cfg(feature = "s3")]
suite!(
    s3,
    crate::store::tests::s3::in_a_bucket,
    ignore = "needs a server: .ci/s3 starts one"
);

fn objects_come_back_as_written(place: &Place) {
    let store = &*place.store;
    assert_eq!(listed(store, ""), []);
    for (name, bytes) in [
        ("job.json", &b"{}"[..]),
        ("shards/000000.hcs", &[7; 70_000]),
        ("empty", b""),
        ("a b/\u{e9}%20~+?#[x]", b"odd name"),
        ("...", b"three dots are a name"),
    ] {
        assert_eq!(store.bytes(name).unwrap(), None, "{name}");
        assert_eq!(store.read(name, 10).unwrap(), None, "{name}");
        assert_eq!(store.create(name, bytes).unwrap(), Created::New);
        assert_eq!(store.create(name, b"other").unwrap(), Created::Existed);
        let len = bytes.len() as u64;
        assert_eq!(store.bytes(name).unwrap(), Some(len));
        let all = store.read(name, 1 << 20).unwrap();
        assert_eq!(all.as_deref(), Some(bytes), "{name}");
        assert!(listed(store, "").contains(&(name.to_owned(), len)));
    }
    assert_eq!(listed(store, "").len(), 5);
    for _ in 0..2 {
        store.remove("shards/000000.hcs").unwrap();
        assert_eq!(store.bytes("shards/000000.hcs").unwrap(), None);
    }
    assert_eq!(listed(store, "").len(), 4);
    let again = store.create("shards/000000.hcs", b"again").unwrap();
    assert_eq!(again, Created::New);
    // a folder is no object, and nothing is below an object
    for name in ["shards", "job.json/x"] {
        assert_eq!(store.bytes(name).unwrap(), None);
        assert_eq!(store.read(name, 10).unwrap(), None);
        store.remove(name).unwrap();
    }
    assert_eq!(listed(store, "shards").len(), 1);
    assert_eq!(listed(store, "job.json"), []);
}

fn bytes_are_read_at_ends(place: &Place) {
    let store = &*place.store;
    let bytes: Vec<u8> = (0..=255).collect();
    store.create("x", &bytes).unwrap();
    let inside = [(0, 256), (0, 1), (255, 1), (100, 56), (0, 0), (256, 0)];
    for (offset, len) in inside {
        let mut found = vec![0; len];
        store.read_at("x", offset as u64, &mut found).unwrap();
        assert_eq!(found, bytes[offset..offset + len], "{offset}, {len}");
    }
    let near = [(0, 257), (255, 2), (256, 1), (257, 0)];
    for (offset, len) in near.into_iter().chain([(1 << 40, 1), (u64::MAX, 1)]) {
        let error = store.read_at("x", offset, &mut vec![0; len]).unwrap_err();
        let end = offset.saturating_add(len as u64);
        let short =
            matches!(error, StoreError::TooShort { found: 256, expected, .. } if expected == end);
        assert!(short, "{offset}, {len}: {error}");
    }
    for len in [0, 1] {
        let error = store.read_at("none", 0, &mut vec![0; len]).unwrap_err();
        assert!(matches!(error, StoreError::Missing { .. }), "{error}");
        assert!(!error.is_temporary());
    }
}

fn long_objects_are_refused(place: &Place) {
    let store = &*place.store;
    store.create("x", &[1; 1000]).unwrap();
    assert!(store.read("x", 1000).unwrap().is_some());
    assert!(store.read("x", u64::MAX).unwrap().is_some());
    for most in [0, 999] {
        let error = store.read("x", most).unwrap_err();
        assert!(!error.is_temporary());
        let found = store.describe("x");
        let expected = format!("{found}: object has 1000 bytes, expected at most {most}");
        assert_eq!(error.to_string(), expected);
    }
}

fn what_is_below_a_prefix_is_listed(place: &Place) {
    let store = &*place.store;
    for name in ["a/c", "a-b", "a/b/d", "ab/e", "a.b", "z"] {
        store.create(name, name.as_bytes()).unwrap();
    }
    let names = |prefix| {
        let found = listed(store, prefix);
        assert!(found.iter().all(|(name, len)| *len == name.len() as u64));
        found.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    // sorted by bytes
    assert_eq!(names(""), ["a-b", "a.b", "a/b/d", "a/c", "ab/e", "z"]);
    assert_eq!(names("a"), ["a/b/d", "a/c"]);
    assert_eq!(names("a/b"), ["a/b/d"]);
    assert_eq!(names("ab"), ["ab/e"]);
    assert_eq!(names("z"), [""; 0]);
    assert_eq!(names("none"), [""; 0]);
}

fn wrong_names_are_refused(place: &Place) {
    let store = &*place.store;
    let up = ["..", "../x", "a/../../x", "a/..", ".", "./x", "a\\..\\b"];
    let empty = ["/x", "//x", "a//b", "a/", "/"];
    let special = ["a\0b", "a\nb", "x/.y.homaes-tmp-0123456789abcdef"];
    for name in up.into_iter().chain(empty).chain(special) {
        for error in errors(store, name) {
            let refused = matches!(error, StoreError::Name { .. });
            assert!(refused && !error.is_temporary(), "{name:?}: {error}");
        }
    }
    assert!(store.create("", b"x").is_err());
    assert_eq!(listed(store, ""), []);
}

fn one_of_eight_threads_is_first(place: &Place) {
    let store = &*place.store;
    for number in 0..8 {
        let name = format!("race/{number}");
        let barrier = Barrier::new(8);
        let write = |writer| {
            barrier.wait();
            store.create(&name, &content(writer, number)).unwrap()
        };
        let created: Vec<Created> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|i| scope.spawn(move || write(i))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let mut new = (0..8).filter(|&i| created[i] == Created::New);
        let first = u8::try_from(new.next().unwrap()).unwrap();
        assert_eq!(new.next(), None, "two were the first");
        let found = store.read(&name, 1 << 20).unwrap();
        assert!(found == Some(content(first, number)), "not the first's");
    }
    assert_eq!(listed(store, "").len(), 8);
    nothing_is_left(store, 8);
}

fn one_of_two_processes_is_first(place: &Place) {
    let location = place.location.to_string();
    let both = [1, 2].map(|writer: u8| start(&["create", &location, &writer.to_string(), "40"]));
    let new = both.map(|child| answer(child).parse::<usize>().unwrap());
    let store = &*place.store;
    let mut wins = [0, 0];
    for number in 0..40 {
        let found = store.read(&format!("race/{number}"), 1 << 20).unwrap();
        let found = found.unwrap();
        assert_eq!(found, content(found[0], number));
        wins[usize::from(found[0]) - 1] += 1;
    }
    assert_eq!(new, wins, "one new object per name, by whoever says so");
    nothing_is_left(store, 40);
}

fn killed_writers_leave_no_half_objects(place: &Place) {
    let location = place.location.to_string();
    let store = &*place.store;
    let mut done = 0;
    for round in 0..12 {
        let mut child = start(&["create", &location, "1", "100000"]);
        // from its start until well into its writes
        let patience = Duration::from_millis(7 * round);
        while round > 0 && listed(store, "race").len() <= done {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(patience);
        child.kill().unwrap();
        child.wait().unwrap();
        let objects = listed(store, "race");
        done = objects.len();
        for (name, len) in objects {
            let number: usize = name.strip_prefix("race/").unwrap().parse().unwrap();
            let found = store.read(&name, 1 << 20).unwrap().unwrap();
            assert_eq!(found.len() as u64, len);
            assert!(found == content(1, number), "{name} is not whole");
        }
    }
    assert!(done > 12, "{done} objects");
    nothing_is_left(store, done);
}

/// A folder has exactly one file per object.
fn nothing_is_left(store: &dyn Store, objects: usize) {
    if let Some(folder) = store.folder() {
        let files = std::fs::read_dir(folder.join("race")).unwrap();
        assert_eq!(files.count(), objects);
    }
}
