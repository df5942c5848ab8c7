//! Compact wrapped keys: expanded round keys, and AES with them, against full ones.

use super::aes::{Case, expected};
use super::circuit::moved;
use super::*;
use crate::aes::compact::Compact;
use crate::aes::expand::Expansion;
use crate::aes::level_plan::{LevelPlan, slope};
use crate::aes::placement::from_slots;
use crate::aes::wrapped::{Form, wrapped_schedule};
use crate::circuit::Axis;
use crate::codec::eval_key_kinds;
use crate::keys::Target;
use homaes_aes::KeySize;
use homaes_scheme::{Cancel, RunOptions};
use zeroize::Zeroizing;

/// A key in compact form, as written to a file and read, with the plan of a layout.
fn compact(f: &mut Fixture, case: Case, keys: &RoundKeys) -> (LevelPlan, WrappedKey) {
    let (layout, direction, size) = case;
    let wrapping = WrapOptions {
        direction,
        layouts: f.params.set().layouts,
        ..WrapOptions::default()
    };
    let made = WrappedKey::encrypt(&f.secret, keys, wrapping, &mut f.rng).unwrap();
    let plan = LevelPlan::new(&f.params, layout, size, None).unwrap();
    (plan, read(f, &written(&made)))
}

pub(super) fn read(f: &Fixture, file: &[u8]) -> WrappedKey {
    let file = Reader::from_slice(file, Kind::WrappedKey).unwrap();
    WrappedKey::read(&f.params, file).unwrap()
}

fn sent(key: &WrappedKey) -> &Compact {
    match &key.form {
        Form::Compact(_, sent) => sent,
        Form::Full(_) | Form::Many(..) => panic!("not compact"),
    }
}

/// The blocks of the state after every round, with the largest noise and the noise bound of its first ciphertext.
pub(super) fn rounds(
    f: &Fixture,
    wrapped: &WrappedKey,
    layout: Layout,
    blocks: &[Block],
) -> Vec<(Vec<Block>, [f64; 3])> {
    let mut out = Vec::new();
    let mut observe = |_: usize, state: &State| {
        let found = f.secret.decrypt_blocks(state).unwrap();
        let c = &state.ciphertexts[0];
        let (rms, largest) = f.secret.measure_noise(c);
        assert!(largest <= c.noise_bits(), "{largest} for {c:?}");
        out.push((found.blocks.to_vec(), [rms, largest, found.margin_bits]));
    };
    let run = RunOptions::new(&Cancel::new(), &mut observe);
    let last = f.aes(wrapped, layout).evaluate_with(blocks, run).unwrap();
    assert!(last.capacity_bits(&f.params) > 4.0);
    out
}

/// Round keys of the right bytes with the noise that is stated, and AES right after every round, as noisy as with full
/// keys.
fn expands(f: &mut Fixture, case: Case) {
    let (layout, dir, size) = case;
    let key = random_bytes(&mut f.rng, size.key_bytes());
    let keys = RoundKeys::expand(&key).unwrap();
    let (plan, small) = compact(f, case, &keys);
    let start = std::time::Instant::now();
    let none = Cancel::new();
    let part = small.part(&f.eval, layout, &none).unwrap();
    println!(
        "{case:?}: expanded in {:.2} s",
        start.elapsed().as_secs_f64()
    );
    let schedule = wrapped_schedule(&keys.schedule(dir), layout);
    let slots = f.params.blocks_per_batch(layout);
    for (r, round_key) in part.rounds.iter().enumerate() {
        let found = round_key.iter().map(|c| {
            assert_eq!(c.level(), plan.key_level(r));
            let (rms, largest) = f.secret.measure_noise(c);
            let rho = f.params.noise().rho_log2;
            assert!((rms - rho).abs() < 0.1, "{case:?}, round key {r}: {rms}");
            assert!(largest <= c.noise_bits());
            Zeroizing::new(f.secret.decrypt(c).unwrap().0)
        });
        let found: Vec<_> = found.collect();
        let found = from_slots(&f.params, layout, &found, slope(&plan, dir, r)).unwrap();
        assert!(found == vec![schedule[r]; slots], "{case:?}, round key {r}");
    }
    let expanded = WrappedKey {
        form: Form::Full(vec![part]),
        ..small
    };
    let full = f.wrap(&key, wrapping(&[layout], dir));
    let blocks = f.blocks(layout);
    let [expanded, full] = [&expanded, &full].map(|key| rounds(f, key, layout, &blocks));
    let traces: Vec<_> = blocks
        .iter()
        .map(|&b| clear::trace(dir, b, &keys))
        .collect();
    for (round, (found, full)) in expanded.iter().zip(&full).enumerate() {
        let want: Vec<Block> = traces.iter().map(|t| expected(case, round, t)).collect();
        assert!(found.0 == want && full.0 == want, "{case:?}, round {round}");
        let [found, full] = [found.1, full.1];
        println!("{case:?}, round {round}: {found:.2?}, full {full:.2?}");
        // round key 0 has the noise of rounding instead of fresh noise
        let usual = full[0].max(f.params.noise().rho_log2);
        assert!(found[0] < usual + 0.3 && found[2] > full[2] - 1.0);
    }
}

#[test]
#[ignore = "nightly: two minutes"]
fn nightly_every_toy() {
    let mut f = toy_4369(65);
    for size in KeySize::ALL {
        for dir in Direction::ALL {
            expands(&mut f, (Layout::Sliced, dir, size));
        }
    }
    let mut f = fixture(&sets::TOY_21845, 66);
    derived(&mut f, Layout::Packed);
    let case = (Layout::Packed, Direction::Encrypt, KeySize::Aes128);
    expands(&mut f, case);
    for size in KeySize::ALL {
        expands(&mut f, (Layout::Packed, Direction::Decrypt, size));
        expands(&mut f, (Layout::Sliced, Direction::Encrypt, size));
    }
}

#[test]
#[ignore = "nightly: ten minutes, 6 GB"]
fn nightly_full_size() {
    for (set, size) in [
        (&sets::AES128, KeySize::Aes128),
        (&sets::AES256, KeySize::Aes256),
        (&sets::AES128_8, KeySize::Aes128),
    ] {
        let mut f = fixture(set, 63);
        for layout in [Layout::Packed, Layout::Sliced] {
            derived(&mut f, layout);
            for dir in Direction::ALL {
                expands(&mut f, (layout, dir, size));
            }
        }
    }
}

/// The sums of round keys below the top level, before they are lowered, have the noise that is derived.
fn derived(f: &mut Fixture, layout: Layout) {
    let keys = RoundKeys::expand(&[9; 16]).unwrap();
    let case = (layout, Direction::Encrypt, KeySize::Aes128);
    let (plan, small) = compact(f, case, &keys);
    let expansion = Expansion::new(&f.eval, plan, case.1, &Cancel::new()).unwrap();
    for r in [2, 5, 10] {
        let rotated = expansion.rotated(sent(&small), r).unwrap();
        for c in expansion.sums(r, rotated).iter().take(2) {
            let (rms, largest) = f.secret.measure_noise(c);
            let derived = c.noise();
            println!("round key {r}: {rms:.2}, {largest:.2} for {derived:.2?}");
            assert!(
                (rms - derived.rms_log2).abs() < 0.3,
                "{rms} for {derived:?}"
            );
            assert!(largest <= derived.bound_log2());
        }
    }
}

#[test]
fn noise_of_sliced_round_keys() {
    derived(&mut toy_4369(64), Layout::Sliced);
}

/// Times of the steps at full size, on one thread.
#[test]
#[ignore = "prints times"]
fn speed() {
    let mut f = fixture(&sets::AES128, 70);
    let keys = RoundKeys::expand(&[9; 16]).unwrap();
    for layout in [Layout::Packed, Layout::Sliced] {
        let case = (layout, Direction::Encrypt, KeySize::Aes128);
        let (plan, small) = compact(&mut f, case, &keys);
        let sent = sent(&small);
        for _ in 0..2 {
            let start = std::time::Instant::now();
            let expansion = Expansion::new(&f.eval, plan, case.1, &Cancel::new()).unwrap();
            let made = start.elapsed().as_secs_f64();
            let (mut rotated, mut summed) = (0.0, 0.0);
            for r in 0..=10 {
                let start = std::time::Instant::now();
                let all = expansion.rotated(sent, r).unwrap();
                rotated += start.elapsed().as_secs_f64();
                let start = std::time::Instant::now();
                expansion.sums(r, all);
                summed += start.elapsed().as_secs_f64();
            }
            let start = std::time::Instant::now();
            expansion.round_keys(sent).unwrap();
            let all = start.elapsed().as_secs_f64();
            println!(
                "{layout}: prepared {made:.2} s, rotated {rotated:.2} s, summed {summed:.2} s, whole {all:.2} s"
            );
        }
    }
}

/// A file of the expanded key evaluates to the same bits as the compact one.
#[test]
fn expanded_keys_are_kept_in_files() {
    let mut f = toy(67);
    let case = (Layout::Sliced, Direction::Encrypt, KeySize::Aes128);
    let (_, small) = compact(&mut f, case, &RoundKeys::expand(&[5; 16]).unwrap());
    let expanded = f.aes(&small, Layout::Sliced).round_keys().unwrap();
    let kept = read(&f, &written(&expanded));
    let [small, kept] = [&small, &kept].map(|key| {
        let state = f.aes(key, Layout::Sliced).evaluate(&[[6; 16]]).unwrap();
        encode_batch(&f.params, &state).unwrap()
    });
    assert!(small == kept);
}

/// Evaluation keys of older versions are read, and cannot expand.
#[test]
#[ignore = "nightly: AES with whole round keys"]
fn nightly_older_evaluation_keys() {
    let mut f = toy_4369(68);
    let file = EvalKeyFile::generate(&f.secret, &mut f.rng);
    let older = Target::without_expansion(&f.params);
    let header = f.params.id().header(
        Kind::EvalKey,
        f.secret.id(),
        EvalKey::contents(&f.params, [&[], &older]),
    );
    let mut w = Writer::new(Vec::new(), header.unwrap()).unwrap();
    for number in 0..w.records_left() {
        let record = file.record(number).unwrap();
        w.write_record(record.tag, record.index, &record.body)
            .unwrap();
    }
    let older = w.finish().unwrap();
    // `inspect` knows the length
    let kinds = eval_key_kinds(&f.params);
    assert_eq!(kinds.last().unwrap().bytes, older.len() as u64);
    let older = Reader::from_slice(&older, Kind::EvalKey).unwrap();
    let older = EvalKey::read(&f.params, older).unwrap();
    let case = (Layout::Sliced, Direction::Encrypt, KeySize::Aes128);
    let (_, small) = compact(&mut f, case, &RoundKeys::expand(&[5; 16]).unwrap());
    let found = Aes::new(&older, &small, Layout::Sliced)
        .map(drop)
        .unwrap_err();
    assert!(matches!(found, Error::NoExpansion), "{found}");
    let full = f.wrap(&[5; 16], wrapping(&[Layout::Sliced], Direction::Encrypt));
    let state = Aes::new(&older, &full, Layout::Sliced)
        .unwrap()
        .evaluate(&[[6; 16]])
        .unwrap();
    assert!(f.secret.decrypt_blocks(&state).is_ok());
}

/// Fields of the first record outside their ranges, and residues beyond their prime.
#[test]
fn a_compact_key_with_wrong_fields() {
    let mut f = toy_4369(69);
    let case = (Layout::Sliced, Direction::Encrypt, KeySize::Aes128);
    let (_, small) = compact(&mut f, case, &RoundKeys::expand(&[5; 16]).unwrap());
    let header = small.header().unwrap();
    let meta = small.record(0).unwrap();
    let with = |change: &dyn Fn(u64, &mut Vec<u8>)| {
        let mut w = Writer::new(Vec::new(), header.clone()).unwrap();
        for number in 0..header.records() {
            let record = small.record(number).unwrap();
            let mut body = record.body.to_vec();
            change(number, &mut body);
            w.write_record(record.tag, record.index, &body).unwrap();
        }
        let bytes = w.finish().unwrap();
        let file = Reader::from_slice(&bytes, Kind::WrappedKey).unwrap();
        WrappedKey::read(&f.params, file).map(drop)
    };
    assert!(with(&|_, _| ()).is_ok());
    // AES key bits (2), direction, form, layouts, layout, starting level (2), seed
    assert_eq!(meta.body[..8], [128, 0, 0, 1, 1, 0, 30, 0]);
    for (at, value, field) in [
        (0, 127, "AES key bits"),
        (2, 3, "direction"),
        (3, 3, "form"),
        (4, 0, "layouts"),
        (5, 3, "layout"),
        (6, 29, "starting level"),
        (7, 1, "starting level"),
    ] {
        let found = with(&|number, body| {
            if number == 0 {
                body[at] = value
            }
        });
        let Err(Error::Field(found)) = found else {
            panic!("{field}: {found:?}");
        };
        assert_eq!(found.what, field);
    }
    let packed = with(&|number, body| {
        if number == 0 {
            body[5] = 1
        }
    });
    assert!(
        matches!(packed, Err(Error::Mismatch(Mismatch::NoLayout { .. }))),
        "{packed:?}"
    );
    // a set of bits does not expand
    let bits = with(&|number, body| {
        if number == 0 {
            body[5] = 2
        }
    });
    assert!(matches!(bits, Err(Error::Field(_))), "{bits:?}");
    let large = with(&|number, body| {
        if number == 1 {
            body[..8].fill(0xff)
        }
    });
    assert!(matches!(large, Err(Error::Wire(_))), "{large:?}");
}

/// A file of an earlier version is read, is written in the same form, and expands.
#[test]
fn golden_file() {
    let params = Params::new(&sets::TOY_4369).unwrap();
    let secret = Reader::from_slice(
        include_bytes!("../../../homaes/tests/golden/bgv-toy-4369/secret.hsk"),
        Kind::SecretKey,
    )
    .unwrap();
    let secret = SecretKey::read(&params, secret).unwrap();
    let file = include_bytes!("../../../homaes/tests/golden/bgv-toy-4369/key.hwk");
    let wrapped = Reader::from_slice(file, Kind::WrappedKey).unwrap();
    let wrapped = WrappedKey::read(&params, wrapped).unwrap();
    assert!(written(&wrapped) == file);
    let eval = EvalKey::generate(&secret, &mut ChaCha20Rng::from_seed([1; 32]));
    let aes = Aes::new(&eval, &wrapped, Layout::Sliced).unwrap();
    let found = secret.decrypt_blocks(&aes.evaluate(&[[6; 16]]).unwrap());
    let key: Block = core::array::from_fn(|i| i as u8);
    let want = clear::encrypt_block([6; 16], &RoundKeys::expand(&key).unwrap());
    assert_eq!(found.unwrap().blocks[0], want);
}

#[test]
#[ignore = "nightly: AES in both directions"]
fn nightly_both_directions_in_one_file() {
    let mut f = toy_4369(71);
    let keys = RoundKeys::expand(&[5; 16]).unwrap();
    let size = KeySize::Aes128;
    let [encrypt, decrypt] =
        Direction::ALL.map(|dir| compact(&mut f, (Layout::Sliced, dir, size), &keys).1);
    let pair = Pair { encrypt, decrypt };
    let file = written(&pair);
    let open = || Reader::from_slice(&file, Kind::WrappedKey).unwrap();
    let one = WrappedKey::read(&f.params, open()).map(drop);
    assert!(matches!(one, Err(Error::Field(_))), "{one:?}");
    let (encrypt, decrypt) = WrappedKey::read_any(&f.params, open()).unwrap();
    let decrypt = decrypt.unwrap();
    for (key, dir) in [&encrypt, &decrypt].into_iter().zip(Direction::ALL) {
        let state = f.aes(key, Layout::Sliced).evaluate(&[[6; 16]]).unwrap();
        let found = f.secret.decrypt_blocks(&state).unwrap().blocks[0];
        assert_eq!(Some(&found), clear::trace(dir, [6; 16], &keys).last());
    }
    assert!(written(&Pair { encrypt, decrypt }) == file);
}

/// An evaluation key without packed columns, from its file: AES, rotations along every axis, and no packed AES.
#[test]
#[ignore = "nightly: keys of the largest toy"]
fn nightly_an_evaluation_key_for_sliced_alone() {
    let params = Params::new(&sets::TOY_21845).unwrap();
    let mut rng = ChaCha20Rng::from_seed([72; 32]);
    let secret = SecretKey::generate(&params, &mut rng).unwrap();
    let file = EvalKeyFile::of_seed(&secret, [5; 32], &[Layout::Sliced]);
    let file = written(&file);
    let [all, sliced, ..] = &eval_key_kinds(&params)[..] else {
        panic!("one kind");
    };
    assert_eq!(sliced.bytes, file.len() as u64);
    assert!(4 * sliced.bytes < 3 * all.bytes);
    let eval = EvalKey::read(&params, Reader::from_slice(&file, Kind::EvalKey).unwrap());
    let mut f = Fixture {
        params,
        secret: secret.into(),
        eval: eval.unwrap().into(),
        rng,
    };
    assert_eq!(f.eval.layouts(), [Layout::Sliced]);
    let keys = RoundKeys::expand(&[5; 16]).unwrap();
    let case = (Layout::Sliced, Direction::Encrypt, KeySize::Aes128);
    let (_, small) = compact(&mut f, case, &keys);
    let packed = Aes::new(&f.eval, &small, Layout::Packed).map(drop);
    let words = "the evaluation key has no layout packed, expected sliced";
    assert_eq!(packed.unwrap_err().to_string(), words);
    let state = f.aes(&small, Layout::Sliced).evaluate(&[[6; 16]]).unwrap();
    let want = clear::encrypt_block([6; 16], &keys);
    assert_eq!(f.secret.decrypt_blocks(&state).unwrap().blocks[0], want);
    let (x, level) = (f.bytes(), f.params.rotation_level());
    let a = f.at_level(&x, level);
    let eval = Evaluator::new(&f.eval);
    for axis in Axis::ALL {
        for steps in [1, 2, 3] {
            let out = eval.rotate(&a, axis, steps).unwrap();
            sound(&f, &out, &moved(&f, &x, axis, steps), "rotation");
        }
    }
    let above = eval.rotate(&f.at_level(&x, level + 1), Axis::E5, 1);
    assert!(matches!(above, Err(Error::NoKey { .. })), "{above:?}");
}
