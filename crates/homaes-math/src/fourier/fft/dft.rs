//! Transforms of two, four and eight points: the butterflies of every pass.

use crate::float_lanes::{Complex, Lanes, array};
use core::f64::consts::FRAC_1_SQRT_2;

/// r-point transform of positive sign of x_a w_a: Σ_a x_a w_a e^(2πi·ia/r). `w[0]` is 1 and not read.
///
/// Of eight factors, the last four are fused into the first sums x_a + x_(a+4) w_(a+4); a difference is 2 x_a less
/// that.
#[inline(always)]
pub(super) fn dft<V: Lanes, const R: usize>(
    x: [Complex<V>; R],
    w: &[Complex<V>; R],
) -> [Complex<V>; R] {
    #[inline(never)]
    fn called<V: Lanes, const R: usize>(
        x: [Complex<V>; R],
        w: &[Complex<V>; R],
    ) -> [Complex<V>; R] {
        inlined_dft(x, w)
    }
    match V::CALLS {
        true => called(x, w),
        false => inlined_dft(x, w),
    }
}

#[inline(always)]
fn inlined_dft<V: Lanes, const R: usize>(
    mut x: [Complex<V>; R],
    w: &[Complex<V>; R],
) -> [Complex<V>; R] {
    for a in 1..R.min(4) {
        x[a] = x[a].times(w[a]);
    }
    match R {
        2 => {
            let (a, b) = (x[0], x[1]);
            (x[0], x[1]) = (a.plus(b), a.minus(b));
        }
        4 => {
            let y = dft4([x[0], x[1], x[2], x[3]]);
            x.copy_from_slice(&y);
        }
        _ => {
            let two = V::splat(2.0);
            let even = array!(4, x[0], |a| x[a].plus_product(x[a + 4], w[a + 4]));
            let odd = array!(4, x[0], |a| Complex {
                re: x[a].re.mul_sub(two, even[a].re),
                im: x[a].im.mul_sub(two, even[a].im),
            });
            let even = dft4(even);
            // the odd half times e^(2πi·a/8), but for a factor 1/√2 at odd a
            let turned = |y: Complex<V>| Complex {
                re: y.re - y.im,
                im: y.re + y.im,
            };
            let (one, three) = (turned(odd[1]), turned(odd[3]));
            // dft4 of (odd0, one, i odd2, i three), with the factors i and 1/√2 taken into the sums
            let (c0, c1) = (odd[0].plus_i(odd[2]), odd[0].minus_i(odd[2]));
            let (c2, c3) = (one.plus_i(three), one.minus_i(three));
            let odd = odd_outputs([c0, c1, c2, c3]);
            for i in 0..4 {
                (x[2 * i], x[2 * i + 1]) = (even[i], odd[i]);
            }
        }
    }
    x
}

/// c0 + h c2, c1 + i h c3, c0 - h c2, c1 - i h c3 with h = 1/√2.
#[inline(always)]
fn odd_outputs<V: Lanes>([c0, c1, c2, c3]: [Complex<V>; 4]) -> [Complex<V>; 4] {
    let h = V::splat(FRAC_1_SQRT_2);
    [
        Complex {
            re: c2.re.mul_add(h, c0.re),
            im: c2.im.mul_add(h, c0.im),
        },
        Complex {
            re: c3.im.neg_mul_add(h, c1.re),
            im: c3.re.mul_add(h, c1.im),
        },
        Complex {
            re: c2.re.neg_mul_add(h, c0.re),
            im: c2.im.neg_mul_add(h, c0.im),
        },
        Complex {
            re: c3.im.mul_add(h, c1.re),
            im: c3.re.neg_mul_add(h, c1.im),
        },
    ]
}

#[inline(always)]
fn dft4<V: Lanes>(x: [Complex<V>; 4]) -> [Complex<V>; 4] {
    let (c0, c1) = (x[0].plus(x[2]), x[0].minus(x[2]));
    let (c2, c3) = (x[1].plus(x[3]), x[1].minus(x[3]));
    [c0.plus(c2), c1.plus_i(c3), c0.minus(c2), c1.minus_i(c3)]
}

/// r-point transform of negative sign, not divided by r.
#[inline(always)]
pub(super) fn inverse_dft<V: Lanes, const R: usize>(x: [Complex<V>; R]) -> [Complex<V>; R] {
    #[inline(never)]
    fn called<V: Lanes, const R: usize>(x: [Complex<V>; R]) -> [Complex<V>; R] {
        inlined_inverse_dft(x)
    }
    match V::CALLS {
        true => called(x),
        false => inlined_inverse_dft(x),
    }
}

#[inline(always)]
fn inlined_inverse_dft<V: Lanes, const R: usize>(mut x: [Complex<V>; R]) -> [Complex<V>; R] {
    match R {
        2 => {
            let (a, b) = (x[0], x[1]);
            (x[0], x[1]) = (a.plus(b), a.minus(b));
        }
        4 => {
            let y = inverse_dft4([x[0], x[1], x[2], x[3]]);
            x.copy_from_slice(&y);
        }
        _ => {
            let even = array!(4, x[0], |i| x[i].plus(x[i + 4]));
            let odd = array!(4, x[0], |i| x[i].minus(x[i + 4]));
            let even = inverse_dft4(even);
            let turned = |y: Complex<V>| Complex {
                re: y.re + y.im,
                im: y.im - y.re,
            };
            let (one, three) = (turned(odd[1]), turned(odd[3]));
            let (c0, c1) = (odd[0].minus_i(odd[2]), odd[0].plus_i(odd[2]));
            let (c2, c3) = (one.minus_i(three), one.plus_i(three));
            let [y0, y3, y2, y1] = odd_outputs([c0, c1, c2, c3]);
            let odd = [y0, y1, y2, y3];
            for i in 0..4 {
                (x[2 * i], x[2 * i + 1]) = (even[i], odd[i]);
            }
        }
    }
    x
}

#[inline(always)]
fn inverse_dft4<V: Lanes>(x: [Complex<V>; 4]) -> [Complex<V>; 4] {
    let (c0, c1) = (x[0].plus(x[2]), x[0].minus(x[2]));
    let (c2, c3) = (x[1].plus(x[3]), x[1].minus(x[3]));
    [c0.plus(c2), c1.minus_i(c3), c0.minus(c2), c1.plus_i(c3)]
}
