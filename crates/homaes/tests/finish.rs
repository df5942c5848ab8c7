//! Results for decryption alone.

use crate::common::{World, layout, levels, message, part};
use homaes::{Ciphertexts, DecryptOptions, ErrorKind, Layout, Output, WrapOptions};

fn finished(results: &[u8]) -> homaes::Result<Vec<u8>> {
    let (output, buffer) = Output::memory();
    let bytes = Ciphertexts::of_read(results, "results")?.finish(output)?;
    let finished = buffer.take();
    assert_eq!(bytes, finished.len() as u64);
    Ok(finished)
}

/// Two batches, the last one with few blocks.
const BYTES: usize = 16 * 16 + 100;

#[test]
fn finished_results_decrypt_and_are_as_small_as_those_without_levels() {
    let mut world = World::of("bgv/toy-255", &levels(0));
    let message = message(BYTES);
    let small = world.results(part(&message));
    for left in [1, 8] {
        world.wrapped = world.wrap(&levels(left));
        let results = world.results(part(&message));
        let finished = finished(&results).unwrap();
        assert!(finished.len() == small.len() && results.len() > 2 * finished.len());
        let (found, report) = world.decrypt(&finished, DecryptOptions::default()).unwrap();
        assert!(
            found == message && report.margin_bits > Some(2.0),
            "{report:?}"
        );
        let meta = |bytes: &[u8]| Ciphertexts::of_read(bytes, "r").unwrap().meta().clone();
        assert_eq!(meta(&finished), meta(&small));
    }
    assert!(finished(&small).unwrap() == small);
    let empty = world.results(part(b""));
    let (found, _) = world
        .decrypt(&finished(&empty).unwrap(), DecryptOptions::default())
        .unwrap();
    assert_eq!(found, b"");
}

#[test]
fn results_with_one_form_are_refused() {
    for (set, how) in [
        ("bgv/toy-255", layout(Layout::Bits)),
        ("tfhe/toy", WrapOptions::default()),
    ] {
        let results = World::of(set, &how).results(part(b"text"));
        let error = finished(&results).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        assert!(error.to_string().contains("have one form"), "{error}");
    }
}

#[test]
fn the_file_that_is_read_stays() {
    let world = World::new();
    world
        .transcipher()
        .run(part(b"text"), world.output("r"))
        .unwrap();
    let before = std::fs::read(world.at("r")).unwrap();
    let error = Ciphertexts::open(world.at("r"))
        .unwrap()
        .finish(world.output("r"));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::OwnInput);
    // a result that is cut has no finished form
    std::fs::write(world.at("cut"), &before[..before.len() - 1]).unwrap();
    let cut = Ciphertexts::open(world.at("cut")).and_then(|cut| cut.finish(world.output("o")));
    assert!(cut.is_err());
    assert!(world.names() == ["cut", "r"] && std::fs::read(world.at("r")).unwrap() == before);
}
