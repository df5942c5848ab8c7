use super::*;
use homaes_math::prime::is_prime;
use homaes_math::transform::Source;
use homaes_math::{Ring, Words};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The ring of conductor 255 with four primes just below 2^42.
fn rns() -> RnsContext {
    let ring = Ring::new(255).unwrap();
    let step = ring.modulus_step();
    let candidates = (1..).map(|k| ((1 << 42) / step - k) * step + 1);
    let primes: Vec<u64> = candidates.filter(|&p| is_prime(p)).take(4).collect();
    RnsContext::new(ring, &primes).unwrap()
}

fn integers(n: usize) -> Vec<i64> {
    let spread = |i: usize| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64;
    (0..n).map(|i| spread(i) >> (1 + i % 40)).collect()
}

fn poly(rns: &RnsContext, basis: &[usize], integers: &[i64]) -> Poly {
    let limbs = basis.iter().map(|&i| {
        let m = *rns.modulus(i);
        let residue = |&x: &i64| x.rem_euclid(m.p() as i64);
        let residues: Vec<i64> = integers.iter().map(residue).collect();
        Poly::from_signed(rns, &[i], &residues).limbs.remove(0)
    });
    limbs.collect()
}

fn coefficients(rns: &RnsContext, prime: usize, limb: &Words) -> Vec<u64> {
    let mut limb = limb.clone();
    rns.transform(prime).inverse(&mut limb);
    let m = rns.modulus(prime);
    let stored = limb.iter().map(|&x| m.canonical(x));
    stored.map(|x| m.from_stored(x)).collect()
}

fn centred(x: i64, p: i64) -> i64 {
    let x = x.rem_euclid(p);
    if x > p / 2 { x - p } else { x }
}

/// Also with further primes: then it multiplies by them.
#[test]
fn lowering_divides_and_keeps_parities() {
    let rns = rns();
    let meter = Meter::default();
    let c = integers(rns.ring().n());
    for (from, to, dropped, sources) in [
        ([2, 0, 1], [0, 1], &[0][..], [Some(1), Some(2)]),
        ([0, 1, 2], [0, 3], &[1, 2], [Some(0), None]),
    ] {
        let plan = ModSwitch::new(&rns, &from, &to);
        assert_eq!((plan.dropped(), plan.to()), (dropped, &to[..]));
        assert_eq!([plan.source(0), plan.source(1)], sources);
        let log2 = |basis: &[usize]| basis.iter().map(|&i| rns.modulus(i).log2()).sum::<f64>();
        let drop = log2(&from) - log2(&to);
        assert!((plan.log2_drop() - drop).abs() < 1e-9);
        let lower = plan.apply(&rns, &meter, &poly(&rns, &from, &c));
        let quotients = [0, 1].map(|at| {
            let q = rns.modulus(to[at]).p() as i64;
            let found = coefficients(&rns, to[at], &lower.limbs[at]);
            found
                .into_iter()
                .map(|x| centred(x as i64, q))
                .collect::<Vec<_>>()
        });
        // quotients are small: they equal their residues modulo each prime
        assert_eq!(quotients[0], quotients[1]);
        for (&quotient, &c) in quotients[0].iter().zip(&c) {
            assert_eq!(quotient.rem_euclid(2), c.rem_euclid(2), "parity of {c}");
            let error = quotient as f64 - c as f64 * (-drop).exp2();
            assert!(error.abs() <= 1.001, "{c} became {quotient}");
        }
    }
    assert_eq!(meter.read().count("transforms"), 3 + 4);
}

#[test]
fn digits_are_centred_residues() {
    let rns = rns();
    let meter = Meter::default();
    let c = integers(rns.ring().n());
    let (from, extended) = ([0, 1, 2], [0, 1, 2, 3]);
    // c is below p_0 p_1 / 2, so it is its own first digit; the second is the centred residue modulo p_2
    let digits = [(0, vec![0, 1]), (1, vec![2])];
    let digits = digits.map(|(number, own)| Digit::new(&rns, number, own, &from, &extended));
    let limbs = poly(&rns, &from, &c).limbs;
    let words = limbs.into_iter().zip(from).enumerate();
    let words = words.map(|(at, (mut limb, i))| {
        Coefficients::words_of(&rns, &meter, &digits, (at, i), Source::InPlace, &mut limb);
        limb
    });
    let prepared = Coefficients::new(&rns, &meter, words.collect(), &digits);
    let p2 = rns.modulus(2).p() as i64;
    let wants = [c.clone(), c.iter().map(|&x| centred(x, p2)).collect()];
    for (number, (digit, want)) in digits.iter().zip(wants).enumerate() {
        for (at, &prime) in extended.iter().enumerate() {
            assert_eq!(digit.owns(at), digit.own.contains(&at));
            if digit.owns(at) {
                continue;
            }
            let mut found = Words::scratch(rns.ring().n());
            let places = [(at, prime)];
            let extend = |axes, found: &mut Words| {
                let out = &mut [&mut found[..]];
                digit.extend(&rns, &meter, (&places, axes), &prepared, number, out);
            };
            let mut by_halves = Words::scratch(rns.ring().n());
            extend(Axes::First, &mut by_halves);
            rns.transform(prime).forward_columns(&mut by_halves);
            extend(Axes::All, &mut found);
            assert!(found[..] == by_halves[..]);
            let want = poly(&rns, &[prime], &want);
            let [found, want] = [&found, &want.limbs[0]].map(|l| coefficients(&rns, prime, l));
            assert_eq!(found, want, "digit {number} modulo prime {prime}");
        }
    }
}

#[test]
fn a_prime_without_a_transform_is_named() {
    let ring = Ring::new(255).unwrap();
    assert_eq!(RnsContext::new(ring, &[12289]).err(), Some(12289));
}

/// A device that fails while the flag is set.
#[derive(Clone)]
struct Moody(Arc<AtomicBool>);

impl Moody {
    fn new(fails: bool) -> Self {
        Self(Arc::new(AtomicBool::new(fails)))
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Resident for Moody {
    fn download(&self) -> Result<Vec<Words>, Fault> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(out_of_order()),
            false => Ok(vec![Words::zeroed(3)]),
        }
    }
}

fn out_of_order() -> Fault {
    Fault("out of order".into())
}

#[test]
fn limbs_that_a_device_does_not_give_can_be_asked_for_again() {
    let device = Moody::new(true);
    let limbs = Limbs::on_device(Arc::new(device.clone()));
    assert_eq!(limbs.fetch(), Err(out_of_order()));
    let copy = limbs.clone();
    device.0.store(false, Ordering::Relaxed);
    assert_eq!((limbs.fetch(), copy.fetch()), (Ok(()), Ok(())));
    device.0.store(true, Ordering::Relaxed);
    assert_eq!((limbs.len(), copy[0].len()), (1, 3));
}

#[test]
fn limbs_have_one_copy_on_each_device() {
    let limbs: Limbs = [Words::zeroed(2)].into_iter().collect();
    let [first, second] = [Moody::new(false), Moody::new(false)];
    let on = |device: &Moody, uploads: bool| {
        let found: Result<Moody, Fault> = limbs.resident(
            |there: &Moody| there.is(device),
            |words| {
                assert!(uploads && words[0].len() == 2);
                Ok(device.clone())
            },
        );
        assert!(found.unwrap().is(device));
    };
    // a failed upload leaves no copy
    let failed = limbs.resident(|_: &Moody| true, |_| Err(out_of_order()));
    assert_eq!(failed.err(), Some(out_of_order()));
    on(&first, true);
    on(&first, false);
    on(&second, true);
    on(&first, false);
    on(&second, false);
    // limbs of another device move through memory, if that device gives them
    let away = Limbs::on_device(Arc::new(second.clone()));
    let own = |there: &Moody| there.is(&first);
    let moved = |away: &Limbs| away.resident(own, |words| Ok(Moody::new(words.len() != 1)));
    second.0.store(true, Ordering::Relaxed);
    assert_eq!(moved(&away).err(), Some(out_of_order()));
    second.0.store(false, Ordering::Relaxed);
    assert!(!moved(&away).unwrap().0.load(Ordering::Relaxed));
}

#[test]
fn zeros_are_zeros_and_known_until_they_are_looked_at() {
    let zero = Limbs::zero(4, 3);
    let copy = zero.clone();
    assert!(zero.is_zero() && copy.is_zero());
    assert_eq!(zero.len(), 3);
    assert!(zero.iter().all(|limb| limb[..] == [0; 4]));
    assert!(!zero.is_zero() && copy.is_zero());
    let mut changed = copy;
    changed[1][2] = 5;
    assert!(!changed.is_zero() && changed[1][..] == [0, 0, 5, 0]);
    let here: Limbs = [Words::zeroed(4)].into_iter().collect();
    assert!(!here.is_zero());
}
