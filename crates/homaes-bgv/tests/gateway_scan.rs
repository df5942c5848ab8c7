//! The scan of `examples/gateway_scan.rs` on a toy set: signatures at awkward places, and messages without any.

use homaes_aes::{Layout, RoundKeys, clear, mode};
use homaes_bgv::scan::{Placement, Scanner};
use homaes_bgv::{Aes, EvalKey, Params, SecretKey, WrapOptions, WrappedKey, sets};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

#[path = "../examples/gateway_scan/scan.rs"]
mod scan;
use scan::Signature;

/// Few, so that the test is quick; the seeds are fixed, so that it is not left to chance.
const ROWS: usize = 2;

/// EICAR, and one that is shorter than a block.
fn signatures() -> Vec<Signature> {
    let short = Signature {
        name: "short",
        bytes: b"eval('x".to_vec(),
    };
    let mut all = scan::signatures();
    all.truncate(1);
    all.push(short);
    all
}

type Outcome = Result<Vec<Vec<usize>>, Box<dyn std::error::Error>>;

/// Positions found in `message`, per signature.
fn scanned(message: &[u8], signatures: &[Signature], seed: u8) -> Outcome {
    let mut rng = ChaCha20Rng::from_seed([seed; 32]);
    let params = Params::new(&sets::TOY_4369)?;
    let secret = SecretKey::generate(&params, &mut rng)?;
    let eval = EvalKey::generate(&secret, &mut rng);
    let keys = RoundKeys::expand(&[seed; 16])?;
    let how = WrapOptions {
        levels_left: Some(8),
        ..WrapOptions::default()
    };
    let wrapped = WrappedKey::encrypt(&secret, &keys, how, &mut rng)?;
    let iv = [0xf0; 16];
    let pads = (0..).flat_map(|b| clear::encrypt_block(mode::counter_block(iv, b), &keys));
    let ciphertext: Vec<u8> = message.iter().zip(pads).map(|(x, pad)| x ^ pad).collect();

    let aes = Aes::new(&eval, &wrapped, Layout::Sliced)?;
    let longest = scan::longest(signatures);
    let at = Placement::new(&params, longest).ok_or("too long")?;
    let last = params.slots().count() - 1;
    assert!(message.len() <= 16 * (at.block_of(last) + 1));
    let state = scan::transcipher(&aes, &at, iv, &ciphertext)?;
    let alphas = (0..ROWS).map(|_| {
        let mut row = vec![0; longest];
        rng.fill_bytes(&mut row);
        row
    });
    let scanner = Scanner::new(aes.evaluator(), alphas.collect());
    for wrong in [&[][..], &vec![0; longest + 1]] {
        assert!(scanner.scan(&state, &[wrong]).is_err());
    }
    let verdicts = scanner.scan(&state, &scan::patterns(signatures))?;
    let found = signatures.iter().zip(&verdicts).map(|(s, verdict)| {
        let line = verdict[0].summary(&params);
        let lengths = (s.bytes.len(), message.len());
        let (found, margin) = scan::open(&secret, &at, verdict, lengths)?;
        assert!(
            margin > 3.0 && line.room_bits > 1.0 && line.failure_log2 <= -64.0,
            "{}: {margin}, {line}",
            s.name
        );
        let bits = scan::tightness(&secret, &params, verdict);
        println!("{}: noise {bits:.1} bits below its bound; {line}", s.name);
        // bounds of sums of many terms are further from what is measured
        let most = if s.bytes.len() < 100 { 12.0 } else { 15.0 };
        assert!((0.0..=most).contains(&bits), "{}: {bits}, {line}", s.name);
        Ok(found)
    });
    found.collect()
}

/// Where the clear search finds the signatures.
fn clear_positions(message: &[u8], signatures: &[Signature]) -> Vec<Vec<usize>> {
    let found = signatures.iter().map(|s| {
        let windows = message.windows(s.bytes.len()).enumerate();
        windows
            .filter(|(_, w)| *w == s.bytes)
            .map(|(i, _)| i)
            .collect()
    });
    found.collect()
}

/// Two runs of 123 blocks of their own, full but for the last byte; the boundary is at byte 1968. Signatures at the start, at
/// odd offsets, across the boundary and at the end, and copies with one wrong bit.
fn message(signatures: &[Signature], wrong: bool) -> Vec<u8> {
    let mut out: Vec<u8> = (0..3935u32).map(|i| ((i * i) >> 3) as u8 ^ 0x5a).collect();
    let end = out.len();
    let hidden = [
        (0, vec![0, 1000, 1968 - 33, end - 68]),
        (1, vec![80, 205, 2003, end - 7 - 68]),
    ];
    for (which, positions) in hidden {
        let bytes = &signatures[which].bytes;
        for (k, start) in positions.into_iter().enumerate() {
            out[start..start + bytes.len()].copy_from_slice(bytes);
            if wrong || k == 1 {
                out[start + bytes.len() - 1] ^= 0x20;
            }
        }
    }
    out
}

#[test]
#[ignore = "nightly: the search of the crate homaes always runs"]
fn nightly_finds_signatures_wherever_they_begin_and_nothing_else() {
    let signatures = signatures();
    let message = message(&signatures, false);
    let want = clear_positions(&message, &signatures);
    assert_eq!(want.iter().map(Vec::len).sum::<usize>(), 6, "{want:?}");
    assert_eq!(scanned(&message, &signatures, 1).unwrap(), want);
}

#[test]
#[ignore = "nightly: the search of the crate homaes always runs"]
fn nightly_finds_nothing_in_a_message_of_wrong_copies() {
    let signatures = signatures();
    let message = message(&signatures, true);
    assert_eq!(
        scanned(&message, &signatures, 2).unwrap(),
        vec![Vec::<usize>::new(); 2]
    );
}

/// The longest pattern that slots can take: a run of them answers for one block.
#[test]
#[ignore = "nightly: the search of the crate homaes always runs"]
fn nightly_finds_a_pattern_as_long_as_a_run_of_slots() {
    let params = Params::new(&sets::TOY_4369).unwrap();
    assert!(Placement::new(&params, 2034).is_none());
    assert_eq!(Placement::new(&params, 2033).unwrap().blocks_per_batch(), 2);
    let bytes: Vec<u8> = (0..2033u32).map(|i| ((i * i) >> 5) as u8).collect();
    let mut message = vec![0; 16 * 129];
    message[19..19 + bytes.len()].copy_from_slice(&bytes);
    let name = "long";
    let found = scanned(&message, &[Signature { name, bytes }], 3);
    assert_eq!(found.unwrap(), [[19]]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let params = Params::new(&sets::TOY_4369).unwrap();
    let at = Placement::new(&params, 68).unwrap();
    assert_eq!(scan::capacity(&at), 2 * 123 * 16);
    assert!(Placement::new(&params, 1 << 20).is_none());
    assert!(Placement::new(&params, usize::MAX).is_none());
    let short = Placement::new(&Params::new(&sets::TOY_255).unwrap(), 2);
    assert!(
        short.is_none(),
        "a run of one block has no room for overlap"
    );
    // slots are counted on: the second batch goes on where the first one ends
    assert_eq!(at.block_of(256), 246);
    assert_eq!(
        (at.start(256, 3), at.start(255, 3)),
        (Some(246 * 16 + 3), None)
    );
}
