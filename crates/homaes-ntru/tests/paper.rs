//! The tables of DHS14 in docs/papers.md: computed by the paper's formulas, beside the printed figures.
//! `UPDATE_DOCS=1 cargo test --release -p homaes-ntru --test paper` writes them.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use homaes_ntru::paper::*;
use homaes_ntru::{Arithmetic, Params, PrimePower, Rns, sets};
use homaes_scheme::bits::BitScheme;
use std::path::Path;

fn gib(bytes: f64) -> f64 {
    bytes / 1024f64.powi(3)
}

fn table(head: &str, rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.split('|').map(str::to_owned).collect();
    let rule = "|---".repeat(head.len()) + "|\n";
    let rows: String = rows.iter().map(|row| line(row)).collect();
    line(&head) + &rule + &rows
}

fn beside(computed: impl std::fmt::Display, printed: impl std::fmt::Display) -> String {
    format!("{computed} ({printed})")
}

fn hermite_factors() -> String {
    let printed = [
        ["1.0108", "1.0218", "1.0441"],
        ["1.0053", "1.0108", "1.0218"],
        ["1.0027", "1.0054", "1.0108"],
        ["1.0013", "1.0027", "1.0054"],
    ];
    let mut rows = Vec::new();
    for (log_n, printed) in (13..).zip(printed) {
        let mut row = vec![format!("2^{log_n}")];
        for (log_q, printed) in [512.0, 1024.0, 2048.0].into_iter().zip(printed) {
            let delta = hermite_factor(f64::from(1 << log_n), log_q);
            let gap = (delta - printed.parse::<f64>().unwrap()).abs();
            assert!(gap < 2.01e-4, "{delta} {printed}");
            row.push(beside(format!("{delta:.4}"), printed));
        }
        rows.push(row);
    }
    table("n|log q = 512|1024|2048", &rows)
}

fn security() -> String {
    let printed = [
        (28340.0, 70),
        (28940.0, 80),
        (30140.0, 100),
        (31300.0, 120),
        (32768.0, 144),
    ];
    let rows = printed.map(|(n, bits)| {
        let delta = hermite_factor(n, 1024.0);
        let seconds = log_seconds(delta);
        let figures = [format!("{delta:.5}"), format!("{seconds:.0}")];
        [vec![n.to_string(), bits.to_string()], figures.to_vec()].concat()
    });
    table("n|bits, printed|δ|log seconds, Lindner and Peikert", &rows)
}

fn settings() -> String {
    let mut rows = Vec::new();
    for (n, log_q, delta, cut, slots, time, norm, original, optimised) in [
        (
            27000.0, 1230.0, "1.0078", 30.0, 1800, "27 hours", "12.8", 67.0, 4.75,
        ),
        (
            32768.0, 1271.0, "1.0067", 31.0, 2048, "31 hours", "12.6", 87.0, 6.13,
        ),
    ] {
        let found = hermite_factor(n, log_q);
        assert!((found - delta.parse::<f64>().unwrap()).abs() < 2e-4);
        let settled = relinearisation_noise(n, log_q, 100.0, cut);
        let stable = largest_stable_norm(n, cut);
        let all = gib(key_bytes_per_level(n, cut, 41));
        let one = gib(key_bytes(n, log_q));
        assert!((all - original).abs() < 0.5 && (one - optimised).abs() < 0.04);
        rows.push(vec![
            n.to_string(),
            log_q.to_string(),
            beside(format!("{found:.4}"), delta),
            cut.to_string(),
            beside(format!("{settled:.1}"), norm),
            format!("{stable:.1}"),
            slots.to_string(),
            time.to_owned(),
            beside(format!("{all:.1}"), original),
            beside(format!("{one:.2}"), optimised),
        ]);
    }
    let head = "n|log q|δ|bits cut|noise settles at, bits|stable up to, bits|slots|time printed\
        |keys of all levels, GiB|one key, GiB";
    table(head, &rows)
}

/// Failure probabilities for a margin of α standard deviations, as docs/papers.md states them.
#[test]
fn margins_fail_as_the_page_says() {
    for (n, alpha, log2) in [(27000.0, 8.0, "-34.8"), (16384.0, 7.0, "-24.5")] {
        assert_eq!(format!("{:.1}", log_failure(n, alpha)), log2);
    }
}

fn our_sets() -> String {
    fn ours<A: Arithmetic>(set: &sets::ParamSet) -> Vec<String> {
        let params = Params::<A>::new(set).unwrap();
        let (card, arithmetic) = (params.card(), params.arithmetic());
        let top = params.set().top_level();
        let drops = (2..=top).map(|level| arithmetic.log2_drop(level));
        let drops: Vec<f64> = drops.collect();
        let mean = drops.iter().sum::<f64>() / drops.len() as f64;
        vec![
            format!("`{}`", set.name),
            format!("{}", set.rounds * set.sbox.levels()),
            format!("{mean:.1}"),
            format!("{:.0}", params.log2_modulus(top)),
            format!("{:.0}", arithmetic.log2_key()),
            format!("{}", arithmetic.key_parts()),
            format!("{:.3}", gib(card.eval_key_bytes as f64)),
            format!("{:.5}", hermite_factor(32768.0, arithmetic.log2_key())),
        ]
    }
    let powers = [&sets::PAPER, &sets::PAPER_16].map(ours::<PrimePower>);
    let residues = [
        &sets::RNS,
        &sets::RNS_DEPTH_3,
        &sets::HYBRID,
        &sets::HYBRID_256,
    ];
    let rows = [&powers[..], &residues.map(ours::<Rns>)].concat();
    table(
        "set|levels|bits a level|log q|log q of the key|digits|key, GiB|δ",
        &rows,
    )
}

fn figure() -> String {
    let printed = [
        (155.0, 43.0, 2.0, 27.0, 4.0),
        (311.0, 46.0, 5.0, 29.0, 9.0),
        (622.0, 49.0, 11.0, 30.0, 19.0),
        (1244.0, 52.0, 22.0, 32.0, 37.0),
        (2488.0, 55.0, 44.0, 33.0, 74.0),
        (4976.0, 58.0, 84.0, 35.0, 141.0),
    ];
    let mut rows = Vec::new();
    for (log_n, (log_q, worst, worst_levels, average, average_levels)) in (12..).zip(printed) {
        let n = f64::from(1 << log_n);
        let modulus = log_modulus(n, 1.0066);
        let cuts = [worst_cut(n, modulus), average_cut(n, modulus, 1.0, 6.0)];
        assert!((modulus - log_q).abs() / log_q < 0.004);
        assert!(
            (cuts[0] - worst).abs() < 0.6 && (cuts[1] - average).abs() < 0.9,
            "{cuts:?}"
        );
        let counts = [levels(modulus, cuts[0]), levels(modulus, cuts[1])];
        rows.push(vec![
            format!("{log_n}"),
            beside(format!("{modulus:.0}"), log_q),
            beside(format!("{:.1}", cuts[0]), worst),
            beside(counts[0], worst_levels),
            beside(format!("{:.1}", cuts[1]), average),
            beside(counts[1], average_levels),
        ]);
    }
    table(
        "log n|log q|worst case, bits|levels|average case, bits|levels",
        &rows,
    )
}

#[test]
fn the_tables_of_the_page_are_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers.md");
    let stored = std::fs::read_to_string(&path).unwrap();
    let mut page = stored.clone();
    for (name, text) in [
        ("table-1", hermite_factors()),
        ("table-2", security()),
        ("tables-3-4", settings()),
        ("sets", our_sets()),
        ("figure-1", figure()),
    ] {
        let start = format!("<!-- dhs14-{name} -->\n");
        let (before, rest) = page.split_once(&start).unwrap();
        let (_, after) = rest.split_once("<!-- end -->\n").unwrap();
        page = format!("{before}{start}{text}<!-- end -->\n{after}");
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    } else {
        assert!(
            stored == page,
            "docs/papers.md is stale: run with UPDATE_DOCS=1"
        );
    }
}
