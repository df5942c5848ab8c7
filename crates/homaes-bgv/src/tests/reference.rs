//! A key switch and the modulus switch after it as in GHS12, with integers of any size.
//!
//! [`crate::keyswitch`] computes the same prime by prime, without forming these integers.

use super::*;
use crate::chain::KeyPart;
use crate::keys::Target;
use crate::keyswitch::{Addend, Post, Shape, Summands, SwitchKey};
use homaes_math::Words;
use homaes_rns::{Poly, SwitchPlan};
use num_bigint::BigInt;

type Integers = Vec<BigInt>;

fn product(params: &Params, primes: impl IntoIterator<Item = usize>) -> BigInt {
    let primes = primes.into_iter().map(|i| params.modulus(i).p());
    primes.map(BigInt::from).product()
}

/// \[x\]_q: x modulo q, between -q/2 and q/2.
fn centred(x: &BigInt, q: &BigInt) -> BigInt {
    let x = ((x % q) + q) % q;
    if &x + &x > *q { x - q } else { x }
}

/// The coefficients, centred, of an element given modulo the primes of `basis`, by the Chinese remainder theorem.
fn lift(params: &Params, basis: &[usize], poly: &Poly) -> Integers {
    let q = product(params, basis.iter().copied());
    let mut out = vec![BigInt::ZERO; params.ring().n()];
    for (limb, &i) in poly.limbs.iter().zip(basis) {
        let (m, mut limb) = (params.modulus(i), limb.clone());
        params.transform(i).inverse(&mut limb);
        let others = &q / m.p();
        let inverse = m.inv((&others % m.p()).try_into().unwrap());
        for (out, &x) in out.iter_mut().zip(limb.iter()) {
            *out += &others * m.mul(m.from_stored(x), inverse);
        }
    }
    out.iter().map(|x| centred(x, &q)).collect()
}

/// The values of a polynomial at the roots of unity modulo one prime.
fn values(params: &Params, i: usize, x: &Integers) -> Vec<u64> {
    let (m, p) = (params.modulus(i), BigInt::from(params.modulus(i).p()));
    let mut limb = Words::scratch(x.len());
    for (out, x) in limb.iter_mut().zip(x) {
        *out = m.to_stored((((x % &p) + &p) % &p).try_into().unwrap());
    }
    params.transform(i).forward(&mut limb);
    limb.iter().map(|&x| m.from_stored(x)).collect()
}

/// SwitchKey (§3.1, with digits): c + P_l⁻¹ Σ_i d_i·(b_i, a_i), times P_l, modulo the primes of the level and of P_l.
fn switch_key(
    params: &Params,
    plan: &SwitchPlan,
    key: &SwitchKey,
    c: [&Poly; 2],
    d: &Poly,
) -> [Integers; 2] {
    let all = product(params, params.specials(KeyPart::ALL[plan.part]));
    let used = product(params, plan.extended[plan.from.len()..].iter().copied());
    let d = lift(params, &plan.from, d);
    let digits = plan.digits.iter().map(|digit| {
        // the key encrypts P·g_i, so d is divided by P/P_l first
        let q = product(params, digit.own.iter().map(|&at| plan.from[at]));
        let inverse = (&all / &used).modinv(&q).unwrap();
        d.iter().map(|x| centred(&(x * &inverse), &q)).collect()
    });
    let digits: Vec<Integers> = digits.collect();
    [0, 1].map(|part| {
        let c = lift(params, &plan.from, c[part]);
        let c: Integers = c.into_iter().map(|x| x * &used).collect();
        let limbs = plan.extended.iter().map(|&i| {
            let m = params.modulus(i);
            let mut sum = values(params, i, &c);
            for (digit, own) in digits.iter().zip(&plan.digits) {
                let key = key.digits(plan)[own.number][part].limbs()[i].words();
                let products = values(params, i, digit).into_iter().zip(key.iter());
                for (sum, (x, &k)) in sum.iter_mut().zip(products) {
                    *sum = m.add(*sum, m.mul(x, m.from_stored(k)));
                }
            }
            let mut limb = Words::scratch(sum.len());
            for (out, x) in limb.iter_mut().zip(sum) {
                *out = m.to_stored(x);
            }
            limb
        });
        let sum = Poly {
            limbs: limbs.collect(),
        };
        lift(params, &plan.extended, &sum)
    })
}

/// Scale (§3.2): c' = (Y c + δ)/X with X the dropped primes, Y the added ones, and the smallest even δ.
fn scale(params: &Params, from: &[usize], to: &[usize], c: &Integers) -> Integers {
    let outside = |a: &[usize], b: &[usize]| {
        let left: Vec<usize> = a.iter().copied().filter(|i| !b.contains(i)).collect();
        product(params, left)
    };
    let (x, y) = (outside(from, to), outside(to, from));
    let half: BigInt = (&x + 1) / 2;
    let divided = c.iter().map(|c| {
        let c = c * &y;
        let delta = centred(&(-&c * &half), &x) * 2;
        (c + delta) / &x
    });
    divided.collect()
}

/// Every residue matches the formulas, at every level, with and without the switch to the level below.
#[test]
fn passes_are_those_of_the_paper() {
    let mut rng = ChaCha20Rng::from_seed([8; 32]);
    let (small, large) = (toy(8), toy_4369(8));
    let levels = (1..=small.params.top_level()).step_by(2).collect();
    // the last level, one of users' circuits, one with key parts in one digit, and the top
    for (f, levels) in [
        (&small, levels),
        (&large, vec![1, 9, 20, large.params.top_level()]),
    ] {
        let (params, key) = (&*f.params, &f.eval);
        let eval = Evaluator::new(key);
        for level in levels {
            for plan in [params.switching(level), params.staying(level)] {
                let key = key.key_at(Target::Product(0), plan, level).unwrap();
                let mut limb = |&i: &usize| {
                    let mut limb = Words::scratch(params.ring().n());
                    let p = params.modulus(i).p();
                    limb.iter_mut().for_each(|x| *x = rng.next_u64() % p);
                    limb
                };
                let [c0, c1, d] = [(); 3].map(|()| Poly {
                    limbs: plan.from.iter().map(&mut limb).collect(),
                });
                let (map, special) = (params.frobenius(0), eval.special_constants(plan, &[0]));
                let addend = |second| Addend {
                    map,
                    by_row: &special,
                    second,
                };
                let shape = Shape {
                    uses: vec![vec![(map, key)]],
                    addends: vec![addend(false), addend(true)],
                    unscaled: true,
                };
                let output = Summands {
                    pieces: vec![&d],
                    addends: vec![&c0, &c1],
                };
                let found = eval.sums(plan, &shape, &[output], Post::None).unwrap();
                let wanted = switch_key(params, plan, key, [&c0, &c1], &d);
                for (found, wanted) in found[0].iter().zip(&wanted) {
                    let wanted = scale(params, &plan.extended, plan.down.to(), wanted);
                    for (found, &i) in found.limbs.iter().zip(plan.down.to()) {
                        let m = params.modulus(i);
                        let found: Vec<u64> = found.iter().map(|&x| m.from_stored(x)).collect();
                        let same = found == values(params, i, &wanted);
                        assert!(same, "level {level}, prime {i}");
                    }
                }
            }
        }
    }
}
