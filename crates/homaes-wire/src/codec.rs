//! Filling and reading record bodies.

use crate::{WireError, pack_bits, packed_len, unpack_bits};

/// Builds a record body.
///
/// ```
/// use homaes_wire::{Decoder, Encoder};
/// let body = Encoder::new().u32(7).str("ctr").residues(97, &[0, 96]).finish();
/// let mut decoder = Decoder::new(&body);
/// assert_eq!(decoder.u32("level").unwrap(), 7);
/// assert_eq!(decoder.str("mode", 16).unwrap(), "ctr");
/// assert_eq!(decoder.residues("coefficients", 97, 2).unwrap(), [0, 96]);
/// decoder.finish("body").unwrap();
/// ```
#[derive(Clone, Default)]
#[must_use = "call finish() to get the bytes"]
pub struct Encoder {
    out: Vec<u8>,
}

impl Encoder {
    /// An empty body.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty body with room for `bytes`, so that a secret is not left behind by growing.
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            out: Vec::with_capacity(bytes),
        }
    }

    /// Appends a byte.
    pub fn u8(self, value: u8) -> Self {
        self.bytes(&[value])
    }

    /// Appends two bytes.
    pub fn u16(self, value: u16) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Appends four bytes.
    pub fn u32(self, value: u32) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Appends eight bytes.
    pub fn u64(self, value: u64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Appends the bits of a floating-point number.
    pub fn f64(self, value: f64) -> Self {
        self.u64(value.to_bits())
    }

    /// Appends a figure of noise, a logarithm or a count of bits, rounded up to a multiple of 2^-16: `log2` and `exp2`
    /// differ in the last bits between C libraries, and files must not. A value at most 2^-26 above a multiple becomes
    /// that multiple, for the same reason: exact powers of two stay.
    pub fn noise(self, value: f64) -> Self {
        self.f64(rounded_up(value))
    }

    /// As [`noise`](Self::noise), downwards: bits that are left.
    pub fn noise_left(self, value: f64) -> Self {
        // without the sign of a zero
        self.f64(0.0 - rounded_up(-value))
    }

    /// Appends bytes without their length.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.out.extend_from_slice(bytes);
        self
    }

    /// Appends the length in eight bytes, then the bytes.
    pub fn sized_bytes(self, bytes: &[u8]) -> Self {
        self.u64(bytes.len() as u64).bytes(bytes)
    }

    /// Appends the length in four bytes, then the text.
    ///
    /// # Panics
    /// If the text is longer than 4 GiB.
    pub fn str(self, text: &str) -> Self {
        let len = u32::try_from(text.len()).expect("texts in records are short");
        self.u32(len).bytes(text.as_bytes())
    }

    /// Appends residues modulo `modulus`, packed.
    ///
    /// # Panics
    /// If the modulus is not in 2..=2^63, or a value has more bits than `modulus - 1`.
    pub fn residues(mut self, modulus: u64, values: &[u64]) -> Self {
        pack_bits(values, residue_bits(modulus), &mut self.out);
        self
    }

    /// The body.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.out
    }
}

// The content may be secret.
impl core::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Encoder({} bytes)", self.out.len())
    }
}

/// Reads a record body from front to back. Every length is checked against the bytes left before anything is allocated.
///
/// `what` names the value in errors.
#[derive(Clone)]
pub struct Decoder<'b> {
    rest: &'b [u8],
    len: usize,
}

impl<'b> Decoder<'b> {
    /// Starts at the front.
    #[must_use]
    pub fn new(bytes: &'b [u8]) -> Self {
        Self {
            rest: bytes,
            len: bytes.len(),
        }
    }

    /// Bytes not yet read.
    #[must_use]
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// Reads a byte.
    ///
    /// # Errors
    /// [`WireError::ValueTruncated`].
    pub fn u8(&mut self, what: &'static str) -> Result<u8, WireError> {
        self.array(what).map(u8::from_le_bytes)
    }

    /// Reads two bytes.
    ///
    /// # Errors
    /// [`WireError::ValueTruncated`].
    pub fn u16(&mut self, what: &'static str) -> Result<u16, WireError> {
        self.array(what).map(u16::from_le_bytes)
    }

    /// Reads four bytes.
    ///
    /// # Errors
    /// [`WireError::ValueTruncated`].
    pub fn u32(&mut self, what: &'static str) -> Result<u32, WireError> {
        self.array(what).map(u32::from_le_bytes)
    }

    /// Reads eight bytes.
    ///
    /// # Errors
    /// [`WireError::ValueTruncated`].
    pub fn u64(&mut self, what: &'static str) -> Result<u64, WireError> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// Reads a floating-point number that is not infinite and not NaN.
    ///
    /// # Errors
    /// [`WireError::ValueTruncated`] or [`WireError::Malformed`].
    pub fn f64(&mut self, what: &'static str) -> Result<f64, WireError> {
        let value = f64::from_bits(self.u64(what)?);
        if value.is_finite() {
            Ok(value)
        } else {
            Err(WireError::Malformed {
                what,
                expected: "a finite number",
            })
        }
    }

    /// Reads `N` bytes.
    ///
    /// # Errors
    /// [`WireError::ValueTruncated`].
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], WireError> {
        self.bytes(what, N).map(|bytes| {
            *bytes
                .first_chunk()
                .expect("bytes() gives as many as asked for")
        })
    }

    /// Reads `len` bytes.
    ///
    /// # Errors
    /// [`WireError::ValueTruncated`].
    pub fn bytes(&mut self, what: &'static str, len: usize) -> Result<&'b [u8], WireError> {
        let (found, expected) = (self.left() as u64, len as u64);
        let (bytes, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or(WireError::ValueTruncated {
                what,
                found,
                expected,
            })?;
        self.rest = rest;
        Ok(bytes)
    }

    /// Reads a length of eight bytes, at most `max`, then that many bytes.
    ///
    /// # Errors
    /// [`WireError::ValueTooLarge`] or [`WireError::ValueTruncated`].
    pub fn sized_bytes(&mut self, what: &'static str, max: usize) -> Result<&'b [u8], WireError> {
        let len = self.u64(what)?;
        let len = bounded(what, len, max)?;
        self.bytes(what, len)
    }

    /// Reads a length of four bytes, at most `max`, then a text of that many bytes.
    ///
    /// # Errors
    /// [`WireError::ValueTooLarge`], [`WireError::ValueTruncated`] or [`WireError::Malformed`].
    pub fn str(&mut self, what: &'static str, max: usize) -> Result<&'b str, WireError> {
        let len = self.u32(what)?;
        let len = bounded(what, u64::from(len), max)?;
        let bytes = self.bytes(what, len)?;
        core::str::from_utf8(bytes).map_err(|_| WireError::Malformed {
            what,
            expected: "UTF-8",
        })
    }

    /// Reads a number of items (eight bytes), at most `max`, each of which takes at least `item_bytes` of the body. The
    /// number is safe to allocate for.
    ///
    /// # Errors
    /// [`WireError::ValueTooLarge`] or [`WireError::ValueTruncated`].
    pub fn count(
        &mut self,
        what: &'static str,
        max: usize,
        item_bytes: usize,
    ) -> Result<usize, WireError> {
        let count = self.u64(what)?;
        let count = bounded(what, count, max)?;
        let needed = count.saturating_mul(item_bytes);
        if needed > self.left() {
            let (found, expected) = (self.left() as u64, needed as u64);
            return Err(WireError::ValueTruncated {
                what,
                found,
                expected,
            });
        }
        Ok(count)
    }

    /// Reads `count` packed residues and checks that each is below `modulus`.
    ///
    /// # Errors
    /// [`WireError::ValueTruncated`], [`WireError::Malformed`] or [`WireError::ValueTooLarge`].
    ///
    /// # Panics
    /// If the modulus is not in 2..=2^63; it comes from the parameters, not from the file.
    pub fn residues(
        &mut self,
        what: &'static str,
        modulus: u64,
        count: usize,
    ) -> Result<Vec<u64>, WireError> {
        // the bytes are there before the values are allocated
        let bytes = packed_len(count, residue_bits(modulus));
        self.clone().bytes(what, bytes)?;
        let mut values = vec![0; count];
        self.residues_into(what, modulus, &mut values)?;
        Ok(values)
    }

    /// Takes as many residues as `values` holds, as [`residues`](Self::residues) does, without memory of its own.
    ///
    /// # Errors
    /// As [`residues`](Self::residues).
    pub fn residues_into(
        &mut self,
        what: &'static str,
        modulus: u64,
        values: &mut [u64],
    ) -> Result<(), WireError> {
        let bits = residue_bits(modulus);
        let bytes = self.bytes(what, packed_len(values.len(), bits))?;
        unpack_bits(bytes, bits, values)?;
        match values.iter().max() {
            Some(&found) if found >= modulus => Err(WireError::ValueTooLarge {
                what,
                found,
                expected: modulus - 1,
            }),
            _ => Ok(()),
        }
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// [`WireError::Length`].
    pub fn finish(self, what: &'static str) -> Result<(), WireError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        let (found, expected) = (self.len as u64, (self.len - self.rest.len()) as u64);
        Err(WireError::Length {
            what,
            found,
            expected,
        })
    }
}

// The content may be secret.
impl core::fmt::Debug for Decoder<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Decoder({} of {} bytes left)", self.rest.len(), self.len)
    }
}

/// The next multiple of 2^-16, or the previous one if that is at most 2^-26 below.
fn rounded_up(value: f64) -> f64 {
    // adding 0 takes the sign of a zero away
    (value * 65536.0 - 1.0 / 1024.0).ceil() / 65536.0 + 0.0
}

fn bounded(what: &'static str, found: u64, max: usize) -> Result<usize, WireError> {
    usize::try_from(found)
        .ok()
        .filter(|&len| len <= max)
        .ok_or(WireError::ValueTooLarge {
            what,
            found,
            expected: max as u64,
        })
}

/// Bits of the largest residue.
fn residue_bits(modulus: u64) -> u32 {
    assert!(
        (2..=1 << 63).contains(&modulus),
        "no residues modulo {modulus}"
    );
    u64::BITS - (modulus - 1).leading_zeros()
}

#[cfg(test)]
mod tests;
