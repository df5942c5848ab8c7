//! The comparison of methods by Trama, Clet, Boudguiga, Sirdey (2023): bootstraps and times by base, with their
//! parameters, on one thread.
//!
//! ```text
//! cargo run --release -p homaes-tfhe --example nibble_methods
//! ```

use homaes_tfhe::nibble::methods::{Method, rows};

const BYTES: u8 = 4;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    println!(
        "                                  bootstraps          seconds                    poster: bootstraps, seconds"
    );
    println!(
        "method    base     n     N      XOR    LUT    bootstrap    XOR     LUT        XOR   LUT   bootstrap   LUT   wrong digits"
    );
    for row in rows() {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed)?;
        let found = pool.install(|| row.measure(BYTES, seed));
        let method = match row.method {
            Method::Tree => "tree",
            Method::Chaining => "chaining",
        };
        let [n, degree] = row.dimensions();
        let poster = |x: Option<String>| x.unwrap_or_else(|| "-".into());
        let bootstraps = |i: usize| poster(row.poster_bootstraps.map(|b| b[i].to_string()));
        let seconds = |i: usize| poster(row.poster_seconds.map(|s| s[i].to_string()));
        println!(
            "{method:8} {:5} {n:5} {degree:5} {:8} {:6} {:12.4} {:6.3} {:7.3} {:>10} {:>5} {:>11} {:>5} {:>5} of {}",
            1 << row.digit_bits,
            found.xor_rotations,
            found.look_up_rotations,
            found.bootstrap_seconds,
            found.xor_seconds,
            found.look_up_seconds,
            bootstraps(0),
            bootstraps(1),
            seconds(0),
            seconds(1),
            found.wrong,
            found.checked,
        );
    }
    println!();
    println!(
        "A look-up takes fewer bootstraps than the poster's count because all result digits share the first one."
    );
    println!("Not run: base 256, whose ring has degree 32768 (poster: 1.5 s; here at most 8192);");
    println!(
        "chaining in base 8 and 16, with 128 and 512 plaintext values, rings of degree 8192 and 32768 and noise of 1e-45"
    );
    println!("and 1e-248, which no torus of 64 bits holds.");
    Ok(())
}
