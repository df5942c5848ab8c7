//! Files of a crate do not import each other in circles: whoever reads one needs to know those below it alone. `simd` is left out, whose kernels and
//! portable twins name each other.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Module paths, such as `aes::state`, with their source: without comments, and without what follows the first module of tests.
fn modules(folder: &Path, prefix: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        // a program beside a library only calls it
        if stem.starts_with("tests") || ["simd", "bin", "main"].contains(&stem) {
            continue;
        }
        let name = match stem {
            "lib" => String::new(),
            "mod" => prefix.trim_end_matches("::").to_owned(),
            _ => format!("{prefix}{stem}"),
        };
        if path.is_dir() {
            modules(&path, &format!("{name}::"), found);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().map(|line| line.split("//").next().unwrap());
        let text = lines.collect::<Vec<_>>().join("\n");
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        found.insert(name, text.to_owned());
    }
}

/// Where the name that `text` begins with ends.
fn path_len(text: &str) -> usize {
    text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
        .unwrap_or(text.len())
}

/// The paths in a tree of imports such as `a::{b, c::{d, e}}`, each after `prefix`.
fn expand(prefix: &str, tree: &str, found: &mut Vec<String>) {
    let len = path_len(tree);
    let (path, rest) = tree.split_at(len);
    let Some(inner) = rest.strip_prefix('{') else {
        found.push(format!("{prefix}{}", path.trim_end_matches("::")));
        return;
    };
    let prefix = format!("{prefix}{path}");
    let (mut depth, mut start) = (0, 0);
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                let part = inner[start..at].trim();
                if !part.is_empty() {
                    expand(&prefix, part, found);
                }
                if c == '}' {
                    return;
                }
                start = at + 1;
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
}

/// All paths of the crate that a module names, from the root.
fn named(module: &str, text: &str) -> Vec<String> {
    let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
    let parent = match parent {
        "" => String::new(),
        parent => format!("{parent}::"),
    };
    let mut found = Vec::new();
    for (word, prefix) in [("crate::", ""), ("super::", &parent[..])] {
        for (at, _) in text.match_indices(word) {
            let before = text[..at].chars().next_back();
            if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                expand(prefix, &text[at + word.len()..], &mut found);
            }
        }
    }
    found
}

/// The modules that each module imports.
fn imports(sources: &BTreeMap<String, String>) -> BTreeMap<&str, BTreeSet<&str>> {
    // names that the root hands on, with the module they come from
    let mut handed_on = BTreeMap::new();
    let root = sources.get("").unwrap();
    for (at, _) in root.match_indices("pub use ") {
        let mut paths = Vec::new();
        expand("", &root[at + "pub use ".len()..], &mut paths);
        for path in paths {
            if let Some((module, name)) = path.rsplit_once("::") {
                handed_on.insert(name.to_owned(), module.to_owned());
            }
        }
    }
    let resolve = |path: &str| {
        let mut module = path;
        loop {
            if let Some((module, _)) = sources.get_key_value(module) {
                return Some(&module[..]);
            }
            match module.rsplit_once("::") {
                Some((shorter, _)) => module = shorter,
                None => break,
            }
        }
        let first = path.split("::").next()?;
        let (module, _) = sources.get_key_value(handed_on.get(first)?)?;
        Some(&module[..])
    };
    let all = sources.iter().filter(|(module, _)| !module.is_empty());
    let imports = all.map(|(module, text)| {
        let paths = named(module, text);
        let found = paths.iter().filter_map(|path| resolve(path));
        let found = found.filter(|found| found != module && !found.is_empty());
        (&module[..], found.collect())
    });
    imports.collect()
}

/// A shortest circle, from a module back to it, if there is one.
fn circle<'m>(graph: &BTreeMap<&'m str, BTreeSet<&'m str>>) -> Option<Vec<&'m str>> {
    let from = |start: &'m str| {
        let mut ways = vec![vec![start]];
        let mut seen = BTreeSet::new();
        while !ways.is_empty() {
            let mut longer = Vec::new();
            for way in ways {
                for &to in graph.get(way.last()?).into_iter().flatten() {
                    let way = [&way[..], &[to]].concat();
                    if to == start {
                        return Some(way);
                    }
                    if seen.insert(to) {
                        longer.push(way);
                    }
                }
            }
            ways = longer;
        }
        None
    };
    let circles = graph.keys().filter_map(|&start| from(start));
    circles.min_by_key(Vec::len)
}

#[test]
fn files_do_not_import_each_other_in_circles() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut files, mut edges) = (0, 0);
    for entry in fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path().join("src");
        if !folder.join("lib.rs").exists() {
            continue;
        }
        let mut sources = BTreeMap::new();
        modules(&folder, "", &mut sources);
        let graph = imports(&sources);
        files += graph.len();
        edges += graph.values().map(BTreeSet::len).sum::<usize>();
        assert_eq!(circle(&graph), None, "{}", folder.display());
    }
    assert!(files > 100 && edges > 300, "{files} files, {edges} imports");
}

#[test]
fn a_circle_is_found() {
    let sources = [
        ("", "pub use a::{A, Other};\nmod a;"),
        ("a", "use crate::b::{self, c::{C, D}};"),
        ("b", "use crate::e;"),
        ("b::c", "fn f() -> super::super::x {}"),
        ("e", "use crate::{Other, x};"),
    ];
    let sources = sources.map(|(module, text)| (module.to_owned(), text.to_owned()));
    let mut sources = BTreeMap::from(sources);
    let graph = imports(&sources);
    assert_eq!(graph["a"], BTreeSet::from(["b", "b::c"]));
    assert_eq!(graph["e"], BTreeSet::from(["a"]));
    assert_eq!(circle(&graph), Some(vec!["a", "b", "e", "a"]));
    sources.insert("e".to_owned(), "use crate::x;".to_owned());
    assert_eq!(circle(&imports(&sources)), None);
}

/// A crate that is no default member would not be tested.
#[test]
fn every_crate_is_tested() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = fs::read_to_string(crates.join("../Cargo.toml")).unwrap();
    let mut count = 0;
    for entry in fs::read_dir(crates).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let listed = root.contains(&format!("\n    \"crates/{name}\",\n"));
        // tests on a GPU, and tests in Python
        let others = ["homaes-cuda", "homaes-py"];
        assert_eq!(listed, !others.contains(&&*name), "{name}");
        count += 1;
    }
    assert!(count > 8);
}

/// A file beside `all.rs` that neither it nor the manifest names would not be compiled, and its tests would not run.
#[test]
fn every_file_of_tests_is_in_its_program() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut count = 0;
    for entry in fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path().join("tests");
        let Ok(program) = fs::read_to_string(folder.join("all.rs")) else {
            continue;
        };
        let manifest = fs::read_to_string(folder.join("../Cargo.toml")).unwrap();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let own = manifest.contains(&format!("path = \"tests/{name}.rs\""));
            if path.extension().is_some_and(|e| e == "rs") && !own {
                assert!(program.contains(&format!("\nmod {name};\n")), "{path:?}");
                count += 1;
            }
        }
    }
    assert!(count > 20, "{count} files");
}
