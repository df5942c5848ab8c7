//! What stands in an `.hct` or `.hlw` file beside the ciphertexts: what they are the encryption of, and how they came about.
//!
//! ```text
//! tag 1, index 0   mode (text) ‖ layout (text) ‖ AES key bits (2) ‖ level (2) ‖ message bytes (8) ‖ AES blocks (8)
//!                  ‖ blocks per batch (8) ‖ iv or nonce (sized) ‖ GCM tag (sized) ‖ associated data (sized)
//! tag 4, index 0   in an `.hlw` file only: the end of the bridge, as in its key
//! tag 2, index i   the ciphertexts of batch i, in the scheme's encoding
//! tag 3, index 0   per step of AES: level (2) ‖ noise bits (8) ‖ capacity bits (8) ‖ seconds (8); empty without batches
//! ```

use crate::batch::Split;
use crate::message::{MAX_AAD_BYTES, Public};
use crate::scheme::Shape;
use crate::{Quality, Step};
use homaes_aes::{Block, KeySize, Layout, Mode};
use homaes_wire::{Decoder, Encoder, WireError};
use sha2::{Digest, Sha256};

/// Tag of the first record.
pub(crate) const TAG_META: u16 = 1;

/// Tag of a batch.
pub(crate) const TAG_BATCH: u16 = 2;

/// Tag of the last record.
pub(crate) const TAG_STEPS: u16 = 3;

/// Tag of the second record of LWE ciphertexts under the key of a user: which user's.
pub(crate) const TAG_TARGET: u16 = 4;

/// Longest first record that is read.
pub(crate) const MAX_META_BYTES: u64 = 256 + MAX_AAD_BYTES as u64;

/// Longest text in the record.
const MAX_TEXT_BYTES: usize = 32;

/// Length of one step in the last record.
const STEP_BYTES: u64 = 26;

/// Records beside the batches.
const FRAME_RECORDS: u64 = 2;

/// What an `.hct` file says about its message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Meta {
    /// The mode with its public parameters.
    pub mode: Mode,
    /// The tag of a GCM message; `None` for other modes.
    pub tag: Option<Block>,
    /// The associated data of a GCM message; empty for other modes.
    pub aad: Vec<u8>,
    /// Size of the AES key.
    pub key_size: KeySize,
    /// Where the bytes lie in the ciphertexts.
    pub layout: Layout,
    /// Level of the ciphertexts, at least 1: one more than the multiplications left, if the scheme has levels.
    pub level: usize,
    /// Length of the message, and how it is cut.
    pub split: Split,
}

impl Meta {
    pub(crate) fn new(
        public: &Public,
        key_size: KeySize,
        (layout, level): (Layout, usize),
        split: Split,
    ) -> Self {
        Self {
            mode: public.mode,
            tag: public.tag,
            aad: public.aad.clone(),
            key_size,
            layout,
            level,
            split,
        }
    }

    /// SHA-256 of the associated data, as `sha256sum` prints it.
    #[must_use]
    pub fn aad_sha256(&self) -> [u8; 32] {
        sha256(&self.aad)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let bits = self.key_size.key_bytes() as u16 * 8;
        Encoder::new()
            .str(self.mode.name())
            .str(self.layout.name())
            .u16(bits)
            .u16(self.level as u16)
            .u64(self.split.bytes)
            .u64(self.split.blocks())
            .u64(self.split.blocks_per_batch)
            .sized_bytes(self.mode.iv())
            .sized_bytes(self.tag.as_ref().map_or(&[][..], |tag| tag))
            .sized_bytes(&self.aad)
            .finish()
    }

    /// Reads the body; `records` is the number of records of the file, this one included.
    pub(crate) fn decode(body: &[u8], records: u64) -> Result<Self, WireError> {
        let mut decoder = Decoder::new(body);
        let mode_name = decoder.str("mode", MAX_TEXT_BYTES)?;
        let layout = decoder.str("layout", MAX_TEXT_BYTES)?;
        let layout = Layout::from_name(layout);
        let layout = layout.ok_or_else(|| malformed("layout", "packed, sliced or bits"))?;
        let bits = usize::from(decoder.u16("AES key bits")?);
        let mut sizes = KeySize::ALL.into_iter();
        let key_size = sizes.find(|size| size.key_bytes() * 8 == bits);
        let key_size = key_size.ok_or_else(|| malformed("AES key bits", "128, 192 or 256"))?;
        let level = usize::from(decoder.u16("level")?);
        if level == 0 {
            return Err(malformed("level", "at least 1"));
        }
        let split = split(&mut decoder, records)?;
        let public = public(mode_name, split.bytes, &mut decoder)?;
        decoder.finish("message record")?;
        Ok(Self::new(&public, key_size, (layout, level), split))
    }

    /// What batch `index` looks like.
    pub(crate) fn shape(&self, index: u64) -> Shape {
        Shape {
            layout: self.layout,
            level: self.level,
            blocks: self.split.batch_blocks(index) as usize,
        }
    }

    /// Steps of AES that the last record tells of.
    fn steps(&self) -> u64 {
        match self.split.batches() {
            0 => 0,
            _ => self.key_size.round_keys() as u64,
        }
    }

    /// Length of the last record.
    pub(crate) fn steps_bytes(&self) -> u64 {
        STEP_BYTES * self.steps()
    }

    /// Reads the last record.
    pub(crate) fn decode_steps(&self, body: &[u8]) -> Result<Vec<Step>, WireError> {
        let mut decoder = Decoder::new(body);
        let steps = (0..self.steps()).map(|_| {
            let level = decoder.u16("level of a step")?.into();
            let noise_bits = decoder.f64("noise bits of a step")?;
            let capacity_bits = decoder.f64("capacity bits of a step")?;
            let seconds = decoder.f64("seconds of a step")?;
            if seconds.is_sign_negative() {
                return Err(malformed("seconds of a step", "a time"));
            }
            let quality = Quality {
                level,
                noise_bits,
                capacity_bits,
            };
            Ok(Step { seconds, quality })
        });
        let steps = steps.collect::<Result<_, _>>()?;
        decoder.finish("record of steps")?;
        Ok(steps)
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The body of the last record; `timed`: with the seconds that the steps took, which are others in every run.
pub(crate) fn encode_steps(steps: &[Step], timed: bool) -> Vec<u8> {
    let add = |body: Encoder, step: &Step| {
        body.u16(step.quality.level as u16)
            .noise(step.quality.noise_bits)
            .noise_left(step.quality.capacity_bits)
            .f64(if timed { step.seconds } else { 0.0 })
    };
    steps.iter().fold(Encoder::new(), add).finish()
}

fn malformed(what: &'static str, expected: &'static str) -> WireError {
    WireError::Malformed { what, expected }
}

/// How the message is cut, which must fit the number of records.
fn split(decoder: &mut Decoder<'_>, records: u64) -> Result<Split, WireError> {
    let bytes = decoder.u64("message bytes")?;
    let blocks = decoder.u64("AES blocks")?;
    let blocks_per_batch = decoder.u64("blocks per batch")?;
    let split = Split {
        bytes,
        blocks_per_batch,
    };
    if blocks_per_batch == 0 || blocks != split.blocks() {
        return Err(malformed("AES blocks", "as many as the message fills"));
    }
    let expected = split.batches().saturating_add(FRAME_RECORDS);
    if records != expected {
        return Err(WireError::RecordCount {
            found: records,
            expected,
        });
    }
    Ok(split)
}

/// The mode called `name`, with the parameters and the length that go with it.
fn public(name: &str, bytes: u64, decoder: &mut Decoder<'_>) -> Result<Public, WireError> {
    let iv = decoder.sized_bytes("iv", MAX_TEXT_BYTES)?;
    let tag = decoder.sized_bytes("tag", MAX_TEXT_BYTES)?;
    let aad = decoder.sized_bytes("associated data", MAX_AAD_BYTES)?;
    let block = Block::try_from(iv).map_err(|_| malformed("iv", "16 bytes"));
    let mode = match name {
        "ecb" if iv.is_empty() => Mode::Ecb,
        "ecb" => return Err(malformed("iv", "none in mode ecb")),
        "gcm" => {
            let nonce = iv.try_into().map_err(|_| malformed("iv", "12 bytes"))?;
            Mode::Gcm { nonce }
        }
        _ => {
            let named = Mode::with_iv(name, *block.as_ref().unwrap_or(&[0; 16]));
            let expected = "ecb, cbc, cfb, ctr, gcm, ctr64, ctr32, ctr-le, ctr64-le or ctr32-le";
            let named = named.ok_or_else(|| malformed("mode", expected))?;
            block?;
            named
        }
    };
    let gcm = matches!(mode, Mode::Gcm { .. });
    let tag = match (gcm, Block::try_from(tag)) {
        (true, Ok(tag)) => Some(tag),
        (false, Err(_)) if tag.is_empty() && aad.is_empty() => None,
        (true, Err(_)) => return Err(malformed("tag", "16 bytes")),
        (false, _) => {
            return Err(malformed(
                "tag",
                "no tag and associated data but in mode gcm",
            ));
        }
    };
    if (mode.whole_blocks() && !bytes.is_multiple_of(16)) || bytes > mode.most_bytes() {
        return Err(malformed("message bytes", "a length that its mode allows"));
    }
    let aad = aad.to_vec();
    Ok(Public { mode, tag, aad })
}

#[cfg(test)]
mod tests {
    use super::*;
    use homaes_aes::Counter;
    use homaes_aes::mode::MAX_GCM_BYTES;

    fn meta(mode: Mode, bytes: u64, blocks_per_batch: u64) -> Meta {
        let gcm = matches!(mode, Mode::Gcm { .. });
        let public = Public {
            mode,
            tag: gcm.then_some([7; 16]),
            aad: if gcm { vec![1, 2, 3] } else { Vec::new() },
        };
        let split = Split {
            bytes,
            blocks_per_batch,
        };
        Meta::new(&public, KeySize::Aes192, (Layout::Sliced, 3), split)
    }

    fn modes() -> [Mode; 6] {
        let iv = [5; 16];
        let nonce = [6; 12];
        let counter = Counter::Little32;
        [
            Mode::Ecb,
            Mode::Cbc { iv },
            Mode::Ctr { iv },
            Mode::Gcm { nonce },
            Mode::Cfb { iv },
            Mode::Counter { iv, counter },
        ]
    }

    #[test]
    fn records_round_trip() {
        for (mode, lengths) in modes().into_iter().zip([
            &[0, 16, 32768][..],
            &[0, 16, 1 << 40],
            &[0, 1, 16, 17, u64::MAX],
            &[0, 1, 17, MAX_GCM_BYTES],
            &[0, 1, 17],
            &[0, 1, 17, 1 << 36],
        ]) {
            for &bytes in lengths {
                let meta = meta(mode, bytes, 16);
                let body = meta.encode();
                assert!(body.len() as u64 <= MAX_META_BYTES);
                let records = meta.split.batches() + 2;
                assert_eq!(Meta::decode(&body, records).unwrap(), meta);
                assert!(Meta::decode(&body, records + 1).is_err());
            }
        }
        let mut longest = meta(modes()[3], 1, 16);
        longest.aad = vec![0; MAX_AAD_BYTES];
        assert!(longest.encode().len() as u64 <= MAX_META_BYTES);
    }

    #[test]
    fn every_byte_counts_and_none_panics() {
        for mode in modes() {
            let good = meta(mode, 1024, 16);
            let body = good.encode();
            for at in 0..body.len() {
                assert!(Meta::decode(&body[..at], 6).is_err());
                for value in 0..=255 {
                    let mut bad = body.clone();
                    bad[at] = value;
                    if let Ok(read) = Meta::decode(&bad, 6) {
                        assert_eq!(read.encode(), bad);
                    }
                }
            }
        }
        let error = Meta::decode(&meta(modes()[2], 1, 0).encode()[..], 2).unwrap_err();
        assert_eq!(
            error.to_string(),
            "AES blocks is malformed, expected as many as the message fills"
        );
    }

    #[test]
    fn lengths_and_parameters_must_fit_the_mode() {
        let decode = |meta: &Meta| Meta::decode(&meta.encode(), meta.split.batches() + 2);
        let [ecb, cbc, ctr, gcm, cfb, counter] = modes();
        for (mode, bytes) in [
            (ecb, 17),
            (cbc, 15),
            (gcm, MAX_GCM_BYTES + 1),
            (counter, (1 << 36) + 1),
        ] {
            let error = decode(&meta(mode, bytes, 16)).unwrap_err();
            assert!(error.to_string().contains("a length that its mode allows"));
        }
        for mode in [ecb, cbc, ctr, cfb] {
            let tagged = Meta {
                tag: Some([0; 16]),
                ..meta(mode, 16, 16)
            };
            let with_aad = Meta {
                aad: vec![0],
                ..meta(mode, 16, 16)
            };
            assert!(decode(&tagged).is_err() && decode(&with_aad).is_err());
        }
        let untagged = Meta {
            tag: None,
            ..meta(gcm, 16, 16)
        };
        assert!(decode(&untagged).is_err());
    }

    #[test]
    fn steps_round_trip() {
        let quality = Quality {
            level: 4,
            noise_bits: -3.5,
            capacity_bits: 99.25,
        };
        let step = Step {
            seconds: 0.125,
            quality,
        };
        let full = meta(modes()[2], 17, 16);
        let body = encode_steps(&[step; 13], true);
        assert_eq!(body.len() as u64, full.steps_bytes());
        assert_eq!(full.decode_steps(&body).unwrap(), [step; 13]);
        let seconds = 0.0;
        let untimed = full.decode_steps(&encode_steps(&[step; 13], false));
        assert_eq!(untimed.unwrap(), [Step { seconds, ..step }; 13]);
        assert!(full.decode_steps(&body[1..]).is_err());
        assert!(full.decode_steps(&encode_steps(&[step; 14], true)).is_err());
        for seconds in [-1.0, f64::NAN, f64::INFINITY] {
            let mut steps = [step; 13];
            steps[2].seconds = seconds;
            assert!(full.decode_steps(&encode_steps(&steps, true)).is_err());
        }
        let empty = meta(modes()[2], 0, 16);
        assert_eq!(empty.steps_bytes(), 0);
        assert_eq!(empty.decode_steps(&[]).unwrap(), []);
    }
}
