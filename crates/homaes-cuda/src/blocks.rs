//! Polynomials of public bytes, and the bytes of polynomials in files. `kernels/blocks.cu` says what each array holds.

use crate::args::{Tables, factor, least};
use crate::cuda::Cuda;
use crate::driver::Driver;
use crate::launch::Encoding;
use crate::memory::{Buffer, Held};
use crate::{Error, Result};
use homaes_bgv::Params;
use homaes_bgv::device::Plaintext;
use homaes_leveled::Poly;
use homaes_math::slots::Slots;
use std::sync::Arc;

/// The tables of a ring's slots on a GPU.
pub(crate) struct Blocks {
    encoding: Encoding,
    /// which the addresses are of
    _buffer: Buffer,
}

/// A product by a constant, given as its products with 1, 2, 4, …, 128.
fn product(c: &[u8; 8], x: u8) -> u8 {
    let images = c.iter().enumerate();
    images.fold(0, |sum, (i, image)| sum ^ ((x >> i & 1) * image))
}

/// Bytes as words, the first byte lowest; the last word is filled up with zeros.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    bytes.chunks(8).map(word)
}

impl Blocks {
    /// For a ring of sixteen rows and eight lanes.
    pub(crate) fn new(driver: &Arc<Driver>, slots: &Slots) -> Result<Self, Error> {
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
        // bits of a factor that make bit 0 of a product; without the axis of 257, the product by 1
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
            tables.words(words(&by_row)),
            tables.words(words(&by_lane)),
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

impl Cuda {
    /// See [`Device::public`](homaes_bgv::device::Device::public), for [`MOST_ITEMS`](crate::launch::MOST_ITEMS) at most.
    pub(crate) fn encode(
        &self,
        params: &Params,
        basis: &[usize],
        all: &[Plaintext<'_>],
        onto: &[&Poly],
    ) -> homaes_bgv::Result<impl Iterator<Item = Poly>> {
        let (gpu, encoding) = (&self.gpu, &self.blocks.encoding);
        let (n, items, limbs) = (gpu.n(), all.len(), basis.len());
        let held = onto.iter().map(|a| self.held(&a.limbs));
        let held: Vec<Held> = held.collect::<homaes_bgv::Result<_>>()?;
        let fits = held.is_empty() || held.len() == items;
        assert!(
            fits && held.iter().all(|a| a.limbs == limbs),
            "ciphertexts of another set"
        );
        let input_bytes = params.slots().count() + n / 8;
        let mut input = Vec::with_capacity(items * input_bytes);
        for plain in all {
            input.extend_from_slice(plain.bytes);
            input.extend_from_slice(&plain.signs);
        }
        assert_eq!(
            input.len(),
            items * input_bytes,
            "plaintexts of another set"
        );
        let moduli = || basis.iter().map(|&i| params.pool().modulus(i));
        let place = |at| if held.is_empty() { -1 } else { at };
        let mut tables = Tables::default();
        let at = [
            tables.places(basis.iter().copied()),
            tables.reals(moduli().map(|m| least(m, m.r()))),
            tables.ints((0..limbs as i32).map(place)),
            tables.reals(moduli().flat_map(|m| factor(m, 1))),
            tables.words(words(&input)),
        ];
        let tables = Buffer::sent(&gpu.driver, &tables.0)?;
        let [prime_of, scale, place, one, input] = at.map(|at| tables.at(at));
        let input = (input, input_bytes);
        let lengths = [128 * encoding.words, n / 8, limbs * n].map(|words| items * words);
        let work = Buffer::new(&gpu.driver, lengths.iter().sum())?;
        let [values, coefficients, rows] = [0, lengths[0], lengths[0] + lengths[1]];
        let [values, coefficients, rows] = [values, coefficients, rows].map(|at| work.at(at));
        let out = Arc::new(Buffer::new(&gpu.driver, items * limbs * n)?);
        gpu.block_values(items, encoding, input, values)?;
        gpu.block_coefficients(items, encoding, values, input, coefficients)?;
        gpu.block_rows([limbs, items], [prime_of, scale, coefficients, rows])?;
        let mut sources: Vec<u64> = held.iter().map(Held::at).collect();
        sources.resize(items, 0);
        let places = [prime_of, place, one];
        gpu.columns_finish(limbs, places, &sources, [rows, out.at(0)])?;
        Ok((0..items).map(move |k| self.poly(&out, k * limbs * n, limbs)))
    }

    /// See [`Device::pack`](homaes_bgv::device::Device::pack).
    pub(crate) fn packed(
        &self,
        params: &Params,
        basis: &[usize],
        all: &[&Poly],
        out: &mut [&mut [u8]],
    ) -> homaes_bgv::Result<()> {
        let gpu = &self.gpu;
        let held = all.iter().map(|a| self.held(&a.limbs));
        let held: Vec<Held> = held.collect::<homaes_bgv::Result<_>>()?;
        assert!(
            held.iter().all(|a| a.limbs == basis.len()),
            "a ciphertext of another set"
        );
        let bits = basis
            .iter()
            .map(|&i| params.pool().modulus(i).bits() as usize);
        let bits: Vec<usize> = bits.collect();
        let lengths = bits.iter().map(|bits| gpu.n() / 64 * bits);
        let mut start = vec![0];
        start.extend(lengths.clone().scan(0, |sum, words| {
            *sum += words;
            Some(*sum)
        }));
        let (most, words) = (lengths.max().unwrap_or(0), start[basis.len()]);
        let mut tables = Tables::default();
        let at = [
            tables.places(basis.iter().copied()),
            tables.places(bits),
            tables.places(start),
            tables.words(held.iter().map(Held::at)),
        ];
        let tables = Buffer::sent(&gpu.driver, &tables.0)?;
        let record = Buffer::new(&gpu.driver, all.len() * words)?;
        let [prime_of, bits, start, sources] = at.map(|at| tables.at(at));
        let args = [prime_of, bits, start, sources, record.at(0)];
        gpu.pack_limbs([basis.len(), all.len()], most, args)?;
        record.received(|found| {
            for (out, own) in out.iter_mut().zip(found.chunks_exact(words)) {
                assert_eq!(out.len(), 8 * words, "a slice of another length");
                for (bytes, word) in out.chunks_exact_mut(8).zip(own) {
                    bytes.copy_from_slice(&word.to_le_bytes());
                }
            }
        })?;
        Ok(())
    }
}
