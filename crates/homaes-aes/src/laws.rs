//! The laws of the view ([`BitEval`]) as checks, for the tests of a scheme.
//!
//! [`bits`] takes an evaluator with its encryption and decryption, uses every operation on varied slot values, and panics
//! with the first broken law. The evaluator must have room for two products in sequence.

use crate::gf256;
use crate::interp::zip;
use crate::view::BitEval;

/// A law, as the view states it.
struct Law(&'static str);

impl Law {
    fn holds<T: PartialEq>(&self, found: &[T], expected: &[T]) {
        let slot = found.iter().zip(expected).position(|(f, e)| f != e);
        let same = slot.is_none() && found.len() == expected.len();
        assert!(same, "{} does not hold in slot {slot:?}", self.0);
    }
}

/// Values that depend on slot and item; all bytes occur if there are enough slots.
fn value(item: usize, slot: usize) -> u8 {
    let x = (slot * (2 * item + 1) + 91 * item) as u8;
    gf256::mul(x, 0x53) ^ (slot >> 8) as u8
}

/// Checks every law of [`BitEval`].
///
/// # Errors
/// That of an operation.
///
/// # Panics
/// With the first broken law.
pub fn bits<B: BitEval>(
    eval: &B,
    mut encrypt: impl FnMut(&[bool]) -> B::Bit,
    decrypt: impl Fn(&B::Bit) -> Vec<bool>,
) -> Result<(), B::Error> {
    let slots = eval.slots();
    let [a, b, c]: [Vec<bool>; 3] = core::array::from_fn(|item| {
        let bit = |slot| value(item, slot) >> (slot % 8) & 1 == 1;
        (0..slots).map(bit).collect()
    });
    let [x, y, z] = [&a, &b, &c].map(|v| encrypt(v));
    let xor = |a: &[bool], b: &[bool]| zip(a, b, |a, b| a ^ b);
    let and = |a: &[bool], b: &[bool]| zip(a, b, |a, b| a & b);

    let law = Law("D(public(v)) = v, padded with false");
    law.holds(&decrypt(&eval.public(&a)), &a);
    let mut short = vec![false; slots];
    short[0] = true;
    law.holds(&decrypt(&eval.public(&[true])), &short);
    law.holds(&decrypt(&eval.public(&[])), &vec![false; slots]);
    law.holds(&decrypt(&eval.xor(&x, &eval.public(&b))), &xor(&a, &b));

    let law = Law("D(xor(a, b)) = D(a) ⊕ D(b), and xor_assign(a, b) makes a hold the same");
    law.holds(&decrypt(&eval.xor(&x, &y)), &xor(&a, &b));
    law.holds(&decrypt(&eval.xor(&x, &x)), &vec![false; slots]);
    let mut sum = x.clone();
    eval.xor_assign(&mut sum, &y);
    law.holds(&decrypt(&sum), &xor(&a, &b));

    let law = Law("D(not(a)) = ¬D(a)");
    let complement: Vec<bool> = a.iter().map(|a| !a).collect();
    law.holds(&decrypt(&eval.not(x.clone())), &complement);

    let law = Law("D(relinearize(and(a, b))) = D(a) ∧ D(b)");
    let product = |a: &B::Bit, b: &B::Bit| eval.and(a, b);
    let relinearized = |p: B::Product| eval.relinearize(p);
    let once = relinearized(product(&x, &y)?)?;
    law.holds(&decrypt(&once), &and(&a, &b));
    // items at different levels, in both orders, and a product of a product
    law.holds(&decrypt(&eval.xor(&once, &z)), &xor(&and(&a, &b), &c));
    law.holds(&decrypt(&eval.xor(&z, &once)), &xor(&and(&a, &b), &c));
    let mut sum = z.clone();
    eval.xor_assign(&mut sum, &once);
    law.holds(&decrypt(&sum), &xor(&and(&a, &b), &c));
    let twice = relinearized(product(&once, &z)?)?;
    law.holds(&decrypt(&twice), &and(&and(&a, &b), &c));

    let law = Law("D(relinearize(xor_product(p, q))) = D(relinearize(p)) ⊕ D(relinearize(q))");
    let sum = eval.xor_product(product(&x, &y)?, &product(&y, &z)?);
    let expected = xor(&and(&a, &b), &and(&b, &c));
    law.holds(&decrypt(&relinearized(sum)?), &expected);

    let law = Law("sums(ps, rows) gives what its default body gives");
    let products = [product(&x, &y)?, product(&y, &z)?, product(&z, &x)?];
    let values = [and(&a, &b), and(&b, &c), and(&c, &a)];
    let rows = [vec![0u16], vec![2, 0], vec![1, 2, 0], vec![1, 1, 2]];
    let sums = eval.sums(&products.each_ref(), &rows);
    law.holds(&[sums.len()], &[rows.len()]);
    let expected = rows.map(|row| {
        row.iter().fold(vec![false; slots], |sum, &i| {
            xor(&sum, &values[usize::from(i)])
        })
    });
    for (sum, expected) in sums.iter().zip(&expected) {
        let found = eval.relinearize(sum.clone())?;
        law.holds(&decrypt(&found), expected);
    }
    let law = Law("relinearize_all(ps) gives what its default body gives");
    let found = eval.relinearize_all(sums)?;
    law.holds(&[found.len()], &[expected.len()]);
    for (found, expected) in found.iter().zip(&expected) {
        law.holds(&decrypt(found), expected);
    }

    let law = Law("each(items, f) gives what its default body gives");
    let squares = eval.each((0..100usize).collect(), |i| Ok(i * i))?;
    let expected: Vec<usize> = (0..100).map(|i| i * i).collect();
    law.holds(&squares, &expected);

    let law = Law("refresh changes no value");
    let mut items = [x, twice];
    eval.refresh(&mut items, 1)?;
    law.holds(&decrypt(&items[0]), &a);
    law.holds(&decrypt(&items[1]), &and(&and(&a, &b), &c));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interp::ClearBits;

    #[test]
    fn clear_evaluators_obey_the_laws() {
        for slots in [1, 2, 100] {
            bits(&ClearBits::new(slots), <[bool]>::to_vec, Vec::clone).unwrap();
        }
    }
}
