//! The command line of `tailcut compare`.

use super::request::{BY, Share};
use super::results::Factor;
use crate::run::arguments::{RunArguments, RunOptions};
use crate::sweep::{Misread, Quantity};
use clap::Args;
use std::path::PathBuf;
use tailcut_base::BadValue;
use tailcut_base::quantity::parse_share;

/// `tailcut compare`.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// Scenario (TOML) of the base point; default: the built-in one
    pub scenario: Option<PathBuf>,
    /// The workload and what all points have in common.
    #[command(flatten)]
    pub common: CommonOptions,
    /// Vary a scenario key: --vary workload.rate=20000,40000
    ///
    /// The first value is the base point's. Commas in brackets or quotes belong to a value.
    #[arg(long, value_name = "KEY=A,B…", value_parser = factor_of(Factor::vary))]
    pub vary: Vec<Factor>,
    /// Switch a technique of several keys on and off
    ///
    /// As in --on-off NAME=key=value,key=value. Off leaves the scenario unchanged.
    #[arg(long, value_name = "NAME=KEY=VALUE,…", value_parser = factor_of(Factor::on_off))]
    pub on_off: Vec<Factor>,
    /// Read factors from a TOML file with the sections vary, on-off and levels.NAME
    #[arg(long, value_name = "FILE")]
    pub grid: Option<PathBuf>,
    /// Run one in N points: a balanced fraction of the grid
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub fraction: Option<u64>,
    /// Run N points: a balanced fraction of the grid
    ///
    /// It is orthogonal if all factors have the same prime number of levels and N is a power of it.
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "fraction")]
    pub points: Option<u64>,
    /// Run each point with N seeds and judge effects by the noise
    ///
    /// The first seed is the scenario's.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Rank by a quantity, such as mean(write), iops, waf or life
    ///
    /// p99.99(read), mean(write), iops, bandwidth(read), waf, life, or the path of a number in report.json,
    /// prefixed with '+' if more is better.
    #[arg(long, value_name = "QUANTITY", default_value = BY, value_parser = quantity)]
    pub by: Quantity,
    /// Show these quantities as well
    #[arg(long, value_name = "QUANTITY,…", value_delimiter = ',', value_parser = quantity)]
    pub show: Vec<Quantity>,
    /// Mark the Pareto front of --by and this quantity
    #[arg(long, value_name = "QUANTITY", value_parser = quantity)]
    pub pareto: Option<Quantity>,
    /// Treat differences up to this share as equal
    ///
    /// Default: 5% with one seed, 1% with several, but at least the noise.
    #[arg(hide_short_help = true, long, value_name = "SHARE", value_parser = share)]
    pub tolerance: Option<f64>,
    /// Skip points whose settings contradict each other
    ///
    /// Without it they are refused. A value that its key cannot have is an error all the same.
    #[arg(long)]
    pub skip_impossible: bool,
    /// List the points without running them
    #[arg(long)]
    pub dry_run: bool,
    /// Number of table rows
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub top: usize,
    /// Folder for the results and for finished runs, which are reused
    ///
    /// The same or a larger comparison reuses them.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_FOLDER)]
    pub out: PathBuf,
    /// Write the results as JSON to a file; '-': to standard output
    ///
    /// With '-', it is written instead of the tables.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write an HTML report, with its data as JSON beside it
    #[arg(long, value_name = "FILE", value_parser = crate::html::page_file)]
    pub html: Option<PathBuf>,
    /// Write the results as Parquet to a file
    ///
    /// Only if built with the feature 'parquet'.
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    pub parquet: Option<PathBuf>,
    /// Number of parallel runs; default: one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Hide progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// What all runs of a comparison have in common.
#[derive(Clone, Debug, Default, Args)]
pub struct CommonOptions {
    /// Override a scenario key at all points, such as run.requests=100000
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
) -> impl Fn(&str) -> Result<Factor, BadValue> + Clone + Send + Sync + 'static {
    move |text| read(text).map_err(|misread| BadValue::new(misread.message))
}

pub(crate) fn quantity(text: &str) -> Result<Quantity, BadValue> {
    Quantity::parse(text).map_err(|misread| BadValue::new(misread.message))
}

fn share(text: &str) -> Result<f64, BadValue> {
    parse_share(text).map(|ppm| f64::from(ppm) / 1e6)
}

/// The folder of a comparison when no other is named.
pub const DEFAULT_FOLDER: &str = "tailcut-compare";
