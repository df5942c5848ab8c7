//! A message encrypted with AES-128-CTR by the crates `aes` and `ctr`: the input of demonstrations and benchmarks.

use crate::console::Failure;
use ctr::cipher::{KeyIvInit, StreamCipher};
use homaes::Block;

/// A message and what it is encrypted with.
pub(crate) struct Sample {
    pub(crate) key: [u8; 16],
    pub(crate) iv: Block,
    pub(crate) message: Vec<u8>,
}

impl Sample {
    /// A fresh key and initial counter for `message`.
    pub(crate) fn new(message: Vec<u8>) -> Result<Self, Failure> {
        let (mut key, mut iv) = ([0; 16], [0; 16]);
        random(&mut key)?;
        random(&mut iv)?;
        Ok(Self { key, iv, message })
    }

    /// Random bytes as message.
    pub(crate) fn random(bytes: usize) -> Result<Self, Failure> {
        let mut message = vec![0; bytes];
        random(&mut message)?;
        Self::new(message)
    }

    /// The message under AES-128-CTR.
    pub(crate) fn ciphertext(&self) -> Vec<u8> {
        let mut bytes = self.message.clone();
        ctr::Ctr128BE::<aes::Aes128>::new(&self.key.into(), &self.iv.into())
            .apply_keystream(&mut bytes);
        bytes
    }
}

fn random(bytes: &mut [u8]) -> Result<(), Failure> {
    getrandom::fill(bytes).map_err(|error| Failure::system("random source", error))
}
