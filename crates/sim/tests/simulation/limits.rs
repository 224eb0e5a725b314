//! No share of a limit in a report exceeds 100 %, whatever the drive, the load and the length of the run.

use proptest::prelude::*;
use std::ops::ControlFlow;
use tailcut_base::Nanos;
use tailcut_base::config::Choice;
use tailcut_host::array::LayoutKind;
use tailcut_sim::ending::run_to_end;
use tailcut_sim::report::Report;
use tailcut_sim::scenario::Scenario;
use tailcut_sim::storage::Storage;
use tailcut_sim::world::{Limits, World};
use tailcut_ssd::Preset;
use tailcut_ssd::config::{ChipPolicy, Handling, SsdConfig};
use tailcut_ssd::flash::geometry::{Geometry, ReadyBusy};
use tailcut_ssd::flash::timing::CellKind;
use tailcut_ssd::precondition::{Precondition, PreparedState};
use tailcut_workload::SyntheticConfig;
use tailcut_workload::config::{ArrivalKind, PaceKind};

pub(super) fn report_of<S: Storage>(scenario: &Scenario, mut world: World<S>) -> Report {
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let ends = run_to_end(&mut world, scenario.horizon(), watch).expect("the drive makes progress");
    Report::new(scenario, &world, &ends.figures(), false)
}

pub(super) fn run(scenario: &Scenario) -> Report {
    match scenario.array.drives {
        0 => report_of(scenario, scenario.world((), false).expect("a good scenario")),
        _ => report_of(scenario, scenario.array_world(|| (), false).expect("a good scenario")),
    }
}

/// Every share of a limit in a report, with its name.
fn shares(report: &Report) -> Vec<(String, f64)> {
    let d = &report.drive;
    let mut shares: Vec<(String, f64)> = report.resources.iter().map(|r| (r.name.clone(), r.busy)).collect();
    shares.extend(
        [
            ("chips in use", d.chip_utilisation),
            ("dies in use", d.die_utilisation),
            ("dies at least", d.die_least),
            ("planes in use", d.plane_utilisation),
            ("buses in use", d.bus_utilisation),
            ("link to the host in use", d.link_utilisation[0]),
            ("link to the drive in use", d.link_utilisation[1]),
            ("queue stall", report.queue_stall()),
        ]
        .map(|(name, share)| (name.to_string(), share)),
    );
    let members = report.array.iter().flat_map(|array| &array.members);
    shares.extend(members.map(|member| (String::from("chips of a member"), member.chip_utilisation)));
    shares
}

/// The names of the limits that a run exceeds, with their shares.
fn passed(report: &Report) -> Vec<(String, f64)> {
    let mut passed = shares(report);
    passed.retain(|(_, share)| !(0.0..=1.0 + 1e-9).contains(share));
    let d = &report.drive;
    for (name, least, used) in [
        ("dies", d.die_least, d.die_utilisation),
        ("idle chips", d.inter_chip_idleness_least, d.inter_chip_idleness),
        ("idle places", d.intra_chip_idleness_least, d.intra_chip_idleness),
    ] {
        if least > used + 1e-9 {
            passed.push((format!("{name}: at least {least}, but measured"), used));
        }
    }
    let life = &d.lifetime;
    let written = life.bytes_written.unwrap_or(0.0);
    if written > life.bytes_written_most * (1.0 + 1e-9) {
        passed.push((String::from("writes of a lifetime"), written / life.bytes_written_most));
    }
    passed
}

/// A small drive, with the built-in workload scaled to it.
pub(super) fn small() -> Scenario {
    let base = Preset::G.config();
    let geometry = Geometry { channels: 2, chips: 2, blocks: 40, pages: 16, ..base.geometry };
    let mut device = SsdConfig { geometry, ..base };
    (device.ftl.spare, device.gc.low, device.gc.high) = (400_000, 3, 4);
    Scenario {
        device,
        precondition: Precondition { state: PreparedState::Steady, fill: 800_000 },
        run: Limits { requests: 1000, ..Limits::NONE },
        workload: SyntheticConfig { region_share: 800_000, ..SyntheticConfig::default() },
        ..Scenario::default()
    }
}

#[test]
fn a_drive_is_no_faster_than_bare_whatever_the_sizes_of_requests() {
    // One channel with a slow bus: a request of the mean size has two pages, and half of them have one.
    let mut scenario = small();
    (scenario.device.geometry.channels, scenario.device.timing.bus) = (1, 40_000_000);
    (scenario.workload.depth, scenario.workload.read) = (1, 1_000_000);
    for (read_size, share) in [("4KiB/50:8KiB/50", 1.0), ("4KiB/90:36KiB/10", 0.9)] {
        scenario.workload.read_size = read_size.into();
        let report = run(&scenario);
        let latency = &report.all().latency;
        assert!(latency.bare_ns <= latency.mean_ns * (1.0 + 1e-9), "{read_size}: {latency:?}");
        assert!(latency.bare_ns > latency.mean_ns * share * 0.8, "{read_size}: {latency:?}");
        assert_eq!(report.notes, [""; 0]);
    }
}

#[test]
fn reads_of_what_was_never_written_are_said_to_be_none_from_flash() {
    let mut scenario = small();
    (scenario.workload.depth, scenario.workload.read) = (1, 1_000_000);
    scenario.precondition.state = PreparedState::Empty;
    let report = run(&scenario);
    let latency = &report.all().latency;
    assert!(latency.mean_ns < latency.bare_ns && report.notes.len() == 2, "{:?}", report.notes);
    assert!(report.notes[0].contains("never written"), "{:?}", report.notes);
}

#[test]
fn reads_from_the_buffer_do_not_pass_the_limit_of_the_queue() {
    // Half of the requests read what the other half has just written.
    let mut scenario = small();
    scenario.device.buffer.flush_above = 900_000;
    scenario.workload = SyntheticConfig {
        read: 500_000,
        depth: 1,
        region_share: 0,
        region_size: 64 << 10,
        ..scenario.workload
    };
    let report = run(&scenario);
    assert!(report.drive.buffer.read_hits > 300, "{:?}", report.drive.buffer);
    assert_eq!(passed(&report), []);
    let queue = report.resources.iter().find(|r| r.name == "queue").expect("a closed loop");
    assert!(queue.busy > 0.5, "a closed loop of one waits for nobody else: {queue:?}");
}

#[test]
fn reads_of_pages_that_were_never_written_do_not_pass_the_limit_of_the_queue() {
    let mut scenario = small();
    scenario.precondition.state = PreparedState::Empty;
    scenario.workload = SyntheticConfig { read: 1_000_000, depth: 4, ..scenario.workload };
    assert_eq!(passed(&run(&scenario)), []);
}

/// The load of a chip with more requests than it can serve.
struct Saturation {
    read_ppm: u32,
    requests: u64,
    seed: u64,
}

/// One chip with one plane, and more requests than it can serve.
fn saturated(load: &Saturation) -> Report {
    let mut scenario = small();
    let d = &mut scenario.device;
    (d.geometry.channels, d.geometry.chips, d.geometry.planes) = (1, 1, 1);
    d.buffer.size = 64 << 10;
    d.timing.read = vec![Nanos::micros(30), Nanos::micros(120)];
    (scenario.seed, scenario.run.requests) = (load.seed, load.requests);
    scenario.run.ramp = Nanos::millis(5);
    scenario.workload = SyntheticConfig { read: load.read_ppm, depth: 64, ..scenario.workload };
    run(&scenario)
}

#[test]
fn pages_that_are_quicker_than_the_mean_page_do_not_pass_the_limit_of_the_chips() {
    for seed in 1..=8 {
        assert_eq!(
            passed(&saturated(&Saturation { read_ppm: 1_000_000, requests: 200, seed })),
            [],
            "seed {seed}"
        );
    }
}

#[test]
fn programs_and_erases_under_way_at_the_end_do_not_pass_the_limit_of_the_chips() {
    for seed in 1..=8 {
        let report = saturated(&Saturation { read_ppm: 0, requests: 300, seed });
        assert!(report.drive.erases > 0, "{:?}", report.drive.programs);
        assert_eq!(passed(&report), [], "seed {seed}");
    }
}

#[test]
fn a_write_under_way_at_the_end_does_not_lengthen_a_life() {
    // Its data has crossed the link in part, and none of it is in the buffer yet.
    let mut scenario = small();
    let d = &mut scenario.device;
    (d.geometry.channels, d.geometry.chips, d.geometry.planes) = (1, 1, 1);
    d.timing.cell = CellKind::Slc;
    (d.timing.read, d.timing.program) = (vec![Nanos::micros(30)], vec![Nanos::micros(250)]);
    d.buffer.size = 256 << 10;
    (scenario.workload.depth, scenario.workload.read) = (1, 300_000);
    scenario.workload.write_size = "64KiB".into();
    for requests in 345..360 {
        scenario.run.requests = requests;
        assert_eq!(passed(&run(&scenario)), [], "{requests} requests");
    }
}

#[test]
fn each_drive_of_an_array_has_limits_of_its_own() {
    let mut scenario = small();
    scenario.array.drives = 2;
    scenario.array.layout = LayoutKind::Raid0;
    let report = run(&scenario);
    let drive = &report.drive;
    let busy = |name: &str| drive.resources.iter().find(|r| r.name == name).map_or(0.0, |r| r.busy);
    for (name, used) in [
        ("chips", drive.chip_utilisation),
        ("buses", drive.bus_utilisation),
        ("link to host", drive.link_utilisation[0]),
        ("link to drive", drive.link_utilisation[1]),
    ] {
        let least = busy(name);
        assert!(0.0 < least && least <= used + 1e-9, "{name}: at least {least}, but measured {used}");
    }
}

#[test]
fn writes_that_an_array_acknowledges_in_memory_need_no_time() {
    let mut scenario = small();
    (scenario.array.drives, scenario.array.groups) = (2, 2);
    scenario.array.layout = LayoutKind::Epochs;
    let report = run(&scenario);
    let kind = |name: &str| report.kinds.iter().find(|kind| kind.kind == name).expect("it occurred");
    assert_eq!((kind("write").latency.bare_ns, kind("write").latency.mean_ns), (0.0, 0.0));
    assert!(kind("read").latency.bare_ns > 75_000.0);
}

#[test]
fn overload_shows_what_was_sustained_and_asks_for_less() {
    let mut scenario = small();
    scenario.run =
        Limits { duration: Nanos::millis(300), ramp: Nanos::millis(200), requests: 0, ..Limits::NONE };
    scenario.workload =
        SyntheticConfig { read: 1_000_000, pace: PaceKind::Open, rate: 400_000, ..scenario.workload };
    let report = run(&scenario);
    let overload = report.overload.expect("twenty times what four chips can do");
    // Two planes of four chips read one page at a time, 75 us each.
    assert!((20_000.0..110_000.0).contains(&overload.sustained_per_s), "{overload:?}");
    for resource in &report.resources {
        assert!(resource.requests_per_s >= overload.sustained_per_s, "{resource:?}, {overload:?}");
    }
    assert_eq!(report.all().requests, 0, "those that were due before the measurement are not done");
    let why = report.unmeasured().expect("it has no figures");
    assert!(why.contains("lower the rate") && !why.contains("run longer"), "{why}");
}

#[derive(Clone, Debug)]
struct Drawn {
    seed: u64,
    shape: (u32, u32, u32, u32),
    flags: [bool; 8],
    cell: usize,
    jitter: u64,
    preempt: (usize, usize, u32),
    prepared: usize,
    load: (u32, u32, u32, usize),
    pace: (bool, usize, u64),
    region: u64,
    run: (u64, u64),
    array: bool,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let shape = (1..=2u32, 1..=3u32, 1..=2u32, 1..=4u32);
    let load = (0..=10u32, 0..=3u32, prop::sample::select(vec![1u32, 2, 8, 64, 500]), 0..5usize);
    let pace = (any::<bool>(), 0..3usize, prop::sample::select(vec![500u64, 20_000, 400_000]));
    let region = prop::sample::select(vec![0u64, 64 << 10, 1 << 20]);
    let run = (20..=1500u64, prop::sample::select(vec![0u64, 300, 5000]));
    (
        (0..1000u64, shape, any::<[bool; 8]>(), 0..4usize, 0..=20u64),
        ((0..3usize, 0..3usize, 1..=3u32), 0..3usize, load, pace, region, run, prop::bool::weighted(0.2)),
    )
        .prop_map(
            |((seed, shape, flags, cell, jitter), (preempt, prepared, load, pace, region, run, array))| {
                Drawn { seed, shape, flags, cell, jitter, preempt, prepared, load, pace, region, run, array }
            },
        )
}

impl Drawn {
    fn scenario(&self) -> Scenario {
        let mut scenario = Scenario { seed: self.seed, ..small() };
        let [sharing, interleaving, line, half_duplex, buffer, reads_first, cache, firmware] = self.flags;
        let d = &mut scenario.device;
        (d.geometry.channels, d.geometry.chips, d.geometry.dies, d.geometry.planes) = self.shape;
        d.geometry.ready_busy = if line { ReadyBusy::Chip } else { ReadyBusy::Die };
        (d.schedule.plane_sharing, d.schedule.die_interleaving) = (sharing, interleaving);
        d.timing.cell = CellKind::all()[self.cell];
        let each =
            |first: u64| (0..=self.cell as u64).map(|page| Nanos::micros(first * (page + 1))).collect();
        (d.timing.read, d.timing.program) = (each(30), each(250));
        d.timing.read_jitter = Nanos::micros(self.jitter);
        d.link.half_duplex = half_duplex;
        d.buffer.size = if buffer { 256 << 10 } else { 0 };
        d.cache.size = if cache { 128 << 10 } else { 0 };
        d.queue.firmware = if firmware { Nanos::micros(8) } else { Nanos::ZERO };
        let (program, erase, class) = self.preempt;
        if reads_first {
            d.schedule.chip = ChipPolicy::ReadsFirst;
            (d.preempt.program, d.preempt.erase) = (Handling::all()[program], Handling::all()[erase]);
        }
        scenario.precondition.state = PreparedState::all()[self.prepared];
        let (read, trim, depth, size) = self.load;
        let sizes = ["4KiB", "512", "64KiB", "4KiB/60:64KiB/40", "512/50:16KiB/50"][size];
        let (open, arrivals, rate) = self.pace;
        let trim = (trim * 50_000).min(1_000_000 - read * 100_000);
        scenario.workload = SyntheticConfig {
            read: read * 100_000,
            trim,
            read_size: sizes.into(),
            write_size: sizes.into(),
            read_class: class,
            region_size: self.region,
            depth,
            pace: if open { PaceKind::Open } else { PaceKind::Closed },
            arrivals: ArrivalKind::all()[arrivals],
            rate,
            burst_requests: 40,
            idle: Nanos::millis(3),
            flush_every: if self.seed.is_multiple_of(3) { 20 } else { 0 },
            ..scenario.workload
        };
        let (requests, ramp) = self.run;
        scenario.run = Limits { requests, ramp: Nanos::micros(ramp), ..Limits::NONE };
        if self.array {
            scenario.array.drives = 2;
            scenario.array.layout = LayoutKind::Raid0;
        }
        scenario
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_run_passes_a_limit(drawn in drawn()) {
        let scenario = drawn.scenario();
        prop_assume!(scenario.device.check_space().is_ok() && scenario.device.check_preemption().is_ok());
        prop_assume!(scenario.check().is_ok());
        let report = run(&scenario);
        prop_assert_eq!(passed(&report), []);
    }
}
