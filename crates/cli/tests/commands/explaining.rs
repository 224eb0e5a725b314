//! The output of `tailcut explain`.

use crate::support::{Place, golden, json};
use serde_json::Value;

fn ran() -> Place {
    let place = Place::new();
    place.text(&["run", "small.toml", "--out", "out"]);
    place
}

fn slowest(place: &Place) -> String {
    let text = std::fs::read_to_string(place.path("out/slowest.csv")).expect("it was written");
    text.lines().nth(1).and_then(|line| line.split(',').next()).expect("a number").to_string()
}

#[test]
fn a_percentile_has_a_make_up() {
    let place = ran();
    golden("percentile.txt", &place.text(&["explain", "out", "--percentile", "99.9"]));
    let make_up = json(&place.text(&["explain", "out", "--percentile", "99.9", "--json"]));
    let shares: f64 = make_up["slower"]["waits"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|w| w["share"].as_f64().expect("a share"))
        .sum();
    assert!((shares - 1.0).abs() < 1e-9);
    assert!(make_up["slower"]["requests"].as_u64().expect("a count") >= 18);
}

#[test]
fn the_slowest_request_has_a_timeline_that_adds_up() {
    let place = ran();
    let number = slowest(&place);
    golden("timeline.txt", &place.text(&["explain", "out", "--request", &number]));
    let timeline = json(&place.text(&["explain", "out", "--request", &number, "--json"]));
    adds_up(&timeline);
}

/// Writes are the slowest requests here; reads are listed nevertheless, and every kind has requests to look
/// at.
#[test]
fn the_slowest_of_each_kind_are_listed() {
    let place = ran();
    for kind in ["read", "write", "flush"] {
        let arguments = ["explain", "out", "--kind", kind, "--json"];
        let numbers = json(&place.text(&arguments))["slowest"].as_array().expect("a list").len();
        assert!((10..=1000).contains(&numbers), "{numbers} of kind {kind}");
    }
}

/// An open loop that exceeds the drive's throughput: nearly all time is spent waiting for the drive to accept
/// a request, which does not show what keeps the drive busy.
#[test]
fn an_overloaded_drive_shows_what_requests_wait_for_inside() {
    let place = Place::new();
    let load = ["--set", "workload.pace=open", "--set", "workload.rate=20000"];
    place.text(&[&["run", "small.toml", "--out", "out"][..], &load].concat());
    // What the drive has done counts, whenever it was due.
    let report = place.json("out/report.json");
    let figure = |value: &Value| value.as_f64().expect("a figure");
    let sustained = figure(&report["overload"]["sustained_per_s"]);
    let kinds = report["kinds"].as_array().expect("a list");
    let rates = kinds.iter().map(|kind| (kind["kind"] == "all", figure(&kind["requests_per_s"])));
    let (all, each): (Vec<_>, Vec<_>) = rates.partition(|&(is_all, _)| is_all);
    let each: f64 = each.iter().map(|&(_, rate)| rate).sum();
    assert!((all[0].1 / sustained - 1.0).abs() < 1e-9 && (each / sustained - 1.0).abs() < 1e-9, "{report}");
    let text = place.text(&["explain", "out"]);
    let (before, after) = text.split_once("in the drive, once it has taken them").expect("it is overloaded");
    assert!(before.contains("host queue") && after.contains("chip: "), "{text}");
    let make_up = json(&place.text(&["explain", "out", "--json"]));
    let waits = make_up["in_drive"].as_array().expect("a list");
    let shares: f64 = waits.iter().map(|wait| wait["share"].as_f64().expect("a share")).sum();
    assert!(
        (shares - 1.0).abs() < 1e-9 && waits.iter().all(|wait| wait["cause"] != "host queue"),
        "{waits:?}"
    );
    // The small run has many other waits.
    assert!(json(&ran().text(&["explain", "out", "--json"]))["in_drive"].is_null());
}

#[test]
fn any_request_has_a_timeline() {
    let place = ran();
    for number in ["0", "1234", "19999"] {
        let timeline = json(&place.text(&["explain", "out", "--request", number, "--json"]));
        assert_eq!(timeline["number"].to_string(), number);
        adds_up(&timeline);
    }
    assert!(place.refused(2, &["explain", "out", "--request", "20000"]).contains("numbered from 0"));
}

fn adds_up(timeline: &Value) {
    let spans = timeline["spans"].as_array().expect("a list");
    let sum: u64 = spans.iter().map(|span| span["ns"].as_u64().expect("a time")).sum();
    assert_eq!(Some(sum), timeline["latency_ns"].as_u64());
    let time = |event: &Value, key: &str| event[key].as_u64().expect("a time");
    for own in timeline["own"].as_array().expect("a list") {
        assert!(time(own, "start_ns") >= time(timeline, "submitted_ns"));
        assert!(time(own, "end_ns") <= time(timeline, "completed_ns"));
    }
    if timeline["op"] == "read" && spans.iter().any(|span| span["cause"] == "cell") {
        assert!(!timeline["own"].as_array().expect("a list").is_empty(), "a read from flash has a chip");
    }
}

#[test]
fn an_export_is_a_trace_of_events() {
    let place = ran();
    let said = place.text(&["explain", "out", "--perfetto", "trace.json"]);
    assert!(said.contains("transactions"), "{said}");
    let trace = place.json("trace.json");
    let events = trace["traceEvents"].as_array().expect("a list of events");
    for phase in ["M", "X", "b", "e"] {
        assert!(events.iter().any(|event| event["ph"] == phase), "{phase}");
    }
    let count = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
    assert_eq!(count("b"), count("e"), "every request that begins ends");
    for event in events.iter().filter(|event| event["ph"] == "X") {
        assert!(event["ts"].is_number() && event["dur"].as_f64().expect("a length") > 0.0, "{event}");
    }
    let number: u64 = slowest(&place).parse().expect("a number");
    assert!(events.iter().any(|event| event["ph"] == "b" && event["id"] == number));
}

#[test]
fn an_export_can_have_a_window() {
    let place = ran();
    place.text(&["explain", "out", "--perfetto", "t.json", "--from", "200ms", "--until", "201ms"]);
    let trace = place.json("t.json");
    let late = |event: &&Value| event["args"]["members"].is_array() && event["ts"].as_f64() > Some(201_000.0);
    assert_eq!(trace["traceEvents"].as_array().expect("a list").iter().filter(late).count(), 0);
    let report =
        place.refused(2, &["explain", "out", "--perfetto", "t.json", "--from", "2s", "--until", "1s"]);
    assert!(report.contains("--until"), "{report}");
    let report = place.refused(2, &["explain", "out", "--perfetto", "t.json", "--from", "90s"]);
    assert!(report.contains("the run ended at") && !report.contains("again"), "{report}");
    let said = place.text(&["explain", "out", "--perfetto", "t.json", "--from", "200ms", "--until", "90s"]);
    let end = place.json("out/report.json")["until_ns"].as_u64().expect("a number") as f64 / 1e9;
    assert!(said.contains(&format!("the window ends with the run, at {end:.6} s, before --until")), "{said}");
    assert!(said.contains(&format!("from 0.200000 s to {end:.6} s")), "{said}");
}

#[test]
fn one_kind_of_requests_is_explained_by_itself() {
    let place = ran();
    let of = |arguments: &[&str]| {
        json(&place.text(&[&["explain", "out", "--json"], arguments].concat()))["requests"].as_u64()
    };
    let kinds = ["read", "write", "flush"].map(|kind| of(&["--kind", kind]).expect("there were some"));
    assert_eq!(of(&[]), Some(kinds.iter().sum()));
    assert!(place.refused(2, &["explain", "out", "--kind", "trim"]).contains("no trim"));
    assert!(place.refused(2, &["explain", "out", "--kind", "rite"]).contains("read, write, trim or flush"));
}

#[test]
fn a_run_that_changed_is_not_explained() {
    let place = ran();
    let scenario = std::fs::read_to_string(place.path("out/scenario.toml")).expect("it was written");
    place.put("out/scenario.toml", scenario.replace("seed = 5", "seed = 6").as_bytes());
    let report = place.refused(1, &["explain", "out", "--request", "7"]);
    assert!(report.contains("digest") && report.contains("changed"), "{report}");
}

#[test]
fn a_folder_without_a_run_is_refused() {
    let place = Place::new();
    let refused = |folder: &str| place.refused(2, &["explain", folder]);
    assert!(
        refused("nowhere").contains("nowhere: there is no such folder; give the folder that 'tailcut run'")
    );
    assert!(refused("small.toml").contains("this is no folder"));
    assert!(refused(".").contains("no run has written here"));
    for (folder, file, part) in [
        ("c", "compare.json", "of 'tailcut compare', which keeps no requests; run one of its points"),
        ("a", "advise.json", "'tailcut run a/advise.toml --out DIR'"),
    ] {
        std::fs::create_dir(place.path(folder)).expect("a new folder");
        place.put(&format!("{folder}/{file}"), b"{}");
        assert!(refused(folder).contains(part), "{}", refused(folder));
    }
}

#[test]
fn no_bucket_ends_beyond_the_slowest_request() {
    let place = ran();
    let report = place.json("out/report.json");
    for kind in ["read", "write", "flush"] {
        let of_kind = report["kinds"].as_array().expect("kinds").iter().find(|of| of["kind"] == kind);
        let most = of_kind.expect("there were some")["latency"]["max_ns"].as_u64().expect("a number");
        for percentile in ["0", "99.99"] {
            let make_up =
                json(&place.text(&["explain", "out", "--json", "--kind", kind, "--percentile", percentile]));
            let at_most = |path: &Value| path.as_u64().is_some_and(|ns| ns <= most);
            assert!(
                at_most(&make_up["around_to_ns"]) && at_most(&make_up["latency_ns"]),
                "{kind}: {make_up}"
            );
            assert!(at_most(&make_up["slower"]["from_ns"]), "{kind}: {make_up}");
        }
    }
    let text = place.text(&["explain", "out", "--kind", "flush", "--percentile", "99.99"]);
    assert!(text.contains("all slower ones: 1 request from"), "{text}");
}

#[test]
fn a_read_that_took_its_chip_from_a_program_says_so() {
    let place = Place::new();
    let sets = [
        "schedule.chip=reads-first",
        "schedule.classes=equal",
        "preempt.program=reset",
        "preempt.erase=suspend",
    ];
    let sets = sets.map(|set| format!("device.{set}"));
    let mut arguments = vec!["run", "small.toml", "--out", "out"];
    for set in &sets {
        arguments.extend(["--set", set]);
    }
    place.text(&arguments);
    place.text(&["explain", "out", "--perfetto", "trace.json"]);
    let trace = place.json("trace.json");
    let events = trace["traceEvents"].as_array().expect("a list of events");
    let named = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    let resets = named("user write (reset)") + named("gc program (reset)");
    let handovers = named("reset of user write") + named("reset of gc program");
    // At the ends of the window a transaction may be inside and its reset outside.
    assert!(handovers > 0 && handovers <= resets, "{handovers} of {resets}");
    let preempted =
        |event: &&Value| event["ph"] == "b" && event["args"]["waited_us"]["chip: reset"].is_number();
    let number = events.iter().find(preempted).expect("a read waited for a reset")["id"].to_string();
    let text = place.text(&["explain", "out", "--request", &number]);
    assert!(text.contains("chip: reset") && text.contains("reset for a read"), "{text}");
    let timeline = json(&place.text(&["explain", "out", "--request", &number, "--json"]));
    adds_up(&timeline);
    let handovers = timeline["handovers"].as_array().expect("a list");
    assert!(handovers.iter().any(|handover| handover["handling"] == "reset"), "{timeline}");
}

#[test]
fn writes_to_an_array_in_place_are_as_durable_as_those_to_its_drives() {
    let place = Place::new();
    let drives = ["--set", "array.drives=4", "--set", "device.buffer.capacitor=true", "--set"];
    let run = [&["run", "small.toml", "--quiet", "--out", "out"], &drives[..]].concat();
    for (settings, is_volatile) in [
        (["array.layout=raid0", "--set", "array.raid.chunk=64KiB"], false),
        (["array.layout=raid0", "--set", "device.buffer.capacitor=false"], true),
        (["array.layout=epochs", "--set", "array.groups=2"], true),
    ] {
        place.text(&[&run[..], &settings].concat());
        assert_eq!(place.json("out/report.json")["volatile_cache"], is_volatile, "{settings:?}");
    }
}
