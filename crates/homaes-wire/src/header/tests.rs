use super::*;
use crate::{CHECKSUM_BYTES, RECORD_OVERHEAD, Reader};

fn header(set: &str) -> Header {
    let contents = Contents::default().record(3).records(2, 10);
    Header::new(Kind::EvalKey, set, [0xd1; 32], KeyId([0x1d; 16]), contents).unwrap()
}

/// Puts a right checksum under changed header bytes, as a faulty writer would.
fn resealed(change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let (mut bytes, _) = header("bgv/toy").to_bytes();
    bytes.truncate(bytes.len() - CHECKSUM_BYTES);
    change(&mut bytes);
    bytes.extend(header_checksum(&bytes));
    bytes.resize(bytes.len() + 3 * RECORD_OVERHEAD as usize + 23, 0);
    bytes
}

/// The tables of docs/FORMAT.md against the bytes.
#[test]
fn the_documented_offsets_are_the_real_ones() {
    let doc = include_str!("../../../../docs/FORMAT.md");
    let (bytes, checksum) = header("bgv/toy").to_bytes();
    let row = |text: &str| assert!(doc.contains(text), "{text}");
    row(&format!("Format versions: 1 to {VERSION}."));
    let newest = header("bgv/toy").of_version(VERSION).to_bytes().0;
    assert_eq!(newest[8..10], VERSION.to_le_bytes());
    let file_bytes = 76 + 7 + 16 + 3 * 34 + 23u64;
    for (field, text) in [
        (&b"HOMAES\r\n"[..], "| 0 | 8 | magic: `HOMAES` CR LF "),
        (&1u16.to_le_bytes(), "| 8 | 2 | format version |"),
        (&[2], "| 10 | 1 | kind |"),
        (&[7], "| 11 | 1 | L, length of the set name, 1 to 64 |"),
        (&[0xd1; 32], "| 12 | 32 | set digest"),
        (&[0x1d; 16], "| 44 | 16 | key id"),
        (&3u64.to_le_bytes(), "| 60 | 8 | number of records |"),
        (
            &file_bytes.to_le_bytes(),
            "| 68 | 8 | length of the whole file in bytes, this header included |",
        ),
        (b"bgv/toy", "| 76 | L | set name"),
        (&checksum, "| 76 + L | 16 | header checksum |"),
    ] {
        row(text);
        let start = text[2..].split(' ').next().unwrap().parse().unwrap();
        let start = if text.contains("76 + L") { 83 } else { start };
        assert_eq!(bytes[start..start + field.len()], *field, "{text}");
    }
    for kind in Kind::ALL {
        row(&format!(
            "| {} | `.{}` | {} |",
            kind as u8,
            kind.extension(),
            kind.description()
        ));
    }
}

/// Evaluation keys have three versions, wrapped keys and files of ciphertexts two, and the others one.
#[test]
fn versions_are_those_of_the_kind() {
    for kind in Kind::ALL {
        let header = |version: u16| {
            let bytes = resealed(|bytes| {
                bytes[8..10].copy_from_slice(&version.to_le_bytes());
                bytes[10] = kind as u8;
            });
            let len = bytes.len() as u64;
            Header::read(&mut &bytes[..], len, None, Path::new("f")).map(|(header, _)| header)
        };
        assert_eq!(header(1).unwrap().version(), 1);
        let newest = match kind {
            Kind::EvalKey | Kind::Ciphertext => 3,
            Kind::WrappedKey | Kind::Values | Kind::Packed => 2,
            _ => 1,
        };
        for version in [2, 3, 4, u16::MAX] {
            let known = version <= newest;
            match header(version) {
                Ok(header) => assert!(known && header.version() == version, "{kind} {version}"),
                Err(WireError::NewerVersion { found, .. }) => {
                    assert!(!known && found == version, "{kind} {version}");
                }
                Err(error) => panic!("{kind} {version}: {error}"),
            }
        }
    }
}

#[test]
fn names_and_lengths_are_checked() {
    let make =
        |set: &str, contents| Header::new(Kind::EvalKey, set, [0; 32], KeyId([0; 16]), contents);
    let none = Contents::default();
    assert!(make(&"a".repeat(64), none).is_ok());
    for bad in ["", "A", "a b", "ä", "a\n", &"a".repeat(65)] {
        let error = make(bad, none).unwrap_err().to_string();
        assert!(error.starts_with("set name is malformed"), "{bad:?}");
    }
    for absurd in [none.record(u64::MAX), none.records(u64::MAX, 1)] {
        let error = make("a", absurd).unwrap_err();
        assert!(matches!(error, WireError::ValueTooLarge { .. }));
    }
}

#[test]
fn nonsense_under_a_right_checksum_is_refused() {
    // records, name, version, length of the name
    for (at, nonsense) in [
        (60, &8u64.to_le_bytes()[..]),
        (60, &u64::MAX.to_le_bytes()),
        (76, b"B"),
        (8, &[0]),
        (11, &[0]),
        (11, &[65]),
        (11, &[255]),
    ] {
        let bytes = resealed(|bytes| bytes[at..at + nonsense.len()].copy_from_slice(nonsense));
        let error = Reader::from_slice(&bytes, Kind::EvalKey).unwrap_err();
        assert_eq!(error.to_string(), "header is corrupted", "{at}");
    }
}
