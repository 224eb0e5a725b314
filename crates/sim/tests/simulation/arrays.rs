//! Arrays of simulated drives, as users run them: every read is checked, every span adds up, two runs agree.

use std::ops::ControlFlow;
use tailcut_base::config::Choice;
use tailcut_base::{Nanos, Op};
use tailcut_host::array::epoch::EpochMode;
use tailcut_host::array::{ArrayConfig, LayoutKind, Members, ReadPolicy};
use tailcut_sim::Scenario;
use tailcut_sim::ending::run_to_end;
use tailcut_sim::report::{IncidentReport, Report};
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

/// The redundant layouts, whose arrays can do without a drive.
fn redundant() -> impl Iterator<Item = LayoutKind> {
    LayoutKind::all().iter().copied().filter(|layout| layout.is_redundant())
}

/// An array with little to do, so that rebuilds make progress; it ends at a time.
fn in_trouble(layout: LayoutKind, incidents: &str, length: Nanos) -> Scenario {
    let mut scenario = scenario(layout);
    (scenario.workload.pace, scenario.workload.rate) = (PaceKind::Open, 300);
    scenario.run = Limits { duration: length, ..Limits::NONE };
    scenario.incidents = incidents.into();
    scenario
}

#[test]
fn a_drive_that_leaves_and_comes_back_costs_no_data_in_any_layout() {
    for layout in redundant() {
        let incidents = "20ms remove 1; 60ms return 1; 70ms stall 2 5ms; 80ms delay 3 1ms";
        let scenario = in_trouble(layout, incidents, Nanos::secs(4));
        let report = run(&scenario);
        assert!(report.all().requests > 1_000 && report.all().errors == 0, "{layout}");
        assert_eq!(run(&scenario), report, "{layout}");
        let array = report.array.expect("it is one");
        // A copy on another drive is no reconstruction.
        assert!(array.degraded > 0 || layout.is_mirrored(), "{layout}: no read was reconstructed");
        let what: Vec<&str> = array.incidents.iter().map(IncidentReport::incident).collect();
        assert_eq!(what, ["remove 1", "return 1", "stall 2 5ms", "delay 3 1ms"], "{layout}");
        let at: Vec<u64> = array.incidents.iter().map(|begun| begun.at_ns() / 1_000_000).collect();
        assert!(at[0] == 20 && (60..70).contains(&at[1]) && at[2] == 70, "{layout}: {at:?}");
        let rebuilt = array.incidents[1].took_ns();
        assert!(rebuilt.is_some_and(|took| took > 1_000_000), "{layout}: {rebuilt:?}");
    }
}

#[test]
fn a_slower_rebuild_takes_longer_and_a_scrub_ends() {
    let incidents = "10ms remove 0; 20ms return 0; 20ms scrub";
    let took = |rate: u64| {
        let mut scenario = in_trouble(LayoutKind::Raid5, incidents, Nanos::secs(8));
        scenario.array.background_rate = rate;
        let array = run(&scenario).array.expect("it is one");
        array.incidents.iter().map(IncidentReport::took_ns).collect::<Vec<_>>()
    };
    let (fast, slow) = (took(0), took(20_000_000));
    assert_eq!(fast[0], None, "a removal has no end");
    assert!(fast[1..].iter().all(Option::is_some), "{fast:?}");
    // Five data drives hold 97,420 blocks: 80 MB of each are read, at 20 MB/s.
    assert!(slow[1] > fast[1] && slow[1].is_some_and(|took| took > 3_900_000_000), "{fast:?} {slow:?}");
}

/// A drive that stalls holds its commands up, and the wait is attributed to its queue.
#[test]
fn a_stall_is_seen_in_latencies_and_their_causes() {
    let reads = |incidents: &str| {
        let report = run(&in_trouble(LayoutKind::Raid5, incidents, Nanos::secs(2)));
        let kind = report.kinds.iter().find(|kind| kind.kind == Op::Read.name()).expect("there were reads");
        let waits = kind.slowest.iter().flat_map(|tail| &tail.waits);
        let held = waits.filter(|wait| wait.cause == "tag").map(|wait| wait.mean_ns).fold(0.0, f64::max);
        (kind.latency.max_ns, held)
    };
    let (calm, _) = reads("");
    let (stalled, held) = reads("100ms stall 4 300ms");
    assert!(stalled > calm + 200_000_000 && held > 100e6, "{calm} {stalled} {held}");
    let (delayed, held) = reads("0s delay 4 50ms");
    assert!(delayed > calm + 40_000_000 && held > 10e6, "{calm} {delayed} {held}");
}

/// A drive that comes back has to complete what it had in flight; incidents behind that keep their order.
#[test]
fn incidents_keep_their_order_behind_a_return_that_waits() {
    let text = "100ms scrub; 102ms remove 1; 103ms return 1; 103100us remove 1; 105ms return 1";
    let mut scenario = in_trouble(LayoutKind::Raid5, text, Nanos::secs(1));
    scenario.workload.rate = 3_000;
    let array = run(&scenario).array.expect("it is one");
    let what: Vec<&str> = array.incidents.iter().map(IncidentReport::incident).collect();
    assert_eq!(what, ["scrub", "remove 1", "return 1", "remove 1", "return 1"]);
    let at: Vec<u64> = array.incidents.iter().map(IncidentReport::at_ns).collect();
    assert!(at.is_sorted(), "{at:?}");
    assert_eq!(array.incidents[2].took_ns(), None, "it was removed again during its rebuild");
}

#[test]
fn incidents_after_the_end_of_a_run_are_noted() {
    let noted = |text: &str| {
        let report = run(&in_trouble(LayoutKind::Raid5, text, Nanos::millis(200)));
        report.notes.into_iter().filter(|note| note.contains("array.incidents")).collect::<Vec<_>>()
    };
    assert_eq!(noted("100ms stall 0 1ms"), Vec::<String>::new());
    let [note] = &noted("100ms stall 0 1ms; 5s stall 1 1ms; 6s scrub")[..] else { panic!("one note") };
    assert!(note.starts_with("2 incidents of array.incidents did not happen"), "{note}");
    assert!(note.contains("from '5s stall 1 1ms' on; a longer run"), "{note}");
}
