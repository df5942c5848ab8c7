//! Signs of public plaintexts.

/// Gives the coefficients 0 and 1 of the plaintext of public `bytes` signs, which decryption modulo 2 does not see.
///
/// The noise of public bytes that are added to a state is their plaintext, in some schemes times the secret. Whoever chooses the bytes, of a counter or of an ECB file, could choose them so that the plaintext is
/// as large as n/π at an embedding of a ring of degree n, where √n is usual. So every 1 has a sign that is drawn from a hash of all the bytes.
pub fn randomize_signs(bytes: &[u8], coefficients: &mut [i64]) {
    apply(&of(bytes, coefficients.len()), coefficients);
}

/// The signs that [`randomize_signs`] gives `n` coefficients: bit `i % 8` of byte `i / 8` is 1 where coefficient `i` is negated.
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
