//! A message encrypted by the crates `aes` and `ctr`: the input of demonstrations and benchmarks.

use crate::console::{Failure, fail};
use crate::scratch::Scratch;
use aes::{Aes128, Aes192, Aes256};
use ctr::cipher::consts::U16;
use ctr::cipher::{Array, BlockCipherEncrypt, BlockSizeUser, InnerIvInit, KeyInit, StreamCipher};
use homaes::{AesFile, Direction, KeySize, Mode};

pub(crate) const AES_FILE: &str = "message.aes";

/// A message with the key and mode that encrypt it: CTR, or ECB for the decrypting direction.
pub(crate) struct Sample {
    pub(crate) key: Vec<u8>,
    pub(crate) mode: Mode,
    pub(crate) message: Vec<u8>,
}

impl Sample {
    /// A fresh key and IV for `message`, which has whole blocks in the decrypting direction.
    pub(crate) fn new(
        message: Vec<u8>,
        size: KeySize,
        direction: Direction,
    ) -> Result<Self, Failure> {
        let (mut key, mut iv) = (vec![0; size.key_bytes()], [0; 16]);
        random(&mut key)?;
        random(&mut iv)?;
        let mode = match direction {
            Direction::Encrypt => Mode::Ctr { iv },
            Direction::Decrypt => Mode::Ecb,
        };
        Ok(Self { key, mode, message })
    }

    pub(crate) fn random(
        bytes: usize,
        size: KeySize,
        direction: Direction,
    ) -> Result<Self, Failure> {
        let mut message = vec![0; bytes];
        random(&mut message)?;
        Self::new(message, size, direction)
    }

    pub(crate) fn front(&self, bytes: usize) -> Self {
        Self {
            key: self.key.clone(),
            message: self.message[..bytes].to_vec(),
            ..*self
        }
    }

    pub(crate) fn file(&self, scratch: &Scratch) -> Result<AesFile, Failure> {
        let path = scratch.write(AES_FILE, &self.ciphertext())?;
        Ok(AesFile::open(path, self.mode)?)
    }

    pub(crate) fn check(&self, decrypted: &[u8]) -> Result<(), Failure> {
        let message = "the results decrypt to wrong blocks; please report this";
        match decrypted == self.message {
            true => Ok(()),
            false => fail(message),
        }
    }

    fn ciphertext(&self) -> Vec<u8> {
        match self.key.len() {
            16 => self.encrypted::<Aes128>(),
            24 => self.encrypted::<Aes192>(),
            _ => self.encrypted::<Aes256>(),
        }
    }

    fn encrypted<C>(&self) -> Vec<u8>
    where
        C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + KeyInit,
    {
        let cipher = C::new_from_slice(&self.key).expect("the key has the length of its size");
        let mut bytes = self.message.clone();
        if let Mode::Ctr { iv } = self.mode {
            let core = ctr::CtrCore::<C, ctr::flavors::Ctr128BE>::inner_iv_init(cipher, &iv.into());
            ctr::cipher::StreamCipherCoreWrapper::from_core(core).apply_keystream(&mut bytes);
        } else {
            let (blocks, _) = Array::slice_as_chunks_mut(&mut bytes);
            cipher.encrypt_blocks(blocks);
        }
        bytes
    }
}

pub(crate) fn random(bytes: &mut [u8]) -> Result<(), Failure> {
    getrandom::fill(bytes).map_err(|error| Failure::system("random source", error))
}
