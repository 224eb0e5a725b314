//! Required results of the quick forms of the studies, independent of exact numbers.

use tailcut_sim::measured::{self, Measured};
use tailcut_study::{Options, Row};

fn quick(id: &str) -> Vec<Row> {
    let study = tailcut_study::by_id(id).expect("there is such a study");
    let options = Options { quick: true, ..Options::default() };
    let mut done: Vec<Measured> = Vec::new();
    loop {
        let runs = study.next(&options, &done);
        if runs.is_empty() {
            break;
        }
        done.extend(runs.iter().map(|run| measured::measure(run, &|| false).expect("it runs")));
    }
    let rows = study.rows(&options, &done);
    for row in &rows {
        let paper = row.paper.map_or("-".into(), |paper| format!("{paper:.4e}"));
        let measured = row.measured.map_or("-".into(), |measured| format!("{measured:.4e}"));
        println!("{id} | {} | {} | {paper} | {measured} | {:?}", row.case, row.quantity, row.ratio);
    }
    rows
}

fn figure(rows: &[Row], case: &str, quantity: &str) -> f64 {
    let row = rows.iter().find(|row| row.case == case && row.quantity == quantity);
    row.and_then(|row| row.measured).unwrap_or_else(|| panic!("{case}: {quantity}"))
}

/// Rows that are off by more than a quarter give a reason.
#[test]
fn what_differs_is_explained() {
    for id in ["shin-3.2", "shin-3.9", "shin-4.1"] {
        assert!(quick(id).iter().all(|row| !row.is_off() || row.note.is_some()), "{id}");
    }
}

#[test]
fn fewer_contexts_feed_more_drives() {
    let rows = quick("shin-3.2");
    assert!(figure(&rows, "coop / scsi, 6 drives", "reads") > 1.25);
    let switches = |case: &str| figure(&rows, case, "context switches per read");
    assert!(switches("coop/6") < switches("scsi/6"));
}

#[test]
fn handlers_get_shorter_as_work_leaves_them() {
    let rows = quick("shin-3.9");
    let longest = |case: &str| figure(&rows, case, "longest handler");
    assert!(longest("nonblocking") > 100e-6);
    assert!(longest("lazy") < longest("nonblocking") / 1.5);
    assert!(longest("coop") < longest("lazy") / 1.5);
}

#[test]
fn the_uplink_bounds_large_reads() {
    let rows = quick("shin-3.8");
    for bytes in [4096.0, 16_384.0] {
        let reads = figure(&rows, &format!("IRQ I/O, {bytes} B"), "reads");
        assert!((0.97..=1.0001).contains(&(reads * bytes / 1.5e9)), "{bytes}");
    }
}

#[test]
fn cooperation_makes_polling_seldom_enough() {
    let rows = quick("shin-3.10");
    let kept = |case: &str| figure(&rows, case, "reads");
    assert!(kept("with coop poll, 128 µs / 16 µs") > kept("async poll, 128 µs / 16 µs"));
}

#[test]
fn the_drive_knows_when_a_read_ends() {
    let rows = quick("shin-4.1");
    assert!(figure(&rows, "flash", "error") < 1e-6);
    assert!(figure(&rows, "saved by spinning", "mean latency") > 3e-6);
}

#[test]
fn a_window_hides_the_scheduler_and_leaves_the_background_alone() {
    let rows = quick("shin-4.4");
    let beyond =
        |case: &str| figure(&rows, &format!("{case}, beside io threads"), "mean latency beyond flash");
    assert!(beyond("PRE16") < beyond("IRQ") - 5e-6);
    assert!(beyond("PRE16") < beyond("POLL-PRIO") + 2e-6);
    let lost =
        |case: &str| figure(&rows, &format!("{case}, beside cpu threads"), "background throughput lost");
    assert!(lost("PRE16") < lost("POLL-PRIO") / 5.0);
}

#[test]
fn precompletion_gains_at_depth() {
    let rows = quick("shin-4.5");
    for threads in [1, 8, 32] {
        let case = format!("PRE8 over IRQ, {threads} threads");
        assert!(figure(&rows, &case, "more reads") > 0.02 && figure(&rows, &case, "less latency") > 0.02);
    }
}

#[test]
fn feedback_finds_the_window() {
    let rows = quick("beyond-window");
    for beside in ["none", "io", "cpu", "io-saturated"] {
        let ratio = figure(&rows, &format!("feedback / best, beside {beside}"), "mean latency");
        assert!(ratio < 1.03, "beside {beside}: {ratio}");
    }
}

#[test]
fn a_host_that_is_told_of_hits_and_of_room_waits_better() {
    let rows = quick("beyond-prediction");
    for load in ["sequential-1", "hot-spot-8"] {
        let latency =
            |strategy: &str| figure(&rows, &format!("{load}, beside nothing, {strategy}"), "mean latency");
        assert!(latency("nonblocking+hit-spin") < latency("nonblocking"), "{load}");
        assert!(latency("precomplete+hit-spin") < latency("precomplete"), "{load}");
    }
    let spinning = |strategy: &str| {
        figure(&rows, &format!("write-bursts-64, beside nothing, {strategy}"), "spinning per request")
    };
    assert!(spinning("spin+room-notice") < spinning("spin") / 20.0);
    let latency = |strategy: &str| {
        figure(&rows, &format!("write-bursts-64, beside nothing, {strategy}"), "mean latency")
    };
    assert!(latency("nonblocking+buffer-spin+room-notice") < latency("nonblocking+buffer-spin"));
    assert!(latency("spin+room-notice") < latency("spin"));
}

#[test]
fn the_hybrid_is_never_far_from_the_best() {
    let rows = quick("beyond-completion");
    for row in rows.iter().filter(|row| row.case.contains("/ hybrid")) {
        let ratio = row.measured.expect("it was measured");
        let least = if row.case.contains("most") { 1.0 } else { 0.97 };
        assert!(ratio > least, "{}: {ratio}", row.case);
    }
}

#[test]
fn a_key_value_server_keeps_its_throughput_with_many_clients() {
    let rows = quick("shin-3.11");
    assert!(rows.iter().all(|row| !row.is_off() || row.note.is_some()));
    for path in ["IRQ I/O", "Poll I/O", "hybrid"] {
        assert!(figure(&rows, &format!("{path}, 256 clients / 32 clients"), "gets") > 1.0, "{path}");
    }
    assert!(figure(&rows, "IRQ I/O / SCSI, 256 clients", "gets") > 1.05);
    assert!(figure(&rows, "Poll I/O, 32 clients", "gets") < figure(&rows, "IRQ I/O, 32 clients", "gets"));
}

/// The goal of the study `beyond-kv`, in its quick form: with control of collection, as many sets hardly
/// affect gets.
#[test]
fn gets_wait_no_longer_for_sets_where_collection_is_controlled() {
    let study = tailcut_study::by_id("beyond-kv").expect("there is such a study");
    let options = tailcut_study::Options { quick: true, ..tailcut_study::Options::default() };
    let runs = study.next(&options, &[]);
    let last = |label: &str| {
        let run = runs.iter().find(|run| run.label == label).expect("it is one of its runs");
        let measured = measured::measure(run, &|| false).expect("it runs");
        measured.kv.expect("it is a server").from_flash.percentile(99.9).as_secs_f64()
    };
    let ratio = last("GCCTRL/50/50") / last("GCCTRL/gets-alone");
    assert!(ratio < 1.3, "{ratio}");
    let uncontrolled = last("EPCH/50/50") / last("EPCH/gets-alone");
    assert!(uncontrolled > 3.0, "{uncontrolled}");
}
