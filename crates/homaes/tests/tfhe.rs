//! From AES ciphertext to TFHE ciphertext and back, on the toy sets.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{IV, KEY, World, memory, message, part};
use crate::is_rounded;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use homaes::{
    DecryptOptions, Direction, Expansion, Mode, Purpose, Scheme, Set, WrapOptions, inspect,
};
use std::fs;

fn worlds() -> Vec<World> {
    let names = Set::names().into_iter();
    let sets = names.map(|name| Set::named(name).unwrap());
    let toys = sets.filter(|set| set.scheme() == Scheme::Tfhe && set.purpose() == Purpose::Toy);
    let worlds = toys.map(|set| World::of(set.name(), &WrapOptions::default()));
    let worlds: Vec<World> = worlds.collect();
    assert!(!worlds.is_empty());
    worlds
}

impl World {
    fn decrypts_to(&self, results: &[u8], message: &[u8]) {
        let (found, report) = self.decrypt(results, DecryptOptions::default()).unwrap();
        assert!(found == message, "{} bytes", message.len());
        assert!(report.margin_bits.is_none_or(|bits| bits >= 1.0));
    }
}

#[test]
fn messages_come_back_and_the_last_batch_is_as_short_as_its_blocks() {
    for (i, world) in worlds().into_iter().enumerate() {
        let run = world.transcipher();
        let layout = run.set().layouts()[0];
        assert_eq!(run.layout_for(1).unwrap(), layout);
        let full = run.set().blocks_per_batch(layout) as usize;
        let lengths = [0, 1, 17, 16 * full, 16 * full + 3];
        // long messages with the first set only
        let lengths = &lengths[..if i == 0 { 5 } else { 3 }];
        let mut sizes = Vec::new();
        for &len in lengths {
            let message = message(len);
            let report = run.run(part(&message), world.output("o.hct")).unwrap();
            let blocks = len.div_ceil(16);
            assert_eq!(
                (report.blocks, report.batches, report.layout),
                (blocks as u64, blocks.div_ceil(full) as u64, layout)
            );
            let results = fs::read(world.at("o.hct")).unwrap();
            assert_eq!(report.file_bytes, results.len() as u64);
            world.decrypts_to(&results, &message);
            let found = inspect(world.at("o.hct")).unwrap().messages.unwrap();
            assert!(is_rounded(found.quality, report.quality));
            let steps = if len == 0 { 0 } else { 11 };
            assert_eq!((found.meta.level, found.steps.len()), (1, steps));
            assert_eq!(report.count("rotations") > 0, len > 0);
            sizes.push(results.len());
        }
        assert!(sizes.is_sorted_by(|a, b| a < b), "{sizes:?}");
        if let [.., full, more] = sizes[..]
            && i == 0
        {
            assert!(more - full < full, "{sizes:?}");
        }
    }
}

#[test]
fn either_side_may_expand_the_key_for_either_direction() {
    for mut world in worlds() {
        assert_eq!(world.wrapped.expansion(), Expansion::Server);
        let layout = world.keys.eval.set().layouts()[0];
        let mut block = Array::from(IV);
        aes::Aes128::new(&KEY.into()).encrypt_block(&mut block);
        let mut sizes = Vec::new();
        for expansion in Expansion::ALL {
            for (direction, part) in [
                (Direction::Encrypt, part(&IV)),
                (Direction::Decrypt, memory(block.as_slice(), Mode::Ecb)),
            ] {
                world.wrapped = world.wrap(&WrapOptions {
                    expansion: Some(expansion),
                    direction,
                    ..WrapOptions::default()
                });
                assert_eq!(world.wrapped.expansion(), expansion);
                world.wrapped.save(world.output("key.hwk")).unwrap();
                let found = inspect(world.at("key.hwk")).unwrap().wrapped.unwrap();
                let expected = (expansion, &[(layout, 1)][..]);
                assert_eq!((found.expansion, &found.layouts[..]), expected);
                let run = world.transcipher();
                let report = run.run(part, world.output("o.hct")).unwrap();
                assert!(report.setup_seconds > 0.0);
                world.decrypts_to(&fs::read(world.at("o.hct")).unwrap(), &IV);
                sizes.push(world.wrapped.file_bytes());
            }
        }
        assert!(sizes[0] < sizes[2], "{sizes:?}");
    }
}
