//! AES in the ring K, and its results in R.

use super::*;
use homaes_aes::KeySize::{self, Aes128, Aes256};
use homaes_scheme::{Cancel, RunOptions};
use homaes_wire::{Contents, WireError};

/// Compares every round of AES in K, and its results in R, with the clear. Their noise is `close` to that derived.
fn through_k(f: &mut Fixture, case: aes::Case, close: [f64; 2]) {
    let (layout, dir, size) = case;
    let key = random_bytes(&mut f.rng, size.key_bytes());
    let keys = RoundKeys::expand(&key).unwrap();
    let layouts = [layout];
    let wrapping = WrapOptions {
        full: false,
        ..wrapping(&layouts, dir)
    };
    let wrapped = WrappedKey::encrypt(&f.secret, &keys, wrapping, &mut f.rng).unwrap();
    let mut blocks = f.blocks(layout);
    blocks.extend(f.blocks(layout));
    let aes = f.aes(&wrapped, layout);
    assert_eq!(blocks.len(), aes.blocks_per_batch());
    let traces = blocks.iter().map(|&b| clear::trace(dir, b, &keys));
    let traces: Vec<Vec<Block>> = traces.collect();
    let measured = |c: &Ciphertext, close: f64, what: &str| {
        let (rms, largest) = f.secret.measure_noise(c);
        let derived = c.noise().rms_log2;
        let holds = (rms - derived).abs() < close && largest <= c.noise_bits();
        assert!(holds, "{case:?}, {what}: {rms} for {derived}, {largest}");
        largest
    };
    let mut rounds = 0;
    let mut observe = |round: usize, state: &State| {
        let got = f.secret.decrypt_blocks(state).unwrap();
        let want: Vec<Block> = traces
            .iter()
            .map(|t| aes::expected(case, round, t))
            .collect();
        assert!(*got.blocks == want, "{case:?}, round {round}");
        measured(&state.ciphertexts[0], close[0], &format!("round {round}"));
        rounds += 1;
    };
    let run = RunOptions::new(&Cancel::new(), &mut observe);
    let state = aes.evaluate_with(&blocks, run).unwrap();
    assert_eq!(rounds, size.rounds() + 1);
    let results = aes.results(&state).unwrap();
    assert_eq!(results.len(), 2);
    for (result, traces) in results.iter().zip(traces.chunks(blocks.len() / 2)) {
        let want: Vec<Block> = traces.iter().map(|t| t[size.rounds()]).collect();
        for state in [result, &result.finish(&f.params).unwrap()] {
            assert!(*f.secret.decrypt_blocks(state).unwrap().blocks == want);
        }
        for c in &result.ciphertexts {
            let largest = measured(c, close[1], "result");
            assert!(largest <= c.bound_bits(&f.params));
            assert!(c.failure_log2(&f.params) <= -64.0);
        }
    }
}

#[test]
fn aes_in_the_toy_of_k() {
    let mut f = fixture(&sets::TOY_K_255, 1);
    for dir in Direction::ALL {
        for size in KeySize::ALL {
            through_k(&mut f, (Layout::Sliced, dir, size), [0.7; 2]);
        }
    }
}

/// Operations on states of R refuse those of K, and the reverse. A set with the same R refuses both.
#[test]
fn rings_are_not_mixed_up() {
    let (mut f, mut other) = (fixture(&sets::TOY_K_255, 2), toy(2));
    let wrapping = wrapping(&[Layout::Sliced], Direction::Encrypt);
    let wrapped = f.wrap(&[7; 32], wrapping);
    let blocks = f.blocks(Layout::Sliced);
    let aes = f.aes(&wrapped, Layout::Sliced);
    let state = aes.evaluate(&blocks).unwrap();
    let results = aes.results(&state).unwrap();
    let other_set = |error: Error| {
        let is_right = matches!(error, Error::Mismatch(Mismatch::OtherSet { .. }));
        assert!(is_right, "{error}");
    };
    let [r, k] = [aes.params(), aes.state_params()];
    for (params, state) in [(r, &state), (k, &results[0]), (&other.params, &results[0])] {
        other_set(encode_batch(params, state).unwrap_err());
        other_set(state.finish(params).unwrap_err());
        other_set(state.clone().xor_public(params, &blocks).unwrap_err());
        let c = &state.ciphertexts[0];
        other_set(encode_value(params, f.eval.key_id(), c).unwrap_err());
    }
    other_set(aes.results(&results[0]).unwrap_err());
    let [of_k, of_r] = [&state.ciphertexts[0], &results[0].ciphertexts[0]];
    other_set(aes.evaluator().square(of_k).err().unwrap());
    other_set(aes.evaluator().add(of_r, of_k).err().unwrap());
    aes.evaluator().square(of_r).unwrap();
    let again = aes.run(&blocks, &[], RunOptions::default()).unwrap();
    assert_eq!(again.len(), 1, "one result holds all blocks");
    for c in [of_k, of_r] {
        other_set(Evaluator::new(&other.eval).square(c).err().unwrap());
        other_set(other.secret.decrypt(c).unwrap_err());
    }
    let alien = other.wrap(&[7; 32], wrapping);
    for (f, alien) in [(&f, &alien), (&other, &wrapped)] {
        other_set(Aes::new(&f.eval, alien, Layout::Sliced).err().unwrap());
    }
}

/// Readers refuse files of another set. Under the name of this set, they refuse keys of R alone, or before those of K.
#[test]
fn keys_of_one_ring_are_refused() {
    let [mut f, mut other] = [&sets::TOY_K_255, &sets::TOY_255].map(|set| fixture(set, 3));
    let [own, alien] = [&mut f, &mut other].map(|f| {
        let eval = written(&EvalKeyFile::of_seed(&f.secret, [1; 32], &[Layout::Sliced]));
        let wrapped = written(&f.wrap(&[1; 16], WrapOptions::default()));
        [written(&*f.secret), eval, wrapped]
    });
    for (params, files) in [(&f.params, &alien), (&other.params, &own)] {
        let [secret, eval, wrapped] = files;
        let open = |file, kind| Reader::from_slice(file, kind).unwrap();
        for read in [
            SecretKey::read(params, open(secret, Kind::SecretKey)).map(drop),
            EvalKey::read(params, open(eval, Kind::EvalKey)).map(drop),
            WrappedKey::read(params, open(wrapped, Kind::WrappedKey)).map(drop),
        ] {
            let refused = matches!(read, Err(Error::Wire(WireError::OtherSet { .. })));
            assert!(refused, "{read:?}");
        }
    }
    let bodies = |f: &Fixture| {
        let file = EvalKeyFile::of_seed(&f.secret, [1; 32], &[Layout::Sliced]);
        let count = file.header().unwrap().records();
        let bodies = (0..count).map(|number| file.record(number).unwrap().body.to_vec());
        bodies.collect::<Vec<_>>()
    };
    let read = |bodies: &[Vec<u8>]| {
        let lengths = bodies.iter().map(|body| body.len() as u64);
        let contents = lengths.fold(Contents::default(), Contents::record);
        let header = f.params.id().header(Kind::EvalKey, f.secret.id(), contents);
        let mut writer = Writer::new(Vec::new(), header.unwrap()).unwrap();
        writer.write_record(1, 0, &bodies[0]).unwrap();
        for (index, body) in (0..).zip(&bodies[1..]) {
            writer.write_record(2, index, body).unwrap();
        }
        let file = writer.finish().unwrap();
        EvalKey::read(&f.params, Reader::from_slice(&file, Kind::EvalKey).unwrap())
    };
    let both = bodies(&f);
    assert!(read(&both).is_ok());
    let mut reversed = both;
    reversed[1..].reverse();
    for (bodies, words) in [
        (bodies(&other), "bytes in all"),
        (reversed, "record length"),
    ] {
        let error = read(&bodies).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// Squares a result as often as multiplications are left, and checks every product.
fn uses_what_is_left(f: &mut Fixture, size: KeySize, left: usize) {
    let key = random_bytes(&mut f.rng, size.key_bytes());
    let layouts = [Layout::Packed];
    let wrapping = WrapOptions {
        levels_left: Some(left),
        ..wrapping(&layouts, Direction::Encrypt)
    };
    let wrapped = f.wrap(&key, wrapping);
    let blocks = f.blocks(Layout::Packed);
    let aes = f.aes(&wrapped, Layout::Packed);
    let result = &aes.run(&blocks, &[], RunOptions::default()).unwrap()[0];
    assert_eq!(result.level() - 1, left);
    let (eval, mut x) = (aes.evaluator(), result.ciphertexts[0].clone());
    let (mut want, _) = f.secret.decrypt(&x).unwrap();
    for k in 1..=left {
        x = eval
            .multiply(&x, &x)
            .unwrap_or_else(|error| panic!("product {k}: {error}"));
        want.iter_mut().for_each(|x| *x = gf256::mul(*x, *x));
        assert_eq!(f.secret.decrypt(&x).unwrap().0, want, "product {k}");
    }
}

#[test]
#[ignore = "nightly: minutes"]
fn nightly_packed_aes_in_k() {
    let mut f = fixture(&sets::TOY_K_21845, 1);
    for dir in Direction::ALL {
        through_k(&mut f, (Layout::Packed, dir, Aes128), [0.3; 2]);
    }
    through_k(
        &mut f,
        (Layout::Sliced, Direction::Encrypt, Aes256),
        [0.3; 2],
    );
}

#[test]
#[ignore = "nightly: four minutes"]
fn nightly_full_size_in_k() {
    let mut f = fixture(&sets::AES256_8, 1);
    for dir in Direction::ALL {
        through_k(&mut f, (Layout::Packed, dir, Aes256), [0.03, 0.1]);
        through_k(&mut f, (Layout::Sliced, dir, Aes256), [0.03, 0.1]);
    }
    uses_what_is_left(&mut f, Aes256, 8);
    uses_what_is_left(&mut f, Aes128, 20);
}

#[test]
#[ignore = "nightly: two minutes"]
fn nightly_three_digits_in_k() {
    let mut f = fixture(&sets::AES256_17, 1);
    let case = (Layout::Packed, Direction::Encrypt, Aes256);
    through_k(&mut f, case, [0.03, 0.1]);
    uses_what_is_left(&mut f, Aes256, 17);
}
