//! The command line of `tailcut calibrate`.

use clap::Args;
use std::path::PathBuf;
use tailcut_base::quantity::parse_time;
use tailcut_base::{BadValue, Nanos};

/// `tailcut calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateArguments {
    /// Measurements of the drive: CSV of random writes, mixes or write amplification, or fio's output (.json)
    #[arg(value_name = "DATA", required = true)]
    pub data: Vec<PathBuf>,
    /// Data sheet of the drive (CSV), for values to start from
    #[arg(long, value_name = "FILE")]
    pub data_sheet: Option<PathBuf>,
    /// The drive to fit, where the files have several
    #[arg(long, value_name = "NAME")]
    pub drive: Option<String>,
    /// Scenario (TOML) with the drive to start from; default: one that rows and data sheet show
    #[arg(long, value_name = "SCENARIO.toml")]
    pub scenario: Option<PathBuf>,
    /// Override a scenario key, such as device.preset=qlc-nvme; keys that are not fitted stay as they are
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// File for the fitted drive, written once it is complete
    #[arg(long, short, value_name = "FILE", default_value = "drive.toml")]
    pub output: PathBuf,
    /// Seed of every random stream
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Candidates to evaluate, each under the load of every row, in whole generations of about twelve;
    /// default: up to 400, as many as two cores try in half an hour, or 48 with --quick
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), conflicts_with = "minutes")]
    pub evaluations: Option<u32>,
    /// Take about this long instead, half of it for the search and most of the rest for
    /// cross-validation; one generation of each is tried however long it takes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub minutes: Option<u32>,
    /// What the client that measured adds to every latency
    #[arg(long, value_name = "TIME", value_parser = parse_client, default_value = "6us")]
    pub client: Nanos,
    /// Run a short form: fewer candidates, one second of virtual time each instead of five
    #[arg(long)]
    pub quick: bool,
    /// Write the results as JSON to a file, or with '-' to standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Number of parallel runs; default: one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Hide progress
    #[arg(long, short)]
    pub quiet: bool,
}

fn parse_client(text: &str) -> Result<Nanos, BadValue> {
    let cost = parse_time(text)?;
    if cost <= Nanos::millis(1) { Ok(cost) } else { Err(BadValue::new("it can be 0 to 1ms")) }
}
