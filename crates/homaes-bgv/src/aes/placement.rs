//! Where the bytes of blocks lie in slots, for each [`Layout`].
//!
//! A slot has coordinates (class, e3, e5, e257). Adding to e5 or e257 is an automorphism that only moves slots
//! ([`homaes_math::slots`]). In the packed layout, with C slots to a run (half of the axis e257, 128 at full size),
//! byte (row r, column c) of block b lies at
//!
//! ```text
//! (class, e3) = b div (C/4)      e5 = r      e257 = b mod (C/4) + C/4 · ((c + t r) mod 4)
//! ```
//!
//! In K, the second half of the blocks lies in the second half of the slots in the same way. The *slope* t is 0 for
//! input and output of AES. ShiftRows moves row r by r columns; instead, the slope grows by one (falls by one for
//! InvShiftRows). In a column of slope t the next row is one step of τ_t = (e5 + 1, e257 + t·C/4) away, also from the
//! last row to the first, since 4t = 0 modulo four columns. So MixColumns is Σ_j c_j τ_t^j, without a mask.

use crate::aes::level_plan::offered;
use crate::error::Result;
use crate::params::Params;
use homaes_aes::{Block, Layout};
use homaes_scheme::mismatch;
use zeroize::Zeroizing;

type SlotBytes = Zeroizing<Vec<u8>>;

pub(crate) fn packed_slot(params: &Params, b: usize, i: usize, slope: usize) -> usize {
    let slots = params.slots();
    let quarter = slots.run_len() / 4;
    let (half, b) = (b / (slots.half_count() / 16), b % (slots.half_count() / 16));
    let (group, within) = (b / quarter, b % quarter);
    let runs_e3 = slots.half_count() / slots.run_len() / 8;
    let (class, e3) = (group / runs_e3, group % runs_e3);
    let [_, e5, e257] = packed_step(params, i, slope);
    half * slots.half_count() + slots.slot(class, [e3, e5, within + e257])
}

/// Coordinates (e3, e5, e257) from byte 0 of a packed block to byte `i`.
pub(crate) fn packed_step(params: &Params, i: usize, slope: usize) -> [usize; 3] {
    let quarter = params.slots().run_len() / 4;
    [0, i % 4, quarter * ((i / 4 + slope * (i % 4)) % 4)]
}

/// Slot bytes of every ciphertext of a batch; missing blocks are zero.
pub(crate) fn to_slots(
    params: &Params,
    layout: Layout,
    blocks: &[Block],
    slope: usize,
) -> Result<Vec<SlotBytes>> {
    offered(params, layout)?;
    let capacity = params.blocks_per_batch(layout);
    mismatch::check_count("blocks", blocks.len(), capacity)?;
    let all = 0..layout.ciphertexts();
    Ok(all
        .map(|at| slots_of(params, layout, blocks, slope, at))
        .collect())
}

/// Slot bytes of ciphertext `at` of a batch; the caller checks the layout and the number of blocks.
pub(crate) fn slots_of(
    params: &Params,
    layout: Layout,
    blocks: &[Block],
    slope: usize,
    at: usize,
) -> SlotBytes {
    let mut out = Zeroizing::new(vec![0u8; params.slots().count()]);
    for (b, block) in blocks.iter().enumerate() {
        match layout {
            Layout::Packed => {
                for (i, &byte) in block.iter().enumerate() {
                    out[packed_slot(params, b, i, slope)] = byte;
                }
            }
            Layout::Sliced => out[b] = block[at],
            Layout::Bits => out[b] = block[at / 8] >> (at % 8) & 1,
        }
    }
    out
}

/// The blocks in a batch's slot bytes; `None` if a slot of the bit layout is neither 0 nor 1.
pub(crate) fn from_slots(
    params: &Params,
    layout: Layout,
    slots: &[SlotBytes],
    slope: usize,
) -> Option<Vec<Block>> {
    let is_bit = slots.iter().all(|s| s.iter().all(|&x| x < 2));
    if layout == Layout::Bits && !is_bit {
        return None;
    }
    let byte = |b: usize, i: usize| match layout {
        Layout::Packed => slots[0][packed_slot(params, b, i, slope)],
        Layout::Sliced => slots[i][b],
        Layout::Bits => (0..8).fold(0, |x, j| x | slots[8 * i + j][b] << j),
    };
    let blocks = 0..params.blocks_per_batch(layout);
    Some(
        blocks
            .map(|b| core::array::from_fn(|i| byte(b, i)))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets;
    use homaes_aes::Direction;
    use homaes_aes::state::{circulant, mix_columns, shift_rows};

    fn numbered(count: usize) -> Vec<Block> {
        (0..count)
            .map(|b| core::array::from_fn(|i| (b * 31 + i * 7 + b / 5) as u8))
            .collect()
    }

    fn moved(params: &Params, slots: &[u8], step: [usize; 3]) -> Vec<u8> {
        let mut bits = vec![0; params.ring().n()];
        params.slots().encode(slots, &mut bits);
        let map = params.ring().translation(step);
        let image: Vec<u64> = (0..bits.len())
            .map(|i| bits[map.coefficient_source(params.ring(), i)])
            .collect();
        params.slots().decode(&image).unwrap()
    }

    #[test]
    fn shifting_rows_is_a_slope_and_mixing_columns_four_automorphisms() {
        let params = Params::new(&sets::TOY_21845).unwrap();
        shifting_rows(&params);
        shifting_rows(Params::new(&sets::TOY_K_21845).unwrap().of_aes());
    }

    fn shifting_rows(params: &Params) {
        let blocks = numbered(params.blocks_per_batch(Layout::Packed));
        for slope in 0..4usize {
            for dir in Direction::ALL {
                let at = |blocks: &[Block], slope| {
                    to_slots(params, Layout::Packed, blocks, slope)
                        .unwrap()
                        .remove(0)
                };
                let here = at(&blocks, slope);
                let next = match dir {
                    Direction::Encrypt => slope + 1,
                    Direction::Decrypt => slope + 3,
                } % 4;
                let shifted: Vec<Block> = blocks.iter().map(|b| shift_rows(dir, b)).collect();
                assert_eq!(here, at(&shifted, next), "the same slots, read otherwise");
                let mut sum = vec![0; here.len()];
                for (j, c) in circulant(dir).into_iter().enumerate() {
                    let image = moved(params, &here, params.column_step(next, j));
                    for (s, x) in sum.iter_mut().zip(image) {
                        *s ^= homaes_aes::gf256::mul(c, x);
                    }
                }
                let mixed: Vec<Block> = shifted.iter().map(|b| mix_columns(dir, b)).collect();
                assert_eq!(sum, *at(&mixed, next));
            }
        }
    }
}
