//! An array between threads and drives: with every strategy, layout and shortage, every request completes
//! with the data that was written.

use super::liveness::{HINTED, INTERRUPTED, POLLED, cases, pick, run, scenario};
use tailcut_base::config::Choice;
use tailcut_base::random::Stream;
use tailcut_base::{Cause, Nanos, Op};
use tailcut_host::array::epoch::EpochMode;
use tailcut_host::array::{ArrayConfig, LayoutKind, Members, ReadPolicy};
use tailcut_host::path::Strategy;
use tailcut_sim::Scenario;
use tailcut_sim::path::{ControllerKind, HostConfig};
use tailcut_sim::world::Limits;
use tailcut_ssd::config::FailFast;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{SetsBy, SetsConfig};

/// A host short of every resource, over an array short of queue room.
fn over_array(seed: u64) -> Scenario {
    let strategies = [&INTERRUPTED[..], &POLLED[..], &HINTED[..]].concat();
    let serves = |name: &&str| {
        let strategy = Strategy::parse(name).expect("it is one");
        strategy.interrupts || strategy.has_poll_thread
    };
    let strategies: Vec<&str> = strategies.into_iter().filter(serves).collect();
    let mut scenario = scenario(seed, &strategies);
    let mut random = Stream::new(seed, "host of an array");
    let layout = pick(&mut random, LayoutKind::all());
    let copies = pick(&mut random, &[2, 2, 3]);
    let groups = match layout {
        _ if layout.is_swan() => 2,
        _ if layout.is_mirrored() => copies,
        _ => 1,
    };
    let mut array = ArrayConfig { drives: 6, layout, groups, ..ArrayConfig::default() };
    if layout.is_mirrored() {
        array.epoch.copies = copies;
        array.reads = pick(&mut random, &[ReadPolicy::Direct, ReadPolicy::FailFast]);
    }
    array.drive_depth = pick(&mut random, &[1, 3, 256]);
    array.depth = pick(&mut random, &[1, 7, 4096]);
    array.log.segment = 256 << 10;
    array.raid.chunk = 16 << 10;
    array.epoch.cache = 4 << 20;
    array.epoch.mode = pick(&mut random, EpochMode::all());
    if layout.is_in_place() && layout != LayoutKind::Raid0 && !layout.is_mirrored() {
        array.reads = pick(&mut random, ReadPolicy::all());
        array.turns = Nanos::millis(20);
        array.slow_after = Nanos::millis(3);
    }
    scenario.device.geometry.blocks = 32;
    scenario.device.schedule.fail_fast = pick(&mut random, FailFast::all());
    scenario.host.drives = 1;
    scenario.host.array_priority = pick(&mut random, &[0, 20, 39]);
    scenario.host.array_core = scenario.host.cores > 1 && random.below(2) == 0;
    if random.below(4) == 0 && !layout.is_swan() {
        (array.drives, array.members) = (4, Members::Sets);
        if layout.is_mirrored() {
            array.groups = 4;
        }
        scenario.device.sets = SetsConfig { count: 4, by: SetsBy::Channels };
        scenario.device.geometry.channels = 4;
        scenario.device.geometry.chips = 8;
    }
    let sizes = pick(&mut random, &["4KiB", "4KiB/50:16KiB/30:100KiB/20"]);
    scenario.workload.write_size = sizes.into();
    scenario.host.array_block = pick(&mut random, &[Nanos::ZERO, Nanos(900), Nanos::micros(30)]);
    scenario.host.array_thread = random.below(2) == 0;
    scenario.host.speed = pick(&mut random, &[1_000_000, 560_000, 2_500_000]);
    scenario.workload.region_share = 1_000_000;
    scenario.precondition.state = pick(&mut random, &[PreparedState::Sequential, PreparedState::Steady]);
    scenario.precondition.fill = 800_000;
    scenario.run = Limits { requests: 600, ..Limits::NONE };
    scenario.array = array;
    scenario
}

#[test]
fn every_request_to_an_array_is_answered_with_what_was_written() {
    for seed in 0..cases() / 3 {
        let scenario = over_array(seed);
        let (host, array) = (scenario.host.clone(), scenario.array.clone());
        let case = || format!("seed {seed}, {host:?}, {array:?}");
        let measured = run(scenario).unwrap_or_else(|error| panic!("{}: {error}", case()));
        assert_eq!((measured.requests(), measured.errors()), (600, 0), "{}", case());
        assert!(measured.report.content_checked, "{}", case());
        let figures = measured.host.as_ref().expect("there is a host");
        assert_eq!(figures.time.total(), figures.elapsed * figures.cpus as u64, "{}", case());
    }
}

#[test]
fn one_seed_gives_one_history() {
    for seed in [1, 5, 9] {
        let digest = || run(over_array(seed)).expect("it runs").report.digest;
        assert_eq!(digest(), digest());
    }
}

/// Writes per second of a log of fast drives whose blocks take 50 µs each on a core.
fn blocks_per_second(layout: LayoutKind) -> f64 {
    let mut scenario = scenario(1, &["scsi"]);
    scenario.device.timing.program = vec![Nanos::micros(1)];
    (scenario.device.queue.depth, scenario.device.buffer.size) = (32, 1 << 20);
    scenario.device.geometry.blocks = 32;
    scenario.array = ArrayConfig { drives: 4, layout, ..ArrayConfig::default() };
    scenario.array.log.segment = 256 << 10;
    scenario.host = HostConfig {
        strategy: "scsi".into(),
        cores: 8,
        siblings: false,
        threads: 32,
        array_block: Nanos::micros(50),
        array_thread: true,
        ..HostConfig::default()
    };
    let workload = &mut scenario.workload;
    (workload.read, workload.write_size) = (0, "8KiB".into());
    (workload.depth, workload.flush_every, workload.think) = (32, 0, Nanos::ZERO);
    scenario.precondition.state = PreparedState::Empty;
    scenario.run = Limits { requests: 2000, ..Limits::NONE };
    let measured = run(scenario).expect("it runs");
    measured.kind(Op::Write).expect("there are writes").bytes_per_s / 4096.0
}

/// The thread that copies every block of a log bounds the log; an array that passes requests on has no such
/// thread.
#[test]
fn one_thread_writes_no_more_blocks_than_it_can_copy() {
    let log = blocks_per_second(LayoutKind::LogRaid0);
    let bound = 1e6 / 50.0;
    assert!((0.5 * bound..=bound).contains(&log), "{log} blocks/s, of {bound}");
    let parity = blocks_per_second(LayoutKind::LogRaid4);
    assert!(parity < 0.9 * log, "a block of parity for three of data is copied as well: {parity}, {log}");
    assert!(blocks_per_second(LayoutKind::Raid0) > 1.5 * bound);
}

/// RAID0 with one request at a time equals the bare drive, with every strategy: the array adds nothing.
#[test]
fn a_lone_read_of_a_striped_array_takes_what_it_takes_from_a_drive() {
    for name in ["scsi", "nvme", "nonblocking", "lazy", "coop", "poll", "precomplete", "hybrid"] {
        let mut alone = scenario(1, &[name]);
        (alone.host.threads, alone.host.cores, alone.host.drives) = (1, 4, 1);
        (alone.workload.depth, alone.workload.read, alone.workload.flush_every) = (1, 1_000_000, 0);
        alone.workload.read_size = "4KiB".into();
        alone.host.uplink = 0;
        (alone.device.queue.depth, alone.host.controller) = (32, ControllerKind::Nvme);
        let mut striped = alone.clone();
        striped.array = ArrayConfig { drives: 2, layout: LayoutKind::Raid0, ..ArrayConfig::default() };
        let (alone, striped) = (run(alone).expect("it runs"), run(striped).expect("it runs"));
        let of_host = |measured: &tailcut_sim::measured::Measured| {
            let reads = measured.kind(Op::Read).expect("there are reads");
            let waits = reads.waits.iter();
            waits.filter(|wait| wait.cause != Cause::Cell.label()).map(|wait| wait.mean_ns).sum::<f64>()
        };
        let (a, b) = (of_host(&alone), of_host(&striped));
        assert!((a / b - 1.0).abs() < 0.05, "{name}: {a} ns alone, {b} ns striped");
    }
}
