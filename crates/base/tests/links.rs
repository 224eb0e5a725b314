//! Links between pages: each leads to a file and, if it has an anchor, to a heading of that page; and
//! `docs/SUMMARY.md`, the contents of the site that `mdbook build` makes, lists every page of `docs`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Pages beside those of `docs`.
const PAGES: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"];

#[test]
fn links_lead_to_files_and_headings() {
    let pages = pages();
    let texts: BTreeMap<PathBuf, String> = pages.iter().map(|path| (path.clone(), read(path))).collect();
    let (mut count, mut wrong) = (0, Vec::new());
    for path in &pages {
        let folder = path.parent().expect("it is in a folder");
        for (line, target) in links(&texts[path]) {
            count += 1;
            let place = format!("{}:{line}", path.strip_prefix(root()).expect("below the root").display());
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let file = if file.is_empty() { path.clone() } else { folder.join(file) };
            let Ok(file) = file.canonicalize() else {
                wrong.push(format!("{place}: no file: {target}"));
                continue;
            };
            let has_heading = || texts.get(&file).is_some_and(|text| anchors(text).contains(anchor));
            if !anchor.is_empty() && !has_heading() {
                wrong.push(format!("{place}: no heading: {target}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 150, "only {count} links were found: the search for them is broken");
}

#[test]
fn the_summary_lists_every_page() {
    let docs = root().join("docs");
    let summary = docs.join("SUMMARY.md");
    let listed: Vec<PathBuf> =
        links(&read(&summary)).into_iter().map(|(_, target)| docs.join(target)).collect();
    let unique: BTreeSet<&PathBuf> = listed.iter().collect();
    assert_eq!(listed.len(), unique.len(), "a page is listed twice");
    let missing: Vec<PathBuf> = pages()
        .into_iter()
        .filter(|path| path.starts_with(&docs) && *path != summary && !unique.contains(path))
        .collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:#?}");
}

/// Modules are named by crate and path, as in `host/array/epoch`.
#[test]
fn named_modules_exist() {
    let crates: BTreeSet<String> = std::fs::read_dir(root().join("crates"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    let is_part = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || "_0123456789".contains(c))
    };
    let (mut count, mut missing) = (0, Vec::new());
    for page in ["ARCHITECTURE.md", "docs/modules.md", "docs/requests.md", "docs/glossary.md"] {
        let text = read(&root().join(page));
        for word in text.split(|c: char| !c.is_ascii_alphanumeric() && !"_/.-".contains(c)) {
            let Some((first, rest)) = word.trim_end_matches('.').split_once('/') else { continue };
            if !crates.contains(first) || !rest.split('/').all(is_part) {
                continue;
            }
            count += 1;
            let exists = |folder: &str| {
                let path = root().join("crates").join(first).join(folder).join(rest);
                path.is_dir() || path.with_extension("rs").is_file()
            };
            if !exists("src") && !exists("") {
                missing.push(format!("{page}: {word}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(count > 60, "only {count} names were found: the search for them is broken");
}

#[test]
fn links_and_anchors_are_found() {
    let text = "# The `x` & why?\n[a](b.md) and [two\nlines](../c.md#d-e)\n```\n[no](code)\n# No\n```\n\
                [web](https://example.org) `[no](code)`\n\n    [no](code)\n\n## A\n## A\n";
    let found: Vec<(usize, String)> = links(text);
    assert_eq!(found, [(2, "b.md".to_owned()), (3, "../c.md#d-e".to_owned())]);
    assert_eq!(anchors(text), ["the-x--why", "a", "a-1"].map(String::from).into());
}

/// The pages, with resolved paths.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = PAGES.map(|name| root().join(name)).to_vec();
    collect(&root().join("docs"), &mut pages);
    pages.sort();
    assert!(pages.len() > 50, "{pages:?}");
    pages
}

fn collect(folder: &Path, pages: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            collect(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

/// The links of a page to files and headings, with their lines.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (line, prose) in prose(text) {
        let targets = prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        let is_here = |target: &&str| !target.contains("://") && !target.starts_with("mailto:");
        links.extend(targets.filter(is_here).map(|target| (line, target.to_owned())));
    }
    links
}

/// The anchors of a page's headings, as GitHub and mdBook form them: letters and digits in lower case,
/// hyphens for blanks, nothing for punctuation, and a number from the second of equal headings on.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for (_, line) in fenced(text).filter(|(_, line)| line.starts_with('#')) {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let count = counts.entry(anchor.clone()).or_default();
        anchors.insert(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    anchors
}

/// The lines of a page without code, from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, String)> {
    let lines = fenced(text).filter(|(_, line)| !line.starts_with("    "));
    lines.map(|(at, line)| (at, line.split('`').step_by(2).collect::<Vec<_>>().join("`")))
}

/// The lines of a page outside of fences, from 1.
fn fenced(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((at + 1, line))
    })
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn root() -> PathBuf {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace has a folder");
    folder.canonicalize().expect("it is there")
}
