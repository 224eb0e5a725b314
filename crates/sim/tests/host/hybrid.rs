//! The hybrid on modelled cores: it selects the right mode, and follows a change of load within 10 ms.

use tailcut_base::Nanos;
use tailcut_host::path::Mode;
use tailcut_sim::Scenario;
use tailcut_sim::measured::{Run, measure};
use tailcut_sim::path::{Background, HostConfig};
use tailcut_sim::storage::HostFigures;
use tailcut_sim::world::Limits;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset};
use tailcut_workload::{BesideConfig, SyntheticConfig};

const MANY: u32 = 120;

/// One reading thread for 50 ms, and many more from `start` for `runtime`.
fn host(start: Nanos, runtime: Nanos) -> HostFigures {
    let mut device = Preset::G.config();
    (device.geometry.chips, device.geometry.blocks, device.geometry.pages) = (32, 16, 16);
    device.timing.read = vec![Nanos::micros(70)];
    // Neither chips nor buses bound the rate.
    device.timing.bus = 4_096_000_000;
    device.ftl.spare = 600_000;
    let reads = |depth: u32| SyntheticConfig { read: 1_000_000, depth, ..SyntheticConfig::default() };
    let scenario = Scenario {
        content: false,
        device,
        precondition: Precondition { state: PreparedState::Sequential, fill: 1_000_000 },
        run: Limits { duration: Nanos::millis(50), ..Limits::NONE },
        workload: reads(1),
        beside: BesideConfig { enabled: true, source: SyntheticConfig { start, runtime, ..reads(MANY) } },
        host: HostConfig {
            strategy: "hybrid".into(),
            threads: 1 + MANY,
            window_feedback: true,
            ..HostConfig::default()
        },
        ..Scenario::default()
    };
    let measured = measure(&Run { label: "hybrid".into(), scenario }, &|| false).expect("it runs");
    measured.host.expect("there is a host")
}

#[test]
fn one_thread_waits_for_notices_and_many_look_for_one_another() {
    assert_eq!(host(Nanos::millis(49), Nanos::millis(1)).mode, Some(Mode::Notice));
    assert_eq!(host(Nanos::ZERO, Nanos::ZERO).mode, Some(Mode::Gather));
}

#[test]
fn it_follows_a_load_that_begins_or_ends_within_10_ms() {
    assert_eq!(host(Nanos::millis(40), Nanos::ZERO).mode, Some(Mode::Gather));
    assert_eq!(host(Nanos::ZERO, Nanos::millis(40)).mode, Some(Mode::Notice));
}

#[test]
fn it_changes_no_more_often_than_it_measures() {
    let host = host(Nanos::millis(20), Nanos::millis(10));
    assert!(host.mode_changes > 3 && host.mode_changes < 50_000 / 1250, "{}", host.mode_changes);
}

/// A drive of 12 µs: by the time of a completion, a thread beside one that computes has used its share of a
/// core. The extra cost of the fastest modes shows only when the scheduler lets the others catch up, up to a
/// quarter of a second later.
#[test]
fn beside_threads_that_compute_it_takes_the_mode_that_is_within_its_share() {
    for threads in [1, 8] {
        let mut device = Preset::Zssd.config();
        (device.geometry.blocks, device.geometry.pages, device.ftl.spare) = (16, 16, 600_000);
        let scenario = Scenario {
            content: false,
            device,
            precondition: Precondition { state: PreparedState::Sequential, fill: 1_000_000 },
            run: Limits { duration: Nanos::millis(250), ramp: Nanos::millis(150), ..Limits::NONE },
            workload: SyntheticConfig { read: 1_000_000, depth: threads, ..SyntheticConfig::default() },
            host: HostConfig {
                strategy: "hybrid".into(),
                threads,
                window_feedback: true,
                background: Background::Cpu,
                background_threads: 8,
                ..HostConfig::default()
            },
            ..Scenario::default()
        };
        let measured = measure(&Run { label: "hybrid".into(), scenario }, &|| false).expect("it runs");
        let host = measured.host.as_ref().expect("there is a host");
        assert_eq!(host.mode, Some(Mode::Sleep), "{threads} threads");
        let latency = measured.mean_latency_ns();
        assert!(latency < 29_500.0, "{threads} threads: {latency} ns");
    }
}
