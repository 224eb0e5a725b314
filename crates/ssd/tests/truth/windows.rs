//! Collection windows: when a drive collects, to the nanosecond, and which collections it cannot defer.

use crate::content::Swarm;
use crate::drives;
use crate::script::{Played, Sent, play_in_windows, write};
use crate::writer::{Writer, uniform};
use tailcut_base::control::{Control, ControlReply, Windows};
use tailcut_base::{Device, Nanos, Time};
use tailcut_ssd::SsdConfig;
use tailcut_ssd::config::MappingLevel;
use tailcut_ssd::mutation::{Invariant, broken};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::request::Kind;

/// Transfer time of a 512-byte page at 333 MB/s, rounded up.
const TRANSFER: u64 = 1538;
/// From the first cycle of a copy's read to the end of its program: twice 7 cycles of 25 ns and a bus
/// transfer, plus the cell read and the program.
const COPY: u64 = 2 * (7 * 25 + TRANSFER) + 20_000 + 100_000;
const ERASE: u64 = 5 * 25 + 300_000;

/// One plane of 16 blocks of 8 pages, 76 of which are visible to the host. After a sequential fill, 6 blocks
/// are free.
fn drive(high: u32) -> SsdConfig {
    let mut config = drives::plane(16, 8);
    config.ftl.spare = 400_000;
    (config.gc.low, config.gc.high) = (2, high);
    config
}

/// Overwrites three pages of each of the first four blocks: 5 free blocks are left.
fn garbage() -> Vec<Sent> {
    let pages = (0..4).flat_map(|block| (0..3).map(move |page| block * 8 + page));
    pages.zip(0..).map(|(page, n)| write(Time(200_000 * n), page)).collect()
}

/// Start times of transactions of a kind.
fn starts(played: &Played, kind: Kind) -> Vec<u64> {
    played.records().iter().filter(|r| r.kind == kind).map(|r| r.start.0).collect()
}

/// Expected start times of the copies and erases of three blocks with five valid pages, if each starts within
/// a window.
fn expected(windows: Windows) -> (Vec<u64>, Vec<u64>) {
    let mut now = windows.from.0;
    let mut begin = |length: u64| {
        if !windows.is_open(Time(now)) {
            now = windows.next_after(Time(now)).0;
        }
        let start = now;
        now += length;
        start
    };
    let (mut copies, mut erases) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        copies.extend((0..5).map(|_| begin(COPY)));
        erases.push(begin(ERASE));
    }
    (copies, erases)
}

#[test]
fn collection_starts_in_windows_stops_between_copies_and_goes_on_in_the_next() {
    let from = Time(50_000_000);
    for length in [1, 200_000, 2 * COPY, 5 * COPY, 5 * COPY + 1, 3_000_000, 10_000_000] {
        let windows = Windows { from, period: Nanos(10_000_000), length: Nanos(length) };
        let played = play_in_windows(&drive(6), PreparedState::Sequential, Some(windows), &garbage());
        let (copies, erases) = expected(windows);
        assert_eq!(starts(&played, Kind::GcRead), copies, "windows of {length} ns");
        assert_eq!(starts(&played, Kind::Erase), erases, "windows of {length} ns");
        let counts = played.counts();
        assert_eq!((counts.collections, counts.forced_collections), (3, 0));
    }
}

#[test]
fn without_windows_and_above_the_low_mark_nothing_is_collected() {
    let played = play_in_windows(&drive(6), PreparedState::Sequential, None, &garbage());
    assert_eq!(played.counts().collections, 0);
}

#[test]
fn a_collection_that_is_not_preemptible_ends_beyond_its_window() {
    let mut config = drive(6);
    config.gc.preemptible = false;
    let from = Time(50_000_000);
    let windows = Windows { from, period: Nanos(10_000_000), length: Nanos(1) };
    let played = play_in_windows(&config, PreparedState::Sequential, Some(windows), &garbage());
    let job = |n: u64| 50_000_000 + 10_000_000 * n;
    let copies: Vec<u64> = (0..3).flat_map(|n| (0..5).map(move |copy| job(n) + copy * COPY)).collect();
    assert_eq!(starts(&played, Kind::GcRead), copies);
    assert_eq!(starts(&played, Kind::Erase), [job(0) + 5 * COPY, job(1) + 5 * COPY, job(2) + 5 * COPY]);
}

#[test]
fn all_planes_collect_at_once_when_a_window_opens() {
    let mut config = drive(6);
    (config.geometry.channels, config.geometry.chips) = (2, 2);
    let from = Time(50_000_000);
    let windows = Windows { from, period: Nanos(10_000_000), length: Nanos(5_000_000) };
    // Pages are assigned to the four planes in turn.
    let script: Vec<Sent> =
        garbage().iter().flat_map(|s| (0..4).map(|n| write(s.at, s.command.sector * 4 + n))).collect();
    let played = play_in_windows(&config, PreparedState::Sequential, Some(windows), &script);
    let first: Vec<u64> = starts(&played, Kind::GcRead).into_iter().take(4).collect();
    // Two chips share each bus, where the second command waits for the first.
    assert_eq!(first, [from.0, from.0, from.0 + 175, from.0 + 175]);
}

#[test]
fn windows_that_are_taken_away_hold_nothing_back() {
    let mut writer = Writer::new(&drive(6), PreparedState::Sequential, 1);
    let far = Windows { from: Time(1 << 40), period: Nanos::secs(1000), length: Nanos(1) };
    assert_eq!(writer.ssd.control(Time::ZERO, Control::SetWindows(far)), ControlReply::Done);
    let kept = writer.write(20, uniform(76)).counts;
    assert_eq!(kept.collections, 0);
    let now = writer.now();
    assert_eq!(writer.ssd.control(now, Control::ClearWindows), ControlReply::Done);
    let figures = writer.write(300, uniform(76));
    assert!(figures.counts.collections > 0 && figures.counts.forced_collections == 0);
    writer.ssd.check();
}

#[test]
fn windows_that_are_none_are_refused_and_so_are_drives_without_use_for_them() {
    let windows = Windows { from: Time(5), period: Nanos(10), length: Nanos(11) };
    let reply = |config: &SsdConfig, windows| {
        Writer::new(config, PreparedState::Empty, 1).ssd.control(Time::ZERO, Control::SetWindows(windows))
    };
    assert_eq!(reply(&drive(6), windows), ControlReply::Invalid);
    let windows = Windows { length: Nanos(10), ..windows };
    assert_eq!(reply(&drive(6), windows), ControlReply::Done);
    assert_eq!(reply(&drive(6), Windows { from: Time::NEVER, ..windows }), ControlReply::Invalid);
    assert_eq!(reply(&drive(6), Windows { period: Nanos(u64::MAX), ..windows }), ControlReply::Invalid);
    let mut ideal = drive(6);
    ideal.gc.ideal = true;
    let mut by_block = drive(6);
    by_block.ftl.mapping = MappingLevel::Block;
    assert_eq!(reply(&ideal, windows), ControlReply::Unsupported);
    assert_eq!(reply(&by_block, windows), ControlReply::Unsupported);
}

/// Writes until a drive whose next window is far away has collected often. Counts the collections that
/// started while the plane was not below the low threshold, and those that the drive did not count as forced.
fn unforced() -> (u64, u64) {
    let config = drive(6);
    let mut writer = Writer::new(&config, PreparedState::Sequential, 1);
    let far = Windows { from: Time(1 << 40), period: Nanos::secs(1000), length: Nanos(1) };
    assert_eq!(writer.ssd.control(Time::ZERO, Control::SetWindows(far)), ControlReply::Done);
    let (mut early, mut collections, mut forced) = (0, 0, 0);
    for _ in 0..500 {
        let counts = writer.write(1, uniform(76)).counts;
        let ControlReply::Blocks(free) = writer.ssd.control(Time::ZERO, Control::FreeBlocks) else {
            panic!("a number of blocks")
        };
        let began_early = counts.collections > counts.erases && free >= u64::from(config.gc.low);
        early += u64::from(began_early);
        (collections, forced) = (collections + counts.collections, forced + counts.forced_collections);
    }
    assert!(collections > 20, "a test of {collections} collections shows nothing");
    (early, collections - forced)
}

#[test]
fn outside_of_windows_a_drive_collects_only_what_it_must_and_counts_it() {
    assert_eq!(unforced(), (0, 0));
}

#[test]
fn collection_outside_of_windows_is_noticed() {
    let windows = Windows { from: Time(50_000_000), period: Nanos(10_000_000), length: Nanos(200_000) };
    let played = broken(Invariant::CollectInWindows, || {
        play_in_windows(&drive(6), PreparedState::Sequential, Some(windows), &garbage())
    });
    assert_ne!(starts(&played, Kind::GcRead), expected(windows).0);
    assert!(broken(Invariant::CollectInWindows, unforced).0 > 0);
}

#[test]
fn a_forced_collection_that_is_not_counted_is_noticed() {
    assert!(broken(Invariant::CountForced, unforced).1 > 0);
}

#[test]
fn random_drives_meet_windows_forced_collections_and_contended_reads() {
    let swarm = Swarm { name: "windows", cases: 400, length: 300, reads: false, controls: false };
    let counts = swarm.counts(|drive, _| {
        drive.gc.ideal = false;
        drive.ftl.mapping = MappingLevel::Page;
    });
    let met = |count: &dyn Fn(&tailcut_ssd::Counters) -> u64| counts.iter().filter(|c| count(c) > 0).count();
    for (name, met) in [
        ("forced", met(&|c| c.forced_collections)),
        (
            "not forced in a drive that was",
            met(&|c| c.forced_collections.min(c.collections - c.forced_collections)),
        ),
        ("contended", met(&|c| c.contended_reads)),
        ("levelled", met(&|c| c.levelled)),
    ] {
        println!("{name}: {met} of {} drives", counts.len());
        assert!(met > 0, "no drive has met this: {name}");
    }
}
