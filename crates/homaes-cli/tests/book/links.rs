//! The summary lists every page, and every relative link leads to a file, and to a heading that it has.

use crate::common::{file, root};
use std::collections::BTreeSet;
use std::fs;

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
        let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
        let kept = title.trim().chars().filter(kept);
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        found.insert(anchor.to_lowercase());
    }
    found
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
    let repository = root().canonicalize().unwrap();
    let mut count = 0;
    let roots = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
    ]
    .map(String::from);
    for page in roots.into_iter().chain(pages()) {
        for link in links(&file(&page)) {
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let own = repository.join(&page);
            let target = match path {
                "" => own,
                path => own.parent().unwrap().join(path),
            };
            let place = format!("{page}: {link}");
            let target = target.canonicalize().expect(&place);
            assert!(target.starts_with(&repository), "{place}: leads out");
            if !anchor.is_empty() {
                let found = anchors(&fs::read_to_string(target).unwrap());
                assert!(found.contains(anchor), "{place}: none of {found:?}");
            }
            count += 1;
        }
    }
    assert!(count > 60, "{count} links");
}
