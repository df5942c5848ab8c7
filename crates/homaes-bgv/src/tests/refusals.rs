//! Objects of other keys and sets, circuits that are too deep, and cancelled circuits.

use super::*;
use crate::circuit::Axis;
use homaes_scheme::{Cancel, Owner, RunOptions};

fn other_key(error: &Error) -> bool {
    matches!(error, Error::Mismatch(Mismatch::OtherKey { .. }))
}

fn other_set(error: &Error) -> bool {
    matches!(error, Error::Mismatch(Mismatch::OtherSet { .. }))
}

/// Objects of other keys and sets are refused wherever they enter.
#[test]
fn what_belongs_elsewhere_is_refused() {
    let [mut f, mut other] = [toy(47), toy(48)];
    let mut foreign = toy_4369(46);
    let [x, y, z] = [&mut f, &mut other, &mut foreign].map(|f| f.encrypt(&[1]));
    let [c, eval_y, eval_z] = [&f, &other, &foreign].map(|f| Evaluator::new(&f.eval));
    let refusals = [(&y, other_key as fn(&Error) -> bool), (&z, other_set)];
    for (alien, is_right) in refusals {
        let found = [
            c.add(&x, alien),
            c.add(alien, &x),
            c.multiply(alien, alien),
            c.combine(&[(&x, 1), (alien, 1)]),
            c.add_byte(alien, 1),
            c.frobenius(alien, 1),
            c.mod_switch(alien),
            c.bit_pairs(alien).map(|_| x.clone()),
            f.secret.decrypt(alien).map(|_| x.clone()),
        ];
        for (at, found) in found.into_iter().enumerate() {
            let error = found.unwrap_err();
            assert!(is_right(&error), "{at}: {error}");
        }
    }
    let own = || c.mul(&x, &x).unwrap();
    for alien in [eval_y.mul(&y, &y).unwrap(), eval_z.mul(&z, &z).unwrap()] {
        assert!(c.add_product(own(), &alien).is_err());
        assert!(c.add_product(alien.clone(), &own()).is_err());
        assert!(c.relinearize(&alien).is_err());
    }
    let lower = c.mod_switch(&x).unwrap();
    let lower = c.mul(&lower, &lower).unwrap();
    assert!(c.add_product(own(), &lower).is_err());
    // from a record without its file: only the agreement of equal slots shows whether a decryption is right
    let stranger = SecretKey::generate(&foreign.params, &mut foreign.rng).unwrap();
    let c = foreign.encrypt(&[1, 2, 3]);
    assert_eq!(foreign.secret.decrypt(&c).unwrap().0[..4], [1, 2, 3, 0]);
    assert!(other_key(&stranger.decrypt(&c).unwrap_err()));
    let owner = Owner::new(foreign.params.id(), None);
    let unknown = Ciphertext { owner, ..c };
    assert!(matches!(stranger.decrypt(&unknown), Err(Error::NotBytes)));
}

/// Two sets with one ring and as many primes, in another order.
#[test]
fn another_set_of_the_same_ring_is_refused() {
    let own = sets::TOY_255;
    let base: Vec<u64> = own.chain.base.iter().rev().copied().collect();
    let mut chain = own.chain;
    chain.base = Box::leak(base.into_boxed_slice());
    let mut f = toy(49);
    let other = fixture(&ParamSet { chain, ..own }, 50);
    let x = f.encrypt(&[7]);
    let layouts = &[Layout::Sliced, Layout::Bits];
    let wrapped = f.wrap(&[3; 16], wrapping(layouts, Direction::Encrypt));
    let [c, alien] = [&f, &other].map(|f| Evaluator::new(&f.eval));
    let public = alien.public(&[5]).unwrap();
    let product = alien.mul(&public, &public).unwrap();
    for found in [
        c.add(&x, &public),
        c.mod_switch(&public),
        c.relinearize(&product),
        c.mul(&x, &public).map(|_| x.clone()),
        f.secret.decrypt(&public).map(|_| x.clone()),
    ] {
        let error = found.unwrap_err();
        assert!(other_set(&error), "{error}");
    }
    let none = public.summary(&f.params);
    let bounds = (none.room_bits, none.failure_log2);
    assert_eq!(bounds, (f64::NEG_INFINITY, 0.0));
    assert_eq!(public.capacity_bits(&f.params), f64::NEG_INFINITY);
    assert_eq!(f.params.log2_modulus(99), 0.0);

    let bytes = written(&wrapped);
    let wrapped = Reader::from_slice(&bytes, Kind::WrappedKey).unwrap();
    let wrapped = WrappedKey::read(&f.params, wrapped).unwrap();
    let stranger = Fixture::new(f.params.clone(), 51);
    for &layout in layouts {
        let mut first = None;
        let mut observe = |round, state: &State| {
            first = first.take().or((round == 0).then(|| state.clone()));
        };
        let run = RunOptions::new(&Cancel::new(), &mut observe);
        let state = f.aes(&wrapped, layout).evaluate_with(&[[1; 16]], run);
        let mut state = state.unwrap();
        assert!(state.xor_public(&other.params, &[[9; 16]]).is_err());
        assert!(encode_batch(&other.params, &state).is_err());
        let first = first.unwrap();
        let c = &first.ciphertexts()[0];
        let error = Evaluator::new(&stranger.eval).add(c, c).unwrap_err();
        assert!(other_key(&error), "{error}");
    }
}

#[test]
fn errors_say_what_to_do() {
    let f = toy(28);
    let (low, high) = (f.at_level(&[1], 2), f.at_level(&[1], 13));
    let c = Evaluator::new(&f.eval);
    let deep = c.all_slots(&low, &Axis::ALL).and_then(|x| c.is_zero(&x));
    for (found, parts) in [
        (deep, ["with more levels left", "bgv/toy-255"]),
        (c.rotate(&high, Axis::E5, 1), ["rotation", "up to level 12"]),
        (
            c.multiply_three(&high, &high, &high),
            ["three-way", "up to level 12"],
        ),
    ] {
        let error = found.unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    assert!(matches!(c.all(&[]), Err(Error::NoOperands)));
    assert!(matches!(c.combine(&[]), Err(Error::NoOperands)));
    assert!(c.add_public(&low, &[0; 17]).is_err());
    let line = low.summary(&f.params).to_string();
    let start = "level 2 (multiplications left: 1)";
    assert!(line.starts_with(start), "{line}");
    let refused = c.bit_pairs(&f.at_level(&[1], 5)).unwrap_err().to_string();
    let start = "out of depth: 5 more multiplications needed, 4 left";
    assert!(refused.starts_with(start), "{refused}");
    let refused = c.bit_planes(&f.at_level(&[1], 1)).unwrap_err().to_string();
    assert!(refused.contains("depth"), "{refused}");
    // without levels to spare there are no rotations or three-way products
    let params = Params::new(&sets::AES128).unwrap();
    assert_eq!(params.rotation_level(), 0);
}

#[test]
fn circuits_end_when_they_are_cancelled() {
    let f = toy(29);
    let a = f.at_level(&vec![1; f.params.slots().count()], 12);
    let cancel = Cancel::new();
    let c = Evaluator::new(&f.eval).until(&cancel);
    assert!(c.multiply(&a, &a).is_ok());
    cancel.cancel();
    for ended in [
        c.add(&a, &a),
        c.add_byte(&a, 1),
        c.multiply(&a, &a),
        c.equals_byte(&a, 1),
        c.all(&[&a, &a]),
        c.frobenius(&a, 1),
        c.rotate(&a, Axis::E5, 1),
    ] {
        assert!(matches!(ended, Err(Error::Cancelled(_))), "{ended:?}");
    }
}
