//! `bench all`, `bench compare`, `bench papers` and `report`, and the pages that they make; completions and the manual.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{World, cells, file, root};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const BASELINE: &str = "crates/homaes-lab/data/baseline.json";

const STALE: &str = "stale: run UPDATE_DOCS=1 cargo test --release -p homaes-cli --test all lab::";

/// A world with three documents: `lab.json` of the repository, `run.json` of a toy, and `own.json` of a user's run.
fn world() -> World {
    static RUN: OnceLock<String> = OnceLock::new();
    let world = World::new();
    world.write("lab.json", file(BASELINE));
    let bench = || world.ok("bench bgv --set bgv/toy-255 --noise --json").out;
    world.write("run.json", RUN.get_or_init(bench));
    world.ok("$transcipher c -o x.hct --report own.json");
    world
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Whether pages are to be written instead of compared.
fn updates() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}

/// A page of the repository must be the one that was `made`.
fn check_page(name: &str, made: &str) {
    if updates() {
        fs::write(root().join(name), made).unwrap();
    }
    assert!(file(name) == made, "{name} is {STALE}");
}

#[test]
fn noise_is_measured_below_the_bound_after_every_round() {
    let world = world();
    let run = json(&world.text("run.json"));
    let rounds = run["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 11);
    for round in rounds {
        let [bound, measured] =
            ["noise_bits", "measured_noise_bits"].map(|field| round[field].as_f64().unwrap());
        assert!(1.0 < measured && measured < bound, "{round}");
    }
    let stages = |round: &Value| -> f64 {
        let stages = round["stage_seconds"].as_object().unwrap();
        stages.values().map(|s| s.as_f64().unwrap()).sum()
    };
    assert!(stages(&rounds[5]) > 0.0, "{run}");
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
        "blocks": 16 => "blocks": "16" => invalid type
        "correct": true => "correct": false => incorrect
        "blocks": 16 => "blocks": 0 => blocks is 0
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
    world.fails(1, "report no.json -o r.html", "no.json");
    world.fails(2, "report -o r.html", "FILE");
}

#[test]
fn comparisons_tell_changes_from_noise() {
    let world = world();
    // the document of the repository with little noise
    let mut quiet = json(&file(BASELINE));
    for run in quiet["runs"].as_array_mut().unwrap() {
        for values in run["samples"].as_object_mut().unwrap().values_mut() {
            let first = values[0].as_f64().unwrap();
            *values = vec![first, first * 1.01].into();
        }
    }
    world.write("lab.json", quiet.to_string());
    let run = world.ok("bench compare lab.json lab.json --check");
    assert!(run.out.ends_with("no change\n"), "{}", run.out);
    for run in quiet["runs"].as_array_mut().unwrap() {
        if run["set"] == "tfhe/p64" {
            let samples = run["samples"]["seconds"].as_array_mut().unwrap();
            let third = |value: &mut Value| *value = Value::from(1.33 * value.as_f64().unwrap());
            samples.iter_mut().for_each(third);
        }
    }
    world.write("slower.json", quiet.to_string());
    // with --check, standard output names the slower run
    for (check, code, error) in [
        ("", 0, ""),
        (
            "--check",
            1,
            "error: something became slower or worse, or is missing; see above\n",
        ),
    ] {
        let run = world.run(&format!("bench compare lab.json slower.json {check}"));
        assert_eq!((run.code, &run.err[..]), (Some(code), error), "{run:?}");
        run.says("SLOWER: tfhe/p64");
        assert!(!run.out.contains("SLOWER: bgv"), "{}", run.out);
    }
    world.table("bench compare slower.json lab.json --check => faster: tfhe/p64");
    world.fails(1, "bench compare own.json run.json", "no run in common");
}

/// A budget of thirty seconds begins with the default sets, and ends.
#[test]
#[ignore = "half a minute on all cores"]
fn everything_within_a_time() {
    let world = World::new();
    let run = world.ok("bench all --budget 30s --json");
    let lab = json(&run.out);
    let runs = lab["runs"].as_array().unwrap();
    assert!(!runs.is_empty() && runs.iter().all(|run| run["correct"] == true));
    assert!(!lab["skipped"].as_array().unwrap().is_empty());
    assert!(lab["wall_seconds"].as_f64().unwrap() < 60.0);
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

/// A page with `text` in the region between `<!-- name -->` and `<!-- end -->`.
fn with_region(page: &str, name: &str, text: &str) -> String {
    let (before, rest) = page.split_once(&format!("<!-- {name} -->\n")).unwrap();
    let (_, after) = rest.split_once("<!-- end -->\n").unwrap();
    format!("{before}<!-- {name} -->\n{text}<!-- end -->\n{after}")
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
        let paths = entries.map(|entry| entry.unwrap().path());
        let named = |path: PathBuf| {
            (
                path.file_name().unwrap().to_owned(),
                fs::read(path).unwrap(),
            )
        };
        paths.map(named).collect()
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
    for set in world.json("params --json").as_array().unwrap() {
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
    check_page("docs/choosing.md", &homaes_lab::choosing(&baseline));
    let readme = file("README.md");
    let (before, rest) = readme.split_once("<!-- measured -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- /measured -->\n").unwrap();
    let table = homaes_lab::readme(&baseline);
    let marked = format!("<!-- measured -->\n{table}<!-- /measured -->\n");
    check_page("README.md", &format!("{before}{marked}{after}"));
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
    for set in world.json("params --json").as_array().unwrap() {
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
    world.fails(2, "completions csh", "csh").warns("bash");
    world.table("man --out pages =1 homaes … --force");
}

/// A browser, if there is one.
fn browser() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.into_iter().find(|name| {
        let found = Command::new(name).arg("--version").output();
        found.is_ok_and(|found| found.status.success())
    })
}

/// A browser loads the page without a message, and texts of pictures neither overlap nor leave their picture.
#[test]
fn a_browser_loads_the_page() {
    let Some(browser) = browser() else {
        println!("SKIPPED: no chromium");
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
        command.args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--dump-dom",
        ]);
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
