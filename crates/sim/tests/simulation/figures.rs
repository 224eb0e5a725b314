//! What the figures of a report count, and what they do not.

use super::limits::{report_of, run, small};
use std::ops::ControlFlow;
use tailcut_base::{Cause, Nanos};
use tailcut_host::array::LayoutKind;
use tailcut_sim::ending::run_to_end;
use tailcut_sim::report::{KindReport, Report};
use tailcut_sim::scenario::Scenario;
use tailcut_sim::world::Limits;
use tailcut_ssd::Preset;
use tailcut_ssd::precondition::PreparedState;
use tailcut_workload::SyntheticConfig;
use tailcut_workload::config::PaceKind;

fn kind<'r>(report: &'r Report, name: &str) -> &'r KindReport {
    report.kinds.iter().find(|kind| kind.kind == name).expect("it occurred")
}

/// The share of their time that these requests spent on a cause.
fn share(kind: &KindReport, cause: &str) -> f64 {
    kind.waits.iter().find(|wait| wait.cause == cause).map_or(0.0, |wait| wait.share)
}

/// Writes with force unit access alone, on a drive with a volatile buffer.
fn forced() -> Scenario {
    let mut scenario = small();
    (scenario.device.buffer.size, scenario.device.buffer.capacitor) = (256 << 10, false);
    scenario.workload =
        SyntheticConfig { read: 0, fua: 1_000_000, pace: PaceKind::Closed, depth: 1, ..scenario.workload };
    scenario
}

#[test]
fn writes_with_force_unit_access_are_durable_and_need_a_program() {
    let scenario = forced();
    let report = run(&scenario);
    let writes = kind(&report, "write");
    let program = scenario.device.timing.program[0].0 as f64;
    assert!(!report.volatile_cache && writes.latency.bare_ns > program, "{writes:?}");
    assert!(writes.latency.bare_ns <= writes.latency.mean_ns * (1.0 + 1e-9), "{writes:?}");
    // The buffer survives a power cut: a write has to be in it.
    let mut scenario = forced();
    scenario.device.buffer.capacitor = true;
    let report = run(&scenario);
    assert!(kind(&report, "write").latency.bare_ns < program / 10.0);
    // A part without force unit access.
    let mut scenario = forced();
    scenario.workload.fua = 500_000;
    let report = run(&scenario);
    let bare = kind(&report, "write").latency.bare_ns;
    assert!(report.volatile_cache && (program * 0.4..program * 0.6).contains(&bare), "{bare}");
}

#[test]
fn the_time_of_a_write_with_force_unit_access_goes_to_what_its_program_waited_for() {
    let mut scenario = forced();
    for (size, depth) in [("4KiB", 1), ("16KiB", 1), ("4KiB", 4)] {
        (scenario.workload.write_size, scenario.workload.depth) = (size.into(), depth);
        let report = run(&scenario);
        let writes = kind(&report, "write");
        assert!(share(writes, "flush") < 0.02, "{size} at depth {depth}: {:?}", writes.waits);
        assert!(share(writes, "cell") > 0.2, "{size} at depth {depth}: {:?}", writes.waits);
        if depth == 1 {
            assert_eq!(share(writes, "chip: user write"), 0.0, "{size}: {:?}", writes.waits);
        }
    }
}

#[test]
fn so_does_that_of_a_write_whose_page_is_programmed_in_a_unit() {
    let mut scenario = Scenario { device: Preset::Pm9a3.config(), ..Scenario::default() };
    let d = &mut scenario.device;
    (d.geometry.channels, d.geometry.chips, d.geometry.blocks) = (1, 1, 24);
    d.buffer.capacitor = false;
    scenario.precondition.state = PreparedState::Empty;
    scenario.run = Limits { requests: 300, ..Limits::NONE };
    scenario.workload =
        SyntheticConfig { read: 0, fua: 1_000_000, pace: PaceKind::Closed, depth: 1, ..scenario.workload };
    let report = run(&scenario);
    let writes = kind(&report, "write");
    assert!(share(writes, "flush") < 0.02 && share(writes, "cell") > 0.5, "{:?}", writes.waits);
}

#[test]
fn requests_that_failed_are_errors_and_nothing_else() {
    let mut scenario = small();
    (scenario.host.strategy, scenario.host.timeout) = ("coop".into(), Nanos::millis(1));
    scenario.workload = SyntheticConfig { read: 500_000, depth: 32, ..scenario.workload };
    let world = scenario.host_world(|| (), false).expect("a good scenario");
    let report = report_of(&scenario, world);
    let all = report.all();
    assert!(all.errors > 10 && all.requests > 10, "{all:?}");
    assert_eq!(all.errors + all.requests, report.completed);
    assert!(
        all.latency.max_ns <= 1_100_000,
        "no request that succeeded took longer than the timeout: {all:?}"
    );
    let rate = all.requests as f64 / report.seconds();
    assert!((all.requests_per_s / rate - 1.0).abs() < 1e-9, "{} {rate}", all.requests_per_s);
    let note = report.notes.iter().find(|note| note.contains("failed; rates")).expect("it says so");
    assert!(note.contains(&format!("{} of {}", all.errors, report.completed)), "{note}");
}

#[test]
fn reads_of_blocks_without_data_are_noticed_in_a_log() {
    for layout in [LayoutKind::LogRaid0, LayoutKind::Swan5] {
        let mut scenario = small();
        (scenario.array.drives, scenario.array.layout) = (4, layout);
        scenario.array.groups = if layout == LayoutKind::Swan5 { 2 } else { 1 };
        scenario.array.log.segment = 64 << 10;
        scenario.workload.read = 1_000_000;
        scenario.run.requests = 2000;
        let noted =
            |scenario: &Scenario| run(scenario).notes.iter().any(|note| note.contains("hold no data"));
        scenario.precondition.state = PreparedState::Sequential;
        assert!(!noted(&scenario), "{layout:?}");
        scenario.precondition.fill = 400_000;
        assert!(noted(&scenario), "{layout:?}");
    }
}

#[test]
fn a_source_that_ended_long_after_its_last_request_was_due_was_an_overload() {
    let mut scenario = small();
    scenario.run = Limits::NONE;
    let open = SyntheticConfig {
        read: 1_000_000,
        pace: PaceKind::Open,
        requests: 4000,
        ..scenario.workload.clone()
    };
    let mut at = |rate: u64| {
        scenario.workload = SyntheticConfig { rate, ..open.clone() };
        run(&scenario).overload
    };
    assert_eq!(at(4_000), None);
    let overload = at(400_000).expect("twenty times what four chips can do");
    assert_eq!((overload.issued, overload.due), (4000, 4000));
    // 4000 requests were due within 10 ms.
    assert!(overload.late_ns as f64 > 4000.0 / overload.sustained_per_s * 0.7e9, "{overload:?}");
}

#[test]
fn bare_of_a_wide_read_counts_the_rounds_of_its_planes() {
    let mut scenario = small();
    // Two planes: a read of 16 pages takes their cells eight times.
    (scenario.device.geometry.channels, scenario.device.geometry.chips) = (1, 1);
    (scenario.device.schedule.plane_sharing, scenario.precondition.state) = (true, PreparedState::Sequential);
    scenario.workload = SyntheticConfig {
        read: 1_000_000,
        read_size: "64KiB".into(),
        align: 64 << 10,
        pace: PaceKind::Closed,
        depth: 1,
        ..scenario.workload
    };
    let latency = run(&scenario).all().latency.clone();
    assert!(latency.bare_ns > 8.0 * scenario.device.timing.read[0].0 as f64, "{latency:?}");
    assert!(latency.bare_ns <= latency.mean_ns && latency.bare_ns > latency.mean_ns * 0.6, "{latency:?}");
}

/// Four drives in an array.
fn array(layout: LayoutKind) -> Scenario {
    let mut scenario = small();
    (scenario.array.drives, scenario.array.layout) = (4, layout);
    scenario.array.groups = if layout == LayoutKind::Epochs { 2 } else { 1 };
    (scenario.array.raid.journal, scenario.array.raid.chunk) = (256 << 10, 16 << 10);
    scenario.workload = SyntheticConfig { read: 0, pace: PaceKind::Closed, depth: 1, ..scenario.workload };
    scenario
}

#[test]
fn bare_of_a_small_write_to_parity_includes_a_read() {
    for (layout, reads) in [(LayoutKind::Raid0, 0.0), (LayoutKind::Raid4, 1.0), (LayoutKind::Raid5, 1.0)] {
        let mut scenario = array(layout);
        scenario.device.buffer.size = 0;
        let latency = run(&scenario).all().latency.clone();
        let cells =
            reads * scenario.device.timing.read[0].0 as f64 + scenario.device.timing.program[0].0 as f64;
        assert!((cells..cells * 1.5).contains(&latency.bare_ns), "{layout:?}: {latency:?}");
        assert!(latency.bare_ns <= latency.mean_ns * (1.0 + 1e-9), "{layout:?}: {latency:?}");
    }
}

#[test]
fn parity_without_a_journal_is_noted() {
    let mut scenario = array(LayoutKind::Raid5);
    let noted = |scenario: &Scenario| run(scenario).notes.iter().any(|note| note.contains("journal_always"));
    assert!(noted(&scenario));
    scenario.array.raid.journal_always = true;
    assert!(!noted(&scenario));
}

#[test]
fn amplification_of_an_array_counts_all_that_its_drives_programmed() {
    let of = |layout| {
        let mut scenario = array(layout);
        (scenario.device.buffer.size, scenario.workload.depth) = (0, 8);
        scenario.precondition.state = PreparedState::Empty;
        // The last request is a flush: a cache holds nothing back.
        (scenario.workload.flush_every, scenario.run.requests) = (99, 3000);
        run(&scenario).array.expect("it is one").write_amplification.expect("it was written")
    };
    let (striped, mirrored, parity) = (of(LayoutKind::Raid0), of(LayoutKind::Epochs), of(LayoutKind::Raid5));
    assert!((1.0..1.4).contains(&striped), "{striped}");
    assert!((1.8..2.8).contains(&mirrored), "{mirrored}");
    assert!((1.9..2.8).contains(&parity), "{parity}");
}

#[test]
fn a_flush_of_epochs_waits_for_an_epoch() {
    let mut scenario = array(LayoutKind::Epochs);
    (scenario.workload.flush_every, scenario.run.requests) = (4, 400);
    let report = run(&scenario);
    let flushes = kind(&report, "flush");
    assert!(share(flushes, "epoch") > 0.9, "{:?}", flushes.waits);
}

#[test]
fn a_full_buffer_names_the_collection_that_its_programs_waited_for() {
    let mut scenario = small();
    scenario.device.buffer.size = 64 << 10;
    scenario.workload = SyntheticConfig { read: 0, pace: PaceKind::Closed, depth: 32, ..scenario.workload };
    scenario.run.requests = 3000;
    let of = |scenario: &Scenario| {
        let report = run(scenario);
        let writes = kind(&report, "write");
        (share(writes, "buffer full"), share(writes, "buffer full: gc"))
    };
    let (programs, collection) = of(&scenario);
    assert!(programs > 0.2 && collection > 0.2 && programs + collection > 0.9, "{programs} {collection}");
    // Nothing has to be collected.
    (scenario.precondition.state, scenario.run.requests) = (PreparedState::Empty, 1000);
    let (programs, collection) = of(&scenario);
    assert!(programs > 0.9 && collection == 0.0, "{programs} {collection}");
}

#[test]
fn a_full_buffer_blames_collection_for_what_it_costs() {
    let mut scenario = small();
    scenario.workload = SyntheticConfig { read: 0, pace: PaceKind::Closed, depth: 32, ..scenario.workload };
    (scenario.run.requests, scenario.run.ramp) = (20_000, Nanos::millis(100));
    let of = |scenario: &Scenario| {
        let report = run(scenario);
        let writes = kind(&report, "write");
        let gc = writes.waits.iter().find(|wait| wait.cause == "buffer full: gc");
        (writes.latency.mean_ns, gc.map_or(0.0, |wait| wait.mean_ns))
    };
    for buffer in [64 << 10, 256 << 10] {
        scenario.device.buffer.size = buffer;
        scenario.device.gc.ideal = false;
        let (with, blamed) = of(&scenario);
        // Collection that takes no time.
        scenario.device.gc.ideal = true;
        let (without, none) = of(&scenario);
        let caused = with - without;
        assert!(none < 0.02 * without, "{none} of {without}");
        assert!((0.5..1.5).contains(&(blamed / caused)), "{buffer}: {blamed} of {caused}");
    }
}

#[test]
fn a_closed_loop_of_requests_that_take_no_time_ends_with_an_error() {
    let mut scenario = array(LayoutKind::LogRaid5);
    scenario.array.log.segment = 64 << 10;
    (scenario.workload.read, scenario.run.requests) = (1_000_000, 0);
    scenario.run.duration = Nanos::millis(10);
    scenario.precondition.fill = 0;
    let mut world = scenario.array_world(|| (), false).expect("a good scenario");
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let Err(failed) = run_to_end(&mut world, scenario.horizon(), watch) else { panic!("no time passes") };
    assert!(failed.to_string().contains("precondition.fill"), "{failed}");
}

#[test]
fn no_more_requests_are_due_than_there_are() {
    let mut scenario = small();
    scenario.run = Limits { duration: Nanos::millis(20), ..Limits::NONE };
    scenario.workload = SyntheticConfig {
        read: 1_000_000,
        pace: PaceKind::Open,
        rate: 400_000,
        requests: 5000,
        ..scenario.workload
    };
    let overload = run(&scenario).overload.expect("twenty times what four chips can do");
    assert!(overload.issued < 5000 && overload.due == 5000, "{overload:?}");
}

#[test]
fn the_waits_of_few_slow_requests_are_their_own() {
    let mut scenario = small();
    scenario.workload = SyntheticConfig { pace: PaceKind::Open, rate: 20_000, ..scenario.workload };
    scenario.run.requests = 3000;
    let mut world = scenario.world((), false).expect("a good scenario");
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let ends = run_to_end(&mut world, scenario.horizon(), watch).expect("the drive makes progress");
    let report = Report::new(&scenario, &world, &ends.figures(), false);
    let tail = &report.all().slowest[0];
    assert_eq!(tail.requests, 30);
    let slowest = world.stats.slowest();
    for wait in &tail.waits {
        let own = slowest.iter().take(30).map(|slow| {
            let cause = Cause::ALL.into_iter().find(|cause| cause.label() == wait.cause).expect("a cause");
            slow.spans.of(cause).0 as f64
        });
        let mean = own.sum::<f64>() / 30.0;
        assert!((wait.mean_ns - mean).abs() < 1e-6 * mean, "{wait:?}: {mean}");
    }
}

/// A tail that has more requests than are kept of one kind, and fewer than are kept of all.
#[test]
fn the_waits_of_a_tail_sum_up_to_its_latencies() {
    let mut scenario = small();
    scenario.run = Limits { requests: 104_000, ..Limits::NONE };
    // Writes into the buffer take 1 µs, and the slowest requests are reads that wait for their programs.
    scenario.workload =
        SyntheticConfig { read: 700_000, pace: PaceKind::Open, rate: 5000, ..scenario.workload };
    let mut world = scenario.world((), false).expect("a good scenario");
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let ends = run_to_end(&mut world, scenario.horizon(), watch).expect("the drive makes progress");
    let report = Report::new(&scenario, &world, &ends.figures(), false);
    let tail = &report.all().slowest[0];
    assert!((1001..2000).contains(&tail.requests), "{}", tail.requests);
    let sum = world.stats.all().latency.sum_of_highest(tail.requests);
    let waits: f64 = tail.waits.iter().map(|wait| wait.mean_ns).sum();
    let ratio = waits * tail.requests as f64 / sum as f64;
    assert!((ratio - 1.0).abs() < 0.002, "{ratio}: {tail:?}");
}
