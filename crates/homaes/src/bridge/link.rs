//! Link keys: secrets that a bridge leads to, from which the user of a CKKS library makes a key to their own.
//!
//! The file is one line of JSON, because programs in other languages read it: docs/FORMAT.md.

use super::{BridgeKey, no_bridge};
use crate::keys::random;
use crate::output::LINK_KEY;
use crate::{Error, Output, Result, SecretKey, Set};
use homaes_bridge::{Other, Target};
use homaes_wire::{KeyId, hex, pack_bits};
use rand_core::Rng;
use std::fmt::Write as _;
use std::io::Write as _;
use zeroize::{Zeroize, Zeroizing};

/// A binary key of its own for one bridge, of as many bits as the subring has coefficients. Secret: with the bridge key
/// it reveals the BGV secret key.
pub struct LinkKey {
    id: KeyId,
    set: Set,
    bits: Zeroizing<Vec<u64>>,
}

homaes_wire::debug_fields!(LinkKey, id, set);

impl LinkKey {
    /// Draws a key for bridges from `set`.
    ///
    /// # Errors
    /// [`Error::Keys`] if the set has no bridges; [`Error::Random`].
    pub fn generate(set: &Set) -> Result<Self> {
        let params = set.params_of::<homaes_bgv::Params>();
        let ring = params.and_then(|params| params.bridge_ring());
        let ring = ring.ok_or_else(|| Error::keys(no_bridge(set)))?;
        let mut rng = random::generator()?;
        let mut bits = Zeroizing::new(vec![0; ring.n()]);
        for word in bits.chunks_mut(64) {
            let mut random = rng.next_u64();
            for bit in word {
                *bit = random & 1;
                random >>= 1;
            }
            random.zeroize();
        }
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        Ok(Self {
            id: KeyId(id),
            set: set.clone(),
            bits,
        })
    }

    /// Identifies the key, and results under it.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Writes the key; `output`, which is left to commit, should be [`private`](Output::private).
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(&self, output: &mut Output) -> Result<()> {
        let mut packed = Zeroizing::new(Vec::with_capacity(16 + self.bits.len().div_ceil(8)));
        packed.extend_from_slice(&self.id.0);
        pack_bits(&self.bits, 1, &mut packed);
        let sum = crate::input::part_meta::sha256(&packed);
        let mut line = Zeroizing::new(String::with_capacity(512 + 2 * packed.len()));
        let (id, set, dimension) = (hex(&self.id.0), self.set.name(), self.bits.len());
        line.push_str(LINK_KEY);
        // writing to a string does not fail
        let _ = write!(
            line,
            ",\"version\":1,\"id\":\"{id}\",\"set\":\"{set}\",\"dimension\":{dimension},\"bits\":\""
        );
        for byte in &packed[16..] {
            for digit in [byte >> 4, byte & 15] {
                line.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
            }
        }
        let _ = writeln!(line, "\",\"sha256\":\"{}\"}}", hex(&sum));
        let path = output.path().to_owned();
        let written = output.write_all(line.as_bytes());
        written.map_err(|source| Error::io(&path, source))
    }
}

impl BridgeKey {
    /// Leads from `secret`, of a BGV set with enough multiplications left on bytes after AES, to `link`: bytes modulo
    /// 2^8 or 2^11, `log2_t`. 8 takes eight multiplications, 11 eleven.
    ///
    /// # Errors
    /// [`Error::Keys`] if the set leaves fewer, or for another modulus; `ErrorKind::UnfitKey`, [`Error::Random`].
    pub fn to_link(secret: &SecretKey, link: &LinkKey, log2_t: u32) -> Result<Self> {
        let target = Target {
            id: link.id,
            other: Other::Link { log2_t },
        };
        Self::with(secret, |own, rng| {
            homaes_bridge::BridgeKey::generate(own, &link.bits, target, rng)
        })
    }
}

impl Set {
    /// Checks that bridges lead from this BGV set to link keys for bytes modulo 2^`log2_t`.
    ///
    /// # Errors
    /// [`Error::Keys`] if they do not.
    pub fn check_link(&self, log2_t: u32) -> Result<()> {
        let params = self.params_of::<homaes_bgv::Params>();
        let params = params.ok_or_else(|| Error::keys(no_bridge(self)))?;
        homaes_bridge::check_link(&params, log2_t).map_err(Error::keys)
    }
}
