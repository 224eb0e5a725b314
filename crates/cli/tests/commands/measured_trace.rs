//! `tailcut explain --measured`: traces of drives whose truth is known, because they were simulated.

use crate::support::{Place, json};
use serde_json::Value;
use std::fmt::Write;
use tailcut::interrupt::Interrupt;
use tailcut::run::arguments::{RunArguments, RunOptions};
use tailcut::run::{Keep, Scenario, read, simulate_and_keep};
use tailcut_base::Op;
use tailcut_base::config::Choice;

const GEOMETRY: &str = "device.geometry.blocks=64";

/// Runs a load on a drive and writes what it measured in the format of MSR's traces.
fn record(place: &Place, drive: &[&str]) {
    let load = [
        "workload.read=70%",
        "workload.pace=open",
        "workload.rate=3000",
        "run.ramp=0s",
        "run.requests=30000",
    ];
    let sets = ["device.preset=g-1g", GEOMETRY].iter().chain(&load).chain(drive);
    let options =
        RunOptions { sets: sets.map(|&set| set.to_owned()).collect(), quiet: true, ..RunOptions::default() };
    let arguments = RunArguments { scenario: None, text: None, options };
    let mut scenario = Scenario::default();
    read(&mut scenario, &arguments).expect("a good scenario");
    let keep = Keep { timeline: false, requests: Some(1 << 20) };
    let run =
        simulate_and_keep(&scenario, &arguments.options, keep, &Interrupt::default(), &mut |_, _, _| {});
    let log = run.ok().and_then(|run| run.columns).expect("the requests of a run");
    let mut rows: Vec<usize> = (0..log.len()).collect();
    rows.sort_by_key(|&row| log.number[row]);
    let mut trace = String::new();
    for row in rows {
        let kind = if usize::from(log.op[row]) == Op::Read.index() { "Read" } else { "Write" };
        let (at, offset) = (128_000_000_000_000_000 + log.due[row] / 100, log.sector[row] * 512);
        let (bytes, took) = (u64::from(log.sectors[row]) * 512, log.latency[row] / 100);
        writeln!(trace, "{at},drive,0,{kind},{offset},{bytes},{took}").expect("strings have room");
    }
    place.put("measured.csv", trace.as_bytes());
}

fn explain(place: &Place, more: &[&str]) -> Value {
    let fixed =
        ["explain", "--measured", "measured.csv", "--drive", "g-1g", "--set", GEOMETRY, "--quiet", "--json"];
    json(&place.text(&[&fixed[..], more].concat()))
}

fn share(explained: &Value) -> f64 {
    explained.as_f64().expect("a share")
}

#[test]
fn a_twin_explains_its_own_trace_and_a_wrong_drive_does_not() {
    let place = Place::new();
    record(&place, &[]);
    let same = explain(&place, &["--kind", "read"]);
    assert!(share(&same["explained"]) > 0.8, "{same}");
    assert!(share(&same["control"]["explained"]) < 0.3, "{same}");
    let requests: u64 =
        same["causes"].as_array().expect("a list").iter().map(|row| row["requests"].as_u64().unwrap()).sum();
    assert_eq!(Some(requests), same["slow"].as_u64(), "every slow request has one row");
    assert!((200..=220).contains(&requests), "1 % of 21,000 reads: {requests}");
    // The same flash with erases of half a millisecond more.
    record(&place, &["device.timing.program=650us", "device.timing.erase=4.3ms"]);
    let other = explain(&place, &["--kind", "read"]);
    assert!(share(&other["explained"]) < share(&same["explained"]), "{other}");
    assert!(share(&other["explained"]) > share(&other["control"]["explained"]), "{other}");
}

#[test]
fn erases_are_found_as_the_cause_where_they_are_the_truth() {
    let place = Place::new();
    let drive = ["device.timing.erase=20ms", "device.timing.program=100us"];
    record(&place, &drive);
    let sets: Vec<&str> = drive.iter().flat_map(|set| ["--set", set]).collect();
    let found = explain(&place, &[&["--kind", "read", "--percentile", "99.5"][..], &sets].concat());
    let row = found["causes"].as_array().expect("a list").iter().find(|row| row["waited_for"] == "erase");
    assert!(share(&row.expect("a row")["share"]) > 0.6, "{found}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_a_remedy() {
    let place = Place::new();
    place.put("bare.csv", b"128166372003061629,usr,0,Read,7014609920,24576,0\n");
    let refused = |more: &[&str]| place.refused(2, &[&["explain", "--quiet"], more].concat());
    assert!(refused(&["--measured", "bare.csv", "--drive", "g-1g"]).contains("no response times"));
    assert!(refused(&["--measured", "bare.csv"]).contains("--drive"));
    assert!(refused(&["out", "--drive", "g-1g"]).contains("--measured"));
    place.put("one.csv", b"128166372003061629,usr,0,Read,4096,4096,900\n");
    assert!(refused(&["--measured", "one.csv", "--drive", "no-such"]).contains("no-such is no file"));
    assert!(refused(&["--measured", "one.csv", "--drive", "g-1g"]).contains("too few for the percentile"));
    assert!(refused(&["--measured", "none.csv", "--drive", "g-1g"]).contains("none.csv"));
    assert!(refused(&[]).contains("FOLDER"));
    let no_trim = refused(&["--measured", "one.csv", "--drive", "g-1g", "--kind", "trim"]);
    assert!(no_trim.contains("no trim has a response time"), "{no_trim}");
    place.put("array.toml", b"[device]\npreset = \"g-1g\"\n[array]\ndrives = 4\nlayout = \"raid5\"\n");
    assert!(refused(&["--measured", "one.csv", "--drive", "array.toml"]).contains("compared with one drive"));
}
