//! The summary lists every page, and every relative link leads to a file, and to a heading that it has.

use super::{file, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The text without code, in which brackets are no links.
fn without_code(page: &str) -> String {
    let mut open = false;
    let mut out = String::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            open = !open;
        } else if !open {
            let prose = line.split('`').step_by(2);
            out += &(prose.collect::<String>() + "\n");
        }
    }
    out
}

/// The targets of a page's links.
fn links(page: &str) -> Vec<String> {
    let text = without_code(page);
    let ends = text.split("](").skip(1);
    let targets = ends.map(|rest| rest.split_once(')').unwrap().0.to_owned());
    targets.filter(|target| !target.contains("://")).collect()
}

/// The anchors of a page's headings: letters and digits in lower case, `-` for spaces.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut open = false;
    let mut found = BTreeSet::new();
    for line in page.lines() {
        open ^= line.trim_start().starts_with("```");
        let title = line.trim_start_matches('#');
        if open || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let kept = title
            .trim()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        found.insert(anchor.to_lowercase());
    }
    found
}

/// `a/../b` as `b`.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                assert!(out.pop(), "{} leads out of the repository", path.display())
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

/// The Markdown pages of `docs/`, as paths from the root.
fn pages() -> BTreeSet<String> {
    let entries = fs::read_dir(root().join("docs")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let pages = names.filter(|name| name.ends_with(".md"));
    pages.map(|name| format!("docs/{name}")).collect()
}

#[test]
fn the_summary_lists_every_page_once() {
    let listed = links(&file("docs/SUMMARY.md"));
    let mut expected = pages();
    expected.remove("docs/SUMMARY.md");
    let found: BTreeSet<String> = listed.iter().map(|name| format!("docs/{name}")).collect();
    assert_eq!(found, expected);
    assert_eq!(found.len(), listed.len(), "a page is listed twice");
    assert!(file("book.toml").contains("\nsrc = \"docs\"\n"));
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut count = 0;
    let roots = ["README.md", "ARCHITECTURE.md", "SECURITY.md"].map(String::from);
    for page in roots.into_iter().chain(pages()) {
        let text = file(&page);
        for link in links(&text) {
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => PathBuf::from(&page),
                path => normal(&Path::new(&page).parent().unwrap().join(path)),
            };
            let place = format!("{page}: {link}");
            assert!(root().join(&target).exists(), "{place}: no such file");
            if !anchor.is_empty() {
                let found = anchors(&file(target.to_str().unwrap()));
                assert!(
                    found.contains(anchor),
                    "{place}: no such heading, but {found:?}"
                );
            }
            count += 1;
        }
    }
    assert!(count > 60, "{count} links");
}

#[test]
fn links_and_headings_are_found() {
    let page = "# A `b` – c: d\n[x](y.md#z) `[no](link)` [w](https://w)\n```\n# no heading\n[no](link)\n```\n## Two words";
    assert_eq!(links(page), ["y.md#z"]);
    let expected = ["a-b--c-d", "two-words"].map(String::from);
    assert_eq!(anchors(page), BTreeSet::from(expected));
    assert_eq!(normal(Path::new("docs/../a/./b")), Path::new("a/b"));
}
