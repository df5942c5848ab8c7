//! Users' circuits against the clear, their noise against the bound, and their errors.

use super::*;
use crate::circuit::{Axis, Lift};
use crate::keyswitch::Post;
use homaes_scheme::Mismatch;

/// An encryption at `level`.
fn at_level(f: &Fixture, bytes: &[u8], level: usize) -> Ciphertext {
    let mut rng = f.rng.clone();
    rng.set_stream(
        bytes
            .iter()
            .fold(level as u64, |s, &b| s.wrapping_mul(257) + u64::from(b)),
    );
    let c = f.secret.encrypt(bytes, &mut rng).unwrap();
    Evaluator::new(&f.eval).lowered(&c, level).unwrap()
}

/// Decrypts and compares; the bound must hold and the capacity must not promise more than there is.
fn holds(f: &Fixture, c: &Ciphertext, want: &[u8], what: &str) {
    let (got, margin) = f.secret.decrypt(c).unwrap();
    assert_eq!(got, want, "{what}: {}", c.summary(&f.params));
    let (rms, largest) = f.secret.measure_noise(c);
    assert!(
        rms <= largest && largest <= c.bound_bits(&f.params),
        "{what}: {largest} above {}",
        c.bound_bits(&f.params)
    );
    // margins saturate at 48 bits
    let promised = c.room_bits(&f.params);
    assert!(
        margin >= promised.min(40.0),
        "{what}: {margin}, promised {promised}"
    );
    assert!(c.failure_log2(&f.params) <= -64.0);
}

fn map(x: &[u8], f: impl Fn(u8) -> u8) -> Vec<u8> {
    x.iter().map(|&x| f(x)).collect()
}

fn zip(x: &[u8], y: &[u8], f: impl Fn(u8, u8) -> u8) -> Vec<u8> {
    x.iter().zip(y).map(|(&x, &y)| f(x, y)).collect()
}

#[test]
fn arithmetic_agrees_with_the_clear() {
    let mut f = toy(20);
    let n = f.params.slots().count();
    let (x, y) = (random_bytes(&mut f.rng, n), random_bytes(&mut f.rng, n));
    let (a, b) = (at_level(&f, &x, 12), at_level(&f, &y, 10));
    let eval = Evaluator::new(&f.eval);
    let c = &eval;
    let sum = zip(&x, &y, |x, y| x ^ y);
    holds(&f, &c.add(&a, &b).unwrap(), &sum, "sum");
    holds(
        &f,
        &c.add_public(&a, &y).unwrap(),
        &sum,
        "sum with public bytes",
    );
    holds(
        &f,
        &c.add_byte(&a, 0x53).unwrap(),
        &map(&x, |x| x ^ 0x53),
        "sum with a byte",
    );
    let scaled = map(&x, |x| gf256::mul(x, 0xca));
    holds(
        &f,
        &c.multiply_byte(&a, 0xca).unwrap(),
        &scaled,
        "times a byte",
    );
    let product = zip(&x, &y, gf256::mul);
    for lift in [Lift::ZeroOne, Lift::Signs([7; 32])] {
        let out = c.multiply_public(&a, &y, lift).unwrap();
        assert_eq!(out.level(), 12);
        holds(&f, &out, &product, "times public bytes");
    }
    let combined = c.combine(&[(&a, 2), (&b, 0x8f), (&a, 1)]).unwrap();
    let want = zip(&x, &y, |x, y| gf256::mul(x, 3) ^ gf256::mul(y, 0x8f));
    holds(&f, &combined, &want, "combination");
    let many = vec![(&a, 0x1d); 61];
    let many = c.combine(&many).unwrap();
    assert_eq!(
        f.secret.decrypt(&many).unwrap().0,
        map(&x, |x| gf256::mul(x, 0x1d))
    );
    holds(
        &f,
        &c.frobenius(&a, 5).unwrap(),
        &map(&x, |x| gf256::frobenius(x, 5)),
        "frobenius",
    );
    let out = c.multiply(&a, &b).unwrap();
    assert_eq!(out.level(), 9);
    holds(&f, &out, &product, "product");
    for k in 0..8 {
        let want = zip(&x, &y, |x, y| gf256::mul(x, gf256::frobenius(y, k)));
        holds(
            &f,
            &c.multiply_frobenius(&a, &b, k as usize).unwrap(),
            &want,
            "x·σ(y)",
        );
    }
}

#[test]
fn three_way_products_agree_with_two() {
    let mut f = toy(21);
    let n = f.params.slots().count();
    let x: Vec<Vec<u8>> = (0..3).map(|_| random_bytes(&mut f.rng, n)).collect();
    let want: Vec<u8> = (0..n)
        .map(|i| gf256::mul(x[0][i], gf256::mul(x[1][i], x[2][i])))
        .collect();
    for level in (1..=12).rev() {
        let c: Vec<Ciphertext> = x.iter().map(|x| at_level(&f, x, level)).collect();
        let three = Evaluator::new(&f.eval);
        if level == 1 {
            // three noises do not fit one prime
            let out = three.three_way(&c[0], &c[1], &c[2]);
            assert!(matches!(out, Err(Error::TooNoisy { .. })));
            continue;
        }
        let out = three.three_way(&c[0], &c[1], &c[2]).unwrap();
        assert_eq!(out.level(), level.saturating_sub(2).max(1));
        holds(&f, &out, &want, "three-way");
        if level < 3 {
            continue;
        }
        let two = Evaluator::new(&f.eval);
        let pair = two.relinearize(&two.mul(&c[0], &c[1]).unwrap()).unwrap();
        let z = two.mod_switch(&c[2]).unwrap();
        let twice = two.relinearize(&two.mul(&pair, &z).unwrap()).unwrap();
        assert_eq!(twice.level(), out.level());
        let (a, b) = (
            f.secret.measure_noise(&out).0,
            f.secret.measure_noise(&twice).0,
        );
        assert!((a - b).abs() < 1.0, "noise {a} against {b}");
        let [a, b] = [&three, &two].map(|e| e.reading().count("transforms"));
        assert!(a < b, "level {level}: {a} transforms against {b}");
    }
}

#[test]
fn comparisons_and_logic() {
    let f = toy(22);
    let n = f.params.slots().count();
    let x: Vec<u8> = (0..n).map(|i| (i as u8 % 3) * 0x41).collect();
    let a = at_level(&f, &x, 9);
    let eval = Evaluator::new(&f.eval);
    let c = &eval;
    let is = |b: u8| map(&x, |x| u8::from(x == b));
    let zero = c.is_zero(&a).unwrap();
    assert!(
        zero.level() >= 6,
        "three multiplications: {}",
        zero.summary(&f.params)
    );
    holds(&f, &zero, &is(0), "zero");
    let other = c.equals_byte(&a, 0x41).unwrap();
    holds(&f, &other, &is(0x41), "equal");
    holds(
        &f,
        &c.equals_public(&a, &x).unwrap(),
        &vec![1; n],
        "equal to public bytes",
    );
    holds(
        &f,
        &c.not(&zero).unwrap(),
        &map(&x, |x| u8::from(x != 0)),
        "not",
    );
    holds(&f, &c.and(&zero, &other).unwrap(), &vec![0; n], "and");
    let either = map(&x, |x| u8::from(x < 0x42));
    holds(&f, &c.or(&zero, &other).unwrap(), &either, "or");
    for k in 1..8 {
        let masks: Vec<Ciphertext> = (0..k)
            .map(|j| {
                at_level(
                    &f,
                    &(0..n).map(|i| u8::from(i % 8 != j)).collect::<Vec<_>>(),
                    6,
                )
            })
            .collect();
        let masks: Vec<&Ciphertext> = masks.iter().collect();
        let all = c.all(&masks).unwrap();
        assert!(
            all.level() + (k.next_power_of_two().ilog2() as usize) >= 6,
            "{k} masks"
        );
        let want: Vec<u8> = (0..n).map(|i| u8::from(i % 8 >= k)).collect();
        holds(&f, &all, &want, "all");
        let want: Vec<u8> = (0..n).map(|i| u8::from(k > 1 || i % 8 != 0)).collect();
        holds(&f, &c.any(&masks).unwrap(), &want, "any");
    }
}

#[test]
fn blocks_compare() {
    let f = toy(23);
    let n = f.params.slots().count();
    let blocks: Vec<Block> = (0..n)
        .map(|i| core::array::from_fn(|j| (j * (i % 2 + 1)) as u8))
        .collect();
    let bytes: Vec<Ciphertext> = (0..16)
        .map(|i| at_level(&f, &blocks.iter().map(|b| b[i]).collect::<Vec<_>>(), 9))
        .collect();
    let eval = Evaluator::new(&f.eval);
    let c = &eval;
    let found = c.equals_block(&bytes, &blocks[1]).unwrap();
    holds(
        &f,
        &found,
        &(0..n).map(|i| (i % 2) as u8).collect::<Vec<_>>(),
        "blocks",
    );
    assert!(c.equals_block(&bytes[1..], &blocks[1]).is_err());
}

/// The slots after moving along the axes.
pub(super) fn moved(f: &Fixture, x: &[u8], axis: Axis, steps: usize) -> Vec<u8> {
    let slots = f.params.slots();
    let [n3, n5, n257] = slots.axes();
    let mut out = vec![0; x.len()];
    for class in 0..2 {
        for e in 0..n3 * n5 * n257 {
            let at = [e / (n5 * n257), e / n257 % n5, e % n257];
            let mut from = at;
            from[axis as usize] += steps;
            out[slots.slot(class, at)] = x[slots.slot(class, from)];
        }
    }
    out
}

#[test]
fn slots_rotate_and_sum_along_every_axis() {
    for (set, level) in [(&sets::TOY_255, 12), (&sets::TOY_4369, 11)] {
        let mut f = fixture(Params::new(set).unwrap(), 24);
        let n = f.params.slots().count();
        let x = random_bytes(&mut f.rng, n);
        let a = at_level(&f, &x, level);
        let eval = Evaluator::new(&f.eval);
        let c = &eval;
        for axis in Axis::ALL {
            for steps in [0, 1, 3, 77] {
                let out = c.rotate(&a, axis, steps).unwrap();
                assert_eq!(out.level(), level);
                holds(&f, &out, &moved(&f, &x, axis, steps), "rotation");
            }
        }
        let sum = c.sum_slots(&a, &Axis::ALL).unwrap();
        let of = |class: usize| x[class * n / 2..][..n / 2].iter().fold(0, |s, x| s ^ x);
        let want: Vec<u8> = (0..n).map(|i| of(2 * i / n)).collect();
        holds(&f, &sum, &want, "sum over slots");
        let mask: Vec<u8> = (0..n)
            .map(|i| u8::from(2 * i / n == 1 || i % 2 == 0))
            .collect();
        let a = at_level(&f, &mask, 12);
        let class: Vec<u8> = (0..n).map(|i| (2 * i / n) as u8).collect();
        holds(
            &f,
            &c.all_slots(&a, &Axis::ALL).unwrap(),
            &class,
            "all slots",
        );
        holds(
            &f,
            &c.any_slots(&a, &Axis::ALL).unwrap(),
            &vec![1; n],
            "any slot",
        );
    }
}

/// Constants with uneven values and squarings, as deep as the chain goes: the bound stays above the noise, the decryption right
/// for as long as operations succeed, and the end is an error.
#[test]
fn the_bound_holds_along_squarings_and_constants() {
    for (set, seed) in [(&sets::TOY_255, 25), (&sets::TOY_4369, 26)] {
        let mut f = fixture(Params::new(set).unwrap(), seed);
        let n = f.params.slots().count();
        let mut x = random_bytes(&mut f.rng, n);
        let mut a = at_level(&f, &x, 30);
        let eval = Evaluator::new(&f.eval);
        let c = &eval;
        let mut products = 0;
        let error = loop {
            let mut next = Ok(a);
            for _ in 0..products % 4 {
                next = next.and_then(|a| c.multiply_byte(&a, 0xb7));
                x = map(&x, |x| gf256::mul(x, 0xb7));
            }
            // a copy, so that it is a product, not the Frobenius map that `multiply` would take
            let square = next.and_then(|a| {
                holds(&f, &a, &x, "constants");
                c.multiply(&a, &c.add_public(&a, &vec![0; n])?)
            });
            a = match square {
                Ok(square) => square,
                Err(e) => break e,
            };
            x = map(&x, |x| gf256::mul(x, x));
            holds(&f, &a, &x, "square");
            products += 1;
        };
        assert!(
            matches!(error, Error::TooDeep { .. } | Error::TooNoisy { .. }),
            "{error}"
        );
        assert!(products >= 12, "{products} products from 30 levels");
        println!("{}: {products} squarings from level 30", set.name.as_str());
    }
}

#[test]
fn noise_decides_when_to_switch() {
    // noise that asks for it: constants before every product. Switching always: one level more for each
    let mut f = toy(27);
    let n = f.params.slots().count();
    let x = random_bytes(&mut f.rng, n);
    let a = at_level(&f, &x, 20);
    let eval = Evaluator::new(&f.eval);
    let c = &eval;
    let (mut dynamic, mut always) = (a.clone(), a);
    for _ in 0..4 {
        dynamic = c.multiply_byte(&dynamic, 0xb7).unwrap();
        dynamic = c.multiply(&dynamic, &dynamic).unwrap();
        always = eval
            .mod_switch(&c.multiply_byte(&always, 0xb7).unwrap())
            .unwrap();
        always = eval
            .relinearize(&eval.mul(&always, &always).unwrap())
            .unwrap();
    }
    assert_eq!(
        f.secret.decrypt(&dynamic).unwrap().0,
        f.secret.decrypt(&always).unwrap().0
    );
    assert!(
        dynamic.level() >= always.level() + 3,
        "{} and {}",
        dynamic.level(),
        always.level()
    );
    // what is large is switched first
    let mut loud = at_level(&f, &x, 8);
    for _ in 0..12 {
        loud = c.multiply_public(&loud, &x, Lift::ZeroOne).unwrap();
    }
    let product = c.multiply_frobenius(&loud, &loud, 1).unwrap();
    assert!(
        product.level() < 7 && product.room_bits(&f.params) > 1.0,
        "{}",
        product.summary(&f.params)
    );
    holds(
        &f,
        &product,
        &map(&x, |x| gf256::pow(x, 39)),
        "after switches",
    );
}

#[test]
fn errors_say_what_to_do() {
    let f = toy(28);
    let (low, high) = (at_level(&f, &[1], 2), at_level(&f, &[1], 13));
    let eval = Evaluator::new(&f.eval);
    let c = &eval;
    let text = |e: Result<Ciphertext>| e.unwrap_err().to_string();
    let deep = text(c.all_slots(&low, &Axis::ALL).and_then(|x| c.is_zero(&x)));
    assert!(
        deep.contains("with more levels left") && deep.contains("bgv/toy-255"),
        "{deep}"
    );
    assert!(text(c.rotate(&high, Axis::E5, 1)).contains("up to level 12"));
    assert!(text(c.multiply_three(&high, &high, &high)).contains("three-way"));
    assert!(matches!(c.all(&[]), Err(Error::NoOperands)));
    assert!(matches!(c.combine(&[]), Err(Error::NoOperands)));
    assert!(c.add_public(&low, &[0; 17]).is_err());
    let g = fixture(Params::new(&sets::TOY_4369).unwrap(), 29);
    let foreign = at_level(&g, &[1], 2);
    assert!(matches!(
        c.add(&low, &foreign),
        Err(Error::Mismatch(Mismatch::OtherSet { .. }))
    ));
    let line = low.summary(&f.params).to_string();
    assert!(
        line.starts_with("level 2 (multiplications left: 1)"),
        "{line}"
    );
    // the set without levels to spare has neither rotations nor three-way products
    let params = Params::new(&sets::AES128).unwrap();
    assert_eq!(params.rotation_level(), 0);
}

/// The affine map of the S-box at a low level: seven Frobenius images with constants, summed under the large modulus, with the
/// constants in the keys; against every image switched for itself.
#[test]
fn constants_in_keys_and_sums_before_switching_gain() {
    let mut f = toy(30);
    let n = f.params.slots().count();
    let x = random_bytes(&mut f.rng, n);
    let a = at_level(&f, &x, 7);
    let slots = f.params.slots();
    let linear = crate::aes::linear::LinearLayer::new(slots, Direction::Encrypt);
    let once = Evaluator::new(&f.eval);
    let images =
        crate::aes::maps::byte_map(&f.eval, &linear, &homaes_scheme::Cancel::new()).unwrap();
    let [power, ..] = linear.mean_powers();
    let plan = f.params.switching(7);
    let mut sum = once
        .sum_of_images(plan, &images, &[&a], power, Post::None)
        .unwrap();
    let sum = sum.pop().unwrap();

    let each = Evaluator::new(&f.eval);
    let gammas = gf256::linearised(gf256::affine_linear);
    let terms: Vec<Ciphertext> = gammas
        .iter()
        .enumerate()
        .map(|(k, &gamma)| {
            let image = each.frobenius(&a, k + 1).unwrap();
            each.mod_switch(&each.multiply_byte(&image, gamma).unwrap())
                .unwrap()
        })
        .collect();
    let other = terms.iter().skip(1);
    let other = other.fold(terms[0].clone(), |s, t| each.add(&s, t).unwrap());
    let want = map(&x, |x| gf256::affine_linear(gf256::frobenius(x, 1)));
    for c in [&sum, &other] {
        assert_eq!(f.secret.decrypt(c).unwrap().0, want);
        assert_eq!(c.level(), 6);
    }
    let [once, each] = [&once, &each].map(|e| e.reading().count("transforms"));
    let [a, b] = [&sum, &other].map(|c| f.secret.measure_noise(c).0);
    println!(
        "folded and summed first: {once} transforms, noise {a:.2}; separately {each} and {b:.2}"
    );
    assert!(4 * once < each && a + 1.0 < b);
}

#[test]
fn the_order_of_operations_changes_noise_only() {
    let mut f = toy(31);
    let n = f.params.slots().count();
    let x = random_bytes(&mut f.rng, n);
    let eval = Evaluator::new(&f.eval);
    let a = at_level(&f, &x, 8);
    // a constant before σ is its square root after σ
    let root = gf256::frobenius(0xb7, 7);
    let before = eval
        .frobenius(&eval.multiply_byte(&a, root).unwrap(), 1)
        .unwrap();
    let after = eval
        .multiply_byte(&eval.frobenius(&a, 1).unwrap(), 0xb7)
        .unwrap();
    let want = map(&x, |x| gf256::mul(0xb7, gf256::mul(x, x)));
    holds(&f, &before, &want, "constant first");
    holds(&f, &after, &want, "automorphism first");
    // key switching before the switch of moduli, and after
    let a = at_level(&f, &x, 9);
    let high = eval.mod_switch(&eval.frobenius(&a, 1).unwrap()).unwrap();
    let low = eval.frobenius(&eval.mod_switch(&a).unwrap(), 1).unwrap();
    let want = map(&x, |x| gf256::mul(x, x));
    holds(&f, &high, &want, "keys first");
    holds(&f, &low, &want, "moduli first");
    // products and sums of evaluation-form limbs take no transform, a modulus switch one per prime of either side
    let eval = Evaluator::new(&f.eval);
    let product = eval.mul(&a, &a).unwrap();
    let _ = eval.add_product(product.clone(), &product).unwrap();
    assert_eq!(eval.reading().count("transforms"), 0);
    let _ = eval.mod_switch(&a).unwrap();
    let [from, to] = [9, 8].map(|level| f.params.basis(level).len() as u64);
    assert!(eval.reading().count("transforms") < 2 * (from + to));
}

#[test]
fn circuits_end_when_they_are_cancelled() {
    let f = toy(29);
    let x = vec![1; f.params.slots().count()];
    let a = at_level(&f, &x, 12);
    let cancel = homaes_scheme::Cancel::new();
    let eval = Evaluator::new(&f.eval).until(&cancel);
    let c = &eval;
    assert!(c.multiply(&a, &a).is_ok());
    cancel.cancel();
    let masks = [&a, &a];
    for ended in [
        c.add(&a, &a),
        c.add_byte(&a, 1),
        c.multiply(&a, &a),
        c.equals_byte(&a, 1),
        c.all(&masks),
        c.frobenius(&a, 1),
        c.rotate(&a, Axis::E5, 1),
    ] {
        assert!(matches!(ended, Err(Error::Cancelled(_))), "{ended:?}");
    }
}
