//! The digest of a parameter set.
//!
//! A field is `type ‖ length of label ‖ label ‖ length of value ‖ value`, lengths as 8 bytes little endian; a list has
//! its number of items in place of the length and its items' fields as value. Reading from the front therefore has one
//! outcome only, so two different sequences of fields never give the same bytes.

use blake3::Hasher;

const CONTEXT: &str = "homaes parameter set digest, version 1";

/// Builds the 32-byte digest of the numbers that define a parameter set.
///
/// The order of the fields counts. Include what changes the meaning of a file (moduli, ring, digits, layouts), not what
/// describes it (sizes, estimates, purpose).
///
/// ```
/// use homaes_scheme::DigestBuilder;
/// let a = DigestBuilder::new("bgv").u64("m", 255).u64_list("moduli", &[97, 193]).finish();
/// let b = DigestBuilder::new("bgv").u64("m", 255).u64_list("moduli", &[193, 97]).finish();
/// assert_ne!(a, b);
/// ```
#[derive(Debug, Clone)]
#[must_use = "call finish() to get the digest"]
pub struct DigestBuilder {
    hasher: Hasher,
}

impl DigestBuilder {
    /// An empty digest of the given scheme.
    pub fn new(scheme: &str) -> Self {
        Self {
            hasher: Hasher::new_derive_key(CONTEXT),
        }
        .str("scheme", scheme)
    }

    /// Adds an unsigned number.
    pub fn u64(self, label: &str, value: u64) -> Self {
        self.field(b'u', label, &value.to_le_bytes())
    }

    /// Adds a signed number.
    pub fn i64(self, label: &str, value: i64) -> Self {
        self.field(b'i', label, &value.to_le_bytes())
    }

    /// Adds a floating-point number by its bits: `0.0` and `-0.0` differ.
    pub fn f64(self, label: &str, value: f64) -> Self {
        self.field(b'f', label, &value.to_bits().to_le_bytes())
    }

    /// Adds bytes.
    pub fn bytes(self, label: &str, value: &[u8]) -> Self {
        self.field(b'b', label, value)
    }

    /// Adds a text.
    pub fn str(self, label: &str, value: &str) -> Self {
        self.field(b's', label, value.as_bytes())
    }

    /// Adds a list; `each` adds the fields of one item.
    pub fn list<T>(self, label: &str, items: &[T], mut each: impl FnMut(Self, &T) -> Self) -> Self {
        let head = self.head(b'l', label, items.len());
        // The item count is fixed by the head, but an item may have any number of fields: mark where each one starts.
        items
            .iter()
            .fold(head, |builder, item| each(builder.head(b'.', "", 0), item))
            .head(b';', "", 0)
    }

    /// Adds a list of unsigned numbers.
    pub fn u64_list(self, label: &str, values: &[u64]) -> Self {
        self.list(label, values, |builder, &value| builder.u64("", value))
    }

    /// The digest.
    #[must_use]
    pub fn finish(self) -> [u8; 32] {
        *self.hasher.finalize().as_bytes()
    }

    fn field(self, kind: u8, label: &str, value: &[u8]) -> Self {
        let mut builder = self.head(kind, label, value.len());
        builder.hasher.update(value);
        builder
    }

    fn head(mut self, kind: u8, label: &str, len: usize) -> Self {
        self.hasher.update(&[kind]);
        self.hasher.update(&(label.len() as u64).to_le_bytes());
        self.hasher.update(label.as_bytes());
        self.hasher.update(&(len as u64).to_le_bytes());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn new() -> DigestBuilder {
        DigestBuilder::new("bgv")
    }

    #[test]
    fn every_part_of_a_field_counts() {
        let grouped = |groups: &[&[u64]], list| {
            let fields = |b: DigestBuilder, group: &&[u64]| match list {
                true => b.u64_list("g", group),
                false => group.iter().fold(b, |b, &v| b.u64("v", v)),
            };
            new().list("l", groups, fields).finish()
        };
        let all = [
            grouped(&[&[1, 2], &[3]], true),
            grouped(&[&[1], &[2, 3]], true),
            grouped(&[&[1, 2], &[3]], false),
            grouped(&[&[1], &[2, 3]], false),
            new().finish(),
            DigestBuilder::new("tfhe").finish(),
            new().u64("m", 255).finish(),
            new().i64("m", 255).finish(),
            new().u64("n", 255).finish(),
            new().f64("m", 0.0).finish(),
            new().f64("m", -0.0).finish(),
            new().u64("m", 0).finish(),
            new().str("m", "x").finish(),
            new().bytes("m", b"x").finish(),
            new().str("mx", "").finish(),
            new().u64("m", 1).u64("n", 2).finish(),
            new().u64("n", 2).u64("m", 1).finish(),
            new().u64_list("m", &[1]).finish(),
            new().u64_list("m", &[1]).u64_list("m", &[2]).finish(),
            new().u64_list("m", &[1]).u64("", 2).finish(),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|b| a != b), "entry {i} repeats");
        }
    }

    #[test]
    fn the_encoding_is_stable() {
        let digest = new().u64("m", 255).f64("sigma", 3.2);
        let digest = digest.u64_list("moduli", &[97, 193]).finish();
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let want = "4bc5cbf121aa2e97106ac52d6b319bec1648f10bcafa391bd73f68cbdc386079";
        assert_eq!(hex, want);
    }

    proptest! {
        #[test]
        fn different_lists_differ(a in prop::collection::vec(0u64..4, 0..5), b in prop::collection::vec(0u64..4, 0..5)) {
            prop_assert_eq!(a == b, new().u64_list("l", &a).finish() == new().u64_list("l", &b).finish());
        }

        #[test]
        fn labels_and_values_do_not_run_together(a in "[ab]{0,3}", b in "[ab]{0,3}", c in "[ab]{0,3}", d in "[ab]{0,3}") {
            prop_assert_eq!((&a, &b) == (&c, &d), new().str(&a, &b).finish() == new().str(&c, &d).finish());
        }
    }
}
