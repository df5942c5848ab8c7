//! Every message has its entry in `docs/troubleshooting.md`: those in the source by their words, those that tests provoke as they are printed.
//!
//! An entry is a list item that begins with the message as code: the whole line without `error: `, with `{…}` for what varies. An entry of a warning begins
//! with `warning: `.

use super::{file, fits, root};
use crate::failures;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

const PAGE: &str = "docs/troubleshooting.md";

/// The messages of the page.
static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| entries(&file(PAGE)));

thread_local! {
    /// Entries that messages of this thread's test were found to be.
    static MET: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
}

struct Entry {
    /// As the page has it.
    text: String,
    /// Its literal parts.
    parts: Vec<String>,
}

fn entries(page: &str) -> Vec<Entry> {
    let items = page.lines().filter_map(|line| line.strip_prefix("- `"));
    let texts = items.map(|item| item.split_once('`').unwrap().0.to_owned());
    texts
        .map(|text| Entry {
            parts: parts(&text),
            text,
        })
        .collect()
}

/// What stands between the placeholders `{…}` of a format.
fn parts(format: &str) -> Vec<String> {
    let mut rest = format;
    let mut found = Vec::new();
    while let Some((before, after)) = rest.split_once('{') {
        found.push(before.to_owned());
        rest = after
            .split_once('}')
            .unwrap_or_else(|| panic!("{format:?}"))
            .1;
    }
    found.push(rest.to_owned());
    found
}

/// The format with `{}` for every placeholder, also for those that are printed in quotes.
fn plain(format: &str) -> String {
    parts(format).join("{}").replace("\"{}\"", "{}")
}

/// Checks that a line that begins with `error: ` or `warning: ` is documented.
#[track_caller]
pub(crate) fn check_documented(line: &str) {
    let message = line.strip_prefix("error: ").unwrap_or(line);
    let fitting = ENTRIES.iter().filter(|entry| fits(&entry.parts, message));
    // of several the one with most words
    let best = fitting.max_by_key(|entry| entry.parts.iter().map(String::len).sum::<usize>());
    let best = best.unwrap_or_else(|| panic!("{PAGE} has no entry for: {line}"));
    MET.with_borrow_mut(|met| met.insert(&best.text));
}

/// Failures that other tests provoke: [`Run::check_failure`](crate::common::Run::check_failure) looks up each of their messages.
#[test]
fn messages_are_documented_as_they_are_printed() {
    failures::wrong_command_lines();
    failures::wrong_schemes_and_variants();
    failures::missing_and_unreadable_files();
    failures::outputs_that_cannot_be_made();
    failures::outputs_never_replace_what_is_read();
    failures::foreign_files();
    failures::wrong_kinds();
    failures::wrong_keys();
    failures::wrong_aes_keys();
    failures::lengths_that_do_not_fit_the_mode();
    failures::ciphertexts_in_another_format();
    failures::layouts_that_the_wrapped_key_lacks();
    let met = MET.take();
    let errors = met.iter().filter(|entry| !entry.starts_with("warning: "));
    assert!(errors.count() >= 40, "{met:#?}");
}

#[test]
fn every_message_in_the_source_has_an_entry() {
    let texts: Vec<String> = ENTRIES.iter().map(|entry| plain(&entry.text)).collect();
    let (mut missing, mut count) = (Vec::new(), 0);
    for (place, message) in messages_of_the_source() {
        let words = plain(&message.replace(CONSTANT[0], CONSTANT[1]));
        let words = words.strip_prefix("error: ").unwrap_or(&words);
        // what stands around a message: the path before it, the remedy after it
        let words = words
            .trim()
            .trim_start_matches("{}")
            .trim_end_matches("{}")
            .trim();
        count += 1;
        if !texts.iter().any(|text| text.contains(words)) {
            missing.push(format!("{place}: {message}"));
        }
    }
    assert!(
        missing.is_empty(),
        "{PAGE} has no entries for:\n{}",
        missing.join("\n")
    );
    assert!(count > 170, "{count} messages");
}

#[test]
fn every_entry_has_a_cause_and_stands_once() {
    let page = file(PAGE);
    let mut seen = BTreeSet::new();
    for (line, next) in page.lines().zip(page.lines().skip(1)) {
        if let Some(item) = line.strip_prefix("- `") {
            let (message, rest) = item.split_once('`').unwrap();
            assert!(
                rest.is_empty(),
                "{message}: the message stands alone on its line"
            );
            assert!(
                next.starts_with("  ") && next.trim().len() > 10,
                "{message}: no explanation"
            );
            assert!(seen.insert(message), "{message}: twice");
        }
    }
}

/// Where messages are made in the command, and what follows with its literals: an expression in brackets, or to the end of the statement.
const IN_THE_COMMAND: [&str; 11] = [
    "Failure::Usage(",
    "Failure::Work(",
    "Failure::system(",
    "console::warn(",
    "console::error(",
    "usage(",
    "Err(",
    "ok_or_else(",
    "io::Error::other(",
    "let message =",
    "let what =",
];

/// The same in all crates.
const ANYWHERE: [&str; 5] = [
    "#[error(",
    "io::Error::new(",
    "let what =",
    "refused(",
    // the allocator
    "for part in [",
];

/// Literals at these places that are no messages.
const NO_MESSAGES: [&str; 6] = [
    " or more",
    " above the largest measured",
    "bytes in all",
    // `inspect` of a folder
    "of a key generation that was stopped; 'keygen --resume' goes on with it",
    "being written",
    "left by a killed run; the next run that writes here removes it",
];

/// A placeholder for what never varies.
const CONSTANT: [&str; 2] = [
    "environment variable {name}",
    "environment variable HOMAES_BACKEND",
];

/// File and format of every message in the sources of all crates.
fn messages_of_the_source() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let starts: Vec<&str> = match &name[..] {
            "homaes-cli" => IN_THE_COMMAND.into_iter().chain(["#[error("]).collect(),
            "homaes-benches" => continue,
            "homaes" | "homaes-wire" => ANYWHERE.to_vec(),
            "homaes-math" => ANYWHERE
                .iter()
                .copied()
                .filter(|start| *start != "let what =")
                .collect(),
            _ => vec!["#[error("],
        };
        collect(&folder.join("src"), &starts, &mut found);
    }
    found.retain(|(_, message)| !NO_MESSAGES.contains(&&message[..]));
    found
}

fn collect(folder: &Path, starts: &[&str], found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        // laws: checks for tests of schemes
        if stem.starts_with("tests") || stem == "conformance" || stem == "laws" {
            continue;
        }
        if path.is_dir() {
            collect(&path, starts, found);
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        let source = source.split("#[cfg(test)]\nmod tests").next().unwrap();
        for message in messages(source, starts) {
            found.push((path.display().to_string(), message));
        }
    }
}

/// Stands in code for a literal.
const LITERAL: char = '\u{1}';

/// The literals of two words and more behind each of `starts`.
fn messages(source: &str, starts: &[&str]) -> Vec<String> {
    let (code, literals) = lexed(source);
    let mut found = BTreeSet::new();
    for start in starts {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].matches(LITERAL).count();
            let expression = &code[at + start.len()..];
            let expression = match start.ends_with(['(', '[']) {
                true => until_closed(expression),
                false => expression.split(';').next().unwrap(),
            };
            let count = expression.matches(LITERAL).count();
            found.extend(before..before + count);
        }
    }
    let texts = found.into_iter().map(|at| literals[at].clone());
    let is_message = |text: &String| {
        let words: String = parts(text).concat();
        text.split_whitespace().count() > 1 && words.contains(char::is_alphabetic)
    };
    texts.filter(is_message).collect()
}

/// Up to the bracket that closes one before the text.
fn until_closed(code: &str) -> &str {
    let mut depth = 1;
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &code[..at];
        }
    }
    panic!("not closed: {code}");
}

/// The code without comments and characters, with [`LITERAL`] for every string; and the strings.
fn lexed(source: &str) -> (String, Vec<String>) {
    let (mut code, mut literals) = (String::new(), Vec::new());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if c == '"' {
            let (text, len) = string(&rest[1..]);
            code.push(LITERAL);
            literals.push(text);
            rest = &rest[1 + len..];
        } else if c == '\'' {
            // a character, or the start of a lifetime
            let mut chars = rest.char_indices().skip(1);
            let (_, first) = chars.next().unwrap();
            if first == '\\' {
                chars.next();
            }
            let after = chars.find(|&(_, c)| c == '\'').map(|(at, _)| at);
            let len = after.filter(|&at| first == '\\' || at == 1 + first.len_utf8());
            rest = &rest[len.map_or(1, |at| at + 1)..];
        } else {
            code.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    (code, literals)
}

/// The string that begins here, and how long it is in the source with the quote at its end.
fn string(source: &str) -> (String, usize) {
    let mut text = String::new();
    let mut chars = source.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (text, at + 1),
            '\\' => match chars.next().unwrap().1 {
                '\n' => while chars.next_if(|(_, c)| c.is_whitespace()).is_some() {},
                'n' => text.push('\n'),
                escaped => text.push(escaped),
            },
            c => text.push(c),
        }
    }
    panic!("a string without an end");
}

#[test]
fn messages_are_found_in_source() {
    let source = r#"
        // Err("in a comment")
        #[error("{}: a \"b\" \
                 c{}", path.display(), if x { " d e" } else { "" })]
        fn f<'a>(c: char) { if c == '"' || c == '\'' { return Err(format!("one {two}")); } }
        let what = "no thread"; let other = "not this one";
    "#;
    let found = messages(source, &["#[error(", "Err(", "let what ="]);
    assert_eq!(found, ["{}: a \"b\" c{}", " d e", "one {two}", "no thread"]);
    assert_eq!(plain("{path:?}: a {b} c"), "{}: a {} c");
}
