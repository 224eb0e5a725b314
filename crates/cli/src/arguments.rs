//! The command line.

pub use crate::advise::arguments::AdviseArguments;
pub use crate::bench::block::BlockBench;
pub use crate::bench::kv::KvBench;
pub use crate::calibrate::arguments::CalibrateArguments;
pub use crate::compare::arguments::CompareArguments;
pub use crate::explain::arguments::ExplainArguments;
pub use crate::probe::arguments::ProbeArguments;
pub use crate::pts::arguments::PtsArguments;
pub use crate::report::ReportArguments;
pub use crate::serve::arguments::{BlockArguments, ServeCommand};
pub use crate::study::arguments::{StudyCommand, StudyForm, StudyRun};

use crate::scenario::nearest::{enumerate, nearest};
use crate::scenario::{Problems, Source};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use tailcut_base::Nanos;
use tailcut_base::config::Choice;
use tailcut_base::quantity::{parse_count, parse_rate, parse_share, parse_time};
use tailcut_sim::sizing::Raid;
use tailcut_ssd::Preset;

/// Shows where the latency tail of flash storage comes from, and cuts it.
///
/// Without a command it runs the built-in scenario and takes the options of 'run'.
#[derive(Debug, Parser)]
#[command(name = "tailcut", version, max_term_width = 100, args_conflicts_with_subcommands = true)]
#[command(arg_required_else_help = false)]
pub struct Arguments {
    /// What to do; a run when it is left out.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The options of a run of the built-in scenario.
    #[command(flatten)]
    pub run: RunOptions,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Simulate a workload, fio job or trace on a drive, an array or a host
    Run(RunArguments),
    /// Attribute a percentile or a single request to its causes
    Explain(ExplainArguments),
    /// Measure techniques alone, together and on average
    Compare(Box<CompareArguments>),
    /// Find the cheapest configuration that meets an SLO
    Advise(AdviseArguments),
    /// Reproduce the papers' tables and figures
    #[command(subcommand)]
    Study(StudyCommand),
    /// Write an HTML report of a run, comparison, study or server history
    Report(ReportArguments),
    /// Characterise and convert traces
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Calculate how many drives and R-groups saturate a network
    Size(SizeArguments),
    /// Search for crashes and faults that lose data, by seed
    Torture(TortureArguments),
    /// Serve block or memcached clients in real time
    #[command(subcommand)]
    Serve(ServeCommand),
    /// Measure a file or block device and derive a simulated drive
    Probe(ProbeArguments),
    /// Fit a simulated drive to measurements of a real one
    Calibrate(Box<CalibrateArguments>),
    /// Run SNIA's performance tests on a simulated or real drive
    Pts(PtsArguments),
    /// Benchmark tailcut itself
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Administer a server: free blocks, thresholds, collection, windows
    Ctl {
        /// Control socket of the server, such as tailcut.ctl
        socket: PathBuf,
        /// The request, such as 'free-blocks' or 'run-gc 10ms'; 'help' lists all
        #[arg(required = true, num_args = 1..)]
        words: Vec<String>,
    },
    /// Show what a server serves and its state
    Status {
        /// Control socket of the server; default: tailcut.ctl, or the only one in this folder
        socket: Option<PathBuf>,
    },
    /// Print completions, man pages and the manual of scenario keys
    #[command(subcommand)]
    Generate(GenerateCommand),
}

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
    /// Folder for the result files
    #[arg(long, value_name = "DIR", default_value = crate::output::DEFAULT_FOLDER)]
    pub out: PathBuf,
    /// Write the results as JSON to a file, or with '-' to standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write an HTML report, with its data as JSON beside it
    #[arg(long, value_name = "FILE", value_parser = crate::html::page_file)]
    pub html: Option<PathBuf>,
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

/// Whether a file name stands for standard output.
pub fn is_stdout(path: &std::path::Path) -> bool {
    path.as_os_str() == "-"
}

/// `tailcut trace`.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Characterise a trace: mix, sizes, span, rates, randomness, overwrites, working set
    ///
    /// A request that is recorded with an earlier time than one before it counts at the latest time before it.
    /// Gaps before it become longer and those behind it shorter, so a trace out of order appears more bursty than
    /// the load was. One time that is far too late moves all that follows to one moment. 'tailcut run' replays a
    /// trace at the same times. Sort a trace by time first, unless only few requests are out of order.
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

/// `tailcut size`.
#[derive(Debug, Args)]
pub struct SizeArguments {
    /// Bandwidth of the network, such as 10GB/s
    #[arg(long, value_name = "RATE", value_parser = bandwidth)]
    pub network: u64,
    /// Drive, such as swan-sata; its geometry gives its sequential read, write and erase rates
    #[arg(long, value_name = "PRESET", value_parser = preset)]
    pub drive: Option<Preset>,
    /// Share of the array that holds data, from 1% to 99%
    #[arg(long, value_name = "SHARE", value_parser = part)]
    pub fill: u32,
    /// RAID level of a group: 0, 4 or 5
    #[arg(long, value_name = "LEVEL", default_value = "0", value_parser = raid)]
    pub raid: Raid,
    /// Measured time to erase a segment, such as 4ms; overrides --drive
    #[arg(long, value_name = "TIME", value_parser = length)]
    pub erase: Option<Nanos>,
    /// Measured time to read a block of 4 KiB, such as 15.6us; overrides --drive
    #[arg(long, value_name = "TIME", value_parser = some_length)]
    pub read: Option<Nanos>,
    /// Measured time to write a block of 4 KiB, such as 19.5us; overrides --drive
    #[arg(long, value_name = "TIME", value_parser = some_length)]
    pub write: Option<Nanos>,
    /// Blocks per segment; default: 256
    #[arg(long, value_name = "N", value_parser = some)]
    pub blocks: Option<u64>,
    /// Print JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

fn bandwidth(text: &str) -> Result<u64, String> {
    let rate = parse_rate(text).map_err(|bad| bad.message)?;
    if rate > 0 { Ok(rate) } else { Err(String::from("a network brings something; write 10GB/s, say")) }
}

pub(crate) fn preset(text: &str) -> Result<Preset, String> {
    Preset::by_name(text).ok_or_else(|| {
        let meant = nearest(text, Preset::NAMES.iter().copied());
        let meant = meant.map_or(String::new(), |near| format!("did you mean '{near}'? "));
        format!("{meant}the drives are {}", enumerate(Preset::NAMES))
    })
}

fn part(text: &str) -> Result<u32, String> {
    let share = parse_share(text).map_err(|bad| bad.message)?;
    let is_partial = (10_000..=990_000).contains(&share);
    if is_partial { Ok(share) } else { Err(String::from("write a share from 1% to 99%, such as 60%")) }
}

fn raid(text: &str) -> Result<Raid, String> {
    Raid::by_name(text).ok_or_else(|| String::from("write 0 (none), 4 or 5 (one drive of parity)"))
}

fn length(text: &str) -> Result<Nanos, String> {
    parse_time(text).map_err(|bad| bad.message)
}

pub(crate) fn some_length(text: &str) -> Result<Nanos, String> {
    let time = length(text)?;
    if time > Nanos::ZERO { Ok(time) } else { Err(String::from("it takes some time; write 19.5us, say")) }
}

fn some(text: &str) -> Result<u64, String> {
    let count = parse_count(text).map_err(|bad| bad.message)?;
    let is_segment = (1..=1 << 30).contains(&count);
    if is_segment { Ok(count) } else { Err(String::from("write a number from 1 to 1073741824, such as 256")) }
}

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
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub time: Option<Nanos>,
    /// What to torture: arrays, kv, block, ssd, raid, log, or a layout such as raid5
    ///
    /// Each seed draws power cuts and faults: drives that die, are pulled, slow down, become read-only, grow
    /// or shrink; flipped bits, unreadable blocks, failed or misdirected writes, failed flushes; for arrays
    /// also the return of a replaced drive (return) and parts of an array opened separately (halves).
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

fn duration(text: &str) -> Result<Nanos, String> {
    parse_time(text).map_err(|bad| bad.message)
}

/// `tailcut bench`.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Simulation speed: requests per second, memory and where the time goes
    Sim {
        /// Write the results as JSON to a file, or with '-' to standard output
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Measure one case in this process and print the result as JSON
        #[arg(long, value_name = "CASE/PART", hide = true)]
        alone: Option<String>,
    },
    /// Cost of an array per request, over drives that cost nothing
    Array {
        /// Write the results as JSON to a file, or with '-' to standard output
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Measure one case in this process and print the result as JSON
        #[arg(long, value_name = "LAYOUT/READS/BLOCKS", hide = true)]
        alone: Option<String>,
    },
    /// Completion strategies with real threads: latency, requests per second, processor time and context
    /// switches on this machine
    Path(PathBench),
    /// Emulated drive in real time, inline and on its own core: completions per second and lateness
    Emulate {
        /// Write the results as JSON to a file, or with '-' to standard output
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Measure one case in this process and print the result as JSON
        #[arg(long, value_name = "FORM/WRITES/DEPTH", hide = true)]
        alone: Option<String>,
    },
    /// Cost of each commit scheduler per request, with 32 to 65536 requests and 64 to 4096 chips
    Schedule {
        /// Write the results as JSON to a file, or with '-' to standard output
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Measure one case in this process and print the result as JSON
        #[arg(long, value_name = "POLICY/PAGES/CHIPS/DEPTH", hide = true)]
        alone: Option<String>,
    },
    /// Read throughput and latency of a block server
    Block(BlockBench),
    /// Throughput and latency of a memcached-compatible server
    Kv(KvBench),
}

/// `tailcut bench path`.
#[derive(Debug, Args)]
pub struct PathBench {
    /// Strategy to compare with two hand-offs, such as coop or coop-poll/timer: names joined by '+', then
    /// after a slash the poll thread (idle or timer); default: all
    #[arg(long = "strategy", value_name = "NAME")]
    pub strategies: Vec<String>,
    /// Numbers of threads; default: 1,8,32,128
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub threads: Vec<u32>,
    /// Read latency of the device
    #[arg(long, value_name = "TIME", value_parser = some_length, default_value = "80us")]
    pub latency: Nanos,
    /// Number of cores that submit and wait; default: 1
    #[arg(long, value_name = "N")]
    pub cores: Option<u32>,
    /// Fewer strategies and threads, and shorter measurements
    #[arg(long)]
    pub quick: bool,
    /// Run at real-time priority half of the time, for a machine that is never quiet; cores are then less
    /// idle than on a quiet machine
    #[arg(long)]
    pub real_time: bool,
    /// Maximum time to wait for undisturbed measurements; default: 10 minutes
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub patience: Option<Nanos>,
    /// Write the results as JSON to a file, or with '-' to standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `tailcut generate`.
#[derive(Debug, Subcommand)]
pub enum GenerateCommand {
    /// Print the completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write those of all commands into a folder
    Man {
        /// The folder
        folder: Option<PathBuf>,
    },
    /// Print the manual of scenario keys as Markdown
    Keys,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_run_is_what_happens_without_a_command() {
        let arguments = Arguments::try_parse_from(["tailcut", "--seed", "3"]).expect("a run");
        assert!(arguments.command.is_none());
        assert_eq!(arguments.run.settings(), ["seed=3"]);
        let arguments = Arguments::try_parse_from(["tailcut"]).expect("a run");
        assert_eq!(arguments.run.out, PathBuf::from("tailcut-out"));
    }

    #[test]
    fn the_seed_option_wins_over_settings() {
        let line = ["tailcut", "run", "a.toml", "--seed", "3", "--set", "seed=4"];
        let Some(Command::Run(run)) = Arguments::try_parse_from(line).expect("a run").command else {
            panic!("a run")
        };
        assert_eq!(run.options.settings(), ["seed=4", "seed=3"]);
    }
}
