//! Stored limbs: two residues per word if all primes are below 2^32.

use crate::sets::Variant;
use homaes_math::{Modulus, Ring, Words, kernel, packed_limbs};

#[derive(Clone)]
pub(super) enum Limb {
    /// lazy
    Full(Words),
    /// packed by [`packed_limbs`]
    Half(Words),
}

impl Limb {
    /// Packs lazy words if the variant does.
    pub(super) fn of(variant: Variant, ring: &Ring, m: &Modulus, words: Words) -> Self {
        match variant {
            Variant::Rns => {
                let mut half = Words::scratch(ring.n() / 2);
                packed_limbs::pack(ring, m, &words, &mut half);
                Self::Half(half)
            }
            _ => Self::Full(words),
        }
    }

    /// The words as they are stored.
    fn stored(&self) -> &Words {
        let (Self::Full(words) | Self::Half(words)) = self;
        words
    }

    /// Lazy words, unpacked to `scratch` if necessary.
    pub(super) fn open<'a>(&'a self, ring: &Ring, scratch: &'a mut Words) -> &'a [u64] {
        match self {
            Self::Full(words) => words,
            Self::Half(half) => {
                packed_limbs::unpack(ring, half, scratch);
                scratch
            }
        }
    }

    pub(super) fn into_words(self, ring: &Ring) -> Words {
        match self {
            Self::Full(words) => words,
            Self::Half(half) => {
                let mut words = Words::scratch(ring.n());
                packed_limbs::unpack(ring, &half, &mut words);
                words
            }
        }
    }

    pub(super) fn plus(&self, ring: &Ring, m: &Modulus, other: &Self) -> Self {
        let (a, b) = (self.stored(), other.stored());
        let mut out = Words::scratch(a.len());
        match self {
            Self::Full(_) => {
                kernel::add(ring, m, a, b, &mut out);
                Self::Full(out)
            }
            Self::Half(_) => {
                packed_limbs::add(ring, m, a, b, &mut out);
                Self::Half(out)
            }
        }
    }

    /// Σ x_i·y_i, plus `out` if `add`; lazy.
    pub(super) fn dot(
        ring: &Ring,
        m: &Modulus,
        terms: &[(&[u64], &Self)],
        add: bool,
        out: &mut Words,
    ) {
        let words = terms.iter().map(|(x, y)| [*x, &y.stored()[..]]);
        let words: Vec<[&[u64]; 2]> = words.collect();
        match terms[0].1 {
            Self::Full(_) => kernel::dot(ring, m, &words, add, out),
            Self::Half(_) => packed_limbs::dot(ring, m, &words, add, out),
        }
    }

    pub(super) fn sums(
        ring: &Ring,
        m: &Modulus,
        sources: &[&Self],
        rows: &[Vec<u16>],
    ) -> Vec<Self> {
        let words: Vec<&[u64]> = sources.iter().map(|limb| &limb.stored()[..]).collect();
        let mut out: Vec<Words> = rows
            .iter()
            .map(|_| Words::scratch(words[0].len()))
            .collect();
        let mut sums: Vec<&mut [u64]> = out.iter_mut().map(|o| &mut o[..]).collect();
        match sources[0] {
            Self::Full(_) => {
                kernel::sums(ring, m, &words, rows, &mut sums);
                out.into_iter().map(Self::Full).collect()
            }
            Self::Half(_) => {
                packed_limbs::sums(ring, m, &words, rows, &mut sums);
                out.into_iter().map(Self::Half).collect()
            }
        }
    }
}
