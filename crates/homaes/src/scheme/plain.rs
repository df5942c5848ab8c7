//! AES in the clear behind the traits of a scheme; it protects nothing. An example of a new scheme, and the simplest
//! test of the code above the schemes.

use homaes_aes::clear::trace;
use homaes_aes::state::xor;
use homaes_aes::{Block, Direction, Layout, RoundKeys};
use homaes_scheme::traits::{
    Circuit, EvalKey, Finished, Input, Params, Result, SchemeEntry, SecretKey, Shape, WrappedFile,
    WrappedKey, own,
};
use homaes_scheme::{
    Cancel, Decrypted, FieldError, Gpus, Quality, Record, Records, SchemeError, SetCard, SetId,
    SetName, WrapOptions, WrappedKeyInfo, mismatch, read,
};
use homaes_wire::{Contents, Decoder, Encoder, Header, KeyId, Kind, WireError};
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;
use std::any::Any;
use std::sync::Arc;

/// The digest stands for the missing numbers: schemes with numbers use `homaes_scheme::DigestBuilder`.
const SET: SetId<'_> = SetId::new("plain/toy", &[7; 32]);
const QUALITY: Quality = Quality::new(1, 0.0, 64.0);

struct Plain;

/// A wrapped key holds size, direction and AES key, an evaluation key its seed, a secret key nothing.
struct Key(Header, Vec<u8>);

impl Key {
    fn new(kind: Kind, id: KeyId, body: Vec<u8>) -> Result<Box<Self>> {
        let contents = Contents::default().record(body.len() as u64);
        Ok(Box::new(Self(SET.header(kind, id, contents)?, body)))
    }

    fn read(mut file: Input<'_>) -> Result<Self> {
        read::check_set(SET, &file)?;
        let key = Self(file.header().clone(), file.next_record(1, 64)?);
        file.finish()?;
        if key.0.kind() == Kind::WrappedKey {
            key.cipher()?;
        }
        Ok(key)
    }

    fn cipher(&self) -> Result<(Direction, RoundKeys)> {
        let (size, direction) = read::take_cipher::<SchemeError>(&mut Decoder::new(&self.1))?;
        let error = FieldError::new("bytes", self.1.len() as u64, 3 + size.key_bytes() as u64);
        let keys = RoundKeys::expand(&self.1[3..]).map_err(|_| error)?;
        Ok((direction, keys))
    }
}

impl Records for Key {
    fn header(&self) -> Result<Header, WireError> {
        Ok(self.0.clone())
    }

    fn record(&self, _: u64) -> Result<Record, WireError> {
        Ok(Record::new(1, 0, self.1.clone()))
    }
}

pub(super) static SCHEME: SchemeEntry = SchemeEntry::new(
    "plain",
    || vec![SET.name],
    |name| (name == SET.name).then(|| Ok(Arc::new(Plain) as _)),
);

impl Params for Plain {
    fn card(&self) -> SetCard {
        let bytes = |kind, body| {
            let key = Key::new(kind, KeyId([0; 16]), vec![0; body]);
            key.map_or(0, |key| key.0.file_bytes())
        };
        SetCard {
            secret_key_bytes: bytes(Kind::SecretKey, 0),
            eval_key_bytes: bytes(Kind::EvalKey, 32),
            wrapped_key_bytes: bytes(Kind::WrappedKey, 3 + 32),
            ciphertext_bytes_per_batch: 16,
            ..SetCard::new(SetName::from_static(SET.name))
        }
    }

    fn digest(&self) -> &[u8; 32] {
        SET.digest
    }

    fn blocks_per_batch(&self, _: Layout) -> u64 {
        1
    }

    fn batch_bytes(&self, shape: Shape) -> u64 {
        16 * shape.blocks as u64
    }

    fn read_batch(&self, _: KeyId, _: Shape, body: &[u8]) -> Result<(Box<dyn Any>, Quality)> {
        Ok((Box::new(body.as_chunks::<16>().0.to_vec()), QUALITY))
    }

    fn generate(
        self: Arc<Self>,
        rng: &mut ChaCha20Rng,
        _: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Box<dyn SecretKey>> {
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        Ok(Key::new(Kind::SecretKey, KeyId(id), Vec::new())?)
    }

    fn read_secret(self: Arc<Self>, file: Input<'_>) -> Result<Box<dyn SecretKey>> {
        Ok(Box::new(Key::read(file)?))
    }

    fn read_eval(self: Arc<Self>, file: Input<'_>) -> Result<Box<dyn EvalKey>> {
        Ok(Box::new(Key::read(file)?))
    }

    fn read_wrapped(self: Arc<Self>, file: Input<'_>) -> Result<Box<dyn WrappedKey>> {
        Ok(Box::new(Key::read(file)?))
    }
}

impl SecretKey for Key {
    fn decrypt(&self, state: &dyn Any) -> Result<Decrypted> {
        let blocks: &Vec<Block> = own(state);
        let (blocks, margin_bits) = (blocks.clone().into(), QUALITY.capacity_bits);
        Ok(Decrypted {
            blocks,
            margin_bits,
        })
    }

    fn measure_noise(&self, _: &dyn Any) -> Result<f64> {
        Ok(QUALITY.noise_bits)
    }

    fn eval_file(&self, seed: [u8; 32], _: &[Layout]) -> Result<Box<dyn Records + '_>> {
        Ok(Key::new(Kind::EvalKey, self.0.key_id(), seed.to_vec())?)
    }

    fn wrap_file<'s>(
        &'s self,
        keys: &RoundKeys,
        wrapping: &WrapOptions,
        _: &mut ChaCha20Rng,
    ) -> Result<Box<dyn WrappedFile + 's>> {
        wrapping.without_levels(SET.name)?;
        wrapping.client_expands(SET.name)?;
        let body = read::put_cipher(Encoder::new(), keys.size(), wrapping.direction);
        let body = body.bytes(&keys.as_slice().as_flattened()[..keys.size().key_bytes()]);
        Ok(Key::new(Kind::WrappedKey, self.0.key_id(), body.finish())?)
    }
}

impl WrappedFile for Key {
    fn describe(&self) -> WrappedKeyInfo {
        let (direction, keys) = self.cipher().expect("made or checked here");
        WrappedKeyInfo::expanded(keys.size(), direction, vec![(Layout::Sliced, 1)])
    }
}

impl EvalKey for Key {
    fn circuit<'k>(
        &'k self,
        wrapped: &'k dyn WrappedKey,
        _: Layout,
        _: Gpus<'k>,
        _: &Cancel,
    ) -> Option<Result<Box<dyn Circuit + 'k>>> {
        let wrapped: &dyn Any = wrapped;
        let wrapped: &Self = wrapped.downcast_ref()?;
        let [found, expected] = [wrapped, self].map(|key| (SET, key.0.key_id()));
        let fits = mismatch::check("wrapped key", found, expected);
        Some(fits.map(|()| Box::new(wrapped) as _).map_err(Into::into))
    }
}

impl Circuit for &Key {
    fn run(
        &self,
        input: &[Block],
        mask: &[Block],
        cancel: &Cancel,
        step: &mut dyn FnMut(usize, Quality, &dyn Any),
    ) -> Result<Finished<'_>> {
        cancel.check()?;
        let (direction, keys) = self.cipher()?;
        let traces: Vec<_> = input.iter().map(|&x| trace(direction, x, &keys)).collect();
        let mut blocks = Vec::new();
        for round in 0..=keys.size().rounds() {
            blocks = traces.iter().map(|states| states[round]).collect();
            step(round, QUALITY, &blocks);
        }
        let mask = mask.iter().chain(std::iter::repeat(&[0; 16]));
        let blocks = blocks.iter().zip(mask).map(|(x, mask)| xor(x, mask));
        let (record, quality) = (blocks.collect::<Vec<_>>().into_flattened(), QUALITY);
        Ok(Finished::one(record, quality))
    }
}
