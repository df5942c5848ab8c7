//! Power series, given by their first coefficients: cumulants of sums of independent noises.

/// The logarithm of a series with constant term 1.
pub fn logarithm(a: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; a.len()];
    for q in 1..a.len() {
        let known: f64 = (1..q).map(|i| i as f64 * out[i] * a[q - i]).sum();
        out[q] = a[q] - known / q as f64;
    }
    out
}

/// The exponential of a series with constant term 0.
pub fn exponential(a: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; a.len()];
    out[0] = 1.0;
    for q in 1..a.len() {
        let sum: f64 = (1..=q).map(|i| i as f64 * a[i] * out[q - i]).sum();
        out[q] = sum / q as f64;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_inverse() {
        let a = [1.0, 0.5, 2.0, -0.25, 3.0];
        let back = exponential(&logarithm(&a));
        assert!(a.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-12));
        // log(1 + x) = x - x²/2 + …
        assert_eq!(logarithm(&[1.0, 1.0, 0.0, 0.0])[1..3], [1.0, -0.5]);
    }
}
