//! A change of a source file, or a quotation from one, on a page.

use crate::guide::block::Block;
use std::fs;
use std::path::Path;

/// Asserts that a change applies: the lines that each of its hunks keeps or removes are in the file.
pub(super) fn check(at: &str, block: &Block, root: &Path) {
    let mut file = String::new();
    let mut before: Vec<&str> = Vec::new();
    for line in block.lines().iter().map(String::as_str).chain(["@@"]) {
        match (line.strip_prefix("--- a/"), line.chars().next()) {
            (Some(name), _) => {
                stands(at, &file, &before);
                before.clear();
                let read = fs::read_to_string(root.join(name));
                file = read.unwrap_or_else(|error| panic!("{at}: {name}: {error}"));
            }
            (None, _) if line.starts_with("+++ ") => {}
            (None, Some('@')) => {
                stands(at, &file, &before);
                before.clear();
            }
            (None, Some(' ' | '-')) => before.push(&line[1..]),
            (None, Some('+')) => {}
            (None, _) => panic!("{at}: '{line}' is no line of a change"),
        }
    }
}

/// Asserts that each line of a quotation is in the file, in code or in its documentation.
pub(super) fn check_quote(at: &str, block: &Block, file: &Path) {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{at}: {}: {error}", file.display()));
    let lines: Vec<&str> = text.lines().map(|line| line.trim_start_matches("//! ").trim()).collect();
    for quoted in block.lines().iter().map(|line| line.trim()).filter(|line| !line.is_empty()) {
        assert!(lines.contains(&quoted), "{at}: the file does not have this line: {quoted}");
    }
}

fn stands(at: &str, file: &str, before: &[&str]) {
    let lines: Vec<&str> = file.lines().collect();
    let is_there = before.is_empty() || lines.windows(before.len()).any(|window| window == before);
    assert!(is_there, "{at}: the file has changed; these lines are not in it:\n{}", before.join("\n"));
}
