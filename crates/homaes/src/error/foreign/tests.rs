use super::*;
use crate::{AesFile, Memory, Mode, unhex};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

const COMPACT: &str =
    "eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0..AAECAwQFBgcICQoL.3q2-7w.AAECAwQFBgcICQoLDA0ODw";

/// The shortest heads of every format.
fn heads() -> Vec<(Foreign, Vec<u8>)> {
    use Foreign::{Age, Cms, Homaes, Jwe, OpensslBase64, Text};
    let salt = [1, 2, 3, 4, 5, 6, 7, 8];
    let mut heads = vec![(
        Foreign::Openssl { salt },
        [&b"Salted__"[..], &salt].concat(),
    )];
    for hex in [
        // definite and indefinite lengths
        "308201bb06092a864886f70d010703a08201ac30",
        "308006092a864886f70d010703a080308002",
        "307006092a864886f70d010706a0633061",
        "308201c0060b2a864886f70d0109100117a08201af",
    ] {
        heads.push((Cms, unhex(hex).unwrap()));
    }
    for (format, text) in [
        (OpensslBase64, "U2FsdGVkX18xMjM0NTY3OA"),
        (Homaes, "HOMAES\r\n\x01\0\x04"),
        (Cms, "-----BEGIN CMS-----\nMIIB"),
        (Cms, "-----BEGIN PKCS7-----\nMIIB"),
        (
            Cms,
            "To: a@b\r\nMIME-Version: 1.0\r\nContent-Type: application/pkcs7-mime; smime-type=a\r\n\r\nMIIB",
        ),
        (Cms, "content-type:\n application/x-pkcs7-mime\n\nMIIB"),
        (Age, "age-encryption.org/v1\n-> X25519 "),
        (Age, "-----BEGIN AGE ENCRYPTED FILE-----\nYWdl"),
        (Jwe, COMPACT),
        (Jwe, r#"{"iv":"","ciphertext":"","protected":"eyJ"#),
        (Jwe, r#"{ "ciphertext" :""#),
        (Text, "q1Vz0Q+/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBk=\n"),
        (Text, "000102030405060708090a0b0c0d0e0f\n1011121314151617"),
    ] {
        heads.push((format, text.as_bytes().to_vec()));
    }
    heads
}

#[test]
fn formats_are_told_by_48_bits_and_more() {
    for (format, head) in heads() {
        assert_eq!(Foreign::of_head(&head), Some(format));
        // single bits that the recognition depends on: 48 of them mean a probability of at most 2^-48
        let mut changed = head.clone();
        let fixed = (0..8 * head.len()).filter(|bit| {
            changed[bit / 8] ^= 1 << (bit % 8);
            let found = Foreign::of_head(&changed);
            changed[bit / 8] ^= 1 << (bit % 8);
            found.is_none()
        });
        assert!(fixed.count() > 48, "{format}: {head:02x?}");
    }
}

#[test]
fn other_files_are_taken() {
    let signed = COMPACT.rsplitn(3, '.').last().unwrap();
    let texts = [
        "",
        "Salted__",
        "Salted_.00000000",
        "-----BEGIN CERTIFICATE-----",
        "Content-Type: text/plain\n\nContent-Type: application/pkcs7-mime",
        "{\"protected\":\"eyJ\",\"payload\":\"\"}",
        "{\"a\":\"ciphertext\"}",
        "eyJ....",
        "e30....",
        // too short to tell
        "q1Vz0Q+/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGB",
        signed,
    ];
    // signed data, and invalid lengths
    let binary = [
        "308201bb06092a864886f70d010702a0",
        "30ff06092a864886f70d010703a0",
        "3080",
    ];
    let binary = binary.map(|hex| unhex(hex).unwrap());
    let texts = texts.map(|text| text.as_bytes().to_vec());
    for head in texts.iter().chain(&binary) {
        assert_eq!(Foreign::of_head(head), None, "{head:02x?}");
    }
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut head = [0; 64];
    for _ in 0..100_000 {
        rng.fill_bytes(&mut head);
        assert_eq!(Foreign::of_head(&head), None, "{head:02x?}");
    }
}

#[test]
fn parts_are_refused_unless_they_are_raw() {
    let mode = Mode::Ctr { iv: [0; 16] };
    for (format, head) in heads() {
        let source = || Memory::new([&head[..], &[b'7'; 28]].concat(), "m");
        for refused in [AesFile::of(source(), mode), AesFile::with_nonce(source())] {
            let error = refused.unwrap_err();
            assert_eq!(error.kind(), format.kind());
            assert!(error.to_string().contains(&format.to_string()), "{error}");
        }
        let bytes = head.len() as u64 + 28;
        assert_eq!(AesFile::raw(source(), mode).unwrap().bytes(), bytes);
        assert_eq!(
            AesFile::raw_with_nonce(source()).unwrap().bytes(),
            bytes - 28
        );
    }
}

#[test]
fn base64url_is_decoded() {
    let bytes = |text: &str| from_base64url(text.as_bytes());
    for (text, plain) in [("", ""), ("Zg", "f"), ("Zm8", "fo"), ("Zm9v", "foo")] {
        assert_eq!(bytes(text).unwrap(), plain.as_bytes());
    }
    assert_eq!(bytes("-_8").unwrap(), [0xfb, 0xff]);
    assert_eq!(bytes("Zm9v="), None);
}
