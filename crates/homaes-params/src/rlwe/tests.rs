use super::*;
use proptest::prelude::*;
use serde_json::Value;

const DEGREES: [u32; 6] = [32768, 43008, 46080, 49152, 65536, 92160];

fn bits(n: u32, weight: SecretWeight, log2_qp: f64) -> f64 {
    estimate(n, weight, log2_qp, 3.2).unwrap().bits
}

#[test]
fn the_table_is_the_estimators_output() {
    let json: Value = serde_json::from_str(include_str!("../../data/rlwe_limits.json")).unwrap();
    let meta = &json["meta"];
    assert_eq!(meta["estimator"], table::TOOL);
    assert_eq!(meta["date"], table::DATE);
    assert_eq!(meta["sigma"], table::SIGMA);
    assert_eq!(meta["classical"], true);
    let model = format!(
        "{}, {}, classical",
        meta["default_cost_model"].as_str().unwrap(),
        meta["shape"].as_str().unwrap()
    );
    assert_eq!(model, table::MODEL);
    let rows = json["rlwe_limits"].as_array().unwrap();
    assert_eq!(rows.len(), RLWE_LIMITS.len());
    for (json, row) in rows.iter().zip(RLWE_LIMITS) {
        assert_eq!(json["n"], row.n);
        let h = match row.weight {
            SecretWeight::Hamming(h) => h,
            SecretWeight::Ternary => 0,
        };
        assert_eq!(json["h"], h);
        assert_eq!(json["sigma"], table::SIGMA);
        assert_eq!(json["target"], f64::from(row.target_bits));
        assert_eq!(json["log2q_max"], row.log2_q_max);
        assert_eq!(json["slope_bits_per_log2q"], -row.bits_per_log2_q);
        assert_eq!(json["best_attack"], row.attack);
    }
}

/// What the look-up relies on: the order of the rows, and slopes that agree with a convex curve.
#[test]
fn the_table_is_sorted_and_convex() {
    for pair in RLWE_LIMITS.windows(2) {
        let (a, b) = (&pair[0], &pair[1]);
        assert!(a.n <= b.n);
        if a.n == b.n && a.weight == b.weight {
            assert!(a.target_bits > b.target_bits && a.log2_q_max < b.log2_q_max);
            let chord =
                f64::from(a.target_bits - b.target_bits) / f64::from(b.log2_q_max - a.log2_q_max);
            assert!(
                a.bits_per_log2_q >= chord && chord >= b.bits_per_log2_q,
                "{a:?} {b:?}"
            );
        } else if a.n == b.n {
            let order = |weight| {
                if let SecretWeight::Hamming(h) = weight {
                    h
                } else {
                    u32::MAX
                }
            };
            assert!(order(a.weight) < order(b.weight));
        }
    }
    assert!(RLWE_LIMITS.iter().all(|row| row.bits_per_log2_q > 0.03));
}

#[test]
fn known_points_are_met_exactly() {
    for row in RLWE_LIMITS {
        let found = estimate(row.n, row.weight, f64::from(row.log2_q_max), 3.2).unwrap();
        assert_eq!(found.bits, f64::from(row.target_bits), "{row:?}");
        assert_eq!(found.attack, row.attack);
        assert_eq!(
            max_log2_qp(row.n, row.weight, row.target_bits),
            Some(row.log2_q_max)
        );
    }
}

#[test]
fn between_points_the_estimate_is_below_the_chord() {
    let middle = bits(32768, SecretWeight::Ternary, 987.0);
    // 100 + 119 · 100/1106, the tangent of the 100-bit point; the chord would say 114.
    assert!((middle - 110.759).abs() < 1e-3, "{middle}");
    // Above the last point: the tangent of the 80-bit point, then nothing.
    assert!((bits(32768, SecretWeight::Ternary, 1504.0) - (80.0 - 5.46)).abs() < 1e-9);
    assert_eq!(bits(32768, SecretWeight::Ternary, 9000.0), 0.0);
}

#[test]
fn extrapolation_is_capped() {
    assert_eq!(
        bits(32768, SecretWeight::Ternary, 100.0),
        MAX_EXTRAPOLATED_BITS
    );
    // The measured slope 0.078 is an outlier; 128 / 2441 is used instead.
    let bits = bits(92160, SecretWeight::Hamming(512), 2341.0);
    assert!((bits - (128.0 + 100.0 * 128.0 / 2441.0)).abs() < 1e-9);
    assert_eq!(max_log2_qp(32768, SecretWeight::Ternary, 144), None);
    assert!(max_log2_qp(32768, SecretWeight::Ternary, 143).is_some());
}

#[test]
fn secrets_in_between_use_the_sparser_row() {
    let at = |h| estimate(32768, SecretWeight::Hamming(h), 800.0, 3.2);
    assert_eq!(at(191), at(128));
    assert_eq!(at(21845), at(512));
    assert_eq!(at(63), None);
    assert_eq!(at(32769), None);
    // Only the ternary row is known here.
    assert_eq!(
        estimate(43008, SecretWeight::Hamming(512), 800.0, 3.2),
        None
    );
    assert!(estimate(43008, SecretWeight::Ternary, 800.0, 3.2).is_some());
}

#[test]
fn uncovered_instances_have_no_estimate() {
    for n in [0, 128, 16384, 32767, 32769, 131_072] {
        assert_eq!(estimate(n, SecretWeight::Ternary, 60.0, 3.2), None);
        assert_eq!(max_log2_qp(n, SecretWeight::Ternary, 128), None);
    }
    for (log2_qp, sigma) in [
        (f64::NAN, 3.2),
        (0.0, 3.2),
        (800.0, 0.0),
        (800.0, f64::NAN),
        (800.0, 0.9),
    ] {
        assert_eq!(estimate(32768, SecretWeight::Ternary, log2_qp, sigma), None);
    }
    assert_eq!(max_log2_qp(32768, SecretWeight::Ternary, 0), None);
}

/// The estimator found limits 875 and 762 at sigma = 3.2 √n; the shift by log2(√n) = 7.5 stays within one unit of them.
#[test]
fn only_q_over_sigma_matters() {
    let sigma = 3.2 * f64::sqrt(32768.0);
    for (weight, limit) in [
        (SecretWeight::Ternary, 875.0),
        (SecretWeight::Hamming(128), 762.0),
    ] {
        let bits = estimate(32768, weight, limit, sigma).unwrap().bits;
        assert!((bits - 128.0).abs() < 0.2, "{bits}");
    }
}

proptest! {
    #[test]
    fn bits_fall_with_the_modulus_and_rise_with_the_weight(
        n in prop::sample::select(&DEGREES[..]), x in 1.0..4000.0, dx in 0.0..500.0, h in 64u32..32768, dh in 0u32..1000,
    ) {
        prop_assert!(bits(n, SecretWeight::Ternary, x) >= bits(n, SecretWeight::Ternary, x + dx));
        if n != 43008 && h + dh <= n {
            prop_assert!(bits(n, SecretWeight::Hamming(h), x) >= bits(n, SecretWeight::Hamming(h), x + dx));
            // Near the known points a denser secret never looks weaker; far from them the tangents may cross.
            let limit = f64::from(max_log2_qp(n, SecretWeight::Hamming(h), 128).unwrap());
            prop_assert!(bits(n, SecretWeight::Hamming(h + dh), limit) >= 128.0);
        }
    }

    #[test]
    fn max_log2_qp_inverts_estimate(n in prop::sample::select(&DEGREES[..]), target in 1u32..=143) {
        let limit = max_log2_qp(n, SecretWeight::Ternary, target).unwrap();
        prop_assert!(bits(n, SecretWeight::Ternary, f64::from(limit)) >= f64::from(target));
        prop_assert!(bits(n, SecretWeight::Ternary, f64::from(limit + 1)) < f64::from(target));
    }
}
