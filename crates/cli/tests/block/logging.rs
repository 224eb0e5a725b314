//! The log of a server: levels, and lines for people and programs.

use crate::support::{Place, json};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

const ARRAY: [&str; 5] = [
    "small.toml",
    "--set=array.drives=3",
    "--set=array.layout=raid5",
    "--set=array.raid.journal=1MiB",
    "--set=device.control_api=true",
];

/// The log of a server whose drive 1 is removed, until it ends.
fn log_of_a_degraded_array(more: &[&str]) -> Vec<String> {
    let place = Place::new();
    let mut command = place.command(&["serve", "block", "--quiet", "--unix", "socket"]);
    command.args(ARRAY).args(more).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut out = BufReader::new(child.stdout.take().expect("its output is ours")).lines();
    out.by_ref()
        .map(|line| line.expect("text"))
        .find(|line| line.trim_start().starts_with("nbd"))
        .expect("it serves");
    let removed = place.run(&["ctl", "socket.ctl", "remove", "1"]);
    assert!(removed.status.success(), "{removed:?}");
    let mut log = BufReader::new(child.stderr.take().expect("its log is ours")).lines();
    let mut lines = Vec::new();
    while !lines.last().is_some_and(|line: &String| line.contains("the array is degraded")) {
        lines.push(log.next().expect("it logs the change").expect("text"));
    }
    let id = child.id().to_string();
    std::process::Command::new("kill").args(["-TERM", &id]).status().expect("kill is everywhere");
    lines.extend(log.map(|line| line.expect("text")));
    assert_eq!(child.wait().expect("our child").code(), Some(0), "{lines:?}");
    lines
}

#[test]
fn people_read_what_they_have_to_know() {
    let (text, remedy) =
        ("the array is degraded; missing [1]", ": replace what is missing with 'tailcut ctl'");
    let is_told = |line: &str| line.starts_with(text) && line.ends_with(remedy);
    let warnings = log_of_a_degraded_array(&["--log-level", "warn"]);
    assert!(warnings.len() == 1 && is_told(&warnings[0]), "{warnings:?}");
    let lines = log_of_a_degraded_array(&[]);
    assert!(lines.len() == 3 && is_told(&lines[1]), "{lines:?}");
    assert!(lines[0].starts_with("note: ready at ") && lines[2].starts_with("note: stopping"), "{lines:?}");
}

#[test]
fn programs_read_objects_and_more_of_them_when_they_ask() {
    let lines = log_of_a_degraded_array(&["--log-format", "json"]);
    let lines: Vec<Value> = lines.iter().map(|line| json(line)).collect();
    let of = |line: &Value| (line["level"].clone(), line["event"].clone());
    let events: Vec<(Value, Value)> = lines.iter().map(of).collect();
    let want = [("info", "ready"), ("warn", "array"), ("info", "stopping")];
    assert_eq!(events, want.map(|(level, event)| (level.into(), event.into())), "{lines:?}");
    assert!(lines[1]["message"].as_str().is_some_and(|text| text.starts_with("the array is degraded")));
    assert!(lines.iter().all(|line| line["time"].as_str().is_some_and(|time| time.ends_with('Z'))));
}
