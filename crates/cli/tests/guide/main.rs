//! The user's guide: every command in it is run, every line of output in it must occur, and every change of a
//! source file in it must apply.
//!
//! The words after the opening fence determine how a block is tested:
//!
//! | words | test |
//! | --- | --- |
//! | `console` | each line behind `$ ` is run in the page's folder; the lines below occur in its output, in order; `…` skips lines |
//! | `console measured` | as above, for output that depends on the machine: numbers may differ, words may not |
//! | `console fails` | as above, for a command that must fail |
//! | `console with=fio,nbdinfo` | as above, if these programs are installed |
//! | `console parsed` | for root, or for drives: each `tailcut` line is parsed, but not run |
//! | `toml file=NAME`, `csv file=NAME`, … | a file for the following commands |
//! | `rust from=FILE` | its lines are in that source file |
//! | `diff` | the lines that it removes or keeps are in the file that it names |
//!
//! A server, a line that ends with ` &`, has printed its output before the next line is run, and ends with
//! `$ kill %1` or `$ kill -9 %1`, or with the page.

#[path = "../support/mod.rs"]
mod support;

mod block;
mod change;
mod output;
mod session;

use block::{How, Kind};
use session::Session;
use std::fs;
use std::path::{Path, PathBuf};
use support::{has, has_fio};

#[test]
fn a_first_run_goes_as_told() {
    follow("1-first-run.md");
}

#[test]
fn a_trace_is_brought_as_told() {
    follow("2-bring-your-trace.md");
}

#[test]
fn explanations_read_as_told() {
    follow("3-read-the-explanation.md");
}

#[test]
fn comparisons_and_sizes_come_out_as_told() {
    follow("4-compare-and-size.md");
}

#[test]
fn servers_serve_as_told() {
    follow("5-serve.md");
}

#[test]
fn a_policy_is_added_as_told() {
    follow("6-add-a-policy.md");
}

#[test]
fn the_pages_name_each_other_and_files_that_exist() {
    let pages = pages();
    assert_eq!(pages.len(), 7, "six pages and their order: {pages:?}");
    for page in &pages {
        let text = fs::read_to_string(page).expect("a page is text");
        for target in links(&text) {
            let file = page.parent().expect("it is in a folder").join(target);
            assert!(file.exists(), "{}: there is no {target}", page.display());
        }
    }
    let order = fs::read_to_string(guide().join("README.md")).expect("it is there");
    for page in pages.iter().filter(|page| !page.ends_with("README.md")) {
        let name = page.file_name().and_then(|name| name.to_str()).expect("a name");
        assert!(order.contains(&format!("({name})")), "the order does not name {name}");
    }
}

/// Tests the blocks of a page, from the first to the last.
fn follow(name: &str) {
    let text = fs::read_to_string(guide().join(name)).expect("the page is there");
    let mut session = Session::new();
    for block in block::blocks(&text) {
        let at = format!("{name}:{}", block.line);
        match &block.kind {
            Kind::File(file) => session.put(file, &block.text()),
            Kind::Parsed => block.commands().iter().for_each(|command| session.parse(&at, command)),
            Kind::Change => change::check(&at, &block, &root()),
            Kind::Quote(file) => change::check_quote(&at, &block, &root().join(file)),
            Kind::Run(how) if is_possible(how) => {
                block.commands().iter().for_each(|command| session.run(&at, command, how));
            }
            Kind::Run(_) | Kind::Prose => {}
        }
    }
}

/// Whether the programs that a block requires are installed.
fn is_possible(how: &How) -> bool {
    let programs = how.programs();
    has(&programs) && (!programs.contains(&"fio") || has_fio())
}

/// Files that a page links to, without anchors and without other hosts.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let targets = targets.map(|target| target.split('#').next().unwrap_or_default());
    targets.filter(|target| !target.is_empty() && !target.contains("://")).collect()
}

fn pages() -> Vec<PathBuf> {
    let entries = fs::read_dir(guide()).expect("the guide is there");
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    pages.sort();
    pages
}

fn guide() -> PathBuf {
    root().join("docs/guide")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
