//! Files of a crate do not import each other in circles, nor do its folders: whoever reads one needs to know those below it alone. `simd` is left
//! out, whose kernels and portable twins name each other.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::Path;

/// Module paths, such as `aes::state`, with their source: without comments, and without what follows the first module of tests.
fn modules(folder: &Path, prefix: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        // a program only calls its library; conformance: tests of schemes through everything above them
        let skipped = ["simd", "bin", "main", "conformance"];
        if stem.starts_with("tests") || skipped.contains(&stem) {
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

/// What each module imports.
type Graph<'m> = BTreeMap<&'m str, BTreeSet<&'m str>>;

/// Where the name that `text` begins with ends.
fn path_len(text: &str) -> usize {
    text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
        .unwrap_or(text.len())
}

/// The paths in a tree of imports such as `a::{b, c::{d, e as f}}`, each after `prefix`, with the names they get.
fn expand(prefix: &str, tree: &str, found: &mut Vec<(String, String)>) {
    let len = path_len(tree);
    let (path, rest) = tree.split_at(len);
    let Some(inner) = rest.strip_prefix('{') else {
        let path = format!("{prefix}{path}");
        let path = path.trim_end_matches("::self").trim_end_matches("::");
        let name = match rest.trim().strip_prefix("as ") {
            Some(name) => name.trim(),
            None => path.rsplit("::").next().unwrap(),
        };
        found.push((name.to_owned(), path.to_owned()));
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

/// A module's source, taken apart.
struct Module {
    /// Names that `use` brings, with their paths as written, and whether the name is handed on.
    uses: Vec<(String, String, bool)>,
    /// Everything else.
    body: String,
}

impl Module {
    fn new(text: &str) -> Self {
        let (mut uses, mut body) = (Vec::new(), String::new());
        let mut rest = text;
        while let Some(at) = rest.find("use ") {
            let (before, tree) = rest.split_at(at);
            body += before;
            let line = before.rsplit('\n').next().unwrap().trim();
            if !(line.is_empty() || line.starts_with("pub") || line.ends_with('{')) {
                body += "use ";
                rest = &tree["use ".len()..];
                continue;
            }
            let end = tree.find(';').unwrap_or(tree.len());
            let mut paths = Vec::new();
            expand("", &tree["use ".len()..end], &mut paths);
            let handed_on = line.starts_with("pub");
            uses.extend(
                paths
                    .into_iter()
                    .map(|(name, path)| (name, path, handed_on)),
            );
            rest = &tree[end..];
        }
        Self {
            uses,
            body: body + rest,
        }
    }

    /// Whether the source names this beside its imports.
    fn names(&self, name: &str) -> bool {
        let part = |c: char| c.is_alphanumeric() || c == '_';
        self.body.split(|c| !part(c)).any(|word| word == name)
    }

    /// All paths in the source beside its imports.
    fn paths(&self) -> impl Iterator<Item = &str> {
        let words = self
            .body
            .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        words.filter(|word| word.contains("::") && !word.starts_with(':'))
    }
}

struct Crate(BTreeMap<String, Module>);

impl Crate {
    fn new(sources: &BTreeMap<String, String>) -> Self {
        let sources = sources.iter();
        Self(
            sources
                .map(|(name, text)| (name.clone(), Module::new(text)))
                .collect(),
        )
    }

    /// The path from the root that `path` stands for in `module`; `None` if it leads to another crate.
    fn rooted(&self, module: &str, path: &str) -> Option<String> {
        let (first, rest) = path.split_once("::").unwrap_or((path, ""));
        let joined = |start: &str| {
            let both = [start, rest].into_iter().filter(|part| !part.is_empty());
            both.collect::<Vec<_>>().join("::")
        };
        match first {
            "crate" => return Some(rest.to_owned()),
            "self" => return Some(joined(module)),
            "super" => {
                let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
                return match rest.starts_with("super") {
                    true => self.rooted(parent, rest),
                    false => Some(joined(parent)),
                };
            }
            _ => {}
        }
        let child = [module, first].into_iter().filter(|part| !part.is_empty());
        let child = child.collect::<Vec<_>>().join("::");
        match self.0.contains_key(&child) {
            true => Some(joined(&child)),
            false => {
                let (_, to, _) = self.0[module]
                    .uses
                    .iter()
                    .find(|(name, ..)| name == first)?;
                // a name of another crate imports itself
                (to.split("::").next() != Some(first)).then_some(())?;
                Some(joined(&self.rooted(module, to)?))
            }
        }
    }

    /// The module that has what `path` from the root names, through whatever hands it on.
    fn home(&self, path: &str) -> Option<&str> {
        let mut path = path.to_owned();
        for _ in 0..10 {
            let ends = path.match_indices("::").map(|(end, _)| end);
            let ends: Vec<usize> = ends.chain([path.len()]).collect();
            let known = ends
                .iter()
                .rev()
                .find(|&&end| self.0.contains_key(&path[..end]));
            let end = known.copied().unwrap_or(0);
            let (module, _) = self.0.get_key_value(&path[..end])?;
            let rest = path[end..].trim_start_matches("::");
            let (name, after) = rest.split_once("::").unwrap_or((rest, ""));
            let Some((_, to, _)) = self.0[module].uses.iter().find(|(own, ..)| own == name) else {
                return Some(module);
            };
            let to = self.rooted(module, to)?;
            path = match after {
                "" => to,
                after => format!("{to}::{after}"),
            };
        }
        None
    }

    /// The modules that each module imports. Names that it hands on and does not use itself are no imports.
    fn imports(&self) -> Graph<'_> {
        let all = self.0.iter().filter(|(name, _)| !name.is_empty());
        let imports = all.map(|(name, module)| {
            let used = module
                .uses
                .iter()
                .filter(|(name, _, handed_on)| !handed_on || module.names(name));
            let used = used.map(|(_, path, _)| &path[..]);
            let paths = used.chain(module.paths());
            let found = paths.filter_map(|path| self.home(&self.rooted(name, path)?));
            let found = found.filter(|found| found != name && !found.is_empty());
            (&name[..], found.collect())
        });
        imports.collect()
    }
}

/// The same between the folders and files right below the root.
fn rooms<'m>(graph: &Graph<'m>) -> Graph<'m> {
    let room = |module: &'m str| module.split("::").next().unwrap();
    let mut rooms = BTreeMap::<_, BTreeSet<_>>::new();
    for (module, imported) in graph {
        let from = rooms.entry(room(module)).or_default();
        from.extend(
            imported
                .iter()
                .map(|to| room(to))
                .filter(|to| *to != room(module)),
        );
    }
    rooms
}

/// The shortest way from `start` to `end` along imports among `within`.
fn way<'m>(
    graph: &Graph<'m>,
    within: &BTreeSet<&'m str>,
    start: &'m str,
    end: &str,
) -> Option<Vec<&'m str>> {
    let mut ways = VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        let imported = graph.get(way.last()?).into_iter().flatten();
        for &to in imported.filter(|to| within.contains(*to)) {
            let longer = [&way[..], &[to]].concat();
            if to == end {
                return Some(longer);
            }
            if seen.insert(to) {
                ways.push_back(longer);
            }
        }
    }
    None
}

/// The one of the modules in whose folder all others are.
fn head<'m>(modules: &BTreeSet<&'m str>) -> Option<&'m str> {
    let above = |head: &str, module: &str| match module.strip_prefix(head) {
        Some(rest) => rest.is_empty() || rest.starts_with("::"),
        None => false,
    };
    let mut heads = modules.iter();
    heads
        .find(|head| modules.iter().all(|module| above(head, module)))
        .copied()
}

/// A circle among `within`, from a module back to it, if there is one. A file and the files in its folder may import each other, those files in
/// turn without circles among them.
fn circle<'m>(graph: &Graph<'m>, within: BTreeSet<&'m str>) -> Option<Vec<&'m str>> {
    let mut left = within.clone();
    while let Some(start) = left.pop_first() {
        let tied = |to: &&&'m str| {
            way(graph, &within, start, to).is_some() && way(graph, &within, to, start).is_some()
        };
        let mut tied: BTreeSet<&str> = within.iter().filter(tied).copied().collect();
        left.retain(|module| !tied.contains(module));
        if tied.len() < 2 {
            continue;
        }
        let Some(head) = head(&tied) else {
            let circles = tied
                .iter()
                .filter_map(|start| way(graph, &tied, start, start));
            let across = |circle: &Vec<&'m str>| head(&circle.iter().copied().collect()).is_none();
            let shortest = circles.filter(across).min_by_key(Vec::len);
            return shortest.or_else(|| Some(tied.into_iter().collect()));
        };
        tied.remove(head);
        if let Some(found) = circle(graph, tied) {
            return Some(found);
        }
    }
    None
}

#[test]
fn files_and_folders_do_not_import_each_other_in_circles() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // parameters know the noise of nibbles, whose AES is above parameters
    let no_floors = ["homaes-tfhe"];
    let (mut files, mut edges) = (0, 0);
    for entry in fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path().join("src");
        if !folder.join("lib.rs").exists() {
            continue;
        }
        let mut sources = BTreeMap::new();
        modules(&folder, "", &mut sources);
        let modules = Crate::new(&sources);
        let graph = modules.imports();
        files += graph.len();
        edges += graph.values().map(BTreeSet::len).sum::<usize>();
        let all = graph.keys().copied().collect();
        assert_eq!(circle(&graph, all), None, "{}", folder.display());
        if !no_floors
            .iter()
            .any(|name| folder.ends_with(format!("{name}/src")))
        {
            let rooms = rooms(&graph);
            let all = rooms.keys().copied().collect();
            assert_eq!(circle(&rooms, all), None, "rooms of {}", folder.display());
        }
    }
    assert!(files > 100 && edges > 300, "{files} files, {edges} imports");
}

fn found(sources: &[(&str, &str)]) -> Option<String> {
    let sources = sources
        .iter()
        .map(|&(name, text)| (name.to_owned(), text.to_owned()));
    let modules = Crate::new(&sources.collect());
    let graph = modules.imports();
    let circles = [graph.clone(), rooms(&graph)].into_iter();
    let mut circles = circles.filter_map(|graph| {
        let all = graph.keys().copied().collect();
        Some(circle(&graph, all)?.join(" → "))
    });
    circles.next()
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
    assert_eq!(found(&sources).as_deref(), Some("a → b → e → a"));
    let mut straight = sources;
    straight[4].1 = "use crate::x;";
    assert_eq!(found(&straight), None);
    // through a file in the folder of one of them
    let through = [
        ("", ""),
        ("a", "mod b;\nuse b::B;"),
        ("a::b", "use crate::c::C;"),
        ("c", "fn f() -> crate::a::A {}"),
    ];
    assert_eq!(found(&through).as_deref(), Some("a → a::b → c → a"));
    // between folders alone
    let folders = [
        ("", ""),
        ("a", "pub use b::B as D;"),
        ("a::b", ""),
        ("a::c", "use crate::d::e::E;"),
        ("d", "pub use e::E;"),
        ("d::e", ""),
        ("d::f", "use crate::a::D;"),
    ];
    assert_eq!(found(&folders).as_deref(), Some("a → d → a"));
    // a file may know those in its folder, and they it, and not each other
    let family = [
        ("", ""),
        ("a", "pub mod b;\nmod c;\nfn f() { b::g(c::h()) }"),
        ("a::b", "use super::A;"),
        ("a::c", "use crate::a::b::B;"),
    ];
    assert_eq!(found(&family), None);
    let mut siblings = family;
    siblings[2].1 = "use super::{A, c::C};";
    assert_eq!(found(&siblings).as_deref(), Some("a::b → a::c → a::b"));
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
