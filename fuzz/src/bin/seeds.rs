//! Writes the seed corpus: `cargo run --release --no-default-features --bin seeds`, in this folder.

fn main() -> std::io::Result<()> {
    homaes_fuzz::write_seeds(std::path::Path::new("corpus"))
}
