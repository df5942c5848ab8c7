//! Integers lifted from bytes and masks, against integers.

use super::*;
use crate::circuit::{Axis, ByteOrder, Integers, Lift};
use homaes_math::embed::squared_magnitudes;
use homaes_scheme::Cancel;
use rayon::prelude::*;
use std::time::Instant;

/// With the fields of [`SecretKey::phase`].
fn lifted(x: &Integers) -> Lifted {
    Lifted {
        ciphertext: x.ciphertext.clone(),
        log2_t: x.bits(),
        factor: 1,
        carried_log2: 0.0,
    }
}

/// log2 of the root mean square of μ over embeddings.
fn noise(f: &Fixture, x: &Integers) -> f64 {
    let nu = f.secret.phase(&lifted(x)).unwrap();
    let e = squared_magnitudes(f.params.ring(), &nu);
    let mean = e.iter().sum::<f64>() / e.len() as f64;
    0.5 * mean.log2() + 1.0 - f64::from(x.bits())
}

fn modulo(x: &[u8], bits: u32) -> Vec<u64> {
    x.iter()
        .map(|&x| u64::from(x) & ((1 << bits) - 1))
        .collect()
}

/// Bytes and masks as integers of so many bits: all slots, and the noise of bytes within `slack` bits.
fn lifts(f: &Fixture, inputs: &[(Ciphertext, Vec<u8>)], bits: u32, slack: f64) {
    let eval = Evaluator::new(&f.eval);
    let lifting = eval.lifting(inputs[0].0.level(), bits).unwrap();
    let start = Instant::now();
    let lifted: Vec<Integers> = inputs
        .iter()
        .map(|(c, _)| lifting.lift(c).unwrap())
        .collect();
    let seconds = start.elapsed().as_secs_f64();
    for (got, (_, want)) in lifted.iter().zip(inputs) {
        assert_eq!(
            f.secret.integers(got).unwrap(),
            modulo(want, bits),
            "{bits} bits"
        );
        assert_eq!((got.level(), got.bits()), (lifting.level(), bits));
        assert!(got.failure_log2(&f.params) <= -64.0);
    }
    let squares = lifted.iter().map(|x| (2.0 * noise(f, x)).exp2());
    let found = 0.5 * (squares.sum::<f64>() / lifted.len() as f64).log2();
    let expected = lifting.noise_log2();
    let room = lifted[0].room_bits(&f.params);
    println!(
        "{bits} bits: noise {found:.2}, derived {expected:.2}, room {room:.1}, {seconds:.2} s"
    );
    assert!(
        (found - expected).abs() < slack,
        "{bits} bits: {found} {expected}"
    );
    // masks at the same level
    let [zero, one] = [0, 1].map(|b| map(&inputs[0].1, |x| x & 1 ^ b));
    let masks = eval.mask_lifting(lifting.from(), bits).unwrap();
    for want in [zero, one] {
        let mask = f.at_level(&want, lifting.from());
        let got = masks.lift(&mask).unwrap();
        assert_eq!(
            f.secret.integers(&got).unwrap(),
            modulo(&want, bits),
            "{bits} bits"
        );
    }
}

#[test]
fn bytes_and_masks_become_integers() {
    let all: Vec<u32> = (3..=24).collect();
    for (mut f, moduli) in [(toy(3), &all[..]), (toy_4369(3), &[8])] {
        let bytes = f.bytes();
        let inputs = [(f.at_level(&bytes, 13), bytes)];
        // the mean square over few embeddings varies
        let slack = 0.3 + 12.0 / (f.params.set().m as f64).sqrt();
        for &bits in moduli {
            lifts(&f, &inputs, bits, slack);
        }
    }
}

#[test]
#[ignore = "nightly: a minute and 8 GB"]
fn nightly_results_of_aes_become_integers_at_full_size() {
    let mut f = fixture(&sets::AES128_8, 3);
    let wrapped = f.wrap(&[3; 16], bounds::FOR_CIRCUITS);
    let blocks = f.blocks(Layout::Sliced);
    let state = f.aes(&wrapped, Layout::Sliced).evaluate(&blocks).unwrap();
    let keys = RoundKeys::expand(&[3; 16]).unwrap();
    let want: Vec<Block> = blocks
        .iter()
        .map(|&b| clear::encrypt_block(b, &keys))
        .collect();
    let byte = |i: usize| want.iter().map(|block| block[i]).collect();
    let all = state.ciphertexts().iter().enumerate();
    let inputs: Vec<_> = all.map(|(i, c)| (c.clone(), byte(i))).collect();
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    one.install(|| {
        [8, 10, 11]
            .iter()
            .for_each(|&bits| lifts(&f, &inputs, bits, 0.3))
    });
    drop(f);
    // few embeddings of a key decide the mean of a high power, of degree 72 for 16 bits and 108 for 20
    let slack = 1.0;
    let mut f = fixture(&sets::AES192_5, 4);
    let bytes = f.bytes();
    let inputs = [(f.at_level(&bytes, 12), bytes)];
    for bits in [14, 16] {
        lifts(&f, &inputs, bits, slack);
    }
    sums_and_products(&f, &inputs[0], [14, 0]);
    drop(f);
    let mut f = fixture(&sets::AES256_8, 5);
    let bytes = f.bytes();
    let inputs = [(f.at_level(&bytes, 15), bytes)];
    for (bits, slack) in [(16, slack), (20, 3.0), (24, 3.0)] {
        lifts(&f, &inputs, bits, slack);
    }
    sums_and_products(&f, &inputs[0], [20, 16]);
    let bytes = f.bytes();
    // what AES-256 leaves in bgv/aes256+17, and AES-128 in both sets of K
    for (level, products) in [(18, 2), (21, 4)] {
        powers(&f, &(f.at_level(&bytes, level), bytes.clone()), products);
    }
}

/// Products modulo 2^16 of bytes with themselves, one after the other, until one is refused.
fn powers(f: &Fixture, (c, bytes): &(Ciphertext, Vec<u8>), products: usize) {
    let eval = Evaluator::new(&f.eval);
    let x = eval.lifting(c.level(), 16).unwrap().lift(c).unwrap();
    let (mut power, mut want, mut count) = (x.clone(), modulo(bytes, 16), 0);
    while let Ok(next) = power.multiply(&eval, &x) {
        power = next;
        count += 1;
        let factors = want.iter_mut().zip(bytes);
        factors.for_each(|(power, &byte)| *power = *power * u64::from(byte) % (1 << 16));
        right(f, &(power.clone(), want.clone()), "power");
        let (level, room) = (power.level(), power.room_bits(&f.params));
        println!(
            "product {count} from level {}: level {level}, room {room:.1}",
            c.level()
        );
    }
    assert_eq!(count, products);
}

/// Sums over slots of integers of `sum` bits, and squares of those of `product` bits, if not 0.
fn sums_and_products(f: &Fixture, (c, bytes): &(Ciphertext, Vec<u8>), [sum, product]: [u32; 2]) {
    let eval = Evaluator::new(&f.eval);
    let x = eval.lifting(c.level(), sum).unwrap().lift(c).unwrap();
    let n = bytes.len();
    let total = |i: usize| {
        bytes[2 * i / n * n / 2..][..n / 2]
            .iter()
            .map(|&b| u64::from(b))
            .sum()
    };
    let value = (
        x.sum_slots(&eval, &Axis::ALL).unwrap(),
        (0..n).map(total).collect(),
    );
    right(f, &value, "sum");
    println!(
        "sum: level {}, room {:.1}",
        value.0.level(),
        value.0.room_bits(&f.params)
    );
    if product > 0 {
        let x = eval.lifting(c.level(), product).unwrap().lift(c).unwrap();
        let square = bytes.iter().map(|&b| u64::from(b).pow(2)).collect();
        let value = (x.multiply(&eval, &x).unwrap(), square);
        right(f, &value, "product");
        println!(
            "product: level {}, room {:.1}",
            value.0.level(),
            value.0.room_bits(&f.params)
        );
    }
}

/// A number in every slot, modulo 2^64.
type Value = (Integers, Vec<u64>);

/// Checks the numbers modulo 2^k, and that the largest coefficient leaves the room that is stated.
fn right(f: &Fixture, (x, want): &Value, what: &str) {
    let want: Vec<u64> = want.iter().map(|w| w & ((1 << x.bits()) - 1)).collect();
    assert_eq!(f.secret.integers(x).unwrap(), want, "{what}");
    let nu = f.secret.phase(&lifted(x)).unwrap();
    let largest = nu.iter().fold(0.0, |most: f64, x| most.max(x.abs())).log2();
    let room = f.params.log2_modulus(x.level()) - 2.0 - largest;
    assert!(room >= x.room_bits(&f.params), "{what}: {room}");
    assert!(x.failure_log2(&f.params) <= -64.0, "{what}");
}

/// One of the operations on numbers of `pool`: its name, its result, and the expected numbers.
fn step(
    f: &Fixture,
    pool: &[Value],
    rng: &mut ChaCha20Rng,
) -> (&'static str, Result<Integers>, Vec<u64>) {
    let eval = Evaluator::new(&f.eval);
    let mut any = || &pool[pool.len() - 1 - rng.next_u32() as usize % pool.len().min(9)];
    let [(x, a), (y, b)] = [any(), any()];
    let both = |g: fn(u64, u64) -> u64| a.iter().zip(b).map(|(a, b)| g(*a, *b)).collect();
    let axis = Axis::ALL[rng.next_u32() as usize % 3];
    let (by, steps) = (rng.next_u64() as i64, rng.next_u32() as usize % 200);
    match rng.next_u32() % 8 {
        0 | 1 => ("add", x.add(&eval, y), both(u64::wrapping_add)),
        2 => ("subtract", x.subtract(&eval, y), both(u64::wrapping_sub)),
        3 => {
            let by = by >> (steps % 64);
            let want = a.iter().map(|a| a.wrapping_mul(by as u64)).collect();
            ("scale", x.scale(&eval, by), want)
        }
        4 | 5 => ("multiply", x.multiply(&eval, y), both(u64::wrapping_mul)),
        6 => (
            "rotate",
            x.rotate(&eval, axis, steps),
            circuit::moved(f, a, axis, steps),
        ),
        _ => {
            let places = eval.places(axis);
            let all = (0..places).map(|e| circuit::moved(f, a, axis, e));
            let sum = |s: Vec<u64>, x: Vec<u64>| {
                s.iter().zip(x).map(|(s, x)| s.wrapping_add(x)).collect()
            };
            (
                "sum_slots",
                x.sum_slots(&eval, &[axis]),
                all.fold(vec![0; a.len()], sum),
            )
        }
    }
}

/// Runs programs of `steps` operations; returns how many were right and how many refused.
fn random_programs(f: &mut Fixture, seeds: core::ops::Range<u64>, steps: u32) -> [usize; 2] {
    // of different levels, moduli and factors
    let lifts = [(8, 10), (12, 13), (10, 9), (20, 13), (24, 13), (12, 9)];
    let bytes = lifts.map(|_| f.bytes());
    let f = &*f;
    let eval = Evaluator::new(&f.eval);
    let start = lifts.iter().zip(bytes).map(|(&(bits, level), bytes)| {
        let x = eval
            .lifting(level, bits)
            .unwrap()
            .lift(&f.at_level(&bytes, level));
        (x.unwrap(), modulo(&bytes, 8))
    });
    let start: Vec<Value> = start.collect();
    let program = |seed| {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (mut pool, mut refused) = (start.clone(), 0);
        for at in 0..steps {
            let (name, result, want) = step(f, &pool, &mut rng);
            let what = format!("program {seed}, step {at}, {name}");
            match result {
                Ok(x) => {
                    pool.push((x, want));
                    right(f, &pool[pool.len() - 1], &what);
                }
                Err(Error::TooNoisy { .. } | Error::NoKey { .. }) => refused += 1,
                Err(e) => panic!("{what}: {e}"),
            }
        }
        [pool.len() - start.len(), refused]
    };
    let counts = seeds.into_par_iter().map(program);
    counts.reduce(|| [0; 2], |a, b| [a[0] + b[0], a[1] + b[1]])
}

#[test]
fn random_programs_of_integers_are_right_or_refused() {
    let [right, refused] = random_programs(&mut toy(42), 0..250, 40);
    println!("{right} right, {refused} refused");
    assert!(right > 4000 && refused > 1000);
}

#[test]
#[ignore = "nightly: minutes"]
fn nightly_many_random_programs_of_integers_are_right_or_refused() {
    random_programs(&mut toy(43), 250..2750, 40);
    random_programs(&mut toy_4369(43), 0..20, 40);
}

/// Sums and counts of the records that a condition selects, which is evaluated on bytes.
#[test]
fn filtered_sums_and_counts() {
    let mut f = toy(44);
    let [kind, amount] = [f.bytes(), f.bytes()];
    let kind = map(&kind, |b| b % 3);
    let [k, a] = [&kind, &amount].map(|bytes| f.at_level(bytes, 17));
    let c = Evaluator::new(&f.eval);
    let mask = c.equals_byte(&k, 2).unwrap();
    let chosen = c.multiply(&a, &mask).unwrap();
    let amounts = c.lifting(chosen.level(), 12).unwrap();
    let masks = c.mask_lifting(mask.level(), 12).unwrap();
    let total = |x: Result<Integers>| x.unwrap().sum_slots(&c, &Axis::ALL).unwrap();
    let sum = total(amounts.lift(&chosen));
    let count = total(masks.lift(&mask));
    let n = kind.len();
    let by_class = |number: &dyn Fn(usize) -> u64| -> Vec<u64> {
        let of = |class: usize| {
            (class * n / 2..(class + 1) * n / 2)
                .filter(|&i| kind[i] == 2)
                .map(number)
                .sum()
        };
        (0..n).map(|i| of(2 * i / n)).collect()
    };
    assert_eq!(f.secret.integers(&count).unwrap(), by_class(&|_| 1));
    assert_eq!(
        f.secret.integers(&sum).unwrap(),
        by_class(&|i| u64::from(amount[i]))
    );
}

/// Numbers of 16 and 32 bits in either byte order, and their sums over the slots of a class.
#[test]
fn wide_numbers_are_joined_after_their_sums() {
    let f = toy(45);
    let mut rng = f.rng.clone();
    let eval = Evaluator::new(&f.eval);
    let lifting = eval.lifting(10, 12).unwrap();
    for (width, order) in [
        (2, ByteOrder::Big),
        (4, ByteOrder::Little),
        (4, ByteOrder::Big),
    ] {
        let bytes: Vec<Vec<u8>> = (0..width)
            .map(|_| random_bytes(&mut rng, f.params.slots().count()))
            .collect();
        let numbers: Vec<u64> = (0..bytes[0].len())
            .map(|slot| {
                let digits = bytes.iter().map(|column| u64::from(column[slot]));
                match order {
                    ByteOrder::Big => digits.fold(0, |x, b| 256 * x + b),
                    ByteOrder::Little => digits.rev().fold(0, |x, b| 256 * x + b),
                }
            })
            .collect();
        let columns: Vec<Ciphertext> = bytes.iter().map(|bytes| f.at_level(bytes, 10)).collect();
        let columns: Vec<&Ciphertext> = columns.iter().collect();
        let wide = lifting.wide(&columns, order).unwrap();
        assert_eq!(f.secret.wide(&wide).unwrap(), numbers);
        let twice = wide.add(&eval, &wide).unwrap();
        let sum = twice.each(|x| x.sum_slots(&eval, &Axis::ALL)).unwrap();
        let n = numbers.len();
        let of = |i: usize| 2 * numbers[2 * i / n * n / 2..][..n / 2].iter().sum::<u64>();
        assert_eq!(
            f.secret.wide(&sum).unwrap(),
            (0..n).map(of).collect::<Vec<_>>()
        );
    }
    for count in [0, 9] {
        let columns = vec![f.at_level(&[1], 10); count];
        let columns: Vec<&Ciphertext> = columns.iter().collect();
        assert!(matches!(
            lifting.wide(&columns, ByteOrder::Big),
            Err(Error::Field(_))
        ));
    }
}

#[test]
fn what_cannot_become_integers_is_refused() {
    let (mut f, other) = (toy(46), toy(47));
    let bytes = f.bytes();
    let c = Evaluator::new(&f.eval);
    for (level, bits, expected) in [
        (9, 16, "expected 3 to 12"),
        (13, 25, "expected 3 to 24"),
        (13, 2, "expected 3 to 24"),
        (3, 8, "which is too low for any"),
    ] {
        let error = c.lifting(level, bits).err().unwrap().to_string();
        let found = format!("integers of {bits} bits from level {level} of set bgv/toy-255, ");
        assert!(error.starts_with(&(found + expected)), "{error}");
    }
    let lifting = c.lifting(13, 8).unwrap();
    let low = f.at_level(&bytes, lifting.from() - 1);
    assert!(matches!(lifting.lift(&low), Err(Error::TooDeep { .. })));
    // more noise than a switch removes
    let mut noisy = f.at_level(&bytes, lifting.from());
    for _ in 0..9 {
        noisy = c.multiply_public(&noisy, &bytes, Lift::ZeroOne).unwrap();
    }
    assert!(matches!(
        lifting.lift(&noisy),
        Err(Error::PlaneNoise { .. })
    ));
    let public = c.public(&bytes).unwrap();
    assert!(matches!(
        lifting.lift(&public),
        Err(Error::PlaneNoise { .. })
    ));
    // no mask
    let masks = c.mask_lifting(13, 8).unwrap();
    let wrong = masks.lift(&f.at_level(&bytes, 13)).unwrap();
    assert!(matches!(f.secret.integers(&wrong), Err(Error::NotIntegers)));
    // another key
    let x = lifting.lift(&f.at_level(&bytes, 13)).unwrap();
    assert!(matches!(other.secret.integers(&x), Err(Error::Mismatch(_))));
    assert!(x.scale(&Evaluator::new(&other.eval), 3).is_err());
    // a high level has no keys for rotations
    let high = c
        .lifting(21, 8)
        .unwrap()
        .lift(&f.at_level(&bytes, 22))
        .unwrap();
    assert!(matches!(
        high.rotate(&c, Axis::E5, 1),
        Err(Error::NoKey { .. })
    ));
    assert_eq!(f.secret.integers(&high).unwrap(), modulo(&bytes, 8));
    let cancel = Cancel::new();
    cancel.cancel();
    let cancelled = x.add(&c.until(&cancel), &x);
    assert!(matches!(cancelled, Err(Error::Cancelled(_))));
}
