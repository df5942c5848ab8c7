//! Kernel arguments: numbers, addresses, and tables packed into one buffer.

use core::ffi::c_void;
use homaes_math::GaloisMap;

/// A kernel argument. A launch takes at most 4 KiB of them.
#[derive(Clone, Debug)]
pub(crate) enum Arg {
    /// an address
    At(u64),
    /// `int`
    Int(usize),
    /// `struct Map`
    Map([u32; 3]),
    /// a `struct` by value, whose members are aligned to 8 bytes
    Words(Vec<u64>),
}

/// Addresses of the arguments' bytes, little-endian.
pub(crate) fn pointers(args: &[Arg]) -> Vec<*mut c_void> {
    let pointer = |arg: &Arg| match arg {
        Arg::At(at) => (&raw const *at).cast::<c_void>(),
        Arg::Int(i) => (&raw const *i).cast(),
        Arg::Map(map) => map.as_ptr().cast(),
        Arg::Words(words) => words.as_ptr().cast(),
    };
    args.iter().map(|arg| pointer(arg).cast_mut()).collect()
}

/// An automorphism as `struct Map`.
pub(crate) fn map(map: &GaloisMap) -> [u32; 3] {
    let ([row, col], lanes) = map.shifts();
    let packed = lanes.iter().enumerate();
    let packed = packed.fold(0, |s, (i, &l)| s | (l as u32) << (4 * i));
    [row as u32, col as u32, packed]
}

/// Tables that reach the GPU in one copy. Each method returns the position of its table in words.
#[derive(Default)]
pub(crate) struct Tables(pub(crate) Vec<u64>);

impl Tables {
    /// Words or addresses.
    pub(crate) fn words(&mut self, words: impl IntoIterator<Item = u64>) -> usize {
        // factors are read as pairs
        self.0.resize(self.0.len().next_multiple_of(2), 0);
        let at = self.0.len();
        self.0.extend(words);
        at
    }

    /// Numbers of type `int`, two per word.
    pub(crate) fn ints(&mut self, ints: impl IntoIterator<Item = i32>) -> usize {
        let ints: Vec<u32> = ints.into_iter().map(|i| i as u32).collect();
        let pair = |pair: &[u32]| {
            let high = pair.get(1).copied().unwrap_or(0);
            u64::from(pair[0]) | u64::from(high) << 32
        };
        self.words(ints.chunks(2).map(pair))
    }

    /// Bytes, the first one lowest in its word; the last word is padded with zeros.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> usize {
        self.words(bytes.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        }))
    }

    pub(crate) fn places(&mut self, places: impl IntoIterator<Item = usize>) -> usize {
        self.ints(places.into_iter().map(|i| i as i32))
    }
}
