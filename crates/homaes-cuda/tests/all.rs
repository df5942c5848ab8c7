//! Tests of the kernels against the processor. Without a GPU they say so and pass.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod aes;
mod bridge;
