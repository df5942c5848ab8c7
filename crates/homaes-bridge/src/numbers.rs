//! What crosses: numbers, the level they come from, and the digits of their ring switch.

/// Level of bytes that cross as one number modulo 2^`log2_t`. Above 2^8 the lift doubles twice, and from levels 9 and 10
/// its noise would have tails too heavy to bound.
#[must_use]
pub fn bytes_level(log2_t: u32) -> usize {
    match log2_t {
        ..=8 => 9,
        _ => 12,
    }
}

/// How the bits of a byte cross as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// eight bits, modulo 2
    Bits,
    /// four pairs of bits, modulo 32
    Pairs,
    /// the byte, modulo 2 to this power
    Bytes(u32),
}

impl Numbers {
    /// log2 of the modulus t of the numbers.
    pub fn log2_t(self) -> u32 {
        match self {
            Self::Bits => 1,
            Self::Pairs => 5,
            Self::Bytes(log2_t) => log2_t,
        }
    }

    /// Numbers per byte.
    pub fn count(self) -> usize {
        match self {
            Self::Bits => 8,
            Self::Pairs => 4,
            Self::Bytes(_) => 1,
        }
    }
}

/// How c1 is cut for a ring switch: `levels` digits of `base` bits each, above `low` dropped bits.
#[derive(Clone, Copy)]
pub(crate) struct Digits {
    pub(crate) levels: usize,
    pub(crate) base: u32,
    pub(crate) low: u32,
}
