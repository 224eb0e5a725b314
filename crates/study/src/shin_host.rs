//! Shared parts of the studies of Shin's chapters 3 and 4: hosts, drives, loads.
//!
//! Every cost of the host is a constant of [`tailcut_sim::cpu::costs`], equal in all of them. The constants
//! here come from the descriptions of the machines; where they are silent, the comment names the assumption.

use super::Options;
use tailcut_base::Nanos;
use tailcut_sim::Scenario;
use tailcut_sim::measured::Run;
use tailcut_sim::path::{Background, ControllerKind, HostConfig};
use tailcut_sim::world::Limits;
use tailcut_ssd::config::SsdConfig;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset};
use tailcut_workload::SyntheticConfig;

/// Six SATA drives on one AHCI controller (section 3.4).
pub(crate) const DRIVES: u32 = 6;

/// Bandwidth of the controller's uplink in bytes per second: "approximately 1.5GB/s" (section 3.4).
pub(crate) const UPLINK: u64 = 1_500_000_000;

/// Threads of the micro-benchmarks (section 3.4).
pub(crate) const THREADS: u32 = 128;

/// The emulated drive with enough chips that two reads hardly ever meet on one: each takes its 80 µs and no
/// more.
pub(crate) fn emulated_apart() -> SsdConfig {
    let mut drive = Preset::ShinEmulated.config();
    drive.geometry.chips = 128;
    drive.geometry.blocks = 16;
    drive.geometry.pages = 16;
    drive.ftl.spare = 600_000;
    drive
}

/// Reads of `bytes` bytes by `threads` threads, each with one at a time, anywhere on a drive that is full.
fn reads(options: &Options, device: SsdConfig, bytes: u64, threads: u32) -> Scenario {
    let base = Scenario::default();
    Scenario {
        seed: options.seed,
        content: false,
        device,
        precondition: Precondition { state: PreparedState::Sequential, fill: 1_000_000 },
        run: Limits {
            ramp: Nanos::millis(20),
            duration: if options.quick { Nanos::millis(120) } else { Nanos::millis(1020) },
            requests: 0,
            round: Nanos::ZERO,
            until_steady: false,
        },
        workload: SyntheticConfig {
            read: 1_000_000,
            read_size: format!("{bytes}B"),
            depth: threads,
            ..SyntheticConfig::default()
        },
        ..base
    }
}

/// The machine of chapter 3: 128 threads that read `bytes` bytes at a time from `drives` drives.
pub(crate) fn sata(options: &Options, strategy: &str, drives: u32, bytes: u64) -> Scenario {
    let mut scenario = reads(options, Preset::ShinSata.config(), bytes, THREADS);
    scenario.host = HostConfig {
        strategy: strategy.to_string(),
        threads: THREADS,
        controller: ControllerKind::Ahci,
        drives,
        uplink: UPLINK,
        ..HostConfig::default()
    };
    scenario
}

/// The machine of chapter 4: threads that read 4 KiB from one drive.
pub(crate) fn direct(options: &Options, device: SsdConfig, strategy: &str, threads: u32) -> Scenario {
    let mut scenario = reads(options, device, 4096, threads);
    scenario.host = HostConfig { strategy: strategy.to_string(), threads, ..HostConfig::default() };
    scenario
}

/// Background threads: the dissertation leaves open how many. Its POLL beside CPU threads had a fifth of a
/// core ("an equal share": 1488 µs + 352 µs are 5.1 times the 361 µs of a request), so there were four on
/// each of eight hardware threads; the number of I/O threads is equal.
pub(crate) const BACKGROUND_THREADS: u32 = 32;

/// With threads beside the workload.
pub(crate) fn beside(mut scenario: Scenario, background: Background) -> Scenario {
    scenario.host.background = background;
    scenario.host.background_threads = BACKGROUND_THREADS;
    scenario
}

/// A named run.
pub(crate) fn run(label: impl Into<String>, scenario: Scenario) -> Run {
    Run { label: label.into(), scenario }
}
