//! Keys and ciphertexts as records of the container (`docs/FORMAT.md`).
//!
//! | kind | tag | index | body |
//! |---|---|---|---|
//! | secret key | 1 | 0 | n residues modulo 5 of f', then of g (0 to 4 for 0, 1, 2, -2, -1), positions in ring layout |
//! | evaluation key | 1 | 0 | seed, 32 bytes |
//! | | 2 | 0, 1, 2, … | polynomials ζ in order of digits: modulo all primes in order |
//! | wrapped key, batch | | | [`bits`]: without a seed, elements modulo the primes of the level |
//!
//! Residues are canonical, in evaluation form and stored form (times 2^52 mod p), bit-packed at the modulus's length. A
//! ciphertext of NTRU has no uniform half, so nothing in these files is expanded from a seed. The seed in an evaluation
//! key lets whoever has the secret key draw the same errors again.

use crate::arithmetic::Arithmetic;
use crate::error::{Error, Result};
use crate::keys::{EvalKey, EvalKeyFile, SecretKey};
use crate::params::Params;
use homaes_scheme::bits::{self, BitScheme, BitSecret};
use homaes_scheme::read::{self, SEED_BYTES};
use homaes_scheme::{FieldError, Record, Records};
use homaes_wire::{Contents, Decoder, Header, Kind, Reader, WireError, packed_len};
use std::io::Read;
use std::sync::Arc;
use zeroize::Zeroizing;

const META: u16 = 1;
const POLYNOMIAL: u16 = 2;

impl<A: Arithmetic> SecretKey<A> {
    fn body_bytes(params: &Params<A>) -> u64 {
        2 * packed_len(params.ring().n(), 3) as u64
    }

    /// Reads a key of `params`.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn read<R: Read>(params: &Arc<Params<A>>, mut r: Reader<R>) -> Result<Self> {
        read::check_set(params.id(), &r)?;
        let id = r.header().key_id();
        let bytes = Self::body_bytes(params);
        let body = Zeroizing::new(read::record::<_, Error>(&mut r, META, 0, bytes)?);
        r.finish()?;
        let mut input = Decoder::new(&body);
        let mut coefficients = || -> Result<Zeroizing<Vec<i64>>> {
            let n = params.ring().n();
            let residues = Zeroizing::new(input.residues("secret key", 5, n)?);
            // 0 … 4 to 0, 1, 2, -2, -1 without a branch: 5 is taken from 3 and 4
            let centred = residues
                .iter()
                .map(|&r| r as i64 - 5 * ((r + 5) >> 3) as i64);
            Ok(Zeroizing::new(centred.collect()))
        };
        let (f_prime, g) = (coefficients()?, coefficients()?);
        input.finish("secret key")?;
        let key = Self::from_coefficients(params, id, &f_prime, &g);
        key.ok_or_else(|| FieldError::new("invertible secret", 0u64, 1).into())
    }
}

impl<A: Arithmetic> EvalKey<A> {
    fn contents(params: &Params<A>) -> Contents {
        let arithmetic = params.arithmetic();
        let parts = arithmetic.key_parts() as u64;
        let start = Contents::default().record(SEED_BYTES);
        start.records(parts, arithmetic.key_part_bytes())
    }

    /// Reads a key of `params`.
    ///
    /// # Errors
    /// Names what is wrong with the file.
    pub fn read<R: Read>(params: &Arc<Params<A>>, mut r: Reader<R>) -> Result<Self> {
        read::check_set(params.id(), &r)?;
        let id = r.header().key_id();
        read::seed(&read::record::<_, Error>(&mut r, META, 0, SEED_BYTES)?)?;
        let arithmetic = params.arithmetic();
        let parts = (0..arithmetic.key_parts()).map(|number| {
            let bytes = arithmetic.key_part_bytes();
            let body = read::record::<_, Error>(&mut r, POLYNOMIAL, number as u64, bytes)?;
            let mut input = Decoder::new(&body);
            let part = arithmetic.take_key_part(number, &mut input)?;
            input.finish("evaluation key")?;
            Ok(part)
        });
        let parts = parts.collect::<Result<_>>()?;
        r.finish()?;
        Ok(Self {
            params: params.clone(),
            id,
            parts,
        })
    }
}

impl<A: Arithmetic> Records for EvalKeyFile<'_, A> {
    fn header(&self) -> Result<Header, WireError> {
        let params = self.secret.params();
        let contents = EvalKey::contents(params);
        params
            .id()
            .header(Kind::EvalKey, self.secret.id(), contents)
    }

    fn record(&self, number: u64) -> Result<Record, WireError> {
        Ok(match number.checked_sub(1) {
            None => Record::new(META, 0, self.seed.to_vec()),
            Some(index) => Record::new(POLYNOMIAL, index, self.part(index as usize)),
        })
    }
}

/// Sizes of the files of a set, without making them: secret, evaluation key, and wrapped key of the largest AES key.
pub(crate) fn file_bytes<A: Arithmetic>(params: &Params<A>) -> [u64; 3] {
    let secret = Contents::default().record(SecretKey::body_bytes(params));
    bits::file_bytes(params, secret, EvalKey::contents(params))
}
