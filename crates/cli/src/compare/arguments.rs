//! The command line of `tailcut compare`.

use super::request::{BY, Share};
use super::results::Factor;
use crate::arguments::{RunArguments, RunOptions};
use crate::sweep::{Misread, Quantity};
use clap::Args;
use std::path::PathBuf;
use tailcut_base::quantity::parse_share;

/// `tailcut compare`.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// The scenario at the base point, a TOML file; the built-in one when it is left out
    pub scenario: Option<PathBuf>,
    /// The workload and what all points have in common.
    #[command(flatten)]
    pub common: CommonOptions,
    /// Vary a key of the scenario: --vary workload.rate=20000,40000. The first value is that of the base
    /// point. A comma in brackets or quotes belongs to the value
    #[arg(long, value_name = "KEY=A,B…", value_parser = factor_of(Factor::vary))]
    pub vary: Vec<Factor>,
    /// Switch a technique on and off that takes several keys: --on-off NAME=key=value,key=value. Off, the
    /// scenario stays as it is
    #[arg(long, value_name = "NAME=KEY=VALUE,…", value_parser = factor_of(Factor::on_off))]
    pub on_off: Vec<Factor>,
    /// Vary what a file says: a TOML file with the sections vary, on-off and levels.NAME
    #[arg(long, value_name = "FILE")]
    pub grid: Option<PathBuf>,
    /// Run one point of N: a balanced part of the grid
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub fraction: Option<u64>,
    /// Run N points: a balanced part of the grid, orthogonal where all factors have the same prime number of
    /// levels and N is a power of it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "fraction")]
    pub points: Option<u64>,
    /// Run each point with N seeds, from that of the scenario on, and judge effects by the noise between them
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Rank by this: p99.99(read), mean(write), iops, bandwidth(read), waf, life, or the path of a number in
    /// report.json, with a '+' before it if more is better
    #[arg(long, value_name = "QUANTITY", default_value = BY, value_parser = quantity)]
    pub by: Quantity,
    /// Show these quantities beside it
    #[arg(long, value_name = "QUANTITY,…", value_delimiter = ',', value_parser = quantity)]
    pub show: Vec<Quantity>,
    /// Mark the points that no other beats both in --by and in this
    #[arg(long, value_name = "QUANTITY", value_parser = quantity)]
    pub pareto: Option<Quantity>,
    /// Differences up to this share are none; 5% with one seed, 1% with several, and never less than the
    /// noise
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub tolerance: Option<f64>,
    /// Leave out points that a scenario refuses, instead of running nothing
    #[arg(long)]
    pub skip_impossible: bool,
    /// Print which points there are, and run nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Rows of the table
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub top: usize,
    /// Folder for finished runs, from which the same or a larger comparison goes on, and for the results
    #[arg(long, value_name = "DIR", default_value = DEFAULT_FOLDER)]
    pub out: PathBuf,
    /// Write the results as JSON to a file, or with '-' to standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the results as a page of HTML, with its data as JSON beside it
    #[arg(long, value_name = "FILE", value_parser = crate::html::page_file)]
    pub html: Option<PathBuf>,
    /// Write the results as Parquet to a file (only if built with the feature 'parquet')
    #[arg(long, value_name = "FILE")]
    pub parquet: Option<PathBuf>,
    /// How many runs at a time; one for each core when left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// What all runs of a comparison have in common.
#[derive(Clone, Debug, Default, Args)]
pub struct CommonOptions {
    /// Set a key of the scenario at all points, such as run.requests=100000; wins over the file
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Replay a trace instead of the scenario's load
    #[arg(long, value_name = "FILE", conflicts_with = "fio")]
    pub trace: Option<PathBuf>,
    /// Run the jobs of a fio job file instead of the scenario's load
    #[arg(long, value_name = "FILE")]
    pub fio: Option<PathBuf>,
    /// Seed of every random stream; the first one with --seeds
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

impl CommonOptions {
    /// These options as the arguments of a run of `scenario`.
    pub fn run_of(&self, scenario: Option<PathBuf>) -> RunArguments {
        let mut sets = self.sets.clone();
        sets.extend(self.seed.map(|seed| format!("seed={seed}")));
        let options =
            RunOptions { sets, trace: self.trace.clone(), fio: self.fio.clone(), ..RunOptions::default() };
        RunArguments { scenario, text: None, options }
    }
}

impl CompareArguments {
    /// How much of the grid is run.
    pub fn share(&self) -> Share {
        match (self.fraction, self.points) {
            (Some(parts), _) => Share::OneIn(parts),
            (None, Some(points)) => Share::Points(points),
            (None, None) => Share::All,
        }
    }
}

fn factor_of(
    read: fn(&str) -> Result<Factor, Misread>,
) -> impl Fn(&str) -> Result<Factor, String> + Clone + Send + Sync + 'static {
    move |text| read(text).map_err(|misread| misread.message)
}

pub(crate) fn quantity(text: &str) -> Result<Quantity, String> {
    Quantity::parse(text).map_err(|misread| misread.message)
}

fn share(text: &str) -> Result<f64, String> {
    parse_share(text).map(|ppm| f64::from(ppm) / 1e6).map_err(|bad| bad.message)
}

/// The folder of a comparison when no other is named.
pub const DEFAULT_FOLDER: &str = "tailcut-compare";
