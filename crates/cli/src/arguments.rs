//! The command line.

use crate::advise::arguments::AdviseArguments;
use crate::bench::arguments::BenchCommand;
use crate::calibrate::arguments::CalibrateArguments;
use crate::compare::arguments::CompareArguments;
use crate::demo::DemoArguments;
use crate::explain::arguments::ExplainArguments;
use crate::import::arguments::ImportCommand;
use crate::probe::arguments::ProbeArguments;
use crate::pts::arguments::PtsArguments;
use crate::report::ReportArguments;
use crate::run::arguments::{RunArguments, RunOptions};
use crate::serve::arguments::ServeCommand;
use crate::size::arguments::SizeArguments;
use crate::study::arguments::StudyCommand;
use crate::torture::arguments::TortureArguments;
use crate::trace::arguments::TraceCommand;
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Shows where the latency tail of flash storage comes from, and what would cut it.
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
    /// Translate configurations of MQSim, fio, FEMU and memcached
    #[command(subcommand)]
    Import(ImportCommand),
    /// Calculate how many drives and R-groups saturate a network
    Size(SizeArguments),
    /// Serve an emulated drive under a load, with a live page
    Demo(DemoArguments),
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
    /// Benchmark servers and completion strategies
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Administer a server: free blocks, thresholds, collection, windows
    Ctl {
        /// The request, such as 'free-blocks' or 'run-gc 10ms'; 'help' lists all. The server's control socket
        /// may come first, a path with a slash or ending in .ctl; default: the only one in this folder, or
        /// that of the only server that runs
        #[arg(required = true, num_args = 1.., value_name = "[SOCKET] REQUEST")]
        words: Vec<String>,
    },
    /// Show what a server serves and its state
    Status {
        /// Control socket of the server; default: the only one in this folder, or that of the only server
        /// that runs
        socket: Option<PathBuf>,
        /// Print status, warnings and metrics as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print completions, man pages and the manual of scenario keys
    #[command(subcommand)]
    Generate(GenerateCommand),
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
