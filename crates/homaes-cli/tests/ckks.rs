//! Results of BGV for CKKS libraries: keys, conversion, export. Lattigo reads the same files in interop/lattigo, numpy in
//! tests/python.

use crate::common::{World, assert_fields, root};
use serde_json::json;

/// Prime of Lattigo's parameters in the ring of degree 1024.
const LATTIGO: &str = "export --to lattigo --modulus 1152921504606830593 --log-n 10";

/// A world with the golden files, results under `toy.key` and what Lattigo reads.
fn golden() -> World {
    let world = World::new();
    for name in ["toy.hrl", "toy.lattigo"] {
        let golden = root().join("interop/lattigo/testdata").join(name);
        world.write(name, std::fs::read(golden).unwrap());
    }
    world
}

#[test]
fn results_under_a_link_key_are_exported() {
    let world = golden();
    world.table(&format!(
        "{LATTIGO} -o m.lattigo toy.hrl => 2 ciphertexts of Lattigo: 1500 bytes modulo 2^11 under link key
        same m.lattigo toy.lattigo
        export --to npz -o m.npz toy.hrl => 6 ciphertexts for numpy: 1500 bytes
        inspect toy.hrl => a link key for bytes modulo 2^11
        {LATTIGO} -o m.lattigo toy.hrl =1 already exists
        {LATTIGO} -o toy.hrl toy.hrl --force =1 is both an input and the output
        export --to lattigo -o x toy.hrl =2 --modulus
        export --to lattigo --modulus 1152921504606830595 --log-n 10 -o x toy.hrl =1 for log_n 10
        export --to lattigo --modulus 1152921504606584833 --log-n 18 -o x toy.hrl =1 expected 8 to 17
        {LATTIGO} --message-ratio 5 -o x toy.hrl =1 expected 2^1 to 2^4
        {LATTIGO} --range 0..16 -o x toy.hrl =2 --range is for --to fheuint8
        export --to npz --log-n 12 -o x toy.hrl =2 --log-n is for --to lattigo
        {LATTIGO} -o x o.hct =1 RLWE ciphertexts
        {LATTIGO} -o x toy.lattigo =1 not a homaes file
        decrypt --secret keys/secret.hsk toy.hrl -o x =1 --to lattigo or npz"
    ));
    let end = &world.json("inspect toy.hrl --json")["end"];
    assert_fields(end, json!({ "what": "a link key for bytes modulo 2^11" }));
    assert!(!world.names(".").contains(&"x".into()));
    let bytes = world.read("toy.hrl");
    for cut in (0..bytes.len()).step_by(1999) {
        world.write("bad.hrl", &bytes[..cut]);
        world.fails(1, &format!("{LATTIGO} -o x bad.hrl"), "bad.hrl");
        let mut flipped = bytes.clone();
        flipped[cut] ^= 8;
        world.write("bad.hrl", flipped);
        world.fails(1, "export --to npz -o x bad.hrl", "bad.hrl");
    }
    assert!(!world.names(".").contains(&"x".into()));
}

#[test]
fn link_keys_are_secret_and_kept() {
    let world = World::new();
    world.table(
        "keygen --set bgv/toy-4369 --out b --bridge ckks --accept-insecure => converts to a link key for bytes modulo 2^11
        inspect b/bridge.hbk => a link key for bytes modulo 2^11
        keygen --out b --bridge ckks =1 bridge.hbk: file already exists
        keygen --out b --bridge ckks --force =1 link key of an earlier bridge, which is never replaced
        mv b/link.key link.key
        keygen --out b --bridge ckks:8 --force => modulo 2^8
        keygen --out b --bridge ckks:10 --force =2 expected ckks for Lattigo
        keygen --set bgv/toy-255 --out n --bridge ckks --accept-insecure =1 a ring of degree 8 to pack in
        keygen --set bgv/aes128+8 --out n --bridge ckks =1 found 8 multiplications left after AES-128, expected 11; wrap the key with --levels-left 11, under bgv/aes192+5
        keygen --set bgv/aes128 --out n --bridge ckks =2 use bgv/aes192+5
        keygen --set tfhe/toy --out n --bridge ckks --accept-insecure =2 set tfhe/toy has no bridges
        wrap-key --secret b/secret.hsk --key-file k --layout sliced --levels-left 2 --out b.hwk
        transcipher --eval b/eval.hek --wrapped-key b.hwk --mode ctr --iv $iv --to tfhe --bridge b/bridge.hbk c -o x \
            =2 use --to ckks
        transcipher --eval b/eval.hek --wrapped-key b.hwk --mode ctr --iv $iv --to ckks --bridge b/bridge.hbk c -o x \
            =1 wrap the key with --levels-left 8
        transcipher --eval b/eval.hek --wrapped-key b.hwk --mode ctr --iv $iv c -o b/link.key --force =1 remove the key",
    );
    #[cfg(unix)]
    assert_eq!(world.mode("b/link.key") & 0o777, 0o600);
    let [old, new] = ["link.key", "b/link.key"].map(|name| world.document(name));
    assert_ne!(old["id"], new["id"]);
    assert_ne!(old["bits"], new["bits"]);
    assert_fields(&new, json!({ "dimension": 256, "set": "bgv/toy-4369" }));
    let end = &world.json("inspect b/bridge.hbk --json")["end"];
    assert_eq!(end["key_id"], new["id"]);
}
