//! Code blocks of a page, and that something runs each of them.

use crate::common::file;

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
                let (kind, text) = (kind.to_owned(), String::new());
                let line = at + 1;
                found.push(Block {
                    kind,
                    line,
                    text,
                    follows,
                });
            }
            (true, _) => {
                let block = found.last_mut().unwrap();
                block.text += &format!("{line}\n");
            }
            (false, None) => {
                let indented = line.trim_start().starts_with("```");
                assert!(!indented, "an indented fence: {line}");
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

#[test]
fn every_block_of_the_book_is_of_a_kind_that_is_checked() {
    let doctests = file("crates/homaes/src/book.rs");
    let mut count = 0;
    for chapter in chapters() {
        let mut before = String::new();
        for block in blocks(&file(&chapter)) {
            let text = &block.text;
            let checked = match &block.kind[..] {
                "sh" | "console" | "toml" => true,
                // output of what is run
                "text" => block.follows && before == "sh",
                "text picture" => text.contains(['─', '│', '►']),
                "rust" => doctests.contains(&format!("include_str!(\"../../../{chapter}\")")),
                // doctests of tests/python/test_guide.py
                "python" => chapter == "docs/python.md" && text.starts_with(">>> "),
                _ => false,
            };
            let (kind, line) = (block.kind, block.line);
            let place = format!("{chapter}:{line}");
            assert!(
                checked,
                "{place}: nothing checks this block of kind {kind:?}"
            );
            before = kind;
            count += 1;
        }
    }
    assert!(count > 20, "{count} blocks");
}

/// Commands that build, install or measure, which no test runs: each is one of README.md, or names programs with their
/// options, packages, examples and features that there are.
#[test]
fn commands_that_are_not_run_name_what_exists() {
    let readme = file("README.md");
    let plain = |line: &str| line.split(" #").next().unwrap().trim_end().to_owned();
    let known: Vec<String> = readme.lines().map(plain).collect();
    let mut count = 0;
    for chapter in chapters() {
        let all = blocks(&file(&chapter));
        let consoles = all.iter().filter(|block| block.kind == "console");
        for line in consoles.flat_map(|block| block.text.lines()) {
            let command = plain(line.strip_prefix("$ ").unwrap());
            if !known.contains(&command) {
                check_options(&command);
            }
            count += 1;
        }
    }
    assert!(count > 5, "{count} commands");
}

fn check_options(command: &str) {
    let own = command.split(" -- ").next().unwrap();
    let words: Vec<&str> = own.split(' ').collect();
    let has = |text: &str, what: String| assert!(text.contains(&what), "{command}: {what}");
    match words[0] {
        "python" => {
            let program = file(words[1]);
            let options = words.iter().filter(|word| word.starts_with("--"));
            options.for_each(|option| has(&program, format!("\"{option}\"")));
        }
        "cargo" => {
            let after = |option: &str| words.iter().skip_while(move |word| **word != option).nth(1);
            let package = after("-p").unwrap_or_else(|| panic!("{command}: names no package"));
            let manifest = file(&format!("crates/{package}/Cargo.toml"));
            for feature in after("--features").iter().flat_map(|list| list.split(',')) {
                has(&manifest, format!("\n{feature} = ["));
            }
            if let Some(example) = after("--example") {
                file(&format!("crates/{package}/examples/{example}.rs"));
            }
        }
        _ => panic!("{command}: neither in README.md nor of cargo or python"),
    }
}
