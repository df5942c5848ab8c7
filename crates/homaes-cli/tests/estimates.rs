//! The security figures of the repository agree: `homaes params --json`, the output of `tools/estimate`, and
//! PARAMETERS.md, which is generated from both. `tools/estimate/README.md` says how to refresh them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use crate::common::{World, file, root};
use homaes_lab::{Cells, units};
use serde_json::Value;
use std::fs;

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
    let sets = World::new().json("params --json");
    sets.as_array().unwrap().clone()
}

/// The sets that protect something, or claim to. NTRU and DGHV are broken whatever the set, and `tools/estimate` does
/// not cost them.
fn sets() -> Vec<Value> {
    let (toys, mut sets): (Vec<_>, Vec<_>) = all_sets()
        .into_iter()
        .partition(|set| set["purpose"] == "toy");
    assert!(
        toys.iter()
            .all(|set| set["security_bits_estimated"].is_null())
    );
    let mut broken = 0;
    sets.retain(|set| {
        if set["scheme"] != "ntru" && set["scheme"] != "dghv" {
            return true;
        }
        broken += 1;
        assert_eq!(set["purpose"], "paper");
        let bits = number(&set["security_bits_estimated"]);
        match set["scheme"] == "ntru" {
            true => assert!(bits == 48.0 && is_order_of_magnitude(set), "{set}"),
            // below what the paper gives them
            false => assert!(bits < number(&set["security_bits_claimed"]), "{set}"),
        }
        false
    });
    assert!(broken >= 4);
    sets
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
    let number = value.as_f64();
    number.unwrap_or_else(|| panic!("{value} is no number"))
}

/// The output of `tools/estimate`.
fn results() -> Value {
    serde_json::from_str(&file("tools/estimate/results.json")).unwrap()
}

/// Every published object was costed by itself, and the look-up in the tables gives that figure, or a little less.
#[test]
fn params_agree_with_the_output_of_the_estimate() {
    let results = results();
    let mut results: Vec<&Value> = results["objects"].as_array().unwrap().iter().collect();
    for set in &sets() {
        for line in published(set) {
            let own = |o: &&Value| o["set"] == set["name"] && o["what"] == line["what"];
            let found = results.iter().position(own);
            let found = found.unwrap_or_else(|| panic!("{} {line}", name(set)));
            let found = results.swap_remove(found);
            let instance = found["instance"].as_array().unwrap();
            let same = |field: &str, i: usize| {
                let distance = number(&line[field]) - number(&instance[i]);
                assert!(distance.abs() < 1e-3, "{found} {line}");
            };
            // the grid is made convex, and the look-up takes a secant
            let below = if in_the_ring(line) {
                assert_eq!(set["secret_weight"], format!("h={}", instance[1]));
                same("modulus_bits", 2);
                match number(&line["modulus_bits"]) < 700.0 {
                    true => 40.0,
                    false => 0.6,
                }
            } else {
                same("dimension", 1);
                same("log2_sigma", 2);
                same("ring_degree", 3);
                check_blocks(set, line, found);
                1e-9
            };
            for column in COLUMNS {
                let stated = number(&line["estimate"][column]);
                let computed = number(&found[column]["bits"]);
                let range = computed - below..=computed + 0.2;
                assert!(range.contains(&stated), "{column}: {computed} {set} {line}");
            }
        }
        for column in COLUMNS {
            let bits = published(set).iter().map(|line| &line["estimate"][column]);
            let least = bits.map(number).fold(f64::INFINITY, f64::min);
            let field = match column {
                "bits" => "security_bits_estimated".to_owned(),
                _ => format!("security_bits_{column}"),
            };
            assert_eq!(number(&set[field]), least);
        }
    }
    assert!(results.is_empty(), "not published: {results:?}");
}

/// The bits of a block of the key that something is published under, if it is one in blocks.
fn block(line: &Value) -> Option<u64> {
    let what = line["what"].as_str().unwrap();
    let (_, rest) = what.split_once(" in blocks of ")?;
    rest.split(',').next().unwrap().parse().ok()
}

/// What is under a key in blocks names the program that knows such keys, in the card and in the output, and nothing
/// else does.
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

/// README.md names existing sets, and quotes the figures that the demonstration prints.
#[test]
fn readme_agrees_with_the_sets() {
    let sets = all_sets();
    let text = file("README.md");
    let demo = sets.iter().find(|set| name(set) == "bgv/aes128").unwrap();
    let size = |field: &str| units::bytes(demo[field].as_u64().unwrap());
    let bits = |what: &str| number(&demo[format!("security_bits_{what}")]);
    let [claimed, estimated, rotations] = ["claimed", "estimated", "with_rotations"].map(bits);
    let p_fail = number(&demo["log2_p_fail"]);
    let security =
        format!("{claimed} bits claimed, {estimated:.1} estimated, {rotations:.1} with rotations");
    for (title, printed) in [
        ("set", name(demo).to_owned()),
        ("security", security),
        ("p_fail", format!("2^{p_fail:.1} per batch")),
        ("size of evaluation key", size("eval_key_bytes")),
        (
            "size of FHE ciphertexts",
            size("ciphertext_bytes_per_batch"),
        ),
    ] {
        let line = format!("\n{title:<25}{printed}\n");
        assert!(text.contains(&line), "README.md lacks: {line}");
    }
    let bits = |set: &Value| number(&set["security_bits_with_rotations"]);
    let secure = sets.iter().filter(|set| set["purpose"] == "secure");
    let (least, most) = secure.fold((f64::MAX, 0.0), |(least, most), set| {
        (bits(set).min(least), bits(set).max(most))
    });
    let range = format!("estimated at {least:.1} to {most:.1} bits");
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains(&range), "README.md lacks: {range}");
    let schemes = ["bgv/", "tfhe/", "ntru/", "dghv/"];
    let of_scheme = |name: &&str| schemes.iter().any(|scheme| name.starts_with(scheme));
    let mut count = 0;
    for quote in quoted(&text).filter(of_scheme) {
        let there = sets.iter().any(|set| name(set) == quote);
        assert!(there, "README.md names {quote}");
        count += 1;
    }
    assert!(count > 5, "{count} names");
}

/// A table of Markdown. Sets whose other cells are the same share a row.
fn table(head: &str, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut merged: Vec<Vec<String>> = Vec::new();
    for row in rows {
        match merged.iter_mut().find(|other| other[1..] == row[1..]) {
            Some(other) => other[0] += &format!(", {}", row[0]),
            None => merged.push(row),
        }
    }
    let head: Vec<&str> = head.split(" | ").collect();
    Cells::new(&head, merged).markdown()
}

/// One cell for several names: the words that all begin with, or else every name.
fn joined(names: &[&str]) -> String {
    let word = |name: &str, i: usize| name.split(' ').nth(i).map(str::to_owned);
    let shared = (0..).map_while(|i| {
        let first = word(names[0], i)?;
        let same = names
            .iter()
            .all(|name| word(name, i).as_ref() == Some(&first));
        same.then_some(first)
    });
    match shared.collect::<Vec<_>>().join(" ") {
        none if none.is_empty() => names.join("; "),
        shared => shared,
    }
}

/// Everything a set publishes: names, size and figures. Names with the same size and figures share a row.
fn estimates(set: &Value) -> Vec<Vec<String>> {
    let mut found: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    for line in published(set) {
        let what = line["what"].as_str().unwrap();
        let what = what.split(", LWE dimension").next().unwrap();
        let size = if in_the_ring(line) {
            format!("q = 2^{:.1}", number(&line["modulus_bits"]))
        } else {
            let blocks = block(line).map_or(String::new(), |b| format!(" in blocks of {b}"));
            let sigma = number(&line["log2_sigma"]);
            format!("n = {}{blocks}, σ = 2^{sigma:.2}", line["dimension"])
        };
        let figures = COLUMNS.map(|column| format!("{:.1}", number(&line["estimate"][column])));
        let cells = [vec![size], figures.to_vec()].concat();
        match found.iter_mut().find(|(_, other)| *other == cells) {
            Some((names, _)) => names.push(what),
            None => found.push((vec![what], cells)),
        }
    }
    let rows = found.into_iter();
    rows.map(|(names, cells)| [vec![joined(&names)], cells].concat())
        .collect()
}

/// Bits with rotations if a search costs less, from the output of `tools/estimate`.
fn sensitivity() -> String {
    let found = &results()["sensitivity"];
    let exponents = found["exponents"].as_array().unwrap().iter();
    let head: String = exponents.map(|x| format!(" | x = {x}")).collect();
    let secure = |set: &Value| set["scheme"] == "bgv" && set["purpose"] == "secure";
    let sets: Vec<Value> = sets().into_iter().filter(secure).collect();
    assert_eq!(found["sets"].as_object().unwrap().len(), sets.len());
    let rows = sets.iter().map(|set| {
        let bits = found["sets"][name(set)].as_array().unwrap().iter();
        let bits = bits.map(|bits| format!("{:.1}", number(bits)));
        [quoted_name(set)].into_iter().chain(bits).collect()
    });
    table(&format!("sets{head}"), rows)
}

/// In backticks.
fn quoted_name(set: &Value) -> String {
    format!("`{}`", name(set))
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
#[expect(clippy::too_many_lines, reason = "one page, from top to bottom")]
fn page_of_parameters() -> String {
    let sets = all_sets();
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
            quoted_name(set),
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
    let protecting = self::sets();
    let costs = protecting.iter().flat_map(|set| {
        let rows = estimates(set).into_iter();
        rows.map(|row| [vec![quoted_name(set)], row].concat())
    });
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
                quoted_name(set),
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
            quoted_name(set),
            grouped(&set["secret_key_bytes"]),
            grouped(&set["eval_key_bytes"]),
            grouped(&set["wrapped_key_bytes"]),
            grouped(&set["ciphertext_bytes_per_batch"]),
        ]
    });
    format!(
        "\
# Parameter sets

A test generates this page from `homaes params --json` and `tools/estimate/results.json`. Do not edit it:
`UPDATE_DOCS=1 cargo test --release -p homaes-cli --test all estimates::` writes it.

## Security and failure

Only sets of purpose `secure` protect data; [SECURITY.md](SECURITY.md) explains the figures.

- *claimed*: bits of security. For purpose `paper` the paper claims them, not this project.
- *estimated*: log2 of the cost of the cheapest known attack; *with rotations*: the same if the attacker uses the symmetries of the
  ring; *quantum*: on a quantum computer, on which no claim rests. `~` marks an order of magnitude, for NTRU the cost of LLL.
- *p_fail*: log2 of the probability that a batch decrypts wrongly; *of 10^6*: that any of 10^6 batches does.

{}
Assumptions beyond those of all sets of a scheme:

{assumptions}
## Estimates

Everything published under a secret key, and log2 of the cost of the cheapest known attack on it. A size is the modulus q in the ring of
degree 32768, or the LWE dimension n and the noise σ as a fraction of the torus.

- *bits*: classical gates by the MATZOV model under the geometric series assumption; the cheapest of uSVP, BDD, hybrids with and
  without a meet-in-the-middle and, for binary secrets, the dual hybrid. The attacker does not use the ring.
- *no tables*: without meet-in-the-middle and dual attacks, whose tables of 2^70 to 2^90 entries otherwise cost nothing.
- *rotations*: the attacker uses the ring and tables of any size. **Claims rest on this column.** All columns to its right count
  rotations too.
- *core-SVP*: one sieve of 2^(0.292 β) operations, or 2^(0.265 β) on a quantum computer, instead of a whole reduction. This is not a
  number of operations and lies 17 to 30 bits below one.
- *quantum*: whole reductions with quantum sieves of 2^(0.265 β + 16.4) and Grover's search. Quantum gates and memory cost what
  classical ones do.

No column counts memory. Key-switching keys are published in parts, each an encryption of its own; the row is for the part with the
largest modulus.

{}
A search of S guesses costs S^0.5, by a meet-in-the-middle. If representations (Meet-LWE) bring the cost to S^x, these bits remain with
rotations (at the exact modulus; the table above interpolates from below):

{}
## Layouts, and what is left to compute

Multiplications in sequence that AES can leave for the results, by AES key size (`wrap-key --levels-left`). – means that the set does not
carry this key size, *any* that results can be bootstrapped.

{}
## Sizes

Bytes, the same on every machine: secret key, evaluation key, wrapped key of the largest AES key that the set carries, and FHE
ciphertexts of one full batch, the last two in the set's first layout. A packed batch and its wrapped key take a sixteenth of
byte-sliced ones. A passphrase adds about 180 bytes to the secret key.

{}",
        table(
            "set | purpose | claimed | estimated | with rotations | quantum | p_fail | of 10^6",
            security
        ),
        table(
            "set | what | size | bits | no tables | rotations | rotations, no tables | core-SVP | quantum core-SVP | quantum",
            costs
        ),
        sensitivity(),
        table("set | layout | blocks per batch | AES-128 | AES-192 | AES-256", layouts),
        table("set | `.hsk` | `.hek` | `.hwk` | `.hct`, per batch", sizes),
    )
}

/// PARAMETERS.md says what `homaes params` says.
#[test]
fn the_page_of_parameters_is_up_to_date() {
    let page = page_of_parameters();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(root().join("PARAMETERS.md"), &page).unwrap();
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
    let of = |owner: &str| {
        source.contains(&format!("impl {owner}")) || source.contains(&format!("> {owner}"))
    };
    let owned = owner.is_none_or(of);
    found.any(starts) && owned
}

/// The walks of ARCHITECTURE.md lead through files and functions that exist.
#[test]
fn the_walks_lead_through_the_code() {
    let text = file("ARCHITECTURE.md");
    let (mut path, mut functions) = (String::new(), 0);
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        let [step, of_file, of_function, _] = cells[..] else {
            continue;
        };
        if step.trim().parse::<usize>().is_err() {
            continue;
        }
        // a step without a file is in the file of the step above
        if let Some(file) = quoted(of_file).next() {
            path = file.to_owned();
        }
        let source = file(&format!("crates/{path}"));
        for name in quoted(of_function) {
            assert!(defines(&source, name), "{path}: {name}");
            functions += 1;
        }
    }
    assert!(functions > 45, "{functions} functions");
    let mut files = 0;
    let named = |path: &&str| path.starts_with("homaes") && path.contains('/');
    let crates = root().join("crates");
    for path in quoted(&text).filter(named) {
        assert!(crates.join(path).exists(), "{path}");
        files += 1;
    }
    assert!(files > 50, "{files} files");
    for entry in fs::read_dir(crates).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(text.contains(&format!("`{name}`")), "{name} has no line");
    }
}
