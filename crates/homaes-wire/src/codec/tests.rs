use super::*;
use proptest::prelude::*;

#[test]
fn all_values_round_trip() {
    let body = Encoder::with_capacity(64)
        .u8(1)
        .u16(0x0203)
        .u32(4)
        .u64(5)
        .f64(-1.5)
        .sized_bytes(b"ab")
        .str("é")
        .residues(17, &[16, 0, 3])
        .finish();
    let mut decoder = Decoder::new(&body);
    assert_eq!(decoder.u8("a").unwrap(), 1);
    assert_eq!(decoder.u16("b").unwrap(), 0x0203);
    assert_eq!(decoder.u32("c").unwrap(), 4);
    assert_eq!(decoder.u64("d").unwrap(), 5);
    assert_eq!(decoder.f64("e").unwrap(), -1.5);
    assert_eq!(decoder.sized_bytes("f", 2).unwrap(), b"ab");
    assert_eq!(decoder.str("g", 2).unwrap(), "é");
    assert_eq!(decoder.residues("h", 17, 3).unwrap(), [16, 0, 3]);
    assert_eq!(format!("{decoder:?}"), "Decoder(0 of 41 bytes left)");
    decoder.finish("body").unwrap();
}

/// Figures that differ in their last bits are the same bytes, and what was read is written as it was.
#[test]
fn noise_is_rounded_to_the_safe_side() {
    let ulps = |value: f64, count: i64| f64::from_bits((value.to_bits() as i64 + count) as u64);
    let written = |value| {
        let body = Encoder::new().noise(value).noise_left(value).finish();
        let mut decoder = Decoder::new(&body);
        [(); 2].map(|()| decoder.f64("x").unwrap())
    };
    for value in [13.218747430179198, -21.19, 64.0, -17.0, 0.3, 4095.7, -0.25] {
        let [up, down] = written(value);
        assert!(up >= value && up < value + 2f64.powi(-16), "{value}");
        assert!(down <= value && down > value - 2f64.powi(-16), "{value}");
        assert_eq!((up * 65536.0).fract(), 0.0);
        for count in -8..=8 {
            assert_eq!(written(ulps(value, count)), [up, down], "{value}");
        }
        assert_eq!((written(up)[0], written(down)[1]), (up, down));
    }
    for zero in [0.0, -0.0] {
        assert!(written(zero).map(f64::to_bits) == [0, 0]);
    }
}

#[test]
fn errors_name_the_value() {
    type Call = fn(Decoder<'_>) -> Result<(), WireError>;
    #[rustfmt::skip] // a table
    let cases: [(Call, &str); 8] = [
        (|mut d| d.bytes("seed", 9).map(drop), "seed needs 9 bytes, only 8 are left"),
        (|mut d| d.sized_bytes("note", 10).map(drop), "note is 18446744073709551615, expected at most 10"),
        (|mut d| d.str("note", 10).map(drop), "note is 4294967295, expected at most 10"),
        (|mut d| d.f64("noise").map(drop), "noise is malformed, expected a finite number"),
        (
            |mut d| d.residues("c0", 97, 2).map(drop),
            "packed values is malformed, expected zero bits after the last value",
        ),
        (|mut d| d.residues("c0", 193, 1).map(drop), "c0 is 255, expected at most 192"),
        (|d| d.finish("body"), "body has 8 bytes, expected 0"),
        (|_| Decoder::new(&[1, 0, 0, 0, 0xff]).str("note", 10).map(drop), "note is malformed, expected UTF-8"),
    ];
    let huge = [0xff; 8];
    for (call, message) in cases {
        assert_eq!(call(Decoder::new(&huge)).unwrap_err().to_string(), message);
    }
    assert!(Decoder::new(&huge).count("limbs", usize::MAX, 8).is_err());
    assert!(Decoder::new(&huge).residues("c0", 97, usize::MAX).is_err());
}

#[test]
fn residues_use_no_more_bits_than_needed() {
    let bits = [(2, 1), (3, 2), (256, 8), (257, 9), (1 << 63, 63)];
    assert!(
        bits.iter()
            .all(|&(modulus, bits)| residue_bits(modulus) == bits)
    );
}

proptest! {
    #[test]
    fn any_bytes_are_safe(bytes in prop::collection::vec(any::<u8>(), 0..40), calls in prop::collection::vec(0u8..7, 0..12)) {
        let mut decoder = Decoder::new(&bytes);
        for call in calls {
            let _ = match call {
                0 => decoder.u16("x").map(drop),
                1 => decoder.f64("x").map(drop),
                2 => decoder.sized_bytes("x", usize::MAX).map(drop),
                3 => decoder.str("x", usize::MAX).map(drop),
                4 => decoder.count("x", usize::MAX, 3).map(|count| assert!(count * 3 <= decoder.left())),
                5 => decoder.residues("x", 97, 5).map(|values| assert!(values.iter().all(|&v| v < 97))),
                _ => decoder.u8("x").map(drop),
            };
        }
    }
}
