//! One request on an otherwise idle core, strategy by strategy, computed by hand.
//!
//! The drive is empty, so that it answers with 4 KiB of nothing over a link of 3938 MB/s: 1041 ns after it was asked.

use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{Cause, Command, CommandId, Completion, Device, Nanos, Op, Submit, Time};
use tailcut_sim::Scenario;
use tailcut_sim::cpu::costs::*;
use tailcut_sim::path::{ControllerKind, HostConfig, SimulatedHost};
use tailcut_sim::study::{Run, measure};
use tailcut_sim::workload::SyntheticConfig;
use tailcut_sim::world::{Checker, Limits};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset, Ssd};

const DEVICE: u64 = 1041;

/// From the submission to the completion of a thread's first request.
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

/// Until the thread is in its system call: it comes out of an idle core with cold caches.
fn woken() -> u64 {
    (IDLE_EXIT + SWITCH + REFILL).0 + 500
}

fn direct_issue() -> u64 {
    (ENTER + BUILD_DIRECT + ISSUE).0
}

/// An interrupt of an idle core.
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
    // The poll thread runs first, looks, and sets its timer; then the request's thread gets the core.
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

/// The latency of a read of one thread that reads one page after the other, once the drive has seen some.
fn steady(strategy: &str, window: Nanos) -> Nanos {
    let sum = |requests| reads(strategy, window, requests).sum() as u64;
    Nanos((sum(30) - sum(20)) / 10)
}

fn reads(strategy: &str, window: Nanos, requests: u64) -> LatencyHistogram {
    let mut device = Preset::G.config();
    device.timing.read = vec![Nanos::micros(80)];
    let scenario = Scenario {
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
    let measured = measure(&Run { label: strategy.into(), scenario }, &|| false).expect("it runs");
    measured.reads
}

#[test]
fn an_announced_end_hides_the_way_to_the_thread_as_far_as_the_window_reaches() {
    let slept = steady("nonblocking", Nanos::ZERO);
    let hidden = HARD_ENTRY + IDLE_EXIT + FETCH_DIRECT + WAKE + SWITCH;
    // The thread fetches its completion itself, after it has been told that it comes.
    let whole = steady("precomplete", hidden);
    assert_eq!(slept - whole, hidden - FETCH_DIRECT);
    assert_eq!(steady("precomplete", hidden + Nanos::micros(9)), whole, "a larger window gains nothing");
    assert_eq!(steady("precomplete", hidden - Nanos(700)), whole + Nanos(700), "a smaller one hides less");
}
