//! Buckets. The server of `.ci/s3` is the service; a listener with a fixed answer imitates a failing one.

use super::Place;
use crate::store::s3::{ALLOW_HTTP, Limits, S3};
use crate::store::{Created, Location, Store, StoreError, cached, open};
use object_store::aws::AmazonS3Builder;
use std::env;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The server's bucket, `s3://bucket`; other variables lead to the server.
const BUCKET: &str = "HOMAES_STORE_TEST_S3";

fn bucket() -> Location {
    let bucket = env::var(BUCKET).expect("the script .ci/s3 names a bucket");
    Location::parse(bucket).unwrap()
}

pub(super) fn in_a_bucket() -> Place {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let key = format!("test {}/{number}", std::process::id());
    let location = bucket().join(&key);
    Place {
        store: open(&location).unwrap(),
        location: Some(location),
        _folder: None,
    }
}

#[test]
#[ignore = "needs a server: .ci/s3 starts one"]
fn lists_have_many_pages() {
    let place = in_a_bucket();
    thread::scope(|scope| {
        for part in 0..8 {
            let store = &place.store;
            scope.spawn(move || {
                for number in (part..2100).step_by(8) {
                    store.create(&format!("many/{number:04}"), b"x").unwrap();
                }
            });
        }
    });
    let found = place.store.list("many").unwrap().objects;
    assert_eq!(found.len(), 2100);
    assert_eq!(found[2099], ("many/2099".to_owned(), 1));
    assert!(found.is_sorted());
}

#[test]
#[ignore = "needs a server: .ci/s3 starts one"]
fn stores_of_one_bucket_see_their_part() {
    let place = in_a_bucket();
    place.store.create("a/b/c", b"x").unwrap();
    let location = place.location.unwrap();
    let below = open(&location.join("a")).unwrap();
    assert_eq!(below.list("").unwrap().objects, [("b/c".to_owned(), 1)]);
    assert_eq!(
        below.create("b/c", b"y").unwrap(),
        Created::Existed,
        "one object"
    );
    assert_eq!(below.describe("b/c"), format!("{location}/a/b/c"));
    let all = open(&bucket()).unwrap();
    let Location::S3 { key, .. } = &location else {
        panic!("{location}");
    };
    let name = format!("{key}/a/b/c");
    assert_eq!(all.read(&name, 1).unwrap().as_deref(), Some(&b"x"[..]));
    assert_eq!(all.list(key).unwrap().objects, [(name, 1)]);
}

#[test]
#[ignore = "needs a server: .ci/s3 starts one"]
fn a_bucket_that_is_not_there_is_no_trouble_that_passes() {
    let nowhere = open(&Location::parse("s3://no-such-bucket/job").unwrap()).unwrap();
    for error in [
        nowhere.read("x", 1).unwrap_err(),
        nowhere.create("x", b"").unwrap_err(),
        nowhere.list("").unwrap_err(),
        nowhere.remove("x").unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::Service { .. }), "{error}");
        assert!(!error.is_temporary(), "{error}");
        let text = error.to_string();
        assert!(text.contains("NoSuchBucket"), "{text}");
        assert!(!text.contains('\n'), "{text}");
    }
}

#[test]
#[ignore = "needs a server: .ci/s3 starts one"]
fn copies_are_made_of_objects() {
    let place = in_a_bucket();
    let bytes: Vec<u8> = (0..20_000_000u32).map(|i| (i % 251) as u8).collect();
    place.store.create("keys/eval.hek", &bytes).unwrap();
    let location = place.location.unwrap().join("keys/eval.hek");
    let folder = tempfile::tempdir().unwrap();
    let digest = *blake3::hash(&bytes).as_bytes();
    let len = bytes.len() as u64;
    for _ in 0..2 {
        let path = cached(folder.path(), &location, &digest, len).unwrap();
        assert!(std::fs::read(path).unwrap() == bytes);
    }
    let error = cached(folder.path(), &location, &[7; 32], len).unwrap_err();
    assert!(matches!(error, StoreError::OtherContent { .. }), "{error}");
}

/// A store at this address.
fn at(address: &str, limits: Limits) -> S3 {
    let builder = AmazonS3Builder::new()
        .with_endpoint(format!("http://{address}"))
        .with_allow_http(true)
        .with_region("us-east-1")
        .with_access_key_id("key")
        .with_secret_access_key("secret");
    S3::new(builder, "bucket", "job", limits).unwrap()
}

const SHORT: Limits = Limits {
    retries: 2,
    retrying: Duration::from_secs(5),
    request: Duration::from_secs(2),
    stall: Duration::from_secs(2),
    call: Duration::from_secs(10),
};

/// A service that gives every request the same answer; returns its address.
fn service(answer: impl Fn(&mut TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            let _ = stream.read(&mut head);
            answer(&mut stream);
        }
    });
    address
}

fn service_of(status: &'static str, body: &'static str) -> String {
    service(move |stream| {
        let len = body.len();
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {len}\r\nConnection: close\r\n");
        let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
    })
}

/// The errors of all calls; that of `bytes` has no body.
fn errors(store: &S3) -> [StoreError; 6] {
    [
        store.bytes("x").unwrap_err(),
        store.read("x", 1).unwrap_err(),
        store.read_at("x", 0, &mut [0]).unwrap_err(),
        store.create("x", b"y").unwrap_err(),
        store.list("").unwrap_err(),
        store.remove("x").unwrap_err(),
    ]
}

#[test]
fn a_service_in_trouble_is_temporary() {
    for (status, body) in [
        (
            "503 Service Unavailable",
            "<Error>\n<Code>SlowDown</Code>\n</Error>",
        ),
        ("500 Internal Server Error", ""),
        ("429 Too Many Requests", ""),
    ] {
        for error in errors(&at(&service_of(status, body), SHORT)) {
            assert!(error.is_temporary(), "{error}");
            let text = error.to_string();
            assert!(text.starts_with("s3://bucket/job/"), "{text}");
            assert!(text.contains(status) && !text.contains('\n'), "{text}");
        }
    }
}

#[test]
fn a_service_that_refuses_is_not_temporary() {
    for (status, body) in [
        ("403 Forbidden", "<Error><Code>AccessDenied</Code></Error>"),
        (
            "400 Bad Request",
            "<Error><Code>ExpiredToken</Code></Error>",
        ),
        ("301 Moved Permanently", ""),
        ("401 Unauthorized", ""),
    ] {
        for error in errors(&at(&service_of(status, body), SHORT)) {
            assert!(!error.is_temporary(), "{error}");
            assert!(matches!(error, StoreError::Service { .. }), "{error}");
        }
    }
}

#[test]
fn a_service_that_is_away_is_temporary() {
    // nobody listens
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    // hangs up at once, or in the middle of an answer
    let mute = service(|_| {});
    let short = service(|stream| {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nETag: \"x\"\r\n";
        let date = "Last-Modified: Wed, 01 Jan 2025 00:00:00 GMT\r\n";
        let _ = stream.write_all(format!("{head}{date}\r\nx").as_bytes());
    });
    for address in [address, mute] {
        for error in errors(&at(&address, SHORT)) {
            assert!(error.is_temporary(), "{error}");
        }
    }
    let error = at(&short, SHORT).read("x", 1000).unwrap_err();
    assert!(error.is_temporary(), "{error}");
}

#[test]
fn a_service_that_never_answers_is_given_up() {
    let silent = service(|stream| {
        let mut byte = [0];
        while stream.read(&mut byte).is_ok_and(|read| read > 0) {}
    });
    let limits = Limits {
        call: Duration::from_millis(300),
        ..SHORT
    };
    let start = Instant::now();
    let error = at(&silent, limits).create("x", b"y").unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }) && error.is_temporary());
    // the limit of a request
    let limits = Limits {
        retries: 0,
        request: Duration::from_secs(1),
        ..SHORT
    };
    let error = at(&silent, limits).create("x", b"y").unwrap_err();
    assert!(error.is_temporary(), "{error}");
    assert!(
        start.elapsed() < Duration::from_secs(8),
        "{:?}, {error}",
        start.elapsed()
    );
}

/// Well within the limits of request and call.
#[test]
fn an_answer_that_stops_is_given_up() {
    let stopped = |status: &'static str| {
        service(move |stream| {
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: 1000\r\nETag: \"x\"\r\n");
            let date = "Last-Modified: Wed, 01 Jan 2025 00:00:00 GMT\r\n";
            let _ = stream.write_all(format!("{head}{date}\r\nx").as_bytes());
            let mut byte = [0];
            while stream.read(&mut byte).is_ok_and(|read| read > 0) {}
        })
    };
    let limits = Limits {
        retries: 0,
        request: Duration::from_secs(600),
        call: Duration::from_secs(900),
        stall: Duration::from_millis(200),
        ..SHORT
    };
    let start = Instant::now();
    let whole = at(&stopped("200 OK"), limits);
    let range = "206 Partial Content\r\nContent-Range: bytes 0-999/1000";
    let range = at(&stopped(range), limits);
    for error in [
        whole.read("x", 1000).unwrap_err(),
        range.read_at("x", 0, &mut [0; 1000]).unwrap_err(),
    ] {
        assert!(error.is_temporary(), "{error}");
    }
    assert!(start.elapsed() < Duration::from_secs(300));
}

/// Another writer is always at the same object.
#[test]
fn a_conflict_that_stays_is_temporary() {
    let address = service(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 ");
        let _ = stream.write_all(b"409 Conflict\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    });
    let error = at(&address, SHORT).create("x", b"y").unwrap_err();
    assert!(error.is_temporary(), "{error}");
}

#[test]
fn a_wrong_environment_is_named() {
    for endpoint in ["", "localhost:9000", "http://", "ftp://x", "http://a b"] {
        let builder = AmazonS3Builder::new()
            .with_endpoint(endpoint)
            .with_access_key_id("key")
            .with_secret_access_key("secret");
        let error = S3::new(builder, "bucket", "", SHORT).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("AWS_ENDPOINT_URL"), "{text}");
        assert!(!error.is_temporary());
    }
    let http = || AmazonS3Builder::new().with_endpoint("http://127.0.0.1:9");
    for builder in [http(), http().with_config(ALLOW_HTTP, "No")] {
        let error = S3::new(builder, "bucket", "", SHORT).unwrap_err();
        assert!(error.to_string().contains("AWS_ALLOW_HTTP=true"), "{error}");
        assert!(!error.is_temporary());
    }
    let builder = AmazonS3Builder::new().with_access_key_id("key");
    assert!(S3::new(builder, "bucket", "", SHORT).is_err(), "half a key");
}

#[test]
fn a_store_can_be_used_in_a_runtime_and_hides_credentials() {
    let store = at(&service_of("404 Not Found", ""), SHORT);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let found = runtime.unwrap().block_on(async { store.bytes("x") });
    assert_eq!(found.unwrap(), None);
    let text = format!("{store:?}");
    assert!(
        text.contains("bucket") && !text.contains("secret"),
        "{text}"
    );
}
