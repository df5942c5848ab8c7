//! Code blocks of a page, and that something runs each of them.

use super::{file, root};
use std::fs;

/// A code block.
#[derive(Debug)]
pub(super) struct Block {
    /// What stands behind the opening fence.
    pub(super) kind: String,
    /// Line of the fence, from 1.
    pub(super) line: usize,
    pub(super) text: String,
    /// Whether nothing but empty lines stands between it and a block before it.
    pub(super) follows: bool,
}

/// The code blocks of a page.
pub(super) fn blocks(page: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let (mut open, mut follows) = (false, false);
    for (at, line) in page.lines().enumerate() {
        match (open, line.strip_prefix("```")) {
            (true, Some("")) => (open, follows) = (false, true),
            (false, Some(kind)) => {
                open = true;
                found.push(Block {
                    kind: kind.to_owned(),
                    line: at + 1,
                    text: String::new(),
                    follows,
                });
            }
            (true, _) => {
                let block = found.last_mut().unwrap();
                block.text += &format!("{line}\n");
            }
            (false, None) => {
                assert!(
                    !line.trim_start().starts_with("```"),
                    "an indented fence: {line}"
                );
                follows &= line.is_empty();
            }
        }
    }
    assert!(!open, "a code block without an end");
    found
}

/// The chapters of the book, as paths from the root: what the summary lists above its heading *Reference*.
pub(super) fn chapters() -> Vec<String> {
    let summary = file("docs/SUMMARY.md");
    let (chapters, _) = summary.split_once("\n# Reference\n").unwrap();
    let names = chapters.split("](").skip(1);
    let names = names.map(|rest| rest.split_once(')').unwrap().0);
    let found: Vec<_> = names.map(|name| format!("docs/{name}")).collect();
    assert!(found.len() >= 5, "{found:?}");
    found
}

/// What is done with a kind of block, apart from pictures.
const KINDS: [&str; 7] = [
    "sh",
    "text",
    "console",
    "rust",
    "python",
    "toml",
    "text picture",
];

#[test]
fn every_block_of_the_book_is_of_a_kind_that_is_checked() {
    let doctests = file("crates/homaes/src/book.rs");
    let mut count = 0;
    for chapter in chapters() {
        let mut before = String::new();
        for Block {
            kind,
            line,
            text,
            follows,
        } in blocks(&file(&chapter))
        {
            let place = format!("{chapter}:{line}");
            assert!(
                KINDS.contains(&&kind[..]),
                "{place}: nothing runs blocks of kind {kind:?}"
            );
            match &kind[..] {
                "text" => assert!(
                    follows && before == "sh",
                    "{place}: output of nothing that is run"
                ),
                // a picture is no output, and no command
                "text picture" => assert!(text.contains(['─', '│', '►']), "{place}: no picture"),
                "rust" => assert!(
                    doctests.contains(&format!("include_str!(\"../../../{chapter}\")")),
                    "{place}: not among the doctests of the crate homaes"
                ),
                // tests/python/test_guide.py
                "python" => assert!(
                    chapter == "docs/python.md" && text.starts_with(">>> "),
                    "{place}: no doctest of the guide"
                ),
                _ => {}
            }
            before = kind;
            count += 1;
        }
    }
    assert!(count > 20, "{count} blocks");
}

/// Commands that build, install or measure, which no test runs: each is one of README.md, or names programs with their options, packages, examples, tests and
/// features that there are.
#[test]
fn commands_that_are_not_run_name_what_exists() {
    let readme = file("README.md");
    let known = |command: &str| {
        readme
            .lines()
            .any(|line| line.split(" #").next().unwrap().trim_end() == command)
    };
    let mut count = 0;
    for chapter in chapters() {
        for block in blocks(&file(&chapter))
            .iter()
            .filter(|block| block.kind == "console")
        {
            for line in block.text.lines() {
                let place = format!("{chapter}:{}: {line}", block.line);
                let command = line
                    .strip_prefix("$ ")
                    .unwrap_or_else(|| panic!("{place}: no prompt"));
                let command = command.split(" #").next().unwrap().trim_end();
                let plain = ["cargo build --release", "cargo test --release"];
                if let Some(program) = command.strip_prefix("python tools/") {
                    check_python(program, &place);
                } else if !known(command) && !plain.contains(&command) {
                    check_cargo(command, &place);
                }
                count += 1;
            }
        }
    }
    assert!(count > 5, "{count} commands");
}

fn check_python(command: &str, place: &str) {
    let mut words = command.split_whitespace();
    let program = file(&format!("tools/{}", words.next().unwrap()));
    for option in words.filter(|word| word.starts_with("--")) {
        let there = program.contains(&format!("\"{option}\""));
        assert!(there, "{place}: there is no {option}");
    }
}

fn check_cargo(command: &str, place: &str) {
    let own = command.split(" -- ").next().unwrap();
    let words: Vec<&str> = own.split_whitespace().collect();
    assert!(
        words[0] == "cargo",
        "{place}: neither in README.md nor of cargo"
    );
    let after = |option: &str| {
        let at = words.iter().position(|word| *word == option)?;
        Some(words[at + 1])
    };
    let package = after("-p").unwrap_or_else(|| panic!("{place}: names no package"));
    let folder = root().join("crates").join(package);
    assert!(folder.is_dir(), "{place}: no package {package}");
    if let Some(example) = after("--example") {
        assert!(
            folder.join(format!("examples/{example}.rs")).exists(),
            "{place}: no example"
        );
    }
    if let Some(test) = after("--test") {
        assert!(
            folder.join(format!("tests/{test}.rs")).exists(),
            "{place}: no test"
        );
    }
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    for feature in after("--features").iter().flat_map(|list| list.split(',')) {
        assert!(
            manifest.contains(&format!("\n{feature} = [")),
            "{place}: no feature {feature}"
        );
    }
    // a filter of tests
    if words[1] == "test"
        && let Some(filter) = words
            .last()
            .filter(|word| !word.starts_with('-') && **word != package)
        && after("--test") != Some(filter)
        && after("--features") != Some(filter)
    {
        let found = any_file_has(
            &folder,
            filter.rsplit("::").find(|part| !part.is_empty()).unwrap(),
        );
        assert!(found, "{place}: no test has {filter} in its name");
    }
}

/// Whether a source of the crate has a module or a function of this name, or of one that begins with it.
fn any_file_has(folder: &std::path::Path, name: &str) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => any_file_has(&path, name),
            false => {
                path.extension().is_some_and(|e| e == "rs") && {
                    let text = fs::read_to_string(&path).unwrap();
                    text.contains(&format!("mod {name}")) || text.contains(&format!("fn {name}"))
                }
            }
        }
    })
}
