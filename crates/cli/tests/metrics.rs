//! `docs/metrics.md` explains every term that a report prints.

use crate::support::{Place, golden};
use std::collections::BTreeSet;
use std::path::Path;
use tailcut_base::Cause;

#[test]
fn every_label_of_a_run_is_explained() {
    let place = Place::new();
    let verbose = place.text(&["run", "small.toml", "--verbose", "--out", "out"]);
    golden("verbose.txt", &verbose);
    let mut labels = labels(&verbose);
    labels.extend(self::labels(&place.text(&["explain", "out", "--percentile", "99.9"])));
    assert!(labels.contains("intra-chip idleness") && labels.contains("chip: erase"), "{labels:?}");
    assert!(labels.len() > 40, "the search for labels is broken: {labels:?}");
    assert_eq!(unexplained(labels.iter().map(String::as_str)), Vec::<&str>::new());
}

#[test]
fn every_label_of_a_transaction_list_of_sizing_and_of_drive_tests_is_explained() {
    let mut labels = labels(&golden_text("timeline.txt"));
    labels.extend(self::labels(&golden_text("size.txt")));
    let tests = golden_text("pts.txt");
    // Other labels of drive tests are access patterns.
    labels.extend(heads(&tests).into_iter().filter(|label| !label.contains(char::is_numeric)));
    assert!(labels.contains("data drives") && labels.contains("line from"), "{labels:?}");
    assert_eq!(unexplained(labels.iter().map(String::as_str)), Vec::<&str>::new());
}

#[test]
fn every_label_of_a_trace_is_explained() {
    let place = Place::new();
    let lines = (0..2000).map(|n| {
        let kind = if n % 3 == 0 { "Write" } else { "Read" };
        format!("{},db1,{},{kind},{},4096,100\n", n * 100_000, n % 2, n * 7919 % 1009 * 4096)
    });
    place.put("trace.csv", lines.collect::<String>().as_bytes());
    let text = place.text(&["trace", "info", "trace.csv"]);
    let mut labels = labels(&text);
    // Rows of time and of disks are named by the trace.
    labels.retain(|label| !label.starts_with("db1.") && !label.starts_with(char::is_numeric));
    assert!(labels.contains("addresses up to") && labels.contains("working set"), "{text}");
    assert_eq!(unexplained(labels.iter().map(String::as_str)), Vec::<&str>::new(), "{text}");
}

#[test]
fn every_cause_is_explained() {
    assert_eq!(unexplained(Cause::ALL.iter().map(|cause| cause.label())), Vec::<&str>::new());
}

#[test]
fn a_label_without_an_explanation_would_be_found() {
    let text =
        "\nheading\nkind  half bare  99.9\n──────\nread  88.5µs  1 s\n  new cause  3 %  1 µs  ██\n\nend\n";
    let want = ["99.9", "half bare", "kind", "new cause", "read"].map(String::from);
    assert_eq!(labels(text), BTreeSet::from(want));
    assert_eq!(unexplained(["bare", "half bare"]), ["half bare"]);
}

/// The labels of a report: heads and first cells of its tables, and its bars. Left out are whole numbers
/// (of requests, of percentiles) and the bar that sums up small causes.
fn labels(text: &str) -> BTreeSet<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut labels = BTreeSet::new();
    let mut is_table = false;
    for (at, line) in lines.iter().enumerate() {
        let cells = || line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        let below = lines.get(at + 1).unwrap_or(&"");
        if below.starts_with('─') {
            labels.extend(cells().map(String::from));
        } else if cells().nth(1).is_some() && (is_table || line.contains(['█', '▏'])) {
            labels.extend(cells().next().map(String::from));
        }
        is_table = line.starts_with('─') || is_table && !line.is_empty();
    }
    labels.retain(|label| !label.ends_with(" others") && label.parse::<u64>().is_err());
    labels
}

fn golden_text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    std::fs::read_to_string(path).expect("the file is there")
}

/// The heads of its tables.
fn heads(text: &str) -> BTreeSet<String> {
    let lines: Vec<&str> = text.lines().collect();
    let above = lines.windows(2).filter(|pair| pair[1].starts_with('─')).map(|pair| pair[0]);
    above
        .flat_map(|line| line.split("  "))
        .map(|cell| cell.trim().to_string())
        .filter(|c| !c.is_empty())
        .collect()
}

/// The labels that no first column of a table of the page has.
fn unexplained<'l>(labels: impl IntoIterator<Item = &'l str>) -> Vec<&'l str> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let mut terms = BTreeSet::new();
    for row in page.lines().filter_map(|line| line.strip_prefix("| ")) {
        let (term, meaning) = row.split_once(" | ").expect("a row has several columns");
        terms.extend(term.split('`').skip(1).step_by(2));
        // The kinds of requests are values of the term `kind`.
        if term == "`kind`" {
            terms.extend(meaning.split('`').skip(1).step_by(2));
        }
    }
    labels.into_iter().filter(|label| !terms.contains(label)).collect()
}
