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
    row(&format!("Format versions: 1, and {VERSION} for "));
    assert_eq!(bytes[..8], *b"HOMAES\r\n");
    row("| 0 | 8 | magic: `HOMAES` CR LF ");
    assert_eq!(bytes[8..10], 1u16.to_le_bytes());
    let newest = header("bgv/toy").newest().to_bytes().0;
    assert_eq!(newest[8..10], VERSION.to_le_bytes());
    row("| 8 | 2 | format version |");
    assert_eq!(bytes[10], 2);
    row("| 10 | 1 | kind |");
    assert_eq!(bytes[11], 7);
    row("| 11 | 1 | L, length of the set name, 1 to 64 |");
    assert_eq!(bytes[12..44], [0xd1; 32]);
    row("| 12 | 32 | set digest");
    assert_eq!(bytes[44..60], [0x1d; 16]);
    row("| 44 | 16 | key id");
    assert_eq!(bytes[60..68], 3u64.to_le_bytes());
    row("| 60 | 8 | number of records |");
    assert_eq!(bytes[68..76], (76 + 7 + 16 + 3 * 34 + 23u64).to_le_bytes());
    row("| 68 | 8 | length of the whole file in bytes, this header included |");
    assert_eq!(bytes[76..83], *b"bgv/toy");
    row("| 76 | L | set name");
    assert_eq!(bytes[83..], checksum);
    row("| 76 + L | 16 | header checksum |");
    for kind in Kind::ALL {
        row(&format!(
            "| {} | `.{}` | {} |",
            kind as u8,
            kind.extension(),
            kind.description()
        ));
    }
}

/// Evaluation keys and files of ciphertexts have a second version, and no others have.
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
        let newest = matches!(kind, Kind::EvalKey | Kind::Ciphertext | Kind::Values);
        for (version, known) in [(2, newest), (3, false), (u16::MAX, false)] {
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
fn a_header_comes_back() {
    let expected = header("bgv/toy");
    let bytes = resealed(|_| {});
    assert_eq!(
        Reader::from_slice(&bytes, Kind::EvalKey).unwrap().header(),
        &expected
    );
    assert_eq!(Reader::from_slice_any(&bytes).unwrap().header(), &expected);
}

#[test]
fn names_are_checked() {
    let make = |set: &str| {
        Header::new(
            Kind::EvalKey,
            set,
            [0; 32],
            KeyId([0; 16]),
            Contents::default(),
        )
    };
    assert!(make(&"a".repeat(64)).is_ok());
    for bad in ["", "A", "a b", "ä", "a\n", &"a".repeat(65)] {
        assert!(
            matches!(
                make(bad),
                Err(WireError::Malformed {
                    what: "set name",
                    ..
                })
            ),
            "{bad:?}"
        );
    }
}

#[test]
fn absurd_lengths_are_refused() {
    for contents in [
        Contents::default().record(u64::MAX),
        Contents::default().records(u64::MAX, 1),
    ] {
        let header = Header::new(Kind::EvalKey, "a", [0; 32], KeyId([0; 16]), contents);
        assert!(matches!(header, Err(WireError::ValueTooLarge { .. })));
    }
}

#[test]
fn nonsense_under_a_right_checksum_is_refused() {
    let open = |bytes: &[u8]| Reader::from_slice(bytes, Kind::EvalKey).map(drop);
    for records in [8, u64::MAX] {
        let bytes = resealed(|bytes| bytes[60..68].copy_from_slice(&u64::to_le_bytes(records)));
        assert!(
            matches!(open(&bytes), Err(WireError::HeaderCorrupted)),
            "{records}"
        );
    }
    let bytes = resealed(|bytes| bytes[76] = b'B');
    assert!(matches!(open(&bytes), Err(WireError::HeaderCorrupted)));
    let bytes = resealed(|bytes| bytes[8] = 0);
    assert!(matches!(open(&bytes), Err(WireError::HeaderCorrupted)));
    for len in [0, 65, 255] {
        let bytes = resealed(|bytes| bytes[11] = len);
        assert!(
            matches!(open(&bytes), Err(WireError::HeaderCorrupted)),
            "{len}"
        );
    }
}
