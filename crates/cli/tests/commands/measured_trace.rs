//! `tailcut explain --measured`: traces of drives whose truth is known, because they were simulated.

use crate::support::{Place, json};
use serde_json::Value;
use std::fmt::Write;
use tailcut::interrupt::Interrupt;
use tailcut::run::arguments::{RunArguments, RunOptions};
use tailcut::run::{Keep, Scenario, read, simulate_and_keep};
use tailcut_base::Op;
use tailcut_base::config::Choice;
use tailcut_sim::request_log::RequestLog;

const GEOMETRY: &str = "device.geometry.blocks=64";

/// Runs a load on a drive; returns what it measured.
fn measure(drive: &[&str]) -> RequestLog {
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
    run.ok().and_then(|run| run.columns).expect("the requests of a run")
}

/// Runs a load on a drive and writes what it measured in the format of MSR's traces.
fn record(place: &Place, drive: &[&str]) {
    let log = measure(drive);
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

/// A latency log as fio writes it: in the order of completions, whose times are whole milliseconds.
fn fio_log(log: &RequestLog, with_issue_times: bool) -> String {
    let mut text = String::new();
    for row in 0..log.len() {
        let (ms, latency) = (log.completed[row] / 1_000_000, log.latency[row]);
        let direction = u8::from(usize::from(log.op[row]) != Op::Read.index());
        let (offset, bytes) = (log.sector[row] * 512, u64::from(log.sectors[row]) * 512);
        write!(text, "{ms}, {latency}, {direction}, {bytes}, {offset}, 0").expect("strings have room");
        if with_issue_times {
            write!(text, ", {}", log.due[row]).expect("strings have room");
        }
        text.push('\n');
    }
    text
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
fn a_drive_that_is_too_small_for_the_trace_is_named() {
    let place = Place::new();
    record(&place, &["device.geometry.blocks=128"]);
    let small = explain(&place, &["--kind", "read"]);
    let notes = small["notes"].to_string();
    assert!(notes.contains("requests beyond the device"), "{notes}");
    let command = ["explain", "--measured", "measured.csv", "--drive", "g-1g", "--quiet", "--set"];
    let text = place.text(&[&command[..], &[GEOMETRY]].concat());
    assert!(text.contains("g-1g is smaller than the drive of the trace"), "{text}");
    let both = place.refused(2, &[&command[..], &["device.preset=tlc-sata"]].concat());
    assert!(both.contains("name them by --drive and --control"), "{both}");
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
fn latency_logs_of_fio_are_explained_and_those_with_times_of_issue_best() {
    let place = Place::new();
    let log = measure(&[]);
    let explained = |with_issue_times| {
        place.put("measured.csv", fio_log(&log, with_issue_times).as_bytes());
        let found = explain(&place, &["--kind", "read"]);
        assert!(share(&found["control"]["explained"]) < 0.3, "{found}");
        (share(&found["explained"]), found)
    };
    let (exact, by_issue) = explained(true);
    assert!(exact > 0.8 && (200..=220).contains(&by_issue["slow"].as_u64().expect("a count")), "{by_issue}");
    let (rounded, by_completion) = explained(false);
    assert!(rounded > 0.5 && rounded <= exact, "{by_completion}");
    // The warning is that of the log without times of issue.
    let output = place.run(&["explain", "--measured", "measured.csv", "--drive", "g-1g", "--quiet"]);
    let warnings = crate::support::stderr(&output);
    assert!(warnings.contains("--log_issue_time=1"), "{warnings}");
}

#[test]
fn logs_of_fio_that_cannot_be_compared_are_refused_with_its_option() {
    let place = Place::new();
    let refused = |text: &str| {
        place.put("job_lat.1.log", text.as_bytes());
        place.refused(2, &["explain", "--quiet", "--measured", "job_lat.1.log", "--drive", "g-1g"])
    };
    assert!(refused("20, 3720321, 0, 0, 0\n").contains("--log_avg_msec"));
    assert!(refused("20, 3720321, 0, 4096, 0x0000\n").contains("--log_offset=1"));
    let bad = refused("20, 3720321, 0, 4096, 8192, 0\n20, many, 0, 4096, 8192, 0\n");
    assert!(bad.contains("job_lat.1.log, line 2: field 2") && bad.contains("--skip-bad-lines"), "{bad}");
    place.put("job_bw.1.log", b"20, 3720321, 0, 4096, 8192, 0\n");
    let other = place.refused(2, &["explain", "--measured", "job_bw.1.log", "--drive", "g-1g"]);
    assert!(other.contains("--write_lat_log"), "{other}");
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_is_refused_by_a_build_without_it() {
    let place = Place::new();
    place.put("all.parquet", b"PAR1 and more");
    let refused = place.refused(2, &["explain", "--measured", "all.parquet", "--drive", "g-1g"]);
    assert!(refused.contains("--features parquet"), "{refused}");
}

#[cfg(feature = "parquet")]
#[test]
fn requests_written_as_parquet_are_explained() {
    let place = Place::new();
    let load =
        ["run", "--quiet", "--set", "device.preset=g-1g", "--set", GEOMETRY, "--set", "workload.read=70%"];
    let length = ["--set", "workload.pace=open", "--set", "workload.rate=3000", "--set", "run.ramp=0s"];
    let files = ["--set", "run.requests=30000", "--requests", "all.parquet", "--out", "out"];
    place.text(&[&load[..], &length, &files].concat());
    let fixed = ["explain", "--measured", "all.parquet", "--quiet", "--json", "--kind", "read"];
    let drive = ["--drive", "g-1g", "--set", GEOMETRY];
    let found = json(&place.text(&[&fixed[..], &drive].concat()));
    assert!(share(&found["explained"]) > 0.99, "the same drive, to the nanosecond: {found}");
    assert!(share(&found["control"]["explained"]) < 0.3, "{found}");
    place.text(&[
        "run",
        "--quiet",
        "--set",
        "run.requests=100",
        "--set",
        "run.ramp=0s",
        "--requests",
        "few.parquet",
        "--out",
        "out",
    ]);
    let few = ["explain", "--measured", "few.parquet", "--quiet", "--kind", "trim", "--drive", "g-1g"];
    let none = place.refused(2, &few);
    assert!(none.contains("no trim has a response time"), "{none}");
    place.put("torn.parquet", b"PAR1 and no more");
    let torn = place.refused(2, &["explain", "--measured", "torn.parquet", "--drive", "g-1g"]);
    assert!(torn.contains("torn.parquet: "), "{torn}");
}

#[cfg(feature = "parquet")]
#[test]
fn requests_as_parquet_are_those_of_the_csv_file() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let place = Place::new();
    let run = ["run", "--quiet", "--set", "run.requests=3000", "--set", "run.ramp=0s", "--out", "out"];
    for file in ["all.csv", "all.parquet"] {
        place.text(&[&run[..], &["--requests", file]].concat());
    }
    let mut csv = csv::Reader::from_path(place.path("all.csv")).expect("CSV");
    let head: Vec<String> = csv.headers().expect("a head").iter().map(String::from).collect();
    let file = std::fs::File::open(place.path("all.parquet")).expect("it is there");
    let reader = SerializedFileReader::new(file).expect("it is Parquet");
    let mut count = 0;
    for (row, record) in reader.get_row_iter(None).expect("rows").zip(csv.records()) {
        let (row, record) = (row.expect("a row"), record.expect("a line"));
        for ((name, field), (column, cell)) in row.get_column_iter().zip(head.iter().zip(&record)) {
            assert_eq!((name, field.to_string().trim_matches('"')), (column, cell));
        }
        count += 1;
    }
    assert_eq!(count, 3000);
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
