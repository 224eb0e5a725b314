//! What a run prints and saves.

use crate::support::{Place, golden, json};

#[test]
fn a_small_run_prints_its_report() {
    let place = Place::new();
    golden("small.txt", &place.text(&["run", "small.toml", "--out", "out"]));
}

#[test]
fn two_runs_are_equal_to_the_byte() {
    let place = Place::new();
    for out in ["a", "b"] {
        place.text(&["run", "small.toml", "--out", out]);
    }
    for file in ["report.json", "scenario.toml", "slowest.csv", "attribution.csv", "curve.csv"] {
        let read = |folder: &str| std::fs::read(place.path(folder).join(file)).expect("it was written");
        assert!(!read("a").is_empty(), "{file}");
        assert_eq!(read("a"), read("b"), "{file}");
    }
}

#[test]
fn a_printed_scenario_repeats_the_run() {
    let place = Place::new();
    place.text(&["run", "small.toml", "--seed", "9", "--out", "a"]);
    let resolved = place.text(&["run", "small.toml", "--seed", "9", "--resolved"]);
    place.put("resolved.toml", resolved.as_bytes());
    place.text(&["run", "resolved.toml", "--out", "b"]);
    place.text(&["run", "a/scenario.toml", "--out", "c"]);
    place.text(&["run", "small.toml", "--seed", "10", "--out", "d"]);
    let digest = |out: &str| place.json(&format!("{out}/report.json"))["digest"].clone();
    assert_eq!(digest("a"), digest("b"));
    assert_eq!(digest("a"), digest("c"));
    assert_ne!(digest("a"), digest("d"));
}

#[test]
fn json_takes_the_place_of_tables() {
    let place = Place::new();
    let report = json(&place.text(&["run", "small.toml", "--json", "-", "--out", "out"]));
    assert_eq!(report, place.json("out/report.json"));
    assert_eq!(report["completed"], 20_000);
    assert!(report["drive"]["write_amplification"].as_f64().expect("a number") > 1.0);
    for kind in report["kinds"].as_array().expect("a list") {
        let latency = &kind["latency"];
        assert!(latency["mean_ns"].as_f64() >= latency["bare_ns"].as_f64().map(|bare| bare * 0.1), "{kind}");
        let shares: f64 = kind["waits"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|w| w["share"].as_f64().expect("a share"))
            .sum();
        assert!((shares - 1.0).abs() < 1e-9 || kind["kind"] == "flush", "{kind}");
    }
    for resource in report["resources"].as_array().expect("a list") {
        assert!(resource["busy"].as_f64().expect("a share") <= 1.0, "a limit was exceeded: {resource}");
    }
    let drive = &report["drive"];
    let figure = |name: &str| drive[name].as_f64().expect("a number");
    for name in ["inter_chip_idleness", "intra_chip_idleness"] {
        assert!(figure(name) >= figure(&format!("{name}_least")), "a limit was exceeded: {drive}");
    }
    let parts = drive["breakdown"].as_object().expect("shares").values();
    let sum: f64 = parts.map(|part| part.as_f64().expect("a share")).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{drive}");
    assert_eq!(report["queue_stall_ns"], 0);
}

#[test]
fn a_full_queue_shows_how_long_it_stalled() {
    let place = Place::new();
    let text = place.text(&["run", "small.toml", "--set", "device.queue.depth=1", "--out", "out"]);
    assert!(text.contains("with a request but no tag"), "{text}");
    let report = place.json("out/report.json");
    let ns = |name: &str| report[name].as_u64().expect("a time");
    assert!(ns("queue_stall_ns") <= ns("until_ns") - ns("from_ns"));
    assert!(ns("queue_stall_ns") > (ns("until_ns") - ns("from_ns")) / 10 * 9, "eight requests, one tag");
}

#[test]
fn a_report_of_another_version_is_refused() {
    let place = Place::new();
    place.text(&["run", "small.toml", "--out", "out"]);
    let file = place.path("out/report.json");
    let report = std::fs::read_to_string(&file).expect("it was written");
    std::fs::write(&file, report.replace("queue_stall_ns", "unknown")).expect("it can be written");
    let output = place.run(&["explain", "out"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        crate::support::stderr(&output).contains("not a report of this version"),
        "{}",
        crate::support::stderr(&output)
    );
}

#[test]
fn a_folder_that_cannot_be_written_is_noticed_before_the_run() {
    let place = Place::new();
    place.put("file", b"");
    for arguments in [&["--out", "file/out"][..], &["--html", "none/page.html"], &["--json", "none/run.json"]]
    {
        let report = place.refused(2, &[&["run", "small.toml"], arguments].concat());
        assert!(report.contains(arguments[1]) && report.contains("nothing was run"), "{report}");
    }
}

#[test]
fn a_drive_that_refuses_writes_is_a_failure_with_results() {
    let place = Place::new();
    let faulty = [
        "--set",
        "device.faults.program_fail=0.1",
        "--set",
        "device.faults.erase_fail=0.1",
        "--set",
        "run.requests=200000",
    ];
    let mut arguments = vec!["run", "small.toml", "--out", "out"];
    arguments.extend(faulty);
    let output = place.run(&arguments);
    assert_eq!(output.status.code(), Some(1), "{}", crate::support::stderr(&output));
    assert!(crate::support::stdout(&output).contains("the drive became read-only"));
    assert!(crate::support::stderr(&output).contains("refused writes"));
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_run_shows_what_is_known() {
    use std::process::{Command, Stdio};
    let place = Place::new();
    let long = ["run", "small.toml", "--set", "run.requests=0", "--set", "run.duration=1d", "--out", "out"];
    let mut child =
        place.command(&long).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let id = child.id().to_string();
    while !crate::support::listens_to_interrupts(&id) {
        assert!(
            child.try_wait().expect("it can be asked").is_none(),
            "it ended before it could be interrupted"
        );
        std::thread::yield_now();
    }
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("there is a kill").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", crate::support::stderr(&output));
    assert!(crate::support::stdout(&output).contains("interrupted"), "{}", crate::support::stdout(&output));
    assert_eq!(place.json("out/report.json")["interrupted"], true);
    // An interrupted run can be explained: the same requests again, and no more.
    let slowest = std::fs::read_to_string(place.path("out/slowest.csv")).expect("it was written");
    let number = slowest.lines().nth(1).and_then(|line| line.split(',').next()).expect("a number");
    assert!(place.text(&["explain", "out", "--request", number]).contains("its own work on chips"));
}

#[test]
fn a_key_value_server_shows_what_its_clients_had() {
    let place = Place::new();
    std::fs::write(place.path("kv.toml"), SERVER).expect("it can be written");
    let text = place.text(&["run", "kv.toml", "--out", "out"]);
    for part in ["90 % gets of 5000 items", "get, from flash", "set", "its threads were busy", "log:"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let report = place.json("out/report.json");
    assert_eq!(report["kv"]["refused"], 0);
    assert_eq!(report["content_checked"], true);
    let refused = place.refused(2, &["run", "kv.toml", "--set", "kv.items=1000000"]);
    assert!(refused.contains("kv.items: a store of this size works with at most"), "{refused}");
    let refused = place.refused(2, &["run", "kv.toml", "--set", "workload.read_size=8KiB"]);
    assert!(refused.contains("set workload.read_size and workload.write_size"), "{refused}");
}

const SERVER: &str = r#"
[run]
requests = 2000
duration = "0s"
ramp = "0s"
[workload]
read = "90%"
pace = "closed"
depth = 8
region_share = "100%"
[precondition]
state = "steady"
fill = "60%"
[device]
preset = "femu-16g"
geometry.blocks = 32
[kv]
enabled = true
items = 5000
memory = "1MiB"
space = "16MiB"
segment = "256KiB"
"#;
