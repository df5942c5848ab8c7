//! The kernels in double precision for NEON, which every processor of the architecture has.

pub(super) mod lanes;

use super::double::{Doubles, Number, methods, operators};
use core::arch::aarch64::*;
use core::arch::asm;

#[derive(Clone, Copy)]
struct Neon(float64x2_t);

operators! { Neon: Add add vaddq_f64; Sub sub vsubq_f64; Mul mul vmulq_f64; }

macro_rules! bitwise {
    ($f:ident, $a:expr, $b:expr) => {
        Self(vreinterpretq_f64_u64($f(
            vreinterpretq_u64_f64($a),
            vreinterpretq_u64_f64($b),
        )))
    };
}

impl Number for Neon {
    methods! {
        splat(x: f64) -> Self = Self(vdupq_n_f64(x));
        mul_add(self, b: Self, c: Self) -> Self = Self(vfmaq_f64(c.0, self.0, b.0));
        neg_mul_add(self, b: Self, c: Self) -> Self = Self(vfmsq_f64(c.0, self.0, b.0));
        // rounding is symmetric, and a following sum absorbs the sign
        mul_sub(self, b: Self, c: Self) -> Self = Self(vnegq_f64(vfmsq_f64(c.0, self.0, b.0)));
    }
}

impl Doubles<4> for Neon {
    /// source of either lane
    type Map = [usize; 2];

    methods! {
        load(from: *const f64) -> Self = Self(vld1q_f64(from));
        store(self, to: *mut f64) = vst1q_f64(to, self.0);
        load_mapped(from: *const f64, [low, high]: Self::Map) -> Self =
            Self(vld1q_lane_f64::<1>(from.add(high), vld1q_dup_f64(from.add(low))));
        or(self, b: Self) -> Self = bitwise!(vorrq_u64, self.0, b.0);
        xor(self, b: Self) -> Self = bitwise!(veorq_u64, self.0, b.0);
        floor(self) -> Self = Self(vrndmq_f64(self.0));
        next(self) -> Self = Self(vextq_f64::<1>(self.0, self.0));
    }

    #[inline(always)]
    unsafe fn map(source: &[u64; 8], h: usize) -> Self::Map {
        [source[2 * h] as usize, source[2 * h + 1] as usize]
    }

    #[inline(always)]
    unsafe fn three([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        [a + c, b + d, a - c, b - d]
    }

    #[inline(always)]
    unsafe fn five([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        [a + b, a - b, c + d, c - d]
    }

    #[inline(always)]
    unsafe fn prefetch(at: *const u64) {
        // SAFETY: a prefetch of any address is harmless.
        unsafe {
            asm!("prfm pldl1keep, [{}]", in(reg) at, options(readonly, nostack, preserves_flags));
        }
    }

    #[inline(always)]
    unsafe fn load_key(from: *const u8) -> Self {
        // place 255 has no byte and gives zero
        const PLACES: [u8; 16] = [0, 1, 2, 3, 4, 5, 255, 255, 6, 7, 8, 9, 10, 11, 255, 255];
        // SAFETY: as the trait says; sixteen bytes are read, four of them behind the words.
        unsafe {
            let bytes = vqtbl1q_u8(vld1q_u8(from), vld1q_u8(PLACES.as_ptr()));
            Self(vreinterpretq_f64_u8(bytes))
        }
    }

    #[inline(always)]
    unsafe fn halves(self) -> [Self; 2] {
        // SAFETY: as the trait says.
        unsafe {
            let x = vreinterpretq_u64_f64(self.0);
            let low = vandq_u64(x, vdupq_n_u64(u64::from(u32::MAX)));
            [low, vshrq_n_u64::<32>(x)].map(|x| Self(vreinterpretq_f64_u64(x)))
        }
    }

    #[inline(always)]
    unsafe fn add_if_negative(self, b: Self) -> Self {
        // SAFETY: as the trait says.
        unsafe {
            let negative = vreinterpretq_f64_u64(vcltzq_f64(self.0));
            self + bitwise!(vandq_u64, b.0, negative)
        }
    }
}

super::double::compiled::kernels!(Neon, 4, "neon");
