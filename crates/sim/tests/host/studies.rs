//! What the quick forms of the studies must show, whatever the exact figures.

use tailcut_sim::study::{self, Measured, Options, Row};

fn quick(id: &str) -> Vec<Row> {
    let study = study::by_id(id).expect("there is such a study");
    let options = Options { quick: true, ..Options::default() };
    let mut done: Vec<Measured> = Vec::new();
    loop {
        let runs = study.next(&options, &done);
        if runs.is_empty() {
            break;
        }
        done.extend(runs.iter().map(|run| study::measure(run, &|| false).expect("it runs")));
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

/// Rows that are off by more than a quarter say why.
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
    assert!(kept("with coop poll, 128 us / 16 us") > kept("async poll, 128 us / 16 us"));
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
