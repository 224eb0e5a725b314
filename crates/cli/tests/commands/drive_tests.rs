//! `tailcut pts`: every test in its short form, over simulated and emulated drives and over a file.

use crate::support::{Place, golden, stderr, stdout};
use std::fs;

/// The small drive, with minutes of 10 ms.
const SHORT: [&str; 8] = ["pts", "--quick", "--minute", "10ms", "--scenario", "small.toml", "--rounds", "6"];

fn short(more: &[&'static str]) -> Vec<&'static str> {
    [&SHORT[..], more].concat()
}

/// A disk of 8 MiB with a file system on it.
fn disk(place: &Place) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..8u32 << 20).map(|at| (at.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect();
    bytes[1080..1082].copy_from_slice(b"\x53\xEF");
    place.put("disk", &bytes);
    bytes
}

const ON_DISK: [&str; 8] = ["pts", "lat", "--quick", "--minute", "2ms", "--rounds", "5", "--device"];

#[test]
fn every_test_has_its_pages_and_results() {
    let place = Place::new();
    let page = place.text(&short(&["all", "--json", "all.json", "--csv", "all.csv"]));
    let count = |text: &str| page.matches(text).count();
    assert_eq!((count("SNIA SSS PTS 2.0, PTS-E"), count("NOT A CONFORMING RUN")), (8, 8), "on every page");
    let report = place.json("all.json");
    assert_eq!(
        (&report["full_length"], &report["device"]["kind"]),
        (&false.into(), &"a simulated drive, in virtual time".into())
    );
    let tests = report["tests"].as_array().expect("a list");
    let names: Vec<&str> = tests.iter().filter_map(|test| test["test"].as_str()).collect();
    assert_eq!(names, ["iops", "tp", "lat", "wsat", "hir", "xsr", "cbw", "dirth"]);
    for test in tests {
        let list = |key: &str| test[key].as_array().expect("a list").len();
        assert_eq!(
            (&test["end"], &test["purged_share"]),
            (&"complete".into(), &1.0.into()),
            "{}",
            test["test"]
        );
        assert!(list("rows") > 0 && list("records") > 0 && list("stages") > 1, "{}", test["test"]);
    }
    let rows = |test: usize| tests[test]["rows"].as_array().expect("a list").len();
    // 56 cells; two sizes and two modes; nine cells of four values and nine of a histogram; the grids of 36
    // and 49.
    assert_eq!((rows(0), rows(1), rows(2)), (56, 4, 9 * 4 + 9));
    assert_eq!((rows(6), rows(7)), (1 + 36 * 2, 1 + 49 * 2 + 3 * 9));
    let csv = fs::read_to_string(place.path("all.csv")).expect("it was written");
    assert!(csv.starts_with("test,case,quantity,unit,value\niops,RND 1024KiB 100/0,IOPS,1/s,"), "{csv}");
}

#[test]
fn the_pages_of_a_simulated_drive_are_the_same_everywhere() {
    let place = Place::new();
    golden("pts.txt", &place.text(&short(&["tp", "lat", "hir", "--client"])));
    golden("pts-help.txt", &place.text(&["pts", "--help"]));
}

#[test]
fn results_are_laid_beside_those_of_a_file() {
    let place = Place::new();
    place.text(&short(&["tp", "--json", "tp.json", "--csv", "tp.csv"]));
    for file in ["tp.json", "tp.csv"] {
        let beside = place.text(&[&short(&["tp", "--against"])[..], &[file]].concat());
        let table = beside.split(&format!("beside {file}")).nth(1).expect("it has one");
        let ratios = table.lines().filter(|line| line.ends_with(" 1.00")).count();
        assert_eq!(ratios, 4, "the same figures: {table}");
    }
    let report = "test,case,quantity,unit,value\ntp,SEQ 128KiB 0/100,throughput,MiB/s,1000\n";
    place.put("published.csv", report.as_bytes());
    let beside = place.text(&short(&["tp", "--against", "published.csv", "--json", "-"]));
    let value = crate::support::json(&beside);
    let rows = value["tests"][0]["rows"].as_array().expect("a list");
    let row = rows.iter().find(|row| row["case"] == "SEQ 128KiB 0/100").expect("it is there");
    let (here, there) = (row["measured"].as_f64().expect("a figure"), 1000.0 * 1024.0 * 1024.0);
    assert_eq!((&row["paper"], &row["ratio"]), (&there.into(), &(here / there).into()));
    let without = rows.iter().find(|row| row["case"] == "SEQ 1024KiB 0/100").expect("it is there");
    assert!(without["paper"].is_null() && without["ratio"].is_null());
    place.put("wrong.csv", b"test,case,quantity,unit,value\ntp,a,b,furlongs,1\n");
    let refused = place.refused(2, &short(&["tp", "--against", "wrong.csv"]));
    assert!(refused.contains("--against wrong.csv: line 2: the unit 'furlongs' is not known"), "{refused}");
}

#[test]
fn a_device_is_tested_only_if_its_data_may_be_destroyed() {
    let place = Place::new();
    let before = disk(&place);
    let refused = place.refused(2, &[&ON_DISK[..], &["disk"]].concat());
    assert!(
        refused.contains("it destroys all 8.00 MiB of the file") && refused.contains("ext4"),
        "{refused}"
    );
    assert_eq!(fs::read(place.path("disk")).expect("it is there"), before, "nothing was written");
    let output = place.run(&[&ON_DISK[..], &["disk", "--destroy-data", "--json", "disk.json"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("--destroy-data: destroying all 8.00 MiB"), "{}", stderr(&output));
    assert_ne!(fs::read(place.path("disk")).expect("it is there"), before);
    assert_eq!(fs::metadata(place.path("disk")).expect("it is there").len(), 8 << 20, "it has its size");
    let report = place.json("disk.json");
    assert_eq!(report["device"]["kind"], "a file");
    assert!(report["setup"]["purge"].as_str().is_some_and(|how| how.starts_with("TRIM")), "{report}");
    let rows = report["tests"][0]["rows"].as_array().expect("a list");
    assert!(rows.iter().all(|row| row["measured"].as_f64().is_some_and(|figure| figure > 0.0)), "{rows:?}");
    assert!(stdout(&output).contains("a file: what is measured is the file system"), "{}", stdout(&output));
}

#[test]
fn an_emulated_drive_is_tested_in_real_time() {
    let place = Place::new();
    let line = ["pts", "wsat", "--quick", "--minute", "2ms", "--range", "2MiB", "--real-time", "--json", "-"];
    let report = crate::support::json(&place.text(&[&line[..], &["--scenario", "small.toml"]].concat()));
    assert_eq!(report["device"]["kind"], "an emulated drive, in real time");
    let test = &report["tests"][0];
    assert_eq!(test["end"], "complete");
    let written = test["rows"].as_array().and_then(|rows| rows.iter().find(|row| row["unit"] == "B"));
    let written = written.and_then(|row| row["measured"].as_f64()).expect("it says how much");
    assert!(written >= 2.0 * 1024.0 * 1024.0, "not before the range was written: {written}");
    assert!(!test["histograms"][0]["buckets"].as_array().expect("a list").is_empty());
}

#[test]
#[cfg(target_os = "linux")]
fn an_interrupted_test_shows_what_is_known() {
    let place = Place::new();
    let line = ["pts", "xsr", "--set", "device.preset=g-1g", "--json", "cut.json"];
    let child = place
        .command(&line)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn();
    let mut child = child.expect("the binary starts");
    let id = child.id().to_string();
    while !crate::support::listens_to_interrupts(&id) {
        assert!(child.try_wait().expect("it is ours").is_none(), "it ended before it could be interrupted");
        std::thread::yield_now();
    }
    let sent = std::process::Command::new("kill").args(["-INT", &id]).status().expect("there is kill");
    assert!(sent.success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("stopped: what was measured until then is shown"),
        "{}",
        stdout(&output)
    );
    assert_eq!(place.json("cut.json")["tests"][0]["end"], "stopped");
}

#[test]
fn what_is_wrong_is_told_with_the_remedy() {
    let place = Place::new();
    let before = disk(&place);
    let refused = |what: &[&str], remedy: &str| {
        let report = place.refused(2, &[&["pts"], what].concat());
        assert!(report.contains(remedy), "{report}");
    };
    refused(&["wsta"], "did you mean 'wsat'");
    refused(&["iops", "--client", "--enterprise"], "cannot be used with");
    refused(&["--device", "none", "--destroy-data"], "give a file or a block device that you may read");
    refused(&["--device", "disk", "--real-time"], "cannot be used with");
    refused(&["--destroy-data"], "--device");
    refused(&["--range", "1MiB"], "from 2MiB on");
    refused(&["--minute", "0s"], "it takes some time");
    refused(&["--set", "array.drives=4"], "it tests one drive");
    refused(&["--set", "device.preset=g-2g"], "g-1g");
    refused(&["--against", "none.csv"], "--against none.csv");
    assert_eq!(fs::read(place.path("disk")).expect("it is there"), before);
}
