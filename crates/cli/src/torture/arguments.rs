//! The command line of `tailcut torture`.

use crate::value_parsers::time;
use clap::Args;
use std::path::PathBuf;
use tailcut_base::Nanos;

/// `tailcut torture`.
#[derive(Debug, Args)]
pub struct TortureArguments {
    /// Run this seed alone; with --seeds or --time, the first one
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Number of seeds to run; default: as many as ten seconds allow
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub seeds: Option<u64>,
    /// Time to run seeds for, such as 60s
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub time: Option<Nanos>,
    /// What to torture: arrays, kv, block, ssd, raid, log, or a layout such as raid5
    ///
    /// Each seed draws power cuts and faults: drives that die, are pulled, slow down, become read-only, grow
    /// or shrink; flipped bits, unreadable blocks, failed or misdirected writes, failed flushes; for arrays
    /// also full drives, the return of a replaced drive (return), and parts of an array opened separately
    /// (halves).
    #[arg(long, value_name = "NAME", default_value = "arrays")]
    pub subject: String,
    /// Run a plan, given as a file or as text
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "seeds", "time", "subject"])]
    pub plan: Option<String>,
    /// Run the plan once per event, with a power cut at that event
    #[arg(long, requires = "plan")]
    pub every_step: bool,
    /// Plant a bug that the checkers must find, such as forgets-fua
    #[arg(long, value_name = "NAME")]
    pub mutant: Option<String>,
    /// Number of events to show before a violation
    #[arg(long, value_name = "COUNT", default_value_t = 60)]
    pub events: usize,
    /// Number of parallel runs; default: one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Write the results as JSON to a file, or with '-' to standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Hide progress
    #[arg(long, short)]
    pub quiet: bool,
}
