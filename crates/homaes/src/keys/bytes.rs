//! Keys as bytes in memory, in the form of their files.

use super::{
    EvalKey, KdfCost, KeySet, MEMORY, Passphrase, Protection, SecretKey, WrappedKey, reader, set_of,
};
use crate::error::At;
use crate::keys::protect::protected;
use crate::{Cancel, Output, Result, Set};
use homaes_aes::Layout;
use homaes_wire::Kind;
use std::path::Path;
use zeroize::Zeroizing;

impl KeySet {
    /// New keys in memory: the secret key, and the file of the evaluation key for `layouts`, which [`EvalKey`] could
    /// not write again.
    ///
    /// # Errors
    /// As [`generate`](Self::generate) and [`Set::eval_key`]; [`crate::Error::Cancelled`].
    pub fn generate_bytes(
        set: &Set,
        layouts: &[Layout],
        cancel: &Cancel,
    ) -> Result<(SecretKey, Vec<u8>)> {
        Self::generate_files(set, layouts, &mut |_| Ok(()), cancel)
    }
}

impl SecretKey {
    /// The key in `bytes`, the content of a `.hsk` file without a passphrase. The bytes are secret: overwrite them
    /// after use.
    ///
    /// # Errors
    /// `ErrorKind::Protected` if they need a passphrase; their first fault.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let path = Path::new(MEMORY);
        let mut front = reader(bytes, Kind::SecretKey)?;
        let set = set_of(&front)?;
        let protection = Protection::read(&mut front);
        if protection.at(path)?.is_some() {
            return Err(protected(path));
        }
        Self::read(set, reader(bytes, Kind::SecretKey)?, path, false)
    }

    /// As [`unlock`](Self::unlock), from `bytes`, the content of the file.
    pub fn unlock_bytes(bytes: &[u8], passphrase: &Passphrase) -> Result<Self> {
        let reader = reader(bytes, Kind::SecretKey)?;
        Self::unsealed(reader, Path::new(MEMORY), false, passphrase)
    }

    /// The content of its file, under a passphrase if `lock` has one. Overwritten when dropped.
    ///
    /// # Errors
    /// With a passphrase [`crate::Error::Random`] or `ErrorKind::Memory`.
    pub fn to_bytes(&self, lock: Option<(&Passphrase, KdfCost)>) -> Result<Zeroizing<Vec<u8>>> {
        self.file(lock, Path::new(MEMORY))
    }
}

impl WrappedKey {
    /// As [`open`](Self::open), from `bytes`, the content of the file, which are not kept.
    pub fn from_bytes(bytes: &[u8], eval: &EvalKey) -> Result<Self> {
        Self::of_slice(bytes, eval.set().clone(), eval.key_id())
    }

    /// As [`open_alone`](Self::open_alone), from `bytes`, the content of the file, which are not kept.
    pub fn from_bytes_alone(bytes: &[u8]) -> Result<Self> {
        let reader = reader(bytes, Kind::WrappedKey)?;
        Self::of_slice(bytes, set_of(&reader)?, reader.header().key_id())
    }

    /// The content of its file.
    ///
    /// # Errors
    /// [`crate::Error::Memory`]; [`crate::Error::Io`] if the key is in a file that cannot be read.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let (output, buffer) = Output::memory();
        self.save(output)?;
        Ok(buffer.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::conformance::representatives;
    use crate::{AesKey, Error, Transcipher, WrapOptions};
    use std::fs;

    fn keys(set: &Set) -> (SecretKey, Vec<u8>, WrappedKey) {
        let (secret, eval) = KeySet::generate_bytes(set, &[], &Cancel::new()).unwrap();
        let aes = AesKey::from_bytes(&[7; 16]).unwrap();
        let wrapped = WrappedKey::encrypt(&secret, &aes, &WrapOptions::default()).unwrap();
        (secret, eval, wrapped)
    }

    #[test]
    fn bytes_and_files_are_the_same() {
        for set in representatives() {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            let (secret, eval_bytes, wrapped) = keys(&set);
            let eval = EvalKey::from_bytes(&eval_bytes).unwrap();
            fs::write(at("e"), &eval_bytes).unwrap();
            let opened = EvalKey::open(at("e")).unwrap();
            assert_eq!(eval.checksum(), opened.checksum());
            let expected = (secret.id(), eval_bytes.len() as u64);
            assert_eq!((eval.key_id(), eval.file_bytes()), expected);

            let plain = secret.to_bytes(None).unwrap();
            secret.save(at("s"), false, None).unwrap();
            assert_eq!(*plain, fs::read(at("s")).unwrap());
            let again = SecretKey::from_bytes(&plain).unwrap();
            assert_eq!(again.to_bytes(None).unwrap(), plain);

            let bytes = wrapped.to_bytes().unwrap();
            fs::write(at("w"), &bytes).unwrap();
            for read in [
                WrappedKey::from_bytes(&bytes, &eval),
                WrappedKey::from_bytes_alone(&bytes),
                WrappedKey::open(at("w"), &opened),
                WrappedKey::open_alone(at("w")),
            ] {
                let read = read.unwrap();
                assert_eq!(read.checksum(), wrapped.checksum());
                assert_eq!(read.file_bytes(), bytes.len() as u64);
                assert_eq!(read.to_bytes().unwrap(), bytes);
                Transcipher::new(&eval, &read).unwrap();
            }
        }
    }

    #[test]
    fn keys_of_others_and_damaged_ones_are_refused() {
        let set = Set::named("bgv/toy-255").unwrap();
        let (secret, eval, wrapped) = keys(&set);
        let other = EvalKey::from_bytes(&keys(&set).1).unwrap();
        let bytes = wrapped.to_bytes().unwrap();
        let error = WrappedKey::from_bytes(&bytes, &other).unwrap_err();
        assert!(error.to_string().starts_with("<memory>: "), "{error}");
        let alone = WrappedKey::from_bytes_alone(&bytes).unwrap();
        assert!(Transcipher::new(&other, &alone).is_err());
        let plain = secret.to_bytes(None).unwrap();
        assert!(SecretKey::from_bytes(&eval).is_err() && EvalKey::from_bytes(&plain).is_err());
        assert!(EvalKey::from_bytes(&eval[..eval.len() - 1]).is_err());
        assert!(SecretKey::from_bytes(&plain[1..]).is_err());
        let cancel = Cancel::new();
        cancel.cancel();
        let error = KeySet::generate_bytes(&set, &[], &cancel).unwrap_err();
        assert!(matches!(error, Error::Cancelled), "{error}");
    }
}
