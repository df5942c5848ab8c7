//! Parameter sets by name, and the one match from names to schemes.
//!
//! What every scheme has of its own is here an enum with one variant for each, and every verb one match: `each!` where
//! all schemes call it alike, written out where they do not.
//!
//! | type | one variant per scheme for |
//! |---|---|
//! | [`Scheme`] | its name |
//! | `Params` | checked parameters, behind [`Set`] |
//! | `SecretKey`, `EvalKey`, `WrappedKey` | the keys behind those of the library |
//! | `Circuit` | AES under one wrapped key: an [`Evaluator`](crate::evaluate::Evaluator) each |
//! | [`SchemeError`], [`ParamsError`] | its errors |
//!
//! What is special about a scheme is in the module of its name. To add one: a module beside `bgv` and `tfhe`, a variant
//! for each row of the table, an arm of `each!`; the compiler names the matches that are left.

/// `$body` with `$inner` from whichever variant of the enum `$of` the value is.
macro_rules! each {
    ($of:ident, $value:expr, $inner:ident => $body:expr) => {
        match $value {
            $of::Bgv($inner) => $body,
            $of::Tfhe($inner) => $body,
        }
    };
}
pub(crate) use each;

mod bgv;
mod error;
mod keys;
mod tfhe;

pub use error::{ParamsError, SchemeError};
pub(crate) use keys::{Circuit, EvalKey, SecretKey, WrappedKey};

use crate::{Error, Quality, Result};
use core::fmt;
use homaes_aes::{Block, KeySize, Layout};
use homaes_params::{Purpose, SetCard};
use std::path::Path;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The FHE schemes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scheme {
    /// Brakerski, Gentry, Vaikuntanathan, in the form of Gentry, Halevi and Smart.
    Bgv,
    /// Chillotti, Gama, Georgieva, Izabachène, with circuit bootstrapping.
    Tfhe,
}

impl Scheme {
    /// Every scheme.
    pub const ALL: [Self; 2] = [Self::Bgv, Self::Tfhe];

    /// The first part of its sets' names.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bgv => "bgv",
            Self::Tfhe => "tfhe",
        }
    }

    /// The set to take for data that matter.
    #[must_use]
    pub const fn default_set(self) -> &'static str {
        match self {
            Self::Bgv => "bgv/aes128",
            Self::Tfhe => "tfhe/p64",
        }
    }

    /// Multiplications that ciphertexts of `level` allow; `None` if the scheme bootstraps, so that nothing runs out.
    #[must_use]
    pub const fn multiplications_left(self, level: usize) -> Option<usize> {
        match self {
            Self::Bgv => Some(level.saturating_sub(1)),
            Self::Tfhe => None,
        }
    }

    /// Batches to evaluate side by side with `threads` workers.
    pub(crate) const fn batches_in_flight(self, threads: usize) -> usize {
        match self {
            // One batch keeps sixteen threads busy, and threads that work on the same batch share what they fetch of the
            // keys; only beyond that does another batch help.
            Self::Bgv => threads.div_ceil(16),
            // The bits or digits of a batch are as many as any number of threads.
            Self::Tfhe => 1,
        }
    }

    /// The names of its sets, secure ones first.
    fn set_names(self) -> Vec<&'static str> {
        match self {
            Self::Bgv => names(homaes_bgv::sets::ALL.iter().map(|set| set.name)),
            Self::Tfhe => names(homaes_tfhe::sets::ALL.iter().map(|set| set.name)),
        }
    }

    pub(crate) fn of_set(name: &str) -> Option<Self> {
        let (scheme, _) = name.split_once('/')?;
        Self::ALL.into_iter().find(|s| s.name() == scheme)
    }
}

fn names(sets: impl Iterator<Item = homaes_params::SetName>) -> Vec<&'static str> {
    sets.map(homaes_params::SetName::as_str).collect()
}

/// Checked parameters.
#[derive(Clone)]
pub(crate) enum Params {
    Bgv(Arc<homaes_bgv::Params>),
    Tfhe(Arc<homaes_tfhe::Params>),
}

impl Params {
    /// Those of the set called `name`, if there is one.
    fn named(name: &str) -> Result<Option<Self>, ParamsError> {
        Ok(match Scheme::of_set(name) {
            Some(Scheme::Bgv) => homaes_bgv::sets::by_name(name)
                .map(homaes_bgv::Params::new)
                .transpose()?
                .map(Self::Bgv),
            Some(Scheme::Tfhe) => homaes_tfhe::sets::by_name(name)
                .map(homaes_tfhe::Params::new)
                .transpose()?
                .map(Self::Tfhe),
            None => None,
        })
    }
}

/// What must be known of a batch to read its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) layout: Layout,
    pub(crate) level: usize,
    /// AES blocks of the message in it, at most a full batch.
    pub(crate) blocks: usize,
}

/// A decrypted batch.
pub(crate) struct Decrypted {
    /// At least the blocks of its shape.
    pub(crate) blocks: Zeroizing<Vec<Block>>,
    /// Bits between the largest noise and failure.
    pub(crate) margin_bits: f64,
}

/// A checked parameter set with its precomputed tables. Cheap to clone.
#[derive(Clone)]
pub struct Set {
    params: Params,
}

impl Set {
    /// The names of all sets, scheme by scheme, secure ones first.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        let schemes = Scheme::ALL.into_iter();
        schemes.flat_map(Scheme::set_names).collect()
    }

    /// The set called `name`. Takes about a tenth of a second for large sets.
    ///
    /// # Errors
    /// [`Error::UnknownSet`].
    pub fn named(name: &str) -> Result<Self> {
        let params = Params::named(name).map_err(Error::Params)?;
        let params = params.ok_or_else(|| Error::UnknownSet {
            found: name.to_owned(),
            expected: Self::names().join(", "),
        })?;
        Ok(Self { params })
    }

    /// The set that a file names.
    pub(crate) fn of_file(path: &Path, name: &str) -> Result<Self> {
        Self::named(name).map_err(|error| match error {
            Error::UnknownSet { found, expected } => Error::UnknownSetInFile {
                path: path.to_owned(),
                found,
                expected,
            },
            error => error,
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        each!(Params, &self.params, params => params.set().name.as_str())
    }

    /// Its scheme.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        match self.params {
            Params::Bgv(_) => Scheme::Bgv,
            Params::Tfhe(_) => Scheme::Tfhe,
        }
    }

    /// What it is for. Only [`Purpose::Secure`] sets protect anything.
    #[must_use]
    pub fn purpose(&self) -> Purpose {
        each!(Params, &self.params, params => params.set().purpose)
    }

    /// Whether it is for data that matter.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.purpose() == Purpose::Secure
    }

    /// Everything known about it.
    #[must_use]
    pub fn card(&self) -> SetCard {
        each!(Params, &self.params, params => params.card())
    }

    /// The layouts it offers, the fastest for full batches first.
    #[must_use]
    pub fn layouts(&self) -> &'static [Layout] {
        match &self.params {
            Params::Bgv(params) => params.set().layouts,
            Params::Tfhe(params) => params.layouts(),
        }
    }

    /// Most AES blocks evaluated together in `layout`.
    ///
    /// BGV fills up a batch that has fewer, at the cost of a full one; in TFHE it costs less and takes less space.
    #[must_use]
    pub fn blocks_per_batch(&self, layout: Layout) -> u64 {
        match &self.params {
            Params::Bgv(params) => params.blocks_per_batch(layout) as u64,
            Params::Tfhe(params) => params.blocks_per_batch() as u64,
        }
    }

    /// AES blocks that show what the set can do: what the scheme is best at, in seconds. A full batch of BGV, a single
    /// block of TFHE.
    #[must_use]
    pub fn default_blocks(&self, layout: Layout) -> u64 {
        match self.scheme() {
            Scheme::Bgv => self.blocks_per_batch(layout),
            Scheme::Tfhe => 1,
        }
    }

    /// Most multiplications that AES with keys of `size` can leave on its output in `layout`; `None` if the set carries
    /// no such AES. 0 in TFHE, whose output has no levels: see [`Scheme::multiplications_left`].
    #[must_use]
    pub fn levels_left(&self, layout: Layout, size: KeySize) -> Option<usize> {
        each!(Params, &self.params, params => params.levels_left(layout, size))
    }

    /// Digest of the numbers that define it.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        each!(Params, &self.params, params => params.digest())
    }

    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    /// Highest level of a ciphertext.
    pub(crate) fn top_level(&self) -> usize {
        match &self.params {
            Params::Bgv(params) => params.top_level(),
            Params::Tfhe(_) => tfhe::LEVEL,
        }
    }

    /// Length of the record of a batch.
    pub(crate) fn batch_bytes(&self, shape: Shape) -> u64 {
        match &self.params {
            Params::Bgv(params) => homaes_bgv::batch_bytes(params, shape.layout, shape.level),
            Params::Tfhe(params) => homaes_tfhe::batch_bytes(params, shape.blocks),
        }
    }

    /// How far a batch is from failing, by its record.
    pub(crate) fn batch_quality(&self, shape: Shape, body: &[u8]) -> Result<Quality, SchemeError> {
        Ok(match &self.params {
            Params::Bgv(params) => bgv::quality(params, &bgv::decode(params, shape, body)?),
            Params::Tfhe(params) => tfhe::quality(params, &tfhe::decode(params, shape, body)?),
        })
    }
}

impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Set").field(&self.name()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_found_by_name() {
        for scheme in Scheme::ALL {
            assert_eq!(Scheme::of_set(scheme.default_set()), Some(scheme));
            let names = scheme.set_names();
            assert!(names.contains(&scheme.default_set()));
        }
        let set = Set::named("bgv/toy-255").unwrap();
        assert_eq!((set.name(), set.is_secure()), ("bgv/toy-255", false));
        assert_eq!(set.blocks_per_batch(Layout::Sliced), 16);
        assert_eq!(set.levels_left(Layout::Packed, KeySize::Aes128), None);
        for bad in ["", "bgv", "bgv/", "tfhe/x", "bgv/toy-255 "] {
            let error = Set::named(bad).unwrap_err();
            assert!(matches!(error, Error::UnknownSet { .. }), "{error}");
        }
    }

    #[test]
    fn every_set_says_what_it_offers() {
        for name in Set::names() {
            let set = Set::named(name).unwrap();
            let card = set.card();
            card.check().unwrap();
            assert_eq!((set.name(), card.name.as_str()), (name, name));
            assert_eq!(Scheme::of_set(name), Some(set.scheme()));
            assert_eq!(
                (card.scheme, card.purpose),
                (set.scheme().name(), set.purpose())
            );
            assert!(!set.layouts().is_empty() && set.top_level() > 0);
            for &layout in set.layouts() {
                let full = set.blocks_per_batch(layout);
                assert!((1..=full).contains(&set.default_blocks(layout)));
                let bytes = |blocks| {
                    let level = 1;
                    set.batch_bytes(Shape {
                        layout,
                        level,
                        blocks,
                    })
                };
                let (one, all) = (bytes(1), bytes(full as usize));
                assert!(0 < one && one <= all, "{name}");
            }
        }
    }

    #[test]
    fn levels_are_of_leveled_schemes() {
        let left = |scheme: Scheme| [0, 1, 5].map(|level| scheme.multiplications_left(level));
        assert_eq!(left(Scheme::Bgv), [Some(0), Some(0), Some(4)]);
        assert_eq!(left(Scheme::Tfhe), [None; 3]);
    }

    #[test]
    fn a_second_batch_helps_beyond_sixteen_threads_at_most() {
        let batches = |scheme: Scheme| [1, 16, 17, 64].map(|t| scheme.batches_in_flight(t));
        assert_eq!(batches(Scheme::Bgv), [1, 1, 2, 4]);
        assert_eq!(batches(Scheme::Tfhe), [1; 4]);
    }
}
