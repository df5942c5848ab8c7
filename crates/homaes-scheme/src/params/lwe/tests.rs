use super::*;
use proptest::prelude::*;
use serde_json::Value;

fn json() -> Value {
    serde_json::from_str(include_str!("../../../data/lwe_limits.json")).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn dimension(row: &Value) -> u32 {
    row["n"].as_u64().unwrap().try_into().unwrap()
}

fn bits(dimension: u32, log2_sigma: f64) -> f64 {
    curve(dimension, log2_sigma).unwrap_or(0.0)
}

fn cheapest(row: &Value) -> f64 {
    let attacks = row["attacks"].as_array().unwrap().iter();
    let bits = attacks.map(|attack| number(&attack["bits"]));
    bits.fold(f64::INFINITY, f64::min)
}

#[test]
fn the_tables_are_the_estimators_output() {
    let json = json();
    let meta = &json["meta"];
    assert_eq!(meta["secret"], "binary");
    assert_eq!(meta["classical"], true);

    let mut limits: Vec<_> = json["lwe_limits"].as_array().unwrap().iter().collect();
    limits.sort_by_key(|row| dimension(row));
    let (known, floors): (Vec<&Value>, Vec<&Value>) =
        limits.into_iter().partition(|row| row["floor"] == false);
    assert_eq!(known.len(), LWE_LIMITS.len());
    for (json, row) in known.iter().zip(LWE_LIMITS) {
        assert_eq!(json["n"], row.dimension);
        assert_eq!(json["log2q"], 64);
        assert_eq!(json["target"], TARGET_BITS);
        assert_eq!(json["log2std_min_with_dual_hybrid"], row.log2_sigma_min);
        assert!(number(&json["log2std_min_usvp_bdd"]) < row.log2_sigma_min);
    }
    assert_eq!(floors.len() + 1, LWE_POINTS.len());
    for (json, point) in floors.iter().zip(&LWE_POINTS[1..]) {
        assert_eq!(json["n"], point.dimension);
        assert_eq!(json["log2std_min_with_dual_hybrid"], point.sigma.log2());
        assert_eq!(json["bits_at_floor"], point.bits);
    }
    assert!(json["lwe_points"].as_array().unwrap().iter().any(|json| {
        let point = LWE_POINTS[0];
        json["n"] == point.dimension && json["std"] == point.sigma && cheapest(json) == point.bits
    }));
}

/// What the interpolation relies on.
#[test]
fn the_limits_fall_within_the_bounds() {
    for pair in LWE_LIMITS.windows(2) {
        let fall = (pair[0].log2_sigma_min - pair[1].log2_sigma_min)
            / f64::from(pair[1].dimension - pair[0].dimension);
        assert!(LIMIT_FALL.contains(&fall), "{pair:?}: {fall}");
    }
}

/// What the curve beside a limit relies on: its slope is at most the measured one above it, at least that below it.
#[test]
fn the_curve_has_the_measured_slopes() {
    for json in json()["lwe_limits"].as_array().unwrap() {
        if json["floor"] == true {
            continue;
        }
        let n = dimension(json);
        let x = number(&json["log2std_min_with_dual_hybrid"]);
        let slope = number(&json["slope_bits_per_log2std"]);
        let above = (bits(n, x + 0.01) - 128.0) / 0.01;
        let below = (128.0 - bits(n, x - 0.01)) / 0.01;
        // Measured slopes are differences over a few steps of the block size: they scatter.
        let [above, below] = [above, below].map(|found| found / slope);
        assert!((0.86..=1.01).contains(&above), "{n}: {above}");
        assert!((1.0..1.21).contains(&below), "{n}: {below}");
    }
}

#[test]
fn every_instance_costed_is_met() {
    let mut covered = 0;
    for json in json()["lwe_points"].as_array().unwrap() {
        let (n, log2_sigma) = (dimension(json), number(&json["std"]).log2());
        let Some(found) = curve(n, log2_sigma) else {
            assert!(log2_sigma < -62.0, "{json}");
            continue;
        };
        covered += 1;
        let expected = cheapest(json);
        let (low, high) = (expected - 0.5, expected + 0.1);
        assert!(low < found && found < high, "{found} {json}");
    }
    assert_eq!(covered, 9);
    for row in LWE_LIMITS {
        assert_eq!(bits(row.dimension, row.log2_sigma_min), 128.0);
        let inverse = min_log2_sigma(row.dimension, 128.0).unwrap();
        assert!((inverse - row.log2_sigma_min).abs() < 1e-12);
    }
    for point in LWE_POINTS {
        assert_eq!(bits(point.dimension, point.sigma.log2()), point.bits);
    }
}

/// Without the table of stronger instances the curve alone stays below them, by 3 bits at most where nothing caps it.
#[test]
fn the_curve_stays_below_stronger_instances() {
    let curve = |n, log2_sigma| bits_beside(limit(n).unwrap(), log2_sigma);
    let [a, costed_at_half_the_noise @ ..] = LWE_POINTS else {
        unreachable!()
    };
    let found = curve(a.dimension, a.sigma.log2());
    assert!((188.2..191.2).contains(&found), "{found}");
    for point in costed_at_half_the_noise {
        assert!(curve(point.dimension, point.sigma.log2() - 1.0) < point.bits);
    }
}

/// A limit left out of the table is met from its neighbours: never less noise, and little more.
#[test]
fn interpolation_is_conservative() {
    for [left, row, right] in LWE_LIMITS.array_windows() {
        let [to_left, to_right] = [
            row.dimension - left.dimension,
            right.dimension - row.dimension,
        ];
        let from_left = left.log2_sigma_min - LIMIT_FALL.start() * f64::from(to_left);
        let from_right = right.log2_sigma_min + LIMIT_FALL.end() * f64::from(to_right);
        let excess = from_left.min(from_right) - row.log2_sigma_min;
        assert!((0.0..0.48).contains(&excess), "{row:?}: {excess}");
    }
    assert!((limit(620).unwrap() - (-13.307)).abs() < 1e-9);
    assert!((limit(645).unwrap() - (-14.084 + 5.0 * 0.0267)).abs() < 1e-9);
    assert!((limit(2148).unwrap() - (-50.337 - 2.5)).abs() < 1e-9);
}

#[test]
fn what_is_not_known() {
    for n in [0, 1, 512, 599] {
        assert_eq!(curve(n, -10.0), None);
        assert_eq!(min_log2_sigma(n, 128.0), None);
    }
    for log2_sigma in [f64::NAN, f64::NEG_INFINITY, -62.5, 0.0, 1.0] {
        assert_eq!(curve(3072, log2_sigma), None);
    }
    assert_eq!(curve(700, -40.0), None);
    assert_eq!(bits(700, -5.0), MAX_EXTRAPOLATED_BITS);
    assert_eq!(min_log2_sigma(700, 143.1), None);
    assert_eq!(min_log2_sigma(3072, 150.0), Some(-62.0));
    assert_eq!(min_log2_sigma(700, f64::NAN), None);
}

#[test]
fn a_line_of_a_card() {
    let line = published("bootstrapping key", 2048, -49.0, 1024);
    let what = "bootstrapping key, LWE dimension 2048, noise 2^-49.00";
    assert_eq!((&*line.what, line.modulus_bits), (what, 64.0));
    assert_eq!(line.estimate, estimate(2048, -49.52, 1024));
    assert_eq!(published("toy", 16, -30.0, 128).estimate, None);
}

/// Both come from the same formulas; the table's search is finer, and its dual attack guesses in steps of 5.
#[test]
fn the_curve_agrees_with_the_table() {
    assert!(!TABLE.is_empty());
    for row in TABLE.iter() {
        let [n, log2_sigma, degree] = row.key;
        let found = estimate(n as u32, log2_sigma, degree as u32).unwrap();
        if let Some(curve) = curve(n as u32, log2_sigma).filter(|&bits| bits < 140.0) {
            assert!((found.bits - curve).abs() < 0.6, "{row:?} {curve}");
        }
        assert!(found.with_rotations <= found.bits && found.bits <= found.without_tables);
        assert_eq!(estimate(n as u32, log2_sigma, 1 << 20), None);
    }
}

/// No figure of one kind of secret is read off for another one.
#[test]
fn blocks_have_a_table_of_their_own() {
    assert!(!BLOCKS.is_empty());
    for row in BLOCKS.iter() {
        let [n, log2_sigma, degree, block] = row.key;
        let found = |n: f64, log2_sigma, degree: f64, block: f64| {
            estimate_in_blocks(n as u32, block as u32, log2_sigma, degree as u32)
        };
        let same = found(n, log2_sigma, degree, block).unwrap();
        assert!(same.tool.starts_with("tools/measure/block_binary.py"));
        assert!(same.with_rotations <= same.bits && same.bits <= same.without_tables);
        // weaker in one number each
        assert_eq!(found(n - 1.0, log2_sigma, degree, block), None);
        assert_eq!(found(n, log2_sigma - 0.01, degree, block), None);
        assert_eq!(found(n, log2_sigma, 2.0 * degree, block), None);
        assert_eq!(found(n, log2_sigma, degree, block + 1.0), None);
        let independent = estimate(n as u32, log2_sigma, degree as u32);
        assert!(independent.is_none_or(|e| e.tool != same.tool));
    }
}

proptest! {
    #[test]
    fn bits_rise_with_dimension_and_noise(n in 600u32..5000, dn in 0u32..600, x in -62.0..-0.1, dx in 0.0..10.0) {
        prop_assert!(bits(n, x) <= bits(n + dn, x));
        prop_assert!(bits(n, x) <= bits(n + dn, f64::min(x + dx, -0.1)));
    }

    #[test]
    fn min_log2_sigma_inverts_estimate(n in 600u32..2048, target in 80.0..143.0) {
        let x = min_log2_sigma(n, target).unwrap();
        prop_assert!(bits(n, x) >= target);
        prop_assert!(x == -62.0 || bits(n, x - 1e-9) < target);
    }
}

#[test]
fn the_figures_of_the_design() {
    // P64 and P128 of a prototype.
    for (n, log2_sigma, low, high) in [
        (640, -13.63, 129.0, 130.0),
        (672, -14.45, 128.5, 130.0),
        (2048, -50.0, 128.7, 129.0),
    ] {
        let found = bits(n, log2_sigma);
        assert!((low..high).contains(&found), "{n}: {found}");
    }
}
