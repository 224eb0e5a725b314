//! A server under systemd, and its log.

use crate::kv::server::Server;
use crate::support::service_manager::ServiceManager;
use crate::support::{Place, has, json};
use serde_json::Value;
use std::fs::File;
use std::process::Stdio;

#[test]
fn its_supervisor_is_told_when_it_serves_lives_and_ends() {
    let place = Place::new();
    let service_manager = ServiceManager::at(&place);
    let path = place.path("notify");
    let mut server = Server::start_as(place, &["-t", "3"], |command| {
        command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "300000").env_remove("WATCHDOG_PID");
    });
    let said = service_manager.hear("READY=1");
    assert_eq!(said[0], "STATUS=starting");
    assert!(!said.contains(&String::from("WATCHDOG=1")), "{said:?}");
    assert!(server.client().set("a", "1"), "whoever is told that it is ready can use it");
    // Each of the server's threads has reported progress before the next round.
    let said: Vec<String> = (0..3).flat_map(|_| service_manager.hear("WATCHDOG=1")).collect();
    assert!(
        said.iter().any(|line| line.starts_with("STATUS=0 connections, ") && line.ends_with(" 1 item")),
        "{said:?}"
    );
    let (_, code) = server.stop();
    assert_eq!(code, Some(0));
    service_manager.hear("STOPPING=1");
}

#[test]
fn a_supervisor_that_cannot_be_reached_is_an_error() {
    let place = Place::new();
    let mut command = place.command(&["serve", "kv", "--memory-only", "-p", "-1"]);
    let output = command.env("NOTIFY_SOCKET", "nonsense").output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("NOTIFY_SOCKET"), "{output:?}");
}

/// A server with standard error in a file.
fn logged(arguments: &[&str]) -> Server {
    let place = Place::new();
    let log = File::create(place.path("log")).expect("the folder is writable");
    Server::start_as(place, arguments, |command| {
        command.stderr(Stdio::from(log));
    })
}

fn log(server: &Server) -> String {
    std::fs::read_to_string(server.place.path("log")).expect("the log is there")
}

#[test]
fn programs_read_what_happens() {
    let mut server = logged(&["--log-format", "json", "-c", "2", "--control", "kv.ctl", "-R", "20"]);
    let mut client = server.client();
    assert!(client.set("a", "1"));
    let second = server.client();
    for _ in 0..100 {
        assert_eq!(server.client().hear().as_deref(), Some("ERROR Too many open connections"));
    }
    drop(second);
    let mut wait_for = |name: &str, value: &str| {
        let line = format!("STAT {name} {value}");
        loop {
            let mut told = client.say("stats").expect("it answers");
            let mut is_there = false;
            while told != "END" {
                is_there |= told == line;
                told = client.hear().expect("it answers");
            }
            if is_there {
                return;
            }
        }
    };
    server.tell(&["ctl", "kv.ctl", "remove", "1"]);
    wait_for("drive_1_state", "missing");
    server.tell(&["ctl", "kv.ctl", "replace", "1"]);
    wait_for("array_condition", "optimal");
    assert_eq!(server.stop().1, Some(0));
    let lines: Vec<Value> = log(&server).lines().map(json).collect();
    let events: Vec<&str> = lines.iter().filter_map(|line| line["event"].as_str()).collect();
    assert_eq!(events.len(), lines.len(), "{lines:?}");
    assert_eq!(events[..3], ["note", "start", "ready"]);
    // The number of repetitions of an event is logged when the repetition is over.
    // Whether this machine keeps up with the emulated drives is up to it.
    let is_once = |event: &&str| !["client_refused", "emulation_late"].contains(event);
    let once: Vec<&str> = events.iter().copied().filter(is_once).collect();
    assert_eq!(once[once.len() - 2..], ["stopping", "stopped"]);
    let of = |event: &str| lines.iter().filter(|line| line["event"] == event).collect::<Vec<_>>();
    assert!(of("ready")[0]["seconds"].as_f64() > Some(0.0) && of("ready")[0]["items"] == 0);
    // Not one line for each.
    let refused = of("client_refused");
    assert!((1..100).contains(&refused.len()), "{refused:?}");
    assert_eq!(refused.iter().map(|line| line["count"].as_u64().unwrap_or(1)).sum::<u64>(), 100);
    let states: Vec<&str> = of("drive").iter().filter_map(|line| line["state"].as_str()).collect();
    assert_eq!((states.first(), states.last()), (Some(&"missing"), Some(&"serves")));
    let conditions: Vec<&str> = of("array").iter().filter_map(|line| line["condition"].as_str()).collect();
    assert_eq!((conditions.first(), conditions.last()), (Some(&"degraded"), Some(&"optimal")));
    let times: Vec<&str> = lines.iter().filter_map(|line| line["time"].as_str()).collect();
    assert!(times.len() == lines.len() && times.iter().all(|time| time.len() == 24 && time.ends_with('Z')));
    assert!(of("client_connected").is_empty() && of("stopped")[0]["sets"] == 1);
}

#[test]
fn people_read_sentences_and_more_of_them_when_they_ask() {
    let mut server = logged(&["--memory-only"]);
    server.client().set("a", "1");
    server.stop();
    let text = log(&server);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[0].starts_with("note: tailcut ") && lines[1].starts_with("note: ready after 0."), "{text}");
    assert!(lines[2].starts_with("note: stopping") && lines[3] == "note: stopped", "{text}");
    let mut server = logged(&["--memory-only", "-vv"]);
    server.client().set("a", "1");
    server.stop();
    let text = log(&server);
    assert!(text.contains("trace: a client has come\n"), "{text}");
    let mut server = logged(&["--memory-only", "--log-level", "trace"]);
    server.client().set("a", "1");
    server.stop();
    let text = log(&server);
    assert!(text.contains("trace: a client has come\n"), "{text}");
    let mut server = logged(&["--memory-only", "--log-level", "warn", "-o", "slab_reassign"]);
    server.client().set("a", "1");
    server.stop();
    assert_eq!(log(&server), "", "there are notes only");
}

#[test]
fn systemd_understands_the_units() {
    if !has(&["systemd-analyze"]) {
        return;
    }
    let place = Place::new();
    for (name, unit) in [
        ("tailcut-kv.service", include_str!("../../../../dist/units/tailcut-kv.service")),
        ("tailcut-kv.socket", include_str!("../../../../dist/units/tailcut-kv.socket")),
        ("tailcut-block.service", include_str!("../../../../dist/units/tailcut-block.service")),
        ("tailcut-block.socket", include_str!("../../../../dist/units/tailcut-block.socket")),
    ] {
        // The unit file's program must exist.
        place.put(name, unit.replace("/usr/bin/tailcut", env!("CARGO_BIN_EXE_tailcut")).as_bytes());
    }
    for (service, options, refusal) in [
        ("tailcut-kv", "--memory-only -p 0", "nobody could connect"),
        ("tailcut-block", "--device no-such-file", "no-such-file"),
    ] {
        for kind in ["service", "socket"] {
            let unit = format!("./{service}.{kind}");
            let output = place.attempt("systemd-analyze", &["verify", "--man=no", &unit]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && !said.contains(&format!("{service}.{kind}:")), "{said}");
        }
        // The options with which the unit file starts the server are valid.
        let unit = std::fs::read_to_string(place.path(&format!("{service}.service"))).expect("it was put");
        let start = format!("ExecStart={} ", env!("CARGO_BIN_EXE_tailcut"));
        let start = unit.lines().find_map(|line| line.strip_prefix(&start)).expect("it starts");
        let start = start.replace("${RUNTIME_DIRECTORY}", ".").replace("$OPTIONS", options);
        let words: Vec<&str> = start.split(' ').collect();
        assert!(place.refused(2, &words).contains(refusal));
    }
}
