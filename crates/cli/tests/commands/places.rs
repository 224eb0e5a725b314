//! Errors of values that only the run shows to be wrong name their key and where it was written.

use crate::support::{Place, stderr, stdout};

/// The report of a run of `small.toml` with these settings, which is refused.
fn refused(place: &Place, sets: &[&str]) -> String {
    let mut arguments = vec!["run", "small.toml", "--quiet", "--out", "out"];
    arguments.extend(sets.iter().flat_map(|set| ["--set", set]));
    place.refused(2, &arguments)
}

#[test]
fn a_source_that_issues_nothing_names_the_key_that_ends_it() {
    let place = Place::new();
    let late = refused(&place, &["run.duration=1s", "workload.start=1s"]);
    assert!(late.contains("workload.start: it starts after 1.00 s, and the run ends"), "{late}");
    assert!(late.contains("--> --set workload.start=1s\n"), "{late}");
    let beside = refused(&place, &["run.duration=1s", "beside.enabled=true", "beside.start=2s"]);
    assert!(beside.contains("--> --set beside.start=2s\n"), "{beside}");
    let open = ["workload.pace=open", "workload.rate=1", "workload.runtime=1ns"];
    let short = refused(&place, &open);
    assert!(short.contains("workload.runtime: the workload ends after 1 ns, before its first"), "{short}");
    assert!(short.contains("--> --set workload.runtime=1ns\n"), "{short}");
}

#[test]
fn a_region_and_zones_are_blamed_by_their_own_keys() {
    let place = Place::new();
    let none = refused(&place, &["workload.region_share=0"]);
    assert!(none.contains("workload.region_share: the region has no sector"), "{none}");
    assert!(none.contains("--> --set workload.region_share=0\n"), "{none}");
    let text = "[workload.addresses]\ndistribution = \"zoned\"\nzones = \"60/10\"\n";
    place.put("zones.toml", text.as_bytes());
    let zones = place.refused(2, &["run", "zones.toml", "--out", "out"]);
    assert!(zones.contains("workload.addresses.zones: the accesses of the zones add up to 60 %"), "{zones}");
    assert!(zones.contains("--> zones.toml:3:9\n"), "{zones}");
    place.put("grid.toml", b"[vary]\nworkload.depth = [1, 2]\nworkload.read = [\"80%\", \"101%\"]\n");
    let grid = place.refused(2, &["compare", "small.toml", "--grid", "grid.toml"]);
    assert!(grid.contains("workload.read: '101%' is not a share"), "{grid}");
    assert!(grid.contains("--> grid.toml:3:10\n"), "{grid}");
}

#[test]
fn a_time_below_the_resolution_is_refused_and_not_rounded() {
    let place = Place::new();
    for time in ["0.5ns", "1.0005us"] {
        let setting = format!("run.ramp={time}");
        let report = refused(&place, &[&setting]);
        assert!(report.contains(&format!("run.ramp: '{time}' is not a whole number of nanosec")), "{report}");
        assert!(report.contains(&format!("--> --set {setting}\n")), "{report}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_that_is_interrupted_in_its_ramp_says_that_nothing_was_measured() {
    let place = Place::new();
    let endless = ["run", "small.toml", "--set", "run.ramp=24h", "--set", "run.requests=1000000000000"];
    let mut command = place.command(&endless);
    let piped = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = piped.spawn().expect("the binary starts");
    let id = child.id().to_string();
    while !crate::support::listens_to_interrupts(&id) {
        assert!(child.try_wait().expect("it is ours").is_none(), "it ended before it could be interrupted");
        std::thread::yield_now();
    }
    let sent = std::process::Command::new("kill").args(["-INT", &id]).status().expect("there is kill");
    assert!(sent.success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(said.starts_with("nothing was measured: the run was interrupted after "), "{said}");
    assert!(said.contains(" of simulated time, within the ramp of "), "{said}");
}
