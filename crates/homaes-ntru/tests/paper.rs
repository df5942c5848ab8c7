//! The tables of DHS14 in docs/papers.md: computed by the paper's formulas, beside the printed figures.
//! `UPDATE_DOCS=1 cargo test --release -p homaes-ntru --test paper` writes them.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use formulas::*;
use homaes_ntru::{Arithmetic, Params, PrimePower, Rns, sets};
use homaes_scheme::bits::BitScheme;
use std::path::Path;

/// The paper's formulas. All logarithms are binary.
mod formulas {
    /// Bound B on the coefficients of g, s, e and f', as in Figure 1.
    const B: f64 = 2.0;
    /// 6B² + 2B
    const KEYS: f64 = 6.0 * B * B + 2.0 * B;
    /// (2B + 1)² B²
    const PRODUCT: f64 = (2.0 * B + 1.0) * (2.0 * B + 1.0) * B * B;

    /// The Hermite factor δ of a vector of length q/4 in the NTRU lattice: δ^2n = √q/4 (Table 1).
    pub(crate) fn hermite_factor(n: f64, log_q: f64) -> f64 {
        ((log_q / 2.0 - 2.0) / (2.0 * n)).exp2()
    }

    /// log of the attack's seconds by Lindner and Peikert's rule.
    pub(crate) fn log_seconds(delta: f64) -> f64 {
        1.8 / delta.log2() - 110.0
    }

    /// The largest log q for Hermite factor δ, as in Figure 1: without the 4 of [`hermite_factor`].
    pub(crate) fn log_modulus(n: f64, delta: f64) -> f64 {
        4.0 * n * delta.log2()
    }

    /// Bytes of one evaluation key per level: log q_i polynomials of n coefficients of log q_i = i·`cut` bits.
    pub(crate) fn key_bytes_per_level(n: f64, cut: f64, levels: u32) -> f64 {
        let bits = (1..=levels).map(|i| n * (f64::from(i) * cut).powi(2));
        bits.sum::<f64>() / 8.0
    }

    /// Bytes of the single key for all levels, if q_i = p^i (§4).
    pub(crate) fn key_bytes(n: f64, log_q: f64) -> f64 {
        n * log_q * log_q / 8.0
    }

    /// Bits to cut per level in the worst case (equation 2).
    pub(crate) fn worst_cut(n: f64, log_q: f64) -> f64 {
        (n * n * KEYS * log_q + n.powi(3) * PRODUCT).log2()
    }

    /// Bits to cut per level in the average case (equation 4), with one sum per level and α = 6.
    pub(crate) fn average_cut(n: f64, log_q: f64) -> f64 {
        (n * KEYS * log_q + 6.0 * n.powf(1.5) * PRODUCT).log2()
    }

    /// Consecutive multiplications for log q bits, `cut` bits each; one modulus of `cut` bits remains.
    pub(crate) fn levels(log_q: f64, cut: f64) -> f64 {
        (log_q / cut).floor() - 1.0
    }

    /// log of the noise of relinearisation after `cut` bits are cut, with `sums` ciphertexts added before and after:
    /// the first term of equation 3 with n for n², as in the average case.
    pub(crate) fn relinearisation_noise(n: f64, log_q: f64, sums: f64, cut: f64) -> f64 {
        (sums * sums * n * KEYS * log_q).log2() - cut
    }

    /// log of the norm above which noise grows from level to level: there the second term, n^1.5 (2B + 1)² B² / 2^cut,
    /// is B.
    pub(crate) fn largest_stable_norm(n: f64, cut: f64) -> f64 {
        cut - (n.powf(1.5) * PRODUCT / (B * B)).log2()
    }

    /// log of the probability that one of n normal coefficients exceeds α standard deviations (§5).
    pub(crate) fn log_failure(n: f64, alpha: f64) -> f64 {
        // erfc(x) ≈ exp(-x²)/(x √π), x = α/√2
        let x = alpha / 2f64.sqrt();
        let tail = (-x * x).exp() / (x * std::f64::consts::PI.sqrt());
        (n * tail).log2()
    }
}

fn gib(bytes: f64) -> f64 {
    bytes / 1024f64.powi(3)
}

/// Cells of the head and of rows are separated by `|`.
fn table(head: &str, rows: impl IntoIterator<Item = String>) -> String {
    let rule = "---|".repeat(head.split('|').count());
    let rows: String = rows.into_iter().map(|row| format!("| {row} |\n")).collect();
    format!("| {} |\n|{rule}\n{rows}", head.replace('|', " | "))
}

/// Computed figures, beside the printed ones.
fn hermite_factors() -> String {
    let printed = [
        ["1.0108", "1.0218", "1.0441"],
        ["1.0053", "1.0108", "1.0218"],
        ["1.0027", "1.0054", "1.0108"],
        ["1.0013", "1.0027", "1.0054"],
    ];
    let rows = (13..).zip(printed).map(|(log_n, printed)| {
        let figures = [512.0, 1024.0, 2048.0].into_iter().zip(printed);
        let cells = figures.map(|(log_q, printed)| {
            let delta = hermite_factor(f64::from(1 << log_n), log_q);
            let gap = (delta - printed.parse::<f64>().unwrap()).abs();
            assert!(gap < 2.01e-4, "{delta} {printed}");
            format!(" | {delta:.4} ({printed})")
        });
        format!("2^{log_n}{}", cells.collect::<String>())
    });
    table("n|log q = 512|1024|2048", rows)
}

fn security() -> String {
    let printed = [
        (28340, 70),
        (28940, 80),
        (30140, 100),
        (31300, 120),
        (32768, 144),
    ];
    let rows = printed.map(|(n, bits)| {
        let delta = hermite_factor(f64::from(n), 1024.0);
        let seconds = log_seconds(delta);
        format!("{n} | {bits} | {delta:.5} | {seconds:.0}")
    });
    table("n|bits, printed|δ|log seconds, Lindner and Peikert", rows)
}

fn settings() -> String {
    let rows = [
        (27000.0, 1230.0, "1.0078", 30.0, 1800, "27 hours", "12.8", 67.0, 4.75),
        (32768.0, 1271.0, "1.0067", 31.0, 2048, "31 hours", "12.6", 87.0, 6.13),
    ]
    .map(|(n, log_q, delta, cut, slots, time, norm, original, optimised)| {
        let found = hermite_factor(n, log_q);
        assert!((found - delta.parse::<f64>().unwrap()).abs() < 2e-4);
        let settled = relinearisation_noise(n, log_q, 100.0, cut);
        let stable = largest_stable_norm(n, cut);
        let all = gib(key_bytes_per_level(n, cut, 41));
        let one = gib(key_bytes(n, log_q));
        assert!((all - original).abs() < 0.5 && (one - optimised).abs() < 0.04);
        format!(
            "{n} | {log_q} | {found:.4} ({delta}) | {cut} | {settled:.1} ({norm}) | {stable:.1} | {slots} | {time} \
             | {all:.1} ({original}) | {one:.2} ({optimised})"
        )
    });
    let head = "n|log q|δ|bits cut|noise settles at, bits|stable up to, bits|slots|time printed\
        |keys of all levels, GiB|one key, GiB";
    table(head, rows)
}

/// Failure probabilities for a margin of α standard deviations, as docs/papers.md states them.
#[test]
fn margins_fail_as_the_page_says() {
    for (n, alpha, log2) in [(27000.0, 8.0, "-34.8"), (16384.0, 7.0, "-24.5")] {
        assert_eq!(format!("{:.1}", log_failure(n, alpha)), log2);
    }
}

fn our_sets() -> String {
    fn ours<A: Arithmetic>(set: &sets::ParamSet) -> String {
        let params = Params::<A>::new(set).unwrap();
        let (key, arithmetic) = (
            gib(params.card().eval_key_bytes as f64),
            params.arithmetic(),
        );
        let top = set.top_level();
        let drops = (2..=top).map(|level| arithmetic.log2_drop(level));
        let mean = drops.sum::<f64>() / (top - 1) as f64;
        let (log_q, log_key) = (params.log2_modulus(top), arithmetic.log2_key());
        let (parts, delta) = (arithmetic.key_parts(), hermite_factor(32768.0, log_key));
        format!(
            "`{}` | {} | {mean:.1} | {log_q:.0} | {log_key:.0} | {parts} | {key:.3} | {delta:.5}",
            set.name,
            top - 1
        )
    }
    let powers = [&sets::PAPER, &sets::PAPER_16].map(ours::<PrimePower>);
    let residues = [
        &sets::RNS,
        &sets::RNS_DEPTH_3,
        &sets::HYBRID,
        &sets::HYBRID_256,
    ];
    let head = "set|levels|bits a level|log q|log q of the key|digits|key, GiB|δ";
    table(head, powers.into_iter().chain(residues.map(ours::<Rns>)))
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
    let rows = (12..).zip(printed).map(|(log_n, (log_q, worst, worst_levels, average, average_levels))| {
        let n = f64::from(1 << log_n);
        let modulus = log_modulus(n, 1.0066);
        assert!((modulus - log_q).abs() / log_q < 0.004);
        let cuts = [worst_cut(n, modulus), average_cut(n, modulus)];
        let gaps = [(cuts[0] - worst).abs(), (cuts[1] - average).abs()];
        assert!(gaps[0] < 0.6 && gaps[1] < 0.9, "{cuts:?}");
        let [most, mean] = cuts.map(|cut| levels(modulus, cut));
        format!(
            "{log_n} | {modulus:.0} ({log_q}) | {:.1} ({worst}) | {most} ({worst_levels}) | {:.1} ({average}) | {mean} \
             ({average_levels})",
            cuts[0], cuts[1]
        )
    });
    let head = "log n|log q|worst case, bits|levels|average case, bits|levels";
    table(head, rows)
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
