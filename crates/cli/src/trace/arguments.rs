//! The command line of `tailcut trace`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `tailcut trace`.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Characterise a trace: mix, sizes, span, rates, randomness, overwrites, working set
    ///
    /// A request that is recorded with an earlier time than one before it counts at the latest time before
    /// it. Gaps before it become longer and those behind it shorter, so a trace out of order appears more
    /// bursty than the load was. One time that is far too late moves all that follows to one moment. 'tailcut
    /// run' replays a trace at the same times. Sort a trace by time first, unless only few requests are out
    /// of order.
    Info {
        /// The trace
        file: PathBuf,
        /// How the trace is read
        #[command(flatten)]
        reading: TraceReading,
        /// Print JSON instead of tables
        #[arg(long)]
        json: bool,
    },
    /// Write a trace in another format
    Convert {
        /// The trace to read
        input: PathBuf,
        /// The trace to write
        output: PathBuf,
        /// Format to write, such as msr, blkparse or fio3; an unknown name lists all formats
        #[arg(long = "to", value_name = "FORMAT")]
        format: String,
        /// How the trace is read
        #[command(flatten)]
        reading: TraceReading,
    },
}

/// How a trace is read.
#[derive(Debug, Args)]
pub struct TraceReading {
    /// Format of the trace, such as spc or msr; default: detected
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<String>,
    /// Skip unreadable lines and count them
    #[arg(long)]
    pub skip_bad_lines: bool,
}
