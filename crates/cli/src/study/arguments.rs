//! The command line of `tailcut study`.

use super::real_drives::RealDriveOptions;
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
    /// Run studies and compare measured figures with the paper's; drive tests (pts-iops and others) run on a
    /// simulated drive
    Run(StudyRun),
    /// List the runs of a study, or print one as a scenario for `tailcut run`; of a drive test, list its
    /// stages
    Show {
        /// The study
        id: String,
        /// Print the scenario of this run
        #[arg(long, value_name = "LABEL")]
        case: Option<String>,
        /// Form of the study
        #[command(flatten)]
        form: StudyForm,
    },
}

/// `tailcut study run`.
#[derive(Debug, Args)]
pub struct StudyRun {
    /// Studies, such as sprinkler-1, or drive tests, such as pts-lat
    #[arg(value_name = "ID", conflicts_with = "all")]
    pub ids: Vec<String>,
    /// Run all studies; drive tests only run by name
    #[arg(long)]
    pub all: bool,
    /// Form of the studies.
    #[command(flatten)]
    pub form: StudyForm,
    /// Options of one study.
    #[command(flatten)]
    pub real_drives: RealDriveOptions,
    /// Write the rows as JSON to a file, or with '-' to standard output instead of the tables; with
    /// --all or several studies, their list beside the number of claims that hold; the file is written after
    /// each study
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Continue an interrupted run of several studies: those that its --json FILE holds are not run again, if
    /// the same program has run them with the same options
    #[arg(long, requires = "json")]
    pub resume: bool,
    /// Write an HTML report, with its data as JSON beside it
    #[arg(long, value_name = "FILE", value_parser = crate::html::page_file)]
    pub html: Option<PathBuf>,
    /// Number of parallel runs; default: one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Hide progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// How a study is run.
#[derive(Debug, Args)]
pub struct StudyForm {
    /// Run fewer cases and shorter runs: seconds for most studies, minutes for some
    #[arg(long)]
    pub quick: bool,
    /// Seed of every random stream
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Folder of recorded traces, for studies that use them
    #[arg(long, value_name = "DIR")]
    pub traces: Option<PathBuf>,
}
