//! The kernels over any [`Lanes`](crate::float_lanes::Lanes). Working memory is in groups, like spectra: vector j of
//! eight complex numbers is group j.

mod dft;
mod digits;
mod passes;
mod products;

pub(crate) use passes::{forward, forward_digits, inverse_add};
pub(crate) use products::{Step, multiply_add, rotation_step};

use core::f64::consts::FRAC_1_SQRT_2;

/// A complex constant.
pub(crate) type Root = (f64, f64);

/// e^(2πi·k/8).
const EIGHTHS: [Root; 8] = {
    let h = FRAC_1_SQRT_2;
    [
        (1.0, 0.0),
        (h, h),
        (0.0, 1.0),
        (-h, h),
        (-1.0, 0.0),
        (-h, -h),
        (0.0, -1.0),
        (h, -h),
    ]
};
