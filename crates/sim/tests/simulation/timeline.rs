//! Timelines: the sums of their slots, and that they have no side effects.

use std::ops::ControlFlow;
use tailcut_base::{Nanos, Time};
use tailcut_host::array::epoch::EpochMode;
use tailcut_host::array::{ArrayConfig, LayoutKind};
use tailcut_sim::ending::{Ends, run_to_end, run_to_end_observed};
use tailcut_sim::report::Report;
use tailcut_sim::timeline::{Devices, MOST, Requests, Timeline};
use tailcut_sim::world::{Limits, World};
use tailcut_sim::{Scenario, Storage};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset};
use tailcut_workload::SyntheticConfig;
use tailcut_workload::config::PaceKind;

fn scenario() -> Scenario {
    let mut device = Preset::G.config();
    device.geometry.blocks = 32;
    Scenario {
        device,
        precondition: Precondition { state: PreparedState::Steady, fill: 800_000 },
        run: Limits { ramp: Nanos::millis(7), requests: 20_000, ..Limits::NONE },
        workload: SyntheticConfig {
            read: 500_000,
            region_share: 800_000,
            pace: PaceKind::Closed,
            depth: 16,
            ..SyntheticConfig::default()
        },
        ..Scenario::default()
    }
}

fn array(layout: LayoutKind) -> Scenario {
    let mut scenario = scenario();
    let groups = if layout.is_swan() || layout.is_mirrored() { 2 } else { 1 };
    scenario.array = ArrayConfig { drives: 6, layout, groups, ..ArrayConfig::default() };
    scenario.array.log.segment = 256 << 10;
    scenario.array.epoch.cache = 4 << 20;
    scenario.array.epoch.mode = EpochMode::GcControl;
    scenario.workload.region_share = 1_000_000;
    scenario
}

fn recorded<S: Storage>(scenario: &Scenario, mut world: World<S>) -> (Report, Ends, Timeline) {
    let mut observer = (Requests::new(), Devices::new());
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let ends = run_to_end_observed(&mut world, scenario.horizon(), watch, &mut observer).expect("it runs");
    let report = Report::new(scenario, &world, &ends.figures(), false);
    (report, ends, Timeline::new(observer.0, &observer.1))
}

fn plain<S: Storage>(scenario: &Scenario, mut world: World<S>) -> Report {
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let ends = run_to_end(&mut world, scenario.horizon(), watch).expect("it runs");
    Report::new(scenario, &world, &ends.figures(), false)
}

/// The slots of a timeline add up to the report.
fn assert_sums(report: &Report, ends: &Ends, timeline: &Timeline) {
    let sum = |list: &[u64]| list.iter().sum::<u64>();
    let of = |name: &str| report.kinds.iter().find(|kind| kind.kind == name).expect("it is there");
    assert_eq!((timeline.from_ns, timeline.until_ns), (report.from_ns, report.until_ns));
    assert_eq!(timeline.kinds.len(), report.kinds.len() - 1);
    for kind in &timeline.kinds {
        let whole = of(&kind.kind);
        assert_eq!((sum(&kind.requests), sum(&kind.errors)), (whole.requests, whole.errors));
        let bytes = whole.bytes_per_s * report.seconds();
        assert!((sum(&kind.bytes) as f64 - bytes).abs() < 1.0, "{} {bytes}", sum(&kind.bytes));
        let latency = whole.latency.mean_ns * whole.requests as f64;
        assert!((sum(&kind.latency_ns) as f64 - latency).abs() < 1e-6 * latency);
        assert_eq!(kind.max_ns.iter().max(), Some(&whole.latency.max_ns));
    }
    for (line, figures) in timeline.drives.iter().zip(ends.figures()) {
        let c = &figures.counts;
        let sums = [&line.reads, &line.writes, &line.programmed_user, &line.programmed_gc, &line.erases];
        let counts = [c.host_reads, c.host_writes, c.programmed_user, c.programmed_gc, c.erases];
        assert_eq!(sums.map(|list| sum(list)), counts);
    }
    assert!((MOST / 2..=MOST).contains(&timeline.slots), "{}", timeline.slots);
    let length = timeline.slot_ns * timeline.slots as u64;
    let measured = report.until_ns - report.from_ns;
    assert!(length > measured && length - measured <= timeline.slot_ns);
}

/// The map of chips matches the utilisation in the report.
fn assert_chips(report: &Report, timeline: &Timeline) {
    let map = &timeline.chips;
    for held in &map.held {
        let named = |name: &str| report.drive.chip_time.iter().find(|(n, _)| n == name).map(|&(_, s)| s);
        let Some(share) = named(&held.holder) else { continue };
        let of_drive: Vec<usize> = (0..map.rows.len()).filter(|&row| map.rows[row].drive == 0).collect();
        let chips: f64 = of_drive.iter().map(|&row| map.rows[row].chips as f64).sum();
        let slots = (timeline.until_ns - timeline.from_ns) as f64 / timeline.slot_ns as f64;
        let mut sum = 0.0;
        for &row in &of_drive {
            for (column, parts) in held.rows[row].iter().enumerate() {
                let begin = (column * map.slots_per_column) as f64;
                let length = (slots - begin).min(map.slots_per_column as f64);
                sum += f64::from(*parts) / 1e3 * length * map.rows[row].chips as f64;
            }
        }
        let mean = sum / slots / chips;
        assert!((mean - share).abs() < 0.002, "{}: {mean} of {share}", held.holder);
    }
}

#[test]
fn slots_of_a_drive_add_up_to_its_report_and_change_nothing() {
    let scenario = scenario();
    let world = scenario.world((), false).expect("it is a good scenario");
    let (report, ends, timeline) = recorded(&scenario, world);
    assert!(report.drive.erases > 0 && report.drive.programs.gc > 0, "there is something to count");
    assert_sums(&report, &ends, &timeline);
    assert_chips(&report, &timeline);
    assert!(timeline.members.is_empty() && timeline.groups.is_empty());
    let world = scenario.world((), false).expect("it is a good scenario");
    assert_eq!(plain(&scenario, world), report, "who looks changes nothing");
}

#[test]
fn slots_of_arrays_add_up_and_show_roles_and_tokens() {
    for layout in [LayoutKind::Raid5, LayoutKind::Swan5, LayoutKind::Epochs] {
        let scenario = array(layout);
        let world = scenario.array_world(|| (), false).expect("it is a good scenario");
        let (report, ends, timeline) = recorded(&scenario, world);
        assert_sums(&report, &ends, &timeline);
        assert_chips(&report, &timeline);
        let world = scenario.array_world(|| (), false).expect("it is a good scenario");
        assert_eq!(plain(&scenario, world), report, "{layout}");
        assert_eq!(timeline.groups.len(), if layout.is_swan() { 2 } else { 0 });
        assert_eq!(timeline.members.len(), if layout.is_mirrored() { 6 } else { 0 });
        for slot in 0..timeline.slots {
            let fronts: u32 = timeline.groups.iter().map(|group| u32::from(group.front[slot])).sum();
            assert!(timeline.groups.is_empty() || fronts.abs_diff(1_000) <= 2 || slot + 1 == timeline.slots);
        }
        let log = report.array.as_ref().and_then(|array| array.log.as_ref());
        let moved = log.map_or(0.0, |log| log.moved * log.host_bytes as f64 / 4096.0);
        let shown = timeline.moved.iter().sum::<u64>() as f64;
        assert!(shown <= moved + 0.5, "{shown} of {moved}, with what was moved before the measurement");
        assert_eq!(shown > 0.0, layout.is_swan(), "{layout}");
        if let Some(epochs) = report.array.and_then(|array| array.epochs) {
            let measured = epochs.stages.writing_ns + epochs.stages.flushing_ns;
            let lines = timeline.members.iter().flat_map(|member| &member.writing);
            let shown: u64 = lines.map(|&parts| u64::from(parts) * timeline.slot_ns / 1_000).sum();
            assert!(shown > 0 && shown <= measured + measured / 100, "{shown} of {measured}");
            assert!(timeline.epochs.iter().sum::<u64>() <= epochs.epochs);
        }
    }
}

#[test]
fn a_run_without_measurement_has_an_empty_timeline() {
    let mut scenario = scenario();
    scenario.run.ramp = Nanos::secs(1_000);
    let world = scenario.world((), false).expect("it is a good scenario");
    let (report, _, timeline) = recorded(&scenario, world);
    assert_eq!((timeline.slots, timeline.kinds.len()), (1, 0));
    assert_eq!(report.seconds(), 0.0);
    assert_eq!(Time(timeline.from_ns), Time(timeline.until_ns));
}
