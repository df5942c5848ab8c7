//! A secret prime p, and arithmetic modulo p and p² by the constant-time integers of `crypto-bigint`.

use crypto_bigint::modular::{FixedMontyForm, FixedMontyParams};
use crypto_bigint::{Odd, U1024, U2048};
use homaes_math::natural;
use zeroize::{Zeroize, Zeroizing};

/// A number that is zeroized on drop.
pub(crate) type Secret = Zeroizing<Vec<u64>>;

/// Words of a prime; η is at most 1024.
pub(crate) const WORDS: usize = 16;
const SQUARE_WORDS: usize = 2 * WORDS;

pub(crate) struct Prime {
    /// all 16 words
    p: Secret,
    square: Secret,
    /// -p^-1 mod 2^64
    neg_inv: u64,
    params: FixedMontyParams<WORDS>,
    square_params: FixedMontyParams<SQUARE_WORDS>,
    /// (π/p²)^-1 mod p²
    inverse_cofactor: FixedMontyForm<SQUARE_WORDS>,
}

fn narrow(words: &[u64]) -> U1024 {
    let mut all = Zeroizing::new([0; WORDS]);
    all[..words.len()].copy_from_slice(words);
    U1024::from_words(*all)
}

fn wide(words: &[u64]) -> U2048 {
    let mut all = Zeroizing::new([0; SQUARE_WORDS]);
    all[..words.len()].copy_from_slice(words);
    U2048::from_words(*all)
}

impl Prime {
    /// From an odd number of `bits` ≤ 1024 bits that the caller knows to be prime; `None` if it is even.
    pub(crate) fn new(words: &[u64], bits: usize) -> Option<Self> {
        let mut p = Zeroizing::new(vec![0; WORDS]);
        p[..words.len()].copy_from_slice(words);
        let mut square = Zeroizing::new(vec![0; SQUARE_WORDS]);
        natural::product(&p, &p, &mut square);
        square.truncate(natural::words_of(2 * bits));
        let odd = Option::from(Odd::new(narrow(&p)))?;
        let odd_square = Option::from(Odd::new(wide(&square)))?;
        let square_params = FixedMontyParams::new(odd_square);
        Some(Self {
            neg_inv: natural::inverse_of_word(p[0]).wrapping_neg(),
            params: FixedMontyParams::new(odd),
            inverse_cofactor: FixedMontyForm::one(&square_params),
            square_params,
            p,
            square,
        })
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.p
    }

    /// p², with the words of 2·`bits` bits.
    pub(crate) fn square(&self) -> &[u64] {
        &self.square
    }

    /// Takes π/p² mod p²; `None` if it has no inverse because two primes are equal.
    // not inlined, so that memcheck reports the same lines in every build
    #[inline(never)]
    pub(crate) fn set_cofactor(&mut self, cofactor: &Secret) -> Option<()> {
        let form = FixedMontyForm::new(&wide(cofactor), &self.square_params);
        let inverse: Option<FixedMontyForm<SQUARE_WORDS>> = form.invert().into();
        self.inverse_cofactor = inverse?;
        Some(())
    }

    /// x·(π/p²)^-1 mod p² for x below p².
    pub(crate) fn times_inverse_cofactor(&self, x: &[u64]) -> Secret {
        // with one factor in Montgomery form, the product comes out plain
        let x = FixedMontyForm::from_montgomery(wide(x), &self.square_params);
        let product = x * self.inverse_cofactor;
        Zeroizing::new(product.as_montgomery().to_words().to_vec())
    }

    /// 2^(64·words) mod p, for [`remainder`](Self::remainder) of this many words.
    pub(crate) fn scale_of_words(&self, words: usize) -> Secret {
        let one = FixedMontyForm::one(&self.params);
        let two = one + one;
        let scale = two.pow(&U1024::from_u64(64 * words as u64)).retrieve();
        Zeroizing::new(scale.to_words().to_vec())
    }

    /// a mod p: Montgomery reduction, word by word from below, leaves a·2^(-64·words).
    #[inline(never)]
    pub(crate) fn remainder(&self, a: &[u64], scale: &[u64]) -> Secret {
        let mut rest = Zeroizing::new([0u64; WORDS + 1]);
        for &word in a {
            natural::add_assign(&mut rest[..], &[word]);
            let m = rest[0].wrapping_mul(self.neg_inv);
            natural::add_product(&mut rest[..], &self.p, m);
            rest.copy_within(1.., 0);
            rest[WORDS] = 0;
        }
        natural::subtract_if_not_less(&mut rest[..], &self.p);
        let rest = FixedMontyForm::from_montgomery(narrow(&rest[..WORDS]), &self.params);
        let product = rest * FixedMontyForm::new(&narrow(scale), &self.params);
        Zeroizing::new(product.as_montgomery().to_words().to_vec())
    }
}

impl Drop for Prime {
    fn drop(&mut self) {
        self.neg_inv.zeroize();
        self.params.zeroize();
        self.square_params.zeroize();
        self.inverse_cofactor.zeroize();
    }
}
