//! `bench all`, `bench compare`, `bench papers` and `report`, and the pages that they make; completions and the manual.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use crate::common::World;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn file(name: &str) -> String {
    let text = fs::read_to_string(root().join(name));
    text.unwrap_or_else(|error| panic!("{name}: {error}"))
}

const BASELINE: &str = "crates/homaes-lab/data/baseline.json";

/// A world with three documents: `lab.json` of the repository, `run.json` of a toy, and `own.json` of a user's run.
fn world() -> World {
    let world = World::new();
    world.write("lab.json", file(BASELINE).as_bytes());
    let run = world.ok("bench bgv --set bgv/toy-255 --noise --json");
    world.write("run.json", run.out.as_bytes());
    world.ok("transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --iv fffffffffffffffffffffffffffffffe c -o x.hct --report own.json");
    world
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn noise_is_measured_below_the_bound_after_every_round() {
    let world = world();
    let run = json(&String::from_utf8(world.read("run.json")).unwrap());
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
    let page = String::from_utf8(world.read("r.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(!page.contains("<script"));
    let text = String::from_utf8(world.read("B.md")).unwrap();
    // the pictures of the page exist
    let shown: Vec<&str> = text
        .lines()
        .filter_map(|line| {
            line.strip_prefix("![")?
                .split_once("](")?
                .1
                .strip_suffix(')')
        })
        .collect();
    assert!(shown.len() >= 3, "{text}");
    for name in shown {
        assert!(world.read(name).starts_with(b"<svg"), "{name}");
    }
    // an existing output: nothing is written
    let run = world.run("report run.json -o new.html --md B.md");
    run.check_failure(1, "B.md", "--force");
    assert!(!world.at("new.html").exists());
    // a table on the terminal
    let run = world.ok("report run.json own.json");
    assert_eq!(run.out.matches("bgv/toy-255").count(), 2, "{}", run.out);
}

#[test]
fn documents_of_other_kinds_are_named() {
    let world = world();
    let lab = String::from_utf8(world.read("lab.json")).unwrap();
    let run = String::from_utf8(world.read("run.json")).unwrap();
    for (name, text, words) in [
        ("empty", String::new(), "not JSON"),
        ("cut", lab[..lab.len() / 2].to_owned(), "not JSON"),
        (
            "other",
            "{\"a\": 1}".to_owned(),
            "found JSON without 'runs'",
        ),
        ("array", "[]".to_owned(), "found JSON without 'runs'"),
        (
            "field",
            run.replace("\"threads\"", "\"thread\""),
            "missing field `threads`",
        ),
        (
            "type",
            run.replace("\"blocks\": 16", "\"blocks\": \"16\""),
            "invalid type",
        ),
        (
            "wrong",
            run.replace("\"correct\": true", "\"correct\": false"),
            "incorrect",
        ),
        (
            "zero",
            run.replace("\"blocks\": 16", "\"blocks\": 0"),
            "blocks is 0",
        ),
    ] {
        world.write(name, text.as_bytes());
        let run = world.run(&format!("report {name} -o {name}.html"));
        run.check_failure(1, name, words);
        assert!(!world.at(&format!("{name}.html")).exists());
    }
    world
        .run("report no.json -o r.html")
        .check_failure(1, "no.json", "give a file");
    world.run("report -o r.html").check_failure(2, "FILE", "");
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
    world.write("lab.json", quiet.to_string().as_bytes());
    let run = world.ok("bench compare lab.json lab.json --check");
    assert!(run.out.ends_with("no change\n"), "{}", run.out);
    let mut slower = quiet;
    for run in slower["runs"].as_array_mut().unwrap() {
        if run["set"] == "tfhe/p64" {
            let samples = run["samples"]["seconds"].as_array_mut().unwrap();
            let third = |value: &mut Value| *value = Value::from(1.33 * value.as_f64().unwrap());
            samples.iter_mut().for_each(third);
        }
    }
    world.write("slower.json", slower.to_string().as_bytes());
    let run = world.ok("bench compare lab.json slower.json");
    assert!(run.out.contains("SLOWER: tfhe/p64"), "{}", run.out);
    assert!(!run.out.contains("SLOWER: bgv"), "{}", run.out);
    let run = world.run("bench compare lab.json slower.json --check");
    // standard output names the slower run
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(
        run.err,
        "error: something became slower or worse, or is missing; see above\n"
    );
    assert!(run.out.contains("SLOWER"), "{}", run.out);
    let run = world.ok("bench compare slower.json lab.json --check");
    assert!(run.out.contains("faster: tfhe/p64"), "{}", run.out);
    world
        .run("bench compare own.json run.json")
        .check_failure(1, "no run in common", "");
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
    let world = World::new();
    for (line, words) in [
        (
            "bench bgv --budget 1m",
            "--budget works only with 'bench all'",
        ),
        ("bench all --budget 1s", "expected a time from 30s to 7days"),
        ("bench all --budget 20m --set bgv/toy-255", "--set"),
        ("bench kernels --noise", "--noise"),
    ] {
        world.run(line).check_failure(2, words, "");
    }
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
    world.write("lab.json", file(BASELINE).as_bytes());
    world.ok("report lab.json --md B.md --svg docs/pictures");
    let made = String::from_utf8(world.read("B.md")).unwrap();
    let tables = made.strip_prefix("# Measurements\n\n").unwrap();
    let page = with_region(&file("BENCHMARKS.md"), "measured", tables);
    let pictures = |folder: &Path| -> Vec<(String, String)> {
        let entries = fs::read_dir(folder.join("docs/pictures")).unwrap();
        let mut all: Vec<_> = entries
            .map(|entry| {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                (name, fs::read_to_string(path).unwrap())
            })
            .collect();
        all.sort();
        all
    };
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let _ = fs::remove_dir_all(root().join("docs/pictures"));
        fs::create_dir_all(root().join("docs/pictures")).unwrap();
        fs::write(root().join("BENCHMARKS.md"), &page).unwrap();
        for (name, text) in pictures(&world.at("")) {
            fs::write(root().join("docs/pictures").join(name), text).unwrap();
        }
    }
    let baseline = homaes_lab::baseline();
    let how = "stale: run UPDATE_DOCS=1 cargo test --release -p homaes-cli --test all lab::";
    assert!(file("BENCHMARKS.md") == page, "BENCHMARKS.md is {how}");
    assert!(
        pictures(&root()) == pictures(&world.at("")),
        "docs/pictures is {how}"
    );
    let sets = json(&world.ok("params --json").out);
    for set in sets.as_array().unwrap() {
        let name = set["name"].as_str().unwrap();
        // measured with files of the size that the set states
        for run in baseline.runs.iter().filter(|run| run.set == name) {
            assert_eq!(set["eval_key_bytes"], run.eval_key_bytes, "{name}");
        }
        assert!(
            page.contains(&format!("| {name} ")) || page.contains(&format!(" {name} ")),
            "{name} is not in BENCHMARKS.md: measure again"
        );
    }
}

/// docs/choosing.md, and the table of README.md, show the document in the repository.
#[test]
fn the_tables_of_choices_are_up_to_date() {
    let baseline = homaes_lab::baseline();
    let choosing = homaes_lab::choosing(&baseline);
    let table = homaes_lab::readme(&baseline);
    let readme = file("README.md");
    let (before, rest) = readme.split_once("<!-- measured -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- /measured -->\n").unwrap();
    let readme = format!("{before}<!-- measured -->\n{table}<!-- /measured -->\n{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(root().join("docs/choosing.md"), &choosing).unwrap();
        fs::write(root().join("README.md"), &readme).unwrap();
    }
    for (page, made) in [("docs/choosing.md", choosing), ("README.md", readme)] {
        assert!(
            file(page) == made,
            "{page} is stale: run UPDATE_DOCS=1 cargo test --release -p homaes-cli --test all lab::"
        );
    }
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
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(root().join("docs/papers.md"), &page).unwrap();
    }
    assert!(
        file("docs/papers.md") == page,
        "docs/papers.md is stale: run UPDATE_DOCS=1 cargo test --release -p homaes-cli --test all lab::"
    );
    // a row for every set that is not a toy
    let sets = json(&world.ok("params --json").out);
    for set in sets
        .as_array()
        .unwrap()
        .iter()
        .filter(|set| set["purpose"] == "paper")
    {
        let name = set["name"].as_str().unwrap();
        let systems = made[0].1;
        // the system of ntru/hybrid with more levels
        if name != "ntru/hybrid256" {
            assert!(systems.contains(&format!("`{name}`")), "{name}");
        }
    }
}

#[test]
fn completions_and_manual_know_every_command() {
    let world = World::new();
    let help = world.ok("--help").out;
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|&command| command != "help")
        .collect();
    assert!(commands.len() >= 12, "{commands:?}");
    let page = world.ok("man").out.replace("\\-", "-");
    world.ok("man --out pages");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.ok(&format!("completions {shell}")).out;
        for command in &commands {
            assert!(script.contains(command), "{shell} {command}");
        }
        assert!(script.contains("wrapped-key"), "{shell}");
    }
    for command in commands {
        assert!(page.contains(&format!("homaes-{command}(1)")), "{command}");
        let page = world.read(&format!("pages/homaes-{command}.1"));
        assert!(
            String::from_utf8(page).unwrap().contains(".SH SYNOPSIS"),
            "{command}"
        );
    }
    world.run("completions csh").check_failure(2, "csh", "bash");
    world
        .run("man --out pages")
        .check_failure(1, "homaes", "--force");
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
    let page = String::from_utf8(world.read("r.html")).unwrap();
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
    world.write("probed.html", page.replace("</body>", probe).as_bytes());
    for width in [1000, 500] {
        let run = Command::new(browser)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--enable-logging=stderr",
                "--dump-dom",
            ])
            .arg(format!("--window-size={width},900"))
            .arg(format!("--user-data-dir={}", world.at("profile").display()))
            .arg(format!("file://{}", world.at("probed.html").display()))
            .output()
            .unwrap();
        let dom = String::from_utf8_lossy(&run.stdout);
        let log = String::from_utf8_lossy(&run.stderr);
        let wrong: Vec<&str> = dom.lines().filter(|line| line.contains("WRONG ")).collect();
        // the source of the script has the word too
        let wrong: Vec<&&str> = wrong
            .iter()
            .filter(|line| !line.contains("wrong.map"))
            .collect();
        assert_eq!(wrong, Vec::<&&str>::new(), "{width}");
        let console: Vec<&str> = log
            .lines()
            .filter(|line| line.contains("CONSOLE"))
            .collect();
        assert_eq!(console, Vec::<&str>::new(), "{width}");
        let pictures = dom
            .lines()
            .find_map(|line| line.split_once("PICTURES ")?.1.trim().parse::<u32>().ok());
        assert!(
            pictures.is_some_and(|count| count == 4),
            "{width}: {pictures:?} {}",
            log
        );
    }
}
