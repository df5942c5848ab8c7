//! TFHE: bootstrapped, so without levels, and with the blocks of a batch side by side, so that nothing is filled up.

use super::traits::{self, *};
use homaes_tfhe::{Aes, EvalKeyFile, Params, State, sets};

/// The scheme.
pub(super) struct This;

impl SchemeEntry for This {
    fn name(&self) -> &'static str {
        "tfhe"
    }

    fn variants(&self) -> &'static [Variant] {
        &[
            Variant {
                name: "bits",
                about: "bit by bit, with circuit bootstrapping",
                default_set: "tfhe/p64",
            },
            Variant {
                name: "nibble",
                about: "digit by digit, with trees of tables",
                default_set: "tfhe/nibble128",
            },
        ]
    }

    fn sets(&self) -> Vec<&'static str> {
        sets::ALL.iter().map(|set| set.name.as_str()).collect()
    }

    fn params(&self, name: &str) -> Option<Result<Arc<dyn traits::Params>, ParamsError>> {
        let params = Params::new(sets::by_name(name)?);
        Some(params.map(|p| p as _).map_err(ParamsError::of))
    }

    fn noise_terms(&self) -> NoiseTerms {
        NoiseTerms {
            noise: "noise",
            meaning: "noise: log2 of its standard deviation, in units of 2^-64 of the torus; noise left: log2 of the distance at which a\nbit or digit decrypts wrongly over that deviation.",
        }
    }

    fn reference_op(&self) -> ReferenceOp {
        ReferenceOp::Bootstrap
    }

    fn blocks_to_show(&self) -> Option<u64> {
        Some(1)
    }

    fn memory_of_key(&self, kind: Kind, file_bytes: u64) -> u64 {
        match kind {
            // spectra of both halves; measured: 3.0
            Kind::EvalKey => file_bytes.saturating_mul(2),
            _ => file_bytes,
        }
    }
}

impl traits::Params for Params {
    fn card(&self) -> SetCard {
        self.card()
    }

    fn digest(&self) -> &[u8; 32] {
        self.digest()
    }

    fn layouts(&self) -> &'static [Layout] {
        self.layouts()
    }

    /// A batch that has fewer costs less and takes less space.
    fn blocks_per_batch(&self, _: Layout) -> u64 {
        self.blocks_per_batch() as u64
    }

    fn levels_left(&self, layout: Layout, size: KeySize) -> Option<usize> {
        self.levels_left(layout, size)
    }

    fn batch_bytes(&self, shape: Shape) -> u64 {
        homaes_tfhe::batch_bytes(self, shape.blocks)
    }

    fn read_batch(&self, key: KeyId, shape: Shape, body: &[u8]) -> Result<Box<dyn Any>> {
        Ok(Box::new(decode(self, Some(key), shape, body)?))
    }

    fn batch_quality(&self, shape: Shape, body: &[u8]) -> Result<Quality> {
        Ok(quality(self, &decode(self, None, shape, body)?))
    }

    /// Digits of base 16 have no form: no program computes with them.
    fn values(&self) -> Option<&dyn ValueCodec> {
        (self.layouts() == [Layout::Bits]).then_some(self)
    }

    fn generate(
        self: Arc<Self>,
        rng: &mut ChaCha20Rng,
        _: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Box<dyn SecretKey>> {
        Ok(Box::new(homaes_tfhe::SecretKey::generate(&self, rng)?))
    }

    readers!(
        homaes_tfhe::SecretKey::read,
        homaes_tfhe::EvalKey::read,
        homaes_tfhe::WrappedKey::read
    );

    fn describe_wrapped(self: Arc<Self>, file: Input<'_>) -> Result<WrappedKeyInfo> {
        Ok(homaes_tfhe::WrappedKey::describe_file(&self, file)?)
    }
}

fn decode(
    params: &Params,
    key: Option<KeyId>,
    shape: Shape,
    body: &[u8],
) -> homaes_tfhe::Result<State> {
    homaes_tfhe::decode_batch(params, key, shape.blocks, body)
}

/// The worst of a state's ciphertexts.
fn quality(params: &Params, state: &State) -> Quality {
    Quality::new(
        state.level(),
        state.noise_bits(),
        state.capacity_bits(params),
    )
}

/// The state in the record of a value, which is as long as its blocks.
fn decode_value(params: &Params, key: Option<KeyId>, body: &[u8]) -> homaes_tfhe::Result<State> {
    let bytes = |blocks| homaes_tfhe::batch_bytes(params, blocks);
    let block = bytes(1) - bytes(0);
    let blocks = (body.len() as u64).saturating_sub(bytes(0)) / block;
    homaes_tfhe::decode_batch(params, key, blocks.max(1) as usize, body)
}

impl ValueCodec for Params {
    fn form(&self) -> &'static str {
        "tfhe bits"
    }

    fn most_bytes(&self) -> u64 {
        homaes_tfhe::batch_bytes(self, self.blocks_per_batch())
    }

    fn encode(&self, key: KeyId, ciphertext: &dyn Any) -> Option<Result<Vec<u8>>> {
        let state: &State = ciphertext.downcast_ref()?;
        let record = state.check(self, key);
        let record = record.and_then(|()| homaes_tfhe::encode_batch(self, state));
        Some(record.map_err(SchemeError::from))
    }

    fn held(&self, body: &[u8]) -> Result<usize> {
        Ok(16 * decode_value(self, None, body)?.blocks())
    }

    fn decrypt(&self, key: &dyn SecretKey, body: &[u8]) -> Result<(Vec<u8>, f64)> {
        let key: &dyn Any = key;
        let key: &homaes_tfhe::SecretKey = key.downcast_ref().expect("a key of this scheme");
        let state = decode_value(self, Some(key.id()), body)?;
        let decrypted = key.decrypt_blocks(&state)?;
        let bytes = decrypted.blocks.as_flattened().to_vec();
        Ok((bytes, decrypted.margin_bits))
    }
}

impl SecretKey for homaes_tfhe::SecretKey {
    fn decrypt(&self, state: &dyn Any) -> Result<Decrypted> {
        let state: &State = state.downcast_ref().expect("a state of this scheme");
        Ok(self.decrypt_blocks(state)?)
    }

    fn measure_noise(&self, state: &dyn Any) -> Result<f64> {
        let state: &State = state.downcast_ref().expect("a state of this scheme");
        Ok(homaes_tfhe::SecretKey::measure_noise(self, state)?)
    }

    fn eval_file(&self, seed: [u8; 32]) -> Result<Box<dyn Records + '_>> {
        Ok(Box::new(EvalKeyFile::of_seed(self, seed)))
    }

    /// It is small.
    fn wrap_file(
        &self,
        keys: &RoundKeys,
        wrapping: &WrapOptions,
        rng: &mut ChaCha20Rng,
    ) -> Result<Box<dyn WrappedFile + '_>> {
        Ok(Box::new(wrapped(self, keys, wrapping, rng)?))
    }
}

/// An AES key under FHE; unless the client is to expand it, the server will.
fn wrapped(
    secret: &homaes_tfhe::SecretKey,
    keys: &RoundKeys,
    wrapping: &WrapOptions,
    rng: &mut ChaCha20Rng,
) -> Result<homaes_tfhe::WrappedKey> {
    let set = secret.params().set().name.as_str();
    wrapping.without_levels(set)?;
    let wrapping = homaes_tfhe::WrapOptions {
        direction: wrapping.direction,
        expansion: wrapping.expansion.unwrap_or_default(),
    };
    let wrapped = homaes_tfhe::WrappedKey::encrypt(secret, keys, wrapping, rng)?;
    Ok(wrapped)
}

impl EvalKey for homaes_tfhe::EvalKey {
    /// May take seconds: the key is expanded under encryption if the client did not.
    fn circuit<'k>(
        &'k self,
        wrapped: &'k dyn WrappedKey,
        _: Layout,
        _: Gpus<'k>,
        cancel: &Cancel,
    ) -> Option<Result<Box<dyn Circuit + 'k>>> {
        let wrapped: &dyn Any = wrapped;
        let aes = Aes::new_until(self, wrapped.downcast_ref()?, cancel);
        let params: &Params = self.params();
        Some(match aes {
            Ok(aes) => Ok(Box::new(Running { params, aes })),
            Err(error) => Err(error.into()),
        })
    }
}

impl WrappedFile for homaes_tfhe::WrappedKey {
    fn describe(&self) -> WrappedKeyInfo {
        self.describe()
    }
}

impl WrappedKey for homaes_tfhe::WrappedKey {}

/// AES under one wrapped key.
struct Running<'k> {
    params: &'k Params,
    aes: Aes<'k>,
}

impl Circuit for Running<'_> {
    fn run(
        &self,
        input: &[Block],
        mask: &[Block],
        cancel: &Cancel,
        step: &mut dyn FnMut(usize, Quality, &dyn Any),
    ) -> Result<Finished<'_>> {
        let observe = |round, state: &State| step(round, quality(self.params, state), state);
        let mut state = self.aes.evaluate_until(input, cancel, observe)?;
        if !mask.is_empty() {
            self.aes.xor_public_until(&mut state, mask, cancel)?;
        }
        Ok(Finished::one(homaes_tfhe::encode_batch(self.params, &state)?, quality(self.params, &state)))
    }

    fn meter(&self) -> Reading {
        self.aes.meter()
    }
}

impl From<homaes_tfhe::Error> for SchemeError {
    fn from(error: homaes_tfhe::Error) -> Self {
        Self::of(error)
    }
}
