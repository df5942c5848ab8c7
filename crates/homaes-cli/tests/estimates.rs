//! The figures of security that the repository states, in all places the same: `homaes params --json`, the output of
//! `tools/estimate`, the tables of SECURITY.md, and PARAMETERS.md, which is generated. `tools/estimate/README.md` says how to refresh them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use homaes_lab::{Cells, units};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const COLUMNS: [&str; 7] = [
    "bits",
    "without_tables",
    "with_rotations",
    "with_rotations_without_tables",
    "core_svp",
    "core_svp_quantum",
    "quantum",
];

fn all_sets() -> Vec<Value> {
    let mut homaes = Command::new(env!("CARGO_BIN_EXE_homaes"));
    let output = homaes.args(["params", "--json"]).output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Those that protect something, or claim to. NTRU and DGHV are broken whatever the set: what breaking them costs is no output of `tools/estimate`.
fn sets() -> Vec<Value> {
    let is_of = |set: &Value, scheme| set["scheme"] == scheme && set["purpose"] != "toy";
    let (broken, others): (Vec<_>, Vec<_>) = all_sets()
        .into_iter()
        .partition(|set| is_of(set, "ntru") || is_of(set, "dghv"));
    assert!(broken.len() >= 4);
    for set in &broken {
        assert_eq!(set["purpose"], "paper");
        let bits = number(&set["security_bits_estimated"]);
        match set["scheme"] == "ntru" {
            true => assert!(bits == 48.0 && is_order_of_magnitude(set), "{set}"),
            // below what the paper gives them
            false => assert!(bits < number(&set["security_bits_claimed"]), "{set}"),
        }
    }
    let (protecting, toys): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|set| set["purpose"] != "toy");
    assert!(
        toys.iter()
            .all(|set| set["security_bits_estimated"].is_null())
    );
    protecting
}

fn file(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(name));
    text.unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn name(set: &Value) -> &str {
    set["name"].as_str().unwrap()
}

fn published(set: &Value) -> &[Value] {
    set["published"].as_array().unwrap()
}

/// Whether a line is of the ring of the BGV sets: all of theirs but that of bridge keys.
fn in_the_ring(line: &Value) -> bool {
    line["ring_degree"] == 32768
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// The cells of every row of the Markdown tables whose head begins with `head`, without their back quotes.
fn rows(text: &str, head: &[&str]) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Option<Vec<String>> {
        let line = line.strip_prefix('|')?.strip_suffix('|')?;
        Some(
            line.split('|')
                .map(|cell| cell.trim().replace('`', ""))
                .collect(),
        )
    };
    let mut rows = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match cells(line) {
            None => inside = false,
            Some(row)
                if row.starts_with(&head.iter().map(|&h| h.to_owned()).collect::<Vec<_>>()) =>
            {
                inside = true;
            }
            Some(row) if inside && !row[0].starts_with('-') => rows.push(row),
            Some(_) => {}
        }
    }
    assert!(!rows.is_empty(), "no table begins with {head:?}");
    rows
}

/// Every published object was costed by itself, and the look-up in the tables gives that figure, or a little less.
#[test]
fn params_agree_with_the_output_of_the_estimate() {
    let results: Value = serde_json::from_str(&file("tools/estimate/results.json")).unwrap();
    let mut results: Vec<&Value> = results["objects"].as_array().unwrap().iter().collect();
    for set in &sets() {
        for line in published(set) {
            let found = results
                .iter()
                .position(|o| o["set"] == set["name"] && o["what"] == line["what"]);
            let found =
                results.swap_remove(found.unwrap_or_else(|| panic!("{} {line}", name(set))));
            let instance = found["instance"].as_array().unwrap();
            let same = |value: &Value, i: usize| {
                assert!(
                    (number(value) - number(&instance[i])).abs() < 1e-3,
                    "{found} {line}"
                );
            };
            // the grid is made convex, and the look-up takes a secant
            let below = if in_the_ring(line) {
                assert_eq!(set["secret_weight"], format!("h={}", instance[1]));
                same(&line["modulus_bits"], 2);
                if number(&line["modulus_bits"]) < 700.0 {
                    40.0
                } else {
                    0.6
                }
            } else {
                same(&line["dimension"], 1);
                same(&line["log2_sigma"], 2);
                same(&line["ring_degree"], 3);
                check_blocks(set, line, found);
                1e-9
            };
            for column in COLUMNS {
                let stated = number(&line["estimate"][column]);
                let computed = number(&found[column]["bits"]);
                let (low, high) = (computed - below, computed + 0.2);
                assert!(
                    (low..=high).contains(&stated),
                    "{column}: {computed} {} {line}",
                    name(set)
                );
            }
        }
        let least = |column: &str| {
            let bits = published(set)
                .iter()
                .map(|line| number(&line["estimate"][column]));
            bits.fold(f64::INFINITY, f64::min)
        };
        assert_eq!(number(&set["security_bits_estimated"]), least("bits"));
        for column in &COLUMNS[1..] {
            assert_eq!(
                number(&set[format!("security_bits_{column}")]),
                least(column)
            );
        }
    }
    assert!(results.is_empty(), "not published: {results:?}");
}

/// The bits of a block of the key that something is published under, if it is one in blocks.
fn block(line: &Value) -> Option<u64> {
    let (_, rest) = line["what"]
        .as_str()
        .unwrap()
        .split_once(" in blocks of ")?;
    rest.split(',').next().unwrap().parse().ok()
}

/// What is under a key in blocks names the program that knows such keys, in the card and in the output, and nothing else does.
fn check_blocks(set: &Value, line: &Value, found: &Value) {
    const PROGRAM: &str = "tools/measure/block_binary.py";
    let tool = line["estimate"]["tool"].as_str().unwrap();
    match block(line) {
        Some(bits) => {
            assert_eq!(found["instance"][0], "blocks");
            assert_eq!(found["instance"][4], bits);
            assert_eq!(found["tool"], PROGRAM);
            assert!(tool.starts_with(PROGRAM), "{tool}");
            assert_eq!(set["secret_weight"], format!("LWE key in blocks of {bits}"));
        }
        None => {
            assert_eq!(found["instance"][0], "lwe");
            assert!(found["tool"].is_null() && !tool.contains(PROGRAM), "{tool}");
        }
    }
}

/// Every object with its figures, as the table of SECURITY.md has them.
#[test]
fn security_md_states_the_figures() {
    // what identifies an object, and its figures
    let key = |set: &str, size: &str, figures: &[String]| {
        [&[set.to_owned(), size.to_owned()], figures].concat()
    };
    let mut expected = BTreeSet::new();
    for set in &sets() {
        for line in published(set) {
            let size = if in_the_ring(line) {
                format!("log2 q = {:.1}", number(&line["modulus_bits"]))
            } else {
                let blocks = block(line).map_or(String::new(), |b| format!(" in blocks of {b}"));
                format!(
                    "{}{blocks}, 2^{:.2}",
                    line["dimension"],
                    number(&line["log2_sigma"])
                )
            };
            let figures = COLUMNS.map(|column| format!("{:.1}", number(&line["estimate"][column])));
            expected.insert(key(name(set), &size, &figures));
        }
    }
    let stated: BTreeSet<_> = rows(&file("SECURITY.md"), &["set", "what", "bits"])
        .iter()
        .map(|row| {
            let (_, size) = row[1].rsplit_once('(').unwrap();
            key(&row[0], size.trim_end_matches(')'), &row[2..])
        })
        .collect();
    assert_eq!(stated, expected);
}

/// README.md names sets that are there, and the figures that the demonstration prints.
#[test]
fn readme_agrees_with_the_sets() {
    let sets = all_sets();
    let text = file("README.md");
    let card = |wanted: &str| sets.iter().find(|set| name(set) == wanted).unwrap();
    let figure = |field: &str| number(&card("bgv/aes128")[field]);
    let line = format!(
        "{} bits claimed, {:.1} estimated, {:.1} with rotations",
        figure("security_bits_claimed"),
        figure("security_bits_estimated"),
        figure("security_bits_with_rotations"),
    );
    assert!(text.contains(&line), "{line}");
    let secure = |set: &&Value| set["scheme"] == "bgv" && set["purpose"] == "secure";
    let bits = sets
        .iter()
        .filter(secure)
        .map(|set| number(&set["security_bits_with_rotations"]));
    let (least, most) = bits.fold((f64::MAX, 0.0), |(least, most), bits| {
        (bits.min(least), bits.max(most))
    });
    let range = format!("In the BGV sets it is\n{least:.0} to {most:.0} bits");
    assert!(text.contains(&range), "{range}");
    let security = &text[text.find("## Security, plainly").unwrap()..];
    for set in sets.iter().filter(secure) {
        let weight = set["secret_weight"].as_str().unwrap();
        let weight = weight.strip_prefix("h=").unwrap();
        assert!(security.contains(weight), "weight {weight}");
    }
    let of_scheme = |name: &&str| {
        ["bgv/", "tfhe/", "ntru/", "dghv/"]
            .iter()
            .any(|scheme| name.starts_with(scheme))
    };
    let mut count = 0;
    for quote in quoted(&text).filter(of_scheme) {
        let there = sets.iter().any(|set| name(set) == quote);
        assert!(there, "README.md names {quote}");
        count += 1;
    }
    assert!(count > 10, "{count} names");
}

/// A table of Markdown.
fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    Cells::new(head, rows.into_iter().collect()).markdown()
}

/// With commas between thousands.
fn grouped(value: &Value) -> String {
    units::grouped(value.as_u64().unwrap())
}

/// Whether the estimates of a set are orders of magnitude.
fn is_order_of_magnitude(set: &Value) -> bool {
    published(set)
        .iter()
        .any(|line| line["estimate"]["order_of_magnitude"] == true)
}

/// A line for each assumption of a set.
fn assumptions(set: &Value) -> String {
    let lines = set["assumptions"].as_array().unwrap().iter();
    lines
        .map(|line| format!("- `{}` assumes: {}.\n", name(set), line.as_str().unwrap()))
        .collect()
}

/// PARAMETERS.md, from `homaes params --json`.
fn page_of_parameters() -> String {
    let sets = all_sets();
    let quoted = |set: &Value| format!("`{}`", name(set));
    let bits = |set: &Value, field: &str| match set[field].as_f64() {
        Some(bits) if field.starts_with("security") && is_order_of_magnitude(set) => {
            format!("~{bits:.0}")
        }
        Some(bits) => format!("{bits:.1}"),
        None => "none".to_owned(),
    };
    let security = sets.iter().map(|set| {
        let claimed = set["security_bits_claimed"].as_u64();
        vec![
            quoted(set),
            set["purpose"].as_str().unwrap().to_owned(),
            claimed.map_or("none".to_owned(), |bits| bits.to_string()),
            bits(set, "security_bits_estimated"),
            bits(set, "security_bits_with_rotations"),
            bits(set, "security_bits_quantum"),
            bits(set, "log2_p_fail"),
            bits(set, "log2_p_fail_per_million_batches"),
        ]
    });
    let assumptions: String = sets.iter().map(assumptions).collect();
    let layouts = sets.iter().flat_map(|set| {
        let layouts = set["layouts"].as_array().unwrap();
        layouts.iter().map(|layout| {
            let all = &layout["levels_left_by_key_bits"];
            // a layout carries AES-128 at least: without any figure there is no limit
            let limited = all["128"].is_u64();
            let left = |size: &str| match (all[size].as_u64(), limited) {
                (Some(left), _) => left.to_string(),
                (None, true) => "–".to_owned(),
                (None, false) => "any".to_owned(),
            };
            vec![
                quoted(set),
                layout["layout"].as_str().unwrap().to_owned(),
                grouped(&layout["blocks_per_batch"]),
                left("128"),
                left("192"),
                left("256"),
            ]
        })
    });
    let sizes = sets.iter().map(|set| {
        vec![
            quoted(set),
            grouped(&set["secret_key_bytes"]),
            grouped(&set["eval_key_bytes"]),
            grouped(&set["wrapped_key_bytes"]),
            grouped(&set["ciphertext_bytes_per_batch"]),
        ]
    });
    format!(
        "\
# Parameter sets

Generated from `homaes params --json`; a test compares. Do not edit: `UPDATE_DOCS=1 cargo test --release -p homaes-cli --test all estimates::` writes it.

## Security and failure

Bits of security claimed (of purpose `paper`: by the paper, not by this project), estimated, with what rotations of the ring give an attacker, and against quantum computers (stated, not claimed); log2 of the probability that
a batch decrypts wrongly, and that one of 10^6 batches does. [SECURITY.md](SECURITY.md) says what these figures rest on. Only sets of purpose `secure`
protect data. ~ marks an order of magnitude: of NTRU, what LLL costs at most.

{}
Assumptions beyond those of all sets of a scheme:

{assumptions}
## Layouts, and what is left to compute

Multiplications, one after the other, that can be left on the results of AES with keys of each size (`wrap-key --levels-left`); – where the set does not carry
that key size, *any* where results can be bootstrapped.

{}
## Sizes

Bytes, exact and the same on every machine: secret key, evaluation key, the wrapped key of the largest AES key that the set carries, the FHE ciphertexts of one full batch; the
last two in the set's first layout. A packed batch and a wrapped key for packed batches take a sixteenth of sliced ones. A passphrase adds some 180 bytes to
the secret key.

{}",
        table(
            &[
                "set",
                "purpose",
                "claimed",
                "estimated",
                "with rotations",
                "quantum",
                "log2 p_fail",
                "of 10^6 batches"
            ],
            security
        ),
        table(
            &["set", "layout", "blocks per batch", "AES-128", "AES-192", "AES-256"],
            layouts
        ),
        table(
            &["set", "`.hsk`", "`.hek`", "`.hwk`", "`.hct`, per batch"],
            sizes
        ),
    )
}

/// PARAMETERS.md says what `homaes params` says.
#[test]
fn the_page_of_parameters_is_up_to_date() {
    let page = page_of_parameters();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../PARAMETERS.md");
        std::fs::write(path, &page).unwrap();
    }
    let stored = file("PARAMETERS.md");
    let differs = stored.lines().zip(page.lines()).find(|(a, b)| a != b);
    assert_eq!(differs, None, "stored and generated");
    assert_eq!(stored.len(), page.len());
}

/// The code in backticks of a text.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether a source defines what ARCHITECTURE.md calls `Type::function`, `function`, or `macro!`.
fn defines(source: &str, name: &str) -> bool {
    if let Some(name) = name.strip_suffix('!') {
        return source.contains(&format!("macro_rules! {name} "));
    }
    let (owner, function) = match name.rsplit_once("::") {
        Some((owner, function)) => (Some(owner), function),
        None => (None, name),
    };
    let starts = |after: &str| after.starts_with(['(', '<']);
    let function = format!("fn {function}");
    let mut found = source.split(&function).skip(1);
    let owned = owner.is_none_or(|owner| {
        source.contains(&format!("impl {owner}")) || source.contains(&format!("> {owner}"))
    });
    found.any(starts) && owned
}

/// ARCHITECTURE.md walks through files and functions that are there.
#[test]
fn the_walk_leads_through_the_code() {
    let text = file("ARCHITECTURE.md");
    let (mut path, mut rows) = (String::new(), 0);
    let walk = text.split("## ").find(|part| part.starts_with("The walk"));
    for line in walk.unwrap().lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        let [number, of_file, functions, ..] = cells[..] else {
            continue;
        };
        if !number.trim().starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        if let Some(first) = quoted(of_file).next() {
            path = first.to_owned();
        }
        // beside the first one
        let folder = path
            .rsplit_once('/')
            .map_or("", |(folder, _)| folder)
            .to_owned();
        let others = quoted(of_file)
            .skip(1)
            .map(|other| format!("{folder}/{other}"));
        let sources: Vec<String> = [path.clone()].into_iter().chain(others).collect();
        let sources: Vec<String> = sources
            .iter()
            .map(|path| file(&format!("crates/{path}")))
            .collect();
        for name in quoted(functions) {
            assert!(
                sources.iter().any(|source| defines(source, name)),
                "{path}: {name}"
            );
            rows += 1;
        }
    }
    assert!(rows > 35, "{rows} functions");
    let mut files = 0;
    let named =
        |path: &&str| path.starts_with("homaes") && path.contains('/') && !path.contains("NAME");
    for path in quoted(&text).filter(named) {
        let there = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
        assert!(there.exists(), "{path}");
        files += 1;
    }
    assert!(files > 50, "{files} files");
}
