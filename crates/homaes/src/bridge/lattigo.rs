//! `.hrl` files as ciphertexts of CKKS that Lattigo v6 reads (docs/FORMAT.md).
//!
//! RLWE ciphertexts c_i of degree n fill one of degree N: Σ_i Y^k(i) c_i(Y^(N/n)), where k reverses the bits of i. Then
//! CoeffsToSlots gives the even bytes in order as real parts, and the odd ones as imaginary parts. Words go from 32 bits
//! to the user's modulus, and 128 is subtracted from every byte: public and exact, but for the rounding.

use super::packed::{Packed, PackedFile};
use crate::error::At;
use crate::machine::disk;
use crate::output::folder_of;
use crate::{Error, ErrorKind, Output, Result};
use homaes_math::prime::is_prime;
use homaes_wire::hex;
use sha2::{Digest, Sha256};
use std::io::Write as _;
use std::path::Path;

/// The CKKS parameters of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lattigo {
    /// First prime of the moduli.
    pub modulus: u64,
    /// log2 of the ring's degree N.
    pub log_n: u32,
    /// log2 of the modulus over the scale, `LogMessageRatio` of the bootstrapping parameters.
    pub message_ratio: u32,
}

impl Lattigo {
    fn check(self, about: &Packed) -> Result<()> {
        let wrong = |message| Err(Error::refused(ErrorKind::Argument, message));
        let Self {
            modulus,
            log_n,
            message_ratio,
        } = self;
        if about.log2_t < 11 {
            return wrong(format!(
                "results are bytes modulo 2^{}, expected 2^11: a bridge of 'keygen --bridge ckks' leads there",
                about.log2_t
            ));
        }
        let (least, most) = (about.dimension.ilog2(), 17);
        if !(least..=most).contains(&log_n) {
            return wrong(format!(
                "log_n: found {log_n}, expected {least} to {most} for a link key of {} bits",
                about.dimension
            ));
        }
        // bytes less 128 over 2^log2_t, times 2^message_ratio, are at most 1
        let most = about.log2_t - 7;
        if !(1..=most).contains(&message_ratio) {
            return wrong(format!(
                "message ratio: found 2^{message_ratio}, expected 2^1 to 2^{most} for bytes modulo 2^{}",
                about.log2_t
            ));
        }
        if !(1 << 32..1 << 61).contains(&modulus)
            || modulus % (2 << log_n) != 1
            || !is_prime(modulus)
        {
            return wrong(format!(
                "modulus: found {modulus}, expected a prime of 33 to 61 bits that is 1 modulo 2^{}, for log_n {log_n}: \
                 the first of the bootstrapping parameters, Q()[0] in Lattigo",
                log_n + 1
            ));
        }
        Ok(())
    }

    /// q0/2^ratio as Lattigo prints a scale: 40 significant digits, which are exact.
    fn scale(self) -> String {
        let digits = u128::from(self.modulus) * 5u128.pow(self.message_ratio);
        let digits = digits.to_string();
        let exponent = digits.len() as u32 - 1 - self.message_ratio;
        let (first, rest) = digits.split_at(1);
        format!("{first}.{rest:0<39}e+{exponent:02}")
    }

    /// What comes before the polynomials of a ciphertext.
    fn head(self) -> Vec<u8> {
        let (scale, none, log_slots) = (self.scale(), "0".repeat(39), self.log_n - 1);
        let meta = format!(
            "{{\"PlaintextMetaData\":{{\"Scale\":{{\"Value\":\"{scale}\",\"Mod\":\"0.{none}e+00\"}},\
             \"IsBatched\":\"0x01\",\"IsBitReversed\":\"0x00\",\"LogDimensions\":[\"0x00\",\"0x{log_slots:02x}\"]}},\
             \"CiphertextMetaData\":{{\"IsNTT\":\"0x00\",\"IsMontgomery\":\"0x00\"}}}}"
        );
        let polynomials = 2u64.to_le_bytes();
        [&[1], meta.as_bytes(), &polynomials].concat()
    }

    /// The first line of the file.
    fn line(self, about: &Packed, ciphertexts: u64) -> String {
        let Self {
            modulus,
            log_n,
            message_ratio,
        } = self;
        let (set, link) = (about.set.name(), hex(&about.link.0));
        let (dimension, log2_t, bytes) = (about.dimension, about.log2_t, about.bytes);
        format!(
            "{{\"homaes\":\"lattigo\",\"version\":1,\"set\":\"{set}\",\"link\":\"{link}\",\"dimension\":{dimension},\
             \"modulus\":{modulus},\"log_n\":{log_n},\"message_ratio\":{message_ratio},\"log2_t\":{log2_t},\
             \"bytes\":{bytes},\"ciphertexts\":{ciphertexts}}}\n"
        )
    }

    /// round(x q0/2^32), modulo q0.
    fn word(self, x: u32) -> u64 {
        let product = u128::from(x) * u128::from(self.modulus) + (1 << 31);
        let word = (product >> 32) as u64;
        if word == self.modulus { 0 } else { word }
    }
}

/// Writes the `.hrl` file `path` as ciphertexts of `lattigo`. Calls `tick` with the ciphertexts written and all.
///
/// # Errors
/// The first fault of the file, or `ErrorKind::Argument` for parameters that do not fit; `output` then does not appear.
pub fn export_lattigo(
    path: impl AsRef<Path>,
    lattigo: Lattigo,
    mut output: Output,
    tick: &mut dyn FnMut(u64, u64),
) -> Result<Packed> {
    let path = path.as_ref();
    let mut file = PackedFile::open(path)?;
    lattigo.check(&file.about)?;
    let n = file.about.dimension;
    let degree = 1usize << lattigo.log_n;
    let each = degree / n;
    let all = file.about.ciphertexts.div_ceil(each as u64);
    let (line, head) = (lattigo.line(&file.about, all), lattigo.head());
    let words = 2 * (degree as u64 + 2);
    let bytes = all.saturating_mul(head.len() as u64 + 8 * words) + line.len() as u64 + 32;
    disk::check(folder_of(output.path()), bytes)?;
    let mut sum = Sha256::new();
    let mut write = |bytes: &[u8]| {
        sum.update(bytes);
        output.write_all(bytes).at(output.path())
    };
    write(line.as_bytes())?;
    let centre = 128u32 << (32 - file.about.log2_t);
    let none = lattigo.word(centre.wrapping_neg());
    for done in 0..all {
        let [mut body, mut mask] = [vec![none; degree], vec![0; degree]];
        for i in 0..each {
            let Some([own_mask, own_body]) = file.next()? else {
                break;
            };
            let k = i.reverse_bits().unbounded_shr(usize::BITS - each.ilog2());
            for (j, (a, b)) in own_mask.iter().zip(own_body).enumerate() {
                // Lattigo's phase is c0 + c1·z
                body[j * each + k] = lattigo.word(b.wrapping_sub(centre));
                mask[j * each + k] = lattigo.word(a.wrapping_neg());
            }
        }
        write(&head)?;
        for polynomial in [body, mask] {
            let start = [1, degree as u64];
            let words = start.iter().chain(&polynomial);
            let words: Vec<u8> = words.flat_map(|x| x.to_le_bytes()).collect();
            write(&words)?;
        }
        tick(done + 1, all);
    }
    // the last checksum of the file
    while file.next()?.is_some() {}
    let sum = sum.finalize();
    output.write_all(&sum).at(output.path())?;
    output.commit()?;
    Ok(Packed {
        ciphertexts: all,
        ..file.about
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_exact() {
        let of = |modulus, message_ratio| {
            let lattigo = Lattigo {
                modulus,
                message_ratio,
                log_n: 16,
            };
            lattigo.scale()
        };
        let zeros = |count| "0".repeat(count);
        assert_eq!(of(1 << 33, 2), format!("2.147483648{}e+09", zeros(30)));
        assert_eq!(
            of(1152921504606584833, 2),
            format!("2.8823037615164620825{}e+17", zeros(20))
        );
    }
}
