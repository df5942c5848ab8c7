//! Tests of the traits in [`homaes_scheme::traits`] that every scheme must pass.
//!
//! They take the toy sets of every scheme in `schemes!`, so a new scheme needs no addition here. Laws that take seconds
//! per set run on [`representatives`], one set for each scheme and choice of layouts. The environment variable
//! `HOMAES_CONFORMANCE_SETS` selects others: `all`, or names separated by commas (an emulated processor is slow). Sets
//! with large keys are tested with `-- --ignored nightly`.
//!
//! | test | law |
//! |---|---|
//! | `facts_agree` | names, layouts, sizes and levels of a set agree with each other |
//! | `wishes_are_granted_or_refused` | a wrapped key has the requested levels, expansion and direction, or is refused |
//! | `records_are_the_file` | records of a key are reproducible and match the header; the key read back is the same |
//! | `every_round_is_right` | the state after every round, the mask and the noise figures are right |
//! | `threads_change_no_bit` | files and records are the same with one thread and with three |
//! | `kernels_change_no_bit` | the same on the portable kernels, and on those for AVX2 or NEON |
//! | `other_keys_are_refused` | keys of another set or secret make no circuit; those of another set are not read |
//! | `damage_is_found` | a changed, cut or lengthened file of any kind is refused |
//!
//! `every_round_is_right` covers all layouts: in representatives the shortest key in both directions and the longest
//! key for encryption, in selected sets all key sizes in both directions, in other sets the shortest key for
//! encryption.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod files;
mod rounds;

use super::Set;
use homaes_aes::{Block, Direction, KeySize, Layout, RoundKeys};
use homaes_scheme::traits::{EvalKey, Input, SecretKey, WrappedKey};
use homaes_scheme::{Purpose, Records, SetCard, WrapOptions, file};
use homaes_wire::{Kind, Reader, Writer};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::sync::OnceLock;

/// Sets with larger evaluation or wrapped keys take minutes.
const LARGE: u64 = 16 << 20;
const LARGE_WRAPPED: u64 = 64 << 20;

fn chosen() -> Option<&'static str> {
    static CHOSEN: OnceLock<Option<String>> = OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| std::env::var("HOMAES_CONFORMANCE_SETS").ok());
    chosen.as_deref()
}

/// Small toy sets: the selected ones, or the first of each scheme with these layouts.
pub(crate) fn representatives() -> Vec<Set> {
    let mut found: Vec<Set> = Vec::new();
    for set in sets(false) {
        let alike =
            |other: &Set| other.scheme() == set.scheme() && other.layouts() == set.layouts();
        if chosen().is_some() || !found.iter().any(alike) {
            found.push(set);
        }
    }
    found
}

fn sets(large: bool) -> Vec<Set> {
    // the tables of all sets take seconds
    static TOYS: OnceLock<Vec<Set>> = OnceLock::new();
    let toys = TOYS.get_or_init(|| {
        let chosen = |name: &&str| match chosen() {
            Some(chosen) => chosen == "all" || chosen.split(',').any(|c| c == *name),
            None => true,
        };
        let names = Set::names().into_iter().filter(chosen);
        let sets = names.map(|name| Set::named(name).unwrap());
        sets.filter(|set| set.purpose() == Purpose::Toy).collect()
    });
    let is_large =
        |card: &SetCard| card.eval_key_bytes > LARGE || card.wrapped_key_bytes > LARGE_WRAPPED;
    let sets = toys.iter().filter(|set| is_large(set.card()) == large);
    sets.cloned().collect()
}

fn sizes(set: &Set, layout: Layout) -> Vec<KeySize> {
    let carried = KeySize::ALL.into_iter();
    carried
        .filter(|&size| set.levels_left(layout, size).is_some())
        .collect()
}

fn bytes_of(key: &dyn Records) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), key.header().unwrap()).unwrap();
    file::write(key, &mut writer).unwrap();
    writer.finish().unwrap()
}

fn open(bytes: &[u8], kind: Kind) -> Input<'_> {
    Reader::from_slice(bytes, kind).unwrap().boxed()
}

/// The secret key and the evaluation key file of a set are always the same.
struct World {
    set: Set,
    secret: Box<dyn SecretKey>,
    eval_file: Vec<u8>,
    eval: Box<dyn EvalKey>,
    rng: ChaCha20Rng,
}

impl World {
    fn new(set: Set, seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let secret = set.params().generate(&mut rng, &mut |_, _| ()).unwrap();
        let eval_file = bytes_of(&*secret.eval_file([9; 32], set.layouts()).unwrap());
        let eval = set.params().read_eval(open(&eval_file, Kind::EvalKey));
        Self {
            eval: eval.unwrap(),
            secret,
            eval_file,
            set,
            rng,
        }
    }

    fn wrap(&mut self, keys: &RoundKeys, wrapping: &WrapOptions) -> Vec<u8> {
        let file = self.secret.wrap_file(keys, wrapping, &mut self.rng);
        bytes_of(&*file.unwrap())
    }

    fn wrapped(&self, file: &[u8]) -> Box<dyn WrappedKey> {
        let params = self.set.params();
        params.read_wrapped(open(file, Kind::WrappedKey)).unwrap()
    }
}

fn wrapping(layout: Layout, direction: Direction) -> WrapOptions {
    WrapOptions {
        layouts: vec![layout],
        direction,
        ..WrapOptions::default()
    }
}

/// The example of FIPS-197, appendix C, a block of zeros, and random blocks.
fn blocks(count: usize, rng: &mut ChaCha20Rng) -> Vec<Block> {
    let mut out = vec![core::array::from_fn(|i| 0x11 * i as u8), [0; 16]];
    out.resize_with(count.max(2), || {
        let mut block = [0; 16];
        rng.fill_bytes(&mut block);
        block
    });
    out.truncate(count);
    out
}

/// 00 01 02 …, as in FIPS-197, appendix C.
fn aes_key(size: KeySize) -> Vec<u8> {
    (0..size.key_bytes() as u8).collect()
}
