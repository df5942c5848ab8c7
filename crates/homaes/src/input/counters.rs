//! The blocks that parts of a message put into the cipher by their mode alone.

use homaes_aes::{Block, Counter, Mode};

/// Whether two messages, each a mode and a number of blocks, put the same block into the cipher: a counter block, or
/// the IV of CFB. Counters of different byte orders are not compared.
pub(crate) fn overlap(messages: impl Iterator<Item = (Mode, u64)>) -> bool {
    let mut ranges: Vec<(Order, u128, u128)> = Vec::new();
    for (mode, blocks) in messages {
        let Some((order, bits)) = counting(&mode) else {
            continue;
        };
        let last = match bits {
            // later inputs of CFB are ciphertext
            0 => blocks.min(1),
            _ => blocks,
        };
        let Some(last) = last.checked_sub(1) else {
            continue;
        };
        let number = |index: u64| order.number(mode.input(index, None, &[[0; 16]])[0]);
        let (first, last) = (number(0), number(last));
        if first <= last {
            ranges.push((order, first, last));
        } else {
            // the counter wraps within its bits
            let counted = 1u128.checked_shl(bits).map_or(u128::MAX, |end| end - 1);
            ranges.push((order, first, first | counted));
            ranges.push((order, last & !counted, last));
        }
    }
    ranges.sort_unstable();
    ranges
        .windows(2)
        .any(|pair| pair[0].0 == pair[1].0 && pair[1].1 <= pair[0].2)
}

/// The byte order that makes a block a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Big,
    Little,
}

impl Order {
    fn number(self, block: Block) -> u128 {
        match self {
            Self::Big => u128::from_be_bytes(block),
            Self::Little => u128::from_le_bytes(block),
        }
    }
}

/// The byte order of a mode's counter, and the number of its lowest bits that count; `None` if the mode has no counter.
fn counting(mode: &Mode) -> Option<(Order, u32)> {
    Some(match mode {
        Mode::Cfb { .. } => (Order::Big, 0),
        Mode::Ctr { .. } => (Order::Big, 128),
        Mode::Gcm { .. } => (Order::Big, 32),
        Mode::Counter { counter, .. } => match counter {
            Counter::Big64 => (Order::Big, 64),
            Counter::Big32 => (Order::Big, 32),
            Counter::Little128 => (Order::Little, 128),
            Counter::Little64 => (Order::Little, 64),
            Counter::Little32 => (Order::Little, 32),
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_block_in_common_is_found() {
        let ctr = |first: u128, blocks| {
            let iv = first.to_be_bytes();
            (Mode::Ctr { iv }, blocks)
        };
        let gcm = |nonce, blocks| (Mode::Gcm { nonce: [nonce; 12] }, blocks);
        let with = |iv, counter, blocks| {
            (
                Mode::Counter {
                    iv: [iv; 16],
                    counter,
                },
                blocks,
            )
        };
        let in_gcm = u128::from_be_bytes([9; 16]) >> 32 << 32 | 5;
        let iv = 7u128.to_be_bytes();
        let cfb = |blocks| (Mode::Cfb { iv }, blocks);
        let cbc = (Mode::Cbc { iv }, 9);
        use Counter::*;
        for (a, b, shared) in [
            (ctr(0, 7), ctr(7, 7), false),
            (ctr(0, 8), ctr(7, 7), true),
            (ctr(7, 1), ctr(7, 1), true),
            (ctr(7, 0), ctr(7, 9), false),
            // wraps at the end
            (ctr(u128::MAX, 3), ctr(1, 1), true),
            (ctr(u128::MAX, 2), ctr(1, 1), false),
            // counters of GCM begin with 2
            (gcm(9, 4), ctr(in_gcm, 1), true),
            (gcm(9, 3), ctr(in_gcm, 1), false),
            (gcm(9, 1), gcm(8, 1), false),
            // wraps within 32 and 64 bits
            (with(0xff, Big32, 2), ctr(u128::MAX << 32, 1), true),
            (with(0xff, Big32, 2), ctr(0, 1), false),
            (with(0xff, Big64, 2), ctr(u128::MAX << 64, 1), true),
            (with(0xff, Little64, 2), with(0xff, Little128, 1), true),
            (with(1, Little32, 9), with(1, Little64, 1), true),
            // the IV alone
            (cfb(9), cfb(1), true),
            (cfb(9), ctr(8, 1), false),
            (cfb(9), ctr(6, 2), true),
            ((Mode::Ecb, 9), (Mode::Ecb, 9), false),
            (cbc, cbc, false),
        ] {
            assert_eq!(overlap([a, b].into_iter()), shared, "{a:?}, {b:?}");
            assert_eq!(overlap([b, a].into_iter()), shared, "{b:?}, {a:?}");
        }
    }
}
