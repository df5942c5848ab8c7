//! The security figures of the repository agree: `homaes params --json`, the output of `tools/estimate`, and
//! PARAMETERS.md, which is generated from both. `tools/estimate/README.md` says how to refresh them.

use crate::common::{all_sets, check_page, file, root, with_region};
use homaes_lab::{Cells, units};
use serde_json::Value;
use std::fs;

const COLUMNS: &str = "bits without_tables with_rotations with_rotations_without_tables core_svp \
    core_svp_quantum quantum";

/// The sets that protect something, or claim to. NTRU and DGHV are broken whatever the set, and `tools/estimate` does
/// not cost them.
fn sets() -> Vec<&'static Value> {
    let (broken, sets): (Vec<_>, Vec<_>) = all_sets()
        .iter()
        .filter(|set| {
            let toy = set["purpose"] == "toy";
            assert!(!toy || set["security_bits_estimated"].is_null());
            !toy
        })
        .partition(|set| set["scheme"] == "ntru" || set["scheme"] == "dghv");
    assert!(broken.len() >= 4);
    for set in broken {
        assert_eq!(set["purpose"], "paper");
        let bits = number(&set["security_bits_estimated"]);
        match set["scheme"] == "ntru" {
            true => assert!(bits == 48.0 && is_order_of_magnitude(set), "{set}"),
            // below what the paper gives them
            false => assert!(bits < number(&set["security_bits_claimed"]), "{set}"),
        }
    }
    sets
}

fn name(set: &Value) -> &str {
    set["name"].as_str().unwrap()
}

fn published(set: &Value) -> &[Value] {
    set["published"].as_array().unwrap()
}

/// log2 of the least modulus at which the table of this ring is fine; claims are at larger ones. `None` for the rings
/// of bridge keys.
fn fine_from(line: &Value) -> Option<f64> {
    match line["ring_degree"].as_u64() {
        Some(32768) => Some(700.0),
        Some(65536) => Some(1200.0),
        _ => None,
    }
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
    for set in sets() {
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
            let (below, above) = if let Some(fine) = fine_from(line) {
                match line["secret_weight"].as_u64() {
                    Some(own) => assert_eq!(instance[1], own),
                    None => assert_eq!(set["secret_weight"], format!("h={}", instance[1])),
                }
                same("modulus_bits", 2);
                match number(&line["modulus_bits"]) < fine {
                    true => (40.0, 0.5),
                    false => (0.8, 0.2),
                }
            } else {
                same("dimension", 1);
                same("log2_sigma", 2);
                same("ring_degree", 3);
                check_blocks(set, line, found);
                (1e-9, 0.2)
            };
            for column in COLUMNS.split(' ') {
                let stated = number(&line["estimate"][column]);
                let computed = number(&found[column]["bits"]);
                let range = computed - below..=computed + above;
                assert!(range.contains(&stated), "{column}: {computed} {set} {line}");
            }
        }
        for column in COLUMNS.split(' ') {
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
    // the file of a full batch, whose length every machine measures alike
    let baseline = homaes_lab::baseline();
    let full = |run: &&homaes_lab::Run| run.set == name(demo) && run.layout == "sliced";
    let batch = units::bytes(baseline.runs.iter().find(full).unwrap().ciphertext_bytes);
    for line in [
        format!("set                      {}", name(demo)),
        format!(
            "security                 {claimed} bits claimed, {estimated:.1} estimated, {rotations:.1} with rotations"
        ),
        format!("p_fail                   2^{p_fail:.1} per batch"),
        format!("size of evaluation key   {}", size("eval_key_bytes")),
        format!("size of FHE ciphertexts  {batch}"),
    ] {
        assert!(
            text.contains(&format!("\n{line}\n")),
            "README.md lacks: {line}"
        );
    }
    let bits = |set: &Value| number(&set["security_bits_with_rotations"]);
    let secure = sets.iter().filter(|set| set["purpose"] == "secure");
    let least = secure.clone().map(bits).fold(f64::MAX, f64::min);
    let most = secure.map(bits).fold(0.0, f64::max);
    let range = format!("estimated at {least:.1} to {most:.1} bits");
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains(&range), "README.md lacks: {range}");
    let schemes = ["bgv/", "tfhe/", "ntru/", "dghv/"];
    let named = quoted(&text).filter(|name| schemes.iter().any(|scheme| name.starts_with(scheme)));
    let named: Vec<&str> = named.collect();
    let unknown = named
        .iter()
        .find(|quote| sets.iter().all(|set| name(set) != **quote));
    assert_eq!(unknown, None, "README.md names it");
    assert!(named.len() > 5, "{named:?}");
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
    const IN_K: &str = ", in K";
    let bare: Option<Vec<&str>> = names.iter().map(|name| name.strip_suffix(IN_K)).collect();
    if let Some(bare) = bare {
        return joined(&bare) + IN_K;
    }
    if let [name] = names {
        return (*name).to_owned();
    }
    let mut shared: Vec<&str> = names[0].split(' ').collect();
    for name in names {
        let same = shared.iter().zip(name.split(' '));
        let same = same.take_while(|(one, other)| *one == other).count();
        shared.truncate(same);
    }
    shared.pop_if(|last| *last == "for");
    match shared.is_empty() {
        true => names.join("; "),
        false => shared.join(" "),
    }
}

/// Everything a set publishes: names, size and figures. Names with the same size and figures share a row.
fn estimates(set: &Value) -> Vec<Vec<String>> {
    let mut found: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    for line in published(set) {
        let what = line["what"].as_str().unwrap();
        let what = what.split(", LWE dimension").next().unwrap();
        let size = if fine_from(line).is_some() {
            format!("q = 2^{:.1}", number(&line["modulus_bits"]))
        } else {
            let blocks = block(line).map_or(String::new(), |b| format!(" in blocks of {b}"));
            let sigma = number(&line["log2_sigma"]);
            format!("n = {}{blocks}, σ = 2^{sigma:.2}", line["dimension"])
        };
        let figures = COLUMNS
            .split(' ')
            .map(|column| number(&line["estimate"][column]));
        let figures = figures.map(|bits| format!("{bits:.1}"));
        let cells: Vec<_> = [size].into_iter().chain(figures).collect();
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
    let secure = |set: &&Value| set["scheme"] == "bgv" && set["purpose"] == "secure";
    let sets: Vec<_> = sets().into_iter().filter(secure).collect();
    assert_eq!(found["sets"].as_object().unwrap().len(), sets.len());
    let rows = sets.into_iter().map(|set| {
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

/// PARAMETERS.md has the tables of `homaes params`, and of `tools/estimate`.
#[test]
fn the_page_of_parameters_is_up_to_date() {
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
        let claimed = claimed.map_or("none".to_owned(), |bits| bits.to_string());
        let purpose = set["purpose"].as_str().unwrap().to_owned();
        let figures = "security_bits_estimated security_bits_with_rotations security_bits_quantum \
            log2_p_fail log2_p_fail_per_million_batches";
        let figures = figures.split(' ').map(|field| bits(set, field));
        let start = [quoted_name(set), purpose, claimed];
        start.into_iter().chain(figures).collect()
    });
    let costs = self::sets().into_iter().flat_map(|set| {
        let rows = estimates(set).into_iter();
        rows.map(|row| [vec![quoted_name(set)], row].concat())
    });
    let layouts = sets.iter().flat_map(|set| {
        let layouts = set["layouts"].as_array().unwrap();
        layouts.iter().map(|layout| {
            let all = &layout["levels_left_by_key_bits"];
            // a layout carries AES-128 at least: without any figure there is no limit
            let limited = all["128"].is_u64();
            let left = ["128", "192", "256"].map(|size| match (all[size].as_u64(), limited) {
                (Some(left), _) => left.to_string(),
                (None, true) => "–".to_owned(),
                (None, false) => "any".to_owned(),
            });
            let title = layout["layout"].as_str().unwrap().to_owned();
            let start = [
                quoted_name(set),
                title,
                grouped(&layout["blocks_per_batch"]),
            ];
            [&start[..], &left].concat()
        })
    });
    let sizes = sets.iter().map(|set| {
        let fields = "secret_key_bytes eval_key_bytes wrapped_key_bytes ciphertext_bytes_per_batch";
        let sizes = fields.split(' ').map(|field| grouped(&set[field]));
        let mut row: Vec<_> = [quoted_name(set)].into_iter().chain(sizes).collect();
        let layouts = set["layouts"].as_array().unwrap().iter();
        let mut keys = layouts.map(|layout| &layout["eval_key_bytes"]);
        let smaller = keys.find(|bytes| **bytes != set["eval_key_bytes"]);
        row.insert(3, smaller.map_or_else(|| "–".to_owned(), grouped));
        row
    });
    let security_head =
        "set | purpose | claimed | estimated | with rotations | quantum | p_fail | of 10^6";
    let estimates_head = "set | what | size | bits | no tables | rotations | rotations, no tables \
        | core-SVP | quantum core-SVP | quantum";
    let layouts_head = "set | layout | blocks per batch | AES-128 | AES-192 | AES-256";
    let sizes_head = "set | `.hsk` | `.hek` | `.hek`, sliced | `.hwk` | `.hct`, per batch";
    let regions = [
        ("security", table(security_head, security)),
        ("assumptions", sets.iter().map(assumptions).collect()),
        ("estimates", table(estimates_head, costs)),
        ("searches", sensitivity()),
        ("layouts", table(layouts_head, layouts)),
        ("sizes", table(sizes_head, sizes)),
    ];
    let page = file("PARAMETERS.md");
    let page = regions
        .iter()
        .fold(page, |page, (name, text)| with_region(&page, name, text));
    check_page("PARAMETERS.md", &page);
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
    let (owner, function) = name.rsplit_once("::").unwrap_or(("", name));
    let of = |start: &str| source.contains(&format!("{start} {owner}"));
    let owned = owner.is_empty() || of("impl") || of(">");
    let defined = |after: &str| source.contains(&format!("fn {function}{after}"));
    owned && (defined("(") || defined("<"))
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
        path = quoted(of_file).next().map_or(path, str::to_owned);
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
