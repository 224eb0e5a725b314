//! The command line of `tailcut run`.

use crate::output::is_stdout;
use crate::scenario::{Problems, Source};
use clap::Args;
use std::path::PathBuf;

/// `tailcut run`.
#[derive(Clone, Debug, Default, Args)]
pub struct RunArguments {
    /// Scenario (TOML); default: the built-in one
    pub scenario: Option<PathBuf>,
    /// The scenario as a program gives it, in place of a file.
    #[arg(skip)]
    pub text: Option<Source>,
    /// The options.
    #[command(flatten)]
    pub options: RunOptions,
}

impl RunArguments {
    /// The text of the scenario, read from its file if it is in one; none for the built-in scenario.
    ///
    /// # Errors
    /// A file that cannot be read, or is not UTF-8.
    pub fn source(&self) -> Result<Option<Source>, Problems> {
        if self.text.is_some() {
            return Ok(self.text.clone());
        }
        self.scenario.as_deref().map(Source::open).transpose()
    }
}

/// The options of a run.
#[derive(Clone, Debug, Default, Args)]
pub struct RunOptions {
    /// Override a scenario key, such as device.timing.read=80us
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Replay a trace instead of the scenario's load
    #[arg(long, value_name = "FILE", conflicts_with = "fio")]
    pub trace: Option<PathBuf>,
    /// Run the jobs of a fio job file instead of the scenario's load
    #[arg(long, value_name = "FILE")]
    pub fio: Option<PathBuf>,
    /// Seed of every random stream
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Measure eight times as long, or eight times the requests, for percentiles further out
    #[arg(long)]
    pub long: bool,
    /// Folder for the result files
    #[arg(long, value_name = "DIR", default_value = crate::output::DEFAULT_FOLDER)]
    pub out: PathBuf,
    /// Write the results as JSON to a file, or with '-' to standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write an HTML report, with its data as JSON beside it
    #[arg(long, value_name = "FILE", value_parser = crate::html::page_file)]
    pub html: Option<PathBuf>,
    /// Write every request with its latency and what it waited for to a file, .csv or .parquet
    #[arg(long, value_name = "FILE", value_parser = super::requests::file)]
    pub requests: Option<PathBuf>,
    /// Record the run over time, for later reports with 'tailcut report'; implied by --html
    #[arg(long)]
    pub timeline: bool,
    /// Print the complete scenario as TOML without running it
    #[arg(long, conflicts_with = "keys")]
    pub resolved: bool,
    /// List the keys of scenarios, all or those whose name or description contains PATTERN, and run nothing
    #[arg(long, value_name = "PATTERN", num_args = 0..=1, default_missing_value = "")]
    pub keys: Option<String>,
    /// Skip unreadable lines of a trace and count them
    #[arg(long)]
    pub skip_bad_lines: bool,
    /// Print all figures of the drive: also wear, and the idleness and parallelism that papers measure
    #[arg(long, short)]
    pub verbose: bool,
    /// Hide progress
    #[arg(long, short)]
    pub quiet: bool,
}

impl RunOptions {
    /// All settings in the order in which they apply: `--seed` is the last one.
    pub fn settings(&self) -> Vec<String> {
        let seed = self.seed.map(|seed| format!("seed={seed}"));
        self.sets.iter().cloned().chain(seed).collect()
    }

    /// Whether the run is recorded over time.
    pub fn is_recorded(&self) -> bool {
        self.timeline || self.html.is_some()
    }

    /// Whether JSON takes the place of the tables on standard output.
    pub fn json_to_stdout(&self) -> bool {
        self.json.as_deref().is_some_and(is_stdout)
    }
}
