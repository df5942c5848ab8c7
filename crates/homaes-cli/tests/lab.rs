//! `bench all`, `bench compare`, `bench papers` and `report`, and the pages that they make; completions and the manual.

use crate::common::{
    STALE, World, all_sets, assert_fields, assert_positive, cells, check_page, check_shares, file,
    has, root, updates, with_region,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

const BASELINE: &str = "crates/homaes-lab/data/baseline.json";

/// A world with three documents: `lab.json` of the repository, `run.json` of a toy, and `own.json` of a user's run.
fn world() -> World {
    static RUN: OnceLock<String> = OnceLock::new();
    let world = World::new();
    world.write("lab.json", file(BASELINE));
    let bench = || world.ok(BENCH).out;
    world.write("run.json", RUN.get_or_init(bench));
    world.ok("$transcipher c -o x.hct --report own.json");
    world
}

const BENCH: &str = "bench bgv --set bgv/toy-255 --noise --threads 2 --blocks 20 --key-bits 256 \
    --direction decrypt --json";

/// Noise is measured below the bound after every round.
#[test]
fn benchmarks_print_one_document() {
    let run = world().document("run.json");
    let expected = json!({
        "set": "bgv/toy-255", "purpose": "toy", "layout": "sliced", "direction": "decrypt", "correct": true,
        "blocks": 20, "batches": 2, "threads": 2, "key_bits": 256, "levels_left": 0,
    });
    assert_fields(&run, expected);
    let times = "keygen_seconds load_key_seconds wrap_seconds load_wrapped_seconds seconds setup_seconds \
        decrypt_seconds ms_per_block ns_per_transform reference_ntt_ns aes_over_reference_ntt transforms \
        eval_key_bytes wrapped_key_bytes ciphertext_bytes";
    assert_positive(&run, times);
    assert_eq!(run["seconds_per_round"].as_array().unwrap().len(), 15);
    check_shares(&run);
    if cfg!(target_os = "linux") {
        assert!(run["peak_rss_bytes"].as_u64().unwrap() > 1 << 20);
    }
    let rounds = run["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 15);
    for round in rounds {
        let bits = |field: &str| round[field].as_f64().unwrap();
        let (bound, measured) = (bits("noise_bits"), bits("measured_noise_bits"));
        assert!(1.0 < measured && measured < bound, "{round}");
    }
    let stages = rounds[5]["stage_seconds"].as_object().unwrap().values();
    assert!(stages.map(|s| s.as_f64().unwrap()).sum::<f64>() > 0.0);
}

#[test]
fn pages_are_written_whole_or_not_at_all() {
    let world = world();
    let run = world.ok("report lab.json run.json own.json -o r.html --md B.md --svg pictures");
    assert!(run.out.lines().count() > 5, "{}", run.out);
    let page = world.text("r.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(!page.contains("<script"));
    // the pictures of the page exist
    let text = world.text("B.md");
    let mut shown = 0;
    for line in text.lines().filter(|line| line.starts_with("![")) {
        let name = line.rsplit('(').next().unwrap().trim_end_matches(')');
        assert!(world.read(name).starts_with(b"<svg"), "{name}");
        shown += 1;
    }
    assert!(shown >= 3, "{text}");
    // an existing output: nothing is written
    world.table("report run.json -o new.html --md B.md =1 B.md … --force");
    // a table on the terminal
    let run = world.ok("report run.json own.json");
    assert_eq!(run.out.matches("bgv/toy-255").count(), 2, "{}", run.out);
}

#[test]
fn documents_of_other_kinds_are_named() {
    let world = world();
    let (lab, run) = (world.text("lab.json"), world.text("run.json"));
    let cases = r#"
        "threads" => "thread" => missing field `threads`
        "blocks": 20 => "blocks": "20" => invalid type
        "correct": true => "correct": false => incorrect
        "blocks": 20 => "blocks": 0 => blocks is 0
    "#;
    let changed = cells(cases).map(|[from, to, words]| (run.replace(from, to), words));
    let others = [
        ("", "not JSON"),
        (&lab[..lab.len() / 2], "not JSON"),
        ("{\"a\": 1}", "found JSON without 'runs'"),
        ("[]", "found JSON without 'runs'"),
    ];
    let others = others.map(|(text, words)| (text.to_owned(), words));
    for (text, words) in changed.chain(others) {
        world.write("bad", text);
        world.table(&format!("report bad -o x.html =1 bad … {words}"));
    }
    world.table("report no.json -o r.html =1 no.json\n report -o r.html =2 FILE");
}

#[test]
fn comparisons_tell_changes_from_noise() {
    let world = world();
    // the document of the repository with little noise
    let pair = |values: &mut Value, factor: f64| {
        let first = factor * values[0].as_f64().unwrap();
        *values = vec![first, 1.01 * first].into();
    };
    let mut quiet = world.document("lab.json");
    for run in quiet["runs"].as_array_mut().unwrap() {
        let samples = run["samples"].as_object_mut().unwrap();
        samples.values_mut().for_each(|values| pair(values, 1.0));
    }
    world.write("lab.json", quiet.to_string());
    let run = world.ok("bench compare lab.json lab.json --check");
    assert!(run.out.ends_with("no change\n"), "{}", run.out);
    let runs = quiet["runs"].as_array_mut().unwrap().iter_mut();
    for run in runs.filter(|run| run["set"] == "tfhe/p64") {
        pair(&mut run["samples"]["seconds"], 1.33);
    }
    world.write("slower.json", quiet.to_string());
    // with --check, standard output names the slower run
    let error = "error: something became slower or worse, or is missing; see above\n";
    for (check, code, error) in [("", 0, ""), ("--check", 1, error)] {
        let run = world.run(&format!("bench compare lab.json slower.json {check}"));
        assert_eq!((run.code, &run.err[..]), (Some(code), error), "{run:?}");
        run.says("SLOWER: tfhe/p64");
        assert!(!run.out.contains("SLOWER: bgv"), "{}", run.out);
    }
    world.table(
        "bench compare slower.json lab.json --check => faster: tfhe/p64
        bench compare own.json run.json =1 no run in common",
    );
}

#[test]
fn budgets_are_of_everything() {
    World::new().table(
        "bench bgv --budget 1m =2 --budget works only with 'bench all'
        bench all --budget 1s =2 expected a time from 30s to 7days
        bench all --budget 20m --set bgv/toy-255 =2 --set
        bench kernels --noise =2 --noise",
    );
}

/// BENCHMARKS.md shows the document in the repository, as `report` does, and names every set.
#[test]
fn the_page_of_benchmarks_is_up_to_date() {
    let world = World::new();
    world.write("lab.json", file(BASELINE));
    world.ok("report lab.json --md B.md --svg docs/pictures");
    let made = world.text("B.md");
    let tables = made.strip_prefix("# Measurements\n\n").unwrap();
    let page = with_region(&file("BENCHMARKS.md"), "measured", tables);
    check_page("BENCHMARKS.md", &page);
    let pictures = |folder: &Path| -> BTreeMap<_, _> {
        let entries = fs::read_dir(folder.join("docs/pictures")).unwrap();
        let entries = entries.map(Result::unwrap);
        entries
            .map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap()))
            .collect()
    };
    let made = pictures(&world.at(""));
    if updates() {
        let _ = fs::remove_dir_all(root().join("docs/pictures"));
        fs::create_dir_all(root().join("docs/pictures")).unwrap();
        for (name, text) in &made {
            fs::write(root().join("docs/pictures").join(name), text).unwrap();
        }
    }
    assert!(pictures(&root()) == made, "docs/pictures is {STALE}");
    let baseline = homaes_lab::baseline();
    for set in all_sets() {
        let name = set["name"].as_str().unwrap();
        // measured with files of the size that the set states
        for run in baseline.runs.iter().filter(|run| run.set == name) {
            assert_eq!(set["eval_key_bytes"], run.eval_key_bytes, "{name}");
        }
        let there = page.split([' ', ',']).any(|word| word == name);
        assert!(there, "{name} is not in BENCHMARKS.md: measure again");
    }
}

/// docs/choosing.md, and the table of README.md, show the document in the repository.
#[test]
fn the_tables_of_choices_are_up_to_date() {
    let baseline = homaes_lab::baseline();
    check_page(
        "docs/choosing.md",
        &homaes_lab::choosing(&file("docs/choosing.md"), &baseline),
    );
    let table = homaes_lab::readme(&baseline);
    let page = with_region(&file("README.md"), "measured", &table);
    check_page("README.md", &page);
}

/// The sections of a page, by heading.
fn sections(page: &str) -> Vec<(&str, &str)> {
    let sections = page.split("\n## ").skip(1);
    sections
        .map(|section| section.split_once('\n').unwrap())
        .collect()
}

/// The table that `bench papers` measures. docs/papers.md keeps it until somebody pastes a new one.
const MEASURED: &str = "clt14";

/// The tables of docs/papers.md are those that `bench papers` prints.
#[cfg(feature = "dghv")]
#[test]
fn the_papers_tables_are_up_to_date() {
    let world = World::new();
    let made = world.ok("bench papers --quick").out;
    let made = sections(&made);
    let mut page = file("docs/papers.md");
    for (name, text) in &made {
        let text = text.trim().to_owned() + "\n";
        if *name != MEASURED {
            page = with_region(&page, name, &text);
            continue;
        }
        let (_, rest) = page.split_once(&format!("<!-- {name} -->\n")).unwrap();
        let (stored, _) = rest.split_once("<!-- end -->\n").unwrap();
        let printed = text.lines().filter(|line| line.contains("| printed |"));
        for line in text.lines().take(2).chain(printed) {
            assert!(stored.contains(line), "{name}: {line}");
        }
        assert!(stored.lines().count() >= text.lines().count(), "{name}");
        assert!(!stored.contains("not measured"), "{name}");
    }
    check_page("docs/papers.md", &page);
    // a row for every set that is not a toy, but the system of ntru/hybrid with more levels
    for set in all_sets() {
        let name = set["name"].as_str().unwrap();
        if set["purpose"] == "paper" && name != "ntru/hybrid256" {
            assert!(made[0].1.contains(&format!("`{name}`")), "{name}");
        }
    }
}

#[test]
fn completions_and_manual_know_every_command() {
    let world = World::new();
    let help = world.ok("--help").out;
    let (_, commands) = help.split_once("\nCommands:\n").unwrap();
    let lines = commands.lines().take_while(|line| !line.is_empty());
    let commands: Vec<&str> = lines
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let commands = commands.strip_suffix(&["help"]).unwrap();
    assert!(commands.len() >= 12, "{commands:?}");
    let page = world.ok("man").out.replace("\\-", "-");
    world.ok("man --out pages");
    for command in commands {
        assert!(page.contains(&format!("homaes-{command}(1)")), "{command}");
        let page = world.text(&format!("pages/homaes-{command}.1"));
        assert!(page.contains(".SH SYNOPSIS"), "{command}");
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.ok(&format!("completions {shell}"));
        for word in commands.iter().chain(&["wrapped-key"]) {
            script.says(word);
        }
    }
    world.table("completions csh =2 csh … bash\n man --out pages =1 homaes … --force");
}

/// A browser loads the page without a message, and texts of pictures neither overlap nor leave their picture.
#[test]
fn a_browser_loads_the_page() {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let Some(browser) = names
        .into_iter()
        .find(|name| has(Command::new(name).arg("--version")))
    else {
        return;
    };
    let world = world();
    world.ok("report lab.json -o r.html");
    let page = world.text("r.html");
    // the script writes its findings into the document
    let probe = "<script>
addEventListener('load', () => {
  const wrong = [];
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) wrong.push('wider than the window');
  const shown = [...document.querySelectorAll('svg')].filter(svg => svg.getBoundingClientRect().width > 0);
  for (const svg of shown) {
    const box = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')];
    const boxes = texts.map(text => text.getBoundingClientRect());
    texts.forEach((text, i) => {
      const b = boxes[i];
      const name = text.textContent.trim();
      if (b.left < box.left - 1 || b.right > box.right + 1 || b.top < box.top - 1 || b.bottom > box.bottom + 1)
        wrong.push('outside: ' + name);
      for (let k = 0; k < i; k++) {
        const c = boxes[k];
        const x = Math.min(b.right, c.right) - Math.max(b.left, c.left);
        const y = Math.min(b.bottom, c.bottom) - Math.max(b.top, c.top);
        // boxes of letters reach above and below what is drawn
        if (x > 1 && y > 4) wrong.push('overlap: ' + name + ' / ' + texts[k].textContent.trim());
      }
    });
  }
  const report = document.createElement('pre');
  report.textContent = 'PICTURES ' + shown.length + '\\n' + wrong.map(w => 'WRONG ' + w + '\\n').join('') + 'END';
  document.body.appendChild(report);
});
</script></body>";
    world.write("probed.html", page.replace("</body>", probe));
    for width in [1000, 500] {
        let mut command = Command::new(browser);
        command.args("--headless=new --no-sandbox --disable-gpu --dump-dom".split(' '));
        command.arg("--enable-logging=stderr");
        command.arg(format!("--window-size={width},900"));
        command.arg(format!("--user-data-dir={}", world.at("profile").display()));
        command.arg(format!("file://{}", world.at("probed.html").display()));
        let run = command.output().unwrap();
        let [dom, log] = [run.stdout, run.stderr].map(|text| String::from_utf8(text).unwrap());
        // the source of the script has the word too
        let wrong = |line: &&str| line.contains("WRONG ") && !line.contains("wrong.map");
        let console = |line: &&str| line.contains("CONSOLE");
        let found = dom.lines().filter(wrong).chain(log.lines().filter(console));
        assert_eq!(found.collect::<Vec<_>>(), Vec::<&str>::new(), "{width}");
        let pictures = dom.lines().find_map(|line| {
            let (_, count) = line.split_once("PICTURES ")?;
            count.trim().parse::<u32>().ok()
        });
        assert_eq!(pictures, Some(4), "{width}: {log}");
    }
}
