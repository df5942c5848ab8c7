//! Buckets. The server of `.ci/s3` is the service; a listener with a fixed answer imitates a failing one.

use super::{Place, errors, listed};
use crate::store::s3::{ALLOW_HTTP, Limits, S3};
use crate::store::{Created, Location, Store, StoreError, open};
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
        location,
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
    let found = listed(&*place.store, "many");
    assert_eq!(found.len(), 2100);
    assert_eq!(found[2099], ("many/2099".to_owned(), 1));
    assert!(found.is_sorted());
}

#[test]
#[ignore = "needs a server: .ci/s3 starts one"]
fn stores_of_one_bucket_see_their_part() {
    let place = in_a_bucket();
    place.store.create("a/b/c", b"x").unwrap();
    let location = place.location;
    let below = open(&location.join("a")).unwrap();
    assert_eq!(listed(&*below, ""), [("b/c".to_owned(), 1)]);
    assert_eq!(below.create("b/c", b"y").unwrap(), Created::Existed);
    assert_eq!(below.describe("b/c"), format!("{location}/a/b/c"));
    let all = open(&bucket()).unwrap();
    let Location::S3 { key, .. } = &location else {
        panic!("{location}");
    };
    let name = format!("{key}/a/b/c");
    assert_eq!(all.read(&name, 1).unwrap().as_deref(), Some(&b"x"[..]));
    assert_eq!(listed(&*all, key), [(name, 1)]);
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

#[test]
fn answers_of_services_are_temporary_or_not() {
    let slow = "<Error>\n<Code>SlowDown</Code>\n</Error>";
    let denied = "<Error><Code>AccessDenied</Code></Error>";
    let expired = "<Error><Code>ExpiredToken</Code></Error>";
    for (status, body, temporary) in [
        ("503 Service Unavailable", slow, true),
        ("500 Internal Server Error", "", true),
        ("429 Too Many Requests", "", true),
        ("403 Forbidden", denied, false),
        ("400 Bad Request", expired, false),
        ("301 Moved Permanently", "", false),
        ("401 Unauthorized", "", false),
    ] {
        for error in errors(&at(&service_of(status, body), SHORT), "x") {
            assert_eq!(error.is_temporary(), temporary, "{error}");
            assert!(matches!(error, StoreError::Service { .. }), "{error}");
            let text = error.to_string();
            assert!(text.starts_with("s3://bucket/job/"), "{text}");
            assert!(!temporary || text.contains(status), "{text}");
            assert!(!text.contains('\n'), "{text}");
        }
    }
}

/// The beginning of an answer of 1000 bytes.
fn beginning(status: &str) -> String {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: 1000\r\nETag: \"x\"\r\n");
    let date = "Last-Modified: Wed, 01 Jan 2025 00:00:00 GMT\r\n";
    format!("{head}{date}\r\nx")
}

/// Waits until the client hangs up.
fn wait(stream: &mut TcpStream) {
    let mut byte = [0];
    while stream.read(&mut byte).is_ok_and(|read| read > 0) {}
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
        let _ = stream.write_all(beginning("200 OK").as_bytes());
    });
    for address in [address, mute] {
        for error in errors(&at(&address, SHORT), "x") {
            assert!(error.is_temporary(), "{error}");
        }
    }
    let error = at(&short, SHORT).read("x", 1000).unwrap_err();
    assert!(error.is_temporary(), "{error}");
}

#[test]
fn a_service_that_never_answers_is_given_up() {
    let silent = service(wait);
    let call = Limits {
        call: Duration::from_millis(300),
        ..SHORT
    };
    let request = Limits {
        retries: 0,
        request: Duration::from_secs(1),
        ..SHORT
    };
    let start = Instant::now();
    let [call, request] =
        [call, request].map(|limits| at(&silent, limits).create("x", b"y").unwrap_err());
    assert!(matches!(call, StoreError::Io { .. }) && call.is_temporary());
    assert!(request.is_temporary(), "{request}");
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(8), "{elapsed:?}, {request}");
}

/// Well within the limits of request and call.
#[test]
fn an_answer_that_stops_is_given_up() {
    let limits = Limits {
        retries: 0,
        request: Duration::from_secs(600),
        call: Duration::from_secs(900),
        stall: Duration::from_millis(200),
        ..SHORT
    };
    let stopped = |status: &'static str| {
        let address = service(move |stream| {
            let _ = stream.write_all(beginning(status).as_bytes());
            wait(stream);
        });
        at(&address, limits)
    };
    let start = Instant::now();
    let range = "206 Partial Content\r\nContent-Range: bytes 0-999/1000";
    for error in [
        stopped("200 OK").read("x", 1000).unwrap_err(),
        stopped(range).read_at("x", 0, &mut [0; 1000]).unwrap_err(),
    ] {
        assert!(error.is_temporary(), "{error}");
    }
    assert!(start.elapsed() < Duration::from_secs(300));
}

/// Another writer is always at the same object.
#[test]
fn a_conflict_that_stays_is_temporary() {
    let store = at(&service_of("409 Conflict", ""), SHORT);
    let error = store.create("x", b"y").unwrap_err();
    assert!(error.is_temporary(), "{error}");
}

#[test]
fn a_wrong_environment_is_named() {
    let builder = |endpoint: &str| AmazonS3Builder::new().with_endpoint(endpoint);
    let http = "http://127.0.0.1:9";
    let wrong = ["", "localhost:9000", "http://", "ftp://x", "http://a b"];
    let mut all: Vec<_> = wrong.map(|url| (builder(url), "AWS_ENDPOINT_URL")).into();
    let not_allowed = builder(http).with_config(ALLOW_HTTP, "No");
    all.extend([builder(http), not_allowed].map(|builder| (builder, "AWS_ALLOW_HTTP=true")));
    for (builder, words) in all {
        let error = S3::new(builder, "bucket", "", SHORT).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
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
    assert!(text.contains("bucket"), "{text}");
    assert!(!text.contains("secret"), "{text}");
}
