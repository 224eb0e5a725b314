//! No wake-up is lost: with random strategies, hosts and loads, every request completes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Op};
use tailcut_host::mutation::{Invariant, broken};
use tailcut_sim::Scenario;
use tailcut_sim::measured::{Measured, NotMeasured, Run, measure};
use tailcut_sim::path::{Background, ControllerKind, HostConfig};
use tailcut_sim::world::Limits;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset};
use tailcut_workload::SyntheticConfig;
use tailcut_workload::address_config::Distribution;

pub(super) const INTERRUPTED: [&str; 11] = [
    "scsi",
    "nvme",
    "nonblocking",
    "lazy",
    "coop",
    "precomplete",
    "coop+precomplete+buffer-spin",
    "nvme+precomplete",
    "lazy+buffer-spin",
    "hybrid",
    "hybrid+buffer-spin",
];
pub(super) const POLLED: [&str; 4] = ["poll", "coop-poll", "spin", "coop-poll+precomplete"];

pub(super) const HINTED: [&str; 9] = [
    "nonblocking+hit-spin",
    "lazy+hit-spin+precomplete",
    "coop+precomplete+buffer-spin+hit-spin+room-notice",
    "buffer-spin+room-notice",
    "scsi+hit-spin+buffer-spin+room-notice",
    "nvme+precomplete+room-notice",
    "coop-poll+hit-spin+buffer-spin+room-notice",
    "spin+room-notice",
    "spin+hit-spin+room-notice",
];

pub(super) fn pick<T: Copy>(random: &mut Stream, of: &[T]) -> T {
    of[random.below(of.len() as u64) as usize]
}

/// A host short of every resource: tags, cores, buffer space.
pub(super) fn scenario(seed: u64, strategies: &[&str]) -> Scenario {
    let mut random = Stream::new(seed, "host");
    let mut device = Preset::G.config();
    device.geometry.blocks = 64;
    device.queue.depth = pick(&mut random, &[1, 2, 4, 16, 32]);
    device.buffer.size = pick(&mut random, &[16 << 10, 1 << 20]);
    device.timing.read = vec![Nanos::micros(pick(&mut random, &[1, 10, 40, 100]))];
    device.timing.program = vec![Nanos::micros(150)];
    device.timing.erase = Nanos::micros(500);
    let threads = pick(&mut random, &[1, 2, 5, 24, 70]);
    let controller = pick(&mut random, &[ControllerKind::Ahci, ControllerKind::Nvme]);
    Scenario {
        seed,
        device,
        precondition: Precondition { state: PreparedState::Sequential, fill: 900_000 },
        run: Limits { requests: 600, ..Limits::NONE },
        workload: SyntheticConfig {
            read: pick(&mut random, &[1_000_000, 700_000, 100_000]),
            read_size: pick(&mut random, &["512B", "4KiB", "16KiB"]).into(),
            flush_every: pick(&mut random, &[0, 0, 9]),
            depth: threads,
            think: Nanos(pick(&mut random, &[0, 0, 700, 50_000])),
            ..SyntheticConfig::default()
        },
        host: HostConfig {
            strategy: pick(&mut random, strategies).into(),
            cores: pick(&mut random, &[1, 2, 4]),
            siblings: random.below(2) == 0,
            threads,
            controller,
            drives: if controller == ControllerKind::Ahci { pick(&mut random, &[1, 1, 3]) } else { 1 },
            uplink: pick(&mut random, &[0, 1_500_000_000]),
            window: Nanos(pick(&mut random, &[0, 3000, 9000, 60_000])),
            poll_interval: Nanos::micros(pick(&mut random, &[2, 30])),
            background: pick(&mut random, &[Background::None, Background::None, Background::Cpu]),
            background_threads: 2,
            ..HostConfig::default()
        },
        ..Scenario::default()
    }
}

pub(super) fn run(scenario: Scenario) -> Result<Measured, NotMeasured> {
    measure(&Run { label: scenario.host.strategy.clone(), scenario }, &|| false)
}

/// Number of cases; `TAILCUT_CASES` widens the search.
pub(super) fn cases() -> u64 {
    std::env::var("TAILCUT_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(150)
}

#[test]
fn every_request_is_answered_and_every_core_accounted_for() {
    for seed in 0..cases() {
        let strategies = [&INTERRUPTED[..], &POLLED[..]].concat();
        let scenario = scenario(seed, &strategies);
        let host = scenario.host.clone();
        let measured = run(scenario).unwrap_or_else(|error| panic!("seed {seed}, {host:?}: {error}"));
        assert_eq!(measured.requests(), 600, "seed {seed}");
        assert_eq!(measured.errors(), 0, "seed {seed}");
        let figures = measured.host.as_ref().expect("there is a host");
        assert_eq!(figures.time.total(), figures.elapsed * figures.cpus as u64, "seed {seed}");
        assert!(measured.report.content_checked, "seed {seed}");
        assert!(measured.kind(Op::Read).is_some(), "seed {seed}");
    }
}

/// A host that uses hints from its drives, which have a read cache and a buffer that is soon full.
fn listening(seed: u64) -> Scenario {
    let mut scenario = scenario(seed, &HINTED);
    let mut random = Stream::new(seed, "listening host");
    let page = scenario.device.geometry.page_bytes;
    scenario.device.cache.size = page * pick(&mut random, &[0, 4, 64, 2000]);
    if scenario.device.cache.size > 0 {
        scenario.device.cache.ahead = pick(&mut random, &[0, 2, 16]);
    }
    scenario.device.buffer.size = page * pick(&mut random, &[1, 2, 8]);
    scenario.device.queue.firmware = Nanos(pick(&mut random, &[0, 900, 6000]));
    if scenario.workload.depth < 5 {
        scenario.workload.addresses.distribution = Distribution::Sequential;
    }
    scenario
}

#[test]
fn hosts_that_listen_to_their_drives_answer_every_request() {
    let (mut hits, mut full) = (0, 0);
    for seed in 0..cases() {
        let scenario = listening(seed);
        let host = scenario.host.clone();
        let measured = run(scenario).unwrap_or_else(|error| panic!("seed {seed}, {host:?}: {error}"));
        assert_eq!((measured.requests(), measured.errors()), (600, 0), "seed {seed}");
        let figures = measured.host.as_ref().expect("there is a host");
        assert_eq!(figures.time.total(), figures.elapsed * figures.cpus as u64, "seed {seed}");
        assert!(measured.report.content_checked, "seed {seed}");
        (hits, full) = (hits + figures.read_hits, full + figures.full_buffers);
    }
    assert!(hits > 1000 && full > 1000, "{hits} hits, {full} full buffers");
}

#[test]
fn one_seed_gives_one_history() {
    for seed in [3, 4, 5] {
        let digest = || run(scenario(seed, &INTERRUPTED)).expect("it runs").report.digest;
        assert_eq!(digest(), digest());
    }
}

/// Number of hosts, of some without background load, that a broken rule stops.
fn struck(rule: Invariant) -> usize {
    let stops = |seed: &u64| {
        // Without spinning and background load, a lost wake-up leaves no event, which ends the run.
        let mut scenario = scenario(*seed, &INTERRUPTED[..5]);
        scenario.host.background = Background::None;
        let one = || broken(rule, || run(scenario));
        !matches!(catch_unwind(AssertUnwindSafe(one)), Ok(Ok(_)))
    };
    (0..40).filter(stops).count()
}

#[test]
fn a_thread_that_sleeps_without_looking_is_found() {
    assert!(struck(Invariant::LooksBeforeItSleeps) > 0);
}

#[test]
fn a_tag_that_is_not_released_is_found() {
    assert!(struck(Invariant::TagsAreReleased) > 0);
}
