//! What every scheme must do, whatever it is: tests of the traits of [`homaes_scheme::traits`] that a new scheme passes on its first day.
//!
//! They take the toy sets of every scheme in `schemes!`; nothing is added here for a new scheme. Laws that take seconds a set run on
//! [`representatives`], one set for each scheme and choice of layouts. The environment variable `HOMAES_CONFORMANCE_SETS` takes others:
//! `all`, or names with commas between them (an emulated processor is slow). Sets with large keys are tested with `-- --ignored nightly`.
//!
//! | test | law |
//! |---|---|
//! | `facts_agree` | names, layouts, sizes and levels of a set agree with each other |
//! | `wishes_are_granted_or_refused` | a wrapped key has the levels, the expansion and the direction that were asked for, or is refused |
//! | `records_are_the_file` | a key's records are always the same, as many and as long as its header says; what is read back is the same key |
//! | `every_round_is_right` | all layouts, key sizes, directions: the state after every round, the mask, the noise figures. Unless sets are chosen: AES-128 both ways and the longest key, and for sets that represent no others AES-128 |
//! | `threads_change_no_bit` | the same keys and blocks give the same files and the same record with one thread and with three |
//! | `kernels_change_no_bit` | the same on the portable kernels, and on those for AVX2 or NEON |
//! | `other_keys_are_refused` | keys of another set or secret make no circuit and decrypt nothing |
//! | `damage_is_found` | a changed, cut or lengthened file of any kind is refused |

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

/// Sets with larger evaluation keys take minutes, and so do those with larger wrapped keys.
const LARGE: u64 = 16 << 20;
const LARGE_WRAPPED: u64 = 64 << 20;

/// What `HOMAES_CONFORMANCE_SETS` says.
fn chosen() -> Option<&'static str> {
    static CHOSEN: OnceLock<Option<String>> = OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| std::env::var("HOMAES_CONFORMANCE_SETS").ok());
    chosen.as_deref()
}

/// Small toy sets: those that were chosen, or the first one of each scheme with these layouts.
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

/// The toy sets, small ones or large ones.
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

/// Key sizes that a set carries in a layout.
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

/// A set with a secret key and the file of its evaluation key, always the same.
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
        let eval_file = bytes_of(&*secret.eval_file([9; 32]).unwrap());
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
