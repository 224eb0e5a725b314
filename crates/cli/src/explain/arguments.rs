//! The command line of `tailcut explain`.

use clap::Args;
use std::path::{Path, PathBuf};
use tailcut_base::config::Choice;
use tailcut_base::quantity::parse_time;
use tailcut_base::{BadValue, Class, Op, Time};

/// `tailcut explain`.
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// Results folder of a run
    #[arg(required_unless_present = "measured")]
    pub folder: Option<PathBuf>,
    /// Explain a trace with measured latencies by a simulated drive that is given the same requests
    #[arg(
        long,
        value_name = "TRACE",
        requires = "drive",
        conflicts_with_all = ["folder", "class", "request", "perfetto"]
    )]
    pub measured: Option<PathBuf>,
    /// The drive for --measured: a preset, or a scenario (TOML) such as 'tailcut calibrate' writes
    #[arg(long, value_name = "DRIVE", requires = "measured")]
    pub drive: Option<String>,
    /// A wrong drive to compare the share explained with; default: tlc-sata, or tlc-nvme for tlc-sata
    #[arg(long, value_name = "DRIVE", requires = "measured")]
    pub control: Option<String>,
    /// Override a scenario key of both drives, such as precondition.fill=50%
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "measured")]
    pub sets: Vec<String>,
    /// Skip unreadable lines of the trace
    #[arg(long, requires = "measured")]
    pub skip_bad_lines: bool,
    /// Explain the requests above this percentile
    #[arg(long, value_name = "P", default_value = "99", value_parser = percentile)]
    pub percentile: f64,
    /// Explain the reads of one latency class, 1 to 5, if the run had several
    #[arg(long, value_name = "N", value_parser = class, conflicts_with_all = ["request", "perfetto"])]
    pub class: Option<Class>,
    /// Explain the requests of one kind: read, write, trim or flush
    #[arg(long, value_name = "KIND", value_parser = kind, conflicts_with_all = ["class", "request", "perfetto"])]
    pub kind: Option<Op>,
    /// Show the whole timeline of one request, by its number
    #[arg(long, value_name = "ID")]
    pub request: Option<u64>,
    /// Export the run as Chrome trace JSON, which Perfetto reads
    #[arg(long, value_name = "FILE", conflicts_with = "request")]
    pub perfetto: Option<PathBuf>,
    /// Start of the export, such as 1.5s; default: 5 ms before the slowest request
    #[arg(long, value_name = "TIME", requires = "perfetto", value_parser = moment)]
    pub from: Option<Time>,
    /// End of the export; default: 5 ms after the slowest request, or 10 ms after --from
    #[arg(long, value_name = "TIME", requires = "perfetto", value_parser = moment)]
    pub until: Option<Time>,
    /// Hide progress
    #[arg(long, short)]
    pub quiet: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

impl ExplainArguments {
    /// An option for measured traces beside the folder of a run.
    pub(super) fn misplaced(&self) -> Option<&'static str> {
        let options = [
            (self.drive.is_some(), "--drive"),
            (self.control.is_some(), "--control"),
            (!self.sets.is_empty(), "--set"),
            (self.skip_bad_lines, "--skip-bad-lines"),
        ];
        options.into_iter().find(|&(is_given, _)| is_given && self.measured.is_none()).map(|(_, name)| name)
    }

    /// The results folder; empty for a measured trace, which has none.
    pub(super) fn folder(&self) -> &Path {
        self.folder.as_deref().unwrap_or(Path::new(""))
    }
}

fn moment(text: &str) -> Result<Time, BadValue> {
    parse_time(text).map(|since_start| Time(since_start.0))
}

fn kind(text: &str) -> Result<Op, BadValue> {
    Op::by_name(text).ok_or_else(|| BadValue::new("write read, write, trim or flush"))
}

fn class(text: &str) -> Result<Class, BadValue> {
    text.parse().ok().and_then(Class::new).ok_or_else(|| BadValue::new("write a class from 1 to 5"))
}

fn percentile(text: &str) -> Result<f64, BadValue> {
    let number: Option<f64> = text.trim().trim_end_matches('%').trim_end().parse().ok();
    number
        .filter(|percent| (0.0..100.0).contains(percent))
        .ok_or_else(|| BadValue::new("write a percentage from 0 to below 100, such as 99.99"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_below_one_hundred() {
        assert_eq!(percentile("99.99"), Ok(99.99));
        assert_eq!(percentile("99.9 %"), Ok(99.9));
        for text in ["100", "-1", "nan", "p99"] {
            assert!(percentile(text).is_err(), "{text}");
        }
    }
}
