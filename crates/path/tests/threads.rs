//! Waiting strategies executed by real threads: every request completes exactly once, whatever the strategy
//! and however few the tags.
//!
//! Nothing depends on timing. The device sleeps when it is idle, so the tests run on one core as well.

use tailcut_base::Nanos;
use tailcut_host::path::Strategy;
use tailcut_path::{FixedDrive, Harness, Length, Plan, Poller, Rest, Submitters};
use tailcut_rt::{Drive, EmulatedSsd, MemoryDrive, placement};
use tailcut_ssd::{Preset, Ssd};

const REQUESTS: u64 = 60;

fn harness(strategy: &str, poller: Poller) -> Harness {
    let strategy = Strategy::parse(strategy).expect("it is a strategy");
    let cores = placement::cores();
    Harness {
        plan: Plan::of(&strategy, poller).expect("it can be carried out"),
        submitters: Submitters::Threads(6),
        cores: vec![cores[0]],
        device_core: *cores.last().expect("there is one"),
        rest: Rest::Sleep(Nanos::ZERO),
        depth: 4,
        window: Nanos::ZERO,
        is_real_time: false,
    }
}

fn ends<D: Drive + Send>(harness: &Harness, drive: D) {
    let requests = match harness.submitters {
        Submitters::Threads(threads) => REQUESTS * u64::from(threads),
        Submitters::Reaper(depth) => REQUESTS * u64::from(depth),
    };
    let (outcome, _) = harness.run(drive, Length::Requests(REQUESTS));
    assert_eq!(outcome.latency.count(), requests, "{harness:?}");
}

fn device() -> FixedDrive {
    FixedDrive::new(Nanos::micros(5), 16)
}

#[test]
fn every_strategy_ends_every_request() {
    let timer = Poller::Timer(Nanos::micros(50));
    for strategy in ["nvme", "nonblocking", "lazy", "coop"] {
        ends(&harness(strategy, timer), device());
    }
    for strategy in ["poll", "coop-poll"] {
        ends(&harness(strategy, timer), device());
        ends(&harness(strategy, Poller::Idle), device());
    }
}

#[test]
fn threads_are_told_that_their_end_is_near() {
    for strategy in ["lazy+precomplete", "coop+precomplete", "coop-poll+precomplete"] {
        let harness = Harness { window: Nanos::micros(2), ..harness(strategy, Poller::Idle) };
        ends(&harness, device());
    }
}

#[test]
fn who_spins_needs_nobody() {
    ends(&Harness { submitters: Submitters::Threads(1), ..harness("spin", Poller::Idle) }, device());
}

#[test]
fn one_tag_serves_many() {
    for strategy in ["nvme", "coop", "coop-poll"] {
        ends(&Harness { depth: 1, ..harness(strategy, Poller::Idle) }, device());
    }
}

#[test]
fn a_drive_that_takes_less_than_the_lanes_serves_all() {
    let cores = placement::cores();
    let queues = vec![cores[0], *cores.last().expect("there is one")];
    for strategy in ["nvme", "coop"] {
        ends(
            &Harness { cores: queues.clone(), ..harness(strategy, Poller::Idle) },
            FixedDrive::new(Nanos(500), 3),
        );
    }
}

#[test]
fn any_drive_can_be_behind_it() {
    ends(&harness("coop", Poller::Idle), MemoryDrive::new(1 << 10, 8));
}

#[test]
fn an_emulated_ssd_can_be_behind_it() {
    for strategy in ["nvme", "coop-poll"] {
        let ssd = Ssd::new(&Preset::M.config(), 1, false);
        ends(&harness(strategy, Poller::Idle), EmulatedSsd::inline(ssd));
    }
}

#[test]
fn a_reaper_keeps_many_in_flight() {
    ends(
        &Harness { submitters: Submitters::Reaper(32), depth: 16, ..harness("spin", Poller::Idle) },
        device(),
    );
}

#[test]
fn the_device_wakes_nobody_where_nobody_wants_to_be() {
    let (outcome, _) = harness("coop-poll", Poller::Idle).run(device(), Length::Requests(REQUESTS));
    assert_eq!(outcome.wakes, 0);
}
