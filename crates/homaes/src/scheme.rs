//! The schemes and their parameter sets. A new scheme needs a file or a crate that implements
//! [`homaes_scheme::traits`], and a line in `schemes!` below.

#[cfg(test)]
pub(crate) mod conformance;
pub(crate) mod devices;
#[cfg(feature = "plain")]
mod plain;

pub use devices::{DEVICE_VARIABLE, Devices, gpus};

use crate::error::{At, quoted};
use crate::{Error, ErrorKind, ParamsError, Result};
use core::fmt;
use homaes_aes::{KeySize, Layout};
use homaes_scheme::traits::{Params, SchemeEntry};
use homaes_scheme::{Mismatch, NoiseTerms, Purpose, ReferenceOp, SetCard, SetId, Variant};
use homaes_wire::{KeyId, Reader};
use std::any::Any;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Declares the schemes: `Name in module: "documentation";`, after a `#[cfg]` if the scheme needs a cargo feature. The
/// crate or module defines the entry `SCHEME`.
macro_rules! schemes {
    ($($(#[cfg($cfg:meta)])? $name:ident in $module:ident: $doc:literal;)+) => {
        /// The FHE schemes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Scheme {
            $($(#[cfg($cfg)])? #[doc = $doc] $name,)+
        }

        impl Scheme {
            /// Every scheme.
            pub const ALL: &'static [Self] = &[$($(#[cfg($cfg)])? Self::$name,)+];

            fn entry(self) -> &'static SchemeEntry {
                match self {
                    $($(#[cfg($cfg)])? Self::$name => &$module::SCHEME,)+
                }
            }
        }
    };
}

schemes! {
    Bgv in homaes_bgv: "Brakerski, Gentry, Vaikuntanathan, in the form of Gentry, Halevi and Smart.";
    Tfhe in homaes_tfhe: "Chillotti, Gama, Georgieva, Izabachène, with circuit bootstrapping.";
    Ntru in homaes_ntru: "López-Alt, Tromer, Vaikuntanathan, in the form of Doröz, Hu and Sunar. No set is secure.";
    #[cfg(feature = "dghv")]
    Dghv in homaes_dghv: "Coron, Lepoint, Tibouchi: scale-invariant DGHV over the integers. No set is secure.";
    #[cfg(feature = "plain")]
    Plain in plain: "AES in the clear, which protects nothing: for tests of what schemes have in common.";
}

impl Scheme {
    /// The first part of its sets' names.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// The set for data that matter.
    #[must_use]
    pub fn default_set(self) -> &'static str {
        (self.entry().sets)()[0]
    }

    /// Its ways of evaluating AES, if there are several.
    #[must_use]
    pub fn variants(self) -> &'static [Variant] {
        self.entry().variants
    }

    /// The meaning of its noise figures.
    #[must_use]
    pub fn noise_terms(self) -> NoiseTerms {
        self.entry().noise_terms
    }

    /// The operation that its speed is compared with.
    #[must_use]
    pub fn reference_op(self) -> ReferenceOp {
        self.entry().reference_op
    }

    /// Multiplications that ciphertexts of `level` allow; `None` without such a limit, because the scheme bootstraps.
    #[must_use]
    pub fn multiplications_left(self, level: usize) -> Option<usize> {
        let has_levels = self.entry().has_levels;
        has_levels.then(|| level.saturating_sub(1))
    }

    /// Blocks that show its strength in seconds; `None` for a full batch.
    #[must_use]
    pub fn blocks_to_show(self) -> Option<u64> {
        self.entry().blocks_to_show
    }

    /// The scheme called `name`, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|s| s.name() == name)
    }

    pub(crate) fn batches_in_flight(self, threads: usize) -> usize {
        (self.entry().batches_in_flight)(threads)
    }

    /// Lower bound on the memory for a key whose file has `file_bytes`.
    pub(crate) fn memory_of_key(self, kind: homaes_wire::Kind, file_bytes: u64) -> u64 {
        (self.entry().memory_of_key)(kind, file_bytes)
    }

    pub(crate) fn of_set(name: &str) -> Option<Self> {
        Self::named(name.split_once('/')?.0)
    }
}

/// A checked parameter set with its precomputed tables. Cheap to clone.
#[derive(Clone)]
pub struct Set {
    scheme: Scheme,
    params: Arc<dyn Params>,
    card: Arc<SetCard>,
}

impl Set {
    /// The names of all sets, scheme by scheme, secure ones first.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        let schemes = Scheme::ALL.iter();
        schemes.flat_map(|scheme| (scheme.entry().sets)()).collect()
    }

    /// The set called `name`. Takes about a tenth of a second for large sets.
    ///
    /// # Errors
    /// `ErrorKind::UnknownSet`.
    pub fn named(name: &str) -> Result<Self> {
        let set = Self::find(name).ok_or_else(|| {
            let near = nearest(name, &Self::names());
            let near = near.map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
            let (found, expected) = (quoted(name), Self::secure_names());
            let message =
                format!("unknown parameter set {found}{near}, secure ones are {expected}");
            Error::refused(ErrorKind::UnknownSet, message).with(name, expected)
        })?;
        set.map_err(Error::Params)
    }

    fn find(name: &str) -> Option<Result<Self, ParamsError>> {
        let scheme = Scheme::of_set(name)?;
        let params = (scheme.entry().params)(name)?;
        Some(params.map(|params| Self {
            scheme,
            card: Arc::new(params.card()),
            params,
        }))
    }

    /// Made once, because it takes all sets.
    fn secure_names() -> &'static str {
        static NAMES: OnceLock<String> = OnceLock::new();
        NAMES.get_or_init(|| {
            let secure = Self::all().filter(Self::is_secure);
            let names: Vec<_> = secure.map(|set| set.name()).collect();
            names.join(", ")
        })
    }

    /// Every sound set; all declared sets are.
    fn all() -> impl Iterator<Item = Self> {
        Self::names().into_iter().filter_map(Self::find).flatten()
    }

    pub(crate) fn of_file(path: &Path, name: &str) -> Result<Self> {
        let set = Self::find(name).ok_or_else(|| {
            let expected = Self::names().join(", ");
            let message = format!("unknown parameter set {name:?}, expected one of: {expected}");
            Error::refused(ErrorKind::UnknownSetInFile, message)
                .with(name, expected)
                .at(path)
        })?;
        set.map_err(Error::Params)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.card.name.as_str()
    }

    /// Its scheme.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Its purpose. Only [`Purpose::Secure`] sets protect anything.
    #[must_use]
    pub fn purpose(&self) -> Purpose {
        self.card.purpose
    }

    /// Whether it is for data that matter.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.purpose() == Purpose::Secure
    }

    /// All facts about it.
    #[must_use]
    pub fn card(&self) -> &SetCard {
        &self.card
    }

    /// The layouts it offers, the fastest for full batches first.
    #[must_use]
    pub fn layouts(&self) -> &'static [Layout] {
        self.params.layouts()
    }

    /// The evaluation keys that can be made: the layouts of each, and the length of its file. That for all layouts
    /// comes first. In BGV one for sliced alone leaves out the keys of packed, two fifths of the file; a short message
    /// then takes a whole sliced batch.
    #[must_use]
    pub fn eval_keys(&self) -> Vec<(Vec<Layout>, u64)> {
        self.params.eval_keys()
    }

    /// Layouts and file length of the evaluation key for exactly these layouts, in any order. An empty list stands for
    /// all layouts of the set.
    ///
    /// # Errors
    /// [`Error::Keys`] if the set lacks one of them; `ErrorKind::Argument` if there is no key for these alone, because
    /// it would be as large as that for all.
    pub fn eval_key(&self, layouts: &[Layout]) -> Result<(Vec<Layout>, u64)> {
        let layouts = match layouts {
            [] => self.layouts(),
            some => some,
        };
        self.check_layouts(layouts)?;
        let keys = self.eval_keys();
        let expected: Vec<String> = keys
            .iter()
            .map(|(choice, _)| Layout::list(choice))
            .collect();
        let same = |choice: &[Layout]| {
            let within = layouts.iter().all(|layout| choice.contains(layout));
            within && choice.iter().all(|layout| layouts.contains(layout))
        };
        let found = keys.into_iter().find(|(choice, _)| same(choice));
        found.ok_or_else(|| {
            let (found, expected) = (Layout::list(layouts), expected.join(" or "));
            let set = self.name();
            let message = format!(
                "an evaluation key of set {set} for {found} alone would be as large as one for all its layouts, \
                 expected {expected}"
            );
            Error::refused(ErrorKind::Argument, message).with(found, expected)
        })
    }

    /// Most AES blocks evaluated together in `layout`. In BGV a smaller batch costs as much as a full one, in TFHE it
    /// takes less time and space.
    #[must_use]
    pub fn blocks_per_batch(&self, layout: Layout) -> u64 {
        self.params.blocks_per_batch(layout)
    }

    /// AES blocks of one record of results in `layout`: those of a batch, or half as many if AES runs in a ring of its
    /// own.
    #[must_use]
    pub fn blocks_per_record(&self, layout: Layout) -> u64 {
        self.params.blocks_per_record(layout)
    }

    /// AES blocks that show the strength of the set in seconds: a full batch of BGV, a single block of TFHE.
    #[must_use]
    pub fn default_blocks(&self, layout: Layout) -> u64 {
        let few = self.scheme.blocks_to_show();
        few.unwrap_or_else(|| self.blocks_per_batch(layout))
    }

    /// Most multiplications that AES with keys of `size` can leave on its output in `layout`; `None` if the set does
    /// not support such keys. 0 in TFHE, whose output has no levels: see [`Scheme::multiplications_left`].
    #[must_use]
    pub fn levels_left(&self, layout: Layout, size: KeySize) -> Option<usize> {
        self.params.levels_left(layout, size)
    }

    /// The AES key sizes that it supports in one of its layouts.
    #[must_use]
    pub fn key_sizes(&self) -> Vec<KeySize> {
        let carries = |size: &KeySize| {
            let mut layouts = self.layouts().iter();
            layouts.any(|&layout| self.levels_left(layout, *size).is_some())
        };
        KeySize::ALL.into_iter().filter(carries).collect()
    }

    /// The name of the scheme's set for AES keys of `size` with the smallest evaluation key: if possible a secure one
    /// that leaves as many multiplications as this one.
    #[must_use]
    pub fn for_key_size(&self, size: KeySize) -> Option<&'static str> {
        let most = |set: &Self, size| {
            let layouts = set.layouts().iter();
            layouts
                .filter_map(|&layout| set.levels_left(layout, size))
                .max()
        };
        let wanted = KeySize::ALL.into_iter().filter_map(|size| most(self, size));
        let wanted = wanted.max();
        let own = |name: &&str| Scheme::of_set(name) == Some(self.scheme());
        let sets = Self::names().into_iter().filter(own);
        // one at a time, because parameters take memory
        let sets = sets.filter_map(Self::find).flatten();
        let fits = sets.filter(|set| set.key_sizes().contains(&size));
        let best = fits.map(|set| {
            let bytes = set.card.eval_key_bytes;
            (
                !set.is_secure(),
                most(&set, size) < wanted,
                bytes,
                set.name(),
            )
        });
        best.min().map(|(.., name)| name)
    }

    /// Digest of the numbers that define it.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        self.params.digest()
    }

    /// Refuses layouts that it does not offer.
    pub(crate) fn check_layouts(&self, layouts: &[Layout]) -> Result<()> {
        let (set, offered) = (self.name(), self.layouts());
        match layouts.iter().find(|layout| !offered.contains(layout)) {
            None => Ok(()),
            Some(&layout) => Err(Error::keys(Mismatch::NoLayout {
                layout,
                set,
                offered,
            })),
        }
    }

    /// Refuses a file of another set or another secret key.
    pub(crate) fn check_own<R: Read>(&self, file: &Reader<R>, key: KeyId) -> Result<()> {
        let set = file.check_set(self.name(), self.digest());
        set.and_then(|()| file.check_key(key)).at(file.path())
    }

    pub(crate) fn id(&self) -> SetId<'_> {
        SetId::new(self.name(), self.digest())
    }

    pub(crate) fn params(&self) -> Arc<dyn Params> {
        self.params.clone()
    }

    /// The parameters in the type of their scheme's crate.
    pub(crate) fn params_of<P: Any + Send + Sync>(&self) -> Option<Arc<P>> {
        let params: Arc<dyn Any + Send + Sync> = self.params();
        params.downcast().ok()
    }

    /// GPU memory for an evaluation in `layout`, with several batches at once; `None` if GPUs do not evaluate it.
    #[must_use]
    pub fn gpu_memory(&self, layout: Layout) -> Option<u64> {
        self.params.gpu_memory(layout)
    }
}

impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Set").field(&self.name()).finish()
    }
}

/// The first name that contains `name`, or differs from it by the scheme or a few letters.
fn nearest(name: &str, names: &[&'static str]) -> Option<&'static str> {
    const LONGEST: usize = 40;
    if name.len() > LONGEST {
        return None;
    }
    let name = name.to_lowercase();
    let steps = |set: &str| {
        let short = set.split_once('/').map_or(set, |(_, short)| short);
        match () {
            () if short == name => 0,
            () if name.len() > 2 && set.contains(&*name) => 1,
            () => edits(&name, set).min(edits(&name, short)),
        }
    };
    let near = names.iter().copied().min_by_key(|set| steps(set));
    near.filter(|set| steps(set) <= 3.min(name.len() / 2))
}

/// The edit distance of two words.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = i;
        row[0] = i + 1;
        for (j, y) in b.chars().enumerate() {
            let changed = before + usize::from(x != y);
            before = row[j + 1];
            row[j + 1] = changed.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.chars().count()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Detail;

    #[test]
    fn sets_are_found_by_name() {
        let set = Set::named("bgv/toy-255").unwrap();
        assert_eq!((set.name(), set.is_secure()), ("bgv/toy-255", false));
        assert_eq!(set.blocks_per_batch(Layout::Sliced), 16);
        assert_eq!(set.levels_left(Layout::Packed, KeySize::Aes128), None);
        for bad in ["", "bgv", "bgv/", "tfhe/x", "bgv/toy-255 "] {
            let error = Set::named(bad).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnknownSet, "{error}");
        }
    }

    #[test]
    fn unknown_names_get_the_nearest_and_the_secure_ones() {
        for (name, expected) in [
            ("aes128", Some("bgv/aes128")),
            ("BGV/AES256", Some("bgv/aes256")),
            ("bgv/ase128", Some("bgv/aes128")),
            ("tfhe/p46", Some("tfhe/p64")),
            ("bridge", Some("bgv/bridge128")),
            ("", None),
            ("aes-128-bgv-secure", None),
        ] {
            let error = Set::named(name).unwrap_err();
            let message = error.to_string();
            let (_, near) = message.split_once(" (did you mean ").unzip();
            let near = near.and_then(|near| Some(near.split_once("?)")?.0));
            assert_eq!(near, expected, "{name}");
            let Some([_, Detail::Text(secure)]) = error.details() else {
                panic!("{error}");
            };
            assert!(
                secure.contains("bgv/aes128") && !secure.contains("toy"),
                "{secure}"
            );
        }
        let long = "x".repeat(100_000);
        let error = Set::named(&long).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownSet);
        let message = error.to_string();
        assert!(message.contains("... (100000 bytes), secure"));
    }

    #[test]
    fn sets_say_which_aes_keys_they_take() {
        let set = Set::named("bgv/aes128").unwrap();
        assert_eq!(set.key_sizes(), [KeySize::Aes128]);
        let other = |name, size| Set::named(name).unwrap().for_key_size(size);
        assert_eq!(other("bgv/aes128", KeySize::Aes192), Some("bgv/aes192"));
        assert_eq!(other("bgv/aes128", KeySize::Aes256), Some("bgv/aes256"));
        let deep = Some("bgv/aes256+8");
        assert_eq!(other("bgv/aes128+8", KeySize::Aes192), deep);
        assert_eq!(other("bgv/aes128+8", KeySize::Aes256), deep);
        let tfhe = other("tfhe/p64", KeySize::Aes256);
        assert_eq!(tfhe, Some("tfhe/p64-blocks"));
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
