//! Every reason to refuse a set, and the shares that the constants promise.
use super::*;
use crate::{quality, sets};

fn refused(change: impl FnOnce(&mut ParamSet)) -> ParamsError {
    let mut set = sets::TOY_255.clone();
    change(&mut set);
    Params::new(&set).unwrap_err()
}

fn refused_count(change: impl FnOnce(&mut Chain)) -> (&'static str, usize) {
    match refused(|s| change(&mut s.chain)) {
        ParamsError::Chain { what, found, .. } => (what, found),
        e => panic!("expected a chain error, found {e}"),
    }
}

#[test]
fn rings_primes_and_weights_that_do_not_fit() {
    for m in [0, 1, 2, 15, 257, 17 * 17, 65537] {
        let error = refused(|s| s.m = m);
        assert_eq!(error, ParamsError::Conductor { m });
    }
    let step = 255 * 16;
    for p in [0, 1, 2, 65537, 335_539_203, (1 << 48) + 1, u64::MAX] {
        let error = refused(|s| s.chain.low = p);
        assert_eq!(error, ParamsError::Modulus { p, step });
    }
    let p = sets::TOY_255.chain.special[0];
    let error = refused(|s| s.chain.middle = p);
    assert_eq!(error, ParamsError::Repeated { p });
    for weight in [0, 129, usize::MAX] {
        let error = refused(|s| s.weight = weight);
        assert_eq!(error, ParamsError::Weight { weight, n: 128 });
    }
}

#[test]
fn every_conductor_with_17_is_usable_from_64_coefficients_on() {
    for (cofactor, usable) in [(1, false), (3, false), (5, true), (15, true), (257, true)] {
        let set = ParamSet {
            m: 17 * cofactor,
            weight: 8,
            ..sets::TOY_255
        };
        assert_eq!(Params::new(&set).is_ok(), usable, "m = {}", set.m);
    }
}

#[test]
fn chain_counts() {
    const MANY: &[u64] = &[1; 62];
    type Case = (&'static str, usize, fn(&mut Chain));
    let cases: [Case; 11] = [
        ("base primes", 0, |c| c.base = &[]),
        ("special primes", 0, |c| c.special = &[]),
        ("special primes", 14, |c| c.special = &MANY[..14]),
        ("primes in all", 70, |c| c.base = MANY),
        ("base primes of the first digit", 19, |c| c.first_digit = 19),
        ("base primes of the first digit", usize::MAX, |c| {
            c.first_digit = usize::MAX;
        }),
        ("base primes of a digit", 0, |c| c.digit = 0),
        ("base primes of a digit", usize::MAX, |c| {
            c.digit = usize::MAX;
        }),
        ("primes of the first digit", 16, |c| {
            (c.base, c.first_digit) = (&MANY[..14], 14);
        }),
        ("primes of a further digit", 16, |c| {
            (c.base, c.digit) = (&MANY[..20], 16);
        }),
        ("digits", 15, |c| c.digit = 1),
    ];
    for (what, found, change) in cases {
        assert_eq!(refused_count(change), (what, found));
    }
}

#[test]
fn digits_fit_the_special_modulus() {
    // four special primes, 188 bits, against a first digit of 241
    let four = |c: &mut Chain| c.special = &c.special[..4];
    assert_eq!(refused_count(four), ("bits of the largest digit", 241));
    let message = refused(|s| four(&mut s.chain)).to_string();
    let end = "found 241, expected 1..=194";
    assert!(message.ends_with(end), "{message}");
    let one =
        |rounds, special| move |c: &mut Chain| c.one_digit = Some(OneDigit { rounds, special });
    let further = &sets::TOY_21845.chain.special[5..];
    // eight rounds have 379 bits, seven special primes 329; nine further primes exceed a conversion
    for (rounds, special, refused) in [
        (0, further, ("rounds in one digit", 0)),
        (16, further, ("rounds in one digit", 16)),
        (usize::MAX, further, ("rounds in one digit", usize::MAX)),
        (8, further, ("bits of the only digit", 380)),
        (7, &further[..1], ("bits of the only digit", 333)),
        (7, &[1; 9], ("special primes", 14)),
    ] {
        assert_eq!(refused_count(one(rounds, special)), refused);
    }
    let mut bits = sets::BITS128;
    one(1, further)(&mut bits.chain);
    let error = Params::new(&bits).unwrap_err().to_string();
    assert!(error.starts_with("rounds in one digit"), "{error}");
}

/// Parts in one digit are published under no larger modulus than the others, except in `bgv/aes128-p128`, and switch with
/// no more noise.
#[test]
fn parts_in_one_digit_cost_no_security_and_no_noise() {
    for set in sets::ALL {
        if set.chain.one_digit.is_none() {
            continue;
        }
        let mut other = set.clone();
        other.chain.one_digit = None;
        let [found, without] = [set, &other].map(|set| Params::new(set).unwrap());
        let largest = match set.name == sets::AES128_P128.name {
            // seven rounds have 338 bits, which seven special primes do not hold
            true => found.log2_qp().min(715.0),
            false => without.log2_qp(),
        };
        assert_eq!(found.log2_qp(), largest, "{}", set.name.as_str());
        let low = [&found, &without].map(|params| params.log2_key(params.rotation_level()));
        assert_eq!(low[0], low[1], "{}", set.name.as_str());
        let shares = [&found, &without].map(|params| {
            let m = quality::model(params);
            let (worst, last) = m.ks_worst;
            [
                &m.ks_switched[..],
                &worst,
                &[m.ks_unswitched, m.ks_last, last],
            ]
            .concat()
        });
        assert!(shares[0].iter().zip(&shares[1]).all(|(a, b)| a <= b));
        for level in 1..=found.top_level() {
            let plans = [&found, &without].map(|params| params.switching(level));
            let above = found.rotation_level() < level && level <= 21;
            let one_digit = above && plans[1].digits.len() > 1;
            let part = KeyPart::ALL[plans[0].part];
            assert_eq!(part.one_digit, one_digit, "level {level}");
            if one_digit {
                assert_eq!(plans[0].digits.len(), 1);
                assert!(plans[0].excesses[0] < DIGIT_EXCESS_BITS);
            }
        }
    }
}

#[test]
fn key_switching_noise_has_the_shares_that_are_stated() {
    for set in sets::ALL {
        let params = Params::new(set).unwrap();
        if !params.has_bytes() {
            let model = quality::bits_model(&params).unwrap();
            assert!(model.ks.iter().all(|&ks| ks < 0.2), "{:?}", model.ks);
            continue;
        }
        let model = quality::model(&params);
        // over ρ² after a switch, without and with the spread of key errors; over ρ⁴ behind x^127 with it. The toys' ρ
        // is small compared with their σ
        let (mean, switched, unswitched) = match set.purpose {
            Purpose::Secure => (0.2, 0.7, 11.0),
            _ => (0.3, 2.5, 100.0),
        };
        let noise = params.noise();
        for level in (1..=params.top_level()).filter(|l| l % 3 != 1) {
            let plan = params.switching(level);
            let ks = noise.key_switch_log2(2, plan);
            let share = (2.0 * (ks - plan.log2_drop() - noise.rho_log2)).exp2();
            let name = set.name.as_str();
            assert!(share < mean, "{name}, level {level}: {share}");
        }
        let found = model.ks_switched;
        assert!(found.iter().all(|&ks| ks < switched), "{found:?}");
        assert!(model.ks_unswitched < unswitched, "{}", model.ks_unswitched);
        if set.purpose == Purpose::Secure {
            let left = quality::expanded(params.of_aes());
            assert!(left.iter().all(|&share| share < 0.03), "{left:?}");
        }
    }
    // two digits leave almost nothing behind x^127
    let model = quality::model(&Params::new(&sets::AES128).unwrap());
    assert!(model.ks_unswitched < 1e-3, "{}", model.ks_unswitched);
}

/// A key switch from K to the secret of results adds nothing that counts, and those in K add little.
#[test]
fn key_switching_in_k_and_out_of_it_adds_little() {
    for set in [&sets::AES256_8, &sets::AES256_17] {
        let params = Params::new(set).unwrap();
        let (k, rho) = (params.of_aes(), params.noise().rho_log2);
        let results = (3..=k.leaving_level()).step_by(3);
        let added = results.map(|l| k.noise().key_switch_log2(1, &k.leave_plan(l)) - rho);
        let added: Vec<f64> = added.collect();
        assert!(added.iter().all(|bits| *bits < -33.0), "{added:?}");
        let plans = (1..=k.top_level()).map(|l| k.switching(l));
        let mut excesses = plans.flat_map(|plan| &plan.excesses);
        assert!(excesses.all(|bits| *bits < 0.0), "a digit exceeds P");
        let model = quality::model(k);
        assert!(model.ks_switched.iter().all(|ks| *ks < 0.001));
        assert!(model.ks_unswitched < 0.01, "{}", model.ks_unswitched);
    }
}
