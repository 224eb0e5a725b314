//! Real traces yield their published figures.
//!
//! The traces are outside the repository, in `../shared/traces` from its root or where `TAILCUT_TRACES`
//! points. If they are missing, these tests print so and pass.

use std::path::{Path, PathBuf};
use tailcut_base::Op;
use tailcut_workload::Source;
use tailcut_workload::trace::{Format, Options, Replay, ReplayOptions, Trace, characterise, convert, scan};

struct Expected {
    file: &'static str,
    format: Format,
    requests: u64,
    read_percent: u64,
    span_gib: f64,
    seconds: f64,
    disks: usize,
}

const fn trace(
    file: &'static str,
    format: Format,
    requests: u64,
    read_percent: u64,
    span_gib: f64,
    seconds: f64,
    disks: usize,
) -> Expected {
    Expected { file, format, requests, read_percent, span_gib, seconds, disks }
}

const TRACES: [Expected; 8] = [
    trace("cloudphysics.vscsi.gz", Format::Vscsi1, 113_872, 41, 31.278, 7200.09, 1),
    trace("tpcc-small.mqsim.trace.gz", Format::Mqsim, 6_999, 63, 216.731, 0.136_489, 16),
    trace("umass_WebSearch1_first24783.mqsim.trace.gz", Format::Mqsim, 24_783, 100, 16.673, 60.055, 6),
    trace("umass_Financial1_first10k.ssdsim.ascii.gz", Format::Ssdsim, 10_000, 41, 0.478, 259.601, 22),
    trace("msr_cut10k_rw_40_60.1370.trace.gz", Format::MsrCut, 10_000, 41, 13.837, 85.915, 1),
    trace("msr_rsrch_1.csv.gz", Format::Msr, 13_780, 0, 178.367, 576_557.644, 1),
    trace("msr_wdev_1.csv.gz", Format::Msr, 1_055, 0, 50.869, 595_003.214, 1),
    trace("msr_wdev_3.csv.gz", Format::Msr, 682, 2, 33.916, 596_961.941, 1),
];

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("TAILCUT_TRACES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"), PathBuf::from);
    if folder.join("README.md").exists() {
        return Some(folder);
    }
    eprintln!("no real traces in {}: set TAILCUT_TRACES to test with them", folder.display());
    None
}

#[test]
fn counts_shares_spans_and_durations_are_the_published_ones() {
    let Some(folder) = folder() else { return };
    for expected in TRACES {
        let info = characterise(&folder.join(expected.file), &Options::default(), &mut |_, _| true).unwrap();
        let file = expected.file;
        assert_eq!(info.format, expected.format.to_string(), "{file}");
        assert_eq!(info.requests, expected.requests, "{file}");
        assert_eq!((info.read_share() * 100.0).round() as u64, expected.read_percent, "{file}");
        let gib = info.span_bytes as f64 / f64::from(1 << 30);
        assert!((gib - expected.span_gib).abs() < 0.001, "{file}: {gib} GiB");
        let seconds = info.duration_ns as f64 / 1e9;
        assert!((seconds - expected.seconds).abs() < 0.01, "{file}: {seconds} s");
        assert_eq!(info.disks.len(), expected.disks, "{file}");
        assert_eq!(info.backwards, 0, "{file}");
        assert_eq!(info.alignment.whole_sectors, info.alignment.requests, "{file}");
        assert_eq!(info.windows.iter().map(|window| window.requests).sum::<u64>(), info.requests, "{file}");
    }
}

#[test]
fn what_is_known_of_single_traces_is_found() {
    let Some(folder) = folder() else { return };
    let info = |file| characterise(&folder.join(file), &Options::default(), &mut |_, _| true).unwrap();
    // "each page written about 3 times"
    let vm = info("cloudphysics.vscsi.gz").footprint;
    assert!((2.0..4.0).contains(&vm.writes_per_written_page()), "{}", vm.writes_per_written_page());
    // "nowhere aligned to 4 KiB"
    assert_eq!(info("msr_wdev_3.csv.gz").alignment.both_4k, 0);
    // "about 51k IOPS"
    let rate = info("tpcc-small.mqsim.trace.gz").rates.mean_requests_per_s;
    assert!((51_000.0..52_000.0).contains(&rate), "{rate}");
    assert!(info("msr_rsrch_1.csv.gz").response.is_some());
    assert_eq!(info("msr_rsrch_1.csv.gz").disks[0].label, "rsrch.1");
}

#[test]
fn a_key_value_trace_is_not_taken_for_a_block_trace() {
    let Some(folder) = folder() else { return };
    let error = Trace::open(&folder.join("meta_kv_traces_1.csv.gz"), &Options::default()).err().unwrap();
    let message = error.to_string();
    assert!(message.contains("op_time,key") && message.contains("alibaba"), "{message}");
}

#[test]
fn every_real_trace_replays_within_the_device() {
    let Some(folder) = folder() else { return };
    for expected in TRACES {
        let sectors = 16 << 21;
        let path = folder.join(expected.file);
        let mut replay = Replay::open(&path, &Options::default(), ReplayOptions::new(sectors)).unwrap();
        let (mut count, mut due) = (0, tailcut_base::Time::ZERO);
        while let Some(request) = replay.next() {
            count += 1;
            assert!(request.due >= due && request.sectors > 0 && request.op != Op::Flush);
            assert!(request.sector + u64::from(request.sectors) <= sectors);
            due = request.due;
        }
        assert!(replay.error().is_none());
        assert_eq!(Some(count), replay.len_hint());
        assert_eq!(count, expected.requests);
    }
}

#[test]
fn a_real_trace_survives_the_way_through_other_formats() {
    let Some(folder) = folder() else { return };
    let temporary = tempfile::tempdir().unwrap();
    let original = folder.join("cloudphysics.vscsi.gz");
    let want = scan(&original, &Options::default()).unwrap();
    let mut from = original.clone();
    for (step, format) in [Format::Fio3, Format::Spc, Format::Alibaba, Format::Vscsi1].into_iter().enumerate()
    {
        let to = temporary.path().join(format!("{step}.{format}.zst"));
        convert(&from, &Options::default(), &to, format, &mut |_| true).unwrap();
        from = to;
    }
    let got = scan(&from, &Options::default()).unwrap();
    assert_eq!(
        (got.duration, got.span(), got.tally.records),
        (want.duration, want.span(), want.tally.records)
    );
}
