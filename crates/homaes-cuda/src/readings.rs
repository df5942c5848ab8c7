//! Switches to the key of a subring, and readings of slots: `kernels/readings.cu`.

use crate::args::{Tables, map};
use crate::cuda::Cuda;
use crate::launch::{MOST_ITEMS, PostTables, SHARING, SumTables};
use crate::memory::{Buffer, Held};
use crate::pass::TERM;
use homaes_bgv::device::{Lwes, Reading, Readings, RingSwitch};
use homaes_bgv::{Params, Result};
use homaes_rns::Poly;
use std::sync::Arc;

/// Groups of readings per call: their sums take 67 MB, their words just below a power of two of pinned memory.
const GROUPS: usize = 511;

impl Cuda {
    /// See [`Device::ring_switch`](homaes_bgv::device::Device::ring_switch).
    pub(crate) fn ring_switched(
        &self,
        params: &Params,
        switch: &RingSwitch<'_>,
        all: &[[&Poly; 2]],
    ) -> Result<Vec<[Poly; 2]>> {
        let (gpu, n, digits) = (&self.gpu, self.gpu.n(), switch.pairs.len());
        let (prime, arithmetic) = (params.special_from(), gpu.driver.arithmetic);
        let m = params.rns().modulus(prime);
        let identity = map(params.frobenius(0)).map(u64::from);
        let mut tables = Tables::default();
        let factor = |w| arithmetic.factor(m, w);
        let prime_of = tables.places([prime]);
        let zeros = tables.places(vec![0; digits]);
        let factors = tables.words([m.from_stored(1), m.r()].into_iter().flat_map(factor));
        let ones = tables.words(vec![arithmetic.number(m, m.r()); gpu.rows]);
        let [row, col, lanes] = identity;
        let addend = tables.words([row | col << 32, lanes]);
        let tables = Buffer::sent(&gpu.driver, &tables.0)?;
        // terms of piece 0, by digit
        let (mut held, mut terms) = (Vec::new(), Vec::new());
        for (digit, pair) in switch.pairs.iter().enumerate() {
            terms.extend([(digit as u64) << 32, row | col << 32, lanes]);
            for half in pair {
                let half = self.held(&half.limbs)?;
                // the kernel adds the prime's offset, as in keys with limbs for all primes
                terms.push(half.at().wrapping_sub(8 * (prime * n) as u64));
                held.push(half);
            }
        }
        assert_eq!(terms.len(), TERM * digits);
        let mut out = Vec::with_capacity(all.len());
        for all in all.chunks(MOST_ITEMS) {
            let count = all.len();
            let parts = all.iter().map(|c| {
                let [c0, c1] = c.map(|part| self.held(&part.limbs));
                let both = [c0?, c1?];
                assert!(both.iter().all(|part| part.limbs == 1), "one prime");
                Ok(both)
            });
            let parts: Vec<[Held; 2]> = parts.collect::<Result<_>>()?;
            let [c0, c1] = [0, 1].map(|i| parts.iter().map(|c| c[i].at()).collect::<Vec<u64>>());
            let work = Buffer::new(&gpu.driver, count * (1 + digits) * n)?;
            let [words, extended] = [0, count * n].map(|at| work.at(at));
            let [prime_of, zeros] = [prime_of, zeros].map(|at| tables.at(at));
            gpu.columns_inverse(1, [prime_of, zeros], &c1, words)?;
            let cut = [switch.low as usize, switch.base as usize, digits];
            gpu.rows_digits(count, (prime, tables.at(factors)), cut, [words, extended])?;
            gpu.columns_forward([1, count * digits], [prime_of, zeros], digits, extended)?;
            let switched = Arc::new(Buffer::new(&gpu.driver, 2 * count * n)?);
            let t = SumTables {
                prime_of,
                own: zeros,
                scale: tables.at(factors),
                by_row: tables.at(ones),
                addends: tables.at(addend),
                sources: 1,
                digits,
                pieces: 1,
                terms: digits,
                addend_count: 1,
                outputs: count,
            };
            // no digit owns the prime, so no piece is read
            let mut words = terms.clone();
            words.extend(core::iter::repeat_n(0, count).chain(c0));
            gpu.inner_product(1, &t, words, extended, &PostTables::NONE, switched.at(0))?;
            let poly = |k: usize| self.poly(&switched, k * n, 1);
            out.extend((0..count).map(|k| [poly(2 * k), poly(2 * k + 1)]));
        }
        Ok(out)
    }

    /// See [`Device::read`](homaes_bgv::device::Device::read).
    pub(crate) fn slots_read(
        &self,
        params: &Params,
        readings: &Readings<'_>,
        mut out: Lwes<'_>,
    ) -> Result<()> {
        let groups = readings.all.chunk_by(Reading::shares);
        let groups: Vec<&[Reading<'_>]> = groups.flat_map(|some| some.chunks(SHARING)).collect();
        for groups in groups.chunks(GROUPS) {
            self.groups_read(params, readings, groups, &mut out)?;
        }
        Ok(())
    }

    fn groups_read(
        &self,
        params: &Params,
        readings: &Readings<'_>,
        groups: &[&[Reading<'_>]],
        out: &mut Lwes<'_>,
    ) -> Result<()> {
        let (gpu, words) = (&self.gpu, readings.words());
        assert!(
            gpu.halves == 1 && gpu.rows * (words - 1) == gpu.n(),
            "readings of another ring"
        );
        let prime = params.special_from();
        let m = params.rns().modulus(prime);
        let (mut held, mut all) = (Vec::new(), Vec::new());
        for group in groups {
            let [body, mask] = group[0].of;
            for poly in [body, mask, group[0].dual] {
                let poly = self.held(&poly.limbs)?;
                assert_eq!(poly.limbs, 1, "one prime");
                all.push(poly.at());
                held.push(poly);
            }
            // `Map`s, missing ones as the first, then the count
            let maps = group.iter().chain(core::iter::repeat(&group[0]));
            let maps = maps.take(SHARING).flat_map(|reading| map(reading.map));
            let ints: Vec<u32> = maps.chain([group.len() as u32, 0]).collect();
            let pairs = ints.as_chunks().0.iter();
            all.extend(pairs.map(|&[a, b]: &[u32; 2]| u64::from(a) | u64::from(b) << 32));
        }
        let all = Buffer::sent(&gpu.driver, &all)?;
        let row = words - 1;
        let sums = Buffer::new(&gpu.driver, groups.len() * SHARING * 2 * row)?;
        gpu.slot_sums([row, groups.len()], prime, all.at(0), sums.at(0))?;
        let halves = matches!(out, Lwes::Upper(_));
        let each = if halves { words.div_ceil(2) } else { words };
        let made = Buffer::new(&gpu.driver, groups.len() * SHARING * each)?;
        let tables = [self.lanes.at(0), all.at(0), sums.at(0)];
        gpu.slot_words([row, groups.len()], prime, tables, (m, halves), made.at(0))?;
        made.received(|found| {
            for (group, found) in groups.iter().zip(found.chunks_exact(SHARING * each)) {
                for (reading, found) in group.iter().zip(found.chunks_exact(each)) {
                    match out {
                        Lwes::Words(out) => {
                            out[reading.to * words..][..words].copy_from_slice(found);
                        }
                        Lwes::Upper(out) => {
                            let out = &mut out[4 * reading.to * words..][..4 * words];
                            let (pairs, last) = out.as_chunks_mut::<8>();
                            for (out, word) in pairs.iter_mut().zip(found) {
                                *out = word.to_le_bytes();
                            }
                            let left = last.len();
                            last.copy_from_slice(&found[each - 1].to_le_bytes()[..left]);
                        }
                    }
                }
            }
        })?;
        Ok(())
    }
}
