//! Natural numbers as lists of 64-bit words, lowest first. No branch or address depends on a value. Operations on `a`
//! in place panic if the other operand is longer.

use crate::memcheck::declassify;

/// Words of `bits` bits.
pub const fn words_of(bits: usize) -> usize {
    bits.div_ceil(64)
}

/// a += b; returns the carry out of `a`.
pub fn add_assign(a: &mut [u64], b: &[u64]) -> u64 {
    let (low, high) = a.split_at_mut(b.len());
    let mut carry = false;
    for (a, &b) in low.iter_mut().zip(b) {
        (*a, carry) = a.carrying_add(b, carry);
    }
    for a in high {
        (*a, carry) = a.carrying_add(0, carry);
    }
    u64::from(carry)
}

/// a -= b; returns the borrow out of `a`.
pub fn sub_assign(a: &mut [u64], b: &[u64]) -> u64 {
    let (low, high) = a.split_at_mut(b.len());
    let mut borrow = false;
    for (a, &b) in low.iter_mut().zip(b) {
        (*a, borrow) = a.borrowing_sub(b, borrow);
    }
    for a in high {
        (*a, borrow) = a.borrowing_sub(0, borrow);
    }
    u64::from(borrow)
}

/// a += b if `mask` is all ones, nothing if it is 0.
pub fn add_masked(a: &mut [u64], b: &[u64], mask: u64) -> u64 {
    // hidden, or the compiler makes two loops and a branch
    let mask = core::hint::black_box(mask);
    let (low, high) = a.split_at_mut(b.len());
    let mut carry = false;
    for (a, &b) in low.iter_mut().zip(b) {
        (*a, carry) = a.carrying_add(b & mask, carry);
    }
    for a in high {
        (*a, carry) = a.carrying_add(0, carry);
    }
    u64::from(carry)
}

/// a -= m if a ≥ m; returns 1 if a was less.
pub fn subtract_if_not_less(a: &mut [u64], m: &[u64]) -> u64 {
    let borrow = sub_assign(a, m);
    add_masked(a, m, borrow.wrapping_neg());
    borrow
}

/// a += b·c; returns the carry out of `a`.
pub fn add_product(a: &mut [u64], b: &[u64], c: u64) -> u64 {
    let (low, high) = a.split_at_mut(b.len());
    let mut carry = 0;
    for (a, &b) in low.iter_mut().zip(b) {
        (*a, carry) = b.carrying_mul_add(c, *a, carry);
    }
    for a in high {
        let (sum, over) = a.overflowing_add(carry);
        (*a, carry) = (sum, u64::from(over));
    }
    carry
}

/// The low words of a·b that fit `out`, by the schoolbook method.
pub fn product(a: &[u64], b: &[u64], out: &mut [u64]) {
    out.fill(0);
    let words = out.len();
    for (i, &b) in b.iter().enumerate().take(words) {
        let out = &mut out[i..];
        let (own, above) = out.split_at_mut(a.len().min(out.len()));
        let carry = add_product(own, &a[..own.len()], b);
        // the word above is still 0
        if let Some(next) = above.first_mut() {
            *next = carry;
        }
    }
}

/// a += b·c for a list of words c, truncated to `a`.
pub fn add_products(a: &mut [u64], b: &[u64], c: &[u64]) {
    for (i, &c) in c.iter().enumerate().take(a.len()) {
        let room = a.len() - i;
        add_product(&mut a[i..], &b[..b.len().min(room)], c);
    }
}

/// a^-1 modulo 2^64 for odd a.
pub fn inverse_of_word(a: u64) -> u64 {
    // Newton's iteration doubles the correct low bits
    (0..6).fold(1, |x: u64, _| {
        x.wrapping_mul(2u64.wrapping_sub(a.wrapping_mul(x)))
    })
}

/// Number of bits without leading zeros. Public even for secret numbers, since lengths follow from it.
pub fn bit_length(a: &[u64]) -> usize {
    let bits = a.iter().enumerate().fold(0, |bits, (i, &word)| {
        let own = (64 * (i + 1)) as u64 - u64::from(word.leading_zeros());
        // all ones if the word is not 0
        let mask = ((word | word.wrapping_neg()) >> 63).wrapping_neg();
        bits & !mask | own & mask
    });
    declassify(bits) as usize
}

/// Whether a public number has more than `bits` bits.
pub fn exceeds(a: &[u64], bits: usize) -> bool {
    let upper = a.get(bits / 64..).unwrap_or_default();
    upper.split_first().is_some_and(|(first, rest)| {
        first >> (bits % 64) != 0 || rest.iter().any(|&word| word != 0)
    })
}

/// The `out.len()` words of `a` from bit `at` on; zeros beyond its end.
pub fn bits_from(a: &[u64], at: usize, out: &mut [u64]) {
    let (first, shift) = (at / 64, (at % 64) as u32);
    let word = |i: usize| a.get(first + i).copied().unwrap_or(0);
    for (i, out) in out.iter_mut().enumerate() {
        *out = match shift {
            0 => word(i),
            shift => word(i) >> shift | word(i + 1) << (64 - shift),
        };
    }
}

/// Sets the bits of b·2^at in `a`, truncated to `a`.
pub fn set_bits(a: &mut [u64], b: &[u64], at: usize) {
    let (first, shift) = (at / 64, (at % 64) as u32);
    let word = |i: usize| b.get(i).copied().unwrap_or(0);
    for (i, a) in a.iter_mut().skip(first).take(b.len() + 1).enumerate() {
        *a |= match (shift, i) {
            (0, _) => word(i),
            (shift, 0) => word(0) << shift,
            (shift, _) => word(i) << shift | word(i - 1) >> (64 - shift),
        };
    }
}

/// Keeps the low `bits` bits.
pub fn truncate(a: &mut [u64], bits: usize) {
    let (first, rest) = (bits / 64, bits % 64);
    if let Some(word) = a.get_mut(first) {
        *word &= (1 << rest) - 1;
    }
    if let Some(above) = a.get_mut(first + 1..) {
        above.fill(0);
    }
}
