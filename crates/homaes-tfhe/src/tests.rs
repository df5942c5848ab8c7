//! Whole circuits, decrypted and compared with AES in the clear.

mod aes;
mod memcheck;
mod programs;
mod reference;
pub(crate) mod trial;
mod vectors;

use crate::{
    BitsSet, EvalKey, NibbleSet, ParamSet, Params, SecretKey, Variant, WrapOptions, WrappedKey,
};
use homaes_aes::RoundKeys;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// The numbers of a set on bits.
pub(crate) fn bits(set: &ParamSet) -> &BitsSet {
    match &set.variant {
        Variant::Bits(set) => set,
        Variant::Nibble(_) => unreachable!(),
    }
}

/// A set with other numbers.
pub(crate) fn changed(
    set: &ParamSet,
    bits: impl Fn(&mut BitsSet),
    nibbles: impl Fn(&mut NibbleSet),
) -> ParamSet {
    let mut set = set.clone();
    match &mut set.variant {
        Variant::Bits(set) => bits(set),
        Variant::Nibble(set) => nibbles(set),
    }
    set
}

pub(crate) struct Keys {
    pub(crate) secret: SecretKey,
    pub(crate) eval: EvalKey,
    pub(crate) rng: ChaCha20Rng,
}

impl Keys {
    pub(crate) fn new(set: &ParamSet, seed: u8) -> Self {
        let mut rng = ChaCha20Rng::from_seed([seed; 32]);
        let params = Params::new(set).unwrap();
        let secret = SecretKey::generate(&params, &mut rng).unwrap();
        let eval = EvalKey::generate(&secret, &mut rng);
        Self { secret, eval, rng }
    }

    /// An AES key and its encryption.
    pub(crate) fn wrap(&mut self, key: &[u8], wrapping: WrapOptions) -> (RoundKeys, WrappedKey) {
        let keys = RoundKeys::expand(key).unwrap();
        let wrapped = WrappedKey::encrypt(&self.secret, &keys, wrapping, &mut self.rng);
        (keys, wrapped.unwrap())
    }
}
