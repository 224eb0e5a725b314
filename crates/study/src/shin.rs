//! Shared parts of the studies of Shin's multi-SSD engine: its drives, its modes, its load.
//!
//! Four drives of `swan-sata`, the one SATA drive whose parts are documented. The studies of the
//! dissertation's figures prepare them as it does ([`prepared_as_told`]); those that go beyond it have them
//! as SWAN's studies: 128 blocks per plane, aged over 60 % of their space. Nothing was chosen for the
//! results.

use super::{Options, swan};
use tailcut_base::{Nanos, Op};
use tailcut_host::array::epoch::EpochMode;
use tailcut_host::array::{ArrayConfig, LayoutKind};
use tailcut_sim::Scenario;
use tailcut_sim::measured::Run;
use tailcut_sim::world::Limits;
use tailcut_ssd::Precondition;
use tailcut_ssd::precondition::PreparedState;
use tailcut_workload::config::PaceKind;
use tailcut_workload::{BesideConfig, SyntheticConfig};

/// How the array treats reads and writes (section 5.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Mixed, on RAID0.
    Mix,
    /// Reads are separated from writes in epochs.
    Epoch,
    /// Reads are separated from writes in epochs, with control of the drives' collection.
    Control,
}

/// All modes.
pub(crate) const MODES: [Mode; 3] = [Mode::Mix, Mode::Epoch, Mode::Control];

/// Drives of the array.
const DRIVES: u32 = 4;

/// Writers of 1 MiB beside the readers.
pub(crate) const WRITERS: u32 = 4;

/// Share of the drives' space that holds data, in parts per million.
pub(crate) const FILLED: u32 = 600_000;

/// Until the buffers are full and the speed of the drives is known.
const RAMP: Nanos = Nanos::secs(2);

impl Mode {
    /// The paper's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::Mix => "MIX",
            Mode::Epoch => "EPCH",
            Mode::Control => "GCCTRL",
        }
    }

    /// The array.
    fn array(self) -> ArrayConfig {
        let (layout, groups) = match self {
            Mode::Mix => (LayoutKind::Raid0, 1),
            Mode::Epoch | Mode::Control => (LayoutKind::Epochs, 2),
        };
        let mut array = ArrayConfig { drives: DRIVES, layout, groups, ..ArrayConfig::default() };
        let is_controlled = self == Mode::Control;
        array.epoch.mode = if is_controlled { EpochMode::GcControl } else { EpochMode::Epoch };
        array
    }

    /// `readers` readers of 4 KiB, each with one request at a time, for `seconds` seconds.
    pub(crate) fn readers(self, options: &Options, readers: u32, seconds: u64) -> Scenario {
        self::readers(options, self.array(), FILLED, readers, seconds)
    }

    /// These readers beside the writers.
    pub(crate) fn mixed(self, options: &Options, readers: u32, seconds: u64) -> Scenario {
        beside_writers(self.readers(options, readers, seconds))
    }
}

/// GCCTRL beside the writers where each drive is a token group: three of four serve reads, and one writes.
pub(crate) fn one_at_a_time(options: &Options, readers: u32, seconds: u64) -> Scenario {
    let mut scenario = Mode::Control.mixed(options, readers, seconds);
    scenario.array.groups = DRIVES;
    scenario
}

/// Its name.
pub(crate) const ONE_AT_A_TIME: &str = "GCCTRL, 4 groups";

/// `readers` readers of 4 KiB of an array of these drives; the share `fill` of the array's capacity, in
/// parts per million, holds data.
pub(crate) fn readers(
    options: &Options,
    array: ArrayConfig,
    fill: u32,
    readers: u32,
    seconds: u64,
) -> Scenario {
    let mut device = swan::drive();
    // Garbage is collected on the host's command, or when it must be.
    device.gc.background = false;
    let precondition = Precondition { state: PreparedState::Steady, fill };
    let workload = SyntheticConfig { read: WHOLE, region_share: fill, ..closed(readers) };
    let run = Limits { ramp: RAMP, duration: RAMP + Nanos::secs(seconds), ..Limits::NONE };
    let seed = options.seed;
    Scenario { seed, content: false, device, array, precondition, run, workload, ..Scenario::default() }
}

/// The scenario with drives prepared as in section 5.4.1, "a secure erase followed with a pass of sequential
/// writes": all of their capacity holds data and is worked on, and what is measured begins once the erased
/// blocks have been used up.
///
/// A plane keeps as few blocks erased as collection works with, since the paper's drives have thousands of
/// blocks in a plane and these have [`BLOCKS`]. Drives collect in the background, "uncontrollable" (section
/// 5.4.2), unless the host controls that.
pub(crate) fn prepared_as_told(mut scenario: Scenario) -> Scenario {
    let device = &mut scenario.device;
    device.geometry.blocks = BLOCKS;
    (device.gc.low, device.gc.high) = KEPT;
    let array = &scenario.array;
    let is_controlled = array.layout == LayoutKind::Epochs && array.epoch.mode == EpochMode::GcControl;
    device.gc.background = !is_controlled;
    scenario.precondition = Precondition { state: PreparedState::Sequential, fill: WHOLE };
    let measured = scenario.run.duration.saturating_sub(scenario.run.ramp);
    scenario.run.ramp = USED_UP;
    scenario.run.duration = USED_UP + measured;
    scenario.workload.region_share = WHOLE;
    scenario.beside.source.region_share = WHOLE;
    scenario
}

/// Blocks of a plane of a drive that is prepared as the paper's.
const BLOCKS: u32 = 512;

/// Erased blocks of a plane below which it collects at once, and which collection in the background reaches.
const KEPT: (u32, u32) = (2, 4);

/// Until the drives' erased blocks are used up.
const USED_UP: Nanos = Nanos::secs(10);

/// A scenario beside writers to the region that it reads.
pub(crate) fn beside_writers(scenario: Scenario) -> Scenario {
    let source = SyntheticConfig { region_share: scenario.workload.region_share, ..writers() };
    Scenario { beside: BesideConfig { enabled: true, source }, ..scenario }
}

/// Random writers of 1 MiB, each with one request at a time.
pub(crate) fn writers() -> SyntheticConfig {
    SyntheticConfig { read: 0, write_size: "1MiB".into(), ..closed(WRITERS) }
}

fn closed(depth: u32) -> SyntheticConfig {
    SyntheticConfig { pace: PaceKind::Closed, depth, region_share: FILLED, ..SyntheticConfig::default() }
}

/// All of something, in parts per million.
const WHOLE: u32 = 1_000_000;

/// A run of a mode.
pub(crate) fn run(label: String, scenario: Scenario) -> Run {
    Run { label, scenario }
}

/// Bytes per second that were read or written.
pub(crate) fn bandwidth(measured: &tailcut_sim::measured::Measured, op: Op) -> f64 {
    measured.kind(op).map_or(0.0, |kind| kind.bytes_per_s)
}
