//! Parameter sets by name, and the one match from names to schemes.

use crate::evaluate::Evaluator;
use crate::{Error, Quality, Result};
use core::fmt;
use homaes_aes::{Block, KeySize, Layout};
use homaes_bgv::{Aes, State};
use homaes_params::{Purpose, SetCard};
use std::path::Path;
use std::sync::Arc;

/// What an evaluation can run into.
pub(crate) type Failure = homaes_bgv::Error;

/// The FHE schemes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scheme {
    /// Brakerski, Gentry, Vaikuntanathan, in the form of Gentry, Halevi and Smart.
    Bgv,
}

impl Scheme {
    /// Every scheme.
    pub const ALL: [Self; 1] = [Self::Bgv];

    /// The first part of its sets' names.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bgv => "bgv",
        }
    }

    /// The set to take for data that matter.
    #[must_use]
    pub const fn default_set(self) -> &'static str {
        match self {
            Self::Bgv => "bgv/aes128",
        }
    }

    fn of_set(name: &str) -> Option<Self> {
        let (scheme, _) = name.split_once('/')?;
        Self::ALL.into_iter().find(|s| s.name() == scheme)
    }
}

/// A checked parameter set with its precomputed tables. Cheap to clone.
#[derive(Clone)]
pub struct Set {
    params: Arc<homaes_bgv::Params>,
}

impl Set {
    /// The names of all sets, secure ones first.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        homaes_bgv::sets::ALL
            .iter()
            .map(|set| set.name.as_str())
            .collect()
    }

    /// The set called `name`. Takes about a tenth of a second for large sets.
    ///
    /// # Errors
    /// [`Error::UnknownSet`].
    pub fn named(name: &str) -> Result<Self> {
        let set = match Scheme::of_set(name) {
            Some(Scheme::Bgv) => homaes_bgv::sets::by_name(name),
            None => None,
        };
        let set = set.ok_or_else(|| Error::UnknownSet {
            found: name.to_owned(),
            expected: Self::names().join(", "),
        })?;
        let params = homaes_bgv::Params::new(set).map_err(Error::Params)?;
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
        self.params.set().name.as_str()
    }

    /// Its scheme.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        Scheme::Bgv
    }

    /// What it is for. Only [`Purpose::Secure`] sets protect anything.
    #[must_use]
    pub fn purpose(&self) -> Purpose {
        self.params.set().purpose
    }

    /// Whether it is for data that matter.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.purpose() == Purpose::Secure
    }

    /// Everything known about it.
    #[must_use]
    pub fn card(&self) -> SetCard {
        self.params.card()
    }

    /// The layouts it offers, the fastest for full batches first.
    #[must_use]
    pub fn layouts(&self) -> &'static [Layout] {
        self.params.set().layouts
    }

    /// AES blocks evaluated together in `layout`.
    #[must_use]
    pub fn blocks_per_batch(&self, layout: Layout) -> u64 {
        self.params.blocks_per_batch(layout) as u64
    }

    /// Most multiplications that AES with keys of `size` can leave on its output in `layout`; `None` if the set carries
    /// no such AES.
    #[must_use]
    pub fn levels_left(&self, layout: Layout, size: KeySize) -> Option<usize> {
        self.params.levels_left(layout, size)
    }

    /// Digest of the numbers that define it.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        self.params.digest()
    }

    pub(crate) fn params(&self) -> &Arc<homaes_bgv::Params> {
        &self.params
    }
}

impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Set").field(&self.name()).finish()
    }
}

/// The BGV scheme in the pipeline.
pub(crate) struct Bgv<'k> {
    pub(crate) params: &'k homaes_bgv::Params,
    pub(crate) aes: Aes<'k>,
}

impl Evaluator for Bgv<'_> {
    type State = State;

    fn evaluate(
        &self,
        public: &[Block],
        mut step: impl FnMut(usize, Quality),
    ) -> Result<State, Failure> {
        let observe = |round, state: &State| step(round, quality(self.params, state));
        self.aes.evaluate_observed(public, observe)
    }

    fn xor_public(&self, state: &mut State, blocks: &[Block]) -> Result<(), Failure> {
        state.xor_public(self.params, blocks)
    }

    fn encode(&self, state: &State) -> Result<Vec<u8>, Failure> {
        homaes_bgv::encode_batch(self.params, state)
    }

    fn quality(&self, state: &State) -> Quality {
        quality(self.params, state)
    }
}

/// The worst of a state's ciphertexts.
pub(crate) fn quality(params: &homaes_bgv::Params, state: &State) -> Quality {
    Quality {
        level: state.level(),
        noise_bits: state.noise_bits(),
        capacity_bits: state.capacity_bits(params),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_found_by_name() {
        for scheme in Scheme::ALL {
            assert!(Set::names().contains(&scheme.default_set()));
            assert_eq!(Scheme::of_set(scheme.default_set()), Some(scheme));
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
}
