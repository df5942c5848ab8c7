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
    assert_eq!(known.len(), LIMITS.len());
    for (json, (n, log2_sigma)) in known.iter().zip(LIMITS) {
        assert_eq!(json["n"], n);
        assert_eq!(json["log2q"], 64);
        assert_eq!(json["target"], TARGET_BITS);
        assert_eq!(json["log2std_min_with_dual_hybrid"], log2_sigma);
        assert!(number(&json["log2std_min_usvp_bdd"]) < log2_sigma);
    }
    let [(n, sigma, bits), floor_points @ ..] = POINTS;
    assert_eq!(floors.len(), floor_points.len());
    for (json, (n, sigma, bits)) in floors.iter().zip(floor_points) {
        assert_eq!(json["n"], n);
        assert_eq!(json["log2std_min_with_dual_hybrid"], sigma.log2());
        assert_eq!(json["bits_at_floor"], bits);
    }
    let same = |json: &Value| json["n"] == n && json["std"] == sigma && cheapest(json) == bits;
    assert!(json["lwe_points"].as_array().unwrap().iter().any(same));
}

/// What the interpolation relies on.
#[test]
fn the_limits_fall_within_the_bounds() {
    for [(n, limit), (next, lower)] in LIMITS.array_windows() {
        let fall = (limit - lower) / f64::from(next - n);
        assert!(LIMIT_FALL.contains(&fall), "{n}: {fall}");
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
    for (n, limit) in LIMITS {
        assert_eq!(bits(n, limit), 128.0);
        assert!((min_log2_sigma(n, 128.0).unwrap() - limit).abs() < 1e-12);
    }
    for (n, sigma, found) in POINTS {
        assert_eq!(bits(n, sigma.log2()), found);
    }
}

/// A limit left out of the table is met from its neighbours: never less noise, and little more.
#[test]
fn interpolation_is_conservative() {
    for [left, (n, own), right] in LIMITS.array_windows() {
        let from_left = left.1 - LIMIT_FALL.start() * f64::from(n - left.0);
        let from_right = right.1 + LIMIT_FALL.end() * f64::from(right.0 - n);
        let excess = from_left.min(from_right) - own;
        assert!((0.0..0.48).contains(&excess), "{n}: {excess}");
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
        let more = estimate(n as u32 + 1, log2_sigma + 0.001, degree as u32);
        assert!(more.is_some_and(|more| more.bits >= found.bits));
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
