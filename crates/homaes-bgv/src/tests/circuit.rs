//! Users' circuits against the clear, and their noise against the bound.

use super::*;
use crate::circuit::{Axis, Lift};
use crate::keyswitch::Post;

#[test]
fn three_way_products_agree_with_two() {
    let mut f = toy(21);
    let x = [(); 3].map(|()| f.bytes());
    let want = zip(&x[0], &zip(&x[1], &x[2], gf256::mul), gf256::mul);
    for level in (1..=12).rev() {
        let [x, y, z] = x.each_ref().map(|x| f.at_level(x, level));
        let three = Evaluator::new(&f.eval);
        let out = three.three_way(&x, &y, &z);
        if level == 1 {
            // three noises do not fit one prime
            assert!(matches!(out, Err(Error::TooNoisy { .. })));
            continue;
        }
        let out = out.unwrap();
        assert_eq!(out.level(), level.saturating_sub(2).max(1));
        sound(&f, &out, &want, "three-way");
        if level < 3 {
            continue;
        }
        let two = Evaluator::new(&f.eval);
        let pair = two.relinearize(&two.mul(&x, &y).unwrap()).unwrap();
        let z = two.mod_switch(&z).unwrap();
        let twice = two.relinearize(&two.mul(&pair, &z).unwrap()).unwrap();
        assert_eq!(twice.level(), out.level());
        let [a, b] = [&out, &twice].map(|c| f.secret.measure_noise(c).0);
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
    let a = f.at_level(&x, 9);
    let c = Evaluator::new(&f.eval);
    let is = |c: &Ciphertext, want: &dyn Fn(usize) -> bool, what: &str| {
        let want: Vec<u8> = (0..n).map(|i| u8::from(want(i))).collect();
        sound(&f, c, &want, what);
    };
    let zero = c.is_zero(&a).unwrap();
    assert!(zero.level() >= 6, "three multiplications");
    is(&zero, &|i| x[i] == 0, "zero");
    for k in 1..8 {
        let mask = |j| {
            let bytes: Vec<u8> = (0..n).map(|i| u8::from(i % 8 != j)).collect();
            f.at_level(&bytes, 6)
        };
        let masks: Vec<Ciphertext> = (0..k).map(mask).collect();
        let masks: Vec<&Ciphertext> = masks.iter().collect();
        let all = c.all(&masks).unwrap();
        let depth = k.next_power_of_two().ilog2() as usize;
        assert!(all.level() + depth >= 6, "{k} masks");
        is(&all, &|i| i % 8 >= k, "all");
        let any = c.any(&masks).unwrap();
        is(&any, &|i| k > 1 || i % 8 != 0, "any");
    }
    let block = |i: usize| -> Block { core::array::from_fn(|j| (j * (i % 2 + 1)) as u8) };
    let byte = |j| f.at_level(&(0..n).map(|i| block(i)[j]).collect::<Vec<_>>(), 9);
    let bytes: Vec<Ciphertext> = (0..16).map(byte).collect();
    let found = c.equals_block(&bytes, &block(1)).unwrap();
    is(&found, &|i| i % 2 == 1, "blocks");
    assert!(c.equals_block(&bytes[1..], &block(1)).is_err());
}

/// The slots after a rotation along an axis.
pub(super) fn moved<T: Copy>(f: &Fixture, x: &[T], axis: Axis, steps: usize) -> Vec<T> {
    let slots = f.params.slots();
    let [n3, n5, n257] = slots.axes();
    let mut out = x.to_vec();
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
    // in the last one, keys of packed columns are in K
    let in_k = fixture(&sets::TOY_K_21845, 24);
    for (mut f, level) in [(toy(24), 12), (toy_4369(24), 11), (in_k, 12)] {
        let x = f.bytes();
        let a = f.at_level(&x, level);
        let c = Evaluator::new(&f.eval);
        for axis in Axis::ALL {
            for steps in [0, 1, 3, 77] {
                let out = c.rotate(&a, axis, steps).unwrap();
                assert_eq!(out.level(), level);
                sound(&f, &out, &moved(&f, &x, axis, steps), "rotation");
            }
        }
        let n = x.len();
        let of = |class: usize| x[class * n / 2..][..n / 2].iter().fold(0, |s, x| s ^ x);
        let by_class = |g: &dyn Fn(usize) -> u8| (0..n).map(|i| g(2 * i / n)).collect::<Vec<_>>();
        let sum = c.sum_slots(&a, &Axis::ALL).unwrap();
        sound(&f, &sum, &by_class(&of), "sum over slots");
        let mask = (0..n).map(|i| u8::from(2 * i / n == 1 || i % 2 == 0));
        let a = f.at_level(&mask.collect::<Vec<_>>(), 12);
        let all = c.all_slots(&a, &Axis::ALL).unwrap();
        sound(&f, &all, &by_class(&|class| class as u8), "all slots");
        let any = c.any_slots(&a, &Axis::ALL).unwrap();
        sound(&f, &any, &vec![1; n], "any slot");
    }
}

#[test]
fn noise_decides_when_to_switch() {
    // constants before every product call for switches; always switching takes one level more each
    let mut f = toy(27);
    let x = f.bytes();
    let a = f.at_level(&x, 20);
    let c = Evaluator::new(&f.eval);
    let (mut dynamic, mut always) = (a.clone(), a);
    for _ in 0..4 {
        dynamic = c.multiply_byte(&dynamic, 0xb7).unwrap();
        dynamic = c.multiply(&dynamic, &dynamic).unwrap();
        always = c
            .mod_switch(&c.multiply_byte(&always, 0xb7).unwrap())
            .unwrap();
        always = c.relinearize(&c.mul(&always, &always).unwrap()).unwrap();
    }
    let [one, other] = [&dynamic, &always].map(|c| f.secret.decrypt(c).unwrap().0);
    assert_eq!(one, other);
    let levels = [dynamic.level(), always.level()];
    assert!(levels[0] >= levels[1] + 3, "{levels:?}");
    // a large operand is switched first
    let mut loud = f.at_level(&x, 8);
    for _ in 0..12 {
        loud = c.multiply_public(&loud, &x, Lift::ZeroOne).unwrap();
    }
    let product = c.multiply_frobenius(&loud, &loud, 1).unwrap();
    let line = product.summary(&f.params);
    assert!(line.level < 7 && line.room_bits > 1.0, "{line}");
    let want = map(&x, |x| gf256::pow(x, 39));
    sound(&f, &product, &want, "after switches");
}

/// The affine map of the S-box at a low level: seven Frobenius images summed under the large modulus, with constants in
/// the keys, against separately switched images.
#[test]
fn constants_in_keys_and_sums_before_switching_gain() {
    let mut f = toy(30);
    let x = f.bytes();
    let a = f.at_level(&x, 7);
    let slots = f.params.slots();
    let linear = linear::LinearLayer::new(slots, Direction::Encrypt);
    let once = Evaluator::new(&f.eval);
    let images =
        crate::aes::maps::byte_map(&f.eval, &linear, &homaes_scheme::Cancel::new()).unwrap();
    let [power, ..] = linear.mean_powers();
    let plan = f.params.switching(7);
    let sum = once.sum_of_images(plan, &images, &[&a], power, Post::None);
    let sum = sum.unwrap().pop().unwrap();

    let each = Evaluator::new(&f.eval);
    let gammas = gf256::linearised(gf256::affine_linear);
    let terms = gammas.iter().enumerate().map(|(k, &gamma)| {
        let image = each.frobenius(&a, k + 1)?;
        each.mod_switch(&each.multiply_byte(&image, gamma)?)
    });
    let other = terms.reduce(|s, t| each.add(&s?, &t?)).unwrap().unwrap();
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

/// Products and sums in evaluation form take no transform, a modulus switch one per prime of either side.
#[test]
fn transforms_are_saved() {
    let f = toy(31);
    let a = f.at_level(&[1, 2, 3], 9);
    let eval = Evaluator::new(&f.eval);
    let product = eval.mul(&a, &a).unwrap();
    let _ = eval.add_product(product.clone(), &product).unwrap();
    assert_eq!(eval.reading().count("transforms"), 0);
    let _ = eval.mod_switch(&a).unwrap();
    let [from, to] = [9, 8].map(|level| f.params.basis(level).len() as u64);
    assert!(eval.reading().count("transforms") < 2 * (from + to));
}
