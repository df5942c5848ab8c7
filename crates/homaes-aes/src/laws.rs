//! The laws of the views ([`view`](crate::view)) as checks, for the tests of a scheme.
//!
//! Each takes an evaluator with its encryption and decryption, uses every operation of a view on varied slot values,
//! and returns the first broken law. The evaluator must have room for two products in sequence.

use crate::gf256;
use crate::view::{BitEval, ByteEval, PackedEval};
use core::fmt;

/// A law that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{law}: {what}")]
pub struct Broken {
    /// the law, as the view states it
    pub law: &'static str,
    what: String,
}

impl Broken {
    fn new(law: &'static str, what: impl fmt::Debug) -> Self {
        let what = format!("{what:?}");
        Self { law, what }
    }
}

/// Compares an evaluator's results with this law.
struct Check(&'static str);

impl Check {
    /// The value of a call that must succeed.
    fn done<T, E: fmt::Debug>(&self, result: Result<T, E>) -> Result<T, Broken> {
        result.map_err(|error| Broken::new(self.0, error))
    }

    fn equal<T: PartialEq + fmt::Debug>(&self, found: &[T], expected: &[T]) -> Result<(), Broken> {
        if found == expected {
            return Ok(());
        }
        let slot = found.iter().zip(expected).position(|(f, e)| f != e);
        let both = slot.map_or_else(
            || format!("{} slots, expected {}", found.len(), expected.len()),
            |i| {
                let (found, expected) = (&found[i], &expected[i]);
                format!("slot {i} holds {found:?}, expected {expected:?}")
            },
        );
        Err(Broken {
            law: self.0,
            what: both,
        })
    }
}

fn zip<T: Copy>(a: &[T], b: &[T], f: impl Fn(T, T) -> T) -> Vec<T> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

/// Values that depend on slot and item; all bytes occur if there are enough slots.
fn value(item: usize, slot: usize) -> u8 {
    let x = (slot * (2 * item + 1) + 91 * item) as u8;
    gf256::mul(x, 0x53) ^ (slot >> 8) as u8
}

/// Checks every law of [`ByteEval`].
///
/// # Errors
/// The first broken law.
pub fn bytes<B: ByteEval<Error: fmt::Debug>>(
    eval: &B,
    mut encrypt: impl FnMut(&[u8]) -> B::Byte,
    decrypt: impl Fn(&B::Byte) -> Vec<u8>,
) -> Result<(), Broken> {
    let slots = eval.slots();
    let [a, b, c]: [Vec<u8>; 3] =
        core::array::from_fn(|item| (0..slots).map(|slot| value(item, slot)).collect());
    let [x, y, z] = [&a, &b, &c].map(|v| encrypt(v));
    let mul = |a: &[u8], b: &[u8]| zip(a, b, gf256::mul);
    let add = |a: &[u8], b: &[u8]| zip(a, b, |a, b| a ^ b);

    let law = Check("D(public(v)) = v, padded with zeros");
    law.equal(&decrypt(&eval.public(&a)), &a)?;
    let mut short = vec![0; slots];
    short[0] = 0xb7;
    law.equal(&decrypt(&eval.public(&short[..1])), &short)?;
    law.equal(&decrypt(&eval.public(&[])), &vec![0; slots])?;
    law.equal(&decrypt(&eval.add(&x, &eval.public(&b))), &add(&a, &b))?;

    let law = Check("D(add(a, b)) = D(a) + D(b)");
    law.equal(&decrypt(&eval.add(&x, &y)), &add(&a, &b))?;
    law.equal(&decrypt(&eval.add(&x, &x)), &vec![0; slots])?;

    let law = Check("D(scale(a, c)) = c·D(a)");
    for factor in [0, 1, 2, 0x1b, 0xff] {
        let expected: Vec<u8> = a.iter().map(|&a| gf256::mul(a, factor)).collect();
        law.equal(&decrypt(&eval.scale(&x, factor)), &expected)?;
    }

    let law = Check("D(frobenius(a, k)) = D(a)^(2^k)");
    for k in 0..=8 {
        let expected: Vec<u8> = a.iter().map(|&a| gf256::frobenius(a, k)).collect();
        let found = law.done(eval.frobenius(&x, k))?;
        law.equal(&decrypt(&found), &expected)?;
    }

    let law = Check("D(relinearize(mul(a, b))) = D(a)·D(b)");
    let product = |a: &B::Byte, b: &B::Byte| law.done(eval.mul(a, b));
    let relinearized = |p: B::Product| law.done(eval.relinearize(p));
    let once = relinearized(product(&x, &y)?)?;
    law.equal(&decrypt(&once), &mul(&a, &b))?;
    let square = relinearized(product(&x, &x)?)?;
    law.equal(&decrypt(&square), &mul(&a, &a))?;
    // items at different levels, and a product of a product
    let twice = relinearized(product(&once, &z)?)?;
    law.equal(&decrypt(&twice), &mul(&mul(&a, &b), &c))?;
    let raised = law.done(eval.frobenius(&once, 3))?;
    let expected: Vec<u8> = mul(&a, &b)
        .iter()
        .map(|&p| gf256::frobenius(p, 3))
        .collect();
    law.equal(&decrypt(&raised), &expected)?;

    let law = Check("D(relinearize(add_product(p, q))) = D(relinearize(p)) + D(relinearize(q))");
    let sum = eval.add_product(product(&x, &y)?, &product(&y, &z)?);
    let expected = add(&mul(&a, &b), &mul(&b, &c));
    law.equal(&decrypt(&relinearized(sum)?), &expected)?;

    let law = Check("refresh changes no value");
    let mut items = [x, twice];
    law.done(eval.refresh(&mut items, 1))?;
    law.equal(&decrypt(&items[0]), &a)?;
    law.equal(&decrypt(&items[1]), &mul(&mul(&a, &b), &c))
}

/// Checks every law of [`PackedEval`] beyond those of [`ByteEval`].
///
/// # Errors
/// The first broken law.
pub fn packed<B: PackedEval<Error: fmt::Debug>>(
    eval: &B,
    mut encrypt: impl FnMut(&[u8]) -> B::Byte,
    decrypt: impl Fn(&B::Byte) -> Vec<u8>,
) -> Result<(), Broken> {
    let law = Check("slots() is a multiple of 16");
    law.equal(&[eval.slots() % 16], &[0])?;
    let a: Vec<u8> = (0..eval.slots()).map(|slot| value(1, slot)).collect();
    let x = encrypt(&a);
    let permuted = |a: &[u8], p: &[usize; 16]| -> Vec<u8> {
        let blocks = a.as_chunks::<16>().0.iter();
        blocks.flat_map(|block| p.map(|from| block[from])).collect()
    };
    let law = Check("D(permute(a, p))[16b + i] = D(a)[16b + p[i]]");
    let rows = core::array::from_fn(|i| (5 * i) % 16);
    let reversed = core::array::from_fn(|i| 15 - i);
    let many = core::array::from_fn(|i| i * i % 7);
    for p in [core::array::from_fn(|i| i), rows, reversed, many] {
        let found = law.done(eval.permute(&x, &p))?;
        law.equal(&decrypt(&found), &permuted(&a, &p))?;
        let again = law.done(eval.permute(&found, &rows))?;
        law.equal(&decrypt(&again), &permuted(&permuted(&a, &p), &rows))?;
    }
    Ok(())
}

/// Checks every law of [`BitEval`].
///
/// # Errors
/// The first broken law.
pub fn bits<B: BitEval<Error: fmt::Debug>>(
    eval: &B,
    mut encrypt: impl FnMut(&[bool]) -> B::Bit,
    decrypt: impl Fn(&B::Bit) -> Vec<bool>,
) -> Result<(), Broken> {
    let slots = eval.slots();
    let [a, b, c]: [Vec<bool>; 3] = core::array::from_fn(|item| {
        let bit = |slot| value(item, slot) >> (slot % 8) & 1 == 1;
        (0..slots).map(bit).collect()
    });
    let [x, y, z] = [&a, &b, &c].map(|v| encrypt(v));
    let xor = |a: &[bool], b: &[bool]| zip(a, b, |a, b| a ^ b);
    let and = |a: &[bool], b: &[bool]| zip(a, b, |a, b| a & b);

    let law = Check("D(public(v)) = v, padded with false");
    law.equal(&decrypt(&eval.public(&a)), &a)?;
    let mut short = vec![false; slots];
    short[0] = true;
    law.equal(&decrypt(&eval.public(&[true])), &short)?;
    law.equal(&decrypt(&eval.public(&[])), &vec![false; slots])?;
    law.equal(&decrypt(&eval.xor(&x, &eval.public(&b))), &xor(&a, &b))?;

    let law = Check("D(xor(a, b)) = D(a) ⊕ D(b), and xor_assign(a, b) makes a hold the same");
    law.equal(&decrypt(&eval.xor(&x, &y)), &xor(&a, &b))?;
    law.equal(&decrypt(&eval.xor(&x, &x)), &vec![false; slots])?;
    let mut sum = x.clone();
    eval.xor_assign(&mut sum, &y);
    law.equal(&decrypt(&sum), &xor(&a, &b))?;

    let law = Check("D(not(a)) = ¬D(a)");
    let complement: Vec<bool> = a.iter().map(|a| !a).collect();
    law.equal(&decrypt(&eval.not(x.clone())), &complement)?;

    let law = Check("D(relinearize(and(a, b))) = D(a) ∧ D(b)");
    let product = |a: &B::Bit, b: &B::Bit| law.done(eval.and(a, b));
    let relinearized = |p: B::Product| law.done(eval.relinearize(p));
    let once = relinearized(product(&x, &y)?)?;
    law.equal(&decrypt(&once), &and(&a, &b))?;
    // items at different levels, in both orders, and a product of a product
    law.equal(&decrypt(&eval.xor(&once, &z)), &xor(&and(&a, &b), &c))?;
    law.equal(&decrypt(&eval.xor(&z, &once)), &xor(&and(&a, &b), &c))?;
    let mut sum = z.clone();
    eval.xor_assign(&mut sum, &once);
    law.equal(&decrypt(&sum), &xor(&and(&a, &b), &c))?;
    let twice = relinearized(product(&once, &z)?)?;
    law.equal(&decrypt(&twice), &and(&and(&a, &b), &c))?;

    let law = Check("D(relinearize(xor_product(p, q))) = D(relinearize(p)) ⊕ D(relinearize(q))");
    let sum = eval.xor_product(product(&x, &y)?, &product(&y, &z)?);
    let expected = xor(&and(&a, &b), &and(&b, &c));
    law.equal(&decrypt(&relinearized(sum)?), &expected)?;

    let law = Check("sums(ps, rows) gives what its default body gives");
    let products = [product(&x, &y)?, product(&y, &z)?, product(&z, &x)?];
    let values = [and(&a, &b), and(&b, &c), and(&c, &a)];
    let rows = [vec![0u16], vec![2, 0], vec![1, 2, 0], vec![1, 1, 2]];
    let sums = eval.sums(&products.each_ref(), &rows);
    law.equal(&[sums.len()], &[rows.len()])?;
    let expected = rows.map(|row| {
        row.iter().fold(vec![false; slots], |sum, &i| {
            xor(&sum, &values[usize::from(i)])
        })
    });
    for (sum, expected) in sums.iter().zip(&expected) {
        let found = law.done(eval.relinearize(sum.clone()))?;
        law.equal(&decrypt(&found), expected)?;
    }
    let law = Check("relinearize_all(ps) gives what its default body gives");
    let found = law.done(eval.relinearize_all(sums))?;
    law.equal(&[found.len()], &[expected.len()])?;
    for (found, expected) in found.iter().zip(&expected) {
        law.equal(&decrypt(found), expected)?;
    }

    let law = Check("each(items, f) gives what its default body gives");
    let squares = law.done(eval.each((0..100usize).collect(), |i| Ok(i * i)))?;
    let expected: Vec<usize> = (0..100).map(|i| i * i).collect();
    law.equal(&squares, &expected)?;

    let law = Check("refresh changes no value");
    let mut items = [x, twice];
    law.done(eval.refresh(&mut items, 1))?;
    law.equal(&decrypt(&items[0]), &a)?;
    law.equal(&decrypt(&items[1]), &and(&and(&a, &b), &c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::EvalError;
    use crate::interp::clear::{ClearBits, ClearBytes};
    use core::ops::BitXorAssign;

    #[test]
    fn clear_evaluators_obey_the_laws() {
        for slots in [16, 48, 1024] {
            let eval = ClearBytes::new(slots);
            bytes(&eval, <[u8]>::to_vec, Vec::clone).unwrap();
            packed(&eval, <[u8]>::to_vec, Vec::clone).unwrap();
        }
        for slots in [1, 2, 100] {
            bytes(&ClearBytes::new(slots), <[u8]>::to_vec, Vec::clone).unwrap();
            bits(&ClearBits::new(slots), <[bool]>::to_vec, Vec::clone).unwrap();
        }
    }

    /// An evaluator whose operation of this name is wrong in one slot.
    struct Faulty<E>(E, &'static str);

    impl<E> Faulty<E> {
        fn spoilt<T: From<bool> + BitXorAssign>(&self, operation: &str, mut v: Vec<T>) -> Vec<T> {
            if self.1 == operation {
                let last = v.len() - 1;
                v[last] ^= T::from(true);
            }
            v
        }
    }

    macro_rules! spoilt {
        (fallible $out:ty: $($f:ident($($x:ident: $t:ty),*))*) => {$(
            fn $f(&self, $($x: $t),*) -> Result<$out, EvalError> {
                Ok(self.spoilt(stringify!($f), self.0.$f($($x),*)?))
            }
        )*};
        ($out:ty: $($f:ident($($x:ident: $t:ty),*))*) => {$(
            fn $f(&self, $($x: $t),*) -> $out {
                self.spoilt(stringify!($f), self.0.$f($($x),*))
            }
        )*};
    }

    impl ByteEval for Faulty<ClearBytes> {
        type Error = EvalError;
        type Byte = Vec<u8>;
        type Product = Vec<u8>;

        spoilt! { Vec<u8>: public(v: &[u8]) add(a: &Vec<u8>, b: &Vec<u8>) scale(a: &Vec<u8>, c: u8)
        add_product(a: Vec<u8>, b: &Vec<u8>) }
        spoilt! { fallible Vec<u8>: frobenius(a: &Vec<u8>, k: u32) mul(a: &Vec<u8>, b: &Vec<u8>)
        relinearize(p: Vec<u8>) }

        fn slots(&self) -> usize {
            self.0.slots()
        }
        fn refresh(&self, items: &mut [Vec<u8>], _: u32) -> Result<(), EvalError> {
            items[1] = self.spoilt("refresh", items[1].clone());
            Ok(())
        }
    }

    impl PackedEval for Faulty<ClearBytes> {
        spoilt! { fallible Vec<u8>: permute(a: &Vec<u8>, p: &[usize; 16]) }
    }

    impl BitEval for Faulty<ClearBits> {
        type Error = EvalError;
        type Bit = Vec<bool>;
        type Product = Vec<bool>;

        spoilt! { Vec<bool>: public(v: &[bool]) xor(a: &Vec<bool>, b: &Vec<bool>) not(a: Vec<bool>)
        xor_product(a: Vec<bool>, b: &Vec<bool>) }
        spoilt! { fallible Vec<bool>: and(a: &Vec<bool>, b: &Vec<bool>) relinearize(p: Vec<bool>) }

        fn slots(&self) -> usize {
            self.0.slots()
        }
        fn xor_assign(&self, a: &mut Vec<bool>, b: &Vec<bool>) {
            *a = self.spoilt("xor_assign", self.0.xor(a, b));
        }
        fn sums(&self, products: &[&Vec<bool>], rows: &[Vec<u16>]) -> Vec<Vec<bool>> {
            let mut sums = self.0.sums(products, rows);
            sums[0] = self.spoilt("sums", sums[0].clone());
            sums
        }
        fn relinearize_all(&self, mut ps: Vec<Vec<bool>>) -> Result<Vec<Vec<bool>>, EvalError> {
            ps[1] = self.spoilt("relinearize_all", ps[1].clone());
            Ok(ps)
        }
        fn each<S: Send, T: Send>(
            &self,
            mut items: Vec<S>,
            task: impl Fn(S) -> Result<T, EvalError> + Sync,
        ) -> Result<Vec<T>, EvalError> {
            if self.1 == "each" {
                items.swap(1, 2);
            }
            self.0.each(items, task)
        }
        fn refresh(&self, items: &mut [Vec<bool>], _: u32) -> Result<(), EvalError> {
            items[1] = self.spoilt("refresh", items[1].clone());
            Ok(())
        }
    }

    /// A fault in any operation breaks a law of that operation.
    #[test]
    fn faults_are_found() {
        for (fault, law) in [
            ("public", "D(public"),
            // the sums check public items too
            ("add", "D(public"),
            ("scale", "D(scale"),
            ("frobenius", "D(frobenius"),
            ("mul", "D(relinearize(mul"),
            ("relinearize", "D(relinearize(mul"),
            ("add_product", "D(relinearize(add_product"),
            ("refresh", "refresh"),
            ("permute", "D(permute"),
        ] {
            let eval = Faulty(ClearBytes::new(32), fault);
            let found = bytes(&eval, <[u8]>::to_vec, Vec::clone)
                .and_then(|()| packed(&eval, <[u8]>::to_vec, Vec::clone));
            let broken = found.unwrap_err();
            assert!(broken.law.starts_with(law), "{broken}");
        }
        for (fault, law) in [
            ("public", "D(public"),
            ("xor", "D(public"),
            ("xor_assign", "D(xor(a"),
            ("not", "D(not"),
            ("and", "D(relinearize(and"),
            ("relinearize", "D(relinearize(and"),
            ("xor_product", "D(relinearize(xor_product"),
            ("sums", "sums"),
            ("relinearize_all", "relinearize_all"),
            ("each", "each"),
            ("refresh", "refresh"),
        ] {
            let eval = Faulty(ClearBits::new(20), fault);
            let broken = bits(&eval, <[bool]>::to_vec, Vec::clone).unwrap_err();
            assert!(broken.law.starts_with(law), "{broken}");
        }
    }
}
