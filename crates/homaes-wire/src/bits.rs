//! Packing of residues: value i of b bits lies at bits `i·b .. (i+1)·b`, lowest bit first.

use crate::WireError;

/// Most bits of one value.
const MAX_BITS: u32 = 63;

/// Bytes that `count` values of `bits` bits take: `⌈count · bits / 8⌉`. Saturates.
#[must_use]
pub fn packed_len(count: usize, bits: u32) -> usize {
    let bytes = (count as u128 * u128::from(bits)).div_ceil(8);
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Appends `values`, each below `2^bits`, in [`packed_len`] bytes.
///
/// # Panics
/// If `bits` is not in 1..=63 or a value is too large: it would be stored as another one.
pub fn pack_bits(values: &[u64], bits: u32, out: &mut Vec<u8>) {
    assert!(
        (1..=MAX_BITS).contains(&bits),
        "values of {bits} bits cannot be packed"
    );
    let seen = values.iter().fold(0, |seen, &value| seen | value);
    assert!(seen >> bits == 0, "a value does not fit in {bits} bits");
    let start = out.len();
    out.resize(start + packed_len(values.len(), bits), 0);
    let mut rest = &mut out[start..];
    // `word` holds `filled` < 64 bits that are not yet written.
    let (mut word, mut filled) = (0u64, 0u32);
    for &value in values {
        word |= value << filled;
        filled += bits;
        if filled >= 64 {
            let (full, after) = rest.split_at_mut(8);
            full.copy_from_slice(&word.to_le_bytes());
            rest = after;
            filled -= 64;
            // the part of the value that did not fit
            word = value >> (bits - filled);
        }
    }
    rest.copy_from_slice(&word.to_le_bytes()[..rest.len()]);
}

/// Reads `out.len()` values of `bits` bits from exactly [`packed_len`] bytes.
///
/// # Errors
/// [`WireError::ValueTooLarge`] if `bits` is not in 1..=63, [`WireError::Length`] if the bytes are too few or too many,
/// [`WireError::Malformed`] if the bits after the last value are not zero.
pub fn unpack_bits(bytes: &[u8], bits: u32, out: &mut [u64]) -> Result<(), WireError> {
    if !(1..=MAX_BITS).contains(&bits) {
        let (found, expected) = (u64::from(bits), u64::from(MAX_BITS));
        return Err(WireError::ValueTooLarge {
            what: "bits per packed value",
            found,
            expected,
        });
    }
    let expected = packed_len(out.len(), bits);
    if bytes.len() != expected {
        let (found, expected) = (bytes.len() as u64, expected as u64);
        return Err(WireError::Length {
            what: "packed values",
            found,
            expected,
        });
    }
    let mask = (1u64 << bits) - 1;
    let start = unpack_groups(bytes, bits, out);
    let mut at = start * bits as usize;
    for value in &mut out[start..] {
        let (byte, shift) = (at / 8, at % 8);
        // Nine bytes hold any value at any shift; near the end they are filled up with zeros.
        *value = match bytes.get(byte..).and_then(<[u8]>::first_chunk) {
            Some(part) => window(part, shift),
            None => {
                let mut part = [0; 9];
                part[..bytes.len() - byte].copy_from_slice(&bytes[byte..]);
                window(&part, shift)
            }
        } & mask;
        at += bits as usize;
    }
    if bytes
        .last()
        .is_some_and(|&last| !at.is_multiple_of(8) && last >> (at % 8) != 0)
    {
        return Err(WireError::Malformed {
            what: "packed values",
            expected: "zero bits after the last value",
        });
    }
    Ok(())
}

/// Unpacks values from the front, eight at a time (`bits` bytes), while eight bytes can be read at the place of each;
/// the number unpacked.
fn unpack_groups(bytes: &[u8], bits: u32, out: &mut [u64]) -> usize {
    const GROUP: usize = 8;
    // a value and up to seven bits before it
    if bits > 57 {
        return 0;
    }
    let (mask, step) = ((1u64 << bits) - 1, bits as usize);
    let mut done = 0;
    for (values, at) in out.chunks_exact_mut(GROUP).zip((0..).step_by(step)) {
        let Some(group) = bytes.get(at..at + step + GROUP) else {
            break;
        };
        for (k, value) in values.iter_mut().enumerate() {
            let part = group[k * step / 8..].first_chunk();
            let word = u64::from_le_bytes(*part.expect("eight bytes behind the group"));
            *value = word >> (k * step % 8) & mask;
        }
        done += GROUP;
    }
    done
}

/// The 64 bits from bit `shift` < 8 on.
fn window(part: &[u8; 9], shift: usize) -> u64 {
    let low = u64::from_le_bytes(*part.first_chunk().expect("9 bytes hold 8"));
    // two steps, as shift 0 would move by 64 bits in one
    (low >> shift) | (u64::from(part[8]) << 1 << (63 - shift))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(values: &[u64], bits: u32) -> Vec<u8> {
        let mut out = Vec::new();
        pack_bits(values, bits, &mut out);
        out
    }

    /// Packs bit by bit, as the format states it.
    fn reference(values: &[u64], bits: u32) -> Vec<u8> {
        let mut out = vec![0; packed_len(values.len(), bits)];
        for (i, value) in values.iter().enumerate() {
            for b in 0..bits as usize {
                let at = i * bits as usize + b;
                out[at / 8] |= ((value >> b & 1) as u8) << (at % 8);
            }
        }
        out
    }

    #[test]
    fn small_cases() {
        assert_eq!(packed(&[], 5), []);
        assert_eq!(packed(&[1, 2, 3], 4), [0x21, 0x03]);
        assert_eq!(packed_len(usize::MAX, 63), usize::MAX);
        assert_eq!(packed_len(3, 3), 2);
    }

    #[test]
    fn damage_is_found() {
        for (bytes, bits, message) in [
            (
                &[0x21, 0x13][..],
                4,
                "packed values is malformed, expected zero bits after the last value",
            ),
            (&[0x21], 4, "packed values has 1 bytes, expected 2"),
            (&[0x21, 3, 0], 4, "packed values has 3 bytes, expected 2"),
            (
                &[0; 24],
                64,
                "bits per packed value is 64, expected at most 63",
            ),
        ] {
            let error = unpack_bits(bytes, bits, &mut [0; 3]).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
        assert!(unpack_bits(&[], 0, &mut [0; 3]).is_err());
    }

    #[test]
    #[should_panic(expected = "does not fit")]
    fn large_values_are_refused() {
        packed(&[3, 16], 4);
    }

    proptest! {
        #[test]
        fn round_trip(bits in 1u32..=63, raw in prop::collection::vec(any::<u64>(), 0..70), prefix in 0usize..3) {
            let values: Vec<u64> = raw.iter().map(|value| value >> (64 - bits)).collect();
            let mut out = vec![0xaa; prefix];
            pack_bits(&values, bits, &mut out);
            prop_assert_eq!(&out[prefix..], reference(&values, bits));
            let mut back = vec![u64::MAX; values.len()];
            unpack_bits(&out[prefix..], bits, &mut back).unwrap();
            prop_assert_eq!(values, back);
        }

        /// Packing is one to one: any bytes that are accepted come out again.
        #[test]
        fn bytes_are_canonical(bits in 1u32..=63, count in 0usize..20, raw in prop::collection::vec(any::<u8>(), 160)) {
            let bytes = &raw[..packed_len(count, bits)];
            let mut values = vec![0; count];
            if unpack_bits(bytes, bits, &mut values).is_ok() {
                prop_assert_eq!(packed(&values, bits), bytes);
            }
        }
    }
}
