//! The command line of `tailcut probe`.

use crate::arguments::{preset, some_length};
use clap::Args;
use std::path::PathBuf;
use tailcut_base::Nanos;
use tailcut_rt::probe::MeasurementLimits;
use tailcut_ssd::Preset;

/// `tailcut probe`.
#[derive(Debug, Args)]
pub struct ProbeArguments {
    /// The file or block device; it is only read, unless --destroy-data is given
    #[arg(required_unless_present = "simulated")]
    pub device: Option<PathBuf>,
    /// Measure what only writing shows, too: what is on the device is lost
    #[arg(long)]
    pub destroy_data: bool,
    /// Measure a simulated drive instead, in virtual time, such as g-1g: its truth is known
    #[arg(long, value_name = "PRESET", value_parser = preset, conflicts_with = "device")]
    pub simulated: Option<Preset>,
    /// Shorter measurements
    #[arg(long)]
    pub quick: bool,
    /// How long to measure, about, such as 60s
    #[arg(long, value_name = "TIME", value_parser = some_length)]
    pub time: Option<Nanos>,
    /// Seed of the places and contents
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Write the estimated drive to a file, as a scenario for 'tailcut run'
    #[arg(long, value_name = "FILE.toml")]
    pub preset: Option<PathBuf>,
    /// Write what was found as JSON to a file, or with '-' to standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}

impl ProbeArguments {
    /// How much is spent on it.
    pub fn effort(&self) -> MeasurementLimits {
        let effort = if self.quick { MeasurementLimits::QUICK } else { MeasurementLimits::FULL };
        self.time.map_or(effort, |total| effort.within(total, self.destroy_data))
    }
}
