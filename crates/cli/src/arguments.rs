//! The command line.

pub use crate::advise::arguments::AdviseArguments;
pub use crate::bench::block::BlockBench;
pub use crate::bench::kv::KvBench;
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
/// Without a command it runs the built-in scenario.
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
    /// Simulate a scenario and show throughput, latency and what slow requests waited for
    Run(RunArguments),
    /// Show what the slow requests of a run waited for
    Explain(ExplainArguments),
    /// Run every combination of techniques, rank them, and show what each does alone and in company
    Compare(Box<CompareArguments>),
    /// Find the cheapest arrangement of drives that keeps a promise under a workload
    Advise(AdviseArguments),
    /// Measure tables and figures of papers again, and show both side by side
    #[command(subcommand)]
    Study(StudyCommand),
    /// Make a page of HTML from saved results: of a run, of studies, of a comparison, or of a server's
    /// history
    Report(ReportArguments),
    /// Look at traces and convert them
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Work out how many drives an array of separated groups needs for a network
    Size(SizeArguments),
    /// Search for crashes and faults that lose data, by seed
    Torture(TortureArguments),
    /// Serve a drive to other programs, in real time
    #[command(subcommand)]
    Serve(ServeCommand),
    /// Measure a file or block device, and estimate a simulated drive that resembles it
    Probe(ProbeArguments),
    /// Test a drive as the SNIA Performance Test Specification does: IOPS, throughput, latency, saturation,
    /// recovery, histograms
    Pts(PtsArguments),
    /// Measure what this program itself costs
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Ask and steer a drive that is being served: free blocks, thresholds, collection, windows, metrics
    Ctl {
        /// The control socket of its server, such as tailcut.ctl
        socket: PathBuf,
        /// What to ask, as in 'free-blocks' or 'run-gc 10ms'; 'help' shows all
        #[arg(required = true, num_args = 1..)]
        words: Vec<String>,
    },
    /// Show what a server serves, and how it is
    Status {
        /// The control socket of the server; when left out, tailcut.ctl or else the only one in this folder
        socket: Option<PathBuf>,
    },
    /// Print completions, manual pages and the manual of scenario keys
    #[command(subcommand)]
    Generate(GenerateCommand),
}

/// `tailcut run`.
#[derive(Clone, Debug, Default, Args)]
pub struct RunArguments {
    /// The scenario, a TOML file; the built-in one when it is left out
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
    /// Set a key of the scenario, such as device.timing.read=80us; wins over the file
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
    /// Write the report as a page of HTML, with its data as JSON beside it
    #[arg(long, value_name = "FILE", value_parser = crate::html::page_file)]
    pub html: Option<PathBuf>,
    /// Record the run over time, for pages made later with 'tailcut report'; --html does so by itself
    #[arg(long)]
    pub timeline: bool,
    /// Print the complete scenario, ready to be used as one, and run nothing
    #[arg(long, conflicts_with = "keys")]
    pub resolved: bool,
    /// List the keys that a scenario can have, and run nothing
    #[arg(long)]
    pub keys: bool,
    /// Skip lines of a trace that cannot be read, and count them
    #[arg(long)]
    pub skip_bad_lines: bool,
    /// Show no progress
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
    Info {
        /// The trace
        file: PathBuf,
        /// How it is read
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
        /// The format to write, such as msr, blkparse or fio3; any other name is answered with all of them
        #[arg(long = "to", value_name = "FORMAT")]
        format: String,
        /// How it is read
        #[command(flatten)]
        reading: TraceReading,
    },
}

/// How a trace is read.
#[derive(Debug, Args)]
pub struct TraceReading {
    /// The format of the trace, such as spc or msr, where its content does not tell
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<String>,
    /// Skip lines that cannot be read, and count them
    #[arg(long)]
    pub skip_bad_lines: bool,
}

/// `tailcut size`.
#[derive(Debug, Args)]
pub struct SizeArguments {
    /// What the network brings, such as 10GB/s
    #[arg(long, value_name = "RATE", value_parser = bandwidth)]
    pub network: u64,
    /// The drive, such as swan-sata; its parts decide how fast it reads, writes and erases in order
    #[arg(long, value_name = "PRESET", value_parser = preset)]
    pub drive: Option<Preset>,
    /// Share of the array that holds data, from 1% to 99%
    #[arg(long, value_name = "SHARE", value_parser = part)]
    pub fill: u32,
    /// RAID level of a group: 0, 4 or 5
    #[arg(long, value_name = "LEVEL", default_value = "0", value_parser = raid)]
    pub raid: Raid,
    /// Time to erase a segment, as measured, such as 4ms; wins over --drive
    #[arg(long, value_name = "TIME", value_parser = length)]
    pub erase: Option<Nanos>,
    /// Time to read a block of 4 KiB, as measured, such as 15.6us; wins over --drive
    #[arg(long, value_name = "TIME", value_parser = some_length)]
    pub read: Option<Nanos>,
    /// Time to write a block of 4 KiB, as measured, such as 19.5us; wins over --drive
    #[arg(long, value_name = "TIME", value_parser = some_length)]
    pub write: Option<Nanos>,
    /// Blocks of a segment; 256 when it is left out
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
    /// How many seeds to run; for ten seconds when nothing is said
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub seeds: Option<u64>,
    /// How long to run seeds, such as 60s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub time: Option<Nanos>,
    /// What to torture: arrays, kv, block, ssd, raid, log, or a layout such as raid5
    ///
    /// Seeds draw power cuts and faults: drives that die, are pulled, slow, read-only, grow or shrink; bits
    /// that flip, blocks that cannot be read, writes and flushes that fail or land elsewhere; and, of arrays,
    /// a drive that comes back after it was replaced (return) and parts of the array that are opened apart
    /// from each other (halves).
    #[arg(long, value_name = "NAME", default_value = "arrays")]
    pub subject: String,
    /// Run the plan in a file, or this plan itself
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "seeds", "time", "subject"])]
    pub plan: Option<String>,
    /// Run the plan once for each of its events, with the power cut there
    #[arg(long, requires = "plan")]
    pub every_step: bool,
    /// Plant a bug that must be found, such as forgets-fua
    #[arg(long, value_name = "NAME")]
    pub mutant: Option<String>,
    /// How many events before a violation are shown
    #[arg(long, value_name = "COUNT", default_value_t = 60)]
    pub events: usize,
    /// How many runs at a time; one for each core when left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Write the results as JSON to a file, or with '-' to standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}

fn duration(text: &str) -> Result<Nanos, String> {
    parse_time(text).map_err(|bad| bad.message)
}

/// `tailcut bench`.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Simulate standard loads and show requests per second, memory, and where the time goes
    Sim {
        /// Write the results as JSON to a file, or with '-' to standard output
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Measure one case in this process and print the result as JSON
        #[arg(long, value_name = "CASE/PART", hide = true)]
        alone: Option<String>,
    },
    /// Let arrays serve reads and writes of one block over drives that cost nothing, and show what a
    /// request costs the array
    Array {
        /// Write the results as JSON to a file, or with '-' to standard output
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Measure one case in this process and print the result as JSON
        #[arg(long, value_name = "LAYOUT/READS/BLOCKS", hide = true)]
        alone: Option<String>,
    },
    /// Let real threads wait for a device in different ways, and show latency, requests per second,
    /// time on cores and context switches of each on this machine
    Path(PathBench),
    /// Let an emulated drive serve random requests of 4 KiB in real time, inline and on a core of its own,
    /// and show how many it answers and how late
    Emulate {
        /// Write the results as JSON to a file, or with '-' to standard output
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Measure one case in this process and print the result as JSON
        #[arg(long, value_name = "FORM/WRITES/DEPTH", hide = true)]
        alone: Option<String>,
    },
    /// Let each commit scheduler serve full queues of 32 to 65536 requests for 64 to 4096 chips, and
    /// show what scheduling a request costs
    Schedule {
        /// Write the results as JSON to a file, or with '-' to standard output
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Measure one case in this process and print the result as JSON
        #[arg(long, value_name = "POLICY/PAGES/CHIPS/DEPTH", hide = true)]
        alone: Option<String>,
    },
    /// Read from a block server in batches, and show how quick it is
    Block(BlockBench),
    /// Ask a key-value server, ours or memcached, and show how quick it is
    Kv(KvBench),
}

/// `tailcut bench path`.
#[derive(Debug, Args)]
pub struct PathBench {
    /// A form to compare with two hand-offs, such as coop or coop-poll/timer: names of strategies
    /// joined by '+', and behind a slash the poll thread (idle or timer); all forms when left out
    #[arg(long = "strategy", value_name = "NAME")]
    pub strategies: Vec<String>,
    /// Numbers of threads; 1,8,32,128 when left out
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub threads: Vec<u32>,
    /// How long the device takes for a read
    #[arg(long, value_name = "TIME", value_parser = some_length, default_value = "80us")]
    pub latency: Nanos,
    /// How many cores ask and wait; one when left out
    #[arg(long, value_name = "N")]
    pub cores: Option<u32>,
    /// Fewer forms and threads, and shorter measurements
    #[arg(long)]
    pub quick: bool,
    /// Go before all other programs, half of the time: for a machine that is never quiet. Cores are
    /// then less idle than they would be without others
    #[arg(long)]
    pub real_time: bool,
    /// How long to go on for measurements that others do not disturb; 10 minutes when left out
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
