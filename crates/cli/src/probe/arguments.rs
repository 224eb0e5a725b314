//! The command line of `tailcut probe`.

use crate::value_parsers::{positive_time, preset};
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
    /// Also measure what needs writes; the content of the device is lost
    #[arg(long)]
    pub destroy_data: bool,
    /// Measure a simulated drive in virtual time instead, such as g-1g, to compare with its true parameters
    #[arg(long, value_name = "PRESET", value_parser = preset, conflicts_with = "device")]
    pub simulated: Option<Preset>,
    /// Measure for a shorter time
    #[arg(long)]
    pub quick: bool,
    /// Approximate duration of the measurement, such as 60s
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    pub time: Option<Nanos>,
    /// Seed of addresses and contents
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Measure nothing: write a job file with which fio measures the drive for 'tailcut calibrate', in
    /// about an hour (ten minutes with --quick); that destroys what the drive holds
    #[arg(
        long,
        value_name = "FILE.fio",
        conflicts_with_all = ["destroy_data", "simulated", "time", "seed", "preset", "json"]
    )]
    pub fio_jobs: Option<PathBuf>,
    /// Write the estimated drive to a file, as a scenario for 'tailcut run'
    #[arg(long, value_name = "FILE.toml")]
    pub preset: Option<PathBuf>,
    /// Write the results as JSON to a file, or with '-' to standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Hide progress
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
