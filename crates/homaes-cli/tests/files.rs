//! Files of a crate do not import each other in circles, nor do its folders: whoever reads one needs to know those
//! below it alone. `simd` is left out, whose kernels and portable twins name each other.

use crate::common::{cells, file, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Module paths, such as `aes::state`, with their source: without comments, and without what follows the first module
/// of tests.
fn modules(folder: &Path, prefix: &str, found: &mut BTreeMap<String, Module>) {
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
            "mod" => prefix.to_owned(),
            _ => join(prefix, stem),
        };
        if path.is_dir() {
            modules(&path, &name, found);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().map(|line| line.split("//").next().unwrap());
        let text = lines.collect::<Vec<_>>().join("\n");
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        found.insert(name, Module::new(text));
    }
}

fn join(start: &str, rest: &str) -> String {
    let parts = [start, rest].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("::")
}

/// The paths in a tree of imports: `a::b` and `a::c::d as e` in `a::{b, c::{d as e}}`.
fn expand(tree: &str) -> Vec<String> {
    let mut tree = tree.to_owned();
    // the innermost braces first
    while let Some(end) = tree.find('}') {
        let open = tree[..end].rfind('{').unwrap();
        let start = tree[..open].rfind([',', '{']).map_or(0, |at| at + 1);
        let prefix = tree[start..open].trim();
        let inner = tree[open + 1..end].split(',').map(str::trim);
        let inner = inner.filter(|path| !path.is_empty());
        let paths: Vec<_> = inner.map(|path| format!("{prefix}{path}")).collect();
        tree.replace_range(start..=end, &paths.join(","));
    }
    tree.split(',').map(|path| path.trim().to_owned()).collect()
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
        while let Some((before, tree)) = rest.split_once("use ") {
            body += before;
            let line = before.rsplit('\n').next().unwrap().trim();
            if !(line.is_empty() || line.starts_with("pub") || line.ends_with('{')) {
                rest = tree;
                continue;
            }
            let (tree, after) = tree.split_once(';').unwrap_or((tree, ""));
            for path in expand(tree) {
                let (path, name) = match path.split_once(" as ") {
                    Some((path, name)) => (path, Some(name.trim())),
                    None => (&path[..], None),
                };
                let path = path.trim_end_matches("::self");
                let name = name.unwrap_or_else(|| path.rsplit("::").next().unwrap());
                uses.push((name.to_owned(), path.to_owned(), line.starts_with("pub")));
            }
            rest = after;
        }
        body += rest;
        Self { uses, body }
    }

    /// The path of a name that is imported.
    fn import(&self, name: &str) -> Option<&str> {
        let found = self.uses.iter().find(|(own, ..)| own == name);
        found.map(|(_, path, _)| &path[..])
    }

    /// The names and paths in the source beside its imports.
    fn words(&self) -> impl Iterator<Item = &str> {
        let part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        self.body.split(move |c| !part(c))
    }
}

/// What each module imports.
type Graph<'m> = BTreeMap<&'m str, BTreeSet<&'m str>>;

struct Crate(BTreeMap<String, Module>);

impl Crate {
    /// The path from the root that `path` stands for in `module`; `None` if it leads to another crate.
    fn rooted(&self, module: &str, path: &str) -> Option<String> {
        let (first, rest) = path.split_once("::").unwrap_or((path, ""));
        let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
        let child = join(module, first);
        let start = match first {
            "crate" => String::new(),
            "self" => module.to_owned(),
            "super" if rest.starts_with("super") => return self.rooted(parent, rest),
            "super" => parent.to_owned(),
            _ if self.0.contains_key(&child) => child,
            _ => {
                let to = self.0[module].import(first)?;
                // a name of another crate imports itself
                (to.split("::").next() != Some(first)).then_some(())?;
                self.rooted(module, to)?
            }
        };
        Some(join(&start, rest))
    }

    /// The module that has what `path` from the root names, through whatever hands it on.
    fn home(&self, path: &str) -> Option<&str> {
        let mut path = path.to_owned();
        for _ in 0..10 {
            let ends = path.match_indices("::").map(|(end, _)| end);
            let known = ends
                .chain([path.len()])
                .filter(|&end| self.0.contains_key(&path[..end]));
            let end = known.max().unwrap_or(0);
            let (module, source) = self.0.get_key_value(&path[..end])?;
            let rest = path[end..].trim_start_matches("::");
            let (name, after) = rest.split_once("::").unwrap_or((rest, ""));
            let Some(to) = source.import(name) else {
                return Some(module);
            };
            path = join(&self.rooted(module, to)?, after);
        }
        None
    }

    /// The modules that each module imports. Names that it hands on and does not use itself are no imports.
    fn imports(&self) -> Graph<'_> {
        let all = self.0.iter().filter(|(name, _)| !name.is_empty());
        let imports = all.map(|(name, module)| {
            let words: BTreeSet<&str> = module.words().flat_map(|word| word.split(':')).collect();
            let used = module.uses.iter();
            let used = used.filter(|(name, _, handed_on)| !handed_on || words.contains(&name[..]));
            let used = used.map(|(_, path, _)| &path[..]);
            let paths = module
                .words()
                .filter(|word| word.contains("::") && !word.starts_with(':'));
            let found = used
                .chain(paths)
                .filter_map(|path| self.home(&self.rooted(name, path)?));
            let found = found.filter(|found| found != name && !found.is_empty());
            (&name[..], found.collect())
        });
        imports.collect()
    }
}

/// The same between the folders and files right below the root.
fn rooms<'m>(graph: &Graph<'m>) -> Graph<'m> {
    let room = |module: &'m str| module.split("::").next().unwrap();
    let mut rooms = Graph::new();
    for (module, imported) in graph {
        let from = rooms.entry(room(module)).or_default();
        let others = imported.iter().map(|to| room(to));
        from.extend(others.filter(|to| *to != room(module)));
    }
    rooms
}

/// The modules among `within` that `start` imports, that those import, and so on.
fn reached<'m>(graph: &Graph<'m>, within: &BTreeSet<&str>, start: &str) -> BTreeSet<&'m str> {
    let (mut found, mut queue) = (BTreeSet::new(), vec![start]);
    while let Some(module) = queue.pop() {
        for &to in graph.get(module).into_iter().flatten() {
            if within.contains(to) && found.insert(to) {
                queue.push(to);
            }
        }
    }
    found
}

/// The one of the modules in whose folder all others are.
fn head<'m>(modules: &BTreeSet<&'m str>) -> Option<&'m str> {
    let first = *modules.first()?;
    let below = |module: &&str| module.starts_with(&format!("{first}::"));
    modules.iter().skip(1).all(below).then_some(first)
}

/// Modules among `within` that import each other in a circle, if there are. A file and the files in its folder may
/// import each other, those files in turn without circles among them.
fn circle<'m>(graph: &Graph<'m>, within: &BTreeSet<&'m str>) -> Option<BTreeSet<&'m str>> {
    let ways: Graph<'_> = within
        .iter()
        .map(|start| (*start, reached(graph, within, start)))
        .collect();
    for (start, reached) in &ways {
        let back = reached.iter().filter(|to| ways[*to].contains(start));
        let mut tied: BTreeSet<&str> = back.copied().collect();
        if tied.is_empty() {
            continue;
        }
        let Some(head) = head(&tied) else {
            return Some(tied);
        };
        tied.remove(head);
        if let Some(found) = circle(graph, &tied) {
            return Some(found);
        }
    }
    None
}

fn circle_of<'m>(graph: &Graph<'m>) -> Option<BTreeSet<&'m str>> {
    circle(graph, &graph.keys().copied().collect())
}

#[test]
fn files_and_folders_do_not_import_each_other_in_circles() {
    // parameters know the noise of nibbles, whose AES is above parameters
    let no_floors = ["homaes-tfhe"];
    let (mut files, mut edges) = (0, 0);
    for name in crates() {
        let folder = root().join("crates").join(&name).join("src");
        let mut sources = BTreeMap::new();
        modules(&folder, "", &mut sources);
        let sources = Crate(sources);
        let graph = sources.imports();
        files += graph.len();
        edges += graph.values().map(BTreeSet::len).sum::<usize>();
        assert_eq!(circle_of(&graph), None, "{name}");
        if !no_floors.contains(&&name[..]) {
            assert_eq!(circle_of(&rooms(&graph)), None, "rooms of {name}");
        }
    }
    assert!(files > 100 && edges > 300, "{files} files, {edges} imports");
}

#[test]
fn a_circle_is_found() {
    for (sources, expected) in [
        // through names that the root hands on
        (
            "root => pub use a::{A, Other};\\mod a;
            a => use crate::b::{self, c::{C, D}};
            b => use crate::e;
            b::c => fn f() -> super::super::x {}
            e => use crate::{Other, x};",
            ["a", "b", "e"],
        ),
        // through a file in the folder of one of them
        (
            "root => mod a;
            a => mod b;\\use b::B;
            a::b => use crate::c::C;
            c => fn f() -> crate::a::A {}",
            ["a", "a::b", "c"],
        ),
        // between files of a folder, which may know the file of the folder, and it them
        (
            "root => mod a;
            a => pub mod b;\\mod c;\\fn f() { b::g(c::h()) }
            a::b => use super::{A, c::C, d::D};
            a::c => use crate::a::d::D;
            a::d => use crate::a::b::B;",
            ["a::b", "a::c", "a::d"],
        ),
    ] {
        let modules = cells(sources).map(|[name, text]| {
            let module = Module::new(&text.replace('\\', "\n"));
            (name.replace("root", ""), module)
        });
        let modules = Crate(modules.collect());
        let found = circle_of(&modules.imports());
        assert_eq!(found, Some(BTreeSet::from(expected)));
    }
    let graph = Graph::from([("a::b", ["c::d"].into()), ("c::e", ["a::f"].into())]);
    assert_eq!(circle_of(&graph), None);
    assert_eq!(circle_of(&rooms(&graph)), Some(BTreeSet::from(["a", "c"])));
}

fn crates() -> Vec<String> {
    let entries = fs::read_dir(root().join("crates")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

/// A crate that is no default member would not be tested.
#[test]
fn every_crate_is_tested() {
    let manifest = file("Cargo.toml");
    assert!(crates().len() > 8);
    for name in crates() {
        let listed = manifest.contains(&format!("\n    \"crates/{name}\",\n"));
        // tests on a GPU, and tests in Python
        let others = ["homaes-cuda", "homaes-py"];
        assert_eq!(listed, !others.contains(&&name[..]), "{name}");
    }
}

/// A file beside `all.rs` that neither it nor the manifest names would not be compiled, and its tests would not run.
#[test]
fn every_file_of_tests_is_in_its_program() {
    let mut count = 0;
    for name in crates() {
        let folder = root().join("crates").join(name);
        let Ok(program) = fs::read_to_string(folder.join("tests/all.rs")) else {
            continue;
        };
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        for entry in fs::read_dir(folder.join("tests")).unwrap() {
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
