//! Shared parts of the studies of SWAN: its drives, its arrays, its loads.
//!
//! The drive is `swan-sata` with 128 blocks per plane, so that a run of seconds goes round the whole array as
//! the paper's two hours do. Arrays hold as much data as the paper's: they are aged over 60 % of their
//! drives' space (section 5), in order and then at random, and worked on within that.

use super::Options;
use tailcut_base::Nanos;
use tailcut_host::array::{ArrayConfig, LayoutKind};
use tailcut_sim::Scenario;
use tailcut_sim::measured::{Measured, Run};
use tailcut_sim::world::Limits;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset, SsdConfig};
use tailcut_workload::config::PaceKind;
use tailcut_workload::{LsmConfig, SyntheticConfig};

/// Share of the drives' space that holds data, in parts per million (section 5: roughly 60 %).
const AGED: u64 = 600_000;

/// Blocks of a plane.
const BLOCKS: u32 = 128;

/// Requests of 8 KiB in flight: enough for nine drives of 32 tags.
const DEPTH: u32 = 288;

/// The drive.
pub(crate) fn drive() -> SsdConfig {
    let mut device = Preset::SwanSata.config();
    device.geometry.blocks = BLOCKS;
    device
}

/// An array of the drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Layout of the array.
    pub layout: LayoutKind,
    /// Number of R-groups.
    pub groups: u32,
    /// Number of drives in all groups.
    pub drives: u32,
}

impl Shape {
    /// One group of drives.
    pub(crate) const fn flat(layout: LayoutKind, drives: u32) -> Shape {
        Shape { layout, groups: 1, drives }
    }

    /// R-groups of `each` drives each.
    pub(crate) const fn grouped(layout: LayoutKind, groups: u32, each: u32) -> Shape {
        Shape { layout, groups, drives: groups * each }
    }

    /// In the paper's words, such as "SWAN0 4R-2SSD".
    pub(crate) fn name(self) -> String {
        let layout = match self.layout {
            LayoutKind::Raid0 => "RAID0",
            LayoutKind::Raid4 => "RAID4",
            LayoutKind::Raid5 => "RAID5",
            LayoutKind::LogRaid0 => "Log-RAID0",
            LayoutKind::LogRaid4 => "Log-RAID4",
            LayoutKind::LogRaid5 => "Log-RAID5",
            LayoutKind::Swan0 => "SWAN0",
            LayoutKind::Swan4 => "SWAN4",
            LayoutKind::Swan5 => "SWAN5",
            LayoutKind::Epochs => "Epochs",
        };
        match self.groups {
            1 => format!("{layout} {}SSD", self.drives),
            groups => format!("{layout} {groups}R-{}SSD", self.drives / groups),
        }
    }

    /// For names of runs.
    pub(crate) fn id(self) -> String {
        self.name().replace(' ', "-")
    }

    fn config(self) -> ArrayConfig {
        let Shape { layout, groups, drives } = self;
        // mdadm's default chunk; there is no journal, as in mdadm's default.
        let mut array = ArrayConfig { drives, layout, groups, ..ArrayConfig::default() };
        array.raid.chunk = 512 << 10;
        array
    }

    /// The share of the space that the host can use for data, in parts per million.
    fn host_share(self) -> u64 {
        let spare = if self.layout.is_in_place() { 0 } else { self.config().log.spare };
        u64::from(1_000_000 - spare)
    }

    /// The share of what the host sees that holds data.
    pub(crate) fn fill(self) -> u32 {
        (AGED * 1_000_000 / self.host_share()).min(1_000_000) as u32
    }

    /// The scenario of an aged array, without a load.
    pub(crate) fn scenario(self, options: &Options) -> Scenario {
        let precondition = Precondition { state: PreparedState::Steady, fill: self.fill() };
        let (device, array) = (drive(), self.config());
        Scenario { seed: options.seed, content: false, device, array, precondition, ..Scenario::default() }
    }

    /// Random writes of 8 KiB for `seconds` seconds, in rounds of one second.
    pub(crate) fn random_writes(self, options: &Options, seconds: u64) -> Scenario {
        let round = Nanos::secs(1);
        let (ramp, duration) = (Nanos::ZERO, Nanos::secs(seconds));
        let workload = SyntheticConfig {
            read: 0,
            write_size: "8KiB".into(),
            region_share: self.fill(),
            pace: PaceKind::Closed,
            depth: DEPTH,
            ..SyntheticConfig::default()
        };
        let run = Limits { ramp, duration, round, ..Limits::NONE };
        Scenario { run, workload, ..self.scenario(options) }
    }

    /// A store over the whole of the array's region.
    pub(crate) fn store(self, options: &Options, lsm: LsmConfig) -> Scenario {
        let lsm = LsmConfig { enabled: true, region_share: self.fill(), ..lsm };
        Scenario { run: Limits::NONE, lsm, ..self.scenario(options) }
    }
}

/// A run of a shape.
pub(crate) fn run(label: String, scenario: Scenario) -> Run {
    Run { label, scenario }
}

/// Bytes written by the host in each second, in MB/s.
pub(crate) fn rounds(measured: &Measured) -> Vec<f64> {
    measured.rounds.iter().map(|round| round.sectors as f64 * 512.0 / 1e6).collect()
}

/// Mean of some figures; 0 without any.
pub(crate) fn mean(of: &[f64]) -> f64 {
    if of.is_empty() { 0.0 } else { of.iter().sum::<f64>() / of.len() as f64 }
}

/// Their standard deviation over their mean.
pub(crate) fn variation(of: &[f64]) -> f64 {
    let mean = mean(of);
    let square = of.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / of.len().max(1) as f64;
    if mean == 0.0 { 0.0 } else { square.sqrt() / mean }
}
