//! What a newcomer meets: the answer and the next commands of a run, `--long`, and the demo.

use crate::support::{Place, json, stderr, stdout};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

#[test]
fn a_run_opens_with_the_answer_and_ends_with_commands_that_work() {
    let place = Place::new();
    let text = place.text(&["run", "small.toml", "--quiet", "--out", "a folder"]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.starts_with("One read in a thousand takes "), "{text}");
    let report = place.json("a folder/report.json");
    let reads = &report["kinds"][1];
    assert_eq!(reads["kind"], "read");
    let first = &reads["slowest"][1]["waits"][0];
    let cause = format!("% of that is '{}': ", first["cause"].as_str().expect("a cause"));
    assert!(words.contains(&cause), "{cause} in {text}");
    let (_, next) = text.split_once("\ntry next\n").expect("the last part");
    assert_eq!(next.lines().count(), 3, "{next}");
    for line in next.lines() {
        let (_, command) = line.split_once("  tailcut ").unwrap_or_else(|| panic!("no command: {line}"));
        let program = env!("CARGO_BIN_EXE_tailcut");
        let output = place.attempt("sh", &["-c", &format!("{program} {command}")]);
        assert!(output.status.success(), "{command}: {}", stderr(&output));
        assert!(!stderr(&output).contains("warning"), "{command}: {}", stderr(&output));
    }
    assert!(place.path("a folder/report.html").exists());
}

#[test]
fn percentiles_that_a_run_is_too_short_for_are_named_and_not_shown() {
    let place = Place::new();
    let text = place.text(&["run", "small.toml", "--quiet", "--out", "out"]);
    let head = text.lines().find(|line| line.starts_with("kind") && line.contains("mean")).expect("a table");
    assert!(head.contains(" 99.9 ") && !head.contains("99.99"), "{head}");
    assert!(text.contains("percentiles that need a longer run: 99.99, 99.9999\n"), "{text}");
    let all = place.text(&["run", "small.toml", "--quiet", "--verbose", "--out", "out"]);
    assert!(all.contains("99.9999") && !all.contains("need a longer run"), "{all}");
}

#[test]
fn a_long_run_measures_eight_times_as_much() {
    let place = Place::new();
    let completed = |options: &[&str]| {
        let line = [&["run", "small.toml", "--quiet", "--json", "-", "--out", "out"], options].concat();
        json(&place.text(&line))["completed"].as_u64().expect("a number")
    };
    assert_eq!(completed(&["--long"]), 8 * completed(&[]));
    let built_in = place.text(&["run", "--resolved"]);
    let long = place.text(&["run", "--long", "--resolved"]);
    let duration = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("duration")).expect("it is there");
        line.split('#').next().expect("a value").trim().to_owned()
    };
    assert_eq!(duration(&built_in), "duration = \"22s\"");
    assert_eq!(duration(&long), "duration = \"162s\"", "the ramp stays as long as it is");
}

#[test]
fn a_workload_that_ends_by_itself_cannot_be_made_longer_by_an_option() {
    let place = Place::new();
    place.put("job.fio", b"[job]\nrw=randread\nbs=4k\nsize=4m\nio_size=64k\n");
    let report = place.refused(2, &["run", "--long", "--fio", "job.fio"]);
    assert!(report.contains("--long has no effect: the run ends with its workload"), "{report}");
}

#[test]
fn every_request_is_written_with_its_causes() {
    let place = Place::new();
    place.text(&["run", "small.toml", "--quiet", "--out", "out", "--requests", "all.csv"]);
    let report = place.json("out/report.json");
    let mut reader = csv::Reader::from_path(place.path("all.csv")).expect("CSV");
    let head: Vec<String> = reader.headers().expect("a head").iter().map(String::from).collect();
    let at = |name: &str| head.iter().position(|column| column == name).expect("a column");
    let (op, latency, first_cause) = (at("op"), at("latency_ns"), at("latency_ns") + 1);
    let (due, completed) = (at("due_ns"), at("completed_ns"));
    let (mut reads, mut sum, mut longest) = (0u64, 0u128, 0u64);
    for record in reader.records() {
        let record = record.expect("a line");
        let number = |place: usize| record[place].parse::<u64>().expect("a number");
        let waits: u64 = (first_cause..head.len()).map(number).sum();
        assert_eq!(waits, number(latency), "causes add up to the latency: {record:?}");
        assert_eq!(number(completed) - number(due), number(latency), "{record:?}");
        if &record[op] == "read" {
            (reads, sum) = (reads + 1, sum + u128::from(number(latency)));
            longest = longest.max(number(latency));
        }
    }
    let kind = &report["kinds"][1];
    assert_eq!((kind["kind"].as_str(), kind["requests"].as_u64()), (Some("read"), Some(reads)));
    assert_eq!(kind["latency"]["max_ns"].as_u64(), Some(longest));
    let mean = kind["latency"]["mean_ns"].as_f64().expect("a mean");
    assert!((sum as f64 / reads as f64 - mean).abs() < 1e-6 * mean);
    let refused = place.refused(2, &["run", "small.toml", "--requests", "all.txt"]);
    assert!(refused.contains("name a file such as requests.csv"), "{refused}");
    if cfg!(not(feature = "parquet")) {
        let refused = place.refused(2, &["run", "small.toml", "--requests", "all.parquet"]);
        assert!(refused.contains("--features parquet"), "{refused}");
    }
}

/// The demo, and the address of its page once it is there.
fn demo(place: &Place, options: &[&str]) -> (Child, String, impl BufRead) {
    let line = [&["demo", "--quiet", "--no-browser"], options].concat();
    let mut command = place.command(&line);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut text = String::new();
    while !text.contains("Ctrl-C") {
        assert_ne!(out.read_line(&mut text).expect("text"), 0, "it ended: {text}");
    }
    let url = text.lines().find_map(|line| line.strip_prefix("live page: http://")).expect("an address");
    (child, url.trim_end_matches('/').to_owned(), out)
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("the page is served");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("it is read");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("a response");
    let (head, body) = response.split_once("\r\n\r\n").expect("headers");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    body.to_owned()
}

#[test]
fn the_demo_shows_its_load_while_it_runs_and_stops_cleanly() {
    let place = Place::new();
    let (mut child, address, mut out) = demo(&place, &[]);
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    assert!(get(&address, "/").contains("<h1>tailcut demo</h1>"));
    let mut figures = json(&get(&address, "/figures.json"));
    while figures["reads"]["requests"].as_u64().expect("a number") < 1000 {
        figures = json(&get(&address, "/figures.json"));
    }
    let (reads, writes) = (&figures["reads"], &figures["writes"]);
    assert!(writes["requests"].as_u64() > Some(0), "{figures}");
    let median = reads["points"].as_array().expect("a list").iter().find(|point| point[0] == 50.0);
    let median = median.expect("of a thousand reads")[1].as_u64().expect("a number") as f64;
    assert!(median >= figures["idle_read_ns"].as_f64().expect("a number"), "{figures}");
    let status = place.text(&["status", "tailcut-demo.ctl"]);
    assert!(status.contains("disk"), "{status}");
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().expect("kill").success());
    let mut text = String::new();
    out.read_to_string(&mut text).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(0), "{text}");
    assert!(text.contains("served 'disk'") && text.contains("\ntry next\n"), "{text}");
    assert!(!place.path("tailcut-demo.sock").exists() && !place.path("tailcut-demo.ctl").exists());
}

#[test]
fn the_demo_ends_by_itself_after_a_given_time() {
    let place = Place::new();
    let output = place.run(&["demo", "--quiet", "--no-browser", "--time", "300ms", "--depth", "2"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("ends after 300 ms") && text.contains("\nread "), "{text}");
}

#[test]
fn the_demo_refuses_a_port_in_use_and_settings_of_other_parts() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let report = place.refused(2, &["demo", "--no-browser", "--time", "1s", "--port", &port]);
    assert!(report.contains(&format!("--port {port}: cannot listen on 127.0.0.1")), "{report}");
    let report = place.refused(2, &["demo", "--no-browser", "--time", "1s", "--set", "workload.rate=10"]);
    assert!(report.contains("a server takes nothing of a scenario but its drive"), "{report}");
}
