//! The exact transform between coefficients in the normal basis and values at all embeddings.
//!
//! With both sides labelled by G (see [`crate::ring`]) evaluation is a correlation with one kernel:
//! `a(ω^f) = Σ_e a[e] W(e + f)`, W(e) = ω^(exponent e). It splits over the axes (Rader's trick on each
//! prime r), and on an axis of length N = r - 1 a correlation with kernel K is
//!
//! ```text
//! DFT_N (root w)  ->  multiply by K̂(χ)/N, K̂(χ) = Σ_g K(g) w^{-χ g}  ->  DFT_N (root w)
//! ```
//!
//! with the *same* root twice. In the portable twin, the first DFT is decimated in frequency and leaves
//! digit-reversed order, the second is decimated in time and undoes it, so there is no reordering pass. The vector
//! twin uses one DFT of sixteen registers for both and reorders by naming. The inverse is the same circuit with the
//! dual kernel V(e) = (ω_r^{-g^e} - 1)/r: only the middle constants change. Both kernels sum to -1, which saves
//! products on the short axes.
//!
//! In K = R\[w\] the transform begins with one level of butterflies between the halves of each row: `(a_0, a_1) ->
//! (a_0 + w a_1, a_0 + w' a_1)`, w' = 1 - w. It acts on an axis of its own, so it may come first in both
//! directions.
//!
//! Cost at n = 32768: as much as 30 butterfly levels, 24 of them on the axes of 17 and 257 and the rest by direct
//! sums on 3 and 5. A power-of-two transform has half as many, but twiddles between axes; `homaes bench kernels`
//! compares with `tfhe-ntt`.

use crate::kernel::{self, Tensor};
use crate::modulus::{MAX_MODULUS_BITS, Modulus, Shoup};
use crate::prime::{quadratic_root, root_of_unity};
use crate::ring::Ring;
use crate::simd;
use core::iter::successors;

/// One axis in one direction, for the portable twin.
#[derive(Clone, Debug)]
struct Axis {
    /// the kernel itself, for axes of length 2 and 4
    short: Vec<Shoup>,
    /// K̂(χ)/N in bit-reversed order, for longer axes
    middle: Vec<Shoup>,
    /// w^0 … w^{N-1}
    roots: Vec<Shoup>,
}

/// The butterflies of K, from left to right:
///
/// ```text
/// forward   b = a_1           (a_0, a_1) -> (a_0 + w b, a_0 + b - w b)
/// inverse   b = (x - x')·c    (x, x')   -> (x - w b, b)                  c = 1/(w - w') = 1/(2w - 1)
/// ```
#[derive(Clone, Copy, Debug)]
pub(crate) struct Halves {
    /// w
    pub(crate) root: Shoup,
    /// c, for the inverse
    pub(crate) scale: Option<Shoup>,
}

impl Halves {
    /// `None` for R.
    fn new(ring: &Ring, m: &Modulus, dir: Direction) -> Option<Self> {
        let new = || {
            let w = quadratic_root(m);
            let inverse = || m.shoup(m.inv(m.sub(m.add(w, w), 1)));
            Self {
                root: m.shoup(w),
                scale: (dir == Direction::Inverse).then(inverse),
            }
        };
        (ring.halves() == 2).then(new)
    }

    /// The butterflies as a matrix: for each half, the factors of its own number and of the other's.
    pub(crate) fn factors(&self, m: &Modulus) -> [[u64; 2]; 2] {
        let w = self.root.w;
        match self.scale {
            None => [[1, w], [m.sub(1, w), 1]],
            Some(Shoup { w: c, .. }) => {
                let product = m.mul(w, c);
                [[m.sub(1, product), product], [m.sub(0, c), c]]
            }
        }
    }
}

/// Constants of one direction of the transform on eight lanes. A DFT on the axis of 257 is two of length 16.
#[derive(Clone, Debug)]
pub struct Constants {
    /// w^0 … w^7 for the root of a DFT of length 16 on the axis of 257, then of 17
    pub root16: [[u64; 8]; 2],
    /// between the two DFTs of 16 in one on the axis of 257, at 16 j + k
    pub twiddle: Vec<u64>,
    /// between the two DFTs on the axis of 257, at 16 k1 + k2
    pub middle257: Vec<u64>,
    /// between the two DFTs on the axis of 17, joined with the correlations on the axes of 3 and 5 after their
    /// butterflies: by row, the factors of each lane's own number and of its neighbour's
    pub joined: Vec<[[u64; 8]; 2]>,
    /// in K, between the halves: for each half, the factors of its own number and of the other's
    pub halves: Option<[[u64; 2]; 2]>,
}

/// Where a transform takes its input from: n lazy words.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// The limb that receives the result.
    InPlace,
    /// Another limb.
    Limb(&'a [u64]),
    /// The component of a product that [`kernel::tensor_part`] computes, under σ(s) (0) or s·σ(s) (1).
    Product(&'a Tensor<'a>, usize),
}

/// Tables of the transform modulo one prime. All methods panic on slices of the wrong length.
#[derive(Clone, Debug)]
pub struct Transform {
    ring: Ring,
    modulus: Modulus,
    forward: [Axis; 4],
    inverse: [Axis; 4],
    /// in K, forward and inverse
    halves: Option<[Halves; 2]>,
    /// ω_17^(k 3^row) at \[row\]\[k\]
    powers_17: Vec<[u64; 17]>,
    fast: Option<(simd::VectorTables, simd::VectorTables)>,
}

impl Transform {
    /// Tables for `ring` modulo `p`; `None` unless p is a prime below 2^48 that the ring admits ([`Ring::admits`]).
    pub fn new(ring: &Ring, p: u64) -> Option<Self> {
        if !ring.admits(p)
            || !crate::prime::is_prime(p)
            || p >> MAX_MODULUS_BITS != 0
            || p >> 16 == 0
        {
            return None;
        }
        let modulus = Modulus::new(p);
        let forward = axes(ring, &modulus, Direction::Forward);
        let inverse = axes(ring, &modulus, Direction::Inverse);
        let halves = Halves::new(ring, &modulus, Direction::Forward).zip(Halves::new(
            ring,
            &modulus,
            Direction::Inverse,
        ));
        // the vector twins need a long axis
        let fast = if ring.has_long_axis() {
            let table = |dir| {
                simd::VectorTables::new(ring, &modulus, || short_kernels(ring, &modulus, dir))
            };
            table(Direction::Forward).zip(table(Direction::Inverse))
        } else {
            None
        };
        Some(Self {
            ring: ring.clone(),
            modulus,
            forward,
            inverse,
            halves: halves.map(|(forward, inverse)| [forward, inverse]),
            powers_17: powers_17(ring, &modulus),
            fast,
        })
    }

    /// The ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The prime.
    pub fn modulus(&self) -> &Modulus {
        &self.modulus
    }

    /// Coefficients (lazy) to values (lazy), in place.
    pub fn forward(&self, a: &mut [u64]) {
        assert_eq!(a.len(), self.ring.n());
        self.forward_rows(a);
        self.forward_columns(a);
    }

    /// The first half of [`forward`](Self::forward), on some whole rows ([`Ring::row_len`]) while they are in the
    /// cache. [`forward_columns`](Self::forward_columns) is the second half.
    pub fn forward_rows(&self, rows: &mut [u64]) {
        assert!(rows.len().is_multiple_of(self.ring.row_len()));
        // the portable twin does everything in the second half
        if let Some((fwd, _)) = &self.fast {
            simd::rows(&self.modulus, fwd, rows);
        }
    }

    /// The second half of [`forward`](Self::forward).
    pub fn forward_columns(&self, a: &mut [u64]) {
        assert_eq!(a.len(), self.ring.n());
        match &self.fast {
            Some((fwd, _)) => simd::columns(&self.modulus, fwd, a),
            None => self.portable(Direction::Forward, a),
        }
    }

    /// The second half of [`forward`](Self::forward), plus `c·source`, lazy:
    /// [`forward_columns`](Self::forward_columns) and [`scale_add`](kernel::scale_add), in one pass through memory on
    /// 52-bit integer kernels.
    pub fn forward_columns_plus(&self, source: &[u64], c: Shoup, a: &mut [u64]) {
        assert!(a.len() == self.ring.n() && source.len() == a.len());
        match self.integer_tables() {
            Some(forward) => simd::columns_plus(&self.modulus, forward, source, c, a),
            None => {
                self.forward_columns(a);
                kernel::scale_add(&self.ring, &self.modulus, source, c, a);
            }
        }
    }

    /// The constants of both directions, forward first, for kernels elsewhere; `None` for rings without vector
    /// kernels.
    pub fn constants(&self) -> Option<[Constants; 2]> {
        if self.ring.lanes() != 8 || !self.ring.has_long_axis() {
            return None;
        }
        Some([Direction::Forward, Direction::Inverse].map(|dir| {
            let kernels = short_kernels(&self.ring, &self.modulus, dir);
            simd::Tables::new(&self.ring, &self.modulus, &kernels)
                .constants(&self.modulus, &kernels)
        }))
    }

    /// Forward tables of the 52-bit integer kernels, if these are in use.
    pub(crate) fn integer_tables(&self) -> Option<&simd::IntegerTables> {
        let (forward, _) = self.fast.as_ref()?;
        forward.integers()
    }

    /// Values (lazy) to coefficients (lazy), in place.
    pub fn inverse(&self, a: &mut [u64]) {
        assert_eq!(a.len(), self.ring.n());
        match &self.fast {
            Some((_, inv)) => {
                simd::rows(&self.modulus, inv, a);
                simd::columns(&self.modulus, inv, a);
            }
            None => self.portable(Direction::Inverse, a),
        }
    }

    /// [`inverse`](Self::inverse) of `source` to `out`, times c, canonical:
    /// [`scale_canonical`](kernel::scale_canonical) of the coefficients. On 52-bit integer kernels, copy, product and
    /// scaling take no extra pass through memory.
    pub fn inverse_scaled(&self, source: Source<'_>, c: Shoup, out: &mut [u64]) {
        assert_eq!(out.len(), self.ring.n());
        let tables = self.fast.as_ref().and_then(|(_, inv)| inv.integers());
        if let Some(inverse) = tables {
            return simd::transform_scaled(&self.modulus, inverse, source, c, out);
        }
        match source {
            Source::InPlace => {}
            Source::Limb(source) => out.copy_from_slice(source),
            Source::Product(product, part) => {
                kernel::tensor_part(&self.ring, &self.modulus, product, part, out);
            }
        }
        self.inverse(out);
        kernel::scale_canonical(&self.ring, &self.modulus, c, out);
    }

    /// From K to R: a and a + b, in evaluation form, of the polynomial a + w·b with these values; all lazy.
    ///
    /// # Panics
    /// In R.
    pub fn halves(&self, values: &[u64], [first, second]: [&mut [u64]; 2]) {
        let [_, inverse] = self.halves.as_ref().expect("a ring with halves");
        assert!(values.len() == self.ring.n());
        assert!(first.len() == second.len() && 2 * first.len() == values.len());
        let mut pairs = values.to_vec();
        self.between_halves(inverse, &mut pairs);
        let len = self.ring.row_len() / 2;
        let rows = first
            .chunks_exact_mut(len)
            .zip(second.chunks_exact_mut(len));
        for (row, (first, second)) in pairs.chunks_exact(2 * len).zip(rows) {
            let (a, b) = row.split_at(len);
            first.copy_from_slice(a);
            for ((sum, a), b) in second.iter_mut().zip(a).zip(b) {
                *sum = Modulus::sub_if_ge(a + b, 2 * self.modulus.p());
            }
        }
    }

    /// Σ ζ_17^k over the given exponents below 17, as one canonical plain value per row; empty if 17 does not divide
    /// m.
    pub fn row_values(&self, exponents: &[u8]) -> Vec<u64> {
        let m = &self.modulus;
        self.powers_17
            .iter()
            .map(|powers| {
                let terms = exponents.iter().map(|&k| powers[usize::from(k)]);
                terms.fold(0, |s, t| m.add(s, t))
            })
            .collect()
    }

    /// The portable twin: one axis after the other, radix 2.
    fn portable(&self, dir: Direction, a: &mut [u64]) {
        let axes = match dir {
            Direction::Forward => &self.forward,
            Direction::Inverse => &self.inverse,
        };
        if let Some(halves) = &self.halves {
            self.between_halves(&halves[dir as usize], a);
        }
        let mut inner = self.ring.n();
        for (number, (axis, len)) in axes.iter().zip(self.ring.lens()).enumerate() {
            // blocks of the axes after that of 17 lie within one half
            let halves = if number == 1 { self.ring.halves() } else { 1 };
            inner /= halves * len;
            match len {
                1 => {}
                2 => self.direct::<2>(axis, a, inner),
                4 => self.direct::<4>(axis, a, inner),
                _ => {
                    for block in a.chunks_exact_mut(len * inner) {
                        self.dft_frequency(axis, block, inner);
                        for (row, &c) in block.chunks_exact_mut(inner).zip(&axis.middle) {
                            for x in row {
                                *x = self.modulus.mul_shoup(*x, c);
                            }
                        }
                        self.dft_time(axis, block, inner);
                    }
                }
            }
        }
    }

    /// The butterflies of K.
    fn between_halves(&self, halves: &Halves, a: &mut [u64]) {
        let (m, p2) = (&self.modulus, 2 * self.modulus.p());
        let less = |x: u64, y: u64| Modulus::sub_if_ge(x + p2 - y, p2);
        for row in a.chunks_exact_mut(self.ring.row_len()) {
            let (first, second) = row.split_at_mut(row.len() / 2);
            by_eights(first, second, |x, y| match halves.scale {
                None => {
                    let product = m.mul_shoup(*y, halves.root);
                    let sum = Modulus::sub_if_ge(*x + *y, p2);
                    (*x, *y) = (Modulus::sub_if_ge(*x + product, p2), less(sum, product));
                }
                Some(scale) => {
                    *y = m.mul_shoup(less(*x, *y), scale);
                    *x = less(*x, m.mul_shoup(*y, halves.root));
                }
            });
        }
    }

    /// A short axis by definition.
    fn direct<const N: usize>(&self, axis: &Axis, a: &mut [u64], inner: usize) {
        let k: &[Shoup; N] = axis.short.first_chunk().expect("one constant per element");
        for block in a.chunks_exact_mut(N * inner) {
            let mut rows = block.chunks_exact_mut(inner);
            let mut rows: [_; N] = core::array::from_fn(|_| rows.next().expect("N rows"));
            for i in 0..inner {
                let x = rows.each_ref().map(|row| row[i]);
                for (f, row) in rows.iter_mut().enumerate() {
                    let term = |e: usize| self.modulus.mul_shoup(x[e], k[(e + f) % N]);
                    row[i] = self.lazy_sum::<N>(core::array::from_fn(term));
                }
            }
        }
    }

    /// Lazy sum of lazy values.
    #[inline(always)]
    fn lazy_sum<const N: usize>(&self, terms: [u64; N]) -> u64 {
        let p2 = 2 * self.modulus.p();
        let sum = terms.iter().sum::<u64>(); // below 2 N p
        let sum = if N > 2 {
            Modulus::sub_if_ge(sum, 2 * p2)
        } else {
            sum
        };
        Modulus::sub_if_ge(sum, p2)
    }

    /// Natural order in, bit-reversed order out.
    fn dft_frequency(&self, axis: &Axis, block: &mut [u64], inner: usize) {
        for level in (0..axis.roots.len().trailing_zeros()).rev() {
            let apply = |x: &mut u64, y: &mut u64, w| self.butterfly_frequency(x, y, w);
            butterflies(axis, 1 << level, block, inner, apply);
        }
    }

    /// Bit-reversed order in, natural order out.
    fn dft_time(&self, axis: &Axis, block: &mut [u64], inner: usize) {
        for level in 0..axis.roots.len().trailing_zeros() {
            let apply = |x: &mut u64, y: &mut u64, w| self.butterfly_time(x, y, w);
            butterflies(axis, 1 << level, block, inner, apply);
        }
    }

    #[inline(always)]
    fn butterfly_frequency(&self, x: &mut u64, y: &mut u64, w: Shoup) {
        let p2 = 2 * self.modulus.p();
        let (a, b) = (*x, *y);
        *x = Modulus::sub_if_ge(a + b, p2);
        *y = self.modulus.mul_shoup(a + p2 - b, w);
    }

    #[inline(always)]
    fn butterfly_time(&self, x: &mut u64, y: &mut u64, w: Shoup) {
        let p2 = 2 * self.modulus.p();
        let (a, b) = (*x, self.modulus.mul_shoup(*y, w));
        *x = Modulus::sub_if_ge(a + b, p2);
        *y = Modulus::sub_if_ge(a + p2 - b, p2);
    }
}

/// A level of butterflies on rows that are `half` apart.
#[inline(always)]
fn butterflies(
    axis: &Axis,
    half: usize,
    block: &mut [u64],
    inner: usize,
    butterfly: impl Fn(&mut u64, &mut u64, Shoup),
) {
    let step = axis.roots.len() / (2 * half);
    for pair in block.chunks_exact_mut(2 * half * inner) {
        let (lo, hi) = pair.split_at_mut(half * inner);
        let rows = lo.chunks_exact_mut(inner).zip(hi.chunks_exact_mut(inner));
        for ((lo, hi), &w) in rows.zip(axis.roots.iter().step_by(step)) {
            by_eights(lo, hi, |x, y| butterfly(x, y, w));
        }
    }
}

/// Applies `f` to corresponding words in blocks of eight, which the compiler unrolls.
#[inline(always)]
fn by_eights(lo: &mut [u64], hi: &mut [u64], f: impl Fn(&mut u64, &mut u64)) {
    let (lo8, lo_rest) = lo.as_chunks_mut::<8>();
    let (hi8, hi_rest) = hi.as_chunks_mut::<8>();
    for (lo, hi) in lo8.iter_mut().zip(hi8) {
        for (x, y) in lo.iter_mut().zip(hi) {
            f(x, y);
        }
    }
    for (x, y) in lo_rest.iter_mut().zip(hi_rest) {
        f(x, y);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Inverse,
}

/// The correlation kernel of one prime r: W(e) = ω^(g^e), or its dual V(e) = (ω^(-g^e) - 1)/r.
fn axis_kernel(m: &Modulus, r: u64, g: u64, dir: Direction) -> Vec<u64> {
    let omega = root_of_unity(m, r, &[3, 5, 17, 257]);
    let powers: Vec<u64> = m.powers(omega).take(r as usize).collect();
    let r_inv = m.inv(r);
    let exponents = successors(Some(1), |&exponent| Some(exponent * g % r));
    exponents
        .take(r as usize - 1)
        .map(|exponent| match dir {
            Direction::Forward => powers[exponent as usize],
            Direction::Inverse => m.mul(m.sub(powers[(r - exponent) as usize], 1), r_inv),
        })
        .collect()
}

/// Σ_j x_j w^{jχ} for χ = 0 … N-1, where w has the order N, a power of two (Cooley–Tukey).
fn spectrum(m: &Modulus, x: &[u64], w: u64) -> Vec<u64> {
    if x.len() == 1 {
        return x.to_vec();
    }
    let half = |odd: usize| -> Vec<u64> { x[odd..].iter().step_by(2).copied().collect() };
    let [even, odd] = [half(0), half(1)].map(|x| spectrum(m, &x, m.mul(w, w)));
    let odd: Vec<u64> = odd
        .iter()
        .zip(m.powers(w))
        .map(|(&x, power)| m.mul(x, power))
        .collect();
    let pairs = || even.iter().zip(&odd);
    let low = pairs().map(|(&x, &y)| m.add(x, y));
    low.chain(pairs().map(|(&x, &y)| m.sub(x, y))).collect()
}

/// The kernels of all axes, for the vector twin.
pub(crate) struct Kernels {
    /// per axis: kernel values (empty when absent)
    pub(crate) direct: [Vec<u64>; 4],
    /// per axis: K̂(χ)/N for χ = 0 … N-1 (axes 17 and 257)
    pub(crate) middle: [Vec<u64>; 4],
    /// root w of the axis
    pub(crate) root: [u64; 4],
    /// in K
    pub(crate) halves: Option<Halves>,
}

fn short_kernels(ring: &Ring, m: &Modulus, dir: Direction) -> Kernels {
    let mut out = Kernels {
        direct: Default::default(),
        middle: Default::default(),
        root: [1; 4],
        halves: Halves::new(ring, m, dir),
    };
    for (i, r, g) in ring.factors() {
        let k = axis_kernel(m, r, g, dir);
        let len = k.len() as u64;
        let w = root_of_unity(m, len, &[2]);
        if len > 4 {
            let n_inv = m.inv(len);
            let sums = spectrum(m, &k, m.inv(w));
            out.middle[i] = sums.into_iter().map(|sum| m.mul(sum, n_inv)).collect();
        }
        out.root[i] = w;
        out.direct[i] = k;
    }
    out
}

/// ω_17^(k 3^row), for rings with the prime 17.
fn powers_17(ring: &Ring, m: &Modulus) -> Vec<[u64; 17]> {
    if ring.rows() == 1 {
        return Vec::new();
    }
    let omega = root_of_unity(m, 17, &[17]);
    let mut g = 1;
    (0..ring.rows())
        .map(|_| {
            let w = m.pow(omega, g);
            g = g * 3 % 17;
            core::array::from_fn(|k| m.pow(w, k as u64))
        })
        .collect()
}

fn axes(ring: &Ring, m: &Modulus, dir: Direction) -> [Axis; 4] {
    let k = short_kernels(ring, m, dir);
    core::array::from_fn(|i| {
        let n = k.middle[i].len();
        let bits = n.trailing_zeros();
        Axis {
            short: if n == 0 {
                k.direct[i].iter().map(|&x| m.shoup(x)).collect()
            } else {
                Vec::new()
            },
            middle: (0..n)
                .map(|j| {
                    let chi = j.reverse_bits() >> (usize::BITS - bits);
                    m.shoup(k.middle[i][chi])
                })
                .collect(),
            roots: m.powers(k.root[i]).take(n).map(|x| m.shoup(x)).collect(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{PRIMES, SPECIAL, WIDE, limb, rings, same_on_each};

    /// Runs `f` on every backend; all give the same.
    fn on_all<T: PartialEq>(ring: &Ring, p: u64, f: impl Fn(&Ring, &Transform) -> T) {
        same_on_each(ring, |ring| f(ring, &Transform::new(ring, p).unwrap()));
    }

    fn canonical(t: &Transform, words: &[u64]) -> Vec<u64> {
        assert!(words.iter().all(|&x| x < 2 * t.modulus().p()));
        words.iter().map(|&x| t.modulus().canonical(x)).collect()
    }

    fn by_rows(ring: &Ring, t: &Transform, a: &[u64]) -> Vec<u64> {
        let mut out = a.to_vec();
        out.chunks_mut(ring.row_len())
            .for_each(|row| t.forward_rows(row));
        out
    }

    /// The value at embedding f, summed over the normal basis, for the `exponents` of all positions, the `powers` of ω
    /// and the values of 1 and w in the half of f.
    fn naive(
        m: &Modulus,
        ring: &Ring,
        (exponents, powers, ones): (&[u64], &[u64], [u64; 2]),
        a: &[u64],
        f: usize,
    ) -> u64 {
        let terms = a.iter().enumerate().map(|(i, &c)| {
            let k = exponents[i] * exponents[f] % powers.len() as u64;
            m.mul(m.mul(c, powers[k as usize]), ones[ring.half(i)])
        });
        terms.fold(0, |sum, term| m.add(sum, term))
    }

    #[test]
    fn equals_naive_evaluation_and_inverts() {
        for ring in rings([3u64, 5, 15, 17, 85, 255, 257, 3855, 4369, 65535]) {
            let m = ring.m();
            let exponents: Vec<u64> = (0..ring.n()).map(|i| ring.exponent(i)).collect();
            for p in PRIMES.into_iter().filter(|&p| p > 65_537 && ring.admits(p)) {
                on_all(&ring, p, |ring, t| {
                    let a = limb(ring.n(), p, 1);
                    let (mut b, mut halves) = (a.clone(), by_rows(ring, t, &a));
                    t.forward(&mut b);
                    t.forward_columns(&mut halves);
                    assert!(b == halves);
                    let out = canonical(t, &b);
                    // ζ = ∏ ζ_r, and x_r = ζ_r: exponent k acts on each factor separately
                    let modulus = t.modulus();
                    let omega = ring.factors().fold(1, |omega, (_, r, _)| {
                        modulus.mul(omega, root_of_unity(modulus, r, &[3, 5, 17, 257]))
                    });
                    let powers: Vec<u64> = modulus.powers(omega).take(m as usize).collect();
                    for f in [0, 1, ring.n() / 3, ring.n() - 1] {
                        let w = t.halves.map_or(0, |[forward, _]| forward.root.w);
                        let w = [w, modulus.sub(1, w)][ring.half(f)];
                        let want = naive(modulus, ring, (&exponents, &powers, [1, w]), &a, f);
                        assert_eq!(out[f], want, "m {m} p {p} at {f}");
                    }
                    t.inverse(&mut b);
                    assert_eq!(canonical(t, &b), a, "m {m} p {p}");
                    out
                });
            }
        }
    }

    #[test]
    fn fused_ends_are_those_of_kernels() {
        // the first two are hardly above 2^16
        let primes = [77_521, 102_001].into_iter().chain(PRIMES);
        let rings = rings([15, 17, 255, 3855, 65535]);
        let all = primes.flat_map(|p| rings.iter().map(move |ring| (ring, p)));
        for (ring, p) in all.filter(|(ring, p)| ring.admits(*p) && ring.n() > 8) {
            let m = ring.m();
            on_all(ring, p, |ring, t| {
                let modulus = t.modulus();
                let inputs = [limb(ring.n(), 2 * p, 1), vec![2 * p - 1; ring.n()]];
                let source: Vec<u64> = inputs[0].iter().rev().copied().collect();
                let mut outs = Vec::new();
                for (input, c) in inputs.iter().zip([p - 1, p / 3]) {
                    let c = modulus.shoup(c);
                    let (mut fused, mut plain) = (by_rows(ring, t, input), input.clone());
                    t.forward_columns_plus(&source, c, &mut fused);
                    t.forward(&mut plain);
                    kernel::scale_add(ring, modulus, &source, c, &mut plain);
                    outs.push(canonical(t, &fused));
                    assert_eq!(outs[outs.len() - 1], canonical(t, &plain), "m {m} p {p}");
                    let product = Tensor {
                        x: [input, &source],
                        y: [&source, input],
                        map: &ring.frobenius(1),
                        scale: modulus.shoup(p - 5),
                    };
                    let parts = [0, 1].map(|part| {
                        let mut out = input.clone();
                        kernel::tensor_part(ring, modulus, &product, part, &mut out);
                        out
                    });
                    for (from, limb) in [
                        (Source::InPlace, input),
                        (Source::Limb(&source), &source),
                        (Source::Product(&product, 0), &parts[0]),
                        (Source::Product(&product, 1), &parts[1]),
                    ] {
                        let (mut fused, mut plain) = (input.clone(), limb.clone());
                        t.inverse_scaled(from, c, &mut fused);
                        t.inverse(&mut plain);
                        kernel::scale_canonical(ring, modulus, c, &mut plain);
                        assert_eq!(fused, plain, "m {m} p {p}");
                        outs.push(fused);
                    }
                }
                outs
            });
        }
    }

    #[test]
    fn unusable_primes_are_refused() {
        let ring = Ring::new(255).unwrap();
        assert!(Transform::new(&ring, 1_000_003).is_none()); // prime, wrong class
        assert!(Transform::new(&ring, 4081 * 4080 + 1).is_none());
        assert!(Transform::new(&ring, (1 << 50) + 1).is_none());
        assert!(
            ring.extended().admits(WIDE) && !Ring::new(255).unwrap().extended().admits(SPECIAL)
        );
    }
}
