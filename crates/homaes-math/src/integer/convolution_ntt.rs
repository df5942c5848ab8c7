//! The transform of a convolution modulo one prime, over any [`Lanes`].
//!
//! The L = R·S digits of an integer are R rows of S. Forward:
//!
//! 1. columns: DFTs of R points, and row k times the powers of ω_L^k (the four-step method);
//! 2. rows: DFTs of S points in the cache, by radices 8, 4 and 2 and at the end 64 = 8 × 8.
//!
//! The result keeps the order that the last step leaves; products do not care, and the inverse starts from it.

#![allow(clippy::needless_range_loop, reason = "one position in several arrays")]

use super::dft::{Dft, Roots};
use super::word_lanes::{Consts, LANES, Lanes};
use crate::modulus::{Modulus, Shoup};

/// Columns that the first step takes at a time: two cache lines.
const WIDTH: usize = 2 * LANES;
/// Length of the blocks that rows end in.
pub(super) const BASE: usize = 64;
/// Most rows.
pub(super) const MAX_ROWS: usize = 256;

/// One direction of a transform modulo one prime.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    pub(super) roots: Roots,
    /// of the columns, first to last in forward direction
    pub(super) stages: Vec<Stage>,
    /// per row, in the order of the stages' output
    pub(super) twists: Vec<Twist>,
    /// of the rows, in forward direction
    pub(super) passes: Vec<Pass>,
    /// ω_64^(i j) in lane i of vector j
    pub(super) base: [[[u64; LANES]; 2]; LANES],
}

/// DFTs of `radix` rows at distance `apart`, in blocks of `radix·apart` rows; constants follow (forward) or precede.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) radix: usize,
    pub(super) apart: usize,
    /// ω^(i j) at radix·i + j, for i < apart
    pub(super) twiddles: Vec<Shoup>,
}

/// The powers of one row's constant g.
#[derive(Clone, Debug)]
pub(super) struct Twist {
    /// g^0 … g^7, stored
    pub(super) first: [u64; LANES],
    /// g^8
    pub(super) step: Shoup,
}

/// DFTs of `radix` elements of a row at distance `apart`.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    pub(super) radix: usize,
    pub(super) apart: usize,
    /// vectors of constants: for elements 8i … 8i + 7, output j at radix·i + j
    pub(super) twiddles: Vec<[[u64; LANES]; 2]>,
}

/// How an integer is cut into digits of `bits` bits.
pub(super) struct Split<V> {
    bits: usize,
    word: V,
    next: V,
    low: V,
    high: V,
    mask: V,
    half: V,
    /// 2^47 mod p
    excess: V,
    lower: V,
}

impl<V: Lanes> Split<V> {
    #[inline(always)]
    fn new(bits: usize, m: &Modulus) -> Self {
        let lane = |i: usize| i * bits;
        let mut parts = [[0; LANES]; 4];
        for i in 0..LANES {
            let (word, shift) = (lane(i) / 64, lane(i) % 64);
            parts[0][i] = word as u64;
            // a digit that ends in its word takes nothing from the next
            parts[1][i] = (word as u64 + 1).min(7);
            parts[2][i] = shift as u64;
            parts[3][i] = (64 - shift as u64).min(63);
        }
        Self {
            bits,
            word: V::load(&parts[0]),
            next: V::load(&parts[1]),
            low: V::load(&parts[2]),
            high: V::load(&parts[3]),
            mask: V::splat((1 << bits) - 1),
            half: V::splat(47),
            excess: V::splat((1 << 47) - m.p()),
            lower: V::splat((1 << 47) - 1),
        }
    }

    /// Digits `at` to `at` + 7 modulo p, lazy; `at` is a multiple of eight.
    #[inline(always)]
    fn digits(&self, words: &[u64], at: usize) -> V {
        let bytes = V::load_bytes(words, at / LANES * self.bits);
        let low = bytes.permute(self.word).shr(self.low);
        // a shift of 0 shifts this by 63 instead of 64; the mask removes the extra bit
        let high = bytes.permute(self.next).shl(self.high);
        let digit = low.or(high).and(self.mask);
        let above = digit.shr(self.half);
        above.add_low(self.excess, digit.and(self.lower))
    }
}

/// The transform of the digits of `words` (zeros after its end), times `scale`, lazy.
#[inline(always)]
pub(crate) fn forward<V: Lanes>(
    m: &Modulus,
    t: &Tables,
    scale: Shoup,
    (words, bits): (&[u64], usize),
    out: &mut [u64],
) {
    let split = Split::<V>::new(bits, m);
    let dft = Dft::<V>::new(m, &t.roots);
    let scale = V::splat_factor(scale);
    let rows = t.twists.len();
    let row = out.len() / rows;
    if rows == 1 {
        for (i, x) in out.as_chunks_mut().0.iter_mut().enumerate() {
            split.digits(words, LANES * i).store(x);
        }
    } else {
        let digits = words.len() * 64 / bits + 1;
        columns_forward(&dft, t, &split, (words, digits), out);
    }
    for row in out.chunks_exact_mut(row) {
        row_forward(&dft, t, scale, row);
    }
}

/// Its inverse, from products of a lazy and a stored factor, times `scale`; canonical.
#[inline(always)]
pub(crate) fn inverse<V: Lanes>(m: &Modulus, t: &Tables, scale: Shoup, a: &mut [u64]) {
    let dft = Dft::<V>::new(m, &t.roots);
    let scale = V::splat_factor(scale);
    let rows = t.twists.len();
    let row = a.len() / rows;
    for row in a.chunks_exact_mut(row) {
        row_inverse(&dft, t, row);
    }
    if rows == 1 {
        for x in a.as_chunks_mut().0 {
            let k = dft.consts();
            k.canonical(k.times(V::load(x), scale)).store(x);
        }
    } else {
        columns_inverse(&dft, t, scale, a);
    }
}

type Columns<V> = [[V; WIDTH / LANES]; MAX_ROWS];

macro_rules! powers_of_two {
    ($radix:expr, $apply:ident ! ($($arg:tt)*)) => {
        match $radix {
            2 => $apply!(2, two, $($arg)*),
            4 => $apply!(4, four, $($arg)*),
            _ => $apply!(8, eight, $($arg)*),
        }
    };
}

macro_rules! radices {
    ($radix:expr, $apply:ident ! ($($arg:tt)*)) => {
        match $radix {
            3 => $apply!(3, three, $($arg)*),
            5 => $apply!(5, five, $($arg)*),
            radix => powers_of_two!(radix, $apply!($($arg)*)),
        }
    };
}

#[inline(always)]
fn load_at<V: Lanes>(words: &[u64], at: usize) -> V {
    V::load(words[at..].first_chunk().expect(WHOLE))
}

#[inline(always)]
fn store_at<V: Lanes>(x: V, words: &mut [u64], at: usize) {
    x.store(words[at..].first_chunk_mut().expect(WHOLE));
}

const WHOLE: &str = "rows are whole vectors";

macro_rules! stage_forward {
    ($r:literal, $dft_r:ident, $dft:ident, $stage:ident, $x:ident, $rows:ident, $last:ident) => {
        for block in (0..$rows).step_by($r * $stage.apart) {
            for i in 0..$stage.apart {
                for v in 0..WIDTH / LANES {
                    let mut y = [$x[block + i][v]; $r];
                    for j in 1..$r {
                        y[j] = $x[block + i + j * $stage.apart][v];
                    }
                    let y = $dft.$dft_r(y);
                    for j in 0..$r {
                        let at = block + i + j * $stage.apart;
                        $x[at][v] = match $last {
                            true => y[j],
                            false => {
                                let c = V::splat_factor($stage.twiddles[$r * i + j]);
                                $dft.consts().times(y[j], c)
                            }
                        };
                    }
                }
            }
        }
    };
}

macro_rules! stage_inverse {
    ($r:literal, $dft_r:ident, $dft:ident, $stage:ident, $x:ident, $rows:ident, $last:ident) => {
        for block in (0..$rows).step_by($r * $stage.apart) {
            for i in 0..$stage.apart {
                for v in 0..WIDTH / LANES {
                    let mut y = [$x[block + i][v]; $r];
                    for j in 0..$r {
                        let x = $x[block + i + j * $stage.apart][v];
                        y[j] = match $last {
                            true => x,
                            false => {
                                let c = V::splat_factor($stage.twiddles[$r * i + j]);
                                $dft.consts().times(x, c)
                            }
                        };
                    }
                    let y = $dft.$dft_r(y);
                    for j in 0..$r {
                        $x[block + i + j * $stage.apart][v] = y[j];
                    }
                }
            }
        }
    };
}

struct Twisting<V: Lanes> {
    now: V,
    step: V::Factor,
}

#[inline(always)]
fn twisting<V: Lanes>(twists: &[Twist]) -> Vec<Twisting<V>> {
    let of = |t: &Twist| Twisting {
        now: V::load(&t.first),
        step: V::splat_factor(t.step),
    };
    let mut out = Vec::with_capacity(twists.len());
    for t in twists {
        out.push(of(t));
    }
    out
}

#[inline(always)]
fn columns_forward<V: Lanes>(
    dft: &Dft<V>,
    t: &Tables,
    split: &Split<V>,
    (words, digits): (&[u64], usize),
    out: &mut [u64],
) {
    let rows = t.twists.len();
    let row = out.len() / rows;
    let zero = V::splat(0);
    let mut x: Columns<V> = [[zero; WIDTH / LANES]; MAX_ROWS];
    let mut twists = twisting::<V>(&t.twists);
    let k = dft.consts();
    for column in (0..row).step_by(WIDTH) {
        for r in 0..rows {
            for v in 0..WIDTH / LANES {
                let at = r * row + column + v * LANES;
                x[r][v] = match at < digits {
                    true => split.digits(words, at),
                    false => zero,
                };
            }
        }
        for (number, stage) in t.stages.iter().enumerate() {
            let last = number + 1 == t.stages.len();
            radices!(stage.radix, stage_forward!(dft, stage, x, rows, last));
        }
        for (r, twist) in twists.iter_mut().enumerate() {
            for v in 0..WIDTH / LANES {
                let at = r * row + column + v * LANES;
                store_at(k.product(x[r][v], twist.now), out, at);
                twist.now = k.times(twist.now, twist.step);
            }
        }
    }
}

#[inline(always)]
fn columns_inverse<V: Lanes>(dft: &Dft<V>, t: &Tables, scale: V::Factor, a: &mut [u64]) {
    let rows = t.twists.len();
    let row = a.len() / rows;
    let mut x: Columns<V> = [[V::splat(0); WIDTH / LANES]; MAX_ROWS];
    let mut twists = twisting::<V>(&t.twists);
    let k = dft.consts();
    for column in (0..row).step_by(WIDTH) {
        for (r, twist) in twists.iter_mut().enumerate() {
            for v in 0..WIDTH / LANES {
                let at = r * row + column + v * LANES;
                x[r][v] = k.product(load_at(a, at), twist.now);
                twist.now = k.times(twist.now, twist.step);
            }
        }
        for (number, stage) in t.stages.iter().enumerate().rev() {
            let last = number + 1 == t.stages.len();
            radices!(stage.radix, stage_inverse!(dft, stage, x, rows, last));
        }
        for r in 0..rows {
            for v in 0..WIDTH / LANES {
                let at = r * row + column + v * LANES;
                store_at(k.canonical(k.times(x[r][v], scale)), a, at);
            }
        }
    }
}

macro_rules! pass_forward {
    ($r:literal, $dft_r:ident, $dft:ident, $pass:ident, $block:ident) => {
        for (i, c) in $pass.twiddles.as_chunks::<$r>().0.iter().enumerate() {
            let mut y = [V::splat(0); $r];
            for j in 0..$r {
                y[j] = load_at($block, j * $pass.apart + LANES * i);
            }
            let y = $dft.$dft_r(y);
            for j in 0..$r {
                let z = $dft.consts().times(y[j], V::load_factor(&c[j]));
                store_at(z, $block, j * $pass.apart + LANES * i);
            }
        }
    };
}

macro_rules! pass_inverse {
    ($r:literal, $dft_r:ident, $dft:ident, $pass:ident, $block:ident) => {
        for (i, c) in $pass.twiddles.as_chunks::<$r>().0.iter().enumerate() {
            let mut y = [V::splat(0); $r];
            for j in 0..$r {
                let x = load_at($block, j * $pass.apart + LANES * i);
                y[j] = $dft.consts().times(x, V::load_factor(&c[j]));
            }
            let y = $dft.$dft_r(y);
            for j in 0..$r {
                store_at(y[j], $block, j * $pass.apart + LANES * i);
            }
        }
    };
}

#[inline(always)]
fn row_forward<V: Lanes>(dft: &Dft<V>, t: &Tables, scale: V::Factor, row: &mut [u64]) {
    for pass in &t.passes {
        for block in row.chunks_exact_mut(pass.radix * pass.apart) {
            powers_of_two!(pass.radix, pass_forward!(dft, pass, block));
        }
    }
    let base = base_factors::<V>(t);
    for block in row.as_chunks_mut::<BASE>().0 {
        base_forward(dft, &base, scale, block);
    }
}

#[inline(always)]
fn row_inverse<V: Lanes>(dft: &Dft<V>, t: &Tables, row: &mut [u64]) {
    let base = base_factors::<V>(t);
    for block in row.as_chunks_mut::<BASE>().0 {
        base_inverse(dft, &base, block);
    }
    for pass in t.passes.iter().rev() {
        for block in row.chunks_exact_mut(pass.radix * pass.apart) {
            powers_of_two!(pass.radix, pass_inverse!(dft, pass, block));
        }
    }
}

#[inline(always)]
fn base_factors<V: Lanes>(t: &Tables) -> [V::Factor; LANES] {
    let mut out = [V::load_factor(&t.base[0]); LANES];
    for (f, c) in out.iter_mut().zip(&t.base) {
        *f = V::load_factor(c);
    }
    out
}

#[inline(always)]
fn load_base<V: Lanes>(block: &[u64; BASE]) -> [V; LANES] {
    let mut x = [V::splat(0); LANES];
    for (x, from) in x.iter_mut().zip(block.as_chunks().0) {
        *x = V::load(from);
    }
    x
}

#[inline(always)]
fn store_base<V: Lanes>(x: [V; LANES], block: &mut [u64; BASE]) {
    for (x, to) in x.into_iter().zip(block.as_chunks_mut().0) {
        x.store(to);
    }
}

#[inline(always)]
fn base_forward<V: Lanes>(
    dft: &Dft<V>,
    base: &[V::Factor; LANES],
    scale: V::Factor,
    block: &mut [u64; BASE],
) {
    let k = dft.consts();
    let mut x = dft.eight(load_base(block));
    for j in 0..LANES {
        x[j] = k.times(x[j], base[j]);
    }
    let mut x = dft.eight(V::transpose(x));
    for x in &mut x {
        *x = k.times(*x, scale);
    }
    store_base(x, block);
}

#[inline(always)]
fn base_inverse<V: Lanes>(dft: &Dft<V>, base: &[V::Factor; LANES], block: &mut [u64; BASE]) {
    let k = dft.consts();
    let mut x = V::transpose(dft.eight(load_base(block)));
    for j in 0..LANES {
        x[j] = k.times(x[j], base[j]);
    }
    store_base(dft.eight(x), block);
}

/// out = a·b, where b is stored; lazy.
#[inline(always)]
pub(crate) fn multiply<V: Lanes>(m: &Modulus, a: &[u64], b: &[u64], out: &mut [u64]) {
    let k = Consts::<V>::new(m);
    let inputs = a.as_chunks().0.iter().zip(b.as_chunks().0);
    for ((a, b), to) in inputs.zip(out.as_chunks_mut().0) {
        k.product(V::load(a), V::load(b)).store(to);
    }
}

/// a = a·b, where b is stored; lazy.
#[inline(always)]
pub(crate) fn multiply_assign<V: Lanes>(m: &Modulus, a: &mut [u64], b: &[u64]) {
    let k = Consts::<V>::new(m);
    for (a, b) in a.as_chunks_mut().0.iter_mut().zip(b.as_chunks().0) {
        k.product(V::load(a), V::load(b)).store(a);
    }
}

/// out = out + a·b, where b is stored; lazy.
#[inline(always)]
pub(crate) fn multiply_add<V: Lanes>(m: &Modulus, a: &[u64], b: &[u64], out: &mut [u64]) {
    let k = Consts::<V>::new(m);
    let inputs = a.as_chunks().0.iter().zip(b.as_chunks().0);
    for ((a, b), to) in inputs.zip(out.as_chunks_mut().0) {
        let sum = k.product(V::load(a), V::load(b)).plus(V::load(to));
        sum.minus_if_not_less(k.p2).store(to);
    }
}

/// Constants of the Chinese remainder theorem for three primes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Garner {
    pub(super) moduli: [Modulus; 3],
    /// p0^-1 modulo p1 and p2, p1^-1 modulo p2
    pub(super) inverses: [Shoup; 3],
    /// p0 p1 in digits of 52 bits
    pub(super) product: [u64; 2],
}

/// The numbers below p0 p1 p2 with these residues, each cut into three digits of `bits` bits, 52 ≤ `bits` ≤ 60.
#[inline(always)]
pub(crate) fn combine<V: Lanes>(
    g: &Garner,
    bits: usize,
    residues: [&[u64]; 3],
    out: [&mut [u64]; 3],
) {
    let [k0, k1, k2] = [
        Consts::<V>::new(&g.moduli[0]),
        Consts::<V>::new(&g.moduli[1]),
        Consts::<V>::new(&g.moduli[2]),
    ];
    let [i0, i1, i2] = g.inverses;
    let (i0, i1, i2) = (
        V::splat_factor(i0),
        V::splat_factor(i1),
        V::splat_factor(i2),
    );
    let (q0, q1) = (V::splat(g.product[0]), V::splat(g.product[1]));
    let zero = V::splat(0);
    let (word, low) = (V::splat(52), V::splat((1 << 52) - 1));
    let mask = V::splat((1 << bits) - 1);
    let [over, rest, last] = [bits - 52, 104 - bits, 2 * bits - 104].map(|s| V::splat(s as u64));
    let [d0, d1, d2] = out;
    let groups = residues[0].len() / LANES;
    for i in 0..groups {
        let at = LANES * i;
        let [x0, x1, x2] = residues;
        let [r0, r1, r2]: [V; 3] = [load_at(x0, at), load_at(x1, at), load_at(x2, at)];
        let v1 = k1.canonical(k1.times(r1.minus(r0).plus(k1.p2), i0));
        let t = k2.times(r2.minus(r0).plus(k2.p2), i1);
        let v2 = k2.canonical(k2.times(t.minus(v1).plus(k2.p2), i2));
        let t0 = v2.add_low(q0, v1.add_low(k0.p, r0));
        let t1 = v2.add_low(q1, v2.add_high(q0, v1.add_high(k0.p, zero)));
        let t2 = v2.add_high(q1, zero);
        let t1 = t1.plus(t0.shr(word));
        let t2 = t2.plus(t1.shr(word));
        let (t0, t1) = (t0.and(low), t1.and(low));
        let digits = [
            t0.or(t1.shl(word)).and(mask),
            t1.shr(over).or(t2.shl(rest)).and(mask),
            t2.shr(last),
        ];
        for (digit, to) in digits.into_iter().zip([&mut *d0, &mut *d1, &mut *d2]) {
            store_at(digit, to, at);
        }
    }
}
