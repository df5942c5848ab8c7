//! [`Lanes`] of NEON.
//!
//! Sound: every processor of the architecture has the instructions; all accesses are through references to arrays.

use crate::float_lanes::{LANES, Lanes, array, inlined};
use core::arch::aarch64::*;
use core::arch::asm;
use core::ops::{Add, Mul, Sub};

#[derive(Clone, Copy)]
pub(crate) struct Neon([float64x2_t; 4]);

// SAFETY, for every block: see the module's head; loads and stores are unaligned, through references to arrays.
macro_rules! vector {
    ($body:expr) => {
        // SAFETY: see above.
        unsafe { $body }
    };
}

macro_rules! each {
    ($f:ident, $($x:expr),*) => {
        [
            vector!($f($($x[0]),*)),
            vector!($f($($x[1]),*)),
            vector!($f($($x[2]),*)),
            vector!($f($($x[3]),*)),
        ]
    };
}

macro_rules! op {
    ($op:ident, $f:ident, $of:ident) => {
        impl $op for Neon {
            type Output = Self;
            #[inline(always)]
            fn $f(self, rhs: Self) -> Self {
                Self(each!($of, self.0, rhs.0))
            }
        }
    };
}

op!(Add, add, vaddq_f64);
op!(Sub, sub, vsubq_f64);
op!(Mul, mul, vmulq_f64);

impl Lanes for Neon {
    type Word = [uint64x2_t; 4];

    inlined! {
        mul_add(self, b: Self, c: Self) -> Self = Self(each!(vfmaq_f64, c.0, self.0, b.0));
        neg_mul_add(self, b: Self, c: Self) -> Self = Self(each!(vfmsq_f64, c.0, self.0, b.0));
        add_word(a: Self::Word, b: Self::Word) -> Self::Word = each!(vaddq_u64, a, b);
        sub_word(a: Self::Word, b: Self::Word) -> Self::Word = each!(vsubq_u64, a, b);
        and_word(a: Self::Word, b: Self::Word) -> Self::Word = each!(vandq_u64, a, b);
        or_word(a: Self::Word, b: Self::Word) -> Self::Word = each!(vorrq_u64, a, b);
        from_bits(a: Self::Word) -> Self = Self(each!(vreinterpretq_f64_u64, a));
        to_bits(self) -> Self::Word = each!(vreinterpretq_u64_f64, self.0);
    }

    #[inline(always)]
    fn load(from: &[f64; LANES]) -> Self {
        let (pairs, _) = from.as_chunks::<2>();
        Self(array!(4, Self::splat(0.0).0[0], |i| vector!(vld1q_f64(
            pairs[i].as_ptr()
        ))))
    }

    #[inline(always)]
    fn store(self, to: &mut [f64; LANES]) {
        let (pairs, _) = to.as_chunks_mut::<2>();
        for (pair, x) in pairs.iter_mut().zip(self.0) {
            vector!(vst1q_f64(pair.as_mut_ptr(), x));
        }
    }

    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self([vector!(vdupq_n_f64(x)); 4])
    }

    #[inline(always)]
    fn transpose(x: [Self; LANES]) -> [Self; LANES] {
        // blocks of 2 × 2
        array!(8, x[0], |j| Self(array!(4, x[0].0[0], |i| {
            let (a, b) = (x[2 * i].0[j / 2], x[2 * i + 1].0[j / 2]);
            vector!(if j % 2 == 0 {
                vzip1q_f64(a, b)
            } else {
                vzip2q_f64(a, b)
            })
        })))
    }

    #[inline(always)]
    fn prefetch(group: &[f64; 2 * LANES]) {
        let (re, im) = group.split_at(LANES);
        for at in [re.as_ptr(), im.as_ptr()] {
            // SAFETY: a prefetch of any address is harmless.
            unsafe {
                asm!("prfm pldl2keep, [{}]", in(reg) at, options(readonly, nostack, preserves_flags));
            }
        }
    }

    #[inline(always)]
    fn load_word(from: &[u64; LANES]) -> Self::Word {
        let (pairs, _) = from.as_chunks::<2>();
        array!(4, Self::splat_word(0)[0], |i| vector!(vld1q_u64(
            pairs[i].as_ptr()
        )))
    }

    #[inline(always)]
    fn store_word(x: Self::Word, to: &mut [u64; LANES]) {
        let (pairs, _) = to.as_chunks_mut::<2>();
        for (pair, x) in pairs.iter_mut().zip(x) {
            vector!(vst1q_u64(pair.as_mut_ptr(), x));
        }
    }

    #[inline(always)]
    fn splat_word(x: u64) -> Self::Word {
        [vector!(vdupq_n_u64(x)); 4]
    }

    #[inline(always)]
    fn shr_word(a: Self::Word, count: Self::Word) -> Self::Word {
        // a left shift by a negative count
        let count = each!(vreinterpretq_s64_u64, count);
        let count = each!(vnegq_s64, count);
        each!(vshlq_u64, a, count)
    }

    #[inline(always)]
    fn shl_word(a: Self::Word, count: Self::Word) -> Self::Word {
        let count = each!(vreinterpretq_s64_u64, count);
        each!(vshlq_u64, a, count)
    }
}
