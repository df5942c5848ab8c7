//! SP 800-38A Appendix F: ECB (F.1) and CTR (F.5), for the three key sizes, in every view.

mod common;

use common::{View, block, expand, hex};
use homaes_aes::{Block, Direction, Mode, mode, state};

const KEYS: [&str; 3] = [
    "2b7e151628aed2a6abf7158809cf4f3c",
    "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
    "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
];

const PLAIN: &str = concat!(
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51",
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
);

const ECB: [&str; 3] = [
    concat!(
        "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf",
        "43b1cd7f598ece23881b00e3ed0306887b0c785e27e8ad3f8223207104725dd4",
    ),
    concat!(
        "bd334f1d6e45f25ff712a214571fa5cc974104846d0ad3ad7734ecb3ecee4eef",
        "ef7afd2270e2e60adce0ba2face6444e9a4b41ba738d6c72fb16691603c18e0e",
    ),
    concat!(
        "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870",
        "b6ed21b99ca6f4f9f153e7b1beafed1d23304b7a39f9f3ff067d8d8f9e24ecc7",
    ),
];

const IV: &str = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

const CTR: [&str; 3] = [
    concat!(
        "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff",
        "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
    ),
    concat!(
        "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94",
        "1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050",
    ),
    concat!(
        "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5",
        "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
    ),
];

fn blocks(s: &str) -> Vec<Block> {
    state::to_blocks(&hex(s))
}

#[test]
fn ecb_f1() {
    let plain = blocks(PLAIN);
    for (key, cipher) in KEYS.iter().zip(ECB) {
        let keys = vec![expand(key); plain.len()];
        for view in View::ALL {
            let found = view.run(Direction::Encrypt, &plain, &keys);
            assert_eq!(found, blocks(cipher), "{view:?}");
            let found = view.run(Direction::Decrypt, &found, &keys);
            assert_eq!(found, plain, "{view:?}");
        }
    }
}

#[test]
fn ctr_f5() {
    let (iv, plain) = (block(IV), blocks(PLAIN));
    let dir = Mode::Ctr { iv }.direction();
    let mut counters = vec![[0; 16]; plain.len()];
    mode::fill_counter_blocks(iv, 0, &mut counters);
    for (key, cipher) in KEYS.iter().zip(CTR) {
        let keys = vec![expand(key); plain.len()];
        for view in View::ALL {
            let stream = view.run(dir, &counters, &keys);
            let found: Vec<_> = blocks(cipher)
                .iter()
                .zip(&stream)
                .map(|(c, s)| state::xor(c, s))
                .collect();
            assert_eq!(found, plain, "{view:?}");
        }
    }
}
