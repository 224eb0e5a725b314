//! The command line of `tailcut study`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `tailcut study`.
#[derive(Debug, Subcommand)]
pub enum StudyCommand {
    /// List the studies
    List {
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Run studies and show the paper's figures beside the measured ones; drive tests (pts-iops and others)
    /// run on a simulated drive
    Run(StudyRun),
    /// List the runs behind a study, or print one of them as a scenario for `tailcut run`; of a drive test,
    /// list its stages
    Show {
        /// The study
        id: String,
        /// Print the scenario of this run
        #[arg(long, value_name = "LABEL")]
        case: Option<String>,
        /// How the study would be run
        #[command(flatten)]
        form: StudyForm,
    },
}

/// `tailcut study run`.
#[derive(Debug, Args)]
pub struct StudyRun {
    /// The studies, such as sprinkler-1, or drive tests, such as pts-lat
    #[arg(value_name = "ID", conflicts_with = "all")]
    pub ids: Vec<String>,
    /// Run everything that papers reported: all but the drive tests, which are run by name
    #[arg(long)]
    pub all: bool,
    /// How they are run.
    #[command(flatten)]
    pub form: StudyForm,
    /// Write the rows as JSON to a file, or with '-' to standard output instead of the tables; with
    /// --all or several studies, a list
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the figures as a page of HTML, with their data as JSON beside it
    #[arg(long, value_name = "FILE", value_parser = crate::html::page_file)]
    pub html: Option<PathBuf>,
    /// How many scenarios run at a time; one for each core when left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// How a study is run.
#[derive(Debug, Args)]
pub struct StudyForm {
    /// Fewer cases and shorter runs: seconds instead of minutes
    #[arg(long)]
    pub quick: bool,
    /// Seed of every random stream
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// The folder of recorded traces, for studies that can use them
    #[arg(long, value_name = "DIR")]
    pub traces: Option<PathBuf>,
}
