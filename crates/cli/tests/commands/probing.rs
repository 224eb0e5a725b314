//! `tailcut probe`: what it prints, what it writes, and above all what it leaves alone.

use crate::support::{Place, golden, has, json, stderr, stdout};
use std::fs;
use tailcut_rt::FileDrive;
use tailcut_rt::file::FileOptions;

/// A disk of 8 MiB with data on it.
fn disk(place: &Place) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..8u32 << 20).map(|at| (at.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect();
    bytes[1080..1082].copy_from_slice(b"\x53\xEF");
    place.put("disk", &bytes);
    bytes
}

const BRIEF: [&str; 3] = ["probe", "--time", "300ms"];

#[test]
fn a_simulated_drive_shows_all_that_there_is() {
    let place = Place::new();
    let line =
        ["probe", "--simulated", "g-1g", "--destroy-data", "--quick", "--time", "90s", "--preset", "g.toml"];
    golden("probe.txt", &place.text(&line));
    golden("probe.toml", &fs::read_to_string(place.path("g.toml")).expect("it was written"));
    let run = place.text(&["run", "g.toml", "--set", "run.duration=200ms", "--set", "run.ramp=0s"]);
    assert!(run.contains("closed loop of 16"), "{run}");
    // It sets nothing that has no effect.
    assert_eq!(stderr(&place.run(&["run", "g.toml", "--resolved"])), "");
}

#[test]
fn the_help_says_what_is_destroyed_and_when() {
    golden("probe-help.txt", &Place::new().text(&["probe", "--help"]));
}

#[test]
fn without_the_flag_not_a_byte_changes() {
    let place = Place::new();
    let before = disk(&place);
    let changed = fs::metadata(place.path("disk")).and_then(|data| data.modified()).expect("it is there");
    let output =
        place.run(&[&BRIEF[..], &["disk", "--json", "found.json", "--preset", "disk.toml"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(fs::read(place.path("disk")).expect("it is there"), before);
    assert_eq!(
        fs::metadata(place.path("disk")).and_then(|data| data.modified()).expect("it is there"),
        changed
    );
    let text = stdout(&output).split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(text.contains("--destroy-data does, and destroys all"), "{text}");
    assert!(
        text.contains("an ext2, ext3 or ext4 file system")
            && text.contains("the same probe on the estimated drive")
    );
    let found = place.json("found.json");
    assert_eq!((&found["end"], &found["writes"]), (&"complete".into(), &serde_json::Value::Null));
    assert_eq!(found["identity"]["bytes"], 8 << 20);
    assert!(found["random_reads"][0]["latency"]["p50_ns"].as_u64().is_some_and(|time| time > 0), "{found}");
    assert!(!found["comparison"].as_array().expect("a list").is_empty());
    place.text(&["run", "disk.toml", "--resolved"]);
    assert!(stderr(&output).is_empty(), "{}", stderr(&output));
}

#[test]
fn with_the_flag_it_says_before_what_is_lost() {
    let place = Place::new();
    let before = disk(&place);
    let output = place.run(&[&BRIEF[..], &["disk", "--destroy-data", "--json", "-"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(
        said.contains("--destroy-data: destroying all 8.00 MiB of the file") && said.contains("ext4"),
        "{said}"
    );
    let found = json(&stdout(&output));
    assert_ne!(fs::read(place.path("disk")).expect("it is there"), before);
    assert_eq!(fs::metadata(place.path("disk")).expect("it is there").len(), 8 << 20, "it has its size");
    assert!(found["writes"]["fill"]["bytes_per_second"].is_array(), "{found}");
}

#[test]
fn what_cannot_be_probed_is_refused_with_the_remedy() {
    let place = Place::new();
    let before = disk(&place);
    place.put("small", b"too small");
    let refused = |what: &[&str], remedy: &str| {
        let report = place.refused(2, &[&["probe"], what].concat());
        assert!(report.contains(remedy), "{report}");
    };
    refused(&["none"], "give a file or a block device that you may read");
    refused(&["."], "neither a file nor a block device");
    refused(&["/dev/null", "--destroy-data"], "neither a file nor a block device");
    refused(&["small"], "truncate --size");
    refused(&["--simulated", "g-2g"], "did you mean 'g-1g'");
    refused(&["disk", "--simulated", "g-1g"], "cannot be used with");
    refused(&[], "<DEVICE>");
    refused(&["disk", "--time", "0s"], "it takes some time");
    let holder = FileDrive::open(&place.path("disk"), FileOptions::default()).expect("it is free");
    refused(&["disk", "--destroy-data"], "which has locked it: stop that one");
    drop(holder);
    assert_eq!(fs::read(place.path("disk")).expect("it is there"), before);
}

#[test]
fn fio_is_given_jobs_that_measure_a_drive() {
    let place = Place::new();
    let told = place.text(&["probe", "/dev/a:b", "--fio-jobs", "mine.fio"]);
    assert!(told.contains("fio --output-format=json --output=mine.json mine.fio"), "{told}");
    assert!(told.contains("will be lost") && told.contains("tailcut calibrate mine.json"), "{told}");
    let jobs = fs::read_to_string(place.path("mine.fio")).expect("it was written");
    assert!(jobs.contains("filename=/dev/a\\:b\n") && jobs.matches("\n[reads").count() == 9, "{jobs}");
    place.text(&["probe", "drive", "--fio-jobs", "quick.fio", "--quick"]);
    if has(&["fio"]) {
        let parsed = place.attempt("fio", &["--parse-only", "quick.fio"]);
        assert!(parsed.status.success(), "{}", stderr(&parsed));
    }
    place.refused(2, &["probe", "drive", "--fio-jobs", "x.fio", "--destroy-data"]);
}
