//! F_2\[X\]/Φ_m as bytes: slots of GF(2^8) in the AES representation.
//!
//! Φ_m splits modulo 2 into n/d factors of degree d = ord_m(2) ∈ {8, 16}; a slot is the value at one root per factor.
//! The plaintexts here are the subring of polynomials whose values all lie in GF(2^8). An orbit of embeddings under
//! Frobenius (a translation of G) is one slot; its representative has e17 ∈ {0, [`Slots::second_class`]}, any e257
//! below 128 (up to sign) and any lane. With this choice, the polynomials with the same byte in every slot are the
//! elements of F_2\[ζ_17\] = GF(2^8)^2, so AES's constants are sums of at most eight powers of ζ_17
//! ([`Slots::constant`]).
//!
//! Slot order: `slot = (class · lanes + lane) · C + e257`, C = 128, or 1 without the prime 257. The automorphism that
//! adds 1 to e257 rotates every run of C slots by one place: after 128 steps the representative changes sign, which
//! is σ^8 and the identity on bytes. Adding to e3 or e5 moves whole runs ([`Slots::slot`]).
//!
//! ζ_257 lives in GF(2^16), but only sums η^k + η^{-k} ∈ GF(2^8) occur, since values at ±e257 agree.
//!
//! Encoding and decoding run on secrets of the client. All arithmetic on them is F_2-linear with public matrices and
//! masks: no table index or branch depends on data, except that decoding reports values outside the subring.

use crate::ring::Ring;
use homaes_aes::gf256;
use zeroize::{Zeroize, Zeroizing};

/// An F_2-linear map of bytes: the images of 1, 2, 4, …, 128.
type Linear = [u8; 8];

fn times(c: u8) -> Linear {
    core::array::from_fn(|i| gf256::mul(c, 1 << i))
}

/// `out ^= map(x)`, byte by byte.
#[inline(always)]
fn add_image(map: &Linear, x: &[u8], out: &mut [u8]) {
    for (o, &x) in out.iter_mut().zip(x) {
        let mut y = 0;
        for (i, &image) in map.iter().enumerate() {
            y ^= (x >> i & 1).wrapping_neg() & image;
        }
        *o ^= y;
    }
}

/// Bytes <-> plaintext polynomials of one ring.
///
/// A plaintext of K is the polynomial a + w(a + b): modulo 2, it is the plaintext a of R at w = 0 and b at w = 1. The
/// slots of b follow those of a.
#[derive(Clone, Debug)]
pub struct Slots {
    /// R
    ring: Ring,
    /// R or K
    whole: Ring,
    second: usize,
    /// columns up to sign
    half_cols: usize,
    /// per position of the folded value array: (slot, k), the value being slot^(2^k)
    origin: Vec<(u16, u8)>,
    /// per axis (17, 257 folded, 3, 5): correlation kernels to coefficients and to values
    kernels: [[Vec<Linear>; 2]; 4],
}

/// How bytes become coefficients: values from slots, then a correlation in GF(2^8) on each axis, in any order.
///
/// Values lie at `(col * rows + row) * lanes + lane`, for columns up to sign. Coefficients at both signs of a column
/// are equal.
#[derive(Clone, Copy, Debug)]
pub struct Encoding<'a> {
    /// for each value: a slot, and how often its byte is squared
    pub origin: &'a [(u16, u8)],
    /// the kernels of the axes of 17, 257, 3 and 5, empty for an axis that the ring lacks. A factor is given by its
    /// products with 1, 2, 4, …, 128
    pub kernels: [&'a [[u8; 8]]; 4],
}

/// The polynomial is not a plaintext of this ring's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotBytes;

impl Slots {
    /// Slots with the second class of representatives at `e17 = second_class`, which must be odd
    /// and below 16; `None` unless 17 divides m.
    pub fn new(ring: &Ring, second_class: usize) -> Option<Self> {
        if ring.rows() != 16 || second_class.is_multiple_of(2) || second_class > 15 {
            return None;
        }
        let (whole, ring) = (ring, &ring.base());
        let half_cols = ring.cols().div_ceil(2);
        let mut out = Self {
            ring: ring.clone(),
            whole: whole.clone(),
            second: second_class,
            half_cols,
            origin: Vec::new(),
            kernels: core::array::from_fn(|i| {
                axis_kernels(ring, i).map(|k| k.into_iter().map(times).collect())
            }),
        };
        let step = ring.frobenius(1);
        out.origin = vec![(0, 0); 16 * half_cols * ring.lanes()];
        for slot in 0..out.half_count() {
            let mut position = out.position(slot);
            for k in 0..8 {
                // (σ a)(f) = a(f + log 2): walking along the orbit squares the value
                let at = out.folded(position);
                out.origin[at] = (slot as u16, k);
                position = step.source(position);
            }
        }
        Some(out)
    }

    /// The tables of [`encode`](Self::encode) in R, for kernels elsewhere.
    pub fn encoding(&self) -> Encoding<'_> {
        Encoding {
            origin: &self.origin,
            kernels: self.kernels.each_ref().map(|[encoding, _]| &encoding[..]),
        }
    }

    /// Number of slots: bytes per plaintext.
    pub fn count(&self) -> usize {
        self.whole.halves() * self.half_count()
    }

    /// Slots of a plaintext of R, which lie in one half of those of K.
    pub fn half_count(&self) -> usize {
        2 * self.half_cols * self.ring.lanes()
    }

    /// e17 of the second class of representatives.
    pub fn second_class(&self) -> usize {
        self.second
    }

    /// Slots of one run, which adding to e257 rotates.
    pub fn run_len(&self) -> usize {
        self.half_cols
    }

    /// Number of slots along e3, e5 and e257.
    pub fn axes(&self) -> [usize; 3] {
        let [_, _, n3, n5] = self.ring.lens();
        [n3, n5, self.half_cols]
    }

    /// Slot of the first half with representative of class `class` (0 or 1) and coordinates e3, e5, e257; each modulo
    /// its length.
    pub fn slot(&self, class: usize, [e3, e5, e257]: [usize; 3]) -> usize {
        let [_, _, n3, n5] = self.ring.lens();
        let lane = e3 % n3 * n5 + e5 % n5;
        (class % 2 * self.ring.lanes() + lane) * self.half_cols + e257 % self.half_cols
    }

    /// Embedding that represents `slot`.
    fn position(&self, slot: usize) -> usize {
        let lanes = self.ring.lanes();
        let (run, col) = (slot / self.half_cols, slot % self.half_cols);
        let (class, lane) = (run / lanes, run % lanes);
        let row = if class == 0 { 0 } else { self.second };
        (row * self.ring.cols() + col) * lanes + lane
    }

    /// Index of an embedding among those with e257 below 128; columns lead, to keep blocks of the long axis
    /// contiguous.
    fn folded(&self, position: usize) -> usize {
        let lanes = self.ring.lanes();
        let (vector, lane) = (position / lanes, position % lanes);
        let (row, col) = (vector / self.ring.cols(), vector % self.ring.cols());
        ((col % self.half_cols) * 16 + row) * lanes + lane
    }

    /// Coefficients (0 or 1) of the polynomial with the given bytes in its slots.
    ///
    /// # Panics
    /// If `bytes.len()` is not [`Self::count`] or `out.len()` not n.
    pub fn encode(&self, bytes: &[u8], out: &mut [u64]) {
        assert!(bytes.len() == self.count() && out.len() == self.whole.n());
        if self.whole.halves() == 1 {
            return self.encode_half(bytes, out);
        }
        let mut bits = Zeroizing::new(vec![0; self.ring.n()]);
        out.fill(0);
        for (number, bytes) in bytes.chunks_exact(self.half_count()).enumerate() {
            self.encode_half(bytes, &mut bits);
            let rows = out.chunks_exact_mut(self.whole.row_len());
            for (row, bits) in rows.zip(bits.chunks_exact(self.ring.row_len())) {
                let (first, second) = row.split_at_mut(bits.len());
                for ((x, y), &bit) in first.iter_mut().zip(second).zip(bits) {
                    *x |= bit * u64::from(number == 0);
                    *y ^= bit;
                }
            }
        }
    }

    fn encode_half(&self, bytes: &[u8], out: &mut [u64]) {
        // row k: every byte to the power 2^k
        let mut powers = Zeroizing::new(vec![0u8; 8 * bytes.len()]);
        powers[..bytes.len()].copy_from_slice(bytes);
        let square: Linear = core::array::from_fn(|i| gf256::mul(1 << i, 1 << i));
        for k in 1..8 {
            let (done, rest) = powers.split_at_mut(k * bytes.len());
            add_image(&square, &done[(k - 1) * bytes.len()..], rest);
        }
        let origin = self.origin.iter();
        let mut values = Zeroizing::new(
            origin
                .map(|&(slot, k)| powers[usize::from(k) * bytes.len() + usize::from(slot)])
                .collect::<Vec<u8>>(),
        );
        self.correlate(0, &mut values);
        for (i, o) in out.iter_mut().enumerate() {
            let bit = values[self.folded(i)];
            debug_assert!(bit < 2);
            *o = u64::from(bit);
        }
    }

    /// Bytes in the slots of the polynomial with coefficients `bits` (0 or 1).
    ///
    /// # Errors
    /// If the polynomial is outside that subring. If 257 divides m, a random one is inside with probability 2^-(n/2).
    ///
    /// # Panics
    /// If `bits.len()` is not n.
    pub fn decode(&self, bits: &[u64]) -> Result<Vec<u8>, NotBytes> {
        assert_eq!(bits.len(), self.whole.n());
        if self.whole.halves() == 1 {
            return self.decode_half(bits);
        }
        let len = self.ring.row_len();
        let mut out = Vec::with_capacity(self.count());
        for number in 0..2 {
            let rows = bits.chunks_exact(2 * len).flat_map(|row| {
                let sum = move |i: usize| row[i] ^ (row[len + i] * number);
                (0..len).map(sum)
            });
            let half = Zeroizing::new(rows.collect::<Vec<u64>>());
            out.extend_from_slice(&Zeroizing::new(self.decode_half(&half)?));
        }
        Ok(out)
    }

    fn decode_half(&self, bits: &[u64]) -> Result<Vec<u8>, NotBytes> {
        let mut values = Zeroizing::new(vec![0u8; self.origin.len()]);
        let mut mismatch = 0;
        for (i, &b) in bits.iter().enumerate() {
            let (bit, v) = ((b & 1) as u8, &mut values[self.folded(i)]);
            if i / self.ring.lanes() % self.ring.cols() < self.half_cols {
                *v = bit;
            } else {
                mismatch |= *v ^ bit; // the coefficient at -e257 must agree
            }
        }
        if mismatch != 0 {
            return Err(NotBytes);
        }
        self.correlate(1, &mut values);
        Ok((0..self.half_count())
            .map(|s| values[self.folded(self.position(s))])
            .collect())
    }

    /// One correlation per axis, in GF(2^8).
    fn correlate(&self, direction: usize, values: &mut [u8]) {
        let lanes = self.ring.lanes();
        let [_, _, n3, n5] = self.ring.lens();
        // (axis, its length, words inside it) in the folded layout
        for (axis, len, inner) in [
            (1, self.half_cols, 16 * lanes),
            (0, 16, lanes),
            (2, n3, n5),
            (3, n5, 1),
        ] {
            let kernel = &self.kernels[axis][direction];
            if kernel.is_empty() {
                continue;
            }
            let mut sum = vec![0u8; len * inner];
            for block in values.chunks_exact_mut(len * inner) {
                sum.fill(0);
                for (f, out) in sum.chunks_exact_mut(inner).enumerate() {
                    for (e, x) in block.chunks_exact(inner).enumerate() {
                        add_image(&kernel[(e + f) % len], x, out);
                    }
                }
                block.copy_from_slice(&sum);
            }
            sum.zeroize();
        }
    }

    /// Exponents k ∈ 0..17, at most eight, with Σ ζ_17^k = the byte `c` in every slot (modulo 2).
    ///
    /// |Σ ζ_17^k|^2 averages w(17 - w)/16 over the embeddings, w being their number.
    pub fn constant(&self, c: u8) -> Vec<u8> {
        let step = self.ring.frobenius(1).line_shift;
        let mut values = [0u8; 16];
        for class in [0, self.second] {
            let (mut x, mut at) = (c, class);
            for _ in 0..8 {
                values[at] = x;
                x = gf256::mul(x, x);
                at = (at + step) % 16;
            }
        }
        let kernel = &self.kernels[0][0];
        let mut exponent = 1u8;
        let mut chosen = Vec::new();
        for e in 0..16 {
            let bit = (0..16).fold(0, |s, f| s ^ gf256::mul(kernel[(e + f) % 16][0], values[f]));
            if bit == 1 {
                chosen.push(exponent);
            }
            exponent = (u16::from(exponent) * 3 % 17) as u8;
        }
        if chosen.len() > 8 {
            // 1 + ζ + … + ζ^16 = 0
            chosen = (0..17).filter(|k| !chosen.contains(k)).collect();
        }
        chosen.sort_unstable();
        chosen
    }
}

/// `[to coefficients, to values]` for one axis: V(e) = η^(-g^e) + 1 and W(e) = η^(g^e), or for 257
/// the sums over ±: both η^(g^e) + η^(-g^e).
fn axis_kernels(ring: &Ring, axis: usize) -> [Vec<u8>; 2] {
    let Some((_, r, g)) = ring.factors().find(|&(i, _, _)| i == axis) else {
        return [Vec::new(), Vec::new()];
    };
    if r == 257 {
        let t = traces_257();
        let mut k = 1u64;
        let kernel: Vec<u8> = (0..128)
            .map(|_| {
                let v = t[k as usize];
                k = k * g % 257;
                v
            })
            .collect();
        return [kernel.clone(), kernel];
    }
    let eta = (2..=255u8)
        .map(|x| gf256::pow(x, (255 / r) as u32))
        .find(|&x| x != 1)
        .expect("r divides the order of GF(2^8)^*");
    let mut k = 1;
    let values: Vec<u8> = (1..r)
        .map(|_| {
            let v = gf256::pow(eta, k as u32);
            k = k * g % r;
            v
        })
        .collect();
    // η^(-k) is η^(g^(e + len/2))
    let half = values.len() / 2;
    let dual = (0..values.len()).map(|e| values[(e + half) % values.len()] ^ 1);
    [dual.collect(), values.clone()]
}

/// η^k + η^{-k} for an η ∈ GF(2^16) of order 257, by the recursion t_{k+1} = t_1 t_k + t_{k-1}.
///
/// X^2 + t X + 1 irreducible over GF(2^8) has roots of norm 1, hence of order 257; it is irreducible
/// exactly when no k < 257 other than 0 gives t_k = 0 and t_257 returns to t_0 = 0.
fn traces_257() -> Vec<u8> {
    (2..=255u8)
        .map(|t| {
            let mut seq = vec![0, t];
            for k in 1..257usize {
                seq.push(gf256::mul(t, seq[k]) ^ seq[k - 1]);
            }
            seq
        })
        .find(|seq| seq[257] == 0 && seq[1..257].iter().all(|&x| x != 0))
        .expect("elements of order 257 exist")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transform;
    use crate::tests::{PRIMES, rings};

    fn bytes(n: usize, seed: u64) -> Vec<u8> {
        let byte = |i: u64| ((i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u8;
        (0..n as u64).map(byte).collect()
    }

    /// Product of two polynomials modulo 2 and Φ_m: of integers below a large prime.
    fn multiply(ring: &Ring, a: &[u64], b: &[u64]) -> Vec<u64> {
        let prime = PRIMES.into_iter().rev().find(|&p| ring.admits(p));
        let t = Transform::new(ring, prime.unwrap()).unwrap();
        let m = t.modulus();
        let [a, mut product] = [a, b].map(|x| {
            let mut values = x.to_vec();
            t.forward(&mut values);
            values
        });
        for (x, &y) in product.iter_mut().zip(&a) {
            *x = m.mul(m.canonical(*x), m.canonical(y));
        }
        t.inverse(&mut product);
        let centred = product.into_iter().map(|x| m.canonical(x));
        centred.map(|x| x.min(m.p() - x) % 2).collect()
    }

    #[test]
    fn encoding_inverts_and_is_a_ring_map() {
        for ring in rings([17u64, 255, 4369]) {
            let m = ring.m();
            let slots = Slots::new(&ring, 7).unwrap();
            let (x, y) = (bytes(slots.count(), 1), bytes(slots.count(), 99));
            let (mut a, mut b) = (vec![0; ring.n()], vec![0; ring.n()]);
            slots.encode(&x, &mut a);
            slots.encode(&y, &mut b);
            assert_eq!(slots.decode(&a).unwrap(), x);
            let product = slots.decode(&multiply(&ring, &a, &b)).unwrap();
            let want = x.iter().zip(&y).map(|(&x, &y)| gf256::mul(x, y));
            assert!(want.eq(product), "m = {m}");
            let map = ring.frobenius(3);
            let moved = (0..ring.n()).map(|i| a[map.coefficient_source(&ring, i)]);
            let moved = slots.decode(&moved.collect::<Vec<u64>>()).unwrap();
            assert!(x.iter().map(|&x| gf256::pow(x, 8)).eq(moved), "m = {m}");
        }
    }

    #[test]
    fn constants_are_short_and_equal_in_all_slots() {
        let seconds = [7, 7, 9, 9];
        for (ring, second) in rings([255u64, 4369]).into_iter().zip(seconds) {
            let slots = Slots::new(&ring, second).unwrap();
            for c in [0u8, 1, 2, 3, 0x63, 0x8f, 0xf9, 255] {
                let k = slots.constant(c);
                assert!(k.len() <= 8);
                // ζ_17^k as a polynomial: 1 elsewhere, i.e. minus the sum over each other axis
                let mut bits = vec![0u64; ring.n()];
                for &k in &k {
                    for (i, bit) in bits.iter_mut().enumerate() {
                        let e = ring.exponent(i) % 17;
                        let power = k == 0 || e == u64::from(k);
                        *bit ^= u64::from(power && ring.half(i) == 0);
                    }
                }
                assert_eq!(slots.decode(&bits).unwrap(), vec![c; slots.count()]);
            }
        }
    }

    #[test]
    fn all_slots_round_trip_at_full_size_and_garbage_is_refused() {
        let ring = Ring::new(65535).unwrap();
        let slots = Slots::new(&ring, 7).unwrap();
        let x = bytes(2048, 5);
        let mut a = vec![0; ring.n()];
        slots.encode(&x, &mut a);
        assert_eq!(slots.decode(&a).unwrap(), x);
        a[77] ^= 1;
        assert_eq!(slots.decode(&a), Err(NotBytes));
        assert!(Slots::new(&ring, 2).is_none());
        assert!(Slots::new(&Ring::new(15).unwrap(), 7).is_none());
    }
}
