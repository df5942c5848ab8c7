//! Eight double-precision numbers at once: a processor as the Fourier kernels see it.
//!
//! Every operation rounds as in IEEE 754, multiply-add once, so results are the same bits on every processor.

use core::ops::{Add, Mul, Sub};

/// `[e(0), e(1), …]` by a loop: the compiler does not always inline the closure of `core::array::from_fn`, and then
/// not the vector instructions in it either.
macro_rules! array {
    ($n:expr, $start:expr, |$i:ident| $e:expr) => {{
        let mut out = [$start; $n];
        let mut $i = 0;
        while $i < $n {
            out[$i] = $e;
            $i += 1;
        }
        out
    }};
}
pub(crate) use array;

/// Methods of one expression each, for the traits of vectors.
macro_rules! inlined {
    ($($f:ident($($args:tt)*) $(-> $out:ty)? = $body:expr;)*) => {$(
        #[inline(always)]
        fn $f($($args)*) $(-> $out)? {
            $body
        }
    )*};
}
pub(crate) use inlined;

/// Numbers per vector.
pub(crate) const LANES: usize = 8;

/// A vector of eight `f64`, with `Word` for eight `u64`.
///
/// `simd` ensures that implementations with vector instructions run only on processors that have them.
pub(crate) trait Lanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    type Word: Copy;

    /// Whether kernels call their larger parts: inlined everywhere, these would be most of the program. Vectors need
    /// them inlined.
    const CALLS: bool = false;

    fn load(from: &[f64; LANES]) -> Self;
    fn store(self, to: &mut [f64; LANES]);
    fn splat(x: f64) -> Self;
    /// self · b + c
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// c - self · b
    fn neg_mul_add(self, b: Self, c: Self) -> Self;
    /// self · b - c
    #[inline(always)]
    fn mul_sub(self, b: Self, c: Self) -> Self {
        self.mul_add(b, Self::splat(-0.0) - c)
    }
    /// Element j of vector i becomes element i of vector j.
    fn transpose(x: [Self; LANES]) -> [Self; LANES];

    /// Prefetches a group into the second-level cache.
    fn prefetch(group: &[f64; 2 * LANES]);

    fn load_word(from: &[u64; LANES]) -> Self::Word;
    fn store_word(x: Self::Word, to: &mut [u64; LANES]);
    fn splat_word(x: u64) -> Self::Word;
    fn add_word(a: Self::Word, b: Self::Word) -> Self::Word;
    fn sub_word(a: Self::Word, b: Self::Word) -> Self::Word;
    fn and_word(a: Self::Word, b: Self::Word) -> Self::Word;
    fn or_word(a: Self::Word, b: Self::Word) -> Self::Word;
    /// Logical shifts by less than 64, lane by lane.
    fn shr_word(a: Self::Word, count: Self::Word) -> Self::Word;
    fn shl_word(a: Self::Word, count: Self::Word) -> Self::Word;
    /// Lane i of the result is lane `index[i]`, below eight.
    #[inline(always)]
    fn permute_word(a: Self::Word, index: Self::Word) -> Self::Word {
        let [mut from, mut places] = [[0; LANES]; 2];
        Self::store_word(a, &mut from);
        Self::store_word(index, &mut places);
        Self::load_word(&places.map(|i| from[i as usize % LANES]))
    }
    fn from_bits(a: Self::Word) -> Self;
    fn to_bits(self) -> Self::Word;
}

/// Plain Rust.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable([f64; LANES]);

fn each(f: impl FnMut(usize) -> f64) -> Portable {
    Portable(core::array::from_fn(f))
}

macro_rules! op {
    ($op:ident, $f:ident) => {
        impl $op for Portable {
            type Output = Self;
            #[inline(always)]
            fn $f(self, b: Self) -> Self {
                each(|i| self.0[i].$f(b.0[i]))
            }
        }
    };
}

op!(Add, add);
op!(Sub, sub);
op!(Mul, mul);

impl Lanes for Portable {
    type Word = [u64; LANES];

    const CALLS: bool = true;

    inlined! {
        load(from: &[f64; LANES]) -> Self = Self(*from);
        store(self, to: &mut [f64; LANES]) = *to = self.0;
        mul_add(self, b: Self, c: Self) -> Self = each(|i| self.0[i].mul_add(b.0[i], c.0[i]));
        neg_mul_add(self, b: Self, c: Self) -> Self = each(|i| (-self.0[i]).mul_add(b.0[i], c.0[i]));
        transpose(x: [Self; LANES]) -> [Self; LANES] = core::array::from_fn(|j| each(|i| x[i].0[j]));
        load_word(from: &[u64; LANES]) -> Self::Word = *from;
        store_word(x: Self::Word, to: &mut [u64; LANES]) = *to = x;
        add_word(a: Self::Word, b: Self::Word) -> Self::Word = core::array::from_fn(|i| a[i].wrapping_add(b[i]));
        sub_word(a: Self::Word, b: Self::Word) -> Self::Word = core::array::from_fn(|i| a[i].wrapping_sub(b[i]));
        and_word(a: Self::Word, b: Self::Word) -> Self::Word = core::array::from_fn(|i| a[i] & b[i]);
        or_word(a: Self::Word, b: Self::Word) -> Self::Word = core::array::from_fn(|i| a[i] | b[i]);
        shr_word(a: Self::Word, count: Self::Word) -> Self::Word = core::array::from_fn(|i| a[i] >> count[i]);
        shl_word(a: Self::Word, count: Self::Word) -> Self::Word = core::array::from_fn(|i| a[i] << count[i]);
        from_bits(a: Self::Word) -> Self = each(|i| f64::from_bits(a[i]));
        to_bits(self) -> Self::Word = self.0.map(f64::to_bits);
    }

    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self([x; LANES])
    }

    #[inline(always)]
    fn prefetch(_: &[f64; 2 * LANES]) {}

    #[inline(always)]
    fn splat_word(x: u64) -> Self::Word {
        [x; LANES]
    }
}

/// Eight complex numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Complex<V> {
    pub(crate) re: V,
    pub(crate) im: V,
}

impl<V: Lanes> Complex<V> {
    #[inline(always)]
    fn new(re: V, im: V) -> Self {
        Self { re, im }
    }

    #[inline(always)]
    pub(crate) fn load(from: &[f64; 2 * LANES]) -> Self {
        let (re, im) = halves(from);
        Self::new(V::load(re), V::load(im))
    }

    #[inline(always)]
    pub(crate) fn store(self, to: &mut [f64; 2 * LANES]) {
        let (re, im) = to.split_at_mut(LANES);
        self.re.store(re.try_into().expect("half of it"));
        self.im.store(im.try_into().expect("half of it"));
    }

    #[inline(always)]
    pub(crate) fn splat((re, im): (f64, f64)) -> Self {
        Self::new(V::splat(re), V::splat(im))
    }

    #[inline(always)]
    pub(crate) fn zero() -> Self {
        Self::splat((0.0, 0.0))
    }

    #[inline(always)]
    pub(crate) fn plus(self, b: Self) -> Self {
        Self::new(self.re + b.re, self.im + b.im)
    }

    #[inline(always)]
    pub(crate) fn minus(self, b: Self) -> Self {
        Self::new(self.re - b.re, self.im - b.im)
    }

    /// self + i b
    #[inline(always)]
    pub(crate) fn plus_i(self, b: Self) -> Self {
        Self::new(self.re - b.im, self.im + b.re)
    }

    /// self - i b
    #[inline(always)]
    pub(crate) fn minus_i(self, b: Self) -> Self {
        Self::new(self.re + b.im, self.im - b.re)
    }

    #[inline(always)]
    pub(crate) fn times(self, b: Self) -> Self {
        Self {
            re: self.im.neg_mul_add(b.im, self.re * b.re),
            im: self.im.mul_add(b.re, self.re * b.im),
        }
    }

    /// Product with the conjugate of `b`.
    #[inline(always)]
    pub(crate) fn times_conj(self, b: Self) -> Self {
        Self {
            re: self.im.mul_add(b.im, self.re * b.re),
            im: self.re.neg_mul_add(b.im, self.im * b.re),
        }
    }

    /// self + b c
    #[inline(always)]
    pub(crate) fn plus_product(self, b: Self, c: Self) -> Self {
        Self {
            re: b.im.neg_mul_add(c.im, b.re.mul_add(c.re, self.re)),
            im: b.im.mul_add(c.re, b.re.mul_add(c.im, self.im)),
        }
    }
}

#[inline(always)]
fn halves(x: &[f64; 2 * LANES]) -> (&[f64; LANES], &[f64; LANES]) {
    let (re, im) = x.split_at(LANES);
    (
        re.try_into().expect("half of it"),
        im.try_into().expect("half of it"),
    )
}
