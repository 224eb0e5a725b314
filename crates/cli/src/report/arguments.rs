//! The command line of `tailcut report`.

use clap::Args;
use std::path::PathBuf;

/// `tailcut report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// What the page is about: the folder of a run or of a comparison, or a JSON file of a run, of studies,
    /// of a comparison, or of a server's history
    pub path: PathBuf,
    /// The page to write; report.html in the folder, or the name of the file with .html, when left out
    #[arg(long, value_name = "FILE", value_parser = crate::html::page_file)]
    pub html: Option<PathBuf>,
}
