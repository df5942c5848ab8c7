//! Benchmarks only: `cargo bench -p homaes-benches`. A crate of their own, so that `cargo test` does not build what they need.
