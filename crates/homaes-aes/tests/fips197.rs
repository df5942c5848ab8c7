//! FIPS-197: the key schedules of Appendix A; the ciphers of Appendices B and C, round by round.

use std::slice;

use crate::common::{View, block, expand};
use homaes_aes::{Block, Direction, clear};

/// `start of round` r = 1 to Nr, then the output, as published.
struct Example {
    key: &'static str,
    plain: &'static str,
    states: &'static [&'static str],
}

const APPENDIX_B: Example = Example {
    key: "2b7e151628aed2a6abf7158809cf4f3c",
    plain: "3243f6a8885a308d313198a2e0370734",
    states: &[
        "193de3bea0f4e22b9ac68d2ae9f84808",
        "a49c7ff2689f352b6b5bea43026a5049",
        "aa8f5f0361dde3ef82d24ad26832469a",
        "486c4eee671d9d0d4de3b138d65f58e7",
        "e0927fe8c86363c0d9b1355085b8be01",
        "f1006f55c1924cef7cc88b325db5d50c",
        "260e2e173d41b77de86472a9fdd28b25",
        "5a4142b11949dc1fa3e019657a8c040c",
        "ea835cf00445332d655d98ad8596b0c5",
        "eb40f21e592e38848ba113e71bc342d2",
        "3925841d02dc09fbdc118597196a0b32",
    ],
};

const APPENDIX_C1: Example = Example {
    key: "000102030405060708090a0b0c0d0e0f",
    plain: "00112233445566778899aabbccddeeff",
    states: &[
        "00102030405060708090a0b0c0d0e0f0",
        "89d810e8855ace682d1843d8cb128fe4",
        "4915598f55e5d7a0daca94fa1f0a63f7",
        "fa636a2825b339c940668a3157244d17",
        "247240236966b3fa6ed2753288425b6c",
        "c81677bc9b7ac93b25027992b0261996",
        "c62fe109f75eedc3cc79395d84f9cf5d",
        "d1876c0f79c4300ab45594add66ff41f",
        "fde3bad205e5d0d73547964ef1fe37f1",
        "bd6e7c3df2b5779e0b61216e8b10b689",
        "69c4e0d86a7b0430d8cdb78070b4c55a",
    ],
};

const APPENDIX_C2: Example = Example {
    key: "000102030405060708090a0b0c0d0e0f1011121314151617",
    plain: "00112233445566778899aabbccddeeff",
    states: &[
        "00102030405060708090a0b0c0d0e0f0",
        "4f63760643e0aa85aff8c9d041fa0de4",
        "cb02818c17d2af9c62aa64428bb25fd7",
        "f75c7778a327c8ed8cfebfc1a6c37f53",
        "22ffc916a81474416496f19c64ae2532",
        "80121e0776fd1d8a8d8c31bc965d1fee",
        "671ef1fd4e2a1e03dfdcb1ef3d789b30",
        "0c0370d00c01e622166b8accd6db3a2c",
        "7255dad30fb80310e00d6c6b40d0527c",
        "a906b254968af4e9b4bdb2d2f0c44336",
        "88ec930ef5e7e4b6cc32f4c906d29414",
        "afb73eeb1cd1b85162280f27fb20d585",
        "dda97ca4864cdfe06eaf70a0ec0d7191",
    ],
};

const APPENDIX_C3: Example = Example {
    key: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
    plain: "00112233445566778899aabbccddeeff",
    states: &[
        "00102030405060708090a0b0c0d0e0f0",
        "4f63760643e0aa85efa7213201a4e705",
        "1859fbc28a1c00a078ed8aadc42f6109",
        "975c66c1cb9f3fa8a93a28df8ee10f63",
        "1c05f271a417e04ff921c5c104701554",
        "c357aae11b45b7b0a2c7bd28a8dc99fa",
        "7f074143cb4e243ec10c815d8375d54c",
        "d653a4696ca0bc0f5acaab5db96c5e7d",
        "5aa858395fd28d7d05e1a38868f3b9c5",
        "4a824851c57e7e47643de50c2af3e8c9",
        "c14907f6ca3b3aa070e9aa313b52b5ec",
        "5f9c6abfbac634aa50409fa766677653",
        "516604954353950314fb86e401922521",
        "627bceb9999d5aaac945ecf423f56da5",
        "8ea2b7ca516745bfeafc49904b496089",
    ],
};

/// Appendix C.1, equivalent inverse cipher: `istart` of rounds 1 to 10, then the output.
const INVERSE_C1: Example = Example {
    key: APPENDIX_C1.key,
    plain: "69c4e0d86a7b0430d8cdb78070b4c55a",
    states: &[
        "7ad5fda789ef4e272bca100b3d9ff59f",
        "54d990a16ba09ab596bbf40ea111702f",
        "3e1c22c0b6fcbf768da85067f6170495",
        "b458124c68b68a014b99f82e5f15554c",
        "e8dab6901477d4653ff7f5e2e747dd4f",
        "36339d50f9b539269f2c092dc4406d23",
        "2d6d7ef03f33e334093602dd5bfb12c7",
        "3bd92268fc74fb735767cbe0c0590e2d",
        "a7be1a6997ad739bd8c9ca451f618b61",
        "6353e08c0960e104cd70b751bacad0e7",
        "00112233445566778899aabbccddeeff",
    ],
};

fn states(example: &Example) -> Vec<Block> {
    example.states.iter().map(|s| block(s)).collect()
}

#[test]
fn appendix_a_schedules() {
    // (key, first derived word, its index, last four words)
    let cases = [
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            (4, "a0fafe17"),
            "d014f9a8c9ee2589e13f0cc8b6630ca6",
        ),
        (
            "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
            (6, "fe0c91f7"),
            "e98ba06f448c773c8ecc720401002202",
        ),
        (
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            (8, "9ba35411"),
            "fe4890d1e6188d0b046df344706c631e",
        ),
    ];
    for (key, (index, word), last) in cases {
        let keys = expand(key);
        let flat = keys.as_slice().as_flattened();
        assert_eq!(keys.as_slice().len(), keys.size().round_keys());
        assert_eq!(flat[..key.len() / 2], crate::common::hex(key));
        assert_eq!(flat[4 * index..4 * index + 4], crate::common::hex(word));
        assert_eq!(keys.as_slice().last(), Some(&block(last)));
    }
}

#[test]
fn appendix_c1_schedule_of_the_equivalent_inverse_cipher() {
    // `ik_sch` of rounds 0, 1, 9 and 10.
    let published = [
        (0, "13111d7fe3944a17f307a78b4d2b30c5"),
        (1, "13aa29be9c8faff6f770f58000f7bf03"),
        (9, "8c56dff0825dd3f9805ad3fc8659d7fd"),
        (10, "000102030405060708090a0b0c0d0e0f"),
    ];
    let schedule = expand(APPENDIX_C1.key).schedule(Direction::Decrypt);
    for (round, key) in published {
        assert_eq!(schedule.as_slice()[round], block(key), "round {round}");
    }
}

#[test]
fn encryption_round_by_round_in_every_view() {
    for example in [APPENDIX_B, APPENDIX_C1, APPENDIX_C2, APPENDIX_C3] {
        check(Direction::Encrypt, &example);
    }
}

#[test]
fn decryption_round_by_round_in_every_view() {
    check(Direction::Decrypt, &INVERSE_C1);
}

fn check(dir: Direction, example: &Example) {
    let (input, keys) = (block(example.plain), expand(example.key));
    let published = states(example);
    assert_eq!(clear::trace(dir, input, &keys), published);
    for view in View::ALL {
        let found = view.trace(dir, &[input; 2], &[keys.clone(), keys.clone()]);
        assert_eq!(found.len(), published.len());
        for (round, (found, published)) in found.iter().zip(&published).enumerate() {
            assert_eq!(found, &[*published; 2], "{view:?} {dir:?} round {round}");
        }
    }
}

#[test]
fn every_example_decrypts_in_every_view() {
    for example in [APPENDIX_B, APPENDIX_C1, APPENDIX_C2, APPENDIX_C3] {
        let (plain, keys) = (block(example.plain), expand(example.key));
        let cipher = states(&example)[keys.size().rounds()];
        assert_eq!(clear::encrypt_block(plain, &keys), cipher);
        assert_eq!(clear::decrypt_block(cipher, &keys), plain);
        let trace = clear::trace(Direction::Decrypt, cipher, &keys);
        for view in View::ALL {
            let found = view.trace(Direction::Decrypt, &[cipher], slice::from_ref(&keys));
            assert_eq!(found.concat(), trace, "{view:?}");
            assert_eq!(found.concat().last(), Some(&plain));
        }
    }
}
