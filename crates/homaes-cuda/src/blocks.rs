//! Public bytes to polynomials, and polynomials to the bytes of files. `kernels/blocks.cu` describes the arrays.

use crate::args::Tables;
use crate::cuda::Cuda;
use crate::memory::{Buffer, Held};
use homaes_bgv::Params;
use homaes_bgv::device::Plaintext;
use homaes_rns::Poly;
use std::sync::Arc;

impl Cuda {
    /// See [`Device::public`](homaes_bgv::device::Device::public); at most `MOST_ITEMS` plaintexts.
    pub(crate) fn encode(
        &self,
        params: &Params,
        basis: &[usize],
        all: &[Plaintext<'_>],
        onto: &[&Poly],
    ) -> homaes_bgv::Result<impl Iterator<Item = Poly>> {
        let (gpu, encoding) = (&self.gpu, &self.slots.encoding);
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
        let arithmetic = gpu.driver.arithmetic;
        let moduli = || basis.iter().map(|&i| params.rns().modulus(i));
        let place = |at| if held.is_empty() { -1 } else { at };
        let mut tables = Tables::default();
        let at = [
            tables.places(basis.iter().copied()),
            tables.words(moduli().map(|m| arithmetic.number(m, m.r()))),
            tables.ints((0..limbs as i32).map(place)),
            tables.words(moduli().flat_map(|m| arithmetic.factor(m, 1))),
            tables.bytes(&input),
        ];
        let tables = Buffer::sent(&gpu.driver, &tables.0)?;
        let [prime_of, scale, place, one, input] = at.map(|at| tables.at(at));
        let input = (input, input_bytes);
        let lengths =
            [128 * gpu.halves * encoding.words, n / 8, limbs * n].map(|words| items * words);
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
            .map(|&i| params.rns().modulus(i).bits() as usize);
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
