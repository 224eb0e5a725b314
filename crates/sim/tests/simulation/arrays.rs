//! Arrays of simulated drives, as users run them: every read is checked, every span adds up, two runs agree.

use std::ops::ControlFlow;
use tailcut_base::config::Choice;
use tailcut_base::{Nanos, Op};
use tailcut_host::array::epoch::EpochMode;
use tailcut_host::array::{ArrayConfig, LayoutKind, Members, ReadPolicy};
use tailcut_sim::Scenario;
use tailcut_sim::ending::run_to_end;
use tailcut_sim::report::Report;
use tailcut_sim::world::Limits;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset, SetsBy, SetsConfig};
use tailcut_workload::SyntheticConfig;
use tailcut_workload::config::PaceKind;

/// Six small drives; SWAN as two groups of three.
fn scenario(layout: LayoutKind) -> Scenario {
    let groups = if layout.is_swan() || layout.is_mirrored() { 2 } else { 1 };
    let mut device = Preset::G.config();
    device.geometry.blocks = 32;
    let mut array = ArrayConfig { drives: 6, layout, groups, ..ArrayConfig::default() };
    array.log.segment = 256 << 10;
    array.raid.chunk = 16 << 10;
    array.epoch.cache = 4 << 20;
    Scenario {
        device,
        array,
        precondition: Precondition { state: PreparedState::Steady, fill: 800_000 },
        run: Limits { requests: 3_000, ..Limits::NONE },
        workload: SyntheticConfig {
            read: 500_000,
            region_share: 1_000_000,
            write_size: "4KiB/50:16KiB/30:100KiB/20".into(),
            flush_every: 50,
            pace: PaceKind::Closed,
            depth: 24,
            ..SyntheticConfig::default()
        },
        ..Scenario::default()
    }
}

fn run(scenario: &Scenario) -> Report {
    let mut world = scenario.array_world(|| (), false).expect("it is a good scenario");
    let ends = run_to_end(&mut world, scenario.horizon(), &mut |_| ControlFlow::Continue(()));
    let ends = ends.unwrap_or_else(|error| panic!("{}: {error}", scenario.array.layout));
    assert!(world.is_checking());
    Report::new(scenario, &world, &ends.figures(), false)
}

#[test]
fn every_layout_returns_what_was_written_and_runs_the_same_twice() {
    for &layout in LayoutKind::all() {
        let scenario = scenario(layout);
        let report = run(&scenario);
        assert_eq!((report.all().requests, report.all().errors), (3_000, 0), "{layout}");
        assert_eq!(run(&scenario), report, "{layout}");
        let array = report.array.expect("it is one");
        assert_eq!(array.members.len(), 6);
        assert_eq!(array.log.is_some(), !layout.is_in_place());
        assert_eq!(array.epochs.is_some(), layout.is_mirrored());
    }
}

#[test]
fn every_way_around_a_drive_returns_what_was_written() {
    for layout in [LayoutKind::Raid4, LayoutKind::Raid5, LayoutKind::LogRaid5, LayoutKind::Swan5] {
        for &reads in ReadPolicy::all() {
            let mut scenario = scenario(layout);
            scenario.array.reads = reads;
            scenario.array.turns = Nanos::millis(20);
            scenario.array.slow_after = Nanos::millis(3);
            let report = run(&scenario);
            assert_eq!(report.all().errors, 0, "{layout} {reads}");
            let array = report.array.expect("it is one");
            let around = array.steered + array.contended + array.hedged;
            assert!(reads == ReadPolicy::Direct || around > 0, "{layout} {reads}: no read went around");
        }
    }
}

/// Prepared drives receive their collection windows, which shows in their behaviour.
#[test]
fn turns_reach_the_drives() {
    let mut scenario = scenario(LayoutKind::Raid5);
    scenario.device = Preset::Femu.config();
    scenario.device.geometry.blocks = 32;
    scenario.run.requests = 20_000;
    let collected = |scenario: &Scenario| {
        let array = run(scenario).array.expect("it is one");
        array.members.iter().map(|member| member.erases).collect::<Vec<_>>()
    };
    let always = collected(&scenario);
    scenario.array.turns = Nanos::millis(20);
    assert_ne!(collected(&scenario), always);
}

/// Avoiding drives that collect at any time would cost reads and gain nothing.
#[test]
fn drives_that_do_not_know_turns_are_not_gone_around() {
    let mut scenario = scenario(LayoutKind::Raid5);
    scenario.array.turns = Nanos::millis(20);
    scenario.array.reads = ReadPolicy::AroundCollection;
    for knows in [true, false] {
        scenario.device.control_api = knows;
        let array = run(&scenario).array.expect("it is one");
        assert_eq!(array.without_turns, if knows { 0 } else { array.drives });
        assert_eq!(array.steered > 0, knows);
    }
}

#[test]
fn preparing_counts_nothing() {
    let report = run(&scenario(LayoutKind::LogRaid0));
    let array = report.array.as_ref().expect("it is one");
    assert!(array.prepared_ns > 0 && report.from_ns == array.prepared_ns);
    let reads = report.kinds.iter().find(|kind| kind.kind == Op::Read.name()).expect("there were reads");
    assert!(reads.requests > 1_250 && reads.requests < 1_750);
}

/// Reads beside writes: no read meets the token, and drives without the control interface report so.
#[test]
fn epochs_keep_reads_from_what_is_written() {
    for mode in [EpochMode::Epoch, EpochMode::GcControl] {
        let mut scenario = scenario(LayoutKind::Epochs);
        scenario.array.epoch.mode = mode;
        let report = run(&scenario);
        assert_eq!(report.all().errors, 0);
        let epochs = report.array.and_then(|array| array.epochs).expect("it has epochs");
        assert!(epochs.diverted > 100 && epochs.met == 0, "{mode}: {epochs:?}");
        assert_eq!((epochs.late, epochs.without_control), (0, 0), "{mode}: {epochs:?}");
    }
}

/// The same array over the six sets of one drive as large as the six drives.
fn over_sets(layout: LayoutKind, by: SetsBy) -> Scenario {
    let mut scenario = scenario(layout);
    scenario.array.members = Members::Sets;
    scenario.device.sets = SetsConfig { count: 6, by };
    let g = &mut scenario.device.geometry;
    (g.channels, g.chips) = if by == SetsBy::Channels { (6, 2) } else { (4, 6) };
    g.blocks = 64;
    assert_eq!(scenario.check_sets(), None);
    scenario.device.check_sets().expect("it can be divided");
    scenario
}

#[test]
fn every_layout_works_over_the_sets_of_a_drive() {
    for (&layout, by) in LayoutKind::all().iter().zip(SetsBy::all().iter().cycle()) {
        let mut scenario = over_sets(layout, *by);
        scenario.run.requests = 2_000;
        let report = run(&scenario);
        assert_eq!((report.all().requests, report.all().errors), (2_000, 0), "{layout}");
        assert_eq!(run(&scenario), report, "{layout}");
        let array = report.array.expect("it is one");
        assert_eq!((array.members.len(), array.drives, array.over_sets), (1, 6, true));
    }
}

/// Sets are members that can be controlled, and reads do not wait for programs and erases.
#[test]
fn epochs_over_sets_keep_reads_from_what_is_written() {
    for mode in [EpochMode::Epoch, EpochMode::GcControl] {
        let mut scenario = over_sets(LayoutKind::Epochs, SetsBy::Channels);
        scenario.array.epoch.mode = mode;
        scenario.device.buffer.capacitor = false;
        let report = run(&scenario);
        assert_eq!(report.all().errors, 0);
        let epochs = report.array.and_then(|array| array.epochs).expect("it has epochs");
        assert!(epochs.diverted > 100 && epochs.met == 0, "{mode}: {epochs:?}");
        assert_eq!(epochs.without_control, 0, "{mode}: {epochs:?}");
    }
}

#[test]
fn a_collection_turn_reaches_its_set() {
    let mut scenario = over_sets(LayoutKind::Raid5, SetsBy::Chips);
    scenario.run.requests = 10_000;
    let digest = |scenario: &Scenario| run(scenario).digest;
    let always = digest(&scenario);
    scenario.array.turns = Nanos::millis(20);
    assert_ne!(digest(&scenario), always);
}

/// Reads of garbage collection delay no request, so they go to the drive that latency-critical reads avoid.
#[test]
fn reads_of_collection_go_to_the_drive_with_the_token() {
    let diverted = |class: u32| {
        let mut scenario = scenario(LayoutKind::Epochs);
        scenario.workload.read_class = class;
        let mut world = scenario.array_world(|| (), false).expect("it is a good scenario");
        run_to_end(&mut world, scenario.horizon(), &mut |_| ControlFlow::Continue(())).expect("it runs");
        let figures = world.device.array().epoch_figures().expect("it has epochs");
        assert!(world.is_checking() && figures.epochs > 10, "{figures:?}");
        figures.diverted
    };
    assert!(diverted(3) > 50);
    assert_eq!(diverted(5), 0);
}
