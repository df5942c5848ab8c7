//! The parameter set and key of a ciphertext.

use crate::file::SetId;
use crate::mismatch::Mismatch;
use homaes_wire::KeyId;

/// The parameter set and the secret key that something belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// name of the set, and the front of its digest
    set: (&'static str, u64),
    key: Key,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    /// public bytes, and a record without its file
    Any,
    One(KeyId),
    /// a combination under two keys, of no use with either
    Mixed([KeyId; 2]),
}

impl Owner {
    /// The set, and the secret key if it is known.
    #[must_use]
    pub fn new(set: SetId<'_>, key: Option<KeyId>) -> Self {
        Self {
            set: name_and_front(set),
            key: key.map_or(Key::Any, Key::One),
        }
    }

    /// The owner of a combination of both, which are of one set.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let key = match (self.key, other.key) {
            (Key::Any, key) | (key, Key::Any) => key,
            (Key::One(a), Key::One(b)) if a != b => Key::Mixed([a, b]),
            (Key::Mixed(both), _) | (_, Key::Mixed(both)) => Key::Mixed(both),
            (key, _) => key,
        };
        Self { key, ..self }
    }

    /// An owner that fits no key.
    #[must_use]
    pub fn nowhere(self) -> Self {
        let key = Key::Mixed([KeyId([0; 16]), KeyId([0xff; 16])]);
        Self { key, ..self }
    }

    /// Whether it is of the set.
    #[must_use]
    pub fn is_of(self, set: SetId<'_>) -> bool {
        self.set == name_and_front(set)
    }

    /// Checks that `what`, which has this owner, is of the set and can be used with the secret key called `key`.
    ///
    /// # Errors
    /// [`Mismatch::OtherSet`], [`Mismatch::OtherKey`].
    pub fn check(self, what: &'static str, set: SetId<'_>, key: KeyId) -> Result<(), Mismatch> {
        self.check_set(what, set)?;
        self.check_key(what, key)
    }

    /// Checks that `what`, which has this owner, is of the set.
    ///
    /// # Errors
    /// [`Mismatch::OtherSet`].
    pub fn check_set(self, what: &'static str, set: SetId<'_>) -> Result<(), Mismatch> {
        match self.is_of(set) {
            true => Ok(()),
            false => Err(Mismatch::OtherSet {
                what,
                found: self.set.0,
                expected: set.name,
            }),
        }
    }

    /// Checks that `what`, which has this owner, can be used with the secret key called `expected`.
    ///
    /// # Errors
    /// [`Mismatch::OtherKey`].
    pub fn check_key(self, what: &'static str, expected: KeyId) -> Result<(), Mismatch> {
        let other = match self.key {
            Key::Any => None,
            Key::One(found) => (found != expected).then_some(found),
            Key::Mixed([a, b]) => Some(if a == expected { b } else { a }),
        };
        match other {
            None => Ok(()),
            Some(found) => Err(Mismatch::OtherKey {
                what,
                found,
                expected,
            }),
        }
    }
}

fn name_and_front(set: SetId<'_>) -> (&'static str, u64) {
    let front = set.digest.first_chunk();
    let front = front.expect("a digest has 32 bytes");
    (set.name, u64::from_le_bytes(*front))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mixed_is_of_no_use() {
        let [digest, other] = [[1; 32], [2; 32]];
        let set = SetId::new("bgv/toy-255", &digest);
        let [a, b] = [3, 4].map(|x| KeyId([x; 16]));
        let [any, of_a, of_b] = [None, Some(a), Some(b)].map(|key| Owner::new(set, key));
        let fits = |owner: Owner, key| owner.check_key("ciphertext", key).is_ok();
        assert!(fits(any, a) && fits(any, b));
        assert!(fits(of_a, a) && !fits(of_a, b));
        assert!(fits(any.with(of_a), a) && fits(of_a.with(any), a));
        assert!(!fits(any.with(of_a), b));
        let mixed = of_a.with(of_b).with(of_a);
        for owner in [mixed, any.with(mixed), of_a.nowhere(), any.nowhere()] {
            assert!(!fits(owner, a) && !fits(owner, b));
        }
        assert!(of_a.check_set("ciphertext", set).is_ok());
        assert!(!of_a.is_of(SetId::new("bgv/toy-255", &other)));
        assert!(!of_a.is_of(SetId::new("bgv/toy-4369", &digest)));
    }
}
