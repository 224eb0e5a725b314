//! Parsing speed of each format. Ignored by default, because it takes long and is meaningful in a release
//! build only:
//! `cargo test --release -p tailcut-workload --test workload speed -- --ignored --nocapture`.

#![allow(clippy::disallowed_types, reason = "a measurement in real time")]

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use tailcut_base::config::Choice;
use tailcut_base::random::Stream;
use tailcut_workload::Source;
use tailcut_workload::trace::{Format, Options, Replay, ReplayOptions, Trace, characterise, convert};

const REQUESTS: u64 = 2_000_000;

fn source(folder: &Path) -> std::path::PathBuf {
    let mut random = Stream::new(1, "trace speed");
    let mut text = String::new();
    let mut now = 128_166_481_075_232_270u64;
    for _ in 0..REQUESTS {
        now += random.below(20_000);
        let op = if random.chance_ppm(600_000) { "Read" } else { "Write" };
        let (offset, len) = (random.below(1 << 23) * 4096, 4096 << random.below(4));
        writeln!(text, "{now},rsrch,1,{op},{offset},{len},{}", 100 + random.below(90_000)).unwrap();
    }
    let path = folder.join("source.csv");
    std::fs::write(&path, text).unwrap();
    path
}

fn seconds(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn show(what: &str, took: Duration) {
    println!("{what:24} {:6.2} M records/s", REQUESTS as f64 / took.as_secs_f64() / 1e6);
}

#[test]
#[ignore = "a measurement"]
fn every_format_is_read_at_more_than_two_million_records_per_second() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path());
    let options = Options::default();
    for suffix in ["", ".gz", ".zst"] {
        for &format in Format::all().iter().filter(|&&f| suffix.is_empty() || f == Format::Msr) {
            let path = folder.path().join(format!("trace{suffix}"));
            let wrote = seconds(|| drop(convert(&source, &options, &path, format, &mut |_| true).unwrap()));
            let read = seconds(|| {
                let mut trace =
                    Trace::open(&path, &Options { format: Some(format), skip_bad_lines: false }).unwrap();
                while trace.next_record().unwrap().is_some() {}
                assert_eq!(trace.tally().records, REQUESTS);
            });
            show(&format!("{format}{suffix} read"), read);
            show(&format!("{format}{suffix} converted to"), wrote);
            let is_fast = read.as_secs_f64() < REQUESTS as f64 / 2e6;
            assert!(cfg!(debug_assertions) || is_fast, "{format}{suffix}: {read:?}");
        }
    }
    let mut replay = None;
    show(
        "replay: survey",
        seconds(|| {
            replay = Some(Replay::open(&source, &options, ReplayOptions::new(1 << 26)).unwrap());
        }),
    );
    let mut replay = replay.unwrap();
    show("replay: requests", seconds(|| while replay.next().is_some() {}));
    show("characterise", seconds(|| drop(characterise(&source, &options, &mut |_, _| true).unwrap())));
}
