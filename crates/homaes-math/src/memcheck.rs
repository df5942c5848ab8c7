//! Secrets that memcheck treats as undefined: a tool of this project's tests. Other code only calls [`declassify`].
//!
//! A test marks secrets as undefined, and valgrind's memcheck reports every branch and address in the running machine
//! code that depends on them (Langley, *ctgrind*, 2010). Outside valgrind nothing happens.

use rand_core::{Infallible, Rng, TryCryptoRng, TryRng};
use std::process::Command;

/// memcheck's requests: make the memory undefined, or defined.
#[cfg(target_arch = "x86_64")]
const MAKE_MEM: [usize; 2] = [0x4d43_0001, 0x4d43_0002];

/// Marks `values` as undefined.
pub fn poison<T: Copy>(values: &mut [T]) {
    mark(values, false);
}

/// The value, which is public although derived from secrets, such as the bit length of a product of primes.
pub fn declassify<T: Copy>(value: T) -> T {
    let mut values = [value];
    mark(&mut values, true);
    values[0]
}

fn mark<T: Copy>(values: &mut [T], defined: bool) {
    #[cfg(target_arch = "x86_64")]
    {
        let request = [
            MAKE_MEM[usize::from(defined)],
            values.as_mut_ptr() as usize,
            size_of_val(values),
            0,
            0,
            0,
        ];
        // SAFETY: the instructions are valgrind's mark of a request: they rotate a register back to itself and
        // exchange another with itself. They change only flags, and within valgrind what it knows of the memory.
        unsafe {
            core::arch::asm!(
                "rol rdi, 3",
                "rol rdi, 13",
                "rol rdi, 61",
                "rol rdi, 51",
                "xchg rbx, rbx",
                in("rax") request.as_ptr(),
                inout("rdx") 0usize => _,
                options(nostack)
            );
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, defined);
}

/// A generator whose words are secret. The bytes it fills are public: seeds, of public polynomials among others.
#[derive(Debug)]
pub struct Poisoned<R>(pub R);

impl<R: Rng> TryRng for Poisoned<R> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut word = [self.0.next_u64()];
        poison(&mut word);
        Ok(word[0])
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill_bytes(bytes);
        Ok(())
    }
}

impl<R: Rng> TryCryptoRng for Poisoned<R> {}

/// Runs the ignored test `test` of this executable under valgrind. Returns the source lines of this project, as
/// `path: text`, where a branch or address depends on poisoned values; `None` if valgrind is not installed.
///
/// # Panics
/// If the test does not run to its end, or the executable was built without line numbers.
#[must_use]
pub fn findings(test: &str) -> Option<Vec<String>> {
    let exe = std::env::current_exe().expect("a test has an executable");
    let output = Command::new("valgrind")
        .args(["--error-limit=no", "--read-inline-info=yes"])
        .args(["--fullpath-after=", "--num-callers=24"])
        .arg(exe)
        .args(["--ignored", "--exact", test, "--test-threads=1"])
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .ok()?;
    let (out, log) = [&output.stdout, &output.stderr]
        .map(|x| String::from_utf8_lossy(x))
        .into();
    assert!(out.contains("1 passed"), "{test} did not run: {out}{log}");
    let mut lines = log.lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        if line.contains("depends on uninitialised") || line.contains("Use of uninitialised") {
            let frames = lines
                .by_ref()
                .take_while(|l| l.contains(" at 0x") || l.contains(" by 0x"));
            let frames: Vec<&str> = frames.collect();
            assert!(
                frames.iter().any(|frame| frame.contains(".rs:")),
                "no line numbers in {frames:?}: build with CARGO_PROFILE_RELEASE_DEBUG=line-tables-only"
            );
            let own = frames.iter().find_map(|frame| source(frame));
            found.push(own.unwrap_or_else(|| frames.join("; ")));
        }
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}

/// `path: text` of a frame in this project.
fn source(frame: &str) -> Option<String> {
    let (_, place) = frame.trim_end().strip_suffix(')')?.rsplit_once('(')?;
    let (path, line) = place.rsplit_once(':')?;
    let (_, path) = path.split_once("crates/homaes")?;
    let path = format!("homaes{path}");
    // cargo tells tests their crate; the path of the building machine stays out of programs
    let own = std::env::var("CARGO_MANIFEST_DIR").ok()?;
    let text = std::fs::read_to_string(format!("{own}/../{path}")).ok()?;
    let line: usize = line.parse().ok()?;
    let text = text.lines().nth(line.checked_sub(1)?)?.trim();
    Some(format!("{path}: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, torus};
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    fn rng() -> Poisoned<ChaCha20Rng> {
        Poisoned(ChaCha20Rng::from_seed([1; 32]))
    }

    #[test]
    #[ignore = "run by samplers_under_memcheck"]
    fn samplers() {
        let mut signed = [0i64; 128];
        sample::gaussian(&mut rng(), &mut signed);
        sample::ternary(&mut rng(), &mut signed);
        sample::fixed_weight(&mut rng(), 10, &mut signed);
        let mut words = [0u64; 128];
        torus::binary(&mut rng(), &mut words);
        torus::add_gaussian(&mut rng(), 2f64.powi(-12), &mut words);
        core::hint::black_box(torus::log2_fraction(words[0]));
    }

    #[test]
    #[ignore = "run by samplers_under_memcheck"]
    fn leaks() {
        let secret = rng().next_u64();
        let table = core::hint::black_box([1u8; 16]);
        if core::hint::black_box(secret) > 5 {
            println!("a branch");
        }
        core::hint::black_box(table[core::hint::black_box(secret & 15) as usize]);
    }

    /// Needs valgrind. For all crates with such a test: `CARGO_PROFILE_RELEASE_DEBUG=line-tables-only cargo test
    /// --release under_memcheck -- --ignored --nocapture`.
    #[test]
    #[ignore = "needs valgrind"]
    fn samplers_under_memcheck() {
        let Some(found) = findings("memcheck::tests::samplers") else {
            println!("skipped: valgrind is not installed");
            return;
        };
        // rejected draws are independent of the one that is taken
        let told = ["homaes-math/src/sample.rs: if x < bound {"];
        assert_eq!(found, told);
        let leaks = findings("memcheck::tests::leaks").unwrap_or_default();
        assert_eq!(leaks.len(), 2, "{leaks:?}");
    }
}
