//! The commands: those that pages name exist, and one case of each is measured.

use clap::Parser;
use std::path::Path;
use std::process::{Command, Output};
use tailcut_bench::arguments::Arguments;

fn bench(arguments: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_tailcut-bench")).args(arguments).output();
    command.expect("the binary starts")
}

/// The JSON of one measurement.
fn measured(command: &str, case: &str) -> serde_json::Value {
    let output = bench(&[command, "--alone", case]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}

#[test]
fn a_drive_is_created_and_its_memory_counted() {
    let start = measured("sim", "start-512g/whole");
    assert_eq!(
        (start["requests"].as_u64(), start["seconds"].as_f64().map(|s| s > 0.0)),
        (Some(0), Some(true))
    );
    let peak = start["peak_bytes"].as_u64();
    assert!(!cfg!(target_os = "linux") || peak.is_some_and(|bytes| bytes > 1 << 20), "{peak:?}");
}

#[test]
fn what_is_no_measurement_is_refused() {
    let case = "no-such/case";
    for command in ["sim", "array", "emulate", "schedule"] {
        let output = bench(&[command, "--alone", case]);
        let report = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{report}");
        assert!(report.contains("there is no measurement 'no-such/case'"), "{report}");
    }
}

/// The command lines on pages that call `tailcut-bench`.
#[test]
fn command_lines_on_pages_are_understood() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("CONTRIBUTING.md")).expect("it can be read");
    let call = "cargo run --release -p tailcut-bench -- ";
    let lines: Vec<&str> = page.lines().filter_map(|line| line.trim().strip_prefix(call)).collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    for line in lines {
        let words = line.split("  ").next().unwrap_or_default().split(' ');
        let parsed = Arguments::try_parse_from(["tailcut-bench"].into_iter().chain(words));
        assert!(parsed.is_ok(), "{line}: {parsed:?}");
    }
}
