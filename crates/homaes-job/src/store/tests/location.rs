use crate::store::Location;
use std::path::PathBuf;

fn s3(bucket: &str, key: &str) -> Location {
    Location::S3 {
        bucket: bucket.to_owned(),
        key: key.to_owned(),
    }
}

fn local(path: &str) -> Location {
    Location::Local(PathBuf::from(path))
}

#[test]
fn texts_are_places() {
    for (text, expected) in [
        ("a/b", local("a/b")),
        ("/a", local("/a")),
        (".", local(".")),
        ("./s3://b", local("./s3://b")),
        ("s3:/b", local("s3:/b")),
        ("file:///a/b", local("/a/b")),
        ("file://localhost/a", local("/a")),
        ("file:///a%20b%2fc", local("/a b/c")),
        ("s3://bucket", s3("bucket", "")),
        ("s3://bucket/", s3("bucket", "")),
        ("s3://my.bucket-1/a/b/", s3("my.bucket-1", "a/b")),
        ("s3://bucket/a%20b", s3("bucket", "a%20b")),
    ] {
        let found = Location::parse(text).unwrap();
        assert_eq!(found, expected, "{text}");
        assert_eq!(Location::parse(found.to_string()).unwrap(), found);
    }
    let s3 = "s3:/// s3:// s3:///a s3://bu$cket/a s3://bucket/../x s3://bucket//a s3://bucket/a//";
    let file = "file://host/a file://a file:///a%2 file:///a%+1";
    let others = ["", "s3://bu cket/a", "https://bucket/a", "gs://bucket/a"];
    let all = s3.split(' ').chain(file.split(' ')).chain(others);
    for text in all {
        let error = Location::parse(text).unwrap_err();
        assert!(!error.is_temporary(), "{text}: {error}");
    }
}

#[test]
fn places_are_joined_and_split() {
    for (place, name, joined) in [
        (local("a"), "b", local("a/b")),
        (local(""), "b", local("b")),
        (s3("x", ""), "b", s3("x", "b")),
        (s3("x", "a/c"), "b", s3("x", "a/c/b")),
    ] {
        assert_eq!(place.join(name), joined);
        assert_eq!(joined.split(), Some((place, name)));
    }
    assert_eq!(s3("x", "").split(), None);
    assert_eq!(local("/").split(), None);
    assert_eq!(local("a/..").split(), None);
}

#[cfg(not(feature = "s3"))]
#[test]
fn a_build_without_buckets_says_so() {
    let error = crate::store::open(&s3("bucket", "job")).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("s3://bucket/job: this build"), "{text}");
    assert!(text.contains("feature s3"), "{text}");
}
