//! Tables for the encoding of bytes. `kernels/blocks.cu` describes the arrays.

use crate::Result;
use crate::args::Tables;
use crate::driver::Driver;
use crate::launch::Encoding;
use crate::memory::Buffer;
use homaes_math::slots::Slots;
use std::sync::Arc;

pub(crate) struct SlotTables {
    pub(crate) encoding: Encoding,
    /// owns the addresses
    _buffer: Buffer,
}

/// A product by a constant, given by its products with 1, 2, 4, …, 128.
fn product(c: &[u8; 8], x: u8) -> u8 {
    let images = c.iter().enumerate();
    images.fold(0, |sum, (i, image)| sum ^ ((x >> i & 1) * image))
}

impl SlotTables {
    pub(crate) fn new(driver: &Arc<Driver>, slots: &Slots) -> Result<Self> {
        let encoding = slots.encoding();
        let [seventeen, long, three, five] = encoding.kernels;
        let origin = encoding.origin.iter();
        let origin = origin.map(|&(slot, squarings)| i32::from(slot) << 3 | i32::from(squarings));
        let by_row: Vec<u8> = seventeen.iter().map(|c| c[0]).collect();
        // lane l is (l / 4, l % 4) on the axes of 3 and 5
        let lanes = (0..8).flat_map(|from| (0..8).map(move |to| (from, to)));
        let lanes = lanes.map(|(from, to)| {
            let by_five = five[(from + to) % 4][0];
            product(&three[(from / 4 + to / 4) % 2], by_five)
        });
        let by_lane: Vec<u8> = lanes.collect();
        // bits of a factor that determine bit 0 of a product; without the axis of 257, of the product by 1
        let bit = |c: &[u8; 8]| (0..8).fold(0, |mask, i| mask | (c[i] & 1) << i);
        let selectors: Vec<u8> = match long {
            [] => vec![1],
            long => long.iter().map(bit).collect(),
        };
        let half = selectors.len();
        let rows = |w: usize| (0..half).map(move |col| (w, col));
        let masks = (0..half.div_ceil(8)).flat_map(rows).map(|(w, col)| {
            let own = (8 * w..half.min(8 * w + 8)).enumerate();
            own.fold(0, |mask, (i, from)| {
                mask | u64::from(selectors[(from + col) % half]) << (8 * i)
            })
        });
        let mut tables = Tables::default();
        let at = [
            tables.ints(origin),
            tables.bytes(&by_row),
            tables.bytes(&by_lane),
            tables.words(masks),
        ];
        let buffer = Buffer::of(driver, &tables.0)?;
        let [origin, by_row, by_lane, masks] = at.map(|at| buffer.at(at));
        Ok(Self {
            encoding: Encoding {
                origin,
                by_row,
                by_lane,
                masks,
                half,
                words: half.div_ceil(8),
            },
            _buffer: buffer,
        })
    }
}
