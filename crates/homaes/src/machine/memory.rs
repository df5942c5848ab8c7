//! Checks memory, so that a job that cannot fit is refused before it starts, and clears the stack of keys.
//!
//! The amounts are lower bounds: no job that could run is refused, and other shortages show when they happen.

use crate::error::At;
use crate::{Error, Result, Scheme, Set};
use homaes_wire::{Header, Reader};
use std::hint::black_box;
use std::path::Path;
use zeroize::Zeroizing;

/// 8-byte words of stack that calls from one function may have used.
const STACK_WORDS: usize = 1 << 15;

/// Overwrites 256 KiB of unused stack of the calling thread.
///
/// Moving a key leaves copies in the frames of functions that have returned. Zeroising does not reach them, and later
/// values may carry them into memory that lasts. Call this after keys were read or dropped, from a function whose own
/// frame never held one.
#[inline(never)]
pub fn overwrite_stack() {
    let mut unused = Zeroizing::new([0_u64; STACK_WORDS]);
    black_box(&mut unused);
}

/// Refuses work that needs `bytes` of memory if this process cannot have them.
pub(crate) fn check(bytes: u64) -> Result<()> {
    // allocated and freed at once without touching a page; opaque, because the compiler may remove an unused allocation
    let mut room: Vec<u8> = black_box(Vec::new());
    let available = usize::try_from(bytes).is_ok_and(|n| room.try_reserve_exact(n).is_ok());
    black_box(room);
    match available {
        true => Ok(()),
        false => Err(Error::Memory { wanted: bytes }),
    }
}

/// Refuses a key that does not fit into the memory of this process.
pub(crate) fn check_read(set: &Set, header: &Header) -> Result<()> {
    let scheme = set.scheme();
    check(scheme.memory_of_key(header.kind(), header.file_bytes()))
}

/// Refuses key files, by their headers, that together do not fit into the memory of this process.
///
/// # Errors
/// [`Error::Memory`]; the fault of a header.
pub fn check_keys(paths: &[&Path]) -> Result<()> {
    let mut wanted: u64 = 0;
    for path in paths {
        let reader = Reader::open_any(path).at(path)?;
        let header = reader.header();
        if let Some(scheme) = Scheme::of_set(header.set()) {
            let bytes = scheme.memory_of_key(header.kind(), header.file_bytes());
            wanted = wanted.saturating_add(bytes);
        }
    }
    check(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeySet, Layout};
    use homaes_wire::Kind;

    #[test]
    fn amounts_are_those_of_the_keys_and_never_more() {
        // limbs as in ARCHITECTURE.md: 2782 of 192 KiB in the evaluation key
        let set = Set::named("bgv/aes128").unwrap();
        let (limb, key_limb) = (256 << 10, 192 << 10);
        let key = Scheme::Bgv.memory_of_key(Kind::EvalKey, set.card().eval_key_bytes);
        let limbs = key / key_limb;
        assert!((2600..2782).contains(&limbs), "{limbs}");
        // a sliced state at the top: 352 limbs of 256 KiB
        let run = set.params().memory_of_run(Layout::Sliced);
        assert!((4 * 320 * limb..=4 * 352 * limb).contains(&run));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_bytes_wanted() {
        check(1 << 20).unwrap();
        let error = check(1 << 60).unwrap_err().to_string();
        assert!(error.contains(&(1u64 << 60).to_string()), "{error}");
        assert!(check(u64::MAX).is_err());
        // the headers state the sizes
        let folder = tempfile::tempdir().unwrap();
        KeySet::create(&Set::named("bgv/toy-255").unwrap(), folder.path()).unwrap();
        check_keys(&[&folder.path().join("eval.hek")]).unwrap();
        assert!(check_keys(&[&folder.path().join("none")]).is_err());
    }
}
