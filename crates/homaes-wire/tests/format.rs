//! The container from outside: round trips, every kind of damage, and the bytes themselves.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use homaes_wire::{
    Contents, Header, KeyId, Kind, OutputOptions, RECORD_OVERHEAD, Reader, WireError, Writer,
};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

const SET: &str = "bgv/toy-255";
const DIGEST: [u8; 32] = [0xd1; 32];
const KEY: KeyId = KeyId([0x1d; 16]);
const HEADER_BYTES: usize = 76 + SET.len() + 16;
const OVERHEAD: usize = RECORD_OVERHEAD as usize;

fn file(kind: Kind, bodies: &[&[u8]]) -> Vec<u8> {
    let contents = bodies.iter().fold(Contents::default(), |sum, body| {
        sum.record(body.len() as u64)
    });
    let header = Header::new(kind, SET, DIGEST, KEY, contents).unwrap();
    let mut writer = Writer::new(Vec::new(), header).unwrap();
    for (i, body) in bodies.iter().enumerate() {
        writer.write_record(7, i as u64, body).unwrap();
    }
    writer.finish().unwrap()
}

/// Reads everything as a user of the crate does.
fn read(bytes: &[u8], kind: Kind) -> Result<Vec<Vec<u8>>, WireError> {
    let mut reader = Reader::from_slice(bytes, kind)?;
    reader.check_set(SET, &DIGEST)?;
    reader.check_key(KEY)?;
    let mut bodies = Vec::new();
    while reader.records_left() > 0 {
        let (index, body) = reader.next_indexed(7, 1 << 20)?;
        assert_eq!(index, bodies.len() as u64);
        bodies.push(body);
    }
    reader.finish()?;
    Ok(bodies)
}

fn message(bytes: &[u8]) -> String {
    read(bytes, Kind::Ciphertext).unwrap_err().to_string()
}

#[test]
fn golden_bytes() {
    let bytes = file(Kind::WrappedKey, &[b"abc", b""]);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let fixed = format!(
        "484f4d4145530d0a0100030b{}{}0200000000000000{:02x}00000000000000",
        "d1".repeat(32),
        "1d".repeat(16),
        bytes.len()
    );
    let expected = [
        fixed.as_str(),
        "6267762f746f792d323535",
        "dcbf81e16af38f4ab21f601a87d83efc",
        "070000000000000000000300000000000000616263",
        "8999fe8d52af833ce75aaf11b41d30c6",
        "070001000000000000000000000000000000",
        "fb81fec0b25befee0ca5ae19220346fc",
    ];
    assert_eq!(hex, expected.concat());
}

#[test]
fn the_first_wrong_thing_is_named() {
    let good = file(Kind::Ciphertext, &[b"abc", b"defg"]);
    let len = good.len();
    let changed = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    let mut foreign = [b'x'; 200];
    foreign[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\0");
    let left = len - HEADER_BYTES - OVERHEAD;
    let truncated =
        |found: usize| format!("file is truncated: found {found} bytes, expected {len}");
    #[rustfmt::skip] // a table
    let cases = [
        (vec![], "file has 0 bytes, expected at least 93 for a header"),
        (b"hello".to_vec(), "file has 5 bytes, expected at least 93 for a header"),
        (foreign.to_vec(), r#"not a homaes file: it starts with "\x7fELF\x02\x01\x01\x00", expected "HOMAES\r\n""#),
        (changed(8, 4), "format version 4 is newer than this program, which reads up to version 3"),
        (changed(10, 11), "unknown kind of file 11, expected 1 to 6 or 8 to 10"),
        (changed(20, 0), "header is corrupted"),
        (changed(HEADER_BYTES - 1, good[HEADER_BYTES - 1] ^ 1), "header is corrupted"),
        (good[..len - 1].to_vec(), &truncated(len - 1)),
        (good[..HEADER_BYTES].to_vec(), &truncated(HEADER_BYTES)),
        (good[..99].to_vec(), &format!("file has 99 bytes, expected at least {HEADER_BYTES} for a header")),
        ([&good[..], b"x"].concat(), &format!("file has trailing bytes: found {} bytes, expected {len}", len + 1)),
        (changed(HEADER_BYTES, 8), "record 0 has tag 8, expected 7"),
        (changed(HEADER_BYTES + 18, b'b'), "record 0 (tag 7) is corrupted"),
        (changed(len - 1, !good[len - 1]), "record 1 (tag 7) is corrupted"),
        (
            changed(HEADER_BYTES + 17, 0x80),
            &format!("record 0 (tag 7) has 9223372036854775811 bytes, expected at most {left}"),
        ),
    ];
    for (bytes, expected) in cases {
        assert_eq!(message(&bytes), expected);
    }
    let error = read(&good, Kind::SecretKey).unwrap_err().to_string();
    let expected = "wrong kind of file: found FHE ciphertexts (.hct), expected secret key (.hsk)";
    assert_eq!(error, expected);
    // a transfer in text mode turned CR LF into LF
    let text = [&good[..6], &good[7..]].concat();
    assert!(message(&text).starts_with("not a homaes file"));
}

#[test]
fn other_sets_and_keys_are_named() {
    let bytes = file(Kind::Ciphertext, &[]);
    let reader = Reader::from_slice(&bytes, Kind::Ciphertext).unwrap();
    let [key, other] = [KEY, KeyId([0xab; 16])];
    let set = "file is for parameter set bgv/toy-255, expected bgv/other";
    let digest = "parameter set bgv/toy-255 has changed: digest d1d1d1d1…, expected ffffffff…";
    let id = format!("file belongs to key {key}, expected {}", "ab".repeat(16));
    for (found, expected) in [
        (reader.check_set("bgv/other", &DIGEST), set),
        (reader.check_set(SET, &[0xff; 32]), digest),
        (reader.check_key(other), &id),
    ] {
        assert_eq!(found.unwrap_err().to_string(), expected);
    }
}

#[test]
fn every_bit_flip_and_every_truncation_is_found() {
    for kind in Kind::ALL {
        let good = file(kind, &[b"abc", b"", b"0123456789"]);
        for at in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            assert!(read(&bytes, kind).is_err(), "{kind}: bit {at}");
            let found = Reader::from_slice(&bytes, None::<Kind>).and_then(Reader::verify);
            assert!(found.is_err(), "{kind}: bit {at}, kind unknown");
        }
        for len in 0..good.len() {
            assert!(read(&good[..len], kind).is_err(), "{kind}: {len} bytes");
        }
    }
}

/// Records of equal length change places; then one comes from another file with the same header.
#[test]
fn moved_records_are_found() {
    let record = OVERHEAD + 3;
    let at = |i: usize| HEADER_BYTES + i * record..HEADER_BYTES + (i + 1) * record;
    let good = file(Kind::Ciphertext, &[b"abc", b"def", b"ghi"]);
    let mut swapped = good.clone();
    swapped[at(0)].copy_from_slice(&good[at(1)]);
    swapped[at(1)].copy_from_slice(&good[at(0)]);
    assert_eq!(message(&swapped), "record 0 (tag 7) is corrupted");

    let other = file(Kind::Ciphertext, &[b"abd", b"def", b"ghi"]);
    assert_eq!(good[..HEADER_BYTES], other[..HEADER_BYTES]);
    let mut mixed = good.clone();
    mixed[at(2)].copy_from_slice(&other[at(2)]);
    assert_eq!(message(&mixed), "record 2 (tag 7) is corrupted");
}

#[test]
fn limits_and_counts_of_the_caller() {
    let bytes = file(Kind::Ciphertext, &[b"abcdef"]);
    let mut reader = Reader::from_slice(&bytes, Kind::Ciphertext).unwrap();
    let mut next = |len| {
        reader
            .next_record(7, len)
            .map_err(|error| error.to_string())
    };
    next(6).unwrap();
    assert_eq!(next(6).unwrap_err(), "file has 1 records, expected 2");
    reader.finish().unwrap();
    let open = || Reader::from_slice(&bytes, Kind::Ciphertext).unwrap();
    let error = open().next_record(7, 5).unwrap_err().to_string();
    assert_eq!(error, "record 0 (tag 7) has 6 bytes, expected at most 5");
    let error = open().finish().unwrap_err().to_string();
    assert_eq!(error, "file has 1 records, expected 0");
}

#[test]
fn records_can_be_streamed_and_left() {
    let body: Vec<u8> = (0..200_000u32).map(|i| i as u8).collect();
    let mut bytes = file(Kind::EvalKey, &[&body, b"second"]);
    let mut reader = Reader::from_slice(&bytes, Kind::EvalKey).unwrap();
    let mut record = reader.begin_record(7, 1 << 20).unwrap();
    let mut part = [0; 1000];
    record.read_exact(&mut part).unwrap();
    assert_eq!(part, body[..1000]);
    assert_eq!(
        (record.left(), record.position(), record.head().index),
        (199_000, 0, 0)
    );
    assert!(matches!(
        record.read_exact(&mut vec![0; 199_001]),
        Err(WireError::ValueTruncated { .. })
    ));
    // Not finished: the rest is skipped and checked with the next record.
    assert_eq!(reader.next_record(7, 10).unwrap(), b"second");
    reader.finish().unwrap();

    bytes[HEADER_BYTES + 18 + 150_000] ^= 1;
    let mut reader = Reader::from_slice(&bytes, Kind::EvalKey).unwrap();
    reader.begin_record(7, 1 << 20).unwrap();
    let error = reader.next_record(7, 10).unwrap_err().to_string();
    assert_eq!(error, "record 0 (tag 7) is corrupted");
}

fn header(contents: Contents) -> Header {
    Header::new(Kind::Ciphertext, SET, DIGEST, KEY, contents).unwrap()
}

#[test]
fn writers_keep_their_promise() {
    let writer = |contents| Writer::new(Vec::new(), header(contents)).unwrap();
    let one = Contents::default().record(3);
    let mut short = writer(one);
    short.write_record(1, 0, b"ab").unwrap();
    let mut partial = writer(one);
    let mut record = partial.begin_record(1, 0, 3).unwrap();
    record.write(b"ab").unwrap();
    let empty = writer(Contents::default()).write_record(1, 0, b"");
    for (found, expected) in [
        (writer(one).finish().err(), "file has 0 records, expected 1"),
        (short.finish().err(), "file has 139 bytes, expected 140"),
        (
            writer(one).write_record(1, 0, b"abcd").err(),
            "file without overhead has 4 bytes, expected 3",
        ),
        (empty.err(), "file has 1 records, expected 0"),
        (
            record.write(b"cd").err(),
            "record body has 4 bytes, expected 3",
        ),
        (record.finish().err(), "record body has 2 bytes, expected 3"),
    ] {
        assert_eq!(found.unwrap().to_string(), expected);
    }
}

#[test]
fn files_on_disk() {
    let folder = tempfile::TempDir::new().unwrap();
    let [path, other] = ["a.hct", "b.hct"].map(|name| folder.path().join(name));
    let header = header(Contents::default().record(3));
    let create = |path: &Path| Writer::create(path, OutputOptions::default(), header.clone());
    let mut writer = create(&path).unwrap();
    writer.write_record(7, 0, b"abc").unwrap();
    assert!(!path.exists());
    writer.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), file(Kind::Ciphertext, &[b"abc"]));

    let mut reader = Reader::open(&path, Kind::Ciphertext).unwrap();
    assert_eq!(reader.header(), &header);
    assert_eq!(reader.next_record(7, 3).unwrap(), b"abc");
    reader.finish().unwrap();
    Reader::open_any(&path).unwrap().verify().unwrap();

    // incomplete output is not committed and leaves nothing behind
    assert!(create(&other).unwrap().commit().is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let error = create(&path).map(drop).unwrap_err().to_string();
    assert_eq!(error, format!("{}: file already exists", path.display()));
    let error = Reader::open_any(folder.path()).unwrap_err().to_string();
    assert!(error.ends_with("not a regular file"), "{error}");
    let error = Reader::open_any(&other).unwrap_err().to_string();
    let begin = format!("{}: ", other.display());
    assert!(error.starts_with(&begin), "{error}");
}

fn bodies() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..5)
}

proptest! {
    #[test]
    fn round_trip(kind in prop::sample::select(&Kind::ALL[..]), bodies in bodies()) {
        let slices: Vec<&[u8]> = bodies.iter().map(Vec::as_slice).collect();
        prop_assert_eq!(read(&file(kind, &slices), kind).unwrap(), bodies);
    }

    #[test]
    fn bytes_too_many_are_found(
        kind in prop::sample::select(&Kind::ALL[..]), bodies in bodies(), at in any::<prop::sample::Index>(),
        extra in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let slices: Vec<&[u8]> = bodies.iter().map(Vec::as_slice).collect();
        let mut bytes = file(kind, &slices);
        let at = at.index(bytes.len() + 1);
        bytes.splice(at..at, extra);
        prop_assert!(read(&bytes, kind).is_err());
    }

    /// Lengths in record heads are nonsense: an error comes before memory is taken for them.
    #[test]
    fn oversize_lengths_are_refused(len in 4u64.., limit in any::<u64>()) {
        let mut bytes = file(Kind::EvalKey, &[b"abc"]);
        bytes[HEADER_BYTES + 10..HEADER_BYTES + 18].copy_from_slice(&len.to_le_bytes());
        let found = Reader::from_slice(&bytes, Kind::EvalKey).unwrap().next_record(7, limit);
        let refused = matches!(found, Err(WireError::RecordTooLong { expected, .. }) if expected <= 3);
        prop_assert!(refused);
    }

    #[test]
    fn any_bytes_are_safe(bytes in prop::collection::vec(any::<u8>(), 0..300), head in 0usize..120) {
        let good = file(Kind::Ciphertext, &[b"abc"]);
        let mixed = [&good[..head], &bytes].concat();
        prop_assert!(mixed == good || read(&mixed, Kind::Ciphertext).is_err());
    }
}
