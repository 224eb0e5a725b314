//! `tailcut calibrate`: a small drive from start to end, and errors.

use crate::support::Place;

const HEADER: &str = "drive,offered,reads_per_s,writes_per_s,measured_reads,r_50p,r_90p,r_95p,r_99p,r_99p5,r_99p9,r_99p99,\
w_50p,w_90p,w_95p,w_99p,w_99p5,w_99p9,w_99p99\n";
const IDLE: &str = "x,6000,5010,5990,1000000,60,70,90,200,300,400,500,10,11,12,13,14,15,16\n";
const BUSY: &str =
    "x,20000,5150,13000,1000000,90,170,230,350,400,500,900,2000,3000,3100,3200,3300,3400,3500\n";

const CALIBRATE: [&str; 8] =
    ["calibrate", "rows.csv", "--quick", "--set", "device.preset=g-1g", "--evaluations", "8", "--quiet"];

fn place() -> Place {
    let place = Place::new();
    place.put("rows.csv", format!("{HEADER}{IDLE}{BUSY}").as_bytes());
    place
}

#[test]
fn a_drive_is_fitted_reported_and_can_be_run() {
    let place = place();
    let text = place.text(&[&CALIBRATE[..], &["-o", "mine.toml", "--json", "found.json"]].concat());
    assert!(text.contains("drive x: ") && text.contains("device.timing.program"), "{text}");
    let found = place.json("found.json");
    assert_eq!(found["evaluations"].as_u64().map(|count| count >= 8), Some(true));
    let rows = found["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row["predicted"]["cost"].as_f64().is_some()), "{found:#}");
    for parameter in found["parameters"].as_array().expect("a list") {
        let [value, low, high] = [&parameter["value"], &parameter["bounds"][0], &parameter["bounds"][1]];
        assert!(value.as_f64() >= low.as_f64().map(|low| low * 0.999), "{parameter}");
        assert!(value.as_f64() <= high.as_f64().map(|high| high * 1.001), "{parameter}");
    }
    let drive = std::fs::read_to_string(place.path("mine.toml")).expect("it was written");
    assert!(drive.contains("preset = \"g-1g\"") && drive.contains("# fitted"), "{drive}");
    let resolved = place.text(&["run", "mine.toml", "--resolved"]);
    let line = drive.lines().find(|line| line.starts_with("program = ")).expect("it was fitted");
    assert!(resolved.contains(line), "{line}\n{resolved}");
    assert!(!place.path("mine.toml.state.json").exists(), "the search is over");

    place.text(&[&CALIBRATE[..], &["-o", "again.toml", "--jobs", "1"]].concat());
    let again = std::fs::read_to_string(place.path("again.toml")).expect("it was written");
    assert_eq!(again, drive, "equal seeds give equal drives on any number of threads");
}

#[test]
fn what_cannot_be_fitted_is_refused() {
    let place = place();
    place.put("drive.toml.state.json", b"{}");
    let report = place.refused(2, &CALIBRATE);
    assert!(report.contains("drive.toml.state.json is of a search with other rows"), "{report}");
    let report = place.refused(2, &["calibrate", "rows.csv", "--drive", "y"]);
    assert!(report.contains("no row of the drive 'y'; there are rows of x"), "{report}");
    place.put("rows.csv", format!("{HEADER}{IDLE}{}", IDLE.replace("x,", "y,")).as_bytes());
    let report = place.refused(2, &["calibrate", "rows.csv"]);
    assert!(report.contains("choose one with --drive: x, y"), "{report}");
    place.put("rows.csv", format!("{HEADER}{}", IDLE.replace("60,70", "70,60")).as_bytes());
    let report = place.refused(2, &["calibrate", "rows.csv"]);
    assert!(
        report.contains("rows.csv: line 2: 'r_90p' is 60 and 'r_50p' is 70: percentiles never descend"),
        "{report}"
    );
    let report = place.refused(2, &["calibrate", "rows.csv", "--set", "device.timing.raed=1us"]);
    assert!(report.contains("did you mean") || report.contains("percentiles"), "{report}");
    place.refused(2, &["calibrate"]);
    place.refused(2, &["calibrate", "rows.csv", "--minutes", "1", "--evaluations", "8"]);
}

#[test]
fn a_file_with_the_same_slip_in_every_line_gets_a_few_errors() {
    let place = Place::new();
    let wrong = IDLE.replace("60,70", "70,60").repeat(19);
    place.put("rows.csv", format!("{HEADER}{wrong}").as_bytes());
    let report = place.refused(2, &["calibrate", "rows.csv"]);
    assert!(report.contains("rows.csv: line 2: ") && report.contains("rows.csv: line 6: "), "{report}");
    assert!(
        !report.contains("line 7") && report.contains("\nand 14 more in this file; correct these"),
        "{report}"
    );
    place.put("rows.csv", b"a,b,c\n1,2,3\n");
    let report = place.refused(2, &["calibrate", "rows.csv"]);
    assert!(report.contains("line 1: the columns 'drive', 'offered', 'reads_per_s', "), "{report}");
    assert!(
        report.contains("are missing; name them in the first line; the columns there are a, b, c"),
        "{report}"
    );
    assert_eq!(report.matches("rows.csv: ").count(), 1, "{report}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_search_that_is_interrupted_continues() {
    use std::process::{Command, Stdio};
    let place = place();
    let line = |evaluations| {
        let mut line = CALIBRATE;
        line[6] = evaluations;
        line
    };
    let endless = line("100000");
    let mut child =
        place.command(&endless).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let state = place.path("drive.toml.state.json");
    while !state.exists() {
        assert!(child.try_wait().expect("it can be asked").is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("there is a kill").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the same command continues it"));
    assert!(!place.path("drive.toml").exists(), "only a complete drive is written");
    // The state has a generation at least, and the number of candidates is no part of the search.
    place.text(&line("8"));
    assert!(place.path("drive.toml").exists() && !state.exists());
}
