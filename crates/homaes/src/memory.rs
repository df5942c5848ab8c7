//! Memory, asked for before it is needed: a job that cannot fit is refused before it starts.
//!
//! The amounts are lower bounds, so that nothing is refused that could run. What is missed by them is found when it
//! happens.

use crate::scheme::Shape;
use crate::{Error, Result, Scheme, Set};
use homaes_aes::Layout;
use homaes_wire::{Header, Kind, Reader};
use std::path::Path;

/// A word of 64 bits holds a residue of at most 47 bits in memory, and a file packs them at the length of their prime.
const WORD_BITS: (u64, u64) = (64, 47);

/// States that evaluation holds at once, at least: what enters a round and what leaves it, each with a copy in the larger
/// basis of key switching. Measured: 8.7 sliced and 50 packed.
const STATES: u64 = 4;

/// Refuses work for which this process cannot have `bytes` of memory.
pub(crate) fn check(bytes: u64) -> Result<()> {
    let available = usize::try_from(bytes).is_ok_and(homaes_math::memory::is_available);
    match available {
        true => Ok(()),
        false => Err(Error::Memory { wanted: bytes }),
    }
}

/// Memory of a key of `scheme` whose file has `file_bytes`: the file holds seeds for the uniform halves of all polynomials.
pub(crate) const fn of_key(scheme: Scheme, kind: Kind, file_bytes: u64) -> u64 {
    match (scheme, kind) {
        (Scheme::Bgv, Kind::EvalKey | Kind::WrappedKey) => words(file_bytes).saturating_mul(2),
        // Spectra of both halves; measured: 3.0.
        (Scheme::Tfhe, Kind::EvalKey) => file_bytes.saturating_mul(2),
        _ => file_bytes,
    }
}

/// Refuses to read a key for which this process cannot have the memory.
pub(crate) fn check_read(set: &Set, header: &Header) -> Result<()> {
    check(of_key(set.scheme(), header.kind(), header.file_bytes()))
}

const fn words(packed: u64) -> u64 {
    let (word, residue) = WORD_BITS;
    (packed / residue).saturating_mul(word)
}

/// Memory of an evaluation beside the keys.
pub(crate) fn of_run(set: &Set, layout: Layout) -> u64 {
    match set.scheme() {
        Scheme::Bgv => {
            let (level, blocks) = (set.top_level(), set.blocks_per_batch(layout) as usize);
            let state = set.batch_bytes(Shape {
                layout,
                level,
                blocks,
            });
            words(state).saturating_mul(STATES)
        }
        Scheme::Tfhe => 0,
    }
}

/// Refuses the use of these key files together for which this process cannot have the memory, by their headers.
///
/// # Errors
/// [`Error::Memory`]; what is wrong with a header.
pub fn check_keys(paths: &[&Path]) -> Result<()> {
    let mut wanted: u64 = 0;
    for path in paths {
        let reader = Reader::open_any(path).map_err(|source| Error::file(path, source))?;
        let header = reader.header();
        if let Some(scheme) = Scheme::of_set(header.set()) {
            let bytes = of_key(scheme, header.kind(), header.file_bytes());
            wanted = wanted.saturating_add(bytes);
        }
    }
    check(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AesKey, KeySet, WrappedKey, Wrapping};

    #[test]
    fn amounts_are_those_of_the_keys_and_never_more() {
        // limbs of 256 KiB as counted in ARCHITECTURE.md: 1772 of the evaluation key, 2112 and 132 of the wrapped keys
        let set = Set::named("bgv/aes128").unwrap();
        let limb = 256 << 10;
        let key = of_key(Scheme::Bgv, Kind::EvalKey, set.card().eval_key_bytes);
        assert!((1600 * limb..=1772 * limb).contains(&key), "{}", key / limb);
        // a sliced state at the top: 352 limbs
        let run = of_run(&set, Layout::Sliced);
        assert!((4 * 320 * limb..=4 * 352 * limb).contains(&run));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_bytes_wanted() {
        check(1 << 20).unwrap();
        let error = check(1 << 60).unwrap_err().to_string();
        assert!(error.contains(&(1u64 << 60).to_string()), "{error}");
        assert!(check(u64::MAX).is_err());
    }

    #[test]
    fn files_are_asked_for_by_their_headers() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let set = Set::named("bgv/toy-255").unwrap();
        let keys = KeySet::create(&set, folder.path(), false).unwrap();
        let aes = AesKey::from_bytes(&[1; 16]).unwrap();
        WrappedKey::create(&keys.secret, &aes, &Wrapping::default(), at("w"), false).unwrap();
        check_keys(&[&at("eval.hek"), &at("w")]).unwrap();
        assert!(check_keys(&[&at("none")]).is_err());
    }
}
