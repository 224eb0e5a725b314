//! The command line.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Measures what tailcut's own code costs, by the wall clock.
///
/// Run it on a quiet machine, from a release build.
#[derive(Debug, Parser)]
#[command(name = "tailcut-bench", version, max_term_width = 100)]
pub struct Arguments {
    /// What to measure.
    #[command(subcommand)]
    pub command: BenchCommand,
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Simulation speed: requests per second, memory and where the time goes
    Sim(Measurement),
    /// Cost of an array per request, over drives that cost nothing
    Array(Measurement),
    /// Emulated drive in real time, inline and on its own core: completions per second and lateness
    Emulate(Measurement),
    /// Cost of each commit scheduler per request, with 32 to 65536 requests and 64 to 4096 chips
    Schedule(Measurement),
}

/// What all benchmarks take.
#[derive(Debug, Args)]
pub struct Measurement {
    /// Write the results as JSON to a file, or with '-' to standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Measure one case in this process and print the result as JSON
    #[arg(long, value_name = "CASE", hide = true)]
    pub alone: Option<String>,
}
