//! One request on an otherwise idle core, for each strategy, computed by hand.
//!
//! The drive is empty, so that it returns 4 KiB of zeros over a link of 3938 MB/s: 1041 ns after submission.

use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{Cause, Command, CommandId, Completion, Device, Nanos, Op, Submit, Time};
use tailcut_sim::Scenario;
use tailcut_sim::cpu::Spent;
use tailcut_sim::cpu::costs::*;
use tailcut_sim::measured::{Measured, Run, measure};
use tailcut_sim::path::{ControllerKind, HostConfig, SimulatedHost};
use tailcut_sim::world::{Checker, Limits};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset, Service, Ssd};
use tailcut_workload::SyntheticConfig;
use tailcut_workload::address_config::Distribution;

const DEVICE: u64 = 1041;

/// From submission to completion of a thread's first request.
fn first_request(strategy: &str, controller: ControllerKind, op: Op) -> Completion {
    let config = HostConfig {
        strategy: strategy.into(),
        cores: 1,
        siblings: false,
        threads: 1,
        controller,
        ..HostConfig::default()
    };
    let drive = Ssd::new(&Preset::G.config(), 1, false);
    let mut host: SimulatedHost =
        SimulatedHost::new(&config, vec![drive], vec![Checker::off()], Nanos::ZERO, 1);
    let command = Command {
        id: CommandId(0),
        op,
        fua: false,
        class: Default::default(),
        fail_fast: false,
        stream: 0,
        queue: 0,
        sector: 0,
        sectors: 8,
        content: 1,
    };
    assert_eq!(host.submit(Time::ZERO, &command), Submit::Accepted);
    let mut completions = Vec::new();
    while completions.is_empty() {
        let next = host.next_event();
        assert_ne!(next, Time::NEVER, "{strategy}: the request is stuck");
        host.advance(next, &mut completions);
    }
    assert_eq!(completions[0].spans.total(), Nanos(completions[0].at.0));
    completions[0]
}

/// Until the thread is in its system call: it wakes on an idle core with cold caches.
fn woken() -> u64 {
    (IDLE_EXIT + SWITCH + REFILL).0 + 500
}

fn direct_issue() -> u64 {
    (ENTER + BUILD_DIRECT + ISSUE).0
}

/// An interrupt on an idle core.
fn interrupted() -> u64 {
    (HARD_ENTRY + IDLE_EXIT).0
}

#[track_caller]
fn takes(strategy: &str, expected: u64) {
    let completion = first_request(strategy, ControllerKind::Nvme, Op::Read);
    assert_eq!(
        completion.at,
        Time(expected),
        "{strategy}: {:?}",
        completion.spans.iter().collect::<Vec<_>>()
    );
}

#[test]
fn nonblocking_post_processes_in_the_interrupt() {
    let end = (FETCH_DIRECT + FINISH_DIRECT + WAKE + SWITCH + RETURN).0;
    takes("nonblocking", woken() + direct_issue() + DEVICE + interrupted() + end);
    assert_eq!(woken() + direct_issue() + DEVICE + interrupted() + end, 16_441);
}

#[test]
fn ahci_is_acknowledged_first() {
    let nvme = first_request("nonblocking", ControllerKind::Nvme, Op::Read);
    let ahci = first_request("nonblocking", ControllerKind::Ahci, Op::Read);
    assert_eq!(ahci.at.since(nvme.at), ACKNOWLEDGE);
}

#[test]
fn lazy_moves_post_processing_and_costs_a_lone_request_nothing() {
    takes("lazy", 16_441);
}

#[test]
fn scsi_goes_through_a_software_interrupt() {
    let issue = (ENTER + BUILD_SCSI + ISSUE).0;
    let end = (FETCH_SCSI + SOFT_ENTRY + FINISH_SCSI + WAKE + SWITCH + RETURN).0;
    takes("scsi", woken() + issue + DEVICE + interrupted() + end);
}

#[test]
fn nvme_goes_through_a_thread() {
    let thread = (WAKE + SWITCH + REFILL + FETCH_DIRECT + FINISH_DIRECT + WAKE).0;
    let end = (SWITCH + REFILL + RETURN).0;
    takes("nvme", woken() + direct_issue() + DEVICE + interrupted() + thread + end);
}

#[test]
fn a_cooperating_thread_looks_on_its_way_out() {
    takes("coop", 16_441 + CHECK.0);
}

#[test]
fn a_spinning_thread_meets_no_interrupt_and_no_switch() {
    takes("spin", woken() + direct_issue() + DEVICE + (FETCH_DIRECT + FINISH_DIRECT + RETURN).0);
}

#[test]
fn a_polled_request_waits_for_the_next_look() {
    // The poll thread runs first, polls, and sets its timer; then the request's thread gets the core.
    let look = (IDLE_EXIT + SWITCH + REFILL + CHECK).0;
    let next = look + 16_000 + interrupted() + (WAKE + SWITCH + REFILL + CHECK).0;
    let end = (FETCH_DIRECT + WAKE + SWITCH + REFILL + FINISH_DIRECT + RETURN).0;
    takes("poll", next + end);
    let polled = first_request("poll", ControllerKind::Nvme, Op::Read);
    let visible = look + (SWITCH + REFILL).0 + 500 + direct_issue() + DEVICE;
    let fetched = next + (FETCH_DIRECT + WAKE).0;
    assert_eq!(polled.spans.of(Cause::Poll), Nanos(fetched - visible));
}

#[test]
fn a_write_that_hits_the_buffer_is_waited_for_by_spinning() {
    let sleeping = first_request("nonblocking", ControllerKind::Nvme, Op::Write);
    let spinning = first_request("nonblocking+buffer-spin", ControllerKind::Nvme, Op::Write);
    let saved = HARD_ENTRY + IDLE_EXIT + WAKE + SWITCH;
    assert_eq!(sleeping.at.since(spinning.at), saved);
}

#[test]
fn a_read_that_needs_no_chip_is_waited_for_by_spinning() {
    takes(
        "nonblocking+hit-spin",
        woken() + direct_issue() + DEVICE + (FETCH_DIRECT + FINISH_DIRECT + RETURN).0,
    );
}

/// The latency of a read in a thread that reads one page after the other, in steady state.
fn steady(strategy: &str, window: Nanos) -> Nanos {
    let sum = |requests| reads(strategy, window, requests).sum() as u64;
    Nanos((sum(30) - sum(20)) / 10)
}

fn reads(strategy: &str, window: Nanos, requests: u64) -> LatencyHistogram {
    measured(strategy, window, requests, |_| {}).reads
}

fn measured(strategy: &str, window: Nanos, requests: u64, change: impl Fn(&mut Scenario)) -> Measured {
    let mut device = Preset::G.config();
    device.timing.read = vec![Nanos::micros(80)];
    let mut scenario = Scenario {
        device,
        precondition: Precondition { state: PreparedState::Sequential, fill: 1_000_000 },
        run: Limits { requests, ..Limits::NONE },
        workload: SyntheticConfig { read: 1_000_000, depth: 1, ..SyntheticConfig::default() },
        host: HostConfig {
            strategy: strategy.into(),
            cores: 1,
            siblings: false,
            threads: 1,
            window,
            ..HostConfig::default()
        },
        ..Scenario::default()
    };
    change(&mut scenario);
    measure(&Run { label: strategy.into(), scenario }, &|| false).expect("it runs")
}

#[test]
fn an_announced_end_hides_the_way_to_the_thread_as_far_as_the_window_reaches() {
    let slept = steady("nonblocking", Nanos::ZERO);
    let hidden = HARD_ENTRY + IDLE_EXIT + FETCH_DIRECT + WAKE + SWITCH;
    // The thread fetches its completion itself, after being notified in advance.
    let whole = steady("precomplete", hidden);
    assert_eq!(slept - whole, hidden - FETCH_DIRECT);
    assert_eq!(steady("precomplete", hidden + Nanos::micros(9)), whole, "a larger window gains nothing");
    assert_eq!(steady("precomplete", hidden - Nanos(700)), whole + Nanos(700), "a smaller one hides less");
}

/// The firmware takes 900 ns to detect it.
fn slow_to_know(scenario: &mut Scenario) {
    scenario.device.queue.firmware = Nanos(900);
}

#[test]
fn a_read_that_needs_a_chip_is_spun_for_until_the_drive_has_said_so() {
    let spun = |strategy| {
        let measured = measured(strategy, Nanos::ZERO, 50, slow_to_know);
        let host = measured.host.as_ref().expect("there is a host");
        assert_eq!(host.read_hits, 0);
        (measured.reads.sum(), host.time.of(Spent::Spin))
    };
    let (slept, listened) = (spun("nonblocking"), spun("nonblocking+hit-spin"));
    assert_eq!(slept.0, listened.0, "meanwhile nothing could have been done for the read");
    assert_eq!((slept.1, listened.1), (Nanos::ZERO, Nanos(900) * 50));
}

/// A sequential reader of a drive with read-ahead: the savings from spinning for hits.
#[test]
fn a_sequential_reader_does_not_sleep() {
    let sequential = |scenario: &mut Scenario| {
        slow_to_know(scenario);
        scenario.workload.addresses.distribution = Distribution::Sequential;
        scenario.device.cache.size = 1 << 20;
        scenario.device.cache.ahead = 32;
        // The chips read ahead faster than one thread reads.
        scenario.device.timing.read = vec![Nanos::micros(10)];
    };
    let mean = |strategy| {
        let measured = measured(strategy, Nanos::micros(8), 400, sequential);
        let hits = measured.report.drive.cache.expect("there is a cache").hits;
        assert!(hits > 390, "{hits} hits");
        measured.reads.mean()
    };
    let saved = (HARD_ENTRY + IDLE_EXIT + WAKE + SWITCH).0 as f64;
    let difference = mean("nonblocking") - mean("nonblocking+hit-spin");
    assert!((difference - saved).abs() < saved / 10.0, "{difference} of {saved}");
}

/// One-page writes by eight threads into a two-page buffer, on one chip.
fn writes(strategy: &str) -> Measured {
    measured(strategy, Nanos::micros(16), 2000, |scenario| {
        let g = &mut scenario.device.geometry;
        (g.channels, g.chips, g.dies, g.planes) = (1, 1, 1, 1);
        scenario.device.buffer.size = 2 * scenario.device.geometry.page_bytes;
        scenario.device.timing.program = vec![Nanos::micros(200)];
        scenario.workload.read = 0;
        (scenario.workload.depth, scenario.host.threads, scenario.host.cores) = (8, 8, 4);
        scenario.run.ramp = Nanos::ZERO;
        scenario.precondition.state = PreparedState::Empty;
        scenario.run.requests = 300;
    })
}

#[test]
fn nobody_spins_for_a_write_that_meets_a_full_buffer() {
    for (strategy, least) in [("spin", 4), ("nonblocking+buffer-spin", 0)] {
        let spun = |strategy: &str| {
            let host = writes(strategy).host.expect("there is a host");
            (host.time.of(Spent::Spin).0 as f64 / host.elapsed.0 as f64, host)
        };
        let (before, _) = spun(strategy);
        let (after, host) = spun(&format!("{strategy}+room-notice"));
        assert!(before >= f64::from(least) * 0.9, "{strategy}: {before} cores");
        assert!(after < 0.35, "{strategy}: {after} cores");
        assert!(strategy != "spin" || host.full_buffers > 250);
        let room = host.predictions.expect("it listens")[Service::Room as usize];
        assert!(room.count > 200 && room.error < 25_000.0, "{strategy}: {room:?}");
    }
}
