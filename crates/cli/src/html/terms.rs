//! What the terms of pages mean: the first sentence about each in docs/metrics.md, kept beside the code,
//! because a package of this crate has no docs.

use std::collections::BTreeMap;

/// A line for each term: its name, a tab, its meaning. Made of docs/metrics.md by the test below.
const TERMS: &str = include_str!("terms.tsv");

/// The terms and their meanings as JSON.
pub(super) fn json() -> String {
    let all: BTreeMap<&str, &str> = TERMS.lines().filter_map(|line| line.split_once('\t')).collect();
    serde_json::to_string(&all).expect("plain data becomes JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;
    use std::path::Path;

    /// Sections with words that mean something else on pages.
    const LEFT_OUT: [&str; 2] = ["## Studies and drive tests", "## Traces"];

    /// The terms of a page of tables whose first column is a term or a cause.
    fn terms(markdown: &str) -> String {
        let mut all = BTreeMap::new();
        let (mut is_listed, mut is_left_out) = (false, false);
        for line in markdown.lines() {
            if line.starts_with("## ") {
                is_left_out = LEFT_OUT.contains(&line);
            }
            if is_left_out {
                continue;
            }
            let Some(row) = line.strip_prefix("| ") else {
                is_listed = false;
                continue;
            };
            let mut cells = row.split(" | ");
            let (Some(names), Some(meaning)) = (cells.next(), cells.next()) else { continue };
            is_listed |= names == "term" || names == "cause";
            if is_listed && !names.starts_with("--") && names != "term" && names != "cause" {
                for name in names_in(names) {
                    all.entry(name).or_insert_with(|| sentence(&plain(meaning)));
                }
            }
        }
        let mut text = String::new();
        for (name, meaning) in all {
            writeln!(text, "{name}\t{meaning}").expect("strings have room");
        }
        text
    }

    /// Names between backticks, or the words of the cell without what is in parentheses.
    fn names_in(cell: &str) -> Vec<String> {
        let quoted: Vec<String> = cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        if !quoted.is_empty() {
            return quoted;
        }
        let words = cell.split(" (").next().unwrap_or_default();
        words.split(", ").map(|name| plain(name).trim().to_owned()).filter(|name| !name.is_empty()).collect()
    }

    /// Text without the marks of Markdown.
    fn plain(text: &str) -> String {
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, link)) = rest.split_once('[') {
            plain.push_str(before);
            match link.split_once("](").and_then(|(words, target)| Some((words, target.split_once(')')?.1))) {
                Some((words, after)) => {
                    plain.push_str(words);
                    rest = after;
                }
                None => {
                    plain.push('[');
                    rest = link;
                }
            }
        }
        plain.push_str(rest);
        plain.replace(['`', '*', '\t'], "")
    }

    fn sentence(text: &str) -> String {
        text.split(". ").next().unwrap_or_default().trim().to_owned()
    }

    #[test]
    fn the_terms_are_those_of_the_docs() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let docs = std::fs::read_to_string(folder.join("../../docs/metrics.md")).expect("the page");
        let made = terms(&docs);
        if std::env::var_os("TAILCUT_BLESS").is_some() {
            std::fs::write(folder.join("src/html/terms.tsv"), &made).expect("the file is writable");
        }
        assert!(made == TERMS, "docs/metrics.md has changed: run this test with TAILCUT_BLESS=1");
        for term in ["bare", "99.9", "chip: erase", "tag", "max"] {
            let line = made.lines().find(|line| line.starts_with(&format!("{term}\t")));
            assert!(line.is_some_and(|line| line.len() > term.len() + 10), "{term}");
        }
    }

    #[test]
    fn marks_of_markdown_are_left_out() {
        let page = "| term | what it is | unit |\n| --- | --- | --- |\n\
                    | `a`, `b` | see [limits](model.md#x) of *it*. More | s |\n| plain (x) | words | |\n\n\
                    | other | table |\n| --- | --- |\n| `c` | no term |\n";
        assert_eq!(terms(page), "a\tsee limits of it\nb\tsee limits of it\nplain\twords\n");
    }
}
