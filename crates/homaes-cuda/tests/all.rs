//! Tests of the kernels on a GPU against the processor. Where there is none they say so and pass.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod aes;
