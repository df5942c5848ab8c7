//! The contract of the command with OpenSSL on the other side: files of awkward sizes in every mode, key size and layout come back, and damaged
//! files of every kind are refused. Skipped where there is no `openssl`.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{IV, World};
use std::fs;
use std::process::Command;

/// Lengths around a block, and of several blocks.
const SIZES: [usize; 6] = [0, 1, 15, 16, 17, 300];

/// Bytes that do not repeat, other ones for every `seed`.
fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = std::iter::repeat_with(|| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 24) as u8
    });
    next.take(len).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn there_is_openssl() -> bool {
    let there = Command::new("openssl").arg("version").output().is_ok();
    if !there {
        eprintln!("skipped: there is no openssl");
    }
    there
}

/// Encrypts `p` to `c`.
fn openssl(world: &World, bits: usize, mode: &str, key: &[u8]) {
    let mut command = Command::new("openssl");
    command.current_dir(world.at("."));
    command.args(["enc", &format!("-aes-{bits}-{mode}"), "-K", &hex(key)]);
    command.args(["-in", "p", "-out", "c"]);
    if mode != "ecb" {
        command.args(["-iv", IV]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// All `sizes` of files under one key, in one mode and layout.
fn round_trips(world: &World, bits: usize, mode: &str, layout: &str) {
    let key = bytes(bits / 8, bits as u64);
    world.write("k", &key);
    let (direction, unpad, iv) = match mode {
        "ctr" => ("encrypt", "", format!("--iv {IV}")),
        "cbc" => ("decrypt", "--unpad", format!("--iv {IV}")),
        _ => ("decrypt", "--unpad", String::new()),
    };
    world.ok(&format!(
        "wrap-key --secret keys/secret.hsk --key-file k --direction {direction} --layout {layout} -o key.hwk --force"
    ));
    for size in SIZES {
        world.write("p", &bytes(size, size as u64));
        openssl(world, bits, mode, &key);
        world.ok(&format!(
            "transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode {mode} {iv} c -o o.hct --progress none --force"
        ));
        world.ok(&format!(
            "decrypt --secret keys/secret.hsk o.hct {unpad} -o q --force"
        ));
        let what = format!("AES-{bits}, {mode}, {layout}, {size} bytes");
        assert!(world.read("q") == world.read("p"), "{what}");
        world.ok("inspect o.hct");
    }
}

/// Damaged copies of every file: exit code 1, one line that begins with `error:`, and no output.
fn damage(world: &World) {
    // what was written last in the mode ctr
    let with = |eval: &str, wrapped: &str| {
        format!(
            "transcipher --eval {eval} --wrapped-key {wrapped} --mode ctr --iv {IV} c -o x --progress none"
        )
    };
    for (file, line) in [
        ("keys/eval.hek", with("bad", "key.hwk")),
        ("key.hwk", with("keys/eval.hek", "bad")),
        (
            "o.hct",
            "decrypt --secret keys/secret.hsk bad -o x".to_owned(),
        ),
        (
            "keys/secret.hsk",
            "decrypt --secret bad o.hct -o x".to_owned(),
        ),
    ] {
        let good = world.read(file);
        let changed = |at: usize| {
            let mut bytes = good.clone();
            bytes[at % good.len()] ^= 1 << (at % 8);
            bytes
        };
        for bad in [
            Vec::new(),
            good[..good.len() / 2].to_vec(),
            good[..good.len() - 1].to_vec(),
            [&good[..], b"x"].concat(),
            changed(good.len() / 3),
            changed(good.len() - 5),
        ] {
            world.write("bad", &bad);
            world.fails(1, &line, "");
        }
        fs::remove_file(world.at("bad")).unwrap();
    }
}

fn accepted(set: &str, bits: &[usize], modes: &[&str], layout: &str) {
    if !there_is_openssl() {
        return;
    }
    let world = World::of(set);
    for &bits in bits {
        // the mode ctr last, for `damage`
        for mode in modes {
            round_trips(&world, bits, mode, layout);
        }
    }
    damage(&world);
}

#[test]
fn bgv_sliced() {
    accepted(
        "bgv/toy-255",
        &[128, 192, 256],
        &["cbc", "ecb", "ctr"],
        "sliced",
    );
}

#[test]
fn bgv_bits() {
    accepted("bgv/toy-255", &[128, 256], &["cbc", "ctr"], "bits");
}

#[test]
#[ignore = "a minute: large keys"]
fn bgv_packed() {
    accepted("bgv/toy-21845", &[128], &["ctr"], "packed");
}

#[test]
fn tfhe_bits() {
    accepted("tfhe/toy", &[128], &["ecb", "ctr"], "bits");
}

#[test]
fn tfhe_nibbles() {
    accepted("tfhe/nibble-toy", &[128], &["ctr"], "sliced");
}

#[test]
fn ntru() {
    accepted("ntru/toy-255", &[128, 256], &["ctr", "cbc"], "bits");
}

#[test]
fn ntru_in_residues() {
    accepted("ntru/toy-depth3", &[128], &["ctr"], "bits");
}

#[cfg(feature = "dghv")]
#[test]
fn dghv() {
    accepted("dghv/micro", &[128, 256], &["ctr", "cbc"], "bits");
}
