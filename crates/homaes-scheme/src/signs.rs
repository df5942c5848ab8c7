//! Signs of public plaintexts.

/// Negates coefficients of the plaintext of public `bytes` pseudorandomly; the plaintext modulo 2 is unchanged.
///
/// Public bytes that are added to a state have their plaintext as noise, in some schemes times the secret. Chosen bytes,
/// such as a counter or an ECB file, could make the plaintext as large as n/π at an embedding of a ring of degree n,
/// instead of the usual √n. So a hash of all the bytes decides the sign of every coefficient.
pub fn randomize_signs(bytes: &[u8], coefficients: &mut [i64]) {
    apply(&of(bytes, coefficients.len()), coefficients);
}

/// The signs that [`randomize_signs`] gives `n` coefficients: bit `i % 8` of byte `i / 8` is 1 where coefficient `i` is
/// negated.
pub fn of(bytes: &[u8], n: usize) -> Vec<u8> {
    let mut signs = vec![0; n.div_ceil(8)];
    let mut hasher = blake3::Hasher::new_derive_key("homaes: signs of a public plaintext");
    hasher.update(bytes).finalize_xof().fill(&mut signs);
    signs
}

/// Negates the coefficients that [`of`] names.
pub fn apply(signs: &[u8], coefficients: &mut [i64]) {
    for (i, c) in coefficients.iter_mut().enumerate() {
        *c *= 1 - 2 * i64::from(signs[i / 8] >> (i % 8) & 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many as a hash gives, and others for other bytes.
    #[test]
    fn signs_are_those_of_a_hash() {
        let n = 4096;
        let of = |bytes: &[u8]| {
            let mut coefficients: Vec<i64> = (0..n).map(|i| i & 1).collect();
            randomize_signs(bytes, &mut coefficients);
            assert!((0..n).all(|i| coefficients[i as usize].abs() == i & 1));
            coefficients
        };
        let [a, b] = [of(&[1, 2, 3]), of(&[1, 2, 2])];
        // five deviations
        let most = 5 * 46;
        assert!(a.iter().sum::<i64>().abs() < most && b.iter().sum::<i64>().abs() < most);
        let same: i64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
        assert!(same.abs() < most, "{same}");
        assert_eq!(of(&[1, 2, 3]), a);
    }
}
