//! A replayed trace respects its device and its options, and reports its changes.

use std::path::PathBuf;
use tailcut_base::{Class, Nanos, Op, Time};
use tailcut_workload::trace::{Options, Replay, ReplayOptions, Timing, TraceError, characterise};
use tailcut_workload::{Pace, Request, Source};

struct File {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn file(text: &str) -> File {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.txt");
    std::fs::write(&path, text).unwrap();
    File { _folder: folder, path }
}

fn replay(text: &str, options: ReplayOptions) -> (Replay, Vec<Request>) {
    let file = file(text);
    let mut replay = Replay::open(&file.path, &Options::default(), options).unwrap();
    let mut requests = Vec::new();
    while let Some(request) = replay.next() {
        requests.push(request);
    }
    assert!(replay.error().is_none());
    (replay, requests)
}

fn places(requests: &[Request]) -> Vec<(u64, u32)> {
    requests.iter().map(|request| (request.sector, request.sectors)).collect()
}

#[test]
fn recorded_times_start_at_zero_and_stretch() {
    let text = "1000 0 0 8 1\n1500 0 8 8 0\n3001 0 16 8 1\n";
    let (replay, requests) = replay(text, ReplayOptions::new(1 << 20));
    assert_eq!(requests.iter().map(|r| r.due).collect::<Vec<_>>(), [0, 500, 2001].map(Time));
    assert_eq!(replay.pace(), Pace::Open { depth: 4096 });
    assert_eq!((replay.name(), replay.len_hint()), ("trace.txt", Some(3)));
    let timing = Timing::Recorded { stretch_ppm: 500_000, depth: 7 };
    let (replay, requests) = self::replay(text, ReplayOptions { timing, ..ReplayOptions::new(1 << 20) });
    assert_eq!(requests.iter().map(|r| r.due).collect::<Vec<_>>(), [0, 250, 1000].map(Time));
    assert_eq!(replay.pace(), Pace::Open { depth: 7 });
}

#[test]
fn a_trace_is_replayed_as_often_as_asked() {
    // Two records 500 ns apart: their mean interval also separates two replays.
    let options = ReplayOptions { times: 3, ..ReplayOptions::new(1 << 20) };
    let (replay, requests) = replay("1000 0 0 8 1\n1500 0 8 8 0\n", options);
    let due: Vec<Time> = requests.iter().map(|r| r.due).collect();
    assert_eq!(due, [0, 500, 1000, 1500, 2000, 2500].map(Time));
    assert_eq!(places(&requests), [(0, 8), (8, 8)].repeat(3));
    assert_eq!((replay.len_hint(), replay.last_due()), (Some(6), Some(Time(2500))));
}

#[test]
fn a_replay_that_a_limit_ends_says_that_no_second_one_began() {
    let text = "1000 0 0 8 1\n1500 0 8 8 0\n";
    let notes = |times, limit| {
        let (replay, _) = replay(text, ReplayOptions { times, limit, ..ReplayOptions::new(1 << 20) });
        replay.notes()
    };
    let note = notes(3, Some(2));
    assert!(note.len() == 1 && note[0].contains("trace.times had no effect"), "{note:?}");
    assert!(note[0].contains("3 replays") && note[0].contains("trace.requests"), "{note:?}");
    for (times, limit) in [(3, Some(3)), (3, None), (1, Some(1))] {
        assert_eq!(notes(times, limit), [""; 0], "{times} {limit:?}");
    }
}

#[test]
fn a_closed_loop_ignores_times_and_a_limit_ends_it() {
    let timing = Timing::Closed { depth: 3, think: Nanos(9) };
    let options = ReplayOptions {
        timing,
        limit: Some(2),
        read_class: Class::new(1).unwrap(),
        write_class: Class::new(4).unwrap(),
        ..ReplayOptions::new(1 << 20)
    };
    let (replay, requests) = replay("1000 0 0 8 1\n1500 0 8 8 0\n3001 0 16 8 1\n", options);
    assert_eq!(replay.pace(), Pace::Closed { depth: 3, think: Nanos(9) });
    assert_eq!((requests.len(), replay.len_hint()), (2, Some(2)));
    assert!(requests.iter().all(|request| request.due == Time::ZERO && request.stream == 0));
    assert_eq!((requests[0].class.number(), requests[1].class.number()), (1, 4));
}

#[test]
fn each_disk_has_its_own_part_of_the_device() {
    let text = "0 7 0 8 1\n1 2 0 8 1\n2 5 24 8 1\n3 7 16 16 0\n";
    // 100 sectors for three disks: 32 each, whole 4 KiB.
    let (replay, requests) = replay(text, ReplayOptions::new(100));
    assert_eq!(replay.part_sectors(), 32);
    assert_eq!(places(&requests), [(64, 8), (0, 8), (56, 8), (80, 16)]);
    let options = ReplayOptions { streams: 2, ..ReplayOptions::new(100) };
    let (_, requests) = self::replay(text, options);
    let streams: Vec<u8> = requests.iter().map(|request| request.stream).collect();
    assert_eq!(streams, [0, 0, 1, 0], "disks 2, 5 and 7 take turns");
    let options = ReplayOptions { disks: vec!["5".into()], streams: 2, ..ReplayOptions::new(100) };
    let (replay, requests) = self::replay(text, options);
    assert_eq!((replay.part_sectors(), replay.len_hint()), (96, Some(1)));
    assert_eq!((places(&requests), requests[0].due), (vec![(24, 8)], Time::ZERO));
}

#[test]
fn what_goes_beyond_is_folded_shifted_shortened_cut_and_counted() {
    // The device has 64 sectors: 64+3 folds to 3; 60+8 would cross the end and moves to 56,
    // 61+8 to 53; 100 sectors are shortened.
    let text = "0 0 67 1 1\n0 0 60 8 1\n0 0 61 8 1\n0 0 8 100 1\n";
    let (replay, requests) = replay(text, ReplayOptions::new(64));
    assert_eq!(places(&requests), [(3, 1), (52, 8), (53, 8), (0, 64)]);
    let replayed = replay.replayed();
    assert_eq!((replayed.records, replayed.folded, replayed.shortened), (4, 4, 1));
    let (replay, requests) = self::replay("0,W,1000,67108864,0\n", ReplayOptions::new(1 << 20));
    assert_eq!(places(&requests), [(1, 65_536), (65_537, 65_536), (131_073, 1)]);
    let replayed = replay.replayed();
    assert_eq!((replayed.records, replayed.requests, replayed.split, replayed.widened), (1, 3, 1, 1));
    assert_eq!(replay.len_hint(), Some(3));
}

#[test]
fn flushes_and_force_unit_access_arrive() {
    let text = "8,0 0 1 0.0 0 Q FWF 16 + 8 [x]\n8,0 0 1 0.1 0 Q DS 0 + 8 [x]\n";
    let (_, requests) = replay(text, ReplayOptions::new(1024));
    let said: Vec<_> = requests.iter().map(|r| (r.op, r.fua, r.sector, r.sectors)).collect();
    assert_eq!(said, [(Op::Flush, false, 0, 0), (Op::Write, true, 16, 8), (Op::Trim, false, 0, 8)]);
}

#[test]
fn wrong_disks_and_devices_are_refused() {
    let file = file("0 1 0 8 1\n0 2 0 8 1\n");
    let open = |options| Replay::open(&file.path, &Options::default(), options).err().unwrap();
    let error = open(ReplayOptions { disks: vec!["3".into()], ..ReplayOptions::new(100) });
    assert!(error.to_string().contains("no disk '3'") && error.to_string().contains("1 2"), "{error}");
    for sectors in [0, 15] {
        assert!(matches!(open(ReplayOptions::new(sectors)), TraceError::NoRoom { disks: 2, .. }));
    }
}

#[test]
fn an_error_in_the_middle_is_kept_for_the_driver() {
    let first = file("0 0 0 8 1\n1 0 0 8 1\n");
    let scan = tailcut_workload::trace::scan(&first.path, &Options::default()).unwrap();
    std::fs::write(&first.path, "0 0 0 8 1\nbroken\n1 0 0 8 1\n").unwrap();
    let trace = tailcut_workload::trace::Trace::open(&first.path, &Options::default()).unwrap();
    let mut replay = Replay::new(trace, &scan, ReplayOptions::new(64)).unwrap();
    assert!(replay.next().is_some());
    assert!(replay.next().is_none());
    assert!(replay.next().is_none());
    assert!(replay.error().unwrap().to_string().contains("line 2"));
}

#[test]
fn a_hand_made_trace_is_characterised_exactly() {
    // Two sequential streams interleaved, one overwrite, one unaligned read.
    let file = file(
        "0 0 0 8 0\n100000000 0 800 8 0\n200000000 0 8 8 0\n300000000 0 808 8 0\n\
         400000000 0 0 8 0\n1000000000 1 3 2 1\n",
    );
    let info = characterise(&file.path, &Options::default(), &mut |_, _| true).unwrap();
    assert_eq!((info.requests, info.duration_ns, info.bytes), (6, 1_000_000_000, 5 * 4096 + 1024));
    assert_eq!((info.sequence.requests, info.sequence.random), (6, 4));
    assert_eq!((info.sequence.longest_run_requests, info.sequence.longest_run_bytes), (2, 8192));
    let f = info.footprint;
    assert_eq!((f.pages, f.written_pages, f.read_pages, f.overwrites), (5, 4, 1, 1));
    assert_eq!(f.writes_per_written_page(), 1.25);
    assert_eq!((info.alignment.both_4k, info.alignment.offset_4k, info.alignment.size_4k), (5, 5, 5));
    let rates = info.rates;
    assert_eq!((rates.mean_requests_per_s, rates.peak_1s_requests_per_s), (6.0, 6.0));
    assert_eq!(rates.peak_100ms_requests_per_s, 10.0);
    assert_eq!(info.span_bytes, 816 * 512);
    assert_eq!((info.disks.len(), info.disks[1].reads, info.disks[1].span_bytes), (2, 1, 5 * 512));
    // Each stream interrupts the other: judged by the last write alone, nothing is sequential.
    let characterization = info.characterization;
    assert_eq!(
        (characterization.reads.requests, characterization.reads.bytes, characterization.reads.random),
        (1, 1024, 1)
    );
    assert_eq!(
        (characterization.writes.requests, characterization.writes.bytes, characterization.writes.random),
        (5, 5 * 4096, 5)
    );
    // Pages (of 2 KiB) 0-1, 200-201, 2-3, 202-203 and 0-1 again are written, and two are read: none can share
    // a chip with another except 0-1 with themselves, at the same place.
    assert_eq!(
        (
            characterization.locality.pages,
            characterization.locality.transactions,
            characterization.locality.plane_shared
        ),
        (12, 12, 0)
    );
    assert_eq!((info.windows.len(), info.windows[0].pages, info.windows[9].requests), (10, 2, 1));
    let json = serde_json::to_value(&info).unwrap();
    assert_eq!(json["mix"][1]["op"], "write");
    assert_eq!(json["footprint"]["sampling"], 1);
    assert_eq!(json["characterization"]["writes"]["random"], 5);
}
