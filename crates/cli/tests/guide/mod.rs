//! The user's guide and the recipes: every command in them is run, every line of output in them must occur,
//! and every change of a source file in them must apply.
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

mod block;
mod change;
mod output;
mod session;

use self::block::{How, Kind};
use self::session::Session;
use crate::support::{has, has_fio};
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn a_first_run_goes_as_told() {
    follow("guide/1-first-run.md");
}

#[test]
fn a_trace_is_brought_as_told() {
    follow("guide/2-bring-your-trace.md");
}

#[test]
fn explanations_read_as_told() {
    follow("guide/3-read-the-explanation.md");
}

#[test]
fn comparisons_and_sizes_come_out_as_told() {
    follow("guide/4-compare-and-size.md");
}

#[test]
fn servers_serve_as_told() {
    follow("guide/5-serve.md");
}

#[test]
fn a_policy_is_added_as_told() {
    follow("guide/6-add-a-policy.md");
}

#[test]
fn data_is_placed_as_told() {
    follow("guide/7-place-by-handle.md");
}

/// The changes of the page are applied, one after the other, to a copy of the crates that they change.
#[test]
fn added_policies_compile() {
    let copy = tempfile::tempdir().expect("a folder");
    for path in ["Cargo.toml", "Cargo.lock", "crates/base", "crates/ssd"] {
        copy_tree(&root().join(path), &copy.path().join(path));
    }
    let page = fs::read_to_string(docs().join("guide/6-add-a-policy.md")).expect("the page is there");
    let changes: Vec<String> = block::blocks(&page)
        .iter()
        .filter(|block| matches!(block.kind, Kind::Change))
        .map(|block| block.text())
        .collect();
    assert_eq!(changes.len(), 4, "three for one kind of policy, one for another");
    for change in &changes {
        let file = copy.path().join("change.diff");
        fs::write(&file, change).expect("it can be written");
        run_in(copy.path(), "git", &["apply", "change.diff"]);
    }
    let target = root().join("target/guide");
    let target = target.to_str().expect("a path of text");
    run_in(
        copy.path(),
        env!("CARGO"),
        &["check", "--offline", "--package", "tailcut-ssd", "--target-dir", target],
    );
}

fn copy_tree(from: &Path, to: &Path) {
    if from.is_file() {
        fs::create_dir_all(to.parent().expect("a file is in a folder")).expect("it can be made");
        fs::copy(from, to).expect("it can be copied");
        return;
    }
    for entry in fs::read_dir(from).expect("it is a folder").map(|entry| entry.expect("it can be listed")) {
        copy_tree(&entry.path(), &to.join(entry.file_name()));
    }
}

fn run_in(folder: &Path, program: &str, arguments: &[&str]) {
    let output = std::process::Command::new(program).args(arguments).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn recipes_work_as_told() {
    for page in pages("recipes") {
        follow(&page);
    }
}

#[test]
fn the_guide_and_the_recipes_list_their_pages() {
    assert_eq!(pages("guide").len(), 8, "{:?}", pages("guide"));
    for folder in ["guide", "recipes"] {
        let order = fs::read_to_string(docs().join(folder).join("README.md")).expect("it is there");
        for page in pages(folder) {
            let name = page.rsplit('/').next().unwrap_or_default();
            assert!(order.contains(&format!("({name})")), "the order of {folder} does not name {name}");
        }
    }
}

/// Tests the blocks of a page below `docs`, from the first to the last.
fn follow(name: &str) {
    let text = fs::read_to_string(docs().join(name)).expect("the page is there");
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

/// The pages of a folder of `docs` except its list of pages, as `folder/page.md`.
fn pages(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(docs().join(folder)).expect("the folder is there");
    let names =
        entries.map(|entry| entry.expect("it can be listed").file_name().into_string().expect("text"));
    let mut pages: Vec<String> =
        names.filter(|name| name != "README.md").map(|name| format!("{folder}/{name}")).collect();
    pages.sort();
    pages
}

fn docs() -> PathBuf {
    root().join("docs")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
