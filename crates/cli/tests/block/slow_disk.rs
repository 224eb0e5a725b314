//! A slow disk for the tests of others: personalities, incidents, a slower clock, and what clients expect.

use crate::block::server::Server;
use crate::support::{Place, json};
use std::time::Instant;

/// Serves while a command runs that reads for a moment; returns the figures of reads and the exit code.
fn reads(more: &[&str], bench: &str) -> (serde_json::Value, Option<i32>, String) {
    let place = Place::new();
    let tailcut = env!("CARGO_BIN_EXE_tailcut");
    let client = format!("{tailcut} bench block --unix $unixsocket {bench}");
    let mut command = place.command(&["serve", "block", "--unix", "socket", "--quiet", "--run", &client]);
    let output = command.args(["--json", "figures.json"]).args(more).output().expect("the binary starts");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let figures = json(&std::fs::read_to_string(place.path("figures.json")).expect(&errors));
    let kinds = figures["exports"][0]["kinds"].as_array().expect("a list").clone();
    let read = kinds.into_iter().find(|kind| kind["kind"] == "read").expect("reads");
    (read, output.status.code(), errors)
}

fn p50(figures: &serde_json::Value) -> u64 {
    figures["p50_ns"].as_u64().expect("a number")
}

#[test]
fn on_a_slower_clock_figures_are_those_of_the_drive() {
    let start = Instant::now();
    let slow = ["--personality", "collecting", "--size", "64MiB", "--time-scale", "50"];
    let (read, code, _) = reads(&slow, "--depth 1 --time-scale 50 --time 20ms --json client.json");
    assert_eq!(code, Some(0));
    let took = start.elapsed().as_nanos() as u64;
    // The times of the drive, so that each of its reads took 50 times as long here.
    let (count, mean) =
        (read["requests"].as_u64().expect("a count"), read["mean_ns"].as_f64().expect("a mean"));
    assert!(mean >= 10_000.0, "{read}");
    assert!(count as f64 * mean * 50.0 <= took as f64, "{read} in {took} ns");
}

#[test]
fn incidents_delay_what_a_drive_fetches() {
    let delayed = ["--personality", "fresh", "--size", "64MiB", "--incidents", "0s delay 20ms"];
    let (read, code, errors) = reads(
        &[&delayed[..], &["--expect", "p50(read) < 10ms, max(read) < 1000s"]].concat(),
        "--depth 1 --time 100ms",
    );
    assert!(p50(&read) >= 20_000_000, "{read}");
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("--expect does not hold: disk: p50(read) < 10.0 ms: it is 2"), "{errors}");
    assert!(!errors.contains("max(read)"), "{errors}");
}

#[test]
fn a_server_ends_with_its_command_and_as_it_does() {
    let place = Place::new();
    let run = |command: &str| {
        let mut server = place.command(&["serve", "block", "--size", "1MiB", "--quiet", "--run", command]);
        server.output().expect("the binary starts")
    };
    let good = run("test -S $unixsocket && echo $uri $exportname");
    assert_eq!(good.status.code(), Some(0));
    let text = String::from_utf8_lossy(&good.stdout);
    assert!(text.contains("nbd+unix:///disk?socket=") && text.contains("disk\n"), "{text}");
    assert!(!text.contains("try\n"), "{text}");
    let bad = run("exit 3");
    assert_eq!(bad.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&bad.stderr).contains("--run: the command ended with exit status: 3"));
}

#[test]
fn a_signal_ends_the_command_of_a_server() {
    let server = Server::start(&["--size", "1MiB", "--run", "exec sleep 1000"]);
    let (_, code) = server.stop();
    assert_eq!(code, Some(0), "the user has stopped it");
}

#[test]
fn options_without_effect_are_refused_with_a_remedy() {
    let place = Place::new();
    let refused = |more: &[&str]| place.refused(2, &[&["serve", "block", "--unix", "socket"], more].concat());
    let error = refused(&["--size", "1MiB", "--incidents", "1s stall 1s"]);
    assert!(
        error.contains("--incidents has no effect on memory") && error.contains("--personality"),
        "{error}"
    );
    assert!(refused(&["--size", "1MiB", "--time-scale", "2"]).contains("--time-scale has no effect"));
    assert!(refused(&["--personality", "tired"]).contains("thermal-stall"));
    assert!(refused(&["--incidents", "1s remove 0"]).contains("tailcut ctl"));
    assert!(refused(&["--incidents", "soon stall 1s"]).contains("--incidents: 'soon stall 1s'"));
    assert!(refused(&["--expect", "p99(read) > 1ms"]).contains("less is better"));
    assert!(refused(&["--expect", "iops > 5"]).contains("p99.9(read) < 5ms"));
    assert!(refused(&["--time-scale", "0"]).contains("1..=1000"));
    assert!(refused(&["--incidents", ""]).contains("a value is required"));
    let sizes = ["--personality", "fresh", "--set", "device.preset=m-32g", "--size", "64MiB"];
    assert!(refused(&sizes).contains("leave out --size"));
    place.put("file", &[0; 1 << 20]);
    assert!(refused(&["--device", "file", "--time-scale", "2"]).contains("cannot be used with"));
}

/// The script of `dist/slow-disk`, with programs that only write down how they were called.
fn action(run: &str, more: &[(&str, &str)]) -> (String, Option<i32>) {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    std::fs::create_dir(place.path("bin")).expect("a folder");
    std::fs::create_dir(place.path("mounted")).expect("a folder");
    let log = place.path("log");
    let sudo = format!("#!/bin/sh\necho \"$1 $2\" >>'{}'\n", log.display());
    place.put("bin/sudo", sudo.as_bytes());
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.path("bin/sudo"), executable).expect("our file");
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").expect("a path"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../dist/slow-disk/slow-disk");
    let mut command = std::process::Command::new(script);
    command.env("PATH", path).env("RUN", run).env("MOUNT", place.path("mounted")).env("SIZE", "64MiB");
    command.env("TAILCUT", env!("CARGO_BIN_EXE_tailcut")).env("PERSONALITY", "fresh").envs(more.to_vec());
    let output = command.output().expect("bash is there");
    let called = std::fs::read_to_string(log).unwrap_or_default();
    (called.replace(&place.path("mounted").display().to_string(), "MOUNT"), output.status.code())
}

#[test]
fn the_action_takes_down_what_it_has_set_up() {
    let all = ["modprobe nbd", "nbd-client -unix", "mkfs.ext4 -q", "mount /dev/nbd0"];
    let (called, code) = action("touch here && test -e here", &[]);
    assert_eq!(code, Some(0), "{called}");
    for (line, want) in called.lines().zip(all) {
        assert_eq!(line, want);
    }
    assert!(called.trim_end().ends_with("umount MOUNT\nnbd-client -d"), "{called}");
    let (called, code) = action("exit 7", &[]);
    assert_eq!(code, Some(1));
    assert!(called.trim_end().ends_with("umount MOUNT\nnbd-client -d"), "{called}");
    let (_, code) = action("true", &[("EXPECT", "p50(read) < 1s")]);
    assert_eq!(code, Some(1), "nothing was read");
    assert_eq!(action("true", &[("PERSONALITY", "tired")]), (String::new(), Some(2)));
}
